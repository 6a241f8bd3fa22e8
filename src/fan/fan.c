/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fan: the tails and subscribers of one loop thread.
 *
 * A run takes what is in the inbox, which moves whoever has something new into the list of
 * the due, and then calls them one by one from the front. What a call does to other
 * subscribers only adds to that list or takes from it.
 */
#include "base/mem.h"
#include "fan/fan_impl.h"

enum {
    DEFAULT_TAIL_BYTES = 512 << 10,
    DEFAULT_ALL_TAIL_BYTES = 16 << 20,
};

struct fan *fan_new(struct hub *h, const struct fan_options *options)
{
    struct fan *f = mem_zalloc(sizeof *f);
    if (!f) return NULL;
    f->inbox = inbox_new(options);
    if (!f->inbox) {
        mem_free(f);
        return NULL;
    }
    f->magic = FAN_MAGIC;
    f->hub = h;
    f->all_max = options->all_tail_bytes ? options->all_tail_bytes : DEFAULT_ALL_TAIL_BYTES;
    f->tail_max = options->tail_bytes ? options->tail_bytes : DEFAULT_TAIL_BYTES;
    if (f->tail_max > f->all_max) f->tail_max = f->all_max;
    map_init_borrowing(&f->tails, FAN_MAX_TAILS);
    list_init(&f->due);
    list_init(&f->watched);
    list_init(&f->cached);
    hub_add(h, f);
    return f;
}

void fan_free(struct fan *f)
{
    if (!f) return;
    CHECK(f->magic == FAN_MAGIC && f->stats.n_subs == 0);
    hub_remove(f->hub, f);
    struct map_walk walk = map_walk_begin(&f->tails);
    while (map_walk_next(&f->tails, &walk)) tail_free(walk.value);
    inbox_close(f->inbox);
    map_fini(&f->tails);
    mem_free(f->mail.batches);
    f->magic = 0;
    mem_free(f);
}

static void take_batch(struct fan *f, const struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        struct tail *t = map_get(&f->tails, b->news[i].log);
        if (!t) continue;
        f->stats.n_news++;
        tail_take_news(t, &b->news[i]);
    }
}

static void forget_all(struct fan *f)
{
    struct map_walk walk = map_walk_begin(&f->tails);
    while (map_walk_next(&f->tails, &walk)) tail_forget(walk.value);
    if (f->tails.len == 0) atomic_store(&f->inbox->has_tails, false);
}

/* The oldest first: the list has the newest first. */
static struct fetch *turned(struct fetch *f)
{
    struct fetch *out = NULL;
    while (f) {
        struct fetch *next = f->next_done;
        f->next_done = out;
        out = f;
        f = next;
    }
    return out;
}

static void take(struct fan *f, bool is_run)
{
    inbox_take(f->inbox, &f->mail, is_run);
    f->stats.n_missed = f->mail.n_missed;
    if (f->mail.has_missed) forget_all(f);
    for (size_t i = 0; i < f->mail.n_batches; i++) {
        take_batch(f, f->mail.batches[i]);
        batch_unref(f->mail.batches[i]);
    }
    struct fetch *done = turned(f->mail.done);
    while (done) {
        struct fetch *next = done->next_done;
        fetch_finish(done);
        done = next;
    }
    f->mail.n_batches = 0;
    f->mail.done = NULL;
}

void fan_take(struct fan *f)
{
    take(f, false);
}

void fan_run(struct fan *f)
{
    CHECK(f->magic == FAN_MAGIC && !f->is_running);
    f->is_running = true;
    take(f, true);
    struct list_node *node;
    while ((node = list_pop_front(&f->due))) {
        /* The next one is a cache miss away, when thousands wait. */
        struct list_node *next = list_first(&f->due);
        if (next) __builtin_prefetch(next->next, 1);
        sub_call(CONTAINER_OF(node, struct sub, node));
    }
    f->is_running = false;
}

void fan_kick(struct fan *f)
{
    if (!f->is_running) inbox_kick(f->inbox);
}

void fan_stats(const struct fan *f, struct fan_stats *out)
{
    *out = f->stats;
    out->n_tails = f->tails.len;
}
