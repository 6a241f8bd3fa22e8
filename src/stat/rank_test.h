/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests by ranks, with ties, by their normal approximation, or exactly: of all ways to divide or
 * to sign the ranks that are there, those that are as far off. Undefined is NAN. `scratch` is
 * memory that the caller gives. Pure functions; any thread.
 */
#pragma once

#include <stddef.h>

struct stat_mann_whitney {
    double u; /* pairs in which a is larger, ties half */
    double p; /* two-sided, with continuity correction */
    double p_uncorrected;
    double auc;   /* u / (na nb) */
    double delta; /* Cliff's: 2 auc - 1 */
};

/* `scratch` has room for 4 (na + nb). */
struct stat_mann_whitney stat_mann_whitney(const double *a, size_t na, const double *b, size_t nb,
                                           double *scratch);

/* The exact two-sided p, for up to so many values in all. */
enum { STAT_EXACT_MANN_WHITNEY = 100, STAT_EXACT_WILCOXON = 400 };
double stat_mann_whitney_exact(const double *a, size_t na, const double *b, size_t nb,
                               double *scratch);
size_t stat_mann_whitney_exact_scratch(size_t na, size_t nb);

struct stat_wilcoxon {
    double w; /* the smaller of the sums of ranks of positive and negative differences */
    double p; /* two-sided, without continuity correction */
    double p_corrected;
    size_t n; /* differences that are not 0 */
};

/* `scratch` has room for 5n. */
struct stat_wilcoxon stat_wilcoxon(const double *d, size_t n, double *scratch);

/* The exact two-sided p, for up to STAT_EXACT_WILCOXON differences. */
double stat_wilcoxon_exact(const double *d, size_t n, double *scratch);
size_t stat_wilcoxon_exact_scratch(size_t n);
