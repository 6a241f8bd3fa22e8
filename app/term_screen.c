/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor rests at the beginning of the region's last row, or where somebody types; while it is
 * moved for drawing it is hidden. Within the region it is moved by counting rows; a line end, not a
 * movement, makes the region longer, for only that scrolls.
 *
 * A line is erased before it is written, for behind the last column an erasure would take the last
 * character with it. Rows of the region are written without wrapping: should the terminal think a
 * character wider than we do, the row is cut and the counting stays right.
 */
#include "term_screen.h"

#include <string.h>

#include "base/slice.h"
#include "term_style.h"

enum { FRAME_BYTES = 8 << 20 };

static const char begin_update[] = "\033[?2026h";
static const char end_update[] = "\033[?2026l";
static const char hide_cursor[] = "\033[?25l";
static const char show_cursor[] = "\033[?25h";
static const char erase_line[] = "\r\033[K";
/* From the second column on: some terminals keep a screen that is erased from its first place. */
static const char erase_below[] = "\r\033[K\033[C\033[J\r";

static void rows_reset(struct screen_rows *r)
{
    weir_buf_reset(&r->bytes);
    r->n = 0;
    r->cursor = (struct screen_cursor){.is_shown = false};
}

void screen_init(struct screen *s, unsigned columns, unsigned rows)
{
    *s = (struct screen){.columns = columns, .rows = rows};
    weir_buf_init(&s->committed, FRAME_BYTES);
    weir_buf_init(&s->frame, FRAME_BYTES);
    weir_buf_init(&s->shown.bytes, FRAME_BYTES);
    weir_buf_init(&s->next.bytes, FRAME_BYTES);
}

void screen_fini(struct screen *s)
{
    weir_buf_fini(&s->next.bytes);
    weir_buf_fini(&s->shown.bytes);
    weir_buf_fini(&s->frame);
    weir_buf_fini(&s->committed);
}

/* In which row of a region the cursor is. */
static size_t cursor_row(const struct screen_rows *r)
{
    size_t up = r->cursor.is_shown ? r->cursor.up : 0;
    return up < r->n ? r->n - 1 - up : 0;
}

/*
 * Terminals wrap what no longer fits: a row of the region may have become several, and the cursor
 * is where its row begins, or in that part of it where its column is now.
 */
void screen_resize(struct screen *s, unsigned columns, unsigned rows)
{
    s->columns = columns > 0 ? columns : 1;
    s->rows = rows;
    s->cursor = 0;
    for (size_t i = 0; i < cursor_row(&s->shown); i++) {
        unsigned width = s->shown.rows[i].width;
        s->cursor += width > s->columns ? (width + s->columns - 1) / s->columns : 1;
    }
    if (s->shown.cursor.is_shown) s->cursor += s->shown.cursor.column / s->columns;
    if (rows > 0 && s->cursor > rows - 1) s->cursor = rows - 1;
    s->is_dirty = true;
}

void screen_commit(struct screen *s, struct weir_slice row)
{
    weir_buf_append_str(&s->committed, erase_line);
    weir_buf_append_slice(&s->committed, row);
    weir_buf_append_str(&s->committed, "\r\n");
}

void screen_live_begin(struct screen *s)
{
    rows_reset(&s->next);
}

void screen_live_row(struct screen *s, struct weir_slice row)
{
    struct screen_rows *r = &s->next;
    if (r->n == SCREEN_LIVE_ROWS) {
        memmove(r->rows, r->rows + 1, (SCREEN_LIVE_ROWS - 1) * sizeof *r->rows);
        r->n--;
    }
    struct screen_row next = {r->bytes.len, row.len, term_row_width(row)};
    weir_buf_append_slice(&r->bytes, row);
    if (weir_buf_status(&r->bytes) == WEIR_OK) r->rows[r->n++] = next;
}

void screen_live_cursor(struct screen *s, size_t up, unsigned column)
{
    if (column >= s->columns) column = s->columns - 1;
    s->next.cursor = (struct screen_cursor){true, up, column};
}

/* ---- frames ---- */

static struct weir_slice row_of(const struct screen_rows *r, size_t i)
{
    return slice_of(r->bytes.ptr + r->rows[i].begin, r->rows[i].len);
}

static void move_to(struct screen *s, size_t row)
{
    if (row < s->cursor) weir_buf_printf(&s->frame, "\033[%zuA", s->cursor - row);
    if (row > s->cursor) weir_buf_printf(&s->frame, "\033[%zuB", row - s->cursor);
    s->cursor = row;
}

static void put_row(struct screen *s, size_t i)
{
    weir_buf_append_str(&s->frame, erase_line);
    weir_buf_append_slice(&s->frame, row_of(&s->next, i));
}

/* What was committed in place of the region, then all of it again. */
static void draw_all(struct screen *s)
{
    move_to(s, 0);
    weir_buf_append_slice(&s->frame, weir_buf_slice(&s->committed));
    weir_buf_append_str(&s->frame, erase_below);
    weir_buf_append_str(&s->frame, "\033[?7l");
    for (size_t i = 0; i < s->next.n; i++) {
        if (i > 0) weir_buf_append_str(&s->frame, "\r\n");
        weir_buf_append_slice(&s->frame, row_of(&s->next, i));
    }
    weir_buf_append_str(&s->frame, "\r\033[?7h");
    s->cursor = s->next.n > 0 ? s->next.n - 1 : 0;
}

static bool is_same_row(const struct screen *s, size_t i)
{
    return i < s->shown.n && slice_eq(row_of(&s->shown, i), row_of(&s->next, i));
}

static bool has_change(const struct screen *s)
{
    const struct screen_cursor *was = &s->shown.cursor;
    const struct screen_cursor *is = &s->next.cursor;
    if (s->next.n != s->shown.n || was->is_shown != is->is_shown) return true;
    if (was->up != is->up || was->column != is->column) return true;
    for (size_t i = 0; i < s->next.n; i++)
        if (!is_same_row(s, i)) return true;
    return false;
}

/* Only the rows that differ; the region has as many as before, or more. */
static void draw_changes(struct screen *s)
{
    weir_buf_append_str(&s->frame, "\033[?7l");
    for (size_t i = 0; i < s->next.n; i++) {
        if (is_same_row(s, i)) continue;
        if (i < s->shown.n || i == 0) {
            move_to(s, i);
        } else {
            move_to(s, i - 1);
            weir_buf_append_str(&s->frame, "\r\n");
            s->cursor = i;
        }
        put_row(s, i);
    }
    if (s->next.n > 0) move_to(s, s->next.n - 1);
    weir_buf_append_str(&s->frame, "\r\033[?7h");
}

/* The last rows are kept where there are too many. */
static void fit_region(struct screen *s)
{
    size_t most = s->rows > 2 ? s->rows - 1 : 1;
    if (s->next.n <= most) return;
    memmove(s->next.rows, s->next.rows + (s->next.n - most), most * sizeof *s->next.rows);
    s->next.n = most;
}

/* Room that a large frame took is given back, and lack of memory costs one frame only. */
static void forget_failures(struct screen *s)
{
    struct weir_buf *all[] = {&s->committed, &s->frame, &s->shown.bytes, &s->next.bytes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (weir_buf_status(all[i]) != WEIR_OK) weir_buf_reset(all[i]);
}

static void place_cursor(struct screen *s)
{
    const struct screen_cursor *c = &s->next.cursor;
    if (!c->is_shown) return;
    move_to(s, cursor_row(&s->next));
    if (c->column > 0) weir_buf_printf(&s->frame, "\033[%uC", c->column);
    weir_buf_append_str(&s->frame, show_cursor);
}

struct weir_slice screen_frame(struct screen *s)
{
    fit_region(s);
    weir_buf_reset(&s->frame);
    bool is_whole = s->is_dirty || s->committed.len > 0 || s->next.n < s->shown.n;
    if (!is_whole && !has_change(s)) return (struct weir_slice){0};
    weir_buf_append_str(&s->frame, begin_update);
    if (s->shown.cursor.is_shown) weir_buf_append_str(&s->frame, hide_cursor);
    if (is_whole) draw_all(s);
    else draw_changes(s);
    place_cursor(s);
    weir_buf_append_str(&s->frame, end_update);
    weir_buf_reset(&s->committed);
    s->is_dirty = false;
    struct screen_rows shown = s->shown;
    s->shown = s->next;
    s->next = shown;
    rows_reset(&s->next);
    forget_failures(s);
    s->n_bytes += s->frame.len;
    return weir_buf_slice(&s->frame);
}

struct weir_slice screen_leave(struct screen *s)
{
    weir_buf_reset(&s->frame);
    if (s->shown.cursor.is_shown) weir_buf_append_str(&s->frame, hide_cursor);
    if (s->shown.n > 0) {
        move_to(s, 0);
        weir_buf_append_str(&s->frame, erase_below);
    }
    rows_reset(&s->shown);
    s->cursor = 0;
    s->is_dirty = true;
    s->n_bytes += s->frame.len;
    return weir_buf_slice(&s->frame);
}
