/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is private in a request, before each call of a model: finding it, deciding about it, and
 * the request as it leaves.
 *
 *   policy or wish   something is found              then
 *   off              nobody looks                    the request leaves as it is
 *   auto_redact      yes, or was allowed earlier     dlp_resolved "redact"
 *   block            yes, or was allowed earlier     dlp_blocked "policy_block"
 *   ask              yes; this reply was decided     as decided
 *                    yes; the conversation remembers dlp_resolved, as remembered
 *                    yes                             dlp_preview, and it waits for the decision:
 *                                                    redact, allow: dlp_resolved
 *                                                    block: dlp_blocked "user_blocked"
 *                                                    deadline: dlp_blocked "timeout"
 *
 * Where nobody reads along (a provider that the policy does not cover) placeholders are sent all
 * the same, and nobody is asked or told. A failure of the detector closes.
 *
 * What is looked at is what has come since the last look: at first all messages, the new ones with
 * their values, then the results of tools.
 */
#include <stdio.h>

#include "base/slice.h"
#include "chat/chat_impl.h"

enum { PREVIEW_BYTES = 32 << 10, DECISION_BODY_BYTES = 4096 };

static const char provider[] = "weir Privacy Shield";

/* ---- telling ---- */

static enum weir_status audit(struct pass *p, const char *action, const char *decider,
                              const struct guard_report *report)
{
    struct commit *c = commit_new(0);
    if (!c) return WEIR_NOMEM;
    audit_append(c, &(struct audit_entry){.at_ms = clock_wall_ms(p->chats->options.clock),
                                          .owner = flow_owner(p->step),
                                          .conversation = p->conversation,
                                          .message = flow_id(p->step),
                                          .action = action,
                                          .decider = decider,
                                          .path = "chat",
                                          .report = report});
    enum weir_status st = store_commit_wait(p->chats->store, c).status;
    if (st == WEIR_OK) audit_written(action);
    return st;
}

/* Whether such an event was sent since the last tool came to its end. */
static bool was_sent(const struct pass *p, const char *type)
{
    unsigned n_ends = 0;
    for (const struct said *s = p->reply->transcript.first; s; s = s->next) {
        if (weir_slice_is(s->type, "tool_result") || weir_slice_is(s->type, "tool_error")) n_ends++;
        else if (weir_slice_is(s->type, type) && n_ends == p->n_tools) return true;
    }
    return false;
}

/* The placeholders of the map that are in the request. */
static enum weir_status tell_map(struct pass *p, struct weir_slice request)
{
    struct weir_buf tokens, json;
    const struct weir_json *map = NULL;
    if (!p->shows_raw || was_sent(p, "privacy_token_map")) return WEIR_OK;
    struct weir_json_doc *doc = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&tokens, CHAT_BODY_BYTES);
    weir_buf_init(&json, CHAT_BODY_BYTES);
    token_map_write(guard_tokens(p->attempt->guard), &tokens);
    enum weir_status st = weir_buf_status(&tokens);
    if (st == WEIR_OK) st = weir_json_parse(doc, weir_buf_slice(&tokens), &map, NULL);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "tokenMap");
    weir_json_put_begin_object(&json);
    for (const struct weir_json *m = weir_json_first(map); m; m = weir_json_next(m)) {
        struct weir_slice token = weir_json_key(m);
        if (!memmem(request.ptr, request.len, token.ptr, token.len)) continue;
        weir_json_put_key_slice(&json, token);
        weir_json_put_string(&json, token);
    }
    weir_json_put_end_object(&json);
    weir_json_put_key(&json, "source");
    weir_json_put_str(&json, "dlp");
    weir_json_put_end_object(&json);
    if (st == WEIR_OK) st = reply_emit(p, "privacy_token_map", &json);
    /* Values were in it. */
    if (tokens.ptr) explicit_bzero(tokens.ptr, tokens.len);
    weir_buf_fini(&tokens);
    weir_buf_fini(&json);
    weir_json_doc_free(doc);
    return st;
}

/* `decider` NULL: whoever decided has had it audited. */
static enum weir_status tell_resolved(struct pass *p, enum decision_choice choice,
                                      const struct guard_report *report, const char *decider)
{
    struct weir_buf json;
    const char *applied = choice == DECISION_ALLOW ? "allow" : "redact";
    size_t n = choice == DECISION_ALLOW ? 0 : report->n;
    if (was_sent(p, "dlp_resolved")) return WEIR_OK;
    enum weir_status st = decider ? audit(p, applied, decider, report) : WEIR_OK;
    if (st != WEIR_OK) return st;
    weir_buf_init(&json, CHAT_EVENT_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "appliedChoice");
    weir_json_put_str(&json, applied);
    weir_json_put_key(&json, "redactedCount");
    weir_json_put_uint(&json, n);
    weir_json_put_key(&json, "categories");
    guard_report_put_categories(report, &json);
    weir_json_put_end_object(&json);
    st = reply_emit(p, "dlp_resolved", &json);
    weir_buf_fini(&json);
    atomic_fetch_add(&p->chats->n_redacted, n);
    return st;
}

enum weir_status pass_block(struct pass *p, const char *reason, const struct guard_report *report)
{
    struct weir_buf *out = &p->attempt->out;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "unsent");
    weir_json_put_bool(out, p->round == 0);
    weir_json_put_key(out, "blocked");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "reason");
    weir_json_put_str(out, reason);
    weir_json_put_key(out, "findings");
    if (report && report->findings.len > 0)
        weir_buf_append_slice(out, weir_buf_slice(&report->findings));
    else weir_buf_append_str(out, "[]");
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
    p->is_blocked = true;
    atomic_fetch_add(&p->chats->n_blocked, 1);
    return WEIR_OK;
}

static enum weir_status block_by_policy(struct pass *p, const struct guard_report *report)
{
    enum weir_status st = audit(p, "policy_block", "policy", report);
    return st == WEIR_OK ? pass_block(p, "policy_block", report) : st;
}

enum weir_status pass_block_residue(struct pass *p)
{
    enum weir_status st = audit(p, "residue_block", "egress", NULL);
    return st == WEIR_OK ? pass_block(p, "policy_block", NULL) : st;
}

/* ---- asking ---- */

static void put_preview(struct weir_buf *json, const char *id, const struct guard_report *report,
                        struct weir_slice redacted)
{
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "decisionId");
    weir_json_put_str(json, id);
    weir_json_put_key(json, "findings");
    weir_buf_append_slice(json, weir_buf_slice(&report->findings));
    weir_json_put_key(json, "redactedText");
    weir_json_put_string(json, redacted);
    weir_json_put_key(json, "provider");
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "displayName");
    weir_json_put_str(json, provider);
    weir_json_put_end_object(json);
    weir_json_put_end_object(json);
}

/* From now on somebody wakes it: whoever decides, the deadline, or whoever aborts it. */
static enum weir_status wait_for(struct pass *p, const char *id, int64_t deadline_ms)
{
    p->attempt->is_waiting = true;
    reply_wait(p->chats, p->reply, p->step, id, deadline_ms);
    return WEIR_PENDING;
}

/* One that was aborted before it waited is woken by nobody else. */
static void end_early(struct pass *p)
{
    if (flow_is_aborted(p->step)) reply_wake(p->chats, weir_slice_of(p->reply->id));
}

static enum weir_status write_question(struct pass *p, const char *id, int64_t deadline_ms,
                                       const struct guard_report *report, struct weir_buf *json)
{
    struct weir_buf counts, body;
    weir_buf_init(&counts, DECISION_BODY_BYTES);
    weir_buf_init(&body, DECISION_BODY_BYTES);
    guard_report_put_counts(report, &counts);
    decision_put(&body, &(struct decision){.id = weir_slice_of(id),
                                           .owner = flow_owner(p->step),
                                           .conversation = p->conversation,
                                           .message = flow_id(p->step),
                                           .deadline_ms = deadline_ms,
                                           .categories = weir_buf_slice(&counts)});
    enum weir_status st = weir_buf_status(&counts);
    if (st == WEIR_OK) st = weir_buf_status(&body);
    if (st == WEIR_OK) st = weir_buf_status(json);
    if (st == WEIR_OK) st = pass_note(p, "dlp_preview", weir_buf_slice(json));
    if (st == WEIR_OK) {
        st = wait_for(p, id, deadline_ms);
        flow_save(p->step, &(struct flow_save){.key = decision_key(weir_slice_of(id)),
                                               .body = weir_buf_slice(&body),
                                               .type = "dlp_preview",
                                               .json = weir_buf_slice(json)});
        end_early(p);
    }
    weir_buf_fini(&counts);
    weir_buf_fini(&body);
    return st;
}

/* A question is short, whatever it is about. */
static void cut_preview(struct weir_buf *text)
{
    size_t len = token_cut(weir_buf_slice(text), PREVIEW_BYTES);
    if (text->len == len) return;
    text->len = len;
    weir_buf_append_str(text, "…");
}

static enum weir_status ask_user(struct pass *p, const struct guard_report *report)
{
    char id[DECISION_ID_BYTES];
    struct weir_buf redacted, json;
    weir_buf_init(&redacted, 2 * MODEL_REQUEST_BYTES);
    weir_buf_init(&json, CHAT_EVENT_BYTES);
    enum weir_status st = chats_next_id(p->chats, "dlp_", id);
    if (st == WEIR_OK)
        st = guard_redact_text(p->attempt->guard, weir_buf_slice(&p->preview), &redacted, NULL);
    if (st == WEIR_OK) st = weir_buf_status(&redacted);
    if (st == WEIR_OK) st = pass_keep_values(p);
    if (st == WEIR_OK) {
        int64_t deadline_ms =
            clock_wall_ms(p->chats->options.clock) + p->chats->options.decision_ms;
        cut_preview(&redacted);
        put_preview(&json, id, report, weir_buf_slice(&redacted));
        st = write_question(p, id, deadline_ms, report, &json);
    }
    if (st == WEIR_PENDING) atomic_fetch_add(&p->chats->n_asked, 1);
    weir_buf_fini(&redacted);
    weir_buf_fini(&json);
    return st;
}

/* ---- what was decided ---- */

static void remember(struct pass *p, enum decision_choice choice)
{
    struct weir_slice body = choice == DECISION_ALLOW ? SLICE("{\"choice\":\"allow\"}")
                                                      : SLICE("{\"choice\":\"redact\"}");
    flow_save(p->step, &(struct flow_save){.key = choice_key(p->conversation), .body = body});
}

static enum weir_status recall(struct pass *p, enum decision_choice *choice)
{
    struct chat_doc doc;
    *choice = DECISION_OPEN;
    enum weir_status st = chat_doc_get(p->chats->store, choice_key(p->conversation), &doc);
    struct weir_slice text = weir_json_text(weir_json_get_str(doc.json, "choice"));
    if (weir_slice_is(text, "allow")) *choice = DECISION_ALLOW;
    if (weir_slice_is(text, "redact")) *choice = DECISION_REDACT;
    chat_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

/* What the user has said to it; WEIR_PENDING: nothing yet. */
static enum weir_status read_decision(struct pass *p, const char *id, struct decision *out,
                                      struct chat_doc *doc)
{
    enum weir_status st = chat_doc_get(p->chats->store, decision_key(weir_slice_of(id)), doc);
    if (st != WEIR_OK) return st;
    if (!decision_read(doc->json, out)) return WEIR_CORRUPT;
    if (out->choice != DECISION_OPEN) return WEIR_OK;
    st = wait_for(p, id, out->deadline_ms);
    /* Between the look and the wait it may have been answered. */
    chat_doc_fini(doc);
    enum weir_status again = chat_doc_get(p->chats->store, decision_key(weir_slice_of(id)), doc);
    struct decision now;
    if (again == WEIR_OK && decision_read(doc->json, &now) && now.choice != DECISION_OPEN)
        reply_wake(p->chats, weir_slice_of(p->reply->id));
    end_early(p);
    return st;
}

/* DECISION_OPEN: nobody has decided for this reply yet. */
static enum weir_status find_choice(struct pass *p, const char **decider)
{
    char id[DECISION_ID_BYTES];
    struct chat_doc doc = {0};
    struct decision d;
    *decider = NULL;
    if (p->choice != DECISION_OPEN) {
        *decider = p->decider;
        return WEIR_OK;
    }
    if (!transcript_decision(&p->reply->transcript, id)) {
        *decider = p->decider = "remembered";
        return recall(p, &p->choice);
    }
    enum weir_status st = read_decision(p, id, &d, &doc);
    if (st == WEIR_OK) {
        p->choice = d.choice;
        p->decider = "user"; /* of what is found later; this was audited when it was decided */
        bool is_kept =
            d.is_remembered && (d.choice == DECISION_REDACT || d.choice == DECISION_ALLOW);
        if (is_kept && transcript_count(&p->reply->transcript, "dlp_resolved") == 0)
            remember(p, d.choice);
    }
    chat_doc_fini(&doc);
    return st;
}

/* ---- allowing ---- */

/* Messages that were allowed to leave are stored as they are. */
static enum weir_status keep_plain(void *user, unsigned n, const struct weir_json *message)
{
    struct pass *p = user;
    char id[MESSAGE_ID_BYTES];
    struct weir_buf body, plain;
    if (n < p->first || n >= p->first + p->n) return WEIR_OK;
    weir_buf_init(&body, CHAT_BODY_BYTES);
    weir_buf_init(&plain, CHAT_BODY_BYTES);
    weir_json_put_value(&body, message);
    enum weir_status st = guard_reveal(p->attempt->guard, weir_buf_slice(&body), &plain);
    if (st == WEIR_OK) st = weir_buf_status(&plain);
    if (st == WEIR_OK)
        flow_save(p->step, &(struct flow_save){.key = message_key(id, p->conversation, n),
                                               .body = weir_buf_slice(&plain)});
    weir_buf_fini(&body);
    weir_buf_fini(&plain);
    return st;
}

/* Behind the event that tells of it: what is allowed is not found any more, after a crash too. */
static enum weir_status allow(struct pass *p, const struct weir_json *fresh)
{
    struct guard *g = p->attempt->guard;
    uint64_t version = guard_version(g);
    enum weir_status st = guard_allow(g, GUARD_MESSAGES, fresh);
    if (st == WEIR_OK && p->round == 0 && guard_version(g) != version)
        st = messages_each(p->chats->store, p->conversation, p->first, keep_plain, p);
    return st == WEIR_OK ? pass_keep_values(p) : st;
}

/* ---- deciding ---- */

static enum weir_status decide_by_user(struct pass *p, const struct weir_json *fresh,
                                       const struct guard_report *report)
{
    const char *decider;
    enum weir_status st = find_choice(p, &decider);
    if (st != WEIR_OK) return st;
    switch (p->choice) {
    case DECISION_OPEN: return ask_user(p, report);
    case DECISION_BLOCK: return pass_block(p, "user_blocked", report);
    case DECISION_TIMEOUT: return pass_block(p, "timeout", report);
    case DECISION_ALLOW:
    case DECISION_REDACT: break;
    }
    st = tell_resolved(p, p->choice, report, decider);
    return st == WEIR_OK && p->choice == DECISION_ALLOW ? allow(p, fresh) : st;
}

static enum weir_status decide(struct pass *p, const struct weir_json *fresh,
                               const struct guard_report *report)
{
    switch (chats_action(p->chats, p->wish)) {
    case PII_OFF: return WEIR_OK;
    case PII_ASK: return decide_by_user(p, fresh, report);
    case PII_REDACT: return tell_resolved(p, DECISION_REDACT, report, "policy");
    case PII_BLOCK: return block_by_policy(p, report);
    }
    return WEIR_INTERNAL;
}

static bool is_covered(const struct pass *p)
{
    bool is_external = models_is_external(p->chats->options.models, MODEL_MAIN);
    return guard_covers(p->attempt->guard, is_external);
}

static enum weir_status look_at(struct pass *p, const struct weir_json *fresh)
{
    struct guard_report report;
    guard_report_init(&report);
    enum weir_status st = guard_find(p->attempt->guard, GUARD_MESSAGES, fresh, &report);
    if (st == WEIR_OK && report.n > 0) st = decide(p, fresh, &report);
    /* Nobody can tell what is in it, so it does not leave. */
    else if (st == WEIR_LIMIT || st == WEIR_FORBIDDEN) st = block_by_policy(p, &report);
    p->has_found = p->has_found || report.n > 0;
    guard_report_fini(&report);
    return st;
}

/* The messages that have come since the last look. */
static enum weir_status parse_fresh(struct pass *p, struct weir_json_doc *doc,
                                    const struct weir_json **out)
{
    struct weir_buf text;
    weir_buf_init(&text, 2 * MODEL_REQUEST_BYTES);
    size_t at = p->round == 0 ? 1 : p->fresh_at + 1; /* behind the bracket, or the comma */
    weir_buf_append_char(&text, '[');
    weir_buf_append_slice(&text, slice_from(weir_buf_slice(&p->messages), at));
    weir_buf_append_char(&text, ']');
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) st = weir_json_parse(doc, weir_buf_slice(&text), out, NULL);
    weir_buf_fini(&text);
    return st;
}

/* All messages, as they leave. */
static enum weir_status write_redacted(struct pass *p, struct weir_buf *out)
{
    const struct weir_json *all;
    struct weir_buf text;
    struct weir_json_doc *doc = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&text, 2 * MODEL_REQUEST_BYTES);
    weir_buf_append_slice(&text, weir_buf_slice(&p->messages));
    weir_buf_append_char(&text, ']');
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) st = weir_json_parse(doc, weir_buf_slice(&text), &all, NULL);
    if (st == WEIR_OK) st = guard_redact(p->attempt->guard, GUARD_MESSAGES, all, out, NULL);
    if (st == WEIR_OK) st = weir_buf_status(out);
    if (st == WEIR_OK) st = pass_keep_values(p);
    weir_buf_fini(&text);
    weir_json_doc_free(doc);
    return st;
}

enum weir_status pass_protect(struct pass *p, struct weir_buf *out)
{
    const struct weir_json *fresh;
    if (chats_action(p->chats, p->wish) == PII_OFF) {
        weir_buf_append_slice(out, weir_buf_slice(&p->messages));
        weir_buf_append_char(out, ']');
        return weir_buf_status(out);
    }
    struct weir_json_doc *doc = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = parse_fresh(p, doc, &fresh);
    p->has_found = false;
    if (st == WEIR_OK && is_covered(p)) st = look_at(p, fresh);
    weir_json_doc_free(doc);
    if (st != WEIR_OK || p->is_blocked) return st;
    st = write_redacted(p, out);
    if (st == WEIR_FORBIDDEN) return block_by_policy(p, NULL);
    bool is_redacted = p->has_found && p->choice != DECISION_ALLOW;
    return st == WEIR_OK && is_redacted ? tell_map(p, weir_buf_slice(out)) : st;
}

const struct guard *pass_egress(const struct pass *p)
{
    const struct attempt *a = p->attempt;
    if (chats_action(p->chats, p->wish) == PII_OFF) return NULL;
    return a->leaving ? a->leaving->guard : NULL;
}
