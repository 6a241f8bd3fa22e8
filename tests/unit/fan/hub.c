/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "base/fault.h"
#include "unit/fan/watch.h"

TEST(fan_without_a_tail_gets_no_news)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    fault_arm(FAULT_ALLOC, 1000, FAULT_ONCE);
    fake_append(&b.store, 0, 1);
    uint64_t n_allocs = fault_count(FAULT_ALLOC);
    fake_publish_all(&b.store);
    T_EQ(fault_count(FAULT_ALLOC), n_allocs); /* not even copied */
    fault_disarm_all();
    T_EQ(b.n_wakes, 0);
    watcher_open(&b, &w, 1, 1);
    fake_append(&b.store, 0, 1);
    bench_settle(&b); /* of a log that nobody watches */
    T_EQ(bench_stats(&b).n_news, 0);
    fake_append(&b.store, 1, 1);
    bench_settle(&b);
    T_EQ(bench_stats(&b).n_news, 1);
    sub_close(&w.sub);
    T_EQ(bench_stats(&b).n_tails, 1);
    fake_drop(&b.store, 1);
    fake_publish_all(&b.store);
    fan_run(b.fan);
    T_EQ(bench_stats(&b).n_tails, 0);
    T_EQ(bench_stats(&b).tail_bytes, 0);
    bench_fini(&b);
}

TEST(fan_that_sleeps_too_long_asks_the_store_instead)
{
    struct bench b;
    struct watcher w[2] = {{.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    watcher_open(&b, &w[0], 0, 1);
    watcher_open(&b, &w[1], 1, 1);
    fake_append(&b.store, 1, 1);
    fake_drop(&b.store, 1); /* among what it misses */
    fake_append(&b.store, 1, 2);
    fake_publish_all(&b.store);
    for (int i = 0; i < 6; i++) {
        fake_append(&b.store, 0, 20000);
        fake_publish_all(&b.store);
        T_OK(b.fan->inbox->bytes <= FAN_INBOX_BYTES);
    }
    T_EQ(b.n_wakes, 1);
    bench_settle(&b);
    T_EQ(bench_stats(&b).n_missed, 1);
    T_EQ(w[0].n_seen, 120000);
    T_EQ(w[0].sub.state, SUB_WAITING);
    T_EQ(w[1].n_seen, 2);
    fake_append(&b.store, 0, 1);
    bench_settle(&b);
    T_EQ(w[0].n_seen, 120001);
    sub_close(&w[0].sub);
    sub_close(&w[1].sub);
    bench_fini(&b);
}

TEST(fan_without_subscribers_keeps_few_news)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    fake_append(&b.store, 0, 10);
    watcher_open(&b, &w, 0, 1);
    sub_close(&w.sub);
    for (int i = 0; i < 30; i++) {
        fake_append(&b.store, 1, 500);
        fake_publish_all(&b.store);
        T_OK(b.fan->inbox->bytes <= IDLE_INBOX_BYTES);
    }
    T_EQ(b.fan->inbox->bytes, 0); /* too many, and it gets no more */
    T_EQ(b.n_wakes, 0);
    fake_append(&b.store, 0, 10);
    fake_publish_all(&b.store);
    watcher_open(&b, &w, 0, 11);
    T_EQ(w.n_seen, 20);
    fake_append(&b.store, 0, 10);
    bench_settle(&b);
    T_EQ(w.n_seen, 30);
    T_EQ(bench_stats(&b).n_missed, 0); /* nobody missed anything */
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(news_without_memory_are_made_up_for)
{
    for (unsigned percent = 0; percent <= 100; percent += 100) {
        struct bench b;
        struct watcher w[2] = {{.reads = true}, {.reads = true}};
        bench_init(&b, 0, 0);
        fake_append(&b.store, 0, 3);
        watcher_open(&b, &w[0], 0, 1);
        watcher_open(&b, &w[1], 1, 1);
        b.store.now_percent = percent;
        fake_append(&b.store, 0, 3);
        fake_seal(&b.store, 0);
        fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
        fake_publish_all(&b.store);
        fault_disarm_all();
        bench_settle(&b);
        T_EQ(bench_stats(&b).n_missed, 1);
        T_EQ(w[0].n_seen, 6);
        T_EQ(w[0].sub.state, SUB_END);
        T_EQ(w[1].sub.state, SUB_WAITING);
        T_EQ(w[1].n_calls, percent == 0); /* it was asked about, and nothing came of it */
        sub_close(&w[0].sub);
        sub_close(&w[1].sub);
        bench_fini(&b);
    }
}

/* ---- which logs are watched ---- */

static void count_log(void *user, struct weir_slice log)
{
    unsigned *n = user;
    T_OK(log.len > 0);
    ++*n;
}

static unsigned n_wanted(struct hub *h)
{
    unsigned n = 0;
    for (unsigned i = 0; i < STORE_LOG_PARTS; i++) hub_each_log(h, i, count_log, &n);
    return n;
}

TEST(hub_that_is_not_shared_wants_nothing)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    watcher_open(&b, &w, 0, 1);
    T_OK(!hub_wants_log(b.hub, fake_name(0)));
    T_EQ(n_wanted(b.hub), 0);
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(shared_hub_wants_the_logs_that_have_tails)
{
    struct bench b;
    struct watcher w[3] = {{.reads = true}, {.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    T_EQ(hub_share(b.hub), WEIR_OK);
    struct fan_options options = {0, 0, b.fan->inbox->wake, &b};
    struct fan *other = fan_new(b.hub, &options);
    T_OK(!hub_wants_log(b.hub, fake_name(0)));
    watcher_open(&b, &w[0], 0, 1);
    watcher_open(&b, &w[1], 0, 1);
    T_EQ(sub_open(other, &w[2].sub, fake_name(0), 1, watcher_on_ready), WEIR_OK);
    w[2].bench = &b;
    T_OK(hub_wants_log(b.hub, fake_name(0)) && !hub_wants_log(b.hub, fake_name(1)));
    T_EQ(n_wanted(b.hub), 1);
    bench_settle(&b);
    sub_close(&w[0].sub);
    sub_close(&w[1].sub);
    T_OK(hub_wants_log(b.hub, fake_name(0))); /* the other fan has it */
    sub_close(&w[2].sub);
    T_OK(!hub_wants_log(b.hub, fake_name(0)));
    T_EQ(n_wanted(b.hub), 0);
    fan_free(other);
    bench_fini(&b);
}

TEST(exact_subscriber_of_a_shared_hub_does_not_trust_the_tail)
{
    for (unsigned now_percent = 0; now_percent <= 100; now_percent += 100) {
        struct bench b;
        struct watcher w[3] = {{.reads = true}, {.reads = true}, {.reads = true}};
        bench_init(&b, 0, 0);
        T_EQ(hub_share(b.hub), WEIR_OK);
        b.store.now_percent = now_percent;
        fake_append(&b.store, 0, 5);
        watcher_open(&b, &w[0], 0, 1);
        bench_settle(&b);
        T_EQ(w[0].n_seen, 5);
        fake_append(&b.store, 0, 3); /* by another node; the news are under way */
        w[1].bench = w[2].bench = &b;
        T_EQ(sub_open_exact(b.fan, &w[1].sub, fake_name(0), 1, watcher_on_ready), WEIR_OK);
        T_EQ(sub_open_exact(b.fan, &w[2].sub, fake_name(0), SUB_FROM_LATEST, watcher_on_ready),
             WEIR_OK);
        fake_answer_all(&b.store);
        b.n_wakes = 0;
        fan_run(b.fan);
        T_EQ(sub_log(&w[1].sub).last, 8);
        T_EQ(w[2].sub.next, 9);
        bench_settle(&b);
        if (w[1].sub.state == SUB_READY) watcher_drain(&w[1]);
        bench_settle(&b);
        T_EQ(w[1].n_seen, 8);
        T_EQ(w[0].n_seen, 8);
        for (unsigned i = 0; i < 3; i++) sub_close(&w[i].sub);
        bench_fini(&b);
    }
}

/* The second of two pieces of news is given, and then the first; the fan runs between them. */
static void publish_second_first(struct bench *b)
{
    struct fake_news *news = b->store.news;
    T_EQ(b->store.n_news, 2);
    struct fake_news first = news[0];
    news[0] = news[1];
    news[1] = first;
    fake_publish(&b->store, 1);
    b->n_wakes = 0;
    fan_run(b->fan);
    fake_publish(&b->store, 1);
}

TEST(late_news_of_other_nodes_do_not_hide_what_was_told_before_them)
{
    struct bench b;
    struct watcher w[2] = {{.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    T_EQ(hub_share(b.hub), WEIR_OK);
    b.store.now_percent = 0;
    watcher_open(&b, &w[0], 1, 1); /* so that the fan is told of everything */
    bench_settle(&b);
    fake_append(&b.store, 0, 150); /* by another node, and not heard of yet */
    fake_append(&b.store, 0, 150); /* by this one */
    publish_second_first(&b);      /* when nobody reads it; then somebody comes */
    watcher_open(&b, &w[1], 0, 1);
    bench_settle(&b);
    T_EQ(w[1].n_seen, 300);
    for (unsigned i = 0; i < 2; i++) sub_close(&w[i].sub);
    bench_fini(&b);
}

TEST(end_that_is_told_before_the_last_events_does_not_cut_them_off)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    T_EQ(hub_share(b.hub), WEIR_OK);
    fake_append(&b.store, 0, 1);
    watcher_open(&b, &w, 0, 1);
    bench_settle(&b);
    T_EQ(w.n_seen, 1);
    fake_append(&b.store, 0, 4); /* by another node */
    fake_seal(&b.store, 0);      /* by this one */
    publish_second_first(&b);
    bench_settle(&b);
    T_EQ(w.n_seen, 5);
    T_EQ(w.sub.state, SUB_END);
    sub_close(&w.sub);
    bench_fini(&b);
}

TEST(log_that_is_made_again_may_have_a_smaller_id)
{
    struct bench b;
    struct watcher w[2] = {{.reads = true}, {.reads = true}};
    bench_init(&b, 0, 0);
    T_EQ(hub_share(b.hub), WEIR_OK);
    b.store.last_log_id = 6;
    fake_append(&b.store, 0, 3);
    watcher_open(&b, &w[0], 0, 1);
    bench_settle(&b);
    fake_drop(&b.store, 0);
    bench_settle(&b);
    T_EQ(w[0].sub.state, SUB_GONE);
    watcher_open(&b, &w[1], 0, 1);
    b.store.last_log_id = 4; /* its node took it long before it used it */
    for (unsigned n = 1; n <= 3; n++) {
        fake_append(&b.store, 0, 2);
        bench_settle(&b);
        T_EQ(w[1].n_seen, 2 * n);
    }
    for (unsigned i = 0; i < 2; i++) sub_close(&w[i].sub);
    bench_fini(&b);
}

TEST(tail_that_cannot_be_counted_is_none)
{
    struct bench b;
    struct watcher w = {.reads = true};
    bench_init(&b, 0, 0);
    T_EQ(hub_share(b.hub), WEIR_OK);
    b.store.now_percent = 100;
    for (uint64_t n = 1; n < 20; n++) {
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        w = (struct watcher){.reads = true, .bench = &b};
        enum weir_status st = sub_open(b.fan, &w.sub, fake_name(3), 1, watcher_on_ready);
        fault_disarm_all();
        if (st == WEIR_OK) sub_close(&w.sub);
        else T_EQ(st, WEIR_NOMEM);
        bench_settle(&b);
        T_EQ(n_wanted(b.hub), bench_stats(&b).n_tails);
    }
    bench_fini(&b);
}

/* ---- threads: a committer, a reader of the store's, two loops ---- */

enum { N_LOGS = 4, N_WATCHERS = 12, N_ROUNDS = 1500 };

struct loop_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool is_woken;
    struct bench *shared; /* hub and store of all */
    struct fan *fan;
    struct watcher watchers[N_WATCHERS];
    unsigned n_ended;
};

static void wake_thread(void *user)
{
    struct loop_thread *l = user;
    pthread_mutex_lock(&l->lock);
    l->is_woken = true;
    pthread_cond_signal(&l->woken);
    pthread_mutex_unlock(&l->lock);
}

static void open_again(struct loop_thread *l, struct watcher *w, uint64_t from);

static void read_in_thread(struct sub *sub)
{
    struct watcher *w = CONTAINER_OF(sub, struct watcher, sub);
    struct loop_thread *l = (struct loop_thread *)(void *)w->bench;
    enum sub_state state = watcher_drain(w);
    T_OK(state == SUB_WAITING || state == SUB_FETCH || state == SUB_END);
    if (state == SUB_END) l->n_ended++;
    if (state == SUB_WAITING && ++w->n_calls % 20 == 0) open_again(l, w, sub->next);
}

static void open_again(struct loop_thread *l, struct watcher *w, uint64_t from)
{
    unsigned log = (unsigned)(w - l->watchers) % N_LOGS;
    sub_close(&w->sub);
    w->bench = (struct bench *)(void *)l;
    T_EQ(sub_open(l->fan, &w->sub, fake_name(log), from, read_in_thread), WEIR_OK);
    if (w->sub.state != SUB_OPENING && w->sub.state != SUB_WAITING) read_in_thread(&w->sub);
}

static void *run_loop(void *user)
{
    struct loop_thread *l = user;
    for (int i = 0; i < N_WATCHERS; i++) open_again(l, &l->watchers[i], 1);
    while (l->n_ended < N_WATCHERS) {
        pthread_mutex_lock(&l->lock);
        while (!l->is_woken) pthread_cond_wait(&l->woken, &l->lock);
        l->is_woken = false;
        pthread_mutex_unlock(&l->lock);
        fan_run(l->fan);
    }
    return NULL;
}

static atomic_bool is_over;

static void *answer_reads(void *user)
{
    struct store *s = user;
    while (!atomic_load(&is_over)) {
        pthread_mutex_lock(&s->lock);
        bool has_read = s->n_reads > 0;
        pthread_mutex_unlock(&s->lock);
        if (has_read) fake_answer(s, 0);
        else sched_yield();
    }
    return NULL;
}

/* Asks about logs while their tails come and go. */
static void *ask_the_hub(void *user)
{
    struct hub *h = user;
    while (!atomic_load(&is_over)) {
        (void)hub_wants_log(h, fake_name(0));
        T_OK(n_wanted(h) <= N_LOGS);
        sched_yield();
    }
    return NULL;
}

static void commit(struct store *s)
{
    for (unsigned i = 0; i < N_ROUNDS; i++) {
        fake_append(s, i % N_LOGS, 1 + i % 3);
        if (i % 5 != 0) fake_publish_all(s);
    }
    for (unsigned i = 0; i < N_LOGS; i++) fake_seal(s, i);
    fake_publish_all(s);
}

TEST(two_loops_and_the_stores_threads_work_together)
{
    static struct loop_thread loops[2];
    struct bench b;
    pthread_t reader, asker;
    memset(loops, 0, sizeof loops);
    bench_init(&b, 0, 0);
    T_EQ(hub_share(b.hub), WEIR_OK);
    b.store.now_percent = 0;
    atomic_store(&is_over, false);
    for (int i = 0; i < 2; i++) {
        struct loop_thread *l = &loops[i];
        pthread_mutex_init(&l->lock, NULL);
        pthread_cond_init(&l->woken, NULL);
        struct fan_options options = {4000, 10000, wake_thread, l};
        l->fan = fan_new(b.hub, &options);
        pthread_create(&l->thread, NULL, run_loop, l);
    }
    pthread_create(&reader, NULL, answer_reads, &b.store);
    pthread_create(&asker, NULL, ask_the_hub, b.hub);
    commit(&b.store);
    for (int i = 0; i < 2; i++) {
        pthread_join(loops[i].thread, NULL);
        for (int k = 0; k < N_WATCHERS; k++) {
            struct watcher *w = &loops[i].watchers[k];
            T_EQ(w->n_seen, b.store.logs[k % N_LOGS].last);
            sub_close(&w->sub);
        }
        fan_free(loops[i].fan);
    }
    atomic_store(&is_over, true);
    pthread_join(reader, NULL);
    pthread_join(asker, NULL);
    bench_fini(&b);
}
