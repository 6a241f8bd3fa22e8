/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were sent to a node, in a store that several nodes share: when it was acknowledged,
 * any node can go on with it.
 *
 *   document "upload-file" ID        how many bytes it has; before the first piece, until the last
 *   document "upload-piece" ID/NNNN  UPLOAD_PIECE_BYTES each, but for the last
 *
 * Any thread; all of it may wait.
 */
#pragma once

#include "store/store.h"

enum {
    UPLOAD_PIECE_BYTES = 1 << 20,
    UPLOAD_LOST_MS = 3600 * 1000, /* one that became nothing is removed then */
};

/* Puts all of a file into the store. WEIR_IO of the file; what the store says. */
WEIR_MUST_CHECK enum weir_status upload_put(struct store *store, const char *id,
                                            struct weir_slice owner, const char *path);

/* Makes the file from it. WEIR_NOT_FOUND: it is not whole; WEIR_IO, WEIR_NO_SPACE of the file. */
WEIR_MUST_CHECK enum weir_status upload_get(struct store *store, const char *id, const char *path);

/* What there is of it goes. What cannot be removed is left to upload_sweep(). */
void upload_remove(struct store *store, const char *id);

/* Whether a file is still needed; is_old: it should have become something by now. */
typedef bool (*upload_needed_fn)(void *user, const char *id, bool is_old);
void upload_sweep(struct store *store, int64_t now_ms, upload_needed_fn is_needed, void *user);
