/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations and their messages as documents. look.c has looking at them.
 *
 *   "conversation" CONV         {"agentId","createdMs","updatedMs","messages":N,"newest","running",
 *                                "deleted","closed"}; its owner is the document's
 *   "conversation_made" MS/CONV the same conversations by the time they were made: for lists
 *   "chat_message" CONV/NNNNNN  {"role","content","at"}, of an assistant's also "messageId",
 *                               "toolCalls", "citations", "usage", "model" and "incomplete"
 *   "reply" MSG                 {"conversation","state","createdMs","endedMs"}
 *   "conversation_reply" CONV/MSG   which replies belong to it
 *   "chat_choice" CONV          {"choice"}: what the user wants done with what is private
 *   "chat_deleted" CONV         it is marked, and what it consists of goes
 *   "chat_slot" OWNER/N         the message that is in flight there
 */
#include <stdio.h>

#include "base/check.h"
#include "base/slice.h"
#include "chat/chat_impl.h"
#include "codec/json_member.h"

/* ---- keys ---- */

static struct doc_key key(const char *kind, const char *id, int len, size_t size)
{
    CHECK(len > 0 && (size_t)len < size);
    return (struct doc_key){weir_slice_of(kind), slice_of(id, (size_t)len)};
}

struct doc_key conversation_key(struct weir_slice id)
{
    return (struct doc_key){SLICE("conversation"), id};
}

struct doc_key reply_key(struct weir_slice message)
{
    return (struct doc_key){SLICE("reply"), message};
}

struct doc_key message_key(char out[MESSAGE_ID_BYTES], struct weir_slice conversation, unsigned n)
{
    int len =
        snprintf(out, MESSAGE_ID_BYTES, "%.*s/%06u", (int)conversation.len, conversation.ptr, n);
    return key("chat_message", out, len, MESSAGE_ID_BYTES);
}

struct doc_key made_key(char out[MADE_ID_BYTES], const struct conversation *v)
{
    int len = snprintf(out, MADE_ID_BYTES, "%013lld/%.*s", (long long)v->created_ms, (int)v->id.len,
                       v->id.ptr);
    return key("conversation_made", out, len, MADE_ID_BYTES);
}

struct doc_key choice_key(struct weir_slice conversation)
{
    return (struct doc_key){SLICE("chat_choice"), conversation};
}

struct doc_key belongs_key(char out[BELONGS_ID_BYTES], struct weir_slice conversation,
                           struct weir_slice message)
{
    int len = snprintf(out, BELONGS_ID_BYTES, "%.*s/%.*s", (int)conversation.len, conversation.ptr,
                       (int)message.len, message.ptr);
    return key("conversation_reply", out, len, BELONGS_ID_BYTES);
}

struct doc_key chat_slot_key(char out[CHAT_SLOT_BYTES], struct weir_slice owner, unsigned slot)
{
    int len = snprintf(out, CHAT_SLOT_BYTES, "%.*s/%u", (int)owner.len, owner.ptr, slot);
    return key("chat_slot", out, len, CHAT_SLOT_BYTES);
}

bool chat_is_message(struct weir_slice text)
{
    return ulid_is_name(text, "msg_");
}

bool chat_is_conversation(struct weir_slice text)
{
    static const char prefix[] = "conv_";
    size_t n = sizeof prefix - 1;
    if (text.len <= n || text.len >= CHAT_CONVERSATION_BYTES || memcmp(text.ptr, prefix, n) != 0)
        return false;
    for (size_t i = n; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
        if (!is_good) return false;
    }
    return text.len - n <= 64;
}

struct weir_slice chat_log(char out[CHAT_LOG_BYTES], struct weir_slice message)
{
    int len = snprintf(out, CHAT_LOG_BYTES, "chat/%.*s", (int)message.len, message.ptr);
    CHECK(len > 0 && len < CHAT_LOG_BYTES);
    return slice_of(out, (size_t)len);
}

/* ---- documents ---- */

enum weir_status chat_doc_get(struct store *store, struct doc_key k, struct chat_doc *out)
{
    *out = (struct chat_doc){0};
    enum weir_status st = store_doc_get(store, k, &out->doc);
    if (st != WEIR_OK) return st;
    out->memory = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!out->memory) return WEIR_NOMEM;
    st = weir_json_parse(out->memory, out->doc.body, &out->json, NULL);
    return st == WEIR_OK || st == WEIR_NOMEM ? st : WEIR_CORRUPT;
}

void chat_doc_fini(struct chat_doc *d)
{
    doc_fini(&d->doc);
    weir_json_doc_free(d->memory);
    *d = (struct chat_doc){0};
}

void conversation_put(struct weir_buf *out, const struct conversation *v)
{
    weir_json_put_begin_object(out);
    member_string(out, "agentId", v->agent);
    member_int(out, "createdMs", v->created_ms);
    member_int(out, "updatedMs", v->updated_ms);
    member_int(out, "messages", v->n_messages);
    member_string(out, "newest", v->newest);
    member_string(out, "running", v->running);
    weir_json_put_key(out, "deleted");
    weir_json_put_bool(out, v->is_deleted);
    weir_json_put_key(out, "closed");
    weir_json_put_bool(out, v->is_closed);
    weir_json_put_end_object(out);
}

bool conversation_read(const struct weir_json *json, struct weir_slice id, struct conversation *out)
{
    int64_t n = 0;
    *out = (struct conversation){.id = id};
    bool is_good = weir_json_int64(weir_json_get_str(json, "createdMs"), &out->created_ms) &&
                   weir_json_int64(weir_json_get_str(json, "updatedMs"), &out->updated_ms) &&
                   weir_json_int64(weir_json_get_str(json, "messages"), &n) && n >= 0 &&
                   n <= CHAT_MAX_MESSAGES;
    out->n_messages = (unsigned)n;
    out->agent = weir_json_text(weir_json_get_str(json, "agentId"));
    out->newest = weir_json_text(weir_json_get_str(json, "newest"));
    out->running = weir_json_text(weir_json_get_str(json, "running"));
    out->is_deleted = weir_json_type_of(weir_json_get_str(json, "deleted")) == WEIR_JSON_TRUE;
    out->is_closed = weir_json_type_of(weir_json_get_str(json, "closed")) == WEIR_JSON_TRUE;
    return is_good;
}

enum weir_status conversation_find(struct chats *c, struct weir_slice owner, struct weir_slice id,
                                   struct chat_doc *doc, struct conversation *out)
{
    enum weir_status st = chat_doc_get(c->store, conversation_key(id), doc);
    if (st != WEIR_OK) return st;
    if (!slice_eq(doc->doc.owner, owner)) return WEIR_NOT_FOUND;
    if (!conversation_read(doc->json, doc->doc.id, out)) return WEIR_CORRUPT;
    return out->is_deleted ? WEIR_NOT_FOUND : WEIR_OK;
}

/* ---- decisions ---- */

static enum weir_status view_json(struct commit_view *view, struct doc_key k,
                                  struct weir_json_doc *memory, const struct weir_json **out)
{
    struct doc doc;
    enum weir_status st = commit_view_doc(view, k, &doc);
    if (st == WEIR_OK) st = weir_json_parse(memory, doc.body, out, NULL);
    return st == WEIR_OK || st == WEIR_NOT_FOUND || st == WEIR_NOMEM ? st : WEIR_CORRUPT;
}

/* Whether somebody still waits for it. */
static enum weir_status find_waiting(struct weir_slice id, struct commit_view *view,
                                     struct weir_json_doc *memory)
{
    struct decision d;
    struct conversation v;
    const struct weir_json *json;
    char message[CHAT_MESSAGE_LEN + 1], conversation[CHAT_CONVERSATION_BYTES];
    if (!ulid_is_name(id, "dlp_")) return WEIR_NOT_FOUND;
    enum weir_status st = view_json(view, decision_key(id), memory, &json);
    if (st != WEIR_OK) return st;
    if (!decision_read(json, &d) || d.message.len >= sizeof message ||
        d.conversation.len >= sizeof conversation)
        return WEIR_CORRUPT;
    snprintf(message, sizeof message, "%.*s", (int)d.message.len, d.message.ptr);
    snprintf(conversation, sizeof conversation, "%.*s", (int)d.conversation.len,
             d.conversation.ptr);
    struct weir_slice where = weir_slice_of(conversation);
    st = view_json(view, conversation_key(where), memory, &json);
    if (st != WEIR_OK) return st;
    if (!conversation_read(json, where, &v)) return WEIR_CORRUPT;
    return !v.is_deleted && weir_slice_is(v.running, message) ? WEIR_OK : WEIR_NOT_FOUND;
}

enum weir_status chats_decide(struct decision_answer *a, struct commit_view *view, struct commit *c)
{
    struct weir_json_doc *memory = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!memory) return WEIR_NOMEM;
    enum weir_status st = find_waiting(a->id, view, memory);
    weir_json_doc_free(memory);
    return st == WEIR_OK ? decision_decide(a, view, c) : st;
}

/* ---- messages ---- */

void message_put_text(struct weir_buf *out, const struct weir_json *content)
{
    if (weir_json_type_of(content) == WEIR_JSON_STRING) {
        weir_buf_append_slice(out, weir_json_text(content));
        return;
    }
    for (const struct weir_json *b = weir_json_first(content); b; b = weir_json_next(b))
        weir_buf_append_slice(out, weir_json_text(weir_json_get_str(b, "text")));
}

struct listing {
    struct weir_slice prefix;
    struct weir_json_doc *memory;
    message_fn each;
    void *user;
    bool is_over;
};

static enum weir_status list_message(void *user, const struct doc *doc)
{
    struct listing *l = user;
    const struct weir_json *json;
    if (doc->id.len < l->prefix.len || memcmp(doc->id.ptr, l->prefix.ptr, l->prefix.len) != 0) {
        l->is_over = true;
        return WEIR_LIMIT;
    }
    unsigned n = 0;
    for (size_t i = l->prefix.len; i < doc->id.len; i++)
        n = 10 * n + (unsigned)(doc->id.ptr[i] - '0') % 10;
    weir_json_doc_reset(l->memory);
    enum weir_status st = weir_json_parse(l->memory, doc->body, &json, NULL);
    if (st != WEIR_OK) return st == WEIR_NOMEM ? st : WEIR_CORRUPT;
    return l->each(l->user, n, json);
}

enum weir_status messages_each(struct store *store, struct weir_slice conversation, unsigned from,
                               message_fn each, void *user)
{
    char after[MESSAGE_ID_BYTES], prefix[MESSAGE_ID_BYTES];
    struct doc_key first = message_key(after, conversation, from > 0 ? from - 1 : 0);
    int len = snprintf(prefix, sizeof prefix, "%.*s/", (int)conversation.len, conversation.ptr);
    struct listing l = {.prefix = slice_of(prefix, (size_t)len), .each = each, .user = user};
    const struct doc_query query = {
        .kind = first.kind, .after = from > 0 ? first.id : l.prefix, .limit = SIZE_MAX};
    l.memory = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!l.memory) return WEIR_NOMEM;
    enum weir_status st = store_doc_list(store, &query, list_message, &l);
    weir_json_doc_free(l.memory);
    return l.is_over ? WEIR_OK : st;
}
