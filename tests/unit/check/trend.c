/* SPDX-License-Identifier: Apache-2.0 */
#include "finding.h"

static struct finding of(const double *x, size_t n)
{
    return (struct finding){.kind = FINDING_TREND, .metric = pulse(), .a = {x, n}};
}

TEST(a_clear_rise_and_a_clear_fall_are_validated)
{
    double x[DAYS];
    for (int sign = -1; sign <= 1; sign += 2) {
        make_days(x, DAYS, 5, 0.3);
        for (size_t i = 0; i < DAYS; i++) x[i] += sign * 8.0 * (double)i / DAYS;
        struct verdict v = judge(of(x, DAYS));
        has_gates(v, "PPPPPPP");
        T_EQ(v.name, VERDICT_VALIDATED);
        T_OK(fabs(v.estimate - sign * 8.0) < 3);
    }
}

TEST(noise_is_no_trend)
{
    double x[DAYS];
    make_days(x, DAYS, 5, 0);
    struct verdict v = judge(of(x, DAYS));
    has_gates(v, "PPFFFFF");
    T_EQ(v.name, VERDICT_REJECTED);
}

TEST(a_trend_takes_21_days_over_28)
{
    double x[DAYS];
    make_days(x, DAYS, 5, 0);
    is_barred_by(judge(of(x, 27)), GATE_SAMPLE_SIZE);
    T_PASSED(judge(of(x, 28)), GATE_SAMPLE_SIZE);
    for (size_t i = 1; i < 9; i++) x[i] = NAN;
    is_barred_by(judge(of(x, 28)), GATE_SAMPLE_SIZE);
}

TEST(a_change_of_device_is_no_trend)
{
    double x[DAYS];
    make_days(x, DAYS, 5, 0);
    struct finding f = of(x, DAYS);
    f.device_change = 1;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
    f = of(x, DAYS);
    f.metric = NULL;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
}

TEST(a_trend_that_one_week_makes_is_inconsistent)
{
    double x[42];
    for (size_t i = 0; i < 42; i++) x[i] = 60 - 0.02 * (double)i + 0.3 * (double)(i % 3);
    for (size_t i = 35; i < 42; i++) x[i] += 20;
    T_FAILED(judge(of(x, 42)), GATE_SUBGROUP_CONSISTENCY);
}

TEST(a_change_too_small_to_matter_is_rejected)
{
    double x[DAYS];
    for (size_t i = 0; i < DAYS; i++) x[i] = 60 + 0.006 * (double)i + (i % 2 == 0 ? 1.4 : -1.4);
    T_FAILED(judge(of(x, DAYS)), GATE_EFFECT_VS_NOISE);
}

TEST(days_in_a_drawer_make_no_trend)
{
    double x[DAYS];
    make_steps(x, DAYS, 5, 0);
    struct finding f = of(x, DAYS);
    f.metric = walking();
    T_EQ(judge(f).name, VERDICT_REJECTED);
    for (size_t i = DAYS - 12; i < DAYS; i++) x[i] = 0;
    struct verdict v = judge(f);
    T_EQ(number(v, GATE_CONSTRUCT_VALIDITY, "not_worn_days"), 12);
    T_EQ(v.name, VERDICT_REJECTED);
}

TEST(an_outlier_that_makes_a_line_is_seen_by_ranks)
{
    double x[42];
    for (size_t i = 0; i < 42; i++) x[i] = 60 + (double)(i * 5 % 7) * 0.1;
    for (size_t i = 38; i < 42; i++) x[i] = 66 + (double)(i % 2);
    struct verdict v = judge(of(x, 42));
    T_FAILED(v, GATE_METHOD_TRIANGULATION);
    T_OK(v.name != VERDICT_VALIDATED);
}

TEST(the_lag_that_rejects_is_below_the_one_that_validates)
{
    double x[DAYS];
    make_days(x, DAYS, 5, 0.6);
    struct verdict v = judge(of(x, DAYS));
    double fair = number(v, GATE_EFFECT_VS_NOISE, "lag1");
    double strict = number(v, GATE_METHOD_TRIANGULATION, "strict_lag1");
    T_OK(fair > 0.3 && fair < strict && strict < 0.8);
}

TEST(the_error_of_a_change_is_right_on_average)
{
    enum { ROWS = 400, SHORT = 42 };
    double x[SHORT], squares = 0, errors = 0;
    for (uint64_t i = 0; i < ROWS; i++) {
        make_days(x, SHORT, 1000 + i, 0.5);
        struct verdict v = judge(of(x, SHORT));
        double error = number(v, GATE_EFFECT_VS_NOISE, "se_on_effective_n");
        squares += v.estimate * v.estimate;
        errors += error * error;
    }
    T_OK(errors / squares > 0.8 && errors / squares < 1.2);
}
