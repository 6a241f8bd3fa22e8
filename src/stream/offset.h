/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets and cursors of the Durable Streams protocol, as text. Pure; any thread.
 *
 * An offset is the id of the last event before it, as two numbers of OFFSET_DIGITS digits with
 * "_" between them: opaque to clients, and in the order of bytes what it is in the log. The first
 * number is 0 in all that we give. "-1" is the beginning, "now" the end.
 *
 * A cursor is what keeps caches from answering a live request with the same old answer: the
 * number of the current interval of CURSOR_INTERVAL_S, but always more than what the client has.
 */
#pragma once

#include <weir/types.h>

enum {
    OFFSET_DIGITS = 16,
    OFFSET_BYTES = 2 * OFFSET_DIGITS + 1,
    CURSOR_INTERVAL_S = 20,
    CURSOR_JITTER_S = 3600, /* added at most when the client is ahead */
};

enum offset_kind {
    OFFSET_START,
    OFFSET_NOW,
    OFFSET_AT,
    OFFSET_BEYOND, /* well-formed, and no log is that long */
};

struct offset {
    enum offset_kind kind;
    uint64_t id; /* OFFSET_AT: of the last event before it; 0: none */
};

/* False when it is none. */
bool offset_parse(struct weir_slice text, struct offset *out);

/* Not terminated. */
void offset_format(uint64_t id, char out[OFFSET_BYTES]);

/* `given` is the client's, empty or not; `chance` any number, best a random one. */
uint64_t cursor_after(struct weir_slice given, int64_t wall_ms, uint64_t chance);
