/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and sentences of a text in Markdown, as far as is needed to take one out and leave the
 * rest well-formed. In doubt two sentences are one: what goes is then too much, never half.
 */
#include "check/markup_impl.h"

#include <string.h>

#include "base/slice.h"
#include "check/numbers_impl.h"

enum { FENCE_MARKS = 3, HEADING_MARKS = 6, NUMBER_DIGITS = 9, TAB_COLUMNS = 4 };

struct reader {
    struct markup *m;
    char fence;      /* the mark of the block of code that is open, or 0 */
    unsigned number; /* of the last item of an ordered list */
};

static char char_at(const struct markup *m, size_t i, size_t end)
{
    return i < end ? m->text.ptr[i] : '\0';
}

/* ---- lines ---- */

/* Blanks and marks of quotes. */
static size_t skip_quotes(const struct markup *m, struct line *l)
{
    size_t i = l->start;
    l->indent = 0;
    for (; i < l->end; i++) {
        char c = m->text.ptr[i];
        if (c == '>') l->indent = 0;
        else if (c == '\t') l->indent += TAB_COLUMNS;
        else if (c == ' ' || c == '\r') l->indent++;
        else break;
    }
    return i;
}

static size_t run_of(const struct markup *m, size_t i, size_t end, char c)
{
    size_t n = 0;
    while (char_at(m, i + n, end) == c) n++;
    return n;
}

/* Whether a line is part of a block of code or one of its fences. */
static bool read_code(struct reader *r, struct line *l, size_t i)
{
    char c = char_at(r->m, i, l->end);
    bool is_fence = (c == '`' || c == '~') && run_of(r->m, i, l->end, c) >= FENCE_MARKS;
    if (!r->fence && !is_fence) return false;
    if (is_fence && (!r->fence || r->fence == c)) {
        r->fence = r->fence ? '\0' : c;
        l->kind = LINE_FENCE;
    } else {
        l->kind = LINE_CODE;
    }
    return true;
}

static bool read_heading(const struct markup *m, struct line *l, size_t i)
{
    size_t n = run_of(m, i, l->end, '#');
    if (n < 1 || n > HEADING_MARKS) return false;
    if (i + n < l->end && !markup_is_space(m->text.ptr[i + n])) return false;
    l->kind = LINE_HEADING;
    l->level = (unsigned)n;
    l->body = i + n;
    return true;
}

/* The number of an ordered item at i, and where its mark ends; 0: none. */
static unsigned item_number(const struct markup *m, const struct line *l, size_t i, size_t *end)
{
    unsigned value = 0;
    size_t at = i;
    for (; at < l->end && m->text.ptr[at] >= '0' && m->text.ptr[at] <= '9'; at++) {
        if (at - i >= NUMBER_DIGITS) return 0;
        value = value * 10 + (unsigned)(m->text.ptr[at] - '0');
    }
    char c = char_at(m, at, l->end);
    *end = at + 1;
    return at > i && (c == '.' || c == ')') ? value : 0;
}

/* An ordered item stands alone, begins with 1 or goes on; else a number only begins a line. */
static bool read_item(struct reader *r, struct line *l, size_t i, enum line_kind before)
{
    static const struct weir_slice bullet = SLICE("\u2022");
    const struct markup *m = r->m;
    size_t end = i + 1;
    char c = char_at(m, i, l->end);
    bool is_item = c == '-' || c == '*' || c == '+';
    if (l->end - i >= bullet.len && memcmp(m->text.ptr + i, bullet.ptr, bullet.len) == 0) {
        is_item = true;
        end = i + bullet.len;
    }
    unsigned number = is_item ? 0 : item_number(m, l, i, &end);
    bool goes_on = number == 1 || before != LINE_TEXT || number == r->number + 1;
    if (number > 0 && goes_on) is_item = true;
    if (!is_item || (end < l->end && !markup_is_space(m->text.ptr[end]))) return false;
    l->kind = LINE_ITEM;
    l->mark = i;
    l->body = end;
    l->number = number;
    if (number > 0) r->number = number;
    return true;
}

static bool is_rule(const struct markup *m, const struct line *l, size_t i)
{
    bool has_bar = false, has_dash = false;
    for (; i < l->end; i++) {
        char c = m->text.ptr[i];
        if (c != '|' && c != '-' && c != ':' && !markup_is_space(c)) return false;
        has_bar = has_bar || c == '|';
        has_dash = has_dash || c == '-';
    }
    return has_bar && has_dash;
}

static bool has_bar(const struct markup *m, const struct line *l)
{
    return l->end > l->start && memchr(m->text.ptr + l->start, '|', l->end - l->start) != NULL;
}

static void read_line(struct reader *r, struct line *l, enum line_kind before)
{
    size_t i = skip_quotes(r->m, l);
    l->body = l->mark = i;
    l->kind = LINE_TEXT;
    if (read_code(r, l, i)) return;
    if (i == l->end) l->kind = LINE_BLANK;
    else if (is_rule(r->m, l, i)) l->kind = LINE_RULE;
    else if (char_at(r->m, i, l->end) == '|') l->kind = LINE_ROW;
    else if (!read_heading(r->m, l, i)) (void)read_item(r, l, i, before);
    while (l->body < l->end && markup_is_space(r->m->text.ptr[l->body])) l->body++;
}

/* Tables may do without bars at their sides: the rule under the head tells. */
static void find_rows(struct markup *m)
{
    for (size_t i = 0; i < m->n_lines; i++) {
        if (m->lines[i].kind != LINE_RULE) continue;
        if (i > 0 && m->lines[i - 1].kind == LINE_TEXT && has_bar(m, &m->lines[i - 1]))
            m->lines[i - 1].kind = LINE_ROW;
        for (size_t k = i + 1; k < m->n_lines && has_bar(m, &m->lines[k]); k++)
            if (m->lines[k].kind == LINE_TEXT) m->lines[k].kind = LINE_ROW;
    }
}

static void read_lines(struct markup *m)
{
    struct reader r = {.m = m};
    enum line_kind before = LINE_BLANK;
    for (size_t at = 0; at < m->text.len;) {
        const char *found = memchr(m->text.ptr + at, '\n', m->text.len - at);
        size_t end = found ? (size_t)(found - m->text.ptr) : m->text.len;
        struct line *l = &m->lines[m->n_lines++];
        *l = (struct line){.start = at, .end = end};
        read_line(&r, l, before);
        before = l->kind;
        at = end + 1;
    }
    find_rows(m);
}

/* ---- sentences ---- */

/* What is open at a place of a paragraph: no sentence ends inside of it. */
struct open {
    bool strong, emphasis, code;
    int brackets;
};

struct splitter {
    struct markup *m;
    size_t end; /* of the paragraph */
    struct open open;
};

static bool is_word_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

/* Marks of emphasis from i on, which open or close; how many bytes. */
static size_t take_emphasis(struct splitter *s, size_t i, size_t start)
{
    char c = s->m->text.ptr[i];
    size_t n = run_of(s->m, i, s->end, c);
    char before = i > start ? s->m->text.ptr[i - 1] : ' ';
    char behind = i + n < s->end ? s->m->text.ptr[i + n] : ' ';
    bool is_loose = markup_is_space(before) && markup_is_space(behind);
    bool is_inside = c == '_' && is_word_char(before) && is_word_char(behind);
    if (is_loose || is_inside) return n;
    if (n >= 2) s->open.strong = !s->open.strong;
    if (n % 2 == 1) s->open.emphasis = !s->open.emphasis;
    return n;
}

/* One character or a run of marks from i on, with what it opens and closes; how many bytes. */
static size_t take(struct splitter *s, size_t i, size_t start)
{
    char c = s->m->text.ptr[i];
    if (c == '`') {
        s->open.code = !s->open.code;
        return run_of(s->m, i, s->end, c);
    }
    if (s->open.code) return 1;
    if (c == '*' || c == '_') return take_emphasis(s, i, start);
    if (c == '(' || c == '[') s->open.brackets++;
    if ((c == ')' || c == ']') && s->open.brackets > 0) s->open.brackets--;
    return 1;
}

static bool is_all_closed(const struct open *o)
{
    return !o->strong && !o->emphasis && !o->code && o->brackets == 0;
}

/* Behind a sentence's end: quotes, brackets and marks that close with it. */
static size_t take_closers(struct splitter *s, size_t i, size_t start)
{
    static const struct weir_slice quotes[] = {SLICE("\u201d"), SLICE("\u2019")};
    for (;;) {
        if (i < s->end && strchr("*_`\"')].!?", s->m->text.ptr[i]) && s->m->text.ptr[i]) {
            i += take(s, i, start);
            continue;
        }
        size_t k = 0;
        while (k < 2 && (s->end - i < 3 || memcmp(s->m->text.ptr + i, quotes[k].ptr, 3) != 0)) k++;
        if (k == 2) return i;
        i += 3;
    }
}

/* The letters and points before i: "e.g" of "e.g.". */
static struct weir_slice word_before(const struct splitter *s, size_t i, size_t start)
{
    size_t from = i;
    while (from > start &&
           (is_word_char(s->m->text.ptr[from - 1]) || s->m->text.ptr[from - 1] == '.'))
        from--;
    return slice_of(s->m->text.ptr + from, i - from);
}

/* Where the next sentence would begin: behind blanks, line ends and marks of quotes. */
static size_t skip_blanks(const struct splitter *s, size_t i)
{
    bool is_new_line = false;
    for (; i < s->end; i++) {
        char c = s->m->text.ptr[i];
        is_new_line = is_new_line || c == '\n';
        if (!markup_is_space(c) && !(c == '>' && is_new_line)) break;
    }
    return i;
}

/* Whether the full stop at i is one: not that of "e.g." or before a small letter. */
static bool is_full_stop(const struct splitter *s, size_t i, size_t start, size_t next)
{
    struct weir_slice word = word_before(s, i, start);
    size_t at = next;
    while (at < s->end && strchr("*_`\"'(", s->m->text.ptr[at]) && s->m->text.ptr[at]) at++;
    char c = char_at(s->m, at, s->end);
    if (c >= 'a' && c <= 'z') return false;
    if (word_in(word, "e.g|i.e|vs|approx|ca|cf|dr|mr|mrs|ms|fig|avg|resp|incl")) return false;
    return !(c >= '0' && c <= '9' && word_in(word, "no|nr"));
}

/* Two blanks or a backslash before a line end break the line. */
static bool is_break(const struct splitter *s, size_t i, size_t start)
{
    const char *p = s->m->text.ptr;
    if (p[i] != '\n' || i < start + 2) return false;
    return p[i - 1] == '\\' || (p[i - 1] == ' ' && p[i - 2] == ' ');
}

/* Where the sentence that begins at `start` ends and the next one begins. */
static size_t sentence_end(struct splitter *s, size_t start)
{
    s->open = (struct open){0};
    for (size_t i = start; i < s->end;) {
        char c = s->m->text.ptr[i];
        bool is_end = !s->open.code && (c == '.' || c == '!' || c == '?');
        if (is_break(s, i, start) && is_all_closed(&s->open)) return i + 1;
        size_t stop = i;
        i += take(s, i, start);
        if (!is_end) continue;
        i = take_closers(s, i, start);
        size_t next = skip_blanks(s, i);
        if (next == i || !is_all_closed(&s->open)) continue;
        if (c != '.' || is_full_stop(s, stop, start, next)) return next;
    }
    return s->end;
}

static void add_piece(struct markup *m, size_t start, size_t end, size_t line, size_t block)
{
    m->pieces[m->n_pieces++] =
        (struct piece){.start = start, .end = end, .line = line, .block = block};
}

/* A paragraph or list item from line i on; the line behind it. */
static size_t split_paragraph(struct markup *m, size_t i)
{
    size_t last = i + 1;
    while (last < m->n_lines && m->lines[last].kind == LINE_TEXT) last++;
    struct splitter s = {.m = m, .end = m->lines[last - 1].end};
    size_t line = i;
    for (size_t at = m->lines[i].body; at < s.end;) {
        size_t end = sentence_end(&s, at);
        while (line + 1 < last && m->lines[line + 1].start <= at) line++;
        add_piece(m, at, end, line, i);
        at = end;
    }
    return last;
}

enum weir_status markup_read(struct markup *out, struct weir_slice text, struct arena *arena)
{
    *out = (struct markup){.text = text};
    size_t n_lines = 2;
    for (size_t i = 0; i < text.len; i++) n_lines += text.ptr[i] == '\n';
    out->lines = arena_alloc(arena, n_lines * sizeof *out->lines);
    /* A sentence has a full stop and a blank at least, and each line begins one at most. */
    out->pieces = arena_alloc(arena, (text.len / 2 + n_lines) * sizeof *out->pieces);
    if (!out->lines || !out->pieces) return arena->status;
    read_lines(out);
    for (size_t i = 0; i < out->n_lines;) {
        const struct line *l = &out->lines[i];
        bool is_text = l->kind == LINE_TEXT || l->kind == LINE_ITEM;
        bool is_one = l->kind == LINE_HEADING || l->kind == LINE_ROW || l->kind == LINE_CODE;
        if (is_one) add_piece(out, l->body, l->end, i, i);
        i = is_text ? split_paragraph(out, i) : i + 1;
    }
    return WEIR_OK;
}
