/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the gates of a finding and draws the verdict: a hard gate that failed rejects, so does
 * effect_vs_noise; any other that failed makes it conditional. Nothing behind a failed hard gate
 * is computed, for it would have no meaning. What no device can have measured, and days on which
 * nobody wore it, are left out before.
 */
#include "check/gates.h"

#include <math.h>
#include <string.h>

#include "base/check.h"
#include "check/gates_impl.h"

static const struct kind_rules *const rules_of[] = {
    [FINDING_LEVEL] = &level_rules,     [FINDING_TREND] = &trend_rules,
    [FINDING_WINDOWS] = &windows_rules, [FINDING_WEEKDAYS] = &weekdays_rules,
    [FINDING_PAIR] = &pair_rules,       [FINDING_ANOMALY] = &anomaly_rules,
};

const char *gate_name(enum gate_name g)
{
    static const char *const names[] = {
        "sample_size",          "construct_validity",   "effect_vs_noise",     "bootstrap",
        "subgroup_consistency", "method_triangulation", "discriminative_power"};
    return names[g];
}

const char *gate_status_name(enum gate_status s)
{
    static const char *const names[] = {"passed", "failed", "skipped"};
    return names[s];
}

const char *verdict_name(enum verdict_name v)
{
    static const char *const names[] = {"validated", "conditional", "rejected"};
    return names[v];
}

/* ---- what the kinds share ---- */

void *work_room(struct work *w, size_t n, size_t size)
{
    size_t bytes = (n * size + 15) & ~(size_t)15;
    CHECK(bytes <= (size_t)(w->end - w->tip));
    char *p = w->tip;
    w->tip += bytes;
    return p;
}

double *work_row(struct work *w, size_t n)
{
    return work_room(w, n, sizeof(double));
}

struct known work_known(struct work *w, struct days days)
{
    struct known k = {work_row(w, days.n), work_row(w, days.n), 0};
    for (size_t i = 0; i < days.n; i++) {
        if (!isfinite(days.x[i])) continue;
        k.day[k.n] = (double)i;
        k.value[k.n++] = days.x[i];
    }
    return k;
}

void gate_is(struct gate *g, bool is_passed, const char *passed, const char *failed)
{
    g->status = is_passed ? GATE_PASSED : GATE_FAILED;
    g->why = is_passed ? passed : failed;
}

void gate_skip(struct gate *g, const char *why)
{
    g->status = GATE_SKIPPED;
    g->why = why;
}

void gate_number(struct gate *g, const char *name, double value)
{
    CHECK(g->n < GATE_NUMBERS);
    g->detail[g->n].name = name;
    g->detail[g->n++].value = value;
}

void work_estimate(struct work *w, double estimate, double reach)
{
    w->verdict->estimate = estimate;
    w->verdict->lo = estimate - reach;
    w->verdict->hi = estimate + reach;
}

static const double most_lag1 = 0.95;

double lag_unsure(double lag1, size_t n)
{
    return 1 + 2 / ((double)n * (1 - lag1));
}

/* The lag whose (1 + lag) / (1 - lag) is right on average. */
static double fair_lag(double lag1, size_t n)
{
    double cost = (1 + lag1) / (1 - lag1) / lag_unsure(lag1, n);
    return cost > 1 ? (cost - 1) / (cost + 1) : 0;
}

struct noise work_noise(struct work *w, struct known k, size_t n_columns,
                        double (*column)(const struct work *w, size_t i, double day))
{
    double *y = work_row(w, k.n);
    for (size_t i = 0; i < k.n; i++) y[i] = k.value[i] - k.value[0];
    struct stat_ar1_rows rows = {.day = k.day, .y = y, .n = k.n, .n_columns = n_columns};
    for (size_t c = 0; c < n_columns; c++) {
        double *x = work_row(w, k.n);
        for (size_t i = 0; i < k.n; i++) x[i] = column(w, c, k.day[i]);
        rows.columns[c] = x;
    }
    struct noise noise = {.strict = stat_ar1_fit(&rows, most_lag1)};
    if (isnan(noise.strict.lag1)) noise.strict.lag1 = 0;
    noise.fair = noise.strict;
    if (noise.strict.lag1 > 0) noise.fair = stat_ar1_at(&rows, fair_lag(noise.strict.lag1, k.n));
    return noise;
}

static double one(const struct work *w, size_t i, double day)
{
    (void)w, (void)i, (void)day;
    return 1;
}

struct noise noise_about_mean(struct work *w, struct known k)
{
    return work_noise(w, k, 1, one);
}

double variance_of_mean(struct known k, const struct stat_ar1 *noise)
{
    /* What a day has in common with all days before it: that of the day before, and itself. */
    double common = 0, sum = 0, n = (double)k.n;
    for (size_t i = 1; i < k.n; i++) {
        common = (common + 1) * pow(noise->lag1, k.day[i] - k.day[i - 1]);
        sum += common;
    }
    return noise->variance * (n + 2 * sum) / (n * n);
}

double worthwhile(const struct metric *m, double sd)
{
    double half = 0.5 * sd;
    return m && m->worthwhile > 0 ? fmin(m->worthwhile, half) : fmin(0.2 * sd, half);
}

size_t block_length(size_t n, double lag1)
{
    double length = pow(2 * lag1 / (1 - lag1 * lag1), 2.0 / 3) * cbrt((double)n);
    double most = fmax(1, (double)n / 4);
    return (size_t)fmax(1, fmin(ceil(length), most));
}

bool same_sign(double a, double b)
{
    return (a > 0 && b > 0) || (a < 0 && b < 0);
}

/* ---- what is left out ---- */

enum { DAY_MINUTES = 1440 };
static const double most_implausible = 0.2, most_not_worn = 0.2, hardly_any = 0.1;

/* Zero steps may be a day in a drawer: where zeros are rare and hardly a day lies between them and
 * the usual, they are. Of other activities zeros are common, or the days come down to them. */
static bool is_zero_not_worn(const struct metric *m, struct days days)
{
    if (!m || m->daily != DAILY_SUM || strcmp(m->group, "activity") != 0) return false;
    size_t n = 0, n_zero = 0, n_low = 0;
    double sum = 0;
    for (size_t i = 0; i < days.n; i++) {
        if (!isfinite(days.x[i])) continue;
        n++;
        n_zero += days.x[i] == 0 ? 1 : 0;
        sum += days.x[i];
    }
    double usual = sum / (double)(n - n_zero);
    for (size_t i = 0; i < days.n; i++)
        n_low += days.x[i] > 0 && days.x[i] < hardly_any * usual ? 1 : 0;
    return n_zero > 0 && (double)n_zero <= most_not_worn * (double)n && 2 * n_low < n_zero;
}

bool value_is_implausible(const struct metric *m, double value)
{
    double past = m && m->daily == DAILY_CIRCULAR ? DAY_MINUTES : 0;
    return m && (value < m->min - past || value > m->max + past);
}

static bool are_plausible(const struct left_out *out)
{
    return (double)out->n_implausible <= most_implausible * (double)out->n;
}

static struct left_out count_odd(const struct metric *m, struct days days)
{
    struct left_out out = {.is_zero_not_worn = is_zero_not_worn(m, days)};
    for (size_t i = 0; i < days.n; i++) {
        out.n += isnan(days.x[i]) ? 0 : 1;
        out.n_implausible += value_is_implausible(m, days.x[i]) ? 1 : 0;
        out.n_not_worn += out.is_zero_not_worn && days.x[i] == 0 ? 1 : 0;
    }
    return out;
}

/* A copy of the row without them; `kept` stays in any case. Where many are implausible all stay,
 * for then construct_validity has to say so, and not sample_size. */
static struct days leave_out(struct work *w, const struct metric *m, struct days days, size_t kept,
                             struct left_out *out)
{
    double *x = work_row(w, days.n);
    *out = count_odd(m, days);
    for (size_t i = 0; i < days.n; i++) {
        bool is_odd = are_plausible(out) && (value_is_implausible(m, days.x[i]) ||
                                             (out->is_zero_not_worn && days.x[i] == 0));
        x[i] = is_odd && i != kept ? NAN : days.x[i];
    }
    return (struct days){x, days.n};
}

/* The finding as the gates see it. */
static struct finding without_odd_days(struct work *w, const struct finding *f)
{
    struct finding out = *f;
    bool is_pair = f->kind == FINDING_PAIR;
    size_t kept = f->kind == FINDING_ANOMALY ? f->index : SIZE_MAX;
    out.a = leave_out(w, f->metric, f->a, kept, &w->left_out[ROW_A]);
    out.b = leave_out(w, is_pair ? f->metric_y : f->metric, f->b, kept, &w->left_out[ROW_B]);
    return out;
}

void construct_of_row(const struct work *w, struct gate *g, enum work_row_name which)
{
    const struct finding *f = w->finding;
    const struct left_out *out = &w->left_out[which];
    bool is_other = f->kind == FINDING_PAIR && which == ROW_B;
    const struct metric *m = is_other ? f->metric_y : f->metric;
    size_t change = which == ROW_B ? f->device_change_b : f->device_change;
    if (change >= (which == ROW_B ? f->b.n : f->a.n)) change = 0;
    gate_number(g, which == ROW_B ? "implausible_days_b" : "implausible_days",
                (double)out->n_implausible);
    gate_number(g, which == ROW_B ? "not_worn_days_b" : "not_worn_days", (double)out->n_not_worn);
    gate_number(g, which == ROW_B ? "device_change_b_at" : "device_change_at", (double)change);
    gate_is(g, m && are_plausible(out) && change == 0,
            "the metric and its unit are known, its values plausible, and no device changed",
            !m                    ? "the metric is not known"
            : !are_plausible(out) ? "many values are outside of what is plausible"
                                  : "the device changed on the way");
}

void construct_of_one_row(struct work *w, struct gate *g)
{
    construct_of_row(w, g, ROW_A);
}

/* ---- verdict ---- */

static bool is_hard(size_t gate)
{
    return gate <= GATE_CONSTRUCT_VALIDITY;
}

static void run_gate(struct work *w, const struct kind_rules *rules, size_t i)
{
    struct gate *g = &w->verdict->gates[i];
    if (rules->gates[i]) rules->gates[i](w, g);
    else gate_skip(g, "says nothing about this kind of finding");
}

static enum verdict_name verdict_of(const struct gate gates[N_GATES])
{
    enum verdict_name name = VERDICT_VALIDATED;
    for (size_t i = 0; i < N_GATES; i++) {
        if (gates[i].status != GATE_FAILED) continue;
        if (i <= GATE_EFFECT_VS_NOISE) return VERDICT_REJECTED;
        name = VERDICT_CONDITIONAL;
    }
    return name;
}

static const char *assessment_of(const struct verdict *v)
{
    if (v->name == VERDICT_VALIDATED) return "consistent: every check that applies was passed";
    if (v->name == VERDICT_CONDITIONAL)
        return "uncertain: larger than noise, but not every check was passed";
    for (size_t i = 0; i <= GATE_CONSTRUCT_VALIDITY; i++)
        if (v->gates[i].status == GATE_FAILED)
            return i == GATE_SAMPLE_SIZE ? "not supported: there are too few days to tell"
                                         : "not supported: the values cannot be compared";
    return "not supported: it is not larger than the usual noise";
}

/* Rows of all days, resamples and what Theil and Sen need, several times over. */
static WEIR_MUST_CHECK enum weir_status take_memory(struct work *w)
{
    size_t n = w->finding->a.n + w->finding->b.n + 64;
    size_t bytes =
        sizeof(double) * (WORK_ROWS * n + 4 * GATE_RESAMPLES + 2 * stat_theil_sen_scratch(n));
    w->tip = arena_alloc(w->arena, bytes);
    if (!w->tip) return w->arena->status;
    w->end = w->tip + bytes;
    return WEIR_OK;
}

enum weir_status gates_run(struct verdict *out, const struct finding *finding, uint64_t seed,
                           struct arena *arena)
{
    const struct kind_rules *rules = rules_of[finding->kind];
    *out = (struct verdict){.estimate = NAN, .lo = NAN, .hi = NAN};
    struct work w = {.finding = finding,
                     .arena = arena,
                     .random = stat_random_of(seed, (uint64_t)finding->kind),
                     .verdict = out};
    enum weir_status st = take_memory(&w);
    if (st != WEIR_OK) return st;
    struct finding seen = without_odd_days(&w, finding);
    w.finding = &seen;
    rules->prepare(&w);
    bool is_barred = false;
    for (size_t i = 0; i < N_GATES; i++) {
        if (is_barred) gate_skip(&out->gates[i], "not looked at, for a hard gate failed");
        else run_gate(&w, rules, i);
        is_barred = is_barred || (is_hard(i) && out->gates[i].status == GATE_FAILED);
    }
    out->name = verdict_of(out->gates);
    out->assessment = assessment_of(out);
    return WEIR_OK;
}
