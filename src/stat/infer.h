/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests and intervals that rest on the t and normal distributions. Numbers of values may be
 * effective ones, which are not whole. A result that is not defined is NAN. Pure; any thread.
 */
#pragma once

#include <stddef.h>

#include "stat/relation.h"

/* A group of values by its moments. */
struct stat_group {
    double mean, variance, n;
};

struct stat_group stat_group_of(const double *x, size_t n);

struct stat_interval {
    double lo, hi;
};

/* The mean with its t interval. */
struct stat_interval stat_mean_interval(struct stat_group g, double confidence);

struct stat_test {
    double estimate; /* what is tested: a mean, a difference of means */
    double t, df, p; /* two-sided */
    struct stat_interval interval;
};

/* Whether the mean of a group is 0: of differences, the paired t test. */
struct stat_test stat_one_sample(struct stat_group g, double confidence);

/* Mean of a less that of b, without assuming equal variances. */
struct stat_test stat_welch(struct stat_group a, struct stat_group b, double confidence);

/* Difference in pooled standard deviations; Hedges' correction for few values. */
double stat_cohen_d(struct stat_group a, struct stat_group b);
double stat_hedges_g(struct stat_group a, struct stat_group b);

/* That a correlation r of n pairs is 0: two-sided p by t with n-2, and Fisher's interval. */
double stat_correlation_p(double r, double n);
struct stat_interval stat_correlation_interval(double r, double n, double confidence);

struct stat_fit {
    struct stat_line line;
    double stderr_slope, r2, p;
    struct stat_interval interval; /* of the slope */
};

struct stat_fit stat_fit_line(const double *x, const double *y, size_t n, double confidence);
