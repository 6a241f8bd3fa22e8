/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/adjust.h"

#include "near.h"

static double scratch[64];

/* The examples of p.adjust in R. */
TEST(each_method_gives_what_r_gives)
{
    double bh[] = {0.01, 0.04, 0.03, 0.005}, by[] = {0.01, 0.04, 0.03, 0.005};
    double holm[] = {0.01, 0.04, 0.03, 0.005};
    const double want_bh[] = {0.02, 0.04, 0.04, 0.02}, want_holm[] = {0.03, 0.06, 0.06, 0.02};
    stat_adjust_bh(bh, 4, scratch);
    stat_adjust_by(by, 4, scratch);
    stat_adjust_holm(holm, 4, scratch);
    for (int i = 0; i < 4; i++) {
        T_NEAR(bh[i], want_bh[i]);
        T_NEAR(by[i], want_bh[i] * 25 / 12);
        T_NEAR(holm[i], want_holm[i]);
    }
}

TEST(adjusted_values_keep_the_order_and_never_shrink)
{
    for (int round = 0; round < 100; round++) {
        double p[20], bh[20], holm[20];
        for (int i = 0; i < 20; i++) p[i] = bh[i] = holm[i] = (double)(t_random() % 30) / 100;
        stat_adjust_bh(bh, 20, scratch);
        stat_adjust_holm(holm, 20, scratch);
        for (int i = 0; i < 20; i++) {
            T_OK(bh[i] >= p[i] && holm[i] >= bh[i] && holm[i] <= 1);
            for (int j = 0; j < 20; j++)
                if (p[i] <= p[j]) T_OK(bh[i] <= bh[j] && holm[i] <= holm[j]);
        }
    }
}

TEST(one_test_alone_is_not_adjusted)
{
    double p[] = {0.04}, none[] = {0};
    stat_adjust_bh(p, 1, scratch);
    T_OK(p[0] == 0.04);
    stat_adjust_by(p, 1, scratch);
    T_OK(p[0] == 0.04);
    stat_adjust_holm(p, 1, scratch);
    T_OK(p[0] == 0.04);
    stat_adjust_bh(none, 0, scratch);
}
