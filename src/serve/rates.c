/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables: what we tell of each key, and what each other node has told last. What another node
 * took since then counts as taken here. When the last time is too long ago for that (we were idle,
 * or could not read), its bucket's state counts instead: at least as long as there, plus what was
 * taken here meanwhile and cannot be in it.
 */
#include "serve/rates.h"

#include <stdatomic.h>
#include <string.h>

#include <weir/json.h>

#include "base/check.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/slice.h"

enum { MAX_NODES = 1024, NS_PER_MS = 1000000, VALUES_BYTES = 16 << 20 };

/* What we tell of a key. */
struct told {
    char name[KEY_NAME_BYTES + 1];
    uint64_t base;  /* taken before it was told of; what is told begins at 0 */
    uint64_t since; /* which time of being told of that is */
    uint64_t taken; /* as of the last round */
    uint64_t fresh; /* of them, in the last round */
    uint64_t ahead_ns;
    uint64_t used_ns; /* when that was seen to grow last */
    uint64_t n_round; /* the round that found the key */
};

/* What another node told of a key. */
struct heard {
    char name[KEY_NAME_BYTES];
    uint64_t taken, since;
};

struct peer {
    char node[RATES_NODE_BYTES];
    int64_t version;
    uint64_t read_ns; /* when its document was looked at last, changed or not */
    uint64_t n_round; /* the round that found it */
    int64_t at_ms;    /* when it was written, by its own word */
    struct heard *keys;
    size_t n_keys;
};

struct rates {
    struct store *store;
    struct keys *keys;
    const struct clock *clock;
    char node[RATES_NODE_BYTES];
    struct map told;  /* name -> struct told */
    struct map peers; /* node -> struct peer */
    uint64_t n_round;
    bool is_changed; /* there is something to tell */
    struct weir_json_doc *values;

    /* Of rates_is_due(). */
    uint64_t used_ns; /* when somebody used a key last; 0: never */
    uint64_t round_ns;
    atomic_size_t n_told;
};

enum weir_status rates_new(struct rates **out, struct store *store, struct keys *keys,
                           const char *node, const struct clock *clock)
{
    CHECK(strlen(node) < RATES_NODE_BYTES);
    struct rates *r = mem_zalloc(sizeof *r);
    *out = r;
    if (!r) return WEIR_NOMEM;
    *r = (struct rates){.store = store, .keys = keys, .clock = clock};
    memcpy(r->node, node, strlen(node) + 1);
    map_init(&r->told, KEYS_MAX);
    map_init(&r->peers, MAX_NODES);
    r->values = weir_json_doc_new(VALUES_BYTES);
    if (r->values) return WEIR_OK;
    rates_free(r);
    *out = NULL;
    return WEIR_NOMEM;
}

static void peer_free(struct peer *p)
{
    if (p) mem_free(p->keys);
    mem_free(p);
}

void rates_free(struct rates *r)
{
    if (!r) return;
    struct map_walk walk = map_walk_begin(&r->told);
    while (map_walk_next(&r->told, &walk)) mem_free(walk.value);
    walk = map_walk_begin(&r->peers);
    while (map_walk_next(&r->peers, &walk)) peer_free(walk.value);
    map_fini(&r->told);
    map_fini(&r->peers);
    weir_json_doc_free(r->values);
    mem_free(r);
}

bool rates_is_due(struct rates *r)
{
    uint64_t now_ns = clock_mono_ns(r->clock);
    uint64_t ticks = 1 + atomic_load(&r->n_told) / RATES_TICK_KEYS;
    if (r->round_ns != 0 && now_ns - r->round_ns < ticks * RATES_TICK_MS * NS_PER_MS) return false;
    if (keys_was_used(r->keys)) r->used_ns = now_ns;
    if (r->used_ns == 0 || now_ns - r->used_ns > (uint64_t)RATES_IDLE_MS * NS_PER_MS) return false;
    r->round_ns = now_ns;
    return true;
}

/* ---- telling ---- */

static void look_at_use(void *user, const struct key_use *use)
{
    struct rates *r = user;
    struct weir_slice name = weir_slice_of(use->name);
    struct told *t = map_get(&r->told, name);
    if (!t) {
        t = mem_zalloc(sizeof *t);
        if (!t || map_put(&r->told, name, t) != WEIR_OK) {
            mem_free(t);
            return;
        }
        memcpy(t->name, use->name, sizeof t->name);
    }
    t->n_round = r->n_round;
    t->fresh = use->n_taken > t->taken ? use->n_taken - t->taken : 0;
    t->taken = use->n_taken;
    t->ahead_ns = use->ahead_ns;
    if (t->fresh == 0) return;
    t->used_ns = clock_mono_ns(r->clock);
    r->is_changed = true;
}

/* A key that is not told of any more begins at 0 when it is again, as if it were new. */
static void forget_idle(struct rates *r)
{
    uint64_t now_ns = clock_mono_ns(r->clock);
    struct map_walk walk = map_walk_begin(&r->told);
    while (map_walk_next(&r->told, &walk)) {
        struct told *t = walk.value;
        bool is_idle = now_ns - t->used_ns > (uint64_t)RATES_KEEP_MS * NS_PER_MS;
        if (t->n_round != r->n_round) mem_free(map_take(&r->told, walk.key));
        else if (is_idle && t->base != t->taken) {
            t->base = t->taken;
            t->since++;
        }
    }
}

static void put_use(struct weir_buf *out, const struct told *t)
{
    weir_json_put_key(out, t->name);
    weir_json_put_begin_array(out);
    weir_json_put_uint(out, t->taken - t->base);
    weir_json_put_uint(out, t->ahead_ns / NS_PER_MS);
    weir_json_put_uint(out, t->since);
    weir_json_put_end_array(out);
}

static void put_told(struct weir_buf *out, struct rates *r)
{
    size_t n = 0;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "at");
    weir_json_put_int(out, store_wall_ms(r->store));
    weir_json_put_key(out, "keys");
    weir_json_put_begin_object(out);
    struct map_walk walk = map_walk_begin(&r->told);
    while (n < RATES_KEYS && map_walk_next(&r->told, &walk)) {
        const struct told *t = walk.value;
        if (t->taken == t->base) continue;
        put_use(out, t);
        n++;
    }
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
    atomic_store(&r->n_told, n);
}

static struct doc_key doc_of(const char *node)
{
    return (struct doc_key){SLICE("key-use"), weir_slice_of(node)};
}

static enum weir_status tell(struct rates *r)
{
    struct weir_buf body;
    r->is_changed = false;
    keys_each_use(r->keys, look_at_use, r);
    forget_idle(r);
    if (!r->is_changed) return WEIR_OK;
    weir_buf_init(&body, RATES_BODY_BYTES);
    put_told(&body, r);
    enum weir_status st = weir_buf_status(&body);
    struct commit *c = st == WEIR_OK ? commit_new(body.len + 256) : NULL;
    if (st == WEIR_OK && !c) st = WEIR_NOMEM;
    if (c) {
        commit_put(c, doc_of(r->node), DOC_ANY_VERSION, SLICE(""), weir_buf_slice(&body));
        st = store_commit_wait(r->store, c).status;
    }
    weir_buf_fini(&body);
    return st;
}

/* ---- hearing ---- */

/* What a node says of a key. */
struct use {
    int64_t taken, ahead_ms, since;
};

/* NAME: [taken, aheadMs, since]; false: it is not that. */
static bool read_use(const struct weir_json *v, struct use *out)
{
    const struct weir_json *taken = weir_json_first(v);
    const struct weir_json *ahead = taken ? weir_json_next(taken) : NULL;
    const struct weir_json *since = ahead ? weir_json_next(ahead) : NULL;
    return weir_json_key(v).len == KEY_NAME_BYTES && since && weir_json_int64(taken, &out->taken) &&
           weir_json_int64(ahead, &out->ahead_ms) && weir_json_int64(since, &out->since) &&
           out->taken >= 0 && out->ahead_ms >= 0;
}

/* How much of it was known. */
static uint64_t known_of(const struct peer *p, struct weir_slice name, const struct use *use)
{
    for (size_t i = 0; i < p->n_keys; i++) {
        const struct heard *h = &p->keys[i];
        if (memcmp(h->name, name.ptr, KEY_NAME_BYTES) != 0) continue;
        return h->since == (uint64_t)use->since && h->taken <= (uint64_t)use->taken ? h->taken : 0;
    }
    return 0;
}

/* What is left of a time that was told a while ago. */
static uint64_t left_of(const struct rates *r, const struct peer *p, int64_t ahead_ms)
{
    int64_t age_ms = store_wall_ms(r->store) - p->at_ms;
    int64_t left_ms = ahead_ms - (age_ms > 0 ? age_ms : 0);
    return left_ms > 0 ? (uint64_t)left_ms * NS_PER_MS : 0;
}

static void charge(struct rates *r, const struct peer *p, const struct weir_json *v, bool is_late)
{
    struct use use;
    struct key_charge c = {.name = weir_json_key(v)};
    if (!read_use(v, &use)) return;
    c.n_there = (uint64_t)use.taken - known_of(p, c.name, &use);
    if (is_late) {
        const struct told *t = map_get(&r->told, c.name);
        c.n_there = 0;
        c.n_here = t ? t->fresh : 0;
        c.floor_ns = left_of(r, p, use.ahead_ms);
    }
    if (c.n_there > 0 || c.floor_ns > 0) keys_charge(r->keys, &c);
}

static void remember(struct peer *p, const struct weir_json *keys)
{
    struct use use;
    size_t n = 0;
    struct heard *all = mem_alloc((weir_json_count(keys) + 1) * sizeof *all);
    for (const struct weir_json *v = weir_json_first(keys); all && v; v = weir_json_next(v)) {
        if (!read_use(v, &use)) continue;
        memcpy(all[n].name, weir_json_key(v).ptr, KEY_NAME_BYTES);
        all[n].since = (uint64_t)use.since;
        all[n++].taken = (uint64_t)use.taken;
    }
    mem_free(p->keys);
    p->keys = all;
    p->n_keys = n;
}

static void hear(struct rates *r, struct peer *p, const struct doc *doc, bool is_late)
{
    const struct weir_json *json = NULL;
    weir_json_doc_reset(r->values);
    if (weir_json_parse(r->values, doc->body, &json, NULL) != WEIR_OK) return;
    const struct weir_json *keys = weir_json_get_str(json, "keys");
    if (!weir_json_int64(weir_json_get_str(json, "at"), &p->at_ms)) return;
    for (const struct weir_json *v = weir_json_first(keys); v; v = weir_json_next(v))
        charge(r, p, v, is_late);
    remember(p, keys);
    p->version = doc->version;
}

static struct peer *peer_of(struct rates *r, struct weir_slice node)
{
    struct peer *p = map_get(&r->peers, node);
    if (p || node.len >= RATES_NODE_BYTES) return p;
    p = mem_zalloc(sizeof *p);
    if (p && map_put(&r->peers, node, p) != WEIR_OK) {
        mem_free(p);
        return NULL;
    }
    if (p) memcpy(p->node, node.ptr, node.len);
    return p;
}

static enum weir_status look_at_peer(void *user, const struct doc *doc)
{
    struct rates *r = user;
    if (weir_slice_is(doc->id, r->node)) return WEIR_OK;
    struct peer *p = peer_of(r, doc->id);
    if (!p) return WEIR_OK;
    uint64_t now_ns = clock_mono_ns(r->clock);
    /* Of a node that began a moment ago all is known, though it was not heard of before. */
    bool is_late = p->read_ns == 0 ? doc_n_puts(doc->version) > RATES_IDLE_MS / RATES_TICK_MS
                                   : now_ns - p->read_ns > (uint64_t)RATES_IDLE_MS * NS_PER_MS;
    if (doc->version != p->version) hear(r, p, doc, is_late);
    p->read_ns = now_ns;
    p->n_round = r->n_round;
    return WEIR_OK;
}

/* A node that is not there any more leaves its document; several may remove it. */
static void remove_document(struct rates *r, const struct peer *p)
{
    struct commit *c = commit_new(256);
    if (!c) return;
    commit_remove(c, doc_of(p->node), p->version);
    (void)store_commit_wait(r->store, c).status;
}

static void forget_lost(struct rates *r)
{
    int64_t now_ms = store_wall_ms(r->store);
    struct map_walk walk = map_walk_begin(&r->peers);
    while (map_walk_next(&r->peers, &walk)) {
        struct peer *p = walk.value;
        bool is_lost = p->n_round == r->n_round && now_ms - p->at_ms > RATES_LOST_MS;
        if (is_lost) remove_document(r, p);
        if (is_lost || p->n_round != r->n_round) peer_free(map_take(&r->peers, walk.key));
    }
}

enum weir_status rates_round(struct rates *r)
{
    const struct doc_query query = {.kind = SLICE("key-use"), .limit = MAX_NODES};
    r->n_round++;
    enum weir_status st = tell(r);
    if (st != WEIR_OK) return st;
    st = store_doc_list(r->store, &query, look_at_peer, r);
    if (st == WEIR_OK) forget_lost(r);
    return st;
}
