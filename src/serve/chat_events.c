/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reply as an event stream. What the log has is written with the values that its placeholders
 * stand for, event by event:
 *
 *   kept   id: 7                       sent   id: msg_01J…:7
 *          event: token                       event: token
 *          data: {"text":"[email_1]"}         data: {"text":"ann@example.org"}
 *
 * A placeholder keeps its value for as long as there is a map, so that whoever reads an event
 * again reads the same bytes. A reader counts as one from here until its connection is gone,
 * whatever becomes of the request.
 */
#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "serve/chat_impl.h"
#include "stream/frame.h"

enum {
    HEARTBEAT_MS = 15 * 1000, /* a decision may take longer than proxies wait */
    EVENT_ID_BYTES = CHAT_MESSAGE_LEN + 24,
    LOOK_BACK = 50, /* conversations among which the newest reply is looked for */
    LIST_BYTES = 256 << 10,
    LIST_VALUES_BYTES = 4 << 20,
};

/* ---- readers ---- */

/* What restores a reply's events stays the same for all parts of a piece. */
struct chat_reader {
    struct chats *chats;
    const struct guard *guard; /* NULL: there is nothing to restore */
    uint64_t last;             /* of the piece that it was asked for */
    char message[CHAT_MESSAGE_LEN + 1];
};

/* By a thread of the store's: the map may have to be read. NULL: no memory. */
static struct chat_reader *reader_new(struct chats *chats, const char *message)
{
    struct chat_reader *r = mem_zalloc(sizeof *r);
    if (!r) return NULL;
    r->chats = chats;
    memcpy(r->message, message, sizeof r->message);
    chats_readers(chats, weir_slice_of(r->message), 1);
    r->guard = chats_guard(chats, weir_slice_of(r->message));
    return r;
}

static void reader_free(void *reader)
{
    struct chat_reader *r = reader;
    chats_guard_release(r->chats, r->guard);
    chats_readers(r->chats, weir_slice_of(r->message), -1);
    mem_free(r);
}

/* Another piece may have placeholders that the old guard has never seen. That is in memory. */
static void look_at_piece(struct chat_reader *r, uint64_t last)
{
    if (!r->guard || r->last == last) return;
    const struct guard *newer = chats_guard_again(r->chats, weir_slice_of(r->message));
    chats_guard_release(r->chats, r->guard);
    r->guard = newer;
    r->last = last;
}

/* ---- the style ---- */

static void begin(struct exchange *ex, const struct feed_start *start)
{
    const struct chat_attach *a = exchange_data(ex);
    if (a->how.has_last_id && start->log.is_sealed && start->from > start->log.last) {
        exchange_empty(ex, 204);
        return;
    }
    exchange_field(ex, "Cache-Control", SLICE("no-cache"));
    exchange_field(ex, "X-Accel-Buffering", SLICE("no"));
    exchange_stream(ex, &(struct stream_head){.media_type = "text/event-stream"});
}

/* What follows a field's name on the first line of `lines`; false: it is another field. */
static bool take_line(struct weir_slice *lines, const char *field, struct weir_slice *value)
{
    size_t field_len = strlen(field);
    const char *end = lines->len > 0 ? memchr(lines->ptr, '\n', lines->len) : NULL;
    if (!end || lines->len < field_len || memcmp(lines->ptr, field, field_len) != 0) return false;
    size_t len = (size_t)(end - lines->ptr);
    *value = slice_of(lines->ptr + field_len, len - field_len);
    *lines = slice_from(*lines, len + 1);
    return true;
}

static void write_event(struct weir_buf *out, const struct chat_reader *r, const struct frame *e)
{
    char id[EVENT_ID_BYTES];
    struct weir_slice lines = e->lines;
    struct weir_slice type = {0}, json;
    int len =
        snprintf(id, sizeof id, "id: %s:%llu\nevent: ", r->message, (unsigned long long)e->id);
    /* The engine writes both of every event. */
    bool is_whole = take_line(&lines, "event: ", &type) && take_line(&lines, "data: ", &json);
    weir_buf_append(out, id, (size_t)len);
    weir_buf_append_slice(out, type);
    weir_buf_append_str(out, "\ndata: ");
    enum weir_status st = is_whole ? chat_restore_event(r->guard, type, json, out) : WEIR_CORRUPT;
    weir_buf_append_str(out, "\n\n");
    /* Half an event is none: the connection is cut. */
    if (st != WEIR_OK && out->status == WEIR_OK) out->status = st;
}

static void write_piece(struct weir_buf *out, const struct feed_piece_info *piece,
                        struct weir_slice events, unsigned part)
{
    struct frame e;
    struct chat_reader *r = piece->user;
    if ((part & FEED_PART_FIRST) != 0) look_at_piece(r, piece->last);
    while (frame_next(&events, &e) && e.id <= piece->last) write_event(out, r, &e);
}

static const struct feed_style style = {
    .begin = begin, .write = write_piece, .closed = reader_free};

/* ---- finding it ---- */

/* Of a list, the id of the one that was changed last; times are texts that sort. */
static struct weir_slice newest_of(const struct weir_json *list)
{
    struct weir_slice id = {0}, newest = {0};
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        struct weir_slice at = weir_json_text(weir_json_get_str(v, "updatedAt"));
        if (newest.len > 0 && (at.len != newest.len || memcmp(at.ptr, newest.ptr, at.len) <= 0))
            continue;
        newest = at;
        id = weir_json_text(weir_json_get_str(v, "id"));
    }
    return id;
}

/* The conversation that somebody had last. */
static enum weir_status find_newest_conversation(struct chat_attach *a)
{
    struct weir_buf json;
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(LIST_VALUES_BYTES);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&json, LIST_BYTES);
    enum weir_status st =
        chats_list(a->chats, weir_slice_of(a->owner), SLICE(""), LOOK_BACK, &json);
    if (st == WEIR_OK) st = weir_json_parse(doc, weir_buf_slice(&json), &v, NULL);
    struct weir_slice id = newest_of(weir_json_get_str(v, "conversations"));
    if (st == WEIR_OK && (id.len == 0 || id.len >= sizeof a->conversation)) st = WEIR_NOT_FOUND;
    if (st == WEIR_OK) memcpy(a->conversation, id.ptr, id.len);
    weir_buf_fini(&json);
    weir_json_doc_free(doc);
    return st;
}

/* Of a conversation that was deleted a reply may still be there, and goes soon. */
static enum weir_status find_reply(struct chat_attach *a)
{
    char newest[CHAT_MESSAGE_LEN + 1];
    struct weir_slice owner = weir_slice_of(a->owner);
    enum weir_status st = chats_reply(a->chats, owner, weir_slice_of(a->message), &a->reply);
    if (st != WEIR_OK) return st;
    return chats_newest(a->chats, owner, weir_slice_of(a->reply.conversation), newest);
}

static enum weir_status find_newest(struct chat_attach *a)
{
    enum weir_status st = a->conversation[0] == 0 ? find_newest_conversation(a) : WEIR_OK;
    if (st != WEIR_OK) return st;
    return chats_newest(a->chats, weir_slice_of(a->owner), weir_slice_of(a->conversation),
                        a->message);
}

/* By a thread of the store's. */
static void look_up(void *user)
{
    struct chat_attach *a = user;
    enum weir_status st = a->message[0] == 0 ? find_newest(a) : WEIR_OK;
    if (st == WEIR_OK) st = find_reply(a);
    if (st == WEIR_OK) {
        a->reader = reader_new(a->chats, a->message);
        if (!a->reader) st = WEIR_NOMEM;
    }
    a->status = st;
    loop_post(a->loop, &a->post);
}

void chat_put_ids(struct exchange *ex, const char *message, const char *conversation)
{
    exchange_field(ex, "Weir-Message-Id", weir_slice_of(message));
    exchange_field(ex, "Weir-Conversation-Id", weir_slice_of(conversation));
}

static void refuse_unknown(struct exchange *ex)
{
    exchange_error(ex, WEIR_NOT_FOUND, "there is no such reply");
}

static bool is_expired(struct exchange *ex, const struct chat_reply *reply)
{
    int64_t keep_ms = server_options(exchange_server(ex))->chats.keep_ms;
    if (keep_ms == 0) keep_ms = CHAT_KEEP_MS;
    return reply->has_ended && exchange_wall_ms(ex) >= reply->ended_ms + keep_ms;
}

static void start_watch(struct exchange *ex, struct chat_attach *a)
{
    char log[CHAT_LOG_BYTES];
    const struct server_options *o = server_options(exchange_server(ex));
    a->how.style = &style;
    a->how.user = a->reader;
    a->how.heartbeat_ms = o->turn_heartbeat_ms > 0 ? o->turn_heartbeat_ms : HEARTBEAT_MS;
    chat_put_ids(ex, a->message, a->reply.conversation);
    exchange_set_data(ex, a);
    exchange_watch(ex, chat_log(log, weir_slice_of(a->message)), &a->how);
}

static void was_found(struct post *post)
{
    struct chat_attach *a = CONTAINER_OF(post, struct chat_attach, post);
    struct exchange *ex = a->ex;
    if (a->status == WEIR_OK && !is_expired(ex, &a->reply)) {
        start_watch(ex, a);
        return;
    }
    if (a->reader) reader_free(a->reader);
    if (a->status == WEIR_OK)
        exchange_error(ex, WEIR_GONE, "the events of this reply are kept no more");
    else if (a->status == WEIR_NOT_FOUND) refuse_unknown(ex);
    else resource_store_error(ex, a->status);
}

void chat_attach_init(struct chat_attach *a, struct exchange *ex)
{
    struct weir_slice owner = resource_owner(ex);
    *a = (struct chat_attach){.ex = ex,
                              .post = {.run = was_found},
                              .loop = worker_loop(exchange_worker(ex)),
                              .chats = server_chats(exchange_server(ex)),
                              .how = {.from = 1}};
    memcpy(a->owner, owner.ptr, owner.len);
}

void chat_attach(struct chat_attach *a)
{
    if (store_later(server_store(exchange_server(a->ex)), look_up, a) != WEIR_OK)
        resource_store_error(a->ex, WEIR_NOMEM);
}

/* ---- what is asked ---- */

/* "msg_…:42", of which the first part may be anything that is no message. */
static bool read_event_id(struct weir_slice text, struct weir_slice *message, uint64_t *n)
{
    const char *colon = memrchr(text.ptr, ':', text.len);
    if (!colon || colon == text.ptr) return false;
    *message = slice_of(text.ptr, (size_t)(colon - text.ptr));
    return resource_parse_id(slice_from(text, message->len + 1), n);
}

int chat_take_last_id(struct exchange *ex, struct chat_attach *a)
{
    struct weir_slice value, message;
    uint64_t n;
    bool is_there = http_find(exchange_head(ex), "last-event-id", &value) && value.len > 0;
    if (!is_there) is_there = exchange_query(ex, "last_event_id", &value) && value.len > 0;
    if (!is_there) return 0;
    if (!read_event_id(value, &message, &n)) {
        exchange_error(ex, WEIR_BAD_FIELD,
                       "Last-Event-ID has to be the id of an event, as msg_01J…:42");
        return -1;
    }
    if (!chat_is_message(message)) {
        refuse_unknown(ex);
        return -1;
    }
    memcpy(a->message, message.ptr, message.len);
    a->how.from = n + 1;
    a->how.has_last_id = true;
    return 1;
}

void chat_get(struct exchange *ex)
{
    struct weir_slice id;
    struct chat_attach *a = exchange_alloc(ex, sizeof *a);
    if (!a) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    chat_attach_init(a, ex);
    int has_last = chat_take_last_id(ex, a);
    if (has_last < 0) return;
    if (has_last == 0 && exchange_query(ex, "conversationId", &id)) {
        if (!chat_is_conversation(id)) {
            refuse_unknown(ex);
            return;
        }
        memcpy(a->conversation, id.ptr, id.len);
    }
    chat_attach(a);
}
