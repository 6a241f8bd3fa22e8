/* SPDX-License-Identifier: Apache-2.0 */
/* weir memory: what is remembered of a person, and forgetting it. */
#include <stdio.h>
#include <string.h>

#include "local_server.h"
#include "pages.h"
#include "person_print.h"

static const char help[] =
    "usage: weir memory [list] [--category CATEGORY] [--user USER] [--json]\n"
    "       weir memory show ID\n"
    "       weir memory forget ID...\n"
    "       weir memory clear --yes\n"
    "\n"
    "Shows what turns have remembered of you and give to later ones: goals and preferences that\n"
    "you have said, insights and hypotheses of your data. forget removes entries, clear all.\n"
    "\n"
    "  --category only those: goal, preference, insight or hypothesis\n"
    "  --yes      clear asks nothing, so it has to be said\n"
    "  --user     whose memory, of a folder of this machine; without: me\n"
    "  --json     each entry as a line of JSON\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir memory --category goal\n"
    "  weir memory forget mem_01HX2K3M4N5P6Q7R8S9T0V1W2X\n"
    "  weir memory --json | jq -r 'select(.category == \"insight\") | .text'\n"
    "\n"
    "Exit status: 0 done, 1 no such entry or another failure, 2 wrong usage.\n";

enum { MOST = 100000 };

struct request {
    struct remote_line line;
    const char *category;
    bool is_json, is_sure;
};

/* All entries, in `doc`; NULL, with a complaint, when they cannot be had. */
static const struct weir_json *get_all(const struct client_config *c, const struct request *r,
                                       struct weir_json_doc *doc)
{
    char path[REMOTE_PATH_BYTES];
    char why[REMOTE_WHY_BYTES];
    struct weir_json *entries = NULL;
    snprintf(path, sizeof path, "/v1/memory%s%s", r->category ? "?category=" : "",
             r->category ? r->category : "");
    const struct pages pages = {.path = path, .user = r->line.user, .most = MOST};
    if (pages_get(c, &pages, doc, &entries, why) == WEIR_OK) return entries;
    fprintf(stderr, "weir: %s\n", why);
    return NULL;
}

static int list(const struct client_config *c, void *user)
{
    const struct request *r = user;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *entries = doc ? get_all(c, r, doc) : NULL;
    int exit_status = EXIT_FAILED;
    if (entries) exit_status = person_print_list(entries, r->is_json ? NULL : memory_text);
    weir_json_doc_free(doc);
    return exit_status;
}

static struct remote_thing thing_of(const struct request *r, const char *id)
{
    return (struct remote_thing){.list = "/v1/memory", .id = id, .user = r->line.user};
}

static int show(const struct client_config *c, void *user)
{
    const struct request *r = user;
    struct weir_buf json;
    const struct remote_thing thing = thing_of(r, r->line.words[0]);
    if (!remote_thing_get(c, &thing, &json)) return EXIT_FAILED;
    int exit_status = person_print_answer(&json, r->is_json ? NULL : memory_entry_text);
    weir_buf_fini(&json);
    return exit_status;
}

static bool forget_one(const struct client_config *c, const struct request *r, const char *id)
{
    const struct remote_thing thing = thing_of(r, id);
    return remote_thing_remove(c, &thing);
}

static int say_forgotten(const struct request *r, size_t n, bool is_whole)
{
    if (r->is_json) printf("{\"forgotten\":%zu}\n", n);
    else printf("%zu %s forgotten\n", n, n == 1 ? "entry" : "entries");
    return is_whole ? EXIT_DONE : EXIT_FAILED;
}

static int forget(const struct client_config *c, void *user)
{
    const struct request *r = user;
    size_t n = 0;
    for (int i = 0; i < r->line.n_words; i++) n += forget_one(c, r, r->line.words[i]) ? 1 : 0;
    return say_forgotten(r, n, n == (size_t)r->line.n_words);
}

static int clear(const struct client_config *c, void *user)
{
    const struct request *r = user;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *entries = doc ? get_all(c, r, doc) : NULL;
    bool is_whole = entries != NULL;
    size_t n = 0;
    for (const struct weir_json *v = weir_json_first(entries); v; v = weir_json_next(v)) {
        char id[REMOTE_PATH_BYTES / 2];
        struct weir_slice text = weir_json_text(weir_json_get_str(v, "id"));
        snprintf(id, sizeof id, "%.*s", (int)text.len, text.len > 0 ? text.ptr : "");
        bool is_gone = local_server_is_name(id) && forget_one(c, r, id);
        is_whole &= is_gone;
        n += is_gone ? 1 : 0;
    }
    weir_json_doc_free(doc);
    return say_forgotten(r, n, is_whole);
}

static bool is_category(const char *text)
{
    static const char *const all[] = {"goal", "preference", "insight", "hypothesis"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i], text) == 0) return true;
    return false;
}

static int run_on_ids(struct request *r, const struct client_flags *flags, const char *act)
{
    bool is_show = strcmp(act, "show") == 0;
    if (!is_show && strcmp(act, "forget") != 0)
        return usage_error(&memory_command, "there is list, show ID, forget ID and clear --yes");
    if (!remote_are_ids(&r->line) || (is_show && r->line.n_words > 1))
        return usage_error(&memory_command, "name an entry, as mem_01HX…");
    return remote_command(flags, r->line.user, is_show ? show : forget, r);
}

static int run_act(struct request *r, const struct client_flags *flags)
{
    const char *act = r->line.act;
    bool is_clear = strcmp(act, "clear") == 0 && r->line.n_words == 0;
    if (strcmp(act, "list") == 0 && r->line.n_words == 0)
        return remote_command(flags, r->line.user, list, r);
    if (!is_clear) return run_on_ids(r, flags, act);
    if (!r->is_sure)
        return usage_error(&memory_command, "clear forgets everything: say so with --yes");
    return remote_command(flags, r->line.user, clear, r);
}

static int run(int argc, char **argv)
{
    struct request r = {0};
    struct client_flags flags = {.tells_waiting = true};
    const struct option_row rows[] = {
        {.name = "category", .kind = OPTION_TEXT, .to = &r.category},
        {.name = "yes", .kind = OPTION_FLAG, .to = &r.is_sure},
        {.name = "user", .kind = OPTION_TEXT, .to = &r.line.user},
        {.name = "json", .kind = OPTION_FLAG, .to = &r.is_json},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    int exit_status = remote_parse(&memory_command, argc, argv, rows, &r.line);
    if (exit_status != EXIT_DONE) return exit_status;
    if (r.category && !is_category(r.category))
        return usage_error(&memory_command,
                           "--category is goal, preference, insight or hypothesis");
    return run_act(&r, &flags);
}

const struct command memory_command = {
    .name = "memory",
    .summary = "show and forget what is remembered of you",
    .help = help,
    .run = run,
};
