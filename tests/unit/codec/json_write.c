/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: commas by themselves, escapes, numbers, whole values, ceilings. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <weir/json.h>

#include "base/fault.h"
#include "base/slice.h"
#include "oracle/json_slow.h"
#include "oracle/transcript.h"
#include "t.h"

static void expect(struct weir_buf *out, const char *want)
{
    size_t offset;
    T_EQ(weir_buf_status(out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(out), want);
    T_EQ(json_slow_check(weir_buf_slice(out), 0, &offset), WEIR_OK);
    weir_buf_reset(out);
}

TEST(commas_place_themselves)
{
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    weir_json_put_begin_object(&out);
    weir_json_put_key(&out, "a");
    weir_json_put_begin_array(&out);
    weir_json_put_int(&out, 1);
    weir_json_put_begin_array(&out);
    weir_json_put_end_array(&out);
    weir_json_put_begin_object(&out);
    weir_json_put_end_object(&out);
    weir_json_put_null(&out);
    weir_json_put_end_array(&out);
    weir_json_put_key(&out, "b");
    weir_json_put_bool(&out, true);
    weir_json_put_key_slice(&out, SLICE("c\0d"));
    weir_json_put_begin_object(&out);
    weir_json_put_key(&out, "");
    weir_json_put_str(&out, "x");
    weir_json_put_key(&out, "y");
    weir_json_put_str(&out, NULL);
    weir_json_put_end_object(&out);
    weir_json_put_end_object(&out);
    expect(&out, "{\"a\":[1,[],{},null],\"b\":true,\"c\\u0000d\":{\"\":\"x\",\"y\":null}}");
    weir_buf_fini(&out);
}

/* The last byte of a string looks like structure; a comma must still come. */
TEST(strings_that_look_like_structure_do_not_fool_the_commas)
{
    static const char *const texts[] = {"[", "{", ":", ",", "", "\"", "\\", "a:", "a,", "a["};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct weir_buf out;
        struct weir_json_doc *doc = weir_json_doc_new(0);
        const struct weir_json *v = NULL;
        weir_buf_init(&out, 1000);
        weir_json_put_begin_array(&out);
        weir_json_put_str(&out, texts[i]);
        weir_json_put_begin_object(&out);
        weir_json_put_key(&out, texts[i]);
        weir_json_put_str(&out, texts[i]);
        weir_json_put_key(&out, "n");
        weir_json_put_uint(&out, 1);
        weir_json_put_end_object(&out);
        weir_json_put_str(&out, texts[i]);
        weir_json_put_end_array(&out);
        T_EQ(weir_json_parse(doc, weir_buf_slice(&out), &v, NULL), WEIR_OK);
        T_EQ(weir_json_count(v), 3);
        T_EQ_STR(weir_json_text(weir_json_first(v)), texts[i]);
        weir_json_doc_free(doc);
        weir_buf_fini(&out);
    }
}

TEST(values_follow_what_was_in_the_buffer_before)
{
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    weir_buf_append_str(&out, "data: ");
    weir_json_put_begin_object(&out);
    weir_json_put_end_object(&out);
    T_EQ_STR(weir_buf_slice(&out), "data: {}");
    weir_buf_append_str(&out, "\n");
    weir_json_put_int(&out, 5);
    T_EQ_STR(weir_buf_slice(&out), "data: {}\n5");
    weir_buf_fini(&out);
}

struct escape {
    struct weir_slice text;
    const char *want;
};

TEST(strings_are_escaped_where_they_must_be)
{
    static const struct escape rows[] = {
        {SLICE(""), "\"\""},
        {SLICE("plain /text/"), "\"plain /text/\""},
        {SLICE("\"\\"), "\"\\\"\\\\\""},
        {SLICE("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
        {SLICE("\0\x01\x1f\x7f"), "\"\\u0000\\u0001\\u001f\x7f\""},
        {SLICE("\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80\""},
        {SLICE("\xc2\x85\xe2\x80\xa8\xe2\x80\xa9"), "\"\\u0085\\u2028\\u2029\""},
        {SLICE("\xed\xa0\xbd"), "\"\\ud83d\""},
        {SLICE("a\xed\xbf\xbfz"), "\"a\\udfffz\""},
        {SLICE("\xff|\xe2\x82|\xc0\x80"), "\"\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weir_json_put_string(&out, rows[i].text);
        expect(&out, rows[i].want);
    }
    weir_buf_fini(&out);
}

/* Long runs cross whatever block size the writer looks at. */
TEST(escapes_are_found_at_every_position)
{
    for (size_t at = 0; at < 70; at++) {
        static const char specials[] = {'"', '\\', '\n', 0, 0x1f};
        for (size_t k = 0; k < sizeof specials; k++) {
            char text[71];
            struct weir_buf out;
            struct weir_json_doc *doc = weir_json_doc_new(0);
            const struct weir_json *v = NULL;
            memset(text, 'a', sizeof text);
            text[at] = specials[k];
            weir_buf_init(&out, 1000);
            weir_json_put_string(&out, slice_of(text, sizeof text));
            T_EQ(weir_json_parse(doc, weir_buf_slice(&out), &v, NULL), WEIR_OK);
            T_EQ_SLICE(weir_json_text(v), slice_of(text, sizeof text));
            weir_json_doc_free(doc);
            weir_buf_fini(&out);
        }
    }
}

/* ---- numbers ---- */

TEST(integers_are_written_in_full)
{
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    weir_json_put_int(&out, 0);
    expect(&out, "0");
    weir_json_put_int(&out, INT64_MIN);
    expect(&out, "-9223372036854775808");
    weir_json_put_int(&out, INT64_MAX);
    expect(&out, "9223372036854775807");
    weir_json_put_uint(&out, UINT64_MAX);
    expect(&out, "18446744073709551615");
    weir_buf_fini(&out);
}

TEST(numbers_that_are_not_finite_are_null)
{
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    weir_json_put_double(&out, NAN);
    expect(&out, "null");
    weir_json_put_double(&out, INFINITY);
    expect(&out, "null");
    weir_json_put_double(&out, -INFINITY);
    expect(&out, "null");
    weir_buf_fini(&out);
}

static void expect_double(double x)
{
    struct weir_buf out;
    size_t offset;
    weir_buf_init(&out, 100);
    weir_json_put_double(&out, x);
    T_EQ(json_slow_check(weir_buf_slice(&out), 0, &offset), WEIR_OK);
    T_OK(out.len <= 25);
    weir_buf_append_char(&out, 0);
    double back = strtod(out.ptr, NULL);
    if (memcmp(&back, &x, sizeof x) != 0)
        t_fail(__FILE__, __LINE__, "%a is written %s", x, out.ptr);
    weir_buf_fini(&out);
}

TEST(doubles_read_back_bit_for_bit)
{
    static const double rows[] = {0.0,     -0.0,    1,      -1.5,          0.1,
                                  1e21,    1e22,    1e23,   1e-7,          1e300,
                                  DBL_MAX, DBL_MIN, 5e-324, 123456789.125, -DBL_MAX,
                                  2.0 / 3, 1e15,    1e16,   1e17,          9007199254740993.0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) expect_double(rows[i]);
    for (int round = 0; round < 50000; round++) {
        uint64_t bits = t_random();
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x)) expect_double(x);
    }
}

TEST(doubles_are_written_short)
{
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    weir_json_put_double(&out, 0.1);
    expect(&out, "0.1");
    weir_json_put_double(&out, 0.5);
    expect(&out, "0.5");
    weir_json_put_double(&out, -1.25);
    expect(&out, "-1.25");
    weir_buf_fini(&out);
}

/* ---- whole values ---- */

static const char *const texts[] = {
    "null",
    "[]",
    "{}",
    "[null,true,false,0,-0,1E+2,1e400,12345678901234567890,\"\"]",
    "{\"a\":{\"b\":{\"c\":[[[1],2],3]}},\"d\":[{},[],\"x\"]}",
    "\"\\ud83d\"",
    "\"\\ud83d\\ud83d\\udc00 \\udfff\"",
    "[\"a\\u0000b\",\"\\u001f\",\"\\\"\\\\\",\"/\"]",
    "{\"\\ud800\":1,\"\\u0000\":2,\"\":3}",
    "\"\xf0\x9f\x9a\x80\xe2\x80\xa7\xe2\x80\xaa\xc2\x84\\u0085\\u2028\\u2029\"",
};

TEST(compact_texts_are_written_as_they_were_read)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct weir_json_doc *doc = weir_json_doc_new(0);
        const struct weir_json *v;
        struct text got = {0}, again = {0};
        const char *want = texts[i];
        T_EQ(weir_json_parse(doc, weir_slice_of(want), &v, NULL), WEIR_OK);
        transcript_value(&got, v);
        /* D83D DC00 in the seventh text is a pair and comes out as one character. */
        if (i == 6) want = "\"\\ud83d\xf0\x9f\x90\x80 \\udfff\"";
        T_EQ_STR(text_slice(&got), want);
        T_EQ(weir_json_parse(doc, text_slice(&got), &v, NULL), WEIR_OK);
        transcript_value(&again, v);
        T_EQ_SLICE(text_slice(&again), text_slice(&got));
        text_fini(&got);
        text_fini(&again);
        weir_json_doc_free(doc);
    }
}

TEST(null_pointer_is_written_as_null)
{
    struct weir_buf out;
    weir_buf_init(&out, 100);
    weir_json_put_begin_array(&out);
    weir_json_put_value(&out, NULL);
    weir_json_put_value(&out, NULL);
    weir_json_put_end_array(&out);
    expect(&out, "[null,null]");
    weir_buf_fini(&out);
}

TEST(member_is_written_without_its_key_and_siblings)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *v;
    struct weir_buf out;
    weir_buf_init(&out, 100);
    T_EQ(weir_json_parse(doc, SLICE("{\"a\":[1,[2,3],4],\"b\":5}"), &v, NULL), WEIR_OK);
    const struct weir_json *a = weir_json_get_str(v, "a");
    weir_json_put_value(&out, a);
    expect(&out, "[1,[2,3],4]");
    weir_json_put_value(&out, weir_json_next(weir_json_first(a)));
    expect(&out, "[2,3]");
    weir_json_put_value(&out, weir_json_first(a));
    expect(&out, "1");
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
}

TEST(values_inside_written_structure_get_their_commas)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *v;
    struct weir_buf out;
    weir_buf_init(&out, 100);
    T_EQ(weir_json_parse(doc, SLICE("[{\"a\":1},\"s\",[]]"), &v, NULL), WEIR_OK);
    weir_json_put_begin_object(&out);
    weir_json_put_key(&out, "x");
    weir_json_put_value(&out, v);
    weir_json_put_key(&out, "y");
    weir_json_put_value(&out, weir_json_first(v));
    weir_json_put_end_object(&out);
    expect(&out, "{\"x\":[{\"a\":1},\"s\",[]],\"y\":{\"a\":1}}");
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
}

TEST(open_values_are_written_as_if_closed)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    struct weir_buf out;
    weir_buf_init(&out, 100);
    T_EQ(weir_json_reader_feed(r, "{\"a\":[1,{\"b\":\"x", 15), WEIR_OK);
    weir_json_put_value(&out, weir_json_reader_value(r));
    expect(&out, "{\"a\":[1,{\"b\":\"x\"}]}");
    weir_buf_fini(&out);
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

TEST(ceiling_and_failing_memory_are_reported)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *v;
    struct weir_buf out;
    T_EQ(weir_json_parse(doc, SLICE("[\"0123456789\",{\"key\":[1,2,3]}]"), &v, NULL), WEIR_OK);
    for (size_t max = 0; max < 30; max++) {
        weir_buf_init(&out, max);
        weir_json_put_value(&out, v);
        T_EQ(weir_buf_status(&out), WEIR_LIMIT);
        T_OK(out.len <= max);
        weir_buf_fini(&out);
    }
    weir_buf_init(&out, 31);
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    weir_json_put_value(&out, v);
    T_EQ(weir_buf_status(&out), WEIR_NOMEM);
    fault_disarm_all();
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
}
