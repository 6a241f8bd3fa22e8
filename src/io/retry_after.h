/* SPDX-License-Identifier: Apache-2.0 */
/* The fields in which a server says when it wants to be asked again. Pure; any thread. */
#pragma once

#include <weir/types.h>

/* "Sun, 06 Nov 1994 08:49:37 GMT", as fields have it; false when it is none. */
bool http_date_read(struct weir_slice text, int64_t *wall_ms);

/*
 * Of the fields Retry-After-Ms, which some have, and Retry-After, a number of seconds or a date;
 * both may be empty. 0: neither says anything, or not later than now. There is no ceiling: whoever
 * waits has one.
 */
uint64_t retry_after_ms(struct weir_slice ms, struct weir_slice seconds_or_date, int64_t wall_ms);
