/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are cut where they are full, not between words, so that a character typed moves nothing
 * above it and the cursor is where its cluster is.
 */
#include "line_rows.h"

#include "base/slice.h"
#include "term_style.h"
#include "term_text.h"

enum { SIGN_COLUMNS = 2, ROW_BYTES = 16 << 10, TEXT_BYTES = 1 << 20 };

static const char sign[] = "› ";
static const char indent[] = "  ";

struct row {
    size_t begin, len;
    size_t next; /* where the row behind it begins */
};

/* The row of a cleaned text that begins here; at least one cluster, if there is any. */
static struct row row_at(struct weir_slice text, size_t begin, unsigned columns)
{
    struct row row = {begin, 0, begin};
    unsigned width = 0;
    while (row.next < text.len && text.ptr[row.next] != '\n') {
        struct term_cluster cluster = term_first(slice_from(text, row.next));
        width += cluster.width;
        if (width > columns && row.len > 0) return row;
        row.len += cluster.len;
        row.next += cluster.len;
    }
    if (row.next < text.len) row.next++;
    return row;
}

static bool is_last(struct weir_slice text, const struct row *row, unsigned columns)
{
    if (row->next < text.len) return false;
    bool has_line_end = row->begin + row->len < text.len;
    unsigned width = term_width(slice_of(text.ptr + row->begin, row->len));
    return !has_line_end && width < columns;
}

static void put_row(struct weir_buf *out, struct weir_slice text, const struct row *row,
                    bool is_first)
{
    weir_buf_reset(out);
    term_put(out, weir_slice_of(is_first ? sign : indent), TERM_BOLD);
    for (size_t i = row->begin; i < row->begin + row->len; i++) {
        if (text.ptr[i] == '\t') weir_buf_append_str(out, "    ");
        else weir_buf_append_char(out, text.ptr[i]);
    }
}

static unsigned text_columns(const struct screen *screen)
{
    return screen->columns > SIGN_COLUMNS + 2 ? screen->columns - SIGN_COLUMNS : 2;
}

static void clean(struct weir_buf *out, struct weir_slice text)
{
    struct term_cleaner cleaner = {.n_held = 0};
    term_clean_feed(&cleaner, out, text);
    term_clean_end(&cleaner, out);
}

/* Which rows are shown, and where among all the cursor is. */
struct window {
    size_t n_rows;
    size_t cursor_row;
    unsigned cursor_column;
    size_t first;
};

/* The cursor behind a full row stands before the next one, which there always is. */
static struct window measure(struct weir_slice text, size_t cursor, unsigned columns)
{
    struct window w = {0};
    for (size_t at = 0;; w.n_rows++) {
        struct row row = row_at(text, at, columns);
        bool is_end = is_last(text, &row, columns);
        if (cursor >= at && (cursor < row.next || is_end)) {
            w.cursor_row = w.n_rows;
            w.cursor_column = term_width(slice_of(text.ptr + at, cursor - at));
        }
        if (is_end) break;
        at = row.next;
    }
    w.n_rows++;
    return w;
}

void line_rows_live(const struct line_editor *e, struct screen *screen, size_t most, size_t below)
{
    struct weir_buf text;
    struct weir_buf row_text;
    struct weir_slice raw = line_editor_text(e);
    unsigned columns = text_columns(screen);
    weir_buf_init(&text, TEXT_BYTES);
    weir_buf_init(&row_text, ROW_BYTES);
    clean(&text, slice_of(raw.ptr, line_editor_cursor(e)));
    size_t cursor = text.len;
    clean(&text, slice_from(raw, line_editor_cursor(e)));
    struct weir_slice all = weir_buf_slice(&text);
    struct window w = measure(all, cursor, columns);
    if (most == 0) most = 1;
    w.first = w.cursor_row >= most ? w.cursor_row - most + 1 : 0;
    size_t end = w.first + most < w.n_rows ? w.first + most : w.n_rows;
    for (size_t at = 0, i = 0; i < end; i++) {
        struct row row = row_at(all, at, columns);
        put_row(&row_text, all, &row, i == 0);
        if (i >= w.first) screen_live_row(screen, weir_buf_slice(&row_text));
        at = row.next;
    }
    screen_live_cursor(screen, end - 1 - w.cursor_row + below, SIGN_COLUMNS + w.cursor_column);
    weir_buf_fini(&row_text);
    weir_buf_fini(&text);
}

void line_rows_commit(struct weir_slice text, struct screen *screen)
{
    struct weir_buf cleaned;
    struct weir_buf row_text;
    weir_buf_init(&cleaned, TEXT_BYTES);
    weir_buf_init(&row_text, ROW_BYTES);
    clean(&cleaned, text);
    struct weir_slice all = weir_buf_slice(&cleaned);
    for (size_t at = 0; at < all.len;) {
        struct row row = row_at(all, at, text_columns(screen));
        put_row(&row_text, all, &row, at == 0);
        screen_commit(screen, weir_buf_slice(&row_text));
        at = row.next;
    }
    weir_buf_fini(&row_text);
    weir_buf_fini(&cleaned);
}
