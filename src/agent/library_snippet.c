/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snippets: a window of a text with as much as possible of what was found, on one line, with the
 * values in place of placeholders. Places are in code points of what comes out.
 */
#include <string.h>

#include "agent/library_impl.h"
#include "base/slice.h"

enum {
    SNIPPET_BYTES = 8 << 20, /* values may be long */
    LEAD_POINTS = 40,        /* in front of what was found */
};

void snippet_init(struct snippet *s)
{
    weir_buf_init(&s->text, SNIPPET_BYTES);
    s->n = 0;
}

void snippet_fini(struct snippet *s)
{
    weir_buf_fini(&s->text);
}

static bool is_start(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* ---- the window ---- */

/* So many code points further, or back. */
static size_t forward(struct weir_slice text, size_t at, size_t n)
{
    while (at < text.len && n > 0) {
        at++;
        if (at == text.len || is_start(text.ptr[at])) n--;
    }
    return at;
}

static size_t backward(struct weir_slice text, size_t at, size_t n)
{
    for (; at > 0 && n > 0; n--) do
            at--;
        while (at > 0 && !is_start(text.ptr[at]));
    return at;
}

/* The first found thing of the window that has the most of them. */
static size_t best_start(const struct snippet_wish *w)
{
    size_t best = w->n_ranges > 0 ? w->ranges[0].start : 0;
    size_t most = 0;
    for (size_t i = 0; i < w->n_ranges; i++) {
        size_t end = forward(w->text, w->ranges[i].start, w->n_points);
        size_t n = 0;
        while (i + n < w->n_ranges && w->ranges[i + n].end <= end) n++;
        if (n > most) {
            most = n;
            best = w->ranges[i].start;
        }
    }
    return best;
}

/* The placeholder that a text begins with, with its brackets; 0: it is none. */
static size_t token_at(const struct token_map *tokens, struct weir_slice text,
                       struct weir_slice *value)
{
    size_t most = text.len < TOKEN_MAX_BYTES ? text.len : TOKEN_MAX_BYTES;
    if (!tokens || text.len == 0 || text.ptr[0] != '[') return 0;
    const char *end = memchr(text.ptr, ']', most);
    if (!end) return 0;
    size_t len = (size_t)(end - text.ptr) + 1;
    return token_map_value(tokens, slice_of(text.ptr + 1, len - 2), value) ? len : 0;
}

/* The placeholder that has this place inside of it; or nothing, at the place. */
static struct passage_range token_around(const struct snippet_wish *w, size_t at)
{
    struct weir_slice value;
    for (size_t i = 1; i < TOKEN_MAX_BYTES && i <= at; i++) {
        if (w->text.ptr[at - i] != '[') continue;
        size_t len = token_at(w->tokens, slice_from(w->text, at - i), &value);
        if (len > i) return (struct passage_range){at - i, at - i + len};
        break;
    }
    return (struct passage_range){at, at};
}

/* The place behind the next blank, or this one when there is none up to `end`. */
static size_t behind_blank(struct weir_slice text, size_t at, size_t end)
{
    for (size_t i = at; i > 0 && i < end; i++)
        if (is_blank(text.ptr[i - 1])) return i;
    return at;
}

/* The blank in front, if one is near. */
static size_t before_blank(struct weir_slice text, size_t at, size_t least)
{
    for (size_t i = at; i > least && at - i < LEAD_POINTS && at < text.len; i--)
        if (is_blank(text.ptr[i])) return i;
    return at;
}

static struct passage_range window_of(const struct snippet_wish *w)
{
    if (forward(w->text, 0, w->n_points) == w->text.len)
        return (struct passage_range){0, w->text.len};
    size_t found = best_start(w);
    size_t lead = w->n_points / 4 < LEAD_POINTS ? w->n_points / 4 : LEAD_POINTS;
    size_t start = behind_blank(w->text, backward(w->text, found, lead), found);
    start = token_around(w, start).start;
    size_t end = forward(w->text, start, w->n_points);
    end = token_around(w, before_blank(w->text, end, found)).end;
    return (struct passage_range){start, end};
}

/* ---- writing ---- */

struct writing {
    struct snippet *s;
    const struct snippet_wish *w;
    size_t at;      /* in the text */
    size_t n_out;   /* code points so far */
    size_t i_range; /* the first that has not ended */
    bool is_open;   /* it has begun */
    bool is_space;  /* the last sign was one, or none was written */
};

static void put(struct writing *w, struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool is_blank_now = is_blank(text.ptr[i]);
        if (is_blank_now && w->is_space) continue;
        weir_buf_append_char(&w->s->text, is_blank_now ? ' ' : text.ptr[i]);
        w->n_out += is_start(text.ptr[i]);
        w->is_space = is_blank_now;
    }
}

/* Opens what begins in front of `end`; one that joins another is part of it. */
static void open_ranges(struct writing *w, size_t end)
{
    if (w->is_open || w->i_range == w->w->n_ranges) return;
    if (w->w->ranges[w->i_range].start >= end) return;
    w->is_open = true;
    w->s->points[w->s->n].start = w->n_out;
}

static void close_ranges(struct writing *w, size_t end)
{
    bool has_ended = false;
    while (w->i_range < w->w->n_ranges && w->w->ranges[w->i_range].end <= end) {
        w->i_range++;
        has_ended = true;
    }
    if (!has_ended || !w->is_open) return;
    w->is_open = false;
    w->s->points[w->s->n].end = w->n_out;
    w->s->n += w->n_out > w->s->points[w->s->n].start;
}

/* A character, or a placeholder, with what begins and ends in it. */
static void step(struct writing *w, size_t end)
{
    struct weir_slice rest = slice_of(w->w->text.ptr + w->at, end - w->at);
    struct weir_slice shown;
    size_t len = token_at(w->w->tokens, rest, &shown);
    if (len == 0) {
        len = 1;
        while (len < rest.len && !is_start(rest.ptr[len])) len++;
        shown = slice_of(rest.ptr, len);
    }
    open_ranges(w, w->at + len);
    put(w, shown);
    w->at += len;
    close_ranges(w, w->at);
}

enum weir_status snippet_make(struct snippet *s, const struct snippet_wish *wish)
{
    struct passage_range window = window_of(wish);
    struct writing w = {.s = s, .w = wish, .at = window.start, .is_space = true};
    weir_buf_reset(&s->text);
    s->n = 0;
    while (w.i_range < wish->n_ranges && wish->ranges[w.i_range].start < window.start) w.i_range++;
    if (window.start > 0) {
        weir_buf_append_str(&s->text, "…");
        w.n_out = 1;
    }
    while (w.at < window.end) step(&w, window.end);
    close_ranges(&w, SIZE_MAX);
    if (s->text.len > 0 && s->text.ptr[s->text.len - 1] == ' ') s->text.len--;
    if (window.end < wish->text.len) weir_buf_append_str(&s->text, "…");
    return weir_buf_status(&s->text);
}
