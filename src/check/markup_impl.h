/* SPDX-License-Identifier: Apache-2.0 */
/* A text in Markdown as lines, and as the pieces that can be taken out of it. */
#pragma once

#include "base/arena.h"

enum line_kind {
    LINE_BLANK,
    LINE_TEXT,
    LINE_ITEM, /* the first of a list item */
    LINE_HEADING,
    LINE_ROW,  /* of a table */
    LINE_RULE, /* under the head of a table */
    LINE_FENCE,
    LINE_CODE,
};

struct line {
    size_t start, end; /* bytes, without the line end */
    size_t body;       /* behind marks of quotes, lists and headings */
    size_t mark;       /* ITEM: where its mark begins */
    size_t indent;     /* columns before the mark or the text */
    unsigned number;   /* ITEM: of an ordered list; 0: it is not */
    unsigned level;    /* HEADING: 1..6 */
    enum line_kind kind;
};

/* A sentence, a row, a heading, a line of code; `end` is where the next one of its block begins. */
struct piece {
    size_t start, end;
    size_t line;  /* on which it begins */
    size_t block; /* pieces of one paragraph or list item have the same number */
    bool is_gone;
};

struct markup {
    struct weir_slice text;
    struct line *lines;
    size_t n_lines;
    struct piece *pieces;
    size_t n_pieces;
};

/* WEIR_LIMIT, WEIR_NOMEM: the arena's. */
WEIR_MUST_CHECK enum weir_status markup_read(struct markup *out, struct weir_slice text,
                                             struct arena *arena);

/* Blanks, tabs and returns. */
static inline bool markup_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
