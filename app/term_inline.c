/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each byte of the source has a mark: its look, whether it is hidden (it is markup), and whether
 * it is inside of something that has a beginning and an end. Emphasis follows the rules of
 * CommonMark for runs of delimiters, with a ceiling on their number; code spans and links are
 * found first, for nothing inside of code is markup. One walk finds the runs, one pairs them.
 */
#include "term_inline.h"

#include <string.h>
#include <utf8proc.h>

#include "base/slice.h"
#include "base/utf8.h"

enum inline_mark {
    MARK_LOOK = 0xFF,
    MARK_HIDDEN = 0x100,
    MARK_INSIDE = 0x200,
    MARK_LITERAL = 0x400, /* code, escapes: no markup */
};

enum {
    RUNS = 256,       /* delimiters that are looked at; more are text */
    TICKS = 32,       /* longest run of backticks that is one */
    LINK_BYTES = 2048 /* longest link, text or address */
};

/* A run of * _ or ~. */
struct run {
    size_t begin;
    size_t len;
    size_t n_left; /* not used up yet; those of an opener are its first, of a closer its last */
    char sign;
    bool can_open, can_close;
};

struct reading {
    const char *in;
    size_t len;
    char *bytes;
    uint16_t *marks;
    size_t no_ticks_from[TICKS]; /* from here on there is no run of this length */
    struct run runs[RUNS];
    size_t n_runs;
    size_t open_ticks; /* where code begins that has no end; len: nowhere */
};

void inline_init(struct inline_work *w)
{
    weir_buf_init(&w->bytes, INLINE_MAX_BYTES);
    weir_buf_init(&w->marks, 2 * INLINE_MAX_BYTES);
}

void inline_fini(struct inline_work *w)
{
    weir_buf_fini(&w->bytes);
    weir_buf_fini(&w->marks);
}

static void mark(struct reading *r, size_t from, size_t to, unsigned bits)
{
    for (size_t i = from; i < to; i++) r->marks[i] = (uint16_t)(r->marks[i] | bits);
}

static size_t run_at(const struct reading *r, size_t at)
{
    size_t n = 1;
    while (at + n < r->len && r->in[at + n] == r->in[at]) n++;
    return n;
}

/* ---- code ---- */

/* Where a run of exactly n backticks begins; len when there is none. */
static size_t find_ticks(struct reading *r, size_t from, size_t n)
{
    if (n >= TICKS || from >= r->no_ticks_from[n]) return r->len;
    for (size_t at = from; at < r->len;) {
        const char *tick = memchr(r->in + at, '`', r->len - at);
        if (!tick) break;
        at = (size_t)(tick - r->in);
        size_t len = run_at(r, at);
        if (len == n) return at;
        at += len;
    }
    r->no_ticks_from[n] = from;
    return r->len;
}

static size_t read_code(struct reading *r, size_t at)
{
    size_t n = run_at(r, at);
    size_t begin = at + n;
    size_t end = find_ticks(r, begin, n);
    if (end == r->len) {
        if (r->open_ticks == r->len && n == 1) r->open_ticks = at;
        return begin;
    }
    mark(r, at, begin, MARK_HIDDEN);
    mark(r, begin, end, TERM_CODE | MARK_LITERAL);
    mark(r, end, end + n, MARK_HIDDEN);
    mark(r, at, end + n - 1, MARK_INSIDE);
    /* A blank at both ends is only there to keep backticks apart. */
    if (end - begin > 2 && r->in[begin] == ' ' && r->in[end - 1] == ' ') {
        mark(r, begin, begin + 1, MARK_HIDDEN);
        mark(r, end - 1, end, MARK_HIDDEN);
    }
    return end + n;
}

/* ---- links ---- */

/* Where the bracket that closes the one at `at` stands; len when there is none. */
static size_t closing(const struct reading *r, size_t at, char open, char close)
{
    size_t end = r->len - at < LINK_BYTES ? r->len : at + LINK_BYTES;
    unsigned depth = 0;
    for (size_t i = at; i < end; i++) {
        if (r->in[i] == '\\' && i + 1 < end) i++;
        else if (r->in[i] == open) depth++;
        else if (r->in[i] == close && --depth == 0) return i;
    }
    return r->len;
}

/* [text](address "title"): the text, then the address in parentheses unless it is the same. */
static size_t read_link(struct reading *r, size_t at)
{
    size_t bracket = closing(r, at, '[', ']');
    if (bracket == r->len || bracket + 1 >= r->len || r->in[bracket + 1] != '(') return at + 1;
    size_t end = closing(r, bracket + 1, '(', ')');
    if (end == r->len) return at + 1;
    size_t from = bracket + 2;
    size_t to = from;
    while (to < end && r->in[to] != ' ' && r->in[to] != '\n') to++;
    mark(r, at, at + 1, MARK_HIDDEN);
    mark(r, at + 1, bracket, TERM_LINK);
    mark(r, at, end, MARK_INSIDE);
    mark(r, bracket, end + 1, MARK_LITERAL);
    bool is_same =
        to - from == bracket - at - 1 && memcmp(r->in + from, r->in + at + 1, to - from) == 0;
    if (is_same || to == from) {
        mark(r, bracket, end + 1, MARK_HIDDEN);
        return at + 1;
    }
    memcpy(r->bytes + bracket, " (", 2);
    mark(r, bracket + 1, end + 1, TERM_DIM);
    mark(r, to, end, MARK_HIDDEN);
    return at + 1;
}

/* <https://...>: without the brackets. */
static size_t read_address(struct reading *r, size_t at)
{
    size_t end = at + 1;
    while (end < r->len && end - at < LINK_BYTES && !strchr(" \n<>", r->in[end])) end++;
    struct weir_slice inner = slice_of(r->in + at + 1, end - at - 1);
    bool is_address = end < r->len && r->in[end] == '>' && memmem(inner.ptr, inner.len, "://", 3);
    if (!is_address) return at + 1;
    mark(r, at, at + 1, MARK_HIDDEN);
    mark(r, at + 1, end, TERM_LINK | MARK_LITERAL);
    mark(r, end, end + 1, MARK_HIDDEN);
    mark(r, at, end, MARK_INSIDE);
    return end + 1;
}

/* ---- emphasis: finding runs ---- */

enum side { SIDE_BLANK, SIDE_SIGN, SIDE_LETTER };

static enum side side_of(utf8proc_int32_t c)
{
    if (c < 0 || c == ' ' || c == '\n') return SIDE_BLANK;
    utf8proc_category_t category = utf8proc_category(c);
    if (category == UTF8PROC_CATEGORY_ZS) return SIDE_BLANK;
    bool is_sign = category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_SO;
    return is_sign ? SIDE_SIGN : SIDE_LETTER;
}

static enum side side_before(const struct reading *r, size_t at)
{
    utf8proc_int32_t c = -1;
    size_t begin = at;
    if (at == 0) return SIDE_BLANK;
    do begin--;
    while (begin > 0 && at - begin < UTF8_MAX_BYTES &&
           ((unsigned char)r->in[begin] & 0xC0) == 0x80);
    utf8proc_iterate((const utf8proc_uint8_t *)r->in + begin, (utf8proc_ssize_t)(at - begin), &c);
    return side_of(c);
}

static enum side side_after(const struct reading *r, size_t at)
{
    utf8proc_int32_t c = -1;
    if (at >= r->len) return SIDE_BLANK;
    utf8proc_iterate((const utf8proc_uint8_t *)r->in + at, (utf8proc_ssize_t)(r->len - at), &c);
    return side_of(c);
}

/* CommonMark's left- and right-flanking; _ does nothing within a word. */
static void find_sides(struct run *run, enum side before, enum side after)
{
    bool is_left = after == SIDE_LETTER || (after == SIDE_SIGN && before != SIDE_LETTER);
    bool is_right = before == SIDE_LETTER || (before == SIDE_SIGN && after != SIDE_LETTER);
    bool is_word = run->sign == '_';
    run->can_open = is_left && (!is_word || !is_right || before == SIDE_SIGN);
    run->can_close = is_right && (!is_word || !is_left || after == SIDE_SIGN);
}

static size_t read_run(struct reading *r, size_t at)
{
    size_t n = run_at(r, at);
    char sign = r->in[at];
    if (r->n_runs == RUNS || (sign == '~' && n != 2)) return at + n;
    struct run run = {.begin = at, .len = n, .n_left = n, .sign = sign};
    find_sides(&run, side_before(r, at), side_after(r, at + n));
    if (run.can_open || run.can_close) r->runs[r->n_runs++] = run;
    return at + n;
}

/* ---- emphasis: pairing runs ---- */

static bool is_pair(const struct run *open, const struct run *close)
{
    if (open->sign != close->sign || !open->can_open || open->n_left == 0) return false;
    /* The rule of three of CommonMark: *a**b* is no pair of the inner two. */
    bool is_both = open->can_close || close->can_open;
    bool is_odd = (open->len + close->len) % 3 == 0 && (open->len % 3 != 0 || close->len % 3 != 0);
    return !(is_both && is_odd);
}

static unsigned look_of(char sign, size_t n)
{
    if (sign == '~') return TERM_STRIKE;
    return n == 2 ? TERM_BOLD : TERM_ITALIC;
}

/* Uses up the last delimiters of an opener and the first that are left of a closer. */
static void join(struct reading *r, struct run *open, struct run *close)
{
    size_t n = open->n_left >= 2 && close->n_left >= 2 ? 2 : 1;
    size_t from = open->begin + open->n_left;
    size_t to = close->begin + close->len - close->n_left;
    mark(r, from - n, from, MARK_HIDDEN);
    mark(r, to, to + n, MARK_HIDDEN);
    mark(r, from, to, look_of(open->sign, n));
    mark(r, from - n, to + n - 1, MARK_INSIDE);
    open->n_left -= n;
    close->n_left -= n;
}

static void pair_runs(struct reading *r)
{
    for (size_t i = 0; i < r->n_runs; i++) {
        struct run *close = &r->runs[i];
        size_t k = i;
        while (close->can_close && close->n_left > 0 && k-- > 0) {
            if (!is_pair(&r->runs[k], close)) continue;
            join(r, &r->runs[k], close);
            /* What stood between the two cannot reach out of them. */
            for (size_t j = k + 1; j < i; j++) r->runs[j].n_left = 0;
            k++;
        }
    }
}

/* What has begun and may still end: it is inside to the end, and shown so while text grows. */
static void leave_open(struct reading *r, bool is_growing)
{
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct run *open = &r->runs[i];
        if (!open->can_open || open->n_left == 0) continue;
        size_t n = open->n_left >= 2 ? 2 : 1;
        size_t from = open->begin + open->n_left;
        mark(r, from - n, r->len, MARK_INSIDE);
        if (!is_growing) continue;
        mark(r, from - n, from, MARK_HIDDEN);
        mark(r, from, r->len, look_of(open->sign, n));
    }
    if (r->open_ticks == r->len) return;
    mark(r, r->open_ticks, r->len, MARK_INSIDE);
    if (!is_growing) return;
    mark(r, r->open_ticks, r->open_ticks + 1, MARK_HIDDEN);
    mark(r, r->open_ticks + 1, r->len, TERM_CODE);
}

/* ---- the walk ---- */

static bool is_ascii_sign(char c)
{
    return c != '\0' && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) != NULL;
}

static size_t read_escape(struct reading *r, size_t at)
{
    if (at + 1 >= r->len || !(is_ascii_sign(r->in[at + 1]) || r->in[at + 1] == '\n')) return at + 1;
    mark(r, at, at + 1, MARK_HIDDEN);
    if (r->in[at + 1] == '\n') return at + 1;
    mark(r, at + 1, at + 2, MARK_LITERAL);
    return at + 2;
}

/* Blanks around a line end vanish; two before it, or a backslash, make it a hard one. */
static size_t read_line_end(struct reading *r, size_t at)
{
    size_t begin = at;
    while (begin > 0 && r->in[begin - 1] == ' ') begin--;
    bool is_hard = at - begin >= 2 || (begin > 0 && begin == at && r->in[at - 1] == '\\');
    mark(r, begin, at, MARK_HIDDEN);
    if (!is_hard) r->bytes[at] = ' ';
    size_t end = at + 1;
    while (end < r->len && r->in[end] == ' ') end++;
    mark(r, at + 1, end, MARK_HIDDEN);
    return end;
}

static size_t read_next(struct reading *r, size_t at)
{
    if (r->in[at] == '\n') return read_line_end(r, at);
    if (r->marks[at] & MARK_LITERAL) return at + 1;
    switch (r->in[at]) {
    case '\\': return read_escape(r, at);
    case '`': return read_code(r, at);
    case '[': return read_link(r, at);
    case '<': return read_address(r, at);
    case '*':
    case '_':
    case '~': return read_run(r, at);
    default: return at + 1;
    }
}

static void show(const struct reading *r, struct term_styled *out)
{
    for (size_t i = 0; i < r->len;) {
        size_t end = i + 1;
        while (end < r->len && r->marks[end] == r->marks[i]) end++;
        if (!(r->marks[i] & MARK_HIDDEN))
            term_styled_add(out, slice_of(r->bytes + i, end - i), r->marks[i] & MARK_LOOK);
        i = end;
    }
}

static bool make_room(struct inline_work *w, struct weir_slice source)
{
    weir_buf_reset(&w->bytes);
    weir_buf_reset(&w->marks);
    weir_buf_append_slice(&w->bytes, source);
    /* Twice as many bytes, whichever: each becomes a mark. */
    weir_buf_append_slice(&w->marks, source);
    weir_buf_append_slice(&w->marks, source);
    return weir_buf_status(&w->marks) == WEIR_OK && weir_buf_status(&w->bytes) == WEIR_OK;
}

void inline_read(struct inline_work *w, struct weir_slice source, struct inline_options options,
                 struct term_styled *out)
{
    struct reading r = {.in = source.ptr, .len = source.len, .open_ticks = source.len};
    if (source.len == 0 || !make_room(w, source)) return;
    r.bytes = w->bytes.ptr;
    r.marks = (uint16_t *)(void *)w->marks.ptr;
    for (size_t i = 0; i < r.len; i++) r.marks[i] = (uint16_t)options.look;
    for (size_t i = 0; i < TICKS; i++) r.no_ticks_from[i] = r.len;
    for (size_t at = 0; at < r.len;) at = read_next(&r, at);
    pair_runs(&r);
    leave_open(&r, options.is_growing);
    show(&r, out);
}

size_t inline_source(const struct inline_work *w, size_t n, bool *is_inside)
{
    const uint16_t *marks = (const uint16_t *)(const void *)w->marks.ptr;
    size_t at = 0;
    *is_inside = false;
    for (; at < w->bytes.len; at++) {
        if (marks[at] & MARK_HIDDEN) continue;
        if (n-- == 0) break;
    }
    /* Markup before it may be of what ends there, or of what begins here. */
    for (size_t p = at; p > 0; p--) {
        if (!(marks[p - 1] & MARK_INSIDE)) return p;
        if (!(marks[p - 1] & MARK_HIDDEN)) break;
    }
    *is_inside = at > 0;
    return at;
}
