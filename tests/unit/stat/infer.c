/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/infer.h"

#include "near.h"
#include "stat/dist.h"

TEST(a_paired_test_of_two_values_has_one_degree_of_freedom)
{
    const double d[] = {1, 3};
    struct stat_test t = stat_one_sample(stat_group_of(d, 2), 0.95);
    T_NEAR(t.t, 2);
    T_NEAR(t.p, 1 - 2 / M_PI * atan(2));
    T_NEAR(t.interval.hi, 2 + tan(0.95 * M_PI / 2));
}

TEST(welch_of_equal_groups_is_students_test)
{
    const double a[] = {1, 2, 3, 4}, b[] = {3, 4, 5, 6};
    struct stat_test t = stat_welch(stat_group_of(a, 4), stat_group_of(b, 4), 0.95);
    T_NEAR(t.df, 6);
    T_NEAR(t.t, -2 / sqrt(2 * (5.0 / 3) / 4));
    T_NEAR(t.p, stat_t_two_sided(t.t, 6));
}

/* t of the slope, t of the correlation and F of the line are the same test. */
TEST(slope_and_correlation_have_the_same_p)
{
    for (int round = 0; round < 50; round++) {
        double x[12], y[12];
        for (int i = 0; i < 12; i++) {
            x[i] = (double)(t_random() % 100);
            y[i] = x[i] / 3 + (double)(t_random() % 100);
        }
        struct stat_fit fit = stat_fit_line(x, y, 12, 0.95);
        double r = stat_pearson(x, y, 12), f = fit.r2 / (1 - fit.r2) * 10;
        T_NEAR(fit.r2, r * r);
        T_NEAR(fit.p, stat_correlation_p(r, 12));
        T_NEAR(fit.p, stat_f_upper(f, 1, 10));
    }
}

TEST(a_line_far_from_the_origin_keeps_its_error)
{
    double x[9], far[9], y[9];
    for (int i = 0; i < 9; i++) {
        x[i] = i;
        far[i] = 1e12 + i;
        y[i] = 3 * i + (i % 3);
    }
    struct stat_fit a = stat_fit_line(x, y, 9, 0.95), b = stat_fit_line(far, y, 9, 0.95);
    T_NEAR(b.line.slope, a.line.slope);
    T_NEAR(b.stderr_slope, a.stderr_slope);
    T_NEAR(b.p, a.p);
}

TEST(effects_are_in_units_of_the_pooled_deviation)
{
    const double a[] = {1, 2, 3}, b[] = {3, 4, 5};
    struct stat_group ga = stat_group_of(a, 3), gb = stat_group_of(b, 3);
    T_NEAR(stat_cohen_d(ga, gb), -2);
    T_NEAR(stat_hedges_g(ga, gb), -2 * (1 - 3.0 / 15));
}

TEST(too_few_values_have_no_test)
{
    const double one[] = {1}, two[] = {1, 2};
    T_OK(isnan(stat_one_sample(stat_group_of(one, 1), 0.95).p));
    T_OK(isnan(stat_welch(stat_group_of(one, 1), stat_group_of(two, 2), 0.95).p));
    T_OK(isnan(stat_correlation_p(1, 2)));
    T_OK(isnan(stat_correlation_interval(0.5, 3, 0.95).lo));
    T_OK(isnan(stat_fit_line(two, two, 2, 0.95).p));
}
