/* SPDX-License-Identifier: Apache-2.0 */
#include "chat.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "local_server.h"
#include "pages.h"
#include "person_text.h"
#include "rpc.h"
#include "stream_watch.h"
#include "trace_kept.h"
#include "trace_text.h"

enum {
    TEXT_BYTES = 64 << 20,
    RESULT_BYTES = 8 << 20,
    N_TURNS = 10, /* that /turns shows */
    N_MEMORY = 10000,
};

void chat_init(struct chat *c, const struct client_config *config, const char *user)
{
    *c = (struct chat){.config = config, .user = user};
    weir_buf_init(&c->result, RESULT_BYTES);
    weir_buf_init(&c->answer, RESULT_BYTES);
}

void chat_fini(struct chat *c)
{
    for (size_t i = 0; i < CHAT_LATE_POSTS; i++) remote_post_end(c->late[i]);
    dialogue_fini(&c->dialogue);
    weir_buf_fini(&c->answer);
    weir_buf_fini(&c->result);
}

/* ---- errands ---- */

struct chat_errand *chat_errand_new(const struct chat *c, const struct chat_command *command,
                                    struct weir_slice text, unsigned columns)
{
    struct chat_errand *e = mem_zalloc(sizeof *e);
    if (!e) return NULL;
    e->command = *command;
    e->config = *c->config;
    e->columns = columns;
    snprintf(e->user, sizeof e->user, "%s", c->user ? c->user : "");
    snprintf(e->turn, sizeof e->turn, "%s", c->turn);
    weir_buf_init(&e->question, DIALOGUE_REQUEST_BYTES);
    weir_buf_init(&e->body, RESULT_BYTES);
    weir_buf_init(&e->text, TEXT_BYTES);
    weir_buf_append_slice(&e->question, text);
    enum weir_status st = WEIR_OK;
    if (command->act == CHAT_FACTS) weir_buf_append_slice(&e->body, weir_buf_slice(&c->result));
    if (command->act == CHAT_QUESTION)
        st = dialogue_request(&c->dialogue, text, &e->body, &e->n_left_out);
    if (st == WEIR_LIMIT) weir_buf_reset(&e->body); /* said by run_question() */
    if (st != WEIR_NOMEM && weir_buf_status(&e->question) != WEIR_NOMEM &&
        weir_buf_status(&e->body) == WEIR_OK)
        return e;
    chat_errand_free(e);
    return NULL;
}

void chat_errand_free(void *errand)
{
    struct chat_errand *e = errand;
    if (!e) return;
    weir_buf_fini(&e->text);
    weir_buf_fini(&e->body);
    weir_buf_fini(&e->question);
    client_config_forget(&e->config);
    mem_free(e);
}

static void say(struct chat_errand *e, bool is_good, const char *text)
{
    weir_buf_reset(&e->text);
    weir_buf_printf(&e->text, "%s\n", text);
    e->is_good = is_good;
}

static const char *user_of(const struct chat_errand *e)
{
    return e->user[0] != '\0' ? e->user : NULL;
}

/* An answer with this status, in `answer`; else says why not. The body is the caller's either way.
 */
static bool call(struct chat_errand *e, struct remote_request request, int wanted,
                 struct control_answer *answer)
{
    char why[REMOTE_WHY_BYTES];
    char address[REMOTE_PATH_BYTES];
    remote_path(address, &e->config, request.path, user_of(e));
    request.path = address;
    enum weir_status st = remote_request(&e->config, &request, answer, why);
    if (st == WEIR_OK && answer->status == wanted) return true;
    if (st == WEIR_OK) remote_explain(&e->config, answer, why);
    e->is_gone = st != WEIR_OK;
    say(e, false, why);
    return false;
}

static void run_question(struct chat_errand *e)
{
    struct control_answer answer = {0};
    const struct weir_json *turn = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct remote_request request = {
        .method = "POST", .path = "/v1/turns", .body = weir_buf_slice(&e->body)};
    if (e->body.len == 0) {
        say(e, false, "The question is longer than a server takes.");
    } else if (doc && call(e, request, 201, &answer)) {
        enum weir_status st = weir_json_parse(doc, weir_buf_slice(&answer.body), &turn, NULL);
        struct weir_slice id = weir_json_text(weir_json_get_str(turn, "id"));
        snprintf(e->turn, sizeof e->turn, "%.*s", (int)id.len, id.len > 0 ? id.ptr : "");
        e->is_good = st == WEIR_OK && id.len < sizeof e->turn && local_server_is_name(e->turn);
        if (!e->is_good) say(e, false, "The server's answer cannot be read.");
    }
    weir_buf_fini(&answer.body);
    weir_json_doc_free(doc);
}

/* Somebody had enough before the turn had an id. */
static void cancel_unwanted(struct chat_errand *e)
{
    struct control_answer answer = {0};
    char path[REMOTE_PATH_BYTES];
    if (!e->is_good || !atomic_load(&e->is_unwanted)) return;
    snprintf(path, sizeof path, "/v1/turns/%s/cancel", e->turn);
    (void)call(e, (struct remote_request){.method = "POST", .path = path}, 202, &answer);
    weir_buf_fini(&answer.body);
}

static void put_trace(struct chat_errand *e, struct weir_slice json)
{
    enum weir_status st = trace_text(&e->text, json);
    e->is_good = st == WEIR_OK;
    if (st != WEIR_OK) say(e, false, weir_status_text(st));
}

/* From the server; when it has it no longer, or is gone, from the events that were kept here. */
static void run_trace(struct chat_errand *e)
{
    struct control_answer answer = {0};
    struct weir_buf kept;
    char path[REMOTE_PATH_BYTES];
    const char *turn = e->command.argument[0] != '\0' ? e->command.argument : e->turn;
    if (turn[0] == '\0') {
        say(e, false, "Nothing has been asked yet.");
        return;
    }
    weir_buf_init(&kept, TEXT_BYTES);
    snprintf(path, sizeof path, "/v1/turns/%s/trace", turn);
    if (call(e, (struct remote_request){.method = "GET", .path = path}, 200, &answer)) {
        put_trace(e, weir_buf_slice(&answer.body));
    } else if (trace_kept(&kept, turn)) {
        weir_buf_append_str(&e->text, "This is from the events kept here.\n\n");
        put_trace(e, weir_buf_slice(&kept));
    }
    weir_buf_fini(&kept);
    weir_buf_fini(&answer.body);
}

static void run_facts(struct chat_errand *e)
{
    const struct weir_json *result = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? WEIR_OK : WEIR_NOMEM;
    if (e->body.len == 0) {
        say(e, false, "There is no answer yet.");
    } else {
        if (st == WEIR_OK) st = weir_json_parse(doc, weir_buf_slice(&e->body), &result, NULL);
        if (st == WEIR_OK) st = facts_text(&e->text, result, e->columns);
        e->is_good = st == WEIR_OK;
        if (st != WEIR_OK) say(e, false, weir_status_text(st));
    }
    weir_json_doc_free(doc);
}

typedef enum weir_status (*list_text_fn)(struct weir_buf *out, const struct weir_json *list,
                                         unsigned columns);

static void run_list(struct chat_errand *e, const char *path, size_t most, list_text_fn text)
{
    char why[REMOTE_WHY_BYTES] = "";
    struct weir_json *list = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct pages pages = {.path = path, .user = user_of(e), .most = most};
    enum weir_status st = doc ? pages_get(&e->config, &pages, doc, &list, why) : WEIR_NOMEM;
    if (st == WEIR_OK) st = text(&e->text, list, e->columns);
    e->is_good = st == WEIR_OK;
    if (st != WEIR_OK) say(e, false, why[0] != '\0' ? why : weir_status_text(st));
    weir_json_doc_free(doc);
}

static void run_forget(struct chat_errand *e)
{
    struct control_answer answer = {0};
    char path[REMOTE_PATH_BYTES];
    snprintf(path, sizeof path, "/v1/memory/%s", e->command.argument);
    if (call(e, (struct remote_request){.method = "DELETE", .path = path}, 204, &answer))
        say(e, true, "It is forgotten.");
    weir_buf_fini(&answer.body);
}

/* A new one, or what was said so far in one that is there. */
static void run_session(struct chat_errand *e)
{
    struct weir_buf input;
    struct rpc_answer answer;
    char why[REMOTE_WHY_BYTES];
    const char *id = e->command.argument;
    weir_buf_init(&input, REMOTE_PATH_BYTES);
    e->is_new = id[0] == '\0';
    weir_json_put_begin_object(&input);
    if (!e->is_new) weir_json_put_key(&input, "id");
    if (!e->is_new) weir_json_put_str(&input, id);
    weir_json_put_end_object(&input);
    const struct rpc rpc = {.method = e->is_new ? "sessions/create" : "sessions/get",
                            .user = user_of(e),
                            .input = weir_buf_slice(&input)};
    e->is_good = rpc_try(&e->config, &rpc, &answer, why) == WEIR_OK;
    const struct weir_json *session = weir_json_get_str(answer.output, "session");
    struct weir_slice found = weir_json_text(weir_json_get_str(session, "id"));
    snprintf(e->session, sizeof e->session, "%.*s", (int)found.len, found.len > 0 ? found.ptr : "");
    if (e->is_good) weir_json_put_value(&e->body, answer.output);
    if (!e->is_good) say(e, false, why);
    else if (found.len >= sizeof e->session || !local_server_is_name(e->session))
        say(e, false, "The server's answer cannot be read.");
    rpc_answer_fini(&answer);
    weir_buf_fini(&input);
}

void chat_errand_run(void *errand)
{
    struct chat_errand *e = errand;
    const char *argument = e->command.argument;
    if (argument[0] != '\0' && !local_server_is_name(argument)) {
        say(e, false, "Names of turns, entries and sessions have letters, digits, . _ - and @.");
        return;
    }
    switch (e->command.act) {
    case CHAT_QUESTION:
        run_question(e);
        cancel_unwanted(e);
        break;
    case CHAT_TRACE: run_trace(e); break;
    case CHAT_FACTS: run_facts(e); break;
    case CHAT_MEMORY: run_list(e, "/v1/memory", N_MEMORY, memory_text); break;
    case CHAT_FORGET: run_forget(e); break;
    case CHAT_TURNS: run_list(e, "/v1/turns", N_TURNS, turns_text); break;
    case CHAT_SESSION: run_session(e); break;
    case CHAT_NEW: say(e, true, "A new conversation begins."); break;
    case CHAT_HELP:
        chat_command_help(&e->text);
        e->is_good = true;
        break;
    case CHAT_QUIT: e->is_good = true; break;
    case CHAT_UNKNOWN: chat_command_unknown(weir_buf_slice(&e->question), &e->text); break;
    }
}

bool chat_say_left_out(const struct chat_errand *e, struct weir_buf *out)
{
    if (e->n_left_out == 0) return false;
    weir_buf_printf(out,
                    "%zu earlier %s not go along: a request takes 1 MiB and %d of them; /new "
                    "begins anew.\n",
                    e->n_left_out, e->n_left_out == 1 ? "question does" : "questions do",
                    DIALOGUE_PAIRS);
    return true;
}

/* ---- turns ---- */

static void take_event(void *user, struct weir_slice type, const struct weir_json *data)
{
    struct chat *c = user;
    if (!weir_slice_is(type, "turn.completed")) return;
    const struct weir_json *result = weir_json_get_str(data, "result");
    weir_buf_reset(&c->result);
    weir_buf_reset(&c->answer);
    weir_json_put_value(&c->result, result);
    weir_buf_append_slice(&c->answer, weir_json_text(weir_json_get_str(result, "answer")));
}

/* One whose post is over; there is one, but for people in a great hurry. */
static struct remote_post **free_place(struct chat *c)
{
    for (size_t i = 0; i < CHAT_LATE_POSTS; i++) {
        if (!remote_post_is_over(c->late[i])) continue;
        remote_post_end(c->late[i]);
        c->late[i] = NULL;
        return &c->late[i];
    }
    remote_post_end(c->late[0]);
    return &c->late[0];
}

static void begin_cancel(struct chat *c, const char *turn)
{
    struct remote_post **post = free_place(c);
    char path[REMOTE_PATH_BYTES];
    char address[REMOTE_PATH_BYTES];
    snprintf(path, sizeof path, "/v1/turns/%s/cancel", turn);
    remote_path(address, c->config, path, c->user);
    *post = remote_post_begin(c->config, address);
}

/* True also when nobody can be asked: the chat goes on. */
static bool cancel_turn(void *user)
{
    struct chat *c = user;
    begin_cancel(c, c->turn);
    return true;
}

void chat_cancel_late(struct chat *c, const struct chat_errand *errand)
{
    if (errand->command.act != CHAT_QUESTION || !errand->is_good) return;
    begin_cancel(c, errand->turn);
}

int chat_watch(struct chat *c, const struct chat_errand *errand, struct watcher_guest *guest,
               int *signal_number)
{
    const struct watcher_options options = {.is_json = c->is_json,
                                            .is_quiet = c->is_quiet,
                                            .notes = stderr,
                                            .hint = "· /trace shows every step",
                                            .guest = guest,
                                            .on_event = take_event,
                                            .event_user = c};
    snprintf(c->turn, sizeof c->turn, "%s", errand->turn);
    weir_buf_reset(&c->answer);
    const struct stream_wish wish = {.kind = WEIR_STREAM_TURN,
                                     .id = c->turn,
                                     .user = c->user,
                                     .is_not_kept = c->is_not_kept,
                                     .cancel = cancel_turn,
                                     .cancel_user = c};
    int exit_status = stream_watch(c->config, &wish, &options, signal_number);
    if (exit_status != EXIT_DONE || c->answer.len == 0) return exit_status;
    enum weir_status st =
        dialogue_add(&c->dialogue, weir_buf_slice(&errand->question), weir_buf_slice(&c->answer));
    if (st != WEIR_OK) fputs("weir: the answer is too long to go along\n", stderr);
    return exit_status;
}
