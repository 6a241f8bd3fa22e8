/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public facts: what bodies of medicine hold for normal, recommended or dangerous, with the source
 * of each limit. The rows are data (facts.def). They are for orientation and never a diagnosis.
 *
 * Everything here is constant; any thread.
 */
#pragma once

#include <weir/types.h>

/* How a band is to be spoken of. */
enum fact_tone { TONE_GOOD, TONE_WATCH, TONE_LOW, TONE_HIGH };

enum fact_urgency { URGENCY_SOON, URGENCY_NOW };

struct fact_source {
    const char *id; /* "ACC/AHA 2017": as an answer cites it */
    const char *body;
    unsigned year;
    const char *citation;
};

struct fact_subject {
    const char *name;   /* of a metric or laboratory test of the catalogue */
    const char *about;  /* what it is; a sentence without its full stop, without a number */
    const char *caveat; /* what to keep in mind; the same */
};

/* Values from lo up to below hi, in the unit of the catalogue; NAN: no limit on that side. */
struct fact_band {
    const char *subject;
    const char *who; /* in words; empty: adults */
    unsigned age_min, age_max;
    char sex; /* 'm', 'f'; 0: both */
    double lo, hi;
    const char *label; /* "elevated" */
    enum fact_tone tone;
    const char *source; /* fact_source.id */
};

/* What is recommended for a whole week, from lo to hi. */
struct fact_weekly {
    const char *subject;
    double lo, hi;
    const char *text;
    const char *source;
};

struct fact_alarm {
    const char *subject;
    double lo, hi;
    enum fact_urgency urgency;
    const char *source;
};

/* Of whom one speaks; 0: not known. */
struct fact_person {
    unsigned age;
    char sex;
};

size_t fact_source_count(void);
const struct fact_source *fact_source_at(size_t i);
size_t fact_subject_count(void);
const struct fact_subject *fact_subject_at(size_t i);

/* NULL when nothing is known of it. */
const struct fact_subject *fact_subject_find(const char *name);
const struct fact_source *fact_source_find(const char *id);
const struct fact_weekly *fact_weekly_find(const char *subject);

/*
 * The rows of a subject for such a person, rising and without a gap; *n is 0 when there are none,
 * or when age or sex would have to be known and are not (then *needs says "age", "sex" or "age and
 * sex"). Without an age, adults of working age are meant where there are several groups of both
 * sexes.
 */
const struct fact_band *fact_bands(const char *subject, const struct fact_person *person, size_t *n,
                                   const char **needs);

/* The row that a value falls into; NULL. */
const struct fact_band *fact_band_of(const struct fact_band *bands, size_t n, double value);

/* The most urgent alarm of a value; NULL: none. */
const struct fact_alarm *fact_alarm_of(const char *subject, double value);
