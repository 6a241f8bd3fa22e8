/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's life, the streams that a crash has cut, and reading. See gateway.h. */
#include <stdio.h>
#include <string.h>

#include <weir/sse.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "gateway/gateway_impl.h"
#include "io/crypto.h"

enum {
    MAP_BYTES = (3 << 20) - 1024, /* of a map, sealed: so that it fits an event as text */
    GOES_ON_MS = 1000, /* so long others are ended when one could not be: the caller has to renew */
};

static const char log_prefix[] = "gateway/";
enum { PREFIX_LEN = sizeof log_prefix - 1 };

/* ---- life ---- */

enum weir_status gateway_new(struct gateway **out, struct store *store,
                             const struct gateway_options *options)
{
    struct gateway *g = mem_zalloc(sizeof *g);
    *out = NULL;
    if (!g) return WEIR_NOMEM;
    g->magic = GATEWAY_MAGIC;
    g->store = store;
    g->options = *options;
    if (!g->options.clock) g->options.clock = &clock_system;
    if (g->options.keep_ms == 0) g->options.keep_ms = GATEWAY_KEEP_MS;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->is_idle, NULL);
    ulid_source_init(&g->ids, g->options.clock);
    list_init(&g->open);
    *out = g;
    return WEIR_OK;
}

struct gateway *gateway_checked(struct gateway *g)
{
    CHECK(g && g->magic == GATEWAY_MAGIC);
    return g;
}

void gateway_stop(struct gateway *g)
{
    pthread_mutex_lock(&gateway_checked(g)->lock);
    g->is_stopping = true;
    struct list_node *node = list_first(&g->open);
    for (; node; node = list_next(&g->open, node)) forward_abort_locked(node);
    pthread_mutex_unlock(&g->lock);
}

void gateway_free(struct gateway *g)
{
    if (!g) return;
    pthread_mutex_lock(&gateway_checked(g)->lock);
    while (g->n_open > 0) pthread_cond_wait(&g->is_idle, &g->lock);
    pthread_mutex_unlock(&g->lock);
    pthread_cond_destroy(&g->is_idle);
    pthread_mutex_destroy(&g->lock);
    mem_free(g);
}

void gateway_stats(struct gateway *g, struct gateway_stats *out)
{
    pthread_mutex_lock(&gateway_checked(g)->lock);
    *out = g->stats;
    out->n_open = g->n_open;
    pthread_mutex_unlock(&g->lock);
}

/* ---- names ---- */

bool gateway_is_id(struct weir_slice text)
{
    return ulid_is_name(text, "gw_");
}

struct weir_slice gateway_log(char out[GATEWAY_LOG_BYTES], struct weir_slice owner,
                              struct weir_slice id)
{
    int len = snprintf(out, GATEWAY_LOG_BYTES, "%s%.*s/%.*s", log_prefix, (int)owner.len, owner.ptr,
                       (int)id.len, id.ptr);
    CHECK(len > 0 && len < GATEWAY_LOG_BYTES);
    return slice_of(out, (size_t)len);
}

struct doc_key gateway_open_key(struct weir_slice log)
{
    return (struct doc_key){SLICE("gateway_open"), slice_from(log, PREFIX_LEN)};
}

/* ---- the first event ---- */

static const char *type_name(enum model_type type)
{
    return type == MODEL_ANTHROPIC ? "anthropic" : "openai";
}

static enum weir_status put_map(struct weir_buf *out, struct gateway *g, const struct guard *guard,
                                struct weir_slice log)
{
    struct weir_buf sealed;
    enum weir_status st = WEIR_OK;
    weir_buf_init(&sealed, MAP_BYTES);
    weir_buf_append(out, "\"", 1);
    if (token_map_count(guard_tokens(guard)) > 0) {
        st = guard_seal(guard, g->options.vault, log, &sealed);
        if (st == WEIR_OK) base64url_write(out, weir_buf_slice(&sealed));
    }
    weir_buf_append(out, "\"", 1);
    weir_buf_fini(&sealed);
    return st;
}

enum weir_status gateway_put_first(struct weir_buf *out, struct gateway *g, enum model_type type,
                                   const struct guard *guard, struct weir_slice log)
{
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, clock_wall_ms(g->options.clock));
    weir_buf_printf(
        out, "event: gateway\ndata: {\"type\":\"%s\",\"at\":\"%s\",\"map\":", type_name(type), at);
    enum weir_status st = put_map(out, g, guard, log);
    weir_buf_append(out, "}\n\n", 3);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

/* ---- what a crash has cut ---- */

static enum weir_status end_cut(void *user, const struct doc *doc)
{
    struct gateway *g = user;
    char name[STORE_NAME_BYTES];
    struct weir_buf frame;
    bool is_openai = doc->body.len >= 6 && memcmp(doc->body.ptr, "openai", 6) == 0;
    enum model_type type = is_openai ? MODEL_OPENAI : MODEL_ANTHROPIC;
    if (doc->id.len > sizeof name - PREFIX_LEN) return WEIR_OK;
    memcpy(name, log_prefix, PREFIX_LEN);
    memcpy(name + PREFIX_LEN, doc->id.ptr, doc->id.len);
    struct weir_slice log = slice_of(name, PREFIX_LEN + doc->id.len);
    weir_buf_init(&frame, GATEWAY_ERROR_BYTES);
    enum weir_status st = failure_put_frame(&frame, type, "the gateway was restarted meanwhile");
    struct commit *c = st == WEIR_OK ? commit_new(frame.len) : NULL;
    if (c) {
        commit_append(c, log, weir_buf_slice(&frame));
        commit_seal(c, log, g->options.keep_ms);
        commit_remove(c, gateway_open_key(log), DOC_ANY_VERSION);
        st = store_commit_wait(g->store, c).status;
    } else if (st == WEIR_OK) {
        st = WEIR_NOMEM;
    }
    weir_buf_fini(&frame);
    return st;
}

void gateway_put_open(struct weir_buf *out, const struct gateway *g, enum model_type type)
{
    weir_buf_append_str(out, type_name(type));
    if (g->options.node) weir_buf_printf(out, " %s", g->options.node);
}

struct cutting {
    struct gateway *gateway;
    bool (*is_dead)(void *user, struct weir_slice node);
    void *user;
    uint64_t began_ns;
    enum weir_status failed; /* the first that was no success */
};

/* Those behind one that cannot be ended now may be where all is well, unless that takes long. */
static enum weir_status go_on(struct cutting *x, enum weir_status st)
{
    if (x->failed == WEIR_OK) x->failed = st;
    bool is_late = clock_mono_ns(&clock_system) - x->began_ns > (uint64_t)GOES_ON_MS * 1000000;
    return is_late ? x->failed : WEIR_OK;
}

/* Of two nodes that end the same, one comes too late; that is no error. */
static enum weir_status end_of_dead(void *user, const struct doc *doc)
{
    struct cutting *x = user;
    const char *space = doc->body.len > 0 ? memchr(doc->body.ptr, ' ', doc->body.len) : NULL;
    struct weir_slice node = slice_of(NULL, 0);
    if (space) node = slice_from(doc->body, (size_t)(space + 1 - doc->body.ptr));
    if (node.len > 0 && !x->is_dead(x->user, node)) return WEIR_OK;
    enum weir_status st = end_cut(x->gateway, doc);
    return go_on(x, st == WEIR_SEALED || st == WEIR_NOT_FOUND ? WEIR_OK : st);
}

enum weir_status gateway_end_cut(struct gateway *g,
                                 bool (*is_dead)(void *user, struct weir_slice node), void *user)
{
    struct doc_query open = {.kind = SLICE("gateway_open"), .limit = SIZE_MAX};
    struct cutting x = {gateway_checked(g), is_dead, user, clock_mono_ns(&clock_system), WEIR_OK};
    enum weir_status st = store_doc_list(g->store, &open, end_of_dead, &x);
    return st == WEIR_OK ? x.failed : st;
}

enum weir_status gateway_start(struct gateway *g)
{
    struct doc_query open = {.kind = SLICE("gateway_open"), .limit = SIZE_MAX};
    if (gateway_checked(g)->options.node) return WEIR_OK;
    return store_doc_list(g->store, &open, end_cut, g);
}

/* ---- reading ---- */

struct found_map {
    struct weir_json_doc *doc;
    const struct weir_json *map;
};

static void on_first(void *user, const struct weir_sse_event *event)
{
    struct found_map *f = user;
    const struct weir_json *value;
    if (f->map || !weir_slice_is(event->type, "gateway")) return;
    if (weir_json_parse(f->doc, event->data, &value, NULL) == WEIR_OK)
        f->map = weir_json_get_str(value, "map");
}

static enum weir_status open_map(struct gateway *g, struct weir_slice log, struct weir_slice text,
                                 struct guard **out)
{
    size_t len = text.len / 4 * 3 + (text.len % 4 > 0 ? text.len % 4 - 1 : 0);
    if (len == 0) return WEIR_OK;
    void *sealed = mem_alloc(len);
    struct guard *guard = guard_new(g->options.policy);
    enum weir_status st = sealed && guard ? WEIR_OK : WEIR_NOMEM;
    if (st == WEIR_OK && !base64url_read(text, sealed, len)) st = WEIR_CORRUPT;
    if (st == WEIR_OK) st = guard_unseal(guard, g->options.vault, log, slice_of(sealed, len));
    mem_free(sealed);
    if (st == WEIR_OK) *out = guard;
    else guard_free(guard);
    return st;
}

/* The first event of a log, which lies at the beginning of its first chunk. */
static enum weir_status find_map(struct found_map *f, const struct log_read *read)
{
    static const struct weir_sse_handlers handlers = {.on_event = on_first};
    struct weir_sse *sse = weir_sse_new(&handlers, f, NULL);
    enum weir_status st = sse ? WEIR_OK : WEIR_NOMEM;
    for (unsigned i = 0; i < read->n_chunks && st == WEIR_OK && !f->map; i++) {
        st = weir_sse_feed(sse, read->chunks[i]->bytes, read->chunks[i]->len);
    }
    weir_sse_free(sse);
    return st;
}

enum weir_status gateway_map(struct gateway *g, struct weir_slice owner, struct weir_slice id,
                             struct guard **out)
{
    char name[GATEWAY_LOG_BYTES];
    struct weir_slice log = gateway_log(name, owner, id);
    struct log_read read;
    *out = NULL;
    store_read(gateway_checked(g)->store, log, 1, 1, &read);
    if (read.status != WEIR_OK) return read.status;
    struct found_map f = {.doc = weir_json_doc_new(0)};
    enum weir_status st = f.doc ? find_map(&f, &read) : WEIR_NOMEM;
    for (unsigned i = 0; i < read.n_chunks; i++) chunk_unref(read.chunks[i]);
    if (st == WEIR_OK && !f.map) st = WEIR_NOT_FOUND;
    if (st == WEIR_OK) st = open_map(g, log, weir_json_text(f.map), out);
    weir_json_doc_free(f.doc);
    return st;
}
