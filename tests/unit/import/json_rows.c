/* SPDX-License-Identifier: Apache-2.0 */
#include "import/json_rows.h"

#include "cut.h"
#include "t.h"
#include "text.h"

static enum weir_status on_row(void *user, const struct json_row *row)
{
    struct weir_buf out;
    weir_buf_init(&out, 1 << 20);
    weir_json_put_value(&out, row->value);
    text_printf(user, "%llu %.*s%s%.*s\n", (unsigned long long)row->number, (int)row->list.len,
                row->list.ptr,
                row->had_lists      ? "(lists) "
                : row->list.len > 0 ? ": "
                                    : "",
                (int)out.len, out.ptr);
    weir_buf_fini(&out);
    return WEIR_OK;
}

static void read_cut(struct text *out, struct weir_slice input, struct cut *cut)
{
    struct json_rows r;
    struct weir_slice rest = input;
    struct weir_slice piece;
    enum weir_status st = json_rows_init(&r, "data|sleep", on_row, out);
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) st = json_rows_feed(&r, piece);
    if (st == WEIR_OK) st = json_rows_end(&r);
    if (st != WEIR_OK) text_printf(out, "%s %s\n", weir_status_name(st), json_rows_error(&r));
    json_rows_fini(&r);
}

static void check(const char *text, const char *want)
{
    struct weir_slice input = weir_slice_of(text);
    struct cut cut;
    for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
        struct text got = {0};
        read_cut(&got, input, &cut);
        T_EQ_STR(text_slice(&got), want);
        cut_fini(&cut);
        text_fini(&got);
    }
}

TEST(elements_of_the_outermost_list_are_records)
{
    check("[{\"a\":1},{\"b\":[1,{\"c\":\"x]}\"}]}]",
          "1 {\"a\":1}\n2 {\"b\":[1,{\"c\":\"x]}\"}]}\n");
    check(" [ ] ", "");
    check("", "");
    check("[1,\"two, ]\\\"\",true,[{}],null]", "1 1\n2 \"two, ]\\\"\"\n3 true\n4 [{}]\n5 null\n");
    check("\xEF\xBB\xBF[{}]", "1 {}\n");
}

TEST(an_object_is_a_record_and_so_are_those_that_follow_it)
{
    check("{\"a\" : { \"data\" : [ 1 ] } }", "1 {\"a\":{\"data\":[1]}}\n");
    check("{\"a\":1}\n{\"a\":2}\n", "1 {\"a\":1}\n2 {\"a\":2}\n");
}

TEST(named_lists_inside_a_record_are_taken_apart)
{
    check("{\"data\":[{\"a\":1},{\"a\":2}],\"next\":null}",
          "1 data: {\"a\":1}\n2 data: {\"a\":2}\n3 (lists) {\"data\":[],\"next\":null}\n");
    check("[{\"id\":7,\"sleep\":[{\"a\":1}],\"data\":[]},{\"data\":3}]",
          "1 sleep: {\"a\":1}\n2 (lists) {\"id\":7,\"sleep\":[],\"data\":[]}\n3 {\"data\":3}\n");
    check("{\"x\":{\"data\":[1]}}", "1 {\"x\":{\"data\":[1]}}\n");
}

TEST(what_is_not_json_is_said_with_its_place)
{
    check("[{\"a\":1}", "1 {\"a\":1}\njson_truncated record 2, byte 8: the file ends inside it\n");
    check("[{\"a\":1},{\"b",
          "1 {\"a\":1}\njson_truncated record 2, byte 12: the file ends inside it\n");
    check("[{}{}]", "1 {}\njson_syntax record 2, byte 3: expected a comma or ]\n");
    check("[,]", "json_syntax record 1, byte 1: expected an element of the list\n");
    check("[{},]", "1 {}\njson_syntax record 2, byte 4: expected an element of the list\n");
    check("{\"a\" 1}", "json_syntax record 1, byte 5: expected a colon\n");
    check("{a:1}", "json_syntax record 1, byte 1: expected a key or }\n");
    check("{\"a\":}", "json_syntax record 1, byte 5: expected a value\n");
    check("{\"a\":1]", "json_syntax record 1, byte 6: expected a comma or }\n");
    check("[{\"a\":tru}]", "json_syntax record 1, byte 9: the text is not JSON\n");
    check("[{\"a\":[1}]}]", "json_syntax record 1, byte 9: expected a comma or }\n");
    check("hello", "json_syntax record 1, byte 0: expected an object or a list of them\n");
    check("[] []", "json_syntax record 1, byte 3: nothing may follow the list\n");
    check("\xFF\xFE[", "json_utf8 record 1, byte 0: not UTF-8; save the file as UTF-8\n");
}

TEST(a_record_without_end_is_refused)
{
    struct text input = {0};
    struct text got = {0};
    struct cut cut;
    text_printf(&input, "[{\"a\":\"");
    for (unsigned i = 0; i < JSON_ROW_BYTES + 1; i++) text_add_char(&input, 'x');
    T_OK(cut_nth(&cut, 0, input.len));
    read_cut(&got, text_slice(&input), &cut);
    cut_fini(&cut);
    T_OK(got.len > 14 && memcmp(got.ptr, "limit_exceeded", 14) == 0);
    text_fini(&got);
    text_fini(&input);
}
