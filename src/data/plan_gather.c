/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the dataset to the values that a plan is about: which window, which days by the
 * conditions, which values are fit to be used.
 *
 * Conditions become a map of the days of the window, one byte each, so that any number of them
 * costs a walk over the days and one over what each looks at.
 */
#include <math.h>
#include <strings.h>

#include "base/check.h"
#include "base/slice.h"
#include "data/plan_impl.h"
#include "stat/circular.h"

/* What a condition's metric has on a day. */
enum { SEEN_NOTHING, SEEN_TRUE, SEEN_FALSE };

void run_resolve(const struct run *r, const struct plan_window *window, int32_t *from, int32_t *to)
{
    *from = window->from != DAY_NONE ? window->from : r->first;
    *to = window->to != DAY_NONE ? window->to : r->last;
    if (window->last == 0) return;
    *to = r->newest - (int32_t)window->skip;
    *from = *to - (int32_t)window->last + 1;
}

bool having_holds(const struct plan_having *having, double value)
{
    switch (having->cmp) {
    case CMP_NONE: return true;
    case CMP_LT: return value < having->value;
    case CMP_LE: return value <= having->value;
    case CMP_GT: return value > having->value;
    case CMP_GE: return value >= having->value;
    case CMP_EQ: return value == having->value;
    case CMP_NE: return value != having->value;
    case CMP_BETWEEN: return value >= having->value && value <= having->value2;
    }
    return false;
}

/* ---- series ---- */

/* Not enough of a day to say that it was little. */
static bool needs_whole_days(const struct plan_having *having)
{
    return having->cmp != CMP_NONE && having->cmp != CMP_GT && having->cmp != CMP_GE;
}

static bool is_fit(enum quality q)
{
    return q == QUALITY_GOOD || q == QUALITY_PARTIAL;
}

/* The hour around which a person's times of day lie: theirs, over all days. */
static bool find_center(struct run *r, const struct series *s, double *center)
{
    size_t n = 0;
    double *fit = run_alloc(r, s->n * sizeof *fit);
    if (!fit) return false;
    for (size_t i = 0; i < s->n; i++)
        if (is_fit((enum quality)s->quality[i])) fit[n++] = s->values[i];
    *center = stat_circular_mean(fit, n);
    if (isnan(*center)) *center = 0; /* they point nowhere: midnight is as good as any */
    return true;
}

static bool load_series(struct run *r, const struct metric *m, const struct series **out)
{
    r->st = dataset_series(r->d, m, out);
    if (r->st == WEIR_OK) return true;
    if (r->st != WEIR_NOT_FOUND) return false;
    r->st = WEIR_OK;
    return run_refuse(r, "no data for %s", m->title);
}

/* The first place whose day is not before this one. */
static size_t place_of(const struct series *s, int32_t day)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->days[middle] < day) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* ---- conditions ---- */

struct day_map {
    int32_t from, to;
    uint8_t *days; /* 1: may be used; NULL: all may */
};

static bool is_in(const struct day_map *map, int32_t day)
{
    return day >= map->from && day <= map->to && (!map->days || map->days[day - map->from]);
}

static size_t map_len(const struct day_map *map)
{
    return (size_t)(map->to - map->from) + 1;
}

/* A threshold on a time of day, unrolled as the values are. */
static struct plan_having unroll(const struct plan_having *having, double center)
{
    struct plan_having h = *having;
    h.value = stat_circular_near(h.value, center);
    h.value2 = stat_circular_near(h.value2, center);
    return h;
}

static bool see_metric(struct run *r, const struct plan_condition *c, const struct day_map *map,
                       uint8_t *seen)
{
    const struct series *s;
    struct plan_having having = c->having;
    bool is_clock = c->metric->daily == DAILY_CIRCULAR;
    double center = 0;
    if (!load_series(r, c->metric, &s)) return false;
    if (is_clock && !find_center(r, s, &center)) return false;
    if (is_clock) having = unroll(&c->having, center);
    bool is_sum = c->metric->daily == DAILY_SUM;
    for (size_t i = place_of(s, map->from + c->shift); i < s->n; i++) {
        int32_t day = s->days[i] - c->shift;
        if (day > map->to) break;
        enum quality q = (enum quality)s->quality[i];
        if (!is_fit(q) || (q == QUALITY_PARTIAL && is_sum && needs_whole_days(&having))) continue;
        double value = is_clock ? stat_circular_near(s->values[i], center) : s->values[i];
        seen[day - map->from] = having_holds(&having, value) ? SEEN_TRUE : SEEN_FALSE;
    }
    return true;
}

static double field_of(const struct workout *w, enum plan_field field)
{
    switch (field) {
    case FIELD_SESSIONS: return 1;
    case FIELD_MINUTES: return w->minutes;
    case FIELD_KM: return w->km;
    case FIELD_KCAL: return w->kcal;
    case FIELD_AVG_HR: return w->avg_hr;
    case FIELD_MAX_HR: return w->max_hr;
    case FIELD_STEPS: return w->steps;
    case FIELD_ASCENT: return w->ascent_m;
    case FIELD_PACE: return w->km > 0 ? w->minutes / w->km : NAN;
    case FIELD_SPEED: return w->minutes > 0 ? w->km / (w->minutes / 60) : NAN;
    }
    return NAN;
}

static bool is_of(const struct workout *w, const struct activity *activity)
{
    return !activity || w->activity == activity;
}

static bool load_workouts(struct run *r, const struct workout **out, size_t *n)
{
    r->st = dataset_workouts(r->d, out, n);
    if (r->st != WEIR_OK) return false;
    return *n > 0 ? true : run_refuse(r, "no data for workouts");
}

/* A field that is not known meets nothing. */
static bool meets(const struct workout *w, const struct plan_condition *c)
{
    double value = field_of(w, c->field);
    return c->having.cmp == CMP_NONE || (!isnan(value) && having_holds(&c->having, value));
}

/* A day's sessions are counted; of any other field, one of them has to meet it. */
static bool see_workouts(struct run *r, const struct plan_condition *c, const struct day_map *map,
                         uint8_t *seen)
{
    const struct workout *w;
    size_t n;
    if (!load_workouts(r, &w, &n)) return false;
    uint16_t *counts = run_alloc(r, map_len(map) * sizeof *counts);
    if (!counts) return false;
    memset(counts, 0, map_len(map) * sizeof *counts);
    bool counts_all = c->field == FIELD_SESSIONS;
    for (size_t i = 0; i < n; i++) {
        int32_t day = w[i].day - c->shift;
        if (day < map->from || day > map->to || !is_of(&w[i], c->activity)) continue;
        if (!counts_all && !meets(&w[i], c)) continue;
        if (counts[day - map->from] < UINT16_MAX) counts[day - map->from]++;
    }
    for (size_t i = 0; i < map_len(map); i++) {
        bool is_met = counts_all && c->having.cmp != CMP_NONE ? having_holds(&c->having, counts[i])
                                                              : counts[i] > 0;
        seen[i] = is_met ? SEEN_TRUE : SEEN_FALSE;
    }
    return true;
}

static void see_calendar(const struct plan_condition *c, const struct day_map *map, uint8_t *seen)
{
    for (size_t i = 0; i < map_len(map); i++) {
        int32_t day = map->from + (int32_t)i + c->shift;
        unsigned bit =
            c->kind == WHERE_WEEKDAY ? day_weekday(day) : (unsigned)day_to_civil(day).month;
        seen[i] = c->set >> bit & 1 ? SEEN_TRUE : SEEN_FALSE;
    }
}

/* Whether the condition is on the session itself and not on its day. */
static bool is_on_session(const struct run *r, const struct plan_condition *c)
{
    if (r->plan->subject != PLAN_OF_WORKOUTS || c->kind != WHERE_WORKOUT || c->shift != 0)
        return false;
    bool is_same = !c->activity || c->activity == r->plan->activity;
    return is_same && c->field != FIELD_SESSIONS && c->having.cmp != CMP_NONE;
}

static bool apply_condition(struct run *r, const struct plan_condition *c, struct day_map *map)
{
    uint8_t *seen = run_alloc(r, map_len(map));
    if (!seen) return false;
    memset(seen, SEEN_NOTHING, map_len(map));
    bool is_ok = true;
    if (c->kind == WHERE_METRIC) is_ok = see_metric(r, c, map, seen);
    else if (c->kind == WHERE_WORKOUT) is_ok = see_workouts(r, c, map, seen);
    else see_calendar(c, map, seen);
    uint8_t wanted = c->is_not ? SEEN_FALSE : SEEN_TRUE;
    for (size_t i = 0; is_ok && i < map_len(map); i++) map->days[i] &= seen[i] == wanted;
    return is_ok;
}

static bool make_map(struct run *r, const struct plan_where *where, struct day_map *map)
{
    for (size_t i = 0; i < where->n; i++) {
        if (is_on_session(r, &where->conditions[i])) continue;
        if (!map->days) {
            map->days = run_alloc(r, map_len(map));
            if (!map->days) return false;
            memset(map->days, 1, map_len(map));
        }
        if (!apply_condition(r, &where->conditions[i], map)) return false;
    }
    return true;
}

/* ---- values ---- */

static bool points_alloc(struct run *r, size_t n, struct points *out)
{
    *out = (struct points){.days = run_alloc(r, n * sizeof *out->days),
                           .values = run_alloc(r, n * sizeof *out->values)};
    return out->days && out->values;
}

static void points_push(struct points *p, int32_t day, double value)
{
    p->days[p->n] = day;
    p->values[p->n++] = value;
}

static bool gather_series(struct run *r, const struct metric *m, const struct day_map *map,
                          struct points *out)
{
    const struct series *s;
    bool is_clock = m->daily == DAILY_CIRCULAR;
    double center = 0;
    if (!load_series(r, m, &s)) return false;
    if (is_clock && !find_center(r, s, &center)) return false;
    if (m == r->plan->metric) r->center = center;
    size_t first = place_of(s, map->from), end = place_of(s, map->to + 1);
    if (!points_alloc(r, end - first, out)) return false;
    bool drops_partial = r->drops_partial && m->daily == DAILY_SUM;
    for (size_t i = first; i < end; i++) {
        enum quality q = (enum quality)s->quality[i];
        if (!is_in(map, s->days[i])) continue;
        r->n_not_worn += q == QUALITY_NOT_WORN;
        r->n_implausible += q == QUALITY_IMPLAUSIBLE;
        r->n_partial += q == QUALITY_PARTIAL && drops_partial;
        if (!is_fit(q) || (q == QUALITY_PARTIAL && drops_partial)) continue;
        double value = s->values[i];
        if (q == QUALITY_PARTIAL) r->partial_day = s->days[i];
        points_push(out, s->days[i], is_clock ? stat_circular_near(value, center) : value);
    }
    return true;
}

bool run_gather_metric(struct run *r, const struct metric *m, int32_t from, int32_t to,
                       struct points *out)
{
    struct day_map map = {.from = from, .to = to};
    return gather_series(r, m, &map, out);
}

static bool meets_own(const struct run *r, const struct plan_where *where, const struct workout *w)
{
    for (size_t i = 0; i < where->n; i++) {
        const struct plan_condition *c = &where->conditions[i];
        if (!is_on_session(r, c)) continue;
        double value = field_of(w, c->field);
        if (isnan(value) || having_holds(&c->having, value) == c->is_not) return false;
    }
    return true;
}

static bool gather_workouts(struct run *r, const struct plan_where *where,
                            const struct day_map *map, struct points *out)
{
    const struct workout *w;
    size_t n;
    if (!load_workouts(r, &w, &n) || !points_alloc(r, n, out)) return false;
    int32_t *unknown = run_alloc(r, (r->n_unknown + n) * sizeof *unknown);
    if (!unknown) return false;
    if (r->n_unknown > 0) memcpy(unknown, r->unknown_days, r->n_unknown * sizeof *unknown);
    r->unknown_days = unknown;
    r->sessions = run_alloc(r, n * sizeof *r->sessions);
    if (!r->sessions) return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_of(&w[i], r->plan->activity) || !is_in(map, w[i].day)) continue;
        if (!meets_own(r, where, &w[i])) continue;
        double value = field_of(&w[i], r->plan->field);
        if (isnan(value)) {
            unknown[r->n_unknown++] = w[i].day;
            continue;
        }
        r->sessions[out->n] = &w[i];
        points_push(out, w[i].day, value);
    }
    return true;
}

static bool is_lab(const struct plan *plan, const struct lab *l)
{
    if (plan->analyte) return l->analyte == plan->analyte;
    return !l->analyte && l->label.len == strlen(plan->lab) &&
           strncasecmp(l->label.ptr, plan->lab, l->label.len) == 0;
}

/* Numbers in different units cannot be added or compared. */
static bool check_units(struct run *r, const struct lab *l)
{
    const struct plan *p = r->plan;
    bool is_one = p->op == PLAN_AGGREGATE &&
                  (p->stat == STAT_LAST || p->stat == STAT_FIRST || p->stat == STAT_COUNT);
    bool is_plain = p->op == PLAN_LIST ||
                    ((p->op == PLAN_COUNT || p->op == PLAN_FIND) && p->having.cmp == CMP_NONE);
    bool is_first = r->lab_unit.ptr == NULL;
    bool is_same = is_first || slice_eq(r->lab_unit, l->unit);
    struct weir_slice old = r->lab_unit;
    if (is_first || p->stat != STAT_FIRST) r->lab_unit = l->unit;
    if (p->analyte || is_same || is_one || is_plain) return true;
    return run_refuse(r, "the results for %s are in different units, %.*s and %.*s", p->lab,
                      (int)old.len, old.ptr, (int)l->unit.len, l->unit.len > 0 ? l->unit.ptr : "");
}

static bool gather_labs(struct run *r, const struct day_map *map, struct points *out)
{
    const struct lab *l;
    size_t n, n_all = 0;
    r->st = dataset_labs(r->d, &l, &n);
    if (r->st != WEIR_OK || !points_alloc(r, n, out)) return false;
    r->labs = run_alloc(r, n * sizeof *r->labs);
    if (!r->labs) return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_lab(r->plan, &l[i])) continue;
        n_all++;
        if (!is_in(map, l[i].day) || isnan(l[i].value)) continue;
        if (!check_units(r, &l[i])) return false;
        r->labs[out->n] = &l[i];
        points_push(out, l[i].day, l[i].value);
    }
    if (n_all > 0) return true;
    return run_refuse(r, "no results for %s",
                      r->plan->analyte ? r->plan->analyte->title : r->plan->lab);
}

/* "<0.3" is used as 0.3: a reader has to know that. Of the first or last value only that one. */
static void note_bounds(struct run *r, size_t begin, size_t end)
{
    const struct plan *p = r->plan;
    const struct lab *bound = NULL;
    size_t n = 0;
    if (p->op == PLAN_AGGREGATE && p->stat == STAT_LAST && end > begin) begin = end - 1;
    if (p->op == PLAN_AGGREGATE && p->stat == STAT_FIRST && end > begin) end = begin + 1;
    for (size_t i = begin; i < end; i++) {
        if (!r->labs[i]->comparator) continue;
        bound = r->labs[i];
        n++;
    }
    if (!bound) return;
    char day[DAY_TEXT_BYTES];
    day_format(day, bound->day);
    char sign[] = {bound->comparator, 0};
    struct weir_slice printed = bound->printed.len > 0 ? bound->printed : weir_slice_of(sign);
    int len = (int)(printed.len < 40 ? printed.len : 40);
    if (n == 1)
        run_note(r, "the result of %s is a bound, %.*s, and counts as its number", day, len,
                 printed.ptr);
    else
        run_note(r, "%zu of %zu results are bounds, such as %.*s of %s, and count as their numbers",
                 n, end - begin, len, printed.ptr, day);
}

/* Sessions and results may lie outside of the days with daily values. */
static bool widen_span(struct run *r)
{
    const struct workout *w;
    const struct lab *l;
    size_t n = 0;
    if (r->plan->subject == PLAN_OF_WORKOUTS) {
        if (!load_workouts(r, &w, &n)) return false;
        for (size_t i = 0; i < n; i++) {
            if (w[i].day < r->first) r->first = w[i].day;
            if (w[i].day > r->last) r->last = w[i].day;
        }
    }
    if (r->plan->subject == PLAN_OF_LAB) {
        r->st = dataset_labs(r->d, &l, &n);
        for (size_t i = 0; r->st == WEIR_OK && i < n; i++) {
            if (l[i].day < r->first) r->first = l[i].day;
            if (l[i].day > r->last) r->last = l[i].day;
        }
    }
    return r->st == WEIR_OK;
}

static bool refuse_outside(struct run *r, int32_t from, int32_t to)
{
    char a[DAY_TEXT_BYTES], b[DAY_TEXT_BYTES], first[DAY_TEXT_BYTES], last[DAY_TEXT_BYTES];
    day_format(a, from);
    day_format(b, to);
    day_format(first, r->first);
    day_format(last, r->last);
    if (from > to)
        return run_refuse(r, "no data from %s on: they run from %s to %s", from > r->last ? a : b,
                          first, last);
    if (from == to) return run_refuse(r, "no data on %s: they run from %s to %s", a, first, last);
    return run_refuse(r, "no data from %s to %s: they run from %s to %s", a, b, first, last);
}

bool run_gather(struct run *r, const struct plan_window *window, const struct plan_where *where,
                struct points *out)
{
    int32_t from, to;
    *out = (struct points){0};
    if (!widen_span(r)) return false;
    run_resolve(r, window, &from, &to);
    if (from > to || to < r->first || from > r->last) return refuse_outside(r, from, to);
    /* Beyond the data there is nothing to find, and a map must stay small. */
    struct day_map map = {.from = from > r->first ? from : r->first,
                          .to = to < r->last ? to : r->last};
    if (!make_map(r, where, &map)) return false;
    bool is_ok = false;
    switch (r->plan->subject) {
    case PLAN_OF_METRIC: is_ok = gather_series(r, r->plan->metric, &map, out); break;
    case PLAN_OF_WORKOUTS: is_ok = gather_workouts(r, where, &map, out); break;
    case PLAN_OF_LAB: is_ok = gather_labs(r, &map, out); break;
    }
    size_t newest = r->plan->newest, older = 0;
    if (newest > 0 && out->n > newest) older = out->n - newest;
    out->days += older;
    out->values += older;
    out->n -= older;
    if (r->sessions) r->sessions += older;
    if (r->labs) r->labs += older;
    if (is_ok && r->plan->subject == PLAN_OF_LAB) note_bounds(r, 0, out->n);
    return is_ok;
}
