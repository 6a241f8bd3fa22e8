/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/resample.h"

#include <stdlib.h>

#include "near.h"
#include "stat/dist.h"
#include "stat/moments.h"

enum { N = 28, TIMES = 2000 };

struct sample {
    double x[N];
    size_t n;
    size_t places[N]; /* the last ones drawn */
};

static double drawn_mean(void *user, const size_t *places)
{
    struct sample *s = user;
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->places[i] = places[i];
        sum += s->x[places[i]];
    }
    return sum / (double)s->n;
}

static size_t places[N];
static double values[TIMES];

static struct stat_bootstrap boot(struct sample *s, uint64_t seed, size_t block, bool is_aligned)
{
    struct stat_random r = stat_random_of(seed, 0);
    struct stat_resampling how = {.random = &r,
                                  .n = s->n,
                                  .block = block,
                                  .is_aligned = is_aligned,
                                  .times = TIMES,
                                  .confidence = 0.95,
                                  .places = places,
                                  .values = values};
    return stat_bootstrap(&how, drawn_mean, s);
}

static struct sample skewed(void)
{
    struct sample s = {.n = N};
    for (int i = 0; i < N; i++) s.x[i] = (double)(t_random() % 1000) * (double)(t_random() % 1000);
    return s;
}

/* Fixed numbers: they are the same on every machine, or this fails there. */
TEST(the_same_seed_gives_the_same_numbers)
{
    struct sample s = {.n = N};
    for (int i = 0; i < N; i++) s.x[i] = i * i;
    struct stat_bootstrap a = boot(&s, 7, 1, false), b = boot(&s, 7, 1, false);
    T_OK(a.interval.lo == b.interval.lo && a.interval.hi == b.interval.hi && a.median == b.median);
    T_OK(boot(&s, 8, 1, false).interval.lo != a.interval.lo);
    struct stat_random r = stat_random_of(1, 2);
    T_OK(stat_random_next(&r) == 9579208193359609190U && stat_random_below(&r, 1000) == 993);
}

TEST(blocks_are_neighbours_and_weeks_begin_where_weeks_begin)
{
    struct sample s = skewed();
    for (uint64_t seed = 0; seed < 50; seed++) {
        boot(&s, seed, 5, false);
        for (size_t i = 0; i < N; i++) T_OK(i % 5 == 0 || s.places[i] == s.places[i - 1] + 1);
        boot(&s, seed, 7, true);
        for (size_t i = 0; i < N; i++) T_EQ(s.places[i] % 7, i % 7);
    }
    struct stat_bootstrap whole = boot(&s, 1, N, false);
    T_NEAR(whole.interval.lo, stat_mean(s.x, N));
    T_NEAR(whole.interval.hi, stat_mean(s.x, N));
}

TEST(moving_and_stretching_values_does_the_same_to_the_interval)
{
    struct sample s = skewed(), t = s;
    for (int i = 0; i < N; i++) t.x[i] = 5 + 2 * s.x[i];
    struct stat_bootstrap a = boot(&s, 3, 1, false), b = boot(&t, 3, 1, false);
    T_NEAR(b.interval.lo, 5 + 2 * a.interval.lo);
    T_NEAR(b.interval.hi, 5 + 2 * a.interval.hi);
}

/* Of a mean the acceleration is a sixth of the skewness, over the root of n. */
TEST(the_acceleration_of_a_mean_is_its_skewness)
{
    struct sample s = skewed();
    double left_out[N], sum = stat_sum(s.x, N);
    struct stat_jackknife j = {0}, none = {0};
    for (int i = 0; i < N; i++) left_out[i] = (sum - s.x[i]) / (N - 1);
    stat_jackknife_add(&j, left_out, N);
    T_NEAR(stat_acceleration(&j), stat_shape(s.x, N).skewness / 6 / sqrt(N));
    T_OK(stat_acceleration(&none) == 0);
}

TEST(without_bias_and_acceleration_bca_is_the_percentile_interval)
{
    double even[1001];
    for (int i = 0; i < 1001; i++) even[i] = i;
    struct stat_resampling how = {.values = even, .confidence = 0.9};
    struct stat_interval plain = stat_bca(&how, 1001, 500, 0);
    T_NEAR(plain.lo, 50);
    T_NEAR(plain.hi, 950);
    /* Twice the bias is added to both ends' z. */
    struct stat_interval up = stat_bca(&how, 1001, 600, 0);
    double bias = stat_normal_quantile(600.5 / 1001);
    T_NEAR(up.hi, 1000 * stat_normal_upper(-(2 * bias + stat_normal_quantile(0.95))));
    T_NEAR(up.lo, 1000 * stat_normal_upper(-(2 * bias + stat_normal_quantile(0.05))));
    T_OK(stat_bca(&how, 1001, 500, 0.1).hi > plain.hi);
    T_OK(isnan(stat_bca(&how, 1001, -1, 0).lo) && isnan(stat_bca(&how, 1001, 2000, 0).hi));
}

/* ---- permutations ---- */

static double scratch[400];

static struct stat_permutation permute(const double *a, size_t na, const double *b, size_t nb)
{
    struct stat_random r = stat_random_of(1, 0);
    return stat_permutation(&r, a, na, b, nb, scratch);
}

/* Whole numbers, so that sums are exact, on a base that would swallow their squares. */
TEST(small_groups_are_divided_in_all_ways)
{
    for (int round = 0; round < 60; round++) {
        double x[10], base = round % 2 ? 1e15 : 0;
        size_t n = 2 + t_random() % 9, na = 1 + t_random() % (n - 1);
        long small[10], sum = 0, seen = 0, far = 0, ways = 0;
        for (size_t i = 0; i < n; i++) {
            small[i] = (long)(t_random() % 9);
            x[i] = base + (double)small[i];
            sum += small[i];
            seen += i < na ? small[i] : 0;
        }
        for (unsigned c = 0; c < 1u << n; c++) {
            long part = 0;
            for (size_t i = 0; i < n; i++) part += c >> i & 1 ? small[i] : 0;
            if ((size_t)__builtin_popcount(c) != na) continue;
            ways++;
            far += labs(part * (long)n - sum * (long)na) >= labs(seen * (long)n - sum * (long)na);
        }
        struct stat_permutation p = permute(x, na, x + na, n - na);
        T_OK(p.is_exact);
        T_EQ(p.n, ways);
        T_NEAR(p.p, (double)far / (double)ways);
    }
}

TEST(a_small_group_against_many_is_exact_too)
{
    double x[302];
    for (int i = 0; i < 302; i++) x[i] = i;
    struct stat_permutation p = permute(x, 300, x + 300, 2);
    T_OK(p.is_exact && p.n == 302 * 301 / 2);
    T_NEAR(p.p, 2.0 / (double)p.n);
    T_NEAR(permute(x + 300, 2, x, 300).p, p.p);
}

TEST(large_groups_are_divided_at_random)
{
    double x[80];
    for (int i = 0; i < 80; i++) x[i] = i % 2 + (i < 40 ? 0.0 : 5.0);
    struct stat_permutation p = permute(x, 40, x + 40, 40), again = permute(x, 40, x + 40, 40);
    T_OK(!p.is_exact && p.p > 0 && p.p < 0.001 && p.p == again.p);
    T_OK(isnan(permute(x, 0, x, 3).p) && isnan(permute(x, 3, x, 0).difference));
}
