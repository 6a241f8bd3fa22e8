/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store for tests of the fan-out: it keeps no bytes, for what is in an event follows from
 * its log and id, and it does nothing by itself. The test says when news are given, when a
 * read looks at the logs and when its result comes back.
 */
#pragma once

#include <pthread.h>

#include "fan/fan.h"

enum {
    FAKE_LOGS = 16,
    FAKE_EVENT_BYTES = 512,
    FAKE_NEWS = 4096,
    FAKE_READS = 1024,
};

/* All that the fan may see of a log, by its index. */
struct fake_log {
    uint64_t log_id; /* 0: there is none now */
    uint64_t last;
    bool is_sealed;
    uint64_t published; /* newest event whose news were given */
};

struct fake_read {
    char name[STORE_NAME_BYTES];
    size_t name_len;
    uint64_t from;
    size_t max_bytes;
    log_read_fn done;
    void *user;
    bool has_looked;
    struct log_read result;
};

struct fake_news {
    unsigned log;
    struct store_news news;
};

struct store {
    pthread_mutex_t lock;
    struct hub *hub;
    struct fake_log logs[FAKE_LOGS];
    uint64_t last_log_id;
    bool is_shared;                   /* with others: ids of logs do not always rise */
    struct fake_news news[FAKE_NEWS]; /* to be given */
    size_t n_news;
    struct fake_read reads[FAKE_READS]; /* to be answered */
    size_t n_reads;
    unsigned now_percent;  /* of the reads are answered at once */
    unsigned chunk_events; /* in each chunk of a read; 0: one chunk has all that is asked for */
    enum weir_status status;
    bool hides_events; /* a read does not find what is there */
    uint64_t n_store_reads;
};

void fake_init(struct store *s, struct hub *h);
void fake_fini(struct store *s); /* answers what is left */

/* The name of a log. */
struct weir_slice fake_name(unsigned log);

/* The bytes of an event. */
size_t fake_event(char out[FAKE_EVENT_BYTES], uint64_t log_id, uint64_t id);

/*
 * Each is visible to reads at once, and its news are queued. A log is made by its first append,
 * or without events.
 */
void fake_append(struct store *s, unsigned log, unsigned n_events);
void fake_make(struct store *s, unsigned log);
void fake_seal(struct store *s, unsigned log);
void fake_drop(struct store *s, unsigned log);

/* The queue is in another order. */
void fake_shuffle_news(struct store *s);

/* Gives the oldest n of the news that are queued, in one call. */
void fake_publish(struct store *s, size_t n);
void fake_publish_all(struct store *s);

/* Forgets news without giving them; not what a store does. */
void fake_lose_news(struct store *s);

/* Read i looks at the logs now; its result comes back. The first also if it has not looked. */
void fake_look(struct store *s, size_t i);
void fake_answer(struct store *s, size_t i);
void fake_answer_all(struct store *s);
