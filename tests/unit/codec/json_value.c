/* SPDX-License-Identifier: Apache-2.0 */
/* Asking values: types, members, keys, and objects from none to very many members. */
#include <stdio.h>

#include <weir/json.h>

#include "base/slice.h"
#include "oracle/json_slow.h"
#include "oracle/transcript.h"
#include "t.h"

static const struct weir_json *parse(struct weir_json_doc *doc, struct weir_slice text)
{
    const struct weir_json *v = NULL;
    T_EQ(weir_json_parse(doc, text, &v, NULL), WEIR_OK);
    return v;
}

TEST(null_pointer_is_nothing)
{
    int64_t n = 7;
    double x = 7;
    T_EQ(weir_json_type_of(NULL), WEIR_JSON_NULL);
    T_EQ(weir_json_text(NULL).len, 0);
    T_EQ(weir_json_key(NULL).len, 0);
    T_EQ(weir_json_count(NULL), 0);
    T_OK(!weir_json_first(NULL) && !weir_json_next(NULL));
    T_OK(!weir_json_get(NULL, SLICE("a")) && !weir_json_get_str(NULL, "a"));
    T_OK(!weir_json_int64(NULL, &n) && !weir_json_double(NULL, &x));
}

TEST(every_type_is_told)
{
    static const struct {
        const char *text;
        enum weir_json_type type;
    } rows[] = {{"null", WEIR_JSON_NULL},       {"false", WEIR_JSON_FALSE},
                {"true", WEIR_JSON_TRUE},       {"-1.5", WEIR_JSON_NUMBER},
                {"\"s\"", WEIR_JSON_STRING},    {"[1]", WEIR_JSON_ARRAY},
                {"{\"a\":1}", WEIR_JSON_OBJECT}};
    struct weir_json_doc *doc = weir_json_doc_new(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct weir_json *v = parse(doc, weir_slice_of(rows[i].text));
        bool has_text = rows[i].type == WEIR_JSON_NUMBER || rows[i].type == WEIR_JSON_STRING;
        bool has_members = rows[i].type == WEIR_JSON_ARRAY || rows[i].type == WEIR_JSON_OBJECT;
        T_EQ(weir_json_type_of(v), rows[i].type);
        T_OK(weir_json_is_whole(v));
        T_EQ(weir_json_text(v).len > 0, has_text);
        T_EQ(weir_json_count(v), has_members ? 1 : 0);
        T_EQ(weir_json_first(v) != NULL, has_members);
        T_EQ(weir_json_get_str(v, "a") != NULL, rows[i].type == WEIR_JSON_OBJECT);
        T_EQ(weir_json_next(v) != NULL, false);
        T_EQ(weir_json_key(v).len, 0);
    }
    weir_json_doc_free(doc);
}

TEST(members_come_in_order_with_their_keys)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *m = weir_json_first(parse(doc, SLICE("{\"z\":1,\"a\":[2,3],\"\":4}")));
    T_EQ_STR(weir_json_key(m), "z");
    T_EQ_STR(weir_json_text(m), "1");
    m = weir_json_next(m);
    T_EQ_STR(weir_json_key(m), "a");
    const struct weir_json *item = weir_json_first(m);
    T_EQ_STR(weir_json_text(item), "2");
    T_EQ_STR(weir_json_key(item), "");
    T_EQ_STR(weir_json_text(weir_json_next(item)), "3");
    m = weir_json_next(m);
    T_EQ_STR(weir_json_key(m), "");
    T_EQ_STR(weir_json_text(m), "4");
    T_OK(!weir_json_next(m));
    weir_json_doc_free(doc);
}

TEST(keys_match_by_decoded_bytes)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *v =
        parse(doc, SLICE("{\"\\u0061\":1,\"a\\u0000b\":2,\"\":3,\"\\ud83d\\ude80\":4,\"A\":5}"));
    T_EQ_STR(weir_json_text(weir_json_get_str(v, "a")), "1");
    T_EQ_STR(weir_json_text(weir_json_get(v, SLICE("a\0b"))), "2");
    T_EQ_STR(weir_json_text(weir_json_get_str(v, "")), "3");
    T_EQ_STR(weir_json_text(weir_json_get_str(v, "\xf0\x9f\x9a\x80")), "4");
    T_OK(!weir_json_get_str(v, "b") && !weir_json_get(v, SLICE("a\0")));
    weir_json_doc_free(doc);
}

TEST(nul_in_strings_survives)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *v = parse(doc, SLICE("\"a\\u0000b\""));
    T_EQ_SLICE(weir_json_text(v), SLICE("a\0b"));
    weir_json_doc_free(doc);
}

TEST(lone_surrogates_are_kept_in_their_generalised_form)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    T_EQ_STR(weir_json_text(parse(doc, SLICE("\"\\ud800\""))), "\xed\xa0\x80");
    T_EQ_STR(weir_json_text(parse(doc, SLICE("\"\\uDFFF\""))), "\xed\xbf\xbf");
    T_EQ_STR(weir_json_text(parse(doc, SLICE("\"\\udc00\\ud800\""))), "\xed\xb0\x80\xed\xa0\x80");
    weir_json_doc_free(doc);
}

/* ---- objects of all sizes ---- */

static void add_object(struct text *out, size_t n_members, const char *value)
{
    text_add_char(out, '{');
    for (size_t i = 0; i < n_members; i++)
        text_printf(out, "%s\"key%zu\":%s%zu", i > 0 ? "," : "", i, value, i);
    text_add_char(out, '}');
}

static void expect_members(const struct weir_json *v, size_t n_members, const char *prefix)
{
    size_t i = 0;
    T_EQ(weir_json_count(v), n_members);
    for (const struct weir_json *m = weir_json_first(v); m; m = weir_json_next(m), i++) {
        char key[32], want[32];
        snprintf(key, sizeof key, "key%zu", i);
        snprintf(want, sizeof want, "%s%zu", prefix, i);
        T_EQ_STR(weir_json_key(m), key);
        T_EQ_STR(weir_json_text(m), want);
        T_OK(weir_json_get_str(v, key) == m);
    }
    T_EQ(i, n_members);
    T_OK(!weir_json_get_str(v, "key") && !weir_json_get_str(v, "missing"));
}

TEST(members_are_found_in_objects_of_any_size)
{
    static const size_t sizes[] = {0,  1,  2,  3,  15, 16,   17,    18,
                                   31, 32, 33, 64, 65, 1000, 10000, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct weir_json_doc *doc = weir_json_doc_new(0);
        struct text input = {0};
        add_object(&input, sizes[i], "1");
        expect_members(parse(doc, text_slice(&input)), sizes[i], "1");
        text_fini(&input);
        weir_json_doc_free(doc);
    }
}

/* Each object is written twice over, inside one pair of braces. */
TEST(last_value_of_a_repeated_key_wins_in_the_place_of_the_first)
{
    static const size_t sizes[] = {1, 2, 8, 15, 16, 17, 18, 100, 10000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct weir_json_doc *doc = weir_json_doc_new(0);
        struct text input = {0};
        add_object(&input, sizes[i], "1");
        input.len--;
        text_add_char(&input, ',');
        struct text again = {0};
        add_object(&again, sizes[i], "2");
        text_add(&input, again.ptr + 1, again.len - 1);
        expect_members(parse(doc, text_slice(&input)), sizes[i], "2");
        text_fini(&input);
        text_fini(&again);
        weir_json_doc_free(doc);
    }
}

TEST(one_key_ten_thousand_times_is_one_member)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct text input = {0};
    text_add_char(&input, '{');
    for (int i = 0; i < 10000; i++) text_printf(&input, "\"k\":%d,", i);
    text_printf(&input, "\"k\":\"last\"}");
    const struct weir_json *v = parse(doc, text_slice(&input));
    T_EQ(weir_json_count(v), 1);
    T_EQ_STR(weir_json_text(weir_json_get_str(v, "k")), "last");
    text_fini(&input);
    weir_json_doc_free(doc);
}

/* A replaced container must not be reachable, nor break the walk over its siblings. */
TEST(repeated_keys_may_change_type)
{
    static const char *const values[] = {"1", "\"s\"", "[1,[2]]", "{\"k\":{\"k\":1}}", "null"};
    for (size_t n = 2; n <= 40; n += 19) {
        for (size_t pick = 0; pick < 25; pick++) {
            struct weir_json_doc *doc = weir_json_doc_new(0);
            struct text input = {0}, got = {0}, want = {0};
            text_printf(&input, "{\"k\":%s", values[pick / 5]);
            for (size_t i = 1; i < n; i++) text_printf(&input, ",\"x%zu\":[%zu]", i, i);
            text_printf(&input, ",\"k\":%s,\"tail\":0}", values[pick % 5]);
            const struct weir_json *v = parse(doc, text_slice(&input));
            T_EQ(weir_json_count(v), n + 1);
            transcript_value(&got, v);
            T_OK(json_slow_show(&want, text_slice(&input), 0, JSON_SLOW_WHOLE));
            T_EQ_SLICE(text_slice(&got), text_slice(&want));
            text_fini(&input);
            text_fini(&got);
            text_fini(&want);
            weir_json_doc_free(doc);
        }
    }
}

TEST(long_keys_are_told_apart)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct text input = {0};
    text_add_char(&input, '{');
    for (int i = 0; i < 100; i++) {
        text_printf(&input, "%s\"", i > 0 ? "," : "");
        for (int j = 0; j < 1000; j++) text_add_char(&input, 'k');
        text_printf(&input, "%d\":%d", i, i);
    }
    text_add_char(&input, '}');
    T_EQ(weir_json_count(parse(doc, text_slice(&input))), 100);
    text_fini(&input);
    weir_json_doc_free(doc);
}

/* ---- equality ---- */

TEST(values_are_equal_exactly_when_they_are_written_alike)
{
    static const char *const rows[] = {"null",
                                       "true",
                                       "false",
                                       "1",
                                       "1.0",
                                       "-0",
                                       "0",
                                       "\"1\"",
                                       "\"\"",
                                       "[]",
                                       "{}",
                                       "[1]",
                                       "[1,2]",
                                       "[2,1]",
                                       "[[1],2]",
                                       "[[1,2]]",
                                       "[1,[2]]",
                                       "{\"a\":1}",
                                       "{\"b\":1}",
                                       "{\"a\":[1]}",
                                       "{\"a\":1,\"b\":2}",
                                       "[{}]",
                                       "[[]]",
                                       "[[],1]",
                                       "{\"b\":2,\"a\":1}",
                                       "[[[[1]]],[[2]]]",
                                       "[[[[1]]],[[3]]]",
                                       "[[[[0]]],[[2]]]"};
    struct weir_json_doc *doc = weir_json_doc_new(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            const struct weir_json *a = parse(doc, weir_slice_of(rows[i]));
            const struct weir_json *b = parse(doc, weir_slice_of(rows[j]));
            if (weir_json_equal(a, b) != (i == j))
                t_fail(__FILE__, __LINE__, "%s against %s", rows[i], rows[j]);
        }
    T_OK(weir_json_equal(NULL, NULL));
    T_OK(!weir_json_equal(NULL, parse(doc, SLICE("[]"))));
    weir_json_doc_free(doc);
}

TEST(members_are_equal_without_their_keys_and_siblings)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *v = parse(doc, SLICE("{\"a\":[1,[2]],\"b\":[1,[2]],\"c\":3}"));
    T_OK(weir_json_equal(weir_json_get_str(v, "a"), weir_json_get_str(v, "b")));
    T_OK(!weir_json_equal(weir_json_get_str(v, "a"), weir_json_get_str(v, "c")));
    weir_json_doc_free(doc);
}
