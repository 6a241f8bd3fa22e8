/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: events, the gathered write at the end of a round, deadlines, closing.
 *
 * Invariants: a connection is in the worker's list until it is closed; its first exchange is
 * the one that is written or waited for; while the last write was cut short nothing is
 * written, read as a request or asked of a feed until the socket can take more.
 */
#include <errno.h>
#include <netinet/in.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "serve/worker_impl.h"

static struct conn *conn_of(struct watch *w)
{
    struct conn *c = CONTAINER_OF(w, struct conn, watch);
    CHECK(c->magic == CONN_MAGIC);
    return c;
}

/* Answers go before events: one reader less waits for a publisher than for its readers. */
void conn_mark_dirty(struct conn *c)
{
    CHECK(c->magic == CONN_MAGIC);
    if (c->phase == CONN_CLOSED || c->is_flushing || list_is_linked(&c->dirty)) return;
    if (c->feed.state == FEED_NONE) list_push_front(&c->worker->dirty, &c->dirty);
    else list_push_back(&c->worker->dirty, &c->dirty);
}

void conn_prefetch(const struct conn *c)
{
    const char *at = (const char *)c;
    for (int i = 0; i < CONN_HOT_LINES; i++) __builtin_prefetch(at + i * MEM_LINE_BYTES, 1);
}

/* ---- peers ---- */

static void peer_set(struct peer *p, const struct addr *a)
{
    *p = (struct peer){0};
    if (a->sa.ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, &a->sa, sizeof in);
        memcpy(p->ip, &in.sin_addr, sizeof in.sin_addr);
        p->port = in.sin_port;
        p->family = AF_INET;
    } else if (a->sa.ss_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, &a->sa, sizeof in);
        memcpy(p->ip, &in.sin6_addr, sizeof in.sin6_addr);
        p->port = in.sin6_port;
        p->family = AF_INET6;
    }
}

void peer_format(const struct peer *p, char out[ADDR_TEXT_BYTES])
{
    struct addr a = {.sa = {.ss_family = p->family}};
    if (p->family == AF_INET) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = p->port};
        memcpy(&in.sin_addr, p->ip, sizeof in.sin_addr);
        memcpy(&a.sa, &in, sizeof in);
        a.len = sizeof in;
    } else if (p->family == AF_INET6) {
        struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = p->port};
        memcpy(&in.sin6_addr, p->ip, sizeof in.sin6_addr);
        memcpy(&a.sa, &in, sizeof in);
        a.len = sizeof in;
    } else {
        memcpy(out, "local", sizeof "local");
        return;
    }
    addr_format(&a, out);
}

/* ---- the queue of exchanges ---- */

void conn_push(struct conn *c, struct exchange *ex)
{
    if (c->newest) c->newest->next = ex;
    else c->first = ex;
    c->newest = ex;
    c->n_exchanges++;
    c->n_running++;
    c->runs_safe = ex->is_safe;
}

void conn_answered(struct conn *c, struct exchange *ex)
{
    CHECK(c->n_running > 0);
    c->n_running--;
    c->in_flight_bytes += ex->out_len;
    conn_mark_dirty(c);
}

/* The first exchange is done with. */
static struct exchange *pop(struct conn *c)
{
    struct exchange *ex = c->first;
    c->first = ex->next;
    if (!c->first) c->newest = NULL;
    c->sent = 0;
    c->n_exchanges--;
    c->in_flight_bytes -= ex->cost;
    c->is_fresh = true;
    return ex;
}

/* ---- writing ---- */

void gather_add(struct gather *g, const void *bytes, size_t len)
{
    CHECK(g->n_iov < CONN_MAX_IOV);
    if (len == 0) return;
    g->iov[g->n_iov++] = (struct iovec){(void *)(uintptr_t)bytes, len};
    g->n_bytes += len;
}

/* Adds the answers that are ready, in order; true when a stream is to follow in this write. */
static bool gather_answers(struct conn *c, struct gather *g)
{
    bool is_streaming = c->feed.state == FEED_STREAMING;
    size_t skip = c->sent;
    if (is_streaming && !(c->first && c->first->is_feed)) return true;
    for (struct exchange *ex = c->first; ex && ex->out; ex = ex->next) {
        gather_add(g, ex->out + skip, ex->out_len - skip);
        skip = 0;
        if (ex->is_feed) return true;
        if (ex->state != EX_ANSWERED || g->n_iov == CONN_MAX_IOV / 2) break;
    }
    return false;
}

/* Takes written bytes off the answers; returns how many of them were not theirs. */
static size_t drop_written(struct conn *c, size_t n)
{
    if (c->feed.state == FEED_STREAMING && !(c->first && c->first->is_feed)) return n;
    while (c->first && (c->first->out || c->first->state == EX_ANSWERED)) {
        struct exchange *ex = c->first;
        size_t left = ex->out_len - c->sent;
        if (n < left) {
            c->sent += n;
            return 0;
        }
        n -= left;
        if (ex->state != EX_ANSWERED) {
            /* "100 Continue" has gone; the answer is to come. */
            ex->out = NULL;
            ex->out_len = 0;
            ex->has_interim = false;
            c->sent = 0;
            return 0;
        }
        bool is_feed = ex->is_feed;
        if (ex->closes && !is_feed) c->is_last = true;
        exchange_free(pop(c));
        if (is_feed) break;
    }
    return n;
}

static void write_failed(struct conn *c, enum sock_result r)
{
    if (r != SOCK_AGAIN) {
        conn_close(c, CLOSE_PEER_BROKE);
        return;
    }
    c->is_blocked = true;
}

/* One write with all that is due; true when there may be more. */
static bool write_once(struct conn *c)
{
    struct gather g;
    struct counters *counters = &c->worker->counters;
    size_t n = 0;
    g.n_iov = 0;
    g.n_bytes = 0;
    if (gather_answers(c, &g)) feed_gather(c, &g);
    if (c->phase != CONN_OPEN) return false;
    if (g.n_iov == 0) {
        drop_written(c, 0);
        return false;
    }
    enum sock_result r = sock_write(&c->sock, g.iov, g.n_iov, &n);
    count(counters, COUNT_WRITES, 1);
    if (r != SOCK_OK) {
        write_failed(c, r);
    } else {
        count(counters, COUNT_BYTES_OUT, n);
        c->is_fresh = true;
        c->is_blocked = n < g.n_bytes;
        size_t rest = drop_written(c, n);
        if (rest > 0) feed_written(c, rest);
    }
    if (c->is_blocked && c->feed.state == FEED_STREAMING) feed_stall(c);
    return c->phase == CONN_OPEN && !c->is_blocked;
}

/* An exchange that wants to watch begins when all before it were written. */
static void look_at_feed(struct conn *c)
{
    if (c->feed.state == FEED_NONE && c->first && c->first->state == EX_WATCHING) feed_open(c);
    bool is_known = c->feed.state == FEED_OPENING && c->feed.sub.state != SUB_OPENING;
    if (is_known || c->feed.state == FEED_WAITING) feed_begin(c);
}

static void write_all(struct conn *c)
{
    for (int i = 0; i < FEED_MAX_BLOCKS; i++) {
        look_at_feed(c);
        if (!write_once(c)) return;
        bool has_more = c->feed.state == FEED_STREAMING ? feed_has_more(c) : c->first != NULL;
        if (!has_more) return;
    }
    worker_flush_next_round(c->worker, c);
}

/* ---- reading ---- */

static bool wants_read(const struct conn *c)
{
    if (c->is_ended) return false;
    if (c->phase == CONN_LINGERING) return true;
    if (c->feed.state != FEED_NONE) return intake_kept(c).len < STREAM_UNREAD_BYTES;
    return intake_may_read(c);
}

/* The peer sends no more. It may still read: what was asked is answered. */
static void ended(struct conn *c)
{
    c->is_ended = true;
    if (c->feed.state != FEED_NONE && !feed_is_answer(c)) {
        conn_close(c, CLOSE_PEER_ENDED);
        return;
    }
    intake_end(c);
    c->is_last = true;
    if (c->reason == CLOSE_DONE) c->reason = CLOSE_PEER_ENDED;
    conn_mark_dirty(c);
}

/* Reads once. True when bytes came. */
static bool read_once(struct conn *c)
{
    struct worker *w = c->worker;
    struct weir_slice kept = intake_kept(c);
    size_t n = 0;
    size_t room = w->read_cap - kept.len;
    if (room > READ_BYTES) room = READ_BYTES;
    if (c->feed.state != FEED_NONE && room > STREAM_UNREAD_BYTES - kept.len)
        room = STREAM_UNREAD_BYTES - kept.len;
    CHECK(room > 0);
    enum sock_result r = sock_read(&c->sock, w->read_buf + kept.len, room, &n);
    if (r == SOCK_EOF) ended(c);
    if (r == SOCK_ERROR) conn_close(c, errno == EPROTO ? CLOSE_TLS : CLOSE_PEER_BROKE);
    if (r != SOCK_OK) return false;
    count(&w->counters, COUNT_BYTES_IN, n);
    if (kept.len > 0) memcpy(w->read_buf, kept.ptr, kept.len);
    intake_take(c, slice_of(w->read_buf, kept.len + n));
    return true;
}

/*
 * One read, and for TLS as long as it has decrypted bytes that no event will tell of.
 */
static void read_some(struct conn *c)
{
    int n_left = c->sock.tls ? TLS_READS : 1;
    while (n_left > 0 && c->phase == CONN_OPEN && wants_read(c) && read_once(c)) n_left--;
    if (c->phase == CONN_OPEN && c->sock.tls && sock_has_pending(&c->sock) && wants_read(c))
        worker_flush_next_round(c->worker, c);
}

/* Throws away what a refused peer still sends, so that it gets to read the answer. */
static void drain(struct conn *c)
{
    struct worker *w = c->worker;
    size_t n = 0;
    enum sock_result r = sock_read(&c->sock, w->read_buf, READ_BYTES, &n);
    if (r == SOCK_AGAIN) return;
    c->sent += n; /* counts what was thrown away from now on */
    if (r != SOCK_OK || c->sent > LINGER_BYTES) conn_close(c, (enum close_reason)c->reason);
}

static void on_event(struct watch *watch, int events)
{
    struct conn *c = conn_of(watch);
    int ready = sock_ready(&c->sock, events);
    if (ready & WATCH_WRITE) c->is_blocked = false;
    if ((ready & WATCH_READ) && c->phase == CONN_LINGERING) drain(c);
    else if (ready & WATCH_READ) read_some(c);
    conn_mark_dirty(c);
}

/* ---- deadlines ---- */

static enum deadline deadline_of(const struct conn *c)
{
    bool is_streaming = c->feed.state == FEED_STREAMING;
    if (c->phase == CONN_LINGERING) return DEADLINE_LINGER;
    if (c->is_blocked) return is_streaming ? DEADLINE_STALL : DEADLINE_WRITE;
    if (c->feed.state == FEED_WAITING) return DEADLINE_POLL;
    if (is_streaming) return c->feed.beat_ms > 0 ? DEADLINE_BEAT : DEADLINE_NONE;
    if (intake_has_part(c)) return intake_has_head(c) ? DEADLINE_BODY : DEADLINE_HEAD;
    return c->first ? DEADLINE_NONE : DEADLINE_IDLE;
}

static void update(struct conn *c)
{
    enum deadline kind = deadline_of(c);
    bool begins_anew = c->is_fresh && kind != DEADLINE_LINGER && kind != DEADLINE_POLL;
    if (begins_anew && kind == DEADLINE_BEAT && c->deadline == DEADLINE_BEAT) {
        /* Thousands of readers have this one, at every event: nothing is moved for it. */
        c->feed.has_spoken = true;
        begins_anew = false;
    }
    if (kind != c->deadline || (begins_anew && kind != DEADLINE_NONE))
        worker_arm(c->worker, c, kind);
    c->is_fresh = false;
    watch_set(&c->watch, sock_wants(&c->sock, wants_read(c), c->is_blocked));
}

void conn_due(struct conn *c)
{
    CHECK(c->magic == CONN_MAGIC);
    enum deadline kind = c->deadline;
    worker_arm(c->worker, c, DEADLINE_NONE);
    bool goes_on = (kind == DEADLINE_BODY && intake_made_progress(c)) ||
                   (kind == DEADLINE_BEAT && c->feed.has_spoken);
    if (goes_on) {
        c->feed.has_spoken = false;
        worker_arm(c->worker, c, kind);
        return;
    }
    if (kind == DEADLINE_HEAD || kind == DEADLINE_BODY) {
        c->reason = kind == DEADLINE_HEAD ? CLOSE_HEAD_TIMEOUT : CLOSE_BODY_TIMEOUT;
        intake_time_out(c);
    }
    if (kind == DEADLINE_BEAT) {
        feed_beat(c);
        c->feed.has_spoken = true; /* or the next look, half a beat later, would find silence */
    }
    if (kind == DEADLINE_POLL) feed_time_out(c);
    if (kind == DEADLINE_WRITE) conn_cut(c, CLOSE_WRITE_TIMEOUT);
    if (kind == DEADLINE_STALL) conn_cut(c, CLOSE_STALL_TIMEOUT);
    if (kind == DEADLINE_IDLE) conn_close(c, CLOSE_IDLE);
    if (kind == DEADLINE_LINGER) conn_close(c, (enum close_reason)c->reason);
    conn_mark_dirty(c);
}

/* ---- the end of a round ---- */

/* The last answer was written. */
static void last_was_written(struct conn *c)
{
    if (!c->must_linger || c->is_ended) {
        conn_close(c, (enum close_reason)c->reason);
        return;
    }
    intake_free(c);
    sock_end(&c->sock);
    c->phase = CONN_LINGERING;
    c->sent = 0;
}

/* Whether an answer or a stream could go out that could not before. */
static bool has_due(const struct conn *c)
{
    if (c->phase != CONN_OPEN || c->is_blocked || c->feed.state != FEED_NONE || !c->first)
        return false;
    return c->first->out || c->first->state == EX_WATCHING;
}

static void flush_open(struct conn *c)
{
    if (!c->is_blocked) write_all(c);
    if (c->phase != CONN_OPEN) return;
    intake_resume(c);
    if (c->phase == CONN_OPEN && c->sock.tls && sock_has_pending(&c->sock)) read_some(c);
    bool is_over = c->is_last && !c->first && c->feed.state == FEED_NONE;
    if (c->phase == CONN_OPEN && is_over) last_was_written(c);
}

void conn_flush(struct conn *c)
{
    CHECK(c->magic == CONN_MAGIC);
    c->is_flushing = true;
    if (c->phase == CONN_OPEN) flush_open(c);
    c->is_flushing = false;
    if (c->phase == CONN_CLOSED) return;
    update(c);
    /* Requests that could run only now, because others left, may be answered already. */
    if (has_due(c)) conn_mark_dirty(c);
}

/* ---- life ---- */

enum weir_status conn_open(struct worker *w, struct sock *sock, const struct addr *peer,
                           uint64_t host)
{
    struct conn *c = mem_zalloc_lines(sizeof *c);
    enum weir_status st = c ? WEIR_OK : WEIR_NOMEM;
    if (st == WEIR_OK)
        st = watch_start(w->loop, &c->watch, sock->fd, sock_wants(sock, true, false), on_event);
    if (st != WEIR_OK) {
        sock_close(sock);
        mem_free(c);
        return st;
    }
    c->magic = CONN_MAGIC;
    c->worker = w;
    c->sock = *sock;
    c->host = host;
    if (peer) peer_set(&c->peer, peer);
    else c->is_local = true;
    list_push_back(&w->conns, &c->node);
    w->n_conns++;
    count(&w->counters, COUNT_CONNECTIONS, 1);
    count(&w->counters, COUNT_ACCEPTED, 1);
    worker_arm(w, c, DEADLINE_IDLE);
    return WEIR_OK;
}

static void on_closed(struct watch *watch)
{
    struct conn *c = conn_of(watch);
    struct worker *w = c->worker;
    w->n_conns--;
    c->magic = 0;
    mem_free(c);
    worker_look_done(w);
}

/* Exchanges that still run go on without a connection; their answers will be dropped. */
static void leave_exchanges(struct conn *c)
{
    while (c->first) {
        struct exchange *ex = pop(c);
        if (ex->state == EX_RUNNING) ex->conn = NULL;
        else exchange_free(ex);
    }
}

static void trace_close(const struct conn *c, enum close_reason why)
{
    const struct trace *t = c->worker->server->options.trace;
    if (!t || t->level < TRACE_DEBUG) return;
    char peer[ADDR_TEXT_BYTES];
    peer_format(&c->peer, peer);
    TRACE(t, TRACE_DEBUG, "serve", "connection closed", trace_str("peer", weir_slice_of(peer)),
          trace_str("reason", weir_slice_of(close_reason_name(why))));
}

static void end(struct conn *c, enum close_reason why, void (*close_sock)(struct sock *s))
{
    struct worker *w = c->worker;
    CHECK(c->magic == CONN_MAGIC);
    if (c->phase == CONN_CLOSED) return;
    trace_close(c, why);
    counter_add(&w->counters.closed[why], 1);
    uncount(&w->counters, COUNT_CONNECTIONS, 1);
    if (c->feed.state != FEED_NONE) feed_close(c);
    leave_exchanges(c);
    intake_free(c);
    worker_arm(w, c, DEADLINE_NONE);
    c->phase = CONN_CLOSED;
    if (list_is_linked(&c->dirty)) list_remove(&c->dirty);
    list_remove(&c->node);
    peers_leave(&w->server->peers, c->host);
    watch_close(&c->watch, on_closed);
    close_sock(&c->sock);
}

void conn_close(struct conn *c, enum close_reason why)
{
    end(c, why, sock_close);
}

void conn_cut(struct conn *c, enum close_reason why)
{
    end(c, why, sock_reset);
}

void conn_wind_up(struct conn *c)
{
    if (c->phase != CONN_OPEN) return;
    /* A request may have arrived that no event has told of yet. */
    if (!c->first && c->feed.state == FEED_NONE) read_some(c);
    if (c->phase != CONN_OPEN) return;
    c->is_last = true;
    c->reason = CLOSE_SHUTDOWN;
    c->feed.is_ending = true;
    conn_mark_dirty(c);
}
