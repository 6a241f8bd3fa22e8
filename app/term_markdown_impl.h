/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the Markdown renderer share: its state. */
#pragma once

#include "term_inline.h"
#include "term_markdown.h"
#include "term_text.h"

enum {
    MD_DEPTH = 12,       /* quotes and lists within each other; deeper ones are text */
    MD_TEXT_COLUMNS = 6, /* as few are left for text, however deep it stands */
    MD_CELLS = 16,       /* columns of a table; more are text */
    MD_LINE_BYTES = 64 << 10,
};

enum md_leaf {
    LEAF_NONE,
    LEAF_PARAGRAPH,
    LEAF_HEADING,
    LEAF_CODE,
    LEAF_FENCE,
    LEAF_TABLE,
    LEAF_RULE
};

struct md_container {
    char kind;       /* '>' a quote, '-' an item of a list, '1' of one with numbers */
    bool is_fresh;   /* its mark was not shown yet */
    unsigned indent; /* of an item: columns of its text behind what contains it */
    unsigned number;
};

struct md_cells {
    unsigned n;
    struct weir_slice cells[MD_CELLS];
};

struct md_table {
    unsigned n_columns;
    unsigned widths[MD_CELLS];
    char align[MD_CELLS]; /* l, c, r */
    bool is_fixed;        /* rows were committed, with these widths */
};

/* What changes as text comes; a copy of it can be played to the end for a look. */
struct md_state {
    struct term_cleaner cleaner;
    size_t n_containers;
    struct md_container containers[MD_DEPTH];
    char list_kind[MD_DEPTH];       /* of the last item at this depth, while its list goes on */
    unsigned list_number[MD_DEPTH]; /* its number */
    enum md_leaf leaf;
    unsigned level;      /* of a heading */
    bool is_shown;       /* rows of this leaf were committed */
    bool is_line_open;   /* the line at hand is a part of the leaf already */
    bool has_pipe;       /* it has a | in it: perhaps a row of a table */
    bool is_blank_due;   /* the source had a blank line since the last row */
    enum md_leaf before; /* the last leaf that was shown */
    unsigned fence_len, fence_indent;
    char fence_sign;
    size_t try_at; /* when a long paragraph is next looked at */
    struct md_table table;
};

struct markdown {
    struct md_state s;
    struct weir_buf line; /* cleaned, without its end */
    struct weir_buf leaf; /* source of the paragraph, heading or table */
    unsigned columns, rows;
    markdown_row_fn commit;
    void *user;
    bool is_growing; /* only a look at what is there so far */
    enum weir_status status;

    struct markdown *look;   /* what markdown_pending() plays to the end */
    struct weir_buf cleaned; /* room to work in */
    struct weir_buf row;
    struct term_styled text;
    struct inline_work inline_work;
};

/* ---- rows: term_markdown_rows.c ---- */

/* Columns that are left for text beside the marks of containers. */
unsigned md_text_columns(const struct markdown *m);

/* Begins a row with the marks of all containers, and commits it. */
void md_row_begin(struct markdown *m);
void md_row_end(struct markdown *m);

/* A blank row before a new leaf where one is due. */
void md_leaf_begin(struct markdown *m, enum md_leaf leaf);

/* Commits the rows of the leaf at hand and forgets it. */
void md_leaf_end(struct markdown *m);

/* Commits those rows of a paragraph that cannot change; all but the last when it is too long. */
void md_leaf_shrink(struct markdown *m);

/* A line of code, or the part of it that fills whole rows. */
void md_code_line(struct markdown *m, struct weir_slice line);
size_t md_code_rows(struct markdown *m, struct weir_slice line);

void md_rule(struct markdown *m);

/* ---- tables: term_table.c ---- */

void md_split_row(struct weir_slice line, struct md_cells *cells);

/* Whether a line says how the columns of a table are aligned; and how many there are. */
bool md_is_delimiter(struct weir_slice line, struct md_table *table);

void md_table_rows(struct markdown *m);
