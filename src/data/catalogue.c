/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in the catalogue. Names and aliases are compared letter by letter. */
#include "data/catalogue.h"

#include "base/check.h"

#define METRIC(name_, title_, unit_, aliases_, group_, daily_, better_, relation_, of_, min_,      \
               max_, noise_, worthwhile_, source_)                                                 \
    {.name = name_,                                                                                \
     .title = title_,                                                                              \
     .unit = unit_,                                                                                \
     .aliases = aliases_,                                                                          \
     .group = group_,                                                                              \
     .daily = DAILY_##daily_,                                                                      \
     .better = BETTER_##better_,                                                                   \
     .relation = METRIC_##relation_,                                                               \
     .of = of_,                                                                                    \
     .min = min_,                                                                                  \
     .max = max_,                                                                                  \
     .device_noise = noise_,                                                                       \
     .worthwhile = worthwhile_,                                                                    \
     .source = source_},
#define ANALYTE(...)
#define ACTIVITY(...)
static const struct metric metrics[] = {
#include "data/catalogue.def"
};
#undef METRIC
#undef ANALYTE
#undef ACTIVITY

#define METRIC(...)
#define ANALYTE(name_, title_, unit_, aliases_, molar_, min_, max_)                                \
    {.name = name_,                                                                                \
     .title = title_,                                                                              \
     .unit = unit_,                                                                                \
     .aliases = aliases_,                                                                          \
     .molar = molar_,                                                                              \
     .min = min_,                                                                                  \
     .max = max_},
#define ACTIVITY(...)
static const struct analyte analytes[] = {
#include "data/catalogue.def"
};
#undef ANALYTE
#undef ACTIVITY

#define ANALYTE(...)
#define ACTIVITY(name_, title_, aliases_) {.name = name_, .title = title_, .aliases = aliases_},
static const struct activity activities[] = {
#include "data/catalogue.def"
};

enum {
    N_METRICS = sizeof metrics / sizeof *metrics,
    N_ANALYTES = sizeof analytes / sizeof *analytes,
    N_ACTIVITIES = sizeof activities / sizeof *activities,
};

size_t metric_count(void)
{
    return N_METRICS;
}

const struct metric *metric_at(size_t i)
{
    CHECK(i < N_METRICS);
    return &metrics[i];
}

size_t metric_index(const struct metric *m)
{
    CHECK(m >= metrics && m < metrics + N_METRICS);
    return (size_t)(m - metrics);
}

size_t analyte_count(void)
{
    return N_ANALYTES;
}

const struct analyte *analyte_at(size_t i)
{
    CHECK(i < N_ANALYTES);
    return &analytes[i];
}

size_t activity_count(void)
{
    return N_ACTIVITIES;
}

const struct activity *activity_at(size_t i)
{
    CHECK(i < N_ACTIVITIES);
    return &activities[i];
}

struct weir_slice alias_next(const char *aliases, size_t *at)
{
    const char *begin = aliases + *at;
    size_t len = (size_t)(strchrnul(begin, '|') - begin); /* a quarter of strcspn()'s time */
    *at += len + (begin[len] == '|' ? 1 : 0);
    return (struct weir_slice){begin, len};
}

static char plain(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c == '_' || c == '-' ? ' ' : c;
}

static bool is_same(struct weir_slice a, struct weir_slice b)
{
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++)
        if (plain(a.ptr[i]) != plain(b.ptr[i])) return false;
    return true;
}

static bool has_alias(const char *aliases, struct weir_slice name)
{
    size_t at = 0;
    for (struct weir_slice a = alias_next(aliases, &at); a.len > 0; a = alias_next(aliases, &at))
        if (is_same(a, name)) return true;
    return false;
}

/* A row's own names go before the aliases of all rows: "hrv_sdnn" is no other metric's "hrv". */
static bool is_named(const char *name, const char *title, struct weir_slice wanted)
{
    return is_same(weir_slice_of(name), wanted) || is_same(weir_slice_of(title), wanted);
}

const struct metric *metric_find(struct weir_slice name)
{
    for (size_t i = 0; i < N_METRICS; i++)
        if (is_named(metrics[i].name, metrics[i].title, name)) return &metrics[i];
    for (size_t i = 0; i < N_METRICS; i++)
        if (has_alias(metrics[i].aliases, name)) return &metrics[i];
    return NULL;
}

const struct analyte *analyte_find(struct weir_slice name)
{
    for (size_t i = 0; i < N_ANALYTES; i++)
        if (is_named(analytes[i].name, analytes[i].title, name)) return &analytes[i];
    for (size_t i = 0; i < N_ANALYTES; i++)
        if (has_alias(analytes[i].aliases, name)) return &analytes[i];
    return NULL;
}

const struct activity *activity_find(struct weir_slice name)
{
    for (size_t i = 0; i < N_ACTIVITIES; i++)
        if (is_named(activities[i].name, activities[i].title, name)) return &activities[i];
    for (size_t i = 0; i < N_ACTIVITIES; i++)
        if (has_alias(activities[i].aliases, name)) return &activities[i];
    return NULL;
}
