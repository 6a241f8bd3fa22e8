/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text is one piece of memory with a fixed size, so that no key can fail halfway. Clusters are
 * found forwards only; to go back one, we begin where one certainly begins: between two ASCII
 * characters, at most NEAR_BYTES away.
 */
#include "line_editor.h"

#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "term_text.h"

enum { NEAR_BYTES = 512, FIRST_PRINTABLE = 0x20, DEL = 0x7F, C1_END = 0xA0, LAST_CODE = 0x10FFFF };

struct line_text {
    size_t len;
    char bytes[LINE_TEXT_BYTES];
};

struct line_editor {
    struct line_text text;
    size_t cursor;
    struct line_text killed; /* for Ctrl-Y */
    struct line_text draft;  /* what was left to look at the history */
    struct line_history history;
    size_t shown; /* which of the history is edited; history.n: the draft */
    bool is_full;
    bool has_cr; /* a CR was pasted last; an LF belongs to it */
};

static struct weir_slice slice_of_text(const struct line_text *t)
{
    return slice_of(t->bytes, t->len);
}

/* From another part of these texts, so that it fits. */
static void copy_text(struct line_text *to, struct weir_slice from)
{
    to->len = from.len;
    if (from.len > 0) memcpy(to->bytes, from.ptr, from.len);
}

/* ---- places ---- */

static bool is_ascii(const struct line_editor *e, size_t at)
{
    return (unsigned char)e->text.bytes[at] < 0x80;
}

static bool is_inner_byte(const struct line_editor *e, size_t at)
{
    return ((unsigned char)e->text.bytes[at] & 0xC0) == 0x80;
}

/* A place at or before this one where a cluster begins. */
static size_t sure_place(const struct line_editor *e, size_t at)
{
    size_t first = at > NEAR_BYTES ? at - NEAR_BYTES : 0;
    while (at > first && !(at < e->text.len && is_ascii(e, at) && is_ascii(e, at - 1))) at--;
    while (at > 0 && at < e->text.len && is_inner_byte(e, at)) at--;
    return at;
}

static size_t next_place(const struct line_editor *e, size_t at)
{
    if (at == e->text.len) return at;
    return at + term_first(slice_from(slice_of_text(&e->text), at)).len;
}

static size_t place_before(const struct line_editor *e, size_t at)
{
    if (at == 0) return 0;
    size_t before = sure_place(e, at - 1);
    for (size_t next = next_place(e, before); next < at; next = next_place(e, before))
        before = next;
    return before;
}

/* Text that was put in or taken out may have joined what stands at the cursor. */
static void settle(struct line_editor *e)
{
    size_t at = sure_place(e, e->cursor);
    while (at < e->cursor) at = next_place(e, at);
    e->cursor = at;
}

static size_t line_begin(const struct line_editor *e, size_t at)
{
    while (at > 0 && e->text.bytes[at - 1] != '\n') at--;
    return at;
}

static size_t line_end(const struct line_editor *e, size_t at)
{
    while (at < e->text.len && e->text.bytes[at] != '\n') at++;
    return at;
}

static bool is_word_byte(char c)
{
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static size_t word_before(const struct line_editor *e, size_t at)
{
    while (at > 0 && !is_word_byte(e->text.bytes[at - 1])) at--;
    while (at > 0 && is_word_byte(e->text.bytes[at - 1])) at--;
    return at;
}

static size_t word_end(const struct line_editor *e, size_t at)
{
    while (at < e->text.len && !is_word_byte(e->text.bytes[at])) at++;
    while (at < e->text.len && is_word_byte(e->text.bytes[at])) at++;
    return at;
}

/* Up to the blank before, whatever stands there, as shells have it for Ctrl-W. */
static size_t blank_before(const struct line_editor *e, size_t at)
{
    while (at > 0 && is_blank(e->text.bytes[at - 1])) at--;
    while (at > 0 && !is_blank(e->text.bytes[at - 1])) at--;
    return at;
}

/* ---- changes ---- */

static void insert(struct line_editor *e, struct weir_slice more)
{
    struct line_text *t = &e->text;
    if (more.len > LINE_TEXT_BYTES - t->len) {
        e->is_full = true;
        return;
    }
    memmove(t->bytes + e->cursor + more.len, t->bytes + e->cursor, t->len - e->cursor);
    memcpy(t->bytes + e->cursor, more.ptr, more.len);
    t->len += more.len;
    e->cursor += more.len;
}

static void remove_part(struct line_editor *e, size_t from, size_t to)
{
    struct line_text *t = &e->text;
    memmove(t->bytes + from, t->bytes + to, t->len - to);
    t->len -= to - from;
    e->cursor = from;
    settle(e);
}

static void kill_part(struct line_editor *e, size_t from, size_t to)
{
    if (from == to) return;
    copy_text(&e->killed, slice_of(e->text.bytes + from, to - from));
    remove_part(e, from, to);
}

static bool is_text(uint32_t c)
{
    if (c == '\n' || c == '\t') return true;
    if (c < FIRST_PRINTABLE || (c >= DEL && c < C1_END)) return false;
    return c <= LAST_CODE && !utf16_is_high(c) && !utf16_is_low(c);
}

static void insert_code(struct line_editor *e, uint32_t c)
{
    char bytes[UTF8_MAX_BYTES];
    if (is_text(c)) insert(e, slice_of(bytes, utf8_encode(bytes, c)));
}

/* Line ends come as CR from most terminals, as CR LF from some. The cursor settles when the next
 * key is pressed, for a long text would be walked over again and again. */
static void paste(struct line_editor *e, uint32_t c)
{
    bool is_rest = c == '\n' && e->has_cr;
    e->has_cr = c == '\r';
    if (!is_rest) insert_code(e, c == '\r' ? '\n' : c);
}

static void type(struct line_editor *e, uint32_t c)
{
    insert_code(e, c);
    settle(e);
}

/* What is no text is left out, and what does not fit. */
static void set_text(struct line_editor *e, struct weir_slice text)
{
    e->text.len = e->cursor = 0;
    while (text.len > 0) {
        size_t n = 0;
        enum utf8_verdict verdict = utf8_first(text, &n);
        if (verdict == UTF8_PARTIAL) break;
        unsigned char first = (unsigned char)text.ptr[0];
        unsigned char second = (unsigned char)text.ptr[n - 1];
        bool is_c1 = n == 2 && first == 0xC2 && second < C1_END;
        bool is_good = verdict == UTF8_WHOLE && !is_c1 && (n > 1 || is_text(first));
        if (is_good) insert(e, slice_of(text.ptr, n));
        text = slice_from(text, n);
    }
    settle(e);
}

/* ---- up and down ---- */

static void show(struct line_editor *e, size_t which)
{
    if (e->shown == e->history.n) copy_text(&e->draft, slice_of_text(&e->text));
    bool is_draft = which == e->history.n;
    set_text(e, is_draft ? slice_of_text(&e->draft) : e->history.entries[which]);
    e->shown = which;
}

/* To the same column, or as near as may be, of the line that begins there. */
static void go_to_line(struct line_editor *e, size_t begin)
{
    size_t from = line_begin(e, e->cursor);
    unsigned column = term_width(slice_of(e->text.bytes + from, e->cursor - from));
    struct weir_slice line = slice_of(e->text.bytes + begin, line_end(e, begin) - begin);
    e->cursor = begin + term_fit(line, column);
}

static void go_up(struct line_editor *e)
{
    size_t begin = line_begin(e, e->cursor);
    if (begin > 0) go_to_line(e, line_begin(e, begin - 1));
    else if (e->shown > 0) show(e, e->shown - 1);
}

static void go_down(struct line_editor *e)
{
    size_t end = line_end(e, e->cursor);
    if (end < e->text.len) go_to_line(e, end + 1);
    else if (e->shown < e->history.n) show(e, e->shown + 1);
}

/* ---- keys ---- */

/* An odd number of backslashes: the last one stands alone. */
static bool has_open_backslash(const struct line_editor *e)
{
    size_t n = 0;
    while (n < e->text.len && e->text.bytes[e->text.len - 1 - n] == '\\') n++;
    return n % 2 == 1;
}

static bool has_only_blanks(const struct line_editor *e)
{
    for (size_t i = 0; i < e->text.len; i++)
        if (!is_blank(e->text.bytes[i])) return false;
    return true;
}

static enum line_act press_enter(struct line_editor *e, bool has_alt)
{
    if (has_alt) {
        type(e, '\n');
    } else if (e->cursor == e->text.len && has_open_backslash(e)) {
        e->text.bytes[e->text.len - 1] = '\n';
    } else if (!has_only_blanks(e)) {
        return LINE_SUBMIT;
    }
    return LINE_NOTHING;
}

static enum line_act press_control(struct line_editor *e, uint32_t letter)
{
    size_t begin = line_begin(e, e->cursor);
    size_t end = line_end(e, e->cursor);
    switch (letter) {
    case 'A': e->cursor = begin; break;
    case 'B': e->cursor = place_before(e, e->cursor); break;
    case 'D':
        if (e->text.len == 0) return LINE_QUIT;
        remove_part(e, e->cursor, next_place(e, e->cursor));
        break;
    case 'E': e->cursor = end; break;
    case 'F': e->cursor = next_place(e, e->cursor); break;
    case 'K': kill_part(e, e->cursor, end > e->cursor ? end : next_place(e, end)); break;
    case 'L': return LINE_REDRAW;
    case 'N': go_down(e); break;
    case 'P': go_up(e); break;
    case 'U': kill_part(e, begin < e->cursor ? begin : place_before(e, begin), e->cursor); break;
    case 'W': kill_part(e, blank_before(e, e->cursor), e->cursor); break;
    case 'Y':
        insert(e, slice_of_text(&e->killed));
        settle(e);
        break;
    default: break;
    }
    return LINE_NOTHING;
}

static void press_with_alt(struct line_editor *e, uint32_t c)
{
    if (c == 'b') e->cursor = word_before(e, e->cursor);
    if (c == 'f') e->cursor = word_end(e, e->cursor);
    if (c == 'd') kill_part(e, e->cursor, word_end(e, e->cursor));
}

/* Keys that move or delete, by letter or by word. */
static void press_place(struct line_editor *e, const struct key *key)
{
    bool is_by_word = key->has_alt || key->has_control;
    size_t at = e->cursor;
    switch (key->kind) {
    case KEY_LEFT: e->cursor = is_by_word ? word_before(e, at) : place_before(e, at); break;
    case KEY_RIGHT: e->cursor = is_by_word ? word_end(e, at) : next_place(e, at); break;
    case KEY_HOME: e->cursor = line_begin(e, at); break;
    case KEY_END: e->cursor = line_end(e, at); break;
    case KEY_UP: go_up(e); break;
    case KEY_DOWN: go_down(e); break;
    case KEY_DELETE: remove_part(e, at, next_place(e, at)); break;
    case KEY_BACKSPACE:
        if (is_by_word) kill_part(e, word_before(e, at), at);
        else remove_part(e, place_before(e, at), at);
        break;
    default: break;
    }
}

enum line_act line_editor_key(struct line_editor *e, const struct key *key)
{
    if (key->kind == KEY_PASTED) {
        if (!e->is_full) paste(e, key->code); /* else bits of its end would fit */
        return LINE_NOTHING;
    }
    e->is_full = e->has_cr = false;
    settle(e);
    switch (key->kind) {
    case KEY_CHAR:
        if (key->has_alt) press_with_alt(e, key->code);
        else type(e, key->code);
        break;
    case KEY_CONTROL: return press_control(e, key->code);
    case KEY_ENTER: return press_enter(e, key->has_alt);
    case KEY_TAB: return LINE_COMPLETE;
    default: press_place(e, key); break;
    }
    return LINE_NOTHING;
}

/* ---- the text ---- */

struct weir_slice line_editor_text(const struct line_editor *e)
{
    return slice_of_text(&e->text);
}

size_t line_editor_cursor(const struct line_editor *e)
{
    return e->cursor;
}

bool line_editor_is_full(const struct line_editor *e)
{
    return e->is_full;
}

bool line_editor_take(struct line_editor *e, struct weir_buf *out)
{
    weir_buf_append_slice(out, slice_of_text(&e->text));
    bool is_kept = line_history_add(&e->history, slice_of_text(&e->text));
    e->text.len = e->draft.len = e->cursor = 0;
    e->shown = e->history.n;
    return is_kept;
}

void line_editor_set(struct line_editor *e, struct weir_slice text)
{
    set_text(e, text);
    e->shown = e->history.n;
}

void line_editor_remember(struct line_editor *e, struct weir_slice lines)
{
    line_history_read(&e->history, lines);
    e->shown = e->history.n;
}

/* ---- life ---- */

struct line_editor *line_editor_new(void)
{
    return mem_zalloc(sizeof(struct line_editor));
}

void line_editor_free(struct line_editor *e)
{
    if (!e) return;
    line_history_fini(&e->history);
    mem_free(e);
}
