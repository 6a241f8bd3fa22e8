/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A head as llhttp reads it: the second opinion of http_read.c. Apart from codec/http.h, for
 * that header and llhttp's own give different numbers to the same names of methods.
 */
#pragma once

#include <weir/types.h>

enum { HTTP_READING_FIELDS = 64 };

struct http_reading {
    struct weir_slice target;
    unsigned n_fields;
    struct weir_slice names[HTTP_READING_FIELDS];
    struct weir_slice values[HTTP_READING_FIELDS]; /* may end in white space */
    unsigned char minor;
    bool is_chunked;
    bool has_length;
    uint64_t content_length;
};

/*
 * Reads a whole head. The method is given apart from the rest, which begins with the space
 * after it: llhttp knows only some methods, and whoever has another one shows it a POST.
 * False when llhttp refuses the head, or finds its end elsewhere.
 */
bool http_llhttp_read(struct weir_slice method, struct weir_slice rest,
                      struct http_reading *reading);
