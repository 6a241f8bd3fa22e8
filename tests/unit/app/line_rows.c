/* SPDX-License-Identifier: Apache-2.0 */
/* The editor's text as rows, and where its cursor is. */
#include "line_rows.h"

#include "base/slice.h"
#include "t.h"
#include "term_text.h"
#include "text.h"

/* Rows without their looks, a "/" behind each, then the cursor as row:column from the top. */
static void draw(struct text *out, struct line_editor *e, unsigned columns, size_t most)
{
    struct screen s;
    screen_init(&s, columns, 24);
    screen_live_begin(&s);
    line_rows_live(e, &s, most, 0);
    for (size_t i = 0; i < s.next.n; i++) {
        struct weir_slice row =
            slice_of(s.next.bytes.ptr + s.next.rows[i].begin, s.next.rows[i].len);
        T_OK(s.next.rows[i].width <= columns);
        for (size_t j = 0; j < row.len; j++) {
            if (row.ptr[j] == '\033')
                while (row.ptr[j] != 'm') j++;
            else text_add_char(out, row.ptr[j]);
        }
        text_add_char(out, '/');
    }
    T_OK(s.next.cursor.is_shown);
    text_printf(out, " %zu:%u", s.next.n - 1 - s.next.cursor.up, s.next.cursor.column);
    screen_fini(&s);
}

static void check(const char *text, size_t back, size_t most, const char *want)
{
    struct line_editor *e = line_editor_new();
    struct text got = {0};
    line_editor_set(e, weir_slice_of(text));
    for (; back > 0; back--) (void)line_editor_key(e, &(struct key){.kind = KEY_LEFT});
    draw(&got, e, 10, most);
    T_EQ_STR(text_slice(&got), want);
    text_fini(&got);
    line_editor_free(e);
}

TEST(rows_are_cut_where_they_are_full)
{
    check("", 0, 5, "› / 0:2");
    check("abc", 1, 5, "› abc/ 0:4");
    check("abcdefgh", 0, 5, "› abcdefgh/  / 1:2");
    check("abcdefgh", 1, 5, "› abcdefgh/  / 0:9");
    check("abcdefghij", 0, 5, "› abcdefgh/  ij/ 1:4");
    check("abcdefghij", 2, 5, "› abcdefgh/  ij/ 1:2");
    check("ab\ncd", 0, 5, "› ab/  cd/ 1:4");
    check("ab\n", 0, 5, "› ab/  / 1:2");
    check("ab\n\nc", 1, 5, "› ab/  /  c/ 2:2");
    check("abcdefgh\nx", 2, 5, "› abcdefgh/  x/ 0:9");
    check("漢字漢字漢", 0, 5, "› 漢字漢字/  漢/ 1:4");
    check("a漢字漢字", 0, 5, "› a漢字漢/  字/ 1:4");
    check("a\tb", 0, 5, "› a    b/ 0:8");
}

TEST(of_too_many_rows_those_around_the_cursor_are_shown)
{
    check("1\n2\n3\n4\n5", 0, 2, "  4/  5/ 1:3");
    check("1\n2\n3\n4\n5", 4, 2, "  2/  3/ 1:3");
    check("1\n2\n3\n4\n5", 9, 2, "› 1/  2/ 0:2");
    check("1\n2\n3", 0, 0, "  3/ 0:3");
}

TEST(marks_that_turn_the_writing_are_shown_not_obeyed)
{
    check("a\xe2\x80\xae"
          "b",
          1, 5, "› a<U+202E/  >b/ 1:3");
}

TEST(a_question_is_committed_as_it_stood)
{
    struct screen s;
    screen_init(&s, 10, 24);
    line_rows_commit(SLICE("ab\n漢字漢字漢\033"), &s);
    screen_live_begin(&s);
    struct weir_slice frame = screen_frame(&s);
    T_OK(memmem(frame.ptr, frame.len, "漢字漢字\r\n", 14) != NULL);
    T_OK(memmem(frame.ptr, frame.len, "漢␛", 6) != NULL);
    screen_fini(&s);
}
