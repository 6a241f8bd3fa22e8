/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions of any bytes: they are read or refused, within the arena's ceiling; what is
 * understood makes a plan that can be run; the same question gives the same plan.
 */
#include <stdlib.h>

#include "ask/ask.h"
#include "fuzz/fuzz.h"

enum { N_DAYS = 40, ARENA_BYTES = 16 << 20, OUT_BYTES = 1 << 20 };

static void add(struct dataset *d, const char *name, double base)
{
    int32_t days[N_DAYS];
    double values[N_DAYS];
    for (int i = 0; i < N_DAYS; i++) {
        days[i] = 20200 + i;
        values[i] = base + i % 5;
    }
    struct series s = {
        .metric = metric_find(weir_slice_of(name)), .n = N_DAYS, .days = days, .values = values};
    fuzz_true("a series is added", dataset_add_series(d, &s) == WEIR_OK);
}

static struct dataset *person(void)
{
    struct dataset *d = dataset_new();
    struct workout w = {.activity = activity_find(weir_slice_of("run")),
                        .label = weir_slice_of("Run"),
                        .day = 20210,
                        .minutes = 30,
                        .km = 5};
    struct lab l = {.analyte = analyte_find(weir_slice_of("ldl")),
                    .label = weir_slice_of("ldl"),
                    .day = 20205,
                    .value = 100,
                    .unit = weir_slice_of("mg/dL")};
    add(d, "steps", 9000);
    add(d, "sleep_minutes", 420);
    add(d, "bedtime", 1380);
    add(d, "weight", 70);
    fuzz_true("a workout is added", dataset_add_workout(d, &w) == WEIR_OK);
    fuzz_true("a result is added", dataset_add_lab(d, &l) == WEIR_OK);
    return d;
}

static void ask(struct dataset *d, struct weir_slice question, struct weir_buf *out)
{
    struct arena arena;
    struct ask_reading reading;
    struct plan_answer answer = {0};
    struct plan_error error;
    arena_init(&arena, ARENA_BYTES);
    fuzz_true("it is read", ask_read(&reading, question, d, &arena) == WEIR_OK);
    if (reading.is_understood) {
        fuzz_true("the plan makes sense", plan_check(&reading.plan, &error) == WEIR_OK);
        fuzz_true("it runs", plan_run(&reading.plan, d, &arena, &answer) == WEIR_OK);
    } else fuzz_true("a refusal says why", reading.refusal && reading.refusal[0]);
    ask_put(out, &reading, &answer);
    fuzz_true("the answer is whole", weir_buf_status(out) == WEIR_OK);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dataset *d;
    struct weir_buf a, b;
    if (!d) d = person();
    char *copy = malloc(size > 0 ? size : 1);
    if (size > 0) memcpy(copy, data, size);
    weir_buf_init(&a, OUT_BYTES);
    weir_buf_init(&b, OUT_BYTES);
    ask(d, (struct weir_slice){copy, size}, &a);
    ask(d, (struct weir_slice){copy, size}, &b);
    fuzz_true("the same question gives the same answer",
              a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0);
    weir_buf_fini(&a);
    weir_buf_fini(&b);
    free(copy);
    return 0;
}
