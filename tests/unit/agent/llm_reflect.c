/* SPDX-License-Identifier: Apache-2.0 */
#include "person.h"
#include "script.h"

static void begin(struct script *s)
{
    script_init(s, "Did my steps drop?");
    person_add(s->d.c.data);
    desk_set(&s->d, "run_main_agent",
             "{\"agent\":\"data_science\",\"question\":\"Did my steps drop?\",\"text\":\"t\","
             "\"facts\":[],\"findings\":[{\"id\":\"ds-001\",\"claim\":\"steps fell\",\"window\":"
             "\"2025-06-10 .. 2025-06-18\",\"answer\":{\"value\":-5,\"n\":6}}]}");
}

static size_t n_follow_ups(const struct weir_json *out)
{
    return weir_json_count(weir_json_get_str(out, "follow_ups"));
}

TEST(a_follow_up_is_asked_of_the_data_scientist)
{
    struct script s;
    begin(&s);
    script_object(&s, "reflection",
                  "{\"follow_ups\":[\"What is the trend of my steps over the last 90 days?\"]}");
    script_call(&s, "data_science", "run_plan",
                "{\"op\":\"trend\",\"metric\":\"steps\",\"window\":{\"last_days\":90}}");
    script_text(&s, "data_science", "Done.");
    const struct weir_json *out = script_ok(&s, agent_reflect);
    T_EQ(n_follow_ups(out), 1);
    const struct weir_json *f = weir_json_first(weir_json_get_str(out, "follow_ups"));
    T_EQ_STR(script_text_of(f, "question"), "What is the trend of my steps over the last 90 days?");
    const struct weir_json *result = weir_json_get_str(f, "result");
    const struct weir_json *finding = weir_json_first(weir_json_get_str(result, "findings"));
    T_EQ_STR(script_text_of(finding, "id"), "ds-002");
    T_OK(script_asked(&s, 0, "steps fell (2025-06-10 .. 2025-06-18)"));
    T_EQ(s.n_asked, 3);
    script_fini(&s);
}

TEST(a_follow_up_that_no_plan_is_made_of_is_left_out)
{
    struct script s;
    begin(&s);
    script_object(&s, "reflection", "{\"follow_ups\":[\"And my shoes?\",\"And my steps?\"]}");
    for (int i = 0; i < 4; i++) script_call(&s, "data_science", "run_plan", "{}");
    script_call(&s, "data_science", "run_plan", "{\"op\":\"aggregate\",\"metric\":\"steps\"}");
    script_text(&s, "data_science", "Done.");
    const struct weir_json *out = script_ok(&s, agent_reflect);
    T_EQ(n_follow_ups(out), 1);
    const struct weir_json *f = weir_json_first(weir_json_get_str(out, "follow_ups"));
    T_EQ_STR(script_text_of(f, "question"), "And my steps?");
    script_fini(&s);
}

TEST(most_answers_need_none)
{
    struct script s;
    begin(&s);
    script_object(&s, "reflection", "{\"follow_ups\":[]}");
    T_EQ(n_follow_ups(script_ok(&s, agent_reflect)), 0);
    T_EQ(s.n_asked, 1);
    script_fini(&s);
}

TEST(what_was_asked_already_is_not_asked_again)
{
    struct script s;
    begin(&s);
    script_object(&s, "reflection", "{\"follow_ups\":[\"did my STEPS drop?\"]}");
    T_EQ(n_follow_ups(script_ok(&s, agent_reflect)), 0);
    script_fini(&s);
}

TEST(an_answer_that_cannot_be_read_asks_for_nothing)
{
    static const char *const wrong[] = {
        "{}",
        "{\"follow_ups\":\"x\"}",
        "{\"follow_ups\":[1]}",
        "{\"follow_ups\":[\"a\",\"b\",\"c\"]}",
        "{\"follow_ups\":[\"\"]}",
        "{\"follow_ups\":[{\"agent\":\"root\"}]}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct script s;
        begin(&s);
        script_object(&s, "reflection", wrong[i]);
        T_EQ(n_follow_ups(script_ok(&s, agent_reflect)), 0);
        T_EQ(s.n_asked, 4);
        script_fini(&s);
    }
}

TEST(beside_others_nothing_is_asked)
{
    struct script s;
    begin(&s);
    desk_set(&s.d, "run_main_agent", "{\"agent\":\"health_coach\",\"findings\":[]}");
    T_EQ(n_follow_ups(script_ok(&s, agent_reflect)), 0);
    T_EQ(s.n_asked, 0);
    script_fini(&s);
}
