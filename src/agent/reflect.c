/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether something is to be asked once more before the gates: at most one round, of at most two
 * questions, each run by the data scientist. What is worth it:
 *
 *   too few days for a mean or a trend, and there are more   the same over more days
 *   a comparison one side of which is nearly empty           the trend over all of it
 *   two metrics on the same day                              the second one a day later
 *   two metrics a day apart                                  the same day
 */
#include <math.h>
#include <stdio.h>

#include "agent/llm_impl.h"
#include "agent/voice_impl.h"
#include "base/slice.h"
#include "data/day.h"
#include "data/plan.h"

enum {
    FOLLOW_UPS = 2,
    FEW_FOR_LEVEL = 10, /* the gates' own rules */
    FEW_FOR_TREND = 21,
    TREND_SPAN = 28,
    LONGER_DAYS = 90, /* of the second look */
    QUESTION_BYTES = 256,
};

struct reflection {
    struct agent_case *c;
    struct weir_buf *out;
    size_t n;
    char asked[FOLLOW_UPS][QUESTION_BYTES];
};

static int32_t day_at(const struct weir_json *span, const char *key)
{
    return day_parse(agent_text(span, key));
}

static double n_of(const struct weir_json *answer)
{
    double n = NAN;
    return weir_json_double(weir_json_get_str(answer, "n"), &n) ? n : NAN;
}

/* How many days of a metric there are in the last so many. */
static size_t days_in_reach(struct agent_case *c, const struct metric *m)
{
    const struct series *s;
    size_t n = 0;
    if (dataset_series(c->data, m, &s) != WEIR_OK || s->n == 0) return 0;
    for (size_t i = 0; i < s->n; i++) n += s->days[i] > s->days[s->n - 1] - LONGER_DAYS;
    return n;
}

/* ---- what to ask; an empty text: nothing ---- */

static void ask_longer(struct agent_case *c, const struct plan *p, const struct weir_json *answer,
                       char out[QUESTION_BYTES])
{
    const struct weir_json *window = weir_json_get_str(answer, "window");
    int32_t from = day_at(window, "from"), to = day_at(window, "to");
    bool is_trend = p->op == PLAN_TREND;
    bool is_level = p->op == PLAN_AGGREGATE && p->stat == STAT_MEAN;
    double n = n_of(answer), few = is_trend ? FEW_FOR_TREND : FEW_FOR_LEVEL;
    if ((!is_trend && !is_level) || from == DAY_NONE || p->where.n > 0) return;
    bool is_short = n < few || (is_trend && to - from + 1 < TREND_SPAN);
    if (!is_short || to - from + 1 >= LONGER_DAYS || to == from) return;
    if ((double)days_in_reach(c, p->metric) < few || (double)days_in_reach(c, p->metric) <= n)
        return;
    snprintf(out, QUESTION_BYTES, "What is the %s my %s over the last %d days?",
             is_trend ? "trend of" : "average of", p->metric->title, LONGER_DAYS);
}

/* The smaller of the two sides. */
static double least_n(const struct weir_json *answer)
{
    double least = INFINITY, n;
    const struct weir_json *rows = weir_json_get_str(answer, "rows");
    for (const struct weir_json *r = weir_json_first(rows); r; r = weir_json_next(r)) {
        if (!weir_json_double(weir_json_get_str(r, "n"), &n)) n = 0;
        least = n < least ? n : least;
    }
    return least;
}

static void ask_whole(struct agent_case *c, const struct plan *p, const struct weir_json *answer,
                      char out[QUESTION_BYTES])
{
    if (p->op != PLAN_COMPARE || p->where.n + p->where_b.n > 0) return;
    if (!(least_n(answer) < FEW_FOR_LEVEL) || days_in_reach(c, p->metric) < FEW_FOR_TREND) return;
    snprintf(out, QUESTION_BYTES, "What is the trend of my %s over the last %d days?",
             p->metric->title, LONGER_DAYS);
}

static void ask_other_day(const struct plan *p, char out[QUESTION_BYTES])
{
    if (p->op != PLAN_CORRELATE || p->where.n > 0) return;
    if (p->lag != 0 && p->lag != 1) return;
    snprintf(out, QUESTION_BYTES, "%s my %s go along with my %s%s?",
             title_is_plural(p->metric->title) ? "Do" : "Does", p->metric->title, p->with->title,
             p->lag == 0 ? " the next day" : "");
}

/* ---- the round ---- */

static bool was_asked(const struct reflection *r, const char *question)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->asked[i], question) == 0) return true;
    return false;
}

static enum weir_status follow_up(struct reflection *r, const char *question)
{
    if (!question[0] || r->n == FOLLOW_UPS || was_asked(r, question)) return WEIR_OK;
    snprintf(r->asked[r->n++], QUESTION_BYTES, "%s", question);
    weir_json_put_begin_object(r->out);
    weir_json_put_key(r->out, "agent");
    weir_json_put_str(r->out, "data_science");
    weir_json_put_key(r->out, "question");
    weir_json_put_str(r->out, question);
    weir_json_put_key(r->out, "result");
    enum weir_status st = agent_work(r->c, "data_science", weir_slice_of(question), r->out);
    weir_json_put_end_object(r->out);
    return st;
}

static enum weir_status look_at(struct reflection *r, const struct weir_json *finding)
{
    char question[QUESTION_BYTES] = "";
    struct plan_error error;
    struct plan *p = arena_alloc(r->c->arena, sizeof *p);
    const struct weir_json *plan = weir_json_get_str(finding, "plan");
    const struct weir_json *answer = weir_json_get_str(finding, "answer");
    if (!p) return r->c->arena->status;
    if (!plan || plan_parse(p, plan, r->c->data, &error) != WEIR_OK) return WEIR_OK;
    if (p->subject != PLAN_OF_METRIC) return WEIR_OK;
    ask_longer(r->c, p, answer, question);
    if (!question[0]) ask_whole(r->c, p, answer, question);
    if (!question[0]) ask_other_day(p, question);
    return follow_up(r, question);
}

static enum weir_status look_through(struct reflection *r, const struct weir_json *result)
{
    const struct weir_json *list = weir_json_get_str(result, "findings");
    enum weir_status st = WEIR_OK;
    for (const struct weir_json *f = weir_json_first(list); f && st == WEIR_OK;
         f = weir_json_next(f))
        st = look_at(r, f);
    return st;
}

static enum weir_status ask_model(struct reflection *r, const struct weir_json *result)
{
    struct weir_slice list[LLM_FOLLOW_UPS];
    size_t n;
    enum weir_status st = llm_reflect(r->c, result, list, &n);
    for (size_t i = 0; st == WEIR_OK && i < n; i++) {
        char question[QUESTION_BYTES];
        size_t before = r->out->len;
        snprintf(question, sizeof question, "%.*s", (int)list[i].len, list[i].ptr);
        st = follow_up(r, question);
        if (st != WEIR_UNPROCESSABLE) continue;
        /* The question itself has its answer; a second look that came to nothing is left out. */
        r->out->len = before;
        st = WEIR_OK;
    }
    return st;
}

enum weir_status agent_reflect(struct agent_case *c, struct weir_buf *out)
{
    struct reflection r = {.c = c, .out = out};
    const struct weir_json *main = agent_output(c, "run_main_agent");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "follow_ups");
    weir_json_put_begin_array(out);
    /* Beside an expert or a coach the data are no more than background. */
    enum weir_status st = WEIR_OK;
    if (weir_slice_is(agent_text(main, "agent"), "data_science"))
        st = c->has_model[MODEL_MAIN] ? ask_model(&r, main) : look_through(&r, main);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}
