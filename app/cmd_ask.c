/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir ask: one question as a turn, watched: alive on a terminal; elsewhere the answer goes to
 * standard output, and who works on it to standard error.
 */
#include <stdio.h>
#include <unistd.h>

#include <weir/json.h>

#include "control.h"
#include "data_folder.h"
#include "local_server.h"
#include "options.h"
#include "term_tty.h"
#include "watcher.h"

static const char help[] =
    "usage: weir ask QUESTION... [--user USER] [--quiet | --json] [--data FOLDER]\n"
    "\n"
    "Asks a question about your own data and shows how it is answered: which agents work on it,\n"
    "what they look at, and which findings pass the checks. The answer is printed last, and every\n"
    "number in it is in its fact sheet. It needs no model and no network. A server that runs on\n"
    "the folder does the work; without one it is done here.\n"
    "\n"
    "  --user     whose data; without: me\n"
    "  --quiet    the answer alone\n"
    "  --json     every event as a line of JSON: {\"id\",\"event\",\"data\"}\n"
    "  --data     the data folder; without: $WEIR_DATA or ~/.local/share/weir\n"
    "\n"
    "Examples:\n"
    "  weir ask \"is my resting heart rate going down?\"\n"
    "  weir ask is anything interesting in my data\n"
    "  weir ask \"is an LDL of 124 a concern?\" --quiet\n"
    "\n"
    "On a terminal, Esc twice or Ctrl-C cancels the turn, and Ctrl-C twice stops watching. With\n"
    "NO_COLOR, TERM=dumb or a pipe there are plain lines. weir trace TURN shows what happened.\n"
    "\n"
    "Exit status: 0 answered, 1 failed, 2 wrong usage, 3 left before the end.\n";

enum { BODY_BYTES = 1 << 20, PATH_BYTES = 256, ID_BYTES = 64 };

struct asking {
    const char *question, *user;
    struct watcher_options options;
    const char *folder;
    char turn[ID_BYTES];
    struct control_stream stream;
    int cancel_fd;     /* -1: not cancelled */
    int signal_number; /* what ended the watching */
};

static int complain(struct control_answer *answer, enum weir_status st)
{
    struct weir_slice why = control_error(answer);
    if (st != WEIR_OK) why = weir_slice_of(weir_status_text(st));
    fprintf(stderr, "weir: %.*s\n", (int)why.len, why.len > 0 ? why.ptr : "no answer");
    weir_buf_fini(&answer->body);
    return EXIT_FAILED;
}

/* Keeps the id that the server has given the turn. */
static bool take_turn(struct asking *a, struct weir_slice body)
{
    const struct weir_json *turn = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    bool is_turn = doc && weir_json_parse(doc, body, &turn, NULL) == WEIR_OK;
    struct weir_slice id = weir_json_text(weir_json_get_str(turn, "id"));
    if (is_turn) snprintf(a->turn, ID_BYTES, "%.*s", (int)id.len, id.len > 0 ? id.ptr : "");
    weir_json_doc_free(doc);
    return a->turn[0] != '\0';
}

static int post_turn(struct asking *a)
{
    char path[PATH_BYTES];
    struct weir_buf body;
    struct control_answer answer = {0};
    weir_buf_init(&body, BODY_BYTES);
    weir_buf_append_str(&body, "{\"messages\":[{\"role\":\"user\",\"content\":");
    weir_json_put_str(&body, a->question);
    weir_buf_append_str(&body, "}]}");
    snprintf(path, PATH_BYTES, "/v1/turns?user=%s", a->user);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) st = control_call(a->folder, "POST", path, weir_buf_slice(&body), &answer);
    weir_buf_fini(&body);
    bool is_made = st == WEIR_OK && answer.status == 201;
    if (!is_made || !take_turn(a, weir_buf_slice(&answer.body))) return complain(&answer, st);
    weir_buf_fini(&answer.body);
    return EXIT_DONE;
}

static bool take_piece(void *user, struct weir_slice piece)
{
    return watcher_feed(user, piece);
}

static enum watcher_more read_stream(void *user, struct watcher *w)
{
    struct asking *a = user;
    enum control_more more = control_stream_read(&a->stream, take_piece, w);
    if (more == CONTROL_BROKEN) return WATCHER_BROKEN;
    return more == CONTROL_MORE ? WATCHER_MORE : WATCHER_ENDED;
}

/*
 * The turn's last event says that it was cancelled, so the watching goes on until then. Nobody
 * waits for the answer: should the server hang, another Ctrl-C still has to be heard.
 */
static bool cancel_turn(void *user)
{
    struct asking *a = user;
    char path[PATH_BYTES];
    snprintf(path, PATH_BYTES, "/v1/turns/%s/cancel?user=%s", a->turn, a->user);
    if (a->cancel_fd < 0) a->cancel_fd = control_post(a->folder, path);
    return a->cancel_fd >= 0;
}

static int watch_turn(struct asking *a)
{
    struct watcher *w = watcher_new(&a->options);
    if (!w) return EXIT_FAILED;
    int exit_status = watcher_run(
        w, &(struct watcher_source){
               .fd = a->stream.fd, .read = read_stream, .cancel = cancel_turn, .user = a});
    a->signal_number = watcher_signal(w);
    watcher_free(w);
    return exit_status;
}

static int ask(const char *folder, void *user)
{
    struct asking *a = user;
    char path[PATH_BYTES];
    a->folder = folder;
    int exit_status = post_turn(a);
    if (exit_status != EXIT_DONE) return exit_status;
    snprintf(path, PATH_BYTES, "/v1/turns/%s/events?user=%s", a->turn, a->user);
    enum weir_status st = control_stream_open(&a->stream, folder, path);
    if (st != WEIR_OK) return complain(&(struct control_answer){.status = 0}, st);
    exit_status = watch_turn(a);
    control_stream_close(&a->stream);
    if (a->cancel_fd >= 0) close(a->cancel_fd);
    if (a->stream.answer.status != 200 && a->signal_number == 0 && exit_status != EXIT_DONE)
        return complain(&a->stream.answer, WEIR_OK);
    weir_buf_fini(&a->stream.answer.body);
    if (exit_status == EXIT_INCOMPLETE && a->signal_number == 0)
        fputs("weir: the stream ended before the turn did\n", stderr);
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

static int run_with(struct asking *a, const char *data)
{
    char folder[DATA_FOLDER_BYTES];
    if (!data_folder_find(data, folder)) return EXIT_USAGE;
    if (!data_folder_is_there(folder)) return EXIT_FAILED;
    int exit_status = local_server_run(folder, ask, a);
    /* Only now, when a server of our own has closed its store. */
    if (a->signal_number != 0) tty_die(a->signal_number);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct asking a = {.user = "me", .cancel_fd = -1};
    a.options.notes = stderr;
    a.options.hint = "· weir trace shows every step";
    const char *data = NULL;
    struct weir_buf question;
    const struct option_row rows[] = {
        {.name = "user", .kind = OPTION_TEXT, .to = &a.user},
        {.name = "quiet", .kind = OPTION_FLAG, .to = &a.options.is_quiet},
        {.name = "json", .kind = OPTION_FLAG, .to = &a.options.is_json},
        {.name = "data", .kind = OPTION_TEXT, .to = &data},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&ask_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words == 0) return usage_error(&ask_command, "what is the question?");
    if (!local_server_is_name(a.user))
        return usage_error(&ask_command, "--user takes letters, digits, . _ - @");
    weir_buf_init(&question, BODY_BYTES);
    join_words(&question, words, n_words);
    a.question = question.ptr;
    exit_status = weir_buf_status(&question) == WEIR_OK ? run_with(&a, data) : EXIT_FAILED;
    weir_buf_fini(&question);
    return exit_status;
}

const struct command ask_command = {
    .name = "ask",
    .summary = "ask a question about your own data, and watch it answered",
    .help = help,
    .run = run,
};
