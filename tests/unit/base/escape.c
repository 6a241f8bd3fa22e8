/* SPDX-License-Identifier: Apache-2.0 */
#include "base/escape.h"

#include <stdio.h>

#include "base/fault.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "t.h"

static void expect(struct weir_slice in, const char *want)
{
    struct weir_buf out;
    weir_buf_init(&out, 1 << 20);
    escape_json(&out, in);
    T_EQ(weir_buf_status(&out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), want);
    weir_buf_fini(&out);
}

TEST(escapes_are_the_shortest_that_json_has)
{
    expect(SLICE(""), "");
    expect((struct weir_slice){NULL, 0}, "");
    expect(SLICE("plain text / with a slash"), "plain text / with a slash");
    expect(SLICE("\"\\"), "\\\"\\\\");
    expect(SLICE("\b\t\n\f\r"), "\\b\\t\\n\\f\\r");
    expect(SLICE("\x00\x01\x0b\x1f\x7f"), "\\u0000\\u0001\\u000b\\u001f\x7f");
}

TEST(well_formed_utf8_stays_raw)
{
    expect(SLICE("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80 \xE2\x80\xA7"),
           "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80 \xE2\x80\xA7");
}

TEST(what_tools_take_for_a_line_end_is_escaped)
{
    expect(SLICE("a\xC2\x85z\xC2\x84"), "a\\u0085z\xC2\x84");
    expect(SLICE("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA"), "\\u2028\\u2029\xE2\x80\xAA");
}

TEST(surrogates_become_escapes)
{
    expect(SLICE("a\xED\xA0\x80z"), "a\\ud800z");
    expect(SLICE("\xED\xAF\xBF\xED\xBF\xBF"), "\\udbff\\udfff");
    expect(SLICE("\xED\xB0\x80"), "\\udc00");
    expect(SLICE("\xED\x9F\xBF"), "\xED\x9F\xBF"); /* U+D7FF is a character */
}

TEST(each_maximal_bad_part_becomes_one_replacement)
{
    expect(SLICE("\xFF"), "\xEF\xBF\xBD");
    expect(SLICE("a\x80z"), "a\xEF\xBF\xBDz");
    expect(SLICE("\xE2\x82"), "\xEF\xBF\xBD");
    expect(SLICE("\xF0\x9F\x98z"), "\xEF\xBF\xBDz");
    expect(SLICE("\xED\xA0"), "\xEF\xBF\xBD\xEF\xBF\xBD");
    expect(SLICE("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

/* One byte at a time, from the rules alone. */
static void escape_slowly(struct weir_buf *out, struct weir_slice s)
{
    for (size_t n = 0; s.len > 0; s = slice_from(s, n)) {
        uint32_t c;
        unsigned char first = (unsigned char)s.ptr[0];
        const char *shorts = "\"\"\\\\\bb\tt\nn\ff\rr";
        n = 1;
        if (utf8_is_surrogate(s, &c)) {
            weir_buf_printf(out, "\\u%04x", c);
            n = 3;
        } else if (utf8_first(s, &n) != UTF8_WHOLE) {
            weir_buf_append_str(out, "\xEF\xBF\xBD");
        } else if (memmem(s.ptr, n, "\xC2\x85", 2)) {
            weir_buf_append_str(out, "\\u0085");
        } else if (n == 3 &&
                   (!memcmp(s.ptr, "\xE2\x80\xA8", 3) || !memcmp(s.ptr, "\xE2\x80\xA9", 3))) {
            weir_buf_append_str(out, s.ptr[2] == '\xA8' ? "\\u2028" : "\\u2029");
        } else if (first >= 0x20 && first != '"' && first != '\\') {
            weir_buf_append(out, s.ptr, n);
        } else {
            while (*shorts && *shorts != s.ptr[0]) shorts += 2;
            if (first && *shorts) weir_buf_printf(out, "\\%c", shorts[1]);
            else weir_buf_printf(out, "\\u%04x", first);
        }
    }
}

TEST(random_text_at_any_offset_agrees_with_slow_escaper)
{
    static const char *const pieces[] = {
        "a",        "long plain text", "\"",           "\\",           "\n", "\x1f",
        "\xC3\xA9", "\xED\xA1",        "\xFF",         "\xED\xB2\xAB", " ",  "\xF0\x9F\x98\x80",
        "\xC2\x85", "\xE2\x80\xA8",    "\xE2\x80\xA9", "\xE2\x80"};
    struct weir_buf in, fast, slow;
    weir_buf_init(&in, 4096);
    weir_buf_init(&fast, 65536);
    weir_buf_init(&slow, 65536);
    for (int round = 0; round < 5000; round++) {
        weir_buf_reset(&in);
        weir_buf_reset(&fast);
        weir_buf_reset(&slow);
        for (uint64_t n = t_random() % 30; n > 0; n--)
            weir_buf_append_str(&in, pieces[t_random() % (sizeof pieces / sizeof *pieces)]);
        struct weir_slice s = weir_buf_slice(&in);
        s = slice_from(s, s.len > 0 ? t_random() % s.len : 0);
        escape_json(&fast, s);
        escape_slowly(&slow, s);
        T_EQ_SLICE(weir_buf_slice(&fast), weir_buf_slice(&slow));
    }
    weir_buf_fini(&in);
    weir_buf_fini(&fast);
    weir_buf_fini(&slow);
}

TEST(every_byte_in_every_place_of_a_word_is_seen)
{
    for (unsigned c = 0; c < 256; c++) {
        for (size_t at = 0; at < 17; at++) {
            char text[17];
            struct weir_buf fast, slow;
            memset(text, 'x', sizeof text);
            text[at] = (char)c;
            weir_buf_init(&fast, 256);
            weir_buf_init(&slow, 256);
            escape_json(&fast, slice_of(text, sizeof text));
            escape_slowly(&slow, slice_of(text, sizeof text));
            T_EQ_SLICE(weir_buf_slice(&fast), weir_buf_slice(&slow));
            weir_buf_fini(&fast);
            weir_buf_fini(&slow);
        }
    }
}

TEST(failure_sticks_in_the_buffer)
{
    struct weir_buf out;
    weir_buf_init(&out, 3);
    escape_json(&out, SLICE("ab\n\n"));
    T_EQ(weir_buf_status(&out), WEIR_LIMIT);
    weir_buf_fini(&out);
    weir_buf_init(&out, 100);
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    escape_json(&out, SLICE("ab\n"));
    T_EQ(weir_buf_status(&out), WEIR_NOMEM);
    fault_disarm_all();
    weir_buf_fini(&out);
}
