/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From bytes to requests. Most requests are whole when they are read: they are parsed where
 * they lie, in the worker's read buffer, and need no memory. Only one that is not whole
 * gets a struct intake, with what has to be remembered until the rest comes:
 *
 *   a part of a head   the bytes, and how far the reader is
 *   a part of a body   the head, copied; the body so far; the exchange, which was admitted
 *   nothing            bytes of later requests, which wait because too much is in flight,
 *                      because a stream goes out, or because of the order below
 *
 * Order: requests of a connection run at the same time if all of them are safe (GET and HEAD) or
 * none is; the store keeps commits in order. Otherwise a request waits until those
 * before it are answered, as if they came one by one (RFC 9112, 9.3.2).
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "serve/admit.h"
#include "serve/imports.h"
#include "serve/worker_impl.h"

struct intake {
    struct http_reader reader;
    struct http_head *head; /* NULL: the head is not whole, or lies in the read buffer */
    struct exchange *ex;    /* whose body comes; NULL: none, or it is thrown away */
    bool is_body;           /* a body comes */
    bool is_waiting;        /* what is kept may not be read yet */
    bool is_held;           /* because requests of another kind run */
    struct late_wait late;  /* because another node may know who asks */
    struct weir_buf body;
    size_t n_checked; /* bytes of the body when progress was asked for last */
    struct weir_buf kept;
};

/* ---- what is half read ---- */

/* Whether a body is for a file is known when its head was read. */
static struct http_limits limits_of(const struct worker *w)
{
    const struct server_limits *l = w->limits;
    return (struct http_limits){.head_bytes = l->head_bytes,
                                .body_bytes = l->body_bytes > l->import_bytes ? l->body_bytes
                                                                              : l->import_bytes};
}

/* The intake, made if need be with the reader that has begun; NULL when the connection is closed
 * for want of memory. */
static struct intake *need_intake(struct conn *c, const struct http_reader *reader)
{
    if (c->intake) return c->intake;
    struct intake *in = mem_zalloc(sizeof *in);
    if (!in) {
        conn_close(c, CLOSE_NO_MEMORY);
        return NULL;
    }
    in->reader = *reader;
    weir_buf_init(&in->body, c->worker->limits->body_bytes);
    weir_buf_init(&in->kept, c->worker->read_cap);
    c->intake = in;
    return in;
}

/* Of the request under way. */
static struct http_reader *reader_of(const struct conn *c)
{
    return c->intake ? &c->intake->reader : &c->worker->reader;
}

void intake_free(struct conn *c)
{
    struct intake *in = c->intake;
    if (!in) return;
    uncount(&c->worker->counters, COUNT_WAITING_BYTES, in->body.len + in->kept.len);
    late_forget(&c->worker->late, &in->late);
    weir_buf_fini(&in->body);
    weir_buf_fini(&in->kept);
    mem_free(in->head);
    mem_free(in);
    c->intake = NULL;
}

struct weir_slice intake_kept(const struct conn *c)
{
    return c->intake ? weir_buf_slice(&c->intake->kept) : slice_of(NULL, 0);
}

bool intake_has_part(const struct conn *c)
{
    return c->intake && !c->intake->is_waiting;
}

bool intake_has_head(const struct conn *c)
{
    return c->intake && c->intake->is_body;
}

bool intake_made_progress(struct conn *c)
{
    struct intake *in = c->intake;
    size_t n = (size_t)in->reader.body_taken - in->n_checked;
    in->n_checked = (size_t)in->reader.body_taken;
    return n >= BODY_PROGRESS_BYTES;
}

/* A copy of the head whose slices point into a copy of its bytes, all in one block. */
static struct http_head *copy_head(const struct http_head *from, struct weir_slice bytes)
{
    struct http_head *to = mem_alloc(sizeof *to + bytes.len);
    if (!to) return NULL;
    char *copy = (char *)(to + 1);
    memcpy(copy, bytes.ptr, bytes.len);
    *to = *from;
    http_head_move(to, bytes, copy);
    return to;
}

/* ---- refusing ---- */

/* Whether bytes that are no request would have been a call, as far as their first line tells. */
static bool is_call(struct weir_slice bytes)
{
    while (bytes.len > 0 && (bytes.ptr[0] == '\r' || bytes.ptr[0] == '\n'))
        bytes = slice_from(bytes, 1);
    size_t most = bytes.len < HTTP_METHOD_BYTES + 1 ? bytes.len : HTTP_METHOD_BYTES + 1;
    const char *space = most > 0 ? memchr(bytes.ptr, ' ', most) : NULL;
    return space && is_rpc_path(slice_from(bytes, (size_t)(space + 1 - bytes.ptr)));
}

/* Bytes that are no request: they are answered, behind all others, and nothing is read any more. */
static void refuse(struct conn *c, struct weir_slice bytes, enum weir_status code,
                   const char *reason)
{
    struct exchange *ex = exchange_new(c->worker, c);
    if (!ex) {
        conn_close(c, CLOSE_NO_MEMORY);
        return;
    }
    ex->started_ns = worker_now_ns(c->worker);
    ex->closes = true;
    ex->is_rpc = is_call(bytes);
    exchange_name(ex, NULL);
    conn_push(c, ex);
    c->is_last = true;
    c->must_linger = true;
    if (c->reason == CLOSE_DONE) c->reason = CLOSE_BAD_REQUEST;
    exchange_error(ex, code, reason ? "%s" : NULL, reason);
    intake_free(c);
}

/* The same in the middle of a body. */
static void refuse_body(struct conn *c, struct exchange *ex, enum weir_status code,
                        const char *reason)
{
    c->is_last = true;
    c->must_linger = true;
    if (c->reason == CLOSE_DONE) c->reason = CLOSE_BAD_REQUEST;
    if (ex) {
        ex->closes = true;
        exchange_error(ex, code, reason ? "%s" : NULL, reason);
    }
    intake_free(c);
}

void intake_time_out(struct conn *c)
{
    struct intake *in = c->intake;
    if (in && in->is_body) refuse_body(c, in->ex, WEIR_TIMEOUT, NULL);
    else refuse(c, intake_kept(c), WEIR_TIMEOUT, NULL);
}

void intake_end(struct conn *c)
{
    struct intake *in = c->intake;
    if (in && in->is_body)
        refuse_body(c, in->ex, WEIR_BAD_REQUEST, "The request ended before its body did");
    intake_free(c);
}

/* ---- heads ---- */

/* Whether a further request may begin now. */
static bool may_begin(const struct conn *c)
{
    const struct server_limits *l = c->worker->limits;
    if (c->phase != CONN_OPEN || c->is_last || c->is_blocked) return false;
    if (c->feed.state != FEED_NONE || (c->newest && c->newest->state == EX_WATCHING)) return false;
    if (c->n_exchanges == 0) return true;
    return c->n_exchanges < l->max_in_flight && c->in_flight_bytes < l->max_in_flight_bytes &&
           counter_get(&c->worker->counters, COUNT_ANSWER_BYTES) < l->all_answer_bytes;
}

bool intake_may_read(const struct conn *c)
{
    if (c->intake && c->intake->is_waiting) return false;
    return (c->intake && c->intake->is_body) || may_begin(c);
}

static void remember_for_log(struct exchange *ex, const struct http_head *head)
{
    if (!ex->worker->log.log) return;
    size_t len = head->path.len < LOGGED_PATH_BYTES ? head->path.len : LOGGED_PATH_BYTES;
    struct logged *l = exchange_alloc(ex, sizeof *l + len);
    if (!l) return;
    char *path = (char *)(l + 1);
    memcpy(path, head->path.ptr, len);
    *l = (struct logged){.method = head->method, .path = slice_of(path, len)};
    ex->logged = l;
}

static struct exchange *make_exchange(struct conn *c, const struct http_head *head)
{
    struct worker *w = c->worker;
    struct exchange *ex = exchange_new(w, c);
    if (!ex) {
        conn_close(c, CLOSE_NO_MEMORY);
        return NULL;
    }
    ex->started_ns = worker_now_ns(w);
    ex->is_http_1_0 = head->minor == 0;
    ex->is_head = head->method == HTTP_HEAD;
    ex->is_safe = head->method == HTTP_GET || ex->is_head;
    ex->is_local = c->is_local;
    ex->is_rpc = is_rpc_path(head->path);
    exchange_name(ex, head);
    remember_for_log(ex, head);
    count(&w->counters, COUNT_REQUESTS, 1);
    conn_push(c, ex);
    c->is_fresh = true;
    if (!head->keep_alive) c->is_last = true;
    return ex;
}

static void run(struct conn *c, struct exchange *ex, const struct http_head *head,
                struct weir_slice body)
{
    ex->cost += body.len;
    c->in_flight_bytes += body.len;
    exchange_run(ex, head, body);
}

/* ---- bodies ---- */

static bool keep_head(struct conn *c, const struct http_head *head, struct exchange *ex)
{
    struct intake *in = need_intake(c, &c->worker->reader);
    if (!in) return false;
    in->is_body = true;
    in->ex = ex;
    if (in->head) return true;
    in->head = copy_head(head, c->worker->head_bytes);
    if (in->head) return true;
    conn_close(c, CLOSE_NO_MEMORY);
    return false;
}

/* Counts bytes that wait here; false when there are too many of them in all. */
static bool count_waiting(struct worker *w, size_t n)
{
    count(&w->counters, COUNT_WAITING_BYTES, n);
    return counter_get(&w->counters, COUNT_WAITING_BYTES) <= w->limits->all_request_bytes;
}

static bool keep_body(struct conn *c, struct weir_slice data)
{
    struct intake *in = c->intake;
    weir_buf_append_slice(&in->body, data);
    enum weir_status st = weir_buf_status(&in->body);
    if (st == WEIR_OK && !count_waiting(c->worker, data.len)) st = WEIR_BUSY;
    if (st != WEIR_OK) refuse_body(c, in->ex, st == WEIR_LIMIT ? WEIR_TOO_LARGE : st, NULL);
    return st == WEIR_OK;
}

/* The body is not whole. If the client waits to be asked for it, it is asked. */
static void await_body(struct conn *c, const struct http_head *head, struct exchange *ex)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (!keep_head(c, head, ex)) return;
    bool is_asked = ex && head->expects_continue && !ex->is_http_1_0 &&
                    c->intake->reader.body_taken == 0 && !ex->has_interim && !ex->out;
    if (!is_asked) return;
    ex->has_interim = true;
    ex->out = text;
    ex->out_len = sizeof text - 1;
    conn_mark_dirty(c);
}

/* What went wrong with a file, as clients know it. */
static enum weir_status told(enum weir_status st)
{
    return st == WEIR_IO || st == WEIR_NO_SPACE ? WEIR_STORAGE : st;
}

/* Some of a body, wherever it belongs; false when the request was refused for it. */
static bool put_body(struct conn *c, const struct http_head *head, struct exchange *ex,
                     struct weir_slice data)
{
    if (!ex) return true;
    if (!ex->spool) return keep_head(c, head, ex) && keep_body(c, data);
    enum weir_status st = spool_add(ex->spool, data);
    if (st != WEIR_OK) refuse_body(c, ex, told(st), spool_error(ex->spool));
    return st == WEIR_OK;
}

/* A body that is whole: in one piece, put together, or a file, of which it is the hash. */
static struct weir_slice end_body(const struct conn *c, struct exchange *ex, struct weir_slice body)
{
    if (!ex->spool) return body.len == 0 && c->intake ? weir_buf_slice(&c->intake->body) : body;
    spool_end(ex->spool);
    return slice_of(ex->spool->digest, sizeof ex->spool->digest);
}

/* The whole body lies in the read buffer, and may stay there. */
static bool is_all_of_it(const struct http_head *head, const struct exchange *ex,
                         struct weir_slice data)
{
    return ex && !ex->spool && !head->is_chunked && data.len == head->content_length;
}

/*
 * Takes what there is of a body off the bytes. ex is NULL when it is thrown away. True when it
 * is whole, and its request has run.
 */
static bool take_body(struct conn *c, const struct http_head *head, struct exchange *ex,
                      struct weir_slice *bytes)
{
    struct weir_slice data;
    struct weir_slice body = {NULL, 0};
    for (;;) {
        struct http_reader *r = reader_of(c);
        size_t used;
        enum http_result result = http_read_body(r, *bytes, &used, &data);
        *bytes = slice_from(*bytes, used);
        if (result == HTTP_DONE) break;
        if (result == HTTP_MORE) {
            await_body(c, head, ex);
            return false;
        }
        if (result == HTTP_ERROR) {
            refuse_body(c, ex, r->error, r->reason);
            *bytes = slice_of(NULL, 0);
            return false;
        }
        if (is_all_of_it(head, ex, data)) body = data;
        else if (!put_body(c, head, ex, data)) return false;
        else if (c->intake && c->intake->head) head = c->intake->head;
    }
    if (ex) run(c, ex, head, end_body(c, ex, body));
    intake_free(c);
    return c->phase == CONN_OPEN;
}

/* ---- one request after the other ---- */

/* Whether there is a place for the body of a request that may run; else it is refused. */
static bool admit_body(struct conn *c, struct exchange *ex, const struct http_head *head,
                       bool is_large)
{
    enum weir_status st = WEIR_OK;
    struct weir_slice type;
    bool is_file = ex->route->flags & ROUTE_FILE;
    if (is_file) st = imports_spool(c->worker->server->imports, &ex->spool);
    else if (is_large) st = WEIR_TOO_LARGE;
    if (st == WEIR_OK && is_file && http_find(head, "content-type", &type))
        st = spool_set_type(ex->spool, type);
    if (st == WEIR_OK) return true;
    ex->closes = true;
    if (c->reason == CLOSE_DONE) c->reason = CLOSE_BAD_REQUEST;
    exchange_error(ex, told(st), NULL);
    return false;
}

/* Whether the request may run; else it is answered, and maybe the connection's last. */
static bool admit_all(struct conn *c, struct exchange *ex, const struct http_head *head)
{
    size_t most = c->worker->limits->body_bytes;
    bool is_large = head->has_body && !head->is_chunked && head->content_length > most;
    /* Whether a client whose expectation is refused sends its body is not known: close then. */
    ex->closes = c->is_last || (head->has_body && head->expects_continue) || is_large;
    if (admit(ex, head)) {
        ex->closes = c->is_last;
        if (admit_body(c, ex, head, is_large)) return true;
    }
    c->is_last |= ex->closes;
    c->must_linger |= ex->closes && head->has_body;
    return false;
}

static bool begin(struct conn *c, const struct http_head *head, struct weir_slice *bytes)
{
    struct exchange *ex = make_exchange(c, head);
    if (!ex) return false;
    ex->is_blind = c->intake && c->intake->late.is_blind;
    bool is_admitted = admit_all(c, ex, head);
    struct http_reader *r = reader_of(c);
    if (!ex->spool) r->limits.body_bytes = c->worker->limits->body_bytes;
    if (head->has_body && !(c->is_last && !is_admitted))
        return take_body(c, head, is_admitted ? ex : NULL, bytes);
    if (is_admitted) run(c, ex, head, end_body(c, ex, slice_of(NULL, 0)));
    intake_free(c);
    return true;
}

/* The next request must wait until those before it are answered. */
static bool must_wait(const struct conn *c, const struct http_head *head)
{
    bool is_safe = head->method == HTTP_GET || head->method == HTTP_HEAD;
    return c->n_running > 0 && c->runs_safe != is_safe;
}

/* The same until the store was asked who asks, or the other nodes what they took. */
static bool is_late(struct conn *c, const struct http_head *head)
{
    char key[KEY_NAME_BYTES + 1];
    bool has_looked = c->intake && c->intake->late.has_looked;
    if (c->is_local) return false;
    bool is_unknown = !has_looked && admit_is_unknown(c->worker, head, key);
    if (!is_unknown && !admit_must_ask(c->worker, head)) return false;
    struct intake *in = need_intake(c, &c->worker->reader);
    if (!in) return false;
    return is_unknown ? late_add(c, &in->late, key) : late_add_round(c, &in->late);
}

static bool take_head(struct conn *c, struct weir_slice *bytes)
{
    struct worker *w = c->worker;
    struct http_limits limits = limits_of(w);
    struct http_reader *r = reader_of(c);
    size_t used;
    if (!c->intake) http_reader_init(r, &limits);
    enum http_result result = http_read_head(r, *bytes, &w->head, &used);
    if (result == HTTP_MORE) {
        (void)need_intake(c, r);
        return false;
    }
    if (result == HTTP_ERROR) {
        refuse(c, *bytes, r->error, r->reason);
        *bytes = slice_of(NULL, 0);
        return false;
    }
    bool is_held = must_wait(c, &w->head);
    if (is_held || is_late(c, &w->head)) {
        struct intake *in = need_intake(c, r);
        if (!in) return false;
        http_reader_init(&in->reader, &limits); /* it is read again then */
        in->is_waiting = true;
        in->is_held = is_held;
        return false;
    }
    w->head_bytes = slice_of(bytes->ptr, used);
    *bytes = slice_from(*bytes, used);
    return begin(c, &w->head, bytes);
}

static bool step(struct conn *c, struct weir_slice *bytes)
{
    struct intake *in = c->intake;
    if (in && in->is_body) return take_body(c, in->head, in->ex, bytes);
    if (may_begin(c)) return take_head(c, bytes);
    struct http_limits limits = limits_of(c->worker);
    struct http_reader fresh;
    http_reader_init(&fresh, &limits);
    if (c->is_last) *bytes = slice_of(NULL, 0);
    else if (need_intake(c, &fresh)) c->intake->is_waiting = true;
    return false;
}

/* Whatever was not read stays for the next time. */
static void keep(struct conn *c, struct weir_slice bytes)
{
    struct intake *in = c->intake;
    if (!in) return;
    uncount(&c->worker->counters, COUNT_WAITING_BYTES, in->kept.len);
    weir_buf_reset(&in->kept);
    if (bytes.len == 0) {
        if (!in->is_body) intake_free(c);
        return;
    }
    weir_buf_append_slice(&in->kept, bytes);
    bool has_room = count_waiting(c->worker, in->kept.len);
    if (!has_room || weir_buf_status(&in->kept) != WEIR_OK) conn_close(c, CLOSE_NO_MEMORY);
    else if (in->is_waiting) count(&c->worker->counters, COUNT_READ_PAUSES, 1);
}

void intake_take(struct conn *c, struct weir_slice bytes)
{
    struct worker *w = c->worker;
    CHECK(!w->is_reading);
    w->is_reading = true;
    if (c->intake) c->intake->is_waiting = c->intake->is_held = false;
    while (bytes.len > 0 && step(c, &bytes)) {
    }
    if (c->phase == CONN_OPEN) keep(c, bytes);
    w->is_reading = false;
}

void intake_resume(struct conn *c)
{
    struct intake *in = c->intake;
    struct worker *w = c->worker;
    if (!in || !in->is_waiting || !may_begin(c) || (in->is_held && c->n_running > 0)) return;
    if (list_is_linked(&in->late.node)) return;
    struct weir_slice kept = weir_buf_slice(&in->kept);
    memcpy(w->read_buf, kept.ptr, kept.len);
    intake_take(c, slice_of(w->read_buf, kept.len));
}
