/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense readings (a heart rate every five seconds) as means of whole minutes: what a day's value
 * is made of stays the same, and there is a twelfth of it. Readings come in order; one that goes
 * back in time begins a new minute. The struct is the caller's, all zero at first.
 */
#pragma once

#include "data/fact.h"

struct minutes {
    int64_t minute; /* since 1970, UTC */
    int32_t offset;
    double sum;
    unsigned n;
};

/* Hands over the minute before when this reading is of another. */
WEIR_MUST_CHECK enum weir_status minutes_add(struct minutes *m, const struct fact_sink *sink,
                                             const struct sample *reading);

/* The last minute; `like` says the metric and the source. */
WEIR_MUST_CHECK enum weir_status minutes_end(struct minutes *m, const struct fact_sink *sink,
                                             const struct sample *like);
