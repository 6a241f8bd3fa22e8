/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages in parts. Each part is scanned alone, with the one before it, and all of them as one
 * text: what is found across an end is private, too. The end of the earlier part is then moved
 * behind it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "shield/token_map.h"

/* Parts put together; ends[i] is where part i ends in the whole. */
struct joined {
    struct weir_buf text;
    size_t *ends;
    size_t n;
    struct shield_finding *items; /* of all scans */
    size_t n_items;
};

static enum weir_status add_items(struct joined *j, const struct shield_findings *found,
                                  size_t shift)
{
    if (found->n == 0) return WEIR_OK;
    if (j->n_items + found->n > SHIELD_MAX_FINDINGS) return WEIR_LIMIT;
    struct shield_finding *items =
        mem_realloc(j->items, (j->n_items + found->n) * sizeof *j->items);
    if (!items) return WEIR_NOMEM;
    j->items = items;
    for (size_t i = 0; i < found->n; i++) {
        items[j->n_items] = found->items[i];
        items[j->n_items].start += shift;
        items[j->n_items++].end += shift;
    }
    return WEIR_OK;
}

static enum weir_status scan_range(struct joined *j, const struct shield_rules *rules, size_t from,
                                   size_t to)
{
    struct shield_findings found;
    struct weir_slice text = slice_of(j->text.ptr + from, to - from);
    enum weir_status st = shield_scan(rules, text, &found);
    if (st != WEIR_OK) return st;
    st = add_items(j, &found, from);
    shield_findings_fini(&found);
    return st;
}

static int by_place(const void *a, const void *b)
{
    const struct shield_finding *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->end == y->end ? 0 : x->end > y->end ? -1 : 1;
}

/* Public addresses go, and of two that overlap the one that begins first, then the longer, stays.
 */
static void drop_overlaps(struct joined *j)
{
    size_t kept = 0, last = 0;
    if (j->n_items > 1) qsort(j->items, j->n_items, sizeof *j->items, by_place);
    for (size_t i = 0; i < j->n_items; i++) {
        if (j->items[i].is_public || (kept > 0 && j->items[i].start < last)) continue;
        last = j->items[i].end;
        j->items[kept++] = j->items[i];
    }
    j->n_items = kept;
}

static void move_ends(struct joined *j)
{
    size_t at = 0;
    for (size_t i = 0; i < j->n; i++) {
        while (at < j->n_items && j->items[at].end <= j->ends[i]) at++;
        if (at < j->n_items && j->items[at].start < j->ends[i]) j->ends[i] = j->items[at].end;
    }
}

static enum weir_status join(struct joined *j, const struct weir_slice *parts, size_t n_parts)
{
    weir_buf_init(&j->text, SHIELD_TEXT_BYTES);
    j->n = n_parts;
    j->ends = mem_alloc((n_parts + 1) * sizeof *j->ends);
    if (!j->ends) return WEIR_NOMEM;
    for (size_t i = 0; i < n_parts; i++) {
        weir_buf_append_slice(&j->text, parts[i]);
        j->ends[i] = j->text.len;
    }
    return weir_buf_status(&j->text);
}

/* Where the part before this one begins. */
static size_t pair_start(const struct joined *j, size_t i)
{
    return i < 2 ? 0 : j->ends[i - 2];
}

/* Alone, with the part before it, and all at once: each may join what another way of joining hides.
 */
static enum weir_status scan_all(struct joined *j, const struct shield_rules *rules)
{
    enum weir_status st = j->n > 2 ? scan_range(j, rules, 0, j->text.len) : WEIR_OK;
    for (size_t i = 0; st == WEIR_OK && i < j->n; i++) {
        st = scan_range(j, rules, i > 0 ? j->ends[i - 1] : 0, j->ends[i]);
        if (st == WEIR_OK && i > 0) st = scan_range(j, rules, pair_start(j, i), j->ends[i]);
    }
    drop_overlaps(j);
    move_ends(j);
    return st;
}

/* The findings of each part in turn, with places of its own. */
static enum weir_status redact_all(struct joined *j, struct token_map *t, struct weir_buf *outs,
                                   size_t *n)
{
    size_t from = 0, at = 0;
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; st == WEIR_OK && i < j->n; i++) {
        struct shield_findings local = {.items = j->items + at};
        for (; at < j->n_items && j->items[at].end <= j->ends[i]; at++) {
            j->items[at].start -= from;
            j->items[at].end -= from;
            local.n++;
        }
        *n += local.n;
        st = shield_redact(t, slice_of(j->text.ptr + from, j->ends[i] - from), &local, &outs[i],
                           NULL);
        from = j->ends[i];
    }
    return st;
}

enum weir_status shield_redact_parts(struct token_map *t, const struct shield_rules *rules,
                                     const struct weir_slice *parts, size_t n_parts,
                                     struct weir_buf *outs, size_t *n)
{
    struct joined j = {.n = 0};
    size_t n_found = 0;
    if (n_parts > SHIELD_MAX_PARTS) return WEIR_LIMIT;
    enum weir_status st = join(&j, parts, n_parts);
    if (st == WEIR_OK) st = scan_all(&j, rules);
    if (st == WEIR_OK) st = redact_all(&j, t, outs, &n_found);
    if (n) *n = n_found;
    mem_free(j.items);
    mem_free(j.ends);
    weir_buf_fini(&j.text);
    return st;
}
