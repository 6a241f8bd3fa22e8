/* SPDX-License-Identifier: Apache-2.0 */
/* Text for terminals: what is harmless, how wide it is, where it is wrapped. */
#include "term_text.h"

#include "base/slice.h"
#include "cut.h"
#include "t.h"

static void clean_cut(struct weir_buf *out, struct weir_slice input, struct cut *cut)
{
    struct term_cleaner c = {.n_held = 0};
    struct weir_slice rest = input;
    struct weir_slice piece;
    while (cut_take(cut, &rest, &piece)) term_clean_feed(&c, out, piece);
    term_clean_end(&c, out);
}

static void check_clean(struct weir_slice input, const char *want)
{
    struct cut cut;
    struct weir_buf got;
    weir_buf_init(&got, 1 << 20);
    for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
        weir_buf_reset(&got);
        clean_cut(&got, input, &cut);
        T_EQ_STR(weir_buf_slice(&got), want);
        cut_fini(&cut);
    }
    weir_buf_fini(&got);
}

TEST(text_is_made_harmless_however_it_is_cut)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"plain, \xc3\xa9\xe6\xbc\xa2", "plain, \xc3\xa9\xe6\xbc\xa2"},
        {"a\tb\nc", "a\tb\nc"},
        {"\033[31mred\033]0;title\007", "␛[31mred␛]0;title␇"},
        {"\033[2J\033[H\033P\033\\", "␛[2J␛[H␛P␛\\"},
        {"a\b\x7f\v\f", "a␈␡␋␌"},
        {"a\r\nb\rc\r", "a\nb␍c␍"},
        {"\r\r\n", "␍\n"},
        {"\xc2\x9b"
         "31m\xc2\x85",
         "<U+009B>31m<U+0085>"},
        {"\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"user\xe2\x80\xaegpj.exe", "user<U+202E>gpj.exe"},
        {"\xe2\x81\xa6x\xe2\x81\xa9\xe2\x80\x8e\xd8\x9c", "<U+2066>x<U+2069><U+200E><U+061C>"},
        {"a\xe2\x80\xa8"
         "b\xe2\x80\xa9",
         "a<U+2028>b<U+2029>"},
        {"co\xc2\xadop zero\xe2\x80\x8bwidth \xef\xbb\xbf", "coop zerowidth "},
        {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f"
                                                         "\x94\xac"},
        {"\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4\xef\xb8\x8f"},
        /* England's flag is made of tags; tags alone hide a message. */
        {"\xf0\x9f\x8f\xb4\xf3\xa0\x81\xa7\xf3\xa0\x81\xbf", "\xf0\x9f\x8f\xb4\xf3\xa0\x81\xa7"
                                                             "\xf3\xa0\x81\xbf"},
        {"x\xf3\xa0\x81\xa7", "x<U+E0067>"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_clean(weir_slice_of(rows[i].text), rows[i].want);
    check_clean(SLICE("a\0b"), "a␀b");
}

TEST(marks_without_end_are_cut_short)
{
    char text[2001] = "a";
    struct term_cleaner c = {.n_held = 0};
    struct weir_buf out;
    for (size_t i = 1; i < 2000; i += 2) memcpy(text + i, "\xcc\x81", 2);
    weir_buf_init(&out, 1 << 20);
    term_clean_feed(&c, &out, slice_of(text, 1999));
    T_EQ(out.len, 1 + 2 * TERM_MARKS_MAX);
    T_EQ(term_width(weir_buf_slice(&out)), 1);
    weir_buf_fini(&out);
}

TEST(a_label_is_one_line)
{
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    weir_buf_append_str(&out, "> ");
    term_clean_label(&out, weir_slice_of("  two\n\n lines\tand\033 \n"));
    T_EQ_STR(weir_buf_slice(&out), "> two lines and␛");
    weir_buf_reset(&out);
    term_clean_label(&out, weir_slice_of(""));
    T_EQ(out.len, 0);
    weir_buf_fini(&out);
}

TEST(widths_are_those_of_terminals)
{
    static const struct {
        const char *text;
        unsigned width, clusters;
    } rows[] = {
        {"a", 1, 1},
        {"abc", 3, 3},
        {"\xc3\xa9", 1, 1},
        {"e\xcc\x81", 1, 1},                            /* e and an accent */
        {"\xe6\xbc\xa2\xe5\xad\x97", 4, 2},             /* kanji */
        {"\xef\xbd\xb1", 1, 1},                         /* halfwidth katakana */
        {"\xef\xbc\xa1", 2, 1},                         /* fullwidth A */
        {"\xea\xb0\x80", 2, 1},                         /* a Hangul syllable */
        {"\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", 2, 1}, /* the same from its letters */
        {"\xf0\x9f\x98\x80", 2, 1},                     /* a face */
        {"\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd", 2, 1},     /* a thumb with a skin tone */
        {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7", 2,
         1},                                        /* family */
        {"\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa", 2, 1}, /* the flag of Germany */
        {"\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x87\xab\xf0\x9f\x87\xb7", 4, 2}, /* two flags */
        {"\xf0\x9f\x87\xa9", 1, 1},                                 /* half a flag */
        {"\xe2\x9d\xa4", 1, 1},                                     /* a heart as text */
        {"\xe2\x9d\xa4\xef\xb8\x8f", 2, 1},                         /* a heart as a picture */
        {"1\xef\xb8\x8f\xe2\x83\xa3", 2, 1},                        /* a keycap */
        {"\xf0\x9f\x8f\xb4\xf3\xa0\x81\xa7\xf3\xa0\x81\xbf", 2, 1}, /* a flag of tags */
        {"\xf0\x9f\xab\xa8", 2, 1},                                 /* newer than the tables */
        {"\xee\x80\x80", 1, 1},                                     /* private use */
        {"\xe2\x94\x82\xe2\xa0\x8b\xe2\x96\x88", 3, 3},             /* a line, a spinner, a bar */
        {"\xe2\x80\x8d", 0, 1},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct weir_slice rest = weir_slice_of(rows[i].text);
        unsigned n = 0;
        if (term_width(rest) != rows[i].width) t_fail(__FILE__, __LINE__, "row %zu", i);
        T_EQ(term_width(rest), rows[i].width);
        while (rest.len > 0) {
            rest = slice_from(rest, term_first(rest).len);
            n++;
        }
        T_EQ(n, rows[i].clusters);
    }
}

TEST(a_cut_label_ends_in_an_ellipsis)
{
    static const struct {
        const char *text;
        unsigned columns;
        const char *want;
        unsigned width;
    } rows[] = {
        {"abc", 3, "abc", 3},
        {"abcd", 3, "ab…", 3},
        {"\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2…", 3},
        {"\xe6\xbc\xa2\xe5\xad\x97", 2, "…", 1},
        {"ab", 0, "", 0},
        {"ab", 1, "…", 1},
    };
    struct weir_buf out;
    weir_buf_init(&out, 100);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weir_buf_reset(&out);
        T_EQ(term_put_cut(&out, weir_slice_of(rows[i].text), rows[i].columns), rows[i].width);
        T_EQ_STR(weir_buf_slice(&out), rows[i].want);
    }
    weir_buf_fini(&out);
}

TEST(lines_are_wrapped_at_good_places)
{
    static const struct {
        const char *text;
        unsigned columns;
        const char *want;
    } rows[] = {
        {"one two three", 20, "one two three|"},
        {"one two three", 7, "one two|three|"},
        {"one two three", 8, "one two|three|"},
        {"one two three", 6, "one|two|three|"},
        {"one  two ", 3, "one|two|"},
        {"abcdefgh", 3, "abc|def|gh|"},
        {"ab cdefgh", 3, "ab|cde|fgh|"},
        {"well-known", 6, "well-|known|"},
        {"rate: -0.5 a", 7, "rate:|-0.5 a|"},
        {"2024-02-05", 6, "2024-0|2-05|"},
        {"a\nb", 9, "a|b|"},
        {"a\n\nb", 9, "a||b|"},
        {"漢字漢字", 4, "漢字|漢字|"},
        {"漢字漢字", 5, "漢字|漢字|"},
        {"漢字", 1, "漢|字|"},
        {"ab漢字", 3, "ab|漢|字|"},
        {" x", 9, " x|"},
        {"  abcdef", 4, "  ab|cdef|"},
        {"", 4, ""},
    };
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct weir_slice rest = weir_slice_of(rows[i].text);
        weir_buf_reset(&out);
        while (rest.len > 0) {
            size_t len;
            size_t next;
            term_wrap(rest, rows[i].columns, &len, &next);
            T_OK(next > 0 && len <= next);
            weir_buf_append(&out, rest.ptr, len);
            weir_buf_append_char(&out, '|');
            rest = slice_from(rest, next);
        }
        T_EQ_STR(weir_buf_slice(&out), rows[i].want);
    }
    weir_buf_fini(&out);
}
