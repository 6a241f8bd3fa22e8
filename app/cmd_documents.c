/* SPDX-License-Identifier: Apache-2.0 */
/* weir documents: a person's own texts, added, listed, searched and removed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "pages.h"
#include "person_print.h"
#include "term_text.h"
#include "text_table.h"

static const char help[] =
    "usage: weir documents [list] [--user USER] [--json]\n"
    "       weir documents add [--title TITLE] [--markdown] FILE...\n"
    "       weir documents search [--limit N] WORD...\n"
    "       weir documents show ID\n"
    "       weir documents remove ID...\n"
    "\n"
    "Keeps texts of yours, plain or Markdown (.md), to be found by their words and cited in "
    "chats.\n"
    "What is private in them is kept apart, sealed. - as a file is standard input.\n"
    "\n"
    "A search wants all words, else some; \"a phrase\" in quotes is found as it is, and the last\n"
    "word may be the beginning of one.\n"
    "\n"
    "  --title    of the document; without: its first heading or line. For one file\n"
    "  --markdown whatever the file is called\n"
    "  --limit    documents that a search shows, 10 by default, 50 at most\n"
    "  --user     whose documents, of a folder of this machine; without: me\n"
    "  --json     each document or result as a line of JSON\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir documents add insurance.md letters/*.txt\n"
    "  weir documents search physiotherapy '\"twelve visits\"'\n"
    "  weir documents --json | jq -r .title\n"
    "\n"
    "Exit status: 0 done, 1 no such document or another failure, 2 wrong usage.\n";

enum {
    MOST = 100000,
    FILE_BYTES = 8 << 20, /* the server has a lower ceiling, and says so */
    PIECE_BYTES = 64 << 10,
    ANSWER_BYTES = 64 << 20,
    LIMIT_MAX = 50,
};

struct request {
    struct remote_line line;
    const char *title, *limit;
    bool is_markdown, is_json;
};

/* ---- words for people ---- */

static struct weir_slice text_of(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

static enum weir_status documents_text(struct weir_buf *out, const struct weir_json *list,
                                       unsigned columns)
{
    static const struct text_column titles[] = {{"id", false}, {"bytes", true}, {"title", false}};
    struct text_table t;
    const struct weir_json *d = weir_json_first(list);
    if (!d) weir_buf_append_str(out, "There are no documents.\n");
    if (!d) return weir_buf_status(out);
    text_table_init(&t, titles, sizeof titles / sizeof *titles);
    for (; d; d = weir_json_next(d)) {
        text_table_cell(&t, text_of(d, "id"));
        text_table_cell(&t, weir_json_text(weir_json_get_str(d, "bytes")));
        text_table_cell(&t, text_of(d, "title"));
    }
    enum weir_status st = text_table_put(&t, out, columns);
    text_table_fini(&t);
    return st;
}

static enum weir_status hits_text(struct weir_buf *out, const struct weir_json *answer,
                                  unsigned columns)
{
    (void)columns; /* a terminal may wrap it */
    const struct weir_json *hit = weir_json_first(weir_json_get_str(answer, "data"));
    if (!hit) weir_buf_append_str(out, "Nothing was found.\n");
    for (; hit; hit = weir_json_next(hit)) {
        struct weir_slice heading = text_of(hit, "heading");
        term_clean_label(out, text_of(hit, "title"));
        weir_buf_append_str(out, heading.len > 0 ? " › " : "");
        term_clean_label(out, heading);
        weir_buf_append_str(out, "  (");
        term_clean_label(out, text_of(hit, "sourceId"));
        weir_buf_append_str(out, ")\n    ");
        term_clean_label(out, text_of(hit, "snippet"));
        weir_buf_append_char(out, '\n');
    }
    return weir_buf_status(out);
}

static enum weir_status document_text(struct weir_buf *out, const struct weir_json *document,
                                      unsigned columns)
{
    (void)columns;
    struct term_cleaner cleaner = {0};
    struct weir_slice text = text_of(document, "text");
    term_clean_feed(&cleaner, out, text);
    term_clean_end(&cleaner, out);
    if (text.len > 0 && text.ptr[text.len - 1] != '\n') weir_buf_append_char(out, '\n');
    return weir_buf_status(out);
}

/* ---- requests ---- */

static int list(const struct client_config *c, void *user)
{
    const struct request *r = user;
    char why[REMOTE_WHY_BYTES];
    struct weir_json *entries = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct pages pages = {.path = "/v1/documents", .user = r->line.user, .most = MOST};
    int exit_status = EXIT_FAILED;
    if (doc && pages_get(c, &pages, doc, &entries, why) == WEIR_OK)
        exit_status = person_print_list(entries, r->is_json ? NULL : documents_text);
    else fprintf(stderr, "weir: %s\n", doc ? why : weir_status_text(WEIR_NOMEM));
    weir_json_doc_free(doc);
    return exit_status;
}

static bool read_file(const char *name, struct weir_buf *out)
{
    char piece[PIECE_BYTES];
    bool is_input = strcmp(name, "-") == 0;
    FILE *f = is_input ? stdin : fopen(name, "r");
    for (size_t n; f && (n = fread(piece, 1, sizeof piece, f)) > 0;) weir_buf_append(out, piece, n);
    bool is_whole = f && !ferror(f);
    if (!is_whole) fprintf(stderr, "weir: %s: %s\n", name, strerror(errno));
    if (f && !is_input) fclose(f);
    if (is_whole && weir_buf_status(out) != WEIR_OK)
        fprintf(stderr, "weir: %s: %s\n", name, weir_status_text(weir_buf_status(out)));
    return is_whole && weir_buf_status(out) == WEIR_OK;
}

static bool is_markdown(const struct request *r, const char *name)
{
    struct weir_slice s = weir_slice_of(name);
    return r->is_markdown || slice_ends_with_nocase(s, ".md") ||
           slice_ends_with_nocase(s, ".markdown");
}

/* False: it was complained about. Text that is not UTF-8 cannot be in JSON: the place is told. */
static bool make_body(const struct request *r, const char *name, struct weir_buf *out)
{
    struct weir_buf text;
    weir_buf_init(&text, FILE_BYTES);
    bool is_good = read_file(name, &text);
    size_t good = is_good ? utf8_valid_prefix(weir_buf_slice(&text)) : 0;
    if (is_good && good < text.len) {
        fprintf(stderr, "weir: %s: it is not UTF-8, from byte %zu on\n", name, good);
        is_good = false;
    }
    if (is_good) {
        weir_json_put_begin_object(out);
        if (r->title) member_string(out, "title", weir_slice_of(r->title));
        member_string(out, "mediaType",
                      weir_slice_of(is_markdown(r, name) ? "text/markdown" : "text/plain"));
        member_string(out, "text", weir_buf_slice(&text));
        weir_json_put_end_object(out);
    }
    weir_buf_fini(&text);
    return is_good && weir_buf_status(out) == WEIR_OK;
}

static enum weir_status one_text(struct weir_buf *out, const struct weir_json *document,
                                 unsigned columns)
{
    (void)columns;
    term_clean_label(out, text_of(document, "id"));
    weir_buf_append_str(out, "  ");
    term_clean_label(out, text_of(document, "title"));
    weir_buf_append_char(out, '\n');
    return weir_buf_status(out);
}

static bool add_one(const struct client_config *c, const struct request *r, const char *name)
{
    char path[REMOTE_PATH_BYTES];
    struct weir_buf body;
    struct control_answer answer;
    weir_buf_init(&body, ANSWER_BYTES);
    remote_path(path, c, "/v1/documents", r->line.user);
    bool is_added = make_body(r, name, &body);
    if (is_added) {
        const struct remote_request request = {
            .method = "POST", .path = path, .body = weir_buf_slice(&body)};
        is_added = remote_call(c, &request, 201, &answer);
        if (!is_added) fprintf(stderr, "weir: %s was not added\n", name);
    }
    if (is_added) {
        is_added = person_print_answer(&answer.body, r->is_json ? NULL : one_text) == EXIT_DONE;
        weir_buf_fini(&answer.body);
    }
    weir_buf_fini(&body);
    return is_added;
}

static int add(const struct client_config *c, void *user)
{
    const struct request *r = user;
    int n = 0;
    for (int i = 0; i < r->line.n_words; i++) n += add_one(c, r, r->line.words[i]) ? 1 : 0;
    return n == r->line.n_words ? EXIT_DONE : EXIT_FAILED;
}

/* As in a query; false: it is too long for one. */
static bool put_query(struct weir_buf *out, const struct request *r)
{
    weir_buf_append_str(out, "/v1/documents/search?q=");
    for (int i = 0; i < r->line.n_words; i++) {
        if (i > 0) weir_buf_append_char(out, '+');
        for (const char *p = r->line.words[i]; *p; p++)
            weir_buf_printf(out, "%%%02X", (unsigned)(unsigned char)*p);
    }
    if (r->limit) weir_buf_printf(out, "&limit=%s", r->limit);
    weir_buf_append_char(out, 0);
    return weir_buf_status(out) == WEIR_OK;
}

static int print_hits(const struct request *r, struct weir_buf *json)
{
    const struct weir_json *answer = NULL;
    if (!r->is_json) return person_print_answer(json, hits_text);
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st =
        doc ? weir_json_parse(doc, weir_buf_slice(json), &answer, NULL) : WEIR_NOMEM;
    int exit_status = EXIT_FAILED;
    if (st == WEIR_OK) exit_status = person_print_list(weir_json_get_str(answer, "data"), NULL);
    else fprintf(stderr, "weir: the answer cannot be read: %s\n", weir_status_text(st));
    weir_json_doc_free(doc);
    return exit_status;
}

static int search(const struct client_config *c, void *user)
{
    const struct request *r = user;
    char path[REMOTE_PATH_BYTES];
    struct weir_buf query, json;
    int exit_status = EXIT_FAILED;
    weir_buf_init(&query, REMOTE_PATH_BYTES - 128); /* there may be a user behind it */
    bool fits = put_query(&query, r);
    if (fits) remote_path(path, c, query.ptr, r->line.user);
    else fprintf(stderr, "weir: that is too long to be looked for\n");
    weir_buf_fini(&query);
    if (!fits || !remote_get(c, path, &json)) return EXIT_FAILED;
    exit_status = print_hits(r, &json);
    weir_buf_fini(&json);
    return exit_status;
}

static struct remote_thing thing_of(const struct request *r, const char *id)
{
    return (struct remote_thing){.list = "/v1/documents", .id = id, .user = r->line.user};
}

static int show(const struct client_config *c, void *user)
{
    const struct request *r = user;
    struct weir_buf json;
    const struct remote_thing thing = thing_of(r, r->line.words[0]);
    if (!remote_thing_get(c, &thing, &json)) return EXIT_FAILED;
    int exit_status = person_print_answer(&json, r->is_json ? NULL : document_text);
    weir_buf_fini(&json);
    return exit_status;
}

static int remove_all(const struct client_config *c, void *user)
{
    const struct request *r = user;
    int n = 0;
    for (int i = 0; i < r->line.n_words; i++) {
        const struct remote_thing thing = thing_of(r, r->line.words[i]);
        n += remote_thing_remove(c, &thing) ? 1 : 0;
    }
    if (r->is_json) printf("{\"removed\":%d}\n", n);
    else if (n > 0) printf("%d %s removed\n", n, n == 1 ? "document" : "documents");
    return n == r->line.n_words ? EXIT_DONE : EXIT_FAILED;
}

/* ---- the command line ---- */

static int run_on_ids(struct request *r, const struct client_flags *flags, bool is_show)
{
    bool is_good = remote_are_ids(&r->line) && (!is_show || r->line.n_words == 1);
    if (!is_good) return usage_error(&documents_command, "name a document, as doc_01HX…");
    return remote_command(flags, r->line.user, is_show ? show : remove_all, r);
}

static int run_act(struct request *r, const struct client_flags *flags)
{
    const char *act = r->line.act;
    bool is_add = strcmp(act, "add") == 0;
    bool is_search = strcmp(act, "search") == 0;
    bool is_show = strcmp(act, "show") == 0;
    if (is_add && r->line.n_words == 0)
        return usage_error(&documents_command, "add wants a FILE, or -");
    if (is_add && r->title && r->line.n_words > 1)
        return usage_error(&documents_command, "--title is for one FILE");
    if (is_add) return remote_command(flags, r->line.user, add, r);
    if (is_search && r->line.n_words == 0)
        return usage_error(&documents_command, "search wants a WORD");
    if (is_search) return remote_command(flags, r->line.user, search, r);
    if (is_show || strcmp(act, "remove") == 0) return run_on_ids(r, flags, is_show);
    if (strcmp(act, "list") == 0 && r->line.n_words == 0)
        return remote_command(flags, r->line.user, list, r);
    return usage_error(&documents_command, "there is list, add FILE, search WORD, show ID and "
                                           "remove ID");
}

static bool is_limit(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && n >= 1 && n <= LIMIT_MAX;
}

static int run(int argc, char **argv)
{
    struct request r = {0};
    struct client_flags flags = {.tells_waiting = true};
    const struct option_row rows[] = {
        {.name = "title", .kind = OPTION_TEXT, .to = &r.title},
        {.name = "markdown", .kind = OPTION_FLAG, .to = &r.is_markdown},
        {.name = "limit", .kind = OPTION_TEXT, .to = &r.limit},
        {.name = "user", .kind = OPTION_TEXT, .to = &r.line.user},
        {.name = "json", .kind = OPTION_FLAG, .to = &r.is_json},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    int exit_status = remote_parse(&documents_command, argc, argv, rows, &r.line);
    if (exit_status != EXIT_DONE) return exit_status;
    if (r.limit && !is_limit(r.limit))
        return usage_error(&documents_command, "--limit is a number from 1 to %d", LIMIT_MAX);
    return run_act(&r, &flags);
}

const struct command documents_command = {
    .name = "documents",
    .summary = "keep texts of yours, to be found and cited",
    .help = help,
    .run = run,
};
