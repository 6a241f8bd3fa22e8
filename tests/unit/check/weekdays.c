/* SPDX-License-Identifier: Apache-2.0 */
#include "finding.h"

static struct finding of(const double *x, size_t n)
{
    return (struct finding){
        .kind = FINDING_WEEKDAYS, .metric = pulse(), .a = {x, n}, .weekend = WEEKEND};
}

static void add_on_weekends(double *x, size_t from, size_t to, double size)
{
    for (size_t i = from; i < to; i++) x[i] += i % WEEK >= 5 ? size : 0;
}

TEST(weekends_that_differ_are_validated)
{
    double x[DAYS];
    for (int sign = -1; sign <= 1; sign += 2) {
        make_days(x, DAYS, 9, 0.5);
        add_on_weekends(x, 0, DAYS, sign * 4);
        struct verdict v = judge(of(x, DAYS));
        has_gates(v, "PPPPPPP");
        T_EQ(v.name, VERDICT_VALIDATED);
        T_OK(fabs(v.estimate - sign * 4) < 1.5);
    }
}

TEST(weekends_of_noise_do_not_differ)
{
    double x[DAYS];
    make_days(x, DAYS, 9, 0);
    struct verdict v = judge(of(x, DAYS));
    T_EQ(v.name, VERDICT_REJECTED);
    T_FAILED(v, GATE_EFFECT_VS_NOISE);
    T_FAILED(v, GATE_BOOTSTRAP);
    T_FAILED(v, GATE_METHOD_TRIANGULATION);
    T_FAILED(v, GATE_DISCRIMINATIVE_POWER);
}

TEST(weekends_take_four_whole_weeks)
{
    double x[DAYS];
    make_days(x, DAYS, 9, 0);
    is_barred_by(judge(of(x, 27)), GATE_SAMPLE_SIZE);
    T_PASSED(judge(of(x, 28)), GATE_SAMPLE_SIZE);
    struct finding f = of(x, DAYS);
    f.weekend = 0;
    is_barred_by(judge(f), GATE_SAMPLE_SIZE);
}

TEST(weekends_of_an_unknown_metric_are_rejected)
{
    double x[DAYS];
    make_days(x, DAYS, 9, 0);
    struct finding f = of(x, DAYS);
    f.metric = NULL;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
}

TEST(weekends_that_turned_round_are_inconsistent)
{
    double x[DAYS];
    make_days(x, DAYS, 9, 0);
    add_on_weekends(x, 0, DAYS / 2, 9);
    add_on_weekends(x, DAYS / 2, DAYS, -3);
    T_FAILED(judge(of(x, DAYS)), GATE_SUBGROUP_CONSISTENCY);
}

TEST(weekends_of_two_devices_are_barred)
{
    double x[DAYS];
    make_days(x, DAYS, 9, 0);
    struct finding f = of(x, DAYS);
    f.device_change = 40;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
}

TEST(weekends_without_the_device_are_no_lazy_weekends)
{
    double x[DAYS];
    make_steps(x, DAYS, 9, 0);
    struct finding f = of(x, DAYS);
    f.metric = walking();
    for (size_t i = 5; i < DAYS; i += WEEK) x[i] = 0;
    struct verdict v = judge(f);
    T_EQ(number(v, GATE_CONSTRUCT_VALIDITY, "not_worn_days"), DAYS / WEEK);
    T_EQ(v.name, VERDICT_REJECTED);
    T_FAILED(v, GATE_EFFECT_VS_NOISE);
}
