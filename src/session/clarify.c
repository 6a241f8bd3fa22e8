/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the user something in the middle of a turn, and the answers.
 *
 * The document of a clarification: as question.c says, with {"question","options","default"}; the
 * last two are left out when there are none. Closed, its "decision" is the source of the answer and
 * its "text" the answer.
 */
#include "base/slice.h"
#include "codec/json_member.h"
#include "session/question_impl.h"

enum {
    CLARIFY_TEXT_BYTES = 16 << 10, /* of a question, of a default, of an answer */
    CLARIFY_OPTIONS = 20,
    CLARIFY_OPTION_BYTES = 1024,
};

static const char *const sources[] = {[CLARIFY_USER] = "user",
                                      [CLARIFY_DEFAULT] = "timeout-default",
                                      [CLARIFY_NO_DEFAULT] = "timeout-no-default",
                                      [CLARIFY_CANCEL] = "cancel"};

/* ---- texts ---- */

/* What is asked; the wish and a document say it with the same members. */
static void put_what(struct weir_buf *out, struct weir_slice question,
                     const struct weir_json *options, struct weir_slice default_answer)
{
    member_string(out, "question", question);
    if (weir_json_count(options) > 0) {
        weir_json_put_key(out, "options");
        weir_json_put_value(out, options);
    }
    if (default_answer.ptr) member_string(out, "default", default_answer);
}

static void put_deadline(struct weir_buf *out, int64_t deadline_ms)
{
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, deadline_ms);
    member_string(out, "defaultDeadlineAt", weir_slice_of(at));
}

static void put_body(struct weir_buf *out, const struct question *q, const struct clarify_wish *w)
{
    question_put_head(out, q);
    put_what(out, w->question, w->options, w->default_answer);
    weir_json_put_end_object(out);
}

static void put_request(struct weir_buf *out, const struct question *q,
                        const struct clarify_wish *w)
{
    weir_json_put_begin_object(out);
    member_string(out, "type", SLICE("clarify.request"));
    member_string(out, "requestId", q->id);
    put_what(out, w->question, w->options, w->default_answer);
    put_deadline(out, q->deadline_ms);
    weir_json_put_end_object(out);
}

void clarify_put_resolved(struct weir_buf *out, const struct question *q, const struct outcome *o)
{
    weir_json_put_begin_object(out);
    member_string(out, "type", SLICE("clarify.resolved"));
    member_string(out, "requestId", q->id);
    member_string(out, "source", weir_slice_of(o->decision));
    weir_json_put_end_object(out);
}

struct outcome clarify_expired(const struct question *q)
{
    bool has_default = q->default_answer.ptr != NULL;
    return (struct outcome){.decision = sources[has_default ? CLARIFY_DEFAULT : CLARIFY_NO_DEFAULT],
                            .by = SLICE("timeout"),
                            .text = q->default_answer};
}

/* ---- asking ---- */

static bool is_askable(const struct clarify_wish *w)
{
    bool is_array = !w->options || weir_json_type_of(w->options) == WEIR_JSON_ARRAY;
    if (!is_array || weir_json_count(w->options) > CLARIFY_OPTIONS) return false;
    for (const struct weir_json *o = weir_json_first(w->options); o; o = weir_json_next(o))
        if (weir_json_type_of(o) != WEIR_JSON_STRING ||
            weir_json_text(o).len > CLARIFY_OPTION_BYTES)
            return false;
    return w->question.len > 0 && w->question.len <= CLARIFY_TEXT_BYTES &&
           w->default_answer.len <= CLARIFY_TEXT_BYTES;
}

static enum weir_status ask_first(struct turn_pass *p, const struct clarify_wish *w,
                                  struct weir_slice id)
{
    struct sessions *s = pass_sessions(p);
    struct weir_buf body, event;
    int64_t now_ms = sessions_now(s);
    const struct question q = {.kind = QUESTION_CLARIFY,
                               .id = id,
                               .owner = pass_owner(p),
                               .session = pass_session(p),
                               .turn = pass_turn(p),
                               .asked_ms = now_ms,
                               .deadline_ms = now_ms + (int64_t)s->options.clarify_ms};
    enum weir_status st = question_await(p, id);
    if (st != WEIR_OK) return st;
    weir_buf_init(&body, QUESTION_DOC_BYTES);
    weir_buf_init(&event, QUESTION_DOC_BYTES);
    put_body(&body, &q, w);
    put_request(&event, &q, w);
    st = question_ask(p, &q, &body, &event);
    weir_buf_fini(&body);
    weir_buf_fini(&event);
    if (st == WEIR_PENDING) sessions_count(s, offsetof(struct sessions_stats, n_clarifications));
    return st;
}

static enum weir_status take_answer(struct turn_pass *p, const struct session_doc *doc,
                                    enum clarify_source *source, struct weir_slice *answer)
{
    struct weir_slice text = weir_json_text(weir_json_get_str(doc->json, "text"));
    struct weir_slice decision = weir_json_text(weir_json_get_str(doc->json, "decision"));
    size_t i = 0;
    while (i < sizeof sources / sizeof *sources && !weir_slice_is(decision, sources[i])) i++;
    if (i == sizeof sources / sizeof *sources) return WEIR_CORRUPT;
    char *copy = arena_alloc(pass_arena(p), text.len + 1);
    if (!copy) return pass_arena(p)->status;
    if (text.len > 0) memcpy(copy, text.ptr, text.len);
    *source = (enum clarify_source)i;
    *answer = slice_of(copy, text.len);
    return WEIR_OK;
}

enum weir_status clarify_ask(struct turn_pass *p, const struct clarify_wish *w,
                             enum clarify_source *source, struct weir_slice *answer)
{
    char bytes[QUESTION_ID_BYTES];
    struct session_doc doc;
    bool is_open;
    struct weir_slice id = question_id(bytes, QUESTION_CLARIFY, pass_turn(p), w->number);
    if (flow_is_aborted(pass_step(p))) return WEIR_CANCELLED;
    if (!is_askable(w)) return WEIR_BAD_FIELD;
    enum weir_status st =
        question_find(pass_sessions(p)->store, QUESTION_CLARIFY, id, &doc, &is_open);
    if (st == WEIR_NOT_FOUND) st = ask_first(p, w, id);
    else if (st == WEIR_OK && is_open) st = question_wait(p, &doc);
    else if (st == WEIR_OK) st = take_answer(p, &doc, source, answer);
    session_doc_fini(&doc);
    return st;
}

/* ---- answers ---- */

static enum weir_status check_respond(struct session_call *c)
{
    const struct call_text wanted_source = {.member = "source", .max = SIZE_MAX};
    struct weir_slice text, source;
    struct answer *a = arena_alloc(&c->arena, sizeof *a);
    if (!a) return c->arena.status;
    c->data = a;
    enum weir_status st = call_text(c, &wanted_source, &source);
    if (st != WEIR_OK) return st;
    bool is_cancel = weir_slice_is(source, sources[CLARIFY_CANCEL]);
    if (!is_cancel && !weir_slice_is(source, sources[CLARIFY_USER]))
        return call_refuse(c, WEIR_BAD_FIELD, "source must be user or cancel");
    /* Who cancels need not say anything, and what is said all the same counts for nothing. */
    const struct call_text answer = {.member = "answer",
                                     .max = CLARIFY_TEXT_BYTES,
                                     .is_optional = is_cancel,
                                     .may_be_null = is_cancel,
                                     .may_be_empty = is_cancel};
    st = call_text(c, &answer, &text);
    if (st == WEIR_OK) st = answer_check(c, "requestId", QUESTION_CLARIFY, a);
    a->outcome = (struct outcome){.decision = sources[is_cancel ? CLARIFY_CANCEL : CLARIFY_USER],
                                  .decider = "user",
                                  .by = SLICE("user"),
                                  .text = is_cancel ? slice_of(NULL, 0) : text};
    return st;
}

static enum weir_status decide_respond(struct session_call *c, struct commit_view *view,
                                       struct commit *commit)
{
    struct answer *a = c->data;
    struct session_doc doc;
    struct question q;
    enum weir_status st = answer_find(c, a, view, &doc, &q);
    if (st == WEIR_OK) {
        a->outcome.at_ms = sessions_now(c->sessions);
        st = question_close(commit, &q, &a->outcome);
    }
    session_doc_fini(&doc);
    return st;
}

static void committed_respond(struct session_call *c, enum weir_status st)
{
    const struct answer *a = c->data;
    if (st != WEIR_OK) return;
    sessions_count(c->sessions, offsetof(struct sessions_stats, n_answered));
    turn_wake(c->sessions, weir_slice_of(a->turn));
}

void clarify_put_pending(struct weir_buf *out, const struct weir_json *doc,
                         const struct question *q)
{
    weir_json_put_begin_object(out);
    member_string(out, "requestId", q->id);
    member_string(out, "sessionId", q->session);
    put_what(out, weir_json_text(weir_json_get_str(doc, "question")),
             weir_json_get_str(doc, "options"), q->default_answer);
    put_deadline(out, q->deadline_ms);
    weir_json_put_end_object(out);
}

static const char *const respond_members[] = {"requestId", "answer", "source", NULL};

const struct session_method clarify_methods[] = {
    {.space = "clarify",
     .name = "respond",
     .is_write = true,
     .members = respond_members,
     .check = check_respond,
     .decide = decide_respond,
     .committed = committed_respond,
     .put = call_put_ok},
    {.space = NULL},
};
