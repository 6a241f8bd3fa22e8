/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/moments.h"

#include "near.h"

TEST(sums_do_not_lose_what_is_small)
{
    double x[] = {1e16, 1, -1e16, 1, 1e-3};
    T_NEAR(stat_sum(x, 5), 2.001);
    double tenth[1000];
    for (int i = 0; i < 1000; i++) tenth[i] = 0.1;
    T_OK(stat_sum(tenth, 1000) == 100.0);
    T_OK(stat_sum(NULL, 0) == 0);
    T_OK(isnan(stat_mean(NULL, 0)));
}

TEST(deviations_survive_a_large_mean)
{
    double x[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
    T_NEAR(stat_variance(x, 4), 30);
    double small[] = {4, 7, 13, 16};
    T_NEAR(stat_sd(small, 4), sqrt(30));
    T_NEAR(stat_cv(small, 4), 100 * sqrt(30) / 10);
}

TEST(what_is_not_defined_is_nan)
{
    double one[] = {5}, same[] = {0.1, 0.1, 0.1}, zero[] = {-1, 1};
    T_OK(isnan(stat_sd(one, 1)));
    T_OK(stat_sd(same, 3) == 0);
    T_OK(isnan(stat_cv(zero, 2)));
    T_OK(isnan(stat_cv(NULL, 0)));
    T_OK(isnan(stat_min(NULL, 0)) && isnan(stat_max(NULL, 0)));
    T_OK(stat_min(zero, 2) == -1 && stat_max(zero, 2) == 1);
}

/* Sums and squares of these do not fit, their means and deviations do. */
TEST(values_at_the_ends_of_the_range_have_moments)
{
    double huge[] = {1e308, 1e308, 1e308, -1e308}, tiny[] = {1e-200, 2e-200, 3e-200};
    T_OK(fabs(stat_mean(huge, 4) / 5e307 - 1) < 1e-15);
    T_OK(fabs(stat_sd(huge, 4) / 1e308 - 1) < 1e-15);
    T_OK(fabs(stat_sd(tiny, 3) / 1e-200 - 1) < 1e-15);
    double denormal[] = {0x1p-1074, 3 * 0x1p-1074};
    T_OK(stat_sd(denormal, 2) == 0x1p-1074);
    T_OK(stat_scale(denormal, 2) == 0x1p1000 && stat_scale(huge, 4) == 0x1p-1000);
    double usual[] = {60, NAN, 61};
    T_OK(stat_scale(usual, 3) == 1 && stat_scale(NULL, 0) == 1);
}

TEST(equal_values_never_vary)
{
    for (size_t n = 2; n < 60; n++) {
        double x[60];
        for (size_t i = 0; i < n; i++) x[i] = 0.1 * (double)n;
        T_OK(stat_variance(x, n) == 0);
        T_OK(isnan(stat_shape(x, n).skewness));
    }
}

TEST(shape_is_of_standardised_values)
{
    double x[] = {1, 2, 3, 10}, far[] = {1e15 + 1, 1e15 + 2, 1e15 + 3, 1e15 + 10};
    T_NEAR(stat_shape(x, 4).skewness, 45 / pow(12.5, 1.5));
    T_NEAR(stat_shape(x, 4).excess_kurtosis, 348.5 / 156.25 - 3);
    T_NEAR(stat_shape(far, 4).skewness, 45 / pow(12.5, 1.5));
    double even[] = {-2, -1, 1, 2};
    T_NEAR(stat_shape(even, 4).skewness, 0);
    T_OK(isnan(stat_shape(x, 1).skewness) && isnan(stat_shape(x, 0).excess_kurtosis));
}
