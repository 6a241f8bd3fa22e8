/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log as an event stream. The feed owns no bytes: events are asked of the fan-out when they can
 * be written, and asked for again, by the id of the last one, when a write was cut short.
 *
 * A piece is what one write carries: some events as one chunk, a comment line, or the end. With a
 * style (exchange.h) the events are put into another form first, each time anew.
 *
 *   piece  | in HTTP/1.1                       | in HTTP/1.0
 *   -------+-----------------------------------+-----------------
 *   EVENTS | size CRLF events CRLF [0 CRLF CRLF] | events
 *   HELLO  | size CRLF what the style says CRLF | the same
 *   BEAT   | 6 CRLF ": hb" LF LF CRLF          | ": hb" LF LF
 *   END    | 0 CRLF CRLF                       | nothing; close
 *
 * A piece that was begun is finished, byte for byte, or the connection is reset: a reader never
 * takes a part of an event for a whole one.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "serve/resource.h"
#include "serve/worker_impl.h"

static const char end_text[] = "0\r\n\r\n";
static const char beat_text[] = "6\r\n: hb\n\n\r\n";
static const char plain_beat_text[] = ": hb\n\n";

static struct conn *conn_of(struct sub *sub)
{
    struct conn *c = CONTAINER_OF(sub, struct conn, feed.sub);
    CHECK(c->magic == CONN_MAGIC);
    return c;
}

/* A reader that is not reading is told when it reads again, not for each event. */
static void on_ready(struct sub *sub)
{
    struct conn *c = conn_of(sub);
    if (!c->is_blocked) conn_mark_dirty(c);
}

/* ---- opening ---- */

static void tell_closed(struct conn *c)
{
    struct feed_form *form = &c->form;
    if (!form->style || !form->style->closed || !form->user) return;
    void *user = form->user;
    form->user = NULL;
    form->style->closed(user);
}

void feed_open(struct conn *c)
{
    struct exchange *ex = c->first;
    struct feed *f = &c->feed;
    struct watch_order *order = ex->watch;
    *f = (struct feed){.state = FEED_OPENING,
                       .beat_ms = order->how.heartbeat_ms,
                       .ends_at_newest = order->how.ends_at_newest,
                       .has_last_id = order->how.has_last_id,
                       .is_chunked = !ex->is_http_1_0,
                       .has_style = order->how.style != NULL};
    c->form = (struct feed_form){.style = order->how.style, .waits = order->how.waits};
    c->form.user = order->how.user;
    order->how.user = NULL; /* it is the feed's now */
    bool is_exact = f->ends_at_newest || order->how.from == SUB_FROM_LATEST;
    enum weir_status st = WEIR_NOMEM;
    if (order->log.len > 0)
        st = (is_exact ? sub_open_exact : sub_open)(c->worker->fan, &f->sub, order->log,
                                                    order->how.from, on_ready);
    if (st == WEIR_OK) return;
    f->state = FEED_NONE;
    tell_closed(c);
    resource_store_error(ex, st);
}

/* What it needs next is not kept any more. */
static bool is_trimmed(const struct feed *f)
{
    return f->sub.state == SUB_FAILED && f->sub.status == WEIR_NOT_FOUND;
}

static void cut_failed(struct conn *c)
{
    conn_cut(c, is_trimmed(&c->feed) ? CLOSE_LOG_GONE : CLOSE_STORE_FAILED);
}

/* The log's state decides what the reader gets; WEIR_OK: a stream. */
static enum weir_status judge(const struct conn *c, const struct log_state *log, uint64_t from)
{
    const struct feed *f = &c->feed;
    /* It was there a moment ago, and was trimmed: who comes again is told where to begin. */
    if (is_trimmed(f)) return WEIR_BUSY;
    if (f->sub.state == SUB_FAILED) return f->sub.status == WEIR_OK ? WEIR_IO : f->sub.status;
    if (f->sub.state == SUB_GONE) return WEIR_NOT_FOUND;
    if (c->worker->is_stopping) return WEIR_SHUTDOWN;
    if (f->has_last_id && from > log->last + 1) return WEIR_BAD_FIELD;
    return WEIR_OK;
}

static void drop_sub(struct conn *c)
{
    sub_close(&c->feed.sub);
    c->feed.state = FEED_NONE;
    tell_closed(c);
}

static void start_streaming(struct conn *c, struct exchange *ex, uint64_t newest)
{
    struct feed *f = &c->feed;
    uint64_t limit = ex->watch->how.limit;
    f->state = FEED_STREAMING;
    f->until = newest;
    if (limit > 0 && (!f->ends_at_newest || newest - f->sub.next >= limit)) {
        f->until = f->sub.next - 1 + limit;
        f->ends_at_newest = true;
    }
    c->stream_log = exchange_stream_log(ex);
    count(&c->worker->counters, COUNT_WATCHED, 1);
    count(&c->worker->counters, COUNT_SUBSCRIBERS, 1);
    exchange_feed_head(ex);
}

void feed_set_style(struct conn *c, const struct stream_head *head)
{
    if (!c->form.style->closed) c->form.cursor = head->cursor;
    c->form.format = head->format;
}

void feed_time_out(struct conn *c)
{
    c->form.has_timed_out = true;
}

/* Leaves the answer to the style, when there is one to be given. */
static void begin_styled(struct conn *c, struct exchange *ex, const struct log_state *log)
{
    struct feed *f = &c->feed;
    struct feed_form *form = &c->form;
    if (!log->exists) {
        drop_sub(c);
        exchange_error(ex, WEIR_NOT_FOUND, NULL);
        return;
    }
    bool is_beyond = f->sub.next > log->last + 1; /* waiting would not make it any better */
    if (form->waits && f->sub.state == SUB_WAITING && !form->has_timed_out && !is_beyond) {
        f->state = FEED_WAITING;
        return;
    }
    f->until = log->last;
    struct feed_start start = {*log, f->sub.next, form->has_timed_out};
    form->style->begin(ex, &start);
    CHECK(ex->state == EX_ANSWERED);
    if (!ex->is_feed) {
        drop_sub(c);
        return;
    }
    f->state = FEED_STREAMING;
    c->stream_log = exchange_stream_log(ex);
    form->wants_hello = form->style->hello && !log->is_sealed && f->sub.next > log->last;
    count(&c->worker->counters, COUNT_WATCHED, 1);
    count(&c->worker->counters, COUNT_SUBSCRIBERS, 1);
}

void feed_begin(struct conn *c)
{
    struct exchange *ex = c->first;
    struct feed *f = &c->feed;
    CHECK(ex && ex->state == EX_WATCHING);
    uint64_t from = ex->watch->how.from;
    struct log_state log = sub_log(&f->sub);
    enum weir_status st = judge(c, &log, from);
    if (st == WEIR_OK && f->has_style) {
        begin_styled(c, ex, &log);
        return;
    }
    if (st == WEIR_OK && !(f->has_last_id && log.is_sealed && from > log.last)) {
        start_streaming(c, ex, log.last);
        return;
    }
    drop_sub(c);
    if (st == WEIR_OK) exchange_empty(ex, 204);
    else if (st == WEIR_BAD_FIELD)
        exchange_error(ex, st, "The last event id %llu is beyond the newest event, which is %llu",
                       (unsigned long long)(from - 1), (unsigned long long)log.last);
    else resource_store_error(ex, st);
}

/* ---- pieces ---- */

/* Forgets the first n bytes of what was gathered from piece `first` on. */
static void skip(struct gather *g, unsigned first, size_t n)
{
    unsigned i = first;
    g->n_bytes -= n;
    while (i < g->n_iov && n >= g->iov[i].iov_len) n -= g->iov[i++].iov_len;
    if (i < g->n_iov && n > 0) {
        g->iov[i].iov_base = (char *)g->iov[i].iov_base + n;
        g->iov[i].iov_len -= n;
    }
    memmove(g->iov + first, g->iov + i, (g->n_iov - i) * sizeof *g->iov);
    g->n_iov -= i - first;
}

/* Puts the events, which lie in the pieces from `first` + 1 on, into their chunk. */
static void wrap_events(struct feed *f, struct gather *g, unsigned first, unsigned n)
{
    size_t len = 0;
    for (unsigned i = 1; i <= n; i++) len += g->iov[first + i].iov_len;
    g->n_bytes += len;
    if (!f->is_chunked) {
        memmove(g->iov + first, g->iov + first + 1, n * sizeof *g->iov);
        g->n_iov = first + n;
        return;
    }
    size_t head_len = http_chunk_head(g->chunk_head, len);
    g->iov[first] = (struct iovec){g->chunk_head, head_len};
    g->n_bytes += head_len;
    g->n_iov = first + 1 + n;
    gather_add(g, f->is_last ? "\r\n0\r\n\r\n" : "\r\n", f->is_last ? 7 : 2);
}

/* Whether the stream ends behind this event. */
static bool ends_at(const struct feed *f, uint64_t last)
{
    struct log_state log = sub_log(&f->sub);
    return (log.is_sealed && last >= log.last) || (f->ends_at_newest && last >= f->until);
}

static struct feed_piece_info piece_info(const struct conn *c, uint64_t last)
{
    const struct feed *f = &c->feed;
    const struct feed_form *form = &c->form;
    bool has_user = form->style->closed != NULL;
    return (struct feed_piece_info){.user = has_user ? form->user : NULL,
                                    .cursor = has_user ? 0 : form->cursor,
                                    .last = last,
                                    .format = form->format,
                                    .is_first = !f->has_sent,
                                    .is_last = f->is_last,
                                    .is_newest = form->is_newest,
                                    .is_sealed = form->is_sealed};
}

/* In place of what lies in the pieces from `first` + 1 on: what the style makes of it. */
static void restyle(struct conn *c, struct gather *g, unsigned first, unsigned n)
{
    struct weir_buf *out = &c->worker->styled;
    struct feed_piece_info info = piece_info(c, c->feed.last);
    weir_buf_reset(out);
    for (unsigned i = 1; i <= n; i++) {
        const struct iovec *v = &g->iov[first + i];
        unsigned part = (i == 1 ? FEED_PART_FIRST : 0u) | (i == n ? FEED_PART_LAST : 0u);
        c->form.style->write(out, &info, slice_of(v->iov_base, v->iov_len), part);
    }
    if (weir_buf_status(out) != WEIR_OK || out->len == 0) {
        conn_cut(c, CLOSE_NO_MEMORY);
        return;
    }
    g->iov[first + 1] = (struct iovec){out->ptr, out->len};
    wrap_events(&c->feed, g, first, 1);
}

/* What is fixed about a piece when it is begun. */
static void begin_events(struct conn *c, uint64_t last)
{
    struct feed *f = &c->feed;
    struct log_state log = sub_log(&f->sub);
    f->piece = PIECE_EVENTS;
    f->last = last;
    f->is_last = ends_at(f, f->last);
    c->form.is_newest = f->last >= log.last;
    c->form.is_sealed = log.is_sealed && f->last >= log.last;
}

/* Events up to `upto`, or as many as fit. */
static enum sub_state gather_events(struct conn *c, uint64_t upto, struct gather *g)
{
    struct feed *f = &c->feed;
    unsigned first = g->n_iov;
    unsigned n = CONN_MAX_IOV - first - 2; /* the chunk's head and end */
    uint64_t last = 0;
    enum sub_state state = sub_peek(&f->sub, upto, FEED_BLOCK_BYTES, g->iov + first + 1, &n, &last);
    if (state == SUB_READY && f->ends_at_newest && last > f->until) {
        /* More has come than is to be sent. */
        n = CONN_MAX_IOV - first - 2;
        state = sub_peek(&f->sub, f->until, FEED_BLOCK_BYTES, g->iov + first + 1, &n, &last);
        last = f->until;
    }
    if (state != SUB_READY) return state;
    if (upto == 0) begin_events(c, last);
    if (f->has_style) restyle(c, g, first, n);
    else wrap_events(f, g, first, n);
    return state;
}

/* Words of the style's own, as a chunk. */
static void gather_words(struct conn *c, struct gather *g,
                         void (*put)(struct weir_buf *out, const struct feed_piece_info *piece))
{
    struct weir_buf *out = &c->worker->styled;
    struct feed_piece_info info = piece_info(c, c->feed.sub.next - 1);
    weir_buf_reset(out);
    put(out, &info);
    if (weir_buf_status(out) != WEIR_OK || out->len == 0) {
        conn_cut(c, CLOSE_NO_MEMORY);
        return;
    }
    if (c->feed.is_chunked) {
        gather_add(g, g->chunk_head, http_chunk_head(g->chunk_head, out->len));
        gather_add(g, out->ptr, out->len);
        gather_add(g, "\r\n", 2);
    } else {
        gather_add(g, out->ptr, out->len);
    }
}

/* Whether the style has a last word: of a log that is whole, if the last events did not say so. */
static bool has_last_word(const struct conn *c)
{
    const struct feed *f = &c->feed;
    return f->has_style && c->form.style->end && f->sub.state == SUB_END && !f->is_last;
}

/* Its head said where it ends: a reader must not take a part of it for all. */
static bool must_be_whole(const struct conn *c)
{
    return c->feed.has_style && c->feed.ends_at_newest;
}

bool feed_is_answer(const struct conn *c)
{
    enum feed_state state = c->feed.state;
    bool is_sent = state == FEED_STREAMING || (state == FEED_OPENING && !c->form.waits);
    return is_sent && must_be_whole(c);
}

static void gather_text(struct conn *c, struct gather *g)
{
    struct feed *f = &c->feed;
    if (f->piece == PIECE_HELLO) {
        gather_words(c, g, c->form.style->hello);
        return;
    }
    if (f->piece == PIECE_END && has_last_word(c)) gather_words(c, g, c->form.style->end);
    if (c->phase != CONN_OPEN) return;
    if (f->piece == PIECE_END && !f->is_chunked) return;
    if (f->piece == PIECE_END) gather_add(g, end_text, sizeof end_text - 1);
    else if (f->is_chunked) gather_add(g, beat_text, sizeof beat_text - 1);
    else gather_add(g, plain_beat_text, sizeof plain_beat_text - 1);
}

/* The stream is over: what follows on the connection is another answer, or its end. */
static void finish(struct conn *c)
{
    struct feed *f = &c->feed;
    if (!f->is_chunked || f->is_ending) c->is_last = true;
    feed_close(c);
}

static void begin_end(struct conn *c, struct gather *g)
{
    struct feed *f = &c->feed;
    f->piece = PIECE_END;
    if (f->is_chunked || has_last_word(c)) gather_text(c, g);
    else if (g->n_iov == 0) finish(c);
    else f->piece = PIECE_NONE; /* the head goes first; the next time round */
}

/* What to write next, when nothing is under way. */
static void gather_next(struct conn *c, struct gather *g)
{
    struct feed *f = &c->feed;
    bool must_end = f->is_ending && !must_be_whole(c);
    if (must_end || (f->ends_at_newest && f->sub.next > f->until)) {
        begin_end(c, g);
        return;
    }
    switch (gather_events(c, 0, g)) {
    case SUB_READY: f->wants_beat = c->form.wants_hello = false; break;
    case SUB_GONE:
        c->is_last = true;
        c->reason = CLOSE_LOG_GONE;
        if (must_be_whole(c)) conn_cut(c, CLOSE_LOG_GONE);
        else begin_end(c, g);
        break;
    case SUB_END: begin_end(c, g); break;
    case SUB_FAILED: cut_failed(c); break;
    case SUB_OPENING:
    case SUB_WAITING:
    case SUB_FETCH:
        if (!f->wants_beat && !c->form.wants_hello) break;
        f->piece = c->form.wants_hello ? PIECE_HELLO : PIECE_BEAT;
        f->wants_beat = c->form.wants_hello = false;
        gather_text(c, g);
        break;
    }
}

void feed_gather(struct conn *c, struct gather *g)
{
    struct feed *f = &c->feed;
    unsigned first = g->n_iov;
    size_t before = g->n_bytes;
    enum sub_state state = SUB_READY;
    if (f->piece == PIECE_NONE) gather_next(c, g);
    else if (f->piece == PIECE_EVENTS) state = gather_events(c, f->last, g);
    else gather_text(c, g);
    if (state == SUB_GONE || state == SUB_END) conn_cut(c, CLOSE_LOG_GONE);
    if (state == SUB_FAILED) cut_failed(c);
    if (c->phase != CONN_OPEN || g->n_iov == first) return;
    f->len = (uint32_t)(g->n_bytes - before);
    if (f->sent > 0) skip(g, first, f->sent);
}

void feed_written(struct conn *c, size_t n_bytes)
{
    struct feed *f = &c->feed;
    struct counters *counters = &c->worker->counters;
    CHECK(f->piece != PIECE_NONE && n_bytes <= f->len - f->sent);
    f->sent += (uint32_t)n_bytes;
    f->n_bytes += n_bytes;
    count(counters, COUNT_STREAM_BYTES, n_bytes);
    if (f->sent < f->len) return;
    enum feed_piece piece = f->piece;
    f->piece = PIECE_NONE;
    f->sent = 0;
    if (f->is_stalled) {
        f->is_stalled = false;
        uncount(counters, COUNT_STALLED, 1);
    }
    if (piece == PIECE_EVENTS) {
        count(counters, COUNT_STREAM_BLOCKS, 1);
        f->has_sent = true;
        sub_advance(&f->sub, f->last);
    }
    if (piece == PIECE_BEAT) count(counters, COUNT_BEATS, 1);
    if (piece == PIECE_END || (piece == PIECE_EVENTS && f->is_last && f->is_chunked)) finish(c);
}

bool feed_has_more(struct conn *c)
{
    struct feed *f = &c->feed;
    struct log_state log = sub_log(&f->sub);
    if (f->piece != PIECE_NONE || f->sub.next <= log.last) return true;
    return f->is_ending || log.is_sealed || f->ends_at_newest || f->sub.state == SUB_GONE;
}

void feed_beat(struct conn *c)
{
    if (c->feed.has_style && c->form.style->beat)
        c->form.style->beat(c->worker->server, sub_log_name(&c->feed.sub),
                            worker_wall_ms(c->worker));
    if (c->feed.piece == PIECE_NONE) c->feed.wants_beat = true;
    conn_mark_dirty(c);
}

void feed_stall(struct conn *c)
{
    struct feed *f = &c->feed;
    sub_rest(&f->sub);
    if (f->is_stalled) return;
    f->is_stalled = true;
    count(&c->worker->counters, COUNT_STALLED, 1);
}

void feed_close(struct conn *c)
{
    struct feed *f = &c->feed;
    struct worker *w = c->worker;
    if (f->state == FEED_STREAMING) uncount(&w->counters, COUNT_SUBSCRIBERS, 1);
    if (f->is_stalled) uncount(&w->counters, COUNT_STALLED, 1);
    if (c->stream_log) exchange_log_line(w, c, c->stream_log, 200, f->n_bytes);
    mem_free(c->stream_log);
    c->stream_log = NULL;
    f->is_stalled = false;
    drop_sub(c);
}
