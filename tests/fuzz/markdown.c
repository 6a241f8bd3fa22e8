/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Markdown for terminals: the same rows in any cutting, looks that are closed in each row, and no
 * control character but those of our own escape sequences.
 */
#include "term_markdown.h"

#include "base/slice.h"
#include "fuzz/fuzz.h"

static void add_row(void *user, struct weir_slice row)
{
    bool is_plain = true;
    for (size_t i = 0; i < row.len; i++) {
        unsigned char c = (unsigned char)row.ptr[i];
        fuzz_true("no control", (c >= 0x20 && c != 0x7F) || c == 0x1B);
        if (c != 0x1B) continue;
        fuzz_true("a look", row.len - i >= 4 && row.ptr[i + 1] == '[');
        is_plain = row.ptr[i + 2] == '0';
    }
    fuzz_true("looks end in their row", is_plain);
    text_add(user, row.ptr, row.len);
    text_add_char(user, '\n');
}

static void count_row(void *user, struct weir_slice row)
{
    *(size_t *)user += row.len;
}

static void render_cut(struct text *out, struct weir_slice input, unsigned columns, struct cut *cut)
{
    struct weir_slice rest = input;
    struct weir_slice piece;
    size_t pending = 0;
    unsigned n = 0;
    struct markdown *m = markdown_new(columns, 2 + columns / 4, add_row, out);
    while (cut_take(cut, &rest, &piece)) {
        fuzz_true("memory", markdown_feed(m, piece) == WEIR_OK);
        if (n++ % 8 == 0) fuzz_true("look", markdown_pending(m, count_row, &pending) == WEIR_OK);
    }
    fuzz_true("end", markdown_end(m) == WEIR_OK);
    markdown_free(m);
    cut_fini(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    struct text pieces = {0};
    struct text whole = {0};
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    unsigned columns = 1 + data[0] % 90;
    render_cut(&pieces, input, columns, &cut);
    cut_from_byte(&cut, 0);
    render_cut(&whole, input, columns, &cut);
    fuzz_same("cutting", &pieces, &whole);
    text_fini(&pieces);
    text_fini(&whole);
    return 0;
}
