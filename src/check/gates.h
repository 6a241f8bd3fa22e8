/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seven gates: whether a finding in a person's days stands. docs/gates.md explains each; the
 * verdict follows from them alone, and every number that decided is in the detail.
 *
 *   struct verdict v;
 *   st = gates_run(&v, &finding, seed, &arena);
 *
 * The same finding and seed give the same numbers, on every machine and with any number of
 * threads. Empty, constant, tiny and infinite inputs get a verdict like all others. Any thread.
 */
#pragma once

#include <weir/status.h>

#include "base/arena.h"
#include "data/catalogue.h"

enum finding_kind {
    FINDING_LEVEL,    /* a mean or median */
    FINDING_TREND,    /* rises or falls */
    FINDING_WINDOWS,  /* one stretch of days against another */
    FINDING_WEEKDAYS, /* weekend against weekday */
    FINDING_PAIR,     /* goes together with another metric, maybe some days later */
    FINDING_ANOMALY,  /* one day stands out */
};

/* Days in their order; a day without a value is NAN. */
struct days {
    const double *x;
    size_t n;
};

struct finding {
    enum finding_kind kind;
    const struct metric *metric, *metric_y; /* NULL: not in the catalogue */
    struct days a;          /* the days; of WINDOWS the earlier ones; of PAIR the first metric */
    struct days b;          /* WINDOWS: the later ones; PAIR: the other metric on the same days;
                               ANOMALY: the same metric by another source, or nothing */
    bool is_median;         /* LEVEL: the claim is the median, not the mean */
    int lag;                /* PAIR: of the other metric, this many days later */
    size_t index;           /* ANOMALY: the day in question */
    uint32_t weekend;       /* places of the week, from that of the first day, that are weekend */
    size_t device_change;   /* in `a`: the first day of another device; 0: none is known */
    bool is_one_device;     /* WINDOWS: false when the two windows come from different ones */
    size_t device_change_b; /* the same in `b` */
};

enum gate_name {
    GATE_SAMPLE_SIZE,
    GATE_CONSTRUCT_VALIDITY,
    GATE_EFFECT_VS_NOISE,
    GATE_BOOTSTRAP,
    GATE_SUBGROUP_CONSISTENCY,
    GATE_METHOD_TRIANGULATION,
    GATE_DISCRIMINATIVE_POWER,
    N_GATES,
};
const char *gate_name(enum gate_name g);

enum gate_status { GATE_PASSED, GATE_FAILED, GATE_SKIPPED };
const char *gate_status_name(enum gate_status s);

enum { GATE_NUMBERS = 12, GATE_RESAMPLES = 2000 };

struct gate {
    enum gate_status status;
    const char *why; /* a sentence */
    size_t n;
    struct {
        const char *name;
        double value; /* NAN: not defined */
    } detail[GATE_NUMBERS];
};

enum verdict_name { VERDICT_VALIDATED, VERDICT_CONDITIONAL, VERDICT_REJECTED };
const char *verdict_name(enum verdict_name v);

struct verdict {
    enum verdict_name name;
    struct gate gates[N_GATES];
    double estimate; /* what was found: a difference, a change, a correlation, a mean, a distance */
    double lo, hi;   /* its 95 % interval; NAN: none */
    const char *assessment; /* one line in words that an answer must use */
};

/* WEIR_NOMEM, WEIR_LIMIT when the arena is too small. */
WEIR_MUST_CHECK enum weir_status gates_run(struct verdict *out, const struct finding *finding,
                                           uint64_t seed, struct arena *arena);
