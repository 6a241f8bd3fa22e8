/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The investigator: for questions that name nothing. It searches all of a person's days for what
 * stands out (src/check/search.h), says what it tries and how often, and brings the few things
 * that are left as findings, which step 7 judges like all others. Where nothing stands, it says so.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent_impl.h"
#include "agent/finding.h"
#include "base/slice.h"
#include "check/search.h"
#include "codec/json_member.h"

enum { WEEK = 7, NOON = 720, ALL_WEEKDAYS = 0x7F, FACTS_BYTES = 64 << 10 };

struct inquiry {
    struct agent_case *c;
    const struct search_wish *wish;
    struct arena arena; /* of the search */
    struct search_input input;
    struct search_result result;
    int32_t from, to;
    struct weir_buf text, summary, findings, facts;
    unsigned n_findings;
};

static void say(struct inquiry *q, size_t from)
{
    agent_think(q->c, q->wish->agent, NULL, slice_from(weir_buf_slice(&q->text), from));
}

/* ---- what is said of the search itself ---- */

static void put_fact(struct inquiry *q, const char *name, size_t value)
{
    struct weir_buf *out = &q->facts;
    char claim[64], window[WINDOW_TEXT_BYTES];
    snprintf(claim, sizeof claim, "%s.%s", q->wish->id_head, name);
    window_format(window, q->from, q->to);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "claim");
    weir_json_put_str(out, claim);
    weir_json_put_key(out, "value");
    weir_json_put_uint(out, value);
    weir_json_put_key(out, "unit");
    weir_json_put_null(out);
    weir_json_put_key(out, "source");
    weir_json_put_str(out, q->wish->agent);
    weir_json_put_key(out, "n");
    weir_json_put_uint(out, q->input.n_days);
    weir_json_put_key(out, "window");
    weir_json_put_str(out, window);
    weir_json_put_end_object(out);
}

/* A number in the text, with its home among the facts. */
static void say_count(struct inquiry *q, const char *name, size_t n)
{
    put_fact(q, name, n);
    amount_put(&q->text, (double)n, "");
}

static void say_begin(struct inquiry *q)
{
    size_t from = q->text.len;
    weir_buf_append_str(&q->text, "Looking through ");
    say_count(q, "metrics", q->input.n_rows);
    weir_buf_append_str(&q->text, q->input.n_rows == 1 ? " metric on " : " metrics on ");
    say_count(q, "days", q->input.n_days);
    weir_buf_append_str(&q->text, " days, ");
    span_put(&q->text, q->from, q->to);
    weir_buf_append_str(&q->text, ". ");
    say(q, from);
}

static void say_tried(struct inquiry *q)
{
    static const struct {
        const char *name, *words;
    } kinds[N_SEARCH_KINDS] = {{"pairs", " of pairs of metrics"},
                               {"trends", " of trends"},
                               {"weekdays", " of days of the week"},
                               {"changes", " of changes of level"},
                               {"single_days", " of single days"}};
    size_t from = q->text.len, n_promising = 0;
    say_count(q, "tests", q->result.n_tests);
    weir_buf_append_str(&q->text, " tests were tried on the older days: ");
    for (size_t k = 0; k < (q->wish->focus ? 1 : N_SEARCH_KINDS); k++) {
        if (k > 0) weir_buf_append_str(&q->text, ", ");
        say_count(q, kinds[k].name, q->result.counts[k].n_tried);
        weir_buf_append_str(&q->text, kinds[k].words);
        n_promising += q->result.counts[k].n_promising;
    }
    weir_buf_append_str(&q->text, ". ");
    say_count(q, "promising", n_promising);
    weir_buf_append_str(&q->text,
                        " stood out among so many; what of it is found again on the newer "
                        "days is left. ");
    say(q, from);
}

/* ---- plans of what was found ---- */

static struct plan_where on_weekdays(uint32_t set)
{
    return (struct plan_where){.n = 1, .conditions = {{.kind = WHERE_WEEKDAY, .set = set}}};
}

static struct plan_window window_of(int32_t from, int32_t to)
{
    return (struct plan_window){.from = from, .to = to};
}

static void plan_for(const struct inquiry *q, const struct hypothesis *h, struct plan *plan)
{
    plan_init(plan);
    plan->metric = h->x;
    plan->window = plan->window_b = window_of(q->from, q->to);
    switch (h->kind) {
    case SEARCH_PAIR:
        plan->op = PLAN_CORRELATE;
        plan->with = h->y;
        plan->lag = h->lag;
        return;
    case SEARCH_TREND:
        plan->op = PLAN_TREND;
        plan->per = PER_WEEK;
        return;
    case SEARCH_WEEKDAY:
        plan->op = PLAN_COMPARE;
        plan->where = on_weekdays(h->weekdays);
        plan->where_b = on_weekdays(ALL_WEEKDAYS & ~(uint32_t)h->weekdays);
        return;
    case SEARCH_CHANGE:
        plan->op = PLAN_COMPARE;
        plan->window = window_of(h->day, q->to);
        plan->window_b = window_of(q->from, h->day - 1);
        return;
    default: plan->window = window_of(h->day, h->day); return;
    }
}

/* ---- findings ---- */

/* A row as the gates saw it; times of day about noon, where none of them meets midnight. */
static const double *row_of(struct inquiry *q, const struct metric *m, struct days days,
                            double *shift)
{
    double sum = 0;
    size_t n = 0;
    if (!m || m->daily != DAILY_CIRCULAR || days.n == 0) return days.x;
    double *x = arena_alloc(&q->arena, days.n * sizeof *x);
    if (!x) return NULL;
    for (size_t i = 0; i < days.n; i++) {
        if (isnan(days.x[i])) continue;
        sum += days.x[i];
        n++;
    }
    /* The second of two windows moves with the first. */
    if (*shift == 0) *shift = NOON - round(sum / (double)n);
    for (size_t i = 0; i < days.n; i++) x[i] = days.x[i] + *shift;
    return x;
}

/* Rows stay in the search's memory, which lives until all is put. */
static enum weir_status set_days(struct inquiry *q, const struct hypothesis *h, struct claim *c)
{
    const struct finding *f = &h->finding;
    double shift = 0, shift_y = 0;
    const double *a = row_of(q, h->x, f->a, &shift);
    const double *b = h->y ? row_of(q, h->y, f->b, &shift_y) : row_of(q, h->x, f->b, &shift);
    if ((!a && f->a.n > 0) || (!b && f->b.n > 0)) return q->arena.status;
    c->days = (struct claim_days){.from = q->from,
                                  .a = a,
                                  .n_a = f->a.n,
                                  .b = b,
                                  .n_b = f->b.n,
                                  .weekend = f->weekend,
                                  .device_change = f->device_change,
                                  .device_change_b = f->device_change_b,
                                  .index = f->index,
                                  .is_one_device = f->is_one_device,
                                  .shift = shift};
    return WEIR_OK;
}

static enum weir_status add_entries(struct inquiry *q, const struct hypothesis *h, struct claim *c)
{
    enum weir_status st = entries_make(c, q->c->data, q->c->arena);
    if (st != WEIR_OK) return st;
    /* Pairs are judged without week and drift, and the number is that which was judged. */
    if (c->kind == CLAIM_PAIR) c->entries[0].value = h->gates.estimate;
    if (c->kind == CLAIM_TREND) entries_add_line(c, c->answer->number / WEEK);
    if (c->kind != CLAIM_ANOMALY) return WEIR_OK;
    struct plan_row row = {.day = h->day, .value = c->answer->number, .n = 1};
    return entries_of_day(c, &row, q->c->arena);
}

static bool is_confirmed(const struct hypothesis *h)
{
    bool has_newer_days = !h->test->is_of_all_days && h->kind != SEARCH_ANOMALY;
    return h->verdict == VERDICT_VALIDATED || (has_newer_days && isfinite(h->p_confirm));
}

static enum weir_status make_claim(struct inquiry *q, const struct hypothesis *h, struct claim *c)
{
    struct plan *plan = arena_alloc(q->c->arena, sizeof *plan);
    struct plan_answer *answer = arena_alloc(q->c->arena, sizeof *answer);
    if (!plan || !answer) return q->c->arena->status;
    plan_for(q, h, plan);
    enum weir_status st = plan_run(plan, q->c->data, q->c->arena, answer);
    if (st != WEIR_OK) return st;
    if (answer->kind == VALUE_NONE) return WEIR_NOT_FOUND;
    *c = (struct claim){.kind = (enum claim_kind)h->finding.kind,
                        .plan = plan,
                        .answer = answer,
                        .metric = h->x->name,
                        .metric_y = h->y ? h->y->name : NULL,
                        .lag = h->finding.lag,
                        .from = answer->from,
                        .to = answer->to,
                        .is_causal = q->wish->is_causal,
                        .n_tests = q->result.n_tests,
                        .is_confirmed = is_confirmed(h)};
    snprintf(c->id, sizeof c->id, "%s-%03u", q->wish->id_head, q->wish->next_id + q->n_findings++);
    st = set_days(q, h, c);
    if (st == WEIR_OK) st = add_entries(q, h, c);
    if (st != WEIR_OK) return st;
    c->text = claim_words(c, q->c->arena);
    return c->text ? WEIR_OK : WEIR_NOMEM;
}

static enum weir_status bring(struct inquiry *q, const struct hypothesis *h)
{
    struct claim *c = arena_alloc(q->c->arena, sizeof *c);
    if (!c) return q->c->arena->status;
    enum weir_status st = make_claim(q, h, c);
    if (st != WEIR_OK) return st == WEIR_NOT_FOUND ? WEIR_OK : st;
    size_t from = q->text.len;
    claim_put(&q->findings, c, q->wish->agent);
    weir_buf_printf(&q->summary, "%s%s", q->n_findings == 1 ? "What stands: " : "; ", c->text);
    claim_say(&q->text, c, false);
    say(q, from);
    return WEIR_OK;
}

/* ---- the whole ---- */

static void say_nothing(struct inquiry *q, const char *why)
{
    const struct metric *focus = q->wish->focus;
    size_t from = q->text.len;
    if (focus)
        weir_buf_printf(&q->summary, "No answer: nothing was found that goes with %s. ",
                        focus->title);
    weir_buf_append_str(&q->summary, why);
    weir_buf_append_slice(&q->text, weir_buf_slice(&q->summary));
    say(q, from);
}

static enum weir_status search(struct inquiry *q)
{
    enum weir_status st = search_input_of(&q->input, q->c->data, &q->arena);
    if (st != WEIR_OK) return st;
    if (q->input.n_rows == 0 || q->input.n_days == 0) {
        say_nothing(q, "There are no daily values to look through.");
        return WEIR_OK;
    }
    q->input.focus = q->wish->focus;
    q->input.is_aborted = q->c->is_aborted;
    q->input.user = q->c->user;
    q->from = q->input.first_day;
    q->to = q->from + (int32_t)q->input.n_days - 1;
    say_begin(q);
    st = search_run(&q->result, &q->input, q->c->seed, &q->arena);
    if (st != WEIR_OK) return st;
    say_tried(q);
    for (size_t i = 0; st == WEIR_OK && i < q->result.n; i++)
        st = bring(q, &q->result.hypotheses[i]);
    if (st == WEIR_OK && q->n_findings > 0) put_fact(q, "found", q->n_findings);
    if (st == WEIR_OK && q->n_findings == 0)
        say_nothing(q, "Nothing stands: what was seen is what chance makes of so many tests, or "
                       "the days are too few to tell.");
    return st;
}

static enum weir_status put_result(struct inquiry *q, struct weir_slice question,
                                   struct weir_buf *out)
{
    const struct weir_buf *bufs[] = {&q->text, &q->summary, &q->findings, &q->facts};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        if (weir_buf_status(bufs[i]) != WEIR_OK) return bufs[i]->status;
    weir_json_put_begin_object(out);
    member_string(out, "agent", weir_slice_of(q->wish->agent));
    member_string(out, "question", question);
    member_string(out, "summary", text_cut(weir_buf_slice(&q->summary), AGENT_SUMMARY_BYTES));
    member_string(out, "text", weir_buf_slice(&q->text));
    weir_json_put_key(out, "findings");
    weir_buf_append_slice(out, weir_buf_slice(&q->findings));
    weir_json_put_key(out, "facts");
    weir_buf_append_slice(out, weir_buf_slice(&q->facts));
    weir_json_put_end_object(out);
    return weir_buf_status(out);
}

enum weir_status search_work(struct agent_case *c, const struct search_wish *wish,
                             struct weir_slice question, struct weir_buf *out)
{
    struct inquiry q = {.c = c, .wish = wish};
    arena_init(&q.arena, SEARCH_ARENA_BYTES);
    weir_buf_init(&q.text, AGENT_TEXT_BYTES);
    weir_buf_init(&q.summary, AGENT_TEXT_BYTES);
    weir_buf_init(&q.findings, AGENT_FINDINGS_BYTES);
    weir_buf_init(&q.facts, FACTS_BYTES);
    weir_json_put_begin_array(&q.findings);
    weir_json_put_begin_array(&q.facts);
    enum weir_status st = search(&q);
    weir_json_put_end_array(&q.findings);
    weir_json_put_end_array(&q.facts);
    if (st == WEIR_OK) st = put_result(&q, question, out);
    c->n_findings += q.n_findings;
    weir_buf_fini(&q.facts);
    weir_buf_fini(&q.findings);
    weir_buf_fini(&q.summary);
    weir_buf_fini(&q.text);
    arena_fini(&q.arena);
    return st;
}

enum weir_status investigator_work(struct agent_case *c, struct weir_slice question,
                                   struct weir_buf *out)
{
    struct search_wish wish = {.agent = "investigator", .id_head = "inv", .next_id = 1};
    return search_work(c, &wish, question, out);
}
