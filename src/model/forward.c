/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are only passed on; see forward.h. */
#include "model/forward.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "model/engine_impl.h"

/* From being sent until `done` has returned. */
struct forwarding {
    struct models *models;
    struct provider_state *state;
    bool (*on_head)(void *user, int http_status, const struct fetch_answer *answer);
    bool (*on_body)(void *user, struct weir_slice bytes);
    void (*done)(void *user, const struct fetch_result *result);
    void *user;
};

static const struct model_provider *provider_of(const struct models *m, enum model_type type)
{
    for (unsigned i = 0; m && i < m->config->n_providers; i++)
        if (m->config->providers[i].type == type) return &m->config->providers[i];
    return NULL;
}

const char *model_forward_to(const struct models *m, enum model_type type)
{
    const struct model_provider *p = provider_of(m, type);
    return p && m->fetcher ? p->name : NULL;
}

bool model_forward_is_external(const struct models *m, enum model_type type)
{
    const struct model_provider *p = provider_of(m, type);
    return p && p->is_external;
}

void model_forward_blot(const struct models *m, enum model_type type, char *bytes, size_t len)
{
    const struct model_provider *p = provider_of(m, type);
    if (p) model_key_blot(p->key, bytes, len);
}

/* ---- one of them ---- */

static bool on_head(void *user, int http_status, const struct fetch_answer *answer)
{
    struct forwarding *f = user;
    return f->on_head(f->user, http_status, answer);
}

static bool on_body(void *user, struct weir_slice bytes)
{
    struct forwarding *f = user;
    return f->on_body(f->user, bytes);
}

static void release(struct forwarding *f, bool has_failed)
{
    struct models *m = f->models;
    pthread_mutex_lock(&m->lock);
    f->state->n_running--;
    if (has_failed) f->state->stats.n_failed++;
    pthread_mutex_unlock(&m->lock);
    mem_free(f);
}

static void on_done(void *user, const struct fetch_result *result)
{
    struct forwarding *f = user;
    bool is_trouble =
        result->http_status >= 500 || (result->status != WEIR_OK && result->end != FETCH_ABORTED);
    f->done(f->user, result);
    release(f, is_trouble);
}

/* ---- sending ---- */

static enum weir_status take_place(struct models *m, struct provider_state *state, unsigned max)
{
    enum weir_status st = WEIR_OK;
    pthread_mutex_lock(&m->lock);
    if (m->is_stopping) st = WEIR_SHUTDOWN;
    else if (state->n_running >= max) st = WEIR_BUSY;
    else {
        state->n_running++;
        state->stats.n_attempts++;
    }
    pthread_mutex_unlock(&m->lock);
    return st;
}

static enum weir_status send_it(struct forwarding *own, const struct model_forward *f,
                                const struct model_provider *p, uint64_t *ticket)
{
    char url[MODEL_URL_BYTES + 32], secret[MODEL_SECRET_BYTES] = "";
    snprintf(url, sizeof url, "%s%s", p->base_url, model_path_of(p));
    struct fetch_request request = {
        .method = FETCH_POST,
        .url = weir_slice_of(url),
        .body = f->body,
        .limits = {.connect_ms = p->limits.connect_ms,
                   .first_byte_ms = p->limits.first_byte_ms,
                   .idle_ms = p->limits.idle_ms,
                   .whole_ms = p->limits.whole_ms,
                   .max_body = f->max_body},
        .ca_file = p->ca_file,
        .on_head = on_head,
        .on_body = on_body,
        .done = on_done,
        .user = own,
    };
    /* The client's own come first: it knows which version of the form it speaks. */
    for (unsigned i = 0; i < f->n_fields; i++) request.fields[request.n_fields++] = f->fields[i];
    model_add_fields(&request, p, secret);
    enum weir_status st = fetcher_send(own->models->fetcher, &request, ticket);
    explicit_bzero(secret, sizeof secret);
    return st;
}

enum weir_status model_forward(struct models *m, const struct model_forward *f, uint64_t *ticket)
{
    const struct model_provider *p = provider_of(m, f->type);
    if (!p || !m->fetcher) return WEIR_NOT_FOUND;
    struct provider_state *state = &m->providers[p - m->config->providers];
    struct forwarding *own = mem_zalloc(sizeof *own);
    if (!own) return WEIR_NOMEM;
    *own = (struct forwarding){m, state, f->on_head, f->on_body, f->done, f->user};
    enum weir_status st = take_place(m, state, p->limits.max_running);
    if (st != WEIR_OK) {
        mem_free(own);
        return st;
    }
    st = send_it(own, f, p, ticket);
    if (st != WEIR_OK) release(own, false);
    return st;
}

void model_forward_abort(struct models *m, uint64_t ticket)
{
    fetcher_abort(m->fetcher, ticket);
}
