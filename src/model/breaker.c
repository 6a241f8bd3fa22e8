/* SPDX-License-Identifier: Apache-2.0 */
/* See breaker.h. */
#include "model/breaker.h"

enum { HUNDREDTHS = 100, MAX_DOUBLINGS = 6 };

bool breaker_allows(struct breaker *b, uint64_t now_ms)
{
    if (b->state == BREAKER_CLOSED) return true;
    if (b->state == BREAKER_PROBING || now_ms < b->open_until_ms) return false;
    b->state = BREAKER_PROBING;
    return true;
}

uint64_t breaker_pause_ms(const struct breaker *b, uint64_t now_ms)
{
    if (b->state == BREAKER_CLOSED) return 0;
    return b->open_until_ms > now_ms ? b->open_until_ms - now_ms : BREAKER_PROBE_MS;
}

static void close_breaker(struct breaker *b)
{
    *b = (struct breaker){.state = BREAKER_CLOSED};
}

bool breaker_tell(struct breaker *b, enum breaker_end end, uint64_t now_ms)
{
    bool was_probe = b->state == BREAKER_PROBING;
    if (end == BREAKER_ANSWERED) close_breaker(b);
    if (end == BREAKER_REFUSED && was_probe) close_breaker(b);
    /* Nothing was learnt: the next one may probe. */
    if (end == BREAKER_UNKNOWN && was_probe) b->state = BREAKER_OPEN;
    if (end != BREAKER_FAILED) return false;
    b->n_failures++;
    if (b->state == BREAKER_OPEN || (!was_probe && b->n_failures < BREAKER_FAILURES)) return false;
    b->state = BREAKER_OPEN;
    b->open_until_ms = now_ms + BREAKER_OPEN_MS;
    return true;
}

void budget_init(struct budget *b)
{
    b->n_hundredths = BUDGET_FREE * HUNDREDTHS;
}

void budget_earn(struct budget *b)
{
    b->n_hundredths += BUDGET_PER_CALL;
    if (b->n_hundredths > BUDGET_MAX * HUNDREDTHS) b->n_hundredths = BUDGET_MAX * HUNDREDTHS;
}

bool budget_take(struct budget *b)
{
    if (b->n_hundredths < HUNDREDTHS) return false;
    b->n_hundredths -= HUNDREDTHS;
    return true;
}

uint64_t retry_pause_ms(unsigned n_failed, uint64_t asked_ms, uint64_t random)
{
    if (asked_ms > 0) return asked_ms + random % (asked_ms / PAUSE_SPREAD_PART + 1);
    unsigned doublings = n_failed > 0 ? n_failed - 1 : 0;
    if (doublings > MAX_DOUBLINGS) doublings = MAX_DOUBLINGS;
    return random % (((uint64_t)PAUSE_FIRST_MS << doublings) + 1);
}
