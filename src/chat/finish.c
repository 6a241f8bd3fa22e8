/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a reply ends: one commit with its last event, its message in the conversation, and its place
 * given back. What it said is its transcript, however it ended; of one that did not come to its
 * end the message is marked incomplete, and calls of tools without a result are given an error.
 *
 *   the step brought            the last event
 *   {"usage","model"}           done
 *   {"blocked":{…}}             dlp_blocked; the messages that were not sent are marked
 *   nothing: it failed          error
 */
#include <stdio.h>

#include "base/slice.h"
#include "chat/chat_impl.h"

enum { SMALL_BYTES = 4096, SHORT_TEXT_BYTES = 512 << 10 };

struct ending {
    struct chats *chats;
    struct flow_step *step;
    const struct flow_end *end;
    const struct weir_json *input, *output; /* NULL: it failed */
    const struct weir_json *blocked;        /* NULL: it was not */
    struct reply *reply;
    struct chat_doc doc; /* the conversation's */
    struct conversation conversation;
};

/* Without memory there is no end yet: all of it is made again, later. */
static void lack(struct flow_step *s, enum weir_status st)
{
    if (st == WEIR_NOMEM) flow_hook_fail(s, st);
}

static void emit(struct flow_step *s, const char *type, struct weir_buf *json)
{
    enum weir_status st = weir_buf_status(json);
    if (st == WEIR_OK) flow_emit(s, type, weir_buf_slice(json));
    else flow_hook_fail(s, st); /* there is no end without its last event */
    weir_buf_reset(json);
}

/* ---- the message ---- */

/* Its call, and what became of it, as one object. */
static void put_tool(struct weir_buf *out, const struct transcript *t, const struct said *call)
{
    static const char head[] = "{\"id\":\"";
    char id[32] = "";
    size_t at = sizeof head - 1, len = 0;
    while (at + len < call->json.len && call->json.ptr[at + len] != '"' && len < sizeof id - 1)
        len++;
    memcpy(id, call->json.ptr + at, len);
    const struct said *end = transcript_of_tool(t, "tool_result", id);
    if (!end) end = transcript_of_tool(t, "tool_error", id);
    weir_buf_append(out, call->json.ptr, call->json.len - 1);
    if (end) {
        size_t n_head = at + len + 1; /* {"id":"tc_1" */
        weir_buf_append_slice(out, slice_from(end->json, n_head));
    } else weir_buf_append_str(out, ",\"error\":\"cancelled\"}");
}

static void put_list(struct weir_buf *out, const char *key, const struct transcript *t,
                     const char *type)
{
    bool is_first = true;
    weir_json_put_key(out, key);
    weir_buf_append_char(out, '[');
    for (const struct said *s = t->first; s; s = s->next) {
        if (!weir_slice_is(s->type, type)) continue;
        if (!is_first) weir_buf_append_char(out, ',');
        is_first = false;
        if (weir_slice_is(s->type, "tool_call")) put_tool(out, t, s);
        else weir_buf_append_slice(out, s->json);
    }
    weir_buf_append_char(out, ']');
}

static void put_message(struct weir_buf *out, const struct ending *e, struct weir_slice text,
                        bool is_short)
{
    char at[CLOCK_TEXT_BYTES];
    const struct transcript *t = &e->reply->transcript;
    clock_format(at, e->end->ended_ms);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "role");
    weir_json_put_str(out, "assistant");
    weir_json_put_key(out, "content");
    weir_json_put_string(out, text);
    weir_json_put_key(out, "at");
    weir_json_put_str(out, at);
    weir_json_put_key(out, "messageId");
    weir_json_put_string(out, flow_id(e->step));
    if (!is_short) {
        put_list(out, "toolCalls", t, "tool_call");
        put_list(out, "citations", t, "citation");
    }
    if (e->output && !e->blocked) {
        weir_json_put_key(out, "usage");
        weir_json_put_value(out, weir_json_get_str(e->output, "usage"));
        weir_json_put_key(out, "model");
        weir_json_put_value(out, weir_json_get_str(e->output, "model"));
    } else {
        weir_json_put_key(out, "incomplete");
        weir_json_put_bool(out, true);
    }
    weir_json_put_end_object(out);
}

static enum pii_action wish_of(const struct ending *e)
{
    enum pii_action wish = PII_OFF;
    (void)pii_action_parse(weir_json_text(weir_json_get_str(e->input, "wish")), &wish);
    return wish;
}

/* What the model has made up is as private as if somebody had said it: it is stored without. */
static enum weir_status redact_text(struct ending *e, struct weir_slice text, struct weir_buf *out)
{
    struct guard *g = NULL;
    struct weir_buf sealed;
    struct chats *c = e->chats;
    enum weir_status st = WEIR_OK;
    struct snapshot *newest = values_ref(c, e->reply);
    weir_buf_init(&sealed, CHAT_BODY_BYTES);
    if (newest) g = guard_copy(newest->guard);
    else st = values_load_for(c, e->conversation.id, wish_of(e), &g);
    values_unref(c, newest);
    if (st == WEIR_OK && !g) st = WEIR_NOMEM;
    uint64_t version = st == WEIR_OK ? guard_version(g) : 0;
    if (st == WEIR_OK) st = guard_redact_text(g, text, out, NULL);
    if (st == WEIR_OK && guard_version(g) != version) {
        st = guard_seal(g, c->options.vault, e->conversation.id, &sealed);
        if (st == WEIR_OK) st = weir_buf_status(&sealed);
        if (st == WEIR_OK)
            flow_put(e->step, map_key(e->conversation.id), DOC_ANY_VERSION,
                     weir_buf_slice(&sealed));
    }
    weir_buf_fini(&sealed);
    guard_free(g);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

/* A message that is too large is stored as far as it goes: a reply has to end. */
static void keep_message(struct ending *e)
{
    char id[MESSAGE_ID_BYTES];
    struct weir_buf redacted, body;
    struct weir_slice text = weir_buf_slice(&e->reply->transcript.text);
    bool has_tools = transcript_find(&e->reply->transcript, "tool_call", 0) != NULL;
    if (text.len == 0 && !has_tools) return;
    if (e->conversation.n_messages >= CHAT_MAX_MESSAGES) return;
    weir_buf_init(&redacted, CHAT_BODY_BYTES);
    weir_buf_init(&body, CHAT_BODY_BYTES);
    bool is_plain = chats_action(e->chats, wish_of(e)) == PII_OFF;
    enum weir_status st = is_plain ? WEIR_OK : redact_text(e, text, &redacted);
    lack(e->step, st);
    if (!is_plain) text = st == WEIR_OK ? weir_buf_slice(&redacted) : SLICE("");
    put_message(&body, e, text, false);
    if (weir_buf_status(&body) != WEIR_OK) {
        weir_buf_reset(&body);
        text.len = token_cut(text, SHORT_TEXT_BYTES);
        put_message(&body, e, text, true);
    }
    lack(e->step, weir_buf_status(&body));
    flow_put(e->step, message_key(id, e->conversation.id, e->conversation.n_messages),
             DOC_ANY_VERSION, weir_buf_slice(&body));
    e->conversation.n_messages++;
    weir_buf_fini(&body);
    weir_buf_fini(&redacted);
}

/* What was not sent is not sent with the next message either. */
static enum weir_status mark(void *user, unsigned n, const struct weir_json *message)
{
    struct ending *e = user;
    char id[MESSAGE_ID_BYTES];
    struct weir_buf body;
    weir_buf_init(&body, CHAT_BODY_BYTES);
    weir_json_put_begin_object(&body);
    for (const struct weir_json *m = weir_json_first(message); m; m = weir_json_next(m)) {
        weir_json_put_key_slice(&body, weir_json_key(m));
        weir_json_put_value(&body, m);
    }
    weir_json_put_key(&body, "blocked");
    weir_json_put_bool(&body, true);
    weir_json_put_end_object(&body);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK)
        flow_put(e->step, message_key(id, e->conversation.id, n), DOC_ANY_VERSION,
                 weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}

static enum weir_status mark_unsent(struct ending *e)
{
    int64_t first = 0;
    bool is_unsent = weir_json_type_of(weir_json_get_str(e->output, "unsent")) == WEIR_JSON_TRUE;
    if (!is_unsent || !weir_json_int64(weir_json_get_str(e->input, "first"), &first))
        return WEIR_OK;
    return messages_each(e->chats->store, e->conversation.id, (unsigned)first, mark, e);
}

/* ---- the documents ---- */

static void keep_conversation(struct ending *e)
{
    struct weir_buf body;
    weir_buf_init(&body, SMALL_BYTES);
    e->conversation.running = (struct weir_slice){0};
    e->conversation.updated_ms = e->end->ended_ms;
    conversation_put(&body, &e->conversation);
    if (weir_buf_status(&body) == WEIR_OK)
        flow_put(e->step, conversation_key(e->conversation.id), e->doc.doc.version,
                 weir_buf_slice(&body));
    lack(e->step, weir_buf_status(&body));
    weir_buf_fini(&body);
}

/* A question that nobody waits for any more cannot be answered any more. */
static enum weir_status close_question(const struct ending *e)
{
    char id[DECISION_ID_BYTES];
    struct chat_doc doc;
    struct decision d;
    struct weir_buf body;
    if (!transcript_decision(&e->reply->transcript, id)) return WEIR_OK;
    weir_buf_init(&body, SMALL_BYTES);
    enum weir_status st = chat_doc_get(e->chats->store, decision_key(weir_slice_of(id)), &doc);
    if (st == WEIR_OK && decision_read(doc.json, &d) && d.choice == DECISION_OPEN) {
        d.choice = DECISION_TIMEOUT;
        decision_put(&body, &d);
        st = weir_buf_status(&body);
        if (st == WEIR_OK)
            flow_put(e->step, decision_key(weir_slice_of(id)), doc.doc.version,
                     weir_buf_slice(&body));
    }
    weir_buf_fini(&body);
    chat_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static void keep_reply(const struct ending *e)
{
    char body[512];
    int64_t created_ms = 0, slot = 0;
    char id[CHAT_SLOT_BYTES];
    struct weir_slice conversation = weir_json_text(weir_json_get_str(e->input, "conversation"));
    (void)weir_json_int64(weir_json_get_str(e->input, "createdMs"), &created_ms);
    int len = snprintf(body, sizeof body,
                       "{\"conversation\":\"%.*s\",\"state\":\"ended\",\"createdMs\":%lld,"
                       "\"endedMs\":%lld}",
                       (int)conversation.len, conversation.ptr, (long long)created_ms,
                       (long long)e->end->ended_ms);
    flow_put(e->step, reply_key(flow_id(e->step)), DOC_ANY_VERSION, slice_of(body, (size_t)len));
    if (weir_json_int64(weir_json_get_str(e->input, "slot"), &slot))
        flow_remove(e->step, chat_slot_key(id, flow_owner(e->step), (unsigned)slot),
                    DOC_ANY_VERSION);
}

/* ---- the last events ---- */

static void close_tools(const struct ending *e, struct weir_buf *json)
{
    const struct transcript *t = &e->reply->transcript;
    for (unsigned n = 1;; n++) {
        char id[32];
        snprintf(id, sizeof id, "tc_%u", n);
        if (!transcript_of_tool(t, "tool_call", id)) return;
        if (transcript_of_tool(t, "tool_result", id) || transcript_of_tool(t, "tool_error", id))
            continue;
        weir_json_put_begin_object(json);
        weir_json_put_key(json, "id");
        weir_json_put_str(json, id);
        weir_json_put_key(json, "error");
        weir_json_put_str(json, "cancelled");
        weir_json_put_end_object(json);
        emit(e->step, "tool_error", json);
    }
}

/* What clients are told of a failure. */
static enum weir_status code_of(enum weir_status st)
{
    switch (st) {
    case WEIR_TIMEOUT: return WEIR_UPSTREAM;
    case WEIR_CANCELLED:
    case WEIR_COST:
    case WEIR_LIMIT:
    case WEIR_UPSTREAM:
    case WEIR_UNPROCESSABLE:
    case WEIR_STORAGE: return st;
    default: return WEIR_INTERNAL;
    }
}

static void emit_error(const struct ending *e, struct weir_buf *json)
{
    const struct flow_failure *f = e->end->failure;
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "code");
    weir_json_put_str(json, weir_status_name(code_of(f->code)));
    weir_json_put_key(json, "message");
    weir_json_put_str(json, f->message[0] ? f->message : weir_status_text(f->code));
    weir_json_put_end_object(json);
    emit(e->step, "error", json);
}

static void emit_done(const struct ending *e, struct weir_buf *json)
{
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "messageId");
    weir_json_put_string(json, flow_id(e->step));
    weir_json_put_key(json, "usage");
    weir_json_put_value(json, weir_json_get_str(e->output, "usage"));
    weir_json_put_key(json, "model");
    weir_json_put_value(json, weir_json_get_str(e->output, "model"));
    weir_json_put_end_object(json);
    emit(e->step, "done", json);
}

static void emit_last(const struct ending *e)
{
    struct weir_buf json;
    weir_buf_init(&json, CHAT_EVENT_BYTES);
    close_tools(e, &json);
    if (e->blocked) {
        weir_json_put_value(&json, e->blocked);
        emit(e->step, "dlp_blocked", &json);
    } else if (e->output) emit_done(e, &json);
    else emit_error(e, &json);
    weir_buf_fini(&json);
}

/* ---- all of it ---- */

/* Nobody needs to know any more that it is read. */
static enum weir_status forget_readers(struct ending *e)
{
    struct doc doc;
    if (!e->chats->is_shared) return WEIR_OK;
    enum weir_status st = store_doc_get(e->chats->store, reader_key(flow_id(e->step)), &doc);
    if (st == WEIR_OK) {
        flow_remove(e->step, reader_key(flow_id(e->step)), DOC_ANY_VERSION);
        doc_fini(&doc);
    }
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static enum weir_status load(struct ending *e)
{
    struct weir_slice id = weir_json_text(weir_json_get_str(e->input, "conversation"));
    struct reply *r = e->reply;
    pthread_mutex_lock(&r->lock);
    enum weir_status st = transcript_load(&r->transcript, e->chats->store, flow_id(e->step));
    pthread_mutex_unlock(&r->lock);
    if (st != WEIR_OK) return st;
    st = chat_doc_get(e->chats->store, conversation_key(id), &e->doc);
    reply_belongs(e->chats, r, id);
    if (st == WEIR_OK && !conversation_read(e->doc.json, id, &e->conversation)) st = WEIR_CORRUPT;
    return st;
}

void reply_on_end(struct flow_step *s, const struct flow_end *end)
{
    struct ending e = {.chats = flow_user(s), .step = s, .end = end, .input = flow_input(s)};
    if (!end->failure) e.output = flow_output(s, "reply");
    e.blocked = weir_json_get_str(e.output, "blocked");
    e.reply = reply_pin(e.chats, flow_id(s));
    enum weir_status st = e.input && e.reply ? load(&e) : WEIR_NOMEM;
    /* A conversation that is gone, or damaged, does not keep its reply from ending. */
    bool has_conversation = st == WEIR_OK;
    if (st == WEIR_NOT_FOUND || st == WEIR_CORRUPT) st = WEIR_OK;
    if (has_conversation) st = mark_unsent(&e);
    if (st == WEIR_OK && e.reply && e.input) st = close_question(&e);
    if (st == WEIR_OK) st = forget_readers(&e);
    if (st == WEIR_OK) {
        if (has_conversation) {
            keep_message(&e);
            keep_conversation(&e);
        }
        keep_reply(&e);
        emit_last(&e);
        reply_ended(e.chats, flow_id(s));
    } else flow_hook_fail(s, st);
    chat_doc_fini(&e.doc);
    if (e.reply) reply_unpin(e.chats, e.reply);
}
