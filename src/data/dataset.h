/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One person's data as plans see them: daily series, sleeps, workouts and laboratory results,
 * in memory, sorted, read only.
 *
 * 1. dataset_open() on a store and a user, or dataset_new() and dataset_add_…() by hand (tests).
 * 2. Ask for what is needed: a series is read from the store when it is asked for first.
 * 3. dataset_free().
 *
 * What is returned belongs to the dataset and lives as long as it. One thread at a time; it shows
 * the data as they were when each part was first asked for.
 */
#pragma once

#include "data/day.h"
#include "data/fact.h"

struct store;
struct dataset;

/* How far a day's value may be trusted. */
enum quality {
    QUALITY_GOOD,
    QUALITY_PARTIAL,     /* the day was not over when the data were exported */
    QUALITY_NOT_WORN,    /* zero, and nothing else says that the device was worn */
    QUALITY_IMPLAUSIBLE, /* outside what the catalogue holds possible */
};
const char *quality_name(enum quality q);

/* The days of a metric that have a value, rising. Absent is absent, never zero. */
struct series {
    const struct metric *metric;
    size_t n;
    const int32_t *days;
    const double *values;
    const uint8_t *quality;  /* enum quality */
    const uint16_t *sources; /* see dataset_source() */
};

struct dataset *dataset_new(void); /* empty; NULL: no memory */
WEIR_MUST_CHECK enum weir_status dataset_open(struct dataset **out, struct store *store,
                                              struct weir_slice user);
void dataset_free(struct dataset *d); /* NULL is allowed */

/*
 * For tests and for those who compute. Everything is copied; sessions and results may be added in
 * any order, but before the first of them is asked for. WEIR_LIMIT beyond a ceiling, WEIR_NOMEM.
 */

/* A whole series; days must rise (WEIR_INVALID), and there may be one of a metric (WEIR_EXISTS).
 * `quality` NULL: all good; `sources` NULL: not known. */
WEIR_MUST_CHECK enum weir_status dataset_add_series(struct dataset *d, const struct series *s);
WEIR_MUST_CHECK enum weir_status dataset_add_workout(struct dataset *d, const struct workout *w);
WEIR_MUST_CHECK enum weir_status dataset_add_sleep(struct dataset *d, const struct sleep *s);
WEIR_MUST_CHECK enum weir_status dataset_add_lab(struct dataset *d, const struct lab *l);

/* A metric of the person's own, by the name their table has; the same again for the same name. */
WEIR_MUST_CHECK enum weir_status dataset_add_metric(struct dataset *d, struct weir_slice name,
                                                    const struct metric **out);

/* The number of a source, from 1; the same again for the same name and kind. 0 is nobody. */
WEIR_MUST_CHECK enum weir_status dataset_add_source(struct dataset *d, const struct source *source,
                                                    uint16_t *out);

/* WEIR_NOT_FOUND when there is no value of it. */
WEIR_MUST_CHECK enum weir_status dataset_series(struct dataset *d, const struct metric *m,
                                                const struct series **out);
/* Rising by start. */
WEIR_MUST_CHECK enum weir_status dataset_workouts(struct dataset *d, const struct workout **out,
                                                  size_t *n);
WEIR_MUST_CHECK enum weir_status dataset_sleeps(struct dataset *d, const struct sleep **out,
                                                size_t *n);
/* Rising by day. */
WEIR_MUST_CHECK enum weir_status dataset_labs(struct dataset *d, const struct lab **out, size_t *n);

/* The metrics that have values, those of the person's own included, in catalogue order. */
WEIR_MUST_CHECK enum weir_status dataset_metrics(struct dataset *d,
                                                 const struct metric *const **out, size_t *n);

/* By name or alias, in the catalogue and among the person's own; NULL. */
const struct metric *dataset_find_metric(struct dataset *d, struct weir_slice name);

/* The first and the newest day with a daily value (without any: of workouts, then labs). */
WEIR_MUST_CHECK enum weir_status dataset_span(struct dataset *d, int32_t *first, int32_t *newest);

/* Who measured it; empty when it is not known. */
struct weir_slice dataset_source(struct dataset *d, uint16_t source);
