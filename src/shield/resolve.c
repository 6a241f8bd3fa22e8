/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several candidates for the same bytes stays, and where each is in code points.
 *
 * Candidates that overlap form a cluster; in it the strongest stays and removes those it touches,
 * then the next strongest, and so on. Stronger is: an organisation's own term; check digits or a
 * grammar without doubt (score 0.95); then anything but a public web address; then the longer; then
 * the more specific category; then the earlier.
 */
#include <stdlib.h>
#include <string.h>

#include "shield/scan_impl.h"

static int by_place(const void *a, const void *b)
{
    const struct shield_finding *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return (int)x->category - (int)y->category;
}

static int rank(const struct shield_finding *f)
{
    if (f->category == SHIELD_CUSTOM) return 3;
    if (f->is_public) return 0;
    return f->score >= 0.94F ? 2 : 1;
}

/* Whether a is to stay rather than b. */
static bool is_stronger(const struct shield_finding *a, const struct shield_finding *b)
{
    /* Seventeen digits of a card inside a longer address of mail are part of the address. */
    bool a_holds =
        a->start <= b->start && a->end >= b->end && a->end - a->start > b->end - b->start;
    bool b_holds =
        b->start <= a->start && b->end >= a->end && b->end - b->start > a->end - a->start;
    if (rank(a) != rank(b)) return rank(a) > rank(b);
    if (a_holds || b_holds) return a_holds;
    if (a->end - a->start != b->end - b->start) return a->end - a->start > b->end - b->start;
    if (a->category != b->category) return a->category < b->category;
    return a->score > b->score;
}

/* The longest cluster that is settled exactly; in a longer one the earlier has the better chance.
 */
enum { CLUSTER_MAX = 64 };

/* Settles items[0..n), which overlap, and returns how many are left at the front. */
static size_t settle(struct shield_finding *items, size_t n)
{
    bool is_gone[CLUSTER_MAX] = {false}, is_kept[CLUSTER_MAX] = {false};
    for (;;) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!is_gone[i] && !is_kept[i] && (best == n || is_stronger(&items[i], &items[best])))
                best = i;
        if (best == n) break;
        is_kept[best] = true;
        for (size_t i = 0; i < n; i++)
            if (!is_kept[i] && items[i].start < items[best].end && items[i].end > items[best].start)
                is_gone[i] = true;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (is_kept[i]) items[kept++] = items[i];
    return kept;
}

static void drop_overlaps(struct shield_findings *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->n;) {
        size_t n = 1;
        size_t end = out->items[i].end;
        while (i + n < out->n && n < CLUSTER_MAX && out->items[i + n].start < end) {
            if (out->items[i + n].end > end) end = out->items[i + n].end;
            n++;
        }
        size_t left = n == 1 ? 1 : settle(out->items + i, n);
        for (size_t k = 0; k < left; k++) {
            struct shield_finding f = out->items[i + k];
            if (kept > 0 && f.start < out->items[kept - 1].end) continue;
            out->items[kept++] = f;
        }
        i += n;
    }
    out->n = kept;
}

/* Bytes that begin a character; an ill-formed byte counts as one unless it continues another. */
static size_t count_points(const unsigned char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) n += (text[i] & 0xC0) != 0x80;
    return n;
}

void shield_resolve(struct shield_findings *out, struct weir_slice text)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    size_t at = 0, point = 0;
    if (out->n > 1) qsort(out->items, out->n, sizeof *out->items, by_place);
    drop_overlaps(out);
    for (size_t i = 0; i < out->n; i++) {
        struct shield_finding *f = &out->items[i];
        point += count_points(bytes + at, f->start - at);
        f->point_start = point;
        point += count_points(bytes + f->start, f->end - f->start);
        f->point_end = point;
        at = f->end;
    }
}
