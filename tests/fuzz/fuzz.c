/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzers share; see fuzz.h. */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

void fuzz_true(const char *what, bool claim)
{
    if (claim) return;
    fprintf(stderr, "fuzz: not so: %s\n", what);
    abort();
}

void fuzz_same(const char *what, const struct text *got, const struct text *want)
{
    if (text_eq(got, want)) return;
    fprintf(stderr, "fuzz: %s differs\ngot  %.*s\nwant %.*s\n", what, (int)got->len,
            got->ptr ? got->ptr : "", (int)want->len, want->ptr ? want->ptr : "");
    abort();
}

bool fuzz_input(const uint8_t *data, size_t size, struct cut *cut, struct weir_slice *input)
{
    if (size == 0) return false;
    cut_from_byte(cut, data[0]);
    *input = (struct weir_slice){(const char *)data + 1, size - 1};
    return true;
}
