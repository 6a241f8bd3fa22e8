/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A secret of the server's own, for signing: 32 random bytes in a document of kind "secret". It is
 * made when it is needed first, so that nothing is signed by one that could be forgotten; of
 * several nodes that need it first, one makes it and the others take that.
 *
 * 1. secret_init() reads it, if there is one.
 * 2. secret_get() for each check; secret_need() for making something; secret_rotate().
 *    secret_refresh() when another node may have made or changed it.
 * 3. secret_fini().
 *
 * secret_get() never waits for the disk; the others may. Copies are the caller's to wipe. Any
 * thread, but for init and fini.
 */
#pragma once

#include <pthread.h>

#include "store/store.h"

enum { SECRET_BYTES = 32 };

struct secret {
    struct store *store;
    struct weir_slice id;     /* of the document; constant */
    pthread_mutex_t changing; /* held by whoever changes the document, and so both */
    pthread_rwlock_t lock;    /* for the rest */
    bool is_there;
    int64_t version; /* of the document that was read or written last */
    unsigned char bytes[SECRET_BYTES];
};

/* WEIR_CORRUPT; what the store says. secret_fini() always. */
WEIR_MUST_CHECK enum weir_status secret_init(struct secret *s, struct store *store, const char *id);
void secret_fini(struct secret *s);

/* A copy; false when there is none yet. */
bool secret_get(struct secret *s, unsigned char out[SECRET_BYTES]);

/* The same, made if there is none. */
WEIR_MUST_CHECK enum weir_status secret_need(struct secret *s, unsigned char out[SECRET_BYTES]);

/* Reads it again, if it is another than before. WEIR_CORRUPT; what the store says. */
WEIR_MUST_CHECK enum weir_status secret_refresh(struct secret *s);

/*
 * Another one from now on. A status but WEIR_OK: the store could not write that down, and the old
 * one is back after a restart.
 */
WEIR_MUST_CHECK enum weir_status secret_rotate(struct secret *s);
