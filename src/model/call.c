/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call from its beginning to its end: which attempt is next, whom it asks, how long it waits, and
 * what the asker is told.
 */
#include "model/engine_impl.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"

enum { CONTENT_BYTES = 8 * MODEL_ANSWER_BYTES };

/* ---- copies ---- */

static char *copy(char **to, struct weir_slice from)
{
    char *at = *to;
    if (from.len > 0) memcpy(at, from.ptr, from.len);
    at[from.len] = 0;
    *to += from.len + 1;
    return at;
}

static struct weir_slice copy_slice(char **to, struct weir_slice from)
{
    return slice_of(copy(to, from), from.len);
}

static const char *copy_str(char **to, const char *from)
{
    return from ? copy(to, weir_slice_of(from)) : NULL;
}

static size_t size_of(const struct model_request *r)
{
    enum { N_TEXTS = 6 };
    return r->system.len + r->messages.len + r->tools.len + r->schema.len +
           (r->purpose ? strlen(r->purpose) : 0) + (r->must_use ? strlen(r->must_use) : 0) +
           N_TEXTS;
}

static bool make_cassette(struct call *call)
{
    const struct models_options *o = &call->models->options;
    if (!o->record && !o->replay) return true;
    call->cassette = mem_alloc(sizeof *call->cassette);
    if (call->cassette) cassette_init(call->cassette);
    return call->cassette != NULL;
}

enum weir_status call_new(struct call **out, struct models *m, const struct model_call *asked)
{
    const struct model_request *r = &asked->request;
    size_t size = size_of(r);
    if (size > MODEL_REQUEST_BYTES) return WEIR_LIMIT;
    struct call *call = mem_alloc(sizeof *call + size);
    if (!call) return WEIR_NOMEM;
    char *to = call->texts;
    *call = (struct call){
        .magic = CALL_MAGIC, .models = m, .asked = *asked, .first_ms = models_now_ms(m)};
    call->asked.request.purpose = copy_str(&to, r->purpose);
    call->asked.request.must_use = copy_str(&to, r->must_use);
    call->asked.request.system = copy_slice(&to, r->system);
    call->asked.request.messages = copy_slice(&to, r->messages);
    call->asked.request.tools = copy_slice(&to, r->tools);
    call->asked.request.schema = copy_slice(&to, r->schema);
    call->player = &m->config->players[r->role];
    weir_buf_init(&call->content, CONTENT_BYTES);
    if (!make_cassette(call)) {
        call_free(call);
        return WEIR_NOMEM;
    }
    *out = call;
    return WEIR_OK;
}

void call_free(struct call *call)
{
    model_reply_free(call->reply);
    weir_buf_fini(&call->content);
    if (call->cassette) cassette_fini(call->cassette);
    mem_free(call->cassette);
    call->magic = 0;
    mem_free(call);
}

/* ---- the end ---- */

static void trace_end(const struct call *call, const struct model_answer *a)
{
    const struct models *m = call->models;
    const char *purpose = call->asked.request.purpose;
    bool is_bad = a->status != WEIR_OK && a->status != WEIR_CANCELLED;
    TRACE(m->options.trace, is_bad ? TRACE_WARN : TRACE_DEBUG, "model",
          is_bad ? "a call failed" : "a call ended",
          trace_str("purpose", weir_slice_of(purpose ? purpose : "")),
          trace_str("provider", weir_slice_of(a->provider)),
          trace_str("model", weir_slice_of(a->model)),
          trace_str("status", weir_slice_of(weir_status_name(a->status))),
          trace_uint("attempts", a->attempts), trace_uint("input_tokens", a->usage.input_tokens),
          trace_uint("output_tokens", a->usage.output_tokens), trace_double("usd", a->cost_usd),
          trace_ms("took", models_now_ms(m) - call->first_ms),
          trace_str("why", weir_slice_of(a->why)));
}

static void save_cassette(struct call *call)
{
    const struct models *m = call->models;
    struct weir_buf text;
    char hash[CASSETTE_HASH_BYTES];
    if (!m->options.record || !call->cassette || call->cassette->http_status == 0) return;
    weir_buf_init(&text, 8 * CASSETTE_BYTES);
    cassette_hash(&call->asked.request, hash);
    cassette_put(&text, call->cassette, &call->asked.request, call->player);
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) st = cassette_save(m->options.record, hash, weir_buf_slice(&text));
    if (st != WEIR_OK)
        TRACE(m->options.trace, TRACE_ERROR, "model", "a cassette could not be written",
              trace_str("folder", weir_slice_of(m->options.record)),
              trace_str("status", weir_slice_of(weir_status_name(st))));
    weir_buf_fini(&text);
}

static void count_end_locked(struct models *m, const struct model_answer *a)
{
    struct models_stats *s = &m->stats;
    s->n_failed += a->status != WEIR_OK && a->status != WEIR_CANCELLED;
    s->input_tokens += a->usage.input_tokens;
    s->output_tokens += a->usage.output_tokens;
    s->cache_read_tokens += a->usage.cache_read_tokens;
    s->cache_write_tokens += a->usage.cache_write_tokens;
    s->cost_usd += a->cost_usd;
}

void call_end_locked(struct call *call, enum weir_status st, bool is_final)
{
    struct models *m = call->models;
    struct model_answer a = {
        .status = st,
        .is_final = is_final,
        .retry_after_ms = st == WEIR_OK ? 0 : call->failure.retry_after_ms,
        .why = st == WEIR_OK ? "" : call->failure.why,
        .stop = st == WEIR_OK ? call->stop : MODEL_STOP_CUT,
        .content = call->content.len > 0 ? weir_buf_slice(&call->content) : SLICE("[]"),
        .usage = call->usage,
        .cost_usd = call->cost_usd,
        .provider = call->player->provider->name,
        .model = call->player->model,
        .attempts = call->n_attempts,
    };
    if (st == WEIR_CANCELLED) a.why = "it was cancelled";
    call->state = CALL_ENDED;
    heap_remove(&m->heap, &call->due);
    (void)map_take(&m->calls, map_key_of(&call->ticket));
    count_end_locked(m, &a);
    pthread_mutex_unlock(&m->lock);
    save_cassette(call);
    trace_end(call, &a);
    call->asked.done(call->asked.user, &a);
    call_free(call);
    pthread_mutex_lock(&m->lock);
    if (--m->n_calls == 0) pthread_cond_broadcast(&m->is_idle);
}

/* ---- whom to ask, and when ---- */

/*
 * The next one that waits for a place at a provider looks again whether there is one. Whoever gives
 * up a place, or does not take the one it was woken for, wakes the next: once too often does no
 * harm, not at all would leave it waiting for ever.
 */
static void wake_next_locked(struct provider_state *p)
{
    struct list_node *node = list_pop_front(&p->queue);
    if (!node) return;
    struct call *next = CONTAINER_OF(node, struct call, queued);
    next->state = CALL_WAITING;
    call_set_due_locked(next, 0);
}

/* Nobody may be asked now. */
static void end_unasked_locked(struct call *call)
{
    const struct provider_state *p = call_provider(call);
    call->failure = (struct model_failure){
        .status = WEIR_UPSTREAM,
        .retry_after_ms = breaker_pause_ms(&p->breaker, models_now_ms(call->models)),
    };
    model_failure_say(&call->failure, call->player->provider,
                      "has failed too often and is left alone for a while", SLICE(""));
    call_end_locked(call, WEIR_UPSTREAM, false);
}

/* False: there is none, or it is asked already. */
static bool fall_back_locked(struct call *call)
{
    struct models *m = call->models;
    const struct model_player *p = &m->config->fallbacks[call->asked.request.role];
    if (call->is_fallback || !p->provider) return false;
    call->is_fallback = true;
    call->player = p;
    call->n_here = 0;
    m->stats.n_fallbacks++;
    return true;
}

static void begin_locked(struct call *call)
{
    struct models *m = call->models;
    struct provider_state *p = call_provider(call);
    bool is_played = m->options.replay != NULL;
    if (!is_played && p->n_running >= call->player->provider->limits.max_running) {
        call->state = CALL_QUEUED;
        list_push_back(&p->queue, &call->queued);
        return;
    }
    if (!is_played && !breaker_allows(&p->breaker, models_now_ms(m))) {
        wake_next_locked(p);
        if (fall_back_locked(call)) begin_locked(call);
        else end_unasked_locked(call);
        return;
    }
    call->state = CALL_RUNNING;
    call->n_here++;
    p->n_running++;
    p->stats.n_attempts++;
    attempt_begin_locked(call);
}

void call_go_on_locked(struct call *call)
{
    call_set_due_locked(call, UINT64_MAX);
    if (call->state == CALL_RUNNING) {
        /* Its message is whole and its end does not come, or it was aborted. */
        if (call->fetch_ticket != 0) fetcher_abort(call->models->fetcher, call->fetch_ticket);
    } else if (call->is_aborted) {
        if (call->state == CALL_PLAYING) {
            call_attempt_over_locked(call);
            return;
        }
        wake_next_locked(call_provider(call));
        call_end_locked(call, WEIR_CANCELLED, true);
    } else if (call->state == CALL_PLAYING) {
        attempt_play_locked(call);
    } else {
        begin_locked(call);
    }
}

/* ---- after an attempt ---- */

static void tell_breaker_locked(struct call *call)
{
    struct models *m = call->models;
    struct provider_state *p = call_provider(call);
    const struct model_failure *f = &call->failure;
    enum breaker_end end = BREAKER_REFUSED;
    if (f->status == WEIR_OK) end = BREAKER_ANSWERED;
    else if (call->is_aborted || f->status == WEIR_NOMEM) end = BREAKER_UNKNOWN;
    else if (f->is_outage) end = BREAKER_FAILED;
    p->stats.n_failed += end == BREAKER_FAILED;
    if (!breaker_tell(&p->breaker, end, models_now_ms(m))) return;
    m->stats.n_opened++;
    p->stats.n_opened++;
    TRACE(m->options.trace, TRACE_WARN, "model", "a provider is left alone for a while",
          trace_str("provider", weir_slice_of(call->player->provider->name)),
          trace_str("why", weir_slice_of(f->why)));
}

static void give_place_locked(struct provider_state *p)
{
    p->n_running--;
    wake_next_locked(p);
}

static void wait_locked(struct call *call)
{
    struct models *m = call->models;
    uint64_t random = 0;
    random_bytes(&random, sizeof random);
    call->state = CALL_WAITING;
    m->stats.n_retries++;
    call_set_due_locked(call,
                        models_now_ms(m) +
                            retry_pause_ms(call->n_here, call->failure.retry_after_ms, random));
}

/* Whether it may ask the same again. */
static bool may_retry_locked(struct call *call)
{
    return call->failure.may_help && call->n_here < MODEL_ATTEMPTS &&
           budget_take(&call->models->budget);
}

void call_attempt_over_locked(struct call *call)
{
    enum weir_status st = call->failure.status;
    tell_breaker_locked(call);
    give_place_locked(call_provider(call));
    if (call->is_aborted) call_end_locked(call, WEIR_CANCELLED, true);
    else if (st == WEIR_OK) call_end_locked(call, WEIR_OK, false);
    else if (call->has_output) call_end_locked(call, st, st == WEIR_LIMIT);
    else if (may_retry_locked(call)) wait_locked(call);
    /* What may not leave for one may not leave for another who happens to be covered less. */
    else if (st != WEIR_FORBIDDEN && fall_back_locked(call)) {
        call->state = CALL_WAITING;
        call_set_due_locked(call, 0);
    } else {
        call_end_locked(call, st, true);
    }
}
