/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of Markdown: the marks of quotes and lists, wrapped text, code, rules. */
#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "term_markdown_impl.h"

enum { CODE_INDENT = 2, QUOTE_COLUMNS = 2, BULLET_COLUMNS = 2, MARK_BYTES = 16 };

/* ---- containers ---- */

/* The mark, and how many columns it takes with the blank behind it. */
static unsigned mark_of(const struct md_container *c, char out[MARK_BYTES])
{
    if (c->kind == '>') {
        memcpy(out, "│", sizeof "│");
        return QUOTE_COLUMNS;
    }
    if (c->kind == '-') {
        memcpy(out, "•", sizeof "•");
        return BULLET_COLUMNS;
    }
    int n = snprintf(out, MARK_BYTES, "%u.", c->number);
    return n > 0 ? (unsigned)n + 1 : 1;
}

/* Deep containers that would leave no room for text are not shown. */
static size_t n_marked(const struct markdown *m, unsigned *columns)
{
    char mark[MARK_BYTES];
    unsigned used = 0;
    size_t n = 0;
    for (; n < m->s.n_containers; n++) {
        unsigned width = mark_of(&m->s.containers[n], mark);
        if (used + width + MD_TEXT_COLUMNS > m->columns) break;
        used += width;
    }
    *columns = m->columns > used ? m->columns - used : 1;
    return n;
}

unsigned md_text_columns(const struct markdown *m)
{
    unsigned columns;
    (void)n_marked(m, &columns);
    return columns;
}

void md_row_begin(struct markdown *m)
{
    unsigned columns;
    size_t n = n_marked(m, &columns);
    weir_buf_reset(&m->row);
    for (size_t i = 0; i < n; i++) {
        char mark[MARK_BYTES];
        struct md_container *c = &m->s.containers[i];
        unsigned width = mark_of(c, mark);
        bool is_mark = c->kind == '>' || c->is_fresh;
        if (is_mark) {
            term_put(&m->row, weir_slice_of(mark), c->kind == '>' ? TERM_DIM : 0);
            width = 1;
        }
        for (unsigned k = 0; k < width; k++) weir_buf_append_char(&m->row, ' ');
    }
    for (size_t i = 0; i < m->s.n_containers; i++) m->s.containers[i].is_fresh = false;
}

void md_row_end(struct markdown *m)
{
    while (m->row.len > 0 && m->row.ptr[m->row.len - 1] == ' ') m->row.len--;
    enum weir_status st = weir_buf_status(&m->row);
    if (st != WEIR_OK) m->status = st;
    m->commit(m->user, weir_buf_slice(&m->row));
}

/* Between two leaves: the bars of quotes that hold both. */
static void put_blank(struct markdown *m)
{
    weir_buf_reset(&m->row);
    for (size_t i = 0; i < m->s.n_containers && !m->s.containers[i].is_fresh; i++) {
        bool is_quote = m->s.containers[i].kind == '>';
        term_put(&m->row, is_quote ? SLICE("│") : SLICE(" "), is_quote ? TERM_DIM : 0);
        weir_buf_append_char(&m->row, ' ');
    }
    md_row_end(m);
}

static bool is_apart(enum md_leaf leaf)
{
    return leaf == LEAF_HEADING || leaf == LEAF_FENCE || leaf == LEAF_TABLE || leaf == LEAF_RULE;
}

void md_leaf_begin(struct markdown *m, enum md_leaf leaf)
{
    bool is_first = m->s.before == LEAF_NONE;
    bool is_due = m->s.is_blank_due || is_apart(leaf) || is_apart(m->s.before);
    if (!is_first && is_due) put_blank(m);
    m->s.is_blank_due = false;
    m->s.leaf = m->s.before = leaf;
    m->s.is_shown = false;
    m->s.try_at = 0;
    weir_buf_reset(&m->leaf);
    for (size_t i = m->s.n_containers; i < MD_DEPTH; i++) m->s.list_kind[i] = 0;
}

/* ---- text ---- */

static void read_leaf(struct markdown *m)
{
    struct inline_options options = {.is_growing = m->is_growing};
    if (m->s.leaf == LEAF_HEADING) options.look = TERM_BOLD;
    if (m->s.leaf == LEAF_HEADING && m->s.level == 1) options.look |= TERM_LINK;
    term_styled_reset(&m->text);
    inline_read(&m->inline_work, weir_buf_slice(&m->leaf), options, &m->text);
}

/* Commits the text from one place to another in rows. */
static void put_rows(struct markdown *m, size_t end)
{
    unsigned columns = md_text_columns(m);
    for (size_t at = 0; at < end;) {
        size_t len;
        size_t next;
        term_wrap(slice_of(m->text.text.ptr + at, end - at), columns, &len, &next);
        md_row_begin(m);
        term_put_styled(&m->row, &m->text, at, len);
        md_row_end(m);
        at += next;
    }
    m->s.is_shown = true;
}

/* The last place where a row begins and the source can be cut; 0 when there is none. */
static size_t find_cut(struct markdown *m, bool is_hard, size_t *source)
{
    unsigned columns = md_text_columns(m);
    size_t best = 0;
    for (size_t at = 0; at < m->text.text.len;) {
        size_t len;
        size_t next;
        bool is_inside;
        term_wrap(slice_from(weir_buf_slice(&m->text.text), at), columns, &len, &next);
        at += next;
        if (at >= m->text.text.len) break;
        size_t place = inline_source(&m->inline_work, at, &is_inside);
        if (is_inside && !is_hard) continue;
        best = at;
        *source = place;
    }
    return best;
}

void md_leaf_shrink(struct markdown *m)
{
    size_t source = 0;
    bool is_hard = m->leaf.len >= MARKDOWN_HOLD_BYTES;
    bool was_growing = m->is_growing;
    m->is_growing = false;
    read_leaf(m);
    size_t cut = find_cut(m, is_hard, &source);
    if (cut == 0 && is_hard) {
        /* A single row without end, as of characters without width. */
        cut = m->text.text.len;
        source = m->leaf.len;
    }
    if (cut > 0) {
        put_rows(m, cut);
        m->leaf.len -= source;
        memmove(m->leaf.ptr, m->leaf.ptr + source, m->leaf.len);
    }
    m->is_growing = was_growing;
}

/* ---- code and rules ---- */

size_t md_code_rows(struct markdown *m, struct weir_slice line)
{
    unsigned columns = md_text_columns(m);
    columns = columns > CODE_INDENT + 1 ? columns - CODE_INDENT : 1;
    size_t at = 0;
    while (at < line.len) {
        struct weir_slice rest = slice_from(line, at);
        size_t len = term_fit(rest, columns);
        if (len == 0) len = term_first(rest).len;
        if (len == rest.len) break;
        md_row_begin(m);
        weir_buf_append_str(&m->row, "  ");
        term_put(&m->row, slice_of(rest.ptr, len), TERM_CODE);
        md_row_end(m);
        at += len;
    }
    return at;
}

void md_code_line(struct markdown *m, struct weir_slice line)
{
    line = slice_from(line, md_code_rows(m, line));
    md_row_begin(m);
    weir_buf_append_str(&m->row, "  ");
    term_put(&m->row, line, TERM_CODE);
    md_row_end(m);
}

void md_rule(struct markdown *m)
{
    unsigned columns = md_text_columns(m);
    md_leaf_begin(m, LEAF_RULE);
    md_row_begin(m);
    weir_buf_append_str(&m->row, "\033[2m");
    for (unsigned i = 0; i < columns; i++) weir_buf_append_str(&m->row, "─");
    weir_buf_append_str(&m->row, "\033[0m");
    md_row_end(m);
    m->s.leaf = LEAF_NONE;
}

/* ---- the end of a leaf ---- */

void md_leaf_end(struct markdown *m)
{
    enum md_leaf leaf = m->s.leaf;
    if (leaf == LEAF_PARAGRAPH || leaf == LEAF_HEADING) {
        read_leaf(m);
        put_rows(m, m->text.text.len);
    } else if (leaf == LEAF_TABLE) {
        md_table_rows(m);
    }
    m->s.leaf = LEAF_NONE;
    m->s.table.is_fixed = false;
    m->s.is_line_open = false;
    weir_buf_reset(&m->leaf);
}
