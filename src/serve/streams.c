/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/streams/:name: append JSON, watch it as events, ask for the state. Dropping is ds_write.c's.
 *
 * A stream is the log "s/NAME", made by its first append. Its events have no type unless the
 * request gives one, so that a browser's onmessage gets them. The data are the JSON as it was
 * sent, on one line: in valid JSON a raw CR or LF is white space between tokens, and becomes a
 * space.
 *
 * The append is the hot path of the whole server: one check of the body, one copy into the
 * frame, one into the commit.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "codec/json_check.h"
#include "gateway/gateway.h"
#include "io/loop.h"
#include "serve/resource.h"
#include "stream/stream.h"

enum {
    TYPE_BYTES = 64,          /* longest type of an event */
    BATCH_EVENTS = 10000,     /* most elements of a batch */
    SMALL_FRAME_BYTES = 2048, /* frames up to this need no memory from the heap */
    HEARTBEAT_MS = 30000,     /* a comment in silence: for proxies, and to find dead peers */
    PROBE_BEAT_MS = 200, /* for whoever looks for proxies: as often as deadlines are looked at */
    ID_DIGITS = RESOURCE_ID_DIGITS,
    ANSWER_BYTES = 80,
};

/* The log of the stream that the request names; false when that was answered with an error. */
static bool find_log(struct exchange *ex, struct stream_log_text *log)
{
    struct weir_slice name = exchange_param(ex, 0);
    if (!stream_is_name(name)) {
        exchange_error(ex, WEIR_BAD_FIELD,
                       "a stream's name is 1 to %d bytes of UTF-8 without control characters",
                       STREAM_NAME_BYTES);
        return false;
    }
    if (gateway_is_id(name)) {
        exchange_error(ex, WEIR_BAD_FIELD, "a name like this is that of an answer of the gateway");
        return false;
    }
    stream_log_name(log, name);
    return true;
}

static struct weir_slice log_slice(const struct stream_log_text *log)
{
    return slice_of(log->bytes, log->len);
}

/* A parameter that is true or false; false when that was answered with an error. */
static bool get_flag(struct exchange *ex, const char *name, bool *flag)
{
    struct weir_slice value;
    if (!exchange_query(ex, name, &value)) return true;
    *flag = weir_slice_is(value, "1") || weir_slice_is(value, "true");
    if (*flag || weir_slice_is(value, "0") || weir_slice_is(value, "false")) return true;
    exchange_error(ex, WEIR_BAD_FIELD, "%s is true or false", name);
    return false;
}

/* ---- appending ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_type(struct weir_slice type)
{
    if (type.len == 0 || type.len > TYPE_BYTES) return false;
    for (size_t i = 0; i < type.len; i++) {
        char c = type.ptr[i];
        bool is_letter = lower(c) >= 'a' && lower(c) <= 'z';
        if (!is_letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-') return false;
    }
    return true;
}

struct append {
    struct commit *commit;
    struct weir_slice log;
    struct weir_slice type; /* empty: none */
    size_t n_events;
    bool has_memory;
};

static char *put(char *to, const char *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return to + len;
}

static void end_lines_with_spaces(char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] == '\n' || bytes[i] == '\r') bytes[i] = ' ';
}

/* "event: TYPE\ndata: JSON\n\n". */
static void append_event(struct append *a, struct weir_slice json, bool has_line_ends)
{
    char small[SMALL_FRAME_BYTES];
    size_t room = sizeof "event: \ndata: \n\n" + a->type.len + json.len;
    char *frame = room <= sizeof small ? small : mem_alloc(room);
    if (!frame) {
        a->has_memory = false;
        return;
    }
    char *p = frame;
    if (a->type.len > 0) {
        p = put(p, "event: ", 7);
        p = put(p, a->type.ptr, a->type.len);
        *p++ = '\n';
    }
    p = put(p, "data: ", 6);
    p = put(p, json.ptr, json.len);
    if (has_line_ends) end_lines_with_spaces(p - json.len, json.len);
    p = put(p, "\n\n", 2);
    commit_append(a->commit, a->log, slice_of(frame, (size_t)(p - frame)));
    a->n_events++;
    if (frame != small) mem_free(frame);
}

/* Beyond the ceiling elements are counted only: the request will be refused. */
static void append_element(void *user, struct weir_slice json)
{
    struct append *a = user;
    if (a->n_events >= BATCH_EVENTS) a->n_events++;
    else append_event(a, json, true);
}

static void refuse_json(struct exchange *ex, enum weir_status st, const struct json_found *found)
{
    if (exchange_body(ex).len == 0)
        exchange_error(ex, WEIR_BAD_REQUEST, "the body is empty; it has to be one JSON value");
    else if (st == WEIR_JSON_SYNTAX || st == WEIR_JSON_TRUNCATED)
        exchange_error(ex, WEIR_BAD_REQUEST, "the body is not JSON: expected %s at byte %zu",
                       found->expected, found->offset);
    else
        exchange_error(ex, WEIR_BAD_REQUEST, "the body is not JSON: %s, at byte %zu",
                       weir_status_text(st), found->offset);
}

/* All elements of the body; false when that was answered with an error. */
static bool append_batch(struct exchange *ex, struct append *a)
{
    struct json_found found;
    enum weir_status st = json_check(exchange_body(ex), append_element, a, &found);
    if (st != WEIR_OK) {
        refuse_json(ex, st, &found);
        return false;
    }
    if (found.type != WEIR_JSON_ARRAY || a->n_events == 0) {
        exchange_error(ex, WEIR_BAD_REQUEST, "a batch is an array with one element at least");
        return false;
    }
    if (a->n_events > BATCH_EVENTS) {
        exchange_error(ex, WEIR_TOO_LARGE, "a batch has at most %d elements, not %zu", BATCH_EVENTS,
                       a->n_events);
        return false;
    }
    return true;
}

static bool append_one(struct exchange *ex, struct append *a)
{
    struct json_found found;
    enum weir_status st = json_check(exchange_body(ex), NULL, NULL, &found);
    if (st != WEIR_OK) {
        refuse_json(ex, st, &found);
        return false;
    }
    append_event(a, found.value, found.has_line_ends);
    return true;
}

static char *put_number(char *to, uint64_t n)
{
    char digits[ID_DIGITS];
    size_t i = sizeof digits;
    do digits[--i] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    return put(to, digits + i, sizeof digits - i);
}

static void refuse_append(struct exchange *ex, enum weir_status st)
{
    if (st == WEIR_BAD_TYPE)
        exchange_error(ex, WEIR_CONFLICT, "the stream is not one of JSON: append by /v1/stream/");
    else if (st == WEIR_GONE) exchange_error(ex, st, "the stream was deleted and has forks left");
    else resource_store_error(ex, st);
}

static void answer_append(struct exchange *ex, const struct commit_result *result)
{
    char json[ANSWER_BYTES];
    if (result->status != WEIR_OK) {
        refuse_append(ex, result->status);
        return;
    }
    char *end = put_number(put(json, "{\"id\":", 6), result->last);
    *end++ = '}';
    exchange_json(ex, 201, slice_of(json, (size_t)(end - json)));
}

static void answer_batch(struct exchange *ex, const struct commit_result *result)
{
    char json[ANSWER_BYTES];
    if (result->status != WEIR_OK) {
        refuse_append(ex, result->status);
        return;
    }
    int len = snprintf(json, sizeof json, "{\"first\":%llu,\"last\":%llu}",
                       (unsigned long long)result->first, (unsigned long long)result->last);
    exchange_json(ex, 201, slice_of(json, (size_t)len));
}

static bool check_append(struct exchange *ex, struct weir_slice *type, bool *is_batch)
{
    if (!resource_is_json(ex)) {
        exchange_error(ex, WEIR_BAD_TYPE, "the body has to be application/json");
        return false;
    }
    if (!get_flag(ex, "batch", is_batch)) return false;
    if (!exchange_query(ex, "event", type) || is_type(*type)) return true;
    exchange_error(ex, WEIR_BAD_FIELD, "an event's type is 1 to %d of A-Z a-z 0-9 . _ -",
                   TYPE_BYTES);
    return false;
}

/* A small one lives with its request. */
static struct commit *new_commit(struct exchange *ex, size_t expected_bytes)
{
    size_t size = commit_size(expected_bytes);
    void *memory = size <= SMALL_FRAME_BYTES ? exchange_alloc(ex, size) : NULL;
    return memory ? commit_new_in(memory, size) : commit_new(expected_bytes);
}

void streams_append(struct exchange *ex)
{
    struct stream_log_text log;
    struct append a = {.has_memory = true};
    bool is_batch = false;
    if (!find_log(ex, &log) || !check_append(ex, &a.type, &is_batch)) return;
    a.log = log_slice(&log);
    a.commit = new_commit(ex, exchange_body(ex).len + log.len + TYPE_BYTES);
    a.has_memory = a.commit != NULL;
    bool is_good = !a.has_memory || (is_batch ? append_batch(ex, &a) : append_one(ex, &a));
    struct weir_slice *name = exchange_alloc(ex, sizeof *name + log.len);
    if (is_good && a.has_memory && name) {
        /* The log's name without its prefix is the stream's. */
        size_t prefix_len = log.len - exchange_param(ex, 0).len;
        memcpy(name + 1, log.bytes, log.len);
        *name = slice_of((char *)(name + 1) + prefix_len, log.len - prefix_len);
        commit_decide(a.commit, false, stream_decide_json, name);
        exchange_commit(ex, a.commit, is_batch ? answer_batch : answer_append);
        return;
    }
    if (is_good) resource_store_error(ex, WEIR_NOMEM);
    if (a.commit) commit_free(a.commit);
}

/* ---- the state ---- */

/* A question about a log that only the disk can answer. */
struct asked {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct log_read read;
    struct weir_slice name;
};

static void answer_state(struct exchange *ex, struct weir_slice name, const struct log_read *read)
{
    char digits[ID_DIGITS + 2];
    struct weir_buf json;
    if (read->status != WEIR_OK) {
        resource_store_error(ex, read->status);
        return;
    }
    if (!read->state.exists) {
        exchange_error(ex, WEIR_NOT_FOUND, "there is no such stream");
        return;
    }
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)read->state.last);
    exchange_field(ex, "Weir-Last-Id", slice_of(digits, (size_t)len));
    exchange_field(ex, "Weir-Sealed", read->state.is_sealed ? SLICE("true") : SLICE("false"));
    weir_buf_init(&json, STREAM_NAME_BYTES * 6 + ANSWER_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "name");
    weir_json_put_string(&json, name);
    weir_json_put_key(&json, "last");
    weir_json_put_uint(&json, read->state.last);
    weir_json_put_key(&json, "sealed");
    weir_json_put_bool(&json, read->state.is_sealed);
    weir_json_put_end_object(&json);
    if (weir_buf_status(&json) == WEIR_OK) exchange_json(ex, 200, weir_buf_slice(&json));
    else resource_store_error(ex, WEIR_NOMEM);
    weir_buf_fini(&json);
}

static void finish_state(struct post *post)
{
    struct asked *asked = CONTAINER_OF(post, struct asked, post);
    answer_state(asked->ex, asked->name, &asked->read);
}

/* By a thread of the store's. */
static void state_was_read(void *user, const struct log_read *read)
{
    struct asked *asked = user;
    CHECK(read->n_chunks == 0);
    asked->read = *read;
    loop_post(asked->loop, &asked->post);
}

static void ask_store(struct exchange *ex, const struct stream_log_text *log)
{
    struct weir_slice name = exchange_param(ex, 0);
    struct asked *asked = exchange_alloc(ex, sizeof *asked + name.len);
    if (!asked) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    memcpy(asked + 1, name.ptr, name.len);
    *asked = (struct asked){
        .post = {.run = finish_state},
        .ex = ex,
        .loop = worker_loop(exchange_worker(ex)),
        .name = slice_of(asked + 1, name.len),
    };
    store_read_later(server_store(exchange_server(ex)), log_slice(log), 1, 0, state_was_read,
                     asked);
}

void streams_state(struct exchange *ex)
{
    struct stream_log_text log;
    struct log_read read;
    if (!find_log(ex, &log)) return;
    if (store_read_now(server_store(exchange_server(ex)), log_slice(&log), 1, 0, &read))
        answer_state(ex, exchange_param(ex, 0), &read);
    else ask_store(ex, &log);
}

/* ---- watching ---- */

/* Where to begin; false when that was answered with an error. */
static bool get_start(struct exchange *ex, struct watch_options *how)
{
    const char *why = resource_watch_from(ex, how);
    if (why) exchange_error(ex, WEIR_BAD_FIELD, "%s", why);
    return !why;
}

/* At most so many events; false when that was answered with an error. */
static bool get_limit(struct exchange *ex, struct watch_options *how)
{
    struct weir_slice value;
    if (!exchange_query(ex, "limit", &value)) return true;
    if (resource_parse_id(value, &how->limit) && how->limit > 0) return true;
    exchange_error(ex, WEIR_BAD_FIELD, "limit has to be a whole number above 0");
    return false;
}

void streams_watch(struct exchange *ex)
{
    struct stream_log_text log;
    struct weir_slice accept;
    struct watch_options how = {.heartbeat_ms = HEARTBEAT_MS};
    bool is_live = true;
    bool is_probe = false;
    if (gateway_is_id(exchange_param(ex, 0))) {
        gateway_watch(ex);
        return;
    }
    bool has_accept = http_find(exchange_head(ex), "accept", &accept);
    if (has_accept && !http_accepts(accept, "text/event-stream")) {
        if (http_accepts(accept, "application/json")) streams_state(ex);
        else
            exchange_error(ex, WEIR_NOT_ACCEPTABLE,
                           "a stream is text/event-stream, its state application/json");
        return;
    }
    if (!find_log(ex, &log) || !get_start(ex, &how) || !get_limit(ex, &how) ||
        !get_flag(ex, "live", &is_live) || !get_flag(ex, "probe", &is_probe))
        return;
    if (is_probe) how.heartbeat_ms = PROBE_BEAT_MS;
    how.ends_at_newest = !is_live;
    exchange_watch(ex, log_slice(&log), &how);
}
