/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-gates [TIMES [short]]
 *
 * The operating characteristics of the gates, as the tables of docs/gates.md, in percent:
 *
 * 1. How often they validate what is not there: TIMES (2,000) invented rows of days for each kind
 *    of finding and each cell of a grid of autocorrelation and length, half of them with a weekly
 *    cycle and a block of missing days. Left out with "short".
 * 2. The same on shorter rows without those, of five metrics in turn, and 3. how often they accept
 *    planted effects there: so the shared findings with known truth are made.
 * 4. How often the 95 % interval of a mean holds it. 5. What a finding costs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check/gates.h"
#include "stat/random.h"

enum { MOST_DAYS = 365, WEEK = 7, MEMORY = 64 << 20 };

static const double phis[] = {0, 0.3, 0.5, 0.7};
static const size_t lengths[] = {30, 60, 120, 365};

struct trouble {
    double cycle;   /* of a week, in standard deviations */
    bool has_a_gap; /* a tenth of the days is missing */
};

/* Metrics as people have them. Of the first alone the long rows are made. */
static const struct person {
    const char *metric;
    double mean, sd;
} people[] = {{"resting_heart_rate", 60, 3},
              {"steps", 8400, 2600},
              {"sleep_minutes", 432, 45},
              {"hrv_rmssd", 45, 8},
              {"weight", 78, 0.7}};
enum { N_PEOPLE = sizeof people / sizeof *people };

/* Days that resemble the day before, with a mean of 0 and a standard deviation of 1. */
static void make_days(struct stat_random *r, double phi, struct trouble t, double *x, size_t n)
{
    double e = stat_random_normal(r), keep = sqrt(1 - phi * phi);
    size_t hole = t.has_a_gap ? (size_t)stat_random_below(r, n) : n;
    for (size_t i = 0; i < n; i++) {
        x[i] = e + t.cycle * cos(2 * M_PI * (double)i / WEEK);
        if (i >= hole && i < hole + n / 10) x[i] = NAN;
        e = phi * e + keep * stat_random_normal(r);
    }
}

struct kind {
    const char *name;
    enum finding_kind kind;
    double size; /* of the effect that is planted, in standard deviations; of pairs, r */
    int lag;
};

static const struct kind kinds[] = {
    {"trend", FINDING_TREND, 2.2, 0},      {"two windows", FINDING_WINDOWS, 1.6, 0},
    {"weekday", FINDING_WEEKDAYS, 1.1, 0}, {"correlation", FINDING_PAIR, 0.65, 0},
    {"lagged", FINDING_PAIR, 0.65, 1},     {"anomaly", FINDING_ANOMALY, 6.5, 0},
};

/* The day farthest off, as one would pick it. */
static size_t farthest(const double *x, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]) && (!isfinite(x[at]) || fabs(x[i]) > fabs(x[at]))) at = i;
    return at;
}

/* Puts an effect of `size` standard deviations into the days. */
static void plant(const struct kind *k, double size, double *x, double *y, size_t n)
{
    size_t middle = n / 2;
    for (size_t i = 0; i < n; i++) {
        double at = (double)i / (double)(n - 1);
        if (k->kind == FINDING_TREND) x[i] += size * at;
        if (k->kind == FINDING_WINDOWS && i >= middle) x[i] += size;
        if (k->kind == FINDING_WEEKDAYS && i % WEEK >= 5) x[i] += size;
        if (k->kind == FINDING_PAIR && i >= (size_t)k->lag)
            y[i] = size * x[i - (size_t)k->lag] + sqrt(1 - size * size) * y[i];
        if (k->kind == FINDING_ANOMALY && i == middle) x[i] += size;
    }
}

struct trial {
    double phi;
    size_t n;
    bool is_hard; /* with all troubles */
    double size;
    size_t person;
    uint64_t seed;
};

static void measure(double *x, size_t n, const struct person *p)
{
    for (size_t i = 0; i < n; i++) x[i] = p->mean + p->sd * x[i];
}

static struct verdict judge(struct stat_random *r, const struct kind *k, struct trial t,
                            struct arena *arena)
{
    double x[MOST_DAYS], y[MOST_DAYS];
    size_t n = t.n;
    const struct person *p = &people[t.person], *other = &people[(t.person + 4) % N_PEOPLE];
    /* Of weekends a cycle would be a finding, and a true one. */
    struct trouble trouble = {t.is_hard && k->kind != FINDING_WEEKDAYS ? 0.4 : 0, t.is_hard};
    make_days(r, t.phi, trouble, x, n);
    make_days(r, t.phi, trouble, y, n);
    if (t.size != 0) plant(k, t.size, x, y, n);
    size_t index = k->kind == FINDING_ANOMALY ? farthest(x, n) : 0;
    measure(x, n, p);
    measure(y, n, other);
    struct finding f = {.kind = k->kind,
                        .metric = metric_find(weir_slice_of(p->metric)),
                        .metric_y = metric_find(weir_slice_of(other->metric)),
                        .a = {x, n},
                        .b = {y, n},
                        .lag = k->lag,
                        .index = index,
                        .weekend = 1 << 5 | 1 << 6,
                        .is_one_device = true};
    if (k->kind == FINDING_WINDOWS) {
        /* One row, cut in two: the windows follow each other. */
        f.a.n = n / 2;
        f.b = (struct days){x + n / 2, n - n / 2};
    }
    if (k->kind == FINDING_ANOMALY) f.b.n = 0;
    struct verdict v;
    arena_reset(arena);
    if (gates_run(&v, &f, t.seed, arena) != WEIR_OK) abort();
    return v;
}

struct shares {
    double validated, conditional;
};

static struct shares try_cell(const struct kind *k, double phi, size_t n, double size,
                              unsigned times, struct arena *arena)
{
    struct shares s = {0};
    struct stat_random r = stat_random_of(n * 1000 + (uint64_t)(phi * 10), (uint64_t)(k - kinds));
    for (unsigned i = 0; i < times; i++) {
        bool is_short = n == 42 || n == 63 || n == 91;
        struct trial t = {.phi = phi,
                          .n = n,
                          .is_hard = !is_short && i % 2 == 1,
                          .size = i % 4 < 2 ? size : -size,
                          .person = is_short ? i % N_PEOPLE : 0,
                          .seed = i};
        struct verdict v = judge(&r, k, t, arena);
        s.validated += v.name == VERDICT_VALIDATED ? 1.0 / times : 0;
        s.conditional += v.name == VERDICT_CONDITIONAL ? 1.0 / times : 0;
    }
    return s;
}

/* The share of intervals of the mean that hold it. */
static double coverage(double phi, size_t n, unsigned n_rows, struct arena *arena)
{
    static const struct kind level = {"mean", FINDING_LEVEL, 0, 0};
    struct stat_random r = stat_random_of(n * 1000 + (uint64_t)(phi * 10), 99);
    unsigned n_held = 0, n_made = 0;
    for (unsigned i = 0; i < n_rows; i++) {
        struct trial t = {.phi = phi, .n = n, .is_hard = i % 2 == 1, .seed = i};
        struct verdict v = judge(&r, &level, t, arena);
        n_made += isfinite(v.lo) ? 1 : 0;
        n_held += v.lo <= people[0].mean && v.hi >= people[0].mean ? 1 : 0;
    }
    return (double)n_held / n_made;
}

/* The fastest of some runs, for the machine may have other work. */
static void print_speed(const struct kind *k, struct arena *arena)
{
    struct stat_random r = stat_random_of(1, 1);
    double best = INFINITY;
    for (uint64_t i = 0; i < 50; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        judge(&r, k, (struct trial){.phi = 0.5, .n = MOST_DAYS, .size = k->size, .seed = i}, arena);
        clock_gettime(CLOCK_MONOTONIC, &b);
        best =
            fmin(best, (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
    }
    printf("| %s | %.2f ms |\n", k->name, best);
}

static const size_t short_lengths[] = {42, 63, 91};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void print_head(const char *title, const size_t *days, size_t n_days)
{
    printf("\n%s |", title);
    for (size_t l = 0; l < n_days; l++) printf(" %zu days |", days[l]);
    printf("\n|---|---|");
    for (size_t l = 0; l < n_days; l++) printf("---|");
    puts("");
}

/* In each cell the share that is validated, and behind it what is conditional besides. */
static void print_table(const size_t *days, size_t n_days, bool is_planted, unsigned times,
                        struct arena *arena)
{
    struct shares all = {0};
    double cells = (double)(4 * n_days * N_KINDS);
    print_head("| kind | lag-1", days, n_days);
    for (size_t row = 0; row < 4 * N_KINDS; row++) {
        const struct kind *k = &kinds[row / 4];
        printf("| %s | %.1f |", k->name, phis[row % 4]);
        for (size_t l = 0; l < n_days; l++) {
            double size = is_planted ? k->size : 0;
            struct shares s = try_cell(k, phis[row % 4], days[l], size, times, arena);
            printf(" %.1f + %.1f |", 100 * s.validated, 100 * s.conditional);
            fflush(stdout);
            all.validated += s.validated / cells;
            all.conditional += s.conditional / cells;
        }
        puts("");
    }
    printf("\nAll cells: %.1f + %.1f.\n", 100 * all.validated, 100 * all.conditional);
}

int main(int argc, char **argv)
{
    unsigned n_nulls = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2000;
    bool is_short = argc > 2;
    struct arena arena;
    arena_init(&arena, MEMORY);
    if (!is_short) print_table(lengths, 4, false, n_nulls, &arena);
    print_table(short_lengths, 3, false, n_nulls / 2, &arena);
    print_table(short_lengths, 3, true, n_nulls / 2, &arena);
    print_head("| interval | lag-1", lengths, 4);
    for (size_t p = 0; p < 4; p++) {
        printf("| holds the mean | %.1f |", phis[p]);
        for (size_t l = 0; l < 4; l++)
            printf(" %.1f |", 100 * coverage(phis[p], lengths[l], n_nulls, &arena));
        puts("");
    }
    printf("\n| kind, %d days, %d resamples | time |\n|---|---|\n", MOST_DAYS, GATE_RESAMPLES);
    for (size_t k = 0; k < N_KINDS; k++) print_speed(&kinds[k], &arena);
    arena_fini(&arena);
    return 0;
}
