/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault points: named places where the world can be made to fail on purpose.
 *
 * Code at such a place asks fault_hit(); it answers true for the calls that a
 * test, or the environment variable WEIR_FAULT, has chosen. They are compiled
 * into every build, so that what is tested is what ships; unarmed, a point
 * costs one relaxed load.
 *
 * WEIR_FAULT="alloc:3" fails the third allocation, "sync:2+" every sync from
 * the second on, "write:5!" kills the process at the fifth write; several are
 * separated by commas. The points of workflows (a run begins, a step begins, it
 * has brought something, that is durable, the run is about to end) are for "!"
 * alone. At "decide" a commit's decide is called once more, in vain, before the
 * call that counts. The program reads it once, by fault_arm_from_env(). Any
 * thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/status.h>

/* X(symbol, name) */
#define FAULT_TABLE(X)                                                                             \
    X(ALLOC, "alloc")                                                                              \
    X(WRITE, "write")                                                                              \
    X(SYNC, "sync")                                                                                \
    X(SEND, "send")                                                                                \
    X(RUN, "run")                                                                                  \
    X(STEP, "step")                                                                                \
    X(OUTPUT, "output")                                                                            \
    X(KEPT, "kept")                                                                                \
    X(END, "end")                                                                                  \
    X(DECIDE, "decide")

enum fault_point {
#define FAULT_ENUM(symbol, name) FAULT_##symbol,
    FAULT_TABLE(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_N_POINTS
};

enum fault_mode {
    FAULT_ONCE,  /* fail the nth hit only */
    FAULT_FROM,  /* fail the nth and every later hit */
    FAULT_CRASH, /* SIGKILL this process at the nth hit */
};

extern atomic_bool fault_is_armed;

bool fault_hit_slow(enum fault_point point);

/* True when the operation at this place has to fail now. */
static inline bool fault_hit(enum fault_point point)
{
    return atomic_load_explicit(&fault_is_armed, memory_order_relaxed) && fault_hit_slow(point);
}

/* A place where nothing can fail, but where the process may be killed. */
static inline void fault_pass(enum fault_point point)
{
    (void)fault_hit(point);
}

/* Chooses the nth hit (1 is the next one) of a point; 0 disarms it. */
void fault_arm(enum fault_point point, uint64_t nth, enum fault_mode mode);
void fault_disarm_all(void);

/* How often the point was passed since it was armed. */
uint64_t fault_count(enum fault_point point);

/* Arms what `spec` says, as WEIR_FAULT above. WEIR_INVALID arms nothing. */
WEIR_MUST_CHECK enum weir_status fault_arm_from_spec(const char *spec);
WEIR_MUST_CHECK enum weir_status fault_arm_from_env(void);
