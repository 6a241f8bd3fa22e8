/* SPDX-License-Identifier: Apache-2.0 */
#include "days.h"

static void people_days(struct desk *d)
{
    days_add(d, (struct days_of){.metric = "steps", .level = 8000, .noise = 900});
    days_add(d, (struct days_of){.metric = "sleep_minutes", .level = 430, .noise = 30});
    days_add(d, (struct days_of){.metric = "weight", .level = 70, .noise = 0.4});
}

/* The questions that are asked once more, joined by " | ". */
static void follow_ups(struct desk *d, const char *question, char *out, size_t cap)
{
    size_t n = 0;
    desk_ask(d, question);
    days_work(d);
    d->c.n_findings = 0;
    const struct weir_json *list = weir_json_get_str(desk_run(d, agent_reflect), "follow_ups");
    out[0] = '\0';
    for (const struct weir_json *f = weir_json_first(list); f; f = weir_json_next(f)) {
        struct weir_slice text = text_at(f, "question");
        n += (size_t)snprintf(out + n, cap - n, "%s%.*s", n > 0 ? " | " : "", (int)text.len,
                              text.ptr);
        T_EQ_STR(text_at(f, "agent"), "data_science");
        T_EQ_STR(text_at(weir_json_get_str(f, "result"), "agent"), "data_science");
    }
}

TEST(what_cannot_be_told_is_asked_once_more)
{
    static const struct {
        const char *question, *asked;
    } rows[] = {
        {"is there a trend in my weight over the last 10 days?",
         "What is the trend of my weight over the last 90 days?"},
        {"does my steps go along with my sleep?",
         "Do my steps go along with my sleep the next day?"},
        {"average steps in May", ""},
        {"how many steps did I take last week?", ""},
        {"is there a trend in my weight over the last 90 days?", ""},
    };
    struct desk d;
    char got[1000];
    desk_init(&d, "");
    people_days(&d);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        follow_ups(&d, rows[i].question, got, sizeof got);
        T_EQ_STR(weir_slice_of(got), rows[i].asked);
        arena_reset(&d.arena);
    }
    desk_fini(&d);
}

TEST(findings_of_follow_ups_count_on)
{
    struct desk d;
    desk_init(&d, "is there a trend in my weight over the last 10 days?");
    people_days(&d);
    const struct weir_json *result = days_work(&d);
    struct weir_slice first = text_at(finding_at(result, 0), "id");
    d.c.n_findings = 0;
    const struct weir_json *list = weir_json_get_str(desk_run(&d, agent_reflect), "follow_ups");
    const struct weir_json *more = weir_json_get_str(weir_json_first(list), "result");
    T_OK(weir_json_count(weir_json_get_str(more, "findings")) > 0);
    T_OK(!slice_eq(first, text_at(finding_at(more, 0), "id")));
    desk_fini(&d);
}

TEST(beside_a_coach_nothing_is_asked_again)
{
    struct desk d;
    desk_init(&d, "is there a trend in my weight over the last 10 days?");
    people_days(&d);
    days_work(&d);
    desk_set(&d, "run_main_agent", "{\"agent\":\"health_coach\",\"findings\":[]}");
    T_EQ(weir_json_count(weir_json_get_str(desk_run(&d, agent_reflect), "follow_ups")), 0);
    desk_fini(&d);
}
