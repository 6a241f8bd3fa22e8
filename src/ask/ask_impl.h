/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this folder share: a question as tokens, and the frame that the grammar fills.
 *
 *   words.c        bytes to words
 *   lexicon.c      what words may mean
 *   tokens.c       words to tokens: the longest phrases, numbers in words, slips of the pen
 *   dates.c, windows.c   tokens to windows of days
 *   quantity.c     tokens to thresholds with their units
 *   parse….c       the grammar: tokens to a frame
 *   build….c       a frame to a plan
 *   explain.c      a plan in words, refusals
 */
#pragma once

#include "ask/lexicon.h"

enum {
    MAX_MENTIONS = 8,
    MAX_SCOPES = 4,
    MAX_WINDOWS = 4,
    MAX_STATS = 6,
};

struct token {
    struct weir_slice text;
    struct senses senses;
    double number;
    int32_t day;
    bool is_ordinal, is_ambiguous, is_owner;
    bool is_written; /* a number in words */
    bool is_used;
    size_t n_words;
};

struct tokens {
    size_t n;
    struct token list[ASK_WORDS];
};

/* The data that decide between readings. */
struct ask_data {
    struct dataset *dataset;
    const struct metric *const *metrics; /* that have values */
    size_t n_metrics;
    const struct workout *workouts;
    size_t n_workouts;
    const struct lab *labs;
    size_t n_labs;
    int32_t first, today; /* today: the newest day with data */
    bool is_empty;
};

/* A phrase that is a window of days. */
struct window {
    struct plan_window days;
    size_t at;        /* token */
    bool is_all;      /* "overall" */
    bool is_previous; /* "the previous 30 days": before another one, if there is one */
    bool is_pair;     /* "between March and May": may be two */
    struct plan_window a, b;
    uint32_t length; /* days of a relative one */
};

/* A threshold: "over 8 hours". */
struct quantity {
    enum plan_compare cmp;
    double value, value2;
    const char *unit; /* NULL: none was said */
    bool is_clock;
    bool is_bare; /* no word of comparing */
    size_t at, end;
};

enum mention_kind { M_METRIC, M_ACTIVITY, M_WORKOUT, M_ANALYTE, M_FIELD };

/* A thing that was spoken of. */
struct mention {
    enum mention_kind kind;
    size_t at; /* token */
    uint8_t scope;
    const struct metric *metric;
    const struct activity *activity;
    const struct analyte *analyte;
    bool has_field;
    enum plan_field field; /* what it is of a workout, if it is read as that */
    bool is_counted;       /* "runs", "run sessions" */
    bool is_unit;          /* a unit that may be read as a metric: "kilometres" */
    bool has_quantity;
    struct quantity quantity;
    int lag;
    bool has_lag;
    bool is_used;
};

/* "on days when …": scope 0 is the question itself. */
struct scope {
    size_t at;
    int shift; /* the condition holds so many days later (-1: the day before) */
    bool is_not;
    bool is_other; /* "other days": whatever the first is not */
    bool has_shift;
    uint32_t weekdays; /* set of them, 0: none */
};

enum counted { COUNT_NOTHING, COUNT_DAYS, COUNT_SESSIONS, COUNT_TIMES, COUNT_RESULTS };

struct frame {
    struct mention mentions[MAX_MENTIONS];
    size_t n_mentions;
    struct scope scopes[MAX_SCOPES];
    size_t n_scopes; /* at least 1 */
    struct window windows[MAX_WINDOWS];
    size_t n_windows;
    enum plan_stat stats[MAX_STATS];
    size_t n_stats;
    bool sum_is_name; /* "total steps" is a name of the metric, too */
    bool has_both;    /* "highest and lowest" */
    bool has_most, most_is_weak, has_weak_mean, has_per_day;
    enum super_kind most;
    size_t most_at;
    double quantile;
    bool has_quantile;
    enum symbol ask; /* the first word of asking: S_HOW_MANY, … ; S_NONE */
    bool asks_which, asks_when, asks_time, asks_many, asks_much, asks_long, asks_far, asks_often;
    bool asks_yes_no;
    enum counted counted;
    bool counts_nights;
    bool has_reading, has_result, has_current, has_first, has_latest;
    bool is_share, is_percent, is_ratio, is_change, is_compare, is_difference, has_than;
    int direction;
    bool is_trend, is_correlation, is_streak, is_rolling, is_list, is_anomaly, is_distribution;
    bool is_spread, is_present; /* "do I": a habit */
    bool has_comparative;       /* "more", "higher" */
    bool has_only;              /* "only", "restricted to" */
    bool has_day_part;          /* "in the evening" */
    bool has_night_part;        /* "at night" */
    bool has_data_word;         /* "how much data" */
    enum plan_method method;
    bool has_per, per_is_word; /* "weekly" */
    enum plan_per per;
    bool has_group;
    enum plan_group group;
    bool is_on_off;
    bool has_weekend, has_weekday;
    size_t weekend_at, weekday_at;
    bool weekday_first; /* "weekday minus weekend" */
    bool has_minus;
    size_t minus_at;
    uint32_t weekdays, weekdays_b; /* "on Mondays" in the question itself */
    uint32_t rank;                 /* "my 5 best"; 0: none */
    uint32_t nth;                  /* "second highest"; 0: none */
    uint32_t newest;               /* "my last 3 runs" */
    uint32_t rolling_days;
    bool implies_previous; /* "compared with before" */
    uint32_t than_days;    /* "more than last month": days up to today; 0: not said */
    const char *unit;
    bool unit_is_said; /* "in hours" rather than "how many hours" */
    int lag;
    bool has_lag, lag_is_general;
    size_t lag_at;
    struct quantity loose[4]; /* thresholds not yet attached */
    size_t n_loose;
    uint8_t loose_scope[4];
};

struct parse {
    struct tokens *t;
    struct ask_data *data;
    struct ask_reading *out;
    struct arena *arena;
    struct frame f;
    uint8_t scope;
    bool is_failed; /* out->refusal is set */
};

/* tokens.c. WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status tokens_read(struct tokens *out, const struct words *words,
                                             struct parse *p);

/* Whether token i may be this; beyond the end it is nothing. */
bool is_at(const struct parse *p, size_t i, enum symbol symbol);
const struct sense *sense_at(const struct parse *p, size_t i, enum symbol symbol); /* NULL */
/* Whether it may be one of these; IS_ANY(p, i, S_ON, S_IN). */
bool is_any_at(const struct parse *p, size_t i, const enum symbol *symbols);
#define IS_ANY(p, i, ...) is_any_at(p, i, (const enum symbol[]){__VA_ARGS__, S_NONE})

/* Whether any token of the question may be this. */
bool has_symbol(const struct parse *p, enum symbol symbol);

bool text_is(const struct parse *p, size_t i, const char *text);
bool text_in(const struct parse *p, size_t i, const char *texts); /* separated by '|' */
bool mark_is(const struct parse *p, size_t i, char mark);
void tokens_use(struct parse *p, size_t from, size_t to);
bool has_metric_data(const struct ask_data *data, const struct metric *m);

/* windows.c: a window that begins at token i; *end is the token behind it. */
bool window_at(struct parse *p, size_t i, struct window *out, size_t *end);

/* quantity.c: a threshold that begins at token i. */
bool quantity_at(struct parse *p, size_t i, struct quantity *out, size_t *end);
/* In the unit of a metric; false when there is no way. */
bool quantity_convert(const struct quantity *q, const char *unit, bool is_sleep,
                      struct plan_having *out, bool *took_hours);

/* parse.c, build.c: false when it was refused. */
bool parse_frame(struct parse *p);
bool build_plan(struct parse *p);

/* explain.c */
void ask_refuse(struct parse *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ask_note(struct parse *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ask_refuse_unknown(struct parse *p);
const char *explain_plan(struct arena *arena, const struct plan *plan);
const char *understood_so_far(struct parse *p);
