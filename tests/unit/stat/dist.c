/* SPDX-License-Identifier: Apache-2.0 */
/* Reference values were computed with 50 digits, by other code. */
#include "stat/dist.h"

#include <math.h>
#include <stdio.h>

#include "t.h"

static void near(const char *what, double got, double want)
{
    double error = fabs(got - want) / fabs(want);
    if (!(error < 1e-11))
        printf("%s: %.17g instead of %.17g, relative error %g\n", what, got, want, error);
    T_OK(error < 1e-11);
}

#define NEAR(call, want) near(#call, call, want)

TEST(normal_tails_are_exact_to_eleven_digits)
{
    NEAR(stat_normal_two_sided(0.001), 0.99920211557217787);
    NEAR(stat_normal_two_sided(0.5), 0.61707507745197379);
    NEAR(stat_normal_two_sided(1.96), 0.049995790296440868);
    NEAR(stat_normal_two_sided(5), 5.7330314375838782e-7);
    NEAR(stat_normal_two_sided(12.5), 7.4651285977554268e-36);
    NEAR(stat_normal_two_sided(30), 9.8134278542963741e-198);
}

TEST(normal_quantiles_are_exact_to_eleven_digits)
{
    NEAR(stat_normal_quantile(1e-300), -37.047096299361199);
    NEAR(stat_normal_quantile(1e-20), -9.2623400897984076);
    NEAR(stat_normal_quantile(0.0001), -3.7190164854556806);
    NEAR(stat_normal_quantile(0.025), -1.9599639845400542);
    NEAR(stat_normal_quantile(0.3), -0.52440051270804082);
    NEAR(stat_normal_quantile(0.4999), -2.5066283008800749e-4);
    NEAR(stat_normal_quantile(0.75), 0.67448975019608174);
    NEAR(stat_normal_quantile(0.975), 1.9599639845400539);
    NEAR(stat_normal_quantile(0.999999), 4.7534243088170878);
}

TEST(t_tails_are_exact_to_eleven_digits)
{
    NEAR(stat_t_two_sided(0.01, 1), 0.99363401447018349);
    NEAR(stat_t_two_sided(2.1, 28), 0.044863224128917081);
    NEAR(stat_t_two_sided(2.1, 2.5), 0.14450244475484385);
    NEAR(stat_t_two_sided(40, 3), 3.4380680789158528e-5);
    NEAR(stat_t_two_sided(1e5, 2), 9.9999999985e-11);
    NEAR(stat_t_two_sided(12, 500), 2.486451278461845e-29);
    NEAR(stat_t_two_sided(3, 1e6), 0.0026998625414217971);
    NEAR(stat_t_two_sided(0.5, 0.3), 0.80071079262147756);
    NEAR(stat_t_two_sided(60, 100), 3.1376143191413891e-80);
}

TEST(t_quantiles_are_exact_to_eleven_digits)
{
    NEAR(stat_t_quantile(0.975, 9), 2.262157162798205);
    NEAR(stat_t_quantile(0.975, 1), 12.706204736174693);
    NEAR(stat_t_quantile(0.6, 5), 0.26718086570414507);
    NEAR(stat_t_quantile(0.9999, 3), 22.203742273205002);
    NEAR(stat_t_quantile(0.025, 13.5), -2.1522631393099101);
    NEAR(stat_t_quantile(0.975, 12.5184734), 2.1688464218582308);
    NEAR(stat_t_quantile(1e-10, 4), -416.17514032960412);
    NEAR(stat_t_quantile(0.995, 1000), 2.5807546980659508);
    NEAR(stat_t_quantile(0.9, 0.7), 5.0099479596464064);
}

TEST(the_incomplete_beta_function_is_exact_to_eleven_digits)
{
    NEAR(stat_beta(0.83, 14, 0.5), 0.023565171749239209);
    NEAR(stat_beta(0.5, 1, 1), 0.5);
    NEAR(stat_beta(0.01, 0.1, 50), 0.9411645901311703);
    NEAR(stat_beta(0.999, 200, 0.5), 0.52724410702523517);
    NEAR(stat_beta(0.3, 300, 700), 0.50367118286076761);
    NEAR(stat_beta(0.31, 3000, 7000), 0.9850563286366903);
    NEAR(stat_beta(0.2, 40, 60), 2.6819257660283404e-6);
    NEAR(stat_beta(0.99, 5, 5), 0.99999998781463143);
    NEAR(stat_beta(1e-10, 2, 3), 5.9999999992000004e-20);
    NEAR(stat_beta(0.7, 1e4, 5e3), 1.0);
}

TEST(f_tails_are_exact_to_eleven_digits)
{
    NEAR(stat_f_upper(1, 3, 10), 0.43233720302169707);
    NEAR(stat_f_upper(4.2, 2, 57), 0.01988234289343616);
    NEAR(stat_f_upper(0.1, 5, 7), 0.98895899316226582);
    NEAR(stat_f_upper(50, 1, 30), 7.3194048648412888e-8);
    NEAR(stat_f_upper(1.1, 200, 300), 0.2271263288770807);
}

TEST(f_quantiles_are_exact_to_eleven_digits)
{
    NEAR(stat_f_quantile(0.95, 3, 10), 3.7082648190468431);
    NEAR(stat_f_quantile(0.05, 3, 10), 0.11382359425864678);
    NEAR(stat_f_quantile(0.99, 1, 5), 16.258177039833649);
    NEAR(stat_f_quantile(0.5, 20, 4), 1.1516853872364457);
}

/* Where squares and ratios leave the range of a double, and where numbers of degrees are huge. */
TEST(far_tails_are_exact_to_eleven_digits)
{
    NEAR(stat_t_two_sided(1e200, 1), 6.3661977236758136e-201);
    NEAR(stat_t_two_sided(1e200, 0.3), 6.990014467677154e-61);
    NEAR(stat_t_two_sided(1e20, 10), 2.4609375e-196);
    NEAR(stat_t_two_sided(37, 1e12), 1.1451147818207014e-299);
    NEAR(stat_t_two_sided(2.1, 1e12), 0.035728841125882955);
    NEAR(stat_t_two_sided(5, 1e8), 5.733041101267286e-7);
    NEAR(stat_t_two_sided(1e5, 28), 2.720800269325226e-121);
    NEAR(stat_t_two_sided(300, 99.5), 6.257954049771365e-149);
    NEAR(stat_f_upper(1e8, 5000, 60), 9.2310093024406164e-229);
    NEAR(stat_f_upper(1e-12, 1, 1000), 0.99999920231488537);
    NEAR(stat_f_upper(1e8, 0.3, 0.3), 0.032522871954761888);
    NEAR(stat_f_upper(1.3, 30, 1e6), 0.12573348613288548);
    NEAR(stat_f_upper(1e200, 3, 2), 1.0e-200);
    NEAR(stat_f_upper(0.99, 1e6, 1e6), 0.99999974848838915);
    NEAR(stat_beta(1e-10, 14, 100), 2.7423638729104131e-123);
    NEAR(stat_beta(1e-300, 0.5, 3), 1.875e-150);
}

TEST(far_quantiles_are_exact_to_eleven_digits)
{
    NEAR(stat_t_quantile(1e-300, 1), -3.1830988618379066e299);
    NEAR(stat_t_quantile(1e-300, 28), -2.4982215651421473e11);
    NEAR(stat_t_quantile(1e-200, 3.7), -1.3985157297938421e54);
    NEAR(stat_t_quantile(1e-100, 1e6), -21.275865985490619);
    NEAR(stat_t_quantile(0.4999999, 2), -2.82842712482758e-7);
    NEAR(stat_t_quantile(0.25, 0.3), -3.0273369408647997);
    NEAR(stat_f_quantile(1e-300, 3, 10), 7.6906680935010734e-201);
    NEAR(stat_f_quantile(1e-100, 30, 0.3), 2.8380709312753802e-9);
    NEAR(stat_f_quantile(1e-5, 0.3, 60), 1.9773778440232069e-33);
    T_OK(isinf(stat_t_quantile(1e-300, 0.3)));
    T_OK(stat_f_quantile(1e-300, 0.3, 3) == 0);
}

/* A t is the root of an F; one degree is Cauchy's distribution, two have a closed form. */
TEST(closed_forms_and_identities_hold)
{
    for (double t = 1e-6; t < 1e12; t *= 7) {
        near("one degree", stat_t_two_sided(t, 1), 2 / M_PI * atan(1 / t));
        double root = sqrt(2 + t * t);
        near("two degrees", stat_t_two_sided(t, 2), 2 / (root * (root + t)));
        near("F of the square", stat_f_upper(t * t, 1, 9.5), stat_t_two_sided(t, 9.5));
        near("F upside down", stat_f_upper(t, 4, 4), stat_beta(1 / (1 + t), 2, 2));
    }
}

TEST(what_makes_no_sense_is_not_a_number)
{
    T_OK(isnan(stat_normal_quantile(-0.1)));
    T_OK(isnan(stat_t_two_sided(NAN, 3)));
    T_OK(isnan(stat_t_two_sided(1, 0)));
    T_OK(isnan(stat_t_quantile(0.5, -1)));
    T_OK(isnan(stat_beta(1.5, 1, 1)));
    T_OK(isnan(stat_f_upper(1, 0, 1)));
}

TEST(the_ends_are_the_ends)
{
    T_OK(stat_beta(0, 2, 3) == 0 && stat_beta(1, 2, 3) == 1);
    T_OK(stat_t_two_sided(INFINITY, 3) == 0 && stat_t_two_sided(0, 3) == 1);
    T_OK(isinf(stat_t_quantile(1, 3)) && isinf(stat_normal_quantile(0)));
    T_OK(stat_t_quantile(0.5, 3) == 0 && stat_f_quantile(0, 1, 1) == 0);
    T_OK(stat_t_two_sided(2, INFINITY) == stat_normal_two_sided(2));
}

TEST(quantiles_and_tails_are_each_others_inverse)
{
    for (int i = 1; i < 400; i++) {
        double p = i / 400.0, df = 0.6 + i * 0.7;
        double upper = stat_t_upper(stat_t_quantile(p, df), df);
        T_OK(fabs(upper - (1 - p)) < 1e-12);
        T_OK(fabs(stat_normal_upper(stat_normal_quantile(p)) - (1 - p)) < 1e-13);
        T_OK(fabs(stat_f_upper(stat_f_quantile(p, 3, df), 3, df) - (1 - p)) < 1e-12);
    }
}
