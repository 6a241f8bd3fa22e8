/* SPDX-License-Identifier: Apache-2.0 */
#include "days.h"
#include "person.h"
#include "script.h"

static enum weir_status work(struct agent_case *c, struct weir_buf *out)
{
    return agent_work(c, "domain_expert", c->question, out);
}

static void begin(struct script *s, const char *question)
{
    script_init(s, question);
    person_add(s->d.c.data);
}

static struct weir_slice last_says(const struct weir_json *out)
{
    const struct weir_json *list = weir_json_get_str(out, "says");
    return text_at(member_at(list, weir_json_count(list) - 1), "text");
}

TEST(words_about_rows_of_the_table_are_taken)
{
    struct script s;
    begin(&s, "Is an LDL of 124 a concern?");
    script_text(&s, "domain_expert",
                "Your 124 mg/dL lies from 100 to below 130 mg/dL (NCEP ATP III).");
    const struct weir_json *out = script_ok(&s, work);
    T_EQ_STR(last_says(out), "Your 124 mg/dL lies from 100 to below 130 mg/dL (NCEP ATP III).");
    T_EQ(s.n_asked, 1);
    T_OK(script_asked(&s, 0, "to below 130 mg/dL (NCEP ATP III)"));
    T_OK(script_asked(&s, 0, "\"name\":\"lookup_fact\""));
    T_EQ(days_lacking(&s.d, out, "summary"), 0);
    script_fini(&s);
}

TEST(what_is_looked_up_becomes_facts)
{
    struct script s;
    begin(&s, "How should I read all this?");
    script_call(&s, "domain_expert", "lookup_fact", "{\"subject\":\"resting_heart_rate\"}");
    script_text(&s, "domain_expert", "From 60 to below 100 bpm is usual.");
    const struct weir_json *out = script_ok(&s, work);
    T_EQ_STR(last_says(out), "From 60 to below 100 bpm is usual.");
    T_OK(script_asked(&s, 1, "resting heart rate: "));
    T_OK(weir_json_count(weir_json_get_str(out, "facts")) > 0);
    script_fini(&s);
}

TEST(a_limit_that_is_in_no_row_is_asked_for_again_and_then_goes)
{
    struct script s;
    begin(&s, "Is an LDL of 124 a concern?");
    script_text(&s, "domain_expert", "Anything above 97 mg/dL kills. Ask your doctor about it.");
    const struct weir_json *out = script_ok(&s, work);
    T_EQ_STR(last_says(out), "Ask your doctor about it.");
    T_EQ(s.n_asked, 3);
    T_OK(script_asked(&s, 1, "97 mg/dL"));
    T_OK(!desk_holds(weir_buf_slice(&s.d.out), "97 mg"));
    script_fini(&s);
}

TEST(unknown_subjects_and_tools_bring_nothing)
{
    struct script s;
    begin(&s, "How should I read all this?");
    script_call(&s, "domain_expert", "lookup_fact", "{\"subject\":\"nuclear_codes\"}");
    script_call(&s, "domain_expert", "run_plan", "{\"op\":\"list\",\"metric\":\"steps\"}");
    script_text(&s, "domain_expert", "The table has nothing about it.");
    const struct weir_json *out = script_ok(&s, work);
    T_EQ(weir_json_count(weir_json_get_str(out, "facts")), 0);
    T_OK(script_asked(&s, 1, "no such subject"));
    T_OK(script_asked(&s, 2, "no other tool"));
    script_fini(&s);
}

TEST(a_dangerous_value_gets_its_words_whatever_a_model_says)
{
    struct script s;
    begin(&s, "My blood pressure is 210/130, is that fine?");
    script_text(&s, "domain_expert", "That is perfectly fine.");
    const struct weir_json *out = script_ok(&s, work);
    T_OK(weir_json_count(weir_json_get_str(out, "urgent")) > 0);
    script_fini(&s);
}

TEST(words_about_the_person_s_value_go_with_its_finding)
{
    struct script s;
    begin(&s, "Is my LDL too high?");
    script_text(&s, "domain_expert", "That is a little high.");
    const struct weir_json *out = script_ok(&s, work);
    const struct weir_json *list = weir_json_get_str(out, "says");
    const struct weir_json *last = member_at(list, weir_json_count(list) - 1);
    T_EQ_STR(text_at(last, "finding"), "de-001");
    script_fini(&s);
}

TEST(nothing_said_leaves_our_own_sentences)
{
    static const char *const empty[] = {"", "[]", "[{\"type\":\"text\",\"text\":\"  \"}]", "7"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct script s;
        begin(&s, "Is an LDL of 124 a concern?");
        script_put(&s, "domain_expert", empty[i]);
        const struct weir_json *out = script_ok(&s, work);
        T_OK(desk_holds(last_says(out), "124"));
        script_fini(&s);
    }
}

TEST(lookups_have_an_end)
{
    struct script s;
    begin(&s, "How should I read all this?");
    script_call(&s, "domain_expert", "lookup_fact", "{\"subject\":\"ldl\"}");
    const struct weir_json *out = script_ok(&s, work);
    T_EQ(s.n_asked, 6);
    T_OK(weir_json_count(weir_json_get_str(out, "says")) > 0);
    script_fini(&s);
}
