/* SPDX-License-Identifier: Apache-2.0 */
/* Two stores on one database at once, as two nodes have them, and connections that are killed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/buf.h>

#include "base/slice.h"
#include "pg_server.h"
#include "store/pg.h"
#include "store/store.h"
#include "t.h"

enum { N_NODES = 2, N_THREADS = 3, N_EACH = 60 };

static bool open_nodes(struct store *nodes[N_NODES], const char *database)
{
    const char *url = pg_server_database(database);
    struct store_error error;
    if (!url) return false;
    for (int i = 0; i < N_NODES; i++) {
        T_EQ(store_open(&nodes[i], url, NULL, &error), WEIR_OK);
        T_OK(store_is_shared(nodes[i]));
    }
    return true;
}

static void close_nodes(struct store *nodes[N_NODES])
{
    for (int i = 0; i < N_NODES; i++) store_close(nodes[i]);
}

/* ---- counting ---- */

static struct doc_key note(const char *id)
{
    return (struct doc_key){SLICE("note"), weir_slice_of(id)};
}

static int64_t number_of(struct weir_slice text)
{
    char digits[32] = {0};
    memcpy(digits, text.ptr, text.len < 31 ? text.len : 31);
    return atoll(digits);
}

static enum weir_status count_up(void *user, struct commit_view *view, struct commit *c)
{
    char text[32];
    struct doc doc;
    const char *id = user;
    enum weir_status st = commit_view_doc(view, note(id), &doc);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    int64_t n = st == WEIR_OK ? number_of(doc.body) : 0;
    int len = snprintf(text, sizeof text, "%lld", (long long)n + 1);
    commit_put(c, note(id), st == WEIR_OK ? doc.version : DOC_MUST_BE_NEW, SLICE("ann"),
               slice_of(text, (size_t)len));
    return WEIR_OK;
}

static int64_t value_of(struct store *s, const char *id)
{
    struct doc doc;
    if (store_doc_get(s, note(id), &doc) != WEIR_OK) return 0;
    int64_t n = number_of(doc.body);
    doc_fini(&doc);
    return n;
}

/* ---- many threads of two nodes ---- */

struct worker {
    pthread_t thread;
    struct store *s;
    unsigned number;
    unsigned n_times;
    void (*step)(struct worker *w, unsigned i);
    atomic_bool *stops;
    uint64_t n_good, n_bad;
    bool is_good[4096];
};

static void *work(void *user)
{
    struct worker *w = user;
    for (unsigned i = 0; i < w->n_times; i++) {
        if (w->stops && atomic_load(w->stops)) break;
        w->step(w, i);
    }
    return NULL;
}

static struct worker workers[N_NODES * N_THREADS];

static void start(struct store *nodes[N_NODES], void (*step)(struct worker *w, unsigned i),
                  unsigned n_times, atomic_bool *stops)
{
    for (unsigned i = 0; i < N_NODES * N_THREADS; i++) {
        workers[i] = (struct worker){
            .s = nodes[i % N_NODES], .number = i, .n_times = n_times, .step = step, .stops = stops};
        T_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
}

static void finish(void)
{
    for (unsigned i = 0; i < N_NODES * N_THREADS; i++) pthread_join(workers[i].thread, NULL);
}

/* Both in one commit: an event that says who, and the counter. */
static void append_and_count(struct worker *w, unsigned i)
{
    char frame[64];
    struct commit *c = commit_new(0);
    int len = snprintf(frame, sizeof frame, "data: %u-%u\n\n", w->number, i);
    commit_append(c, SLICE("shared"), slice_of(frame, (size_t)len));
    static char counter[] = "counter";
    commit_decide(c, false, count_up, counter);
    struct commit_result r = store_commit_wait(w->s, c);
    w->is_good[i] = r.status == WEIR_OK;
    if (r.status == WEIR_OK) w->n_good++;
    else w->n_bad++;
    T_OK(r.status == WEIR_OK || r.status == WEIR_STORAGE);
}

/* Counts how often each worker's events are in the log; ids and order are checked. */
static uint64_t read_shared(struct store *s, unsigned char seen[N_NODES * N_THREADS][4096])
{
    uint64_t next = 1;
    for (;;) {
        struct log_read read;
        store_read(s, SLICE("shared"), next, 1 << 16, &read);
        T_EQ(read.status, WEIR_OK);
        if (read.n_chunks == 0) return next - 1;
        for (unsigned i = 0; i < read.n_chunks; i++) {
            struct chunk *c = read.chunks[i];
            struct weir_slice rest = slice_of(c->bytes, c->len);
            T_EQ(c->first, next);
            for (; rest.len > 0; next++) {
                size_t len = chunk_event_length(rest);
                struct weir_slice who = chunk_event_line(slice_of(rest.ptr, len), "data: ");
                char text[32] = {0};
                unsigned worker = 0, number = 0;
                memcpy(text, who.ptr, who.len < 31 ? who.len : 31);
                T_EQ(sscanf(text, "%u-%u", &worker, &number), 2);
                if (worker < N_NODES * N_THREADS && number < 4096) seen[worker][number]++;
                rest = slice_from(rest, len);
            }
            T_EQ(c->last, next - 1);
            chunk_unref(c);
        }
    }
}

/* What was acknowledged is there once, what was refused is not there. */
static void check_shared(struct store *s)
{
    static unsigned char seen[N_NODES * N_THREADS][4096];
    uint64_t n_good = 0;
    memset(seen, 0, sizeof seen);
    uint64_t last = read_shared(s, seen);
    for (unsigned i = 0; i < N_NODES * N_THREADS; i++) {
        n_good += workers[i].n_good;
        for (unsigned k = 0; k < 4096; k++) T_EQ(seen[i][k], workers[i].is_good[k] ? 1 : 0);
    }
    T_EQ(last, n_good);
    T_EQ(value_of(s, "counter"), (int64_t)n_good);
}

TEST(two_nodes_append_to_one_log_and_count_on_one_document)
{
    struct store *nodes[N_NODES];
    uint64_t n_wrong = 0;
    if (!open_nodes(nodes, "count")) return;
    start(nodes, append_and_count, N_EACH, NULL);
    finish();
    for (unsigned i = 0; i < N_NODES * N_THREADS; i++) T_EQ(workers[i].n_bad, 0);
    for (int i = 0; i < N_NODES; i++) check_shared(nodes[i]);
    T_EQ(store_check(nodes[0], NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
    close_nodes(nodes);
}

/* ---- who is first ---- */

static void create(struct worker *w, unsigned i)
{
    char name[32];
    snprintf(name, sizeof name, "new-%u", i);
    struct commit *c = commit_new(0);
    commit_expect(c, weir_slice_of(name), 0);
    commit_put(c, note(name), DOC_MUST_BE_NEW, SLICE("ann"), SLICE("x"));
    commit_append(c, weir_slice_of(name), SLICE("data: first\n\n"));
    struct commit_result r = store_commit_wait(w->s, c);
    w->is_good[i] = r.status == WEIR_OK;
    T_OK(r.status == WEIR_OK || r.status == WEIR_EXISTS || r.status == WEIR_CONFLICT);
}

TEST(of_all_who_make_the_same_thing_one_makes_it)
{
    struct store *nodes[N_NODES];
    if (!open_nodes(nodes, "create")) return;
    start(nodes, create, N_EACH, NULL);
    finish();
    for (unsigned i = 0; i < N_EACH; i++) {
        char name[32];
        struct log_read read;
        unsigned n = 0;
        snprintf(name, sizeof name, "new-%u", i);
        for (unsigned k = 0; k < N_NODES * N_THREADS; k++) n += workers[k].is_good[i];
        T_EQ(n, 1);
        store_read(nodes[0], weir_slice_of(name), 1, 0, &read);
        T_EQ(read.state.last, 1);
    }
    close_nodes(nodes);
}

/* ---- each looks at what the other writes ---- */

struct skew {
    char mine[32], other[32];
};

static enum weir_status put_if_other_is_not(void *user, struct commit_view *view, struct commit *c)
{
    const struct skew *k = user;
    struct doc doc;
    enum weir_status st = commit_view_doc(view, note(k->other), &doc);
    if (st == WEIR_OK) return WEIR_EXISTS;
    if (st != WEIR_NOT_FOUND) return st;
    commit_put(c, note(k->mine), DOC_ANY_VERSION, SLICE("ann"), SLICE("x"));
    return WEIR_OK;
}

static void put_unless(struct worker *w, unsigned i)
{
    struct skew k;
    bool is_left = w->number % 2 == 0;
    snprintf(k.mine, sizeof k.mine, "%s-%u", is_left ? "left" : "right", i);
    snprintf(k.other, sizeof k.other, "%s-%u", is_left ? "right" : "left", i);
    struct commit *c = commit_new(0);
    commit_decide(c, false, put_if_other_is_not, &k);
    struct commit_result r = store_commit_wait(w->s, c);
    T_OK(r.status == WEIR_OK || r.status == WEIR_EXISTS);
}

TEST(what_was_seen_not_to_be_there_is_not_when_it_counts)
{
    struct store *nodes[N_NODES];
    if (!open_nodes(nodes, "skew")) return;
    start(nodes, put_unless, N_EACH, NULL);
    finish();
    for (unsigned i = 0; i < N_EACH; i++) {
        char left[32], right[32];
        struct doc doc;
        snprintf(left, sizeof left, "left-%u", i);
        snprintf(right, sizeof right, "right-%u", i);
        enum weir_status st_left = store_doc_get(nodes[0], note(left), &doc);
        doc_fini(&doc);
        enum weir_status st_right = store_doc_get(nodes[0], note(right), &doc);
        doc_fini(&doc);
        T_OK((st_left == WEIR_OK) != (st_right == WEIR_OK));
    }
    close_nodes(nodes);
}

/* ---- moving between several ---- */

enum { N_ACCOUNTS = 6, N_MOVES = 120, AT_FIRST = 100 };

struct move {
    unsigned from, to, looked_at;
};

static struct doc_key account(char id[16], unsigned i)
{
    snprintf(id, 16, "account-%u", i);
    return note(id);
}

static enum weir_status view_account(struct commit_view *view, unsigned i, int64_t *amount,
                                     int64_t *version)
{
    char id[16];
    struct doc doc;
    enum weir_status st = commit_view_doc(view, account(id, i), &doc);
    *amount = st == WEIR_OK ? number_of(doc.body) : AT_FIRST;
    *version = st == WEIR_OK ? doc.version : DOC_MUST_BE_NEW;
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static void put_account(struct commit *c, unsigned i, int64_t amount, int64_t version)
{
    char id[16];
    char text[32];
    int len = snprintf(text, sizeof text, "%lld", (long long)amount);
    commit_put(c, account(id, i), version, SLICE("ann"), slice_of(text, (size_t)len));
}

/* One that is only looked at, too; and a log that is, beside the one that is appended to. */
static enum weir_status move_some(void *user, struct commit_view *view, struct commit *c)
{
    const struct move *m = user;
    char log[16];
    struct log_state state;
    int64_t from, to, other, from_version, to_version, other_version;
    enum weir_status st = view_account(view, m->from, &from, &from_version);
    if (st == WEIR_OK) st = view_account(view, m->to, &to, &to_version);
    if (st == WEIR_OK) st = view_account(view, m->looked_at, &other, &other_version);
    snprintf(log, sizeof log, "log-%u", m->looked_at);
    if (st == WEIR_OK) st = commit_view_log(view, weir_slice_of(log), &state);
    if (st != WEIR_OK) return st;
    if (other < 0 || from < 1) return WEIR_LIMIT;
    put_account(c, m->from, from - 1, from_version);
    put_account(c, m->to, to + 1, to_version);
    snprintf(log, sizeof log, "log-%u", m->from);
    commit_append(c, weir_slice_of(log), SLICE("data: x\n\n"));
    return WEIR_OK;
}

static void move(struct worker *w, unsigned i)
{
    unsigned at = w->number * 7 + i * 5;
    struct move m = {at % N_ACCOUNTS, (at + 1 + i % (N_ACCOUNTS - 1)) % N_ACCOUNTS,
                     (at + i / 3) % N_ACCOUNTS};
    if (m.from == m.to) return;
    struct commit *c = commit_new(0);
    commit_decide(c, false, move_some, &m);
    struct commit_result r = store_commit_wait(w->s, c);
    w->n_good += r.status == WEIR_OK;
    T_OK(r.status == WEIR_OK || r.status == WEIR_LIMIT);
}

TEST(what_is_moved_between_documents_is_neither_lost_nor_made)
{
    struct store *nodes[N_NODES];
    int64_t sum = 0;
    uint64_t n_good = 0, n_events = 0;
    if (!open_nodes(nodes, "bank")) return;
    start(nodes, move, N_MOVES, NULL);
    finish();
    for (unsigned i = 0; i < N_NODES * N_THREADS; i++) n_good += workers[i].n_good;
    for (unsigned i = 0; i < N_ACCOUNTS; i++) {
        char id[16];
        struct log_read read;
        account(id, i);
        int64_t amount = value_of(nodes[i % 2], id);
        T_OK(amount >= 0);
        sum += amount;
        snprintf(id, sizeof id, "log-%u", i);
        store_read(nodes[(i + 1) % 2], weir_slice_of(id), 1, 0, &read);
        n_events += read.state.last;
    }
    T_EQ(sum, N_ACCOUNTS * AT_FIRST);
    T_EQ(n_events, n_good);
    close_nodes(nodes);
}

/* ---- what the other does to what is remembered here ---- */

static struct commit_result append(struct store *s, const char *log)
{
    struct commit *c = commit_new(0);
    commit_append(c, weir_slice_of(log), SLICE("data: x\n\n"));
    return store_commit_wait(s, c);
}

static struct commit_result drop(struct store *s, const char *log)
{
    struct commit *c = commit_new(0);
    commit_drop(c, weir_slice_of(log));
    return store_commit_wait(s, c);
}

static struct commit_result seal(struct store *s, const char *log)
{
    struct commit *c = commit_new(0);
    commit_seal(c, weir_slice_of(log), -1);
    return store_commit_wait(s, c);
}

TEST(a_log_that_the_other_dropped_or_sealed_is_so_at_once)
{
    struct store *nodes[N_NODES];
    if (!open_nodes(nodes, "drop")) return;
    for (int i = 0; i < 20; i++) {
        struct store *a = nodes[i % 2];
        struct store *b = nodes[(i + 1) % 2];
        T_EQ(append(a, "x").first, 1);
        T_EQ(append(b, "x").first, 2);
        T_EQ(append(a, "x").first, 3);
        T_EQ(drop(b, "x").status, WEIR_OK);
        T_EQ(drop(a, "x").status, WEIR_NOT_FOUND);
        T_EQ(append(a, "x").first, 1);
        T_EQ(seal(b, "x").status, WEIR_OK);
        T_EQ(append(a, "x").status, WEIR_SEALED);
        T_EQ(drop(a, "x").status, WEIR_OK);
    }
    close_nodes(nodes);
}

/* ---- what changes while somebody decides ---- */

enum sight { SEES_DOC, SEES_NO_DOC, SEES_LOG, SEES_NO_LOG, SEES_UNSEALED, N_SIGHTS };

struct meddling {
    struct store *other;
    enum sight sight;
    char there[32], not_there[32], result[32];
    unsigned n_calls;
    int64_t seen; /* by the last call */
};

static struct commit_result put_note(struct store *s, const char *id)
{
    struct commit *c = commit_new(0);
    commit_put(c, note(id), DOC_ANY_VERSION, SLICE("ann"), SLICE("x"));
    return store_commit_wait(s, c);
}

static void meddle(struct meddling *m)
{
    switch (m->sight) {
    case SEES_DOC: T_EQ(doc_n_puts(put_note(m->other, m->there).version), 2); break;
    case SEES_NO_DOC: T_EQ(doc_n_puts(put_note(m->other, m->not_there).version), 1); break;
    case SEES_LOG: T_EQ(append(m->other, m->there).first, 2); break;
    case SEES_NO_LOG: T_EQ(append(m->other, m->not_there).first, 1); break;
    case SEES_UNSEALED: T_EQ(seal(m->other, m->there).status, WEIR_OK); break;
    default: break;
    }
}

static enum weir_status look_and_meddle(void *user, struct commit_view *view, struct commit *c)
{
    struct meddling *m = user;
    struct doc doc;
    struct log_state log;
    bool is_there = m->sight != SEES_NO_DOC && m->sight != SEES_NO_LOG;
    const char *name = is_there ? m->there : m->not_there;
    if (m->sight == SEES_DOC || m->sight == SEES_NO_DOC) {
        enum weir_status st = commit_view_doc(view, note(name), &doc);
        m->seen = st == WEIR_OK ? doc_n_puts(doc.version) : 0;
    } else {
        T_EQ(commit_view_log(view, weir_slice_of(name), &log), WEIR_OK);
        m->seen = log.is_sealed ? -1 : (int64_t)log.last;
    }
    if (m->n_calls++ == 0) meddle(m);
    commit_append(c, weir_slice_of(m->result), SLICE("data: x\n\n"));
    return WEIR_OK;
}

TEST(who_decided_on_something_that_changed_meanwhile_decides_again)
{
    static const int64_t want[N_SIGHTS] = {2, 1, 2, 1, -1};
    struct store *nodes[N_NODES];
    if (!open_nodes(nodes, "again")) return;
    for (enum sight sight = 0; sight < N_SIGHTS; sight++) {
        struct meddling m = {.other = nodes[1], .sight = sight};
        snprintf(m.there, sizeof m.there, "there-%d", (int)sight);
        snprintf(m.not_there, sizeof m.not_there, "not-there-%d", (int)sight);
        snprintf(m.result, sizeof m.result, "result-%d", (int)sight);
        T_EQ(doc_n_puts(put_note(nodes[0], m.there).version), 1);
        T_EQ(append(nodes[0], m.there).first, 1);
        struct commit *c = commit_new(0);
        commit_decide(c, false, look_and_meddle, &m);
        struct commit_result r = store_commit_wait(nodes[0], c);
        T_EQ(r.status, WEIR_OK);
        T_EQ(r.last, 1); /* what the call in vain added was taken back */
        T_OK(m.n_calls >= 2);
        T_EQ(m.seen, want[sight]);
    }
    close_nodes(nodes);
}

/* ---- connections that are killed ---- */

enum { KILL_MS = 2500, MIN_KILLS = 10 /* however long they take */ };

static uint64_t real_ms(void)
{
    return clock_mono_ns(&clock_system) / 1000000;
}

/* Ends all connections to the database but its own, at moments that nobody chose. */
static unsigned kill_for_a_while(const char *url)
{
    struct pg *pg = NULL;
    unsigned n = 0;
    uint64_t end = real_ms() + KILL_MS;
    T_EQ(pg_open(&pg, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    while (real_ms() < end || n <= MIN_KILLS) {
        struct pg_rows *rows = NULL;
        pg_call(pg, "SELECT pg_sleep(random() * 0.05)::text");
        T_EQ(pg_run(pg, NULL), WEIR_OK);
        pg_call(pg, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    " AND random() < 0.7");
        T_EQ(pg_run(pg, &rows), WEIR_OK);
        n += (unsigned)pg_n_rows(rows);
        pg_rows_free(rows);
    }
    pg_close(pg);
    return n;
}

TEST(a_killed_connection_loses_nothing_and_does_nothing_twice)
{
    struct store *nodes[N_NODES];
    atomic_bool stops = false;
    char url[512];
    struct store_stats stats;
    uint64_t n_wrong = 0, n_lost = 0;
    if (!open_nodes(nodes, "kill")) return;
    snprintf(url, sizeof url, "%s", pg_server_database("kill"));
    start(nodes, append_and_count, 4096, &stops);
    T_OK(kill_for_a_while(url) > MIN_KILLS);
    atomic_store(&stops, true);
    finish();
    for (int i = 0; i < N_NODES; i++) {
        check_shared(nodes[i]);
        store_stats(nodes[i], &stats);
        T_OK(!stats.is_broken);
    }
    T_EQ(append(nodes[0], "after").status, WEIR_OK);
    T_EQ(append(nodes[1], "after").last, 2);
    for (int i = 0; i < N_NODES; i++) {
        store_stats(nodes[i], &stats);
        n_lost += stats.shared.n_lost;
        T_EQ(stats.shared.n_connects, stats.shared.n_lost + 1);
        T_OK(stats.shared.n_away == 0);
    }
    T_OK(n_lost > 0);
    T_EQ(store_check(nodes[1], NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
    close_nodes(nodes);
}

/* A standby that is not there: what is committed is there, and whoever committed it waits. */
static void hold_commits(struct pg *pg, bool is_held)
{
    T_EQ(pg_script(pg, is_held ? "ALTER SYSTEM SET synchronous_standby_names = 'nobody'"
                               : "ALTER SYSTEM RESET synchronous_standby_names"),
         WEIR_OK);
    T_EQ(pg_script(pg, "SELECT pg_reload_conf()"), WEIR_OK);
}

/* Ends the connection that waits for that standby; false when there is none. */
static bool kill_held(struct pg *pg)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event = 'SyncRep'");
    T_EQ(pg_run(pg, &rows), WEIR_OK);
    bool is_killed = pg_n_rows(rows) > 0;
    pg_rows_free(rows);
    return is_killed;
}

TEST(a_batch_that_happened_though_its_connection_was_lost_is_known_to_have)
{
    struct store *nodes[N_NODES];
    struct pg *pg = NULL;
    if (!open_nodes(nodes, "doubt")) return;
    T_EQ(pg_open(&pg, &(struct pg_options){.url = pg_server_database("doubt")}, NULL), WEIR_OK);
    struct commit *c = commit_new(0);
    commit_make(c, SLICE("shared"));
    T_EQ(store_commit_wait(nodes[0], c).status, WEIR_OK);
    hold_commits(pg, true);
    start(nodes, append_and_count, 3, NULL);
    uint64_t begun = real_ms();
    unsigned n_killed = 0;
    while (n_killed < 6 && real_ms() - begun < 20000) n_killed += kill_held(pg);
    T_EQ(n_killed, 6);
    hold_commits(pg, false);
    finish();
    /* One that was not begun when the others had been held for too long may have been refused. */
    uint64_t n_good = 0;
    for (unsigned i = 0; i < N_NODES * N_THREADS; i++) n_good += workers[i].n_good;
    T_OK(n_good > 0);
    for (int i = 0; i < N_NODES; i++) check_shared(nodes[i]);
    pg_close(pg);
    close_nodes(nodes);
}

/* Somebody tells a commit that waits for its standby not to; the server calls that a success. */
static const char cancel_sql[] = "SELECT pid, pg_cancel_backend(pid) FROM pg_stat_activity"
                                 " WHERE datname = current_database() AND wait_event = 'SyncRep'";
static const char held_sql[] = "SELECT pid FROM pg_stat_activity"
                               " WHERE datname = current_database() AND wait_event = 'SyncRep'";

/* The process that was found; 0: none. */
static int64_t find_process(struct pg *pg, const char *sql)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, sql);
    T_EQ(pg_run(pg, &rows), WEIR_OK);
    int64_t process = pg_n_rows(rows) > 0 ? pg_get_int(rows, 0, 0) : 0;
    pg_rows_free(rows);
    return process;
}

/* Cancels until so many connections have waited, one after the other: each counts as lost. */
static unsigned cancel_connections(struct pg *pg, unsigned n_wanted)
{
    int64_t before = 0;
    unsigned n = 0;
    for (uint64_t end = real_ms() + 20000; n < n_wanted && real_ms() < end;) {
        int64_t process = find_process(pg, cancel_sql);
        n += process != 0 && process != before;
        if (process != 0) before = process;
    }
    return n;
}

static atomic_uint n_appended;

static void append_held(struct worker *w, unsigned i)
{
    (void)i;
    T_EQ(append(w->s, "held").status, WEIR_OK);
    atomic_fetch_add(&n_appended, 1);
}

TEST(a_commit_that_was_told_not_to_wait_for_its_standby_waits)
{
    struct store *nodes[N_NODES];
    struct pg *pg = NULL;
    atomic_bool stops = false;
    if (!open_nodes(nodes, "cancelled")) return;
    T_EQ(pg_open(&pg, &(struct pg_options){.url = pg_server_database("cancelled")}, NULL), WEIR_OK);
    hold_commits(pg, true);
    struct worker w = {.s = nodes[0], .n_times = 1 << 20, .step = append_held, .stops = &stops};
    T_EQ(pthread_create(&w.thread, NULL, work, &w), 0);
    /* Some go through: the server takes a moment to hear of it. */
    for (uint64_t end = real_ms() + 20000; find_process(pg, held_sql) == 0 && real_ms() < end;)
        continue;
    unsigned n_before = atomic_load(&n_appended);
    /* The commit itself, and what finds out what became of it. */
    T_EQ(cancel_connections(pg, 3), 3);
    T_EQ(atomic_load(&n_appended), n_before);
    atomic_store(&stops, true);
    hold_commits(pg, false);
    pthread_join(w.thread, NULL);
    T_EQ(atomic_load(&n_appended), n_before + 1);
    T_EQ(append(nodes[1], "held").first, n_before + 2);
    pg_close(pg);
    close_nodes(nodes);
}

/* As after a crash without durability, or a failover to a standby that nobody waited for. */
TEST(node_goes_on_when_the_database_has_lost_its_last_batches)
{
    struct store *nodes[N_NODES];
    struct pg *pg = NULL;
    if (!open_nodes(nodes, "behind")) return;
    T_EQ(pg_open(&pg, &(struct pg_options){.url = pg_server_database("behind")}, NULL), WEIR_OK);
    for (int i = 0; i < 3; i++) T_EQ(append(nodes[0], "a").status, WEIR_OK);
    T_EQ(pg_script(pg, "UPDATE weir.writers SET batch = batch - 2 WHERE batch > 2;"
                       "UPDATE weir.logs SET last = 1; DELETE FROM weir.chunks WHERE first > 1"),
         WEIR_OK);
    T_EQ(append(nodes[0], "a").first, 2);
    T_EQ(append(nodes[0], "a").first, 3);
    T_EQ(append(nodes[1], "a").first, 4);
    pg_close(pg);
    close_nodes(nodes);
}

TEST(a_database_that_is_away_is_waited_for_then_refused_then_back)
{
    struct store *nodes[N_NODES];
    if (!open_nodes(nodes, "away")) return;
    T_EQ(append(nodes[0], "a").first, 1);
    pg_server_stop();
    uint64_t begun = real_ms();
    T_EQ(append(nodes[0], "a").status, WEIR_STORAGE); /* after a while */
    T_OK(real_ms() - begun >= 4000);
    T_EQ(store_is_writable(nodes[0]), WEIR_STORAGE);
    while (real_ms() - begun < 7000 && append(nodes[0], "a").status == WEIR_STORAGE) {
    }
    begun = real_ms();
    T_EQ(append(nodes[0], "a").status, WEIR_STORAGE); /* at once */
    T_OK(real_ms() - begun < 3000);
    pg_server_start();
    begun = real_ms();
    struct commit_result r = {.status = WEIR_STORAGE};
    while (real_ms() - begun < 20000 && r.status == WEIR_STORAGE) r = append(nodes[0], "a");
    T_EQ(r.status, WEIR_OK);
    T_EQ(r.first, 2);
    T_EQ(store_is_writable(nodes[0]), WEIR_OK);
    r.status = WEIR_STORAGE;
    while (real_ms() - begun < 40000 && r.status == WEIR_STORAGE) r = append(nodes[1], "a");
    T_EQ(r.first, 3);
    close_nodes(nodes);
}

/* A commit that drops is a batch, and each batch waits for the disk. */
TEST(logs_that_have_expired_are_dropped_many_at_a_time)
{
    enum { N_LOGS = 600 };
    struct store *s = NULL;
    struct fake_clock clock;
    struct log_read read;
    struct store_stats before, after;
    char name[16];
    const char *url = pg_server_database("expire");
    if (!url) return;
    fake_clock_init(&clock, 1000000);
    const struct store_options options = {.clock = &clock.clock};
    T_EQ(store_open(&s, url, &options, NULL), WEIR_OK);
    struct commit *c = commit_new(0);
    for (int i = 0; i < N_LOGS; i++) {
        snprintf(name, sizeof name, "log%d", i);
        commit_append(c, weir_slice_of(name), SLICE("data: x\n\n"));
        commit_seal(c, weir_slice_of(name), 1000);
    }
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    store_stats(s, &before);
    fake_clock_advance(&clock, UINT64_C(2000000000));
    T_EQ(append(s, "other").first, 1);
    for (int i = 0; i < 3; i++) T_EQ(store_settle(s), WEIR_OK);
    store_stats(s, &after);
    T_OK(after.n_syncs - before.n_syncs >= 2 && after.n_syncs - before.n_syncs <= 6);
    store_read(s, SLICE("other"), 1, 0, &read);
    T_OK(read.state.exists);
    struct pg *pg = NULL;
    struct pg_rows *rows = NULL;
    T_EQ(pg_open(&pg, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    pg_call(pg, "SELECT count(*) FROM weir.logs");
    T_EQ(pg_run(pg, &rows), WEIR_OK);
    T_EQ(pg_get_int(rows, 0, 0), 1);
    pg_rows_free(rows);
    pg_close(pg);
    store_close(s);
}

/* As when the machine of the node has slept, or another server goes on with another clock. */
TEST(time_is_the_databases_also_when_that_is_another)
{
    struct store *nodes[N_NODES];
    struct pg *pg = NULL;
    struct log_read read;
    if (!open_nodes(nodes, "time")) return;
    T_EQ(pg_open(&pg, &(struct pg_options){.url = pg_server_database("time")}, NULL), WEIR_OK);
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("sealed"), SLICE("data: x\n\n"));
    commit_seal(c, SLICE("sealed"), 3600 * 1000);
    T_EQ(store_commit_wait(nodes[0], c).status, WEIR_OK);
    T_EQ(store_settle(nodes[0]), WEIR_OK);
    store_read(nodes[0], SLICE("sealed"), 1, 0, &read);
    T_OK(read.state.exists);
    T_EQ(pg_script(pg,
                   "CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS"
                   " $$SELECT pg_catalog.clock_timestamp() + interval '2 hours'$$;"
                   "ALTER DATABASE time SET search_path = public, pg_catalog"),
         WEIR_OK);
    T_EQ(pg_script(pg, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                       " WHERE datname = current_database() AND pid <> pg_backend_pid()"),
         WEIR_OK);
    T_EQ(append(nodes[0], "a").status, WEIR_OK); /* the committer's connection is a new one */
    store_read(nodes[0], SLICE("sealed"), 1, 0, &read);
    T_OK(!read.state.exists);
    enum weir_status st = WEIR_STORAGE; /* and so is the keeper's */
    for (int i = 0; i < 10 && st != WEIR_OK; i++) st = store_settle(nodes[1]);
    T_EQ(st, WEIR_OK);
    store_read(nodes[1], SLICE("sealed"), 1, 0, &read);
    T_OK(!read.state.exists);
    pg_close(pg);
    close_nodes(nodes);
}

/* Readers tell an older log from a newer one of the same name by that. */
TEST(log_that_is_made_again_has_a_greater_id_whoever_makes_it)
{
    struct store *nodes[N_NODES];
    uint64_t id = 0;
    if (!open_nodes(nodes, "again")) return;
    for (int i = 0; i < 8; i++) {
        struct store *s = nodes[i % N_NODES];
        struct commit *c = commit_new(0);
        struct log_read read;
        commit_append(c, SLICE("again"), SLICE("data: x\n\n"));
        T_EQ(store_commit_wait(s, c).status, WEIR_OK);
        store_read(s, SLICE("again"), 1, 0, &read);
        T_OK(read.state.log_id > id);
        id = read.state.log_id;
        c = commit_new(0);
        commit_drop(c, SLICE("again"));
        T_EQ(store_commit_wait(nodes[(i + 1) % N_NODES], c).status, WEIR_OK);
    }
    close_nodes(nodes);
}
