/* SPDX-License-Identifier: Apache-2.0 */
/* Turns without a model: questions about data, plain sentences that use tools, what is asked back.
 */
#include "agent/memory.h"
#include "desk.h"
#include "import/import.h"

static void open_builtin(void)
{
    static struct import_summary summary;
    const char *paths[] = {T_SOURCE_ROOT "/tests/data/people/p01_daily.csv"};
    struct import_error error;
    const struct import_options options = {
        .user = SLICE("ann"), .paths = paths, .n_paths = 1, .zone = "UTC", .clock = &clock_system};
    desk_open();
    T_EQ(import_run(desk.store, &options, &summary, &error), WEIR_OK);
    sessions_data_changed(desk.sessions);
}

static struct sent talk(const char *session, const char *text)
{
    struct sent s = send_text(session, text);
    wait_idle(s.session);
    look(s.session);
    return s;
}

/* A member of an event in event_text, behind the first place where it says `from`. */
static void find(const char *from, const char *member, char *out, size_t size)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":\"", member);
    const char *at = strstr(event_text, from);
    at = at ? strstr(at, key) : NULL;
    T_OK(at);
    at = at ? at + strlen(key) : "";
    snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
}

TEST(questions_are_answered_from_data_and_go_on_from_the_one_before)
{
    open_builtin();
    struct sent s = talk(NULL, "Hello!");
    T_OK(says(event_text, "\"type\":\"done\",\"text\":\"Hello!"));
    T_OK(says(event_text, "\"provider\":\"builtin\",\"model\":\"builtin\""));
    T_EQ(count(event_text, "\"type\":\"usage\""), 0);
    talk(s.session, "How many steps did I take on average last week?");
    T_EQ(n_events(s.session, "done"), 2);
    T_EQ(n_events(s.session, "error"), 0);
    T_OK(says(event_text, "\"toolName\":\"query_data\",\"args\":{\"op\":\"aggregate\",\"metric\":"
                          "\"steps\""));
    T_OK(says(event_text, "Your steps averaged"));
    talk(s.session, "And last month?");
    T_EQ(count(event_text, "\"type\":\"text_delta\",\"text\":\"Your steps averaged"), 2);
    talk(s.session, "What do you remember about me?");
    T_OK(says(event_text, "\"text\":\"Nothing is remembered of you yet.\",\"turnCount\":4"));
    desk_stop();
}

TEST(documents_are_searched_by_the_beginning_of_a_long_message_up_to_a_word)
{
    enum { WORD = sizeof "zebrafinch " - 1, MOST = 768 };
    char message[4 * MOST + 1], query[2 * MOST];
    for (size_t i = 0; i + 1 < sizeof message; i++) message[i] = "zebrafinch "[i % WORD];
    message[sizeof message - 1] = '\0';
    open_builtin();
    talk(NULL, message);
    find("\"toolName\":\"search_documents\"", "query", query, sizeof query);
    T_EQ(strlen(query), MOST / WORD * WORD);
    desk_stop();
}

TEST(what_fits_several_measurements_is_asked_back)
{
    char id[96];
    open_builtin();
    struct sent s = send_text(NULL, "Compare the last week with the week before");
    WAIT_FOR(n_events(s.session, "clarify.request") == 1);
    find("clarify.request", "requestId", id, sizeof id);
    T_OK(says(event_text, "\"options\":["));
    T_EQ(CALL("clarify/respond",
              "{\"requestId\":\"%s\",\"answer\":\"resting heart rate\",\"source\":\"user\"}", id),
         WEIR_OK);
    wait_idle(s.session);
    look(s.session);
    T_EQ(n_events(s.session, "clarify.resolved"), 1);
    T_OK(says(event_text, "\"metric\":\"resting_heart_rate\""));
    T_EQ(n_events(s.session, "done"), 1);
    desk_stop();
}

/* As long as the call takes them. */
TEST(an_answer_that_names_nothing_ends_no_turn)
{
    static char answer[5001];
    memset(answer, 'x', sizeof answer - 1);
    open_builtin();
    struct sent s = send_text(NULL, "Compare the last week with the week before");
    WAIT_FOR(n_events(s.session, "clarify.request") == 1);
    T_EQ(CALL("clarify/respond",
              "{\"requestId\":\"clr_%s_1\",\"answer\":\"%s\",\"source\":\"user\"}", s.turn + 4,
              answer),
         WEIR_OK);
    wait_idle(s.session);
    T_EQ(n_events(s.session, "error"), 0);
    T_EQ(n_events(s.session, "done"), 1);
    T_OK(!says(event_text, "\"type\":\"done\",\"text\":\"\""));
    desk_stop();
}

TEST(a_question_that_nobody_answers_counts_as_its_default)
{
    open_builtin();
    struct sent s = send_text(NULL, "Compare the last week with the week before");
    WAIT_FOR(n_events(s.session, "clarify.request") == 1);
    fake_clock_advance(&desk.clock, 3600ull * 1000 * 1000 * 1000);
    sessions_wake(desk.sessions);
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 1);
    T_OK(says(event_text, "\"source\":\"timeout-default\""));
    desk_stop();
}

TEST(something_is_remembered_when_that_is_allowed)
{
    char id[96];
    open_builtin();
    struct sent s = send_text(NULL, "Remember that I like tea");
    WAIT_FOR(n_events(s.session, "tool.approval_required") == 1);
    find("tool.approval_required", "approvalId", id, sizeof id);
    T_EQ(n_docs("memory"), 0);
    T_EQ(CALL("tools/approve", "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"scope\":\"once\"}",
              id),
         WEIR_OK);
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 1);
    T_OK(says(event_text, "I will remember that."));
    T_EQ(n_docs("memory"), 1);
    /* It is put in from now on. */
    talk(s.session, "What do you remember about me?");
    T_OK(says(event_text, "{\"type\":\"context_meta\",\"data\":{\"memories\":1,\"labs\":0}}"));
    T_OK(says(event_text, "I like tea"));
    desk_stop();
}

/* A command that asks, which is allowed in this session from then on. */
static struct sent allow_always(const char *session, const char *text)
{
    char id[96];
    struct sent s = send_text(session, text);
    WAIT_FOR(says(look(s.session), desk_format("\"approvalId\":\"ap_%s_1\"", s.turn + 4)));
    snprintf(id, sizeof id, "ap_%s_1", s.turn + 4);
    T_EQ(CALL("tools/approve",
              "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"scope\":\"any-args\"}", id),
         WEIR_OK);
    wait_idle(s.session);
    look(s.session);
    return s;
}

static void put_memory(const char *id, const char *text)
{
    struct commit *c = commit_new(0);
    struct weir_buf body;
    weir_buf_init(&body, 4096);
    memory_put(&body, &(struct memory_entry){.id = weir_slice_of(id),
                                             .category = SLICE("insight"),
                                             .text = weir_slice_of(text)});
    commit_put(c, memory_key(weir_slice_of(id)), DOC_MUST_BE_NEW, SLICE("ann"),
               weir_buf_slice(&body));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    weir_buf_fini(&body);
}

TEST(what_is_forgotten_is_forgotten_however_often_it_was_written)
{
    open_builtin();
    put_memory("mem_01HF7YAT00AAAAAAAAAAAAAAA1", "I like tea");
    put_memory("mem_01HF7YAT00AAAAAAAAAAAAAAA2", "I like coffee");
    put_memory("mem_01HF7YAT00AAAAAAAAAAAAAAA3", "I like tea");
    allow_always(NULL, "Forget that I like tea");
    T_OK(says(event_text, "That is forgotten."));
    T_EQ(n_docs("memory"), 1);
    T_OK(says(doc_text("memory", "mem_01HF7YAT00AAAAAAAAAAAAAAA2"), "coffee"));
    desk_stop();
}

TEST(a_stop_hides_nothing_from_being_forgotten)
{
    open_builtin();
    put_memory("mem_01HF7YAT00AAAAAAAAAAAAAAA1", "I like tea.");
    struct sent s = allow_always(NULL, "Remember that I am tall.");
    T_EQ(n_docs("memory"), 2);
    allow_always(s.session, "Forget that I like tea.");
    T_EQ(n_docs("memory"), 1);
    talk(s.session, "Forget that I am tall");
    T_EQ(n_docs("memory"), 0);
    desk_stop();
}

TEST(what_is_remembered_already_is_not_written_again)
{
    open_builtin();
    struct sent s = allow_always(NULL, "Remember that I like tea");
    talk(s.session, "Remember that I like tea");
    T_EQ(count(event_text, "\"text\":\"I will remember that.\",\"turnCount\""), 2);
    T_EQ(n_docs("memory"), 1);
    desk_stop();
}

TEST(nobody_is_asked_to_forget_what_is_not_remembered)
{
    open_builtin();
    put_memory("mem_01HF7YAT00AAAAAAAAAAAAAAA1", "I like tea");
    talk(NULL, "Forget that I like coffee");
    T_EQ(count(event_text, "tool.approval_required"), 0);
    T_OK(says(event_text, "\"ok\":false"));
    T_OK(says(event_text, "That was not done: nothing with that text is remembered"));
    T_EQ(n_docs("memory"), 1);
    desk_stop();
}

/* Somebody else takes it away while people think. */
TEST(what_is_gone_by_the_time_it_is_allowed_is_said_to_be)
{
    open_builtin();
    put_memory("mem_01HF7YAT00AAAAAAAAAAAAAAA1", "I like tea");
    struct sent s = send_text(NULL, "Forget that I like tea");
    WAIT_FOR(n_events(s.session, "tool.approval_required") == 1);
    struct commit *c = commit_new(0);
    commit_remove(c, memory_key(SLICE("mem_01HF7YAT00AAAAAAAAAAAAAAA1")), DOC_ANY_VERSION);
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    T_EQ(CALL("tools/approve",
              "{\"approvalId\":\"ap_%s_1\",\"clientId\":\"tab\",\"scope\":\"once\"}", s.turn + 4),
         WEIR_OK);
    wait_idle(s.session);
    look(s.session);
    T_OK(says(event_text, "\"decision\":\"allow\""));
    T_OK(says(event_text, "That was not done: nothing with that text is remembered"));
    desk_stop();
}

TEST(what_is_denied_is_not_done_and_said_so)
{
    char id[96];
    open_builtin();
    struct sent s = send_text(NULL, "Remember that I like tea");
    WAIT_FOR(n_events(s.session, "tool.approval_required") == 1);
    find("tool.approval_required", "approvalId", id, sizeof id);
    T_EQ(CALL("tools/deny", "{\"approvalId\":\"%s\",\"clientId\":\"tab\"}", id), WEIR_OK);
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 1);
    T_OK(says(event_text, "\"text\":\"That was not done: "));
    T_EQ(n_docs("memory"), 0);
    desk_stop();
}

TEST(an_abort_while_people_are_asked_denies_and_ends)
{
    char id[96];
    open_builtin();
    struct sent s = send_text(NULL, "Remember that I like tea");
    WAIT_FOR(n_events(s.session, "tool.approval_required") == 1);
    find("tool.approval_required", "approvalId", id, sizeof id);
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", s.session), WEIR_OK);
    wait_idle(s.session);
    T_EQ(n_events(s.session, "error"), 1);
    T_EQ(n_events(s.session, "done"), 0);
    T_EQ(n_events(s.session, "tool_start"), 1);
    T_EQ(n_events(s.session, "tool_end"), 1);
    T_EQ(n_events(s.session, "approval.resolved"), 1);
    T_OK(says(event_text, "\"decision\":\"deny\""));
    T_EQ(CALL("tools/approve", "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"scope\":\"once\"}",
              id),
         WEIR_CONFLICT);
    T_EQ(n_docs("memory"), 0);
    desk_stop();
}

TEST(what_is_said_meanwhile_is_answered_behind_it)
{
    char id[96];
    open_builtin();
    struct sent s = send_text(NULL, "Remember that I like tea");
    WAIT_FOR(n_events(s.session, "tool.approval_required") == 1);
    find("tool.approval_required", "approvalId", id, sizeof id);
    T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"Hello!\"}", s.session), WEIR_OK);
    T_EQ(CALL("tools/approve", "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"scope\":\"once\"}",
              id),
         WEIR_OK);
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 1);
    T_OK(says(event_text, "\"type\":\"done\",\"text\":\"I will remember that.\\n\\nHello!"));
    T_OK(says(event_text, desk_format("\"messageId\":\"msg_%s_1\",\"role\":\"user\"", s.turn + 4)));
    desk_stop();
}

TEST(a_restart_while_people_are_asked_asks_nobody_again)
{
    char id[96];
    open_builtin();
    struct sent s = send_text(NULL, "Remember that I like tea");
    WAIT_FOR(n_events(s.session, "tool.approval_required") == 1);
    desk_stop();
    desk_start();
    find("tool.approval_required", "approvalId", id, sizeof id);
    T_EQ(CALL("tools/approve", "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"scope\":\"once\"}",
              id),
         WEIR_OK);
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 1);
    T_EQ(n_events(s.session, "tool.approval_required"), 1);
    T_EQ(n_events(s.session, "tool_start"), 1);
    T_EQ(n_events(s.session, "run_start"), 1);
    T_EQ(n_docs("memory"), 1);
    desk_stop();
}

TEST(something_is_scheduled_when_that_is_allowed)
{
    char id[96];
    open_builtin();
    struct sent s = send_text(NULL, "Every day at 7: how did I sleep?");
    WAIT_FOR(n_events(s.session, "tool.approval_required") == 1);
    find("tool.approval_required", "approvalId", id, sizeof id);
    T_EQ(CALL("tools/approve", "{\"approvalId\":\"%s\",\"clientId\":\"tab\",\"scope\":\"once\"}",
              id),
         WEIR_OK);
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 1);
    T_OK(says(event_text,
              "It is scheduled: 0 7 * * * (UTC), for the first time at 2023-11-15T07:00"));
    T_EQ(n_docs("cron"), 1);
    desk_stop();
}
