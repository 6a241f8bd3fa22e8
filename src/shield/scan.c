/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pass over a text: bytes are classed, words without a digit or a sign are left at once, and at
 * each trigger in the others its matchers run.
 *
 * Time. A matcher looks at a bounded window around its trigger, and those that look backward never
 * pass the place where they ended before. So the pass is linear, whatever the bytes are.
 */
#include <string.h>

#include "base/mem.h"
#include "shield/words.h"

enum { LONG_WORD = 18 /* letters only: long enough for a key */ };

#define D  (BYTE_DIGIT | BYTE_HEX)
#define U  BYTE_UPPER
#define H  (BYTE_UPPER | BYTE_HEX)
#define l  BYTE_LOWER
#define h  (BYTE_LOWER | BYTE_HEX)
#define s_ BYTE_SPACE
#define g  BYTE_SIGN
#define x  BYTE_HIGH
const uint8_t shield_bytes[256] = {
    0, 0, 0, 0, 0, 0, 0,  0, 0, s_, s_, s_, s_, s_, 0, 0, 0, 0, 0, 0, 0,        0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, s_, 0, 0, 0,  0,  0,  0,  0,  0, 0, 0, 0, 0, 0, BYTE_DOT, 0, D, D, D, D,
    D, D, D, D, D, D, g,  0, 0, g,  0,  0,  g,  H,  H, H, H, H, H, U, U,        U, U, U, U, U,
    U, U, U, U, U, U, U,  U, U, U,  U,  U,  U,  0,  0, 0, 0, g, 0, h, h,        h, h, h, h, l,
    l, l, l, l, l, l, l,  l, l, l,  l,  l,  l,  l,  l, l, l, l, l, 0, 0,        0, 0, 0, x, x,
    x, x, x, x, x, x, x,  x, x, x,  x,  x,  x,  x,  x, x, x, x, x, x, x,        x, x, x, x, x,
    x, x, x, x, x, x, x,  x, x, x,  x,  x,  x,  x,  x, x, x, x, x, x, x,        x, x, x, x, x,
    x, x, x, x, x, x, x,  x, x, x,  x,  x,  x,  x,  x, x, x, x, x, x, x,        x, x, x, x, x,
    x, x, x, x, x, x, x,  x, x, x,  x,  x,  x,  x,  x, x, x, x, x, x, x,        x, x, x, x, x,
    x, x, x, x, x, x, x,  x, x, x,  x,  x,  x,  x,  x, x, x, x, x, x, x,        x,
};
#undef D
#undef U
#undef H
#undef l
#undef h
#undef s_
#undef g
#undef x

const char *shield_category_name(enum shield_category category)
{
    static const char *const names[] = {
#define X(symbol, name) name,
        SHIELD_CATEGORIES(X)
#undef X
    };
    return category < SHIELD_N_CATEGORIES ? names[category] : "attachment";
}

const char *shield_source_name(enum shield_source source)
{
    static const char *const names[] = {"format", "context", "checksum", "entropy", "term"};
    return names[source];
}

struct shield_rules *shield_rules_new(void)
{
    struct shield_rules *rules = mem_zalloc(sizeof *rules);
    if (!rules) return NULL;
    words_init(&rules->words);
    secret_index(rules->secret_first);
    return rules;
}

void shield_rules_free(struct shield_rules *rules)
{
    if (!rules) return;
    custom_fini(&rules->custom);
    mem_free(rules);
}

enum weir_status shield_rules_add_term(struct shield_rules *rules, const char *label,
                                       struct weir_slice term, char error[SHIELD_ERROR_BYTES])
{
    return custom_add_term(&rules->custom, label, term, error);
}

enum weir_status shield_rules_add_pattern(struct shield_rules *rules, const char *label,
                                          struct weir_slice pattern, char error[SHIELD_ERROR_BYTES])
{
    return custom_add_pattern(&rules->custom, label, pattern, error);
}

void scan_add(struct scan *s, const struct shield_finding *finding)
{
    struct shield_findings *out = s->out;
    if (s->status != WEIR_OK) return;
    if (out->n == out->cap) {
        size_t cap = out->cap == 0 ? 16 : out->cap * 2;
        if (cap > SHIELD_MAX_FINDINGS) {
            s->status = WEIR_LIMIT;
            return;
        }
        void *items = mem_realloc(out->items, cap * sizeof *out->items);
        if (!items) {
            s->status = WEIR_NOMEM;
            return;
        }
        out->items = items;
        out->cap = cap;
    }
    out->items[out->n++] = *finding;
}

/* A run of letters and digits, at its beginning. */
static size_t look_at_run(struct scan *s, size_t at, size_t word_end)
{
    unsigned classes = 0;
    size_t end = at;
    while (end < word_end && (shield_bytes[s->text[end]] & BYTE_ALNUM))
        classes |= shield_bytes[s->text[end++]];
    size_t found = match_secret(s, at);
    if (found > 0) return found;
    if (end - at <= 4 && (scan_byte(s, end) == '-' || scan_byte(s, end) == '.')) {
        found = match_hyphen_mac(s, at);
        if (found > 0) return found;
    }
    if (!(classes & BYTE_DIGIT)) return end;
    if (!(classes & BYTE_LETTER)) return match_number(s, at);
    size_t next = match_mixed(s, at, end);
    /* "415-555-0132x12" and "12th of March": numbers that letters end. */
    if (next == end && (shield_bytes[s->text[at]] & BYTE_DIGIT)) {
        size_t after = match_number(s, at);
        next = after > end ? after : end;
    }
    return next;
}

/* A byte that is neither letter nor digit. */
static size_t look_at_sign(struct scan *s, size_t at)
{
    switch (s->text[at]) {
    case '@': return match_mail(s, at);
    case '.':
        if (scan_is_before(s, at, BYTE_ALNUM) && scan_is(s, at + 1, BYTE_ALNUM))
            return match_domain(s, at);
        return at + 1;
    case ':':
        if (scan_byte(s, at + 1) == '/' && scan_byte(s, at + 2) == '/') return match_url(s, at);
        match_assignment(s, at);
        return match_colon(s, at);
    case '=': return match_assignment(s, at);
    case '-':
        if (s->len - at > 5 && memcmp(s->text + at, "-----", 5) == 0) return match_pem(s, at);
        return at + 1;
    default: return at + 1;
    }
}

static size_t look_at_word(struct scan *s, size_t at, size_t end)
{
    if (at >= 3 && s->text[at - 1] == ' ' && strchr("str", s->text[at - 2]) && s->text[at - 2])
        match_spoken(s, at, end);
    while (at < end && s->status == WEIR_OK)
        at = (shield_bytes[s->text[at]] & BYTE_ALNUM) ? look_at_run(s, at, end)
                                                      : look_at_sign(s, at);
    return at > end ? at : end;
}

/* Dots end sentences: only one with a letter or digit after it is worth a look. */
static bool has_inner_dot(const struct scan *s, size_t at, size_t end)
{
    for (; at + 1 < end; at++)
        if (s->text[at] == '.' && (shield_bytes[s->text[at + 1]] & BYTE_ALNUM)) return true;
    return false;
}

static bool is_worth(const struct scan *s, size_t at, size_t end, unsigned classes)
{
    if (classes & (BYTE_DIGIT | BYTE_SIGN)) return true;
    if ((classes & BYTE_DOT) && has_inner_dot(s, at, end)) return true;
    if (end - at >= LONG_WORD && (classes & BYTE_UPPER)) return true;
    return s->text[at] == '-' && end - at >= 5 && memcmp(s->text + at, "-----", 5) == 0;
}

static void scan_words(struct scan *s)
{
    size_t at = 0;
    while (at < s->len && s->status == WEIR_OK) {
        while (at < s->len && (shield_bytes[s->text[at]] & BYTE_SPACE)) at++;
        size_t start = at;
        unsigned classes = 0;
        while (at < s->len) {
            unsigned c = shield_bytes[s->text[at]];
            if (c & BYTE_SPACE) break;
            classes |= c;
            at++;
        }
        if (at > start && is_worth(s, start, at, classes)) at = look_at_word(s, start, at);
    }
}

enum weir_status shield_scan(const struct shield_rules *rules, struct weir_slice text,
                             struct shield_findings *out)
{
    memset(out, 0, sizeof *out);
    if (text.len > SHIELD_TEXT_BYTES) return WEIR_LIMIT;
    struct scan s = {.text = (const unsigned char *)text.ptr,
                     .len = text.len,
                     .rules = rules,
                     .out = out,

                     .pem_from = SIZE_MAX};
    custom_scan(&rules->custom, &s);
    scan_words(&s);
    if (s.status == WEIR_OK) shield_resolve(out, text);
    else shield_findings_fini(out);
    return s.status;
}

void shield_findings_fini(struct shield_findings *findings)
{
    mem_free(findings->items);
    memset(findings, 0, sizeof *findings);
}
