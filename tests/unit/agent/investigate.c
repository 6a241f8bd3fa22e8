/* SPDX-License-Identifier: Apache-2.0 */
/* The investigator on days by hand: it finds what was planted, and says so when nothing was. */
#include "days.h"

static const char question[] = "Is anything interesting in my data?";

/* A year of a metric: noise, a part of another one of the day before, a step at weekends. */
struct planted {
    const char *metric;
    double level, spread, of_other, weekend;
};

enum { YEAR = 365 };

static void plant(struct desk *d, const struct planted *p, const double *other, double *x)
{
    int32_t days[YEAR];
    double values[YEAR];
    const struct metric *m = metric_find(weir_slice_of(p->metric));
    struct stat_random random = stat_random_of(3, metric_index(m));
    for (size_t i = 0; i < YEAR; i++) {
        days[i] = days_last() - YEAR + 1 + (int32_t)i;
        x[i] = stat_random_normal(&random);
        if (other && i > 0) x[i] += p->of_other * other[i - 1];
        if (day_is_weekend(days[i])) x[i] += p->weekend;
        values[i] = p->level + p->spread * x[i];
    }
    struct series s = {.metric = m, .n = YEAR, .days = days, .values = values};
    T_EQ(dataset_add_series(d->c.data, &s), WEIR_OK);
}

static void is_whole(struct desk *d, const struct weir_json *result)
{
    size_t n = 0;
    char id[16];
    T_EQ(days_lacking(d, result, "text"), 0);
    T_EQ(days_lacking(d, result, "summary"), 0);
    T_OK(text_at(result, "summary").len > 0 && text_at(result, "summary").len <= 160);
    const struct weir_json *f = weir_json_first(weir_json_get_str(result, "findings"));
    for (; f; f = weir_json_next(f)) {
        snprintf(id, sizeof id, "inv-%03zu", ++n);
        T_EQ_STR(text_at(f, "id"), id);
    }
    T_OK(n <= 5);
}

TEST(a_planted_relation_is_found_and_stands)
{
    struct desk d;
    double steps[YEAR], hrv[YEAR], stress[YEAR];
    desk_init(&d, question);
    plant(&d, &(struct planted){"active_minutes", 60, 12, 0, 0}, NULL, steps);
    plant(&d, &(struct planted){"hrv_rmssd", 55, 6, -0.9, 0}, steps, hrv);
    plant(&d, &(struct planted){"stress_score", 40, 5, 0, 0}, NULL, stress);
    const struct weir_json *result = days_work_of(&d, "investigator"), *f = finding_at(result, 0);
    is_whole(&d, result);
    T_EQ_STR(text_at(f, "kind"), "pair");
    T_EQ_STR(text_at(f, "metric"), "active_minutes");
    T_EQ_STR(text_at(f, "metric_y"), "hrv_rmssd");
    T_OK(value_of(weir_json_get_str(f, "entries"), "inv-001.r") < -0.5);
    T_OK(value_of(weir_json_get_str(result, "facts"), "inv.tests") > 50);
    const struct weir_json *output = desk_run(&d, agent_validate);
    const struct weir_json *checked = member_at(weir_json_get_str(output, "findings"), 0);
    T_EQ_STR(text_at(checked, "verdict"), "validated");
    T_OK(desk_saw(&d, "multiple_testing"));
    const struct weir_json *sheet = weir_json_get_str(output, "fact_sheet");
    double r = value_of(sheet, "inv-001.r");
    T_OK(value_of(sheet, "inv-001.ci_low") < r && r < value_of(sheet, "inv-001.ci_high"));
    desk_fini(&d);
}

TEST(what_goes_with_one_metric_is_searched_for_it_alone)
{
    struct desk d;
    double active[YEAR], hrv[YEAR], stress[YEAR], sleep[YEAR];
    desk_init(&d, "What affects my HRV?");
    plant(&d, &(struct planted){"active_minutes", 60, 12, 0, 0}, NULL, active);
    plant(&d, &(struct planted){"hrv_rmssd", 55, 6, -0.9, 0}, active, hrv);
    plant(&d, &(struct planted){"stress_score", 40, 5, 0, 0}, NULL, stress);
    plant(&d, &(struct planted){"sleep_minutes", 430, 25, 0.9, 0}, stress, sleep);
    const struct weir_json *result = days_work(&d), *f = finding_at(result, 0);
    T_EQ_STR(text_at(result, "agent"), "data_science");
    T_EQ(weir_json_count(weir_json_get_str(result, "findings")), 1);
    T_EQ_STR(text_at(f, "id"), "ds-001");
    T_EQ_STR(text_at(f, "metric_y"), "hrv_rmssd");
    T_EQ((long)value_of(weir_json_get_str(result, "facts"), "ds.tests"),
         14); /* stress is made of HRV */
    T_EQ(days_lacking(&d, result, "text"), 0);
    const struct weir_json *output = desk_run(&d, agent_validate);
    /* That the one makes the other is asked, and days alone cannot tell. */
    T_EQ_STR(text_at(member_at(weir_json_get_str(output, "findings"), 0), "verdict"),
             "conditional");
    desk_fini(&d);
}

TEST(days_of_the_week_that_differ_are_named)
{
    struct desk d;
    double sleep[YEAR], stress[YEAR], bedtime[YEAR];
    desk_init(&d, question);
    plant(&d, &(struct planted){"sleep_minutes", 430, 25, 0, 2}, NULL, sleep);
    plant(&d, &(struct planted){"stress_score", 40, 5, 0, 0}, NULL, stress);
    plant(&d, &(struct planted){"bedtime", 1430, 15, 0, 2}, NULL, bedtime);
    const struct weir_json *result = days_work_of(&d, "investigator");
    is_whole(&d, result);
    T_OK(desk_holds(weir_buf_slice(&d.out), "higher sleep on weekends than on weekdays"));
    T_OK(desk_holds(weir_buf_slice(&d.out), "later bedtime on weekends than on weekdays"));
    const struct weir_json *output = desk_run(&d, agent_validate);
    T_OK(value_of(weir_json_get_str(output, "fact_sheet"), "inv-001.diff") > 0);
    desk_fini(&d);
}

TEST(nothing_is_said_to_be_nothing)
{
    struct desk d;
    double a[YEAR], b[YEAR], c[YEAR];
    desk_init(&d, question);
    plant(&d, &(struct planted){"steps", 9000, 1500, 0, 0}, NULL, a);
    plant(&d, &(struct planted){"weight", 75, 0.4, 0, 0}, NULL, b);
    plant(&d, &(struct planted){"stress_score", 40, 5, 0, 0}, NULL, c);
    const struct weir_json *result = days_work_of(&d, "investigator");
    is_whole(&d, result);
    T_EQ(weir_json_count(weir_json_get_str(result, "findings")), 0);
    T_OK(desk_holds(text_at(result, "summary"), "Nothing stands"));
    T_OK(desk_holds(text_at(result, "text"), "tests were tried"));
    const struct weir_json *output = desk_run(&d, agent_validate);
    T_EQ(weir_json_count(weir_json_get_str(output, "findings")), 0);
    desk_fini(&d);
}

TEST(without_data_there_is_nothing_to_look_through)
{
    struct desk d;
    desk_init(&d, question);
    const struct weir_json *result = days_work_of(&d, "investigator");
    T_EQ_STR(text_at(result, "summary"), "There are no daily values to look through.");
    T_EQ_SLICE(weir_buf_slice(&d.thoughts), text_at(result, "text"));
    desk_fini(&d);
}

TEST(the_same_days_give_the_same_bytes)
{
    struct desk d[2];
    double x[YEAR], y[YEAR];
    for (size_t i = 0; i < 2; i++) {
        desk_init(&d[i], question);
        plant(&d[i], &(struct planted){"active_minutes", 60, 12, 0, 0}, NULL, x);
        plant(&d[i], &(struct planted){"hrv_rmssd", 55, 6, -0.9, 0}, x, y);
        (void)days_work_of(&d[i], "investigator");
    }
    T_EQ_SLICE(weir_buf_slice(&d[0].out), weir_buf_slice(&d[1].out));
    desk_fini(&d[0]);
    desk_fini(&d[1]);
}

/* ---- ending soon ---- */

static unsigned n_asked, aborts_at;

static bool is_aborted(void *user)
{
    (void)user;
    return ++n_asked == aborts_at;
}

TEST(cancelled_it_ends_at_the_next_look_and_leaves_nothing)
{
    struct desk d;
    double x[YEAR], y[YEAR];
    enum weir_status st = WEIR_CANCELLED;
    desk_init(&d, question);
    plant(&d, &(struct planted){"active_minutes", 60, 12, 0, 0}, NULL, x);
    plant(&d, &(struct planted){"hrv_rmssd", 55, 6, -0.9, 0}, x, y);
    d.c.is_aborted = is_aborted;
    for (aborts_at = 1; st == WEIR_CANCELLED && aborts_at < 1000; aborts_at++) {
        struct weir_buf out;
        weir_buf_init(&out, 1 << 20);
        n_asked = 0;
        st = agent_work(&d.c, "investigator", d.c.question, &out);
        if (st == WEIR_CANCELLED) T_EQ(n_asked, aborts_at);
        weir_buf_fini(&out);
    }
    T_EQ(st, WEIR_OK);
    T_OK(aborts_at > 3);
    desk_fini(&d);
}
