/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pg_keeper.h"

#include <pthread.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"

enum {
    INTERVAL_MS = 5000,
    ROUNDS = 64,       /* of sweeping without a pause */
    MAX_TRIMS = 65536, /* that may wait; who trims says it again */
    ANSWER_MS = 10000, /* stopping waits for an answer, too */
    AWAY_MS = 1000,    /* between two attempts to reach a database that is away */
    CONNECT_MS = 1000,
    TOKEN_MS = 60000, /* whoever took a token so long ago has sent its events, or never will */
};

struct trim {
    struct trim *next;
    uint64_t before;
    size_t n_name;
    char name[];
};

struct pg_keeper {
    struct pg_keeper_options options; /* the texts are its own */
    char *url, *name, *writer;
    pthread_t thread;
    struct pg *pg; /* the thread's, as all up to the lock; NULL: there is none */
    struct pg *others[PG_MAX_CLUSTERS];
    struct pg_strays strays[PG_MAX_CLUSTERS];
    int64_t told_ms, told_id; /* expired logs up to this one were told */
    struct pg_keeping keeping;
    struct pg_moment new, old; /* of the connection above */
    uint64_t new_ns;           /* when the new one was asked for */

    pthread_mutex_t lock; /* all below */
    pthread_cond_t wanted, ended;
    struct trim *trims;
    size_t n_trims;
    uint64_t n_asked, n_ended;
    enum weir_status status; /* of the last round */
    uint64_t n_failed;       /* rounds */
    bool stops;
};

/* ---- a round ---- */

static void free_trims(struct trim *trims)
{
    for (struct trim *next; trims; trims = next) {
        next = trims->next;
        mem_free(trims);
    }
}

static struct trim *take_trims(struct pg_keeper *k)
{
    pthread_mutex_lock(&k->lock);
    struct trim *trims = k->trims;
    k->trims = NULL;
    k->n_trims = 0;
    pthread_mutex_unlock(&k->lock);
    return trims;
}

static bool is_stopping(struct pg_keeper *k)
{
    pthread_mutex_lock(&k->lock);
    bool stops = k->stops;
    pthread_mutex_unlock(&k->lock);
    return stops;
}

static WEIR_MUST_CHECK enum weir_status connect(struct pg_keeper *k)
{
    if (k->pg && !pg_is_broken(k->pg)) return WEIR_OK;
    pg_close(k->pg);
    k->new = k->old = (struct pg_moment){0}; /* it may be another server from now on */
    k->new_ns = 0;
    return pg_open(&k->pg, &k->options.connection, NULL);
}

static struct pg_sweep sweep_of(struct pg_keeper *k)
{
    return (struct pg_sweep){.now_ms = k->options.now_ms(k->options.user),
                             .keep_days = k->options.keep_days,
                             .writer = weir_slice_of(k->writer),
                             .drop = k->options.drop,
                             .keeping = k->keeping,
                             .user = k->options.user};
}

static WEIR_MUST_CHECK enum weir_status sweep(struct pg_keeper *k)
{
    struct pg_sweep s = sweep_of(k);
    bool has_more = true;
    enum weir_status st = WEIR_OK;
    if (k->options.is_dropping && k->options.is_dropping(k->options.user)) {
        s.told_ms = k->told_ms;
        s.told_id = k->told_id;
    }
    for (int i = 0; i < ROUNDS && has_more && st == WEIR_OK && !is_stopping(k); i++)
        st = pg_sweep(k->pg, &s, &has_more);
    k->told_ms = s.told_ms;
    k->told_id = s.told_id;
    k->keeping = s.keeping;
    return st;
}

/* ---- other databases ---- */

/* The ith; NULL: it cannot be reached now. */
static struct pg *other(struct pg_keeper *k, size_t i)
{
    struct pg_cluster *c = &k->options.clusters->all[i];
    struct pg_options options = k->options.connection;
    options.url = c->url;
    options.connect_ms = CONNECT_MS;
    if (k->others[i] && !pg_is_broken(k->others[i])) return k->others[i];
    pg_close(k->others[i]);
    k->others[i] = NULL;
    return pg_open(&k->others[i], &options, NULL) == WEIR_OK ? k->others[i] : NULL;
}

static WEIR_MUST_CHECK enum weir_status trim_other(struct pg_keeper *k, const struct pg_trimmed *t)
{
    const struct pg_clusters *cs = k->options.clusters;
    for (size_t i = 1; cs && i < cs->n; i++) {
        struct pg *pg = cs->all[i].number == t->cluster ? other(k, i) : NULL;
        if (pg) return pg_trim_carried(pg, t);
    }
    return WEIR_OK; /* who trims says it again */
}

/* A token that was taken long ago is found by having asked long ago. */
static WEIR_MUST_CHECK enum weir_status age_token(struct pg_keeper *k)
{
    struct pg_moment moment;
    uint64_t now = clock_mono_ns(&clock_system);
    if (k->new_ns != 0 && now - k->new_ns < (uint64_t)TOKEN_MS * 1000000) return WEIR_OK;
    enum weir_status st = pg_read_moment(k->pg, &moment);
    if (st != WEIR_OK) return st;
    k->old = k->new;
    k->new = moment;
    k->new_ns = now;
    return WEIR_OK;
}

static void note_answer(struct pg_cluster *c)
{
    if (clock_mono_ns(&clock_system) >= atomic_load(&c->away_until_ns))
        atomic_store(&c->is_away, false);
}

/* One that answers is not away any more, whatever becomes of sweeping it. */
static WEIR_MUST_CHECK enum weir_status sweep_other(struct pg_keeper *k, size_t i)
{
    struct pg_cluster *c = &k->options.clusters->all[i];
    const struct pg_sweep s = sweep_of(k);
    struct pg *pg = other(k, i);
    bool has_more = true;
    enum weir_status st = pg ? pg_script(pg, "SELECT 1") : WEIR_STORAGE;
    if (st == WEIR_OK) note_answer(c);
    k->strays[i].old = k->old;
    for (int n = 0; n < ROUNDS && has_more && st == WEIR_OK && !is_stopping(k); n++)
        st = pg_sweep_carried(k->pg, pg, c->number, &s, &k->strays[i], &has_more);
    return st;
}

static WEIR_MUST_CHECK enum weir_status sweep_others(struct pg_keeper *k)
{
    struct pg_clusters *cs = k->options.clusters;
    if (!cs || cs->n == 1) return WEIR_OK;
    enum weir_status all = pg_clusters_refresh(cs, k->pg);
    if (all == WEIR_OK) all = age_token(k);
    for (size_t i = 1; i < cs->n && !pg_is_broken(k->pg); i++) {
        if (atomic_load(&cs->all[i].is_removed)) continue;
        enum weir_status st = sweep_other(k, i);
        if (all == WEIR_OK) all = st;
    }
    return all;
}

static WEIR_MUST_CHECK enum weir_status run_round(struct pg_keeper *k)
{
    struct trim *trims = take_trims(k);
    enum weir_status st = connect(k);
    if (st == WEIR_OK && k->options.set_time) st = k->options.set_time(k->options.user, k->pg);
    for (const struct trim *t = trims; t && st == WEIR_OK; t = t->next) {
        struct pg_trimmed elsewhere;
        st = pg_trim(k->pg, slice_of(t->name, t->n_name), t->before, &elsewhere);
        if (st == WEIR_OK && elsewhere.cluster != 0) st = trim_other(k, &elsewhere);
    }
    free_trims(trims);
    if (st == WEIR_OK) st = sweep(k);
    /* What fails at one of them is no reason to leave the others alone. */
    if (connect(k) != WEIR_OK) return WEIR_STORAGE;
    enum weir_status st_others = sweep_others(k);
    return st == WEIR_OK ? st_others : st;
}

/* ---- the thread ---- */

static bool is_any_away(const struct pg_keeper *k)
{
    const struct pg_clusters *cs = k->options.clusters;
    bool is = false;
    for (size_t i = 1; cs && i < cs->n; i++)
        is |= atomic_load(&cs->all[i].is_away) && !atomic_load(&cs->all[i].is_removed);
    return is;
}

/* Waits until somebody asks or it is time. False: stop. */
static bool wait_for_work(struct pg_keeper *k, uint64_t *ticket)
{
    struct timespec at = clock_deadline(is_any_away(k) ? AWAY_MS : k->options.interval_ms);
    int timed_out = 0;
    pthread_mutex_lock(&k->lock);
    while (!k->stops && k->n_asked == k->n_ended && timed_out == 0)
        timed_out = pthread_cond_timedwait(&k->wanted, &k->lock, &at);
    *ticket = k->n_asked;
    bool goes_on = !k->stops;
    pthread_mutex_unlock(&k->lock);
    return goes_on;
}

static void end_round(struct pg_keeper *k, uint64_t ticket, enum weir_status st)
{
    pthread_mutex_lock(&k->lock);
    k->n_ended = ticket;
    k->status = st;
    k->n_failed += st != WEIR_OK && st != WEIR_SHUTDOWN;
    pthread_cond_broadcast(&k->ended);
    pthread_mutex_unlock(&k->lock);
}

static void *run(void *keeper)
{
    struct pg_keeper *k = keeper;
    uint64_t ticket;
    while (wait_for_work(k, &ticket)) end_round(k, ticket, run_round(k));
    end_round(k, ticket, WEIR_SHUTDOWN);
    pg_close(k->pg);
    for (size_t i = 0; i < PG_MAX_CLUSTERS; i++) pg_close(k->others[i]);
    return NULL;
}

/* ---- life ---- */

static char *copy_of(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = mem_alloc(size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

static void keeper_free(struct pg_keeper *k)
{
    free_trims(k->trims);
    pthread_cond_destroy(&k->wanted);
    pthread_cond_destroy(&k->ended);
    pthread_mutex_destroy(&k->lock);
    mem_free(k->url);
    mem_free(k->name);
    mem_free(k->writer);
    mem_free(k);
}

enum weir_status pg_keeper_start(struct pg_keeper **out, const struct pg_keeper_options *options)
{
    pthread_condattr_t attributes;
    *out = NULL;
    struct pg_keeper *k = mem_zalloc(sizeof *k);
    if (!k) return WEIR_NOMEM;
    k->options = *options;
    if (k->options.interval_ms == 0) k->options.interval_ms = INTERVAL_MS;
    if (k->options.connection.timeout_ms == 0) k->options.connection.timeout_ms = ANSWER_MS;
    const char *name = options->connection.name;
    k->options.connection.url = k->url = copy_of(options->connection.url);
    k->options.connection.name = k->name = copy_of(name ? name : "weir");
    k->writer = copy_of(options->writer);
    CHECK(pthread_mutex_init(&k->lock, NULL) == 0);
    CHECK(pthread_condattr_init(&attributes) == 0);
    CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&k->wanted, &attributes) == 0);
    CHECK(pthread_cond_init(&k->ended, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
    if (!k->url || !k->name || !k->writer || pthread_create(&k->thread, NULL, run, k) != 0) {
        keeper_free(k);
        return WEIR_NOMEM;
    }
    *out = k;
    return WEIR_OK;
}

void pg_keeper_stop(struct pg_keeper *k)
{
    if (!k) return;
    pthread_mutex_lock(&k->lock);
    k->stops = true;
    pthread_cond_signal(&k->wanted);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    keeper_free(k);
}

/* ---- what is asked of it ---- */

/* One for a log: the furthest. */
static bool join_trim(struct pg_keeper *k, struct weir_slice log, uint64_t before)
{
    struct trim *t = k->trims; /* only the newest is looked at: a log is trimmed again and again */
    if (!t || !slice_eq(slice_of(t->name, t->n_name), log)) return false;
    if (t->before < before) t->before = before;
    return true;
}

enum weir_status pg_keeper_trim(struct pg_keeper *k, struct weir_slice log, uint64_t before)
{
    struct trim *t = mem_alloc(sizeof *t + log.len);
    if (!t) return WEIR_NOMEM;
    *t = (struct trim){.before = before, .n_name = log.len};
    memcpy(t->name, log.ptr, log.len);
    pthread_mutex_lock(&k->lock);
    bool is_taken = k->n_trims < MAX_TRIMS && !join_trim(k, log, before);
    if (is_taken) {
        t->next = k->trims;
        k->trims = t;
        k->n_trims++;
    }
    pthread_mutex_unlock(&k->lock);
    if (!is_taken) mem_free(t);
    return WEIR_OK;
}

uint64_t pg_keeper_failed(struct pg_keeper *k)
{
    pthread_mutex_lock(&k->lock);
    uint64_t n = k->n_failed;
    pthread_mutex_unlock(&k->lock);
    return n;
}

enum weir_status pg_keeper_settle(struct pg_keeper *k)
{
    pthread_mutex_lock(&k->lock);
    uint64_t ticket = ++k->n_asked;
    pthread_cond_signal(&k->wanted);
    while (k->n_ended < ticket) pthread_cond_wait(&k->ended, &k->lock);
    enum weir_status st = k->status;
    pthread_mutex_unlock(&k->lock);
    return st;
}
