/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is held grows byte by byte until it is a key:
 *
 *   ESC                   undecided: a press when time passes or another ESC comes
 *   ESC [ 0-? * sp-/ * @-~   a control sequence (ECMA-48); ESC [ [ and one byte: the Linux console
 *   ESC O byte            the same keys in application mode
 *   ESC other             a key with Alt
 *   ESC [ 200 ~ to ESC [ 201 ~   pasted text, in which only the end is special
 *   else                  UTF-8; bad parts are U+FFFD
 */
#include "term_keys.h"

#include <string.h>

#include "base/slice.h"
#include "base/utf8.h"

enum { ESC = 0x1B, DEL = 0x7F, BAD_CHARACTER = 0xFFFD, PASTE_BEGIN = 200 };

static const char paste_end[] = "\033[201~";

struct turn {
    struct keys *k;
    key_fn on_key;
    void *user;
};

static void emit(const struct turn *t, enum key_kind kind, uint32_t code)
{
    t->on_key(t->user, &(struct key){.kind = kind, .code = code});
}

static uint32_t decode(const unsigned char *bytes, size_t n)
{
    if (n == 1) return bytes[0];
    uint32_t c = bytes[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) c = c << 6 | (bytes[i] & 0x3F);
    return c;
}

/* ---- single characters ---- */

static struct key plain_key(uint32_t c)
{
    struct key key = {.kind = KEY_CHAR, .code = c};
    if (c == '\r' || c == '\n') key.kind = KEY_ENTER;
    else if (c == '\t') key.kind = KEY_TAB;
    else if (c == DEL || c == '\b') key.kind = KEY_BACKSPACE;
    else if (c == ESC) key.kind = KEY_ESCAPE;
    else if (c < 0x20) key = (struct key){.kind = KEY_CONTROL, .code = c + '@'};
    return key;
}

/* How many of these bytes are a character, whole or bad; 0: more are needed. */
static size_t whole_character(const unsigned char *bytes, size_t n, uint32_t *c)
{
    size_t len = 0;
    enum utf8_verdict verdict = utf8_first(slice_of(bytes, n), &len);
    if (verdict == UTF8_PARTIAL) return 0;
    *c = verdict == UTF8_WHOLE ? decode(bytes, len) : BAD_CHARACTER;
    return len;
}

static void drop(struct keys *k, size_t n)
{
    k->n_held -= n;
    memmove(k->held, k->held + n, k->n_held);
}

/* ---- sequences ---- */

static enum key_kind letter_key(unsigned char final)
{
    static const enum key_kind arrows[] = {KEY_UP, KEY_DOWN, KEY_RIGHT, KEY_LEFT};
    if (final >= 'A' && final <= 'D') return arrows[final - 'A'];
    if (final == 'H') return KEY_HOME;
    return final == 'F' ? KEY_END : KEY_UNKNOWN;
}

static enum key_kind number_key(unsigned number)
{
    static const enum key_kind kinds[] = {KEY_UNKNOWN,   KEY_HOME, KEY_INSERT,
                                          KEY_DELETE,    KEY_END,  KEY_PAGE_UP,
                                          KEY_PAGE_DOWN, KEY_HOME, KEY_END};
    return number < sizeof kinds / sizeof *kinds ? kinds[number] : KEY_UNKNOWN;
}

/* The first number after "ESC [". */
static unsigned first_number(const struct keys *k)
{
    unsigned number = 0;
    for (size_t i = 2; i < k->n_held && k->held[i] >= '0' && k->held[i] <= '9'; i++)
        if (number < 100000) number = number * 10 + (k->held[i] - '0');
    return number;
}

enum { WITH_ALT = 2, WITH_CONTROL = 4 };

/* Whether the modifiers in "1;3A" have this one among them. */
static bool has_modifier(const struct keys *k, int modifier)
{
    const unsigned char *semicolon = memchr(k->held, ';', k->n_held);
    if (!semicolon || semicolon + 1 == k->held + k->n_held) return false;
    return semicolon[1] > '0' && semicolon[1] <= '9' && ((semicolon[1] - '1') & modifier) != 0;
}

static void end_sequence(const struct turn *t)
{
    struct keys *k = t->k;
    unsigned char final = k->held[k->n_held - 1];
    struct key key = {.kind = KEY_UNKNOWN, .has_alt = has_modifier(k, WITH_ALT)};
    key.has_control = has_modifier(k, WITH_CONTROL);
    bool is_paste = false;
    bool is_known = !k->is_skipping && k->held[2] != '[';
    if (is_known && final == '~') {
        is_paste = first_number(k) == PASTE_BEGIN;
        key.kind = number_key(first_number(k));
    } else if (is_known && final == 'u' && first_number(k) > 0) {
        key = plain_key(first_number(k));
        key.has_alt = has_modifier(k, WITH_ALT);
    } else if (is_known) {
        key.kind = letter_key(final);
    }
    k->n_held = 0;
    k->is_skipping = false;
    k->is_pasting = is_paste;
    if (!is_paste) t->on_key(t->user, &key);
}

/* A byte more of "ESC [ ...". */
static void step_sequence(const struct turn *t)
{
    struct keys *k = t->k;
    unsigned char last = k->held[k->n_held - 1];
    bool is_console = !k->is_skipping && k->held[2] == '['; /* one byte more */
    if (is_console && k->n_held == 3) return;
    if (is_console || (last >= 0x40 && last <= 0x7E)) {
        end_sequence(t);
    } else if (last < 0x20 || last > 0x7E) {
        /* Not of a sequence at all: what began is no key of ours, and this byte is another. */
        k->is_skipping = false;
        drop(k, k->n_held - 1);
        emit(t, KEY_UNKNOWN, 0);
    } else if (k->n_held == KEYS_SEQUENCE_BYTES) {
        k->is_skipping = true;
        k->n_held = 2;
    }
}

static void end_alt(const struct turn *t)
{
    struct keys *k = t->k;
    uint32_t c = 0;
    size_t n = whole_character(k->held + 1, k->n_held - 1, &c);
    if (n == 0) return;
    struct key key = plain_key(c);
    key.has_alt = true;
    drop(k, n + 1);
    t->on_key(t->user, &key);
}

static void step_escape(const struct turn *t)
{
    struct keys *k = t->k;
    if (k->n_held == 1) return;
    if (k->held[1] == ESC) {
        drop(k, 1);
        emit(t, KEY_ESCAPE, 0);
    } else if (k->held[1] == '[') {
        if (k->n_held > 2) step_sequence(t);
    } else if (k->held[1] == 'O') {
        if (k->n_held < 3) return;
        enum key_kind kind = letter_key(k->held[2]);
        k->n_held = 0;
        emit(t, kind, 0);
    } else {
        end_alt(t);
    }
}

/* ---- pasted text ---- */

static void step_paste(const struct turn *t)
{
    struct keys *k = t->k;
    uint32_t c = 0;
    while (k->n_held > 0) {
        if (memcmp(k->held, paste_end, k->n_held) == 0) {
            if (k->n_held < sizeof paste_end - 1) return;
            k->n_held = 0;
            k->is_pasting = false;
            return;
        }
        size_t n = whole_character(k->held, k->n_held, &c);
        if (n == 0) return;
        drop(k, n);
        emit(t, KEY_PASTED, c);
    }
}

/* ---- bytes ---- */

static void step_plain(const struct turn *t)
{
    struct keys *k = t->k;
    uint32_t c = 0;
    size_t n = whole_character(k->held, k->n_held, &c);
    if (n == 0) return;
    drop(k, n);
    struct key key = plain_key(c);
    t->on_key(t->user, &key);
}

/* Decides as much as can be; what is left wants more bytes. */
static void step(const struct turn *t)
{
    struct keys *k = t->k;
    size_t before = KEYS_SEQUENCE_BYTES + 1;
    while (k->n_held > 0 && k->n_held < before) {
        before = k->n_held;
        if (k->is_pasting) step_paste(t);
        else if (k->held[0] == ESC) step_escape(t);
        else step_plain(t);
    }
}

void keys_feed(struct keys *k, struct weir_slice bytes, uint64_t now_ns, key_fn on_key, void *user)
{
    const struct turn t = {k, on_key, user};
    for (size_t i = 0; i < bytes.len; i++) {
        k->held[k->n_held++] = (unsigned char)bytes.ptr[i];
        k->held_ns = now_ns;
        step(&t);
    }
}

uint64_t keys_due_ns(const struct keys *k)
{
    if (k->n_held == 0 || k->is_pasting) return KEYS_NEVER;
    return k->held_ns + KEYS_WAIT_NS;
}

void keys_time(struct keys *k, uint64_t now_ns, key_fn on_key, void *user)
{
    uint64_t due_ns = keys_due_ns(k);
    if (due_ns == KEYS_NEVER || now_ns < due_ns) return;
    bool is_escape = k->n_held == 1 && k->held[0] == ESC;
    k->n_held = 0;
    k->is_skipping = false;
    on_key(user, &(struct key){.kind = is_escape ? KEY_ESCAPE : KEY_UNKNOWN});
}
