/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the fan-out share. hub.c and interest.c are the only ones that other threads
 * enter; all the rest belongs to the fan's thread.
 *
 *   hub.c      batches of news, and the inbox of each fan
 *   interest.c which logs have tails, for others to ask
 *   fan.c      a fan's life; taking what is in the inbox
 *   tail.c     what is known of a log, its window, and which one has to give way
 *   window.c   chunks in a row
 *   fetch.c    reading from the store
 *   sub.c      subscribers
 */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "fan/fan.h"
#include "store/chunk.h"

enum {
    FAN_MAGIC = 0x0fa9,
    TAIL_MAGIC = 0x7a11,
    SUB_MAGIC = 0x50b5,
    MERGE_BYTES = 64 << 10,    /* small chunks are merged to chunks of up to this */
    WINDOW_CHUNKS = 512,       /* so many in a window, and they are merged unasked */
    SHARED_FETCH_EVENTS = 256, /* so far behind its beginning one may join a fetch */
    IDLE_INBOX_BYTES = 1 << 20 /* news that wait for a fan without subscribers */
};

/* ---- hub.c ---- */

/* The news of one sync, shared by all fans and never changed. */
struct batch {
    atomic_uint refs;
    size_t bytes; /* what it keeps in memory, about */
    size_t n;
    struct store_news news[];
};

void batch_unref(struct batch *b);

/*
 * Where the committer and the store's readers leave things for a fan. It outlives its fan
 * until the last read that was under way has come back.
 */
struct inbox {
    atomic_bool has_tails; /* news are wanted */
    pthread_mutex_t lock;  /* guards all below */
    void (*wake)(void *user);
    void *user;
    struct batch **batches;
    size_t n_batches;
    size_t cap;
    size_t bytes;
    struct fetch *done; /* newest first */
    size_t n_flying;    /* reads that will still come back */
    uint64_t n_missed;  /* how often news were lost to subscribers */
    bool is_watched;    /* the fan has subscribers */
    bool is_woken;      /* wake() was called and fan_run() not yet */
    bool has_missed;    /* news were lost, and there is no use in more before it knows */
    bool is_closed;
};

struct hub {
    pthread_mutex_t lock; /* guards fans */
    struct list fans;
    struct store *store;
    _Atomic(struct interest *) interest; /* NULL: nobody asks which logs have tails */
};

/* What an inbox held. */
struct mail {
    struct batch **batches;
    size_t n_batches;
    size_t cap;
    struct fetch *done;
    uint64_t n_missed;
    bool has_missed;
};

struct inbox *inbox_new(const struct fan_options *options); /* NULL: no memory */
void inbox_close(struct inbox *in);                         /* its fan goes */

/* Takes all that is there; mail->batches is the empty array of the last time. */
void inbox_take(struct inbox *in, struct mail *mail, bool is_run);
void inbox_set_watched(struct inbox *in, bool is_watched);
void inbox_kick(struct inbox *in); /* a fan_run() is wanted */
void inbox_begin_read(struct inbox *in);
void inbox_end_read(struct inbox *in, struct fetch *fetch); /* a reader's thread */

void hub_add(struct hub *h, struct fan *f);
void hub_remove(struct hub *h, struct fan *f);

/* ---- interest.c ---- */

static inline struct interest *hub_interest(struct hub *h)
{
    return atomic_load_explicit(&h->interest, memory_order_acquire);
}

struct interest *interest_new(void);    /* NULL: no memory */
void interest_free(struct interest *i); /* when it is empty; NULL is allowed */
WEIR_MUST_CHECK enum weir_status interest_add(struct interest *i, struct weir_slice log);
void interest_remove(struct interest *i, struct weir_slice log); /* once for each add */
bool interest_has(struct interest *i, struct weir_slice log);
void interest_each(struct interest *i, unsigned part, store_log_fn each, void *user);

/* ---- window.c ---- */

/*
 * Chunks by rising `last` without a gap between them; they may overlap, for a read and the
 * news can show the same event. NULL is an empty window.
 */
struct window {
    size_t cost; /* bytes it keeps in memory, about */
    uint32_t at; /* index of the first */
    uint32_t n;
    uint32_t cap;
    struct chunk *chunks[];
};

static inline size_t window_cost(const struct window *w)
{
    return w ? w->cost : 0;
}

static inline struct chunk *window_first(const struct window *w)
{
    return w->chunks[w->at];
}

static inline struct chunk *window_last(const struct window *w)
{
    return w->chunks[w->at + w->n - 1];
}

size_t chunk_cost(const struct chunk *c);

/* One chunk of some in a row, which may overlap. NULL when there is no memory. */
struct chunk *chunk_join(struct chunk *const *chunks, size_t n);

/*
 * The largest part of s, which begins with an event, that is whole events and not longer than
 * max_bytes. *next_id: of the event behind it, unless it is all of s.
 */
size_t chunk_cut(struct weir_slice s, size_t max_bytes, uint64_t *next_id);

/* The length of the first event of s. */
size_t chunk_first_event(struct weir_slice s);

/* Each takes a reference of its own. False when there is no memory. */
bool window_push_back(struct window **w, struct chunk *c);
bool window_push_front(struct window **w, struct chunk *c);
void window_pop_front(struct window **w);
void window_free(struct window **w);

/* The chunk that has event `id`; NULL: none. Borrowed. */
struct chunk *window_find(const struct window *w, uint64_t id);

/* Merges small chunks, from the one that has event `id` on. False when there was nothing to do. */
bool window_merge(struct window *w, uint64_t id);

/* ---- tail.c ---- */

/*
 * What a fan knows of a log. Whoever is in `waiting` has seen all up to `last`. Ids of logs
 * rise, but where other processes write too: of two logs of one name the later has the larger one.
 */
struct tail {
    uint32_t magic;
    uint32_t n_subs;
    struct fan *fan;
    struct list waiting;
    struct list_node age; /* in fan->watched or fan->cached, if it has a window */
    struct window *window;
    struct fetch *fetches; /* reads under way */
    uint64_t log_id;       /* the newest log of this name that was heard of; 0: none */
    uint64_t last;
    uint32_t version; /* changes with the log */
    uint32_t used_at; /* the fan's tick when it was used last */
    bool is_known;    /* `last` and the rest are what the store has, up to news under way */
    bool exists;
    bool is_sealed;
    unsigned char name_len;
    char name[];
};

static inline struct weir_slice tail_name(const struct tail *t)
{
    return (struct weir_slice){t->name, t->name_len};
}

/* The tail of a log, made if there is none. WEIR_NOMEM, WEIR_LIMIT. */
WEIR_MUST_CHECK enum weir_status tail_get(struct fan *f, struct weir_slice log, struct tail **out);
void tail_add_sub(struct tail *t);
void tail_remove_sub(struct tail *t); /* the tail may be gone after it */
void tail_free(struct tail *t);

/* The tail may be gone after it. */
void tail_take_news(struct tail *t, const struct store_news *news);

/*
 * Takes over what a read saw that was begun when the tail's version was `version`. False when
 * that is of another log than the tail is about, so that its events are of no use.
 */
bool tail_learn(struct tail *t, const struct log_state *state, uint32_t version);

/*
 * Takes in those of some chunks in a row, n <= STORE_READ_CHUNKS, that continue its window and
 * have room. Returns a bit for each that is in it now.
 */
unsigned tail_join(struct tail *t, struct chunk *const *chunks, unsigned n);

/* Merges small chunks of its window, from event `id` on. False: nothing to do. */
bool tail_merge(struct tail *t, uint64_t id);

/* Frees it when nobody watches it and it has no window. */
void tail_free_unused(struct tail *t);

/* News were lost: nothing is known any more, and all who wait are to look again. It may be gone. */
void tail_forget(struct tail *t);

/* It was of use just now. */
void tail_touch(struct tail *t);

/* ---- fetch.c ---- */

struct fetch {
    struct fetch *next; /* in its tail */
    struct fetch *next_done;
    struct inbox *inbox;
    struct tail *tail; /* NULL: nobody wants it any more */
    struct list subs;  /* who waits for it */
    uint64_t from;
    size_t max_bytes;
    uint32_t version; /* of the tail when it began */
    struct log_read read;
};

enum fetch_share { FETCH_OWN, FETCH_SHARED }; /* a read that began before may do, or not */

/*
 * Reads from id `from` on for a subscriber, which is in no list. True: at once, and tail,
 * sub->fetched and sub->status have the result. False: it is listed with the read, and will
 * be among the due when that is back.
 */
bool fetch_for(struct sub *s, uint64_t from, size_t max_bytes, enum fetch_share share);

/* A read has come back. Frees it. */
void fetch_finish(struct fetch *fetch);

/* Frees one that nobody will take. */
void fetch_discard(struct fetch *fetch);

/* Nobody wants the reads of this tail any more; those who waited for them are due. */
void fetch_detach(struct tail *t);

/* Those who wait for reads to know where they begin, begin at `first`. */
void fetch_place_latest(struct tail *t, uint64_t first);

/* ---- sub.c ---- */

/* One of the due: finds out what it is up to, and calls it if that is news to it. */
void sub_call(struct sub *s);

/* The first event from s->next on that was not fetched for it alone. */
static inline uint64_t sub_lacks(const struct sub *s)
{
    const struct chunk *c = s->fetched;
    return c && s->next >= c->first && s->next <= c->last ? c->last + 1 : s->next;
}

/* ---- fan.c ---- */

struct fan {
    uint32_t magic;
    bool is_running;
    uint32_t tick;
    struct hub *hub;
    struct list_node node; /* in the hub */
    struct inbox *inbox;
    struct mail mail;
    size_t tail_max;
    size_t all_max;
    struct map tails;    /* name, which is in the tail -> struct tail */
    struct list due;     /* subscribers to be called */
    struct list watched; /* tails with a window, the least recently used first */
    struct list cached;  /* the same of those that nobody watches */
    size_t n_cached;
    struct fan_stats stats;
};

/* Takes what is in the inbox; whoever is to be called is among the due then. */
void fan_take(struct fan *f);

/* Somebody is due: makes sure that fan_run() comes. */
void fan_kick(struct fan *f);
