/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/secret.h"

#include <string.h>

#include "base/check.h"
#include "base/slice.h"
#include "io/crypto.h"

enum { DOC_BYTES = 256 };

static struct doc_key key_of(const struct secret *s)
{
    return (struct doc_key){.kind = SLICE("secret"), .id = s->id};
}

/* What a document says; `changing` is held, or nobody else knows the secret yet. */
static WEIR_MUST_CHECK enum weir_status take(struct secret *s, const struct doc *doc)
{
    unsigned char bytes[SECRET_BYTES];
    if (!base64url_read(doc->body, bytes, sizeof bytes)) return WEIR_CORRUPT;
    CHECK(pthread_rwlock_wrlock(&s->lock) == 0);
    memcpy(s->bytes, bytes, SECRET_BYTES);
    s->is_there = true;
    s->version = doc->version;
    CHECK(pthread_rwlock_unlock(&s->lock) == 0);
    explicit_bzero(bytes, sizeof bytes);
    return WEIR_OK;
}

/* One that was read before stays: it may have been replaced here by one that could not be written
 * down, and that leaked, perhaps. */
static WEIR_MUST_CHECK enum weir_status load(struct secret *s)
{
    struct doc doc;
    enum weir_status st = store_doc_get(s->store, key_of(s), &doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st != WEIR_OK) return st;
    if (doc.version != s->version) st = take(s, &doc);
    doc_fini(&doc);
    return st;
}

enum weir_status secret_init(struct secret *s, struct store *store, const char *id)
{
    *s = (struct secret){.store = store, .id = weir_slice_of(id)};
    CHECK(pthread_mutex_init(&s->changing, NULL) == 0);
    CHECK(pthread_rwlock_init(&s->lock, NULL) == 0);
    return load(s);
}

enum weir_status secret_refresh(struct secret *s)
{
    CHECK(pthread_mutex_lock(&s->changing) == 0);
    enum weir_status st = load(s);
    CHECK(pthread_mutex_unlock(&s->changing) == 0);
    return st;
}

void secret_fini(struct secret *s)
{
    pthread_rwlock_destroy(&s->lock);
    pthread_mutex_destroy(&s->changing);
    explicit_bzero(s->bytes, sizeof s->bytes);
}

bool secret_get(struct secret *s, unsigned char out[SECRET_BYTES])
{
    CHECK(pthread_rwlock_rdlock(&s->lock) == 0);
    bool is_there = s->is_there;
    memcpy(out, s->bytes, SECRET_BYTES);
    CHECK(pthread_rwlock_unlock(&s->lock) == 0);
    return is_there;
}

static void set(struct secret *s, const unsigned char bytes[SECRET_BYTES])
{
    CHECK(pthread_rwlock_wrlock(&s->lock) == 0);
    memcpy(s->bytes, bytes, SECRET_BYTES);
    s->is_there = true;
    CHECK(pthread_rwlock_unlock(&s->lock) == 0);
}

static WEIR_MUST_CHECK enum weir_status write_down(struct secret *s, int64_t expected_version,
                                                   const unsigned char bytes[SECRET_BYTES])
{
    struct weir_buf body;
    struct commit_result result = {.status = WEIR_NOMEM};
    struct commit *c = commit_new(DOC_BYTES);
    if (!c) return WEIR_NOMEM;
    weir_buf_init(&body, DOC_BYTES);
    base64url_write(&body, slice_of((const char *)bytes, SECRET_BYTES));
    if (weir_buf_status(&body) == WEIR_OK) {
        commit_put(c, key_of(s), expected_version, SLICE(""), weir_buf_slice(&body));
        result = store_commit_wait(s->store, c);
    } else {
        commit_free(c);
    }
    if (result.status == WEIR_OK) s->version = result.version;
    if (body.len > 0) explicit_bzero(body.ptr, body.len);
    weir_buf_fini(&body);
    return result.status;
}

/* Of two nodes that make the first one, one is told that it exists, and takes the other's. */
static WEIR_MUST_CHECK enum weir_status make(struct secret *s, unsigned char out[SECRET_BYTES])
{
    random_bytes(out, SECRET_BYTES);
    enum weir_status st = write_down(s, DOC_MUST_BE_NEW, out);
    if (st == WEIR_OK) set(s, out);
    if (st != WEIR_EXISTS) return st;
    st = load(s);
    return st == WEIR_OK && !secret_get(s, out) ? WEIR_CONFLICT : st;
}

enum weir_status secret_need(struct secret *s, unsigned char out[SECRET_BYTES])
{
    enum weir_status st = WEIR_OK;
    CHECK(pthread_mutex_lock(&s->changing) == 0);
    if (!secret_get(s, out)) st = make(s, out);
    CHECK(pthread_mutex_unlock(&s->changing) == 0);
    return st;
}

enum weir_status secret_rotate(struct secret *s)
{
    unsigned char bytes[SECRET_BYTES];
    random_bytes(bytes, sizeof bytes);
    CHECK(pthread_mutex_lock(&s->changing) == 0);
    /* Before the document: what leaked is refused even when the disk is full. */
    set(s, bytes);
    enum weir_status st = write_down(s, DOC_ANY_VERSION, bytes);
    CHECK(pthread_mutex_unlock(&s->changing) == 0);
    explicit_bzero(bytes, sizeof bytes);
    return st;
}
