/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscribers: cursors, and what they are up to.
 *
 *   OPENING  --the log's state is known-->          READY, WAITING, END, GONE
 *   WAITING  --the tail goes on, or is sealed-->    READY, END, GONE
 *   READY    --sub_peek(), not in memory-->         FETCH
 *   FETCH    --the read is back-->                  READY (or GONE)
 *   READY    --sub_advance()-->                     READY, WAITING, END
 *   any      --a read failed-->                     FAILED
 *
 * A subscriber is in one list at most: that of its tail when it waits, that of a read when
 * one is under way for it, or that of the due. When it is READY and in none, nobody goes and
 * tells it what happens to its log; it finds out when it looks. That is why a change of a log
 * costs nothing for those who cannot read anyway, and why news for thousands who wait are
 * given to the due in one step.
 */
#include <string.h>

#include "base/slice.h"
#include "fan/fan_impl.h"

_Static_assert(sizeof(struct sub) == 64, "a subscriber fits a cache line");

static struct tail *tail_of(const struct sub *s)
{
    CHECK(s->magic == SUB_MAGIC && s->tail->magic == TAIL_MAGIC);
    return s->tail;
}

static void drop_fetched(struct sub *s)
{
    chunk_unref(s->fetched);
    s->fetched = NULL;
}

/* ---- what it is up to ---- */

/* Reads for it. False when it cannot go on now: it is being read, or that failed. */
static bool ask(struct sub *s, uint64_t from, size_t max_bytes, enum fetch_share share)
{
    if (list_is_linked(&s->node)) list_remove(&s->node);
    if (!fetch_for(s, from, max_bytes, share)) {
        if (s->state != SUB_OPENING) s->state = SUB_FETCH;
        return false;
    }
    if (s->status == WEIR_OK && !s->tail->is_known) s->status = WEIR_INTERNAL;
    if (s->status == WEIR_OK) return true;
    s->state = SUB_FAILED;
    drop_fetched(s);
    return false;
}

/*
 * Finds its place in a log whose state is known. Somebody who has seen an event at another
 * fan can be faster than the news of it are here: the store knows.
 */
static bool place(struct sub *s)
{
    struct tail *t = s->tail;
    if (s->is_exact) {
        s->is_exact = false;
        if (!ask(s, 1, 0, FETCH_OWN)) return false;
    }
    if (s->is_from_latest) s->next = t->last + 1;
    s->is_from_latest = false;
    if (s->next <= t->last + 1 || s->is_confirmed) return true;
    s->is_confirmed = true;
    return ask(s, s->next, 0, FETCH_OWN);
}

/* The state of one that is placed, in a log whose state is known. */
static void update(struct sub *s)
{
    const struct tail *t = s->tail;
    if (s->log_id == 0 && t->exists) s->log_id = t->log_id;
    if (s->log_id != 0 && (!t->exists || s->log_id != t->log_id)) {
        s->state = SUB_GONE;
        drop_fetched(s);
    } else if (s->next <= t->last) {
        s->state = SUB_READY;
    } else if (t->exists && t->is_sealed) {
        s->state = SUB_END;
    } else {
        s->state = SUB_WAITING;
    }
}

/* Whoever has all there is waits, unless it is to be called anyway. */
static void park(struct sub *s)
{
    if (s->state == SUB_WAITING && !list_is_linked(&s->node))
        list_push_back(&s->tail->waiting, &s->node);
}

static void settle(struct sub *s)
{
    struct tail *t = tail_of(s);
    if (s->status != WEIR_OK) s->state = SUB_FAILED;
    if (s->state == SUB_GONE || s->state == SUB_FAILED) return;
    if (!t->is_known) {
        size_t max_bytes = s->is_from_latest ? 0 : FAN_FETCH_BYTES;
        if (!ask(s, s->is_from_latest ? 1 : sub_lacks(s), max_bytes, FETCH_SHARED)) return;
    }
    if (s->state == SUB_OPENING && !place(s)) return;
    update(s);
    park(s);
}

void sub_call(struct sub *s)
{
    unsigned char before = s->state;
    settle(s);
    if (s->state != before && s->state != SUB_OPENING && s->state != SUB_FETCH) s->on_ready(s);
}

/* ---- life ---- */

static WEIR_MUST_CHECK enum weir_status open_at(struct fan *f, struct sub *sub,
                                                struct weir_slice log, uint64_t from,
                                                sub_ready_fn on_ready, bool is_exact)
{
    CHECK(f->magic == FAN_MAGIC);
    struct tail *t;
    enum weir_status st = tail_get(f, log, &t);
    if (st != WEIR_OK) return st;
    *sub = (struct sub){
        .tail = t,
        .on_ready = on_ready,
        .next = from,
        .magic = SUB_MAGIC,
        .state = SUB_OPENING,
        .is_from_latest = from == SUB_FROM_LATEST,
    };
    tail_add_sub(t);
    fan_take(f); /* from here on each piece of news wakes the fan, and those before are in */
    /* News of other nodes may be under way; a read that is begun for it is new enough. */
    sub->is_exact = is_exact && hub_interest(f->hub) && (t->is_known || t->fetches);
    settle(sub);
    return WEIR_OK;
}

enum weir_status sub_open(struct fan *f, struct sub *sub, struct weir_slice log, uint64_t from,
                          sub_ready_fn on_ready)
{
    return open_at(f, sub, log, from, on_ready, false);
}

enum weir_status sub_open_exact(struct fan *f, struct sub *sub, struct weir_slice log,
                                uint64_t from, sub_ready_fn on_ready)
{
    return open_at(f, sub, log, from, on_ready, true);
}

void sub_close(struct sub *sub)
{
    if (!sub->tail) return;
    struct tail *t = tail_of(sub);
    if (list_is_linked(&sub->node)) list_remove(&sub->node);
    drop_fetched(sub);
    tail_remove_sub(t);
    *sub = (struct sub){0};
}

struct log_state sub_log(const struct sub *sub)
{
    const struct tail *t = tail_of(sub);
    if (!t->exists || (sub->log_id != 0 && sub->log_id != t->log_id)) return (struct log_state){0};
    return (struct log_state){true, t->is_sealed, t->log_id, t->last};
}

struct weir_slice sub_log_name(const struct sub *sub)
{
    return tail_name(tail_of(sub));
}

/* ---- reading ---- */

/* What a caller of sub_peek() has room for, and what it got. */
struct want {
    uint64_t upto;
    size_t max_bytes;
    struct iovec *iov;
    unsigned room;
    unsigned n;
};

/* A chunk that has event `id`; NULL when it is not in memory. */
static const struct chunk *chunk_with(const struct sub *s, uint64_t id)
{
    const struct chunk *c = s->fetched;
    return c && id >= c->first && id <= c->last ? c : window_find(s->tail->window, id);
}

/*
 * The events from `id` to `upto` that lie together in memory; an empty slice when the first of
 * them is not there. *next is the id of the one behind them.
 */
static struct weir_slice piece(const struct sub *s, uint64_t id, uint64_t upto, uint64_t *next)
{
    const struct chunk *c = chunk_with(s, id);
    *next = id;
    if (!c) return (struct weir_slice){NULL, 0};
    *next = (upto < c->last ? upto : c->last) + 1;
    struct weir_slice all = id == c->first ? slice_of(c->bytes, c->len) : chunk_from(c, id);
    if (upto < c->last) all.len -= c->len - chunk_up_to(c, upto).len;
    return all;
}

/* Whole events of up to max_bytes; one at least if it must be. */
static struct weir_slice piece_of(const struct sub *s, uint64_t id, size_t max_bytes, bool must,
                                  uint64_t *next)
{
    struct weir_slice all = piece(s, id, UINT64_MAX, next);
    size_t len = chunk_cut(all, max_bytes, next);
    if (len == 0 && all.len > 0 && must) {
        len = chunk_first_event(all);
        *next = id + 1;
    }
    return slice_of(all.ptr, len);
}

/* Gives what is there, and returns the id of the first event that is not given. */
static uint64_t collect(const struct sub *s, struct want *w)
{
    uint64_t goal = w->upto ? w->upto : s->tail->last;
    uint64_t id = s->next;
    size_t left = w->max_bytes;
    w->n = 0;
    while (id <= goal && w->n < w->room) {
        uint64_t next;
        struct weir_slice got =
            w->upto ? piece(s, id, w->upto, &next) : piece_of(s, id, left, w->n == 0, &next);
        if (got.len == 0) break;
        w->iov[w->n++] = (struct iovec){(void *)(uintptr_t)got.ptr, got.len};
        left -= got.len < left ? got.len : left;
        id = next;
    }
    return id;
}

/* Puts the events up to `upto`, all of which are there, together for it alone. */
static bool gather(struct sub *s, uint64_t upto)
{
    size_t len = 0;
    uint64_t next;
    for (uint64_t id = s->next; id <= upto; id = next) {
        len += piece(s, id, upto, &next).len;
        CHECK(next > id);
    }
    struct chunk *c = chunk_new(s->next, upto, len);
    if (!c) {
        s->status = WEIR_NOMEM;
        s->state = SUB_FAILED;
        return false;
    }
    size_t at = 0;
    for (uint64_t id = s->next; id <= upto; id = next) {
        struct weir_slice got = piece(s, id, upto, &next);
        CHECK(got.ptr);
        memcpy(c->bytes + at, got.ptr, got.len);
        at += got.len;
    }
    drop_fetched(s);
    s->fetched = c;
    return true;
}

/* Gets event `id`, which is not in memory. False when that takes time, or failed. */
static bool get(struct sub *s, uint64_t id)
{
    if (sub_lacks(s) < id && !gather(s, id - 1)) return false;
    if (!ask(s, id, FAN_FETCH_BYTES, FETCH_SHARED)) return false;
    update(s);
    if (s->state != SUB_READY) return false;
    if (chunk_with(s, id)) return true;
    s->status = WEIR_INTERNAL;
    s->state = SUB_FAILED;
    return false;
}

/* All up to an exact id. False when that cannot be had now. */
static bool collect_exact(struct sub *s, struct want *w)
{
    for (;;) {
        uint64_t id = collect(s, w);
        if (id > w->upto) return true;
        w->n = 0;
        while (id <= w->upto && chunk_with(s, id)) piece(s, id, w->upto, &id);
        if (id > w->upto ? !gather(s, w->upto) : !get(s, id)) return false;
    }
}

/* As much as there is room for. When small chunks use up the room, they are merged. */
static bool collect_some(struct sub *s, struct want *w, uint64_t *next)
{
    if (!chunk_with(s, s->next) && !get(s, s->next)) return false;
    *next = collect(s, w);
    if (w->n == w->room && *next <= s->tail->last && tail_merge(s->tail, s->next))
        *next = collect(s, w);
    return true;
}

enum sub_state sub_peek(struct sub *sub, uint64_t upto, size_t max_bytes, struct iovec *iov,
                        unsigned *n_iov, uint64_t *last)
{
    struct tail *t = tail_of(sub);
    struct want want = {upto, max_bytes, iov, *n_iov, 0};
    uint64_t next = upto + 1;
    CHECK(*n_iov > 0);
    *n_iov = 0;
    sub->is_resting = false;
    if (sub->state == SUB_OPENING || sub->state == SUB_FETCH) return sub->state;
    settle(sub);
    if (sub->state != SUB_READY) return sub->state;
    CHECK(upto == 0 || (upto >= sub->next && upto <= t->last));
    tail_touch(t);
    bool is_given = upto ? collect_exact(sub, &want) : collect_some(sub, &want, &next);
    if (sub->state == SUB_READY && (!is_given || want.n == 0)) {
        /* Nobody may take nothing for something: an empty piece would end the stream. */
        sub->status = WEIR_INTERNAL;
        sub->state = SUB_FAILED;
    }
    if (sub->state != SUB_READY) return sub->state;
    *n_iov = want.n;
    *last = next - 1;
    return SUB_READY;
}

enum sub_state sub_advance(struct sub *sub, uint64_t last)
{
    struct tail *t = tail_of(sub);
    CHECK(last + 1 >= sub->next);
    sub->next = last + 1;
    if (sub->fetched && sub->fetched->last < sub->next) drop_fetched(sub);
    if (sub->state != SUB_READY || !t->is_known) return sub->state;
    update(sub);
    park(sub);
    return sub->state;
}

void sub_rest(struct sub *sub)
{
    CHECK(sub->magic == SUB_MAGIC);
    sub->is_resting = true;
    drop_fetched(sub);
}
