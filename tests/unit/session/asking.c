/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions of turns that really wait for their answers: over restarts, until deadlines, and until
 * somebody aborts. The tools are the test's own: the text of a note says what is asked, as
 * "allow TOOL ARGS", "clarify" or "clarify DEFAULT", several with " | " between them; or "hold".
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask.h"
#include "base/fault.h"
#include "session/tools_impl.h"

enum { APPROVAL_MS = 600 * 1000, CLARIFY_MS = 300 * 1000 };

/* What became of the questions of a turn, in order, as its last pass tells it. */
static struct {
    pthread_mutex_t lock;
    struct {
        char turn[SESSION_TURN_LEN + 1];
        char text[1 << 16];
    } of[8];
} reports = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock: the place of a turn, or an empty one. */
static char *report_of(struct weir_slice turn)
{
    size_t i = 0;
    while (reports.of[i].turn[0] && !weir_slice_is(turn, reports.of[i].turn)) i++;
    T_OK(i < sizeof reports.of / sizeof *reports.of - 1);
    snprintf(reports.of[i].turn, sizeof reports.of[i].turn, "%.*s", (int)turn.len, turn.ptr);
    return reports.of[i].text;
}

static void tell(struct turn_pass *p, const char *what, struct weir_slice more)
{
    pthread_mutex_lock(&reports.lock);
    char *text = report_of(pass_turn(p));
    size_t len = strlen(text);
    snprintf(text + len, sizeof reports.of[0].text - len, "%s%s%s%.*s", len > 0 ? "; " : "", what,
             more.len > 0 ? " " : "", (int)more.len, more.len > 0 ? more.ptr : "");
    pthread_mutex_unlock(&reports.lock);
}

static const char *reported(const struct sent *t)
{
    static char text[1 << 16];
    pthread_mutex_lock(&reports.lock);
    snprintf(text, sizeof text, "%s", report_of(weir_slice_of(t->turn)));
    pthread_mutex_unlock(&reports.lock);
    return text;
}

#define T_REPORTED(t, want) T_EQ_STR(weir_slice_of(reported(&(t))), want)

static void forget_report(struct weir_slice turn)
{
    pthread_mutex_lock(&reports.lock);
    report_of(turn)[0] = '\0';
    pthread_mutex_unlock(&reports.lock);
}

/* ---- tools ---- */

void session_tools_put(struct sessions *s, struct weir_buf *out)
{
    (void)s;
    weir_buf_append_str(out, "[]");
}

void session_tools_put_catalog(struct sessions *s, struct weir_buf *out)
{
    (void)s;
    weir_buf_append_str(out, "{\"groups\":[]}");
}

bool tools_abort(struct sessions *s, struct weir_slice turn)
{
    (void)s;
    (void)turn;
    return false;
}

enum { OUTPUT_BYTES = 180 << 10 };
static atomic_bool has_output; /* of a call that nobody waited for: signs that JSON has to escape */

enum weir_status tool_find_fate(struct sessions *s, const struct tool_open *call,
                                enum tool_fate *fate, struct weir_buf *result)
{
    (void)s, (void)call;
    *fate = atomic_load(&has_output) ? TOOL_DONE : TOOL_NOT_DONE;
    for (int i = 0; *fate == TOOL_DONE && i < OUTPUT_BYTES; i++) weir_buf_append_char(result, 1);
    return weir_buf_status(result);
}

void tools_turn_ended(struct sessions *s, struct weir_slice turn)
{
    (void)s;
    (void)turn;
}

void tools_forget(struct sessions *s)
{
    (void)s;
}

static _Atomic(const char *)
    other_args; /* what is asked for instead, from now on; NULL: the same */

static enum weir_status allow(struct turn_pass *p, const struct tool_wish *w, unsigned number,
                              char *what)
{
    const char *other = atomic_load(&other_args);
    enum approval_state state = APPROVAL_DENIED;
    char why[SESSION_WHY_BYTES] = "";
    char *space = strchr(what, ' ');
    const char *args = other ? other : space + 1;
    *space = '\0';
    enum weir_status st = approval_ask(p,
                                       &(struct approval_wish){.call_id = w->call_id,
                                                               .number = number,
                                                               .tool = what,
                                                               .args = weir_slice_of(args),
                                                               .reason = SLICE("it writes")},
                                       &state, why);
    if (st == WEIR_OK && state == APPROVAL_ALLOWED) tell(p, "ran", weir_slice_of(args));
    if (st == WEIR_OK && state == APPROVAL_DENIED) tell(p, "denied:", weir_slice_of(why));
    return st;
}

static enum weir_status clarify(struct turn_pass *p, unsigned number, const char *what)
{
    static const char *const names[] = {"user", "default", "no-default", "cancel"};
    enum clarify_source source;
    struct weir_slice answer;
    struct clarify_wish wish = {.number = number, .question = SLICE("Which?")};
    if (what[0]) wish.default_answer = weir_slice_of(what);
    enum weir_status st = clarify_ask(p, &wish, &source, &answer);
    if (st == WEIR_OK) tell(p, names[source], answer);
    return st;
}

/* A call that begins, and waits until its turn is aborted. */
static enum weir_status hold(struct turn_pass *p, const struct tool_wish *w)
{
    struct weir_buf json;
    weir_buf_init(&json, 4096);
    weir_buf_printf(&json, "{\"type\":\"tool_start\",\"toolCallId\":\"%.*s\",\"toolName\":\"x\"}",
                    (int)w->call_id.len, w->call_id.ptr);
    bool is_shown = pass_shown_call(p, "tool_start", w->call_id).len > 0;
    enum weir_status st = is_shown ? WEIR_OK : pass_emit(p, &json);
    weir_buf_fini(&json);
    return st == WEIR_OK ? pass_wait_work(p) : st;
}

static atomic_uint failing; /* allocation, from the first call on; 0: none */
static atomic_bool is_sent; /* not before: whoever sends may be without an answer otherwise */

enum weir_status session_tool_call(struct turn_pass *p, const struct tool_wish *w,
                                   struct weir_buf *out, bool *is_error)
{
    static _Thread_local char text[128 << 10];
    struct weir_slice said = weir_json_text(weir_json_get_str(w->input, "text"));
    enum weir_status st = WEIR_OK;
    unsigned number = 10 * w->number, nth = atomic_exchange(&failing, 0);
    while (nth > 0 && !atomic_load(&is_sent)) wait_1_ms();
    if (nth > 0) fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
    snprintf(text, sizeof text, "%.*s", (int)said.len, said.ptr);
    forget_report(pass_turn(p)); /* each pass tells it all again */
    for (char *at = text, *next; st == WEIR_OK && at; at = next) {
        next = strstr(at, " | ");
        if (next) {
            *next = '\0';
            next += 3;
        }
        number++;
        if (strncmp(at, "allow ", 6) == 0) st = allow(p, w, number, at + 6);
        else if (strcmp(at, "hold") == 0) st = hold(p, w);
        else st = clarify(p, number, at + (at[7] ? 8 : 7));
    }
    *is_error = false;
    if (st == WEIR_OK) weir_buf_append_str(out, "{}");
    return st;
}

/* ---- talking ---- */

static void open_asking(void)
{
    memset(reports.of, 0, sizeof reports.of);
    desk.options = (struct sessions_options){.approval_ms = APPROVAL_MS, .clarify_ms = CLARIFY_MS};
    desk_tune = NULL;
    desk_grace_ms = 100; /* those who wait for people do not end by themselves */
    desk_open();
}

/* `what` has its quotes escaped. */
static struct sent ask_for(const char *session, const char *what)
{
    return send_text(session, desk_format("note x: %s", what));
}

static void wait_open(unsigned n)
{
    WAIT_FOR(n_docs("session_pending") == n);
}

/* The id of the nth question of the first call of a turn. */
static const char *id_of(enum question_kind kind, const struct sent *t, unsigned n)
{
    (void)question_id(asked_id, kind, weir_slice_of(t->turn), 10 + n);
    return asked_id;
}

static enum weir_status approve(const char *id, const char *scope)
{
    return CALL("tools/approve", "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"scope\":\"%s\"}",
                id, scope);
}

static enum weir_status respond(const char *id, const char *answer)
{
    return CALL("clarify/respond", "{\"requestId\":\"%s\",\"answer\":\"%s\",\"source\":\"user\"}",
                id, answer);
}

/* ---- approvals ---- */

TEST(a_call_waits_until_it_is_allowed)
{
    open_asking();
    struct sent t = ask_for(NULL, "allow write {\\\"b\\\":[1,{}],\\\"a\\\":\\\"x\\\"}");
    wait_open(1);
    const char *id = id_of(QUESTION_APPROVAL, &t, 1);
    T_OK(says(look(t.session),
              desk_format("data: {\"type\":\"tool.approval_required\",\"request\":{\"approvalId\":"
                          "\"%s\",\"sessionId\":\"%s\",\"toolCallId\":\"tc_%s_1\",\"toolName\":"
                          "\"write\",\"args\":{\"b\":[1,{}],\"a\":\"x\"},\"reason\":\"it "
                          "writes\"}}\n",
                          id, t.session, t.turn + strlen("trn_"))));
    T_REPORTED(t, "");
    T_EQ(approve(id, "once"), WEIR_OK);
    wait_idle(t.session);
    T_REPORTED(t, "ran {\"b\":[1,{}],\"a\":\"x\"}");
    T_EQ(n_events(t.session, "tool.approval_required"), 1);
    T_EQ(n_events(t.session, "approval.resolved"), 1);
    T_EQ(n_events(t.session, "done"), 1);
    struct sessions_stats stats;
    sessions_stats(desk.sessions, &stats);
    T_EQ(stats.n_approvals, 1);
    T_EQ(stats.n_allowed, 1);
    desk_stop();
}

TEST(the_model_hears_why_it_was_denied)
{
    static char longest[2049], escaped[8192];
    open_asking();
    struct sent t = ask_for(NULL, "allow write {}");
    wait_open(1);
    T_EQ(CALL("tools/deny", "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"reason\":\"not now\"}",
              id_of(QUESTION_APPROVAL, &t, 1)),
         WEIR_OK);
    wait_idle(t.session);
    T_REPORTED(t, "denied: the user did not allow it: not now");
    /* As much of a long reason as there is room for, in whole characters. */
    for (size_t i = 0; i + 2 < sizeof longest; i += 2) memcpy(longest + i, "é", 2);
    t = ask_for(t.session, "allow write {}");
    wait_open(1);
    snprintf(escaped, sizeof escaped,
             "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"reason\":\"%s\"}",
             id_of(QUESTION_APPROVAL, &t, 1), longest);
    T_EQ(call_as("ann", "tools/deny", escaped), WEIR_OK);
    wait_idle(t.session);
    T_OK(says(reported(&t), "denied: the user did not allow it: éé"));
    T_EQ(strlen(reported(&t)), strlen("denied: the user did not allow it: ") + 2 * 114);
    desk_stop();
}

TEST(nobody_in_time_is_a_denial)
{
    open_asking();
    struct sent t = ask_for(NULL, "allow write {}");
    wait_open(1);
    advance(APPROVAL_MS - 1);
    T_EQ(n_docs("session_pending"), 1);
    advance(1);
    wait_idle(t.session);
    T_REPORTED(t, "denied: nobody allowed it in time");
    const char *id = id_of(QUESTION_APPROVAL, &t, 1);
    T_OK(says(look(t.session), desk_format("{\"type\":\"approval.resolved\",\"approvalId\":\"%s\","
                                           "\"decision\":\"deny\",\"decidedBy\":\"timeout\"}",
                                           id)));
    T_OK(says(audit(), "\"decidedBy\":\"timeout\",\"decider\":\"deadline\",\"scope\":null,"
                       "\"textBytes\":0,\"waitedMs\":600000}"));
    T_EQ(approve(id, "any-args"), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "nobody answered in time");
    T_EQ(n_events(t.session, "approval.resolved"), 1);
    T_EQ(n_audited(), 1);
    struct sessions_stats stats;
    sessions_stats(desk.sessions, &stats);
    T_EQ(stats.n_approvals_expired, 1);
    desk_stop();
}

TEST(an_abort_while_it_waits_and_the_tool_never_runs)
{
    open_asking();
    struct sent t = ask_for(NULL, "allow write {}");
    wait_open(1);
    const char *id = id_of(QUESTION_APPROVAL, &t, 1);
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", t.session), WEIR_OK);
    T_EQ(approve(id, "any-args"), WEIR_CONFLICT);
    wait_idle(t.session);
    T_EQ(approve(id, "any-args"), WEIR_CONFLICT);
    T_REPORTED(t, "");
    T_EQ(n_events(t.session, "error"), 1);
    T_EQ(n_events(t.session, "done"), 0);
    T_EQ(n_events(t.session, "approval.resolved"), 1);
    T_EQ(n_docs("session_scope"), 0);
    T_EQ(n_audited(), 1);
    desk_stop();
}

TEST(arguments_that_nobody_can_be_shown_are_denied)
{
    static char large[80 << 10];
    open_asking();
    memset(large, 'x', 70 << 10);
    struct sent t = ask_for(NULL, desk_format("allow write {\\\"a\\\":\\\"%s\\\"}", large));
    wait_idle(t.session);
    T_REPORTED(t, "denied: its arguments are too large to ask anybody");
    T_EQ(n_events(t.session, "tool.approval_required"), 0);
    T_EQ(n_events(t.session, "approval.resolved"), 0);
    T_OK(says(audit(), "\"decision\":\"deny\",\"decidedBy\":\"limit\",\"decider\":\"limit\""));
    desk_stop();
}

TEST(what_was_allowed_is_what_was_shown)
{
    open_asking();
    struct sent t = ask_for(NULL, "allow write {\\\"a\\\":1}");
    wait_open(1);
    atomic_store(&other_args, "{\"a\":2}");
    T_EQ(approve(id_of(QUESTION_APPROVAL, &t, 1), "once"), WEIR_OK);
    wait_idle(t.session);
    atomic_store(&other_args, NULL);
    T_REPORTED(t, "denied: it is not the call that the user was asked about");
    desk_stop();
}

TEST(a_wake_that_means_nothing_asks_nobody_again)
{
    open_asking();
    struct sent t = ask_for(NULL, "allow write {}");
    for (int i = 0; i < 2000 && n_docs("session_pending") == 0; i++)
        turn_wake(desk.sessions, weir_slice_of(t.turn));
    wait_open(1);
    for (int i = 0; i < 100; i++) turn_wake(desk.sessions, weir_slice_of(t.turn));
    T_EQ(approve(id_of(QUESTION_APPROVAL, &t, 1), "once"), WEIR_OK);
    wait_idle(t.session);
    T_REPORTED(t, "ran {}");
    T_EQ(n_events(t.session, "tool.approval_required"), 1);
    desk_stop();
}

/* ---- scopes ---- */

TEST(what_was_allowed_for_these_arguments_is_not_asked_again)
{
    open_asking();
    struct sent t = ask_for(NULL, "allow write {\\\"a\\\":1,\\\"b\\\":{\\\"c\\\":2,\\\"d\\\":3}}");
    wait_open(1);
    T_EQ(approve(id_of(QUESTION_APPROVAL, &t, 1), "exact-args"), WEIR_OK);
    wait_idle(t.session);
    /* In another order it runs at once. */
    t = ask_for(t.session, "allow write {\\\"b\\\":{\\\"d\\\":3,\\\"c\\\":2},\\\"a\\\":1}");
    wait_idle(t.session);
    T_REPORTED(t, "ran {\"b\":{\"d\":3,\"c\":2},\"a\":1}");
    T_EQ(n_events(t.session, "tool.approval_required"), 1);
    T_EQ(n_events(t.session, "approval.resolved"), 1);
    T_OK(says(audit(), "\"decision\":\"allow\",\"decidedBy\":\"scope:exact-args\",\"decider\":"
                       "\"scope\",\"scope\":\"exact-args\",\"textBytes\":0,\"waitedMs\":0}"));
    /* Others are asked for; and those of another tool. */
    (void)ask_for(t.session, "allow write {\\\"a\\\":1}");
    wait_open(1);
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", t.session), WEIR_OK);
    wait_idle(t.session);
    (void)ask_for(t.session, "allow erase {\\\"a\\\":1,\\\"b\\\":{\\\"c\\\":2,\\\"d\\\":3}}");
    wait_open(1);
    /* In another session, too. */
    (void)ask_for(NULL, "allow write {\\\"a\\\":1,\\\"b\\\":{\\\"c\\\":2,\\\"d\\\":3}}");
    wait_open(2);
    desk_stop();
}

TEST(what_was_allowed_for_any_arguments_is_asked_in_no_later_turn)
{
    open_asking();
    struct sent t = ask_for(NULL, "allow write {\\\"a\\\":1} | allow write {\\\"a\\\":2} | "
                                  "allow erase {}");
    wait_open(1);
    T_EQ(approve(id_of(QUESTION_APPROVAL, &t, 1), "any-args"), WEIR_OK);
    WAIT_FOR(says(doc_text("session_pending", id_of(QUESTION_APPROVAL, &t, 3)), "erase"));
    T_EQ(approve(id_of(QUESTION_APPROVAL, &t, 3), "once"), WEIR_OK);
    wait_idle(t.session);
    T_REPORTED(t, "ran {\"a\":1}; ran {\"a\":2}; ran {}");
    desk_stop();
    desk_start();
    t = ask_for(t.session, "allow write {\\\"a\\\":3}");
    wait_idle(t.session);
    T_REPORTED(t, "ran {\"a\":3}");
    T_EQ(n_audited(), 4);
    T_EQ(n_events(t.session, "tool.approval_required"), 2);
    desk_stop();
}

/* ---- clarifications ---- */

TEST(a_question_waits_for_its_answer)
{
    open_asking();
    struct sent t = ask_for(NULL, "clarify yes | clarify | clarify");
    wait_open(1);
    T_OK(says(look(t.session),
              desk_format("data: {\"type\":\"clarify.request\",\"requestId\":\"%s\",\"question\":"
                          "\"Which?\",\"default\":\"yes\",\"defaultDeadlineAt\":"
                          "\"2023-11-14T22:18:20.000Z\"}\n",
                          id_of(QUESTION_CLARIFY, &t, 1))));
    T_EQ(respond(id_of(QUESTION_CLARIFY, &t, 1), "the second"), WEIR_OK);
    WAIT_FOR(doc_text("session_pending", id_of(QUESTION_CLARIFY, &t, 2))[0]);
    T_EQ(respond(id_of(QUESTION_CLARIFY, &t, 2), "the third"), WEIR_OK);
    WAIT_FOR(doc_text("session_pending", id_of(QUESTION_CLARIFY, &t, 3))[0]);
    T_EQ(CALL("clarify/respond", "{\"requestId\":\"%s\",\"answer\":\"\",\"source\":\"cancel\"}",
              id_of(QUESTION_CLARIFY, &t, 3)),
         WEIR_OK);
    wait_idle(t.session);
    T_REPORTED(t, "user the second; user the third; cancel");
    desk_stop();
}

TEST(without_an_answer_the_default_counts)
{
    open_asking();
    struct sent t = ask_for(NULL, "clarify yes | clarify");
    wait_open(1);
    advance(CLARIFY_MS);
    WAIT_FOR(doc_text("session_pending", id_of(QUESTION_CLARIFY, &t, 2))[0]);
    T_OK(says(look(t.session), "\"source\":\"timeout-default\"}"));
    advance(CLARIFY_MS);
    wait_idle(t.session);
    T_REPORTED(t, "default yes; no-default");
    T_OK(says(look(t.session), "\"source\":\"timeout-no-default\"}"));
    T_EQ(respond(id_of(QUESTION_CLARIFY, &t, 2), "x"), WEIR_CONFLICT);
    T_EQ(n_audited(), 2);
    struct sessions_stats stats;
    sessions_stats(desk.sessions, &stats);
    T_EQ(stats.n_clarifications, 2);
    T_EQ(stats.n_clarifications_expired, 2);
    desk_stop();
}

TEST(what_cannot_be_asked_is_not)
{
    open_asking();
    char large[20 << 10];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    struct sent t = ask_for(NULL, desk_format("clarify %s", large));
    wait_idle(t.session);
    T_EQ(n_events(t.session, "clarify.request"), 0);
    T_EQ(n_docs("session_pending"), 0);
    desk_stop();
}

/* ---- restarts ---- */

TEST(a_restart_asks_nothing_again_and_the_answer_may_come_before_or_after)
{
    open_asking();
    struct sent a = ask_for(NULL, "allow write {}"), b = ask_for(NULL, "clarify");
    wait_open(2);
    desk_stop();
    desk_start();
    T_EQ(respond(id_of(QUESTION_CLARIFY, &b, 1), "yes"), WEIR_OK);
    wait_idle(b.session);
    T_REPORTED(b, "user yes");
    T_EQ(n_events(b.session, "clarify.request"), 1);
    T_EQ(n_docs("session_pending"), 1);
    desk_stop();
    desk_start();
    T_EQ(approve(id_of(QUESTION_APPROVAL, &a, 1), "once"), WEIR_OK);
    wait_idle(a.session);
    T_REPORTED(a, "ran {}");
    T_EQ(n_events(a.session, "tool.approval_required"), 1);
    T_EQ(n_events(a.session, "done"), 1);
    desk_stop();
}

/* Those who stop have an hour, and it does not take that. */
TEST(whoever_stops_does_not_wait_for_people)
{
    enum { HOUR_MS = 3600 * 1000 };
    open_asking();
    struct sent a = ask_for(NULL, "allow write {}"), b = ask_for(NULL, "clarify");
    wait_open(2);
    unsigned grace_ms = desk_grace_ms;
    desk_grace_ms = HOUR_MS;
    desk_stop();
    desk_grace_ms = grace_ms;
    desk_start();
    T_EQ(approve(id_of(QUESTION_APPROVAL, &a, 1), "once"), WEIR_OK);
    T_EQ(respond(id_of(QUESTION_CLARIFY, &b, 1), "yes"), WEIR_OK);
    wait_idle(a.session);
    wait_idle(b.session);
    T_REPORTED(a, "ran {}");
    T_REPORTED(b, "user yes");
    desk_stop();
}

TEST(a_deadline_is_kept_over_a_restart_and_may_pass_meanwhile)
{
    open_asking();
    struct sent t = ask_for(NULL, "allow write {} | clarify yes");
    wait_open(1);
    advance(APPROVAL_MS / 2);
    desk_stop();
    desk_start();
    /* Half of its time is over. */
    advance(APPROVAL_MS / 2 - 1);
    T_EQ(n_docs("session_pending"), 1);
    advance(1);
    WAIT_FOR(doc_text("session_pending", id_of(QUESTION_CLARIFY, &t, 2))[0]);
    desk_stop();
    fake_clock_advance(&desk.clock, (uint64_t)CLARIFY_MS * 2 * 1000000);
    desk_start();
    wait_idle(t.session);
    T_REPORTED(t, "denied: nobody allowed it in time; default yes");
    T_EQ(n_events(t.session, "approval.resolved"), 1);
    T_EQ(n_events(t.session, "clarify.resolved"), 1);
    T_EQ(n_audited(), 2);
    desk_stop();
}

TEST(an_abort_before_a_restart_is_one_after_it)
{
    open_asking();
    struct sent t = ask_for(NULL, "clarify");
    wait_open(1);
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", t.session), WEIR_OK);
    desk_stop();
    desk_start();
    wait_idle(t.session);
    T_REPORTED(t, "");
    T_EQ(n_docs("session_pending"), 0);
    T_EQ(n_events(t.session, "clarify.resolved"), 1);
    T_EQ(n_events(t.session, "error"), 1);
    desk_stop();
}

TEST(what_a_tool_said_to_an_aborted_turn_is_told_as_far_as_it_goes)
{
    open_asking();
    atomic_store(&has_output, true);
    struct sent t = ask_for(NULL, "hold");
    WAIT_FOR(n_events(t.session, "tool_start") == 1);
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", t.session), WEIR_OK);
    wait_idle(t.session);
    atomic_store(&has_output, false);
    T_EQ(n_events(t.session, "tool_end"), 1);
    T_EQ(n_events(t.session, "error"), 1);
    T_EQ(count(event_text, "\\u0001"), TOOL_TEXT_BYTES);
    T_OK(says(event_text, desk_format("\\n… (cut; %d bytes in all)\"}", OUTPUT_BYTES)));
    T_OK(says(event_text, "\"toolName\":\"x\",\"ok\":true,"));
    T_OK(says(doc_text("session_message", desk_format("%s/%s/99", t.session, t.turn)),
              "\"ok\":true}],\"incomplete\":true"));
    desk_stop();
}

/* ---- at once ---- */

static void pass_time(unsigned below_us)
{
    struct timespec at = {.tv_nsec = (long)(t_random() % below_us) * 1000};
    nanosleep(&at, NULL);
}

TEST(an_abort_at_any_moment_leaves_no_question_open)
{
    enum { ROUNDS = 150 };
    open_asking();
    struct sent t = send_text(NULL, "hello");
    wait_idle(t.session);
    for (int i = 0; i < ROUNDS; i++) {
        memset(reports.of, 0, sizeof reports.of);
        t = ask_for(t.session, i % 2 == 0 ? "allow write {}" : "clarify");
        if (t_random() % 3 == 0) pass_time(800);
        T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", t.session), WEIR_OK);
        wait_idle(t.session);
        T_REPORTED(t, "");
    }
    wait_open(0);
    T_EQ(n_events(t.session, "approval.resolved"), n_events(t.session, "tool.approval_required"));
    T_EQ(n_events(t.session, "clarify.resolved"), n_events(t.session, "clarify.request"));
    T_EQ(n_events(t.session, "error") + n_events(t.session, "done"), ROUNDS + 1);
    T_EQ(n_audited(), n_docs("approval") + n_docs("clarify"));
    desk_stop();
}

struct other {
    pthread_t thread;
    const char *session;
    bool expires;
};

static void *abort_or_expire(void *user)
{
    const struct other *o = user;
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    if (o->expires) advance(APPROVAL_MS);
    else
        T_EQ(call_into("ann", "chat/abort", desk_format("{\"sessionId\":\"%s\"}", o->session), &out,
                       NULL),
             WEIR_OK);
    weir_buf_fini(&out);
    return NULL;
}

TEST(what_was_answered_counts_or_was_too_late_and_nothing_in_between)
{
    enum { ROUNDS = 60 };
    unsigned n_allowed = 0;
    open_asking();
    struct sent t = send_text(NULL, "hello");
    wait_idle(t.session);
    for (int i = 0; i < ROUNDS; i++) {
        struct other o = {.session = t.session, .expires = i % 2 == 0};
        memset(reports.of, 0, sizeof reports.of);
        t = ask_for(t.session, "allow write {}");
        wait_open(1);
        T_EQ(pthread_create(&o.thread, NULL, abort_or_expire, &o), 0);
        pass_time(500);
        enum weir_status st = approve(id_of(QUESTION_APPROVAL, &t, 1), "once");
        T_OK(st == WEIR_OK || st == WEIR_CONFLICT);
        pthread_join(o.thread, NULL);
        wait_idle(t.session);
        if (st == WEIR_OK) n_allowed++;
        /* Allowed, it may have been aborted before it ran; refused, it never ran. */
        bool has_run = says(reported(&t), "ran");
        T_OK(st == WEIR_OK ? has_run || !o.expires : !has_run);
        T_EQ(says(doc_text("approval", id_of(QUESTION_APPROVAL, &t, 1)), "\"allow\""),
             st == WEIR_OK);
    }
    T_EQ(n_docs("session_pending"), 0);
    T_EQ(n_events(t.session, "approval.resolved"), ROUNDS);
    T_EQ(count(look(t.session), "\"decision\":\"allow\""), n_allowed);
    T_EQ(n_audited(), ROUNDS);
    desk_stop();
}

/* ---- crashes ---- */

enum { CRASH_SESSIONS = 4 };

static enum weir_status answer_open(void *user, const struct doc *doc)
{
    (void)user;
    static _Thread_local char id[QUESTION_ID_BYTES];
    snprintf(id, sizeof id, "%.*s", (int)doc->id.len, doc->id.ptr);
    enum weir_status st = id[0] == 'a' ? approve(id, "once") : respond(id, "this one");
    T_OK(st == WEIR_OK || st == WEIR_CONFLICT);
    return WEIR_OK;
}

static void answer_all(void)
{
    const struct doc_query query = {.kind = SLICE("session_pending"), .limit = SIZE_MAX};
    T_EQ(store_doc_list(desk.store, &query, answer_open, NULL), WEIR_OK);
}

/* Until it is killed. */
static void live_and_answer(void)
{
    desk_start();
    for (int i = 0; i < CRASH_SESSIONS; i++)
        (void)ask_for(NULL, "allow write {} | clarify | allow erase {\\\"a\\\":1}");
    for (;;) answer_all();
}

static enum weir_status check_crashed(void *user, const struct doc *doc)
{
    (void)user;
    char id[SESSION_LEN + 1];
    snprintf(id, sizeof id, "%.*s", (int)doc->id.len, doc->id.ptr);
    T_EQ(n_events(id, "tool.approval_required"), 2);
    T_EQ(n_events(id, "approval.resolved"), 2);
    T_EQ(n_events(id, "clarify.request"), 1);
    T_EQ(n_events(id, "clarify.resolved"), 1);
    T_EQ(n_events(id, "done"), 1);
    T_EQ(n_events(id, "error"), 0);
    return WEIR_OK;
}

static void crash_and_go_on(unsigned round)
{
    int status;
    memset(reports.of, 0, sizeof reports.of);
    fake_clock_init(&desk.clock, 1700000000000);
    snprintf(desk.folder, sizeof desk.folder, "%s/%u", t_temp_dir(), round);
    pid_t child = fork();
    if (child == 0) live_and_answer();
    pass_time(60000);
    T_EQ(kill(child, SIGKILL), 0);
    T_EQ(waitpid(child, &status, 0), child);
    desk_start();
    while (n_docs("session_busy") > 0) answer_all();
    const struct doc_query all = {.kind = SLICE("session"), .limit = SIZE_MAX};
    T_EQ(store_doc_list(desk.store, &all, check_crashed, NULL), WEIR_OK);
    T_EQ(n_docs("session_pending"), 0);
    T_EQ(n_audited(), 3 * n_docs("session"));
    desk_stop();
}

TEST(a_kill_at_any_moment_asks_and_decides_nothing_twice)
{
    desk.options = (struct sessions_options){.approval_ms = APPROVAL_MS, .clarify_ms = CLARIFY_MS};
    desk_tune = NULL;
    for (unsigned round = 0; round < 12; round++) crash_and_go_on(round);
}

/* ---- without memory ---- */

enum { ENDED_WELL = 0, ENDED_BADLY = 1, WRONG = 2 };

static int judge(const char *session)
{
    unsigned n_ends = n_events(session, "done") + n_events(session, "error");
    bool is_good =
        n_ends == 1 && n_docs("session_pending") == 0 &&
        n_events(session, "tool.approval_required") <= 1 &&
        n_events(session, "tool.approval_required") == n_events(session, "approval.resolved") &&
        n_events(session, "clarify.request") <= 1 &&
        n_events(session, "clarify.request") == n_events(session, "clarify.resolved") &&
        n_audited() == n_docs("approval") + n_docs("clarify");
    if (!is_good) return WRONG;
    return n_events(session, "done") == 1 ? ENDED_WELL : ENDED_BADLY;
}

/* Answers as soon as something is asked; leaps of time only while everybody pauses. */
static bool answer_and_go_on(void)
{
    struct sessions_stats stats;
    sessions_stats(desk.sessions, &stats);
    bool is_busy = stats.runs.n_running + stats.runs.n_waiting > 0;
    answer_all();
    fake_clock_advance(&desk.clock, is_busy ? 100000 : 2000000000ull);
    sessions_wake(desk.sessions);
    return is_busy;
}

/* For somebody who is asked, and nothing else is under way. */
static bool waits(void)
{
    struct sessions_stats stats;
    sessions_stats(desk.sessions, &stats);
    return stats.runs.n_waiting > 0;
}

static void live_without(unsigned nth, bool *was_reached)
{
    enum { LAST_MS = 2000, STARTS = 50 };
    open_asking();
    atomic_store(&failing, nth);
    struct sent t = ask_for(NULL, "allow write {} | clarify");
    atomic_store(&is_sent, true);
    for (unsigned n_ms = 0; fault_count(FAULT_ALLOC) < nth && n_ms < LAST_MS; wait_1_ms())
        n_ms += waits(); /* its question is on its way into the store */
    *was_reached = fault_count(FAULT_ALLOC) >= nth;
    atomic_store(&failing, 0);
    fault_disarm_all();
    unsigned n_pauses = 0, n_starts = 0;
    while (!is_idle(t.session) && n_starts < STARTS && store_is_writable(desk.store) == WEIR_OK) {
        n_pauses = answer_and_go_on() ? 0 : n_pauses + 1;
        if (n_pauses > 0) wait_1_ms(); /* others are to get somewhere meanwhile */
        if (n_pauses < 1000) continue;
        /* What there was no memory for may wait for the next start. */
        desk_stop();
        desk_start();
        n_pauses = 0;
        n_starts++;
    }
    int verdict = is_idle(t.session) ? judge(t.session) : ENDED_BADLY;
    if (n_starts == STARTS) verdict = WRONG;
    if (verdict == WRONG) dprintf(STDOUT_FILENO, "allocation %u:\n%s\n", nth, look(t.session));
    _exit(verdict);
}

/* In a process of its own, which the store may end. */
static bool fail_nth(unsigned nth, bool *was_reached, unsigned *n_well)
{
    int status = 0;
    *was_reached = false;
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        live_without(nth, was_reached);
    }
    T_EQ(waitpid(child, &status, 0), child);
    bool was_aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    T_OK(was_aborted || (WIFEXITED(status) && WEXITSTATUS(status) != WRONG));
    if (WIFEXITED(status) && WEXITSTATUS(status) == ENDED_WELL) ++*n_well;
    return was_aborted || *was_reached;
}

/* Some of them, others in each run. */
TEST(an_allocation_that_fails_leaves_no_question_open)
{
    unsigned n = 1 + (unsigned)(t_random() % 3), n_tried = 0, n_well = 0;
    bool *was_reached =
        mmap(NULL, sizeof *was_reached, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (; n < 2000 && fail_nth(n, was_reached, &n_well); n += 3) n_tried++;
    T_OK(n_tried > 5 && n < 2000);
    T_OK(n_well > n_tried / 3);
    munmap(was_reached, sizeof *was_reached);
}
