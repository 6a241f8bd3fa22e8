/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/rank_test.h"

#include "near.h"
#include "stat/relation.h"

static double scratch[200000];

/* All ways to choose na of n, by the bits of a number. */
static double slow_mann_whitney(const double *all, size_t na, size_t n)
{
    double ranks[16], rest[32], far = 0, ways = 0;
    stat_ranks(all, n, ranks, rest);
    double mean = (double)(na * (n + 1)) / 2, seen = -mean;
    for (size_t i = 0; i < na; i++) seen += ranks[i];
    for (unsigned chosen = 0; chosen < 1u << n; chosen++) {
        if ((size_t)__builtin_popcount(chosen) != na) continue;
        double sum = -mean;
        for (size_t i = 0; i < n; i++) sum += chosen >> i & 1 ? ranks[i] : 0;
        ways++;
        far += fabs(sum) >= fabs(seen);
    }
    return far / ways;
}

TEST(exact_mann_whitney_is_the_share_of_all_divisions)
{
    for (int round = 0; round < 60; round++) {
        double x[10];
        size_t n = 2 + t_random() % 9, na = 1 + t_random() % (n - 1);
        uint64_t kinds = 2 + t_random() % 20;
        for (size_t i = 0; i < n; i++) x[i] = (double)(t_random() % kinds);
        x[0] = -1;
        T_NEAR(stat_mann_whitney_exact(x, na, x + na, n - na, scratch),
               slow_mann_whitney(x, na, n));
    }
}

TEST(exact_wilcoxon_is_the_share_of_all_signs)
{
    for (int round = 0; round < 60; round++) {
        double d[10], sizes[10], ranks[10], rest[20], far = 0;
        size_t n = 1 + t_random() % 10;
        for (size_t i = 0; i < n; i++) {
            d[i] = (double)(1 + t_random() % 6) * (t_random() % 2 ? 1 : -1);
            sizes[i] = fabs(d[i]);
        }
        stat_ranks(sizes, n, ranks, rest);
        double mean = (double)(n * (n + 1)) / 4, seen = -mean;
        for (size_t i = 0; i < n; i++) seen += d[i] > 0 ? ranks[i] : 0;
        for (unsigned up = 0; up < 1u << n; up++) {
            double sum = -mean;
            for (size_t i = 0; i < n; i++) sum += up >> i & 1 ? ranks[i] : 0;
            far += fabs(sum) >= fabs(seen);
        }
        T_NEAR(stat_wilcoxon_exact(d, n, scratch), far / (double)(1u << n));
    }
}

TEST(exact_and_approximate_p_meet_where_there_are_many_values)
{
    double a[30], b[30];
    for (int i = 0; i < 30; i++) {
        a[i] = i;
        b[i] = i + 4.5;
    }
    struct stat_mann_whitney m = stat_mann_whitney(a, 30, b, 30, scratch);
    T_OK(stat_mann_whitney_exact_scratch(30, 30) <= sizeof scratch / sizeof *scratch);
    T_OK(fabs(stat_mann_whitney_exact(a, 30, b, 30, scratch) - m.p) < 0.002);
    T_OK(m.p_uncorrected < m.p);
    for (int i = 0; i < 30; i++) a[i] = i - 10.25;
    struct stat_wilcoxon w = stat_wilcoxon(a, 30, scratch);
    T_OK(fabs(stat_wilcoxon_exact(a, 30, scratch) - w.p_corrected) < 0.002);
    T_OK(w.p < w.p_corrected);
}

TEST(exchanging_the_groups_mirrors_the_test)
{
    const double a[] = {1, 5, 5, 7, 9}, b[] = {2, 5, 6};
    struct stat_mann_whitney ab = stat_mann_whitney(a, 5, b, 3, scratch);
    struct stat_mann_whitney ba = stat_mann_whitney(b, 3, a, 5, scratch);
    T_NEAR(ab.u + ba.u, 15);
    T_NEAR(ab.p, ba.p);
    T_NEAR(ab.delta, -ba.delta);
    T_NEAR(stat_mann_whitney_exact(a, 5, b, 3, scratch),
           stat_mann_whitney_exact(b, 3, a, 5, scratch));
}

TEST(what_has_no_ranks_to_compare_is_undefined)
{
    const double same[] = {2, 2, 2}, zeros[] = {0, 0};
    T_OK(isnan(stat_mann_whitney(same, 2, same, 1, scratch).p));
    T_OK(isnan(stat_mann_whitney_exact(same, 2, same, 1, scratch)));
    T_OK(isnan(stat_mann_whitney(same, 0, same, 1, scratch).auc));
    T_OK(isnan(stat_mann_whitney_exact(same, 0, same, 1, scratch)));
    T_OK(isnan(stat_wilcoxon(zeros, 2, scratch).p));
    T_OK(isnan(stat_wilcoxon_exact(zeros, 2, scratch)));
    T_OK(isnan(stat_wilcoxon_exact(zeros, 0, scratch)));
}
