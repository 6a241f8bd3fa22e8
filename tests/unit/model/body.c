/* SPDX-License-Identifier: Apache-2.0 */
/* What providers are sent, as golden JSON. */
#include "base/fault.h"
#include "base/slice.h"
#include "model/model_impl.h"
#include "t.h"

static const struct model_provider claude = {
    .name = "claude", .type = MODEL_ANTHROPIC, .base_url = "https://api.anthropic.com"};
static const struct model_provider local = {
    .name = "local", .type = MODEL_OPENAI, .base_url = "http://127.0.0.1:8080/v1"};

static const struct model_player haiku = {
    .provider = &claude, .model = "claude-haiku-4-5", .is_forcible = true};
static const struct model_player qwen = {.provider = &local, .model = "qwen", .is_forcible = true};

#define USER "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}]"
#define PLAN_TOOL                                                                                  \
    "[{\"name\":\"plan\",\"description\":\"Makes a "                                               \
    "plan\",\"input_schema\":{\"type\":\"object\"}}]"
#define TALK                                                                                       \
    "[{\"role\":\"user\",\"content\":\"How?\"},"                                                   \
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"a\","              \
    "\"signature\":\"S\"},{\"type\":\"thinking\",\"thinking\":\"b\"},"                             \
    "{\"type\":\"text\",\"text\":\"So\"},{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"plan\","  \
    "\"input\":{\"x\":1}}]},"                                                                      \
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Go on\"},"                      \
    "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":[{\"type\":\"text\",\"text\":"   \
    "\"done\"}],\"is_error\":true}]}]"

static const struct model_request hello = {
    .role = MODEL_FAST,
    .purpose = "test",
    .system = {"Be brief.", 9},
    .messages = {USER, sizeof USER - 1},
    .max_tokens = 100,
};

static void expect(const struct model_request *request, const struct model_player *player,
                   bool keeps_thinking, const char *want)
{
    struct weir_buf out;
    weir_buf_init(&out, 1 << 20);
    T_EQ(model_body_put(&out, request, player, keeps_thinking), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), want);
    weir_buf_fini(&out);
}

TEST(anthropic_gets_a_cached_system_text_and_a_stream)
{
    expect(&hello, &haiku, true,
           "{\"model\":\"claude-haiku-4-5\",\"max_tokens\":100,\"stream\":true,"
           "\"system\":[{\"type\":\"text\",\"text\":\"Be brief.\","
           "\"cache_control\":{\"type\":\"ephemeral\"}}],\"messages\":" USER "}");
}

TEST(an_empty_list_of_tools_is_none)
{
    struct model_request request = hello;
    request.system = SLICE("");
    request.tools = SLICE("[ ]");
    expect(&request, &haiku, true,
           "{\"model\":\"claude-haiku-4-5\",\"max_tokens\":100,\"stream\":true,"
           "\"messages\":" USER "}");
}

TEST(anthropic_is_forced_to_the_tool_answer_for_a_schema)
{
    struct model_request request = hello;
    request.system = SLICE("");
    request.schema = SLICE("{\"type\":\"object\"}");
    expect(&request, &haiku, true,
           "{\"model\":\"claude-haiku-4-5\",\"max_tokens\":100,\"stream\":true,"
           "\"tools\":[{\"name\":\"answer\",\"description\":\"Gives the answer.\","
           "\"input_schema\":{\"type\":\"object\"}}],"
           "\"tool_choice\":{\"type\":\"tool\",\"name\":\"answer\"},\"messages\":" USER "}");
    request.tools = SLICE(PLAN_TOOL);
    expect(&request, &haiku, true,
           "{\"model\":\"claude-haiku-4-5\",\"max_tokens\":100,\"stream\":true,"
           "\"tools\":[{\"name\":\"plan\",\"description\":\"Makes a plan\","
           "\"input_schema\":{\"type\":\"object\"}},"
           "{\"name\":\"answer\",\"description\":\"Gives the answer.\","
           "\"input_schema\":{\"type\":\"object\"}}],"
           "\"tool_choice\":{\"type\":\"any\"},\"messages\":" USER "}");
}

TEST(anthropic_is_advised_where_it_cannot_be_forced)
{
    struct model_request request = hello;
    struct model_player opus = haiku;
    opus.model = "claude-opus-5-5";
    opus.is_forcible = false;
    opus.thinks = true;
    opus.effort = "low";
    request.tools = SLICE(PLAN_TOOL);
    request.must_use = "plan";
    expect(&request, &opus, true,
           "{\"model\":\"claude-opus-5-5\",\"max_tokens\":8292,\"stream\":true,"
           "\"tools\":" PLAN_TOOL ","
           "\"system\":[{\"type\":\"text\",\"text\":\"Be brief.\","
           "\"cache_control\":{\"type\":\"ephemeral\"}},{\"type\":\"text\",\"text\":\"Answer by "
           "calling the tool \\\"plan\\\" once, and write no other text.\"}],\"messages\":" USER
           ",\"output_config\":{\"effort\":\"low\"}}");
}

TEST(anthropic_thinks_within_its_budget_beside_the_answer)
{
    struct model_player thinker = haiku;
    thinker.thinking_tokens = 2000;
    thinker.max_tokens = 50;
    expect(&hello, &thinker, true,
           "{\"model\":\"claude-haiku-4-5\",\"max_tokens\":2050,\"stream\":true,"
           "\"system\":[{\"type\":\"text\",\"text\":\"Be brief.\","
           "\"cache_control\":{\"type\":\"ephemeral\"}}],\"messages\":" USER
           ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}}");
}

TEST(anthropic_gets_back_its_own_thoughts_only)
{
    struct model_request request = hello;
    request.system = SLICE("");
    request.messages = SLICE(TALK);
    expect(&request, &haiku, true,
           "{\"model\":\"claude-haiku-4-5\",\"max_tokens\":100,\"stream\":true,"
           "\"messages\":[{\"role\":\"user\",\"content\":\"How?\"},"
           "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"a\","
           "\"signature\":\"S\"},{\"type\":\"text\",\"text\":\"So\"},"
           "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"plan\",\"input\":{\"x\":1}}]},"
           "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Go on\"},"
           "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":[{\"type\":\"text\","
           "\"text\":\"done\"}],\"is_error\":true}]}]}");
    request.messages = SLICE("[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\","
                             "\"content\":[{\"type\":\"thinking\",\"thinking\":\"a\","
                             "\"signature\":\"S\"}]},{\"role\":\"user\",\"content\":\"b\"}]");
    expect(&request, &haiku, false,
           "{\"model\":\"claude-haiku-4-5\",\"max_tokens\":100,\"stream\":true,"
           "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
           "{\"role\":\"user\",\"content\":\"b\"}]}");
}

#define OPENAI_HEAD                                                                                \
    "{\"model\":\"qwen\",\"max_tokens\":100,\"stream\":true,"                                      \
    "\"stream_options\":{\"include_usage\":true},"

TEST(openai_gets_plain_strings_and_asks_for_the_usage)
{
    expect(&hello, &qwen, true,
           OPENAI_HEAD "\"messages\":[{\"role\":\"system\",\"content\":\"Be brief.\"},"
                       "{\"role\":\"user\",\"content\":\"Hi\"}]}");
}

TEST(openai_itself_has_another_name_for_the_tokens)
{
    struct model_provider openai = local;
    struct model_player gpt = qwen;
    openai.base_url = "https://api.openai.com/v1";
    gpt.provider = &openai;
    gpt.effort = "none";
    expect(&hello, &gpt, true,
           "{\"model\":\"qwen\",\"max_completion_tokens\":100,\"stream\":true,"
           "\"stream_options\":{\"include_usage\":true},"
           "\"messages\":[{\"role\":\"system\",\"content\":\"Be brief.\"},"
           "{\"role\":\"user\",\"content\":\"Hi\"}],\"reasoning_effort\":\"none\"}");
}

TEST(openai_gets_calls_and_results_in_its_own_form)
{
    struct model_request request = hello;
    request.system = SLICE("");
    request.messages = SLICE(TALK);
    request.tools = SLICE(PLAN_TOOL);
    request.must_use = "plan";
    expect(&request, &qwen, true,
           OPENAI_HEAD
           "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"plan\",\"description\":"
           "\"Makes a plan\",\"parameters\":{\"type\":\"object\"}}}],"
           "\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"plan\"}},"
           "\"messages\":[{\"role\":\"user\",\"content\":\"How?\"},"
           "{\"role\":\"assistant\",\"content\":\"So\",\"tool_calls\":[{\"id\":\"t1\",\"type\":"
           "\"function\",\"function\":{\"name\":\"plan\",\"arguments\":\"{\\\"x\\\":1}\"}}]},"
           "{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":\"Error: done\"},"
           "{\"role\":\"user\",\"content\":\"Go on\"}]}");
}

static void expect_json(enum model_json json, const char *want)
{
    struct model_provider server = local;
    struct model_player player = qwen;
    struct model_request request = hello;
    server.json = json;
    player.provider = &server;
    request.schema = SLICE("{\"type\":\"object\"}");
    expect(&request, &player, true, want);
}

#define OPENAI_TALK(system)                                                                        \
    "\"messages\":[{\"role\":\"system\",\"content\":\"Be brief." system "\"},"                     \
    "{\"role\":\"user\",\"content\":\"Hi\"}]"
#define SCHEMA_ADVICE                                                                              \
    "\\n\\nAnswer with one JSON object that fits this JSON Schema, and write nothing before or "   \
    "after it:\\n{\\\"type\\\":\\\"object\\\"}"

TEST(openai_is_asked_for_an_object_as_the_server_can)
{
    expect_json(MODEL_JSON_SCHEMA,
                OPENAI_HEAD OPENAI_TALK("") ",\"response_format\":{\"type\":\"json_schema\","
                                            "\"json_schema\":{\"name\":\"answer\",\"schema\":{"
                                            "\"type\":\"object\"}}}}");
    expect_json(
        MODEL_JSON_OBJECT,
        OPENAI_HEAD OPENAI_TALK(SCHEMA_ADVICE) ",\"response_format\":{\"type\":\"json_object\"}}");
    expect_json(MODEL_JSON_NONE, OPENAI_HEAD OPENAI_TALK(SCHEMA_ADVICE) "}");
    expect_json(
        MODEL_JSON_TOOL, OPENAI_HEAD
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"answer\","
        "\"description\":\"Gives the answer.\",\"parameters\":{\"type\":\"object\"}}}],"
        "\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"answer\"}}," OPENAI_TALK(
            "") "}");
}

TEST(an_object_that_was_text_is_text_again_for_openai)
{
    struct model_request request = hello;
    request.system = SLICE("");
    request.messages = SLICE(
        "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":["
        "{\"type\":\"tool_use\",\"id\":\"answer_1\",\"name\":\"answer\",\"input\":{\"y\":2}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"answer_1\","
        "\"content\":\"y is 3\"},{\"type\":\"text\",\"text\":\"Again\"}]}]");
    expect(&request, &qwen, true,
           OPENAI_HEAD "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                       "{\"role\":\"assistant\",\"content\":\"{\\\"y\\\":2}\"},"
                       "{\"role\":\"user\",\"content\":\"y is 3\\n\\nAgain\"}]}");
}

TEST(a_request_that_is_not_of_the_one_form_is_refused)
{
    static const struct {
        const char *messages, *tools, *schema;
    } rows[] = {
        {"", "", ""},
        {"[]", "", ""},
        {"{}", "", ""},
        {"[1]", "", ""},
        {"[{\"role\":\"system\",\"content\":\"x\"}]", "", ""},
        {"[{\"role\":\"user\"}]", "", ""},
        {USER, "{}", ""},
        {USER, "[{\"name\":\"x\"}]", ""},
        {USER, "[{\"input_schema\":{}}]", ""},
        {USER, "", "[]"},
        {USER, "", "{"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct model_request request = hello;
        struct weir_buf out;
        weir_buf_init(&out, 1 << 20);
        request.messages = weir_slice_of(rows[i].messages);
        request.tools = weir_slice_of(rows[i].tools);
        request.schema = weir_slice_of(rows[i].schema);
        T_EQ(model_body_put(&out, &request, &haiku, true), WEIR_BAD_FIELD);
        T_EQ(model_body_put(&out, &request, &qwen, true), WEIR_BAD_FIELD);
        weir_buf_fini(&out);
    }
}

TEST(a_lack_of_memory_is_a_status_in_both_dialects)
{
    const struct model_player *players[] = {&haiku, &qwen};
    struct model_request request = hello;
    request.messages = SLICE(TALK);
    request.tools = SLICE(PLAN_TOOL);
    for (size_t i = 0; i < 2; i++) {
        enum weir_status st = WEIR_NOMEM;
        for (uint64_t n = 1; st != WEIR_OK && n < 1000; n++) {
            struct weir_buf out;
            weir_buf_init(&out, 1 << 20);
            fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
            st = model_body_put(&out, &request, players[i], true);
            fault_disarm_all();
            T_OK(st == WEIR_OK || st == WEIR_NOMEM);
            weir_buf_fini(&out);
        }
        T_EQ(st, WEIR_OK);
    }
}

TEST(the_path_is_that_of_the_dialect)
{
    struct model_provider proxy = claude;
    proxy.base_url = "https://proxy.example/anthropic/v1";
    T_EQ(strcmp(model_path_of(&claude), "/v1/messages"), 0);
    T_EQ(strcmp(model_path_of(&proxy), "/messages"), 0);
    T_EQ(strcmp(model_path_of(&local), "/chat/completions"), 0);
}
