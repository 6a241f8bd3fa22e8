/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The committer of a store on PostgreSQL: one thread that turns what is queued into transactions,
 * all that has gathered meanwhile into one. See pg_impl.h for what makes that right.
 *
 *   1. decide    on what is remembered (ahead.c, pg_view.c)
 *   2. write     one group of statements, one round trip (pg_write.c)
 *   3. publish   what is remembered is as it is now; other nodes, news, every commit's `done`
 *
 * When something was not as it was seen, all that the batch saw is read again, and it is decided
 * again. A batch that is out of luck several times takes its turn alone: it holds a lock that all
 * others share while it reads, decides and writes.
 *
 * A database that is away is waited for, for as long as a commit may wait; and when it has been
 * away for longer than that, commits are refused at once until it is back.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_impl.h"

enum {
    LOCK_ROUND = 3, /* the round from which on a batch takes its turn alone */
    AWAY_POLL_MS = 50,
    TELL_AGAIN_MS = 60 * 1000, /* that it refuses what is written */
    GATHER_US = 2000,          /* from one batch to the next */
    GATHER_COMMITS = 8,        /* that the last one had at least */
};

static const char turn_sql[] = "SELECT pg_advisory_xact_lock($1::int, $2::int)::text,"
                               " set_config('idle_in_transaction_session_timeout', $3::text, true)";
static const char notify_sql[] = "SELECT pg_notify('weir', w) FROM unnest($1::text[]) AS w";

struct batch {
    struct commit *commits;
    size_t n_commits;
};

/* ---- the queue ---- */

static uint64_t now_ns(void)
{
    return clock_mono_ns(&clock_system);
}

/* Under the queue's lock, as the next two. */
static bool is_given_up(const struct pg_store *s, uint64_t now)
{
    return s->away_since_ns != 0 && now - s->away_since_ns > (uint64_t)PG_WAIT_MS * 1000000;
}

bool pg_commit_is_stuck(const struct pg_store *s, uint64_t now)
{
    return s->is_batching && now - s->batch_ns > (uint64_t)PG_WAIT_MS * 1000000;
}

static enum weir_status queue_up(struct pg_store *s, struct commit *c, uint64_t now)
{
    if (c->status != WEIR_OK) return c->status;
    if (c->len > s->options.segment_bytes / 2) return WEIR_LIMIT;
    if (s->is_closing) return WEIR_SHUTDOWN;
    if (is_given_up(s, now)) return WEIR_STORAGE;
    if (s->queued_bytes + commit_weight(c) > s->options.queue_bytes) return WEIR_BUSY;
    c->n_given = c->len;
    *s->queue_end = c;
    s->queue_end = &c->next;
    s->queued_bytes += commit_weight(c);
    s->n_queued++;
    return WEIR_OK;
}

void pg_commit_run(struct store *store, struct commit_run *run)
{
    struct pg_store *s = pg_store_of(store);
    struct commit *refused = NULL;
    struct commit *c = run->first;
    uint64_t now = now_ns();
    *run = (struct commit_run){0};
    pthread_mutex_lock(&s->queue_lock);
    while (c) {
        struct commit *next = c->next;
        c->next = NULL;
        c->queued_ns = now;
        enum weir_status st = queue_up(s, c, now);
        if (st != WEIR_OK) {
            c->result = (struct commit_result){.status = st};
            c->next = refused;
            refused = c;
        }
        c = next;
    }
    bool must_wake = (s->queue_first && s->committer_waits) ||
                     (s->committer_gathers && s->n_queued >= s->n_gathered);
    if (must_wake) s->committer_waits = s->committer_gathers = false;
    pthread_mutex_unlock(&s->queue_lock);
    if (must_wake) pthread_cond_signal(&s->queue_filled);
    while (refused) {
        c = refused;
        refused = c->next;
        c->done(c->user, &c->result);
    }
}

/* Those behind `last` wait for the next batch, in front of all others. */
static void put_back(struct pg_store *s, struct batch *b, struct commit *last)
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

/* Under the queue's lock: how much of the queue makes a batch. */
static void take_batch(struct pg_store *s, struct batch *b)
{
    uint64_t n_bytes = 0;
    struct commit **end = &s->queue_first;
    while (*end && n_bytes < PG_BATCH_BYTES) {
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
    s->batch_ns = now_ns();
    s->batch_commits = b->n_commits;
    s->is_batching = true;
}

/* ---- telling ---- */

static void count(struct pg_store *s, const struct commit *commits)
{
    uint64_t now = now_ns();
    uint64_t n = 0;
    pthread_mutex_lock(&s->stats_lock);
    for (const struct commit *c = commits; c; c = c->next) {
        s->stats.n_commits++;
        if (c->result.status != WEIR_OK) s->stats.n_refused++;
        store_histogram_add(&s->stats.commit_us, (now - c->queued_ns) / 1000);
        n++;
    }
    store_histogram_add(&s->stats.batch_commits, n);
    pthread_mutex_unlock(&s->stats_lock);
}

static void tell(struct pg_store *s, struct commit *commits)
{
    uint64_t n = 0;
    if (!commits) return;
    count(s, commits);
    while (commits) {
        struct commit *c = commits;
        commits = c->next;
        n++;
        c->done(c->user, &c->result); /* its maker has it again, and may have freed it */
    }
    pthread_mutex_lock(&s->queue_lock);
    s->n_ended += n;
    pthread_cond_broadcast(&s->some_ended);
    pthread_mutex_unlock(&s->queue_lock);
}

static void fail(struct pg_store *s, struct commit *commits, enum weir_status st)
{
    for (struct commit *c = commits; c; c = c->next)
        c->result = (struct commit_result){.status = st};
    tell(s, commits);
}

/* Takes those out of a list that have waited for too long, all when `is_end`. */
static struct commit *take_late(struct commit **list, bool is_end, uint64_t *n_bytes)
{
    uint64_t now = now_ns();
    struct commit *late = NULL;
    struct commit **end = &late;
    while (*list) {
        struct commit *c = *list;
        if (!is_end && now - c->queued_ns < (uint64_t)PG_WAIT_MS * 1000000) {
            list = &c->next;
            continue;
        }
        *list = c->next;
        c->next = NULL;
        *n_bytes += commit_weight(c);
        *end = c;
        end = &c->next;
    }
    return late;
}

static bool is_closing(struct pg_store *s)
{
    pthread_mutex_lock(&s->queue_lock);
    bool is = s->is_closing;
    pthread_mutex_unlock(&s->queue_lock);
    return is;
}

static void fail_late(struct pg_store *s)
{
    uint64_t n_bytes = 0;
    pthread_mutex_lock(&s->queue_lock);
    struct commit *late = take_late(&s->queue_first, s->is_closing, &n_bytes);
    s->queue_end = &s->queue_first;
    while (*s->queue_end) s->queue_end = &(*s->queue_end)->next;
    s->queued_bytes -= n_bytes;
    pthread_mutex_unlock(&s->queue_lock);
    fail(s, late, WEIR_STORAGE);
}

/* ---- publishing ---- */

static void add_news(struct pg_store *s, size_t *n, const struct store_news *news, unsigned cluster)
{
    if (*n == s->cap_news) {
        s->cap_news = s->cap_news > 0 ? s->cap_news * 2 : 64;
        s->news = mem_realloc(s->news, s->cap_news * sizeof *s->news);
        CHECK(s->news); /* it has happened: there is no way back */
    }
    s->news[(*n)++] = *news;
    struct chunk *chunk = news->chunk;
    struct pg_news_log log = {.name = news->log,
                              .log_id = news->log_id,
                              .cluster = cluster,
                              .first = chunk ? chunk->first : 0,
                              .last = chunk ? chunk->last : 0,
                              .is_made = news->is_made,
                              .is_sealed = news->is_sealed,
                              .is_dropped = news->is_dropped};
    pg_news_add_log(s->news_text, &log);
}

static void publish_log(struct pg_store *s, struct log *log, size_t *n)
{
    bool is_gone = log_is_unmade(log);
    bool is_new = !log->is_visible && !log->next_dropped;
    bool is_sealed = log->next_sealed && !log->is_sealed;
    struct chunk *chunk = log->chunk;
    log->chunk = NULL;
    if (chunk) log->last = chunk->last;
    log->is_visible = !log->next_dropped;
    log->is_sealed = log->next_sealed;
    log->expires_ms = log->next_expires_ms;
    struct store_news news = {.log = log_name(log),
                              .log_id = log->id,
                              .chunk = chunk,
                              .is_made = is_new,
                              .is_sealed = log->is_sealed,
                              .is_dropped = is_gone};
    if (chunk || is_gone || is_new || is_sealed) add_news(s, n, &news, log->cluster);
    if (log->is_visible) return;
    log->id = log->last = 0; /* one of this name that is made later gets a greater one */
    log->is_sealed = false;
    log->expires_ms = INT64_MAX;
}

static void publish_doc(struct pg_store *s, struct pg_doc *d)
{
    struct pending_doc *doc = map_take(&s->ahead.docs, pending_doc_key(d->doc));
    if (!doc) {
        if (d->doc->version == 0) d->is_believed = false; /* it is known by now not to be there */
        return;
    }
    if (doc->is_removed) doc->version = 0;
    doc->is_removed = false;
    bool is_same = doc->version == 0 && d->doc->version == 0;
    pg_cache_set_doc(s, d, doc);
    struct doc view = pending_doc_view(doc);
    if (!is_same) pg_news_add_doc(s->news_text, (struct doc_key){view.kind, view.id});
}

/* Its answer is taken before the next batch: nobody waits for it. */
static void notify(struct pg_store *s)
{
    struct weir_slice payloads[PG_NEWS_PARTS];
    unsigned n = pg_news_end(s->news_text);
    for (unsigned i = 0; i < n; i++) payloads[i] = pg_news_payload(s->news_text, i);
    pg_call(s->pg, notify_sql);
    pg_text_array(s->pg, payloads, n);
    pg_send(s->pg);
    pg_sync(s->pg);
}

/* Batches are told of without a gap, or others think that they have missed one. */
static void notify_nothing(struct pg_store *s, uint64_t number)
{
    pg_news_begin(s->news_text, weir_slice_of(s->writer), number);
    notify(s);
}

static void publish(struct pg_store *s, bool is_written)
{
    size_t n_news = 0;
    if (is_written) pg_news_begin(s->news_text, weir_slice_of(s->writer), s->batch_number);
    for (struct list_node *n; (n = list_pop_front(&s->ahead.logs));)
        publish_log(s, CONTAINER_OF(n, struct log, batch), &n_news);
    for (struct list_node *n = list_first(&s->batch_docs); n; n = list_next(&s->batch_docs, n))
        publish_doc(s, CONTAINER_OF(n, struct pg_doc, batch));
    pg_view_end(s);
    pthread_mutex_lock(&s->stats_lock);
    s->stats.n_events += s->ahead.n_events;
    s->stats.event_bytes += s->ahead.n_bytes;
    if (is_written) s->stats.n_syncs++;
    if (is_written) s->stats.n_settles++; /* the database has it */
    pthread_mutex_unlock(&s->stats_lock);
    if (is_written) notify(s);
    if (n_news > 0 && s->options.on_news) s->options.on_news(s->options.user, s->news, n_news);
    for (size_t i = 0; i < n_news; i++) chunk_unref(s->news[i].chunk);
}

/* ---- a batch ---- */

/* All in turn, up to what fits a transaction: what a decision adds is known only afterwards. */
static void decide_all(struct pg_store *s, struct batch *b)
{
    uint64_t n_bytes = 0;
    for (struct commit *c = b->commits; c; c = c->next) {
        c->len = c->n_given;
        c->status = WEIR_OK;
        ahead_decide(&s->ahead, c);
        if (s->trouble != WEIR_OK || s->is_stale) return;
        if (c->result.status == WEIR_OK) n_bytes += c->len;
        if (n_bytes >= PG_BATCH_BYTES || s->n_batch_keys >= s->max_keys) put_back(s, b, c);
    }
}

static void wait_a_moment(struct pg_store *s)
{
    struct timespec at = clock_deadline(AWAY_POLL_MS);
    pthread_mutex_lock(&s->queue_lock);
    pthread_cond_timedwait(&s->queue_filled, &s->queue_lock, &at);
    pthread_mutex_unlock(&s->queue_lock);
}

/* The batch may have happened. Nothing goes on before that is known. */
static WEIR_MUST_CHECK enum weir_status find_out(struct pg_store *s, uint64_t number,
                                                 bool *has_happened)
{
    uint64_t closing_ns = 0;
    for (;;) {
        enum weir_status st = pg_link_resolve(s, number, has_happened);
        if (st == WEIR_OK) break;
        fail_late(s);
        if (is_closing(s) && closing_ns == 0) closing_ns = now_ns();
        if (closing_ns != 0 && now_ns() - closing_ns > (uint64_t)PG_WAIT_MS * 1000000)
            return WEIR_STORAGE;
        wait_a_moment(s);
    }
    if (*has_happened) return WEIR_OK;
    notify_nothing(s, number);
    notify_nothing(s, number + 1);
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status take_turn(struct pg_store *s)
{
    static const char idle_ms[] = "3000"; /* so long we may be stopped while all others wait */
    enum weir_status st = pg_script(s->pg, "BEGIN");
    if (st != WEIR_OK) return st;
    pg_call(s->pg, turn_sql);
    pg_int(s->pg, PG_LOCKS);
    pg_int(s->pg, PG_LOCK_TURN);
    pg_text(s->pg, weir_slice_of(idle_ms));
    return pg_run(s->pg, NULL);
}

/* Decides and writes once. What was decided is still there afterwards. */
static WEIR_MUST_CHECK enum weir_status attempt(struct pg_store *s, struct batch *b, bool is_alone,
                                                bool *is_written)
{
    enum weir_status st = pg_take_all(s->pg); /* of the last notification */
    /* A connection that was lost meanwhile leaves nothing in doubt: nothing is sent there. Its end
     * may stand behind a last word. */
    st = pg_hear(s->pg);
    if (st == WEIR_OK) st = pg_hear(s->pg);
    if (st != WEIR_OK || pg_is_broken(s->pg)) return WEIR_STORAGE;
    st = is_alone ? take_turn(s) : WEIR_OK;
    if (st == WEIR_OK) st = pg_view_prefetch(s, b->commits);
    if (st != WEIR_OK) return st;
    s->trouble = WEIR_OK;
    s->is_stale = false;
    decide_all(s, b);
    if (s->trouble != WEIR_OK) return s->trouble;
    if (s->is_stale) return WEIR_CONFLICT;
    st = ahead_fill(&s->ahead, b->commits);
    return st == WEIR_OK ? pg_write(s, s->batch_number + 1, is_alone, is_written) : st;
}

/* WEIR_CONFLICT or WEIR_STORAGE: nothing has happened, and it may be tried again. */
static WEIR_MUST_CHECK enum weir_status try_batch(struct pg_store *s, struct batch *b,
                                                  bool is_alone)
{
    bool is_written = false;
    bool has_happened = false;
    uint64_t number = s->batch_number + 1;
    enum weir_status st = attempt(s, b, is_alone, &is_written);
    if (st == WEIR_OK) {
        has_happened = true;
        if (is_written) s->batch_number = number;
    } else if (pg_is_broken(s->pg)) {
        st = WEIR_STORAGE;
        pg_link_lose(s);
        if (is_written && find_out(s, number, &has_happened) == WEIR_OK && has_happened)
            st = WEIR_OK;
    } else if (is_alone) {
        enum weir_status st_back = pg_script(s->pg, "ROLLBACK");
        (void)st_back;
    }
    if (has_happened) publish(s, is_written);
    else pg_view_roll_back(s, st == WEIR_CONFLICT);
    return st;
}

void pg_tell_refusal(struct pg_store *s, enum weir_status st, const struct pg *by)
{
    char why[320];
    uint64_t now = now_ns();
    bool is_due =
        s->refusal_told_ns == 0 || now - s->refusal_told_ns > (uint64_t)TELL_AGAIN_MS * 1000000;
    if (!is_due || !s->options.on_refused) return;
    s->refusal_told_ns = now;
    const char *text = by ? pg_message(by) : "";
    snprintf(why, sizeof why, "%.256s", text[0] != 0 ? text : weir_status_text(st));
    s->options.on_refused(s->options.user, why);
}

/*
 * That something else is written says nothing: nodes renew documents at any time, and events may
 * be what is refused. So a refusal is forgotten by time alone.
 */
static void note_refusal(struct pg_store *s, enum weir_status st)
{
    pthread_mutex_lock(&s->queue_lock);
    s->refusal = st;
    s->refused_ns = now_ns();
    pthread_mutex_unlock(&s->queue_lock);
    pg_tell_refusal(s, st, s->pg);
}

/* Too many locks at once for the server, or it is short of something else. */
static void ease(struct pg_store *s)
{
    if (s->pg && strcmp(pg_state(s->pg), "53200") == 0 && s->max_keys > 1) s->max_keys /= 2;
}

/* Waits a moment for better times. False: no commit of the batch waits for them any more. */
static bool wait_for_better(struct pg_store *s, struct batch *b)
{
    uint64_t n_bytes = 0;
    ease(s);
    struct commit *late = take_late(&b->commits, false, &n_bytes);
    /* One that can be reached and takes too long; one that is away is known to be. */
    if (late && s->away_since_ns == 0) note_refusal(s, WEIR_STORAGE);
    fail(s, late, WEIR_STORAGE);
    fail_late(s);
    if (!b->commits) return false;
    if (!s->pg && pg_link_up(s) == WEIR_OK) return true;
    wait_a_moment(s);
    return true;
}

static WEIR_MUST_CHECK enum weir_status try_and_count(struct pg_store *s, struct batch *b,
                                                      bool is_alone)
{
    enum weir_status st = try_batch(s, b, is_alone);
    pthread_mutex_lock(&s->stats_lock);
    if (is_alone) s->stats.shared.n_alone++;
    if (st == WEIR_CONFLICT) s->stats.shared.n_conflicts++;
    pthread_mutex_unlock(&s->stats_lock);
    return st;
}

/* What has changed may be which databases take new logs. That it fails is found out by others. */
static void look_at_places(struct pg_store *s)
{
    if (!s->pg || pg_is_broken(s->pg) || pg_n_pending(s->pg) > 0) return;
    enum weir_status st = pg_clusters_refresh(&s->clusters, s->pg);
    (void)st;
}

/* Until it has happened, or nobody waits for it any more: WEIR_STORAGE without commits. */
static WEIR_MUST_CHECK enum weir_status insist(struct pg_store *s, struct batch *b)
{
    enum weir_status st = WEIR_STORAGE;
    for (unsigned round = 0; b->commits;) {
        if (s->pg) st = try_and_count(s, b, round >= LOCK_ROUND);
        if (st == WEIR_OK) break;
        if (st == WEIR_CONFLICT) look_at_places(s);
        if (st == WEIR_CONFLICT && round++ <= LOCK_ROUND) continue;
        if (st != WEIR_STORAGE && st != WEIR_CONFLICT) break;
        if (st == WEIR_CONFLICT) pg_link_lose(s); /* our row may be gone: connecting makes it */
        if (!wait_for_better(s, b)) return WEIR_STORAGE;
        round = 0;
    }
    return st;
}

/* Those who are told now may all come again; see has_gathered. */
static void expect_again(struct pg_store *s, const struct batch *b)
{
    pthread_mutex_lock(&s->queue_lock);
    s->n_gathered = s->n_queued + b->n_commits;
    pthread_mutex_unlock(&s->queue_lock);
}

static void run_batch(struct pg_store *s, struct batch *b)
{
    enum weir_status st = insist(s, b);
    s->wish.n_logs = s->wish.n_docs = 0; /* what was to be fetched may be forgotten next */
    if (!b->commits) return;
    /* What else can go wrong is the database's, and nothing has happened. */
    if (st != WEIR_OK && st != WEIR_NO_SPACE && st != WEIR_NOMEM) st = WEIR_STORAGE;
    if (st != WEIR_OK && st != WEIR_NOMEM) note_refusal(s, st);
    expect_again(s, b);
    if (st == WEIR_OK) tell(s, b->commits);
    else fail(s, b->commits, st);
}

/* ---- what other nodes have written ---- */

void pg_commit_hear(void *store, struct pg_heard *h)
{
    struct pg_store *s = store;
    h->next = NULL;
    pthread_mutex_lock(&s->queue_lock);
    *s->heard_end = h;
    s->heard_end = &h->next;
    bool must_wake = s->committer_waits || s->committer_gathers;
    s->committer_waits = false;
    pthread_mutex_unlock(&s->queue_lock);
    if (must_wake) pthread_cond_signal(&s->queue_filled);
}

/* Of the very log, and no older than what was told. */
static bool is_current(const struct log *log, const struct pg_heard_log *told)
{
    return log && log->is_known && log->is_visible && log->id == told->log_id &&
           log->last >= told->last && !told->is_dropped && (log->is_sealed || !told->is_sealed);
}

static void hear(struct pg_store *s, const struct pg_heard *h)
{
    const struct store_options *o = &s->options;
    if (h->is_everything) pg_cache_forget_all(s);
    for (size_t i = 0; i < h->n_logs; i++)
        if (!is_current(map_get(&s->logs, h->logs[i].name), &h->logs[i]))
            pg_cache_forget_log(s, h->logs[i].name);
    for (size_t i = 0; i < h->n_docs; i++) pg_cache_forget_doc(s, h->docs[i]);
    /* Documents first: whoever is shown an event may need one that was written before it. */
    if (h->is_everything && o->on_docs) o->on_docs(o->user, NULL, 0);
    else if (h->n_docs > 0 && o->on_docs) o->on_docs(o->user, h->docs, h->n_docs);
    if (h->n_news > 0 && o->on_news) o->on_news(o->user, h->news, h->n_news);
}

static void hear_all(struct pg_store *s)
{
    pthread_mutex_lock(&s->queue_lock);
    struct pg_heard *h = s->heard;
    s->heard = NULL;
    s->heard_end = &s->heard;
    pthread_mutex_unlock(&s->queue_lock);
    for (struct pg_heard *next; h; h = next) {
        next = h->next;
        hear(s, h);
        pg_heard_free(h);
    }
}

/* ---- the thread ---- */

/* False when there will be nothing to do any more. */
static bool wait_for_work(struct pg_store *s, bool is_up)
{
    pthread_mutex_lock(&s->queue_lock);
    if (!is_up && !s->is_closing) {
        struct timespec at = clock_deadline(AWAY_POLL_MS);
        pthread_cond_timedwait(&s->queue_filled, &s->queue_lock, &at);
    }
    while (is_up && !s->queue_first && !s->heard && !s->is_closing) {
        s->committer_waits = true;
        pthread_cond_wait(&s->queue_filled, &s->queue_lock);
    }
    s->committer_waits = false;
    bool goes_on = s->queue_first || !s->is_closing;
    pthread_mutex_unlock(&s->queue_lock);
    return goes_on;
}

/*
 * Under the queue's lock: whether the next batch may begin. A transaction costs the database about
 * as much as the events of a hundred streams do, so when many commits come a batch waits for more
 * of them: until some time after the last one began, or until there are as many as those that the
 * last one had may bring when they come again. Whoever is alone never waits, and what other nodes
 * have written comes first.
 */
static bool has_gathered(struct pg_store *s)
{
    uint64_t now = now_ns(), until = s->batch_ns + (uint64_t)GATHER_US * 1000;
    if (!s->queue_first || s->batch_commits < GATHER_COMMITS) return s->queue_first;
    s->committer_gathers = true;
    for (; now < until && s->n_queued < s->n_gathered && !s->heard && !s->is_closing;
         now = now_ns()) {
        struct timespec at = clock_deadline_us((until - now) / 1000);
        pthread_cond_timedwait(&s->queue_filled, &s->queue_lock, &at);
    }
    s->committer_gathers = false;
    return !s->heard;
}

void *pg_committer_run(void *store)
{
    struct pg_store *s = store;
    while (wait_for_work(s, s->pg != NULL)) {
        struct batch b = {0};
        hear_all(s);
        if (pg_link_up(s) != WEIR_OK) {
            fail_late(s);
            continue;
        }
        pg_cache_trim(s);
        pthread_mutex_lock(&s->queue_lock);
        if (has_gathered(s)) take_batch(s, &b);
        pthread_mutex_unlock(&s->queue_lock);
        if (b.commits) run_batch(s, &b);
        pthread_mutex_lock(&s->queue_lock);
        s->is_batching = false;
        pthread_mutex_unlock(&s->queue_lock);
    }
    hear_all(s);
    if (s->pg) {
        enum weir_status st = pg_take_all(s->pg);
        (void)st;
    }
    return NULL;
}
