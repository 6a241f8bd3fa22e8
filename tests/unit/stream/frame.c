/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/frame.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "t.h"

enum { MAX_MESSAGE = 400, MAX_EVENTS = 40 };

/* ---- helpers ---- */

/* As the store wants it: lines that end in LF, the last one empty and no other, no CR, no NUL. */
static void check_frame(struct weir_slice f)
{
    T_OK(f.len >= 3 && memcmp(f.ptr + f.len - 2, "\n\n", 2) == 0 && f.ptr[0] != '\n');
    T_OK(memmem(f.ptr, f.len, "\n\n", 2) == f.ptr + f.len - 2);
    T_OK(!memchr(f.ptr, '\r', f.len) && !memchr(f.ptr, '\0', f.len));
}

static void add_event(struct weir_buf *out, uint64_t id, enum stream_format format,
                      struct weir_slice message)
{
    weir_buf_printf(out, "id: %llu\n", (unsigned long long)id);
    size_t at = out->len;
    frame_write(out, format, message);
    T_EQ(weir_buf_status(out), WEIR_OK);
    check_frame(slice_of(out->ptr + at, out->len - at));
}

static void check_round(enum stream_format format, struct weir_slice message)
{
    struct weir_buf event;
    struct weir_buf back;
    struct frame frame;
    weir_buf_init(&event, 1 << 20);
    weir_buf_init(&back, 1 << 20);
    add_event(&event, 17, format, message);
    struct weir_slice rest = weir_buf_slice(&event);
    T_OK(frame_next(&rest, &frame));
    T_EQ(frame.id, 17);
    T_EQ(rest.len, 0);
    T_OK(!frame_next(&rest, &frame));
    rest = weir_buf_slice(&event);
    T_OK(frame_next(&rest, &frame));
    frame_read(&back, format, &frame);
    T_EQ(weir_buf_status(&back), WEIR_OK);
    T_EQ_SLICE(weir_buf_slice(&back), message);
    weir_buf_fini(&event);
    weir_buf_fini(&back);
}

/* Bytes, or mostly the letters that matter to lines, or only text. */
static size_t random_message(char *out, enum stream_format format)
{
    static const char letters[] = "ab\n\n\r :\t\xc3\xa4";
    size_t len = t_random() % 5 == 0 ? 0 : t_random() % MAX_MESSAGE;
    uint64_t kind = t_random() % 3;
    if (format == STREAM_JSON) return (size_t)sprintf(out, "{\"n\":%u}", (unsigned)t_random());
    for (size_t i = 0; i < len; i++) {
        if (kind == 0) out[i] = (char)t_random();
        else if (kind == 1) out[i] = letters[t_random() % (sizeof letters - 1)];
        else out[i] = t_random() % 9 == 0 ? '\n' : (char)(' ' + t_random() % 95);
    }
    return len;
}

/* ---- claims ---- */

TEST(each_form_is_as_the_header_says)
{
    static const struct {
        enum stream_format format;
        const char *message;
        const char *frame;
    } cases[] = {
        {STREAM_JSON, "{\"a\":1}", "data: {\"a\":1}\n\n"},
        {STREAM_JSON, "{\n\"a\":\r\n1}", "data: { \"a\":  1}\n\n"},
        {STREAM_TEXT, "a line", "data: a line\n\n"},
        {STREAM_TEXT, "a line\nanother", "data: a line\ndata: another\n\n"},
        {STREAM_TEXT, "ends\n", "data: ends\ndata: \n\n"},
        {STREAM_TEXT, "\n", "data: \ndata: \n\n"},
        {STREAM_TEXT, "a\r\nb", "event: base64\ndata: YQ0KYg==\n\n"},
        {STREAM_TEXT, "\xff", "event: base64\ndata: /w==\n\n"},
        {STREAM_TEXT, "", "event: base64\ndata: \n\n"},
        {STREAM_BYTES, "", "data: \n\n"},
        {STREAM_BYTES, "f", "data: Zg==\n\n"},
        {STREAM_BYTES, "fo", "data: Zm8=\n\n"},
        {STREAM_BYTES, "foo", "data: Zm9v\n\n"},
        {STREAM_BYTES, "foobar", "data: Zm9vYmFy\n\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_buf out;
        weir_buf_init(&out, 1 << 20);
        frame_write(&out, cases[i].format, weir_slice_of(cases[i].message));
        T_EQ_STR(weir_buf_slice(&out), cases[i].frame);
        check_frame(weir_buf_slice(&out));
        weir_buf_fini(&out);
        if (i != 1) check_round(cases[i].format, weir_slice_of(cases[i].message));
    }
}

TEST(every_byte_and_every_length_comes_back)
{
    char bytes[256];
    for (int i = 0; i < 256; i++) {
        bytes[i] = (char)i;
        check_round(STREAM_BYTES, slice_of(&bytes[i], 1));
        check_round(STREAM_TEXT, slice_of(&bytes[i], 1));
    }
    for (size_t len = 0; len <= 256; len++) check_round(STREAM_BYTES, slice_of(bytes, len));
    for (size_t len = 0; len <= 256; len++) check_round(STREAM_TEXT, slice_of(bytes, len));
}

TEST(random_messages_come_back)
{
    static const enum stream_format formats[] = {STREAM_JSON, STREAM_TEXT, STREAM_BYTES};
    char message[MAX_MESSAGE];
    for (int i = 0; i < 6000; i++) {
        enum stream_format format = formats[i % 3];
        size_t len = random_message(message, format);
        check_round(format, slice_of(message, len));
    }
}

/* What looks like our own marks is only text. */
TEST(text_that_looks_like_a_frame_comes_back)
{
    static const char *const texts[] = {
        "event: base64", "event: base64\ndata: AAAA",
        "data: x",       "id: 5\ndata: x\n\nid: 6",
        "\n\n",          ": comment",
        " leading",      "event: base64\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_round(STREAM_TEXT, weir_slice_of(texts[i]));
        check_round(STREAM_BYTES, weir_slice_of(texts[i]));
    }
}

struct batch {
    struct weir_buf events;
    size_t at[MAX_EVENTS + 1]; /* where each event begins */
    char messages[MAX_EVENTS][MAX_MESSAGE];
    size_t lens[MAX_EVENTS];
    size_t n;
};

static void fill_batch(struct batch *b, enum stream_format format, uint64_t first)
{
    weir_buf_init(&b->events, 1 << 20);
    b->n = 1 + t_random() % MAX_EVENTS;
    for (size_t i = 0; i < b->n; i++) {
        b->at[i] = b->events.len;
        b->lens[i] = random_message(b->messages[i], format);
        add_event(&b->events, first + i, format, slice_of(b->messages[i], b->lens[i]));
    }
    b->at[b->n] = b->events.len;
}

TEST(events_are_taken_off_one_by_one)
{
    static struct batch b;
    for (int round = 0; round < 60; round++) {
        uint64_t first = 1 + t_random() % 1000000000000;
        struct frame frame;
        size_t n = 0;
        fill_batch(&b, round % 2 ? STREAM_TEXT : STREAM_BYTES, first);
        struct weir_slice rest = weir_buf_slice(&b.events);
        while (frame_next(&rest, &frame)) {
            T_EQ(frame.id, first + n);
            T_OK(frame.lines.len > 0 && frame.lines.ptr[frame.lines.len - 1] == '\n');
            T_EQ(rest.len, b.events.len - b.at[++n]);
        }
        T_EQ(n, b.n);
        weir_buf_fini(&b.events);
    }
}

static void want_body(struct weir_buf *out, const struct batch *b, enum stream_format format)
{
    if (format == STREAM_JSON) weir_buf_append_char(out, '[');
    for (size_t i = 0; i < b->n; i++) {
        if (format == STREAM_JSON && i > 0) weir_buf_append_char(out, ',');
        weir_buf_append(out, b->messages[i], b->lens[i]);
    }
    if (format == STREAM_JSON) weir_buf_append_char(out, ']');
}

TEST(a_body_is_the_same_whole_and_piece_by_piece)
{
    static const enum stream_format formats[] = {STREAM_JSON, STREAM_TEXT, STREAM_BYTES};
    static struct batch b;
    for (int round = 0; round < 300; round++) {
        enum stream_format format = formats[round % 3];
        struct weir_buf want;
        struct weir_buf whole;
        struct weir_buf pieces;
        weir_buf_init(&want, 1 << 20);
        weir_buf_init(&whole, 1 << 20);
        weir_buf_init(&pieces, 1 << 20);
        fill_batch(&b, format, 1);
        want_body(&want, &b, format);
        body_write(&whole, format, weir_buf_slice(&b.events), UINT64_MAX, BODY_FIRST | BODY_LAST);
        T_EQ_SLICE(weir_buf_slice(&whole), weir_buf_slice(&want));
        for (size_t i = 0; i < b.n;) {
            size_t next = i + 1 + t_random() % (b.n - i);
            unsigned parts = (i == 0 ? BODY_FIRST : 0U) | (next == b.n ? BODY_LAST : 0U);
            struct weir_slice some = slice_of(b.events.ptr + b.at[i], b.at[next] - b.at[i]);
            body_write(&pieces, format, some, UINT64_MAX, parts);
            i = next;
        }
        T_EQ_SLICE(weir_buf_slice(&pieces), weir_buf_slice(&want));
        weir_buf_fini(&want);
        weir_buf_fini(&whole);
        weir_buf_fini(&pieces);
        weir_buf_fini(&b.events);
    }
}

TEST(a_body_of_nothing_is_an_empty_array_or_nothing)
{
    struct weir_buf out;
    weir_buf_init(&out, 100);
    body_write(&out, STREAM_JSON, (struct weir_slice){0}, UINT64_MAX, BODY_FIRST | BODY_LAST);
    T_EQ_STR(weir_buf_slice(&out), "[]");
    weir_buf_reset(&out);
    body_write(&out, STREAM_TEXT, (struct weir_slice){0}, UINT64_MAX, BODY_FIRST | BODY_LAST);
    T_EQ(out.len, 0);
    weir_buf_fini(&out);
}

/* Our own API appends events with types, comments and several lines: they are read, too. */
TEST(events_of_others_are_read_as_far_as_they_are_data)
{
    static const char events[] = "id: 1\nevent: token\ndata: {\"a\":\ndata: 1}\n\n"
                                 "id: 2\nretry: 5\ndata: 2\n\n";
    struct weir_buf out;
    weir_buf_init(&out, 100);
    body_write(&out, STREAM_JSON, weir_slice_of(events), UINT64_MAX, BODY_FIRST | BODY_LAST);
    T_EQ_STR(weir_buf_slice(&out), "[{\"a\":\n1},2]");
    weir_buf_fini(&out);
}

TEST(a_full_buffer_is_said_by_the_buffer)
{
    struct weir_buf out;
    weir_buf_init(&out, 10);
    frame_write(&out, STREAM_JSON, SLICE("[1,2,3,4,5,6,7]"));
    T_EQ(weir_buf_status(&out), WEIR_LIMIT);
    weir_buf_fini(&out);
}

/* ---- as events of the protocol ---- */

/* What a reader of server-sent events makes of data lines: at most one blank is taken off. */
static void join_lines(struct weir_buf *out, struct weir_slice lines)
{
    bool is_first = true;
    while (lines.len > 0) {
        const char *end = memchr(lines.ptr, '\n', lines.len);
        T_OK(end != NULL && lines.len >= 5 && memcmp(lines.ptr, "data:", 5) == 0);
        if (!end) return;
        const char *text = lines.ptr + 5;
        if (text < end && *text == ' ') text++;
        if (!is_first) weir_buf_append_char(out, '\n');
        is_first = false;
        weir_buf_append(out, text, (size_t)(end - text));
        lines = slice_from(lines, (size_t)(end + 1 - lines.ptr));
    }
}

/* CR, and CR LF, as LF. */
static void add_normal(struct weir_buf *out, struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\r' && i + 1 < text.len && text.ptr[i + 1] == '\n') continue;
        weir_buf_append_char(out, text.ptr[i] == '\r' ? '\n' : text.ptr[i]);
    }
}

TEST(a_data_event_shows_a_reader_the_message)
{
    char message[MAX_MESSAGE];
    for (int i = 0; i < 3000; i++) {
        struct weir_buf event;
        struct weir_buf lines;
        struct weir_buf got;
        struct weir_buf want;
        struct frame frame;
        weir_buf_init(&event, 1 << 20);
        weir_buf_init(&lines, 1 << 20);
        weir_buf_init(&got, 1 << 20);
        weir_buf_init(&want, 1 << 20);
        enum stream_format format = i % 2 ? STREAM_TEXT : STREAM_JSON;
        size_t len = random_message(message, format);
        add_event(&event, 5, format, slice_of(message, len));
        struct weir_slice rest = weir_buf_slice(&event);
        T_OK(frame_next(&rest, &frame));
        frame_write_sse(&lines, format, &frame);
        join_lines(&got, weir_buf_slice(&lines));
        add_normal(&want, slice_of(message, len));
        T_EQ_SLICE(weir_buf_slice(&got), weir_buf_slice(&want));
        weir_buf_fini(&event);
        weir_buf_fini(&lines);
        weir_buf_fini(&got);
        weir_buf_fini(&want);
    }
}

TEST(a_body_ends_with_the_event_asked_for)
{
    static const char events[] = "id: 7\ndata: 1\n\nid: 8\ndata: 2\n\nid: 9\ndata: 3\n\n";
    static const char *const want[] = {"[]", "[1]", "[1,2]", "[1,2,3]", "[1,2,3]"};
    for (uint64_t last = 6; last <= 10; last++) {
        struct weir_buf out;
        weir_buf_init(&out, 100);
        body_write(&out, STREAM_JSON, weir_slice_of(events), last, BODY_FIRST | BODY_LAST);
        T_EQ_STR(weir_buf_slice(&out), want[last - 6]);
        weir_buf_fini(&out);
    }
}
