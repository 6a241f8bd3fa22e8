/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of chats: its life, its ids, and the thread that looks after deadlines. */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "chat/chat_impl.h"

enum {
    USER_REPLIES = 3,
    MAX_USER_REPLIES = 1000,
    MAX_RUNS = 200000,
    IDLE_MS = 60 * 60 * 1000, /* longest sleep; something wakes it before */
};

static struct chats *checked(struct chats *c)
{
    CHECK(c->magic == CHATS_MAGIC);
    return c;
}

enum weir_status chats_next_id(struct chats *c, const char *prefix, char *out)
{
    struct ulid id;
    size_t len = strlen(prefix);
    pthread_mutex_lock(&c->id_lock);
    enum weir_status st = ulid_next(&c->ids, &id);
    pthread_mutex_unlock(&c->id_lock);
    if (st != WEIR_OK) return st;
    memcpy(out, prefix, len);
    ulid_format(out + len, id);
    return WEIR_OK;
}

/* ---- the timer ---- */

static uint64_t wait_ms(const struct chats *c, int64_t now_ms)
{
    const struct heap_node *next = heap_peek(&c->timers);
    uint64_t due = (uint64_t)now_ms + IDLE_MS;
    if (next && next->due < due) due = next->due;
    if (c->deletions_at > 0 && (uint64_t)c->deletions_at < due) due = (uint64_t)c->deletions_at;
    return due > (uint64_t)now_ms ? due - (uint64_t)now_ms : 0;
}

/* With the lock, which it gives up meanwhile. */
static void delete_left(struct chats *c)
{
    c->deletions_at = 0;
    pthread_mutex_unlock(&c->lock);
    enum weir_status st = chats_finish_deletions(c);
    if (st != WEIR_OK) chats_delete_later(c, st);
    pthread_mutex_lock(&c->lock);
}

static void *run_timer(void *chats)
{
    struct chats *c = chats;
    pthread_mutex_lock(&c->lock);
    while (!c->is_quitting) {
        int64_t now_ms = clock_wall_ms(c->options.clock);
        uint64_t in_ms = wait_ms(c, now_ms);
        if (in_ms == 0) {
            replies_fire(c, now_ms);
            if (c->deletions_at > 0 && c->deletions_at <= now_ms) delete_left(c);
            continue;
        }
        struct timespec at = clock_deadline(in_ms);
        (void)pthread_cond_timedwait(&c->due, &c->lock, &at);
    }
    while (c->n_expiring > 0) pthread_cond_wait(&c->due, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void stop_timer(struct chats *c)
{
    if (!c->has_timer_thread) return;
    pthread_mutex_lock(&c->lock);
    c->is_quitting = true;
    pthread_cond_signal(&c->due);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->timer_thread, NULL);
    c->has_timer_thread = false;
}

void chats_wake(struct chats *c)
{
    pthread_mutex_lock(&checked(c)->lock);
    pthread_cond_signal(&c->due);
    pthread_mutex_unlock(&c->lock);
    flow_wake(c->flow);
}

/* ---- life ---- */

/* Another node is gone, and may not have come to all that it was to remove. */
static void on_gone(void *chats)
{
    chats_delete_soon(chats);
}

static void set_options(struct chats *c, const struct chats_options *o)
{
    c->options = *o;
    if (c->options.user_replies == 0) c->options.user_replies = USER_REPLIES;
    if (c->options.user_replies > MAX_USER_REPLIES) c->options.user_replies = MAX_USER_REPLIES;
    if (c->options.grace_ms == 0) c->options.grace_ms = CHAT_GRACE_MS;
    if (c->options.decision_ms == 0) c->options.decision_ms = DECISION_MS;
    if (c->options.keep_ms == 0) c->options.keep_ms = CHAT_KEEP_MS;
    if (!c->options.clock) c->options.clock = &clock_system;
    c->is_shared = o->is_shared || store_is_shared(c->store);
    c->has_model = o->models && models_has(o->models, MODEL_MAIN);
    c->workflow = (struct workflow){.name = "reply",
                                    .steps = chat_steps,
                                    .n_steps = 1,
                                    .keep_ms = c->options.keep_ms,
                                    .user = c,
                                    .on_end = reply_on_end};
    c->host = (struct call_host){.models = o->models,
                                 .what = "reply",
                                 .max_usd = o->max_reply_usd,
                                 .text_type = "token",
                                 .put_text = reply_put_token,
                                 .ready = reply_ready,
                                 .is_by_number = true,
                                 .shown = reply_shown};
}

static void init_parts(struct chats *c)
{
    pthread_condattr_t attributes;
    call_host_init(&c->host);
    shelf_init(&c->shelf, c->store);
    pthread_mutex_init(&c->id_lock, NULL);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&c->due, &attributes);
    pthread_condattr_destroy(&attributes);
    ulid_source_init(&c->ids, c->options.clock);
    map_init(&c->replies, REPLIES_IN_MEMORY);
    map_init(&c->snapshots, REPLIES_IN_MEMORY);
    heap_init(&c->timers, REPLIES_IN_MEMORY);
    list_init(&c->attempts);
}

enum weir_status chats_new(struct chats **out, struct store *store, const struct chats_options *o)
{
    struct chats *c = mem_zalloc(sizeof *c);
    *out = NULL;
    if (!c) return WEIR_NOMEM;
    CHECK(o->policy && o->vault);
    c->magic = CHATS_MAGIC;
    c->store = store;
    set_options(c, o);
    init_parts(c);
    c->workflows[0] = &c->workflow;
    struct flow_options flow = {.workflows = c->workflows,
                                .n_workflows = 1,
                                .n_threads = c->options.n_threads,
                                .max_runs = MAX_RUNS,
                                .lease_ms = c->options.lease_ms,
                                .clock = c->options.clock,
                                .trace = c->options.trace,
                                .on_gone = on_gone,
                                .user = c};
    enum weir_status st = flow_new(&c->flow, store, &flow);
    if (st == WEIR_OK && pthread_create(&c->timer_thread, NULL, run_timer, c) != 0) st = WEIR_NOMEM;
    c->has_timer_thread = st == WEIR_OK;
    if (st == WEIR_OK) *out = c;
    else chats_free(c);
    return st;
}

/* What an earlier process left is read by nobody yet. */
static enum weir_status look_at_slot(void *user, const struct doc *doc)
{
    struct chats *c = user;
    unsigned slot = 0;
    size_t at = doc->id.len;
    while (at > 0 && doc->id.ptr[at - 1] != '/') at--;
    for (; at < doc->id.len && slot <= MAX_USER_REPLIES; at++)
        slot = 10 * slot + (unsigned)(doc->id.ptr[at] - '0') % 10;
    if (slot > c->n_slots && slot <= MAX_USER_REPLIES) c->n_slots = slot;
    /* At a shared store it may be another node's; a run that comes to us says so itself. */
    if (!c->is_shared && chat_is_message(doc->body)) reply_set_running(c, doc->body);
    return WEIR_OK;
}

enum weir_status chats_start(struct chats *c)
{
    struct doc_query slots = {.kind = SLICE("chat_slot"), .limit = SIZE_MAX};
    checked(c)->n_slots = c->options.user_replies;
    enum weir_status st = store_doc_list(c->store, &slots, look_at_slot, c);
    if (st == WEIR_OK) st = chats_finish_deletions(c);
    return st == WEIR_OK ? flow_start(c->flow) : st;
}

bool chats_drain(struct chats *c, unsigned grace_ms)
{
    return flow_drain(checked(c)->flow, grace_ms);
}

bool chats_are_given(struct chats *c)
{
    return flow_is_giving(checked(c)->flow);
}

void chats_stop(struct chats *c, unsigned grace_ms)
{
    /* Readers leave because of us: nobody is given up for that. */
    stop_timer(checked(c));
    flow_stop(c->flow, grace_ms);
    call_host_stop(&c->host);
}

void chats_free(struct chats *c)
{
    if (!c) return;
    stop_timer(checked(c));
    flow_free(c->flow);
    replies_forget_attempts(c);
    replies_forget_all(c);
    map_fini(&c->replies);
    map_fini(&c->snapshots);
    heap_fini(&c->timers);
    shelf_fini(&c->shelf);
    call_host_fini(&c->host);
    pthread_cond_destroy(&c->due);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->id_lock);
    c->magic = 0;
    mem_free(c);
}

/* ---- for others ---- */

void chats_begin(struct chats *c, struct weir_slice id)
{
    reply_set_running(checked(c), id);
    enum weir_status st = flow_begin(c->flow, id);
    if (st != WEIR_OK)
        TRACE(c->options.trace, TRACE_WARN, "chat", "waits for the next start",
              trace_str("message", id), trace_str("why", weir_slice_of(weir_status_text(st))));
}

void chats_cancel(struct chats *c, struct weir_slice message, commit_done_fn done, void *user)
{
    flow_cancel(checked(c)->flow, message, done, user);
}

void chats_data_changed(struct chats *c)
{
    atomic_fetch_add(&checked(c)->shelf.generation, 1);
}

void chats_stats(struct chats *c, struct chats_stats *out)
{
    flow_stats(checked(c)->flow, &out->runs);
    out->n_redacted = atomic_load(&c->n_redacted);
    out->n_blocked = atomic_load(&c->n_blocked);
    out->n_asked = atomic_load(&c->n_asked);
    out->n_timed_out = atomic_load(&c->n_timed_out);
    out->n_abandoned = atomic_load(&c->n_abandoned);
}
