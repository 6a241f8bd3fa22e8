/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of digit groups, and which matchers see them. Nothing here knows what a number means. */
#include "shield/number.h"

#include <string.h>

/* The spaces and hyphens that word processors put in place of ASCII's. */
static size_t wide_separator(const struct scan *s, size_t at, char *kind)
{
    unsigned char next = scan_byte(s, at + 1);
    *kind = ' ';
    if (s->text[at] == 0xC2) return next == 0xA0 ? 2 : 0;
    if (s->text[at] != 0xE2 || next != 0x80) return 0;
    unsigned char last = scan_byte(s, at + 2);
    if (last == 0x87 || last == 0x89 || last == 0xAF) return 3;
    *kind = '-';
    return last >= 0x90 && last <= 0x93 ? 3 : 0;
}

/* The length of a separator that joins two groups, 0 when there is none, and its kind. */
static size_t separator(const struct scan *s, size_t at, char *kind)
{
    unsigned char c = scan_byte(s, at);
    unsigned char next = scan_byte(s, at + 1);
    if (c >= 0x80) return wide_separator(s, at, kind);
    if (!c || !strchr(" -./()", c)) return 0;
    *kind = (char)c;
    if (c == '(') return 1;
    if (c == ')') return next && strchr(" -./", next) ? 2 : 1;
    if (next == '(') {
        *kind = '(';
        return 2;
    }
    bool is_dash = c == ' ' && (next == '-' || next == '/') && scan_byte(s, at + 2) == ' ';
    if (is_dash) *kind = (char)next;
    return is_dash ? 3 : 1;
}

/* One group, if it fits; a run of digits beyond all numbers ends the chain. */
static bool add_group(const struct scan *s, struct number *n, size_t at, char sep)
{
    size_t end = scan_run(s, at, BYTE_DIGIT, NUMBER_DIGITS + 1);
    size_t first = number_digits(n, n->n_groups);
    if (first + (end - at) > NUMBER_DIGITS) return false;
    struct number_group *g = &n->groups[n->n_groups++];
    *g = (struct number_group){
        .start = at, .end = end, .n = (uint8_t)(end - at), .first = (uint8_t)first, .sep = sep};
    for (size_t i = at; i < end; i++) n->digits[first++] = (uint8_t)(s->text[i] - '0');
    return true;
}

/* What stands before the first digit. False when the chain began earlier. */
static bool read_head(const struct scan *s, size_t at, struct number *n)
{
    n->start = at;
    if (scan_before(s, n->start) == '+') {
        n->has_plus = true;
        n->start--;
    }
    if (scan_before(s, n->start) == '(') {
        n->has_paren = true;
        n->start--;
        if (!n->has_plus && scan_before(s, n->start) == '+') {
            n->has_plus = true;
            n->start--;
        }
    }
    unsigned char c = scan_before(s, n->start);
    if (scan_is_before(s, n->start, BYTE_ALNUM) || c == '_') return n->start < at;
    if (c != '-' && c != '.' && c != '/') return true;
    if (n->start >= 2 && scan_is_before(s, n->start - 1, BYTE_DIGIT)) return n->start < at;
    n->is_tail = c != '.' && scan_is_before(s, n->start - 1, BYTE_LETTER);
    return true;
}

bool number_read(const struct scan *s, size_t at, struct number *out)
{
    out->n_groups = 0;
    out->has_plus = out->has_paren = out->is_tail = false;
    if (!read_head(s, at, out) || !add_group(s, out, at, 0)) return false;
    /* One that closes later is around the number, not in it. */
    if (out->has_paren && scan_byte(s, out->groups[0].end) != ')') {
        out->has_paren = false;
        out->start = at - (scan_before(s, at) == '+');
    }
    while (out->n_groups < NUMBER_GROUPS) {
        size_t end = out->groups[out->n_groups - 1].end;
        char kind;
        size_t width = separator(s, end, &kind);
        if (width == 0 || !scan_is(s, end + width, BYTE_DIGIT)) return true;
        if (!add_group(s, out, end + width, kind)) return true;
    }
    return true;
}

bool number_ends(const struct scan *s, const struct number *n, size_t k)
{
    size_t end = n->groups[k - 1].end;
    if (scan_is(s, end, BYTE_ALNUM) || scan_byte(s, end) == '_') return false;
    return k == n->n_groups || n->groups[k].sep == ' ' || n->groups[k].sep == '(';
}

void number_layout(const struct number *n, size_t k, char out[NUMBER_LAYOUT])
{
    size_t at = 0;
    for (size_t i = 0; i < k; i++) {
        if (i > 0) out[at++] = n->groups[i].sep;
        unsigned size = n->groups[i].n;
        if (size > 9) out[at++] = (char)('0' + size / 10);
        out[at++] = (char)('0' + size % 10);
    }
    out[at] = 0;
}

/* The chain has not the groups of a card, and something behind it may have the others. */
static bool may_be_loose(const struct scan *s, const struct number *n)
{
    unsigned first = n->groups[0].n;
    if (n->has_plus) return false;
    return first == 4 || first == 15 || first == 16 ||
           (first == 1 && scan_byte(s, n->start + 1) == ' ');
}

size_t match_number(struct scan *s, size_t at)
{
    struct number n;
    size_t next = scan_run(s, at, BYTE_DIGIT, s->len);
    if (next - at > NUMBER_DIGITS) return next;
    if (!number_read(s, at, &n)) {
        size_t found = loose_number(s, at, next);
        return found > next ? found : next;
    }
    size_t end = number_ipv4(s, at);
    if (end == 0) end = may_be_loose(s, &n) ? loose_number(s, at, next) : 0;
    if (end == 0 && number_digits(&n, n.n_groups) >= 6) {
        end = number_card(s, &n);
        size_t national = number_national(s, &n);
        if (national > end) end = national;
        if (end == 0) end = number_lettered(s, &n);
        if (end == 0) {
            number_birth(s, &n);
            number_phone(s, &n);
            number_document(s, &n);
        }
    } else if (end == 0) {
        number_birth(s, &n);
    }
    return end > next ? end : next;
}
