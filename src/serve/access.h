/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may do what: API keys, their scopes, their streams, their rates and their end.
 *
 * A key is "weir_" + 12 characters that name it + "_" + 43 characters of secret (256 bits,
 * base64url). The store has a document of kind "key" for each, with the SHA-256 of the whole
 * key, never the key. The table of keys is read at the start and changed together with the
 * documents; every loop reads it.
 *
 * 1. keys_open() reads all from the store.
 * 2. keys_find() for each request; keys_create(), keys_revoke(), keys_each() for the commands.
 *    keys_refresh() when another node may have made, revoked or forgotten keys.
 * 3. keys_close().
 *
 * keys_find() never waits for the disk; the others may. Any thread.
 */
#pragma once

#include <weir/buf.h>

#include "base/clock.h"
#include "store/store.h"

enum scope {
    SCOPE_NONE = 0,
    SCOPE_READ = 1,
    SCOPE_WRITE = 2,
    SCOPE_ADMIN = 4,
    SCOPE_ANY = SCOPE_READ | SCOPE_WRITE | SCOPE_ADMIN, /* of a route: any key will do */
};

enum {
    KEY_NAME_BYTES = 12,
    KEY_TEXT_BYTES = 5 + KEY_NAME_BYTES + 1 + 43 + 1, /* with the NUL */
    KEYS_MAX = 10000,                  /* keys of a store, revoked ones too: see keys_create() */
    KEY_MAX_RATE_PER_S = 1000000,      /* beyond it a limit limits nothing */
    SCOPES_TEXT_BYTES = 24,            /* "read,write,admin" */
    KEY_MAX_LIFE_S = 50 * 366 * 86400, /* as good as for ever */
    KEY_PREFIX_BYTES = 128,            /* of the names of a key's streams, with the NUL */
};

/* Who asks. */
struct access {
    char name[KEY_NAME_BYTES + 1]; /* of the key; "link"; empty: none was needed */
    char owner[64];                /* whose data; "" without keys */
    bool is_link;                  /* a signed link to one stream: no cache may keep the answer */
    bool is_cookie;                /* a browser's cookie in place of the key */
    unsigned scopes;               /* of enum scope */
    const char *prefix;            /* of the streams that it may touch; NULL: all */
};

/* Whether it may touch the stream of this (decoded) name at all; its scopes aside. */
bool access_covers(const struct access *who, struct weir_slice stream);

struct keys;

struct key_info {
    char name[KEY_NAME_BYTES + 1];
    char label[64];
    char owner[64];
    unsigned scopes;
    char prefix[KEY_PREFIX_BYTES]; /* it may touch streams that begin with it, and nothing else */
    double rate_per_s;             /* 0: no limit */
    double burst;
    int64_t lasts_s; /* for keys_create(): from its making to its end; 0: for ever */
    int64_t created_ms;
    int64_t expires_ms; /* no request passes from then on; 0: never */
    int64_t revoked_ms; /* 0: not */
};

/* What keys_find() tells. */
struct key_found {
    struct access access;          /* its prefix, if any, is the one here: */
    char prefix[KEY_PREFIX_BYTES]; /* so it must not move without it */
    uint64_t retry_after_ms;       /* WEIR_RATE_LIMIT: a request with it may pass again then */
    bool is_expired;               /* WEIR_BAD_TOKEN: it was good once */
};

WEIR_MUST_CHECK enum weir_status keys_open(struct keys **out, struct store *store,
                                           const struct clock *clock);
void keys_close(struct keys *k);

/* Who a key belongs to. WEIR_BAD_TOKEN, WEIR_RATE_LIMIT. */
WEIR_MUST_CHECK enum weir_status keys_find(struct keys *k, struct weir_slice key,
                                           struct key_found *out);

/* The same for whoever has proved by other means that it was given the key of this name. */
WEIR_MUST_CHECK enum weir_status keys_find_named(struct keys *k, struct weir_slice name,
                                                 struct key_found *out);

/*
 * Makes a key from `info` (name, times and a burst that is 0 are filled in); `text` is the key
 * itself, which nobody can tell again. When there are KEYS_MAX, the one that was revoked or
 * expired first is forgotten for it; WEIR_LIMIT when all are valid. WEIR_INVALID: see
 * key_info_is_valid().
 */
WEIR_MUST_CHECK enum weir_status keys_create(struct keys *k, struct key_info *info,
                                             char text[KEY_TEXT_BYTES]);
/*
 * When it returns, no request passes with the key any more. WEIR_NOT_FOUND; revoking again is
 * WEIR_OK. Another status: the key is refused by now, but the store could not write
 * it down, and it works again after a restart.
 */
WEIR_MUST_CHECK enum weir_status keys_revoke(struct keys *k, struct weir_slice name);

/*
 * Reads the key of this name again, or all when it is empty. What was revoked stays so, whatever
 * the store says. An error leaves the table as it is, or some of it new.
 */
WEIR_MUST_CHECK enum weir_status keys_refresh(struct keys *k, struct weir_slice name);

/* Whether there is a row of this name, of whatever state. */
bool keys_knows(struct keys *k, struct weir_slice name);

/* The name in what has the form of a key; false: it has not. */
bool key_text_name(struct weir_slice text, struct weir_slice *name);

/* All keys by name, revoked ones too. */
WEIR_MUST_CHECK enum weir_status keys_each(struct keys *k,
                                           void (*each)(void *user, const struct key_info *info),
                                           void *user);

/* One of them, without its secret; false when there is none of this name. */
bool keys_get(struct keys *k, struct weir_slice name, struct key_info *out);

size_t keys_count(struct keys *k); /* those that are valid: not revoked, not expired */

/* ---- rates that several nodes share; see rates.h ---- */

/* What was taken of a key with a rate, here, since it was read first. */
struct key_use {
    const char *name; /* borrowed until the call returns */
    uint64_t n_taken;
    uint64_t ahead_ns; /* how long the bucket takes to be full again */
};

/*
 * Whether a request with the key of this name has to wait for a round first: since the last one as
 * many have passed here as may without asking, which is this node's part of what was left. False
 * for those that are refused anyway.
 */
bool keys_must_ask(struct keys *k, struct weir_slice name);

/* How many nodes share rates; 0 or 1: nobody has to ask. */
void keys_share(struct keys *k, unsigned n_nodes);

/* A round was made: each node may let its part of what is left pass without another. */
void keys_asked(struct keys *k);

/* Whether a key with a rate was used since the last call. Costs one load. */
bool keys_was_used(struct keys *k);

/* All keys with a rate that were used ever. `each` must be short, and calls nothing of this. */
void keys_each_use(struct keys *k, void (*each)(void *user, const struct key_use *use), void *user);

/*
 * What another node took counts here, too: the bucket is full again not before `floor_ns` from now
 * plus the time of `n_here` requests, and then by that of `n_there` later.
 */
struct key_charge {
    struct weir_slice name;
    uint64_t n_there, n_here, floor_ns;
};
void keys_charge(struct keys *k, const struct key_charge *charge);

/* ---- what commands and the resource share ---- */

/* Whether somebody can be called so: UTF-8 without control characters or '/'. */
bool owner_is_name(struct weir_slice name);

/* "read,write": false when a word is no scope, or there is none. */
bool scopes_parse(struct weir_slice text, unsigned *scopes);
void scopes_format(unsigned scopes, char out[SCOPES_TEXT_BYTES]);
void scopes_put(struct weir_buf *out, unsigned scopes); /* ["read","write"] */

/*
 * Whether such a key can be: a scope at least, label, owner and prefix in UTF-8 without control
 * characters, rate, burst and times in their range. `why` gets a sentence when it cannot.
 */
bool key_info_is_valid(const struct key_info *info, const char **why);

/*
 * {"name","label","owner","scopes":[…],"rate","burst","prefix","created","expires","revoked"},
 * with "key" before them all when `text` is not NULL.
 */
void key_info_put(struct weir_buf *out, const struct key_info *info, const char *text);
/* The members that its maker chooses but for its end, without the braces of their object. */
void key_info_put_wish(struct weir_buf *out, const struct key_info *info);
