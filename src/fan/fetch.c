/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading from the store what a tail does not have.
 *
 * A read that the store can answer at once is answered at once; any other is under way for a
 * while, and listed with its tail so that others who need the same join it. The tail may go
 * meanwhile, and so may each subscriber; the read comes back all the same, and is dropped.
 *
 * What was read joins the tail as far as it fits there. Each who waited gets a reference of
 * the chunk with the event it lacks, wherever that went: so it can go on even if the tail has
 * lost it again by the time it looks.
 */
#include "base/mem.h"
#include "fan/fan_impl.h"

static void drop_chunks(struct log_read *read)
{
    for (unsigned i = 0; i < read->n_chunks; i++) chunk_unref(read->chunks[i]);
    read->n_chunks = 0;
}

void fetch_discard(struct fetch *fetch)
{
    drop_chunks(&fetch->read);
    mem_free(fetch);
}

/* ---- what came back ---- */

static bool has_event(const struct chunk *c, uint64_t id)
{
    return c && id >= c->first && id <= c->last;
}

static struct chunk *find(const struct log_read *read, struct chunk *rest, uint64_t id)
{
    if (has_event(rest, id)) return rest;
    for (unsigned i = 0; i < read->n_chunks; i++)
        if (has_event(read->chunks[i], id)) return read->chunks[i];
    return NULL;
}

/* The first run of chunks that did not join the tail, as one; NULL when all did. */
static struct chunk *join_rest(const struct log_read *read, unsigned joined)
{
    unsigned at = 0;
    while (at < read->n_chunks && joined & 1U << at) at++;
    unsigned end = at;
    while (end < read->n_chunks && !(joined & 1U << end)) end++;
    return end > at ? chunk_join(read->chunks + at, end - at) : NULL;
}

/*
 * A chunk that continues what was fetched for it before, if anything. With it the subscriber
 * is one of this log, whatever comes after it under the same name.
 */
static void give(struct sub *s, struct chunk *c, uint64_t log_id)
{
    if (s->log_id == 0) s->log_id = log_id;
    if (s->log_id != log_id) return;
    struct chunk *both[] = {s->fetched, c};
    bool is_more = sub_lacks(s) != s->next;
    struct chunk *now = is_more ? chunk_join(both, 2) : chunk_ref(c);
    if (!now) {
        s->status = WEIR_NOMEM;
        return;
    }
    chunk_unref(s->fetched);
    s->fetched = now;
}

static void give_all(struct fetch *fetch, struct chunk *rest)
{
    const struct log_read *read = &fetch->read;
    struct list *subs = &fetch->subs;
    for (struct list_node *i = list_first(subs); i; i = list_next(subs, i)) {
        struct sub *s = CONTAINER_OF(i, struct sub, node);
        uint64_t id = sub_lacks(s);
        struct chunk *c = find(read, rest, id);
        if (c && !s->is_resting) give(s, c, read->state.log_id);
        if (!c && fetch->max_bytes > 0 && id == fetch->from && id <= read->state.last)
            s->status = WEIR_CORRUPT; /* the store has it and does not give it */
    }
}

static void fail_all(struct fetch *fetch)
{
    struct list *subs = &fetch->subs;
    for (struct list_node *i = list_first(subs); i; i = list_next(subs, i))
        CONTAINER_OF(i, struct sub, node)->status = fetch->read.status;
}

static void use(struct fetch *fetch)
{
    struct log_read *read = &fetch->read;
    struct tail *t = fetch->tail;
    if (read->status != WEIR_OK) {
        fail_all(fetch);
    } else if (tail_learn(t, &read->state, fetch->version)) {
        struct chunk *rest = NULL;
        for (unsigned i = 0; i < read->n_chunks; i++)
            t->fan->stats.fetch_bytes += read->chunks[i]->len;
        if (read->n_chunks > 0) rest = join_rest(read, tail_join(t, read->chunks, read->n_chunks));
        give_all(fetch, rest);
        chunk_unref(rest);
    }
    drop_chunks(read);
}

static void unlink_fetch(struct fetch *fetch)
{
    struct fetch **at = &fetch->tail->fetches;
    while (*at != fetch) at = &(*at)->next;
    *at = fetch->next;
}

void fetch_finish(struct fetch *fetch)
{
    struct tail *t = fetch->tail;
    if (t) {
        unlink_fetch(fetch);
        use(fetch);
        list_move_all(&fetch->subs, &t->fan->due);
        tail_free_unused(t);
    }
    fetch_discard(fetch);
}

/* ---- asking ---- */

static void done(void *user, const struct log_read *read)
{
    struct fetch *fetch = user;
    fetch->read = *read;
    inbox_end_read(fetch->inbox, fetch);
}

/* One under way that will most likely bring what is needed. */
static struct fetch *find_flying(struct tail *t, uint64_t from, size_t max_bytes)
{
    for (struct fetch *i = t->fetches; i; i = i->next) {
        if (max_bytes == 0) return i;
        if (i->max_bytes > 0 && from >= i->from && from - i->from <= SHARED_FETCH_EVENTS) return i;
    }
    return NULL;
}

static void read_later(struct sub *s, const struct fetch *wanted)
{
    struct tail *t = s->tail;
    struct fetch *fetch = mem_alloc(sizeof *fetch);
    if (!fetch) {
        s->status = WEIR_NOMEM;
        return;
    }
    *fetch = *wanted;
    fetch->inbox = t->fan->inbox;
    fetch->next = t->fetches;
    t->fetches = fetch;
    list_init(&fetch->subs);
    list_push_back(&fetch->subs, &s->node);
    inbox_begin_read(fetch->inbox);
    store_read_later(t->fan->hub->store, tail_name(t), fetch->from, fetch->max_bytes, done, fetch);
}

bool fetch_for(struct sub *s, uint64_t from, size_t max_bytes, enum fetch_share share)
{
    struct tail *t = s->tail;
    struct fetch *flying = share == FETCH_SHARED ? find_flying(t, from, max_bytes) : NULL;
    if (flying) {
        list_push_back(&flying->subs, &s->node);
        return false;
    }
    struct fetch now = {.tail = t, .from = from, .max_bytes = max_bytes, .version = t->version};
    t->fan->stats.n_fetches++;
    if (!store_read_now(t->fan->hub->store, tail_name(t), from, max_bytes, &now.read)) {
        read_later(s, &now);
        return s->status != WEIR_OK;
    }
    list_init(&now.subs);
    list_push_back(&now.subs, &s->node);
    use(&now);
    list_remove(&s->node);
    return true;
}

/* ---- the tail changes meanwhile ---- */

void fetch_detach(struct tail *t)
{
    for (struct fetch *i = t->fetches; i; i = i->next) {
        i->tail = NULL;
        if (list_is_empty(&i->subs)) continue;
        list_move_all(&i->subs, &t->fan->due);
        fan_kick(t->fan);
    }
    t->fetches = NULL;
}

void fetch_place_latest(struct tail *t, uint64_t first)
{
    for (struct fetch *f = t->fetches; f; f = f->next)
        for (struct list_node *i = list_first(&f->subs); i; i = list_next(&f->subs, i)) {
            struct sub *s = CONTAINER_OF(i, struct sub, node);
            if (!s->is_from_latest) continue;
            s->next = first;
            s->log_id = t->log_id; /* of this log, should another follow before it is asked */
            s->is_from_latest = false;
        }
}
