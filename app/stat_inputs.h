/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an operation of weir stat reads its inputs and writes its result. What is wrong with an
 * input becomes the call's complaint, of which the first counts; the operation may go on, its
 * result is thrown away. A number that is not finite is written as null, with a reason.
 */
#pragma once

#include "stat/infer.h"
#include "stat_ops.h"

struct row {
    double *x; /* NAN: missing */
    size_t n;
};

void complain(struct call *c, const char *name, const char *text);

/* Why something in the result is null; the first reason counts. */
void give_reason(struct call *c, const char *text);

/* Room for n numbers. */
double *room(struct call *c, size_t n);

/* A number that has to be there; NAN when it is null. */
double number(struct call *c, const char *name);
/* Not there or null: `otherwise`. */
double number_or(struct call *c, const char *name, double otherwise);
/* The same, from least to most. */
double number_in(struct call *c, const char *name, double otherwise, double least, double most);
/* A whole number from least to most, both below 2^53. */
size_t whole_in(struct call *c, const char *name, size_t otherwise, size_t least, size_t most);
/* Of these words, which end with NULL, the one that is given; the first when there is none. */
size_t word_of(struct call *c, const char *name, const char *const *words);
/* A number above 0 that has to be there. */
double positive(struct call *c, const char *name);
double probability(struct call *c, const char *name);
double confidence(struct call *c);

/* A row with its gaps, or without. */
struct row row_with_gaps(struct call *c, const char *name);
struct row row_of(struct call *c, const char *name);
/* x on day t and y on day t+lag where both are known; x and y are equally long, before and after.
 * Returns their number. */
size_t pairs_of(struct call *c, long lag, struct row *x, struct row *y);
double *copy_of(struct call *c, struct row r);

/*
 * Multiplies rows whose squares would be too large or too small by a power of two, the same for
 * both. Results that have the unit of the values are divided by it.
 */
double scale_rows(struct call *c, struct row a, struct row b);
double scale_row(struct row r);

/* Takes the common median off both rows, where only differences matter: an offset that is large
 * would cost the means their digits. */
void center_rows(struct call *c, struct row a, struct row b);

void put(struct call *c, double x);
void put_member(struct call *c, const char *name, double x);
void put_interval(struct call *c, const char *lo, const char *hi, struct stat_interval i);
/* As they are: null for a value that is missing needs no reason. */
void put_row(struct call *c, const double *x, size_t n);
void begin(struct call *c);
void end(struct call *c);
