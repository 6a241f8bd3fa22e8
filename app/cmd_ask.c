/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir ask: one question as a turn, watched. The answer goes to standard output; who works on it,
 * and what the checks say, to standard error as it happens.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/json.h>
#include <weir/sse.h>

#include "base/slice.h"
#include "control.h"
#include "data_folder.h"
#include "local_server.h"
#include "options.h"
#include "output.h"

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
    "Ctrl-C stops watching; with a server the turn goes on, and weir trace TURN shows it.\n"
    "\n"
    "Exit status: 0 answered, 1 failed, 2 wrong usage.\n";

enum { BODY_BYTES = 1 << 20, PATH_BYTES = 256, NAME_BYTES = 32 };

struct asking {
    const char *question, *user;
    bool is_quiet, is_json;
    struct weir_json_doc *doc; /* of the event at hand */
    char speaker[NAME_BYTES];  /* whose thoughts the current line is */
    bool is_ended, has_failed;
    struct weir_buf line;
};

/* ---- what is shown ---- */

static void end_line(struct asking *a)
{
    if (a->speaker[0]) fputc('\n', stderr);
    a->speaker[0] = '\0';
}

static void print(FILE *to, struct weir_slice text)
{
    if (text.len > 0) fwrite(text.ptr, 1, text.len, to);
}

static struct weir_slice text_of(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

/* A line of two members of an event, with what stands before and between them. */
static void show_pair(const struct weir_json *data, const char *head, const char *first,
                      const char *between, const char *second)
{
    fputs(head, stderr);
    print(stderr, text_of(data, first));
    fputs(between, stderr);
    print(stderr, text_of(data, second));
    fputc('\n', stderr);
}

static void show_started(struct asking *a, const struct weir_json *data)
{
    end_line(a);
    show_pair(data, "> ", "agent", ": ", "question");
}

/* Thoughts of one agent are one paragraph; what synthesis writes is the answer, shown later. */
static void show_thought(struct asking *a, const struct weir_json *data)
{
    struct weir_slice agent = text_of(data, "agent");
    if (weir_json_get_str(data, "channel")) return;
    if (!weir_slice_is(agent, a->speaker)) {
        end_line(a);
        snprintf(a->speaker, sizeof a->speaker, "%.*s", (int)agent.len,
                 agent.len > 0 ? agent.ptr : "");
        fputs("  ", stderr);
    }
    print(stderr, text_of(data, "delta"));
}

static void show_gate(struct asking *a, const struct weir_json *data)
{
    end_line(a);
    if (weir_slice_is(text_of(data, "gate"), "sample_size"))
        show_pair(data, "  ", "finding_id", ": ", "claim");
    show_pair(data, "    ", "gate", ": ", "verdict");
}

static void show_critic(struct asking *a, const struct weir_json *data)
{
    end_line(a);
    show_pair(data, "    critic: ", "verdict", ", ", "reasoning");
}

static void show_answer(struct asking *a, const struct weir_json *data)
{
    end_line(a);
    if (!a->is_quiet) fputc('\n', stderr);
    print(stdout, text_of(weir_json_get_str(data, "result"), "answer"));
    fputc('\n', stdout);
    (void)output_flush();
    if (a->is_quiet) return;
    fputs("\nturn ", stderr);
    print(stderr, text_of(data, "turn_id"));
    fputs("; weir trace shows every step of it\n", stderr);
}

static void show_failure(struct asking *a, const struct weir_json *data)
{
    const struct weir_json *error = weir_json_get_str(data, "error");
    end_line(a);
    fputs("weir: ", stderr);
    print(stderr, text_of(error, "message"));
    fputs(" (", stderr);
    print(stderr, text_of(error, "code"));
    fputs(")\n", stderr);
}

static const struct {
    const char *type;
    void (*show)(struct asking *a, const struct weir_json *data);
    bool is_loud; /* not shown when quiet is asked for */
} views[] = {
    {"agent.started", show_started, true},  {"agent.thought", show_thought, true},
    {"validator.gate", show_gate, true},    {"validator.critic", show_critic, true},
    {"turn.completed", show_answer, false}, {"turn.failed", show_failure, false},
};

static void print_json(struct asking *a, const struct weir_sse_event *event)
{
    weir_buf_append_str(&a->line, "{\"id\":");
    weir_buf_append_slice(&a->line, event->id);
    weir_buf_append_str(&a->line, ",\"event\":");
    weir_json_put_string(&a->line, event->type);
    weir_buf_append_str(&a->line, ",\"data\":");
    weir_buf_append_slice(&a->line, event->data);
    weir_buf_append_str(&a->line, "}");
    output_line(&a->line);
    (void)output_flush();
}

static void on_event(void *user, const struct weir_sse_event *event)
{
    struct asking *a = user;
    const struct weir_json *data = NULL;
    a->has_failed = weir_slice_is(event->type, "turn.failed");
    a->is_ended = a->has_failed || weir_slice_is(event->type, "turn.completed");
    if (a->is_json) {
        print_json(a, event);
        return;
    }
    weir_json_doc_reset(a->doc);
    if (weir_json_parse(a->doc, event->data, &data, NULL) != WEIR_OK) return;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (weir_slice_is(event->type, views[i].type) && !(views[i].is_loud && a->is_quiet))
            views[i].show(a, data);
}

/* ---- asking ---- */

static int complain(struct control_answer *answer, enum weir_status st)
{
    struct weir_slice why = control_error(answer);
    if (st != WEIR_OK) why = weir_slice_of(weir_status_text(st));
    fprintf(stderr, "weir: %.*s\n", (int)why.len, why.len > 0 ? why.ptr : "no answer");
    weir_buf_fini(&answer->body);
    return EXIT_FAILED;
}

/* The turn's id, in a path of its events; EXIT_DONE. */
static int post_turn(struct asking *a, const char *folder, char path[PATH_BYTES])
{
    struct weir_buf body;
    struct control_answer answer = {0};
    const struct weir_json *turn = NULL;
    weir_buf_init(&body, BODY_BYTES);
    weir_buf_append_str(&body, "{\"messages\":[{\"role\":\"user\",\"content\":");
    weir_json_put_str(&body, a->question);
    weir_buf_append_str(&body, "}]}");
    snprintf(path, PATH_BYTES, "/v1/turns?user=%s", a->user);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) st = control_call(folder, "POST", path, weir_buf_slice(&body), &answer);
    weir_buf_fini(&body);
    if (st != WEIR_OK || answer.status != 201) return complain(&answer, st);
    weir_json_doc_reset(a->doc);
    st = weir_json_parse(a->doc, weir_buf_slice(&answer.body), &turn, NULL);
    struct weir_slice id = st == WEIR_OK ? text_of(turn, "id") : (struct weir_slice){0};
    snprintf(path, PATH_BYTES, "/v1/turns/%.*s/events?user=%s", (int)id.len,
             id.len > 0 ? id.ptr : "", a->user);
    weir_buf_fini(&answer.body);
    return EXIT_DONE;
}

static bool take_piece(void *user, struct weir_slice piece)
{
    return weir_sse_feed(user, piece.ptr, piece.len) == WEIR_OK;
}

static int ask(const char *folder, void *user)
{
    struct asking *a = user;
    struct control_answer answer;
    char path[PATH_BYTES];
    int exit_status = post_turn(a, folder, path);
    if (exit_status != EXIT_DONE) return exit_status;
    struct weir_sse *sse = weir_sse_new(&(struct weir_sse_handlers){.on_event = on_event}, a, NULL);
    if (!sse) return EXIT_FAILED;
    enum weir_status st = control_watch(folder, path, take_piece, sse, &answer);
    weir_sse_free(sse);
    if (st != WEIR_OK || answer.status != 200) return complain(&answer, st);
    weir_buf_fini(&answer.body);
    if (!a->is_ended) fputs("weir: the stream ended before the turn did\n", stderr);
    return a->is_ended && !a->has_failed ? EXIT_DONE : EXIT_FAILED;
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
    a->doc = weir_json_doc_new(0);
    weir_buf_init(&a->line, OUTPUT_LINE_MAX_BYTES);
    int exit_status = a->doc ? local_server_run(folder, ask, a) : EXIT_FAILED;
    weir_buf_fini(&a->line);
    weir_json_doc_free(a->doc);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct asking a = {.user = "me"};
    const char *data = NULL;
    struct weir_buf question;
    const struct option_row rows[] = {
        {.name = "user", .kind = OPTION_TEXT, .to = &a.user},
        {.name = "quiet", .kind = OPTION_FLAG, .to = &a.is_quiet},
        {.name = "json", .kind = OPTION_FLAG, .to = &a.is_json},
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
