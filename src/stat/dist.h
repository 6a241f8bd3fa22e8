/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions: tail probabilities and quantiles, to about 1e-12 relative, the far tails included
 * (a p-value of 1e-200 is one, not 0). NAN where the arguments make no sense.
 *
 * Pure functions; any thread.
 */
#pragma once

/* P(Z > z). */
double stat_normal_upper(double z);
/* P(|Z| > |z|). */
double stat_normal_two_sided(double z);
/* The z with P(Z <= z) = p; minus and plus infinity at 0 and 1. */
double stat_normal_quantile(double p);

/* The regularised incomplete beta function I_x(a, b), for 0 <= x <= 1 and a, b > 0. */
double stat_beta(double x, double a, double b);

/* Student's t with df > 0 degrees of freedom, which need not be whole. */
double stat_t_upper(double t, double df);
double stat_t_two_sided(double t, double df);
double stat_t_quantile(double p, double df);

/* P(F > f) with d1 and d2 degrees of freedom. */
double stat_f_upper(double f, double d1, double d2);
double stat_f_quantile(double p, double d1, double d2);
