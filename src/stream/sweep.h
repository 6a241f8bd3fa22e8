/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep: a thread that walks through all streams, some at a time, and deletes those that have
 * had their time, and what is left of producers whose stream is gone. Nobody waits for it: a
 * stream that has expired is not there for anyone from that moment on.
 */
#pragma once

#include "store/store.h"

struct sweep;

enum {
    SWEEP_DOCS = 256,       /* looked at together */
    SWEEP_PAUSE_MS = 50,    /* between two of those */
    SWEEP_ROUND_MS = 10000, /* between the end of a walk and the next one */
};

/* The store has to be there until sweep_stop(). WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status sweep_start(struct sweep **out, struct store *store);
/* NULL is allowed. */
void sweep_stop(struct sweep *s);

/* One walk, by the caller's thread; how many streams and producers it deleted. */
size_t sweep_once(struct store *store, int64_t now_ms);
