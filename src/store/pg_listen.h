/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other nodes have written, heard by a thread and a connection of its own: it listens to their
 * notifications (pg_news.h), fetches the events of logs that are followed here with one statement
 * for all that has come meanwhile, and hands over what it found.
 *
 * 1. pg_listener_start(). Whatever is committed after it returns is heard of.
 * 2. `heard` is called by the listener's thread with what was found, again and again; whoever gets
 *    it owns it, and calls pg_heard_free() soon: too much that was not freed stops the listener.
 * 3. pg_listener_stop(): `heard` is not called any more. pg_listener_free() when all is freed.
 *
 * Of a log that is followed, events come in order and without a gap, but a chunk may come twice,
 * and where more was missed than is worth fetching, only the newest. So receivers go by ids, as
 * those of store_news_fn do.
 *
 * Nothing depends on a notification: a writer that died before it could tell, or a payload that is
 * none, is noticed by the numbers of batches, in notifications and, each `sweep_ms`, in the table
 * of writers; then all logs that are followed are compared with what was given of them, and
 * is_everything tells that documents may have changed. So it is after a lost connection. Besides,
 * some of the logs are compared with each sweep, whatever was heard.
 */
#pragma once

#include "base/arena.h"
#include "store/pg_clusters.h"
#include "store/store.h"

struct pg_listener;

/* A log that another node has changed, whether it is followed here or not. */
struct pg_heard_log {
    struct weir_slice name;
    uint64_t log_id;
    uint64_t last;    /* newest event that was told of; 0: of none */
    unsigned cluster; /* which database has its events */
    bool is_made, is_sealed, is_dropped;
};

struct pg_heard {
    struct pg_heard *next; /* of whoever queues it */
    /* Anything may have changed: caches are to be forgotten, on_docs(0) is to be called. */
    bool is_everything;
    struct pg_heard_log *logs; /* in the order they were told of */
    size_t n_logs;
    struct doc_key *docs;
    size_t n_docs;
    struct store_news *news; /* for on_news: of logs that are followed */
    size_t n_news;
    /* Private. */
    struct pg_listener *from;
    struct arena memory;
    size_t cap_logs, cap_docs, cap_news;
    size_t n_bytes;
};
void pg_heard_free(struct pg_heard *h); /* any thread; NULL is allowed */

/* 0 or NULL in any field means its default. Texts are copied. */
struct pg_listen_options {
    struct pg_clusters *clusters; /* whose first one tells; they outlive the listener */
    struct weir_slice writer;     /* whose notifications tell us nothing: our own */
    unsigned sweep_ms;            /* 1,000 */
    /* Which logs are followed, as in store_options; NULL: all, and none to be compared. */
    bool (*wants_log)(void *user, struct weir_slice log);
    void (*each_log)(void *user, unsigned part, store_log_fn each, void *arg);
    void *follower; /* their user */
    void (*heard)(void *user, struct pg_heard *h);
    void *user;
};

/* WEIR_STORAGE, WEIR_NOMEM; later it connects again by itself. */
WEIR_MUST_CHECK enum weir_status pg_listener_start(struct pg_listener **out,
                                                   const struct pg_listen_options *options,
                                                   struct store_error *error);
void pg_listener_stop(struct pg_listener *l);
void pg_listener_free(struct pg_listener *l); /* NULL is allowed, here and above */

struct pg_listen_stats {
    uint64_t n_notes;    /* payloads */
    uint64_t n_fetches;  /* statements that fetched events */
    uint64_t n_lost;     /* times that news were lost */
    uint64_t n_connects; /* connections made */
    bool is_connected;
};
void pg_listener_stats(struct pg_listener *l, struct pg_listen_stats *out);
