/* SPDX-License-Identifier: Apache-2.0 */
/* Step 7: verdicts as events, and the sheet that is left of them. */
#include "base/fault.h"
#include "days.h"

static const char *const gates[] = {
    "sample_size",          "construct_validity",   "effect_vs_noise",     "bootstrap",
    "subgroup_consistency", "method_triangulation", "discriminative_power"};

struct checked {
    struct desk d;
    const struct weir_json *result, *output;
};

static void check(struct checked *c)
{
    c->result = days_work(&c->d);
    weir_buf_reset(&c->d.events);
    c->output = desk_run(&c->d, agent_validate);
}

static const struct weir_json *sheet_of(const struct checked *c)
{
    return weir_json_get_str(c->output, "fact_sheet");
}

static long count_of(const struct checked *c, const char *key)
{
    int64_t n = -1;
    const struct weir_json *counts = weir_json_get_str(c->output, "validator");
    (void)weir_json_int64(weir_json_get_str(counts, key), &n);
    return (long)n;
}

static struct weir_slice verdict_at(const struct checked *c, size_t i)
{
    return text_at(member_at(weir_json_get_str(c->output, "findings"), i), "verdict");
}

/* The validator's events of a finding, in their order: "sample_size passed, …, critic accept". */
static void events_are(struct checked *c, const char *finding, const char *want)
{
    char got[1024] = "";
    size_t len = 0, at = 0;
    struct weir_slice all = weir_buf_slice(&c->d.events);
    while (at < all.len) {
        const char *line = all.ptr + at, *end = memchr(line, '\n', all.len - at);
        const char *json = memchr(line, '{', all.len - at);
        at = (size_t)(end - all.ptr) + 1;
        const struct weir_json *e = desk_json(&c->d, slice_of(json, (size_t)(end - json)));
        if (!weir_slice_is(text_at(e, "finding_id"), finding)) continue;
        struct weir_slice gate = text_at(e, "gate"), verdict = text_at(e, "verdict");
        len += (size_t)snprintf(got + len, sizeof got - len, "%s%.*s %.*s", len > 0 ? ", " : "",
                                gate.len > 0 ? (int)gate.len : 6,
                                gate.len > 0 ? gate.ptr : "critic", (int)verdict.len, verdict.ptr);
    }
    T_EQ_STR(weir_slice_of(got), want);
}

TEST(all_seven_gates_are_told_in_their_order_and_then_the_critic)
{
    struct checked c;
    desk_init(&c.d, "Is my weight going down?");
    days_add(&c.d, (struct days_of){"weight", 75, -0.02, 0, 0.3, 0, 0});
    check(&c);
    events_are(&c, "ds-001",
               "sample_size passed, construct_validity passed, effect_vs_noise passed, "
               "bootstrap passed, subgroup_consistency passed, method_triangulation passed, "
               "discriminative_power passed, critic accept");
    T_EQ_STR(verdict_at(&c, 0), "validated");
    T_OK(desk_saw(&c.d, "validator.gate {\"finding_id\":\"ds-001\",\"claim\":\"a fall in weight"));
    T_OK(desk_saw(&c.d, "\"gate\":\"bootstrap\",\"verdict\":\"passed\",\"detail\":{\""));
    T_OK(desk_saw(&c.d, "validator.critic {\"finding_id\":\"ds-001\",\"verdict\":\"accept\","
                        "\"reasoning\":"));
    T_OK(desk_saw(&c.d, "\"concerns\":["));
    desk_fini(&c.d);
}

TEST(a_hard_gate_that_failed_ends_the_gates_and_its_numbers_are_not_in_the_sheet)
{
    struct checked c;
    desk_init(&c.d, "Is there a link between steps and sleep?");
    days_add(&c.d, (struct days_of){"steps", 9000, 0, 0, 1500, 12, 0});
    days_add(&c.d, (struct days_of){"sleep_minutes", 430, 0, 0, 20, 12, 0});
    check(&c);
    events_are(&c, "ds-001", "sample_size failed, critic downgrade");
    T_EQ_STR(verdict_at(&c, 0), "rejected");
    T_EQ(weir_json_count(sheet_of(&c)), 0);
    T_EQ(count_of(&c, "findings_total"), 1);
    T_EQ(count_of(&c, "findings_rejected"), 1);
    desk_fini(&c.d);
}

TEST(a_value_passes_two_gates_and_skips_five)
{
    struct checked c;
    desk_init(&c.d, "How many steps did I take in total in May 2025?");
    days_add(&c.d, (struct days_of){"steps", 9000, 0, 0, 1500, 0, 0});
    check(&c);
    events_are(&c, "ds-001",
               "sample_size passed, construct_validity passed, effect_vs_noise skipped, "
               "bootstrap skipped, subgroup_consistency skipped, method_triangulation skipped, "
               "discriminative_power skipped, critic accept");
    T_OK(value_of(sheet_of(&c), "ds-001.sum") > 200000);
    T_EQ(count_of(&c, "findings_validated"), 1);
    desk_fini(&c.d);
}

TEST(a_rejected_claim_leaves_the_value_that_was_asked_for)
{
    struct checked c;
    desk_init(&c.d, "What is the Pearson correlation between my steps and my sleep?");
    days_add(&c.d, (struct days_of){"steps", 9000, 0, 0, 1500, 0, 0});
    days_add(&c.d, (struct days_of){"sleep_minutes", 430, 0, 0, 20, 0, 0});
    check(&c);
    T_EQ_STR(verdict_at(&c, 0), "validated");
    T_EQ_STR(verdict_at(&c, 1), "rejected");
    T_EQ_STR(text_at(finding_at(c.result, 1), "beside"), "ds-001");
    T_OK(fabs(value_of(sheet_of(&c), "ds-001.r")) < 0.2);
    T_OK(entry_of(sheet_of(&c), "ds-002.r") == NULL);
    desk_fini(&c.d);
}

TEST(a_new_device_bars_the_claim_and_leaves_both_means)
{
    struct checked c;
    desk_init(&c.d, "Compare my resting heart rate in the last 60 days with the previous 60 days");
    days_add(&c.d, (struct days_of){"resting_heart_rate", 65, -0.05, 0, 1, 0, 140});
    check(&c);
    T_EQ_STR(verdict_at(&c, 1), "rejected");
    T_OK(desk_saw(&c.d, "\"gate\":\"construct_validity\",\"verdict\":\"failed\""));
    T_OK(value_of(sheet_of(&c), "ds-001.a") < value_of(sheet_of(&c), "ds-001.b"));
    desk_fini(&c.d);
}

TEST(conditional_entries_are_tagged)
{
    struct checked c;
    desk_init(&c.d, "What is my average weight over the last 100 days?");
    /* It falls all the time, so the mean hides a change. */
    days_add(&c.d, (struct days_of){"weight", 75, -0.05, 0, 0.3, 0, 0});
    check(&c);
    T_EQ_STR(verdict_at(&c, 0), "conditional");
    T_EQ_STR(text_at(entry_of(sheet_of(&c), "ds-001.avg"), "verdict"), "conditional");
    T_EQ(count_of(&c, "findings_conditional"), 1);
    struct weir_slice line =
        text_at(member_at(weir_json_get_str(c.output, "findings"), 0), "assessment");
    T_OK(desk_holds(line, "uncertain"));
    desk_fini(&c.d);
}

TEST(an_interval_is_around_its_number_in_its_unit)
{
    static const struct {
        const char *question, *number, *id;
    } cases[] = {
        {"What was my average weight in pounds over the last 60 days?", "ds-001.avg", "ds-001"},
        {"Do I sleep more on weekends?", "ds-002.diff", "ds-002"},
        {"Is my resting heart rate falling?", "ds-001.change", "ds-001"},
        {"Compare my resting heart rate in the last 60 days with the previous 60 days",
         "ds-002.diff", "ds-002"},
        {"What time do I usually go to bed?", "ds-001.avg", "ds-001"},
        {"Median weight over the last 60 days", "ds-001.median", "ds-001"},
        {"What is the difference in my sleep, weekday minus weekend?", "ds-002.diff", "ds-002"},
        {"Do I go to bed later on Saturdays?", "ds-002.diff", "ds-002"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        char low[32], high[32];
        desk_init(&c.d, cases[i].question);
        days_add(&c.d, (struct days_of){"weight", 75, 0, 0, 0.3, 0, 0});
        days_add(&c.d, (struct days_of){"sleep_minutes", 430, 0, 60, 20, 0, 0});
        days_add(&c.d, (struct days_of){"resting_heart_rate", 65, -0.05, 0, 1, 0, 0});
        days_add(&c.d, (struct days_of){"bedtime", 1425, 0, 40, 10, 0, 0});
        check(&c);
        snprintf(low, sizeof low, "%s.ci_low", cases[i].id);
        snprintf(high, sizeof high, "%s.ci_high", cases[i].id);
        double value = value_of(sheet_of(&c), cases[i].number);
        if (!(value_of(sheet_of(&c), low) < value && value < value_of(sheet_of(&c), high)))
            t_fail(__FILE__, __LINE__, "%s: %g .. %g .. %g", cases[i].question,
                   value_of(sheet_of(&c), low), value, value_of(sheet_of(&c), high));
        T_EQ_SLICE(text_at(entry_of(sheet_of(&c), low), "metric"),
                   text_at(entry_of(sheet_of(&c), cases[i].number), "metric"));
        T_OK(text_at(entry_of(sheet_of(&c), low), "metric").len > 0);
        desk_fini(&c.d);
    }
}

TEST(facts_of_the_expert_go_into_the_sheet_as_they_are)
{
    struct desk d;
    desk_init(&d, "Is my LDL ok?");
    desk_set(&d, "run_supporting_agents",
             "{\"domain_expert\":{\"findings\":[],\"facts\":[{\"claim\":\"fact.ldl.high\","
             "\"value\":130,\"unit\":\"mg/dL\",\"source\":\"domain_expert\",\"n\":null,"
             "\"window\":null}]}}");
    const struct weir_json *output = desk_run(&d, agent_validate);
    T_EQ((long)value_of(weir_json_get_str(output, "fact_sheet"), "fact.ldl.high"), 130);
    T_EQ(weir_json_count(weir_json_get_str(output, "findings")), 0);
    desk_fini(&d);
}

TEST(findings_of_all_steps_are_judged_in_their_order)
{
    struct desk d;
    desk_init(&d, "x");
    static const char value[] =
        "{\"id\":\"%s\",\"claim\":\"c\",\"kind\":\"value\",\"metric\":\"steps\",\"lag\":0,"
        "\"plan\":{\"op\":\"count\"},\"answer\":{\"n\":3},\"days\":null,\"entries\":[{\"claim\":"
        "\"%s.count\",\"value\":3,\"unit\":\"days\",\"source\":\"data_science\",\"n\":3}]}";
    char one[500], text[1200];
    snprintf(one, sizeof one, value, "ds-001", "ds-001");
    snprintf(text, sizeof text, "{\"data_science\":{\"findings\":[%s]}}", one);
    desk_set(&d, "run_supporting_agents", text);
    snprintf(one, sizeof one, value, "ds-002", "ds-002");
    snprintf(text, sizeof text, "{\"agent\":\"health_coach\",\"findings\":[%s]}", one);
    desk_set(&d, "run_main_agent", text);
    snprintf(one, sizeof one, value, "ds-003", "ds-003");
    snprintf(text, sizeof text,
             "{\"follow_ups\":[{\"agent\":\"data_science\",\"question\":\"q\","
             "\"result\":{\"findings\":[%s]}}]}",
             one);
    desk_set(&d, "reflection", text);
    const struct weir_json *output = desk_run(&d, agent_validate);
    const struct weir_json *findings = weir_json_get_str(output, "findings");
    T_EQ(weir_json_count(findings), 3);
    T_EQ_STR(text_at(member_at(findings, 0), "id"), "ds-001");
    T_EQ_STR(text_at(member_at(findings, 2), "id"), "ds-003");
    T_EQ(weir_json_count(weir_json_get_str(output, "fact_sheet")), 3);
    desk_fini(&d);
}

TEST(a_finding_that_is_none_is_a_status)
{
    struct desk d;
    desk_init(&d, "x");
    desk_set(&d, "run_main_agent", "{\"findings\":[{\"id\":\"ds-001\",\"kind\":\"guess\"}]}");
    weir_buf_reset(&d.out);
    T_EQ(agent_validate(&d.c, &d.out), WEIR_INVALID);
    desk_fini(&d);
}

TEST(the_same_turn_gives_the_same_verdicts_to_the_byte)
{
    struct checked a, b;
    desk_init(&a.d, "How is my sleep?");
    desk_init(&b.d, "How is my sleep?");
    days_add(&a.d, (struct days_of){"sleep_minutes", 430, 0.2, 40, 20, 0, 0});
    days_add(&b.d, (struct days_of){"sleep_minutes", 430, 0.2, 40, 20, 0, 0});
    check(&a);
    check(&b);
    T_EQ_SLICE(weir_buf_slice(&a.d.out), weir_buf_slice(&b.d.out));
    T_EQ_SLICE(weir_buf_slice(&a.d.events), weir_buf_slice(&b.d.events));
    for (size_t i = 0; i < 7; i++) T_OK(desk_saw(&a.d, gates[i]));
    desk_fini(&a.d);
    desk_fini(&b.d);
}

/* A member of the last finding, or of its days, becomes something else. */
static void replace(struct desk *d, const char *key, bool is_of_days, const char *json)
{
    struct weir_json *result = weir_json_copy(d->doc, desk_output(d, "run_main_agent"));
    struct weir_json *findings = weir_json_member(result, SLICE("findings"));
    size_t last = weir_json_count(findings) - 1;
    struct weir_json *f = weir_json_copy(d->doc, member_at(findings, last));
    struct weir_json *list = weir_json_new(d->doc, WEIR_JSON_ARRAY);
    struct weir_json *all = weir_json_new(d->doc, WEIR_JSON_OBJECT);
    struct weir_json *of = is_of_days ? weir_json_member(f, SLICE("days")) : f;
    struct weir_json *value = weir_json_copy(d->doc, desk_json(d, weir_slice_of(json)));
    T_EQ(weir_json_set(d->doc, of, weir_slice_of(key), value), WEIR_OK);
    T_EQ(weir_json_push(d->doc, list, f), WEIR_OK);
    T_EQ(weir_json_set(d->doc, all, SLICE("findings"), list), WEIR_OK);
    d->outputs[0].json = all;
}

TEST(a_finding_that_was_tampered_with_is_judged_or_refused)
{
    static const char *const keys[] = {"id",       "claim",   "kind",    "metric",
                                       "metric_y", "lag",     "plan",    "answer",
                                       "days",     "entries", "n_tests", "confirmed"};
    static const char *const of_days[] = {"a",     "b",     "weekend", "device_change",
                                          "index", "shift", "flipped", "one_device"};
    static const char *const values[] = {"null", "[]",          "{}",         "\"x\"",
                                         "-3",   "1e300",       "[1,2,3]",    "[\"x\"]",
                                         "true", "\"anomaly\"", "\"windows\""};
    static const char *const questions[] = {"Is my weight going down?",
                                            "Do I sleep more on weekends?",
                                            "Is there a link between steps and sleep?"};
    enum { N_KEYS = sizeof keys / sizeof *keys, N_ALL = N_KEYS + sizeof of_days / sizeof *of_days };
    for (size_t q = 0; q < sizeof questions / sizeof *questions; q++) {
        struct checked c;
        desk_init(&c.d, questions[q]);
        days_add(&c.d, (struct days_of){"weight", 75, -0.02, 0, 0.3, 60, 0});
        days_add(&c.d, (struct days_of){"sleep_minutes", 430, 0, 60, 20, 60, 0});
        days_add(&c.d, (struct days_of){"steps", 9000, 0, 0, 900, 60, 0});
        (void)days_work(&c.d);
        const struct weir_json *whole = c.d.outputs[0].json;
        for (size_t i = 0; i < N_ALL * (sizeof values / sizeof *values); i++) {
            size_t at = i % N_ALL;
            c.d.outputs[0].json = whole;
            replace(&c.d, at < N_KEYS ? keys[at] : of_days[at - N_KEYS], at >= N_KEYS,
                    values[i / N_ALL]);
            weir_buf_reset(&c.d.out);
            enum weir_status st = agent_validate(&c.d.c, &c.d.out);
            T_OK(st == WEIR_OK || st == WEIR_INVALID);
            if (st == WEIR_OK) T_OK(desk_json(&c.d, weir_buf_slice(&c.d.out)) != NULL);
        }
        desk_fini(&c.d);
    }
}

/* Fails every allocation in turn; the steps say so, or come to the same result. */
static void torture(const char *agent, const char *question)
{
    struct checked c;
    bool is_done = false;
    for (uint64_t nth = 1; !is_done && nth < 20000; nth += 1 + nth / 8) {
        desk_init(&c.d, question);
        days_add(&c.d, (struct days_of){"sleep_minutes", 430, 0.2, 40, 20, 60, 0});
        days_add(&c.d, (struct days_of){"steps", 9000, 0, 0, 900, 60, 0});
        c.d.c.emit = NULL;
        fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
        enum weir_status st = agent_work(&c.d.c, agent, c.d.c.question, &c.d.out);
        is_done = st == WEIR_OK && fault_count(FAULT_ALLOC) < nth;
        fault_disarm_all();
        T_OK(st == WEIR_OK || st == WEIR_NOMEM || st == WEIR_LIMIT);
        if (is_done) break;
        desk_fini(&c.d);
    }
    T_OK(is_done);
    weir_buf_append_char(&c.d.out, '\0');
    desk_set(&c.d, "run_main_agent", c.d.out.ptr);
    for (uint64_t nth = 1; nth < 200; nth++) {
        weir_buf_reset(&c.d.out);
        fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
        enum weir_status st = agent_validate(&c.d.c, &c.d.out);
        bool is_over = st == WEIR_OK && fault_count(FAULT_ALLOC) < nth;
        fault_disarm_all();
        T_OK(st == WEIR_OK || st == WEIR_NOMEM || st == WEIR_LIMIT);
        if (is_over) break;
    }
    desk_fini(&c.d);
}

TEST(no_memory_is_a_status_at_every_allocation)
{
    torture("data_science", "How is my sleep, and does it go with my steps?");
    torture("investigator", "Anything interesting?");
}
