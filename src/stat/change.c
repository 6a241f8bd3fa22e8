/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that are more than noise. */
#include "stat/change.h"

#include <math.h>

static const double two_sided_95 = 1.96; /* as all tables of these have it */

double stat_measurement_error(double sd, double icc)
{
    return sd >= 0 && icc <= 1 ? sd * sqrt(1 - icc) : NAN;
}

double stat_mdc95(double measurement_error)
{
    return two_sided_95 * M_SQRT2 * measurement_error;
}

double stat_rcv(double cv_analytical, double cv_within, double z)
{
    if (!(cv_analytical >= 0 && cv_within >= 0)) return NAN;
    return M_SQRT2 * z * hypot(cv_analytical, cv_within);
}

double stat_swc(double sd, double fraction)
{
    return sd >= 0 && fraction >= 0 ? fraction * sd : NAN;
}
