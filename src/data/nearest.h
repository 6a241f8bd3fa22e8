/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name that was probably meant. Names are offered one by one; the nearest is kept, by the
 * number of letters that were left out, added, changed or exchanged, without regard to case; of
 * two that are as near, the one whose beginning is the same for longer.
 *
 * The struct is the caller's and borrows the names; any thread.
 */
#pragma once

#include <weir/types.h>

enum { NEAREST_BYTES = 64 }; /* longer names are never near */

struct nearest {
    struct weir_slice wanted;
    const char *name; /* NULL: none was near enough */
    unsigned distance;
    size_t prefix; /* letters that both begin with: of two that are as near, more is nearer */
};

void nearest_begin(struct nearest *n, struct weir_slice wanted);

/* `show` is what to say when `name` is near: the metric's name for one of its aliases. */
void nearest_offer(struct nearest *n, struct weir_slice name, const char *show);

/* Letters to change to get from one to the other; more than `most`: `most` + 1. */
unsigned nearest_distance(struct weir_slice a, struct weir_slice b, unsigned most);
