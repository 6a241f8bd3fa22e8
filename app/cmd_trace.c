/* SPDX-License-Identifier: Apache-2.0 */
/* weir trace: how a turn came about, step by step. */
#include <stdio.h>
#include <unistd.h>

#include "local_server.h"
#include "output.h"
#include "remote.h"
#include "trace_kept.h"
#include "trace_text.h"

static const char help[] =
    "usage: weir trace TURN [--user USER] [--json] [--url URL | --data FOLDER]\n"
    "\n"
    "Shows how a turn came about: each step with its time, attempts and cost, which models were\n"
    "asked what, what the agents brought, which gates each finding passed, what the critic said,\n"
    "and the numbers that had no home in the fact sheet. When the server no longer has the turn,\n"
    "or is gone, the events that weir ask and weir watch have kept on this machine are shown.\n"
    "\n"
    "  --user     whose turn, of a folder of this machine; without: me\n"
    "  --json     everything, with the whole input and output of each step\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir trace turn_01HX2K3M4N5P6Q7R8S9T0V1W2X\n"
    "  weir trace turn_01HX2K3M4N5P6Q7R8S9T0V1W2X --json | jq '.steps[].output'\n"
    "  weir trace turn_01HX2K3M4N5P6Q7R8S9T0V1W2X --json | jq '.steps[].model_calls[].request'\n"
    "\n"
    "Exit status: 0 shown, 1 no such turn or another failure, 2 wrong usage.\n";

struct tracing {
    const char *turn, *user;
    bool is_json;
};

static int print_trace(struct weir_slice json)
{
    struct weir_buf text;
    weir_buf_init(&text, OUTPUT_LINE_MAX_BYTES);
    enum weir_status st = trace_text(&text, json);
    if (st == WEIR_OK) fwrite(text.ptr, 1, text.len, stdout);
    else fprintf(stderr, "weir: the trace cannot be read: %s\n", weir_status_text(st));
    weir_buf_fini(&text);
    return st == WEIR_OK ? EXIT_DONE : EXIT_FAILED;
}

static int print(const struct tracing *t, struct weir_buf *json)
{
    if (!t->is_json) return print_trace(weir_buf_slice(json));
    return output_json(weir_buf_slice(json)) ? EXIT_DONE : EXIT_FAILED;
}

/* The server cannot show it, and why: then what was kept here. */
static int show_kept(const struct tracing *t, const char *why)
{
    struct weir_buf json;
    int exit_status = EXIT_FAILED;
    weir_buf_init(&json, OUTPUT_LINE_MAX_BYTES);
    bool is_kept = trace_kept(&json, t->turn);
    fprintf(stderr, "weir: %s%s\n", why, is_kept ? "; this is from the events kept here" : "");
    if (is_kept) exit_status = print(t, &json);
    weir_buf_fini(&json);
    return exit_status;
}

static int show(const struct client_config *c, void *user)
{
    const struct tracing *t = user;
    char path[REMOTE_PATH_BYTES];
    char address[REMOTE_PATH_BYTES];
    char why[REMOTE_WHY_BYTES];
    struct control_answer answer;
    int exit_status = EXIT_FAILED;
    snprintf(path, sizeof path, "/v1/turns/%s/trace", t->turn);
    remote_path(address, c, path, t->user);
    const struct remote_request request = {.method = "GET", .path = address};
    enum weir_status st = remote_request(c, &request, &answer, why);
    bool is_gone = st != WEIR_OK || answer.status == 404 || answer.status == 410;
    if (st == WEIR_OK && answer.status != 200) remote_explain(c, &answer, why);
    if (is_gone) exit_status = show_kept(t, why);
    else if (answer.status == 200) exit_status = print(t, &answer.body);
    else fprintf(stderr, "weir: %s\n", why);
    weir_buf_fini(&answer.body);
    return exit_status;
}

/* Without its folder a server of this machine is gone, too. */
static int find_and_show(const struct client_config *c, struct tracing *t)
{
    char why[DATA_FOLDER_BYTES + 64];
    if (!c->is_local || access(c->folder, F_OK) == 0) return remote_run(c, show, t);
    snprintf(why, sizeof why, "there is no data folder %s", c->folder);
    return show_kept(t, why);
}

static int run(int argc, char **argv)
{
    struct tracing t = {0};
    struct client_flags flags = {.tells_waiting = true};
    struct client_config config;
    const struct option_row rows[] = {
        {.name = "user", .kind = OPTION_TEXT, .to = &t.user},
        {.name = "json", .kind = OPTION_FLAG, .to = &t.is_json},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&trace_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words != 1) return usage_error(&trace_command, "name one turn, as turn_01HX…");
    if (!local_server_is_name(words[0]) || (t.user && !local_server_is_name(t.user)))
        return usage_error(&trace_command, "turns and users have letters, digits, . _ - @");
    t.turn = words[0];
    exit_status = client_config_load(&flags, &config);
    if (exit_status == EXIT_DONE && !remote_takes_user(&config, t.user)) exit_status = EXIT_USAGE;
    if (exit_status == EXIT_DONE) exit_status = find_and_show(&config, &t);
    client_config_forget(&config);
    return exit_status;
}

const struct command trace_command = {
    .name = "trace",
    .summary = "show how a turn came about, step by step",
    .help = help,
    .run = run,
};
