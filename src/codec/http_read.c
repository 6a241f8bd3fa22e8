/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of requests: when one is whole, what its fields say about the connection and the
 * body, and whether llhttp says the same.
 *
 * The bytes are judged by http_scan.c as they come. A head that came in one piece was split
 * into its fields by that; one that came in several is scanned once more when its end is
 * there, since the slices of earlier calls may point to where the bytes are no longer.
 *
 * How long a body is decides where the next request begins, and two readers of one connection
 * that do not agree on it are a hole (request smuggling). So there is one way to say it, or
 * none: one Content-Length of digits, or one "chunked".
 */
#include "base/check.h"
#include "base/slice.h"
#include "codec/http_impl.h"
#include "codec/http_llhttp_impl.h"

_Static_assert((int)HTTP_READING_FIELDS == (int)HTTP_MAX_FIELDS, "llhttp may find all fields");

/* The fields that a reader of requests must understand, and what Connection listed. */
struct meaning {
    const struct http_field *host;
    const struct http_field *length;
    const struct http_field *coding;
    const struct http_field *expect;
    bool lists_close;
    bool lists_keep_alive;
};

void http_restart(struct http_reader *r)
{
    r->scanned = 0;
    r->mark = 0;
    r->n_empty = 0;
    r->n_fields = 0;
    r->state = HTTP_AT_START;
}

void http_reader_init(struct http_reader *r, const struct http_limits *limits)
{
    *r = (struct http_reader){.limits = *limits, .reason = ""};
    http_restart(r);
}

bool http_refuse(struct http_reader *r, enum weir_status error, const char *reason)
{
    r->error = error;
    r->reason = reason;
    r->state = HTTP_AT_ERROR;
    return false;
}

static bool refuse(struct http_reader *r, const char *reason)
{
    return http_refuse(r, WEIR_BAD_REQUEST, reason);
}

static bool keep_one(struct http_reader *r, const struct http_field **slot,
                     const struct http_field *field)
{
    if (*slot) return refuse(r, "a field that may stand once stands twice");
    *slot = field;
    return true;
}

static bool note_field(struct http_reader *r, struct meaning *m, const struct http_field *field)
{
    switch (field->name.len) {
    case sizeof "host" - 1:
        if (http_field_is(field, "host")) return keep_one(r, &m->host, field);
        return true;
    case sizeof "expect" - 1:
        if (http_field_is(field, "expect")) return keep_one(r, &m->expect, field);
        return true;
    case sizeof "connection" - 1:
        if (!http_field_is(field, "connection")) return true;
        m->lists_close |= http_list_has(field->value, "close");
        m->lists_keep_alive |= http_list_has(field->value, "keep-alive");
        return true;
    case sizeof "content-length" - 1:
        if (http_field_is(field, "content-length")) return keep_one(r, &m->length, field);
        return true;
    case sizeof "transfer-encoding" - 1:
        if (http_field_is(field, "transfer-encoding")) return keep_one(r, &m->coding, field);
        return true;
    default: return true;
    }
}

static bool read_host(struct http_reader *r, const struct meaning *m, struct http_head *head)
{
    bool is_absolute = head->host.len > 0;
    if (!m->host) return head->minor == 0 || refuse(r, "HTTP/1.1 asks for a Host");
    struct weir_slice host = m->host->value;
    if (is_absolute && !http_same_text(host, head->host))
        return refuse(r, "Host is not the host of the target");
    if (host.len > 0 && !http_is_host(host)) return refuse(r, "Host is no name of a host");
    head->host = host;
    return true;
}

/* Nothing but one space, or none, between the colon and the value, and nothing after it. */
static bool stands_plainly(const struct http_field *field)
{
    const char *after_colon = field->name.ptr + field->name.len + 1;
    bool is_near = field->value.ptr == after_colon ||
                   (field->value.ptr == after_colon + 1 && *after_colon == ' ');
    return is_near && field->value.ptr[field->value.len] == '\r';
}

/* Whether this is a coding of RFC 9112 7.2 that is not done here. */
static bool is_other_coding(struct weir_slice coding)
{
    static const char *const names[] = {"gzip",       "x-gzip",   "deflate", "compress",
                                        "x-compress", "identity", NULL};
    for (size_t i = 0; names[i]; i++)
        if (http_same_text(coding, weir_slice_of(names[i]))) return true;
    return false;
}

static bool read_coding(struct http_reader *r, const struct http_field *field,
                        struct http_head *head)
{
    static const struct weir_slice last = {", chunked", sizeof ", chunked" - 1};
    struct weir_slice value = field->value;
    if (head->minor == 0) return refuse(r, "HTTP/1.0 has no Transfer-Encoding");
    if (!stands_plainly(field)) return refuse(r, "white space around Transfer-Encoding");
    if (http_same_text(value, SLICE("chunked"))) {
        head->is_chunked = head->has_body = true;
        return true;
    }
    if (value.len > last.len && http_same_text(slice_from(value, value.len - last.len), last))
        value.len -= last.len;
    if (is_other_coding(value))
        return http_refuse(r, WEIR_NOT_IMPLEMENTED, "a transfer coding that is not known here");
    return refuse(r, "a Transfer-Encoding that is not chunked");
}

static bool read_length(struct http_reader *r, const struct http_field *field,
                        struct http_head *head)
{
    struct weir_slice digits = field->value;
    uint64_t n = 0;
    if (!stands_plainly(field)) return refuse(r, "white space around Content-Length");
    if (digits.len == 0) return refuse(r, "Content-Length is empty");
    for (size_t i = 0; i < digits.len; i++) {
        unsigned digit = (unsigned char)digits.ptr[i] - (unsigned)'0';
        if (digit > 9) return refuse(r, "Content-Length is not a number");
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n))
            return refuse(r, "Content-Length is out of range");
    }
    if (n > r->limits.body_bytes)
        return http_refuse(r, WEIR_TOO_LARGE, "the body is larger than the limit");
    head->has_body = n > 0;
    head->content_length = n;
    return true;
}

static bool read_expect(struct http_reader *r, const struct http_field *field,
                        struct http_head *head)
{
    if (!http_same_text(field->value, SLICE("100-continue")))
        return http_refuse(r, WEIR_BAD_EXPECT, "an expectation other than 100-continue");
    head->expects_continue = head->minor == 1 && head->has_body;
    return true;
}

static bool read_meaning(struct http_reader *r, struct http_head *head)
{
    struct meaning m = {0};
    head->n_fields = r->n_fields;
    head->has_body = head->is_chunked = head->expects_continue = false;
    head->content_length = 0;
    for (unsigned i = 0; i < head->n_fields; i++)
        if (!note_field(r, &m, &head->fields[i])) return false;
    head->keep_alive = !m.lists_close && (head->minor == 1 || m.lists_keep_alive);
    if (!read_host(r, &m, head)) return false;
    if (m.coding && m.length) return refuse(r, "Transfer-Encoding beside Content-Length");
    if (m.coding && !read_coding(r, m.coding, head)) return false;
    if (m.length && !read_length(r, m.length, head)) return false;
    return !m.expect || read_expect(r, m.expect, head);
}

static bool same_place(struct weir_slice a, struct weir_slice b)
{
    return a.ptr == b.ptr && a.len == b.len;
}

/* llhttp leaves white space at the end of a value. */
static bool same_value(struct weir_slice ours, struct weir_slice theirs)
{
    while (theirs.len > 0 &&
           (theirs.ptr[theirs.len - 1] == ' ' || theirs.ptr[theirs.len - 1] == '\t'))
        theirs.len--;
    return ours.len == 0 ? theirs.len == 0 : same_place(ours, theirs);
}

static bool same_fields(const struct http_head *head, const struct http_reading *other)
{
    if (other->n_fields != head->n_fields) return false;
    for (unsigned i = 0; i < head->n_fields; i++)
        if (!same_place(head->fields[i].name, other->names[i]) ||
            !same_value(head->fields[i].value, other->values[i]))
            return false;
    return true;
}

/* Whether llhttp finds the same fields in the same places, and the same body. */
static bool llhttp_agrees(const struct http_head *head, const char *end)
{
    struct http_reading other;
    const char *rest = head->method_text.ptr + head->method_text.len;
    struct weir_slice method = head->method == HTTP_OTHER ? SLICE("POST") : head->method_text;
    return http_llhttp_read(method, slice_of(rest, (size_t)(end - rest)), &other) &&
           other.minor == head->minor && same_place(head->target, other.target) &&
           other.is_chunked == head->is_chunked &&
           (other.has_length ? other.content_length : 0) == head->content_length &&
           same_fields(head, &other);
}

static void begin_body(struct http_reader *r, const struct http_head *head)
{
    http_restart(r);
    r->body_taken = 0;
    r->body_left = head->content_length;
    r->trailer_bytes = 0;
    r->extension_bytes = 0;
    r->n_digits = 0;
    if (head->is_chunked) r->state = HTTP_AT_SIZE;
    else if (head->has_body) r->state = HTTP_AT_BODY;
}

enum http_result http_read_head(struct http_reader *r, struct weir_slice bytes,
                                struct http_head *head, size_t *used)
{
    size_t before = r->scanned;
    *used = 0;
    if (r->state == HTTP_AT_ERROR) return HTTP_ERROR;
    CHECK(r->state < HTTP_AT_END && bytes.len >= before);
    if (bytes.len == before) return HTTP_MORE;
    size_t limit = r->limits.head_bytes;
    struct weir_slice seen = slice_of(bytes.ptr, bytes.len < limit ? bytes.len : limit);
    enum http_result result = http_scan(r, seen, &r->scanned, head);
    if (result == HTTP_MORE && bytes.len >= limit)
        http_refuse(r, WEIR_HEAD_TOO_LARGE, "the head is larger than the limit");
    if (result == HTTP_DONE && before > 0) {
        seen.len = r->scanned;
        http_restart(r);
        result = http_scan(r, seen, &r->scanned, head);
    }
    if (result == HTTP_DONE) {
        *used = r->scanned;
        if (read_meaning(r, head) && !llhttp_agrees(head, bytes.ptr + *used))
            refuse(r, "the head can be read in two ways");
    }
    if (r->state == HTTP_AT_ERROR) return HTTP_ERROR;
    if (result == HTTP_DONE) begin_body(r, head);
    return result;
}
