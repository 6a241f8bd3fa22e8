/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of a store on PostgreSQL when it was swept. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/buf.h>

#include "base/slice.h"
#include "pg_server.h"
#include "store/pg_keeper.h"
#include "t.h"

static const int64_t now_ms = 1000;

struct base {
    struct pg *pg, *other;
    struct pg_pool *pool;
    char dropped[256];
};

static bool open_base(struct base *b, const char *name)
{
    *b = (struct base){0};
    const char *url = pg_server_database(name);
    if (!url) return false;
    T_EQ(pg_open(&b->pg, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    T_EQ(pg_open(&b->other, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    T_EQ(pg_migrate(b->pg, NULL), WEIR_OK);
    T_EQ(pg_pool_new(&b->pool, &(struct pg_options){.url = url, .role = PG_READER}, 2), WEIR_OK);
    return true;
}

static void close_base(struct base *b)
{
    pg_pool_free(b->pool);
    pg_close(b->other);
    pg_close(b->pg);
}

static int64_t ask(struct base *b, const char *sql)
{
    struct pg_rows *rows = NULL;
    pg_call(b->other, sql);
    T_EQ(pg_run(b->other, &rows), WEIR_OK);
    int64_t n = rows ? pg_get_int(rows, 0, 0) : -1;
    pg_rows_free(rows);
    return n;
}

static bool note_drop(void *user, const struct pg_expired *logs, size_t n)
{
    struct base *b = user;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(b->dropped);
        snprintf(b->dropped + len, sizeof b->dropped - len, "%.*s=%" PRIu64 " ",
                 (int)logs[i].name.len, logs[i].name.ptr, logs[i].log_id);
    }
    return true;
}

/* Rounds until there is no more to do; how many. */
static unsigned sweep(struct base *b)
{
    struct pg_sweep s = {
        .now_ms = now_ms, .writer = SLICE("me"), .drop = note_drop, .user = b, .keep_days = 7};
    bool has_more = true;
    unsigned n = 0;
    for (; has_more && n < 100; n++) {
        enum weir_status st = pg_sweep(b->pg, &s, &has_more);
        T_EQ(st, WEIR_OK);
        if (st != WEIR_OK) printf("%s\n", pg_message(b->pg));
    }
    return n;
}

/* An old day: a partition of `days` ago. */
static void make_day(struct base *b, int64_t days)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "DO $$DECLARE d date := timezone('UTC', now())::date - %d; BEGIN "
             "EXECUTE format('CREATE TABLE weir.%%I PARTITION OF weir.chunks FOR VALUES FROM (%%L)"
             " TO (%%L)', 'chunks_' || to_char(d, 'YYYYMMDD'), d, d + 1); END$$",
             (int)days);
    T_EQ(pg_script(b->other, sql), WEIR_OK);
}

/* A log with events first..last, each a row of so many days ago. */
static void fill(struct base *b, int64_t log, int64_t first, int64_t last, int64_t days)
{
    pg_call(b->other,
            "INSERT INTO weir.logs (id, name, last) VALUES ($1, convert_to('log' || $1, 'UTF8'),"
            " $2) ON CONFLICT (id) DO UPDATE SET last = $2");
    pg_int(b->other, log);
    pg_int(b->other, last);
    T_EQ(pg_run(b->other, NULL), WEIR_OK);
    pg_call(b->other, "INSERT INTO weir.chunks (log, first, last, made, bytes) SELECT $1, i, i,"
                      " timezone('UTC', now())::date - $4::int,"
                      " convert_to(format(E'id: %s\\ndata: %s\\n\\n', i, repeat('x', 100)), 'UTF8')"
                      " FROM generate_series($2, $3) i");
    pg_int(b->other, log);
    pg_int(b->other, first);
    pg_int(b->other, last);
    pg_int(b->other, days);
    T_EQ(pg_run(b->other, NULL), WEIR_OK);
}

/* How many events of a log can be read from an id on, up to its end. */
static uint64_t count_events(struct base *b, int64_t log, uint64_t from)
{
    char name[32];
    uint64_t next = from;
    snprintf(name, sizeof name, "log%" PRId64, log);
    for (;;) {
        struct log_read read;
        pg_read_log(b->pool, weir_slice_of(name), next, 1 << 16, now_ms, &read);
        T_EQ(read.status, WEIR_OK);
        if (read.n_chunks == 0) {
            T_OK(!read.state.exists || read.state.last + 1 == next);
            return next - from;
        }
        T_EQ(read.chunks[0]->first, next);
        next = read.chunks[0]->last + 1;
        chunk_unref(read.chunks[0]);
    }
}

TEST(expired_logs_are_told)
{
    struct base b;
    if (!open_base(&b, "expired")) return;
    for (int64_t i = 1; i <= 3; i++) fill(&b, i, 1, 1, 0);
    T_EQ(pg_script(b.other, "UPDATE weir.logs SET expires_ms = 998 + id WHERE id < 4"), WEIR_OK);
    sweep(&b);
    T_EQ_STR(weir_slice_of(b.dropped), "log1=1 log2=2 ");
    close_base(&b);
}

struct counted {
    size_t n, n_pages;
    bool is_refused;
};

static bool count_drop(void *user, const struct pg_expired *logs, size_t n)
{
    struct counted *c = user;
    if (c->is_refused) return false;
    for (size_t i = 0; i < n; i++) T_EQ(logs[i].log_id, ++c->n);
    c->n_pages++;
    return true;
}

TEST(many_expired_logs_are_told_once_each)
{
    struct base b;
    struct counted c = {.is_refused = true};
    bool has_more = true;
    if (!open_base(&b, "many_expired")) return;
    T_EQ(pg_script(b.other, "INSERT INTO weir.logs (id, name, last, expires_ms) SELECT i,"
                            " i::text::bytea, 0, i / 10 FROM generate_series(1, 1000) i"),
         WEIR_OK);
    struct pg_sweep s = {.now_ms = now_ms, .writer = SLICE("me"), .drop = count_drop, .user = &c};
    T_EQ(pg_sweep(b.pg, &s, &has_more), WEIR_OK);
    T_OK(!has_more); /* they have to wait, and nothing is left out */
    c.is_refused = false;
    for (has_more = true; has_more && c.n < 1000;) T_EQ(pg_sweep(b.pg, &s, &has_more), WEIR_OK);
    T_EQ(c.n, 1000);
    T_EQ(c.n_pages, 4);
    T_EQ(pg_sweep(b.pg, &s, &has_more), WEIR_OK);
    T_EQ(c.n, 1000);
    T_OK(!has_more);
    close_base(&b);
}

TEST(old_day_goes_and_what_lives_on_is_kept_in_fewer_rows)
{
    struct base b;
    if (!open_base(&b, "old")) return;
    make_day(&b, 8);
    make_day(&b, 9);
    fill(&b, 1, 1, 3000, 9); /* lives over both days and today */
    fill(&b, 1, 3001, 3500, 8);
    fill(&b, 1, 3501, 3510, 0);
    fill(&b, 2, 1, 500, 9); /* has gone */
    fill(&b, 3, 1, 1, 8);   /* small */
    T_EQ(pg_script(b.other, "DELETE FROM weir.logs WHERE id = 2;"
                            "UPDATE weir.garbage SET expires_ms = 5"),
         WEIR_OK);
    T_OK(sweep(&b) > 2);
    T_EQ(count_events(&b, 1, 1), 3510);
    T_EQ(count_events(&b, 1, 1777), 3510 - 1776);
    T_EQ(count_events(&b, 3, 1), 1);
    T_EQ(ask(&b, "SELECT count(*) FROM weir.chunks WHERE log = 2"), 0);
    T_EQ(ask(&b, "SELECT count(*) FROM weir.garbage"), 0);
    int64_t n_kept = ask(&b, "SELECT count(*) FROM weir.chunks_kept");
    T_OK(n_kept >= 3 && n_kept < 30);
    T_EQ(ask(&b,
             "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^chunks_[0-9]'"
             " AND relname < 'chunks_' || to_char(timezone('UTC', now())::date - 7, 'YYYYMMDD')"),
         0);
    close_base(&b);
}

/* Where the database's clock was set back over midnight. */
TEST(rows_that_do_not_follow_each_other_are_not_joined)
{
    struct base b;
    if (!open_base(&b, "islands")) return;
    make_day(&b, 8);
    make_day(&b, 9);
    fill(&b, 1, 1, 5, 8);
    fill(&b, 1, 6, 8, 9);
    fill(&b, 1, 9, 10, 8);
    sweep(&b);
    for (uint64_t from = 1; from <= 10; from++) T_EQ(count_events(&b, 1, from), 11 - from);
    T_EQ(ask(&b, "SELECT count(*) FROM weir.chunks_kept"), 3);
    close_base(&b);
}

/* What is looked through are the logs that live, some of them at a time, not what a day has had. */
TEST(day_is_looked_through_by_the_logs_that_live)
{
    enum { N_LOGS = 21000 };
    struct base b;
    bool has_more = true;
    if (!open_base(&b, "many_live")) return;
    make_day(&b, 8);
    T_EQ(pg_script(b.other, "INSERT INTO weir.chunks (log, first, last, made, bytes)"
                            " SELECT 1000000 + i, 1, 1, timezone('UTC', now())::date - 8, 'x'"
                            " FROM generate_series(1, 50000) i;"
                            "INSERT INTO weir.logs (id, name, last)"
                            " SELECT i, i::text::bytea, 1 FROM generate_series(1, 21000) i"),
         WEIR_OK);
    fill(&b, N_LOGS + 1, 1, 3, 8);
    struct pg_sweep s = {.now_ms = now_ms, .writer = SLICE("me"), .drop = note_drop, .user = &b};
    T_EQ(pg_sweep(b.pg, &s, &has_more), WEIR_OK);
    T_OK(has_more && s.keeping.after > 0 && s.keeping.after < N_LOGS);
    for (int i = 0; i < 100 && has_more; i++) T_EQ(pg_sweep(b.pg, &s, &has_more), WEIR_OK);
    T_OK(!has_more);
    T_EQ(count_events(&b, N_LOGS + 1, 1), 3);
    T_EQ(ask(&b, "SELECT count(*) FROM weir.chunks WHERE log > 1000000"), 0);
    close_base(&b);
}

/* As a backup does, for hours. */
TEST(day_that_somebody_holds_is_left_for_later_and_stops_nothing_else)
{
    struct base b;
    struct pg *reader = NULL;
    if (!open_base(&b, "held")) return;
    T_EQ(pg_open(&reader, &(struct pg_options){.url = pg_server_database("held")}, NULL), WEIR_OK);
    make_day(&b, 8);
    fill(&b, 1, 1, 1, 0);
    T_EQ(pg_script(reader, "BEGIN; SELECT count(*) FROM weir.chunks"), WEIR_OK);
    T_EQ(sweep(&b), 1);
    T_EQ(pg_script(b.other, "UPDATE weir.logs SET expires_ms = 5"), WEIR_OK);
    T_EQ(sweep(&b), 1);
    T_EQ_STR(weir_slice_of(b.dropped), "log1=1 ");
    T_EQ(pg_script(reader, "COMMIT"), WEIR_OK);
    sweep(&b);
    T_EQ(ask(&b, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname = 'chunks_' ||"
                 " to_char(timezone('UTC', now())::date - 8, 'YYYYMMDD')"),
         0);
    pg_close(reader);
    close_base(&b);
}

TEST(log_that_was_dropped_before_its_time_leaves_nothing)
{
    struct base b;
    if (!open_base(&b, "dropped")) return;
    fill(&b, 1, 1, 5000, 0);
    fill(&b, 2, 1, 10, 0);
    fill(&b, 3, 1, 10, 0);
    T_EQ(pg_script(b.other, "DELETE FROM weir.logs WHERE id < 3;"
                            "UPDATE weir.garbage SET expires_ms = 5 WHERE log = 2"),
         WEIR_OK);
    T_OK(sweep(&b) > 2);
    T_EQ(ask(&b, "SELECT count(*) FROM weir.chunks WHERE log = 1"), 0);
    T_EQ(ask(&b, "SELECT count(*) FROM weir.chunks WHERE log = 2"), 10); /* goes with its day */
    T_EQ(ask(&b, "SELECT count(*) FROM weir.garbage"), 0);
    T_EQ(count_events(&b, 3, 1), 10);
    close_base(&b);
}

struct round {
    struct base *b;
    enum weir_status status;
};

static void *sweep_once(void *user)
{
    struct round *r = user;
    struct pg_sweep s = {.now_ms = now_ms, .writer = SLICE("me"), .drop = note_drop, .user = r->b};
    bool has_more = false;
    r->status = pg_sweep(r->b->pg, &s, &has_more);
    return NULL;
}

TEST(day_that_was_half_taken_away_is_taken_away)
{
    static const char *const pending = "SELECT count(*) FROM pg_inherits WHERE inhdetachpending";
    struct base b;
    struct pg *reader = NULL;
    pthread_t thread;
    if (!open_base(&b, "half")) return;
    T_EQ(pg_open(&reader, &(struct pg_options){.url = pg_server_database("half")}, NULL), WEIR_OK);
    make_day(&b, 8);
    fill(&b, 1, 1, 5, 8);
    struct round r = {.b = &b};
    int process = pg_process(b.pg);
    sweep_once(&r); /* moves its rows */
    T_EQ(r.status, WEIR_OK);
    /* Somebody reads, and the one who sweeps is stopped while it waits for that. */
    T_EQ(pg_script(reader, "BEGIN; SELECT count(*) FROM weir.chunks"), WEIR_OK);
    pthread_create(&thread, NULL, sweep_once, &r);
    for (int i = 0; i < 30000 && ask(&b, pending) == 0; i++) usleep(1000);
    pg_call(b.other, "SELECT pg_cancel_backend($1::int)");
    pg_int(b.other, process);
    T_EQ(pg_run(b.other, NULL), WEIR_OK);
    pthread_join(thread, NULL);
    T_EQ(r.status, WEIR_STORAGE);
    T_OK(!pg_is_broken(b.pg));
    T_EQ(pg_script(reader, "COMMIT"), WEIR_OK);
    pg_close(reader);
    T_EQ(ask(&b, pending), 1);
    T_EQ(count_events(&b, 1, 1), 5);
    sweep(&b);
    T_EQ(ask(&b, pending), 0);
    T_EQ(count_events(&b, 1, 1), 5);
    close_base(&b);
}

TEST(one_node_sweeps_at_a_time)
{
    struct base b;
    if (!open_base(&b, "alone")) return;
    fill(&b, 1, 1, 1, 0);
    T_EQ(pg_script(b.other, "UPDATE weir.logs SET expires_ms = 5;"
                            "INSERT INTO weir.writers VALUES ('me', 1, now() - interval '2 hours'),"
                            " ('old', 1, now() - interval '31 days')"),
         WEIR_OK);
    pg_call(b.other, "SELECT pg_advisory_lock($1::int, $2::int)");
    pg_int(b.other, PG_LOCKS);
    pg_int(b.other, PG_LOCK_SWEEP);
    T_EQ(pg_run(b.other, NULL), WEIR_OK);
    T_EQ(sweep(&b), 1);
    T_EQ_STR(weir_slice_of(b.dropped), "");
    T_EQ(ask(&b, "SELECT count(*) FROM weir.writers WHERE seen > now() - interval '1 hour'"), 1);
    T_EQ(pg_script(b.other, "SELECT pg_advisory_unlock_all()"), WEIR_OK);
    sweep(&b);
    T_EQ_STR(weir_slice_of(b.dropped), "log1=1 ");
    T_EQ(ask(&b, "SELECT count(*) FROM weir.writers"), 1);
    close_base(&b);
}

static bool is_stuck(struct base *b)
{
    return ask(b, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 77") > 0;
}

/* Half a batch has come, with its locks, and the rest never does. */
TEST(node_that_stops_in_the_middle_of_a_batch_loses_its_locks)
{
    struct base b;
    struct pg *half = NULL;
    bool has_more;
    if (!open_base(&b, "stuck")) return;
    const char *url = pg_server_database("stuck");
    T_EQ(pg_open(&half, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    pg_call(half, "SELECT pg_advisory_xact_lock(77)::text");
    pg_send(half);
    pg_flush(half); /* and no pg_sync() */
    for (int i = 0; i < 1000 && !is_stuck(&b); i++) pg_flush(half);
    T_OK(is_stuck(&b));
    struct pg_sweep s = {.now_ms = now_ms, .writer = SLICE("me"), .drop = note_drop, .user = &b};
    T_EQ(pg_sweep(b.pg, &s, &has_more), WEIR_OK);
    T_OK(is_stuck(&b)); /* it may yet come */
    s.stuck_ms = 1;
    for (int i = 0; i < 1000 && is_stuck(&b); i++) T_EQ(pg_sweep(b.pg, &s, &has_more), WEIR_OK);
    T_OK(!is_stuck(&b));
    pg_close(half);
    close_base(&b);
}

TEST(trimmed_log_keeps_its_newest_event)
{
    struct pg_trimmed elsewhere;
    struct base b;
    if (!open_base(&b, "trim")) return;
    fill(&b, 1, 1, 100, 0);
    T_EQ(pg_trim(b.pg, SLICE("log1"), 41, &elsewhere), WEIR_OK);
    T_EQ(pg_trim(b.pg, SLICE("nothing"), 41, &elsewhere), WEIR_OK);
    T_EQ(count_events(&b, 1, 41), 60);
    T_EQ(ask(&b, "SELECT count(*) FROM weir.chunks"), 60);
    T_EQ(ask(&b, "SELECT kept_from FROM weir.logs"), 41);
    T_EQ(pg_trim(b.pg, SLICE("log1"), 20, &elsewhere), WEIR_OK);
    T_EQ(ask(&b, "SELECT kept_from FROM weir.logs"), 41);
    T_EQ(pg_trim(b.pg, SLICE("log1"), UINT64_MAX, &elsewhere), WEIR_OK);
    T_EQ(count_events(&b, 1, 100), 1);
    T_EQ(ask(&b, "SELECT count(*) FROM weir.chunks"), 1);
    close_base(&b);
}

/* ---- the keeper ---- */

static int64_t tell_time(void *user)
{
    (void)user;
    return now_ms;
}

TEST(keeper_trims_and_sweeps_when_asked_and_survives_the_server)
{
    struct base b;
    struct pg_keeper *k = NULL;
    if (!open_base(&b, "keeper")) return;
    struct pg_keeper_options options = {.connection = {.url = pg_server_database("keeper")},
                                        .writer = "me",
                                        .interval_ms = 3600000,
                                        .now_ms = tell_time,
                                        .drop = note_drop,
                                        .user = &b};
    T_EQ(pg_keeper_start(&k, &options), WEIR_OK);
    fill(&b, 1, 1, 100, 0);
    fill(&b, 2, 1, 1, 0);
    T_EQ(pg_script(b.other, "UPDATE weir.logs SET expires_ms = 5 WHERE id = 2"), WEIR_OK);
    T_EQ(pg_keeper_trim(k, SLICE("log1"), 11), WEIR_OK);
    T_EQ(pg_keeper_trim(k, SLICE("log1"), 91), WEIR_OK);
    T_EQ(pg_keeper_settle(k), WEIR_OK);
    T_EQ(ask(&b, "SELECT count(*) FROM weir.chunks WHERE log = 1"), 10);
    T_EQ_STR(weir_slice_of(b.dropped), "log2=2 ");
    pg_server_stop();
    T_EQ(pg_keeper_settle(k), WEIR_STORAGE);
    T_EQ(pg_keeper_settle(k), WEIR_STORAGE);
    pg_server_start();
    T_EQ(pg_keeper_settle(k), WEIR_OK);
    T_EQ_STR(weir_slice_of(b.dropped), "log2=2 log2=2 ");
    pg_keeper_stop(k);
    close_base(&b);
}
