/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine is to store.c: each function of store.h that depends on how things are kept has
 * its place here, with the meaning it has there. An engine's own struct begins with a `struct
 * store`. What store.c has looked after is not looked at again: names that are too long, what an
 * answer or an error is before there is one.
 */
#pragma once

#include "base/container.h"
#include "store/passage.h"
#include "store/store.h"

struct store_engine {
    bool is_shared; /* other processes may have the same store open */
    void (*close)(struct store *s);
    void (*commit_run)(struct store *s, struct commit_run *run);
    enum weir_status (*view_doc)(struct store *s, struct doc_key key, struct doc *out);
    enum weir_status (*view_log)(struct store *s, struct weir_slice log, struct log_state *out);
    enum weir_status (*trim)(struct store *s, struct weir_slice log, uint64_t before);
    void (*read)(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                 struct log_read *out);
    bool (*read_now)(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                     struct log_read *out);
    void (*read_later)(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                       log_read_fn done, void *user);
    enum weir_status (*later)(struct store *s, void (*work)(void *user), void *user);
    enum weir_status (*doc_get)(struct store *s, struct doc_key key, struct doc *out);
    enum weir_status (*doc_list)(struct store *s, const struct doc_query *query, doc_fn each,
                                 void *user);
    enum weir_status (*search)(struct store *s, const struct passage_query *query, passage_fn each,
                               void *user);
    enum weir_status (*is_writable)(struct store *s);
    int64_t (*wall_ms)(struct store *s);
    enum weir_status (*settle)(struct store *s);
    enum weir_status (*backup)(struct store *s, const char *path, struct store_error *error);
    enum weir_status (*check)(struct store *s, store_complaint_fn complain, void *user,
                              uint64_t *n_wrong);
    void (*stats)(struct store *s, struct store_stats *out);
};

struct store {
    const struct store_engine *engine;
};

/* What a `decide` looks through; documents it is shown last until it returns. */
struct commit_view {
    struct store *s;
};

/* As store_open(); *out is NULL and the error's text empty when they are called. */
WEIR_MUST_CHECK enum weir_status embedded_open(struct store **out, const char *folder,
                                               const struct store_options *options,
                                               struct store_error *error);

/* The same of a database; and whether a place is one. */
WEIR_MUST_CHECK enum weir_status pg_store_open(struct store **out, const char *url,
                                               const struct store_options *options,
                                               struct store_error *error);
bool place_is_database(const char *place);

void store_histogram_add(struct store_histogram *h, uint64_t value);
