/* SPDX-License-Identifier: Apache-2.0 */
/* Adding counters up, and the names of the reasons for closing. */
#include "serve/counters.h"

static const struct {
    const char *name;
    const char *text;
} reasons[N_CLOSE_REASONS] = {
#define CLOSE_ROW(symbol, name, text) [CLOSE_##symbol] = {name, text},
    CLOSE_TABLE(CLOSE_ROW)
#undef CLOSE_ROW
};

const char *close_reason_name(enum close_reason why)
{
    return reasons[why].name;
}

const char *close_reason_text(enum close_reason why)
{
    return reasons[why].text;
}

static void add_all(uint64_t *sum, const atomic_uint_fast64_t *counters, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += atomic_load_explicit(&counters[i], memory_order_relaxed);
}

static void add_histogram(struct histogram_sum *sum, const struct histogram *h)
{
    add_all(sum->counts, h->counts, HISTOGRAM_BUCKETS);
    add_all(&sum->sum, &h->sum, 1);
}

void counters_add_to(const struct counters *c, struct counters_sum *sum)
{
    add_all(sum->values, c->values, N_COUNTERS);
    add_all(sum->errors, c->errors, WEIR_N_STATUS);
    add_all(sum->closed, c->closed, N_CLOSE_REASONS);
    for (size_t i = 0; i < COUNTERS_ROUTES; i++)
        add_all(sum->answers[i], c->answers[i], COUNTERS_CLASSES);
    add_histogram(&sum->request_us, &c->request_us);
    add_histogram(&sum->lag_us, &c->lag_us);
}

void histogram_add(struct histogram *h, uint64_t us)
{
    unsigned bucket = us <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(us - 1);
    if (bucket >= HISTOGRAM_BUCKETS) bucket = HISTOGRAM_BUCKETS - 1;
    counter_add(&h->counts[bucket], 1);
    counter_add(&h->sum, us);
}
