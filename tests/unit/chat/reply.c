/* SPDX-License-Identifier: Apache-2.0 */
/* Replies from their beginning to their end, on a model that does as it is told. */
#include "desk.h"

static const struct setting plain = {0};
static const struct wish nothing = {0};

TEST(a_reply_says_what_the_model_says_and_is_done)
{
    struct made m;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.deltas = {"Hel", "lo."}};
    run_with(&m, USER("Hi"), &nothing);
    T_EQ_STR(weir_slice_of(said_text()), "Hello.");
    check_log("done");
    T_OK(says(event_text, "\"usage\":{\"input\":10,\"output\":5},\"model\":\"parrot-1\""));
    T_OK(says(event_text, m.id));
    T_OK(says(stage->asked[0], "\"text\":\"Hi\""));
    desk_close();
}

TEST(a_conversation_remembers_what_was_said)
{
    struct made a, b;
    struct weir_buf out;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.deltas = {"One."}};
    stage->plans[1] = (struct plan){.deltas = {"Two."}};
    run_with(&a, USER("first"), &nothing);
    run_with(&b, USER("second"), &(struct wish){.conversation = a.conversation});
    T_EQ_STR(weir_slice_of(b.conversation), a.conversation);
    T_OK(says(stage->asked[1], "first"));
    T_OK(says(stage->asked[1], "One."));
    T_OK(says(stage->asked[1], "second"));
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chats_conversation(desk.chats, SLICE("ann"), weir_slice_of(a.conversation), &out),
         WEIR_OK);
    weir_buf_append_char(&out, 0);
    T_EQ(count(out.ptr, "\"role\":"), 4);
    weir_buf_fini(&out);
    desk_close();
}

/* ---- tools ---- */

#define USE(id, name, input)                                                                       \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":" input "}"

static const struct wish assistant = {.agent = "asst_default"};

TEST(a_model_gets_the_results_of_the_tools_it_asks_for)
{
    struct made m;
    desk_open(&plain);
    stage->plans[0] =
        (struct plan){.deltas = {"Looking. "}, .tools = USE("toolu_1", "list_data", "{}")};
    stage->plans[1] = (struct plan){.deltas = {"There is nothing."}};
    run_with(&m, USER("What have I measured?"), &assistant);
    check_log("done");
    T_EQ_STR(weir_slice_of(said_text()), "Looking. There is nothing.");
    T_OK(says(event_text, "event: tool_call\ndata: {\"id\":\"tc_1\",\"name\":\"list_data\","
                          "\"args\":{}}\n"));
    T_EQ(count(event_text, "event: tool_result\ndata: {\"id\":\"tc_1\",\"result\":{"), 1);
    T_OK(says(stage->asked[1], "\"tool_use_id\":\"toolu_1\""));
    T_OK(says(stage->asked[1], "<data name=\\\"result\\\">"));
    T_OK(says(stage->tools[0], "list_data"));
    T_OK(says(event_text, "\"usage\":{\"input\":20,\"output\":10}"));
    desk_close();
}

TEST(a_tool_that_refuses_is_an_error_for_the_model)
{
    struct made m;
    desk_open(&plain);
    stage->plans[0] = (struct plan){
        .tools = USE("a", "query_data", "{\"op\":\"dance\"}") "," USE("b", "no_such", "{}")};
    stage->plans[1] = (struct plan){.deltas = {"I could not."}};
    run_with(&m, USER("Dance!"), &assistant);
    check_log("done");
    T_EQ(count(event_text, "event: tool_call\n"), 2);
    T_OK(says(event_text, "event: tool_error\ndata: {\"id\":\"tc_1\",\"error\":\""));
    T_OK(says(event_text, "event: tool_error\ndata: {\"id\":\"tc_2\",\"error\":\"there is no such "
                          "tool\"}"));
    T_EQ(count(stage->asked[1], "\"is_error\":true"), 2);
    desk_close();
}

TEST(tools_come_to_an_end)
{
    struct made m;
    desk_open(&plain);
    for (int i = 0; i < CHAT_TOOL_ROUNDS + 3; i++)
        stage->plans[i] = (struct plan){.deltas = {"."}, .tools = USE("a", "list_data", "{}")};
    run_with(&m, USER("Again and again"), &assistant);
    check_log("done");
    T_EQ(atomic_load(&stage->n_calls), CHAT_TOOL_ROUNDS + 1);
    T_EQ(count(event_text, "event: tool_result\n"), CHAT_TOOL_ROUNDS);
    T_OK(says(stage->asked[CHAT_TOOL_ROUNDS], "No tool can be used any more."));
    desk_close();
}

TEST(a_call_that_was_cut_is_not_run)
{
    struct made m;
    desk_open(&plain);
    stage->plans[0] = (struct plan){
        .deltas = {"Let me see"}, .tools = USE("a", "list_data", "{}"), .stop = MODEL_STOP_LENGTH};
    run_with(&m, USER("?"), &assistant);
    check_log("done");
    T_EQ(count(event_text, "event: tool_call\n"), 0);
    desk_close();
}

TEST(a_direct_chat_has_no_tools)
{
    struct made m;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.deltas = {"No."}, .tools = USE("a", "list_data", "{}")};
    run_with(&m, USER("?"), &nothing);
    check_log("done");
    T_EQ_STR(weir_slice_of(stage->tools[0]), "");
    T_EQ(count(event_text, "event: tool_call\n"), 0);
    T_EQ(make_with(&m, USER("?"), &(struct wish){.agent = "asst_other"}), WEIR_NOT_FOUND);
    desk_close();
}

/* ---- failures ---- */

TEST(what_a_failed_model_said_is_kept_and_marked)
{
    struct made m;
    struct weir_buf out;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.status = WEIR_UPSTREAM, .deltas = {"I was ab"}};
    run_with(&m, USER("Hi"), &nothing);
    check_log("error");
    T_OK(says(event_text, "{\"code\":\"upstream_unavailable\",\"message\":\"the model is out\"}"));
    T_EQ(atomic_load(&stage->n_calls), 1);
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chats_conversation(desk.chats, SLICE("ann"), weir_slice_of(m.conversation), &out),
         WEIR_OK);
    weir_buf_append_char(&out, 0);
    T_OK(says(out.ptr, "\"content\":\"I was ab\""));
    T_OK(says(out.ptr, "\"incomplete\":true"));
    weir_buf_fini(&out);
    desk_close();
}

TEST(no_call_begins_when_the_cap_is_reached)
{
    struct made m;
    desk_open(&(struct setting){.max_reply_usd = 0.5});
    for (int i = 0; i < 4; i++)
        stage->plans[i] = (struct plan){.tools = USE("a", "list_data", "{}"), .usd = 0.3};
    run_with(&m, USER("?"), &assistant);
    check_log("error");
    T_OK(says(event_text, "cost_limit_exceeded"));
    T_EQ(atomic_load(&stage->n_calls), 2);
    desk_close();
}

/* ---- grace ---- */

static void advance(unsigned s)
{
    fake_clock_advance(&desk.clock, (uint64_t)s * 1000000000);
    chats_wake(desk.chats);
}

TEST(a_reply_that_nobody_reads_is_given_up_after_its_grace_time)
{
    struct made m;
    struct chats_stats stats;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.deltas = {"Hel"}, .is_held = true};
    begin_with(&m, USER("Hi"), &nothing);
    WAIT_FOR(atomic_load(&stage->n_held) == 1);
    chats_readers(desk.chats, weir_slice_of(m.id), 1);
    advance(100);
    chats_readers(desk.chats, weir_slice_of(m.id), -1);
    advance(29);
    chats_readers(desk.chats, weir_slice_of(m.id), 1); /* it comes back in time */
    advance(100);
    T_EQ(n_sealed(), 0);
    chats_readers(desk.chats, weir_slice_of(m.id), -1);
    advance(30);
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("error");
    T_OK(says(event_text, "\"code\":\"cancelled\""));
    T_EQ_STR(weir_slice_of(said_text()), "Hel");
    T_EQ(atomic_load(&stage->n_aborted), 1);
    chats_stats(desk.chats, &stats);
    T_EQ(stats.n_abandoned, 1);
    desk_close();
}

TEST(a_conversation_has_one_reply_at_a_time_and_an_owner_three)
{
    struct made m[4], other;
    desk_open(&plain);
    for (int i = 0; i < 4; i++) stage->plans[i] = (struct plan){.is_held = true};
    for (int i = 0; i < 3; i++) begin_with(&m[i], USER("Hi"), &nothing);
    T_EQ(make_with(&m[3], USER("Hi"), &nothing), WEIR_CONCURRENCY);
    T_EQ(make_with(&m[3], USER("Hi"), &(struct wish){.conversation = m[0].conversation}),
         WEIR_CONFLICT);
    T_EQ(make_with(&other, USER("Hi"), &(struct wish){.owner = "bob"}), WEIR_OK);
    T_EQ(make_with(&other, USER("Hi"),
                   &(struct wish){.owner = "bob", .conversation = m[0].conversation}),
         WEIR_NOT_FOUND);
    desk_close();
}

/* ---- which messages are new ---- */

TEST(messages_that_are_stored_are_not_doubled)
{
    struct made m;
    struct weir_buf out;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.deltas = {"Hello, [email_1]."}};
    stage->plans[1] = (struct plan){.deltas = {"Fine."}};
    run_with(&m, USER("I am a@example.org"), &nothing);
    run_with(&m,
             "[{\"role\":\"user\",\"content\":\"I am a@example.org\"},"
             "{\"role\":\"assistant\",\"content\":\"Hello, a@example.org.\"},"
             "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"How are \"},"
             "{\"type\":\"text\",\"text\":\"you?\"}]}]",
             &(struct wish){.conversation = m.conversation});
    check_log("done");
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chats_conversation(desk.chats, SLICE("ann"), weir_slice_of(m.conversation), &out),
         WEIR_OK);
    weir_buf_append_char(&out, 0);
    T_EQ(count(out.ptr, "\"role\":"), 4);
    T_OK(says(out.ptr, "How are you?"));
    T_EQ(make_with(&m,
                   "[{\"role\":\"user\",\"content\":\"I am a@example.org\"},"
                   "{\"role\":\"assistant\",\"content\":\"Hello, a@example.org.\"},"
                   "{\"role\":\"user\",\"content\":\"How are you?\"},"
                   "{\"role\":\"assistant\",\"content\":\"Fine.\"}]",
                   &(struct wish){.conversation = m.conversation}),
         WEIR_BAD_FIELD);
    weir_buf_fini(&out);
    desk_close();
}

TEST(several_new_messages_are_stored_each_for_itself)
{
    struct made m;
    struct weir_buf out;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.deltas = {"Hello."}};
    stage->plans[1] = (struct plan){.deltas = {"Fine."}};
    run_with(&m,
             "[{\"role\":\"user\",\"content\":\"I am a@example.org\"},"
             "{\"role\":\"assistant\",\"content\":\"Yes, a@example.org?\"},"
             "{\"role\":\"user\",\"content\":\"Write to b@example.org\"}]",
             &nothing);
    check_log("done");
    T_OK(says(stage->asked[0], "I am [email_1]") && says(stage->asked[0], "Write to [email_2]"));
    run_with(&m, "[{\"role\":\"user\",\"content\":\"1\"},{\"role\":\"user\",\"content\":\"2\"}]",
             &(struct wish){.conversation = m.conversation});
    check_log("done");
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chats_conversation(desk.chats, SLICE("ann"), weir_slice_of(m.conversation), &out),
         WEIR_OK);
    weir_buf_append_char(&out, 0);
    T_EQ(count(out.ptr, "\"role\":"), 7);
    T_OK(says(out.ptr, "Yes, a@example.org?") && says(out.ptr, "Write to b@example.org"));
    T_EQ(chats_delete(desk.chats, SLICE("ann"), weir_slice_of(m.conversation)), WEIR_OK);
    weir_buf_fini(&out);
    desk_close();
}

TEST(a_question_without_an_answer_may_be_asked_again)
{
    struct made m;
    struct weir_buf out;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.status = WEIR_UPSTREAM, .is_final = true};
    stage->plans[1] = (struct plan){.deltas = {"Yes."}};
    run_with(&m, USER("Are you there?"), &nothing);
    check_log("error");
    run_with(&m, USER("Are you there?"), &(struct wish){.conversation = m.conversation});
    check_log("done");
    T_EQ(count(stage->asked[1], "Are you there?"), 1);
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chats_conversation(desk.chats, SLICE("ann"), weir_slice_of(m.conversation), &out),
         WEIR_OK);
    weir_buf_append_char(&out, 0);
    T_EQ(count(out.ptr, "\"role\":"), 2);
    weir_buf_fini(&out);
    desk_close();
}

/* ---- going on ---- */

TEST(an_answer_that_a_stop_has_cut_is_gone_on_with)
{
    struct made m;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.deltas = {"One, tw"}, .is_held = true};
    begin_with(&m, USER("Count"), &nothing);
    WAIT_FOR(atomic_load(&stage->n_held) == 1);
    WAIT_FOR(has_event(m.id, "token"));
    static char before[TEXT_BYTES];
    memcpy(before, event_text, sizeof before);
    desk_close();
    stage->plans[1] = (struct plan){.deltas = {"o, three."}};
    open_chats(&plain);
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("done");
    T_EQ(strncmp(before, event_text, strlen(before)), 0);
    T_EQ_STR(weir_slice_of(said_text()), "One, two, three.");
    T_OK(says(stage->asked[1], "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":"
                               "\"One, tw\"}]}"));
    T_OK(says(stage->asked[1], "Go on exactly where it stopped"));
    desk_close();
}

/* ---- many at once ---- */

enum { OWNERS = 24 };

static void *read_and_leave(void *made)
{
    const struct made *m = made;
    struct weir_slice id = weir_slice_of(m->id);
    struct weir_buf out;
    weir_buf_init(&out, TEXT_BYTES);
    for (int i = 0; i < 50; i++) {
        chats_readers(desk.chats, id, 1);
        const struct guard *g = chats_guard(desk.chats, id);
        weir_buf_reset(&out);
        T_EQ(chat_restore_event(g, SLICE("token"), SLICE("{\"text\":\"to [email_1]\"}"), &out),
             WEIR_OK);
        T_EQ_STR(weir_buf_slice(&out), "{\"text\":\"to a@example.org\"}");
        chats_guard_release(desk.chats, g);
        chats_readers(desk.chats, id, -1);
    }
    weir_buf_fini(&out);
    return NULL;
}

static size_t n_replies(void)
{
    pthread_mutex_lock(&desk.chats->lock);
    size_t n = desk.chats->replies.len + desk.chats->snapshots.len;
    pthread_mutex_unlock(&desk.chats->lock);
    return n;
}

TEST(readers_come_and_go_while_replies_run)
{
    static struct made made[OWNERS];
    pthread_t readers[OWNERS];
    char owner[16];
    desk_open(&plain);
    for (int i = 0; i < MAX_CALLS; i++)
        stage->plans[i] = (struct plan){.deltas = {"For [email", "_1]"}};
    for (int i = 0; i < OWNERS; i++) stage->plans[i].tools = USE("t", "list_data", "{}");
    for (int i = 0; i < OWNERS; i++) {
        snprintf(owner, sizeof owner, "owner%d", i);
        begin_with(&made[i], USER("I am a@example.org"),
                   &(struct wish){.owner = owner, .agent = "asst_default"});
        T_EQ(pthread_create(&readers[i], NULL, read_and_leave, &made[i]), 0);
    }
    for (int i = 0; i < OWNERS; i++) pthread_join(readers[i], NULL);
    WAIT_FOR(n_sealed() == OWNERS);
    for (int i = 0; i < OWNERS; i++) {
        look(made[i].id);
        check_log("done");
    }
    /* Nothing stays in memory of what is over. */
    fake_clock_advance(&desk.clock, 10ull * 1000000000);
    WAIT_FOR((chats_wake(desk.chats), n_replies() == 0));
    desk_close();
}
