/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching goes forward and remembers the last "**": when a segment does not fit, that one takes
 * one segment more. An earlier one never has to: whatever it took, the last can take. So the work
 * is at most the product of both lengths, whoever chose them.
 */
#include "hook/glob.h"

#include "base/slice.h"

/* Takes the next segment that is not empty; false at the end. */
static bool next_segment(struct weir_slice *path, struct weir_slice *segment)
{
    while (path->len > 0 && path->ptr[0] == '/') *path = slice_from(*path, 1);
    if (path->len == 0) return false;
    const char *slash = memchr(path->ptr, '/', path->len);
    *segment = slice_of(path->ptr, slash ? (size_t)(slash - path->ptr) : path->len);
    *path = slice_from(*path, segment->len);
    return true;
}

static bool is_escaped_star(struct weir_slice s)
{
    return s.len >= 3 && s.ptr[0] == '%' && s.ptr[1] == '2' && (s.ptr[2] == 'A' || s.ptr[2] == 'a');
}

static bool fits(struct weir_slice want, struct weir_slice got)
{
    if (weir_slice_is(want, "*")) return true;
    while (want.len > 0 && got.len > 0) {
        bool is_star = is_escaped_star(want);
        if (got.ptr[0] != (is_star ? '*' : want.ptr[0])) return false;
        want = slice_from(want, is_star ? 3 : 1);
        got = slice_from(got, 1);
    }
    return want.len == 0 && got.len == 0;
}

bool glob_match(struct weir_slice pattern, struct weir_slice name)
{
    struct weir_slice want, got;
    struct weir_slice after_stars = {0}; /* the pattern behind the last "**" */
    struct weir_slice retry = {0};       /* where that tries next in the name */
    bool has_stars = false;
    for (;;) {
        struct weir_slice pattern_rest = pattern;
        struct weir_slice name_rest = name;
        bool has_want = next_segment(&pattern_rest, &want);
        if (has_want && weir_slice_is(want, "**")) {
            has_stars = true;
            after_stars = pattern = pattern_rest;
            retry = name;
            continue;
        }
        bool has_got = next_segment(&name_rest, &got);
        if (!has_want && !has_got) return true;
        if (has_want && has_got && fits(want, got)) {
            pattern = pattern_rest;
            name = name_rest;
            continue;
        }
        if (!has_stars || !next_segment(&retry, &got)) return false;
        pattern = after_stars;
        name = retry;
    }
}
