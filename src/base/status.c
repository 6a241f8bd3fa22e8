/* SPDX-License-Identifier: Apache-2.0 */
#include <weir/status.h>

struct row {
    const char *name;
    const char *text;
    int http;
    bool is_retryable;
};

static const struct row rows[WEIR_N_STATUS] = {
#define ROW(symbol, name, text, http, retryable) {name, text, http, retryable},
    WEIR_STATUS_TABLE(ROW)
#undef ROW
};

/* A number that is no status can only come from our own mistake; say so, do not crash. */
static const struct row *row_of(enum weir_status st)
{
    return (unsigned)st < WEIR_N_STATUS ? &rows[st] : &rows[WEIR_INTERNAL];
}

const char *weir_status_name(enum weir_status st)
{
    return row_of(st)->name;
}

const char *weir_status_text(enum weir_status st)
{
    return row_of(st)->text;
}

int weir_status_http(enum weir_status st)
{
    return row_of(st)->http;
}

bool weir_status_is_retryable(enum weir_status st)
{
    return row_of(st)->is_retryable;
}
