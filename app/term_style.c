/* SPDX-License-Identifier: Apache-2.0 */
#include "term_style.h"

#include <string.h>

#include "base/slice.h"
#include "term_text.h"

enum { SPIN_NS = 100 * 1000 * 1000 };

void term_styled_init(struct term_styled *s, size_t max_bytes)
{
    weir_buf_init(&s->text, max_bytes);
    weir_buf_init(&s->looks, max_bytes);
}

void term_styled_fini(struct term_styled *s)
{
    weir_buf_fini(&s->text);
    weir_buf_fini(&s->looks);
}

void term_styled_reset(struct term_styled *s)
{
    weir_buf_reset(&s->text);
    weir_buf_reset(&s->looks);
}

void term_styled_add(struct term_styled *s, struct weir_slice text, unsigned look)
{
    weir_buf_append_slice(&s->text, text);
    for (size_t i = 0; i < text.len; i++) weir_buf_append_char(&s->looks, (char)look);
    /* Without memory for one of them, the other stays as long. */
    if (s->looks.len < s->text.len) s->text.len = s->looks.len;
    if (s->text.len < s->looks.len) s->looks.len = s->text.len;
}

static void put_look(struct weir_buf *out, unsigned look)
{
    static const struct {
        unsigned look;
        const char *code;
    } codes[] = {
        {TERM_BOLD, "1"},   {TERM_DIM, "2"},   {TERM_ITALIC, "3"}, {TERM_LINK, "4"},
        {TERM_STRIKE, "9"}, {TERM_CODE, "36"}, {TERM_GOOD, "32"},  {TERM_BAD, "31"},
    };
    const char *before = "\033[";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (!(look & codes[i].look)) continue;
        weir_buf_append_str(out, before);
        weir_buf_append_str(out, codes[i].code);
        before = ";";
    }
    weir_buf_append_char(out, 'm');
}

void term_put(struct weir_buf *out, struct weir_slice text, unsigned look)
{
    if (text.len == 0) return;
    if (look != 0) put_look(out, look);
    weir_buf_append_slice(out, text);
    if (look != 0) weir_buf_append_str(out, "\033[0m");
}

void term_put_styled(struct weir_buf *out, const struct term_styled *s, size_t begin, size_t len)
{
    size_t end = begin + len;
    while (begin < end) {
        size_t at = begin;
        while (at < end && s->looks.ptr[at] == s->looks.ptr[begin]) at++;
        term_put(out, slice_of(s->text.ptr + begin, at - begin),
                 (unsigned char)s->looks.ptr[begin]);
        begin = at;
    }
}

unsigned term_row_width(struct weir_slice row)
{
    unsigned width = 0;
    while (row.len > 0) {
        size_t n = 0;
        while (n < row.len && row.ptr[n] != '\033') n++;
        width += term_width(slice_of(row.ptr, n));
        while (n < row.len && row.ptr[n] != 'm') n++;
        row = slice_from(row, n < row.len ? n + 1 : n);
    }
    return width;
}

struct weir_slice term_spinner(uint64_t now_ns)
{
    static const char *const dots[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    return weir_slice_of(dots[now_ns / SPIN_NS % (sizeof dots / sizeof *dots)]);
}
