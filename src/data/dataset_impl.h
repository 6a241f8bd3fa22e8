/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a dataset gets what it does not have yet. Private to src/data.
 *
 * A loader fills the dataset by the dataset_add_…() functions, each part when it is asked for
 * first and once: `index` before all others. A status that is not WEIR_OK goes to whoever asked,
 * and the part is asked for again the next time; what it added before it failed stays, so it adds
 * last, or nothing.
 */
#pragma once

#include "data/dataset.h"

struct dataset_loader {
    /* Calls dataset_declare() for each metric that has values. */
    WEIR_MUST_CHECK enum weir_status (*index)(void *user, struct dataset *d);
    /* Adds the series of a metric that was declared. */
    WEIR_MUST_CHECK enum weir_status (*series)(void *user, struct dataset *d,
                                               const struct metric *m);
    WEIR_MUST_CHECK enum weir_status (*workouts)(void *user, struct dataset *d);
    WEIR_MUST_CHECK enum weir_status (*sleeps)(void *user, struct dataset *d);
    WEIR_MUST_CHECK enum weir_status (*labs)(void *user, struct dataset *d);
    void (*close)(void *user); /* when the dataset goes; may be NULL */
};

/* An empty dataset that fills itself; NULL: no memory, and `user` is still the caller's. */
struct dataset *dataset_new_with(const struct dataset_loader *loader, void *user);

/* There are values of this metric, the first and the newest on these days. */
WEIR_MUST_CHECK enum weir_status dataset_declare(struct dataset *d, const struct metric *m,
                                                 int32_t first, int32_t newest);
