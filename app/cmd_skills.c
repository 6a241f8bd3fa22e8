/* SPDX-License-Identifier: Apache-2.0 */
/* weir skills: shortcuts for questions that are asked again and again. */
#include <stdio.h>
#include <string.h>

#include "cron_text.h"
#include "local_server.h"
#include "output.h"
#include "person_print.h"
#include "rpc.h"

static const char help[] =
    "usage: weir skills [list] [--user USER] [--json]\n"
    "       weir skills accept ID [--name NAME]\n"
    "       weir skills reject ID...\n"
    "\n"
    "When a question of the same shape was asked three times in sessions, whatever its days and\n"
    "numbers, a shortcut is proposed. It does nothing until it is accepted; then a message\n"
    "\"/NAME\" to a session is that question, and what follows the name is added to it. One that\n"
    "was rejected is not proposed again. reject removes those that were accepted, too.\n"
    "\n"
    "  --name     another name: a-z, 0-9 and -, at most 40; also of one that was accepted\n"
    "  --user     whose, of a folder of this machine; without: me\n"
    "  --json     what the server says, as JSON; lists a line for each\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir skills\n"
    "  weir skills accept skl_01HX2K3M4N5P6Q7R8S9T0V1W2X --name nights\n"
    "  weir session new /nights --watch\n"
    "\n"
    "Exit status: 0 done, 1 refused, failed or no such skill, 2 wrong usage.\n";

enum { INPUT_BYTES = 4096, NAME_BYTES = 64 };

struct request {
    struct remote_line line;
    const char *name;
    bool is_json;
};

static int list(const struct client_config *c, void *user)
{
    const struct request *r = user;
    const struct rpc call = {.method = "skills/list", .user = r->line.user};
    return rpc_print_list(c, &call, "skills", r->is_json ? NULL : skill_list_text);
}

/* The answer is the caller's to free, whatever came. */
static bool call_accept(const struct client_config *c, const struct request *r,
                        struct rpc_answer *answer)
{
    struct weir_buf input;
    weir_buf_init(&input, INPUT_BYTES);
    weir_json_put_begin_object(&input);
    weir_json_put_key(&input, "id");
    weir_json_put_str(&input, r->line.words[0]);
    if (r->name) {
        weir_json_put_key(&input, "name");
        weir_json_put_str(&input, r->name);
    }
    weir_json_put_end_object(&input);
    const struct rpc call = {
        .method = "skills/accept", .user = r->line.user, .input = weir_buf_slice(&input)};
    bool is_good = rpc_call(c, &call, answer);
    weir_buf_fini(&input);
    return is_good;
}

static int accept(const struct client_config *c, void *user)
{
    const struct request *r = user;
    struct rpc_answer answer;
    int exit_status = EXIT_FAILED;
    if (call_accept(c, r, &answer)) {
        char name[NAME_BYTES];
        struct weir_slice text =
            weir_json_text(weir_json_get_str(weir_json_get_str(answer.output, "skill"), "name"));
        bool fits = text.len > 0 && text.len < sizeof name;
        snprintf(name, sizeof name, "%.*s", fits ? (int)text.len : 0, fits ? text.ptr : "");
        exit_status = r->is_json ? rpc_print(answer.output) : EXIT_DONE;
        if (!r->is_json && local_server_is_name(name))
            printf("accepted: a message \"/%s\" to a session runs it\n", name);
    }
    rpc_answer_fini(&answer);
    return exit_status;
}

static int reject(const struct client_config *c, void *user)
{
    const struct request *r = user;
    int n = rpc_call_each(c, "skills/reject", &r->line);
    if (r->is_json) printf("{\"rejected\":%d}\n", n);
    else printf("%d skill%s rejected\n", n, n == 1 ? "" : "s");
    return n == r->line.n_words ? EXIT_DONE : EXIT_FAILED;
}

static bool is_skill_name(const char *text)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return len > 0 && len <= 40 && text[len] == '\0';
}

static int run_act(struct request *r, const struct client_flags *flags)
{
    const char *act = r->line.act;
    bool is_accept = strcmp(act, "accept") == 0;
    if (r->name && (!is_accept || !is_skill_name(r->name)))
        return usage_error(&skills_command, is_accept ? "--name has a-z, 0-9 and -, at most 40"
                                                      : "--name goes with accept");
    if (strcmp(act, "list") == 0 && r->line.n_words == 0)
        return remote_command(flags, r->line.user, list, r);
    if (!is_accept && strcmp(act, "reject") != 0)
        return usage_error(&skills_command, "there is list, accept ID and reject ID");
    if (!remote_are_ids(&r->line) || (is_accept && r->line.n_words > 1))
        return usage_error(&skills_command, "name a skill, as skl_01HX…");
    return remote_command(flags, r->line.user, is_accept ? accept : reject, r);
}

static int run(int argc, char **argv)
{
    struct request r = {0};
    struct client_flags flags = {.tells_waiting = true};
    const struct option_row rows[] = {
        {.name = "name", .kind = OPTION_TEXT, .to = &r.name},
        {.name = "user", .kind = OPTION_TEXT, .to = &r.line.user},
        {.name = "json", .kind = OPTION_FLAG, .to = &r.is_json},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    int exit_status = remote_parse(&skills_command, argc, argv, rows, &r.line);
    if (exit_status != EXIT_DONE) return exit_status;
    return run_act(&r, &flags);
}

const struct command skills_command = {
    .name = "skills",
    .summary = "shortcuts for questions that are asked again",
    .help = help,
    .run = run,
};
