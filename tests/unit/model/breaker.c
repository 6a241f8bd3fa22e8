/* SPDX-License-Identifier: Apache-2.0 */
#include "model/breaker.h"
#include "t.h"

static void fail_times(struct breaker *b, unsigned n, uint64_t now)
{
    for (unsigned i = 0; i < n; i++) {
        T_OK(breaker_allows(b, now));
        (void)breaker_tell(b, BREAKER_FAILED, now);
    }
}

TEST(a_breaker_opens_after_failures_in_a_row_only)
{
    struct breaker b = {.state = BREAKER_CLOSED};
    fail_times(&b, BREAKER_FAILURES - 1, 0);
    T_OK(!breaker_tell(&b, BREAKER_ANSWERED, 0));
    fail_times(&b, BREAKER_FAILURES - 1, 0);
    T_OK(breaker_allows(&b, 0));
    T_EQ(breaker_pause_ms(&b, 0), 0);
    T_OK(breaker_tell(&b, BREAKER_FAILED, 0));
    T_OK(!breaker_allows(&b, 0));
    T_EQ(breaker_pause_ms(&b, 1000), BREAKER_OPEN_MS - 1000);
}

TEST(one_call_probes_when_the_time_is_over)
{
    struct breaker b = {.state = BREAKER_CLOSED};
    fail_times(&b, BREAKER_FAILURES, 0);
    T_OK(!breaker_allows(&b, BREAKER_OPEN_MS - 1));
    T_OK(breaker_allows(&b, BREAKER_OPEN_MS));
    T_OK(!breaker_allows(&b, BREAKER_OPEN_MS + 1));
    T_EQ(breaker_pause_ms(&b, BREAKER_OPEN_MS + 1), BREAKER_PROBE_MS);
    T_OK(breaker_tell(&b, BREAKER_FAILED, BREAKER_OPEN_MS + 5));
    T_OK(!breaker_allows(&b, 2 * BREAKER_OPEN_MS));
    T_OK(breaker_allows(&b, 2 * BREAKER_OPEN_MS + 5));
    T_OK(!breaker_tell(&b, BREAKER_ANSWERED, 2 * BREAKER_OPEN_MS + 6));
    fail_times(&b, BREAKER_FAILURES - 1, 0);
    T_OK(breaker_allows(&b, 0));
}

TEST(a_probe_that_is_refused_closes_and_one_that_is_aborted_does_not)
{
    struct breaker b = {.state = BREAKER_CLOSED};
    fail_times(&b, BREAKER_FAILURES, 0);
    T_OK(breaker_allows(&b, BREAKER_OPEN_MS));
    T_OK(!breaker_tell(&b, BREAKER_UNKNOWN, BREAKER_OPEN_MS));
    T_OK(breaker_allows(&b, BREAKER_OPEN_MS));
    T_OK(!breaker_tell(&b, BREAKER_REFUSED, BREAKER_OPEN_MS));
    T_EQ(b.state, BREAKER_CLOSED);
}

TEST(late_failures_do_not_open_it_again)
{
    struct breaker b = {.state = BREAKER_CLOSED};
    fail_times(&b, BREAKER_FAILURES, 0);
    T_OK(!breaker_tell(&b, BREAKER_FAILED, 1000));
    T_EQ(b.open_until_ms, BREAKER_OPEN_MS);
}

TEST(a_budget_allows_a_fifth_of_all_calls_and_a_few)
{
    struct budget b;
    unsigned n = 0;
    budget_init(&b);
    while (budget_take(&b)) n++;
    T_EQ(n, BUDGET_FREE);
    for (n = 0; n < 100; n++) budget_earn(&b);
    for (n = 0; budget_take(&b);) n++;
    T_EQ(n, 20);
    for (n = 0; n < 100000; n++) budget_earn(&b);
    for (n = 0; budget_take(&b);) n++;
    T_EQ(n, BUDGET_MAX);
}

TEST(pauses_are_drawn_below_a_bound_that_doubles)
{
    uint64_t max[4] = {0};
    for (unsigned failed = 1; failed <= 3; failed++)
        for (unsigned i = 0; i < 10000; i++) {
            uint64_t pause = retry_pause_ms(failed, 0, t_random());
            if (pause > max[failed]) max[failed] = pause;
        }
    T_OK(max[1] <= 500 && max[1] > 400);
    T_OK(max[2] <= 1000 && max[2] > 800);
    T_OK(max[3] <= 2000 && max[3] > 1600);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t pause = retry_pause_ms(1, 1000, t_random());
        T_OK(pause >= 1000 && pause <= 1200);
    }
}
