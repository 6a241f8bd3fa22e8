/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue: what weir knows of each metric, laboratory test and kind of workout. The rows
 * are data (catalogue.def): adding a metric is adding one. Nothing else in the project names a
 * metric, but for the readers of other people's files, which say which of their columns is which.
 *
 * Everything here is constant; any thread.
 */
#pragma once

#include <weir/types.h>

/* How the samples of a day become its value. */
enum daily_rule {
    DAILY_MEAN,
    DAILY_SUM,  /* intervals are merged by source priority, never added twice */
    DAILY_LAST, /* the newest of the day: weight */
    DAILY_MIN,
    DAILY_MAX,
    DAILY_CIRCULAR, /* a time of day, in minutes after midnight */
};

/* What the metric is made of, so that nobody correlates a thing with itself. */
enum metric_relation {
    METRIC_PLAIN,
    METRIC_PART_OF,  /* deep sleep is part of sleep */
    METRIC_SCORE_OF, /* a readiness score is computed from others */
};

/* Whether more is better; "best" and "worst" are read with it. */
enum metric_better { BETTER_UNKNOWN, BETTER_MORE, BETTER_LESS };

struct metric {
    const char *name;    /* "resting_heart_rate": stable, in stored data and plans */
    const char *title;   /* "resting heart rate": in sentences */
    const char *unit;    /* of all stored values: "bpm" */
    const char *aliases; /* everyday words, separated by '|', lower case; the title is one too */
    const char *group;   /* "heart", "sleep", "activity", "body", "vitals", "mind", "food" */
    enum daily_rule daily;
    enum metric_better better;
    enum metric_relation relation;
    const char *of;      /* what it is part of or computed from, names separated by '|'; or NULL */
    double min, max;     /* a day's value outside is not plausible */
    double device_noise; /* typical error of a consumer device, in `unit`; 0: not known */
    double worthwhile;   /* smallest change worth speaking of, in `unit`; 0: not known */
    const char *source;  /* where the last two come from */
};

/* A laboratory test. Values are stored in `unit`; the unit that was printed is kept beside. */
struct analyte {
    const char *name; /* "ldl" */
    const char *title;
    const char *unit;
    const char *aliases;
    double molar;    /* unit per mmol/L (mg/dL per mmol/L); 0: does not apply */
    double min, max; /* plausible */
};

/* A kind of workout. */
struct activity {
    const char *name;    /* "run" */
    const char *title;   /* "run" */
    const char *aliases; /* "running|jog|jogging|treadmill run|hkworkoutactivitytyperunning" */
};

/* All of them, in the order of the table. */
size_t metric_count(void);
const struct metric *metric_at(size_t i);
size_t metric_index(const struct metric *m);
size_t analyte_count(void);
const struct analyte *analyte_at(size_t i);
size_t activity_count(void);
const struct activity *activity_at(size_t i);

/* By name or by an alias, whole, whatever the case; blanks, '_' and '-' are the same. NULL. */
const struct metric *metric_find(struct weir_slice name);
const struct analyte *analyte_find(struct weir_slice name);
const struct activity *activity_find(struct weir_slice name);

/* The next alias of a list, or an empty slice; *at is 0 at first. */
struct weir_slice alias_next(const char *aliases, size_t *at);

/*
 * Units. A unit has a name ("min", "kg", "bpm"), other spellings ("minutes", "kilograms",
 * "count/min") and, with others of its dimension, a factor and an offset.
 */
struct unit {
    const char *name;
    const char *aliases;
    const char *dimension; /* "time", "mass", "length", "energy", "temperature", … */
    double factor, offset; /* base = value * factor + offset */
};

const struct unit *unit_find(struct weir_slice name); /* NULL */

/* False when there is no way from one to the other. Equal names always convert. */
bool unit_convert(const char *from, const char *to, double value, double *out);

/* The same for a laboratory value, where mmol/L depends on the substance. */
bool analyte_convert(const struct analyte *a, struct weir_slice from, double value, double *out);
