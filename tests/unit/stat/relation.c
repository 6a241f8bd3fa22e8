/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/relation.h"

#include <stdlib.h>

#include "near.h"
#include "stat/order.h"

enum { MANY = 3650 };

static double scratch[7 * MANY + (1 << 16)];

static double noise(void)
{
    return (double)(t_random() % 1000003) / 1000003;
}

TEST(pearson_is_one_for_a_line_and_undefined_for_a_constant)
{
    double x[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40}, down[] = {4, 3, 2, 1}, same[] = {.1, .1, .1};
    double twice[] = {2, 4, 6, 8};
    T_OK(stat_pearson(x, y, 4) == 1);
    T_OK(stat_pearson(x, twice, 4) == 1);
    T_OK(stat_pearson(x, down, 4) == -1);
    T_OK(isnan(stat_pearson(x, same, 3)));
    T_OK(isnan(stat_pearson(x, y, 1)));
    T_OK(isnan(stat_pearson(x, y, 0)));
}

TEST(pearson_knows_neither_offset_nor_unit)
{
    double x[40], y[40], far[40], tiny[40], huge[40];
    for (int i = 0; i < 40; i++) {
        x[i] = (double)(t_random() % 100);
        y[i] = x[i] + (double)(t_random() % 100);
        far[i] = 1e15 + x[i];
        tiny[i] = x[i] * 1e-310;
        huge[i] = x[i] * 1e306;
    }
    double r = stat_pearson(x, y, 40);
    T_NEAR(stat_pearson(far, y, 40), r);
    T_NEAR(stat_pearson(tiny, huge, 40), stat_pearson(x, x, 40));
    T_NEAR(stat_pearson(huge, y, 40), r);
    T_NEAR(stat_ols(far, y, 40).slope, stat_ols(x, y, 40).slope);
}

TEST(ranks_of_equal_values_are_shared)
{
    double x[] = {30, 10, 20, 20, 10, 10}, ranks[6];
    stat_ranks(x, 6, ranks, scratch);
    double want[] = {6, 2, 4.5, 4.5, 2, 2};
    for (int i = 0; i < 6; i++) T_NEAR(ranks[i], want[i]);
}

TEST(spearman_sees_any_rising_curve)
{
    double x[] = {1, 2, 3, 4, 5}, y[] = {1, 8, 27, 64, 125};
    T_NEAR(stat_spearman(x, y, 5, scratch), 1);
    double ties[] = {1, 2, 2, 3, 3};
    T_NEAR(stat_spearman(x, ties, 5, scratch), 0.94868329805051377);
    double same[] = {2, 2, 2};
    T_OK(isnan(stat_spearman(x, same, 3, scratch)));
}

static double slow_kendall(const double *x, const double *y, size_t n)
{
    double s = 0, tx = 0, ty = 0, all = (double)n * (double)(n - 1) / 2;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            double a = (x[i] > x[j]) - (x[i] < x[j]), b = (y[i] > y[j]) - (y[i] < y[j]);
            s += a * b;
            tx += a == 0;
            ty += b == 0;
        }
    }
    return s / sqrt((all - tx) * (all - ty));
}

TEST(kendall_agrees_with_counting_all_pairs)
{
    double x[200], y[200];
    for (int round = 0; round < 60; round++) {
        size_t n = 2 + t_random() % 198;
        uint64_t kinds = 1 + t_random() % 50;
        for (size_t i = 0; i < n; i++) {
            x[i] = (double)(t_random() % kinds);
            y[i] = (double)(t_random() % kinds) + x[i] / 2;
        }
        T_NEAR(stat_kendall(x, y, n, scratch), slow_kendall(x, y, n));
    }
    double same[] = {1, 1, 1};
    T_OK(isnan(stat_kendall(same, x, 3, scratch)));
    T_OK(isnan(stat_kendall(x, y, 1, scratch)));
}

TEST(kendall_of_a_row_with_itself_is_exactly_one)
{
    static double x[MANY], down[MANY];
    for (size_t n = 2; n < MANY; n += 1 + n / 3) {
        for (size_t i = 0; i < n; i++) {
            x[i] = (double)(t_random() % n);
            down[i] = -x[i];
        }
        x[0] = -1;
        down[0] = 1;
        T_OK(stat_kendall(x, x, n, scratch) == 1);
        T_OK(stat_kendall(x, down, n, scratch) == -1);
    }
}

TEST(least_squares_of_a_line_is_the_line)
{
    double x[] = {20000, 20001, 20003, 20010}, y[4];
    for (int i = 0; i < 4; i++) y[i] = 3 - 0.25 * x[i];
    struct stat_line line = stat_ols(x, y, 4);
    T_NEAR(line.slope, -0.25);
    T_NEAR(line.intercept, 3);
    double same[] = {5, 5};
    T_OK(isnan(stat_ols(same, y, 2).slope));
    T_OK(isnan(stat_ols(x, y, 1).slope));
}

static double slow_theil_sen(const double *x, const double *y, size_t n)
{
    double *slopes = malloc(n * n / 2 * sizeof *slopes);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if (x[i] != x[j]) slopes[k++] = (y[j] - y[i]) / (x[j] - x[i]);
    double median = stat_median_in(slopes, k);
    free(slopes);
    return median;
}

/* Daily series of several temperaments: smooth, coarse, nearly constant, steep, with gaps. */
static void fill_days(double *x, double *y, size_t n, int kind)
{
    double day = 15000, level = 60;
    for (size_t i = 0; i < n; i++) {
        day += kind == 4 ? (double)(1 + t_random() % 5) : kind == 5 ? (double)(t_random() % 3) : 1;
        level += noise() - 0.5;
        x[i] = day;
        y[i] = kind == 0   ? level
               : kind == 1 ? round(level)
               : kind == 2 ? (t_random() % 20 ? 70.5 : 70.6)
               : kind == 3 ? 1e6 * (double)i + noise()
               : kind == 4 ? round(level * 10) / 10 + 0.01 * (double)i
                           : noise() * 15000;
    }
}

TEST(theil_sen_is_the_median_of_all_slopes)
{
    static double x[1500], y[1500];
    size_t sizes[] = {2, 3, 30, 255, 257, 300, 1001, 1500};
    for (int kind = 0; kind < 6; kind++) {
        for (size_t at = 0; at < sizeof sizes / sizeof *sizes; at++) {
            size_t n = sizes[at];
            fill_days(x, y, n, kind);
            if (x[0] == x[n - 1]) continue;
            double want = slow_theil_sen(x, y, n);
            T_NEAR(stat_theil_sen(x, y, n, scratch).slope, want);
        }
    }
}

TEST(theil_sen_of_ten_years_of_one_value_is_flat)
{
    static double x[MANY], y[MANY];
    for (int i = 0; i < MANY; i++) {
        x[i] = i;
        y[i] = i % 3 == 0 ? 5 : 7;
    }
    T_OK(stat_theil_sen_scratch(MANY) <= sizeof scratch / sizeof *scratch);
    T_NEAR(stat_theil_sen(x, y, MANY, scratch).slope, 0);
    double same[] = {4, 4};
    T_OK(isnan(stat_theil_sen(same, y, 2, scratch).slope));
    T_OK(isnan(stat_theil_sen(x, y, 1, scratch).slope));
    T_OK(isnan(stat_theil_sen(x, y, 0, scratch).slope));
}
