/* SPDX-License-Identifier: Apache-2.0 */
/* Words of asking, statistics, comparisons, units; what is refused, and what changes nothing. */
#include "ask/parse_impl.h"

enum { MAX_RANK = 100 };

/* ---- what is refused ---- */

/* "the median rather than the mean", "instead of Pearson": what is not wanted is left out. */
size_t take_rather(struct parse *p, size_t i)
{
    if (!text_in(p, i, "rather than|instead of|as opposed to|and not")) return 0;
    size_t at = skip_small(p, i + 1);
    return IS_ANY(p, at, S_STAT, S_METHOD) ? took(p, i, at + 1) : 0;
}

size_t take_refusal(struct parse *p, size_t i)
{
    static const char *const why[] = {
        [REFUSE_WHY] = "Causes cannot be read from the data alone: ask for numbers, such as an "
                       "average, a comparison or a correlation.",
        [REFUSE_ADVICE] =
            "This is a question for advice or a judgement; only what the data say can "
            "be asked here.",
        [REFUSE_FUTURE] = "The future is not in the data: ask about days that have been.",
        [REFUSE_OTHERS] = "Only your own data are here.",
        [REFUSE_VAGUE] = "Seasons are not the same everywhere: name the months.",
        [REFUSE_NEGATION] = "Exceptions and suppositions like this one cannot be read.",
        [REFUSE_OFF_TOPIC] = "Only questions about your own health data can be answered.",
    };
    const struct sense *s = sense_at(p, i, S_REFUSE);
    if (!s || is_at(p, i, S_CORRELATE)) return 0;
    /* "my last 3 runs: how long were they" */
    if (text_in(p, i, "they|them") && p->f.n_mentions > 0) return took(p, i, i + 1);
    ask_refuse(p, "%s", why[s->arg]);
    return i + 1;
}

/* ---- thresholds ---- */

size_t take_quantity(struct parse *p, size_t i)
{
    struct quantity q;
    size_t end;
    struct frame *f = &p->f;
    if (!quantity_at(p, i, &q, &end)) return 0;
    bool is_measured = q.unit || q.is_clock || is_at(p, end, S_METRIC) ||
                       (is_at(p, end, S_OF) && is_at(p, end + 1, S_METRIC));
    if (q.is_bare && !is_measured) return 0;
    if (f->n_loose == sizeof f->loose / sizeof *f->loose) {
        ask_refuse(p, "There are more thresholds than can be read at once.");
        return end;
    }
    f->loose_scope[f->n_loose] = p->scope;
    f->loose[f->n_loose++] = q;
    return took(p, i, end);
}

/* ---- rankings and quantiles ---- */

static const struct sense *rank_word(const struct parse *p, size_t i)
{
    const struct sense *s = sense_at(p, i, S_RANK);
    return s ? s : sense_at(p, i, S_MOST);
}

/* "5 best", "three days with the highest"; the number is at i. */
static const struct sense *rank_after(const struct parse *p, size_t i, size_t *end)
{
    const struct sense *most = rank_word(p, i + 1);
    *end = i + 2;
    if (is_at(p, i + 1, S_UNIT)) return NULL; /* "25 min" */
    if (most) return most;
    size_t far = skip_small(p, i + 3);
    bool is_open = IS_ANY(p, i + 2, S_WITH, S_IF) || text_in(p, i + 2, "had|have|saw");
    if (!is_day_like(p, i + 1) || !is_open) return NULL;
    *end = far + 1;
    return sense_at(p, far, S_MOST);
}

/* "top 5", "best five"; but no "longest 5 km run", "highest 7-day average", "did it top 60". */
static const struct sense *rank_before(const struct parse *p, size_t i, size_t *end)
{
    const struct sense *most = rank_word(p, i);
    *end = i + 2;
    if (!most || !is_at(p, i + 1, S_NUMBER) || p->t->list[i + 1].is_ordinal) return NULL;
    bool is_of_days = is_subject(p, *end) && is_day_like(p, *end + 1); /* "top 3 step days" */
    if ((is_at(p, *end, S_UNIT) && !is_of_days) || mark_is(p, *end, '-')) return NULL;
    if (is_day_like(p, *end) && IS_ANY(p, *end + 1, S_STAT, S_ROLLING)) return NULL;
    bool has_noun =
        is_subject(p, *end) || IS_ANY(p, *end, S_PERIOD, S_SESSION, S_OF, S_READING, S_MOST);
    return is_at(p, i, S_RANK) && !has_noun ? NULL : most;
}

/* "second highest", "3rd longest". */
static size_t take_nth(struct parse *p, size_t i)
{
    const struct sense *most = sense_at(p, i + 1, S_MOST);
    double n = p->t->list[i].number;
    if (!most || n < 1 || n > MAX_RANK || n != (double)(uint32_t)n) return 0;
    p->f.nth = (uint32_t)n;
    set_most(p, i, (enum super_kind)most->arg);
    return took(p, i, i + 2);
}

/* "top 5", "5 best", "best five", "three lowest". */
size_t take_rank(struct parse *p, size_t i)
{
    size_t end;
    if (is_at(p, i, S_NUMBER) && p->t->list[i].is_ordinal) return take_nth(p, i);
    bool is_number = is_at(p, i, S_NUMBER) && !p->t->list[i].is_ordinal;
    const struct sense *most = is_number ? rank_after(p, i, &end) : rank_before(p, i, &end);
    if (!most) return 0;
    double n = p->t->list[is_number ? i : i + 1].number;
    if (n < 2 || n > MAX_RANK || n != (double)(uint32_t)n) return 0;
    p->f.rank = (uint32_t)n;
    set_most(p, i, (enum super_kind)most->arg);
    return took(p, i, end);
}

size_t take_quantile(struct parse *p, size_t i)
{
    const struct sense *named = sense_at(p, i, S_QUANTILE);
    if (named && named->arg > 0) {
        p->f.has_quantile = true;
        p->f.quantile = named->arg / 100.0;
        return took(p, i, i + 1);
    }
    if (!is_at(p, i, S_NUMBER) || !is_at(p, i + 1, S_QUANTILE)) return 0;
    double q = p->t->list[i].number;
    if (q < 0 || q > 100) return 0;
    p->f.has_quantile = true;
    p->f.quantile = q / 100;
    return took(p, i, i + 2);
}

/* ---- words of asking ---- */

static void set_ask(struct parse *p, enum symbol symbol)
{
    struct frame *f = &p->f;
    if (f->ask == S_NONE) f->ask = symbol;
    switch (symbol) {
    case S_HOW_MANY: f->asks_many = true; break;
    case S_HOW_MUCH: f->asks_much = true; break;
    case S_HOW_LONG: f->asks_long = true; break;
    case S_HOW_FAR: f->asks_far = true; break;
    case S_HOW_OFTEN: f->asks_often = true; break;
    case S_WHICH: f->asks_which = true; break;
    case S_WHEN: f->asks_when = true; break;
    case S_WHAT_TIME: f->asks_time = true; break;
    default: break;
    }
}

static size_t set_counted(struct parse *p, size_t i, size_t end, enum counted counted)
{
    p->f.counted = counted;
    return took(p, i, end);
}

/* What is counted: "how many days", "how many runs", "how many hours". */
static size_t take_counted(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    size_t at = i + 1;
    while (is_at(p, at, S_THE) || text_in(p, at, "of|different|calendar|total|separate|individual"))
        at++;
    if (is_day_like(p, at)) {
        f->counts_nights = sense_at(p, at, S_PERIOD)->arg == PERIOD_NIGHT;
        if (text_is(p, at, "morning")) f->has_day_part = true; /* "how many morning runs" */
        return set_counted(p, i, at + 1, COUNT_DAYS);
    }
    if (is_at(p, at, S_TIMES)) return set_counted(p, i, at + 1, COUNT_TIMES);
    if (is_at(p, at, S_READING) && !is_at(p, at, S_FILLER)) {
        f->has_reading = true;
        return set_counted(p, i, at + 1, COUNT_RESULTS);
    }
    const struct sense *unit = sense_at(p, at, S_UNIT);
    if (!unit) return took(p, i, i + 1);
    if (is_at(p, at, S_PERCENT)) f->is_percent = true;
    else f->unit = unit->ptr;
    /* The unit may be the thing itself, too: "how many steps", "how many calories". */
    return took(p, i, is_subject(p, at) ? at : at + 1);
}

/* "which is the largest" asks for the value; "for which" is no question. */
static bool asks_value(const struct parse *p, size_t i)
{
    if (text_is(p, i, "which") && i > 0 && text_in(p, i - 1, "for|on|in|at|during|of")) return true;
    if (!text_is(p, i, "which")) return false;
    if (IS_ANY(p, i + 1, S_STAT, S_CORRELATE, S_METHOD, S_METRIC)) return true;
    return IS_ANY(p, i + 1, S_IS, S_THE) && !text_in(p, i + 1, "had|has");
}

size_t take_ask(struct parse *p, size_t i)
{
    static const enum symbol asks[] = {S_HOW_OFTEN, S_HOW_MANY,  S_HOW_LONG, S_HOW_FAR,
                                       S_HOW_MUCH,  S_WHAT_TIME, S_WHICH,    S_WHEN};
    size_t k = 0;
    while (k < sizeof asks / sizeof *asks && !is_at(p, i, asks[k])) k++;
    if (k == sizeof asks / sizeof *asks) return 0;
    close_scope(p);
    if (asks_value(p, i)) return took(p, i, i + 1);
    set_ask(p, asks[k]);
    if (asks[k] == S_HOW_MANY) return take_counted(p, i);
    if (asks[k] == S_HOW_MUCH && text_is(p, i + 1, "data")) {
        p->f.asks_many = p->f.has_reading = true;
        p->f.counted = COUNT_RESULTS;
    }
    return took(p, i, i + 1);
}

/* ---- statistics and flags ---- */

/* "the latest reading" is the newest one; of bedtimes it is the latest hour. */
static void note_most(struct parse *p, size_t i, enum super_kind kind)
{
    struct frame *f = &p->f;
    bool is_time_order = kind == MOST_LATEST || kind == MOST_EARLIEST;
    if (text_in(p, i, "how high|how low")) {
        f->most_is_weak = !f->has_most;
        if (!f->has_most) set_most(p, i, kind);
        return;
    }
    f->most_is_weak = false;
    if (kind == MOST_LATEST) f->has_latest = true;
    if (kind == MOST_EARLIEST) f->has_first = true;
    if (!is_time_order || !f->has_most) set_most(p, i, kind);
}

size_t take_stat(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    const struct sense *s = sense_at(p, i, S_STAT);
    const struct sense *most = sense_at(p, i, S_MOST);
    bool is_limit = s && (s->arg == STAT_MAX || s->arg == STAT_MIN);
    /* "did I record" is a verb, "my step record" is none. */
    bool is_verb =
        text_is(p, i, "record") && i > 0 && !is_at(p, i - 1, S_METRIC) && !text_is(p, i - 1, "my");
    if (is_verb) return 0;
    if (most && (!s || is_limit)) note_most(p, i, (enum super_kind)most->arg);
    else if (s) add_stat(p, (enum plan_stat)s->arg);
    else if (is_at(p, i, S_WEAK_MEAN)) f->has_weak_mean = true;
    else if (is_at(p, i, S_SPREAD)) f->is_spread = true;
    else return 0;
    close_scope(p);
    return took(p, i, i + 1);
}

static size_t flag(struct parse *p, size_t i, bool *flag)
{
    *flag = true;
    return took(p, i, i + 1);
}

size_t take_compare(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    if (is_at(p, i, S_COMPARE)) {
        close_scope(p);
        /* "when I walked over 12000 steps versus under 8000": another condition of the kind. */
        if (is_at(p, i + 1, S_CMP) && f->n_scopes > 1) open_scope(p, i, i + 1);
        return flag(p, i, &f->is_compare);
    }
    if (is_at(p, i, S_THAN) && !is_at(p, i, S_CMP)) {
        close_scope(p);
        return flag(p, i, &f->has_than);
    }
    if (is_at(p, i, S_DIFFER)) return flag(p, i, &f->is_difference);
    if (is_at(p, i, S_RATIO)) return flag(p, i, &f->is_ratio);
    if (is_at(p, i, S_MINUS) && !mark_is(p, i, '-')) {
        f->minus_at = i;
        close_scope(p);
        return flag(p, i, &f->has_minus);
    }
    if (is_at(p, i, S_SHARE)) return flag(p, i, &f->is_share);
    bool is_value = i > 0 && is_at(p, i - 1, S_NUMBER);
    return is_at(p, i, S_PERCENT) && !is_value ? flag(p, i, &f->is_percent) : 0;
}

/* "a Theil-Sen regression" is no ordinary one. */
static void set_method(struct parse *p, enum plan_method method)
{
    bool is_plain = method == METHOD_OLS || method == METHOD_PEARSON;
    if (p->f.method == METHOD_DEFAULT || !is_plain) p->f.method = method;
}

static size_t take_change(struct parse *p, size_t i)
{
    const struct sense *change = sense_at(p, i, S_CHANGE);
    if (!change || is_at(p, i, S_ACTIVITY)) return 0;
    if (change->arg != 0) p->f.direction = change->arg;
    return flag(p, i, &p->f.is_change);
}

size_t take_shape(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    const struct sense *s = sense_at(p, i, S_METHOD);
    if (s) set_method(p, (enum plan_method)s->arg);
    if (is_at(p, i, S_CORRELATE)) {
        if (is_at(p, i, S_REFUSE) || text_in(p, i, "affect|affects|influence|impact|effect"))
            ask_note(p, "read as a correlation, which is no cause");
        return flag(p, i, &f->is_correlation);
    }
    if (s) return took(p, i, i + 1);
    if (is_at(p, i, S_STREAK)) return flag(p, i, &f->is_streak);
    if (is_at(p, i, S_TREND) && !is_at(p, i, S_FIELD)) return flag(p, i, &f->is_trend);
    if (is_at(p, i, S_ANOMALY)) return flag(p, i, &f->is_anomaly);
    if (is_at(p, i, S_DISTRIBUTION)) return flag(p, i, &f->is_distribution);
    return take_change(p, i);
}

/* "readings", "test results", "coverage". */
static size_t take_reading(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    if (!IS_ANY(p, i, S_READING, S_RESULT)) return 0;
    if (text_in(p, i, "coverage|data coverage")) {
        f->asks_many = true;
        f->counted = COUNT_RESULTS;
    }
    if (is_at(p, i, S_READING)) f->has_reading = true;
    if (is_at(p, i, S_RESULT)) f->has_result = true;
    return took(p, i, i + 1);
}

static size_t take_times(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    if (is_at(p, i, S_TIMES) && !IS_ANY(p, i, S_FIELD, S_METRIC)) {
        if (f->counted == COUNT_NOTHING) f->counted = COUNT_TIMES;
        return took(p, i, i + 1);
    }
    if (!is_at(p, i, S_SESSION) || is_at(p, i, S_WORKOUT)) return 0;
    if (f->counted == COUNT_NOTHING && f->asks_many) f->counted = COUNT_SESSIONS;
    if (is_at(p, i, S_READING)) f->has_reading = true;
    return took(p, i, i + 1);
}

size_t take_small_flags(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    if (is_at(p, i, S_LAST) && !is_at(p, i, S_FILLER)) {
        if (is_at(p, i, S_CURRENT)) f->has_current = true;
        return flag(p, i, &f->has_latest);
    }
    if (is_at(p, i, S_FIRST)) return flag(p, i, &f->has_first);
    if (text_is(p, i, "this")) return took(p, i, i + 1);
    if (text_is(p, i, "last night")) return flag(p, i, &f->has_latest);
    if (IS_ANY(p, i, S_CURRENT, S_THIS)) return flag(p, i, &f->has_current);
    if (is_at(p, i, S_LIST) && !is_at(p, i, S_FILLER)) return flag(p, i, &f->is_list);
    size_t end = take_times(p, i);
    return end > 0 ? end : take_reading(p, i);
}

/* ---- units ---- */

static bool has_metric_mention(const struct parse *p)
{
    for (size_t k = 0; k < p->f.n_mentions; k++)
        if (p->f.mentions[k].kind == M_METRIC && p->f.mentions[k].scope == 0) return true;
    return false;
}

/* A unit that is not led by "in" is one only where it is nothing else: "minutes of running". */
static bool is_bare_unit(const struct parse *p, size_t i, const char *unit)
{
    const struct frame *f = &p->f;
    if (is_subject(p, i) || is_at(p, i, S_STAT)) return false;
    bool is_of = IS_ANY(p, i + 1, S_OF, S_ACTIVITY) || f->asks_many;
    if (is_at(p, i, S_FIELD) && !is_of && f->unit) return false;
    return !f->unit || strcmp(f->unit, unit) == 0;
}

/* "in hours", "expressed in pounds"; "in units per week" says nothing. */
size_t take_unit(struct parse *p, size_t i)
{
    bool is_led = is_at(p, i, S_IN) || text_in(p, i, "as|in|to|into");
    size_t at = is_led ? i + 1 : i;
    /* "length (min)" */
    bool is_bracketed = i > 0 && mark_is(p, i - 1, '(') && mark_is(p, i + 1, ')') && !is_led &&
                        !has_metric_mention(p);
    if (is_bracketed) is_led = true;
    const struct sense *unit = sense_at(p, at, S_UNIT);
    if (!unit || IS_ANY(p, at, S_NUMBER, S_PERCENT) || p->t->list[at].text.len == 1) return 0;
    bool is_fit =
        is_led ? !is_subject(p, at) || has_metric_mention(p) : is_bare_unit(p, at, unit->ptr);
    if (!is_fit) return 0;
    p->f.unit = unit->ptr;
    p->f.unit_is_said = is_led;
    return took(p, i, at + 1);
}

/* ---- what changes nothing ---- */

size_t take_mark(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_MARK)) return 0;
    if (p->scope > 0 && current_scope(p)->at + 1 < i) close_scope(p);
    return took(p, i, i + 1);
}

/* "rise or fall", "up or down": both are asked for, and the sign tells. */
static bool is_either(const struct parse *p, size_t i)
{
    if (!is_at(p, i, S_OR) || i == 0) return false;
    bool is_change = is_at(p, i - 1, S_CHANGE) && is_at(p, i + 1, S_CHANGE);
    bool is_trend = is_at(p, i - 1, S_TREND) && is_at(p, i + 1, S_TREND);
    return is_change || is_trend || is_at(p, i + 1, S_FILLER);
}

size_t take_filler(struct parse *p, size_t i)
{
    bool is_by_method = is_at(p, i, S_CMP) && is_at(p, i + 1, S_METHOD); /* "under Theil-Sen" */
    if (is_either(p, i) || (is_at(p, i, S_GOAL) && has_symbol(p, S_NUMBER)) || is_by_method)
        return took(p, i, i + 1);
    /* "not" and its kin turn a sentence round: nobody may skip them. */
    if (IS_ANY(p, i, S_NOT, S_WITHOUT)) return 0;
    if (is_at(p, i, S_BETWEEN) && is_at(p, i + 1, S_AND)) return 0;
    if (is_day_like(p, i)) {
        bool is_night = sense_at(p, i, S_PERIOD)->arg == PERIOD_NIGHT;
        if (is_night && p->f.counted == COUNT_NOTHING) p->f.counts_nights = true;
        if (text_in(p, i, "morning|mornings") && !is_at(p, i + 1, S_OF)) p->f.has_day_part = true;
        return took(p, i, i + 1);
    }
    bool is_small = IS_ANY(p, i, S_FILLER, S_IN, S_ON, S_OF, S_AND, S_THE, S_A, S_SELF, S_DO, S_TO,
                           S_WITH, S_FROM, S_BY, S_IF, S_EVER, S_WHAT, S_IS, S_ALL, S_WHICH);
    return is_small ? took(p, i, i + 1) : 0;
}
