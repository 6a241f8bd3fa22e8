/* SPDX-License-Identifier: Apache-2.0 */
/* weir replay: runs a turn again, step by step on what was recorded, and shows what differs. */
#include <stdio.h>

#include <weir/json.h>

#include "local_server.h"
#include "output.h"
#include "remote.h"
#include "term_text.h"

static const char help[] =
    "usage: weir replay TURN [--from STEP] [--user USER] [--json] [--url URL | --data FOLDER]\n"
    "\n"
    "Runs a turn that has ended again, each step on its recorded input, beside what it brought\n"
    "then, and prints what differs: nothing, when neither the code nor the data have changed. It\n"
    "writes nothing, and nobody who watches the turn notices.\n"
    "\n"
    "  --from     the first step to run again: classify_vagueness, route, rephrase_per_agent,\n"
    "             run_supporting_agents, run_main_agent, reflection, validation_gates, synthesis\n"
    "             or memory_extraction; without: all\n"
    "  --user     whose turn, of a folder of this machine; without: me\n"
    "  --json     the comparison as JSON\n" CLIENT_HELP "\n"
    "Example:\n"
    "  weir replay turn_01HX2K3M4N5P6Q7R8S9T0V1W2X --from validation_gates\n"
    "\n"
    "Exit status: 0 nothing differs, 1 something does or it failed, 2 wrong usage.\n";

enum { SHOWN = 8, NAME_COLUMNS = 22 };

struct replaying {
    const char *turn, *from, *user;
    bool is_json;
};

static void put_member(struct weir_buf *line, const struct weir_json *v, const char *key)
{
    weir_json_put_value(line, weir_json_get_str(v, key));
}

static void print_differences(const struct weir_json *list)
{
    struct weir_buf line;
    size_t n = 0;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    for (const struct weir_json *d = weir_json_first(list); d && n < SHOWN;
         d = weir_json_next(d), n++) {
        weir_buf_append_str(&line, "    ");
        term_clean_label(&line, weir_json_text(weir_json_get_str(d, "path")));
        weir_buf_append_str(&line, ": was ");
        put_member(&line, d, "was");
        weir_buf_append_str(&line, ", is ");
        put_member(&line, d, "is");
        output_line(&line);
    }
    weir_buf_fini(&line);
    if (weir_json_count(list) > SHOWN) printf("    and %zu more\n", weir_json_count(list) - SHOWN);
}

static bool is_same(const struct weir_json *v)
{
    return weir_json_type_of(weir_json_get_str(v, "same")) == WEIR_JSON_TRUE;
}

static void print_step(const struct weir_json *step)
{
    struct weir_slice name = weir_json_text(weir_json_get_str(step, "name"));
    struct weir_slice error = weir_json_text(weir_json_get_str(step, "error"));
    fputs("  ", stdout);
    output_label(name, NAME_COLUMNS);
    printf(" %s", is_same(step) ? "the same" : error.len > 0 ? "failed: " : "differs");
    output_label(error, 0);
    putchar('\n');
    print_differences(weir_json_get_str(step, "differences"));
}

static int print_replay(struct weir_slice json, bool is_quiet)
{
    const struct weir_json *replay = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? weir_json_parse(doc, json, &replay, NULL) : WEIR_NOMEM;
    const struct weir_json *steps = weir_json_get_str(replay, "steps");
    if (!is_quiet)
        for (const struct weir_json *s = weir_json_first(steps); s; s = weir_json_next(s))
            print_step(s);
    if (st != WEIR_OK && !is_quiet)
        fprintf(stderr, "weir: the answer cannot be read: %s\n", weir_status_text(st));
    int exit_status = st == WEIR_OK && is_same(replay) ? EXIT_DONE : EXIT_FAILED;
    weir_json_doc_free(doc);
    return exit_status;
}

static int show(const struct client_config *c, void *user)
{
    const struct replaying *r = user;
    char path[REMOTE_PATH_BYTES];
    char address[REMOTE_PATH_BYTES];
    struct control_answer answer;
    snprintf(path, sizeof path, "/v1/turns/%s/replay%s%s", r->turn, r->from ? "?from=" : "",
             r->from ? r->from : "");
    remote_path(address, c, path, r->user);
    struct remote_request request = {
        .method = "GET", .path = address, .first_byte_ms = REMOTE_TURN_MS};
    if (!remote_call(c, &request, 200, &answer)) return EXIT_FAILED;
    struct weir_slice json = weir_buf_slice(&answer.body);
    int exit_status = print_replay(json, r->is_json);
    if (r->is_json && !output_json(json)) exit_status = EXIT_FAILED;
    weir_buf_fini(&answer.body);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct replaying r = {0};
    struct client_flags flags = {.tells_waiting = true};
    struct client_config config;
    const struct option_row rows[] = {
        {.name = "from", .kind = OPTION_TEXT, .to = &r.from},
        {.name = "user", .kind = OPTION_TEXT, .to = &r.user},
        {.name = "json", .kind = OPTION_FLAG, .to = &r.is_json},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&replay_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words != 1) return usage_error(&replay_command, "name one turn, as turn_01HX…");
    r.turn = words[0];
    if (!local_server_is_name(r.turn) || (r.user && !local_server_is_name(r.user)) ||
        (r.from && !local_server_is_name(r.from)))
        return usage_error(&replay_command, "turns, steps and users have letters, digits, . _ - @");
    exit_status = client_config_load(&flags, &config);
    if (exit_status == EXIT_DONE && !remote_takes_user(&config, r.user)) exit_status = EXIT_USAGE;
    if (exit_status == EXIT_DONE) exit_status = remote_run(&config, show, &r);
    client_config_forget(&config);
    return exit_status;
}

const struct command replay_command = {
    .name = "replay",
    .summary = "run a turn again and show what differs",
    .help = help,
    .run = run,
};
