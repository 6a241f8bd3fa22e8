/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A person with 200 days up to 2025-06-18, a Wednesday: common metrics with noise that is the same
 * in every run, runs on every third day, LDL measured twice.
 */
#pragma once

#include <math.h>

#include "data/dataset.h"
#include "t.h"

enum { PERSON_DAYS = 200 };

static inline double person_noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / (double)(1 << 24) - 0.5;
}

static inline void person_metric(struct dataset *d, const char *name, double base, double spread)
{
    int32_t days[PERSON_DAYS], last = day_from_civil(2025, 6, 18);
    double values[PERSON_DAYS];
    uint64_t state = strlen(name) * 977 + (unsigned char)name[0];
    for (int i = 0; i < PERSON_DAYS; i++) {
        days[i] = last - PERSON_DAYS + 1 + i;
        values[i] = base + spread * person_noise(&state);
    }
    struct series s = {.metric = metric_find(weir_slice_of(name)),
                       .n = PERSON_DAYS,
                       .days = days,
                       .values = values};
    T_EQ(dataset_add_series(d, &s), WEIR_OK);
}

static inline void person_add(struct dataset *d)
{
    static const struct {
        const char *name;
        double base, spread;
    } rows[] = {{"steps", 8000, 5000},
                {"active_minutes", 60, 30},
                {"active_energy", 500, 200},
                {"resting_heart_rate", 58, 8},
                {"hrv_rmssd", 45, 15},
                {"sleep_minutes", 420, 90},
                {"deep_sleep_minutes", 70, 30},
                {"rem_sleep_minutes", 90, 30},
                {"bedtime", 1380, 40},
                {"wake_time", 420, 40},
                {"weight", 70, 1},
                {"stress_score", 40, 20},
                {"sleep_score", 80, 15}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        person_metric(d, rows[i].name, rows[i].base, rows[i].spread);
    for (int i = 0; i < PERSON_DAYS; i += 3) {
        struct workout w = {.activity = activity_find(weir_slice_of("run")),
                            .label = weir_slice_of("Run"),
                            .day = day_from_civil(2025, 6, 18) - PERSON_DAYS + 1 + i,
                            .minutes = 30 + i % 7,
                            .km = 5 + 0.1 * (i % 11),
                            .kcal = 300,
                            .avg_hr = 140,
                            .max_hr = NAN,
                            .steps = NAN,
                            .ascent_m = NAN};
        w.start.at = (int64_t)w.day * DAY_SECONDS;
        T_EQ(dataset_add_workout(d, &w), WEIR_OK);
    }
    for (int i = 0; i < 2; i++) {
        struct lab l = {.analyte = analyte_find(weir_slice_of("ldl")),
                        .label = weir_slice_of("LDL"),
                        .day = day_from_civil(2025, 1 + 3 * i, 7),
                        .value = 134 - 10 * i,
                        .unit = weir_slice_of("mg/dL"),
                        .printed = weir_slice_of("124")};
        T_EQ(dataset_add_lab(d, &l), WEIR_OK);
    }
}
