/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole turns without the workflow: all steps one after the other over the invented people, for
 * every question that there is. Whatever is asked, the answer is not empty, has no number without
 * a home, hedges what is conditional, and is what was streamed. T_SHOW=1 prints them.
 */
#include <stdlib.h>

#include "agent/agent_impl.h"
#include "base/mem.h"
#include "check/strip.h"
#include "people.h"

struct counts {
    size_t n, n_removed, n_again, n_bytes;
};

static void set_output(struct desk *d, const char *step)
{
    weir_buf_append_char(&d->out, '\0');
    T_EQ(weir_buf_status(&d->out), WEIR_OK);
    desk_set(d, step, d->out.ptr);
    weir_buf_reset(&d->out);
}

static struct weir_slice text_of(const struct weir_json *object, const char *key)
{
    return weir_json_text(weir_json_get_str(object, key));
}

static void work(struct desk *d, struct weir_slice agent)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)agent.len, agent.ptr);
    struct weir_slice question = text_of(desk_output(d, "rephrase_per_agent"), name);
    T_OK(question.len > 0);
    T_EQ(agent_work(&d->c, name, question, &d->out), WEIR_OK);
}

static void run_agents(struct desk *d)
{
    const struct weir_json *route = desk_output(d, "route");
    const struct weir_json *list = weir_json_get_str(route, "supporting");
    struct weir_buf all;
    weir_buf_init(&all, DESK_BYTES);
    weir_json_put_begin_object(&all);
    for (const struct weir_json *s = weir_json_first(list); s; s = weir_json_next(s)) {
        work(d, weir_json_text(s));
        weir_json_put_key_slice(&all, weir_json_text(s));
        weir_buf_append_slice(&all, weir_buf_slice(&d->out));
        weir_buf_reset(&d->out);
    }
    weir_json_put_end_object(&all);
    weir_buf_append_slice(&d->out, weir_buf_slice(&all));
    weir_buf_fini(&all);
    if (weir_json_count(list) > 0) set_output(d, "run_supporting_agents");
    weir_buf_reset(&d->out);
    work(d, text_of(route, "main"));
    set_output(d, "run_main_agent");
}

static void step(struct desk *d, const char *name,
                 enum weir_status (*fn)(struct agent_case *c, struct weir_buf *out))
{
    T_EQ(fn(&d->c, &d->out), WEIR_OK);
    set_output(d, name);
}

static void run_turn(struct desk *d)
{
    step(d, "classify_vagueness", agent_classify);
    step(d, "route", agent_route);
    const struct weir_json *route = desk_output(d, "route");
    if (text_of(route, "main").len > 0) {
        step(d, "rephrase_per_agent", agent_rephrase);
        run_agents(d);
        if (!weir_slice_is(text_of(route, "main"), "investigator"))
            step(d, "reflection", agent_reflect);
        step(d, "validation_gates", agent_validate);
    }
    weir_buf_reset(&d->thoughts);
    step(d, "synthesis", agent_synthesize);
    step(d, "memory_extraction", agent_remember);
}

/* The invariants of a completed turn, by somebody who knows question and sheet alone. */
static void check_answer(struct desk *d, struct weir_slice answer)
{
    struct ledger ledger = {0};
    struct verify_result result = {0};
    struct unhedged unhedged;
    struct arena arena;
    char error[LEDGER_ERROR_BYTES];
    arena_init(&arena, VERIFY_ARENA_BYTES);
    const struct weir_json *sheet =
        weir_json_get_str(desk_output(d, "validation_gates"), "fact_sheet");
    if (sheet) T_EQ(ledger_read(&ledger, sheet, &arena, error), WEIR_OK);
    struct verify_input input = {
        .text = answer, .ledger = &ledger, .known = &d->c.question, .n_known = 1};
    T_EQ(verify_text(&result, &input, &arena), WEIR_OK);
    for (size_t i = 0; i < result.n; i++)
        if (result.numbers[i].outcome == VERIFY_LACK)
            t_fail(__FILE__, __LINE__, "%.*s: no home for \"%.*s\" in %.*s", (int)d->c.question.len,
                   d->c.question.ptr, (int)result.numbers[i].len,
                   answer.ptr + result.numbers[i].offset, (int)answer.len, answer.ptr);
    T_EQ(verify_unhedged(&unhedged, answer, &result, &arena), WEIR_OK);
    for (size_t i = 0; i < unhedged.n; i++)
        t_fail(__FILE__, __LINE__, "%.*s: not hedged: %.*s", (int)d->c.question.len,
               d->c.question.ptr, (int)unhedged.sentences[i].len, unhedged.sentences[i].ptr);
    arena_fini(&arena);
}

static void show(struct desk *d, const char *question, struct weir_slice answer)
{
    struct weir_slice main = text_of(desk_output(d, "route"), "main");
    printf("Q [%.*s] %s\n%.*s\n\n", (int)main.len, main.ptr, question, (int)answer.len, answer.ptr);
    const struct weir_json *memory =
        weir_json_get_str(desk_output(d, "memory_extraction"), "entries");
    for (const struct weir_json *m = weir_json_first(memory); m; m = weir_json_next(m))
        printf("    memory %.*s: %.*s\n", (int)text_of(m, "category").len,
               text_of(m, "category").ptr, (int)text_of(m, "text").len, text_of(m, "text").ptr);
}

static void ask(struct dataset *data, const char *question, struct counts *counts)
{
    struct desk *d = mem_zalloc(sizeof *d);
    desk_init(d, question);
    struct dataset *own = d->c.data;
    d->c.data = data;
    arena_fini(&d->arena);
    arena_init(&d->arena, VERIFY_ARENA_BYTES);
    run_turn(d);
    const struct weir_json *out = desk_output(d, "synthesis");
    struct weir_slice answer = text_of(out, "answer");
    int64_t attempts = 0;
    T_OK(weir_json_int64(weir_json_get_str(out, "attempts"), &attempts));
    T_OK(answer.len > 0);
    T_EQ_SLICE(weir_buf_slice(&d->thoughts), answer);
    check_answer(d, answer);
    if (getenv("T_SHOW")) show(d, question, answer);
    counts->n++;
    counts->n_again += attempts > 1;
    counts->n_removed += weir_json_count(weir_json_get_str(out, "removed"));
    counts->n_bytes += answer.len;
    d->c.data = own;
    desk_fini(d);
    mem_free(d);
}

static void report(const struct counts *c)
{
    printf("    %zu answers of %zu bytes on average, %zu written again, %zu sentences removed\n",
           c->n, c->n_bytes / (c->n ? c->n : 1), c->n_again, c->n_removed);
}

TEST(questions_in_the_words_of_many_get_answers_that_hold)
{
    struct weir_slice file = t_read_file(T_SOURCE_ROOT "/tests/data/agent/routes.tsv");
    struct person p = person_open(T_SOURCE_ROOT "/tests/data/people", "p01");
    struct counts counts = {0};
    while (file.len > 0) {
        const char *end = memchr(file.ptr, '\n', file.len);
        size_t len = end ? (size_t)(end - file.ptr) : file.len;
        char line[600];
        snprintf(line, sizeof line, "%.*s", (int)len, file.ptr);
        const char *question = strrchr(line, '\t');
        if (line[0] != '#' && question) ask(p.data, question + 1, &counts);
        file = slice_from(file, len < file.len ? len + 1 : len);
    }
    T_OK(counts.n > 200);
    report(&counts);
    person_close(&p);
}

TEST(generated_questions_get_answers_that_hold)
{
    static const char *const heads[] = {"What is my average",
                                        "how many",
                                        "Is there a trend in my",
                                        "when was my highest",
                                        "lowest",
                                        "Compare my",
                                        "why is my",
                                        "is it normal that my",
                                        "how can I improve my",
                                        "list my",
                                        "median",
                                        "total",
                                        "which weekday has the most",
                                        "correlation of stress and my"};
    static const char *const things[] = {
        "steps", "sleep", "resting heart rate", "HRV",   "weight", "deep sleep", "bedtime",
        "runs",  "LDL",   "blood oxygen",       "stress"};
    static const char *const tails[] = {"",
                                        " last week",
                                        " in March",
                                        " over the last 90 days",
                                        " on weekends",
                                        " yesterday",
                                        " since January",
                                        " this month versus last month",
                                        " on days when I ran",
                                        " above 50"};
    struct person p = person_open(T_SOURCE_ROOT "/tests/data/people", "p01");
    struct counts counts = {0};
    uint64_t state = t_random();
    for (size_t i = 0; i < t_rounds(300); i++) {
        char question[200];
        state = state * 6364136223846793005u + 1442695040888963407u;
        snprintf(question, sizeof question, "%s %s%s?",
                 heads[(state >> 33) % (sizeof heads / sizeof *heads)],
                 things[(state >> 40) % (sizeof things / sizeof *things)],
                 tails[(state >> 50) % (sizeof tails / sizeof *tails)]);
        ask(p.data, question, &counts);
    }
    report(&counts);
    person_close(&p);
}

TEST(a_person_without_data_gets_answers_too)
{
    static const char *const questions[] = {"avg RHR?",
                                            "anything to worry about?",
                                            "is LDL 124 a concern?",
                                            "plan my deep sleep recovery",
                                            "thanks!",
                                            "Is my sleep score drop meaningful?"};
    struct dataset *none = dataset_new();
    struct counts counts = {0};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        ask(none, questions[i], &counts);
    dataset_free(none);
}

TEST(whatever_is_typed_gets_an_answer)
{
    static const char *const typed[] = {
        " ",
        "?",
        "\n\n",
        "...",
        "12345",
        "\xF0\x9F\x98\x80",
        "**steps**",
        "<b>steps</b>",
        "'; DROP TABLE steps; --",
        "steps steps steps steps steps",
        "mein Schlaf letzte Woche",
        "\xE6\x88\x91\xE7\x9A\x84\xE7\x9D\xA1\xE7\x9C\xA0",
        "average",
        "last week",
        "my steps and my blood glucose and my mood in March",
        "Is 10,000 steps 7 days a week ok?",
        "I slept 7h12m, ran 5.3 km at 5:12/km and weigh 71.4kg; is that good?",
        "what was my average of the average of the average of sleep"};
    struct person p = person_open(T_SOURCE_ROOT "/tests/data/people", "p01");
    struct counts counts = {0};
    char *much = mem_alloc(AGENT_QUESTION_BYTES + 1);
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) ask(p.data, typed[i], &counts);
    for (int round = 0; round < 3; round++) {
        static const char *const parts[] = {"a ", "my steps? ", "(((("};
        size_t len = strlen(parts[round]);
        for (size_t i = 0; i < AGENT_QUESTION_BYTES; i++) much[i] = parts[round][i % len];
        much[AGENT_QUESTION_BYTES] = '\0';
        ask(p.data, much, &counts);
    }
    mem_free(much);
    person_close(&p);
}
