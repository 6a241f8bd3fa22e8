/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1/messages and /v1/chat/completions: the gateway (gateway/gateway.h), and its streams
 * under /v1/streams. A request is looked at by a thread of the store's, since that takes a while;
 * the answer, or the stream, is given on its loop. docs/gateway.md has the requests.
 */
#include "gateway/gateway.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "gateway/rewrite.h"
#include "io/loop.h"
#include "serve/resource.h"

enum {
    HEARTBEAT_MS = 15000,
    FIELD_BYTES = 256,               /* of a field that is passed on */
    EVENT_BYTES = STORE_FRAME_BYTES, /* of an event with its values */
};

/* ---- reading a stream ---- */

/* Who reads which stream; until the style's `closed`, or to the answer. */
struct reading {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct gateway *gateway;
    char owner[GATEWAY_OWNER_BYTES];
    char id[GATEWAY_ID_LEN + 1];
    struct watch_options how;
    enum weir_status status;
    struct guard *guard; /* NULL: nothing is to be put back */
    struct weir_buf data, shown;
};

static void reading_free(struct reading *r)
{
    guard_free(r->guard);
    weir_buf_fini(&r->data);
    weir_buf_fini(&r->shown);
    mem_free(r);
}

static void put_lines(struct weir_buf *out, struct weir_slice data)
{
    while (true) {
        const char *end = data.len > 0 ? memchr(data.ptr, '\n', data.len) : NULL;
        size_t len = end ? (size_t)(end - data.ptr) : data.len;
        weir_buf_append(out, "data: ", 6);
        weir_buf_append(out, data.ptr, len);
        weir_buf_append(out, "\n", 1);
        if (!end) return;
        data = slice_from(data, len + 1);
    }
}

static bool take_line(struct weir_slice *rest, struct weir_slice *line)
{
    const char *end = rest->len > 0 ? memchr(rest->ptr, '\n', rest->len) : NULL;
    if (!end) return false;
    *line = slice_of(rest->ptr, (size_t)(end - rest->ptr));
    *rest = slice_from(*rest, line->len + 1);
    return true;
}

/* The lines of an event as they are kept, its data with the values. */
static void put_event(struct reading *r, struct weir_buf *out, struct weir_slice event)
{
    static const char data_name[] = "data: ";
    enum { NAME_LEN = sizeof data_name - 1 };
    struct weir_slice line;
    bool has_data = false;
    weir_buf_reset(&r->data);
    weir_buf_reset(&r->shown);
    while (take_line(&event, &line) && line.len > 0) {
        if (line.len < NAME_LEN || memcmp(line.ptr, data_name, NAME_LEN) != 0) {
            weir_buf_append_slice(out, line);
            weir_buf_append(out, "\n", 1);
            continue;
        }
        if (has_data) weir_buf_append(&r->data, "\n", 1);
        weir_buf_append_slice(&r->data, slice_from(line, NAME_LEN));
        has_data = true;
    }
    if (weir_buf_status(&r->data) == WEIR_OK &&
        reveal_json(guard_tokens(r->guard), weir_buf_slice(&r->data), &r->shown) == WEIR_OK)
        put_lines(out, weir_buf_slice(&r->shown));
    else put_lines(out, weir_buf_slice(&r->data));
    weir_buf_append(out, "\n", 1);
}

static void begin_stream(struct exchange *ex, const struct feed_start *start)
{
    (void)start;
    exchange_stream(ex, &(struct stream_head){.media_type = "text/event-stream"});
}

static void write_events(struct weir_buf *out, const struct feed_piece_info *piece,
                         struct weir_slice events, unsigned part)
{
    size_t len;
    (void)part;
    while (events.len > 0 && (len = chunk_event_length(events)) > 0) {
        put_event(piece->user, out, slice_of(events.ptr, len));
        events = slice_from(events, len);
    }
}

static void closed(void *user)
{
    reading_free(user);
}

static const struct feed_style with_values = {
    .begin = begin_stream, .write = write_events, .closed = closed};

static void watch(struct post *post)
{
    struct reading *r = CONTAINER_OF(post, struct reading, post);
    struct exchange *ex = r->ex;
    char name[GATEWAY_LOG_BYTES];
    struct weir_slice log = gateway_log(name, weir_slice_of(r->owner), weir_slice_of(r->id));
    struct watch_options how = r->how;
    if (r->status != WEIR_OK) {
        enum weir_status st = r->status;
        reading_free(r);
        if (st == WEIR_NOT_FOUND) exchange_error(ex, st, "there is no such stream, or no more");
        else resource_store_error(ex, st);
        return;
    }
    exchange_field(ex, "X-Weir-Stream", weir_slice_of(r->id));
    if (r->guard) {
        how.style = &with_values;
        how.user = r;
    } else {
        reading_free(r);
    }
    exchange_watch(ex, log, &how);
}

/* By a thread of the store's. */
static void find_map(void *user)
{
    struct reading *r = user;
    r->status = gateway_map(r->gateway, weir_slice_of(r->owner), weir_slice_of(r->id), &r->guard);
    loop_post(r->loop, &r->post);
}

static void read_stream(struct exchange *ex, struct weir_slice id, const struct watch_options *how)
{
    struct weir_slice owner = resource_owner(ex);
    struct reading *r = mem_zalloc(sizeof *r);
    if (!r) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    r->ex = ex;
    r->loop = worker_loop(exchange_worker(ex));
    r->gateway = server_gateway(exchange_server(ex));
    r->post.run = watch;
    r->how = *how;
    r->how.heartbeat_ms = HEARTBEAT_MS;
    if (r->how.from < GATEWAY_FIRST) r->how.from = GATEWAY_FIRST;
    memcpy(r->owner, owner.ptr, owner.len);
    memcpy(r->id, id.ptr, id.len);
    weir_buf_init(&r->data, EVENT_BYTES);
    weir_buf_init(&r->shown, 4 * (size_t)EVENT_BYTES);
    if (store_later(server_store(exchange_server(ex)), find_map, r) == WEIR_OK) return;
    reading_free(r);
    resource_store_error(ex, WEIR_NOMEM);
}

void gateway_watch(struct exchange *ex)
{
    struct watch_options how = {0};
    const char *why = resource_watch_from(ex, &how);
    if (why) exchange_error(ex, WEIR_BAD_FIELD, "%s", why);
    else read_stream(ex, exchange_param(ex, 0), &how);
}

/* ---- forwarding ---- */

struct forwarding {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct gateway *gateway;
    enum model_type type;
    char owner[GATEWAY_OWNER_BYTES];
    char version[FIELD_BYTES], beta[FIELD_BYTES];
    struct weir_slice body;

    /* What came of it. */
    char id[GATEWAY_ID_LEN + 1]; /* empty: it does not stream */
    int http_status;
    struct weir_buf answer;
    char retry_after[FIELD_BYTES], request_id[FIELD_BYTES];
    char bytes[]; /* of the body */
};

static void finish(struct post *post)
{
    struct forwarding *f = CONTAINER_OF(post, struct forwarding, post);
    struct exchange *ex = f->ex;
    if (f->id[0]) {
        read_stream(ex, weir_slice_of(f->id), &(struct watch_options){.from = GATEWAY_FIRST});
    } else {
        if (f->retry_after[0]) exchange_field(ex, "Retry-After", weir_slice_of(f->retry_after));
        if (f->request_id[0]) exchange_field(ex, "Request-Id", weir_slice_of(f->request_id));
        exchange_json(ex, f->http_status, weir_buf_slice(&f->answer));
    }
    weir_buf_fini(&f->answer);
    mem_free(f);
}

static void on_open(void *user, const char *id)
{
    struct forwarding *f = user;
    snprintf(f->id, sizeof f->id, "%s", id);
    loop_post(f->loop, &f->post);
}

/* One that would not fit is left out. */
static void keep_field(char out[FIELD_BYTES], struct weir_slice value)
{
    if (value.len == 0 || value.len >= FIELD_BYTES) return;
    memcpy(out, value.ptr, value.len);
    out[value.len] = '\0';
}

static void on_answer(void *user, const struct gateway_answer *a)
{
    struct forwarding *f = user;
    f->http_status = a->http_status;
    weir_buf_append_slice(&f->answer, a->body);
    keep_field(f->retry_after, a->retry_after);
    keep_field(f->request_id, a->request_id);
    loop_post(f->loop, &f->post);
}

/* By a thread of the store's. */
static void forward(void *user)
{
    struct forwarding *f = user;
    struct gateway_request request = {.type = f->type,
                                      .owner = weir_slice_of(f->owner),
                                      .body = f->body,
                                      .version = weir_slice_of(f->version),
                                      .beta = weir_slice_of(f->beta),
                                      .sink = {on_open, on_answer, f}};
    gateway_forward(f->gateway, &request);
}

static void take_field(struct exchange *ex, const char *name, char out[FIELD_BYTES])
{
    struct weir_slice value;
    if (http_find(exchange_head(ex), name, &value)) keep_field(out, value);
}

static void post(struct exchange *ex, enum model_type type)
{
    struct weir_slice body = exchange_body(ex), owner = resource_owner(ex);
    struct forwarding *f = mem_zalloc(sizeof *f + body.len);
    if (!f) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    f->ex = ex;
    f->loop = worker_loop(exchange_worker(ex));
    f->gateway = server_gateway(exchange_server(ex));
    f->type = type;
    f->post.run = finish;
    memcpy(f->owner, owner.ptr, owner.len);
    memcpy(f->bytes, body.ptr, body.len);
    f->body = slice_of(f->bytes, body.len);
    weir_buf_init(&f->answer, 4 * (size_t)GATEWAY_ANSWER_BYTES);
    if (type == MODEL_ANTHROPIC) take_field(ex, "anthropic-version", f->version);
    if (type == MODEL_ANTHROPIC) take_field(ex, "anthropic-beta", f->beta);
    if (store_later(server_store(exchange_server(ex)), forward, f) == WEIR_OK) return;
    mem_free(f);
    resource_store_error(ex, WEIR_NOMEM);
}

void gateway_messages(struct exchange *ex)
{
    post(ex, MODEL_ANTHROPIC);
}

void gateway_completions(struct exchange *ex)
{
    post(ex, MODEL_OPENAI);
}
