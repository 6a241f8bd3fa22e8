/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "unit/fan/watch.h"

/* Gives news of events first..last of a log of any name. */
static void publish(struct bench *b, struct weir_slice log, uint64_t first, uint64_t last)
{
    char bytes[4 * FAKE_EVENT_BYTES];
    size_t len = 0;
    for (uint64_t id = first; id <= last; id++) len += fake_event(bytes + len, 1, id);
    struct chunk *c = chunk_new(first, last, len);
    memcpy(c->bytes, bytes, len);
    struct store_news news = {.log = log, .log_id = 1, .chunk = c, .is_made = first == 1};
    hub_news(b->hub, &news, 1);
    chunk_unref(c);
}

static bool has_window(const struct watcher *w)
{
    return w->sub.tail->window != NULL;
}

TEST(least_recently_used_tail_gives_way_first)
{
    struct bench b;
    struct watcher w[4] = {0};
    bench_init(&b, 0, 4000);
    for (unsigned i = 0; i < 4; i++) {
        w[i].reads = true;
        watcher_open(&b, &w[i], i, 1);
    }
    for (unsigned i = 0; i < 3; i++) {
        fake_append(&b.store, i, 5); /* about 1,200 bytes */
        bench_settle(&b);
    }
    struct watcher late = {.reads = true};
    watcher_open(&b, &late, 0, 1); /* log 0 is of use again */
    T_EQ(late.n_seen, 5);
    fake_append(&b.store, 3, 5);
    bench_settle(&b);
    T_OK(has_window(&w[0]) && !has_window(&w[1]) && has_window(&w[3]));
    T_OK(bench_stats(&b).tail_bytes <= 4000);
    T_OK(bench_stats(&b).n_evicted > 0);
    for (unsigned i = 0; i < 4; i++) sub_close(&w[i].sub);
    sub_close(&late.sub);
    bench_fini(&b);
}

TEST(tail_holds_its_ceiling_or_one_larger_chunk)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 3000, 100000);
    watcher_open(&b, &w, 0, 1);
    for (int i = 0; i < 50; i++) {
        fake_append(&b.store, 0, 3);
        bench_settle(&b);
        T_OK(window_cost(w.sub.tail->window) <= 3000);
    }
    fake_append(&b.store, 0, 100);
    bench_settle(&b);
    T_EQ(w.sub.tail->window->n, 1);
    T_EQ(window_first(w.sub.tail->window)->first, 151);
    fake_append(&b.store, 0, 1);
    bench_settle(&b);
    T_EQ(window_first(w.sub.tail->window)->first, 251);
    T_EQ(w.n_seen, 251);
    T_EQ(b.store.n_store_reads, 1); /* nobody who keeps up reads the store */
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(tails_that_nobody_watches_are_few)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    for (unsigned i = 0; i < FAN_CACHED_TAILS + 100; i++) {
        char name[32];
        struct weir_slice log = slice_of(name, (size_t)snprintf(name, sizeof name, "log %u", i));
        T_EQ(sub_open(b.fan, &w.sub, log, 1, watcher_on_ready), WEIR_OK);
        publish(&b, log, 1, 2);
        b.n_wakes = 0;
        fan_run(b.fan);
        sub_close(&w.sub);
    }
    T_EQ(w.n_seen, 2 * (FAN_CACHED_TAILS + 100));
    T_EQ(bench_stats(&b).n_tails, FAN_CACHED_TAILS);
    T_OK(!map_get(&b.fan->tails, SLICE("log 99")));
    T_OK(map_get(&b.fan->tails, SLICE("log 100")));
    bench_fini(&b);
}

TEST(tail_without_subscribers_and_chunks_is_removed)
{
    struct bench b;
    struct watcher w = {0};
    bench_init(&b, 0, 0);
    watcher_open(&b, &w, 0, 1);
    T_EQ(bench_stats(&b).n_tails, 1);
    sub_close(&w.sub);
    T_EQ(bench_stats(&b).n_tails, 0);
    bench_fini(&b);
}

/* Bytes taken from the heap; always 0 where malloc is not glibc's. */
static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

TEST(ten_thousand_idle_tails_are_small)
{
    enum { N = 10000 };
    struct bench b;
    struct sub *subs = mem_zalloc(N * sizeof *subs);
    bench_init(&b, 0, 0);
    size_t before = in_use();
    for (unsigned i = 0; i < N; i++) {
        char name[32];
        size_t len = (size_t)snprintf(name, sizeof name, "streams/idle-%06u", i);
        T_EQ(sub_open(b.fan, &subs[i], slice_of(name, len), 1, watcher_on_ready), WEIR_OK);
    }
    T_OK((in_use() - before) / N <= 200); /* the map included */
    T_OK(sizeof(struct sub) <= 64);
    for (unsigned i = 0; i < N; i++) sub_close(&subs[i]);
    T_EQ(bench_stats(&b).n_tails, 0);
    bench_fini(&b);
    mem_free(subs);
}
