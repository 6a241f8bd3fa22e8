/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "desk.h"
#include "person.h"

/* One finding by hand, with its verdict and the entries of the sheet. */
struct row {
    const char *question, *kind, *metric, *plan, *answer, *verdict, *assessment, *sheet;
    const char *says; /* what the answer must hold; parts separated by '|' */
};

static void set_finding(struct desk *d, const struct row *r)
{
    struct weir_buf text;
    weir_buf_init(&text, 1 << 20);
    weir_buf_printf(&text,
                    "{\"agent\":\"data_science\",\"question\":\"q\",\"summary\":\"s\",\"text\":"
                    "\"t\",\"facts\":[],\"findings\":[{\"id\":\"ds-001\",\"claim\":\"c\",\"kind\":"
                    "\"%s\",\"metric\":\"%s\",\"plan\":%s,\"answer\":%s,\"entries\":%s}]}",
                    r->kind, r->metric, r->plan, r->answer, r->sheet);
    weir_buf_append_char(&text, 0);
    desk_set(d, "run_main_agent", text.ptr);
    weir_buf_reset(&text);
    bool is_rejected = strcmp(r->verdict, "rejected") == 0;
    weir_buf_printf(&text,
                    "{\"findings\":[{\"id\":\"ds-001\",\"verdict\":\"%s\",\"assessment\":\"%s\"}],"
                    "\"fact_sheet\":%s}",
                    r->verdict, r->assessment, is_rejected ? "[]" : r->sheet);
    weir_buf_append_char(&text, 0);
    desk_set(d, "validation_gates", text.ptr);
    weir_buf_fini(&text);
    desk_set(d, "route", "{\"main\":\"data_science\",\"supporting\":[],\"pattern\":\"data\"}");
}

static void check_says(struct weir_slice answer, const char *says)
{
    size_t at = 0;
    for (struct weir_slice p = alias_next(says, &at); p.len > 0; p = alias_next(says, &at)) {
        if (memmem(answer.ptr, answer.len, p.ptr, p.len)) continue;
        t_fail(__FILE__, __LINE__, "\"%.*s\" is not in: %.*s", (int)p.len, p.ptr, (int)answer.len,
               answer.ptr);
    }
}

/* The bytes that each number of the list names are that number. */
static void check_numbers(const struct weir_json *out)
{
    struct weir_slice answer = weir_json_text(weir_json_get_str(out, "answer"));
    const struct weir_json *n = weir_json_first(weir_json_get_str(out, "numbers"));
    for (int64_t start, end, at = 0; n; n = weir_json_next(n), at = end) {
        T_OK(weir_json_int64(weir_json_get_str(n, "start"), &start));
        T_OK(weir_json_int64(weir_json_get_str(n, "end"), &end));
        T_OK(at <= start && start < end && (size_t)end <= answer.len);
        T_EQ_SLICE(weir_json_text(weir_json_get_str(n, "text")),
                   ((struct weir_slice){answer.ptr + start, (size_t)(end - start)}));
    }
}

#define W90 "\"window\":\"2025-03-21 .. 2025-06-18\""
#define A90 "\"window\":{\"from\":\"2025-03-21\",\"to\":\"2025-06-18\"}"
#define E(name, value, unit, n)                                                                    \
    "{\"claim\":\"ds-001." name "\",\"value\":" value ",\"unit\":\"" unit                          \
    "\",\"source\":\"data_science\",\"n\":" n "," W90 "}"

static const struct row rows[] = {
    {"avg RHR?", "level", "resting_heart_rate",
     "{\"op\":\"aggregate\",\"metric\":\"resting_heart_rate\",\"stat\":\"mean\"}",
     "{\"value\":61.84,\"unit\":\"bpm\",\"n\":87," A90 "}", "validated", "consistent: x",
     "[" E("avg", "61.84", "bpm", "87") "]",
     "Your resting heart rate averaged **61.8 bpm**|(87 days with data)|from 21 March to 18 June "
     "2025"},
    {"sleep in the last 90 days?", "level", "sleep_minutes",
     "{\"op\":\"aggregate\",\"metric\":\"sleep_minutes\",\"stat\":\"mean\",\"window\":{\"last_"
     "days\":90}}",
     "{\"value\":432.4,\"unit\":\"min\",\"n\":80," A90 "}", "conditional",
     "uncertain: the mean of your sleep may not be typical of these days, but it is not the same "
     "in every part of these days",
     "[" E("avg", "432.4", "min", "80") "]",
     "averaged **7 h 12 min**|over the last 90 days|may not be typical|not the same in every part"},
    {"total steps", "value", "steps",
     "{\"op\":\"aggregate\",\"metric\":\"steps\",\"stat\":\"sum\"}",
     "{\"value\":743211,\"unit\":\"steps\",\"n\":90," A90 "}", "validated", "",
     "[" E("sum", "743211", "steps", "90") "]", "came to **743,211 steps** in total"},
    {"is my weight going down?", "trend", "weight",
     "{\"op\":\"trend\",\"metric\":\"weight\",\"per\":\"week\"}",
     "{\"value\":-0.11,\"unit\":\"kg/week\",\"n\":88," A90 "}", "validated", "consistent: x",
     "[" E("slope", "-0.11", "kg/week", "88") "," E("change", "-1.42", "kg", "88") "]",
     "Your weight fell by **about 1.4 kg**|0.11 kg a week"},
    {"is my weight going down?", "trend", "weight",
     "{\"op\":\"trend\",\"metric\":\"weight\",\"per\":\"week\"}",
     "{\"value\":-0.11,\"unit\":\"kg/week\",\"n\":88," A90 "}", "conditional",
     "uncertain: your weight may have fallen over these days, but not every method finds it",
     "[" E("slope", "-0.11", "kg/week", "88") "," E("change", "-1.42", "kg", "88") "]",
     "may have fallen|This is uncertain: not every method finds it"},
    {"is my weight going down?", "trend", "weight",
     "{\"op\":\"trend\",\"metric\":\"weight\",\"per\":\"week\"}",
     "{\"value\":-0.11,\"unit\":\"kg/week\",\"n\":8," A90 "}", "rejected",
     "not supported: these days show no trend of your weight, for there are too few days to tell",
     "[" E("slope", "-0.11", "kg/week", "88") "]",
     "Your data show no trend of your weight|: there are too few days to tell."},
    {"do I sleep longer on weekends?", "weekdays", "sleep_minutes",
     "{\"op\":\"compare\",\"metric\":\"sleep_minutes\",\"stat\":\"mean\",\"where\":[{\"weekdays\":"
     "\"weekend\"}],\"b\":{\"where\":[{\"weekdays\":\"workweek\"}]}}",
     "{\"value\":23.2,\"unit\":\"min\",\"n\":90," A90 ",\"window_b\":{\"from\":\"2025-03-21\","
     "\"to\":\"2025-06-18\"}}",
     "validated", "consistent: x",
     "[" E("a", "460.2", "min", "26") "," E("b", "437", "min", "64") "," E("diff", "23.2", "min",
                                                                           "90") "]",
     "Your sleep was **about 23 min** longer on weekends than on weekdays|(7 h 40 min against 7 "
     "h 17 min)"},
    {"do steps go with sleep?", "pair", "steps",
     "{\"op\":\"correlate\",\"metric\":\"steps\",\"with\":\"sleep_minutes\",\"lag_days\":1}",
     "{\"value\":0.374,\"unit\":\"r\",\"n\":87," A90 "}", "validated", "consistent: x",
     "[" E("r", "0.374", "r", "87") "]",
     "Days with higher steps tend to be followed by higher sleep on the next day (r = 0.37)|not a "
     "cause"},
    {"how many days over 10k steps?", "value", "steps",
     "{\"op\":\"count\",\"metric\":\"steps\",\"having\":{\"cmp\":\">\",\"value\":10000}}",
     "{\"value\":12,\"unit\":\"days\",\"n\":90," A90 "}", "validated", "",
     "[" E("count", "12", "days", "90") "," E("share", "13.33", "%", "90") "]",
     "There were **12 days** with steps above 10,000 from|out of 90 days with data"},
    {"usual bedtime", "level", "bedtime",
     "{\"op\":\"aggregate\",\"metric\":\"bedtime\",\"stat\":\"mean\"}",
     "{\"value\":1396,\"unit\":\"clock\",\"clock\":\"23:16\",\"n\":87," A90 "}", "validated",
     "consistent: x", "[" E("avg", "1396", "clock", "87") "]",
     "Your bedtime was, on average, **23:16**"},
    {"which weekday do I sleep longest?", "value", "sleep_minutes",
     "{\"op\":\"group\",\"metric\":\"sleep_minutes\",\"stat\":\"mean\",\"by\":\"weekday\",\"pick\":"
     "\"max\"}",
     "{\"value\":\"Sunday\",\"unit\":\"weekday\",\"n\":90," A90 "}", "validated", "",
     "[" E("max", "490", "min", "13") "]",
     "longest on **Sundays**, with an average of **8 h 10 min** from"},
    {"anything interesting?", "weekdays", "sleep_minutes",
     "{\"op\":\"compare\",\"metric\":\"sleep_minutes\",\"stat\":\"mean\",\"where\":[{\"weekdays\":"
     "[\"Saturday\"]}],\"b\":{\"where\":[{\"weekdays\":[\"Saturday\"],\"not\":true}]}}",
     "{\"value\":23.2,\"unit\":\"min\",\"n\":90," A90 ",\"window_b\":{\"from\":\"2025-03-21\","
     "\"to\":\"2025-06-18\"}}",
     "validated", "consistent: x",
     "[" E("a", "460.2", "min", "26") "," E("b", "437", "min", "64") "," E("diff", "23.2", "min",
                                                                           "90") "]",
     "longer on Saturdays than on other days from"},
};

TEST(findings_of_each_kind_are_said_and_every_number_has_a_home)
{
    struct desk d;
    desk_init(&d, "");
    person_add(d.c.data);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        desk_ask(&d, rows[i].question);
        set_finding(&d, &rows[i]);
        weir_buf_reset(&d.thoughts);
        const struct weir_json *out = desk_run(&d, agent_synthesize);
        struct weir_slice answer = weir_json_text(weir_json_get_str(out, "answer"));
        check_says(answer, rows[i].says);
        T_EQ_SLICE(weir_buf_slice(&d.thoughts), answer);
        T_EQ(weir_json_count(weir_json_get_str(out, "flagged")), 0);
        check_numbers(out);
    }
    desk_fini(&d);
}

TEST(each_number_of_the_answer_names_its_entry)
{
    struct desk d;
    desk_init(&d, rows[0].question);
    person_add(d.c.data);
    set_finding(&d, &rows[0]);
    const struct weir_json *out = desk_run(&d, agent_synthesize);
    const struct weir_json *list = weir_json_get_str(out, "numbers");
    T_EQ(weir_json_count(list), 2); /* the dates need none */
    const struct weir_json *first = weir_json_first(list), *second = weir_json_next(first);
    T_EQ_STR(weir_json_text(weir_json_get_str(first, "text")), "61.8 bpm");
    T_EQ_STR(weir_json_text(weir_json_get_str(first, "claim")), "ds-001.avg");
    T_EQ_STR(weir_json_text(weir_json_get_str(second, "text")), "87 days");
    T_EQ_STR(weir_json_text(weir_json_get_str(second, "claim")), "ds-001.avg");
    desk_fini(&d);
}

/* The sheet has another number than the finding: the clause goes, then the sentence, then all. */
TEST(a_number_without_a_home_is_asked_for_again_and_then_removed)
{
    struct desk d;
    struct row r = rows[0];
    desk_init(&d, r.question);
    person_add(d.c.data);
    r.sheet = "[" E("avg", "61.84", "bpm", "87") "]";
    set_finding(&d, &r);
    desk_set(&d, "run_supporting_agents",
             "{\"domain_expert\":{\"agent\":\"domain_expert\",\"text\":\"t\",\"findings\":[],"
             "\"says\":[{\"text\":\"Most people have 71.3 bpm.\"},{\"text\":\"Lower is often "
             "better.\"}],\"caveats\":["
             "\"Of 15 devices some differ.\"]}}");
    const struct weir_json *out = desk_run(&d, agent_synthesize);
    struct weir_slice answer = weir_json_text(weir_json_get_str(out, "answer"));
    int64_t attempts = 0;
    T_OK(weir_json_int64(weir_json_get_str(out, "attempts"), &attempts));
    T_EQ(attempts, 3);
    T_OK(desk_holds(answer, "61.8 bpm"));
    T_OK(desk_holds(answer, "Lower is often better."));
    T_OK(!desk_holds(answer, "71.3"));
    T_OK(!desk_holds(answer, "15 devices"));
    T_OK(weir_json_count(weir_json_get_str(out, "flagged")) > 2);
    T_EQ(weir_json_count(weir_json_get_str(out, "removed")), 1);
    T_OK(weir_json_count(weir_json_get_str(out, "numbers")) > 0); /* of what is left */
    check_numbers(out);
    desk_fini(&d);
}

TEST(an_answer_of_which_nothing_is_left_fails)
{
    struct desk d;
    desk_init(&d, "is 5 normal?");
    desk_set(&d, "route", "{\"main\":\"health_coach\",\"supporting\":[],\"pattern\":\"coach\"}");
    desk_set(&d, "run_main_agent",
             "{\"agent\":\"health_coach\",\"says\":[\"It is 77.7 bpm.\"],\"findings\":[]}");
    desk_set(&d, "validation_gates", "{\"findings\":[],\"fact_sheet\":[]}");
    T_EQ(agent_synthesize(&d.c, &d.out), WEIR_UNPROCESSABLE);
    T_OK(d.c.why[0] != 0);
    T_EQ(d.n_thoughts, 0);
    desk_fini(&d);
}

TEST(preferences_of_memory_change_units_and_length)
{
    struct desk d;
    struct row r = rows[3];
    desk_init(&d, r.question);
    person_add(d.c.data);
    set_finding(&d, &r);
    d.c.memory = desk_json(
        &d, weir_slice_of("[{\"id\":\"m\",\"category\":\"preference\",\"text\":\"t\",\"data\":{"
                          "\"units\":{\"mass\":\"lb\"},\"style\":\"short\"}}]"));
    const struct weir_json *out = desk_run(&d, agent_synthesize);
    check_says(weir_json_text(weir_json_get_str(out, "answer")), "about 3.1 lb");
    T_EQ(weir_json_count(weir_json_get_str(out, "flagged")), 0);
    desk_fini(&d);
}

TEST(synthesis_is_bracketed_and_its_tokens_carry_the_main_agent)
{
    struct desk d;
    desk_init(&d, rows[0].question);
    person_add(d.c.data);
    set_finding(&d, &rows[0]);
    desk_run(&d, agent_synthesize);
    T_OK(desk_saw(&d, "agent.started {\"agent\":\"synthesis\""));
    T_OK(desk_saw(&d, "agent.thought {\"agent\":\"data_science\",\"channel\":\"synthesis\","));
    T_OK(desk_saw(&d, "agent.completed {\"agent\":\"synthesis\""));
    desk_fini(&d);
}

TEST(nobody_routed_gets_conversation_and_danger_gets_help)
{
    struct desk d;
    desk_init(&d, "thanks!");
    desk_set(&d, "route",
             "{\"main\":null,\"supporting\":[],\"pattern\":\"thanks\",\"safety\":null}");
    const struct weir_json *out = desk_run(&d, agent_synthesize);
    check_says(weir_json_text(weir_json_get_str(out, "answer")), "You're welcome");
    desk_set(&d, "route",
             "{\"main\":null,\"supporting\":[],\"pattern\":\"safety\",\"safety\":\"emergency\"}");
    out = desk_run(&d, agent_synthesize);
    check_says(weir_json_text(weir_json_get_str(out, "answer")), "your local emergency number");
    T_EQ(weir_json_count(weir_json_get_str(out, "flagged")), 0);
    desk_fini(&d);
}

TEST(what_the_data_cannot_answer_is_said_without_a_number)
{
    struct desk d;
    desk_init(&d, "my oxygen?");
    desk_set(&d, "route", "{\"main\":\"data_science\",\"supporting\":[],\"pattern\":\"data\"}");
    desk_set(&d, "run_main_agent",
             "{\"agent\":\"data_science\",\"summary\":\"s\",\"text\":\"No data for blood oxygen. "
             "\",\"findings\":[],\"facts\":[]}");
    desk_set(&d, "validation_gates", "{\"findings\":[],\"fact_sheet\":[]}");
    const struct weir_json *out = desk_run(&d, agent_synthesize);
    check_says(weir_json_text(weir_json_get_str(out, "answer")),
               "There are no data for blood oxygen.");
    desk_fini(&d);
}
