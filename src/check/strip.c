/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes sentences out of an answer. One round marks the pieces that hold a number without a home,
 * then what makes no sense without them, and writes the rest. What is left is verified again, for
 * a word that carried a sign or began a list may have gone with them.
 */
#include "check/strip.h"

#include <string.h>

#include "base/slice.h"
#include "check/critic.h"
#include "check/markup_impl.h"

enum { LIST_DEPTH = 16 };

/* ---- what goes ---- */

struct round {
    struct markup m;
    bool *is_line_gone; /* lines without a piece: rules, fences */
    bool *drop;         /* bytes */
};

static const struct line *line_of(const struct round *r, size_t piece)
{
    return &r->m.lines[r->m.pieces[piece].line];
}

/* The line that begins the paragraph or item of a piece. */
static const struct line *block_of(const struct round *r, size_t piece)
{
    return &r->m.lines[r->m.pieces[piece].block];
}

/* A whole paragraph or item, none of whose pieces is before this one. */
static void drop_block(struct round *r, size_t line, size_t piece)
{
    for (size_t i = piece; i < r->m.n_pieces && r->m.pieces[i].block <= line; i++)
        if (r->m.pieces[i].block == line) r->m.pieces[i].is_gone = true;
    r->is_line_gone[line] = true;
}

/* A number is in a piece, or in the mark of an item or a fence. */
static void mark_number(struct round *r, size_t offset, size_t *piece, size_t *line)
{
    struct markup *m = &r->m;
    while (*line + 1 < m->n_lines && m->lines[*line + 1].start <= offset) (*line)++;
    while (*piece < m->n_pieces && m->pieces[*piece].end <= offset) (*piece)++;
    if (*piece < m->n_pieces && m->pieces[*piece].start <= offset) m->pieces[*piece].is_gone = true;
    else drop_block(r, *line, *piece);
}

static void mark_numbers(struct round *r, const struct verify_result *result)
{
    size_t piece = 0, line = 0;
    for (size_t i = 0; i < result->n; i++)
        if (result->numbers[i].outcome == VERIFY_LACK)
            mark_number(r, result->numbers[i].offset, &piece, &line);
}

/* How many of the pieces from `from` to `to` go; whether that is all of them. */
static bool are_all_gone(const struct round *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (!r->m.pieces[i].is_gone) return false;
    return to > from;
}

static void drop_pieces(struct round *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) r->m.pieces[i].is_gone = true;
}

/* A table whose head goes, goes; so does a head without rows. */
static void settle_table(struct round *r, size_t head)
{
    size_t rule = r->m.pieces[head].line + 1, end = head + 1;
    if (rule >= r->m.n_lines || r->m.lines[rule].kind != LINE_RULE) return;
    while (end < r->m.n_pieces && line_of(r, end)->kind == LINE_ROW &&
           r->m.pieces[end].line == rule + (end - head))
        end++;
    if (r->m.pieces[head].is_gone) drop_pieces(r, head, end);
    else if (are_all_gone(r, head + 1, end)) drop_pieces(r, head, head + 1);
    r->is_line_gone[rule] = r->m.pieces[head].is_gone;
}

/* The fences around code that goes; the line behind. */
static size_t settle_code(struct round *r, size_t open, size_t *piece)
{
    struct markup *m = &r->m;
    size_t close = open + 1;
    while (close < m->n_lines && m->lines[close].kind == LINE_CODE) close++;
    while (*piece < m->n_pieces && m->pieces[*piece].line <= open) (*piece)++;
    size_t end = *piece;
    while (end < m->n_pieces && m->pieces[end].line < close) end++;
    if (close < m->n_lines && m->lines[close].kind == LINE_FENCE && r->is_line_gone[close])
        r->is_line_gone[open] = true;
    if (r->is_line_gone[open]) drop_pieces(r, *piece, end);
    if (are_all_gone(r, *piece, end)) r->is_line_gone[open] = true;
    if (close < m->n_lines) r->is_line_gone[close] = r->is_line_gone[open];
    *piece = end;
    return close + 1;
}

static bool ends_with_colon(const struct round *r, size_t piece)
{
    struct weir_slice s = slice_of(r->m.text.ptr + r->m.pieces[piece].start,
                                   r->m.pieces[piece].end - r->m.pieces[piece].start);
    while (s.len > 0 && (markup_is_space(s.ptr[s.len - 1]) || s.ptr[s.len - 1] == '*')) s.len--;
    return s.len > 0 && s.ptr[s.len - 1] == ':';
}

/* Where that ends which a piece introduces: the pieces of the list, table or code behind it. */
static size_t introduced_end(const struct round *r, size_t piece)
{
    const struct line *intro = block_of(r, piece);
    size_t end = piece + 1;
    for (; end < r->m.n_pieces; end++) {
        const struct line *l = block_of(r, end);
        bool is_part = l->kind == LINE_ITEM || l->kind == LINE_ROW || l->kind == LINE_CODE;
        if (!is_part || (intro->kind == LINE_ITEM && l->indent <= intro->indent)) break;
    }
    return end;
}

static size_t section_end(const struct round *r, size_t heading)
{
    size_t end = heading + 1;
    for (; end < r->m.n_pieces; end++) {
        const struct line *l = line_of(r, end);
        if (l->kind == LINE_HEADING && l->level <= line_of(r, heading)->level) break;
    }
    return end;
}

/* From the last to the first, so that an introduction of introductions goes as well. */
static void settle_introductions(struct round *r)
{
    for (size_t i = r->m.n_pieces; i-- > 0;) {
        struct piece *p = &r->m.pieces[i];
        if (p->is_gone) continue;
        /* Only what is near the next gone piece can lose its sense. */
        bool is_next_gone = i + 1 < r->m.n_pieces && r->m.pieces[i + 1].is_gone;
        if (!is_next_gone) continue;
        if (line_of(r, i)->kind == LINE_HEADING)
            p->is_gone = are_all_gone(r, i + 1, section_end(r, i));
        else if (ends_with_colon(r, i)) p->is_gone = are_all_gone(r, i + 1, introduced_end(r, i));
    }
}

static void settle(struct round *r)
{
    for (size_t i = 0; i < r->m.n_pieces; i++)
        if (line_of(r, i)->kind == LINE_ROW) settle_table(r, i);
    size_t piece = 0;
    for (size_t i = 0; i < r->m.n_lines;)
        i = r->m.lines[i].kind == LINE_FENCE ? settle_code(r, i, &piece) : i + 1;
    settle_introductions(r);
    for (size_t i = 0; i < r->m.n_pieces; i++)
        if (r->m.pieces[i].is_gone)
            memset(r->drop + r->m.pieces[i].start, 1, r->m.pieces[i].end - r->m.pieces[i].start);
    for (size_t i = 0; i < r->m.n_lines; i++)
        if (r->is_line_gone[i])
            memset(r->drop + r->m.lines[i].start, 1, r->m.lines[i].end - r->m.lines[i].start);
}

/* ---- what is left ---- */

/* An ordered list that lost items, by its indent. */
struct list {
    size_t indent;
    unsigned n_lost;
};

struct writer {
    const struct round *r;
    char *out;
    size_t len;
    size_t line_at, content_at; /* in out: of the line that is being written */
    bool has_drop, has_lost;    /* in this line; a line, since the last one with text */
    const struct line *line;    /* the first of the text's that is in it */
    struct list lists[LIST_DEPTH];
    size_t n_lists;
    size_t lost_indent, shift; /* children of an item that went move to the left */
};

/* The list to which an item belongs; lists deeper than that have ended. */
static struct list *list_of(struct writer *w, const struct line *l)
{
    while (w->n_lists > 0 && w->lists[w->n_lists - 1].indent > l->indent) w->n_lists--;
    bool is_known = w->n_lists > 0 && w->lists[w->n_lists - 1].indent == l->indent;
    if (!is_known || l->number == 1) {
        if (!is_known && w->n_lists < LIST_DEPTH) w->n_lists++;
        w->lists[w->n_lists - 1] = (struct list){.indent = l->indent};
    }
    return &w->lists[w->n_lists - 1];
}

static void put_char(struct writer *w, char c)
{
    w->out[w->len++] = c;
}

static void put_bytes(struct writer *w, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (w->r->drop[i]) w->has_drop = true;
        else put_char(w, w->r->m.text.ptr[i]);
    }
}

/* The mark of an ordered item whose list lost some before it. It gets no longer. */
static size_t put_number(struct writer *w, const struct line *l)
{
    char digits[12];
    size_t n = 0, at = l->mark;
    const struct list *list = list_of(w, l);
    unsigned number = l->number > list->n_lost ? l->number - list->n_lost : l->number;
    for (; number > 0; number /= 10) digits[n++] = (char)('0' + number % 10);
    while (n > 0) put_char(w, digits[--n]);
    while (w->r->m.text.ptr[at] >= '0' && w->r->m.text.ptr[at] <= '9') at++;
    return at;
}

static void put_prefix(struct writer *w, const struct line *l)
{
    size_t at = l->start;
    if (w->shift > 0 && l->kind != LINE_BLANK && l->indent <= w->lost_indent) w->shift = 0;
    for (size_t i = 0; i < w->shift && w->r->m.text.ptr[at] == ' '; i++) at++;
    put_bytes(w, at, l->mark < l->body ? l->mark : l->body);
    at = l->mark < l->body ? l->mark : l->body;
    if (l->kind == LINE_ITEM && l->number > 0 && !w->r->drop[at]) at = put_number(w, l);
    put_bytes(w, at, l->body);
}

static void begin_line(struct writer *w, const struct line *l)
{
    w->line = l;
    w->line_at = w->len;
    w->has_drop = false;
    put_prefix(w, l);
    w->content_at = w->len;
    bool ends_lists = l->kind == LINE_HEADING || (l->kind == LINE_TEXT && l->indent == 0);
    if (ends_lists) w->n_lists = 0;
}

static bool is_blank(const struct writer *w, size_t from)
{
    for (size_t i = from; i < w->len; i++)
        if (!markup_is_space(w->out[i])) return false;
    return true;
}

/* Whether what was written so far ends with an empty line, or is nothing. */
static bool is_behind_blank(const struct writer *w)
{
    return w->line_at == 0 || (w->line_at >= 2 && w->out[w->line_at - 2] == '\n');
}

static void lose_line(struct writer *w)
{
    const struct line *l = w->line;
    w->len = w->line_at;
    w->has_lost = true;
    if (l->kind != LINE_ITEM) return;
    if (l->number > 0) list_of(w, l)->n_lost++;
    size_t next = (size_t)(l - w->r->m.lines) + 1;
    const struct line *child = next < w->r->m.n_lines ? &w->r->m.lines[next] : NULL;
    if (w->shift > 0 || !child || child->indent <= l->indent) return;
    w->lost_indent = l->indent;
    w->shift = child->indent - l->indent;
}

/* A line without a word left is lost; one that lost some is trimmed. */
static void end_line(struct writer *w, bool has_end)
{
    bool is_empty = is_blank(w, w->content_at);
    if (w->has_drop && is_empty) {
        lose_line(w);
        return;
    }
    if (w->line->kind == LINE_BLANK && w->has_lost && is_behind_blank(w)) {
        w->len = w->line_at;
        return;
    }
    while (w->has_drop && w->len > w->content_at && markup_is_space(w->out[w->len - 1])) w->len--;
    if (has_end) put_char(w, '\n');
    if (!is_empty) w->has_lost = false;
}

static struct weir_slice write_rest(const struct round *r, char *out)
{
    struct writer w = {.r = r, .out = out};
    const struct markup *m = &r->m;
    bool is_open = false;
    for (size_t i = 0; i < m->n_lines; i++) {
        const struct line *l = &m->lines[i];
        bool has_end = l->end < m->text.len;
        if (!is_open) begin_line(&w, l);
        put_bytes(&w, is_open ? l->start : l->body, l->end);
        /* A sentence that goes may take the line's end with it. */
        is_open = has_end && r->drop[l->end];
        if (is_open) w.has_drop = true;
        else end_line(&w, has_end);
    }
    if (is_open) end_line(&w, false);
    while (w.has_lost && w.len > 0 && markup_is_space(w.out[w.len - 1])) w.len--;
    bool had_end = m->text.len > 0 && m->text.ptr[m->text.len - 1] == '\n';
    if (w.has_lost && had_end && w.len > 0) put_char(&w, '\n');
    return (struct weir_slice){out, w.len};
}

/* ---- rounds ---- */

static WEIR_MUST_CHECK enum weir_status round_init(struct round *r, struct weir_slice text,
                                                   struct arena *arena)
{
    enum weir_status st = markup_read(&r->m, text, arena);
    if (st != WEIR_OK) return st;
    r->is_line_gone = arena_alloc(arena, r->m.n_lines + 1);
    r->drop = arena_alloc(arena, text.len + 1);
    if (!r->is_line_gone || !r->drop) return arena->status;
    memset(r->is_line_gone, 0, r->m.n_lines + 1);
    memset(r->drop, 0, text.len + 1);
    return WEIR_OK;
}

static struct weir_slice trimmed(struct weir_slice s)
{
    while (s.len > 0 && markup_is_space(s.ptr[s.len - 1])) s.len--;
    while (s.len > 0 && markup_is_space(s.ptr[0])) s = slice_from(s, 1);
    return s;
}

/* The list of what went, with what went in this round. */
static WEIR_MUST_CHECK enum weir_status tell(struct stripped *out, const struct round *r,
                                             struct arena *arena)
{
    size_t n = out->n_removed;
    for (size_t i = 0; i < r->m.n_pieces; i++) n += r->m.pieces[i].is_gone;
    struct weir_slice *all = arena_alloc(arena, (n + 1) * sizeof *all);
    if (!all) return arena->status;
    if (out->n_removed > 0) memcpy(all, out->removed, out->n_removed * sizeof *all);
    for (size_t i = 0; i < r->m.n_pieces; i++) {
        const struct piece *p = &r->m.pieces[i];
        if (p->is_gone)
            all[out->n_removed++] = trimmed(slice_of(r->m.text.ptr + p->start, p->end - p->start));
    }
    out->removed = all;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status strip_once(struct stripped *out,
                                                   const struct verify_result *result,
                                                   struct arena *arena)
{
    struct round r;
    char *rest = arena_alloc(arena, out->text.len + 2);
    if (!rest) return arena->status;
    enum weir_status st = round_init(&r, out->text, arena);
    if (st != WEIR_OK) return st;
    mark_numbers(&r, result);
    settle(&r);
    out->text = write_rest(&r, rest);
    return tell(out, &r, arena);
}

enum weir_status verify_strip(struct stripped *out, const struct verify_input *input,
                              struct arena *arena)
{
    *out = (struct stripped){.text = input->text};
    for (int i = 0; i < STRIP_ROUNDS; i++) {
        struct verify_input again = *input;
        struct verify_result result;
        again.text = out->text;
        enum weir_status st = verify_text(&result, &again, arena);
        if (st != WEIR_OK || result.n_lacking == 0) return st;
        st = strip_once(out, &result, arena);
        if (st != WEIR_OK) return st;
    }
    out->text.len = 0;
    return WEIR_OK;
}

/* ---- telling ---- */

void verify_offence(struct weir_buf *out, struct weir_slice text, const struct verified *v)
{
    struct weir_slice quoted = slice_of(text.ptr + v->offset, v->quoted_len);
    if (quoted.len > STRIP_OFFENCE_BYTES) quoted.len = STRIP_OFFENCE_BYTES;
    weir_buf_append_char(out, '"');
    for (size_t i = 0; i < quoted.len; i++)
        weir_buf_append_char(out, markup_is_space(quoted.ptr[i]) ? ' ' : quoted.ptr[i]);
    weir_buf_printf(out, "\" has no home in the fact sheet (line %zu)", v->line);
}

/* Whether the paragraph or item of a piece has a word of doubt; what is known is not asked again.
 */
struct doubts {
    size_t block;
    bool is_block_hedged, is_text_hedged;
};

static bool is_hedged(struct doubts *d, const struct markup *m, size_t piece)
{
    size_t block = m->pieces[piece].block, from = piece, to = piece + 1;
    enum line_kind kind = m->lines[block].kind;
    if (kind != LINE_TEXT && kind != LINE_ITEM) return d->is_text_hedged;
    if (block == d->block) return d->is_block_hedged;
    while (from > 0 && m->pieces[from - 1].block == block) from--;
    while (to < m->n_pieces && m->pieces[to].block == block) to++;
    size_t start = m->pieces[from].start, end = m->pieces[to - 1].end;
    d->block = block;
    d->is_block_hedged = assess_is_hedged(slice_of(m->text.ptr + start, end - start));
    return d->is_block_hedged;
}

enum weir_status verify_unhedged(struct unhedged *out, struct weir_slice text,
                                 const struct verify_result *result, struct arena *arena)
{
    struct markup m;
    size_t piece = 0, done = SIZE_MAX;
    struct doubts doubts = {.block = SIZE_MAX, .is_text_hedged = assess_is_hedged(text)};
    *out = (struct unhedged){0};
    enum weir_status st = markup_read(&m, text, arena);
    if (st != WEIR_OK) return st;
    out->sentences = arena_alloc(arena, (result->n + 1) * sizeof *out->sentences);
    if (!out->sentences) return arena->status;
    for (size_t i = 0; i < result->n; i++) {
        const struct verified *v = &result->numbers[i];
        if (!v->home || !v->home->is_conditional) continue;
        while (piece < m.n_pieces && m.pieces[piece].end <= v->offset) piece++;
        if (piece == m.n_pieces || piece == done || is_hedged(&doubts, &m, piece)) continue;
        done = piece;
        const struct piece *p = &m.pieces[piece];
        out->sentences[out->n++] = trimmed(slice_of(text.ptr + p->start, p->end - p->start));
    }
    return WEIR_OK;
}
