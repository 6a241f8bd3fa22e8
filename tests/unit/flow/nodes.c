/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several engines at one store, each with a clock of its own: who dies, who sleeps, who is emptied,
 * and that each run ends once whatever happens.
 */
#include <sched.h>
#include <time.h>

#include "desk.h"
#include "flow/flow_impl.h"

enum { MAX_ENGINES = 4, LEASE_MS = 9000, LOOK_MS = LEASE_MS / 3 };
#define MS_NS UINT64_C(1000000)

static struct store *store;
static struct flow *flows[MAX_ENGINES];
static struct fake_clock clocks[MAX_ENGINES];
static atomic_uint n_ran, n_second, last_attempt;
static atomic_bool is_open;             /* steps that wait at the gate may go on */
static atomic_uint n_told[MAX_ENGINES]; /* that others are there */
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;
static struct flow_step *waiting[64];
static unsigned n_waiting;

/* ---- a workflow: one step that waits at a gate, and one behind it ---- */

static void finish_first(struct flow_step *s)
{
    if (flow_is_aborted(s)) {
        flow_fail(s, &(struct flow_failure){.code = WEIR_CANCELLED});
        return;
    }
    flow_emit(s, "passed", SLICE("{}"));
    flow_done(s, SLICE("1"));
}

static bool forget_waiting(struct flow_step *s)
{
    bool was_there = false;
    pthread_mutex_lock(&waiting_lock);
    for (unsigned i = 0; i < n_waiting && !was_there; i++) {
        if (waiting[i] != s) continue;
        waiting[i] = waiting[--n_waiting];
        was_there = true;
    }
    pthread_mutex_unlock(&waiting_lock);
    return was_there;
}

static void abort_wait(void *step)
{
    if (forget_waiting(step)) flow_resume(step, finish_first);
}

static void first(struct flow_step *s)
{
    atomic_store(&last_attempt, flow_attempt(s));
    flow_emit(s, "came", SLICE("{}"));
    if (atomic_load(&is_open)) {
        flow_done(s, SLICE("1"));
        return;
    }
    flow_wait(s, abort_wait, s);
    pthread_mutex_lock(&waiting_lock);
    waiting[n_waiting++] = s;
    pthread_mutex_unlock(&waiting_lock);
    desk_count(&n_ran);
}

static void second(struct flow_step *s)
{
    desk_count(&n_second);
    flow_done(s, SLICE("2"));
}

static void open_gate(void)
{
    struct flow_step *all[64];
    atomic_store(&is_open, true);
    pthread_mutex_lock(&waiting_lock);
    unsigned n = n_waiting;
    memcpy(all, waiting, n * sizeof *all);
    n_waiting = 0;
    pthread_mutex_unlock(&waiting_lock);
    for (unsigned i = 0; i < n; i++) flow_resume(all[i], finish_first);
}

static atomic_uint n_left;

static void on_left(void *user, struct weir_slice id)
{
    (void)user;
    T_OK(id.len > 0);
    atomic_fetch_add(&n_left, 1);
}

static const struct step steps[] = {{.name = "first", .run = first},
                                    {.name = "second", .run = second}};
static const struct workflow gate = {.name = "gate",
                                     .steps = steps,
                                     .n_steps = 2,
                                     .keep_ms = -1,
                                     .on_begin = desk_on_begin,
                                     .on_end = desk_on_end,
                                     .on_left = on_left};
static const struct workflow *const workflows[] = {&gate};

/* ---- engines ---- */

static void on_nodes(void *count)
{
    atomic_fetch_add((atomic_uint *)count, 1);
}

static void open_all(unsigned n)
{
    struct store_error error = {{0}};
    const struct store_options options = {.on_news = desk_news};
    atomic_store(&desk_ended, 0);
    atomic_store(&n_ran, 0);
    atomic_store(&n_second, 0);
    atomic_store(&n_left, 0);
    atomic_store(&is_open, false);
    n_waiting = 0;
    T_EQ(store_open(&store, t_temp_dir(), &options, &error), WEIR_OK);
    for (unsigned i = 0; i < MAX_ENGINES; i++) {
        flows[i] = NULL;
        atomic_store(&n_told[i], 0);
        /* Wall clocks are years apart. */
        fake_clock_init(&clocks[i], 1700000000000 + (int64_t)i * 100000000000);
    }
    for (unsigned i = 0; i < n; i++) {
        const struct flow_options o = {.workflows = workflows,
                                       .n_workflows = 1,
                                       .n_threads = 2,
                                       .lease_ms = LEASE_MS,
                                       .clock = &clocks[i].clock,
                                       .is_shared = true,
                                       .about = "\"quoted\"",
                                       .on_nodes = on_nodes,
                                       .user = &n_told[i],
                                       .keep_runs = 8};
        T_EQ(flow_new(&flows[i], store, &o), WEIR_OK);
        T_EQ(flow_start(flows[i]), WEIR_OK);
    }
}

static void end_engine(unsigned i)
{
    flow_free(flows[i]);
    flows[i] = NULL;
}

/* As if its process were gone: it says nothing of its end. */
static void kill_engine(unsigned i)
{
    flow_break(flows[i]);
    end_engine(i);
}

static void close_all(void)
{
    for (unsigned i = 0; i < MAX_ENGINES; i++)
        if (flows[i]) end_engine(i);
    store_close(store);
}

static uint64_t looks_of(unsigned i)
{
    pthread_mutex_lock(&flows[i]->lock);
    uint64_t n = flows[i]->nodes->n_looks;
    pthread_mutex_unlock(&flows[i]->lock);
    return n;
}

/* The time of a look passes for one engine, which looks. */
static void pass(unsigned i)
{
    uint64_t before = looks_of(i);
    fake_clock_advance(&clocks[i], LOOK_MS * MS_NS + MS_NS);
    while (looks_of(i) == before) {
        flow_wake(flows[i]);
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

static void pass_all(unsigned n_looks)
{
    for (unsigned k = 0; k < n_looks; k++)
        for (unsigned i = 0; i < MAX_ENGINES; i++)
            if (flows[i]) pass(i);
}

static struct flow_stats stats_of(unsigned i)
{
    struct flow_stats s;
    flow_stats(flows[i], &s);
    return s;
}

/* Until a condition holds, while time passes everywhere; false after far too long. */
static bool comes(bool (*is_so)(void))
{
    time_t end = time(NULL) + 60;
    while (!is_so()) {
        if (time(NULL) > end) return false;
        pass_all(1);
    }
    return true;
}

static struct desk desk(unsigned i)
{
    return (struct desk){.store = store, .flow = flows[i]};
}

static void begin(unsigned engine, const char *id)
{
    struct desk d = desk(engine);
    desk_run(&d, &gate, id, "{}");
}

static unsigned n_nodes(unsigned i)
{
    struct flow_node nodes[FLOW_NODES];
    return (unsigned)flow_nodes(flows[i], nodes, FLOW_NODES);
}

static unsigned n_wanted;

static bool have_ended(void)
{
    return atomic_load(&desk_ended) >= n_wanted;
}

static bool have_come(void)
{
    return atomic_load(&n_ran) >= n_wanted;
}

static void check_ends(unsigned n)
{
    struct desk d = desk(0);
    n_wanted = n;
    T_OK(comes(have_ended));
    T_EQ(atomic_load(&desk_ended), n);
    T_EQ(desk_n_docs(&d, "result"), n);
    T_EQ(desk_n_docs(&d, "run"), 0);
}

/* ---- cases ---- */

TEST(nodes_know_each_other_and_who_goes_is_not_known_any_more)
{
    struct flow_node nodes[4];
    open_all(3);
    pass_all(1);
    for (unsigned i = 0; i < 3; i++) T_EQ(n_nodes(i), 3);
    T_EQ(flow_nodes(flows[1], nodes, 4), 3);
    T_EQ_STR(weir_slice_of(nodes[0].id), flows[1]->holder);
    T_EQ_STR(weir_slice_of(nodes[2].about), "\"quoted\"");
    end_engine(2);
    pass_all(1);
    T_EQ(n_nodes(0), 2);
    kill_engine(1);
    pass_all(2);
    T_EQ(n_nodes(0), 2);
    pass_all(3);
    T_EQ(n_nodes(0), 1);
    struct desk d = desk(0);
    T_EQ(desk_n_docs(&d, "run-node"), 1);
    close_all();
}

TEST(a_change_of_the_nodes_is_told_once)
{
    open_all(3);
    pass_all(3);
    unsigned before = atomic_load(&n_told[0]);
    T_OK(before >= 1);
    pass_all(3);
    T_EQ(atomic_load(&n_told[0]), before);
    end_engine(2);
    pass_all(1);
    T_EQ(n_nodes(0), 2);
    T_EQ(atomic_load(&n_told[0]), before + 1);
    kill_engine(1);
    pass_all(6);
    T_EQ(n_nodes(0), 1);
    T_EQ(atomic_load(&n_told[0]), before + 2);
    close_all();
}

TEST(runs_of_a_node_that_died_go_on_elsewhere_and_that_counts_as_a_crash)
{
    open_all(2);
    pass_all(1);
    begin(1, "a");
    desk_wait(&n_ran, 1);
    T_EQ(atomic_load(&last_attempt), 1);
    struct desk d = desk(1);
    while (strcmp(desk_events(&d, "a", NULL), "begin came") != 0) sched_yield();
    kill_engine(1);
    n_wanted = 2;
    T_OK(comes(have_come));
    T_EQ(atomic_load(&last_attempt), 2);
    T_EQ(stats_of(0).n_recovered, 1);
    open_gate();
    check_ends(1);
    d = desk(0);
    T_EQ_STR(weir_slice_of(desk_events(&d, "a", NULL)), "begin came came passed end");
    close_all();
}

TEST(a_node_that_slept_past_its_lease_is_fenced_and_drops_what_it_had)
{
    open_all(2);
    pass_all(1);
    begin(1, "a");
    desk_wait(&n_ran, 1);
    for (unsigned i = 0; i < 3 * LEASE_MS / LOOK_MS && atomic_load(&n_ran) < 2; i++) pass(0);
    desk_wait(&n_ran, 2);
    T_EQ(stats_of(1).n_in_flight, 1);
    /* It wakes up: long after its lease by its own clock, too. */
    fake_clock_advance(&clocks[1], 10 * LEASE_MS * MS_NS);
    while (stats_of(1).n_in_flight > 0) {
        flow_wake(flows[1]);
        sched_yield();
    }
    pass_all(1);
    T_EQ(n_nodes(0), 2);
    T_EQ(n_nodes(1), 2);
    open_gate();
    check_ends(1);
    struct desk d = desk(0);
    T_EQ_STR(weir_slice_of(desk_events(&d, "a", NULL)), "begin came came passed end");
    T_EQ(atomic_load(&n_second), 1);
    T_EQ(atomic_load(&n_left), 1);
    close_all();
}

TEST(a_node_that_slept_drops_what_another_has_ended_meanwhile)
{
    open_all(2);
    pass_all(1);
    begin(1, "a");
    desk_wait(&n_ran, 1);
    /* Whoever comes now goes through; the one that sleeps stands at the gate. */
    atomic_store(&is_open, true);
    for (unsigned i = 0; i < 3 * LEASE_MS / LOOK_MS && atomic_load(&desk_ended) < 1; i++) pass(0);
    desk_wait(&desk_ended, 1);
    struct desk d = desk(0);
    T_EQ(desk_n_docs(&d, "run"), 0);
    T_EQ(stats_of(1).n_in_flight, 1);
    fake_clock_advance(&clocks[1], 10 * LEASE_MS * MS_NS);
    time_t end = time(NULL) + 60;
    while (stats_of(1).n_in_flight > 0 && time(NULL) < end) {
        flow_wake(flows[1]);
        sched_yield();
    }
    T_EQ(stats_of(1).n_in_flight, 0);
    T_EQ(atomic_load(&desk_ended), 1);
    T_EQ(desk_n_docs(&d, "result"), 1);
    close_all();
}

TEST(what_a_fenced_node_brings_is_not_taken)
{
    open_all(2);
    pass_all(1);
    begin(1, "a");
    desk_wait(&n_ran, 1);
    for (unsigned i = 0; i < 3 * LEASE_MS / LOOK_MS && atomic_load(&n_ran) < 2; i++) pass(0);
    desk_wait(&n_ran, 2);
    /* Both go on at once; the clock of the one that slept stands still. */
    open_gate();
    n_wanted = 1;
    while (!have_ended()) sched_yield();
    while (stats_of(1).n_in_flight + stats_of(0).n_in_flight > 0) sched_yield();
    struct desk d = desk(0);
    T_EQ(desk_n_docs(&d, "result"), 1);
    T_EQ(atomic_load(&desk_ended), 1);
    T_EQ_STR(weir_slice_of(desk_events(&d, "a", NULL)), "begin came came passed end");
    T_EQ(stats_of(1).n_fenced, 1);
    close_all();
}

TEST(a_run_that_nobody_began_is_begun)
{
    open_all(3);
    pass_all(1);
    struct desk d = desk(0);
    T_EQ(desk_add(&d, &gate, "a", "{}"), WEIR_OK);
    atomic_store(&is_open, true);
    check_ends(1);
    T_EQ(atomic_load(&last_attempt), 1);
    close_all();
}

TEST(a_wish_to_cancel_reaches_the_node_that_has_the_run)
{
    struct desk d;
    open_all(2);
    pass_all(1);
    begin(1, "a");
    begin(1, "b");
    desk_wait(&n_ran, 2);
    d = desk(0);
    T_EQ(desk_cancel(&d, "a"), WEIR_OK);
    n_wanted = 1;
    T_OK(comes(have_ended));
    T_EQ(desk_cancel(&d, "b"), WEIR_OK);
    /* By news, and no time passes. */
    const struct doc_key key = {SLICE("run-cancel"), SLICE("b")};
    flow_docs_changed(flows[1], &key, 1);
    desk_wait(&desk_ended, 2);
    T_EQ(desk_n_docs(&d, "result"), 2);
    close_all();
}

TEST(a_node_that_is_drained_has_nothing_left_and_no_crash_counts)
{
    open_all(3);
    pass_all(1);
    begin(1, "a");
    begin(1, "b");
    begin(1, "c");
    desk_wait(&n_ran, 3);
    T_OK(flow_drain(flows[1], 30000));
    T_EQ(stats_of(1).n_in_flight, 0);
    T_EQ(stats_of(1).n_given, 3);
    T_EQ(atomic_load(&n_left), 3);
    /* What comes now goes elsewhere at once. */
    begin(1, "d");
    n_wanted = 7;
    T_OK(comes(have_come));
    T_EQ(stats_of(1).n_in_flight, 0);
    T_EQ(atomic_load(&last_attempt), 1);
    open_gate();
    check_ends(4);
    T_EQ(stats_of(0).n_completed + stats_of(2).n_completed, 4);
    struct desk d = desk(0);
    T_EQ(desk_n_docs(&d, "run-offer"), 0);
    close_all();
}

TEST(a_node_alone_keeps_what_it_has_when_it_is_drained)
{
    open_all(1);
    begin(0, "a");
    desk_wait(&n_ran, 1);
    T_OK(!flow_drain(flows[0], 30000));
    open_gate();
    check_ends(1);
    close_all();
}

TEST(nodes_that_are_all_drained_at_once_bring_their_runs_to_the_end)
{
    open_all(2);
    pass_all(1);
    begin(0, "a");
    begin(0, "b");
    begin(1, "c");
    desk_wait(&n_ran, 3);
    /* Neither has heard of the other's: each gives what it has to somebody who takes nothing. */
    for (unsigned i = 0; i < 2; i++) (void)flow_drain(flows[i], 0);
    atomic_store(&is_open, true);
    check_ends(3);
    close_all();
}

TEST(a_drained_node_takes_over_when_nobody_else_is_left)
{
    open_all(2);
    pass_all(1);
    (void)flow_drain(flows[0], 0);
    begin(1, "a");
    begin(1, "b");
    desk_wait(&n_ran, 2);
    kill_engine(1);
    atomic_store(&is_open, true);
    check_ends(2);
    close_all();
}

static bool is_begun(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < MAX_ENGINES; i++)
        if (flows[i]) n += (unsigned)stats_of(i).n_begun;
    return n >= n_wanted;
}

TEST(a_thousand_runs_are_divided_and_each_ends_once)
{
    enum { N = 1000 };
    char id[16];
    open_all(4);
    pass_all(1);
    atomic_store(&is_open, true);
    struct desk d = desk(0);
    for (unsigned i = 0; i < N; i++) {
        snprintf(id, sizeof id, "run%u", i);
        T_EQ(desk_add(&d, &gate, id, "{}"), WEIR_OK);
    }
    /* Nobody has begun them, and one of those who might is gone. */
    kill_engine(3);
    n_wanted = N;
    T_OK(comes(is_begun));
    check_ends(N);
    unsigned n_least = N;
    for (unsigned i = 0; i < 3; i++) {
        unsigned n = (unsigned)stats_of(i).n_completed;
        if (n < n_least) n_least = n;
    }
    T_OK(n_least > N / 5);
    close_all();
}

TEST(a_node_with_far_more_than_others_gives_new_runs_away)
{
    enum { N = 48 };
    char id[16];
    open_all(4);
    pass_all(1);
    for (unsigned i = 0; i < N; i++) {
        snprintf(id, sizeof id, "run%u", i);
        begin(0, id);
        if (i % 8 == 7) pass_all(1);
    }
    n_wanted = N;
    T_OK(comes(have_come));
    for (unsigned i = 0; i < 4; i++) T_OK(stats_of(i).n_in_flight >= N / 4 - 4);
    T_OK(stats_of(0).n_in_flight <= N / 4 + 6);
    open_gate();
    check_ends(N);
    close_all();
}

/* ---- a store that is away while the outbox waits for it ---- */

static void lose_store(struct flow_step *s)
{
    flow_emit(s, "lost", SLICE("{}"));
    flow_fail(s, &(struct flow_failure){.code = WEIR_STORAGE});
}

static bool is_set(const struct flow_timer *t)
{
    struct flow *f = flows[0];
    pthread_mutex_lock(&f->lock);
    bool is = t->node.due != UINT64_MAX;
    pthread_mutex_unlock(&f->lock);
    return is;
}

/* A run that pauses, and its outbox, as if the store had refused what came before. */
static struct run *pause_both(void)
{
    open_all(1);
    pass_all(1);
    begin(0, "a");
    desk_wait(&n_ran, 1);
    struct desk d = desk(0);
    while (strcmp(desk_events(&d, "a", NULL), "begin came") != 0) sched_yield();
    struct run *r = map_get(&flows[0]->runs, SLICE("a"));
    pthread_mutex_lock(&r->lock);
    r->is_paused = true;
    pthread_mutex_unlock(&r->lock);
    flow_timer_set(&r->timers.outbox, 100);
    pthread_mutex_lock(&waiting_lock);
    struct flow_step *s = waiting[--n_waiting];
    pthread_mutex_unlock(&waiting_lock);
    atomic_store(&is_open, true);
    flow_resume(s, lose_store);
    while (!is_set(&r->timers.pause)) sched_yield();
    return r;
}

TEST(a_run_and_its_outbox_pause_at_once_and_both_go_on)
{
    (void)pause_both();
    check_ends(1);
    struct desk d = desk(0);
    T_EQ_STR(weir_slice_of(desk_events(&d, "a", NULL)), "begin came lost came end");
    close_all();
}

TEST(a_run_that_is_cancelled_in_its_pause_ends_with_its_outbox)
{
    struct run *r = pause_both();
    struct desk d = desk(0);
    T_EQ(desk_cancel(&d, "a"), WEIR_OK);
    while (is_set(&r->timers.pause)) sched_yield();
    T_OK(is_set(&r->timers.outbox));
    check_ends(1);
    T_EQ_STR(weir_slice_of(desk_events(&d, "a", NULL)), "begin came lost end");
    close_all();
}
