/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscriptions of the Durable Streams protocol: somebody names streams, or a pattern of names,
 * and is woken when there is something new, by a signed POST to a URL (webhook) or by an event in
 * a stream that workers watch (pull-wake). Whoever is woken says how far it got; see
 * subscription.h for the states, glob.h for patterns.
 *
 * 1. hooks_open() reads the subscriptions, documents of kind "subscription"; hooks_start() goes on
 *    where they were: leases run on, wakes that were not acknowledged are delivered again.
 * 2. The store's news are told by hooks_news().
 * 3. hooks_ask() for each request; its `done` comes when what it changed is durable.
 * 4. hooks_stop() when nobody asks any more and before the store is closed; hooks_free() after it.
 *
 * A thread of its own owns all subscriptions. It does in rounds what has gathered, writes what has
 * changed with one wait for the disk, and only then answers and delivers: what is not durable is
 * not told. Delivery is at least once: after a crash a wake may come a second time, with the same
 * id and generation.
 *
 * hooks_news(), hooks_ask(), hooks_stats(): any thread; the rest: one thread.
 */
#pragma once

#include <weir/buf.h>

#include "base/list.h"
#include "base/trace.h"
#include "io/fetch.h"
#include "store/store.h"

struct hooks;
struct subscription;

enum {
    HOOKS_MAX_SUBSCRIPTIONS = 10000,
    HOOKS_MAX_REQUESTS = 4096,    /* that wait; then WEIR_BUSY */
    HOOKS_MAX_NOTES = 65536,      /* streams that changed and were not looked at; then all are */
    HOOKS_TOLD_STREAMS = 1000,    /* of a wake, those with something new first */
    HOOKS_ANSWER_BYTES = 2 << 20, /* largest answer or delivery */
};

/* Texts are borrowed until hooks_free(). */
struct hooks_options {
    const char *folder;     /* where the keys are kept */
    const char *public_url; /* "https://streams.example.com": how others reach this server */
    const struct target_rules *rules;
    const struct clock *clock;
    const struct trace *trace;
    bool is_shared; /* as if the store were one that others have open, too: for tests */
};

WEIR_MUST_CHECK enum weir_status hooks_open(struct hooks **out, struct store *store,
                                            const struct hooks_options *options);
/* From now on the store's news have to be told: it writes, too. WEIR_IO: there is no thread. */
WEIR_MUST_CHECK enum weir_status hooks_start(struct hooks *h);
void hooks_stop(struct hooks *h);
void hooks_free(struct hooks *h); /* NULL is allowed, here and above */

/* By the committer's thread; costs a load when there is no subscription. */
void hooks_news(struct hooks *h, const struct store_news *news, size_t n);

/* Whether news of this log are wanted. Any thread. */
bool hooks_wants(struct hooks *h, struct weir_slice log);

/*
 * At a shared store: whether this node is the one that wakes and delivers; at first it is not.
 * Another node has put or removed a document; kind empty: any may have changed. Any thread; short.
 */
void hooks_lead(struct hooks *h, bool leads);
void hooks_docs_changed(struct hooks *h, struct weir_slice kind, struct weir_slice id);

enum hooks_action {
    HOOKS_PUT,
    HOOKS_GET,
    HOOKS_DELETE,
    HOOKS_ADD_STREAMS,
    HOOKS_REMOVE_STREAM,
    HOOKS_CALLBACK,
    HOOKS_CLAIM,
    HOOKS_ACK,
    HOOKS_RELEASE,
    HOOKS_JWKS,
};

/* Belongs to the caller again when `done` is called, by the thread of the hooks. */
struct hooks_request {
    enum hooks_action action;
    struct weir_slice id;    /* of the subscription */
    struct weir_slice owner; /* who asks */
    bool sees_all;           /* others' subscriptions, too */
    struct weir_slice path;  /* HOOKS_REMOVE_STREAM */
    struct weir_slice token; /* HOOKS_CALLBACK, _ACK, _RELEASE; empty: none */
    struct weir_slice body;
    void (*done)(struct hooks_request *r);

    enum weir_status failure; /* not WEIR_OK: why nothing was done and there is no answer */
    int status;               /* of the answer */
    struct weir_buf answer;   /* JSON; weir_buf_fini() it */

    /* Private. */
    struct list_node node;
    struct subscription *subscription;
    unsigned n_tries; /* another node was faster */
};

/* WEIR_BUSY, WEIR_SHUTDOWN: `done` is not called. */
WEIR_MUST_CHECK enum weir_status hooks_ask(struct hooks *h, struct hooks_request *r);

struct hooks_stats {
    uint64_t n_subscriptions, n_wakes, n_deliveries, n_failures;
    uint64_t n_refused;  /* requests, because too many waited */
    uint64_t n_unlinked; /* streams that a subscription had no room for */
    uint64_t n_scans;    /* looks at all streams: at the start, and when too many changed */
    struct fetcher_stats fetches;
};
void hooks_stats(struct hooks *h, struct hooks_stats *out);
