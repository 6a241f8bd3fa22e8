/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/glob.h"

#include <stdlib.h>

#include "base/slice.h"
#include "t.h"

TEST(stars_stand_for_segments)
{
    static const struct {
        const char *pattern;
        const char *name;
        bool matches;
    } cases[] = {
        {"events/*", "events/a", true},
        {"events/*", "events/a/b", false},
        {"events/*", "events", false},
        {"events/*", "other/a", false},
        {"events/*", "xevents/a", false},
        {"/events/*/", "events//a", true},
        {"*", "a", true},
        {"*", "a/b", false},
        {"**", "a", true},
        {"**", "a/b/c", true},
        {"**", "", true},
        {"a/**", "a", true},
        {"a/**", "a/b/c", true},
        {"a/**", "ab", false},
        {"**/z", "z", true},
        {"**/z", "a/b/z", true},
        {"**/z", "a/z/b", false},
        {"a/**/z", "a/z", true},
        {"a/**/z", "a/b/c/z", true},
        {"a/**/b/**/c", "a/x/b/y/b/z/c", true},
        {"a/**/b/**/c", "a/x/c", false},
        {"**/*", "a", true},
        {"**/*/*", "a", false},
        {"a*", "a*", true}, /* a star inside a segment is only a star */
        {"a*", "ab", false},
        {"a/%2A", "a/*", true},
        {"a/%2a", "a/b", false},
        {"a/%2A%2Ab", "a/**b", true},
        {"%2", "%2", true},
        {"***", "a", false},
        {"", "a", false},
        {"", "", true},
        {"caf\xc3\xa9/*", "caf\xc3\xa9/1", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (glob_match(weir_slice_of(cases[i].pattern), weir_slice_of(cases[i].name)) !=
            cases[i].matches)
            t_fail(__FILE__, __LINE__, "%s on %s", cases[i].pattern, cases[i].name);
}

/* As one would write it down, with all ways tried. */
static bool slow_match(const char *pattern, const char *name)
{
    if (!*pattern) return !*name;
    if (pattern[0] == '2') { /* stands for two stars */
        for (const char *rest = name;; rest++) {
            if (slow_match(pattern + 1, rest)) return true;
            if (!*rest) return false;
        }
    }
    return *name && (pattern[0] == '1' || pattern[0] == *name) && slow_match(pattern + 1, name + 1);
}

static size_t spread(const char *letters, bool is_pattern, char *out)
{
    size_t len = 0;
    for (; *letters; letters++) {
        const char *segment = *letters == '2' && is_pattern ? "**" : "*";
        bool is_star = is_pattern && (*letters == '1' || *letters == '2');
        size_t n = is_star ? strlen(segment) : 1;
        memcpy(out + len, is_star ? segment : letters, n);
        len += n;
        out[len++] = '/';
    }
    return len;
}

TEST(every_way_that_could_fit_is_found)
{
    char pattern[8], name[8], pattern_text[64], name_text[64];
    for (int round = 0; round < 20000; round++) {
        size_t n_pattern = t_random() % 7;
        size_t n_name = t_random() % 7;
        for (size_t i = 0; i < n_pattern; i++) pattern[i] = "ab12"[t_random() % 4];
        for (size_t i = 0; i < n_name; i++) name[i] = "ab"[t_random() % 2];
        pattern[n_pattern] = name[n_name] = 0;
        bool got = glob_match(slice_of(pattern_text, spread(pattern, true, pattern_text)),
                              slice_of(name_text, spread(name, false, name_text)));
        if (got != slow_match(pattern, name)) t_fail(__FILE__, __LINE__, "%s %s", pattern, name);
    }
}

TEST(a_hostile_pattern_takes_no_longer_than_others)
{
    static char pattern[200], name[200];
    for (size_t i = 0; i + 3 <= sizeof pattern; i += 3) memcpy(pattern + i, "**/", 3);
    pattern[196] = 'x';
    pattern[197] = 0;
    for (size_t i = 0; i + 2 <= sizeof name; i += 2) memcpy(name + i, "a/", 2);
    name[199] = 0;
    T_OK(!glob_match(weir_slice_of(pattern), weir_slice_of(name)));
}
