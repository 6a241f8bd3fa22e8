/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn for which some allocation fails: it ends all the same, with all that it has to say, or
 * with an error; nothing is shown twice, and nobody waits for ever.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "stage.h"

enum { ENDED_WELL = 0, ENDED_BADLY = 1, WRONG = 2 };

static bool *was_reached;

static void set_plans(void)
{
    for (int i = 0; i < 8; i++)
        stage->plans[i] = (struct plan){.deltas = {"~Hm. ", "It is ", "[email_1]", "."}};
    stage->plans[0].tools =
        "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"list_data\",\"input\":{}}";
}

/* Leaps of time only while everybody pauses. */
static void let_time_pass(void)
{
    struct sessions_stats stats;
    sessions_stats(desk.sessions, &stats);
    bool is_busy = stats.runs.n_running + stats.runs.n_waiting > 0;
    fake_clock_advance(&desk.clock, is_busy ? 100000 : 2000000000ull);
    sessions_wake(desk.sessions);
    sched_yield();
}

static unsigned n_ends(const char *session)
{
    return n_events(session, "done") + n_events(session, "error");
}

/* A look only when there is something new. */
static bool has_ended(const char *session)
{
    static uint64_t last;
    uint64_t now = last_event(session);
    bool is_new = now != last;
    last = now;
    return is_new && n_ends(session) > 0;
}

static int judge(const char *session)
{
    look(session);
    unsigned n_starts = count(event_text, "\"type\":\"tool_start\"");
    bool is_good = n_ends(session) == 1 && n_starts <= 1 &&
                   count(event_text, "\"type\":\"tool_end\"") == n_starts &&
                   count(event_text, "\"type\":\"run_start\"") <= 1 &&
                   count(event_text, "_0\",\"role\":\"user\"") == 1 &&
                   count(event_text, "_99\",\"role\":\"assistant\"") <= 1;
    if (!is_good) return WRONG;
    if (!says(event_text, "\"type\":\"done\"")) return ENDED_BADLY;
    return says(said_text(), "It is ann@example.org.") ? ENDED_WELL : WRONG;
}

static void live(unsigned nth)
{
    char session[SESSION_LEN + 1];
    int verdict = ENDED_BADLY;
    stage_start();
    set_plans();
    fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
    if (CALL("chat/send", "{\"clientId\":\"tab\",\"text\":\"I am ann@example.org\"}") == WEIR_OK) {
        said("sessionId", session, sizeof session);
        while (!has_ended(session) && store_is_writable(desk.store) == WEIR_OK) let_time_pass();
        *was_reached = fault_count(FAULT_ALLOC) >= nth;
        fault_disarm_all();
        if (n_ends(session) > 0) verdict = judge(session);
    } else *was_reached = true;
    fault_disarm_all();
    if (verdict == WRONG) dprintf(STDOUT_FILENO, "allocation %u:\n%s\n", nth, event_text);
    stage_stop();
    _exit(verdict);
}

/* In a process of its own, which the store may end; true while the nth allocation was reached. */
static bool fail_nth(unsigned nth, unsigned *n_well)
{
    int status = 0;
    memset(stage, 0, sizeof *stage);
    *was_reached = false;
    fake_clock_init(&desk.clock, 1700000000000);
    snprintf(desk.folder, sizeof desk.folder, "%s/%u", t_temp_dir(), nth);
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        live(nth);
    }
    T_EQ(waitpid(child, &status, 0), child);
    bool was_aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    T_OK(was_aborted || (WIFEXITED(status) && WEXITSTATUS(status) != WRONG));
    if (WIFEXITED(status) && WEXITSTATUS(status) == ENDED_WELL) (*n_well)++;
    return was_aborted || *was_reached;
}

/* Some of them, others in each run. */
TEST(an_allocation_that_fails_does_not_keep_a_turn_from_its_end)
{
    struct shared {
        struct scene scene;
        bool was_reached;
    } *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned n_well = 0, n = 1 + (unsigned)(t_random() % 97), n_tried = 0;
    stage = &s->scene;
    was_reached = &s->was_reached;
    for (; n < 20000 && fail_nth(n, &n_well); n += 97 + n / 10) n_tried++;
    T_OK(n_tried > 10 && n < 20000);
    T_OK(n_well > n_tried / 2);
    munmap(s, sizeof *s);
    stage = NULL;
}
