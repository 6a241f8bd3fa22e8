/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET and HEAD of the Durable Streams protocol. What the stream is, is asked of the store first,
 * by one of its threads; then the log is watched like any other (feed.c), in a style:
 *
 *   catch-up    the body is all there is from the offset on: a JSON array, text, or bytes
 *   long poll   the same, but not before there is something, or 204 after a while
 *   SSE         "data" events, each followed by a "control" event that says where it ends
 *
 * A reader owns nothing but its cursor, however much it has to read.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"
#include "io/loop.h"
#include "serve/ds.h"
#include "stream/frame.h"

enum { CURSOR_BYTES = 20, ETAG_BYTES = 128, HEARTBEAT_MS = 15000, LEAST_BEAT_MS = 500 };

enum live { LIVE_NONE, LIVE_POLL, LIVE_SSE };

/* A request, until it is answered. */
struct reading {
    struct exchange *ex;
    struct store *store;
    struct loop *loop;
    struct post post;
    struct weir_slice name;
    struct offset offset;
    enum live live;
    int64_t now_ms;
    bool is_head;
    bool is_public; /* nobody had to show a key */
    struct weir_slice client_cursor;
    struct weir_slice if_none_match;
    struct stream_found found;
    char type[STREAM_TYPE_BYTES + 1];
    enum stream_format format;
    uint64_t start; /* id of the last event before what is sent */
};

/* ---- what was asked ---- */

/* False when it was answered with an error. */
static bool take_offset(struct exchange *ex, struct reading *r)
{
    struct weir_slice text;
    r->offset.kind = OFFSET_START;
    bool has_offset = exchange_query(ex, "offset", &text);
    if (exchange_query_count(ex, "offset") > 1) {
        exchange_error(ex, WEIR_BAD_FIELD, "There is more than one offset");
        return false;
    }
    if (has_offset && !offset_parse(text, &r->offset)) {
        exchange_error(ex, WEIR_BAD_FIELD,
                       "That is no offset: take one that an answer gave, "
                       "-1 for the beginning or now for the end");
        return false;
    }
    if (has_offset || r->live == LIVE_NONE) return true;
    exchange_error(ex, WEIR_BAD_FIELD, "A live read needs an offset");
    return false;
}

static bool take_live(struct exchange *ex, struct reading *r)
{
    struct weir_slice live;
    if (!exchange_query(ex, "live", &live)) return true;
    if (weir_slice_is(live, "long-poll")) r->live = LIVE_POLL;
    else if (weir_slice_is(live, "sse")) r->live = LIVE_SSE;
    else {
        exchange_error(ex, WEIR_BAD_FIELD, "live is long-poll or sse");
        return false;
    }
    return true;
}

/* ---- fields ---- */

static uint64_t next_cursor(const struct reading *r)
{
    uint64_t chance = 0;
    random_bytes(&chance, sizeof chance);
    return cursor_after(r->client_cursor, r->now_ms, chance);
}

static void put_up_to_date(struct exchange *ex, const struct log_state *log)
{
    exchange_field(ex, "Stream-Up-To-Date", SLICE("true"));
    if (log->is_sealed) ds_closed_field(ex);
}

static struct weir_slice write_etag(char out[ETAG_BYTES], const struct reading *r,
                                    const struct log_state *log)
{
    int len = snprintf(out, ETAG_BYTES, "\"%llu-%llu-%llu%s\"", (unsigned long long)log->log_id,
                       (unsigned long long)r->start, (unsigned long long)log->last,
                       log->is_sealed ? "-c" : "");
    return slice_of(out, (size_t)len);
}

/* What is closed never changes; all else is to be asked for again. */
static void put_caching(struct exchange *ex, const struct reading *r, const struct log_state *log)
{
    if (!log->is_sealed) exchange_field(ex, "Cache-Control", SLICE("no-cache"));
    else if (r->found.record.ttl_s >= 0 || r->found.record.expires.len > 0)
        exchange_field(ex, "Cache-Control", SLICE("private, max-age=60"));
    else if (r->is_public)
        exchange_field(ex, "Cache-Control", SLICE("public, max-age=31536000, immutable"));
    else exchange_field(ex, "Cache-Control", SLICE("private, max-age=31536000, immutable"));
}

/* ---- bodies ---- */

static void answer_nothing(struct exchange *ex, const struct reading *r)
{
    exchange_text(ex, 200, r->type, r->format == STREAM_JSON ? SLICE("[]") : slice_of("", 0));
}

/* Nothing came, or nothing can come any more. */
static void answer_poll_in_vain(struct exchange *ex, const struct reading *r,
                                const struct log_state *log)
{
    ds_offset_field(ex, log->last);
    ds_number_field(ex, "Stream-Cursor", next_cursor(r));
    put_up_to_date(ex, log);
    exchange_field(ex, "Cache-Control", SLICE("no-store"));
    exchange_empty(ex, 204);
}

/* False when it was answered with an error: it is not what was found, or not so long. */
static bool is_as_found(struct exchange *ex, const struct feed_start *start)
{
    const struct reading *r = exchange_data(ex);
    if (start->log.log_id != r->found.log.log_id) {
        exchange_error(ex, WEIR_NOT_FOUND, "The stream was deleted and made again meanwhile");
        return false;
    }
    if (start->from <= start->log.last + 1) return true;
    exchange_error(ex, WEIR_BAD_FIELD, "The offset is beyond the end of the stream");
    return false;
}

static void begin_body(struct exchange *ex, const struct feed_start *start)
{
    struct reading *r = exchange_data(ex);
    const struct log_state *log = &start->log;
    char tag[ETAG_BYTES];
    if (!is_as_found(ex, start)) return;
    bool is_empty = start->from > log->last;
    r->start = start->from - 1;
    if (r->live == LIVE_POLL && is_empty) {
        answer_poll_in_vain(ex, r, log);
        return;
    }
    struct weir_slice etag = write_etag(tag, r, log);
    exchange_field(ex, "ETag", etag);
    put_caching(ex, r, log);
    if (resource_has_tag(r->if_none_match, etag)) {
        exchange_empty(ex, 304);
        return;
    }
    ds_offset_field(ex, log->last);
    put_up_to_date(ex, log);
    if (r->live == LIVE_POLL) ds_number_field(ex, "Stream-Cursor", next_cursor(r));
    if (is_empty) answer_nothing(ex, r);
    else exchange_stream(ex, &(struct stream_head){r->type, 0, (unsigned char)r->format});
}

static void write_body(struct weir_buf *out, const struct feed_piece_info *piece,
                       struct weir_slice events, unsigned part)
{
    unsigned parts = 0;
    if (piece->is_first && (part & FEED_PART_FIRST) != 0) parts |= BODY_FIRST;
    if (piece->is_last && (part & FEED_PART_LAST) != 0) parts |= BODY_LAST;
    body_write(out, (enum stream_format)piece->format, events, piece->last, parts);
}

static const struct feed_style body_style = {.begin = begin_body, .write = write_body};

/* ---- keeping alive ---- */

struct note {
    struct stream_touch touch;
    struct commit *commit;
    char name[STREAM_NAME_BYTES];
};

static void free_note(void *note, const struct commit_result *result)
{
    struct note *n = note;
    (void)result; /* somebody else may have been here, or it is gone */
    commit_free(n->commit);
    mem_free(n);
}

/* A read keeps a stream alive. Nobody waits for that. */
static void touch(struct store *store, struct weir_slice name, int64_t now_ms)
{
    struct note *n = mem_zalloc(sizeof *n);
    if (!n) return;
    n->commit = commit_new(RECORD_BYTES);
    memcpy(n->name, name.ptr, name.len);
    n->touch = (struct stream_touch){slice_of(n->name, name.len), now_ms};
    if (!n->commit) {
        mem_free(n);
        return;
    }
    stream_touch_commit(n->commit, &n->touch);
    store_commit(store, n->commit, free_note, n);
}

static void touch_watched(struct server *s, struct weir_slice log, int64_t now_ms)
{
    touch(server_store(s), stream_name_of_log(log), now_ms);
}

/* ---- server-sent events ---- */

static void begin_sse(struct exchange *ex, const struct feed_start *start)
{
    struct reading *r = exchange_data(ex);
    if (!is_as_found(ex, start)) return;
    if (r->format == STREAM_BYTES) exchange_field(ex, "Stream-SSE-Data-Encoding", SLICE("base64"));
    exchange_field(ex, "Cache-Control", SLICE("no-cache"));
    exchange_field(ex, "X-Accel-Buffering", SLICE("no"));
    exchange_stream(
        ex, &(struct stream_head){"text/event-stream", next_cursor(r), (unsigned char)r->format});
}

static void put_control(struct weir_buf *out, const struct feed_piece_info *piece, uint64_t last,
                        bool is_newest, bool is_closed)
{
    char offset[OFFSET_BYTES];
    char cursor[CURSOR_BYTES + 1];
    offset_format(last, offset);
    weir_buf_append_str(out, "event: control\ndata:{\"streamNextOffset\":\"");
    weir_buf_append(out, offset, sizeof offset);
    weir_buf_append_char(out, '"');
    if (is_closed) {
        weir_buf_append_str(out, ",\"streamClosed\":true");
    } else {
        int len = snprintf(cursor, sizeof cursor, "%llu", (unsigned long long)piece->cursor);
        weir_buf_append_str(out, ",\"streamCursor\":\"");
        weir_buf_append(out, cursor, (size_t)len);
        weir_buf_append_char(out, '"');
        if (is_newest) weir_buf_append_str(out, ",\"upToDate\":true");
    }
    weir_buf_append_str(out, "}\n\n");
}

static void put_sse_hello(struct weir_buf *out, const struct feed_piece_info *piece)
{
    put_control(out, piece, piece->last, true, false);
}

static void put_sse_end(struct weir_buf *out, const struct feed_piece_info *piece)
{
    put_control(out, piece, piece->last, true, true);
}

/* Several values are one event: an array. */
static void write_sse_json(struct weir_buf *out, const struct feed_piece_info *piece,
                           struct weir_slice events, unsigned part)
{
    unsigned parts = 0;
    if ((part & FEED_PART_FIRST) != 0) {
        weir_buf_append_str(out, "event: data\ndata:");
        parts |= BODY_FIRST;
    }
    if ((part & FEED_PART_LAST) != 0) parts |= BODY_LAST;
    body_write(out, STREAM_JSON, events, piece->last, parts);
    if ((part & FEED_PART_LAST) == 0) return;
    weir_buf_append_str(out, "\n\n");
    put_control(out, piece, piece->last, piece->is_newest, piece->is_sealed);
}

static void write_sse(struct weir_buf *out, const struct feed_piece_info *piece,
                      struct weir_slice events, unsigned part)
{
    struct frame frame;
    if (piece->format == STREAM_JSON) {
        write_sse_json(out, piece, events, part);
        return;
    }
    while (frame_next(&events, &frame) && frame.id <= piece->last) {
        bool is_end = frame.id == piece->last;
        weir_buf_append_str(out, "event: data\n");
        frame_write_sse(out, (enum stream_format)piece->format, &frame);
        weir_buf_append_char(out, '\n');
        put_control(out, piece, frame.id, is_end && piece->is_newest, is_end && piece->is_sealed);
    }
}

static const struct feed_style sse_style = {
    .begin = begin_sse,
    .write = write_sse,
    .hello = put_sse_hello,
    .end = put_sse_end,
    .beat = touch_watched,
};

/* ---- the way ---- */

/* False when there is nothing to read, which was answered. */
static bool is_there(struct exchange *ex, struct reading *r)
{
    const struct stream_found *f = &r->found;
    if (f->status == WEIR_OK && !f->record.is_gone) return true;
    if (f->status == WEIR_OK) exchange_error(ex, WEIR_GONE, "The stream was deleted");
    else if (f->status == WEIR_NOT_FOUND)
        exchange_error(ex, WEIR_NOT_FOUND, "There is no such stream");
    else resource_store_error(ex, f->status);
    return false;
}

static void answer_head(struct exchange *ex, const struct reading *r)
{
    const struct stream_record *record = &r->found.record;
    char tag[ETAG_BYTES];
    ds_offset_field(ex, r->found.log.last);
    exchange_field(ex, "Cache-Control", SLICE("no-store"));
    exchange_field(ex, "ETag", write_etag(tag, r, &r->found.log));
    if (record->is_closed) ds_closed_field(ex);
    if (record->ttl_s >= 0) ds_number_field(ex, "Stream-TTL", (uint64_t)record->ttl_s);
    if (record->expires.len > 0) exchange_field(ex, "Stream-Expires-At", record->expires);
    exchange_text(ex, 200, r->type, slice_of("", 0));
}

static void answer_now(struct exchange *ex, const struct reading *r)
{
    ds_offset_field(ex, r->found.log.last);
    put_up_to_date(ex, &r->found.log);
    exchange_field(ex, "Cache-Control", SLICE("no-store"));
    answer_nothing(ex, r);
}

/* Twice in the time that the stream has, for each beat says that somebody reads it. */
static unsigned beat_ms(const struct stream_record *record)
{
    bool is_short = record->ttl_s >= 0 && record->ttl_s < 2 * HEARTBEAT_MS / 1000;
    unsigned half_ms = is_short ? (unsigned)record->ttl_s * 500 : HEARTBEAT_MS;
    return half_ms > LEAST_BEAT_MS ? half_ms : LEAST_BEAT_MS;
}

static void start_watch(struct exchange *ex, struct reading *r)
{
    struct stream_log_text log;
    struct watch_options how = {.style = r->live == LIVE_SSE ? &sse_style : &body_style};
    how.from = r->offset.kind == OFFSET_NOW  ? SUB_FROM_LATEST
               : r->offset.kind == OFFSET_AT ? r->offset.id + 1
                                             : 1;
    how.waits = r->live == LIVE_POLL;
    how.ends_at_newest = r->live != LIVE_SSE;
    how.heartbeat_ms = r->live == LIVE_SSE ? beat_ms(&r->found.record) : 0;
    exchange_set_data(ex, r);
    exchange_watch(ex, stream_log_name(&log, r->name), &how);
}

static void stream_was_found(struct post *post)
{
    struct reading *r = CONTAINER_OF(post, struct reading, post);
    struct exchange *ex = r->ex;
    struct weir_slice type = r->found.record.type;
    struct doc doc = r->found.doc; /* what is in `r` is gone with the answer, if nobody waits */
    if (is_there(ex, r)) {
        size_t len = type.len < sizeof r->type ? type.len : sizeof r->type - 1;
        memcpy(r->type, type.ptr, len);
        r->format = media_format(media_essence(type));
        if (r->is_head) answer_head(ex, r);
        else if (r->offset.kind == OFFSET_BEYOND)
            exchange_error(ex, WEIR_BAD_FIELD, "The offset is beyond the end of the stream");
        else {
            if (record_wants_touch(&r->found.record, r->now_ms))
                touch(r->store, r->name, r->now_ms);
            if (r->offset.kind == OFFSET_NOW && r->live == LIVE_NONE) answer_now(ex, r);
            else start_watch(ex, r);
        }
    }
    /* The record's words were in there; the styles have no need for them. */
    doc_fini(&doc);
}

/* By a thread of the store's. */
static void find_stream(void *reading)
{
    struct reading *r = reading;
    stream_find(r->store, r->name, r->now_ms, &r->found);
    loop_post(r->loop, &r->post);
}

static void ask(struct exchange *ex, struct reading *r)
{
    r->ex = ex;
    r->store = server_store(exchange_server(ex));
    r->loop = worker_loop(exchange_worker(ex));
    r->post.run = stream_was_found;
    r->now_ms = exchange_wall_ms(ex);
    r->is_public = exchange_is_public(ex);
    if (store_later(r->store, find_stream, r) != WEIR_OK) resource_store_error(ex, WEIR_NOMEM);
}

static struct reading *new_reading(struct exchange *ex)
{
    struct weir_slice name;
    if (!ds_name(ex, &name)) return NULL;
    struct reading *r = exchange_alloc(ex, sizeof *r);
    if (!r) {
        resource_store_error(ex, WEIR_NOMEM);
        return NULL;
    }
    *r = (struct reading){.name = name};
    /* Whoever may write says what kind it is, HTML too: it must not run beside the page. */
    exchange_field(ex, "Content-Security-Policy", SLICE("default-src 'none'; sandbox"));
    return r;
}

void ds_get(struct exchange *ex)
{
    struct weir_slice text;
    struct reading *r = new_reading(ex);
    if (!r || !take_live(ex, r) || !take_offset(ex, r)) return;
    if (exchange_query(ex, "cursor", &text)) r->client_cursor = text;
    if (http_find(exchange_head(ex), "if-none-match", &text)) r->if_none_match = text;
    if (ds_keep(ex, &r->client_cursor) && ds_keep(ex, &r->if_none_match)) ask(ex, r);
}

void ds_head(struct exchange *ex)
{
    struct reading *r = new_reading(ex);
    if (!r) return;
    r->is_head = true;
    ask(ex, r);
}
