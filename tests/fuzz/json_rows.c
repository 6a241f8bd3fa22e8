/* SPDX-License-Identifier: Apache-2.0 */
/* Records of JSON: the same in any cutting; what is one JSON text is never refused as none. */
#include "import/json_rows.h"

#include "base/slice.h"
#include "codec/json_check.h"
#include "fuzz/fuzz.h"

static enum weir_status on_row(void *user, const struct json_row *row)
{
    struct text *t = user;
    struct weir_buf out;
    fuzz_true("a record has a value", row->value != NULL);
    weir_buf_init(&out, 8 << 20);
    weir_json_put_value(&out, row->value);
    text_printf(t, "%llu %s", (unsigned long long)row->number, row->had_lists ? "(lists)" : "");
    text_quote(t, row->list);
    text_quote(t, weir_buf_slice(&out));
    text_add_char(t, '\n');
    weir_buf_fini(&out);
    return WEIR_OK;
}

static enum weir_status read_cut(struct text *out, struct weir_slice input, struct cut *cut)
{
    struct json_rows r;
    struct weir_slice rest = input;
    struct weir_slice piece;
    enum weir_status st = json_rows_init(&r, "data|a", on_row, out);
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) st = json_rows_feed(&r, piece);
    if (st == WEIR_OK) st = json_rows_end(&r);
    if (st != WEIR_OK) text_printf(out, "%s %s\n", weir_status_name(st), json_rows_error(&r));
    json_rows_fini(&r);
    cut_fini(cut);
    return st;
}

static void check_verdict(struct weir_slice input, enum weir_status st)
{
    struct json_found found;
    bool is_json = json_check(input, NULL, NULL, &found) == WEIR_OK;
    bool is_rows = is_json && (found.type == WEIR_JSON_ARRAY || found.type == WEIR_JSON_OBJECT);
    if (is_rows) fuzz_true("JSON is read", st == WEIR_OK);
    /* The other way round there may be a mark before, and several objects. */
    bool is_list = input.len > 0 && input.ptr[0] == '[';
    if (is_list && st == WEIR_OK) fuzz_true("what is read is JSON", is_json);
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
    enum weir_status st = read_cut(&whole, input, &cut);
    fuzz_same("cutting", &pieces, &whole);
    check_verdict(input, st);
    text_fini(&pieces);
    text_fini(&whole);
    return 0;
}
