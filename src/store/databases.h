/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The databases of a store that has several (pg_clusters.h), for whoever looks after them: which
 * there are, how much they have, which take new logs. Nodes may run meanwhile; nothing is made or
 * migrated here.
 *
 * The list of URLs is as store_open() takes it. A database is known by its number, which it keeps
 * and nobody gets again; 0 is the first one, which decides and therefore stays.
 *
 *   WEIR_INVALID     the list is none, or its first is not the first of a store
 *   WEIR_NOT_FOUND   there is no store; there is no database of that number
 *   WEIR_CONFLICT    not as things are: the error says what has to happen before
 *   WEIR_LIMIT, WEIR_STORAGE, WEIR_NOMEM, WEIR_INTERNAL
 *
 * An error's text is for people, and is there whenever one of these fails. One thread at a time.
 */
#pragma once

#include "store/store.h"

enum {
    STORE_MAX_DATABASES = 32,  /* that are listed */
    STORE_NO_DATABASE = -1,    /* the number of one that is not in the store */
    STORE_NOTICED_SECONDS = 5, /* so long until all nodes know */
};

struct store_database {
    int number; /* STORE_NO_DATABASE: not in the store, or nobody can tell */
    char *url;  /* NULL: it is in the store, and the list does not name it */
    bool is_open;
    bool is_reached;
    uint64_t n_logs;  /* whose events are there */
    uint64_t n_bytes; /* of events, with what finds them, as its disk has it; 0: not reached */
    struct store_error trouble; /* what is wrong with it; empty: nothing */
};

struct store_databases {
    size_t n;
    struct store_database all[STORE_MAX_DATABASES];
};

/* In the order of the list, then those that it does not name. One that is away is told of, too. */
WEIR_MUST_CHECK enum weir_status store_databases_list(const char *urls, struct store_databases *out,
                                                      struct store_error *error);
void store_databases_fini(struct store_databases *d); /* zeroed is fine */

/* Whether new logs may be put there. When none is open, they are put into the first. */
WEIR_MUST_CHECK enum weir_status store_databases_open(const char *urls, unsigned number,
                                                      bool is_open, struct store_error *error);

/*
 * Takes one away that is closed and that no log needs: WEIR_CONFLICT otherwise. It is emptied and
 * belongs to nobody then; *is_freed is false when that could not be done, for it was not reached.
 */
WEIR_MUST_CHECK enum weir_status store_databases_remove(const char *urls, unsigned number,
                                                        bool *is_freed, struct store_error *error);
