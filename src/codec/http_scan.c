/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a head, one after the other, each judged once:
 *
 *     *3( CRLF ) method SP target SP "HTTP/" digit "." digit CRLF
 *     *64( name ":" value CRLF ) CRLF
 *
 * All that a byte can be judged by is the state, the mark and the counters of the reader, so
 * that a head gives the same result in one piece and in many. Long runs (targets, values) are
 * searched sixteen bytes at a time. What the fields mean is not looked at here.
 */
#include "codec/http_impl.h"
#include "codec/scan.h"

enum {
    NO_CONTROL = HTTP_IS_VALUE | HTTP_IS_EXTENSION,
    PUNCTUATION = HTTP_IS_TARGET | NO_CONTROL,
    MARK = HTTP_IS_TOKEN | PUNCTUATION,
    LETTER = HTTP_IS_HOST | MARK,
};

const uint8_t http_kinds[256] = {
    ['\t'] = HTTP_IS_VALUE,
    [' '] = NO_CONTROL,
    ['!'] = MARK,
    ['"'] = PUNCTUATION,
    ['#'] = HTTP_IS_TOKEN | NO_CONTROL,
    ['$' ... '\''] = MARK,
    ['(' ... ')'] = PUNCTUATION,
    ['*' ... '+'] = MARK,
    [','] = PUNCTUATION,
    ['-' ... '.'] = LETTER,
    ['/'] = PUNCTUATION,
    ['0' ... '9'] = LETTER,
    [':' ... '@'] = PUNCTUATION,
    ['A' ... 'Z'] = LETTER,
    ['[' ... ']'] = PUNCTUATION,
    ['^'] = MARK,
    ['_'] = LETTER,
    ['`'] = MARK,
    ['a' ... 'z'] = LETTER,
    ['{'] = PUNCTUATION,
    ['|'] = MARK,
    ['}'] = PUNCTUATION,
    ['~'] = LETTER,
    [0x80 ... 0xff] = NO_CONTROL,
};

struct scan {
    struct http_reader *r;
    const char *base; /* what the mark counts from */
    const char *p;
    const char *end;
    struct http_head *head;
};

static bool refuse(const struct scan *s, const char *reason)
{
    return http_refuse(s->r, WEIR_BAD_REQUEST, reason);
}

static void go(const struct scan *s, enum http_state state)
{
    s->r->state = (unsigned char)state;
}

/* Goes on after the byte that ended a part, with the next part. */
static bool pass(struct scan *s, enum http_state state)
{
    s->p++;
    s->r->mark = (size_t)(s->p - s->base);
    go(s, state);
    return true;
}

static bool pass_lf(struct scan *s, enum http_state state)
{
    if (*s->p != '\n') return refuse(s, "a CR stands without its LF");
    return pass(s, state);
}

/* The bytes of the part that are still allowed, at most those there are. */
static const char *part_end(const struct scan *s, size_t max)
{
    size_t taken = (size_t)(s->p - s->base) - s->r->mark;
    size_t there = (size_t)(s->end - s->p);
    return s->p + (there < max - taken ? there : max - taken);
}

static const char *skip_target(const char *p, const char *end)
{
    while (end - p >= SCAN_WIDTH) {
        scan_bytes x = scan_load(p);
        scan_bytes hits =
            (scan_bytes)(x <= 0x20) | (scan_bytes)(x >= 0x7f) | (scan_bytes)(x == '#');
        if (scan_any(hits)) return p + scan_first(hits);
        p += SCAN_WIDTH;
    }
    while (p < end && http_is(*p, HTTP_IS_TARGET)) p++;
    return p;
}

static const char *skip_value(const char *p, const char *end)
{
    while (end - p >= SCAN_WIDTH) {
        scan_bytes x = scan_load(p);
        scan_bytes hits =
            ((scan_bytes)(x < 0x20) & (scan_bytes)(x != '\t')) | (scan_bytes)(x == 0x7f);
        if (scan_any(hits)) return p + scan_first(hits);
        p += SCAN_WIDTH;
    }
    while (p < end && http_is(*p, HTTP_IS_VALUE)) p++;
    return p;
}

static bool at_start(struct scan *s)
{
    if (*s->p == '\r') {
        if (s->r->n_empty++ == HTTP_MAX_EMPTY_LINES)
            return refuse(s, "too many empty lines before the request");
        return pass(s, HTTP_AT_START_LF);
    }
    if (!http_is(*s->p, HTTP_IS_TOKEN)) return refuse(s, "a request begins with its method");
    s->r->mark = (size_t)(s->p - s->base);
    go(s, HTTP_AT_METHOD);
    return true;
}

static bool at_method(struct scan *s)
{
    const char *stop = part_end(s, HTTP_METHOD_BYTES);
    while (s->p < stop && http_is(*s->p, HTTP_IS_TOKEN)) s->p++;
    if (s->p == s->end) return true;
    if (http_is(*s->p, HTTP_IS_TOKEN))
        return http_refuse(s->r, WEIR_NOT_IMPLEMENTED, "the method is too long to be one");
    if (*s->p != ' ') return refuse(s, "a method ends with one space");
    struct weir_slice method = {s->base + s->r->mark, (size_t)(s->p - s->base) - s->r->mark};
    if (weir_slice_is(method, "CONNECT"))
        return http_refuse(s->r, WEIR_NOT_IMPLEMENTED, "this is no proxy");
    return pass(s, HTTP_AT_TARGET);
}

static bool at_target(struct scan *s)
{
    s->p = skip_target(s->p, part_end(s, HTTP_TARGET_BYTES));
    if (s->p == s->end) return true;
    if (http_is(*s->p, HTTP_IS_TARGET))
        return http_refuse(s->r, WEIR_URI_TOO_LONG, "the target is longer than the limit");
    bool is_empty = s->p == s->base + s->r->mark;
    if (*s->p == ' ' && !is_empty) return pass(s, HTTP_AT_VERSION);
    if (*s->p == '\r' && !is_empty)
        return http_refuse(s->r, WEIR_HTTP_VERSION, "the request line has no version");
    return refuse(s, "a byte that may not stand in a target");
}

static bool at_version(struct scan *s)
{
    static const char form[] = "HTTP/0.0\r"; /* 0 is any digit */
    for (; s->p < s->end; s->p++) {
        size_t i = (size_t)(s->p - s->base) - s->r->mark;
        bool fits = form[i] == '0' ? *s->p >= '0' && *s->p <= '9' : *s->p == form[i];
        if (!fits) return refuse(s, "the request line does not end with a version");
        if (form[i] != '\r') continue;
        size_t start = 2 * (size_t)s->r->n_empty;
        struct weir_slice line = {s->base + start, (size_t)(s->p - s->base) - start};
        return http_read_line(s->r, line, s->head) && pass(s, HTTP_AT_LINE_LF);
    }
    return true;
}

static bool at_field(struct scan *s)
{
    if (*s->p == '\r') return pass(s, HTTP_AT_END_LF);
    if (*s->p == ' ' || *s->p == '\t') return refuse(s, "a field is folded");
    if (!http_is(*s->p, HTTP_IS_TOKEN)) return refuse(s, "a field begins with its name");
    if (s->r->n_fields == HTTP_MAX_FIELDS)
        return http_refuse(s->r, WEIR_HEAD_TOO_LARGE, "there are too many fields");
    s->r->mark = (size_t)(s->p - s->base);
    go(s, HTTP_AT_NAME);
    return true;
}

static bool at_name(struct scan *s)
{
    while (s->p < s->end && http_is(*s->p, HTTP_IS_TOKEN)) s->p++;
    if (s->p == s->end) return true;
    if (*s->p != ':') return refuse(s, "the name of a field ends with a colon");
    if (s->head)
        s->head->fields[s->r->n_fields].name =
            (struct weir_slice){s->base + s->r->mark, (size_t)(s->p - s->base) - s->r->mark};
    return pass(s, HTTP_AT_VALUE);
}

static struct weir_slice trimmed(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    while (p < end && (end[-1] == ' ' || end[-1] == '\t')) end--;
    return (struct weir_slice){p, (size_t)(end - p)};
}

static bool at_value(struct scan *s)
{
    s->p = skip_value(s->p, s->end);
    if (s->p == s->end) return true;
    if (*s->p != '\r') return refuse(s, "a control byte in a field, or an LF without its CR");
    if (s->head) s->head->fields[s->r->n_fields].value = trimmed(s->base + s->r->mark, s->p);
    s->r->n_fields++;
    return pass(s, HTTP_AT_VALUE_LF);
}

/* One part, or as much of it as there is; false when there is nothing more to do. */
static bool step(struct scan *s)
{
    switch (s->r->state) {
    case HTTP_AT_START: return at_start(s);
    case HTTP_AT_START_LF: return pass_lf(s, HTTP_AT_START);
    case HTTP_AT_METHOD: return at_method(s);
    case HTTP_AT_TARGET: return at_target(s);
    case HTTP_AT_VERSION: return at_version(s);
    case HTTP_AT_LINE_LF: return pass_lf(s, HTTP_AT_FIELD);
    case HTTP_AT_FIELD: return at_field(s);
    case HTTP_AT_NAME: return at_name(s);
    case HTTP_AT_VALUE: return at_value(s);
    case HTTP_AT_VALUE_LF: return pass_lf(s, HTTP_AT_FIELD);
    case HTTP_AT_END_LF: return pass_lf(s, HTTP_AT_END);
    default: return false;
    }
}

enum http_result http_scan(struct http_reader *r, struct weir_slice bytes, size_t *at,
                           struct http_head *head)
{
    struct scan s = {r, bytes.ptr, bytes.ptr + *at, bytes.ptr + bytes.len, head};
    while (s.p < s.end && step(&s)) {
    }
    *at = (size_t)(s.p - s.base);
    if (r->state == HTTP_AT_ERROR) return HTTP_ERROR;
    return r->state == HTTP_AT_END ? HTTP_DONE : HTTP_MORE;
}
