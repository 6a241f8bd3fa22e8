/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reply whose process is killed: at every sync of the store, and at every point of its run. What
 * was shown stays, byte for byte, and is gone on with; each tool is run to one end, each question
 * is asked once, and there is one last event.
 *
 * The model of this test knows what it wants to say, and goes on where it is asked to.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "desk.h"

static const char first_part[] = "Let me have a look at all of your data, one moment please. ";
static const char second_part[] =
    "For [email_1] there is nothing at all, and so I cannot say more.";

static const struct setting plain = {0};
/* What the user says to the question. */
static enum decision_choice choice = DECISION_REDACT;

static const struct setting asking = {.policy = "{\"piiAction\":\"ask\"}"};
static const struct wish assistant = {.agent = "asst_default", .shows_raw = true};

/* How much of its answer the model has been told that it said. */
static size_t said_bytes(const char *asked)
{
    static const char head[] =
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"";
    size_t n = 0;
    const char *at = strstr(asked, "\"type\":\"tool_result\"");
    at = at ? at : asked;
    while ((at = strstr(at, head))) {
        at += strlen(head);
        n += strcspn(at, "\"");
    }
    return n;
}

static void plan_call(unsigned k)
{
    static char pieces[MAX_CALLS][DELTAS][64];
    bool is_second = says(stage->asked[k], "\"type\":\"tool_result\"");
    const char *whole = is_second ? second_part : first_part;
    size_t n = said_bytes(stage->asked[k]), len = strlen(whole);
    T_OK(n <= len);
    struct plan *p = &stage->plans[k];
    *p = (struct plan){0};
    size_t each = (len - n + DELTAS - 1) / DELTAS;
    for (size_t i = 0; i < DELTAS && n < len; i++, n += each) {
        snprintf(pieces[k][i], sizeof pieces[0][0], "%.*s", (int)each, whole + n);
        p->deltas[i] = pieces[k][i];
    }
    if (!is_second)
        p->tools = "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"list_data\",\"input\":{}}";
}

/* ---- processes ---- */

struct shared {
    struct scene scene;
    struct made made;
    bool is_made;
    char before[TEXT_BYTES], after[TEXT_BYTES]; /* its events, as the last process saw them */
};

static void answer_question(const char *id)
{
    char decision[DECISION_ID_BYTES];
    if (!has_event(id, "dlp_preview")) return;
    find_decision(decision);
    enum weir_status st = decide_as(decision, choice, true);
    T_OK(st == WEIR_OK || st == WEIR_NOT_FOUND);
    /* Whoever was killed between the two has told nobody. */
    if (st == WEIR_NOT_FOUND) chats_decided(desk.chats, weir_slice_of(id));
}

static struct shared *kept;

/* What the process before has left, when nobody goes on with it yet. */
static void keep_before(void)
{
    if (!kept->is_made) return;
    look(kept->made.id);
    memcpy(kept->before, event_text, sizeof event_text);
}

/* In a process of its own; true when it was killed. */
static bool live(struct shared *s, const struct setting *how, enum fault_point point, unsigned nth)
{
    pid_t child = fork();
    if (child == 0) {
        on_call = plan_call;
        before_start = keep_before;
        kept = s;
        open_chats(how);
        if (!s->is_made) {
            T_EQ(make_with(&s->made, USER("Tell me about ann@example.org"), &assistant), WEIR_OK);
            s->is_made = true;
            if (nth > 0) fault_arm(point, nth, FAULT_CRASH);
            chats_begin(desk.chats, weir_slice_of(s->made.id));
        }
        if (how->policy) WAIT_FOR((answer_question(s->made.id), has_ended(s->made.id)));
        else WAIT_FOR(has_ended(s->made.id));
        look(s->made.id);
        memcpy(s->after, event_text, sizeof event_text);
        desk_close();
        _exit(0);
    }
    int status = 0;
    T_EQ(waitpid(child, &status, 0), child);
    T_OK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

/* False: it was not killed any more. */
static bool kill_at(const struct setting *how, enum fault_point point, unsigned nth)
{
    char whole[256];
    struct shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stage = &s->scene;
    fake_clock_init(&desk.clock, 1700000000000);
    snprintf(desk.folder, sizeof desk.folder, "%s/%d-%u", t_temp_dir(), point, nth);
    bool was_killed = live(s, how, point, nth);
    if (was_killed) T_OK(!live(s, how, point, 0));
    T_EQ(strncmp(s->before, s->after, strlen(s->before)), 0);
    memcpy(event_text, s->after, sizeof event_text);
    check_log("done");
    snprintf(whole, sizeof whole, "%s%s", first_part, second_part);
    T_EQ_STR(weir_slice_of(said_text()), whole);
    T_EQ(count(event_text, "event: tool_call\n"), 1);
    T_EQ(count(event_text, "event: tool_result\n"), 1);
    T_EQ(count(event_text, "event: dlp_resolved\n"), 1);
    bool is_allowed = how->policy && choice == DECISION_ALLOW;
    T_EQ(count(event_text, "event: privacy_token_map\n"), is_allowed ? 0 : 1);
    for (unsigned i = 0; is_allowed && i < atomic_load(&s->scene.n_calls); i++)
        T_OK(says(s->scene.asked[i], "ann@example.org"));
    T_EQ(count(event_text, "event: dlp_preview\n"), how->policy ? 1 : 0);
    T_EQ(count(event_text, "ann@example.org"), 0);
    munmap(s, sizeof *s);
    stage = NULL;
    return was_killed;
}

/* Every second one, each of the two beginnings in one run or another. */
TEST(a_reply_that_is_killed_at_any_sync_goes_on_where_it_was)
{
    unsigned n = 1 + (unsigned)(t_random() % 2);
    while (n < 100 && kill_at(&plain, FAULT_SYNC, n)) n += 2;
    T_OK(n > 4 && n < 100);
}

TEST(a_reply_with_a_question_that_is_killed_at_any_sync_asks_once)
{
    unsigned n = 1 + (unsigned)(t_random() % 2);
    while (n < 100 && kill_at(&asking, FAULT_SYNC, n)) n += 2;
    T_OK(n > 4 && n < 100);
}

TEST(what_is_allowed_stays_so_whenever_its_process_is_killed)
{
    unsigned n = 1 + (unsigned)(t_random() % 2);
    choice = DECISION_ALLOW;
    while (n < 100 && kill_at(&asking, FAULT_SYNC, n)) n += 2;
    choice = DECISION_REDACT;
    T_OK(n > 4 && n < 100);
}

TEST(a_reply_that_is_killed_at_any_point_of_its_run_goes_on)
{
    static const enum fault_point points[] = {FAULT_RUN, FAULT_STEP, FAULT_OUTPUT, FAULT_END};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) T_OK(kill_at(&plain, points[i], 1));
}
