/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to ask a provider, and when to leave it alone. Pure: the time and chance are given.
 *
 * A breaker opens when a provider has failed BREAKER_FAILURES times in a row: nobody asks it for
 * BREAKER_OPEN_MS, then one call does, as a probe, and its end closes or opens the breaker again.
 *
 * A budget keeps calls that are made again a small part of all calls, whatever goes wrong: an
 * outage is not multiplied by everybody trying harder.
 *
 * One thread at a time.
 */
#pragma once

#include <weir/types.h>

enum {
    BREAKER_FAILURES = 5,
    BREAKER_OPEN_MS = 15 * 1000,
    BREAKER_PROBE_MS = 1000,
    BUDGET_FREE = 10,      /* retries that are there at the beginning */
    BUDGET_PER_CALL = 20,  /* hundredths of a retry that a call earns */
    BUDGET_MAX = 100,      /* retries that can be saved */
    PAUSE_FIRST_MS = 500,  /* longest pause before the second attempt; doubled for each later one */
    PAUSE_SPREAD_PART = 5, /* a pause that a server asks for is made longer by up to a fifth */
};

enum breaker_state { BREAKER_CLOSED, BREAKER_PROBING, BREAKER_OPEN };

struct breaker {
    enum breaker_state state;
    unsigned n_failures; /* in a row */
    uint64_t open_until_ms;
};

/* Whether to ask now. When it says yes to a probe, the end has to be told. */
bool breaker_allows(struct breaker *b, uint64_t now_ms);

/* How long to leave it alone; 0: not at all. While it is probed, BREAKER_PROBE_MS. */
uint64_t breaker_pause_ms(const struct breaker *b, uint64_t now_ms);

/* How an attempt has ended. */
enum breaker_end {
    BREAKER_ANSWERED, /* it works */
    BREAKER_REFUSED,  /* it is there, whatever it says */
    BREAKER_FAILED,   /* it is in trouble */
    BREAKER_UNKNOWN,  /* we have ended it */
};
/* True when this has opened it. */
bool breaker_tell(struct breaker *b, enum breaker_end end, uint64_t now_ms);

struct budget {
    unsigned n_hundredths; /* of retries */
};

void budget_init(struct budget *b);
void budget_earn(struct budget *b);
bool budget_take(struct budget *b); /* false: there is no retry left */

/* Before another attempt after n have failed; `asked_ms` by the server, 0: it did not. */
uint64_t retry_pause_ms(unsigned n_failed, uint64_t asked_ms, uint64_t random);
