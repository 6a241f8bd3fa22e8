/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of keys.
 *
 * `lock` guards the table; readers hold it for a lookup in memory and nothing else, writers
 * for one change. `changing` is held by whoever changes the documents, so that document and
 * table cannot go different ways, and is never taken by a request.
 *
 * The rate is a token bucket in the form of one number (GCRA): the time at which the bucket
 * would be full again. A request moves it on by the time one token takes, unless it would
 * then lie further ahead than a full bucket takes to fill. So a key's rate costs one
 * compare-and-swap and no lock, whichever loops the requests come to.
 *
 * The name of a key finds its row, and is no secret; the hash of the whole key is compared in
 * constant time, and one is computed and compared for unknown names too.
 */
#include "serve/access.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <weir/json.h>

#include "base/check.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "io/crypto.h"

enum {
    MAGIC = 0x6b657973,
    SECRET_BYTES = 32,
    SECRET_TEXT_BYTES = 43,
    PREFIX_BYTES = 5,
    DOC_BYTES = 4096, /* a key's document is far smaller */
    NAME_TRIES = 8,
    KEYS_ROOM = KEYS_MAX + 1024, /* nodes may make the last ones at the same time */
    FORGET_TRIES = 4,
};

static const double MAX_BUCKET_NS = 1e18;

static const char prefix[] = "weir_";

struct key {
    struct key_info info;
    unsigned char hash[SHA256_BYTES];
    uint64_t token_ns;            /* the time one request takes from the bucket; 0: no limit */
    uint64_t bucket_ns;           /* the time a full bucket lasts */
    atomic_uint_fast64_t tat;     /* when the bucket is full again, on the monotonic clock */
    atomic_uint_fast64_t n_taken; /* of a key with a rate; never goes back */
    atomic_uint_fast64_t n_free;  /* up to so many, without asking the other nodes */
    uint64_t seen;                /* the number of the last reading of all that had it */
};

struct keys {
    unsigned magic;
    struct store *store;
    const struct clock *clock;
    pthread_mutex_t changing;
    pthread_rwlock_t lock;
    struct map by_name;
    uint64_t n_readings; /* of all keys; by whoever holds `changing` */
    atomic_bool is_used; /* some key with a rate, since somebody asked */
    atomic_uint n_nodes; /* that share a rate; 0: each counts for itself */
};

/* ---- scopes ---- */

static const struct {
    const char *name;
    enum scope scope;
} scope_names[] = {{"read", SCOPE_READ}, {"write", SCOPE_WRITE}, {"admin", SCOPE_ADMIN}};

enum { N_SCOPES = sizeof scope_names / sizeof *scope_names };

static unsigned scope_of(struct weir_slice word)
{
    for (int i = 0; i < N_SCOPES; i++)
        if (weir_slice_is(word, scope_names[i].name)) return scope_names[i].scope;
    return SCOPE_NONE;
}

bool scopes_parse(struct weir_slice text, unsigned *scopes)
{
    *scopes = SCOPE_NONE;
    for (;;) {
        const char *comma = text.len > 0 ? memchr(text.ptr, ',', text.len) : NULL;
        struct weir_slice word = {text.ptr, comma ? (size_t)(comma - text.ptr) : text.len};
        unsigned scope = scope_of(word);
        if (scope == SCOPE_NONE) return false;
        *scopes |= scope;
        if (!comma) return true;
        text = slice_from(text, word.len + 1);
    }
}

void scopes_format(unsigned scopes, char out[SCOPES_TEXT_BYTES])
{
    size_t len = 0;
    for (int i = 0; i < N_SCOPES; i++) {
        size_t word_len = strlen(scope_names[i].name);
        if ((scopes & scope_names[i].scope) == 0) continue;
        if (len > 0) out[len++] = ',';
        memcpy(out + len, scope_names[i].name, word_len);
        len += word_len;
    }
    out[len] = 0;
}

void scopes_put(struct weir_buf *out, unsigned scopes)
{
    weir_json_put_begin_array(out);
    for (int i = 0; i < N_SCOPES; i++)
        if ((scopes & scope_names[i].scope) != 0) weir_json_put_str(out, scope_names[i].name);
    weir_json_put_end_array(out);
}

bool access_covers(const struct access *who, struct weir_slice stream)
{
    size_t len = who->prefix ? strlen(who->prefix) : 0;
    return len <= stream.len && (len == 0 || memcmp(who->prefix, stream.ptr, len) == 0);
}

/* ---- a key's description ---- */

static bool is_readable(struct weir_slice text)
{
    if (utf8_valid_prefix(text) != text.len) return false;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7F) return false;
    return true;
}

static bool is_text(const char *text, size_t cap)
{
    size_t len = strnlen(text, cap);
    return len < cap && is_readable(slice_of(text, len));
}

bool owner_is_name(struct weir_slice name)
{
    return name.len > 0 && is_readable(name) && !memchr(name.ptr, '/', name.len);
}

static const char *wrong_rate(const struct key_info *info)
{
    if (!(info->rate_per_s >= 0) || info->rate_per_s > KEY_MAX_RATE_PER_S ||
        (info->rate_per_s > 0 && info->rate_per_s < 1e-5))
        return "a rate is 0 (no limit) or from 0.00001 to 1000000 requests a second";
    if (!(info->burst >= 0) || info->burst > KEY_MAX_RATE_PER_S ||
        (info->burst > 0 && info->burst < 1))
        return "a burst is from 1 to 1000000 requests";
    return NULL;
}

static const char *wrong_limit(const struct key_info *info)
{
    if (!is_text(info->prefix, sizeof info->prefix))
        return "a prefix is up to 127 bytes of UTF-8 without control characters";
    if (info->prefix[0] != 0 && (info->scopes & SCOPE_ADMIN) != 0)
        return "a key for some streams only cannot have the scope admin, which is for all";
    if (info->lasts_s < 0 || info->lasts_s > KEY_MAX_LIFE_S || info->expires_ms < 0)
        return "a key lasts from a second to 50 years, or for ever";
    return NULL;
}

bool key_info_is_valid(const struct key_info *info, const char **why)
{
    if (info->scopes == SCOPE_NONE || info->scopes > (SCOPE_READ | SCOPE_WRITE | SCOPE_ADMIN))
        *why = "scopes are one or more of read, write, admin";
    else if (!is_text(info->label, sizeof info->label))
        *why = "a label is up to 63 bytes of UTF-8 without control characters";
    else if (!is_text(info->owner, sizeof info->owner))
        *why = "an owner is up to 63 bytes of UTF-8 without control characters";
    else *why = wrong_rate(info);
    if (!*why) *why = wrong_limit(info);
    return *why == NULL;
}

static void put_time(struct weir_buf *out, int64_t wall_ms)
{
    char text[CLOCK_TEXT_BYTES];
    clock_format(text, wall_ms);
    weir_json_put_str(out, wall_ms == 0 ? NULL : text);
}

void key_info_put_wish(struct weir_buf *out, const struct key_info *info)
{
    weir_json_put_key(out, "label");
    weir_json_put_str(out, info->label);
    weir_json_put_key(out, "owner");
    weir_json_put_str(out, info->owner);
    weir_json_put_key(out, "scopes");
    scopes_put(out, info->scopes);
    weir_json_put_key(out, "rate");
    weir_json_put_double(out, info->rate_per_s);
    weir_json_put_key(out, "burst");
    weir_json_put_double(out, info->burst);
    weir_json_put_key(out, "prefix");
    weir_json_put_str(out, info->prefix);
}

void key_info_put(struct weir_buf *out, const struct key_info *info, const char *text)
{
    weir_json_put_begin_object(out);
    if (text) {
        weir_json_put_key(out, "key");
        weir_json_put_str(out, text);
    }
    weir_json_put_key(out, "name");
    weir_json_put_str(out, info->name);
    key_info_put_wish(out, info);
    weir_json_put_key(out, "created");
    put_time(out, info->created_ms);
    weir_json_put_key(out, "expires");
    put_time(out, info->expires_ms);
    weir_json_put_key(out, "revoked");
    put_time(out, info->revoked_ms);
    weir_json_put_end_object(out);
}

/* ---- documents ---- */

static void put_hex(struct weir_buf *out, const unsigned char *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    weir_buf_append_char(out, '"');
    for (size_t i = 0; i < len; i++) {
        weir_buf_append_char(out, digits[bytes[i] >> 4]);
        weir_buf_append_char(out, digits[bytes[i] & 15]);
    }
    weir_buf_append_char(out, '"');
}

static void put_document(struct weir_buf *out, const struct key *key)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "sha256");
    put_hex(out, key->hash, sizeof key->hash);
    weir_json_put_key(out, "created_ms");
    weir_json_put_int(out, key->info.created_ms);
    weir_json_put_key(out, "expires_ms");
    weir_json_put_int(out, key->info.expires_ms);
    weir_json_put_key(out, "revoked_ms");
    weir_json_put_int(out, key->info.revoked_ms);
    key_info_put_wish(out, &key->info);
    weir_json_put_end_object(out);
}

static bool get_hex(struct weir_slice text, unsigned char *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    if (text.len != 2 * len) return false;
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = text.ptr[i] != 0 ? strchr(digits, text.ptr[i]) : NULL;
        if (!digit) return false;
        bytes[i / 2] = (unsigned char)(bytes[i / 2] << 4 | (digit - digits));
    }
    return true;
}

static bool get_text(const struct weir_json *v, char *out, size_t cap)
{
    struct weir_slice text = weir_json_text(v);
    if (weir_json_type_of(v) != WEIR_JSON_STRING || text.len >= cap) return false;
    if (text.len > 0) memcpy(out, text.ptr, text.len);
    out[text.len] = 0;
    return true;
}

static bool get_scopes(const struct weir_json *list, unsigned *scopes)
{
    *scopes = SCOPE_NONE;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        unsigned scope = scope_of(weir_json_text(v));
        if (scope == SCOPE_NONE) return false;
        *scopes |= scope;
    }
    return true;
}

/* What the first documents did not have yet: such a key is for all streams, for ever. */
static bool get_limits(const struct weir_json *v, struct key_info *info)
{
    const struct weir_json *to = weir_json_get_str(v, "prefix");
    const struct weir_json *until = weir_json_get_str(v, "expires_ms");
    return (!to || get_text(to, info->prefix, sizeof info->prefix)) &&
           (!until || weir_json_int64(until, &info->expires_ms));
}

static bool get_document(const struct weir_json *v, struct key *key)
{
    const char *why;
    struct key_info *info = &key->info;
    return get_hex(weir_json_text(weir_json_get_str(v, "sha256")), key->hash, sizeof key->hash) &&
           weir_json_int64(weir_json_get_str(v, "created_ms"), &info->created_ms) &&
           weir_json_int64(weir_json_get_str(v, "revoked_ms"), &info->revoked_ms) &&
           get_text(weir_json_get_str(v, "label"), info->label, sizeof info->label) &&
           get_text(weir_json_get_str(v, "owner"), info->owner, sizeof info->owner) &&
           get_scopes(weir_json_get_str(v, "scopes"), &info->scopes) &&
           weir_json_double(weir_json_get_str(v, "rate"), &info->rate_per_s) &&
           weir_json_double(weir_json_get_str(v, "burst"), &info->burst) && get_limits(v, info) &&
           key_info_is_valid(info, &why);
}

/* ---- the table ---- */

static struct weir_slice name_of(const struct key *key)
{
    return slice_of(key->info.name, KEY_NAME_BYTES);
}

/* Whether it is of no use any more, and since when. */
static bool has_ended(const struct key_info *info, int64_t now_ms, int64_t *since_ms)
{
    bool is_expired = info->expires_ms != 0 && info->expires_ms <= now_ms;
    *since_ms = info->revoked_ms != 0 ? info->revoked_ms : info->expires_ms;
    return is_expired || info->revoked_ms != 0;
}

static void set_rate(struct key *key)
{
    if (key->info.rate_per_s <= 0) return;
    double token_ns = 1e9 / key->info.rate_per_s;
    key->token_ns = (uint64_t)token_ns;
    /* Decades are as good as for ever, and do not overflow when the clock is added. */
    key->bucket_ns = (uint64_t)fmin(token_ns * key->info.burst, MAX_BUCKET_NS);
}

static enum weir_status read_key(const struct doc *doc, struct key *key)
{
    const struct weir_json *v;
    struct weir_json_doc *json = weir_json_doc_new(0);
    enum weir_status st = json ? weir_json_parse(json, doc->body, &v, NULL) : WEIR_NOMEM;
    if (st == WEIR_OK && (doc->id.len != KEY_NAME_BYTES || !get_document(v, key)))
        st = WEIR_CORRUPT;
    weir_json_doc_free(json);
    if (st != WEIR_OK) return st;
    memcpy(key->info.name, doc->id.ptr, KEY_NAME_BYTES);
    set_rate(key);
    return WEIR_OK;
}

/*
 * A row becomes what a document says. It stays revoked, though the store may not know: who leaked
 * is refused also while nothing can be written.
 */
static void renew(struct key *known, const struct key *key)
{
    int64_t revoked_ms = known->info.revoked_ms;
    known->info = key->info;
    if (known->info.revoked_ms == 0) known->info.revoked_ms = revoked_ms;
    memcpy(known->hash, key->hash, sizeof known->hash);
    known->token_ns = key->token_ns;
    known->bucket_ns = key->bucket_ns;
}

static enum weir_status load_key(void *user, const struct doc *doc)
{
    struct keys *k = user;
    struct key *key = mem_zalloc(sizeof *key);
    enum weir_status st = key ? read_key(doc, key) : WEIR_NOMEM;
    if (st != WEIR_OK) {
        mem_free(key);
        return st;
    }
    CHECK(pthread_rwlock_wrlock(&k->lock) == 0);
    struct key *known = map_get(&k->by_name, name_of(key));
    if (known) renew(known, key);
    else st = map_put(&k->by_name, name_of(key), key);
    if (st == WEIR_OK) (known ? known : key)->seen = k->n_readings;
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
    if (known || st != WEIR_OK) mem_free(key);
    return st;
}

/* Rows that the last reading of all did not find. */
static void forget_unseen(struct keys *k)
{
    struct map_walk walk = map_walk_begin(&k->by_name);
    while (map_walk_next(&k->by_name, &walk)) {
        struct key *key = walk.value;
        if (key->seen != k->n_readings) mem_free(map_take(&k->by_name, name_of(key)));
    }
}

/* Makes the table what the store has. */
static enum weir_status load_all(struct keys *k)
{
    struct doc_query query = {.kind = SLICE("key"), .limit = KEYS_ROOM};
    k->n_readings++;
    enum weir_status st = store_doc_list(k->store, &query, load_key, k);
    if (st != WEIR_OK) return st;
    CHECK(pthread_rwlock_wrlock(&k->lock) == 0);
    forget_unseen(k);
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
    return WEIR_OK;
}

static enum weir_status load_one(struct keys *k, struct weir_slice name)
{
    struct doc doc;
    enum weir_status st =
        store_doc_get(k->store, (struct doc_key){.kind = SLICE("key"), .id = name}, &doc);
    if (st == WEIR_OK) {
        st = load_key(k, &doc);
        doc_fini(&doc);
    } else if (st == WEIR_NOT_FOUND) {
        CHECK(pthread_rwlock_wrlock(&k->lock) == 0);
        mem_free(map_take(&k->by_name, name));
        CHECK(pthread_rwlock_unlock(&k->lock) == 0);
        st = WEIR_OK;
    }
    return st;
}

enum weir_status keys_refresh(struct keys *k, struct weir_slice name)
{
    CHECK(k->magic == MAGIC);
    CHECK(pthread_mutex_lock(&k->changing) == 0);
    enum weir_status st = name.len == 0 ? load_all(k) : load_one(k, name);
    CHECK(pthread_mutex_unlock(&k->changing) == 0);
    return st;
}

enum weir_status keys_open(struct keys **out, struct store *store, const struct clock *clock)
{
    *out = NULL;
    struct keys *k = mem_zalloc(sizeof *k);
    if (!k) return WEIR_NOMEM;
    *k = (struct keys){.magic = MAGIC, .store = store, .clock = clock};
    CHECK(pthread_mutex_init(&k->changing, NULL) == 0);
    CHECK(pthread_rwlock_init(&k->lock, NULL) == 0);
    map_init(&k->by_name, KEYS_ROOM);
    enum weir_status st = load_all(k);
    if (st == WEIR_OK) *out = k;
    else keys_close(k);
    return st;
}

void keys_close(struct keys *k)
{
    if (!k) return;
    CHECK(k->magic == MAGIC);
    struct map_walk walk = map_walk_begin(&k->by_name);
    while (map_walk_next(&k->by_name, &walk)) mem_free(walk.value);
    map_fini(&k->by_name);
    pthread_rwlock_destroy(&k->lock);
    pthread_mutex_destroy(&k->changing);
    k->magic = 0;
    mem_free(k);
}

/* ---- finding ---- */

/* Takes a token; false, with the time until there is one again, when there is none. */
static bool take_token(struct keys *k, struct key *key, uint64_t now_ns, uint64_t *wait_ns)
{
    if (key->token_ns == 0) return true;
    if (!atomic_load_explicit(&k->is_used, memory_order_relaxed))
        atomic_store_explicit(&k->is_used, true, memory_order_relaxed);
    uint_fast64_t tat = atomic_load_explicit(&key->tat, memory_order_relaxed);
    for (;;) {
        uint_fast64_t next = (tat > now_ns ? tat : now_ns) + key->token_ns;
        if (next > now_ns + key->bucket_ns) {
            *wait_ns = next - now_ns - key->bucket_ns;
            return false;
        }
        if (!atomic_compare_exchange_weak_explicit(&key->tat, &tat, next, memory_order_relaxed,
                                                   memory_order_relaxed))
            continue;
        atomic_fetch_add_explicit(&key->n_taken, 1, memory_order_relaxed);
        return true;
    }
}

/* ---- what other nodes take ---- */

bool keys_was_used(struct keys *k)
{
    return atomic_load_explicit(&k->is_used, memory_order_relaxed) &&
           atomic_exchange(&k->is_used, false);
}

/* This node's part of what is left in the bucket, but one at least, or nobody would get the last.
 */
static uint64_t part_of(const struct key *key, uint64_t now_ns, unsigned n_nodes)
{
    uint64_t tat = atomic_load_explicit(&key->tat, memory_order_relaxed);
    uint64_t ahead = tat > now_ns ? tat - now_ns : 0;
    uint64_t left = ahead < key->bucket_ns ? (key->bucket_ns - ahead) / key->token_ns : 0;
    return left / n_nodes > 0 ? left / n_nodes : 1;
}

void keys_share(struct keys *k, unsigned n_nodes)
{
    atomic_store(&k->n_nodes, n_nodes);
}

void keys_asked(struct keys *k)
{
    uint64_t now_ns = clock_mono_ns(k->clock);
    unsigned n_nodes = atomic_load(&k->n_nodes);
    if (n_nodes == 0) return;
    CHECK(pthread_rwlock_rdlock(&k->lock) == 0);
    struct map_walk walk = map_walk_begin(&k->by_name);
    while (map_walk_next(&k->by_name, &walk)) {
        struct key *key = walk.value;
        if (key->token_ns == 0) continue;
        uint64_t n_taken = atomic_load_explicit(&key->n_taken, memory_order_relaxed);
        atomic_store_explicit(&key->n_free, n_taken + part_of(key, now_ns, n_nodes),
                              memory_order_relaxed);
    }
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
}

bool keys_must_ask(struct keys *k, struct weir_slice name)
{
    if (atomic_load_explicit(&k->n_nodes, memory_order_relaxed) < 2) return false;
    uint64_t now_ns = clock_mono_ns(k->clock);
    CHECK(pthread_rwlock_rdlock(&k->lock) == 0);
    const struct key *key = map_get(&k->by_name, name);
    bool must = key && key->token_ns > 0 && key->info.revoked_ms == 0 &&
                atomic_load_explicit(&key->n_taken, memory_order_relaxed) >=
                    atomic_load_explicit(&key->n_free, memory_order_relaxed);
    if (must) {
        uint64_t tat = atomic_load_explicit(&key->tat, memory_order_relaxed);
        uint64_t next = (tat > now_ns ? tat : now_ns) + key->token_ns;
        must = next <= now_ns + key->bucket_ns;
    }
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
    return must;
}

void keys_each_use(struct keys *k, void (*each)(void *user, const struct key_use *use), void *user)
{
    uint64_t now_ns = clock_mono_ns(k->clock);
    CHECK(pthread_rwlock_rdlock(&k->lock) == 0);
    struct map_walk walk = map_walk_begin(&k->by_name);
    while (map_walk_next(&k->by_name, &walk)) {
        struct key *key = walk.value;
        uint64_t tat = atomic_load_explicit(&key->tat, memory_order_relaxed);
        struct key_use use = {.name = key->info.name,
                              .n_taken = atomic_load_explicit(&key->n_taken, memory_order_relaxed),
                              .ahead_ns = tat > now_ns ? tat - now_ns : 0};
        if (use.n_taken > 0) each(user, &use);
    }
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
}

/* Requests as time; decades are as good as for ever. */
static uint64_t tokens_ns(const struct key *key, uint64_t n)
{
    return (uint64_t)fmin((double)n * (double)key->token_ns, MAX_BUCKET_NS);
}

void keys_charge(struct keys *k, const struct key_charge *charge)
{
    uint64_t now_ns = clock_mono_ns(k->clock);
    CHECK(pthread_rwlock_rdlock(&k->lock) == 0);
    struct key *key = map_get(&k->by_name, charge->name);
    if (key && key->token_ns > 0) {
        uint64_t floor = charge->floor_ns > 0
                             ? now_ns + (uint64_t)fmin((double)charge->floor_ns, MAX_BUCKET_NS) +
                                   tokens_ns(key, charge->n_here)
                             : now_ns;
        uint64_t more = tokens_ns(key, charge->n_there);
        uint_fast64_t tat = atomic_load_explicit(&key->tat, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&key->tat, &tat,
                                                      (tat > floor ? tat : floor) + more,
                                                      memory_order_relaxed, memory_order_relaxed))
            continue;
    }
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
}

static bool has_form(struct weir_slice text)
{
    return text.len == KEY_TEXT_BYTES - 1 && memcmp(text.ptr, prefix, PREFIX_BYTES) == 0 &&
           text.ptr[PREFIX_BYTES + KEY_NAME_BYTES] == '_';
}

bool key_text_name(struct weir_slice text, struct weir_slice *name)
{
    if (!has_form(text)) return false;
    *name = slice_of(text.ptr + PREFIX_BYTES, KEY_NAME_BYTES);
    return true;
}

/* Copies what stands in the table, which may change once the lock is given back. */
static void tell(const struct key_info *info, struct key_found *out)
{
    memcpy(out->access.name, info->name, sizeof info->name);
    memcpy(out->access.owner, info->owner, sizeof info->owner);
    out->access.scopes = info->scopes;
    if (info->prefix[0] == 0) return;
    memcpy(out->prefix, info->prefix, sizeof info->prefix);
    out->access.prefix = out->prefix;
}

/* Whether a request may pass with a key that is the right one. */
static enum weir_status pass_locked(struct keys *k, struct key *key, struct key_found *out)
{
    uint64_t wait_ns = 0;
    if (key->info.revoked_ms != 0) return WEIR_BAD_TOKEN;
    /* Most keys last for ever, and do not ask the clock. */
    if (key->info.expires_ms != 0 && key->info.expires_ms <= clock_wall_ms(k->clock)) {
        out->is_expired = true;
        return WEIR_BAD_TOKEN;
    }
    tell(&key->info, out);
    if (take_token(k, key, clock_mono_ns(k->clock), &wait_ns)) return WEIR_OK;
    out->retry_after_ms = (wait_ns + 999999) / 1000000;
    return WEIR_RATE_LIMIT;
}

static enum weir_status find_locked(struct keys *k, struct weir_slice text,
                                    const unsigned char *hash, struct key_found *out)
{
    static const unsigned char nobody[SHA256_BYTES];
    struct key *key = map_get(&k->by_name, slice_of(text.ptr + PREFIX_BYTES, KEY_NAME_BYTES));
    bool is_equal = bytes_equal_ct(hash, key ? key->hash : nobody, SHA256_BYTES);
    return key && is_equal ? pass_locked(k, key, out) : WEIR_BAD_TOKEN;
}

static void begin_finding(struct key_found *out)
{
    out->access = (struct access){.scopes = SCOPE_NONE};
    out->retry_after_ms = 0;
    out->is_expired = false;
}

enum weir_status keys_find(struct keys *k, struct weir_slice text, struct key_found *out)
{
    CHECK(k->magic == MAGIC);
    unsigned char hash[SHA256_BYTES];
    begin_finding(out);
    if (!has_form(text)) return WEIR_BAD_TOKEN;
    sha256(text, hash);
    CHECK(pthread_rwlock_rdlock(&k->lock) == 0);
    enum weir_status st = find_locked(k, text, hash, out);
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
    return st;
}

enum weir_status keys_find_named(struct keys *k, struct weir_slice name, struct key_found *out)
{
    CHECK(k->magic == MAGIC);
    begin_finding(out);
    CHECK(pthread_rwlock_rdlock(&k->lock) == 0);
    struct key *key = map_get(&k->by_name, name);
    enum weir_status st = key ? pass_locked(k, key, out) : WEIR_BAD_TOKEN;
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
    return st;
}

/* ---- making and revoking ---- */

/* Thirty-two letters and digits that nobody takes for one another. */
static void random_name(char out[KEY_NAME_BYTES])
{
    static const char letters[] = "0123456789abcdefghjkmnpqrstvwxyz";
    random_bytes(out, KEY_NAME_BYTES);
    for (int i = 0; i < KEY_NAME_BYTES; i++) out[i] = letters[out[i] & 31];
}

static void make_text(const char *name, char text[KEY_TEXT_BYTES])
{
    unsigned char secret[SECRET_BYTES];
    char *after = text + PREFIX_BYTES + KEY_NAME_BYTES;
    struct weir_buf rest = {.ptr = after + 1, .cap = SECRET_TEXT_BYTES, .max = SECRET_TEXT_BYTES};
    random_bytes(secret, sizeof secret);
    memcpy(text, prefix, PREFIX_BYTES);
    memcpy(text + PREFIX_BYTES, name, KEY_NAME_BYTES);
    *after = '_';
    base64url_write(&rest, slice_of((const char *)secret, sizeof secret));
    CHECK(weir_buf_status(&rest) == WEIR_OK && rest.len == SECRET_TEXT_BYTES);
    text[KEY_TEXT_BYTES - 1] = 0;
    explicit_bzero(secret, sizeof secret);
}

static struct doc_key doc_of(const struct key *key)
{
    return (struct doc_key){.kind = SLICE("key"), .id = name_of(key)};
}

static void put_key(struct commit *c, const struct key *key, int64_t version, struct weir_buf *body)
{
    weir_buf_init(body, DOC_BYTES);
    put_document(body, key);
    if (weir_buf_status(body) == WEIR_OK)
        commit_put(c, doc_of(key), version, weir_slice_of(key->info.owner), weir_buf_slice(body));
}

/* Puts a new key's document, and with it takes away that of `old`, which may be NULL. */
static WEIR_MUST_CHECK enum weir_status write_new(struct keys *k, const struct key *key,
                                                  const struct key *old)
{
    struct weir_buf body;
    struct commit *c = commit_new(DOC_BYTES);
    if (!c) return WEIR_NOMEM;
    if (old) commit_remove(c, doc_of(old), DOC_ANY_VERSION);
    put_key(c, key, DOC_MUST_BE_NEW, &body);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) st = store_commit_wait(k->store, c).status;
    else commit_free(c);
    weir_buf_fini(&body);
    return st;
}

/*
 * What the store has is revoked, not what the table has: another node may have forgotten the key,
 * and it must not come back by this.
 */
static enum weir_status decide_revoked(void *user, struct commit_view *view, struct commit *c)
{
    const struct key *revoked = user;
    struct doc doc;
    struct weir_buf body;
    enum weir_status st = commit_view_doc(view, doc_of(revoked), &doc);
    if (st != WEIR_OK) return st;
    struct key *key = mem_zalloc(sizeof *key);
    st = key ? read_key(&doc, key) : WEIR_NOMEM;
    if (st == WEIR_OK && key->info.revoked_ms == 0) {
        key->info.revoked_ms = revoked->info.revoked_ms;
        put_key(c, key, doc.version, &body);
        st = weir_buf_status(&body);
        weir_buf_fini(&body);
    }
    mem_free(key);
    return st;
}

static WEIR_MUST_CHECK enum weir_status write_revoked(struct keys *k, struct key *key)
{
    struct commit *c = commit_new(DOC_BYTES);
    if (!c) return WEIR_NOMEM;
    commit_decide(c, false, decide_revoked, key);
    return store_commit_wait(k->store, c).status;
}

/* The key that was revoked or expired first; NULL when all are valid. */
static struct key *oldest_ended(struct keys *k)
{
    struct key *oldest = NULL;
    int64_t now_ms = clock_wall_ms(k->clock);
    int64_t since_ms, first_ms = INT64_MAX;
    struct map_walk walk = map_walk_begin(&k->by_name);
    while (map_walk_next(&k->by_name, &walk)) {
        struct key *key = walk.value;
        if (!has_ended(&key->info, now_ms, &since_ms) || since_ms >= first_ms) continue;
        oldest = key;
        first_ms = since_ms;
    }
    return oldest;
}

/*
 * Nobody but us changes the table now, so looking at it needs no lock. Another node may have
 * forgotten the same old key for a new one of its own: then the next oldest goes.
 */
static WEIR_MUST_CHECK enum weir_status add_key(struct keys *k, struct key *key)
{
    struct key *old = NULL;
    enum weir_status st = WEIR_NOT_FOUND;
    for (int i = 0; i < FORGET_TRIES && st == WEIR_NOT_FOUND; i++) {
        if (i > 0) st = load_all(k);
        if (i > 0 && st != WEIR_OK) return st;
        old = k->by_name.len >= KEYS_MAX ? oldest_ended(k) : NULL;
        if (!old && k->by_name.len >= KEYS_MAX) return WEIR_LIMIT;
        st = write_new(k, key, old);
    }
    if (st != WEIR_OK) return st;
    CHECK(pthread_rwlock_wrlock(&k->lock) == 0);
    if (old) mem_free(map_take(&k->by_name, name_of(old)));
    st = map_put(&k->by_name, name_of(key), key);
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
    return st;
}

static bool pick_name(struct keys *k, struct key *key)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        random_name(key->info.name);
        if (!map_get(&k->by_name, name_of(key))) return true;
    }
    return false;
}

enum weir_status keys_create(struct keys *k, struct key_info *info, char text[KEY_TEXT_BYTES])
{
    CHECK(k->magic == MAGIC);
    const char *why;
    if (!key_info_is_valid(info, &why)) return WEIR_INVALID;
    struct key *key = mem_zalloc(sizeof *key);
    if (!key) return WEIR_NOMEM;
    key->info = *info;
    key->info.created_ms = clock_wall_ms(k->clock);
    key->info.revoked_ms = 0;
    key->info.expires_ms = info->lasts_s > 0 ? key->info.created_ms + info->lasts_s * 1000 : 0;
    if (info->rate_per_s > 0 && info->burst < 1)
        key->info.burst = fmax(1, fmin(ceil(info->rate_per_s), KEY_MAX_RATE_PER_S));
    set_rate(key);
    CHECK(pthread_mutex_lock(&k->changing) == 0);
    enum weir_status st = pick_name(k, key) ? WEIR_OK : WEIR_INTERNAL;
    if (st == WEIR_OK) {
        make_text(key->info.name, text);
        sha256(slice_of(text, KEY_TEXT_BYTES - 1), key->hash);
        *info = key->info;
        st = add_key(k, key);
    }
    CHECK(pthread_mutex_unlock(&k->changing) == 0);
    if (st != WEIR_OK) {
        explicit_bzero(text, KEY_TEXT_BYTES);
        mem_free(key);
    }
    return st;
}

enum weir_status keys_revoke(struct keys *k, struct weir_slice name)
{
    CHECK(k->magic == MAGIC);
    enum weir_status st = WEIR_OK;
    int64_t now_ms = clock_wall_ms(k->clock);
    CHECK(pthread_mutex_lock(&k->changing) == 0);
    /* Another node may have made it a moment ago. */
    if (name.len == KEY_NAME_BYTES && !map_get(&k->by_name, name)) st = load_one(k, name);
    struct key *key = map_get(&k->by_name, name);
    if (!key && st == WEIR_OK) st = WEIR_NOT_FOUND;
    if (key) {
        /* Before the document: a key that leaked is refused even when the disk is full. */
        CHECK(pthread_rwlock_wrlock(&k->lock) == 0);
        if (key->info.revoked_ms == 0) key->info.revoked_ms = now_ms > 0 ? now_ms : 1;
        CHECK(pthread_rwlock_unlock(&k->lock) == 0);
        st = write_revoked(k, key);
    }
    CHECK(pthread_mutex_unlock(&k->changing) == 0);
    return st;
}

/* ---- listing ---- */

static int compare_names(const void *a, const void *b)
{
    const struct key_info *x = a;
    const struct key_info *y = b;
    return memcmp(x->name, y->name, KEY_NAME_BYTES);
}

enum weir_status keys_each(struct keys *k, void (*each)(void *user, const struct key_info *info),
                           void *user)
{
    CHECK(k->magic == MAGIC);
    size_t n = 0;
    CHECK(pthread_rwlock_rdlock(&k->lock) == 0);
    struct key_info *all = mem_alloc((k->by_name.len + 1) * sizeof *all);
    struct map_walk walk = map_walk_begin(&k->by_name);
    while (all && map_walk_next(&k->by_name, &walk))
        all[n++] = ((const struct key *)walk.value)->info;
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
    if (!all) return WEIR_NOMEM;
    qsort(all, n, sizeof *all, compare_names);
    for (size_t i = 0; i < n; i++) each(user, &all[i]);
    mem_free(all);
    return WEIR_OK;
}

bool keys_knows(struct keys *k, struct weir_slice name)
{
    CHECK(pthread_rwlock_rdlock(&k->lock) == 0);
    bool is_known = map_get(&k->by_name, name);
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
    return is_known;
}

bool keys_get(struct keys *k, struct weir_slice name, struct key_info *out)
{
    CHECK(k->magic == MAGIC);
    CHECK(pthread_rwlock_rdlock(&k->lock) == 0);
    const struct key *key = map_get(&k->by_name, name);
    if (key) *out = key->info;
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
    return key;
}

size_t keys_count(struct keys *k)
{
    size_t n = 0;
    int64_t since_ms, now_ms = clock_wall_ms(k->clock);
    CHECK(pthread_rwlock_rdlock(&k->lock) == 0);
    struct map_walk walk = map_walk_begin(&k->by_name);
    while (map_walk_next(&k->by_name, &walk))
        if (!has_ended(&((const struct key *)walk.value)->info, now_ms, &since_ms)) n++;
    CHECK(pthread_rwlock_unlock(&k->lock) == 0);
    return n;
}
