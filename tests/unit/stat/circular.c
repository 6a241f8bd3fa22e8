/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/circular.h"

#include "near.h"

TEST(bedtimes_around_midnight_have_a_mean_at_night)
{
    double x[] = {1410, 1430, 15, 1425, 30};
    T_NEAR(stat_circular_mean(x, 5), 1437.9917110086378);
    T_NEAR(stat_circular_sd(x, 5), 21.597911149150633);
    double two[] = {1430, 10};
    double mean = stat_circular_mean(two, 2);
    T_OK(fmin(mean, 1440 - mean) < 1e-9);
}

TEST(hands_that_cancel_out_have_no_mean)
{
    double opposite[] = {0, 720}, thirds[] = {60, 540, 1020};
    T_OK(isnan(stat_circular_mean(opposite, 2)));
    T_OK(isnan(stat_circular_mean(thirds, 3)));
    T_OK(isnan(stat_circular_sd(opposite, 2)));
    T_OK(isnan(stat_circular_mean(NULL, 0)));
    T_OK(isnan(stat_circular_sd(NULL, 0)));
    double same[] = {77, 77, 77};
    T_OK(stat_circular_sd(same, 3) < 1e-12);
    /* A spread of microseconds is that spread; days around the clock do not matter. */
    double close[] = {77, 77 + 1e-6, 77 + 2e-6}, later[] = {77 + 1440e6, 77, 77 - 1440e3};
    T_OK(fabs(stat_circular_sd(close, 3) / (1e-6 * sqrt(2.0 / 3)) - 1) < 1e-6);
    T_NEAR(stat_circular_mean(later, 3), 77);
}

TEST(a_time_is_unrolled_to_the_side_it_is_nearer)
{
    T_NEAR(stat_circular_near(30, 1400), 1470);
    T_NEAR(stat_circular_near(1430, 20), -10);
    T_NEAR(stat_circular_near(100, 100), 100);
    T_NEAR(stat_circular_near(820, 100), 820);
    T_NEAR(stat_circular_wrap(1470), 30);
    T_NEAR(stat_circular_wrap(-10), 1430);
    T_OK(stat_circular_wrap(-1e-20) == 0);
    T_OK(stat_circular_wrap(1440) == 0);
}
