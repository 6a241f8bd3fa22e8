/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/documents.h"

#include "base/container.h"
#include "base/slice.h"

enum {
    LIST_DEFAULT = 20,
    LIST_MAX = 100,
    LIST_SCAN = 1000,          /* documents looked at for one page */
    LIST_PAGE_BYTES = 4 << 20, /* a page ends behind this much */
    LIST_BYTES = LIST_PAGE_BYTES + STORE_DOC_BYTES + 1024,
};

/* ---- one ---- */

void *document_asked_new(struct exchange *ex, const struct document_kind *kind, size_t size)
{
    struct weir_slice id = exchange_param(ex, 0);
    struct weir_slice owner = resource_owner(ex);
    if (!kind->is_id(id) || id.len >= DOCUMENT_ID_BYTES) {
        exchange_error(ex, kind->missing, NULL);
        return NULL;
    }
    struct document_asked *a = exchange_alloc(ex, size);
    if (!a) {
        resource_store_error(ex, WEIR_NOMEM);
        return NULL;
    }
    memset(a, 0, size);
    a->ex = ex;
    a->loop = worker_loop(exchange_worker(ex));
    a->store = server_store(exchange_server(ex));
    a->kind = kind;
    memcpy(a->id, id.ptr, id.len);
    memcpy(a->owner, owner.ptr, owner.len);
    return a;
}

static void tell_found(struct post *post)
{
    struct document_asked *a = CONTAINER_OF(post, struct document_asked, post);
    struct doc doc = a->doc; /* what is in `a` may be gone with the answer */
    if (a->status == WEIR_OK) a->found(a->ex, a);
    else if (a->status == a->kind->missing) exchange_error(a->ex, a->status, NULL);
    else resource_store_error(a->ex, a->status);
    doc_fini(&doc);
}

/* By a thread of the store's. */
static void look_up(void *user)
{
    struct document_asked *a = user;
    struct doc_key key = {weir_slice_of(a->kind->kind), weir_slice_of(a->id)};
    a->status = store_doc_get(a->store, key, &a->doc);
    bool is_theirs = a->status == WEIR_OK && slice_eq(a->doc.owner, weir_slice_of(a->owner));
    if (a->status == WEIR_NOT_FOUND || (a->status == WEIR_OK && !is_theirs))
        a->status = a->kind->missing;
    loop_post(a->loop, &a->post);
}

void document_ask(struct document_asked *a, document_found_fn found)
{
    a->post.run = tell_found;
    a->found = found;
    a->doc = (struct doc){0};
    if (store_later(a->store, look_up, a) != WEIR_OK) resource_store_error(a->ex, WEIR_NOMEM);
}

static void answer_get(struct exchange *ex, struct document_asked *a)
{
    exchange_json(ex, 200, a->doc.body);
}

void document_get(struct exchange *ex, const struct document_kind *kind)
{
    struct document_asked *a = document_asked_new(ex, kind, sizeof *a);
    if (a) document_ask(a, answer_get);
}

/* ---- pages ---- */

struct listing {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct store *store;
    const struct document_kind *kind;
    document_filter_fn is_wanted;
    const void *wanted;
    char owner[DOCUMENT_OWNER_BYTES];
    char after[DOCUMENT_ID_BYTES]; /* the last one that was looked at */
    uint64_t limit;
    struct weir_buf json;
    size_t n, n_seen;
    bool has_more;
    enum weir_status status;
};

static enum weir_status list_one(void *user, const struct doc *doc)
{
    struct listing *l = user;
    bool is_one = l->kind->is_id(doc->id) && doc->id.len < sizeof l->after;
    bool is_wanted = is_one && (!l->is_wanted || l->is_wanted(l->wanted, doc));
    bool is_full = l->n == l->limit || (l->n > 0 && l->json.len > LIST_PAGE_BYTES);
    if ((is_wanted && is_full) || l->n_seen == LIST_SCAN) {
        l->has_more = true;
        return WEIR_LIMIT;
    }
    l->n_seen++;
    if (!is_one) return WEIR_OK;
    memset(l->after, 0, sizeof l->after);
    memcpy(l->after, doc->id.ptr, doc->id.len);
    if (!is_wanted) return WEIR_OK;
    if (l->n++ > 0) weir_buf_append_char(&l->json, ',');
    weir_buf_append_slice(&l->json, doc->body);
    return weir_buf_status(&l->json);
}

static void answer_list(struct post *post)
{
    struct listing *l = CONTAINER_OF(post, struct listing, post);
    struct weir_buf json = l->json; /* the listing is gone with the answer */
    if (l->status == WEIR_OK) exchange_json(l->ex, 200, weir_buf_slice(&json));
    else resource_store_error(l->ex, l->status);
    weir_buf_fini(&json);
}

/* By a thread of the store's. */
static void run_list(void *user)
{
    struct listing *l = user;
    struct doc_query query = {.kind = weir_slice_of(l->kind->kind),
                              .owner = weir_slice_of(l->owner),
                              .after = weir_slice_of(l->after),
                              .limit = LIST_SCAN + 1,
                              .is_falling = true};
    weir_buf_init(&l->json, LIST_BYTES);
    weir_buf_append_str(&l->json, "{\"data\":[");
    l->status = store_doc_list(l->store, &query, list_one, l);
    if (l->has_more) l->status = WEIR_OK;
    weir_buf_append_str(&l->json, "],\"next_cursor\":");
    weir_json_put_str(&l->json, l->has_more ? l->after : NULL);
    weir_buf_append_char(&l->json, '}');
    if (l->status == WEIR_OK) l->status = weir_buf_status(&l->json);
    loop_post(l->loop, &l->post);
}

bool document_take_limit(struct exchange *ex, uint64_t *limit)
{
    struct weir_slice text;
    *limit = LIST_DEFAULT;
    bool is_good = !exchange_query(ex, "limit", &text) ||
                   (resource_parse_id(text, limit) && *limit > 0 && *limit <= LIST_MAX);
    if (!is_good)
        exchange_error(ex, WEIR_BAD_FIELD, "limit is a whole number from 1 to %d", LIST_MAX);
    return is_good;
}

/* False when that was answered with an error. */
static bool take_page(struct exchange *ex, struct listing *l)
{
    struct weir_slice text;
    if (!document_take_limit(ex, &l->limit)) return false;
    if (!exchange_query(ex, "cursor", &text)) return true;
    if (!l->kind->is_id(text) || text.len >= sizeof l->after) {
        exchange_error(ex, WEIR_BAD_FIELD, "cursor is what next_cursor of a page says");
        return false;
    }
    memcpy(l->after, text.ptr, text.len);
    return true;
}

void documents_list(struct exchange *ex, const struct document_kind *kind,
                    document_filter_fn is_wanted, const void *wanted)
{
    struct weir_slice owner = resource_owner(ex);
    struct listing *l = exchange_alloc(ex, sizeof *l);
    if (!l) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *l = (struct listing){.post = {.run = answer_list},
                          .ex = ex,
                          .loop = worker_loop(exchange_worker(ex)),
                          .store = server_store(exchange_server(ex)),
                          .kind = kind,
                          .is_wanted = is_wanted,
                          .wanted = wanted};
    memcpy(l->owner, owner.ptr, owner.len);
    if (!take_page(ex, l)) return;
    if (store_later(l->store, run_list, l) != WEIR_OK) resource_store_error(ex, WEIR_NOMEM);
}
