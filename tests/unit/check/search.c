/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "data/day.h"
#include "people.h"
#include "t.h"

enum { DAYS = 400, FIRST_DAY = 20094 /* a Monday */ };

static struct person person;

static void begin(struct arena *arena)
{
    arena_init(arena, SEARCH_ARENA_BYTES);
}

static const struct metric *named(const char *name)
{
    return metric_find(weir_slice_of(name));
}

static void search(struct search_result *r, struct arena *arena)
{
    arena_reset(arena);
    T_EQ(person_search(&person, r, arena), WEIR_OK);
}

/* Twelve people's worth of days in which nothing is but what a test puts there. */
static void plain_person(uint64_t seed)
{
    person_make(&person, seed, 0.3);
    person.n_days = DAYS;
    for (size_t row = 0; row < person.n_rows; row++) {
        struct stat_random r = stat_random_of(seed, 100 + row);
        double mean = person_metrics[row].mean;
        for (size_t i = 0; i < DAYS; i++)
            person.x[row][i] = mean + person.sd[row] * stat_random_normal(&r);
        person.cycle[row] = 0;
    }
}

TEST(where_nothing_is_almost_nothing_is_validated)
{
    struct arena arena;
    size_t n_wrong = 0;
    begin(&arena);
    for (uint64_t i = 0; i < 40; i++) {
        struct search_result r;
        person_make(&person, 500 + i, -1);
        search(&r, &arena);
        bool is_wrong = false;
        for (size_t k = 0; k < r.n; k++) {
            const struct hypothesis *h = &r.hypotheses[k];
            bool is_true = h->kind == SEARCH_WEEKDAY && person.cycle[h->test->x] > 0;
            is_wrong |= !is_true && h->verdict == VERDICT_VALIDATED;
        }
        n_wrong += is_wrong;
    }
    /* 2 % of people in docs/search.md. */
    T_OK(n_wrong <= 5);
    arena_fini(&arena);
}

TEST(most_of_what_is_planted_is_found)
{
    struct arena arena;
    size_t n_found = 0, n_tried = 0;
    begin(&arena);
    for (int sort = 0; sort < N_PLANTED; sort++) {
        for (uint64_t i = 0; i < 6; i++) {
            struct search_result r;
            person_make(&person, 900 + i, -1);
            person_plant(&person, (enum planted)sort, 0.8);
            search(&r, &arena);
            n_found += person_found(&person, &r) ? 1 : 0;
            n_tried++;
        }
    }
    /* 86 % in docs/search.md. */
    T_OK(n_found * 10 >= n_tried * 7);
    arena_fini(&arena);
}

TEST(every_test_is_in_the_log_and_counted)
{
    struct arena arena;
    struct search_result r;
    size_t n = 0, n_reported = 0;
    begin(&arena);
    person_make(&person, 3, -1);
    person_plant(&person, PLANTED_CORRELATION, 1.2);
    search(&r, &arena);
    T_EQ(r.counts[SEARCH_PAIR].n_tried, 12 * 11 / 2 * 7);
    T_EQ(r.counts[SEARCH_TREND].n_tried, 24);
    T_EQ(r.counts[SEARCH_WEEKDAY].n_tried, 12 * 8);
    T_EQ(r.counts[SEARCH_CHANGE].n_tried, 24);
    T_EQ(r.counts[SEARCH_ANOMALY].n_tried, 12);
    T_EQ(r.n_skipped, 0);
    for (size_t k = 0; k < N_SEARCH_KINDS; k++) n += r.counts[k].n_tried;
    T_EQ(r.n_tests, n);
    for (size_t i = 0; i < r.n_tests; i++) {
        const struct search_test *t = &r.tests[i];
        T_OK(t->p >= 0 && t->p <= 1 && t->q >= 0 && t->q <= 1 && t->n > 0 && t->n_eff > 0);
        T_OK(isfinite(t->statistic) && isfinite(t->effect));
        n_reported += t->outcome == SEARCH_REPORTED ? 1 : 0;
    }
    T_EQ(n_reported, r.n);
    T_OK(r.n >= 1 && r.n <= SEARCH_HYPOTHESES);
    arena_fini(&arena);
}

TEST(the_same_days_and_seed_give_the_same_bytes)
{
    struct weir_buf out[2];
    person_make(&person, 10003, -1);
    person_plant(&person, PLANTED_WEEKEND, 0.8);
    for (int i = 0; i < 2; i++) {
        struct arena arena;
        struct search_result r;
        begin(&arena);
        weir_buf_init(&out[i], 1 << 24);
        search(&r, &arena);
        search_put(&out[i], &r, true);
        T_EQ(weir_buf_status(&out[i]), WEIR_OK);
        arena_fini(&arena);
    }
    T_EQ_SLICE(weir_buf_slice(&out[0]), weir_buf_slice(&out[1]));
    weir_buf_fini(&out[0]);
    weir_buf_fini(&out[1]);
}

TEST(what_comes_first_stands_first_with_its_lag)
{
    struct arena arena;
    struct search_result r;
    begin(&arena);
    plain_person(4);
    /* Row 1 follows row 5 two days later; the pair is searched as 1 and 5. */
    for (size_t i = 2; i < DAYS; i++) person.x[1][i] += (person.x[5][i - 2] - 2000) / 300 * 2;
    search(&r, &arena);
    T_EQ(r.n, 1);
    if (r.n < 1) return;
    const struct hypothesis *h = &r.hypotheses[0];
    T_EQ(h->kind, SEARCH_PAIR);
    T_OK(h->x == named("water") && h->y == named("resting_heart_rate"));
    T_EQ(h->lag, 2);
    T_EQ(h->verdict, VERDICT_VALIDATED);
    T_OK(h->size > 0.3 && h->p_confirm < 0.05 && h->q_search < 0.05);
    T_OK(h->n_search > 200 && h->n_confirm > 100);
    T_OK(strstr(h->words, "followed by a higher resting heart rate 2 days later"));
    T_OK(h->usefulness == 1);
    arena_fini(&arena);
}

TEST(a_shared_week_or_season_makes_no_pair)
{
    struct arena arena;
    struct search_result r;
    begin(&arena);
    plain_person(5);
    for (size_t row = 0; row < 2; row++)
        for (size_t i = 0; i < DAYS; i++)
            person.x[row][i] +=
                person.sd[row] * (2 * cos(2 * M_PI * (double)i / 7) + 2 * sin((double)i / 60));
    search(&r, &arena);
    for (size_t i = 0; i < r.n; i++) T_OK(r.hypotheses[i].kind != SEARCH_PAIR);
    arena_fini(&arena);
}

TEST(a_part_and_its_whole_are_not_tried)
{
    struct arena arena;
    struct search_result r;
    begin(&arena);
    plain_person(6);
    person.n_rows = 3;
    person.rows[0].metric = named("sleep_minutes");
    person.rows[1].metric = named("deep_sleep_minutes");
    person.rows[2].metric = named("readiness_score");
    search(&r, &arena);
    /* Readiness is computed from sleep, of which deep sleep is a part. */
    T_EQ(r.counts[SEARCH_PAIR].n_tried, 0);
    T_EQ(r.n_skipped, 3 * 7);
    arena_fini(&arena);
}

TEST(two_metrics_that_mean_the_same_are_one)
{
    struct arena arena;
    struct search_result r;
    size_t n_same = 0;
    begin(&arena);
    plain_person(7);
    person.rows[3].metric = named("distance");
    for (size_t i = 0; i < DAYS; i++) {
        person.x[3][i] = person.x[0][i] / 1300 + 0.05 * sin((double)i);
        person.x[1][i] -= (person.x[0][i] - 9000) / 1500 * 2;
    }
    search(&r, &arena);
    T_EQ(r.n, 1);
    for (size_t i = 0; i < r.n_tests; i++) {
        n_same += r.tests[i].outcome == SEARCH_SAME_THING ? 1 : 0;
        if (r.tests[i].outcome == SEARCH_SAME_THING) T_OK(r.tests[i].x == 0 && r.tests[i].y == 3);
    }
    T_OK(n_same >= 1);
    arena_fini(&arena);
}

TEST(a_weekday_is_named)
{
    struct arena arena;
    struct search_result r;
    begin(&arena);
    plain_person(8);
    for (size_t i = 0; i < DAYS; i++)
        if (day_weekday(FIRST_DAY + (int32_t)i) == 2) person.x[3][i] -= 60;
    search(&r, &arena);
    T_EQ(r.n, 1);
    if (r.n < 1) return;
    T_EQ(r.hypotheses[0].weekdays, 1 << 2);
    T_OK(strstr(r.hypotheses[0].words, "On Wednesdays, sleep is lower by"));
    T_OK(fabs(r.hypotheses[0].estimate + 60) < 15);
    arena_fini(&arena);
}

/* Row 1 is higher by two standard deviations from day 150 on. */
static void with_step(uint64_t seed)
{
    plain_person(seed);
    for (size_t i = 150; i < DAYS; i++) person.x[1][i] += 2 * person.sd[1];
}

TEST(a_change_of_level_has_its_day)
{
    struct arena arena;
    struct search_result r;
    begin(&arena);
    with_step(9);
    search(&r, &arena);
    T_EQ(r.n, 1);
    if (r.n < 1) return;
    T_EQ(r.hypotheses[0].kind, SEARCH_CHANGE);
    T_OK(abs(r.hypotheses[0].day - (FIRST_DAY + 150)) <= 5);
    T_OK(fabs(r.hypotheses[0].estimate - 6) < 1);
    T_EQ(r.hypotheses[0].verdict, VERDICT_VALIDATED);
    arena_fini(&arena);
}

TEST(a_change_of_the_device_is_no_change_of_the_person)
{
    static uint16_t sources[DAYS];
    struct arena arena;
    struct search_result r;
    size_t n_rejected = 0;
    begin(&arena);
    with_step(9);
    for (size_t i = 0; i < DAYS; i++) sources[i] = i < 150 ? 1 : 2;
    person.rows[1].sources = sources;
    search(&r, &arena);
    T_EQ(r.n, 0);
    for (size_t i = 0; i < r.n_tests; i++)
        n_rejected += r.tests[i].outcome == SEARCH_REJECTED ? 1 : 0;
    T_EQ(n_rejected, 1);
    arena_fini(&arena);
}

TEST(a_day_far_off_is_told)
{
    struct arena arena;
    struct search_result r;
    begin(&arena);
    plain_person(10);
    person.x[1][333] += 30;
    person.x[1][100] = NAN;
    search(&r, &arena);
    T_EQ(r.n, 1);
    if (r.n < 1) return;
    T_EQ(r.hypotheses[0].kind, SEARCH_ANOMALY);
    T_EQ(r.hypotheses[0].day, FIRST_DAY + 333);
    T_OK(strstr(r.hypotheses[0].words, "far above the usual"));
    arena_fini(&arena);
}

TEST(what_wanders_has_no_trend)
{
    struct arena arena;
    size_t n_trends = 0;
    begin(&arena);
    for (uint64_t i = 0; i < 10; i++) {
        struct search_result r;
        person_make(&person, 300 + i, 0.985);
        search(&r, &arena);
        for (size_t k = 0; k < r.n; k++) {
            enum search_kind kind = r.hypotheses[k].kind;
            n_trends += kind == SEARCH_TREND || kind == SEARCH_CHANGE ? 1 : 0;
        }
        T_OK(r.n_skipped > 12);
    }
    T_OK(n_trends <= 2);
    arena_fini(&arena);
}

TEST(a_long_tail_is_no_row_of_anomalies)
{
    struct arena arena;
    size_t n_anomalies = 0;
    begin(&arena);
    for (uint64_t i = 0; i < 10; i++) {
        struct search_result r;
        plain_person(40 + i);
        for (size_t row = 0; row < person.n_rows; row++) {
            double mean = person_metrics[row].mean, sd = person.sd[row];
            for (size_t day = 0; day < DAYS; day++)
                person.x[row][day] = mean + sd * exp(0.5 * (person.x[row][day] - mean) / sd);
        }
        search(&r, &arena);
        n_anomalies += r.counts[SEARCH_ANOMALY].n_reported;
    }
    T_OK(n_anomalies <= 3);
    arena_fini(&arena);
}

static void stands_nothing(struct arena *arena)
{
    struct search_result r;
    struct weir_buf out;
    weir_buf_init(&out, 1 << 22);
    search(&r, arena);
    T_EQ(r.n, 0);
    T_OK(strstr(r.words, "Nothing stands"));
    search_put(&out, &r, true);
    T_EQ(weir_buf_status(&out), WEIR_OK);
    T_OK(!memmem(out.ptr, out.len, "nan", 3) && !memmem(out.ptr, out.len, "inf", 3));
    weir_buf_fini(&out);
}

TEST(nothing_constants_and_infinities_are_searched_in_peace)
{
    struct arena arena;
    begin(&arena);
    plain_person(11);
    const double strange[] = {NAN, 0, 5, INFINITY, -INFINITY, 1e308};
    for (size_t k = 0; k < sizeof strange / sizeof *strange; k++) {
        for (size_t row = 0; row < person.n_rows; row++)
            for (size_t i = 0; i < DAYS; i++) person.x[row][i] = strange[k];
        stands_nothing(&arena);
    }
    for (size_t n = 0; n < 50; n++) {
        plain_person(12);
        person.n_days = n;
        stands_nothing(&arena);
    }
    person.n_rows = 1;
    stands_nothing(&arena);
    person.n_rows = 0;
    stands_nothing(&arena);
    /* All values on one day, all on two, every second day. */
    for (size_t step = 2; step < DAYS; step *= 3) {
        plain_person(13);
        for (size_t row = 0; row < person.n_rows; row++)
            for (size_t i = 0; i < DAYS; i++)
                if (i % step != 0) person.x[row][i] = NAN;
        stands_nothing(&arena);
    }
    arena_fini(&arena);
}

TEST(what_is_too_much_is_refused)
{
    static struct search_row rows[SEARCH_METRICS + 1];
    struct arena arena;
    struct search_result r;
    struct search_input in = {.rows = rows, .n_rows = SEARCH_METRICS + 1};
    begin(&arena);
    T_EQ(search_run(&r, &in, 1, &arena), WEIR_INVALID);
    in = (struct search_input){.rows = rows, .n_days = SEARCH_DAYS + 1};
    T_EQ(search_run(&r, &in, 1, &arena), WEIR_INVALID);
    in = (struct search_input){.rows = rows, .n_rows = 1, .n_days = 9};
    T_EQ(search_run(&r, &in, 1, &arena), WEIR_INVALID);
    arena_fini(&arena);
    person_make(&person, 10003, -1);
    person_plant(&person, PLANTED_WEEKEND, 2);
    size_t bytes = 1 << 10;
    enum weir_status st = WEIR_LIMIT;
    for (; bytes < SEARCH_ARENA_BYTES && st == WEIR_LIMIT; bytes += bytes / 2) {
        arena_init(&arena, bytes);
        st = person_search(&person, &r, &arena);
        arena_fini(&arena);
    }
    T_EQ(st, WEIR_OK);
}

TEST(a_dataset_gives_its_good_days)
{
    enum { N = 10 };
    struct dataset *d = dataset_new();
    struct arena arena;
    struct search_input in;
    int32_t days[N];
    double values[N];
    uint8_t quality[N] = {0};
    uint16_t sources[N] = {0};
    begin(&arena);
    T_EQ(search_input_of(&in, d, &arena), WEIR_OK);
    T_EQ(in.n_rows, 0);
    for (int32_t i = 0; i < N; i++) {
        days[i] = 20000 + 2 * i;
        values[i] = i % 2 == 0 ? 10 : 1430;
    }
    quality[0] = QUALITY_IMPLAUSIBLE;
    quality[N - 1] = QUALITY_PARTIAL;
    struct series s = {named("bedtime"), N, days, values, quality, sources};
    T_EQ(dataset_add_series(d, &s), WEIR_OK);
    T_EQ(search_input_of(&in, d, &arena), WEIR_OK);
    T_EQ(in.n_rows, 1);
    T_EQ(in.first_day, 20002);
    T_EQ(in.n_days, 15);
    /* Ten past midnight is twenty minutes after ten to. */
    T_OK(isnan(in.rows[0].x[1]) && fabs(in.rows[0].x[2] - in.rows[0].x[0] - 20) < 1e-9);
    dataset_free(d);
    arena_fini(&arena);
}

TEST(a_dataset_keeps_to_the_ceilings)
{
    enum { N = SEARCH_METRICS + 5, LONG = 2000 };
    static int32_t days[LONG];
    static double values[LONG];
    struct dataset *d = dataset_new();
    struct arena arena;
    struct search_input in;
    begin(&arena);
    for (int32_t i = 0; i < LONG; i++) {
        days[i] = 18000 + i;
        values[i] = i % 7;
    }
    for (size_t i = 0; i < N; i++) {
        char name[16] = {'m', (char)('a' + i / 26), (char)('a' + i % 26), 0};
        struct series s = {.n = LONG - i, .days = days + i, .values = values};
        T_EQ(dataset_add_metric(d, weir_slice_of(name), &s.metric), WEIR_OK);
        T_EQ(dataset_add_series(d, &s), WEIR_OK);
    }
    T_EQ(search_input_of(&in, d, &arena), WEIR_OK);
    T_EQ(in.n_rows, SEARCH_METRICS);
    T_EQ(in.n_metrics, N);
    T_EQ(in.n_days, SEARCH_DAYS);
    T_EQ(in.span, LONG);
    T_EQ(in.first_day, 18000 + LONG - SEARCH_DAYS);
    struct search_result r;
    T_EQ(search_run(&r, &in, 1, &arena), WEIR_OK);
    T_OK(strstr(r.words, "The 5 metrics with the fewest days were left out."));
    dataset_free(d);
    arena_fini(&arena);
}
