/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/idempotency.h"

#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"

static const char idempotency_kind[] = "idempotency";
static const int64_t keep_ms = 24 * 3600 * 1000;

enum {
    DOC_BYTES = 2 << 20,  /* an answer that is kept */
    KEPT_BYTES = 8 << 20, /* the same as values */
};

/* ---- reading ---- */

static void put_hex(char out[IDEMPOTENCY_HEX_BYTES], const unsigned char hash[SHA256_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[(size_t)2 * SHA256_BYTES] = 0;
}

/* The hash of several texts; none of them can be taken for a part of another. */
static bool hash_texts(char out[IDEMPOTENCY_HEX_BYTES], const struct weir_slice *texts, size_t n)
{
    struct weir_buf all;
    unsigned char hash[SHA256_BYTES];
    weir_buf_init(&all, SIZE_MAX);
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(&all, "%zu:", texts[i].len);
        weir_buf_append_slice(&all, texts[i]);
    }
    bool is_good = weir_buf_status(&all) == WEIR_OK;
    if (is_good) sha256(weir_buf_slice(&all), hash);
    if (is_good) put_hex(out, hash);
    weir_buf_fini(&all);
    return is_good;
}

static bool is_key(struct weir_slice key)
{
    if (key.len == 0 || key.len > IDEMPOTENCY_KEY_BYTES) return false;
    for (size_t i = 0; i < key.len; i++)
        if (key.ptr[i] <= ' ' || key.ptr[i] >= 0x7f) return false;
    return true;
}

bool idempotency_read(struct exchange *ex, struct idempotency *i)
{
    struct weir_slice key;
    const struct http_head *head = exchange_head(ex);
    struct weir_slice owner = resource_owner(ex);
    *i = (struct idempotency){.now_ms = exchange_wall_ms(ex)};
    if (!http_find(head, "idempotency-key", &key)) return true;
    if (!is_key(key)) {
        exchange_error(ex, WEIR_BAD_FIELD, "Idempotency-Key is 1 to %d visible characters",
                       IDEMPOTENCY_KEY_BYTES);
        return false;
    }
    memcpy(i->owner, owner.ptr, owner.len < sizeof i->owner ? owner.len : sizeof i->owner - 1);
    const struct weir_slice whose[] = {owner, key};
    const struct weir_slice what[] = {head->method_text, head->path, exchange_body(ex)};
    i->has_key = hash_texts(i->id, whose, 2) && hash_texts(i->request, what, 3);
    if (!i->has_key) resource_store_error(ex, WEIR_NOMEM);
    return i->has_key;
}

void idempotency_fini(struct idempotency *i)
{
    weir_json_doc_free(i->kept);
    i->kept = NULL;
}

/* ---- what is kept ---- */

static struct doc_key key_of(const struct idempotency *i)
{
    return (struct doc_key){weir_slice_of(idempotency_kind), weir_slice_of(i->id)};
}

static void put_text(struct weir_buf *out, const char *key, struct weir_slice text)
{
    if (text.len == 0) return;
    weir_json_put_key(out, key);
    weir_json_put_string(out, text);
}

enum weir_status idempotency_keep(const struct idempotency *i, struct commit *c,
                                  const struct idempotent_answer *answer)
{
    struct weir_buf json;
    if (!i->has_key) return WEIR_OK;
    weir_buf_init(&json, DOC_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "at");
    weir_json_put_int(&json, i->now_ms);
    put_text(&json, "request", weir_slice_of(i->request));
    weir_json_put_key(&json, "status");
    weir_json_put_int(&json, answer->status);
    put_text(&json, "turn", answer->turn);
    put_text(&json, "location", answer->location);
    put_text(&json, "body", answer->body);
    weir_json_put_end_object(&json);
    enum weir_status st = weir_buf_status(&json);
    if (st == WEIR_OK)
        commit_put(c, key_of(i), DOC_ANY_VERSION, weir_slice_of(i->owner), weir_buf_slice(&json));
    weir_buf_fini(&json);
    return st;
}

static bool is_expired(const struct weir_json *kept, int64_t now_ms)
{
    int64_t at;
    return !weir_json_int64(weir_json_get_str(kept, "at"), &at) || now_ms - at >= keep_ms;
}

static struct weir_slice text_of(const struct weir_json *kept, const char *key)
{
    return weir_json_text(weir_json_get_str(kept, key));
}

/* What a document says of this request. WEIR_OK: nothing. */
static enum weir_status judge(struct idempotency *i, struct weir_slice body)
{
    const struct weir_json *kept = NULL;
    int64_t status;
    if (!i->kept) i->kept = weir_json_doc_new(KEPT_BYTES);
    if (!i->kept) return WEIR_NOMEM;
    weir_json_doc_reset(i->kept);
    enum weir_status st = weir_json_parse(i->kept, body, &kept, NULL);
    if (st == WEIR_NOMEM) return st;
    if (st != WEIR_OK || is_expired(kept, i->now_ms)) return WEIR_OK;
    if (!weir_slice_is(text_of(kept, "request"), i->request)) return WEIR_IDEMPOTENCY;
    if (!weir_json_int64(weir_json_get_str(kept, "status"), &status)) return WEIR_OK;
    i->first = (struct idempotent_answer){.status = (int)status,
                                          .turn = text_of(kept, "turn"),
                                          .location = text_of(kept, "location"),
                                          .body = text_of(kept, "body")};
    return WEIR_EXISTS;
}

enum weir_status idempotency_look(struct idempotency *i, struct commit_view *view)
{
    struct doc doc;
    if (!i->has_key) return WEIR_OK;
    i->first = (struct idempotent_answer){0};
    enum weir_status st = commit_view_doc(view, key_of(i), &doc);
    if (st == WEIR_OK) return judge(i, doc.body);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

enum weir_status idempotency_decide(struct idempotency *i, struct commit_view *view,
                                    struct commit *c, const struct idempotent_answer *answer)
{
    enum weir_status st = idempotency_look(i, view);
    return st == WEIR_OK ? idempotency_keep(i, c, answer) : st;
}

enum weir_status idempotency_find(struct idempotency *i, struct store *store)
{
    struct doc doc;
    if (!i->has_key) return WEIR_OK;
    enum weir_status st = store_doc_get(store, key_of(i), &doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st != WEIR_OK) return st;
    st = judge(i, doc.body);
    doc_fini(&doc);
    return st;
}

/* ---- answering ---- */

void idempotency_mark(struct exchange *ex)
{
    exchange_field(ex, "Idempotent-Replayed", SLICE("true"));
}

void idempotency_replay(struct exchange *ex, const struct idempotency *i)
{
    idempotency_mark(ex);
    if (i->first.location.len > 0) exchange_field(ex, "Location", i->first.location);
    if (i->first.body.len > 0) exchange_json(ex, i->first.status, i->first.body);
    else exchange_empty(ex, i->first.status);
}

/* ---- sweeping ---- */

struct old {
    char ids[IDEMPOTENCY_SWEEP_DOCS][IDEMPOTENCY_HEX_BYTES];
    int64_t versions[IDEMPOTENCY_SWEEP_DOCS];
    size_t n;
    size_t n_seen;
    char last[IDEMPOTENCY_HEX_BYTES];
    int64_t now_ms;
    struct weir_json_doc *doc;
};

static enum weir_status look(void *user, const struct doc *doc)
{
    struct old *old = user;
    const struct weir_json *kept = NULL;
    old->n_seen++;
    if (doc->id.len >= sizeof old->last) return WEIR_OK;
    memset(old->last, 0, sizeof old->last);
    memcpy(old->last, doc->id.ptr, doc->id.len);
    weir_json_doc_reset(old->doc);
    bool is_read = weir_json_parse(old->doc, doc->body, &kept, NULL) == WEIR_OK;
    if (is_read && !is_expired(kept, old->now_ms)) return WEIR_OK;
    memcpy(old->ids[old->n], old->last, sizeof old->last);
    old->versions[old->n++] = doc->version;
    return WEIR_OK;
}

/* Removes n of them, all or none. */
static bool remove_some(struct store *store, const struct old *old, size_t first, size_t n)
{
    struct commit *c = commit_new(n * IDEMPOTENCY_HEX_BYTES * 2);
    if (!c) return false;
    for (size_t i = first; i < first + n; i++)
        commit_remove(c,
                      (struct doc_key){weir_slice_of(idempotency_kind), weir_slice_of(old->ids[i])},
                      old->versions[i]);
    return store_commit_wait(store, c).status == WEIR_OK;
}

/* One that was used again meanwhile is no reason to keep the others. */
static size_t remove_old(struct store *store, const struct old *old)
{
    size_t n = 0;
    if (old->n == 0) return 0;
    if (remove_some(store, old, 0, old->n)) return old->n;
    for (size_t i = 0; i < old->n; i++) n += remove_some(store, old, i, 1);
    return n;
}

size_t idempotency_sweep(struct store *store, int64_t now_ms)
{
    size_t n_removed = 0;
    bool goes_on = true;
    struct old *old = mem_zalloc(sizeof *old);
    struct weir_json_doc *doc = weir_json_doc_new(KEPT_BYTES);
    while (old && doc && goes_on) {
        struct doc_query query = {.kind = weir_slice_of(idempotency_kind),
                                  .after = weir_slice_of(old->last),
                                  .limit = IDEMPOTENCY_SWEEP_DOCS};
        old->n = old->n_seen = 0;
        old->doc = doc;
        old->now_ms = now_ms;
        goes_on = store_doc_list(store, &query, look, old) == WEIR_OK;
        n_removed += remove_old(store, old);
        goes_on &= old->n_seen == IDEMPOTENCY_SWEEP_DOCS;
    }
    weir_json_doc_free(doc);
    mem_free(old);
    return n_removed;
}
