/* SPDX-License-Identifier: Apache-2.0 */
#include "import/table_sleep.h"

#include <math.h>

#include "base/slice.h"
#include "data/day.h"

enum { DAY_MINUTES = 1440 };

void table_read_sleep(struct table *t, struct sleep *s)
{
    s->asleep = table_minutes(t, FIELD_ASLEEP);
    s->in_bed = table_minutes(t, FIELD_IN_BED);
    s->awake = table_minutes(t, FIELD_AWAKE);
    s->light = table_minutes(t, FIELD_LIGHT);
    s->deep = table_minutes(t, FIELD_DEEP);
    s->rem = table_minutes(t, FIELD_REM);
    s->efficiency = table_number(t, FIELD_EFFICIENCY, NULL);
    s->latency = table_minutes(t, FIELD_LATENCY);
    s->source = t->source;
}

static bool is_within(double value, double most)
{
    return isnan(value) || (value >= 0 && value <= most);
}

const char *sleep_fault(const struct sleep *s)
{
    int64_t seconds = s->end.at - s->start.at;
    if (seconds <= 0) return "a sleep that ends before it begins";
    if (seconds > DAY_SECONDS) return "a sleep of more than a day";
    if (!is_within(s->asleep, DAY_MINUTES) || !is_within(s->in_bed, DAY_MINUTES) ||
        !is_within(s->awake, DAY_MINUTES) || !is_within(s->light, DAY_MINUTES) ||
        !is_within(s->deep, DAY_MINUTES) || !is_within(s->rem, DAY_MINUTES) ||
        !is_within(s->latency, DAY_MINUTES))
        return "a sleep with more minutes than a day has, or less than none";
    return is_within(s->efficiency, 100) ? NULL : "a sleep with an efficiency beyond 100 %";
}

enum weir_status table_give_sleep(struct table *t, const struct sleep *s)
{
    const char *fault = sleep_fault(s);
    if (!fault) return t->context.sink.sleep(t->context.sink.user, s);
    table_refuse(t, "%s", fault);
    return WEIR_OK;
}

enum weir_status table_give_sleep_day(struct table *t, const struct sleep *s)
{
    const struct {
        const char *metric;
        double value;
    } values[] = {
        {"sleep_minutes", s->asleep},        {"time_in_bed", s->in_bed},
        {"awake_minutes", s->awake},         {"light_sleep_minutes", s->light},
        {"deep_sleep_minutes", s->deep},     {"rem_sleep_minutes", s->rem},
        {"sleep_efficiency", s->efficiency}, {"sleep_latency", s->latency},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const struct metric *m = metric_find(weir_slice_of(values[i].metric));
        if (isnan(values[i].value)) continue;
        if (values[i].value < m->min || values[i].value > m->max) {
            table_refuse(t, "%s: %g is not plausible (%g to %g %s)", m->title, values[i].value,
                         m->min, m->max, m->unit);
            continue;
        }
        enum weir_status st = table_day_value(t, m, SLICE(""), s->day, values[i].value);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}
