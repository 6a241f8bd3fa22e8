/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking public facts up. The rows of a subject and group stand together in the table, so that a
 * group is a run of it; a test holds the table to that.
 */
#include "agent/facts.h"

#include <math.h>
#include <string.h>

#define NONE NAN
#define SOURCE(...)
#define SUBJECT(...)
#define BAND(...)
#define WEEKLY(...)
#define ALARM(...)
#define TOPIC(...)

enum { WORKING_AGE = 40 }; /* years: whoever did not say theirs is taken for that */

static const struct fact_source sources[] = {
#undef SOURCE
#define SOURCE(id, body, year, citation) {id, body, year, citation},
#include "agent/facts.def"
#undef SOURCE
#define SOURCE(...)
};

static const struct fact_subject subjects[] = {
#undef SUBJECT
#define SUBJECT(name, about, caveat) {name, about, caveat},
#include "agent/facts.def"
#undef SUBJECT
#define SUBJECT(...)
};

static const struct fact_band bands[] = {
#undef BAND
#define BAND(subject, who, age_min, age_max, sex, lo, hi, label, tone, source)                     \
    {subject, who, age_min, age_max, sex, lo, hi, label, TONE_##tone, source},
#include "agent/facts.def"
#undef BAND
#define BAND(...)
};

static const struct fact_weekly weeklies[] = {
#undef WEEKLY
#define WEEKLY(subject, lo, hi, text, source) {subject, lo, hi, text, source},
#include "agent/facts.def"
#undef WEEKLY
#define WEEKLY(...)
};

static const struct fact_alarm alarms[] = {
#undef ALARM
#define ALARM(subject, lo, hi, urgency, source) {subject, lo, hi, URGENCY_##urgency, source},
#include "agent/facts.def"
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

size_t fact_source_count(void)
{
    return COUNT(sources);
}

const struct fact_source *fact_source_at(size_t i)
{
    return &sources[i];
}

size_t fact_subject_count(void)
{
    return COUNT(subjects);
}

const struct fact_subject *fact_subject_at(size_t i)
{
    return &subjects[i];
}

const struct fact_subject *fact_subject_find(const char *name)
{
    for (size_t i = 0; i < COUNT(subjects); i++)
        if (strcmp(subjects[i].name, name) == 0) return &subjects[i];
    return NULL;
}

const struct fact_source *fact_source_find(const char *id)
{
    for (size_t i = 0; i < COUNT(sources); i++)
        if (strcmp(sources[i].id, id) == 0) return &sources[i];
    return NULL;
}

const struct fact_weekly *fact_weekly_find(const char *subject)
{
    for (size_t i = 0; i < COUNT(weeklies); i++)
        if (strcmp(weeklies[i].subject, subject) == 0) return &weeklies[i];
    return NULL;
}

static bool is_same_group(const struct fact_band *a, const struct fact_band *b)
{
    return strcmp(a->subject, b->subject) == 0 && a->age_min == b->age_min &&
           a->age_max == b->age_max && a->sex == b->sex;
}

static bool is_of_age(const struct fact_band *band, unsigned age)
{
    return age >= band->age_min && age <= band->age_max;
}

/* One who did not say it belongs to no group of a sex, and to none of an age and a sex. */
static bool is_for(const struct fact_band *band, const struct fact_person *person)
{
    if (band->sex != 0 && band->sex != person->sex) return false;
    return is_of_age(band, person->age != 0 ? person->age : WORKING_AGE);
}

/* Whether age alone tells the groups of a subject apart for this sex. */
static bool depends_on_age(const struct fact_band *band, size_t left)
{
    for (size_t i = 1; i < left && strcmp(band[i].subject, band->subject) == 0; i++)
        if (band[i].sex == band->sex && band[i].age_min != band->age_min) return true;
    return false;
}

static const char *missing(const struct fact_band *first, size_t left,
                           const struct fact_person *person)
{
    if (first->sex == 0) return NULL;
    bool needs_age = person->age == 0 && depends_on_age(first, left);
    if (person->sex == 0) return needs_age ? "age and sex" : "sex";
    return needs_age ? "age" : NULL;
}

const struct fact_band *fact_bands(const char *subject, const struct fact_person *person, size_t *n,
                                   const char **needs)
{
    size_t i = 0;
    *n = 0;
    *needs = NULL;
    while (i < COUNT(bands) && strcmp(bands[i].subject, subject) != 0) i++;
    if (i == COUNT(bands)) return NULL;
    *needs = missing(&bands[i], COUNT(bands) - i, person);
    if (*needs) return NULL;
    while (i < COUNT(bands) && strcmp(bands[i].subject, subject) == 0 && !is_for(&bands[i], person))
        i++;
    if (i == COUNT(bands) || strcmp(bands[i].subject, subject) != 0) return NULL;
    while (i + *n < COUNT(bands) && is_same_group(&bands[i], &bands[i + *n])) ++*n;
    return &bands[i];
}

static bool is_within(double lo, double hi, double value)
{
    return !(value < lo) && !(value >= hi); /* a limit that is not there is not crossed */
}

const struct fact_band *fact_band_of(const struct fact_band *rows, size_t n, double value)
{
    for (size_t i = 0; i < n; i++)
        if (is_within(rows[i].lo, rows[i].hi, value)) return &rows[i];
    return NULL;
}

const struct fact_alarm *fact_alarm_of(const char *subject, double value)
{
    const struct fact_alarm *worst = NULL;
    if (isnan(value)) return NULL;
    for (size_t i = 0; i < COUNT(alarms); i++) {
        const struct fact_alarm *a = &alarms[i];
        if (strcmp(a->subject, subject) != 0 || !is_within(a->lo, a->hi, value)) continue;
        if (!worst || a->urgency > worst->urgency) worst = a;
    }
    return worst;
}
