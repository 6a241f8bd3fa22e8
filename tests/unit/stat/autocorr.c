/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/autocorr.h"

#include "near.h"

TEST(lags_are_sums_of_products_about_the_common_mean)
{
    const double x[] = {1, 2, 4, 3, 0}; /* less 2: -1 0 2 1 -2 */
    T_NEAR(stat_lag1(x, 5), (0 + 0 + 2 - 2) / 10.0);
    T_NEAR(stat_autocorrelation(x, 5, 2), (-2 + 0 - 4) / 10.0);
    T_NEAR(stat_autocorrelation(x, 5, 3), (-1 + 0) / 10.0);
    T_OK(isnan(stat_autocorrelation(x, 5, 4)));
    T_OK(isnan(stat_autocorrelation(x, 5, 9)));
}

TEST(scale_and_offset_do_not_matter)
{
    double x[50], y[50], z[50];
    for (int i = 0; i < 50; i++) {
        x[i] = (double)(t_random() % 1000);
        y[i] = 1e15 + x[i];
        z[i] = x[i] * 1e-300;
    }
    for (size_t lag = 1; lag < 10; lag++) {
        double r = stat_autocorrelation(x, 50, lag);
        T_NEAR(stat_autocorrelation(y, 50, lag), r);
        T_NEAR(stat_autocorrelation(z, 50, lag), r);
        T_OK(fabs(r) <= 1);
    }
}

/* The mean of equal values may be rounded; what is left of them is no correlation. */
TEST(a_constant_has_no_autocorrelation)
{
    for (size_t n = 2; n < 40; n++) {
        double x[40];
        for (size_t i = 0; i < n; i++) x[i] = 0.1 * (double)n;
        T_OK(isnan(stat_lag1(x, n)));
    }
}

TEST(neighbours_across_a_gap_do_not_count)
{
    const double x[] = {1, -1, NAN, 1, -1}, alone[] = {1, NAN, 2, NAN, 5};
    T_NEAR(stat_lag1(x, 5), 3.0 / 2 * -2 / 4);
    T_OK(isnan(stat_lag1(alone, 5)));
}

TEST(effective_numbers_are_at_most_the_number)
{
    T_NEAR(stat_effective_n(30, 0.5), 10);
    T_NEAR(stat_effective_n(30, -0.5), 30);
    T_NEAR(stat_effective_pairs(30, 0.5, 0.5), 18);
    T_NEAR(stat_effective_pairs(30, 0.5, -0.5), 30);
    T_NEAR(stat_lag1_corrected(0.5, 30, 0.9), 16.0 / 26);
    T_NEAR(stat_lag1_corrected(0.89, 30, 0.9), 0.9);
    T_NEAR(stat_lag1_corrected(-0.2, 30, 0.9), 0);
}
