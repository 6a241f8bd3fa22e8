/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subscription: which streams somebody wants to be woken for, how far each was acknowledged, and
 * the wake that is under way. Everything here happens in memory and at the time that the caller
 * says; hooks.c makes it durable and talks to the world.
 *
 *   idle ──wake──▶ woken ──┬─ webhook: delivered ──▶ leased ──┬─ done, release ──▶ idle
 *                          │    failed: delivered again later  │
 *                          └─ pull: claimed ─────▶ leased ─────┴─ lease over ────▶ idle
 *
 * Every wake has a new generation and a new id; whoever shows older ones is fenced off. What is
 * idle and has unacknowledged events is woken again. Offsets are ids of events: what is
 * acknowledged is all up to and with that one.
 *
 * 1. subscription_new(), or subscription_read() from its document.
 * 2. Links and tails as streams change; the steps as things happen.
 * 3. subscription_write() after each change; subscription_free().
 *
 * One thread at a time.
 */
#pragma once

#include <weir/buf.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "io/crypto.h"
#include "store/store.h"

enum {
    SUBSCRIPTION_ID_BYTES = 200,    /* longest id */
    SUBSCRIPTION_TEXT_BYTES = 1024, /* longest description or name of a holder */
    SUBSCRIPTION_MAX_LINKS = 4096,  /* streams of one subscription */
    SUBSCRIPTION_DOC_BYTES = 4 << 20,
    WAKE_ID_BYTES = 2 + 24 + 1, /* "w_", 24 hex digits and a NUL */
    LEASE_DEFAULT_MS = 30 * 1000,
    LEASE_MIN_MS = 1000,
    LEASE_MAX_MS = 10 * 60 * 1000,
    RETRY_FIRST_MS = 1000, /* then twice as long each time, */
    RETRY_MAX_MS = 60 * 1000,
    RETRY_JITTER = 5, /* give or take a fifth */
};

enum subscription_type { SUBSCRIPTION_WEBHOOK, SUBSCRIPTION_PULL };

enum link_kind { LINK_GLOB = 1, LINK_EXPLICIT = 2 };

enum { ACKED_NOTHING = -1 }; /* and the stream was made after the subscription */

struct stream_link {
    struct list_node node;
    unsigned kinds;   /* of enum link_kind */
    uint64_t log_id;  /* which log of this name the ids are of; 0: none was there yet */
    int64_t acked;    /* id of the last event that was; ACKED_NOTHING */
    uint64_t tail;    /* newest event. Not kept */
    uint64_t told_to; /* newest event that the delivery under way told of. Not kept */
    size_t n_path;
    char path[];
};

/* What its maker chose. Empty: not given. */
struct subscription_config {
    enum subscription_type type;
    struct weir_slice pattern;
    struct weir_slice url;
    struct weir_slice wake_stream;
    struct weir_slice description;
    int64_t lease_ttl_ms;
};

/* Another node has written the document. Neither a version nor DOC_ANY_VERSION, which fits all. */
enum { VERSION_UNKNOWN = -2 };

struct delivery;

struct subscription {
    struct subscription_config config; /* in memory of its own */
    unsigned char hash[SHA256_BYTES];  /* of the request that made it */
    char *id;
    char *owner;
    int64_t created_ms;
    struct list links; /* in the order they came */
    struct map by_path;

    uint64_t generation;
    char wake_id[WAKE_ID_BYTES]; /* empty: idle */
    char *holder;                /* NULL: nobody claimed it */
    int64_t lease_until_ms;      /* 0: none */
    unsigned n_failures;         /* deliveries that failed since one did not */
    int64_t retry_at_ms;         /* 0: none is waited for */

    /* Of whoever runs it; not kept. */
    int64_t version; /* of its document, where others may write it; VERSION_UNKNOWN */
    struct heap_node timer;
    struct list_node touched;
    struct delivery *delivery;
    enum weir_status written; /* how the last write went */
    bool is_dirty;            /* its document is not what it is */
    bool is_new;              /* it has no document yet */
    bool is_removed;          /* its document has to go */
    bool has_wake_event;      /* the wake has to be written to wake_stream */
};

/* NULL: no memory. */
struct subscription *subscription_new(struct weir_slice id, struct weir_slice owner,
                                      const struct subscription_config *config);
void subscription_free(struct subscription *s);

/* The document. NULL when it is none of ours, or there is no memory. */
void subscription_write(const struct subscription *s, struct weir_buf *out);
struct subscription *subscription_read(struct weir_slice id, struct weir_slice owner,
                                       struct weir_slice body);

/* After a restart: no time that the clock, set back meanwhile, would make too long. */
void subscription_resume(struct subscription *s, int64_t now_ms);

/* ---- links ---- */

struct stream_link *subscription_link(const struct subscription *s, struct weir_slice path);

/*
 * Adds a kind to a link, which is made if it is not there, acknowledged up to `acked`.
 * WEIR_LIMIT: there are SUBSCRIPTION_MAX_LINKS. WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status subscription_add_link(struct subscription *s,
                                                       struct weir_slice path, enum link_kind kind,
                                                       int64_t acked);
/* Takes a kind off a link, or all with 0; without any it is gone. */
void subscription_remove_link(struct subscription *s, struct weir_slice path, unsigned kind);

/* Whether a stream of this name is one that its pattern means. Its own wake stream never is. */
bool subscription_matches(const struct subscription *s, struct weir_slice path);

/* The log has got this far. Another log of the name begins anew; true when that is to be kept. */
bool stream_link_set_tail(struct stream_link *link, uint64_t log_id, uint64_t tail);
bool stream_link_is_pending(const struct stream_link *link);

/* The first one with something that was not acknowledged; NULL. */
const struct stream_link *subscription_pending(const struct subscription *s);

/* ---- steps ---- */

bool subscription_is_idle(const struct subscription *s);
void subscription_wake(struct subscription *s);                                /* of an idle one */
void subscription_claim(struct subscription *s, char *holder, int64_t now_ms); /* takes the text */
void subscription_extend(struct subscription *s, int64_t now_ms);
void subscription_end(struct subscription *s); /* to idle */
void subscription_delivered(struct subscription *s, int64_t now_ms);
void subscription_failed(struct subscription *s, int64_t now_ms, uint32_t chance);
void subscription_ack_told(struct subscription *s);

/* Whether the wake has to be delivered now. */
bool subscription_wants_delivery(const struct subscription *s, int64_t now_ms);

/* When something is due by itself: the lease's end or a retry. 0: nothing. */
int64_t subscription_due_ms(const struct subscription *s);
bool subscription_lease_is_over(const struct subscription *s, int64_t now_ms);

/* Whether it may be acknowledged up to there: no going back, and not beyond the tail. */
bool stream_link_may_ack(const struct stream_link *link, uint64_t id);
