/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/lives.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/slice.h"
#include "serve/wordlist.h"

enum { NS_PER_MS = 1000000 };

static const char is_ended[] = "ended";
static const char is_alive[] = "alive "; /* and its words */

struct life {
    int64_t version;
    uint64_t since_ns;  /* when that was seen first */
    uint64_t listed_ns; /* when the last round began that found its document; 0: none has */
    bool has_ended;
    char words[LIVES_WORDS_BYTES];
};

struct lives {
    struct store *store;
    const struct clock *clock;
    char node[STORE_NAME_BYTES + 1];
    char words[LIVES_WORDS_BYTES];
    unsigned lease_ms;
    uint64_t renewed_ns; /* 0: never */
    uint64_t began_ns;   /* when the round under way has */
    bool was_cut;        /* the last round did not work */
    pthread_mutex_t lock;
    uint64_t looked_ns; /* when the last round began that worked; 0: none */
    struct map all;     /* node -> struct life */
};

enum weir_status lives_new(struct lives **out, struct store *store, const char *node,
                           const struct clock *clock)
{
    CHECK(strlen(node) <= STORE_NAME_BYTES);
    struct lives *l = mem_zalloc(sizeof *l);
    *out = l;
    if (!l) return WEIR_NOMEM;
    *l = (struct lives){.store = store, .clock = clock, .lease_ms = LIVES_LEASE_MS};
    memcpy(l->node, node, strlen(node) + 1);
    pthread_mutex_init(&l->lock, NULL);
    map_init(&l->all, LIVES_MAX);
    return WEIR_OK;
}

void lives_free(struct lives *l)
{
    if (!l) return;
    struct map_walk walk = map_walk_begin(&l->all);
    while (map_walk_next(&l->all, &walk)) mem_free(walk.value);
    map_fini(&l->all);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

static struct doc_key key_of(struct weir_slice node)
{
    return (struct doc_key){SLICE("serve-node"), node};
}

static enum weir_status write_down(struct lives *l, const char *text)
{
    struct commit *c = commit_new(sizeof *l);
    if (!c) return WEIR_NOMEM;
    commit_put(c, key_of(weir_slice_of(l->node)), DOC_ANY_VERSION, SLICE(""), weir_slice_of(text));
    return store_commit_wait(l->store, c).status;
}

static enum weir_status renew(struct lives *l)
{
    uint64_t now_ns = clock_mono_ns(l->clock);
    if (l->renewed_ns != 0 && now_ns - l->renewed_ns < (uint64_t)l->lease_ms / 3 * NS_PER_MS)
        return WEIR_OK;
    char text[sizeof is_alive + LIVES_WORDS_BYTES];
    snprintf(text, sizeof text, "%s%s", is_alive, l->words);
    enum weir_status st = write_down(l, text);
    if (st == WEIR_OK) l->renewed_ns = now_ns;
    return st;
}

void lives_end(struct lives *l)
{
    /* When it cannot be said, the lease says it. */
    if (l && l->renewed_ns != 0) l->renewed_ns = write_down(l, is_ended) == WEIR_OK ? 0 : 1;
}

/* The row of a node, made if need be; NULL: no memory, or too many. Under the lock. */
static struct life *life_of(struct lives *l, struct weir_slice node)
{
    struct life *life = map_get(&l->all, node);
    if (life) return life;
    life = mem_zalloc(sizeof *life);
    if (!life) return NULL;
    life->since_ns = clock_mono_ns(l->clock);
    if (map_put(&l->all, node, life) == WEIR_OK) return life;
    mem_free(life);
    return NULL;
}

/* What a node's document says. Under the lock. */
static void hear(struct life *life, const struct doc *doc, uint64_t now_ns)
{
    size_t head = sizeof is_alive - 1;
    life->version = doc->version;
    life->since_ns = now_ns;
    life->has_ended = weir_slice_is(doc->body, is_ended);
    life->words[0] = 0;
    if (doc->body.len < head || memcmp(doc->body.ptr, is_alive, head) != 0) return;
    snprintf(life->words, sizeof life->words, "%.*s", (int)(doc->body.len - head),
             doc->body.ptr + head);
}

/* Others may remove it at the same time. */
static void remove_document(struct lives *l, const struct doc *doc)
{
    struct commit *c = commit_new(sizeof *l);
    if (!c) return;
    commit_remove(c, key_of(doc->id), doc->version);
    (void)(store_commit_wait(l->store, c).status == WEIR_OK);
}

static enum weir_status look_at(void *user, const struct doc *doc)
{
    struct lives *l = user;
    uint64_t now_ns = clock_mono_ns(l->clock);
    CHECK(pthread_mutex_lock(&l->lock) == 0);
    struct life *life = life_of(l, doc->id);
    if (life) life->listed_ns = l->began_ns;
    if (life && life->version != doc->version) hear(life, doc, now_ns);
    bool is_old = life && now_ns - life->since_ns > (uint64_t)LIVES_FORGET_MS * NS_PER_MS;
    CHECK(pthread_mutex_unlock(&l->lock) == 0);
    if (is_old) remove_document(l, doc);
    return WEIR_OK;
}

/* Who could not look does not know how long the others have been silent. */
static void count_anew(struct lives *l, uint64_t now_ns)
{
    CHECK(pthread_mutex_lock(&l->lock) == 0);
    struct map_walk walk = map_walk_begin(&l->all);
    while (map_walk_next(&l->all, &walk)) ((struct life *)walk.value)->since_ns = now_ns;
    CHECK(pthread_mutex_unlock(&l->lock) == 0);
}

/*
 * Those that have no document any more, or never had one: there is room for so many names and no
 * more. Whoever asks for one of them again waits for a lease once more. Under the lock.
 */
static void forget_gone(struct lives *l)
{
    struct map_walk walk = map_walk_begin(&l->all);
    while (map_walk_next(&l->all, &walk)) {
        const struct life *life = walk.value;
        bool is_old = l->began_ns > life->since_ns &&
                      l->began_ns - life->since_ns > (uint64_t)LIVES_FORGET_MS * NS_PER_MS;
        if (is_old && life->listed_ns != l->began_ns) mem_free(map_take(&l->all, walk.key));
    }
}

static enum weir_status look_at_all(struct lives *l)
{
    const struct doc_query query = {.kind = SLICE("serve-node"), .limit = LIVES_MAX};
    enum weir_status st = store_doc_list(l->store, &query, look_at, l);
    if (st != WEIR_OK) return st;
    CHECK(pthread_mutex_lock(&l->lock) == 0);
    l->looked_ns = l->began_ns;
    forget_gone(l);
    CHECK(pthread_mutex_unlock(&l->lock) == 0);
    return WEIR_OK;
}

enum weir_status lives_round(struct lives *l)
{
    uint64_t now_ns = clock_mono_ns(l->clock), lease_ns = (uint64_t)l->lease_ms * NS_PER_MS;
    bool is_late = l->looked_ns > 0 && now_ns - l->looked_ns >= lease_ns;
    l->began_ns = now_ns;
    if (l->was_cut || is_late) count_anew(l, now_ns);
    enum weir_status st = renew(l);
    if (st == WEIR_OK) st = look_at_all(l);
    l->was_cut = st != WEIR_OK;
    return st;
}

enum weir_status lives_say(struct lives *l, const char *words)
{
    if (strlen(words) >= sizeof l->words) return WEIR_LIMIT;
    memcpy(l->words, words, strlen(words) + 1);
    l->renewed_ns = 0;
    return lives_round(l);
}

/* Under the lock. By the last look, for nobody is silent whom nobody could hear. */
static bool is_over(const struct lives *l, const struct life *life)
{
    uint64_t silent_ns = l->looked_ns > life->since_ns ? l->looked_ns - life->since_ns : 0;
    return life->has_ended || silent_ns > (uint64_t)l->lease_ms * NS_PER_MS;
}

void lives_set_lease(struct lives *l, unsigned lease_ms)
{
    if (lease_ms == 0) return;
    l->lease_ms = lease_ms < LIVES_MIN_LEASE_MS ? LIVES_MIN_LEASE_MS : lease_ms;
}

unsigned lives_lease(const struct lives *l)
{
    return l->lease_ms;
}

unsigned lives_count_others(struct lives *l)
{
    unsigned n = 0;
    CHECK(pthread_mutex_lock(&l->lock) == 0);
    struct map_walk walk = map_walk_begin(&l->all);
    while (map_walk_next(&l->all, &walk))
        n += !weir_slice_is(walk.key, l->node) && !is_over(l, walk.value);
    CHECK(pthread_mutex_unlock(&l->lock) == 0);
    return n;
}

/* Those that live, but this one, whose words are not as wished. */
static unsigned count_unlike(struct lives *l, bool (*is_like)(struct weir_slice, struct weir_slice),
                             struct weir_slice wish)
{
    unsigned n = 0;
    CHECK(pthread_mutex_lock(&l->lock) == 0);
    struct map_walk walk = map_walk_begin(&l->all);
    while (map_walk_next(&l->all, &walk)) {
        const struct life *life = walk.value;
        bool counts = !weir_slice_is(walk.key, l->node) && !is_over(l, life);
        n += counts && !is_like(weir_slice_of(life->words), wish);
    }
    CHECK(pthread_mutex_unlock(&l->lock) == 0);
    return n;
}

bool lives_all_say(struct lives *l, struct weir_slice word)
{
    return count_unlike(l, wordlist_have, word) == 0;
}

/* Who has said nothing yet looks at us when it does. */
static bool begins_with_one_of(struct weir_slice said, struct weir_slice words)
{
    return said.len == 0 || wordlist_have(words, wordlist_first(said));
}

bool lives_all_begin_with(struct lives *l, struct weir_slice words)
{
    return count_unlike(l, begins_with_one_of, words) == 0;
}

bool lives_is_first(struct lives *l)
{
    bool is_first = true;
    size_t len = strlen(l->node);
    CHECK(pthread_mutex_lock(&l->lock) == 0);
    struct map_walk walk = map_walk_begin(&l->all);
    while (map_walk_next(&l->all, &walk)) {
        size_t n = walk.key.len < len ? walk.key.len : len;
        bool is_before = memcmp(walk.key.ptr, l->node, n) < 0;
        if (is_before && !is_over(l, walk.value)) is_first = false;
    }
    CHECK(pthread_mutex_unlock(&l->lock) == 0);
    return is_first;
}

bool lives_is_dead(struct lives *l, struct weir_slice node)
{
    if (weir_slice_is(node, l->node)) return false;
    CHECK(pthread_mutex_lock(&l->lock) == 0);
    const struct life *life = life_of(l, node);
    bool is_dead = life && is_over(l, life);
    CHECK(pthread_mutex_unlock(&l->lock) == 0);
    return is_dead;
}
