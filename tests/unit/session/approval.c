/* SPDX-License-Identifier: Apache-2.0 */
/* Approvals are answered once, in time, by whom they were asked; and all of it is written down. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask.h"
#include "base/fault.h"

static const char args_hash[] = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

static const char *ask(const struct sent *t, unsigned n)
{
    return ask_by_hand(QUESTION_APPROVAL, t, n,
                       desk_format("\"call\":\"tc_%u\",\"tool\":\"notes_write\",\"hash\":\"%s\","
                                   "\"args\":{},\"reason\":null",
                                   n, args_hash));
}

#define APPROVE(id, scope)                                                                         \
    CALL("tools/approve", "{\"approvalId\":\"%s\",\"clientId\":\"tab-1\",\"scope\":\"%s\"}", id,   \
         scope)
#define DENY(id) CALL("tools/deny", "{\"approvalId\":\"%s\",\"clientId\":\"tab-2\"}", id)

/* ---- answers ---- */

TEST(the_first_answer_counts_and_the_second_hears_whose_it_was)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    const char *id = ask(&t, 1);
    T_EQ(APPROVE(id, "once"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "{\"ok\":true}");
    T_EQ(DENY(id), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "it was allowed by tab-1 already");
    T_EQ(APPROVE(id, "once"), WEIR_CONFLICT);
    T_EQ(n_docs("session_pending"), 0);
    T_EQ(n_docs("session_scope"), 0);
    T_OK(says(doc_text("approval", id), "\"decision\":\"allow\",\"decider\":\"user\","
                                        "\"decidedBy\":\"tab-1\",\"scope\":\"once\""));
    T_EQ(n_events(t.session, "approval.resolved"), 1);
    T_OK(says(look(t.session), desk_format("{\"type\":\"approval.resolved\",\"approvalId\":\"%s\","
                                           "\"decision\":\"allow\",\"decidedBy\":\"tab-1\"}",
                                           id)));
    T_EQ(n_audited(), 1);
    play_stop();
}

TEST(a_denial_has_a_reason_which_the_audit_does_not_say)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    const char *id = ask(&t, 1);
    advance(1500);
    T_EQ(CALL("tools/deny",
              "{\"approvalId\":\"%s\",\"clientId\":\"tab-2\",\"reason\":\"my secret\"}", id),
         WEIR_OK);
    T_EQ(APPROVE(id, "any-args"), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "it was denied by tab-2 already");
    T_EQ(n_docs("session_scope"), 0);
    T_OK(says(doc_text("approval", id), "\"text\":\"my secret\""));
    T_OK(!says(look(t.session), "secret"));
    T_OK(says(audit(),
              desk_format("data: {\"at\":\"2023-11-14T22:13:21.500Z\",\"user\":\"ann\",\"session\":"
                          "\"%s\",\"turn\":\"%s\",\"question\":\"%s\",\"kind\":\"approval\","
                          "\"tool\":\"notes_write\",\"argsHash\":\"%s\",\"decision\":\"deny\","
                          "\"decidedBy\":\"tab-2\",\"decider\":\"user\",\"scope\":null,"
                          "\"textBytes\":9,\"waitedMs\":1500}\n",
                          t.session, t.turn, id, args_hash)));
    play_stop();
}

TEST(what_is_unknown_somebody_elses_or_no_id_is_all_the_same)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    char id[QUESTION_ID_BYTES], open[QUESTION_ID_BYTES];
    snprintf(id, sizeof id, "%s", ask(&t, 1));
    snprintf(open, sizeof open, "%s", ask(&t, 2));
    T_EQ(APPROVE(id, "once"), WEIR_OK);
    const char *unknown[] = {"",
                             "ap_",
                             "x",
                             "ap_01ARZ3NDEKTSV4RRFFQ69G5FAV_1",
                             "ap_01ARZ3NDEKTSV4RRFFQ69G5FAV_01",
                             "ap_01ARZ3NDEKTSV4RRFFQ69G5FAV_",
                             "ap_01ARZ3NDEKTSV4RRFFQ69G5FAV_4294967297",
                             "ap_01arz3ndektsv4rrffq69g5fav_1",
                             "clr_01ARZ3NDEKTSV4RRFFQ69G5FAV_1",
                             "../../etc/passwd",
                             "ap_%s%s%n"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        T_EQ(APPROVE(unknown[i], "once"), WEIR_NOT_FOUND);
        T_EQ_STR(weir_slice_of(call_why), "");
        T_EQ(DENY(unknown[i]), WEIR_NOT_FOUND);
    }
    const char *theirs[] = {id, open};
    for (size_t i = 0; i < 2; i++) {
        T_EQ(call_as("bob", "tools/approve",
                     desk_format("{\"approvalId\":\"%s\",\"clientId\":\"t\",\"scope\":\"once\"}",
                                 theirs[i])),
             WEIR_NOT_FOUND);
        T_EQ_STR(weir_slice_of(call_why), "");
    }
    T_EQ(n_docs("session_pending"), 1);
    T_EQ(n_audited(), 1);
    play_stop();
}

TEST(an_input_that_is_wrong_is_refused_by_its_member)
{
    static const struct {
        const char *method, *input, *why;
    } cases[] = {
        {"tools/approve", "{}", "scope is missing"},
        {"tools/approve", "{\"scope\":\"once\"}", "clientId is missing"},
        {"tools/approve", "{\"scope\":\"once\",\"clientId\":\"a\"}", "approvalId is missing"},
        {"tools/approve", "{\"scope\":\"always\",\"clientId\":\"a\",\"approvalId\":\"b\"}",
         "scope must be once, exact-args or any-args"},
        {"tools/approve", "{\"scope\":\"once\",\"clientId\":\"\",\"approvalId\":\"b\"}",
         "clientId is empty"},
        {"tools/approve", "{\"scope\":\"once\",\"clientId\":\"a\",\"approvalId\":7}",
         "approvalId must be a string"},
        {"tools/approve", "{\"scope\":\"once\",\"clientId\":\"a\",\"approvalId\":\"b\",\"x\":1}",
         "tools/approve has no member \"x\""},
        {"tools/deny", "{\"scope\":\"once\",\"clientId\":\"a\",\"approvalId\":\"b\"}",
         "tools/deny has no member \"scope\""},
        {"tools/deny", "{\"clientId\":\"a\",\"approvalId\":\"b\",\"reason\":[]}",
         "reason must be a string"},
        {"tools/catalog", "{\"x\":1}", "tools/catalog has no member \"x\""},
    };
    play_open(true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        T_EQ(call_as("ann", cases[i].method, cases[i].input), WEIR_BAD_FIELD);
        T_EQ_STR(weir_slice_of(call_why), cases[i].why);
    }
    T_EQ(CALL("tools/catalog", "{}"), WEIR_OK);
    play_stop();
}

struct rival {
    pthread_t thread;
    const char *id;
    bool denies;
    enum weir_status status;
};

static void *answer_at_once(void *user)
{
    struct rival *r = user;
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    r->status =
        call_into("ann", r->denies ? "tools/deny" : "tools/approve",
                  desk_format(r->denies ? "{\"approvalId\":\"%s\",\"clientId\":\"t\"}"
                                        : "{\"approvalId\":\"%s\",\"clientId\":\"t\",\"scope\":"
                                          "\"any-args\"}",
                              r->id),
                  &out, NULL);
    weir_buf_fini(&out);
    return NULL;
}

TEST(what_is_open_is_listed_with_its_deadline)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    (void)ask_by_hand(QUESTION_CLARIFY, &t, 3, "\"question\":\"Why?\"");
    const char *id = ask_by_hand(QUESTION_APPROVAL, &t, 1,
                                 "\"call\":\"tc_1\",\"tool\":\"remember\",\"hash\":\"h\","
                                 "\"args\":{\"text\":\"tea\"},\"reason\":\"It stays.\"");
    T_EQ(CALL("tools/listPending", "{}"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out),
             desk_format("[{\"approvalId\":\"%s\",\"sessionId\":\"%s\",\"toolCallId\":\"tc_1\","
                         "\"toolName\":\"remember\",\"args\":{\"text\":\"tea\"},\"reason\":"
                         "\"It stays.\",\"deadlineAt\":\"2023-11-14T22:14:20.000Z\"}]",
                         id, t.session));
    T_EQ(CALL("tools/listPending", "{\"sessionId\":\"%s\"}", t.session), WEIR_OK);
    T_OK(says(call_text_out, id));
    T_EQ(CALL("tools/listPending", "{\"sessionId\":\"ses_nobody\"}"), WEIR_NOT_FOUND);
    T_EQ(call_as("bob", "tools/listPending", "{}"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "[]");
    T_EQ(APPROVE(id, "once"), WEIR_OK);
    T_EQ(CALL("tools/listPending", "{}"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "[]");
    play_stop();
}

/* At once, for it takes as many commits otherwise. */
static void ask_many(const struct sent *t, unsigned n)
{
    char id[QUESTION_ID_BYTES];
    struct commit *c = commit_new(0);
    const char *body = desk_format("{\"session\":\"%s\",\"turn\":\"%s\",\"askedMs\":1,"
                                   "\"deadlineMs\":2,\"call\":\"tc_1\",\"tool\":\"remember\","
                                   "\"hash\":\"h\",\"args\":{},\"reason\":null}",
                                   t->session, t->turn);
    for (unsigned i = 1; i <= n; i++)
        commit_put(c,
                   question_open_key(question_id(id, QUESTION_APPROVAL, weir_slice_of(t->turn), i)),
                   DOC_MUST_BE_NEW, SLICE("ann"), weir_slice_of(body));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
}

TEST(a_list_has_a_thousand_of_those_that_are_asked_for)
{
    play_open(true);
    struct sent first = send_text(NULL, "hello"), second = send_text(NULL, "hello");
    ask_many(&first, 1001);
    const char *id = ask(&second, 1);
    T_EQ(CALL("tools/listPending", "{}"), WEIR_OK);
    T_EQ(count(call_text_out, "\"approvalId\""), 1000);
    T_EQ(CALL("tools/listPending", "{\"sessionId\":\"%s\"}", second.session), WEIR_OK);
    T_EQ(count(call_text_out, "\"approvalId\""), 1);
    T_OK(says(call_text_out, id));
    (void)ask_by_hand(QUESTION_CLARIFY, &second, 2, "\"question\":\"Why?\"");
    T_EQ(CALL("clarify/listPending", "{\"sessionId\":null}"), WEIR_OK);
    T_EQ(count(call_text_out, "\"requestId\""), 1);
    play_stop();
}

TEST(of_many_answers_at_once_one_wins)
{
    enum { ROUNDS = 20, RIVALS = 6 };
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    for (unsigned round = 1; round <= ROUNDS; round++) {
        struct rival rivals[RIVALS];
        unsigned n_won = 0;
        const char *id = ask(&t, round);
        for (int i = 0; i < RIVALS; i++) {
            rivals[i] = (struct rival){.id = id, .denies = i % 2 == 0};
            T_EQ(pthread_create(&rivals[i].thread, NULL, answer_at_once, &rivals[i]), 0);
        }
        for (int i = 0; i < RIVALS; i++) {
            pthread_join(rivals[i].thread, NULL);
            T_OK(rivals[i].status == WEIR_OK || rivals[i].status == WEIR_CONFLICT);
            if (rivals[i].status == WEIR_OK) n_won++;
        }
        T_EQ(n_won, 1);
    }
    T_EQ(n_events(t.session, "approval.resolved"), ROUNDS);
    T_EQ(n_audited(), ROUNDS);
    play_stop();
}

/* ---- too late ---- */

TEST(the_deadline_counts_before_the_timer_comes)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    const char *id = ask(&t, 1);
    fake_clock_advance(&desk.clock, (uint64_t)ASK_MS * 1000000 - 1000000);
    T_EQ(APPROVE("ap_01ARZ3NDEKTSV4RRFFQ69G5FAV_1", "once"), WEIR_NOT_FOUND);
    fake_clock_advance(&desk.clock, 1000000);
    T_EQ(APPROVE(id, "any-args"), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "nobody answered in time");
    T_EQ(n_docs("session_scope"), 0);
    T_EQ(n_docs("approval"), 0);
    play_stop();
}

TEST(an_abort_denies_what_is_open_and_what_comes_later_is_too_late)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    char first[QUESTION_ID_BYTES], second[QUESTION_ID_BYTES];
    snprintf(first, sizeof first, "%s", ask(&t, 1));
    snprintf(second, sizeof second, "%s", ask(&t, 12));
    T_EQ(APPROVE(first, "once"), WEIR_OK);
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", t.session), WEIR_OK);
    T_EQ(APPROVE(second, "any-args"), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "its turn was aborted before anybody answered");
    T_EQ(n_docs("session_pending"), 0);
    T_EQ(n_docs("session_scope"), 0);
    T_OK(says(look(t.session), desk_format("\"approvalId\":\"%s\",\"decision\":\"deny\","
                                           "\"decidedBy\":\"abort\"}",
                                           second)));
    T_OK(says(audit(), "\"decidedBy\":\"abort\",\"decider\":\"abort\""));
    wait_idle(t.session);
    T_EQ(APPROVE(second, "once"), WEIR_CONFLICT);
    T_EQ(n_events(t.session, "approval.resolved"), 2);
    T_EQ(n_audited(), 2);
    play_stop();
}

TEST(what_nobody_closed_is_of_no_use_when_the_turn_is_over)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    WAIT_FOR(play_n_held() == 1);
    T_OK(play_let_go(NULL));
    wait_idle(t.session);
    const char *id = ask(&t, 1);
    T_EQ(APPROVE(id, "once"), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "its turn has ended, or is about to");
    questions_close_left(desk.sessions, weir_slice_of(t.turn));
    WAIT_FOR(n_docs("session_pending") == 0);
    T_EQ(APPROVE(id, "once"), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "its turn has ended before anybody answered");
    T_OK(says(audit(), "\"decidedBy\":\"system\",\"decider\":\"end\""));
    /* Of one that was aborted that is said. */
    t = send_text(t.session, "hello again");
    WAIT_FOR(play_n_held() == 1);
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", t.session), WEIR_OK);
    wait_idle(t.session);
    id = ask(&t, 1);
    questions_close_left(desk.sessions, weir_slice_of(t.turn));
    WAIT_FOR(n_docs("session_pending") == 0);
    T_EQ(APPROVE(id, "once"), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "its turn was aborted before anybody answered");
    T_OK(says(audit(), "\"decidedBy\":\"abort\",\"decider\":\"abort\""));
    play_stop();
}

/* A turn whose end and last question became durable together, and then the plug was pulled. */
TEST(what_a_turn_left_open_is_closed_at_the_next_start)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    WAIT_FOR(play_n_held() == 1);
    T_OK(play_let_go(NULL));
    wait_idle(t.session);
    const char *id = ask(&t, 1);
    T_EQ(n_docs("session_pending"), 1);
    play_stop();
    desk_start();
    WAIT_FOR(n_docs("session_pending") == 0);
    T_EQ(n_events(t.session, "approval.resolved"), 1);
    T_EQ(APPROVE(id, "once"), WEIR_CONFLICT);
    play_stop();
}

/* ---- without memory ---- */

enum { CLOSED = 0, OPEN = 1, WRONG = 2 };

/* All that is decided has happened, or nothing. */
static int judge(const struct sent *t, const char *id, enum weir_status st)
{
    bool is_open = doc_text("session_pending", id)[0];
    unsigned n = is_open ? 0 : 1;
    bool is_whole = n_docs("approval") == n && n_docs("session_scope") == n && n_audited() == n &&
                    n_events(t->session, "approval.resolved") == n;
    return !is_whole || (st == WEIR_OK && is_open) ? WRONG : is_open ? OPEN : CLOSED;
}

static void live(unsigned nth, bool *was_reached)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    const char *id = ask(&t, 1);
    WAIT_FOR(play_n_held() == 1);
    struct session_call *c = NULL;
    const struct weir_json *input;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const char *text =
        desk_format("{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"scope\":\"any-args\"}", id);
    T_EQ(weir_json_parse(doc, weir_slice_of(text), &input, NULL), WEIR_OK);
    T_EQ(session_call_new(&c, desk.sessions, session_method_find(SLICE("tools"), SLICE("approve")),
                          SLICE("ann"), input),
         WEIR_OK);
    fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
    enum weir_status st = session_call_run(c);
    *was_reached = fault_count(FAULT_ALLOC) >= nth;
    fault_disarm_all();
    session_call_free(c);
    weir_json_doc_free(doc);
    _exit(judge(&t, id, st));
}

/* In a process of its own, which the store may end; true while the nth allocation was reached. */
static bool fail_nth(unsigned nth, bool *was_reached, unsigned *n_open)
{
    int status = 0;
    *was_reached = false;
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        live(nth, was_reached);
    }
    T_EQ(waitpid(child, &status, 0), child);
    bool was_aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    T_OK(was_aborted || (WIFEXITED(status) && WEXITSTATUS(status) != WRONG));
    if (WIFEXITED(status) && WEXITSTATUS(status) == OPEN) ++*n_open;
    return was_aborted || *was_reached;
}

/* Some of them, others in each run. */
TEST(without_memory_an_answer_counts_as_a_whole_or_not_at_all)
{
    unsigned n = 1 + (unsigned)(t_random() % 3), n_open = 0;
    bool *was_reached =
        mmap(NULL, sizeof *was_reached, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (n < 200 && fail_nth(n, was_reached, &n_open)) n += 3;
    T_OK(n > 10 && n < 200);
    T_OK(n_open > 2);
    munmap(was_reached, sizeof *was_reached);
}

/* ---- scopes ---- */

static const char *hash_of(const char *json)
{
    static char hash[SCOPE_HASH_BYTES];
    struct arena arena;
    const struct weir_json *v;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    arena_init(&arena, 64 << 20);
    T_EQ(weir_json_parse(doc, weir_slice_of(json), &v, NULL), WEIR_OK);
    T_EQ(scope_hash(&arena, v, hash), WEIR_OK);
    arena_fini(&arena);
    weir_json_doc_free(doc);
    return hash;
}

static bool is_same(const char *a, const char *b)
{
    char first[SCOPE_HASH_BYTES];
    snprintf(first, sizeof first, "%s", hash_of(a));
    return strcmp(first, hash_of(b)) == 0;
}

TEST(arguments_are_the_same_in_any_order_and_with_any_escapes)
{
    T_EQ_STR(weir_slice_of(hash_of("{}")), args_hash);
    T_OK(is_same("{\"a\":1,\"b\":[{\"c\":2,\"d\":{\"e\":3,\"f\":4}}]}",
                 " { \"b\" : [ {\"d\":{\"f\":4,\"e\":3},\"c\":2} ] , \"a\" : 1 } "));
    T_OK(is_same("{\"a\":\"\\u00e9\"}", "{\"a\":\"é\"}"));
    T_OK(is_same("{\"\\u0061\":1,\"ab\":2,\"\":3}", "{\"\":3,\"ab\":2,\"a\":1}"));
    T_OK(!is_same("{\"a\":1}", "{\"a\":2}"));
    T_OK(!is_same("{\"a\":1}", "{\"a\":\"1\"}"));
    T_OK(!is_same("{\"a\":[1,2]}", "{\"a\":[2,1]}"));
    T_OK(!is_same("{\"a\":{\"b\":1}}", "{\"a\":[\"b\",1]}"));
    T_OK(!is_same("{\"a\":1}", "{\"a\":1,\"b\":null}"));
    T_OK(!is_same("{\"ab\":\"c\"}", "{\"a\":\"bc\"}"));
}

TEST(arguments_as_deep_as_json_may_be_have_a_hash)
{
    static char deep[4096];
    size_t len = 0;
    for (int i = 0; i < 500; i++) len += (size_t)snprintf(deep + len, 8, "{\"a\":");
    len += (size_t)snprintf(deep + len, 8, "1");
    for (int i = 0; i < 500; i++) deep[len++] = '}';
    deep[len] = '\0';
    T_OK(is_same(deep, deep));
}

static const char *covers(const char *session, const char *tool, const char *hash)
{
    const char *scope;
    T_EQ(scope_find(
             desk.store,
             &(struct scope_wish){weir_slice_of(session), weir_slice_of(tool), weir_slice_of(hash)},
             &scope),
         WEIR_OK);
    return scope ? scope : "none";
}

#define T_COVERS(session, tool, hash, want)                                                        \
    T_EQ_STR(weir_slice_of(covers(session, tool, hash)), want)

TEST(a_scope_covers_what_it_says_and_nothing_else)
{
    const char *other = "0000000000000000000000000000000000000000000000000000000000000000";
    play_open(true);
    struct sent a = send_text(NULL, "one"), b = send_text(NULL, "two");
    T_EQ(APPROVE(ask(&a, 1), "exact-args"), WEIR_OK);
    T_COVERS(a.session, "notes_write", args_hash, "exact-args");
    T_COVERS(a.session, "notes_write", other, "none");
    T_COVERS(a.session, "notes_writ", args_hash, "none");
    T_COVERS(b.session, "notes_write", args_hash, "none");
    T_EQ(APPROVE(ask(&a, 2), "any-args"), WEIR_OK);
    T_COVERS(a.session, "notes_write", other, "any-args");
    T_COVERS(a.session, "notes_write", args_hash, "any-args");
    T_COVERS(a.session, "notes_delete", args_hash, "none");
    T_COVERS(b.session, "notes_write", args_hash, "none");
    /* A name that could be mistaken for a place covers nothing. */
    T_COVERS(a.session, desk_format("notes_write/%s", args_hash), "", "none");
    play_stop();
}

TEST(a_fork_inherits_no_scope)
{
    char fork[SESSION_LEN + 1];
    play_open(true);
    struct sent t = send_text(NULL, "one");
    T_EQ(APPROVE(ask(&t, 1), "any-args"), WEIR_OK);
    WAIT_FOR(play_n_held() == 1);
    T_OK(play_let_go(NULL));
    wait_idle(t.session);
    T_EQ(CALL("sessions/fork", "{\"id\":\"%s\"}", t.session), WEIR_OK);
    said("id", fork, sizeof fork);
    T_OK(strcmp(fork, t.session) != 0);
    T_COVERS(t.session, "notes_write", args_hash, "any-args");
    T_COVERS(fork, "notes_write", args_hash, "none");
    play_stop();
}

TEST(with_a_session_its_questions_and_scopes_go_and_the_audit_stays)
{
    char open[QUESTION_ID_BYTES];
    play_open(true);
    struct sent t = send_text(NULL, "one");
    T_EQ(APPROVE(ask(&t, 1), "any-args"), WEIR_OK);
    snprintf(open, sizeof open, "%s", ask(&t, 2));
    T_EQ(CALL("sessions/delete", "{\"id\":\"%s\"}", t.session), WEIR_OK);
    T_OK(APPROVE(open, "once") != WEIR_OK);
    WAIT_FOR(n_docs("session") == 0);
    T_EQ(n_docs("session_pending") + n_docs("approval") + n_docs("session_scope"), 0);
    T_EQ(APPROVE(open, "once"), WEIR_NOT_FOUND);
    T_EQ(n_audited(), 2);
    T_OK(says(audit(), "\"decider\":\"abort\""));
    play_stop();
}

TEST(whatever_a_tab_calls_itself_stays_one_line_and_its_own_name)
{
    static const char *const names[] = {"a\\nevent: done\\ndata: {}\\n\\n", "\\\"},{\\\"x\\\":\\\"",
                                        "%s%n", "timeout", "=1+1"};
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const char *id = ask(&t, i + 1);
        T_EQ(CALL("tools/deny", "{\"approvalId\":\"%s\",\"clientId\":\"%s\"}", id, names[i]),
             WEIR_OK);
        T_OK(says(look(t.session), desk_format("\"decidedBy\":\"%s\"}\n\n", names[i])));
        T_EQ(DENY(id), WEIR_CONFLICT);
    }
    T_EQ(n_events(t.session, "done"), 0);
    T_EQ(count(audit(), "\"decider\":\"user\""), sizeof names / sizeof *names);
    T_EQ(count(look(t.session), "\n\n"), last_event(t.session));
    play_stop();
}
