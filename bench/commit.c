/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-commit FOLDER [SECONDS]
 *
 * What one durable commit costs, by design of the store: the journal, or rows in
 * SQLite (WAL, synchronous=FULL) as a rowid table with an index and as a table
 * clustered by (log, number). Events of 200 bytes go to 1,000 logs in turn; a commit
 * takes as many events as the row says. Prints commits and events per second of wall
 * time, for a commit is mostly waiting for the disk, and CPU time per event.
 *
 * The journal alone answers nothing but recovery: its events have to reach the rows
 * later. The last lines say what that costs when events of a log have gathered.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/slice.h"
#include "bench.h"
#include "store/journal.h"

enum { N_LOGS = 1000, EVENT_BYTES = 200, MAX_EVENTS = 64 };

static char events[MAX_EVENTS * EVENT_BYTES];
static double seconds = 2;

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct run {
    const char *design;
    size_t per_commit;
    size_t n_commits;
    size_t n_events;
    double wall;
    double cpu;
};

static void begin(struct run *r)
{
    r->wall = wall_s();
    r->cpu = bench_cpu_s();
}

static void report(struct run *r)
{
    double wall = wall_s() - r->wall;
    double cpu = bench_cpu_s() - r->cpu;
    printf("%-28s %6zu %10.0f %12.0f %10.2f\n", r->design, r->per_commit,
           (double)r->n_commits / wall, (double)r->n_events / wall,
           cpu / (double)r->n_events * 1e6);
    fflush(stdout);
}

/* ---- the journal ---- */

static enum weir_status ignore(void *user, uint64_t number, struct weir_slice bytes)
{
    (void)user, (void)number, (void)bytes;
    return WEIR_OK;
}

static void run_journal(const char *folder, size_t per_commit)
{
    struct run r = {.design = "journal", .per_commit = per_commit};
    struct journal *j;
    uint64_t number = 0;
    char own[512];
    snprintf(own, sizeof own, "%s/journal-%zu", folder, per_commit);
    bench_need(mkdir(own, 0700) == 0, "an empty folder is needed");
    bench_need(journal_open(&j, own, NULL, 0, ignore, NULL) == WEIR_OK, "journal_open");
    begin(&r);
    while (wall_s() - r.wall < seconds) {
        for (size_t i = 0; i < per_commit; i++)
            bench_need(journal_write(j, slice_of(events, EVENT_BYTES), &number) == WEIR_OK,
                       "journal_write");
        bench_need(journal_sync(j) == WEIR_OK, "journal_sync");
        journal_release(j, number);
        r.n_commits++;
        r.n_events += per_commit;
    }
    report(&r);
    journal_close(j);
}

/* ---- SQLite ---- */

static void sql(sqlite3 *db, const char *text)
{
    bench_need(sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK, text);
}

static sqlite3 *open_db(const char *folder, const char *table)
{
    sqlite3 *db;
    char path[512];
    snprintf(path, sizeof path, "%s/bench-commit.db", folder);
    unlink(path);
    bench_need(sqlite3_open(path, &db) == SQLITE_OK, path);
    sql(db, "pragma journal_mode=wal");
    sql(db, "pragma synchronous=full");
    sql(db, "pragma wal_autocheckpoint=4000");
    sql(db, "pragma cache_size=-65536");
    sql(db, table);
    return db;
}

/* Commits of n_rows rows with n_each events. */
static void run_rows(const char *folder, const char *design, const char *table, size_t n_rows,
                     size_t n_each)
{
    struct run r = {.design = design, .per_commit = n_rows * n_each};
    sqlite3 *db = open_db(folder, table);
    sqlite3_stmt *insert;
    sqlite3_int64 numbers[N_LOGS] = {0};
    size_t log = 0;
    bench_need(sqlite3_prepare_v2(db, "insert into event(log,first,n,bytes) values(?,?,?,?)", -1,
                                  &insert, NULL) == SQLITE_OK,
               "prepare");
    begin(&r);
    while (wall_s() - r.wall < seconds) {
        sql(db, "begin immediate");
        for (size_t i = 0; i < n_rows; i++, log = (log + 1) % N_LOGS) {
            sqlite3_bind_int64(insert, 1, (sqlite3_int64)log);
            sqlite3_bind_int64(insert, 2, numbers[log] + 1);
            sqlite3_bind_int64(insert, 3, (sqlite3_int64)n_each);
            sqlite3_bind_blob(insert, 4, events, (int)(n_each * EVENT_BYTES), SQLITE_STATIC);
            bench_need(sqlite3_step(insert) == SQLITE_DONE, "insert");
            sqlite3_reset(insert);
            numbers[log] += (sqlite3_int64)n_each;
        }
        sql(db, "commit");
        r.n_commits++;
        r.n_events += n_rows * n_each;
    }
    report(&r);
    sqlite3_finalize(insert);
    sqlite3_close(db);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1, 64, 1024};
    static const char with_index[] = "create table event(id integer primary key, log integer, "
                                     "first integer, n integer, bytes blob);"
                                     "create index event_log on event(log, first)";
    static const char clustered[] = "create table event(log integer, first integer, n integer, "
                                    "bytes blob, primary key(log, first)) without rowid";
    bench_need(argc > 1, "usage: bench-commit FOLDER [SECONDS]");
    if (argc > 2) seconds = strtod(argv[2], NULL);
    memset(events, 'x', sizeof events);
    printf("%-28s %6s %10s %12s %10s\n", "design", "events", "commits/s", "events/s", "CPU us/ev");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        run_journal(argv[1], sizes[i]);
        run_rows(argv[1], "SQLite, rows and index", with_index, sizes[i], 1);
        run_rows(argv[1], "SQLite, clustered rows", clustered, sizes[i], 1);
    }
    run_rows(argv[1], "settled later, 8 to a row", with_index, 1000, 8);
    run_rows(argv[1], "settled later, 32 to a row", with_index, 1000, 32);
    return 0;
}
