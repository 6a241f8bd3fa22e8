/* SPDX-License-Identifier: Apache-2.0 */
/* What keys do to a text; they come as a terminal sends them. The cursor is shown as "|". */
#include "line_editor.h"

#include <string.h>

#include "base/slice.h"
#include "t.h"
#include "text.h"

struct typing {
    struct line_editor *e;
    enum line_act act; /* the last that was something */
};

static void press(void *user, const struct key *key)
{
    struct typing *t = user;
    enum line_act act = line_editor_key(t->e, key);
    if (act != LINE_NOTHING) t->act = act;
}

static enum line_act type(struct line_editor *e, const char *bytes)
{
    struct keys k = {.n_held = 0};
    struct typing t = {e, LINE_NOTHING};
    keys_feed(&k, weir_slice_of(bytes), 0, press, &t);
    keys_time(&k, KEYS_WAIT_NS, press, &t);
    return t.act;
}

static void check(const struct line_editor *e, const char *want)
{
    struct text got = {0};
    struct weir_slice text = line_editor_text(e);
    size_t cursor = line_editor_cursor(e);
    text_add(&got, text.ptr, cursor);
    text_add_char(&got, '|');
    text_add(&got, text.ptr + cursor, text.len - cursor);
    T_EQ_STR(text_slice(&got), want);
    text_fini(&got);
}

#define LEFT  "\033[D"
#define RIGHT "\033[C"
#define UP    "\033[A"
#define DOWN  "\033[B"

TEST(keys_edit_as_people_are_used_to)
{
    static const struct {
        const char *keys, *text;
    } rows[] = {
        {"abc", "abc|"},
        {"abc" LEFT LEFT "x", "ax|bc"},
        {"abc\001x\005y", "xabcy|"},
        {"abc\033[Hx\033[Fy", "xabcy|"},
        {"abc\177", "ab|"},
        {"\177\033[3~", "|"},
        {"abc\001\033[3~", "|bc"},
        {"abc\001\004", "|bc"},
        {"one two  \027", "one |"},
        {"one two\001\033f", "one| two"},
        {"one two\001\033f\033f", "one two|"},
        {"one two\033b", "one |two"},
        {"one two\033[1;5D", "one |two"},
        {"one two\033[1;3D\033[1;5D\033[1;5C", "one| two"},
        {"one two\001\033d", "| two"},
        {"one-two\033\177", "one-|"},
        {"abc def\002\002\013", "abc d|"},
        {"abc def\002\002\025", "|ef"},
        {"abc\025x\031", "xabc|"},
        {"漢字" LEFT "x", "漢x|字"},
        {"e\xcc\x81x" LEFT LEFT "y", "y|e\xcc\x81x"},
        {"👩‍🔬🇩🇪" LEFT "x" LEFT LEFT "y", "y|👩‍🔬x🇩🇪"},
        {"👩‍🔬\177", "|"},
        {"ab" LEFT "\xcc\x81", "a\xcc\x81|b"},
        {"\xcc\x81\001"
         "e",
         "e\xcc\x81|"},
        {"ab\xffz", "ab\xef\xbf\xbdz|"},
        {"a\033\rb", "a\nb|"},
        {"a\\\rb", "a\nb|"},
        {"one\033\rtwo\001x", "one\nx|two"},
        {"one\033\rtwo\001\025", "one|two"},
        {"one\033\rtwo" UP "\002\013", "on|\ntwo"},
        {"one\033\rtwo" UP "\013", "one|two"},
        {"longer\033\rab\033\rlonger" UP "x", "longer\nabx|\nlonger"},
        {"longer\033\rab\033\rlonger" UP UP "x" DOWN DOWN "y", "loxnger\nab\nloy|nger"},
        {"\033[200~two\r\nlines\rand\nthree\033[201~!", "two\nlines\nand\nthree!|"},
        {"\033[200~a\033[31mb\x07\xc2\x9b\tc\033[201~", "a[31mb\tc|"},
        {"\033[200~e\033[201~\xcc\x81\002", "|e\xcc\x81"},
        {"\033[55296u\033[999999ux", "\xf3\xb4\x88\xbfx|"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct line_editor *e = line_editor_new();
        T_EQ(type(e, rows[i].keys), LINE_NOTHING);
        check(e, rows[i].text);
        line_editor_free(e);
    }
}

TEST(enter_submits_what_is_not_empty)
{
    struct line_editor *e = line_editor_new();
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    T_EQ(type(e, "\r"), LINE_NOTHING);
    T_EQ(type(e, "  \r"), LINE_NOTHING);
    T_EQ(type(e, "x" LEFT "\r"), LINE_SUBMIT);
    T_OK(!line_editor_take(e, &out)); /* it begins with a blank */
    T_EQ_STR(weir_buf_slice(&out), "  x");
    check(e, "|");
    T_EQ(type(e, "a\\\\\r"), LINE_SUBMIT); /* two are one */
    weir_buf_reset(&out);
    T_OK(line_editor_take(e, &out));
    T_EQ_STR(weir_buf_slice(&out), "a\\\\");
    weir_buf_fini(&out);
    line_editor_free(e);
}

TEST(other_keys_ask_for_the_end_and_for_a_clean_screen)
{
    struct line_editor *e = line_editor_new();
    T_EQ(type(e, "\014"), LINE_REDRAW);
    T_EQ(type(e, "\t"), LINE_COMPLETE);
    T_EQ(type(e, "x\004"), LINE_NOTHING);
    T_EQ(type(e, "\177\004"), LINE_QUIT);
    T_EQ(type(e, "\033"), LINE_NOTHING);
    check(e, "|");
    line_editor_free(e);
}

TEST(the_history_keeps_the_draft)
{
    struct line_editor *e = line_editor_new();
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    line_editor_remember(e, SLICE("first\nsecond \xc2\x9b\\nline\n"));
    type(e, "draft" UP);
    check(e, "second \nline|");
    type(e, UP);
    check(e, "seco|nd \nline"); /* within it first */
    type(e, UP UP UP);
    check(e, "first|");
    type(e, " changed" DOWN);
    check(e, "second \nline|");
    type(e, "\020\020\016");
    check(e, "second \nline|");
    type(e, DOWN DOWN);
    check(e, "draft|");
    T_EQ(type(e, UP UP UP "\r"), LINE_SUBMIT);
    T_OK(line_editor_take(e, &out));
    T_EQ_STR(weir_buf_slice(&out), "first");
    type(e, UP);
    check(e, "first|");
    line_editor_set(e, SLICE("put\033 back\xff"));
    check(e, "put back|");
    type(e, DOWN);
    check(e, "put back|");
    weir_buf_fini(&out);
    line_editor_free(e);
}

TEST(there_is_room_for_so_much_and_no_more)
{
    struct line_editor *e = line_editor_new();
    const struct key wide = {.kind = KEY_PASTED, .code = 0x6F22}; /* of three bytes */
    for (size_t i = 0; i < LINE_TEXT_BYTES; i++) (void)line_editor_key(e, &wide);
    T_OK(line_editor_is_full(e));
    T_EQ(line_editor_text(e).len, LINE_TEXT_BYTES - LINE_TEXT_BYTES % 3);
    type(e, "\001");
    T_OK(!line_editor_is_full(e));
    type(e, "\013");
    T_EQ(line_editor_text(e).len, 0);
    type(e, "\031");
    T_EQ(line_editor_text(e).len, LINE_TEXT_BYTES - LINE_TEXT_BYTES % 3);
    type(e, "\031");
    T_OK(line_editor_is_full(e));
    line_editor_free(e);
}
