/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the hooks share. The thread of the hooks only, unless marked otherwise. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/heap.h"
#include "base/map.h"
#include "hook/hooks.h"
#include "hook/signer.h"
#include "hook/subscription.h"

enum { HOOKS_MAGIC = 0x686f6f6b };

extern const char subscription_kind[]; /* of the documents */

/* A stream that changed. */
struct note {
    uint64_t log_id;
    uint64_t first, last; /* the events that are new; 0: none */
    bool was_dropped;     /* the log that had the name before */
    size_t n_path;
    char path[];
};

/* A webhook on its way. */
struct delivery {
    struct list_node node;
    struct hooks *hooks;
    uint64_t ticket;
    enum weir_status status;
    int http_status;
    const char *why; /* it failed; not to be freed */
    bool is_done;    /* the receiver said so */
    char id[];       /* of the subscription, with its NUL */
};

/* What a round has to do. */
struct work {
    struct list requests;
    struct list answered;
    struct list fetched; /* deliveries that came back */
    struct map notes;
    bool is_overflown; /* there were more notes */
    bool is_last;
    struct map stale; /* ids of subscriptions that other nodes have changed */
    bool is_all_stale;
    bool has_lead_news, leads;
};

struct hooks {
    unsigned magic;
    struct hooks_options options;
    struct store *store;
    pthread_t thread;
    bool is_started;
    atomic_uint n_wanted; /* subscriptions; any thread */
    atomic_uint_fast64_t n_wakes, n_deliveries, n_failures, n_refused, n_unlinked, n_scans;

    /* Any thread, under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct list requests;
    unsigned n_requests;
    struct list fetched;
    struct map notes;
    bool is_overflown;
    bool is_stopping;
    struct map stale;
    bool is_all_stale;
    bool has_lead_news, wants_lead;

    bool is_shared;           /* other nodes have the same subscriptions */
    bool leads;               /* this one wakes and delivers */
    int64_t look_at_ms;       /* all are looked at again; 0: not */
    struct map subscriptions; /* by id */
    struct heap timers;
    struct list touched; /* to be looked at in this round, or, between rounds, in the next */
    struct list dead;    /* freed at its end; linked by `touched` */
    struct signer signer;
    bool has_signer;
    struct fetcher *fetcher; /* NULL until it is needed; set under the lock */
    int64_t scan_at_ms;      /* all streams are looked at then; 0: not */
    int64_t wall_ms;         /* when it was opened */
    uint64_t mono_ns;
};

/* hooks.c */

/* Wall time that does not jump while the process runs. */
int64_t hooks_now_ms(const struct hooks *h);
struct subscription *hooks_find(const struct hooks *h, struct weir_slice id);
/* It is looked at before the round ends; with `is_changed` it is written, too. */
void hooks_touch(struct hooks *h, struct subscription *s, bool is_changed);
/* Takes it out of the tables and frees it at the round's end. */
void hooks_forget(struct hooks *h, struct subscription *s);
WEIR_MUST_CHECK enum weir_status hooks_add(struct hooks *h, struct subscription *s);
/* Wakes it if it is idle and has something; true when it has. */
bool hooks_wake_if_due(struct hooks *h, struct subscription *s);

/* watch.c: streams and links */

void watch_note(struct hooks *h, const struct note *note);
/* Links what is there to a new subscription, as acknowledged. WEIR_LIMIT. */
WEIR_MUST_CHECK enum weir_status watch_link_all(struct hooks *h, struct subscription *s);
WEIR_MUST_CHECK enum weir_status watch_link_one(struct hooks *h, struct subscription *s,
                                                struct weir_slice path);
/* Looks at all streams: nothing is known of what happened. */
WEIR_MUST_CHECK enum weir_status watch_scan(struct hooks *h);
/* The tails of one, as they are. */
WEIR_MUST_CHECK enum weir_status watch_tails(struct hooks *h, struct subscription *s);

/* All that one has, with streams that another node made a moment ago: who asks may know of them. */
WEIR_MUST_CHECK enum weir_status watch_all_of(struct hooks *h, struct subscription *s);
/* The same, also when there is something already. */
WEIR_MUST_CHECK enum weir_status watch_scan_of(struct hooks *h, struct subscription *s);
/* The tail of one stream, as it is. */
WEIR_MUST_CHECK enum weir_status watch_tail(struct hooks *h, struct stream_link *link);

/* nodes.c: what other nodes do */

void nodes_init(struct hooks *h);
void nodes_take(struct hooks *h, struct work *w); /* under the lock */
void nodes_run(struct hooks *h, struct work *w);
/* The subscription as its document is now; none when there is none. What the store says. */
WEIR_MUST_CHECK enum weir_status nodes_look(struct hooks *h, struct weir_slice id);
/* Another node was faster: what it has written takes the place of ours. */
void nodes_give_way(struct hooks *h, struct subscription *s);

/* write.c */

/* Makes all touched ones durable that have changed; s->written says how it went. */
void write_touched(struct hooks *h);
/* What the store has takes the place of what could not be written. */
void write_reload(struct hooks *h, struct subscription *s);

/* deliver.c */

void deliver_start(struct hooks *h, struct subscription *s);
void deliver_finish(struct hooks *h, struct delivery *d);
void deliver_abort(struct hooks *h, struct subscription *s);

/* request.c */

/* False: not in this round. */
bool request_run(struct hooks *h, struct hooks_request *r);

/* describe.c: as JSON */

enum describe_detail { DESCRIBE_LINKS, DESCRIBE_TAILS };
void describe_streams(struct subscription *s, enum describe_detail detail, struct weir_buf *out);
void describe_subscription(struct hooks *h, struct subscription *s, struct weir_buf *out);
void describe_url(const struct hooks *h, const struct subscription *s, const char *action,
                  struct weir_buf *out);
void describe_token(const struct hooks *h, const struct subscription *s, struct weir_buf *out);
/* The keys, read or made at first use. */
WEIR_MUST_CHECK enum weir_status hooks_need_signer(struct hooks *h);
