/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages of a search: all tests on the older days, the correction for their number, what is
 * promising in its order, the newer days, the gates.
 *
 * What keeps it honest: the newer days are fresh. Whatever was found by chance among thousands of
 * tests has to be found again there, in the same direction, corrected for the few that are looked
 * at. So the first stage may be generous, and still the whole errs rarely. Single days
 * and what takes all days to be seen have to be beyond doubt by themselves.
 */
#include "check/search.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/check.h"
#include "check/search_impl.h"
#include "stat/adjust.h"

enum {
    WEEK = 7,
    CANDIDATES = 12,       /* looked at on the newer days */
    SAME_KIND = 4,         /* of them, but for pairs */
    TESTS_PER_METRIC = 13, /* two trends, two changes, weekends, seven weekdays, a day */
    WEEKEND = 1 << 5 | 1 << 6,
};
static const double promising = 0.25;    /* on q */
static const double beyond_doubt = 0.05; /* on p after Bonferroni, in the kind's share */
static const double confirmed = 0.05;    /* on q of the newer days, one-sided */
static const double most_weight = 20;    /* of one of them */
static const double most_lag1 = 0.9;     /* of a level whose slopes and steps mean something */
static const double same_r = 0.9;        /* two metrics that mean the same */

/* What each kind may take of the errors allowed: pairs are many, and would else leave the few
 * other tests no chance. The weights of weighted Benjamini and Hochberg, known beforehand. */
static const double kind_share[N_SEARCH_KINDS] = {[SEARCH_PAIR] = 0.5,
                                                  [SEARCH_TREND] = 0.125,
                                                  [SEARCH_WEEKDAY] = 0.125,
                                                  [SEARCH_CHANGE] = 0.125,
                                                  [SEARCH_ANOMALY] = 0.125};

const char *search_kind_name(enum search_kind k)
{
    static const char *const names[] = {"pair", "trend", "weekday", "change", "anomaly"};
    return names[k];
}

const char *search_outcome_name(enum search_outcome o)
{
    static const char *const names[] = {"noise",       "same thing", "folded",  "passed over",
                                        "unconfirmed", "rejected",   "reported"};
    return names[o];
}

/* ---- all tests ---- */

static void log_test(struct search_work *w, struct search_test test, struct tried t)
{
    if (!isfinite(t.p)) {
        w->result->n_skipped++;
        return;
    }
    test.n = (uint16_t)t.n;
    test.n_eff = (float)t.n_eff;
    test.effect = (float)t.effect;
    test.statistic = t.statistic;
    test.p = test.q = t.p;
    w->tests[w->n_tests++] = test;
    w->result->counts[test.kind].n_tried++;
}

/* Whether newer days are there to confirm what the older ones show. */
static bool can_confirm(const struct search_work *w, size_t row)
{
    return w->pieces[PART_NEWER][row].n_known >= LEAST_NEWER;
}

/* Slopes and steps. What wanders has them of itself, wherever one looks; all days tell best. */
static void try_level(struct search_work *w, uint8_t row, enum search_part part)
{
    const struct piece *x = &w->pieces[part][row];
    struct search_test test = {.x = row, .is_of_all_days = part == PART_WHOLE};
    size_t day = 0;
    if (w->pieces[PART_WHOLE][row].line.lag1 > most_lag1) {
        w->result->n_skipped += 2;
        return;
    }
    test.kind = SEARCH_TREND;
    log_test(w, test, try_trend(x));
    test.kind = SEARCH_CHANGE;
    struct tried t = try_change(w, x, &day);
    test.day = (uint16_t)day;
    log_test(w, test, t);
}

static void try_row(struct search_work *w, uint8_t row)
{
    size_t day = 0;
    struct tried t = try_anomaly(w, row, &day);
    log_test(w, (struct search_test){.kind = SEARCH_ANOMALY, .x = row, .day = (uint16_t)day}, t);
    try_level(w, row, PART_WHOLE);
    if (!can_confirm(w, row)) {
        w->result->n_skipped += TESTS_PER_METRIC - 3;
        return;
    }
    try_level(w, row, PART_OLDER);
    for (size_t i = 0; i <= WEEK; i++) {
        uint8_t days = (uint8_t)(i == WEEK ? WEEKEND : 1u << i);
        log_test(w, (struct search_test){.kind = SEARCH_WEEKDAY, .x = row, .weekdays = days},
                 try_weekdays(w, PART_OLDER, row, days));
    }
}

static void try_lags(struct search_work *w, uint8_t x, uint8_t y)
{
    const struct piece *older = w->pieces[PART_OLDER];
    bool can = can_confirm(w, x) && can_confirm(w, y) &&
               !metrics_share(w->input->rows[x].metric, w->input->rows[y].metric);
    if (!can) {
        w->result->n_skipped += 2 * SEARCH_LAGS + 1;
        return;
    }
    for (int lag = -SEARCH_LAGS; lag <= SEARCH_LAGS; lag++) {
        struct tried t = try_pair(&older[x], &older[y], lag);
        if (lag == 0 && fabs(t.effect) >= same_r) w->twin[y] = w->twin[x];
        log_test(w, (struct search_test){.kind = SEARCH_PAIR, .x = x, .y = y, .lag = (int16_t)lag},
                 t);
    }
}

static bool is_wanted(const struct search_work *w, size_t x, size_t y)
{
    const struct search_input *in = w->input;
    return !in->focus || in->rows[x].metric == in->focus || in->rows[y].metric == in->focus;
}

static bool is_aborted(const struct search_work *w)
{
    return w->input->is_aborted && w->input->is_aborted(w->input->user);
}

static enum weir_status try_all(struct search_work *w)
{
    size_t n = w->input->n_rows;
    size_t most = n * TESTS_PER_METRIC + n * n / 2 * (2 * SEARCH_LAGS + 1) + 1;
    w->tests = arena_alloc(w->arena, most * sizeof *w->tests);
    if (!w->tests) return w->arena->status;
    for (size_t x = 0; x < n; x++) w->twin[x] = (uint8_t)x;
    for (size_t x = 0; x < n && !w->input->focus; x++) try_row(w, (uint8_t)x);
    for (size_t x = 0; x < n; x++) {
        if (is_aborted(w)) return WEIR_CANCELLED;
        for (size_t y = x + 1; y < n; y++)
            if (is_wanted(w, x, y)) try_lags(w, (uint8_t)x, (uint8_t)y);
    }
    CHECK(w->n_tests < most);
    return WEIR_OK;
}

/* ---- their number ---- */

static enum weir_status correct(struct search_work *w)
{
    const struct search_count *counts = w->result->counts;
    double *q = arena_alloc(w->arena, (3 * w->n_tests + 1) * sizeof *q), shares = 0;
    if (!q) return w->arena->status;
    for (size_t k = 0; k < N_SEARCH_KINDS; k++) shares += counts[k].n_tried > 0 ? kind_share[k] : 0;
    for (size_t k = 0; k < N_SEARCH_KINDS; k++) w->share[k] = kind_share[k] / shares;
    for (size_t i = 0; i < w->n_tests; i++) {
        size_t k = w->tests[i].kind;
        double weight = w->share[k] * (double)w->n_tests / (double)counts[k].n_tried;
        q[i] = fmin(1, w->tests[i].p / weight);
    }
    stat_adjust_bh(q, w->n_tests, q + w->n_tests);
    for (size_t i = 0; i < w->n_tests; i++) w->tests[i].q = q[i];
    return WEIR_OK;
}

bool search_is_beyond_doubt(const struct search_work *w, const struct search_test *t)
{
    double n_tried = (double)w->result->counts[t->kind].n_tried;
    return t->p * n_tried / w->share[t->kind] <= beyond_doubt;
}

/* ---- what is promising ---- */

struct ranked {
    struct search_test *test;
    double score;
    struct tried again;
    double q; /* on the newer days */
};

static bool is_promising(const struct search_work *w, const struct search_test *t)
{
    bool is_alone = t->kind == SEARCH_ANOMALY || t->is_of_all_days;
    return is_alone ? search_is_beyond_doubt(w, t) : t->q <= promising;
}

/* What evidence is worth: of what may be by chance little, and of what is certain no more than of
 * what is nearly so. */
static double weight_of(const struct search_test *t)
{
    return fmin(most_weight, 1 - log(fmax(t->q, DBL_MIN)));
}

/* A slope or step that is beyond doubt on the older days alone. */
static bool is_clear(const struct search_work *w, const struct search_test *t)
{
    bool is_level = t->kind == SEARCH_TREND || t->kind == SEARCH_CHANGE;
    return is_level && !t->is_of_all_days && search_is_beyond_doubt(w, t);
}

/* A single day of the week has to be clearly better than the weekend. */
static double handicap(const struct search_test *t)
{
    return t->kind == SEARCH_WEEKDAY && t->weekdays != WEEKEND ? 10 : 1;
}

/* Whether `a` is better evidence than `b` of the same thing. */
static bool is_better(const struct search_work *w, const struct search_test *a,
                      const struct search_test *b)
{
    if (is_clear(w, a) != is_clear(w, b)) return is_clear(w, a);
    return handicap(a) * a->p < handicap(b) * b->p;
}

/* Into a list of one for each thing that is said; the stronger one stays. */
static size_t fold(const struct search_work *w, struct ranked *list, size_t n,
                   struct search_test *t)
{
    for (size_t i = 0; i < n; i++) {
        if (!search_says_the_same(w, list[i].test, t)) continue;
        bool is_new = is_better(w, t, list[i].test);
        (is_new ? list[i].test : t)->outcome = SEARCH_FOLDED;
        if (is_new) list[i].test = t;
        return n;
    }
    list[n] = (struct ranked){.test = t};
    return n + 1;
}

static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->test < y->test ? -1 : 1;
}

/* The CANDIDATES that are best founded and most useful, best first, and not all of one kind but for
 * pairs. */
static size_t choose(const struct search_work *w, struct ranked *list, size_t n,
                     struct ranked *best)
{
    size_t n_best = 0, n_kind[N_SEARCH_KINDS] = {0};
    for (size_t i = 0; i < n; i++)
        list[i].score = weight_of(list[i].test) * search_usefulness(w, list[i].test);
    qsort(list, n, sizeof *list, by_score);
    for (size_t i = 0; i < n; i++) {
        uint8_t kind = list[i].test->kind;
        bool has_room = kind == SEARCH_PAIR || n_kind[kind] < SAME_KIND;
        if (n_best < CANDIDATES && has_room) best[n_best++] = list[i];
        else list[i].test->outcome = SEARCH_PASSED_OVER;
        n_kind[kind]++;
    }
    return n_best;
}

static enum weir_status find_promising(struct search_work *w, struct ranked *best, size_t *n_best)
{
    struct ranked *list = arena_alloc(w->arena, (w->n_tests + 1) * sizeof *list);
    size_t n = 0;
    if (!list) return w->arena->status;
    for (size_t i = 0; i < w->n_tests; i++) {
        struct search_test *t = &w->tests[i];
        if (!is_promising(w, t)) continue;
        w->result->counts[t->kind].n_promising++;
        if (t->kind == SEARCH_PAIR && w->twin[t->x] == w->twin[t->y])
            t->outcome = SEARCH_SAME_THING;
        else n = fold(w, list, n, t);
    }
    *n_best = choose(w, list, n, best);
    return WEIR_OK;
}

/* ---- the newer days ---- */

/* The better it was on the older days, the more of the errors allowed it may take on the newer:
 * weights as above, and fair ones, for the newer days had no say in them. */
static void confirm_all(struct search_work *w, struct ranked *best, size_t n)
{
    double q[CANDIDATES], scratch[2 * CANDIDATES], weight[CANDIDATES], weights = 0;
    for (size_t i = 0; i < n; i++) {
        weight[i] = weight_of(best[i].test);
        weights += weight[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        best[i].again = confirm(w, best[i].test);
        double p = isnan(best[i].again.p) ? 1 : best[i].again.p;
        q[i] = fmin(1, p * weights / weight[i]);
    }
    stat_adjust_bh(q, n, scratch);
    for (size_t i = 0; i < n; i++) {
        best[i].q = q[i];
        if (q[i] <= confirmed) w->result->counts[best[i].test->kind].n_confirmed++;
        else best[i].test->outcome = SEARCH_UNCONFIRMED;
    }
}

/* ---- the gates ---- */

/* Who measured most of these days; 0: not known. */
static uint16_t usual_source(const struct search_row *row, size_t from, size_t to)
{
    uint16_t source = 0;
    size_t lead = 0;
    for (size_t i = from; row->sources && i < to; i++) {
        if (row->sources[i] == 0) continue;
        if (lead == 0) source = row->sources[i];
        lead = row->sources[i] == source ? lead + 1 : lead - 1;
    }
    return source;
}

/* The first day of the device that measured the last third, when another one did the first. */
static size_t device_change(const struct search_row *row, size_t n)
{
    uint16_t first = usual_source(row, 0, n / 3), last = usual_source(row, n - n / 3, n);
    size_t at = 0;
    if (first == last || first == 0 || last == 0) return 0;
    while (at < n && row->sources[at] != last) at++;
    return at > 0 ? at : 1;
}

/* A metric whose values were moved, so that limits of what is plausible say nothing any more. */
static const struct metric *without_limits(struct search_work *w, const struct metric *m)
{
    struct metric *copy = arena_alloc(w->arena, sizeof *copy);
    if (!copy) return NULL;
    *copy = *m;
    copy->min = -INFINITY;
    copy->max = INFINITY;
    return copy;
}

/* Weekdays as places of the week that begins on the first day. */
static uint32_t places_of(const struct search_work *w, uint8_t weekdays)
{
    uint32_t places = 0;
    for (unsigned i = 0; i < WEEK; i++)
        if (weekdays >> (w->first_weekday + i) % WEEK & 1) places |= 1u << i;
    return places;
}

/* Without week and drift, as pairs were searched, but about the metric's own mean. */
static const double *quick_days(struct search_work *w, size_t row)
{
    const struct piece *p = &w->pieces[PART_WHOLE][row];
    double *x = arena_alloc(w->arena, (p->n + 1) * sizeof *x), sum = 0;
    if (!x) return NULL;
    for (size_t i = 0; i < p->n; i++) sum += p->known[i] > 0 ? p->raw[i] : 0;
    for (size_t i = 0; i < p->n; i++)
        x[i] = p->known[i] > 0 ? sum / (double)p->n_known + p->quick[i] : NAN;
    return x;
}

static enum weir_status find_pair(struct search_work *w, const struct hypothesis *h,
                                  struct finding *f)
{
    const struct search_test *t = h->test;
    bool is_turned = h->x != w->input->rows[t->x].metric;
    f->a.x = quick_days(w, is_turned ? t->y : t->x);
    f->b = (struct days){quick_days(w, is_turned ? t->x : t->y), f->a.n};
    f->metric = without_limits(w, h->x);
    f->metric_y = without_limits(w, h->y);
    f->lag = h->lag;
    return f->a.x && f->b.x && f->metric && f->metric_y ? WEIR_OK : w->arena->status;
}

static enum weir_status make_finding(struct search_work *w, struct hypothesis *h)
{
    static const enum finding_kind kinds[N_SEARCH_KINDS] = {
        FINDING_PAIR, FINDING_TREND, FINDING_WEEKDAYS, FINDING_WINDOWS, FINDING_ANOMALY};
    const struct search_test *t = h->test;
    const struct search_row *row = &w->input->rows[t->x];
    size_t n = w->input->n_days;
    struct finding *f = &h->finding;
    *f = (struct finding){.kind = kinds[t->kind],
                          .metric = row->metric,
                          .a = {row->x, n},
                          .index = t->day,
                          .weekend = places_of(w, t->weekdays ? t->weekdays : WEEKEND),
                          .is_one_device = true};
    if (t->kind == SEARCH_PAIR) return find_pair(w, h, f);
    if (row->metric->daily == DAILY_CIRCULAR) f->metric = without_limits(w, row->metric);
    if (!f->metric) return w->arena->status;
    if (t->kind == SEARCH_TREND) f->device_change = device_change(row, n);
    if (t->kind == SEARCH_CHANGE) {
        uint16_t before = usual_source(row, 0, t->day), after = usual_source(row, t->day, n);
        f->a.n = t->day;
        f->b = (struct days){row->x + t->day, n - t->day};
        f->is_one_device = before == after || before == 0 || after == 0;
    }
    return WEIR_OK;
}

/* Of a pair the earlier metric first; on the same day, what a person can change. */
static void name_metrics(const struct search_work *w, struct hypothesis *h)
{
    const struct search_test *t = h->test;
    const struct search_row *x = &w->input->rows[t->x], *y = &w->input->rows[t->y];
    bool is_level = t->lag == 0 && t->kind == SEARCH_PAIR;
    bool is_turned =
        t->lag < 0 || (is_level && search_is_lever(y->metric) && !search_is_lever(x->metric));
    h->x = is_turned ? y->metric : x->metric;
    if (t->kind == SEARCH_PAIR) h->y = is_turned ? x->metric : y->metric;
    h->lag = is_turned ? -t->lag : t->lag;
}

static enum weir_status judge(struct search_work *w, const struct ranked *r, struct hypothesis *h)
{
    const struct search_test *t = r->test;
    bool has_day = t->kind == SEARCH_CHANGE || t->kind == SEARCH_ANOMALY;
    const struct tried *again = &r->again;
    *h = (struct hypothesis){.kind = (enum search_kind)t->kind,
                             .weekdays = t->weekdays,
                             .day = has_day ? w->input->first_day + t->day : DAY_NONE,
                             .test = t,
                             .p_search = t->p,
                             .q_search = t->q,
                             .p_confirm = r->q,
                             .estimate = again->amount,
                             .size = again->effect,
                             .n_search = t->n,
                             .n_confirm = again->n};
    name_metrics(w, h);
    enum weir_status st = make_finding(w, h);
    if (st == WEIR_OK) st = gates_run(&h->gates, &h->finding, w->seed, w->arena);
    if (st != WEIR_OK) return st;
    h->verdict = h->gates.name;
    if (t->kind == SEARCH_CHANGE || t->is_of_all_days) {
        h->estimate = h->gates.estimate;
        h->size = (double)t->effect;
    }
    h->strength = search_strength(h->kind, h->size);
    h->usefulness = search_usefulness(w, t);
    return WEIR_OK;
}

static bool goes_before(const struct hypothesis *a, const struct hypothesis *b)
{
    if (a->verdict != b->verdict) return a->verdict < b->verdict;
    return a->strength * a->usefulness > b->strength * b->usefulness;
}

static enum weir_status judge_all(struct search_work *w, const struct ranked *best, size_t n_best)
{
    struct hypothesis *list = arena_alloc(w->arena, (CANDIDATES + 1) * sizeof *list);
    size_t n = 0;
    if (!list) return w->arena->status;
    for (size_t i = 0; i < n_best; i++) {
        struct hypothesis h;
        if (best[i].test->outcome == SEARCH_UNCONFIRMED) continue;
        if (is_aborted(w)) return WEIR_CANCELLED;
        enum weir_status st = judge(w, &best[i], &h);
        if (st != WEIR_OK) return st;
        best[i].test->outcome =
            h.verdict == VERDICT_REJECTED ? SEARCH_REJECTED : SEARCH_PASSED_OVER;
        if (h.verdict == VERDICT_REJECTED) continue;
        size_t at = n++;
        for (; at > 0 && goes_before(&h, &list[at - 1]); at--) list[at] = list[at - 1];
        list[at] = h;
    }
    w->result->hypotheses = list;
    w->result->n = n < SEARCH_HYPOTHESES ? n : SEARCH_HYPOTHESES;
    for (size_t i = 0; i < w->result->n; i++) {
        struct search_test *t = &w->tests[list[i].test - w->tests];
        t->outcome = SEARCH_REPORTED;
        w->result->counts[t->kind].n_reported++;
        enum weir_status st = search_say(w, &list[i]);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

static bool is_valid(const struct search_input *in)
{
    if (in->n_rows > SEARCH_METRICS || in->n_days > SEARCH_DAYS) return false;
    for (size_t i = 0; i < in->n_rows; i++)
        if (!in->rows[i].metric || !in->rows[i].x) return false;
    return true;
}

enum weir_status search_run(struct search_result *out, const struct search_input *input,
                            uint64_t seed, struct arena *arena)
{
    struct search_work w = {.input = input, .arena = arena, .result = out, .seed = seed};
    struct ranked best[CANDIDATES];
    size_t n_best = 0;
    *out = (struct search_result){.input = input};
    if (!is_valid(input)) return WEIR_INVALID;
    enum weir_status st = search_prepare(&w);
    if (st == WEIR_OK) st = try_all(&w);
    if (st == WEIR_OK) st = correct(&w);
    if (st == WEIR_OK) st = find_promising(&w, best, &n_best);
    if (st != WEIR_OK) return st;
    confirm_all(&w, best, n_best);
    out->cut = w.cut;
    out->tests = w.tests;
    out->n_tests = w.n_tests;
    st = judge_all(&w, best, n_best);
    return st == WEIR_OK ? search_say_all(&w) : st;
}
