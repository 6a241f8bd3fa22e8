/* SPDX-License-Identifier: Apache-2.0 */
/* What the domain expert says, and that each of its numbers has an entry. */
#include <string.h>

#include "../../t.h"
#include "agent/agent_impl.h"
#include "base/mem.h"
#include "check/verify.h"

struct bench {
    struct arena arena;
    struct weir_buf result;
    struct weir_json_doc *doc;
    const struct weir_json *json;
    struct dataset *data;
};

static void open_bench(struct bench *b)
{
    arena_init(&b->arena, VERIFY_ARENA_BYTES);
    weir_buf_init(&b->result, 1 << 20);
    b->doc = weir_json_doc_new(0);
    b->data = dataset_new();
}

static void close_bench(struct bench *b)
{
    dataset_free(b->data);
    weir_json_doc_free(b->doc);
    weir_buf_fini(&b->result);
    arena_fini(&b->arena);
}

static void add_days(struct dataset *d, const char *metric, double value)
{
    enum { N = 30 };
    int32_t days[N];
    double values[N];
    for (int i = 0; i < N; i++) {
        days[i] = 20000 + i;
        values[i] = value + i % 3;
    }
    struct series s = {
        .metric = metric_find(weir_slice_of(metric)), .n = N, .days = days, .values = values};
    T_EQ(dataset_add_series(d, &s), WEIR_OK);
}

static const struct weir_json *ask_with(struct bench *b, const char *question,
                                        const struct weir_json *messages)
{
    struct agent_case c = {.turn_id = weir_slice_of("turn_1"),
                           .question = weir_slice_of(question),
                           .messages = messages,
                           .has_biomarkers = true,
                           .data = b->data,
                           .clock = &clock_system,
                           .arena = &b->arena};
    weir_buf_reset(&b->result);
    T_EQ(domain_expert_work(&c, c.question, &b->result), WEIR_OK);
    T_EQ(weir_json_parse(b->doc, weir_buf_slice(&b->result), &b->json, NULL), WEIR_OK);
    return b->json;
}

static const struct weir_json *ask(struct bench *b, const char *question)
{
    return ask_with(b, question, NULL);
}

static bool says(const struct weir_json *result, const char *words)
{
    struct weir_slice text = agent_text(result, "text");
    return text.len > 0 && memmem(text.ptr, text.len, words, strlen(words)) != NULL;
}

/* All numbers of the text are the question's or entries. */
static void is_verified(struct bench *b, const char *question, const struct weir_json *result)
{
    char error[LEDGER_ERROR_BYTES];
    struct ledger ledger;
    struct verify_result found;
    struct weir_slice known = weir_slice_of(question);
    T_EQ(ledger_read(&ledger, weir_json_get_str(result, "facts"), &b->arena, error), WEIR_OK);
    struct verify_input in = {
        .text = agent_text(result, "text"), .ledger = &ledger, .known = &known, .n_known = 1};
    T_EQ(verify_text(&found, &in, &b->arena), WEIR_OK);
    for (size_t i = 0; i < found.n; i++)
        if (found.numbers[i].outcome == VERIFY_LACK)
            t_fail(__FILE__, __LINE__, "%s: %.*s has no home", question, (int)found.numbers[i].len,
                   in.text.ptr + found.numbers[i].offset);
}

TEST(a_value_that_is_told_is_ordered_with_its_source)
{
    struct bench b;
    open_bench(&b);
    T_OK(says(ask(&b, "Is LDL 124 a concern?"),
              "A value of 124 mg/dL for LDL cholesterol is near or "
              "above optimal (100 to below 130 mg/dL; NCEP ATP "
              "III)."));
    T_OK(says(ask(&b, "is an LDL of 3.2 mmol/L high?"), "(2.6 to below 3.4 mmol/L;"));
    T_OK(says(ask(&b, "hba1c of 43 mmol/mol"),
              "in the range of prediabetes (39 to below 48 mmol/mol"));
    T_OK(says(ask(&b, "is 6 hours of sleep enough?"), "less than recommended (below 7 h"));
    close_bench(&b);
}

TEST(a_value_that_cannot_be_is_not_answered_by_another)
{
    struct bench b;
    open_bench(&b);
    add_days(b.data, "resting_heart_rate", 64);
    const struct weir_json *r = ask(&b, "is a resting heart rate of 1000 normal?");
    T_OK(says(r, "A value of 1,000 bpm for resting heart rate is hardly possible"));
    T_OK(!says(r, "public limits"));
    is_verified(&b, "is a resting heart rate of 1000 normal?", r);
    T_OK(says(ask(&b, "is 6000 steps enough?"), "A value of 6,000 steps is below"));
    close_bench(&b);
}

TEST(each_caveat_of_several_says_whose_it_is)
{
    struct bench b;
    open_bench(&b);
    const struct weir_json *r = ask(&b, "is an LDL of 124 and an HDL of 50 ok?");
    T_OK(says(r, "Keep in mind about LDL cholesterol: "));
    T_OK(says(r, "About HDL cholesterol: "));
    T_OK(says(ask(&b, "is an LDL of 124 ok?"), "Keep in mind: "));
    close_bench(&b);
}

TEST(a_dangerous_value_comes_with_help_first)
{
    struct bench b;
    open_bench(&b);
    const struct weir_json *r = ask(&b, "my blood pressure is 190/125");
    T_EQ(weir_json_count(weir_json_get_str(r, "urgent")), 1);
    T_OK(memcmp(agent_text(r, "text").ptr, "**This value", 12) == 0);
    T_EQ(weir_json_count(weir_json_get_str(ask(&b, "LDL 100"), "urgent")), 0);
    close_bench(&b);
}

TEST(own_values_are_findings_and_their_numbers_are_left_to_the_gates)
{
    struct bench b;
    open_bench(&b);
    add_days(b.data, "resting_heart_rate", 64);
    const struct weir_json *r = ask(&b, "is my resting heart rate normal?");
    T_OK(weir_json_count(weir_json_get_str(r, "findings")) >= 1);
    T_OK(says(r, "your average resting heart rate is in the usual range (60 to below 100 bpm"));
    T_OK(!says(r, "65"));
    close_bench(&b);
}

TEST(what_would_have_to_be_known_is_said)
{
    struct bench b;
    const struct weir_json *messages = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    open_bench(&b);
    T_OK(says(ask(&b, "is a vo2max of 40 good?"), "depend on age and sex, which I do not know"));
    T_EQ(weir_json_parse(doc,
                         weir_slice_of("[{\"role\":\"user\",\"content\":\"I am a 44 year old "
                                       "man\"}]"),
                         &messages, NULL),
         WEIR_OK);
    T_OK(says(ask_with(&b, "is a vo2max of 40 good?", messages), "above the median (37.8 "));
    weir_json_doc_free(doc);
    close_bench(&b);
}

TEST(every_number_that_is_said_is_told_or_has_an_entry)
{
    static const char *const questions[] = {
        "Is LDL 124 a concern?",
        "is 135/85 a high blood pressure?",
        "what is a normal bmi",
        "how much sleep do I need?",
        "is an LDL of 3.2 mmol/L high?",
        "is 38.5 a fever temperature?",
        "what is hrv?",
        "is my cholesterol ok",
        "how much exercise is recommended?",
        "glucose 5.4",
        "are 6000 steps enough?",
        "vitamin d 18",
        "ferritin 12",
        "is 96 oxygen ok",
        "tell me a joke",
        "resting heart rate of 48",
        "my potassium is 6.9",
        "triglycerides 620, hdl 31, ldl 201",
    };
    struct bench b;
    open_bench(&b);
    add_days(b.data, "sleep_minutes", 431);
    add_days(b.data, "steps", 7600);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        is_verified(&b, questions[i], ask(&b, questions[i]));
    close_bench(&b);
}
