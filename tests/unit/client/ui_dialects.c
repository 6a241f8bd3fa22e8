/* SPDX-License-Identifier: Apache-2.0 */
/* What each event of a session and of a chat's reply does to the state of a view, one by one. */
#include <stdio.h>

#include "base/mem.h"
#include "t.h"
#include <weir/ui.h>

static struct weir_ui *state;
static struct weir_json_doc *doc;

static void begin(void)
{
    state = mem_alloc(sizeof *state);
    doc = weir_json_doc_new(0);
    weir_ui_init(state);
    weir_ui_tick(state, 1000000000);
}

static void end(void)
{
    weir_ui_fini(state);
    mem_free(state);
    weir_json_doc_free(doc);
}

static const struct weir_json *parse(const char *json)
{
    const struct weir_json *data = NULL;
    weir_json_doc_reset(doc);
    T_EQ(weir_json_parse(doc, weir_slice_of(json), &data, NULL), WEIR_OK);
    return data;
}

static bool session(const char *json)
{
    return weir_ui_session_event(state, parse(json));
}

static bool chat(const char *type, const char *json)
{
    return weir_ui_chat_event(state, weir_slice_of(type), parse(json));
}

static struct weir_slice text(const char *label)
{
    return weir_slice_of(label);
}

static struct weir_slice answer(void)
{
    return weir_ui_text_from(&state->answer, 0);
}

/* ---- sessions: turns ---- */

TEST(run_start_runs_and_names_the_model)
{
    begin();
    T_OK(session("{\"type\":\"run_start\",\"provider\":\"p\",\"model\":\"m-1\",\"source\":\"u\"}"));
    T_EQ(state->phase, WEIR_UI_RUNNING);
    T_EQ_STR(text(state->model), "m-1");
    T_EQ(state->started_ns, 1000000000);
    T_OK(state->cancel.is_running);
    end();
}

TEST(text_deltas_of_a_session_are_the_answer)
{
    begin();
    session("{\"type\":\"text_delta\",\"text\":\"It \"}");
    session("{\"type\":\"text_delta\",\"text\":\"is.\"}");
    T_EQ(state->phase, WEIR_UI_RUNNING);
    T_EQ_STR(answer(), "It is.");
    end();
}

TEST(thinking_deltas_are_thoughts)
{
    begin();
    session("{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}");
    T_EQ_STR(weir_ui_text_from(&state->thinking, 0), "hm");
    T_EQ(state->answer.end, 0);
    end();
}

TEST(a_tool_of_a_session_runs_progresses_and_ends)
{
    begin();
    session("{\"type\":\"tool_start\",\"toolCallId\":\"c1\",\"toolName\":\"read\","
            "\"args\":{\"path\":\"/x\"}}");
    const struct weir_ui_tool *t = weir_ui_tool(state, "c1");
    T_OK(t && t->phase == WEIR_UI_TOOL_RUNNING);
    T_EQ_STR(weir_ui_text_from(&t->arguments, 0), "{\"path\":\"/x\"}");
    session("{\"type\":\"tool_progress\",\"toolName\":\"read\",\"message\":\"half\",\"percent\":50,"
            "\"audience\":\"user\"}");
    T_EQ_STR(text(t->progress), "50 % half");
    session("{\"type\":\"tool_progress\",\"toolName\":\"read\",\"message\":\"secret\","
            "\"audience\":\"internal\"}");
    T_EQ_STR(text(t->progress), "50 % half");
    session("{\"type\":\"tool_end\",\"toolCallId\":\"c1\",\"toolName\":\"read\",\"ok\":true,"
            "\"durationMs\":1200,\"result\":{\"n\":3}}");
    T_EQ(t->phase, WEIR_UI_TOOL_DONE);
    T_EQ(t->duration_ms, 1200);
    T_EQ_STR(text(t->result), "{\"n\":3}");
    T_EQ_STR(text(t->progress), "");
    end();
}

TEST(a_tool_that_is_not_ok_has_failed)
{
    begin();
    session("{\"type\":\"tool_end\",\"toolCallId\":\"c9\",\"toolName\":\"read\",\"ok\":false,"
            "\"durationMs\":1,\"result\":\"no such file\"}");
    const struct weir_ui_tool *t = weir_ui_tool(state, "c9");
    T_OK(t && t->phase == WEIR_UI_TOOL_FAILED);
    T_EQ_STR(text(t->result), "no such file");
    T_EQ_STR(text(t->name), "read");
    end();
}

TEST(progress_is_of_the_newest_call_of_that_name)
{
    begin();
    session("{\"type\":\"tool_start\",\"toolCallId\":\"a\",\"toolName\":\"read\",\"args\":{}}");
    session("{\"type\":\"tool_start\",\"toolCallId\":\"b\",\"toolName\":\"read\",\"args\":{}}");
    session("{\"type\":\"tool_start\",\"toolCallId\":\"c\",\"toolName\":\"write\",\"args\":{}}");
    session("{\"type\":\"tool_progress\",\"toolName\":\"read\",\"message\":\"x\","
            "\"audience\":\"dashboard\"}");
    T_EQ_STR(text(weir_ui_tool(state, "a")->progress), "");
    T_EQ_STR(text(weir_ui_tool(state, "b")->progress), "x");
    T_EQ_STR(text(weir_ui_tool(state, "c")->progress), "");
    session("{\"type\":\"tool_progress\",\"toolName\":\"other\",\"message\":\"y\","
            "\"audience\":\"user\"}");
    T_EQ_STR(text(state->progress), "y");
    end();
}

TEST(usage_of_a_session_adds_up)
{
    begin();
    session("{\"type\":\"usage\",\"inputTokens\":10,\"outputTokens\":2,\"estimatedCostUsd\":0.5}");
    session("{\"type\":\"usage\",\"inputTokens\":5,\"outputTokens\":1,\"estimatedCostUsd\":0.25}");
    T_OK(state->usage.has_tokens);
    T_EQ(state->usage.input_tokens, 15);
    T_EQ(state->usage.output_tokens, 3);
    T_OK(state->usage.cost_usd > 0.74 && state->usage.cost_usd < 0.76);
    T_EQ(state->phase, WEIR_UI_WAITING);
    end();
}

TEST(done_completes_and_has_the_whole_answer)
{
    begin();
    session("{\"type\":\"text_delta\",\"text\":\"late\"}");
    session("{\"type\":\"done\",\"text\":\"early late\",\"turnCount\":1}");
    T_EQ(state->phase, WEIR_UI_COMPLETED);
    T_EQ_STR(answer(), "early late");
    T_EQ(state->answer.round, 1);
    T_OK(!state->cancel.is_running);
    end();
}

TEST(error_of_a_session_fails)
{
    begin();
    session("{\"type\":\"text_delta\",\"text\":\"half\"}");
    session("{\"type\":\"error\",\"error\":\"it broke\",\"code\":\"E_X\"}");
    T_EQ(state->phase, WEIR_UI_FAILED);
    T_EQ_STR(text(state->error_code), "E_X");
    T_EQ_STR(text(state->error_message), "it broke");
    T_EQ_STR(answer(), "half");
    end();
}

TEST(what_begins_after_done_is_another_turn)
{
    static const char *const begins[] = {"run_start",  "text_delta", "thinking_delta",
                                         "tool_start", "done",       "error"};
    static const char *const stays[] = {"usage",      "message_persisted", "tool_end",
                                        "cron.fired", "approval.resolved", "nonsense"};
    char json[64];
    begin();
    for (size_t i = 0; i < 6; i++) {
        snprintf(json, sizeof json, "{\"type\":\"%s\"}", begins[i]);
        T_OK(!weir_ui_session_begins(state, parse(json)));
    }
    session("{\"type\":\"done\",\"text\":\"x\",\"turnCount\":1}");
    for (size_t i = 0; i < 6; i++) {
        snprintf(json, sizeof json, "{\"type\":\"%s\"}", begins[i]);
        T_OK(weir_ui_session_begins(state, parse(json)));
        snprintf(json, sizeof json, "{\"type\":\"%s\"}", stays[i]);
        T_OK(!weir_ui_session_begins(state, parse(json)));
    }
    T_OK(!weir_ui_session_begins(state, NULL));
    end();
}

TEST(the_next_turn_keeps_what_waits_for_a_person)
{
    begin();
    weir_ui_connection(state, WEIR_UI_CONNECTED);
    session("{\"type\":\"run_start\",\"model\":\"m\"}");
    session("{\"type\":\"text_delta\",\"text\":\"old\"}");
    session("{\"type\":\"tool_start\",\"toolCallId\":\"c1\",\"toolName\":\"read\",\"args\":{}}");
    session("{\"type\":\"clarify.request\",\"requestId\":\"q1\",\"question\":\"which?\","
            "\"defaultDeadlineAt\":null}");
    session("{\"type\":\"usage\",\"inputTokens\":10,\"outputTokens\":2,\"estimatedCostUsd\":0.5}");
    session("{\"type\":\"error\",\"error\":\"x\",\"code\":\"y\"}");
    weir_ui_next(state);
    T_EQ(state->phase, WEIR_UI_WAITING);
    T_EQ(state->answer.end, 0);
    T_EQ(state->n_tools, 0);
    T_EQ_STR(text(state->error_code), "");
    T_EQ_STR(text(state->model), "");
    T_EQ(state->usage.input_tokens, 0);
    T_EQ(state->connection, WEIR_UI_CONNECTED);
    T_OK(weir_ui_ask(state, "q1") && weir_ui_ask(state, "q1")->is_open);
    T_EQ(state->n_events, 6);
    end();
}

/* ---- sessions: what is pushed ---- */

TEST(an_approval_is_open_until_it_is_resolved)
{
    begin();
    session("{\"type\":\"tool.approval_required\",\"request\":{\"approvalId\":\"ap1\","
            "\"sessionId\":\"s\",\"toolCallId\":\"c\",\"toolName\":\"write\","
            "\"args\":{\"to\":\"/y\"},\"reason\":\"it changes a file\"}}");
    const struct weir_ui_ask *a = weir_ui_ask(state, "ap1");
    T_OK(a && a->is_open && a->kind == WEIR_UI_ASK_APPROVAL);
    T_EQ_STR(text(a->text), "write {\"to\":\"/y\"}");
    T_EQ_STR(text(a->tool), "write");
    T_EQ_STR(text(a->reason), "it changes a file");
    T_EQ_STR(text(a->detail), "to: /y");
    T_OK(!a->is_cut);
    T_EQ(state->phase, WEIR_UI_WAITING);
    session("{\"type\":\"approval.resolved\",\"approvalId\":\"ap1\",\"decision\":\"deny\","
            "\"decidedBy\":\"me\"}");
    T_OK(!a->is_open);
    T_EQ_STR(text(a->answer), "denied");
    T_EQ_STR(text(a->by), "me");
    end();
}

TEST(an_approval_without_a_reason_says_none)
{
    begin();
    session("{\"type\":\"tool.approval_required\",\"request\":{\"approvalId\":\"ap1\","
            "\"toolName\":\"write\",\"args\":{},\"reason\":null}}");
    T_EQ_STR(text(weir_ui_ask(state, "ap1")->text), "write {}");
    end();
}

TEST(arguments_that_are_too_long_are_said_to_be_cut)
{
    struct weir_buf json;
    weir_buf_init(&json, 64 << 10);
    weir_buf_append_str(&json, "{\"type\":\"tool.approval_required\",\"request\":{"
                               "\"approvalId\":\"ap1\",\"toolName\":\"write\",\"args\":{"
                               "\"n\":[1,2],\"text\":\"");
    for (int i = 0; i < WEIR_UI_DETAIL_BYTES; i++) weir_buf_append_char(&json, 'x');
    weir_buf_append_str(&json, "\"},\"reason\":null}}");
    weir_buf_append_char(&json, '\0');
    begin();
    session(json.ptr);
    const struct weir_ui_ask *a = weir_ui_ask(state, "ap1");
    T_OK(a->is_cut && strncmp(a->detail, "n: [1,2]\ntext: xxx", 18) == 0);
    end();
    weir_buf_fini(&json);
}

TEST(a_clarification_is_open_until_it_is_resolved)
{
    begin();
    session("{\"type\":\"clarify.request\",\"requestId\":\"q1\",\"question\":\"which year?\","
            "\"options\":[\"2024\",\"2025\"],\"default\":\"2025\","
            "\"defaultDeadlineAt\":\"1970-01-01T00:05:00.000Z\"}");
    const struct weir_ui_ask *a = weir_ui_ask(state, "q1");
    T_OK(a && a->is_open && a->kind == WEIR_UI_ASK_QUESTION);
    T_EQ_STR(text(a->text), "which year?");
    T_EQ(a->n_options, 2);
    T_EQ_STR(text(a->options[1]), "2025");
    T_OK(a->has_default);
    T_EQ_STR(text(a->default_answer), "2025");
    T_EQ(a->deadline_ms, 300000);
    session("{\"type\":\"clarify.resolved\",\"requestId\":\"q1\",\"source\":\"timeout-default\"}");
    T_OK(!a->is_open);
    T_EQ_STR(text(a->answer), "nobody answered, so the default counts");
    session("{\"type\":\"clarify.resolved\",\"requestId\":\"unknown\",\"source\":\"user\"}");
    T_EQ(state->n_asks, 1);
    end();
}

TEST(settled_asks_give_way_before_open_ones)
{
    char json[128];
    begin();
    for (int i = 0; i < WEIR_UI_ASKS; i++) {
        snprintf(json, sizeof json,
                 "{\"type\":\"clarify.request\",\"requestId\":\"q%d\",\"question\":\"?\"}", i);
        session(json);
    }
    session("{\"type\":\"clarify.resolved\",\"requestId\":\"q5\",\"source\":\"user\"}");
    session("{\"type\":\"clarify.request\",\"requestId\":\"new\",\"question\":\"?\"}");
    T_EQ(state->n_asks, WEIR_UI_ASKS);
    T_OK(!weir_ui_ask(state, "q5") && weir_ui_ask(state, "q0") && weir_ui_ask(state, "new"));
    T_EQ(state->n_left_out, 0);
    session("{\"type\":\"clarify.request\",\"requestId\":\"newer\",\"question\":\"?\"}");
    T_OK(!weir_ui_ask(state, "q0"));
    T_EQ(state->n_left_out, 1);
    end();
}

TEST(pushed_events_are_notices_and_start_nothing)
{
    static const struct {
        const char *json, *type, *text;
    } rows[] = {
        {"{\"type\":\"context_meta\",\"data\":{\"memory\":2}}", "context_meta", "{\"memory\":2}"},
        {"{\"type\":\"message_persisted\",\"messageId\":\"m1\",\"role\":\"user\"}",
         "message_persisted", "m1"},
        {"{\"type\":\"cron.fired\",\"jobId\":\"j1\",\"ranAt\":\"t\",\"outputPath\":null}",
         "cron.fired", "j1"},
        {"{\"type\":\"mesh.changed\",\"agents\":[{\"agentId\":\"a\"}]}", "mesh.changed", "1 agent"},
        {"{\"type\":\"mesh.changed\",\"agents\":[]}", "mesh.changed", "0 agents"},
        {"{\"type\":\"evolve.skill_pending\",\"skillId\":\"s1\",\"personalityId\":null}",
         "evolve.skill_pending", "s1"},
        {"{\"type\":\"protocol.upgrade_required\",\"serverVersion\":\"2\","
         "\"clientVersionExpected\":\"1.5\"}",
         "protocol.upgrade_required", "the server has version 2 and expects 1.5"},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        T_OK(session(rows[i].json));
        T_EQ(state->n_notices, i + 1);
        T_EQ_SLICE(text(state->notices[i].type), text(rows[i].type));
        T_EQ_SLICE(text(state->notices[i].text), text(rows[i].text));
        T_EQ(state->phase, WEIR_UI_WAITING);
    }
    for (int i = 0; i < 2 * WEIR_UI_NOTICES; i++) session(rows[0].json);
    T_EQ(state->n_notices, WEIR_UI_NOTICES);
    end();
}

TEST(what_no_rule_of_sessions_knows_is_counted)
{
    begin();
    T_OK(!session("{\"type\":\"nonsense\"}"));
    T_OK(!session("{}"));
    T_OK(!session("[1]"));
    T_OK(!weir_ui_session_event(state, NULL));
    T_EQ(state->n_unknown, 4);
    T_EQ(state->phase, WEIR_UI_WAITING);
    end();
}

/* ---- chats ---- */

TEST(tokens_are_the_answer)
{
    begin();
    T_OK(chat("token", "{\"text\":\"Look\"}"));
    chat("token", "{\"text\":\"ing\"}");
    T_EQ(state->phase, WEIR_UI_RUNNING);
    T_EQ_STR(answer(), "Looking");
    end();
}

TEST(a_tool_of_a_chat_is_called_and_returns)
{
    begin();
    chat("tool_call", "{\"id\":\"tc_1\",\"name\":\"find\",\"args\":{\"q\":\"Q3\"}}");
    const struct weir_ui_tool *t = weir_ui_tool(state, "tc_1");
    T_OK(t && t->phase == WEIR_UI_TOOL_RUNNING);
    T_EQ_STR(weir_ui_text_from(&t->arguments, 0), "{\"q\":\"Q3\"}");
    chat("progress", "{\"label\":\"Searching\",\"percent\":33}");
    T_EQ_STR(text(t->progress), "33 % Searching");
    weir_ui_tick(state, 1500000000);
    chat("tool_result", "{\"id\":\"tc_1\",\"result\":[{\"path\":\"/a\"}]}");
    T_EQ(t->phase, WEIR_UI_TOOL_DONE);
    T_EQ(t->duration_ms, 500);
    T_EQ_STR(text(t->result), "[{\"path\":\"/a\"}]");
    end();
}

TEST(a_tool_of_a_chat_fails)
{
    begin();
    chat("tool_call", "{\"id\":\"tc_1\",\"name\":\"find\",\"args\":{}}");
    chat("tool_error", "{\"id\":\"tc_1\",\"error\":\"timeout\"}");
    T_EQ(weir_ui_tool(state, "tc_1")->phase, WEIR_UI_TOOL_FAILED);
    T_EQ_STR(text(weir_ui_tool(state, "tc_1")->result), "timeout");
    chat("tool_error", "{\"id\":\"missed\",\"error\":\"timeout\"}");
    T_EQ(weir_ui_tool(state, "missed")->duration_ms, 0);
    end();
}

TEST(progress_without_a_tool_is_the_whole_s_until_text_comes)
{
    begin();
    chat("progress", "{\"label\":\"Reading\",\"percent\":1e9}");
    T_EQ_STR(text(state->progress), "Reading");
    chat("token", "{\"text\":\"x\"}");
    T_EQ_STR(text(state->progress), "");
    end();
}

TEST(a_preview_waits_for_a_person)
{
    begin();
    chat("dlp_preview", "{\"decisionId\":\"dlp_1\",\"findings\":[{\"label\":\"email\","
                        "\"category\":\"email\",\"source\":\"x\"},{\"category\":\"phone\"}],"
                        "\"redactedText\":\"…\",\"provider\":{\"displayName\":\"Far Away\"}}");
    const struct weir_ui_ask *a = weir_ui_ask(state, "dlp_1");
    T_OK(a && a->is_open && a->kind == WEIR_UI_ASK_PRIVACY);
    T_EQ_STR(text(a->text), "email, phone for Far Away");
    chat("dlp_resolved", "{\"appliedChoice\":\"redact\",\"redactedCount\":2,"
                         "\"categories\":[\"email\",\"phone\"]}");
    T_OK(!a->is_open);
    T_EQ_STR(text(a->answer), "redact");
    T_EQ_STR(text(state->notices[0].text), "redact: email, phone");
    T_EQ(state->phase, WEIR_UI_RUNNING);
    end();
}

TEST(what_is_blocked_has_failed)
{
    begin();
    chat("dlp_preview", "{\"decisionId\":\"dlp_1\",\"findings\":[]}");
    chat("dlp_blocked", "{\"reason\":\"user_blocked\",\"findings\":[{\"category\":\"iban\"}]}");
    T_EQ(state->phase, WEIR_UI_FAILED);
    T_EQ_STR(text(state->error_code), "user_blocked");
    T_EQ_STR(text(state->error_message), "the privacy shield has kept it back: iban");
    T_OK(!weir_ui_ask(state, "dlp_1")->is_open);
    end();
}

TEST(of_a_token_map_only_its_size_is_kept)
{
    begin();
    chat("privacy_token_map", "{\"tokenMap\":{\"[email_1]\":\"a@b.example\"},\"source\":\"dlp\"}");
    T_EQ_STR(text(state->notices[0].text), "1 placeholder");
    end();
}

TEST(citations_are_kept_in_order_and_bounded)
{
    char json[128];
    begin();
    for (int i = 0; i < WEIR_UI_CITATIONS + 2; i++) {
        snprintf(json, sizeof json, "{\"sourceId\":\"d%d\",\"title\":\"T\",\"snippet\":\"S\"}", i);
        chat("citation", json);
    }
    T_EQ(state->n_citations, WEIR_UI_CITATIONS);
    T_EQ_STR(text(state->citations[0].source_id), "d2");
    T_EQ_STR(text(state->citations[0].title), "T");
    T_EQ_STR(text(state->citations[0].snippet), "S");
    T_EQ(state->n_left_out, 2);
    end();
}

TEST(done_of_a_chat_completes_with_its_usage)
{
    begin();
    chat("token", "{\"text\":\"x\"}");
    chat("done", "{\"messageId\":\"msg_1\",\"usage\":{\"input\":12,\"output\":5},\"model\":\"m\"}");
    T_EQ(state->phase, WEIR_UI_COMPLETED);
    T_EQ(state->usage.input_tokens, 12);
    T_EQ(state->usage.output_tokens, 5);
    T_EQ_STR(text(state->model), "m");
    end();
}

TEST(error_of_a_chat_fails)
{
    begin();
    chat("error", "{\"code\":\"cancelled\",\"message\":\"nobody reads\"}");
    T_EQ(state->phase, WEIR_UI_FAILED);
    T_EQ_STR(text(state->error_code), "cancelled");
    T_EQ_STR(text(state->error_message), "nobody reads");
    T_OK(!chat("nonsense", "{}"));
    T_EQ(state->n_unknown, 1);
    end();
}

TEST(results_of_any_size_are_cut_to_a_label)
{
    struct weir_buf json;
    begin();
    weir_buf_init(&json, 1 << 20);
    weir_buf_append_str(&json, "{\"id\":\"t\",\"result\":[");
    for (int i = 0; i < 20000; i++) weir_buf_append_str(&json, "\"äöü\",");
    weir_buf_append_str(&json, "0]}");
    weir_buf_append_char(&json, '\0');
    T_OK(chat("tool_result", json.ptr));
    size_t len = strlen(weir_ui_tool(state, "t")->result);
    T_OK(len > WEIR_UI_LABEL_BYTES - 8 && len < WEIR_UI_LABEL_BYTES);
    weir_buf_fini(&json);
    end();
}

/* ---- connections ---- */

TEST(a_lost_connection_says_why_and_when_it_is_tried)
{
    begin();
    weir_ui_connection(state, WEIR_UI_CONNECTING);
    T_EQ(state->connection, WEIR_UI_CONNECTING);
    weir_ui_reconnecting(state, "it was lost", 3000);
    T_EQ(state->connection, WEIR_UI_RECONNECTING);
    T_EQ_STR(text(state->connection_why), "it was lost");
    T_EQ(state->again_ns, 4000000000);
    weir_ui_connection(state, WEIR_UI_CONNECTED);
    T_EQ_STR(text(state->connection_why), "");
    T_EQ(state->again_ns, 0);
    end();
}

TEST(a_connection_that_is_gone_fails_what_had_not_ended)
{
    begin();
    chat("token", "{\"text\":\"x\"}");
    weir_ui_disconnected(state, "io", "no more");
    T_EQ(state->connection, WEIR_UI_DISCONNECTED);
    T_EQ(state->phase, WEIR_UI_FAILED);
    T_EQ_STR(text(state->error_code), "io");
    end();
    begin();
    chat("done", "{\"messageId\":\"m\"}");
    weir_ui_disconnected(state, "io", "no more");
    T_EQ(state->phase, WEIR_UI_COMPLETED);
    T_EQ_STR(text(state->connection_why), "no more");
    end();
}

TEST(names_that_anybody_uses_need_their_members)
{
    begin();
    T_OK(weir_ui_chat_knows(text("token"), NULL));
    T_OK(weir_ui_chat_knows(text("done"), parse("{\"messageId\":\"m\"}")));
    T_OK(!weir_ui_chat_knows(text("done"), parse("{\"text\":\"m\"}")));
    T_OK(!weir_ui_chat_knows(text("error"), NULL));
    T_OK(!weir_ui_chat_knows(text("progress"), parse("[]")));
    T_OK(!weir_ui_chat_knows(text("message"), parse("{}")));
    T_OK(weir_ui_session_knows(parse("{\"type\":\"mesh.changed\"}")));
    T_OK(!weir_ui_session_knows(parse("{\"type\":\"message_start\"}")));
    T_OK(!weir_ui_session_knows(NULL));
    end();
}
