/* SPDX-License-Identifier: Apache-2.0 */
/*
 * People's data in memory, between two who use them. 1. shelf_init(). 2. shelf_take(), use the
 * data alone, shelf_give(). 3. shelf_fini(). Whoever changes anybody's data counts `generation` up.
 *
 * Any thread, but for the first and the last.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "data/dataset.h"

enum {
    SHELF_DATASETS = 32,    /* that nobody uses at the moment */
    SHELF_OWNER_BYTES = 64, /* of an owner's name, with a NUL */
};

struct shelved {
    struct dataset *data;
    uint64_t generation;
    char owner[SHELF_OWNER_BYTES];
};

struct shelf {
    struct store *store;
    pthread_mutex_t lock;
    atomic_uint_fast64_t generation; /* counts changes of anybody's data */
    struct shelved idle[SHELF_DATASETS];
    unsigned n_idle; /* the newest last */
};

void shelf_init(struct shelf *s, struct store *store);
void shelf_fini(struct shelf *s);
/* The person's data, for the caller alone until shelf_give(). What the store says. */
WEIR_MUST_CHECK enum weir_status shelf_take(struct shelf *s, struct weir_slice owner,
                                            struct shelved *out);
void shelf_give(struct shelf *s, struct shelved *data);
