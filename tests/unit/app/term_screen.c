/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a screen, judged by a small terminal that obeys them: whatever is committed stands
 * above, in order and once, and the live region stands below.
 */
#include "term_screen.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "t.h"
#include "text.h"

enum { COLUMNS = 20, ROWS = 8, LINES = 4000 };

/* A terminal of ASCII: lines that scrolled away and those that are seen. */
struct terminal {
    char lines[LINES][COLUMNS + 1];
    size_t top; /* the first line that is seen */
    size_t row, column;
    bool has_wrap, has_cursor;
    unsigned updates; /* how deep in synchronized updates */
};

static struct terminal term;

static void erase(size_t row, size_t from)
{
    for (size_t i = from; i < COLUMNS; i++) term.lines[row][i] = '\0';
}

static void line_feed(void)
{
    if (term.row + 1 < ROWS) term.row++;
    else term.top++;
    T_OK(term.top + ROWS < LINES);
}

static void control(const char *parameters, char final)
{
    unsigned n = (unsigned)strtoul(parameters, NULL, 10);
    size_t at = term.top + term.row;
    if (final == 'A') term.row -= n < term.row ? n : term.row;
    else if (final == 'B') term.row = term.row + n < ROWS ? term.row + n : ROWS - 1;
    else if (final == 'C') term.column += n > 0 ? n : 1;
    else if (final == 'K') erase(at, term.column);
    else if (final == 'J') {
        erase(at, term.column);
        for (size_t i = term.row + 1; i < ROWS; i++) erase(term.top + i, 0);
    } else if (parameters[0] == '?' && strcmp(parameters, "?7") == 0) {
        term.has_wrap = final == 'h';
    } else if (strcmp(parameters, "?25") == 0) {
        term.has_cursor = final == 'h';
    } else if (strcmp(parameters, "?2026") == 0) {
        T_EQ(term.updates, final == 'l');
        term.updates = final == 'h';
    } else {
        t_fail(__FILE__, __LINE__, "unknown sequence %s%c", parameters, final);
    }
}

static void print(char c)
{
    T_OK(term.column < COLUMNS);
    size_t at = term.column < COLUMNS ? term.column : COLUMNS - 1;
    term.lines[term.top + term.row][at] = c;
    term.column = at + 1;
}

static void obey(struct weir_slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        char c = bytes.ptr[i];
        if (c == '\r') term.column = 0;
        else if (c == '\n') line_feed();
        else if (c == '\033') {
            char parameters[16] = "";
            size_t n = 0;
            for (i += 2; bytes.ptr[i] < '@' && n < 15; i++) parameters[n++] = bytes.ptr[i];
            control(parameters, bytes.ptr[i]);
        } else {
            print(c);
        }
    }
    T_EQ(term.updates, 0);
}

static void begin(struct screen *s)
{
    memset(&term, 0, sizeof term);
    term.has_wrap = true;
    screen_init(s, COLUMNS, ROWS);
}

/* All lines the terminal ever had, without blank ones at the end. */
static void read_all(struct text *out)
{
    size_t end = term.top + ROWS;
    while (end > 0 && term.lines[end - 1][0] == '\0') end--;
    for (size_t i = 0; i < end; i++) text_printf(out, "%s\n", term.lines[i]);
}

static void commit(struct screen *s, const char *row)
{
    screen_commit(s, weir_slice_of(row));
}

static void live(struct screen *s, const char *const *rows)
{
    screen_live_begin(s);
    for (; *rows; rows++) screen_live_row(s, weir_slice_of(*rows));
}

#define LIVE(s, ...) live(s, (const char *const[]){__VA_ARGS__, NULL})

static void check(const char *want)
{
    struct text got = {0};
    read_all(&got);
    T_EQ_STR(text_slice(&got), want);
    text_fini(&got);
}

TEST(committed_rows_stand_above_the_region)
{
    struct screen s;
    begin(&s);
    commit(&s, "one");
    LIVE(&s, "a", "b");
    obey(screen_frame(&s));
    check("one\na\nb\n");
    commit(&s, "two");
    LIVE(&s, "a", "c");
    obey(screen_frame(&s));
    check("one\ntwo\na\nc\n");
    obey(screen_leave(&s));
    check("one\ntwo\n");
    T_OK(term.has_wrap);
    screen_fini(&s);
}

TEST(only_rows_that_differ_are_written)
{
    struct screen s;
    begin(&s);
    LIVE(&s, "first", "second", "third");
    obey(screen_frame(&s));
    LIVE(&s, "first", "second", "third");
    T_EQ(screen_frame(&s).len, 0);
    LIVE(&s, "first", "changed", "third");
    struct weir_slice frame = screen_frame(&s);
    T_OK(memmem(frame.ptr, frame.len, "changed", 7) != NULL);
    T_OK(memmem(frame.ptr, frame.len, "first", 5) == NULL);
    T_OK(memmem(frame.ptr, frame.len, "third", 5) == NULL);
    obey(frame);
    check("first\nchanged\nthird\n");
    screen_fini(&s);
}

TEST(the_region_grows_and_shrinks)
{
    struct screen s;
    begin(&s);
    commit(&s, "x");
    LIVE(&s, "a");
    obey(screen_frame(&s));
    LIVE(&s, "a", "b", "c");
    obey(screen_frame(&s));
    check("x\na\nb\nc\n");
    LIVE(&s, "c");
    obey(screen_frame(&s));
    check("x\nc\n");
    screen_live_begin(&s);
    obey(screen_frame(&s));
    check("x\n");
    screen_fini(&s);
}

TEST(a_region_that_is_too_high_shows_its_end)
{
    struct screen s;
    begin(&s);
    LIVE(&s, "1", "2", "3", "4", "5", "6", "7", "8", "9");
    obey(screen_frame(&s));
    check("3\n4\n5\n6\n7\n8\n9\n");
    commit(&s, "x");
    LIVE(&s, "1");
    obey(screen_frame(&s));
    check("x\n1\n");
    screen_fini(&s);
}

TEST(after_a_resize_all_is_drawn_again)
{
    struct screen s;
    begin(&s);
    LIVE(&s, "0123456789", "b");
    obey(screen_frame(&s));
    screen_resize(&s, 5, ROWS);
    T_EQ(s.cursor, 2); /* the first row has become two */
    screen_resize(&s, COLUMNS, ROWS);
    T_EQ(s.cursor, 1);
    LIVE(&s, "0123456789", "b");
    obey(screen_frame(&s));
    check("0123456789\nb\n");
    screen_fini(&s);
}

TEST(the_cursor_stands_where_somebody_types)
{
    struct screen s;
    begin(&s);
    commit(&s, "x");
    LIVE(&s, "spinner", "> type", "below");
    screen_live_cursor(&s, 1, 6);
    obey(screen_frame(&s));
    check("x\nspinner\n> type\nbelow\n");
    T_OK(term.has_cursor);
    T_EQ(term.row, 2);
    T_EQ(term.column, 6);
    LIVE(&s, "spinner", "> type", "below");
    screen_live_cursor(&s, 1, 6);
    T_EQ(screen_frame(&s).len, 0);
    LIVE(&s, "spinner", "> type", "below");
    screen_live_cursor(&s, 1, 2);
    obey(screen_frame(&s));
    T_EQ(term.row, 2);
    T_EQ(term.column, 2);
    commit(&s, "y");
    LIVE(&s, "spinner");
    obey(screen_frame(&s));
    check("x\ny\nspinner\n");
    T_OK(!term.has_cursor);
    LIVE(&s, "0123456789", "> 01234567890");
    screen_live_cursor(&s, 0, 99);
    obey(screen_frame(&s));
    T_EQ(term.column, COLUMNS - 1); /* never outside */
    screen_resize(&s, 5, ROWS);
    T_EQ(s.cursor, 5); /* the first row is two now, and the cursor is in the fourth of the second */
    obey(screen_leave(&s));
    T_OK(!term.has_cursor);
    screen_fini(&s);
}

/* A random row that is short enough for any width. */
static const char *random_row(void)
{
    static const char *const rows[] = {"", "a", "bb", "a row", "another", "01234567890123456789"};
    return rows[t_random() % 6];
}

TEST(random_frames_lose_and_repeat_nothing)
{
    for (int round = 0; round < 20; round++) {
        struct screen s;
        struct text committed = {0};
        begin(&s);
        for (int i = 0; i < 150; i++) {
            struct text want = {0};
            char numbered[24];
            for (size_t n = t_random() % 3; n > 0; n--) {
                snprintf(numbered, sizeof numbered, "%zu", committed.len);
                commit(&s, numbered);
                text_printf(&committed, "%s\n", numbered);
            }
            text_add(&want, committed.ptr, committed.len);
            screen_live_begin(&s);
            for (size_t n = t_random() % (ROWS - 1); n > 0; n--) {
                const char *row = random_row();
                screen_live_row(&s, weir_slice_of(row));
                text_printf(&want, "%s\n", row);
            }
            screen_live_row(&s, SLICE("end"));
            text_printf(&want, "end\n");
            if (t_random() % 2 == 0) screen_live_cursor(&s, t_random() % ROWS, 3);
            obey(screen_frame(&s));
            struct text got = {0};
            read_all(&got);
            T_EQ_SLICE(text_slice(&got), text_slice(&want));
            text_fini(&got);
            text_fini(&want);
        }
        text_fini(&committed);
        screen_fini(&s);
    }
}
