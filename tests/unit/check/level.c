/* SPDX-License-Identifier: Apache-2.0 */
#include "finding.h"

static struct finding of(const double *x, size_t n)
{
    return (struct finding){.kind = FINDING_LEVEL, .metric = pulse(), .a = {x, n}};
}

TEST(a_steady_mean_is_validated)
{
    double x[DAYS];
    make_days(x, DAYS, 3, 0.3);
    struct verdict v = judge(of(x, DAYS));
    has_gates(v, "PPSPPPS");
    T_EQ(v.name, VERDICT_VALIDATED);
    T_OK(v.lo < 60 && v.hi > 60 && v.lo < v.estimate && v.estimate < v.hi);
}

TEST(nine_days_or_half_a_window_are_too_few)
{
    double x[DAYS];
    make_days(x, DAYS, 3, 0);
    is_barred_by(judge(of(x, 9)), GATE_SAMPLE_SIZE);
    T_PASSED(judge(of(x, 10)), GATE_SAMPLE_SIZE);
    for (size_t i = 12; i < 21; i++) x[i] = NAN;
    is_barred_by(judge(of(x, 21)), GATE_SAMPLE_SIZE);
    T_PASSED(judge(of(x, 24)), GATE_SAMPLE_SIZE);
}

TEST(a_mean_needs_a_known_metric_plausible_values_and_one_device)
{
    double x[DAYS];
    make_days(x, DAYS, 3, 0);
    struct finding f = of(x, DAYS);
    f.metric = NULL;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
    f = of(x, DAYS);
    f.device_change = 40;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
    for (size_t i = 0; i < DAYS / 4; i++) x[i] = 6000;
    is_barred_by(judge(of(x, DAYS)), GATE_CONSTRUCT_VALIDITY);
}

TEST(days_that_hardly_differ_from_the_day_before_give_no_interval)
{
    double x[12];
    for (int i = 0; i < 12; i++) x[i] = 60 + i + 0.01 * (i % 3);
    T_FAILED(judge(of(x, 12)), GATE_BOOTSTRAP);
}

TEST(halves_that_differ_make_a_mean_conditional)
{
    double x[DAYS];
    make_days(x, DAYS, 3, 0);
    for (size_t i = DAYS / 2; i < DAYS; i++) x[i] += i % 2 == 0 ? 24 : -6;
    struct verdict v = judge(of(x, DAYS));
    T_FAILED(v, GATE_SUBGROUP_CONSISTENCY);
    T_EQ(v.name, VERDICT_CONDITIONAL);
}

TEST(a_mean_that_a_few_days_make_is_conditional)
{
    double x[DAYS];
    make_days(x, DAYS, 3, 0);
    for (size_t i = 0; i < DAYS; i += 12) x[i] = 190;
    struct verdict v = judge(of(x, DAYS));
    T_FAILED(v, GATE_METHOD_TRIANGULATION);
    T_EQ(v.name, VERDICT_CONDITIONAL);
}
