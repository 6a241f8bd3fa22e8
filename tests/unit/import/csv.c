/* SPDX-License-Identifier: Apache-2.0 */
#include "import/csv.h"

#include "cut.h"
#include "t.h"
#include "text.h"

static enum weir_status on_row(void *user, const struct csv_row *row)
{
    struct text *t = user;
    text_printf(t, "%llu:", (unsigned long long)row->line);
    for (size_t i = 0; i < row->n; i++) {
        if (i > 0) text_add_char(t, ' ');
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
    T_EQ(st, WEIR_OK);
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) st = csv_feed(&c, piece);
    if (st == WEIR_OK) st = csv_end(&c);
    if (st != WEIR_OK) text_printf(out, "%s %s\n", weir_status_name(st), csv_error(&c));
    csv_fini(&c);
}

static void check(struct weir_slice input, const char *want)
{
    struct cut cut;
    for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
        struct text got = {0};
        read_cut(&got, input, &cut);
        T_EQ_STR(text_slice(&got), want);
        cut_fini(&cut);
        text_fini(&got);
    }
}

#define CHECK_CSV(literal, want) check((struct weir_slice){literal, sizeof(literal) - 1}, want)

TEST(rows_and_fields_are_the_same_in_every_cutting)
{
    CHECK_CSV("a,b,c\n1,2,3\n", "1:'a' 'b' 'c'\n2:'1' '2' '3'\n");
    CHECK_CSV("a,b\r\n1,\r\n,2\r\n", "1:'a' 'b'\n2:'1' ''\n3:'' '2'\n");
    CHECK_CSV("a,b\r1,2\r", "1:'a' 'b'\n2:'1' '2'\n");
    CHECK_CSV("a,b\n1,2", "1:'a' 'b'\n2:'1' '2'\n");
    CHECK_CSV("", "");
    CHECK_CSV("\n\n", "");
    CHECK_CSV("a,b\n\n\n1,2\n", "1:'a' 'b'\n4:'1' '2'\n");
    CHECK_CSV("one\n", "1:'one'\n");
    CHECK_CSV("one", "1:'one'\n");
}

TEST(quotes_hold_delimiters_line_ends_and_quotes)
{
    CHECK_CSV("a,b\n\"6,904\",\"x\ny\"\nz,1\n", "1:'a' 'b'\n2:'6,904' 'x\\ny'\n4:'z' '1'\n");
    CHECK_CSV("a,b\n\"he said \"\"no\"\"\",\"\"\n", "1:'a' 'b'\n2:'he said \"no\"' ''\n");
    CHECK_CSV("\"a;x\",\"b\"\n1,2\n", "1:'a;x' 'b'\n2:'1' '2'\n");
    CHECK_CSV("a,b\n5\" pipe,1\n\"q\"x,2\n", "1:'a' 'b'\n2:'5\" pipe' '1'\n3:'qx' '2'\n");
    CHECK_CSV("a,b\n1,\"open\nmore\n", "1:'a' 'b'\ninvalid_field line 2: a quote that is never "
                                       "closed\n");
    CHECK_CSV("\"open,b\n1,2\n", "invalid_field line 1: a quote that is never closed\n");
}

TEST(the_delimiter_is_found_from_the_first_line_that_has_one)
{
    CHECK_CSV("a;b;c\n1,5;2;3\n", "1:'a' 'b' 'c'\n2:'1,5' '2' '3'\n");
    CHECK_CSV("a\tb\n1\t2\n", "1:'a' 'b'\n2:'1' '2'\n");
    CHECK_CSV("My export\n\na;b\n1;2\n", "1:'My export'\n3:'a' 'b'\n4:'1' '2'\n");
    CHECK_CSV("\"a,b,c\";d\n1;2\n", "1:'a,b,c' 'd'\n2:'1' '2'\n");
}

TEST(a_byte_order_mark_is_skipped_and_other_encodings_are_refused)
{
    CHECK_CSV("\xEF\xBB\xBF"
              "date,b\n1,2\n",
              "1:'date' 'b'\n2:'1' '2'\n");
    CHECK_CSV("Temp (\xC2\xB0"
              "C),b\n",
              "1:'Temp (\\xc2\\xb0C)' 'b'\n");
    CHECK_CSV("a,b\n1,2\n\xFC,3\n", "1:'a' 'b'\n2:'1' '2'\n"
                                    "invalid_field line 3: not UTF-8 (perhaps Latin-1 or "
                                    "Windows-1252); save the file as UTF-8\n");
    CHECK_CSV("\xFF\xFE"
              "a\0,\0b\0",
              "invalid_field line 1: the text is UTF-16; save the file as UTF-8\n");
    CHECK_CSV("a,b\n1,\0\n", "1:'a' 'b'\ninvalid_field line 2: a NUL byte; this is no text, or "
                             "UTF-16: save the file as UTF-8\n");
    /* A character may not be put together from two fields. */
    CHECK_CSV("a,b\n\xC3,\xA9\n", "1:'a' 'b'\ninvalid_field line 2: not UTF-8 (perhaps Latin-1 or "
                                  "Windows-1252); save the file as UTF-8\n");
}

static struct text read_whole(struct weir_slice input)
{
    struct text out = {0};
    struct cut cut;
    T_OK(cut_nth(&cut, 0, input.len));
    read_cut(&out, input, &cut);
    cut_fini(&cut);
    return out;
}

static bool ends_with(const struct text *t, const char *end)
{
    size_t len = strlen(end);
    return t->len >= len && memcmp(t->ptr + t->len - len, end, len) == 0;
}

TEST(ten_thousand_columns_get_a_clear_error)
{
    struct text input = {0};
    for (unsigned i = 0; i < 10000; i++) text_printf(&input, "c%u,", i);
    text_add_char(&input, '\n');
    struct text got = read_whole(text_slice(&input));
    T_OK(ends_with(&got, "limit_exceeded line 1: more than 4096 columns; no health table is so "
                         "wide\n"));
    text_fini(&got);
    text_fini(&input);
}

TEST(a_field_and_a_line_without_end_get_a_clear_error)
{
    struct text input = {0};
    text_printf(&input, "a,b\n1,");
    for (unsigned i = 0; i < CSV_FIELD_BYTES + 1; i++) text_add_char(&input, 'x');
    struct text got = read_whole(text_slice(&input));
    T_OK(ends_with(&got, "limit_exceeded line 2: a field or line too long; this is no table of "
                         "values\n"));
    text_fini(&got);
    input.len = 6;
    text_add_char(&input, '"');
    for (unsigned i = 0; i < CSV_FIELD_BYTES + 1; i++) text_add_char(&input, '\n');
    got = read_whole(text_slice(&input));
    T_OK(ends_with(&got, "limit_exceeded line 2: a quote that is never closed, or a field too "
                         "long\n"));
    text_fini(&got);
    text_fini(&input);
    for (unsigned i = 0; i < CSV_ROW_BYTES + 1; i++) text_add_char(&input, 'x');
    got = read_whole(text_slice(&input));
    T_OK(ends_with(&got, "limit_exceeded line 1: a line too long; this is no table of values\n"));
    text_fini(&got);
    text_fini(&input);
}
