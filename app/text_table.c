/* SPDX-License-Identifier: Apache-2.0 */
#include "text_table.h"

#include <string.h>

#include "base/slice.h"
#include "term_text.h"

enum { CELLS_BYTES = 64 << 20, GAP = 2, BELOW = 2 };

void text_table_init(struct text_table *t, const struct text_column *columns, size_t n_columns)
{
    *t = (struct text_table){.columns = columns, .n_columns = n_columns};
    weir_buf_init(&t->cells, CELLS_BYTES);
    for (size_t i = 0; i < n_columns; i++) text_table_cell(t, weir_slice_of(columns[i].title));
}

void text_table_fini(struct text_table *t)
{
    weir_buf_fini(&t->cells);
}

void text_table_cell(struct text_table *t, struct weir_slice text)
{
    size_t begin = t->cells.len;
    term_clean_label(&t->cells, text);
    if (weir_buf_status(&t->cells) != WEIR_OK) return;
    unsigned width = term_width(slice_of(t->cells.ptr + begin, t->cells.len - begin));
    weir_buf_append_char(&t->cells, '\0');
    unsigned *widest = &t->widths[t->n_cells++ % t->n_columns];
    if (width > *widest) *widest = width;
}

struct line {
    struct weir_buf *out;
    unsigned columns; /* 0: no end */
    unsigned used;
    unsigned owed; /* blanks, put when something follows */
};

/* What fits of the text; the rest of the line is empty then. */
static void put(struct line *l, struct weir_slice text)
{
    if (text.len == 0) return;
    unsigned left = l->columns == 0 ? UINT32_MAX : l->columns - l->used;
    if (l->owed >= left) return;
    for (; l->owed > 0; l->owed--, l->used++, left--) weir_buf_append_char(l->out, ' ');
    l->used += term_put_cut(l->out, text, left);
}

static void put_cell(struct line *l, struct weir_slice text, unsigned width, bool is_right)
{
    unsigned gap = width - term_width(text);
    if (is_right) l->owed += gap;
    put(l, text);
    if (!is_right) l->owed += gap;
    l->owed += GAP;
}

static void end_line(struct line *l)
{
    weir_buf_append_char(l->out, '\n');
    l->used = l->owed = 0;
}

enum weir_status text_table_put(const struct text_table *t, struct weir_buf *out, unsigned columns)
{
    struct line l = {.out = out, .columns = columns};
    struct weir_slice rest = weir_buf_slice(&t->cells);
    unsigned before = 0; /* the last column */
    for (size_t i = 0; i + 1 < t->n_columns; i++) before += t->widths[i] + GAP;
    unsigned last = t->widths[t->n_columns - 1];
    unsigned needed = last < TEXT_TABLE_LAST ? last : TEXT_TABLE_LAST;
    bool is_below = columns > 0 && before + needed > columns;
    for (size_t i = 0; i < t->n_cells; i++) {
        struct weir_slice cell = weir_slice_of(rest.ptr);
        size_t column = i % t->n_columns;
        bool is_last = column + 1 == t->n_columns;
        rest = slice_from(rest, cell.len + 1);
        if (is_last && is_below && cell.len > 0) {
            end_line(&l);
            l.owed = BELOW;
        }
        if (is_last) put(&l, cell);
        else put_cell(&l, cell, t->widths[column], t->columns[column].is_right);
        if (is_last) end_line(&l);
    }
    enum weir_status st = weir_buf_status(&t->cells);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}
