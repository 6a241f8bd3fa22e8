/* SPDX-License-Identifier: Apache-2.0 */
/* weir chat: a conversation about your own data. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chat_plain.h"
#include "chat_terminal.h"
#include "local_server.h"
#include "remote.h"
#include "term_tty.h"

static const char help[] =
    "usage: weir chat [--user USER] [--quiet | --json] [--no-keep] [--url URL | --data FOLDER]\n"
    "       weir chat --session [SESSION] ...\n"
    "\n"
    "A conversation about your own data: each question is a turn, watched as it is answered, and\n"
    "what was said before goes along with it. On a terminal you type at the bottom, also while an\n"
    "answer comes; elsewhere every line of standard input is a question.\n"
    "\n"
    "With --session, or after /session, it is a session instead: a conversation with tools that "
    "is\n"
    "kept, goes on when you leave, and may act: remember, write notes, run by a schedule. Before "
    "it\n"
    "changes anything a prompt asks you, and so do questions that it has; from a pipe they are "
    "left\n"
    "open, and it is said how to answer them. SESSION goes on with one: weir session lists them.\n"
    "\n"
    "  /trace [TURN]      how the last answer, or another turn, came about\n"
    "  /facts             the numbers of the last answer, and where they are from\n"
    "  /memory            what is remembered of you; /memory forget ID forgets an entry\n"
    "  /session [SESSION] go on in a session; there: /steer TEXT, /queue TEXT, /abort, /cancel\n"
    "  /turns, /new, /help, /quit\n"
    "\n"
    "  --session  in a session: a new one, or the one that is named\n"
    "  --user     whose data, of a folder of this machine; without: me\n"
    "  --quiet    the answers alone\n"
    "  --json     every event as a line of JSON: {\"id\",\"event\",\"data\"}\n"
    "  --no-keep  keep nothing on this machine: neither events nor what you type\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir chat\n"
    "  weir chat --session\n"
    "  printf 'how did I sleep in March?\\nand in April?\\n' | weir chat --quiet\n"
    "\n"
    "Esc twice or Ctrl-C cancels a turn, Ctrl-C twice or Ctrl-D leaves. Alt-Enter, or a backslash\n"
    "at the end of a line, begins another line; Up and Down go through what you typed before.\n"
    "\n"
    "Exit status: 0 when you left, or the last question was answered; 1 it failed, 2 wrong usage,\n"
    "3 it was left before the end.\n";

struct chatting {
    const char *user;
    const char *session; /* NULL: a new one, if any */
    bool is_json, is_quiet, is_not_kept, is_session;
    int signal_number;
};

static int talk(const struct client_config *config, void *user)
{
    struct chatting *a = user;
    struct chat c;
    bool is_live = !a->is_json && isatty(STDIN_FILENO) == 1 && tty_is_wanted();
    chat_init(&c, config, a->user);
    c.is_json = a->is_json;
    c.is_quiet = a->is_quiet;
    c.is_not_kept = a->is_not_kept;
    c.is_session = a->is_session;
    if (a->session) snprintf(c.session, sizeof c.session, "%s", a->session);
    int exit_status =
        is_live ? chat_terminal(&c, &a->signal_number) : chat_plain(&c, &a->signal_number);
    chat_fini(&c);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct chatting a = {0};
    struct client_flags flags = {0};
    const struct option_row rows[] = {
        {.name = "session", .kind = OPTION_FLAG, .to = &a.is_session},
        {.name = "user", .kind = OPTION_TEXT, .to = &a.user},
        {.name = "quiet", .kind = OPTION_FLAG, .to = &a.is_quiet},
        {.name = "json", .kind = OPTION_FLAG, .to = &a.is_json},
        {.name = "no-keep", .kind = OPTION_FLAG, .to = &a.is_not_kept},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&chat_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words > (a.is_session ? 1 : 0))
        return usage_error(&chat_command, "questions are typed, or come from a pipe");
    if (n_words == 1) a.session = words[0];
    if (a.session && (strlen(a.session) >= CHAT_ID_BYTES || !local_server_is_name(a.session)))
        return usage_error(&chat_command, "name one session, as ses_01HX…");
    if (a.is_quiet && a.is_json)
        return usage_error(&chat_command, "--quiet or --json, and not both");
    if (a.user && !local_server_is_name(a.user))
        return usage_error(&chat_command, "--user takes letters, digits, . _ - @");
    exit_status = remote_command(&flags, a.user, talk, &a);
    /* Only now, when a server of our own has closed its store. */
    if (a.signal_number != 0) tty_die(a.signal_number);
    return exit_status;
}

const struct command chat_command = {
    .name = "chat",
    .summary = "talk about your own data, question by question",
    .help = help,
    .run = run,
};
