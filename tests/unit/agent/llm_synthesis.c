/* SPDX-License-Identifier: Apache-2.0 */
#include "person.h"
#include "script.h"

#define ENTRY(name, value, verdict)                                                                \
    "{\"claim\":\"ds-001." name "\",\"value\":" value                                              \
    ",\"unit\":\"bpm\",\"source\":\"data_science\",\"n\":88,\"window\":\"2025-01-01 .. "           \
    "2025-03-31\"" verdict "}"

/* One finding by hand, with its verdict. */
static void begin(struct script *s, const char *verdict)
{
    char text[2000];
    bool is_conditional = strcmp(verdict, "conditional") == 0;
    script_init(s, "Is my resting heart rate falling?");
    desk_set(&s->d, "route", "{\"main\":\"data_science\",\"supporting\":[],\"pattern\":\"model\"}");
    desk_set(
        &s->d, "run_main_agent",
        "{\"agent\":\"data_science\",\"question\":\"q\",\"summary\":\"s\",\"text\":\"Looked. No "
        "data for weight. \",\"facts\":[],\"findings\":[{\"id\":\"ds-001\",\"claim\":\"resting "
        "heart rate fell\",\"kind\":\"trend\",\"metric\":\"resting_heart_rate\",\"plan\":{"
        "\"op\":\"trend\",\"metric\":\"resting_heart_rate\"},\"answer\":{\"value\":-0.2},"
        "\"entries\":[]}]}");
    snprintf(text, sizeof text,
             "{\"findings\":[{\"id\":\"ds-001\",\"verdict\":\"%s\",\"assessment\":\"so and so\"}],"
             "\"fact_sheet\":[%s]}",
             verdict,
             strcmp(verdict, "rejected") == 0 ? ""
             : is_conditional ? ENTRY("change", "-2.1", ",\"verdict\":\"conditional\"")
                              : ENTRY("change", "-2.1", ""));
    desk_set(&s->d, "validation_gates", text);
}

TEST(an_answer_whose_numbers_have_homes_is_streamed_as_it_is)
{
    struct script s;
    begin(&s, "validated");
    script_text(&s, "synthesis", "Yes: it fell by **2.1 bpm** (88 days with data).");
    const struct weir_json *out = script_ok(&s, agent_synthesize);
    T_EQ_STR(script_text_of(out, "answer"), "Yes: it fell by **2.1 bpm** (88 days with data).");
    T_EQ_STR(weir_buf_slice(&s.d.thoughts), "Yes: it fell by **2.1 bpm** (88 days with data).");
    T_EQ(s.n_asked, 1);
    T_OK(script_asked(&s, 0, "ds-001.change = -2.1 bpm (n 88, 2025-01-01 .. 2025-03-31)"));
    T_OK(script_asked(&s, 0, "ds-001 validated: resting heart rate fell; so and so"));
    T_OK(script_asked(&s, 0, "data: No data for weight."));
    T_OK(desk_saw(&s.d, "\"channel\":\"synthesis\""));
    T_OK(desk_saw(&s.d, "\"cost_usd\":0.25"));
    script_fini(&s);
}

TEST(a_number_without_a_home_is_named_and_asked_for_again)
{
    struct script s;
    begin(&s, "validated");
    script_text(&s, "synthesis", "It fell by 7.7 bpm.");
    script_text(&s, "synthesis", "It fell by 2.1 bpm.");
    const struct weir_json *out = script_ok(&s, agent_synthesize);
    T_EQ_STR(script_text_of(out, "answer"), "It fell by 2.1 bpm.");
    T_EQ(s.n_asked, 2);
    T_OK(script_asked(&s, 1, "7.7 bpm"));
    T_OK(script_asked(&s, 1, "has no home"));
    T_EQ(weir_json_count(weir_json_get_str(out, "flagged")), 1);
    T_OK(!desk_saw(&s.d, "7.7"));
    script_fini(&s);
}

TEST(after_the_third_attempt_the_sentence_goes)
{
    struct script s;
    begin(&s, "validated");
    script_text(&s, "synthesis", "It fell by 2.1 bpm. Your risk is 99.5 percent.");
    const struct weir_json *out = script_ok(&s, agent_synthesize);
    T_EQ_STR(script_text_of(out, "answer"), "It fell by 2.1 bpm.");
    const struct weir_json *numbers = weir_json_get_str(out, "numbers");
    T_EQ(s.n_asked, 3);
    T_EQ(weir_json_count(numbers), 1);
    T_EQ_STR(script_text_of(weir_json_first(numbers), "text"), "2.1 bpm");
    T_EQ_STR(script_text_of(weir_json_first(numbers), "claim"), "ds-001.change");
    T_EQ(weir_json_count(weir_json_get_str(out, "removed")), 1);
    T_EQ_STR(weir_json_text(weir_json_first(weir_json_get_str(out, "removed"))),
             "Your risk is 99.5 percent.");
    T_OK(!desk_saw(&s.d, "99.5"));
    script_fini(&s);
}

TEST(an_answer_of_which_nothing_is_left_fails)
{
    static const char *const texts[] = {"Your risk is 99.5 percent.", "", "   \n",
                                        "1 2 3 4 5 6 7.7"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct script s;
        begin(&s, "validated");
        script_text(&s, "synthesis", texts[i]);
        T_EQ(script_run(&s, agent_synthesize), WEIR_UNPROCESSABLE);
        T_EQ(s.n_asked, 3);
        script_fini(&s);
    }
}

TEST(what_is_uncertain_is_hedged_by_the_model_or_by_us)
{
    struct script s;
    begin(&s, "conditional");
    script_text(&s, "synthesis", "It fell by 2.1 bpm.");
    script_text(&s, "synthesis", "It may have fallen by 2.1 bpm.");
    T_EQ_STR(script_text_of(script_ok(&s, agent_synthesize), "answer"),
             "It may have fallen by 2.1 bpm.");
    T_OK(script_asked(&s, 1, "stated as certain, but it is conditional"));
    script_fini(&s);
    begin(&s, "conditional");
    script_text(&s, "synthesis", "It fell by 2.1 bpm.");
    T_EQ_STR(script_text_of(script_ok(&s, agent_synthesize), "answer"),
             "It fell by 2.1 bpm. (This is uncertain.)");
    script_fini(&s);
    begin(&s, "conditional");
    script_text(&s, "synthesis", "| a | b |\n|---|---|\n| change | -2.1 bpm |");
    T_OK(desk_holds(script_text_of(script_ok(&s, agent_synthesize), "answer"),
                    "Some of this is uncertain."));
    script_fini(&s);
}

TEST(of_what_was_rejected_neither_claim_nor_number_is_told)
{
    struct script s;
    begin(&s, "rejected");
    script_text(&s, "synthesis", "It fell by 2.1 bpm. The data do not show a trend.");
    T_EQ_STR(script_text_of(script_ok(&s, agent_synthesize), "answer"),
             "The data do not show a trend.");
    T_OK(!script_asked(&s, 0, "resting heart rate fell"));
    T_OK(script_asked(&s, 0, "<data name=\\\"facts\\\">\\n(none)"));
    script_fini(&s);
}

static void look_at_90_days(struct script *s)
{
    begin(s, "rejected");
    desk_set(
        &s->d, "run_main_agent",
        "{\"agent\":\"data_science\",\"text\":\"\",\"facts\":[],\"findings\":[{\"id\":"
        "\"ds-001\",\"claim\":\"c\",\"kind\":\"trend\",\"window\":\"2025-03-21 .. 2025-06-18\","
        "\"plan\":{\"op\":\"trend\",\"metric\":\"resting_heart_rate\",\"window\":{\"last_days\":"
        "90}},\"answer\":{},\"entries\":[]}]}");
}

TEST(windows_that_were_looked_at_may_be_named)
{
    struct script s;
    look_at_90_days(&s);
    script_text(&s, "synthesis",
                "The last 90 days, from 21 March to 18 June 2025, do not show a trend.");
    T_OK(desk_holds(script_text_of(script_ok(&s, agent_synthesize), "answer"), "The last 90 days"));
    T_EQ(s.n_asked, 1);
    script_fini(&s);
}

TEST(length_of_a_window_is_no_number_for_other_things)
{
    struct script s;
    look_at_90_days(&s);
    script_text(&s, "synthesis", "It is about 90. The last 90 days do not show a trend.");
    T_EQ_STR(script_text_of(script_ok(&s, agent_synthesize), "answer"),
             "The last 90 days do not show a trend.");
    script_fini(&s);
}

TEST(links_and_pictures_do_not_reach_the_person)
{
    struct script s;
    begin(&s, "validated");
    script_text(&s, "synthesis",
                "It fell. ![x](https://evil.example/?d=2.1) [More](http://evil.example) "
                "<img src=\"//evil.example\">");
    struct weir_slice answer = script_text_of(script_ok(&s, agent_synthesize), "answer");
    T_OK(!desk_holds(answer, "evil"));
    T_OK(desk_holds(answer, "It fell."));
    script_fini(&s);
}

TEST(a_text_that_was_cut_off_is_asked_for_again_and_ends_with_a_sentence)
{
    struct script s;
    begin(&s, "validated");
    script_text(&s, "synthesis", "It fell by 2.1 bpm. And furthermore it is to be");
    s.answers[0].stop = MODEL_STOP_LENGTH;
    T_EQ_STR(script_text_of(script_ok(&s, agent_synthesize), "answer"), "It fell by 2.1 bpm.");
    T_EQ(s.n_asked, 3);
    script_fini(&s);
}

TEST(words_of_help_are_never_a_model_s)
{
    struct script s;
    script_init(&s, "I want to kill myself");
    desk_set(&s.d, "route",
             "{\"main\":null,\"supporting\":[],\"pattern\":\"safety\",\"safety\":\"self_harm\"}");
    script_text(&s, "fallback", "Cheer up!");
    T_OK(desk_holds(script_text_of(script_ok(&s, agent_synthesize), "answer"), "crisis line"));
    T_EQ(s.n_asked, 0);
    script_fini(&s);
}

TEST(help_that_cannot_wait_comes_first_in_our_words)
{
    struct script s;
    begin(&s, "validated");
    desk_set(
        &s.d, "run_supporting_agents",
        "{\"domain_expert\":{\"agent\":\"domain_expert\",\"findings\":[],\"facts\":[],\"says\":"
        "[{\"text\":\"said of it\",\"finding\":null}],\"caveats\":[\"mind this\"],\"urgent\":["
        "\"**Get help now.**\"]}}");
    script_text(&s, "synthesis", "It fell by 2.1 bpm.");
    T_EQ_STR(script_text_of(script_ok(&s, agent_synthesize), "answer"),
             "**Get help now.**\n\nIt fell by 2.1 bpm.");
    T_OK(script_asked(&s, 0, "expert: said of it\\nexpert, caveat: mind this"));
    script_fini(&s);
}

TEST(a_briefing_has_words_of_its_own)
{
    struct script s;
    begin(&s, "validated");
    desk_set(&s.d, "route", "{\"main\":\"investigator\",\"supporting\":[],\"pattern\":\"vague\"}");
    script_text(&s, "briefing", "What stands out: it fell by 2.1 bpm.");
    T_EQ_STR(script_text_of(script_ok(&s, agent_synthesize), "answer"),
             "What stands out: it fell by 2.1 bpm.");
    T_EQ(s.n_asked, 1);
    script_fini(&s);
}

/* ---- small talk ---- */

static struct weir_slice talk(struct script *s, const char *question, const char *text)
{
    script_init(s, question);
    person_add(s->d.c.data);
    desk_set(&s->d, "route", "{\"main\":null,\"supporting\":[],\"pattern\":\"greeting\"}");
    script_text(s, "fallback", text);
    return script_text_of(script_ok(s, agent_synthesize), "answer");
}

TEST(small_talk_has_no_number_but_the_person_s)
{
    struct script s;
    T_EQ_STR(talk(&s, "Hi, I am 40!", "Hello! Being 40 is fine. You slept 7.5 hours."),
             "Hello! Being 40 is fine.");
    T_EQ(s.n_asked, 1);
    T_OK(script_asked(&s, 0, "\"role\":\"fast\""));
    T_OK(script_asked(&s, 0, "resting heart rate"));
    script_fini(&s);
    T_OK(desk_holds(talk(&s, "Hi", "You slept 7.5 hours."), "Ask me about your own health data"));
    script_fini(&s);
    T_OK(desk_holds(talk(&s, "Hi", ""), "Ask me about your own health data"));
    script_fini(&s);
}
