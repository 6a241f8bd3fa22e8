/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The committer: one thread that turns what is queued into what is durable.
 *
 * It takes all that gathered during the last sync as one batch and never waits for more:
 *
 *   1. decide    each commit in turn, against the state that the batch has so far; one that
 *                cannot happen is undone and fails alone
 *   2. fill      the events of each log into one chunk, ids and all
 *   3. write     one journal record, one sync
 *   4. publish   into the index, then news, then every commit's `done`
 *
 * Until step 4 nobody sees anything: the state ahead lives in the fields of struct log that
 * begin with "next", and in batch_docs. A commit that drops a log is a batch of its own, so
 * that no batch has two logs of one name.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/batch_format.h"
#include "store/embedded_impl.h"

/* A batch under way. */
struct batch {
    struct commit *commits;
    size_t n_commits;
};

/* ---- 1. decide and 2. fill: ahead.c ---- */

static struct embedded *of_ahead(struct ahead *a)
{
    return CONTAINER_OF(a, struct embedded, ahead);
}

static enum weir_status find_log(struct ahead *a, struct weir_slice name, enum log_wanted wanted,
                                 struct log **out)
{
    struct embedded *s = of_ahead(a);
    enum weir_status st = WEIR_OK;
    struct log *log = index_find(s, name);
    if (!log) st = index_load_log(s, name, &log);
    bool is_there = st == WEIR_OK && !log->is_dropped;
    if (is_there && wanted == LOG_LIVE && log->expires_ms <= embedded_now_ms(s))
        return WEIR_NOT_FOUND; /* the sweep has not come by yet */
    if (st == WEIR_NOT_FOUND || (st == WEIR_OK && !is_there)) {
        if (wanted != LOG_MAYBE) return WEIR_NOT_FOUND;
        st = index_make_log(s, name, s->last_id + 1, &log);
        if (st == WEIR_OK) s->last_id++;
    }
    if (st != WEIR_OK) return st;
    ahead_join(a, log);
    if (wanted != LOG_MAYBE && log->next_dropped) return WEIR_NOT_FOUND;
    *out = log;
    return WEIR_OK;
}

static enum weir_status doc_version(struct ahead *a, struct doc_key key, int64_t expected,
                                    int64_t *version)
{
    (void)expected;
    return view_doc_version(of_ahead(a), key, version);
}

static enum weir_status next_id(struct ahead *a, uint64_t *id)
{
    *id = ++of_ahead(a)->last_id;
    return WEIR_OK;
}

static enum weir_status call_decide(struct ahead *a, struct commit *c)
{
    return view_decide(of_ahead(a), c);
}

static int64_t now_ms(struct ahead *a)
{
    return embedded_now_ms(of_ahead(a));
}

const struct ahead_ways embedded_ways = {
    .find_log = find_log,
    .doc_version = doc_version,
    .next_id = next_id,
    .call_decide = call_decide,
    .now_ms = now_ms,
};

/* ---- 3. write ---- */

static void write_log(struct weir_buf *out, const struct log *log)
{
    struct entry e = {.log_id = log->id, .name = log_name(log)};
    if (log->chunk) {
        CHECK(log->chunk_at == log->chunk->len && log->next_last == log->chunk->last);
        e.kind = ENTRY_EVENTS;
        e.first = log->chunk->first;
        e.last = log->chunk->last;
        e.bytes = slice_of(log->chunk->bytes, log->chunk->len);
        entry_write(out, &e);
    }
    if (log_is_made(log)) {
        e.kind = ENTRY_MAKE;
        entry_write(out, &e);
    }
    if (log->next_sealed && !log->is_sealed) {
        e.kind = ENTRY_SEAL;
        e.expires_ms = log->next_expires_ms;
        entry_write(out, &e);
    }
    if (log_is_unmade(log)) {
        e.kind = ENTRY_DROP;
        entry_write(out, &e);
    }
}

static void write_docs(struct embedded *s)
{
    for (struct map_walk w = map_walk_begin(&s->ahead.docs); map_walk_next(&s->ahead.docs, &w);) {
        const struct pending_doc *d = w.value;
        struct doc view = pending_doc_view(d);
        struct entry e = {.kind = d->is_removed ? ENTRY_REMOVE : ENTRY_PUT,
                          .doc_kind = view.kind,
                          .doc_id = view.id,
                          .owner = view.owner,
                          .version = view.version,
                          .bytes = view.body};
        entry_write(&s->record, &e);
    }
}

static WEIR_MUST_CHECK enum weir_status write_journal(struct embedded *s, uint64_t *number)
{
    weir_buf_reset(&s->record);
    for (struct list_node *n = list_first(&s->ahead.logs); n; n = list_next(&s->ahead.logs, n))
        write_log(&s->record, CONTAINER_OF(n, struct log, batch));
    write_docs(s);
    enum weir_status st = weir_buf_status(&s->record);
    if (st != WEIR_OK) return st;
    if (s->record.len == 0) return WEIR_OK; /* nothing but expectations */
    st = journal_write(s->journal, weir_buf_slice(&s->record), number);
    if (st != WEIR_OK) return st;
    if (s->options.durability == STORE_DURABLE_FULL) return journal_sync(s->journal);
    if (s->unsynced_since_ns == 0) s->unsynced_since_ns = clock_mono_ns(s->clock);
    return journal_flush(s->journal);
}

/* ---- 4. publish ---- */

static void add_news(struct embedded *s, size_t *n, const struct log *log, struct chunk *chunk,
                     bool is_made)
{
    if (*n == s->cap_news) {
        s->cap_news = s->cap_news > 0 ? s->cap_news * 2 : 64;
        s->news = mem_realloc(s->news, s->cap_news * sizeof *s->news);
        CHECK(s->news);
    }
    /* Held until the news are told: the settler may be done with it before. */
    if (chunk) chunk_ref(chunk);
    s->news[(*n)++] = (struct store_news){.log = log_name(log),
                                          .log_id = log->id,
                                          .chunk = chunk,
                                          .is_made = is_made,
                                          .is_sealed = log->is_sealed,
                                          .is_dropped = log->is_dropped};
}

static void publish_log(struct embedded *s, struct log *log, size_t *n_news)
{
    bool is_changed = log->chunk || log->next_sealed != log->is_sealed || log_is_made(log);
    bool is_new = !log->is_visible;
    if (log_is_made(log)) index_show(s, log);
    struct chunk *chunk = log->chunk;
    log->chunk = NULL;
    if (chunk) index_add_chunk(s, log, chunk);
    if (log->next_sealed && !log->is_sealed) {
        log->is_sealed = true;
        log->expires_ms = log->next_expires_ms;
        index_set_dirty(s, log);
    }
    if (log_is_unmade(log)) {
        index_drop(s, log);
        is_changed = true;
    }
    if (is_changed) add_news(s, n_news, log, chunk, is_new);
}

static void tell_news(struct embedded *s, size_t n)
{
    if (n > 0 && s->options.on_news) s->options.on_news(s->options.user, s->news, n);
    for (size_t i = 0; i < n; i++) chunk_unref(s->news[i].chunk);
}

static void publish(struct embedded *s, uint64_t number)
{
    size_t n_news = 0;
    struct map_walk w = map_walk_begin(&s->ahead.docs);
    pthread_mutex_lock(&s->index_lock);
    for (struct list_node *n; (n = list_pop_front(&s->ahead.logs));)
        publish_log(s, CONTAINER_OF(n, struct log, batch), &n_news);
    while (map_walk_next(&s->ahead.docs, &w)) {
        struct pending_doc *d = map_take(&s->ahead.docs, w.key);
        doc_cache_forget(&s->doc_cache, pending_doc_key(d));
        index_put_doc(s, d);
    }
    if (number > 0) {
        s->visible_number = number;
        s->visible_id = s->last_id;
        s->full_since_ns = 0; /* something was written: there is room */
    }
    s->stats.n_events += s->ahead.n_events;
    s->stats.event_bytes += s->ahead.n_bytes;
    bool is_full = s->pending_bytes >= s->options.pending_bytes / 2;
    if (is_full) pthread_cond_signal(&s->settle_wanted);
    pthread_mutex_unlock(&s->index_lock);
    tell_news(s, n_news);
}

static void roll_back(struct embedded *s, struct batch *b, enum weir_status st)
{
    ahead_roll_back(&s->ahead);
    for (struct commit *c = b->commits; c; c = c->next)
        c->result = (struct commit_result){.status = st};
}

/* ---- the thread ---- */

static void count_batch(struct embedded *s, const struct batch *b)
{
    uint64_t now = clock_mono_ns(s->clock);
    pthread_mutex_lock(&s->index_lock);
    store_histogram_add(&s->stats.batch_commits, b->n_commits);
    s->stats.n_syncs++;
    for (struct commit *c = b->commits; c; c = c->next) {
        s->stats.n_commits++;
        if (c->result.status != WEIR_OK) s->stats.n_refused++;
        store_histogram_add(&s->stats.commit_us, (now - c->queued_ns) / 1000);
    }
    pthread_mutex_unlock(&s->index_lock);
}

static void tell(struct commit *commits)
{
    while (commits) {
        struct commit *c = commits;
        commits = c->next;
        c->done(c->user, &c->result); /* its maker has it again, and may have freed it */
    }
}

/* Nothing is accepted from now on. */
static void break_down(struct embedded *s, enum weir_status st)
{
    pthread_mutex_lock(&s->index_lock);
    s->broken = st;
    pthread_mutex_unlock(&s->index_lock);
}

/* Why nothing can be committed now: broken, or full and the settler cannot settle. */
static enum weir_status wait_for_room(struct embedded *s)
{
    pthread_mutex_lock(&s->index_lock);
    while (s->broken == WEIR_OK && s->pending_bytes >= s->options.pending_bytes &&
           s->settle_status == WEIR_OK) {
        pthread_cond_signal(&s->settle_wanted);
        pthread_cond_wait(&s->settle_ended, &s->index_lock);
    }
    enum weir_status st = s->broken;
    if (st == WEIR_OK && s->pending_bytes >= s->options.pending_bytes)
        st = s->settle_status == WEIR_NO_SPACE ? WEIR_NO_SPACE : WEIR_BUSY;
    uint64_t settled = s->settled_number;
    pthread_mutex_unlock(&s->index_lock);
    journal_release(s->journal, settled);
    return st;
}

/*
 * WEIR_LIMIT says that every segment waits for release, which a settling brings about;
 * WEIR_NO_SPACE leaves the journal as it was. All else is the end.
 */
static enum weir_status judge(struct embedded *s, enum weir_status st)
{
    if (st == WEIR_NO_SPACE && journal_is_sound(s->journal)) {
        pthread_mutex_lock(&s->index_lock);
        s->full_since_ns = clock_mono_ns(s->clock);
        pthread_mutex_unlock(&s->index_lock);
        return st;
    }
    if (st == WEIR_LIMIT || (st == WEIR_NOMEM && journal_is_sound(s->journal))) {
        settle_ask(s);
        return WEIR_BUSY;
    }
    break_down(s, WEIR_STORAGE);
    return WEIR_STORAGE;
}

/* Those behind `last` wait for the next batch, in front of all others. */
static void put_back(struct embedded *s, struct batch *b, struct commit *last)
{
    struct commit *first = last->next;
    struct commit **end = &last->next;
    if (!first) return;
    pthread_mutex_lock(&s->queue_lock);
    for (; *end; end = &(*end)->next) {
        s->queued_bytes += commit_weight(*end);
        b->n_commits--;
    }
    *end = s->queue_first;
    if (!s->queue_first) s->queue_end = end;
    s->queue_first = first;
    last->next = NULL;
    pthread_mutex_unlock(&s->queue_lock);
}

/* All in turn, up to what fits a record: what a decision adds is known only afterwards. */
static void decide_all(struct embedded *s, struct batch *b)
{
    uint64_t n_bytes = 0;
    for (struct commit *c = b->commits; c; c = c->next) {
        ahead_decide(&s->ahead, c);
        if (c->result.status == WEIR_OK) n_bytes += c->len;
        if (n_bytes >= s->options.segment_bytes / 4) put_back(s, b, c);
    }
}

static void run_batch(struct embedded *s, struct batch *b)
{
    uint64_t number = 0;
    index_trim(s);
    enum weir_status st = wait_for_room(s);
    if (st == WEIR_OK) {
        decide_all(s, b);
        st = ahead_fill(&s->ahead, b->commits);
        if (st == WEIR_OK) st = write_journal(s, &number);
        if (st != WEIR_OK) st = judge(s, st);
    }
    if (st == WEIR_OK) publish(s, number);
    else roll_back(s, b, st);
    count_batch(s, b);
    tell(b->commits);
}

/* Under the queue's lock: how much of the queue makes a batch. */
static void take_batch(struct embedded *s, struct batch *b)
{
    uint64_t n_bytes = 0;
    struct commit **end = &s->queue_first;
    while (*end && n_bytes < s->options.segment_bytes / 4) {
        if ((*end)->drops && b->n_commits > 0) break;
        n_bytes += commit_weight(*end);
        b->n_commits++;
        bool is_alone = (*end)->drops;
        end = &(*end)->next;
        if (is_alone) break;
    }
    b->commits = s->queue_first;
    s->queue_first = *end;
    *end = NULL;
    if (!s->queue_first) s->queue_end = &s->queue_first;
    s->queued_bytes -= n_bytes;
}

/* Waits for commits; false when there will be none. May come back with nothing to do. */
static bool next_batch(struct embedded *s, struct batch *b)
{
    pthread_mutex_lock(&s->queue_lock);
    while (!s->queue_first && !s->is_closing) {
        s->committer_waits = true;
        if (s->unsynced_since_ns == 0) {
            pthread_cond_wait(&s->queue_filled, &s->queue_lock);
            continue;
        }
        struct timespec at = clock_deadline(STORE_LAZY_SYNC_MS);
        if (pthread_cond_timedwait(&s->queue_filled, &s->queue_lock, &at) != 0) break;
    }
    s->committer_waits = false;
    bool goes_on = s->queue_first || !s->is_closing;
    if (s->queue_first) take_batch(s, b);
    pthread_mutex_unlock(&s->queue_lock);
    return goes_on;
}

/* STORE_DURABLE_NORMAL: what the kernel has is asked to the disk now and then. */
static void sync_late(struct embedded *s, bool is_end)
{
    if (s->unsynced_since_ns == 0) return;
    uint64_t age = clock_mono_ns(s->clock) - s->unsynced_since_ns;
    if (!is_end && age < (uint64_t)STORE_LAZY_SYNC_MS * 1000000) return;
    s->unsynced_since_ns = 0;
    enum weir_status st = journal_sync(s->journal);
    if (st != WEIR_OK) break_down(s, WEIR_STORAGE);
}

void *committer_run(void *store)
{
    struct embedded *s = store;
    for (;;) {
        struct batch b = {0};
        if (!next_batch(s, &b)) break;
        if (b.commits) run_batch(s, &b);
        sync_late(s, false);
    }
    sync_late(s, true);
    return NULL;
}
