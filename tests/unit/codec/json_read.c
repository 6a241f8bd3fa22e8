/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON, strictly and as it arrives. Each text is parsed whole and fed in
 * every cutting; verdict, offset and value have to be the same, and are compared
 * with the slow reading of tests/oracle after every piece.
 */
#include <stdlib.h>

#include <weir/json.h>

#include "base/fault.h"
#include "base/slice.h"
#include "oracle/json_slow.h"
#include "oracle/transcript.h"
#include "t.h"

/* The library's value, brought into the oracle's spelling; "-" for nothing. */
static void add_canonical(struct text *out, const struct weir_json *v)
{
    struct text raw = {0};
    transcript_value(&raw, v);
    if (!v) text_add(out, raw.ptr, raw.len);
    else if (!json_slow_show(out, text_slice(&raw), UINT32_MAX, JSON_SLOW_WHOLE)) abort();
    text_fini(&raw);
}

static void add_shown(struct text *out, struct weir_slice text, enum json_slow_mode mode)
{
    if (!json_slow_show(out, text, 0, mode)) text_add_char(out, '-');
}

static void expect_parse(struct weir_slice text, enum weir_status want_st, size_t want_offset)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *v = NULL;
    size_t offset = SIZE_MAX;
    size_t slow_offset;
    T_EQ(weir_json_parse(doc, text, &v, &offset), want_st);
    T_EQ(offset, want_offset);
    T_EQ(v != NULL, want_st == WEIR_OK);
    T_EQ(json_slow_check(text, 0, &slow_offset), want_st);
    T_EQ(slow_offset, want_offset);
    if (want_st == WEIR_OK) {
        struct text got = {0}, want = {0};
        add_canonical(&got, v);
        add_shown(&want, text, JSON_SLOW_WHOLE);
        T_EQ_SLICE(text_slice(&got), text_slice(&want));
        T_OK(weir_json_is_whole(v));
        text_fini(&got);
        text_fini(&want);
    }
    weir_json_doc_free(doc);
}

/* After every piece the value must be what the slow reading shows for all bytes so far. */
static void expect_growth(struct weir_slice text, struct cut *cut, enum weir_status want_st,
                          size_t want_offset)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    struct weir_slice rest = text;
    struct weir_slice piece;
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) {
        struct text got = {0}, want = {0};
        struct weir_slice so_far = {text.ptr, text.len - rest.len};
        st = weir_json_reader_feed(r, piece.ptr, piece.len);
        add_canonical(&got, weir_json_reader_value(r));
        add_shown(&want, so_far, JSON_SLOW_OPEN);
        /* After an error nothing more can come, so half a pair may be shown or not. */
        if (st != WEIR_OK && !text_eq(&got, &want)) {
            want.len = 0;
            add_shown(&want, so_far, JSON_SLOW_CUT);
        }
        T_EQ_SLICE(text_slice(&got), text_slice(&want));
        T_EQ(weir_json_reader_offset(r), st == WEIR_OK ? so_far.len : want_offset);
        text_fini(&got);
        text_fini(&want);
    }
    cut_fini(cut);
    if (st == WEIR_OK) st = weir_json_reader_end(r);
    T_EQ(st, want_st);
    T_EQ(weir_json_reader_offset(r), want_offset);
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

static void expect(struct weir_slice text, enum weir_status want_st, size_t want_offset)
{
    struct cut cut;
    expect_parse(text, want_st, want_offset);
    for (size_t n = 0; cut_nth(&cut, n, text.len); n++)
        expect_growth(text, &cut, want_st, want_offset);
}

#define VALID(name, text)                                                                          \
    TEST(name)                                                                                     \
    {                                                                                              \
        expect(SLICE(text), WEIR_OK, sizeof(text) - 1);                                            \
    }
#define INVALID(name, text, st, offset)                                                            \
    TEST(name)                                                                                     \
    {                                                                                              \
        expect(SLICE(text), WEIR_JSON_##st, offset);                                               \
    }

/* ---- texts that are JSON ---- */

VALID(null_is_a_text, "null")
VALID(true_is_a_text, "true")
VALID(false_is_a_text, " false ")
VALID(number_is_a_text, "12")
VALID(number_with_space_is_a_text, " -1.5e+3\n")
VALID(string_is_a_text, "\"a\"")
VALID(empty_containers, "[[],{},[{}],{\"\":[]}]")
VALID(all_white_space, " \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n")
VALID(white_space_in_objects, " { \"a\" : 1 , \"b\" : { } } ")
VALID(all_short_escapes, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"")
VALID(unicode_escapes, "\"\\u0041\\u00e9\\u20AC\\uFFFF\\u0000\"")
VALID(all_hex_digits, "\"\\u0123\\u4567\\u89ab\\ucdef\\uABCD\\uEF09\\u00ff\\u00FF\"")
VALID(surrogate_pair, "\"\\ud83d\\ude80\"")
VALID(lone_high_surrogate_is_legal, "\"\\ud83d\"")
VALID(lone_low_surrogate_is_legal, "\"\\ude80x\"")
VALID(high_then_high_then_low, "\"\\ud83d\\ud83d\\ude80\"")
VALID(high_then_other_escape, "\"\\ud83d\\n\\ud83d\\u0041\\ud83d\\\"\"")
VALID(high_then_raw_characters, "\"\\ud83da\\ud83d\xc3\xa9\\ud83d\xf0\x9f\x9a\x80\"")
VALID(raw_utf8, "\"\xc3\xa9\xe2\x82\xac\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"")
VALID(delete_character_is_no_control_character, "\"\x7f\"")
VALID(numbers_of_all_shapes, "[0,-0,0.0,1E+2,1e-2,-12.50e005,9007199254740993,1e400,0e0]")
VALID(nested_values,
      "{\"p\":\"/s\\u00e9\\n\",\"n\":[1,-2.5e3,true,null,{\"q\":\"\\ud83d\\ude00\"}]}")
VALID(repeated_key_takes_the_place_of_the_first,
      "{\"a\":1,\"b\":2,\"a\":\"xyz\",\"c\":[1],\"a\":{\"a\":true},\"b\":[]}")
VALID(repeated_key_in_escapes, "{\"a\\u0062\":1,\"ab\":null,\"\\u0061b\":false}")
VALID(keys_of_all_kinds, "{\"\":1,\"\\u0000\":2,\"\\ud800\":3,\"\xf0\x9f\x9a\x80\":4,\"k\\\"\":5}")

/* ---- texts that end too soon ---- */

INVALID(nothing_is_truncated, "", TRUNCATED, 0)
INVALID(white_space_is_truncated, " \n", TRUNCATED, 2)
INVALID(half_a_literal_is_truncated, "tru", TRUNCATED, 3)
INVALID(minus_is_truncated, "-", TRUNCATED, 1)
INVALID(point_is_truncated, "1.", TRUNCATED, 2)
INVALID(exponent_is_truncated, "1e", TRUNCATED, 2)
INVALID(signed_exponent_is_truncated, "1e+", TRUNCATED, 3)
INVALID(open_string_is_truncated, "\"ab", TRUNCATED, 3)
INVALID(half_an_escape_is_truncated, "\"\\u12", TRUNCATED, 5)
INVALID(half_a_character_is_truncated, "\"\xf0\x9f\x9a", TRUNCATED, 4)
INVALID(open_array_is_truncated, "[1,", TRUNCATED, 3)
INVALID(open_object_is_truncated, "{\"a\":1", TRUNCATED, 6)
INVALID(key_without_value_is_truncated, "{\"a\"", TRUNCATED, 4)
INVALID(high_surrogate_at_the_end_is_truncated, "[\"\\ud83d", TRUNCATED, 8)

/* ---- texts that are not JSON: the first byte that cannot be ---- */

INVALID(bad_first_byte, "x", SYNTAX, 0)
INVALID(byte_order_mark, "\xef\xbb\xbf{}", SYNTAX, 0)
INVALID(closing_bracket_alone, "]", SYNTAX, 0)
INVALID(comma_alone, ",", SYNTAX, 0)
INVALID(bad_literal, "nulx", SYNTAX, 3)
INVALID(literal_in_capitals, "True", SYNTAX, 0)
INVALID(literal_that_goes_on, "truee", SYNTAX, 4)
INVALID(nan_is_no_number, "{\"a\":NaN,", SYNTAX, 5)
INVALID(infinity_is_no_number, "-Infinity", SYNTAX, 1)
INVALID(plus_sign, "+1", SYNTAX, 0)
INVALID(leading_zero, "[01]", SYNTAX, 2)
INVALID(leading_zero_after_minus, "-00", SYNTAX, 2)
INVALID(leading_point, ".5", SYNTAX, 0)
INVALID(point_without_digits, "[1.]", SYNTAX, 3)
INVALID(exponent_without_digits, "[1e]", SYNTAX, 3)
INVALID(signed_exponent_without_digits, "[1e+]", SYNTAX, 4)
INVALID(hexadecimal, "0x10", SYNTAX, 1)
INVALID(two_points, "1.2.3", SYNTAX, 3)
INVALID(number_then_letter, "[12x]", SYNTAX, 3)
INVALID(number_then_wrong_bracket, "[12}", SYNTAX, 3)
INVALID(number_then_comma_outside, "12,", SYNTAX, 2)
INVALID(trailing_comma_in_array, "[1,]", SYNTAX, 3)
INVALID(trailing_comma_in_object, "{\"a\":1,}", SYNTAX, 7)
INVALID(missing_comma, "[1 2]", SYNTAX, 3)
INVALID(missing_colon, "{\"a\" 1}", SYNTAX, 5)
INVALID(two_commas, "[1,,2]", SYNTAX, 3)
INVALID(key_without_quotes, "{a:1}", SYNTAX, 1)
INVALID(key_in_single_quotes, "{'a':1}", SYNTAX, 1)
INVALID(key_that_is_no_string, "{1:1}", SYNTAX, 1)
INVALID(wrong_bracket, "[1}", SYNTAX, 2)
INVALID(wrong_brace, "{\"a\":[]]", SYNTAX, 7)
INVALID(trailing_garbage, "[1]x", SYNTAX, 3)
INVALID(second_text, "{} {}", SYNTAX, 3)
INVALID(second_string, "\"a\"\"b\"", SYNTAX, 3)
INVALID(comment, "[1/*x*/]", SYNTAX, 2)
INVALID(raw_newline_in_string, "\"a\nb\"", SYNTAX, 2)
INVALID(raw_nul_in_string, "\"a\0b\"", SYNTAX, 2)
INVALID(raw_unit_separator_in_key, "{\"\x1f\":1}", SYNTAX, 2)
INVALID(raw_nul_between_tokens, "[\0]", SYNTAX, 1)
INVALID(form_feed_is_no_white_space, "[\f]", SYNTAX, 1)
INVALID(no_break_space_is_no_white_space, "[\xc2\xa0]", SYNTAX, 1)
INVALID(bad_escape, "\"a\\x\"", SYNTAX, 3)
INVALID(capital_escape, "\"\\N\"", SYNTAX, 2)
INVALID(bad_hex_digit, "\"\\u00g0\"", SYNTAX, 5)
INVALID(quote_inside_hex, "\"\\u0\"", SYNTAX, 4)
INVALID(bad_hex_digit_after_high_surrogate, "[\"\\ud83d\\uzz", SYNTAX, 10)
INVALID(control_character_after_high_surrogate, "[\"ab\\ud83d\n", SYNTAX, 10)
INVALID(control_character_after_backslash, "\"\\\n", SYNTAX, 2)

INVALID(continuation_byte_alone, "\"\x80\"", UTF8, 1)
INVALID(overlong_two_bytes, "\"\xc0\x80\"", UTF8, 1)
INVALID(overlong_three_bytes, "\"\xe0\x80\x80\"", UTF8, 2)
INVALID(overlong_four_bytes, "\"\xf0\x80\x80\x80\"", UTF8, 2)
INVALID(raw_surrogate, "\"\xed\xa0\x80\"", UTF8, 2)
INVALID(beyond_unicode, "\"\xf4\x90\x80\x80\"", UTF8, 2)
INVALID(lead_byte_that_is_none, "\"\xf5\"", UTF8, 1)
INVALID(character_cut_by_quote, "\"\xe2\x82\"", UTF8, 3)
INVALID(character_cut_by_backslash, "\"\xe2\\n\"", UTF8, 2)
INVALID(character_cut_by_control_character, "\"\xc3\n\"", UTF8, 2)
INVALID(bad_utf8_in_key, "{\"\xff\":1}", UTF8, 2)
INVALID(bad_utf8_after_high_surrogate, "\"\\ud83d\xff\"", UTF8, 7)
INVALID(bad_utf8_outside_strings_is_syntax, "[\xff]", SYNTAX, 1)

TEST(random_texts_read_as_the_slow_reader_says)
{
    static const char *const words[] = {
        "{",        "}",       "[",     "]",       ":",       ",",        "\"",
        "\"a\"",    "\"a\":",  "1",     "-",       "0",       ".5",       "e",
        "E+",       "true",    "false", "null",    "tr",      " ",        "\\u",
        "\\ud83d",  "\\ude80", "d83d",  "\\n",     "\\",      "\xc3",     "\xa9",
        "\xf0\x9f", "x",       "[1,2",  "{\"a\":", ",\"a\":", "\"k\":\"", "\"\\ud800"};
    for (int round = 0; round < 6000; round++) {
        struct text input = {0};
        struct cut cut;
        size_t offset;
        size_t n_words = t_random() % 14;
        for (size_t i = 0; i < n_words; i++) {
            const char *word = words[t_random() % (sizeof words / sizeof *words)];
            text_add(&input, word, strlen(word));
        }
        enum weir_status st = json_slow_check(text_slice(&input), 0, &offset);
        expect_parse(text_slice(&input), st, offset);
        cut_from_byte(&cut, (uint8_t)(t_random() % 8));
        expect_growth(text_slice(&input), &cut, st, offset);
        cut_from_byte(&cut, (uint8_t)t_random());
        expect_growth(text_slice(&input), &cut, st, offset);
        text_fini(&input);
    }
}

/* ---- what is shown on the way ---- */

struct shown {
    const char *text;
    const char *want;
};

static void expect_shown(const struct shown *rows, size_t n_rows, bool is_cut)
{
    for (size_t i = 0; i < n_rows; i++) {
        struct text got = {0}, slow = {0};
        struct weir_json_doc *doc = weir_json_doc_new(0);
        struct weir_json_reader *r = weir_json_reader_new(doc, 0);
        struct weir_slice text = weir_slice_of(rows[i].text);
        T_EQ(weir_json_reader_feed(r, text.ptr, text.len), WEIR_OK);
        if (is_cut) weir_json_reader_cut(r);
        add_canonical(&got, weir_json_reader_value(r));
        T_EQ_STR(text_slice(&got), rows[i].want);
        add_shown(&slow, text, is_cut ? JSON_SLOW_CUT : JSON_SLOW_OPEN);
        T_EQ_STR(text_slice(&slow), rows[i].want);
        text_fini(&got);
        text_fini(&slow);
        weir_json_reader_free(r);
        weir_json_doc_free(doc);
    }
}

TEST(only_what_is_certain_is_shown)
{
    static const struct shown rows[] = {
        {"", "-"},
        {" ", "-"},
        {"t", "-"},
        {"tru", "-"},
        {"true", "true"},
        {"-", "-"},
        {"12", "-"},
        {"12 ", "12"},
        {"[12", "[]"},
        {"[12,", "[12]"},
        {"[12 ", "[12]"},
        {"[12]", "[12]"},
        {"[1.5e", "[]"},
        {"\"", "\"\""},
        {"\"a", "\"a\""},
        {"\"a\\", "\"a\""},
        {"\"a\\u00e", "\"a\""},
        {"\"a\\u00e9", "\"a\xc3\xa9\""},
        {"\"\xf0\x9f\x9a", "\"\""},
        {"\"\\ud83d", "\"\""},
        {"\"\\ud83d\\", "\"\""},
        {"\"\\ud83d\\ude8", "\"\""},
        {"\"\\ud83d\\ude80", "\"\xf0\x9f\x9a\x80\""},
        {"\"\\ud83dx", "\"\\ud83dx\""},
        {"\"\\ud83d\"", "\"\\ud83d\""},
        {"\"\\ud83d\\n", "\"\\ud83d\\u000a\""},
        {"\"\\ude80", "\"\\ude80\""},
        {"{", "{}"},
        {"{\"", "{}"},
        {"{\"a", "{}"},
        {"{\"a\"", "{}"},
        {"{\"a\":", "{}"},
        {"{\"a\":\"", "{\"a\":\"\"}"},
        {"{\"a\":[", "{\"a\":[]}"},
        {"{\"a\":{", "{\"a\":{}}"},
        {"{\"a\":1", "{}"},
        {"{\"a\":1,", "{\"a\":1}"},
        {"{\"a\":nul", "{}"},
        {"{\"a\":null", "{\"a\":null}"},
        {"{\"a\":1,\"a\":", "{\"a\":1}"},
        {"{\"a\":1,\"a\":2", "{\"a\":1}"},
        {"{\"a\":1,\"b\":0,\"a\":\"", "{\"a\":\"\",\"b\":0}"},
        {"{\"a\":{\"x\":1},\"a\":t", "{\"a\":{\"x\":1}}"},
        {"{\"a\":{\"x\":1},\"a\":[", "{\"a\":[]}"},
    };
    expect_shown(rows, sizeof rows / sizeof *rows, false);
}

TEST(cut_shows_the_half_pair_but_no_half_number)
{
    static const struct shown rows[] = {
        {"\"\\ud83d", "\"\\ud83d\""},
        {"\"a\\ud83d\\", "\"a\\ud83d\""},
        {"[\"\\ud83d\\u", "[\"\\ud83d\"]"},
        {"[\"\\ud83d\\ude8", "[\"\\ud83d\"]"},
        {"{\"k\":\"\\ud83d\\ud83d", "{\"k\":\"\\ud83d\\ud83d\"}"},
        {"[12", "[]"},
        {"12", "-"},
        {"\"\xf0\x9f", "\"\""},
        {"{\"\\ud83d", "{}"},
        {"", "-"},
    };
    expect_shown(rows, sizeof rows / sizeof *rows, true);
}

TEST(values_are_whole_only_when_closed)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    T_EQ(weir_json_reader_feed(r, "{\"a\":[\"x", 8), WEIR_OK);
    const struct weir_json *v = weir_json_reader_value(r);
    const struct weir_json *a = weir_json_get_str(v, "a");
    const struct weir_json *x = weir_json_first(a);
    T_OK(!weir_json_is_whole(v) && !weir_json_is_whole(a) && !weir_json_is_whole(x));
    T_EQ(weir_json_reader_feed(r, "\"", 1), WEIR_OK);
    T_OK(!weir_json_is_whole(v) && !weir_json_is_whole(a) && weir_json_is_whole(x));
    T_EQ(weir_json_reader_feed(r, ",1,]", 3), WEIR_OK);
    T_OK(weir_json_is_whole(weir_json_next(x)));
    T_EQ(weir_json_reader_feed(r, "2]", 2), WEIR_OK);
    T_OK(!weir_json_is_whole(v) && weir_json_is_whole(a));
    T_EQ(weir_json_reader_feed(r, "}", 1), WEIR_OK);
    T_OK(weir_json_is_whole(v));
    T_EQ(weir_json_reader_end(r), WEIR_OK);
    T_OK(weir_json_reader_value(r) == v);
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

/* Every slice taken on the way must still hold the bytes it held when it was taken. */
TEST(slices_of_a_growing_string_stay_readable)
{
    enum { N_STEPS = 2000 };
    static struct weir_slice taken[N_STEPS];
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    T_EQ(weir_json_reader_feed(r, "\"", 1), WEIR_OK);
    for (int i = 0; i < N_STEPS; i++) {
        T_EQ(weir_json_reader_feed(r, "0123456789", 10), WEIR_OK);
        taken[i] = weir_json_text(weir_json_reader_value(r));
        T_EQ(taken[i].len, (size_t)(i + 1) * 10);
    }
    for (int i = 0; i < N_STEPS; i++) {
        T_OK(memcmp(taken[i].ptr, "0123456789", 10) == 0);
        T_OK(memcmp(taken[i].ptr + taken[i].len - 10, "0123456789", 10) == 0);
    }
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

TEST(nothing_shown_is_taken_back)
{
    struct weir_slice text =
        SLICE("{\"a\":[\"x\\ud83d\\ude80y\",1.5,{\"b\":true}],\"c\":\"long text\"}");
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    const struct weir_json *root = NULL;
    struct weir_slice x = {NULL, 0};
    size_t n_members = 0;
    for (size_t i = 0; i < text.len; i++) {
        T_EQ(weir_json_reader_feed(r, text.ptr + i, 1), WEIR_OK);
        const struct weir_json *v = weir_json_reader_value(r);
        if (!root) root = v;
        T_OK(v == root);
        const struct weir_json *a = weir_json_get_str(v, "a");
        struct weir_slice now = weir_json_text(weir_json_first(a));
        T_OK(now.len >= x.len && (x.len == 0 || memcmp(now.ptr, x.ptr, x.len) == 0));
        x = now;
        T_OK(weir_json_count(a) + weir_json_count(v) >= n_members);
        n_members = weir_json_count(a) + weir_json_count(v);
    }
    T_EQ_STR(x, "x\xf0\x9f\x9a\x80y");
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

/* ---- depth ---- */

static void expect_depth(size_t n, const char *unit, unsigned max_depth, enum weir_status want_st,
                         size_t want_offset)
{
    struct text input = {0};
    struct cut cut;
    for (size_t i = 0; i < n; i++) text_add(&input, unit, strlen(unit));
    for (uint8_t way = 0; way < 4; way++) {
        struct weir_json_doc *doc = weir_json_doc_new(0);
        struct weir_json_reader *r = weir_json_reader_new(doc, max_depth);
        struct weir_slice rest = text_slice(&input);
        struct weir_slice piece;
        enum weir_status st = WEIR_OK;
        cut_from_byte(&cut, way);
        while (st == WEIR_OK && cut_take(&cut, &rest, &piece))
            st = weir_json_reader_feed(r, piece.ptr, piece.len);
        if (st == WEIR_OK) st = weir_json_reader_end(r);
        T_EQ(st, want_st);
        T_EQ(weir_json_reader_offset(r), want_offset);
        cut_fini(&cut);
        weir_json_reader_free(r);
        weir_json_doc_free(doc);
    }
    text_fini(&input);
}

TEST(depth_is_bounded_at_the_bracket_that_exceeds_it)
{
    expect_depth(512, "[", 0, WEIR_JSON_TRUNCATED, 512);
    expect_depth(513, "[", 0, WEIR_JSON_DEPTH, 512);
    expect_depth(100000, "[", 0, WEIR_JSON_DEPTH, 512);
    expect_depth(513, "{\"a\":", 0, WEIR_JSON_DEPTH, 512 * 5);
    expect_depth(3, "[", 3, WEIR_JSON_TRUNCATED, 3);
    expect_depth(4, "[", 3, WEIR_JSON_DEPTH, 3);
    expect_depth(100, "[],", 1, WEIR_JSON_SYNTAX, 2);
    expect_depth(100000, "[", 200000, WEIR_JSON_TRUNCATED, 100000);
}

TEST(depth_counts_open_brackets_only)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, 2);
    T_EQ(weir_json_reader_feed(r, "[[],[],{},[],{\"a\":1}]", 21), WEIR_OK);
    T_EQ(weir_json_reader_end(r), WEIR_OK);
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

TEST(strict_parse_has_the_default_depth)
{
    struct text input = {0};
    for (int i = 0; i < 512; i++) text_add_char(&input, '[');
    for (int i = 0; i < 512; i++) text_add_char(&input, ']');
    expect_parse(text_slice(&input), WEIR_OK, 1024);
    text_fini(&input);
    for (int i = 0; i < 513; i++) text_add_char(&input, '[');
    expect_parse(text_slice(&input), WEIR_JSON_DEPTH, 512);
    text_fini(&input);
}

/* ---- life cycle ---- */

TEST(errors_stick_until_a_reset)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    T_EQ(weir_json_reader_feed(r, "[1,x", 4), WEIR_JSON_SYNTAX);
    T_EQ(weir_json_reader_feed(r, "2]", 2), WEIR_JSON_SYNTAX);
    T_EQ(weir_json_reader_end(r), WEIR_JSON_SYNTAX);
    T_EQ(weir_json_reader_offset(r), 3);
    T_EQ(weir_json_count(weir_json_reader_value(r)), 1);
    weir_json_reader_reset(r);
    T_EQ(weir_json_reader_offset(r), 0);
    T_OK(weir_json_reader_value(r) == NULL);
    T_EQ(weir_json_reader_feed(r, "[]", 2), WEIR_OK);
    T_EQ(weir_json_reader_end(r), WEIR_OK);
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

TEST(earlier_values_stay_after_a_reader_reset)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    T_EQ(weir_json_reader_feed(r, "[\"one\"]", 7), WEIR_OK);
    T_EQ(weir_json_reader_end(r), WEIR_OK);
    const struct weir_json *one = weir_json_reader_value(r);
    weir_json_reader_reset(r);
    T_EQ(weir_json_reader_feed(r, "[\"two\"]", 7), WEIR_OK);
    T_EQ_STR(weir_json_text(weir_json_first(one)), "one");
    T_EQ_STR(weir_json_text(weir_json_first(weir_json_reader_value(r))), "two");
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

TEST(several_readers_share_one_document)
{
    enum { N = 5 };
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *readers[N];
    struct weir_slice text = SLICE("{\"key\":\"value that is somewhat long\",\"n\":[1,2,3]}");
    for (int i = 0; i < N; i++) readers[i] = weir_json_reader_new(doc, 0);
    for (size_t at = 0; at < text.len; at++)
        for (int i = 0; i < N; i++)
            T_EQ(weir_json_reader_feed(readers[i], text.ptr + at, 1), WEIR_OK);
    for (int i = 0; i < N; i++) {
        struct text got = {0};
        T_EQ(weir_json_reader_end(readers[i]), WEIR_OK);
        transcript_value(&got, weir_json_reader_value(readers[i]));
        T_EQ_SLICE(text_slice(&got), text);
        text_fini(&got);
        weir_json_reader_free(readers[i]);
    }
    weir_json_doc_free(doc);
}

TEST(document_is_reusable_after_reset)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    for (int round = 0; round < 50; round++) {
        const struct weir_json *v;
        T_EQ(weir_json_parse(doc, SLICE("{\"a\":[1,2,{\"b\":\"c\"}]}"), &v, NULL), WEIR_OK);
        T_EQ(weir_json_count(weir_json_get_str(v, "a")), 3);
        weir_json_doc_reset(doc);
    }
    weir_json_doc_free(doc);
}

TEST(free_of_null_is_fine)
{
    weir_json_reader_free(NULL);
    weir_json_doc_free(NULL);
}

/* ---- the ceiling ---- */

TEST(document_ceiling_is_a_named_error_in_any_cutting)
{
    static const char *const units[] = {"\"abcdefgh\",", "1234567,", "[],", "{\"k\":true},"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (uint8_t way = 0; way < 3; way++) {
            struct weir_json_doc *doc = weir_json_doc_new(64 << 10);
            struct weir_json_reader *r = weir_json_reader_new(doc, 0);
            enum weir_status st = weir_json_reader_feed(r, "[", 1);
            size_t unit_len = strlen(units[i]);
            size_t piece_len = way == 0 ? unit_len : way;
            for (size_t n = 0; st == WEIR_OK && n < 100000; n++)
                for (size_t at = 0; st == WEIR_OK && at < unit_len; at += piece_len) {
                    size_t left = unit_len - at;
                    st = weir_json_reader_feed(r, units[i] + at,
                                               left < piece_len ? left : piece_len);
                }
            T_EQ(st, WEIR_LIMIT);
            T_OK(weir_json_count(weir_json_reader_value(r)) > 100);
            weir_json_reader_free(r);
            weir_json_doc_free(doc);
        }
    }
}

TEST(one_long_string_meets_the_ceiling)
{
    struct weir_json_doc *doc = weir_json_doc_new(64 << 10);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    enum weir_status st = weir_json_reader_feed(r, "\"", 1);
    for (size_t n = 0; st == WEIR_OK && n < 100000; n++) st = weir_json_reader_feed(r, "abcd", 4);
    T_EQ(st, WEIR_LIMIT);
    T_OK(weir_json_text(weir_json_reader_value(r)).len > 4096);
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
    struct text big = {0};
    const struct weir_json *v;
    text_add_char(&big, '"');
    for (int i = 0; i < 100000; i++) text_add_char(&big, 'x');
    text_add_char(&big, '"');
    doc = weir_json_doc_new(64 << 10);
    T_EQ(weir_json_parse(doc, text_slice(&big), &v, NULL), WEIR_LIMIT);
    T_OK(v == NULL);
    text_fini(&big);
    weir_json_doc_free(doc);
}

/* ---- memory and work ---- */

static enum weir_status read_all(struct weir_slice text, size_t piece_len)
{
    enum weir_status st = WEIR_NOMEM;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = doc ? weir_json_reader_new(doc, 0) : NULL;
    if (r) st = WEIR_OK;
    for (size_t i = 0; st == WEIR_OK && i < text.len; i += piece_len)
        st = weir_json_reader_feed(r, text.ptr + i,
                                   text.len - i < piece_len ? text.len - i : piece_len);
    if (st == WEIR_OK) st = weir_json_reader_end(r);
    if (r) (void)weir_json_count(weir_json_reader_value(r));
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
    return st;
}

TEST(every_failing_allocation_is_reported)
{
    struct text input = {0};
    text_printf(&input,
                "{\"a\\n\":[1,2.5,\"x\\ud83d\\ude80\",{\"deep\":[[[[[[null]]]]]]}],\"a\\n\":true");
    for (int i = 0; i < 40; i++) text_printf(&input, ",\"key%d\":\"value %d\"", i, i);
    text_printf(&input, ",\"long\":\"");
    for (int i = 0; i < 2000; i++) text_printf(&input, "0123456789");
    text_printf(&input, "\"}");
    for (int mode = 0; mode < 4; mode++) {
        bool is_done = false;
        for (uint64_t nth = 1; !is_done && nth < 5000; nth++) {
            fault_arm(FAULT_ALLOC, nth, mode & 1 ? FAULT_FROM : FAULT_ONCE);
            enum weir_status st = read_all(text_slice(&input), mode & 2 ? 7 : SIZE_MAX / 2);
            is_done = fault_count(FAULT_ALLOC) < nth;
            fault_disarm_all();
            /* One failure may be got over: what does not fit doubled may fit as it is. */
            if (is_done) T_EQ(st, WEIR_OK);
            else T_OK(st == WEIR_NOMEM || (st == WEIR_OK && !(mode & 1)));
        }
        T_OK(is_done);
    }
    text_fini(&input);
}

/* Memory asked of the system, as the sum of what the ceiling had to allow. */
static bool fits(struct weir_slice text, size_t piece_len, size_t max_bytes)
{
    struct weir_json_doc *doc = weir_json_doc_new(max_bytes);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; st == WEIR_OK && i < text.len; i += piece_len)
        st = weir_json_reader_feed(r, text.ptr + i,
                                   text.len - i < piece_len ? text.len - i : piece_len);
    if (st == WEIR_OK) st = weir_json_reader_end(r);
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
    return st == WEIR_OK;
}

/* If each step copied what came before, 200 KB in 20-byte deltas would need 1 GB. */
TEST(long_input_in_small_deltas_takes_linear_memory)
{
    struct text one = {0}, many = {0};
    text_add_char(&one, '"');
    while (one.len < 200000) text_printf(&one, "some text \\n ");
    text_add_char(&one, '"');
    text_add_char(&many, '[');
    while (many.len < 200000) text_printf(&many, "{\"id\":12345,\"name\":\"abc\"},");
    text_printf(&many, "0]");
    T_OK(fits(text_slice(&one), 20, 2 << 20));
    T_OK(fits(text_slice(&one), 1, 2 << 20));
    T_OK(fits(text_slice(&many), 20, 8 << 20));
    T_OK(fits(text_slice(&many), 1, 8 << 20));
    text_fini(&one);
    text_fini(&many);
}

static uint64_t allocations_for(size_t n_bytes)
{
    struct text one = {0};
    text_add_char(&one, '"');
    while (one.len < n_bytes) text_printf(&one, "some text");
    text_add_char(&one, '"');
    fault_arm(FAULT_ALLOC, UINT64_MAX, FAULT_ONCE);
    T_EQ(read_all(text_slice(&one), 20), WEIR_OK);
    uint64_t n = fault_count(FAULT_ALLOC);
    fault_disarm_all();
    text_fini(&one);
    return n;
}

TEST(twice_the_string_needs_hardly_more_allocations)
{
    uint64_t small = allocations_for(100000);
    uint64_t large = allocations_for(200000);
    T_OK(large <= 2 * small + 2);
    T_OK(large < 200);
}

TEST(open_value_is_read_without_any_allocation)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    T_EQ(weir_json_reader_feed(r, "{\"a\":[1,\"xyz", 12), WEIR_OK);
    fault_arm(FAULT_ALLOC, 1, FAULT_FROM);
    for (int i = 0; i < 100; i++) {
        const struct weir_json *v = weir_json_reader_value(r);
        T_EQ(weir_json_count(weir_json_get_str(v, "a")), 2);
    }
    T_EQ(fault_count(FAULT_ALLOC), 0);
    fault_disarm_all();
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

TEST(reader_says_what_it_expected)
{
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"", "a value"},
        {"[", "a value or ]"},
        {"[1,]", "a value"},
        {"[1 2", "a comma or ]"},
        {"{", "a key or }"},
        {"{\"a\":1,}", "a key"},
        {"{\"a\" 1", "a colon"},
        {"{\"a\":null]", "a comma or }"},
        {"1 2", "the end of the text"},
        {"\"\n", "a character of a string, or its end"},
        {"\"\xc3", "the rest of a UTF-8 character"},
        {"\"\\x", "an escape"},
        {"\"\\u00g", "four hexadecimal digits"},
        {"nulx", "the rest of true, false or null"},
        {"-x", "the rest of a number, or what may follow it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_json_doc *doc = weir_json_doc_new(0);
        struct weir_json_reader *r = weir_json_reader_new(doc, 0);
        enum weir_status st = weir_json_reader_feed(r, cases[i].text, strlen(cases[i].text));
        T_OK(st == WEIR_OK || st == WEIR_JSON_SYNTAX);
        T_EQ_STR(weir_slice_of(weir_json_reader_expected(r)), cases[i].expected);
        weir_json_reader_free(r);
        weir_json_doc_free(doc);
    }
}
