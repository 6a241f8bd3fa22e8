/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an import was given, as one list of readable things: files as they are, the files of a
 * folder and of the folders in it, the members of zip archives.
 *
 * 1. archive_open() looks at everything and refuses what is a trap before a byte is read: archives
 *    that are truncated, encrypted, of overlapping or absurdly packed members.
 * 2. archive_start() one of them, archive_read() it from the beginning to the end, archive_stop().
 * 3. archive_close().
 *
 * Nothing is ever unpacked to the disk. One thread at a time; one file is open at a time.
 */
#pragma once

#include <weir/status.h>

struct archive;

enum {
    ARCHIVE_ITEMS = 200000,         /* files and members; a takeout has some ten thousand */
    ARCHIVE_DEPTH = 32,             /* folders in folders */
    ARCHIVE_NAME_BYTES = 1024,      /* of a path, or of a member */
    ARCHIVE_RATIO = 250,            /* unpacked to packed; exports have 20 to 40, a bomb 1000 */
    ARCHIVE_SMALL_BYTES = 16 << 20, /* members up to this size may be packed as well as they can */
};
#define ARCHIVE_MEMBER_BYTES (UINT64_C(64) << 30)  /* of one file, unpacked */
#define ARCHIVE_TOTAL_BYTES  (UINT64_C(256) << 30) /* of all together */

enum { ARCHIVE_ERROR_BYTES = 400, ARCHIVE_HASH_BYTES = 32 };

struct archive_item {
    const char *name;       /* "export.zip: apple_health_export/export.xml", "steps.csv" */
    struct weir_slice path; /* inside of the archive or folder; else the file's last part */
    struct weir_slice base; /* the last part of it */
    uint64_t bytes;         /* unpacked */
    bool is_named;          /* the caller named it, it was not found in anything */
};

/* WEIR_NOT_FOUND, WEIR_INVALID, WEIR_LIMIT, WEIR_IO, WEIR_NOMEM: with a text that says which file.
 */
WEIR_MUST_CHECK enum weir_status archive_open(struct archive **out, const char *const *paths,
                                              size_t n_paths, char error[ARCHIVE_ERROR_BYTES]);
void archive_close(struct archive *a); /* NULL is allowed */

size_t archive_count(const struct archive *a);
const struct archive_item *archive_item(const struct archive *a, size_t i);

/* Tells this list of contents from others: sizes, names of members, checksums, heads and tails. */
WEIR_MUST_CHECK enum weir_status archive_hash(struct archive *a,
                                              unsigned char out[ARCHIVE_HASH_BYTES]);

/* From a byte on; reading what comes before it, where that is the only way. */
WEIR_MUST_CHECK enum weir_status archive_start(struct archive *a, size_t i, uint64_t from);

/* Up to len bytes; 0: the end. WEIR_INVALID: what is packed there is damaged. */
WEIR_MUST_CHECK enum weir_status archive_read(struct archive *a, char *bytes, size_t len,
                                              size_t *n_read);
void archive_stop(struct archive *a);

/* Why the last of these three failed; never NULL. */
const char *archive_error(const struct archive *a);
