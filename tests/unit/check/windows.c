/* SPDX-License-Identifier: Apache-2.0 */
#include "finding.h"

enum { HALF = DAYS / 2 };

static struct finding of(const double *x, size_t na, size_t nb)
{
    return (struct finding){.kind = FINDING_WINDOWS,
                            .metric = pulse(),
                            .a = {x, na},
                            .b = {x + na, nb},
                            .weekend = WEEKEND,
                            .is_one_device = true};
}

TEST(two_windows_that_differ_are_validated)
{
    double x[DAYS];
    for (int sign = -1; sign <= 1; sign += 2) {
        make_days(x, DAYS, 7, 0.3);
        for (size_t i = HALF; i < DAYS; i++) x[i] += sign * 5;
        struct verdict v = judge(of(x, HALF, HALF));
        has_gates(v, "PPPPPPP");
        T_EQ(v.name, VERDICT_VALIDATED);
        T_OK(v.estimate * sign > 0 && v.lo <= v.estimate && v.estimate <= v.hi);
    }
}

TEST(two_windows_of_noise_do_not_differ)
{
    double x[DAYS];
    make_days(x, DAYS, 8, 0);
    struct verdict v = judge(of(x, HALF, HALF));
    T_EQ(v.name, VERDICT_REJECTED);
    T_FAILED(v, GATE_EFFECT_VS_NOISE);
    T_FAILED(v, GATE_BOOTSTRAP);
    T_FAILED(v, GATE_METHOD_TRIANGULATION);
    T_FAILED(v, GATE_DISCRIMINATIVE_POWER);
}

TEST(each_window_takes_ten_days_and_four_independent_ones)
{
    double x[DAYS];
    make_days(x, DAYS, 7, 0);
    is_barred_by(judge(of(x, 9, 30)), GATE_SAMPLE_SIZE);
    is_barred_by(judge(of(x, 30, 9)), GATE_SAMPLE_SIZE);
    T_PASSED(judge(of(x, 10, 10)), GATE_SAMPLE_SIZE);
    for (size_t i = 0; i < 30; i++) x[i] = 60 + 3 * sin((double)i / 5);
    is_barred_by(judge(of(x, 15, 15)), GATE_SAMPLE_SIZE);
}

TEST(windows_of_two_devices_cannot_be_compared)
{
    double x[DAYS];
    make_days(x, DAYS, 7, 0);
    struct finding f = of(x, HALF, HALF);
    f.is_one_device = false;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
    for (size_t i = HALF; i < DAYS; i++) x[i] = 6000;
    is_barred_by(judge(of(x, HALF, HALF)), GATE_CONSTRUCT_VALIDITY);
}

TEST(weekends_that_disagree_make_a_difference_inconsistent)
{
    double x[DAYS];
    make_days(x, DAYS, 7, 0);
    for (size_t i = HALF; i < DAYS; i++) x[i] += i % WEEK >= 5 ? -6 : 6;
    T_FAILED(judge(of(x, HALF, HALF)), GATE_SUBGROUP_CONSISTENCY);
}

TEST(windows_without_weekends_skip_that_gate)
{
    double x[DAYS];
    make_days(x, DAYS, 7, 0);
    struct finding f = of(x, HALF, HALF);
    f.weekend = 0;
    T_SKIPPED(judge(f), GATE_SUBGROUP_CONSISTENCY);
}

TEST(a_change_of_device_inside_a_window_bars_it)
{
    double x[DAYS];
    make_days(x, DAYS, 7, 0);
    struct finding f = of(x, HALF, HALF);
    f.device_change = 5;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
    f = of(x, HALF, HALF);
    f.device_change_b = 5;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
}

TEST(days_in_a_drawer_make_no_difference)
{
    double x[DAYS];
    make_steps(x, DAYS, 8, 0);
    struct finding f = of(x, HALF, HALF);
    f.metric = walking();
    for (size_t i = HALF; i < HALF + 8; i++) x[i] = 0;
    struct verdict v = judge(f);
    T_EQ(number(v, GATE_CONSTRUCT_VALIDITY, "not_worn_days"), 0);
    T_EQ(number(v, GATE_CONSTRUCT_VALIDITY, "not_worn_days_b"), 8);
    T_EQ(number(v, GATE_SAMPLE_SIZE, "n_b"), HALF - 8);
    T_EQ(v.name, VERDICT_REJECTED);
}

TEST(a_difference_that_only_effect_and_noise_see_is_conditional)
{
    double x[DAYS];
    make_days(x, DAYS, 7, 0);
    for (size_t i = HALF; i < DAYS; i++) x[i] += i % WEEK >= 5 ? -1.5 : 5;
    struct verdict v = judge(of(x, HALF, HALF));
    T_PASSED(v, GATE_EFFECT_VS_NOISE);
    T_EQ(v.name, VERDICT_CONDITIONAL);
}
