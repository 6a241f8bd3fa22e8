/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that a finding, the answer of a plan or a range of the facts table has to offer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/critic_impl.h"
#include "check/sheet.h"
#include "stat/moments.h"

/* What the entries of one origin have in common; the first failure stays. */
struct adding {
    struct sheet *sheet;
    const struct sheet_origin *origin;
    struct ledger_entry entry;
    enum weir_status status;
};

static struct weir_slice text_of(const char *text)
{
    return weir_slice_of(text ? text : "");
}

static struct adding begin(struct sheet *s, const struct sheet_origin *origin)
{
    struct adding a = {.sheet = s, .origin = origin, .status = WEIR_OK};
    a.entry = (struct ledger_entry){.source = text_of(origin->source),
                                    .window = text_of(origin->window),
                                    .n = NAN,
                                    .is_rejected = origin->verdict == VERDICT_REJECTED,
                                    .is_conditional = origin->verdict == VERDICT_CONDITIONAL};
    return a;
}

static void add_entry(struct adding *a, const char *name)
{
    char claim[2 * LEDGER_NAME_BYTES];
    int len = snprintf(claim, sizeof claim, "%s.%s", a->origin->id, name);
    if (a->status != WEIR_OK) return;
    if (len < 0 || (size_t)len > LEDGER_NAME_BYTES) {
        a->status = WEIR_INVALID;
        return;
    }
    a->entry.claim = (struct weir_slice){claim, (size_t)len};
    a->status = sheet_add(a->sheet, &a->entry);
}

/* Two runs on one day, two results of one test: the second is told from the first. */
static void add_unlike(struct adding *a, const char *name)
{
    char other[LEDGER_NAME_BYTES + 1];
    add_entry(a, name);
    for (int i = 2; a->status == WEIR_EXISTS && i <= SHEET_ROWS; i++) {
        a->status = WEIR_OK;
        snprintf(other, sizeof other, "%s.%d", name, i);
        add_entry(a, other);
    }
}

/* A value that is not defined is left out. */
static void add(struct adding *a, const char *name, double value, const char *unit)
{
    if (!isfinite(value)) return;
    a->entry.value = value;
    a->entry.unit = text_of(unit);
    add_unlike(a, name);
}

/* ---- findings ---- */

static double mean_of(struct days d)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < d.n; i++) {
        if (!isfinite(d.x[i])) continue;
        sum += d.x[i];
        n++;
    }
    return n > 0 ? sum / (double)n : NAN;
}

static void add_interval(struct adding *a, const struct verdict *v, const char *unit)
{
    add(a, "lo", v->lo, unit);
    add(a, "hi", v->hi, unit);
}

static void add_trend(struct adding *a, const struct verdict *v, const char *unit)
{
    enum { WEEK = 7 };
    double days = gate_detail(v, GATE_SAMPLE_SIZE, "span_days") - 1;
    char per_week[LEDGER_NAME_BYTES];
    snprintf(per_week, sizeof per_week, "%s/week", unit);
    add(a, "change", v->estimate, unit);
    add_interval(a, v, unit);
    if (days > 0) add(a, "per_week", v->estimate / days * WEEK, unit[0] ? per_week : "");
}

static void add_windows(struct adding *a, const struct finding *f, const struct verdict *v,
                        const char *unit, const char *of_values)
{
    double before = mean_of(f->a), after = mean_of(f->b);
    add(a, "diff", v->estimate, unit);
    add_interval(a, v, unit);
    /* A time of day has no zero to take percents of. */
    if (before != 0 && unit == of_values) add(a, "percent", v->estimate / before * 100, "%");
    a->entry.n = (double)days_known(f->a);
    add(a, "before", before, of_values);
    if (a->origin->window_b) a->entry.window = text_of(a->origin->window_b);
    a->entry.n = (double)days_known(f->b);
    add(a, "after", after, of_values);
}

/* The mean of all days of the week's places in `places`. */
static double mean_at(struct days d, uint32_t places, size_t *n)
{
    enum { WEEK = 7 };
    double sum = 0;
    *n = 0;
    for (size_t i = 0; i < d.n; i++) {
        if (!isfinite(d.x[i]) || (places >> i % WEEK & 1) == 0) continue;
        sum += d.x[i];
        (*n)++;
    }
    return *n > 0 ? sum / (double)*n : NAN;
}

static void add_weekdays(struct adding *a, const struct finding *f, const struct verdict *v,
                         const char *unit, const char *of_values)
{
    size_t n;
    add(a, "diff", v->estimate, unit);
    add_interval(a, v, unit);
    double weekend = mean_at(f->a, f->weekend, &n);
    a->entry.n = (double)n;
    add(a, "weekend", weekend, of_values);
    double weekday = mean_at(f->a, ~f->weekend, &n);
    a->entry.n = (double)n;
    add(a, "weekday", weekday, of_values);
}

static void add_anomaly(struct adding *a, const struct finding *f, const struct verdict *v,
                        const char *unit, const char *of_values)
{
    double value = f->index < f->a.n ? f->a.x[f->index] : NAN;
    add(a, "value", value, of_values);
    add(a, "typical", value - v->estimate, of_values);
    add(a, "diff", v->estimate, unit);
    add(a, "z", gate_detail(v, GATE_EFFECT_VS_NOISE, "robust_z"), "z");
}

static void add_pair(struct adding *a, const struct finding *f, const struct verdict *v)
{
    add(a, "r", v->estimate, "r");
    add_interval(a, v, "r");
    if (f->lag != 0) add(a, "lag", f->lag < 0 ? -f->lag : f->lag, "days");
}

enum weir_status sheet_add_finding(struct sheet *s, const struct sheet_origin *origin,
                                   const struct finding *f, const struct verdict *v)
{
    struct adding a = begin(s, origin);
    const char *of_values = f->metric ? f->metric->unit : "";
    /* Between two times of day there are minutes. */
    const char *unit = strcmp(of_values, "clock") == 0 ? "min" : of_values;
    a.entry.n = (double)finding_n(f);
    if (f->metric && f->kind != FINDING_PAIR) a.entry.metric = weir_slice_of(f->metric->name);
    switch (f->kind) {
    case FINDING_LEVEL:
        add(&a, "avg", v->estimate, of_values);
        add_interval(&a, v, of_values);
        break;
    case FINDING_TREND: add_trend(&a, v, unit); break;
    case FINDING_WINDOWS: add_windows(&a, f, v, unit, of_values); break;
    case FINDING_WEEKDAYS: add_weekdays(&a, f, v, unit, of_values); break;
    case FINDING_PAIR: add_pair(&a, f, v); break;
    case FINDING_ANOMALY: add_anomaly(&a, f, v, unit, of_values); break;
    }
    return a.status;
}

/* ---- answers of plans ---- */

static const char *stat_name(enum plan_stat stat)
{
    static const char *const names[] = {"avg",   "median", "sum",      "min",   "max",   "sd",
                                        "range", "cv",     "quantile", "count", "first", "last"};
    return names[stat];
}

static const char *number_name(const struct plan *p)
{
    static const char *const results[] = {"diff", "percent", "ratio"};
    switch (p->op) {
    case PLAN_AGGREGATE:
    case PLAN_GROUP:
    case PLAN_ROLLING: return stat_name(p->stat);
    case PLAN_COUNT: return p->as_share ? "share" : "count";
    case PLAN_EXTREME: return p->pick == PICK_MIN ? "min" : "max";
    case PLAN_COMPARE: return results[p->result];
    case PLAN_CHANGE: return p->result == RESULT_DIFFERENCE ? "change" : results[p->result];
    case PLAN_TREND: return "slope";
    case PLAN_CORRELATE: return "r";
    case PLAN_STREAK: return "streak";
    case PLAN_ANOMALY: return "count";
    case PLAN_DISTRIBUTION: return "median";
    case PLAN_LIST:
    case PLAN_FIND: return "value";
    }
    return "value";
}

/* Minutes after midnight are a time of day. */
static const char *known_unit(const char *unit)
{
    return unit && strcmp(unit, "minutes after midnight") == 0 ? "clock" : unit;
}

static bool has_stat(const struct plan *p)
{
    return p->op == PLAN_GROUP || p->op == PLAN_COMPARE || p->op == PLAN_ROLLING;
}

static const char *row_unit(const struct plan *p)
{
    static const char *const counted[] = {"days", "sessions", "results"};
    const char *unit = p->unit ? p->unit : plan_subject_unit(p);
    if (!has_stat(p)) return unit;
    if (p->stat == STAT_COUNT) return counted[p->subject];
    if (p->stat == STAT_CV) return "%";
    bool is_distance = p->stat == STAT_SD || p->stat == STAT_RANGE;
    return is_distance && strcmp(unit, "clock") == 0 ? "min" : unit;
}

static void add_row(struct adding *a, const struct plan *p, const struct plan_row *row)
{
    char date[DAY_TEXT_BYTES] = "", name[LEDGER_NAME_BYTES], z[LEDGER_NAME_BYTES + 2];
    struct weir_slice window = a->entry.window;
    if (row->day != DAY_NONE) {
        day_format(date, row->day);
        a->entry.window = weir_slice_of(date);
    }
    snprintf(name, sizeof name, "%s%s%s", row->key ? row->key : "", row->key && date[0] ? "." : "",
             date);
    snprintf(z, sizeof z, "%s.z", name);
    a->entry.n = row->n > 0 ? (double)row->n : NAN;
    add(a, name, row->value, row_unit(p));
    if (row->z != 0) add(a, z, row->z, "z");
    /* A day is worth telling even if it has no value, as the ends of a streak. */
    if (date[0] && !isfinite(row->value)) {
        a->entry.value = NAN;
        a->entry.unit = weir_slice_of("");
        a->entry.date = weir_slice_of(date);
        add_entry(a, name);
        a->entry.date = weir_slice_of("");
    }
    a->entry.window = window;
}

static void write_window(char *out, size_t room, int32_t from, int32_t to)
{
    char first[DAY_TEXT_BYTES], last[DAY_TEXT_BYTES];
    out[0] = '\0';
    if (from == DAY_NONE || to == DAY_NONE) return;
    day_format(first, from);
    day_format(last, to);
    snprintf(out, room, from == to ? "%s" : "%s .. %s", first, last);
}

static const char *subject_name(const struct plan *p)
{
    if (p->subject == PLAN_OF_METRIC && p->metric) return p->metric->name;
    return p->subject == PLAN_OF_LAB && p->analyte ? p->analyte->name : NULL;
}

static void add_date(struct adding *a, int32_t day)
{
    char date[DAY_TEXT_BYTES];
    if (day == DAY_NONE) return;
    day_format(date, day);
    a->entry.value = NAN;
    a->entry.unit = weir_slice_of("");
    a->entry.date = weir_slice_of(date);
    add_entry(a, "date");
    a->entry.date = weir_slice_of("");
}

enum weir_status sheet_add_answer(struct sheet *s, const struct sheet_origin *origin,
                                  const struct plan *plan, const struct plan_answer *answer)
{
    char window[3 * DAY_TEXT_BYTES], window_b[3 * DAY_TEXT_BYTES];
    struct adding a = begin(s, origin);
    if (answer->kind == VALUE_NONE) return WEIR_OK;
    write_window(window, sizeof window, answer->from, answer->to);
    write_window(window_b, sizeof window_b, answer->from_b, answer->to_b);
    if (!origin->window) a.entry.window = weir_slice_of(window);
    a.entry.metric = text_of(subject_name(plan));
    a.entry.n = (double)answer->n;
    if (answer->kind == VALUE_NUMBER)
        add(&a, number_name(plan), answer->number, known_unit(answer->unit));
    add_date(&a, answer->date);
    for (size_t i = 0; i < answer->n_rows && i < SHEET_ROWS; i++) {
        bool is_b = plan->op == PLAN_COMPARE && i == 1 && window_b[0];
        if (is_b) a.entry.window = weir_slice_of(window_b);
        add_row(&a, plan, &answer->rows[i]);
    }
    return a.status;
}

/* ---- facts ---- */

enum weir_status sheet_add_range(struct sheet *s, const struct sheet_range *range)
{
    struct sheet_origin origin = {
        .id = range->id, .source = SHEET_EXPERT, .verdict = VERDICT_VALIDATED};
    struct adding a = begin(s, &origin);
    a.entry.metric = text_of(range->metric);
    add(&a, "lower", range->lower, range->unit);
    add(&a, "upper", range->upper, range->unit);
    return a.status;
}
