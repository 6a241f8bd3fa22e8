/* SPDX-License-Identifier: Apache-2.0 */
#include "check/critic.h"

#include <stdio.h>

#include <weir/json.h>

#include "finding.h"

static struct arena arena;

/* A verdict as the gates would give it: this gate failed, or none when it is N_GATES. */
static struct verdict verdict_with(size_t failed, double estimate)
{
    struct verdict v = {.estimate = estimate, .lo = estimate - 1, .hi = estimate + 1};
    for (size_t i = 0; i < N_GATES; i++)
        v.gates[i] = (struct gate){.status = GATE_PASSED, .why = "it is so"};
    if (failed < N_GATES)
        v.gates[failed] = (struct gate){.status = GATE_FAILED, .why = "the device changed"};
    v.name = failed == N_GATES                ? VERDICT_VALIDATED
             : failed <= GATE_EFFECT_VS_NOISE ? VERDICT_REJECTED
                                              : VERDICT_CONDITIONAL;
    return v;
}

static const struct metric *metric(const char *name)
{
    const struct metric *m = metric_find(weir_slice_of(name));
    T_OK(m != NULL);
    return m;
}

static double row[DAYS];

static struct finding about(enum finding_kind kind, const char *x, const char *y)
{
    make_days(row, DAYS, 1, 0);
    return (struct finding){.kind = kind,
                            .metric = metric(x),
                            .metric_y = y ? metric(y) : NULL,
                            .a = {row, DAYS},
                            .b = {row, DAYS},
                            .weekend = WEEKEND,
                            .is_one_device = true};
}

static struct critique review(const struct critic_case *c)
{
    struct critique q;
    T_EQ(critic_review(&q, c, &arena), WEIR_OK);
    T_OK(q.reasoning[0] != '\0' && strchr(q.reasoning, '\n') == NULL);
    for (size_t i = 0; i < q.n; i++) {
        T_OK(q.concerns[i].note[0] != '\0');
        T_OK(i == 0 || q.concerns[i].severity <= q.concerns[i - 1].severity);
    }
    return q;
}

/* The severity of the first concern of a kind, or -1. */
static int severity_of(const struct critique *q, enum concern_kind kind)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->concerns[i].kind == kind) return (int)q->concerns[i].severity;
    return -1;
}

static const char *note_of(const struct critique *q, enum concern_kind kind)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->concerns[i].kind == kind) return q->concerns[i].note;
    return "";
}

#define OPEN()  arena_init(&arena, 4 << 20)
#define CLOSE() arena_fini(&arena)

TEST(a_mean_over_enough_days_is_accepted_without_a_concern)
{
    OPEN();
    struct finding f = about(FINDING_LEVEL, "resting_heart_rate", NULL);
    struct verdict v = verdict_with(N_GATES, 60);
    struct critique q = review(&(struct critic_case){.finding = &f, .verdict = &v});
    T_EQ(q.name, CRITIC_ACCEPT);
    T_EQ(q.n, 0);
    T_EQ_STR(weir_slice_of(q.reasoning),
             "A descriptive summary of 84 daily values, no causal claim.");
    CLOSE();
}

TEST(every_metric_of_the_catalogue_has_confounders)
{
    OPEN();
    for (size_t i = 0; i < metric_count(); i++) {
        struct finding f = about(FINDING_TREND, "steps", NULL);
        struct verdict v = verdict_with(N_GATES, 100);
        f.metric = metric_at(i);
        struct critique q = review(&(struct critic_case){.finding = &f, .verdict = &v});
        if (severity_of(&q, CONCERN_CONFOUNDER) != SEVERITY_MEDIUM)
            printf("no confounder of %s\n", f.metric->name);
        T_EQ(severity_of(&q, CONCERN_CONFOUNDER), SEVERITY_MEDIUM);
    }
    CLOSE();
}

TEST(what_both_metrics_depend_on_is_named_and_what_is_looked_at_is_not)
{
    OPEN();
    struct finding f = about(FINDING_PAIR, "resting_heart_rate", "hrv_rmssd");
    struct verdict v = verdict_with(N_GATES, -0.5);
    struct critic_case c = {.finding = &f, .verdict = &v};
    struct critique q = review(&c);
    T_EQ_STR(weir_slice_of(note_of(&q, CONCERN_CONFOUNDER)),
             "Other things move both resting heart rate and heart rate variability (RMSSD), and "
             "were not looked at: alcohol, illness, training load and stress.");
    T_EQ(q.name, CRITIC_ACCEPT);
    f.metric = metric("alcohol");
    v.estimate = -0.5;
    q = review(&c);
    T_OK(strstr(note_of(&q, CONCERN_CONFOUNDER), "alcohol,") == NULL);
    CLOSE();
}

TEST(a_cause_that_is_asked_for_on_the_same_day_is_downgraded)
{
    OPEN();
    struct finding f = about(FINDING_PAIR, "steps", "sleep_minutes");
    struct verdict v = verdict_with(N_GATES, 0.5);
    struct critic_case c = {.finding = &f, .verdict = &v};
    struct critique q = review(&c);
    T_EQ(severity_of(&q, CONCERN_REVERSE_CAUSATION), SEVERITY_LOW);
    T_EQ(q.name, CRITIC_ACCEPT);
    c.is_causal = true;
    q = review(&c);
    T_EQ(severity_of(&q, CONCERN_REVERSE_CAUSATION), SEVERITY_HIGH);
    T_EQ(q.name, CRITIC_DOWNGRADE);
    f.lag = 1;
    q = review(&c);
    T_EQ(severity_of(&q, CONCERN_REVERSE_CAUSATION), -1);
    f.lag = -1;
    q = review(&c);
    T_EQ(severity_of(&q, CONCERN_REVERSE_CAUSATION), SEVERITY_HIGH);
    CLOSE();
}

TEST(a_part_and_its_whole_are_rejected_and_some_days_apart_doubted)
{
    OPEN();
    struct finding f = about(FINDING_PAIR, "deep_sleep_minutes", "sleep_minutes");
    struct verdict v = verdict_with(N_GATES, 0.7);
    struct critic_case c = {.finding = &f, .verdict = &v};
    T_EQ(review(&c).name, CRITIC_REJECT);
    f.metric = metric("readiness_score"), f.metric_y = metric("hrv_rmssd");
    T_EQ(review(&c).name, CRITIC_REJECT);
    f.lag = 1;
    struct critique q = review(&c);
    T_EQ(q.name, CRITIC_ACCEPT);
    T_EQ(severity_of(&q, CONCERN_TAUTOLOGY), SEVERITY_MEDIUM);
    CLOSE();
}

TEST(few_days_and_days_that_are_missing_are_doubted)
{
    OPEN();
    struct finding f = about(FINDING_WINDOWS, "weight", NULL);
    struct verdict v = verdict_with(N_GATES, 3);
    struct critic_case c = {.finding = &f, .verdict = &v};
    T_EQ(review(&c).name, CRITIC_ACCEPT);
    f.b.n = 12;
    struct critique q = review(&c);
    T_EQ(severity_of(&q, CONCERN_SMALL_N), SEVERITY_HIGH);
    T_EQ(q.name, CRITIC_DOWNGRADE);
    f.b.n = DAYS;
    double half[DAYS];
    for (size_t i = 0; i < DAYS; i++) half[i] = i % 3 == 0 ? row[i] : NAN;
    f.b.x = half;
    q = review(&c);
    T_EQ(severity_of(&q, CONCERN_SELECTION_BIAS), SEVERITY_MEDIUM);
    f.a.x = half;
    q = review(&c);
    T_EQ(severity_of(&q, CONCERN_SELECTION_BIAS), SEVERITY_HIGH);
    CLOSE();
}

TEST(the_best_of_many_is_downgraded_unless_it_was_confirmed)
{
    OPEN();
    struct finding f = about(FINDING_TREND, "steps", NULL);
    struct verdict v = verdict_with(N_GATES, 2000);
    struct critic_case c = {.finding = &f, .verdict = &v, .n_tests = 400};
    T_EQ(review(&c).name, CRITIC_DOWNGRADE);
    c.is_confirmed = true;
    struct critique q = review(&c);
    T_EQ(q.name, CRITIC_ACCEPT);
    T_EQ(severity_of(&q, CONCERN_MULTIPLE_TESTING), SEVERITY_LOW);
    c.n_tests = 1;
    q = review(&c);
    T_EQ(severity_of(&q, CONCERN_MULTIPLE_TESTING), -1);
    CLOSE();
}

TEST(what_contradicts_studies_is_told)
{
    OPEN();
    struct finding f = about(FINDING_PAIR, "resting_heart_rate", "alcohol");
    struct verdict v = verdict_with(N_GATES, -0.4);
    struct critic_case c = {.finding = &f, .verdict = &v};
    struct critique q = review(&c);
    T_EQ(severity_of(&q, CONCERN_LITERATURE_CONTRADICTION), SEVERITY_HIGH);
    v.estimate = 0.4;
    q = review(&c);
    T_EQ(severity_of(&q, CONCERN_LITERATURE_CONTRADICTION), -1);
    CLOSE();
}

TEST(one_day_and_another_device_may_be_errors_of_measurement)
{
    OPEN();
    struct finding f = about(FINDING_ANOMALY, "weight", NULL);
    struct verdict v = verdict_with(N_GATES, 20);
    struct critic_case c = {.finding = &f, .verdict = &v};
    struct critique q = review(&c);
    T_EQ(severity_of(&q, CONCERN_MEASUREMENT), SEVERITY_LOW);
    f.kind = FINDING_TREND;
    f.device_change = 30;
    q = review(&c);
    T_EQ(q.name, CRITIC_DOWNGRADE);
    T_EQ(severity_of(&q, CONCERN_MEASUREMENT), SEVERITY_HIGH);
    CLOSE();
}

TEST(nothing_at_all_is_reviewed_as_well)
{
    OPEN();
    for (int kind = FINDING_LEVEL; kind <= FINDING_ANOMALY; kind++)
        for (size_t failed = 0; failed <= N_GATES; failed++) {
            struct finding f = {.kind = (enum finding_kind)kind};
            struct verdict v = verdict_with(failed, NAN);
            struct critic_case c = {.finding = &f, .verdict = &v};
            struct critique q = review(&c);
            struct assessment a;
            T_EQ(critic_assess(&a, &c, &q, &arena), WEIR_OK);
        }
    CLOSE();
    arena_init(&arena, 16);
    struct finding f = about(FINDING_TREND, "steps", NULL);
    struct verdict v = verdict_with(N_GATES, 1);
    struct critic_case c = {.finding = &f, .verdict = &v};
    struct critique q;
    struct assessment a;
    T_EQ(critic_review(&q, &c, &arena), WEIR_LIMIT);
    T_EQ(critic_assess(&a, &c, &q, &arena), WEIR_LIMIT);
    CLOSE();
}

TEST(the_worst_of_gates_and_critic_counts)
{
    T_EQ(critic_combine(VERDICT_VALIDATED, CRITIC_ACCEPT), VERDICT_VALIDATED);
    T_EQ(critic_combine(VERDICT_VALIDATED, CRITIC_DOWNGRADE), VERDICT_CONDITIONAL);
    T_EQ(critic_combine(VERDICT_VALIDATED, CRITIC_REJECT), VERDICT_REJECTED);
    T_EQ(critic_combine(VERDICT_CONDITIONAL, CRITIC_ACCEPT), VERDICT_CONDITIONAL);
    T_EQ(critic_combine(VERDICT_CONDITIONAL, CRITIC_DOWNGRADE), VERDICT_CONDITIONAL);
    T_EQ(critic_combine(VERDICT_CONDITIONAL, CRITIC_REJECT), VERDICT_REJECTED);
    T_EQ(critic_combine(VERDICT_REJECTED, CRITIC_ACCEPT), VERDICT_REJECTED);
    T_EQ(critic_combine(VERDICT_REJECTED, CRITIC_DOWNGRADE), VERDICT_REJECTED);
    T_EQ(critic_combine(VERDICT_REJECTED, CRITIC_REJECT), VERDICT_REJECTED);
}

static void line_is(struct finding f, size_t failed, double estimate, const char *line)
{
    struct verdict v = verdict_with(failed, estimate);
    struct critic_case c = {.finding = &f, .verdict = &v};
    struct critique q = review(&c);
    struct assessment a;
    T_EQ(critic_assess(&a, &c, &q, &arena), WEIR_OK);
    T_EQ_STR(weir_slice_of(a.line), line);
    if (a.verdict == VERDICT_CONDITIONAL) T_OK(assess_is_hedged(weir_slice_of(a.claim)));
    if (a.verdict == VERDICT_VALIDATED) T_OK(!assess_is_hedged(weir_slice_of(a.claim)));
}

TEST(an_assessment_says_what_was_found_and_the_first_doubt)
{
    OPEN();
    struct finding f = about(FINDING_TREND, "steps", NULL);
    line_is(f, N_GATES, 900,
            "consistent: your steps rose over these days; every check that applies was passed");
    line_is(f, GATE_SUBGROUP_CONSISTENCY, -900,
            "uncertain: your steps may have fallen over these days, but it is not the same in "
            "every part of these days");
    line_is(f, GATE_EFFECT_VS_NOISE, -900,
            "not supported: these days show no trend of your steps, for it is not larger than the "
            "usual ups and downs");
    line_is(f, GATE_CONSTRUCT_VALIDITY, 900,
            "not supported: these days show no trend of your steps, for the device changed");
    f.kind = FINDING_WINDOWS;
    line_is(f, N_GATES, -900,
            "consistent: your steps were lower in the later days than in the earlier ones; every "
            "check that applies was passed");
    f.metric = metric("bedtime");
    line_is(f, GATE_BOOTSTRAP, 40,
            "uncertain: your bedtime may have been later in the later days than in the earlier "
            "ones, but it does not hold when the days are drawn again");
    f.b.n = 12;
    line_is(f, N_GATES, 40,
            "uncertain: your bedtime may have been later in the later days than in the earlier "
            "ones, but it rests on 96 days only, so a few of them could change it");
    CLOSE();
}

TEST(words_fit_what_is_compared)
{
    OPEN();
    struct finding f = about(FINDING_WEEKDAYS, "sleep_minutes", NULL);
    line_is(f, N_GATES, 40,
            "consistent: your sleep is longer on weekends than on weekdays; every check that "
            "applies was passed");
    f.weekend = 1 << 2;
    line_is(f, N_GATES, -40,
            "consistent: your sleep is shorter on those days of the week than on the others; every "
            "check that applies was passed");
    f = about(FINDING_PAIR, "steps", "sleep_minutes");
    f.lag = 1;
    line_is(f, N_GATES, 0.5,
            "consistent: days with more steps tend to come before days with more sleep; every "
            "check that applies was passed");
    f.metric_y = metric("bedtime");
    f.lag = -1;
    line_is(f, GATE_METHOD_TRIANGULATION, -0.5,
            "uncertain: days with more steps may come after days with earlier bedtime, but not "
            "every method finds it");
    CLOSE();
}

TEST(hedges_are_words_of_their_own)
{
    T_OK(assess_is_hedged(weir_slice_of("It may have fallen.")));
    T_OK(assess_is_hedged(weir_slice_of("This SUGGESTS a drop")));
    T_OK(!assess_is_hedged(weir_slice_of("It fell in May; the mayor appeareth.")));
    T_OK(!assess_is_hedged(weir_slice_of("")));
}

TEST(the_event_has_what_clients_expect)
{
    OPEN();
    struct finding f = about(FINDING_PAIR, "deep_sleep_minutes", "sleep_minutes");
    struct verdict v = verdict_with(N_GATES, 0.7);
    struct critique q = review(&(struct critic_case){.finding = &f, .verdict = &v});
    struct weir_buf out;
    weir_buf_init(&out, 100000);
    weir_json_put_begin_object(&out);
    critic_put(&out, &q);
    weir_json_put_end_object(&out);
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *json, *first;
    T_EQ(weir_json_parse(doc, weir_buf_slice(&out), &json, NULL), WEIR_OK);
    T_EQ_STR(weir_json_text(weir_json_get_str(json, "verdict")), "reject");
    first = weir_json_first(weir_json_get_str(json, "concerns"));
    T_EQ_STR(weir_json_text(weir_json_get_str(first, "kind")), "tautology");
    T_EQ_STR(weir_json_text(weir_json_get_str(first, "severity")), "high");
    T_OK(weir_json_text(weir_json_get_str(first, "note")).len > 0);
    weir_json_doc_free(doc);
    weir_buf_fini(&out);
    CLOSE();
}
