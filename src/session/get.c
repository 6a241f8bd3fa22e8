/* SPDX-License-Identifier: Apache-2.0 */
/* sessions/get: a session with its messages, what waits, and where its stream goes on from there.
 */
#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "session/session_impl.h"

enum {
    SHOWN_BYTES = 16 << 20, /* of messages; the oldest are left out */
    WAITING_BYTES = 4096,   /* of a text that waits: its beginning */
    QUEUE_BYTES = 2 << 20,
};

struct get_call {
    struct weir_slice id;
    struct weir_buf session, messages;
    struct weir_buf one;      /* a message as it is shown, to be measured */
    uint64_t n_bytes, n_left; /* of all messages; of those that were left out */
    uint64_t n_messages_left;
    uint64_t since; /* the stream has what is behind this event, and is not among the messages */
    struct weir_buf queue;
};

enum weir_status session_get_check(struct session_call *c)
{
    struct get_call *g = arena_alloc(&c->arena, sizeof *g);
    if (!g) return WEIR_NOMEM;
    *g = (struct get_call){0};
    weir_buf_init(&g->session, SESSION_DOC_BYTES);
    weir_buf_init(&g->messages, 2 * SHOWN_BYTES);
    weir_buf_init(&g->one, SHOWN_BYTES);
    weir_buf_init(&g->queue, QUEUE_BYTES);
    c->data = g;
    return call_session_id(c, &g->id);
}

static void put_message(struct weir_buf *out, struct weir_slice session, const char *id,
                        const struct weir_json *message)
{
    weir_json_put_begin_object(out);
    member_string(out, "id", weir_slice_of(id));
    member_string(out, "sessionId", session);
    for (const struct weir_json *v = weir_json_first(message); v; v = weir_json_next(v)) {
        struct weir_slice name = weir_json_key(v);
        weir_json_put_key_slice(out, weir_slice_is(name, "at") ? SLICE("timestamp") : name);
        weir_json_put_value(out, v);
    }
    weir_json_put_end_object(out);
}

/* Escapes can make six bytes of one, so it is written to be measured. */
static enum weir_status write_one(struct get_call *g, struct weir_slice turn, unsigned n,
                                  const struct weir_json *message)
{
    char id[SESSION_MESSAGE_ID_BYTES];
    session_message_id(id, turn, n);
    weir_buf_reset(&g->one);
    put_message(&g->one, g->id, id, message);
    return weir_buf_status(&g->one);
}

static enum weir_status measure(void *user, struct weir_slice turn, unsigned n,
                                const struct weir_json *message)
{
    struct get_call *g = user;
    enum weir_status st = write_one(g, turn, n, message);
    g->n_bytes += g->one.len;
    return st;
}

static enum weir_status show_message(void *user, struct weir_slice turn, unsigned n,
                                     const struct weir_json *message)
{
    struct get_call *g = user;
    enum weir_status st = write_one(g, turn, n, message);
    if (st != WEIR_OK) return st;
    if (g->n_bytes > g->n_left + SHOWN_BYTES) {
        g->n_left += g->one.len;
        g->n_messages_left++;
        return WEIR_OK;
    }
    if (g->messages.len > 1) weir_buf_append_char(&g->messages, ',');
    weir_buf_append_slice(&g->messages, weir_buf_slice(&g->one));
    return weir_buf_status(&g->messages);
}

static enum weir_status show_messages(struct get_call *g, struct store *store)
{
    weir_json_put_begin_array(&g->messages);
    enum weir_status st = session_messages_each(store, g->id, measure, g);
    if (st == WEIR_OK) st = session_messages_each(store, g->id, show_message, g);
    weir_json_put_end_array(&g->messages);
    return st == WEIR_OK ? weir_buf_status(&g->messages) : st;
}

/* ---- what waits ---- */

static struct weir_slice beginning(struct weir_slice text)
{
    if (text.len <= WAITING_BYTES) return text;
    return slice_of(text.ptr, utf8_valid_prefix(slice_of(text.ptr, WAITING_BYTES)));
}

static enum weir_status show_waiting(struct get_call *g, struct store *store,
                                     struct weir_slice turn)
{
    struct session_doc doc;
    struct session_turn t;
    char at[CLOCK_TEXT_BYTES];
    enum weir_status st = session_doc_get(store, session_turn_key(turn), &doc);
    if (st == WEIR_OK && !session_turn_read(doc.json, &t)) st = WEIR_CORRUPT;
    if (st == WEIR_OK) {
        clock_format(at, t.created_ms);
        weir_json_put_begin_object(&g->queue);
        member_string(&g->queue, "turnId", turn);
        member_string(&g->queue, "text", beginning(t.text));
        member_string(&g->queue, "createdAt", weir_slice_of(at));
        weir_json_put_end_object(&g->queue);
    }
    session_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static enum weir_status show_queue(struct get_call *g, struct store *store, const struct session *v)
{
    enum weir_status st = WEIR_OK;
    weir_json_put_begin_array(&g->queue);
    for (unsigned i = 0; st == WEIR_OK && i < v->n_queue; i++)
        st = show_waiting(g, store, v->queue[i]);
    weir_json_put_end_array(&g->queue);
    return st == WEIR_OK ? weir_buf_status(&g->queue) : st;
}

/* ---- where a reader of the stream goes on ---- */

static enum weir_status newest_event(struct store *store, struct weir_slice id, uint64_t *out)
{
    char name[SESSION_LOG_BYTES];
    struct log_read read;
    store_read(store, session_log(name, id), 1, 0, &read);
    *out = read.state.last;
    return read.status == WEIR_NOT_FOUND ? WEIR_OK : read.status;
}

/* Of a turn that runs, all of it: its input says what the newest event before it was. */
static enum weir_status find_since(struct get_call *g, struct store *store, const struct session *v)
{
    struct session_doc doc;
    int64_t from = 0;
    if (v->running.len == 0) return WEIR_OK;
    const struct doc_key key = {SLICE("run-input"), v->running};
    enum weir_status st = session_doc_get(store, key, &doc);
    if (st == WEIR_OK && weir_json_int64(weir_json_get_str(doc.json, "from"), &from) && from >= 0)
        g->since = (uint64_t)from;
    session_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

/*
 * The newest event is looked up before the session and its messages: what happens meanwhile is read
 * twice then, which messages' ids tell, and never missed.
 */
enum weir_status session_get_prepare(struct session_call *c)
{
    struct get_call *g = c->data;
    struct session_doc doc = {0};
    struct session v;
    struct store *store = c->sessions->store;
    if (!session_is_id(g->id)) return WEIR_NOT_FOUND;
    enum weir_status st = newest_event(store, g->id, &g->since);
    if (st == WEIR_OK) st = session_find(store, weir_slice_of(c->owner), g->id, &doc, &v);
    if (st == WEIR_OK) st = find_since(g, store, &v);
    if (st == WEIR_OK) st = show_queue(g, store, &v);
    if (st == WEIR_OK) {
        session_show(&g->session, &v);
        st = weir_buf_status(&g->session);
    }
    if (st == WEIR_OK) st = show_messages(g, store);
    session_doc_fini(&doc);
    return st;
}

void session_get_put(struct session_call *c, struct weir_buf *out)
{
    const struct get_call *g = c->data;
    weir_buf_append_str(out, "{\"session\":");
    weir_buf_append_slice(out, weir_buf_slice(&g->session));
    weir_buf_append_str(out, ",\"messages\":");
    weir_buf_append_slice(out, weir_buf_slice(&g->messages));
    if (g->n_messages_left > 0)
        weir_buf_printf(out, ",\"leftOut\":%llu", (unsigned long long)g->n_messages_left);
    weir_buf_append_str(out, ",\"queue\":");
    weir_buf_append_slice(out, weir_buf_slice(&g->queue));
    weir_buf_printf(out, ",\"seq\":%llu}", (unsigned long long)g->since);
}

void session_get_fini(struct session_call *c)
{
    struct get_call *g = c->data;
    if (!g) return;
    weir_buf_fini(&g->session);
    weir_buf_fini(&g->messages);
    weir_buf_fini(&g->one);
    weir_buf_fini(&g->queue);
}
