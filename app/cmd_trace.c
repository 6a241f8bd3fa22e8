/* SPDX-License-Identifier: Apache-2.0 */
/* weir trace: how a turn came about, step by step. */
#include <stdio.h>

#include "local_server.h"
#include "output.h"
#include "remote.h"
#include "trace_text.h"

static const char help[] =
    "usage: weir trace TURN [--user USER] [--json] [--url URL | --data FOLDER]\n"
    "\n"
    "Shows how a turn came about: each step with its time, attempts and cost, which models were\n"
    "asked what, what the agents brought, which gates each finding passed, what the critic said,\n"
    "and the numbers that had no home in the fact sheet.\n"
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

static int show(const struct client_config *c, void *user)
{
    const struct tracing *t = user;
    char path[REMOTE_PATH_BYTES];
    char address[REMOTE_PATH_BYTES];
    struct weir_buf json;
    snprintf(path, sizeof path, "/v1/turns/%s/trace", t->turn);
    remote_path(address, c, path, t->user);
    if (!remote_get(c, address, &json)) return EXIT_FAILED;
    int exit_status = EXIT_DONE;
    if (t->is_json) output_line(&json);
    else exit_status = print_trace(weir_buf_slice(&json));
    weir_buf_fini(&json);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct tracing t = {0};
    struct client_flags flags = {0};
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
    return remote_command(&flags, t.user, show, &t);
}

const struct command trace_command = {
    .name = "trace",
    .summary = "show how a turn came about, step by step",
    .help = help,
    .run = run,
};
