/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a question as a whole if it can, else part by part: the longest parts that the grammar
 * takes, from the left. A part that names only a metric ("… and my steps?") is asked what its
 * neighbour was; a part without a window takes that of its neighbour.
 */
#include "agent/questions.h"

#include "ask/ask.h"
#include "base/slice.h"

enum {
    USUAL_DAYS = 30, /* of a level, and of what it is compared with */
    TREND_DAYS = 90,
    LEAST_TREND_DAYS = 28, /* a change over fewer days is compared with the days before */
    STALE_DAYS = 14,       /* a metric that ended so long ago is looked at where it ended */
    WEEKEND_SET = 0x60,
    WORKWEEK_SET = 0x1F,
    FULL_BUNDLES = 2, /* metrics of one question that get all of a bundle */
    MAIN_METRICS = 4, /* of days that are asked about as a whole */
};

struct part {
    struct weir_slice text;
    struct ask_reading reading;
    struct mention mention; /* when it was not understood */
};

struct work {
    struct questions *out;
    struct agent_case *c;
    struct part parts[QUESTION_PARTS];
    size_t n;
    int32_t first, newest;
    size_t n_bundles;
};

/* What is beyond the ceiling is left out. */
static struct asked *push(struct work *w, const struct plan *plan)
{
    if (w->out->n == QUESTION_PLANS) return NULL;
    struct asked *a = &w->out->list[w->out->n++];
    *a = (struct asked){.plan = *plan};
    return a;
}

static bool is_open(const struct plan_window *w)
{
    return w->last == 0 && w->from == DAY_NONE && w->to == DAY_NONE;
}

/* ---- what one would want to know of a metric ---- */

/* The day that counts as the last: a metric that is no longer measured ends where it ended. */
static int32_t end_of(struct work *w, const struct metric *m)
{
    const struct series *s;
    if (dataset_series(w->c->data, m, &s) != WEIR_OK || s->n == 0) return w->newest;
    int32_t last = s->days[s->n - 1];
    return w->newest - last > STALE_DAYS ? last : w->newest;
}

static struct plan_window last_days(const struct work *w, int32_t end, uint32_t n, uint32_t skip)
{
    if (end == w->newest)
        return (struct plan_window){.from = DAY_NONE, .to = DAY_NONE, .last = n, .skip = skip};
    int32_t to = end - (int32_t)skip;
    return (struct plan_window){.from = to - (int32_t)n + 1, .to = to};
}

static void push_optional(struct work *w, const struct plan *plan)
{
    struct asked *a = push(w, plan);
    if (a) a->is_optional = true;
}

static struct plan plan_of(const struct metric *m, enum plan_op op)
{
    struct plan plan;
    plan_init(&plan);
    plan.op = op;
    plan.metric = m;
    return plan;
}

static void push_bundle(struct work *w, const struct metric *m)
{
    int32_t end = end_of(w, m);
    bool is_full = w->n_bundles++ < FULL_BUNDLES;
    struct plan level = plan_of(m, PLAN_AGGREGATE), trend = plan_of(m, PLAN_TREND);
    struct plan compare = plan_of(m, PLAN_COMPARE);
    level.window = compare.window = last_days(w, end, USUAL_DAYS, 0);
    compare.window_b = last_days(w, end, USUAL_DAYS, USUAL_DAYS);
    trend.window = last_days(w, end, TREND_DAYS, 0);
    trend.per = PER_WEEK;
    if (m->daily == DAILY_LAST) {
        struct plan latest = plan_of(m, PLAN_AGGREGATE);
        latest.stat = STAT_LAST;
        push(w, &latest);
    }
    push(w, &level);
    if (is_full) push_optional(w, &trend);
    struct asked *asked = push(w, &compare);
    if (asked) asked->is_optional = asked->needs_no_value = true;
}

static void push_lab(struct work *w, const struct analyte *a)
{
    struct plan plan;
    plan_init(&plan);
    plan.subject = PLAN_OF_LAB;
    plan.analyte = a;
    plan.stat = STAT_LAST;
    push(w, &plan);
    plan.op = PLAN_CHANGE;
    push_optional(w, &plan);
}

static bool has_days(const struct work *w, const struct metric *m)
{
    const struct series *s;
    return m && dataset_series(w->c->data, m, &s) == WEIR_OK && s->n > 0;
}

static void push_activity(struct work *w, const struct activity *a, struct weir_slice question)
{
    struct plan plan;
    const struct metric *steps = metric_find(SLICE("steps"));
    bool is_more = words_have(question, "more|less|enough|lately|recently");
    if (is_more && strcmp(a->name, "walk") == 0 && has_days(w, steps)) {
        push_bundle(w, steps); /* few walks are sessions */
        return;
    }
    plan_init(&plan);
    plan.subject = PLAN_OF_WORKOUTS;
    plan.activity = a;
    bool is_pace = words_have(question, "faster|slower|pace|speed");
    if (is_pace || words_have(question, "longer|shorter|further|farther")) {
        plan.op = PLAN_TREND;
        plan.per = PER_MONTH;
        plan.field = is_pace                                   ? FIELD_PACE
                     : words_have(question, "further|farther") ? FIELD_KM
                                                               : FIELD_MINUTES;
        push(w, &plan);
        return;
    }
    plan.op = PLAN_COUNT;
    plan.window = last_days(w, w->newest, USUAL_DAYS, 0);
    push(w, &plan);
    plan.op = PLAN_AGGREGATE;
    plan.stat = STAT_SUM;
    plan.field = FIELD_MINUTES;
    push_optional(w, &plan);
}

/* ---- plans that were read ---- */

/* The days of a window against as many before it. */
static void compare_with_before(struct work *w, struct plan *plan)
{
    struct plan_window *own = &plan->window, *before = &plan->window_b;
    plan->op = PLAN_COMPARE;
    plan->stat = STAT_MEAN;
    if (is_open(own)) *own = last_days(w, end_of(w, plan->metric), USUAL_DAYS, 0);
    *before = *own;
    if (own->last > 0) {
        before->skip += own->last;
        return;
    }
    int32_t from = own->from != DAY_NONE ? own->from : w->first;
    int32_t to = own->to != DAY_NONE ? own->to : w->newest;
    *before = (struct plan_window){.from = from - (to - from + 1), .to = from - 1};
}

static int32_t length_of(const struct work *w, const struct plan_window *window)
{
    if (window->last > 0) return (int32_t)window->last;
    int32_t from = window->from != DAY_NONE ? window->from : w->first;
    return (window->to != DAY_NONE ? window->to : w->newest) - from + 1;
}

/* The first and the last day say little of what changes from day to day, unless a number is asked
 * for: "by how much". */
static bool is_better_compared(const struct plan *plan, struct weir_slice text)
{
    bool is_daily = plan->subject == PLAN_OF_METRIC && plan->metric->daily != DAILY_LAST;
    return is_daily && plan->result == RESULT_DIFFERENCE && !words_want_number(text);
}

/* Whether a change is more than two days that happen to differ. */
static void push_trend_beside(struct work *w, const struct plan *plan)
{
    struct plan trend = *plan;
    if (plan->subject != PLAN_OF_METRIC || length_of(w, &plan->window) < LEAST_TREND_DAYS) return;
    trend.op = PLAN_TREND;
    trend.per = PER_WEEK;
    trend.result = RESULT_DIFFERENCE;
    push_optional(w, &trend);
}

static bool has_days_in(const struct work *w, const struct plan_window *window)
{
    int32_t to = window->last > 0 ? w->newest - (int32_t)window->skip : window->to;
    return to >= w->first + length_of(w, window) / 2;
}

/* "Did my steps drop in the last month?": against the month before, and whether there is a trend
 * within; since the data began, that alone. */
static void push_change(struct work *w, const struct plan *plan)
{
    struct plan compare = *plan;
    compare_with_before(w, &compare);
    if (has_days_in(w, &compare.window_b)) {
        push(w, &compare);
        if (!is_open(&plan->window)) push_trend_beside(w, plan);
        return;
    }
    struct plan trend = *plan;
    trend.op = PLAN_TREND;
    trend.per = PER_WEEK;
    push(w, &trend);
}

static void push_weekend(struct work *w, const struct plan *plan)
{
    struct plan compare = *plan;
    compare.op = PLAN_COMPARE;
    compare.window_b = plan->window;
    if (plan->where.n > 0) return;
    compare.where =
        (struct plan_where){.n = 1, .conditions = {{.kind = WHERE_WEEKDAY, .set = WEEKEND_SET}}};
    compare.where_b =
        (struct plan_where){.n = 1, .conditions = {{.kind = WHERE_WEEKDAY, .set = WORKWEEK_SET}}};
    push_optional(w, &compare);
}

static void push_read(struct work *w, const struct part *p, const struct plan *plan,
                      const char *text)
{
    bool asks_whether = words_ask_whether(p->text);
    if (plan->op == PLAN_CHANGE && is_better_compared(plan, p->text)) {
        push_change(w, plan);
        return;
    }
    struct asked *a = push(w, plan);
    if (!a) return;
    a->text = text;
    a->wants_number = !asks_whether || words_want_number(p->text);
    if (plan->op == PLAN_CHANGE) push_trend_beside(w, plan);
    if (plan->op == PLAN_GROUP && plan->group == GROUP_WEEKEND) push_weekend(w, plan);
}

/* ---- parts ---- */

/* The longest run of parts from i on that the grammar takes; how many, 0: none. */
static enum weir_status read_part(struct work *w, const struct weir_slice *texts, size_t n,
                                  struct part *out, size_t *used)
{
    enum weir_status st = WEIR_OK;
    *used = 0;
    for (size_t len = n; len > 0 && st == WEIR_OK; len--) {
        out->text = slice_of(texts[0].ptr,
                             (size_t)(texts[len - 1].ptr + texts[len - 1].len - texts[0].ptr));
        st = ask_read(&out->reading, out->text, w->c->data, w->c->arena);
        if (st != WEIR_OK || !out->reading.is_understood) continue;
        *used = len;
        return WEIR_OK;
    }
    return st == WEIR_OK ? words_mention(&out->mention, out->text, w->c->data) : st;
}

/* Whether a part that the grammar does not take is about something all the same, and about nothing
 * else that is not known: "average sleep at my parents' house" is not about sleep. */
static bool is_about(const struct mention *m)
{
    return m->n_other == 0 && (m->n > 0 || m->absent || m->analyte);
}

/* "on 3 March and on 5 April": what was asked of the days before is asked of these, too. */
static bool is_other_days(const struct work *w, const struct part *p)
{
    return w->n > 0 && p->reading.lacks_thing && p->reading.plan.op == PLAN_AGGREGATE;
}

static enum weir_status read_parts(struct work *w, struct weir_slice question)
{
    struct weir_slice texts[QUESTION_PARTS];
    size_t n = words_split(question, texts);
    for (size_t i = 0; i < n;) {
        struct part *p = &w->parts[w->n];
        size_t used;
        *p = (struct part){0};
        enum weir_status st = read_part(w, texts + i, n - i, p, &used);
        if (st != WEIR_OK) return st;
        bool is_days = used == 0 && is_other_days(w, p);
        if (used > 0 || is_days || is_about(&p->mention)) w->n++;
        else w->out->not_read = p->text;
        i += used > 0 ? used : 1;
    }
    return WEIR_OK;
}

static const struct metric *metric_of(const struct part *p)
{
    if (!p->reading.is_understood) return p->mention.n > 0 ? p->mention.metrics[0] : NULL;
    return p->reading.plan.subject == PLAN_OF_METRIC ? p->reading.plan.metric : NULL;
}

static bool is_named_only(const struct part *p)
{
    return !p->reading.is_understood || p->reading.is_default;
}

/* A part that says what is to be done, for those that do not; NULL. */
static const struct part *model_of(const struct work *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct plan *plan = &w->parts[i].reading.plan;
        bool is_plain = plan->subject == PLAN_OF_METRIC && plan->op != PLAN_CORRELATE &&
                        plan->having.cmp == CMP_NONE && plan->where.n == 0;
        if (!is_named_only(&w->parts[i]) && is_plain) return &w->parts[i];
    }
    return NULL;
}

/* The window of the nearest part that has one; NULL. */
static const struct plan_window *window_near(const struct work *w, size_t at)
{
    for (size_t far = 1; far < w->n; far++)
        for (int side = -1; side <= 1; side += 2) {
            size_t i = at + (size_t)((long)far * side);
            if (i >= w->n || !w->parts[i].reading.is_understood) continue;
            if (!is_open(&w->parts[i].reading.plan.window)) return &w->parts[i].reading.plan.window;
        }
    return NULL;
}

static void push_other(struct work *w, const struct mention *mention)
{
    if (mention->analyte) push_lab(w, mention->analyte);
    else if (mention->absent) w->out->absent = mention->absent;
}

/* A part that names a metric, and maybe says that it went up or down. */
static void push_named(struct work *w, size_t i, const struct part *model)
{
    const struct part *p = &w->parts[i];
    const struct metric *m = metric_of(p);
    const struct plan_window *near = window_near(w, i);
    if (!p->reading.is_understood && words_ask_change(p->text)) {
        struct plan plan = plan_of(m, PLAN_AGGREGATE);
        if (near) plan.window = *near;
        compare_with_before(w, &plan);
        push(w, &plan);
        return;
    }
    if (!model) {
        push_bundle(w, m);
        return;
    }
    struct plan plan = model->reading.plan;
    plan.metric = m;
    plan.unit = NULL;
    if (near && is_open(&plan.window) && plan.op != PLAN_COMPARE) plan.window = *near;
    push_read(w, p, &plan, NULL);
}

/* What was asked before, of other days. */
static void push_other_days(struct work *w, size_t i)
{
    const struct part *p = &w->parts[i];
    size_t at = i;
    while (at > 0 && w->parts[at].reading.lacks_thing) at--;
    const struct part *model = &w->parts[at];
    const struct metric *m = metric_of(model);
    if (!model->reading.is_understood && !m) return;
    struct plan plan =
        model->reading.is_understood ? model->reading.plan : plan_of(m, PLAN_AGGREGATE);
    if (plan.op == PLAN_COMPARE || plan.op == PLAN_CHANGE) return;
    plan.window = p->reading.plan.window;
    push_read(w, model, &plan, NULL);
}

static void push_part(struct work *w, size_t i, const struct part *model)
{
    const struct part *p = &w->parts[i];
    if (is_other_days(w, p)) {
        push_other_days(w, i);
        return;
    }
    if (is_named_only(p)) {
        if (metric_of(p)) push_named(w, i, model);
        else push_other(w, &p->mention);
        return;
    }
    struct plan plan = p->reading.plan;
    bool takes_window = is_open(&plan.window) && plan.op != PLAN_COMPARE;
    const struct plan_window *near = takes_window ? window_near(w, i) : NULL;
    /* A week has no trend. */
    if (near && plan.op == PLAN_TREND && length_of(w, near) < LEAST_TREND_DAYS) near = NULL;
    if (near) plan.window = *near;
    push_read(w, p, &plan, near ? NULL : p->reading.understood);
}

/* "Compare my sleep and my steps": they may also be looked at together. */
static void push_together(struct work *w, struct weir_slice question)
{
    if (w->n != 2 || !words_have(question, "compare|comparison|versus|vs")) return;
    const struct metric *a = metric_of(&w->parts[0]), *b = metric_of(&w->parts[1]);
    if (!a || !b || a == b) return;
    struct plan plan = plan_of(a, PLAN_CORRELATE);
    plan.with = b;
    plan.window = w->out->n > 0 ? w->out->list[0].plan.window : plan.window;
    push_optional(w, &plan);
}

/* ---- the whole ---- */

/* A day that is spoken of as such: last night, yesterday. */
static void push_day(struct work *w, const struct metric *m, struct weir_slice question)
{
    bool is_yesterday = words_have(question, "yesterday");
    if (!is_yesterday && !words_have(question, "night|today|morning|tonight")) return;
    struct plan plan = plan_of(m, PLAN_AGGREGATE);
    plan.window = last_days(w, w->newest, 1, is_yesterday ? 1 : 0);
    push_optional(w, &plan);
}

/* Days with such a session against the others. */
static void push_with_activity(struct work *w, const struct metric *m, const struct activity *a)
{
    struct plan plan = plan_of(m, PLAN_COMPARE);
    struct plan_condition with = {.kind = WHERE_WORKOUT, .activity = a};
    struct plan_condition without = with;
    without.is_not = true;
    plan.where = (struct plan_where){.n = 1, .conditions = {with}};
    plan.where_b = (struct plan_where){.n = 1, .conditions = {without}};
    push(w, &plan);
}

static void push_general(struct work *w, const struct mention *mention, struct weir_slice question)
{
    if (mention->n == 1 && mention->activity && words_ask_relation(question)) {
        push_with_activity(w, mention->metrics[0], mention->activity);
        return;
    }
    if (mention->n > 1 && words_ask_relation(question)) {
        struct plan plan = plan_of(mention->metrics[0], PLAN_CORRELATE);
        plan.with = mention->metrics[1];
        push(w, &plan);
        return;
    }
    if (mention->n > 0) push_day(w, mention->metrics[0], question);
    for (size_t i = 0; i < mention->n; i++) push_bundle(w, mention->metrics[i]);
    if (mention->n == 0 && mention->activity) push_activity(w, mention->activity, question);
}

static enum weir_status push_mentioned(struct work *w, struct weir_slice question)
{
    struct mention mention;
    enum weir_status st = words_mention(&mention, question, w->c->data);
    if (st != WEIR_OK) return st;
    bool is_relation = mention.n > 1 && words_ask_relation(question);
    bool is_sought = mention.n == 1 && words_ask_relation(question) &&
                     words_have(question, "what|which|anything|something");
    w->out->not_read.len = 0; /* it is the whole of it */
    if (words_ask_meaning(question)) return WEIR_OK;
    /* A laboratory's result may be asked for by its number: "is 124 high?" */
    if (mention.analyte && mention.n_other == 0) push_lab(w, mention.analyte);
    else if (mention.n_other > 0) return WEIR_OK;
    else if (mention.absent) w->out->absent = mention.absent;
    else if (is_sought) w->out->sought = mention.metrics[0];
    else if (is_relation || !words_ask_number(question)) push_general(w, &mention, question);
    return WEIR_OK;
}

static enum weir_status read_apart(struct work *w, struct weir_slice question)
{
    enum weir_status st = read_parts(w, question);
    if (st != WEIR_OK) return st;
    bool is_one = w->n == 1 && !w->parts[0].reading.is_understood;
    if (w->n == 0 || is_one) return push_mentioned(w, question);
    const struct part *model = model_of(w);
    for (size_t i = 0; i < w->n; i++) push_part(w, i, model);
    push_together(w, question);
    return WEIR_OK;
}

/* "Compare my February with my March", "how was my February?": what one would look at first. */
static void push_days(struct work *w, const struct plan *days)
{
    static const char main_metrics[] = "sleep_minutes|steps|resting_heart_rate|hrv_rmssd|"
                                       "active_minutes|weight|stress_score";
    size_t at = 0, n = 0;
    for (struct weir_slice s; n < MAIN_METRICS && (s = alias_next(main_metrics, &at)).len > 0;) {
        struct plan plan = *days;
        plan.metric = metric_find(s);
        if (!has_days(w, plan.metric)) continue;
        push(w, &plan);
        n++;
    }
}

static void drop_labs(struct questions *q)
{
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++)
        if (q->list[i].plan.subject != PLAN_OF_LAB) q->list[n++] = q->list[i];
    if (n == 0 && q->n > 0) q->refusal = "Laboratory results were not to be used.";
    q->n = n;
}

enum weir_status questions_read(struct questions *out, struct weir_slice question,
                                struct agent_case *c)
{
    struct work *w = arena_alloc(c->arena, sizeof *w);
    if (!w) return c->arena->status;
    *out = (struct questions){.is_causal = words_ask_why(question)};
    *w = (struct work){.out = out, .c = c};
    struct part whole = {.text = question};
    enum weir_status st = dataset_span(c->data, &w->first, &w->newest);
    bool has_data = st == WEIR_OK;
    if (st == WEIR_OK || st == WEIR_NOT_FOUND)
        st = ask_read(&whole.reading, question, c->data, c->arena);
    if (st != WEIR_OK) return st;
    const struct ask_reading *r = &whole.reading;
    bool is_recent = r->plan.stat == STAT_LAST && words_have(question, "lately|recently|these");
    bool is_bundle = (r->is_default || is_recent) && r->plan.subject == PLAN_OF_METRIC;
    if (r->is_understood && is_bundle) push_bundle(w, r->plan.metric);
    else if (r->is_understood) push_read(w, &whole, &r->plan, r->understood);
    else if (has_data && r->lacks_thing) push_days(w, &r->plan);
    else if (has_data) st = read_apart(w, question);
    out->refusal = r->refusal;
    if (!c->has_biomarkers) drop_labs(out);
    return st;
}
