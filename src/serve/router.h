/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the row of the route table that answers a request. Pure; any thread.
 *
 * A pattern is compared segment by segment with the raw path; ":name" stands for one whole
 * segment that is not empty, "*name" at the end for all that is left, if that is not empty. The
 * first row that fits answers. A HEAD request without a row of its own is answered by that of GET.
 */
#pragma once

#include <weir/buf.h>

#include "serve/exchange.h"

struct route_match {
    const struct route *route; /* NULL unless WEIR_OK */
    unsigned methods;          /* unless WEIR_OK: bits 1 << enum http_method of this path */
    struct weir_slice params[ROUTE_MAX_PARAMS]; /* raw */
    unsigned n_params;
};

/* WEIR_OK; WEIR_NOT_FOUND; WEIR_BAD_METHOD when the path has rows, but none for this method. */
WEIR_MUST_CHECK enum weir_status router_find(const struct route *table, enum http_method method,
                                             struct weir_slice path, struct route_match *out);

/* The methods of a path, as router_find() collects them, also when there is a row. */
unsigned router_methods(const struct route *table, struct weir_slice path);

/* "GET, HEAD, POST, OPTIONS": what Allow says. HEAD goes with GET, OPTIONS with all. */
void router_write_allow(struct weir_buf *out, unsigned methods);

/* The values of an origin list ("*", "https://a.example, http://localhost:3000"). */
bool origin_is_allowed(const char *list, struct weir_slice origin);
