/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be done in a session without asking again: documents "session_scope" SES/TOOL, for
 * whatever arguments, and SES/TOOL/HASH, for these. They are of one session alone: a fork asks.
 *
 * The hash is that of the arguments as JSON with its members by rising name, so that neither their
 * order nor how a text was escaped makes a difference. A number counts as it is written: 1 and 1.0
 * are asked for twice, which does no harm.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "io/crypto.h"
#include "session/question_impl.h"

enum {
    SCOPE_ID_BYTES = STORE_NAME_BYTES + 1,
    SCOPE_DOC_BYTES = 2048,
    SCOPE_DEPTH = 64, /* below it members count in the order they have */
};

/* ---- hashes ---- */

static int compare_keys(const void *a, const void *b)
{
    struct weir_slice x = weir_json_key(*(const struct weir_json *const *)a);
    struct weir_slice y = weir_json_key(*(const struct weir_json *const *)b);
    size_t len = x.len < y.len ? x.len : y.len;
    int order = len > 0 ? memcmp(x.ptr, y.ptr, len) : 0;
    if (order != 0) return order;
    return x.len < y.len ? -1 : x.len > y.len;
}

static enum weir_status put_ordered(struct arena *arena, struct weir_buf *out,
                                    const struct weir_json *v, unsigned depth);

static enum weir_status put_object(struct arena *arena, struct weir_buf *out,
                                   const struct weir_json *v, unsigned depth)
{
    size_t n = weir_json_count(v), i = 0;
    const struct weir_json **members = arena_alloc(arena, (n + 1) * sizeof *members);
    if (!members) return arena->status;
    for (const struct weir_json *m = weir_json_first(v); m; m = weir_json_next(m)) members[i++] = m;
    qsort(members, n, sizeof *members, compare_keys);
    enum weir_status st = WEIR_OK;
    weir_json_put_begin_object(out);
    for (i = 0; i < n && st == WEIR_OK; i++) {
        weir_json_put_key_slice(out, weir_json_key(members[i]));
        st = put_ordered(arena, out, members[i], depth);
    }
    weir_json_put_end_object(out);
    return st;
}

static enum weir_status put_array(struct arena *arena, struct weir_buf *out,
                                  const struct weir_json *v, unsigned depth)
{
    enum weir_status st = WEIR_OK;
    weir_json_put_begin_array(out);
    for (const struct weir_json *m = weir_json_first(v); m && st == WEIR_OK; m = weir_json_next(m))
        st = put_ordered(arena, out, m, depth);
    weir_json_put_end_array(out);
    return st;
}

static enum weir_status put_ordered(struct arena *arena, struct weir_buf *out,
                                    const struct weir_json *v, unsigned depth)
{
    enum weir_json_type type = weir_json_type_of(v);
    if (depth > 0 && type == WEIR_JSON_OBJECT) return put_object(arena, out, v, depth - 1);
    if (depth > 0 && type == WEIR_JSON_ARRAY) return put_array(arena, out, v, depth - 1);
    weir_json_put_value(out, v);
    return WEIR_OK;
}

enum weir_status scope_hash(struct arena *arena, const struct weir_json *args,
                            char out[SCOPE_HASH_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[SHA256_BYTES];
    struct weir_buf text;
    weir_buf_init(&text, SESSION_JSON_BYTES);
    enum weir_status st = put_ordered(arena, &text, args, SCOPE_DEPTH);
    if (st == WEIR_OK) st = weir_buf_status(&text);
    if (st == WEIR_OK) {
        sha256(weir_buf_slice(&text), hash);
        for (size_t i = 0; i < sizeof hash; i++) {
            out[2 * i] = digits[hash[i] >> 4];
            out[2 * i + 1] = digits[hash[i] & 15];
        }
        out[SCOPE_HASH_BYTES - 1] = '\0';
    }
    weir_buf_fini(&text);
    return st;
}

/* ---- documents ---- */

/* `hash` empty: whatever the arguments are. False: there can be none of such a name. */
static bool scope_key(char out[SCOPE_ID_BYTES], const struct scope_wish *w, struct weir_slice hash,
                      struct doc_key *key)
{
    bool is_plain = w->tool.len > 0 && !memchr(w->tool.ptr, '/', w->tool.len) &&
                    !memchr(w->tool.ptr, '\0', w->tool.len);
    if (!is_plain) return false;
    int len = snprintf(out, SCOPE_ID_BYTES, "%.*s/%.*s%s%.*s", (int)w->session.len, w->session.ptr,
                       (int)w->tool.len, w->tool.ptr, hash.len > 0 ? "/" : "", (int)hash.len,
                       hash.len > 0 ? hash.ptr : "");
    *key = (struct doc_key){SLICE("session_scope"), slice_of(out, (size_t)len)};
    return len > 0 && len < SCOPE_ID_BYTES;
}

/* Where it is looked for: one of the two. */
struct place {
    struct store *store;
    struct commit_view *view;
};

static enum weir_status look(const struct place *at, struct doc_key key)
{
    struct doc doc;
    if (at->view) return commit_view_doc(at->view, key, &doc);
    enum weir_status st = store_doc_get(at->store, key, &doc);
    if (st == WEIR_OK) doc_fini(&doc);
    return st;
}

static enum weir_status find(const struct place *at, const struct scope_wish *w, const char **scope)
{
    const struct weir_slice hashes[] = {SLICE(""), w->hash};
    static const char *const names[] = {"any-args", "exact-args"};
    char id[SCOPE_ID_BYTES];
    struct doc_key key;
    *scope = NULL;
    for (size_t i = 0; i < 2; i++) {
        if (!scope_key(id, w, hashes[i], &key)) continue;
        enum weir_status st = look(at, key);
        if (st == WEIR_OK) *scope = names[i];
        if (st != WEIR_NOT_FOUND) return st;
    }
    return WEIR_OK;
}

enum weir_status scope_find(struct store *store, const struct scope_wish *w, const char **scope)
{
    return find(&(struct place){.store = store}, w, scope);
}

enum weir_status scope_find_view(struct commit_view *view, const struct scope_wish *w,
                                 const char **scope)
{
    return find(&(struct place){.view = view}, w, scope);
}

static void put_scope(struct weir_buf *out, const struct question *q, const struct outcome *o)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "scope");
    weir_json_put_str(out, o->scope);
    weir_json_put_key(out, "approval");
    weir_json_put_string(out, q->id);
    weir_json_put_key(out, "by");
    weir_json_put_string(out, o->by);
    weir_json_put_key(out, "atMs");
    weir_json_put_int(out, o->at_ms);
    weir_json_put_end_object(out);
}

enum weir_status scope_keep(struct commit *c, const struct question *q, const struct outcome *o)
{
    char id[SCOPE_ID_BYTES];
    struct doc_key key;
    struct weir_buf body;
    bool is_any = strcmp(o->scope, "any-args") == 0;
    const struct scope_wish w = {q->session, q->tool, q->hash};
    if (strcmp(o->scope, "once") == 0) return WEIR_OK;
    if (!scope_key(id, &w, is_any ? SLICE("") : q->hash, &key)) return WEIR_OK;
    weir_buf_init(&body, SCOPE_DOC_BYTES);
    put_scope(&body, q, o);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) commit_put(c, key, DOC_ANY_VERSION, q->owner, weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}
