/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of answer that is none, at every place where one is expected: nothing crashes, a step
 * ends well or with a clear code, what it brings is JSON, and no number gets into an answer.
 */
#include "base/fault.h"
#include "days.h"
#include "person.h"
#include "script.h"

static enum weir_status science(struct agent_case *c, struct weir_buf *out)
{
    return agent_work(c, "data_science", c->question, out);
}

static enum weir_status expert(struct agent_case *c, struct weir_buf *out)
{
    return agent_work(c, "domain_expert", c->question, out);
}

static enum weir_status coach(struct agent_case *c, struct weir_buf *out)
{
    return agent_work(c, "health_coach", c->question, out);
}

static enum weir_status talk(struct agent_case *c, struct weir_buf *out)
{
    return agent_synthesize(c, out);
}

static const struct place {
    const char *purpose;
    enum weir_status (*step)(struct agent_case *c, struct weir_buf *out);
    const char *main; /* who was routed to */
    bool may_fail;    /* with unprocessable */
} places[] = {
    {"vagueness", agent_classify, NULL, false},
    {"route", agent_route, NULL, false},
    {"rephrase", agent_rephrase, "data_science", false},
    {"data_science", science, "data_science", true},
    {"domain_expert", expert, "domain_expert", false},
    {"health_coach", coach, "health_coach", false},
    {"reflection", agent_reflect, "data_science", false},
    {"critic", agent_validate, "data_science", false},
    {"synthesis", agent_synthesize, "data_science", true},
    {"briefing", agent_synthesize, "investigator", true},
    {"fallback", talk, NULL, false},
    {"memory", agent_remember, "data_science", false},
};

#define CALL(name, input)                                                                          \
    "{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"" name "\",\"input\":" input "}"
#define TEN(x) x "," x "," x "," x "," x "," x "," x "," x "," x "," x

static const char *const contents[] = {
    "",
    " ",
    "nonsense",
    "null",
    "7",
    "{}",
    "[]",
    "[",
    "[[[[[[[[[[[[[[[[",
    "[null,7,\"x\",[],{}]",
    "[{\"type\":7}]",
    "[{\"type\":\"text\"}]",
    "[{\"type\":\"text\",\"text\":7}]",
    "[{\"type\":\"text\",\"text\":\"\"}]",
    "[{\"type\":\"text\",\"text\":\"You have 98765.4 steps.\"}]",
    "[{\"type\":\"text\",\"text\":\"ninety-nine thousand\"}]",
    "[{\"type\":\"text\",\"text\":\"\\ud800\\udc00\\udfff\\u0000\\u001b[2J\"}]",
    "[{\"type\":\"text\",\"text\":\"\xFF\xFE\"}]",
    "[{\"type\":\"text\",\"text\":\"{\\\"main\\\":\"}]",
    "[{\"type\":\"text\",\"text\":\"```\"}]",
    "[{\"type\":\"text\",\"text\":\"```json\\n```\"}]",
    "[{\"type\":\"thinking\",\"thinking\":\"98765.4\"}]",
    "[" CALL("answer", "{}") "]",
    "[" CALL("answer", "null") "]",
    "[" CALL("answer",
             "{\"main\":{},\"supporting\":{},\"vagueness\":{},\"questions\":{},\"entries\":"
             "{},\"reviews\":{},\"steps\":{},\"opening\":{},\"follow_ups\":{}}") "]",
    "[" CALL("answer",
             "{\"questions\":[7],\"entries\":[7],\"reviews\":[7],\"steps\":[7],\"opening\":"
             "\"x\",\"follow_ups\":[7],\"main\":\"none\",\"supporting\":[7]}") "]",
    "[" CALL("no_such_tool", "{\"x\":1}") "]",
    "[" CALL("", "{}") "]",
    "[" CALL("run_plan", "[]") "]",
    "[" CALL("run_plan", "{\"op\":\"aggregate\"}") "]",
    "[" TEN(CALL("run_plan", "{\"op\":\"aggregate\",\"metric\":\"steps\"}")) "]",
    "[" TEN(CALL("lookup_fact", "{\"subject\":\"ldl\"}")) "]",
    "[" TEN(CALL("answer", "{}")) "]",
    "[" CALL("lookup_memory", "{\"about\":{}}") "]",
};

/* What the builtin provider finds, once for all. */
static void find_and_check(struct script *s)
{
    static char found[1 << 20], checked[1 << 20];
    if (!found[0]) {
        memset(s->d.c.has_model, 0, sizeof s->d.c.has_model);
        days_work(&s->d);
        snprintf(found, sizeof found, "%s", s->d.out.ptr);
        script_next(s);
        script_ok(s, agent_validate);
        snprintf(checked, sizeof checked, "%.*s", (int)s->d.out.len, s->d.out.ptr);
        script_next(s);
        weir_buf_reset(&s->d.thoughts);
        for (size_t i = 0; i < MODEL_N_ROLES; i++) s->d.c.has_model[i] = true;
    }
    desk_set(&s->d, "run_main_agent", found);
    desk_set(&s->d, "validation_gates", checked);
}

static void begin(struct script *s, const struct place *p)
{
    script_init(s, "Is my weight going down? I want to walk more.");
    days_add(&s->d,
             (struct days_of){.metric = "weight", .level = 80, .slope = -0.05, .noise = 0.2});
    days_add(&s->d, (struct days_of){.metric = "steps", .level = 8000, .noise = 900});
    find_and_check(s);
    char *route =
        script_format("{\"main\":%s%s%s,\"supporting\":[\"domain_expert\"],\"pattern\":"
                      "\"model\"}",
                      p->main ? "\"" : "", p->main ? p->main : "null", p->main ? "\"" : "");
    desk_set(&s->d, "route", route);
    free(route);
}

static void check(const struct place *p, const char *content, enum model_stop stop)
{
    struct script *s = malloc(sizeof *s);
    begin(s, p);
    script_put(s, p->purpose, content);
    s->answers[0].stop = stop;
    enum weir_status st = script_run(s, p->step);
    bool is_fine = st == WEIR_OK || (p->may_fail && st == WEIR_UNPROCESSABLE);
    if (!is_fine || s->n_asked == 0 || s->n_asked > 8)
        t_fail(__FILE__, __LINE__, "%s with %.60s: %s, asked %zu times", p->purpose, content,
               weir_status_name(st), s->n_asked);
    if (st == WEIR_OK) {
        const struct weir_json *out = desk_json(&s->d, weir_buf_slice(&s->d.out));
        T_OK(!desk_holds(text_at(out, "answer"), "98765"));
        T_OK(!desk_holds(text_at(out, "answer"), "ninety"));
        T_OK(!desk_holds(text_at(out, "text"), "98765"));
        T_OK(!desk_holds(text_at(out, "summary"), "98765"));
    }
    T_OK(!desk_holds(weir_buf_slice(&s->d.thoughts), "98765"));
    script_fini(s);
    free(s);
}

static void check_all(enum model_stop stop)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t k = 0; k < sizeof contents / sizeof *contents; k++)
            check(&places[i], contents[k], stop);
}

TEST(every_broken_answer_at_every_place)
{
    check_all(MODEL_STOP_END);
}

TEST(every_broken_answer_that_was_cut_off)
{
    check_all(MODEL_STOP_LENGTH);
}

TEST(every_broken_answer_that_was_refused)
{
    check_all(MODEL_STOP_REFUSED);
}

TEST(answers_that_are_too_large_at_every_place)
{
    size_t len = 200 << 10;
    char *text = malloc(len + 1);
    memset(text, 'a', len);
    memcpy(text, "[{\"type\":\"text\",\"text\":\"", 24);
    memcpy(text + len - 3, "\"}]", 4);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        check(&places[i], text, MODEL_STOP_END);
    free(text);
}

TEST(failures_of_every_kind_come_out_as_they_are)
{
    static const enum weir_status failures[] = {WEIR_UPSTREAM, WEIR_LIMIT, WEIR_CANCELLED,
                                                WEIR_NOMEM, WEIR_FORBIDDEN};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t k = 0; k < sizeof failures / sizeof *failures; k++) {
            struct script *s = malloc(sizeof *s);
            begin(s, &places[i]);
            script_put(s, places[i].purpose, "[]");
            s->answers[0].status = failures[k];
            bool is_upstream = failures[k] == WEIR_UPSTREAM || failures[k] == WEIR_LIMIT;
            bool is_soft = is_upstream && strcmp(places[i].purpose, "memory") == 0;
            T_EQ(script_run(s, places[i].step), is_soft       ? WEIR_OK
                                                : is_upstream ? WEIR_UPSTREAM
                                                              : failures[k]);
            script_fini(s);
            free(s);
        }
}

/* ---- good answers, corrupted ---- */

#define ANSWER(input) "[" CALL("answer", input) "]"
#define TEXT(text)    "[{\"type\":\"text\",\"text\":\"" text "\"}]"

static const struct {
    const char *purpose, *content;
} good[] = {
    {"vagueness", ANSWER("{\"vagueness\":\"medium\",\"why\":\"names a thing\"}")},
    {"route", ANSWER("{\"main\":\"domain_expert\",\"supporting\":[\"data_science\"]}")},
    {"rephrase", ANSWER("{\"questions\":[{\"agent\":\"data_science\",\"question\":\"a\"},{"
                        "\"agent\":\"domain_expert\",\"question\":\"b\"}]}")},
    {"data_science", "[" CALL("run_plan", "{\"op\":\"compare\",\"metric\":\"weight\",\"window\":{"
                                          "\"last_days\":30},\"b\":{\"window\":{\"last_days\":30,"
                                          "\"skip_days\":30}}}") "]"},
    {"domain_expert", TEXT("Below 25 kg/m2 is 124 of 130.")},
    {"health_coach", ANSWER("{\"opening\":\"Fine.\",\"steps\":[{\"text\":\"Walk to lunch.\","
                            "\"based_on\":1}]}")},
    {"reflection", ANSWER("{\"follow_ups\":[\"Is my weight falling?\"]}")},
    {"critic", ANSWER("{\"reviews\":[{\"id\":\"ds-001\",\"verdict\":\"downgrade\",\"reasoning\":"
                      "\"r\",\"concerns\":[{\"kind\":\"noise\",\"severity\":\"high\",\"note\":"
                      "\"It moves.\"}]}]}")},
    {"synthesis",
     TEXT("Your weight fell by **9.99 kg** over 200 days. It is 4 of 5, or 3.1 a week.")},
    {"briefing", TEXT("What stands out:\\n\\n- Your weight fell by 10 kg.\\n- It may be 7.")},
    {"fallback", TEXT("Hello. Ask me in 5 minutes, or never.")},
    {"memory", ANSWER("{\"entries\":[{\"category\":\"goal\",\"quote\":\"I want to walk more\"}]}")},
};

/* One to four bytes are changed, left out, doubled or become digits. */
static char *corrupt(const char *content)
{
    size_t len = strlen(content);
    char *text = malloc(2 * len + 8);
    memcpy(text, content, len + 1);
    for (uint64_t k = t_random() % 4 + 1; k > 0; k--) {
        size_t at = t_random() % len;
        switch (t_random() % 4) {
        case 0: text[at] = (char)(t_random() % 255 + 1); break;
        case 1: memmove(text + at, text + at + 1, len - at); break;
        case 2: memmove(text + at + 1, text + at, len - at + 1); break;
        default: text[at] = (char)('0' + t_random() % 10); break;
        }
        len = strlen(text);
        if (len == 0) break;
    }
    return text;
}

/* Each number of the answer has a home in the sheet, is the person's, or of a window. */
static void check_numbers(struct script *s, struct weir_slice answer)
{
    const struct weir_json *checked = desk_output(s, "validation_gates");
    const struct weir_json *sheet = weir_json_get_str(checked, "fact_sheet");
    struct ledger ledger;
    struct verify_result result = {0};
    char error[LEDGER_ERROR_BYTES];
    const struct weir_json *f = finding_at(desk_output(s, "run_main_agent"), 0);
    struct weir_slice known[] = {s->d.c.question, text_at(f, "window")};
    T_EQ(ledger_read(&ledger, sheet, s->d.c.arena, error), WEIR_OK);
    struct verify_input input = {.text = answer, .ledger = &ledger, .known = known, .n_known = 2};
    T_EQ(verify_text(&result, &input, s->d.c.arena), WEIR_OK);
    if (result.n_lacking > 0)
        t_fail(__FILE__, __LINE__, "no home in: %.*s", (int)answer.len, answer.ptr);
}

static void check_corrupted(const struct place *p, const char *content)
{
    struct script *s = malloc(sizeof *s);
    begin(s, p);
    script_put(s, p->purpose, content);
    script_put(s, p->purpose, "[]");
    if (strcmp(p->purpose, "reflection") == 0) script_text(s, "data_science", "Nothing to see.");
    enum weir_status st = script_run(s, p->step);
    bool is_fine = st == WEIR_OK || (p->may_fail && st == WEIR_UNPROCESSABLE);
    if (!is_fine) t_fail(__FILE__, __LINE__, "%s with %s: %s", p->purpose, content, s->d.c.why);
    if (st == WEIR_OK)
        check_numbers(s, text_at(desk_json(&s->d, weir_buf_slice(&s->d.out)), "answer"));
    script_fini(s);
    free(s);
}

TEST(good_answers_corrupted_at_random_do_no_harm)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t k = 0; k < t_rounds(120); k++) {
            T_OK(strcmp(places[i].purpose, good[i].purpose) == 0);
            char *content = corrupt(good[i].content);
            check_corrupted(&places[i], content);
            free(content);
        }
}

/* ---- no memory ---- */

/* Answers at once, and needs no memory of weir's for it. */
static enum weir_status ask_at_once(void *user, const struct model_request *request,
                                    const char *agent, const struct model_answer **answer)
{
    static struct model_answer given;
    size_t i = 0;
    (void)user;
    (void)agent;
    while (strcmp(good[i].purpose, request->purpose) != 0) i++;
    given = (struct model_answer){.content = weir_slice_of(good[i].content), .why = ""};
    *answer = &given;
    return WEIR_OK;
}

/* Whether it was over before the allocation that was to fail. */
static bool is_over(const struct place *p, uint64_t nth)
{
    struct script *s = malloc(sizeof *s);
    begin(s, p);
    s->d.c.ask = ask_at_once;
    s->d.c.emit = NULL;
    weir_buf_reset(&s->d.out);
    fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
    enum weir_status st = p->step(&s->d.c, &s->d.out);
    bool is_done = fault_count(FAULT_ALLOC) < nth;
    fault_disarm_all();
    if (st != WEIR_OK && st != WEIR_NOMEM && st != WEIR_LIMIT && !p->may_fail)
        t_fail(__FILE__, __LINE__, "%s: %s at allocation %d", p->purpose, weir_status_name(st),
               (int)nth);
    script_fini(s);
    free(s);
    return is_done;
}

TEST(no_memory_is_a_status_at_every_allocation)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t nth = 1;
        while (nth < 2000 && !is_over(&places[i], nth)) nth += nth < 200 ? 1 : 7;
        T_OK(nth < 2000);
    }
}
