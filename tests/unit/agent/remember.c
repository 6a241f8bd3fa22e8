/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "desk.h"
#include "person.h"

static void describe(struct desk *d, const char *said, char *out, size_t cap)
{
    size_t n = 0;
    desk_ask(d, said);
    const struct weir_json *entries = weir_json_get_str(desk_run(d, agent_remember), "entries");
    out[0] = 0;
    for (const struct weir_json *e = weir_json_first(entries); e; e = weir_json_next(e)) {
        struct weir_slice category = weir_json_text(weir_json_get_str(e, "category"));
        struct weir_slice text = weir_json_text(weir_json_get_str(e, "text"));
        n += (size_t)snprintf(out + n, cap - n, "%s%.*s: %.*s", n > 0 ? "; " : "",
                              (int)category.len, category.ptr, (int)text.len, text.ptr);
    }
}

TEST(goals_and_preferences_are_remembered_and_nothing_else)
{
    static const struct {
        const char *said, *entries;
    } rows[] = {
        {"I want to sleep 8 hours", "goal: Wants to sleep 8 hours"},
        {"my goal is 10k steps", "goal: Goal: 10k steps"},
        {"I'd like to lose 5 kg before summer, where do I start?",
         "goal: Wants to lose 5 kg before summer"},
        {"I'm trying to lower my resting heart rate. How is it going?",
         "goal: Wants to lower my resting heart rate"},
        {"I'm training for a marathon", "goal: Goal: a marathon"},
        {"please use kilometres", "preference: Prefers kilometres"},
        {"keep it short please", "preference: Prefers short answers"},
        {"I'm vegetarian", "preference: Diet: vegetarian"},
        {"I prefer pounds, thanks", "preference: Prefers pounds"},
        {"I want to know my average steps", ""},
        {"I want to see my sleep", ""},
        {"what if I want to sleep 8 hours?", ""},
        {"If I wanted to lose weight, how would I do it?", ""},
        {"my wife wants to sleep 8 hours", ""},
        {"should I want to run more?", ""},
        {"I don't want to run", ""},
        {"how far did I run in miles?", ""},
        {"I used to be vegan", ""},
        {"Is my friend vegetarian?", ""},
        {"I want to get an overview of my sleep", ""},
        {"avg RHR?", ""},
    };
    struct desk d;
    char got[1000];
    desk_init(&d, "");
    person_add(d.c.data);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        describe(&d, rows[i].said, got, sizeof got);
        if (strcmp(got, rows[i].entries) != 0)
            t_fail(__FILE__, __LINE__, "%s: got \"%s\", not \"%s\"", rows[i].said, got,
                   rows[i].entries);
        arena_reset(&d.arena);
    }
    desk_fini(&d);
}

TEST(what_memory_has_is_updated_and_not_doubled)
{
    struct desk d;
    desk_init(&d, "my goal is 10k steps");
    const struct weir_json *first =
        weir_json_first(weir_json_get_str(desk_run(&d, agent_remember), "entries"));
    T_OK(weir_json_get_str(first, "id") == NULL);
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_json_get_str(first, "data"), "metric")),
             "steps");
    d.c.memory = desk_json(
        &d, weir_slice_of("[{\"id\":\"mem_A\",\"category\":\"goal\",\"text\":\"Goal: 10k steps\","
                          "\"data\":{\"key\":\"goal:steps\",\"metric\":\"steps\"}}]"));
    T_EQ(weir_json_count(weir_json_get_str(desk_run(&d, agent_remember), "entries")), 0);
    desk_ask(&d, "my goal is 12k steps");
    const struct weir_json *next =
        weir_json_first(weir_json_get_str(desk_run(&d, agent_remember), "entries"));
    T_EQ_STR(weir_json_text(weir_json_get_str(next, "id")), "mem_A");
    T_EQ_STR(weir_json_text(weir_json_get_str(next, "text")), "Goal: 12k steps");
    T_EQ_SLICE(weir_json_text(weir_json_get_str(next, "source_turn")), d.c.turn_id);
    desk_fini(&d);
}

TEST(findings_that_hold_are_insights_and_others_are_hypotheses)
{
    struct desk d;
    desk_init(&d, "is my weight going down?");
    person_add(d.c.data);
    desk_set(&d, "run_main_agent",
             "{\"agent\":\"data_science\",\"findings\":[{\"id\":\"ds-001\",\"kind\":\"trend\","
             "\"metric\":\"weight\",\"plan\":{\"op\":\"trend\",\"metric\":\"weight\"},\"answer\":{"
             "\"window\":{\"from\":\"2025-05-01\",\"to\":\"2025-05-31\"}}},{\"id\":\"ds-002\","
             "\"kind\":\"pair\",\"metric\":\"steps\",\"metric_y\":\"weight\",\"lag\":0,\"plan\":"
             "{\"op\":\"correlate\",\"metric\":\"steps\",\"with\":\"weight\"},\"answer\":{}}]}");
    desk_set(&d, "validation_gates",
             "{\"findings\":[{\"id\":\"ds-001\",\"verdict\":\"validated\",\"assessment\":\"\"},{"
             "\"id\":\"ds-002\",\"verdict\":\"rejected\",\"assessment\":\"not supported: these "
             "days do not show that your steps and your weight go together, for there are too few "
             "days to tell\"}],\"fact_sheet\":[{\"claim\":\"ds-001.change\",\"value\":-1.4,"
             "\"unit\":\"kg\",\"n\":30,\"source\":\"data_science\",\"window\":\"2025-05-01 .. "
             "2025-05-31\"}]}");
    const struct weir_json *entries = weir_json_get_str(desk_run(&d, agent_remember), "entries");
    T_EQ(weir_json_count(entries), 2);
    const struct weir_json *a = weir_json_first(entries), *b = weir_json_next(a);
    T_EQ_STR(weir_json_text(weir_json_get_str(a, "category")), "insight");
    T_EQ_STR(weir_json_text(weir_json_get_str(a, "text")),
             "Your weight fell by about 1.4 kg in May 2025.");
    T_EQ_STR(weir_json_text(weir_json_get_str(b, "category")), "hypothesis");
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_json_get_str(b, "data"), "verdict")),
             "rejected");
    desk_fini(&d);
}

TEST(distress_is_not_remembered)
{
    struct desk d;
    desk_init(&d, "I want to stop eating");
    desk_set(&d, "route", "{\"main\":null,\"pattern\":\"safety\",\"safety\":\"starvation\"}");
    T_EQ(weir_json_count(weir_json_get_str(desk_run(&d, agent_remember), "entries")), 0);
    desk_fini(&d);
}
