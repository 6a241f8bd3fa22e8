/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that log in (login_link.h) as documents of a store that several nodes share. Any thread;
 * all of it may wait.
 */
#pragma once

#include "io/crypto.h"
#include "serve/login_link.h"

/* Makes one, and forgets what is of no use. */
WEIR_MUST_CHECK enum weir_status login_shared_make(struct store *store,
                                                   const unsigned char hash[SHA256_BYTES],
                                                   struct weir_slice key, int64_t now_ms);

/*
 * Uses one, by a commit of the caller's, in which nothing else happens: its status is WEIR_OK with
 * the key; WEIR_BAD_TOKEN: it was used, or has expired, as taken.why says; WEIR_NOT_FOUND: there is
 * none. The struct stays until then. NULL: no memory.
 */
struct login_use {
    char id[2 * SHA256_BYTES + 1];
    int64_t now_ms;
    struct login_taken taken;
};
struct commit *login_shared_use(struct login_use *use, struct weir_slice token, int64_t now_ms);
