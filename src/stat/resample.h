/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resampling: bootstraps and permutations, the same for the same seed. Undefined is NAN.
 * Memory is given by the caller. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stat/infer.h"
#include "stat/random.h"

enum { STAT_EXACT_PERMUTATIONS = 200000 }; /* with more divisions than that, some are drawn */

/* How to draw again. */
struct stat_resampling {
    struct stat_random *random;
    size_t n, n2; /* values of the sample; of a second one that is drawn apart, or 0 */
    size_t block; /* neighbours that are drawn together; 0 and 1: one by one */
    size_t times;
    double confidence;
    size_t *places; /* room for n + n2 */
    double *values; /* room for `times` */
};

/* A statistic of the places drawn: n of the first sample, then n2 of the second. */
typedef double (*stat_of_places_fn)(void *user, const size_t *places);

struct stat_bootstrap {
    struct stat_interval interval; /* percentiles */
    double median;
    size_t n; /* resamples whose statistic was defined */
};

/* The values that were drawn stand sorted in how->values afterwards. */
struct stat_bootstrap stat_bootstrap(const struct stat_resampling *how, stat_of_places_fn statistic,
                                     void *user);

struct stat_permutation {
    double difference, p; /* of means, a less b; two-sided */
    size_t n;             /* divisions looked at */
    bool is_exact;        /* that were all */
};

/* Whether a and b are one sample, divided at random. `scratch` has room for na + nb. */
struct stat_permutation stat_permutation(struct stat_random *random, const double *a, size_t na,
                                         const double *b, size_t nb, double *scratch);
