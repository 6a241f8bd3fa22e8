/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded store's life: opening with recovery, the queue, closing. The folder has
 *
 *   lock            held by the process that has the store open
 *   journal-NNNN    what is durable; see journal.h
 *   weir.db         what is settled; see db.h
 *
 * Recovery reads the journal from the record behind the last one settled, and settles what
 * it found before anything else happens: a kernel that lost a write and forgot to say so may
 * show it from its memory still, so what was read is written again, elsewhere, and synced.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/batch_format.h"
#include "store/embedded_impl.h"

enum {
    DEFAULT_PENDING_BYTES = 16 << 20,
    DEFAULT_QUEUE_BYTES = 64 << 20,
    DEFAULT_SEGMENT_BYTES = 16 << 20,
    LEAST_SEGMENT_BYTES = 64 << 10,
    DEFAULT_MAX_LOGS = 65536,
    DEFAULT_READERS = 2,
    MAX_READERS = 64,
    MAX_SPARE_READERS = 64,
};

int64_t embedded_now_ms(struct embedded *s)
{
    return s->wall_base_ms + (int64_t)((clock_mono_ns(s->clock) - s->mono_base_ns) / 1000000);
}

/* ---- recovery ---- */

/* The log that an entry speaks of; NULL when there is none and the entry makes none. */
static WEIR_MUST_CHECK enum weir_status recover_log(struct embedded *s, const struct entry *e,
                                                    struct log **out)
{
    struct log *log = index_find(s, e->name);
    if (log && log->is_dropped && e->log_id > log->id) log = NULL;
    enum weir_status st = WEIR_OK;
    if (!log) st = index_load_log(s, e->name, &log);
    if (st == WEIR_NOT_FOUND && (e->kind == ENTRY_EVENTS || e->kind == ENTRY_MAKE))
        st = index_make_log(s, e->name, e->log_id, &log);
    *out = log;
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static WEIR_MUST_CHECK enum weir_status recover_events(struct embedded *s, struct log *log,
                                                       const struct entry *e)
{
    if (e->log_id < log->id || e->last <= log->last) return WEIR_OK; /* settled already */
    if (e->log_id > log->id || e->first != log->last + 1) return WEIR_CORRUPT;
    struct chunk *chunk = chunk_new(e->first, e->last, e->bytes.len);
    if (!chunk) return WEIR_NOMEM;
    memcpy(chunk->bytes, e->bytes.ptr, e->bytes.len);
    index_add_chunk(s, log, chunk);
    return WEIR_OK;
}

static void note_id(struct embedded *s, uint64_t id)
{
    if (id > s->last_id) s->last_id = id;
}

static WEIR_MUST_CHECK enum weir_status recover_log_entry(struct embedded *s, const struct entry *e)
{
    struct log *log;
    enum weir_status st = recover_log(s, e, &log);
    if (st != WEIR_OK) return st;
    note_id(s, e->log_id);
    if (!log) return WEIR_OK;
    if (e->kind == ENTRY_EVENTS) return recover_events(s, log, e);
    if (e->kind == ENTRY_MAKE && log->id == e->log_id) index_show(s, log);
    if (log->id != e->log_id || !log->is_visible || e->kind == ENTRY_MAKE) return WEIR_OK;
    if (e->kind == ENTRY_SEAL) {
        log->is_sealed = true;
        log->expires_ms = e->expires_ms;
        index_set_dirty(s, log);
    } else {
        index_drop(s, log);
    }
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status recover_doc(struct embedded *s, const struct entry *e)
{
    struct doc_key key = {e->doc_kind, e->doc_id};
    struct pending_doc *d = pending_doc_new(key, e->owner, e->bytes);
    if (!d) return WEIR_NOMEM;
    d->is_removed = e->kind == ENTRY_REMOVE;
    d->version = e->version;
    note_id(s, doc_life(e->version));
    index_put_doc(s, d);
    return WEIR_OK;
}

static enum weir_status recover_record(void *store, uint64_t number, struct weir_slice bytes)
{
    struct embedded *s = store;
    struct entry e;
    enum weir_status st = WEIR_OK;
    while (bytes.len > 0 && st == WEIR_OK) {
        if (!entry_read(&bytes, &e)) return WEIR_CORRUPT;
        bool is_doc = e.kind == ENTRY_PUT || e.kind == ENTRY_REMOVE;
        st = is_doc ? recover_doc(s, &e) : recover_log_entry(s, &e);
    }
    s->visible_number = number;
    s->visible_id = s->last_id;
    return st;
}

/* ---- opening ---- */

static enum weir_status complain(struct store_error *error, enum weir_status st, const char *what,
                                 const char *folder)
{
    if (error && error->text[0] == '\0')
        snprintf(error->text, sizeof error->text, "%s %.180s: %s", what, folder,
                 errno != 0 ? strerror(errno) : weir_status_text(st));
    return st;
}

static WEIR_MUST_CHECK enum weir_status take_folder(struct embedded *s, struct store_error *error)
{
    char path[sizeof s->folder + 8];
    errno = 0;
    if (mkdir(s->folder, 0700) != 0 && errno != EEXIST)
        return complain(error, errno == ENOSPC ? WEIR_NO_SPACE : WEIR_IO, "cannot make", s->folder);
    errno = 0;
    snprintf(path, sizeof path, "%s/lock", s->folder);
    enum weir_status st = file_open(&s->lock, path, FILE_MAY_CREATE);
    if (st != WEIR_OK) return complain(error, st, "cannot write in", s->folder);
    errno = 0;
    st = file_lock(&s->lock);
    if (st == WEIR_LOCKED) errno = 0;
    return st == WEIR_OK ? st : complain(error, st, "cannot open the store in", s->folder);
}

static WEIR_MUST_CHECK enum weir_status open_files(struct embedded *s, struct store_error *error)
{
    struct journal_options options = {.segment_bytes = s->options.segment_bytes};
    enum weir_status st = db_open(&s->db, s->folder, error);
    if (st == WEIR_OK) st = db_reader_open(&s->committer_reader, s->folder);
    if (st != WEIR_OK) return complain(error, st, "cannot open the database in", s->folder);
    s->last_id = db_last_id(s->db);
    s->settled_number = s->visible_number = db_settled(s->db);
    s->visible_id = s->last_id;
    errno = 0;
    st = journal_open(&s->journal, s->folder, &options, s->settled_number, recover_record, s);
    if (st != WEIR_OK) return complain(error, st, "cannot recover the journal in", s->folder);
    st = settle_now(s);
    /* Without room it can be read at least. */
    if (st == WEIR_NO_SPACE) return WEIR_OK;
    return st == WEIR_OK ? st : complain(error, st, "cannot write the database in", s->folder);
}

static void set_defaults(struct store_options *o)
{
    if (!o->clock) o->clock = &clock_system;
    if (o->pending_bytes == 0) o->pending_bytes = DEFAULT_PENDING_BYTES;
    if (o->queue_bytes == 0) o->queue_bytes = DEFAULT_QUEUE_BYTES;
    if (o->segment_bytes == 0) o->segment_bytes = DEFAULT_SEGMENT_BYTES;
    if (o->segment_bytes < LEAST_SEGMENT_BYTES) o->segment_bytes = LEAST_SEGMENT_BYTES;
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

static struct embedded *new_store(const char *folder, const struct store_options *options)
{
    struct embedded *s = mem_zalloc(sizeof *s);
    if (!s) return NULL;
    snprintf(s->folder, sizeof s->folder, "%s", folder);
    if (options) s->options = *options;
    set_defaults(&s->options);
    s->clock = s->options.clock;
    s->wall_base_ms = clock_wall_ms(s->clock);
    s->mono_base_ns = clock_mono_ns(s->clock);
    s->lock.fd = -1;
    pthread_mutex_init(&s->queue_lock, NULL);
    pthread_mutex_init(&s->index_lock, NULL);
    pthread_mutex_init(&s->reader_lock, NULL);
    init_condition(&s->queue_filled);
    init_condition(&s->settle_wanted);
    init_condition(&s->settle_ended);
    init_condition(&s->job_added);
    s->queue_end = &s->queue_first;
    s->jobs_end = &s->jobs;
    ring_init(&s->spares, MAX_SPARE_READERS);
    map_init(&s->logs, STORE_MAX_MAP);
    map_init(&s->overlay, STORE_MAX_MAP);
    ahead_init(&s->ahead, &embedded_ways, STORE_MAX_MAP);
    list_init(&s->clean);
    list_init(&s->dirty);
    list_init(&s->dirty_docs);
    doc_cache_init(&s->doc_cache);
    arena_init(&s->view_memory, VIEW_BYTES);
    weir_buf_init(&s->record, UINT32_MAX);
    return s;
}

static WEIR_MUST_CHECK enum weir_status start_threads(struct embedded *s)
{
    s->readers = mem_zalloc(s->options.n_readers * sizeof *s->readers);
    if (!s->readers) return WEIR_NOMEM;
    int failed = pthread_create(&s->committer, NULL, committer_run, s);
    if (failed == 0) {
        failed = pthread_create(&s->settler, NULL, settler_run, s);
        CHECK(failed == 0); /* half a store cannot be closed */
    }
    if (failed != 0) return WEIR_NOMEM;
    s->is_running = true;
    for (; s->n_readers < s->options.n_readers; s->n_readers++) {
        failed = pthread_create(&s->readers[s->n_readers], NULL, reader_run, s);
        if (failed != 0) break;
    }
    return s->n_readers > 0 ? WEIR_OK : WEIR_NOMEM;
}

/* ---- closing ---- */

/* What is queued is committed, what is visible settled, in this order. */
static void stop_threads(struct embedded *s)
{
    pthread_mutex_lock(&s->queue_lock);
    s->is_closing = true;
    pthread_cond_signal(&s->queue_filled);
    pthread_mutex_unlock(&s->queue_lock);
    pthread_join(s->committer, NULL);
    pthread_mutex_lock(&s->index_lock);
    s->settler_stops = true;
    pthread_cond_signal(&s->settle_wanted);
    pthread_mutex_unlock(&s->index_lock);
    pthread_join(s->settler, NULL);
    pthread_mutex_lock(&s->reader_lock);
    s->readers_stop = true;
    pthread_cond_broadcast(&s->job_added);
    pthread_mutex_unlock(&s->reader_lock);
    for (unsigned i = 0; i < s->n_readers; i++) pthread_join(s->readers[i], NULL);
}

static void destroy_locks(struct embedded *s)
{
    pthread_mutex_destroy(&s->queue_lock);
    pthread_mutex_destroy(&s->index_lock);
    pthread_mutex_destroy(&s->reader_lock);
    pthread_cond_destroy(&s->queue_filled);
    pthread_cond_destroy(&s->settle_wanted);
    pthread_cond_destroy(&s->settle_ended);
    pthread_cond_destroy(&s->job_added);
}

static void embedded_close(struct store *store)
{
    struct embedded *s = embedded_of(store);
    if (s->is_running) stop_threads(s);
    for (struct db_reader *r; (r = ring_pop(&s->spares));) db_reader_close(r);
    ring_fini(&s->spares);
    if (s->committer_reader) db_reader_close(s->committer_reader);
    journal_close(s->journal);
    if (s->db) db_close(s->db);
    index_fini(s);
    ahead_fini(&s->ahead);
    doc_cache_fini(&s->doc_cache);
    arena_fini(&s->view_memory);
    weir_buf_fini(&s->record);
    mem_free(s->news);
    mem_free(s->readers);
    if (s->lock.fd >= 0) file_close(&s->lock);
    destroy_locks(s);
    mem_free(s);
}

/* ---- committing ---- */

/* Under the queue's lock. */
static enum weir_status queue_up(struct embedded *s, struct commit *c)
{
    if (c->status != WEIR_OK) return c->status;
    if (c->len > s->options.segment_bytes / 2) return WEIR_LIMIT;
    if (s->is_closing) return WEIR_SHUTDOWN;
    if (s->queued_bytes + commit_weight(c) > s->options.queue_bytes) return WEIR_BUSY;
    *s->queue_end = c;
    s->queue_end = &c->next;
    s->queued_bytes += commit_weight(c);
    return WEIR_OK;
}

static void embedded_commit_run(struct store *store, struct commit_run *run)
{
    struct embedded *s = embedded_of(store);
    struct commit *refused = NULL;
    struct commit *c = run->first;
    uint64_t now_ns = clock_mono_ns(s->clock);
    *run = (struct commit_run){0};
    pthread_mutex_lock(&s->queue_lock);
    while (c) {
        struct commit *next = c->next;
        c->next = NULL;
        c->queued_ns = now_ns;
        enum weir_status st = queue_up(s, c);
        if (st != WEIR_OK) {
            c->result = (struct commit_result){.status = st};
            c->next = refused;
            refused = c;
        }
        c = next;
    }
    bool must_wake = s->queue_first && s->committer_waits;
    if (must_wake) s->committer_waits = false;
    pthread_mutex_unlock(&s->queue_lock);
    /* Not under the lock, which the committer would only wake up to wait for. */
    if (must_wake) pthread_cond_signal(&s->queue_filled);
    while (refused) {
        c = refused;
        refused = c->next;
        c->done(c->user, &c->result);
    }
}

/* ---- looking after it ---- */

static int64_t embedded_wall_ms(struct store *store)
{
    return clock_wall_ms(embedded_of(store)->clock);
}

static enum weir_status embedded_is_writable(struct store *store)
{
    struct embedded *s = embedded_of(store);
    pthread_mutex_lock(&s->index_lock);
    enum weir_status st = s->broken;
    if (st == WEIR_OK && s->pending_bytes >= s->options.pending_bytes) st = s->settle_status;
    /* Not for ever: somebody who waits for this to change would never try. */
    if (st == WEIR_OK && s->full_since_ns != 0 &&
        clock_mono_ns(s->clock) - s->full_since_ns < (uint64_t)STORE_FULL_MS * 1000000)
        st = WEIR_NO_SPACE;
    pthread_mutex_unlock(&s->index_lock);
    return st;
}

static enum weir_status embedded_settle(struct store *store)
{
    struct embedded *s = embedded_of(store);
    return settle_and_wait(s);
}

static enum weir_status embedded_backup(struct store *store, const char *path,
                                        struct store_error *error)
{
    struct embedded *s = embedded_of(store);
    enum weir_status st = settle_and_wait(s);
    if (st != WEIR_OK) return complain(error, st, "cannot settle", s->folder);
    struct db_reader *reader = embedded_take_reader(s);
    if (!reader) return complain(error, WEIR_IO, "cannot read", s->folder);
    st = db_backup(reader, path, error);
    embedded_give_reader(s, reader);
    return st;
}

static enum weir_status embedded_check(struct store *store, store_complaint_fn complain_fn,
                                       void *user, uint64_t *n_wrong)
{
    struct embedded *s = embedded_of(store);
    enum weir_status st = settle_and_wait(s);
    struct db_reader *reader = st == WEIR_OK ? embedded_take_reader(s) : NULL;
    if (!reader) return st == WEIR_OK ? WEIR_IO : st;
    st = db_check(reader, complain_fn, user, n_wrong);
    embedded_give_reader(s, reader);
    return st;
}

static void embedded_stats(struct store *store, struct store_stats *out)
{
    struct embedded *s = embedded_of(store);
    pthread_mutex_lock(&s->queue_lock);
    uint64_t queued = s->queued_bytes;
    pthread_mutex_unlock(&s->queue_lock);
    pthread_mutex_lock(&s->index_lock);
    *out = s->stats;
    out->pending_bytes = s->pending_bytes;
    out->is_broken = s->broken != WEIR_OK;
    pthread_mutex_unlock(&s->index_lock);
    out->queued_bytes = queued;
}

static const struct store_engine embedded_engine = {
    .close = embedded_close,
    .commit_run = embedded_commit_run,
    .view_doc = embedded_view_doc,
    .view_log = embedded_view_log,
    .trim = embedded_trim,
    .read = embedded_read,
    .read_now = embedded_read_now,
    .read_later = embedded_read_later,
    .later = embedded_later,
    .doc_get = embedded_doc_get,
    .doc_list = embedded_doc_list,
    .search = embedded_search,
    .is_writable = embedded_is_writable,
    .wall_ms = embedded_wall_ms,
    .settle = embedded_settle,
    .backup = embedded_backup,
    .check = embedded_check,
    .stats = embedded_stats,
};

enum weir_status embedded_open(struct store **out, const char *folder,
                               const struct store_options *options, struct store_error *error)
{
    struct embedded *s = strlen(folder) < sizeof s->folder - 16 ? new_store(folder, options) : NULL;
    if (!s) return complain(error, WEIR_INVALID, "cannot open", folder);
    s->store.engine = &embedded_engine;
    enum weir_status st = take_folder(s, error);
    if (st == WEIR_OK) st = open_files(s, error);
    if (st == WEIR_OK) st = start_threads(s);
    if (st != WEIR_OK) {
        embedded_close(&s->store);
        return st;
    }
    *out = &s->store;
    return WEIR_OK;
}
