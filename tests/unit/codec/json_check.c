/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker against the reader and the slow reading of tests/oracle: every text below whole,
 * cut off at every place, and with every byte changed.
 */
#include "codec/json_check.h"

#include <stdio.h>

#include "base/slice.h"
#include "oracle/json_slow.h"
#include "t.h"

static void expect_same(struct weir_slice text)
{
    struct json_found found;
    const struct weir_json *value;
    size_t offset;
    size_t slow_offset;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = json_check(text, NULL, NULL, &found);
    T_EQ(st, weir_json_parse(doc, text, &value, &offset));
    T_EQ(st, json_slow_check(text, 0, &slow_offset));
    T_EQ(found.offset, offset);
    T_EQ(found.offset, slow_offset);
    T_OK(found.expected != NULL);
    if (st == WEIR_OK) {
        T_EQ(found.type, weir_json_type_of(value));
        T_OK(found.value.len > 0);
    }
    weir_json_doc_free(doc);
}

static const char *const texts[] = {
    "{\"a\":[1,-2.5e+7,true,false,null],\"b\":{\"c\":\"d\"},\"e\":\"\\u00e9\\n\\\\\"}",
    " [ ] ",
    "{ }",
    "\r\n\t 0 ",
    "-0.0E-00",
    "12",
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"",
    "\"\xC3\"",
    "\"\xFF\"",
    "\"\xED\xA0\x80\"",
    "\"\xF4\x90\x80\x80\"",
    "\xEF\xBB\xBF{}",
    "\"a\nb\"",
    "\"\\x\"",
    "\"\\u12x4\"",
    "\"\\ud800\"",
    "[1,]",
    "{\"a\":1,}",
    "{\"a\" 1}",
    "{1:2}",
    "[1}",
    "{\"a\":1]",
    "nul",
    "nulL",
    "truex",
    "[] []",
    "\"a long run of plain characters, longer than a vector is wide\" ",
    "\f1",
    "",
};

TEST(verdict_and_offset_are_the_readers)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_same(weir_slice_of(texts[i]));
    expect_same(SLICE("[\0]"));
    expect_same(SLICE("\"\0\""));
}

TEST(so_they_are_cut_off_at_every_place)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t len = 0; len <= strlen(texts[i]); len++) expect_same(slice_of(texts[i], len));
}

TEST(so_they_are_with_every_byte_changed)
{
    static const char bytes[] = "\"\\{}[],:0-.eE \n\x80\xC3\x1F\x7Fu";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char copy[128];
        size_t len = strlen(texts[i]);
        for (size_t at = 0; at < len; at++) {
            memcpy(copy, texts[i], len);
            for (size_t b = 0; b < sizeof bytes; b++) {
                copy[at] = bytes[b];
                expect_same(slice_of(copy, len));
            }
        }
    }
}

TEST(nesting_has_the_readers_ceiling)
{
    char deep[2 * (WEIR_JSON_DEFAULT_DEPTH + 1)];
    for (size_t depth = WEIR_JSON_DEFAULT_DEPTH - 1; depth <= WEIR_JSON_DEFAULT_DEPTH + 1;
         depth++) {
        memset(deep, '[', depth);
        memset(deep + depth, ']', depth);
        expect_same(slice_of(deep, 2 * depth));
    }
    /* Brackets of both kinds, so that each level remembers its own. */
    struct weir_slice mixed = SLICE("[{\"a\":[[{\"b\":[{}]}],{}]},[]]");
    expect_same(mixed);
}

TEST(value_is_shown_without_white_space_around_it)
{
    struct json_found found;
    T_EQ(json_check(SLICE(" \n {\"a\": 1} \t"), NULL, NULL, &found), WEIR_OK);
    T_EQ_STR(found.value, "{\"a\": 1}");
    T_EQ(json_check(SLICE(" 7"), NULL, NULL, &found), WEIR_OK);
    T_EQ_STR(found.value, "7");
}

TEST(line_ends_between_tokens_are_told)
{
    struct json_found found;
    T_EQ(json_check(SLICE("{\"a\\n\":1}"), NULL, NULL, &found), WEIR_OK);
    T_OK(!found.has_line_ends);
    T_EQ(json_check(SLICE("{\"a\":\n1}"), NULL, NULL, &found), WEIR_OK);
    T_OK(found.has_line_ends);
    T_EQ(json_check(SLICE("{\"a\":1\r}"), NULL, NULL, &found), WEIR_OK);
    T_OK(found.has_line_ends);
}

static void add_element(void *user, struct weir_slice element)
{
    struct weir_buf *all = user;
    weir_buf_append_slice(all, element);
    weir_buf_append_char(all, '|');
}

TEST(elements_of_the_outermost_array_come_in_order)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"[1, \"a,b\" ,{\"c\":[2,3]},[4,[5]],[],null]", "1|\"a,b\"|{\"c\":[2,3]}|[4,[5]]|[]|null|"},
        {" [ ] ", ""},
        {"{\"a\":[1,2]}", ""},
        {"3", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_found found;
        struct weir_buf all;
        weir_buf_init(&all, 1000);
        T_EQ(json_check(weir_slice_of(cases[i].text), add_element, &all, &found), WEIR_OK);
        T_EQ_STR(weir_buf_slice(&all), cases[i].want);
        weir_buf_fini(&all);
    }
}

TEST(what_was_expected_is_told)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"", "a value"},       {"[1 2]", "a comma or ]"},       {"{\"a\":1 2}", "a comma or }"},
        {"{,}", "a key or }"}, {"{} x", "the end of the text"}, {"[1,", "a value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_found found;
        T_OK(json_check(weir_slice_of(cases[i].text), NULL, NULL, &found) != WEIR_OK);
        T_EQ_STR(weir_slice_of(found.expected), cases[i].want);
    }
}
