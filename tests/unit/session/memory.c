/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions for which some allocation fails: a call says so or does what it says, and what was taken
 * is done in the end, without another start.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "play.h"

enum { FINE = 0, WRONG = 2 };

/* Shared with processes that may be ended. */
static struct scene {
    bool was_reached;
} * stage;

static void let_time_pass(void)
{
    fake_clock_advance(&desk.clock, 200000000);
    sessions_wake(desk.sessions);
    sched_yield();
}

/* How many of three messages were taken. */
static unsigned send_three(struct sent *s)
{
    unsigned n = 0;
    for (int i = 0; i < 3; i++) {
        struct weir_buf out;
        weir_buf_init(&out, 4096);
        enum weir_status st = call_into(
            "ann", "chat/send",
            desk_format("{\"sessionId\":\"%s\",\"clientId\":\"t\",\"text\":\"x\"}", s->session),
            &out, NULL);
        n += st == WEIR_OK;
        weir_buf_fini(&out);
    }
    return n;
}

static bool is_over(const struct sent *s)
{
    struct doc doc;
    struct doc_key key = {SLICE("session_busy"), weir_slice_of(s->session)};
    enum weir_status st = store_doc_get(desk.store, key, &doc);
    if (st == WEIR_OK) doc_fini(&doc);
    return st == WEIR_NOT_FOUND;
}

static void live(unsigned nth)
{
    desk_tune = play_tune;
    desk_start();
    struct sent s = send_text(NULL, "first");
    wait_idle(s.session);
    fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
    unsigned n_sent = send_three(&s);
    while (!is_over(&s) && store_is_writable(desk.store) == WEIR_OK) let_time_pass();
    stage->was_reached = fault_count(FAULT_ALLOC) >= nth;
    fault_disarm_all();
    bool is_good = store_is_writable(desk.store) != WEIR_OK;
    if (!is_good) {
        unsigned n = n_events(s.session, "done") + n_events(s.session, "error");
        is_good = n == n_sent + 1;
        if (!is_good)
            dprintf(STDOUT_FILENO, "allocation %u: %u of %u\n%s\n", nth, n, n_sent, event_text);
    }
    play_stop();
    _exit(is_good ? FINE : WRONG);
}

/* In a process of its own, which the store may end; true while the nth allocation was reached. */
static bool fail_nth(unsigned nth)
{
    int status = 0;
    stage->was_reached = false;
    fake_clock_init(&desk.clock, 1700000000000);
    snprintf(desk.folder, sizeof desk.folder, "%s/%u", t_temp_dir(), nth);
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        live(nth);
    }
    T_EQ(waitpid(child, &status, 0), child);
    bool was_aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    T_OK(was_aborted || (WIFEXITED(status) && WEXITSTATUS(status) == FINE));
    return was_aborted || stage->was_reached;
}

/* Some of them, others in each run. */
TEST(an_allocation_that_fails_loses_no_message)
{
    unsigned n = 1 + (unsigned)(t_random() % 7), n_tried = 0;
    stage = mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (; n < 5000 && fail_nth(n); n += 7) n_tried++;
    T_OK(n_tried > 10 && n < 5000);
    munmap(stage, sizeof *stage);
}
