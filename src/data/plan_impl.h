/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of plans share: the words of the language, and a run over the data. Private to
 * src/data.
 */
#pragma once

#include "data/plan.h"

/* ---- words ---- */

/* A list of words by enum value, NULL behind the last; "" has no word. */
typedef const char *const plan_words[];

extern plan_words plan_op_words, plan_field_words, plan_stat_words, plan_compare_words,
    plan_pick_words, plan_streak_words, plan_result_words, plan_group_words, plan_method_words,
    plan_per_words, plan_order_words, plan_answer_words;

/* The value of a word; -1 when it is none of the list. */
int plan_word_find(const char *const *words, struct weir_slice word);

/* Members of a plan and the operations they have a meaning for. */
struct plan_member {
    const char *name;
    uint32_t ops; /* a bit for each enum plan_op */
};

extern const struct plan_member plan_members[]; /* name NULL behind the last */
extern plan_words plan_window_members, plan_having_members, plan_condition_members, plan_b_members;

/* Whole weeks in words. */
enum { WEEKDAYS_WORK = 0x1F, WEEKDAYS_WEEKEND = 0x60, WEEKDAYS_ALL = 0x7F, MONTHS_ALL = 0x1FFE };

const char *plan_field_unit(enum plan_field field);

/* From the subject's unit to `unit`; a difference leaves the zero of a scale out. False: no way. */
bool plan_convert(const struct plan *plan, const char *unit, bool is_difference, double value,
                  double *out);

/* The same to the subject's unit, for thresholds. */
bool plan_convert_in(const struct plan *plan, struct weir_slice unit, double value, double *out);

bool plan_is_same_window(const struct plan_window *a, const struct plan_window *b);
bool plan_is_same_where(const struct plan_where *a, const struct plan_where *b);

/* ---- a run ---- */

/* Values with their days, rising by day. */
struct points {
    size_t n;
    int32_t *days;
    double *values;
};

struct run {
    const struct plan *plan;
    struct dataset *d;
    struct arena *arena;
    struct plan_answer *out;
    enum weir_status st; /* of the dataset or of memory: what ended the run */
    int32_t newest;      /* "today": the newest day with daily values */
    int32_t first, last; /* all days with data of any kind that the plan reads */
    struct weir_slice lab_unit;
    /* The results or sessions behind the values of the last gathering. */
    const struct lab **labs;
    const struct workout **sessions;
    bool is_clock;
    double center; /* times of day are unrolled around it, to be compared as numbers */
    bool drops_partial;
    int32_t partial_day; /* the newest day that is unfinished, of those that are used */
    size_t n_partial, n_not_worn, n_implausible, n_unknown;
    int32_t *unknown_days; /* n_unknown: of sessions that do not say the field */
};

/* What a number is, for its unit. */
enum number_kind { NUMBER_VALUE, NUMBER_DIFFERENCE, NUMBER_SLOPE, NUMBER_PERCENT, NUMBER_PLAIN };

/*
 * The values of the subject within a window that meet the conditions. False when the run is over:
 * there is a reason, or a status. No value at all is not an end by itself.
 */
bool run_gather(struct run *r, const struct plan_window *window, const struct plan_where *where,
                struct points *out);

/* The same of any metric, on the days from..to, without conditions. */
bool run_gather_metric(struct run *r, const struct metric *m, int32_t from, int32_t to,
                       struct points *out);

void run_resolve(const struct run *r, const struct plan_window *window, int32_t *from, int32_t *to);

/* Memory; NULL ends the run. */
void *run_alloc(struct run *r, size_t size);
char *run_text(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void run_note(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* There is no answer, for this reason. The first one stays. Returns false. */
bool run_refuse(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "no steps between 2025-01-01 and 2025-01-31" */
bool run_refuse_empty(struct run *r);

/* Whether a number meets a condition. */
bool having_holds(const struct plan_having *having, double value);

/* A statistic of some values; NAN. Values are in the order of their days. */
double run_stat(struct run *r, const double *values, size_t n);

/* Puts the number with its unit; a NAN is refused in words. */
void run_answer(struct run *r, double number, enum number_kind kind);

/* The same of what run_stat() gave: the kind of number follows from the statistic. */
void run_answer_stat(struct run *r, double number);

/* A value as rows show it: in the unit asked for, times of day wrapped. And a statistic. */
double run_shown(struct run *r, double value);
double run_stat_shown(struct run *r, double value);

/* The plan's threshold, as the values are: times of day unrolled. */
struct plan_having run_own_having(const struct run *r);

double run_days_per(enum plan_per per);

struct plan_row *run_rows(struct run *r, size_t n);

/* The operations, one function each. */
void run_group(struct run *r, const struct points *p);
void run_streak(struct run *r, const struct points *p);
void run_rolling(struct run *r, const struct points *p);
void run_trend(struct run *r, const struct points *p);
void run_correlate(struct run *r, const struct points *p);
void run_anomaly(struct run *r, const struct points *p);
void run_distribution(struct run *r, const struct points *p);
