/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV tokenizer: the same rows in any cutting, and no byte of a field lost or made up. */
#include "import/csv.h"

#include "base/slice.h"
#include "fuzz/fuzz.h"

static enum weir_status on_row(void *user, const struct csv_row *row)
{
    struct text *t = user;
    fuzz_true("a row has a field", row->n > 0 && row->n <= CSV_COLUMNS);
    text_printf(t, "%llu", (unsigned long long)row->line);
    for (size_t i = 0; i < row->n; i++) {
        text_add_char(t, ' ');
        text_quote(t, row->fields[i]);
    }
    text_add_char(t, '\n');
    return WEIR_OK;
}

static void read_cut(struct text *out, struct weir_slice input, struct cut *cut)
{
    struct csv c;
    struct weir_slice rest = input;
    struct weir_slice piece;
    enum weir_status st = csv_init(&c, on_row, out);
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) st = csv_feed(&c, piece);
    if (st == WEIR_OK) st = csv_end(&c);
    if (st != WEIR_OK) text_printf(out, "%s %s\n", weir_status_name(st), csv_error(&c));
    csv_fini(&c);
    cut_fini(cut);
}

/* What was read is written as CSV and read again: the same rows, whatever their lines. */
struct again {
    struct text csv, rows;
};

static enum weir_status on_again(void *user, const struct csv_row *row)
{
    struct again *a = user;
    for (size_t i = 0; i < row->n; i++) {
        if (i > 0) text_add_char(&a->csv, ',');
        text_add_char(&a->csv, '"');
        for (size_t k = 0; k < row->fields[i].len; k++) {
            if (row->fields[i].ptr[k] == '"') text_add_char(&a->csv, '"');
            text_add_char(&a->csv, row->fields[i].ptr[k]);
        }
        text_add_char(&a->csv, '"');
        text_quote(&a->rows, row->fields[i]);
    }
    text_add_char(&a->csv, '\n');
    text_add_char(&a->rows, '\n');
    return WEIR_OK;
}

static bool read_again(struct again *a, struct weir_slice input)
{
    struct csv c;
    enum weir_status st = csv_init(&c, on_again, a);
    if (st == WEIR_OK) st = csv_feed(&c, input);
    if (st == WEIR_OK) st = csv_end(&c);
    csv_fini(&c);
    return st == WEIR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    struct text pieces = {0};
    struct text whole = {0};
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    read_cut(&pieces, input, &cut);
    cut_from_byte(&cut, 0);
    read_cut(&whole, input, &cut);
    fuzz_same("cutting", &pieces, &whole);
    struct again first = {0};
    struct again second = {0};
    if (read_again(&first, input)) {
        fuzz_true("what was written is read", read_again(&second, text_slice(&first.csv)));
        fuzz_same("written and read again", &second.rows, &first.rows);
    }
    text_fini(&first.csv);
    text_fini(&first.rows);
    text_fini(&second.csv);
    text_fini(&second.rows);
    text_fini(&pieces);
    text_fini(&whole);
    return 0;
}
