/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of a run's life fails once: the run ends all the same, and nothing is lost. The
 * store, which cannot show what is durable already without memory, may end the process then; the
 * next one goes on.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "desk.h"

static struct fake_clock fake;

static void one(struct flow_step *s)
{
    flow_emit(s, "one", SLICE("{}"));
    (void)flow_input(s);
    flow_done(s, SLICE("{\"a\":1}"));
}

static void part(struct flow_step *s, size_t i)
{
    (void)i;
    flow_emit(s, "part", SLICE("{}"));
}

static void join(struct flow_step *s)
{
    flow_done(s, SLICE("2"));
}

static void two(struct flow_step *s)
{
    flow_put(s, (struct doc_key){SLICE("note"), flow_id(s)}, DOC_ANY_VERSION, SLICE("x"));
    (void)flow_output(s, "one");
    flow_parallel(s, 2, part, join);
}

static const struct step steps[] = {{.name = "one", .run = one, .max_attempts = 3},
                                    {.name = "two", .run = two, .max_attempts = 3}};
static const struct workflow w = {.name = "w",
                                  .steps = steps,
                                  .n_steps = 2,
                                  .keep_ms = -1,
                                  .on_begin = desk_on_begin,
                                  .on_end = desk_on_end};

/* Or until the store takes nothing any more, for it had no memory to write with. */
static void let_time_pass_until_ended(struct desk *d)
{
    while (atomic_load(&desk_ended) < 1 && store_is_writable(d->store) != WEIR_STORAGE) {
        fake_clock_advance(&fake, UINT64_C(50) * 1000000);
        flow_wake(d->flow);
        sched_yield();
    }
}

static void expect_end(struct desk *d, const char *id)
{
    struct doc doc;
    bool is_sealed = false;
    const char *events = desk_events(d, id, &is_sealed);
    T_OK(is_sealed);
    T_OK(strncmp(events, "begin ", 6) == 0 && !strstr(events + 1, "begin"));
    T_OK(strcmp(strrchr(events, ' '), " end") == 0);
    T_EQ(store_doc_get(d->store, (struct doc_key){SLICE("result"), weir_slice_of(id)}, &doc),
         WEIR_OK);
    T_EQ_STR(doc.body, "\"ok\"");
    doc_fini(&doc);
    T_EQ(desk_n_docs(d, "run"), 0);
}

enum { EXIT_HIT = 3 };

/* In a process of its own. */
static void live(struct desk *d, const char *folder, const char *id, unsigned nth)
{
    desk_open(d, folder);
    T_EQ(desk_add(d, &w, id, "{\"n\":[1,2,3]}"), WEIR_OK);
    fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
    /* Without memory to know it by it waits for the next start; here somebody asks again. */
    while (flow_begin(d->flow, weir_slice_of(id)) != WEIR_OK) sched_yield();
    let_time_pass_until_ended(d);
    bool was_hit = fault_count(FAULT_ALLOC) >= nth;
    fault_disarm_all();
    desk_close(d);
    _exit(was_hit ? EXIT_HIT : 0);
}

/* True while the nth allocation was reached. */
static bool fail_nth(unsigned nth)
{
    struct desk d = {.workflows = {&w}, .n_workflows = 1, .n_threads = 2, .clock = &fake.clock};
    char folder[256], said[300], id[16];
    int status = 0;
    fake_clock_init(&fake, 1700000000000);
    snprintf(folder, sizeof folder, "%s/store", t_temp_dir());
    snprintf(said, sizeof said, "%s/said-%u", t_temp_dir(), nth);
    snprintf(id, sizeof id, "r%u", nth);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(said, O_CREAT | O_WRONLY, 0600);
        dup2(fd, STDERR_FILENO);
        live(&d, folder, id, nth);
    }
    T_EQ(waitpid(child, &status, 0), child);
    bool was_aborted = WIFSIGNALED(status);
    if (was_aborted) {
        struct weir_slice text = t_read_file(said);
        T_EQ(WTERMSIG(status), SIGABRT);
        T_OK(text.len > 0 && memmem(text.ptr, text.len, "src/store/", 10));
    }
    desk_open_store(&d, folder);
    size_t n_left = desk_n_docs(&d, "run");
    desk_start(&d);
    if (n_left > 0) let_time_pass_until_ended(&d);
    expect_end(&d, id);
    desk_close(&d);
    return was_aborted || WEXITSTATUS(status) == EXIT_HIT;
}

TEST(an_allocation_that_fails_costs_an_attempt_at_most)
{
    unsigned n = 1;
    while (n < 1000 && fail_nth(n)) n++;
    T_OK(n > 20 && n < 1000);
}
