/* SPDX-License-Identifier: Apache-2.0 */
/* What patterns match, which are refused, and that none takes more than its share of time. */
#include "shield/regex.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "t.h"
#include "text.h"

static void on_match(void *user, size_t start, size_t end)
{
    struct text *t = user;
    text_printf(t, "%s%zu-%zu", t->len > 0 ? " " : "", start, end);
}

static void check_matches(const char *pattern, const char *text, const char *want)
{
    struct regex *re;
    char error[REGEX_ERROR_BYTES];
    struct text got = {0};
    T_EQ(regex_new(weir_slice_of(pattern), &re, error), WEIR_OK);
    if (!re) {
        t_fail(__FILE__, __LINE__, "%s: %s", pattern, error);
        return;
    }
    T_EQ(regex_each(re, weir_slice_of(text), on_match, &got), WEIR_OK);
    if (!weir_slice_is(text_slice(&got), want))
        t_fail(__FILE__, __LINE__, "%s in \"%s\": got %.*s, want %s", pattern, text, (int)got.len,
               got.ptr, want);
    text_fini(&got);
    regex_free(re);
}

TEST(patterns_match_the_longest_of_the_first)
{
    static const char *const rows[][3] = {
        {"abc", "xabcabc", "1-4 4-7"},
        {"a|ab|abc", "abcab", "0-3 3-5"},
        {"a*", "baac", "1-3"},
        {"a+b?", "aab a b", "0-3 4-5"},
        {"a{2}", "aaaaa", "0-2 2-4"},
        {"a{2,3}", "aaaaa a", "0-3 3-5"},
        {"a{2,}", "aaaaa a", "0-5"},
        {"xa{0}y", "xy xay", "0-2"},
        {"xa{0,2}y", "xy xay xaay xaaay", "0-2 3-6 7-11"},
        {"(?:ab){2}", "ababab", "0-4"},
        {"(a|b)*c", "ababc c", "0-5 6-7"},
        {"(a*)*b", "aaab", "0-4"},
        {"(a?){3}b", "aab", "0-3"},
        {"[a-c]+", "xxabcx", "2-5"},
        {"[^a-c ]+", "ab xy c", "3-5"},
        {"[]x]+", "a]x]", "1-4"},
        {"[a\\]-]+", "z-a]", "1-4"},
        {"[\\d.]+", "v1.25 x", "1-5"},
        {"\\d{3}-\\d{4}", "555-1234, 55-1234", "0-8"},
        {"\\w+", "ab_1-c", "0-4 5-6"},
        {"\\W", "a-b", "1-2"},
        {"\\S+", "ab cd", "0-2 3-5"},
        {"a.c",
         "abc a\nc a\xC3\xA9"
         "c a\xF0\x9F\x90\x9D"
         "c",
         "0-3 8-12 13-19"},
        {"\xC3\xA9+", "\xC3\xA9\xC3\xA9", "0-4"},
        {"[^x]y", "\xE2\x82\xACy xy", "0-4"},
        {"^a", "a\nab\nba", "0-1 2-3"},
        {"a$", "a\nab\nba", "0-1 6-7"},
        {"\\bcat\\b", "cat concat cat_ cat", "0-3 16-19"},
        {"\\Bcat", "cat concat", "7-10"},
        {"(?i)proj-[a-f]+", "PROJ-AbC proj-x", "0-8"},
        {"\\x41\\t\\.\\\\", "A\t.\\", "0-4"},
        {"(ab|cd)(ef|gh)", "abgh cdef abcd", "0-4 5-9"},
        {"a|", "ba", "1-2"},
        {"()", "ab", ""},
        {"EMP-[0-9]{5}(-[A-Z])?", "EMP-12345 EMP-12345-Q EMP-1234", "0-9 10-21"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_matches(rows[i][0], rows[i][1], rows[i][2]);
}

TEST(what_is_no_pattern_is_refused_with_its_place)
{
    static const char *const rows[][2] = {
        {"", "1 to"},
        {"(a", "group"},
        {"a)", "not opened"},
        {"[a", "class"},
        {"*a", "nothing"},
        {"a**", "repetition"},
        {"a+?", "repetition"},
        {"a{3,2}", "count"},
        {"a{300}", "count"},
        {"a{x}", "count"},
        {"\\q", "escape"},
        {"a\\", "backslash"},
        {"(?=a)", "(?:"},
        {"\\1", "escape"},
        {"[z-a]", "backward"},
        {"[\xC3\xA9]", "ASCII"},
        {"\xFF", "UTF-8"},
        {"((.{255}){255})", "large"},
        {"\\xZZ", "escape"},
        {"((((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))))", "groups"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct regex *re;
        char error[REGEX_ERROR_BYTES];
        T_EQ(regex_new(weir_slice_of(rows[i][0]), &re, error), WEIR_INVALID);
        T_OK(re == NULL);
        if (!strstr(error, rows[i][1])) t_fail(__FILE__, __LINE__, "%s: %s", rows[i][0], error);
        regex_free(re);
    }
}

/* Patterns that hang other engines; the budget is steps, so no clock is needed. */
TEST(no_pattern_runs_away)
{
    static const char *const patterns[] = {"(a+)+$b",   "(a|aa)+$x",          "(a|a)*b",
                                           "(.*)*x",    "(a?){99}a{99}",      "a(.*b)?",
                                           "(.*a){20}", "([ab]*a){9}[ab]{9}x"};
    enum { N = 20000 };
    char *text = malloc(N);
    memset(text, 'a', N);
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct regex *re;
        char error[REGEX_ERROR_BYTES];
        struct text got = {0};
        T_EQ(regex_new(weir_slice_of(patterns[i]), &re, error), WEIR_OK);
        enum weir_status st = regex_each(re, (struct weir_slice){text, N}, on_match, &got);
        T_OK(st == WEIR_OK || st == WEIR_LIMIT);
        text_fini(&got);
        regex_free(re);
    }
    free(text);
}

TEST(lack_of_memory_is_told)
{
    for (uint64_t n = 1; n < 12; n++) {
        struct regex *re;
        char error[REGEX_ERROR_BYTES];
        struct text got = {0};
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        enum weir_status st = regex_new(weir_slice_of("a+b"), &re, error);
        if (st == WEIR_OK) st = regex_each(re, weir_slice_of("xaab"), on_match, &got);
        fault_disarm_all();
        T_OK(st == WEIR_OK || st == WEIR_NOMEM);
        text_fini(&got);
        regex_free(re);
    }
}
