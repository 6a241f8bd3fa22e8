/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any pattern (up to the first NUL) on any text: it is refused or it is searched, matches are in
 * order, apart and not empty, and a match found in the text is found in its own bytes alone, when
 * the pattern asks for nothing around it.
 */
#include "shield/regex.h"

#include <string.h>

#include "fuzz/fuzz.h"

struct seen {
    size_t last, len, n, start, end;
};

static void on_match(void *user, size_t start, size_t end)
{
    struct seen *s = user;
    fuzz_true("in order and not empty", start >= s->last && end > start && end <= s->len);
    fuzz_true("not too long", end - start <= REGEX_SPAN_BYTES + 4);
    if (s->n++ == 0) s->start = start, s->end = end;
    s->last = end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[REGEX_ERROR_BYTES];
    struct regex *re;
    const uint8_t *nul = memchr(data, 0, size);
    if (!nul) return 0;
    struct weir_slice pattern = {(const char *)data, (size_t)(nul - data)};
    struct weir_slice text = {(const char *)nul + 1, size - pattern.len - 1};
    enum weir_status st = regex_new(pattern, &re, error);
    fuzz_true("a reason", (st == WEIR_OK) == (error[0] == 0));
    if (st != WEIR_OK) return 0;
    struct seen seen = {.len = text.len};
    st = regex_each(re, text, on_match, &seen);
    fuzz_true("an end", st == WEIR_OK || st == WEIR_LIMIT);
    bool has_place = memchr(pattern.ptr, '^', pattern.len) ||
                     memchr(pattern.ptr, '$', pattern.len) ||
                     memchr(pattern.ptr, '\\', pattern.len);
    if (st == WEIR_OK && seen.n > 0 && !has_place) {
        struct weir_slice found = {text.ptr + seen.start, seen.end - seen.start};
        struct seen again = {.len = found.len};
        fuzz_true("alone", regex_each(re, found, on_match, &again) == WEIR_OK && again.n == 1 &&
                               again.start == 0 && again.end == found.len);
    }
    regex_free(re);
    return 0;
}
