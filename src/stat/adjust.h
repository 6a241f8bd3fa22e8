/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P-values of many tests at once. Each function replaces the n values by adjusted ones, in their
 * places; `scratch` has room for 2n. Pure; any thread.
 */
#pragma once

#include <stddef.h>

void stat_adjust_bh(double *p, size_t n, double *scratch);   /* Benjamini and Hochberg */
void stat_adjust_by(double *p, size_t n, double *scratch);   /* Benjamini and Yekutieli */
void stat_adjust_holm(double *p, size_t n, double *scratch); /* Holm */
