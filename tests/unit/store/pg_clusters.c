/* SPDX-License-Identifier: Apache-2.0 */
/* A store on several databases: where events are, who may write them, one that is away or new. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/slice.h"
#include "pg_server.h"
#include "store/databases.h"
#include "store/pg_clusters.h"
#include "t.h"

enum { N_DATABASES = 3, N_LOGS = 60, URL_BYTES = 512, DEADLINE_MS = 20000 };

static char urls[N_DATABASES][URL_BYTES];

/* Makes databases of that name; false: skipped. */
static bool make_databases(const char *name)
{
    for (int i = 0; i < N_DATABASES; i++) {
        char database[64];
        snprintf(database, sizeof database, "%s_%d", name, i);
        const char *url = pg_server_database(database);
        if (!url) return false;
        snprintf(urls[i], URL_BYTES, "%s", url);
    }
    return true;
}

static const char *list_of(const char *order)
{
    static char list[N_DATABASES * URL_BYTES + N_DATABASES];
    size_t len = 0;
    for (; *order; order++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", len > 0 ? "," : "",
                                urls[*order - 'a']);
    return list;
}

static struct store *open_store(const char *order)
{
    struct store *s = NULL;
    struct store_error error = {""};
    enum weir_status st = store_open(&s, list_of(order), NULL, &error);
    if (st != WEIR_OK) printf("store_open: %s\n", error.text);
    T_EQ(st, WEIR_OK);
    return s;
}

static void is_refused(const char *order, const char *why)
{
    struct store *s = NULL;
    struct store_error error = {""};
    T_EQ(store_open(&s, list_of(order), NULL, &error), WEIR_INVALID);
    T_OK(strstr(error.text, why) != NULL);
}

static struct weir_slice name_of(int i)
{
    static char name[32];
    return slice_of(name, (size_t)snprintf(name, sizeof name, "log%d", i));
}

static enum weir_status append(struct store *s, struct weir_slice log, const char *text)
{
    char frame[64];
    struct commit *c = commit_new(0);
    int len = snprintf(frame, sizeof frame, "data: %s\n\n", text);
    commit_append(c, log, slice_of(frame, (size_t)len));
    return store_commit_wait(s, c).status;
}

/* The data of all its events, in a row; "?" when it cannot be read. */
static struct weir_slice text_of(struct store *s, struct weir_slice log)
{
    static char text[1024];
    size_t len = 0;
    for (uint64_t next = 1;;) {
        struct log_read read;
        store_read(s, log, next, 1 << 16, &read);
        if (read.status != WEIR_OK) return SLICE("?");
        if (read.n_chunks == 0) return slice_of(text, len);
        for (unsigned i = 0; i < read.n_chunks; i++) {
            struct chunk *c = read.chunks[i];
            struct weir_slice rest = slice_of(c->bytes, c->len);
            T_EQ(c->first, next);
            for (; rest.len > 0; next++) {
                size_t n = chunk_event_length(rest);
                struct weir_slice data = chunk_event_line(slice_of(rest.ptr, n), "data: ");
                memcpy(text + len, data.ptr, data.len);
                len += data.len;
                rest = slice_from(rest, n);
            }
            chunk_unref(c);
        }
    }
}

static struct pg *connect_to(int database)
{
    struct pg *pg = NULL;
    T_EQ(pg_open(&pg, &(struct pg_options){.url = urls[database], .name = "test"}, NULL), WEIR_OK);
    return pg;
}

static int64_t ask(int database, const char *sql)
{
    struct pg *pg = connect_to(database);
    struct pg_rows *rows = NULL;
    pg_call(pg, sql);
    T_EQ(pg_run(pg, &rows), WEIR_OK);
    int64_t n = pg_n_rows(rows) > 0 ? pg_get_int(rows, 0, 0) : -1;
    pg_rows_free(rows);
    pg_close(pg);
    return n;
}

static void run(int database, const char *sql)
{
    struct pg *pg = connect_to(database);
    T_EQ(pg_script(pg, sql), WEIR_OK);
    pg_close(pg);
}

/* A log whose events are on that one, of those that were made; its number. */
static int log_on(int cluster)
{
    char sql[160];
    snprintf(sql, sizeof sql,
             "SELECT substr(convert_from(name, 'UTF8'), 4)::bigint FROM weir.logs WHERE cluster ="
             " %d AND name LIKE 'log%%' ORDER BY id LIMIT 1",
             cluster);
    struct pg *pg = connect_to(0);
    struct pg_rows *rows = NULL;
    pg_call(pg, sql);
    T_EQ(pg_run(pg, &rows), WEIR_OK);
    T_EQ(pg_n_rows(rows), 1);
    int n = (int)pg_get_int(rows, 0, 0);
    pg_rows_free(rows);
    pg_close(pg);
    return n;
}

static void make_logs(struct store *s)
{
    for (int i = 0; i < N_LOGS; i++) T_EQ(append(s, name_of(i), "a"), WEIR_OK);
}

static void print_complaint(void *user, const char *text)
{
    (void)user;
    printf("%s\n", text);
}

static void is_sound(struct store *s)
{
    uint64_t n_wrong = 1;
    T_EQ(store_check(s, print_complaint, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
}

/* ---- places ---- */

TEST(events_are_spread_and_the_first_database_decides)
{
    if (!make_databases("spread")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    for (int i = 0; i < N_LOGS; i++) {
        T_EQ(append(s, name_of(i), "b"), WEIR_OK);
        T_EQ_STR(text_of(s, name_of(i)), "ab");
    }
    T_EQ(ask(0, "SELECT count(*) FROM weir.logs"), N_LOGS);
    for (int i = 0; i < N_DATABASES; i++) {
        T_OK(ask(i, "SELECT count(DISTINCT log) FROM weir.chunks") > N_LOGS / 8);
        if (i > 0) T_EQ(ask(i, "SELECT count(*) FROM weir.logs"), 0);
    }
    is_sound(s);
    store_close(s);
    /* The order of the others does not matter, and all have to be there. */
    s = open_store("acb");
    for (int i = 0; i < N_LOGS; i++) T_EQ_STR(text_of(s, name_of(i)), "ab");
    is_sound(s);
    store_close(s);
    is_refused("a", "name all of them");
    is_refused("ab", "name all of them");
    is_refused("b", "another one's store");
    is_refused("bac", "not the first");
    is_refused("abcb", "twice");
    is_refused("abca", "twice");
}

TEST(database_of_another_store_is_not_taken)
{
    if (!make_databases("taken")) return;
    struct store *s = open_store("b");
    T_EQ(append(s, SLICE("own"), "a"), WEIR_OK);
    store_close(s);
    is_refused("ab", "a store of its own");
    store_close(open_store("ac"));
    is_refused("bc", "another store");
}

TEST(database_that_is_added_takes_new_logs_when_it_is_opened)
{
    if (!make_databases("added")) return;
    struct store *s = open_store("a");
    make_logs(s);
    store_close(s);
    s = open_store("ab");
    for (int i = 0; i < N_LOGS; i++) T_EQ(append(s, name_of(i + 100), "a"), WEIR_OK);
    T_EQ(ask(1, "SELECT count(*) FROM weir.chunks"), 0);
    run(0, "UPDATE weir.clusters SET is_open = true");
    T_EQ(store_settle(s), WEIR_OK); /* a round of the keeper, which looks */
    for (int i = 0; i < N_LOGS; i++) T_EQ(append(s, name_of(i + 200), "a"), WEIR_OK);
    T_OK(ask(1, "SELECT count(*) FROM weir.chunks") > N_LOGS / 5);
    for (int i = 0; i < N_LOGS; i++)
        for (int k = 0; k < 3; k++) T_EQ_STR(text_of(s, name_of(i + 100 * k)), "a");
    /* One that is closed keeps what it has. */
    int64_t n = ask(1, "SELECT count(*) FROM weir.carried");
    run(0, "UPDATE weir.clusters SET is_open = false WHERE number = 1");
    T_EQ(store_settle(s), WEIR_OK);
    for (int i = 0; i < N_LOGS; i++) T_EQ(append(s, name_of(i + 300), "a"), WEIR_OK);
    T_EQ(ask(1, "SELECT count(*) FROM weir.carried"), n);
    T_EQ(append(s, name_of(log_on(1)), "b"), WEIR_OK);
    is_sound(s);
    store_close(s);
}

/*
 * A trigger notes what the one that writes has set: the first database may lose its last commits,
 * and with them what they say of events; those it has kept find theirs.
 */
TEST(events_elsewhere_are_durable_whatever_the_commit_is)
{
    static const char trigger[] =
        "CREATE TABLE noted (mode text);"
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
        " INSERT INTO noted VALUES (current_setting('synchronous_commit')); RETURN NULL; END$$;";
    struct store *s = NULL;
    if (!make_databases("waits")) return;
    store_close(open_store("ab"));
    for (int i = 0; i < 2; i++) run(i, trigger);
    run(0, "CREATE TRIGGER noting AFTER INSERT ON weir.logs EXECUTE FUNCTION note()");
    run(1, "CREATE TRIGGER noting AFTER INSERT ON weir.carried EXECUTE FUNCTION note()");
    const struct store_options options = {.durability = STORE_DURABLE_NORMAL};
    T_EQ(store_open(&s, list_of("ab"), &options, NULL), WEIR_OK);
    make_logs(s);
    store_close(s);
    T_EQ(ask(0, "SELECT count(*) FROM noted WHERE mode = 'off'"), N_LOGS);
    T_OK(ask(1, "SELECT count(*) FROM noted") > 0);
    T_EQ(ask(1, "SELECT count(*) FROM noted WHERE mode <> 'on'"), 0);
}

/* ---- who may write ---- */

TEST(events_that_were_never_committed_are_written_over)
{
    if (!make_databases("over")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    int i = log_on(1);
    char sql[512];
    /* Somebody died between its events and its commit: ids 2 to 4 are taken. */
    snprintf(sql, sizeof sql,
             "UPDATE weir.carried SET last = 4 WHERE log = %1$lld;"
             "INSERT INTO weir.chunks (log, first, last, bytes) VALUES"
             " (%1$lld, 2, 3, E'id: 2\\ndata: x\\n\\nid: 3\\ndata: y\\n\\n'),"
             " (%1$lld, 4, 4, E'id: 4\\ndata: z\\n\\n')",
             (long long)ask(0, "SELECT min(id) FROM weir.logs WHERE cluster = 1"));
    run(1, sql);
    T_EQ_STR(text_of(s, name_of(i)), "a");
    is_sound(s);
    T_EQ(append(s, name_of(i), "b"), WEIR_OK);
    T_EQ_STR(text_of(s, name_of(i)), "ab");
    T_EQ(append(s, name_of(i), "c"), WEIR_OK);
    T_EQ_STR(text_of(s, name_of(i)), "abc");
    is_sound(s);
    store_close(s);
}

/* They are moved with the rest of their day, and not joined with what was committed. */
TEST(events_that_were_never_committed_stay_apart_when_their_day_is_over)
{
    if (!make_databases("apart")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    int i = log_on(1);
    int64_t log = ask(0, "SELECT min(id) FROM weir.logs WHERE cluster = 1");
    T_EQ(append(s, name_of(i), "b"), WEIR_OK);
    T_EQ(append(s, name_of(i), "c"), WEIR_OK);
    char sql[1024];
    snprintf(sql, sizeof sql,
             "UPDATE weir.carried SET last = 4, newest = 4 WHERE log = %1$lld;"
             "INSERT INTO weir.chunks (log, first, last, bytes) VALUES"
             " (%1$lld, 4, 4, E'id: 4\\ndata: z\\n\\n');"
             "DO $$DECLARE d date := timezone('UTC', now())::date - 20; BEGIN "
             "EXECUTE format('CREATE TABLE weir.%%I PARTITION OF weir.chunks FOR VALUES FROM (%%L)"
             " TO (%%L)', 'chunks_' || to_char(d, 'YYYYMMDD'), d, d + 1); END$$;"
             "UPDATE weir.chunks SET made = timezone('UTC', now())::date - 20 WHERE log = %1$lld",
             (long long)log);
    run(1, sql);
    for (int n = 0; n < 10; n++) T_EQ(store_settle(s), WEIR_OK);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM weir.chunks_kept WHERE log = %lld",
             (long long)log);
    T_EQ(ask(1, sql), 2); /* one to three, and four */
    T_EQ_STR(text_of(s, name_of(i)), "abc");
    is_sound(s);
    T_EQ(append(s, name_of(i), "d"), WEIR_OK);
    T_EQ_STR(text_of(s, name_of(i)), "abcd");
    is_sound(s);
    store_close(s);
}

struct appending {
    pthread_t thread;
    struct store *s;
    struct weir_slice log;
    const char *text;
    enum weir_status status;
};

static void *append_in_thread(void *user)
{
    struct appending *a = user;
    a->status = append(a->s, a->log, a->text);
    return NULL;
}

static void wait_for(int database, const char *sql)
{
    uint64_t end = clock_mono_ns(&clock_system) + (uint64_t)DEADLINE_MS * 1000000;
    while (ask(database, sql) < 1 && clock_mono_ns(&clock_system) < end) continue;
    T_OK(ask(database, sql) >= 1);
}

/*
 * One node has the log's lock and sends its events; then the first database loses it, and another
 * node has the lock. Whoever of both comes first to the events, those of the second stay.
 */
TEST(node_that_lost_its_lock_leaves_nothing_behind)
{
    static char name[32];
    if (!make_databases("late")) return;
    struct store *nodes[2] = {open_store("abc"), open_store("abc")};
    make_logs(nodes[0]);
    int i = log_on(2);
    struct weir_slice log = slice_of(name, (size_t)snprintf(name, sizeof name, "log%d", i));
    T_EQ_STR(text_of(nodes[1], log), "a");
    struct pg *holder = connect_to(2);
    T_EQ(pg_script(holder, "BEGIN; LOCK TABLE weir.carried IN EXCLUSIVE MODE"), WEIR_OK);
    struct appending a = {.s = nodes[0], .log = log, .text = "b"};
    struct appending b = {.s = nodes[1], .log = log, .text = "c"};
    T_EQ(pthread_create(&a.thread, NULL, append_in_thread, &a), 0);
    wait_for(2, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND datname = current_database()");
    T_EQ(pthread_create(&b.thread, NULL, append_in_thread, &b), 0);
    wait_for(0, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND datname = current_database()");
    run(0, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state ="
           " 'idle in transaction' AND datname = current_database()");
    wait_for(2, "SELECT count(*) / 2 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND datname = current_database()");
    pg_close(holder);
    pthread_join(a.thread, NULL);
    pthread_join(b.thread, NULL);
    T_EQ(b.status, WEIR_OK);
    T_OK(a.status == WEIR_OK || a.status == WEIR_STORAGE);
    T_EQ_STR(text_of(nodes[0], log), a.status == WEIR_OK ? "acb" : "ac");
    is_sound(nodes[0]);
    for (int k = 0; k < 2; k++) store_close(nodes[k]);
}

/* Another database is the standby of the one that carries: it is late by one who gave up. */
TEST(standby_that_carries_is_believed_up_to_what_was_written_last)
{
    struct pg_clusters cs;
    struct log_read read;
    if (!make_databases("late_carrier")) return;
    store_close(open_store("ab"));
    run(0, "INSERT INTO weir.logs (id, name, last, cluster) VALUES (1, 'x', 200, 1)");
    const char *rows = "INSERT INTO weir.chunks (log, first, last, bytes) SELECT 1, i, i,"
                       " convert_to(format(E'id: %s\\ndata: %s\\n\\n', i, i), 'UTF8')"
                       " FROM generate_series(1, 200) i";
    run(1, "INSERT INTO weir.carried VALUES (1, 200, 5, 200, 0)");
    run(1, rows);
    store_close(open_store("c"));
    run(2, "INSERT INTO weir.carried VALUES (1, 60, 4, 51, 0)");
    run(2, rows);
    run(2, "DELETE FROM weir.chunks WHERE first > 60");
    T_EQ(pg_clusters_init(&cs, list_of("ab")), WEIR_OK);
    T_EQ(pg_clusters_pool(&cs, 2, 1), WEIR_OK);
    cs.all[1].number = 1;
    T_EQ(pg_pool_new(&cs.all[1].far.standbys,
                     &(struct pg_options){.url = urls[2], .role = PG_READER}, 1),
         WEIR_OK);
    pg_clusters_read(&cs, SLICE("x"), 1, 1 << 20, 1, &read);
    T_EQ(read.status, WEIR_OK);
    T_EQ(read.n_chunks, 1);
    T_EQ(read.chunks[0]->last, 50);
    T_EQ(cs.all[1].far.n_far, 1);
    chunk_unref(read.chunks[0]);
    pg_clusters_read(&cs, SLICE("x"), 51, 1 << 20, 1, &read); /* by the one that writes */
    T_EQ(read.status, WEIR_OK);
    T_EQ(read.n_chunks, 1);
    T_EQ(read.chunks[0]->last, 200);
    T_EQ(cs.all[1].far.n_far, 1);
    chunk_unref(read.chunks[0]);
    pg_clusters_fini(&cs);
}

/* ---- one that is away ---- */

TEST(database_that_is_away_stops_only_its_own_logs)
{
    if (!make_databases("away")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    int here = log_on(0), there = log_on(1);
    run(0, "ALTER DATABASE away_1 ALLOW_CONNECTIONS false;"
           "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'away_1'");
    T_EQ(append(s, name_of(there), "b"), WEIR_STORAGE);
    T_EQ(append(s, name_of(here), "b"), WEIR_OK);
    T_EQ_STR(text_of(s, name_of(there)), "?");
    T_EQ_STR(text_of(s, name_of(here)), "ab");
    for (int i = 0; i < N_LOGS; i++) T_EQ(append(s, name_of(i + 100), "a"), WEIR_OK);
    T_EQ(ask(0, "SELECT count(*) FROM weir.logs WHERE cluster = 1 AND name LIKE 'log1__'"), 0);
    run(0, "ALTER DATABASE away_1 ALLOW_CONNECTIONS true");
    T_EQ(store_settle(s), WEIR_OK); /* the keeper reaches it */
    T_EQ(append(s, name_of(there), "c"), WEIR_OK);
    /* Who reads is told for a moment longer that it is away. */
    uint64_t end = clock_mono_ns(&clock_system) + (uint64_t)DEADLINE_MS * 1000000;
    while (text_of(s, name_of(there)).len < 2 && clock_mono_ns(&clock_system) < end) continue;
    T_EQ_STR(text_of(s, name_of(there)), "ac");
    is_sound(s);
    store_close(s);
}

/* ---- looking after them ---- */

static void drop(struct store *s, struct weir_slice log)
{
    struct commit *c = commit_new(0);
    commit_drop(c, log);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
}

TEST(what_is_dropped_goes_from_all_databases)
{
    if (!make_databases("dropped")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    for (int i = 0; i < N_LOGS; i++) drop(s, name_of(i));
    for (int i = 0; i < N_DATABASES; i++)
        for (int n = 0; ask(i, "SELECT count(*) FROM weir.chunks") > 0 && n < 100; n++)
            T_EQ(store_settle(s), WEIR_OK);
    for (int i = 0; i < N_DATABASES; i++) {
        T_EQ(ask(i, "SELECT count(*) FROM weir.chunks"), 0);
        T_EQ(ask(i, "SELECT count(*) FROM weir.carried"), 0);
        T_EQ(ask(i, "SELECT count(*) FROM weir.garbage"), 0);
    }
    /* The names may be used again, wherever their events go then. */
    make_logs(s);
    for (int i = 0; i < N_LOGS; i++) T_EQ_STR(text_of(s, name_of(i)), "a");
    is_sound(s);
    store_close(s);
}

TEST(logs_that_never_came_to_be_are_found_by_their_tokens)
{
    if (!make_databases("strays")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    run(1, "INSERT INTO weir.carried VALUES (900001, 1, 5, 1, 1), (900002, 1, 1000000, 1, 1);"
           "INSERT INTO weir.chunks (log, first, last, bytes) VALUES (900001, 1, 1, 'x')");
    int64_t n = ask(1, "SELECT count(*) FROM weir.carried");
    struct pg *first = connect_to(0), *pg = connect_to(1);
    struct pg_sweep sweep = {.now_ms = 1};
    struct pg_strays strays = {0};
    T_EQ(pg_read_moment(first, &strays.old), WEIR_OK);
    strays.old.token = 1000;
    for (bool has_more = true; has_more;)
        T_EQ(pg_sweep_carried(first, pg, 1, &sweep, &strays, &has_more), WEIR_OK);
    T_EQ(ask(1, "SELECT count(*) FROM weir.carried"), n - 1);
    T_EQ(ask(1, "SELECT count(*) FROM weir.carried WHERE log = 900002"), 1);
    T_EQ(ask(1, "SELECT count(*) FROM weir.chunks WHERE log = 900001"), 0);
    pg_close(first);
    pg_close(pg);
    is_sound(s);
    store_close(s);
}

/* It has happened, but nobody sees that before its standby has it, however long that takes. */
TEST(log_whose_commit_is_not_seen_yet_is_no_stray)
{
    bool has_more;
    if (!make_databases("unseen")) return;
    store_close(open_store("abc"));
    struct pg *first = connect_to(0), *pg = connect_to(1), *writer = connect_to(0);
    T_EQ(pg_script(writer, "BEGIN; INSERT INTO weir.logs (id, name, last, cluster) VALUES"
                           " (900001, 'x', 1, 1); SELECT nextval('weir.tokens')"),
         WEIR_OK);
    run(1, "INSERT INTO weir.carried VALUES (900001, 1, 1, 1, 1)");
    struct pg_sweep sweep = {.now_ms = 1};
    struct pg_strays strays = {0};
    T_EQ(pg_read_moment(first, &strays.old), WEIR_OK);
    T_OK(strays.old.token > 0);
    T_EQ(pg_sweep_carried(first, pg, 1, &sweep, &strays, &has_more), WEIR_OK);
    T_EQ(ask(1, "SELECT count(*) FROM weir.carried"), 1);
    T_EQ(pg_script(writer, "ROLLBACK"), WEIR_OK);
    T_EQ(pg_sweep_carried(first, pg, 1, &sweep, &strays, &has_more), WEIR_OK);
    T_EQ(ask(1, "SELECT count(*) FROM weir.carried"), 0);
    pg_close(writer);
    pg_close(first);
    pg_close(pg);
}

TEST(check_finds_what_another_database_has_lost)
{
    uint64_t n_wrong = 0;
    if (!make_databases("lost")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    T_EQ(append(s, name_of(log_on(2)), "b"), WEIR_OK);
    run(2, "DELETE FROM weir.chunks WHERE last = 2");
    T_EQ(store_check(s, NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 1);
    store_close(s);
}

/* An older state of the first one has an older count of tokens, too. */
TEST(tokens_go_on_behind_those_that_were_given)
{
    if (!make_databases("older")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    int i = log_on(1);
    store_close(s);
    run(0, "SELECT setval('weir.tokens', 1), setval('weir.log_ids', max(id)) FROM weir.logs"
           " WHERE cluster = 0");
    s = open_store("abc");
    T_EQ(append(s, name_of(i), "b"), WEIR_OK);
    T_EQ_STR(text_of(s, name_of(i)), "ab");
    T_EQ(append(s, SLICE("new"), "a"), WEIR_OK);
    is_sound(s);
    store_close(s);
}

/* ---- who looks after them ---- */

static struct store_databases found;

static void list(const char *order)
{
    struct store_error error = {""};
    enum weir_status st = store_databases_list(list_of(order), &found, &error);
    if (st != WEIR_OK) printf("store_databases_list: %s\n", error.text);
    T_EQ(st, WEIR_OK);
}

static void set_open(const char *order, unsigned number, bool is_open)
{
    struct store_error error = {""};
    T_EQ(store_databases_open(list_of(order), number, is_open, &error), WEIR_OK);
}

/* Status of removing it; with a text that says why not. */
static void is_not_removed(const char *order, unsigned number, enum weir_status st, const char *why)
{
    struct store_error error = {""};
    bool is_freed;
    T_EQ(store_databases_remove(list_of(order), number, &is_freed, &error), st);
    T_OK(strstr(error.text, why) != NULL);
}

static void is_removed(const char *order, unsigned number, bool was_freed)
{
    struct store_error error = {""};
    bool is_freed;
    enum weir_status st = store_databases_remove(list_of(order), number, &is_freed, &error);
    if (st != WEIR_OK) printf("store_databases_remove: %s\n", error.text);
    T_EQ(st, WEIR_OK);
    T_EQ(is_freed, was_freed);
}

static void drop_logs_on(struct store *s, int cluster)
{
    char sql[80];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM weir.logs WHERE cluster = %d", cluster);
    while (ask(0, sql) > 0) drop(s, name_of(log_on(cluster)));
}

TEST(databases_are_listed_with_what_they_have)
{
    if (!make_databases("listed")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    list("acb"); /* in the order of the list, with the numbers of the table */
    T_EQ(found.n, 3);
    uint64_t n_logs = 0;
    static const int numbers[] = {0, 2, 1};
    for (size_t i = 0; i < found.n; i++) {
        const struct store_database *d = &found.all[i];
        T_EQ(d->number, numbers[i]);
        T_OK(d->is_open && d->is_reached && d->n_logs > 0 && d->n_bytes > 0);
        T_EQ_STR(weir_slice_of(d->trouble.text), "");
        n_logs += d->n_logs;
    }
    T_EQ_STR(weir_slice_of(found.all[1].url), urls[2]);
    T_EQ(n_logs, N_LOGS);
    store_databases_fini(&found);
    /* One that the list does not name. */
    list("ab");
    T_EQ(found.n, 3);
    T_EQ(found.all[2].number, 2);
    T_OK(!found.all[2].url && found.all[2].n_logs > 0);
    T_OK(strstr(found.all[2].trouble.text, "does not name") != NULL);
    store_databases_fini(&found);
    list("abcb");
    T_OK(strstr(found.all[3].trouble.text, "twice") != NULL);
    store_databases_fini(&found);
    store_close(s);
}

TEST(database_that_cannot_be_reached_is_listed)
{
    struct store_error error = {""};
    if (!make_databases("unreached")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    store_close(s);
    /* The only one that is away has the number that is left. */
    snprintf(urls[1], URL_BYTES, "postgres://nobody@127.0.0.1:1/nowhere");
    list("abc");
    T_EQ(found.all[1].number, 1);
    T_OK(!found.all[1].is_reached && found.all[1].is_open && found.all[1].n_logs > 0);
    T_OK(found.all[1].trouble.text[0] != '\0');
    store_databases_fini(&found);
    /* Of two nobody knows which is which: the table's rows come by themselves. */
    snprintf(urls[2], URL_BYTES, "postgres://nobody@127.0.0.1:1/elsewhere");
    list("abc");
    T_EQ(found.n, 5);
    T_EQ(found.all[1].number, STORE_NO_DATABASE);
    T_EQ(found.all[2].number, STORE_NO_DATABASE);
    T_EQ(found.all[3].number, 1);
    T_EQ(found.all[4].number, 2);
    store_databases_fini(&found);
    T_EQ(store_databases_list(list_of("ba"), &found, &error), WEIR_STORAGE);
    T_OK(error.text[0] != '\0');
}

TEST(store_of_one_database_is_listed)
{
    struct store_error error = {""};
    if (!make_databases("single")) return;
    T_EQ(store_databases_list(list_of("a"), &found, &error), WEIR_NOT_FOUND);
    struct store *s = open_store("a");
    make_logs(s);
    list("ab");
    T_EQ(found.n, 2);
    T_EQ(found.all[0].number, 0);
    T_EQ(found.all[0].n_logs, N_LOGS);
    T_OK(found.all[0].is_open);
    T_EQ(found.all[1].number, STORE_NO_DATABASE);
    T_OK(strstr(found.all[1].trouble.text, "not in the store") != NULL);
    store_databases_fini(&found);
    T_EQ(store_databases_open(list_of("a"), 1, true, &error), WEIR_NOT_FOUND);
    T_EQ(store_databases_open("/a/folder", 1, true, &error), WEIR_INVALID);
    store_close(s);
    store_close(open_store("bc"));
    T_EQ(store_databases_list(list_of("cb"), &found, &error), WEIR_INVALID);
    T_OK(strstr(error.text, "not the first") != NULL);
    list("ab");
    T_EQ(found.all[1].number, STORE_NO_DATABASE);
    store_databases_fini(&found);
}

/* Whatever a node believes: nothing new comes to one that is closed, from that moment on. */
TEST(log_is_not_made_where_it_is_closed)
{
    if (!make_databases("closed")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    set_open("abc", 1, false);
    int64_t n = ask(0, "SELECT count(*) FROM weir.logs WHERE cluster = 1");
    for (int i = 0; i < N_LOGS; i++) T_EQ(append(s, name_of(i + 100), "a"), WEIR_OK);
    T_EQ(ask(0, "SELECT count(*) FROM weir.logs WHERE cluster = 1"), n);
    T_EQ(append(s, name_of(log_on(1)), "b"), WEIR_OK);
    /* The first one by itself, too; when none is open, it is there for all. */
    set_open("abc", 0, false);
    T_EQ(store_settle(s), WEIR_OK);
    n = ask(0, "SELECT count(*) FROM weir.logs WHERE cluster = 0");
    for (int i = 0; i < N_LOGS; i++) T_EQ(append(s, name_of(i + 200), "a"), WEIR_OK);
    T_EQ(ask(0, "SELECT count(*) FROM weir.logs WHERE cluster = 0"), n);
    set_open("abc", 2, false);
    for (int i = 0; i < N_LOGS; i++) T_EQ(append(s, name_of(i + 300), "a"), WEIR_OK);
    T_EQ(ask(0, "SELECT count(*) FROM weir.logs WHERE cluster = 0"), n + N_LOGS);
    is_sound(s);
    store_close(s);
}

TEST(database_is_removed_when_no_log_needs_it)
{
    if (!make_databases("removed")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    is_not_removed("abc", 0, WEIR_CONFLICT, "first");
    is_not_removed("abc", 7, WEIR_NOT_FOUND, "no database 7");
    is_not_removed("abc", 2, WEIR_CONFLICT, "--close 2");
    set_open("abc", 2, false);
    is_not_removed("abc", 2, WEIR_CONFLICT, "logs");
    list("abc");
    T_EQ(found.all[2].number, 2); /* what was refused has changed nothing */
    store_databases_fini(&found);
    drop_logs_on(s, 2);
    is_removed("abc", 2, true);
    T_EQ(ask(0, "SELECT count(*) FROM weir.clusters"), 2);
    T_EQ(ask(0, "SELECT count(*) FROM weir.garbage WHERE cluster = 2"), 0);
    T_EQ(ask(2, "SELECT count(*) FROM weir.meta WHERE home IS NULL"), 1);
    T_EQ(ask(2, "SELECT count(*) FROM weir.chunks"), 0);
    is_not_removed("abc", 2, WEIR_NOT_FOUND, "no database 2");
    /* The node that runs goes on, and leaves alone what is somebody else's now. */
    struct store *own = NULL;
    T_EQ(store_open(&own, urls[2], NULL, NULL), WEIR_OK);
    T_EQ(append(own, SLICE("own"), "a"), WEIR_OK);
    run(2, "INSERT INTO weir.carried VALUES (900001, 1, 0, 1, 1)");
    for (int i = 0; i < N_LOGS; i++) T_EQ(append(s, name_of(i + 100), "a"), WEIR_OK);
    T_EQ(store_settle(s), WEIR_OK);
    T_EQ(ask(2, "SELECT count(*) FROM weir.carried"), 1);
    T_EQ_STR(text_of(own, SLICE("own")), "a");
    store_close(own);
    store_close(s);
    s = open_store("ab");
    for (int i = 0; i < N_LOGS; i++) T_EQ_STR(text_of(s, name_of(i + 100)), "a");
    is_sound(s);
    store_close(s);
}

/* Nodes that were not started anew know the number as that of the one that is gone. */
TEST(number_of_a_removed_database_is_not_given_again)
{
    if (!make_databases("again")) return;
    struct store *s = open_store("ab");
    make_logs(s);
    set_open("ab", 1, false);
    drop_logs_on(s, 1);
    is_removed("ab", 1, true);
    store_close(s);
    store_close(open_store("a"));
    s = open_store("ac");
    list("ac");
    T_EQ(found.all[1].number, 2);
    T_OK(!found.all[1].is_open);
    store_databases_fini(&found);
    set_open("ac", 2, true);
    T_EQ(store_settle(s), WEIR_OK);
    for (int i = 0; i < N_LOGS; i++) T_EQ(append(s, name_of(i + 100), "a"), WEIR_OK);
    T_OK(ask(0, "SELECT count(*) FROM weir.logs WHERE cluster = 2") > N_LOGS / 5);
    is_sound(s);
    store_close(s);
}

TEST(database_that_is_lost_can_be_removed)
{
    if (!make_databases("gone")) return;
    struct store *s = open_store("abc");
    make_logs(s);
    set_open("abc", 1, false);
    drop_logs_on(s, 1);
    store_close(s);
    snprintf(urls[1], URL_BYTES, "postgres://nobody@127.0.0.1:1/nowhere");
    is_removed("abc", 1, false);
    s = open_store("ac");
    is_sound(s);
    store_close(s);
}
