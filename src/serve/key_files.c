/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/key_files.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <weir/buf.h>

#include "base/slice.h"
#include "io/file.h"
#include "serve/wordlist.h"

enum { TRIES = 4, COMMIT_BYTES = 1024, LOOK_MS = 500 };

static struct doc_key key_of(const struct key_file *file)
{
    return (struct doc_key){SLICE("key-file"), weir_slice_of(file->name)};
}

enum weir_status key_files_need(struct store *store, const struct key_file *file,
                                char error[KEY_FILES_ERROR_BYTES])
{
    struct doc doc;
    if (file_exists(file->path)) return WEIR_OK;
    enum weir_status st = store_doc_get(store, key_of(file), &doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st == WEIR_OK) doc_fini(&doc);
    if (st != WEIR_OK) {
        snprintf(error, KEY_FILES_ERROR_BYTES, "cannot ask the store for its key files: %s",
                 weir_status_text(st));
        return st;
    }
    snprintf(error, KEY_FILES_ERROR_BYTES,
             "there is no %s: copy %s from the data folder of another node of this store to it",
             file->path, file->name);
    return WEIR_NOT_FOUND;
}

/*
 * Of two files each has to have what the other seals with. A key that was the newest when all the
 * others started is in theirs.
 */
static bool is_known(struct lives *lives, struct weir_slice ours, struct weir_slice newest)
{
    struct weir_slice first = wordlist_first(ours);
    return slice_eq(first, newest) || lives_all_say(lives, first);
}

/* Waits for others as long as it takes to hear them, or that they live no more. */
static bool goes_with_all(struct lives *lives, struct weir_slice ours, struct weir_slice newest)
{
    for (unsigned waited_ms = 0;
         !is_known(lives, ours, newest) || !lives_all_begin_with(lives, ours);
         waited_ms += LOOK_MS) {
        if (waited_ms > lives_lease(lives) + LOOK_MS || lives_round(lives) != WEIR_OK) return false;
        poll(NULL, 0, LOOK_MS);
    }
    return true;
}

/* WEIR_OK: the file goes with what the others have. */
static enum weir_status compare(struct lives *lives, const struct key_file *file,
                                struct weir_slice theirs, char error[KEY_FILES_ERROR_BYTES])
{
    struct weir_slice ours = weir_slice_of(file->ids);
    struct weir_slice newest = wordlist_last(theirs);
    if (!wordlist_have(ours, newest)) {
        snprintf(
            error, KEY_FILES_ERROR_BYTES,
            "%s is not the file of the other nodes (theirs has the key %.*s): copy %s from the "
            "data folder of one of them",
            file->path, (int)newest.len, newest.ptr, file->name);
        return WEIR_INVALID;
    }
    if (!lives || goes_with_all(lives, ours, newest)) return WEIR_OK;
    if (is_known(lives, ours, newest))
        snprintf(error, KEY_FILES_ERROR_BYTES,
                 "%s lacks a key that another node uses: copy %s from the data folder of one of "
                 "them",
                 file->path, file->name);
    else
        snprintf(error, KEY_FILES_ERROR_BYTES,
                 "the first key of %s is not in the files of all other nodes: put it behind their "
                 "first one, start them again, and only then put it in front",
                 file->path);
    return WEIR_INVALID;
}

/* Theirs, and behind them our first, if it is new. */
static void join(struct weir_slice theirs, struct weir_slice first, struct weir_buf *out)
{
    weir_buf_append_slice(out, theirs);
    if (wordlist_have(theirs, first)) return;
    if (out->len > 0) weir_buf_append(out, " ", 1);
    weir_buf_append_slice(out, first);
}

static enum weir_status write_down(struct store *store, const struct key_file *file,
                                   const struct doc *doc)
{
    struct weir_slice theirs = doc ? doc->body : slice_of(NULL, 0);
    struct weir_buf all;
    struct commit *c = commit_new(COMMIT_BYTES);
    if (!c) return WEIR_NOMEM;
    weir_buf_init(&all, STORE_DOC_BYTES);
    join(theirs, wordlist_first(weir_slice_of(file->ids)), &all);
    enum weir_status st = weir_buf_status(&all);
    bool is_new = st == WEIR_OK && all.len != theirs.len;
    if (is_new)
        commit_put(c, key_of(file), doc ? doc->version : DOC_MUST_BE_NEW, SLICE(""),
                   weir_buf_slice(&all));
    if (is_new) st = store_commit_wait(store, c).status;
    else commit_free(c);
    weir_buf_fini(&all);
    return st;
}

static enum weir_status match_once(struct store *store, struct lives *lives,
                                   const struct key_file *file, char error[KEY_FILES_ERROR_BYTES])
{
    struct doc doc;
    enum weir_status st = store_doc_get(store, key_of(file), &doc);
    if (st == WEIR_NOT_FOUND) return write_down(store, file, NULL);
    if (st != WEIR_OK) return st;
    st = compare(lives, file, doc.body, error);
    if (st == WEIR_OK) st = write_down(store, file, &doc);
    doc_fini(&doc);
    return st;
}

enum weir_status key_files_match(struct store *store, struct lives *lives,
                                 const struct key_file *file, char error[KEY_FILES_ERROR_BYTES])
{
    enum weir_status st = WEIR_CONFLICT;
    error[0] = 0;
    /* Another node may start at the same time. */
    for (int i = 0; i < TRIES && (st == WEIR_CONFLICT || st == WEIR_EXISTS); i++)
        st = match_once(store, lives, file, error);
    if (st != WEIR_OK && error[0] == 0)
        snprintf(error, KEY_FILES_ERROR_BYTES, "cannot compare %s with the other nodes': %s",
                 file->path, weir_status_text(st));
    return st;
}
