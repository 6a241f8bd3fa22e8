/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-flow FOLDER [SECONDS]
 *
 * Empty workflows of nine steps, each with an event ("flow") or none ("flow_quiet"), all durable:
 * so many runs under way at once, from the commit that makes a run to the one that ends it, through
 * the whole store. Prints one JSON line for each number of runs under way: whole runs and commits
 * in a second, and how long a run took from its first commit to its end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/slice.h"
#include "bench.h"
#include "flow/flow.h"

enum { N_STEPS = 9, MAX_RUNS = 200000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static unsigned under_way;
static double began_s[MAX_RUNS], took_s[MAX_RUNS];
static atomic_uint n_begun;
static bool is_quiet;
static struct flow *engine;
static struct store *store;

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void on_news(void *user, const struct store_news *news, size_t n)
{
    (void)user;
    double now_s = wall_s();
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n; i++) {
        if (!news[i].is_sealed) continue;
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)news[i].log.len, news[i].log.ptr);
        unsigned number = (unsigned)strtoul(name + 1, NULL, 10);
        took_s[number] = now_s - began_s[number];
        under_way--;
    }
    pthread_cond_signal(&ended);
    pthread_mutex_unlock(&lock);
}

static void hook_begin(struct flow_step *s)
{
    flow_emit(s, "begin", SLICE("{\"at\":\"2026-01-01T00:00:00.000Z\"}"));
}

static void hook_end(struct flow_step *s, const struct flow_end *end)
{
    bench_need(!end->failure, "a run failed");
    flow_emit(s, "end", SLICE("{\"at\":\"2026-01-01T00:00:00.000Z\"}"));
}

static void work(struct flow_step *s)
{
    if (!is_quiet)
        flow_emit(s, "work",
                  SLICE("{\"agent\":\"none\",\"delta\":\"a word or two of what is done\"}"));
    flow_done(s, SLICE("{\"nothing\":true}"));
}

static const struct step steps[N_STEPS] = {
    {.name = "a", .run = work}, {.name = "b", .run = work}, {.name = "c", .run = work},
    {.name = "d", .run = work}, {.name = "e", .run = work}, {.name = "f", .run = work},
    {.name = "g", .run = work}, {.name = "h", .run = work}, {.name = "i", .run = work}};
static const struct workflow nine = {.name = "nine",
                                     .steps = steps,
                                     .n_steps = N_STEPS,
                                     .keep_ms = -1,
                                     .on_begin = hook_begin,
                                     .on_end = hook_end};

struct made {
    struct commit *commit;
    char id[16];
};

static void on_made(void *user, const struct commit_result *result)
{
    struct made *m = user;
    bench_need(result->status == WEIR_OK, "a commit failed");
    bench_need(flow_begin(engine, weir_slice_of(m->id)) == WEIR_OK, "a run was refused");
    commit_free(m->commit);
    free(m);
}

static void make_run(unsigned base)
{
    struct made *m = malloc(sizeof *m);
    bench_need(m != NULL, "memory");
    unsigned number = atomic_fetch_add(&n_begun, 1);
    bench_need(number < MAX_RUNS, "fewer seconds");
    snprintf(m->id, sizeof m->id, "r%u", base + number);
    m->commit = commit_new(512);
    enum weir_status st = flow_add_run(m->commit,
                                       &(struct flow_new_run){.workflow = &nine,
                                                              .id = weir_slice_of(m->id),
                                                              .log = weir_slice_of(m->id),
                                                              .owner = SLICE("u"),
                                                              .input = SLICE("{}")},
                                       0);
    bench_need(st == WEIR_OK, "memory");
    pthread_mutex_lock(&lock);
    under_way++;
    began_s[base + number] = wall_s();
    pthread_mutex_unlock(&lock);
    store_commit(store, m->commit, on_made, m);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static unsigned measure(unsigned base, unsigned depth, double seconds)
{
    struct store_stats before, after;
    atomic_store(&n_begun, 0);
    store_stats(store, &before);
    double begun = wall_s();
    double cpu = bench_cpu_s();
    while (wall_s() - begun < seconds) {
        pthread_mutex_lock(&lock);
        while (under_way >= depth) pthread_cond_wait(&ended, &lock);
        unsigned n_free = depth - under_way;
        pthread_mutex_unlock(&lock);
        while (n_free-- > 0) make_run(base);
    }
    pthread_mutex_lock(&lock);
    while (under_way > 0) pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
    double wall = wall_s() - begun;
    cpu = bench_cpu_s() - cpu;
    store_stats(store, &after);
    unsigned n = atomic_load(&n_begun);
    qsort(took_s + base, n, sizeof *took_s, by_size);
    printf("{\"name\":\"%s\",\"under_way\":%u,\"runs\":%u,\"runs_s\":%.0f,\"commits_s\":%.0f,"
           "\"per_sync\":%.1f,\"sync_ms\":%.2f,\"p50_ms\":%.1f,\"p99_ms\":%.1f,\"cpu_us\":%.0f,"
           "\"refused\":%llu}\n",
           is_quiet ? "flow_quiet" : "flow", depth, n, n / wall,
           (double)(after.n_commits - before.n_commits) / wall,
           (double)(after.n_commits - before.n_commits) / (double)(after.n_syncs - before.n_syncs),
           wall * 1e3 / (double)(after.n_syncs - before.n_syncs), took_s[base + n / 2] * 1e3,
           took_s[base + n - 1 - n / 100] * 1e3, cpu / n * 1e6,
           (unsigned long long)(after.n_refused - before.n_refused));
    fflush(stdout);
    return base + n;
}

int main(int argc, char **argv)
{
    bench_need(argc >= 2, "usage: bench-flow FOLDER [SECONDS]");
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 3;
    static const unsigned depths[] = {1, 4, 16, 64, 256, 1024};
    static const struct workflow *const workflows[] = {&nine};
    const struct store_options options = {.on_news = on_news};
    struct store_error error;
    unsigned base = 0;
    bench_need(store_open(&store, argv[1], &options, &error) == WEIR_OK, error.text);
    bench_need(flow_new(&engine, store,
                        &(struct flow_options){.workflows = workflows, .n_workflows = 1}) ==
                   WEIR_OK,
               "the engine");
    bench_need(flow_start(engine) == WEIR_OK, "the engine");
    is_quiet = true;
    base = measure(base, 1, seconds);
    is_quiet = false;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        base = measure(base, depths[i], seconds);
    flow_stop(engine, 10000);
    flow_free(engine);
    store_close(store);
    return 0;
}
