/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node hears of others on a real server: events of logs that are followed, without a gap
 * whatever is lost on the way, and documents.
 */
#include "store/pg_listen.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/slice.h"
#include "pg_server.h"
#include "store/pg_listen_impl.h"
#include "store/pg_news.h"
#include "store/pg_tables.h"
#include "t.h"

enum { N_LOGS = 4, WAIT_MS = 20 * 1000, NEVER_MS = 3600 * 1000, SOON_MS = 20 };

/* ---- another node ---- */

struct writer {
    struct pg *pg;
    const char *name;
    uint64_t batch;
    bool is_open; /* a transaction */
    bool is_mute; /* it dies each time before it tells */
};

static struct pg_news news; /* too large for a stack */

static struct pg *open_pg(const char *url)
{
    struct pg *pg = NULL;
    struct store_error error = {""};
    if (pg_open(&pg, &(struct pg_options){.url = url}, &error) != WEIR_OK)
        printf("%s\n", error.text);
    T_OK(pg != NULL);
    return pg;
}

static void writer_open(struct writer *w, const char *url, const char *name)
{
    *w = (struct writer){.pg = open_pg(url), .name = name};
    pg_call(w->pg, "INSERT INTO weir.writers (id, batch) VALUES ($1, 0)");
    pg_text(w->pg, weir_slice_of(name));
    T_EQ(pg_run(w->pg, NULL), WEIR_OK);
}

static void writer_tell(struct writer *w)
{
    unsigned n = pg_news_end(&news);
    if (w->is_open) T_EQ(pg_script(w->pg, "COMMIT"), WEIR_OK);
    w->is_open = false;
    for (unsigned i = 0; i < n && !w->is_mute; i++) {
        pg_call(w->pg, "SELECT pg_notify('weir', $1)");
        pg_text(w->pg, pg_news_payload(&news, i));
        T_EQ(pg_run(w->pg, NULL), WEIR_OK);
    }
}

static void writer_begin(struct writer *w)
{
    pg_news_begin(&news, weir_slice_of(w->name), ++w->batch);
    T_EQ(pg_script(w->pg, "BEGIN"), WEIR_OK);
    w->is_open = true;
    pg_call(w->pg, "UPDATE weir.writers SET batch = $1 WHERE id = $2");
    pg_int(w->pg, (int64_t)w->batch);
    pg_text(w->pg, weir_slice_of(w->name));
    T_EQ(pg_run(w->pg, NULL), WEIR_OK);
}

/* As the committer does; in less haste. */
static void write_events(struct writer *w, struct pg_news_log *log, unsigned n)
{
    char bytes[4096];
    size_t len = 0;
    for (unsigned i = 0; i < n; i++)
        len += (size_t)snprintf(bytes + len, sizeof bytes - len, "id: %llu\ndata: x\n\n",
                                (unsigned long long)log->last + i + 1);
    log->is_made = log->last == 0;
    log->first = log->last + 1;
    log->last += n;
    pg_call(w->pg, "INSERT INTO weir.logs (id, name, last) VALUES ($1, $2, $3)"
                   " ON CONFLICT (id) DO UPDATE SET last = $3");
    pg_int(w->pg, (int64_t)log->log_id);
    pg_bytes(w->pg, log->name);
    pg_int(w->pg, (int64_t)log->last);
    T_EQ(pg_run(w->pg, NULL), WEIR_OK);
    pg_call(w->pg, "INSERT INTO weir.chunks (log, first, last, bytes) VALUES ($1, $2, $3, $4)");
    pg_int(w->pg, (int64_t)log->log_id);
    pg_int(w->pg, (int64_t)log->first);
    pg_int(w->pg, (int64_t)log->last);
    pg_bytes(w->pg, slice_of(bytes, len));
    T_EQ(pg_run(w->pg, NULL), WEIR_OK);
}

static void append(struct writer *w, struct pg_news_log *log, unsigned n)
{
    writer_begin(w);
    write_events(w, log, n);
    pg_news_add_log(&news, log);
    writer_tell(w);
}

static void put_doc(struct writer *w, const char *kind, const char *id)
{
    writer_begin(w);
    pg_news_add_doc(&news, (struct doc_key){weir_slice_of(kind), weir_slice_of(id)});
    writer_tell(w);
}

/* ---- the node that listens ---- */

struct node {
    struct pg_clusters clusters;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct pg_listener *listener;
    const struct pg_news_log *logs; /* those that are followed */
    unsigned n_logs;
    uint64_t next[N_LOGS]; /* event that is expected */
    bool is_sealed[N_LOGS], is_dropped[N_LOGS];
    unsigned n_made;
    unsigned n_gaps, n_others, n_everything, n_docs;
    size_t most_bytes; /* in one thing */
    char doc[64];      /* the newest */
};

static int index_of(const struct node *n, struct weir_slice name)
{
    for (unsigned i = 0; i < n->n_logs; i++)
        if (slice_eq(n->logs[i].name, name)) return (int)i;
    return -1;
}

static bool wants_log(void *node, struct weir_slice name)
{
    return index_of(node, name) >= 0;
}

static void each_log(void *node, unsigned part, store_log_fn each, void *arg)
{
    const struct node *n = node;
    for (unsigned i = 0; i < n->n_logs; i++)
        if (i % STORE_LOG_PARTS == part) each(arg, n->logs[i].name);
}

static void take_news(struct node *n, const struct store_news *s)
{
    int i = index_of(n, s->log);
    if (i < 0) {
        n->n_others++;
        return;
    }
    n->n_made += s->is_made;
    n->is_sealed[i] |= s->is_sealed;
    n->is_dropped[i] |= s->is_dropped;
    if (!s->chunk) return;
    n->n_gaps += s->chunk->first > n->next[i];
    if (s->chunk->last >= n->next[i]) n->next[i] = s->chunk->last + 1;
}

static void heard(void *node, struct pg_heard *h)
{
    struct node *n = node;
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < h->n_news; i++) take_news(n, &h->news[i]);
    n->n_everything += h->is_everything;
    if (h->n_bytes > n->most_bytes) n->most_bytes = h->n_bytes;
    n->n_docs += (unsigned)h->n_docs;
    if (h->n_docs > 0)
        snprintf(n->doc, sizeof n->doc, "%.*s/%.*s", (int)h->docs[h->n_docs - 1].kind.len,
                 h->docs[h->n_docs - 1].kind.ptr, (int)h->docs[h->n_docs - 1].id.len,
                 h->docs[h->n_docs - 1].id.ptr);
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
    pg_heard_free(h);
}

static void node_start(struct node *n, const char *url, unsigned sweep_ms)
{
    pthread_condattr_t attributes;
    struct store_error error = {""};
    pthread_mutex_init(&n->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&n->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    for (unsigned i = 0; i < N_LOGS; i++) n->next[i] = 1;
    T_EQ(pg_clusters_init(&n->clusters, url), WEIR_OK);
    const struct pg_listen_options options = {.clusters = &n->clusters,
                                              .writer = SLICE("me"),
                                              .sweep_ms = sweep_ms,
                                              .wants_log = wants_log,
                                              .each_log = each_log,
                                              .follower = n,
                                              .heard = heard,
                                              .user = n};
    T_EQ(pg_listener_start(&n->listener, &options, &error), WEIR_OK);
}

static void node_stop(struct node *n)
{
    pg_listener_stop(n->listener);
    pg_listener_free(n->listener);
    pg_clusters_fini(&n->clusters);
    pthread_cond_destroy(&n->changed);
    pthread_mutex_destroy(&n->lock);
}

typedef bool (*node_fn)(const struct node *n, uint64_t arg);

static void node_wait(struct node *n, node_fn is_so, uint64_t arg)
{
    struct timespec deadline = clock_deadline(WAIT_MS);
    int error = 0;
    pthread_mutex_lock(&n->lock);
    while (!is_so(n, arg) && error == 0)
        error = pthread_cond_timedwait(&n->changed, &n->lock, &deadline);
    T_OK(is_so(n, arg));
    pthread_mutex_unlock(&n->lock);
}

static bool has_docs(const struct node *n, uint64_t arg)
{
    return n->n_docs >= arg;
}

static bool has_first(const struct node *n, uint64_t arg)
{
    return n->next[0] == arg + 1;
}

static bool has_all(const struct node *n, uint64_t arg)
{
    for (unsigned i = 0; i < n->n_logs; i++)
        if (n->next[i] != arg + 1) return false;
    return true;
}

static bool has_lost(const struct node *n, uint64_t arg)
{
    return n->n_everything >= arg;
}

static bool is_over(const struct node *n, uint64_t arg)
{
    return n->is_sealed[arg] || n->is_dropped[arg];
}

/* Empty tables; NULL: there is no server. */
static const char *make_tables(void)
{
    static char url[256];
    struct store_error error = {""};
    const char *found = pg_server_database("listen");
    if (!found) return NULL;
    snprintf(url, sizeof url, "%s", found);
    struct pg *pg = open_pg(url);
    T_EQ(pg_migrate(pg, &error), WEIR_OK);
    T_EQ(pg_script(pg, "TRUNCATE weir.logs, weir.chunks, weir.writers"), WEIR_OK);
    pg_close(pg);
    return url;
}

static struct pg_news_log log_of(const char *name, uint64_t id)
{
    return (struct pg_news_log){.name = weir_slice_of(name), .log_id = id};
}

/* ---- cases ---- */

TEST(events_of_logs_that_are_followed_are_heard)
{
    struct writer a;
    struct pg_news_log logs[] = {log_of("one", 1), log_of("two", 2), log_of("other", 3)};
    struct node n = {.logs = logs, .n_logs = 2};
    const char *url = make_tables();
    if (!url) return;
    node_start(&n, url, NEVER_MS);
    writer_open(&a, url, "a");
    for (int i = 0; i < 30; i++) append(&a, &logs[i % 3], 1 + (unsigned)i % 4);
    put_doc(&a, "session", "s 1");
    node_wait(&n, has_docs, 1);
    T_EQ(n.next[0], logs[0].last + 1);
    T_EQ(n.next[1], logs[1].last + 1);
    T_EQ(n.n_made, 2);
    T_EQ(n.n_gaps + n.n_others + n.n_everything, 0);
    T_OK(strcmp(n.doc, "session/s 1") == 0);
    pg_close(a.pg);
    node_stop(&n);
}

TEST(own_notifications_tell_nothing)
{
    struct writer me, a;
    struct pg_news_log logs[] = {log_of("one", 1)};
    struct node n = {.logs = logs, .n_logs = 1};
    const char *url = make_tables();
    if (!url) return;
    node_start(&n, url, NEVER_MS);
    writer_open(&me, url, "me");
    writer_open(&a, url, "a");
    put_doc(&me, "k", "mine");
    append(&a, &logs[0], 2);
    append(&me, &logs[0], 2);
    append(&a, &logs[0], 2);
    node_wait(&n, has_first, 6);
    T_EQ(n.n_docs, 0);
    pg_close(me.pg);
    pg_close(a.pg);
    node_stop(&n);
}

/* Two writers of one log: who committed first may tell last. */
TEST(what_is_told_in_the_wrong_order_leaves_no_gap)
{
    struct writer a, b;
    struct pg_news_log logs[] = {log_of("one", 1)};
    struct node n = {.logs = logs, .n_logs = 1};
    const char *url = make_tables();
    if (!url) return;
    node_start(&n, url, NEVER_MS);
    writer_open(&a, url, "a");
    writer_open(&b, url, "b");
    append(&a, &logs[0], 3);
    node_wait(&n, has_first, 3);
    writer_begin(&a);
    write_events(&a, &logs[0], 2);
    struct pg_news_log late = logs[0];
    T_EQ(pg_script(a.pg, "COMMIT"), WEIR_OK);
    a.is_open = false;
    append(&b, &logs[0], 2);
    node_wait(&n, has_first, 7);
    pg_news_begin(&news, SLICE("a"), a.batch);
    pg_news_add_log(&news, &late);
    writer_tell(&a);
    append(&b, &logs[0], 1);
    node_wait(&n, has_first, 8);
    T_EQ(n.n_gaps, 0);
    T_EQ(n.n_everything, 0);
    pg_close(a.pg);
    pg_close(b.pg);
    node_stop(&n);
}

static void change(struct writer *w, struct pg_news_log *log, const char *sql)
{
    writer_begin(w);
    pg_call(w->pg, sql);
    pg_int(w->pg, (int64_t)log->log_id);
    T_EQ(pg_run(w->pg, NULL), WEIR_OK);
    log->first = 0;
    struct pg_news_log told = *log;
    told.last = 0;
    told.is_made = false;
    pg_news_add_log(&news, &told);
    writer_tell(w);
}

TEST(sealing_and_dropping_are_heard)
{
    for (unsigned is_mute = 0; is_mute < 2; is_mute++) {
        struct writer a;
        struct pg_news_log logs[] = {log_of("one", 1), log_of("two", 2)};
        struct node n = {.logs = logs, .n_logs = 2};
        const char *url = make_tables();
        if (!url) return;
        node_start(&n, url, is_mute ? SOON_MS : NEVER_MS);
        writer_open(&a, url, "a");
        append(&a, &logs[0], 2);
        append(&a, &logs[1], 2);
        node_wait(&n, has_all, 2);
        a.is_mute = is_mute == 1;
        logs[0].is_sealed = logs[1].is_dropped = true;
        change(&a, &logs[0], "UPDATE weir.logs SET is_sealed = true WHERE id = $1");
        change(&a, &logs[1], "DELETE FROM weir.logs WHERE id = $1");
        node_wait(&n, is_over, 0);
        node_wait(&n, is_over, 1);
        T_OK(n.is_sealed[0] && n.is_dropped[1]);
        pg_close(a.pg);
        node_stop(&n);
    }
}

TEST(events_that_nobody_told_of_are_found_by_the_sweep)
{
    struct writer a;
    struct pg_news_log logs[] = {log_of("one", 1), log_of("two", 2), log_of("three", 3)};
    struct node n = {.logs = logs, .n_logs = 3};
    const char *url = make_tables();
    if (!url) return;
    node_start(&n, url, SOON_MS);
    writer_open(&a, url, "a");
    for (int i = 0; i < 3; i++) append(&a, &logs[i], 2);
    node_wait(&n, has_all, 2);
    a.is_mute = true;
    for (int i = 0; i < 6; i++) append(&a, &logs[i % 3], 1);
    node_wait(&n, has_lost, 1);
    node_wait(&n, has_all, 4);
    T_EQ(n.n_gaps, 0);
    pg_close(a.pg);
    node_stop(&n);
}

/* The number of the next batch shows it, long before a sweep would. */
TEST(a_missing_notification_is_noticed_by_the_next)
{
    struct writer a;
    struct pg_news_log logs[] = {log_of("one", 1), log_of("two", 2)};
    struct node n = {.logs = logs, .n_logs = 2};
    const char *url = make_tables();
    if (!url) return;
    node_start(&n, url, NEVER_MS);
    writer_open(&a, url, "a");
    append(&a, &logs[0], 2);
    append(&a, &logs[1], 2);
    node_wait(&n, has_all, 2);
    a.is_mute = true;
    append(&a, &logs[0], 2);
    a.is_mute = false;
    append(&a, &logs[1], 2);
    node_wait(&n, has_all, 4);
    T_EQ(n.n_everything, 1);
    T_EQ(n.n_gaps, 0);
    pg_close(a.pg);
    node_stop(&n);
}

TEST(what_is_no_payload_of_ours_means_that_news_were_lost)
{
    struct node n = {.n_logs = 0};
    const char *url = make_tables();
    if (!url) return;
    node_start(&n, url, NEVER_MS);
    struct pg *pg = open_pg(url);
    T_EQ(pg_script(pg, "SELECT pg_notify('weir', 'hello')"), WEIR_OK);
    node_wait(&n, has_lost, 1);
    T_EQ(pg_script(pg, "SELECT pg_notify('weir', E'weir1 x 1 1\\n*\\n.')"), WEIR_OK);
    node_wait(&n, has_lost, 2);
    pg_close(pg);
    node_stop(&n);
}

TEST(a_batch_of_many_parts_is_heard_as_a_whole)
{
    struct writer a;
    struct node n = {.n_logs = 0};
    const char *url = make_tables();
    if (!url) return;
    node_start(&n, url, NEVER_MS);
    writer_open(&a, url, "a");
    writer_begin(&a);
    for (int i = 0; i < 2000; i++) {
        char id[64];
        int len = snprintf(id, sizeof id, "a document with a long name %d", i);
        pg_news_add_doc(&news, (struct doc_key){SLICE("kind"), slice_of(id, (size_t)len)});
    }
    writer_tell(&a);
    node_wait(&n, has_docs, 2000);
    T_EQ(n.n_everything, 0);
    pg_close(a.pg);
    node_stop(&n);
}

static bool is_connected(const struct node *n, uint64_t n_connects)
{
    struct pg_listen_stats stats;
    pg_listener_stats(n->listener, &stats);
    return stats.n_connects >= n_connects && n->n_everything > 0;
}

TEST(a_lost_connection_is_made_again_and_made_up_for)
{
    struct writer a;
    struct pg_news_log logs[] = {log_of("one", 1), log_of("two", 2)};
    struct node n = {.logs = logs, .n_logs = 2};
    const char *url = make_tables();
    if (!url) return;
    node_start(&n, url, SOON_MS);
    writer_open(&a, url, "a");
    append(&a, &logs[0], 2);
    append(&a, &logs[1], 2);
    node_wait(&n, has_all, 2);
    T_EQ(pg_script(a.pg, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                         " WHERE application_name = 'weir listener'"),
         WEIR_OK);
    append(&a, &logs[0], 2);
    append(&a, &logs[1], 2);
    node_wait(&n, is_connected, 2);
    node_wait(&n, has_all, 4);
    append(&a, &logs[0], 1);
    append(&a, &logs[1], 1);
    node_wait(&n, has_all, 5);
    pg_close(a.pg);
    node_stop(&n);
}

/* After a loss the newest of each log is fetched, however many there are and how large. */
TEST(what_is_made_up_for_is_handed_over_in_parts)
{
    struct pg_news_log logs[N_LOGS] = {log_of("one", 1), log_of("two", 2), log_of("three", 3),
                                       log_of("four", 4)};
    struct node n = {.logs = logs, .n_logs = N_LOGS};
    const char *url = make_tables();
    if (!url) return;
    struct pg *pg = open_pg(url);
    T_EQ(pg_script(pg, "INSERT INTO weir.logs (id, name, last) VALUES (1, 'one', 1),"
                       " (2, 'two', 1), (3, 'three', 1), (4, 'four', 1);"
                       "INSERT INTO weir.chunks (log, first, last, bytes) SELECT i, 1, 1,"
                       " convert_to(E'id: 1\\ndata: ' || repeat('x', 3000000) || E'\\n\\n', 'UTF8')"
                       " FROM generate_series(1, 4) i"),
         WEIR_OK);
    node_start(&n, url, NEVER_MS);
    T_EQ(pg_script(pg, "SELECT pg_notify('weir', 'hello')"), WEIR_OK);
    node_wait(&n, has_all, 1);
    T_EQ(n.n_everything, 1);
    T_OK(n.most_bytes >= 3000000 && n.most_bytes < 7000000);
    pg_close(pg);
    node_stop(&n);
}

static bool is_gone(const struct node *n, uint64_t i)
{
    return n->is_dropped[i];
}

/* It knows no more what it had told of, and cannot say which one that was. */
TEST(a_log_that_goes_while_nobody_listens_is_told)
{
    struct writer a;
    struct pg_news_log logs[] = {log_of("one", 1), log_of("two", 2)};
    struct node n = {.logs = logs, .n_logs = 2};
    const char *url = make_tables();
    if (!url) return;
    node_start(&n, url, SOON_MS);
    writer_open(&a, url, "a");
    append(&a, &logs[0], 2);
    append(&a, &logs[1], 2);
    node_wait(&n, has_all, 2);
    T_EQ(pg_script(a.pg, "DELETE FROM weir.logs WHERE id = 1;"
                         "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                         " WHERE application_name = 'weir listener'"),
         WEIR_OK);
    node_wait(&n, is_connected, 2);
    node_wait(&n, is_gone, 0);
    T_OK(!n.is_dropped[1]);
    pg_close(a.pg);
    node_stop(&n);
}

/* Its thread waits for the server, which does not come: that must not be waited for. */
TEST(a_listener_without_a_server_stops)
{
    struct node n = {.n_logs = 0};
    const char *url = make_tables();
    if (!url) return;
    node_start(&n, url, SOON_MS);
    pg_server_stop();
    struct timespec deadline = clock_deadline(WAIT_MS);
    struct pg_listen_stats stats = {.is_connected = true};
    pthread_mutex_lock(&n.lock);
    for (int error = 0; stats.is_connected && error == 0;) {
        struct timespec soon = clock_deadline(5);
        (void)pthread_cond_timedwait(&n.changed, &n.lock, &soon);
        pg_listener_stats(n.listener, &stats);
        error = clock_mono_ns(&clock_system) / 1000000000 > (uint64_t)deadline.tv_sec;
    }
    pthread_mutex_unlock(&n.lock);
    T_OK(!stats.is_connected);
    node_stop(&n);
    pg_server_start();
}

/* ---- numbers of batches, without a server ---- */

TEST(a_gap_in_the_numbers_of_a_writer_is_noticed)
{
    struct pg_writers w;
    struct weir_slice a = SLICE("a"), b = SLICE("b");
    writers_init(&w);
    T_OK(writers_look(&w, a, 7, true));
    T_OK(writers_hear(&w, a, 7, 1, true)); /* of what the table has already */
    T_OK(writers_hear(&w, a, 8, 1, false));
    T_OK(writers_hear(&w, a, 8, 2, true));
    T_OK(writers_hear(&w, a, 9, 1, true));
    T_OK(writers_hear(&w, a, 8, 2, true)); /* told again */
    T_OK(!writers_hear(&w, a, 11, 1, true));
    T_OK(writers_hear(&w, a, 12, 1, false));
    T_OK(!writers_hear(&w, a, 13, 1, true));
    T_OK(writers_hear(&w, a, 14, 1, false));
    T_OK(!writers_hear(&w, a, 14, 3, true));
    T_OK(writers_hear(&w, b, 1, 1, true)); /* a new one */
    T_OK(writers_look(&w, b, 2, false));   /* it may be on its way */
    T_OK(writers_hear(&w, b, 2, 1, true));
    T_OK(writers_look(&w, b, 3, false));
    T_OK(!writers_look(&w, b, 3, false)); /* it is not */
    T_OK(writers_look(&w, b, 3, false));
    T_OK(writers_hear(&w, b, 4, 1, true));
    T_OK(!writers_hear(&w, SLICE("c"), 2, 1, true)); /* its first was missed */
    writers_fini(&w);
}
