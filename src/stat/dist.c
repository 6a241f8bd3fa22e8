/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything rests on two functions: erfc() of the C library for the normal distribution, and the
 * incomplete beta function, by its continued fraction, for t and F. Quantiles are found from a
 * rough start by Newton's steps inside a bracket, on whichever tail is the smaller, so that no
 * digits are lost by subtracting from 1.
 */
#include "stat/dist.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define SQRT_HALF    0.70710678118654752440
#define LOG_SQRT_2PI 0.91893853320467274178

enum { FRACTION_STEPS = 1000000, NEWTON_STEPS = 100 };

double stat_normal_upper(double z)
{
    return 0.5 * erfc(z * SQRT_HALF);
}

double stat_normal_two_sided(double z)
{
    return erfc(fabs(z) * SQRT_HALF);
}

/* z > 0 with P(Z > z) = q, for q <= 1/2. Newton on the logarithm converges from any start here. */
static double normal_upper_quantile(double q)
{
    double log_q = log(q);
    double z = q < 0.4 ? sqrt(-2 * log_q) : 0;
    for (int i = 0; i < NEWTON_STEPS; i++) {
        double p = stat_normal_upper(z);
        double hazard = exp(-0.5 * z * z - LOG_SQRT_2PI) / p;
        double step = (log(p) - log_q) / hazard;
        if (!isfinite(step)) {
            z *= 0.9; /* the start was so far out that the tail is 0 there */
            continue;
        }
        z += step;
        if (fabs(step) <= 2 * DBL_EPSILON * fabs(z)) break;
    }
    return z;
}

double stat_normal_quantile(double p)
{
    if (isnan(p) || p < 0 || p > 1) return NAN;
    if (p == 0) return -INFINITY;
    if (p == 1) return INFINITY;
    if (p == 0.5) return 0;
    return p < 0.5 ? -normal_upper_quantile(p) : normal_upper_quantile(1 - p);
}

/* ---- the incomplete beta function ---- */

/* Away from zero, as Lentz's way of evaluating a continued fraction needs it. */
static double off_zero(double v)
{
    return fabs(v) < DBL_MIN / DBL_EPSILON ? DBL_MIN / DBL_EPSILON : v;
}

/*
 * The continued fraction of I_x(a, b), which converges fast for x < (a+1)/(a+b+2): its even part,
 * whose terms need no difference of numbers near 1, however large a and b are. y is 1-x.
 */
static double beta_fraction(double x, double y, double a, double b)
{
    double h = off_zero(a * (a * y - b * x + 1) / (a + 1)), c = h, d = 0;
    for (int m = 1; m <= FRACTION_STEPS; m++) {
        double s = a + 2 * m - 1, w = m * (b - m) * x / s;
        double top = (a + m - 1) * (a + b + m - 1) / s * w * x;
        double bottom = m + w + (a + m) * (a * y - b * x + 1 + m * (1 + y)) / (s + 2);
        d = 1 / off_zero(bottom + top * d);
        c = off_zero(bottom + top / c);
        h *= c * d;
        if (fabs(c * d - 1) <= 2 * DBL_EPSILON) break;
    }
    return a / h;
}

static double log_gamma(double x)
{
    int sign = 0;
    return lgamma_r(x, &sign);
}

/*
 * What Stirling's formula lacks: ln gamma(x) - ((x - 1/2) ln x - x + ln sqrt(2 pi)). For large x
 * the logarithms of gamma functions are huge and nearly cancel in a ratio; these do not.
 */
static double stirling_rest(double x)
{
    if (x < 12) return log_gamma(x) - ((x - 0.5) * log(x) - x + LOG_SQRT_2PI);
    double y = 1 / (x * x);
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y / 1188)))) / x;
}

/* ln u - (u - 1), with u - 1 given as well: without cancellation where that is small. */
static double log_less(double u, double d)
{
    if (fabs(d) > 0.1) return log(u) - d;
    double power = -d * d, sum = 0;
    for (int k = 2; k < 40; k++) {
        sum += power / k;
        if (fabs(power) <= DBL_EPSILON * fabs(sum)) break;
        power *= -d;
    }
    return sum;
}

/* ln gamma(a) - ln gamma(a + b). */
static double log_gamma_ratio(double a, double b)
{
    if (a < 12) return log_gamma(a) - log_gamma(a + b);
    return b - (a - 0.5) * log1p(b / a) - b * log(a + b) + stirling_rest(a) - stirling_rest(a + b);
}

/* ln B(a, b). */
static double log_beta(double a, double b)
{
    double small = a < b ? a : b, large = a < b ? b : a;
    return log_gamma(small) + log_gamma_ratio(large, small);
}

/* ln x, from whichever of x and y = 1-x is the smaller. */
static double log_of(double x, double y)
{
    return x < y ? log(x) : log1p(-y);
}

/* x^a y^b / (a B(a, b)), where y = 1-x is known more exactly than x tells. */
static double beta_front(double x, double y, double a, double b)
{
    if (a < 12 || b < 12) return exp(a * log_of(x, y) + b * log_of(y, x) - log_beta(a, b)) / a;
    /* Around its peak the logarithm is a difference of large numbers: what is left of it. */
    double n = a + b;
    double off = x * b - a * y; /* x n - a, and b - y n */
    double exponent = a * log_less(x * n / a, off / a) + b * log_less(y * n / b, -off / b);
    double rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b);
    return exp(exponent + rest) * sqrt(b / (2 * M_PI * a * n));
}

/* I_x(a, b) with both x and 1-x given. */
static double beta_of(double x, double y, double a, double b)
{
    if (x <= 0) return 0;
    if (y <= 0) return 1;
    if (x * (a + b + 2) < a + 1) return beta_front(x, y, a, b) * beta_fraction(x, y, a, b);
    return 1 - beta_front(y, x, b, a) * beta_fraction(y, x, b, a);
}

double stat_beta(double x, double a, double b)
{
    if (!(x >= 0 && x <= 1 && a > 0 && b > 0)) return NAN;
    return beta_of(x, 1 - x, a, b);
}

/* ---- Student's t ---- */

double stat_t_two_sided(double t, double df)
{
    if (isnan(t) || !(df > 0)) return NAN;
    if (isinf(df)) return stat_normal_two_sided(t);
    if (isinf(t)) return 0;
    double square = t * t;
    /* So far out only the first term of the tail is left, and the square would be too large. */
    if (fabs(t) > 1e120)
        return exp(df * (0.5 * log(df) - log(fabs(t))) - log_beta(df / 2, 0.5)) / (df / 2);
    return beta_of(df / (df + square), square / (df + square), df / 2, 0.5);
}

double stat_t_upper(double t, double df)
{
    double tail = stat_t_two_sided(t, df) / 2;
    return t >= 0 ? tail : 1 - tail;
}

/* P(0 < T < t): near the middle the tail has too few digits to tell t from 0. */
static double t_middle(double t, double df)
{
    double square = t * t;
    return 0.5 * beta_of(square / (df + square), df / (df + square), 0.5, df / 2);
}

/* t > 0 with P(T > t) = q < 1/2, by bisection on the logarithm and Newton's steps inside. */
static double t_upper_quantile(double q, double df)
{
    double low = 0, high = 1;
    while (stat_t_upper(high, df) > q) {
        if (high > DBL_MAX / 4) return INFINITY;
        high *= 2;
    }
    double log_density = -stirling_rest(df / 2) + stirling_rest((df + 1) / 2) - LOG_SQRT_2PI +
                         0.5 * (df * log1p(1 / df) - 1);
    double t = high / 2;
    for (int i = 0; i < 20 * NEWTON_STEPS && high - low > 2 * DBL_EPSILON * high; i++) {
        bool is_tail = q < 0.25;
        double p = is_tail ? stat_t_upper(t, df) : t_middle(t, df), want = is_tail ? q : 0.5 - q;
        if ((p > want) == is_tail) low = t;
        else high = t;
        double density = exp(log_density - (df + 1) / 2 * log1p(t * t / df));
        double next = t + (is_tail ? p * log(p / want) : want - p) / density;
        if (!(next > low && next < high)) next = low + (high - low) / 2;
        if (fabs(next - t) <= DBL_EPSILON * t) return next;
        t = next;
    }
    return t;
}

double stat_t_quantile(double p, double df)
{
    if (isnan(p) || p < 0 || p > 1 || !(df > 0)) return NAN;
    if (isinf(df)) return stat_normal_quantile(p);
    if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
    if (p == 0.5) return 0;
    return p < 0.5 ? -t_upper_quantile(p, df) : t_upper_quantile(1 - p, df);
}

/* ---- F ---- */

/* P(F > f), or with `is_lower` P(F <= f), for 0 < f. */
static double f_tail(double f, double d1, double d2, bool is_lower)
{
    double ratio = d1 / d2 * f;
    /* So far out only the first term of the tail is left, and the ratio might be too large. */
    if (ratio > 1e150 && !is_lower)
        return exp(d2 / 2 * (log(d2) - log(d1) - log(f)) - log_beta(d1 / 2, d2 / 2)) / (d2 / 2);
    double x = 1 / (1 + ratio), y = ratio < 1 ? ratio / (1 + ratio) : 1 / (1 + 1 / ratio);
    return is_lower ? beta_of(y, x, d1 / 2, d2 / 2) : beta_of(x, y, d2 / 2, d1 / 2);
}

double stat_f_upper(double f, double d1, double d2)
{
    if (isnan(f) || !(d1 > 0 && d2 > 0)) return NAN;
    if (f <= 0) return 1;
    if (isinf(f)) return 0;
    return f_tail(f, d1, d2, false);
}

static bool is_below_quantile(double f, double p, double d1, double d2)
{
    return p > 0.5 ? f_tail(f, d1, d2, false) > 1 - p : f_tail(f, d1, d2, true) < p;
}

double stat_f_quantile(double p, double d1, double d2)
{
    if (isnan(p) || p < 0 || p > 1 || !(d1 > 0 && d2 > 0)) return NAN;
    if (p == 0 || p == 1) return p == 0 ? 0 : INFINITY;
    double low = 0, high = 1;
    while (is_below_quantile(high, p, d1, d2)) {
        low = high;
        if (high > DBL_MAX / 4) return INFINITY;
        high *= 2;
    }
    for (int i = 0; i < 20 * NEWTON_STEPS && high - low > 2 * DBL_EPSILON * high; i++) {
        double middle = low + (high - low) / 2;
        if (is_below_quantile(middle, p, d1, d2)) low = middle;
        else high = middle;
    }
    /* What is too small for a double with all its digits is 0. */
    return low < DBL_MIN ? 0 : low + (high - low) / 2;
}
