/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of workflows share: a store with an engine, runs, and what became of them. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "flow/flow.h"
#include "t.h"

enum { DESK_WORKFLOWS = 4 };

struct desk {
    struct store *store;
    struct flow *flow;
    const struct clock *clock;
    unsigned n_threads, max_runs;
    uint64_t segment_bytes; /* of the store's journal */
    const struct workflow *workflows[DESK_WORKFLOWS];
    size_t n_workflows;
};

/* ---- what others wait for ---- */

static pthread_mutex_t desk_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t desk_changed = PTHREAD_COND_INITIALIZER;

static inline void desk_tell(void)
{
    pthread_mutex_lock(&desk_lock);
    pthread_cond_broadcast(&desk_changed);
    pthread_mutex_unlock(&desk_lock);
}

/* Waits until a counter that is followed by desk_tell() reaches n. */
static inline void desk_wait(atomic_uint *counter, unsigned n)
{
    pthread_mutex_lock(&desk_lock);
    while (atomic_load(counter) < n) pthread_cond_wait(&desk_changed, &desk_lock);
    pthread_mutex_unlock(&desk_lock);
}

static inline void desk_count(atomic_uint *counter)
{
    atomic_fetch_add(counter, 1);
    desk_tell();
}

/* Every log that was sealed; runs end by that. */
static atomic_uint desk_ended;

static inline void desk_news(void *user, const struct store_news *news, size_t n)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        if (news[i].is_sealed) desk_count(&desk_ended);
}

/* ---- opening and closing ---- */

static inline void desk_open_store(struct desk *d, const char *folder)
{
    struct store_error error = {{0}};
    const struct store_options options = {.on_news = desk_news,
                                          .clock = d->clock,
                                          .segment_bytes = d->segment_bytes,
                                          .pending_bytes = d->segment_bytes / 2};
    atomic_store(&desk_ended, 0);
    T_EQ(store_open(&d->store, folder, &options, &error), WEIR_OK);
}

static inline void desk_start(struct desk *d)
{
    const struct flow_options options = {.workflows = d->workflows,
                                         .n_workflows = d->n_workflows,
                                         .n_threads = d->n_threads,
                                         .max_runs = d->max_runs,
                                         .clock = d->clock};
    T_EQ(flow_new(&d->flow, d->store, &options), WEIR_OK);
    T_EQ(flow_start(d->flow), WEIR_OK);
}

static inline void desk_open(struct desk *d, const char *folder)
{
    desk_open_store(d, folder);
    desk_start(d);
}

static inline void desk_close(struct desk *d)
{
    flow_stop(d->flow, 10000);
    flow_free(d->flow);
    store_close(d->store);
    d->flow = NULL;
    d->store = NULL;
}

/* ---- runs ---- */

static inline enum weir_status desk_add(struct desk *d, const struct workflow *w, const char *id,
                                        const char *input)
{
    struct commit *c = commit_new(512);
    enum weir_status st = flow_add_run(c,
                                       &(struct flow_new_run){.workflow = w,
                                                              .id = weir_slice_of(id),
                                                              .owner = SLICE("somebody"),
                                                              .log = weir_slice_of(id),
                                                              .input = weir_slice_of(input)},
                                       0);
    if (st == WEIR_OK) return store_commit_wait(d->store, c).status;
    commit_free(c);
    return st;
}

static inline void desk_run(struct desk *d, const struct workflow *w, const char *id,
                            const char *input)
{
    T_EQ(desk_add(d, w, id, input), WEIR_OK);
    T_EQ(flow_begin(d->flow, weir_slice_of(id)), WEIR_OK);
}

struct desk_answer {
    atomic_uint n;
    enum weir_status status;
};

static inline void desk_on_done(void *user, const struct commit_result *result)
{
    struct desk_answer *a = user;
    a->status = result->status;
    desk_count(&a->n);
}

static inline enum weir_status desk_cancel(struct desk *d, const char *id)
{
    struct desk_answer a = {0};
    flow_cancel(d->flow, weir_slice_of(id), desk_on_done, &a);
    desk_wait(&a.n, 1);
    return a.status;
}

/* ---- how they begin and end: "begin", and "end" with a document that is new once ---- */

static inline void desk_on_begin(struct flow_step *s)
{
    flow_emit(s, "begin", SLICE("{}"));
}

static inline void desk_on_end(struct flow_step *s, const struct flow_end *end)
{
    char text[64];
    snprintf(text, sizeof text, "\"%s\"",
             end->failure ? weir_status_name(end->failure->code) : "ok");
    flow_emit(s, "end", weir_slice_of(text));
    flow_put(s, (struct doc_key){SLICE("result"), flow_id(s)}, DOC_MUST_BE_NEW,
             weir_slice_of(text));
}

/* A step that has paid for something. */
static inline void desk_pay(struct flow_step *s, double usd)
{
    flow_save(s, &(struct flow_save){
                     .key = {SLICE("bill"), flow_id(s)}, .body = SLICE("{}"), .cost_usd = usd});
}

/* ---- what became of them ---- */

/* The types of all events, one behind the other with a space; ids are checked to be gapless. */
static inline const char *desk_events(struct desk *d, const char *log, bool *is_sealed)
{
    static char text[1 << 16];
    struct log_read read;
    uint64_t id = 1;
    size_t len = 0;
    text[0] = '\0';
    for (;;) {
        store_read(d->store, weir_slice_of(log), id, 1 << 20, &read);
        T_EQ(read.status, WEIR_OK);
        if (is_sealed) *is_sealed = read.state.is_sealed;
        if (read.n_chunks == 0) break;
        for (unsigned i = 0; i < read.n_chunks; i++) {
            struct weir_slice bytes = slice_of(read.chunks[i]->bytes, read.chunks[i]->len);
            while (bytes.len > 0) {
                char want[32];
                int n = snprintf(want, sizeof want, "id: %llu\nevent: ", (unsigned long long)id++);
                T_EQ_SLICE(slice_of(bytes.ptr, (size_t)n), slice_of(want, (size_t)n));
                const char *type = bytes.ptr + n;
                const char *end = memchr(type, '\n', bytes.len - (size_t)n);
                len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s", len > 0 ? " " : "",
                                        (int)(end - type), type);
                bytes = slice_from(bytes, chunk_event_length(bytes));
            }
            chunk_unref(read.chunks[i]);
        }
    }
    return text;
}

static inline enum weir_status desk_count_doc(void *n, const struct doc *doc)
{
    (void)doc;
    ++*(size_t *)n;
    return WEIR_OK;
}

static inline size_t desk_n_docs(struct desk *d, const char *kind)
{
    size_t n = 0;
    struct doc_query query = {.kind = weir_slice_of(kind), .limit = SIZE_MAX};
    T_EQ(store_doc_list(d->store, &query, desk_count_doc, &n), WEIR_OK);
    return n;
}

/* "name:attempts=output" of each step, with "!code" for one that failed; with spaces. */
static inline enum weir_status desk_say_step(void *user, const struct flow_step_info *info)
{
    char *text = user;
    size_t len = strlen(text);
    snprintf(text + len, 4096 - len, "%s%s:%u=%.*s%s%s", len > 0 ? " " : "", info->name,
             info->attempts, (int)info->output.len, info->output.len > 0 ? info->output.ptr : "",
             info->failure ? "!" : "", info->failure ? weir_status_name(info->failure->code) : "");
    return WEIR_OK;
}

static inline const char *desk_steps(struct desk *d, const char *id)
{
    static char text[4096];
    text[0] = '\0';
    T_EQ(flow_each_step(d->store, weir_slice_of(id), desk_say_step, text), WEIR_OK);
    return text;
}
