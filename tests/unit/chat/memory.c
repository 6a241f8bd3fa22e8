/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reply for which some allocation fails: it ends all the same, with all that it has to say, or
 * with an error; nothing is sent twice, and nobody waits for ever.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "desk.h"

enum { ENDED_WELL = 0, ENDED_BADLY = 1, WRONG = 2 };

static const struct wish assistant = {.agent = "asst_default"};

static void set_plans(void)
{
    for (int i = 0; i < 8; i++)
        stage->plans[i] = (struct plan){.deltas = {"It is ", "[email_1]", "."}};
    stage->plans[0].tools =
        "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"list_data\",\"input\":{}}";
}

/*
 * Leaps of time only while everybody pauses. Who waits for the disk seems to pause, too: the leaps
 * together are shorter than a reply is kept.
 */
static void let_time_pass(void)
{
    static uint64_t leapt_ns;
    const uint64_t most_ns = 12 * 3600 * 1000000000ull;
    struct chats_stats stats;
    chats_stats(desk.chats, &stats);
    bool is_busy = stats.runs.n_running + stats.runs.n_waiting > 0;
    uint64_t step_ns = is_busy ? 100000 : leapt_ns < most_ns ? 2000000000ull : 1000000;
    leapt_ns += step_ns;
    fake_clock_advance(&desk.clock, step_ns);
    chats_wake(desk.chats);
    sched_yield();
}

static int judge(const char *id)
{
    look(id);
    unsigned n_ends = count(event_text, "event: done\n") + count(event_text, "event: error\n") +
                      count(event_text, "event: dlp_blocked\n");
    bool is_good = n_ends == 1 && count(event_text, "event: tool_call\n") <= 1 &&
                   count(event_text, "event: dlp_resolved\n") <= 1 &&
                   !says(event_text, "ann@example.org");
    if (!is_good) return WRONG;
    if (!says(event_text, "event: done\n")) return ENDED_BADLY;
    const char *text = said_text();
    bool is_whole =
        says(text, "It is [email_1].It is [email_1].") || says(text, "It is [email_1].");
    /* A model that is asked to go on may do without the tool that it wanted at first. */
    bool has_ends =
        count(event_text, "event: tool_result\n") == count(event_text, "event: tool_call\n");
    return is_whole && has_ends ? ENDED_WELL : WRONG;
}

static void live(unsigned nth)
{
    struct made m;
    open_chats(&(struct setting){0});
    set_plans();
    T_EQ(make_with(&m, USER("I am ann@example.org"), &assistant), WEIR_OK);
    chats_readers(desk.chats, weir_slice_of(m.id), 1);
    fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
    chats_begin(desk.chats, weir_slice_of(m.id));
    while (!has_ended(m.id) && store_is_writable(desk.store) == WEIR_OK) let_time_pass();
    stage->was_reached = fault_count(FAULT_ALLOC) >= nth;
    fault_disarm_all();
    int verdict = has_ended(m.id) ? judge(m.id) : ENDED_BADLY;
    if (verdict == WRONG) dprintf(STDOUT_FILENO, "allocation %u:\n%s\n", nth, event_text);
    chats_readers(desk.chats, weir_slice_of(m.id), -1);
    desk_close();
    _exit(verdict);
}

/* In a process of its own, which the store may end; true while the nth allocation was reached. */
static bool fail_nth(unsigned nth, unsigned *n_well)
{
    int status = 0;
    memset(stage, 0, sizeof *stage);
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
    return was_aborted || stage->was_reached;
}

/* Some of them, others in each run. */
TEST(an_allocation_that_fails_does_not_keep_a_reply_from_its_end)
{
    unsigned n_well = 0, n = 1 + (unsigned)(t_random() % 29), n_tried = 0;
    stage = mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (; n < 20000 && fail_nth(n, &n_well); n += 29 + n / 40) n_tried++;
    T_OK(n_tried > 10 && n < 20000);
    T_OK(n_well > n_tried / 2);
    munmap(stage, sizeof *stage);
    stage = NULL;
}
