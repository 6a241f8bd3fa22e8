/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection to PostgreSQL says, of a real server. */
#include "store/pg.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/slice.h"
#include "pg_server.h"
#include "t.h"

static struct pg *open_pg(void)
{
    struct pg *pg = NULL;
    struct store_error error = {""};
    const char *url = pg_server_url();
    if (!url) return NULL;
    enum weir_status st = pg_open(&pg, &(struct pg_options){.url = url, .name = "test"}, &error);
    T_EQ(st, WEIR_OK);
    if (st != WEIR_OK) printf("pg_open: %s\n", error.text);
    return pg;
}

/* A table of this case's own. */
static struct pg *open_with(const char *script)
{
    struct pg *pg = open_pg();
    if (pg) T_EQ(pg_script(pg, script), WEIR_OK);
    return pg;
}

TEST(values_of_every_type_come_back)
{
    static const char *const sql = "SELECT $1, $2, $3, $4, NULL::bigint, $1::int";
    struct pg_rows *rows = NULL;
    struct pg *pg = open_pg();
    if (!pg) return;
    for (int i = 0; i < 3; i++) {
        pg_call(pg, sql);
        pg_int(pg, -77);
        pg_bool(pg, i != 0);
        pg_bytes(pg, slice_of("a\0\xff", 3));
        pg_text(pg, SLICE(""));
        T_EQ(pg_run(pg, &rows), WEIR_OK);
        T_EQ(pg_n_rows(rows), 1);
        T_EQ(pg_get_int(rows, 0, 0), -77);
        T_EQ(pg_get_bool(rows, 0, 1), i != 0);
        T_EQ_SLICE(pg_get_bytes(rows, 0, 2), slice_of("a\0\xff", 3));
        T_EQ(pg_get_bytes(rows, 0, 3).len, 0);
        T_OK(!pg_is_null(rows, 0, 3));
        T_OK(pg_is_null(rows, 0, 4));
        T_EQ(pg_get_int(rows, 0, 5), -77);
        pg_rows_free(rows);
    }
    T_OK(pg_version(pg) >= 150000);
    T_OK(pg_process(pg) > 0);
    pg_close(pg);
}

TEST(arrays_become_rows)
{
    static const char *const sql = "SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::boolean[],"
                                   " $4::text[]) AS t(a, b, c, d) ORDER BY a";
    static const int64_t ints[] = {INT64_MIN, -1, INT64_MAX};
    static const struct weir_slice bytes[] = {{"", 0}, {"\0", 1}, {"xyz", 3}};
    static const bool bools[] = {true, false, true};
    struct pg_rows *rows = NULL;
    struct pg *pg = open_pg();
    if (!pg) return;
    for (size_t n = 0; n <= 3; n++) {
        pg_call(pg, sql);
        pg_ints(pg, ints, n);
        pg_bytes_array(pg, bytes, n);
        pg_bools(pg, bools, n);
        pg_text_array(pg, (const struct weir_slice[]){{"p", 1}, {NULL, 0}, {"q", 1}}, n);
        T_EQ(pg_run(pg, &rows), WEIR_OK);
        T_EQ(pg_n_rows(rows), n);
        for (size_t i = 0; i < n; i++) {
            T_EQ(pg_get_int(rows, i, 0), ints[i]);
            T_EQ_SLICE(pg_get_bytes(rows, i, 1), bytes[i]);
            T_EQ(pg_get_bool(rows, i, 2), bools[i]);
        }
        pg_rows_free(rows);
    }
    pg_close(pg);
}

static void insert(struct pg *pg, int64_t n)
{
    pg_call(pg, "INSERT INTO t_pipe VALUES ($1)");
    pg_int(pg, n);
    pg_send(pg);
}

static int64_t count(struct pg *pg)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, "SELECT count(*) FROM t_pipe");
    T_EQ(pg_run(pg, &rows), WEIR_OK);
    int64_t n = rows ? pg_get_int(rows, 0, 0) : -1;
    pg_rows_free(rows);
    return n;
}

TEST(failed_group_leaves_nothing_and_the_next_one_happens)
{
    struct pg *pg = open_with("DROP TABLE IF EXISTS t_pipe; CREATE TABLE t_pipe (n bigint UNIQUE)");
    if (!pg) return;
    insert(pg, 1);
    insert(pg, 2);
    pg_sync(pg);
    insert(pg, 3);
    insert(pg, 1);
    insert(pg, 4);
    pg_sync(pg);
    insert(pg, 5);
    pg_sync(pg);
    T_EQ(pg_n_pending(pg), 6);
    T_EQ(pg_take(pg, NULL), WEIR_OK);
    T_EQ(pg_take(pg, NULL), WEIR_OK);
    T_EQ(pg_take(pg, NULL), WEIR_OK);
    T_EQ(pg_take(pg, NULL), WEIR_CONFLICT);
    T_OK(strcmp(pg_state(pg), "23505") == 0);
    T_OK(strstr(pg_message(pg), "unique"));
    T_EQ(pg_take(pg, NULL), WEIR_CONFLICT);
    T_EQ(pg_take(pg, NULL), WEIR_OK);
    T_EQ(pg_n_pending(pg), 0);
    T_EQ(count(pg), 3);
    T_OK(!pg_is_broken(pg));
    pg_close(pg);
}

TEST(statement_that_was_skipped_before_it_was_prepared_is_prepared_later)
{
    struct pg_rows *rows = NULL;
    static const char *const sql = "SELECT 4711::bigint";
    struct pg *pg = open_pg();
    if (!pg) return;
    pg_call(pg, "SELECT 1/0");
    pg_send(pg);
    pg_call(pg, sql);
    pg_send(pg);
    pg_sync(pg);
    T_EQ(pg_take_all(pg), WEIR_INTERNAL);
    T_OK(strcmp(pg_state(pg), "22012") == 0);
    pg_call(pg, sql);
    T_EQ(pg_run(pg, &rows), WEIR_OK);
    T_EQ(pg_get_int(rows, 0, 0), 4711);
    pg_rows_free(rows);
    pg_close(pg);
}

TEST(constraint_that_fails_at_the_end_of_its_transaction_is_told)
{
    struct pg *pg = open_with("DROP TABLE IF EXISTS t_pipe; CREATE TABLE t_pipe "
                              "(n bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    if (!pg) return;
    insert(pg, 1);
    pg_sync(pg);
    insert(pg, 1);
    pg_sync(pg);
    insert(pg, 2);
    pg_sync(pg);
    T_EQ(pg_take(pg, NULL), WEIR_OK);
    T_EQ(pg_take(pg, NULL), WEIR_CONFLICT);
    T_EQ(pg_take(pg, NULL), WEIR_OK);
    T_EQ(count(pg), 2);
    pg_close(pg);
}

TEST(groups_larger_than_all_buffers_pass_both_ways)
{
    enum { N = 16, SIZE = 1 << 20 };
    struct pg *pg = open_pg();
    char *bytes = malloc(SIZE);
    if (!pg || !bytes) return;
    memset(bytes, 'x', SIZE);
    for (int i = 0; i < N; i++) {
        pg_call(pg, "SELECT $1::bytea");
        pg_bytes(pg, slice_of(bytes, SIZE));
        pg_send(pg);
    }
    pg_sync(pg);
    for (int i = 0; i < N; i++) {
        struct pg_rows *rows = NULL;
        T_EQ(pg_take(pg, &rows), WEIR_OK);
        T_EQ_SLICE(pg_get_bytes(rows, 0, 0), slice_of(bytes, SIZE));
        pg_rows_free(rows);
    }
    free(bytes);
    pg_close(pg);
}

TEST(states_of_the_server_become_ours)
{
    static const struct {
        const char *state;
        enum weir_status status;
    } cases[] = {
        {"23505", WEIR_CONFLICT}, {"40001", WEIR_CONFLICT}, {"40P01", WEIR_CONFLICT},
        {"55P03", WEIR_CONFLICT}, {"WR001", WEIR_CONFLICT}, {"53100", WEIR_NO_SPACE},
        {"53200", WEIR_STORAGE},  {"57014", WEIR_STORAGE},  {"58030", WEIR_STORAGE},
        {"XX001", WEIR_CORRUPT},  {"42P01", WEIR_INTERNAL}, {"P0001", WEIR_INTERNAL},
    };
    char sql[128];
    struct pg *pg = open_pg();
    if (!pg) return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(sql, sizeof sql, "DO $$BEGIN RAISE EXCEPTION 'so' USING ERRCODE = '%s'; END$$",
                 cases[i].state);
        T_EQ(pg_script(pg, sql), cases[i].status);
        T_OK(!pg_is_broken(pg));
        T_OK(strcmp(pg_message(pg), "so") == 0);
    }
    pg_close(pg);
}

TEST(slow_statement_is_given_up_by_the_server)
{
    struct pg *pg = NULL;
    const char *url = pg_server_url();
    if (!url) return;
    T_EQ(pg_open(&pg, &(struct pg_options){.url = url, .statement_ms = 1000}, NULL), WEIR_OK);
    pg_call(pg, "SELECT pg_sleep(60)");
    T_EQ(pg_run(pg, NULL), WEIR_STORAGE);
    T_OK(!pg_is_broken(pg));
    pg_call(pg, "SELECT 1");
    T_EQ(pg_run(pg, NULL), WEIR_OK);
    pg_close(pg);
}

TEST(server_that_does_not_answer_is_given_up)
{
    struct pg *pg = NULL;
    const char *url = pg_server_url();
    if (!url) return;
    T_EQ(pg_open(&pg, &(struct pg_options){.url = url, .statement_ms = 60000}, NULL), WEIR_OK);
    pg_set_timeout(pg, 20);
    pg_call(pg, "SELECT pg_sleep(60)");
    T_EQ(pg_run(pg, NULL), WEIR_STORAGE);
    T_OK(pg_is_broken(pg));
    pg_call(pg, "SELECT 1");
    T_EQ(pg_run(pg, NULL), WEIR_STORAGE);
    pg_close(pg);
}

TEST(connection_that_was_ended_is_broken)
{
    struct pg *pg = open_pg();
    struct pg *other = open_pg();
    if (!pg) return;
    pg_call(other, "SELECT pg_terminate_backend($1::int)");
    pg_int(other, pg_process(pg));
    T_EQ(pg_run(other, NULL), WEIR_OK);
    pg_call(pg, "SELECT 1");
    pg_send(pg);
    pg_call(pg, "SELECT 2");
    pg_send(pg);
    pg_sync(pg);
    T_EQ(pg_take(pg, NULL), WEIR_STORAGE);
    T_EQ(pg_take(pg, NULL), WEIR_STORAGE);
    T_OK(pg_is_broken(pg));
    pg_close(pg);
    pg_close(other);
}

TEST(nobody_there_and_no_url_are_told_apart)
{
    struct pg *pg = NULL;
    struct store_error error = {""};
    char url[400];
    snprintf(url, sizeof url, "postgresql:///x?host=%s", t_temp_dir());
    T_EQ(pg_open(&pg, &(struct pg_options){.url = url}, &error), WEIR_STORAGE);
    T_OK(error.text[0] != '\0');
    T_EQ(pg_open(&pg, &(struct pg_options){.url = "postgresql://h:x:y/%"}, &error), WEIR_INVALID);
    T_OK(!pg);
}

TEST(notification_reaches_a_listener)
{
    struct pg_note note;
    struct pg *pg = open_pg();
    struct pg *other = open_pg();
    if (!pg) return;
    T_EQ(pg_script(pg, "LISTEN weir_test"), WEIR_OK);
    T_OK(!pg_next_note(pg, &note));
    pg_call(other, "SELECT pg_notify('weir_test', $1)");
    pg_text(other, SLICE("hello"));
    T_EQ(pg_run(other, NULL), WEIR_OK);
    struct pollfd poll_fd = {.fd = pg_socket(pg), .events = POLLIN};
    T_EQ(poll(&poll_fd, 1, 10000), 1);
    T_EQ(pg_hear(pg), WEIR_OK);
    T_OK(pg_next_note(pg, &note));
    T_EQ_STR(note.channel, "weir_test");
    T_EQ_STR(note.payload, "hello");
    T_EQ(note.process, pg_process(other));
    pg_note_fini(&note);
    T_OK(!pg_next_note(pg, &note));
    /* Also while an answer is taken. */
    pg_call(pg, "SELECT pg_notify('weir_test', $1)");
    pg_text(pg, SLICE("own"));
    T_EQ(pg_run(pg, NULL), WEIR_OK);
    T_OK(pg_next_note(pg, &note));
    pg_note_fini(&note);
    pg_close(pg);
    pg_close(other);
}

/* ---- the pool ---- */

TEST(pool_gives_no_more_than_it_may)
{
    struct pg_pool *pool = NULL;
    struct pg *pg[3];
    struct pg_pool_stats stats;
    const char *url = pg_server_url();
    if (!url) return;
    T_EQ(pg_pool_new(&pool, &(struct pg_options){.url = url}, 2), WEIR_OK);
    T_EQ(pg_pool_take(pool, 0, &pg[0]), WEIR_OK);
    T_EQ(pg_pool_take(pool, 0, &pg[1]), WEIR_OK);
    pg_pool_stats(pool, &stats);
    T_OK(stats.n_out == 2 && stats.n_max == 2 && stats.n_waits == 0 && stats.n_busy == 0);
    T_EQ(pg_pool_take(pool, 10, &pg[2]), WEIR_BUSY);
    pg_pool_stats(pool, &stats);
    T_OK(stats.n_out == 2 && stats.n_waits == 1 && stats.n_busy == 1);
    int process = pg_process(pg[1]);
    pg_pool_give(pool, pg[1]);
    T_EQ(pg_pool_take(pool, 0, &pg[2]), WEIR_OK);
    T_EQ(pg_process(pg[2]), process);
    pg_pool_give(pool, pg[0]);
    pg_pool_give(pool, pg[2]);
    pg_pool_stats(pool, &stats);
    T_OK(stats.n_out == 0 && stats.n_waits == 1);
    pg_pool_free(pool);
}

TEST(pool_forgets_connections_that_died_with_one)
{
    struct pg_pool *pool = NULL;
    struct pg *pg[2];
    const char *url = pg_server_url();
    if (!url) return;
    T_EQ(pg_pool_new(&pool, &(struct pg_options){.url = url}, 2), WEIR_OK);
    T_EQ(pg_pool_take(pool, 0, &pg[0]), WEIR_OK);
    T_EQ(pg_pool_take(pool, 0, &pg[1]), WEIR_OK);
    pg_pool_give(pool, pg[0]);
    pg_server_stop();
    pg_call(pg[1], "SELECT 1");
    T_EQ(pg_run(pg[1], NULL), WEIR_STORAGE);
    pg_pool_give(pool, pg[1]);
    T_EQ(pg_pool_take(pool, 0, &pg[0]), WEIR_STORAGE);
    pg_server_start();
    for (int i = 0; i < 2; i++) {
        /* For a moment nobody tries again. */
        uint64_t end = clock_mono_ns(&clock_system) + UINT64_C(10000000000);
        enum weir_status st = pg_pool_take(pool, 0, &pg[i]);
        while (st == WEIR_STORAGE && clock_mono_ns(&clock_system) < end)
            st = pg_pool_take(pool, 0, &pg[i]);
        T_EQ(st, WEIR_OK);
        if (st != WEIR_OK) return;
        pg_call(pg[i], "SELECT 1");
        T_EQ(pg_run(pg[i], NULL), WEIR_OK);
    }
    pg_pool_give(pool, pg[0]);
    pg_pool_give(pool, pg[1]);
    pg_pool_free(pool);
}

struct waiter {
    struct pg_pool *pool;
    enum weir_status status;
};

static void *wait_for_one(void *user)
{
    struct waiter *w = user;
    struct pg *pg = NULL;
    w->status = pg_pool_take(w->pool, 30000, &pg);
    if (pg) pg_pool_give(w->pool, pg);
    return NULL;
}

TEST(pool_wakes_who_waits)
{
    struct waiter w = {0};
    struct pg *pg = NULL;
    pthread_t thread;
    const char *url = pg_server_url();
    if (!url) return;
    T_EQ(pg_pool_new(&w.pool, &(struct pg_options){.url = url}, 1), WEIR_OK);
    T_EQ(pg_pool_take(w.pool, 0, &pg), WEIR_OK);
    T_EQ(pthread_create(&thread, NULL, wait_for_one, &w), 0);
    pg_pool_give(w.pool, pg);
    pthread_join(thread, NULL);
    T_EQ(w.status, WEIR_OK);
    pg_pool_free(w.pool);
}
