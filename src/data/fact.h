/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: what the readers of files hand over, in one form whatever the file was.
 *
 * All that was ever imported for a person is a set of facts. Adding a fact that is there
 * changes nothing, and the order does not matter: so a file imported twice, or half and then
 * whole, or after another that overlaps it, gives the same database. Daily values are computed
 * from the set (series.h).
 */
#pragma once

#include <weir/status.h>

#include "data/catalogue.h"

/* A moment, and what the clock on the wall was set to there. */
struct moment {
    int64_t at;     /* Unix seconds */
    int32_t offset; /* seconds east of UTC */
};

/* What made a value; the class decides who is believed when several measured the same. */
enum source_class {
    SOURCE_UNKNOWN,
    SOURCE_MANUAL, /* typed in by a person */
    SOURCE_APP,
    SOURCE_PHONE,
    SOURCE_SCALE, /* and other things that one uses for a moment: cuffs, thermometers */
    SOURCE_WATCH, /* watch, band, ring, strap */
    SOURCE_LAB,
};

struct source {
    struct weir_slice name; /* "Owner's Apple Watch", without addresses that change */
    enum source_class kind;
};

/* A value of a metric at a moment (end equals start) or over an interval. */
struct sample {
    const struct metric *metric;
    struct moment start, end;
    double value; /* in the metric's unit */
    struct source source;
};

/* A day's value that a device or service has already computed. */
struct day_value {
    const struct metric *metric; /* NULL: not in the catalogue, kept by its name */
    struct weir_slice name;      /* "mood": as the table calls it; when metric is NULL */
    int32_t day;
    double value;
    bool is_partial; /* the day was not over when it was written down */
    struct source source;
};

enum sleep_stage { STAGE_IN_BED, STAGE_AWAKE, STAGE_ASLEEP, STAGE_LIGHT, STAGE_DEEP, STAGE_REM };

/* A piece of a night, where the file has pieces: nights are put together later. */
struct stage {
    enum sleep_stage stage;
    struct moment start, end;
    struct source source;
};

/* A whole sleep, where the file has whole ones. Minutes that are not known are NAN. */
struct sleep {
    struct moment start, end; /* to bed or asleep; awake or up */
    int32_t day;              /* the local day of waking */
    bool is_nap;
    double asleep, in_bed, awake, light, deep, rem; /* minutes */
    double efficiency, latency;                     /* percent; minutes */
    struct source source;
};

/* Numbers that are not known are NAN. */
struct workout {
    const struct activity *activity;
    struct weir_slice label; /* as the file calls it */
    struct moment start;
    int32_t day;
    double minutes, km, kcal, avg_hr, max_hr, steps, ascent_m;
    struct source source;
};

struct lab {
    const struct analyte *analyte; /* NULL: not in the catalogue, kept by its label */
    struct weir_slice label;
    int32_t day;
    double value;              /* in the analyte's unit; for an unknown one as printed */
    char comparator;           /* '<' or '>' when the laboratory gave a bound; else 0 */
    struct weir_slice printed; /* "5.4 mmol/L": as the laboratory printed it */
    struct weir_slice unit;    /* of `value` */
    struct weir_slice range;   /* printed reference range, may be empty */
    struct weir_slice flag;
    struct source source;
};

/*
 * Where facts go. Every slice is borrowed for the call alone. A function returns WEIR_OK to go
 * on; anything else ends the reading and comes out of it. `refuse` is for a row that is wrong:
 * it is counted and shown, and the reading goes on; where there are no lines, line is the number
 * of the record.
 */
struct fact_sink {
    void *user;
    enum weir_status (*sample)(void *user, const struct sample *s);
    enum weir_status (*day_value)(void *user, const struct day_value *v);
    enum weir_status (*stage)(void *user, const struct stage *s);
    enum weir_status (*sleep)(void *user, const struct sleep *s);
    enum weir_status (*workout)(void *user, const struct workout *w);
    enum weir_status (*lab)(void *user, const struct lab *l);
    void (*refuse)(void *user, uint64_t line, const char *reason);
    void (*ignore)(void *user, struct weir_slice what); /* known to be of no use: counted by name */
    /*
     * When a file says when it was written: its day and those behind it were not over then. Of
     * several such moments the newest counts. A sink that does not care leaves it NULL.
     */
    enum weir_status (*exported)(void *user, struct moment at);
};
