/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days by hand for the tests of this folder: 200 of them up to 2025-06-18, a Wednesday, each metric
 * a line, a step for weekends and a noise that is the same in every run; and what came of them read
 * back. The agents' cases are in desk.h.
 */
#pragma once

#include <math.h>
#include <stdio.h>

#include "check/verify.h"
#include "data/plan.h"
#include "desk.h"
#include "stat/random.h"

enum { DAYS = 200, DAYS_STEPS = 4 };

struct days_of {
    const char *metric;
    double level, slope, weekend, noise; /* slope and weekend in the metric's unit */
    size_t n;                            /* of the newest days; 0: all of them */
    size_t change;                       /* another device from here on; 0: one */
};

static inline int32_t days_last(void)
{
    return day_from_civil(2025, 6, 18);
}

static inline void days_add(struct desk *d, struct days_of of)
{
    int32_t days[DAYS];
    double values[DAYS];
    uint16_t sources[DAYS], old, new;
    const struct metric *m = metric_find(weir_slice_of(of.metric));
    struct stat_random random = stat_random_of(1, metric_index(m));
    struct source watch = {.name = SLICE("Watch"), .kind = SOURCE_WATCH};
    struct source ring = {.name = SLICE("Ring"), .kind = SOURCE_WATCH};
    T_EQ(dataset_add_source(d->c.data, &watch, &old), WEIR_OK);
    T_EQ(dataset_add_source(d->c.data, &ring, &new), WEIR_OK);
    size_t n = of.n > 0 ? of.n : DAYS;
    for (size_t i = 0; i < n; i++) {
        days[i] = days_last() - (int32_t)n + 1 + (int32_t)i;
        double noise = of.noise * stat_random_normal(&random);
        values[i] =
            of.level + of.slope * (double)i + (day_is_weekend(days[i]) ? of.weekend : 0) + noise;
        sources[i] = of.change > 0 && i >= of.change ? new : old;
    }
    struct series s = {.metric = m, .n = n, .days = days, .values = values, .sources = sources};
    T_EQ(dataset_add_series(d->c.data, &s), WEIR_OK);
}

/* What an agent brings for the question; it is the output of the main agent from then on. */
static inline const struct weir_json *days_work_of(struct desk *d, const char *agent)
{
    weir_buf_reset(&d->out);
    T_EQ(agent_work(&d->c, agent, d->c.question, &d->out), WEIR_OK);
    weir_buf_append_char(&d->out, '\0');
    desk_set(d, "run_main_agent", d->out.ptr);
    return desk_output(d, "run_main_agent");
}

static inline const struct weir_json *days_work(struct desk *d)
{
    return days_work_of(d, "data_science");
}

static inline const struct weir_json *member_at(const struct weir_json *list, size_t i)
{
    const struct weir_json *v = weir_json_first(list);
    for (; v && i > 0; i--) v = weir_json_next(v);
    return v;
}

static inline const struct weir_json *finding_at(const struct weir_json *result, size_t i)
{
    return member_at(weir_json_get_str(result, "findings"), i);
}

static inline struct weir_slice text_at(const struct weir_json *object, const char *key)
{
    return weir_json_text(weir_json_get_str(object, key));
}

/* The entry of this claim, "ds-001.avg", in a list of them; NULL. */
static inline const struct weir_json *entry_of(const struct weir_json *entries, const char *claim)
{
    for (const struct weir_json *e = weir_json_first(entries); e; e = weir_json_next(e))
        if (weir_slice_is(text_at(e, "claim"), claim)) return e;
    return NULL;
}

static inline double value_of(const struct weir_json *entries, const char *claim)
{
    double value = NAN;
    (void)weir_json_double(weir_json_get_str(entry_of(entries, claim), "value"), &value);
    return value;
}

static inline void put_members(struct weir_buf *out, const struct weir_json *list)
{
    for (const struct weir_json *e = weir_json_first(list); e; e = weir_json_next(e))
        weir_json_put_value(out, e);
}

/* Numbers of a text that no entry of the result is the home of; each is reported. */
static inline size_t days_lacking(struct desk *d, const struct weir_json *result, const char *key)
{
    struct weir_buf all;
    struct ledger ledger;
    struct verify_result verified = {0};
    struct arena arena;
    char error[LEDGER_ERROR_BYTES];
    weir_buf_init(&all, DESK_BYTES);
    arena_init(&arena, VERIFY_ARENA_BYTES);
    weir_json_put_begin_array(&all);
    const struct weir_json *f = weir_json_first(weir_json_get_str(result, "findings"));
    for (; f; f = weir_json_next(f)) put_members(&all, weir_json_get_str(f, "entries"));
    put_members(&all, weir_json_get_str(result, "facts"));
    weir_json_put_end_array(&all);
    T_EQ(ledger_read(&ledger, desk_json(d, weir_buf_slice(&all)), &arena, error), WEIR_OK);
    struct verify_input input = {
        .text = text_at(result, key), .ledger = &ledger, .known = &d->c.question, .n_known = 1};
    T_EQ(verify_text(&verified, &input, &arena), WEIR_OK);
    for (size_t i = 0; i < verified.n; i++)
        if (verified.numbers[i].outcome == VERIFY_LACK)
            t_fail(__FILE__, __LINE__, "%.*s: no home for \"%.*s\" in %.*s", (int)d->c.question.len,
                   d->c.question.ptr, (int)verified.numbers[i].len,
                   input.text.ptr + verified.numbers[i].offset, (int)input.text.len,
                   input.text.ptr);
    weir_buf_fini(&all);
    arena_fini(&arena);
    return verified.n_lacking;
}
