/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand runs that wait for somebody else: no thread each, and little memory. */
#include <malloc.h>

#include "desk.h"

enum {
    N_RUNS = 10000,
    N_RESUMERS = 4,
    RUN_BYTES = 20 * 1024, /* what one may cost */
};

static struct flow_step *waiting[N_RUNS];
static atomic_uint n_waiting;

static void first(struct flow_step *s)
{
    flow_emit(s, "first", SLICE("{}"));
    flow_done(s, SLICE("{\"question\":\"what did I ask?\"}"));
}

static void ask(struct flow_step *s)
{
    char *kept = arena_alloc(flow_arena(s), 64);
    T_OK(kept && flow_input(s) && flow_output(s, "first"));
    snprintf(kept, 64, "%.*s", (int)flow_id(s).len, flow_id(s).ptr);
    flow_set_data(s, kept);
    flow_emit(s, "asked", SLICE("{}"));
    flow_wait(s, NULL, NULL);
    waiting[atoi(kept + 1)] = s;
    desk_count(&n_waiting);
}

static const struct step steps[] = {{.name = "first", .run = first}, {.name = "ask", .run = ask}};
static const struct workflow w = {.name = "w", .steps = steps, .n_steps = 2, .keep_ms = -1};

static void answered(struct flow_step *s)
{
    const char *kept = flow_data(s);
    T_OK(slice_eq(flow_id(s), weir_slice_of(kept)));
    T_OK(flow_output(s, "first") != NULL);
    flow_done(s, SLICE("true"));
}

static void *resume_some(void *from)
{
    for (size_t i = *(size_t *)from; i < N_RUNS; i += N_RESUMERS) flow_resume(waiting[i], answered);
    return NULL;
}

static void add_all(struct desk *d)
{
    struct commit *c = commit_new(0);
    char id[16];
    for (int i = 0; i < N_RUNS; i++) {
        snprintf(id, sizeof id, "r%d", i);
        T_EQ(flow_add_run(c,
                          &(struct flow_new_run){.workflow = &w,
                                                 .id = weir_slice_of(id),
                                                 .owner = SLICE("somebody"),
                                                 .log = weir_slice_of(id),
                                                 .input = SLICE("{\"n\":1}")},
                          0),
             WEIR_OK);
        if (i % 1000 != 999) continue;
        T_EQ(store_commit_wait(d->store, c).status, WEIR_OK);
        c = commit_new(0);
    }
    commit_free(c);
}

static size_t memory_now(struct desk *d)
{
    T_EQ(store_settle(d->store), WEIR_OK);
    return mallinfo2().uordblks;
}

TEST(ten_thousand_runs_wait_in_little_memory)
{
    struct desk d = {.workflows = {&w}, .n_workflows = 1, .n_threads = 2};
    pthread_t threads[N_RESUMERS];
    size_t from[N_RESUMERS];
    struct flow_stats stats;
    char id[16];
    desk_open(&d, t_temp_dir());
    add_all(&d);
    size_t before = memory_now(&d);
    for (int i = 0; i < N_RUNS; i++) {
        snprintf(id, sizeof id, "r%d", i);
        T_EQ(flow_begin(d.flow, weir_slice_of(id)), WEIR_OK);
    }
    desk_wait(&n_waiting, N_RUNS);
    do flow_stats(d.flow, &stats);
    while (stats.n_running > 0);
    T_EQ(stats.n_waiting, N_RUNS);
    size_t after = memory_now(&d);
    printf("%zu bytes for each run that waits\n", after > before ? (after - before) / N_RUNS : 0);
    T_OK(after < before || (after - before) / N_RUNS < RUN_BYTES);
    for (size_t i = 0; i < N_RESUMERS; i++) {
        from[i] = i;
        pthread_create(&threads[i], NULL, resume_some, &from[i]);
    }
    desk_wait(&desk_ended, N_RUNS);
    for (size_t i = 0; i < N_RESUMERS; i++) pthread_join(threads[i], NULL);
    T_EQ_STR(weir_slice_of(desk_steps(&d, "r4711")),
             "first:1={\"question\":\"what did I ask?\"} ask:1=true");
    T_EQ_STR(weir_slice_of(desk_events(&d, "r4711", NULL)), "first asked");
    T_EQ(desk_n_docs(&d, "run"), 0);
    desk_close(&d);
}

TEST(more_runs_than_the_ceiling_wait_for_the_next_start)
{
    struct desk d = {.workflows = {&w}, .n_workflows = 1, .n_threads = 2, .max_runs = 1};
    desk_open(&d, t_temp_dir());
    atomic_store(&n_waiting, 0);
    desk_run(&d, &w, "r1", "{}");
    T_EQ(desk_add(&d, &w, "r2", "{}"), WEIR_OK);
    T_EQ(flow_begin(d.flow, SLICE("r2")), WEIR_BUSY);
    desk_wait(&n_waiting, 1);
    flow_resume(waiting[1], answered);
    desk_wait(&desk_ended, 1);
    flow_stop(d.flow, 1000);
    T_EQ(flow_begin(d.flow, SLICE("r2")), WEIR_SHUTDOWN);
    flow_free(d.flow);
    desk_start(&d);
    desk_wait(&n_waiting, 2);
    flow_resume(waiting[2], answered);
    desk_wait(&desk_ended, 2);
    desk_close(&d);
}
