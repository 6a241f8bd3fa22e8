/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cassettes: what a provider answered, with its timing, to be played again without it. A file of
 * JSON lines each, named by the hash of its request; docs/models.md has the format. Pure but for
 * the two functions on files. One thread at a time.
 */
#pragma once

#include "model/model_impl.h"

enum {
    CASSETTE_BYTES = 16 << 20, /* of an answer; what is beyond it is not kept */
    CASSETTE_MAX_PIECES = 65536,
    CASSETTE_HASH_BYTES = 65, /* of a request's SHA-256 in hexadecimal, with a NUL */
};

struct cassette_piece {
    uint64_t at_ms; /* since the request */
    size_t end;     /* in the bytes */
};

/* An answer while it is recorded or played. */
struct cassette {
    struct weir_buf bytes; /* of its body, as they came */
    struct cassette_piece *pieces;
    size_t n_pieces, cap_pieces;
    int http_status;
    char content_type[MODEL_NAME_BYTES];
    enum model_type type; /* who speaks */
    uint64_t retry_after_ms;
    uint64_t end_ms;
    char cut[MODEL_WHY_BYTES]; /* why it broke off; empty: it did not */
};

void cassette_init(struct cassette *c);
void cassette_fini(struct cassette *c);
void cassette_reset(struct cassette *c);

/* A piece of the body. What there is no room or memory for is left out, and so is the rest. */
void cassette_add(struct cassette *c, struct weir_slice bytes, uint64_t at_ms);

void cassette_hash(const struct model_request *request, char out[CASSETTE_HASH_BYTES]);

/* The file's text, without the player's key; `c` loses it, too. */
void cassette_put(struct weir_buf *out, struct cassette *c, const struct model_request *request,
                  const struct model_player *player);
/* False: it is none. `c` was initialised. */
bool cassette_read(struct cassette *c, struct weir_slice text);

/* Writes FOLDER/HASH-N.jsonl with the first N, from 1, that is free. */
WEIR_MUST_CHECK enum weir_status cassette_save(const char *folder, const char *hash,
                                               struct weir_slice text);
/* Reads the nth, from 1, or the last before it. WEIR_NOT_FOUND, WEIR_CORRUPT, WEIR_IO, WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status cassette_load(struct cassette *c, const char *folder,
                                               const char *hash, unsigned n);
