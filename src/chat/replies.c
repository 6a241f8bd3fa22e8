/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies in memory: those that run here, and those that somebody reads. One is forgotten when
 * nobody holds it. What is due for a reply is one moment at a time in the engine's heap: the end of
 * its grace time, the deadline of a decision, or being forgotten.
 *
 *   state      comes                     then
 *   running    the last reader leaves    grace_at is set; a reader clears it
 *   running    grace_at                  the run is cancelled, once
 *   waiting    decision_at               the deadline is committed; then, or answered before: it
 *                                        goes on
 *   ended      forget_at                 when the end is durable, the run's pin goes
 *   elsewhere  read_at                   if it has readers here, "chat_reader" is put anew
 *
 * At a shared store a reply may be read at another node than it runs at. That one puts a document
 * three times in each grace time, and the one where it runs looks whether that has changed before
 * it gives the reply up: so this takes between one and two grace times. A run that has gone to
 * another node is not ours to give up.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "chat/chat_impl.h"

enum { FORGET_MS = 5000 /* after the end, and between two looks whether that is durable */ };

/* ---- the table; all with the lock ---- */

static void set_due(struct chats *c, struct reply *r)
{
    uint64_t due = UINT64_MAX;
    int64_t times[] = {r->grace_at, r->decision_at, r->forget_at, r->read_at};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i] > 0 && (uint64_t)times[i] < due) due = (uint64_t)times[i];
    heap_move(&c->timers, &r->timer, due);
    if (heap_peek(&c->timers) == &r->timer) pthread_cond_signal(&c->due);
}

static struct reply *reply_new(struct chats *c, struct weir_slice message)
{
    struct reply *r = mem_zalloc(sizeof *r);
    if (!r) return NULL;
    CHECK(message.len < sizeof r->id);
    memcpy(r->id, message.ptr, message.len);
    if (heap_push(&c->timers, &r->timer, UINT64_MAX) != WEIR_OK) {
        mem_free(r);
        return NULL;
    }
    if (map_put(&c->replies, weir_slice_of(r->id), r) != WEIR_OK) {
        heap_remove(&c->timers, &r->timer);
        mem_free(r);
        return NULL;
    }
    pthread_mutex_init(&r->lock, NULL);
    transcript_init(&r->transcript);
    return r;
}

static void reply_free(struct chats *c, struct reply *r)
{
    if (r->values) values_unref_locked(c, r->values);
    heap_remove(&c->timers, &r->timer);
    transcript_fini(&r->transcript);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

static void unpin(struct chats *c, struct reply *r)
{
    CHECK(r->n_pins > 0);
    if (--r->n_pins > 0) return;
    (void)map_take(&c->replies, weir_slice_of(r->id));
    reply_free(c, r);
}

static struct reply *pin(struct chats *c, struct weir_slice message)
{
    struct reply *r = map_get(&c->replies, message);
    if (!r) r = reply_new(c, message);
    if (r) r->n_pins++;
    return r;
}

struct reply *reply_pin(struct chats *c, struct weir_slice message)
{
    pthread_mutex_lock(&c->lock);
    struct reply *r = pin(c, message);
    pthread_mutex_unlock(&c->lock);
    return r;
}

void reply_unpin(struct chats *c, struct reply *r)
{
    pthread_mutex_lock(&c->lock);
    unpin(c, r);
    pthread_mutex_unlock(&c->lock);
}

void reply_belongs(struct chats *c, struct reply *r, struct weir_slice conversation)
{
    CHECK(conversation.len < sizeof r->conversation);
    pthread_mutex_lock(&c->lock);
    memcpy(r->conversation, conversation.ptr, conversation.len);
    r->conversation[conversation.len] = 0;
    pthread_mutex_unlock(&c->lock);
}

void replies_forget_all(struct chats *c)
{
    struct map_walk w = map_walk_begin(&c->replies);
    while (map_walk_next(&c->replies, &w)) {
        struct reply *r = w.value;
        (void)map_take(&c->replies, weir_slice_of(r->id));
        reply_free(c, r);
    }
}

void replies_forget_values(struct chats *c, struct weir_slice conversation)
{
    pthread_mutex_lock(&c->lock);
    struct map_walk w = map_walk_begin(&c->replies);
    while (map_walk_next(&c->replies, &w)) {
        struct reply *r = w.value;
        if (!slice_eq(weir_slice_of(r->conversation), conversation)) continue;
        values_unref_locked(c, r->values);
        r->values = NULL;
    }
    pthread_mutex_unlock(&c->lock);
}

/* ---- running, and being read ---- */

static int64_t now(const struct chats *c)
{
    return clock_wall_ms(c->options.clock);
}

static void set_grace(struct chats *c, struct reply *r)
{
    bool is_alone = r->is_running && !r->has_ended && r->n_readers == 0;
    r->grace_at = is_alone ? now(c) + c->options.grace_ms : 0;
    set_due(c, r);
}

void reply_set_running(struct chats *c, struct weir_slice message)
{
    pthread_mutex_lock(&c->lock);
    struct reply *r = pin(c, message);
    if (r && r->is_running) unpin(c, r);
    else if (r) {
        r->is_running = true;
        set_grace(c, r);
    }
    pthread_mutex_unlock(&c->lock);
}

void reply_ended(struct chats *c, struct weir_slice message)
{
    pthread_mutex_lock(&c->lock);
    struct reply *r = map_get(&c->replies, message);
    if (r && r->is_running) {
        r->has_ended = true;
        r->grace_at = r->decision_at = 0;
        r->forget_at = now(c) + FORGET_MS;
        set_due(c, r);
    }
    pthread_mutex_unlock(&c->lock);
}

/* Others are to know that it is read here. */
static void begin_telling(struct chats *c, struct reply *r)
{
    if (c->is_shared && !r->is_running && r->read_at == 0) r->read_at = now(c);
}

void chats_readers(struct chats *c, struct weir_slice message, int change)
{
    pthread_mutex_lock(&c->lock);
    struct reply *r = change > 0 ? pin(c, message) : map_get(&c->replies, message);
    if (r && change > 0) r->n_readers++;
    /* One that there was no memory for is not counted when it leaves. */
    if (r && change < 0 && r->n_readers > 0) r->n_readers--;
    else if (change < 0) r = NULL;
    if (r && change > 0) begin_telling(c, r);
    if (r) set_grace(c, r);
    if (r && change < 0) unpin(c, r);
    pthread_mutex_unlock(&c->lock);
}

/* ---- waiting for a decision ---- */

void reply_wait(struct chats *c, struct reply *r, struct flow_step *s, const char *decision,
                int64_t deadline_ms)
{
    pthread_mutex_lock(&c->lock);
    CHECK(!r->waiter);
    r->waiter = s;
    memcpy(r->decision, decision, strlen(decision) + 1);
    r->decision_at = deadline_ms;
    set_due(c, r);
    pthread_mutex_unlock(&c->lock);
}

void reply_wake(struct chats *c, struct weir_slice message)
{
    struct flow_step *s = NULL;
    pthread_mutex_lock(&c->lock);
    struct reply *r = map_get(&c->replies, message);
    if (r) {
        s = r->waiter;
        r->waiter = NULL;
        r->decision_at = 0;
        set_due(c, r);
    }
    pthread_mutex_unlock(&c->lock);
    if (s) flow_part_resume(s, 0);
}

void chats_decided(struct chats *c, struct weir_slice message)
{
    reply_wake(c, message);
}

/* ---- what is due ---- */

/* A deadline on its way into the store. */
struct expiry {
    struct chats *chats;
    struct commit *commit;
    int64_t now_ms;
    char decision[DECISION_ID_BYTES];
    char message[CHAT_MESSAGE_LEN + 1];
};

static enum weir_status decide_expiry(void *user, struct commit_view *view, struct commit *c)
{
    const struct expiry *e = user;
    return decision_expire(weir_slice_of(e->decision), e->now_ms, view, c);
}

static void on_expired(void *user, const struct commit_result *result)
{
    struct expiry *e = user;
    struct chats *c = e->chats;
    enum weir_status st = result->status;
    if (st == WEIR_OK) {
        atomic_fetch_add(&c->n_timed_out, 1);
        decision_written(DECISION_TIMEOUT);
    }
    commit_free(e->commit);
    /* Answered before, or written now: it goes on. All else is tried again. */
    if (st == WEIR_OK || st == WEIR_NOT_FOUND) reply_wake(c, weir_slice_of(e->message));
    mem_free(e);
    pthread_mutex_lock(&c->lock);
    c->n_expiring--;
    pthread_cond_signal(&c->due);
    pthread_mutex_unlock(&c->lock);
}

/* With the lock, which it gives up meanwhile. */
static void expire(struct chats *c, struct reply *r, int64_t now_ms)
{
    enum { AGAIN_MS = 1000 };
    struct expiry *e = mem_zalloc(sizeof *e);
    struct commit *commit = e ? commit_new(0) : NULL;
    r->decision_at = now_ms + AGAIN_MS;
    set_due(c, r);
    if (!commit) {
        mem_free(e);
        return;
    }
    *e = (struct expiry){.chats = c, .commit = commit, .now_ms = now_ms};
    memcpy(e->decision, r->decision, sizeof e->decision);
    memcpy(e->message, r->id, sizeof e->message);
    c->n_expiring++;
    pthread_mutex_unlock(&c->lock);
    commit_decide(commit, false, decide_expiry, e);
    store_commit(c->store, commit, on_expired, e);
    pthread_mutex_lock(&c->lock);
}

/* Whether it was too late or not: it ends. */
static void on_cancelled(void *user, const struct commit_result *result)
{
    (void)user;
    (void)result;
}

/* With the lock, which it gives up meanwhile. */
static void abandon(struct chats *c, struct reply *r)
{
    char id[CHAT_MESSAGE_LEN + 1];
    memcpy(id, r->id, sizeof id);
    r->grace_at = 0;
    set_due(c, r);
    atomic_fetch_add(&c->n_abandoned, 1);
    pthread_mutex_unlock(&c->lock);
    chats_cancel(c, weir_slice_of(id), on_cancelled, NULL);
    pthread_mutex_lock(&c->lock);
}

/* ---- readers at other nodes ---- */

struct doc_key reader_key(struct weir_slice message)
{
    return (struct doc_key){SLICE("chat_reader"), message};
}

/* That a reply is read here, on its way into the store. */
struct telling {
    struct chats *chats;
    struct commit *commit;
    char message[CHAT_MESSAGE_LEN + 1];
};

/* WEIR_NOT_FOUND: it has ended, and nobody needs to know. */
static enum weir_status decide_telling(void *user, struct commit_view *view, struct commit *c)
{
    const struct telling *t = user;
    struct weir_slice message = weir_slice_of(t->message);
    enum weir_status st = flow_is_wanted(view, message);
    if (st == WEIR_OK)
        commit_put(c, reader_key(message), DOC_ANY_VERSION, (struct weir_slice){0}, SLICE("{}"));
    return st;
}

static void on_told(void *user, const struct commit_result *result)
{
    struct telling *t = user;
    struct chats *c = t->chats;
    pthread_mutex_lock(&c->lock);
    struct reply *r = map_get(&c->replies, weir_slice_of(t->message));
    if (r && (result->status == WEIR_NOT_FOUND || result->status == WEIR_CANCELLED)) {
        r->read_at = 0;
        set_due(c, r);
    }
    c->n_expiring--;
    pthread_cond_signal(&c->due);
    pthread_mutex_unlock(&c->lock);
    commit_free(t->commit);
    mem_free(t);
}

/* With the lock, which it gives up meanwhile. */
static void tell_read(struct chats *c, struct reply *r, int64_t now_ms)
{
    bool is_wanted = r->n_readers > 0 && !r->is_running;
    struct telling *t = is_wanted ? mem_zalloc(sizeof *t) : NULL;
    struct commit *commit = t ? commit_new(0) : NULL;
    r->read_at = is_wanted ? now_ms + c->options.grace_ms / 3 : 0;
    set_due(c, r);
    if (!commit) {
        mem_free(t);
        return;
    }
    *t = (struct telling){.chats = c, .commit = commit};
    memcpy(t->message, r->id, sizeof t->message);
    c->n_expiring++;
    pthread_mutex_unlock(&c->lock);
    commit_decide(commit, false, decide_telling, t);
    store_commit(c->store, commit, on_told, t);
    pthread_mutex_lock(&c->lock);
}

/* With the lock, which it gives up meanwhile; the run's pin keeps the reply. */
static bool is_read_elsewhere(struct chats *c, struct reply *r)
{
    struct doc doc;
    pthread_mutex_unlock(&c->lock);
    enum weir_status st = store_doc_get(c->store, reader_key(weir_slice_of(r->id)), &doc);
    int64_t version = st == WEIR_OK ? doc.version : 0;
    if (st == WEIR_OK) doc_fini(&doc);
    pthread_mutex_lock(&c->lock);
    /* What cannot be looked at now is looked at later. */
    bool is_read = version != r->told_version || (st != WEIR_OK && st != WEIR_NOT_FOUND);
    r->told_version = version;
    return is_read;
}

/* With the lock, which it gives up meanwhile. */
static void end_grace(struct chats *c, struct reply *r)
{
    if (c->is_shared && r->n_attempts == 0) {
        r->is_running = false;
        r->grace_at = 0;
        set_due(c, r);
        unpin(c, r);
    } else if (c->is_shared && is_read_elsewhere(c, r)) {
        set_grace(c, r);
    } else if (r->grace_at > 0 && r->grace_at <= now(c)) {
        abandon(c, r);
    }
}

/* ---- what is due, by the timer ---- */

/* Its log says so, and whoever needs it from now on finds it there. */
static bool is_durable_end(struct chats *c, const char *id)
{
    char log[CHAT_LOG_BYTES];
    struct log_read read;
    store_read(c->store, chat_log(log, weir_slice_of(id)), 1, 0, &read);
    return read.status == WEIR_OK && (read.state.is_sealed || !read.state.exists);
}

/* What was marked while the reply was under way. */
static void go_on_deleting(struct chats *c, const char *conversation)
{
    enum weir_status st = chats_finish_deletion(c, weir_slice_of(conversation));
    if (st != WEIR_OK) chats_delete_later(c, st);
}

/* With the lock, which it gives up meanwhile; the run's pin keeps the reply. */
static void forget(struct chats *c, struct reply *r, int64_t now_ms)
{
    r->forget_at = 0;
    pthread_mutex_unlock(&c->lock);
    bool is_over = is_durable_end(c, r->id);
    if (is_over && r->conversation[0]) go_on_deleting(c, r->conversation);
    pthread_mutex_lock(&c->lock);
    if (is_over && r->is_running) {
        r->is_running = false;
        set_due(c, r);
        unpin(c, r);
        return;
    }
    r->forget_at = now_ms + FORGET_MS;
    set_due(c, r);
}

static bool is_due(int64_t at, int64_t now_ms)
{
    return at > 0 && at <= now_ms;
}

void replies_fire(struct chats *c, int64_t now_ms)
{
    struct heap_node *node;
    while ((node = heap_peek(&c->timers)) && node->due <= (uint64_t)now_ms) {
        struct reply *r = CONTAINER_OF(node, struct reply, timer);
        if (is_due(r->forget_at, now_ms)) forget(c, r, now_ms);
        else if (is_due(r->decision_at, now_ms)) expire(c, r, now_ms);
        else if (is_due(r->grace_at, now_ms)) end_grace(c, r);
        else if (is_due(r->read_at, now_ms)) tell_read(c, r, now_ms);
        else set_due(c, r);
    }
}
