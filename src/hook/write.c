/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making changes durable. All subscriptions of a round are written by commits of their own that
 * are handed over together, so they share one sync. The event in a wake stream is part of its
 * subscription's commit: there is no wake without its event and no event without its wake. It is
 * decided like any append; a wake stream that is not there, is closed or does not take JSON gets
 * none, and the wake stands all the same.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "hook/hooks_impl.h"
#include "stream/frame.h"
#include "stream/stream.h"

#include <weir/json.h>

enum { EVENT_BYTES = 4096 };

/* One commit and what became of it. */
struct write {
    struct list_node node;
    struct writing *all;
    struct subscription *subscription;
    struct commit *commit;
    struct stream_append append;
    bool has_event;
};

/* Those that are under way together. */
struct writing {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_left;
    struct list writes;
    struct commit_run run;
};

/* Called by the committer. */
static void on_written(void *user, const struct commit_result *result)
{
    struct write *w = user;
    struct writing *all = w->all;
    pthread_mutex_lock(&all->lock);
    w->subscription->written = result->status;
    if (result->status == WEIR_OK) w->subscription->version = result->version;
    if (--all->n_left == 0) pthread_cond_signal(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

static struct doc_key key_of(const struct subscription *s)
{
    return (struct doc_key){weir_slice_of(subscription_kind), weir_slice_of(s->id)};
}

/* {"type":"wake","subscription_id","stream","generation","ts"} */
static void put_event(struct hooks *h, const struct subscription *s, struct weir_buf *out)
{
    const struct stream_link *link = subscription_pending(s);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, "wake");
    weir_json_put_key(out, "subscription_id");
    weir_json_put_str(out, s->id);
    weir_json_put_key(out, "stream");
    weir_json_put_string(out, link ? slice_of(link->path, link->n_path) : SLICE(""));
    weir_json_put_key(out, "generation");
    weir_json_put_uint(out, s->generation);
    weir_json_put_key(out, "ts");
    weir_json_put_int(out, hooks_now_ms(h));
    weir_json_put_end_object(out);
}

static void add_event(struct hooks *h, struct write *w)
{
    const struct subscription *s = w->subscription;
    struct stream_log_text log;
    struct weir_buf json, frame;
    weir_buf_init(&json, EVENT_BYTES);
    weir_buf_init(&frame, 2 * EVENT_BYTES);
    put_event(h, s, &json);
    frame_write(&frame, STREAM_JSON, weir_buf_slice(&json));
    if (weir_buf_status(&json) == WEIR_OK && weir_buf_status(&frame) == WEIR_OK) {
        w->has_event = true;
        w->append = (struct stream_append){.name = s->config.wake_stream,
                                           .type = SLICE("application/json"),
                                           .now_ms = store_wall_ms(h->store)};
        commit_append(w->commit, stream_log_name(&log, s->config.wake_stream),
                      weir_buf_slice(&frame));
        stream_append_commit(w->commit, &w->append);
    }
    weir_buf_fini(&json);
    weir_buf_fini(&frame);
}

static WEIR_MUST_CHECK enum weir_status fill(struct hooks *h, struct write *w)
{
    struct subscription *s = w->subscription;
    struct weir_buf body;
    /* Nothing is written over what we have not seen; it is looked at again, as after a conflict. */
    if (h->is_shared && s->version == VERSION_UNKNOWN) return WEIR_CONFLICT;
    w->commit = commit_new(0);
    if (!w->commit) return WEIR_NOMEM;
    int64_t expected = h->is_shared ? s->version : DOC_ANY_VERSION; /* 0: it must be new */
    if (s->is_removed) {
        commit_remove(w->commit, key_of(s), expected);
        return WEIR_OK;
    }
    weir_buf_init(&body, SUBSCRIPTION_DOC_BYTES);
    subscription_write(s, &body);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK)
        commit_put(w->commit, key_of(s), expected, weir_slice_of(s->owner), weir_buf_slice(&body));
    weir_buf_fini(&body);
    if (st == WEIR_OK && s->has_wake_event) add_event(h, w);
    return st;
}

static void add(struct hooks *h, struct writing *all, struct subscription *s)
{
    struct write *w = mem_zalloc(sizeof *w);
    s->written = WEIR_NOMEM;
    if (!w) return;
    w->all = all;
    w->subscription = s;
    s->written = fill(h, w);
    if (s->written != WEIR_OK) {
        commit_free(w->commit);
        mem_free(w);
        return;
    }
    list_push_back(&all->writes, &w->node);
    all->n_left++;
    commit_run_add(&all->run, w->commit, on_written, w);
}

static void hand_over(struct hooks *h, struct writing *all)
{
    if (all->n_left == 0) return;
    store_commit_run(h->store, &all->run);
    pthread_mutex_lock(&all->lock);
    while (all->n_left > 0) pthread_cond_wait(&all->changed, &all->lock);
    pthread_mutex_unlock(&all->lock);
}

/*
 * Whether it has to be written once more, without its event. A conflict where the stream did not
 * object is of the document: another node was faster, and a second write would be as late.
 */
static bool was_refused(struct hooks *h, const struct write *w)
{
    if (!w->has_event || w->subscription->written != WEIR_CONFLICT) return false;
    if (w->append.outcome == STREAM_DONE) return false;
    TRACE(h->options.trace, TRACE_WARN, "hook", "a wake stream takes no event",
          trace_str("stream", w->subscription->config.wake_stream),
          trace_str("subscription", weir_slice_of(w->subscription->id)));
    return true;
}

/* Frees the writes; true when some have to be done again. */
static bool finish(struct hooks *h, struct writing *all)
{
    struct list_node *node;
    bool is_again = false;
    while ((node = list_pop_front(&all->writes))) {
        struct write *w = CONTAINER_OF(node, struct write, node);
        struct subscription *s = w->subscription;
        bool is_refused = was_refused(h, w);
        if (s->is_removed && s->written == WEIR_NOT_FOUND) s->written = WEIR_OK;
        if (is_refused || s->written == WEIR_OK) s->has_wake_event = false;
        if (s->written == WEIR_OK) s->is_dirty = s->is_new = false;
        is_again |= is_refused;
        commit_free(w->commit);
        mem_free(w);
    }
    return is_again;
}

static void write_once(struct hooks *h, struct writing *all)
{
    for (struct list_node *n = list_first(&h->touched); n; n = list_next(&h->touched, n)) {
        struct subscription *s = CONTAINER_OF(n, struct subscription, touched);
        bool is_nothing = !s->is_dirty || (s->is_new && s->is_removed);
        if (is_nothing) s->written = WEIR_OK;
        else add(h, all, s);
    }
    hand_over(h, all);
}

void write_touched(struct hooks *h)
{
    struct writing all = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    list_init(&all.writes);
    write_once(h, &all);
    if (finish(h, &all)) {
        write_once(h, &all);
        (void)finish(h, &all);
    }
    pthread_cond_destroy(&all.changed);
    pthread_mutex_destroy(&all.lock);
}

void write_reload(struct hooks *h, struct subscription *s)
{
    struct doc doc;
    enum weir_status st = store_doc_get(h->store, key_of(s), &doc);
    struct subscription *as_stored = NULL;
    TRACE(h->options.trace, TRACE_ERROR, "hook", "a subscription could not be written",
          trace_str("subscription", weir_slice_of(s->id)),
          trace_str("error", weir_slice_of(weir_status_text(s->written))));
    if (st == WEIR_OK) {
        as_stored = subscription_read(doc.id, doc.owner, doc.body);
        if (as_stored) as_stored->version = doc.version;
        doc_fini(&doc);
    }
    /* What cannot be read stays as it is and is written when the store can again. */
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return;
    if (st == WEIR_OK && !as_stored) return;
    if (as_stored) as_stored->delivery = s->delivery;
    else deliver_abort(h, s);
    hooks_forget(h, s);
    if (!as_stored) return;
    as_stored->written = WEIR_OK;
    if (hooks_add(h, as_stored) != WEIR_OK) subscription_free(as_stored);
}
