/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir ask: one question as a turn, watched: alive on a terminal; elsewhere the answer goes to
 * standard output, and who works on it to standard error.
 */
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "background.h"
#include "base/mem.h"
#include "local_server.h"
#include "options.h"
#include "patience.h"
#include "remote.h"
#include "stream_watch.h"
#include "term_tty.h"

static const char help[] =
    "usage: weir ask QUESTION... [--user USER] [--quiet | --json] [--url URL | --data FOLDER]\n"
    "\n"
    "Asks a question about your own data and shows how it is answered: which agents work on it,\n"
    "what they look at, and which findings pass the checks. The answer is printed last, and every\n"
    "number in it is in its fact sheet. It needs no model and no network. A server that is named "
    "or\n"
    "runs on the folder does the work; without one it is done here.\n"
    "\n"
    "  --user     whose data, of a folder of this machine; without: me\n"
    "  --quiet    the answer alone\n"
    "  --json     every event as a line of JSON: {\"id\",\"event\",\"data\"}\n"
    "  --no-keep  keep no copy of the events on this machine (weir trace shows them "
    "later)\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir ask \"is my resting heart rate going down?\"\n"
    "  weir ask is anything interesting in my data\n"
    "  weir ask \"is an LDL of 124 a concern?\" --quiet\n"
    "\n"
    "On a terminal, Esc twice or Ctrl-C cancels the turn, and Ctrl-C twice stops watching. With\n"
    "NO_COLOR, TERM=dumb or a pipe there are plain lines. weir trace TURN shows what happened.\n"
    "\n"
    "Exit status: 0 answered, 1 failed, 2 wrong usage, 3 left before the end.\n";

enum { BODY_BYTES = 1 << 20, ID_BYTES = 64 };

struct asking {
    const char *question, *user;
    bool is_not_kept;
    struct watcher_options options;
    const struct client_config *config;
    char turn[ID_BYTES];
    struct remote_post *cancelling; /* NULL: it was not cancelled */
    int signal_number;              /* what ended the watching */
};

/* Keeps the id that the server has given the turn. */
static bool take_turn(struct asking *a, struct weir_slice body)
{
    const struct weir_json *turn = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    bool is_turn = doc && weir_json_parse(doc, body, &turn, NULL) == WEIR_OK;
    struct weir_slice id = weir_json_text(weir_json_get_str(turn, "id"));
    if (is_turn) snprintf(a->turn, ID_BYTES, "%.*s", (int)id.len, id.len > 0 ? id.ptr : "");
    weir_json_doc_free(doc);
    if (a->turn[0] == '\0') fputs("weir: the server's answer names no turn\n", stderr);
    return a->turn[0] != '\0';
}

/* The request that makes the turn; it may outlive the asking, so it has all of its own. */
struct posting {
    struct client_config config;
    char path[REMOTE_PATH_BYTES];
    struct weir_buf body;
    struct control_answer answer;
    enum weir_status status;
    char why[REMOTE_WHY_BYTES];
};

static void post(void *user)
{
    struct posting *p = user;
    const struct remote_request request = {
        .method = "POST", .path = p->path, .body = weir_buf_slice(&p->body)};
    p->status = remote_request(&p->config, &request, &p->answer, p->why);
    if (p->status == WEIR_OK && p->answer.status != 201)
        remote_explain(&p->config, &p->answer, p->why);
}

static void drop(void *user)
{
    struct posting *p = user;
    weir_buf_fini(&p->body);
    weir_buf_fini(&p->answer.body);
    client_config_forget(&p->config);
    mem_free(p);
}

static struct posting *posting_new(const struct asking *a)
{
    struct posting *p = mem_zalloc(sizeof *p);
    if (!p) return NULL;
    p->config = *a->config;
    weir_buf_init(&p->body, BODY_BYTES);
    weir_buf_append_str(&p->body, "{\"messages\":[{\"role\":\"user\",\"content\":");
    weir_json_put_str(&p->body, a->question);
    weir_buf_append_str(&p->body, "}]}");
    remote_path(p->path, a->config, "/v1/turns", a->user);
    if (weir_buf_status(&p->body) == WEIR_OK) return p;
    drop(p);
    return NULL;
}

/* It is the caller's again. */
static bool take_posted(struct asking *a, struct posting *p)
{
    if (p->status == WEIR_OK && p->answer.status == 201)
        return take_turn(a, weir_buf_slice(&p->answer.body));
    fprintf(stderr, "weir: %s\n", p->why);
    return false;
}

static bool post_turn(struct asking *a)
{
    struct posting *p = posting_new(a);
    struct background *b = p ? background_start(post, drop, p) : NULL;
    bool is_made = false;
    if (!b) {
        fputs("weir: there is no memory for the question\n", stderr);
        if (p) drop(p);
        return false;
    }
    switch (patience_wait(b, "waiting for the server", &a->signal_number)) {
    case PATIENCE_DONE: is_made = take_posted(a, p); break;
    case PATIENCE_CANCELLED:
        fputs("cancelled; the server may have begun a turn all the same\n", stderr);
        break;
    case PATIENCE_SIGNAL: break;
    }
    background_end(b);
    return is_made;
}

/* Nobody waits for the answer, but for a while at the end, when the terminal is sane again. */
static bool cancel_turn(void *user)
{
    struct asking *a = user;
    char path[REMOTE_PATH_BYTES];
    char address[REMOTE_PATH_BYTES];
    snprintf(path, sizeof path, "/v1/turns/%s/cancel", a->turn);
    remote_path(address, a->config, path, a->user);
    if (!a->cancelling) a->cancelling = remote_post_begin(a->config, address);
    return true;
}

static int ask(const struct client_config *config, void *user)
{
    struct asking *a = user;
    a->config = config;
    if (!post_turn(a)) return EXIT_FAILED;
    const struct stream_wish wish = {
        .kind = WEIR_STREAM_TURN,
        .id = a->turn,
        .user = a->user,
        .is_not_kept = a->is_not_kept,
        .cancel = cancel_turn,
        .cancel_user = a,
    };
    int exit_status = stream_watch(config, &wish, &a->options, &a->signal_number);
    remote_post_end(a->cancelling);
    return exit_status;
}

/* The words of the command line with blanks between them. */
static void join_words(struct weir_buf *out, char **words, int n)
{
    for (int i = 0; i < n; i++) {
        if (i > 0) weir_buf_append_char(out, ' ');
        weir_buf_append_str(out, words[i]);
    }
    weir_buf_append_char(out, '\0');
}

static bool has_question(char **words, int n)
{
    for (int i = 0; i < n; i++)
        if (words[i][strspn(words[i], " \t\r\n")] != '\0') return true;
    return false;
}

static int run_with(struct asking *a, const struct client_flags *flags)
{
    struct client_config config;
    int exit_status = client_config_load(flags, &config);
    if (exit_status == EXIT_DONE && !remote_takes_user(&config, a->user)) exit_status = EXIT_USAGE;
    if (exit_status == EXIT_DONE) exit_status = remote_run(&config, ask, a);
    client_config_forget(&config);
    /* Only now, when a server of our own has closed its store. */
    if (a->signal_number != 0) tty_die(a->signal_number);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct asking a = {.user = NULL};
    struct client_flags flags = {0};
    a.options.notes = stderr;
    a.options.hint = "· weir trace shows every step";
    struct weir_buf question;
    const struct option_row rows[] = {
        {.name = "user", .kind = OPTION_TEXT, .to = &a.user},
        {.name = "quiet", .kind = OPTION_FLAG, .to = &a.options.is_quiet},
        {.name = "json", .kind = OPTION_FLAG, .to = &a.options.is_json},
        {.name = "no-keep", .kind = OPTION_FLAG, .to = &a.is_not_kept},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&ask_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (!has_question(words, n_words)) return usage_error(&ask_command, "what is the question?");
    if (a.options.is_quiet && a.options.is_json)
        return usage_error(&ask_command, "--quiet or --json, and not both");
    if (a.user && !local_server_is_name(a.user))
        return usage_error(&ask_command, "--user takes letters, digits, . _ - @");
    weir_buf_init(&question, BODY_BYTES);
    join_words(&question, words, n_words);
    a.question = question.ptr;
    exit_status = weir_buf_status(&question) == WEIR_OK ? run_with(&a, &flags) : EXIT_FAILED;
    weir_buf_fini(&question);
    return exit_status;
}

const struct command ask_command = {
    .name = "ask",
    .summary = "ask a question about your own data, and watch it answered",
    .help = help,
    .run = run,
};
