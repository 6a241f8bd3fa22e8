/* SPDX-License-Identifier: Apache-2.0 */
/* weir turns: what was asked, one of them as a whole, and the end of one that runs. */
#include <stdio.h>
#include <string.h>

#include "local_server.h"
#include "output.h"
#include "pages.h"
#include "person_print.h"

static const char help[] =
    "usage: weir turns [--limit N] [--status STATUS] [--user USER] [--json]\n"
    "       weir turns show TURN\n"
    "       weir turns cancel TURN\n"
    "\n"
    "Lists what you have asked, the newest first: the turn's id, when it was, how it ended, how\n"
    "long it took, what it cost, and the question. show prints one with its answer and fact "
    "sheet;\n"
    "cancel ends one that runs.\n"
    "\n"
    "  --limit    how many; without: 20\n"
    "  --status   only those: queued, running, completed or failed\n"
    "  --user     whose turns, of a folder of this machine; without: me\n"
    "  --json     each turn as a line of JSON\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir turns --limit 5\n"
    "  weir turns --status failed --json | jq -r '.error.message'\n"
    "  weir turns show turn_01HX2K3M4N5P6Q7R8S9T0V1W2X\n"
    "\n"
    "How one came about: weir trace TURN. To ask: weir ask, weir chat.\n"
    "\n"
    "Exit status: 0 done, 1 no such turn or another failure, 2 wrong usage.\n";

enum { LIMIT = 20, MOST = 100000 };

struct request {
    const char *turn, *user, *status;
    unsigned limit;
    bool is_json;
};

static int list(const struct client_config *c, void *user)
{
    const struct request *r = user;
    char path[REMOTE_PATH_BYTES];
    char why[REMOTE_WHY_BYTES];
    struct weir_json *turns = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    snprintf(path, sizeof path, "/v1/turns%s%s", r->status ? "?status=" : "",
             r->status ? r->status : "");
    const struct pages pages = {.path = path, .user = r->user, .most = r->limit};
    int exit_status = EXIT_FAILED;
    enum weir_status st = doc ? pages_get(c, &pages, doc, &turns, why) : WEIR_NOMEM;
    if (st == WEIR_OK) exit_status = person_print_list(turns, r->is_json ? NULL : turns_text);
    else fprintf(stderr, "weir: %s\n", doc ? why : weir_status_text(st));
    weir_json_doc_free(doc);
    return exit_status;
}

static int show(const struct client_config *c, void *user)
{
    const struct request *r = user;
    struct weir_buf json;
    const struct remote_thing thing = {.list = "/v1/turns", .id = r->turn, .user = r->user};
    if (!remote_thing_get(c, &thing, &json)) return EXIT_FAILED;
    int exit_status = person_print_answer(&json, r->is_json ? NULL : turn_text);
    weir_buf_fini(&json);
    return exit_status;
}

static int cancel(const struct client_config *c, void *user)
{
    const struct request *r = user;
    char path[REMOTE_PATH_BYTES];
    char address[REMOTE_PATH_BYTES];
    struct control_answer answer;
    snprintf(path, sizeof path, "/v1/turns/%s/cancel", r->turn);
    remote_path(address, c, path, r->user);
    const struct remote_request request = {.method = "POST", .path = address};
    if (!remote_call(c, &request, 202, &answer)) return EXIT_FAILED;
    bool is_good = !r->is_json || output_json(weir_buf_slice(&answer.body));
    if (!r->is_json) printf("%s is being cancelled\n", r->turn);
    weir_buf_fini(&answer.body);
    return is_good ? EXIT_DONE : EXIT_FAILED;
}

static bool is_status(const char *text)
{
    static const char *const all[] = {"queued", "running", "completed", "failed"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i], text) == 0) return true;
    return false;
}

static int run(int argc, char **argv)
{
    struct request r = {.limit = LIMIT};
    struct client_flags flags = {.tells_waiting = true};
    const struct option_row rows[] = {
        {.name = "limit", .kind = OPTION_COUNT, .to = &r.limit, .min = 1, .max = MOST},
        {.name = "status", .kind = OPTION_TEXT, .to = &r.status},
        {.name = "user", .kind = OPTION_TEXT, .to = &r.user},
        {.name = "json", .kind = OPTION_FLAG, .to = &r.is_json},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&turns_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (r.user && !local_server_is_name(r.user))
        return usage_error(&turns_command, "--user takes letters, digits, . _ - @");
    if (r.status && !is_status(r.status))
        return usage_error(&turns_command, "--status is queued, running, completed or failed");
    if (n_words == 0 || (n_words == 1 && strcmp(words[0], "list") == 0))
        return remote_command(&flags, r.user, list, &r);
    bool is_show = strcmp(words[0], "show") == 0;
    if (!is_show && strcmp(words[0], "cancel") != 0)
        return usage_error(&turns_command, "there is list, show and cancel, not \"%s\"", words[0]);
    if (n_words != 2 || !local_server_is_name(words[1]))
        return usage_error(&turns_command, "name one turn, as turn_01HX…");
    r.turn = words[1];
    return remote_command(&flags, r.user, is_show ? show : cancel, &r);
}

const struct command turns_command = {
    .name = "turns",
    .summary = "list what was asked, show or cancel a turn",
    .help = help,
    .run = run,
};
