/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at conversations: one with its messages, lists of them, and a question that is open. */
#include "base/slice.h"
#include "chat/chat_impl.h"
#include "codec/json_member.h"

enum {
    TITLE_BYTES = 120,
    LISTED_BYTES = 16 << 10, /* of one in a list */
};

/* ---- one ---- */

static struct weir_slice first_line(struct weir_slice text)
{
    size_t from = 0, to;
    while (from < text.len && (unsigned char)text.ptr[from] <= ' ') from++;
    for (to = from; to < text.len && text.ptr[to] != '\n' && text.ptr[to] != '\r';) to++;
    return slice_of(text.ptr + from, to - from);
}

/* The first line of what the user said first, by its beginning. */
static enum weir_status take_title(void *user, unsigned n, const struct weir_json *message)
{
    struct weir_buf *title = user;
    struct weir_buf text;
    (void)n;
    if (!weir_slice_is(weir_json_text(weir_json_get_str(message, "role")), "user")) return WEIR_OK;
    weir_buf_init(&text, CHAT_SHOWN_BYTES);
    message_put_text(&text, weir_json_get_str(message, "content"));
    struct weir_slice line = first_line(weir_buf_slice(&text));
    size_t len = token_cut(line, TITLE_BYTES);
    weir_buf_append_slice(title, slice_of(line.ptr, len));
    if (len < line.len) weir_buf_append_str(title, "…");
    enum weir_status st = weir_buf_status(&text);
    weir_buf_fini(&text);
    return st == WEIR_OK ? WEIR_EXISTS : st;
}

static enum weir_status put_title(struct chats *c, struct weir_buf *out, struct weir_slice id)
{
    struct weir_buf title;
    weir_buf_init(&title, 2 * TITLE_BYTES);
    enum weir_status st = messages_each(c->store, id, 0, take_title, &title);
    if (st == WEIR_EXISTS) st = weir_buf_status(&title);
    member_string(out, "title", weir_buf_slice(&title));
    weir_buf_fini(&title);
    return st;
}

static enum weir_status put_remembered(struct chats *c, struct weir_buf *out, struct weir_slice id)
{
    struct chat_doc doc;
    enum weir_status st = chat_doc_get(c->store, choice_key(id), &doc);
    weir_json_put_key(out, "remembered");
    if (st == WEIR_OK) weir_json_put_value(out, weir_json_get_str(doc.json, "choice"));
    else weir_json_put_null(out);
    chat_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static enum weir_status put_head(struct chats *c, struct weir_buf *out,
                                 const struct conversation *v)
{
    member_string(out, "id", v->id);
    weir_json_put_key(out, "agentId");
    if (v->agent.len > 0) weir_json_put_string(out, v->agent);
    else weir_json_put_null(out);
    member_time(out, "createdAt", v->created_ms);
    member_time(out, "updatedAt", v->updated_ms);
    member_bool(out, "running", v->running.len > 0);
    member_bool(out, "closed", v->is_closed);
    return put_title(c, out, v->id);
}

static enum weir_status put_message(void *user, unsigned n, const struct weir_json *message)
{
    struct weir_buf *out = user;
    (void)n;
    weir_json_put_value(out, message);
    return weir_buf_status(out);
}

/* Everything that is restored has placeholders in it; without a map it stays as it is. */
enum weir_status chats_restored(struct chats *c, struct weir_slice conversation,
                                struct weir_slice json, struct weir_buf *out)
{
    struct guard *g;
    enum weir_status st = values_load(c, conversation, &g);
    if (st != WEIR_OK) return st;
    st = guard_restore(g, json, out);
    guard_free(g);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

enum weir_status chats_conversation(struct chats *c, struct weir_slice owner, struct weir_slice id,
                                    struct weir_buf *out)
{
    struct chat_doc doc;
    struct conversation v;
    struct weir_buf stored;
    weir_buf_init(&stored, CHAT_SHOWN_BYTES);
    enum weir_status st = conversation_find(c, owner, id, &doc, &v);
    if (st == WEIR_OK) {
        weir_json_put_begin_object(&stored);
        st = put_head(c, &stored, &v);
        if (st == WEIR_OK) st = put_remembered(c, &stored, id);
        weir_json_put_key(&stored, "messages");
        weir_json_put_begin_array(&stored);
        if (st == WEIR_OK) st = messages_each(c->store, id, 0, put_message, &stored);
        weir_json_put_end_array(&stored);
        weir_json_put_end_object(&stored);
    }
    if (st == WEIR_OK) st = weir_buf_status(&stored);
    if (st == WEIR_OK) st = chats_restored(c, id, weir_buf_slice(&stored), out);
    weir_buf_fini(&stored);
    chat_doc_fini(&doc);
    return st;
}

struct page {
    struct chats *chats;
    struct weir_slice owner;
    struct weir_buf *out;
    size_t n, limit;
    char last[MADE_ID_BYTES];
    size_t n_last;
    bool has_more;
};

/* Only a title may have placeholders; opening maps of those without would be for nothing. */
static enum weir_status list_one(struct page *p, const struct conversation *v)
{
    struct weir_buf stored, restored;
    weir_buf_init(&stored, LISTED_BYTES);
    weir_buf_init(&restored, LISTED_BYTES);
    weir_json_put_begin_object(&stored);
    enum weir_status st = put_head(p->chats, &stored, v);
    member_int(&stored, "messages", v->n_messages);
    weir_json_put_end_object(&stored);
    struct weir_slice json = weir_buf_slice(&stored);
    if (st == WEIR_OK) st = weir_buf_status(&stored);
    if (st == WEIR_OK && memchr(json.ptr, '[', json.len)) {
        st = chats_restored(p->chats, v->id, json, &restored);
        json = weir_buf_slice(&restored);
    }
    if (st == WEIR_OK) {
        if (p->n > 0) weir_buf_append_char(p->out, ',');
        weir_buf_append_slice(p->out, json);
    }
    weir_buf_fini(&stored);
    weir_buf_fini(&restored);
    return st;
}

static enum weir_status list_conversation(void *user, const struct doc *made)
{
    struct page *p = user;
    struct chat_doc doc;
    struct conversation v;
    if (p->n == p->limit) {
        p->has_more = true;
        return WEIR_LIMIT;
    }
    const char *slash = memchr(made->id.ptr, '/', made->id.len);
    if (!slash || made->id.len >= sizeof p->last) return WEIR_CORRUPT;
    size_t at = (size_t)(slash - made->id.ptr) + 1;
    enum weir_status st = conversation_find(p->chats, p->owner, slice_from(made->id, at), &doc, &v);
    if (st == WEIR_OK) st = list_one(p, &v);
    if (st == WEIR_OK) {
        memcpy(p->last, made->id.ptr, made->id.len);
        p->n_last = made->id.len;
        p->n++;
    }
    chat_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

enum weir_status chats_list(struct chats *c, struct weir_slice owner, struct weir_slice after,
                            size_t limit, struct weir_buf *out)
{
    struct page p = {.chats = c, .owner = owner, .out = out, .limit = limit};
    const struct doc_query query = {.kind = SLICE("conversation_made"),
                                    .owner = owner,
                                    .after = after,
                                    .limit = SIZE_MAX,
                                    .is_falling = true};
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "conversations");
    weir_json_put_begin_array(out);
    enum weir_status st = store_doc_list(c->store, &query, list_conversation, &p);
    weir_json_put_end_array(out);
    weir_json_put_key(out, "next");
    if (p.has_more) weir_json_put_string(out, slice_of(p.last, p.n_last));
    else weir_json_put_null(out);
    weir_json_put_end_object(out);
    if (p.has_more) st = WEIR_OK;
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

/* ---- a question about what is private ---- */

/* Whether the reply that asked it still waits. */
static enum weir_status must_wait(struct chats *c, struct weir_slice owner,
                                  const struct decision *d)
{
    struct chat_doc doc;
    struct conversation v;
    enum weir_status st = conversation_find(c, owner, d->conversation, &doc, &v);
    if (st == WEIR_OK && !slice_eq(v.running, d->message)) st = WEIR_NOT_FOUND;
    chat_doc_fini(&doc);
    return st;
}

enum weir_status chats_question(struct chats *c, struct weir_slice owner, struct weir_slice id,
                                struct weir_buf *out)
{
    struct chat_doc doc = {0};
    struct decision d;
    if (!ulid_is_name(id, "dlp_")) return WEIR_NOT_FOUND;
    enum weir_status st = chat_doc_get(c->store, decision_key(id), &doc);
    if (st == WEIR_OK && !decision_read(doc.json, &d)) st = WEIR_CORRUPT;
    bool is_open = st == WEIR_OK && d.choice == DECISION_OPEN && slice_eq(d.owner, owner) &&
                   clock_wall_ms(c->options.clock) < d.deadline_ms;
    if (st == WEIR_OK && !is_open) st = WEIR_NOT_FOUND;
    if (st == WEIR_OK) st = must_wait(c, owner, &d);
    if (st == WEIR_OK) {
        weir_json_put_begin_object(out);
        member_string(out, "decisionId", id);
        member_string(out, "conversationId", d.conversation);
        member_string(out, "messageId", d.message);
        member_time(out, "deadlineAt", d.deadline_ms);
        weir_json_put_end_object(out);
        st = weir_buf_status(out);
    }
    chat_doc_fini(&doc);
    return st;
}
