/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tails: what a fan knows of a log, from the news and from reads.
 *
 * The two come in any order, so everything is decided by ids. Ids of logs rise: whatever is
 * about an earlier log than the tail's is stale. Ids of events rise: what is known is not
 * taken twice. The one thing that has no id is that there is no log; a read that says so is
 * believed only if the tail's log is still the one, or none, that it was when the read began.
 *
 * Where other processes write too, the news themselves come in any order: ours are told at once,
 * theirs when they were heard of. Then news alone never make a tail known: what came before them
 * may have been told before there was a tail. A read does; it is begun when the log is counted as
 * wanted, so whatever it does not see is told after that. And ids of logs do not rise for certain,
 * for a process may take one long before it uses it: news of another log than the one that is
 * known are only a reason to read again.
 *
 * Windows are a cache and no more. Any of them may go at any time; who needs the events then
 * reads them from the store.
 */
#include <string.h>

#include "base/mem.h"
#include "fan/fan_impl.h"

/* ---- room ---- */

static struct list *ages(struct tail *t)
{
    return t->n_subs > 0 ? &t->fan->watched : &t->fan->cached;
}

/* Only those with a window have an age. */
static void link_age(struct tail *t)
{
    t->used_at = ++t->fan->tick;
    list_push_back(ages(t), &t->age);
    t->fan->n_cached += t->n_subs == 0;
}

static void unlink_age(struct tail *t)
{
    if (!list_is_linked(&t->age)) return;
    list_remove(&t->age);
    t->fan->n_cached -= t->n_subs == 0;
}

void tail_touch(struct tail *t)
{
    if (!t->window || list_last(ages(t)) == &t->age) return;
    unlink_age(t);
    link_age(t);
}

/* After each change of the window, which cost `before`. */
static void resized(struct tail *t, size_t before)
{
    t->fan->stats.tail_bytes += window_cost(t->window) - before;
    if (!t->window) unlink_age(t);
    else if (!list_is_linked(&t->age)) link_age(t);
}

static void empty(struct tail *t)
{
    size_t before = window_cost(t->window);
    window_free(&t->window);
    resized(t, before);
}

static void evict(struct tail *t, const struct tail *keep)
{
    t->fan->stats.n_evicted += t->window->n;
    empty(t);
    if (t != keep) tail_free_unused(t);
}

/* The tail with a window that was used least recently; there is one. */
static struct tail *oldest(struct fan *f)
{
    struct list_node *watched = list_first(&f->watched);
    struct list_node *cached = list_first(&f->cached);
    if (!watched) return CONTAINER_OF(cached, struct tail, age);
    struct tail *w = CONTAINER_OF(watched, struct tail, age);
    if (!cached) return w;
    struct tail *c = CONTAINER_OF(cached, struct tail, age);
    /* Ticks may wrap around. */
    return f->tick - w->used_at > f->tick - c->used_at ? w : c;
}

/* Holds the ceilings of the fan. `keep` may lose its window, but stays. */
static void make_room(struct fan *f, const struct tail *keep)
{
    while (f->stats.tail_bytes > f->all_max) evict(oldest(f), keep);
    while (f->n_cached > FAN_CACHED_TAILS)
        evict(CONTAINER_OF(list_first(&f->cached), struct tail, age), keep);
}

bool tail_merge(struct tail *t, uint64_t id)
{
    if (!t->window) return false;
    size_t before = window_cost(t->window);
    bool is_merged = window_merge(t->window, id);
    resized(t, before);
    return is_merged;
}

/* ---- life ---- */

enum weir_status tail_get(struct fan *f, struct weir_slice log, struct tail **out)
{
    if (log.len == 0 || log.len > STORE_NAME_BYTES) return WEIR_LIMIT;
    *out = map_get(&f->tails, log);
    if (*out) return WEIR_OK;
    struct tail *t = mem_zalloc(sizeof *t + log.len);
    if (!t) return WEIR_NOMEM;
    t->name_len = (unsigned char)log.len;
    memcpy(t->name, log.ptr, log.len);
    enum weir_status st = map_put(&f->tails, tail_name(t), t);
    struct interest *interest = hub_interest(f->hub);
    if (st == WEIR_OK && interest) {
        st = interest_add(interest, log);
        if (st != WEIR_OK) map_take(&f->tails, tail_name(t));
    }
    if (st != WEIR_OK) {
        mem_free(t);
        return st;
    }
    t->magic = TAIL_MAGIC;
    t->fan = f;
    list_init(&t->waiting);
    atomic_store(&f->inbox->has_tails, true);
    *out = t;
    return WEIR_OK;
}

void tail_free(struct tail *t)
{
    CHECK(t->magic == TAIL_MAGIC && t->n_subs == 0);
    struct fan *f = t->fan;
    fetch_detach(t);
    empty(t);
    map_take(&f->tails, tail_name(t));
    struct interest *interest = hub_interest(f->hub);
    if (interest) interest_remove(interest, tail_name(t));
    if (f->tails.len == 0) atomic_store(&f->inbox->has_tails, false);
    t->magic = 0;
    mem_free(t);
}

void tail_free_unused(struct tail *t)
{
    if (t->n_subs == 0 && !t->window) tail_free(t);
}

void tail_add_sub(struct tail *t)
{
    unlink_age(t);
    t->n_subs++;
    if (t->window) link_age(t);
    if (t->fan->stats.n_subs++ == 0) inbox_set_watched(t->fan->inbox, true);
}

void tail_remove_sub(struct tail *t)
{
    struct fan *f = t->fan;
    bool is_linked = list_is_linked(&t->age);
    unlink_age(t);
    t->n_subs--;
    if (is_linked) link_age(t);
    if (--f->stats.n_subs == 0) inbox_set_watched(f->inbox, false);
    tail_free_unused(t);
    make_room(f, NULL);
}

/* ---- what is known ---- */

/* All who wait are to look what there is. */
static void call_waiting(struct tail *t)
{
    if (list_is_empty(&t->waiting)) return;
    list_move_all(&t->waiting, &t->fan->due);
    fan_kick(t->fan);
}

/* From now on the tail is about this log, or about none. */
static void change_log(struct tail *t, uint64_t log_id, bool exists)
{
    empty(t);
    t->log_id = log_id;
    t->exists = exists;
    t->is_sealed = false;
    t->last = 0;
    t->version++;
}

static void append(struct tail *t, struct chunk *c)
{
    size_t before = window_cost(t->window);
    if (t->window && c->first > window_last(t->window)->last + 1) window_free(&t->window);
    if (t->window && c->last <= window_last(t->window)->last) return;
    if (!window_push_back(&t->window, c)) window_free(&t->window); /* it would have a gap */
    while (t->window && t->window->n > 1 && t->window->cost > t->fan->tail_max) {
        window_pop_front(&t->window);
        t->fan->stats.n_evicted++;
    }
    resized(t, before);
    tail_touch(t);
    make_room(t->fan, t);
}

static bool is_shared(const struct tail *t)
{
    return hub_interest(t->fan->hub) != NULL;
}

static void take_events(struct tail *t, struct chunk *c)
{
    /* Without an order the first news may be of long before whoever wants the latest came. */
    if (!t->is_known && !is_shared(t)) fetch_place_latest(t, c->first);
    if (c->last > t->last) t->last = c->last;
    append(t, c);
}

/* News of the tail's log, or of one that it is about from now on. */
static void take(struct tail *t, const struct store_news *news)
{
    bool is_told_in_order = !is_shared(t);
    if (news->is_dropped) {
        change_log(t, news->log_id, false);
    } else {
        if (news->log_id != t->log_id) change_log(t, news->log_id, true);
        if (news->chunk) take_events(t, news->chunk);
        t->is_sealed |= news->is_sealed && is_told_in_order;
    }
    t->is_known |= (news->is_dropped || news->chunk) && is_told_in_order;
    call_waiting(t);
    tail_free_unused(t);
}

/*
 * A read can be ahead of the news: it saw that there is no log, and now the news are of one
 * that began before the tail did. That one was dropped by then.
 */
static bool is_of_the_past(const struct tail *t, const struct store_news *news)
{
    return t->is_known && !t->exists && !news->is_made;
}

static void take_own_news(struct tail *t, const struct store_news *news)
{
    if (news->log_id < t->log_id) return;
    struct store_news seen = *news;
    seen.is_dropped |= is_of_the_past(t, news);
    take(t, &seen);
}

/* Which was the last event of a log that has ended is for a read to say, too. */
static void take_shared_news(struct tail *t, const struct store_news *news)
{
    bool is_other = news->log_id != t->log_id;
    bool is_end = news->is_sealed && !t->is_sealed;
    if (t->is_known && is_other && !t->exists && news->is_dropped) return;
    if (t->is_known && (is_other || is_end)) {
        tail_forget(t);
        return;
    }
    t->version += is_end; /* a read that is under way may have seen less */
    take(t, news);
}

void tail_take_news(struct tail *t, const struct store_news *news)
{
    CHECK(t->magic == TAIL_MAGIC);
    bool is_of_none = news->log_id == 0; /* there was no log, whichever this had been */
    if (is_of_none && t->is_known && !t->exists) return;
    if (news->log_id == t->log_id && !t->exists && !is_of_none) return; /* it was dropped */
    if (is_of_none) tail_forget(t);
    else if (is_shared(t)) take_shared_news(t, news);
    else take_own_news(t, news);
}

/* Whether a read that saw a log was of the one that the tail is about, or of a later one. */
static bool is_believed(const struct tail *t, uint64_t log_id, uint32_t version)
{
    if (version == t->version || is_shared(t)) return version == t->version;
    return log_id == t->log_id ? t->exists : log_id > t->log_id;
}

bool tail_learn(struct tail *t, const struct log_state *state, uint32_t version)
{
    if (!state->exists) {
        if (version != t->version) return false;
        if (t->exists) change_log(t, t->log_id, false);
        t->is_known = true;
        call_waiting(t);
        return false;
    }
    if (!is_believed(t, state->log_id, version)) return false;
    bool is_same = state->log_id == t->log_id && t->exists;
    if (!is_same) change_log(t, state->log_id, true);
    bool is_news = state->last > t->last || (state->is_sealed && !t->is_sealed);
    t->is_known = true;
    t->is_sealed |= state->is_sealed;
    if (state->last > t->last) t->last = state->last;
    if (is_news || !is_same) call_waiting(t);
    return true;
}

void tail_forget(struct tail *t)
{
    empty(t);
    t->is_known = false;
    t->version++;
    fetch_detach(t);
    call_waiting(t);
    tail_free_unused(t);
}

/* ---- chunks from reads ---- */

static bool fits(const struct tail *t, const struct chunk *c)
{
    return window_cost(t->window) + chunk_cost(c) <= t->fan->tail_max;
}

static bool join_one(struct tail *t, struct chunk *c, uint64_t first_of_all)
{
    if (!t->window) return fits(t, c) && window_push_back(&t->window, c);
    uint64_t low = window_first(t->window)->first;
    uint64_t high = window_last(t->window)->last;
    if (c->first >= low && c->last <= high) return true;
    if (c->first < low) return c->last + 1 >= low && fits(t, c) && window_push_front(&t->window, c);
    if (c->first > high + 1) return false;
    /* Room is made of what was there before, never of what was read together with it. */
    while (t->window && !fits(t, c) && window_first(t->window)->last < first_of_all) {
        window_pop_front(&t->window);
        t->fan->stats.n_evicted++;
    }
    return fits(t, c) && window_push_back(&t->window, c);
}

unsigned tail_join(struct tail *t, struct chunk *const *chunks, unsigned n)
{
    size_t before = window_cost(t->window);
    unsigned joined = 0;
    if (t->window && chunks[0]->first < window_first(t->window)->first)
        for (unsigned i = n; i-- > 0;) /* the front, from its end on */
            if (t->window && chunks[i]->first < window_first(t->window)->first)
                joined |= (unsigned)join_one(t, chunks[i], chunks[0]->first) << i;
    for (unsigned i = 0; i < n; i++)
        if (!(joined & 1U << i)) joined |= (unsigned)join_one(t, chunks[i], chunks[0]->first) << i;
    resized(t, before);
    tail_touch(t);
    make_room(t->fan, t);
    return joined;
}
