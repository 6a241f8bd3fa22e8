/* SPDX-License-Identifier: Apache-2.0 */
/* weir cron: prompts that a session gets by the clock. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cron_text.h"
#include "person_print.h"
#include "rpc.h"
#include "session/cron.h"

static const char help[] =
    "usage: weir cron [list] [--user USER] [--json]\n"
    "       weir cron add [--session SESSION] [--zone ZONE] [--name NAME] SCHEDULE TEXT...\n"
    "       weir cron remove ID...\n"
    "\n"
    "A scheduled prompt is a message that a session gets by the clock, whether or not somebody\n"
    "looks; \"weir session watch\" shows what came of it. A SCHEDULE is one argument of five\n"
    "fields as of cron: minute, hour, day of the month, month, day of the week; with lists,\n"
    "ranges, steps and names, or a word as @daily. It goes by the clock of its zone, also when\n"
    "clocks are changed. What is missed while no server runs happens once at the next start. add\n"
    "prints the id, the session and the next three runs. \"/NAME\" as TEXT runs a skill.\n"
    "\n"
    "  --session  that gets it; without: one of its own is made\n"
    "  --zone     as Europe/Berlin; without: the server's, which is UTC unless it was told\n"
    "  --name     for lists, instead of the text\n"
    "  --user     whose, of a folder of this machine; without: me\n"
    "  --json     what the server says, as JSON; lists a line for each\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir cron add --zone Europe/Berlin '30 7 * * MON-FRI' 'How did I sleep?'\n"
    "  weir cron add --name review @weekly 'Compare this week with the one before'\n"
    "  weir cron remove cron_01HX2K3M4N5P6Q7R8S9T0V1W2X\n"
    "\n"
    "Exit status: 0 done, 1 refused, failed or no such prompt, 2 wrong usage.\n";

enum { INPUT_BYTES = 1 << 20 }; /* the server has a lower ceiling, and says so */

struct request {
    struct remote_line line;
    const char *session, *zone, *name;
    bool is_json;
};

static int64_t now_ms(void)
{
    return clock_wall_ms(&clock_system);
}

/* ---- list ---- */

static enum weir_status list_text(struct weir_buf *out, const struct weir_json *v, unsigned columns)
{
    return cron_list_text(out, v, columns, now_ms());
}

static int list(const struct client_config *c, void *user)
{
    const struct request *r = user;
    const struct rpc call = {.method = "cron/list", .user = r->line.user};
    return rpc_print_list(c, &call, "jobs", r->is_json ? NULL : list_text);
}

/* ---- add ---- */

static enum weir_status job_text(struct weir_buf *out, const struct weir_json *v, unsigned columns)
{
    (void)columns; /* its lines are short */
    return cron_job_text(out, weir_json_get_str(v, "job"), now_ms());
}

static void put_member(struct weir_buf *out, const char *key, const char *text)
{
    if (!text) return;
    weir_json_put_key(out, key);
    weir_json_put_str(out, text);
}

static void put_input(struct weir_buf *out, const struct request *r)
{
    struct weir_buf text;
    weir_buf_init(&text, INPUT_BYTES);
    for (int i = 1; i < r->line.n_words; i++)
        weir_buf_printf(&text, "%s%s", i > 1 ? " " : "", r->line.words[i]);
    weir_json_put_begin_object(out);
    put_member(out, "schedule", r->line.words[0]);
    weir_json_put_key(out, "text");
    weir_json_put_string(out, weir_buf_slice(&text));
    put_member(out, "sessionId", r->session);
    put_member(out, "timezone", r->zone);
    put_member(out, "name", r->name);
    weir_json_put_end_object(out);
    weir_buf_fini(&text);
}

static int add(const struct client_config *c, void *user)
{
    const struct request *r = user;
    struct rpc_answer answer = {0};
    struct weir_buf input;
    int exit_status = EXIT_FAILED;
    weir_buf_init(&input, 2 * INPUT_BYTES);
    put_input(&input, r);
    const struct rpc call = {
        .method = "cron/create", .user = r->line.user, .input = weir_buf_slice(&input)};
    if (weir_buf_status(&input) != WEIR_OK) fputs("weir: the text is too long\n", stderr);
    else if (rpc_call(c, &call, &answer))
        exit_status =
            r->is_json ? rpc_print(answer.output) : person_print_list(answer.output, job_text);
    rpc_answer_fini(&answer);
    weir_buf_fini(&input);
    return exit_status;
}

/* ---- remove ---- */

static int remove_all(const struct client_config *c, void *user)
{
    const struct request *r = user;
    int n = rpc_call_each(c, "cron/delete", &r->line);
    if (r->is_json) printf("{\"removed\":%d}\n", n);
    else if (n > 0) printf("%d scheduled prompt%s removed\n", n, n == 1 ? "" : "s");
    return n == r->line.n_words ? EXIT_DONE : EXIT_FAILED;
}

/* ---- the command line ---- */

static int run_add(struct request *r, const struct client_flags *flags)
{
    char why[CRON_WHY_BYTES];
    struct cron cron;
    if (r->line.n_words < 2)
        return usage_error(&cron_command, "add takes a schedule in quotes and a text, as "
                                          "'30 7 * * *' 'How did I sleep?'");
    if (!cron_parse(weir_slice_of(r->line.words[0]), &cron, why))
        return usage_error(&cron_command, "the schedule, one argument in quotes: %s", why);
    for (int i = 1; i < r->line.n_words; i++) {
        struct weir_slice word = weir_slice_of(r->line.words[i]);
        if (utf8_valid_prefix(word) < word.len)
            return usage_error(&cron_command, "the text is not UTF-8");
    }
    return remote_command(flags, r->line.user, add, r);
}

static int run_act(struct request *r, const struct client_flags *flags)
{
    const char *act = r->line.act;
    bool is_add = strcmp(act, "add") == 0;
    if (!is_add && (r->session || r->zone || r->name))
        return usage_error(&cron_command, "--session, --zone and --name go with add");
    if (is_add) return run_add(r, flags);
    if (strcmp(act, "list") == 0 && r->line.n_words == 0)
        return remote_command(flags, r->line.user, list, r);
    if (strcmp(act, "remove") != 0)
        return usage_error(&cron_command, "there is list, add SCHEDULE TEXT and remove ID");
    if (!remote_are_ids(&r->line))
        return usage_error(&cron_command, "name a scheduled prompt, as cron_01HX…");
    return remote_command(flags, r->line.user, remove_all, r);
}

static int run(int argc, char **argv)
{
    struct request r = {0};
    struct client_flags flags = {.tells_waiting = true};
    const struct option_row rows[] = {
        {.name = "session", .kind = OPTION_TEXT, .to = &r.session},
        {.name = "zone", .kind = OPTION_TEXT, .to = &r.zone},
        {.name = "name", .kind = OPTION_TEXT, .to = &r.name},
        {.name = "user", .kind = OPTION_TEXT, .to = &r.line.user},
        {.name = "json", .kind = OPTION_FLAG, .to = &r.is_json},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    int exit_status = remote_parse(&cron_command, argc, argv, rows, &r.line);
    if (exit_status != EXIT_DONE) return exit_status;
    return run_act(&r, &flags);
}

const struct command cron_command = {
    .name = "cron",
    .summary = "prompts that a session gets by the clock",
    .help = help,
    .run = run,
};
