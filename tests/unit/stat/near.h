/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that have to be equal but for rounding. */
#pragma once

#include <math.h>

#include "t.h"

static inline bool is_near(double got, double want, double rel)
{
    if (isnan(want)) return isnan(got);
    return fabs(got - want) <= fmax(rel * fabs(want), 1e-12);
}

#define T_NEAR(got, want)                                                                          \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        if (!is_near(got_, want_, 1e-9))                                                           \
            t_fail(__FILE__, __LINE__, "%s: got %.17g, want %.17g", #got, got_, want_);            \
    } while (0)
