/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every question of docs/questions.md and of the shared samples, asked of the data scientist and
 * checked by step 7: whatever is asked, each number that is said has an entry, what was rejected is
 * not in the sheet, and the right answer is.
 */
#include "people.h"
#include "days.h"

/* A part of the findings' text that may not be: NaN is no JSON, so this would not be read. */
static void is_whole(struct desk *d, const struct weir_json *result)
{
    T_EQ(days_lacking(d, result, "text"), 0);
    T_EQ(days_lacking(d, result, "summary"), 0);
    T_OK(text_at(result, "summary").len <= 160);
    T_EQ_SLICE(weir_buf_slice(&d->thoughts), text_at(result, "text"));
    T_OK(d->is_utf8);
}

static bool is_of(struct weir_slice claim, struct weir_slice id)
{
    return claim.len > id.len && claim.ptr[id.len] == '.' && memcmp(claim.ptr, id.ptr, id.len) == 0;
}

static void is_checked(const struct weir_json *output)
{
    const struct weir_json *sheet = weir_json_get_str(output, "fact_sheet");
    const struct weir_json *f = weir_json_first(weir_json_get_str(output, "findings"));
    for (; f; f = weir_json_next(f)) {
        struct weir_slice verdict = text_at(f, "verdict"), id = text_at(f, "id");
        T_OK(text_at(f, "assessment").len > 0);
        for (const struct weir_json *e = weir_json_first(sheet); e; e = weir_json_next(e)) {
            if (!is_of(text_at(e, "claim"), id)) continue;
            T_OK(!weir_slice_is(verdict, "rejected"));
            T_EQ(weir_slice_is(verdict, "conditional"),
                 weir_slice_is(text_at(e, "verdict"), "conditional"));
        }
    }
}

/* The answer is among the numbers, dates and rows of the sheet; null: there are none. */
static bool holds_answer(const struct weir_json *sheet, const struct weir_json *answer)
{
    double want = NAN, got;
    bool is_number = weir_json_double(answer, &want);
    struct weir_slice text = weir_json_text(answer);
    if (weir_json_type_of(answer) == WEIR_JSON_NULL) return weir_json_count(sheet) == 0;
    for (const struct weir_json *e = weir_json_first(sheet); e; e = weir_json_next(e)) {
        const struct weir_json *value = weir_json_get_str(e, "value");
        struct weir_slice claim = text_at(e, "claim");
        bool is_near = is_number && weir_json_double(value, &got) &&
                       fabs(got - want) <= fmax(1e-5, 1e-6 * fabs(want));
        bool is_named = !is_number && claim.len > text.len &&
                        memcmp(claim.ptr + claim.len - text.len, text.ptr, text.len) == 0;
        if (is_near || is_named) return true;
        if (!is_number && weir_json_type_of(value) == WEIR_JSON_STRING &&
            slice_eq(weir_json_text(value), text))
            return true;
    }
    return false;
}

/* `answer` NULL: whatever comes. */
static void ask_agent(struct dataset *data, const char *agent, struct weir_slice question,
                      const struct weir_json *answer)
{
    struct desk d;
    char text[2048];
    snprintf(text, sizeof text, "%.*s", (int)question.len, question.ptr);
    desk_init(&d, text);
    struct dataset *own = d.c.data;
    d.c.data = data;
    const struct weir_json *result = days_work_of(&d, agent);
    is_whole(&d, result);
    const struct weir_json *output = desk_run(&d, agent_validate);
    is_checked(output);
    if (answer && !holds_answer(weir_json_get_str(output, "fact_sheet"), answer))
        t_fail(__FILE__, __LINE__, "%s: the answer is not in the sheet", text);
    d.c.data = own;
    desk_fini(&d);
}

static void ask(struct dataset *data, struct weir_slice question)
{
    ask_agent(data, "data_science", question, NULL);
}

TEST(each_question_of_the_page_is_answered_with_numbers_that_have_a_home)
{
    struct weir_slice page = t_read_file(T_SOURCE_ROOT "/docs/questions.md");
    struct person p = person_open(T_SOURCE_ROOT "/tests/data/people", "p01");
    size_t n = 0;
    for (size_t i = 0; i + 3 < page.len; i++) {
        if (memcmp(page.ptr + i, "\n- *", 4) != 0) continue;
        const char *begin = page.ptr + i + 4;
        const char *end = memchr(begin, '*', page.len - i - 4);
        if (!end) break;
        char question[1000];
        snprintf(question, sizeof question, "%.*s", (int)(end - begin), begin);
        for (char *c = question; *c; c++)
            if (*c == '\n') *c = ' ';
        ask(p.data, weir_slice_of(question));
        n++;
    }
    T_OK(n >= 60);
    person_close(&p);
}

/* The questions of one user, in the order of the file. */
static size_t ask_all_of(const char *user, struct weir_slice lines, struct dataset *data)
{
    size_t n = 0, at = 0;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    while (at < lines.len) {
        const char *end = memchr(lines.ptr + at, '\n', lines.len - at);
        size_t len = end ? (size_t)(end - lines.ptr) - at : lines.len - at;
        const struct weir_json *line = NULL;
        if (weir_json_parse(doc, slice_of(lines.ptr + at, len), &line, NULL) == WEIR_OK &&
            weir_slice_is(text_at(line, "user"), user)) {
            ask_agent(data, "data_science", text_at(line, "question"),
                      weir_json_get_str(line, "answer"));
            n++;
        }
        at += len + 1;
        weir_json_doc_reset(doc);
    }
    weir_json_doc_free(doc);
    return n;
}

TEST(the_answer_of_each_question_of_the_samples_is_in_the_sheet)
{
    static const char *const users[] = {"u01", "u02", "u03", "u04", "u05", "u06"};
    const char *samples = t_samples_dir();
    char folder[500], path[500];
    size_t n = 0;
    if (!samples) {
        t_skip("the shared samples are not here");
        return;
    }
    snprintf(path, sizeof path, "%s/questions/dev.jsonl", samples);
    snprintf(folder, sizeof folder, "%s/questions/users", samples);
    struct weir_slice lines = t_read_file(path);
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        struct person p = person_open(folder, users[i]);
        n += ask_all_of(users[i], lines, p.data);
        person_close(&p);
    }
    T_OK(n > 100);
}

TEST(what_the_investigator_says_of_people_has_a_home)
{
    static const char *const people[] = {"p01", "u01", "u02", "u03", "u04", "u05", "u06"};
    for (size_t i = 0; i < sizeof people / sizeof *people; i++) {
        struct person p = person_open(T_SOURCE_ROOT "/tests/data/people", people[i]);
        ask_agent(p.data, "investigator", SLICE("Is there anything interesting in my data?"), NULL);
        person_close(&p);
    }
}

/* ---- questions of any words ---- */

static const char *const vocabulary[] = {
    "how",
    "is",
    "my",
    "sleep",
    "steps",
    "and",
    "resting heart rate",
    "last",
    "week",
    "30",
    "days",
    "in March",
    "average",
    "did",
    "drop",
    "compare",
    "with",
    "weekends",
    "weekdays",
    "hrv",
    "weight",
    "over",
    "8",
    "hours",
    "how many",
    "nights",
    "?",
    ",",
    "trend",
    "of",
    "bedtime",
    "correlation",
    "between",
    "stress",
    "runs",
    "longest",
    "streak",
    "unusual",
    "since New Year",
    "percent",
    "change",
    "the previous 14 days",
    "which",
    "month",
    "highest",
    "lowest",
    "deep sleep",
    "ldl",
    "per week",
    "when",
    "I",
    "ran",
    "yesterday",
    "2025-05-03",
    "total",
    "the day after",
    "a run",
    "more than",
    "10k",
    "median",
    "by month",
    "pace",
    "vs",
};

static void make_question(struct stat_random *random, char *out, size_t room)
{
    size_t n_words = 1 + (size_t)stat_random_below(random, 14), len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n_words && len < room; i++) {
        size_t at = (size_t)stat_random_below(random, sizeof vocabulary / sizeof *vocabulary);
        len += (size_t)snprintf(out + len, room - len, "%s%s", i > 0 ? " " : "", vocabulary[at]);
    }
}

TEST(words_in_any_order_give_numbers_that_have_a_home)
{
    struct person p = person_open(T_SOURCE_ROOT "/tests/data/people", "p01");
    struct stat_random random = stat_random_of(t_random(), 7);
    for (size_t i = 0; i < 300; i++) {
        char question[400];
        make_question(&random, question, sizeof question);
        ask(p.data, weir_slice_of(question));
    }
    person_close(&p);
}
