/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An organisation's own terms and patterns. Terms are found by a hash of their first bytes, at
 * every place where a word can begin; so the time does not grow with their number, but for those
 * that begin alike.
 */
#include "shield/custom.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "shield/regex.h"

struct custom_term {
    struct custom_term *next, *next_in_bucket;
    char label[SHIELD_LABEL_BYTES + 1];
    size_t len;
    char text[]; /* lower case */
};

struct custom_pattern {
    struct custom_pattern *next;
    struct regex *regex;
    char label[SHIELD_LABEL_BYTES + 1];
};

static size_t bucket_of(const unsigned char *text, size_t len)
{
    uint32_t h = (uint32_t)len;
    for (size_t i = 0; i < len; i++) h = (h ^ lower_of(text[i])) * 0x9E3779B1U;
    return h >> 20;
}

void custom_fini(struct custom *c)
{
    while (c->terms) {
        struct custom_term *t = c->terms;
        c->terms = t->next;
        mem_free(t);
    }
    while (c->patterns) {
        struct custom_pattern *p = c->patterns;
        c->patterns = p->next;
        regex_free(p->regex);
        mem_free(p);
    }
}

static bool is_label(const char *label, char error[SHIELD_ERROR_BYTES])
{
    size_t len = strlen(label);
    bool is_right = len > 0 && len <= SHIELD_LABEL_BYTES && label[0] >= 'a' && label[0] <= 'z' &&
                    strspn(label, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
    if (!is_right)
        snprintf(error, SHIELD_ERROR_BYTES, "a label has 1 to %d of a-z, 0-9 and _, a letter first",
                 SHIELD_LABEL_BYTES);
    return is_right;
}

/* The length of the blank at the beginning of some bytes, 0: there is none. */
static size_t blank_at(const unsigned char *text, size_t len)
{
    if (len > 1 && text[0] == 0xC2 && text[1] == 0xA0) return 2;
    if (len > 2 && text[0] == 0xE2 && text[1] == 0x80 && (text[2] == 0xAF || text[2] == 0x89))
        return 3;
    return len > 0 && (shield_bytes[text[0]] & BYTE_SPACE) ? 1 : 0;
}

/* All blanks from there on, a few at most. */
static size_t blanks_at(const unsigned char *text, size_t len)
{
    enum { BLANKS_MAX = 32 };
    size_t n = 0;
    for (size_t one; n < BLANKS_MAX && (one = blank_at(text + n, len - n)) > 0;) n += one;
    return n;
}

/* Lower case, with one space for all blanks of a place; what it has then. */
static size_t fold_term(struct weir_slice term, char *out)
{
    const unsigned char *text = (const unsigned char *)term.ptr;
    size_t n = 0;
    for (size_t i = 0; i < term.len;) {
        size_t blanks = n > 0 ? blanks_at(text + i, term.len - i) : 0;
        out[n++] = blanks > 0 ? ' ' : (char)lower_of(text[i]);
        i += blanks > 0 ? blanks : 1;
    }
    return n;
}

enum weir_status custom_add_term(struct custom *c, const char *label, struct weir_slice term,
                                 char error[SHIELD_ERROR_BYTES])
{
    if (!is_label(label, error)) return WEIR_INVALID;
    if (term.len < 2 || term.len > SHIELD_TERM_BYTES) {
        snprintf(error, SHIELD_ERROR_BYTES, "a term has 2 to %d bytes", SHIELD_TERM_BYTES);
        return WEIR_INVALID;
    }
    if (c->n_terms == SHIELD_MAX_TERMS) return WEIR_LIMIT;
    struct custom_term *t = mem_alloc(sizeof *t + term.len);
    if (!t) return WEIR_NOMEM;
    t->len = fold_term(term, t->text);
    snprintf(t->label, sizeof t->label, "%s", label);
    size_t head = 1;
    while (head < t->len && head < CUSTOM_HEAD && t->text[head] != ' ') head++;
    struct custom_term **bucket = &c->buckets[bucket_of((const unsigned char *)t->text, head)];
    t->next_in_bucket = *bucket;
    *bucket = t;
    t->next = c->terms;
    c->terms = t;
    c->head_lengths |= 1U << head;
    c->n_terms++;
    return WEIR_OK;
}

/* Where a term that begins at a place ends, 0: it does not stand there. */
static size_t term_end(const struct scan *s, size_t at, const struct custom_term *t)
{
    for (size_t i = 0; i < t->len; i++) {
        size_t blanks = t->text[i] == ' ' && i > 0 ? blanks_at(s->text + at, s->len - at) : 0;
        if (blanks == 0 && (at == s->len || lower_of(s->text[at]) != (unsigned char)t->text[i]))
            return 0;
        at += blanks > 0 ? blanks : 1;
    }
    /* A term that ends in a sign may be followed by anything. */
    return !scan_is(s, at - 1, BYTE_ALNUM) || !scan_is(s, at, BYTE_ALNUM) ? at : 0;
}

static void add_own(struct scan *s, size_t start, size_t end, const char *label)
{
    struct shield_finding f = {
        .label = label, .score = 1, .category = SHIELD_CUSTOM, .source = SHIELD_TERM};
    scan_found_by(s, start, end, f);
}

/* The longest term at a place. */
static size_t match_terms(const struct custom *c, struct scan *s, size_t at)
{
    const struct custom_term *best = NULL;
    size_t best_end = 0;
    for (size_t head = 1; head <= CUSTOM_HEAD && head <= s->len - at; head++) {
        if (!(c->head_lengths & 1U << head)) continue;
        const struct custom_term *t = c->buckets[bucket_of(s->text + at, head)];
        for (; t; t = t->next_in_bucket) {
            size_t end = !best || t->len > best->len ? term_end(s, at, t) : 0;
            if (end > 0) best = t, best_end = end;
        }
    }
    if (!best) return at + 1;
    add_own(s, at, best_end, best->label);
    return best_end;
}

enum weir_status custom_add_pattern(struct custom *c, const char *label, struct weir_slice pattern,
                                    char error[SHIELD_ERROR_BYTES])
{
    if (!is_label(label, error)) return WEIR_INVALID;
    if (c->n_patterns == SHIELD_MAX_PATTERNS) return WEIR_LIMIT;
    struct custom_pattern *p = mem_alloc(sizeof *p);
    if (!p) return WEIR_NOMEM;
    enum weir_status st = regex_new(pattern, &p->regex, error);
    if (st != WEIR_OK) {
        mem_free(p);
        return st;
    }
    snprintf(p->label, sizeof p->label, "%s", label);
    p->next = c->patterns;
    c->patterns = p;
    c->n_patterns++;
    return WEIR_OK;
}

/* What a pattern's matches are added to. */
struct matching {
    struct scan *scan;
    const char *label;
};

static void on_match(void *user, size_t start, size_t end)
{
    struct matching *m = user;
    add_own(m->scan, start, end, m->label);
}

void custom_scan(const struct custom *c, struct scan *s)
{
    for (size_t at = 0; c->n_terms > 0 && at < s->len;) {
        bool is_inside = scan_is(s, at, BYTE_ALNUM) && scan_is_before(s, at, BYTE_ALNUM);
        at = is_inside ? at + 1 : match_terms(c, s, at);
    }
    for (const struct custom_pattern *p = c->patterns; p && s->status == WEIR_OK; p = p->next) {
        struct matching m = {s, p->label};
        struct weir_slice text = {(const char *)s->text, s->len};
        enum weir_status st = regex_each(p->regex, text, on_match, &m);
        if (s->status == WEIR_OK) s->status = st;
    }
}
