/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/sweep.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "stream/stream.h"

struct sweep {
    struct store *store;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool must_stop;
};

/* A name or key that was found, in memory of its own. */
struct found {
    size_t len;
    char bytes[STORE_NAME_BYTES];
};

/* Some documents of one kind, and those of them that have to go. */
struct page {
    struct store *store;
    int64_t now_ms;
    size_t n_seen;
    struct found after; /* the last one that was looked at */
    size_t n_old;
    struct found old[SWEEP_DOCS];
};

static void remember(struct found *to, struct weir_slice id)
{
    CHECK(id.len <= sizeof to->bytes);
    to->len = id.len;
    memcpy(to->bytes, id.ptr, id.len);
}

static enum weir_status look_at_stream(void *user, const struct doc *doc)
{
    struct page *p = user;
    struct stream_record r;
    p->n_seen++;
    remember(&p->after, doc->id);
    if (stream_record_read(doc->body, &r) && !r.is_gone && record_is_expired(&r, p->now_ms))
        remember(&p->old[p->n_old++], doc->id);
    return WEIR_OK;
}

/* "LOG/PRODUCER", and in its body the stream's name. */
static enum weir_status look_at_producer(void *user, const struct doc *doc)
{
    struct page *p = user;
    struct producer_record producer;
    struct stream_log_text text;
    struct log_read read;
    p->n_seen++;
    remember(&p->after, doc->id);
    if (!producer_read(doc->body, &producer) || !stream_is_name(producer.stream)) return WEIR_OK;
    store_read(p->store, stream_log_name(&text, producer.stream), 1, 0, &read);
    if (read.status != WEIR_OK) return WEIR_OK;
    if (read.state.exists && producer_is_of(doc->id, read.state.log_id)) return WEIR_OK;
    remember(&p->old[p->n_old++], doc->id);
    return WEIR_OK;
}

static bool delete_stream(struct page *p, const struct found *name)
{
    struct commit *c = commit_new(RECORD_BYTES);
    struct stream_delete d = {
        .name = slice_of(name->bytes, name->len), .only_expired = true, .now_ms = p->now_ms};
    if (!c) return false;
    stream_delete_commit(c, &d);
    return store_commit_wait(p->store, c).status == WEIR_OK;
}

/* Nobody can have put it again: ids of logs are given once. */
static bool delete_producer(struct page *p, const struct found *id)
{
    struct commit *c = commit_new(STORE_NAME_BYTES);
    struct doc_key key = {slice_of(producer_kind, strlen(producer_kind)),
                          slice_of(id->bytes, id->len)};
    if (!c) return false;
    commit_remove(c, key, DOC_ANY_VERSION);
    return store_commit_wait(p->store, c).status == WEIR_OK;
}

/* Looks at the next documents of the kind; false at the end. */
static bool next_page(struct page *p, const char *kind, doc_fn look)
{
    struct doc_query query = {.kind = weir_slice_of(kind),
                              .after = slice_of(p->after.bytes, p->after.len),
                              .limit = SWEEP_DOCS};
    p->n_seen = p->n_old = 0;
    return store_doc_list(p->store, &query, look, p) == WEIR_OK && p->n_seen > 0;
}

struct kind {
    const char *name;
    doc_fn look;
    bool (*delete)(struct page *p, const struct found *id);
};

static const struct kind kinds[] = {
    {stream_kind, look_at_stream, delete_stream},
    {producer_kind, look_at_producer, delete_producer},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Goes on where the page is; *n_deleted grows. False when the walk is over. */
static bool sweep_page(struct page *p, const struct kind *kind, size_t *n_deleted)
{
    if (!next_page(p, kind->name, kind->look)) return false;
    for (size_t i = 0; i < p->n_old; i++) *n_deleted += kind->delete (p, &p->old[i]);
    return p->n_seen == SWEEP_DOCS;
}

static struct page *page_new(struct store *store)
{
    struct page *p = mem_zalloc(sizeof *p);
    if (p) p->store = store;
    return p;
}

size_t sweep_once(struct store *store, int64_t now_ms)
{
    size_t n_deleted = 0;
    struct page *p = page_new(store);
    if (!p) return 0;
    p->now_ms = now_ms;
    for (int i = 0; i < N_KINDS; i++) {
        p->after.len = 0;
        while (sweep_page(p, &kinds[i], &n_deleted)) continue;
    }
    mem_free(p);
    return n_deleted;
}

/* ---- the thread ---- */

/* False: stop. */
static bool wait_for(struct sweep *s, unsigned ms)
{
    struct timespec at = clock_deadline(ms);
    int timed_out = 0;
    pthread_mutex_lock(&s->lock);
    while (!s->must_stop && timed_out == 0)
        timed_out = pthread_cond_timedwait(&s->stopped, &s->lock, &at);
    bool goes_on = !s->must_stop;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

static void *sweep_run(void *sweep)
{
    struct sweep *s = sweep;
    struct page *p = page_new(s->store);
    size_t n_deleted = 0;
    unsigned kind = 0;
    unsigned pause_ms = SWEEP_ROUND_MS;
    while (p && wait_for(s, pause_ms)) {
        p->now_ms = store_wall_ms(s->store);
        pause_ms = SWEEP_PAUSE_MS;
        if (sweep_page(p, &kinds[kind], &n_deleted)) continue;
        p->after.len = 0;
        kind = (kind + 1) % N_KINDS;
        if (kind == 0) pause_ms = SWEEP_ROUND_MS;
    }
    mem_free(p);
    return NULL;
}

enum weir_status sweep_start(struct sweep **out, struct store *store)
{
    pthread_condattr_t attr;
    struct sweep *s = mem_zalloc(sizeof *s);
    *out = NULL;
    if (!s) return WEIR_NOMEM;
    s->store = store;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->stopped, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&s->thread, NULL, sweep_run, s) != 0) {
        pthread_cond_destroy(&s->stopped);
        pthread_mutex_destroy(&s->lock);
        mem_free(s);
        return WEIR_NOMEM;
    }
    *out = s;
    return WEIR_OK;
}

void sweep_stop(struct sweep *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->must_stop = true;
    pthread_cond_signal(&s->stopped);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->stopped);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}
