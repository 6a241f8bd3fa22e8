/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data scientist: reads its question into plans, runs them over the person's data, and brings
 * what came out as findings. What it says while it works is what it does, and each number in it is
 * an entry of a finding. A question that the data cannot answer gets a sentence and no number.
 */
#include <string.h>

#include "agent/llm_impl.h"
#include "agent/science_impl.h"
#include "base/slice.h"

static const char agent[] = "data_science";

/* Says what stands in the text from here on. */
static void say(struct science *s, size_t from)
{
    struct weir_slice all = weir_buf_slice(&s->text);
    agent_think(s->c, agent, NULL, slice_from(all, from));
}

void science_say(struct science *s, const char *text)
{
    size_t from = s->text.len;
    weir_buf_append_str(&s->text, text);
    weir_buf_append_char(&s->text, ' ');
    say(s, from);
}

/* ---- what was brought before in this turn ---- */

/* Calls `each` for every finding of earlier steps until it returns false. */
static void each_finding(struct agent_case *c, bool (*each)(void *user, const struct weir_json *f),
                         void *user)
{
    const struct weir_json *supporting = agent_output(c, "run_supporting_agents");
    const struct weir_json *main = agent_output(c, "run_main_agent");
    bool goes_on = true;
    const struct weir_json *r = weir_json_first(supporting);
    while (goes_on && (r || main)) {
        const struct weir_json *findings = weir_json_get_str(r ? r : main, "findings");
        for (const struct weir_json *f = weir_json_first(findings); f && goes_on;
             f = weir_json_next(f))
            goes_on = each(user, f);
        if (!r) main = NULL;
        else r = weir_json_next(r);
    }
}

static bool count_id(void *user, const struct weir_json *f)
{
    struct weir_slice id = agent_text(f, "id");
    unsigned *n = user;
    if (id.len > 2 && memcmp(id.ptr, "ds", 2) == 0) (*n)++;
    return true;
}

/* Findings count through the turn, over all steps. */
static unsigned next_id(struct agent_case *c)
{
    unsigned n = c->n_findings + 1;
    each_finding(c, count_id, &n);
    return n;
}

struct plan_text {
    struct weir_buf wanted, seen;
    bool is_found;
};

static bool compare_plan(void *user, const struct weir_json *f)
{
    struct plan_text *t = user;
    weir_buf_reset(&t->seen);
    weir_json_put_value(&t->seen, weir_json_get_str(f, "plan"));
    t->is_found = slice_eq(weir_buf_slice(&t->seen), weir_buf_slice(&t->wanted));
    return !t->is_found;
}

bool science_knows(struct science *s, const struct plan *plan)
{
    struct plan_text t = {.is_found = false};
    weir_buf_init(&t.wanted, AGENT_TEXT_BYTES);
    weir_buf_init(&t.seen, AGENT_TEXT_BYTES);
    plan_put(&t.wanted, plan);
    each_finding(s->c, compare_plan, &t);
    weir_buf_fini(&t.seen);
    weir_buf_fini(&t.wanted);
    return t.is_found;
}

/* ---- plans ---- */

static void say_look(struct science *s, const struct plan *plan, const struct plan_answer *a)
{
    static const char *const counted[] = {"days", "sessions", "results"};
    size_t from = s->text.len;
    weir_buf_append_str(&s->text, "Looking at ");
    subject_put(&s->text, plan);
    if (plan->op == PLAN_CORRELATE) weir_buf_printf(&s->text, " and %s", plan->with->title);
    weir_buf_append_char(&s->text, ' ');
    span_put(&s->text, a->from, a->to);
    weir_buf_append_str(&s->text, ": ");
    amount_put(&s->text, (double)a->n, counted[plan->subject]);
    weir_buf_append_str(&s->text, ". ");
    say(s, from);
}

/* Notes that hold a number stay with the answer, where the number has its place. */
static void say_notes(struct science *s, const struct plan_answer *a)
{
    for (size_t i = 0; i < a->n_notes; i++) {
        if (words_count(weir_slice_of(a->notes[i]))) continue;
        size_t from = s->text.len;
        weir_buf_printf(&s->text, "Note: %s. ", a->notes[i]);
        say(s, from);
    }
}

static void bring(struct science *s, const struct claims *claims)
{
    for (size_t i = 0; i < claims->n; i++) {
        const struct claim *c = claims->list[i];
        size_t from = s->text.len;
        claim_put(&s->findings, c, agent);
        if (s->summary.len == 0) claim_say(&s->summary, c, false);
        if (c->beside[0]) continue; /* its numbers were said with the value */
        claim_say(&s->text, c, true);
        say(s, from);
    }
}

/* Where there is no answer there is no number either: a reason that has one is said without. */
static void say_none(struct science *s, const struct asked *asked, const struct plan_answer *a)
{
    size_t from = s->text.len;
    if (asked->is_optional) return;
    weir_buf_append_str(&s->text, "No answer: ");
    if (!words_count(weir_slice_of(a->reason))) {
        weir_buf_printf(&s->text, "%s. ", a->reason);
    } else {
        bool is_empty = strncmp(a->reason, "no", 2) == 0;
        weir_buf_append_str(&s->text, is_empty ? "no data for " : "there are too few values of ");
        subject_put(&s->text, &asked->plan);
        weir_buf_append_str(&s->text,
                            is_empty ? " on the days that were asked for. " : " for that. ");
    }
    say(s, from);
}

enum weir_status science_answer(struct science *s, const struct asked *asked, struct plan_answer *a)
{
    struct claims claims;
    enum weir_status st = plan_run(&asked->plan, s->c->data, s->c->arena, a);
    /* What one part of a question asks may have no meaning for what another one names. */
    if (st == WEIR_BAD_FIELD) {
        *a = (struct plan_answer){.reason = "that has no meaning for what was named"};
        st = WEIR_OK;
    }
    if (st != WEIR_OK) return st;
    if (a->kind == VALUE_NONE) {
        say_none(s, asked, a);
        return WEIR_OK;
    }
    say_look(s, &asked->plan, a);
    s->wish.text = asked->text;
    s->wish.wants_number = asked->wants_number;
    s->wish.needs_no_value = asked->needs_no_value;
    st = claims_make(&claims, &asked->plan, a, s->c, &s->wish);
    if (st != WEIR_OK) return st;
    /* Who tries many relations finds one; the critic has to know. */
    for (size_t i = 0; s->n_pairs > 1 && i < claims.n; i++)
        if (claims.list[i]->kind == CLAIM_PAIR) claims.list[i]->n_tests = s->n_pairs;
    bring(s, &claims);
    say_notes(s, a);
    return WEIR_OK;
}

static enum weir_status answer(struct science *s, const struct asked *asked)
{
    struct plan_answer *a = arena_alloc(s->c->arena, sizeof *a);
    if (!a) return s->c->arena->status;
    if (!science_knows(s, &asked->plan)) return science_answer(s, asked, a);
    science_say(s, "That was looked at already.");
    return WEIR_OK;
}

/* ---- the whole ---- */

static void say_not_read(struct science *s, const struct questions *q)
{
    size_t from = s->text.len;
    if (q->absent) weir_buf_printf(&s->text, "No data for %s. ", q->absent->title);
    else if (q->n == 0 && q->refusal && !words_count(weir_slice_of(q->refusal)))
        weir_buf_printf(&s->text, "No answer: %s ", q->refusal);
    else if (q->n == 0)
        weir_buf_append_str(&s->text, "No answer: the question was not understood. ");
    else if (q->not_read.len > 0)
        weir_buf_append_str(&s->text, "A part of the question was not understood. ");
    say(s, from);
}

static enum weir_status answer_all(struct science *s, const struct questions *q)
{
    enum weir_status st = WEIR_OK;
    if (q->n > 1) science_say(s, "There are several things to look at.");
    for (size_t i = 0; st == WEIR_OK && i < q->n; i++)
        st = agent_is_aborted(s->c) ? WEIR_CANCELLED : answer(s, &q->list[i]);
    if (st == WEIR_OK) say_not_read(s, q);
    return st;
}

static void put_summary(struct science *s, struct weir_buf *out)
{
    struct weir_slice summary = weir_buf_slice(s->summary.len > 0 ? &s->summary : &s->text);
    while (summary.len > 0 && summary.ptr[summary.len - 1] == ' ') summary.len--;
    weir_json_put_key(out, "summary");
    weir_json_put_string(out, text_cut(summary, AGENT_SUMMARY_BYTES));
}

static enum weir_status put_result(struct science *s, struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "agent");
    weir_json_put_str(out, agent);
    weir_json_put_key(out, "question");
    weir_json_put_string(out, s->question);
    put_summary(s, out);
    weir_json_put_key(out, "text");
    weir_json_put_string(out, weir_buf_slice(&s->text));
    weir_json_put_key(out, "findings");
    weir_buf_append_slice(out, weir_buf_slice(&s->findings));
    weir_json_put_key(out, "facts");
    weir_json_put_begin_array(out);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
    enum weir_status st = weir_buf_status(&s->text);
    if (st == WEIR_OK) st = weir_buf_status(&s->summary);
    if (st == WEIR_OK) st = weir_buf_status(&s->findings);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

static enum weir_status work(struct science *s, struct weir_buf *out)
{
    struct questions *q = arena_alloc(s->c->arena, sizeof *q);
    if (!q) return s->c->arena->status;
    enum weir_status st = questions_read(q, s->question, s->c);
    unsigned first = next_id(s->c);
    if (st == WEIR_OK && q->sought) {
        struct search_wish wish = {agent, "ds", first, q->sought, q->is_causal};
        return search_work(s->c, &wish, s->question, out);
    }
    s->wish = (struct claim_wish){.is_causal = q->is_causal, .next_id = first, .id_head = "ds"};
    weir_json_put_begin_array(&s->findings);
    bool is_on_model = s->c->has_model[MODEL_MAIN];
    if (st == WEIR_OK) st = is_on_model ? llm_science(s) : answer_all(s, q);
    weir_json_put_end_array(&s->findings);
    if (st != WEIR_OK) return st;
    s->c->n_findings += s->wish.next_id - first;
    return put_result(s, out);
}

enum weir_status data_science_work(struct agent_case *c, struct weir_slice question,
                                   struct weir_buf *out)
{
    struct science s = {.c = c, .question = question};
    weir_buf_init(&s.text, AGENT_TEXT_BYTES);
    weir_buf_init(&s.summary, AGENT_TEXT_BYTES);
    weir_buf_init(&s.findings, AGENT_FINDINGS_BYTES);
    enum weir_status st = work(&s, out);
    weir_buf_fini(&s.text);
    weir_buf_fini(&s.summary);
    weir_buf_fini(&s.findings);
    return st;
}
