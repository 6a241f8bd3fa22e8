/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for terminals: the same in any cutting; well-formed and without a control character;
 * wrapped lines fit, and lose nothing but blanks.
 */
#include "term_text.h"

#include "base/slice.h"
#include "fuzz/fuzz.h"

enum { OUT_BYTES = 64 << 20 };

static void clean_cut(struct weir_buf *out, struct weir_slice input, struct cut *cut)
{
    struct term_cleaner c = {.n_held = 0};
    struct weir_slice rest = input;
    struct weir_slice piece;
    while (cut_take(cut, &rest, &piece)) term_clean_feed(&c, out, piece);
    term_clean_end(&c, out);
    cut_fini(cut);
}

static void check_harmless(struct weir_slice text)
{
    fuzz_true("well-formed", utf8_valid_prefix(text) == text.len);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        fuzz_true("no control", (c >= 0x20 && c != 0x7F) || c == '\n' || c == '\t');
        bool is_c1 = c == 0xC2 && (unsigned char)text.ptr[i + 1] < 0xA0;
        fuzz_true("no C1", !is_c1);
    }
}

static void check_wrapped(struct weir_slice text, unsigned columns)
{
    while (text.len > 0) {
        size_t len;
        size_t next;
        term_wrap(text, columns, &len, &next);
        fuzz_true("it goes on", next > 0 && next <= text.len && len <= next);
        for (size_t i = len; i < next; i++)
            fuzz_true("only blanks are lost",
                      text.ptr[i] == ' ' || text.ptr[i] == '\n' || text.ptr[i] == '\t');
        struct weir_slice line = slice_of(text.ptr, len);
        fuzz_true("it fits", term_width(line) <= columns || term_first(line).len == len ||
                                 term_first(line).width == 0 || line.ptr[0] == '\t' ||
                                 line.ptr[0] == ' ');
        text = slice_from(text, next);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    struct weir_buf pieces;
    struct weir_buf whole;
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    weir_buf_init(&pieces, OUT_BYTES);
    weir_buf_init(&whole, OUT_BYTES);
    clean_cut(&pieces, input, &cut);
    cut_from_byte(&cut, 0);
    clean_cut(&whole, input, &cut);
    fuzz_true("cutting", slice_eq(weir_buf_slice(&pieces), weir_buf_slice(&whole)));
    check_harmless(weir_buf_slice(&whole));
    check_wrapped(weir_buf_slice(&whole), 1 + data[0] % 40);
    weir_buf_fini(&pieces);
    weir_buf_fini(&whole);
    return 0;
}
