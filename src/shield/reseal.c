/* SPDX-License-Identifier: Apache-2.0 */
/* Going through all maps, a page of them at a time: see reseal.h. */
#include "shield/reseal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "shield/wipe.h"

enum { PAGE = 64, ID_BYTES = STORE_NAME_BYTES + 1 };

struct reseal {
    struct store *store;
    const struct vault *vault;
    const struct trace *trace;
    atomic_bool must_stop;
    pthread_t thread;
    struct reseal_counts counts;

    /* Of the page. */
    char ids[PAGE][ID_BYTES]; /* of those that are old */
    size_t n_ids, n_seen;
    char last[ID_BYTES];
};

static enum weir_status look(void *user, const struct doc *doc)
{
    struct reseal *r = user;
    if (doc->id.len >= ID_BYTES) return WEIR_OK;
    memcpy(r->last, doc->id.ptr, doc->id.len);
    r->last[doc->id.len] = 0;
    r->n_seen++;
    if (vault_is_old(r->vault, doc->body)) memcpy(r->ids[r->n_ids++], r->last, ID_BYTES);
    return WEIR_OK;
}

static enum weir_status seal_anew(struct reseal *r, const struct doc *doc)
{
    struct weir_buf plain, sealed;
    weir_buf_init(&plain, STORE_DOC_BYTES);
    weir_buf_init(&sealed, STORE_DOC_BYTES);
    enum weir_status st = vault_unseal(r->vault, doc->id, doc->body, &plain);
    if (st == WEIR_OK) st = vault_seal(r->vault, doc->id, weir_buf_slice(&plain), &sealed);
    struct commit *c = st == WEIR_OK ? commit_new(sealed.len) : NULL;
    if (st == WEIR_OK && !c) st = WEIR_NOMEM;
    if (c) {
        commit_put(c, (struct doc_key){doc->kind, doc->id}, doc->version, doc->owner,
                   weir_buf_slice(&sealed));
        st = store_commit_wait(r->store, c).status;
    }
    buf_wipe(&plain);
    weir_buf_fini(&sealed);
    return st;
}

/* One that is gone, or was changed meanwhile, is somebody else's business. */
static enum weir_status reseal_one(struct reseal *r, const char *id)
{
    struct doc doc;
    struct doc_key key = {SLICE("shield_map"), weir_slice_of(id)};
    enum weir_status st = store_doc_get(r->store, key, &doc);
    if (st != WEIR_OK) return st == WEIR_NOT_FOUND ? WEIR_OK : st;
    st = vault_is_old(r->vault, doc.body) ? seal_anew(r, &doc) : WEIR_CONFLICT;
    doc_fini(&doc);
    if (st == WEIR_OK) r->counts.n_old++;
    /* No key of the file has sealed it, or it is damaged. */
    if (st == WEIR_NOT_FOUND || st == WEIR_CORRUPT) r->counts.n_lost++;
    bool is_done = st == WEIR_NOT_FOUND || st == WEIR_CORRUPT || st == WEIR_CONFLICT;
    return is_done ? WEIR_OK : st;
}

static enum weir_status run_all(struct reseal *r)
{
    enum weir_status st = WEIR_OK;
    do {
        struct doc_query q = {.kind = SLICE("shield_map"), .limit = PAGE};
        char after[ID_BYTES];
        memcpy(after, r->last, ID_BYTES);
        q.after = weir_slice_of(after);
        r->n_ids = r->n_seen = 0;
        st = store_doc_list(r->store, &q, look, r);
        for (size_t i = 0; st == WEIR_OK && i < r->n_ids && !atomic_load(&r->must_stop); i++)
            st = reseal_one(r, r->ids[i]);
    } while (st == WEIR_OK && r->n_seen > 0 && !atomic_load(&r->must_stop));
    return st;
}

enum weir_status reseal_all(struct store *store, const struct vault *vault,
                            struct reseal_counts *counts)
{
    struct reseal *r = mem_zalloc(sizeof *r);
    if (!r) return WEIR_NOMEM;
    r->store = store;
    r->vault = vault;
    enum weir_status st = run_all(r);
    *counts = r->counts;
    mem_free(r);
    return st;
}

static void *run(void *user)
{
    struct reseal *r = user;
    enum weir_status st = run_all(r);
    if (r->counts.n_old > 0)
        TRACE(r->trace, TRACE_INFO, "shield", "maps were sealed with the newest key",
              trace_uint("maps", r->counts.n_old));
    if (r->counts.n_lost > 0)
        TRACE(r->trace, TRACE_WARN, "shield", "maps that no key of the file opens",
              trace_uint("maps", r->counts.n_lost));
    if (st != WEIR_OK)
        TRACE(r->trace, TRACE_WARN, "shield", "old maps are left to the next start",
              trace_str("why", weir_slice_of(weir_status_text(st))));
    return NULL;
}

enum weir_status reseal_start(struct reseal **out, struct store *store, const struct vault *vault,
                              const struct trace *trace)
{
    struct reseal *r = mem_zalloc(sizeof *r);
    *out = NULL;
    if (!r) return WEIR_NOMEM;
    r->store = store;
    r->vault = vault;
    r->trace = trace;
    if (pthread_create(&r->thread, NULL, run, r) != 0) {
        mem_free(r);
        return WEIR_IO;
    }
    *out = r;
    return WEIR_OK;
}

void reseal_stop(struct reseal *r)
{
    if (!r) return;
    atomic_store(&r->must_stop, true);
    pthread_join(r->thread, NULL);
    mem_free(r);
}
