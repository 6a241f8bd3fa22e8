/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ULIDs: 128-bit ids that sort by time. 48 bits of wall-clock milliseconds, then
 * 80 random bits; as text, 26 characters of Crockford's base 32 that sort alike.
 *
 * 1. ulid_source_init() with a clock. There is nothing to free.
 * 2. ulid_next() for each id. Every id of a source is greater than the one
 *    before, whatever the wall clock does: within a millisecond, and while the
 *    clock is behind the last id, the random part counts up by one; when that
 *    part is used up, the time part does.
 *
 * A source belongs to one thread; the other functions are for any thread.
 */
#pragma once

#include <weir/status.h>

#include "base/clock.h"

enum { ULID_TEXT_LEN = 26 };

struct ulid {
    unsigned char bytes[16]; /* big-endian: time, then random */
};

struct ulid_source {
    const struct clock *clock;
    uint64_t last_ms;
    uint16_t random_high; /* of the last id */
    uint64_t random_low;
    bool has_last;
};

void ulid_source_init(struct ulid_source *source, const struct clock *clock);

/*
 * WEIR_IO when the system gives no randomness, WEIR_LIMIT after the last
 * millisecond of the format (in the year 10889); *out is then not touched.
 */
WEIR_MUST_CHECK enum weir_status ulid_next(struct ulid_source *source, struct ulid *out);

/* Writes the text in upper case, and a NUL. */
void ulid_format(char out[ULID_TEXT_LEN + 1], struct ulid id);

/*
 * Reads either case. WEIR_INVALID for another length, a value above 128 bits
 * (the first character is above 7), and any character outside the alphabet. As
 * in the ULID specification, that goes for I, L, O and U too; Crockford's
 * reading of I and L as 1 and of O as 0 would give one id several spellings.
 */
WEIR_MUST_CHECK enum weir_status ulid_parse(struct weir_slice text, struct ulid *out);

/* Whether the text is this prefix and a ULID in upper case: an id has one spelling. */
bool ulid_is_name(struct weir_slice text, const char *prefix);

/* Below, at or above 0 as a is before, the same as, or after b. */
int ulid_compare(struct ulid a, struct ulid b);

/*
 * For an id that must sort behind another process's, whose clock was ahead: one that does stays,
 * another gets the millisecond after that of `last`. It keeps its random part, so it is nobody
 * else's. WEIR_LIMIT as of ulid_next().
 */
WEIR_MUST_CHECK enum weir_status ulid_put_behind(struct ulid *id, struct ulid last);

/* The wall-clock time in the id. */
uint64_t ulid_ms(struct ulid id);
