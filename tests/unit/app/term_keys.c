/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a terminal to keys, in every cutting. */
#include "term_keys.h"

#include "cut.h"
#include "t.h"
#include "text.h"

static const char *const names[] = {
    [KEY_CHAR] = "char",     [KEY_PASTED] = "pasted",       [KEY_CONTROL] = "ctrl",
    [KEY_ESCAPE] = "escape", [KEY_ENTER] = "enter",         [KEY_TAB] = "tab",
    [KEY_UP] = "up",         [KEY_BACKSPACE] = "backspace", [KEY_DOWN] = "down",
    [KEY_RIGHT] = "right",   [KEY_LEFT] = "left",           [KEY_HOME] = "home",
    [KEY_END] = "end",       [KEY_INSERT] = "insert",       [KEY_DELETE] = "delete",
    [KEY_PAGE_UP] = "pgup",  [KEY_PAGE_DOWN] = "pgdn",      [KEY_UNKNOWN] = "unknown",
};

static void note(void *user, const struct key *key)
{
    struct text *t = user;
    if (t->len > 0) text_add_char(t, ' ');
    if (key->has_alt) text_printf(t, "alt-");
    if (key->has_control) text_printf(t, "ctrl-");
    text_printf(t, "%s", names[key->kind]);
    if (key->kind > KEY_CONTROL) return;
    text_add_char(t, ':');
    text_add_code_point(t, key->code);
}

/* The keys of an input in one cutting; time passes at its end. */
static void read_cut(struct text *out, struct weir_slice input, struct cut *cut)
{
    struct keys k = {.n_held = 0};
    struct weir_slice rest = input;
    struct weir_slice piece;
    while (cut_take(cut, &rest, &piece)) keys_feed(&k, piece, 0, note, out);
    if (keys_due_ns(&k) != KEYS_NEVER) keys_time(&k, keys_due_ns(&k), note, out);
    T_EQ(k.n_held > 0 && !k.is_pasting, 0);
}

static void check(struct weir_slice input, const char *want)
{
    struct cut cut;
    for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
        struct text got = {0};
        read_cut(&got, input, &cut);
        T_EQ_STR(text_slice(&got), want);
        text_fini(&got);
        cut_fini(&cut);
    }
}

TEST(keys_are_the_same_however_they_are_cut)
{
    static const struct {
        const char *bytes, *keys;
    } rows[] = {
        {"a", "char:a"},
        {"\r\n\t\x7f\b", "enter enter tab backspace backspace"},
        {"\x03\x1a\x1c", "ctrl:C ctrl:Z ctrl:\\"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "char:\xc3\xa9 char:\xe2\x82\xac char:"
                                                 "\xf0\x9f\x98\x80"},
        {"\xff\xe2\x82x", "char:\xef\xbf\xbd char:\xef\xbf\xbd char:x"},
        {"\xe2\x82", "unknown"},
        {"\033", "escape"},
        {"\033\033", "escape escape"},
        {"\033\033\033", "escape escape escape"},
        {"\033[A\033[B\033[C\033[D", "up down right left"},
        {"\033OA\033OB\033OH\033OF", "up down home end"},
        {"\033\033[A", "escape up"},
        {"x\033[Ay", "char:x up char:y"},
        {"\033[1;5C\033[1;3D\033[H\033[F", "ctrl-right alt-left home end"},
        {"\033[1~\033[2~\033[3~\033[4~\033[5~\033[6~\033[7~\033[8~",
         "home insert delete end pgup pgdn home end"},
        {"\033[15~\033[[A\033[99999999999999999~", "unknown unknown unknown"},
        {"\033[27u\033[97u\033[97;3u\033[27;1u", "escape char:a alt-char:a escape"},
        {"\033x\033\xc3\xa9\033\r", "alt-char:x alt-char:\xc3\xa9 alt-enter"},
        {"\033[", "unknown"},
        {"\033[1;", "unknown"},
        {"\033O", "unknown"},
        {"\033[?1;2$y\033[I", "unknown unknown"},
        {"\033[12\x03", "unknown ctrl:C"},
        {"\033[1\033", "unknown escape"},
        {"\033[200~a\033b\033[201~c", "pasted:a pasted:\033 pasted:b char:c"},
        {"\033[200~\033[20\xc3\xa9\033[201~\033", "pasted:\033 pasted:[ pasted:2 pasted:0 "
                                                  "pasted:\xc3\xa9 escape"},
        {"\033[200~\033\033[201~x", "pasted:\033 char:x"},
        {"\033[201~", "unknown"},
        {"\033[0000000000000000000000000000000000000000000000000000000000000000Ax",
         "unknown char:x"},
        {"\033[00000000000000000000000000000000000000000000000[x", "unknown char:x"},
        {"\033[0000000000000000000000000000000000000000000\xc3\xa9", "unknown char:\xc3\xa9"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(weir_slice_of(rows[i].bytes), rows[i].keys);
    check((struct weir_slice){"\0", 1}, "ctrl:@");
}

TEST(a_lone_escape_waits_for_its_time)
{
    struct keys k = {.n_held = 0};
    struct text got = {0};
    keys_feed(&k, weir_slice_of("\033"), 100, note, &got);
    T_EQ(keys_due_ns(&k), 100 + KEYS_WAIT_NS);
    keys_time(&k, 99 + KEYS_WAIT_NS, note, &got);
    T_EQ(got.len, 0);
    keys_time(&k, 100 + KEYS_WAIT_NS, note, &got);
    T_EQ_STR(text_slice(&got), "escape");
    T_EQ(keys_due_ns(&k), KEYS_NEVER);
    text_fini(&got);
}

TEST(an_escape_after_its_time_begins_nothing)
{
    struct keys k = {.n_held = 0};
    struct text got = {0};
    keys_feed(&k, weir_slice_of("\033"), 0, note, &got);
    keys_time(&k, KEYS_WAIT_NS, note, &got);
    keys_feed(&k, weir_slice_of("[A"), KEYS_WAIT_NS, note, &got);
    T_EQ_STR(text_slice(&got), "escape char:[ char:A");
    text_fini(&got);
}

TEST(a_paste_has_all_the_time)
{
    struct keys k = {.n_held = 0};
    struct text got = {0};
    keys_feed(&k, weir_slice_of("\033[200~\033"), 0, note, &got);
    T_EQ(keys_due_ns(&k), KEYS_NEVER);
    keys_time(&k, UINT64_MAX, note, &got);
    keys_feed(&k, weir_slice_of("[201~"), 0, note, &got);
    T_EQ(got.len, 0);
    T_OK(!k.is_pasting);
    text_fini(&got);
}
