/* SPDX-License-Identifier: Apache-2.0 */
/* A process that is killed: the next one goes on, and does nothing twice that was durable. */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "desk.h"

enum { N_STEPS = 5 };

/* Shared with the processes that are killed. */
static struct shared_counts {
    atomic_uint n_ran[N_STEPS];
    atomic_uint last_attempt[N_STEPS];
    atomic_int kills_in; /* this step kills its process once; -1: none */
    atomic_bool kills_always;
    atomic_uint n_lives;
} * counts;

static void work(struct flow_step *s, int i)
{
    atomic_fetch_add(&counts->n_ran[i], 1);
    atomic_store(&counts->last_attempt[i], flow_attempt(s));
    flow_emit(s, "work", SLICE("{}"));
    if (atomic_load(&counts->kills_in) == i) {
        if (!atomic_load(&counts->kills_always)) atomic_store(&counts->kills_in, -1);
        raise(SIGKILL);
    }
    flow_emit(s, "work", SLICE("{}"));
    flow_done(s, SLICE("1"));
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

static const struct step steps[N_STEPS] = {{.name = "a", .run = step_0},
                                           {.name = "b", .run = step_1},
                                           {.name = "c", .run = step_2},
                                           {.name = "d", .run = step_3},
                                           {.name = "e", .run = step_4}};
static const struct workflow w = {.name = "w",
                                  .steps = steps,
                                  .n_steps = N_STEPS,
                                  .keep_ms = -1,
                                  .on_begin = desk_on_begin,
                                  .on_end = desk_on_end};

static void need_counts(void)
{
    if (!counts)
        counts =
            mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    T_OK(counts != MAP_FAILED);
    memset(counts, 0, sizeof *counts);
    atomic_store(&counts->kills_in, -1);
}

static struct desk desk_of_one(void)
{
    return (struct desk){.workflows = {&w}, .n_workflows = 1, .n_threads = 2};
}

/* In a process of its own. True when it was killed. */
static bool live(const char *folder, enum fault_point fault, unsigned nth)
{
    pid_t child = fork();
    if (child == 0) {
        struct desk d = desk_of_one();
        struct store_error error;
        const struct store_options options = {.on_news = desk_news};
        if (nth > 0) fault_arm(fault, nth, FAULT_CRASH);
        if (store_open(&d.store, folder, &options, &error) != WEIR_OK) _exit(1);
        desk_start(&d);
        struct doc doc;
        enum weir_status st =
            store_doc_get(d.store, (struct doc_key){SLICE("run-input"), SLICE("r1")}, &doc);
        if (st == WEIR_NOT_FOUND) desk_run(&d, &w, "r1", "{}");
        desk_wait(&desk_ended, 1);
        desk_close(&d);
        _exit(0);
    }
    int status = 0;
    T_EQ(waitpid(child, &status, 0), child);
    T_OK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

struct outputs {
    bool has[N_STEPS];
};

static enum weir_status note_output(void *user, const struct flow_step_info *info)
{
    struct outputs *o = user;
    T_OK(info->number >= 1 && info->number <= N_STEPS);
    o->has[info->number - 1] = info->output.len > 0;
    return WEIR_OK;
}

/* What the store says between two lives. */
static bool look_between(const char *folder, struct outputs *o)
{
    struct desk d = desk_of_one();
    struct doc doc;
    *o = (struct outputs){0};
    desk_open_store(&d, folder);
    T_EQ(flow_each_step(d.store, SLICE("r1"), note_output, o), WEIR_OK);
    for (int i = 1; i < N_STEPS; i++) T_OK(o->has[i - 1] || !o->has[i]);
    bool is_over =
        store_doc_get(d.store, (struct doc_key){SLICE("result"), SLICE("r1")}, &doc) == WEIR_OK;
    doc_fini(&doc);
    (void)desk_events(&d, "r1", NULL);
    store_close(d.store);
    return is_over;
}

static void expect_end(const char *folder, const char *result, bool must_begin)
{
    struct desk d = desk_of_one();
    struct doc doc;
    bool is_sealed = false;
    desk_open_store(&d, folder);
    const char *events = desk_events(&d, "r1", &is_sealed);
    const char *end = strstr(events, "end");
    T_OK(is_sealed && end && end[3] == '\0');
    if (must_begin) T_OK(strncmp(events, "begin ", 6) == 0);
    T_OK(!strstr(events + 1, "begin"));
    T_EQ(store_doc_get(d.store, (struct doc_key){SLICE("result"), SLICE("r1")}, &doc), WEIR_OK);
    T_EQ_STR(doc.body, result);
    T_EQ(doc_n_puts(doc.version), 1);
    doc_fini(&doc);
    T_EQ(desk_n_docs(&d, "run"), 0);
    store_close(d.store);
}

/* Killed at the nth sync or write, then left alone. False when it was never reached. */
static bool die_once(enum fault_point fault, unsigned nth)
{
    char folder[256];
    struct outputs o;
    unsigned before[N_STEPS];
    need_counts();
    snprintf(folder, sizeof folder, "%s/%d-%u", t_temp_dir(), (int)fault, nth);
    bool was_killed = live(folder, fault, nth);
    bool is_over = look_between(folder, &o);
    for (int i = 0; i < N_STEPS; i++) before[i] = atomic_load(&counts->n_ran[i]);
    if (!is_over) T_OK(!live(folder, fault, 0));
    for (int i = 0; i < N_STEPS; i++) {
        unsigned n = atomic_load(&counts->n_ran[i]) - before[i];
        T_EQ(n, o.has[i] || is_over ? 0 : 1);
    }
    expect_end(folder, "\"ok\"", true);
    return was_killed;
}

TEST(a_kill_at_any_sync_is_a_pause)
{
    unsigned n = 1;
    while (n < 100 && die_once(FAULT_SYNC, n)) n++;
    T_OK(n > N_STEPS && n < 100);
}

TEST(a_kill_at_any_write_is_a_pause)
{
    unsigned n = 1;
    while (n < 1000 && die_once(FAULT_WRITE, n)) n += 7;
    T_OK(n > 7 * N_STEPS && n < 1000);
}

TEST(a_step_in_which_the_process_died_is_tried_again)
{
    char folder[256];
    for (int i = 0; i < N_STEPS; i++) {
        need_counts();
        snprintf(folder, sizeof folder, "%s/%d", t_temp_dir(), i);
        atomic_store(&counts->kills_in, i);
        T_OK(live(folder, FAULT_SYNC, 0));
        T_OK(!live(folder, FAULT_SYNC, 0));
        for (int k = 0; k < N_STEPS; k++) T_EQ(counts->n_ran[k], k == i ? 2 : 1);
        /* One that nobody had yet was not known to be under way. */
        T_OK(counts->last_attempt[i] == 2 || (i == 0 && counts->last_attempt[i] == 1));
        expect_end(folder, "\"ok\"", true);
    }
}

TEST(a_step_that_kills_every_process_is_given_up)
{
    char folder[256];
    need_counts();
    snprintf(folder, sizeof folder, "%s/poison", t_temp_dir());
    atomic_store(&counts->kills_in, 2);
    atomic_store(&counts->kills_always, true);
    unsigned n_lives = 1;
    while (n_lives < 20 && live(folder, FAULT_SYNC, 0)) n_lives++;
    T_EQ(n_lives, FLOW_CRASHES + 1);
    T_EQ(counts->n_ran[2], FLOW_CRASHES);
    T_EQ(counts->n_ran[1], 1);
    expect_end(folder, "\"internal_error\"", true);
}

TEST(a_first_step_that_kills_every_process_is_given_up_too)
{
    char folder[256];
    need_counts();
    snprintf(folder, sizeof folder, "%s/poison", t_temp_dir());
    atomic_store(&counts->kills_in, 0);
    atomic_store(&counts->kills_always, true);
    unsigned n_lives = 1;
    while (n_lives < 20 && live(folder, FAULT_SYNC, 0)) n_lives++;
    T_OK(n_lives <= FLOW_CRASHES + 2);
    expect_end(folder, "\"internal_error\"", false);
}

/* ---- the innocent ---- */

enum { N_INNOCENT = 4, PATIENT_LIVES = 3 };

static atomic_uint n_patient;

/* In the first lives the innocent are in the middle of their step when the poison strikes. */
static void meet(struct flow_step *s)
{
    bool is_poison = flow_id(s).ptr[0] == 'a';
    bool is_early = atomic_load(&counts->n_lives) <= PATIENT_LIVES;
    if (is_poison) {
        if (is_early) desk_wait(&n_patient, N_INNOCENT);
        raise(SIGKILL);
    }
    if (!is_early) {
        flow_done(s, SLICE("1"));
        return;
    }
    flow_wait(s, NULL, NULL);
    desk_count(&n_patient);
}

static const struct step meet_steps[] = {{.name = "first", .run = step_0},
                                         {.name = "meet", .run = meet}};
static const struct workflow crowd = {
    .name = "crowd", .steps = meet_steps, .n_steps = 2, .keep_ms = -1, .on_end = desk_on_end};

static bool live_in_crowd(const char *folder)
{
    static const char *const ids[] = {"a", "b", "c", "d", "e"};
    atomic_fetch_add(&counts->n_lives, 1);
    pid_t child = fork();
    if (child == 0) {
        struct desk d = {.workflows = {&crowd}, .n_workflows = 1, .n_threads = 2};
        desk_open_store(&d, folder);
        size_t n_left = desk_n_docs(&d, "run");
        desk_start(&d);
        for (size_t i = 0; atomic_load(&counts->n_lives) == 1 && i <= N_INNOCENT; i++, n_left++)
            desk_run(&d, &crowd, ids[i], "{}");
        desk_wait(&desk_ended, (unsigned)n_left);
        desk_close(&d);
        _exit(0);
    }
    int status = 0;
    T_EQ(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status);
}

TEST(the_innocent_survive_a_run_that_kills_every_process)
{
    char folder[256];
    struct doc doc;
    need_counts();
    snprintf(folder, sizeof folder, "%s/crowd", t_temp_dir());
    unsigned n_lives = 1;
    while (n_lives < 30 && live_in_crowd(folder)) n_lives++;
    T_EQ(n_lives, FLOW_CRASHES + 1);
    struct desk d = {.workflows = {&crowd}, .n_workflows = 1};
    desk_open_store(&d, folder);
    for (char id = 'a'; id <= 'e'; id++) {
        T_EQ(store_doc_get(d.store, (struct doc_key){SLICE("result"), slice_of(&id, 1)}, &doc),
             WEIR_OK);
        T_EQ_STR(doc.body, id == 'a' ? "\"internal_error\"" : "\"ok\"");
        doc_fini(&doc);
    }
    T_EQ(desk_n_docs(&d, "run"), 0);
    store_close(d.store);
}

/* ---- people ---- */

enum { N_PEOPLE = 4, N_RESTARTS = 12 };

/* Of this process. */
static struct flow_step *asked[N_PEOPLE];
static atomic_bool has_answer[N_PEOPLE];
static atomic_uint n_asked;

static size_t person_of(const struct flow_step *s)
{
    return (size_t)(flow_id(s).ptr[0] - 'a');
}

/* In the first lives something works for it when the process dies; then it is people it asks. */
static void ask_people(struct flow_step *s, size_t i)
{
    size_t person = person_of(s);
    atomic_store(&counts->last_attempt[1], flow_attempt(s));
    if (atomic_load(&has_answer[person])) {
        if (atomic_load(&counts->kills_always)) raise(SIGKILL);
        return;
    }
    asked[person] = s;
    if ((int)atomic_load(&counts->n_lives) <= atomic_load(&counts->kills_in)) flow_part_wait(s, i);
    else flow_part_rest(s, i);
    desk_count(&n_asked);
}

static void people_said(struct flow_step *s)
{
    flow_done(s, SLICE("1"));
}

static void ask_step(struct flow_step *s)
{
    flow_parallel(s, 1, ask_people, people_said);
}

static const struct step people_steps[] = {{.name = "first", .run = step_0},
                                           {.name = "ask", .run = ask_step}};
static const struct workflow people = {
    .name = "people", .steps = people_steps, .n_steps = 2, .keep_ms = -1, .on_end = desk_on_end};

static void answer(size_t person)
{
    atomic_store(&has_answer[person], true);
    flow_part_resume(asked[person], 0);
}

/* What the document of a run says, when it says so. */
static void wait_for_record(struct desk *d, char id, const char *text)
{
    struct doc doc;
    bool is_there = false;
    while (!is_there) {
        sched_yield();
        T_EQ(store_doc_get(d->store, (struct doc_key){SLICE("run"), slice_of(&id, 1)}, &doc),
             WEIR_OK);
        is_there = memmem(doc.body.ptr, doc.body.len, text, strlen(text)) != NULL;
        doc_fini(&doc);
    }
}

/* A life up to where everybody has been asked, in a process of its own; then `then`. */
static bool live_with_people(const char *folder, size_t n, void (*then)(struct desk *d))
{
    static const char *const ids[] = {"a", "b", "c", "d"};
    atomic_fetch_add(&counts->n_lives, 1);
    pid_t child = fork();
    if (child == 0) {
        struct desk d = {.workflows = {&people}, .n_workflows = 1, .n_threads = 2};
        desk_open_store(&d, folder);
        size_t n_left = desk_n_docs(&d, "run");
        bool is_first = atomic_load(&counts->n_lives) == 1;
        desk_start(&d);
        for (size_t i = 0; is_first && i < n; i++) desk_run(&d, &people, ids[i], "{}");
        if (is_first || n_left > 0) then(&d);
        desk_close(&d);
        _exit(0);
    }
    int status = 0;
    T_EQ(waitpid(child, &status, 0), child);
    T_OK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void expect_results(const char *folder, size_t n, const char *result)
{
    struct desk d = {.workflows = {&people}, .n_workflows = 1};
    struct doc doc;
    desk_open_store(&d, folder);
    for (char id = 'a'; id < 'a' + (int)n; id++) {
        T_EQ(store_doc_get(d.store, (struct doc_key){SLICE("result"), slice_of(&id, 1)}, &doc),
             WEIR_OK);
        T_EQ_STR(doc.body, result);
        doc_fini(&doc);
    }
    T_EQ(desk_n_docs(&d, "run"), 0);
    store_close(d.store);
}

static void die_at_rest(struct desk *d)
{
    desk_wait(&n_asked, 1);
    if (atomic_load(&counts->n_lives) > 1) wait_for_record(d, 'a', "\"rests\":true");
    raise(SIGKILL);
}

static void answer_first(struct desk *d)
{
    (void)d;
    desk_wait(&n_asked, 1);
    answer(0);
    desk_wait(&desk_ended, 1);
}

TEST(whoever_waits_for_people_is_in_no_crash_but_the_first)
{
    char folder[256];
    need_counts();
    snprintf(folder, sizeof folder, "%s/rest", t_temp_dir());
    for (int i = 0; i < N_RESTARTS; i++) T_OK(live_with_people(folder, 1, die_at_rest));
    T_OK(!live_with_people(folder, 1, answer_first));
    T_EQ(counts->last_attempt[1], 2);
    expect_results(folder, 1, "\"ok\"");
}

static void answer_or_be_given_up(struct desk *d)
{
    (void)d;
    pthread_mutex_lock(&desk_lock);
    while (atomic_load(&n_asked) == 0 && atomic_load(&desk_ended) == 0)
        pthread_cond_wait(&desk_changed, &desk_lock);
    pthread_mutex_unlock(&desk_lock);
    if (atomic_load(&n_asked) > 0) answer(0);
    desk_wait(&desk_ended, 1);
}

TEST(a_step_that_kills_every_process_behind_an_answer_is_given_up)
{
    char folder[256];
    need_counts();
    atomic_store(&counts->kills_always, true);
    snprintf(folder, sizeof folder, "%s/behind", t_temp_dir());
    unsigned n_lives = 1;
    while (n_lives < 30 && live_with_people(folder, 1, answer_or_be_given_up)) n_lives++;
    T_EQ(n_lives, FLOW_CRASHES + 1);
    expect_results(folder, 1, "\"internal_error\"");
}

static void die_when_all_are_asked(struct desk *d)
{
    (void)d;
    desk_wait(&n_asked, N_PEOPLE);
    raise(SIGKILL);
}

/* All are suspects, and each comes to its rest; who is answered goes on, whoever was first. */
static void answer_from_the_last(struct desk *d)
{
    (void)d;
    desk_wait(&n_asked, N_PEOPLE);
    for (unsigned i = 0; i < N_PEOPLE; i++) {
        answer(N_PEOPLE - 1 - i);
        desk_wait(&desk_ended, i + 1);
    }
}

TEST(nobody_waits_for_a_suspect_that_waits_for_people)
{
    char folder[256];
    need_counts();
    atomic_store(&counts->kills_in, 3);
    snprintf(folder, sizeof folder, "%s/crowd", t_temp_dir());
    for (int i = 0; i < 3; i++) T_OK(live_with_people(folder, N_PEOPLE, die_when_all_are_asked));
    T_OK(!live_with_people(folder, N_PEOPLE, answer_from_the_last));
    T_EQ(counts->last_attempt[1], 4);
    expect_results(folder, N_PEOPLE, "\"ok\"");
}

/* ---- several engines ---- */

TEST(an_engine_leaves_runs_of_other_workflows_to_their_own)
{
    static const struct workflow other = {.name = "other", .steps = steps, .n_steps = 1};
    struct desk d = {.workflows = {&other}, .n_workflows = 1, .n_threads = 1};
    struct flow_stats stats;
    need_counts();
    desk_open_store(&d, t_temp_dir());
    T_EQ(desk_add(&d, &w, "r1", "{}"), WEIR_OK);
    desk_start(&d);
    flow_stats(d.flow, &stats);
    T_EQ(stats.n_in_flight, 0);
    T_EQ(stats.n_recovered, 0);
    /* Its own engine, next to the other one. */
    struct desk own = desk_of_one();
    own.store = d.store;
    desk_start(&own);
    desk_wait(&desk_ended, 1);
    flow_stop(own.flow, 1000);
    flow_free(own.flow);
    desk_close(&d);
}

/* ---- hooks ---- */

static atomic_uint n_ends;

static void fail_once(struct flow_step *s, const struct flow_end *end)
{
    if (atomic_fetch_add(&n_ends, 1) == 0) flow_hook_fail(s, WEIR_NOMEM);
    else desk_on_end(s, end);
    desk_tell();
}

TEST(an_end_that_cannot_be_had_now_is_made_again_later)
{
    struct fake_clock clock;
    static const struct workflow unlucky = {
        .name = "w", .steps = steps, .n_steps = N_STEPS, .keep_ms = -1, .on_end = fail_once};
    struct desk d = {.workflows = {&unlucky}, .n_workflows = 1, .n_threads = 1};
    fake_clock_init(&clock, 1700000000000);
    d.clock = &clock.clock;
    need_counts();
    atomic_store(&n_ends, 0);
    desk_open(&d, t_temp_dir());
    desk_run(&d, &unlucky, "r1", "{}");
    desk_wait(&n_ends, 1);
    while (atomic_load(&desk_ended) == 0) {
        fake_clock_advance(&clock, 100000000);
        flow_wake(d.flow);
        sched_yield();
    }
    T_EQ(atomic_load(&n_ends), 2);
    desk_close(&d);
}
