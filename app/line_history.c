/* SPDX-License-Identifier: Apache-2.0 */
#include "line_history.h"

#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"

static void drop_oldest(struct line_history *h)
{
    h->n_bytes -= h->entries[0].len;
    mem_free((void *)(uintptr_t)h->entries[0].ptr);
    h->n--;
    memmove(h->entries, h->entries + 1, h->n * sizeof *h->entries);
}

void line_history_fini(struct line_history *h)
{
    while (h->n > 0) drop_oldest(h);
}

static bool is_kept(const struct line_history *h, struct weir_slice text)
{
    if (text.len == 0 || text.len > LINE_HISTORY_BYTES || text.ptr[0] == ' ') return false;
    return h->n == 0 || !slice_eq(h->entries[h->n - 1], text);
}

bool line_history_add(struct line_history *h, struct weir_slice text)
{
    char *copy = is_kept(h, text) ? mem_alloc(text.len) : NULL;
    if (!copy) return false;
    memcpy(copy, text.ptr, text.len);
    while (h->n == LINE_HISTORY_ENTRIES || h->n_bytes + text.len > LINE_HISTORY_BYTES)
        drop_oldest(h);
    h->entries[h->n++] = slice_of(copy, text.len);
    h->n_bytes += text.len;
    return true;
}

/* ---- as a file ---- */

void line_history_write(struct weir_buf *out, struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n') weir_buf_append_str(out, "\\n");
        else if (text.ptr[i] == '\\') weir_buf_append_str(out, "\\\\");
        else weir_buf_append_char(out, text.ptr[i]);
    }
    weir_buf_append_char(out, '\n');
}

static void read_line(struct line_history *h, struct weir_slice line, struct weir_buf *text)
{
    weir_buf_reset(text);
    for (size_t i = 0; i < line.len; i++) {
        char c = line.ptr[i];
        if (c == '\\' && i + 1 < line.len) {
            c = line.ptr[++i];
            if (c == 'n') c = '\n';
        }
        weir_buf_append_char(text, c);
    }
    /* Somebody else may have had a hand in the file. */
    struct weir_slice whole = weir_buf_slice(text);
    bool is_good = weir_buf_status(text) == WEIR_OK && utf8_valid_prefix(whole) == whole.len;
    if (is_good) (void)line_history_add(h, whole);
}

void line_history_read(struct line_history *h, struct weir_slice lines)
{
    struct weir_buf text;
    weir_buf_init(&text, LINE_HISTORY_BYTES);
    while (lines.len > 0) {
        const char *end = memchr(lines.ptr, '\n', lines.len);
        size_t len = end ? (size_t)(end - lines.ptr) : lines.len;
        read_line(h, slice_of(lines.ptr, len), &text);
        lines = slice_from(lines, end ? len + 1 : len);
    }
    weir_buf_fini(&text);
}
