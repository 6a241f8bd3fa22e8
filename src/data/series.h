/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A person's facts in the store, and the daily values made of them.
 *
 * 1. facts_open() for a user.
 * 2. Its sink (facts_sink()) takes facts into a bounded batch in memory.
 * 3. facts_flush() joins the batch with what is stored and commits: the facts, the daily values
 *    that they change, and whatever the caller adds to the same commit (how far it has read).
 *    Joining what is there already changes nothing and writes nothing.
 * 4. facts_close().
 *
 * Killed at any moment, what was flushed is there and the rest is not; reading the rest again
 * gives the same database as if nothing had happened.
 *
 * Documents, all with the user as owner: "facts" USER/METRIC/2025-03 (samples and stages of a
 * month), "days" USER/METRIC (daily values, merged from them and given by sources), "series"
 * USER/METRIC (those that count), "sleeps", "workouts" and "labs" USER/2025, "sources" USER,
 * "metrics" USER (which there are, from when to when).
 */
#pragma once

#include "data/dataset.h"
#include "store/store.h"

struct facts;

enum { FACTS_BATCH = 1 << 18 }; /* facts in memory before they must be flushed */

/* What a whole import did; counters only grow. */
struct facts_summary {
    uint64_t n_facts; /* taken; each is then new or a duplicate */
    uint64_t n_new, n_duplicates, n_refused;
    uint64_t n_days_changed; /* daily values, of all metrics */
};

/* WEIR_INVALID for a user's name that is empty, longer than 96 bytes or has a '/'. */
WEIR_MUST_CHECK enum weir_status facts_open(struct facts **out, struct store *store,
                                            struct weir_slice user);
void facts_close(struct facts *f); /* what was not flushed is forgotten; NULL is allowed */

/* refuse and ignore of it are NULL: the caller fills them in, in a copy. */
struct fact_sink facts_sink(struct facts *f);

/* Facts that cannot be kept are counted as refused; somebody may want to hear why, at once. */
void facts_on_refuse(struct facts *f, void (*refuse)(void *user, const char *reason), void *user);

/* The facts to come are of another file: when the last one was exported does not concern them. */
void facts_next_file(struct facts *f);

/* True when the batch is full: a sink's function then returns WEIR_BUSY until it is flushed. */
bool facts_is_full(const struct facts *f);

/*
 * Joins and commits the batch; `with` (may be NULL) is put in the last commit of it, and belongs to
 * the facts from then on. WEIR_CONFLICT: somebody else imported for the same person at once; the
 * batch is as it was and may be flushed again.
 */
WEIR_MUST_CHECK enum weir_status facts_flush(struct facts *f, struct commit *with);

void facts_summary(const struct facts *f, struct facts_summary *out);
