/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key files are in a node's own folder and not in the store, so that a copy of the store opens and
 * signs nothing; but all nodes of a store need the same. So the store has their fingerprints
 * (document "key-file" NAME), and a node that has other files does not start: the error says what
 * to copy from where to where. The first node makes the files, all others get copies. The document
 * has those keys that were the first of some node's file, so that something may be sealed with
 * them, in the order in which they came; a file has to have the last of them.
 *
 * 1. key_files_need() before a file would be made: WEIR_NOT_FOUND when it has to be copied.
 * 2. key_files_match() when it is there.
 *
 * A rotation adds a key. What it seals has to open everywhere, so the key has to be in the files of
 * all nodes that live before it is the first of any. Each of them says which keys its files have
 * (lives_say()), and a node starts when the first of each is in the file of the other; what nodes
 * had that live no more does not count.
 */
#pragma once

#include "serve/lives.h"

enum { KEY_FILES_ERROR_BYTES = 320, KEY_FILES_IDS_BYTES = 512 };

/* A file with keys. */
struct key_file {
    const char *name; /* "shield.key" */
    const char *path;
    const char *ids; /* of its keys, the one in use first, separated by blanks */
};

WEIR_MUST_CHECK enum weir_status key_files_need(struct store *store, const struct key_file *file,
                                                char error[KEY_FILES_ERROR_BYTES]);

/*
 * Of a file that is rotated its keys were said before, by lives_say(); of one that is not, `lives`
 * is NULL. May wait for the time of a lease, to see who lives. WEIR_INVALID and the error.
 */
WEIR_MUST_CHECK enum weir_status key_files_match(struct store *store, struct lives *lives,
                                                 const struct key_file *file,
                                                 char error[KEY_FILES_ERROR_BYTES]);
