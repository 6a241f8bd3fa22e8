/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body that goes to the disk while it comes, for rows with ROUTE_FILE: an export of somebody's
 * data may have gigabytes, and no memory is held for it. It is FOLDER/imports/ID/body, and gone
 * with spool_free() unless somebody took it.
 *
 * Pieces are written by the loop's thread, into the system's cache: that takes as long as copying
 * them, until the system has too much that is not on the disk.
 *
 * One thread at a time.
 */
#pragma once

#include <weir/status.h>

#include "codec/multipart.h"
#include "io/crypto.h"
#include "io/file.h"

enum {
    SPOOL_PATH_BYTES = 1024,
    SPOOL_HASH_BYTES = 2 * SHA256_BYTES, /* as text */
    SPOOL_MAX = 64,                      /* bodies at a time; then WEIR_BUSY */
};

struct spool {
    struct file file;
    bool is_open;
    bool is_taken; /* the files stay */
    uint64_t len;
    struct sha256_run *hash;
    char id[32];                   /* "imp_01J…" */
    char folder[SPOOL_PATH_BYTES]; /* its own */
    char path[SPOOL_PATH_BYTES];   /* the file in it */
    char digest[SPOOL_HASH_BYTES]; /* after spool_end(): of the whole file */
    struct multipart *form;  /* the body is a form with the file in it; NULL: it is the file */
    enum weir_status status; /* after spool_end(): whether the form was good */
};

/* `imports` is the folder for all of them, which is made. WEIR_IO, WEIR_NO_SPACE, WEIR_BUSY. */
WEIR_MUST_CHECK enum weir_status spool_new(struct spool **out, const char *imports, const char *id);
/* What the body is said to be. WEIR_BAD_TYPE: a form whose boundary nobody knows. */
WEIR_MUST_CHECK enum weir_status spool_set_type(struct spool *s, struct weir_slice content_type);
/* WEIR_IO, WEIR_NO_SPACE, and WEIR_BAD_REQUEST of a form, with spool_error(). */
WEIR_MUST_CHECK enum weir_status spool_add(struct spool *s, struct weir_slice bytes);
/* The body is whole. */
void spool_end(struct spool *s);
/* What is wrong with the form, for people; NULL. */
const char *spool_error(const struct spool *s);
/* What the form calls the file; empty when it does not say. */
struct weir_slice spool_name(const struct spool *s);
void spool_free(struct spool *s); /* NULL is allowed */
