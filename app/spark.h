/* SPDX-License-Identifier: Apache-2.0 */
/* Small pictures of numbers for terminals. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/buf.h>

/* How many columns standard output has; 80 when it is no terminal. */
unsigned spark_columns(void);

/* Whether standard output is a terminal. */
bool spark_is_terminal(void);

struct spark {
    const int32_t *days; /* rising */
    const double *values;
    size_t n;
    int32_t from, to;
};

/*
 * A line of bars over the days from..to, at most `columns` wide: each column is the mean of its
 * days, and one without a value is blank.
 */
void spark_line(struct weir_buf *out, const struct spark *s, unsigned columns);

/* A bar of a value between 0 and `most`, up to `columns` wide. */
void spark_bar(struct weir_buf *out, double value, double most, unsigned columns);
