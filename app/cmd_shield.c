/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir shield: what is private in a text, the text without it, and the way back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slice.h"
#include "command.h"
#include "options.h"
#include "output.h"
#include "shield/restore.h"
#include "shield_key.h"

enum { MAX_TERMS = 256, MAP_FILE_BYTES = 128 << 20, MAP_MODE = 0600, PIECE_BYTES = 4096 };

struct shielding {
    const char *map_path;
    const char *terms[MAX_TERMS], *patterns[MAX_TERMS];
    unsigned n_terms, n_patterns;
    bool is_json;
    struct shield_rules *rules;
    struct token_map *tokens;
    struct weir_buf text, out;
};

static bool complain(const char *about, const char *text)
{
    fprintf(stderr, "weir shield: %s: %s\n", about, text);
    return false;
}

static bool read_all(FILE *from, struct weir_buf *to, const char *name)
{
    char piece[PIECE_BYTES];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, from)) > 0) weir_buf_append(to, piece, n);
    if (ferror(from)) return complain(name, strerror(errno));
    enum weir_status st = weir_buf_status(to);
    return st == WEIR_OK || complain(name, weir_status_text(st));
}

typedef enum weir_status (*add_rule_fn)(struct shield_rules *, const char *, struct weir_slice,
                                        char[SHIELD_ERROR_BYTES]);

/* LABEL=TEXT. */
static bool add_rules(struct shielding *s, const char *const *texts, unsigned n, add_rule_fn add)
{
    char label[SHIELD_LABEL_BYTES + 1], error[SHIELD_ERROR_BYTES] = "";
    for (unsigned i = 0; i < n; i++) {
        const char *equals = strchr(texts[i], '=');
        size_t len = equals ? (size_t)(equals - texts[i]) : 0;
        if (len == 0 || len > SHIELD_LABEL_BYTES) return complain(texts[i], "not LABEL=TEXT");
        memcpy(label, texts[i], len);
        label[len] = 0;
        enum weir_status st = add(s->rules, label, weir_slice_of(equals + 1), error);
        if (st != WEIR_OK) return complain(texts[i], *error ? error : weir_status_text(st));
    }
    return true;
}

static bool read_rules(struct shielding *s)
{
    return add_rules(s, s->terms, s->n_terms, shield_rules_add_term) &&
           add_rules(s, s->patterns, s->n_patterns, shield_rules_add_pattern);
}

static bool parse_map(struct shielding *s, struct weir_slice text)
{
    const struct weir_json *json;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? weir_json_parse(doc, text, &json, NULL) : WEIR_NOMEM;
    if (st == WEIR_OK) st = token_map_read(s->tokens, json);
    weir_json_doc_free(doc);
    if (st == WEIR_OK) return true;
    return complain(s->map_path,
                    st == WEIR_NOMEM ? weir_status_text(st) : "not a map of placeholders");
}

static bool read_map(struct shielding *s, bool is_needed)
{
    struct weir_buf file;
    FILE *from = fopen(s->map_path, "r");
    if (!from && errno == ENOENT && !is_needed) return true;
    if (!from) return complain(s->map_path, strerror(errno));
    weir_buf_init(&file, MAP_FILE_BYTES);
    bool is_read = read_all(from, &file, s->map_path);
    fclose(from);
    if (is_read) is_read = parse_map(s, weir_buf_slice(&file));
    weir_buf_fini(&file);
    return is_read;
}

/* The map holds what was private: nobody else may read it, and a half of it is never seen. */
static bool write_map(struct shielding *s)
{
    char path[4096];
    struct weir_buf *out = &s->out;
    if (snprintf(path, sizeof path, "%s.new", s->map_path) >= (int)sizeof path)
        return complain(s->map_path, "the name is too long");
    weir_buf_reset(out);
    token_map_write(s->tokens, out);
    weir_buf_append_char(out, '\n');
    if (weir_buf_status(out) != WEIR_OK) return complain(s->map_path, "no memory");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, MAP_MODE);
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!to) {
        if (fd >= 0) close(fd);
        return complain(path, strerror(errno));
    }
    bool is_written = fchmod(fd, MAP_MODE) == 0 && fwrite(out->ptr, 1, out->len, to) == out->len;
    is_written = fflush(to) == 0 && is_written && fsync(fd) == 0;
    is_written = fclose(to) == 0 && is_written && rename(path, s->map_path) == 0;
    if (!is_written) complain(s->map_path, strerror(errno));
    if (!is_written) unlink(path);
    return is_written;
}

static void print_json(struct weir_buf *line, const struct shield_finding *f,
                       struct weir_slice text)
{
    weir_json_put_begin_object(line);
    weir_json_put_key(line, "category");
    weir_json_put_str(line, shield_category_name((enum shield_category)f->category));
    weir_json_put_key(line, "label");
    weir_json_put_str(line, f->label);
    weir_json_put_key(line, "start");
    weir_json_put_uint(line, f->point_start);
    weir_json_put_key(line, "end");
    weir_json_put_uint(line, f->point_end);
    weir_json_put_key(line, "start_byte");
    weir_json_put_uint(line, f->start);
    weir_json_put_key(line, "end_byte");
    weir_json_put_uint(line, f->end);
    weir_json_put_key(line, "score");
    weir_json_put_double(line, (double)(int)(f->score * 100 + 0.5F) / 100);
    weir_json_put_key(line, "source");
    weir_json_put_str(line, shield_source_name((enum shield_source)f->source));
    weir_json_put_key(line, "public");
    weir_json_put_bool(line, f->is_public);
    weir_json_put_key(line, "text");
    weir_json_put_string(line, slice_of(text.ptr + f->start, f->end - f->start));
    weir_json_put_end_object(line);
    output_line(line);
}

/* Control characters inside a finding would break the line. */
static void print_plain(struct weir_buf *line, const struct shield_finding *f,
                        struct weir_slice text)
{
    weir_buf_printf(line, "%s\t%s\t%zu-%zu\t%zu-%zu\t%.2f\t%s\t",
                    shield_category_name((enum shield_category)f->category), f->label, f->start,
                    f->end, f->point_start, f->point_end, (double)f->score,
                    shield_source_name((enum shield_source)f->source));
    for (size_t i = f->start; i < f->end; i++)
        weir_buf_append_char(line, (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i]);
    output_line(line);
}

static int scan_text(struct shielding *s)
{
    struct shield_findings found;
    struct weir_slice text = weir_buf_slice(&s->text);
    enum weir_status st = shield_scan(s->rules, text, &found);
    if (st != WEIR_OK) {
        complain("the text", weir_status_text(st));
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < found.n; i++) {
        if (s->is_json) print_json(&s->out, &found.items[i], text);
        else print_plain(&s->out, &found.items[i], text);
    }
    shield_findings_fini(&found);
    return output_finish() ? EXIT_DONE : EXIT_FAILED;
}

/* The map is on the disk before the text is out: what is out can be restored. */
static int redact_text(struct shielding *s)
{
    struct shield_findings found;
    struct weir_buf redacted;
    struct weir_slice text = weir_buf_slice(&s->text);
    if (s->map_path && !read_map(s, false)) return EXIT_FAILED;
    enum weir_status st = shield_scan(s->rules, text, &found);
    weir_buf_init(&redacted, (size_t)2 * SHIELD_TEXT_BYTES);
    if (st == WEIR_OK) st = shield_redact(s->tokens, text, &found, &redacted, NULL);
    if (st != WEIR_OK) complain("the text", weir_status_text(st));
    bool is_done = st == WEIR_OK && (!s->map_path || write_map(s)) &&
                   fwrite(redacted.ptr, 1, redacted.len, stdout) == redacted.len;
    is_done = output_finish() && is_done;
    weir_buf_fini(&redacted);
    shield_findings_fini(&found);
    return is_done ? EXIT_DONE : EXIT_FAILED;
}

/* As it comes, so that a stream stays one. */
static int restore_text(struct shielding *s)
{
    struct restorer r;
    char piece[PIECE_BYTES];
    ssize_t n;
    if (!read_map(s, true)) return EXIT_FAILED;
    restorer_init(&r, s->tokens, s->is_json ? RESTORE_JSON : RESTORE_TEXT);
    do {
        n = read(STDIN_FILENO, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n > 0) restorer_feed(&r, slice_of(piece, (size_t)n), &s->out);
        else restorer_end(&r, &s->out);
        if (weir_buf_status(&s->out) != WEIR_OK) n = -1;
        else if (fwrite(s->out.ptr, 1, s->out.len, stdout) != s->out.len) n = -1;
        weir_buf_reset(&s->out);
        output_flush();
    } while (n > 0);
    if (n < 0) complain("the text", "cannot be read or written");
    return output_finish() && n == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int run_with(struct shielding *s, const char *what)
{
    int exit_status = EXIT_FAILED;
    s->rules = shield_rules_new();
    s->tokens = token_map_new();
    weir_buf_init(&s->text, SHIELD_TEXT_BYTES);
    weir_buf_init(&s->out, OUTPUT_LINE_MAX_BYTES);
    if (!s->rules || !s->tokens) {
        complain("starting", "no memory");
    } else if (strcmp(what, "restore") == 0) {
        exit_status = restore_text(s);
    } else if (read_rules(s) && read_all(stdin, &s->text, "the text")) {
        exit_status = strcmp(what, "scan") == 0 ? scan_text(s) : redact_text(s);
    }
    weir_buf_fini(&s->out);
    weir_buf_fini(&s->text);
    token_map_free(s->tokens);
    shield_rules_free(s->rules);
    return exit_status;
}

static const char help[] =
    "usage: weir shield scan [--json] [--term LABEL=TEXT]... [--pattern LABEL=REGEX]... < TEXT\n"
    "       weir shield redact [--map FILE] [--term LABEL=TEXT]... [--pattern LABEL=REGEX]... < "
    "TEXT\n"
    "       weir shield restore --map FILE [--json] < TEXT\n"
    "       weir shield key create|rotate|status [--data FOLDER | --key FILE] [--json]\n"
    "\n"
    "scan prints what is private in a text, one line each: category, label, place in bytes, place\n"
    "in code points, score, source, the text itself; with tabs between. redact puts placeholders\n"
    "such as [email_1] in its place, restore takes them out again, as the text comes. key is "
    "about\n"
    "the keys that a server's maps of placeholders are sealed with: create makes the file (a "
    "server\n"
    "does so by itself), rotate puts a new key in front of the old ones, which still open, status\n"
    "prints the keys' ids, never the keys.\n"
    "\n"
    "  --json             scan: one object per finding: category, label, start, end (code "
    "points),\n"
    "                     start_byte, end_byte, score, source, public, text.\n"
    "                     restore: the text is JSON, so values are escaped\n"
    "  --term LABEL=TEXT  a word or phrase of your own, in any case; may be given again\n"
    "  --pattern LABEL=REGEX  a regular expression of your own: literals, classes, groups, | * + "
    "?\n"
    "                     {m,n} ^ $ \\b, (?i) first; none can take long. May be given again\n"
    "  --map FILE         which placeholder stands for what, as JSON, readable by you alone; "
    "redact\n"
    "                     goes on with one that exists, so that a value keeps its placeholder\n"
    "  --data FOLDER      key: the server's data folder; without: $WEIR_DATA or\n"
    "                     ~/.local/share/weir. Its file is shield.key\n"
    "  --key FILE         key: another file, as weir serve --shield-key names it\n"
    "\n"
    "Web addresses without a password are public: scan shows them, redact leaves them.\n"
    "\n"
    "Example:\n"
    "  echo 'Write to alice@example.org' | weir shield redact --map map.json\n"
    "\n"
    "Exit status: 0 done, 1 something went wrong, 2 wrong usage.\n";

static int run_key(const struct shielding *s, const struct shield_key_options *o, char **words,
                   int n_words)
{
    if (n_words < 2 || !shield_key_is_action(words[1]))
        return usage_error(&shield_command, "key is followed by create, rotate or status");
    if (n_words > 2) return usage_error(&shield_command, "one word too many: \"%s\"", words[2]);
    if (s->map_path || s->n_terms + s->n_patterns > 0)
        return usage_error(&shield_command, "key has no use for --map, --term or --pattern");
    if (o->data && o->key)
        return usage_error(&shield_command, "--data and --key exclude each other");
    return shield_key_run(words[1], o);
}

static bool is_action(const char *word)
{
    return strcmp(word, "scan") == 0 || strcmp(word, "redact") == 0 || strcmp(word, "restore") == 0;
}

/* Those that read a text. */
static int run_text(struct shielding *s, char **words, int n_words)
{
    if (n_words > 1) return usage_error(&shield_command, "one word too many: \"%s\"", words[1]);
    if (strcmp(words[0], "restore") == 0 && !s->map_path)
        return usage_error(&shield_command, "restore needs --map");
    if (strcmp(words[0], "scan") == 0 && s->map_path)
        return usage_error(&shield_command, "scan has no use for --map");
    if (strcmp(words[0], "restore") == 0 && s->n_terms + s->n_patterns > 0)
        return usage_error(&shield_command, "restore has no use for --term or --pattern");
    if (strcmp(words[0], "redact") == 0 && s->is_json)
        return usage_error(&shield_command, "redact has no use for --json");
    return run_with(s, words[0]);
}

static int run(int argc, char **argv)
{
    struct shielding s = {0};
    struct shield_key_options key = {0};
    struct option_texts terms = {s.terms, &s.n_terms, MAX_TERMS};
    struct option_texts patterns = {s.patterns, &s.n_patterns, MAX_TERMS};
    const struct option_row rows[] = {
        {.name = "json", .kind = OPTION_FLAG, .to = &s.is_json},
        {.name = "map", .kind = OPTION_TEXT, .to = &s.map_path},
        {.name = "data", .kind = OPTION_TEXT, .to = &key.data},
        {.name = "key", .kind = OPTION_TEXT, .to = &key.key},
        {.name = "term", .kind = OPTION_TEXTS, .to = &terms},
        {.name = "pattern", .kind = OPTION_TEXTS, .to = &patterns},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&shield_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words == 0)
        return usage_error(&shield_command, "scan, redact, restore or key is missing");
    key.is_json = s.is_json;
    if (strcmp(words[0], "key") == 0) return run_key(&s, &key, words, n_words);
    if (!is_action(words[0]))
        return usage_error(&shield_command, "\"%s\" is none of scan, redact, restore, key",
                           words[0]);
    if (key.data || key.key)
        return usage_error(&shield_command, "--data and --key are for weir shield key");
    return run_text(&s, words, n_words);
}

const struct command shield_command = {
    .name = "shield",
    .summary = "find, redact and restore what is private in a text",
    .help = help,
    .run = run,
};
