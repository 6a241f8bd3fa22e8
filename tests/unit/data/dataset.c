/* SPDX-License-Identifier: Apache-2.0 */
#include "data/dataset.h"

#include <math.h>

#include "base/fault.h"
#include "data/dataset_impl.h"
#include "t.h"

static const struct metric *metric(const char *name)
{
    return metric_find(weir_slice_of(name));
}

static void add_days(struct dataset *d, const char *name, int32_t from, size_t n)
{
    int32_t days[64];
    double values[64];
    for (size_t i = 0; i < n; i++) {
        days[i] = from + (int32_t)i;
        values[i] = (double)i;
    }
    struct series s = {.metric = metric(name), .n = n, .days = days, .values = values};
    T_EQ(dataset_add_series(d, &s), WEIR_OK);
}

TEST(what_was_added_is_found_as_it_was)
{
    struct dataset *d = dataset_new();
    int32_t days[] = {10, 12, 13};
    double values[] = {1.5, 2.5, -3};
    uint8_t quality[] = {QUALITY_GOOD, QUALITY_NOT_WORN, QUALITY_PARTIAL};
    uint16_t sources[] = {0, 1, 1};
    struct series s = {metric("steps"), 3, days, values, quality, sources};
    T_EQ(dataset_add_series(d, &s), WEIR_OK);
    days[0] = 99;
    const struct series *got;
    T_EQ(dataset_series(d, metric("steps"), &got), WEIR_OK);
    T_EQ(got->n, 3);
    T_EQ(got->days[0], 10);
    T_OK(got->values[2] == -3);
    T_EQ(got->quality[1], QUALITY_NOT_WORN);
    T_EQ(got->sources[1], 1);
    T_EQ(dataset_series(d, metric("weight"), &got), WEIR_NOT_FOUND);
    dataset_free(d);
}

TEST(days_that_do_not_rise_and_a_second_series_are_refused)
{
    struct dataset *d = dataset_new();
    int32_t days[] = {10, 10};
    double values[] = {1, 2};
    struct series s = {.metric = metric("steps"), .n = 2, .days = days, .values = values};
    T_EQ(dataset_add_series(d, &s), WEIR_INVALID);
    days[1] = 11;
    T_EQ(dataset_add_series(d, &s), WEIR_OK);
    T_EQ(dataset_add_series(d, &s), WEIR_EXISTS);
    struct metric stranger = *metric("steps");
    s.metric = &stranger;
    T_EQ(dataset_add_series(d, &s), WEIR_INVALID);
    dataset_free(d);
}

TEST(metrics_come_in_catalogue_order_with_the_persons_own_behind)
{
    struct dataset *d = dataset_new();
    const struct metric *mood, *again;
    T_EQ(dataset_add_metric(d, weir_slice_of("Cups of tea"), &mood), WEIR_OK);
    T_EQ(dataset_add_metric(d, weir_slice_of("cups_of_tea"), &again), WEIR_OK);
    T_OK(mood == again);
    int32_t day = 5;
    double value = 3;
    struct series s = {.metric = mood, .n = 1, .days = &day, .values = &value};
    T_EQ(dataset_add_series(d, &s), WEIR_OK);
    add_days(d, "weight", 1, 2);
    add_days(d, "steps", 3, 2);
    const struct metric *const *list;
    size_t n;
    T_EQ(dataset_metrics(d, &list, &n), WEIR_OK);
    T_EQ(n, 3);
    T_OK(list[0] == metric("steps") && list[1] == metric("weight") && list[2] == mood);
    T_OK(dataset_find_metric(d, weir_slice_of("CUPS OF TEA")) == mood);
    T_OK(dataset_find_metric(d, weir_slice_of("step count")) == metric("steps"));
    T_OK(!dataset_find_metric(d, weir_slice_of("cups")));
    T_EQ(dataset_add_metric(d, weir_slice_of(""), &again), WEIR_INVALID);
    dataset_free(d);
}

TEST(sessions_and_results_are_put_in_order)
{
    struct dataset *d = dataset_new();
    for (int i = 0; i < 40; i++) {
        int32_t day = (i * 17) % 40;
        struct workout w = {.label = weir_slice_of("Run"),
                            .start = {day * (int64_t)DAY_SECONDS, 0},
                            .day = day,
                            .minutes = NAN};
        struct sleep sl = {.start = {day * (int64_t)DAY_SECONDS, 0}, .day = day};
        struct lab l = {.label = weir_slice_of("LDL"), .day = day, .value = i};
        T_EQ(dataset_add_workout(d, &w), WEIR_OK);
        T_EQ(dataset_add_sleep(d, &sl), WEIR_OK);
        T_EQ(dataset_add_lab(d, &l), WEIR_OK);
    }
    const struct workout *w;
    const struct sleep *s;
    const struct lab *l;
    size_t nw, ns, nl;
    T_EQ(dataset_workouts(d, &w, &nw), WEIR_OK);
    T_EQ(dataset_sleeps(d, &s, &ns), WEIR_OK);
    T_EQ(dataset_labs(d, &l, &nl), WEIR_OK);
    T_EQ(nw, 40);
    T_EQ(ns, 40);
    T_EQ(nl, 40);
    for (int32_t i = 0; i < 40; i++) {
        T_EQ(w[i].day, i);
        T_EQ(s[i].day, i);
        T_EQ(l[i].day, i);
    }
    T_EQ_STR(w[7].label, "Run");
    dataset_free(d);
}

TEST(the_span_is_that_of_daily_values_else_of_workouts_else_of_results)
{
    struct dataset *d = dataset_new();
    int32_t first, newest;
    T_EQ(dataset_span(d, &first, &newest), WEIR_NOT_FOUND);
    dataset_free(d);

    d = dataset_new();
    struct lab l = {.day = 3};
    T_EQ(dataset_add_lab(d, &l), WEIR_OK);
    T_EQ(dataset_span(d, &first, &newest), WEIR_OK);
    T_EQ(first, 3);
    T_EQ(newest, 3);
    dataset_free(d);

    d = dataset_new();
    struct workout w = {.day = 90};
    T_EQ(dataset_add_lab(d, &l), WEIR_OK);
    T_EQ(dataset_add_workout(d, &w), WEIR_OK);
    T_EQ(dataset_span(d, &first, &newest), WEIR_OK);
    T_EQ(first, 90);
    dataset_free(d);

    d = dataset_new();
    T_EQ(dataset_add_workout(d, &w), WEIR_OK);
    add_days(d, "steps", 10, 5);
    add_days(d, "weight", 12, 9);
    T_EQ(dataset_span(d, &first, &newest), WEIR_OK);
    T_EQ(first, 10);
    T_EQ(newest, 20);
    dataset_free(d);
}

TEST(sources_have_numbers_from_one)
{
    struct dataset *d = dataset_new();
    struct source watch = {weir_slice_of("Watch"), SOURCE_WATCH};
    struct source phone = {weir_slice_of("Phone"), SOURCE_PHONE};
    uint16_t a, b, c;
    T_EQ(dataset_add_source(d, &watch, &a), WEIR_OK);
    T_EQ(dataset_add_source(d, &phone, &b), WEIR_OK);
    T_EQ(dataset_add_source(d, &watch, &c), WEIR_OK);
    T_EQ(a, 1);
    T_EQ(b, 2);
    T_EQ(c, 1);
    T_EQ_STR(dataset_source(d, 2), "Phone");
    T_EQ(dataset_source(d, 0).len, 0);
    T_EQ(dataset_source(d, 3).len, 0);
    dataset_free(d);
}

/* A loader that counts, and fails the first time it is asked. */
struct fake {
    int n_index, n_series, n_workouts, n_closed;
    bool is_failing;
};

static enum weir_status fake_index(void *user, struct dataset *d)
{
    struct fake *f = user;
    f->n_index++;
    if (f->is_failing) return WEIR_IO;
    const struct metric *own;
    enum weir_status st = dataset_add_metric(d, weir_slice_of("tea"), &own);
    if (st == WEIR_OK) st = dataset_declare(d, own, 1, 4);
    if (st == WEIR_OK) st = dataset_declare(d, metric("steps"), 2, 7);
    return st;
}

static enum weir_status fake_series(void *user, struct dataset *d, const struct metric *m)
{
    struct fake *f = user;
    f->n_series++;
    if (f->is_failing) return WEIR_IO;
    int32_t days[] = {2, 7};
    double values[] = {20, 70};
    struct series s = {.metric = m, .n = 2, .days = days, .values = values};
    return dataset_add_series(d, &s);
}

static enum weir_status fake_workouts(void *user, struct dataset *d)
{
    struct fake *f = user;
    f->n_workouts++;
    struct workout w = {.day = 3};
    return dataset_add_workout(d, &w);
}

static enum weir_status fake_none(void *user, struct dataset *d)
{
    (void)user;
    (void)d;
    return WEIR_OK;
}

static void fake_close(void *user)
{
    struct fake *f = user;
    f->n_closed++;
}

static const struct dataset_loader fake_loader = {fake_index, fake_series, fake_workouts,
                                                  fake_none,  fake_none,   fake_close};

TEST(a_part_is_loaded_when_it_is_asked_for_first_and_once)
{
    struct fake f = {0};
    struct dataset *d = dataset_new_with(&fake_loader, &f);
    T_EQ(f.n_index, 0);
    int32_t first, newest;
    T_EQ(dataset_span(d, &first, &newest), WEIR_OK);
    T_EQ(first, 1);
    T_EQ(newest, 7);
    T_EQ(f.n_series, 0);
    const struct series *s;
    for (int i = 0; i < 2; i++) {
        T_EQ(dataset_series(d, metric("steps"), &s), WEIR_OK);
        T_OK(s->values[1] == 70);
        const struct workout *w;
        size_t n;
        T_EQ(dataset_workouts(d, &w, &n), WEIR_OK);
        T_EQ(n, 1);
    }
    T_EQ(dataset_series(d, metric("weight"), &s), WEIR_NOT_FOUND);
    T_OK(dataset_find_metric(d, weir_slice_of("tea")) != NULL);
    T_EQ(f.n_index, 1);
    T_EQ(f.n_series, 1);
    T_EQ(f.n_workouts, 1);
    dataset_free(d);
    T_EQ(f.n_closed, 1);
}

TEST(a_part_that_failed_to_load_is_asked_for_again)
{
    struct fake f = {.is_failing = true};
    struct dataset *d = dataset_new_with(&fake_loader, &f);
    const struct series *s;
    T_EQ(dataset_series(d, metric("steps"), &s), WEIR_IO);
    T_OK(!dataset_find_metric(d, weir_slice_of("tea")));
    f.is_failing = false;
    T_EQ(dataset_series(d, metric("steps"), &s), WEIR_OK);
    dataset_free(d);
}

TEST(every_allocation_may_fail)
{
    bool is_done = false;
    for (uint64_t nth = 1; nth < 50 && !is_done; nth++) {
        struct fake f = {0};
        fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
        struct dataset *d = dataset_new_with(&fake_loader, &f);
        const struct series *s;
        const struct workout *w;
        size_t n;
        enum weir_status st = d ? dataset_series(d, metric("steps"), &s) : WEIR_NOMEM;
        if (st == WEIR_OK) st = dataset_workouts(d, &w, &n);
        T_OK(st == WEIR_OK || st == WEIR_NOMEM);
        is_done = st == WEIR_OK && fault_count(FAULT_ALLOC) < nth;
        fault_disarm_all();
        dataset_free(d);
        T_EQ(f.n_closed, d ? 1 : 0);
    }
    T_OK(is_done);
}
