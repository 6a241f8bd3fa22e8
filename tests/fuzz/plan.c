/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans as JSON: what is taken is written back as a plan that is written the same, and has an
 * answer that is JSON; what is refused has a sentence. The person has a little of everything.
 */
#include <math.h>

#include <weir/json.h>

#include "data/plan.h"
#include "fuzz/fuzz.h"

enum { DAYS = 60, FIRST = 20000 };

static void add_metric(struct dataset *d, const char *name, double from, double step)
{
    int32_t days[DAYS];
    double values[DAYS];
    uint8_t quality[DAYS];
    for (int i = 0; i < DAYS; i++) {
        days[i] = FIRST + i + i / 7;
        values[i] = from + step * (i * 37 % 11);
        quality[i] = i == DAYS - 1 ? QUALITY_PARTIAL
                     : i % 13 == 5 ? QUALITY_NOT_WORN
                                   : QUALITY_GOOD;
    }
    struct series s = {.metric = metric_find(weir_slice_of(name)),
                       .n = DAYS,
                       .days = days,
                       .values = values,
                       .quality = quality};
    fuzz_true("a series is added", dataset_add_series(d, &s) == WEIR_OK);
}

static struct dataset *make_person(void)
{
    struct dataset *d = dataset_new();
    add_metric(d, "steps", 4000, 800);
    add_metric(d, "sleep_minutes", 400, 12);
    add_metric(d, "weight", 70, 0);
    add_metric(d, "bedtime", 1380, 12);
    for (int i = 0; i < 12; i++) {
        struct workout w = {.activity = activity_at((size_t)i % 3),
                            .start = {(FIRST + 5 * i) * (int64_t)DAY_SECONDS, 0},
                            .day = FIRST + 5 * i,
                            .minutes = 20 + i,
                            .km = i % 4 ? (double)i : NAN,
                            .kcal = NAN,
                            .avg_hr = 120,
                            .max_hr = NAN,
                            .steps = NAN,
                            .ascent_m = NAN};
        struct lab l = {.analyte = analyte_at((size_t)i % 2),
                        .label = weir_slice_of("x"),
                        .day = FIRST + 9 * i,
                        .value = 100 + i,
                        .comparator = i == 3 ? '<' : 0};
        fuzz_true("sessions and results are added",
                  dataset_add_workout(d, &w) == WEIR_OK && dataset_add_lab(d, &l) == WEIR_OK);
    }
    return d;
}

static void check_again(struct dataset *d, const struct weir_buf *written)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *json = NULL;
    struct plan plan;
    struct plan_error error;
    struct weir_buf again;
    weir_buf_init(&again, 1 << 20);
    fuzz_true("a plan is written as JSON",
              weir_json_parse(doc, weir_buf_slice(written), &json, NULL) == WEIR_OK);
    fuzz_true("which is a plan", plan_parse(&plan, json, d, &error) == WEIR_OK);
    plan_put(&again, &plan);
    fuzz_true("and is written the same",
              again.len == written->len && memcmp(again.ptr, written->ptr, again.len) == 0);
    weir_buf_fini(&again);
    weir_json_doc_free(doc);
}

static void check_answer(struct dataset *d, const struct plan *plan)
{
    struct arena arena;
    struct plan_answer answer;
    struct weir_buf out;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *json = NULL;
    arena_init(&arena, 64 << 20);
    weir_buf_init(&out, 16 << 20);
    enum weir_status st = plan_run(plan, d, &arena, &answer);
    fuzz_true("a plan has an answer", st == WEIR_OK || st == WEIR_LIMIT);
    if (st == WEIR_OK) {
        bool is_number = answer.kind == VALUE_NUMBER;
        fuzz_true("a number is finite", !is_number || isfinite(answer.number));
        fuzz_true("no answer has a reason", (answer.kind == VALUE_NONE) == !!answer.reason);
        plan_put_answer(&out, plan, &answer);
        fuzz_true("an answer is JSON",
                  weir_json_parse(doc, weir_buf_slice(&out), &json, NULL) == WEIR_OK);
        weir_buf_reset(&out);
        plan_say(&out, plan, &answer);
        fuzz_true("an answer is a sentence", out.len > 0);
    }
    weir_buf_fini(&out);
    arena_fini(&arena);
    weir_json_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dataset *person;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *json = NULL;
    struct weir_slice text = {(const char *)data, size};
    struct plan plan;
    struct plan_error error;
    if (!person) person = make_person();
    if (weir_json_parse(doc, text, &json, NULL) == WEIR_OK) {
        enum weir_status st = plan_parse(&plan, json, person, &error);
        fuzz_true("a refusal has a sentence", st == WEIR_OK || error.text[0] != '\0');
        if (st == WEIR_OK) {
            struct weir_buf written;
            weir_buf_init(&written, 1 << 20);
            plan_put(&written, &plan);
            check_again(person, &written);
            weir_buf_fini(&written);
            check_answer(person, &plan);
        }
    }
    weir_json_doc_free(doc);
    return 0;
}
