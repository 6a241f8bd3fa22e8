/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar. A question is a sequence of phrases: windows, thresholds, conditions, statistics,
 * things that are measured, and words of asking. Each production (parse_impl.h) reads one kind of
 * phrase at a token, fills the frame and says where it ended; they are tried in the order of the
 * table below. English puts the phrases in nearly any order, so the order is free, but for
 * conditions ("on days when …"), which open a scope that the next phrase of another kind closes.
 *
 * What no production takes and is not a word that changes nothing makes the question refused.
 */
#include "ask/parse_impl.h"

typedef size_t (*production_fn)(struct parse *p, size_t i);

/* ---- what productions share ---- */

size_t took(struct parse *p, size_t i, size_t end)
{
    tokens_use(p, i, end);
    return end;
}

size_t skip_small(const struct parse *p, size_t i)
{
    while (IS_ANY(p, i, S_THE, S_A) || text_in(p, i, "of|my|of my|of the")) i++;
    return i;
}

bool is_day_like(const struct parse *p, size_t i)
{
    const struct sense *s = sense_at(p, i, S_PERIOD);
    return s && s->arg <= PERIOD_MORNING;
}

bool is_subject(const struct parse *p, size_t i)
{
    return IS_ANY(p, i, S_METRIC, S_ACTIVITY, S_ANALYTE, S_WORKOUT);
}

bool is_sport_at(const struct parse *p, size_t i)
{
    return IS_ANY(p, i, S_ACTIVITY, S_WORKOUT);
}

/* "(the day after) a run", "I slept", "less than 7 hours". */
bool begins_condition(const struct parse *p, size_t i)
{
    size_t at = i;
    while (IS_ANY(p, at, S_THE, S_A, S_SELF, S_DO, S_WITH)) at++;
    if (at > i && is_at(p, at, S_METRIC)) return true;
    if (is_sport_at(p, at) || (at > i && is_sport_at(p, at - 1))) return true;
    return is_at(p, at, S_CMP) && IS_ANY(p, at + 1, S_NUMBER, S_A);
}

void close_scope(struct parse *p)
{
    p->scope = 0;
}

size_t open_scope(struct parse *p, size_t i, size_t end)
{
    struct frame *f = &p->f;
    if (f->n_scopes == MAX_SCOPES) {
        ask_refuse(p, "There are more conditions than can be read at once.");
        return end;
    }
    f->scopes[f->n_scopes] = (struct scope){.at = i};
    p->scope = (uint8_t)f->n_scopes++;
    return end;
}

/* "other days": it holds nothing and is closed at once. */
size_t open_other_scope(struct parse *p, size_t i, size_t end)
{
    open_scope(p, i, end);
    if (!p->is_failed) current_scope(p)->is_other = true;
    close_scope(p);
    return took(p, i, end);
}

/* "the day after …": what follows held so many days later (before: earlier). */
size_t open_shifted_scope(struct parse *p, size_t i, size_t end, int shift)
{
    open_scope(p, i, end);
    if (!p->is_failed) {
        current_scope(p)->shift = shift;
        current_scope(p)->has_shift = true;
    }
    return took(p, i, end);
}

struct scope *current_scope(struct parse *p)
{
    return &p->f.scopes[p->scope];
}

void add_stat(struct parse *p, enum plan_stat stat)
{
    struct frame *f = &p->f;
    for (size_t k = 0; k < f->n_stats; k++)
        if (f->stats[k] == stat) return;
    if (f->n_stats < MAX_STATS) f->stats[f->n_stats++] = stat;
}

void set_most(struct parse *p, size_t i, enum super_kind kind)
{
    bool is_min = kind == MOST_MIN || kind == MOST_SHORTEST, was_min = p->f.most == MOST_MIN;
    bool was_max = p->f.most == MOST_MAX;
    if (p->f.has_most && ((is_min && was_max) || (kind == MOST_MAX && was_min)))
        p->f.has_both = true;
    p->f.has_most = true;
    p->f.most = kind;
    p->f.most_at = i;
}

void set_group(struct parse *p, enum plan_group group)
{
    p->f.has_group = true;
    p->f.group = group;
}

/* ---- the table ---- */

static const production_fn productions[] = {
    take_second_question,
    take_tomorrow,
    take_rather,
    take_except,
    take_missing,
    take_refusal,
    take_on_off,
    take_activity_days,
    take_metric_days,
    take_other_days,
    take_rolling,
    take_newest,
    take_next_day,
    take_weekend,
    take_including_today,
    take_window,
    take_days_later,
    take_day_before,
    take_implied_previous,
    take_restated,
    take_since_first,
    take_lag_word,
    take_which_period,
    take_one_day,
    take_days_when,
    take_when,
    take_after_activity,
    take_than_window,
    take_quantile,
    take_rank,
    take_quantity,
    take_without,
    take_dayname,
    take_per,
    take_per_week_of,
    take_per_thing,
    take_per_word,
    take_ask,
    take_than_start,
    take_compare,
    take_unit,
    take_thing,
    take_stat,
    take_shape,
    take_small_flags,
    take_exceed,
    take_while,
    take_adjective,
    take_small_operator,
    take_at_most,
    take_placed,
    take_only,
    take_day_part,
    take_comparative,
    take_mark,
    take_filler,
};

/* Some words are only there to list what the question says again: "Mon, Tue, … or Sun". */
static void skip_listed_days(struct parse *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->t->n; i++) n += is_at(p, i, S_DAYNAME) ? 1 : 0;
    bool is_or = has_symbol(p, S_OR) && has_symbol(p, S_MOST);
    if (n < 2 || !is_or || (n < 5 && !has_symbol(p, S_DAY_OF_WEEK))) return;
    for (size_t i = 0; i < p->t->n; i++)
        if (IS_ANY(p, i, S_DAYNAME, S_OR)) tokens_use(p, i, i + 1);
    p->f.has_group = true;
    p->f.group = GROUP_WEEKDAY;
}

static void mark_sentence(struct parse *p)
{
    struct frame *f = &p->f;
    size_t i = 0;
    bool has_past = false;
    skip_listed_days(p);
    while (i < p->t->n && is_at(p, i, S_FILLER) && !IS_ANY(p, i, S_IS, S_WHAT) &&
           !text_is(p, i, "how"))
        i++;
    f->asks_yes_no = is_at(p, i, S_IS) && !text_in(p, i, "can|could|would");
    for (size_t k = 0; k < p->t->n; k++) {
        bool is_all = k > 0 && text_in(p, k - 1, "my|the|all|in my|in the|all my");
        if (text_is(p, k, "data") && !is_all) f->has_data_word = true;
        if (text_in(p, k, "do|does|is|are")) f->is_present = true;
        has_past = has_past || text_in(p, k, "did");
    }
    if (has_past) f->is_present = false; /* "how many steps did I do" is no habit */
}

/* "is my sleep normal" asks for a judgement. */
static bool asks_judgement(struct parse *p)
{
    if (!p->f.asks_yes_no) return false;
    for (size_t i = 0; i < p->t->n; i++)
        if (is_at(p, i, S_NORMAL) && i > 1) return true;
    return false;
}

/* ---- attaching ---- */

/* A threshold in hours is not about steps. */
static bool fits_unit(const struct quantity *q, const struct mention *m)
{
    double ignored;
    if (!q->unit || m->kind != M_METRIC || m->has_field) return true;
    return unit_convert(q->unit, m->metric->unit, 1, &ignored);
}

/* Whether a mention may have this threshold at all. */
static bool may_own(const struct mention *m, const struct quantity *q, uint8_t scope)
{
    bool is_thing = m->kind != M_FIELD || m->has_field;
    return is_thing && m->scope == scope && !m->has_quantity && fits_unit(q, m);
}

/* The thing a threshold is about: the one right behind it, or the nearest before, in its scope. */
static struct mention *owner_of(struct parse *p, const struct quantity *q, uint8_t scope)
{
    struct frame *f = &p->f;
    struct mention *before = NULL, *after = NULL;
    for (size_t k = 0; k < f->n_mentions; k++) {
        struct mention *m = &f->mentions[k];
        if (!may_own(m, q, scope)) continue;
        if (m->at < q->at) before = m;
        if (m->at >= q->end && !after) after = m;
    }
    if (!before) return after;
    bool is_close = after && after->at <= q->end + 2;
    bool is_joined = is_close && (after->at == q->end || is_at(p, q->end, S_OF));
    return is_joined ? after : before;
}

static bool attach_quantities(struct parse *p)
{
    struct frame *f = &p->f;
    for (size_t k = 0; k < f->n_loose; k++) {
        struct mention *m = owner_of(p, &f->loose[k], f->loose_scope[k]);
        if (!m && f->loose_scope[k] > 0) m = owner_of(p, &f->loose[k], 0);
        if (!m) continue;
        m->has_quantity = true;
        m->quantity = f->loose[k];
        f->loose[k].at = SIZE_MAX; /* has an owner */
    }
    return true;
}

/* "days later" belongs to the thing that stands nearest. */
static void attach_lag(struct parse *p)
{
    struct frame *f = &p->f;
    struct mention *best = NULL;
    size_t gap = SIZE_MAX;
    if (!f->has_lag || f->lag_is_general) return;
    for (size_t k = 0; k < f->n_mentions; k++) {
        struct mention *m = &f->mentions[k];
        bool is_measured = m->kind == M_METRIC;
        size_t d = m->at > f->lag_at ? m->at - f->lag_at : f->lag_at - m->at;
        if (m->scope != 0 || !is_measured) continue;
        /* Of two as near, "my weight the next day" is meant rather than "the next day my weight".
         */
        if (d < gap) {
            gap = d;
            best = m;
        }
    }
    if (!best) return;
    best->has_lag = true;
    best->lag = f->lag;
}

static bool has_main_thing(const struct frame *f)
{
    for (size_t k = 0; k < f->n_mentions; k++)
        if (f->mentions[k].scope == 0 && f->mentions[k].kind != M_FIELD) return true;
    return false;
}

/* "on days I run my average HRV": a metric without threshold in a condition is the question's. */
static void release_mentions(struct parse *p)
{
    struct frame *f = &p->f;
    bool relates = f->is_correlation || f->method == METHOD_PEARSON || f->method == METHOD_SPEARMAN;
    if (has_main_thing(f) && !relates) return;
    size_t n_left = 0;
    for (size_t k = 0; k < f->n_mentions; k++) {
        struct mention *m = &f->mentions[k];
        bool is_measured = m->kind == M_METRIC || m->kind == M_ANALYTE;
        if (m->scope > 0 && is_measured && !m->has_quantity) m->scope = 0;
        n_left += m->scope > 0 ? 1 : 0;
    }
    bool is_plain = f->n_scopes == 2 && !f->scopes[1].is_other && !f->scopes[1].is_not;
    if (is_plain && n_left == 0) f->n_scopes = 1;
}

bool parse_frame(struct parse *p)
{
    struct frame *f = &p->f;
    f->n_scopes = 1;
    mark_sentence(p);
    for (size_t i = 0; i < p->t->n && !p->is_failed;) {
        size_t next = 0;
        if (p->t->list[i].is_used) next = i + 1;
        for (size_t k = 0;
             next == 0 && !p->is_failed && k < sizeof productions / sizeof *productions; k++)
            next = productions[k](p, i);
        i = next > i ? next : i + 1;
    }
    if (p->is_failed) return false;
    for (size_t i = 0; i < p->t->n; i++) {
        if (p->t->list[i].is_used) continue;
        ask_refuse_unknown(p);
        return false;
    }
    if (asks_judgement(p)) {
        ask_refuse(
            p, "Whether that is good or bad is a judgement; only what the data say can be asked.");
        return false;
    }
    attach_quantities(p);
    release_mentions(p);
    attach_lag(p);
    return true;
}
