/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir verify: each number of an answer with its home in a ledger, or its lack.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check/strip.h"
#include "command.h"
#include "options.h"
#include "output.h"

enum { LEDGER_FILE_BYTES = 64 << 20, MAX_WINDOWS = 64 };

struct verifying {
    const char *ledger_path, *question;
    const char *windows[MAX_WINDOWS];
    unsigned n_windows;
    bool is_json, is_strip;
    struct arena arena;
    struct weir_json_doc *doc;
    struct weir_buf file, text, line;
    struct ledger ledger;
};

static bool read_all(FILE *from, struct weir_buf *to)
{
    char piece[4096];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, from)) > 0) weir_buf_append(to, piece, n);
    return !ferror(from);
}

static bool complain(const char *about, const char *text)
{
    fprintf(stderr, "weir verify: %s: %s\n", about, text);
    return false;
}

static bool read_file(const char *path, struct weir_buf *to)
{
    FILE *from = fopen(path, "r");
    if (!from) return complain(path, strerror(errno));
    bool is_read = read_all(from, to);
    fclose(from);
    if (!is_read) return complain(path, "cannot be read");
    if (weir_buf_status(to) != WEIR_OK) return complain(path, "is too large");
    return true;
}

static bool read_ledger(struct verifying *v)
{
    const struct weir_json *json;
    char error[LEDGER_ERROR_BYTES];
    size_t offset = 0;
    if (!read_file(v->ledger_path, &v->file)) return false;
    enum weir_status st = weir_json_parse(v->doc, weir_buf_slice(&v->file), &json, &offset);
    if (st != WEIR_OK) {
        snprintf(error, sizeof error, "not JSON, at byte %zu", offset);
        return complain(v->ledger_path, error);
    }
    st = ledger_read(&v->ledger, json, &v->arena, error);
    if (st == WEIR_OK) return true;
    return complain(v->ledger_path, st == WEIR_INVALID ? error : weir_status_text(st));
}

static const char *outcome_name(enum verify_outcome o)
{
    static const char *const names[] = {"home", "exempt", "no home"};
    return names[o];
}

static void print_json(struct verifying *v, const struct verified *n, struct weir_slice text)
{
    struct weir_buf *out = &v->line;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "text");
    weir_json_put_string(out, text);
    weir_json_put_key(out, "offset");
    weir_json_put_uint(out, n->offset);
    weir_json_put_key(out, "line");
    weir_json_put_uint(out, n->line);
    weir_json_put_key(out, "column");
    weir_json_put_uint(out, n->column);
    weir_json_put_key(out, "value");
    weir_json_put_double(out, n->value);
    weir_json_put_key(out, "outcome");
    weir_json_put_str(out, outcome_name(n->outcome));
    weir_json_put_key(out, "home");
    if (n->home) weir_json_put_string(out, n->home->claim);
    else weir_json_put_null(out);
    weir_json_put_key(out, "why");
    weir_json_put_str(out, n->why);
    weir_json_put_end_object(out);
    output_line(out);
}

/* Line ends inside a number would break the line. */
static void print_plain(struct verifying *v, const struct verified *n, struct weir_slice text)
{
    struct weir_buf *out = &v->line;
    weir_buf_printf(out, "%zu\t%zu:%zu\t", n->offset, n->line, n->column);
    for (size_t i = 0; i < text.len; i++)
        weir_buf_append_char(out, (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i]);
    weir_buf_append_char(out, '\t');
    if (n->home) weir_buf_append_slice(out, n->home->claim);
    if (n->home && strcmp(n->why, "n") == 0) weir_buf_append_str(out, " (n)");
    if (n->outcome == VERIFY_EXEMPT) weir_buf_printf(out, "exempt: %s", n->why);
    if (n->outcome == VERIFY_LACK) weir_buf_append_str(out, "no home");
    output_line(out);
}

/* What is left on the output, each offence among the errors. */
static int strip_text(struct verifying *v, const struct verify_input *input,
                      const struct verify_result *result)
{
    struct stripped left;
    enum weir_status st = verify_strip(&left, input, &v->arena);
    if (st != WEIR_OK) {
        complain("the text", weir_status_text(st));
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < result->n; i++) {
        if (result->numbers[i].outcome != VERIFY_LACK) continue;
        weir_buf_reset(&v->line);
        verify_offence(&v->line, input->text, &result->numbers[i]);
        fprintf(stderr, "weir verify: %.*s\n", (int)v->line.len, v->line.ptr);
    }
    bool is_written = fwrite(left.text.ptr, 1, left.text.len, stdout) == left.text.len;
    return is_written && output_finish() && result->n_lacking == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int check_text(struct verifying *v)
{
    struct weir_slice known[MAX_WINDOWS + 1];
    struct verify_result result;
    size_t n_known = 0;
    if (v->question) known[n_known++] = weir_slice_of(v->question);
    for (unsigned i = 0; i < v->n_windows; i++) known[n_known++] = weir_slice_of(v->windows[i]);
    struct verify_input input = {weir_buf_slice(&v->text), &v->ledger, known, n_known};
    enum weir_status st = verify_text(&result, &input, &v->arena);
    if (st != WEIR_OK) {
        complain("the text", weir_status_text(st));
        return EXIT_FAILED;
    }
    if (v->is_strip) return strip_text(v, &input, &result);
    for (size_t i = 0; i < result.n; i++) {
        const struct verified *n = &result.numbers[i];
        struct weir_slice text = {input.text.ptr + n->offset, n->len};
        if (v->is_json) print_json(v, n, text);
        else print_plain(v, n, text);
    }
    return output_finish() && result.n_lacking == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int verify_all(struct verifying *v)
{
    int exit_status = EXIT_FAILED;
    v->doc = weir_json_doc_new(0);
    arena_init(&v->arena, VERIFY_ARENA_BYTES);
    weir_buf_init(&v->file, LEDGER_FILE_BYTES);
    weir_buf_init(&v->text, VERIFY_TEXT_BYTES);
    weir_buf_init(&v->line, OUTPUT_LINE_MAX_BYTES);
    if (!v->doc || !read_ledger(v)) goto out;
    if (!read_all(stdin, &v->text)) complain("the text", "cannot be read");
    else if (weir_buf_status(&v->text) != WEIR_OK) complain("the text", "is too large");
    else exit_status = check_text(v);
out:
    weir_buf_fini(&v->line);
    weir_buf_fini(&v->text);
    weir_buf_fini(&v->file);
    arena_fini(&v->arena);
    weir_json_doc_free(v->doc);
    return exit_status;
}

static const char help[] =
    "usage: weir verify --ledger FILE [--question TEXT] [--window TEXT]...\n"
    "                   [--json | --strip] < ANSWER\n"
    "\n"
    "Looks for the home of each number of a text. FILE is a list of JSON objects:\n"
    "  {\"claim\":\"ds-001.avg\", \"value\":61.8, \"unit\":\"bpm\", \"source\":\"data_science\",\n"
    "   \"n\":28, \"window\":\"2025-03-01..2025-03-28\", \"verdict\":\"validated\"}\n"
    "of which claim and value are needed; \"metric\":\"ldl\" lets mg/dL and mmol/L be turned into\n"
    "each other. A number is at home where it is within 2 % of a value,\n"
    "or 0.05, in the units of the text; what was rejected is no home. Ordinals, labels, marks of\n"
    "lists and dates that are ends of windows need none.\n"
    "\n"
    "  --ledger FILE      the entries\n"
    "  --question TEXT    numbers in it need no home\n"
    "  --window TEXT      nor those in it: \"2025-03-01..2025-03-31\", \"last 30 days\"\n"
    "  --json             one object per number: text, offset, line, column, value, outcome\n"
    "                     (home, exempt, no home), home, why\n"
    "  --strip            print the text without the sentences that hold a number without a home,\n"
    "                     and these numbers among the errors\n"
    "\n"
    "Without --json, a line has the offset in bytes, line:column, the number and its home, or\n"
    "\"exempt\" and why, or \"no home\", with tabs between.\n"
    "\n"
    "Example:\n"
    "  echo 'About 62 bpm, 3 less than before.' | weir verify --ledger facts.json\n"
    "\n"
    "Exit status: 0 all have homes, 1 some lack one or something went wrong, 2 wrong usage.\n";

static int run(int argc, char **argv)
{
    struct verifying v = {0};
    struct option_texts windows = {v.windows, &v.n_windows, MAX_WINDOWS};
    const struct option_row rows[] = {
        {.name = "ledger", .kind = OPTION_TEXT, .to = &v.ledger_path},
        {.name = "question", .kind = OPTION_TEXT, .to = &v.question},
        {.name = "window", .kind = OPTION_TEXTS, .to = &windows},
        {.name = "json", .kind = OPTION_FLAG, .to = &v.is_json},
        {.name = "strip", .kind = OPTION_FLAG, .to = &v.is_strip},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&verify_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words > 0) return usage_error(&verify_command, "one word too many: \"%s\"", words[0]);
    if (v.is_json && v.is_strip)
        return usage_error(&verify_command, "--json and --strip exclude each other");
    if (!v.ledger_path) return usage_error(&verify_command, "--ledger is missing");
    return verify_all(&v);
}

const struct command verify_command = {
    .name = "verify",
    .summary = "find the home of each number of an answer",
    .help = help,
    .run = run,
};
