/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of an engine: it takes up every run that is in the store, and says that it is there.
 *
 * The lease of a run is its holder's: one document for each engine, renewed for as long as it has
 * runs, and marked when the engine stopped well, so that its runs are not taken for victims of a
 * crash. A store in a folder has one process at a time, which proves that all other holders are
 * gone; at a shared store nodes.c finds out who is.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "flow/flow_impl.h"

enum {
    PAGE_DOCS = 256,
    MAX_NODES = 1024, /* earlier engines that still have runs */
    NODE_BYTES = 256,
};

/* ---- nodes ---- */

static struct doc_key node_key(struct weir_slice holder)
{
    return (struct doc_key){weir_slice_of(flow_node_kind), holder};
}

static void write_body(struct flow *f, struct weir_buf *out, bool is_stopped)
{
    int64_t until_ms = clock_wall_ms(f->options.clock) + (int64_t)f->options.lease_ms;
    weir_buf_printf(out, "{\"until_ms\":%lld,\"is_stopped\":%s", (long long)until_ms,
                    is_stopped ? "true" : "false");
    if (f->nodes) {
        pthread_mutex_lock(&f->lock);
        size_t n_runs = f->runs.len;
        bool is_draining = f->nodes->is_draining;
        pthread_mutex_unlock(&f->lock);
        weir_buf_printf(out, ",\"group\":\"%s\",\"runs\":%zu,\"is_draining\":%s,\"about\":",
                        f->workflows[0]->name, n_runs, is_draining ? "true" : "false");
        weir_json_put_str(out, f->options.about ? f->options.about : "");
    }
    weir_buf_append_char(out, '}');
}

static enum weir_status put_node(struct flow *f, bool is_stopped)
{
    struct weir_buf body;
    struct commit *c = commit_new(NODE_BYTES);
    if (!c) return WEIR_NOMEM;
    weir_buf_init(&body, NODE_BYTES + 2 * FLOW_ABOUT_BYTES);
    write_body(f, &body, is_stopped);
    commit_put(c, node_key(weir_slice_of(f->holder)), DOC_ANY_VERSION, (struct weir_slice){0},
               weir_buf_slice(&body));
    weir_buf_fini(&body);
    enum weir_status st = store_commit_wait(f->store, c).status;
    if (st != WEIR_OK)
        TRACE(f->options.trace, TRACE_WARN, "flow", "the lease cannot be written",
              trace_str("why", weir_slice_of(weir_status_name(st))));
    return st;
}

enum weir_status flow_put_node(struct flow *f, bool is_stopped)
{
    struct nodes *n = f->nodes;
    if (!n) return put_node(f, is_stopped);
    /* Who has said that it stopped says nothing behind that. */
    pthread_mutex_lock(&n->put_lock);
    enum weir_status st = n->has_stopped ? WEIR_SHUTDOWN : put_node(f, is_stopped);
    n->has_stopped |= is_stopped;
    pthread_mutex_unlock(&n->put_lock);
    return st;
}

bool flow_recover_node_stopped_well(struct flow *f, struct weir_slice holder)
{
    struct doc doc;
    if (store_doc_get(f->store, node_key(holder), &doc) != WEIR_OK) return false;
    static const char mark[] = "\"is_stopped\":true";
    bool is_stopped = memmem(doc.body.ptr, doc.body.len, mark, sizeof mark - 1) != NULL;
    doc_fini(&doc);
    return is_stopped;
}

/* ---- suspects ---- */

bool flow_suspect_enter(struct run *r)
{
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    if (!f->suspect) f->suspect = r;
    bool is_its_turn = f->suspect == r;
    if (!is_its_turn && !list_is_linked(&r->suspect)) list_push_back(&f->suspects, &r->suspect);
    pthread_mutex_unlock(&f->lock);
    return is_its_turn;
}

void flow_suspect_leave(struct run *r)
{
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    if (list_is_linked(&r->suspect)) list_remove(&r->suspect);
    if (f->suspect == r) {
        struct list_node *next = list_pop_front(&f->suspects);
        f->suspect = next ? CONTAINER_OF(next, struct run, suspect) : NULL;
        if (f->suspect) flow_post_locked(f->suspect, NEWS_DUE);
    }
    pthread_mutex_unlock(&f->lock);
}

/* ---- the scan ---- */

struct scan {
    struct flow *flow;
    struct map nodes; /* holders whose runs are not all taken: the value is not looked at */
    struct weir_json_doc *json;
    size_t n_seen;
    size_t n_after;
    char after[STORE_NAME_BYTES];
};

static enum weir_status note_node(void *user, const struct doc *doc)
{
    struct scan *scan = user;
    enum weir_status st = map_put(&scan->nodes, doc->id, scan);
    return st == WEIR_LIMIT ? WEIR_OK : st;
}

static enum weir_status take_up(void *user, const struct doc *doc)
{
    struct scan *scan = user;
    struct run_record record;
    scan->n_seen++;
    scan->n_after = doc->id.len;
    memcpy(scan->after, doc->id.ptr, doc->id.len);
    weir_json_doc_reset(scan->json);
    enum weir_status st = flow_run_read(scan->json, doc->body, &record);
    if (st == WEIR_NOMEM) return st;
    if (st == WEIR_OK) (void)map_take(&scan->nodes, record.holder);
    /* Another engine's: each has its own workflows. */
    if (st == WEIR_OK && !flow_workflow(scan->flow, record.workflow)) return WEIR_OK;
    return flow_begin_again(scan->flow, doc->id);
}

static WEIR_MUST_CHECK enum weir_status scan_runs(struct scan *scan)
{
    enum weir_status st = WEIR_OK;
    do {
        const struct doc_query query = {.kind = weir_slice_of(flow_run_kind),
                                        .after = slice_of(scan->after, scan->n_after),
                                        .limit = PAGE_DOCS};
        scan->n_seen = 0;
        st = store_doc_list(scan->flow->store, &query, take_up, scan);
    } while (st == WEIR_OK && scan->n_seen == PAGE_DOCS);
    return st;
}

/* Nobody needs to know any more how they ended. */
static void forget_nodes(struct scan *scan)
{
    struct map_walk w = map_walk_begin(&scan->nodes);
    struct commit *c = commit_new(NODE_BYTES * (scan->nodes.len + 1));
    if (!c) return;
    while (map_walk_next(&scan->nodes, &w)) commit_remove(c, node_key(w.key), DOC_ANY_VERSION);
    enum weir_status st = store_commit_wait(scan->flow->store, c).status;
    if (st != WEIR_OK)
        TRACE(scan->flow->options.trace, TRACE_WARN, "flow", "old leases stay",
              trace_str("why", weir_slice_of(weir_status_name(st))));
}

enum weir_status flow_recover_all(struct flow *f)
{
    struct scan scan = {.flow = f};
    const struct doc_query nodes = {.kind = weir_slice_of(flow_node_kind), .limit = MAX_NODES};
    map_init(&scan.nodes, MAX_NODES);
    scan.json = weir_json_doc_new(0);
    enum weir_status st = scan.json ? WEIR_OK : WEIR_NOMEM;
    if (st == WEIR_OK) st = store_doc_list(f->store, &nodes, note_node, &scan);
    (void)flow_put_node(f, false);
    if (st == WEIR_OK) st = scan_runs(&scan);
    if (st == WEIR_OK && scan.nodes.len > 0) forget_nodes(&scan);
    if (st == WEIR_BUSY) {
        TRACE(f->options.trace, TRACE_WARN, "flow", "more runs than may be in flight");
        st = WEIR_OK;
    }
    weir_json_doc_free(scan.json);
    map_fini(&scan.nodes);
    return st;
}
