/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server counts. Every worker has a struct counters of its own, which its thread alone
 * writes; whoever reads adds them up with counters_add_to(), at any time, from any thread.
 *
 * Names, kinds and sentences stand in the tables, so that /metrics prints them without knowing
 * them. Figures that the store or a key keeps are asked of them, not counted here.
 */
#pragma once

#include <stdatomic.h>

#include <weir/status.h>

/* X(symbol, name in /metrics, kind, sentence) */
#define COUNTER_TABLE(X)                                                                           \
    X(CONNECTIONS, "weir_connections", "gauge", "Connections that are open")                       \
    X(ACCEPTED, "weir_connections_accepted_total", "counter", "Connections accepted")              \
    X(REFUSED, "weir_connections_refused_total", "counter",                                        \
      "Connections refused because there were too many, in all or from one address")               \
    X(NO_FDS, "weir_accept_pauses_total", "counter",                                               \
      "Times that accepting paused because descriptors or memory ran out")                         \
    X(REQUESTS, "weir_requests_total", "counter", "Requests whose head was read")                  \
    X(IN_FLIGHT, "weir_requests_in_flight", "gauge", "Requests that are not answered yet")         \
    X(READ_PAUSES, "weir_pipeline_pauses_total", "counter",                                        \
      "Times that reading paused because a connection had too much in flight")                     \
    X(BYTES_IN, "weir_received_bytes_total", "counter", "Bytes read from connections")             \
    X(BYTES_OUT, "weir_sent_bytes_total", "counter", "Bytes written to connections")               \
    X(WRITES, "weir_writes_total", "counter", "Gathered writes to connections")                    \
    X(WAITING_BYTES, "weir_request_bytes", "gauge",                                                \
      "Bytes of requests that are not whole yet, or wait for others")                              \
    X(ANSWER_BYTES, "weir_answer_bytes", "gauge", "Bytes of answers that are not written yet")     \
    X(WATCHED, "weir_watches_total", "counter", "Event streams opened")                            \
    X(SUBSCRIBERS, "weir_subscribers", "gauge", "Event streams that are open")                     \
    X(STALLED, "weir_subscribers_stalled", "gauge", "Event streams whose reader does not read")    \
    X(STREAM_BYTES, "weir_stream_bytes_total", "counter", "Bytes of events sent to subscribers")   \
    X(STREAM_BLOCKS, "weir_stream_blocks_total", "counter",                                        \
      "Runs of events sent to subscribers, each by one write")                                     \
    X(BEATS, "weir_heartbeats_total", "counter", "Comment lines sent to silent streams")           \
    X(TAILS, "weir_fan_tails", "gauge", "Logs with a tail in memory")                              \
    X(TAIL_BYTES, "weir_fan_tail_bytes", "gauge", "Bytes in those tails")                          \
    X(NEWS, "weir_fan_news_total", "counter", "News of logs taken by the fan-out")                 \
    X(FETCHES, "weir_fan_fetches_total", "counter", "Reads of the store for readers behind")       \
    X(FETCH_BYTES, "weir_fan_replay_bytes_total", "counter", "Bytes of those reads")               \
    X(EVICTED, "weir_fan_evicted_total", "counter", "Chunks that left a tail for want of room")    \
    X(MISSED, "weir_fan_missed_total", "counter",                                                  \
      "Times that news were lost for want of memory, and the store was asked instead")             \
    X(LOG_LINES, "weir_access_log_lines_total", "counter", "Lines for the access log")             \
    X(LOG_DROPPED, "weir_access_log_dropped_total", "counter",                                     \
      "Lines of the access log dropped because it could not be written in time")                   \
    X(ROUNDS, "weir_loop_rounds_total", "counter", "Rounds of the loops")

enum counter {
#define COUNTER_ENUM(symbol, name, kind, help) COUNT_##symbol,
    COUNTER_TABLE(COUNTER_ENUM)
#undef COUNTER_ENUM
        N_COUNTERS
};

/* Why a connection was closed. X(symbol, name, sentence) */
#define CLOSE_TABLE(X)                                                                             \
    X(DONE, "done", "the last answer was sent")                                                    \
    X(PEER_ENDED, "peer_ended", "the peer closed")                                                 \
    X(PEER_BROKE, "peer_broke", "the connection broke")                                            \
    X(IDLE, "idle_timeout", "no request came in time")                                             \
    X(HEAD_TIMEOUT, "head_timeout", "the head of a request did not arrive in time")                \
    X(BODY_TIMEOUT, "body_timeout", "the body of a request came too slowly")                       \
    X(WRITE_TIMEOUT, "write_timeout", "the peer did not read its answer")                          \
    X(STALL_TIMEOUT, "stall_timeout", "the reader of an event stream did not read")                \
    X(BAD_REQUEST, "bad_request", "the request was not HTTP that is taken here")                   \
    X(TLS, "tls_failed", "TLS could not be agreed on")                                             \
    X(TOO_MANY, "too_many", "there were too many connections")                                     \
    X(TOO_MANY_PEER, "too_many_of_peer", "there were too many connections of this address")        \
    X(LOG_GONE, "log_gone", "the log that was watched was dropped or expired")                     \
    X(STORE_FAILED, "store_failed", "the log that was watched could not be read")                  \
    X(SHUTDOWN, "shutdown", "the server was going down")                                           \
    X(NO_MEMORY, "no_memory", "memory could not be had")

enum close_reason {
#define CLOSE_ENUM(symbol, name, text) CLOSE_##symbol,
    CLOSE_TABLE(CLOSE_ENUM)
#undef CLOSE_ENUM
        N_CLOSE_REASONS
};

const char *close_reason_name(enum close_reason why);
const char *close_reason_text(enum close_reason why);

enum {
    COUNTERS_ROUTES = 128,                   /* rows of the route table that are counted apart */
    COUNTERS_CLASSES = 6,                    /* answers by status / 100; 0 is not used */
    HISTOGRAM_BUCKETS = 24,                  /* bucket i: up to 2^i microseconds; the last: more */
    COUNTERS_NO_ROUTE = COUNTERS_ROUTES - 1, /* requests that met no row */
};

struct histogram {
    atomic_uint_fast64_t counts[HISTOGRAM_BUCKETS];
    atomic_uint_fast64_t sum;
};

/* Written by one thread. */
struct counters {
    atomic_uint_fast64_t values[N_COUNTERS];
    atomic_uint_fast64_t errors[WEIR_N_STATUS]; /* error answers by code */
    atomic_uint_fast64_t closed[N_CLOSE_REASONS];
    atomic_uint_fast64_t answers[COUNTERS_ROUTES][COUNTERS_CLASSES]; /* by row of routes[] */
    struct histogram request_us; /* from the whole request to its answer */
    struct histogram lag_us;     /* from durable to written, by round with news */
};

/* A sum of them, as plain numbers. */
struct histogram_sum {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t sum;
};

struct counters_sum {
    uint64_t values[N_COUNTERS];
    uint64_t errors[WEIR_N_STATUS];
    uint64_t closed[N_CLOSE_REASONS];
    uint64_t answers[COUNTERS_ROUTES][COUNTERS_CLASSES];
    struct histogram_sum request_us;
    struct histogram_sum lag_us;
};

/* Adds one worker's; *sum is zeroed before the first. Any thread. */
void counters_add_to(const struct counters *c, struct counters_sum *sum);

/* The owner's thread only: a load and a store, no locked instruction. */
static inline void counter_add(atomic_uint_fast64_t *counter, uint64_t n)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + n, memory_order_relaxed);
}

static inline void count(struct counters *c, enum counter which, uint64_t n)
{
    counter_add(&c->values[which], n);
}

/* Gauges go down, too. */
static inline void uncount(struct counters *c, enum counter which, uint64_t n)
{
    counter_add(&c->values[which], (uint64_t)0 - n);
}

static inline uint64_t counter_get(const struct counters *c, enum counter which)
{
    return atomic_load_explicit(&c->values[which], memory_order_relaxed);
}

static inline void count_set(struct counters *c, enum counter which, uint64_t value)
{
    atomic_store_explicit(&c->values[which], value, memory_order_relaxed);
}

/* The owner's thread only. */
void histogram_add(struct histogram *h, uint64_t us);
