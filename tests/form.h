/* SPDX-License-Identifier: Apache-2.0 */
/* A form read in pieces, for its tests and its fuzzer. */
#pragma once

#include "codec/multipart.h"
#include "cut.h"
#include "text.h"

static inline enum weir_status form_on_bytes(void *user, struct weir_slice bytes)
{
    text_add(user, bytes.ptr, bytes.len);
    return WEIR_OK;
}

/* Adds the file's bytes to a text. Ends the cut. */
static inline enum weir_status form_read(struct multipart *m, struct weir_slice boundary,
                                         struct text *bytes, struct weir_slice input,
                                         struct cut *cut)
{
    struct weir_slice piece;
    enum weir_status st = WEIR_OK;
    multipart_init(m, boundary, form_on_bytes, bytes);
    while (st == WEIR_OK && cut_take(cut, &input, &piece)) st = multipart_feed(m, piece);
    if (st == WEIR_OK) st = multipart_end(m);
    cut_fini(cut);
    return st;
}
