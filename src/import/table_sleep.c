/* SPDX-License-Identifier: Apache-2.0 */
#include "import/table_sleep.h"

#include <math.h>

#include "base/slice.h"
#include "data/day.h"

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

enum weir_status table_give_sleep(struct table *t, const struct sleep *s)
{
    int64_t seconds = s->end.at - s->start.at;
    if (seconds <= 0) {
        table_refuse(t, "a sleep that ends before it begins");
        return WEIR_OK;
    }
    if (seconds > DAY_SECONDS) {
        table_refuse(t, "a sleep of more than a day");
        return WEIR_OK;
    }
    return t->context.sink.sleep(t->context.sink.user, s);
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
        if (isnan(values[i].value)) continue;
        enum weir_status st = table_day_value(t, metric_find(weir_slice_of(values[i].metric)),
                                              SLICE(""), s->day, values[i].value);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}
