/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small person for the tests of this folder: 200 days up to 2025-06-18, a Wednesday, with steps,
 * sleep, deep sleep, bedtime, weight, resting heart rate, stress and a metric of their own; runs on
 * every third day, one laboratory test twice. What is asked comes back as the plan's JSON, or as
 * "refused: …".
 */
#pragma once

#include <math.h>
#include <stdio.h>

#include "ask/ask.h"
#include "t.h"

enum { HELP_DAYS = 200, HELP_BYTES = 1 << 16 };

struct help {
    struct dataset *d;
    struct arena arena;
    struct ask_reading reading;
    char text[HELP_BYTES];
};

static inline void help_add(struct dataset *d, const struct metric *m, double base, double step)
{
    static int32_t days[HELP_DAYS];
    static double values[HELP_DAYS];
    int32_t last = day_from_civil(2025, 6, 18);
    for (int i = 0; i < HELP_DAYS; i++) {
        days[i] = last - HELP_DAYS + 1 + i;
        values[i] = base + step * (i % 7);
    }
    struct series s = {.metric = m, .n = HELP_DAYS, .days = days, .values = values};
    T_EQ(dataset_add_series(d, &s), WEIR_OK);
}

static inline void help_named(struct dataset *d, const char *name, double base, double step)
{
    help_add(d, metric_find(weir_slice_of(name)), base, step);
}

static inline void help_init(struct help *h)
{
    const struct metric *own;
    h->d = dataset_new();
    arena_init(&h->arena, 8 << 20);
    help_named(h->d, "steps", 8000, 500);
    help_named(h->d, "sleep_minutes", 400, 15);
    help_named(h->d, "deep_sleep_minutes", 60, 3);
    help_named(h->d, "bedtime", 1380, 5);
    help_named(h->d, "weight", 70, 0.1);
    help_named(h->d, "resting_heart_rate", 55, 1);
    help_named(h->d, "stress_score", 40, 2);
    T_EQ(dataset_add_metric(h->d, weir_slice_of("knee_pain"), &own), WEIR_OK);
    help_add(h->d, own, 2, 0.5);
    for (int i = 0; i < HELP_DAYS; i += 3) {
        struct workout w = {.activity = activity_find(weir_slice_of("run")),
                            .label = weir_slice_of("Run"),
                            .day = day_from_civil(2025, 6, 18) - HELP_DAYS + 1 + i,
                            .minutes = 30,
                            .km = 5,
                            .kcal = 300,
                            .avg_hr = 140,
                            .max_hr = NAN,
                            .steps = NAN,
                            .ascent_m = NAN};
        w.start.at = (int64_t)w.day * DAY_SECONDS;
        T_EQ(dataset_add_workout(h->d, &w), WEIR_OK);
    }
    for (int i = 0; i < 2; i++) {
        struct lab l = {.analyte = analyte_find(weir_slice_of("ldl")),
                        .label = weir_slice_of("LDL"),
                        .day = day_from_civil(2025, 1 + 3 * i, 7),
                        .value = 120 - 10 * i,
                        .unit = weir_slice_of("mg/dL"),
                        .printed = weir_slice_of("120")};
        T_EQ(dataset_add_lab(h->d, &l), WEIR_OK);
    }
}

static inline void help_fini(struct help *h)
{
    arena_fini(&h->arena);
    dataset_free(h->d);
}

/* The plan as JSON, or "refused: " and why. Lives until the next call. */
static inline struct weir_slice help_ask(struct help *h, const char *question)
{
    struct weir_buf out;
    arena_reset(&h->arena);
    T_EQ(ask_read(&h->reading, weir_slice_of(question), h->d, &h->arena), WEIR_OK);
    if (!h->reading.is_understood) {
        int n = snprintf(h->text, sizeof h->text, "refused: %s", h->reading.refusal);
        return (struct weir_slice){h->text, (size_t)n};
    }
    weir_buf_init(&out, HELP_BYTES);
    plan_put(&out, &h->reading.plan);
    size_t n = out.len < HELP_BYTES ? out.len : HELP_BYTES;
    memcpy(h->text, out.ptr, n);
    weir_buf_fini(&out);
    return (struct weir_slice){h->text, n};
}
