/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks in a row. Both their `first` and their `last` rise; that an event may be in two
 * chunks does no harm, for the first of them is taken and the next begins behind it.
 */
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "fan/fan_impl.h"

enum { FIRST_CAP = 4 };

/* ---- bytes of chunks ---- */

size_t chunk_cost(const struct chunk *c)
{
    return c->len + sizeof *c + sizeof c;
}

/* What chunk i adds to those before it. */
static struct weir_slice part(struct chunk *const *chunks, size_t i)
{
    const struct chunk *c = chunks[i];
    uint64_t from = i == 0 ? c->first : chunks[i - 1]->last + 1;
    return from == c->first ? slice_of(c->bytes, c->len) : chunk_from(c, from);
}

struct chunk *chunk_join(struct chunk *const *chunks, size_t n)
{
    size_t len = 0;
    if (n == 1) return chunk_ref(chunks[0]);
    for (size_t i = 0; i < n; i++) len += part(chunks, i).len;
    struct chunk *c = chunk_new(chunks[0]->first, chunks[n - 1]->last, len);
    size_t at = 0;
    for (size_t i = 0; c && i < n; i++) {
        struct weir_slice s = part(chunks, i);
        memcpy(c->bytes + at, s.ptr, s.len);
        at += s.len;
    }
    return c;
}

/* The id of the event that begins at s; 0 when none does. */
static uint64_t id_at(struct weir_slice s)
{
    static const char head[] = {'i', 'd', ':', ' '};
    uint64_t id = 0;
    if (s.len < sizeof head || memcmp(s.ptr, head, sizeof head) != 0) return 0;
    for (size_t i = sizeof head; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
        id = id * 10 + (uint64_t)(s.ptr[i] - '0');
    return id;
}

size_t chunk_cut(struct weir_slice s, size_t max_bytes, uint64_t *next_id)
{
    if (s.len <= max_bytes) return s.len;
    for (size_t end = max_bytes; end >= 2;) {
        const char *lf = memrchr(s.ptr, '\n', end);
        if (!lf || lf == s.ptr) break;
        end = (size_t)(lf - s.ptr);
        if (lf[-1] != '\n') continue;
        *next_id = id_at(slice_from(s, end + 1));
        if (*next_id > 0) return end + 1;
    }
    return 0;
}

size_t chunk_first_event(struct weir_slice s)
{
    size_t len = chunk_event_length(s);
    return len > 0 ? len : s.len;
}

/* ---- the window ---- */

static bool reserve(struct window **w)
{
    struct window *old = *w;
    if (old && old->at + old->n < old->cap) return true;
    if (old && old->at > old->cap / 2) {
        memmove(old->chunks, old->chunks + old->at, old->n * sizeof *old->chunks);
        old->at = 0;
        return true;
    }
    uint32_t cap = old ? old->cap * 2 : FIRST_CAP;
    struct window *grown = mem_realloc(old, sizeof *grown + cap * sizeof grown->chunks[0]);
    if (!grown) return false;
    if (!old) *grown = (struct window){0};
    grown->cap = cap;
    *w = grown;
    return true;
}

/* What the new chunk holds as well need not stay; so the chunks' `first` rises as their `last`. */
static void drop_covered(struct window *w, const struct chunk *c)
{
    while (w->n > 0 && window_last(w)->first >= c->first) {
        struct chunk *covered = w->chunks[w->at + --w->n];
        w->cost -= chunk_cost(covered);
        chunk_unref(covered);
    }
}

bool window_push_back(struct window **w, struct chunk *c)
{
    if (!reserve(w)) return false;
    struct window *to = *w;
    drop_covered(to, c);
    to->chunks[to->at + to->n++] = chunk_ref(c);
    to->cost += chunk_cost(c);
    if (to->n % WINDOW_CHUNKS == 0) window_merge(to, window_first(to)->last);
    return true;
}

bool window_push_front(struct window **w, struct chunk *c)
{
    if (!*w) return window_push_back(w, c);
    while (*w && window_first(*w)->last <= c->last) window_pop_front(w);
    if (!*w) return window_push_back(w, c);
    struct window *to = *w;
    if (to->at == 0) {
        if (!reserve(w)) return false;
        to = *w;
        memmove(to->chunks + 1, to->chunks, to->n * sizeof *to->chunks);
    } else {
        to->at--;
    }
    to->chunks[to->at] = chunk_ref(c);
    to->n++;
    to->cost += chunk_cost(c);
    return true;
}

void window_pop_front(struct window **w)
{
    struct window *from = *w;
    struct chunk *c = from->chunks[from->at++];
    from->n--;
    from->cost -= chunk_cost(c);
    chunk_unref(c);
    if (from->n == 0) window_free(w);
}

void window_free(struct window **w)
{
    if (!*w) return;
    for (uint32_t i = 0; i < (*w)->n; i++) chunk_unref((*w)->chunks[(*w)->at + i]);
    mem_free(*w);
    *w = NULL;
}

/* The index, from 0 on, of the first chunk that ends at `id` or later; w->n when none does. */
static uint32_t index_of(const struct window *w, uint64_t id)
{
    uint32_t low = 0;
    uint32_t high = w->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (w->chunks[w->at + mid]->last < id) low = mid + 1;
        else high = mid;
    }
    return low;
}

struct chunk *window_find(const struct window *w, uint64_t id)
{
    if (!w) return NULL;
    struct chunk *newest = window_last(w);
    if (id > newest->last) return NULL;
    if (id >= newest->first) return newest; /* as nearly everybody */
    struct chunk *c = w->chunks[w->at + index_of(w, id)];
    return id >= c->first ? c : NULL;
}

/* How many chunks from index i on make one of up to MERGE_BYTES. */
static uint32_t run_length(const struct window *w, uint32_t i)
{
    size_t len = w->chunks[w->at + i]->len;
    uint32_t n = 1;
    while (i + n < w->n && len + w->chunks[w->at + i + n]->len <= MERGE_BYTES)
        len += w->chunks[w->at + i + n++]->len;
    return n;
}

bool window_merge(struct window *w, uint64_t id)
{
    uint32_t to = index_of(w, id);
    uint32_t n_before = w->n;
    uint32_t n_run;
    for (uint32_t i = to; i < n_before; i += n_run) {
        n_run = run_length(w, i);
        struct chunk **run = &w->chunks[w->at + i];
        struct chunk *c = chunk_join(run, n_run);
        if (!c) {
            n_run = 1;
            c = chunk_ref(run[0]);
        }
        for (uint32_t k = 0; k < n_run; k++) {
            w->cost -= chunk_cost(run[k]);
            chunk_unref(run[k]);
        }
        w->cost += chunk_cost(c);
        w->chunks[w->at + to++] = c;
    }
    w->n = to;
    return to < n_before;
}
