/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The access log: one line of JSON for each request that was answered, for an event stream
 * when it ends.
 *
 *   {"time":"2026-01-02T03:04:05.678Z","request_id":"req_…","method":"POST",
 *    "path":"/v1/streams/a","route":"streams.append","status":201,"bytes":9,
 *    "duration_us":412,"peer":"127.0.0.1:50000","key":"k3…"}
 *
 * The path is without its query, where keys may stand. Lines gather in a buffer of the
 * worker's; at the end of a round they go to a queue, and a thread writes them. When the
 * queue is full, because the disk or the reader of a pipe stands still, lines are dropped
 * and counted: the log never holds a request up.
 *
 * 1. access_log_open(), while the process may open the file; access_log_start(), when it has
 *    given up its rights, for that is a thread; log_buffer_init() for each worker.
 * 2. log_add(), log_flush() by the workers; access_log_reopen() after the file was moved.
 * 3. access_log_close() writes what is queued.
 */
#pragma once

#include <weir/buf.h>

#include "base/clock.h"
#include "serve/counters.h"

enum {
    LOG_QUEUE_BYTES = 1 << 20,    /* that may wait to be written */
    LOG_BUFFER_BYTES = 128 << 10, /* that a worker may gather in a round */
};

struct access_log;

/* "-" is standard error. WEIR_IO, with errno. */
WEIR_MUST_CHECK enum weir_status access_log_open(struct access_log **out, const char *path);
/* WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status access_log_start(struct access_log *l);
void access_log_close(struct access_log *l); /* NULL is allowed */
/* Any thread. When the file cannot be opened, the old one stays. */
WEIR_MUST_CHECK enum weir_status access_log_reopen(struct access_log *l);

/* A worker's own. */
struct log_buffer {
    struct access_log *log; /* NULL: no log */
    struct counters *counters;
    struct weir_buf lines;
    uint64_t n_lines;
};

void log_buffer_init(struct log_buffer *b, struct access_log *log, struct counters *counters);
void log_buffer_fini(struct log_buffer *b);

struct log_line {
    int64_t wall_ms;
    struct weir_slice request_id;
    const char *method;
    struct weir_slice path;
    const char *route;
    int status;
    uint64_t n_bytes; /* of the answer's body */
    uint64_t duration_us;
    const char *peer;
    const char *key; /* its name */
};

void log_add(struct log_buffer *b, const struct log_line *line);
/* Hands the lines over to the thread that writes. */
void log_flush(struct log_buffer *b);
