/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: records that are durable in the order they were written.
 *
 * 1. journal_open() makes or recovers it: every record that was synced, and maybe
 *    some that were written after the last sync, goes to a callback in order.
 * 2. journal_write() puts records behind the last one; journal_sync() makes all of
 *    them durable at once. Until then they may or may not survive.
 * 3. journal_release() says that records up to a number are kept elsewhere; whole
 *    segments of such are used again.
 * 4. journal_close().
 *
 * Records have consecutive numbers from 1, over restarts too. A segment is a file that
 * is filled with zeros, a piece at a time and once, and then recycled, because a sync
 * of a file that neither grows nor gets new blocks is the fastest there is.
 *
 * After a failed sync or write the journal takes no more: WEIR_STORAGE from then on,
 * and only closing and opening it helps. The journal owns its files. One thread at
 * a time.
 */
#pragma once

#include <weir/status.h>

struct journal;

struct journal_options {
    uint64_t segment_bytes; /* 0: 16 MiB; at least 64 KiB */
    unsigned max_segments;  /* 0: 64. Ceiling of what may wait to be released */
};

/* A record found at opening; bytes are borrowed until it returns. WEIR_OK to go on. */
typedef enum weir_status (*journal_record_fn)(void *user, uint64_t number, struct weir_slice bytes);

/*
 * Opens the journal in a folder that exists. Records up to `released`, which the
 * caller has elsewhere, are not reported. WEIR_CORRUPT when a record is missing
 * before later synced ones, WEIR_IO, WEIR_NO_SPACE, WEIR_NOMEM, or what the callback said.
 */
WEIR_MUST_CHECK enum weir_status journal_open(struct journal **out, const char *folder,
                                              const struct journal_options *options,
                                              uint64_t released, journal_record_fn on_record,
                                              void *user);
void journal_close(struct journal *j);

/*
 * Writes one record; *number is its own. WEIR_LIMIT when it does not fit a segment or all
 * segments wait for release: nothing was written and the journal goes on.
 */
WEIR_MUST_CHECK enum weir_status journal_write(struct journal *j, struct weir_slice bytes,
                                               uint64_t *number);

/* All records written so far are with the kernel: they survive this process, no power cut. */
WEIR_MUST_CHECK enum weir_status journal_flush(struct journal *j);

/* All records written so far are on the disk. */
WEIR_MUST_CHECK enum weir_status journal_sync(struct journal *j);

/* Records up to this number will not be asked for again. */
void journal_release(struct journal *j, uint64_t number);

/* False after a failed write or sync. */
bool journal_is_sound(const struct journal *j);

/* The number of the newest record; 0 when there was never one. */
uint64_t journal_last(const struct journal *j);
