/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a store on PostgreSQL: opening, closing, and what each function of store.h does. */
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/commit_impl.h"
#include "store/pg_impl.h"

enum {
    DEFAULT_QUEUE_BYTES = 64 << 20,
    DEFAULT_COMMIT_BYTES = 16 << 20, /* twice the largest commit, as with the journal */
    DEFAULT_MAX_LOGS = 65536,
    DEFAULT_READERS = 2,
    MAX_READERS = 64,
    MAX_BATCH_DOCS = 1 << 20,
    MAX_DROPPING = 16, /* commits at a time that drop what has expired */
    REFUSED_MS = 5000, /* a database that refuses what is written is believed to for so long */
    BACK_MS = 1000,    /* so far behind, the database's time was set back */
};

static const char time_sql[] = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

static int64_t mono_ms(const struct pg_store *s)
{
    return (int64_t)(clock_mono_ns(s->clock) / 1000000);
}

int64_t pg_now_ms(struct pg_store *s)
{
    return atomic_load(&s->ahead_ms) + mono_ms(s);
}

/*
 * An answer is never early, so the one that came soonest is the nearest: time does not go back and
 * forth with the load. One that is far behind is from a clock that was set.
 */
enum weir_status pg_set_time(struct pg_store *s, struct pg *pg)
{
    struct pg_rows *rows = NULL;
    if (s->clock != &clock_system) return WEIR_OK; /* a test's, which knows what time it is */
    pg_call(pg, time_sql);
    enum weir_status st = pg_run(pg, &rows);
    if (st != WEIR_OK) return st;
    int64_t old = atomic_load(&s->ahead_ms), ahead_ms = pg_get_int(rows, 0, 0) - mono_ms(s);
    if (ahead_ms > old || old - ahead_ms > BACK_MS) atomic_store(&s->ahead_ms, ahead_ms);
    pg_rows_free(rows);
    return WEIR_OK;
}

/* ---- opening ---- */

static void set_defaults(struct store_options *o)
{
    if (!o->clock) o->clock = &clock_system;
    if (o->queue_bytes == 0) o->queue_bytes = DEFAULT_QUEUE_BYTES;
    if (o->segment_bytes == 0) o->segment_bytes = DEFAULT_COMMIT_BYTES;
    if (o->max_logs == 0) o->max_logs = DEFAULT_MAX_LOGS;
    if (o->n_readers == 0) o->n_readers = DEFAULT_READERS;
    if (o->n_readers > MAX_READERS) o->n_readers = MAX_READERS;
}

static void init_condition(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

static void init_locks(struct pg_store *s)
{
    pthread_mutex_init(&s->queue_lock, NULL);
    pthread_mutex_init(&s->stats_lock, NULL);
    pthread_mutex_init(&s->reader_lock, NULL);
    init_condition(&s->queue_filled);
    init_condition(&s->some_ended);
    init_condition(&s->job_added);
}

static void destroy_locks(struct pg_store *s)
{
    pthread_mutex_destroy(&s->queue_lock);
    pthread_mutex_destroy(&s->stats_lock);
    pthread_mutex_destroy(&s->reader_lock);
    pthread_cond_destroy(&s->queue_filled);
    pthread_cond_destroy(&s->some_ended);
    pthread_cond_destroy(&s->job_added);
}

static struct pg_store *new_store(const struct store_options *options)
{
    struct pg_store *s = mem_zalloc(sizeof *s);
    if (!s) return NULL;
    if (options) s->options = *options;
    set_defaults(&s->options);
    s->clock = s->options.clock;
    /* Of the system's, whatever the database says is later. */
    atomic_store(&s->ahead_ms,
                 s->clock == &clock_system ? INT64_MIN / 2 : clock_wall_ms(s->clock) - mono_ms(s));
    s->queue_end = &s->queue_first;
    s->heard_end = &s->heard;
    s->jobs_end = &s->jobs;
    init_locks(s);
    pg_cache_init(s);
    ahead_init(&s->ahead, &pg_ways, MAX_BATCH_DOCS);
    s->news_text = mem_zalloc(sizeof *s->news_text);
    s->readers = mem_zalloc(s->options.n_readers * sizeof *s->readers);
    return s;
}

static WEIR_MUST_CHECK enum weir_status make_parts(struct pg_store *s, const char *urls)
{
    struct ulid_source ids;
    struct ulid id;
    ulid_source_init(&ids, &clock_system);
    enum weir_status st = s->news_text && s->readers ? WEIR_OK : WEIR_NOMEM;
    if (st == WEIR_OK) st = ulid_next(&ids, &id);
    if (st == WEIR_OK) ulid_format(s->writer, id);
    if (st == WEIR_OK) st = pg_columns_new(&s->columns);
    if (st == WEIR_OK) st = pg_words_new(&s->words);
    if (st == WEIR_OK) st = pg_clusters_init(&s->clusters, urls);
    if (st == WEIR_OK)
        st = pg_clusters_pool(&s->clusters, PG_POOL + s->options.n_readers, s->options.n_readers);
    s->url = s->clusters.all[0].url;
    s->pool = s->clusters.all[0].pool;
    return st;
}

static WEIR_MUST_CHECK enum weir_status connect_first(struct pg_store *s, struct store_error *error)
{
    struct pg *pg = NULL;
    struct pg_options options = {.url = s->url};
    enum weir_status st = pg_open(&pg, &options, error);
    if (st == WEIR_OK) st = pg_migrate(pg, error);
    if (st == WEIR_OK) st = pg_clusters_join(&s->clusters, pg, error);
    pg_close(pg);
    if (st == WEIR_OK) st = pg_link_up(s);
    if (st != WEIR_OK && error && error->text[0] == '\0')
        snprintf(error->text, sizeof error->text, "cannot open the database: %.200s",
                 s->link_why.text[0] != 0 ? s->link_why.text : weir_status_text(st));
    return st;
}

struct dropping {
    struct pg_store *store;
    struct commit *commit;
};

static void end_drop(void *user, const struct commit_result *result)
{
    struct dropping *d = user;
    (void)result; /* what could not be dropped is told again by the next sweep */
    commit_free(d->commit);
    atomic_fetch_sub(&d->store->n_dropping, 1);
    mem_free(d);
}

/* Through the one door, like every other drop. Many at a time: each commit that drops is a batch.
 */
static bool drop_expired(void *store, const struct pg_expired *logs, size_t n)
{
    struct pg_store *s = store;
    if (atomic_load(&s->n_dropping) >= MAX_DROPPING) return false;
    struct dropping *d = mem_alloc(sizeof *d);
    struct commit *c = d ? commit_new(0) : NULL;
    if (!c) { /* the next sweep comes soon */
        mem_free(d);
        return false;
    }
    for (size_t i = 0; i < n; i++) commit_drop_id(c, logs[i].name, logs[i].log_id);
    *d = (struct dropping){s, c};
    atomic_fetch_add(&s->n_dropping, 1);
    store_commit(&s->store, c, end_drop, d);
    return true;
}

static bool is_dropping(void *store)
{
    return atomic_load(&((struct pg_store *)store)->n_dropping) > 0;
}

static int64_t keeper_time(void *store)
{
    return pg_now_ms(store);
}

static enum weir_status set_keeper_time(void *store, struct pg *pg)
{
    return pg_set_time(store, pg);
}

static WEIR_MUST_CHECK enum weir_status start_helpers(struct pg_store *s, struct store_error *error)
{
    struct pg_keeper_options keeper = {.connection = {.url = s->url},
                                       .clusters = &s->clusters,
                                       .writer = s->writer,
                                       .now_ms = keeper_time,
                                       .set_time = set_keeper_time,
                                       .drop = drop_expired,
                                       .is_dropping = is_dropping,
                                       .user = s};
    struct pg_listen_options listener = {.clusters = &s->clusters,
                                         .writer = weir_slice_of(s->writer),
                                         .wants_log = s->options.wants_log,
                                         .each_log = s->options.each_log,
                                         .follower = s->options.user,
                                         .heard = pg_commit_hear,
                                         .user = s};
    enum weir_status st = pg_listener_start(&s->listener, &listener, error);
    return st == WEIR_OK ? pg_keeper_start(&s->keeper, &keeper) : st;
}

static WEIR_MUST_CHECK enum weir_status start_threads(struct pg_store *s, struct store_error *error)
{
    s->has_committer = pthread_create(&s->committer, NULL, pg_committer_run, s) == 0;
    for (; s->n_readers < s->options.n_readers; s->n_readers++)
        if (pthread_create(&s->readers[s->n_readers], NULL, pg_reader_run, s) != 0) break;
    if (!s->has_committer || s->n_readers == 0) return WEIR_NOMEM;
    return start_helpers(s, error);
}

/* ---- closing ---- */

/* What is queued is committed first. */
static void stop_threads(struct pg_store *s)
{
    pg_keeper_stop(s->keeper);
    pg_listener_stop(s->listener);
    pthread_mutex_lock(&s->queue_lock);
    s->is_closing = true;
    pthread_cond_signal(&s->queue_filled);
    pthread_mutex_unlock(&s->queue_lock);
    if (s->has_committer) pthread_join(s->committer, NULL);
    pthread_mutex_lock(&s->reader_lock);
    s->readers_stop = true;
    pthread_cond_broadcast(&s->job_added);
    pthread_mutex_unlock(&s->reader_lock);
    for (unsigned i = 0; i < s->n_readers; i++) pthread_join(s->readers[i], NULL);
    pg_listener_free(s->listener);
}

static void pg_store_close(struct store *store)
{
    struct pg_store *s = pg_store_of(store);
    stop_threads(s);
    pg_link_close(s);
    pg_clusters_fini(&s->clusters);
    pg_cache_fini(s);
    ahead_fini(&s->ahead);
    pg_columns_free(s->columns);
    pg_words_free(s->words);
    destroy_locks(s);
    mem_free(s->news_text);
    mem_free(s->news);
    mem_free(s->readers);
    mem_free(s);
}

/* ---- what it does ---- */

static enum weir_status pg_store_trim(struct store *s, struct weir_slice log, uint64_t before)
{
    return pg_keeper_trim(pg_store_of(s)->keeper, log, before);
}

static enum weir_status pg_store_check(struct store *s, store_complaint_fn complain, void *user,
                                       uint64_t *n_wrong)
{
    enum weir_status st = pg_check(pg_store_of(s)->pool, complain, user, n_wrong);
    if (st != WEIR_OK) return st;
    return pg_check_carried(&pg_store_of(s)->clusters, complain, user, n_wrong);
}

static void count_read(struct pg_store *s, const struct log_read *read)
{
    pthread_mutex_lock(&s->stats_lock);
    s->stats.n_reads++;
    for (unsigned i = 0; i < read->n_chunks; i++) s->stats.read_bytes += read->chunks[i]->len;
    pthread_mutex_unlock(&s->stats_lock);
}

static void pg_store_read(struct store *store, struct weir_slice log, uint64_t from,
                          size_t max_bytes, struct log_read *out)
{
    struct pg_store *s = pg_store_of(store);
    *out = (struct log_read){0};
    pg_clusters_read(&s->clusters, log, from, max_bytes, pg_now_ms(s), out);
    count_read(s, out);
}

/* What is remembered here may have changed elsewhere. */
static bool pg_store_read_now(struct store *s, struct weir_slice log, uint64_t from,
                              size_t max_bytes, struct log_read *out)
{
    (void)s;
    (void)log;
    (void)from;
    (void)max_bytes;
    *out = (struct log_read){0};
    return false;
}

static enum weir_status pg_store_doc_get(struct store *s, struct doc_key key, struct doc *out)
{
    return pg_get_doc(pg_store_of(s)->pool, key, out);
}

static enum weir_status pg_store_doc_list(struct store *s, const struct doc_query *query,
                                          doc_fn each, void *user)
{
    return pg_list_docs(pg_store_of(s)->pool, query, each, user);
}

static enum weir_status pg_store_search(struct store *s, const struct passage_query *query,
                                        passage_fn each, void *user)
{
    return pg_search(pg_store_of(s)->pool, query, each, user);
}

static int64_t pg_store_wall_ms(struct store *store)
{
    return pg_now_ms(pg_store_of(store));
}

static enum weir_status pg_store_is_writable(struct store *store)
{
    struct pg_store *s = pg_store_of(store);
    uint64_t now = clock_mono_ns(&clock_system);
    pthread_mutex_lock(&s->queue_lock);
    bool is_away = s->away_since_ns != 0 || pg_commit_is_stuck(s, now);
    enum weir_status st = is_away ? WEIR_STORAGE : WEIR_OK;
    /* Not for ever: somebody who waits for this to change would never try. */
    if (st == WEIR_OK && now - s->refused_ns < (uint64_t)REFUSED_MS * 1000000) st = s->refusal;
    pthread_mutex_unlock(&s->queue_lock);
    return st;
}

/* What was queued before has ended, then a round of sweeping. */
static enum weir_status pg_store_settle(struct store *store)
{
    struct pg_store *s = pg_store_of(store);
    pthread_mutex_lock(&s->queue_lock);
    uint64_t ticket = s->n_queued;
    while (s->n_ended < ticket) pthread_cond_wait(&s->some_ended, &s->queue_lock);
    pthread_mutex_unlock(&s->queue_lock);
    return pg_keeper_settle(s->keeper);
}

static enum weir_status pg_store_backup(struct store *s, const char *path,
                                        struct store_error *error)
{
    (void)s;
    (void)path;
    return pg_backup(error);
}

static void add_reading(struct pg_store *s, struct store_shared_stats *out)
{
    for (size_t i = 0; i < s->clusters.n; i++) {
        struct pg_cluster *c = &s->clusters.all[i];
        struct pg_pool_stats pool;
        pg_pool_stats(c->pool, &pool);
        out->n_reading += pool.n_out;
        out->max_reading += pool.n_max;
        out->n_waits += pool.n_waits;
        out->n_busy += pool.n_busy;
        out->n_standby_reads += atomic_load(&c->far.n_far);
        out->n_away += atomic_load(&c->is_away) ? 1 : 0;
    }
    out->n_databases = s->clusters.n;
}

static void add_listening(struct pg_store *s, struct store_shared_stats *out)
{
    struct pg_listen_stats listener = {0};
    if (s->listener) pg_listener_stats(s->listener, &listener);
    out->n_notes = listener.n_notes;
    out->n_fetches = listener.n_fetches;
    out->n_news_lost = listener.n_lost;
    if (s->keeper) out->n_failed_sweeps = pg_keeper_failed(s->keeper);
    out->n_listens = listener.n_connects;
    out->is_listening = listener.is_connected;
}

static void pg_store_stats(struct store *store, struct store_stats *out)
{
    struct pg_store *s = pg_store_of(store);
    pthread_mutex_lock(&s->queue_lock);
    uint64_t queued = s->queued_bytes;
    bool is_away = s->away_since_ns != 0;
    pthread_mutex_unlock(&s->queue_lock);
    pthread_mutex_lock(&s->stats_lock);
    *out = s->stats;
    pthread_mutex_unlock(&s->stats_lock);
    out->queued_bytes = queued;
    out->shared.n_away += is_away ? 1 : 0;
    add_reading(s, &out->shared);
    add_listening(s, &out->shared);
}

static const struct store_engine pg_engine = {
    .is_shared = true,
    .close = pg_store_close,
    .commit_run = pg_commit_run,
    .view_doc = pg_view_doc,
    .view_log = pg_view_log,
    .trim = pg_store_trim,
    .read = pg_store_read,
    .read_now = pg_store_read_now,
    .read_later = pg_read_later,
    .later = pg_later,
    .doc_get = pg_store_doc_get,
    .doc_list = pg_store_doc_list,
    .search = pg_store_search,
    .is_writable = pg_store_is_writable,
    .wall_ms = pg_store_wall_ms,
    .settle = pg_store_settle,
    .backup = pg_store_backup,
    .check = pg_store_check,
    .stats = pg_store_stats,
};

enum weir_status pg_store_open(struct store **out, const char *url,
                               const struct store_options *options, struct store_error *error)
{
    struct pg_store *s = new_store(options);
    if (!s) return WEIR_NOMEM;
    s->store.engine = &pg_engine;
    enum weir_status st = make_parts(s, url);
    if (st == WEIR_OK) st = connect_first(s, error);
    if (st == WEIR_OK) st = start_threads(s, error);
    if (st != WEIR_OK) {
        pg_store_close(&s->store);
        return st;
    }
    *out = &s->store;
    return WEIR_OK;
}
