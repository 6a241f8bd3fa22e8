/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault points. Hits only touch atomics; arming is rare and takes a lock, so that
 * fault_is_armed always says whether any point is armed. A point that fired once
 * stays armed and goes on counting, which lets a test read how many hits there
 * were after the failure.
 */
#include "base/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"

struct point {
    atomic_uint_fast64_t nth; /* 0: not armed */
    atomic_uint_fast64_t count;
    atomic_int mode;
};

struct choice {
    uint64_t nth;
    enum fault_mode mode;
};

static const char *const names[FAULT_N_POINTS] = {
#define NAME(symbol, name) name,
    FAULT_TABLE(NAME)
#undef NAME
};

atomic_bool fault_is_armed;
static struct point points[FAULT_N_POINTS];
static pthread_mutex_t arming = PTHREAD_MUTEX_INITIALIZER;

bool fault_hit_slow(enum fault_point point)
{
    struct point *p = &points[point];
    uint64_t nth = atomic_load_explicit(&p->nth, memory_order_acquire);
    if (nth == 0) return false;
    uint64_t count = atomic_fetch_add_explicit(&p->count, 1, memory_order_relaxed) + 1;
    switch ((enum fault_mode)atomic_load_explicit(&p->mode, memory_order_relaxed)) {
    case FAULT_ONCE: return count == nth;
    case FAULT_FROM: return count >= nth;
    case FAULT_CRASH:
        if (count == nth) kill(getpid(), SIGKILL);
        return false;
    }
    return false;
}

static bool any_is_armed(void)
{
    for (size_t i = 0; i < FAULT_N_POINTS; i++)
        if (atomic_load(&points[i].nth) != 0) return true;
    return false;
}

static void arm_locked(enum fault_point point, uint64_t nth, enum fault_mode mode)
{
    struct point *p = &points[point];
    /* A hit between these stores must see the point as unarmed, not half armed. */
    atomic_store(&p->nth, 0);
    atomic_store(&p->count, 0);
    atomic_store(&p->mode, mode);
    atomic_store_explicit(&p->nth, nth, memory_order_release);
}

void fault_arm(enum fault_point point, uint64_t nth, enum fault_mode mode)
{
    CHECK((unsigned)point < FAULT_N_POINTS);
    pthread_mutex_lock(&arming);
    arm_locked(point, nth, mode);
    atomic_store(&fault_is_armed, any_is_armed());
    pthread_mutex_unlock(&arming);
}

void fault_disarm_all(void)
{
    pthread_mutex_lock(&arming);
    atomic_store(&fault_is_armed, false);
    for (size_t i = 0; i < FAULT_N_POINTS; i++) arm_locked((enum fault_point)i, 0, FAULT_ONCE);
    pthread_mutex_unlock(&arming);
}

uint64_t fault_count(enum fault_point point)
{
    CHECK((unsigned)point < FAULT_N_POINTS);
    return atomic_load_explicit(&points[point].count, memory_order_relaxed);
}

/* Finds the point whose name the first len bytes are; FAULT_N_POINTS when there is none. */
static size_t find_point(const char *name, size_t len)
{
    size_t i = 0;
    while (i < FAULT_N_POINTS && (strlen(names[i]) != len || memcmp(names[i], name, len) != 0)) i++;
    return i;
}

static bool parse_nth(const char **at, uint64_t *nth)
{
    const char *p = *at;
    uint64_t n = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (n > (UINT64_MAX - digit) / 10) return false;
        n = n * 10 + digit;
    }
    *at = p;
    *nth = n;
    return n > 0;
}

/* Reads one "name:N", "name:N+" or "name:N!" and moves *at behind it. */
static bool parse_choice(const char **at, struct choice choices[FAULT_N_POINTS])
{
    const char *colon = strchr(*at, ':');
    if (!colon) return false;
    size_t point = find_point(*at, (size_t)(colon - *at));
    if (point == FAULT_N_POINTS || choices[point].nth != 0) return false;
    *at = colon + 1;
    struct choice chosen = {.mode = FAULT_ONCE};
    if (!parse_nth(at, &chosen.nth)) return false;
    if (**at == '+') chosen.mode = FAULT_FROM;
    if (**at == '!') chosen.mode = FAULT_CRASH;
    if (chosen.mode != FAULT_ONCE) ++*at;
    choices[point] = chosen;
    return true;
}

enum weir_status fault_arm_from_spec(const char *spec)
{
    struct choice choices[FAULT_N_POINTS] = {0};
    if (*spec == 0) return WEIR_OK;
    for (;; spec++) {
        if (!parse_choice(&spec, choices)) return WEIR_INVALID;
        if (*spec == 0) break;
        if (*spec != ',') return WEIR_INVALID;
    }
    for (size_t i = 0; i < FAULT_N_POINTS; i++)
        if (choices[i].nth != 0) fault_arm((enum fault_point)i, choices[i].nth, choices[i].mode);
    return WEIR_OK;
}

enum weir_status fault_arm_from_env(void)
{
    const char *spec = getenv("WEIR_FAULT");
    return spec ? fault_arm_from_spec(spec) : WEIR_OK;
}
