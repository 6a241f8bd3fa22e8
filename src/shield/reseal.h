/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps that were sealed with an old key are sealed with the newest one, after a rotation.
 *
 * 1. reseal_start() when the store is open: a thread goes through all documents "shield_map" once.
 * 2. reseal_stop() ends it, at the next map at the latest; what is left is done by the next start.
 *
 * A map that is changed meanwhile is sealed by who changes it.
 */
#pragma once

#include "base/trace.h"
#include "shield/vault.h"
#include "store/store.h"

struct reseal;

/* The vault, the store and the trace are borrowed until reseal_stop(). WEIR_NOMEM, WEIR_IO. */
WEIR_MUST_CHECK enum weir_status reseal_start(struct reseal **out, struct store *store,
                                              const struct vault *vault, const struct trace *trace);
void reseal_stop(struct reseal *r); /* NULL is allowed */

/* All of them, in this thread: how many were sealed anew, and how many no key of the file opens. */
struct reseal_counts {
    uint64_t n_old, n_lost;
};
WEIR_MUST_CHECK enum weir_status reseal_all(struct store *store, const struct vault *vault,
                                            struct reseal_counts *counts);
