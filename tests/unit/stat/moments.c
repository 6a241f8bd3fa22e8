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
