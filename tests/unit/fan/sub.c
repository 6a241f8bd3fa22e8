/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"
#include "base/slice.h"
#include "unit/fan/watch.h"

/* ---- opening and following ---- */

TEST(zeroed_subscriber_may_be_closed)
{
    struct sub sub = {0};
    sub_close(&sub);
}

TEST(subscriber_of_a_log_that_is_not_there_waits_for_its_first_event)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    T_EQ(watcher_open(&b, &w, 0, 1), SUB_WAITING);
    T_OK(!sub_log(&w.sub).exists);
    fake_append(&b.store, 0, 3);
    T_EQ(w.n_calls, 0); /* committed, but the news are not out */
    fake_publish_all(&b.store);
    T_EQ(b.n_wakes, 1);
    bench_settle(&b);
    T_EQ(w.n_calls, 1);
    T_EQ(w.n_seen, 3);
    T_EQ(w.sub.state, SUB_WAITING);
    T_EQ(sub_log(&w.sub).last, 3);
    T_EQ(b.store.n_store_reads, 1);
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(replay_joins_live_without_gap_or_repeat)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    fake_append(&b.store, 0, 10);
    fake_publish_all(&b.store); /* nobody watched */
    fake_append(&b.store, 0, 5);
    T_EQ(watcher_open(&b, &w, 0, 1), SUB_WAITING);
    T_EQ(w.n_seen, 15);
    fake_publish_all(&b.store); /* of what it has seen by reading */
    fake_append(&b.store, 0, 2);
    bench_settle(&b);
    T_EQ(w.n_seen, 17);
    T_EQ(w.sub.next, 18);
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(later_subscribers_are_served_from_the_tail)
{
    struct bench b;
    struct watcher w[3] = {{.reads = true}, {.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    fake_append(&b.store, 0, 20);
    T_EQ(watcher_open(&b, &w[0], 0, 1), SUB_WAITING);
    uint64_t n_reads = b.store.n_store_reads;
    T_EQ(watcher_open(&b, &w[1], 0, 7), SUB_WAITING);
    T_EQ(w[1].n_seen, 14);
    sub_close(&w[0].sub);
    sub_close(&w[1].sub);
    T_EQ(bench_stats(&b).n_subs, 0);
    T_EQ(bench_stats(&b).n_tails, 1); /* kept for whoever comes next */
    fake_append(&b.store, 0, 2);
    fake_publish_all(&b.store);
    T_EQ(b.n_wakes, 0); /* nobody to be woken for */
    T_EQ(watcher_open(&b, &w[2], 0, 1), SUB_WAITING);
    T_EQ(w[2].n_seen, 22);
    T_EQ(b.store.n_store_reads, n_reads);
    sub_close(&w[2].sub);
    bench_fini(&b);
}

TEST(from_latest_sees_what_comes_and_nothing_before)
{
    struct bench b;
    struct watcher w[2] = {{.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    fake_append(&b.store, 0, 10);
    T_EQ(watcher_open(&b, &w[0], 0, SUB_FROM_LATEST), SUB_WAITING);
    T_EQ(w[0].sub.next, 11);
    T_EQ(watcher_open(&b, &w[1], 1, SUB_FROM_LATEST), SUB_WAITING); /* a log that is not there */
    T_EQ(w[1].sub.next, 1);
    fake_append(&b.store, 0, 1);
    fake_append(&b.store, 1, 1);
    bench_settle(&b);
    T_EQ(w[0].n_seen, 1);
    T_EQ(w[1].n_seen, 1);
    sub_close(&w[0].sub);
    sub_close(&w[1].sub);
    bench_fini(&b);
}

TEST(event_that_comes_while_the_store_is_asked_is_not_missed)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct bench b;
        struct watcher w[3] = {{.reads = true}, {.reads = true}, {.reads = true}};
        bench_init(&b, 0, 0);
        b.store.now_percent = 0;
        fake_append(&b.store, 0, 4);
        fake_publish_all(&b.store);
        T_EQ(watcher_open(&b, &w[0], 0, SUB_FROM_LATEST), SUB_OPENING);
        T_EQ(watcher_open(&b, &w[1], 0, 1), SUB_OPENING);
        T_EQ(watcher_open(&b, &w[2], 0, 5), SUB_OPENING);
        if (!is_late) fake_look(&b.store, 0), fake_look(&b.store, 1);
        fake_append(&b.store, 0, 1);
        fake_publish_all(&b.store);
        b.n_wakes = 0;
        fan_run(b.fan); /* takes the news while the reads are under way */
        bench_settle(&b);
        T_EQ(w[0].n_seen, 1);
        T_EQ(w[1].n_seen, 5);
        T_EQ(w[2].n_seen, 1);
        for (int i = 0; i < 3; i++) sub_close(&w[i].sub);
        bench_fini(&b);
    }
}

TEST(what_was_published_before_an_opening_is_seen_by_it)
{
    struct bench b;
    struct watcher first = {.reads = true};
    struct watcher second = {0};
    bench_init(&b, 0, 0);
    fake_append(&b.store, 0, 1);
    watcher_open(&b, &first, 0, 1);
    fake_append(&b.store, 0, 1);
    fake_publish_all(&b.store); /* the fan has not run since */
    T_EQ(watcher_open(&b, &second, 0, 2), SUB_READY);
    T_EQ(sub_log(&second.sub).last, 2);
    T_EQ(first.n_seen, 1);
    bench_settle(&b);
    T_EQ(first.n_seen, 2);
    sub_close(&first.sub);
    sub_close(&second.sub);
    bench_fini(&b);
}

TEST(id_seen_elsewhere_before_the_news_came_here_is_known)
{
    for (unsigned percent = 0; percent <= 100; percent += 100) {
        struct bench b;
        struct watcher first = {.reads = true};
        struct watcher second = {.reads = true};
        struct watcher third = {.reads = true};
        bench_init(&b, 0, 0);
        b.store.now_percent = percent;
        fake_append(&b.store, 0, 1);
        watcher_open(&b, &first, 0, 1);
        bench_settle(&b);
        fake_append(&b.store, 0, 3); /* its news are late */
        watcher_open(&b, &second, 0, 5);
        watcher_open(&b, &third, 0, 9);
        fake_answer_all(&b.store);
        b.n_wakes = 0;
        fan_run(b.fan);
        T_EQ(second.sub.state, SUB_WAITING);
        T_EQ(sub_log(&second.sub).last, 4);
        T_EQ(third.sub.state, SUB_WAITING); /* for an id that is not there yet */
        if (percent == 100) T_EQ(first.n_seen, 4);
        fake_append(&b.store, 0, 6);
        bench_settle(&b);
        T_EQ(second.n_seen, 6);
        T_EQ(third.n_seen, 2);
        T_EQ(first.n_seen, 10);
        sub_close(&first.sub);
        sub_close(&second.sub);
        sub_close(&third.sub);
        bench_fini(&b);
    }
}

TEST(name_that_is_too_long_is_refused)
{
    char name[STORE_NAME_BYTES + 1];
    struct bench b;
    struct sub sub = {0};
    bench_init(&b, 0, 0);
    memset(name, 'x', sizeof name);
    T_EQ(sub_open(b.fan, &sub, slice_of(name, sizeof name), 1, NULL), WEIR_LIMIT);
    sub_close(&sub);
    bench_fini(&b);
}

/* ---- the end of logs ---- */

TEST(sealed_log_ends_after_its_last_event)
{
    struct bench b;
    struct watcher w[2] = {{.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    fake_append(&b.store, 0, 3);
    watcher_open(&b, &w[0], 0, 1);
    fake_seal(&b.store, 0);
    bench_settle(&b);
    T_EQ(w[0].sub.state, SUB_END);
    T_EQ(w[0].n_calls, 1);
    T_EQ(watcher_open(&b, &w[1], 0, 2), SUB_END);
    T_EQ(w[1].n_seen, 2);
    T_OK(sub_log(&w[1].sub).is_sealed);
    sub_close(&w[0].sub);
    sub_close(&w[1].sub);
    bench_fini(&b);
}

TEST(seal_that_comes_while_the_store_is_asked_is_not_missed)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    b.store.now_percent = 0;
    fake_append(&b.store, 0, 3);
    fake_publish_all(&b.store);
    watcher_open(&b, &w, 0, 4);
    fake_look(&b.store, 0);
    fake_seal(&b.store, 0);
    fake_publish_all(&b.store);
    b.n_wakes = 0;
    fan_run(b.fan);
    T_EQ(w.sub.state, SUB_OPENING);
    bench_settle(&b);
    T_EQ(w.sub.state, SUB_END);
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(subscribers_of_a_dropped_log_are_told)
{
    struct bench b;
    struct watcher w[3] = {{.reads = true}, {.reads = false}, {.reads = true}};
    bench_init(&b, 0, 0);
    fake_append(&b.store, 0, 3);
    watcher_open(&b, &w[0], 0, 1);
    watcher_open(&b, &w[1], 0, 1); /* has not read when it happens */
    fake_drop(&b.store, 0);
    fake_append(&b.store, 0, 5); /* another one */
    bench_settle(&b);
    T_EQ(w[0].sub.state, SUB_GONE);
    T_EQ(w[0].n_calls, 1);
    T_EQ(watcher_read(&w[1]), SUB_GONE);
    T_OK(!sub_log(&w[1].sub).exists);
    T_EQ(watcher_open(&b, &w[2], 0, 1), SUB_WAITING);
    T_EQ(w[2].n_seen, 5);
    for (int i = 0; i < 3; i++) sub_close(&w[i].sub);
    bench_fini(&b);
}

static void tell_of_no_log(struct bench *b, unsigned log)
{
    const struct store_news news = {.log = fake_name(log), .is_dropped = true};
    hub_news(b->hub, &news, 1);
    bench_settle(b);
}

TEST(log_that_was_dropped_unheard_is_gone_once_there_is_said_to_be_none)
{
    struct bench b;
    struct watcher w[2] = {{.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        fake_append(&b.store, i, 3);
        watcher_open(&b, &w[i], i, 1);
    }
    bench_settle(&b);
    fake_drop(&b.store, 0);
    fake_lose_news(&b.store);
    T_EQ(w[0].sub.state, SUB_WAITING);
    tell_of_no_log(&b, 0);
    T_EQ(w[0].sub.state, SUB_GONE);
    /* Of the other it is not true, or not any more. */
    tell_of_no_log(&b, 1);
    T_EQ(w[1].sub.state, SUB_WAITING);
    fake_append(&b.store, 1, 1);
    bench_settle(&b);
    T_EQ(w[1].n_seen, 4);
    for (int i = 0; i < 2; i++) sub_close(&w[i].sub);
    bench_fini(&b);
}

TEST(who_waits_for_a_log_does_not_read_because_there_is_none)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    watcher_open(&b, &w, 0, 1);
    bench_settle(&b);
    uint64_t n_reads = b.store.n_store_reads;
    tell_of_no_log(&b, 0);
    T_EQ(b.store.n_store_reads, n_reads);
    fake_append(&b.store, 0, 2);
    bench_settle(&b);
    T_EQ(w.n_seen, 2);
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(read_of_a_log_that_is_gone_by_now_is_of_no_use)
{
    struct bench b;
    struct watcher w[2] = {{.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    b.store.now_percent = 0;
    fake_append(&b.store, 0, 3);
    fake_publish_all(&b.store);
    watcher_open(&b, &w[0], 0, 1);
    fake_look(&b.store, 0);
    fake_drop(&b.store, 0);
    fake_publish_all(&b.store);
    b.n_wakes = 0;
    fan_run(b.fan);
    fake_answer_all(&b.store);
    bench_settle(&b);
    T_EQ(w[0].n_seen, 0);
    T_EQ(w[0].sub.state, SUB_WAITING); /* it never saw the old one */
    fake_append(&b.store, 0, 2);
    bench_settle(&b);
    T_EQ(w[0].n_seen, 2);

    /* The other way round: the read knows of a new log before the news do. */
    fake_drop(&b.store, 0);
    fake_append(&b.store, 0, 4);
    watcher_open(&b, &w[1], 0, 5);
    fake_answer_all(&b.store);
    b.n_wakes = 0;
    fan_run(b.fan);
    T_EQ(w[0].sub.state, SUB_GONE);
    T_EQ(w[1].sub.state, SUB_WAITING);
    T_EQ(sub_log(&w[1].sub).last, 4);
    fake_append(&b.store, 0, 1);
    bench_settle(&b);
    T_EQ(w[1].n_seen, 1);
    sub_close(&w[0].sub);
    sub_close(&w[1].sub);
    bench_fini(&b);
}

TEST(read_that_saw_no_log_yet_does_not_take_a_new_one_away)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    b.store.now_percent = 0;
    watcher_open(&b, &w, 0, 1);
    fake_look(&b.store, 0);
    fake_append(&b.store, 0, 2);
    fake_publish_all(&b.store);
    b.n_wakes = 0;
    fan_run(b.fan);
    bench_settle(&b);
    T_EQ(w.n_seen, 2);
    T_EQ(w.sub.state, SUB_WAITING);
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(news_of_a_log_that_a_read_knew_to_be_gone_are_of_the_past)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    fake_append(&b.store, 0, 1);
    fake_publish_all(&b.store); /* nobody watches */
    fake_append(&b.store, 0, 2);
    fake_drop(&b.store, 0);
    T_EQ(watcher_open(&b, &w, 0, SUB_FROM_LATEST), SUB_WAITING);
    fake_publish_all(&b.store); /* of events 2 and 3, then of the drop */
    bench_settle(&b);
    T_EQ(w.sub.state, SUB_WAITING);
    fake_append(&b.store, 0, 2);
    bench_settle(&b);
    T_EQ(w.n_seen, 2);
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(log_made_without_events_is_seen_by_those_who_knew_of_none)
{
    struct bench b;
    struct watcher w[3] = {{.reads = true}, {.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    T_EQ(watcher_open(&b, &w[0], 0, 1), SUB_WAITING);
    for (unsigned life = 0; life < 3; life++) {
        fake_make(&b.store, 0);
        bench_settle(&b);
        T_EQ(w[life].sub.state, SUB_WAITING);
        T_OK(sub_log(&w[life].sub).exists);
        if (life == 2) break;
        fake_append(&b.store, 0, 2);
        bench_settle(&b);
        T_EQ(w[life].n_seen, 2);
        fake_drop(&b.store, 0);
        bench_settle(&b);
        T_EQ(w[life].sub.state, SUB_GONE);
        T_EQ(watcher_open(&b, &w[life + 1], 0, 1), SUB_WAITING); /* the tail knows of the drop */
    }
    fake_seal(&b.store, 0);
    bench_settle(&b);
    T_EQ(w[2].sub.state, SUB_END);
    for (int i = 0; i < 3; i++) sub_close(&w[i].sub);
    bench_fini(&b);
}

/* ---- peeking ---- */

TEST(three_hundred_small_chunks_are_one_or_two_vectors)
{
    struct bench b;
    struct watcher first = {.reads = true};
    struct watcher second = {0};
    struct iovec iov[8];
    unsigned n_iov = 8;
    uint64_t last = 0;
    bench_init(&b, 0, 0);
    watcher_open(&b, &first, 0, 1);
    for (int i = 0; i < 300; i++) {
        fake_append(&b.store, 0, 1);
        bench_settle(&b);
    }
    T_EQ(first.n_calls, 300);
    T_EQ(first.n_seen, 300);
    watcher_open(&b, &second, 0, 1);
    T_EQ(sub_peek(&second.sub, 0, SIZE_MAX, iov, &n_iov, &last), SUB_READY);
    T_EQ(last, 300);
    T_EQ(n_iov, 2);
    check_bytes(iov, n_iov, second.sub.log_id, 1, 300);
    sub_close(&first.sub);
    sub_close(&second.sub);
    bench_fini(&b);
}

TEST(peek_gives_whole_events_that_fit)
{
    struct bench b;
    struct watcher w = {0};
    bench_init(&b, 0, 0);
    b.store.chunk_events = 7;
    fake_append(&b.store, 0, 50);
    size_t all = 0;
    char event[FAKE_EVENT_BYTES];
    for (uint64_t id = 1; id <= 50; id++) all += fake_event(event, 1, id);
    for (size_t max = 0; max <= all; max += 13) {
        struct iovec iov[64];
        unsigned n_iov = 64;
        uint64_t last = 0;
        size_t len = 0;
        uint64_t want = 0;
        watcher_open(&b, &w, 0, 1);
        T_EQ(sub_peek(&w.sub, 0, max, iov, &n_iov, &last), SUB_READY);
        check_bytes(iov, n_iov, 1, 1, last);
        while (want < 50 && (len += fake_event(event, 1, want + 1)) <= max) want++;
        T_EQ(last, want > 0 ? want : 1);
        sub_close(&w.sub);
    }
    bench_fini(&b);
}

TEST(exact_peek_gives_the_same_bytes_after_the_tail_lost_them)
{
    for (unsigned chunk_events = 0; chunk_events < 5; chunk_events++) {
        struct bench b;
        struct watcher w = {0};
        struct watcher other = {.reads = true};
        struct iovec iov[4];
        bench_init(&b, 0, 0);
        fake_append(&b.store, 0, 400);
        watcher_open(&b, &w, 0, 3);
        unsigned n_iov = 4;
        uint64_t last = 0;
        T_EQ(sub_peek(&w.sub, 0, SIZE_MAX, iov, &n_iov, &last), SUB_READY);
        sub_rest(&w.sub);
        b.store.chunk_events = chunk_events;
        tail_forget(w.sub.tail);
        watcher_open(&b, &other, 0, 350); /* makes a tail that has only the end of it */
        for (uint64_t upto = last; upto >= 40; upto -= 37) {
            n_iov = 4;
            uint64_t got = 0;
            enum sub_state state = sub_peek(&w.sub, upto, 1, iov, &n_iov, &got);
            T_EQ(state, SUB_READY);
            T_EQ(got, upto);
            check_bytes(iov, n_iov, 1, 3, upto);
            sub_rest(&w.sub);
        }
        sub_close(&w.sub);
        sub_close(&other.sub);
        bench_fini(&b);
    }
}

TEST(resting_reader_holds_no_bytes)
{
    struct bench b;
    struct watcher w = {.max_bytes = 1000};
    bench_init(&b, 100, 100); /* nothing fits the tail */
    fake_append(&b.store, 0, 100);
    watcher_open(&b, &w, 0, 1);
    T_EQ(watcher_read(&w), SUB_READY);
    T_OK(w.sub.fetched);
    sub_rest(&w.sub);
    T_OK(!w.sub.fetched);
    b.store.now_percent = 0;
    T_EQ(watcher_read(&w), SUB_FETCH);
    sub_rest(&w.sub); /* while it is read */
    bench_settle(&b);
    T_EQ(w.n_calls, 1);
    T_EQ(w.sub.state, SUB_READY);
    T_OK(!w.sub.fetched);
    b.store.now_percent = 100;
    T_EQ(watcher_drain(&w), SUB_WAITING);
    T_EQ(w.n_seen, 100);
    T_OK(!w.sub.fetched);
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(many_who_need_the_same_are_one_read)
{
    struct bench b;
    struct watcher w[8] = {0};
    bench_init(&b, 0, 0);
    b.store.now_percent = 0;
    fake_append(&b.store, 0, 300);
    fake_publish_all(&b.store);
    for (int i = 0; i < 8; i++) {
        w[i].reads = true;
        T_EQ(watcher_open(&b, &w[i], 0, (uint64_t)i + 1), SUB_OPENING);
    }
    T_EQ(b.store.n_reads, 1);
    bench_settle(&b);
    for (int i = 0; i < 8; i++) {
        T_EQ(w[i].n_seen, 300 - (uint64_t)i);
        T_EQ(w[i].n_calls, 1);
        sub_close(&w[i].sub);
    }
    T_EQ(b.store.n_store_reads, 1);
    T_EQ(bench_stats(&b).n_fetches, 1);
    bench_fini(&b);
}

TEST(long_replay_beside_a_full_tail_comes_through)
{
    struct bench b;
    struct watcher live = {.reads = true};
    struct watcher replay = {.reads = true};
    bench_init(&b, 20000, 40000);
    b.store.chunk_events = 13;
    b.store.now_percent = 50;
    watcher_open(&b, &live, 0, 1);
    for (int i = 0; i < 100; i++) {
        fake_append(&b.store, 0, 30);
        bench_settle(&b);
    }
    T_EQ(live.n_seen, 3000);
    watcher_open(&b, &replay, 0, 1);
    bench_settle(&b);
    T_EQ(replay.n_seen, 3000);
    T_EQ(replay.sub.state, SUB_WAITING);
    T_OK(bench_stats(&b).tail_bytes <= 40000);
    sub_close(&live.sub);
    sub_close(&replay.sub);
    bench_fini(&b);
}

/* ---- when things go wrong ---- */

TEST(failing_read_fails_those_who_waited_for_it)
{
    struct bench b;
    struct watcher w[2] = {{.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    fake_append(&b.store, 0, 3);
    b.store.status = WEIR_CORRUPT;
    T_EQ(watcher_open(&b, &w[0], 0, 1), SUB_FAILED);
    T_EQ(w[0].sub.status, WEIR_CORRUPT);
    T_EQ(watcher_read(&w[0]), SUB_FAILED);
    b.store.now_percent = 0;
    T_EQ(watcher_open(&b, &w[1], 0, 1), SUB_OPENING);
    bench_settle(&b);
    T_EQ(w[1].sub.state, SUB_FAILED);
    T_EQ(w[1].n_calls, 1);
    sub_close(&w[0].sub);
    sub_close(&w[1].sub);
    bench_fini(&b);
}

TEST(store_that_hides_an_event_fails_the_reader)
{
    for (unsigned percent = 0; percent <= 100; percent += 100) {
        struct bench b;
        struct watcher w = {.reads = true};
        bench_init(&b, 0, 0);
        fake_append(&b.store, 0, 3);
        b.store.hides_events = true;
        b.store.now_percent = percent;
        watcher_open(&b, &w, 0, 2);
        bench_settle(&b);
        T_EQ(w.sub.state, SUB_FAILED);
        T_EQ(w.sub.status, WEIR_CORRUPT);
        sub_close(&w.sub);
        bench_fini(&b);
    }
}

TEST(closing_while_a_read_is_under_way_is_fine)
{
    struct bench b;
    struct watcher w[2] = {0};
    bench_init(&b, 0, 0);
    b.store.now_percent = 0;
    fake_append(&b.store, 0, 3);
    watcher_open(&b, &w[0], 0, 1);
    watcher_open(&b, &w[1], 0, 2);
    sub_close(&w[0].sub);
    sub_close(&w[1].sub);
    T_EQ(bench_stats(&b).n_tails, 0);
    fake_answer_all(&b.store);
    T_EQ(b.n_wakes, 1);
    bench_settle(&b);
    watcher_open(&b, &w[0], 0, 1);
    sub_close(&w[0].sub);
    bench_fini(&b); /* with one under way: it comes back to nobody */
}

static struct watcher *victims;

static void close_all(struct sub *sub)
{
    (void)sub;
    for (int i = 0; i < 4; i++) sub_close(&victims[i].sub);
}

TEST(subscriber_may_close_itself_and_others_when_called)
{
    struct bench b;
    struct watcher w[4] = {0};
    bench_init(&b, 0, 0);
    victims = w;
    for (int i = 0; i < 4; i++)
        T_EQ(sub_open(b.fan, &w[i].sub, fake_name(0), 1, close_all), WEIR_OK);
    fake_append(&b.store, 0, 1);
    bench_settle(&b);
    T_EQ(bench_stats(&b).n_subs, 0);
    bench_fini(&b);
}

static void try_open(struct bench *b, struct watcher *w, uint64_t from)
{
    w->bench = b;
    enum weir_status st = sub_open(b->fan, &w->sub, fake_name(4), from, watcher_on_ready);
    T_OK(st == WEIR_OK || st == WEIR_NOMEM);
    if (st == WEIR_OK && w->sub.state == SUB_READY) watcher_drain(w);
}

/* Opening, reading, news, and replays beside a tail that is too small, or the store slow. */
static void exercise(uint64_t nth, unsigned now_percent)
{
    struct bench b;
    struct watcher w[3] = {{.reads = true}, {.reads = true, .max_iov = 1}, {.reads = true}};
    bench_init(&b, 3000, 5000);
    b.store.chunk_events = 4;
    b.store.now_percent = now_percent;
    fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
    fake_append(&b.store, 4, 20);
    try_open(&b, &w[0], 1);
    for (int i = 0; i < 6; i++) {
        fake_append(&b.store, 4, 1);
        bench_settle(&b);
    }
    try_open(&b, &w[1], 1);
    try_open(&b, &w[2], 3);
    bench_settle(&b);
    fault_disarm_all();
    fake_append(&b.store, 4, 1);
    bench_settle(&b);
    for (int i = 0; i < 3; i++) {
        if (!w[i].sub.tail) continue; /* was refused */
        if (w[i].sub.state == SUB_FAILED) T_EQ(w[i].sub.status, WEIR_NOMEM);
        else T_EQ(w[i].sub.next, b.store.logs[4].last + 1);
        sub_close(&w[i].sub);
    }
    bench_fini(&b);
}

TEST(allocations_that_fail_lose_no_event)
{
    for (uint64_t nth = 1; nth < 120; nth++) {
        exercise(nth, 100);
        exercise(nth, 0);
    }
}
