/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two engines on one store: what is said to one reaches the turn that the other runs. Nobody tells
 * them but the test, which is how news come late or not at all.
 */
#include "session/jobs_impl.h"

#include "desk.h"
#include "import/import.h"

enum { A, B };

static struct sessions *nodes[2];

static void open_nodes(void)
{
    struct sessions_options o;
    desk_open();
    nodes[A] = desk.sessions;
    o = nodes[A]->options;
    T_EQ(sessions_new(&nodes[B], desk.store, &o), WEIR_OK);
    T_EQ(sessions_start(nodes[B]), WEIR_OK);
}

static void close_nodes(void)
{
    sessions_stop(nodes[B], desk_grace_ms);
    sessions_free(nodes[B]);
    desk.sessions = nodes[A];
    desk_stop();
}

/* Calls go to this one from now on. */
static void at(int node)
{
    desk.sessions = nodes[node];
}

static enum weir_status tell_one(void *node, const struct doc *doc)
{
    sessions_docs_changed(node, doc->kind, doc->id);
    return WEIR_OK;
}

/* All documents of a kind, some for the second time. */
static void tell(int node, const char *kind)
{
    const struct doc_query query = {.kind = weir_slice_of(kind), .limit = SIZE_MAX};
    T_EQ(store_doc_list(desk.store, &query, tell_one, nodes[node]), WEIR_OK);
}

static void tell_all(int node)
{
    sessions_docs_changed(nodes[node], SLICE(""), SLICE(""));
}

static bool waits(int node, const char *turn)
{
    struct sessions *s = nodes[node];
    pthread_mutex_lock(&s->lock);
    const struct live *l = map_get(&s->turns, weir_slice_of(turn));
    bool is = l && l->waiter && l->question[0];
    pthread_mutex_unlock(&s->lock);
    return is;
}

/* The id of what a turn has asked. */
static void find(const char *type, const char *member, const char *session, char out[96])
{
    char key[64];
    WAIT_FOR(n_events(session, type) == 1);
    snprintf(key, sizeof key, "\"%s\":\"", member);
    const char *from = strstr(event_text, type);
    from = from ? strstr(from, key) : NULL;
    T_OK(from);
    from = from ? from + strlen(key) : "";
    snprintf(out, 96, "%.*s", (int)strcspn(from, "\""), from);
}

/* A turn of node A that waits to be allowed something. */
static struct sent ask_at_a(char id[96])
{
    at(A);
    struct sent s = send_text(NULL, "Remember that I like tea");
    find("tool.approval_required", "approvalId", s.session, id);
    WAIT_FOR(waits(A, s.turn));
    at(B);
    return s;
}

static void approve(const char *id)
{
    T_EQ(CALL("tools/approve", "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"scope\":\"once\"}",
              id),
         WEIR_OK);
}

static void approve_at_b(bool is_lost)
{
    char id[96];
    open_nodes();
    struct sent s = ask_at_a(id);
    approve(id);
    T_OK(waits(A, s.turn)); /* nobody has told it */
    if (is_lost) tell_all(A);
    else tell(A, "approval");
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 1);
    T_EQ(n_events(s.session, "approval.resolved"), 1);
    T_EQ(n_docs("memory"), 1);
    /* At either node it is answered. */
    for (int node = A; node <= B; node++) {
        at(node);
        T_EQ(CALL("tools/deny", "{\"approvalId\":\"%s\",\"clientId\":\"tab\"}", id), WEIR_CONFLICT);
    }
    close_nodes();
}

TEST(an_approval_at_one_node_wakes_the_turn_at_the_other)
{
    approve_at_b(false);
}

TEST(an_approval_that_nobody_told_of_is_found_when_news_were_lost)
{
    approve_at_b(true);
}

TEST(both_nodes_answer_and_one_counts)
{
    char id[96];
    open_nodes();
    struct sent s = ask_at_a(id);
    T_EQ(CALL("tools/deny", "{\"approvalId\":\"%s\",\"clientId\":\"tab\"}", id), WEIR_OK);
    at(A);
    T_EQ(CALL("tools/approve", "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"scope\":\"once\"}",
              id),
         WEIR_CONFLICT);
    tell(A, "approval");
    wait_idle(s.session);
    T_EQ(n_docs("memory"), 0);
    close_nodes();
}

TEST(news_that_mean_nothing_do_nothing)
{
    char id[96];
    open_nodes();
    struct sent s = ask_at_a(id);
    for (int i = 0; i < 20; i++) {
        tell_all(A);
        tell_all(B);
        tell(A, "session_pending");
        sessions_docs_changed(nodes[A], SLICE("approval"), SLICE("ap_no"));
        sessions_docs_changed(nodes[A], SLICE("approval"), weir_slice_of(id));
        sessions_docs_changed(nodes[B], SLICE("clarify"), weir_slice_of(id));
        sessions_docs_changed(nodes[B], SLICE("cron"), SLICE("x"));
        WAIT_FOR(waits(A, s.turn));
    }
    T_EQ(n_events(s.session, "tool.approval_required"), 1);
    approve(id);
    tell(A, "approval");
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 1);
    close_nodes();
}

TEST(an_abort_at_one_node_ends_the_turn_at_the_other)
{
    char id[96];
    open_nodes();
    struct sent s = ask_at_a(id);
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", s.session), WEIR_OK);
    tell(A, "approval");
    wait_idle(s.session);
    T_OK(says(doc_text("session_turn", s.turn), "\"aborted\""));
    T_EQ(n_docs("memory"), 0);
    T_EQ(n_docs("session_pending"), 0);
    close_nodes();
}

TEST(what_is_said_at_one_node_to_a_turn_of_the_other_is_answered)
{
    char id[96];
    open_nodes();
    struct sent s = ask_at_a(id);
    T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"What do you remember about me?\"}",
              s.session),
         WEIR_OK);
    approve(id);
    tell(A, "approval");
    WAIT_FOR(is_idle(s.session) && says(look(s.session), "I like tea"));
    T_OK(count(event_text, "\"type\":\"done\"") >= 1);
    close_nodes();
}

TEST(messages_wait_in_one_queue_whichever_node_they_are_sent_to)
{
    char id[96];
    open_nodes();
    struct sent s = ask_at_a(id);
    struct sent second = send_text(s.session, "Hello!");
    at(A);
    struct sent third = send_text(s.session, "Hello again!");
    T_OK(strcmp(second.turn, third.turn) < 0);
    at(B);
    approve(id);
    tell(A, "approval");
    WAIT_FOR(n_events(s.session, "done") == 3);
    wait_idle(s.session);
    T_OK(says(doc_text("session", s.session), "\"turns\":3"));
    close_nodes();
}

static void import_data(void)
{
    static struct import_summary summary;
    const char *paths[] = {T_SOURCE_ROOT "/tests/data/people/p01_daily.csv"};
    struct import_error error;
    const struct import_options options = {
        .user = SLICE("ann"), .paths = paths, .n_paths = 1, .zone = "UTC", .clock = &clock_system};
    T_EQ(import_run(desk.store, &options, &summary, &error), WEIR_OK);
    sessions_data_changed(nodes[A]);
}

TEST(an_answer_at_one_node_is_one_to_the_question_of_the_other)
{
    char id[96];
    open_nodes();
    import_data();
    at(A);
    struct sent s = send_text(NULL, "Compare the last week with the week before");
    find("clarify.request", "requestId", s.session, id);
    WAIT_FOR(waits(A, s.turn));
    at(B);
    T_EQ(CALL("clarify/respond",
              "{\"requestId\":\"%s\",\"answer\":\"resting heart rate\",\"source\":\"user\"}", id),
         WEIR_OK);
    T_OK(waits(A, s.turn));
    tell(A, "clarify");
    wait_idle(s.session);
    T_EQ(n_events(s.session, "clarify.resolved"), 1);
    close_nodes();
}

/* ---- schedules ---- */

enum { MINUTE_MS = 60 * 1000 };

static size_t n_jobs(int node)
{
    struct jobs *j = nodes[node]->jobs;
    pthread_mutex_lock(&j->lock);
    size_t n = j->jobs.len;
    pthread_mutex_unlock(&j->lock);
    return n;
}

/* Whatever is due by now was looked at. */
static bool is_quiet(int node)
{
    struct jobs *j = nodes[node]->jobs;
    pthread_mutex_lock(&j->lock);
    const struct heap_node *first = heap_peek(&j->timers);
    bool is =
        (!first || (int64_t)first->due > sessions_now(nodes[node]) || first->due == CRON_NEVER) &&
        list_is_empty(&j->ready) && j->n_flying == 0;
    pthread_mutex_unlock(&j->lock);
    return is;
}

static uint64_t n_fired(int node)
{
    struct sessions_stats stats;
    sessions_stats(nodes[node], &stats);
    return stats.n_cron_fired;
}

static void advance(void)
{
    fake_clock_advance(&desk.clock, (uint64_t)MINUTE_MS * 1000000);
    sessions_wake(nodes[A]);
    sessions_wake(nodes[B]);
    WAIT_FOR(is_quiet(A) && is_quiet(B));
}

static void make_job(char id[JOB_ID_LEN + 1], char session[SESSION_LEN + 1])
{
    T_EQ(CALL("cron/create", "{\"text\":\"Hello!\",\"schedule\":\"* * * * *\"}"), WEIR_OK);
    said("id", id, JOB_ID_LEN + 1);
    said("sessionId", session, SESSION_LEN + 1);
}

TEST(a_scheduled_prompt_runs_once_whatever_number_of_nodes_try)
{
    char id[JOB_ID_LEN + 1], session[SESSION_LEN + 1];
    open_nodes();
    at(B);
    make_job(id, session);
    tell(A, "cron");
    WAIT_FOR(n_jobs(A) == 1 && n_jobs(B) == 1);
    for (uint64_t n = 1; n <= 5; n++) {
        advance();
        T_EQ(n_fired(A) + n_fired(B), n);
        if (n % 2 == 0) tell(n % 4 == 0 ? A : B, "cron");
    }
    WAIT_FOR(n_events(session, "cron.fired") == 5 && is_idle(session));
    close_nodes();
}

TEST(a_node_that_made_a_schedule_may_go)
{
    char id[JOB_ID_LEN + 1], session[SESSION_LEN + 1];
    open_nodes();
    at(B);
    make_job(id, session);
    tell_all(A);
    WAIT_FOR(n_jobs(A) == 1);
    sessions_stop(nodes[B], desk_grace_ms);
    fake_clock_advance(&desk.clock, (uint64_t)MINUTE_MS * 1000000);
    sessions_wake(nodes[A]);
    WAIT_FOR(n_fired(A) == 1);
    WAIT_FOR(n_events(session, "cron.fired") == 1);
    close_nodes();
}

static void remove_at_a(bool is_lost)
{
    char ids[2][JOB_ID_LEN + 1], session[SESSION_LEN + 1];
    open_nodes();
    at(B);
    make_job(ids[0], session);
    make_job(ids[1], session);
    tell(A, "cron");
    WAIT_FOR(n_jobs(A) == 2);
    at(A);
    T_EQ(CALL("cron/delete", "{\"id\":\"%s\"}", ids[0]), WEIR_OK);
    if (is_lost) tell_all(B);
    else sessions_docs_changed(nodes[B], SLICE("cron"), weir_slice_of(ids[0]));
    WAIT_FOR(n_jobs(B) == 1);
    T_EQ(n_jobs(A), 1);
    close_nodes();
}

TEST(a_schedule_that_was_removed_at_one_node_is_not_kept_at_the_other)
{
    remove_at_a(false);
}

TEST(a_schedule_is_not_kept_when_news_of_its_removal_were_lost)
{
    remove_at_a(true);
}

TEST(with_a_session_schedules_go_that_nobody_told_of)
{
    char id[JOB_ID_LEN + 1], session[SESSION_LEN + 1];
    open_nodes();
    at(B);
    make_job(id, session);
    at(A);
    T_EQ(n_jobs(A), 0);
    T_EQ(CALL("sessions/delete", "{\"id\":\"%s\"}", session), WEIR_OK);
    WAIT_FOR(n_docs("session_deleted") == 0);
    T_EQ(n_docs("cron"), 0);
    close_nodes();
}

/* ---- deletions ---- */

enum { HOUR_MS = 60 * MINUTE_MS };

/* When it tries again; 0: it does not. */
static int64_t again_ms(int node)
{
    struct sessions *s = nodes[node];
    pthread_mutex_lock(&s->lock);
    int64_t at_ms = s->deletions.is_set ? (int64_t)s->deletions.node.due : 0;
    pthread_mutex_unlock(&s->lock);
    return at_ms;
}

static void wait_until(int64_t at_ms)
{
    int64_t now_ms = sessions_now(nodes[A]);
    if (at_ms > now_ms) fake_clock_advance(&desk.clock, (uint64_t)(at_ms - now_ms) * 1000000);
    sessions_wake(nodes[A]);
    sessions_wake(nodes[B]);
}

/* Node A cannot remove files. */
static void delete_half(void)
{
    open_nodes();
    at(A);
    struct sent s = send_text(NULL, "Hello!");
    wait_idle(s.session);
    nodes[A]->options.folder = "/dev/null";
    T_EQ(CALL("sessions/delete", "{\"id\":\"%s\"}", s.session), WEIR_OK);
    WAIT_FOR(again_ms(A) > 0);
    T_EQ(n_docs("session_deleted"), 1);
}

TEST(what_cannot_be_removed_is_removed_later)
{
    delete_half();
    int64_t at_ms = again_ms(A);
    T_EQ(at_ms, sessions_now(nodes[A]) + MINUTE_MS);
    wait_until(at_ms);
    WAIT_FOR(again_ms(A) > at_ms);
    T_EQ(n_docs("session_deleted"), 1);
    nodes[A]->options.folder = NULL;
    wait_until(again_ms(A));
    WAIT_FOR(n_docs("session_deleted") == 0);
    T_EQ(n_docs("session"), 0);
    close_nodes();
}

/* As the engine of runs tells that the other is gone. */
TEST(a_deletion_of_a_node_that_is_gone_is_ended_by_another)
{
    delete_half();
    due_set(nodes[B], &nodes[B]->deletions, sessions_now(nodes[B]));
    WAIT_FOR(n_docs("session_deleted") == 0);
    T_EQ(n_docs("session"), 0);
    close_nodes();
}

TEST(a_fork_on_its_way_at_one_node_is_not_removed_by_the_other)
{
    char fork[SESSION_LEN + 1];
    open_nodes();
    T_EQ(sessions_next_id(nodes[A], "ses_", fork), WEIR_OK);
    struct commit *c = commit_new(0);
    commit_put(c, session_deleted_key(weir_slice_of(fork)), DOC_MUST_BE_NEW, SLICE("ann"),
               SLICE("{}"));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    int64_t now_ms = sessions_now(nodes[B]);
    due_set(nodes[B], &nodes[B]->deletions, now_ms);
    WAIT_FOR(again_ms(B) > now_ms);
    T_EQ(again_ms(B), now_ms + HOUR_MS);
    T_EQ(n_docs("session_deleted"), 1);
    wait_until(again_ms(B)); /* nobody makes it any more */
    WAIT_FOR(n_docs("session_deleted") == 0);
    close_nodes();
}
