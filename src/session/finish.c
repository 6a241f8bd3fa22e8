/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a turn begins and ends, each in one commit.
 *
 *   begins   message_persisted of the person's message, with its document
 *   ends     tool_end of calls without one, questions that nobody answered, usage of an answer that
 *            was cut, message_persisted of the answer with its document, cron.fired,
 *            evolve.skill_pending; then done or error
 *
 * What a turn has said is what it has shown, however it ended: of one that did not come to its end
 * the message is marked incomplete. What the policy did not let leave is marked blocked, and is not
 * told to models with the next message either.
 */
#include <stdio.h>

#include "base/container.h"
#include "base/slice.h"
#include "codec/json_member.h"
#include "session/tools_impl.h"
#include "session/turn_impl.h"
#include "shield/token_map.h"

enum {
    BODY_BYTES = 3 << 20, /* of a document */
    DONE_BYTES = 3 << 20, /* of the last event; both go into one commit */
};

static void begin_event(struct weir_buf *json, const char *type)
{
    weir_buf_reset(json);
    weir_json_put_begin_object(json);
    member_string(json, "type", weir_slice_of(type));
}

/* ---- messages ---- */

static void begin_message(struct weir_buf *out, const char *role, struct weir_slice text,
                          int64_t at_ms)
{
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, at_ms);
    weir_json_put_begin_object(out);
    member_string(out, "role", weir_slice_of(role));
    member_string(out, "content", text);
    member_string(out, "at", weir_slice_of(at));
}

void finish_put_message(struct weir_buf *out, const char *role, struct weir_slice text,
                        int64_t at_ms)
{
    begin_message(out, role, text, at_ms);
    weir_json_put_end_object(out);
}

void finish_put_persisted(struct weir_buf *out, const char *message_id, const char *role)
{
    begin_event(out, "message_persisted");
    member_string(out, "messageId", weir_slice_of(message_id));
    member_string(out, "role", weir_slice_of(role));
    weir_json_put_end_object(out);
}

void finish_put_usage(struct weir_buf *out, const struct model_answer *answer)
{
    begin_event(out, "usage");
    weir_json_put_key(out, "inputTokens");
    weir_json_put_uint(out, answer->usage.input_tokens);
    weir_json_put_key(out, "outputTokens");
    weir_json_put_uint(out, answer->usage.output_tokens);
    weir_json_put_key(out, "estimatedCostUsd");
    weir_json_put_double(out, answer->cost_usd > 0 ? answer->cost_usd : 0);
    weir_json_put_end_object(out);
}

static void emit(struct flow_step *s, struct weir_buf *json)
{
    enum weir_status st = weir_buf_status(json);
    if (st == WEIR_OK) flow_emit(s, NULL, weir_buf_slice(json));
    else flow_hook_fail(s, st);
}

static void emit_persisted(struct flow_step *s, unsigned n, const char *role)
{
    char id[SESSION_MESSAGE_ID_BYTES];
    struct weir_buf json;
    weir_buf_init(&json, SESSION_EVENT_BYTES);
    session_message_id(id, flow_id(s), n);
    finish_put_persisted(&json, id, role);
    emit(s, &json);
    weir_buf_fini(&json);
}

/* Of a turn that ends before its first pass. */
static void emit_start(struct flow_step *s)
{
    struct weir_buf json;
    weir_buf_init(&json, SESSION_EVENT_BYTES);
    turn_put_start(&json, flow_user(s), flow_id(s));
    emit(s, &json);
    weir_buf_fini(&json);
}

/* In the place of the person's message. */
static void keep_question(struct flow_step *s, struct weir_slice session, struct weir_slice text,
                          bool is_blocked)
{
    struct sessions *sessions = flow_user(s);
    char id[SESSION_MESSAGE_BYTES];
    struct weir_buf body;
    weir_buf_init(&body, BODY_BYTES);
    begin_message(&body, "user", text, sessions_now(sessions));
    if (is_blocked) {
        weir_json_put_key(&body, "blocked");
        weir_json_put_bool(&body, true);
    }
    weir_json_put_end_object(&body);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK)
        flow_put(s, session_message_key(id, session, flow_id(s), 0), DOC_ANY_VERSION,
                 weir_buf_slice(&body));
    else flow_hook_fail(s, st);
    weir_buf_fini(&body);
}

void turn_on_begin(struct flow_step *s)
{
    const struct weir_json *input = flow_input(s);
    if (!input) return;
    keep_question(s, weir_json_text(weir_json_get_str(input, "session")),
                  weir_json_text(weir_json_get_str(input, "text")), false);
    emit_persisted(s, 0, "user");
}

/* ---- an end ---- */

struct ending {
    struct sessions *sessions;
    struct flow_step *step;
    const struct flow_end *end;
    const struct weir_json *input, *output; /* NULL: it failed */
    struct weir_slice session, text, job;
    const struct shown *shown;
    bool has_begun;               /* its beginning is in the log, or on its way there */
    uint64_t work_ms;             /* of a tool that has not come to its end */
    bool is_done[TURN_CALLS + 1]; /* by number: a call whose end is told here, and was a good one */
    struct arena arena;
};

static bool is_aborted(const struct ending *e)
{
    return e->end->failure && e->end->failure->code == WEIR_CANCELLED;
}

static bool is_blocked(const struct ending *e)
{
    return e->end->failure && e->end->failure->code == WEIR_UNPROCESSABLE;
}

/* ---- calls of tools ---- */

/* A member of an event of a tool, as JSON. */
static void put_member(struct weir_buf *out, const char *key, const struct weir_json *event,
                       const char *member)
{
    const struct weir_json *v = weir_json_get_str(event, member);
    if (!v) return;
    weir_json_put_key(out, key);
    weir_json_put_value(out, v);
}

/* The number at the end of "tc_TURN_7"; 0: there is none. */
static unsigned number_of_call(struct weir_slice call_id)
{
    unsigned number = 0;
    size_t at = call_id.len;
    while (at > 0 && call_id.ptr[at - 1] != '_') at--;
    for (; at < call_id.len && number <= TURN_CALLS; at++) {
        if (call_id.ptr[at] < '0' || call_id.ptr[at] > '9') return 0;
        number = number * 10 + (unsigned)(call_id.ptr[at] - '0');
    }
    return number <= TURN_CALLS ? number : 0;
}

static enum weir_status put_tool(struct weir_buf *out, const struct ending *e,
                                 const struct shown_event *start)
{
    const struct shown_event *end = shown_find(e->shown, "tool_end", start->call_id);
    const struct weir_json *v;
    struct weir_json_doc *doc = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, start->json, &v, NULL);
    weir_json_put_begin_object(out);
    if (st == WEIR_OK) {
        put_member(out, "id", v, "toolCallId");
        put_member(out, "name", v, "toolName");
        put_member(out, "args", v, "args");
    }
    if (st == WEIR_OK && end) st = weir_json_parse(doc, end->json, &v, NULL);
    if (st == WEIR_OK && end) {
        put_member(out, "ok", v, "ok");
        put_member(out, "durationMs", v, "durationMs");
    } else if (st == WEIR_OK) {
        weir_json_put_key(out, "ok");
        weir_json_put_bool(out, e->is_done[number_of_call(start->call_id)]);
    }
    weir_json_put_end_object(out);
    weir_json_doc_free(doc);
    return st;
}

static enum weir_status put_tools(struct weir_buf *out, const struct ending *e)
{
    enum weir_status st = WEIR_OK;
    weir_json_put_key(out, "tools");
    weir_json_put_begin_array(out);
    for (const struct shown_event *s = e->shown->first; st == WEIR_OK && s; s = s->next)
        if (weir_slice_is(s->type, "tool_start")) st = put_tool(out, e, s);
    weir_json_put_end_array(out);
    return st;
}

/* How a call came to its end of which nobody heard. The message says what the event does. */
static enum weir_status put_fate(struct weir_buf *json, struct ending *e,
                                 const struct tool_open *call)
{
    struct weir_buf result;
    enum tool_fate fate;
    weir_buf_init(&result, TOOL_RESULT_MOST);
    enum weir_status st = tool_find_fate(e->sessions, call, &fate, &result);
    if (st == WEIR_OK && (fate == TOOL_NOT_DONE || fate == TOOL_UNKNOWN))
        weir_buf_printf(&result, "%s%s", is_aborted(e) ? "cancelled" : "the turn failed",
                        fate == TOOL_NOT_DONE ? "" : ": it is unknown whether it happened");
    if (st == WEIR_OK) st = weir_buf_status(&result);
    if (st == WEIR_OK) {
        e->is_done[call->number] = fate == TOOL_DONE;
        tool_bound(&result);
        weir_json_put_key(json, "ok");
        weir_json_put_bool(json, fate == TOOL_DONE);
        weir_json_put_key(json, "durationMs");
        weir_json_put_uint(json, e->work_ms);
        member_string(json, "result", weir_buf_slice(&result));
    }
    weir_buf_fini(&result);
    return st;
}

/* A call that began has an end, too. */
static enum weir_status close_tool(struct ending *e, const struct shown_event *start)
{
    const struct weir_json *v;
    struct weir_buf json;
    struct weir_json_doc *doc = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&json, SESSION_EVENT_BYTES);
    enum weir_status st = weir_json_parse(doc, start->json, &v, NULL);
    if (st == WEIR_OK) {
        const struct tool_open call = {.turn = flow_id(e->step),
                                       .name = weir_json_text(weir_json_get_str(v, "toolName")),
                                       .number = number_of_call(start->call_id),
                                       .is_old = start->is_old};
        begin_event(&json, "tool_end");
        put_member(&json, "toolCallId", v, "toolCallId");
        put_member(&json, "toolName", v, "toolName");
        st = put_fate(&json, e, &call);
        weir_json_put_end_object(&json);
    }
    if (st == WEIR_OK) emit(e->step, &json);
    weir_buf_fini(&json);
    weir_json_doc_free(doc);
    return st;
}

static enum weir_status close_tools(struct ending *e)
{
    enum weir_status st = WEIR_OK;
    for (const struct shown_event *s = e->shown->first; st == WEIR_OK && s; s = s->next)
        if (weir_slice_is(s->type, "tool_start") && !shown_find(e->shown, "tool_end", s->call_id))
            st = close_tool(e, s);
    return st;
}

static enum weir_status close_questions(struct ending *e)
{
    struct open_questions q;
    enum weir_status st =
        questions_open(e->sessions, flow_owner(e->step), flow_id(e->step), &e->arena, &q);
    if (st == WEIR_OK && q.n > 0)
        st = questions_close_end(e->step, &q, is_aborted(e) ? "abort" : "system");
    return st;
}

/* ---- the answer ---- */

/* The whole text, or its beginning: what is cut, is said. */
static void put_said(struct weir_buf *out, const char *key, struct weir_slice text, size_t all)
{
    struct weir_buf cut;
    if (text.len == all) {
        member_string(out, key, text);
        return;
    }
    weir_buf_init(&cut, all + 64);
    weir_buf_append_slice(&cut, text);
    weir_buf_printf(&cut, "\n… (cut; %zu bytes in all)", all);
    member_string(out, key, weir_buf_slice(&cut));
    weir_buf_fini(&cut);
}

/* The next try of a text that is too large as JSON, where a character may have six times its size.
 */
static struct weir_slice shorter(struct weir_slice text)
{
    return slice_of(text.ptr, token_cut(text, text.len / 4 * 3));
}

static enum weir_status put_answer(struct weir_buf *out, const struct ending *e,
                                   struct weir_slice text, bool has_tools)
{
    enum weir_status st = WEIR_OK;
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, e->end->ended_ms);
    weir_json_put_begin_object(out);
    member_string(out, "role", SLICE("assistant"));
    put_said(out, "content", text, e->shown->text.len);
    member_string(out, "at", weir_slice_of(at));
    if (has_tools) st = put_tools(out, e);
    if (e->output) {
        put_member(out, "provider", e->output, "provider");
        put_member(out, "model", e->output, "model");
    } else {
        weir_json_put_key(out, "incomplete");
        weir_json_put_bool(out, true);
    }
    weir_json_put_end_object(out);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

/* One that is too large is stored as far as it goes: a turn has to end. */
static enum weir_status keep_answer(const struct ending *e)
{
    enum { ANSWER = 99 };
    char id[SESSION_MESSAGE_BYTES];
    struct weir_buf body;
    struct weir_slice text = weir_buf_slice(&e->shown->text);
    bool has_tools = shown_count(e->shown, "tool_start") > 0;
    if (text.len == 0 && !has_tools && !e->output) return WEIR_OK;
    weir_buf_init(&body, BODY_BYTES);
    enum weir_status st = put_answer(&body, e, text, has_tools);
    for (; st == WEIR_LIMIT && text.len > 0; text = shorter(text)) {
        weir_buf_reset(&body);
        st = put_answer(&body, e, text, false);
    }
    if (st == WEIR_OK) {
        flow_put(e->step, session_message_key(id, e->session, flow_id(e->step), ANSWER),
                 DOC_ANY_VERSION, weir_buf_slice(&body));
        emit_persisted(e->step, ANSWER, "assistant");
    }
    weir_buf_fini(&body);
    return st;
}

/* ---- what it has used ---- */

/* Of all calls of models, of which the first have had their events. */
struct usage_walk {
    const struct ending *ending;
    unsigned n_told;
    struct session_usage sum;
};

/* An answer that was cut has used something, too, if its provider has said so. */
static void tell_usage(const struct ending *e, const struct model_answer *answer)
{
    struct weir_buf json;
    if (answer->usage.input_tokens == 0 && answer->usage.output_tokens == 0) return;
    weir_buf_init(&json, SESSION_EVENT_BYTES);
    finish_put_usage(&json, answer);
    emit(e->step, &json);
    weir_buf_fini(&json);
}

static enum weir_status count_call(void *user, struct call_found *f)
{
    struct usage_walk *w = user;
    struct session_usage *u = &w->sum;
    if (f->answer.attempts > 0 && u->n_calls >= w->n_told) tell_usage(w->ending, &f->answer);
    u->n_input += f->answer.usage.input_tokens;
    u->n_output += f->answer.usage.output_tokens;
    u->n_cache_read += f->answer.usage.cache_read_tokens;
    u->n_cache_write += f->answer.usage.cache_write_tokens;
    u->n_calls += f->answer.attempts > 0;
    call_found_free(f);
    return WEIR_OK;
}

static enum weir_status sum_usage(const struct ending *e, struct session_usage *out)
{
    struct usage_walk w = {.ending = e,
                           .n_told = shown_count(e->shown, "usage"),
                           .sum = {.cost_usd = e->end->cost_usd}};
    enum weir_status st = calls_each(e->sessions->store, flow_id(e->step), 0, count_call, &w);
    *out = w.sum;
    return st;
}

/* ---- the turn's document ---- */

static void put_turn(struct weir_buf *out, const struct ending *e, const struct weir_json *before,
                     const struct session_usage *usage)
{
    int64_t created_ms = e->end->began_ms;
    const char *state = is_aborted(e) ? "aborted" : e->output ? "done" : "error";
    (void)weir_json_int64(weir_json_get_str(before, "createdMs"), &created_ms);
    weir_json_put_begin_object(out);
    member_string(out, "session", e->session);
    member_string(out, "text", e->text);
    member_string(out, "job", e->job);
    member_string(out, "client", weir_json_text(weir_json_get_str(e->input, "client")));
    member_string(out, "state", weir_slice_of(state));
    weir_json_put_key(out, "createdMs");
    weir_json_put_int(out, created_ms);
    weir_json_put_key(out, "endedMs");
    weir_json_put_int(out, e->end->ended_ms);
    weir_json_put_key(out, "usage");
    session_usage_put(out, usage);
    member_string(out, "provider", weir_json_text(weir_json_get_str(e->output, "provider")));
    member_string(out, "model", weir_json_text(weir_json_get_str(e->output, "model")));
    session_skill_put(out, session_skill_read(e->input));
    weir_json_put_end_object(out);
}

static enum weir_status keep_turn(const struct ending *e, const struct session_usage *usage)
{
    struct session_doc doc;
    struct weir_buf body;
    weir_buf_init(&body, BODY_BYTES);
    enum weir_status st =
        session_doc_get(e->sessions->store, session_turn_key(flow_id(e->step)), &doc);
    if (st == WEIR_NOT_FOUND || st == WEIR_CORRUPT) st = WEIR_OK;
    if (st == WEIR_OK) put_turn(&body, e, doc.json, usage);
    if (st == WEIR_OK) st = weir_buf_status(&body);
    if (st == WEIR_OK)
        flow_put(e->step, session_turn_key(flow_id(e->step)), DOC_ANY_VERSION,
                 weir_buf_slice(&body));
    weir_buf_fini(&body);
    session_doc_fini(&doc);
    return st;
}

/* ---- the last event ---- */

static const char *code_of(enum weir_status st)
{
    switch (st) {
    case WEIR_CANCELLED: return "aborted";
    case WEIR_UNPROCESSABLE: return "blocked";
    case WEIR_TIMEOUT: return weir_status_name(WEIR_UPSTREAM);
    case WEIR_COST:
    case WEIR_LIMIT:
    case WEIR_UPSTREAM:
    case WEIR_STORAGE: return weir_status_name(st);
    default: return weir_status_name(WEIR_INTERNAL);
    }
}

static void emit_error(const struct ending *e, struct weir_buf *json)
{
    static const struct flow_failure no_answer = {
        .code = WEIR_INTERNAL, .is_final = true, .message = "the turn came to no answer"};
    const struct flow_failure *f = e->end->failure ? e->end->failure : &no_answer;
    const char *why = f->message[0] ? f->message : weir_status_text(f->code);
    if (is_aborted(e)) why = "the turn was aborted";
    begin_event(json, "error");
    member_string(json, "error", weir_slice_of(why));
    member_string(json, "code", weir_slice_of(code_of(f->code)));
    weir_json_put_end_object(json);
    emit(e->step, json);
}

static enum weir_status count_turns(const struct ending *e, uint64_t *n)
{
    struct session_doc doc;
    struct session v;
    *n = 1;
    enum weir_status st = session_doc_get(e->sessions->store, session_key(e->session), &doc);
    if (st == WEIR_OK && session_read(doc.json, e->session, &v)) *n = v.n_turns + 1;
    session_doc_fini(&doc);
    return st == WEIR_NOT_FOUND || st == WEIR_CORRUPT ? WEIR_OK : st;
}

static void put_done(struct weir_buf *json, struct weir_slice text, size_t all, uint64_t n_turns)
{
    begin_event(json, "done");
    put_said(json, "text", text, all);
    weir_json_put_key(json, "turnCount");
    weir_json_put_uint(json, n_turns);
    weir_json_put_end_object(json);
}

static enum weir_status emit_last(const struct ending *e)
{
    struct weir_buf json;
    uint64_t n_turns = 1;
    struct weir_slice text = weir_buf_slice(&e->shown->text);
    enum weir_status st = count_turns(e, &n_turns);
    if (st != WEIR_OK) return st;
    weir_buf_init(&json, DONE_BYTES);
    if (e->output) {
        put_done(&json, text, text.len, n_turns);
        while (weir_buf_status(&json) == WEIR_LIMIT && text.len > 0) {
            text = shorter(text);
            put_done(&json, text, e->shown->text.len, n_turns);
        }
        emit(e->step, &json);
    } else emit_error(e, &json);
    weir_buf_fini(&json);
    return WEIR_OK;
}

/* ---- all of it ---- */

/* Whom it concerns may be gone, or damaged: the turn ends all the same. */
static enum weir_status unless_gone(enum weir_status st)
{
    return st == WEIR_NOT_FOUND || st == WEIR_CORRUPT ? WEIR_OK : st;
}

static enum weir_status tell_others(const struct ending *e)
{
    enum weir_status st = WEIR_OK;
    if (e->job.len > 0) st = unless_gone(jobs_turn_ended(e->step, e->job, e->end));
    else if (e->output) st = unless_gone(skills_turn_done(e->step, e->input));
    return st;
}

static enum weir_status finish(struct ending *e)
{
    struct session_usage usage;
    char id[SESSION_MESSAGE_ID_BYTES];
    session_message_id(id, flow_id(e->step), 0);
    bool is_missing = !e->has_begun && !shown_has_message(e->shown, id);
    if (is_missing || is_blocked(e)) keep_question(e->step, e->session, e->text, is_blocked(e));
    if (is_missing) emit_persisted(e->step, 0, "user");
    if (!shown_find(e->shown, "run_start", (struct weir_slice){0})) emit_start(e->step);
    enum weir_status st = close_tools(e);
    if (st == WEIR_OK) st = close_questions(e);
    if (st == WEIR_OK) st = sum_usage(e, &usage);
    if (st == WEIR_OK) st = keep_answer(e);
    if (st == WEIR_OK) st = keep_turn(e, &usage);
    if (st == WEIR_OK) st = tell_others(e);
    return st == WEIR_OK ? emit_last(e) : st;
}

/* What the last attempt has shown, which may be on its way into the log; else what the log has. */
static enum weir_status find_shown(struct ending *e, struct shown *loaded)
{
    int64_t from = 0;
    pthread_mutex_lock(&e->sessions->lock);
    struct live *l = map_get(&e->sessions->turns, flow_id(e->step));
    pthread_mutex_unlock(&e->sessions->lock);
    const struct attempt *a = l ? CONTAINER_OF(l, struct attempt, live) : NULL;
    e->has_begun = a != NULL;
    e->work_ms = a ? attempt_work_ms(a) : 0;
    e->shown = a && a->shown.is_loaded ? &a->shown : loaded;
    if (e->shown != loaded) return WEIR_OK;
    if (!weir_json_int64(weir_json_get_str(e->input, "from"), &from) || from < 0)
        return WEIR_CORRUPT;
    return shown_load(loaded, e->sessions->store, e->session, (uint64_t)from);
}

void turn_on_end(struct flow_step *s, const struct flow_end *end)
{
    enum { ARENA_BYTES = 1 << 20 };
    struct shown loaded;
    struct ending e = {.sessions = flow_user(s), .step = s, .end = end, .input = flow_input(s)};
    if (!e.input) {
        flow_hook_fail(s, WEIR_IO);
        return;
    }
    if (!end->failure) e.output = flow_output(s, "turn");
    e.session = weir_json_text(weir_json_get_str(e.input, "session"));
    e.text = weir_json_text(weir_json_get_str(e.input, "text"));
    e.job = weir_json_text(weir_json_get_str(e.input, "job"));
    arena_init(&e.arena, ARENA_BYTES);
    shown_init(&loaded);
    enum weir_status st = find_shown(&e, &loaded);
    if (st == WEIR_OK) st = finish(&e);
    if (st != WEIR_OK) flow_hook_fail(s, st);
    shown_fini(&loaded);
    arena_fini(&e.arena);
}
