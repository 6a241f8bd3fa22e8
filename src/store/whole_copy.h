/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One store into another, and whether two are the same: every log with its id, its events byte for
 * byte, its beginning, its seal and its time; every document with its owner and version. One
 * thread.
 */
#pragma once

#include "store/whole.h"

/* What was done so far. */
struct whole_count {
    uint64_t n_logs, n_events, n_docs;
    uint64_t n_bytes; /* of events and documents */
};

/* Called every now and then, with what was done; `all` is what there is. May be NULL. */
struct whole_watch {
    void (*tell)(void *user, const struct whole_count *done, const struct whole_facts *all);
    void *user;
};

/*
 * Reads one from its beginning and fills the other, to its end: all of it is durable then. When it
 * fails nothing has happened; whole_message() of either may say why.
 */
WEIR_MUST_CHECK enum weir_status whole_copy(struct whole *from, struct whole *to,
                                            const struct whole_watch *watch,
                                            struct whole_count *done);

/*
 * Reads both from their beginnings, complains of each thing that is not the same, and counts.
 * WEIR_OK when it could be told, whatever it was.
 */
struct whole_verdict {
    store_complaint_fn complain; /* may be NULL */
    void *user;
    uint64_t n_wrong;
};
WEIR_MUST_CHECK enum weir_status whole_compare(struct whole *a, struct whole *b,
                                               const struct whole_watch *watch,
                                               struct whole_verdict *verdict,
                                               struct whole_count *done);
