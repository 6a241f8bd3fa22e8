/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread does all of it, in turns. Being told costs a lock and a flag: whoever tells is the
 * committer. A look that fails is made up for by the next one at everything.
 */
#include "serve/shared.h"

#include <pthread.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "serve/rates.h"

enum { MAX_NAMES = 32, MIN_NODES = 2, NS_PER_MS = 1000000 };

/* What is to be read again. */
struct stale {
    bool has_all; /* keys, secrets and cookies */
    bool has_secrets;
    bool has_cookies;
    bool has_round; /* of rates, which is to be made now */
    unsigned n_names;
    char names[MAX_NAMES][KEY_NAME_BYTES]; /* of keys */
};

struct shared {
    struct shared_options o;
    struct rates *rates;
    pthread_t thread;
    uint64_t all_ns, duty_ns; /* when these were done last; the thread's own */

    pthread_mutex_t lock;
    pthread_cond_t is_told;
    bool must_stop;
    struct stale stale;
    struct list looks;
    unsigned n_looks;
};

/* ---- being told ---- */

static void add_name(struct stale *stale, struct weir_slice name)
{
    if (name.len != KEY_NAME_BYTES) return;
    for (unsigned i = 0; i < stale->n_names; i++)
        if (memcmp(stale->names[i], name.ptr, KEY_NAME_BYTES) == 0) return;
    if (stale->n_names == MAX_NAMES) stale->has_all = true;
    else memcpy(stale->names[stale->n_names++], name.ptr, KEY_NAME_BYTES);
}

static bool is_stale(const struct stale *stale)
{
    return stale->has_all || stale->has_secrets || stale->has_cookies || stale->has_round ||
           stale->n_names > 0;
}

void shared_changed(struct shared *s, struct weir_slice kind, struct weir_slice id)
{
    CHECK(pthread_mutex_lock(&s->lock) == 0);
    if (kind.len == 0) s->stale.has_all = true;
    else if (weir_slice_is(kind, "key")) add_name(&s->stale, id);
    else if (weir_slice_is(kind, "cookie")) s->stale.has_cookies = true;
    else if (weir_slice_is(kind, "secret")) s->stale.has_secrets = true;
    if (is_stale(&s->stale)) CHECK(pthread_cond_signal(&s->is_told) == 0);
    CHECK(pthread_mutex_unlock(&s->lock) == 0);
}

bool shared_look(struct shared *s, struct shared_look *look)
{
    CHECK(pthread_mutex_lock(&s->lock) == 0);
    bool has_room = s->n_looks < SHARED_LOOKS && !s->must_stop;
    if (has_room) {
        list_push_back(&s->looks, &look->node);
        s->n_looks++;
        if (look->is_round) {
            s->stale.has_round = true;
        } else {
            if (look->key[0] != 0) add_name(&s->stale, weir_slice_of(look->key));
            s->stale.has_secrets = s->stale.has_cookies = true;
        }
        CHECK(pthread_cond_signal(&s->is_told) == 0);
    }
    CHECK(pthread_mutex_unlock(&s->lock) == 0);
    return has_room;
}

/* ---- looking ---- */

/* What could not be read is read with the next look at everything. */
static enum weir_status look_at(struct shared *s, const struct stale *stale)
{
    enum weir_status st = WEIR_OK;
    if (stale->has_all) st = keys_refresh(s->o.keys, SLICE(""));
    for (unsigned i = 0; !stale->has_all && i < stale->n_names && st == WEIR_OK; i++)
        st = keys_refresh(s->o.keys, slice_of(stale->names[i], KEY_NAME_BYTES));
    if (st == WEIR_OK && (stale->has_all || stale->has_secrets)) st = links_refresh(s->o.links);
    if (st == WEIR_OK && (stale->has_all || stale->has_secrets || stale->has_cookies))
        st = cookies_refresh(s->o.cookies);
    return st;
}

/* The loop may free it as soon as it is posted. */
static void tell_all(struct list *looks, enum weir_status st)
{
    for (struct list_node *n; (n = list_pop_front(looks));) {
        struct shared_look *look = CONTAINER_OF(n, struct shared_look, node);
        look->status = st;
        loop_post(look->loop, &look->post);
    }
}

static bool is_over(uint64_t *last_ns, uint64_t now_ns, uint64_t ms)
{
    if (now_ns - *last_ns < ms * NS_PER_MS) return false;
    *last_ns = now_ns;
    return true;
}

/*
 * Another node may have come a moment ago, so there are two at least. While nothing can be told,
 * each counts for itself.
 */
static void share_rates(struct shared *s)
{
    unsigned n_nodes = s->o.count_nodes ? s->o.count_nodes(s->o.duty_user) : 1;
    bool is_told = rates_round(s->rates) == WEIR_OK;
    keys_share(s->o.keys, !is_told ? 0 : n_nodes < MIN_NODES ? MIN_NODES : n_nodes);
    if (is_told) keys_asked(s->o.keys);
}

/* The rest of what there is to do. */
static void do_duties(struct shared *s)
{
    if (rates_is_due(s->rates)) share_rates(s);
    if (s->o.duty && is_over(&s->duty_ns, clock_mono_ns(s->o.clock), SHARED_DUTY_MS))
        s->o.duty(s->o.duty_user);
}

static void *run(void *user)
{
    struct shared *s = user;
    struct list looks;
    list_init(&looks);
    CHECK(pthread_mutex_lock(&s->lock) == 0);
    while (!s->must_stop) {
        struct timespec until = clock_deadline(RATES_TICK_MS);
        int result = 0;
        while (!s->must_stop && !is_stale(&s->stale) && result == 0)
            result = pthread_cond_timedwait(&s->is_told, &s->lock, &until);
        struct stale stale = s->stale;
        s->stale = (struct stale){.has_all = false};
        for (struct list_node *n; (n = list_pop_front(&s->looks)); s->n_looks--)
            list_push_back(&looks, n);
        CHECK(pthread_mutex_unlock(&s->lock) == 0);
        if (stale.has_round) share_rates(s);
        stale.has_all |= is_over(&s->all_ns, clock_mono_ns(s->o.clock), SHARED_ALL_MS);
        tell_all(&looks, look_at(s, &stale));
        do_duties(s);
        CHECK(pthread_mutex_lock(&s->lock) == 0);
    }
    CHECK(pthread_mutex_unlock(&s->lock) == 0);
    return NULL;
}

/* ---- life ---- */

void shared_free(struct shared *s)
{
    if (!s) return;
    pthread_cond_destroy(&s->is_told);
    pthread_mutex_destroy(&s->lock);
    rates_free(s->rates);
    mem_free(s);
}

enum weir_status shared_start(struct shared **out, const struct shared_options *options)
{
    pthread_condattr_t attributes;
    struct shared *s = mem_zalloc(sizeof *s);
    *out = NULL;
    if (!s) return WEIR_NOMEM;
    s->o = *options;
    list_init(&s->looks);
    s->all_ns = s->duty_ns = clock_mono_ns(options->clock);
    s->stale.has_all = true; /* what changed since the tables were read */
    keys_share(options->keys, MIN_NODES);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&s->is_told, &attributes);
    pthread_condattr_destroy(&attributes);
    enum weir_status st =
        rates_new(&s->rates, options->store, options->keys, options->node, options->clock);
    if (st == WEIR_OK && pthread_create(&s->thread, NULL, run, s) != 0) st = WEIR_NOMEM;
    if (st == WEIR_OK) *out = s;
    else shared_free(s);
    return st;
}

void shared_stop(struct shared *s)
{
    if (!s) return;
    CHECK(pthread_mutex_lock(&s->lock) == 0);
    s->must_stop = true;
    CHECK(pthread_cond_signal(&s->is_told) == 0);
    CHECK(pthread_mutex_unlock(&s->lock) == 0);
    pthread_join(s->thread, NULL);
    tell_all(&s->looks, WEIR_SHUTDOWN);
}
