/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reference-counted immutable bytes. Taking a reference needs no ordering, since
 * the taker already holds one; giving back is acquire-release, so that all reads
 * by other holders are over before the last one frees.
 */
#include "base/shared.h"

#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

struct shared {
    atomic_size_t n_refs;
    size_t len;
    char bytes[];
};

struct shared *shared_new(struct weir_slice s)
{
    return shared_join(&s, 1);
}

/* False when the sum would not fit a size. */
static bool total_size(const struct weir_slice *parts, size_t n_parts, size_t *total)
{
    *total = sizeof(struct shared);
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i].len > SIZE_MAX - *total) return false;
        *total += parts[i].len;
    }
    return true;
}

struct shared *shared_join(const struct weir_slice *parts, size_t n_parts)
{
    size_t size;
    if (!total_size(parts, n_parts, &size)) return NULL;
    struct shared *s = mem_alloc(size);
    if (!s) return NULL;
    atomic_init(&s->n_refs, 1);
    s->len = 0;
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i].len > 0) memcpy(s->bytes + s->len, parts[i].ptr, parts[i].len);
        s->len += parts[i].len;
    }
    return s;
}

struct shared *shared_ref(struct shared *s)
{
    size_t before = atomic_fetch_add_explicit(&s->n_refs, 1, memory_order_relaxed);
    CHECK(before > 0 && before < SIZE_MAX / 2);
    return s;
}

void shared_unref(struct shared *s)
{
    if (!s) return;
    size_t before = atomic_fetch_sub_explicit(&s->n_refs, 1, memory_order_acq_rel);
    CHECK(before > 0);
    if (before == 1) mem_free(s);
}

struct weir_slice shared_slice(const struct shared *s)
{
    return (struct weir_slice){s->bytes, s->len};
}
