/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Markdown as rows of a terminal: what each construct looks like, that no cutting changes what is
 * committed, and that what is held back and drawn again has a ceiling.
 */
#include "term_markdown.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "cut.h"
#include "t.h"
#include "term_text.h"
#include "text.h"

static void add_row(void *user, struct weir_slice row)
{
    text_add(user, row.ptr, row.len);
    text_add_char(user, '\n');
}

static void count_row(void *user, struct weir_slice row)
{
    *(size_t *)user += row.len + 1;
}

/* Without escape sequences. */
static void strip(struct text *t)
{
    size_t to = 0;
    for (size_t i = 0; i < t->len; i++) {
        if (t->ptr[i] == '\033')
            while (i < t->len && t->ptr[i] != 'm') i++;
        else t->ptr[to++] = t->ptr[i];
    }
    t->len = to;
}

/* All rows of a text in one cutting, with a look at what is pending after each piece. */
static void render_cut(struct text *out, struct weir_slice input, unsigned columns, unsigned rows,
                       struct cut *cut)
{
    struct weir_slice rest = input;
    struct weir_slice piece;
    size_t pending = 0;
    struct markdown *m = markdown_new(columns, rows, add_row, out);
    while (cut_take(cut, &rest, &piece)) {
        T_EQ(markdown_feed(m, piece), WEIR_OK);
        T_EQ(markdown_pending(m, count_row, &pending), WEIR_OK);
    }
    T_EQ(markdown_end(m), WEIR_OK);
    markdown_free(m);
}

static void render(struct text *out, struct weir_slice input, unsigned columns, unsigned rows)
{
    struct cut cut;
    cut_from_byte(&cut, 0);
    render_cut(out, input, columns, rows, &cut);
    cut_fini(&cut);
}

static void check_cuts(struct weir_slice input, unsigned columns, unsigned rows)
{
    struct cut cut;
    struct text whole = {0};
    render(&whole, input, columns, rows);
    for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
        struct text pieces = {0};
        render_cut(&pieces, input, columns, rows, &cut);
        T_EQ_SLICE(text_slice(&pieces), text_slice(&whole));
        text_fini(&pieces);
        cut_fini(&cut);
    }
    text_fini(&whole);
}

static const struct {
    const char *source;
    unsigned columns;
    const char *rows;
} table[] = {
    {"", 20, ""},
    {"one two three four", 10, "one two\nthree four\n"},
    {"one\ntwo\n\nthree\n\n\n\nfour", 20, "one two\n\nthree\n\nfour\n"},
    {"hard  \nbreak\\\nagain", 20, "hard\nbreak\nagain\n"},
    {"# One\ntext\n## Two ##\nmore", 20, "One\n\ntext\n\nTwo\n\nmore\n"},
    {"####### seven\n#hash", 20, "####### seven #hash\n"},
    {"Title\n=====\nSub\n---\ntext", 20, "Title\n\nSub\n\ntext\n"},
    {"a\n\n---\n\nb", 6, "a\n\n──────\n\nb\n"},
    {"- a\n- b\n* c", 20, "• a\n• b\n• c\n"},
    {"Here:\n- a\n- b\n\nAfter", 20, "Here:\n• a\n• b\n\nAfter\n"},
    {"- one two three\n  four", 9, "• one two\n  three\n  four\n"},
    {"- a\n  - b\n    - c\n- d", 20, "• a\n  • b\n    • c\n• d\n"},
    {"1. a\n1. b\n1. c", 20, "1. a\n2. b\n3. c\n"},
    {"7) a\n8) b", 20, "7. a\n8. b\n"},
    {"1. a\n   - x\n   - y\n2. b", 20, "1. a\n   • x\n   • y\n2. b\n"},
    {"- a\n\n  second\n\n- b", 20, "• a\n\n  second\n\n• b\n"},
    {"text\n2. not a list", 20, "text 2. not a list\n"},
    {"-\n- b", 20, "•\n• b\n"},
    {"> quoted\nlazy\n\nafter", 20, "│ quoted lazy\n\nafter\n"},
    {"> a\n>\n> b", 20, "│ a\n│\n│ b\n"},
    {"> > deep\n> less", 20, "│ │ deep less\n"},
    {"> - item\n>   more", 20, "│ • item more\n"},
    {"- > in", 20, "• │ in\n"},
    {"```c\nint x;\n  y\n\n```\nafter", 20, "  int x;\n    y\n\n\nafter\n"},
    {"~~~\n```\n~~~", 20, "  ```\n"},
    {"```\nabcdefghij", 8, "  abcdef\n  ghij\n"},
    {"- a\n  ```\n  code\n  ```\n- b", 20, "• a\n\n    code\n\n• b\n"},
    {"> ```\n> code\nout", 20, "│   code\n\nout\n"},
    {"a\n\n    indented\n\n    more\n\nb", 20, "a\n\n  indented\n\n  more\n\nb\n"},
    {"\tcode\n- a\tb", 20, "  code\n• a b\n"},
    {"|a|b|\n|-|-:|\n|x|1|\n|long|22|\n", 30, "a    │  b\n─────┼───\nx    │  1\nlong │ 22\n"},
    {"a | b\n--- | ---\n1 | 2\n\nend", 30, "a │ b\n──┼──\n1 │ 2\n\nend\n"},
    {"|a|b|\n|-|-|\n|1|\n|1|2|3|", 30, "a │ b\n──┼──\n1 │\n1 │ 2\n"},
    {"|a|b|\n|:-:|-|\n|one two three|x\\|y|", 13,
     "   a    │ b\n────────┼────\none two │ x|y\n three  │\n"},
    {"|a|b|\n|-|-|-|\n", 30, "|a|b| |-|-|-|\n"},
    {"|a|b|c|\n|-|-|-|\n|1|2|3|\n", 9, "  |a|b|c|\n  |1|2|3|\n"},
    {"**bold** and *it* and `code` and ~~no~~", 60, "bold and it and code and no\n"},
    {"a*b and 2 * 3 * 4 and **open", 60, "a*b and 2 * 3 * 4 and **open\n"},
    {"snake_case_name _it_ __b__", 60, "snake_case_name it b\n"},
    {"***both*** **a *b* c**", 60, "both a b c\n"},
    {"``a ` b`` ` x ` `open", 60, "a ` b x `open\n"},
    {"[text](https://a.example/x \"t\") [https://b.example](https://b.example)", 60,
     "text (https://a.example/x) https://b.example\n"},
    {"<https://c.example> a < b > [no] [no](", 60, "https://c.example a < b > [no] [no](\n"},
    {"\\*not\\* \\a \\\\", 60, "*not* \\a \\\n"},
    {"\033[31mred\033[0m\a", 60, "␛[31mred␛[0m␇\n"},
    {"漢字漢字 emoji 👩‍🔬 x", 8, "漢字漢字\nemoji 👩‍🔬\nx\n"},
    {"<b>html</b>", 60, "<b>html</b>\n"},
    {"a\r\nb\r\n\r\nc", 20, "a b\n\nc\n"},
    {"1. a\n\ntext\n\n1. b", 20, "1. a\n\ntext\n\n1. b\n"},
    {"- a\n-   wide\n\n    still", 20, "• a\n• wide\n\n  still\n"},
};

TEST(each_construct_looks_as_it_should)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct text got = {0};
        render(&got, weir_slice_of(table[i].source), table[i].columns, 24);
        strip(&got);
        T_EQ_STR(text_slice(&got), table[i].rows);
        text_fini(&got);
    }
}

TEST(no_cutting_changes_what_is_committed)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        check_cuts(weir_slice_of(table[i].source), table[i].columns, 24);
}

TEST(looks_are_those_of_the_markup)
{
    struct text got = {0};
    render(&got, weir_slice_of("# H\n**b** *i* `c` [t](u)\n> q"), 60, 24);
    T_EQ_STR(text_slice(&got), "\033[1;4mH\033[0m\n\n\033[1mb\033[0m \033[3mi\033[0m "
                               "\033[36mc\033[0m \033[4mt\033[0m \033[2m(u)\033[0m\n"
                               "\033[2m│\033[0m q\n");
    text_fini(&got);
}

/* ---- while it grows ---- */

static void pending_is(const char *source, const char *committed, const char *pending)
{
    struct text done = {0};
    struct text rest = {0};
    struct markdown *m = markdown_new(20, 24, add_row, &done);
    T_EQ(markdown_feed(m, weir_slice_of(source)), WEIR_OK);
    T_EQ(markdown_pending(m, add_row, &rest), WEIR_OK);
    strip(&done);
    strip(&rest);
    T_EQ_STR(text_slice(&done), committed);
    T_EQ_STR(text_slice(&rest), pending);
    markdown_free(m);
    text_fini(&done);
    text_fini(&rest);
}

TEST(only_what_cannot_change_is_committed)
{
    pending_is("one **two", "", "one two\n");
    pending_is("one `two", "", "one two\n");
    pending_is("one\n", "", "one\n");
    pending_is("one\n\n", "one\n", "");
    pending_is("one\n\ntwo", "one\n", "\ntwo\n");
    pending_is("# Head", "", "Head\n");
    pending_is("# Head\n", "Head\n", "");
    pending_is("- a\n- b", "", "• a\n• b\n");
    pending_is("- a\n- b\n", "• a\n", "• b\n");
    pending_is("- a\n-", "", "• a\n•\n");
    pending_is("```\ncode\nmo", "  code\n", "  mo\n");
    pending_is("|a|b|\n|-|-|\n|1|2|\n|3", "", "a │ b\n──┼──\n1 │ 2\n3 │\n");
    pending_is("x \xf0\x9f", "", "x\n");
}

TEST(a_look_changes_nothing)
{
    struct text first = {0};
    struct text second = {0};
    struct text done = {0};
    struct markdown *m = markdown_new(20, 24, add_row, &done);
    T_EQ(markdown_feed(m, weir_slice_of("- a\n\n  > b **c")), WEIR_OK);
    T_EQ(markdown_pending(m, add_row, &first), WEIR_OK);
    T_EQ(markdown_pending(m, add_row, &second), WEIR_OK);
    T_EQ_SLICE(text_slice(&first), text_slice(&second));
    T_EQ(markdown_end(m), WEIR_OK);
    markdown_free(m);
    text_fini(&first);
    text_fini(&second);
    text_fini(&done);
}

TEST(another_text_begins_with_nothing)
{
    struct text done = {0};
    struct markdown *m = markdown_new(20, 24, add_row, &done);
    T_EQ(markdown_feed(m, weir_slice_of("> - `a")), WEIR_OK);
    T_EQ(markdown_end(m), WEIR_OK);
    T_EQ(markdown_feed(m, weir_slice_of("b` gone")), WEIR_OK);
    markdown_drop(m);
    T_EQ(markdown_feed(m, weir_slice_of("c")), WEIR_OK);
    T_EQ(markdown_end(m), WEIR_OK);
    strip(&done);
    T_EQ_STR(text_slice(&done), "│ • `a\nc\n");
    markdown_free(m);
    text_fini(&done);
}

TEST(a_resize_wraps_what_is_not_committed)
{
    struct text done = {0};
    struct markdown *m = markdown_new(20, 24, add_row, &done);
    T_EQ(markdown_feed(m, weir_slice_of("one two three\n\none two three")), WEIR_OK);
    markdown_resize(m, 7, 24);
    T_EQ(markdown_end(m), WEIR_OK);
    T_EQ_STR(text_slice(&done), "one two three\n\none two\nthree\n");
    markdown_free(m);
    text_fini(&done);
}

/* ---- sizes ---- */

/* A text of a random choice of pieces, for cuttings and ceilings. */
static void add_random(struct text *t, size_t len)
{
    static const char *const pieces[] = {
        "word ",  "another ",    "**bold** ", "*",    "`code` ", "`",    "\n",   "\n\n",
        "\n- ",   "\n  - ",      "\n1. ",     "\n> ", "\n```\n", "\n# ", "|a|b", "|\n|-|-|\n",
        "漢字",   "👩‍🔬", "[t](u)",    "\n\n", "    ",    "\t",   "~~",   "---\n",
        "\033[m", "\r\n",        "e\xcc\x81", "_x_ ", "\\",      "<",    "\xff", "loooooooooong",
    };
    while (t->len < len) text_printf(t, "%s", pieces[t_random() % 32]);
}

TEST(random_texts_do_not_depend_on_the_cutting)
{
    for (int i = 0; i < 60; i++) {
        struct text source = {0};
        add_random(&source, 40 + t_random() % 500);
        check_cuts(text_slice(&source), 5 + (unsigned)(t_random() % 40),
                   4 + (unsigned)(t_random() % 20));
        text_fini(&source);
    }
}

struct widest {
    unsigned columns;
    size_t n_rows;
};

static void measure_row(void *user, struct weir_slice row)
{
    struct widest *w = user;
    struct text plain = {0};
    text_add(&plain, row.ptr, row.len);
    strip(&plain);
    unsigned width = term_width(text_slice(&plain));
    if (width > w->columns) w->columns = width;
    w->n_rows++;
    text_fini(&plain);
}

TEST(no_row_is_wider_than_the_screen)
{
    for (int i = 0; i < 200; i++) {
        struct text source = {0};
        struct widest widest = {0};
        unsigned columns = 10 + (unsigned)(t_random() % 60);
        add_random(&source, 2000);
        struct markdown *m = markdown_new(columns, 24, measure_row, &widest);
        T_EQ(markdown_feed(m, text_slice(&source)), WEIR_OK);
        T_EQ(markdown_end(m), WEIR_OK);
        T_OK(widest.columns <= columns);
        markdown_free(m);
        text_fini(&source);
    }
}

/* Feeds a piece again and again; what is pending must stay below a ceiling all the time. */
static void check_held(const char *before, const char *piece, size_t times, size_t ceiling)
{
    size_t committed = 0;
    size_t most = 0;
    struct markdown *m = markdown_new(80, 24, count_row, &committed);
    T_EQ(markdown_feed(m, weir_slice_of(before)), WEIR_OK);
    for (size_t i = 0; i < times; i++) {
        size_t pending = 0;
        T_EQ(markdown_feed(m, weir_slice_of(piece)), WEIR_OK);
        if (i % 16 != 0) continue;
        T_EQ(markdown_pending(m, count_row, &pending), WEIR_OK);
        if (pending > most) most = pending;
    }
    T_EQ(markdown_end(m), WEIR_OK);
    T_OK(most > 0 && most <= ceiling);
    if (most > ceiling) printf("most %zu of \"%s\"\n", most, piece);
    T_OK(committed >= times / 4);
    markdown_free(m);
}

TEST(what_is_held_back_has_a_ceiling)
{
    static const char *const pieces[] = {
        "word ", "x", "**bold** ", "**open ", "word\n", "漢", "`", "[a](b) ", "a|b ", "*a ", "\\",
    };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        check_held("", pieces[i], 20000, 8 * MARKDOWN_HOLD_BYTES);
    check_held("```\n", "x", 20000, 8 * MARKDOWN_HOLD_BYTES);
    check_held("- > - ", "word ", 20000, 8 * MARKDOWN_HOLD_BYTES);
    check_held("# ", "word ", 20000, 8 * MARKDOWN_HOLD_BYTES);
    check_held("|a|b|\n|-|-|\n", "|1|2|\n", 5000, 16 * MARKDOWN_TABLE_BYTES);
    check_held("|a|b|\n|-|-|\n", "|xxxxxxxx", 5000, 16 * MARKDOWN_TABLE_BYTES);
}

TEST(a_long_paragraph_is_committed_row_by_row)
{
    struct text done = {0};
    struct markdown *m = markdown_new(40, 10, add_row, &done);
    for (int i = 0; i < 200; i++) T_EQ(markdown_feed(m, weir_slice_of("word ")), WEIR_OK);
    T_OK(done.len > 500);
    T_EQ(markdown_end(m), WEIR_OK);
    struct text whole = {0};
    for (int i = 0; i < 200; i++) text_printf(&whole, "%s", i % 8 == 7 ? "word\n" : "word ");
    T_EQ_SLICE(text_slice(&done), text_slice(&whole));
    markdown_free(m);
    text_fini(&done);
    text_fini(&whole);
}
