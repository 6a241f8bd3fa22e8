/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the builtin critic. Each looks at the case on its own and raises at most one
 * concern; what they come to together is decided once, at the end.
 */
#include "check/critic.h"

#include <weir/json.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/slice.h"
#include "check/critic_impl.h"
#include "check/gates_impl.h"

const char *critic_name(enum critic_name c)
{
    static const char *const names[] = {"accept", "downgrade", "reject"};
    return names[c];
}

const char *concern_kind_name(enum concern_kind k)
{
    static const char *const names[] = {
        "confounder", "reverse_causation", "selection_bias", "literature_contradiction",
        "tautology",  "small_n",           "noise",          "multiple_testing",
        "measurement"};
    return names[k];
}

const char *severity_name(enum severity s)
{
    static const char *const names[] = {"low", "medium", "high"};
    return names[s];
}

/* ---- what is known ---- */

enum coming { WORN, CHOSEN, SCORED };

struct drivers {
    const char *who, *what;
    enum coming coming;
};

struct prior {
    const char *a, *b;
    int sign;
};

static const struct drivers drivers_table[] = {
#define DRIVERS(who, what, coming) {who, what, coming},
#define PRIOR(a, b, sign)
#include "check/critic.def"
#undef DRIVERS
#undef PRIOR
};

static const struct prior prior_table[] = {
#define DRIVERS(who, what, coming)
#define PRIOR(a, b, sign) {a, b, sign},
#include "check/critic.def"
#undef DRIVERS
#undef PRIOR
};

enum {
    N_DRIVERS = sizeof drivers_table / sizeof *drivers_table,
    N_PRIORS = sizeof prior_table / sizeof *prior_table,
    FEW_WEEKS = 6,
    FEW_DAYS = 14,
    FEW_TREND_DAYS = 35,
    FEW_PAIRS = 30,
    YEAR_DAYS = 365,
    LONG_DAYS = 60,
};

static const double few_effective_pairs = 15; /* of which 12 are needed */
static const double scarce = 0.5, patchy = 0.8, uneven = 0.25;

static bool is_driven_by(const struct drivers *row, const struct metric *m)
{
    static const struct weir_slice group = SLICE("group:");
    size_t at = 0;
    for (struct weir_slice s = alias_next(row->who, &at); s.len > 0;
         s = alias_next(row->who, &at)) {
        bool is_group = s.len > group.len && memcmp(s.ptr, group.ptr, group.len) == 0;
        if (weir_slice_is(is_group ? slice_from(s, group.len) : s, is_group ? m->group : m->name))
            return true;
    }
    return false;
}

static const struct drivers *drivers_of(const struct metric *m)
{
    for (size_t i = 0; m && i < N_DRIVERS; i++)
        if (is_driven_by(&drivers_table[i], m)) return &drivers_table[i];
    return NULL;
}

/* ---- a review ---- */

struct review {
    const struct critic_case *c;
    const struct finding *f;
    struct critique *out;
    struct arena *arena;
    enum weir_status status;
    size_t n;          /* days with a value, or pairs */
    double share;      /* of all days */
    const char *x, *y; /* titles */
};

static const char *keep(struct review *r, const char *text)
{
    const char *kept = text_keep(r->arena, text);
    if (!kept) r->status = r->arena->status;
    return kept ? kept : "";
}

__attribute__((format(printf, 4, 5))) static void raise_concern(struct review *r,
                                                                enum concern_kind kind,
                                                                enum severity severity,
                                                                const char *format, ...)
{
    char note[CRITIC_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(note, sizeof note, format, args);
    va_end(args);
    if (note[0] >= 'a' && note[0] <= 'z') note[0] = (char)(note[0] - 'a' + 'A');
    CHECK(r->out->n < CRITIC_CONCERNS);
    /* The gravest first; of equal ones the one that was raised first. */
    size_t i = r->out->n++;
    for (; i > 0 && r->out->concerns[i - 1].severity < severity; i--)
        r->out->concerns[i] = r->out->concerns[i - 1];
    r->out->concerns[i] = (struct concern){kind, severity, keep(r, note)};
}

static bool is_effect(const struct review *r)
{
    return r->f->kind != FINDING_LEVEL && r->f->kind != FINDING_ANOMALY;
}

/* ---- confounders ---- */

/* Whether a driver is what the finding is about anyway. */
static bool is_looked_at(const struct finding *f, struct weir_slice driver)
{
    const struct metric *m = metric_find(driver);
    return m && (m == f->metric || m == f->metric_y);
}

/* "alcohol, illness and heat". False when nothing is left. */
static bool list_drivers(const struct finding *f, const char *what, char *out, size_t room)
{
    struct weir_slice kept[16];
    size_t n = 0, at = 0, len = 0;
    for (struct weir_slice s = alias_next(what, &at); s.len > 0 && n < 16;
         s = alias_next(what, &at))
        if (!is_looked_at(f, s)) kept[n++] = s;
    out[0] = '\0';
    for (size_t i = 0; i < n && len < room; i++)
        len += (size_t)snprintf(out + len, room - len, "%s%.*s",
                                i == 0       ? ""
                                : i + 1 == n ? " and "
                                             : ", ",
                                (int)kept[i].len, kept[i].ptr);
    return n > 0;
}

/* Drivers that both metrics of a pair have, as a list like theirs. */
static void common_drivers(const struct drivers *a, const struct drivers *b, char *out, size_t room)
{
    size_t at = 0, len = 0;
    out[0] = '\0';
    for (struct weir_slice s = alias_next(a->what, &at); s.len > 0; s = alias_next(a->what, &at)) {
        size_t in_b = 0;
        for (struct weir_slice t = alias_next(b->what, &in_b); t.len > 0;
             t = alias_next(b->what, &in_b))
            if (slice_eq(s, t) && len < room)
                len += (size_t)snprintf(out + len, room - len, "%s%.*s", len > 0 ? "|" : "",
                                        (int)s.len, s.ptr);
    }
}

static void review_pair_drivers(struct review *r)
{
    const struct drivers *a = drivers_of(r->f->metric), *b = drivers_of(r->f->metric_y);
    char common[CRITIC_TEXT_BYTES / 2], list[CRITIC_TEXT_BYTES / 2];
    enum severity severity = r->c->is_causal ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    if (!a || !b) return;
    common_drivers(a, b, common, sizeof common);
    if (list_drivers(r->f, common, list, sizeof list))
        raise_concern(r, CONCERN_CONFOUNDER, severity,
                      "other things move both %s and %s, and were not looked at: %s.", r->x, r->y,
                      list);
    else if (list_drivers(r->f, b->what, list, sizeof list))
        raise_concern(r, CONCERN_CONFOUNDER, SEVERITY_LOW,
                      "other things move %s, too, and were not looked at: %s.", r->y, list);
}

static void review_drivers(struct review *r)
{
    const struct drivers *d = drivers_of(r->f->metric);
    char list[CRITIC_TEXT_BYTES / 2];
    if (!is_effect(r) || !d) return;
    if (r->f->kind == FINDING_PAIR) {
        review_pair_drivers(r);
        return;
    }
    if (!list_drivers(r->f, d->what, list, sizeof list)) return;
    /* Weeks are compared with themselves, so only what keeps to the week is left. */
    bool is_weekly = r->f->kind == FINDING_WEEKDAYS;
    raise_concern(r, CONCERN_CONFOUNDER, is_weekly ? SEVERITY_LOW : SEVERITY_MEDIUM,
                  "other things move %s, too, and were not looked at: %s.", r->x, list);
}

/* A change over part of a year may be the season's. */
static void review_season(struct review *r)
{
    bool is_change = r->f->kind == FINDING_TREND || r->f->kind == FINDING_WINDOWS;
    size_t days = r->f->a.n + (r->f->kind == FINDING_WINDOWS ? r->f->b.n : 0);
    if (is_change && days >= LONG_DAYS && days < YEAR_DAYS)
        raise_concern(r, CONCERN_CONFOUNDER, SEVERITY_LOW,
                      "These days are part of one year, so the season may be what changed %s.",
                      r->x);
}

/* ---- which way ---- */

static void review_direction(struct review *r)
{
    if (r->f->kind != FINDING_PAIR) return;
    enum severity severity = r->c->is_causal ? SEVERITY_HIGH : SEVERITY_LOW;
    if (r->f->lag == 0)
        raise_concern(r, CONCERN_REVERSE_CAUSATION, severity,
                      "On the same day, %s may just as well move %s as the other way round.", r->y,
                      r->x);
    else if (r->f->lag < 0)
        raise_concern(r, CONCERN_REVERSE_CAUSATION,
                      r->c->is_causal ? SEVERITY_HIGH : SEVERITY_MEDIUM,
                      "the order in time is the other way round: first %s, then %s.", r->y, r->x);
}

static void review_tautology(struct review *r)
{
    const struct finding *f = r->f;
    if (f->kind != FINDING_PAIR || !f->metric || !f->metric_y) return;
    if (!are_related(f->metric, f->metric_y)) return;
    /* Some days apart it is no longer the same thing, but each day resembles the next. */
    raise_concern(r, CONCERN_TAUTOLOGY, f->lag == 0 ? SEVERITY_HIGH : SEVERITY_MEDIUM,
                  "%s and %s are parts of one thing or computed from each other, so that they go "
                  "together says nothing.",
                  r->x, r->y);
}

static void review_literature(struct review *r)
{
    const struct finding *f = r->f;
    if (f->kind != FINDING_PAIR || !f->metric || !f->metric_y) return;
    for (size_t i = 0; i < N_PRIORS; i++) {
        const struct prior *p = &prior_table[i];
        bool is_it = (strcmp(p->a, f->metric->name) == 0 && strcmp(p->b, f->metric_y->name) == 0) ||
                     (strcmp(p->b, f->metric->name) == 0 && strcmp(p->a, f->metric_y->name) == 0);
        /* What is known is of the same day or the next. */
        bool is_near = f->lag >= -1 && f->lag <= 1;
        if (is_it && is_near && r->c->verdict->estimate * p->sign < 0)
            raise_concern(r, CONCERN_LITERATURE_CONTRADICTION, SEVERITY_HIGH,
                          "Studies of many people find that %s and %s go %s; here it is the "
                          "contrary.",
                          r->x, r->y, p->sign > 0 ? "the same way" : "opposite ways");
    }
}

/* ---- the days ---- */

static void review_selection(struct review *r)
{
    const struct drivers *d = drivers_of(r->f->metric);
    if (r->n == 0) return;
    if (r->share < scarce)
        raise_concern(r, CONCERN_SELECTION_BIAS, SEVERITY_HIGH,
                      "Fewer than half of the days have a value; those that have one may differ "
                      "from the rest.");
    else if (r->share < patchy)
        raise_concern(r, CONCERN_SELECTION_BIAS, SEVERITY_MEDIUM,
                      "Many days have no value; those that have one may differ from the rest.");
    else if (d && d->coming == CHOSEN && is_effect(r))
        raise_concern(r, CONCERN_SELECTION_BIAS, SEVERITY_LOW,
                      "values of %s are there for the days on which somebody thought of it.", r->x);
}

size_t days_known(struct days d)
{
    size_t n = 0;
    for (size_t i = 0; i < d.n; i++) n += isfinite(d.x[i]) ? 1 : 0;
    return n;
}

static double share_of(struct days d)
{
    return d.n > 0 ? (double)days_known(d) / (double)d.n : 0;
}

static void review_uneven(struct review *r)
{
    if (r->f->kind != FINDING_WINDOWS) return;
    if (fabs(share_of(r->f->a) - share_of(r->f->b)) > uneven)
        raise_concern(r, CONCERN_SELECTION_BIAS, SEVERITY_MEDIUM,
                      "The two windows do not have values on the same share of their days.");
}

double gate_detail(const struct verdict *v, enum gate_name gate, const char *name)
{
    const struct gate *g = &v->gates[gate];
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->detail[i].name, name) == 0) return g->detail[i].value;
    return NAN;
}

static double sample_number(const struct review *r, const char *name)
{
    return gate_detail(r->c->verdict, GATE_SAMPLE_SIZE, name);
}

static bool is_small(const struct review *r)
{
    const struct finding *f = r->f;
    switch (f->kind) {
    case FINDING_LEVEL:
    case FINDING_ANOMALY: return r->n < FEW_DAYS;
    case FINDING_TREND: return r->n < FEW_TREND_DAYS;
    case FINDING_WINDOWS: return days_known(f->a) < FEW_DAYS || days_known(f->b) < FEW_DAYS;
    case FINDING_WEEKDAYS: return sample_number(r, "whole_weeks") < FEW_WEEKS;
    case FINDING_PAIR: return r->n < FEW_PAIRS || sample_number(r, "n_eff") < few_effective_pairs;
    }
    return false;
}

static void review_size(struct review *r)
{
    if (!is_small(r)) return;
    bool is_pair = r->f->kind == FINDING_PAIR;
    raise_concern(r, CONCERN_SMALL_N, is_effect(r) ? SEVERITY_HIGH : SEVERITY_LOW,
                  "It rests on %zu %s only, so a few of them could change it.", r->n,
                  is_pair ? "pairs of days" : "days");
}

static void review_noise(struct review *r)
{
    const struct metric *m = r->f->metric;
    bool is_mean = r->f->kind == FINDING_TREND || r->f->kind == FINDING_WINDOWS ||
                   r->f->kind == FINDING_WEEKDAYS;
    if (is_mean && m && fabs(r->c->verdict->estimate) < m->device_noise)
        raise_concern(r, CONCERN_NOISE, SEVERITY_LOW,
                      "It is smaller than what a device is usually wrong by on a single day.");
}

static void review_search(struct review *r)
{
    if (r->c->n_tests < 2) return;
    bool is_many = r->c->n_tests >= CRITIC_MANY_TESTS;
    if (r->c->is_confirmed)
        raise_concern(r, CONCERN_MULTIPLE_TESTING, SEVERITY_LOW,
                      "It is one of %zu things that were tried, and was then confirmed on other "
                      "days.",
                      r->c->n_tests);
    else
        raise_concern(r, CONCERN_MULTIPLE_TESTING, is_many ? SEVERITY_HIGH : SEVERITY_MEDIUM,
                      "It is the best of %zu things that were tried on the same days.",
                      r->c->n_tests);
}

static void review_measurement(struct review *r)
{
    const struct drivers *d = drivers_of(r->f->metric);
    bool is_split = r->f->kind == FINDING_WINDOWS && !r->f->is_one_device;
    bool is_changed = r->f->device_change > 0 || r->f->device_change_b > 0;
    if (is_changed || is_split)
        raise_concern(r, CONCERN_MEASUREMENT, SEVERITY_HIGH,
                      "The device changed on the way, and devices do not agree on %s.", r->x);
    else if (r->f->kind == FINDING_ANOMALY)
        raise_concern(r, CONCERN_MEASUREMENT, SEVERITY_LOW,
                      "One day's %s may be an error of the sensor or of entry.", r->x);
    else if (d && d->coming == SCORED && is_effect(r))
        raise_concern(r, CONCERN_MEASUREMENT, SEVERITY_LOW,
                      "a maker's rule computes %s, and may change.", r->x);
}

/* ---- together ---- */

size_t finding_n(const struct finding *f)
{
    if (f->kind == FINDING_WINDOWS) return days_known(f->a) + days_known(f->b);
    if (f->kind != FINDING_PAIR) return days_known(f->a);
    size_t n = 0;
    for (size_t i = 0; i < f->a.n; i++) {
        long j = (long)i + f->lag;
        if (j >= 0 && (size_t)j < f->b.n && isfinite(f->a.x[i]) && isfinite(f->b.x[j])) n++;
    }
    return n;
}

static void count_days(struct review *r)
{
    const struct finding *f = r->f;
    size_t all = f->a.n + (f->kind == FINDING_WINDOWS ? f->b.n : 0);
    r->n = finding_n(f);
    r->share = all > 0 ? (double)r->n / (double)all : 0;
}

static const char *reasoning_of(struct review *r)
{
    static const char *const effects[] = {
        [FINDING_TREND] = "A change over time; what caused it is not claimed",
        [FINDING_WINDOWS] = "A difference between two stretches of days; no cause is claimed",
        [FINDING_WEEKDAYS] = "A difference between kinds of days; no cause is claimed",
        [FINDING_PAIR] = "Two metrics that go together; no cause is claimed",
    };
    const struct concern *worst = r->out->n > 0 ? &r->out->concerns[0] : NULL;
    char text[CRITIC_TEXT_BYTES];
    if (r->out->name != CRITIC_ACCEPT) return worst->note;
    if (r->f->kind == FINDING_LEVEL)
        snprintf(text, sizeof text, "A descriptive summary of %zu daily values, no causal claim.",
                 r->n);
    else if (r->f->kind == FINDING_ANOMALY)
        snprintf(text, sizeof text, "One day against %zu others, no claim about why.",
                 r->n > 0 ? r->n - 1 : 0);
    else
        snprintf(text, sizeof text, "%s, over %zu %s.", effects[r->f->kind], r->n,
                 r->f->kind == FINDING_PAIR ? "pairs of days" : "days");
    return keep(r, text);
}

static enum critic_name decide(const struct critique *q)
{
    enum critic_name name = CRITIC_ACCEPT;
    for (size_t i = 0; i < q->n; i++) {
        if (q->concerns[i].severity != SEVERITY_HIGH) continue;
        if (q->concerns[i].kind == CONCERN_TAUTOLOGY) return CRITIC_REJECT;
        name = CRITIC_DOWNGRADE;
    }
    return name;
}

enum weir_status critic_review(struct critique *out, const struct critic_case *c,
                               struct arena *arena)
{
    static void (*const rules[])(struct review *) = {
        review_tautology, review_measurement, review_literature, review_search,
        review_size,      review_selection,   review_uneven,     review_direction,
        review_drivers,   review_season,      review_noise,
    };
    struct review r = {.c = c, .f = c->finding, .out = out, .arena = arena, .status = WEIR_OK};
    *out = (struct critique){0};
    count_days(&r);
    r.x = r.f->metric ? r.f->metric->title : "the metric";
    r.y = r.f->metric_y ? r.f->metric_y->title : "the other metric";
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) rules[i](&r);
    out->name = decide(out);
    out->reasoning = reasoning_of(&r);
    return r.status;
}

void critic_put(struct weir_buf *out, const struct critique *q)
{
    weir_json_put_key(out, "verdict");
    weir_json_put_str(out, critic_name(q->name));
    weir_json_put_key(out, "reasoning");
    weir_json_put_str(out, q->reasoning);
    weir_json_put_key(out, "concerns");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < q->n; i++) {
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "kind");
        weir_json_put_str(out, concern_kind_name(q->concerns[i].kind));
        weir_json_put_key(out, "severity");
        weir_json_put_str(out, severity_name(q->concerns[i].severity));
        weir_json_put_key(out, "note");
        weir_json_put_str(out, q->concerns[i].note);
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
}
