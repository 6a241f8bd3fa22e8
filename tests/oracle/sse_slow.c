/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event streams by the letter of WHATWG HTML 9.2.6: first the whole input is
 * decoded (Encoding Standard, "UTF-8 decode"), then cut into lines, then every
 * line is interpreted. Nothing here is incremental or fast, on purpose.
 */
#include "oracle/sse_slow.h"

#include <string.h>

#include <weir/sse.h>

struct stream {
    struct text *out;
    struct text data;
    struct text event_type;
    struct text id;      /* the "last event ID buffer" */
    struct text last_id; /* what dispatching made of it */
    unsigned long long retry;
    bool has_retry;
    bool is_open; /* a field of the next event, or its id, has been set */
};

/* The Encoding Standard's lower and upper boundary for the byte after a lead. */
static bool is_second(unsigned char lead, unsigned char c)
{
    if (lead == 0xe0) return c >= 0xa0 && c <= 0xbf;
    if (lead == 0xed) return c >= 0x80 && c <= 0x9f;
    if (lead == 0xf0) return c >= 0x90 && c <= 0xbf;
    if (lead == 0xf4) return c >= 0x80 && c <= 0x8f;
    return c >= 0x80 && c <= 0xbf;
}

/* The length of the character at s, or 0 and in *bad the length of the maximal bad part. */
static size_t character(struct weir_slice s, size_t *bad)
{
    unsigned char lead = (unsigned char)s.ptr[0];
    size_t need = 0;
    *bad = 1;
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) need = 2;
    if (lead >= 0xe0 && lead <= 0xef) need = 3;
    if (lead >= 0xf0 && lead <= 0xf4) need = 4;
    if (need == 0) return 0;
    for (size_t i = 1; i < need; i++) {
        if (i == s.len) return 0;
        unsigned char c = (unsigned char)s.ptr[i];
        if (i == 1 ? !is_second(lead, c) : (c & 0xc0) != 0x80) return 0;
        *bad = i + 1;
    }
    return need;
}

static void decode_utf8(struct text *out, struct weir_slice in)
{
    if (in.len >= 3 && memcmp(in.ptr, "\xef\xbb\xbf", 3) == 0) {
        in.ptr += 3;
        in.len -= 3;
    }
    while (in.len > 0) {
        size_t bad;
        size_t len = character(in, &bad);
        if (len > 0) text_add(out, in.ptr, len);
        else text_add(out, "\xef\xbf\xbd", 3);
        if (len == 0) len = bad;
        in.ptr += len;
        in.len -= len;
    }
}

static void copy(struct text *to, struct weir_slice from)
{
    to->len = 0;
    text_add(to, from.ptr, from.len);
}

static void set_retry(struct stream *s, struct weir_slice value)
{
    unsigned long long n = 0;
    if (value.len == 0) return;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9') return;
        n = n * 10 + (unsigned)(value.ptr[i] - '0');
        if (n > WEIR_SSE_RETRY_MAX_MS) n = WEIR_SSE_RETRY_MAX_MS;
    }
    s->retry = n;
    s->has_retry = true;
    text_printf(s->out, "retry %llu\n", n);
}

static bool is_name(struct weir_slice name, const char *wanted)
{
    return name.len == strlen(wanted) && memcmp(name.ptr, wanted, name.len) == 0;
}

static void process_field(struct stream *s, struct weir_slice name, struct weir_slice value)
{
    bool has_nul = value.len > 0 && memchr(value.ptr, 0, value.len);
    if (is_name(name, "event")) {
        copy(&s->event_type, value);
        s->is_open = true;
    } else if (is_name(name, "data")) {
        text_add(&s->data, value.ptr, value.len);
        text_add_char(&s->data, '\n');
        s->is_open = true;
    } else if (is_name(name, "id") && !has_nul) {
        copy(&s->id, value);
        s->is_open = true;
    } else if (is_name(name, "retry")) {
        set_retry(s, value);
    }
}

static void dispatch(struct stream *s)
{
    copy(&s->last_id, text_slice(&s->id));
    if (s->data.len > 0) {
        s->data.len--; /* the one trailing LF */
        struct weir_slice type = text_slice(&s->event_type);
        if (type.len == 0) type = (struct weir_slice){"message", 7};
        text_printf(s->out, "event ");
        text_quote(s->out, type);
        text_add_char(s->out, ' ');
        text_quote(s->out, text_slice(&s->data));
        text_add_char(s->out, ' ');
        text_quote(s->out, text_slice(&s->last_id));
        text_add_char(s->out, '\n');
    }
    s->data.len = 0;
    s->event_type.len = 0;
    s->is_open = false;
}

static void process_line(struct stream *s, struct weir_slice line)
{
    if (line.len == 0) {
        dispatch(s);
        return;
    }
    const char *colon = memchr(line.ptr, ':', line.len);
    if (!colon) {
        process_field(s, line, (struct weir_slice){NULL, 0});
        return;
    }
    struct weir_slice name = {line.ptr, (size_t)(colon - line.ptr)};
    struct weir_slice value = {colon + 1, line.len - name.len - 1};
    if (name.len == 0) {
        text_printf(s->out, "comment ");
        text_quote(s->out, value);
        text_add_char(s->out, '\n');
        return;
    }
    if (value.len > 0 && value.ptr[0] == ' ') {
        value.ptr++;
        value.len--;
    }
    process_field(s, name, value);
}

/* Returns what is left after the last line end. */
static struct weir_slice process_lines(struct stream *s, struct weir_slice text)
{
    size_t start = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '\n' && text.ptr[i] != '\r') continue;
        process_line(s, (struct weir_slice){text.ptr + start, i - start});
        if (text.ptr[i] == '\r' && i + 1 < text.len && text.ptr[i + 1] == '\n') i++;
        start = i + 1;
    }
    return (struct weir_slice){text.ptr + start, text.len - start};
}

void sse_slow(struct text *out, struct weir_slice input)
{
    struct text decoded = {0};
    struct stream s = {.out = out};
    decode_utf8(&decoded, input);
    struct weir_slice tail = {NULL, 0};
    if (decoded.len > 0) tail = process_lines(&s, text_slice(&decoded));
    bool is_pending = s.is_open || tail.len > 0;
    text_printf(out, "end ok id ");
    text_quote(out, text_slice(&s.last_id));
    if (s.has_retry) text_printf(out, " retry %llu", s.retry);
    text_printf(out, "%s\n", is_pending ? " pending" : "");
    text_fini(&decoded);
    text_fini(&s.data);
    text_fini(&s.event_type);
    text_fini(&s.id);
    text_fini(&s.last_id);
}
