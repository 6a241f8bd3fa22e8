/* SPDX-License-Identifier: Apache-2.0 */
/* What each event of a turn, and each part of a model's message, does to the state of a view. */
#include <weir/ui.h>

#include <stdio.h>

#include "base/mem.h"
#include "t.h"

static struct weir_ui *state;
static struct weir_json_doc *doc;

static void begin(void)
{
    state = mem_alloc(sizeof *state);
    doc = weir_json_doc_new(0);
    weir_ui_init(state);
    weir_ui_tick(state, 1000);
}

static void end(void)
{
    weir_ui_fini(state);
    mem_free(state);
    weir_json_doc_free(doc);
}

static bool event(const char *type, const char *json)
{
    const struct weir_json *data = NULL;
    weir_json_doc_reset(doc);
    T_EQ(weir_json_parse(doc, weir_slice_of(json), &data, NULL), WEIR_OK);
    return weir_ui_turn_event(state, weir_slice_of(type), data);
}

static struct weir_slice text(const char *label)
{
    return weir_slice_of(label);
}

/* ---- turns ---- */

TEST(a_turn_that_starts_runs_and_can_be_cancelled)
{
    begin();
    T_EQ(state->phase, WEIR_UI_WAITING);
    T_EQ(state->connection, WEIR_UI_DISCONNECTED);
    T_OK(event("turn.started", "{\"turn_id\":\"turn_1\",\"at\":\"x\"}"));
    T_EQ(state->phase, WEIR_UI_RUNNING);
    T_EQ_STR(text(state->turn_id), "turn_1");
    T_EQ(state->started_ns, 1000);
    T_EQ(weir_cancel_press(&state->cancel, WEIR_CANCEL_KEY_ESCAPE, 1000), WEIR_CANCEL_ASK);
    weir_ui_tick(state, 1001 + WEIR_CANCEL_WITHIN_NS);
    T_OK(!state->cancel.is_asking);
    end();
}

TEST(a_question_from_before_the_first_event_stays)
{
    begin();
    weir_cancel_begin(&state->cancel);
    T_EQ(weir_cancel_press(&state->cancel, WEIR_CANCEL_KEY_ESCAPE, 1000), WEIR_CANCEL_ASK);
    event("turn.started", "{\"turn_id\":\"turn_1\"}");
    T_EQ(weir_cancel_press(&state->cancel, WEIR_CANCEL_KEY_ESCAPE, 2000), WEIR_CANCEL_NOW);
    event("agent.started", "{\"agent\":\"a\"}");
    T_OK(state->cancel.is_cancelled);
    end();
}

TEST(agents_are_lanes_with_thoughts)
{
    begin();
    event("agent.started", "{\"agent\":\"a\",\"question\":\"why?\"}");
    event("agent.started", "{\"agent\":\"b\",\"question\":\"how?\"}");
    event("agent.thought", "{\"agent\":\"a\",\"delta\":\"Because \"}");
    event("agent.thought", "{\"agent\":\"b\",\"delta\":\"So.\"}");
    event("agent.thought", "{\"agent\":\"a\",\"delta\":\"it is.\"}");
    T_EQ(state->n_agents, 2);
    const struct weir_ui_agent *a = weir_ui_agent(state, "a");
    T_OK(a && a->is_working);
    T_EQ_STR(text(a->question), "why?");
    T_EQ_STR(weir_ui_text_from(&a->thoughts, 0), "Because it is.");
    T_EQ_STR(weir_ui_text_from(&weir_ui_agent(state, "b")->thoughts, 0), "So.");
    T_EQ(state->answer.end, 0);
    end();
}

TEST(an_agent_that_starts_again_has_thought_nothing)
{
    begin();
    event("agent.started", "{\"agent\":\"a\",\"question\":\"why?\"}");
    event("agent.thought", "{\"agent\":\"a\",\"delta\":\"old\"}");
    event("agent.completed", "{\"agent\":\"a\",\"duration_ms\":5,\"cost_usd\":0.5,"
                             "\"output_summary\":\"s\"}");
    event("agent.started", "{\"agent\":\"a\",\"question\":\"again?\"}");
    const struct weir_ui_agent *a = weir_ui_agent(state, "a");
    T_EQ(state->n_agents, 1);
    T_EQ(a->runs, 2);
    T_EQ(a->thoughts.end, 0);
    T_EQ(a->thoughts.round, 1);
    T_OK(a->is_working && a->summary[0] == '\0');
    event("agent.thought", "{\"agent\":\"a\",\"delta\":\"new\"}");
    T_EQ_STR(weir_ui_text_from(&a->thoughts, 0), "new");
    end();
}

TEST(a_thought_makes_the_lane_that_was_missed)
{
    begin();
    event("agent.thought", "{\"agent\":\"late\",\"delta\":\"hm\"}");
    T_EQ_STR(weir_ui_text_from(&weir_ui_agent(state, "late")->thoughts, 0), "hm");
    end();
}

TEST(synthesis_is_the_answer)
{
    begin();
    event("agent.started", "{\"agent\":\"synthesis\",\"question\":\"q\"}");
    event("agent.thought", "{\"agent\":\"a\",\"channel\":\"synthesis\",\"delta\":\"It \"}");
    weir_ui_tick(state, 2000);
    event("agent.thought", "{\"agent\":\"a\",\"channel\":\"synthesis\",\"delta\":\"fell.\"}");
    T_EQ_STR(weir_ui_text_from(&state->answer, 0), "It fell.");
    T_EQ(state->answer.n_segments, 2);
    T_EQ(state->answer.segments[1].born_ns, 2000);
    T_OK(!weir_ui_agent(state, "a"));
    event("agent.started", "{\"agent\":\"synthesis\",\"question\":\"q\"}");
    T_EQ(state->answer.end, 0);
    T_EQ(state->answer.round, 1);
    end();
}

TEST(what_agents_cost_adds_up)
{
    begin();
    event("agent.started", "{\"agent\":\"a\"}");
    event("agent.completed", "{\"agent\":\"a\",\"duration_ms\":1500,\"cost_usd\":0.25,"
                             "\"output_summary\":\"fell\"}");
    event("agent.completed", "{\"agent\":\"b\",\"duration_ms\":-1,\"cost_usd\":0.5}");
    const struct weir_ui_agent *a = weir_ui_agent(state, "a");
    T_OK(!a->is_working);
    T_EQ(a->duration_ms, 1500);
    T_EQ_STR(text(a->summary), "fell");
    T_OK(state->usage.cost_usd == 0.75);
    T_EQ(weir_ui_agent(state, "b")->duration_ms, 0);
    event("cost_warning", "{\"cost_usd\":0.8,\"threshold_usd\":0.5}");
    T_OK(state->usage.is_over_threshold && state->usage.cost_usd == 0.8);
    end();
}

#define GATE(finding, gate, verdict)                                                               \
    event("validator.gate", "{\"finding_id\":\"" finding "\",\"claim\":\"c\",\"gate\":\"" gate     \
                            "\",\"verdict\":\"" verdict "\",\"detail\":{}}")

TEST(gates_are_kept_for_each_finding)
{
    begin();
    GATE("f1", "sample_size", "passed");
    GATE("f2", "sample_size", "failed");
    GATE("f1", "bootstrap", "skipped");
    GATE("f1", "construct_validity", "amazing");
    GATE("f1", "unheard_of", "passed");
    const struct weir_ui_finding *f = weir_ui_finding(state, "f1");
    T_EQ(state->n_findings, 2);
    T_EQ(f->gates[0], WEIR_UI_GATE_PASSED);
    T_EQ(f->gates[1], WEIR_UI_GATE_OPEN);
    T_EQ(f->gates[3], WEIR_UI_GATE_SKIPPED);
    T_EQ(weir_ui_finding(state, "f2")->gates[0], WEIR_UI_GATE_FAILED);
    event("validator.critic", "{\"finding_id\":\"f1\",\"verdict\":\"accept\",\"reasoning\":\"r\"}");
    T_EQ_STR(text(f->critic), "accept");
    T_EQ_STR(text(f->reasoning), "r");
    end();
}

TEST(gates_that_run_again_begin_with_nothing)
{
    begin();
    GATE("f1", "sample_size", "passed");
    GATE("f1", "bootstrap", "failed");
    event("validator.critic", "{\"finding_id\":\"f1\",\"verdict\":\"reject\",\"reasoning\":\"r\"}");
    GATE("f1", "sample_size", "passed");
    const struct weir_ui_finding *f = weir_ui_finding(state, "f1");
    T_EQ(state->n_findings, 1);
    T_EQ(f->gates[3], WEIR_UI_GATE_OPEN);
    T_EQ(f->critic[0], 0);
    end();
}

TEST(a_turn_that_completes_has_its_result)
{
    begin();
    event("agent.started", "{\"agent\":\"a\"}");
    event("agent.thought", "{\"agent\":\"a\",\"channel\":\"synthesis\",\"delta\":\"It fell.\"}");
    weir_ui_tick(state, 5000);
    (void)weir_cancel_press(&state->cancel, WEIR_CANCEL_KEY_ESCAPE, 5000);
    event("turn.completed", "{\"turn_id\":\"turn_9\",\"result\":{\"answer\":\"It fell.\","
                            "\"cost_usd\":0.125}}");
    T_EQ(state->phase, WEIR_UI_COMPLETED);
    T_EQ(state->ended_ns, 5000);
    T_EQ(state->answer.round, 0);
    T_OK(state->usage.cost_usd == 0.125);
    T_OK(!state->cancel.is_asking && !state->cancel.is_running);
    T_OK(!weir_ui_agent(state, "a")->is_working);
    T_EQ_STR(text(state->turn_id), "turn_9");
    end();
}

TEST(the_result_wins_over_what_was_streamed)
{
    begin();
    event("agent.thought", "{\"agent\":\"a\",\"channel\":\"synthesis\",\"delta\":\"It rose.\"}");
    event("turn.completed", "{\"turn_id\":\"t\",\"result\":{\"answer\":\"It fell.\"}}");
    T_EQ(state->answer.round, 1);
    T_EQ_STR(weir_ui_text_from(&state->answer, 0), "It fell.");
    end();
}

TEST(an_answer_that_was_not_streamed_is_there_at_the_end)
{
    begin();
    event("turn.completed", "{\"turn_id\":\"t\",\"result\":{\"answer\":\"It fell.\"}}");
    T_EQ(state->answer.round, 0);
    T_EQ_STR(weir_ui_text_from(&state->answer, 0), "It fell.");
    end();
}

TEST(a_turn_that_fails_says_why)
{
    begin();
    event("turn.failed",
          "{\"turn_id\":\"t\",\"error\":{\"code\":\"cancelled\",\"message\":\"m\"}}");
    T_EQ(state->phase, WEIR_UI_FAILED);
    T_EQ_STR(text(state->error_code), "cancelled");
    T_EQ_STR(text(state->error_message), "m");
    end();
}

TEST(unknown_events_and_odd_data_change_little)
{
    begin();
    T_OK(!event("agent.dreamt", "{\"agent\":\"a\"}"));
    T_EQ(state->n_unknown, 1);
    T_EQ(state->phase, WEIR_UI_WAITING);
    T_OK(event("agent.thought", "[]"));
    T_OK(event("agent.started", "{\"agent\":7}"));
    T_OK(event("validator.gate", "null"));
    T_OK(event("turn.completed", "{\"result\":[1]}"));
    T_OK(weir_ui_turn_event(state, weir_slice_of("turn.failed"), NULL));
    T_EQ(state->n_events, 6);
    end();
}

TEST(the_connection_is_as_it_is_told)
{
    begin();
    weir_ui_connection(state, WEIR_UI_RECONNECTING);
    T_EQ(state->connection, WEIR_UI_RECONNECTING);
    end();
}

/* ---- ceilings ---- */

TEST(labels_are_cut_between_characters)
{
    char label[8];
    weir_ui_label_set(label, sizeof label, weir_slice_of("abcdef\xc3\xa9"));
    T_EQ_STR(text(label), "abcdef");
    weir_ui_label_set(label, sizeof label, (struct weir_slice){"a\0b", 3});
    T_EQ_STR(text(label), "ab");
    weir_ui_label_set(label, sizeof label, (struct weir_slice){"ab\xe2\x82", 4});
    T_EQ_STR(text(label), "ab\xe2\x82");
}

TEST(agents_that_are_done_give_way)
{
    char json[100];
    begin();
    for (int i = 0; i < WEIR_UI_AGENTS; i++) {
        snprintf(json, sizeof json, "{\"agent\":\"a%d\",\"delta\":\"x\"}", i);
        event("agent.thought", json);
    }
    event("agent.started", "{\"agent\":\"new\"}");
    T_EQ(state->n_left_out, 1);
    T_OK(!weir_ui_agent(state, "new"));
    event("agent.completed", "{\"agent\":\"a3\"}");
    event("agent.started", "{\"agent\":\"new\"}");
    T_OK(weir_ui_agent(state, "new") && !weir_ui_agent(state, "a3"));
    T_OK(weir_ui_agent(state, "a0") && weir_ui_agent(state, "a15"));
    T_EQ(state->n_agents, WEIR_UI_AGENTS);
    end();
}

TEST(findings_and_tools_keep_the_newest)
{
    char json[200];
    char id[20];
    begin();
    for (int i = 0; i < 100; i++) {
        snprintf(json, sizeof json,
                 "{\"finding_id\":\"f%d\",\"gate\":\"sample_size\",\"verdict\":\"passed\"}", i);
        event("validator.gate", json);
        snprintf(id, sizeof id, "call%d", i);
        weir_ui_tool_progress(state, weir_slice_of(id), weir_slice_of("half"));
    }
    T_EQ(state->n_findings, WEIR_UI_FINDINGS);
    T_OK(weir_ui_finding(state, "f99") && !weir_ui_finding(state, "f0"));
    T_EQ(state->n_tools, WEIR_UI_TOOLS);
    T_OK(weir_ui_tool(state, "call99") && !weir_ui_tool(state, "call0"));
    T_EQ_STR(text(weir_ui_tool(state, "call99")->progress), "half");
    T_EQ(weir_ui_tool(state, "call99")->phase, WEIR_UI_TOOL_RUNNING);
    end();
}

TEST(thoughts_without_end_take_bounded_memory)
{
    begin();
    for (int i = 0; i < 20000; i++)
        event("agent.thought", "{\"agent\":\"a\",\"delta\":\"again and again and again \"}");
    T_OK(weir_ui_agent(state, "a")->thoughts.bytes.cap <= 2 * WEIR_UI_THOUGHT_BYTES);
    T_EQ(weir_ui_agent(state, "a")->thoughts.end, 20000 * 26);
    end();
}

/* ---- messages ---- */

static void feed(enum weir_dialect dialect, const char *stream)
{
    struct weir_ui_message m = {.state = state};
    struct weir_message *message = weir_message_new(dialect, weir_ui_message_handlers(), &m, NULL);
    m.message = message;
    T_EQ(weir_message_feed(message, stream, strlen(stream)), WEIR_OK);
    (void)weir_message_end(message);
    weir_message_free(message);
}

#define EVENT(json) "data: " json "\n\n"

TEST(an_anthropic_message_fills_the_state)
{
    begin();
    feed(WEIR_ANTHROPIC,
         EVENT("{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\","
               "\"content\":[],\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}")
             EVENT("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":"
                   "{\"type\":\"thinking\",\"thinking\":\"\"}}")
                 EVENT("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
                       "{\"type\":\"thinking_delta\",\"thinking\":\"Hm.\"}}")
                     EVENT("{\"type\":\"content_block_stop\",\"index\":0}") EVENT(
                         "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":"
                         "{\"type\":\"text\",\"text\":\"\"}}")
                         EVENT("{\"type\":\"content_block_delta\",\"index\":1,\"delta\":"
                               "{\"type\":\"text_delta\",\"text\":\"Hello\"}}")
                             EVENT("{\"type\":\"content_block_stop\",\"index\":1}") EVENT(
                                 "{\"type\":\"content_block_start\",\"index\":2,\"content_block\":"
                                 "{\"type\":\"tool_use\",\"id\":\"call_1\",\"name\":\"look\","
                                 "\"input\":{}}}") EVENT("{\"type\":\"content_block_delta\","
                                                         "\"index\":2,\"delta\":"
                                                         "{\"type\":\"input_json_delta\",\"partial_"
                                                         "json\":\"{\\\"a\\\":\"}}")
                                 EVENT("{\"type\":\"content_block_delta\",\"index\":2,\"delta\":"
                                       "{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}}")
                                     EVENT("{\"type\":\"content_block_stop\",\"index\":2}") EVENT(
                                         "{\"type\":\"content_block_start\",\"index\":3,\"content_"
                                         "block\":"
                                         "{\"type\":\"text\",\"text\":\"\"}}")
                                         EVENT("{\"type\":\"content_block_delta\",\"index\":3,"
                                               "\"delta\":"
                                               "{\"type\":\"text_delta\",\"text\":\"Bye\"}}")
                                             EVENT("{\"type\":\"content_block_stop\",\"index\":3}")
                                                 EVENT("{\"type\":\"message_delta\",\"delta\":{"
                                                       "\"stop_reason\":\"tool_use\"},"
                                                       "\"usage\":{\"output_tokens\":20}}")
                                                     EVENT("{\"type\":\"message_stop\"}"));
    T_EQ(state->phase, WEIR_UI_COMPLETED);
    T_EQ_STR(weir_ui_text_from(&state->thinking, 0), "Hm.");
    T_EQ_STR(weir_ui_text_from(&state->answer, 0), "Hello\n\nBye");
    const struct weir_ui_tool *t = weir_ui_tool(state, "call_1");
    T_OK(t && t->phase == WEIR_UI_TOOL_DONE);
    T_EQ_STR(text(t->name), "look");
    T_EQ_STR(weir_ui_text_from(&t->arguments, 0), "{\"a\":1}");
    T_EQ(state->n_blocks, 4);
    T_EQ(state->blocks[0].kind, WEIR_UI_BLOCK_THINKING);
    T_EQ(state->blocks[1].kind, WEIR_UI_BLOCK_TEXT);
    T_EQ(state->blocks[2].kind, WEIR_UI_BLOCK_TOOL);
    T_EQ_STR(text(state->blocks[2].label), "look");
    T_EQ(state->usage.input_tokens, 7);
    T_EQ(state->usage.output_tokens, 20);
    end();
}

TEST(an_openai_message_fills_the_state)
{
    begin();
    feed(
        WEIR_OPENAI,
        EVENT("{\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":"
              "{\"role\":\"assistant\",\"content\":\"Hi\"}}]}")
            EVENT(
                "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c9\","
                "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}")
                EVENT("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}")
                    EVENT(
                        "{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}")
                        EVENT("[DONE]"));
    T_EQ(state->phase, WEIR_UI_COMPLETED);
    T_EQ_STR(weir_ui_text_from(&state->answer, 0), "Hi");
    const struct weir_ui_tool *t = weir_ui_tool(state, "c9");
    T_OK(t && t->phase == WEIR_UI_TOOL_DONE);
    T_EQ_STR(text(t->name), "f");
    T_EQ_STR(weir_ui_text_from(&t->arguments, 0), "{}");
    T_EQ(state->usage.input_tokens, 3);
    T_EQ(state->usage.output_tokens, 4);
    end();
}

TEST(a_message_that_is_cut_off_has_failed)
{
    begin();
    feed(WEIR_ANTHROPIC, EVENT("{\"type\":\"message_start\",\"message\":{\"content\":[]}}"));
    T_EQ(state->phase, WEIR_UI_FAILED);
    T_EQ_STR(text(state->error_code), "stream_incomplete");
    end();
}

TEST(an_error_of_the_sender_has_its_type)
{
    begin();
    feed(WEIR_ANTHROPIC,
         "event: error\n" EVENT("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                                "\"message\":\"Overloaded\"}}"));
    T_EQ(state->phase, WEIR_UI_FAILED);
    T_EQ_STR(text(state->error_code), "overloaded_error");
    T_EQ_STR(text(state->error_message), "Overloaded");
    end();
}
