/* SPDX-License-Identifier: Apache-2.0 */
#include "finding.h"

static struct finding of(const double *x, size_t n, size_t index)
{
    return (struct finding){
        .kind = FINDING_ANOMALY, .metric = pulse(), .a = {x, n}, .index = index};
}

TEST(a_day_far_off_is_validated)
{
    double x[DAYS];
    make_days(x, DAYS, 13, 0.3);
    x[30] = 78;
    struct verdict v = judge(of(x, DAYS, 30));
    has_gates(v, "PPPSSPS");
    T_EQ(v.name, VERDICT_VALIDATED);
    T_OK(v.estimate > 15 && v.estimate < 20);
}

TEST(the_farthest_day_of_noise_is_none)
{
    double x[DAYS];
    make_days(x, DAYS, 13, 0);
    struct verdict v = judge(of(x, DAYS, 30));
    has_gates(v, "PPFSSFS");
    T_EQ(v.name, VERDICT_REJECTED);
}

TEST(a_day_needs_fourteen_to_compare_with)
{
    double x[DAYS];
    make_days(x, DAYS, 13, 0);
    is_barred_by(judge(of(x, 14, 3)), GATE_SAMPLE_SIZE);
    T_PASSED(judge(of(x, 15, 3)), GATE_SAMPLE_SIZE);
    x[3] = NAN;
    is_barred_by(judge(of(x, DAYS, 3)), GATE_SAMPLE_SIZE);
    is_barred_by(judge(of(x, DAYS, DAYS)), GATE_SAMPLE_SIZE);
    is_barred_by(judge(of(x, DAYS, SIZE_MAX)), GATE_SAMPLE_SIZE);
}

TEST(an_impossible_value_is_an_error_of_entry)
{
    double x[DAYS];
    make_days(x, DAYS, 13, 0);
    x[30] = 6000;
    is_barred_by(judge(of(x, DAYS, 30)), GATE_CONSTRUCT_VALIDITY);
    x[30] = -60;
    is_barred_by(judge(of(x, DAYS, 30)), GATE_CONSTRUCT_VALIDITY);
}

TEST(a_day_off_a_constant_is_measured_by_the_device)
{
    double x[DAYS];
    for (size_t i = 0; i < DAYS; i++) x[i] = 60;
    x[30] = 90;
    T_EQ(judge(of(x, DAYS, 30)).name, VERDICT_VALIDATED);
    x[30] = 60.01;
    T_EQ(judge(of(x, DAYS, 30)).name, VERDICT_REJECTED);
}

TEST(a_day_that_only_z_finds_far_is_conditional)
{
    double x[DAYS];
    make_days(x, DAYS, 13, 0);
    x[30] = NAN;
    struct verdict v = judge(of(x, DAYS, 30));
    for (x[30] = 62; v.name == VERDICT_REJECTED && x[30] < 90; x[30] += 0.05)
        v = judge(of(x, DAYS, 30));
    has_gates(v, "PPPSSFS");
    T_EQ(v.name, VERDICT_CONDITIONAL);
}

TEST(a_day_in_a_drawer_is_no_lazy_day)
{
    double x[DAYS];
    make_steps(x, DAYS, 13, 0);
    x[30] = 0;
    struct finding f = of(x, DAYS, 30);
    f.metric = walking();
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
}

TEST(another_source_that_saw_the_day_agrees_or_does_not)
{
    double x[DAYS], y[DAYS];
    make_days(x, DAYS, 13, 0.3);
    make_days(y, DAYS, 14, 0.3);
    x[30] = 78;
    y[30] = 76;
    struct finding f = of(x, DAYS, 30);
    f.b = (struct days){y, DAYS};
    has_gates(judge(f), "PPPSPPS");
    y[30] = 61;
    has_gates(judge(f), "PPPSFPS");
    T_EQ(judge(f).name, VERDICT_CONDITIONAL);
    y[30] = 42;
    T_FAILED(judge(f), GATE_SUBGROUP_CONSISTENCY);
    y[30] = NAN;
    T_SKIPPED(judge(f), GATE_SUBGROUP_CONSISTENCY);
    y[30] = 76;
    f.b.n = 20;
    T_SKIPPED(judge(f), GATE_SUBGROUP_CONSISTENCY);
}

TEST(a_day_is_compared_with_days_of_its_own_device)
{
    double x[DAYS];
    make_days(x, DAYS, 13, 0);
    for (size_t i = 60; i < DAYS; i++) x[i] += 30;
    T_PASSED(judge(of(x, DAYS, 70)), GATE_EFFECT_VS_NOISE);
    struct finding f = of(x, DAYS, 70);
    f.device_change = 60;
    T_EQ(judge(f).name, VERDICT_REJECTED);
    f.device_change = 71;
    x[70] = 61;
    T_EQ(judge(f).name, VERDICT_REJECTED);
    f.index = 75;
    is_barred_by(judge(f), GATE_SAMPLE_SIZE);
}
