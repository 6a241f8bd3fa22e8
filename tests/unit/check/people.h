/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invented people for the search: one to two years of twelve metrics that have nothing to do with
 * each other, with autocorrelation, weekly courses and missing days, and effects planted into
 * them. The tests use a few of them, bench-search many.
 */
#pragma once

#include <math.h>

#include "check/search.h"
#include "stat/random.h"

enum { PERSON_METRICS = 64, PERSON_DAYS = 730, PERSON_USUAL = 12 };

struct person {
    struct stat_random random;
    size_t n_days, n_rows;
    struct search_row rows[PERSON_METRICS];
    double x[PERSON_METRICS][PERSON_DAYS];
    double cycle[PERSON_METRICS]; /* of a week, in standard deviations */
    double sd[PERSON_METRICS];
    enum search_kind kind; /* what was planted, and in which rows */
    uint8_t row, row_y;
};

static const struct {
    const char *name;
    double mean, sd;
} person_metrics[PERSON_USUAL] = {
    {"steps", 9000, 1500},       {"resting_heart_rate", 60, 3},
    {"hrv_rmssd", 60, 9},        {"sleep_minutes", 430, 40},
    {"weight", 75, 1},           {"water", 2000, 300},
    {"caffeine", 250, 50},       {"mood", 5, 1.5},
    {"systolic", 122, 7},        {"protein", 90, 15},
    {"respiratory_rate", 15, 1}, {"blood_glucose", 95, 7},
};

static inline double person_unit(struct person *p, double from, double to)
{
    return from + (to - from) * stat_random_unit(&p->random);
}

/* Some stretches of days and some single ones have no value. */
static inline void person_lose(struct person *p, double *x)
{
    for (size_t block = 0; block < 3; block++) {
        size_t first = (size_t)stat_random_below(&p->random, p->n_days);
        size_t n = 4 + (size_t)stat_random_below(&p->random, 17);
        for (size_t i = first; i < first + n && i < p->n_days; i++) x[i] = NAN;
    }
    for (size_t i = 0; i < p->n_days; i++)
        if (person_unit(p, 0, 1) < 0.05) x[i] = NAN;
}

static inline void person_row(struct person *p, size_t row, const struct metric *m, double phi)
{
    double *x = p->x[row], e = stat_random_normal(&p->random), keep = sqrt(1 - phi * phi);
    double mean = person_metrics[row % PERSON_USUAL].mean, phase = person_unit(p, 0, 7);
    p->sd[row] = person_metrics[row % PERSON_USUAL].sd;
    p->cycle[row] = person_unit(p, 0, 1) < 0.5 ? person_unit(p, 0.2, 0.6) : 0;
    for (size_t i = 0; i < p->n_days; i++) {
        x[i] = mean + p->sd[row] * (e + p->cycle[row] * cos(2 * M_PI * ((double)i + phase) / 7));
        e = phi * e + keep * stat_random_normal(&p->random);
    }
    p->rows[row] = (struct search_row){m, x, NULL};
}

/* phi < 0: each metric its own, from 0 to 0.7. */
static inline void person_make(struct person *p, uint64_t seed, double phi)
{
    p->random = stat_random_of(seed, 7);
    p->n_days = 365 + (size_t)stat_random_below(&p->random, 366);
    p->n_rows = PERSON_USUAL;
    for (size_t r = 0; r < p->n_rows; r++) {
        double own = person_unit(p, 0, 0.7);
        person_row(p, r, metric_find(weir_slice_of(person_metrics[r].name)), phi < 0 ? own : phi);
        person_lose(p, p->x[r]);
    }
}

/* Values that are not normal: a third of the metrics log-normal, a third nothing on most days, a
 * third with long tails on both sides. */
static inline void person_stretch(struct person *p)
{
    for (size_t row = 0; row < p->n_rows; row++) {
        double mean = person_metrics[row].mean, sd = p->sd[row];
        for (size_t i = 0; i < p->n_days; i++) {
            double z = (p->x[row][i] - mean) / sd;
            if (isnan(z)) continue;
            if (row % 3 == 0) z = exp(0.7 * z) - 1;
            else if (row % 3 == 1) z = z > 0.8 ? z : 0;
            else z *= 0.6 * fabs(z);
            p->x[row][i] = mean + sd * z;
        }
    }
}

/* As many metrics as wanted, whatever they are called. */
static inline void person_make_wide(struct person *p, size_t n_rows, size_t n_days)
{
    p->random = stat_random_of(1, 8);
    p->n_days = n_days;
    p->n_rows = n_rows;
    for (size_t r = 0; r < n_rows; r++) {
        person_row(p, r, metric_at(r), person_unit(p, 0, 0.7));
        person_lose(p, p->x[r]);
    }
}

enum planted {
    PLANTED_EVENT,      /* days of some behaviour, and an outcome on the same day */
    PLANTED_EVENT_NEXT, /* the same, and the outcome one to three days later */
    PLANTED_CORRELATION,
    PLANTED_WEEKEND,
    PLANTED_ONE_WEEKDAY,
    PLANTED_CHANGE,
    PLANTED_TREND,
    N_PLANTED,
};

static inline const char *planted_name(enum planted p)
{
    static const char *const names[] = {"behaviour on some days, same day",
                                        "behaviour on some days, 1 to 3 days later",
                                        "correlation of the same size, lag 0 to 2",
                                        "weekend",
                                        "one day of the week",
                                        "change of level, in the middle half",
                                        "trend, from the first day to the last"};
    return names[p];
}

/* A behaviour that happens on three days of ten. */
static inline void person_plant_event(struct person *p, size_t lag, double size)
{
    double *event = p->x[p->row], *outcome = p->x[p->row_y];
    for (size_t i = 0; i < p->n_days; i++)
        event[i] = person_unit(p, 0, 1) < 0.3 ? 1 + floor(person_unit(p, 0, 3)) : 0;
    p->rows[p->row].metric = metric_find(weir_slice_of("alcohol"));
    p->cycle[p->row] = 0;
    for (size_t i = lag; i < p->n_days; i++)
        if (event[i - lag] > 0) outcome[i] += size * p->sd[p->row_y];
    person_lose(p, event);
}

/* A difference of d between two halves is a correlation of d / sqrt(d² + 4). */
static inline void person_plant_correlation(struct person *p, size_t lag, double size)
{
    double *x = p->x[p->row], *y = p->x[p->row_y], r = size / sqrt(size * size + 4);
    double mean_x = person_metrics[p->row].mean, mean_y = person_metrics[p->row_y].mean;
    for (size_t i = lag; i < p->n_days; i++) {
        double z = (x[i - lag] - mean_x) / p->sd[p->row];
        double own = (y[i] - mean_y) / p->sd[p->row_y];
        if (!isnan(z)) y[i] = mean_y + p->sd[p->row_y] * (r * z + sqrt(1 - r * r) * own);
    }
}

static inline void person_plant(struct person *p, enum planted what, double size)
{
    static const enum search_kind kinds[] = {SEARCH_PAIR,    SEARCH_PAIR,    SEARCH_PAIR,
                                             SEARCH_WEEKDAY, SEARCH_WEEKDAY, SEARCH_CHANGE,
                                             SEARCH_TREND};
    size_t later = 1 + (size_t)stat_random_below(&p->random, 3);
    size_t at = (size_t)(person_unit(p, 0.25, 0.75) * (double)p->n_days);
    size_t weekday = (size_t)stat_random_below(&p->random, 7);
    double sign = stat_random_below(&p->random, 2) == 0 ? size : -size;
    p->kind = kinds[what];
    p->row = (uint8_t)stat_random_below(&p->random, p->n_rows);
    p->row_y = (uint8_t)((p->row + 1 + stat_random_below(&p->random, p->n_rows - 1)) % p->n_rows);
    double *x = p->x[p->row], amount = sign * p->sd[p->row];
    if (what <= PLANTED_EVENT_NEXT) person_plant_event(p, what == PLANTED_EVENT ? 0 : later, sign);
    if (what == PLANTED_CORRELATION) person_plant_correlation(p, later - 1, sign);
    for (size_t i = 0; i < p->n_days; i++) {
        /* The first day is a Monday. */
        if (what == PLANTED_WEEKEND && i % 7 >= 5) x[i] += amount;
        if (what == PLANTED_ONE_WEEKDAY && i % 7 == weekday) x[i] += amount;
        if (what == PLANTED_CHANGE && i >= at) x[i] += amount;
        if (what == PLANTED_TREND) x[i] += amount * (double)i / (double)p->n_days;
    }
}

static inline enum weir_status person_search(const struct person *p, struct search_result *out,
                                             struct arena *arena)
{
    struct search_input *in = arena_alloc(arena, sizeof *in);
    if (!in) return arena->status;
    *in = (struct search_input){
        .first_day = 20094, .n_days = p->n_days, .rows = p->rows, .n_rows = p->n_rows};
    return search_run(out, in, 1, arena);
}

/* The hypothesis that says what was planted; a trend and a change of level are near relatives. */
static inline const struct hypothesis *person_found(const struct person *p,
                                                    const struct search_result *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct hypothesis *h = &r->hypotheses[i];
        uint8_t x = h->test->x, y = h->test->y;
        bool is_level = h->kind == SEARCH_TREND || h->kind == SEARCH_CHANGE;
        bool wants_level = p->kind == SEARCH_TREND || p->kind == SEARCH_CHANGE;
        bool is_kind = h->kind == p->kind || (is_level && wants_level);
        bool is_pair = (x == p->row && y == p->row_y) || (x == p->row_y && y == p->row);
        if (is_kind && (p->kind == SEARCH_PAIR ? is_pair : x == p->row)) return h;
    }
    return NULL;
}
