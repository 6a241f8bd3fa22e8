/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of weir stat that draw again, and those on p-values of many tests. What is drawn
 * depends on the inputs and their seed alone.
 */
#include <math.h>

#include "stat/adjust.h"
#include "stat/moments.h"
#include "stat/order.h"
#include "stat/relation.h"
#include "stat/resample.h"
#include "stat_inputs.h"

enum {
    RESAMPLES = 10000,
    RESAMPLES_MOST = 1000000,
    LEAST_RESAMPLES = 2000,
    LEFT_OUT_MOST = 1000, /* parts that are left out in turn; of long rows they are larger */
    WEEK = 7,
};
static const double usual_draws = 2e8, most_draws = 4e9; /* values drawn for one line */

static struct stat_random random_of(struct call *c)
{
    return stat_random_of(whole_in(c, "seed", 1, 0, 9007199254740991), 0);
}

/* ---- permutation ---- */

static void op_permutation(struct call *c)
{
    struct row a = row_of(c, "a"), b = row_of(c, "b");
    struct stat_random random = random_of(c);
    double scale = scale_rows(c, a, b);
    struct stat_permutation p = stat_permutation(&random, a.x, a.n, b.x, b.n, room(c, a.n + b.n));
    begin(c);
    put_member(c, "diff", p.difference / scale);
    put_member(c, "p", p.p);
    put_member(c, "n_permutations", (double)p.n);
    weir_json_put_key(c->out, "is_exact");
    weir_json_put_bool(c->out, p.is_exact);
    end(c);
}

/* ---- bootstrap ---- */

/* Rows, which may have gaps, and how many places of each make a resample. */
struct sample {
    struct row x, y;
    size_t n, n2;
    double *drawn_x, *drawn_y, *scratch;
};

static size_t gather(struct row r, const size_t *places, size_t n, double *out)
{
    size_t n_known = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(r.x[places[i]])) out[n_known++] = r.x[places[i]];
    return n_known;
}

static size_t gather_pairs(const struct sample *s, const size_t *places)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        double x = s->x.x[places[i]], y = s->y.x[places[i]];
        if (isnan(x) || isnan(y)) continue;
        s->drawn_x[n] = x;
        s->drawn_y[n++] = y;
    }
    return n;
}

static double drawn_mean(void *user, const size_t *places)
{
    struct sample *s = user;
    return stat_mean(s->drawn_x, gather(s->x, places, s->n, s->drawn_x));
}

static double drawn_median(void *user, const size_t *places)
{
    struct sample *s = user;
    return stat_median_in(s->drawn_x, gather(s->x, places, s->n, s->drawn_x));
}

static double drawn_sd(void *user, const size_t *places)
{
    struct sample *s = user;
    return stat_sd(s->drawn_x, gather(s->x, places, s->n, s->drawn_x));
}

static double drawn_difference(void *user, const size_t *places)
{
    struct sample *s = user;
    size_t n = gather(s->x, places, s->n, s->drawn_x);
    size_t n2 = gather(s->y, places + s->n, s->n2, s->drawn_y);
    return stat_mean(s->drawn_x, n) - stat_mean(s->drawn_y, n2);
}

static double drawn_median_difference(void *user, const size_t *places)
{
    struct sample *s = user;
    size_t n = gather(s->x, places, s->n, s->drawn_x);
    size_t n2 = gather(s->y, places + s->n, s->n2, s->drawn_y);
    return stat_median_in(s->drawn_x, n) - stat_median_in(s->drawn_y, n2);
}

static double drawn_pearson(void *user, const size_t *places)
{
    struct sample *s = user;
    return stat_pearson(s->drawn_x, s->drawn_y, gather_pairs(s, places));
}

static double drawn_spearman(void *user, const size_t *places)
{
    struct sample *s = user;
    return stat_spearman(s->drawn_x, s->drawn_y, gather_pairs(s, places), s->scratch);
}

/* What a row of the table asks for, in the order of the words. */
static const char *const statistics[] = {
    "mean", "median", "sd", "pearson_r", "spearman_rho", "mean_difference", "median_difference",
    NULL};
static const struct {
    stat_of_places_fn function;
    bool has_pairs, has_groups;
} bootstraps[] = {
    {drawn_mean, false, false},
    {drawn_median, false, false},
    {drawn_sd, false, false},
    {drawn_pearson, true, false},
    {drawn_spearman, true, false},
    {drawn_difference, false, true},
    {drawn_median_difference, false, true},
};

/* One by one a gap is no value; in blocks it is a day, and keeps its place. */
static void read_sample(struct call *c, struct sample *s, size_t kind, size_t block)
{
    struct row (*read)(struct call *, const char *) = block > 1 ? row_with_gaps : row_of;
    if (bootstraps[kind].has_pairs && block <= 1) {
        pairs_of(c, 0, &s->x, &s->y);
    } else if (bootstraps[kind].has_pairs) {
        s->x = row_with_gaps(c, "x");
        s->y = row_with_gaps(c, "y");
        if (s->x.n != s->y.n) complain(c, "x", "and inputs.y have to be equally long");
    } else {
        s->x = read(c, bootstraps[kind].has_groups ? "a" : "x");
        if (bootstraps[kind].has_groups) {
            s->y = read(c, "b");
            center_rows(c, s->x, s->y);
        }
    }
    s->n = s->x.n;
    s->n2 = bootstraps[kind].has_groups ? s->y.n : 0;
    s->drawn_x = room(c, s->x.n);
    s->drawn_y = room(c, s->y.n);
    s->scratch = room(c, 4 * s->x.n);
}

/* The places from `at` on that are n, without those from `first` to before `end`. */
static size_t *list_places(size_t *at, size_t n, size_t first, size_t end)
{
    for (size_t i = 0; i < n; i++)
        if (i < first || i >= end) *at++ = i;
    return at;
}

/* Leaves out one part after the other of the first rows, or of the second group. */
static void leave_out(struct sample *s, const struct stat_resampling *how, stat_of_places_fn f,
                      bool is_second, struct stat_jackknife *j)
{
    double left_out[LEFT_OUT_MOST];
    size_t all = is_second ? how->n2 : how->n, n = 0;
    size_t block = how->block > 1 ? how->block : 1;
    size_t part = block * (1 + (all - 1) / (block * LEFT_OUT_MOST));
    for (size_t first = 0; first < all; first += part) {
        size_t end = all - first < part ? all : first + part;
        size_t *at = list_places(how->places, how->n, is_second ? 0 : first, is_second ? 0 : end);
        s->n = (size_t)(at - how->places);
        s->n2 = (size_t)(list_places(at, how->n2, is_second ? first : 0, is_second ? end : 0) - at);
        double value = f(s, how->places);
        if (!isnan(value)) left_out[n++] = value;
    }
    if (n > 0) stat_jackknife_add(j, left_out, n);
}

static struct stat_interval corrected(struct sample *s, const struct stat_resampling *how,
                                      stat_of_places_fn f, size_t n_values)
{
    struct stat_jackknife j = {0};
    size_t *at = list_places(how->places, how->n, 0, 0);
    list_places(at, how->n2, 0, 0);
    s->n = how->n;
    s->n2 = how->n2;
    double seen = f(s, how->places);
    leave_out(s, how, f, false, &j);
    if (how->n2 > 0) leave_out(s, how, f, true, &j);
    return stat_bca(how, n_values, seen, stat_acceleration(&j));
}

/* The percentiles mirrored at the statistic of the sample. */
static struct stat_interval mirrored(struct sample *s, const struct stat_resampling *how,
                                     stat_of_places_fn f, struct stat_interval i)
{
    size_t *at = list_places(how->places, how->n, 0, 0);
    list_places(at, how->n2, 0, 0);
    double seen = f(s, how->places);
    return (struct stat_interval){2 * seen - i.hi, 2 * seen - i.lo};
}

static size_t times_of(struct call *c, const struct sample *s)
{
    size_t least = whole_in(c, "min_iterations", LEAST_RESAMPLES, 1, RESAMPLES_MOST);
    double n = (double)(s->n + s->n2) + 1, usual = fmin(RESAMPLES, usual_draws / n);
    if ((double)least * n > most_draws)
        complain(c, "min_iterations", "times the number of values has to be below 4e9");
    return (double)least > usual ? least : (size_t)usual;
}

/* Blocks of whole weeks need whole weeks. */
static void cut_to_weeks(struct call *c, struct sample *s, size_t week)
{
    s->n -= s->n % week;
    s->n2 -= s->n2 % week;
    if (s->n == 0) give_reason(c, "there is no whole week");
}

static void bootstrap(struct call *c, size_t block, size_t week)
{
    static const char *const methods[] = {"percentile", "bca", "basic", NULL};
    size_t kind = word_of(c, "statistic", statistics), method = word_of(c, "method", methods);
    struct sample s = {0};
    struct stat_random random = random_of(c);
    if (!weir_json_get_str(c->inputs, "statistic")) complain(c, "statistic", "is missing");
    if (week > 0) block = week;
    read_sample(c, &s, kind, block);
    if (week > 0) cut_to_weeks(c, &s, week);
    struct stat_resampling how = {.random = &random,
                                  .n = s.n,
                                  .n2 = s.n2,
                                  .block = block,
                                  .is_aligned = week > 0,
                                  .times = times_of(c, &s),
                                  .confidence = confidence(c)};
    if (c->complaint[0] != '\0') return;
    if (bootstraps[kind].has_groups && how.n2 == 0) how.n = 0;
    how.places = (size_t *)(void *)room(c, how.n + how.n2);
    how.values = room(c, how.times);
    stat_of_places_fn f = bootstraps[kind].function;
    struct stat_bootstrap b = stat_bootstrap(&how, f, &s);
    struct stat_interval interval = b.interval;
    if (b.n > 0 && method == 1) interval = corrected(&s, &how, f, b.n);
    if (b.n > 0 && method == 2) interval = mirrored(&s, &how, f, interval);
    if (b.n > 0 && isnan(interval.lo))
        give_reason(c, "all resamples are on one side of the sample");
    begin(c);
    put_interval(c, "ci_low", "ci_high", interval);
    put_member(c, "boot_median", b.median);
    put_member(c, "n_resamples", (double)b.n);
    end(c);
}

enum { BLOCK_MOST = 1000000 };

static void op_bootstrap(struct call *c)
{
    size_t week = whole_in(c, "week_length", 0, 0, BLOCK_MOST);
    bootstrap(c, whole_in(c, "block", 1, 1, BLOCK_MOST), week);
}

static void op_block_bootstrap(struct call *c)
{
    const struct weir_json *first = weir_json_get_str(c->inputs, "x");
    if (!first) first = weir_json_get_str(c->inputs, "a");
    size_t usual = (size_t)ceil(cbrt((double)weir_json_count(first)));
    bootstrap(c, whole_in(c, "block", usual > 0 ? usual : 1, 1, BLOCK_MOST), 0);
}

static void op_week_bootstrap(struct call *c)
{
    bootstrap(c, 1, whole_in(c, "week_length", WEEK, 1, BLOCK_MOST));
}

/* ---- many tests ---- */

/* A test that is missing stays in its place and does not count. */
static void adjust_with(struct call *c, void (*adjust)(double *, size_t, double *))
{
    struct row all = row_with_gaps(c, "p"), p = row_of(c, "p");
    for (size_t i = 0; i < p.n; i++)
        if (!(p.x[i] >= 0 && p.x[i] <= 1)) complain(c, "p", "has to hold numbers from 0 to 1");
    adjust(p.x, p.n, room(c, 2 * p.n));
    for (size_t i = 0, next = 0; i < all.n; i++)
        if (!isnan(all.x[i])) all.x[i] = p.x[next++];
    put_row(c, all.x, all.n);
}

static void op_bh(struct call *c)
{
    adjust_with(c, stat_adjust_bh);
}

static void op_by(struct call *c)
{
    adjust_with(c, stat_adjust_by);
}

static void op_holm(struct call *c)
{
    adjust_with(c, stat_adjust_holm);
}

#define BOOTSTRAP_INPUTS "statistic, x | x, y | a, b, method percentile|bca|basic, confidence 0.95"
#define BOOTSTRAP_GIVES  "ci_low, ci_high, boot_median, n_resamples"

const struct stat_op stat_draw_ops[] = {
    {"permutation_mean_diff_exact", "a, b, seed 1", "diff, p, n_permutations, is_exact",
     op_permutation},
    {"bootstrap_ci_range", BOOTSTRAP_INPUTS ", block 1, min_iterations, seed 1", BOOTSTRAP_GIVES,
     op_bootstrap},
    {"block_bootstrap_ci", BOOTSTRAP_INPUTS ", block n^(1/3), min_iterations, seed 1",
     BOOTSTRAP_GIVES, op_block_bootstrap},
    {"week_bootstrap_ci", BOOTSTRAP_INPUTS ", week_length 7, min_iterations, seed 1",
     BOOTSTRAP_GIVES, op_week_bootstrap},
    {"bh_adjust", "p", "Benjamini and Hochberg's of each", op_bh},
    {"benjamini_yekutieli_adjust", "p", "Benjamini and Yekutieli's of each", op_by},
    {"holm_adjust", "p", "Holm's of each", op_holm},
    {.name = NULL},
};
