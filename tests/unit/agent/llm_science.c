/* SPDX-License-Identifier: Apache-2.0 */
#include "person.h"
#include "script.h"

static enum weir_status work(struct agent_case *c, struct weir_buf *out)
{
    return agent_work(c, "data_science", c->question, out);
}

static void begin(struct script *s, const char *question)
{
    script_init(s, question);
    person_add(s->d.c.data);
}

static size_t n_findings(const struct weir_json *result)
{
    return weir_json_count(weir_json_get_str(result, "findings"));
}

static const char mean_plan[] =
    "{\"op\":\"aggregate\",\"metric\":\"steps\",\"window\":{\"last_days\":30}}";

TEST(findings_come_from_the_plans_that_were_run)
{
    struct script s;
    begin(&s, "What is my average of steps?");
    script_call(&s, "data_science", "run_plan", mean_plan);
    script_text(&s, "data_science", "Your steps are 123456 a day.");
    const struct weir_json *out = script_ok(&s, work);
    T_EQ(s.n_asked, 2);
    T_OK(n_findings(out) >= 1);
    const struct weir_json *f = weir_json_first(weir_json_get_str(out, "findings"));
    T_EQ_STR(script_text_of(f, "id"), "ds-001");
    T_EQ_STR(script_text_of(f, "metric"), "steps");
    T_OK(!desk_holds(weir_buf_slice(&s.d.out), "123456"));
    T_OK(script_asked(&s, 0, "resting_heart_rate (bpm): 200 days 2024-12-01..2025-06-18"));
    T_OK(script_asked(&s, 0, "\"name\":\"run_plan\""));
    T_OK(script_asked(&s, 0, "weir/data_science v"));
    T_OK(script_asked(&s, 1, "tool_result"));
    T_OK(script_asked(&s, 1, "\\\"n\\\":30"));
    T_OK(script_asked(&s, 1, "\\\"window\\\""));
    T_OK(script_asked(&s, 1, "<data name=\\\"result\\\">"));
    T_OK(desk_saw(&s.d, "\"cost_usd\":0.5,"));
    script_fini(&s);
}

TEST(a_wrong_plan_is_answered_with_its_error_and_may_be_corrected)
{
    struct script s;
    begin(&s, "What is my average of steps?");
    script_call(&s, "data_science", "run_plan", "{\"op\":\"mean\",\"metric\":\"steps\"}");
    script_call(&s, "data_science", "run_plan", "{\"op\":\"aggregate\",\"metric\":\"stepz\"}");
    script_call(&s, "data_science", "run_plan", mean_plan);
    script_text(&s, "data_science", "Done.");
    T_OK(n_findings(script_ok(&s, work)) >= 1);
    T_OK(script_asked(&s, 1, "refused: op: "));
    T_OK(script_asked(&s, 1, "\"is_error\":true"));
    T_OK(script_asked(&s, 2, "stepz"));
    script_fini(&s);
}

TEST(after_three_repairs_there_is_no_answer)
{
    static const char *const wrong[] = {"{}", "{\"op\":\"aggregate\",\"metric\":\"credit_card\"}",
                                        "{\"op\":\"drop_table\"}", "{\"op\":7,\"metric\":[]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct script s;
        begin(&s, "What is my average of steps?");
        script_call(&s, "data_science", "run_plan", wrong[i]);
        T_EQ(script_run(&s, work), WEIR_UNPROCESSABLE);
        T_EQ(s.n_asked, 4);
        T_OK(s.d.c.why[0] != '\0');
        script_fini(&s);
    }
}

TEST(what_was_found_before_the_plans_went_wrong_stays)
{
    struct script s;
    begin(&s, "What is my average of steps?");
    script_call(&s, "data_science", "run_plan", mean_plan);
    script_call(&s, "data_science", "run_plan", "{}");
    T_OK(n_findings(script_ok(&s, work)) >= 1);
    script_fini(&s);
}

TEST(tools_that_do_not_exist_do_nothing)
{
    struct script s;
    begin(&s, "What is my average of steps?");
    script_call(&s, "data_science", "delete_all", "{\"really\":true}");
    script_call(&s, "data_science", "run_plan", mean_plan);
    script_text(&s, "data_science", "Done.");
    T_OK(n_findings(script_ok(&s, work)) >= 1);
    T_OK(script_asked(&s, 1, "and no other tool"));
    script_fini(&s);
}

TEST(of_ten_calls_at_once_eight_are_run)
{
    struct script s;
    struct weir_buf all;
    begin(&s, "How are my steps?");
    weir_buf_init(&all, 1 << 16);
    weir_buf_append_char(&all, '[');
    for (int i = 0; i < 10; i++)
        weir_buf_printf(&all,
                        "%s{\"type\":\"tool_use\",\"id\":\"c%d\",\"name\":\"run_plan\",\"input\":{"
                        "\"op\":\"aggregate\",\"metric\":\"steps\",\"stat\":\"sum\",\"window\":{"
                        "\"last_days\":%d}}}",
                        i > 0 ? "," : "", i, i + 2);
    weir_buf_append_str(&all, "]");
    weir_buf_append_char(&all, '\0');
    script_put(&s, "data_science", all.ptr);
    script_text(&s, "data_science", "Done.");
    T_EQ(n_findings(script_ok(&s, work)), 8);
    T_OK(script_asked(&s, 1, "\"tool_use_id\":\"c9\""));
    T_OK(script_asked(&s, 1, "too many calls at once"));
    weir_buf_fini(&all);
    script_fini(&s);
}

TEST(plans_and_rounds_have_an_end)
{
    struct script s;
    begin(&s, "How are my steps?");
    for (int i = 0; i < 20; i++) {
        char plan[160];
        snprintf(plan, sizeof plan,
                 "{\"op\":\"aggregate\",\"metric\":\"steps\",\"stat\":\"sum\",\"window\":{\"last_"
                 "days\":%d}}",
                 i + 2);
        script_call(&s, "data_science", "run_plan", plan);
    }
    T_EQ(n_findings(script_ok(&s, work)), 8);
    T_EQ(s.n_asked, 8);
    script_fini(&s);
}

TEST(the_same_plan_again_is_no_second_finding)
{
    struct script s;
    begin(&s, "What is my average of steps?");
    script_call(&s, "data_science", "run_plan", mean_plan);
    script_text(&s, "data_science", "Done.");
    size_t once = n_findings(script_ok(&s, work));
    script_fini(&s);
    begin(&s, "What is my average of steps?");
    script_call(&s, "data_science", "run_plan", mean_plan);
    script_call(&s, "data_science", "run_plan", mean_plan);
    script_text(&s, "data_science", "Done.");
    T_EQ(n_findings(script_ok(&s, work)), once);
    script_fini(&s);
}

TEST(relations_that_were_tried_are_counted)
{
    struct script s;
    begin(&s, "Do steps, stress or HRV go with my sleep?");
    script_put(&s, "data_science",
               "[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"run_plan\",\"input\":{\"op\":"
               "\"correlate\",\"metric\":\"steps\",\"with\":\"sleep_minutes\"}},{\"type\":"
               "\"tool_use\",\"id\":\"b\",\"name\":\"run_plan\",\"input\":{\"op\":\"correlate\","
               "\"metric\":\"hrv_rmssd\",\"with\":\"sleep_minutes\"}}]");
    script_call(&s, "data_science", "run_plan",
                "{\"op\":\"correlate\",\"metric\":\"stress_score\",\"with\":\"sleep_minutes\"}");
    script_text(&s, "data_science", "Done.");
    script_ok(&s, work);
    T_OK(desk_holds(weir_buf_slice(&s.d.out), "\"n_tests\":2"));
    T_OK(desk_holds(weir_buf_slice(&s.d.out), "\"n_tests\":3"));
    T_OK(!desk_holds(weir_buf_slice(&s.d.out), "week and drift"));
    script_fini(&s);
}

TEST(a_plan_that_was_written_down_is_run)
{
    struct script s;
    begin(&s, "What is my average of steps?");
    script_text(&s, "data_science", "{\"op\":\"mean\",\"metric\":\"steps\"}");
    script_text(&s, "data_science", "```json\n{\"op\":\"aggregate\",\"metric\":\"steps\"}\n```");
    script_text(&s, "data_science", "Done.");
    T_OK(n_findings(script_ok(&s, work)) >= 1);
    T_OK(script_asked(&s, 1, "refused: op: "));
    T_OK(script_asked(&s, 2, "<data name=\\\"result\\\">"));
    T_EQ(s.n_asked, 3);
    script_fini(&s);
}

TEST(laboratory_results_are_not_used_when_they_may_not_be)
{
    struct script s;
    begin(&s, "What is my LDL?");
    s.d.c.has_biomarkers = false;
    script_call(&s, "data_science", "run_plan",
                "{\"op\":\"aggregate\",\"lab\":\"ldl\",\"stat\":\"last\"}");
    script_text(&s, "data_science", "There is nothing.");
    const struct weir_json *out = script_ok(&s, work);
    T_EQ(n_findings(out), 0);
    T_OK(!script_asked(&s, 0, "laboratory tests:\\n"));
    T_OK(script_asked(&s, 1, "not to be used"));
    script_fini(&s);
}

TEST(what_was_not_measured_has_no_finding_and_no_number)
{
    struct script s;
    begin(&s, "What is my blood oxygen?");
    script_call(&s, "data_science", "run_plan",
                "{\"op\":\"aggregate\",\"metric\":\"blood_oxygen\"}");
    script_text(&s, "data_science", "It is 97 %.");
    const struct weir_json *out = script_ok(&s, work);
    T_EQ(n_findings(out), 0);
    T_OK(!desk_holds(script_text_of(out, "text"), "97"));
    T_OK(desk_holds(script_text_of(out, "text"), "No answer"));
    script_fini(&s);
}

TEST(memory_and_metrics_can_be_looked_up)
{
    struct script s;
    begin(&s, "How are my steps?");
    s.d.c.memory =
        desk_json(&s.d, SLICE("[{\"id\":\"m1\",\"category\":\"goal\",\"text\":\"Wants to "
                              "walk more\"},{\"id\":\"m2\",\"category\":\"preference\","
                              "\"text\":\"Prefers miles\"}]"));
    script_call(&s, "data_science", "lookup_memory", "{\"about\":\"walking, walk\"}");
    script_call(&s, "data_science", "list_metrics", "{}");
    script_text(&s, "data_science", "Nothing to do.");
    T_EQ(n_findings(script_ok(&s, work)), 0);
    T_OK(script_asked(&s, 1, "goal: Wants to walk more"));
    T_OK(!script_asked(&s, 1, "Prefers miles"));
    T_OK(script_asked(&s, 2, "workouts (sessions): run 67"));
    script_fini(&s);
}

TEST(an_answer_with_nothing_in_it_is_asked_for_again)
{
    static const char *const empty[] = {"[]",
                                        "",
                                        "null",
                                        "{\"a\":1}",
                                        "[{\"type\":\"tool_use\"}]",
                                        "[{\"type\":\"text\",\"text\":\"\"}]"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct script s;
        begin(&s, "How are my steps?");
        script_put(&s, "data_science", empty[i]);
        T_EQ(script_run(&s, work), WEIR_UNPROCESSABLE);
        T_EQ(s.n_asked, 4);
        script_fini(&s);
    }
}

TEST(a_refusal_brings_nothing_and_does_no_harm)
{
    struct script s;
    begin(&s, "How are my steps?");
    script_put(&s, "data_science", "[]");
    s.answers[0].stop = MODEL_STOP_REFUSED;
    const struct weir_json *out = script_ok(&s, work);
    T_EQ(n_findings(out), 0);
    T_OK(desk_holds(script_text_of(out, "text"), "No answer"));
    T_EQ(s.n_asked, 1);
    script_fini(&s);
}

TEST(what_affects_a_metric_is_searched_for_by_weir)
{
    struct script s;
    begin(&s, "What affects my sleep?");
    const struct weir_json *out = script_ok(&s, work);
    T_EQ(s.n_asked, 0);
    T_OK(desk_holds(script_text_of(out, "text"), "tests were tried"));
    script_fini(&s);
}

TEST(thinking_goes_back_with_the_call_that_it_led_to)
{
    struct script s;
    begin(&s, "How are my steps?");
    script_put(&s, "data_science",
               "[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\"},{\"type\":"
               "\"secret\",\"x\":1},{\"type\":\"text\",\"text\":\"Let me see. \"},{\"type\":"
               "\"tool_use\",\"id\":\"c1\",\"name\":\"list_metrics\",\"input\":{}}]");
    script_text(&s, "data_science", "Done.");
    script_ok(&s, work);
    T_OK(script_asked(&s, 1, "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\"}"));
    T_OK(!script_asked(&s, 1, "secret"));
    script_fini(&s);
}
