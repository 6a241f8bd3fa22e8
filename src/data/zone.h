/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time zones, from the machine's zone files (TZif): offsets at a moment, and moments of a wall
 * clock. The C library's own functions know only one zone per process, and change it for all.
 *
 * A zone is constant once it is loaded; any thread.
 */
#pragma once

#include <weir/status.h>

#include "data/fact.h"

struct zone;

/* "America/New_York", "UTC", "UTC-05:00", "+0200"; NULL: the machine's own. WEIR_NOT_FOUND. */
WEIR_MUST_CHECK enum weir_status zone_load(struct zone **out, const char *name);

/* The same from the bytes of a zone file. WEIR_CORRUPT when they are none. */
WEIR_MUST_CHECK enum weir_status zone_read(struct zone **out, const char *name,
                                           struct weir_slice bytes);
void zone_free(struct zone *z); /* NULL is allowed */
const char *zone_name(const struct zone *z);

/* Seconds east of UTC at a moment. */
int32_t zone_offset(const struct zone *z, int64_t at);

/*
 * The moment at which the wall clock showed this time (seconds since 1970-01-01 00:00 as if it
 * were UTC). One that was shown twice is the first; one that was skipped is as long after the gap.
 */
struct moment zone_moment(const struct zone *z, int64_t wall);

/* "UTC-05:00", "-0500", "+09", "Z": seconds east of UTC. False when it is none. */
bool zone_parse_offset(struct weir_slice text, int32_t *offset);
