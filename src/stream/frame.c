/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/frame.h"

#include "base/check.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "store/chunk.h"

static const char data_field[] = "data: ";
static const char base64_type[] = "event: base64\n";

enum { DATA_FIELD_BYTES = sizeof data_field - 1 };

/* ---- base64 ---- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { BLOCK_BYTES = 3072 }; /* a multiple of three, that is put as a whole */

/* Four digits of up to three bytes. */
static void put_four(char four[4], const unsigned char *p, size_t n)
{
    uint32_t bits = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) | (n > 2 ? p[2] : 0);
    four[0] = alphabet[bits >> 18];
    four[1] = alphabet[bits >> 12 & 63];
    four[2] = n > 1 ? alphabet[bits >> 6 & 63] : '=';
    four[3] = n > 2 ? alphabet[bits & 63] : '=';
}

static void put_base64(struct weir_buf *out, struct weir_slice bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    char block[BLOCK_BYTES / 3 * 4];
    while (bytes.len > 0) {
        size_t n = bytes.len < BLOCK_BYTES ? bytes.len : BLOCK_BYTES;
        size_t len = 0;
        for (size_t i = 0; i < n; i += 3, len += 4) put_four(block + len, p + i, n - i);
        weir_buf_append(out, block, len);
        bytes = slice_from(bytes, n);
        p += n;
    }
}

/* One more than the digit's value; 0: it is none. */
static const unsigned char digits[128] = {
    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  63,
    0,  0,  0,  64, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 0,  0,  0,  0,  0,  0,  0,  1,
    2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
    24, 25, 26, 0,  0,  0,  0,  0,  0,  27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
    40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 0,  0,  0,  0,  0,
};

static uint32_t digit_of(char c)
{
    unsigned char u = (unsigned char)c;
    return u < sizeof digits ? digits[u] - 1U : UINT32_MAX;
}

/* As many whole fours as there are at the front of `text`, up to a block. Returns how many. */
static size_t get_fours(char block[BLOCK_BYTES], struct weir_slice text)
{
    size_t n = 0;
    for (; n < BLOCK_BYTES / 3 && text.len - n * 4 >= 4; n++) {
        const char *p = text.ptr + n * 4;
        uint32_t a = digit_of(p[0]), b = digit_of(p[1]), c = digit_of(p[2]), d = digit_of(p[3]);
        if ((a | b | c | d) > 63) break;
        uint32_t bits = a << 18 | b << 12 | c << 6 | d;
        block[n * 3] = (char)(bits >> 16);
        block[n * 3 + 1] = (char)(bits >> 8 & 255);
        block[n * 3 + 2] = (char)(bits & 255);
    }
    return n;
}

/* Of what put_base64() wrote; ends where something else is. */
static void get_base64(struct weir_buf *out, struct weir_slice text)
{
    char block[BLOCK_BYTES];
    uint32_t bits = 0;
    unsigned n_bits = 0;
    for (size_t n; (n = get_fours(block, text)) > 0; text = slice_from(text, n * 4))
        weir_buf_append(out, block, n * 3);
    for (size_t i = 0; i < text.len && digit_of(text.ptr[i]) <= 63; i++) {
        bits = bits << 6 | digit_of(text.ptr[i]);
        n_bits += 6;
        if (n_bits < 8) continue;
        n_bits -= 8;
        weir_buf_append_char(out, (char)(bits >> n_bits & 255));
    }
}

/* ---- to events ---- */

/* As lines, which cost more than base64 when there are many. */
static size_t lines_size(struct weir_slice text)
{
    size_t n_lines = 1;
    for (const char *at = text.ptr, *end = at + text.len;
         at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        n_lines++;
    return text.len + n_lines * DATA_FIELD_BYTES + 2;
}

static bool fits_lines(const struct weir_buf *out, struct weir_slice text)
{
    return text.len > 0 && !memchr(text.ptr, '\r', text.len) && !memchr(text.ptr, '\0', text.len) &&
           lines_size(text) <= out->max - out->len && utf8_valid_prefix(text) == text.len;
}

static void put_lines(struct weir_buf *out, struct weir_slice text)
{
    for (;;) {
        const char *end = text.len > 0 ? memchr(text.ptr, '\n', text.len) : NULL;
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        weir_buf_append(out, data_field, DATA_FIELD_BYTES);
        weir_buf_append(out, text.ptr, len);
        weir_buf_append_char(out, '\n');
        if (!end) return;
        text = slice_from(text, len + 1);
    }
}

static void put_json(struct weir_buf *out, struct weir_slice json)
{
    weir_buf_append(out, data_field, DATA_FIELD_BYTES);
    size_t at = out->len;
    weir_buf_append_slice(out, json);
    if (weir_buf_status(out) == WEIR_OK)
        for (; at < out->len; at++)
            if (out->ptr[at] == '\n' || out->ptr[at] == '\r') out->ptr[at] = ' ';
    weir_buf_append_char(out, '\n');
}

void frame_write(struct weir_buf *out, enum stream_format format, struct weir_slice message)
{
    if (format == STREAM_JSON) {
        put_json(out, message);
    } else if (format == STREAM_TEXT && fits_lines(out, message)) {
        put_lines(out, message);
    } else {
        if (format == STREAM_TEXT) weir_buf_append(out, base64_type, sizeof base64_type - 1);
        weir_buf_append(out, data_field, DATA_FIELD_BYTES);
        put_base64(out, message);
        weir_buf_append_char(out, '\n');
    }
    weir_buf_append_char(out, '\n');
}

/* ---- from events ---- */

bool frame_next(struct weir_slice *events, struct frame *out)
{
    if (events->len == 0) return false;
    size_t len = chunk_event_length(*events);
    CHECK(len > 4 && memcmp(events->ptr, "id: ", 4) == 0);
    const char *line_end = memchr(events->ptr, '\n', len);
    out->id = 0;
    for (const char *p = events->ptr + 4; p < line_end; p++)
        out->id = out->id * 10 + (uint64_t)(*p - '0');
    /* Up to the empty line. */
    out->lines = slice_of(line_end + 1, (size_t)(events->ptr + len - line_end) - 2);
    *events = slice_from(*events, len);
    return true;
}

/* Takes a line off; true when it is data, which *data is then. */
static bool next_line(struct weir_slice *lines, struct weir_slice *data, bool *is_data)
{
    if (lines->len == 0) return false;
    const char *end = memchr(lines->ptr, '\n', lines->len);
    CHECK(end);
    struct weir_slice line = slice_of(lines->ptr, (size_t)(end - lines->ptr));
    *lines = slice_from(*lines, line.len + 1);
    *is_data = line.len >= DATA_FIELD_BYTES && memcmp(line.ptr, data_field, DATA_FIELD_BYTES) == 0;
    if (*is_data) *data = slice_from(line, DATA_FIELD_BYTES);
    return true;
}

static bool is_kept_as_base64(const struct frame *frame)
{
    return frame->lines.len >= sizeof base64_type - 1 &&
           memcmp(frame->lines.ptr, base64_type, sizeof base64_type - 1) == 0;
}

void frame_read(struct weir_buf *out, enum stream_format format, const struct frame *frame)
{
    struct weir_slice lines = frame->lines;
    struct weir_slice data;
    bool is_data;
    bool is_first = true;
    bool is_base64 = format == STREAM_BYTES || (format == STREAM_TEXT && is_kept_as_base64(frame));
    while (next_line(&lines, &data, &is_data)) {
        if (!is_data) continue;
        if (!is_first) weir_buf_append_char(out, '\n');
        is_first = false;
        if (is_base64) get_base64(out, data);
        else weir_buf_append_slice(out, data);
    }
}

/*
 * A line of an event of the protocol's. Its clients look for "data:" without the blank that may
 * follow, so that is only there where the line's own first blank would be taken for it.
 */
static void put_sse_line(struct weir_buf *out, struct weir_slice line)
{
    bool has_blank = line.len > 0 && line.ptr[0] == ' ';
    weir_buf_append(out, data_field, has_blank ? DATA_FIELD_BYTES : DATA_FIELD_BYTES - 1);
    weir_buf_append_slice(out, line);
    weir_buf_append_char(out, '\n');
}

/* Lines of text that end in CR, LF or both. */
static void put_any_lines(struct weir_buf *out, struct weir_slice text)
{
    for (;;) {
        size_t len = 0;
        while (len < text.len && text.ptr[len] != '\r' && text.ptr[len] != '\n') len++;
        put_sse_line(out, slice_of(text.ptr, len));
        if (len == text.len) return;
        bool is_both = text.ptr[len] == '\r' && len + 1 < text.len && text.ptr[len + 1] == '\n';
        text = slice_from(text, len + 1 + is_both);
    }
}

void frame_write_sse(struct weir_buf *out, enum stream_format format, const struct frame *frame)
{
    if (format == STREAM_TEXT && is_kept_as_base64(frame)) {
        struct weir_buf text;
        weir_buf_init(&text, out->max);
        frame_read(&text, format, frame);
        if (weir_buf_status(&text) == WEIR_OK) put_any_lines(out, weir_buf_slice(&text));
        weir_buf_fini(&text);
        return;
    }
    struct weir_slice lines = frame->lines;
    struct weir_slice data;
    bool is_data;
    while (next_line(&lines, &data, &is_data))
        if (is_data) put_sse_line(out, data);
}

void body_write(struct weir_buf *out, enum stream_format format, struct weir_slice events,
                uint64_t last, unsigned parts)
{
    struct frame frame;
    bool is_json = format == STREAM_JSON;
    bool has_before = (parts & BODY_FIRST) == 0;
    if (is_json && !has_before) weir_buf_append_char(out, '[');
    while (frame_next(&events, &frame) && frame.id <= last) {
        if (is_json && has_before) weir_buf_append_char(out, ',');
        has_before = true;
        frame_read(out, format, &frame);
    }
    if (is_json && (parts & BODY_LAST) != 0) weir_buf_append_char(out, ']');
}
