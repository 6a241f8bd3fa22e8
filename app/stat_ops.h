/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of weir stat, by name. */
#pragma once

#include <weir/json.h>

#include "base/arena.h"

/* One line's question. The caller makes it and looks at the complaint afterwards. */
struct call {
    const struct weir_json *inputs;
    struct arena arena;   /* memory for it; reset by the caller */
    struct weir_buf *out; /* where the result goes, as JSON */
    char complaint[160];  /* not empty: the inputs are wrong, and the result means nothing */
};

void stat_op_run(struct call *c, struct weir_slice name);

/* The names of all operations; NULL behind the last. */
const char *stat_op_name(size_t i);
