/* SPDX-License-Identifier: Apache-2.0 */
/* What a reply said, for those who did not watch it, and its events with values restored. */
#include "base/slice.h"
#include "chat/chat_impl.h"

/* ---- replies ---- */

enum weir_status chats_reply(struct chats *c, struct weir_slice owner, struct weir_slice message,
                             struct chat_reply *out)
{
    struct chat_doc doc;
    *out = (struct chat_reply){0};
    enum weir_status st = chat_doc_get(c->store, reply_key(message), &doc);
    if (st == WEIR_OK && !slice_eq(doc.doc.owner, owner)) st = WEIR_NOT_FOUND;
    if (st == WEIR_OK) {
        struct weir_slice id = weir_json_text(weir_json_get_str(doc.json, "conversation"));
        struct weir_slice state = weir_json_text(weir_json_get_str(doc.json, "state"));
        if (id.len < sizeof out->conversation) memcpy(out->conversation, id.ptr, id.len);
        out->has_ended = weir_slice_is(state, "ended");
        (void)weir_json_int64(weir_json_get_str(doc.json, "endedMs"), &out->ended_ms);
    }
    chat_doc_fini(&doc);
    return st;
}

enum weir_status chats_newest(struct chats *c, struct weir_slice owner,
                              struct weir_slice conversation, char message[CHAT_MESSAGE_LEN + 1])
{
    struct chat_doc doc;
    struct conversation v;
    enum weir_status st = conversation_find(c, owner, conversation, &doc, &v);
    if (st == WEIR_OK && v.newest.len != CHAT_MESSAGE_LEN) st = WEIR_NOT_FOUND;
    if (st == WEIR_OK) {
        memcpy(message, v.newest.ptr, CHAT_MESSAGE_LEN);
        message[CHAT_MESSAGE_LEN] = 0;
    }
    chat_doc_fini(&doc);
    return st;
}

/* ---- the result ---- */

struct telling {
    struct weir_slice message, conversation;
    struct weir_buf out;
    bool is_found;
};

static void put_member(struct weir_buf *out, const char *key, const struct weir_json *value)
{
    weir_json_put_key(out, key);
    weir_json_put_value(out, value);
}

static enum weir_status tell(void *user, unsigned n, const struct weir_json *message)
{
    struct telling *t = user;
    (void)n;
    if (!slice_eq(weir_json_text(weir_json_get_str(message, "messageId")), t->message))
        return WEIR_OK;
    weir_json_put_begin_object(&t->out);
    weir_json_put_key(&t->out, "messageId");
    weir_json_put_string(&t->out, t->message);
    weir_json_put_key(&t->out, "conversationId");
    weir_json_put_string(&t->out, t->conversation);
    put_member(&t->out, "text", weir_json_get_str(message, "content"));
    put_member(&t->out, "toolCalls", weir_json_get_str(message, "toolCalls"));
    put_member(&t->out, "citations", weir_json_get_str(message, "citations"));
    put_member(&t->out, "usage", weir_json_get_str(message, "usage"));
    put_member(&t->out, "model", weir_json_get_str(message, "model"));
    weir_json_put_end_object(&t->out);
    t->is_found = true;
    return WEIR_OK;
}

/* The last event of its transcript, if that is one of these. */
static const struct said *find_failure(const struct transcript *t, const char **type)
{
    static const char *const types[] = {"error", "dlp_blocked"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct said *s = transcript_find(t, types[i], 0);
        *type = types[i];
        if (s) return s;
    }
    *type = NULL;
    return NULL;
}

static enum weir_status tell_done(struct chats *c, struct telling *t, struct weir_buf *out)
{
    enum weir_status st = messages_each(c->store, t->conversation, 0, tell, t);
    if (st == WEIR_OK && !t->is_found) {
        static const char *const names[] = {"text", "toolCalls", "citations", "usage", "model"};
        static const char *const empty[] = {"\"\"", "[]", "[]", "null", "null"};
        weir_buf_printf(&t->out, "{\"messageId\":\"%.*s\",\"conversationId\":\"%.*s\"",
                        (int)t->message.len, t->message.ptr, (int)t->conversation.len,
                        t->conversation.ptr);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            weir_buf_printf(&t->out, ",\"%s\":%s", names[i], empty[i]);
        weir_buf_append_char(&t->out, '}');
    }
    if (st == WEIR_OK) st = weir_buf_status(&t->out);
    return st == WEIR_OK ? chats_restored(c, t->conversation, weir_buf_slice(&t->out), out) : st;
}

enum weir_status chats_result(struct chats *c, struct weir_slice message, struct weir_buf *out,
                              const char **failed)
{
    struct chat_doc doc;
    struct transcript log;
    struct telling t = {.message = message};
    const struct said *failure = NULL;
    *failed = NULL;
    transcript_init(&log);
    weir_buf_init(&t.out, CHAT_SHOWN_BYTES);
    enum weir_status st = chat_doc_get(c->store, reply_key(message), &doc);
    if (st == WEIR_OK) st = transcript_load(&log, c->store, message);
    if (st == WEIR_OK) failure = find_failure(&log, failed);
    if (failure) {
        weir_buf_append_slice(out, failure->json);
        st = weir_buf_status(out);
    } else if (st == WEIR_OK) {
        t.conversation = weir_json_text(weir_json_get_str(doc.json, "conversation"));
        st = tell_done(c, &t, out);
    }
    weir_buf_fini(&t.out);
    transcript_fini(&log);
    chat_doc_fini(&doc);
    return st;
}

/* ---- events ---- */

/* {"tokenMap":{"[email_1]":"[email_1]"},…}: the names stay. */
static enum weir_status restore_map(const struct guard *g, struct weir_slice json,
                                    struct weir_buf *out)
{
    const struct weir_json *value;
    struct weir_buf plain;
    struct weir_json_doc *doc = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, json, &value, NULL);
    const struct weir_json *map = weir_json_get_str(value, "tokenMap");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "tokenMap");
    weir_json_put_begin_object(out);
    for (const struct weir_json *m = weir_json_first(map); st == WEIR_OK && m;
         m = weir_json_next(m)) {
        weir_buf_init(&plain, CHAT_BODY_BYTES);
        values_restore_text(g, RESTORE_TEXT, weir_json_key(m), &plain);
        weir_json_put_key_slice(out, weir_json_key(m));
        weir_json_put_string(out, weir_buf_slice(&plain));
        st = weir_buf_status(&plain);
        weir_buf_fini(&plain);
    }
    weir_json_put_end_object(out);
    put_member(out, "source", weir_json_get_str(value, "source"));
    weir_json_put_end_object(out);
    weir_json_doc_free(doc);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

static bool begins_with(struct weir_slice text, const char *head)
{
    size_t n = strlen(head);
    return text.len >= n && memcmp(text.ptr, head, n) == 0;
}

enum weir_status chat_restore_event(const struct guard *g, struct weir_slice type,
                                    struct weir_slice json, struct weir_buf *out)
{
    /* What the user is asked about, and told of, is what would leave: with placeholders. */
    bool is_as_it_is = !g || begins_with(type, "dlp_") || !memchr(json.ptr, '[', json.len);
    if (is_as_it_is) weir_buf_append_slice(out, json);
    else if (weir_slice_is(type, "privacy_token_map")) return restore_map(g, json, out);
    else {
        enum weir_status st = guard_restore(g, json, out);
        if (st != WEIR_OK) return st;
    }
    return weir_buf_status(out);
}
