/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/counters.h"

#include "t.h"

TEST(workers_counts_add_up)
{
    static struct counters a, b;
    struct counters_sum sum = {0};
    count(&a, COUNT_REQUESTS, 2);
    count(&b, COUNT_REQUESTS, 3);
    uncount(&b, COUNT_CONNECTIONS, 1); /* a connection that was counted open by another */
    count(&a, COUNT_CONNECTIONS, 3);
    counter_add(&a.closed[CLOSE_IDLE], 4);
    counter_add(&b.answers[COUNTERS_NO_ROUTE][4], 5);
    counters_add_to(&a, &sum);
    counters_add_to(&b, &sum);
    T_EQ(sum.values[COUNT_REQUESTS], 5);
    T_EQ(sum.values[COUNT_CONNECTIONS], 2);
    T_EQ(sum.closed[CLOSE_IDLE], 4);
    T_EQ(sum.answers[COUNTERS_NO_ROUTE][4], 5);
}

TEST(a_bucket_takes_times_up_to_its_power_of_two)
{
    static const struct {
        uint64_t us;
        unsigned bucket;
    } cases[] = {{0, 0},     {1, 0},     {2, 1},
                 {3, 2},     {4, 2},     {5, 3},
                 {1024, 10}, {1025, 11}, {UINT64_MAX, HISTOGRAM_BUCKETS - 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct histogram h = {0};
        histogram_add(&h, cases[i].us);
        T_EQ(h.counts[cases[i].bucket], 1);
        T_EQ(h.sum, cases[i].us);
    }
}

TEST(every_reason_for_closing_has_a_name_and_a_sentence)
{
    for (int i = 0; i < N_CLOSE_REASONS; i++) {
        T_OK(close_reason_name((enum close_reason)i)[0] != 0);
        T_OK(close_reason_text((enum close_reason)i)[0] != 0);
    }
}
