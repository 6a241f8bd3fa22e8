/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draining: the server moves its work away before somebody ends it. What is under way goes to other
 * nodes the same way as when it goes down, and so does what is begun here from now on; readers
 * stay. It does not end by itself, and there is no way back but a new start.
 *
 * With nobody to take it, what is under way comes to its end here, and nothing is begun any more.
 */
#include "base/slice.h"
#include "serve/imports.h"
#include "serve/resource.h"
#include "serve/server_impl.h"

enum { ANSWER_BYTES = 512 };

/* Somebody is about to start another server, or the one that is to take the place of this. */
static const char retry_s[] = "5";

bool resource_takes_runs(struct exchange *ex)
{
    if (server_takes_runs(exchange_server(ex))) return true;
    exchange_field(ex, "Retry-After", weir_slice_of(retry_s));
    exchange_error(ex, WEIR_SHUTDOWN,
                   "the server is about to go down and begins nothing new; no other takes it");
    return false;
}

/* ---- giving it away ---- */

/* Each engine finds out by itself who else is there. */
bool drain_has_others(struct server *s)
{
    return turns_are_given(s->turns) && chats_are_given(s->chats) &&
           sessions_are_given(s->sessions);
}

/*
 * What waits is given at once, the rest between two steps. When it is done again, so is what has
 * begun to wait since, and what nobody was there for.
 */
static void hand_over(struct server *s)
{
    (void)turns_drain(s->turns, 0);
    (void)chats_drain(s->chats, 0);
    (void)sessions_drain(s->sessions, 0);
    imports_give(s->imports, drain_has_others(s));
}

void drain_go_on(struct server *s)
{
    if (server_is_draining(s) && !server_is_stopping(s)) hand_over(s);
}

/* ---- /v1/drain ---- */

struct draining {
    struct server *server;
    bool has_others;
    struct flow_stats turns, chats;
    struct sessions_stats sessions;
    unsigned n_imports;
};

/* In a thread of its own: the others are told by a commit. */
static void drain(void *user)
{
    struct draining *d = user;
    struct server *s = d->server;
    struct chats_stats chats;
    hand_over(s);
    /* Not before: what is begun meanwhile would be refused although others could take it. */
    if (!atomic_exchange(&s->is_draining, true))
        TRACE(s->options.trace, TRACE_INFO, "serve", "draining");
    d->has_others = drain_has_others(s);
    turns_stats(s->turns, &d->turns);
    chats_stats(s->chats, &chats);
    d->chats = chats.runs;
    sessions_stats(s->sessions, &d->sessions);
    d->n_imports = imports_count(s->imports);
}

static void put_count(struct weir_buf *out, const char *key, unsigned n)
{
    weir_json_put_key(out, key);
    weir_json_put_uint(out, n);
}

static void answer_drain(struct exchange *ex, void *user)
{
    const struct draining *d = user;
    unsigned n_turns = d->turns.n_in_flight, n_chats = d->chats.n_in_flight;
    unsigned n_sessions = d->sessions.runs.n_in_flight;
    struct weir_buf json;
    weir_buf_init(&json, ANSWER_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "drained");
    weir_json_put_bool(&json, n_turns + n_sessions + n_chats + d->n_imports == 0);
    weir_json_put_key(&json, "others");
    weir_json_put_bool(&json, d->has_others);
    put_count(&json, "turns", n_turns);
    put_count(&json, "sessions", n_sessions);
    put_count(&json, "chats", n_chats);
    put_count(&json, "imports", d->n_imports);
    weir_json_put_end_object(&json);
    enum weir_status st = weir_buf_status(&json);
    if (st == WEIR_OK) exchange_json(ex, 200, weir_buf_slice(&json));
    else resource_store_error(ex, st);
    weir_buf_fini(&json);
}

void drain_post(struct exchange *ex)
{
    if (!exchange_is_local(ex)) {
        exchange_error(ex, WEIR_FORBIDDEN,
                       "a server is drained on its own machine: weir serve --drain");
        return;
    }
    struct draining *d = exchange_alloc(ex, sizeof *d);
    if (!d) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *d = (struct draining){.server = exchange_server(ex)};
    resource_work(ex, drain, answer_drain, d);
}
