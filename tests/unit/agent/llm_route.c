/* SPDX-License-Identifier: Apache-2.0 */
#include "person.h"
#include "script.h"

/* ---- vagueness ---- */

TEST(vagueness_is_what_the_model_says)
{
    struct script s;
    script_init(&s, "Is anything odd?");
    script_object(&s, "vagueness", "{\"vagueness\":\"high\",\"why\":\"names nothing\"}");
    const struct weir_json *out = script_ok(&s, agent_classify);
    T_EQ_STR(script_text_of(out, "vagueness"), "high");
    T_EQ_STR(script_text_of(out, "why"), "names nothing");
    T_EQ(s.n_asked, 1);
    T_OK(script_asked(&s, 0, "\"role\":\"fast\",\"purpose\":\"vagueness\""));
    T_OK(script_asked(&s, 0, "weir/vagueness v"));
    script_fini(&s);
}

TEST(what_cannot_be_read_is_asked_for_three_times_more_and_then_is_low)
{
    struct script s;
    script_init(&s, "Is anything odd?");
    script_object(&s, "vagueness", "{\"vagueness\":\"extreme\"}");
    const struct weir_json *out = script_ok(&s, agent_classify);
    T_EQ_STR(script_text_of(out, "vagueness"), "low");
    T_EQ(s.n_asked, 4);
    T_OK(script_asked(&s, 1, "has to be one of low, medium, high"));
    T_OK(!script_asked(&s, 0, "has to be one of low, medium, high"));
    T_OK(script_asked(&s, 1, "extreme"));
    script_fini(&s);
}

TEST(an_answer_that_was_repaired_counts)
{
    struct script s;
    script_init(&s, "Is anything odd?");
    script_text(&s, "vagueness", "I think it is rather vague.");
    script_text(&s, "vagueness", "```json\n{\"vagueness\":\"medium\",\"why\":\"x\"}\n```");
    T_EQ_STR(script_text_of(script_ok(&s, agent_classify), "vagueness"), "medium");
    T_EQ(s.n_asked, 2);
    T_OK(script_asked(&s, 1, "I think it is rather vague."));
    T_OK(script_asked(&s, 1, "not one JSON object"));
    script_fini(&s);
}

/* Every way in which an answer can be none. */
static const char *const broken[] = {
    "",
    "null",
    "[]",
    "{}",
    "[",
    "not JSON",
    "[null]",
    "[[]]",
    "[{\"type\":\"text\"}]",
    "[{\"type\":\"text\",\"text\":null}]",
    "[{\"type\":\"text\",\"text\":\"\"}]",
    "[{\"type\":\"text\",\"text\":\"{\\\"vagueness\\\":\"}]",
    "[{\"type\":\"text\",\"text\":\"\\ud800\\u0000\"}]",
    "[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"answer\",\"input\":null}]",
    "[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"answer\",\"input\":[]}]",
    "[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"answer\"}]",
    "[{\"type\":\"tool_use\",\"id\":7,\"name\":\"answer\",\"input\":{\"vagueness\":\"high\"}}]",
    "[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"other\",\"input\":{\"vagueness\":\"high\"}}]",
    "[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"answer\",\"input\":{\"vagueness\":2}}]",
    "[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"answer\",\"input\":{\"vagueness\":[]}}]",
    "[{\"type\":\"image\",\"source\":{}}]",
    "[{\"type\":\"thinking\",\"thinking\":\"high\"}]",
};

TEST(no_kind_of_broken_answer_does_harm)
{
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct script s;
        script_init(&s, "Is anything odd?");
        script_put(&s, "vagueness", broken[i]);
        script_put(&s, "route", broken[i]);
        script_put(&s, "rephrase", broken[i]);
        T_EQ_STR(script_text_of(script_ok(&s, agent_classify), "vagueness"), "low");
        script_next(&s);
        T_EQ(script_text_of(script_ok(&s, agent_route), "main").len, 0);
        script_next(&s);
        desk_set(
            &s.d, "route",
            "{\"main\":\"data_science\",\"supporting\":[\"domain_expert\"],\"pattern\":\"m\"}");
        T_EQ_STR(script_text_of(script_ok(&s, agent_rephrase), "domain_expert"),
                 "Is anything odd?");
        script_fini(&s);
    }
}

TEST(a_call_that_failed_is_the_failure_of_the_step)
{
    struct script s;
    script_init(&s, "Is anything odd?");
    script_object(&s, "vagueness", "{\"vagueness\":\"high\",\"why\":\"x\"}");
    s.answers[0].status = WEIR_UPSTREAM;
    T_EQ(script_run(&s, agent_classify), WEIR_UPSTREAM);
    T_EQ_STR(weir_slice_of(s.d.c.why), "it failed");
    script_fini(&s);
}

TEST(an_answer_too_long_to_read_is_none)
{
    struct script s;
    char *text = malloc(300001);
    memset(text, 'a', 300000);
    text[300000] = '\0';
    script_init(&s, "Is anything odd?");
    script_text(&s, "vagueness", text);
    T_EQ_STR(script_text_of(script_ok(&s, agent_classify), "vagueness"), "low");
    script_fini(&s);
    free(text);
}

/* ---- who ---- */

TEST(the_route_is_what_the_model_says_of_the_agents_there_are)
{
    struct script s;
    script_init(&s, "Is my LDL fine?");
    script_object(&s, "route",
                  "{\"main\":\"domain_expert\",\"supporting\":[\"data_science\",\"domain_expert\","
                  "\"data_science\"]}");
    const struct weir_json *out = script_ok(&s, agent_route);
    T_EQ_STR(script_text_of(out, "main"), "domain_expert");
    T_EQ_STR(script_text_of(out, "pattern"), "model");
    T_EQ(weir_json_count(weir_json_get_str(out, "supporting")), 1);
    script_fini(&s);
}

TEST(unknown_agents_are_nobody)
{
    static const char *const wrong[] = {
        "{\"main\":\"root_shell\",\"supporting\":[]}",
        "{\"main\":\"investigator\",\"supporting\":[]}",
        "{\"main\":\"data_science\",\"supporting\":[\"health_coach\"]}",
        "{\"main\":\"data_science\",\"supporting\":[\"exfiltrate\"]}",
        "{\"main\":\"data_science\",\"supporting\":\"domain_expert\"}",
        "{\"main\":[\"data_science\"],\"supporting\":[]}",
        "{\"main\":\"data_science\"}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct script s;
        script_init(&s, "How did I sleep?");
        script_object(&s, "route", wrong[i]);
        const struct weir_json *out = script_ok(&s, agent_route);
        T_EQ(weir_json_type_of(weir_json_get_str(out, "main")), WEIR_JSON_NULL);
        T_EQ(weir_json_count(weir_json_get_str(out, "supporting")), 0);
        script_fini(&s);
    }
}

TEST(safety_danger_and_medicines_are_never_left_to_a_model)
{
    static const char *const rows[][3] = {
        {"I want to kill myself", "safety", NULL},
        {"I have chest pain and my left arm is numb", "safety", NULL},
        {"My blood pressure is 210/130, how is my sleep?", "danger", "domain_expert"},
        {"Should I stop taking my blood pressure pills?", "medicine", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct script s;
        script_init(&s, rows[i][0]);
        script_object(&s, "route", "{\"main\":\"health_coach\",\"supporting\":[]}");
        const struct weir_json *out = script_ok(&s, agent_route);
        T_EQ_STR(script_text_of(out, "pattern"), rows[i][1]);
        T_EQ_STR(script_text_of(out, "main"), rows[i][2] ? rows[i][2] : "");
        T_EQ(s.n_asked, 0);
        script_fini(&s);
    }
}

TEST(what_is_vague_goes_to_the_investigator_without_asking)
{
    struct script s;
    script_init(&s, "What's up with me?");
    desk_set(&s.d, "classify_vagueness", "{\"vagueness\":\"high\",\"why\":\"x\"}");
    T_EQ_STR(script_text_of(script_ok(&s, agent_route), "main"), "investigator");
    T_EQ(s.n_asked, 0);
    script_fini(&s);
}

TEST(small_talk_keeps_the_kind_that_it_is)
{
    struct script s;
    script_init(&s, "Thanks!");
    script_object(&s, "route", "{\"main\":\"none\",\"supporting\":[]}");
    T_EQ_STR(script_text_of(script_ok(&s, agent_route), "pattern"), "thanks");
    script_fini(&s);
}

/* ---- one question for each ---- */

static void set_two(struct script *s)
{
    desk_set(
        &s->d, "route",
        "{\"main\":\"data_science\",\"supporting\":[\"domain_expert\"],\"pattern\":\"model\"}");
}

TEST(each_agent_gets_the_question_that_was_written_for_it)
{
    struct script s;
    script_init(&s, "How is my LDL, and is that normal?");
    set_two(&s);
    script_object(&s, "rephrase",
                  "{\"questions\":[{\"agent\":\"domain_expert\",\"question\":\"Is my LDL "
                  "normal?\"},{\"agent\":\"data_science\",\"question\":\"What is my LDL?\"}]}");
    const struct weir_json *out = script_ok(&s, agent_rephrase);
    T_EQ_STR(script_text_of(out, "data_science"), "What is my LDL?");
    T_EQ_STR(script_text_of(out, "domain_expert"), "Is my LDL normal?");
    T_EQ(weir_json_count(out), 2);
    script_fini(&s);
}

TEST(one_agent_and_one_message_need_no_other_words)
{
    struct script s;
    script_init(&s, "How did I sleep in May?");
    desk_set(&s.d, "route", "{\"main\":\"data_science\",\"supporting\":[],\"pattern\":\"model\"}");
    const struct weir_json *out = script_ok(&s, agent_rephrase);
    T_EQ_STR(script_text_of(out, "data_science"), "How did I sleep in May?");
    T_EQ(s.n_asked, 0);
    script_fini(&s);
}

TEST(a_question_that_tells_a_dangerous_value_keeps_it)
{
    struct script s;
    script_init(&s, "My blood pressure is 210/130, is that fine?");
    desk_set(&s.d, "route",
             "{\"main\":\"domain_expert\",\"supporting\":[\"data_science\"],\"pattern\":"
             "\"danger\"}");
    script_object(&s, "rephrase", "{\"questions\":[]}");
    const struct weir_json *out = script_ok(&s, agent_rephrase);
    T_EQ_STR(script_text_of(out, "domain_expert"), "My blood pressure is 210/130, is that fine?");
    T_EQ(s.n_asked, 0);
    script_fini(&s);
}

TEST(questions_for_others_or_for_nobody_are_not_taken)
{
    static const char *const wrong[] = {
        "{\"questions\":[]}",
        "{\"questions\":[{\"agent\":\"data_science\",\"question\":\"x\"}]}",
        "{\"questions\":[{\"agent\":\"data_science\",\"question\":\"x\"},{\"agent\":\"root\","
        "\"question\":\"x\"}]}",
        "{\"questions\":[{\"agent\":\"data_science\",\"question\":\"x\"},{\"agent\":\"data_"
        "science\","
        "\"question\":\"x\"}]}",
        "{\"questions\":[{\"agent\":\"data_science\",\"question\":\"\"},{\"agent\":"
        "\"domain_expert\",\"question\":\"x\"}]}",
        "{\"questions\":{\"data_science\":\"x\",\"domain_expert\":\"y\"}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct script s;
        script_init(&s, "How is my LDL?");
        set_two(&s);
        script_object(&s, "rephrase", wrong[i]);
        const struct weir_json *out = script_ok(&s, agent_rephrase);
        T_EQ_STR(script_text_of(out, "data_science"), "How is my LDL?");
        T_EQ_STR(script_text_of(out, "domain_expert"), "How is my LDL?");
        script_fini(&s);
    }
}

TEST(a_model_that_only_routes_leaves_the_words_to_the_grammar)
{
    struct script s;
    script_init(&s, "What is the frobnication of my sleep in May?");
    person_add(s.d.c.data);
    s.d.c.has_model[MODEL_MAIN] = false;
    desk_set(
        &s.d, "route",
        "{\"main\":\"data_science\",\"supporting\":[\"domain_expert\"],\"pattern\":\"model\"}");
    const struct weir_json *out = script_ok(&s, agent_rephrase);
    T_EQ_STR(script_text_of(out, "data_science"), "What is the frobnication of my sleep in May?");
    T_EQ(s.n_asked, 0);
    script_fini(&s);
}

TEST(without_a_model_nobody_is_asked)
{
    struct script s;
    script_init(&s, "How did I sleep in May?");
    memset(s.d.c.has_model, 0, sizeof s.d.c.has_model);
    T_EQ_STR(script_text_of(script_ok(&s, agent_classify), "vagueness"), "low");
    T_EQ_STR(script_text_of(script_ok(&s, agent_route), "main"), "data_science");
    T_EQ(s.n_asked, 0);
    script_fini(&s);
}
