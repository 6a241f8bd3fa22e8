/* SPDX-License-Identifier: Apache-2.0 */
/* One turn at a time, whoever sends, steers and aborts when. */
#include "play.h"

TEST(a_message_makes_a_session_and_runs)
{
    play_open(false);
    struct sent s = send_text(NULL, "hello");
    T_OK(session_is_id(weir_slice_of(s.session)));
    wait_idle(s.session);
    T_EQ(n_events(s.session, "run_start"), 1);
    T_EQ(n_events(s.session, "done"), 1);
    T_EQ(n_events(s.session, "mesh.changed"), 1);
    T_OK(says(event_text, "id: 1\ndata: {\"type\":\"mesh.changed\""));
    const char *doc = doc_text("session", s.session);
    T_OK(says(doc, "\"turns\":1,"));
    T_OK(says(doc, "\"input\":10,\"output\":5"));
    T_OK(says(doc, "\"provider\":\"play\",\"model\":\"play-1\""));
    T_EQ(n_docs("session_busy"), 0);
    play_stop();
}

TEST(messages_wait_in_order_and_the_33rd_is_refused)
{
    play_open(true);
    struct sent s = send_text(NULL, "m00");
    WAIT_FOR(play_n_held() == 1);
    for (int i = 1; i <= SESSION_QUEUE; i++) send_text(s.session, desk_format("m%02d", i));
    T_EQ(CALL("chat/send", "{\"sessionId\":\"%s\",\"clientId\":\"t\",\"text\":\"x\"}", s.session),
         WEIR_CONCURRENCY);
    T_OK(says(call_why, "32 messages"));
    T_EQ(atomic_load(&play.n_begun), 1);
    play_set(false);
    T_OK(play_let_go(NULL));
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), SESSION_QUEUE + 1);
    const char *at = look(s.session);
    for (int i = 0; i <= SESSION_QUEUE; i++) {
        at = strstr(at, desk_format("run_start\",\"text\":\"m%02d\"", i));
        T_OK(at);
        if (!at) break;
        const char *done = strstr(at, "\"done\"");
        const char *next = strstr(at + 1, "run_start");
        T_OK(done && (!next || done < next));
    }
    T_EQ(n_docs("session_busy"), 0);
    play_stop();
}

TEST(a_turn_that_is_aborted_makes_room_for_the_next)
{
    play_open(true);
    struct sent s = send_text(NULL, "first");
    WAIT_FOR(play_n_held() == 1);
    send_text(s.session, "second");
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", s.session), WEIR_OK);
    T_OK(says(call_text_out, "{\"ok\":true}"));
    WAIT_FOR(n_events(s.session, "run_start") == 2);
    WAIT_FOR(play_n_held() == 1);
    T_EQ(n_events(s.session, "error"), 1);
    T_OK(play_let_go(NULL));
    wait_idle(s.session);
    /* Nothing runs: that is as wished. */
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", s.session), WEIR_OK);
    T_EQ(n_events(s.session, "done"), 1);
    struct sessions_stats stats;
    sessions_stats(desk.sessions, &stats);
    T_EQ(stats.n_aborted, 1);
    T_EQ(stats.n_sent, 2);
    T_EQ(stats.n_queued, 1);
    play_stop();
}

TEST(what_is_said_meanwhile_is_never_lost)
{
    play_open(true);
    struct sent s = send_text(NULL, "first");
    WAIT_FOR(play_n_held() == 1);
    send_text(s.session, "second");
    T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"one\"}", s.session), WEIR_OK);
    T_OK(says(call_text_out, "{\"ok\":true}"));
    T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"two\"}", s.session), WEIR_OK);
    T_OK(says(doc_text("session_steer", desk_format("%s/02", s.turn)), "\"text\":\"two\""));
    /* No pass has taken it: it comes behind what waits. */
    play_set(false);
    T_OK(play_let_go(NULL));
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 3);
    const char *second = strstr(event_text, "\"text\":\"second\"");
    T_OK(second && strstr(second, "\"text\":\"one\\n\\ntwo\""));
    T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"late\"}", s.session), WEIR_OK);
    T_OK(says(call_text_out, "{\"ok\":false}"));
    play_stop();
}

TEST(what_was_said_to_a_turn_goes_with_it_when_it_is_aborted)
{
    play_open(true);
    struct sent s = send_text(NULL, "first");
    WAIT_FOR(play_n_held() == 1);
    for (int i = 0; i < SESSION_STEERS; i++)
        T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"%d\"}", s.session, i), WEIR_OK);
    T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"more\"}", s.session),
         WEIR_CONCURRENCY);
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", s.session), WEIR_OK);
    wait_idle(s.session);
    T_EQ(n_events(s.session, "run_start"), 1);
    play_stop();
}

TEST(inputs_are_checked)
{
    static const struct {
        const char *method, *input;
        enum weir_status status;
        const char *why;
    } cases[] = {
        {"chat/send", "{\"clientId\":\"t\"}", WEIR_BAD_FIELD, "text is missing"},
        {"chat/send", "{\"text\":\"x\"}", WEIR_BAD_FIELD, "clientId is missing"},
        {"chat/send", "{\"clientId\":\"t\",\"text\":\"\"}", WEIR_BAD_FIELD, "text is empty"},
        {"chat/send", "{\"clientId\":\"t\",\"text\":\" \\n\"}", WEIR_BAD_FIELD, "text is empty"},
        {"chat/send", "{\"clientId\":\"t\",\"text\":7}", WEIR_BAD_FIELD, "text must be a string"},
        {"chat/send", "{\"clientId\":\"t\",\"text\":\"a\\u0000b\"}", WEIR_BAD_FIELD, "NUL"},
        {"chat/send", "{\"clientId\":\"t\",\"text\":\"x\",\"dryRun\":true}", WEIR_UNPROCESSABLE,
         "dryRun"},
        {"chat/send", "{\"clientId\":\"t\",\"text\":\"x\",\"dryRun\":1}", WEIR_BAD_FIELD, "dryRun"},
        {"chat/send", "{\"clientId\":\"t\",\"text\":\"x\",\"attachments\":[1]}", WEIR_UNPROCESSABLE,
         "attachments"},
        {"chat/send", "{\"clientId\":\"t\",\"text\":\"x\",\"attachments\":{}}", WEIR_BAD_FIELD,
         "attachments"},
        {"chat/send", "{\"clientId\":\"t\",\"text\":\"x\",\"sessionId\":\"ses_nothing\"}",
         WEIR_NOT_FOUND, ""},
        {"chat/send", "[]", WEIR_BAD_FIELD, "object"},
        {"chat/abort", "null", WEIR_BAD_FIELD, "sessionId is missing"},
        {"chat/abort", "{\"sessionId\":\"x\",\"more\":1}", WEIR_BAD_FIELD, "\"more\""},
        {"chat/steer", "{\"sessionId\":\"x\"}", WEIR_BAD_FIELD, "text is missing"},
        {"chat/steer", "{\"sessionId\":\"x\",\"text\":\"y\"}", WEIR_NOT_FOUND, ""},
    };
    play_open(false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        T_EQ(call_as("ann", cases[i].method, cases[i].input), cases[i].status);
        if (!says(call_why, cases[i].why))
            t_fail(__FILE__, __LINE__, "%s: %s", cases[i].input, call_why);
    }
    T_EQ(CALL("chat/send", "{\"clientId\":\"t\",\"text\":\"x\",\"dryRun\":false,\"attachments\":[],"
                           "\"personalityId\":\"p\",\"more\":{}}"),
         WEIR_OK);
    T_EQ(n_docs("session"), 1);
    play_stop();
}

TEST(a_session_of_somebody_else_is_not_there)
{
    play_open(true);
    struct sent s = send_text(NULL, "mine");
    struct session_view view;
    T_EQ(
        call_as("bob", "chat/send",
                desk_format("{\"sessionId\":\"%s\",\"clientId\":\"t\",\"text\":\"x\"}", s.session)),
        WEIR_NOT_FOUND);
    T_EQ(call_as("bob", "chat/abort", desk_format("{\"sessionId\":\"%s\"}", s.session)),
         WEIR_NOT_FOUND);
    T_EQ(call_as("bob", "chat/steer",
                 desk_format("{\"sessionId\":\"%s\",\"text\":\"x\"}", s.session)),
         WEIR_NOT_FOUND);
    T_EQ(sessions_attach(desk.sessions, SLICE("bob"), weir_slice_of(s.session), &view),
         WEIR_NOT_FOUND);
    T_EQ(sessions_attach(desk.sessions, SLICE("ann"), weir_slice_of(s.session), &view), WEIR_OK);
    T_EQ(view.oldest, 1);
    play_stop();
}

TEST(a_full_queue_outlives_a_restart)
{
    play_open(true);
    struct sent s = send_text(NULL, "m00");
    WAIT_FOR(play_n_held() == 1);
    for (int i = 1; i <= SESSION_QUEUE; i++) send_text(s.session, desk_format("m%02d", i));
    play_stop();
    play_set(false);
    desk_start();
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), SESSION_QUEUE + 1);
    T_OK(strstr(event_text, "\"text\":\"m32\""));
    play_stop();
}

/* A turn that ended in the very moment in which the process did. */
TEST(a_turn_whose_end_was_not_followed_is_at_the_next_start)
{
    play_open(true);
    struct sent s = send_text(NULL, "first");
    WAIT_FOR(play_n_held() == 1);
    send_text(s.session, "second");
    desk.sessions->workflow.on_ended = NULL;
    T_OK(play_let_go(NULL));
    WAIT_FOR(n_events(s.session, "done") == 1);
    play_stop();
    play_set(false);
    desk_start();
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 2);
    T_OK(says(doc_text("session", s.session), "\"turns\":2,"));
    /* Another start finds nothing to do. */
    play_stop();
    desk_start();
    T_OK(says(doc_text("session", s.session), "\"turns\":2,"));
    T_EQ(n_docs("run"), 0);
    play_stop();
}

/* Where each text comes, in the order of the messages. */
static bool are_in_order(const char *session, const char *const *texts, size_t n)
{
    T_EQ(CALL("sessions/get", "{\"id\":\"%s\"}", session), WEIR_OK);
    const char *at = strstr(call_text_out, "\"messages\"");
    for (size_t i = 0; at && i < n; i++)
        at = strstr(at, desk_format("\"content\":\"%s\"", texts[i]));
    return at;
}

TEST(a_clock_that_was_set_back_changes_no_order)
{
    static const char *const texts[] = {"one", "two", "three", "four", "five\\n\\nsix"};
    char fork[SESSION_LEN + 1];
    play_open(true);
    struct sent s = send_text(NULL, "one");
    WAIT_FOR(play_n_held() == 1);
    struct sent other = send_text(NULL, "of another");
    struct sent two = send_text(s.session, "two");
    play_stop();
    fake_clock_set_wall(&desk.clock, 1700000000000 - 3600000);
    desk_start();
    struct sent three = send_text(s.session, "three");
    struct sent four = send_text(s.session, "four");
    struct sent late = send_text(other.session, "late");
    T_OK(strcmp(two.turn, three.turn) < 0 && strcmp(three.turn, four.turn) < 0);
    T_OK(strcmp(other.turn, late.turn) < 0 && strcmp(three.turn, late.turn) != 0);
    /* What is left of a turn is a message of the engine's own. */
    T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"five\"}", s.session), WEIR_OK);
    T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"six\"}", s.session), WEIR_OK);
    play_set(false);
    while (play_let_go(NULL)) {
    }
    wait_idle(s.session);
    wait_idle(other.session);
    T_EQ(n_events(s.session, "done"), 5);
    T_OK(are_in_order(s.session, texts, 5));
    T_EQ(CALL("sessions/fork", "{\"id\":\"%s\"}", s.session), WEIR_OK);
    said("id", fork, sizeof fork);
    play_stop();
    fake_clock_set_wall(&desk.clock, 1700000000000 - 2 * 3600000);
    desk_start();
    T_OK(are_in_order(fork, texts, 5));
    send_text(fork, "last");
    wait_idle(fork);
    T_OK(are_in_order(fork, (const char *const[]){texts[4], "last"}, 2));
    play_stop();
}

/* ---- at once ---- */

enum { SENDERS = 4, EACH = 8 };

static void *send_some(void *session)
{
    for (int i = 0; i < EACH; i++) {
        struct weir_buf out;
        weir_buf_init(&out, 4096);
        T_EQ(call_into("ann", "chat/send",
                       desk_format("{\"sessionId\":\"%s\",\"clientId\":\"t\",\"text\":\"x\"}",
                                   (const char *)session),
                       &out, NULL),
             WEIR_OK);
        weir_buf_fini(&out);
    }
    return NULL;
}

TEST(those_who_send_at_once_are_served_one_after_the_other)
{
    pthread_t threads[SENDERS];
    play_open(false);
    struct sent s = send_text(NULL, "first");
    for (int i = 0; i < SENDERS; i++)
        T_EQ(pthread_create(&threads[i], NULL, send_some, s.session), 0);
    for (int i = 0; i < SENDERS; i++) pthread_join(threads[i], NULL);
    wait_idle(s.session);
    T_EQ(n_events(s.session, "run_start"), SENDERS * EACH + 1);
    /* No turn begins before the one before it has ended. */
    const char *at = event_text;
    while ((at = strstr(at, "run_start"))) {
        const char *done = strstr(at, "\"type\":\"done\"");
        const char *next = strstr(at + 1, "run_start");
        T_OK(done && (!next || done < next));
        at++;
    }
    play_stop();
}

static atomic_bool must_abort;

static void *abort_often(void *session)
{
    while (atomic_load(&must_abort)) {
        struct weir_buf out;
        weir_buf_init(&out, 4096);
        T_EQ(call_into("ann", "chat/abort",
                       desk_format("{\"sessionId\":\"%s\"}", (const char *)session), &out, NULL),
             WEIR_OK);
        weir_buf_fini(&out);
    }
    return NULL;
}

TEST(an_abort_and_an_end_at_once_are_one_end)
{
    pthread_t thread;
    play_open(false);
    struct sent s = send_text(NULL, "first");
    atomic_store(&must_abort, true);
    T_EQ(pthread_create(&thread, NULL, abort_often, s.session), 0);
    for (int i = 0; i < 200; i++) {
        enum weir_status st = CALL(
            "chat/send", "{\"sessionId\":\"%s\",\"clientId\":\"t\",\"text\":\"x\"}", s.session);
        T_OK(st == WEIR_OK || st == WEIR_CONCURRENCY);
        if (st == WEIR_CONCURRENCY) WAIT_FOR(is_idle(s.session));
    }
    atomic_store(&must_abort, false);
    pthread_join(thread, NULL);
    wait_idle(s.session);
    struct sessions_stats stats;
    sessions_stats(desk.sessions, &stats);
    unsigned n_ends = n_events(s.session, "done") + n_events(s.session, "error");
    T_EQ(n_ends, stats.n_sent);
    T_OK(says(doc_text("session", s.session), desk_format("\"turns\":%u,", n_ends)));
    T_EQ(n_docs("run"), 0);
    T_EQ(n_docs("run-cancel"), 0);
    play_stop();
}

enum { MANY = 1000 };

TEST(a_thousand_sessions_run_at_once)
{
    static struct sent all[MANY];
    play_open(false);
    for (int i = 0; i < MANY; i++) all[i] = send_text(NULL, "x");
    for (int i = 0; i < MANY; i++) send_text(all[i].session, "y");
    for (int i = 0; i < MANY; i++) wait_idle(all[i].session);
    for (int i = 0; i < MANY; i += 97) T_EQ(n_events(all[i].session, "done"), 2);
    T_EQ(n_docs("session_busy"), 0);
    T_EQ(atomic_load(&play.n_ended), 2 * MANY);
    play_stop();
}
