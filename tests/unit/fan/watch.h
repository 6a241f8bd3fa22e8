/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subscriber that checks what it is given: consecutive ids from where it began, each event
 * byte for byte as the fake store has it. And a bench of hub, fake store and one fan.
 */
#pragma once

#include "fan/fan_impl.h"
#include "t.h"
#include "unit/fan/fake_store.h"

struct bench {
    struct hub *hub;
    struct store store;
    struct fan *fan;
    unsigned n_wakes; /* since the last run */
};

struct watcher {
    struct sub sub;
    struct bench *bench;
    unsigned n_calls; /* of on_ready */
    uint64_t n_seen;
    size_t max_iov;   /* vectors offered at a peek; 0: 8 */
    size_t max_bytes; /* 0: as many as there are */
    bool reads;       /* all that it can, whenever it is called */
};

void bench_init(struct bench *b, size_t tail_bytes, size_t all_tail_bytes);
void bench_fini(struct bench *b);

/* Gives all news, answers all reads and runs the fan as often as it wants. */
void bench_settle(struct bench *b);
struct fan_stats bench_stats(const struct bench *b);

enum sub_state watcher_open(struct bench *b, struct watcher *w, unsigned log, uint64_t from);

/* Counts, and reads if it is one that reads. */
void watcher_on_ready(struct sub *sub);

/* Peeks, checks the bytes, and advances. Returns the state before. */
enum sub_state watcher_read(struct watcher *w);

/* Reads until there is nothing. Returns the state. */
enum sub_state watcher_drain(struct watcher *w);

/* Checks that the vectors are events first..last of a log, and no more. */
void check_bytes(const struct iovec *iov, unsigned n_iov, uint64_t log_id, uint64_t first,
                 uint64_t last);
