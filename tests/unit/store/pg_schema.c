/* SPDX-License-Identifier: Apache-2.0 */
/* The tables on PostgreSQL: made once by whoever comes first, and left alone by all others. */
#include <pthread.h>
#include <stdio.h>

#include "pg_server.h"
#include "store/pg_tables.h"
#include "t.h"

/* A database of this case's own. */
static struct pg *open_database(const char *name)
{
    struct pg *pg = NULL;
    const char *url = pg_server_database(name);
    if (url) T_EQ(pg_open(&pg, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    return pg;
}

/* Yesterday, today, seven to come, and the one of no day; one more at midnight. */
static bool are_all(int64_t n_partitions)
{
    return n_partitions == 10 || n_partitions == 11;
}

static int64_t ask(struct pg *pg, const char *sql)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, sql);
    T_EQ(pg_run(pg, &rows), WEIR_OK);
    int64_t n = rows ? pg_get_int(rows, 0, 0) : -1;
    pg_rows_free(rows);
    return n;
}

TEST(empty_database_gets_the_tables_once)
{
    struct pg *pg = open_database("once");
    if (!pg) return;
    for (int i = 0; i < 2; i++) {
        struct store_error error = {""};
        T_EQ(pg_migrate(pg, &error), WEIR_OK);
        T_EQ_STR(weir_slice_of(error.text), "");
        T_EQ(ask(pg, "SELECT version FROM weir.meta"), pg_newest_version());
        T_OK(are_all(
            ask(pg, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'weir.chunks'::regclass")));
    }
    pg_close(pg);
}

static void *migrate(void *url)
{
    struct pg *pg = NULL;
    struct store_error error = {""};
    T_EQ(pg_open(&pg, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    T_EQ(pg_migrate(pg, &error), WEIR_OK);
    if (error.text[0]) printf("%s\n", error.text);
    pg_close(pg);
    return NULL;
}

TEST(many_nodes_may_come_at_once)
{
    pthread_t threads[6];
    char url[320];
    struct pg *pg = open_database("many");
    if (!pg) return;
    snprintf(url, sizeof url, "%s", pg_server_database("many"));
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], NULL, migrate, url);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    T_EQ(ask(pg, "SELECT version FROM weir.meta"), pg_newest_version());
    pg_close(pg);
}

TEST(one_step_ahead_is_lived_with_and_two_are_not)
{
    struct store_error error = {""};
    struct pg *pg = open_database("ahead");
    if (!pg) return;
    T_EQ(pg_migrate(pg, &error), WEIR_OK);
    T_EQ(pg_script(pg, "UPDATE weir.meta SET version = version + 1"), WEIR_OK);
    T_EQ(pg_migrate(pg, &error), WEIR_OK);
    T_EQ(ask(pg, "SELECT version FROM weir.meta"), pg_newest_version() + 1);
    T_EQ(pg_script(pg, "UPDATE weir.meta SET version = version + 1"), WEIR_OK);
    T_EQ(pg_migrate(pg, &error), WEIR_NEWER);
    T_OK(strstr(error.text, "schema"));
    pg_close(pg);
}

TEST(migration_that_fails_leaves_nothing)
{
    struct store_error error = {""};
    struct pg *pg = open_database("fails");
    if (!pg) return;
    /* Somebody else's schema of that name. */
    T_EQ(pg_script(pg, "CREATE SCHEMA weir; CREATE TABLE weir.other (n int)"), WEIR_OK);
    T_EQ(pg_migrate(pg, &error), WEIR_INTERNAL);
    T_OK(strstr(error.text, "weir"));
    T_EQ(ask(pg, "SELECT count(*) FROM pg_tables WHERE schemaname = 'weir'"), 1);
    T_EQ(ask(pg, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database ="
                 " (SELECT oid FROM pg_database WHERE datname = current_database())"),
         0);
    pg_close(pg);
}

TEST(partition_is_made_while_others_write_and_read)
{
    struct pg *pg = open_database("days");
    struct pg *other = NULL;
    if (!pg) return;
    T_EQ(pg_migrate(pg, NULL), WEIR_OK);
    T_EQ(pg_open(&other,
                 &(struct pg_options){.url = pg_server_database("days"), .statement_ms = 10000},
                 NULL),
         WEIR_OK);
    T_EQ(pg_script(pg, "INSERT INTO weir.chunks (log, first, last, bytes) VALUES (1, 1, 1, 'x')"),
         WEIR_OK);
    /* Two are taken away, as where the clock jumped; a writer and reader holds locks meanwhile. */
    for (int day = 3; day <= 7; day += 4) {
        char sql[160];
        snprintf(sql, sizeof sql,
                 "DO $$ BEGIN EXECUTE 'DROP TABLE weir.chunks_' || to_char("
                 "timezone('UTC', now())::date + %d, 'YYYYMMDD'); END $$",
                 day);
        T_EQ(pg_script(pg, sql), WEIR_OK);
        if (day == 3) T_EQ(pg_make_days(other), WEIR_OK);
    }
    T_EQ(pg_script(pg, "BEGIN; SELECT * FROM weir.chunks;"
                       "INSERT INTO weir.chunks (log, first, last, bytes) VALUES (1, 2, 2, 'x')"),
         WEIR_OK);
    T_EQ(pg_make_days(other), WEIR_OK);
    T_EQ(pg_script(pg, "COMMIT"), WEIR_OK);
    T_OK(are_all(
        ask(pg, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'weir.chunks'::regclass")));
    T_EQ(ask(pg, "SELECT count(*) FROM weir.chunks"), 2);
    pg_close(other);
    pg_close(pg);
}

TEST(log_that_is_deleted_is_noted_as_garbage)
{
    struct pg *pg = open_database("garbage");
    if (!pg) return;
    T_EQ(pg_migrate(pg, NULL), WEIR_OK);
    T_EQ(pg_script(pg, "INSERT INTO weir.logs (id, name, last, expires_ms)"
                       " VALUES (1, 'a', 0, NULL), (2, 'b', 0, 5), (3, 'c', 0, NULL);"
                       "DELETE FROM weir.logs WHERE id < 3"),
         WEIR_OK);
    T_EQ(ask(pg, "SELECT count(*) FROM weir.garbage"), 2);
    T_EQ(ask(pg, "SELECT log FROM weir.garbage WHERE expires_ms = 5"), 2);
    pg_close(pg);
}
