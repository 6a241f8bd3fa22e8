/* SPDX-License-Identifier: Apache-2.0 */
/* The data scientist on days by hand: which plans a question becomes, and which claims they do. */
#include "days.h"

static void person(struct desk *d, const char *question)
{
    desk_init(d, question);
    days_add(d, (struct days_of){"steps", 9000, 0, 0, 1500, 0, 0});
    days_add(d, (struct days_of){"sleep_minutes", 430, 0, 40, 20, 0, 0});
    days_add(d, (struct days_of){"resting_heart_rate", 62, -0.03, 0, 1.5, 0, 0});
    days_add(d, (struct days_of){"weight", 75, -0.01, 0, 0.3, 0, 0});
    days_add(d, (struct days_of){"bedtime", 1430, 0, 30, 15, 0, 0});
    days_add(d, (struct days_of){"hrv_rmssd", 50, 0, 0, 4, 6, 0});
    struct lab l = {.analyte = analyte_find(weir_slice_of("ldl")),
                    .label = weir_slice_of("LDL"),
                    .day = day_from_civil(2025, 5, 7),
                    .value = 128,
                    .unit = weir_slice_of("mg/dL"),
                    .printed = weir_slice_of("128")};
    T_EQ(dataset_add_lab(d->c.data, &l), WEIR_OK);
}

/* "value:avg level:avg", the kind and the first entry of each finding. */
static void says(const char *question, const char *want)
{
    struct desk d;
    char got[512] = "";
    size_t len = 0;
    person(&d, question);
    const struct weir_json *result = days_work(&d);
    const struct weir_json *f = weir_json_first(weir_json_get_str(result, "findings"));
    for (; f; f = weir_json_next(f)) {
        struct weir_slice kind = text_at(f, "kind"), id = text_at(f, "id");
        struct weir_slice claim =
            text_at(weir_json_first(weir_json_get_str(f, "entries")), "claim");
        size_t skip = id.len + 1 < claim.len ? id.len + 1 : claim.len;
        len += (size_t)snprintf(got + len, sizeof got - len, "%s%.*s:%.*s", len > 0 ? " " : "",
                                (int)kind.len, kind.ptr, (int)(claim.len - skip), claim.ptr + skip);
    }
    if (strcmp(got, want) != 0)
        t_fail(__FILE__, __LINE__, "%s: \"%s\", not \"%s\"", question, got, want);
    T_EQ(days_lacking(&d, result, "text"), 0);
    T_EQ(days_lacking(&d, result, "summary"), 0);
    T_OK(text_at(result, "summary").len > 0 && text_at(result, "summary").len <= 160);
    T_EQ_SLICE(weir_buf_slice(&d.thoughts), text_at(result, "text"));
    T_OK(desk_saw(&d, "agent.started {\"agent\":\"data_science\"") &&
         desk_saw(&d, "agent.completed {\"agent\":\"data_science\""));
    desk_fini(&d);
}

TEST(a_question_becomes_claims_of_its_kind)
{
    says("What was my average sleep over the last 30 days?", "level:avg");
    says("Median resting heart rate in May 2025", "level:median");
    says("How many steps did I take in total in May 2025?", "value:sum");
    says("What was my highest resting heart rate in May 2025?", "value:max");
    says("On how many days did I take over 9000 steps?", "value:count");
    says("What percentage of nights did I sleep over 7 hours?", "value:share");
    says("What is my longest streak of days with at least 8000 steps?", "value:streak");
    says("Which weekday do I sleep the most?", "value:max");
    says("Is my weight going down?", "trend:slope");
    says("Do I sleep more on weekends?", "value:a weekdays:a");
    says("Is there a link between steps and sleep?", "pair:r");
    says("When did I last sleep over 7 hours?", "value:value");
    says("What was my most recent LDL result?", "value:last");
    says("What time do I usually go to bed?", "level:avg");
}

TEST(a_number_that_is_asked_for_is_a_value_beside_the_claim)
{
    says("What is the Pearson correlation between my steps and my sleep?", "value:r pair:r");
    says("What is the least-squares trend of my weight per week?", "value:slope trend:slope");
    says("By how much did my average steps change in the last 30 days versus the 30 days before?",
         "value:a windows:a");
}

TEST(a_mean_of_few_days_is_a_value)
{
    says("What was my average sleep last week?", "value:avg");
    says("What was my average HRV over the last 30 days?", "value:avg level:avg");
    says("What was my resting heart rate yesterday?", "value:avg");
}

TEST(a_metric_alone_gets_level_trend_and_comparison)
{
    says("How is my sleep?", "level:avg trend:slope windows:a");
    says("Is my resting heart rate ok?", "level:avg trend:slope windows:a");
    says("How has my weight been?", "value:last level:avg trend:slope windows:a");
}

TEST(a_question_of_several_parts_is_taken_apart)
{
    says("How was my sleep last week and did my steps drop?", "value:avg value:a windows:a");
    says("Average sleep, steps and weight in May 2025", "level:avg level:avg level:avg");
    says("What was my average weight in May 2025? And my steps?", "level:avg level:avg");
    says("compare my sleep and resting heart rate in May 2025", "level:avg level:avg pair:r");
    says("How many steps did I take yesterday and how long did I sleep?", "value:sum value:sum");
    says("Total steps in May 2025 and my bedtime?", "value:sum level:avg");
    says("How was my sleep last week and is my weight going up?", "value:avg trend:slope");
}

TEST(days_that_are_named_alone_are_asked_what_was_asked_before)
{
    says("What were my steps on 3 May 2025 and on 5 May 2025?", "value:avg value:avg");
    says("How did I sleep on 3 May, 4 May and 5 May 2025?", "value:avg value:avg value:avg");
    says("What was my average weight in April 2025 and in June 2025?", "level:avg level:avg");
}

TEST(days_as_a_whole_are_compared_by_what_is_measured_most)
{
    struct desk d;
    person(&d, "Compare my April with my May");
    const struct weir_json *result = days_work(&d);
    size_t n_compared = 0;
    for (size_t i = 0; finding_at(result, i); i++)
        n_compared += weir_slice_is(text_at(finding_at(result, i), "kind"), "windows");
    T_OK(n_compared >= 2);
    desk_fini(&d);
    says("How was my May?", "level:avg level:avg level:avg");
}

TEST(change_of_what_varies_by_the_day_is_never_first_day_against_last)
{
    says("Did my steps drop in the last month?", "value:a windows:a trend:slope");
    says("How did my steps change over the last month?", "value:a windows:a trend:slope");
    says("By how many steps did my steps change since May 2025?", "value:first trend:slope");
}

TEST(parts_share_the_window_that_one_of_them_has)
{
    struct desk d;
    person(&d, "Average sleep, steps and weight over the last 21 days");
    const struct weir_json *result = days_work(&d);
    for (size_t i = 0; i < 3; i++)
        T_EQ_STR(text_at(finding_at(result, i), "window"), "2025-05-29 .. 2025-06-18");
    desk_fini(&d);
}

TEST(two_things_that_are_named_are_looked_at_together_when_that_is_asked)
{
    says("Does going to bed late make me sleep less?", "pair:r");
    says("Do I sleep more when I go to bed early?", "pair:r");
    says("Could you tell me how I slept in May, and whether my resting heart rate went up?",
         "level:avg value:a windows:a");
    says("How did I sleep last night compared to my usual?",
         "value:avg level:avg trend:slope windows:a");
}

static double number_at(const struct weir_json *object, const char *key)
{
    double x = NAN;
    (void)weir_json_double(weir_json_get_str(object, key), &x);
    return x;
}

TEST(each_day_that_stands_out_is_a_claim_of_its_own)
{
    struct desk d;
    int32_t days[DAYS];
    double values[DAYS];
    desk_init(&d, "Any unusual days in my resting heart rate?");
    for (size_t i = 0; i < DAYS; i++) {
        days[i] = days_last() - DAYS + 1 + (int32_t)i;
        values[i] = 58 + (double)(i * 5 % 7) * 0.5;
    }
    values[120] = 85;
    struct series s = {.metric = metric_find(weir_slice_of("resting_heart_rate")),
                       .n = DAYS,
                       .days = days,
                       .values = values};
    T_EQ(dataset_add_series(d.c.data, &s), WEIR_OK);
    const struct weir_json *result = days_work(&d), *f = finding_at(result, 1);
    T_EQ(weir_json_count(weir_json_get_str(result, "findings")), 2);
    T_EQ_STR(text_at(f, "kind"), "anomaly");
    T_EQ((long)number_at(weir_json_get_str(f, "days"), "index"), 120);
    T_EQ((long)value_of(weir_json_get_str(f, "entries"), "ds-002.value"), 85);
    T_OK(fabs(value_of(weir_json_get_str(f, "entries"), "ds-002.usual") - 59.5) < 0.6);
    T_EQ(days_lacking(&d, result, "text"), 0);
    const struct weir_json *output = desk_run(&d, agent_validate);
    T_EQ_STR(text_at(member_at(weir_json_get_str(output, "findings"), 1), "verdict"), "validated");
    desk_fini(&d);
}

TEST(workouts_that_get_faster_or_longer_are_a_trend)
{
    struct desk d;
    desk_init(&d, "Am I running faster?");
    days_add(&d, (struct days_of){"steps", 9000, 0, 0, 1500, 0, 0});
    for (int i = 0; i < DAYS; i += 3) {
        struct workout w = {.activity = activity_find(weir_slice_of("run")),
                            .label = weir_slice_of("Run"),
                            .day = days_last() - DAYS + 1 + i,
                            .minutes = 40 - 0.04 * i + i % 2,
                            .km = 6};
        w.start.at = (int64_t)w.day * DAY_SECONDS;
        T_EQ(dataset_add_workout(d.c.data, &w), WEIR_OK);
    }
    const struct weir_json *f = finding_at(days_work(&d), 0);
    T_EQ_STR(text_at(f, "kind"), "trend");
    T_EQ_STR(text_at(f, "metric"), "workout_pace");
    T_OK(value_of(weir_json_get_str(f, "entries"), "ds-001.slope") < -0.1);
    const struct weir_json *output = desk_run(&d, agent_validate);
    /* Two days in three have no run, so it is said with a doubt. */
    T_EQ_STR(text_at(member_at(weir_json_get_str(output, "findings"), 0), "verdict"),
             "conditional");
    desk_fini(&d);
}

TEST(a_name_that_has_no_data_is_not_read_as_a_shorter_one_that_has)
{
    struct desk d;
    person(&d, "Is my sleep score drop meaningful?");
    const struct weir_json *result = days_work(&d);
    T_EQ(weir_json_count(weir_json_get_str(result, "findings")), 0);
    T_OK(desk_holds(text_at(result, "text"), "No data for sleep score"));
    desk_fini(&d);
}

TEST(a_question_with_a_word_that_nobody_knows_is_not_answered_by_half)
{
    says("What is my average sleep at my parents' house?", "");
    says("average sleep when my wife snores", "");
    says("What's my boss's resting heart rate?", "");
    says("weight of my backpack", "");
    says("median sleep without outliers", "");
    says("What is sleep?", "");
    says("SELECT AVG(steps) FROM daily", "");
    says("How is my sleep these days?", "level:avg trend:slope windows:a");
    says("Should I be worried about my resting heart rate?", "level:avg trend:slope windows:a");
}

TEST(what_the_data_cannot_answer_gets_words_and_no_number)
{
    says("What was my average blood oxygen over the last 30 days?", "");
    says("What was my average step count in February 2031?", "");
    says("What is the airspeed of a swallow?", "");
    says("Why am I so tired?", "");
    says("", "");
    struct desk d;
    person(&d, "What was my average blood oxygen over the last 30 days?");
    T_OK(desk_holds(text_at(days_work(&d), "text"), "no data for blood oxygen"));
    desk_fini(&d);
}

TEST(a_person_without_data_gets_an_honest_sentence)
{
    struct desk d;
    desk_init(&d, "How is my sleep?");
    const struct weir_json *result = days_work(&d);
    T_EQ(weir_json_count(weir_json_get_str(result, "findings")), 0);
    T_OK(desk_holds(text_at(result, "text"), "There are no data yet"));
    desk_fini(&d);
}

TEST(laboratory_results_are_not_used_when_they_are_not_to_be)
{
    struct desk d;
    person(&d, "What was my most recent LDL result?");
    d.c.has_biomarkers = false;
    const struct weir_json *result = days_work(&d);
    T_EQ(weir_json_count(weir_json_get_str(result, "findings")), 0);
    T_OK(!desk_holds(weir_buf_slice(&d.out), "128"));
    desk_fini(&d);
}

TEST(ids_count_through_the_turn)
{
    struct desk d;
    person(&d, "What was my average sleep over the last 30 days?");
    desk_set(&d, "run_supporting_agents",
             "{\"data_science\":{\"findings\":[{\"id\":\"ds-001\"},{\"id\":\"ds-002\"}]},"
             "\"domain_expert\":{\"findings\":[]}}");
    T_EQ_STR(text_at(finding_at(days_work(&d), 0), "id"), "ds-003");
    /* The one that was just brought is an output and counted in the step: the desk is both. */
    d.c.n_findings = 0;
    desk_ask(&d, "What was my average sleep over the last 60 days?");
    T_EQ_STR(text_at(finding_at(days_work(&d), 0), "id"), "ds-004");
    desk_fini(&d);
}

TEST(what_an_earlier_step_has_looked_at_is_not_brought_again)
{
    struct desk d;
    person(&d, "Is my weight going down?");
    T_EQ(weir_json_count(weir_json_get_str(days_work(&d), "findings")), 1);
    desk_ask(&d, "Is my weight falling?");
    const struct weir_json *again = days_work(&d);
    T_EQ(weir_json_count(weir_json_get_str(again, "findings")), 0);
    T_OK(desk_holds(text_at(again, "text"), "already"));
    desk_fini(&d);
}

TEST(the_same_question_gives_the_same_bytes)
{
    struct desk a, b;
    person(&a, "How is my sleep, and does it go with my steps?");
    person(&b, "How is my sleep, and does it go with my steps?");
    (void)days_work(&a);
    (void)days_work(&b);
    T_EQ_SLICE(weir_buf_slice(&a.out), weir_buf_slice(&b.out));
    desk_fini(&a);
    desk_fini(&b);
}

/* ---- days ---- */

TEST(days_are_those_of_the_window_and_say_when_the_device_changed)
{
    struct desk d;
    desk_init(&d, "Is my resting heart rate falling over the last 100 days?");
    days_add(&d, (struct days_of){"resting_heart_rate", 60, 0, 0, 1, 0, 150});
    const struct weir_json *f = finding_at(days_work(&d), 0);
    const struct weir_json *days = weir_json_get_str(f, "days");
    T_EQ_STR(text_at(f, "kind"), "trend");
    T_EQ_STR(text_at(days, "from"), "2025-03-11");
    T_EQ(weir_json_count(weir_json_get_str(days, "a")), 100);
    T_EQ((long)number_at(days, "device_change"), 50);
    /* The first day is a Tuesday: Saturday is four days later. */
    T_EQ((long)number_at(days, "weekend"), 1 << 4 | 1 << 5);
    desk_fini(&d);
}

TEST(two_devices_in_turn_are_no_change_of_device)
{
    struct desk d;
    int32_t days[DAYS];
    double values[DAYS];
    uint16_t sources[DAYS], source[2];
    desk_init(&d, "Is my resting heart rate falling?");
    struct source watch = {.name = SLICE("Watch")}, ring = {.name = SLICE("Ring")};
    T_EQ(dataset_add_source(d.c.data, &watch, &source[0]), WEIR_OK);
    T_EQ(dataset_add_source(d.c.data, &ring, &source[1]), WEIR_OK);
    for (size_t i = 0; i < DAYS; i++) {
        days[i] = days_last() - DAYS + 1 + (int32_t)i;
        values[i] = 60 + (double)(i % 5);
        sources[i] = source[i / 3 % 2];
    }
    struct series s = {.metric = metric_find(weir_slice_of("resting_heart_rate")),
                       .n = DAYS,
                       .days = days,
                       .values = values,
                       .sources = sources};
    T_EQ(dataset_add_series(d.c.data, &s), WEIR_OK);
    const struct weir_json *f = finding_at(days_work(&d), 0);
    T_EQ((long)number_at(weir_json_get_str(f, "days"), "device_change"), 0);
    desk_fini(&d);
}

TEST(unfinished_and_unworn_days_have_no_value)
{
    struct desk d;
    int32_t days[30];
    double values[30];
    uint8_t quality[30] = {0};
    desk_init(&d, "What was my average steps over the last 30 days?");
    for (size_t i = 0; i < 30; i++) {
        days[i] = days_last() - 29 + (int32_t)i;
        values[i] = 9000 + 10 * (double)i;
    }
    quality[29] = QUALITY_PARTIAL;
    quality[3] = QUALITY_NOT_WORN;
    struct series s = {.metric = metric_find(weir_slice_of("steps")),
                       .n = 30,
                       .days = days,
                       .values = values,
                       .quality = quality};
    T_EQ(dataset_add_series(d.c.data, &s), WEIR_OK);
    const struct weir_json *f = finding_at(days_work(&d), 0);
    const struct weir_json *a = weir_json_get_str(weir_json_get_str(f, "days"), "a");
    T_EQ(weir_json_count(a), 30);
    T_EQ(weir_json_type_of(member_at(a, 29)), WEIR_JSON_NULL);
    T_EQ(weir_json_type_of(member_at(a, 3)), WEIR_JSON_NULL);
    T_EQ(weir_json_type_of(member_at(a, 4)), WEIR_JSON_NUMBER);
    desk_fini(&d);
}

TEST(entries_are_in_the_unit_that_was_asked_for)
{
    struct desk d;
    person(&d, "What was my average weight in pounds over the last 30 days?");
    const struct weir_json *entries = weir_json_get_str(finding_at(days_work(&d), 0), "entries");
    double pounds = value_of(entries, "ds-001.avg");
    T_OK(pounds > 155 && pounds < 165);
    T_EQ_STR(text_at(entry_of(entries, "ds-001.avg"), "unit"), "lb");
    T_EQ_STR(text_at(entry_of(entries, "ds-001.avg"), "window"), "2025-05-20 .. 2025-06-18");
    desk_fini(&d);
}

TEST(a_trend_has_the_ends_of_its_line)
{
    struct desk d;
    person(&d, "Is my weight going down?");
    const struct weir_json *entries = weir_json_get_str(finding_at(days_work(&d), 0), "entries");
    double change = value_of(entries, "ds-001.change");
    double from = value_of(entries, "ds-001.from"), to = value_of(entries, "ds-001.to");
    T_OK(fabs(change + 2) < 0.3);
    T_OK(fabs(to - from - change) < 1e-9);
    T_OK(fabs(value_of(entries, "ds-001.slope") + 0.07) < 0.02);
    T_OK(fabs(value_of(entries, "ds-001.slope_month") + 0.3) < 0.08);
    desk_fini(&d);
}
