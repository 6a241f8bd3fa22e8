/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole store, whatever engine keeps it, for whoever copies or compares all of it. Nobody else
 * may have it open meanwhile, and nothing happens in it by itself: nothing expires, nobody is told.
 *
 * 1. whole_open() to read, or to fill one that is empty.
 * 2. Filling: whole_put_log(), its events by whole_put_events(), then the next log; documents by
 *    whole_put_doc() at any time; whole_fill_end(), before which nothing of all that has happened.
 *    From then on it can be read.
 * 3. Reading: whole_next_log(), then its events by whole_next_events(); whole_next_doc().
 *    whole_rewind() begins anew. It is one state of the store.
 * 4. whole_close(). What was filled in without an end is gone.
 *
 *   WEIR_LOCKED      another process has it open
 *   WEIR_EXISTS      it was to be filled and is not empty
 *   WEIR_NOT_FOUND   it was to be read and there is none; a reader is at its end
 *   WEIR_CORRUPT     events have a gap, or are not those that their log says
 *   WEIR_NEWER, WEIR_NO_SPACE, WEIR_STORAGE, WEIR_IO, WEIR_NOMEM, WEIR_INTERNAL
 *
 * What is given is borrowed until the next call of the same function. One thread at a time.
 */
#pragma once

#include "store/store.h"

struct whole;

enum whole_use { WHOLE_READ, WHOLE_FILL };

/* The place is as store_open() takes it. The error is for people, and has a text when this fails.
 */
WEIR_MUST_CHECK enum weir_status whole_open(struct whole **out, const char *place,
                                            enum whole_use use, struct store_error *error);
void whole_close(struct whole *w); /* NULL is allowed */

/* Why a call failed, as far as it is known; else "". */
const char *whole_message(const struct whole *w);

/* A log as it is kept. */
struct whole_log {
    uint64_t id; /* documents speak of logs by it: it stays */
    struct weir_slice name;
    uint64_t kept_from; /* its first event that is there; last + 1 when none is */
    uint64_t last;
    bool is_sealed;
    int64_t expires_ms; /* wall time; INT64_MAX: never */
};

/* Events first..last of a log, in wire form. */
struct whole_events {
    uint64_t first, last;
    struct weir_slice bytes;
};

/* By rising name. */
WEIR_MUST_CHECK enum weir_status whole_next_log(struct whole *w, struct whole_log *out);

/* Of the log that was given last, from kept_from to last without a gap. */
WEIR_MUST_CHECK enum weir_status whole_next_events(struct whole *w, struct whole_events *out);

/* By rising kind, then id; not to be freed. */
WEIR_MUST_CHECK enum weir_status whole_next_doc(struct whole *w, struct doc *out);

void whole_rewind(struct whole *w);

/* What there is besides what can be listed. */
struct whole_facts {
    uint64_t last_id; /* no log ever had a larger one */
    uint64_t n_logs, n_docs;
    uint64_t n_passages; /* that can be searched */
};
WEIR_MUST_CHECK enum weir_status whole_facts(struct whole *w, struct whole_facts *out);

/* ---- filling ---- */

WEIR_MUST_CHECK enum weir_status whole_put_log(struct whole *w, const struct whole_log *log);
WEIR_MUST_CHECK enum weir_status whole_put_events(struct whole *w,
                                                  const struct whole_events *events);
WEIR_MUST_CHECK enum weir_status whole_put_doc(struct whole *w, const struct doc *doc);

/* All of it is durable and there. New logs get ids above last_id. */
WEIR_MUST_CHECK enum weir_status whole_fill_end(struct whole *w, uint64_t last_id);
