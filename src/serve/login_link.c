/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table is looked through to its end for each token, by hashes that are compared in a time that
 * tells nothing. A link that was used, or has expired, stays until its place is needed: whoever has
 * its token is told what became of it, and so may learn that somebody else was there first.
 */
#include "serve/login_link.h"

#include <pthread.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"
#include "serve/login_shared.h"

enum { MAGIC = 0x6c6f6769, TOKEN_RANDOM_BYTES = 32 };

static const char page_label[] = "page";

struct slot {
    unsigned char hash[SHA256_BYTES];
    char key[KEY_NAME_BYTES + 1];
    int64_t expires_ms; /* 0: there was none here yet */
    bool is_used;
};

struct login_links {
    unsigned magic;
    struct store *store; /* of all nodes; NULL: the slots have them */
    const struct clock *clock;
    pthread_mutex_t lock;
    struct slot slots[LOGIN_LINKS];
    uint64_t misses_since_ns; /* the window that they are counted in */
    unsigned n_misses;
};

struct login_links *login_links_new(struct store *store, const struct clock *clock)
{
    struct login_links *l = mem_zalloc(sizeof *l);
    if (!l) return NULL;
    l->magic = MAGIC;
    l->store = store;
    l->clock = clock;
    CHECK(pthread_mutex_init(&l->lock, NULL) == 0);
    return l;
}

void login_links_free(struct login_links *l)
{
    if (!l) return;
    CHECK(l->magic == MAGIC);
    pthread_mutex_destroy(&l->lock);
    explicit_bzero(l, sizeof *l);
    mem_free(l);
}

/* ---- making ---- */

static void make_token(char token[LOGIN_TOKEN_BYTES])
{
    unsigned char bytes[TOKEN_RANDOM_BYTES];
    struct weir_buf text = {
        .ptr = token, .cap = LOGIN_TOKEN_BYTES - 1, .max = LOGIN_TOKEN_BYTES - 1};
    random_bytes(bytes, sizeof bytes);
    base64url_write(&text, slice_of((const char *)bytes, sizeof bytes));
    CHECK(weir_buf_status(&text) == WEIR_OK && text.len == LOGIN_TOKEN_BYTES - 1);
    token[LOGIN_TOKEN_BYTES - 1] = 0;
    explicit_bzero(bytes, sizeof bytes);
}

static bool is_open(const struct slot *s, int64_t now_ms)
{
    return !s->is_used && s->expires_ms > now_ms;
}

/* One that is of no use any more; else the oldest, which is the one that expires first. */
static struct slot *pick_slot(struct login_links *l, int64_t now_ms)
{
    struct slot *best = &l->slots[0];
    for (unsigned i = 1; i < LOGIN_LINKS; i++) {
        struct slot *s = &l->slots[i];
        bool is_freer = is_open(best, now_ms) && !is_open(s, now_ms);
        bool is_older =
            is_open(best, now_ms) == is_open(s, now_ms) && s->expires_ms < best->expires_ms;
        if (is_freer || is_older) best = s;
    }
    return best;
}

static void make_here(struct login_links *l, struct weir_slice key, const unsigned char *hash,
                      int64_t now_ms)
{
    CHECK(pthread_mutex_lock(&l->lock) == 0);
    struct slot *s = pick_slot(l, now_ms);
    *s = (struct slot){.expires_ms = now_ms + (int64_t)LOGIN_LINK_LIFE_S * 1000};
    memcpy(s->key, key.ptr, key.len);
    memcpy(s->hash, hash, SHA256_BYTES);
    CHECK(pthread_mutex_unlock(&l->lock) == 0);
}

enum weir_status login_links_make(struct login_links *l, struct weir_slice key,
                                  struct login_link *out)
{
    CHECK(l->magic == MAGIC && key.len == KEY_NAME_BYTES);
    unsigned char hash[SHA256_BYTES];
    int64_t now_ms = clock_wall_ms(l->clock);
    make_token(out->token);
    sha256(weir_slice_of(out->token), hash);
    out->expires_ms = now_ms + (int64_t)LOGIN_LINK_LIFE_S * 1000;
    if (l->store) return login_shared_make(l->store, hash, key, now_ms);
    make_here(l, key, hash, now_ms);
    return WEIR_OK;
}

/* ---- taking ---- */

static struct slot *find_slot(struct login_links *l, struct weir_slice token)
{
    unsigned char hash[SHA256_BYTES];
    struct slot *found = NULL;
    if (token.len != LOGIN_TOKEN_BYTES - 1) return NULL;
    sha256(token, hash);
    for (unsigned i = 0; i < LOGIN_LINKS; i++) {
        struct slot *s = &l->slots[i];
        if (bytes_equal_ct(hash, s->hash, SHA256_BYTES) && s->expires_ms != 0) found = s;
    }
    return found;
}

static enum weir_status count_miss(struct login_links *l, struct login_taken *out)
{
    static const uint64_t WINDOW_NS = (uint64_t)LOGIN_MISSES_MS * 1000000;
    uint64_t now_ns = clock_mono_ns(l->clock);
    if (l->n_misses == 0 || now_ns - l->misses_since_ns >= WINDOW_NS) {
        l->misses_since_ns = now_ns;
        l->n_misses = 0;
    }
    out->why = "there is no such link: it was for another start of the server, or is not whole";
    if (++l->n_misses <= LOGIN_MISSES) return WEIR_BAD_TOKEN;
    l->n_misses = LOGIN_MISSES;
    out->why = "too many links that there are not";
    out->retry_after_ms = (WINDOW_NS - (now_ns - l->misses_since_ns)) / 1000000 + 1;
    return WEIR_RATE_LIMIT;
}

static enum weir_status take_locked(struct login_links *l, struct weir_slice token,
                                    struct login_taken *out)
{
    struct slot *s = find_slot(l, token);
    if (!s) return count_miss(l, out);
    if (s->is_used) out->why = "the link was used already, and works once";
    else if (!is_open(s, clock_wall_ms(l->clock))) out->why = "the link has expired";
    if (out->why) return WEIR_BAD_TOKEN;
    s->is_used = true;
    memcpy(out->key, s->key, sizeof out->key);
    return WEIR_OK;
}

bool login_links_are_shared(const struct login_links *l)
{
    return l->store;
}

enum weir_status login_links_miss(struct login_links *l, struct login_taken *out)
{
    CHECK(l->magic == MAGIC);
    CHECK(pthread_mutex_lock(&l->lock) == 0);
    enum weir_status st = count_miss(l, out);
    CHECK(pthread_mutex_unlock(&l->lock) == 0);
    return st;
}

enum weir_status login_links_take(struct login_links *l, struct weir_slice token,
                                  struct login_taken *out)
{
    CHECK(l->magic == MAGIC && !l->store);
    *out = (struct login_taken){.why = NULL};
    CHECK(pthread_mutex_lock(&l->lock) == 0);
    enum weir_status st = take_locked(l, token, out);
    CHECK(pthread_mutex_unlock(&l->lock) == 0);
    return st;
}

/* ---- the key of the page ---- */

struct looking {
    struct weir_slice owner;
    struct key_info newest;
};

static void look_at_key(void *user, const struct key_info *info)
{
    struct looking *l = user;
    bool is_page = strcmp(info->label, page_label) == 0 && weir_slice_is(l->owner, info->owner) &&
                   info->scopes == (SCOPE_READ | SCOPE_WRITE) && info->prefix[0] == 0;
    bool lasts = info->revoked_ms == 0 && info->expires_ms == 0;
    if (is_page && lasts && info->created_ms >= l->newest.created_ms) l->newest = *info;
}

enum weir_status login_page_key(struct keys *keys, struct weir_slice owner,
                                char name[KEY_NAME_BYTES + 1])
{
    char text[KEY_TEXT_BYTES];
    struct looking l = {.owner = owner};
    if (owner.len >= sizeof l.newest.owner) return WEIR_INVALID;
    enum weir_status st = keys_each(keys, look_at_key, &l);
    if (st == WEIR_OK && l.newest.name[0] == 0) {
        l.newest.scopes = SCOPE_READ | SCOPE_WRITE;
        memcpy(l.newest.label, page_label, sizeof page_label);
        memcpy(l.newest.owner, owner.ptr, owner.len);
        st = keys_create(keys, &l.newest, text);
        explicit_bzero(text, sizeof text);
    }
    if (st == WEIR_OK) memcpy(name, l.newest.name, sizeof l.newest.name);
    return st;
}

/* ---- addresses ---- */

void login_link_put_url(struct weir_buf *out, const char *address, const char *token)
{
    static const struct {
        const char *all, *one;
    } hosts[] = {{"://0.0.0.0:", "://127.0.0.1:"}, {"://[::]:", "://[::1]:"}};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        const char *at = strstr(address, hosts[i].all);
        if (!at) continue;
        weir_buf_append(out, address, (size_t)(at - address));
        weir_buf_append_str(out, hosts[i].one);
        address = at + strlen(hosts[i].all);
    }
    weir_buf_printf(out, "%s/#/link/%s", address, token);
}
