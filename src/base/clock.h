/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time, through a struct that tests can replace. Whatever needs the time is
 * given a clock; nothing else in the project asks the system.
 *
 * The monotonic clock is for durations and timers: it never goes back, and its
 * zero means nothing. The wall clock is for people and ids: it can jump.
 *
 * Any thread, the fake clock included.
 */
#pragma once

#include <stdatomic.h>
#include <time.h>

#include <weir/types.h>

struct clock {
    uint64_t (*mono_ns)(void *user);
    int64_t (*wall_ms)(void *user); /* since 1970-01-01T00:00:00Z */
    void *user;
};

/* The machine's own. */
extern const struct clock clock_system;

static inline uint64_t clock_mono_ns(const struct clock *c)
{
    return c->mono_ns(c->user);
}

static inline int64_t clock_wall_ms(const struct clock *c)
{
    return c->wall_ms(c->user);
}

/*
 * A moment from now on the machine's monotonic clock, for a condition variable that was
 * made with CLOCK_MONOTONIC. Waiting for other threads is real whatever clock a test has.
 */
struct timespec clock_deadline(uint64_t in_ms);
struct timespec clock_deadline_us(uint64_t in_us);

enum { CLOCK_TEXT_BYTES = 25 }; /* "2026-01-02T03:04:05.678Z" and a NUL */

/*
 * Writes a wall time as RFC 3339 in UTC with milliseconds. The format has four
 * digits for the year: a time outside 0000 to 9999 is written as the nearest
 * that it can say.
 */
void clock_format(char out[CLOCK_TEXT_BYTES], int64_t wall_ms);

/*
 * Reads an RFC 3339 time, with any number of digits behind the second (those beyond milliseconds
 * count for nothing) and "Z" or an offset. False when it is none.
 */
bool clock_parse(struct weir_slice text, int64_t *wall_ms);

/* A clock that stands still until it is told to go on. It must not move in memory. */
struct fake_clock {
    struct clock clock; /* hand out a pointer to this */
    atomic_uint_fast64_t mono_ns;
    atomic_int_fast64_t wall_ns;
};

void fake_clock_init(struct fake_clock *f, int64_t wall_ms);

/* Moves both times forward. */
void fake_clock_advance(struct fake_clock *f, uint64_t ns);

/* Makes the wall clock jump, backwards if need be; the monotonic one does not notice. */
void fake_clock_set_wall(struct fake_clock *f, int64_t wall_ms);
