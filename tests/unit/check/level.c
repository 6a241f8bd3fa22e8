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
    for (size_t i = 0; i < DAYS; i += 12) x[i] = 110;
    struct verdict v = judge(of(x, DAYS));
    T_FAILED(v, GATE_METHOD_TRIANGULATION);
    T_EQ(v.name, VERDICT_CONDITIONAL);
}

TEST(days_in_a_drawer_do_not_lower_a_mean)
{
    double x[DAYS], all = 0, worn = 0;
    make_steps(x, DAYS, 3, 12);
    for (size_t i = 0; i < DAYS; i++) {
        all += x[i] / DAYS;
        worn += x[i] / (DAYS - 7);
    }
    struct finding f = of(x, DAYS);
    f.metric = walking();
    struct verdict v = judge(f);
    T_EQ(number(v, GATE_CONSTRUCT_VALIDITY, "not_worn_days"), 7);
    T_EQ(number(v, GATE_SAMPLE_SIZE, "n"), DAYS - 7);
    T_OK(fabs(v.estimate - worn) < 1e-6 && v.estimate > all + 100);
}

TEST(zeros_that_are_common_or_not_alone_are_counted)
{
    double x[DAYS];
    make_steps(x, DAYS, 3, 3);
    struct finding f = of(x, DAYS);
    f.metric = walking();
    T_EQ(number(judge(f), GATE_CONSTRUCT_VALIDITY, "not_worn_days"), 0);
    make_steps(x, DAYS, 3, 12);
    for (size_t i = 0; i < DAYS; i += 12) x[i] = 200;
    T_EQ(number(judge(f), GATE_CONSTRUCT_VALIDITY, "not_worn_days"), 0);
    for (size_t i = 0; i < DAYS; i++) x[i] = i % 12 == 11 ? 0 : 30;
    f.metric = metric_find(weir_slice_of("meditation minutes"));
    T_EQ(number(judge(f), GATE_CONSTRUCT_VALIDITY, "not_worn_days"), 0);
}

TEST(an_impossible_day_is_left_out_of_a_mean)
{
    double x[DAYS];
    make_days(x, DAYS, 3, 0);
    struct verdict before = judge(of(x, DAYS));
    x[20] = 6000;
    struct verdict v = judge(of(x, DAYS));
    T_EQ(number(v, GATE_CONSTRUCT_VALIDITY, "implausible_days"), 1);
    T_OK(fabs(v.estimate - before.estimate) < 0.1);
}
