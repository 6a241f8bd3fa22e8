/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the builders of plans share: build.c sorts what was spoken of and decides, build_days.c
 * makes plans about days of metrics, build_compare.c those that compare and relate, build_other.c
 * those about workouts and laboratory results.
 */
#pragma once

#include "ask/ask_impl.h"

enum { WEEKDAY_SET = 0x1F, WEEKEND_SET = 0x60 };

struct builder {
    struct parse *p;
    struct plan *plan;
    struct mention *metrics[MAX_MENTIONS]; /* of the question itself, in order */
    size_t n_metrics;
    struct mention *sport; /* what workouts it is about; NULL */
    size_t n_sports;
    struct mention *lab;
    size_t n_labs;
    struct mention *field; /* what of the workouts */
    bool used_lag;
};

bool one_window(struct builder *b);
bool all_where(struct builder *b);
bool scope_where(struct builder *b, size_t scope, struct plan_where *where);
bool add_weekdays(struct builder *b, uint32_t set, struct plan_where *where);
bool having_of(struct builder *b, const struct mention *m, struct plan_having *out);
bool set_unit(struct builder *b, const char *own);
bool one_stat(struct builder *b, enum plan_stat fallback, enum plan_stat *out);
bool wants_mean(const struct frame *f);
uint32_t said_weekdays(const struct frame *f); /* a set; 0: none */
bool most_pick(struct builder *b, const struct metric *m, enum plan_pick *pick);
bool field_of_unit(const char *unit, enum plan_field *field);
const char *field_unit(enum plan_field field);

/* "what is REM sleep": nobody's in particular. */
bool asks_definition(const struct builder *b);
bool names_nobody(const struct builder *b); /* neither "I" nor "my" is said */

/* Puts the windows of a question that names nothing else into the plan; false: it has others. */
bool windows_alone(struct builder *b);

/* Whether a kind of question is meant, and its plan; false when it was refused. */
bool applies_correlate(const struct builder *b);
bool build_correlate(struct builder *b);
bool applies_streak(const struct builder *b);
bool build_streak(struct builder *b);
bool applies_compare(const struct builder *b);
bool build_compare(struct builder *b);
bool applies_shape(const struct builder *b);
bool build_shape(struct builder *b);
bool applies_trend(const struct builder *b);
bool build_trend(struct builder *b);
bool applies_rolling(const struct builder *b);
bool build_rolling(struct builder *b);
bool applies_group(const struct builder *b);
bool build_group(struct builder *b);
bool applies_lab(const struct builder *b);
bool build_lab(struct builder *b);
bool applies_workouts(const struct builder *b);
bool build_workouts(struct builder *b);
bool applies_count(const struct builder *b);
bool build_count(struct builder *b);
bool applies_find(const struct builder *b);
bool build_find(struct builder *b);
bool applies_extreme(const struct builder *b);
bool build_extreme(struct builder *b);
bool applies_change(const struct builder *b);
bool build_change(struct builder *b);
bool applies_aggregate(const struct builder *b);
bool build_aggregate(struct builder *b);

/* The subject of the plan: the metric, the workouts with their field, or the laboratory test. */
bool set_subject(struct builder *b);
bool set_workouts(struct builder *b);
