/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sent for a stream: its address, its fields, and from where on it is wanted.
 */
#include "client/client_impl.h"

#include "base/slice.h"

enum {
    CONNECT_MS = 10 * 1000,
    FIRST_BYTE_MS = 60 * 1000,
    MODEL_FIRST_BYTE_MS = 10 * 60 * 1000,
    OWN_FIELDS = 4,
    MAX_ID_BYTES = 256,
};

/* ---- what can be ---- */

static bool is_numbered(enum weir_stream_kind kind)
{
    return kind == WEIR_STREAM_TURN || kind == WEIR_STREAM_SESSION;
}

static bool has_id(enum weir_stream_kind kind)
{
    return is_numbered(kind) || kind == WEIR_STREAM_CHAT;
}

static bool is_one_line(struct weir_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '\r' || s.ptr[i] == '\n' || s.ptr[i] == 0) return false;
    return true;
}

bool stream_request_url_can_be(struct weir_slice url)
{
    const char *why;
    return url.len <= STREAM_URL_BYTES && fetch_check_url(NULL, url, &why) == WEIR_OK;
}

bool stream_request_can_be(const struct weir_event_stream_options *options)
{
    struct weir_slice id = options->id;
    bool can_be = options->on_event && stream_request_url_can_be(options->url) &&
                  is_one_line(options->key) && is_one_line(options->last_event_id) &&
                  is_one_line(options->query) && options->n_fields <= FETCH_MAX_FIELDS - OWN_FIELDS;
    if (has_id(options->kind)) can_be = can_be && id.len > 0 && id.len <= MAX_ID_BYTES;
    for (size_t i = 0; can_be && i < options->n_fields; i++)
        can_be = options->fields[i].name && is_one_line(options->fields[i].value);
    return can_be;
}

/* ---- the address ---- */

static void put_escaped(struct weir_buf *out, struct weir_slice s)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (size_t i = 0; i < s.len; i++) {
        if (memchr(plain, s.ptr[i], sizeof plain - 1)) weir_buf_append_char(out, s.ptr[i]);
        else weir_buf_printf(out, "%%%02X", (unsigned)(unsigned char)s.ptr[i]);
    }
}

static void put_url(const struct weir_event_stream *s, struct weir_buf *out)
{
    static const char *const paths[] = {[WEIR_STREAM_TURN] = "/v1/turns/",
                                        [WEIR_STREAM_SESSION] = "/sse/sessions/",
                                        [WEIR_STREAM_CHAT] = "/ai/chat?conversationId="};
    struct weir_slice base = s->options.url;
    enum weir_stream_kind kind = s->options.kind;
    if (!has_id(kind)) {
        weir_buf_append_slice(out, s->moved.len > 0 ? weir_buf_slice(&s->moved) : base);
        return;
    }
    while (base.len > 0 && base.ptr[base.len - 1] == '/') base.len--;
    weir_buf_append_slice(out, base);
    weir_buf_append_str(out, paths[kind]);
    put_escaped(out, s->options.id);
    if (kind == WEIR_STREAM_TURN) weir_buf_append_str(out, "/events");
    bool has_place = kind == WEIR_STREAM_SESSION && s->resume.last_seq > 0;
    if (has_place)
        weir_buf_printf(out, "?lastEventId=%llu", (unsigned long long)s->resume.last_seq);
    if (s->options.query.len == 0) return;
    weir_buf_append_char(out, has_place || kind == WEIR_STREAM_CHAT ? '&' : '?');
    weir_buf_append_slice(out, s->options.query);
}

/* ---- the fields ---- */

/* What was written since `from`. */
static struct weir_slice since(const struct weir_buf *out, size_t from)
{
    return slice_of(out->ptr + from, out->len - from);
}

static void add(struct fetch_request *request, const char *name, struct weir_slice value)
{
    request->fields[request->n_fields++] = (struct fetch_field){name, value};
}

static void put_place(const struct weir_event_stream *s, struct weir_buf *out)
{
    if (!is_numbered(s->options.kind))
        weir_buf_append_slice(out, weir_buf_slice(&s->resume.last_id));
    else if (s->resume.last_seq > 0) weir_buf_append_u64(out, s->resume.last_seq);
}

/* The texts are written one behind the other first: the buffer moves as it grows. */
struct marks {
    size_t key, place, end;
};

static void add_fields(const struct weir_event_stream *s, const struct weir_buf *out,
                       const struct marks *marks, struct fetch_request *request)
{
    struct weir_slice key = since(out, marks->key), place = since(out, marks->place);
    key.len = marks->place - marks->key;
    place.len = marks->end - marks->place;
    add(request, "Accept", SLICE("text/event-stream"));
    if (request->method == FETCH_POST) add(request, "Content-Type", SLICE("application/json"));
    else add(request, "Cache-Control", SLICE("no-store"));
    if (key.len > 0) add(request, "Authorization", key);
    if (place.len > 0) add(request, "Last-Event-ID", place);
    for (size_t i = 0; i < s->options.n_fields; i++)
        add(request, s->fields[i].name, s->fields[i].value);
}

static unsigned or_default(unsigned value, unsigned otherwise)
{
    return value > 0 ? value : otherwise;
}

void stream_request_fill(const struct weir_event_stream *s, struct weir_buf *out,
                         struct fetch_request *request)
{
    const struct weir_stream_limits *limits = &s->options.limits;
    bool is_model = s->options.kind == WEIR_STREAM_MODEL;
    struct marks marks;
    weir_buf_reset(out);
    put_url(s, out);
    marks.key = out->len;
    if (s->options.key.len > 0) {
        weir_buf_append_str(out, "Bearer ");
        weir_buf_append_slice(out, s->options.key);
    }
    marks.place = out->len;
    put_place(s, out);
    marks.end = out->len;
    if (weir_buf_status(out) != WEIR_OK) return;
    request->method = is_model ? FETCH_POST : FETCH_GET;
    request->url = slice_of(out->ptr, marks.key);
    request->body = s->options.body;
    request->ca_file = s->options.ca_file;
    request->socket = s->options.socket;
    request->limits = (struct fetch_limits){
        .connect_ms = or_default(limits->connect_ms, CONNECT_MS),
        .first_byte_ms =
            or_default(limits->first_byte_ms, is_model ? MODEL_FIRST_BYTE_MS : FIRST_BYTE_MS),
        .idle_ms = limits->idle_ms,
    };
    add_fields(s, out, &marks, request);
}
