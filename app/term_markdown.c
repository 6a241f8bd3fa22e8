/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of Markdown, line by line, as CommonMark finds them: a line first goes on with the quotes
 * and lists that are open, then it may open others, and what is left is a leaf or goes on with
 * one. Everything is decided at fixed places of the text: at line ends, and where a line or
 * paragraph reaches a size. So the rows do not depend on how the text was cut.
 *
 * A look at what is pending plays a copy of the state to the end; there is one set of rules.
 */
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "term_markdown_impl.h"

enum {
    CLEANED_BYTES = 1 << 20,
    FEED_BYTES = 16 << 10, /* cleaned at once: each byte may become ten */
    ROW_BYTES = 256 << 10,
    HOLD_MIN_BYTES = 160,
    ROWS_OF_OTHERS = 4, /* of the screen, which are not for the unfinished block */
    CODE_COLUMNS = 4,
    MARKER_DIGITS = 9,
};

/* ---- a line ---- */

struct md_line {
    struct weir_slice all;
    size_t at;       /* behind what its containers take */
    unsigned indent; /* blanks from there on */
};

static void count_indent(struct md_line *l)
{
    l->indent = 0;
    while (l->at + l->indent < l->all.len && l->all.ptr[l->at + l->indent] == ' ') l->indent++;
}

static struct weir_slice rest_of(const struct md_line *l)
{
    return slice_from(l->all, l->at + l->indent);
}

static bool is_blank(const struct md_line *l)
{
    return rest_of(l).len == 0;
}

static size_t run_of(struct weir_slice s, char c)
{
    size_t n = 0;
    while (n < s.len && s.ptr[n] == c) n++;
    return n;
}

/* Three or more of * - _ with nothing but blanks between. */
static bool is_rule(struct weir_slice s)
{
    size_t n = 0;
    if (s.len == 0 || !strchr("*-_", s.ptr[0])) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == s.ptr[0]) n++;
        else if (s.ptr[i] != ' ') return false;
    }
    return n >= 3;
}

/* 1 to 6 for a heading. */
static unsigned heading_level(struct weir_slice s)
{
    size_t n = run_of(s, '#');
    bool is_heading = n >= 1 && n <= 6 && (s.len == n || s.ptr[n] == ' ');
    return is_heading ? (unsigned)n : 0;
}

/* The length of a run that opens a fence; 0: none does. */
static size_t fence_len(struct weir_slice s)
{
    if (s.len < 3 || (s.ptr[0] != '`' && s.ptr[0] != '~')) return 0;
    size_t n = run_of(s, s.ptr[0]);
    if (n < 3) return 0;
    bool has_tick = s.ptr[0] == '`' && memchr(s.ptr + n, '`', s.len - n);
    return has_tick ? 0 : n;
}

/* The line under a heading: 1 for =, 2 for -. */
static unsigned underline_level(struct weir_slice s)
{
    while (s.len > 0 && s.ptr[s.len - 1] == ' ') s.len--;
    if (s.len < 2 || (s.ptr[0] != '=' && s.ptr[0] != '-')) return 0;
    if (run_of(s, s.ptr[0]) != s.len) return 0;
    return s.ptr[0] == '=' ? 1 : 2;
}

/* ---- containers ---- */

/* How many of the open containers this line goes on with. */
static size_t match_containers(const struct markdown *m, struct md_line *l)
{
    size_t n = 0;
    for (; n < m->s.n_containers; n++) {
        const struct md_container *c = &m->s.containers[n];
        count_indent(l);
        if (c->kind == '>') {
            if (l->indent > 3 || is_blank(l) || rest_of(l).ptr[0] != '>') break;
            l->at += l->indent + 1;
            if (l->at < l->all.len && l->all.ptr[l->at] == ' ') l->at++;
        } else if (l->indent >= c->indent) {
            l->at += c->indent;
        } else if (!is_blank(l)) {
            break;
        }
    }
    count_indent(l);
    return n;
}

/* An item in which nothing stands is a mark alone. */
static void show_fresh(struct markdown *m)
{
    size_t n = m->s.n_containers;
    if (n == 0 || !m->s.containers[n - 1].is_fresh || m->s.containers[n - 1].kind == '>') return;
    md_leaf_begin(m, LEAF_PARAGRAPH);
    m->s.leaf = LEAF_NONE;
    md_row_begin(m);
    md_row_end(m);
}

static void close_to(struct markdown *m, size_t n)
{
    if (n >= m->s.n_containers) return;
    md_leaf_end(m);
    show_fresh(m);
    m->s.n_containers = n;
}

struct md_marker {
    char kind;
    unsigned number;
    size_t len;
};

static bool read_marker(struct weir_slice s, struct md_marker *marker)
{
    size_t n = 0;
    marker->number = 0;
    if (s.len > 0 && strchr("-+*", s.ptr[0]) && !is_rule(s)) {
        marker->kind = '-';
        n = 1;
    } else {
        while (n < s.len && n < MARKER_DIGITS && s.ptr[n] >= '0' && s.ptr[n] <= '9')
            marker->number = marker->number * 10 + (unsigned)(s.ptr[n++] - '0');
        marker->kind = '1';
        if (n == 0 || n >= s.len || (s.ptr[n] != '.' && s.ptr[n] != ')')) return false;
        n++;
    }
    marker->len = n;
    return n == s.len || s.ptr[n] == ' ';
}

/* In the middle of a paragraph, only what is surely meant as a list begins one. */
static bool may_interrupt(const struct md_marker *marker, struct weir_slice s)
{
    bool is_empty = run_of(slice_from(s, marker->len), ' ') == s.len - marker->len;
    return !is_empty && (marker->kind == '-' || marker->number == 1);
}

static void push_item(struct markdown *m, struct md_line *l, const struct md_marker *marker)
{
    size_t depth = m->s.n_containers;
    struct md_container *c = &m->s.containers[m->s.n_containers++];
    size_t blanks = run_of(slice_from(rest_of(l), marker->len), ' ');
    size_t rest = rest_of(l).len - marker->len;
    /* Text far behind its marker is code in the item. */
    if (blanks > CODE_COLUMNS || blanks == rest) blanks = rest > 0 ? 1 : 0;
    *c = (struct md_container){.kind = marker->kind, .is_fresh = true, .number = marker->number};
    c->indent = l->indent + (unsigned)marker->len + (blanks > 0 ? (unsigned)blanks : 1);
    if (m->s.list_kind[depth] == c->kind) c->number = m->s.list_number[depth] + 1;
    m->s.list_kind[depth] = c->kind;
    m->s.list_number[depth] = c->number;
    for (size_t i = depth + 1; i < MD_DEPTH; i++) m->s.list_kind[i] = 0;
    l->at += l->indent + marker->len + blanks;
    count_indent(l);
}

static void push_quote(struct markdown *m, struct md_line *l)
{
    m->s.containers[m->s.n_containers++] = (struct md_container){.kind = '>', .is_fresh = true};
    l->at += l->indent + 1;
    if (l->at < l->all.len && l->all.ptr[l->at] == ' ') l->at++;
    count_indent(l);
}

/* Opens what this line opens behind the containers it goes on with; whether it did. */
static bool open_containers(struct markdown *m, struct md_line *l, size_t matched)
{
    bool is_new = false;
    struct md_marker marker = {.len = 0};
    while (!is_blank(l) && l->indent < CODE_COLUMNS && matched < MD_DEPTH) {
        struct weir_slice s = rest_of(l);
        bool is_quote = s.ptr[0] == '>';
        if (!is_quote && !read_marker(s, &marker)) break;
        bool is_within = m->s.leaf == LEAF_PARAGRAPH && matched == m->s.n_containers;
        if (!is_quote && is_within && !may_interrupt(&marker, s)) break;
        close_to(m, matched);
        md_leaf_end(m);
        if (is_quote) push_quote(m, l);
        else push_item(m, l, &marker);
        matched = m->s.n_containers;
        is_new = true;
    }
    return is_new;
}

/* ---- leaves ---- */

static void add_text(struct markdown *m, struct weir_slice text, bool is_partial)
{
    if (m->s.leaf != LEAF_PARAGRAPH) {
        md_leaf_end(m);
        md_leaf_begin(m, LEAF_PARAGRAPH);
    }
    if (m->leaf.len > 0) weir_buf_append_char(&m->leaf, '\n');
    weir_buf_append_slice(&m->leaf, text);
    m->s.is_line_open = is_partial;
}

static void add_heading(struct markdown *m, struct weir_slice text, bool is_partial)
{
    md_leaf_end(m);
    md_leaf_begin(m, LEAF_HEADING);
    m->s.level = heading_level(text);
    text = slice_from(text, m->s.level);
    text = slice_from(text, run_of(text, ' '));
    /* A run of # at the end is ornament. */
    size_t len = text.len;
    while (len > 0 && text.ptr[len - 1] == ' ') len--;
    while (len > 0 && text.ptr[len - 1] == '#') len--;
    if (!is_partial && (len == 0 || text.ptr[len - 1] == ' ')) text.len = len;
    weir_buf_append_slice(&m->leaf, text);
    m->s.is_line_open = is_partial;
    if (!is_partial) md_leaf_end(m);
}

static void open_fence(struct markdown *m, const struct md_line *l)
{
    struct weir_slice s = rest_of(l);
    md_leaf_end(m);
    md_leaf_begin(m, LEAF_FENCE);
    m->s.fence_sign = s.ptr[0];
    m->s.fence_len = (unsigned)fence_len(s);
    m->s.fence_indent = l->indent;
}

/* The code of a line within a fence: without the indentation of the fence. */
static struct weir_slice fenced_code(const struct markdown *m, const struct md_line *l)
{
    unsigned drop = l->indent < m->s.fence_indent ? l->indent : m->s.fence_indent;
    return slice_from(l->all, l->at + drop);
}

static void take_fenced(struct markdown *m, const struct md_line *l)
{
    struct weir_slice s = rest_of(l);
    size_t n = run_of(s, m->s.fence_sign);
    bool is_end = l->indent < CODE_COLUMNS && n >= m->s.fence_len &&
                  n + run_of(slice_from(s, n), ' ') == s.len;
    if (is_end) md_leaf_end(m);
    else md_code_line(m, fenced_code(m, l));
}

/* A line under a single one of a paragraph can make a heading or a table of it. */
static bool turns_paragraph(struct markdown *m, struct weir_slice s)
{
    struct weir_slice above = weir_buf_slice(&m->leaf);
    struct md_table table = {.n_columns = 0};
    struct md_cells cells;
    if (m->s.leaf != LEAF_PARAGRAPH || m->s.is_shown || above.len == 0) return false;
    if (underline_level(s) > 0) {
        m->s.leaf = m->s.before = LEAF_HEADING;
        m->s.level = underline_level(s);
        md_leaf_end(m);
        return true;
    }
    if (memchr(above.ptr, '\n', above.len) || !memchr(above.ptr, '|', above.len)) return false;
    if (!md_is_delimiter(s, &table)) return false;
    md_split_row(above, &cells);
    if (cells.n != table.n_columns) return false;
    m->s.table = table;
    m->s.leaf = m->s.before = LEAF_TABLE;
    weir_buf_append_char(&m->leaf, '\n');
    return true;
}

static bool goes_on_with_table(struct markdown *m, struct weir_slice s, bool is_partial)
{
    if (m->s.leaf != LEAF_TABLE) return false;
    if (is_partial || !memchr(s.ptr, '|', s.len)) return false;
    weir_buf_append_slice(&m->leaf, s);
    weir_buf_append_char(&m->leaf, '\n');
    return true;
}

static void take_blank(struct markdown *m)
{
    md_leaf_end(m);
    m->s.is_blank_due = true;
}

static void take_indented(struct markdown *m, const struct md_line *l)
{
    if (m->s.leaf != LEAF_CODE) {
        md_leaf_end(m);
        md_leaf_begin(m, LEAF_CODE);
    }
    md_code_line(m, slice_from(l->all, l->at + CODE_COLUMNS));
}

/* What can only be known of a whole line. */
static bool take_whole(struct markdown *m, const struct md_line *l)
{
    struct weir_slice s = rest_of(l);
    if (fence_len(s) > 0) {
        open_fence(m, l);
        return true;
    }
    if (turns_paragraph(m, s)) return true;
    if (!is_rule(s)) return false;
    md_leaf_end(m);
    md_rule(m);
    return true;
}

static void take_leaf(struct markdown *m, const struct md_line *l, bool is_partial)
{
    struct weir_slice s = rest_of(l);
    bool is_far = l->indent >= CODE_COLUMNS;
    if (is_blank(l)) take_blank(m);
    else if (goes_on_with_table(m, s, is_partial)) return;
    else if (is_far && m->s.leaf != LEAF_PARAGRAPH && !is_partial) take_indented(m, l);
    else if (!is_far && heading_level(s) > 0) add_heading(m, s, is_partial);
    else if (is_far || is_partial || !take_whole(m, l)) add_text(m, s, is_partial);
}

/* Whether a line can only be text, and so go on with a paragraph it is not inside of. */
static bool is_plain_text(const struct md_line *l)
{
    struct weir_slice s = rest_of(l);
    if (is_blank(l)) return false;
    return l->indent >= CODE_COLUMNS || (heading_level(s) == 0 && fence_len(s) == 0 && !is_rule(s));
}

static void take_line(struct markdown *m, struct weir_slice line, bool is_partial)
{
    struct md_line l = {.all = line};
    size_t matched = match_containers(m, &l);
    if (m->s.leaf == LEAF_FENCE) {
        if (matched == m->s.n_containers) {
            take_fenced(m, &l);
            return;
        }
        md_leaf_end(m);
    }
    bool is_new = open_containers(m, &l, matched);
    if (!is_new && matched < m->s.n_containers) {
        if (m->s.leaf == LEAF_PARAGRAPH && is_plain_text(&l)) {
            add_text(m, rest_of(&l), is_partial);
            return;
        }
        close_to(m, matched);
    }
    /* A mark alone on its line is an item that may still get a text; no blank line. */
    if (!is_new || !is_blank(&l)) take_leaf(m, &l, is_partial);
}

/* ---- sizes ---- */

static size_t hold_bytes(const struct markdown *m)
{
    unsigned rows = m->rows > 2 * ROWS_OF_OTHERS ? m->rows - ROWS_OF_OTHERS : ROWS_OF_OTHERS;
    size_t n = (size_t)rows * m->columns;
    if (n < HOLD_MIN_BYTES) return HOLD_MIN_BYTES;
    return n < MARKDOWN_HOLD_BYTES ? n : MARKDOWN_HOLD_BYTES;
}

static bool is_text_leaf(const struct markdown *m)
{
    return m->s.leaf == LEAF_PARAGRAPH || m->s.leaf == LEAF_HEADING;
}

/* How much is held, and how much may be until something has to be done about it. */
static size_t held_bytes(const struct markdown *m)
{
    return m->line.len + (is_text_leaf(m) ? m->leaf.len : 0);
}

static size_t held_limit(const struct markdown *m)
{
    bool is_row = m->s.leaf == LEAF_TABLE || (m->s.has_pipe && !m->s.is_line_open);
    size_t limit = is_row ? MARKDOWN_HOLD_BYTES : hold_bytes(m);
    return limit > m->s.try_at ? limit : m->s.try_at;
}

/* A part of a line of code that fills rows is shown; the line is then known to be code. */
static bool shrink_code(struct markdown *m)
{
    struct md_line l = {.all = weir_buf_slice(&m->line)};
    struct weir_slice code = l.all;
    if (!m->s.is_line_open) {
        if (match_containers(m, &l) < m->s.n_containers) return false;
        code = fenced_code(m, &l);
    }
    size_t n = md_code_rows(m, code);
    size_t rest = code.len - n;
    memmove(m->line.ptr, code.ptr + n, rest);
    m->line.len = rest;
    m->s.is_line_open = true;
    return true;
}

static void shrink(struct markdown *m)
{
    if (m->s.leaf == LEAF_FENCE && shrink_code(m)) {
        m->s.try_at = m->line.len + HOLD_MIN_BYTES;
        return;
    }
    if (m->line.len > 0) {
        take_line(m, weir_buf_slice(&m->line), true);
        weir_buf_reset(&m->line);
    }
    if (is_text_leaf(m)) md_leaf_shrink(m);
    m->s.try_at = held_bytes(m) + hold_bytes(m) / 2;
}

static void settle(struct markdown *m)
{
    while (held_bytes(m) >= held_limit(m)) shrink(m);
}

/* ---- bytes ---- */

static void end_line(struct markdown *m)
{
    if (!m->s.is_line_open) {
        take_line(m, weir_buf_slice(&m->line), false);
    } else if (m->s.leaf == LEAF_FENCE) {
        md_code_line(m, weir_buf_slice(&m->line));
    } else if (m->s.leaf == LEAF_HEADING) {
        md_leaf_end(m);
    }
    weir_buf_reset(&m->line);
    m->s.is_line_open = false;
    m->s.has_pipe = false;
    if (m->s.leaf == LEAF_FENCE) m->s.try_at = 0;
    if (m->s.leaf == LEAF_TABLE && (m->s.table.is_fixed || m->leaf.len >= MARKDOWN_TABLE_BYTES))
        md_table_rows(m);
    settle(m);
}

/* Where the bytes of the line at hand go. */
static struct weir_buf *line_target(struct markdown *m)
{
    return m->s.is_line_open && m->s.leaf != LEAF_FENCE ? &m->leaf : &m->line;
}

static void add_tab(struct markdown *m)
{
    do weir_buf_append_char(line_target(m), ' ');
    while (line_target(m)->len % TERM_TAB_COLUMNS != 0);
    settle(m);
}

/* Bytes without a line end or tab, in steps that end where a limit is. */
static void add_bytes(struct markdown *m, struct weir_slice s)
{
    while (s.len > 0) {
        size_t room = held_limit(m) - held_bytes(m);
        size_t n = s.len < room ? s.len : room;
        if (memchr(s.ptr, '|', n)) m->s.has_pipe = true;
        weir_buf_append(line_target(m), s.ptr, n);
        s = slice_from(s, n);
        settle(m);
    }
}

static void take_cleaned(struct markdown *m)
{
    struct weir_slice rest = weir_buf_slice(&m->cleaned);
    while (rest.len > 0) {
        size_t n = 0;
        while (n < rest.len && rest.ptr[n] != '\n' && rest.ptr[n] != '\t') n++;
        add_bytes(m, slice_of(rest.ptr, n));
        if (n < rest.len && rest.ptr[n] == '\n') end_line(m);
        if (n < rest.len && rest.ptr[n] == '\t') add_tab(m);
        rest = slice_from(rest, n < rest.len ? n + 1 : n);
    }
    weir_buf_reset(&m->cleaned);
}

static enum weir_status status_of(struct markdown *m)
{
    const struct weir_buf *all[] = {&m->line,      &m->leaf,       &m->cleaned,
                                    &m->text.text, &m->text.looks, &m->inline_work.marks};
    enum weir_status st = m->status;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (weir_buf_status(all[i]) != WEIR_OK) st = weir_buf_status(all[i]);
    m->status = WEIR_OK;
    return st;
}

enum weir_status markdown_feed(struct markdown *m, struct weir_slice text)
{
    while (text.len > 0) {
        size_t n = text.len < FEED_BYTES ? text.len : FEED_BYTES;
        term_clean_feed(&m->s.cleaner, &m->cleaned, slice_of(text.ptr, n));
        take_cleaned(m);
        text = slice_from(text, n);
    }
    return status_of(m);
}

/* Plays what is there to its end. Half a character is not shown while more may come. */
static void play_end(struct markdown *m)
{
    if (!m->is_growing) term_clean_end(&m->s.cleaner, &m->cleaned);
    take_cleaned(m);
    if (m->line.len > 0 || m->s.is_line_open) end_line(m);
    md_leaf_end(m);
    close_to(m, 0);
}

void markdown_drop(struct markdown *m)
{
    m->s = (struct md_state){.leaf = LEAF_NONE};
    weir_buf_reset(&m->line);
    weir_buf_reset(&m->leaf);
    weir_buf_reset(&m->cleaned);
}

enum weir_status markdown_end(struct markdown *m)
{
    play_end(m);
    enum weir_status st = status_of(m);
    markdown_drop(m);
    return st;
}

/* ---- life ---- */

struct markdown *markdown_new(unsigned columns, unsigned rows, markdown_row_fn commit, void *user)
{
    struct markdown *m = mem_zalloc(sizeof *m);
    if (!m) return NULL;
    m->commit = commit;
    m->user = user;
    weir_buf_init(&m->line, MD_LINE_BYTES);
    weir_buf_init(&m->leaf, MD_LINE_BYTES);
    weir_buf_init(&m->cleaned, CLEANED_BYTES);
    weir_buf_init(&m->row, ROW_BYTES);
    term_styled_init(&m->text, MD_LINE_BYTES);
    inline_init(&m->inline_work);
    markdown_resize(m, columns, rows);
    return m;
}

void markdown_free(struct markdown *m)
{
    if (!m) return;
    markdown_free(m->look);
    inline_fini(&m->inline_work);
    term_styled_fini(&m->text);
    weir_buf_fini(&m->row);
    weir_buf_fini(&m->cleaned);
    weir_buf_fini(&m->leaf);
    weir_buf_fini(&m->line);
    mem_free(m);
}

void markdown_resize(struct markdown *m, unsigned columns, unsigned rows)
{
    m->columns = columns > 0 ? columns : 1;
    m->rows = rows;
}

enum weir_status markdown_pending(struct markdown *m, markdown_row_fn row, void *user)
{
    if (!m->look) m->look = markdown_new(m->columns, m->rows, row, user);
    struct markdown *look = m->look;
    if (!look) return WEIR_NOMEM;
    markdown_drop(look);
    markdown_resize(look, m->columns, m->rows);
    look->s = m->s;
    look->commit = row;
    look->user = user;
    look->is_growing = true;
    weir_buf_append_slice(&look->line, weir_buf_slice(&m->line));
    weir_buf_append_slice(&look->leaf, weir_buf_slice(&m->leaf));
    play_end(look);
    return status_of(look);
}
