/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that has one recorded turn to tell and misbehaves as it is told, in a process of its
 * own.
 *
 * 1. wire_start() reads the turn.
 * 2. wire_plan() for each run: what is to go wrong with it. The run is then asked for by its
 *    address, http://127.0.0.1:PORT/RUN and what a client puts behind it.
 * 3. wire_asked() tells how often it was; wire_stop().
 *
 * The first connection of a run goes wrong by the plan, or each by the dice (plan.seed). Whoever
 * comes again gets what it asks for: what is behind Last-Event-ID, and 204 when that is nothing.
 */
#pragma once

#include <weir/buf.h>
#include <weir/client.h>

enum { WIRE_MAX_EVENTS = 64, WIRE_MAX_RUNS = 1 << 15 };

enum wire_framing { WIRE_UNTIL_CLOSE, WIRE_LENGTH, WIRE_CHUNKED, WIRE_RECORDED, WIRE_FRAMINGS };
enum wire_end { WIRE_FIN, WIRE_RESET, WIRE_STALL, WIRE_KEEP };

struct wire_plan {
    enum weir_stream_kind kind;
    enum wire_framing framing;
    enum wire_end end;
    size_t cut;    /* bytes of the first answer that are sent, its head included */
    uint64_t seed; /* not 0: the dice decide */
};

struct wire_event {
    struct weir_slice type, data;
};

struct wire {
    struct weir_slice recorded; /* the whole answer, with its head */
    struct wire_event events[WIRE_MAX_EVENTS];
    unsigned n_events;
    unsigned port;
    int fd;
    int child;
    struct wire_shared *shared;
};

/* False: the turn cannot be read. `recorded` has to live as long. */
bool wire_start(struct wire *w, struct weir_slice recorded);
void wire_stop(struct wire *w);

/* Takes it from the beginning again. */
void wire_plan(struct wire *w, unsigned run, const struct wire_plan *plan);
unsigned wire_asked(const struct wire *w, unsigned run);

/* How many events a run of this kind is given in all, and which is the nth, from 1 on. */
unsigned wire_count(const struct wire *w, enum weir_stream_kind kind);
struct wire_event wire_event(const struct wire *w, enum weir_stream_kind kind, unsigned number);

/* How long an answer of this kind is; *n_head gets how much of it comes before the first event. */
size_t wire_answer_bytes(const struct wire *w, const struct wire_plan *plan, size_t *n_head);
