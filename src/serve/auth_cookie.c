/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cookie is checked by writing it again and comparing all of it, as links are: there is one text
 * for each, and no second way to write it.
 *
 * `lock` guards the table of what was taken back; `changing` is held by whoever changes the
 * documents too, so that they and the table cannot go different ways.
 */
#include "serve/auth_cookie.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <weir/json.h>

#include "base/check.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"

enum {
    MAGIC = 0x636f6f6b,
    NONCE_BYTES = 16,
    MESSAGE_BYTES = COOKIE_BYTES + 64,
    DOC_BYTES = 8 << 10,
    SWEEP_KEYS = 256, /* documents removed at a time */
};

static const int64_t LIFE_MS = (int64_t)COOKIE_LIFE_S * 1000;
static const int64_t MAX_TIME_MS = 99999999999999; /* COOKIE_TIME_DIGITS */

/* What was taken back of a key's cookies. */
struct revoked {
    char key[KEY_NAME_BYTES];
    int64_t before_ms; /* all that were made up to then */
    unsigned n;
    struct {
        char nonce[COOKIE_NONCE_LEN + 1];
        int64_t expires_ms;
    } each[COOKIES_REVOKED];
};

struct cookies {
    unsigned magic;
    struct store *store;
    struct keys *keys;
    const struct clock *clock;
    struct secret secret;
    pthread_mutex_t changing;
    pthread_rwlock_t lock;
    struct map by_key; /* struct revoked */
};

/* ---- the text ---- */

static void make_mac(const unsigned char secret[SECRET_BYTES], const char *begin,
                     int64_t key_made_ms, unsigned char mac[SHA256_BYTES])
{
    char bytes[MESSAGE_BYTES];
    int len = snprintf(bytes, sizeof bytes, "weir cookie %s\n%lld", begin, (long long)key_made_ms);
    CHECK(len > 0 && (size_t)len < sizeof bytes);
    hmac_sha256(slice_of((const char *)secret, SECRET_BYTES), slice_of(bytes, (size_t)len), mac);
}

void cookie_write(const unsigned char secret[SECRET_BYTES], const struct cookie *cookie,
                  int64_t key_made_ms, char text[COOKIE_BYTES])
{
    unsigned char mac[SHA256_BYTES];
    int len = snprintf(text, COOKIE_BYTES, "1.%s.%lld.%lld.%s.", cookie->key,
                       (long long)cookie->issued_ms, (long long)cookie->expires_ms, cookie->nonce);
    CHECK(len > 0 && len + COOKIE_MAC_LEN < COOKIE_BYTES);
    make_mac(secret, text, key_made_ms, mac);
    struct weir_buf rest = {.ptr = text + len, .cap = COOKIE_MAC_LEN, .max = COOKIE_MAC_LEN};
    base64url_write(&rest, slice_of((const char *)mac, sizeof mac));
    CHECK(weir_buf_status(&rest) == WEIR_OK && rest.len == COOKIE_MAC_LEN);
    text[(size_t)len + COOKIE_MAC_LEN] = 0;
}

/* What stands before the next dot; false: there is none. */
static bool take_part(struct weir_slice *text, struct weir_slice *part)
{
    const char *dot = text->len > 0 ? memchr(text->ptr, '.', text->len) : NULL;
    if (!dot) return false;
    *part = slice_of(text->ptr, (size_t)(dot - text->ptr));
    *text = slice_from(*text, part->len + 1);
    return true;
}

static bool take_fixed(struct weir_slice *text, char *out, size_t len)
{
    struct weir_slice part;
    if (!take_part(text, &part) || part.len != len || memchr(part.ptr, 0, len)) return false;
    memcpy(out, part.ptr, len);
    out[len] = 0;
    return true;
}

static bool take_time(struct weir_slice *text, int64_t *out)
{
    struct weir_slice part;
    if (!take_part(text, &part) || part.len == 0 || part.len > COOKIE_TIME_DIGITS) return false;
    *out = 0;
    for (size_t i = 0; i < part.len; i++) {
        if (part.ptr[i] < '0' || part.ptr[i] > '9') return false;
        *out = *out * 10 + (part.ptr[i] - '0');
    }
    return true;
}

bool cookie_parse(struct weir_slice text, struct cookie *out)
{
    struct weir_slice version;
    if (text.len >= COOKIE_BYTES) return false;
    return take_part(&text, &version) && weir_slice_is(version, "1") &&
           take_fixed(&text, out->key, KEY_NAME_BYTES) && take_time(&text, &out->issued_ms) &&
           take_time(&text, &out->expires_ms) && take_fixed(&text, out->nonce, COOKIE_NONCE_LEN);
}

/* ---- what was taken back ---- */

static void forget_expired(struct revoked *r, int64_t now_ms)
{
    unsigned n = 0;
    for (unsigned i = 0; i < r->n; i++)
        if (r->each[i].expires_ms > now_ms) r->each[n++] = r->each[i];
    r->n = n;
}

static bool is_empty(const struct revoked *r, int64_t now_ms)
{
    return r->n == 0 && r->before_ms + LIFE_MS <= now_ms;
}

static bool is_revoked(struct cookies *c, const struct cookie *cookie)
{
    CHECK(pthread_rwlock_rdlock(&c->lock) == 0);
    const struct revoked *r = map_get(&c->by_key, weir_slice_of(cookie->key));
    bool is = r && cookie->issued_ms <= r->before_ms;
    for (unsigned i = 0; r && !is && i < r->n; i++)
        is = memcmp(r->each[i].nonce, cookie->nonce, COOKIE_NONCE_LEN) == 0;
    CHECK(pthread_rwlock_unlock(&c->lock) == 0);
    return is;
}

static struct doc_key doc_of(const struct revoked *r)
{
    return (struct doc_key){.kind = SLICE("cookie"), .id = slice_of(r->key, KEY_NAME_BYTES)};
}

static void put_revoked(struct weir_buf *out, const struct revoked *r)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "beforeMs");
    weir_json_put_int(out, r->before_ms);
    weir_json_put_key(out, "expiresMs");
    weir_json_put_begin_object(out);
    for (unsigned i = 0; i < r->n; i++) {
        weir_json_put_key(out, r->each[i].nonce);
        weir_json_put_int(out, r->each[i].expires_ms);
    }
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

static bool get_revoked(const struct weir_json *json, struct revoked *r)
{
    const struct weir_json *all = weir_json_get_str(json, "expiresMs");
    if (!weir_json_int64(weir_json_get_str(json, "beforeMs"), &r->before_ms)) return false;
    for (const struct weir_json *v = weir_json_first(all); v; v = weir_json_next(v)) {
        struct weir_slice nonce = weir_json_key(v);
        if (r->n == COOKIES_REVOKED || nonce.len != COOKIE_NONCE_LEN) return false;
        memcpy(r->each[r->n].nonce, nonce.ptr, nonce.len);
        if (!weir_json_int64(v, &r->each[r->n++].expires_ms)) return false;
    }
    return weir_json_type_of(all) == WEIR_JSON_OBJECT;
}

/* What a document says; its key's name is not looked at. WEIR_CORRUPT, WEIR_NOMEM. */
static enum weir_status read_row(struct weir_slice body, struct revoked *r)
{
    const struct weir_json *json = NULL;
    struct weir_json_doc *memory = weir_json_doc_new(0);
    enum weir_status st = memory ? weir_json_parse(memory, body, &json, NULL) : WEIR_NOMEM;
    if (st == WEIR_OK && !get_revoked(json, r)) st = WEIR_CORRUPT;
    weir_json_doc_free(memory);
    return st;
}

static bool has_nonce(const struct revoked *r, const char *nonce)
{
    for (unsigned i = 0; i < r->n; i++)
        if (memcmp(r->each[i].nonce, nonce, COOKIE_NONCE_LEN) == 0) return true;
    return false;
}

/* Adds what another row has: what was taken back anywhere is taken back everywhere. */
static void merge(struct revoked *to, const struct revoked *from, int64_t now_ms)
{
    if (from->before_ms > to->before_ms) to->before_ms = from->before_ms;
    for (unsigned i = 0; i < from->n; i++) {
        if (has_nonce(to, from->each[i].nonce)) continue;
        if (to->n == COOKIES_REVOKED) forget_expired(to, now_ms);
        if (to->n == COOKIES_REVOKED) {
            to->before_ms = now_ms;
            to->n = 0;
        }
        to->each[to->n++] = from->each[i];
    }
}

/* Puts a document's row into the table, or adds it to the one that is there. */
static enum weir_status load_one(void *user, const struct doc *doc)
{
    struct cookies *c = user;
    struct revoked *r = mem_zalloc(sizeof *r);
    enum weir_status st = r ? read_row(doc->body, r) : WEIR_NOMEM;
    if (st == WEIR_OK && doc->id.len != KEY_NAME_BYTES) st = WEIR_CORRUPT;
    if (st != WEIR_OK) {
        mem_free(r);
        return st;
    }
    memcpy(r->key, doc->id.ptr, KEY_NAME_BYTES);
    CHECK(pthread_rwlock_wrlock(&c->lock) == 0);
    struct revoked *known = map_get(&c->by_key, doc->id);
    if (known) merge(known, r, clock_wall_ms(c->clock));
    else st = map_put(&c->by_key, slice_of(r->key, KEY_NAME_BYTES), r);
    CHECK(pthread_rwlock_unlock(&c->lock) == 0);
    if (known || st != WEIR_OK) mem_free(r);
    return st;
}

static enum weir_status load_all(struct cookies *c)
{
    struct doc_query query = {.kind = SLICE("cookie"), .limit = KEYS_MAX};
    return store_doc_list(c->store, &query, load_one, c);
}

enum weir_status cookies_refresh(struct cookies *c)
{
    CHECK(c->magic == MAGIC);
    enum weir_status st = secret_refresh(&c->secret);
    CHECK(pthread_mutex_lock(&c->changing) == 0);
    if (st == WEIR_OK) st = load_all(c);
    CHECK(pthread_mutex_unlock(&c->changing) == 0);
    return st;
}

enum weir_status cookies_open(struct cookies **out, struct store *store, struct keys *keys,
                              const struct clock *clock)
{
    *out = NULL;
    struct cookies *c = mem_zalloc(sizeof *c);
    if (!c) return WEIR_NOMEM;
    *c = (struct cookies){.magic = MAGIC, .store = store, .keys = keys, .clock = clock};
    CHECK(pthread_mutex_init(&c->changing, NULL) == 0);
    CHECK(pthread_rwlock_init(&c->lock, NULL) == 0);
    map_init(&c->by_key, KEYS_MAX);
    enum weir_status st = secret_init(&c->secret, store, "cookie");
    if (st == WEIR_OK) st = load_all(c);
    if (st == WEIR_OK) *out = c;
    else cookies_close(c);
    return st;
}

void cookies_close(struct cookies *c)
{
    if (!c) return;
    CHECK(c->magic == MAGIC);
    struct map_walk walk = map_walk_begin(&c->by_key);
    while (map_walk_next(&c->by_key, &walk)) mem_free(walk.value);
    map_fini(&c->by_key);
    secret_fini(&c->secret);
    pthread_rwlock_destroy(&c->lock);
    pthread_mutex_destroy(&c->changing);
    c->magic = 0;
    mem_free(c);
}

/* ---- making ---- */

/* Behind whatever moment all of the key's cookies were taken back at. */
static int64_t issue_time(struct cookies *c, struct weir_slice key, int64_t now_ms)
{
    CHECK(pthread_rwlock_rdlock(&c->lock) == 0);
    const struct revoked *r = map_get(&c->by_key, key);
    int64_t issued_ms = r && r->before_ms >= now_ms ? r->before_ms + 1 : now_ms;
    CHECK(pthread_rwlock_unlock(&c->lock) == 0);
    return issued_ms;
}

static void make_nonce(char out[COOKIE_NONCE_LEN + 1])
{
    unsigned char bytes[NONCE_BYTES];
    struct weir_buf text = {.ptr = out, .cap = COOKIE_NONCE_LEN, .max = COOKIE_NONCE_LEN};
    random_bytes(bytes, sizeof bytes);
    base64url_write(&text, slice_of((const char *)bytes, sizeof bytes));
    CHECK(weir_buf_status(&text) == WEIR_OK && text.len == COOKIE_NONCE_LEN);
    out[COOKIE_NONCE_LEN] = 0;
}

enum weir_status cookies_make(struct cookies *c, struct weir_slice key, struct cookie *out,
                              char text[COOKIE_BYTES])
{
    CHECK(c->magic == MAGIC);
    struct key_info info;
    unsigned char secret[SECRET_BYTES];
    int64_t now_ms = clock_wall_ms(c->clock);
    if (!keys_get(c->keys, key, &info)) return WEIR_NOT_FOUND;
    if (now_ms < 0 || now_ms > MAX_TIME_MS - LIFE_MS - 1) return WEIR_INVALID;
    enum weir_status st = secret_need(&c->secret, secret);
    if (st != WEIR_OK) return st;
    *out = (struct cookie){.issued_ms = issue_time(c, key, now_ms)};
    out->expires_ms = now_ms + LIFE_MS;
    if (info.expires_ms != 0 && info.expires_ms < out->expires_ms)
        out->expires_ms = info.expires_ms;
    memcpy(out->key, info.name, sizeof out->key);
    make_nonce(out->nonce);
    cookie_write(secret, out, info.created_ms, text);
    explicit_bzero(secret, sizeof secret);
    return WEIR_OK;
}

/* ---- checking ---- */

/* Whether we wrote it, for the key that there is now. */
static bool is_ours(struct cookies *c, struct weir_slice text, const struct cookie *cookie)
{
    char right[COOKIE_BYTES];
    struct key_info info;
    unsigned char secret[SECRET_BYTES];
    if (!keys_get(c->keys, weir_slice_of(cookie->key), &info)) return false;
    if (!secret_get(&c->secret, secret)) return false;
    cookie_write(secret, cookie, info.created_ms, right);
    bool is_equal = text.len == strlen(right) && bytes_equal_ct(text.ptr, right, text.len);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(right, sizeof right);
    return is_equal;
}

bool cookies_read(struct cookies *c, struct weir_slice text, struct cookie *out)
{
    CHECK(c->magic == MAGIC);
    struct cookie cookie;
    if (!cookie_parse(text, &cookie) || !is_ours(c, text, &cookie)) return false;
    *out = cookie;
    return clock_wall_ms(c->clock) < cookie.expires_ms && !is_revoked(c, &cookie);
}

enum weir_status cookies_find(struct cookies *c, struct weir_slice text, struct key_found *found,
                              struct cookie *out)
{
    *out = (struct cookie){.issued_ms = 0};
    *found = (struct key_found){.is_expired = false};
    if (!cookies_read(c, text, out)) return WEIR_BAD_TOKEN;
    enum weir_status st = keys_find_named(c->keys, weir_slice_of(out->key), found);
    found->access.is_cookie = true;
    return st;
}

/* ---- taking back ---- */

/* A row that is joined with what other nodes wrote down. */
struct joining {
    struct revoked row;
    int64_t now_ms;
};

static enum weir_status join(void *user, struct commit_view *view, struct commit *commit)
{
    struct joining *j = user;
    struct revoked theirs = {.n = 0};
    struct weir_buf body;
    struct doc doc = {.version = DOC_MUST_BE_NEW};
    enum weir_status st = commit_view_doc(view, doc_of(&j->row), &doc);
    if (st == WEIR_OK) st = read_row(doc.body, &theirs);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    forget_expired(&theirs, j->now_ms);
    merge(&theirs, &j->row, j->now_ms);
    weir_buf_init(&body, DOC_BYTES);
    put_revoked(&body, &theirs);
    if (weir_buf_status(&body) == WEIR_OK)
        commit_put(commit, doc_of(&j->row), doc.version, SLICE(""), weir_buf_slice(&body));
    st = weir_buf_status(&body);
    weir_buf_fini(&body);
    return st;
}

static enum weir_status write_down(struct cookies *c, const struct revoked *r)
{
    enum weir_status st = WEIR_NOMEM;
    struct joining *j = mem_zalloc(sizeof *j);
    struct commit *commit = commit_new(DOC_BYTES);
    if (j && commit) {
        *j = (struct joining){.row = *r, .now_ms = clock_wall_ms(c->clock)};
        commit_decide(commit, false, join, j);
        st = store_commit_wait(c->store, commit).status;
    } else {
        commit_free(commit);
    }
    mem_free(j);
    return st;
}

static void add(struct revoked *r, const struct cookie *cookie, int64_t now_ms)
{
    forget_expired(r, now_ms);
    if (r->n == COOKIES_REVOKED) {
        r->before_ms = now_ms > cookie->issued_ms ? now_ms : cookie->issued_ms;
        r->n = 0;
        return;
    }
    memcpy(r->each[r->n].nonce, cookie->nonce, sizeof cookie->nonce);
    r->each[r->n++].expires_ms = cookie->expires_ms;
}

/* The row of a key, made if need be; NULL: no memory. `changing` is held. */
static struct revoked *row_of(struct cookies *c, const char *key)
{
    struct revoked *r = map_get(&c->by_key, weir_slice_of(key));
    if (r) return r;
    r = mem_zalloc(sizeof *r);
    if (!r) return NULL;
    memcpy(r->key, key, KEY_NAME_BYTES);
    CHECK(pthread_rwlock_wrlock(&c->lock) == 0);
    enum weir_status st = map_put(&c->by_key, slice_of(r->key, KEY_NAME_BYTES), r);
    CHECK(pthread_rwlock_unlock(&c->lock) == 0);
    if (st == WEIR_OK) return r;
    mem_free(r);
    return NULL;
}

enum weir_status cookies_revoke(struct cookies *c, const struct cookie *cookie)
{
    CHECK(c->magic == MAGIC);
    enum weir_status st = WEIR_OK;
    CHECK(pthread_mutex_lock(&c->changing) == 0);
    struct revoked *r = row_of(c, cookie->key);
    if (r && !is_revoked(c, cookie)) {
        /* Before the document: it is refused even when the disk is full. */
        CHECK(pthread_rwlock_wrlock(&c->lock) == 0);
        add(r, cookie, clock_wall_ms(c->clock));
        CHECK(pthread_rwlock_unlock(&c->lock) == 0);
    }
    st = r ? write_down(c, r) : WEIR_NOMEM;
    CHECK(pthread_mutex_unlock(&c->changing) == 0);
    return st;
}

/* Up to SWEEP_KEYS rows of which nothing counts any more. */
static unsigned find_empty(struct cookies *c, int64_t now_ms, struct revoked *out[SWEEP_KEYS])
{
    unsigned n = 0;
    CHECK(pthread_rwlock_wrlock(&c->lock) == 0);
    struct map_walk walk = map_walk_begin(&c->by_key);
    while (n < SWEEP_KEYS && map_walk_next(&c->by_key, &walk)) {
        struct revoked *r = walk.value;
        forget_expired(r, now_ms);
        if (is_empty(r, now_ms)) out[n++] = r;
    }
    CHECK(pthread_rwlock_unlock(&c->lock) == 0);
    return n;
}

struct removing {
    struct revoked **rows;
    unsigned n;
    int64_t now_ms;
};

/* Documents of which nothing counts any more; another node may have added to one. */
static enum weir_status remove_empty(void *user, struct commit_view *view, struct commit *commit)
{
    const struct removing *x = user;
    for (unsigned i = 0; i < x->n; i++) {
        struct doc doc;
        struct revoked theirs = {.n = 0};
        enum weir_status st = commit_view_doc(view, doc_of(x->rows[i]), &doc);
        if (st == WEIR_NOT_FOUND) continue;
        if (st == WEIR_OK) st = read_row(doc.body, &theirs);
        if (st != WEIR_OK) return st;
        forget_expired(&theirs, x->now_ms);
        if (is_empty(&theirs, x->now_ms)) commit_remove(commit, doc_of(x->rows[i]), doc.version);
    }
    return WEIR_OK;
}

static void remove_rows(struct cookies *c, struct revoked *rows[SWEEP_KEYS], unsigned n)
{
    struct removing x = {rows, n, clock_wall_ms(c->clock)};
    struct commit *commit = commit_new((size_t)n * 64);
    if (!commit) return;
    commit_decide(commit, false, remove_empty, &x);
    if (store_commit_wait(c->store, commit).status != WEIR_OK) return;
    CHECK(pthread_rwlock_wrlock(&c->lock) == 0);
    for (unsigned i = 0; i < n; i++) {
        struct revoked *r = map_take(&c->by_key, slice_of(rows[i]->key, KEY_NAME_BYTES));
        mem_free(r);
    }
    CHECK(pthread_rwlock_unlock(&c->lock) == 0);
}

void cookies_sweep(struct cookies *c)
{
    CHECK(c->magic == MAGIC);
    struct revoked *rows[SWEEP_KEYS];
    CHECK(pthread_mutex_lock(&c->changing) == 0);
    unsigned n = find_empty(c, clock_wall_ms(c->clock), rows);
    if (n > 0) remove_rows(c, rows, n);
    CHECK(pthread_mutex_unlock(&c->changing) == 0);
}

/* ---- fields ---- */

const char *cookie_name(bool is_secure)
{
    return is_secure ? "__Host-weir_session" : "weir_session";
}

bool cookie_next(struct weir_slice *field, const char *name, struct weir_slice *value)
{
    size_t name_len = strlen(name);
    while (field->len > 0) {
        const char *end = memchr(field->ptr, ';', field->len);
        struct weir_slice pair = {field->ptr, end ? (size_t)(end - field->ptr) : field->len};
        *field = slice_from(*field, end ? pair.len + 1 : pair.len);
        while (pair.len > 0 && pair.ptr[0] == ' ') pair = slice_from(pair, 1);
        while (pair.len > 0 && pair.ptr[pair.len - 1] == ' ') pair.len--;
        if (pair.len <= name_len || pair.ptr[name_len] != '=' ||
            memcmp(pair.ptr, name, name_len) != 0)
            continue;
        *value = slice_from(pair, name_len + 1);
        return true;
    }
    return false;
}

void cookie_put(struct weir_buf *out, const char *text, int64_t lasts_s, bool is_secure)
{
    weir_buf_printf(out, "%s=%s; HttpOnly; SameSite=Strict; Path=/; Max-Age=%lld%s",
                    cookie_name(is_secure), text, (long long)lasts_s, is_secure ? "; Secure" : "");
}

/* Takes "http://" off; false: it begins otherwise. */
static bool take_scheme(struct weir_slice *url, const char *scheme)
{
    size_t len = strlen(scheme);
    if (url->len < len + 3 || strncasecmp(url->ptr, scheme, len) != 0 ||
        memcmp(url->ptr + len, "://", 3) != 0)
        return false;
    *url = slice_from(*url, len + 3);
    return true;
}

/* Without the port that is the scheme's own. */
static struct weir_slice host_of(struct weir_slice host, const char *scheme)
{
    const char *port = strcmp(scheme, "https") == 0 ? ":443" : ":80";
    size_t len = strlen(port);
    if (host.len > len && memcmp(host.ptr + host.len - len, port, len) == 0) host.len -= len;
    return host;
}

static bool is_same(struct weir_slice origin, const char *scheme, struct weir_slice host)
{
    if (host.len == 0 || !take_scheme(&origin, scheme)) return false;
    origin = host_of(origin, scheme);
    host = host_of(host, scheme);
    return origin.len == host.len && strncasecmp(origin.ptr, host.ptr, host.len) == 0;
}

/* The host of an address, with its port; false: the scheme is another. */
static bool find_host(const char *url, const char *scheme, struct weir_slice *host)
{
    *host = weir_slice_of(url);
    if (!take_scheme(host, scheme)) return false;
    const char *slash = host->len > 0 ? memchr(host->ptr, '/', host->len) : NULL;
    if (slash) host->len = (size_t)(slash - host->ptr);
    return true;
}

static bool is_public(struct weir_slice origin, const char *url, const char *scheme)
{
    struct weir_slice host;
    return find_host(url, scheme, &host) && is_same(origin, scheme, host);
}

static struct weir_slice without_port(struct weir_slice host)
{
    size_t len = host.len;
    while (len > 0 && host.ptr[len - 1] >= '0' && host.ptr[len - 1] <= '9') len--;
    if (len > 0 && host.ptr[len - 1] == ':') host.len = len - 1;
    return host;
}

/*
 * Whether the request came by a proxy that ends TLS: plain HTTP here, https for the world. Then a
 * page of plain HTTP is by whoever is in the network between, though its host is ours.
 */
static bool is_behind_tls(const struct own_origin *own)
{
    struct weir_slice host;
    if (!own->public_url || !find_host(own->public_url, "https", &host)) return false;
    struct weir_slice asked = without_port(own->host);
    host = without_port(host);
    return strcmp(own->scheme, "http") == 0 && host.len > 0 && host.len == asked.len &&
           strncasecmp(host.ptr, asked.ptr, host.len) == 0;
}

bool origin_is_own(struct weir_slice origin, const struct own_origin *own)
{
    if (!is_behind_tls(own) && is_same(origin, own->scheme, own->host)) return true;
    return own->public_url && (is_public(origin, own->public_url, "https") ||
                               is_public(origin, own->public_url, "http"));
}
