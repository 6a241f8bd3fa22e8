/* SPDX-License-Identifier: Apache-2.0 */
#include "text_table.h"

#include "base/slice.h"
#include "t.h"

static const struct text_column columns[] = {{"name", false}, {"n", true}, {"what", false}};

static void check(const char *const *cells, unsigned width, const char *want)
{
    struct text_table t;
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    text_table_init(&t, columns, 3);
    for (; *cells; cells++) text_table_cell(&t, weir_slice_of(*cells));
    T_EQ(text_table_put(&t, &out, width), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), want);
    text_table_fini(&t);
    weir_buf_fini(&out);
}

#define CHECK_TABLE(width, want, ...) check((const char *const[]){__VA_ARGS__, NULL}, width, want)

TEST(columns_are_as_wide_as_what_stands_in_them)
{
    CHECK_TABLE(0, "name     n  what\nlonger   7  x\na       12  a text longer than others\n",
                "longer", "7", "x", "a", "12", "a text longer than others");
}

TEST(the_last_column_is_cut_at_the_screens_end)
{
    CHECK_TABLE(24, "name  n  what\na     1  a text that is…\n", "a", "1", "a text that is longer");
    CHECK_TABLE(24, "name  n  what\na     1  漢字漢字漢字漢…\n", "a", "1", "漢字漢字漢字漢字漢字");
}

TEST(a_last_column_without_room_goes_below)
{
    CHECK_TABLE(16, "name  n\n  what\na     1\n  a text that i…\nb     2\n", "a", "1",
                "a text that is longer", "b", "2", "");
    CHECK_TABLE(12, "name\n  what\na rather na…\n  x\n", "a rather name", "1", "x");
}

TEST(cells_of_others_are_harmless)
{
    CHECK_TABLE(0, "name  n  what\n␛[2J     b c\n", "\033[2J", "", "b\n\tc");
}
