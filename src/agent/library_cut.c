/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text in passages of a size that is worth to be shown: at headings and between paragraphs where
 * that is possible, else between lines, sentences, words, and never inside of a character or a
 * placeholder.
 */
#include <string.h>

#include "agent/library_impl.h"
#include "base/slice.h"

void cutter_init(struct cutter *c, struct weir_slice text, bool is_markdown)
{
    *c = (struct cutter){.rest = text, .is_markdown = is_markdown};
}

/* ---- Markdown ---- */

static struct weir_slice line_at(struct weir_slice text, size_t at)
{
    const char *end = memchr(text.ptr + at, '\n', text.len - at);
    return slice_of(text.ptr + at, end ? (size_t)(end - text.ptr) - at : text.len - at);
}

static struct weir_slice trimmed(struct weir_slice s)
{
    while (s.len > 0 && memchr(" \t\r", s.ptr[0], 3)) s = slice_from(s, 1);
    while (s.len > 0 && memchr(" \t\r", s.ptr[s.len - 1], 3)) s.len--;
    return s;
}

unsigned cut_heading(struct weir_slice line, struct weir_slice *text)
{
    size_t n = 0;
    while (n < line.len && line.ptr[n] == '#') n++;
    if (n == 0 || n > 6 || (n < line.len && !memchr(" \t\r", line.ptr[n], 3))) return 0;
    *text = trimmed(slice_from(line, n));
    while (text->len > 0 && text->ptr[text->len - 1] == '#') text->len--;
    *text = trimmed(*text);
    return (unsigned)n;
}

/* A line of three ` or ~ opens a block of code, in which there are no headings, and closes it. */
static void look_for_fence(struct cutter *c, struct weir_slice line)
{
    line = trimmed(line);
    if (line.len < 3 || (line.ptr[0] != '`' && line.ptr[0] != '~')) return;
    if (line.ptr[1] != line.ptr[0] || line.ptr[2] != line.ptr[0]) return;
    if (c->fence == 0) c->fence = line.ptr[0];
    else if (c->fence == line.ptr[0]) c->fence = 0;
}

static void note_heading(struct cutter *c, unsigned level, struct weir_slice text)
{
    if (level > CUT_LEVELS) return;
    c->headings[level - 1] = slice_of(text.ptr, token_cut(text, CUT_HEADING_BYTES));
    for (size_t i = level; i < CUT_LEVELS; i++) c->headings[i] = (struct weir_slice){0};
}

static void put_headings(const struct cutter *c, struct weir_buf *out)
{
    for (size_t i = 0; i < CUT_LEVELS; i++) {
        if (c->headings[i].len == 0) continue;
        if (out->len > 0) weir_buf_append_str(out, " › ");
        weir_buf_append_slice(out, c->headings[i]);
    }
}

/* ---- where to cut ---- */

/* The end of the last `mark` in the window, at CUT_LEAST_BYTES or behind; 0: there is none. */
static size_t last_behind(struct weir_slice window, const char *mark)
{
    size_t len = strlen(mark);
    for (size_t end = window.len; end >= CUT_LEAST_BYTES && end >= len; end--)
        if (memcmp(window.ptr + end - len, mark, len) == 0) return end;
    return 0;
}

static size_t cut_soft(struct weir_slice rest)
{
    static const char *const marks[] = {"\n\n", "\n", ". ", "。", " "};
    struct weir_slice window = {rest.ptr, CUT_MOST_BYTES};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t end = last_behind(window, marks[i]);
        if (end > 0) return end;
    }
    return token_cut(rest, CUT_MOST_BYTES);
}

/*
 * Where the next heading begins another passage; 0: nowhere. Headings are noted on the way; above
 * the passage is what stands there at its first line, which may be one itself.
 */
static size_t walk_headings(struct cutter *c, size_t most, struct weir_buf *above)
{
    struct weir_slice line, text;
    for (size_t at = 0; at < most; at += line.len + 1) {
        line = line_at(c->rest, at);
        unsigned level = c->fence == 0 ? cut_heading(line, &text) : 0;
        if (level > 0 && at >= CUT_LEAST_BYTES) return at;
        if (level > 0) note_heading(c, level, text);
        if (at == 0) put_headings(c, above);
        look_for_fence(c, line);
    }
    return 0;
}

bool cutter_next(struct cutter *c, struct weir_slice *passage, struct weir_buf *headings)
{
    weir_buf_reset(headings);
    if (c->rest.len == 0) return false;
    size_t end = c->rest.len <= CUT_MOST_BYTES ? c->rest.len : cut_soft(c->rest);
    if (c->is_markdown) {
        size_t at_heading = walk_headings(c, end, headings);
        if (at_heading > 0) end = at_heading;
    }
    *passage = slice_of(c->rest.ptr, end);
    c->rest = slice_from(c->rest, end);
    return true;
}
