/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/ar1.h"

#include "near.h"
#include "stat/infer.h"
#include "stat/random.h"

enum { N = 60 };

static double days[N], ones[N], line[N];

static void make_rows(double *y, uint64_t seed, double lag1)
{
    struct stat_random r = stat_random_of(seed, 0);
    double e = stat_random_normal(&r);
    for (int i = 0; i < N; i++) {
        days[i] = i;
        ones[i] = 1;
        line[i] = i - 20;
        y[i] = e;
        e = lag1 * e + sqrt(1 - lag1 * lag1) * stat_random_normal(&r);
    }
}

TEST(without_autocorrelation_it_is_least_squares)
{
    double y[N];
    make_rows(y, 1, 0);
    struct stat_ar1 fit = stat_ar1_at(&(struct stat_ar1_rows){days, y, {ones, line}, N, 2}, 0);
    struct stat_fit want = stat_fit_line(line, y, N, 0.95);
    T_NEAR(fit.coefficient[0], want.line.intercept);
    T_NEAR(fit.coefficient[1], want.line.slope);
    T_NEAR(sqrt(fit.covariance[1][1]), want.stderr_slope);
}

/* With the sums of the textbook for a mean of three days with correlations 0.5 and 0.25. */
TEST(the_mean_of_three_days_is_that_of_the_textbook)
{
    const double day[] = {0, 1, 2}, one[] = {1, 1, 1}, y[] = {1, 2, 6};
    struct stat_ar1 fit = stat_ar1_at(&(struct stat_ar1_rows){day, y, {one}, 3, 1}, 0.5);
    T_NEAR(fit.coefficient[0], 16.0 / 5);
    T_NEAR(fit.covariance[0][0] / fit.variance, 0.6);
    const double apart[] = {0, 1, 1e9};
    fit = stat_ar1_at(&(struct stat_ar1_rows){apart, y, {one}, 3, 1}, 0.5);
    T_NEAR(fit.covariance[0][0] / fit.variance, 1 / (1 + 4.0 / 3));
}

TEST(the_lag_is_found_without_the_bias_of_short_rows)
{
    static const double lags[] = {0.3, 0.5, 0.7};
    for (size_t l = 0; l < 3; l++) {
        double y[N], sum = 0;
        for (uint64_t i = 0; i < 400; i++) {
            make_rows(y, i + 1000 * l, lags[l]);
            sum += stat_ar1_fit(&(struct stat_ar1_rows){days, y, {ones, line}, N, 2}, 0.95).lag1;
        }
        T_OK(fabs(sum / 400 - lags[l]) < 0.035);
    }
}

TEST(what_cannot_be_fitted_is_undefined)
{
    double y[N];
    make_rows(y, 1, 0);
    struct stat_ar1 few = stat_ar1_fit(&(struct stat_ar1_rows){days, y, {ones, line}, 2, 2}, 0.95);
    T_OK(isnan(few.lag1) && isnan(few.coefficient[1]) && isnan(few.covariance[1][1]));
    struct stat_ar1 same = stat_ar1_fit(&(struct stat_ar1_rows){days, y, {ones, ones}, N, 2}, 0.95);
    T_OK(isnan(same.lag1) && isnan(same.variance));
    struct stat_ar1 none = stat_ar1_fit(&(struct stat_ar1_rows){days, y, {ones}, 0, 1}, 0.95);
    T_OK(isnan(none.variance));
}

TEST(a_constant_has_no_lag_and_no_variance)
{
    double y[N] = {0};
    struct stat_ar1 fit = stat_ar1_fit(&(struct stat_ar1_rows){days, y, {ones}, N, 1}, 0.95);
    T_OK(fit.lag1 == 0 && fit.variance == 0 && fit.coefficient[0] == 0);
}

TEST(the_error_of_a_sum_counts_what_coefficients_share)
{
    double y[N];
    make_rows(y, 1, 0.5);
    struct stat_ar1 f = stat_ar1_fit(&(struct stat_ar1_rows){days, y, {ones, line}, N, 2}, 0.95);
    const double weights[STAT_AR1_COLUMNS] = {1, 10};
    T_NEAR(stat_ar1_se(&f, weights),
           sqrt(f.covariance[0][0] + 20 * f.covariance[0][1] + 100 * f.covariance[1][1]));
}
