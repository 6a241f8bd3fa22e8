/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settler: one thread that moves what is visible from the index into the database, many
 * events of a log to a row, and drops logs that have expired.
 *
 * A settling takes the lists of what is dirty in one moment, together with the number of the
 * newest journal record that is visible. All up to that number is in the transaction then;
 * of logs that go on meanwhile maybe more, which does no harm, for recovery skips what the
 * database has. Drops come first, so that a new log may have the name of an old one.
 *
 * When a settling fails everything is dirty again and it is tried again, by and by: the world
 * is wrong, and this is whose business it is.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/db_vfs.h"
#include "store/embedded_impl.h"

enum {
    SWEEP_LOGS = 256, /* expired logs dropped at a time */
    SETTLER_NICE = 5,
    GIVE_BACK_LOGS = 64, /* at a time: the committer waits for the lock */
};

/* What one settling has taken from the index. */
struct settling {
    struct list logs;
    struct list docs;
    uint64_t *dropped;
    size_t n_dropped;
    struct trim *trims;
    uint64_t number, last_id;
    struct chunk **chunks; /* of one log, while it is written */
    size_t cap_chunks;
    struct weir_buf row;
};

/* ---- taking ---- */

static void take_dirty(struct embedded *s, struct settling *t)
{
    list_init(&t->logs);
    list_init(&t->docs);
    for (struct list_node *n; (n = list_pop_front(&s->dirty));) {
        struct log *log = CONTAINER_OF(n, struct log, node);
        log->place = LOG_SETTLING;
        log->is_kept = log->is_visible;
        list_push_back(&t->logs, n);
    }
    for (struct list_node *n; (n = list_pop_front(&s->dirty_docs));) {
        struct pending_doc *d = CONTAINER_OF(n, struct pending_doc, node);
        d->refs++;
        d->is_settling = true;
        list_push_back(&t->docs, n);
    }
    t->dropped = s->dropped;
    t->n_dropped = s->n_dropped;
    s->dropped = NULL;
    s->n_dropped = s->cap_dropped = 0;
    t->trims = s->trims;
    s->trims = NULL;
    t->number = s->visible_number;
    t->last_id = s->visible_id;
    s->oldest_pending_ns = 0;
}

/* ---- writing ---- */

/* The lock is held: whether nobody waits for room yet, so that others may go first. */
static bool has_time(const struct embedded *s)
{
    return s->pending_bytes < s->options.pending_bytes / 4 * 3;
}

/* Under the lock: the log's state and its chunks as they are now, each with a reference. */
static size_t take_chunks(struct settling *t, struct log *log, struct db_log *row)
{
    size_t n = log->pending.len;
    *row = (struct db_log){.id = log->id,
                           .name = log_name(log),
                           .last = log->last,
                           .is_sealed = log->is_sealed,
                           .expires_ms = log->expires_ms};
    if (n > t->cap_chunks) {
        t->chunks = mem_realloc(t->chunks, n * sizeof(struct chunk *));
        CHECK(t->chunks);
        t->cap_chunks = n;
    }
    for (size_t i = 0; i < n; i++) t->chunks[i] = chunk_ref(ring_peek(&log->pending, i));
    log->n_settling = n;
    return n;
}

/* Events of chunks i.. that make a row; returns the index of the first that is not in it. */
static size_t gather_row(struct settling *t, size_t i, size_t n)
{
    weir_buf_reset(&t->row);
    do {
        weir_buf_append(&t->row, t->chunks[i]->bytes, t->chunks[i]->len);
        i++;
    } while (i < n && t->row.len + t->chunks[i]->len <= DB_ROW_BYTES);
    return i;
}

static WEIR_MUST_CHECK enum weir_status write_chunks(struct embedded *s, struct settling *t,
                                                     uint64_t log_id, size_t n)
{
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < n && st == WEIR_OK;) {
        uint64_t first = t->chunks[i]->first;
        i = gather_row(t, i, n);
        st = weir_buf_status(&t->row);
        if (st == WEIR_OK)
            st = db_put_events(s->db, log_id, first, t->chunks[i - 1]->last,
                               weir_buf_slice(&t->row));
    }
    return st;
}

static WEIR_MUST_CHECK enum weir_status write_log(struct embedded *s, struct settling *t,
                                                  struct log *log)
{
    struct db_log row;
    pthread_mutex_lock(&s->index_lock);
    size_t n = take_chunks(t, log, &row);
    db_set_has_time(has_time(s));
    pthread_mutex_unlock(&s->index_lock);
    enum weir_status st = log->is_kept ? db_put_log(s->db, &row) : WEIR_OK;
    if (st == WEIR_OK && log->is_kept) st = write_chunks(s, t, row.id, n);
    for (size_t i = 0; i < n; i++) chunk_unref(t->chunks[i]);
    db_give_way(); /* on one processor a slice of ours is milliseconds for somebody else */
    return st;
}

static WEIR_MUST_CHECK enum weir_status write_doc(struct embedded *s, const struct pending_doc *d)
{
    struct doc view = pending_doc_view(d);
    if (d->is_removed) return db_remove_doc(s->db, (struct doc_key){view.kind, view.id});
    return db_put_doc(s->db, &view);
}

static WEIR_MUST_CHECK enum weir_status write_all(struct embedded *s, struct settling *t)
{
    enum weir_status st = db_begin(s->db);
    if (st != WEIR_OK) return st;
    db_raise_id(s->db, t->last_id); /* of what was made and went since, too */
    for (size_t i = 0; i < t->n_dropped && st == WEIR_OK; i++)
        st = db_drop_log(s->db, t->dropped[i]);
    for (struct list_node *n = list_first(&t->logs); n && st == WEIR_OK; n = list_next(&t->logs, n))
        st = write_log(s, t, CONTAINER_OF(n, struct log, node));
    for (struct list_node *n = list_first(&t->docs); n && st == WEIR_OK; n = list_next(&t->docs, n))
        st = write_doc(s, CONTAINER_OF(n, struct pending_doc, node));
    for (const struct trim *i = t->trims; i && st == WEIR_OK; i = i->next)
        st = db_trim_log(s->db, slice_of(i->name, i->n_name), i->before);
    if (st == WEIR_OK) st = db_end(s->db, t->number);
    if (st != WEIR_OK) db_abort(s->db);
    return st;
}

/* ---- giving back ---- */

/* Under the lock, as the next two. */
static void give_log_back(struct embedded *s, struct log *log, bool is_settled)
{
    if (is_settled) index_forget_chunks(s, log, log->n_settling);
    if (log->is_dropped) index_forget_chunks(s, log, SIZE_MAX);
    bool is_dirty = !is_settled || log->dirty_again || log->pending.len > 0;
    log->dirty_again = false;
    log->place = LOG_LOOSE;
    log->n_settling = 0;
    if (log->is_orphan) {
        log_free(log);
    } else if (is_dirty) {
        index_set_dirty(s, log);
    } else {
        list_push_back(&s->clean, &log->node);
        log->place = LOG_CLEAN;
    }
}

static void give_doc_back(struct embedded *s, struct pending_doc *d, bool is_settled)
{
    d->is_settling = false;
    if (d->in_overlay && is_settled) {
        map_take(&s->overlay, pending_doc_key(d));
        s->pending_bytes -= pending_doc_bytes(d) + PENDING_OVERHEAD;
        pending_doc_unref(d);
    } else if (d->in_overlay) {
        list_push_back(&s->dirty_docs, &d->node);
    }
    pending_doc_unref(d);
}

/* The drops that did not happen go before those that came meanwhile. */
static void give_drops_back(struct embedded *s, struct settling *t)
{
    if (t->n_dropped == 0) return;
    t->dropped = mem_realloc(t->dropped, (t->n_dropped + s->n_dropped) * sizeof *t->dropped);
    CHECK(t->dropped);
    if (s->n_dropped > 0)
        memcpy(t->dropped + t->n_dropped, s->dropped, s->n_dropped * sizeof *t->dropped);
    mem_free(s->dropped);
    s->dropped = t->dropped;
    s->n_dropped = s->cap_dropped = t->n_dropped + s->n_dropped;
    t->dropped = NULL;
}

static void give_logs_back(struct embedded *s, struct settling *t, bool is_settled)
{
    while (!list_is_empty(&t->logs)) {
        struct list_node *n;
        pthread_mutex_lock(&s->index_lock);
        for (int i = 0; i < GIVE_BACK_LOGS && (n = list_pop_front(&t->logs)); i++)
            give_log_back(s, CONTAINER_OF(n, struct log, node), is_settled);
        pthread_mutex_unlock(&s->index_lock);
        db_give_way();
    }
}

static void give_back(struct embedded *s, struct settling *t, enum weir_status st)
{
    give_logs_back(s, t, st == WEIR_OK);
    pthread_mutex_lock(&s->index_lock);
    for (struct list_node *n; (n = list_pop_front(&t->docs));)
        give_doc_back(s, CONTAINER_OF(n, struct pending_doc, node), st == WEIR_OK);
    if (st == WEIR_OK) {
        s->settled_number = t->number;
        s->stats.n_settles++;
    } else {
        give_drops_back(s, t);
        s->oldest_pending_ns = clock_mono_ns(s->clock);
    }
    s->settle_status = st;
    pthread_mutex_unlock(&s->index_lock);
    mem_free(t->dropped);
    /* Who trims says it again, some time. */
    trims_free(t->trims);
}

void trims_free(struct trim *trims)
{
    for (struct trim *next; trims; trims = next) {
        next = trims->next;
        mem_free(trims);
    }
}

enum weir_status embedded_trim(struct store *store, struct weir_slice log, uint64_t before)
{
    struct embedded *s = embedded_of(store);
    struct trim *t = mem_alloc(sizeof *t + log.len);
    if (!t) return WEIR_NOMEM;
    *t = (struct trim){.before = before, .n_name = log.len};
    memcpy(t->name, log.ptr, log.len);
    pthread_mutex_lock(&s->index_lock);
    t->next = s->trims;
    s->trims = t;
    pthread_mutex_unlock(&s->index_lock);
    return WEIR_OK;
}

enum weir_status settle_now(struct embedded *s)
{
    struct settling t = {0};
    weir_buf_init(&t.row, STORE_COMMIT_BYTES * 4);
    pthread_mutex_lock(&s->index_lock);
    take_dirty(s, &t);
    bool is_clean = t.number == s->settled_number && list_is_empty(&t.logs) &&
                    list_is_empty(&t.docs) && t.n_dropped == 0 && !t.trims;
    pthread_mutex_unlock(&s->index_lock);
    enum weir_status st = is_clean && !db_has_garbage(s->db) ? WEIR_OK : write_all(s, &t);
    give_back(s, &t, st);
    mem_free(t.chunks);
    weir_buf_fini(&t.row);
    return st;
}

/* ---- expiry ---- */

static void end_drop(void *commit, const struct commit_result *result)
{
    (void)result; /* whoever was quicker has dropped it */
    commit_free(commit);
}

static enum weir_status drop_expired(void *store, const struct db_log *log)
{
    struct commit *c = commit_new(log->name.len);
    if (!c) return WEIR_NOMEM;
    commit_drop_id(c, log->name, log->id);
    store_commit(store, c, end_drop, c);
    return WEIR_OK;
}

/* Through the one door, like every other drop. */
static void sweep(struct embedded *s)
{
    struct db_reader *reader = embedded_take_reader(s);
    if (!reader) return;
    enum weir_status st =
        db_list_expired(reader, embedded_now_ms(s), SWEEP_LOGS, drop_expired, &s->store);
    (void)st; /* the next sweep comes soon */
    embedded_give_reader(s, reader);
}

/* ---- the thread ---- */

void settle_ask(struct embedded *s)
{
    pthread_mutex_lock(&s->index_lock);
    s->settles_asked++;
    pthread_cond_signal(&s->settle_wanted);
    pthread_mutex_unlock(&s->index_lock);
}

enum weir_status settle_and_wait(struct embedded *s)
{
    pthread_mutex_lock(&s->index_lock);
    uint64_t ticket = ++s->settles_asked;
    pthread_cond_signal(&s->settle_wanted);
    while (s->settles_ended < ticket) pthread_cond_wait(&s->settle_ended, &s->index_lock);
    enum weir_status st = s->settle_status;
    pthread_mutex_unlock(&s->index_lock);
    return st;
}

/* Whether the settler has something to do now; the lock is held. */
static bool is_due(const struct embedded *s)
{
    if (s->settler_stops || s->settles_asked > s->settles_ended) return true;
    return s->settle_status == WEIR_OK && s->pending_bytes >= s->options.pending_bytes / 2;
}

/* Waits until there is work, or until nothing may wait any longer. False: stop. */
static bool wait_for_work(struct embedded *s, uint64_t *ticket)
{
    struct timespec at = clock_deadline(STORE_IDLE_SETTLE_MS);
    int timed_out = 0;
    pthread_mutex_lock(&s->index_lock);
    while (!is_due(s) && timed_out == 0)
        timed_out = pthread_cond_timedwait(&s->settle_wanted, &s->index_lock, &at);
    *ticket = s->settles_asked;
    bool goes_on = !s->settler_stops;
    pthread_mutex_unlock(&s->index_lock);
    return goes_on;
}

/* Settling can wait: whoever waits for an answer goes first. Failing that, it is fair. */
static void give_way(void)
{
    int failed = setpriority(PRIO_PROCESS, (id_t)gettid(), SETTLER_NICE);
    (void)failed;
}

void *settler_run(void *store)
{
    struct embedded *s = store;
    bool goes_on = true;
    give_way();
    while (goes_on) {
        uint64_t ticket;
        goes_on = wait_for_work(s, &ticket);
        enum weir_status st = settle_now(s);
        pthread_mutex_lock(&s->index_lock);
        s->settles_ended = ticket;
        pthread_cond_broadcast(&s->settle_ended);
        pthread_mutex_unlock(&s->index_lock);
        if (st == WEIR_OK && goes_on) sweep(s);
    }
    return NULL;
}
