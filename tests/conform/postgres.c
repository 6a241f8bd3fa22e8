/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine on PostgreSQL: a server for all cases, and a database for each folder that goes with
 * the case. Databases are copies of one that has the tables already: making those is another
 * test's. With CONFORM_CLUSTERS a store has so many of them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/slice.h"
#include "conform/engine.h"
#include "pg_server.h"
#include "store/pg_tables.h"
#include "t.h"

#ifndef CONFORM_CLUSTERS
#define CONFORM_CLUSTERS 1
#endif

enum { NAME_BYTES = 24, MAX_DATABASES = 4 * CONFORM_CLUSTERS, SKIPPED = 77, URL_BYTES = 1024 };

static char used[MAX_DATABASES][NAME_BYTES];
static char last_case[512]; /* the folder of the case that used them */

static void prepare(void)
{
    struct pg *pg = NULL;
    const char *url = pg_server_database("template1");
    if (!url) {
        printf("PostgreSQL is not there\n");
        exit(SKIPPED);
    }
    T_EQ(pg_open(&pg, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    T_EQ(pg_migrate(pg, NULL), WEIR_OK);
    pg_close(pg);
}

/* Those of another case go. */
static void drop_used(void)
{
    if (strcmp(last_case, t_temp_dir()) == 0) return;
    snprintf(last_case, sizeof last_case, "%s", t_temp_dir());
    for (size_t i = 0; i < MAX_DATABASES; i++) {
        if (used[i][0]) pg_server_drop(used[i]);
        used[i][0] = '\0';
    }
}

static const char *database_of(const char *folder, int cluster)
{
    static const struct hash_key key;
    char name[NAME_BYTES];
    size_t i = 0;
    snprintf(name, sizeof name, "c%016llx_%d",
             (unsigned long long)hash_bytes(key, weir_slice_of(folder)), cluster);
    while (i < MAX_DATABASES - 1 && used[i][0] && strcmp(used[i], name) != 0) i++;
    snprintf(used[i], NAME_BYTES, "%s", name);
    return pg_server_database(used[i]);
}

static const char *databases_of(const char *folder)
{
    static char urls[URL_BYTES];
    int len = 0;
    drop_used();
    for (int i = 0; i < CONFORM_CLUSTERS; i++)
        len += snprintf(urls + len, sizeof urls - (size_t)len, "%s%s", i > 0 ? "," : "",
                        database_of(folder, i));
    return urls;
}

const bool engine_backs_up = false;

enum weir_status engine_open(struct store **out, const char *folder,
                             const struct store_options *options)
{
    static bool is_prepared;
    struct store_error error = {""};
    if (!is_prepared) prepare();
    is_prepared = true;
    enum weir_status st = store_open(out, databases_of(folder), options, &error);
    if (st != WEIR_OK) printf("store_open: %s\n", error.text);
    return st;
}
