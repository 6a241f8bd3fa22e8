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
#include "store/store_impl.h"

/* A batch under way. */
struct batch {
    struct commit *commits;
    size_t n_commits;
    size_t n_logs;
    uint64_t n_events;
    uint64_t n_bytes;
};

/* ---- 1. decide ---- */

static size_t n_digits(uint64_t n)
{
    size_t digits = 1;
    while (n >= 10) {
        n /= 10;
        digits++;
    }
    return digits;
}

/* "id: N\n" and the frame. */
static size_t event_bytes(uint64_t id, size_t frame_bytes)
{
    return 4 + n_digits(id) + 1 + frame_bytes;
}

static void join_batch(struct store *s, struct log *log)
{
    if (list_is_linked(&log->batch)) return;
    log->next_last = log->last;
    log->next_sealed = log->is_sealed;
    log->next_expires_ms = log->expires_ms;
    log->next_dropped = !log->is_visible;
    log->batch_bytes = 0;
    list_push_back(&s->batch_logs, &log->batch);
}

/* The log of that name, made if `may_make`; WEIR_NOT_FOUND. It is part of the batch then. */
static WEIR_MUST_CHECK enum weir_status find_log(struct store *s, struct weir_slice name,
                                                 bool may_make, struct log **out)
{
    enum weir_status st = WEIR_OK;
    struct log *log = index_find(s, name);
    if (!log) st = index_load_log(s, name, &log);
    bool is_there = st == WEIR_OK && !log->is_dropped;
    if (is_there && !may_make && log->expires_ms <= store_now_ms(s))
        return WEIR_NOT_FOUND; /* the sweep has not come by yet */
    if (st == WEIR_NOT_FOUND || (st == WEIR_OK && !is_there)) {
        if (!may_make) return WEIR_NOT_FOUND;
        st = index_make_log(s, name, s->last_log_id + 1, &log);
        if (st == WEIR_OK) s->last_log_id++;
    }
    if (st != WEIR_OK) return st;
    join_batch(s, log);
    if (!may_make && log->next_dropped) return WEIR_NOT_FOUND;
    *out = log;
    return WEIR_OK;
}

enum weir_status committer_log(struct store *s, struct weir_slice name, struct log_state *out)
{
    struct log *log;
    enum weir_status st = find_log(s, name, false, &log);
    if (st == WEIR_OK)
        *out = (struct log_state){.exists = true,
                                  .is_sealed = log->next_sealed,
                                  .log_id = log->id,
                                  .last = log->next_last};
    return st;
}

static WEIR_MUST_CHECK enum weir_status decide_append(struct store *s, struct commit *c,
                                                      struct op *op)
{
    struct log *log;
    const struct op *before = op->before;
    bool is_same = before && before->kind == OP_APPEND && slice_eq(op_log(before), op_log(op));
    if (is_same) {
        log = before->log;
    } else {
        enum weir_status st = find_log(s, op_log(op), true, &log);
        if (st != WEIR_OK) return st;
    }
    if (log->next_sealed) return WEIR_SEALED;
    if (log->is_visible && log->next_dropped) return WEIR_INVALID; /* by this very commit */
    op->log = log;
    op->number = log->next_dropped;
    log->next_last++;
    log->next_dropped = false;
    log->batch_bytes += event_bytes(log->next_last, op->n_payload);
    if (!is_same) c->result.first = log->next_last;
    c->result.last = log->next_last;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status decide_make(struct store *s, struct op *op)
{
    struct log *log;
    enum weir_status st = find_log(s, op_log(op), true, &log);
    if (st != WEIR_OK) return st;
    if (log->is_visible && log->next_dropped) return WEIR_INVALID; /* by this very commit */
    if (log->expires_ms <= store_now_ms(s)) return WEIR_SEALED; /* the sweep has yet to come by */
    op->log = log;
    op->number = log->next_dropped;
    log->next_dropped = false;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status decide_expect(struct store *s, struct op *op)
{
    struct log *log;
    enum weir_status st = find_log(s, op_log(op), false, &log);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    uint64_t last = st == WEIR_OK ? log->next_last : 0;
    return last == (uint64_t)op->number ? WEIR_OK : WEIR_CONFLICT;
}

static WEIR_MUST_CHECK enum weir_status decide_seal(struct store *s, struct op *op)
{
    struct log *log;
    enum weir_status st = find_log(s, op_log(op), false, &log);
    if (st != WEIR_OK) return st;
    if (log->next_sealed) return WEIR_SEALED;
    op->log = log;
    log->next_sealed = true;
    int64_t now = store_now_ms(s);
    bool is_forever = op->number < 0 || op->number > INT64_MAX - now;
    log->next_expires_ms = is_forever ? INT64_MAX : now + op->number;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status decide_drop(struct store *s, struct op *op)
{
    struct log *log;
    enum weir_status st = find_log(s, op_log(op), false, &log);
    if (st == WEIR_NOT_FOUND && op->number != 0) {
        /* The sweep drops what expired, which find_log() does not show any more. */
        log = index_find(s, op_log(op));
        if (!log || !log->is_visible) return st;
        join_batch(s, log);
        st = WEIR_OK;
    }
    if (st != WEIR_OK) return st;
    if (op->number != 0 && log->id != (uint64_t)op->number) return WEIR_NOT_FOUND;
    if (log->next_last != log->last || log->next_sealed != log->is_sealed) return WEIR_INVALID;
    op->log = log;
    log->next_dropped = true;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status decide_doc(struct store *s, struct commit *c, struct op *op)
{
    int64_t version;
    struct doc_key key = op_key(op);
    enum weir_status st = view_doc_version(s, key, &version);
    if (st != WEIR_OK) return st;
    if (op->number != DOC_ANY_VERSION && op->number != version)
        return op->number == DOC_MUST_BE_NEW ? WEIR_EXISTS : WEIR_CONFLICT;
    bool is_removed = op->kind == OP_REMOVE;
    if (is_removed && version == 0) return WEIR_NOT_FOUND;
    struct pending_doc *d = pending_doc_new(key, op_owner(op), op_payload(op));
    if (!d) return WEIR_NOMEM;
    d->is_removed = is_removed;
    d->version = version + (is_removed ? 0 : 1);
    op->old = map_get(&s->batch_docs, pending_doc_key(d));
    st = map_put(&s->batch_docs, pending_doc_key(d), d);
    if (st != WEIR_OK) {
        mem_free(d);
        return st;
    }
    c->result.version = is_removed ? 0 : d->version;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status decide_op(struct store *s, struct commit *c, struct op *op)
{
    switch ((enum op_kind)op->kind) {
    case OP_APPEND: return decide_append(s, c, op);
    case OP_MAKE: return decide_make(s, op);
    case OP_EXPECT: return decide_expect(s, op);
    case OP_SEAL: return decide_seal(s, op);
    case OP_DROP: return decide_drop(s, op);
    case OP_PUT:
    case OP_REMOVE: return decide_doc(s, c, op);
    }
    return WEIR_INTERNAL;
}

static void undo_doc(struct store *s, struct op *op)
{
    char name[OVERLAY_KEY_BYTES];
    struct weir_slice key = overlay_key(name, op_key(op));
    mem_free(map_take(&s->batch_docs, key));
    if (!op->old) return;
    enum weir_status st = map_put(&s->batch_docs, key, op->old);
    CHECK(st == WEIR_OK); /* the place of the one just taken */
}

static void undo_op(struct store *s, struct op *op)
{
    struct log *log = op->log;
    switch ((enum op_kind)op->kind) {
    case OP_APPEND:
        log->batch_bytes -= event_bytes(log->next_last, op->n_payload);
        log->next_last--;
        log->next_dropped = op->number != 0;
        break;
    case OP_MAKE: log->next_dropped = op->number != 0; break;
    case OP_SEAL:
        log->next_sealed = false;
        log->next_expires_ms = log->expires_ms;
        break;
    case OP_DROP: log->next_dropped = false; break;
    case OP_PUT:
    case OP_REMOVE: undo_doc(s, op); break;
    case OP_EXPECT: break;
    }
}

/* What the commit's documents replaced within the batch is not needed to go back any more. */
static void forget_old(struct commit *c)
{
    for (struct op *op = commit_first(c); op; op = commit_next(c, op)) {
        if (op->kind == OP_PUT || op->kind == OP_REMOVE) mem_free(op->old);
    }
}

static void decide(struct store *s, struct commit *c)
{
    struct op *before = NULL;
    c->result = (struct commit_result){0};
    enum weir_status st = c->status == WEIR_OK ? view_decide(s, c) : c->status;
    for (struct op *op = commit_first(c); op && st == WEIR_OK; op = commit_next(c, op)) {
        op->before = before;
        st = decide_op(s, c, op);
        if (st == WEIR_OK) before = op;
    }
    if (st == WEIR_OK) {
        forget_old(c);
        return;
    }
    /* What was decided before the one that cannot be is taken back, the last one first. */
    for (; before; before = before->before) undo_op(s, before);
    c->result = (struct commit_result){.status = st};
}

/* ---- 2. fill ---- */

static char *put_id(char *at, uint64_t id)
{
    static const char field[] = {'i', 'd', ':', ' '};
    size_t n = n_digits(id);
    memcpy(at, field, sizeof field);
    at += sizeof field;
    for (size_t i = n; i > 0; i--, id /= 10) at[i - 1] = (char)('0' + id % 10);
    at[n] = '\n';
    return at + n + 1;
}

static WEIR_MUST_CHECK enum weir_status make_chunks(struct store *s, struct batch *b)
{
    for (struct list_node *n = list_first(&s->batch_logs); n; n = list_next(&s->batch_logs, n)) {
        struct log *log = CONTAINER_OF(n, struct log, batch);
        b->n_logs++;
        if (log->next_last == log->last) continue;
        log->chunk = chunk_new(log->last + 1, log->next_last, log->batch_bytes);
        log->chunk_at = 0;
        if (!log->chunk) return WEIR_NOMEM;
        b->n_events += log->next_last - log->last;
        b->n_bytes += log->batch_bytes;
        log->next_last = log->last; /* counted up again while the chunks are filled */
    }
    return WEIR_OK;
}

static void fill(struct op *op)
{
    struct log *log = op->log;
    struct weir_slice frame = op_payload(op);
    char *at = put_id(log->chunk->bytes + log->chunk_at, ++log->next_last);
    memcpy(at, frame.ptr, frame.len);
    log->chunk_at = (size_t)(at + frame.len - log->chunk->bytes);
}

static WEIR_MUST_CHECK enum weir_status fill_chunks(struct store *s, struct batch *b)
{
    enum weir_status st = make_chunks(s, b);
    if (st != WEIR_OK) return st;
    for (struct commit *c = b->commits; c; c = c->next) {
        if (c->result.status != WEIR_OK) continue;
        for (struct op *op = commit_first(c); op; op = commit_next(c, op))
            if (op->kind == OP_APPEND) fill(op);
    }
    return WEIR_OK;
}

/* ---- 3. write ---- */

/* It was not there, is now, and has no events. */
static bool is_made(const struct log *log)
{
    return !log->is_visible && !log->next_dropped && !log->chunk;
}

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
    if (is_made(log)) {
        e.kind = ENTRY_MAKE;
        entry_write(out, &e);
    }
    if (log->next_sealed && !log->is_sealed) {
        e.kind = ENTRY_SEAL;
        e.expires_ms = log->next_expires_ms;
        entry_write(out, &e);
    }
    if (log->next_dropped && log->is_visible) {
        e.kind = ENTRY_DROP;
        entry_write(out, &e);
    }
}

static void write_docs(struct store *s)
{
    for (struct map_walk w = map_walk_begin(&s->batch_docs); map_walk_next(&s->batch_docs, &w);) {
        const struct pending_doc *d = w.value;
        struct doc view = pending_doc_view(d);
        struct entry e = {.kind = d->is_removed ? ENTRY_REMOVE : ENTRY_PUT,
                          .doc_kind = view.kind,
                          .doc_id = view.id,
                          .owner = view.owner,
                          .version = view.version,
                          .bytes = view.body};
        /* A document that was made and removed in one batch has no version to remove. */
        if (e.version > 0) entry_write(&s->record, &e);
    }
}

static WEIR_MUST_CHECK enum weir_status write_journal(struct store *s, uint64_t *number)
{
    weir_buf_reset(&s->record);
    for (struct list_node *n = list_first(&s->batch_logs); n; n = list_next(&s->batch_logs, n))
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

static void add_news(struct store *s, size_t *n, const struct log *log, struct chunk *chunk,
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

static void publish_log(struct store *s, struct log *log, size_t *n_news)
{
    bool is_changed = log->chunk || log->next_sealed != log->is_sealed || is_made(log);
    bool is_new = !log->is_visible;
    if (is_made(log)) index_show(s, log);
    struct chunk *chunk = log->chunk;
    log->chunk = NULL;
    if (chunk) index_add_chunk(s, log, chunk);
    if (log->next_sealed && !log->is_sealed) {
        log->is_sealed = true;
        log->expires_ms = log->next_expires_ms;
        index_set_dirty(s, log);
    }
    if (log->next_dropped && log->is_visible) {
        index_drop(s, log);
        is_changed = true;
    }
    if (is_changed) add_news(s, n_news, log, chunk, is_new);
}

static void tell_news(struct store *s, size_t n)
{
    if (n > 0 && s->options.on_news) s->options.on_news(s->options.user, s->news, n);
    for (size_t i = 0; i < n; i++) chunk_unref(s->news[i].chunk);
}

static void publish(struct store *s, const struct batch *b, uint64_t number)
{
    size_t n_news = 0;
    struct map_walk w = map_walk_begin(&s->batch_docs);
    pthread_mutex_lock(&s->index_lock);
    for (struct list_node *n; (n = list_pop_front(&s->batch_logs));)
        publish_log(s, CONTAINER_OF(n, struct log, batch), &n_news);
    while (map_walk_next(&s->batch_docs, &w)) {
        struct pending_doc *d = map_take(&s->batch_docs, w.key);
        doc_cache_forget(&s->doc_cache, pending_doc_key(d));
        if (d->version > 0) index_put_doc(s, d);
        else mem_free(d);
    }
    if (number > 0) {
        s->visible_number = number;
        s->full_since_ns = 0; /* something was written: there is room */
    }
    s->stats.n_events += b->n_events;
    s->stats.event_bytes += b->n_bytes;
    bool is_full = s->pending_bytes >= s->options.pending_bytes / 2;
    if (is_full) pthread_cond_signal(&s->settle_wanted);
    pthread_mutex_unlock(&s->index_lock);
    tell_news(s, n_news);
}

/* The batch did not happen: the state ahead is the state that is. */
static void roll_back(struct store *s, struct batch *b, enum weir_status st)
{
    for (struct list_node *n; (n = list_pop_front(&s->batch_logs));) {
        struct log *log = CONTAINER_OF(n, struct log, batch);
        chunk_unref(log->chunk);
        log->chunk = NULL;
    }
    struct map_walk w = map_walk_begin(&s->batch_docs);
    while (map_walk_next(&s->batch_docs, &w)) mem_free(map_take(&s->batch_docs, w.key));
    for (struct commit *c = b->commits; c; c = c->next)
        c->result = (struct commit_result){.status = st};
}

/* ---- the thread ---- */

static void count(struct store_histogram *h, uint64_t value)
{
    unsigned i = 0;
    while (i + 1 < STORE_HISTOGRAM_BUCKETS && value > (uint64_t)1 << i) i++;
    h->counts[i]++;
    h->n++;
    h->sum += value;
}

static void count_batch(struct store *s, const struct batch *b)
{
    uint64_t now = clock_mono_ns(s->clock);
    pthread_mutex_lock(&s->index_lock);
    count(&s->stats.batch_commits, b->n_commits);
    s->stats.n_syncs++;
    for (struct commit *c = b->commits; c; c = c->next) {
        s->stats.n_commits++;
        if (c->result.status != WEIR_OK) s->stats.n_refused++;
        count(&s->stats.commit_us, (now - c->queued_ns) / 1000);
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
static void break_down(struct store *s, enum weir_status st)
{
    pthread_mutex_lock(&s->index_lock);
    s->broken = st;
    pthread_mutex_unlock(&s->index_lock);
}

/* Why nothing can be committed now: broken, or full and the settler cannot settle. */
static enum weir_status wait_for_room(struct store *s)
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
static enum weir_status judge(struct store *s, enum weir_status st)
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
static void put_back(struct store *s, struct batch *b, struct commit *last)
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
static void decide_all(struct store *s, struct batch *b)
{
    uint64_t n_bytes = 0;
    for (struct commit *c = b->commits; c; c = c->next) {
        decide(s, c);
        if (c->result.status == WEIR_OK) n_bytes += c->len;
        if (n_bytes >= s->options.segment_bytes / 4) put_back(s, b, c);
    }
}

static void run_batch(struct store *s, struct batch *b)
{
    uint64_t number = 0;
    index_trim(s);
    enum weir_status st = wait_for_room(s);
    if (st == WEIR_OK) {
        decide_all(s, b);
        st = fill_chunks(s, b);
        if (st == WEIR_OK) st = write_journal(s, &number);
        if (st != WEIR_OK) st = judge(s, st);
    }
    if (st == WEIR_OK) publish(s, b, number);
    else roll_back(s, b, st);
    count_batch(s, b);
    tell(b->commits);
}

/* Under the queue's lock: how much of the queue makes a batch. */
static void take_batch(struct store *s, struct batch *b)
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
static bool next_batch(struct store *s, struct batch *b)
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
static void sync_late(struct store *s, bool is_end)
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
    struct store *s = store;
    for (;;) {
        struct batch b = {0};
        if (!next_batch(s, &b)) break;
        if (b.commits) run_batch(s, &b);
        sync_late(s, false);
    }
    sync_late(s, true);
    return NULL;
}
