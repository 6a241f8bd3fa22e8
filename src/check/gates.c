/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the gates of a finding and draws the verdict: a hard gate that failed rejects, so does
 * effect_vs_noise; any other that failed makes it conditional. Nothing behind a failed hard gate
 * is computed, for it would have no meaning.
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

struct stat_ar1 work_noise(struct work *w, struct known k, size_t n_columns,
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
    struct stat_ar1 noise = stat_ar1_fit(&rows, most_lag1);
    if (isnan(noise.lag1)) noise.lag1 = 0;
    return noise;
}

static double one(const struct work *w, size_t i, double day)
{
    (void)w, (void)i, (void)day;
    return 1;
}

struct stat_ar1 noise_about_mean(struct work *w, struct known k)
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

static const double most_implausible = 0.1;

void construct_of_metric(struct gate *g, const struct metric *m, struct days days)
{
    size_t n_outside = 0;
    for (size_t i = 0; m && i < days.n; i++)
        n_outside += days.x[i] < m->min || days.x[i] > m->max ? 1 : 0;
    gate_number(g, "implausible_days", (double)n_outside);
    gate_is(g, m && (double)n_outside <= most_implausible * (double)days.n,
            "the metric and its unit are known, and its values are plausible",
            m ? "many values are outside of what is plausible" : "the metric is not known");
}

void construct_of_one_device(struct work *w, struct gate *g)
{
    construct_of_metric(g, w->finding->metric, w->finding->a);
    gate_number(g, "device_change_at", (double)w->finding->device_change);
    if (g->status == GATE_PASSED && w->finding->device_change > 0)
        gate_is(g, false, "", "the device changed on the way");
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
