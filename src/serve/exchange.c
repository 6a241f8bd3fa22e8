/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges: their memory, what handlers ask of them, and the bytes of answers. The way of an
 * append is short on purpose: one block of memory that was used before, one copy of the answer
 * into it, and no printf().
 */
#include "serve/exchange.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/slice.h"
#include "serve/spool.h"
#include "serve/worker_impl.h"

static struct exchange *checked(const struct exchange *ex)
{
    CHECK(ex->magic == EXCHANGE_MAGIC);
    return (struct exchange *)(uintptr_t)ex;
}

/* ---- memory ---- */

struct exchange *exchange_new(struct worker *w, struct conn *c)
{
    struct exchange *ex = w->spare;
    if (ex) {
        w->spare = ex->next;
        w->n_spare--;
    } else {
        ex = mem_alloc(EXCHANGE_BYTES);
        if (!ex) return NULL;
    }
    memset(ex, 0, sizeof *ex);
    ex->magic = EXCHANGE_MAGIC;
    ex->worker = w;
    ex->conn = c;
    ex->tip = ex->memory;
    w->n_exchanges++;
    count(&w->counters, COUNT_IN_FLIGHT, 1);
    return ex;
}

/* A style whose feed will never be. */
static void tell_closed(const struct watch_options *how)
{
    if (how->user && how->style->closed) how->style->closed(how->user);
}

void exchange_free(struct exchange *ex)
{
    struct worker *w = checked(ex)->worker;
    if (ex->watch) tell_closed(&ex->watch->how);
    if (ex->state == EX_ANSWERED) uncount(&w->counters, COUNT_ANSWER_BYTES, ex->out_len);
    spool_free(ex->spool);
    ex->spool = NULL;
    ex->next = w->dead;
    w->dead = ex;
    w->n_exchanges--;
    uncount(&w->counters, COUNT_IN_FLIGHT, 1);
}

/* Memory without a ceiling, for answers, whose size is ours to know. */
static void *take_memory(struct exchange *ex, size_t size)
{
    char *end = (char *)ex + EXCHANGE_BYTES;
    size_t aligned = (size + 7) & ~(size_t)7;
    if ((size_t)(end - ex->tip) >= aligned) {
        void *p = ex->tip;
        ex->tip += aligned;
        return p;
    }
    struct exchange_more *m = mem_alloc(sizeof *m + size);
    if (!m) return NULL;
    m->next = ex->more;
    ex->more = m;
    ex->n_more += size;
    return m->bytes;
}

void *exchange_alloc(struct exchange *ex, size_t size)
{
    checked(ex);
    if (size > EXCHANGE_MEMORY_BYTES || ex->n_more > EXCHANGE_MEMORY_BYTES - size) return NULL;
    return take_memory(ex, size);
}

static struct weir_slice copy_of(struct exchange *ex, struct weir_slice s)
{
    char *p = exchange_alloc(ex, s.len);
    if (!p) return slice_of(NULL, 0);
    if (s.len > 0) memcpy(p, s.ptr, s.len);
    return slice_of(p, s.len);
}

/* ---- the request ---- */

static bool is_good_id(struct weir_slice s)
{
    if (s.len == 0 || s.len > REQUEST_ID_BYTES) return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
        if (!is_good) return false;
    }
    return true;
}

static void make_id(struct exchange *ex)
{
    struct ulid id = {{0}};
    char text[ULID_TEXT_LEN + 1];
    /* Without randomness an id of zeros still tells that there was a request. */
    if (ulid_next(&ex->worker->ids, &id) != WEIR_OK) id = (struct ulid){{0}};
    ulid_format(text, id);
    memcpy(ex->id, "req_", 4);
    memcpy(ex->id + 4, text, ULID_TEXT_LEN);
    ex->id_len = 4 + ULID_TEXT_LEN;
}

void exchange_name(struct exchange *ex, const struct http_head *head)
{
    struct weir_slice id;
    if (!head || !http_find(head, "x-request-id", &id) || !is_good_id(id)) {
        make_id(ex);
        return;
    }
    memcpy(ex->id, id.ptr, id.len);
    ex->id_len = (unsigned char)id.len;
}

/* The parameters are decoded here and not with the route: the body may have come rounds later. */
static WEIR_MUST_CHECK enum weir_status decode_params(struct exchange *ex,
                                                      const struct http_head *head,
                                                      struct request *r)
{
    struct route_match match;
    struct weir_buf text;
    r->n_params = 0;
    if (router_find(ex->route, ex->route->method, head->path, &match) != WEIR_OK)
        return WEIR_BAD_REQUEST;
    for (unsigned i = 0; i < match.n_params; i++) {
        struct weir_slice raw = match.params[i];
        char *p = arena_alloc(&ex->worker->arena, raw.len);
        if (!p) return WEIR_NOMEM;
        /* Decoded text is never longer, so the buffer neither grows nor moves. */
        text = (struct weir_buf){.ptr = p, .cap = raw.len, .max = raw.len};
        if (!url_decode(raw, false, &text)) return WEIR_BAD_REQUEST;
        r->params[r->n_params++] = weir_buf_slice(&text);
    }
    return WEIR_OK;
}

void exchange_run(struct exchange *ex, const struct http_head *head, struct weir_slice body)
{
    struct worker *w = checked(ex)->worker;
    CHECK(!w->request.head);
    ex->state = EX_RUNNING;
    w->request.head = head;
    w->request.body = body;
    enum weir_status st = decode_params(ex, head, &w->request);
    if (st == WEIR_OK) ex->route->handle(ex);
    else if (st == WEIR_NOMEM) exchange_error(ex, st, NULL);
    else exchange_error(ex, st, "The path has an escape that cannot be read");
    w->request.head = NULL;
    arena_reset(&w->arena);
}

struct server *exchange_server(struct exchange *ex)
{
    return checked(ex)->worker->server;
}

struct worker *exchange_worker(struct exchange *ex)
{
    return checked(ex)->worker;
}

static const struct request *request_of(const struct exchange *ex)
{
    const struct request *r = &checked(ex)->worker->request;
    CHECK(r->head); /* borrowed until the handler returns */
    return r;
}

const struct http_head *exchange_head(const struct exchange *ex)
{
    return request_of(ex)->head;
}

struct weir_slice exchange_body(const struct exchange *ex)
{
    return request_of(ex)->body;
}

struct spool *exchange_spool(struct exchange *ex)
{
    return checked(ex)->spool;
}

struct weir_slice exchange_param(const struct exchange *ex, unsigned i)
{
    const struct request *r = request_of(ex);
    CHECK(i < r->n_params);
    return r->params[i];
}

bool exchange_query(struct exchange *ex, const char *name, struct weir_slice *value)
{
    struct weir_slice raw;
    if (!query_find(request_of(ex)->head->query, name, &raw)) return false;
    char *p = arena_alloc(&ex->worker->arena, raw.len + 1);
    if (!p) return false;
    struct weir_buf text = {.ptr = p, .cap = raw.len + 1, .max = raw.len + 1};
    /* What cannot be decoded is there all the same, and has to be refused, not overlooked. */
    *value = url_decode(raw, true, &text) ? weir_buf_slice(&text) : raw;
    return true;
}

unsigned exchange_query_count(struct exchange *ex, const char *name)
{
    unsigned n = 0;
    struct weir_slice query = request_of(ex)->head->query;
    struct weir_slice value;
    while (query_find(query, name, &value)) {
        n++;
        query = slice_from(query, (size_t)(value.ptr + value.len - query.ptr));
    }
    return n;
}

bool exchange_is_public(const struct exchange *ex)
{
    return checked(ex)->worker->server->options.is_open;
}

const struct access *exchange_access(const struct exchange *ex)
{
    return checked(ex)->access;
}

bool exchange_is_local(const struct exchange *ex)
{
    return checked(ex)->is_local;
}

struct weir_slice exchange_request_id(const struct exchange *ex)
{
    return slice_of(checked(ex)->id, ex->id_len);
}

void exchange_set_data(struct exchange *ex, void *data)
{
    checked(ex)->data = data;
}

void *exchange_data(const struct exchange *ex)
{
    return checked(ex)->data;
}

int64_t exchange_wall_ms(struct exchange *ex)
{
    return worker_wall_ms(checked(ex)->worker);
}

const struct clock *exchange_clock(struct exchange *ex)
{
    return checked(ex)->worker->clock;
}

bool exchange_is_tls(const struct exchange *ex)
{
    return checked(ex)->conn && ex->conn->sock.tls;
}

/* ---- the answer ---- */

void exchange_field(struct exchange *ex, const char *name, struct weir_slice value)
{
    struct answer_field *f = exchange_alloc(checked(ex), sizeof *f);
    if (!f) return;
    *f = (struct answer_field){.next = ex->fields, .name = name, .value = copy_of(ex, value)};
    ex->fields = f;
}

static const char *method_name(enum http_method m)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",         [HTTP_DELETE] = "DELETE", [HTTP_PATCH] = "PATCH",
        [HTTP_OPTIONS] = "OPTIONS", [HTTP_OTHER] = "OTHER"};
    return names[m];
}

void exchange_log_line(struct worker *w, const struct conn *c, const struct stream_log *what,
                       int status, uint64_t n_bytes)
{
    char peer[ADDR_TEXT_BYTES] = "gone";
    if (c) peer_format(&c->peer, peer);
    struct log_line line = {
        .wall_ms = worker_wall_ms(w),
        .request_id = slice_of(what->id, what->id_len),
        .method = method_name(what->what.method),
        .path = what->what.path,
        .route = what->route ? what->route->name : "",
        .status = status,
        .n_bytes = n_bytes,
        .duration_us = (worker_now_ns(w) - what->started_ns) / 1000,
        .peer = peer,
        .key = what->key,
    };
    log_add(&w->log, &line);
}

static void fill_stream_log(const struct exchange *ex, struct stream_log *out)
{
    *out = (struct stream_log){.what = *ex->logged,
                               .route = ex->route,
                               .started_ns = ex->started_ns,
                               .id_len = ex->id_len};
    memcpy(out->id, ex->id, ex->id_len);
    if (ex->access) memcpy(out->key, ex->access->name, sizeof out->key);
    memcpy(out->path, ex->logged->path.ptr, ex->logged->path.len);
    out->what.path.ptr = out->path;
}

struct stream_log *exchange_stream_log(const struct exchange *ex)
{
    struct stream_log *l = ex->logged ? mem_alloc(sizeof *l) : NULL;
    if (l) fill_stream_log(ex, l);
    return l;
}

static void log_answer(struct exchange *ex, size_t n_bytes)
{
    struct stream_log what;
    if (!ex->logged || ex->is_feed) return;
    fill_stream_log(ex, &what);
    exchange_log_line(ex->worker, ex->conn, &what, ex->status, n_bytes);
}

static unsigned route_index(const struct route *r)
{
    size_t i = r ? (size_t)(r - routes) : COUNTERS_NO_ROUTE;
    return i < COUNTERS_NO_ROUTE ? (unsigned)i : COUNTERS_NO_ROUTE;
}

/* The answer is there: the connection may write it when it is its turn. */
static void finish(struct exchange *ex, size_t n_bytes)
{
    struct worker *w = ex->worker;
    struct conn *c = ex->conn;
    unsigned class = (unsigned)ex->status / 100;
    counter_add(&w->counters.answers[route_index(ex->route)][class], 1);
    histogram_add(&w->counters.request_us, (worker_now_ns(w) - ex->started_ns) / 1000);
    log_answer(ex, n_bytes);
    ex->state = EX_ANSWERED;
    if (c) {
        conn_answered(c, ex);
        return;
    }
    exchange_free(ex);
    worker_look_done(w);
}

static void put_origin(struct weir_buf *b, const struct exchange *ex)
{
    http_write_field(b, "Access-Control-Allow-Origin", ex->origin);
}

static void put_fields(struct weir_buf *b, const struct answer_field *f)
{
    for (; f; f = f->next) http_write_field(b, f->name, f->value);
}

static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";

/* Everything of the head but what says how long the body is; and the end of the head. */
static struct weir_buf *begin_head(struct exchange *ex, int status)
{
    struct worker *w = ex->worker;
    struct weir_buf *b = &w->answer;
    CHECK(ex->state != EX_ANSWERED);
    ex->status = status;
    if (w->is_stopping && ex->conn && ex->conn->newest == ex) ex->closes = true;
    weir_buf_reset(b);
    /* An interim answer that was given out may have gone in part: it stays in front. */
    if (ex->has_interim) weir_buf_append(b, interim, sizeof interim - 1);
    http_write_status(b, status);
    http_write_field(b, "Date", worker_date(w));
    http_write_field(b, "X-Request-Id", slice_of(ex->id, ex->id_len));
    put_fields(b, ex->fields);
    if (w->server->options.cors_origin) http_write_field(b, "Vary", SLICE("Origin"));
    if (ex->origin.len > 0) put_origin(b, ex);
    if (ex->closes) http_write_field(b, "Connection", SLICE("close"));
    else if (ex->is_http_1_0) http_write_field(b, "Connection", SLICE("keep-alive"));
    return b;
}

/* The whole answer becomes one piece of the exchange's memory. */
static void put_out(struct exchange *ex, const struct weir_buf *head, struct weir_slice body)
{
    bool is_whole = weir_buf_status(head) == WEIR_OK;
    char *p = is_whole ? take_memory(ex, head->len + body.len) : NULL;
    if (!p) {
        /* Not even an answer can be had: the connection ends without one. */
        ex->out = NULL;
        ex->out_len = 0;
        ex->closes = true;
        return;
    }
    memcpy(p, head->ptr, head->len);
    if (body.len > 0) memcpy(p + head->len, body.ptr, body.len);
    ex->out = p;
    ex->out_len = head->len + body.len;
    ex->cost += ex->out_len;
    count(&ex->worker->counters, COUNT_ANSWER_BYTES, ex->out_len);
}

void exchange_text(struct exchange *ex, int status, const char *media_type, struct weir_slice text)
{
    struct weir_buf *b = begin_head(checked(ex), status);
    http_write_field(b, "Content-Type", weir_slice_of(media_type));
    /* A handler of HEAD that has no body at hand does not know how long that would be. */
    if (!ex->is_head || text.len > 0) http_write_u64_field(b, "Content-Length", text.len);
    http_end_head(b);
    put_out(ex, b, ex->is_head ? slice_of(NULL, 0) : text);
    finish(ex, ex->is_head ? 0 : text.len);
}

void exchange_json(struct exchange *ex, int status, struct weir_slice json)
{
    exchange_text(ex, status, "application/json", json);
}

void exchange_empty(struct exchange *ex, int status)
{
    struct weir_buf *b = begin_head(checked(ex), status);
    /* 204 and 304 have no body by definition, and must not speak of its length. */
    if (status != 204 && status != 304) http_write_u64_field(b, "Content-Length", 0);
    http_end_head(b);
    put_out(ex, b, slice_of(NULL, 0));
    finish(ex, 0);
}

/* The end of the head of an answer whose length nobody knows. */
static void finish_stream_head(struct exchange *ex, struct weir_buf *b)
{
    if (!ex->closes && !ex->is_http_1_0) http_write_field(b, "Connection", SLICE("keep-alive"));
    if (!ex->is_http_1_0) http_write_field(b, "Transfer-Encoding", SLICE("chunked"));
    http_end_head(b);
    put_out(ex, b, slice_of(NULL, 0));
    finish(ex, 0);
}

void exchange_stream(struct exchange *ex, const struct stream_head *head)
{
    CHECK(checked(ex)->state == EX_WATCHING && ex->conn);
    ex->is_feed = true;
    if (ex->is_http_1_0) ex->closes = true;
    feed_set_style(ex->conn, head);
    struct weir_buf *b = begin_head(ex, 200);
    http_write_field(b, "Content-Type", weir_slice_of(head->media_type));
    finish_stream_head(ex, b);
}

void exchange_feed_head(struct exchange *ex)
{
    bool has_body = !checked(ex)->is_head;
    ex->is_feed = has_body;
    if (ex->is_http_1_0 && has_body) ex->closes = true;
    struct weir_buf *b = begin_head(ex, 200);
    http_write_field(b, "Content-Type", SLICE("text/event-stream"));
    http_write_field(b, "Cache-Control", SLICE("no-cache"));
    http_write_field(b, "X-Accel-Buffering", SLICE("no"));
    finish_stream_head(ex, b);
}

bool is_rpc_path(struct weir_slice path)
{
    static const char root[] = "/rpc/";
    return path.len >= sizeof root - 1 && memcmp(path.ptr, root, sizeof root - 1) == 0;
}

/* As the clients of calls name them. What they have no name for goes by the nearest. */
static const char *rpc_code(int http)
{
    static const struct {
        int http;
        const char *code;
    } codes[] = {{400, "BAD_REQUEST"},
                 {401, "UNAUTHORIZED"},
                 {403, "FORBIDDEN"},
                 {404, "NOT_FOUND"},
                 {405, "METHOD_NOT_SUPPORTED"},
                 {406, "NOT_ACCEPTABLE"},
                 {408, "TIMEOUT"},
                 {409, "CONFLICT"},
                 {412, "PRECONDITION_FAILED"},
                 {413, "PAYLOAD_TOO_LARGE"},
                 {415, "UNSUPPORTED_MEDIA_TYPE"},
                 {422, "UNPROCESSABLE_CONTENT"},
                 {429, "TOO_MANY_REQUESTS"},
                 {501, "NOT_IMPLEMENTED"},
                 {502, "BAD_GATEWAY"},
                 {503, "SERVICE_UNAVAILABLE"}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].http == http) return codes[i].code;
    return http < 500 ? "BAD_REQUEST" : "INTERNAL_SERVER_ERROR";
}

void exchange_blame(struct exchange *ex, struct weir_slice field)
{
    checked(ex)->blamed = copy_of(ex, field);
}

static void put_rpc_error(struct weir_buf *b, const struct exchange *ex, enum weir_status code,
                          const char *message)
{
    int http = weir_status_http(code);
    weir_buf_append_str(b, "{\"json\":{\"defined\":false,\"code\":\"");
    weir_buf_append_str(b, rpc_code(http));
    weir_buf_printf(b, "\",\"status\":%d,\"message\":\"", http);
    escape_json(b, weir_slice_of(message));
    weir_buf_append_str(b, "\",\"data\":");
    if (ex->blamed.len > 0) {
        weir_buf_append_str(b, "{\"field\":\"");
        escape_json(b, ex->blamed);
        weir_buf_append_str(b, "\"}");
    } else {
        weir_buf_append_str(b, "null");
    }
    weir_buf_append_str(b, "}}");
}

static void put_error(struct weir_buf *b, const struct exchange *ex, enum weir_status code,
                      const char *message)
{
    if (ex->is_rpc) {
        put_rpc_error(b, ex, code, message);
        return;
    }
    weir_buf_append_str(b, "{\"error\":{\"code\":\"");
    weir_buf_append_str(b, weir_status_name(code));
    weir_buf_append_str(b, "\",\"message\":\"");
    escape_json(b, weir_slice_of(message));
    weir_buf_append_str(b, "\",\"request_id\":\"");
    escape_json(b, slice_of(ex->id, ex->id_len));
    weir_buf_append_str(b, "\",\"docs_url\":\"/docs/errors#");
    weir_buf_append_str(b, weir_status_name(code));
    weir_buf_append_str(b, "\"}}");
}

static bool says_retry(enum weir_status code)
{
    int http = weir_status_http(code);
    return http == 503 || http == 429;
}

static bool has_field(const struct exchange *ex, const char *name)
{
    const struct answer_field *f = ex->fields;
    while (f && strcmp(f->name, name) != 0) f = f->next;
    return f != NULL;
}

/* An escaped byte takes six; the rest is names of ours. */
enum { ERROR_MESSAGE_BYTES = 512, ERROR_BYTES = 6 * ERROR_MESSAGE_BYTES + 1024 };

void exchange_error(struct exchange *ex, enum weir_status code, const char *format, ...)
{
    char message[ERROR_MESSAGE_BYTES];
    char bytes[ERROR_BYTES];
    struct weir_buf json = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    va_list args;
    CHECK(code != WEIR_OK);
    if (format) {
        va_start(args, format);
        vsnprintf(message, sizeof message, format, args);
        va_end(args);
    }
    put_error(&json, checked(ex), code, format ? message : weir_status_text(code));
    if (says_retry(code) && !has_field(ex, "Retry-After"))
        exchange_field(ex, "Retry-After", SLICE("1"));
    counter_add(&ex->worker->counters.errors[code], 1);
    exchange_json(ex, weir_status_http(code), weir_buf_slice(&json));
}

/* ---- watching and committing ---- */

void exchange_watch(struct exchange *ex, struct weir_slice log, const struct watch_options *how)
{
    CHECK(checked(ex)->state == EX_RUNNING);
    struct watch_order *order = exchange_alloc(ex, sizeof *order);
    if (!ex->conn || ex->is_head || !order) {
        /* Nobody will read it, or nobody may. */
        if (order) exchange_feed_head(ex);
        else exchange_error(ex, WEIR_NOMEM, NULL);
        tell_closed(how);
        return;
    }
    *order = (struct watch_order){.how = *how, .log = copy_of(ex, log)};
    ex->watch = order;
    ex->state = EX_WATCHING;
    conn_mark_dirty(ex->conn);
}

static void on_committed(struct post *p)
{
    struct exchange *ex = checked(CONTAINER_OF(p, struct exchange, post));
    /* Freed by the thread that made it, which is what malloc() is good at. */
    commit_free(ex->commit);
    ex->commit = NULL;
    if (ex->worker->is_aborted) exchange_free(ex);
    else ex->then(ex, &ex->result);
}

/* The committer's thread. */
static void on_commit_done(void *user, const struct commit_result *result)
{
    struct exchange *ex = user;
    ex->result = *result;
    loop_post(ex->worker->loop, &ex->post);
}

void exchange_commit(struct exchange *ex, struct commit *c, committed_fn then)
{
    checked(ex)->commit = c;
    exchange_commit_kept(ex, c, then);
}

void exchange_commit_kept(struct exchange *ex, struct commit *c, committed_fn then)
{
    CHECK(checked(ex)->state == EX_RUNNING);
    ex->then = then;
    ex->post.run = on_committed;
    commit_run_add(&ex->worker->commits, c, on_commit_done, ex);
}
