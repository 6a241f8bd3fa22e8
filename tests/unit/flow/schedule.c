/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random lives: steps that fail, wait, work in parts and put documents, somebody who cancels, and
 * processes that are killed at random syncs and writes, until every run has ended. Then the laws:
 * each run has ended once, ids have no gap, an output that was durable was not made again.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "desk.h"

enum { N_RUNS = 12, N_STEPS = 6, N_SEEDS = 6, MAX_LIVES = 200, PERCENT = 100 };

/* Shared with the processes that are killed. */
static struct tally {
    atomic_uint n_ran[N_RUNS][N_STEPS];
    atomic_uint n_added;
    atomic_bool was_asked[N_RUNS];     /* to be cancelled */
    atomic_bool was_cancelled[N_RUNS]; /* and acknowledged */
} * tally;

static atomic_uint_fast64_t dice;

/* Below n; any thread. */
static unsigned roll(unsigned n)
{
    uint64_t x = atomic_fetch_add(&dice, UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((x ^ (x >> 31)) % n);
}

static unsigned number_of(struct flow_step *s)
{
    return (unsigned)(flow_id(s).ptr[1] - 'a');
}

/* ---- somebody who ends waits ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static struct flow_step *waiting[N_RUNS];
static bool is_over;

static void put_in(struct flow_step *s)
{
    pthread_mutex_lock(&lock);
    waiting[number_of(s)] = s;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

static struct flow_step *take_out(void)
{
    for (int i = 0; i < N_RUNS; i++) {
        struct flow_step *s = waiting[i];
        waiting[i] = NULL;
        if (s) return s;
    }
    return NULL;
}

static void after_wait(struct flow_step *s)
{
    if (roll(PERCENT) < 20 || flow_is_aborted(s))
        flow_fail(s, &(struct flow_failure){.code = WEIR_UPSTREAM});
    else flow_done(s, SLICE("\"waited\""));
}

static void *resume_all(void *user)
{
    (void)user;
    pthread_mutex_lock(&lock);
    while (!is_over) {
        struct flow_step *s = take_out();
        if (!s) {
            pthread_cond_wait(&filled, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        flow_resume(s, after_wait);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---- the workflow ---- */

static void part(struct flow_step *s, size_t i)
{
    (void)i;
    flow_emit(s, "part", SLICE("{}"));
}

static void join(struct flow_step *s)
{
    flow_done(s, SLICE("\"joined\""));
}

static void work(struct flow_step *s, unsigned index)
{
    atomic_fetch_add(&tally->n_ran[number_of(s)][index], 1);
    for (unsigned n = roll(4); n > 0; n--) flow_emit(s, "work", SLICE("{}"));
    unsigned fate = roll(PERCENT);
    char id[32];
    snprintf(id, sizeof id, "%.*s-%u", (int)flow_id(s).len, flow_id(s).ptr, index);
    if (fate < 12) {
        flow_fail(s, &(struct flow_failure){.code = WEIR_UPSTREAM, .is_final = fate < 2});
    } else if (fate < 35) {
        flow_wait(s, NULL, NULL);
        put_in(s);
    } else if (fate < 55) {
        flow_parallel(s, roll(FLOW_PARTS), part, join);
    } else {
        flow_put(s, (struct doc_key){SLICE("once"), weir_slice_of(id)}, DOC_MUST_BE_NEW,
                 SLICE("x"));
        flow_done(s, SLICE("\"put\""));
    }
}

static bool is_wanted(struct flow_step *s)
{
    return number_of(s) % 3 != 0;
}

#define STEP(n)                                                                                    \
    static void step_##n(struct flow_step *s)                                                      \
    {                                                                                              \
        work(s, n);                                                                                \
    }
STEP(0)
STEP(1)
STEP(2)
STEP(3)
STEP(4)
STEP(5)

#define POLICY .max_attempts = 4, .backoff_ms = 1
static const struct step steps[N_STEPS] = {
    {.name = "a", .run = step_0, POLICY},
    {.name = "b", .run = step_1, POLICY, .applies = is_wanted},
    {.name = "c", .run = step_2, POLICY},
    {.name = "d", .run = step_3, POLICY, .limit_ms = 60000},
    {.name = "e", .run = step_4, POLICY},
    {.name = "f", .run = step_5, POLICY, .applies = is_wanted}};
static const struct workflow w = {.name = "w",
                                  .steps = steps,
                                  .n_steps = N_STEPS,
                                  .keep_ms = -1,
                                  .on_begin = desk_on_begin,
                                  .on_end = desk_on_end};

/* ---- lives ---- */

struct wish {
    struct desk_answer answer;
    unsigned number;
};

static void on_cancelled(void *user, const struct commit_result *result)
{
    struct wish *wish = user;
    if (result->status == WEIR_OK) atomic_store(&tally->was_cancelled[wish->number], true);
    desk_on_done(&wish->answer, result);
}

static void live(struct desk *d)
{
    static struct wish wishes[N_RUNS];
    pthread_t resumer;
    unsigned n_wishes = roll(3);
    pthread_create(&resumer, NULL, resume_all, NULL);
    size_t n_left = desk_n_docs(d, "run");
    desk_start(d);
    for (unsigned i = atomic_load(&tally->n_added); i < N_RUNS; i++) {
        char id[3] = {'r', (char)('a' + i), '\0'};
        enum weir_status st = desk_add(d, &w, id, "{}");
        if (st == WEIR_OK) n_left++;
        atomic_store(&tally->n_added, i + 1);
        T_OK(st == WEIR_OK || st == WEIR_EXISTS);
        if (st == WEIR_OK) T_EQ(flow_begin(d->flow, weir_slice_of(id)), WEIR_OK);
    }
    for (unsigned i = 0; i < n_wishes; i++) {
        wishes[i].number = roll(N_RUNS);
        char id[3] = {'r', (char)('a' + wishes[i].number), '\0'};
        atomic_store(&tally->was_asked[wishes[i].number], true);
        flow_cancel(d->flow, weir_slice_of(id), on_cancelled, &wishes[i]);
    }
    for (unsigned i = 0; i < n_wishes; i++) desk_wait(&wishes[i].answer.n, 1);
    desk_wait(&desk_ended, (unsigned)n_left);
    pthread_mutex_lock(&lock);
    is_over = true;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    pthread_join(resumer, NULL);
}

/* In a process of its own. True when it was killed. */
static bool live_and_die(const char *folder, uint64_t seed, bool may_die)
{
    pid_t child = fork();
    if (child == 0) {
        struct desk d = {.workflows = {&w}, .n_workflows = 1, .n_threads = 2};
        atomic_store(&dice, seed);
        if (may_die && roll(2)) fault_arm(FAULT_SYNC, 1 + roll(60), FAULT_CRASH);
        else if (may_die) fault_arm(FAULT_WRITE, 1 + roll(250), FAULT_CRASH);
        desk_open_store(&d, folder);
        live(&d);
        desk_close(&d);
        _exit(0);
    }
    int status = 0;
    T_EQ(waitpid(child, &status, 0), child);
    T_OK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

/* ---- the laws ---- */

struct seen {
    bool has_output[N_RUNS][N_STEPS];
    unsigned n_ran[N_RUNS][N_STEPS]; /* when the output was first seen */
};

struct looking {
    struct seen *seen;
    unsigned number;
};

static enum weir_status look_at_step(void *user, const struct flow_step_info *info)
{
    const struct looking *l = user;
    unsigned i = info->number - 1;
    unsigned n_ran = atomic_load(&tally->n_ran[l->number][i]);
    if (info->output.len == 0) return WEIR_OK;
    if (l->seen->has_output[l->number][i]) T_EQ(n_ran, l->seen->n_ran[l->number][i]);
    l->seen->has_output[l->number][i] = true;
    l->seen->n_ran[l->number][i] = n_ran;
    return WEIR_OK;
}

static void look(const char *folder, struct seen *seen)
{
    struct desk d = {.workflows = {&w}, .n_workflows = 1};
    desk_open_store(&d, folder);
    for (unsigned i = 0; i < N_RUNS; i++) {
        char id[3] = {'r', (char)('a' + i), '\0'};
        struct looking l = {seen, i};
        T_EQ(flow_each_step(d.store, weir_slice_of(id), look_at_step, &l), WEIR_OK);
        (void)desk_events(&d, id, NULL); /* which checks the ids */
    }
    store_close(d.store);
}

static void expect_laws(const char *folder)
{
    struct desk d = {.workflows = {&w}, .n_workflows = 1};
    desk_open_store(&d, folder);
    for (unsigned i = 0; i < N_RUNS; i++) {
        char id[3] = {'r', (char)('a' + i), '\0'};
        bool is_sealed = false;
        struct doc doc;
        const char *events = desk_events(&d, id, &is_sealed);
        const char *end = strstr(events, "end");
        T_OK(is_sealed && end && end[3] == '\0');
        T_EQ(store_doc_get(d.store, (struct doc_key){SLICE("result"), weir_slice_of(id)}, &doc),
             WEIR_OK);
        T_EQ(doc_n_puts(doc.version), 1);
        bool is_cancelled = weir_slice_is(doc.body, "\"cancelled\"");
        T_OK(is_cancelled || !atomic_load(&tally->was_cancelled[i]));
        T_OK(!is_cancelled || atomic_load(&tally->was_asked[i]));
        doc_fini(&doc);
    }
    T_EQ(desk_n_docs(&d, "run"), 0);
    T_EQ(desk_n_docs(&d, "run-cancel"), 0);
    store_close(d.store);
}

TEST(random_lives_keep_the_laws)
{
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    T_OK(tally != MAP_FAILED);
    uint64_t seed = t_random();
    for (unsigned n = 0; n < N_SEEDS; n++) {
        char folder[256];
        static struct seen seen;
        memset(tally, 0, sizeof *tally);
        memset(&seen, 0, sizeof seen);
        snprintf(folder, sizeof folder, "%s/%u", t_temp_dir(), n);
        unsigned n_lives = 0;
        while (n_lives < MAX_LIVES && live_and_die(folder, seed++, n_lives < 25)) {
            look(folder, &seen);
            n_lives++;
        }
        T_OK(n_lives < MAX_LIVES);
        look(folder, &seen);
        expect_laws(folder);
    }
    munmap(tally, sizeof *tally);
}
