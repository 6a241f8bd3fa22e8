/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the samples of a metric to the values of its days. Who is believed when several sources
 * measured the same is decided here (docs/data.md tells people).
 *
 * Everything is a function of the set of samples alone: not of their order, nor of the files
 * that they came in. Pure functions; any thread.
 */
#pragma once

#include "data/day.h"
#include "data/fact.h"

/* A sample in memory and in documents. Sources are numbers, which rise as (name, class) does. */
struct fact {
    int64_t at; /* Unix seconds */
    double value;
    uint32_t seconds;           /* how long it lasts */
    int32_t offset, end_offset; /* of the clock on the wall, at both ends */
    uint16_t metric, source;
};

/* By metric, start, length, source, value; then the larger offset first. */
int fact_compare(const void *a, const void *b);

/* The same fact, wherever the clock on the wall was thought to be. */
static inline bool fact_is_same(const struct fact *a, const struct fact *b)
{
    return a->at == b->at && a->seconds == b->seconds && a->source == b->source &&
           a->value == b->value && a->metric == b->metric;
}

/* How much a class is believed in the matter of a metric: 0 is the most. */
unsigned merge_rank(const struct metric *m, enum source_class kind);

/* Whether it can be a day's value at all. */
static inline bool merge_is_plausible(const struct metric *m, double value)
{
    return value >= m->min && value <= m->max;
}

/* The value of a day, and who contributed most to it. */
struct merged_day {
    double value;
    int32_t day;
    uint16_t source;
};

enum { MERGE_DAYS = 31 }; /* most days at once */

/* All samples of a metric that touch some days, and who took them. */
struct merge_input {
    const struct metric *metric;
    const struct fact *facts; /* in order, each once */
    size_t n;
    const enum source_class *kinds; /* by number of source */
    size_t n_sources;
    int32_t from; /* the days asked for: from … to, MERGE_DAYS at most */
    int32_t to;
};

/* The days that have a value, rising; *n of them in out[MERGE_DAYS]. WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status merge_days(const struct merge_input *in, struct merged_day *out,
                                            size_t *n);
