/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idempotency-Key: a request that is sent again is answered as it was the first time, for a day,
 * over restarts too. The key is the client's, and scoped to the owner; what makes two requests the
 * same is method, path and body.
 *
 * 1. idempotency_read() in the handler.
 * 2. idempotency_decide() inside the commit that does what is asked for, before anything is added
 * to it, so that of two at the same instant one does it and the other finds it done.
 * 3. When the commit comes back with WEIR_EXISTS: idempotency_replay(), or, when the first answer
 * was a turn, that turn as it is now. WEIR_IDEMPOTENCY is the answer to another request by that
 * key.
 * 4. idempotency_fini().
 *
 * What is refused is not kept: it may be sent again. A request without the key passes all of this.
 *
 * The document: kind "idempotency", id the hash of owner and key.
 *
 * idempotency_decide(): the committer's thread; the others: the loop's, unless they say otherwise.
 */
#pragma once

#include "serve/exchange.h"
#include "serve/resource.h"

enum {
    IDEMPOTENCY_KEY_BYTES = 255,
    IDEMPOTENCY_HEX_BYTES = 65,
    IDEMPOTENCY_SWEEP_DOCS = 256, /* looked at together */
};

/* What was answered the first time. */
struct idempotent_answer {
    int status;
    struct weir_slice turn;     /* the id of a turn that was the answer; empty: the following */
    struct weir_slice location; /* may be empty */
    struct weir_slice body;     /* JSON; may be empty */
};

struct idempotency {
    bool has_key;
    char id[IDEMPOTENCY_HEX_BYTES];      /* of the document */
    char request[IDEMPOTENCY_HEX_BYTES]; /* hash of method, path and body */
    char owner[64];
    int64_t now_ms;
    struct weir_json_doc *kept;     /* memory of: */
    struct idempotent_answer first; /* after WEIR_EXISTS */
};

/* False when that was answered with an error: the key has no good form. */
bool idempotency_read(struct exchange *ex, struct idempotency *i);

/*
 * WEIR_OK: it is new, and `answer` is kept by the commit. WEIR_EXISTS: it was answered, see
 * i->first. WEIR_IDEMPOTENCY: another request was.
 */
WEIR_MUST_CHECK enum weir_status idempotency_decide(struct idempotency *i, struct commit_view *view,
                                                    struct commit *c,
                                                    const struct idempotent_answer *answer);

/*
 * Its two halves, for whoever knows the answer only when the rest was decided: the look before
 * that, and the keeping after.
 */
WEIR_MUST_CHECK enum weir_status idempotency_look(struct idempotency *i, struct commit_view *view);
WEIR_MUST_CHECK enum weir_status idempotency_keep(const struct idempotency *i, struct commit *c,
                                                  const struct idempotent_answer *answer);

/* The same look, outside of a commit; may wait for the disk. Any thread. */
WEIR_MUST_CHECK enum weir_status idempotency_find(struct idempotency *i, struct store *store);

/* Answers with what was kept. */
void idempotency_replay(struct exchange *ex, const struct idempotency *i);

/* Idempotent-Replayed: true, for answers that the caller makes. */
void idempotency_mark(struct exchange *ex);

void idempotency_fini(struct idempotency *i);

/* Removes what is older than a day; how many. May wait. Any thread. */
size_t idempotency_sweep(struct store *store, int64_t now_ms);
