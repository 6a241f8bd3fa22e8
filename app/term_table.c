/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of Markdown. The source of a table is held until it ends, for any row may widen a column;
 * one that is too large is committed with the widths it has, and goes on with those. Columns that
 * do not fit are made narrower, the widest first, and their cells are wrapped; where even that
 * leaves no room, the lines are shown as they are.
 */
#include <string.h>

#include "base/slice.h"
#include "term_markdown_impl.h"

enum { CELL_MIN_COLUMNS = 3, GAP_COLUMNS = 3 };

static struct weir_slice trim(struct weir_slice s)
{
    while (s.len > 0 && s.ptr[0] == ' ') s = slice_from(s, 1);
    while (s.len > 0 && s.ptr[s.len - 1] == ' ') s.len--;
    return s;
}

void md_split_row(struct weir_slice line, struct md_cells *cells)
{
    size_t begin = 0;
    line = trim(line);
    if (line.len > 0 && line.ptr[0] == '|') line = slice_from(line, 1);
    cells->n = 0;
    for (size_t i = 0; i <= line.len && cells->n < MD_CELLS; i++) {
        if (i < line.len && line.ptr[i] == '\\') i++;
        else if (i == line.len || line.ptr[i] == '|') {
            /* Nothing stands behind a last |. */
            if (i == line.len && begin == i && cells->n > 0) break;
            cells->cells[cells->n++] = trim(slice_of(line.ptr + begin, i - begin));
            begin = i + 1;
        }
    }
}

static bool is_delimiter_cell(struct weir_slice cell, char *align)
{
    bool is_left = cell.len > 0 && cell.ptr[0] == ':';
    bool is_right = cell.len > 1 && cell.ptr[cell.len - 1] == ':';
    size_t dashes = cell.len - is_left - is_right;
    *align = is_left && is_right ? 'c' : is_right ? 'r' : 'l';
    if (dashes == 0 || dashes > cell.len) return false;
    for (size_t i = is_left; i < cell.len - is_right; i++)
        if (cell.ptr[i] != '-') return false;
    return true;
}

bool md_is_delimiter(struct weir_slice line, struct md_table *table)
{
    struct md_cells cells;
    if (line.len == 0 || !memchr(line.ptr, '-', line.len)) return false;
    md_split_row(line, &cells);
    for (unsigned i = 0; i < cells.n; i++)
        if (!is_delimiter_cell(cells.cells[i], &table->align[i])) return false;
    table->n_columns = cells.n;
    return cells.n > 0;
}

/* ---- widths ---- */

static void measure(struct markdown *m, struct weir_slice line)
{
    struct md_cells cells;
    md_split_row(line, &cells);
    for (unsigned i = 0; i < cells.n && i < m->s.table.n_columns; i++) {
        term_styled_reset(&m->text);
        inline_read(&m->inline_work, cells.cells[i], (struct inline_options){0}, &m->text);
        unsigned width = term_width(weir_buf_slice(&m->text.text));
        if (width > m->s.table.widths[i]) m->s.table.widths[i] = width;
    }
}

/* False when the columns cannot be made narrow enough. */
static bool narrow(struct md_table *t, unsigned columns)
{
    unsigned gaps = (t->n_columns - 1) * GAP_COLUMNS;
    if (columns < gaps + t->n_columns * CELL_MIN_COLUMNS) return false;
    for (;;) {
        unsigned sum = gaps;
        unsigned widest = 0;
        for (unsigned i = 0; i < t->n_columns; i++) {
            sum += t->widths[i];
            if (t->widths[i] > t->widths[widest]) widest = i;
        }
        if (sum <= columns) return true;
        unsigned over = sum - columns;
        unsigned room = t->widths[widest] - CELL_MIN_COLUMNS;
        unsigned step = over / t->n_columns > 0 ? over / t->n_columns : 1;
        t->widths[widest] -= step < room ? step : room;
    }
}

/* ---- rows ---- */

static void put_blanks(struct weir_buf *out, unsigned n)
{
    while (n-- > 0) weir_buf_append_char(out, ' ');
}

static void put_bar(struct weir_buf *out)
{
    weir_buf_append_char(out, ' ');
    term_put(out, SLICE("│"), TERM_DIM);
    weir_buf_append_char(out, ' ');
}

/* What a cell shows in one row, between its blanks; returns where it goes on. */
static size_t put_cell(struct markdown *m, unsigned column, struct weir_slice cell, size_t from,
                       unsigned look)
{
    const struct md_table *t = &m->s.table;
    size_t len = 0;
    size_t next = 0;
    term_styled_reset(&m->text);
    inline_read(&m->inline_work, cell, (struct inline_options){.look = look}, &m->text);
    struct weir_slice rest = weir_buf_slice(&m->text.text);
    from = from < rest.len ? from : rest.len;
    rest = slice_from(rest, from);
    if (rest.len > 0) term_wrap(rest, t->widths[column], &len, &next);
    unsigned width = term_width(slice_of(rest.ptr, len));
    unsigned spare = t->widths[column] > width ? t->widths[column] - width : 0;
    unsigned before = t->align[column] == 'r' ? spare : t->align[column] == 'c' ? spare / 2 : 0;
    put_blanks(&m->row, before);
    term_put_styled(&m->row, &m->text, from, len);
    put_blanks(&m->row, spare - before);
    return next < rest.len ? from + next : SIZE_MAX;
}

static void put_row(struct markdown *m, struct weir_slice line, unsigned look)
{
    struct md_cells cells;
    size_t from[MD_CELLS] = {0};
    bool is_more = true;
    md_split_row(line, &cells);
    while (is_more) {
        is_more = false;
        md_row_begin(m);
        for (unsigned i = 0; i < m->s.table.n_columns; i++) {
            struct weir_slice cell = i < cells.n ? cells.cells[i] : (struct weir_slice){0};
            if (i > 0) put_bar(&m->row);
            from[i] = put_cell(m, i, cell, from[i], look);
            is_more = is_more || from[i] != SIZE_MAX;
        }
        md_row_end(m);
    }
}

static void put_line(struct markdown *m)
{
    md_row_begin(m);
    weir_buf_append_str(&m->row, "\033[2m");
    for (unsigned i = 0; i < m->s.table.n_columns; i++) {
        if (i > 0) weir_buf_append_str(&m->row, "─┼─");
        for (unsigned k = 0; k < m->s.table.widths[i]; k++) weir_buf_append_str(&m->row, "─");
    }
    weir_buf_append_str(&m->row, "\033[0m");
    md_row_end(m);
}

/* The next line of the source; false at its end. */
static bool next_line(struct weir_slice *rest, struct weir_slice *line)
{
    if (rest->len == 0) return false;
    const char *end = memchr(rest->ptr, '\n', rest->len);
    line->ptr = rest->ptr;
    line->len = end ? (size_t)(end - rest->ptr) : rest->len;
    *rest = slice_from(*rest, end ? line->len + 1 : line->len);
    return true;
}

static void fix_widths(struct markdown *m)
{
    struct weir_slice rest = weir_buf_slice(&m->leaf);
    struct weir_slice line;
    struct md_table *t = &m->s.table;
    for (unsigned i = 0; i < t->n_columns; i++) t->widths[i] = 1;
    while (next_line(&rest, &line)) measure(m, line);
    if (!narrow(t, md_text_columns(m))) t->n_columns = 0;
}

void md_table_rows(struct markdown *m)
{
    struct weir_slice rest = weir_buf_slice(&m->leaf);
    struct weir_slice line;
    bool is_head = !m->s.table.is_fixed;
    if (is_head) fix_widths(m);
    while (next_line(&rest, &line)) {
        if (m->s.table.n_columns == 0) md_code_line(m, line);
        else put_row(m, line, is_head ? TERM_BOLD : 0);
        if (is_head && m->s.table.n_columns > 0) put_line(m);
        is_head = false;
    }
    m->s.table.is_fixed = true;
    weir_buf_reset(&m->leaf);
}
