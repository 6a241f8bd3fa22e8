/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going on with a stream that was cut: which answers open one, which events are new, when to ask
 * again, from where, and when to give up. Pure: no clock, no chance and no network of its own.
 *
 * 1. resume_init() with the kind of stream.
 * 2. For each connection resume_begin(), then resume_head() with the head of the answer,
 *    resume_bytes() when something of the body has come, resume_event() with each event,
 *    resume_end() when nothing more of it will come.
 * 3. resume_after(): again, and how long until then; or never.
 * 4. resume_fini().
 *
 * What is had. Turns and sessions number their events: what is not above the last number was had,
 * and what is above the next one shows that some are missing. A number that was had with something
 * else in it belongs to another stream, and so does one of a session of which nothing is known any
 * more, for its server skips what was had. Other streams have ids that mean nothing: after a
 * reconnection events that were had lately, by id and content, are dropped up to the newest of
 * them. A chat numbers the events of each reply, with its name before the number, and keeps it
 * whole as a turn. A model's stream has neither; it is paid for, and asked for again only before
 * the first byte of it has come.
 *
 * One thread at a time.
 */
#pragma once

#include <weir/client.h>

#include "base/hash.h"

enum {
    RESUME_MIN_SAID_MS = 100,       /* the least that a server may say */
    RESUME_MAX_SAID_MS = 60 * 1000, /* the most */
    RESUME_HAD = 1024,              /* events that are known again */
};

struct resume {
    enum weir_stream_kind kind;
    struct weir_stream_retry retry; /* with nothing left to default */
    uint64_t last_seq;              /* of turns, sessions, and the reply in last_id */
    struct weir_buf last_id;        /* of other streams; empty: none */
    unsigned n_failed;              /* in a row, without a new event */
    bool has_bytes;                 /* this connection brought something */
    bool is_over;                   /* the last event has come */
    bool has_id;                    /* an event of this connection had an id */
    bool is_behind;                 /* the last one that had was not new */
    bool has_retry;                 /* `retry:` said so */
    uint64_t retry_ms;
    struct hash_key hash_key;
    /* Hashes of what was given, by number or one behind the other; 0: none. */
    uint64_t had[RESUME_HAD];
    uint64_t n_had;    /* of streams without numbers */
    uint64_t n_before; /* of them, that this connection may give again */
};

/* Everything is copied. 0 in `retry` means the default of the kind. WEIR_NOMEM, WEIR_INVALID. */
WEIR_MUST_CHECK enum weir_status resume_init(struct resume *r, enum weir_stream_kind kind,
                                             const struct weir_stream_retry *retry);
void resume_fini(struct resume *r);

/*
 * What the caller had before: a number or an id, as the kind has it; 0, empty: nothing.
 * WEIR_INVALID: no reply has such an id; WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status resume_had(struct resume *r, uint64_t seq, struct weir_slice id);

/* A connection begins. */
void resume_begin(struct resume *r);

enum resume_answer {
    RESUME_OPEN,    /* events will come */
    RESUME_NOTHING, /* there will be no more, for good */
    RESUME_LATER,   /* not now */
    RESUME_NEVER,   /* asking again does not help */
};
enum resume_answer resume_head(int http_status, struct weir_slice content_type);

/* "FIRST-LAST": numbers from 1 on, in order. */
bool resume_read_gap(struct weir_slice text, uint64_t *first, uint64_t *last);

static inline void resume_bytes(struct resume *r)
{
    r->has_bytes = true;
}

static inline void resume_said_retry(struct resume *r, uint64_t retry_ms)
{
    r->retry_ms = retry_ms;
    r->has_retry = true;
}

enum resume_take {
    RESUME_GIVE,
    RESUME_GIVE_AFTER_GAP, /* those between the last and this one are no more to be had */
    RESUME_GIVE_LAST,      /* nothing comes behind it */
    RESUME_DROP,           /* was had */
    RESUME_MISSING,        /* some before it were lost on the way: connect again */
    RESUME_BAD,            /* has no number where it should */
    RESUME_OTHER,          /* its number was had with something else, or long ago */
};

/* Takes note of it, unless it is dropped. WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status resume_event(struct resume *r, const struct weir_sse_event *event,
                                              enum resume_take *take);

/*
 * A connection has ended; `id` is the last that its stream has set, with an event or without, which
 * is where to go on. WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status resume_end(struct resume *r, struct weir_slice id);

/*
 * A connection has ended otherwise than by the last event, and asking again may help. True: again,
 * in *delay_ms. said_ms: what Retry-After says; 0: nothing. `chance` is any number: the dice.
 */
bool resume_after(struct resume *r, uint64_t said_ms, uint32_t chance, uint64_t *delay_ms);
