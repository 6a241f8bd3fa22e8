/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Amounts of money are doubles, multiples of a billionth of a dollar: prices are by the million
 * tokens, and sums of such amounts do not depend on the order in which they are made.
 */
#pragma once

#include <math.h>

static inline double usd_round(double usd)
{
    return round(usd * 1e9) / 1e9;
}

static inline double usd_sum(double a, double b)
{
    return usd_round(usd_round(a) + usd_round(b));
}
