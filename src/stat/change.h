/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large a change has to be before it means something. NAN where the arguments make no sense.
 * Pure functions; any thread.
 */
#pragma once

/* The error of one measurement, by the deviation between people and the reliability (ICC, at most
 * 1) of the measurement. */
double stat_measurement_error(double sd, double icc);

/* Minimal detectable change: two measurements with that error differ by more only once in 20. */
double stat_mdc95(double measurement_error);

/* Reference change value (Fraser): the same in percent, of two laboratory results, from the
 * coefficients of variation of the analysis and of the person. z is 1.96 for 95 %. */
double stat_rcv(double cv_analytical, double cv_within, double z);

/* Smallest worthwhile change (Hopkins): a fraction, usually 0.2, of the deviation. */
double stat_swc(double sd, double fraction);
