/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At a shared store: runs that nobody has any more are divided among those who live, runs that are
 * offered are taken, and runs that others took, or wished to end, are found. By the thread of
 * nodes.c.
 *
 * A run without a holder is being begun by whoever made it, most of the time: it is taken when two
 * looks have found it. What the one who was chosen does not take, somebody else does after some
 * looks more.
 */
#include "base/mem.h"
#include "base/slice.h"
#include "flow/flow_impl.h"

enum {
    PAGE_DOCS = 256,
    OFFERS = 1024,    /* taken in one look */
    PATIENCE = 4,     /* looks in which the one who was chosen may take it */
    QUIET_LEASES = 6, /* between looks at all runs, when there is nothing to take */
    COMMIT_BYTES = 256,
};

/* ---- offers ---- */

static void on_removed(void *user, const struct commit_result *result)
{
    (void)result; /* gone already, or found again */
    commit_free(user);
}

static void remove_offer(struct flow *f, struct weir_slice run)
{
    struct commit *c = commit_new(COMMIT_BYTES);
    if (!c) return;
    commit_remove(c, (struct doc_key){weir_slice_of(flow_offer_kind), run}, DOC_ANY_VERSION);
    store_commit(f->store, c, on_removed, c);
}

/* With the engine's lock. */
static bool is_for_us_locked(struct flow *f, struct weir_slice run, struct weir_slice to)
{
    if (!flow_takes_runs_locked(f)) return false;
    if (weir_slice_is(to, f->holder)) return true;
    const struct peer *p = flow_find_peer_locked(f, to);
    if (p && !p->is_dead && !p->is_draining) return false;
    return !flow_chosen_locked(f, run);
}

/* Those for us, one behind the other: nothing else is read while a list is. */
struct offers {
    struct flow *flow;
    struct weir_buf ids;
};

static enum weir_status note_offer(void *user, const struct doc *doc)
{
    struct offers *o = user;
    struct flow *f = o->flow;
    const struct weir_json *v;
    weir_json_doc_reset(f->nodes->json);
    if (doc->id.len > FLOW_ID_BYTES) return WEIR_OK;
    if (weir_json_parse(f->nodes->json, doc->body, &v, NULL) != WEIR_OK) return WEIR_OK;
    pthread_mutex_lock(&f->lock);
    bool is_ours = is_for_us_locked(f, doc->id, weir_json_text(weir_json_get_str(v, "to")));
    pthread_mutex_unlock(&f->lock);
    if (!is_ours) return WEIR_OK;
    weir_buf_append_slice(&o->ids, doc->id);
    weir_buf_append_char(&o->ids, '\n');
    return weir_buf_status(&o->ids);
}

/* Of another engine's workflows: WEIR_NOT_FOUND. */
static enum weir_status is_our_kind(struct flow *f, struct weir_slice id)
{
    struct doc doc;
    struct run_record record;
    enum weir_status st =
        store_doc_get(f->store, (struct doc_key){weir_slice_of(flow_run_kind), id}, &doc);
    if (st != WEIR_OK) return st;
    weir_json_doc_reset(f->nodes->json);
    st = flow_run_read(f->nodes->json, doc.body, &record);
    bool is_ours = st == WEIR_OK && flow_workflow(f, record.workflow);
    doc_fini(&doc);
    return is_ours ? WEIR_OK : WEIR_EXISTS;
}

static enum weir_status take_offer(struct flow *f, struct weir_slice id)
{
    enum weir_status st = is_our_kind(f, id);
    if (st == WEIR_NOT_FOUND) remove_offer(f, id); /* it has ended since */
    if (st == WEIR_NOT_FOUND || st == WEIR_EXISTS) return WEIR_OK;
    if (st == WEIR_OK) st = flow_begin_again(f, id);
    if (st == WEIR_OK) remove_offer(f, id);
    return st;
}

enum weir_status flow_take_offers(struct flow *f)
{
    struct offers o = {.flow = f};
    const struct doc_query query = {.kind = weir_slice_of(flow_offer_kind), .limit = OFFERS};
    weir_buf_init(&o.ids, (size_t)OFFERS * (FLOW_ID_BYTES + 1));
    enum weir_status st = store_doc_list(f->store, &query, note_offer, &o);
    struct weir_slice rest = weir_buf_slice(&o.ids);
    while (st == WEIR_OK && rest.len > 0) {
        size_t len = (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr);
        st = take_offer(f, slice_of(rest.ptr, len));
        rest = slice_from(rest, len + 1);
    }
    weir_buf_fini(&o.ids);
    return st;
}

/* ---- runs of the dead ---- */

struct scan {
    struct flow *flow;
    struct map waiting; /* as nodes->waiting, for the next time */
    struct weir_buf ids;
    size_t n_seen, n_left;
    size_t n_after;
    char after[STORE_NAME_BYTES];
};

/* With the engine's lock: whose it is, and whether we may take it in time. */
static bool is_to_be_taken(struct scan *scan, struct weir_slice id, const struct run_record *r)
{
    struct flow *f = scan->flow;
    const struct peer *p = flow_find_peer_locked(f, r->holder);
    bool is_ours = weir_slice_is(r->holder, f->holder);
    bool is_nobodys = r->holder.len == 0;
    if (p && !p->is_dead) return false;
    if (map_get(&f->runs, id)) return false;
    size_t n_looks = 1 + (size_t)(uintptr_t)map_get(&f->nodes->waiting, id);
    scan->n_left++;
    if (map_put(&scan->waiting, id, (void *)(uintptr_t)n_looks) != WEIR_OK) return false;
    if (!flow_takes_runs_locked(f)) return false;
    if (is_ours || (is_nobodys && n_looks < 2)) return is_ours && n_looks >= 2;
    return !flow_chosen_locked(f, id) || n_looks >= PATIENCE;
}

static enum weir_status note_run(void *user, const struct doc *doc)
{
    struct scan *scan = user;
    struct flow *f = scan->flow;
    struct run_record record;
    scan->n_seen++;
    scan->n_after = doc->id.len;
    memcpy(scan->after, doc->id.ptr, doc->id.len);
    weir_json_doc_reset(f->nodes->json);
    enum weir_status st = flow_run_read(f->nodes->json, doc->body, &record);
    if (st == WEIR_NOMEM) return st;
    if (st != WEIR_OK || doc->id.len > FLOW_ID_BYTES) return WEIR_OK;
    pthread_mutex_lock(&f->lock);
    struct peer *p = flow_find_peer_locked(f, record.holder);
    if (p) p->has_runs = true;
    bool is_ours = flow_workflow(f, record.workflow) && is_to_be_taken(scan, doc->id, &record);
    pthread_mutex_unlock(&f->lock);
    if (!is_ours) return WEIR_OK;
    weir_buf_append_slice(&scan->ids, doc->id);
    weir_buf_append_char(&scan->ids, '\n');
    return weir_buf_status(&scan->ids);
}

static enum weir_status take_page(struct scan *scan)
{
    const struct doc_query query = {.kind = weir_slice_of(flow_run_kind),
                                    .after = slice_of(scan->after, scan->n_after),
                                    .limit = PAGE_DOCS};
    scan->n_seen = 0;
    weir_buf_reset(&scan->ids);
    enum weir_status st = store_doc_list(scan->flow->store, &query, note_run, scan);
    struct weir_slice rest = weir_buf_slice(&scan->ids);
    while (st == WEIR_OK && rest.len > 0) {
        size_t len = (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr);
        st = flow_begin_again(scan->flow, slice_of(rest.ptr, len));
        rest = slice_from(rest, len + 1);
    }
    return st;
}

/* Nobody needs to know any more how they ended: none of their runs is left. */
static void forget_dead(struct flow *f)
{
    struct nodes *n = f->nodes;
    struct commit *commits[FLOW_NODES];
    size_t n_commits = 0;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < n->n_peers; i++) {
        const struct peer *p = &n->peers[i];
        struct commit *c = p->is_dead && !p->has_runs ? commit_new(COMMIT_BYTES) : NULL;
        if (!c) continue;
        commit_remove(c, (struct doc_key){weir_slice_of(flow_node_kind), weir_slice_of(p->id)},
                      p->version);
        commits[n_commits++] = c;
    }
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < n_commits; i++)
        store_commit(f->store, commits[i], on_removed, commits[i]);
}

enum weir_status flow_take_over(struct flow *f, uint64_t now_ns)
{
    struct nodes *n = f->nodes;
    struct scan scan = {.flow = f};
    enum weir_status st = WEIR_OK;
    map_init(&scan.waiting, n->waiting.max);
    weir_buf_init(&scan.ids, (size_t)PAGE_DOCS * (FLOW_ID_BYTES + 1));
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < n->n_peers; i++) n->peers[i].has_runs = false;
    pthread_mutex_unlock(&f->lock);
    do st = take_page(&scan);
    while (st == WEIR_OK && scan.n_seen == PAGE_DOCS);
    weir_buf_fini(&scan.ids);
    map_fini(&n->waiting);
    n->waiting = scan.waiting;
    uint64_t lease_ns = f->options.lease_ms * FLOW_NS_PER_MS;
    n->scan_ns = now_ns + (scan.n_left > 0 || st != WEIR_OK ? lease_ns : QUIET_LEASES * lease_ns);
    if (st == WEIR_OK) forget_dead(f);
    /* Somebody else has room, or nobody has. */
    return st == WEIR_BUSY ? WEIR_OK : st;
}

/* ---- news of our own runs ---- */

static enum weir_status note_cancel(void *user, const struct doc *doc)
{
    struct flow *f = user;
    pthread_mutex_lock(&f->lock);
    struct run *r = map_get(&f->runs, doc->id);
    if (r && !(atomic_load(&r->aborted) & ABORT_CANCEL)) flow_abort_locked(r, ABORT_CANCEL);
    pthread_mutex_unlock(&f->lock);
    return WEIR_OK;
}

enum weir_status flow_take_cancels(struct flow *f)
{
    const struct doc_query query = {.kind = weir_slice_of(flow_cancel_kind), .limit = SIZE_MAX};
    return store_doc_list(f->store, &query, note_cancel, f);
}

/*
 * Whether somebody else has it, or has brought it to its end: one of ours has its document until
 * its last commit, and whoever waits for that to land takes no notice of this. What cannot be read
 * is found out by its next commit.
 */
static bool is_lost(struct flow *f, struct weir_slice id)
{
    struct doc doc;
    struct run_record record;
    struct doc_key key = {weir_slice_of(flow_run_kind), id};
    enum weir_status st = store_doc_get(f->store, key, &doc);
    if (st != WEIR_OK) return st == WEIR_NOT_FOUND;
    weir_json_doc_reset(f->nodes->json);
    bool is_read = flow_run_read(f->nodes->json, doc.body, &record) == WEIR_OK;
    bool is_others = is_read && record.holder.len > 0 && !weir_slice_is(record.holder, f->holder);
    doc_fini(&doc);
    return is_others;
}

static bool is_cancelled(struct flow *f, struct weir_slice id)
{
    struct doc doc;
    struct doc_key key = {weir_slice_of(flow_cancel_kind), id};
    if (store_doc_get(f->store, key, &doc) != WEIR_OK) return false;
    doc_fini(&doc);
    return true;
}

static void check_run(struct flow *f, struct weir_slice id)
{
    bool lost = is_lost(f, id), cancelled = !lost && is_cancelled(f, id);
    if (!lost && !cancelled) return;
    pthread_mutex_lock(&f->lock);
    struct run *r = map_get(&f->runs, id);
    /* One that we are about to take from the dead is somebody else's until then. */
    bool is_held = r && (!lost || atomic_load(&r->is_held));
    if (is_held) flow_abort_locked(r, lost ? ABORT_LOST : ABORT_CANCEL);
    pthread_mutex_unlock(&f->lock);
}

/* The ids of all that are here; empty when there is no memory: commits find out. */
static void list_all(struct flow *f, struct weir_buf *ids)
{
    weir_buf_init(ids, SIZE_MAX);
    pthread_mutex_lock(&f->lock);
    struct map_walk w = map_walk_begin(&f->runs);
    while (map_walk_next(&f->runs, &w)) {
        weir_buf_append_slice(ids, w.key);
        weir_buf_append_char(ids, '\n');
    }
    pthread_mutex_unlock(&f->lock);
    if (weir_buf_status(ids) != WEIR_OK) ids->len = 0;
}

static void check_all(struct flow *f)
{
    struct weir_buf ids;
    list_all(f, &ids);
    struct weir_slice rest = weir_buf_slice(&ids);
    while (rest.len > 0) {
        size_t len = (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr);
        check_run(f, slice_of(rest.ptr, len));
        rest = slice_from(rest, len + 1);
    }
    weir_buf_fini(&ids);
}

void flow_check_changed(struct flow *f)
{
    struct nodes *n = f->nodes;
    struct changed_run changed[FLOW_CHANGED];
    pthread_mutex_lock(&f->lock);
    size_t n_changed = n->n_changed;
    bool has_all = n->has_all_changed;
    memcpy(changed, n->changed, n_changed * sizeof *changed);
    n->n_changed = 0;
    n->has_all_changed = false;
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < n_changed && !has_all; i++)
        check_run(f, slice_of(changed[i].id, changed[i].n_id));
    if (has_all) check_all(f);
}
