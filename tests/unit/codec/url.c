/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes, and parameters of queries. */
#include "base/fault.h"
#include "base/slice.h"
#include "codec/http.h"
#include "t.h"

static const struct {
    struct weir_slice in;
    bool is_query;
    const char *want; /* NULL: refused */
} decodes[] = {
    {SLICE(""), false, ""},
    {SLICE("abc"), false, "abc"},
    {SLICE("a%20b%2fc%2F"), false, "a b/c/"},
    {SLICE("%c3%A9"), false, "\xc3\xa9"},
    {SLICE("%ff"), false, "\xff"},
    {SLICE("a+b"), false, "a+b"},
    {SLICE("a+b%2b"), true, "a b+"},
    {SLICE("%2500"), false, "%00"},
    {SLICE("%"), false, NULL},
    {SLICE("a%2"), false, NULL},
    {SLICE("%2g"), false, NULL},
    {SLICE("%g2"), false, NULL},
    {SLICE("%%20"), false, NULL},
    {SLICE("%+1"), true, NULL},
    {SLICE("% 1"), false, NULL},
    {SLICE("a%00b"), false, NULL},
    {SLICE("a\0b"), false, NULL},
    {SLICE("%u0041"), false, NULL},
};

TEST(escapes_are_decoded_or_refused)
{
    for (size_t i = 0; i < sizeof decodes / sizeof *decodes; i++) {
        struct weir_buf out;
        weir_buf_init(&out, 100);
        weir_buf_append_char(&out, '>');
        bool is_good = url_decode(decodes[i].in, decodes[i].is_query, &out);
        T_EQ(is_good, decodes[i].want != NULL);
        T_EQ(out.ptr[0], '>');
        T_EQ_STR(slice_of(out.ptr + 1, out.len - 1), decodes[i].want ? decodes[i].want : "");
        T_EQ(weir_buf_status(&out), WEIR_OK);
        weir_buf_fini(&out);
    }
}

TEST(ceiling_and_lack_of_memory_stay_in_the_buffer)
{
    struct weir_buf out;
    weir_buf_init(&out, 4);
    T_OK(url_decode(SLICE("12345"), false, &out));
    T_EQ(weir_buf_status(&out), WEIR_LIMIT);
    weir_buf_fini(&out);
    weir_buf_init(&out, 100);
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_OK(url_decode(SLICE("12345"), false, &out));
    T_EQ(weir_buf_status(&out), WEIR_NOMEM);
    fault_disarm_all();
    weir_buf_fini(&out);
}

static const struct {
    const char *query, *name;
    const char *want; /* NULL: not there */
} finds[] = {
    {"a=1", "a", "1"},
    {"a=1&b=2", "b", "2"},
    {"a=1&a=2", "a", "1"},
    {"a", "a", ""},
    {"a=", "a", ""},
    {"b&a", "a", ""},
    {"a==b", "a", "=b"},
    {"a=b%26c+d", "a", "b%26c+d"},
    {"%61pi%5Fkey=k", "api_key", "k"},
    {"a+b=1", "a b", "1"},
    {"ab=1", "a", NULL},
    {"a=1", "ab", NULL},
    {"", "a", NULL},
    {"&&&", "a", NULL},
    {"&&a=1&&", "a", "1"},
    {"=1", "a", NULL},
    {"A=1", "a", NULL},
    {"%6=1", "a", NULL},
    {"a%00=1", "a", NULL},
    {"x=a=1", "a", NULL},
};

TEST(parameters_are_found_by_name)
{
    for (size_t i = 0; i < sizeof finds / sizeof *finds; i++) {
        struct weir_slice value = SLICE("untouched");
        bool is_there = query_find(weir_slice_of(finds[i].query), finds[i].name, &value);
        T_EQ(is_there, finds[i].want != NULL);
        T_EQ_STR(value, finds[i].want ? finds[i].want : "untouched");
    }
}
