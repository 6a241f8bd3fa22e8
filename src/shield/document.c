/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passports and driver's licences. Their numbers have no form that would tell them from others, so
 * a word before them has to.
 */
#include "shield/mixed.h"
#include "shield/number.h"

enum { DOCUMENT_MIN = 6, DOCUMENT_MAX = 20, PASSPORT_MAX = 10 };

bool is_license_near(struct scan *s, size_t at)
{
    unsigned context = context_before(s, at);
    unsigned both = CONTEXT_DRIVER | CONTEXT_LICENSE;
    return (context & both) == both || (context & CONTEXT_PERMIT) != 0;
}

static size_t add_document(struct scan *s, size_t at, size_t end)
{
    bool is_passport = (context_before(s, at) & CONTEXT_PASSPORT) && end - at <= PASSPORT_MAX;
    if (!is_passport && !is_license_near(s, at)) return 0;
    struct shield_finding f = {
        .label = is_passport ? "passport" : "driver_license",
        .score = 0.7F,
        .category = is_passport ? SHIELD_PASSPORT : SHIELD_DRIVER_LICENSE,
        .source = SHIELD_CONTEXT,
    };
    scan_found_by(s, at, end, f);
    return end;
}

void number_document(struct scan *s, const struct number *n)
{
    size_t k = 1;
    if (n->has_plus || n->has_paren) return;
    /* Some are written in groups: 123-456-789, 12 345 678. */
    while (k < n->n_groups && n->groups[k].sep == n->groups[1].sep &&
           (n->groups[k].sep == '-' || n->groups[k].sep == ' '))
        k++;
    size_t n_digits = number_digits(n, k);
    if (n_digits < DOCUMENT_MIN || n_digits > 14 || !number_ends(s, n, k)) return;
    /* A day is not the number of a document. */
    if (k == 3 && n_digits <= 8 && (n->groups[0].n == 4 || n->groups[2].n == 4)) return;
    add_document(s, n->groups[0].start, n->groups[k - 1].end);
}

/* D123-4567-8901: the end with the groups that hyphens join to a run. */
static size_t with_groups(const struct scan *s, size_t at, size_t end)
{
    while (scan_byte(s, end) == '-') {
        size_t to = scan_run(s, end + 1, BYTE_UPPER | BYTE_DIGIT, DOCUMENT_MAX);
        if (to == end + 1 || to - at > DOCUMENT_MAX) break;
        end = to;
    }
    return end;
}

/* Letters and digits, at least four of them digits; upper case, as it is printed. */
size_t mixed_document(struct scan *s, size_t at, size_t end)
{
    size_t n_digits = 0;
    end = with_groups(s, at, end);
    if (end - at < DOCUMENT_MIN || end - at > DOCUMENT_MAX || !scan_is_apart(s, at, end)) return 0;
    for (size_t i = at; i < end; i++) {
        n_digits += scan_is(s, i, BYTE_DIGIT);
        if (scan_is(s, i, BYTE_LOWER) && scan_is(s, at, BYTE_UPPER)) return 0;
    }
    return n_digits >= 4 ? add_document(s, at, end) : 0;
}
