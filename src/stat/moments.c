/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and means, compensated after Neumaier. */
#include "stat/moments.h"

#include <math.h>

double stat_sum(const double *x, size_t n)
{
    double sum = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
        double t = sum + x[i];
        lost += fabs(sum) >= fabs(x[i]) ? (sum - t) + x[i] : (x[i] - t) + sum;
        sum = t;
    }
    return sum + lost;
}

double stat_mean(const double *x, size_t n)
{
    return n > 0 ? stat_sum(x, n) / (double)n : NAN;
}
