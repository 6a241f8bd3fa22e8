/* SPDX-License-Identifier: Apache-2.0 */
#include "days.h"
#include "script.h"

/* A trend that stands, found by the builtin data scientist; the critic is a model. */
static void begin(struct script *s)
{
    script_init(s, "Is my weight going down over the last 90 days?");
    memset(s->d.c.has_model, 0, sizeof s->d.c.has_model);
    days_add(&s->d,
             (struct days_of){.metric = "weight", .level = 80, .slope = -0.05, .noise = 0.2});
    const struct weir_json *result = days_work(&s->d);
    T_OK(weir_json_count(weir_json_get_str(result, "findings")) > 0);
    weir_buf_reset(&s->d.events);
    script_next(s);
    s->d.c.has_model[MODEL_CRITIC] = true;
}

/* The first finding that is a trend, as it was checked. */
static const struct weir_json *trend_of(const struct weir_json *out)
{
    const struct weir_json *f = weir_json_first(weir_json_get_str(out, "findings"));
    for (; f; f = weir_json_next(f))
        if (weir_json_count(weir_json_get_str(f, "gates")) == 7 &&
            desk_holds(text_at(f, "says"), "weight"))
            return f;
    return NULL;
}

/* The review of the trend's id; %s is where it stands. */
static void script_review(struct script *s, const char *rest)
{
    const struct weir_json *list = weir_json_get_str(desk_output(s, "run_main_agent"), "findings");
    const struct weir_json *f = weir_json_first(list);
    while (f && !weir_slice_is(text_at(f, "kind"), "trend")) f = weir_json_next(f);
    struct weir_slice id = text_at(f, "id");
    char *json = script_format("{\"reviews\":[{\"id\":\"%.*s\",%s}]}", (int)id.len, id.ptr, rest);
    script_object(s, "critic", json);
    free(json);
}

static const struct weir_json *run(struct script *s, const char *rest)
{
    begin(s);
    script_review(s, rest);
    return trend_of(script_ok(s, agent_validate));
}

TEST(a_model_can_make_a_finding_uncertain)
{
    struct script s;
    const struct weir_json *f = run(
        &s, "\"verdict\":\"downgrade\",\"reasoning\":\"Spring came.\",\"concerns\":[{\"kind\":"
            "\"confounder\",\"severity\":\"high\",\"note\":\"Spring came in the same weeks.\"}]");
    T_EQ_STR(text_at(f, "verdict"), "conditional");
    T_OK(desk_holds(text_at(f, "assessment"), "spring came in the same weeks"));
    T_EQ_STR(text_at(weir_json_get_str(f, "critic"), "verdict"), "downgrade");
    T_OK(desk_saw(&s.d, "Spring came in the same weeks."));
    T_EQ(s.n_asked, 1);
    T_OK(script_asked(&s, 0, "\"role\":\"critic\",\"purpose\":\"critic\""));
    T_OK(script_asked(&s, 0, "effect_vs_noise passed"));
    script_fini(&s);
}

TEST(a_model_can_reject_and_then_there_is_no_number_in_the_sheet)
{
    struct script s;
    begin(&s);
    script_review(&s, "\"verdict\":\"reject\",\"reasoning\":\"No.\",\"concerns\":[{\"kind\":"
                      "\"measurement\",\"severity\":\"high\",\"note\":\"The scale is broken.\"}]");
    const struct weir_json *out = script_ok(&s, agent_validate);
    T_EQ_STR(text_at(trend_of(out), "verdict"), "rejected");
    T_OK(!desk_holds(weir_buf_slice(&s.d.out), "\"claim\":\"ds-001.slope\"") ||
         !entry_of(weir_json_get_str(out, "fact_sheet"), "ds-002.slope"));
    script_fini(&s);
}

TEST(what_a_model_accepts_stays_as_it_was)
{
    struct script s;
    const struct weir_json *f =
        run(&s, "\"verdict\":\"accept\",\"reasoning\":\"Fine.\",\"concerns\":[]");
    T_EQ_STR(text_at(f, "verdict"), "validated");
    script_fini(&s);
}

/* The verdict of the rules alone. */
static void check_lower_bound(const char *answer)
{
    struct script s;
    begin(&s);
    s.d.c.has_model[MODEL_CRITIC] = false;
    script_ok(&s, agent_validate);
    struct weir_slice alone =
        text_at(trend_of(desk_json(&s.d, weir_buf_slice(&s.d.out))), "verdict");
    script_next(&s);
    s.d.c.has_model[MODEL_CRITIC] = true;
    script_put(&s, "critic", answer);
    const struct weir_json *out = script_ok(&s, agent_validate);
    T_EQ_SLICE(text_at(trend_of(out), "verdict"), alone);
    T_EQ(s.n_asked, 4);
    script_fini(&s);
}

#define ANSWER(input)                                                                              \
    "[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"answer\",\"input\":" input "}]"

TEST(an_answer_that_cannot_be_read_leaves_the_verdict_of_the_rules)
{
    static const char *const wrong[] = {
        "",
        "[]",
        ANSWER("{}"),
        ANSWER("{\"reviews\":{}}"),
        ANSWER("{\"reviews\":[{\"id\":\"ds-999\",\"verdict\":\"accept\",\"reasoning\":\"x\","
               "\"concerns\":[]}]}"),
        ANSWER("{\"reviews\":[{\"id\":\"ds-001\",\"verdict\":\"approve\",\"reasoning\":\"x\","
               "\"concerns\":[]}]}"),
        ANSWER("{\"reviews\":[{\"id\":\"ds-001\",\"verdict\":\"upgrade\",\"reasoning\":\"x\","
               "\"concerns\":[]}]}"),
        ANSWER("{\"reviews\":[{\"id\":\"ds-001\",\"verdict\":\"reject\",\"reasoning\":\"x\","
               "\"concerns\":[]}]}"),
        ANSWER("{\"reviews\":[{\"id\":\"ds-001\",\"verdict\":\"reject\",\"reasoning\":\"\","
               "\"concerns\":[]}]}"),
        ANSWER("{\"reviews\":[{\"id\":\"ds-001\",\"verdict\":\"downgrade\",\"reasoning\":\"x\","
               "\"concerns\":[{\"kind\":\"magic\",\"severity\":\"high\",\"note\":\"n\"}]}]}"),
        ANSWER("{\"reviews\":[{\"id\":\"ds-001\",\"verdict\":\"downgrade\",\"reasoning\":\"x\","
               "\"concerns\":[{\"kind\":\"noise\",\"severity\":9,\"note\":\"n\"}]}]}"),
        ANSWER("{\"reviews\":[{\"id\":\"ds-001\",\"verdict\":\"downgrade\",\"reasoning\":\"x\","
               "\"concerns\":[{\"kind\":\"noise\",\"severity\":\"high\",\"note\":\"It rests on 3 "
               "days\"}]}]}"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) check_lower_bound(wrong[i]);
}

static void put_verdicts(struct weir_buf *out, const struct weir_json *checked)
{
    const struct weir_json *f = weir_json_first(weir_json_get_str(checked, "findings"));
    for (; f; f = weir_json_next(f)) weir_json_put_value(out, weir_json_get_str(f, "verdict"));
}

TEST(a_model_never_makes_more_of_a_finding)
{
    for (int i = 0; i < 12; i++) {
        struct script s;
        struct weir_buf alone, both;
        script_init(&s, "Is my weight going down over the last 90 days?");
        memset(s.d.c.has_model, 0, sizeof s.d.c.has_model);
        days_add(&s.d, (struct days_of){
                           .metric = "weight", .level = 80, .slope = -0.002 * i, .noise = 0.5});
        days_work(&s.d);
        script_next(&s);
        weir_buf_init(&alone, 1 << 16);
        weir_buf_init(&both, 1 << 16);
        put_verdicts(&alone, script_ok(&s, agent_validate));
        script_next(&s);
        s.d.c.has_model[MODEL_CRITIC] = true;
        script_review(&s, "\"verdict\":\"accept\",\"reasoning\":\"Approved.\",\"concerns\":[]");
        put_verdicts(&both, script_ok(&s, agent_validate));
        T_EQ_SLICE(weir_buf_slice(&both), weir_buf_slice(&alone));
        weir_buf_fini(&alone);
        weir_buf_fini(&both);
        script_fini(&s);
    }
}

TEST(without_findings_nobody_is_asked)
{
    struct script s;
    script_init(&s, "x");
    desk_set(&s.d, "run_main_agent",
             "{\"agent\":\"data_science\",\"findings\":[],\"facts\":[],\"text\":\"\"}");
    script_ok(&s, agent_validate);
    T_EQ(s.n_asked, 0);
    script_fini(&s);
}
