/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace lines are built in a buffer on the stack, so that they can be written
 * when memory is short. The buffer stops short of the line's ceiling by the
 * length of its end; a field that does not fit is taken back whole and the line
 * says "cut". That keeps each JSON line valid.
 *
 * Text goes through four steps: secrets are masked, the result is cut to its
 * ceiling between characters, repaired to UTF-8, and escaped.
 */
#include "base/trace.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mask.h"
#include "base/slice.h"
#include "base/utf8.h"

#define ELLIPSIS "\xE2\x80\xA6"

enum {
    END_BYTES = 16,   /* room kept for the end of the line */
    WORST_ESCAPE = 6, /* \u001f for one byte */
    HEAD_BYTES = 128, /* time, level and punctuation */
};

static_assert((TRACE_MAX_VALUE_BYTES + TRACE_MAX_NAME_BYTES + 2 * sizeof ELLIPSIS) * WORST_ESCAPE +
                      HEAD_BYTES + END_BYTES <=
                  TRACE_MAX_LINE_BYTES,
              "time, level, component and message must fit any line");

struct line {
    struct weir_buf buf; /* borrows bytes; never grows, never freed */
    enum trace_format format;
    bool is_cut;
    char bytes[TRACE_MAX_LINE_BYTES];
};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static void write_to_fd(void *user, struct weir_slice line)
{
    ssize_t n;
    do {
        n = write((int)(intptr_t)user, line.ptr, line.len);
    } while (n < 0 && errno == EINTR);
    /* A line that cannot be written is lost: there is nowhere to say so. */
}

void trace_init(struct trace *t, const struct clock *clock, int fd)
{
    *t = (struct trace){.sink = write_to_fd,
                        .user = (void *)(intptr_t)fd,
                        .clock = clock,
                        .format = TRACE_TEXT,
                        .level = TRACE_INFO};
}

/*
 * Characters that could end the line, move the cursor or turn the text around
 * on a terminal, besides those that JSON escapes anyway: DEL, U+0080 to U+009F,
 * U+2028 to U+202E, U+2066 to U+2069. Returns the character, or 0.
 */
static unsigned unsafe_char(const unsigned char *p, size_t len)
{
    if (len == 1 && p[0] == 0x7f) return 0x7f;
    if (len == 2 && p[0] == 0xC2 && p[1] < 0xA0) return p[1];
    if (len != 3 || p[0] != 0xE2) return 0;
    if (p[1] == 0x80 && p[2] >= 0xA8 && p[2] <= 0xAE) return 0x2000u + p[2] - 0x80u;
    if (p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9) return 0x2040u + p[2] - 0x80u;
    return 0;
}

static void append_escaped(struct weir_buf *out, struct weir_slice s)
{
    while (s.len > 0) {
        size_t n;
        bool is_whole = utf8_first(s, &n) == UTF8_WHOLE;
        unsigned unsafe = is_whole ? unsafe_char((const unsigned char *)s.ptr, n) : 0;
        if (!is_whole) weir_buf_append_str(out, "\xEF\xBF\xBD");
        else if (unsafe) weir_buf_printf(out, "\\u%04x", unsafe);
        else escape_json(out, slice_of(s.ptr, n));
        s = slice_from(s, n);
    }
}

/* Drops a character whose end was cut off. */
static void trim_partial(struct weir_buf *b)
{
    for (size_t back = 1; back < UTF8_MAX_BYTES && back <= b->len; back++) {
        size_t n;
        struct weir_slice tail = slice_of(b->ptr + b->len - back, back);
        if (((unsigned char)tail.ptr[0] & 0xC0) == 0x80) continue;
        if (utf8_first(tail, &n) == UTF8_PARTIAL) b->len -= back;
        return;
    }
}

/* Appends s masked, cut, repaired and escaped; max_bytes <= TRACE_MAX_VALUE_BYTES. */
static void append_text(struct weir_buf *out, struct weir_slice s, size_t max_bytes)
{
    char bytes[TRACE_MAX_VALUE_BYTES];
    struct weir_buf masked = {.ptr = bytes, .cap = max_bytes, .max = max_bytes};
    mask_append(&masked, s);
    bool is_cut = masked.status != WEIR_OK;
    if (is_cut) trim_partial(&masked);
    append_escaped(out, slice_of(masked.ptr, masked.len));
    if (is_cut) weir_buf_append_str(out, ELLIPSIS);
}

/* Whether a text line shows it without quotes. */
static bool is_bare(struct weir_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!is_alnum && (c == 0 || !strchr("_-./:@+%,", c))) return false;
    }
    return s.len > 0;
}

static void append_string(struct line *l, struct weir_slice s, size_t max_bytes)
{
    bool has_quotes = l->format == TRACE_JSON || !is_bare(s);
    if (has_quotes) weir_buf_append_char(&l->buf, '"');
    append_text(&l->buf, s, max_bytes);
    if (has_quotes) weir_buf_append_char(&l->buf, '"');
}

/* The shortest of two forms that reads back the same; always with a point, not a comma. */
static void append_double(struct line *l, double d)
{
    char text[40];
    const char *quote = l->format == TRACE_JSON ? "\"" : "";
    if (!isfinite(d)) {
        weir_buf_printf(&l->buf, "%s%s%s", quote, isnan(d) ? "nan" : d > 0 ? "inf" : "-inf", quote);
        return;
    }
    snprintf(text, sizeof text, "%.15g", d);
    if (strtod(text, NULL) < d || strtod(text, NULL) > d) snprintf(text, sizeof text, "%.17g", d);
    for (char *p = text; *p; p++)
        if (!strchr("0123456789+-e", *p)) *p = '.';
    weir_buf_append_str(&l->buf, text);
}

static void append_value(struct line *l, const struct trace_field *f)
{
    switch (f->kind) {
    case TRACE_KIND_STRING: append_string(l, f->value.string, TRACE_MAX_VALUE_BYTES); break;
    case TRACE_KIND_INT: weir_buf_printf(&l->buf, "%" PRId64, f->value.i); break;
    case TRACE_KIND_UINT: weir_buf_append_u64(&l->buf, f->value.u); break;
    case TRACE_KIND_DOUBLE: append_double(l, f->value.d); break;
    case TRACE_KIND_BOOL: weir_buf_append_str(&l->buf, f->value.b ? "true" : "false"); break;
    case TRACE_KIND_MS:
        weir_buf_append_u64(&l->buf, f->value.u);
        if (l->format == TRACE_TEXT) weir_buf_append_str(&l->buf, "ms");
        break;
    case TRACE_KIND_END:
    case TRACE_KIND_SECRET: break;
    }
}

static void append_name(struct line *l, const struct trace_field *f)
{
    struct weir_slice name = weir_slice_of(f->name);
    if (l->format == TRACE_TEXT) {
        weir_buf_append_char(&l->buf, ' ');
        append_string(l, name, TRACE_MAX_NAME_BYTES);
        weir_buf_append_char(&l->buf, '=');
        return;
    }
    weir_buf_append_str(&l->buf, ",\"");
    append_text(&l->buf, name, TRACE_MAX_NAME_BYTES);
    weir_buf_append_str(&l->buf, f->kind == TRACE_KIND_MS ? "_ms\":" : "\":");
}

static void append_field(struct line *l, const struct trace_field *f)
{
    size_t before = l->buf.len;
    append_name(l, f);
    if (f->kind == TRACE_KIND_SECRET || mask_is_secret_name(weir_slice_of(f->name)))
        weir_buf_append_str(&l->buf, l->format == TRACE_JSON ? "\"" MASK_TEXT "\"" : MASK_TEXT);
    else append_value(l, f);
    if (l->buf.status == WEIR_OK) return;
    l->buf.status = WEIR_OK;
    l->buf.len = before;
    l->is_cut = true;
}

static void begin_line(struct line *l, const struct trace *t, enum trace_level level,
                       struct weir_slice component, struct weir_slice message)
{
    char time[CLOCK_TEXT_BYTES];
    bool is_json = t->format == TRACE_JSON;
    l->format = t->format;
    l->is_cut = false;
    l->buf = (struct weir_buf){.ptr = l->bytes};
    l->buf.cap = l->buf.max = sizeof l->bytes - END_BYTES;
    clock_format(time, clock_wall_ms(t->clock));
    weir_buf_printf(&l->buf,
                    is_json ? "{\"ts\":\"%s\",\"level\":\"%s\",\"component\":\"" : "%s %s ", time,
                    level_names[level]);
    append_text(&l->buf, component, TRACE_MAX_NAME_BYTES);
    weir_buf_append_str(&l->buf, is_json ? "\",\"msg\":\"" : ": ");
    append_text(&l->buf, message, TRACE_MAX_VALUE_BYTES);
    if (is_json) weir_buf_append_char(&l->buf, '"');
}

static void end_line(struct line *l)
{
    l->buf.cap = l->buf.max = sizeof l->bytes;
    if (l->format == TRACE_JSON)
        weir_buf_append_str(&l->buf, l->is_cut ? ",\"cut\":true}\n" : "}\n");
    else weir_buf_append_str(&l->buf, l->is_cut ? " cut=true\n" : "\n");
    CHECK(l->buf.status == WEIR_OK);
}

void trace_event(const struct trace *t, enum trace_level level, const char *component,
                 const char *message, const struct trace_field *fields)
{
    struct line line;
    int kept_errno = errno;
    CHECK((unsigned)level <= TRACE_DEBUG);
    if (!t || level > t->level) return;
    begin_line(&line, t, level, weir_slice_of(component), weir_slice_of(message));
    for (; fields->kind != TRACE_KIND_END; fields++) append_field(&line, fields);
    end_line(&line);
    t->sink(t->user, weir_buf_slice(&line.buf));
    errno = kept_errno;
}
