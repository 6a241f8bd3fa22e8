/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies: so many bytes, or chunks (RFC 9112 7.1):
 *
 *     *( size [ ";" extension ] CRLF data CRLF ) "0" [ ";" extension ] CRLF
 *     *64( name ":" value CRLF ) CRLF
 *
 * A size is 1 to 16 hexadecimal digits and nothing else. Extensions mean nothing to us; they
 * are limited over the whole body, for else a peer could send much for little. Trailers go
 * through the scan of heads and are dropped.
 */
#include "base/check.h"
#include "base/slice.h"
#include "codec/http_impl.h"

struct run {
    struct http_reader *r;
    struct weir_slice bytes;
    size_t at;
    struct weir_slice data;
};

static bool refuse(const struct run *run, const char *reason)
{
    return http_refuse(run->r, WEIR_BAD_REQUEST, reason);
}

static bool pass(struct run *run, enum http_state state)
{
    run->at++;
    run->r->state = (unsigned char)state;
    return true;
}

static bool pass_byte(struct run *run, char want, enum http_state state)
{
    if (run->bytes.ptr[run->at] != want) return refuse(run, "a chunk does not end with CRLF");
    return pass(run, state);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool at_size(struct run *run)
{
    struct http_reader *r = run->r;
    char c = run->bytes.ptr[run->at];
    int digit = hex_digit(c);
    if (digit >= 0) {
        if (r->n_digits++ == HTTP_SIZE_DIGITS)
            return refuse(run, "the size of a chunk is too long");
        r->body_left = r->body_left << 4 | (unsigned)digit;
        return pass(run, HTTP_AT_SIZE);
    }
    if (r->n_digits == 0) return refuse(run, "a chunk begins with its size");
    if (c == '\r') return pass(run, HTTP_AT_SIZE_LF);
    if (c == ';') return pass(run, HTTP_AT_EXTENSION);
    return refuse(run, "the size of a chunk is hexadecimal digits alone");
}

static bool at_extension(struct run *run)
{
    char c = run->bytes.ptr[run->at];
    if (c == '\r') return pass(run, HTTP_AT_SIZE_LF);
    if (!http_is(c, HTTP_IS_EXTENSION)) return refuse(run, "a control byte in a chunk extension");
    if (run->r->extension_bytes++ == HTTP_EXTENSION_BYTES)
        return refuse(run, "the chunk extensions are longer than the limit");
    return pass(run, HTTP_AT_EXTENSION);
}

static bool at_size_lf(struct run *run)
{
    struct http_reader *r = run->r;
    if (!pass_byte(run, '\n', r->body_left > 0 ? HTTP_AT_DATA : HTTP_AT_FIELD)) return false;
    r->n_digits = 0;
    if (r->body_left > r->limits.body_bytes - r->body_taken)
        return http_refuse(r, WEIR_TOO_LARGE, "the body is larger than the limit");
    return true;
}

/* Takes what there is of the body or the chunk; false, for it is to be shown. */
static bool take(struct run *run)
{
    struct http_reader *r = run->r;
    size_t len = run->bytes.len - run->at;
    if (len > r->body_left) len = (size_t)r->body_left;
    run->data = slice_of(run->bytes.ptr + run->at, len);
    run->at += len;
    r->body_left -= len;
    r->body_taken += len;
    if (r->body_left == 0) r->state = r->state == HTTP_AT_DATA ? HTTP_AT_DATA_CR : HTTP_AT_START;
    return false;
}

static bool at_trailer(struct run *run)
{
    struct http_reader *r = run->r;
    size_t room = r->limits.head_bytes - r->trailer_bytes;
    size_t start = run->at;
    struct weir_slice seen = run->bytes;
    if (seen.len - start > room) seen.len = start + room;
    enum http_result result = http_scan(r, seen, &run->at, NULL);
    r->trailer_bytes += run->at - start;
    if (result == HTTP_MORE && r->trailer_bytes == r->limits.head_bytes)
        http_refuse(r, WEIR_HEAD_TOO_LARGE, "the trailer is larger than the limit");
    if (result == HTTP_DONE) http_restart(r);
    return false;
}

/* One byte or one run; false when the call is to return. */
static bool step(struct run *run)
{
    switch (run->r->state) {
    case HTTP_AT_BODY: return take(run);
    case HTTP_AT_SIZE: return at_size(run);
    case HTTP_AT_EXTENSION: return at_extension(run);
    case HTTP_AT_SIZE_LF: return at_size_lf(run);
    case HTTP_AT_DATA: return take(run);
    case HTTP_AT_DATA_CR: return pass_byte(run, '\r', HTTP_AT_DATA_LF);
    case HTTP_AT_DATA_LF: return pass_byte(run, '\n', HTTP_AT_SIZE);
    case HTTP_AT_FIELD:
    case HTTP_AT_NAME:
    case HTTP_AT_VALUE:
    case HTTP_AT_VALUE_LF:
    case HTTP_AT_END_LF: return at_trailer(run);
    default: return false;
    }
}

enum http_result http_read_body(struct http_reader *r, struct weir_slice bytes, size_t *used,
                                struct weir_slice *data)
{
    struct run run = {.r = r, .bytes = bytes, .data = SLICE("")};
    while (run.at < bytes.len && step(&run)) {
    }
    *used = run.at;
    *data = run.data;
    if (r->state == HTTP_AT_ERROR) return HTTP_ERROR;
    if (run.data.len > 0) return HTTP_DATA;
    return r->state == HTTP_AT_START ? HTTP_DONE : HTTP_MORE;
}
