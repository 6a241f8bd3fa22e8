/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/monotone.h"

#include <stdlib.h>

#include "near.h"
#include "stat/order.h"
#include "stat/random.h"

static double scratch[200000];

/* All orders of n values, by exchanging (Heap's way); how many have a score as far off. */
static void count_orders(int *order, int k, int n, int seen, double counts[2])
{
    if (k == 1) {
        int score = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++) score += order[i] > order[j] ? 1 : -1;
        counts[0]++;
        counts[1] += abs(score) >= abs(seen);
        return;
    }
    for (int i = 0; i < k; i++) {
        count_orders(order, k - 1, n, seen, counts);
        int j = k % 2 ? 0 : i, t = order[j];
        order[j] = order[k - 1];
        order[k - 1] = t;
    }
}

TEST(exact_kendall_is_the_share_of_all_orders)
{
    for (int round = 0; round < 40; round++) {
        double x[6], y[6], counts[2] = {0};
        int order[6], n = 2 + (int)(t_random() % 5), score = 0;
        for (int i = 0; i < n; i++) {
            x[i] = i;
            y[i] = (double)t_random();
            order[i] = i;
            for (int j = 0; j < i; j++) score += y[i] > y[j] ? 1 : -1;
        }
        count_orders(order, n, n, score, counts);
        T_NEAR(stat_kendall_exact(x, y, (size_t)n, scratch), counts[1] / counts[0]);
    }
}

TEST(exact_kendall_of_a_perfect_order_is_two_of_all_orders)
{
    double x[100], factorial = 1;
    for (int i = 0; i < 100; i++) {
        x[i] = i;
        factorial *= i + 1;
    }
    double p = stat_kendall_exact(x, x, 100, scratch);
    T_OK(fabs(p * factorial / 2 - 1) < 1e-11);
    x[3] = x[4];
    T_OK(isnan(stat_kendall_exact(x, x, 100, scratch)));
}

TEST(mann_kendall_is_kendall_with_time)
{
    double x[40], order[40];
    for (int i = 0; i < 40; i++) {
        order[i] = i;
        x[i] = (double)(t_random() % 12) + 0.1 * i;
    }
    struct stat_mann_kendall m = stat_mann_kendall(x, 40, scratch);
    struct stat_concordance c = stat_concordance(order, x, 40, scratch);
    T_NEAR(m.s, c.score);
    for (int i = 0; i < 40; i++) order[i] = -x[i];
    T_NEAR(stat_mann_kendall(order, 40, scratch).s, -m.s);
    T_NEAR(stat_mann_kendall(order, 40, scratch).p, m.p);
}

/* As Hamed and Rao write it: one lag after the other. */
static double slow_inflation(const double *x, size_t n, double alpha)
{
    static double days[400], rest[400], ranks[400];
    for (size_t i = 0; i < n; i++) days[i] = (double)i;
    double slope = stat_theil_sen(days, x, n, scratch).slope, squares = 0, sum = 0;
    for (size_t i = 0; i < n; i++) rest[i] = x[i] - slope * (double)i;
    stat_ranks(rest, n, ranks, scratch);
    double middle = ((double)n + 1) / 2, limit = 1.9599639845400545 / sqrt((double)n);
    T_OK(alpha == 0.05);
    for (size_t i = 0; i < n; i++) squares += (ranks[i] - middle) * (ranks[i] - middle);
    for (size_t lag = 1; lag < n; lag++) {
        double products = 0, left = (double)(n - lag);
        for (size_t i = 0; i + lag < n; i++)
            products += (ranks[i] - middle) * (ranks[i + lag] - middle);
        double rho = products / squares;
        if (fabs(rho) > limit) sum += left * (left - 1) * (left - 2) * rho;
    }
    double m = (double)n;
    return 1 + 2 * sum / (m * (m - 1) * (m - 2));
}

TEST(all_lags_at_once_are_the_lags_one_by_one)
{
    static double x[400];
    struct stat_random r = stat_random_of(5, 0);
    for (size_t n = 3; n < 400; n += 17) {
        double level = 0;
        for (size_t i = 0; i < n; i++) x[i] = level = 0.6 * level + stat_random_normal(&r);
        T_OK(stat_mann_kendall_scratch(n) <= sizeof scratch / sizeof *scratch);
        double got = stat_mann_kendall_hamed_rao(x, n, 0.05, scratch).inflation;
        T_NEAR(got, slow_inflation(x, n, 0.05));
    }
}

TEST(sens_interval_holds_the_slope)
{
    double x[60], y[60];
    for (int i = 0; i < 60; i++) {
        x[i] = i;
        y[i] = 0.5 * i + (double)(t_random() % 20);
    }
    double slope = stat_theil_sen(x, y, 60, scratch).slope;
    struct stat_interval narrow = stat_sen_interval(x, y, 60, 0.8, scratch);
    struct stat_interval wide = stat_sen_interval(x, y, 60, 0.99, scratch);
    T_OK(wide.lo <= narrow.lo && narrow.lo <= slope);
    T_OK(slope <= narrow.hi && narrow.hi <= wide.hi);
}

TEST(what_has_no_order_is_undefined)
{
    const double same[] = {3, 3, 3, 3};
    T_OK(isnan(stat_mann_kendall(same, 4, scratch).p));
    T_OK(isnan(stat_mann_kendall(same, 1, scratch).s));
    T_OK(isnan(stat_mann_kendall_hamed_rao(same, 4, 0.05, scratch).p));
    T_OK(isnan(stat_mann_kendall_ar1(same, 4, scratch).p));
    T_OK(isnan(stat_kendall_p(same, same, 4, scratch)));
    T_OK(isnan(stat_kendall_exact(same, same, 1, scratch)));
    T_OK(isnan(stat_sen_interval(same, same, 4, 0.95, scratch).lo));
}
