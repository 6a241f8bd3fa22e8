/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests of the search, each of which takes a few passes over the days, and how each is
 * confirmed on the newer ones. All p-values know of autocorrelation. A test that has too few days
 * or a constant gives p NAN: it was not tried.
 */
#include <math.h>

#include "check/search_impl.h"
#include "stat/autocorr.h"
#include "stat/dist.h"
#include "stat/order.h"

enum {
    WEEK = 7,
    LEAST_OLDER = 40,    /* days with values, to be searched */
    LEAST_SIDE = 21,     /* on each side of a change of level */
    LEAST_EFFECTIVE = 8, /* of them, as good as independent */
    LEAST_PAIRS = 12,    /* that are as good as independent */
    TAKEN_OFF = 6,       /* degrees of freedom that the week takes */
    DRIFT_WINDOW = 57,   /* days, for each of which the drift takes one */
    LEAST_GROUP = 4,     /* of the weekdays in question */
    LEAST_HALF = 10,     /* on either side of a median */
    TAIL_DAYS = 14,      /* farthest from it */
};
static const double least_share = 0.1; /* of the days on each side of a change */

static const struct tried not_tried = {
    .effect = NAN, .amount = NAN, .statistic = NAN, .p = NAN, .n_eff = NAN};

static size_t least_known(enum search_part part)
{
    return part == PART_NEWER ? LEAST_NEWER : LEAST_OLDER;
}

static bool has_enough(const struct piece *x, size_t least)
{
    return x->n_known >= least && x->line.variance > 0;
}

/* ---- pairs ---- */

struct products {
    double n, x, y, xx, yy, xy;
};

static void add_pair(struct products *s, double x, double y)
{
    s->n++;
    s->x += x;
    s->y += y;
    s->xx += x * x;
    s->yy += y * y;
    s->xy += x * y;
}

/* NAN: one of them is constant. */
static double correlation(const struct products *s)
{
    double vx = s->xx - s->x * s->x / s->n, vy = s->yy - s->y * s->y / s->n;
    double r = (s->xy - s->x * s->y / s->n) / sqrt(vx * vy);
    return vx > 0 && vy > 0 ? fmax(-1 + 1e-15, fmin(1 - 1e-15, r)) : NAN;
}

/* What one pair of days leaves when the one before it is taken off; and that of the pair before. */
struct left {
    double x, y;
};

struct pairs {
    struct products plain, white;
    double xx_next, yy_next; /* of what is left, with what is left next */
};

static void add_days(struct pairs *s, const struct whitening *noise, const struct piece *x,
                     const struct piece *y, int lag)
{
    size_t skip_x = lag < 0 ? (size_t)-lag : 0, skip_y = lag > 0 ? (size_t)lag : 0, before = 0;
    const double *a = x->quick + skip_x, *known_a = x->known + skip_x;
    const double *b = y->quick + skip_y, *known_b = y->known + skip_y;
    struct left last = {0};
    for (size_t i = 0; i < x->n - skip_x - skip_y; i++) {
        if (!(known_a[i] * known_b[i] > 0)) continue;
        size_t gap = i - before < NOISE_GAP ? i - before : NOISE_GAP;
        double keep = s->plain.n > 0 ? noise->keep[gap] : 0;
        double scale = s->plain.n > 0 ? noise->scale[gap] : 1;
        struct left now = {(a[i] - keep * a[before]) * scale, (b[i] - keep * b[before]) * scale};
        add_pair(&s->plain, a[i], b[i]);
        add_pair(&s->white, now.x, now.y);
        s->xx_next += now.x * last.x;
        s->yy_next += now.y * last.y;
        last = now;
        before = i;
    }
}

/*
 * By least squares that know of the autocorrelation of the one that comes later, the outcome; on
 * the same day, of the one that has more of it. What autocorrelation is left in both makes pairs
 * worth less; the week and the drift took some away.
 */
struct tried try_pair(const struct piece *x, const struct piece *y, int lag)
{
    bool is_y = lag > 0 || (lag == 0 && y->noise.lag1 >= x->noise.lag1);
    struct pairs s = {0};
    if (x->n <= SEARCH_LAGS) return not_tried;
    add_days(&s, is_y ? &y->noise : &x->noise, x, y, lag);
    double n = s.plain.n, worth = n - TAKEN_OFF - n / DRIFT_WINDOW;
    if (!(n >= LEAST_NEWER && worth >= LEAST_PAIRS)) return not_tried;
    double r = correlation(&s.plain), white = correlation(&s.white);
    if (isnan(r) || isnan(white)) return not_tried;
    double left = fmax(0, s.xx_next / s.white.xx) * fmax(0, s.yy_next / s.white.yy);
    double n_eff = stat_effective_n(worth, left);
    return (struct tried){r,
                          r,
                          white * sqrt((n_eff - 2) / (1 - white * white)),
                          stat_correlation_p(white, n_eff),
                          (size_t)n,
                          n_eff};
}

/* ---- trends ---- */

/*
 * The lag is an estimate too, and the standard error grows with the root of (1 + lag) / (1 - lag).
 * That root is as unsure as if it rested on half of the effective days; and it is too small on
 * average by what its variance adds to the second order.
 */
static struct tried by_t(double amount, double se, double sd, double n, double lag1)
{
    double n_eff = stat_effective_n(n, lag1), t = amount / se / sqrt(1 + 2 / (n * (1 - lag1)));
    return (struct tried){amount / sd, amount, t, stat_t_two_sided(t, fmax(1, n_eff / 2 - 1)),
                          (size_t)n,   n_eff};
}

struct tried try_trend(const struct piece *x)
{
    const struct stat_ar1 *line = &x->line;
    if (!has_enough(x, LEAST_OLDER)) return not_tried;
    /* The column runs from -1 to 1. */
    return by_t(2 * line->coefficient[1], 2 * sqrt(line->covariance[1][1]), sqrt(line->variance),
                (double)x->n_known, line->lag1);
}

/* ---- days of the week ---- */

struct tried try_weekdays(struct search_work *w, enum search_part part, size_t row, uint8_t days)
{
    const struct piece *x = &w->pieces[part][row];
    size_t first = w->first_weekday + (part == PART_NEWER ? w->cut : 0), n_group = 0;
    if (!has_enough(x, least_known(part))) return not_tried;
    struct known k = known_of(w->scratch, x->raw, x->n);
    double *ones = w->scratch + 2 * x->n, *line = ones + x->n, *group = line + x->n;
    double begin = k.value[0];
    for (size_t i = 0; i < k.n; i++) {
        bool is_in = (days >> (first + (size_t)k.day[i]) % WEEK & 1) != 0;
        ones[i] = 1;
        line[i] = k.day[i] / (double)x->n - 0.5;
        group[i] = is_in ? 1 : 0;
        n_group += is_in ? 1 : 0;
        k.value[i] -= begin;
    }
    if (n_group < LEAST_GROUP || k.n - n_group < LEAST_GROUP) return not_tried;
    struct stat_ar1_rows rows = {
        .day = k.day, .y = k.value, .columns = {ones, line, group}, .n = k.n, .n_columns = 3};
    struct stat_ar1 fit = stat_ar1_at(&rows, w->pieces[PART_WHOLE][row].line.lag1);
    if (part == PART_OLDER) fit = stat_ar1_at(&rows, x->line.lag1);
    if (!(fit.variance > 0)) return not_tried;
    double t = fit.coefficient[2] / sqrt(fit.covariance[2][2]);
    return (struct tried){fit.coefficient[2] / sqrt(fit.variance),
                          fit.coefficient[2],
                          t,
                          stat_t_two_sided(t, fit.df),
                          k.n,
                          stat_effective_n((double)k.n, fit.lag1)};
}

/* ---- changes of level ---- */

struct sides {
    double n, total; /* of all days */
    double least;    /* days with values on each side */
};

/* The day on which days before and after differ most, for their number. */
static size_t best_change(const struct piece *x, const struct sides *all)
{
    double n = 0, sum = 0, most = 0;
    size_t best = 0;
    for (size_t i = 0; i < x->n; i++) {
        double left = all->n - n;
        if (n >= all->least && left >= all->least) {
            double d = (all->total - sum) / left - sum / n, size = d * d * n * left;
            if (size > most) most = size, best = i;
        }
        if (x->known[i] > 0) n++, sum += x->level[i];
    }
    return best;
}

/* That the largest of all |z| is as large as b, on days with the share `least` or more on each
 * side: James, James and Siegmund. */
static double highest_p(double b, double least)
{
    if (b < 1.5) return 1;
    double range = 2 * log((1 - least) / least);
    double density = exp(-b * b / 2) / sqrt(2 * M_PI);
    return fmin(1, b * density * ((1 - 1 / (b * b)) * fmax(range, 0) + 4 / (b * b)));
}

/* Levels before and after a day, with noise that is about them. */
static struct stat_ar1 two_levels(struct search_work *w, const struct piece *x, size_t day)
{
    struct known k = known_of(w->scratch, x->level, x->n);
    double *before = w->scratch + 2 * x->n, *after = before + x->n, begin = k.value[0];
    for (size_t i = 0; i < k.n; i++) {
        before[i] = k.day[i] < (double)day ? 1 : 0;
        after[i] = 1 - before[i];
        k.value[i] -= begin;
    }
    struct stat_ar1_rows rows = {
        .day = k.day, .y = k.value, .columns = {before, after}, .n = k.n, .n_columns = 2};
    return stat_ar1_fit(&rows, 0.95);
}

struct tried try_change(struct search_work *w, const struct piece *x, size_t *day)
{
    const double weights[STAT_AR1_COLUMNS] = {-1, 1, 0};
    struct sides all = {.n = (double)x->n_known};
    if (!has_enough(x, 2 * LEAST_SIDE)) return not_tried;
    /* Few days that resemble each other stand apart easily. */
    double worth = stat_effective_n(1, x->line.lag1);
    all.least = fmax(fmax(LEAST_SIDE, LEAST_EFFECTIVE / worth), least_share * all.n);
    for (size_t i = 0; i < x->n; i++) all.total += x->known[i] > 0 ? x->level[i] : 0;
    *day = best_change(x, &all);
    if (*day == 0) return not_tried;
    struct stat_ar1 fit = two_levels(w, x, *day);
    if (!(fit.variance > 0)) return not_tried;
    struct tried t = by_t(fit.coefficient[1] - fit.coefficient[0], stat_ar1_se(&fit, weights),
                          sqrt(fit.variance), all.n, fit.lag1);
    double z = -stat_normal_quantile(t.p / 2);
    t.p = highest_p(z, all.least / all.n);
    return t;
}

/* ---- single days ---- */

/* The median, and the spread above and below it: what is skewed has two. */
struct usual {
    double center, spread[2];
    size_t n;
};

static struct usual usual_of(double *scratch, const double *x, size_t n)
{
    struct usual u = {NAN, {NAN, NAN}, 0};
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) scratch[u.n++] = x[i];
    stat_sort_in(scratch, u.n);
    u.center = stat_quantile_sorted(scratch, u.n, 0.5);
    size_t half = u.n / 2;
    if (half < LEAST_HALF) return u;
    double low = stat_quantile_sorted(scratch, half, 0.5);
    double high = stat_quantile_sorted(scratch + u.n - half, half, 0.5);
    u.spread[0] = STAT_MAD_SCALE * (u.center - low);
    u.spread[1] = STAT_MAD_SCALE * (high - u.center);
    return u;
}

static double robust_z(const struct usual *u, double value)
{
    double spread = u->spread[value > u->center];
    return spread > 0 ? (value - u->center) / spread : NAN;
}

/* That the farthest of n days is as far as z. The spread is an estimate from half of the days: it
 * is as unsure as a standard deviation with a fifth of them as degrees of freedom. */
static double farthest_p(double z, size_t n, double n_eff)
{
    return -expm1((double)n * log1p(-stat_t_two_sided(z, fmax(1, 0.2 * n_eff))));
}

/*
 * The same by how far it is beyond the days next to it in size, for tails that are longer than
 * normal ones: as if what lies beyond the k-th were exponential, with a mean that the others tell.
 * `sorted` has n values; `side` 1: the largest.
 */
static double tail_p(const double *sorted, size_t n, int side)
{
    size_t k = n / 4 < TAIL_DAYS ? n / 4 : TAIL_DAYS;
    double sign = side > 0 ? 1 : -1, rest = 0;
    if (k < 3) return 1;
    double limit = sorted[side > 0 ? n - 1 - k : k];
    for (size_t i = 1; i < k; i++) rest += sign * (sorted[side > 0 ? n - 1 - i : i] - limit);
    double beyond = sign * (sorted[side > 0 ? n - 1 : 0] - limit);
    if (!(rest > 0)) return 1;
    return fmin(1, (double)k * pow(1 + beyond / rest, -(double)(k - 1)));
}

struct tried try_anomaly(struct search_work *w, size_t row, size_t *day)
{
    const struct piece *x = &w->pieces[PART_WHOLE][row];
    if (!has_enough(x, LEAST_OLDER)) return not_tried;
    struct usual u = usual_of(w->scratch, x->level, x->n);
    double most = 0;
    for (size_t i = 0; i < x->n; i++) {
        double z = isfinite(x->level[i]) ? robust_z(&u, x->level[i]) : 0;
        if (isnan(z)) return not_tried;
        if (fabs(z) > fabs(most)) most = z, *day = i;
    }
    double n_eff = stat_effective_n((double)u.n, x->line.lag1);
    double p = fmax(farthest_p(most, u.n, n_eff), tail_p(w->scratch, u.n, most > 0));
    return (struct tried){most, x->raw[*day] - u.center, most, p, u.n, n_eff};
}

/* ---- confirmation ---- */

static struct tried in_direction(struct tried t, double found)
{
    if (isnan(t.p)) return t;
    t.p = same_sign(t.statistic, found) ? t.p / 2 : 1 - t.p / 2;
    return t;
}

/* Whether the newer days lie where the older ones pointed: against the mean of all older days,
 * which a search for slopes and steps among them has not moved. */
static struct tried newer_against_older(struct search_work *w, size_t row)
{
    const struct piece *older = &w->pieces[PART_OLDER][row], *newer = &w->pieces[PART_NEWER][row];
    if (newer->n_known < LEAST_NEWER || older->n_known < LEAST_NEWER) return not_tried;
    const struct stat_ar1 *noise = &older->line;
    struct known a = known_of(w->scratch, older->level, older->n);
    struct known b = known_of(w->scratch + 2 * older->n, newer->level, newer->n);
    double mean_a = 0, mean_b = 0;
    for (size_t i = 0; i < a.n; i++) mean_a += (a.value[i] - a.value[0]) / (double)a.n;
    for (size_t i = 0; i < b.n; i++) mean_b += (b.value[i] - a.value[0]) / (double)b.n;
    double se = sqrt(variance_of_mean(a, noise) + variance_of_mean(b, noise));
    struct tried t =
        by_t(mean_b - mean_a, se, sqrt(noise->variance), (double)(a.n + b.n), noise->lag1);
    t.n = b.n;
    return t;
}

/* Against what is usual on the other part of the days. */
static struct tried anomaly_again(struct search_work *w, const struct search_test *t)
{
    bool is_older = t->day < w->cut;
    const struct piece *x = &w->pieces[is_older ? PART_NEWER : PART_OLDER][t->x];
    struct usual u = usual_of(w->scratch, x->level, x->n);
    double value = w->pieces[PART_WHOLE][t->x].level[t->day], z = robust_z(&u, value);
    if (isnan(z) || u.n < LEAST_NEWER) return not_tried;
    double n_eff = stat_effective_n((double)u.n, x->line.lag1);
    return (struct tried){z, value - u.center, z, farthest_p(z, u.n, n_eff), u.n, n_eff};
}

struct tried confirm(struct search_work *w, const struct search_test *t)
{
    const struct piece *newer = w->pieces[PART_NEWER], *whole = w->pieces[PART_WHOLE];
    struct tried again = not_tried;
    if (t->kind == SEARCH_PAIR) {
        /* The lags are better known from all days; they say nothing about the pair. */
        struct piece x = newer[t->x], y = newer[t->y];
        x.noise = whole[t->x].noise;
        y.noise = whole[t->y].noise;
        again = try_pair(&x, &y, t->lag);
    } else if (t->kind == SEARCH_WEEKDAY) {
        again = try_weekdays(w, PART_NEWER, t->x, t->weekdays);
    } else if (t->kind == SEARCH_ANOMALY) {
        again = anomaly_again(w, t);
    } else {
        again = newer_against_older(w, t->x);
    }
    return in_direction(again, t->statistic);
}
