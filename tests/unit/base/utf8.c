/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle knows no table of byte ranges: it encodes every scalar value by
 * arithmetic and marks which byte strings are a character, and which begin one.
 */
#include "base/utf8.h"

#include "base/slice.h"
#include "t.h"

enum { IS_WHOLE = 1, IS_BEGUN = 2 };

/* By length, 1 to 3, and by the bytes as a big-endian number. */
static unsigned char *marks[4];

static size_t slow_encode(unsigned char out[4], uint32_t c)
{
    size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, c /= 64) out[i] = (unsigned char)(0x80 + c % 64);
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    out[0] = (unsigned char)(lead[len] + c);
    return len;
}

static uint32_t number(const unsigned char *p, size_t len)
{
    uint32_t n = 0;
    for (size_t i = 0; i < len; i++) n = n << 8 | p[i];
    return n;
}

static void make_marks(void)
{
    if (marks[1]) return;
    static unsigned char bytes[(1 << 8) + (1 << 16) + (1 << 24)];
    marks[1] = bytes;
    marks[2] = bytes + (1 << 8);
    marks[3] = bytes + (1 << 8) + (1 << 16);
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        unsigned char p[4];
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        size_t len = slow_encode(p, c);
        if (len < 4) marks[len][number(p, len)] |= IS_WHOLE;
        for (size_t n = 1; n < len; n++) marks[n][number(p, n)] |= IS_BEGUN;
    }
}

static enum utf8_verdict slow_first(const unsigned char *p, size_t len, size_t *n)
{
    for (*n = 1; *n <= len; ++*n)
        if (marks[*n][number(p, *n)] & IS_WHOLE) return UTF8_WHOLE;
    *n = len;
    if (marks[len][number(p, len)] & IS_BEGUN) return UTF8_PARTIAL;
    while (*n > 1 && !(marks[*n][number(p, *n)] & IS_BEGUN)) --*n;
    return UTF8_BAD;
}

static void check_all(size_t len)
{
    size_t n_wrong = 0;
    make_marks();
    for (uint32_t i = 0; i < 1u << (8 * len); i++) {
        unsigned char p[3];
        size_t got_n, want_n;
        for (size_t k = 0; k < len; k++) p[k] = (unsigned char)(i >> 8 * (len - 1 - k));
        enum utf8_verdict got = utf8_first(slice_of(p, len), &got_n);
        enum utf8_verdict want = slow_first(p, len, &want_n);
        n_wrong += got != want || got_n != want_n;
    }
    T_EQ(n_wrong, 0);
}

TEST(every_one_byte_input_is_judged_right)
{
    check_all(1);
}

TEST(every_two_byte_input_is_judged_right)
{
    check_all(2);
}

TEST(every_three_byte_input_is_judged_right)
{
    check_all(3);
}

TEST(every_scalar_value_is_whole_and_encodes_right)
{
    size_t n_wrong = 0;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        unsigned char want[4];
        char got[UTF8_MAX_BYTES];
        size_t len = slow_encode(want, c);
        size_t n;
        uint32_t surrogate = 0;
        bool is_surrogate = c >= 0xD800 && c <= 0xDFFF;
        n_wrong += utf8_encode(got, c) != len || memcmp(got, want, len) != 0;
        n_wrong += utf8_is_surrogate(slice_of(want, len), &surrogate) != is_surrogate;
        n_wrong += is_surrogate && surrogate != c;
        bool is_whole = utf8_first(slice_of(want, len), &n) == UTF8_WHOLE && n == len;
        n_wrong += is_whole == is_surrogate;
        n_wrong += utf8_valid_prefix(slice_of(want, len)) != (is_surrogate ? 0 : len);
    }
    T_EQ(n_wrong, 0);
}

TEST(four_byte_boundaries_are_judged_right)
{
    static const struct {
        struct weir_slice bytes;
        enum utf8_verdict verdict;
        size_t n;
    } rows[] = {
        {SLICE("\xF0\x90\x80\x80"), UTF8_WHOLE, 4},
        {SLICE("\xF0\x8F\xBF\xBF"), UTF8_BAD, 1},
        {SLICE("\xF4\x8F\xBF\xBF"), UTF8_WHOLE, 4},
        {SLICE("\xF4\x90\x80\x80"), UTF8_BAD, 1},
        {SLICE("\xF5\x80\x80\x80"), UTF8_BAD, 1},
        {SLICE("\xF3\xBF\xBF\xBF"), UTF8_WHOLE, 4},
        {SLICE("\xF1\x80\x80\x7F"), UTF8_BAD, 3},
        {SLICE("\xF1\x80\x80\xC0"), UTF8_BAD, 3},
        {SLICE("\xF1\x80\xC0\x80"), UTF8_BAD, 2},
        {SLICE("\xF1\x80\x80\x80x"), UTF8_WHOLE, 4},
        {SLICE("\xF8\x88\x80\x80\x80"), UTF8_BAD, 1},
        {SLICE("\xF0\x9F\x98\x80\x80"), UTF8_WHOLE, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n;
        T_EQ(utf8_first(rows[i].bytes, &n), rows[i].verdict);
        T_EQ(n, rows[i].n);
    }
}

TEST(surrogate_needs_all_three_bytes)
{
    uint32_t c;
    T_OK(!utf8_is_surrogate(SLICE(""), &c));
    T_OK(!utf8_is_surrogate(SLICE("\xED\xA0"), &c));
    T_OK(!utf8_is_surrogate(SLICE("\xED\xA0z"), &c));
    T_OK(utf8_is_surrogate(SLICE("\xED\xA0\x80z"), &c));
    T_EQ(utf16_join(0xD83D, 0xDE00), 0x1F600);
    T_EQ(utf16_join(0xDBFF, 0xDFFF), 0x10FFFF);
    T_OK(utf16_is_high(0xDBFF) && !utf16_is_high(0xDC00) && utf16_is_low(0xDC00));
    T_OK(!utf16_is_low(0xE000) && !utf16_is_high(0xD7FF) && !utf16_is_low(0xDBFF));
}

/* Random pieces, good and bad; the slow way goes character by character. */
TEST(prefix_and_repair_agree_with_a_walk)
{
    static const char *const pieces[] = {
        "plain", "x",        "eight by", "\xC3\xA9",     "\xE2\x82\xAC",
        "\x80",  "\xE2\x82", "\xF0\x9F", "\xED\xA0\x80", "\xF0\x9F\x98\x80"};
    for (int round = 0; round < 3000; round++) {
        struct weir_buf in, got, want;
        weir_buf_init(&in, 4096);
        weir_buf_init(&got, 4096);
        weir_buf_init(&want, 4096);
        for (uint64_t n = t_random() % 20; n > 0; n--)
            weir_buf_append_str(&in, pieces[t_random() % (round % 2 ? 5 : 10)]);
        size_t valid = SIZE_MAX, n;
        for (size_t i = 0; i < in.len; i += n) {
            bool is_whole = utf8_first(slice_of(in.ptr + i, in.len - i), &n) == UTF8_WHOLE;
            if (!is_whole && valid == SIZE_MAX) valid = i;
            if (is_whole) weir_buf_append(&want, in.ptr + i, n);
            else weir_buf_append_str(&want, "\xEF\xBF\xBD");
        }
        T_EQ(utf8_valid_prefix(weir_buf_slice(&in)), valid == SIZE_MAX ? in.len : valid);
        utf8_append_repaired(&got, weir_buf_slice(&in));
        T_EQ_SLICE(weir_buf_slice(&got), weir_buf_slice(&want));
        weir_buf_fini(&in);
        weir_buf_fini(&got);
        weir_buf_fini(&want);
    }
}

TEST(nothing_is_valid_and_repaired_to_nothing)
{
    struct weir_buf out;
    weir_buf_init(&out, 10);
    T_EQ(utf8_valid_prefix((struct weir_slice){NULL, 0}), 0);
    utf8_append_repaired(&out, (struct weir_slice){NULL, 0});
    T_EQ(out.len, 0);
    weir_buf_fini(&out);
}

TEST(controls_and_what_turns_the_direction_of_writing_are_found)
{
    static const struct {
        const char *text;
        bool has;
    } rows[] = {
        {"", false},
        {"Gr\xC3\xBC\xC3\x9F"
         "e \xE2\x80\xA6 \xE2\x80\x93 \xF0\x9F\x98\x80",
         false},
        {"\xD8\xA7\xD9\x84", false},                             /* Arabic turns by itself */
        {"\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7", false}, /* joined, U+200D */
        {"a\tb", true},
        {"a\x7F", true},
        {"\xC2\x85", true},      /* U+0085 */
        {"\xC2\xA0", false},     /* U+00A0 */
        {"\xD8\x9C", true},      /* U+061C */
        {"a\xE2\x80\x8E", true}, /* U+200E */
        {"a\xE2\x80\xA8", true}, /* U+2028 */
        {"a\xE2\x80\xAE"
         "b",
         true}, /* U+202E */
        {"a\xE2\x80\xAF"
         "b",
         false},                  /* U+202F */
        {"a\xE2\x81\xA6", true},  /* U+2066 */
        {"a\xE2\x81\xAA", false}, /* U+206A */
        {"a\xE2\x80", false},     /* not whole */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (utf8_has_controls(weir_slice_of(rows[i].text)) != rows[i].has)
            t_fail(__FILE__, __LINE__, "row %zu", i);
}
