/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of days made ready for the search. Each part of the days is treated alone, so that nothing
 * of the newer days is known when the older ones are searched.
 *
 * Two metrics may go together only because both follow the week or the season. Therefore pairs are
 * looked for in what is left without them: the day's distance from what is usual for its weekday
 * and its weeks.
 */
#include <math.h>
#include <string.h>

#include "check/search_impl.h"
#include "data/day.h"
#include "stat/circular.h"
#include "stat/moments.h"

enum { WEEK = 7, DRIFT_DAYS = 28, LEAST_FOR_WEEK = 21 };
static const double search_share = 0.6, most_lag1 = 0.95, clip_sd = 4;

struct known known_of(double *scratch, const double *x, size_t n)
{
    struct known k = {.n = 0};
    k.day = scratch;
    k.value = scratch + n;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) continue;
        k.day[k.n] = (double)i;
        k.value[k.n++] = x[i];
    }
    return k;
}

/* ---- what is usual ---- */

/* Each weekday's mean taken off, the mean of all kept. `place` is the weekday of the first day. */
static void take_off_week(double *x, size_t n, size_t place, size_t n_known)
{
    double sum[WEEK] = {0}, count[WEEK] = {0}, all = 0;
    if (n_known < LEAST_FOR_WEEK) return;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) continue;
        sum[(i + place) % WEEK] += x[i];
        count[(i + place) % WEEK]++;
        all += x[i];
    }
    for (size_t i = 0; i < n; i++) {
        size_t day = (i + place) % WEEK;
        if (!isnan(x[i])) x[i] += all / (double)n_known - sum[day] / count[day];
    }
}

/* Less the mean of the days around: what is left is quick. Missing days become 0. */
static void take_off_drift(const double *level, double *quick, const double *known, size_t n)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n + DRIFT_DAYS; i++) {
        if (i < n && known[i] > 0) sum += level[i], count++;
        if (i > 2 * DRIFT_DAYS && known[i - 2 * DRIFT_DAYS - 1] > 0)
            sum -= level[i - 2 * DRIFT_DAYS - 1], count--;
        if (i < DRIFT_DAYS) continue;
        size_t at = i - DRIFT_DAYS;
        quick[at] = known[at] > 0 ? level[at] - sum / count : 0;
    }
}

/* So that no single day decides. */
static void clip(double *quick, const double *known, size_t n, size_t n_known)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += known[i] * quick[i] * quick[i];
    double most = clip_sd * sqrt(squares / (double)n_known);
    for (size_t i = 0; i < n; i++) quick[i] = fmax(-most, fmin(most, quick[i]));
}

/* ---- noise ---- */

/* About a constant or, with `has_line`, a straight line whose column runs from -1 to 1. */
static struct stat_ar1 fit_noise(struct search_work *w, const double *x, size_t n, bool has_line)
{
    struct known k = known_of(w->scratch, x, n);
    double *ones = w->scratch + 2 * n, *line = w->scratch + 3 * n;
    double middle = (double)n / 2, first = k.n > 0 ? k.value[0] : 0;
    for (size_t i = 0; i < k.n; i++) {
        ones[i] = 1;
        line[i] = (k.day[i] - middle) / middle;
        k.value[i] -= first;
    }
    struct stat_ar1_rows rows = {.day = k.day,
                                 .y = k.value,
                                 .columns = {ones, line},
                                 .n = k.n,
                                 .n_columns = has_line ? 2 : 1};
    return stat_ar1_fit(&rows, most_lag1);
}

/* Of the quick values, as days with gaps. */
static struct whitening quick_noise(struct search_work *w, const struct piece *p)
{
    double *gaps = w->scratch + 4 * p->n;
    for (size_t i = 0; i < p->n; i++) gaps[i] = p->known[i] > 0 ? p->quick[i] : NAN;
    double lag1 = fit_noise(w, gaps, p->n, false).lag1;
    struct whitening noise = {.lag1 = isnan(lag1) ? 0 : lag1, .keep = {1}, .scale = {1}};
    for (size_t i = 1; i <= NOISE_GAP; i++) {
        noise.keep[i] = i < NOISE_GAP ? noise.keep[i - 1] * noise.lag1 : 0;
        noise.scale[i] = 1 / sqrt(1 - noise.keep[i] * noise.keep[i]);
    }
    return noise;
}

static enum weir_status make_piece(struct search_work *w, const struct search_row *row, size_t from,
                                   size_t to, struct piece *p)
{
    size_t n = to - from;
    double *memory = arena_alloc(w->arena, (3 * n + 1) * sizeof *memory);
    if (!memory) return w->arena->status;
    *p = (struct piece){.raw = row->x + from,
                        .n = n,
                        .level = memory,
                        .quick = memory + n,
                        .known = memory + 2 * n};
    for (size_t i = 0; i < n; i++) {
        bool is_known = isfinite(p->raw[i]);
        p->level[i] = is_known ? p->raw[i] : NAN;
        p->known[i] = is_known ? 1 : 0;
        p->n_known += is_known ? 1 : 0;
    }
    take_off_week(p->level, n, (w->first_weekday + from) % WEEK, p->n_known);
    take_off_drift(p->level, p->quick, p->known, n);
    clip(p->quick, p->known, n, p->n_known);
    p->noise = quick_noise(w, p);
    p->line = fit_noise(w, p->level, n, true);
    return WEIR_OK;
}

/* The day before which `search_share` of all values lie. */
static size_t find_cut(const struct search_input *in)
{
    size_t n_all = 0, n_before = 0, cut = 0;
    for (size_t r = 0; r < in->n_rows; r++)
        for (size_t i = 0; i < in->n_days; i++) n_all += isfinite(in->rows[r].x[i]) ? 1 : 0;
    while (cut < in->n_days && (double)n_before < search_share * (double)n_all) {
        for (size_t r = 0; r < in->n_rows; r++) n_before += isfinite(in->rows[r].x[cut]) ? 1 : 0;
        cut++;
    }
    return cut;
}

enum weir_status search_prepare(struct search_work *w)
{
    const struct search_input *in = w->input;
    w->cut = find_cut(in);
    w->first_weekday = day_weekday(in->first_day);
    w->scratch = arena_alloc(w->arena, (SCRATCH_ROWS * in->n_days + 1) * sizeof *w->scratch);
    if (!w->scratch) return w->arena->status;
    const size_t from[N_PARTS] = {0, w->cut, 0}, to[N_PARTS] = {w->cut, in->n_days, in->n_days};
    for (size_t part = 0; part < N_PARTS; part++) {
        w->pieces[part] = arena_alloc(w->arena, (in->n_rows + 1) * sizeof *w->pieces[part]);
        if (!w->pieces[part]) return w->arena->status;
        for (size_t r = 0; r < in->n_rows; r++) {
            enum weir_status st =
                make_piece(w, &in->rows[r], from[part], to[part], &w->pieces[part][r]);
            if (st != WEIR_OK) return st;
        }
    }
    return WEIR_OK;
}

/* ---- a dataset as an input ---- */

struct candidate {
    const struct series *series;
    size_t n_good;
};

static bool is_good(const struct series *s, size_t i)
{
    return s->quality[i] == QUALITY_GOOD && isfinite(s->values[i]);
}

/* The series with the most good days first; the order of the catalogue where they are equal. */
static void insert(struct candidate *list, size_t *n, struct candidate c)
{
    size_t at = *n < SEARCH_METRICS ? (*n)++ : SEARCH_METRICS;
    while (at > 0 && list[at - 1].n_good < c.n_good) {
        if (at < SEARCH_METRICS) list[at] = list[at - 1];
        at--;
    }
    if (at < SEARCH_METRICS) list[at] = c;
}

/* Times of day lie about their mean: 23:50 is next to 00:10. */
static void unroll(double *x, size_t n, double *scratch)
{
    size_t n_known = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i])) scratch[n_known++] = x[i];
    double center = stat_circular_mean(scratch, n_known);
    for (size_t i = 0; i < n && !isnan(center); i++)
        if (!isnan(x[i])) x[i] = stat_circular_near(x[i], center);
}

static enum weir_status make_row(struct search_row *out, const struct series *s,
                                 const struct search_input *in, struct arena *arena)
{
    double *x = arena_alloc(arena, (2 * in->n_days + 1) * sizeof *x);
    uint16_t *sources = arena_alloc(arena, (in->n_days + 1) * sizeof *sources);
    if (!x || !sources) return arena->status;
    for (size_t i = 0; i < in->n_days; i++) x[i] = NAN, sources[i] = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->days[i] < in->first_day || !is_good(s, i)) continue;
        size_t at = (size_t)(s->days[i] - in->first_day);
        x[at] = s->values[i];
        sources[at] = s->sources[i];
    }
    if (s->metric->daily == DAILY_CIRCULAR) unroll(x, in->n_days, x + in->n_days);
    *out = (struct search_row){s->metric, x, sources};
    return WEIR_OK;
}

static void find_span(struct search_input *in, const struct candidate *list, size_t n)
{
    int32_t first = DAY_MAX, last = DAY_MIN;
    for (size_t c = 0; c < n; c++) {
        const struct series *s = list[c].series;
        for (size_t i = 0; i < s->n; i++) {
            if (!is_good(s, i)) continue;
            if (s->days[i] < first) first = s->days[i];
            if (s->days[i] > last) last = s->days[i];
        }
    }
    if (last < first) return;
    in->span = (size_t)(last - first) + 1;
    in->n_days = in->span < SEARCH_DAYS ? in->span : SEARCH_DAYS;
    in->first_day = last - (int32_t)in->n_days + 1;
}

enum weir_status search_input_of(struct search_input *out, struct dataset *d, struct arena *arena)
{
    struct candidate list[SEARCH_METRICS];
    const struct metric *const *metrics;
    size_t n_metrics, n = 0;
    *out = (struct search_input){0};
    enum weir_status st = dataset_metrics(d, &metrics, &n_metrics);
    if (st != WEIR_OK) return st;
    for (size_t m = 0; m < n_metrics; m++) {
        struct candidate c = {0};
        st = dataset_series(d, metrics[m], &c.series);
        if (st == WEIR_NOT_FOUND) continue;
        if (st != WEIR_OK) return st;
        for (size_t i = 0; i < c.series->n; i++) c.n_good += is_good(c.series, i) ? 1 : 0;
        if (c.n_good == 0) continue;
        insert(list, &n, c);
        out->n_metrics++;
    }
    find_span(out, list, n);
    struct search_row *rows = arena_alloc(arena, (n + 1) * sizeof *rows);
    if (!rows) return arena->status;
    out->rows = rows;
    out->n_rows = n;
    for (size_t r = 0; r < n; r++) {
        st = make_row(&rows[r], list[r].series, out, arena);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}
