/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store as others hold it: which engine keeps it, and all that is the same for every engine.
 */
#include "store/store.h"

#include <pthread.h>

#include "base/mem.h"
#include "base/slice.h"
#include "store/commit_impl.h"
#include "store/engine.h"

bool place_is_database(const char *place)
{
    return strncmp(place, "postgres://", 11) == 0 || strncmp(place, "postgresql://", 13) == 0;
}

enum weir_status store_open(struct store **out, const char *place,
                            const struct store_options *options, struct store_error *error)
{
    *out = NULL;
    if (error) error->text[0] = '\0';
    return place_is_database(place) ? pg_store_open(out, place, options, error)
                                    : embedded_open(out, place, options, error);
}

void store_close(struct store *s)
{
    if (s) s->engine->close(s);
}

bool store_is_shared(const struct store *s)
{
    return s->engine->is_shared;
}

/* ---- committing ---- */

void commit_run_add(struct commit_run *run, struct commit *c, commit_done_fn done, void *user)
{
    c->done = done;
    c->user = user;
    c->next = NULL;
    if (run->last) run->last->next = c;
    else run->first = c;
    run->last = c;
}

void store_commit_run(struct store *s, struct commit_run *run)
{
    s->engine->commit_run(s, run);
}

void store_commit(struct store *s, struct commit *c, commit_done_fn done, void *user)
{
    struct commit_run run = {0};
    commit_run_add(&run, c, done, user);
    store_commit_run(s, &run);
}

struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_done;
    struct commit_result result;
};

static void wake_waiting(void *user, const struct commit_result *result)
{
    struct waiting *w = user;
    pthread_mutex_lock(&w->lock);
    w->result = *result;
    w->is_done = true;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
}

struct commit_result store_commit_wait(struct store *s, struct commit *c)
{
    struct waiting w = {0};
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.ended, NULL);
    store_commit(s, c, wake_waiting, &w);
    pthread_mutex_lock(&w.lock);
    while (!w.is_done) pthread_cond_wait(&w.ended, &w.lock);
    pthread_mutex_unlock(&w.lock);
    pthread_cond_destroy(&w.ended);
    pthread_mutex_destroy(&w.lock);
    commit_free(c);
    return w.result;
}

enum weir_status commit_view_doc(struct commit_view *view, struct doc_key key, struct doc *out)
{
    *out = (struct doc){0};
    if (key.kind.len > STORE_NAME_BYTES || key.id.len > STORE_NAME_BYTES) return WEIR_NOT_FOUND;
    return view->s->engine->view_doc(view->s, key, out);
}

enum weir_status commit_view_log(struct commit_view *view, struct weir_slice log,
                                 struct log_state *out)
{
    *out = (struct log_state){0};
    return view->s->engine->view_log(view->s, log, out);
}

enum weir_status store_trim(struct store *s, struct weir_slice log, uint64_t before)
{
    return s->engine->trim(s, log, before);
}

/* ---- reading ---- */

void store_read(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                struct log_read *out)
{
    s->engine->read(s, log, from, max_bytes, out);
}

bool store_read_now(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                    struct log_read *out)
{
    return s->engine->read_now(s, log, from, max_bytes, out);
}

void store_read_later(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                      log_read_fn done, void *user)
{
    s->engine->read_later(s, log, from, max_bytes, done, user);
}

enum weir_status store_later(struct store *s, void (*work)(void *user), void *user)
{
    return s->engine->later(s, work, user);
}

enum weir_status store_doc_get(struct store *s, struct doc_key key, struct doc *out)
{
    *out = (struct doc){0};
    if (key.kind.len > STORE_NAME_BYTES || key.id.len > STORE_NAME_BYTES) return WEIR_NOT_FOUND;
    return s->engine->doc_get(s, key, out);
}

void doc_fini(struct doc *d)
{
    mem_free(d->memory);
    *d = (struct doc){0};
}

enum weir_status store_doc_list(struct store *s, const struct doc_query *query, doc_fn each,
                                void *user)
{
    return s->engine->doc_list(s, query, each, user);
}

enum weir_status store_search(struct store *s, const struct passage_query *query, passage_fn each,
                              void *user)
{
    return s->engine->search(s, query, each, user);
}

/* ---- looking after it ---- */

enum weir_status store_is_writable(struct store *s)
{
    return s->engine->is_writable(s);
}

int64_t store_wall_ms(struct store *s)
{
    return s->engine->wall_ms(s);
}

enum weir_status store_settle(struct store *s)
{
    return s->engine->settle(s);
}

enum weir_status store_backup(struct store *s, const char *path, struct store_error *error)
{
    if (error) error->text[0] = '\0';
    return s->engine->backup(s, path, error);
}

enum weir_status store_check(struct store *s, store_complaint_fn complain, void *user,
                             uint64_t *n_wrong)
{
    *n_wrong = 0;
    return s->engine->check(s, complain, user, n_wrong);
}

void store_stats(struct store *s, struct store_stats *out)
{
    s->engine->stats(s, out);
}

void store_histogram_add(struct store_histogram *h, uint64_t value)
{
    unsigned i = 0;
    while (i + 1 < STORE_HISTOGRAM_BUCKETS && value > (uint64_t)1 << i) i++;
    h->counts[i]++;
    h->n++;
    h->sum += value;
}
