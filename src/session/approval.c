/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a tool may: asking, what was remembered, and the answers.
 *
 * The document of an approval: as question.c says, with {"call","tool","args","hash","reason"}.
 * What needs no question, since a scope covers it or since nobody could be shown it, is closed at
 * once, before the tool runs: so it is audited as everything else.
 */
#include <stdio.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "session/question_impl.h"

enum {
    ARGS_BYTES = 64 << 10, /* that people are shown */
    WISH_REASON_BYTES = 4096,
    DENY_REASON_BYTES = 2048,
};

/* ---- texts ---- */

static void put_or_null(struct weir_buf *out, const char *key, struct weir_slice text)
{
    weir_json_put_key(out, key);
    if (text.len > 0) weir_json_put_string(out, text);
    else weir_json_put_null(out);
}

/* One that is asked for: what it says, and what is known of it. */
struct asking {
    const struct approval_wish *wish;
    struct question question;
    const struct weir_json *args; /* NULL: too many to be shown */
    char id[QUESTION_ID_BYTES];
    char hash[SCOPE_HASH_BYTES];
};

static void put_body(struct weir_buf *out, const struct asking *a)
{
    question_put_head(out, &a->question);
    member_string(out, "call", a->wish->call_id);
    member_string(out, "tool", a->question.tool);
    member_string(out, "hash", a->question.hash);
    weir_json_put_key(out, "args");
    weir_json_put_value(out, a->args);
    put_or_null(out, "reason", a->wish->reason);
    weir_json_put_end_object(out);
}

/* What people are shown of it. */
struct request {
    struct weir_slice id, session, call, tool, reason;
    const struct weir_json *args;
};

static void put_request_members(struct weir_buf *out, const struct request *r)
{
    member_string(out, "approvalId", r->id);
    member_string(out, "sessionId", r->session);
    member_string(out, "toolCallId", r->call);
    member_string(out, "toolName", r->tool);
    weir_json_put_key(out, "args");
    weir_json_put_value(out, r->args);
    put_or_null(out, "reason", r->reason);
}

static void put_request(struct weir_buf *out, const struct asking *a)
{
    const struct request r = {.id = a->question.id,
                              .session = a->question.session,
                              .call = a->wish->call_id,
                              .tool = a->question.tool,
                              .reason = a->wish->reason,
                              .args = a->args};
    weir_json_put_begin_object(out);
    member_string(out, "type", SLICE("tool.approval_required"));
    weir_json_put_key(out, "request");
    weir_json_put_begin_object(out);
    put_request_members(out, &r);
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

void approval_put_pending(struct weir_buf *out, const struct weir_json *doc,
                          const struct question *q)
{
    char at[CLOCK_TEXT_BYTES];
    const struct request r = {.id = q->id,
                              .session = q->session,
                              .call = weir_json_text(weir_json_get_str(doc, "call")),
                              .tool = q->tool,
                              .reason = weir_json_text(weir_json_get_str(doc, "reason")),
                              .args = weir_json_get_str(doc, "args")};
    clock_format(at, q->deadline_ms);
    weir_json_put_begin_object(out);
    put_request_members(out, &r);
    member_string(out, "deadlineAt", weir_slice_of(at));
    weir_json_put_end_object(out);
}

void approval_put_resolved(struct weir_buf *out, const struct question *q, const struct outcome *o)
{
    weir_json_put_begin_object(out);
    member_string(out, "type", SLICE("approval.resolved"));
    member_string(out, "approvalId", q->id);
    member_string(out, "decision", weir_slice_of(o->decision));
    member_string(out, "decidedBy", o->by);
    weir_json_put_end_object(out);
}

/* ---- what was decided ---- */

/* For the model; cut where a character ends. */
static void say_why(char why[SESSION_WHY_BYTES], const struct weir_json *closed)
{
    struct weir_slice text = weir_json_text(weir_json_get_str(closed, "text"));
    struct weir_slice decider = weir_json_text(weir_json_get_str(closed, "decider"));
    const char *said = "the user did not allow it";
    if (weir_slice_is(decider, "deadline")) said = "nobody allowed it in time";
    if (weir_slice_is(decider, "abort")) said = "the turn was aborted";
    if (weir_slice_is(decider, "end")) said = "the turn has ended";
    if (weir_slice_is(decider, "limit")) said = "its arguments are too large to ask anybody";
    int len = snprintf(why, SESSION_WHY_BYTES, "%s%s%.*s", said, text.len > 0 ? ": " : "",
                       (int)text.len, text.len > 0 ? text.ptr : "");
    if (len >= SESSION_WHY_BYTES)
        why[utf8_valid_prefix(slice_of(why, SESSION_WHY_BYTES - 1))] = '\0';
}

/* What was allowed is this call and no other, however the turn came to ask for it again. */
static bool is_asked_for(const struct asking *a, const struct weir_json *closed)
{
    return slice_eq(weir_json_text(weir_json_get_str(closed, "tool")), a->question.tool) &&
           slice_eq(weir_json_text(weir_json_get_str(closed, "hash")), a->question.hash);
}

static enum weir_status take_decision(const struct asking *a, const struct session_doc *doc,
                                      enum approval_state *state, char why[SESSION_WHY_BYTES])
{
    struct weir_slice decision = weir_json_text(weir_json_get_str(doc->json, "decision"));
    bool is_allowed = weir_slice_is(decision, "allow");
    if (!is_allowed && !weir_slice_is(decision, "deny")) return WEIR_CORRUPT;
    *state = APPROVAL_DENIED;
    why[0] = '\0';
    if (!is_asked_for(a, doc->json))
        snprintf(why, SESSION_WHY_BYTES, "it is not the call that the user was asked about");
    else if (is_allowed) *state = APPROVAL_ALLOWED;
    else say_why(why, doc->json);
    return WEIR_OK;
}

/* ---- what needs no question ---- */

struct settling {
    const struct asking *asking;
    struct weir_buf body;
    int64_t now_ms;
};

/* WEIR_NOT_FOUND: people are to be asked, after all. */
static enum weir_status decide_settling(void *user, struct commit_view *view, struct commit *c)
{
    struct settling *x = user;
    struct question q = x->asking->question;
    struct outcome o = {.decision = "allow",
                        .decider = "scope",
                        .by = SLICE("scope:any-args"),
                        .at_ms = x->now_ms,
                        .is_silent = true};
    enum weir_status st = flow_is_wanted(view, q.turn);
    if (st == WEIR_NOT_FOUND) st = WEIR_CANCELLED;
    if (st == WEIR_OK && x->asking->args)
        st = scope_find_view(view, &(struct scope_wish){q.session, q.tool, q.hash}, &o.scope);
    if (st == WEIR_OK && x->asking->args && !o.scope) return WEIR_NOT_FOUND;
    if (st != WEIR_OK) return st;
    if (!x->asking->args) {
        o.decision = "deny";
        o.decider = "limit";
        o.by = SLICE("limit");
    } else if (strcmp(o.scope, "exact-args") == 0) {
        o.by = SLICE("scope:exact-args");
    }
    q.body = weir_buf_slice(&x->body);
    return question_close(c, &q, &o);
}

/* The decision is durable then, and found as any other. */
static enum weir_status settle(struct sessions *s, const struct asking *a)
{
    struct settling x = {.asking = a, .now_ms = a->question.asked_ms};
    struct commit *c = commit_new(0);
    if (!c) return WEIR_NOMEM;
    weir_buf_init(&x.body, QUESTION_DOC_BYTES);
    put_body(&x.body, a);
    enum weir_status st = weir_buf_status(&x.body);
    if (st == WEIR_OK) {
        commit_decide(c, false, decide_settling, &x);
        st = store_commit_wait(s->store, c).status;
    } else {
        commit_free(c);
    }
    weir_buf_fini(&x.body);
    return st;
}

/* WEIR_NOT_FOUND: nothing covers it. */
static enum weir_status settle_if_covered(struct sessions *s, const struct asking *a)
{
    const struct question *q = &a->question;
    const char *scope = NULL;
    enum weir_status st =
        a->args ? scope_find(s->store, &(struct scope_wish){q->session, q->tool, q->hash}, &scope)
                : WEIR_OK;
    if (st == WEIR_OK && a->args && !scope) return WEIR_NOT_FOUND;
    return st == WEIR_OK ? settle(s, a) : st;
}

/* ---- asking ---- */

static enum weir_status ask_people(struct turn_pass *p, const struct asking *a)
{
    struct weir_buf body, event;
    weir_buf_init(&body, QUESTION_DOC_BYTES);
    weir_buf_init(&event, QUESTION_DOC_BYTES);
    put_body(&body, a);
    put_request(&event, a);
    enum weir_status st = question_ask(p, &a->question, &body, &event);
    weir_buf_fini(&body);
    weir_buf_fini(&event);
    if (st == WEIR_PENDING)
        sessions_count(pass_sessions(p), offsetof(struct sessions_stats, n_approvals));
    return st;
}

static enum weir_status asking_init(struct turn_pass *p, struct asking *a,
                                    struct weir_json_doc *memory)
{
    struct sessions *s = pass_sessions(p);
    int64_t now_ms = sessions_now(s);
    bool is_short = a->wish->args.len <= ARGS_BYTES && a->wish->reason.len <= WISH_REASON_BYTES;
    enum weir_status st = weir_json_parse(memory, a->wish->args, &a->args, NULL);
    if (st != WEIR_OK) return st;
    st = scope_hash(pass_arena(p), a->args, a->hash);
    if (!is_short) a->args = NULL;
    a->question = (struct question){.kind = QUESTION_APPROVAL,
                                    .id = weir_slice_of(a->id),
                                    .owner = pass_owner(p),
                                    .session = pass_session(p),
                                    .turn = pass_turn(p),
                                    .asked_ms = now_ms,
                                    .deadline_ms = now_ms + (int64_t)s->options.approval_ms,
                                    .tool = weir_slice_of(a->wish->tool),
                                    .hash = weir_slice_of(a->hash)};
    return st;
}

/* Nothing is known of it yet. WEIR_OK: it was decided at once. */
static enum weir_status ask_first(struct turn_pass *p, const struct asking *a)
{
    enum weir_status st = question_await(p, a->question.id);
    if (st == WEIR_OK && a->wish->can) st = a->wish->can(a->wish->user);
    if (st != WEIR_OK) return st;
    st = settle_if_covered(pass_sessions(p), a);
    return st == WEIR_NOT_FOUND ? ask_people(p, a) : st;
}

static enum weir_status ask(struct turn_pass *p, const struct asking *a, enum approval_state *state,
                            char why[SESSION_WHY_BYTES])
{
    struct session_doc doc;
    bool is_open;
    struct store *store = pass_sessions(p)->store;
    enum weir_status st = question_find(store, QUESTION_APPROVAL, a->question.id, &doc, &is_open);
    if (st == WEIR_NOT_FOUND) {
        session_doc_fini(&doc);
        st = ask_first(p, a);
        if (st != WEIR_OK) return st;
        st = question_find(store, QUESTION_APPROVAL, a->question.id, &doc, &is_open);
    }
    if (st == WEIR_OK) st = is_open ? question_wait(p, &doc) : take_decision(a, &doc, state, why);
    session_doc_fini(&doc);
    return st;
}

enum weir_status approval_ask(struct turn_pass *p, const struct approval_wish *w,
                              enum approval_state *state, char why[SESSION_WHY_BYTES])
{
    struct asking a = {.wish = w};
    if (flow_is_aborted(pass_step(p))) return WEIR_CANCELLED;
    struct weir_json_doc *memory = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!memory) return WEIR_NOMEM;
    (void)question_id(a.id, QUESTION_APPROVAL, pass_turn(p), w->number);
    enum weir_status st = asking_init(p, &a, memory);
    if (st == WEIR_OK) st = ask(p, &a, state, why);
    weir_json_doc_free(memory);
    return st;
}

/* ---- answers ---- */

static enum weir_status check_answer(struct session_call *c, const char *decision)
{
    const struct call_text client = {.member = "clientId", .max = SESSION_CLIENT_BYTES};
    struct answer *a = arena_alloc(&c->arena, sizeof *a);
    if (!a) return c->arena.status;
    struct weir_slice by;
    enum weir_status st = call_text(c, &client, &by);
    if (st == WEIR_OK) st = answer_check(c, "approvalId", QUESTION_APPROVAL, a);
    a->outcome = (struct outcome){.decision = decision, .decider = "user", .by = by};
    c->data = a;
    return st;
}

static enum weir_status check_approve(struct session_call *c)
{
    static const char *const scopes[] = {"once", "exact-args", "any-args"};
    const struct call_text scope = {.member = "scope", .max = SIZE_MAX, .may_be_empty = true};
    const char *found = NULL;
    struct weir_slice text;
    enum weir_status st = call_text(c, &scope, &text);
    for (size_t i = 0; st == WEIR_OK && i < sizeof scopes / sizeof *scopes; i++)
        if (weir_slice_is(text, scopes[i])) found = scopes[i];
    if (st == WEIR_OK && !found)
        return call_refuse(c, WEIR_BAD_FIELD, "scope must be once, exact-args or any-args");
    if (st == WEIR_OK) st = check_answer(c, "allow");
    if (st == WEIR_OK) ((struct answer *)c->data)->outcome.scope = found;
    return st;
}

static enum weir_status check_deny(struct session_call *c)
{
    const struct call_text reason = {.member = "reason",
                                     .max = DENY_REASON_BYTES,
                                     .is_optional = true,
                                     .may_be_null = true,
                                     .may_be_empty = true};
    struct weir_slice text;
    enum weir_status st = call_text(c, &reason, &text);
    if (st == WEIR_OK) st = check_answer(c, "deny");
    if (st == WEIR_OK && text.len > 0) ((struct answer *)c->data)->outcome.text = text;
    return st;
}

static enum weir_status decide_answer(struct session_call *c, struct commit_view *view,
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
    if (st == WEIR_OK && a->outcome.scope) st = scope_keep(commit, &q, &a->outcome);
    session_doc_fini(&doc);
    return st;
}

static void committed_answer(struct session_call *c, enum weir_status st)
{
    const struct answer *a = c->data;
    if (st != WEIR_OK) return;
    sessions_count(c->sessions, a->outcome.scope ? offsetof(struct sessions_stats, n_allowed)
                                                 : offsetof(struct sessions_stats, n_denied));
    turn_wake(c->sessions, weir_slice_of(a->turn));
}

static void put_catalog(struct session_call *c, struct weir_buf *out)
{
    session_tools_put_catalog(c->sessions, out);
}

static const char *const approve_members[] = {"approvalId", "clientId", "scope", NULL};
static const char *const deny_members[] = {"approvalId", "clientId", "reason", NULL};
static const char *const no_members[] = {NULL};

const struct session_method approval_methods[] = {
    {.space = "tools",
     .name = "approve",
     .is_write = true,
     .members = approve_members,
     .check = check_approve,
     .decide = decide_answer,
     .committed = committed_answer,
     .put = call_put_ok},
    {.space = "tools",
     .name = "deny",
     .is_write = true,
     .members = deny_members,
     .check = check_deny,
     .decide = decide_answer,
     .committed = committed_answer,
     .put = call_put_ok},
    {.space = "tools", .name = "catalog", .members = no_members, .put = put_catalog},
    {.space = NULL},
};
