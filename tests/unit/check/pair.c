/* SPDX-License-Identifier: Apache-2.0 */
#include "finding.h"

static struct finding of(const double *x, const double *y, size_t n)
{
    return (struct finding){.kind = FINDING_PAIR,
                            .metric = pulse(),
                            .metric_y = metric_find(weir_slice_of("sleep_minutes")),
                            .a = {x, n},
                            .b = {y, n}};
}

static void make_pair(double *x, double *y, double share, size_t lag)
{
    make_days(x, DAYS, 11, 0.3);
    make_days(y, DAYS, 12, 0.3);
    for (size_t i = 0; i < DAYS; i++) {
        double from = i >= lag ? x[i - lag] - 60 : 0;
        y[i] = 400 + 20 * (share * from + sqrt(1 - share * share) * (y[i] - 60));
    }
}

TEST(what_goes_together_is_validated)
{
    double x[DAYS], y[DAYS];
    for (int sign = -1; sign <= 1; sign += 2) {
        make_pair(x, y, sign * 0.7, 0);
        struct verdict v = judge(of(x, y, DAYS));
        has_gates(v, "PPPPPPP");
        T_EQ(v.name, VERDICT_VALIDATED);
        T_OK(v.estimate * sign > 0.4 && v.lo < v.estimate && v.estimate < v.hi);
    }
}

TEST(a_lag_is_looked_at_on_the_later_day)
{
    double x[DAYS], y[DAYS];
    make_pair(x, y, 0.8, 2);
    struct finding f = of(x, y, DAYS);
    f.lag = 2;
    T_EQ(judge(f).name, VERDICT_VALIDATED);
    const struct metric *first = f.metric;
    f = of(y, x, DAYS);
    f.metric = f.metric_y;
    f.metric_y = first;
    f.lag = -2;
    T_EQ(judge(f).name, VERDICT_VALIDATED);
}

TEST(noise_does_not_go_together)
{
    double x[DAYS], y[DAYS];
    make_pair(x, y, 0, 0);
    for (size_t i = 0; i < DAYS; i++) y[i] = 400 + (i % 2 == 0 ? 10 : -10) + x[DAYS - 1 - i] / 9;
    struct verdict v = judge(of(x, y, DAYS));
    T_EQ(v.name, VERDICT_REJECTED);
    T_FAILED(v, GATE_EFFECT_VS_NOISE);
    T_FAILED(v, GATE_BOOTSTRAP);
    T_FAILED(v, GATE_METHOD_TRIANGULATION);
    T_FAILED(v, GATE_DISCRIMINATIVE_POWER);
}

TEST(twenty_pairs_are_needed_and_twelve_independent_ones)
{
    double x[DAYS], y[DAYS];
    make_pair(x, y, 0.5, 0);
    is_barred_by(judge(of(x, y, 19)), GATE_SAMPLE_SIZE);
    T_PASSED(judge(of(x, y, 20)), GATE_SAMPLE_SIZE);
    for (size_t i = 0; i < 30; i++) x[i] = y[i] = 60 + 3 * sin((double)i / 6);
    is_barred_by(judge(of(x, y, 30)), GATE_SAMPLE_SIZE);
    struct finding f = of(x, y, DAYS);
    f.lag = 1000;
    is_barred_by(judge(f), GATE_SAMPLE_SIZE);
}

TEST(a_part_and_its_whole_say_nothing)
{
    double x[DAYS], y[DAYS];
    make_pair(x, y, 0.7, 0);
    struct finding f = of(x, y, DAYS);
    f.metric_y = f.metric;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
    f.metric = metric_find(weir_slice_of("active_energy"));
    f.metric_y = metric_find(weir_slice_of("total_energy"));
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
    f.lag = 1;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
    f = of(x, y, DAYS);
    f.metric_y = NULL;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
    for (size_t i = 0; i < DAYS; i += 4) y[i] = -5;
    is_barred_by(judge(of(x, y, DAYS)), GATE_CONSTRUCT_VALIDITY);
}

TEST(a_metric_may_follow_from_its_own_past)
{
    double x[DAYS], y[DAYS];
    make_pair(x, y, 0.8, 2);
    struct finding f = of(x, x, DAYS);
    f.metric_y = f.metric;
    f.lag = 2;
    T_EQ(judge(f).gates[GATE_CONSTRUCT_VALIDITY].status, GATE_PASSED);
    f.lag = 0;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
}

TEST(a_common_trend_is_inconsistent)
{
    double x[DAYS], y[DAYS];
    make_pair(x, y, -0.5, 0);
    for (size_t i = 0; i < DAYS; i++) {
        x[i] += 0.06 * (double)i;
        y[i] += 1.2 * (double)i;
    }
    T_FAILED(judge(of(x, y, DAYS)), GATE_SUBGROUP_CONSISTENCY);
}

TEST(a_change_of_either_device_bars_a_pair)
{
    double x[DAYS], y[DAYS];
    make_pair(x, y, 0.7, 0);
    struct finding f = of(x, y, DAYS);
    f.device_change = 30;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
    f = of(x, y, DAYS);
    f.device_change_b = 30;
    is_barred_by(judge(f), GATE_CONSTRUCT_VALIDITY);
}

TEST(days_in_a_drawer_do_not_go_together)
{
    double x[DAYS], y[DAYS];
    make_steps(x, DAYS, 21, 8);
    make_steps(y, DAYS, 22, 8);
    for (size_t i = 0; i < DAYS; i++) y[i] /= 20;
    struct finding f = of(x, y, DAYS);
    f.metric = walking();
    f.metric_y = metric_find(weir_slice_of("active_energy"));
    struct verdict v = judge(f);
    T_EQ(number(v, GATE_CONSTRUCT_VALIDITY, "not_worn_days"), 10);
    T_EQ(number(v, GATE_CONSTRUCT_VALIDITY, "not_worn_days_b"), 10);
    T_EQ(number(v, GATE_SAMPLE_SIZE, "pairs"), DAYS - 10);
    T_EQ(v.name, VERDICT_REJECTED);
}

TEST(a_few_days_that_make_a_correlation_are_seen_by_ranks)
{
    double x[DAYS], y[DAYS];
    make_days(x, DAYS, 21, 0.3);
    make_days(y, DAYS, 22, 0.3);
    for (size_t i = 0; i < DAYS; i++) {
        x[i] = i % 30 == 10 ? 90 : x[i];
        y[i] = i % 30 == 10 ? 800 : 7 * y[i];
    }
    struct verdict v = judge(of(x, y, DAYS));
    T_PASSED(v, GATE_EFFECT_VS_NOISE);
    T_FAILED(v, GATE_METHOD_TRIANGULATION);
    T_EQ(v.name, VERDICT_CONDITIONAL);
}
