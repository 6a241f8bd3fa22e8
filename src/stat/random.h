/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that look random and are the same for the same seed, on every machine and whatever the
 * number of threads. Not for secrets. One thread at a time per struct.
 */
#pragma once

#include <stdint.h>

struct stat_random {
    uint64_t state[4];
};

/* Seeds that differ in one bit give unrelated rows; `stream` makes several of one seed. */
struct stat_random stat_random_of(uint64_t seed, uint64_t stream);

uint64_t stat_random_next(struct stat_random *r);

/* Even in 0 … n-1, for n > 0. */
uint64_t stat_random_below(struct stat_random *r, uint64_t n);

/* Even in [0, 1). */
double stat_random_unit(struct stat_random *r);

/* Normal with mean 0 and standard deviation 1. */
double stat_random_normal(struct stat_random *r);
