/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories: appends, seals, drops, news that are late, reads that look early and come
 * back late, subscribers that come, read a part, stall and go, and tails too small for them.
 * Each subscriber must see the events it must, in order, without gap or repeat, byte for
 * byte, and must be told of everything: it looks only after it was called. The same where other
 * processes write, whose news come in any order.
 */
#include "base/fault.h"
#include "unit/fan/watch.h"

enum { N_LOGS = 6, N_WATCHERS = 24, N_STEPS = 1500 };

struct reader {
    struct watcher watcher; /* its `bench` is set while it is open */
    unsigned log;
    uint64_t from;
    uint64_t least; /* SUB_FROM_LATEST: where it may begin, in the log that was there then */
    uint64_t then_id;
    uint64_t upto;   /* it has seen bytes up to there and must be able to see them again */
    uint64_t log_id; /* once it has seen any */
    bool is_told;    /* it may look: it was called, or knows that there is more */
};

struct history {
    struct bench bench;
    struct reader readers[N_WATCHERS];
    bool is_ending;
    bool is_shared; /* other processes write, too: news come in any order */
};

static struct history history;

static unsigned pick(unsigned n)
{
    return (unsigned)(t_random() % n);
}

static struct store *fake(void)
{
    return &history.bench.store;
}

/* ---- readers ---- */

static void close_reader(struct reader *r)
{
    sub_close(&r->watcher.sub);
    r->watcher.bench = NULL;
}

/* What it knows after it has looked. */
static void note_state(struct reader *r)
{
    const struct sub *sub = &r->watcher.sub;
    const struct fake_log *l = &fake()->logs[r->log];
    r->is_told = sub->state == SUB_READY;
    if (sub->state == SUB_GONE) T_OK(l->log_id != sub->log_id);
    if (sub->state == SUB_END && l->log_id == sub->log_id)
        T_OK(l->is_sealed && sub->next > l->last);
    bool was_there = sub->log_id != 0 && sub->log_id == r->then_id;
    if (sub->state != SUB_OPENING && was_there) T_OK(sub->next >= r->least);
}

/* Peeks once, and takes none, some or all of it. */
static void look(struct reader *r)
{
    struct sub *sub = &r->watcher.sub;
    struct iovec iov[12];
    unsigned n_iov = 1 + pick(12);
    uint64_t last = 0;
    uint64_t next = sub->next;
    size_t max_bytes = pick(4) == 0 ? SIZE_MAX : pick(8000);
    if (sub_peek(sub, r->upto, max_bytes, iov, &n_iov, &last) == SUB_READY) {
        T_OK(last >= sub->next && (r->upto == 0 || last == r->upto));
        T_OK(r->log_id == 0 || r->log_id == sub->log_id);
        check_bytes(iov, n_iov, sub->log_id, sub->next, last);
        r->log_id = sub->log_id;
        uint64_t taken = history.is_ending ? last : next - 1 + pick((unsigned)(last - next + 2));
        r->upto = taken == last ? 0 : last;
        sub_advance(sub, taken);
        T_EQ(sub->next, taken + 1);
    } else {
        T_EQ(n_iov, 0);
        T_EQ(sub->next, next);
    }
    if (pick(4) == 0) sub_rest(sub);
    note_state(r);
}

static void on_ready(struct sub *sub)
{
    struct reader *r = CONTAINER_OF(sub, struct reader, watcher.sub);
    T_OK(r->watcher.bench);
    note_state(r);
    r->is_told = true;
    unsigned what = history.is_ending ? 0 : pick(10);
    if (what < 5) look(r);
    if (what == 8) close_reader(r);
    if (what == 9) {
        struct reader *other = &history.readers[pick(N_WATCHERS)];
        if (other->watcher.bench) close_reader(other);
    }
}

static void open_reader(struct reader *r)
{
    *r = (struct reader){.log = pick(N_LOGS)};
    const struct fake_log *l = &fake()->logs[r->log];
    uint64_t from[] = {1, SUB_FROM_LATEST, l->last + 1, 1 + pick((unsigned)l->last + 1),
                       l->last + 2 + pick(3)};
    r->from = from[pick(5)];
    if (r->from == SUB_FROM_LATEST) {
        r->least = l->published + 1;
        r->then_id = l->log_id;
    }
    r->watcher.bench = &history.bench;
    T_EQ(sub_open(history.bench.fan, &r->watcher.sub, fake_name(r->log), r->from, on_ready),
         WEIR_OK);
    note_state(r);
}

/* ---- steps ---- */

static void change_a_log(void)
{
    unsigned log = pick(N_LOGS);
    struct fake_log *l = &fake()->logs[log];
    if (l->log_id > 0 && pick(25) == 0) fake_drop(fake(), log);
    else if (l->is_sealed) return;
    else if (l->log_id > 0 && pick(40) == 0) fake_seal(fake(), log);
    else fake_append(fake(), log, 1 + pick(pick(10) == 0 ? 60 : 4));
}

static void use_a_reader(void)
{
    struct reader *r = &history.readers[pick(N_WATCHERS)];
    if (!r->watcher.bench) open_reader(r);
    else if (pick(30) == 0) close_reader(r);
    else if (r->is_told) look(r);
}

static void run(void)
{
    if (history.bench.n_wakes == 0) return;
    history.bench.n_wakes = 0;
    fan_run(history.bench.fan);
}

/* As if there were no memory for the news: the fan knows that it does not know. */
static void lose_news(void)
{
    if (fake()->n_news == 0) return;
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    fake_publish(fake(), 1 + pick(5));
    fault_disarm_all();
}

/* Whether there is one or not: readers are to look, and find what there is. */
static void doubt_a_log(void)
{
    const struct store_news news = {.log = fake_name(pick(N_LOGS)), .is_dropped = true};
    hub_news(history.bench.hub, &news, 1);
}

static void step(void)
{
    struct store *s = fake();
    if (history.is_shared) fake_shuffle_news(s);
    switch (pick(8)) {
    case 0:
    case 1: change_a_log(); break;
    case 2:
        if (pick(20) == 0) lose_news();
        else if (pick(20) == 0) doubt_a_log();
        else fake_publish(s, 1 + pick(5));
        break;
    case 3: run(); break;
    case 4:
        if (s->n_reads > 0) fake_look(s, pick((unsigned)s->n_reads));
        break;
    case 5:
        if (s->n_reads > 0) fake_answer(s, pick((unsigned)s->n_reads));
        break;
    default: use_a_reader(); break;
    }
    T_OK(bench_stats(&history.bench).tail_bytes <= history.bench.fan->all_max);
}

/* Everything is given; those who were told look, until nobody has anything to do. */
static void finish(void)
{
    history.is_ending = true;
    for (bool is_busy = true; is_busy;) {
        fake_publish_all(fake());
        fake_answer_all(fake());
        is_busy = history.bench.n_wakes > 0;
        run();
        for (int i = 0; i < N_WATCHERS; i++) {
            struct reader *r = &history.readers[i];
            if (!r->watcher.bench || !r->is_told) continue;
            is_busy = true;
            look(r);
        }
        is_busy |= fake()->n_reads > 0;
    }
}

static void judge(struct reader *r)
{
    const struct sub *sub = &r->watcher.sub;
    const struct fake_log *l = &fake()->logs[r->log];
    if (!r->watcher.bench) return;
    if (sub->log_id != 0 && sub->log_id != l->log_id) {
        T_OK(sub->state == SUB_GONE || sub->state == SUB_END); /* an end is an end */
    } else {
        T_EQ(sub->state, l->is_sealed ? SUB_END : SUB_WAITING);
        T_OK(sub->next > l->last);
        T_OK(sub->next == l->last + 1 || sub->next == r->from);
    }
    close_reader(r);
}

static void live_through(const size_t sizes[2], unsigned now_percent, bool is_shared)
{
    memset(&history, 0, sizeof history);
    bench_init(&history.bench, sizes[0], sizes[1]);
    fake()->now_percent = now_percent;
    history.is_shared = fake()->is_shared = is_shared;
    if (is_shared) T_EQ(hub_share(history.bench.hub), WEIR_OK);
    for (int i = 0; i < N_STEPS; i++) {
        if (i % 100 == 0) fake()->chunk_events = pick(6);
        step();
    }
    finish();
    for (int i = 0; i < N_WATCHERS; i++) judge(&history.readers[i]);
    T_EQ(bench_stats(&history.bench).n_subs, 0);
    bench_fini(&history.bench);
}

static void live_often(bool is_shared)
{
    static const size_t sizes[][2] = {
        {0, 0}, {1, 1}, {1000, 1000}, {1000, 3000}, {5000, 12000}, {100000, 20000},
    };
    for (int round = 0; round < 10; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (unsigned percent = 0; percent <= 100; percent += 50)
                live_through(sizes[i], percent, is_shared);
}

TEST(every_reader_sees_its_log_whatever_happens)
{
    live_often(false);
}

TEST(every_reader_sees_its_log_where_others_write_too)
{
    live_often(true);
}
