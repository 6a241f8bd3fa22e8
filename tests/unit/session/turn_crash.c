/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn whose process is killed: at every sync of the store, and at every point of its run. What
 * was shown stays, byte for byte, and is gone on with; each tool is run to one end, each message is
 * there once, and there is one last event.
 *
 * The model of this test knows what it wants to say, and goes on where it is asked to.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "stage.h"

static const char first_part[] = "Let me have a look at all of your data, one moment please. ";
static const char second_part[] = "There is nothing at all, and so I cannot say more. ";
static const char third_part[] = "Not even of last week, which you have asked for meanwhile.";

struct shared {
    struct scene scene;
    char session[SESSION_LEN + 1];
    char before[STAGE_TEXT_BYTES], after[STAGE_TEXT_BYTES]; /* events, as processes saw them */
};
static struct shared *kept;

/* How much of an answer the model has been told that it said, behind a place. */
static size_t said_bytes(const char *at)
{
    static const char head[] =
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"";
    size_t n = 0;
    while ((at = strstr(at, head))) {
        at += strlen(head);
        n += strcspn(at, "\"");
    }
    return n;
}

static void plan_call(unsigned k)
{
    static char pieces[STAGE_CALLS][STAGE_DELTAS][64];
    struct plan *p = &stage->plans[k];
    const char *asked = strstr(stage->asked[k], "Tell me about my data");
    *p = (struct plan){.deltas = {"Hello."}};
    if (!asked) return;
    const char *result = strstr(asked, "\"type\":\"tool_result\"");
    const char *steered = strstr(asked, "Last week, too");
    const char *whole = steered ? third_part : result ? second_part : first_part;
    size_t n = said_bytes(steered ? steered : result ? result : asked), len = strlen(whole);
    if (n > len) n = len;
    size_t each = (len - n + STAGE_DELTAS - 1) / STAGE_DELTAS;
    p->deltas[0] = NULL;
    for (size_t i = 0; i < STAGE_DELTAS && n < len; i++, n += each) {
        snprintf(pieces[k][i], sizeof pieces[0][0], "%.*s", (int)each, whole + n);
        p->deltas[i] = pieces[k][i];
    }
    /* It is said before this answer is there: the next round takes it. */
    if (result && !steered && n_docs("session_steer") == 0)
        T_EQ(
            CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"Last week, too\"}", kept->session),
            WEIR_OK);
    if (!result)
        p->tools = "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"list_data\",\"input\":{}}";
}

/* ---- processes ---- */

static void keep_events(char out[STAGE_TEXT_BYTES])
{
    size_t len = strlen(look(kept->session));
    T_OK(len < STAGE_TEXT_BYTES);
    memcpy(out, event_text, len + 1);
}

/* What the process before has left, when nobody goes on with it yet. */
static void keep_before(struct sessions *s)
{
    (void)s;
    if (kept->session[0]) keep_events(kept->before);
}

static void go_on(unsigned nth, enum fault_point point)
{
    if (!kept->session[0]) memcpy(kept->session, talk(NULL, "Hi").session, sizeof kept->session);
    if (nth > 0) fault_arm(point, nth, FAULT_CRASH);
    if (n_docs("session_turn") < 2) send_text(kept->session, "Tell me about my data");
    wait_idle(kept->session);
}

/* In a process of its own; true when it was killed. */
static bool live(enum fault_point point, unsigned nth)
{
    pid_t child = fork();
    if (child == 0) {
        on_call = plan_call;
        desk_tune = keep_before;
        stage_start();
        go_on(nth, point);
        keep_events(kept->after);
        fault_disarm_all();
        stage_stop();
        _exit(0);
    }
    int status = 0;
    T_EQ(waitpid(child, &status, 0), child);
    T_OK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void check(bool was_killed)
{
    char whole[512];
    T_EQ(strncmp(kept->before, kept->after, strlen(kept->before)), 0);
    /* What comes before the second answer has begun is told with the question, asked again. */
    bool is_early = !says(said_text(), second_part);
    snprintf(whole, sizeof whole, "Hello.%s%s%s", first_part, is_early ? "" : second_part,
             third_part);
    T_OK(was_killed || !is_early);
    T_EQ_STR(weir_slice_of(said_text()), whole);
    T_OK(says(event_text, desk_format("\"type\":\"done\",\"text\":\"%s\",\"turnCount\":2}",
                                      whole + strlen("Hello."))));
    T_EQ(count(event_text, "\"type\":\"done\""), 2);
    T_EQ(count(event_text, "\"type\":\"error\""), 0);
    T_EQ(count(event_text, "\"type\":\"run_start\""), 2);
    T_EQ(count(event_text, "\"type\":\"tool_start\""), 1);
    T_EQ(count(event_text, "\"type\":\"tool_end\""), 1);
    T_EQ(count(event_text, "_0\",\"role\":\"user\""), 2);
    T_EQ(count(event_text, "_1\",\"role\":\"user\""), 1);
    T_EQ(count(event_text, "_99\",\"role\":\"assistant\""), 2);
}

/* False: it was not killed any more. */
static bool kill_at(enum fault_point point, unsigned nth)
{
    kept = mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stage = &kept->scene;
    fake_clock_init(&desk.clock, 1700000000000);
    snprintf(desk.folder, sizeof desk.folder, "%s/%d-%u", t_temp_dir(), point, nth);
    bool was_killed = live(point, nth);
    if (was_killed) T_OK(!live(point, 0));
    snprintf(event_text, sizeof event_text, "%s", kept->after);
    check(was_killed);
    munmap(kept, sizeof *kept);
    kept = NULL;
    stage = NULL;
    return was_killed;
}

/* Every second one, each of the two beginnings in one run or another. */
TEST(a_turn_that_is_killed_at_any_sync_goes_on_where_it_was)
{
    unsigned n = 1 + (unsigned)(t_random() % 2);
    while (n < 100 && kill_at(FAULT_SYNC, n)) n += 2;
    T_OK(n > 4 && n < 100);
}

TEST(a_turn_that_is_killed_at_any_point_of_its_run_goes_on)
{
    static const enum fault_point points[] = {FAULT_RUN, FAULT_STEP, FAULT_OUTPUT, FAULT_END};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) T_OK(kill_at(points[i], 1));
}
