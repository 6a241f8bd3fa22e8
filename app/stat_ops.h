/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of weir stat, by name. */
#pragma once

#include <weir/json.h>

#include "base/arena.h"

enum { STAT_ROWS_SEEN = 4, STAT_TEXT_BYTES = 160 };

/* What an operation read: the reason why a result is not defined is usually there. */
struct row_seen {
    const char *name;
    size_t n; /* values that are not missing */
    bool is_constant;
};

/* One line's question. The caller makes it and looks at the complaint afterwards. */
struct call {
    const struct weir_json *inputs;
    struct arena arena;              /* memory for it; reset by the caller */
    struct weir_buf *out;            /* where the result goes, as JSON */
    char complaint[STAT_TEXT_BYTES]; /* not empty: the inputs are wrong, the result means nothing */
    char reason[STAT_TEXT_BYTES];    /* not empty: something in the result is null, and why */
    struct row_seen seen[STAT_ROWS_SEEN];
    size_t n_seen;
};

struct stat_op {
    const char *name; /* NULL behind the last of a table */
    const char *inputs, *gives;
    void (*run)(struct call *c);
};

void stat_op_run(struct call *c, struct weir_slice name);

/* All operations, one after the other; NULL behind the last. */
const struct stat_op *stat_op_at(size_t i);

/* The tables, by what the operations look at. */
extern const struct stat_op stat_row_ops[];    /* one row of values */
extern const struct stat_op stat_number_ops[]; /* distributions, single numbers */
extern const struct stat_op stat_pair_ops[];   /* two rows, day by day */
extern const struct stat_op stat_time_ops[];   /* one row in its order */
extern const struct stat_op stat_group_ops[];  /* two groups */
extern const struct stat_op stat_draw_ops[];   /* what is drawn again, and many tests */
