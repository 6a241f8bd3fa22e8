/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small invented person for tests of plans: 2025-03-01 (a Saturday) to 2025-03-31, today.
 * Steps are 1000 times the day of the month; sleep is missing on the 5th and the 6th; bedtimes lie
 * around midnight; runs on the 2nd, 9th, 16th, 23rd, 30th, a walk on the 3rd; weight since the
 * 10th.
 */
#pragma once

#include <math.h>

#include "base/arena.h"
#include "data/plan.h"
#include "t.h"

struct person {
    struct dataset *d;
    struct arena arena;
    struct weir_json_doc *doc;
    struct weir_buf out;
};

enum { MARCH = 20148, MARCH_DAYS = 31 }; /* 2025-03-01 as a day */

static inline void add_values(struct dataset *d, const char *name, const double *by_day,
                              const uint8_t *quality)
{
    int32_t days[MARCH_DAYS];
    double values[MARCH_DAYS];
    uint8_t kept[MARCH_DAYS];
    size_t n = 0;
    for (int i = 0; i < MARCH_DAYS; i++) {
        if (isnan(by_day[i])) continue;
        days[n] = MARCH + i;
        kept[n] = quality ? quality[i] : (uint8_t)QUALITY_GOOD;
        values[n++] = by_day[i];
    }
    struct series s = {.metric = metric_find(weir_slice_of(name)),
                       .n = n,
                       .days = days,
                       .values = values,
                       .quality = kept};
    T_EQ(dataset_add_series(d, &s), WEIR_OK);
}

static inline void add_run(struct dataset *d, const char *kind, int date, double minutes, double km)
{
    struct workout w = {.activity = activity_find(weir_slice_of(kind)),
                        .label = weir_slice_of(kind),
                        .start = {(MARCH + date - 1) * (int64_t)DAY_SECONDS + 36000, 0},
                        .day = MARCH + date - 1,
                        .minutes = minutes,
                        .km = km,
                        .kcal = NAN,
                        .avg_hr = NAN,
                        .max_hr = NAN,
                        .steps = NAN,
                        .ascent_m = NAN};
    T_EQ(dataset_add_workout(d, &w), WEIR_OK);
}

static inline void add_result(struct dataset *d, const char *name, int date, double value,
                              char comparator)
{
    struct lab l = {.analyte = analyte_find(weir_slice_of(name)),
                    .label = weir_slice_of(name),
                    .day = MARCH + date - 1,
                    .value = value,
                    .comparator = comparator,
                    .printed = weir_slice_of(comparator ? "<0.3 mg/L" : ""),
                    .unit = weir_slice_of("mg/dL")};
    T_EQ(dataset_add_lab(d, &l), WEIR_OK);
}

static inline void fill_person(struct dataset *d)
{
    double steps[MARCH_DAYS], sleep[MARCH_DAYS], deep[MARCH_DAYS], bed[MARCH_DAYS],
        weight[MARCH_DAYS];
    uint8_t quality[MARCH_DAYS] = {0};
    for (int i = 0; i < MARCH_DAYS; i++) {
        steps[i] = 1000 * (i + 1);
        sleep[i] = i == 4 || i == 5 ? (double)NAN : 400.0 + (i % 7) * 10;
        deep[i] = 60 + (i % 7);
        bed[i] = i % 2 ? 1430 : 10;
        weight[i] = i < 9 ? (double)NAN : 80 - 0.1 * (i - 9);
    }
    quality[30] = QUALITY_PARTIAL;
    quality[10] = QUALITY_NOT_WORN;
    quality[11] = QUALITY_IMPLAUSIBLE;
    add_values(d, "steps", steps, quality);
    add_values(d, "sleep_minutes", sleep, NULL);
    add_values(d, "deep_sleep_minutes", deep, NULL);
    add_values(d, "bedtime", bed, NULL);
    add_values(d, "weight", weight, NULL);
    for (int i = 0; i < 5; i++) add_run(d, "run", 2 + 7 * i, 30 + 10 * i, 5 + i);
    add_run(d, "walk", 3, 60, NAN);
    add_result(d, "ldl", 4, 130, 0);
    add_result(d, "ldl", 25, 116, 0);
    add_result(d, "hs_crp", 25, 0.3, '<');
    add_result(d, "Zinc", 25, 80, 0);
}

static inline void person_init(struct person *p)
{
    p->d = dataset_new();
    p->doc = weir_json_doc_new(0);
    arena_init(&p->arena, 64 << 20);
    weir_buf_init(&p->out, 1 << 20);
    fill_person(p->d);
}

static inline void person_fini(struct person *p)
{
    dataset_free(p->d);
    weir_json_doc_free(p->doc);
    arena_fini(&p->arena);
    weir_buf_fini(&p->out);
}

/* JSON with ' for ", to be read among C strings. */
static inline const struct weir_json *person_json(struct person *p, const char *text)
{
    const struct weir_json *json = NULL;
    weir_buf_reset(&p->out);
    for (const char *c = text; *c; c++) weir_buf_append_char(&p->out, *c == '\'' ? '"' : *c);
    if (weir_json_parse(p->doc, weir_buf_slice(&p->out), &json, NULL) != WEIR_OK)
        t_fail(__FILE__, __LINE__, "no JSON: %s", text);
    return json;
}

/* Parses and runs; what is wrong with the plan fails the test. */
static inline struct plan_answer person_ask(struct person *p, const char *text, struct plan *plan)
{
    struct plan_error error;
    struct plan_answer a = {0};
    enum weir_status st = plan_parse(plan, person_json(p, text), p->d, &error);
    if (st != WEIR_OK) {
        t_fail(__FILE__, __LINE__, "%s: %s: %s", text, error.path, error.text);
        return a;
    }
    T_EQ(plan_run(plan, p->d, &p->arena, &a), WEIR_OK);
    return a;
}
