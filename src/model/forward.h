/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody else's request in a provider's own form, sent once and as it is, with the provider's key
 * in the place of theirs. Who made it knows what to do when it fails: nothing is tried again here,
 * and no circuit breaker stands in the way.
 *
 * It goes to the first provider of that form that is configured. The key never leaves this folder:
 * what is given out of an answer goes through model_forward_blot().
 *
 * Any thread; callbacks as in io/fetch.h, the last of them before models_free() returns.
 */
#pragma once

#include "io/fetch.h"
#include "model/model.h"

enum { MODEL_FORWARD_FIELDS = 2 };

struct model_forward {
    enum model_type type;
    struct weir_slice body; /* JSON */
    struct fetch_field fields[MODEL_FORWARD_FIELDS];
    unsigned n_fields;
    uint64_t max_body; /* of an answer that is gathered */
    bool (*on_head)(void *user, int http_status, const struct fetch_answer *answer);
    bool (*on_body)(void *user, struct weir_slice bytes);
    void (*done)(void *user, const struct fetch_result *result);
    void *user;
};

/* The name of the provider that would be asked; NULL: there is none of this form. */
const char *model_forward_to(const struct models *m, enum model_type type);
bool model_forward_is_external(const struct models *m, enum model_type type);

/*
 * Everything is copied. WEIR_NOT_FOUND: see above; WEIR_BUSY: the provider has enough to do;
 * WEIR_SHUTDOWN, WEIR_NOMEM, WEIR_INVALID: nothing is called.
 */
WEIR_MUST_CHECK enum weir_status model_forward(struct models *m, const struct model_forward *f,
                                               uint64_t *ticket);
void model_forward_abort(struct models *m, uint64_t ticket);

/* Stars in the place of the key, should a provider repeat it. */
void model_forward_blot(const struct models *m, enum model_type type, char *bytes, size_t len);
