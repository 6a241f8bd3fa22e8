/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of sessions from their beginning to their end, on a model that does as it is told. */
#include "agent/llm_prompt.h"
#include "agent/memory.h"
#include "session/question_impl.h"
#include "session/tools_impl.h"
#include "session/turn_impl.h"
#include "stage.h"

#define USE(id, name, input)                                                                       \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":" input "}"

TEST(a_turn_says_what_the_model_says_and_is_done)
{
    stage_open();
    stage->plans[0] = (struct plan){.deltas = {"Hel", "lo."}, .usd = 0.25};
    struct sent s = talk(NULL, "Hi");
    check_turns(s.session, 1, "done");
    T_EQ_STR(weir_slice_of(said_text()), "Hello.");
    T_OK(says(event_text, "{\"type\":\"done\",\"text\":\"Hello.\",\"turnCount\":1}"));
    T_OK(says(event_text, "{\"type\":\"usage\",\"inputTokens\":10,\"outputTokens\":5,"
                          "\"estimatedCostUsd\":0.25}"));
    T_OK(says(event_text, desk_format("{\"type\":\"run_start\",\"provider\":\"fake\",\"model\":"
                                      "\"parrot\",\"source\":\"global\",\"traceId\":\"%s\"}",
                                      s.turn)));
    T_EQ(count(event_text, "\"type\":\"message_persisted\""), 2);
    T_OK(says(event_text,
              desk_format("\"messageId\":\"msg_%s_99\",\"role\":\"assistant\"", s.turn + 4)));
    T_EQ(count(event_text, "context_meta"), 0);
    T_EQ(count(event_text, "event: "), 0);
    T_OK(says(stage->asked[0], "\"text\":\"Hi\""));
    const char *message = doc_text("session_message", desk_format("%s/%s/99", s.session, s.turn));
    T_OK(says(message, "\"role\":\"assistant\",\"content\":\"Hello.\""));
    const char *turn = doc_text("session_turn", s.turn);
    T_OK(says(turn, "\"state\":\"done\""));
    T_OK(says(turn, "\"usage\":{\"input\":10,\"output\":5,"));
    T_OK(says(turn, "\"model\":\"parrot-1\""));
    stage_stop();
}

TEST(a_session_remembers_what_was_said)
{
    stage_open();
    stage->plans[0] = (struct plan){.deltas = {"One."}};
    stage->plans[1] = (struct plan){.deltas = {"Two."}};
    struct sent s = talk(NULL, "first");
    talk(s.session, "second");
    check_turns(s.session, 2, "done");
    T_OK(says(event_text, "{\"type\":\"done\",\"text\":\"Two.\",\"turnCount\":2}"));
    T_OK(says(stage->asked[1], "first"));
    T_OK(says(stage->asked[1], "One."));
    T_EQ(count(stage->asked[1], "second"), 1);
    stage_stop();
}

/* As JSON each of its characters takes six bytes. */
static struct sent talk_long(const char *session, char last)
{
    enum { LONG = 240 << 10 };
    static char input[6 * LONG + 512];
    struct sent s;
    int len = snprintf(input, sizeof input,
                       "{\"clientId\":\"tab\",\"sessionId\":\"%s\",\"text\":\"", session);
    for (int i = 0; i < LONG; i++, len += 6) memcpy(input + len, "\\u0001", 6);
    snprintf(input + len, sizeof input - (size_t)len, "%c\"}", last);
    T_EQ(call_as("ann", "chat/send", input), WEIR_OK);
    said("sessionId", s.session, sizeof s.session);
    said("turnId", s.turn, sizeof s.turn);
    wait_idle(s.session);
    look(s.session);
    return s;
}

TEST(long_messages_leave_room_for_the_next)
{
    stage_open();
    for (int i = 0; i < 4; i++) stage->plans[i] = (struct plan){.deltas = {"Fine."}};
    struct sent s = talk(NULL, "first");
    for (char c = 'a'; c <= 'c'; c++) talk_long(s.session, c);
    check_turns(s.session, 4, "done");
    T_EQ(count(event_text, "\"type\":\"error\""), 0);
    T_OK(says(stage->asked[1], "first"));
    stage_stop();
}

TEST(thoughts_are_told_apart_from_text)
{
    stage_open();
    stage->plans[0] = (struct plan){.deltas = {"~Hm", "~m. ", "It ", "is.", "~Is it?", " Yes."}};
    struct sent s = talk(NULL, "?");
    check_turns(s.session, 1, "done");
    T_EQ_STR(weir_slice_of(said_text()), "It is. Yes.");
    T_EQ_STR(weir_slice_of(joined("thinking_delta", "thinking")), "Hmm. Is it?");
    T_OK(says(event_text, "\"type\":\"done\",\"text\":\"It is. Yes.\""));
    const char *message = doc_text("session_message", desk_format("%s/%s/99", s.session, s.turn));
    T_OK(!says(message, "Hm"));
    stage_stop();
}

/* ---- tools ---- */

TEST(a_model_gets_the_results_of_the_tools_it_asks_for)
{
    stage_open();
    stage->plans[0] =
        (struct plan){.deltas = {"Looking. "}, .tools = USE("toolu_1", "list_data", "{}")};
    stage->plans[1] = (struct plan){.deltas = {"There is nothing."}};
    struct sent s = talk(NULL, "What have I measured?");
    check_turns(s.session, 1, "done");
    T_EQ_STR(weir_slice_of(said_text()), "Looking. There is nothing.");
    const char *turn = s.turn + strlen("trn_");
    T_OK(says(event_text, desk_format("{\"type\":\"tool_start\",\"toolCallId\":\"tc_%s_1\","
                                      "\"toolName\":\"list_data\",\"args\":{}",
                                      turn)));
    T_EQ(count(event_text, desk_format("{\"type\":\"tool_end\",\"toolCallId\":\"tc_%s_1\",", turn)),
         1);
    T_EQ(count(event_text, "{\"type\":\"usage\""), 2);
    T_OK(says(stage->asked[1], "\"tool_use_id\":\"toolu_1\""));
    T_OK(says(stage->asked[1], "<data name=\\\"result\\\">"));
    const char *message = doc_text("session_message", desk_format("%s/%s/99", s.session, s.turn));
    T_OK(says(message, desk_format("\"tools\":[{\"id\":\"tc_%s_1\",\"name\":\"list_data\","
                                   "\"args\":{},\"ok\":true",
                                   turn)));
    stage_stop();
}

TEST(tools_come_to_an_end)
{
    stage_open();
    for (int i = 0; i < TURN_TOOL_ROUNDS + 3; i++)
        stage->plans[i] = (struct plan){.deltas = {"."}, .tools = USE("a", "list_data", "{}")};
    struct sent s = talk(NULL, "Again and again");
    check_turns(s.session, 1, "done");
    T_EQ(atomic_load(&stage->n_calls), TURN_TOOL_ROUNDS + 1);
    T_EQ(count(event_text, "{\"type\":\"tool_end\""), TURN_TOOL_ROUNDS);
    T_OK(says(stage->asked[TURN_TOOL_ROUNDS], "No tool can be used any more."));
    T_OK(!stage->had_tools[TURN_TOOL_ROUNDS]);
    stage_stop();
}

/* As long as docs/sessions.md says; blank is another mistake than long. */
TEST(a_question_may_be_long_and_not_blank)
{
    enum { LONG = 16 << 10 };
    static char tools[4 * LONG], x[LONG + 1];
    memset(x, 'x', LONG);
    snprintf(tools, sizeof tools,
             USE("a", "ask_user", "{\"question\":\"%sx\"}") "," USE(
                 "b", "ask_user", "{\"question\":\" \\n\"}") "," USE("c", "ask_user",
                                                                     "{\"question\":\"%s\"}"),
             x, x);
    stage_open();
    stage->plans[0] = (struct plan){.tools = tools};
    stage->plans[1] = (struct plan){.deltas = {"Fine."}};
    struct sent s = send_text(NULL, "?");
    WAIT_FOR(n_events(s.session, "clarify.request") == 1);
    T_OK(says(event_text, "\"result\":\"question has to be a text of 1 to 16384 bytes\""));
    T_OK(says(event_text, "\"result\":\"question is empty, or nothing but blanks\""));
    T_EQ(CALL("clarify/respond",
              "{\"requestId\":\"clr_%s_3\",\"answer\":\"%s\",\"source\":\"user\"}", s.turn + 4, x),
         WEIR_OK);
    wait_idle(s.session);
    check_turns(s.session, 1, "done");
    stage_stop();
}

/* Some models stop for tools and name none. */
TEST(a_stop_for_tools_without_any_is_an_end)
{
    stage_open();
    stage->plans[0] = (struct plan){.deltas = {"That is all."}, .stop = MODEL_STOP_TOOL};
    struct sent s = talk(NULL, "?");
    check_turns(s.session, 1, "done");
    T_EQ(atomic_load(&stage->n_calls), 1);
    T_OK(says(event_text, "\"type\":\"done\",\"text\":\"That is all.\""));
    stage_stop();
}

/* ---- answers that are none, or not all ---- */

TEST(an_answer_that_is_too_long_for_the_model_goes_on)
{
    stage_open();
    stage->plans[0] = (struct plan){.deltas = {"One, "}, .stop = MODEL_STOP_LENGTH};
    stage->plans[1] = (struct plan){
        .deltas = {"two, "}, .tools = USE("a", "list_data", "{}"), .stop = MODEL_STOP_LENGTH};
    stage->plans[2] = (struct plan){.deltas = {"three."}};
    struct sent s = talk(NULL, "Count");
    check_turns(s.session, 1, "done");
    T_OK(says(event_text, "\"type\":\"done\",\"text\":\"One, two, three.\""));
    T_OK(says(stage->asked[1], "Go on exactly where it stopped"));
    /* Half a call is none. */
    T_EQ(count(event_text, "\"type\":\"tool_start\""), 0);
    T_OK(!says(stage->asked[2], "tool_use"));
    T_OK(says(stage->asked[2], "Want them again with less at once."));
    stage_stop();
}

static void check_incomplete(const struct sent *s, const char *why, const char *text)
{
    const char *message;
    check_turns(s->session, 1, "error");
    T_OK(says(event_text,
              desk_format("{\"type\":\"error\",\"error\":\"%s\",\"code\":\"upstream_unavailable\"}",
                          why)));
    message = doc_text("session_message", desk_format("%s/%s/99", s->session, s->turn));
    if (!text) T_EQ_STR(weir_slice_of(message), "");
    else T_OK(says(message, desk_format("\"content\":\"%s\"", text)));
    if (text) T_OK(says(message, "\"incomplete\":true"));
}

TEST(an_answer_that_never_ends_is_not_shown_as_a_whole)
{
    stage_open();
    for (int i = 0; i < TURN_LONG_ROUNDS + 3; i++)
        stage->plans[i] = (struct plan){.deltas = {"."}, .stop = MODEL_STOP_LENGTH};
    struct sent s = talk(NULL, "Count");
    T_EQ(atomic_load(&stage->n_calls), TURN_LONG_ROUNDS + 1);
    check_incomplete(&s, "the model has stopped in the middle: its answer is too long",
                     ".........");
    stage_stop();
}

TEST(a_refusal_and_nothing_at_all_are_no_answers)
{
    static const struct {
        struct plan plan;
        const char *why, *text;
    } rows[] = {
        {{.deltas = {"I would "}, .stop = MODEL_STOP_REFUSED},
         "the model refuses to answer this",
         "I would "},
        {{.stop = MODEL_STOP_REFUSED}, "the model refuses to answer this", NULL},
        {{.stop = MODEL_STOP_END}, "the model has said nothing", NULL},
        {{.deltas = {" \n"}, .stop = MODEL_STOP_END}, "the model has said nothing", " \\n"},
        {{.deltas = {"~Hm."}, .stop = MODEL_STOP_END}, "the model has said nothing", NULL},
        {{.stop = MODEL_STOP_TOOL}, "the model has said nothing", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage_open();
        stage->plans[0] = rows[i].plan;
        struct sent s = talk(NULL, "Speak");
        T_EQ(atomic_load(&stage->n_calls), 1);
        check_incomplete(&s, rows[i].why, rows[i].text);
        stage_stop();
    }
}

TEST(nothing_behind_words_and_tools_is_an_end)
{
    stage_open();
    stage->plans[0] =
        (struct plan){.deltas = {"I look it up."}, .tools = USE("a", "list_data", "{}")};
    struct sent s = talk(NULL, "?");
    check_turns(s.session, 1, "done");
    T_OK(says(event_text, "\"type\":\"done\",\"text\":\"I look it up.\""));
    stage_stop();
}

static void put_doc(struct doc_key key, const char *body)
{
    struct commit *c = commit_new(0);
    commit_put(c, key, DOC_MUST_BE_NEW, SLICE("ann"), weir_slice_of(body));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
}

/* When no process has anything of it in memory. */
TEST(what_became_of_a_call_is_found_in_what_it_left)
{
    static const char allow[] = "{\"decision\":\"allow\"}", deny[] = "{\"decision\":\"deny\"}";
    static const char begun[] = "{\"state\":\"begun\"}";
    static const struct {
        const char *tool, *left, *approval; /* NULL: there is none */
        bool is_new;
        enum tool_fate fate;
        const char *result;
    } rows[] = {
        {"append_note", NULL, allow, false, TOOL_NOT_DONE, ""},
        {"append_note", begun, allow, false, TOOL_UNKNOWN, ""},
        {"append_note", "not JSON", allow, false, TOOL_UNKNOWN, ""},
        {"remember", NULL, allow, false, TOOL_NOT_DONE, ""},
        {"remember", "{\"result\":\"It is.\"}", allow, false, TOOL_DONE, "It is."},
        {"write_note", NULL, allow, false, TOOL_UNKNOWN, ""},
        {"write_note", NULL, "not JSON", false, TOOL_UNKNOWN, ""},
        {"write_note", NULL, allow, true, TOOL_NOT_DONE, ""},
        {"write_note", NULL, deny, false, TOOL_NOT_DONE, ""},
        {"write_note", NULL, NULL, false, TOOL_NOT_DONE, ""},
        {"read_note", NULL, NULL, false, TOOL_NOT_DONE, ""},
        {"list_data", NULL, NULL, false, TOOL_NOT_DONE, ""},
    };
    static const struct weir_slice turn = {.ptr = "trn_01HF7YAT00AAAAAAAAAAAAAAAA",
                                           .len = SESSION_TURN_LEN};
    stage_open();
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char id[QUESTION_ID_BYTES], key[TOOL_DOC_BYTES];
        enum tool_fate fate;
        struct weir_buf result;
        const struct tool_open call = {.turn = turn,
                                       .name = weir_slice_of(rows[i].tool),
                                       .number = i + 1,
                                       .is_old = !rows[i].is_new};
        struct weir_slice question = question_id(id, QUESTION_APPROVAL, turn, i + 1);
        if (rows[i].left) put_doc(tool_doc_key_of(key, turn, i + 1), rows[i].left);
        if (rows[i].approval)
            put_doc(question_closed_key(QUESTION_APPROVAL, question), rows[i].approval);
        weir_buf_init(&result, 4096);
        T_EQ(tool_find_fate(desk.sessions, &call, &fate, &result), WEIR_OK);
        if (fate != rows[i].fate) t_fail(__FILE__, __LINE__, "row %u: %d", i, (int)fate);
        T_EQ_STR(weir_buf_slice(&result), rows[i].result);
        weir_buf_fini(&result);
    }
    stage_stop();
}

/* ---- what is said meanwhile ---- */

static void steer(const char *session, const char *text)
{
    T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"%s\"}", session, text), WEIR_OK);
    T_OK(says(call_text_out, "\"ok\":true"));
}

TEST(what_is_said_meanwhile_gets_a_round_of_its_own)
{
    stage_open();
    stage->plans[0] = (struct plan){.deltas = {"Blue."}, .is_held = true};
    stage->plans[1] = (struct plan){.deltas = {" No, red."}};
    struct sent s = send_text(NULL, "Which colour?");
    WAIT_FOR(atomic_load(&stage->n_held) == 1);
    steer(s.session, "Rather a warm one");
    end_call(0, false);
    wait_idle(s.session);
    check_turns(s.session, 1, "done");
    T_EQ_STR(weir_slice_of(said_text()), "Blue. No, red.");
    T_OK(!says(stage->asked[0], "warm"));
    T_EQ(count(stage->asked[1], "Rather a warm one"), 1);
    T_OK(strstr(stage->asked[1], "Blue.") < strstr(stage->asked[1], "Rather a warm one"));
    T_OK(says(event_text, desk_format("\"messageId\":\"msg_%s_1\",\"role\":\"user\"", s.turn + 4)));
    T_EQ(count(event_text, "\"type\":\"message_persisted\""), 3);
    T_OK(says(doc_text("session_steer", desk_format("%s/01", s.turn)), "\"round\":1"));
    /* Later turns are told of it, once. */
    stage->plans[2] = (struct plan){.deltas = {"Fine."}};
    talk(s.session, "Thanks");
    T_EQ(count(stage->asked[2], "Rather a warm one"), 1);
    stage_stop();
}

TEST(what_is_said_meanwhile_comes_with_the_results_of_tools)
{
    stage_open();
    stage->plans[0] = (struct plan){.tools = USE("a", "list_data", "{}"), .is_held = true};
    stage->plans[1] = (struct plan){.deltas = {"Done."}};
    struct sent s = send_text(NULL, "Look");
    WAIT_FOR(atomic_load(&stage->n_held) == 1);
    steer(s.session, "Only the newest");
    steer(s.session, "And briefly");
    end_call(0, false);
    wait_idle(s.session);
    check_turns(s.session, 1, "done");
    T_EQ(atomic_load(&stage->n_calls), 2);
    const char *result = strstr(stage->asked[1], "tool_result");
    T_OK(result && result < strstr(stage->asked[1], "Only the newest"));
    T_OK(strstr(stage->asked[1], "Only the newest") < strstr(stage->asked[1], "And briefly"));
    stage_stop();
}

/* ---- ends ---- */

static void abort_turn(const char *session)
{
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", session), WEIR_OK);
}

TEST(an_abort_while_the_model_speaks_ends_with_what_was_said)
{
    stage_open();
    stage->plans[0] = (struct plan){.deltas = {"I am in the mid"}, .is_held = true};
    struct sent s = send_text(NULL, "Speak");
    WAIT_FOR(n_events(s.session, "text_delta") > 0);
    abort_turn(s.session);
    wait_idle(s.session);
    check_turns(s.session, 1, "error");
    T_OK(says(event_text, "\"code\":\"aborted\"}"));
    T_EQ(atomic_load(&stage->n_aborted), 1);
    T_EQ(count(event_text, "{\"type\":\"usage\",\"inputTokens\":10,\"outputTokens\":5,"), 1);
    const char *message = doc_text("session_message", desk_format("%s/%s/99", s.session, s.turn));
    T_OK(says(message, "I am in the mid"));
    T_OK(says(message, "\"incomplete\":true"));
    T_OK(says(doc_text("session_turn", s.turn), "\"state\":\"aborted\""));
    /* The session goes on. */
    stage->plans[1] = (struct plan){.deltas = {"Yes."}};
    talk(s.session, "Are you there?");
    check_turns(s.session, 2, "done");
    T_OK(says(stage->asked[1], "I am in the mid"));
    stage_stop();
}

TEST(an_abort_before_anything_is_said_ends_without_an_answer)
{
    stage_open();
    stage->plans[0] = (struct plan){.is_held = true};
    struct sent s = send_text(NULL, "Speak");
    WAIT_FOR(atomic_load(&stage->n_held) == 1);
    abort_turn(s.session);
    wait_idle(s.session);
    check_turns(s.session, 1, "error");
    T_EQ(count(event_text, "\"type\":\"message_persisted\""), 1);
    stage_stop();
}

TEST(a_model_that_fails_is_an_error_with_its_code)
{
    stage_open();
    stage->plans[0] = (struct plan){.status = WEIR_UPSTREAM, .is_final = true};
    struct sent s = talk(NULL, "Speak");
    check_turns(s.session, 1, "error");
    T_OK(says(
        event_text,
        "{\"type\":\"error\",\"error\":\"the model is out\",\"code\":\"upstream_unavailable\"}"));
    T_OK(says(doc_text("session_turn", s.turn), "\"state\":\"error\""));
    stage_stop();
}

/* As JSON each of its characters takes six bytes. */
TEST(an_answer_that_is_too_large_is_told_as_far_as_it_goes)
{
    enum { LONG = 540 << 10, CUT = LONG / 4 * 3 };
    static char text[LONG + 1], end[64];
    memset(text, 1, LONG);
    snprintf(end, sizeof end, "\\u0001\\n… (cut; %d bytes in all)\"", LONG);
    stage_open();
    stage->plans[0] = (struct plan){.deltas = {text}};
    struct sent s = talk(NULL, "Speak");
    const char *done = strstr(event_text, "{\"type\":\"done\",\"text\":\"\\u0001");
    T_OK(done && says(done, end));
    T_EQ(count(done ? done : "", "\\u0001"), CUT);
    T_EQ(count(event_text, "\\u0001"), LONG + CUT);
    const char *message = doc_text("session_message", desk_format("%s/%s/99", s.session, s.turn));
    T_OK(says(message, end));
    T_EQ(count(message, "\\u0001"), CUT);
    stage_stop();
}

TEST(a_turn_costs_no_more_than_it_may)
{
    desk.options.max_turn_usd = 0.5;
    stage_open();
    for (int i = 0; i < 5; i++)
        stage->plans[i] = (struct plan){.tools = USE("a", "list_data", "{}"), .usd = 0.3};
    struct sent s = talk(NULL, "Look");
    check_turns(s.session, 1, "error");
    T_EQ(atomic_load(&stage->n_calls), 2);
    T_OK(says(event_text, "\"code\":\"cost_limit_exceeded\""));
    T_OK(says(doc_text("session_turn", s.turn), "\"costUsd\":0.6"));
    desk.options.max_turn_usd = 0;
    stage_stop();
}

/* ---- what is private ---- */

TEST(private_values_stay_here_and_come_back)
{
    stage_open();
    stage->plans[0] = (struct plan){
        .deltas = {"~Mail to [ema", "~il_1]?", "I write to [em", "ail_", "1] now. "},
        .tools = USE("a", "search_documents", "{\"query\":\"letters of [email_1]\"}")};
    stage->plans[1] = (struct plan){.deltas = {"Nothing of [email_1]."}};
    struct sent s = talk(NULL, "Write to ann@example.org");
    check_turns(s.session, 1, "done");
    T_OK(!says(stage->asked[0], "ann@example.org"));
    T_OK(!says(stage->asked[1], "ann@example.org"));
    T_OK(says(stage->asked[0], "[email_1]"));
    T_EQ_STR(weir_slice_of(said_text()),
             "I write to ann@example.org now. Nothing of ann@example.org.");
    T_EQ_STR(weir_slice_of(joined("thinking_delta", "thinking")), "Mail to ann@example.org?");
    T_OK(says(event_text, "\"args\":{\"query\":\"letters of ann@example.org\"}"));
    /* The next turn knows them by the same names. */
    stage->plans[2] = (struct plan){.deltas = {"[email_1], then [email_2]."}};
    talk(s.session, "And bob@example.org");
    T_OK(says(stage->asked[2], "[email_2]"));
    T_OK(!says(stage->asked[2], "@example.org"));
    T_OK(says(event_text, "\"text\":\"ann@example.org, then bob@example.org.\",\"turnCount\":2"));
    stage_stop();
}

static struct shield_policy *strict;

static void be_strict(struct sessions *s)
{
    s->options.policy = s->values.policy = strict;
}

TEST(what_the_policy_blocks_is_asked_of_nobody_now_and_later)
{
    char why[SHIELD_ERROR_BYTES];
    T_EQ(shield_policy_parse(&strict, SLICE("{\"piiAction\":\"block\"}"), "policy", why), WEIR_OK);
    desk_tune = be_strict;
    stage_open();
    stage->plans[0] = (struct plan){.deltas = {"Fine."}};
    struct sent s = talk(NULL, "Write to ann@example.org");
    check_turns(s.session, 1, "error");
    T_OK(says(event_text, "\"code\":\"blocked\""));
    T_EQ(atomic_load(&stage->n_calls), 0);
    talk(s.session, "Then do not");
    check_turns(s.session, 2, "done");
    T_OK(!says(stage->asked[0], "ann"));
    desk_tune = NULL;
    stage_stop();
    shield_policy_free(strict);
}

/* ---- what is put in ---- */

TEST(what_is_remembered_is_put_in_and_told_of)
{
    stage_open();
    static const char id[] = "mem_01HF7YAT00000000000000000A";
    struct commit *c = commit_new(0);
    struct weir_buf body;
    weir_buf_init(&body, 4096);
    weir_buf_printf(&body,
                    "{\"id\":\"%s\",\"category\":\"preference\",\"text\":\"likes <b>tea</b>\","
                    "\"data\":null,\"source_turn\":null,\"created_at\":\"2026-01-01T00:00:00Z\","
                    "\"updated_at\":\"2026-01-01T00:00:00Z\"}",
                    id);
    commit_put(c, (struct doc_key){SLICE("memory"), weir_slice_of(id)}, DOC_MUST_BE_NEW,
               SLICE("ann"), weir_buf_slice(&body));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    weir_buf_fini(&body);
    stage->plans[0] = (struct plan){.deltas = {"Tea."}};
    struct sent s = talk(NULL, "What do I like?");
    check_turns(s.session, 1, "done");
    T_OK(says(event_text, "{\"type\":\"context_meta\",\"data\":{\"memories\":1,\"labs\":0}}"));
    T_OK(says(stage->system, "<data name=\"memory\">"));
    T_OK(says(stage->system, "preference: likes &lt;b>tea&lt;/b>"));
    stage_stop();
}

static void put_memory(unsigned n, const char *text)
{
    char id[MEMORY_ID_LEN + 1];
    struct commit *c = commit_new(0);
    struct weir_buf body;
    weir_buf_init(&body, MEMORY_ENTRY_BYTES);
    snprintf(id, sizeof id, "mem_01HF7YAT00000000000000%04u", n);
    memory_put(&body, &(struct memory_entry){.id = weir_slice_of(id),
                                             .category = SLICE("insight"),
                                             .text = weir_slice_of(text)});
    commit_put(c, memory_key(weir_slice_of(id)), DOC_MUST_BE_NEW, SLICE("ann"),
               weir_buf_slice(&body));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    weir_buf_fini(&body);
}

TEST(as_much_is_told_to_be_remembered_as_the_model_is_told)
{
    enum { TEXT = 1000, LINE = TEXT + sizeof "insight: \n" - 1, N = 20, TOLD = BLOCK_BYTES / LINE };
    char text[TEXT + 1];
    memset(text, 'x', TEXT);
    text[TEXT] = '\0';
    stage_open();
    put_memory(1, "the oldest, a short one");
    for (unsigned i = 2; i < N; i++) put_memory(i, text);
    stage->plans[0] = (struct plan){.deltas = {"Tea."}};
    talk(NULL, "What do I like?");
    T_OK(says(event_text, desk_format("\"context_meta\",\"data\":{\"memories\":%d,", TOLD + 1)));
    T_EQ(count(stage->system, "insight: "), TOLD + 1);
    T_OK(says(stage->system, "insight: the oldest, a short one"));
    T_OK(!says(stage->system, "[cut]"));
    stage_stop();
}

/* ---- at any moment ---- */

static void plan_any(unsigned k)
{
    bool is_second = says(stage->asked[k], "tool_result");
    stage->plans[k] = (struct plan){.deltas = {"~Hm.", "One ", "two. "}};
    if (!is_second) stage->plans[k].tools = USE("a", "list_data", "{}");
}

static void spin(unsigned n)
{
    while (n-- > 0) (void)last_event("ses_00000000000000000000000000");
}

TEST(an_abort_at_any_moment_leaves_one_end)
{
    stage_open();
    on_call = plan_any;
    for (unsigned i = 0; i < 40; i++) {
        struct sent s = send_text(NULL, "Go");
        spin(i * i);
        abort_turn(s.session);
        wait_idle(s.session);
        T_EQ(n_events(s.session, "done") + n_events(s.session, "error"), 1);
        T_EQ(n_events(s.session, "tool_start"), n_events(s.session, "tool_end"));
        T_EQ(count(event_text, "_0\",\"role\":\"user\""), 1);
        const char *last =
            strstr(event_text, says(event_text, "\"type\":\"done\"") ? "\"type\":\"done\""
                                                                     : "\"type\":\"error\"");
        T_OK(last && !says(last, "\nid: "));
    }
    on_call = NULL;
    stage_stop();
}

static enum weir_status count_warm(void *n, const struct doc *doc)
{
    for (size_t i = 0; i + 4 <= doc->body.len; i++)
        *(unsigned *)n += memcmp(doc->body.ptr + i, "warm", 4) == 0;
    return WEIR_OK;
}

TEST(what_is_said_at_any_moment_is_a_message_once)
{
    unsigned n_steered = 0, n_kept = 0;
    stage_open();
    on_call = plan_any;
    for (unsigned i = 0; i < 30; i++) {
        struct sent s = send_text(NULL, "Go");
        spin(i * i);
        T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"warm\"}", s.session), WEIR_OK);
        n_steered += says(call_text_out, "\"ok\":true");
        wait_idle(s.session);
        T_EQ(n_events(s.session, "error"), 0);
    }
    const struct doc_query query = {.kind = SLICE("session_message"), .limit = SIZE_MAX};
    T_EQ(store_doc_list(desk.store, &query, count_warm, &n_kept), WEIR_OK);
    T_EQ(n_kept, n_steered);
    on_call = NULL;
    stage_stop();
}
