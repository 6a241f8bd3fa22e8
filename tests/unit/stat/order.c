/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/order.h"

#include <stdlib.h>

#include "near.h"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rows that are hard for a quicksort: random, few values, sorted, reversed, organ pipes, equal. */
static void fill(double *x, size_t n, int kind)
{
    for (size_t i = 0; i < n; i++) {
        double values[] = {(double)(t_random() % 1000000),
                           (double)(t_random() % 4),
                           (double)i,
                           (double)(n - i),
                           (double)(i < n / 2 ? i : n - i),
                           7,
                           (double)(i % 2 ? i : n - i)};
        x[i] = values[kind];
    }
}

TEST(any_row_is_sorted_and_any_place_is_found)
{
    static double x[5000], sorted[5000], work[5000];
    size_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 18, 100, 1000, 5000};
    for (int kind = 0; kind < 7; kind++) {
        for (size_t at = 0; at < sizeof sizes / sizeof *sizes; at++) {
            size_t n = sizes[at];
            fill(x, n, kind);
            memcpy(sorted, x, sizeof x);
            qsort(sorted, n, sizeof *sorted, compare);
            memcpy(work, x, sizeof x);
            stat_sort_in(work, n);
            T_OK(memcmp(work, sorted, n * sizeof *work) == 0);
            for (size_t k = 0; k < n; k += 1 + n / 7) {
                memcpy(work, x, sizeof x);
                T_OK(stat_select_in(work, n, k) == sorted[k]);
                for (size_t i = 0; i < n; i++)
                    T_OK(i <= k ? work[i] <= sorted[k] : work[i] >= sorted[k]);
            }
        }
    }
}

TEST(quantiles_are_of_type_seven)
{
    double x[] = {15, 20, 35, 40, 50};
    double sorted[] = {15, 20, 35, 40, 50};
    T_NEAR(stat_quantile_in(x, 5, 0.4), 29);
    T_NEAR(stat_quantile_in(x, 5, 0), 15);
    T_NEAR(stat_quantile_in(x, 5, 1), 50);
    T_NEAR(stat_quantile_sorted(sorted, 5, 0.4), 29);
    T_NEAR(stat_median_in(x, 4), 27.5);
    T_OK(isnan(stat_quantile_in(x, 0, 0.5)));
    T_OK(isnan(stat_quantile_in(x, 5, 1.5)));
    T_OK(isnan(stat_quantile_sorted(x, 5, NAN)));
}

TEST(the_median_distance_from_the_median)
{
    double x[] = {1, 1, 2, 2, 4, 6, 9};
    T_NEAR(stat_mad_in(x, 7, 2), 1);
    T_OK(isnan(stat_mad_in(x, 0, 2)));
}

TEST(between_values_at_the_ends_of_the_range_is_a_middle)
{
    double x[] = {1e308, -1e308};
    T_OK(stat_median_in(x, 2) == 0);
    T_OK(stat_quantile_sorted((double[]){-1e308, 1e308}, 2, 0.75) == 5e307);
}

TEST(robust_z_is_in_units_of_the_spread)
{
    double x[] = {1, 2, 3, 4, 100}, same[] = {5, 5, 5, 9};
    struct stat_robust r = stat_robust_in(x, 5);
    T_NEAR(stat_robust_z(r, 100), 97 / 1.4826);
    T_NEAR(stat_robust_z(r, 3), 0);
    T_OK(isnan(stat_robust_z(r, NAN)));
    T_OK(isnan(stat_robust_z(stat_robust_in(same, 4), 9)));
    T_OK(isnan(stat_robust_in(same, 0).center));
}

TEST(a_trimmed_mean_is_between_mean_and_median)
{
    double x[] = {9, 1, 2, 3, 100, 4, 5, 6, 7, 8};
    T_NEAR(stat_trimmed_mean_in(x, 10, 0), 14.5);
    T_NEAR(stat_trimmed_mean_in(x, 10, 0.1), 44.0 / 8);
    T_NEAR(stat_trimmed_mean_in(x, 10, 0.19), 44.0 / 8);
    T_NEAR(stat_trimmed_mean_in(x, 10, 0.49), 5.5);
    T_OK(isnan(stat_trimmed_mean_in(x, 0, 0.1)));
    T_OK(isnan(stat_trimmed_mean_in(x, 10, 0.5)) && isnan(stat_trimmed_mean_in(x, 10, -0.1)));
    T_OK(isnan(stat_trimmed_mean_in(x, 10, NAN)));
}
