/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/change.h"

#include "near.h"

TEST(changes_are_those_of_the_literature)
{
    T_NEAR(stat_measurement_error(3.2, 0.85), 1.2393546707863734);
    T_NEAR(stat_mdc95(stat_measurement_error(3.2, 0.85)), 3.4353158806724022);
    T_NEAR(stat_rcv(2, 2.9, 1.96), 9.764656266351622);
    T_NEAR(stat_swc(10, 0.2), 2);
}

/* A perfect measurement sees every change; a worthless one is as wide as people differ. */
TEST(reliability_decides_what_can_be_seen)
{
    T_OK(stat_mdc95(stat_measurement_error(5, 1)) == 0);
    T_NEAR(stat_measurement_error(5, 0), 5);
    T_NEAR(stat_rcv(0, 5, 1.96), stat_mdc95(5));
    T_NEAR(stat_rcv(3, 4, 1), 5 * sqrt(2));
}

TEST(what_makes_no_sense_is_undefined)
{
    T_OK(isnan(stat_measurement_error(1, 1.5)) && isnan(stat_measurement_error(-1, 0.5)));
    T_OK(isnan(stat_measurement_error(NAN, 0.5)) && isnan(stat_measurement_error(1, NAN)));
    T_OK(isnan(stat_rcv(-1, 2, 1.96)) && isnan(stat_rcv(1, NAN, 1.96)));
    T_OK(isnan(stat_swc(NAN, 0.2)) && isnan(stat_swc(1, -0.2)));
}
