/* SPDX-License-Identifier: Apache-2.0 */
/* The document "login-link" HASH: {"key","expiresMs","isUsed"}. Nobody makes a token from it. */
#include "serve/login_shared.h"

#include <string.h>

#include <weir/json.h>

#include "base/slice.h"

enum {
    ID_LEN = 2 * SHA256_BYTES,
    DOC_BYTES = 512,
    VALUES_BYTES = 64 << 10,
    MAX_SEEN = 4 * LOGIN_LINKS,
};

struct link_doc {
    char id[ID_LEN + 1];
    char key[KEY_NAME_BYTES + 1];
    int64_t expires_ms;
    bool is_used;
};

static void make_id(char out[ID_LEN + 1], const unsigned char hash[SHA256_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[ID_LEN] = 0;
}

static struct doc_key key_of(const char *id)
{
    return (struct doc_key){SLICE("login-link"), weir_slice_of(id)};
}

static void put_link(struct commit *c, const struct link_doc *l, int64_t version)
{
    char bytes[DOC_BYTES];
    struct weir_buf body = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    weir_json_put_begin_object(&body);
    weir_json_put_key(&body, "key");
    weir_json_put_str(&body, l->key);
    weir_json_put_key(&body, "expiresMs");
    weir_json_put_int(&body, l->expires_ms);
    weir_json_put_key(&body, "isUsed");
    weir_json_put_bool(&body, l->is_used);
    weir_json_put_end_object(&body);
    commit_put(c, key_of(l->id), version, SLICE(""), weir_buf_slice(&body));
}

static enum weir_status read_link(const struct doc *doc, struct link_doc *out)
{
    const struct weir_json *json = NULL;
    struct weir_json_doc *values = weir_json_doc_new(VALUES_BYTES);
    *out = (struct link_doc){.is_used = false};
    enum weir_status st = values ? weir_json_parse(values, doc->body, &json, NULL) : WEIR_NOMEM;
    struct weir_slice key = weir_json_text(weir_json_get_str(json, "key"));
    if (st == WEIR_OK && (doc->id.len != ID_LEN || key.len != KEY_NAME_BYTES ||
                          !weir_json_int64(weir_json_get_str(json, "expiresMs"), &out->expires_ms)))
        st = WEIR_CORRUPT;
    if (st == WEIR_OK) {
        memcpy(out->id, doc->id.ptr, ID_LEN);
        memcpy(out->key, key.ptr, KEY_NAME_BYTES);
        out->is_used = weir_json_type_of(weir_json_get_str(json, "isUsed")) == WEIR_JSON_TRUE;
    }
    weir_json_doc_free(values);
    return st;
}

/* ---- making ---- */

struct seen {
    struct link_doc all[MAX_SEEN];
    size_t n;
};

static enum weir_status note(void *user, const struct doc *doc)
{
    struct seen *s = user;
    if (s->n < MAX_SEEN && read_link(doc, &s->all[s->n]) == WEIR_OK) s->n++;
    return WEIR_OK;
}

/* Several nodes may forget the same one at a time. */
static void forget(struct store *store, const char *id)
{
    struct commit *c = commit_new(DOC_BYTES);
    if (!c) return;
    commit_remove(c, key_of(id), DOC_ANY_VERSION);
    (void)(store_commit_wait(store, c).status == WEIR_OK);
}

/*
 * Room for one more. One that was used, or has expired, stays for as long again: whoever comes too
 * late is told why.
 */
static enum weir_status make_room(struct store *store, int64_t now_ms)
{
    static const int64_t stays_ms = (int64_t)LOGIN_LINK_LIFE_S * 1000;
    struct seen seen = {.n = 0};
    const struct link_doc *oldest = NULL;
    size_t n_open = 0;
    const struct doc_query query = {.kind = SLICE("login-link"), .limit = MAX_SEEN};
    enum weir_status st = store_doc_list(store, &query, note, &seen);
    for (size_t i = 0; st == WEIR_OK && i < seen.n; i++) {
        const struct link_doc *l = &seen.all[i];
        bool is_open = !l->is_used && l->expires_ms > now_ms;
        n_open += is_open;
        if (is_open && (!oldest || l->expires_ms < oldest->expires_ms)) oldest = l;
        if (l->expires_ms + stays_ms <= now_ms) forget(store, l->id);
    }
    if (n_open >= LOGIN_LINKS && oldest) forget(store, oldest->id);
    return st;
}

enum weir_status login_shared_make(struct store *store, const unsigned char hash[SHA256_BYTES],
                                   struct weir_slice key, int64_t now_ms)
{
    struct link_doc l = {.expires_ms = now_ms + (int64_t)LOGIN_LINK_LIFE_S * 1000};
    enum weir_status st = make_room(store, now_ms);
    struct commit *c = st == WEIR_OK ? commit_new(DOC_BYTES) : NULL;
    if (st == WEIR_OK && !c) st = WEIR_NOMEM;
    if (!c) return st;
    make_id(l.id, hash);
    memcpy(l.key, key.ptr, KEY_NAME_BYTES);
    put_link(c, &l, DOC_MUST_BE_NEW);
    return store_commit_wait(store, c).status;
}

/* ---- using ---- */

static enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    struct login_use *use = user;
    struct doc doc;
    struct link_doc l;
    enum weir_status st = commit_view_doc(view, key_of(use->id), &doc);
    if (st == WEIR_OK) st = read_link(&doc, &l);
    if (st != WEIR_OK) return st;
    use->taken.why = NULL;
    if (l.is_used) use->taken.why = "the link was used already, and works once";
    else if (l.expires_ms <= use->now_ms) use->taken.why = "the link has expired";
    if (use->taken.why) return WEIR_BAD_TOKEN;
    l.is_used = true;
    put_link(c, &l, doc.version);
    memcpy(use->taken.key, l.key, sizeof use->taken.key);
    return WEIR_OK;
}

struct commit *login_shared_use(struct login_use *use, struct weir_slice token, int64_t now_ms)
{
    unsigned char hash[SHA256_BYTES];
    struct commit *c = commit_new(DOC_BYTES);
    if (!c) return NULL;
    *use = (struct login_use){.now_ms = now_ms};
    sha256(token, hash);
    make_id(use->id, hash);
    commit_decide(c, false, decide, use);
    return c;
}
