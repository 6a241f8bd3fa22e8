/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines of other processes at a shared store: who lives, who has how much to do, and giving
 * runs away. A thread of its own looks at the store, for that may wait.
 *
 * An engine is dead when its document has stayed the same for the time of the lease, counted by the
 * clock of whoever looks, and only while the looking worked: who was stopped, or had no store,
 * begins to count anew. That somebody is taken for dead who is not costs work, and no more: each
 * commit of a run is fenced.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "flow/flow_impl.h"

enum {
    OFFER_BYTES = 256,
    WAITING_RUNS = 16 * 1024, /* that nobody has, remembered from look to look */
    LOOKS = 3,                /* in the time of a lease */
    NEWS_MS = 200,            /* between looks because of news */
    IDLE_MS = 60 * 1000,
};

#define NEWS_NS ((uint64_t)NEWS_MS * FLOW_NS_PER_MS)

static const struct hash_key same_for_all = {0x77656972, 0x6e6f6465};

/* ---- who is who ---- */

struct peer *flow_find_peer_locked(const struct flow *f, struct weir_slice holder)
{
    struct nodes *n = f->nodes;
    for (size_t i = 0; i < n->n_peers; i++)
        if (weir_slice_is(holder, n->peers[i].id)) return &n->peers[i];
    return NULL;
}

static bool takes_runs(const struct peer *p)
{
    return !p->is_dead && !p->is_draining;
}

static bool has_takers(const struct nodes *n)
{
    for (size_t i = 0; i < n->n_peers; i++)
        if (takes_runs(&n->peers[i])) return true;
    return false;
}

bool flow_is_giving_locked(const struct flow *f)
{
    const struct nodes *n = f->nodes;
    return n && n->is_draining && !f->is_stopping && has_takers(n);
}

bool flow_takes_runs_locked(const struct flow *f)
{
    const struct nodes *n = f->nodes;
    return !n->is_draining || (!f->is_stopping && !has_takers(n));
}

bool flow_is_giving(struct flow *f)
{
    if (!f->nodes) return false;
    pthread_mutex_lock(&f->lock);
    bool is = flow_is_giving_locked(f);
    pthread_mutex_unlock(&f->lock);
    return is;
}

bool flow_is_away(struct flow *f, enum weir_status st)
{
    struct store_stats stats;
    if (!f->nodes || st != WEIR_STORAGE) return false;
    store_stats(f->store, &stats);
    return !stats.is_broken;
}

static uint64_t weight(const char *holder, struct weir_slice run)
{
    char text[ULID_TEXT_LEN + FLOW_ID_BYTES];
    CHECK(run.len <= FLOW_ID_BYTES);
    memcpy(text, holder, ULID_TEXT_LEN);
    memcpy(text + ULID_TEXT_LEN, run.ptr, run.len);
    return hash_bytes(same_for_all, slice_of(text, ULID_TEXT_LEN + run.len));
}

/*
 * By rendezvous: all who see the same nodes say the same, and one more or less moves few runs.
 * Where all are drained, among those.
 */
const struct peer *flow_chosen_locked(const struct flow *f, struct weir_slice run)
{
    const struct nodes *n = f->nodes;
    const struct peer *best = NULL;
    bool is_any = n->is_draining && !has_takers(n);
    uint64_t most = n->is_draining && !is_any ? 0 : weight(f->holder, run);
    for (size_t i = 0; i < n->n_peers; i++) {
        const struct peer *p = &n->peers[i];
        uint64_t one = takes_runs(p) || (is_any && !p->is_dead) ? weight(p->id, run) : 0;
        if (one <= most) continue;
        most = one;
        best = p;
    }
    return best;
}

bool flow_may_take_from(struct flow *f, struct weir_slice holder)
{
    struct doc doc;
    if (holder.len == 0 || weir_slice_is(holder, f->holder)) return true;
    pthread_mutex_lock(&f->lock);
    const struct peer *p = flow_find_peer_locked(f, holder);
    bool is_known = p != NULL, is_dead = p && p->is_dead;
    pthread_mutex_unlock(&f->lock);
    if (is_known) return is_dead;
    /* One that came a moment ago, or one of which nothing is left. */
    struct doc_key key = {weir_slice_of(flow_node_kind), holder};
    enum weir_status st = store_doc_get(f->store, key, &doc);
    if (st == WEIR_OK) doc_fini(&doc);
    return st == WEIR_NOT_FOUND;
}

static int compare_nodes(const void *a, const void *b)
{
    return strcmp(((const struct flow_node *)a)->id, ((const struct flow_node *)b)->id);
}

bool flow_is_shared(const struct flow *f)
{
    return f->nodes != NULL;
}

size_t flow_nodes(struct flow *f, struct flow_node *out, size_t max)
{
    const struct nodes *n = f->nodes;
    size_t len = 1;
    if (max == 0) return 0;
    pthread_mutex_lock(&f->lock);
    out[0] =
        (struct flow_node){.n_runs = (unsigned)f->runs.len, .is_draining = n && n->is_draining};
    memcpy(out[0].id, f->holder, sizeof out[0].id);
    if (f->options.about && strlen(f->options.about) < sizeof out[0].about)
        memcpy(out[0].about, f->options.about, strlen(f->options.about));
    for (size_t i = 0; n && i < n->n_peers && len < max; i++) {
        const struct peer *p = &n->peers[i];
        if (p->is_dead) continue;
        out[len] = (struct flow_node){.n_runs = p->n_runs, .is_draining = p->is_draining};
        memcpy(out[len].id, p->id, sizeof p->id);
        memcpy(out[len].about, p->about, sizeof p->about);
        len++;
    }
    pthread_mutex_unlock(&f->lock);
    qsort(out + 1, len - 1, sizeof *out, compare_nodes);
    return len;
}

/* ---- sharing out ---- */

void flow_add_offer(struct commit *c, struct weir_slice run, const char *to)
{
    struct weir_buf body;
    weir_buf_init(&body, OFFER_BYTES);
    weir_buf_printf(&body, "{\"to\":\"%s\"}", to);
    commit_put(c, (struct doc_key){weir_slice_of(flow_offer_kind), run}, DOC_ANY_VERSION,
               (struct weir_slice){0}, weir_buf_slice(&body));
    weir_buf_fini(&body);
}

void flow_offer(struct commit *c, struct run *r)
{
    char to[ULID_TEXT_LEN + 1] = "";
    pthread_mutex_lock(&r->flow->lock);
    const struct peer *p = flow_chosen_locked(r->flow, run_id(r));
    if (p) memcpy(to, p->id, sizeof to);
    pthread_mutex_unlock(&r->flow->lock);
    flow_add_offer(c, run_id(r), to);
}

/* With the lock: who has least, when we have a quarter more than is our share; NULL: nobody. */
static struct peer *least_busy_locked(struct flow *f)
{
    struct nodes *n = f->nodes;
    struct peer *least = NULL;
    size_t n_all = f->runs.len, n_engines = 1, n_mine = f->runs.len;
    for (size_t i = 0; i < n->n_peers; i++) {
        struct peer *p = &n->peers[i];
        if (!takes_runs(p)) continue;
        n_all += p->n_runs;
        n_engines++;
        if (!least || p->n_runs < least->n_runs) least = p;
    }
    if (n->is_draining) return least;
    bool is_much = n_mine >= f->options.keep_runs && 4 * n_mine * n_engines > 5 * n_all;
    return is_much && least && least->n_runs < n_mine ? least : NULL;
}

struct offering {
    struct flow *flow;
    struct commit *commit;
    size_t n_id;
    char id[FLOW_ID_BYTES];
};

static void on_offered(void *user, const struct commit_result *result)
{
    struct offering *o = user;
    struct flow *f = o->flow;
    enum weir_status st = result->status;
    if (st == WEIR_OK) atomic_fetch_add(&f->n_given, 1);
    else st = flow_begin_here(f, slice_of(o->id, o->n_id));
    /* WEIR_BUSY and the like: the look at all runs finds it. */
    (void)st;
    commit_free(o->commit);
    mem_free(o);
    pthread_mutex_lock(&f->lock);
    f->n_refs--;
    pthread_cond_broadcast(&f->idle);
    pthread_mutex_unlock(&f->lock);
}

bool flow_share_out(struct flow *f, struct weir_slice run)
{
    char to[ULID_TEXT_LEN + 1];
    pthread_mutex_lock(&f->lock);
    struct peer *p = f->is_stopping || run.len > FLOW_ID_BYTES ? NULL : least_busy_locked(f);
    if (p) {
        memcpy(to, p->id, sizeof to);
        p->n_runs++;
        f->n_refs++;
    }
    pthread_mutex_unlock(&f->lock);
    if (!p) return false;
    struct offering *o = mem_zalloc(sizeof *o);
    struct commit *c = o ? commit_new(OFFER_BYTES) : NULL;
    if (!c) {
        mem_free(o);
        pthread_mutex_lock(&f->lock);
        f->n_refs--;
        pthread_mutex_unlock(&f->lock);
        return false;
    }
    *o = (struct offering){.flow = f, .commit = c, .n_id = run.len};
    memcpy(o->id, run.ptr, run.len);
    flow_add_offer(c, run, to);
    store_commit(f->store, c, on_offered, o);
    return true;
}

/* ---- who lives ---- */

/* What a document of an engine says. False: it is none of ours. */
static bool read_node(struct flow *f, const struct doc *doc, struct peer *out)
{
    const struct weir_json *v;
    int64_t n_runs = 0;
    *out = (struct peer){.version = doc->version};
    if (doc->id.len != ULID_TEXT_LEN || weir_slice_is(doc->id, f->holder)) return false;
    weir_json_doc_reset(f->nodes->json);
    if (weir_json_parse(f->nodes->json, doc->body, &v, NULL) != WEIR_OK) return false;
    struct weir_slice group = weir_json_text(weir_json_get_str(v, "group"));
    /* Engines of before there were groups have nothing but runs that are left. */
    if (group.len > 0 && !weir_slice_is(group, f->workflows[0]->name)) return false;
    struct weir_slice about = weir_json_text(weir_json_get_str(v, "about"));
    (void)weir_json_int64(weir_json_get_str(v, "runs"), &n_runs);
    memcpy(out->id, doc->id.ptr, ULID_TEXT_LEN);
    out->n_runs = n_runs > 0 && n_runs < UINT32_MAX ? (unsigned)n_runs : 0;
    out->is_stopped = weir_json_type_of(weir_json_get_str(v, "is_stopped")) == WEIR_JSON_TRUE;
    out->is_draining = weir_json_type_of(weir_json_get_str(v, "is_draining")) == WEIR_JSON_TRUE;
    if (about.len > 0 && about.len < sizeof out->about) memcpy(out->about, about.ptr, about.len);
    return true;
}

static enum weir_status note_peer(void *user, const struct doc *doc)
{
    struct flow *f = user;
    struct nodes *n = f->nodes;
    struct peer one;
    if (!read_node(f, doc, &one)) return WEIR_OK;
    one.seen_ns = clock_mono_ns(f->options.clock);
    pthread_mutex_lock(&f->lock);
    struct peer *p = flow_find_peer_locked(f, weir_slice_of(one.id));
    if (!p && n->n_peers < FLOW_NODES) {
        p = &n->peers[n->n_peers++];
        *p = one;
    } else if (p && p->version != one.version) {
        *p = one;
    }
    if (p) p->is_listed = true;
    pthread_mutex_unlock(&f->lock);
    return WEIR_OK;
}

static void note_gone(struct nodes *n)
{
    n->scan_ns = 0;
    n->has_gone = true;
}

/* With the lock: documents that are gone. Somebody else may have found out who was dead. */
static void forget_peers(struct nodes *n)
{
    size_t len = 0;
    for (size_t i = 0; i < n->n_peers; i++) {
        if (n->peers[i].is_listed) n->peers[len++] = n->peers[i];
        else if (!n->peers[i].is_dead) note_gone(n);
    }
    n->n_peers = len;
}

/* With the lock. `began_ns` is when the look began; who was cut off counts anew. */
static void judge(struct flow *f, uint64_t began_ns, bool was_cut)
{
    struct nodes *n = f->nodes;
    for (size_t i = 0; i < n->n_peers; i++) {
        struct peer *p = &n->peers[i];
        if (was_cut) p->seen_ns = began_ns;
        uint64_t silent_ns = began_ns > p->seen_ns ? began_ns - p->seen_ns : 0;
        bool is_dead = p->is_stopped || silent_ns >= f->options.lease_ms * FLOW_NS_PER_MS;
        if (is_dead && !p->is_dead) {
            TRACE(f->options.trace, TRACE_INFO, "flow",
                  p->is_stopped ? "another node has stopped" : "another node is dead",
                  trace_str("node", weir_slice_of(p->id)));
            note_gone(n);
        }
        p->is_dead = is_dead;
    }
}

static enum weir_status look_at_nodes(struct flow *f, uint64_t began_ns, bool was_cut)
{
    struct nodes *n = f->nodes;
    const struct doc_query query = {.kind = weir_slice_of(flow_node_kind), .limit = SIZE_MAX};
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < n->n_peers; i++) n->peers[i].is_listed = false;
    n->has_nodes = false;
    pthread_mutex_unlock(&f->lock);
    enum weir_status st = store_doc_list(f->store, &query, note_peer, f);
    if (st != WEIR_OK) return st;
    pthread_mutex_lock(&f->lock);
    forget_peers(n);
    judge(f, began_ns, was_cut);
    pthread_mutex_unlock(&f->lock);
    return WEIR_OK;
}

/* In any order. */
static uint64_t hash_living(struct flow *f)
{
    const struct nodes *n = f->nodes;
    uint64_t sum = 0;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < n->n_peers; i++)
        if (!n->peers[i].is_dead) sum += hash_bytes(same_for_all, weir_slice_of(n->peers[i].id));
    pthread_mutex_unlock(&f->lock);
    return sum;
}

static void tell_of_nodes(struct flow *f)
{
    uint64_t living = hash_living(f);
    if (living == f->nodes->told) return;
    f->nodes->told = living;
    if (f->options.on_nodes) f->options.on_nodes(f->options.user);
}

/* ---- the look at everything ---- */

static uint64_t gap_ns(const struct flow *f)
{
    return f->options.lease_ms * FLOW_NS_PER_MS / LOOKS;
}

static enum weir_status look_at_all(struct flow *f, uint64_t now_ns, bool renews)
{
    struct nodes *n = f->nodes;
    bool is_late =
        n->looked_ns > 0 && now_ns - n->looked_ns >= f->options.lease_ms * FLOW_NS_PER_MS;
    bool was_cut = n->was_cut || is_late;
    n->was_cut = true; /* until all of it has worked */
    enum weir_status st = renews ? flow_put_node(f, false) : WEIR_OK;
    if (st == WEIR_OK) st = look_at_nodes(f, now_ns, was_cut);
    if (st != WEIR_OK) return st;
    n->was_cut = false;
    n->looked_ns = now_ns;
    pthread_mutex_lock(&f->lock);
    n->has_all_changed |= was_cut; /* what is ours may be somebody else's by now */
    pthread_mutex_unlock(&f->lock);
    tell_of_nodes(f);
    st = flow_take_cancels(f);
    if (st == WEIR_OK) st = flow_take_offers(f);
    if (st == WEIR_OK && now_ns >= n->scan_ns) st = flow_take_over(f, now_ns);
    if (st == WEIR_OK && n->has_gone && n->has_thread) {
        n->has_gone = false;
        if (f->options.on_gone) f->options.on_gone(f->options.user);
    }
    return st;
}

static void look(struct flow *f, uint64_t now_ns)
{
    struct nodes *n = f->nodes;
    enum weir_status st = WEIR_OK;
    pthread_mutex_lock(&f->lock);
    bool is_due = now_ns >= n->look_ns, has_offers = n->has_offers;
    bool has_nodes = n->has_nodes && now_ns >= n->looked_ns + NEWS_NS;
    if (is_due) n->look_ns = now_ns + gap_ns(f);
    n->has_offers = false;
    pthread_mutex_unlock(&f->lock);
    if (is_due || has_nodes) st = look_at_all(f, now_ns, is_due);
    else if (has_offers) st = flow_take_offers(f);
    flow_check_changed(f);
    pthread_mutex_lock(&f->lock);
    if (is_due) n->n_looks++;
    pthread_mutex_unlock(&f->lock);
    if (st != WEIR_OK && st != WEIR_SHUTDOWN)
        TRACE(f->options.trace, TRACE_WARN, "flow", "other nodes cannot be looked after",
              trace_str("why", weir_slice_of(weir_status_name(st))));
}

/* With the lock. */
static uint64_t wait_ns(const struct flow *f, uint64_t now_ns)
{
    const struct nodes *n = f->nodes;
    uint64_t at_ns = n->look_ns;
    if (n->has_offers || n->n_changed > 0 || n->has_all_changed) return 0;
    if (n->has_nodes && n->looked_ns + NEWS_NS < at_ns) at_ns = n->looked_ns + NEWS_NS;
    return at_ns > now_ns ? at_ns - now_ns : 0;
}

static void *run(void *flow)
{
    struct flow *f = flow;
    pthread_mutex_lock(&f->lock);
    while (!f->is_quitting) {
        uint64_t now_ns = clock_mono_ns(f->options.clock);
        uint64_t in_ns = wait_ns(f, now_ns);
        bool is_over = f->is_stopping || atomic_load(&f->is_broken);
        if (in_ns > 0 || is_over) {
            uint64_t in_ms = is_over ? IDLE_MS : in_ns / FLOW_NS_PER_MS + 1;
            struct timespec at = clock_deadline(in_ms);
            (void)pthread_cond_timedwait(&f->nodes->woken, &f->lock, &at);
            continue;
        }
        pthread_mutex_unlock(&f->lock);
        look(f, now_ns);
        pthread_mutex_lock(&f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* ---- news ---- */

/* With the lock: is it of interest? */
static bool note_run_locked(struct flow *f, struct weir_slice id)
{
    struct nodes *n = f->nodes;
    if (id.len > FLOW_ID_BYTES || !map_get(&f->runs, id)) return false;
    if (n->n_changed == FLOW_CHANGED) {
        n->has_all_changed = true;
        return true;
    }
    struct changed_run *c = &n->changed[n->n_changed++];
    c->n_id = id.len;
    memcpy(c->id, id.ptr, id.len);
    return true;
}

static bool note_key_locked(struct flow *f, struct doc_key key)
{
    struct nodes *n = f->nodes;
    if (weir_slice_is(key.kind, flow_run_kind) || weir_slice_is(key.kind, flow_cancel_kind))
        return note_run_locked(f, key.id);
    bool is_offer = weir_slice_is(key.kind, flow_offer_kind);
    bool is_node = weir_slice_is(key.kind, flow_node_kind);
    n->has_offers |= is_offer;
    n->has_nodes |= is_node;
    return is_offer || is_node;
}

void flow_docs_changed(struct flow *f, const struct doc_key *keys, size_t n_keys)
{
    struct nodes *n = f->nodes;
    bool is_news = n_keys == 0;
    if (!n) return;
    pthread_mutex_lock(&f->lock);
    if (n_keys == 0) n->has_offers = n->has_nodes = n->has_all_changed = true;
    for (size_t i = 0; i < n_keys; i++) is_news |= note_key_locked(f, keys[i]);
    if (is_news) pthread_cond_signal(&n->woken);
    pthread_mutex_unlock(&f->lock);
}

/* ---- life ---- */

enum weir_status flow_nodes_new(struct flow *f)
{
    pthread_condattr_t attributes;
    struct nodes *n = mem_zalloc(sizeof *n);
    if (!n) return WEIR_NOMEM;
    n->json = weir_json_doc_new(0);
    if (!n->json) {
        mem_free(n);
        return WEIR_NOMEM;
    }
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&n->woken, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&n->put_lock, NULL);
    map_init(&n->waiting, WAITING_RUNS);
    f->nodes = n;
    return WEIR_OK;
}

/* What can be had at once is taken before anything else begins. */
enum weir_status flow_nodes_start(struct flow *f)
{
    struct nodes *n = f->nodes;
    uint64_t now_ns = clock_mono_ns(f->options.clock);
    n->look_ns = now_ns + gap_ns(f);
    enum weir_status st = look_at_all(f, now_ns, true);
    if (st != WEIR_OK && !flow_is_away(f, st)) return st;
    n->has_thread = pthread_create(&n->thread, NULL, run, f) == 0;
    return n->has_thread ? WEIR_OK : WEIR_IO;
}

void flow_nodes_join(struct flow *f)
{
    pthread_mutex_lock(&f->lock);
    pthread_cond_signal(&f->nodes->woken);
    pthread_mutex_unlock(&f->lock);
    if (f->nodes->has_thread) pthread_join(f->nodes->thread, NULL);
    f->nodes->has_thread = false;
}

void flow_nodes_free(struct flow *f)
{
    struct nodes *n = f->nodes;
    if (!n) return;
    map_fini(&n->waiting);
    weir_json_doc_free(n->json);
    pthread_cond_destroy(&n->woken);
    pthread_mutex_destroy(&n->put_lock);
    mem_free(n);
    f->nodes = NULL;
}
