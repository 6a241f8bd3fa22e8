/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invented people of tests/data/people and of the shared samples, for the tests of this
 * folder: their tables imported into a store in the case's folder, opened as a dataset. Once in a
 * program for each person, since an import takes a while.
 */
#pragma once

#include <stdio.h>
#include <unistd.h>

#include "desk.h"
#include "import/import.h"

struct person {
    struct store *store;
    struct dataset *data;
};

static inline struct person person_open(const char *folder, const char *name)
{
    static struct import_summary summary;
    static const char *const tables[] = {"daily", "activities", "labs"};
    struct import_error error;
    struct store_error why;
    struct person p = {0};
    char at[512], paths[3][512];
    const char *list[3];
    size_t n = 0;
    snprintf(at, sizeof at, "%s/%s", t_temp_dir(), name);
    for (size_t i = 0; i < 3; i++) {
        snprintf(paths[n], sizeof paths[n], "%s/%s_%s.csv", folder, name, tables[i]);
        list[n] = paths[n];
        if (access(paths[n], R_OK) == 0) n++;
    }
    struct store_options quick = {.durability = STORE_DURABLE_NORMAL};
    struct import_options options = {.user = weir_slice_of(name),
                                     .paths = list,
                                     .n_paths = n,
                                     .zone = "UTC",
                                     .clock = &clock_system};
    T_EQ(store_open(&p.store, at, &quick, &why), WEIR_OK);
    T_EQ(import_run(p.store, &options, &summary, &error), WEIR_OK);
    T_EQ(dataset_open(&p.data, p.store, weir_slice_of(name)), WEIR_OK);
    return p;
}

static inline void person_close(struct person *p)
{
    dataset_free(p->data);
    store_close(p->store);
}
