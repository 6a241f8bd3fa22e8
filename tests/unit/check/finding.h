/* SPDX-License-Identifier: Apache-2.0 */
/* Findings for the tests: invented days, and what the gates say of them. */
#pragma once

#include <math.h>

#include "check/gates.h"
#include "stat/random.h"
#include "t.h"

enum { DAYS = 84, WEEK = 7, WEEKEND = 1 << 5 | 1 << 6 };

static inline const struct metric *pulse(void)
{
    return metric_find(weir_slice_of("resting_heart_rate"));
}

/* Days about 60 with a standard deviation of 2, each like the one before by `lag1`. */
static inline void make_days(double *x, size_t n, uint64_t seed, double lag1)
{
    struct stat_random r = stat_random_of(seed, 0);
    double e = stat_random_normal(&r);
    for (size_t i = 0; i < n; i++) {
        x[i] = 60 + 2 * e;
        e = lag1 * e + sqrt(1 - lag1 * lag1) * stat_random_normal(&r);
    }
}

static inline const struct metric *walking(void)
{
    return metric_find(weir_slice_of("steps"));
}

/* Steps about 8,000, and none on days on which the device lay in a drawer, `apart` days apart. */
static inline void make_steps(double *x, size_t n, uint64_t seed, size_t apart)
{
    make_days(x, n, seed, 0.3);
    for (size_t i = 0; i < n; i++) {
        x[i] = 8000 + 700 * (x[i] - 60);
        if (x[i] < 2000) x[i] = 2000;
        if (apart > 0 && i % apart == apart - 1) x[i] = 0;
    }
}

/* A number that decided; NAN: it is not there. */
static inline double number(struct verdict v, enum gate_name gate, const char *name)
{
    for (size_t i = 0; i < v.gates[gate].n; i++)
        if (strcmp(v.gates[gate].detail[i].name, name) == 0) return v.gates[gate].detail[i].value;
    return NAN;
}

static inline struct verdict judge_seeded(struct finding f, uint64_t seed)
{
    struct verdict v = {0};
    struct arena arena;
    arena_init(&arena, 64 << 20);
    T_EQ(gates_run(&v, &f, seed, &arena), WEIR_OK);
    arena_fini(&arena);
    return v;
}

static inline struct verdict judge(struct finding f)
{
    return judge_seeded(f, 1);
}

#define T_PASSED(v, gate)  T_EQ((v).gates[gate].status, GATE_PASSED)
#define T_FAILED(v, gate)  T_EQ((v).gates[gate].status, GATE_FAILED)
#define T_SKIPPED(v, gate) T_EQ((v).gates[gate].status, GATE_SKIPPED)

/* This hard gate failed; nothing behind it was looked at. */
static inline void is_barred_by(struct verdict v, enum gate_name gate)
{
    T_FAILED(v, gate);
    T_EQ(v.name, VERDICT_REJECTED);
    for (size_t i = (size_t)gate + 1; i < N_GATES; i++) T_SKIPPED(v, i);
}

/* One of the number of each gate: P passed, F failed, S skipped. */
static inline void has_gates(struct verdict v, const char *letters)
{
    char got[N_GATES + 1] = {0};
    for (size_t i = 0; i < N_GATES; i++) got[i] = "PFS"[v.gates[i].status];
    T_EQ_STR(weir_slice_of(got), letters);
}
