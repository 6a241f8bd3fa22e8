/* SPDX-License-Identifier: Apache-2.0 */
/*
 * People's documents over HTTP: one of them, and pages of them, the newest first. Reading may wait
 * for the disk, so threads of the store's do it and the answer follows on the loop.
 *
 * A document of somebody else is not there, and the answer is the same as for one that never was.
 *
 * Loop thread only.
 */
#pragma once

#include "io/loop.h"
#include "serve/resource.h"

enum { DOCUMENT_ID_BYTES = 64, DOCUMENT_OWNER_BYTES = 64 };

/* A kind of documents as clients see it. */
struct document_kind {
    const char *kind;                      /* in the store */
    bool (*is_id)(struct weir_slice text); /* whether one could be called so */
    enum weir_status missing;              /* what is said when there is none: WEIR_NO_… */
};

struct document_asked;
typedef void (*document_found_fn)(struct exchange *ex, struct document_asked *asked);

/* A question about one. In the exchange's memory. */
struct document_asked {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct store *store;
    const struct document_kind *kind;
    char id[DOCUMENT_ID_BYTES];
    char owner[DOCUMENT_OWNER_BYTES];
    document_found_fn found;

    /* The answer. */
    enum weir_status status;
    struct doc doc; /* goes when `found` returns */
};

/*
 * About the one that the path names: `size` zeroed bytes that begin with a struct document_asked;
 * NULL when that was answered with an error.
 */
void *document_asked_new(struct exchange *ex, const struct document_kind *kind, size_t size);

/* Looks it up and calls `found` on the loop, which answers; not when it is not there. */
void document_ask(struct document_asked *asked, document_found_fn found);

/* GET of one: its body is the answer. */
void document_get(struct exchange *ex, const struct document_kind *kind);

/* ---- pages ---- */

/* The parameter "limit" of a list; false when that was answered with an error. */
bool document_take_limit(struct exchange *ex, uint64_t *limit);

/* Whether a document is wanted on a page; `wanted` is what documents_list() was given. */
typedef bool (*document_filter_fn)(const void *wanted, const struct doc *doc);

/*
 * GET of all: {"data":[…],"next_cursor":…}, by "limit" and "cursor". `wanted` lives in the
 * exchange's memory; without a filter all are.
 */
void documents_list(struct exchange *ex, const struct document_kind *kind,
                    document_filter_fn is_wanted, const void *wanted);
