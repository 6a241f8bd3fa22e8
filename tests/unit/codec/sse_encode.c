/* SPDX-License-Identifier: Apache-2.0 */
/* Events in wire form: exact bytes, refusals, and the round trip through the decoder. */
#include <weir/sse.h>

#include "base/fault.h"
#include "base/slice.h"
#include "oracle/sse_slow.h"
#include "t.h"

struct row {
    const char *claim;
    struct weir_slice type, data, id;
    const char *want; /* NULL: refused */
};

static const struct row rows[] = {
    {"data alone", SLICE(""), SLICE("a"), SLICE(""), "data: a\n\n"},
    {"all three, id first", SLICE("t"), SLICE("d"), SLICE("7"), "id: 7\nevent: t\ndata: d\n\n"},
    {"empty data has its line", SLICE(""), SLICE(""), SLICE(""), "data: \n\n"},
    {"data splits at LF", SLICE(""), SLICE("a\nb"), SLICE(""), "data: a\ndata: b\n\n"},
    {"data splits at CR", SLICE(""), SLICE("a\rb"), SLICE(""), "data: a\ndata: b\n\n"},
    {"data splits at CRLF once", SLICE(""), SLICE("a\r\nb"), SLICE(""), "data: a\ndata: b\n\n"},
    {"LF CR splits twice", SLICE(""), SLICE("a\n\rb"), SLICE(""), "data: a\ndata: \ndata: b\n\n"},
    {"line ends at both ends", SLICE(""), SLICE("\na\n"), SLICE(""), "data: \ndata: a\ndata: \n\n"},
    {"leading spaces survive", SLICE(""), SLICE("  a"), SLICE(""), "data:   a\n\n"},
    {"type with LF", SLICE("a\nb"), SLICE("d"), SLICE(""), NULL},
    {"type with CR", SLICE("a\r"), SLICE("d"), SLICE(""), NULL},
    {"id with LF", SLICE(""), SLICE("d"), SLICE("1\n"), NULL},
    {"id with CR", SLICE(""), SLICE("d"), SLICE("\r1"), NULL},
    {"id with NUL", SLICE(""), SLICE("d"), SLICE("1\0"), NULL},
};

TEST(events_are_written_as_said)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct weir_sse_event event = {row->type, row->data, row->id};
        struct weir_buf out;
        weir_buf_init(&out, 1000);
        enum weir_status st = weir_sse_write(&out, &event);
        if (st != (row->want ? WEIR_OK : WEIR_INVALID))
            t_fail(__FILE__, __LINE__, "%s: %s", row->claim, weir_status_name(st));
        T_EQ_STR(weir_buf_slice(&out), row->want ? row->want : "");
        weir_buf_fini(&out);
    }
}

TEST(refused_event_appends_nothing_and_leaves_the_buffer_usable)
{
    struct weir_buf out;
    struct weir_sse_event bad = {SLICE("a\n"), SLICE("d"), SLICE("")};
    struct weir_sse_event good = {SLICE(""), SLICE("d"), SLICE("")};
    weir_buf_init(&out, 1000);
    T_EQ(weir_sse_write(&out, &good), WEIR_OK);
    T_EQ(weir_sse_write(&out, &bad), WEIR_INVALID);
    T_EQ(weir_sse_write(&out, &good), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), "data: d\n\ndata: d\n\n");
    weir_buf_fini(&out);
}

TEST(comments_are_one_line_and_a_blank_one)
{
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    T_EQ(weir_sse_write_comment(&out, SLICE("hi")), WEIR_OK);
    T_EQ(weir_sse_write_comment(&out, SLICE("")), WEIR_OK);
    T_EQ(weir_sse_write_comment(&out, SLICE("a\nb")), WEIR_INVALID);
    T_EQ(weir_sse_write_comment(&out, SLICE("a\rb")), WEIR_INVALID);
    T_EQ(weir_buf_status(&out), WEIR_OK);
    struct text got = {0};
    sse_slow(&got, weir_buf_slice(&out));
    T_OK(got.len > 0 && memcmp(got.ptr, "comment '", 9) == 0);
    text_fini(&got);
    weir_buf_fini(&out);
}

TEST(ceiling_of_the_buffer_is_reported)
{
    struct weir_buf out;
    struct weir_sse_event event = {SLICE(""), SLICE("0123456789"), SLICE("")};
    weir_buf_init(&out, 8);
    T_EQ(weir_sse_write(&out, &event), WEIR_LIMIT);
    T_EQ(weir_sse_write_comment(&out, SLICE("x")), WEIR_LIMIT);
    weir_buf_fini(&out);
}

TEST(failing_allocation_is_reported)
{
    struct weir_buf out;
    struct weir_sse_event event = {SLICE("t"), SLICE("0123456789"), SLICE("1")};
    weir_buf_init(&out, 1000);
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_EQ(weir_sse_write(&out, &event), WEIR_NOMEM);
    fault_disarm_all();
    weir_buf_fini(&out);
}

static size_t random_text(char *to, size_t max, const char *alphabet)
{
    size_t len = t_random() % (max + 1);
    for (size_t i = 0; i < len; i++) to[i] = alphabet[t_random() % strlen(alphabet)];
    return len;
}

/* What a reader gets is what was written, with every line end turned into LF. */
TEST(what_is_written_reads_back)
{
    for (int round = 0; round < 2000; round++) {
        char type[8], data[24], id[8];
        struct weir_sse_event event = {
            {type, random_text(type, sizeof type, "ab :")},
            {data, random_text(data, sizeof data, "ab :\n\r")},
            {id, random_text(id, sizeof id, "12 :")},
        };
        struct weir_buf out;
        struct text want = {0}, joined = {0}, got = {0};
        weir_buf_init(&out, 1000);
        T_EQ(weir_sse_write(&out, &event), WEIR_OK);
        for (size_t i = 0; i < event.data.len; i++) {
            char c = data[i];
            if (c == '\n' && i > 0 && data[i - 1] == '\r') continue;
            text_add_char(&joined, c == '\r' ? '\n' : c);
        }
        text_printf(&want, "event ");
        text_quote(&want, event.type.len > 0 ? event.type : SLICE("message"));
        text_add_char(&want, ' ');
        text_quote(&want, text_slice(&joined));
        text_add_char(&want, ' ');
        text_quote(&want, event.id);
        text_printf(&want, "\nend ok id ");
        text_quote(&want, event.id);
        text_add_char(&want, '\n');
        sse_slow(&got, weir_buf_slice(&out));
        T_EQ_SLICE(text_slice(&got), text_slice(&want));
        text_fini(&want);
        text_fini(&joined);
        text_fini(&got);
        weir_buf_fini(&out);
    }
}
