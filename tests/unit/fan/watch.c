/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fan/watch.h"

#include <stdlib.h>

#include "base/slice.h"

static void wake(void *user)
{
    struct bench *b = user;
    b->n_wakes++;
    T_EQ(b->n_wakes, 1); /* once between two runs */
}

void bench_init(struct bench *b, size_t tail_bytes, size_t all_tail_bytes)
{
    b->hub = hub_new();
    fake_init(&b->store, b->hub);
    hub_start(b->hub, &b->store);
    b->n_wakes = 0;
    struct fan_options options = {tail_bytes, all_tail_bytes, wake, b};
    b->fan = fan_new(b->hub, &options);
}

void bench_fini(struct bench *b)
{
    fan_free(b->fan);
    fake_fini(&b->store);
    hub_free(b->hub);
}

static void run_if_woken(struct bench *b)
{
    if (b->n_wakes == 0) return;
    b->n_wakes = 0;
    fan_run(b->fan);
}

void bench_settle(struct bench *b)
{
    do {
        fake_publish_all(&b->store);
        fake_answer_all(&b->store);
        run_if_woken(b);
    } while (b->n_wakes > 0 || b->store.n_reads > 0 || b->store.n_news > 0);
}

struct fan_stats bench_stats(const struct bench *b)
{
    struct fan_stats stats;
    fan_stats(b->fan, &stats);
    return stats;
}

void watcher_on_ready(struct sub *sub)
{
    struct watcher *w = CONTAINER_OF(sub, struct watcher, sub);
    w->n_calls++;
    if (w->reads) watcher_drain(w);
}

enum sub_state watcher_open(struct bench *b, struct watcher *w, unsigned log, uint64_t from)
{
    w->bench = b;
    T_EQ(sub_open(b->fan, &w->sub, fake_name(log), from, watcher_on_ready), WEIR_OK);
    if (w->reads && w->sub.state == SUB_READY) watcher_drain(w);
    return w->sub.state;
}

void check_bytes(const struct iovec *iov, unsigned n_iov, uint64_t log_id, uint64_t first,
                 uint64_t last)
{
    char event[FAKE_EVENT_BYTES];
    size_t at = 0;
    for (uint64_t id = first; id <= last; id++) {
        size_t len = fake_event(event, log_id, id);
        for (size_t i = 0; i < len;) {
            while (n_iov > 0 && at == iov->iov_len) iov++, n_iov--, at = 0;
            if (n_iov == 0) return t_fail(__FILE__, __LINE__, "event %d is missing", (int)id);
            size_t n = iov->iov_len - at < len - i ? iov->iov_len - at : len - i;
            if (memcmp((char *)iov->iov_base + at, event + i, n) != 0)
                return t_fail(__FILE__, __LINE__, "event %d has other bytes", (int)id);
            at += n;
            i += n;
        }
    }
    T_OK(n_iov == 0 || (n_iov == 1 && at == iov->iov_len));
}

enum sub_state watcher_read(struct watcher *w)
{
    struct iovec iov[64];
    unsigned n_iov = w->max_iov ? (unsigned)w->max_iov : 8;
    uint64_t last = 0;
    size_t max_bytes = w->max_bytes ? w->max_bytes : SIZE_MAX;
    enum sub_state state = sub_peek(&w->sub, 0, max_bytes, iov, &n_iov, &last);
    T_EQ(state, w->sub.state);
    if (state != SUB_READY) {
        T_EQ(n_iov, 0);
        return state;
    }
    T_OK(n_iov > 0 && last >= w->sub.next);
    check_bytes(iov, n_iov, w->sub.log_id, w->sub.next, last);
    w->n_seen += last - w->sub.next + 1;
    sub_advance(&w->sub, last);
    return state;
}

enum sub_state watcher_drain(struct watcher *w)
{
    while (watcher_read(w) == SUB_READY) continue;
    return w->sub.state;
}
