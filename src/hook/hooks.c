/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of the subscriptions and its rounds. See hooks.h.
 *
 * A round takes all that gathered: news of streams, deliveries that came back, requests, timers.
 * The order matters: news first, for whoever asks after an append has been acknowledged must find
 * it; then everything that changed is written at once; then answers and deliveries go out.
 */
#include "hook/hooks.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "hook/hooks_impl.h"

enum {
    NS_PER_MS = 1000 * 1000,
    IDLE_MS = 60 * 60 * 1000, /* longest sleep; something wakes it before */
    SCAN_AGAIN_MS = 5000,     /* after the store could not write or read */
    MAX_TRIES = 64,           /* of a request, when other nodes are faster; then WEIR_BUSY */
};

const char subscription_kind[] = "subscription";

static const char stream_prefix[] = "s/";

static struct hooks *checked(struct hooks *h)
{
    CHECK(h->magic == HOOKS_MAGIC);
    return h;
}

/* ---- the tables ---- */

int64_t hooks_now_ms(const struct hooks *h)
{
    uint64_t passed_ns = clock_mono_ns(h->options.clock) - h->mono_ns;
    return h->wall_ms + (int64_t)(passed_ns / NS_PER_MS);
}

struct subscription *hooks_find(const struct hooks *h, struct weir_slice id)
{
    return map_get(&h->subscriptions, id);
}

void hooks_touch(struct hooks *h, struct subscription *s, bool is_changed)
{
    s->is_dirty |= is_changed;
    if (!list_is_linked(&s->touched)) list_push_back(&h->touched, &s->touched);
}

enum weir_status hooks_add(struct hooks *h, struct subscription *s)
{
    enum weir_status st = map_put(&h->subscriptions, weir_slice_of(s->id), s);
    if (st == WEIR_OK) atomic_store(&h->n_wanted, (unsigned)h->subscriptions.len);
    return st;
}

void hooks_forget(struct hooks *h, struct subscription *s)
{
    if (hooks_find(h, weir_slice_of(s->id)) == s) map_take(&h->subscriptions, weir_slice_of(s->id));
    atomic_store(&h->n_wanted, (unsigned)h->subscriptions.len);
    if (heap_is_linked(&s->timer)) heap_remove(&h->timers, &s->timer);
    if (list_is_linked(&s->touched)) list_remove(&s->touched);
    list_push_back(&h->dead, &s->touched);
}

static void free_dead(struct hooks *h)
{
    struct list_node *node;
    while ((node = list_pop_front(&h->dead)))
        subscription_free(CONTAINER_OF(node, struct subscription, touched));
}

bool hooks_wake_if_due(struct hooks *h, struct subscription *s)
{
    if (s->is_removed || !subscription_pending(s)) return false;
    if (!subscription_is_idle(s)) return true;
    subscription_wake(s);
    atomic_fetch_add(&h->n_wakes, 1);
    hooks_touch(h, s, true);
    return true;
}

enum weir_status hooks_need_signer(struct hooks *h)
{
    if (h->has_signer) return WEIR_OK;
    enum weir_status st = signer_open(&h->signer, h->options.folder);
    h->has_signer = st == WEIR_OK;
    return st;
}

/* ---- what others bring ---- */

static bool names_stream(struct weir_slice log)
{
    size_t len = sizeof stream_prefix - 1;
    return log.len > len && memcmp(log.ptr, stream_prefix, len) == 0;
}

/* The note of a stream, made if need be; NULL when there is no room. */
static struct note *note_of(struct hooks *h, struct weir_slice path)
{
    struct note *note = map_get(&h->notes, path);
    if (note) return note;
    note = mem_zalloc(sizeof *note + path.len);
    if (!note) return NULL;
    note->n_path = path.len;
    memcpy(note->path, path.ptr, path.len);
    if (map_put(&h->notes, slice_of(note->path, note->n_path), note) == WEIR_OK) return note;
    mem_free(note);
    return NULL;
}

static void take_news(struct hooks *h, const struct store_news *news)
{
    struct note *note = note_of(h, slice_from(news->log, sizeof stream_prefix - 1));
    if (!note) {
        h->is_overflown = true;
        return;
    }
    if (news->is_dropped || note->log_id != news->log_id) note->first = note->last = 0;
    note->was_dropped |= news->is_dropped;
    note->log_id = news->log_id;
    if (!news->chunk || news->is_dropped) return;
    if (note->first == 0) note->first = news->chunk->first;
    note->last = news->chunk->last;
}

void hooks_news(struct hooks *h, const struct store_news *news, size_t n)
{
    bool has_news = false;
    if (atomic_load(&checked(h)->n_wanted) == 0) return;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < n; i++) {
        if (!names_stream(news[i].log) || (!news[i].chunk && !news[i].is_dropped)) continue;
        if (news[i].log_id == 0) continue; /* news were lost, so all streams are looked at anyway */
        take_news(h, &news[i]);
        has_news = true;
    }
    if (has_news) pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

bool hooks_wants(struct hooks *h, struct weir_slice log)
{
    return atomic_load(&checked(h)->n_wanted) > 0 && names_stream(log);
}

enum weir_status hooks_ask(struct hooks *h, struct hooks_request *r)
{
    enum weir_status st = WEIR_OK;
    r->subscription = NULL;
    r->node = (struct list_node){0};
    r->failure = WEIR_OK;
    r->n_tries = 0;
    weir_buf_init(&r->answer, HOOKS_ANSWER_BYTES);
    pthread_mutex_lock(&checked(h)->lock);
    if (h->is_stopping) st = WEIR_SHUTDOWN;
    else if (h->n_requests >= HOOKS_MAX_REQUESTS) st = WEIR_BUSY;
    if (st == WEIR_OK) {
        list_push_back(&h->requests, &r->node);
        h->n_requests++;
        pthread_cond_signal(&h->changed);
    }
    pthread_mutex_unlock(&h->lock);
    if (st == WEIR_BUSY) atomic_fetch_add(&h->n_refused, 1);
    return st;
}

/* ---- rounds ---- */

static uint64_t wait_ms(const struct hooks *h)
{
    const struct heap_node *next = heap_peek(&h->timers);
    int64_t now_ms = hooks_now_ms(h);
    int64_t due_ms = now_ms + IDLE_MS;
    if (!list_is_empty(&h->touched)) return 0;
    if (next && (int64_t)next->due < due_ms) due_ms = (int64_t)next->due;
    if (h->scan_at_ms > 0 && h->scan_at_ms < due_ms) due_ms = h->scan_at_ms;
    if (h->look_at_ms > 0 && h->look_at_ms < due_ms) due_ms = h->look_at_ms;
    return due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0;
}

static bool has_work(const struct hooks *h)
{
    return h->is_stopping || h->is_overflown || h->notes.len > 0 || !list_is_empty(&h->requests) ||
           !list_is_empty(&h->fetched) || h->stale.len > 0 || h->is_all_stale || h->has_lead_news;
}

static void take_work(struct hooks *h, struct work *w)
{
    list_init(&w->requests);
    list_init(&w->answered);
    list_init(&w->fetched);
    uint64_t in_ms = wait_ms(h);
    struct timespec deadline = clock_deadline(in_ms);
    int error = in_ms > 0 ? 0 : 1;
    pthread_mutex_lock(&h->lock);
    while (!has_work(h) && error == 0)
        error = pthread_cond_timedwait(&h->changed, &h->lock, &deadline);
    list_move_all(&h->requests, &w->requests);
    list_move_all(&h->fetched, &w->fetched);
    h->n_requests = 0;
    w->notes = h->notes;
    map_init_borrowing(&h->notes, HOOKS_MAX_NOTES);
    w->is_overflown = h->is_overflown;
    h->is_overflown = false;
    w->is_last = h->is_stopping;
    nodes_take(h, w);
    pthread_mutex_unlock(&h->lock);
}

static void free_notes(struct map *notes)
{
    for (struct map_walk walk = map_walk_begin(notes); map_walk_next(notes, &walk);)
        mem_free(walk.value);
    map_fini(notes);
}

static void look_at_streams(struct hooks *h, struct work *w)
{
    for (struct map_walk walk = map_walk_begin(&w->notes); map_walk_next(&w->notes, &walk);)
        watch_note(h, walk.value);
    free_notes(&w->notes);
    if (w->is_overflown) h->scan_at_ms = hooks_now_ms(h);
    if (h->scan_at_ms == 0 || h->scan_at_ms > hooks_now_ms(h)) return;
    h->scan_at_ms = 0;
    atomic_fetch_add(&h->n_scans, 1);
    if (watch_scan(h) != WEIR_OK) h->scan_at_ms = hooks_now_ms(h) + SCAN_AGAIN_MS;
}

static void run_requests(struct hooks *h, struct work *w)
{
    struct list_node *node;
    while ((node = list_pop_front(&w->requests))) {
        struct hooks_request *r = CONTAINER_OF(node, struct hooks_request, node);
        if (request_run(h, r)) {
            list_push_back(&w->answered, node);
            continue;
        }
        /* It and all behind it are for the next round, in their order. */
        list_push_front(&w->requests, node);
        break;
    }
    pthread_mutex_lock(&h->lock);
    for (; (node = list_last(&w->requests)); h->n_requests++) {
        list_remove(node);
        list_push_front(&h->requests, node);
    }
    pthread_mutex_unlock(&h->lock);
}

static void run_timers(struct hooks *h)
{
    struct heap_node *node;
    int64_t now_ms = hooks_now_ms(h);
    while ((node = heap_peek(&h->timers)) && (int64_t)node->due <= now_ms) {
        struct subscription *s = CONTAINER_OF(node, struct subscription, timer);
        heap_remove(&h->timers, node);
        bool is_over = subscription_lease_is_over(s, now_ms);
        if (is_over) subscription_end(s);
        hooks_touch(h, s, is_over);
    }
}

static void set_timer(struct hooks *h, struct subscription *s)
{
    int64_t due_ms = subscription_due_ms(s);
    if (heap_is_linked(&s->timer)) heap_remove(&h->timers, &s->timer);
    if (due_ms == 0 || s->delivery || !h->leads) return; /* a delivery comes back by itself */
    if (heap_push(&h->timers, &s->timer, (uint64_t)due_ms) != WEIR_OK)
        h->scan_at_ms = hooks_now_ms(h) + SCAN_AGAIN_MS;
}

/* Another node has written it meanwhile. */
static bool was_faster(const struct hooks *h, enum weir_status st)
{
    return h->is_shared && (st == WEIR_CONFLICT || st == WEIR_EXISTS || st == WEIR_NOT_FOUND);
}

/* It was taken from its document in this round, after all that was due had been woken. */
static bool is_for_next_round(const struct hooks *h, const struct subscription *s)
{
    return h->leads && (s->is_dirty || (subscription_is_idle(s) && subscription_pending(s)));
}

/* What is durable has its consequences; the rest is as the store has it. */
static void settle(struct hooks *h)
{
    struct list_node *node;
    struct list next;
    list_init(&next);
    while ((node = list_pop_front(&h->touched))) {
        struct subscription *s = CONTAINER_OF(node, struct subscription, touched);
        /* What is not known is neither delivered nor waited for. */
        if (was_faster(h, s->written) || s->version == VERSION_UNKNOWN) {
            nodes_give_way(h, s);
        } else if (s->written != WEIR_OK) {
            h->scan_at_ms = hooks_now_ms(h) + SCAN_AGAIN_MS;
            write_reload(h, s);
        } else if (s->is_removed) {
            deliver_abort(h, s);
            hooks_forget(h, s);
        } else {
            bool is_due = h->leads && subscription_wants_delivery(s, hooks_now_ms(h));
            if (is_due) deliver_start(h, s);
            set_timer(h, s);
            if (is_for_next_round(h, s)) list_push_back(&next, &s->touched);
        }
    }
    list_move_all(&next, &h->touched);
}

/* It is run again, on what the other has written. */
static void ask_again(struct hooks *h, struct hooks_request *r)
{
    r->n_tries++;
    r->failure = WEIR_OK;
    r->subscription = NULL;
    weir_buf_reset(&r->answer);
    pthread_mutex_lock(&h->lock);
    list_push_back(&h->requests, &r->node);
    h->n_requests++;
    pthread_mutex_unlock(&h->lock);
}

static void answer_all(struct hooks *h, struct list *answered)
{
    struct list_node *node;
    while ((node = list_pop_front(answered))) {
        struct hooks_request *r = CONTAINER_OF(node, struct hooks_request, node);
        enum weir_status st = r->subscription ? r->subscription->written : WEIR_OK;
        if (was_faster(h, st) && r->n_tries < MAX_TRIES) {
            ask_again(h, r);
            continue;
        }
        if (was_faster(h, st)) st = WEIR_BUSY;
        if (r->failure == WEIR_OK) r->failure = st;
        if (r->failure == WEIR_OK) r->failure = weir_buf_status(&r->answer);
        r->subscription = NULL;
        r->done(r);
    }
}

static void run_round(struct hooks *h, struct work *w)
{
    struct list_node *node;
    nodes_run(h, w);
    look_at_streams(h, w);
    while ((node = list_pop_front(&w->fetched)))
        deliver_finish(h, CONTAINER_OF(node, struct delivery, node));
    run_requests(h, w);
    run_timers(h);
    for (node = list_first(&h->touched); node && h->leads; node = list_next(&h->touched, node))
        (void)hooks_wake_if_due(h, CONTAINER_OF(node, struct subscription, touched));
    write_touched(h);
    settle(h);
    answer_all(h, &w->answered);
    free_dead(h);
}

/* A request that had to wait for the next round gets one. */
static bool has_requests(struct hooks *h)
{
    pthread_mutex_lock(&h->lock);
    bool has = !list_is_empty(&h->requests);
    pthread_mutex_unlock(&h->lock);
    return has;
}

static void *run(void *user)
{
    struct hooks *h = user;
    struct work w;
    do {
        take_work(h, &w);
        run_round(h, &w);
    } while (!w.is_last || has_requests(h));
    return NULL;
}

/* ---- life ---- */

static enum weir_status load_one(void *user, const struct doc *doc)
{
    struct hooks *h = user;
    struct subscription *s = subscription_read(doc->id, doc->owner, doc->body);
    if (!s) return WEIR_CORRUPT;
    s->version = doc->version;
    subscription_resume(s, hooks_now_ms(h));
    enum weir_status st = hooks_add(h, s);
    if (st != WEIR_OK) subscription_free(s);
    return st;
}

static WEIR_MUST_CHECK enum weir_status load_all(struct hooks *h)
{
    const struct doc_query query = {.kind = weir_slice_of(subscription_kind),
                                    .limit = HOOKS_MAX_SUBSCRIPTIONS};
    enum weir_status st = store_doc_list(h->store, &query, load_one, h);
    if (st != WEIR_OK) return st;
    /* What happened to the streams since is not known; the first round finds out. */
    if (h->subscriptions.len > 0) h->scan_at_ms = hooks_now_ms(h);
    return WEIR_OK;
}

static void init_lock(struct hooks *h)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&h->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

enum weir_status hooks_open(struct hooks **out, struct store *store,
                            const struct hooks_options *options)
{
    struct hooks *h = mem_zalloc(sizeof *h);
    if (!h) return WEIR_NOMEM;
    h->magic = HOOKS_MAGIC;
    h->options = *options;
    h->store = store;
    h->is_shared = options->is_shared || store_is_shared(store);
    h->leads = !h->is_shared;
    nodes_init(h);
    h->wall_ms = clock_wall_ms(options->clock);
    h->mono_ns = clock_mono_ns(options->clock);
    init_lock(h);
    list_init(&h->requests);
    list_init(&h->fetched);
    list_init(&h->touched);
    list_init(&h->dead);
    map_init_borrowing(&h->notes, HOOKS_MAX_NOTES);
    map_init(&h->subscriptions, HOOKS_MAX_SUBSCRIPTIONS);
    heap_init(&h->timers, HOOKS_MAX_SUBSCRIPTIONS);
    enum weir_status st = load_all(h);
    if (st == WEIR_OK) *out = h;
    else hooks_free(h);
    return st;
}

enum weir_status hooks_start(struct hooks *h)
{
    h->is_started = pthread_create(&checked(h)->thread, NULL, run, h) == 0;
    return h->is_started ? WEIR_OK : WEIR_IO;
}

void hooks_stop(struct hooks *h)
{
    if (!h || !checked(h)->is_started) return;
    pthread_mutex_lock(&h->lock);
    h->is_stopping = true;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    h->is_started = false;
    fetcher_free(h->fetcher);
    h->fetcher = NULL;
}

void hooks_free(struct hooks *h)
{
    struct list_node *node;
    if (!h) return;
    hooks_stop(h);
    CHECK(list_is_empty(&h->requests));
    while ((node = list_pop_front(&h->fetched)))
        mem_free(CONTAINER_OF(node, struct delivery, node));
    struct map_walk walk = map_walk_begin(&h->subscriptions);
    while (map_walk_next(&h->subscriptions, &walk)) {
        struct subscription *s = walk.value;
        if (heap_is_linked(&s->timer)) heap_remove(&h->timers, &s->timer);
        if (list_is_linked(&s->touched)) list_remove(&s->touched);
        subscription_free(s);
    }
    map_fini(&h->subscriptions);
    heap_fini(&h->timers);
    free_notes(&h->notes);
    map_fini(&h->stale);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    explicit_bzero(&h->signer, sizeof h->signer);
    h->magic = 0;
    mem_free(h);
}

void hooks_stats(struct hooks *h, struct hooks_stats *out)
{
    *out = (struct hooks_stats){
        .n_subscriptions = atomic_load(&checked(h)->n_wanted),
        .n_wakes = atomic_load(&h->n_wakes),
        .n_deliveries = atomic_load(&h->n_deliveries),
        .n_failures = atomic_load(&h->n_failures),
        .n_refused = atomic_load(&h->n_refused),
        .n_unlinked = atomic_load(&h->n_unlinked),
        .n_scans = atomic_load(&h->n_scans),
    };
    pthread_mutex_lock(&h->lock);
    if (h->fetcher) fetcher_stats(h->fetcher, &out->fetches);
    pthread_mutex_unlock(&h->lock);
}
