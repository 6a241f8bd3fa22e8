/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: what is asked of the data, as a small language. A plan is JSON for those who make it
 * (docs/plan.schema.json) and this struct inside; plan_parse() and plan_put() go between, and
 * plan_run() answers it. No plan runs code, and none can read anything but the dataset.
 *
 * Pure but for the dataset's reading. One thread at a time per dataset.
 */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>

#include "base/arena.h"
#include "data/dataset.h"

enum {
    PLAN_CONDITIONS = 8,  /* in one `where` */
    PLAN_ROWS = 4096,     /* most rows of an answer */
    PLAN_NAME_BYTES = 64, /* longest name of a metric of the person's own */
    PLAN_NOTES = 6,
    PLAN_LAST_DAYS = 100000, /* most of `last`, `skip` and shifts */
    PLAN_ROLLING_DAYS = 366,
};

enum plan_op {
    PLAN_AGGREGATE,    /* one number: `stat` over the days */
    PLAN_COUNT,        /* days (or sessions, results) for which `having` is true; all without one */
    PLAN_LIST,         /* the days with their values, ordered, at most `limit` */
    PLAN_EXTREME,      /* the largest or smallest, with its date; the `limit` first as rows */
    PLAN_COMPARE,      /* `stat` over group a less that over group b; or percent, or ratio */
    PLAN_CHANGE,       /* the last value less the first of the window; or percent */
    PLAN_TREND,        /* slope */
    PLAN_CORRELATE,    /* with another metric, some days later */
    PLAN_GROUP,        /* `stat` for each weekday, month, …; or which of them is highest */
    PLAN_STREAK,       /* consecutive days for which `having` is true */
    PLAN_ROLLING,      /* moving `stat` over `days`; its latest, highest or lowest */
    PLAN_FIND,         /* the first or last day for which `having` is true */
    PLAN_ANOMALY,      /* days far from the rest: robust z */
    PLAN_DISTRIBUTION, /* quantiles and a histogram */
};

enum plan_subject { PLAN_OF_METRIC, PLAN_OF_WORKOUTS, PLAN_OF_LAB };

/* What of a workout. */
enum plan_field {
    FIELD_SESSIONS, /* 1 each: their number */
    FIELD_MINUTES,
    FIELD_KM,
    FIELD_KCAL,
    FIELD_AVG_HR,
    FIELD_MAX_HR,
    FIELD_STEPS,
    FIELD_ASCENT,
    FIELD_PACE,  /* minutes per km */
    FIELD_SPEED, /* km per hour */
};

enum plan_stat {
    STAT_MEAN, /* of times of day: circular, always */
    STAT_MEDIAN,
    STAT_SUM,
    STAT_MIN,
    STAT_MAX,
    STAT_SD, /* n-1 */
    STAT_RANGE,
    STAT_CV,       /* percent */
    STAT_QUANTILE, /* with `quantile`; type 7 */
    STAT_COUNT,
    STAT_FIRST,
    STAT_LAST,
};

enum plan_compare { CMP_NONE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_EQ, CMP_NE, CMP_BETWEEN };

struct plan_having {
    enum plan_compare cmp;
    double value, value2; /* in the metric's unit; both ends of "between" belong to it */
};

/*
 * A window of days. Relative ones count from the newest day with data, which is "today".
 * `last` n days, `skip` days before that: last 30 skip 30 are the 30 before the last 30. One
 * with `last` has open ends. A window that is zeroed is not open: begin with plan_init().
 */
struct plan_window {
    int32_t from, to; /* both included; DAY_NONE: open at that end */
    uint32_t last, skip;
};

/*
 * A condition on the day; all of a `where` must hold. A metric without a value on that day fails
 * it, with is_not too. Of workouts, a condition on a field of the plan's own kind (or of any kind)
 * and day is on the very session: runs of more than 10 km; else on whether the day has such one.
 */
enum plan_condition_kind { WHERE_METRIC, WHERE_WORKOUT, WHERE_WEEKDAY, WHERE_MONTH };

struct plan_condition {
    enum plan_condition_kind kind;
    bool is_not;
    int32_t shift;                   /* looks at the day this many days later (negative: earlier) */
    const struct metric *metric;     /* WHERE_METRIC, with `having` */
    const struct activity *activity; /* WHERE_WORKOUT; NULL: any */
    struct plan_having having;       /* of the metric; or of the sessions' `field` */
    enum plan_field field;
    uint32_t set; /* WHERE_WEEKDAY: bit 0 Monday …; WHERE_MONTH: bit 1 January … */
};

struct plan_where {
    size_t n;
    struct plan_condition conditions[PLAN_CONDITIONS];
};

enum plan_result { RESULT_DIFFERENCE, RESULT_PERCENT, RESULT_RATIO };
enum plan_pick { PICK_NONE, PICK_MAX, PICK_MIN, PICK_FIRST, PICK_LAST };
enum plan_group { GROUP_WEEKDAY, GROUP_WEEKEND, GROUP_MONTH, GROUP_WEEK, GROUP_YEAR };
enum plan_method {
    METHOD_DEFAULT,
    METHOD_OLS,
    METHOD_THEIL_SEN,
    METHOD_PEARSON,
    METHOD_SPEARMAN,
    METHOD_KENDALL
};

/* TREND: slope by so long, a week by default. Sums and counts: so many in such a time. */
enum plan_per { PER_NONE, PER_DAY, PER_WEEK, PER_MONTH, PER_YEAR };

struct plan {
    enum plan_op op;
    enum plan_subject subject;
    const struct metric *metric;     /* PLAN_OF_METRIC */
    const struct activity *activity; /* PLAN_OF_WORKOUTS; NULL: of any kind */
    enum plan_field field;
    const struct analyte *analyte; /* PLAN_OF_LAB */
    const char *lab;               /* its label, when it is not in the catalogue */
    struct plan_window window;
    struct plan_where where;
    uint32_t newest; /* only so many of the newest sessions or results; 0: all */

    enum plan_stat stat;
    double quantile; /* 0..1 */
    struct plan_having having;
    bool as_share;             /* COUNT: percent of the days that have a value */
    bool by_day;               /* COUNT of workouts: the days that have one */
    enum plan_pick pick;       /* EXTREME, STREAK (LAST: the current one), GROUP, ROLLING, FIND */
    bool wants_date;           /* EXTREME, ROLLING: the answer is the date */
    uint32_t limit;            /* LIST, EXTREME, ANOMALY: rows; 0: default */
    uint32_t rank;             /* EXTREME: 2 is the second largest; 0 and 1: the largest */
    bool by_value, descending; /* LIST */
    uint32_t days;             /* ROLLING */

    struct plan_window window_b; /* COMPARE: all of group b; group a is the plan's own */
    struct plan_where where_b;
    enum plan_result result; /* COMPARE, CHANGE */

    const struct metric *with; /* CORRELATE */
    int32_t lag;               /* the other metric, this many days later */
    enum plan_method method;
    enum plan_per per;
    enum plan_group group;
    double threshold; /* ANOMALY: robust z; 0: 3.5 */

    const char *unit; /* to convert the answer to; NULL: the subject's own */
};

/* All windows open, all else zero: the mean of whatever subject is set. */
void plan_init(struct plan *plan);

/* What is wrong with a plan: the path of the member and a sentence. */
struct plan_error {
    char path[96]; /* "where[1].cmp" */
    char text[192];
};

/* `metric` names of the person's own are looked up in the dataset. WEIR_BAD_FIELD with the error.
 */
WEIR_MUST_CHECK enum weir_status plan_parse(struct plan *out, const struct weir_json *json,
                                            struct dataset *d, struct plan_error *error);

/* Whether a plan made by hand makes sense: the same rules as for JSON. */
WEIR_MUST_CHECK enum weir_status plan_check(const struct plan *plan, struct plan_error *error);

/* What it is about: "resting heart rate", "run sessions", "LDL cholesterol". */
enum { PLAN_TITLE_BYTES = 96 };
void plan_subject_title(const struct plan *plan, char *out, size_t cap);

/* Whether that is a time of day. */
bool plan_is_clock(const struct plan *plan);

/* As JSON, without members that have their default. */
void plan_put(struct weir_buf *out, const struct plan *plan);

struct plan_row {
    int32_t day;     /* DAY_NONE: `key` tells */
    const char *key; /* "Tuesday", "2025-03", "a" */
    double value;    /* NAN: none */
    size_t n;
    double z; /* ANOMALY: how far from the rest; else 0 */
};

enum plan_value { VALUE_NONE, VALUE_NUMBER, VALUE_DATE, VALUE_TEXT };

struct plan_answer {
    enum plan_value
        kind; /* VALUE_NONE: not answerable, `reason` says why, and there is no number */
    double number;
    int32_t date;      /* of the extreme, of a streak's first day, …; DAY_NONE */
    const char *text;  /* "Tuesday" */
    const char *clock; /* "23:16": a time of day for people; NULL */
    const char *unit;
    size_t n;             /* values that it rests on */
    int32_t from, to;     /* the window as it was resolved */
    int32_t from_b, to_b; /* COMPARE: that of group b; else DAY_NONE */
    const struct plan_row *rows;
    size_t n_rows;
    const char *reason;            /* "no data for blood oxygen" */
    const char *notes[PLAN_NOTES]; /* what a reader has to know: partial days left out, … */
    size_t n_notes;
};

/*
 * Memory of the answer is the arena's. WEIR_OK also for an answer that says "no data";
 * WEIR_BAD_FIELD for a plan that plan_check() refuses.
 */
WEIR_MUST_CHECK enum weir_status plan_run(const struct plan *plan, struct dataset *d,
                                          struct arena *arena, struct plan_answer *out);

/* {"plan","value","unit","n","window","date"?,"rows"?,"notes"?} or {"unanswerable","plan"}. */
void plan_put_answer(struct weir_buf *out, const struct plan *plan, const struct plan_answer *a);

/* One sentence for people: "Mean steps, 2025-01-01 to 2025-01-31: 8,432 (30 days)". */
void plan_say(struct weir_buf *out, const struct plan *plan, const struct plan_answer *a);

/* The unit of what a plan is about: "kg", "clock", "min"; "" where there is none. */
const char *plan_subject_unit(const struct plan *plan);
