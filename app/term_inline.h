/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands inside of a paragraph of Markdown: emphasis, code, links, escapes. The source is
 * cleaned text; out comes text with looks. Never fails on any text: what makes no sense is shown
 * as it is.
 */
#pragma once

#include "term_style.h"

enum { INLINE_MAX_BYTES = 64 << 10 };

/* Memory for one text at a time, used again for the next. */
struct inline_work {
    struct weir_buf bytes; /* the source, with some bytes replaced */
    struct weir_buf marks; /* for each of them what enum inline_mark and enum term_look say */
};

void inline_init(struct inline_work *w);
void inline_fini(struct inline_work *w);

struct inline_options {
    unsigned look;   /* of all of it */
    bool is_growing; /* more may come: what is open is shown as if it were closed at the end */
};

/* Appends the text with its looks. A line end in it is a blank, a hard one stays. */
void inline_read(struct inline_work *w, struct weir_slice source, struct inline_options options,
                 struct term_styled *out);

/*
 * After inline_read(): where in the source the byte stands that is the n-th of the output, or the
 * end; *is_inside tells that emphasis, code or a link reaches over this place, or may yet.
 */
size_t inline_source(const struct inline_work *w, size_t n, bool *is_inside);
