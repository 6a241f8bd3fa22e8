/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between threads: the committer's, the store's readers', and the loop's.
 *
 * News are copied once for all fans and put into the inbox of each that has a tail at all;
 * chunks are only referenced. A fan that has tails but no subscribers is not woken: its news
 * wait until somebody comes. When more than FAN_INBOX_BYTES wait (IDLE_INBOX_BYTES without
 * subscribers), or memory runs out, the news are thrown away and the fan gets no more until
 * it has taken note; it asks the store then.
 *
 * A fan says that it has tails before it reads the log's state, and the store makes a commit
 * readable before it gives the news. So whoever finds `has_tails` false may leave the fan out:
 * the fan's read will see what the news were about.
 *
 * Locks: the hub's, then an inbox's. wake() is called under the inbox's lock, so that it is
 * not called after inbox_close().
 */
#include <string.h>

#include "base/mem.h"
#include "fan/fan_impl.h"

enum { FIRST_CAP = 16 };

/* ---- batches ---- */

static struct batch *batch_new(const struct store_news *news, size_t n)
{
    size_t size = sizeof(struct batch) + n * sizeof *news;
    size_t at = size;
    for (size_t i = 0; i < n; i++) size += news[i].log.len;
    struct batch *b = mem_alloc(size);
    if (!b) return NULL;
    atomic_init(&b->refs, 1);
    b->bytes = size;
    b->n = n;
    for (size_t i = 0; i < n; i++) {
        char *name = (char *)b + at;
        memcpy(name, news[i].log.ptr, news[i].log.len);
        at += news[i].log.len;
        b->news[i] = news[i];
        b->news[i].log.ptr = name;
        if (!news[i].chunk) continue;
        chunk_ref(news[i].chunk);
        b->bytes += chunk_cost(news[i].chunk);
    }
    return b;
}

void batch_unref(struct batch *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < b->n; i++) chunk_unref(b->news[i].chunk);
    mem_free(b);
}

/* ---- the inbox; the lock is held unless said otherwise ---- */

static void wake(struct inbox *in)
{
    if (in->is_woken || in->is_closed) return;
    in->is_woken = true;
    in->wake(in->user);
}

static void empty(struct inbox *in)
{
    for (size_t i = 0; i < in->n_batches; i++) batch_unref(in->batches[i]);
    in->n_batches = 0;
    in->bytes = 0;
}

static bool has_room(struct inbox *in, const struct batch *b)
{
    size_t max = in->is_watched ? FAN_INBOX_BYTES : IDLE_INBOX_BYTES;
    if (in->bytes + b->bytes > max) return false;
    if (in->n_batches < in->cap) return true;
    size_t cap = in->cap == 0 ? FIRST_CAP : in->cap * 2;
    struct batch **grown = mem_realloc(in->batches, cap * sizeof(struct batch *));
    if (!grown) return false;
    in->batches = grown;
    in->cap = cap;
    return true;
}

/* Without the lock. A batch of NULL is one for which there was no memory. */
static void put(struct inbox *in, struct batch *b)
{
    pthread_mutex_lock(&in->lock);
    if (!in->has_missed && b && has_room(in, b)) {
        atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
        in->batches[in->n_batches++] = b;
        in->bytes += b->bytes;
    } else {
        empty(in);
        in->n_missed += in->is_watched && !in->has_missed;
        in->has_missed = true;
        atomic_store(&in->has_tails, false);
    }
    if (in->is_watched) wake(in);
    pthread_mutex_unlock(&in->lock);
}

struct inbox *inbox_new(const struct fan_options *options)
{
    struct inbox *in = mem_zalloc(sizeof *in);
    if (!in) return NULL;
    pthread_mutex_init(&in->lock, NULL);
    in->wake = options->wake;
    in->user = options->user;
    return in;
}

static void inbox_free(struct inbox *in)
{
    pthread_mutex_destroy(&in->lock);
    mem_free(in->batches);
    mem_free(in);
}

void inbox_close(struct inbox *in)
{
    pthread_mutex_lock(&in->lock);
    in->is_closed = true;
    empty(in);
    struct fetch *done = in->done;
    in->done = NULL;
    bool is_last = in->n_flying == 0;
    pthread_mutex_unlock(&in->lock);
    while (done) {
        struct fetch *next = done->next_done;
        fetch_discard(done);
        done = next;
    }
    if (is_last) inbox_free(in);
}

void inbox_take(struct inbox *in, struct mail *mail, bool is_run)
{
    struct mail taken;
    pthread_mutex_lock(&in->lock);
    taken = (struct mail){.batches = in->batches, .n_batches = in->n_batches, .cap = in->cap};
    taken.done = in->done;
    taken.n_missed = in->n_missed;
    taken.has_missed = in->has_missed;
    if (in->has_missed) atomic_store(&in->has_tails, true); /* until it has none */
    in->batches = mail->batches;
    in->cap = mail->cap;
    in->n_batches = 0;
    in->bytes = 0;
    in->done = NULL;
    in->has_missed = false;
    if (is_run) in->is_woken = false;
    pthread_mutex_unlock(&in->lock);
    *mail = taken;
}

void inbox_set_watched(struct inbox *in, bool is_watched)
{
    pthread_mutex_lock(&in->lock);
    in->is_watched = is_watched;
    pthread_mutex_unlock(&in->lock);
}

void inbox_kick(struct inbox *in)
{
    pthread_mutex_lock(&in->lock);
    wake(in);
    pthread_mutex_unlock(&in->lock);
}

void inbox_begin_read(struct inbox *in)
{
    pthread_mutex_lock(&in->lock);
    in->n_flying++;
    pthread_mutex_unlock(&in->lock);
}

void inbox_end_read(struct inbox *in, struct fetch *fetch)
{
    pthread_mutex_lock(&in->lock);
    bool is_closed = in->is_closed;
    bool is_last = --in->n_flying == 0;
    if (!is_closed) {
        fetch->next_done = in->done;
        in->done = fetch;
        wake(in);
    }
    pthread_mutex_unlock(&in->lock);
    if (!is_closed) return;
    fetch_discard(fetch);
    if (is_last) inbox_free(in);
}

/* ---- the hub ---- */

struct hub *hub_new(void)
{
    struct hub *h = mem_zalloc(sizeof *h);
    if (!h) return NULL;
    pthread_mutex_init(&h->lock, NULL);
    list_init(&h->fans);
    return h;
}

void hub_free(struct hub *h)
{
    if (!h) return;
    CHECK(list_is_empty(&h->fans));
    interest_free(hub_interest(h));
    pthread_mutex_destroy(&h->lock);
    mem_free(h);
}

enum weir_status hub_share(struct hub *h)
{
    struct interest *i = interest_new();
    if (!i) return WEIR_NOMEM;
    CHECK(!hub_interest(h));
    atomic_store_explicit(&h->interest, i, memory_order_release);
    return WEIR_OK;
}

bool hub_wants_log(struct hub *h, struct weir_slice log)
{
    struct interest *i = hub_interest(h);
    return i && interest_has(i, log);
}

void hub_each_log(struct hub *h, unsigned part, store_log_fn each, void *user)
{
    struct interest *i = hub_interest(h);
    if (i) interest_each(i, part, each, user);
}

void hub_start(struct hub *h, struct store *store)
{
    h->store = store;
}

void hub_add(struct hub *h, struct fan *f)
{
    pthread_mutex_lock(&h->lock);
    list_push_back(&h->fans, &f->node);
    pthread_mutex_unlock(&h->lock);
}

void hub_remove(struct hub *h, struct fan *f)
{
    pthread_mutex_lock(&h->lock);
    list_remove(&f->node);
    pthread_mutex_unlock(&h->lock);
}

void hub_news(void *hub, const struct store_news *news, size_t n)
{
    struct hub *h = hub;
    struct batch *b = NULL;
    bool is_made = false;
    pthread_mutex_lock(&h->lock);
    for (struct list_node *i = list_first(&h->fans); i; i = list_next(&h->fans, i)) {
        struct inbox *in = CONTAINER_OF(i, struct fan, node)->inbox;
        if (!atomic_load(&in->has_tails)) continue;
        if (!is_made) b = batch_new(news, n);
        is_made = true;
        put(in, b);
    }
    pthread_mutex_unlock(&h->lock);
    batch_unref(b);
}
