/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/offset.h"

#include <stdio.h>

#include "base/slice.h"
#include "t.h"

TEST(an_offset_is_read_as_it_was_written)
{
    for (int i = 0; i < 2000; i++) {
        char text[OFFSET_BYTES];
        struct offset o;
        uint64_t id = i < 1000 ? (uint64_t)i : t_random() % UINT64_C(10000000000000000);
        offset_format(id, text);
        T_OK(offset_parse(slice_of(text, sizeof text), &o));
        T_EQ(o.kind, OFFSET_AT);
        T_EQ(o.id, id);
    }
}

TEST(offsets_sort_as_their_events_do)
{
    char before[OFFSET_BYTES];
    char after[OFFSET_BYTES];
    uint64_t id = 0;
    offset_format(0, before);
    while (id < UINT64_C(1000000000000000)) {
        id += 1 + t_random() % (id + 3);
        offset_format(id, after);
        T_OK(memcmp(before, after, OFFSET_BYTES) < 0);
        memcpy(before, after, OFFSET_BYTES);
    }
}

TEST(an_offset_is_one_of_a_few_forms)
{
    static const struct {
        const char *text;
        bool is_offset;
        enum offset_kind kind;
        uint64_t id;
    } cases[] = {
        {"-1", true, OFFSET_START, 0},
        {"now", true, OFFSET_NOW, 0},
        {"0000000000000000_0000000000000000", true, OFFSET_AT, 0},
        {"0000000000000000_0000000000000042", true, OFFSET_AT, 42},
        {"0000000000000000_9999999999999999", true, OFFSET_AT, 9999999999999999},
        {"0000000000000001_0000000000000042", true, OFFSET_BEYOND, 42},
        {"9999999999999999_9999999999999999", true, OFFSET_BEYOND, 9999999999999999},
        {"", false, 0, 0},
        {"0", false, 0, 0},
        {"-2", false, 0, 0},
        {"-1 ", false, 0, 0},
        {"NOW", false, 0, 0},
        {"now\n", false, 0, 0},
        {"0000000000000000-0000000000000042", false, 0, 0},
        {"000000000000000_00000000000000042", false, 0, 0},
        {"0000000000000000_000000000000042", false, 0, 0},
        {"0000000000000000_00000000000000042", false, 0, 0},
        {"0000000000000000_000000000000004x", false, 0, 0},
        {"-000000000000000_0000000000000042", false, 0, 0},
        {"0000000000000000_+000000000000042", false, 0, 0},
        {"0000000000000000_ 000000000000042", false, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct offset o;
        bool is_offset = offset_parse(weir_slice_of(cases[i].text), &o);
        if (is_offset != cases[i].is_offset) printf("of \"%s\"\n", cases[i].text);
        T_EQ(is_offset, cases[i].is_offset);
        if (!is_offset) continue;
        T_EQ(o.kind, cases[i].kind);
        if (o.kind == OFFSET_AT) T_EQ(o.id, cases[i].id);
    }
}

TEST(no_byte_but_digits_is_taken_anywhere_in_an_offset)
{
    for (int at = 0; at < OFFSET_BYTES; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char text[OFFSET_BYTES];
            struct offset o;
            offset_format(7, text);
            text[at] = (char)byte;
            bool is_fine = at == OFFSET_DIGITS ? byte == '_' : byte >= '0' && byte <= '9';
            T_EQ(offset_parse(slice_of(text, sizeof text), &o), is_fine);
        }
    }
}

TEST(a_cursor_is_always_more_than_what_the_client_has)
{
    const int64_t now_ms = INT64_C(1800000000000);
    uint64_t now = cursor_after((struct weir_slice){0}, now_ms, 0);
    T_EQ(now, (now_ms - INT64_C(1728432000000)) / 20000);
    T_EQ(cursor_after(SLICE("12"), now_ms, 5), now); /* of long ago */
    for (uint64_t ahead = 0; ahead < 1000; ahead++) {
        char given[32];
        int len = snprintf(given, sizeof given, "%llu", (unsigned long long)(now + ahead));
        uint64_t next = cursor_after(slice_of(given, (size_t)len), now_ms, t_random());
        T_OK(next > now + ahead);
        T_OK(next <= now + ahead + CURSOR_JITTER_S / CURSOR_INTERVAL_S);
    }
    static const char *const odd[] = {"x", "-1", "1x", "99999999999999999999", " 5", ""};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        T_EQ(cursor_after(weir_slice_of(odd[i]), now_ms, 3), now);
    T_EQ(cursor_after((struct weir_slice){0}, 0, 0), 0); /* a clock that was never set */
}
