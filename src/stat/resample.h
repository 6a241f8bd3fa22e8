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

enum { STAT_EXACT_PERMUTATIONS = 3000000 }; /* with more divisions than that, some are drawn */

/* How to draw again. */
struct stat_resampling {
    struct stat_random *random;
    size_t n, n2;    /* values of the sample; of a second one that is drawn apart, or 0 */
    size_t block;    /* neighbours that are drawn together; 0 and 1: one by one */
    bool is_aligned; /* blocks begin only at multiples of their length: whole weeks. n is one too */
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

/*
 * The interval of Efron that is corrected for bias and acceleration (BCa): of the sorted values of
 * a bootstrap, the statistic of the sample itself, and its acceleration. NAN when all values, or
 * none, are on one side of the statistic.
 */
struct stat_interval stat_bca(const struct stat_resampling *how, size_t n_values, double seen,
                              double acceleration);

/* Statistics of the sample with one part left out at a time, of one sample or, one call for each,
 * of several that are drawn apart. Begin with a zeroed struct. 0 when nothing varies. */
struct stat_jackknife {
    double squares, cubes;
};

void stat_jackknife_add(struct stat_jackknife *j, const double *left_out, size_t n);
double stat_acceleration(const struct stat_jackknife *j);

struct stat_permutation {
    double difference, p; /* of means, a less b; two-sided */
    size_t n;             /* divisions looked at */
    bool is_exact;        /* that were all */
};

/* Whether a and b are one sample, divided at random. `scratch` has room for na + nb. */
struct stat_permutation stat_permutation(struct stat_random *random, const double *a, size_t na,
                                         const double *b, size_t nb, double *scratch);
