/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps of placeholders at rest: encrypted with AES-256-GCM under the server's key, and bound to
 * what they belong to, so that one put in another's place does not open.
 *
 * The key file is text: on each line a key of 32 bytes in base64url, the newest first; empty lines
 * and those with # are skipped. It must belong to the user that runs weir, or to root, and be
 * closed to all others. The first key seals, all of them open.
 *
 * 1. vault_create() once; vault_rotate() puts a new key in front of the others.
 * 2. vault_open() at the start.
 * 3. vault_seal(), vault_unseal(); vault_is_old() says what is to be sealed anew.
 * 4. vault_close() wipes the keys.
 *
 * Sealed bytes: "WSV1", the key's id (8 bytes of its hash), the nonce (12), the map, the tag (16).
 * A vault does not change once open: any thread.
 */
#pragma once

#include <weir/buf.h>

enum {
    VAULT_MAX_KEYS = 16,
    VAULT_ERROR_BYTES = 160,
    VAULT_OVERHEAD_BYTES = 4 + 8 + 12 + 16, /* sealed bytes more than plain ones */
};

struct vault;

/* A new file with one key. WEIR_EXISTS: there is one. */
WEIR_MUST_CHECK enum weir_status vault_create(const char *path);
/* A new key in front of the old ones. The file is replaced whole or not at all. */
WEIR_MUST_CHECK enum weir_status vault_rotate(const char *path, char error[VAULT_ERROR_BYTES]);

/* WEIR_INVALID or WEIR_FORBIDDEN say in `error` what is wrong with the file. WEIR_IO, WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status vault_open(const char *path, struct vault **out,
                                            char error[VAULT_ERROR_BYTES]);
void vault_close(struct vault *v);

/* How many keys there are, and the id of the ith, the newest being 0: 16 hex digits and a NUL. */
enum { VAULT_ID_BYTES = 17 };
size_t vault_count(const struct vault *v);
void vault_key_id(const struct vault *v, size_t i, char out[VAULT_ID_BYTES]);

/* Appends the sealed bytes. `bound` says whose they are, as a conversation's id. */
WEIR_MUST_CHECK enum weir_status vault_seal(const struct vault *v, struct weir_slice bound,
                                            struct weir_slice plain, struct weir_buf *out);

/*
 * Appends the plain bytes. WEIR_CORRUPT: they were changed, or are bound to something else;
 * WEIR_NOT_FOUND: no key of the file has sealed them. Nothing is appended then.
 */
WEIR_MUST_CHECK enum weir_status vault_unseal(const struct vault *v, struct weir_slice bound,
                                              struct weir_slice sealed, struct weir_buf *out);

/* Whether bytes were sealed with another key than the newest. */
bool vault_is_old(const struct vault *v, struct weir_slice sealed);
