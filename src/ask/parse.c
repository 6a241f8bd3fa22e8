/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar. A question is a sequence of phrases: windows, thresholds, conditions, statistics,
 * things that are measured, and words of asking. Each production below reads one kind of phrase at
 * a token, fills the frame and says where it ended; they are tried in the order of the table at
 * the end. English puts the phrases in nearly any order, so the order is free, but for conditions
 * ("on days when …"), which open a scope that the next phrase of another kind closes.
 *
 * What no production takes and is not a word that changes nothing makes the question refused.
 */
#include "ask/ask_impl.h"

enum { MAX_RANK = 100, MAX_NEWEST = 1000, MAX_LAG = 60 };

typedef size_t (*production_fn)(struct parse *p, size_t i);

static size_t take_thing(struct parse *p, size_t i);
static bool has_symbol(const struct parse *p, enum symbol symbol);
static void set_group(struct parse *p, enum plan_group group);

/* ---- helpers ---- */

static size_t skip_small(const struct parse *p, size_t i)
{
    while (is_at(p, i, S_THE) || is_at(p, i, S_A) || text_is(p, i, "of") || text_is(p, i, "my") ||
           text_is(p, i, "of my") || text_is(p, i, "of the"))
        i++;
    return i;
}

static bool is_day_like(const struct parse *p, size_t i)
{
    const struct sense *s = sense_at(p, i, S_PERIOD);
    return s && s->arg <= PERIOD_MORNING;
}

static bool is_subject(const struct parse *p, size_t i)
{
    return is_at(p, i, S_METRIC) || is_at(p, i, S_ACTIVITY) || is_at(p, i, S_ANALYTE) ||
           is_at(p, i, S_WORKOUT);
}

static void close_scope(struct parse *p)
{
    p->scope = 0;
}

static size_t open_scope(struct parse *p, size_t i, size_t end)
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

static struct scope *current_scope(struct parse *p)
{
    return &p->f.scopes[p->scope];
}

static void add_stat(struct parse *p, enum plan_stat stat)
{
    struct frame *f = &p->f;
    for (size_t k = 0; k < f->n_stats; k++)
        if (f->stats[k] == stat) return;
    if (f->n_stats < MAX_STATS) f->stats[f->n_stats++] = stat;
}

/* ---- what is refused ---- */

static size_t take_refusal(struct parse *p, size_t i)
{
    static const char *const why[] = {
        [REFUSE_WHY] = "Causes cannot be read from the data alone: ask for numbers, such as an "
                       "average, a comparison or a correlation.",
        [REFUSE_ADVICE] =
            "This is a question for advice or a judgement; only what the data say can "
            "be asked here.",
        [REFUSE_FUTURE] = "The future is not in the data: ask about days that have been.",
        [REFUSE_OTHERS] = "Only your own data are here.",
        [REFUSE_VAGUE] = "This is too vague to be read.",
        [REFUSE_NEGATION] = "Exceptions and suppositions like this one cannot be read.",
        [REFUSE_OFF_TOPIC] = "Only questions about your own health data can be answered.",
    };
    const struct sense *s = sense_at(p, i, S_REFUSE);
    if (!s || is_at(p, i, S_CORRELATE)) return 0;
    /* "my last 3 runs: how long were they" */
    if ((text_is(p, i, "they") || text_is(p, i, "them")) && p->f.n_mentions > 0) {
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    ask_refuse(p, "%s", why[s->arg]);
    return i + 1;
}

/* ---- windows ---- */

static void add_window(struct parse *p, const struct window *w)
{
    struct frame *f = &p->f;
    /* "ever", "overall" beside a real window adds nothing. */
    if (w->is_all && f->n_windows > 0) return;
    if (f->n_windows == 1 && f->windows[0].is_all) f->n_windows = 0;
    if (f->n_windows == MAX_WINDOWS) {
        ask_refuse(p, "There are more windows than can be compared.");
        return;
    }
    f->windows[f->n_windows++] = *w;
}

static size_t take_window(struct parse *p, size_t i)
{
    struct window w;
    size_t end;
    if (is_at(p, i, S_EVER) && is_at(p, i, S_FILLER) && i + 1 < p->t->n && text_is(p, i, "any"))
        return 0;
    if (!window_at(p, i, &w, &end)) return 0;
    tokens_use(p, i, end);
    add_window(p, &w);
    close_scope(p);
    return end;
}

/* "compared with before", "versus the previous period": the same length, just before. */
/* "(7 days)" behind "the most recent week"; "over 7 days" where nothing else says when. */
static size_t take_restated(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    if (!is_at(p, i, S_NUMBER) || !is_day_like(p, i + 1)) return 0;
    double n = p->t->list[i].number;
    if (n < 2 || !(sense_at(p, i + 1, S_PERIOD)->arg == PERIOD_DAY)) return 0;
    bool is_said = (f->n_windows > 0 && n == f->windows[f->n_windows - 1].length) ||
                   n == f->rolling_days || (f->is_rolling && n == 7);
    bool is_span = i > 0 && is_at(p, i - 1, S_IN) && f->n_windows == 0 && n >= 1 && n <= 3660;
    if (!is_said && !is_span) return 0;
    tokens_use(p, i, i + 2);
    if (is_said) return i + 2;
    struct window w = {
        .at = i, .length = (uint32_t)n, .days = {DAY_NONE, DAY_NONE, (uint32_t)n, 0}};
    add_window(p, &w);
    ask_note(p, "read as the last %u days", (unsigned)n);
    return i + 2;
}

/* "since my first test": from the first to the latest. */
static size_t take_since_first(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_SINCE) && !is_at(p, i, S_FROM)) return 0;
    size_t at = skip_small(p, i + 1);
    if (!is_at(p, at, S_FIRST)) return 0;
    size_t end = at + 1;
    while (is_at(p, end, S_RESULT) || is_at(p, end, S_READING) || is_at(p, end, S_ANALYTE)) {
        if (is_at(p, end, S_ANALYTE)) take_thing(p, end);
        end++;
    }
    if (end == at + 1 && !has_symbol(p, S_ANALYTE)) return 0;
    p->f.has_first = true;
    p->f.is_change = true;
    tokens_use(p, i, end);
    return end;
}

static size_t take_implied_previous(struct parse *p, size_t i)
{
    size_t at = skip_small(p, i);
    bool is_period = text_is(p, at + 1, "period") || text_is(p, at + 1, "window") ||
                     text_is(p, at + 1, "one") || text_is(p, at + 1, "stretch") ||
                     text_is(p, at + 1, "span") || text_is(p, at + 1, "ones") ||
                     text_is(p, at + 1, "time period");
    if (is_at(p, at, S_PREVIOUS) && is_period) {
        p->f.implies_previous = true;
        tokens_use(p, i, at + 2);
        return at + 2;
    }
    bool is_before = text_is(p, at, "period before") || is_at(p, at, S_BEFORE_THAT);
    bool ends = at + 1 >= p->t->n || is_at(p, at + 1, S_MARK) || is_at(p, at + 1, S_OF);
    if (text_is(p, at, "period") && is_at(p, at + 1, S_BEFORE_THAT)) {
        p->f.implies_previous = true;
        tokens_use(p, i, at + 2);
        return at + 2;
    }
    uint32_t n = 0;
    /* "the previous 30", "the 30 before": days, as the window before it. */
    if (is_at(p, at, S_PREVIOUS) && is_at(p, at + 1, S_NUMBER) && p->f.n_windows > 0) {
        n = (uint32_t)p->t->list[at + 1].number;
    } else if (is_at(p, at, S_NUMBER) && is_at(p, at + 1, S_BEFORE_THAT) && p->f.n_windows > 0) {
        n = (uint32_t)p->t->list[at].number;
    }
    if (n > 0 && n == p->f.windows[p->f.n_windows - 1].length) {
        p->f.implies_previous = true;
        tokens_use(p, i, at + 2);
        return at + 2;
    }
    if (!is_before || !ends || p->f.n_windows == 0) return 0;
    p->f.implies_previous = true;
    tokens_use(p, i, at + 1);
    return at + 1;
}

/* ---- moving averages ---- */

/* "7-day average", "rolling 7-day mean", "7 day moving average". */
static size_t take_rolling(struct parse *p, size_t i)
{
    size_t at = i;
    bool is_said = is_at(p, at, S_ROLLING);
    if (is_said) at++;
    /* "rolling 7 …": days. */
    bool has_no_unit = is_said && is_at(p, at, S_NUMBER) && !is_at(p, at + 1, S_PERIOD) &&
                       !mark_is(p, at + 1, '-') && p->t->list[at].number >= 2 &&
                       p->t->list[at].number <= 366;
    if (has_no_unit) {
        p->f.is_rolling = true;
        p->f.rolling_days = (uint32_t)p->t->list[at].number;
        tokens_use(p, i, at + 1);
        return at + 1;
    }
    if (!is_at(p, at, S_NUMBER) || p->t->list[at].is_ordinal) {
        if (is_said) p->f.is_rolling = true;
        if (is_said) tokens_use(p, i, i + 1);
        if (is_said && is_at(p, i, S_ROLLING) && !text_is(p, i, "rolling") &&
            !text_is(p, i, "moving"))
            add_stat(p, STAT_MEAN);
        return is_said ? i + 1 : 0;
    }
    double n = p->t->list[at].number;
    size_t unit = mark_is(p, at + 1, '-') ? at + 2 : at + 1;
    const struct sense *period = sense_at(p, unit, S_PERIOD);
    if (!period || n < 1 || n > 366) return 0;
    size_t end = unit + 1;
    if (mark_is(p, end, '-')) end++;
    bool is_rolling = is_at(p, end, S_ROLLING);
    if (is_rolling && !is_at(p, end, S_STAT)) end++;
    const struct sense *stat = sense_at(p, end, S_STAT);
    bool is_mean = stat && stat->arg == STAT_MEAN;
    if (!is_rolling && !is_said && !is_mean) return 0;
    if (stat) add_stat(p, (enum plan_stat)stat->arg);
    if (is_rolling && !stat) add_stat(p, STAT_MEAN);
    uint32_t scale = period->arg == PERIOD_WEEK ? 7 : period->arg == PERIOD_MONTH ? 30 : 1;
    p->f.is_rolling = true;
    p->f.rolling_days = (uint32_t)n * scale;
    end = stat ? end + 1 : end;
    tokens_use(p, i, end);
    return end;
}

/* ---- sessions ---- */

/* "last 3 runs", "most recent swim", "latest three sessions". */
static size_t take_newest(struct parse *p, size_t i)
{
    double n = 1;
    size_t at = i;
    bool has_number = is_at(p, at, S_NUMBER) && !p->t->list[at].is_ordinal;
    if (has_number) n = p->t->list[at++].number;
    if (!is_at(p, at, S_LAST) || is_at(p, at, S_ROLLING)) return 0;
    if (text_is(p, at, "just") || text_is(p, at, "immediate")) return 0;
    at++;
    if (is_at(p, at, S_NUMBER) && !has_number) n = p->t->list[at++].number;
    size_t end = at;
    size_t thing = skip_small(p, at);
    if (text_is(p, thing, "logged") || text_is(p, thing, "recorded")) thing++;
    bool is_sessions = is_at(p, thing, S_ACTIVITY) || is_at(p, thing, S_WORKOUT) ||
                       (is_at(p, thing, S_SESSION) && !is_at(p, thing, S_READING));
    if (!is_sessions || n < 1 || n > MAX_NEWEST || n != (double)(uint32_t)n) return 0;
    p->f.newest = (uint32_t)n;
    tokens_use(p, i, end);
    return end;
}

/* ---- days later ---- */

static size_t set_lag(struct parse *p, size_t i, size_t end, int lag)
{
    p->f.has_lag = true;
    p->f.lag = lag;
    p->f.lag_at = i;
    tokens_use(p, i, end);
    return end;
}

/* "the day after a run": a condition on the day before. */
static bool begins_condition(const struct parse *p, size_t i)
{
    size_t at = i;
    while (is_at(p, at, S_THE) || is_at(p, at, S_A) || is_at(p, at, S_SELF) || is_at(p, at, S_DO) ||
           is_at(p, at, S_WITH))
        at++;
    if (at > i && is_at(p, at, S_METRIC)) return true;
    if (is_at(p, at, S_ACTIVITY) || is_at(p, at, S_WORKOUT)) return true;
    /* "after less than 7 hours of sleep", "the day after 10k steps". */
    return is_at(p, at, S_CMP) && (is_at(p, at + 1, S_NUMBER) || is_at(p, at + 1, S_A));
}

/* Whether any token of the question may be this. */
static bool has_symbol(const struct parse *p, enum symbol symbol)
{
    for (size_t i = 0; i < p->t->n; i++)
        if (is_at(p, i, symbol)) return true;
    return false;
}

/* "steps today, sleep tomorrow", "on day t + 1": of a correlation. */
static size_t take_tomorrow(struct parse *p, size_t i)
{
    if (!has_symbol(p, S_CORRELATE) && !has_symbol(p, S_METHOD)) return 0;
    if (text_is(p, i, "tomorrow")) return set_lag(p, i, i + 1, 1);
    if (text_is(p, i, "t") && mark_is(p, i + 1, '+') && is_at(p, i + 2, S_NUMBER) &&
        p->t->list[i + 2].number <= MAX_LAG)
        return set_lag(p, i, i + 3, (int)p->t->list[i + 2].number);
    bool is_today = text_is(p, i, "today");
    for (size_t k = 0; is_today && k < p->t->n; k++) {
        if (!text_is(p, k, "tomorrow")) continue;
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    return 0;
}

static bool is_next_day(const struct parse *p, size_t i, size_t *end)
{
    static const char *const after[] = {"day after",     "night after",     "morning after",
                                        "the day after", "the night after", "the morning after"};
    if (!is_at(p, i, S_NEXT)) return false;
    *end = i + 1;
    for (size_t k = 0; k < sizeof after / sizeof *after; k++)
        if (text_is(p, i, after[k])) return true;
    if (p->t->list[i].n_words > 1 && !text_is(p, i, "very next")) return true;
    size_t at = text_is(p, i + 1, "calendar") ? i + 2 : i + 1;
    if (mark_is(p, at, '-')) at++;
    if (!is_day_like(p, at)) return false;
    *end = at + 1;
    return true;
}

static bool says_after(const struct parse *p, size_t i)
{
    struct weir_slice t = p->t->list[i].text;
    return t.len >= 5 && memcmp(t.ptr + t.len - 5, "after", 5) == 0;
}

static size_t take_next_day(struct parse *p, size_t i)
{
    size_t end;
    if (!is_next_day(p, i, &end)) return 0;
    if (says_after(p, i) && begins_condition(p, end)) {
        tokens_use(p, i, end);
        open_scope(p, i, end);
        if (p->is_failed) return end;
        current_scope(p)->shift = -1;
        current_scope(p)->has_shift = true;
        return end;
    }
    return set_lag(p, i, end, 1);
}

/* "two days later", "one day earlier", "a day after". */
static size_t take_days_later(struct parse *p, size_t i)
{
    double n = 1;
    if (is_at(p, i, S_NUMBER) && !p->t->list[i].is_ordinal) n = p->t->list[i].number;
    else if (!is_at(p, i, S_A)) return 0;
    size_t at = mark_is(p, i + 1, '-') ? i + 2 : i + 1;
    if (n < 1 || n > MAX_LAG || n != (double)(int)n) return 0;
    if (is_at(p, at, S_NEXT) && p->t->list[at].n_words == 2 && !is_at(p, at, S_PERIOD) &&
        is_at(p, i, S_NUMBER))
        return set_lag(p, i, at + 1, (int)n);
    if (!is_day_like(p, at)) return 0;
    const struct sense *later = sense_at(p, at + 1, S_LATER);
    if (later && !text_is(p, at + 1, "on") && !text_is(p, at + 1, "prior"))
        return set_lag(p, i, at + 2, (int)n * later->arg);
    if (mark_is(p, at + 1, '-')) at++;
    if (is_at(p, at + 1, S_LAG_WORD)) return set_lag(p, i, at + 2, (int)n);
    return 0;
}

/* "lag of 1 day", "lagged by one day", "lag 1". */
static size_t take_lag_word(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_LAG_WORD)) return 0;
    size_t at = i + 1;
    while (is_at(p, at, S_BY) || is_at(p, at, S_OF) || mark_is(p, at, '-') || mark_is(p, at, '='))
        at++;
    int n = 1;
    if (is_at(p, at, S_NUMBER)) {
        if (p->t->list[at].number > MAX_LAG) return 0;
        n = (int)p->t->list[at].number;
        at++;
    } else if (is_at(p, at, S_A)) {
        at++;
    }
    if (mark_is(p, at, '-')) at++;
    if (is_day_like(p, at)) at++;
    p->f.lag_is_general = true;
    return set_lag(p, i, at, n);
}

/* "the previous night's sleep", "the day before". */
static size_t take_day_before(struct parse *p, size_t i)
{
    if ((is_at(p, i, S_PREVIOUS) || text_is(p, i, "preceding")) && is_day_like(p, i + 1) &&
        !is_at(p, i + 2, S_NUMBER))
        return set_lag(p, i, i + 2, -1);
    bool is_before =
        text_is(p, i + 1, "before") || text_is(p, i + 1, "prior") || text_is(p, i + 1, "earlier");
    if (!is_day_like(p, i) || !is_before || is_at(p, i + 2, S_YESTERDAY)) return 0;
    if (begins_condition(p, i + 2)) {
        tokens_use(p, i, i + 2);
        open_scope(p, i, i + 2);
        if (p->is_failed) return i + 2;
        current_scope(p)->shift = 1;
        current_scope(p)->has_shift = true;
        return i + 2;
    }
    return set_lag(p, i, i + 2, -1);
}

/* ---- conditions ---- */

/* "on minus off", "(on days minus off days)". */
static size_t take_on_off(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_ON_OFF)) return 0;
    p->f.is_on_off = true;
    tokens_use(p, i, i + 1);
    close_scope(p);
    return i + 1;
}

/* "yoga days", "running days", "non-yoga days", "days of yoga". */
static size_t take_activity_days(struct parse *p, size_t i)
{
    size_t at = i;
    bool is_not = is_at(p, at, S_OTHER) && (text_is(p, at, "non") || text_is(p, at, "off"));
    if (!is_not && (text_is(p, at, "no") || text_is(p, at, "not"))) is_not = true;
    if (is_not) at++;
    if (mark_is(p, at, '-')) at++;
    if (!is_at(p, at, S_ACTIVITY) && !is_at(p, at, S_WORKOUT)) return 0;
    size_t day = mark_is(p, at + 1, '-') ? at + 2 : at + 1;
    if (is_at(p, day, S_SESSION) && !is_at(p, day, S_READING)) day++;
    if (!is_day_like(p, day)) return 0;
    /* "on the days": the article and the preposition before it are small words. */
    tokens_use(p, i, day + 1);
    open_scope(p, i, at);
    if (p->is_failed) return at;
    current_scope(p)->is_not = is_not;
    take_thing(p, at);
    close_scope(p);
    return day + 1;
}

/* "other days", "the rest", "rest days", "all other nights". */
static size_t take_other_days(struct parse *p, size_t i)
{
    size_t end = i + 1;
    if (is_at(p, i, S_REST_DAY)) {
        tokens_use(p, i, end);
        open_scope(p, i, end);
        if (!p->is_failed) current_scope(p)->is_other = true;
        close_scope(p);
        return end;
    }
    if (!is_at(p, i, S_OTHER) || is_at(p, i, S_REFUSE)) return 0;
    bool is_rest = text_is(p, i, "the rest") || text_is(p, i, "rest") || text_is(p, i, "others") ||
                   text_is(p, i, "the rest of") || text_is(p, i, "rest of") ||
                   text_is(p, i, "everything else") || text_is(p, i, "all the rest") ||
                   text_is(p, i, "all others") || text_is(p, i, "off days") ||
                   text_is(p, i, "days off") || text_is(p, i, "the other");
    size_t day = skip_small(p, end);
    if (is_day_like(p, day)) end = day + 1;
    else if (!is_rest) return 0;
    tokens_use(p, i, end);
    open_scope(p, i, end);
    if (!p->is_failed) current_scope(p)->is_other = true;
    close_scope(p);
    return end;
}

/* The noun of a count, a share, a streak or a ranking is no condition: "how many days did I …". */
static bool is_counted_noun(const struct parse *p, size_t i)
{
    for (size_t back = 1; back <= 4 && back <= i; back++) {
        size_t k = i - back;
        if (is_at(p, k, S_HOW_MANY) || is_at(p, k, S_SHARE) || is_at(p, k, S_STREAK) ||
            is_at(p, k, S_WHICH) || is_at(p, k, S_MOST) || is_at(p, k, S_RANK) ||
            is_at(p, k, S_LIST) || is_at(p, k, S_QUANTILE) || is_at(p, k, S_ANOMALY))
            return true;
        bool is_small = is_at(p, k, S_THE) || is_at(p, k, S_OF) || is_at(p, k, S_A) ||
                        is_at(p, k, S_NUMBER) || text_is(p, k, "calendar") || is_at(p, k, S_SELF) ||
                        is_at(p, k, S_FILLER) || is_at(p, k, S_METRIC);
        if (!is_small || is_at(p, k, S_ON)) return false;
    }
    return false;
}

static size_t after_opener(struct parse *p, size_t i, size_t end)
{
    size_t from = i;
    open_scope(p, from, end);
    if (p->is_failed) return end;
    tokens_use(p, i, end);
    return end;
}

/*
 * Without a word of asking: "days with over 10k steps" is a count, "day with the most steps" and
 * "last day with over 10k steps" ask for a date.
 */
static bool takes_terse(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    bool is_open = is_at(p, i + 1, S_WITH) || is_at(p, i + 1, S_IF) || is_at(p, i + 1, S_CMP);
    if (!is_open) return false;
    size_t thing = skip_small(p, i + 2);
    if (is_at(p, thing, S_MOST)) {
        f->asks_which = true;
        tokens_use(p, i, i + 2);
        return true;
    }
    bool is_order = i > 0 && (is_at(p, i - 1, S_LAST) || is_at(p, i - 1, S_FIRST));
    if (is_order && f->ask == S_NONE) {
        f->asks_when = true;
        tokens_use(p, i, is_at(p, i + 1, S_CMP) ? i + 1 : i + 2);
        return !is_at(p, i + 1, S_CMP);
    }
    bool is_first = true;
    for (size_t k = 0; k < i; k++)
        is_first = is_first && is_at(p, k, S_FILLER) && !is_at(p, k, S_ON);
    if (!is_first || f->counted != COUNT_NOTHING) return false;
    for (size_t k = i + 1; k < p->t->n; k++)
        if (is_at(p, k, S_WHAT) || is_at(p, k, S_HOW_MUCH) ||
            (is_at(p, k, S_STAT) && !is_at(p, k, S_UNIT)))
            return false;
    f->counted = COUNT_DAYS;
    f->asks_many = true;
    f->counts_nights = sense_at(p, i, S_PERIOD)->arg == PERIOD_NIGHT;
    tokens_use(p, i, is_at(p, i + 1, S_CMP) ? i + 1 : i + 2);
    return !is_at(p, i + 1, S_CMP);
}

/* "on days when", "on nights I", "days with", "days without". */
static size_t take_days_when(struct parse *p, size_t i)
{
    if (!is_day_like(p, i) || is_counted_noun(p, i)) return 0;
    size_t end = i + 1;
    if (takes_terse(p, i)) return i + 2;
    bool is_led =
        i > 0 && (is_at(p, i - 1, S_ON) || is_at(p, i - 1, S_THE) || is_at(p, i - 1, S_IN) ||
                  is_at(p, i - 1, S_COMPARE) || is_at(p, i - 1, S_THAN) || is_at(p, i - 1, S_AND) ||
                  is_at(p, i - 1, S_WITH));
    if (is_at(p, end, S_WITHOUT) || (is_at(p, end, S_WITH) && text_is(p, end + 1, "no"))) {
        bool is_with_no = !is_at(p, end, S_WITHOUT);
        end = after_opener(p, i, end + (is_with_no ? 2 : 1));
        if (!p->is_failed) current_scope(p)->is_not = true;
        return end;
    }
    if ((text_is(p, end, "on") || text_is(p, end, "in")) && text_is(p, end + 1, "which"))
        return after_opener(p, i, end + 2);
    if (is_at(p, end, S_IF) || is_at(p, end, S_WITH)) return after_opener(p, i, end + 1);
    if (is_at(p, end, S_AFTER) && begins_condition(p, end + 1)) {
        end = after_opener(p, i, end + 1);
        if (p->is_failed) return end;
        current_scope(p)->shift = -1;
        current_scope(p)->has_shift = true;
        return end;
    }
    if (is_led && (is_at(p, end, S_SELF) || is_at(p, end, S_CMP))) return after_opener(p, i, end);
    return 0;
}

/* "when I run", "whenever my sleep is under 7 hours"; at the beginning only before "I" and "my". */
static size_t take_when(struct parse *p, size_t i)
{
    bool is_if = is_at(p, i, S_IF);
    if (!is_if || text_is(p, i, "that") || text_is(p, i, "where") || is_at(p, i, S_HOW_OFTEN))
        return 0;
    bool is_first = true;
    for (size_t k = 0; k < i; k++) is_first = is_first && is_at(p, k, S_FILLER);
    bool is_clause = is_at(p, i + 1, S_SELF) || is_at(p, i + 1, S_THE) ||
                     is_at(p, i + 1, S_METRIC) || is_at(p, i + 1, S_ACTIVITY) ||
                     text_is(p, i + 1, "my") || is_at(p, i + 1, S_WORKOUT) ||
                     is_at(p, i + 1, S_CMP);
    if (is_at(p, i, S_WHEN) && (is_first || !is_clause) && !is_at(p, i + 1, S_SELF)) return 0;
    if (p->f.counted == COUNT_DAYS && p->f.ask == S_HOW_MANY && i > 0 && is_day_like(p, i - 1)) {
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    return after_opener(p, i, i + 1);
}

static size_t take_after_activity(struct parse *p, size_t i)
{
    bool is_after = text_is(p, i, "after") || text_is(p, i, "following");
    bool is_before = text_is(p, i, "before");
    if ((!is_after && !is_before) || !begins_condition(p, i + 1)) return 0;
    size_t end = after_opener(p, i, i + 1);
    if (p->is_failed) return end;
    current_scope(p)->shift = is_after ? -1 : 1;
    current_scope(p)->has_shift = true;
    ask_note(p, "\"%s\" read as the day %s", is_after ? "after" : "before",
             is_after ? "after" : "before");
    return end;
}

/* "without a run", "no yoga", "did not run". */
static size_t take_without(struct parse *p, size_t i)
{
    bool is_not = is_at(p, i, S_WITHOUT) || is_at(p, i, S_NOT);
    if (!is_not || is_at(p, i, S_CMP)) return 0;
    size_t at = i + 1;
    /* "the median, not the mean" */
    size_t stat = skip_small(p, at);
    if (is_at(p, stat, S_STAT) && p->f.n_stats > 0 && !is_at(p, stat, S_UNIT)) {
        tokens_use(p, i, stat + 1);
        return stat + 1;
    }
    while (is_at(p, at, S_A) || is_at(p, at, S_THE) || is_at(p, at, S_DO) || is_at(p, at, S_EVER)) {
        if (is_at(p, at, S_ACTIVITY)) break;
        at++;
    }
    bool is_activity = is_at(p, at, S_ACTIVITY) || is_at(p, at, S_WORKOUT);
    if (p->scope > 0 && current_scope(p)->at <= i) {
        bool is_bare = at >= p->t->n || is_at(p, at, S_MARK);
        if (!is_activity && !is_bare && !text_is(p, at, "it") && !is_at(p, at, S_METRIC)) return 0;
        current_scope(p)->is_not = true;
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    if (!is_activity) return 0;
    open_scope(p, i, i + 1);
    if (!p->is_failed) current_scope(p)->is_not = true;
    tokens_use(p, i, i + 1);
    return i + 1;
}

static size_t take_weekend(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    bool is_end = is_at(p, i, S_WEEKEND), is_day = is_at(p, i, S_WEEKDAY);
    /* "during the week" beside "at weekends". */
    bool is_during = i > 0 && (text_is(p, i - 1, "during the") || text_is(p, i - 1, "in the") ||
                               text_is(p, i - 1, "through the") || text_is(p, i - 1, "on the"));
    if (text_is(p, i, "week") && is_during && has_symbol(p, S_WEEKEND)) is_day = true;
    if (!is_end && !is_day) return 0;
    /* "weekday with the lowest average": one of seven is asked for. */
    bool is_one =
        !is_end && text_is(p, i, "weekday") && !has_symbol(p, S_WEEKEND) && has_symbol(p, S_MOST);
    if (is_one) {
        set_group(p, GROUP_WEEKDAY);
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    /* "by weekday", "which weekday": a way of grouping. */
    if (!is_end && is_at(p, i, S_DAY_OF_WEEK) && i > 0 && !f->has_weekend &&
        (is_at(p, i - 1, S_EACH) || is_at(p, i - 1, S_WHICH) || text_is(p, i - 1, "what") ||
         is_at(p, i - 1, S_MOST)) &&
        !is_at(p, i - 1, S_ON))
        return 0;
    if (is_end && f->n_windows == 0 && is_at(p, i, S_PERIOD) && i > 0 && is_at(p, i - 1, S_LAST))
        return 0;
    size_t end = i + 1;
    if (is_day_like(p, end)) end++;
    if (is_at(p, end, S_STAT) && sense_at(p, end, S_STAT)->arg == STAT_MEAN) {
        add_stat(p, STAT_MEAN);
        end++;
    }
    if (is_end && !f->has_weekend) f->weekend_at = i;
    if (is_day && !f->has_weekday) f->weekday_at = i;
    if (is_end) f->has_weekend = true;
    if (is_day) f->has_weekday = true;
    if (is_at(p, end, S_MINUS) || text_is(p, end, "less")) {
        size_t next = skip_small(p, end + 1);
        if (is_at(p, next, S_WEEKEND) || is_at(p, next, S_WEEKDAY)) {
            f->weekday_first = is_day;
            f->has_minus = true;
            tokens_use(p, end, next);
        }
    }
    tokens_use(p, i, end);
    close_scope(p);
    return end;
}

/* "on Mondays", "on Tuesdays and Thursdays"; "on a Monday". */
static size_t take_dayname(struct parse *p, size_t i)
{
    const struct sense *s = sense_at(p, i, S_DAYNAME);
    if (!s) return 0;
    bool is_each = s->arg >= DAYNAME_PLURAL ||
                   (i > 0 && (is_at(p, i - 1, S_A) || is_at(p, i - 1, S_EACH))) ||
                   is_day_like(p, i + 1);
    if (!is_each) return 0;
    uint32_t bit = 1u << (unsigned)(s->arg % DAYNAME_PLURAL);
    bool is_second = p->f.weekdays != 0 && p->f.is_compare;
    if (is_second) p->f.weekdays_b |= bit;
    else p->f.weekdays |= bit;
    size_t end = is_day_like(p, i + 1) ? i + 2 : i + 1;
    tokens_use(p, i, end);
    return end;
}

/* ---- thresholds ---- */

static size_t take_quantity(struct parse *p, size_t i)
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
    tokens_use(p, i, end);
    return end;
}

/* ---- rankings and quantiles ---- */

static void set_most(struct parse *p, size_t i, enum super_kind kind)
{
    p->f.has_most = true;
    p->f.most = kind;
    p->f.most_at = i;
}

/* "top 5", "5 best", "best five", "three lowest". */
static size_t take_rank(struct parse *p, size_t i)
{
    size_t at = i, end;
    double n = 0;
    const struct sense *most = NULL;
    if (is_at(p, at, S_NUMBER) && !p->t->list[at].is_ordinal) {
        most = sense_at(p, at + 1, S_MOST);
        if (!most) most = sense_at(p, at + 1, S_RANK);
        n = p->t->list[at].number;
        end = at + 2;
        /* "three days with the highest stress" */
        size_t far = skip_small(p, at + 3);
        if (!most && is_day_like(p, at + 1) &&
            (is_at(p, at + 2, S_WITH) || is_at(p, at + 2, S_IF)) && is_at(p, far, S_MOST)) {
            most = sense_at(p, far, S_MOST);
            end = far + 1;
        }
    } else {
        most = sense_at(p, at, S_RANK);
        if (!most) most = sense_at(p, at, S_MOST);
        if (!most || !is_at(p, at + 1, S_NUMBER) || p->t->list[at + 1].is_ordinal) return 0;
        n = p->t->list[at + 1].number;
        end = at + 2;
        /* "longest 5 km run", "highest 7-day average" are no rankings. */
        if (is_at(p, end, S_UNIT) || mark_is(p, end, '-')) return 0;
        if (is_day_like(p, end) && (is_at(p, end + 1, S_STAT) || is_at(p, end + 1, S_ROLLING)))
            return 0;
    }
    /* "did my stress top 60" is no ranking: that has a noun behind it. */
    bool has_noun = is_at(p, end, S_PERIOD) || is_subject(p, end) || is_at(p, end, S_SESSION) ||
                    is_at(p, end, S_OF) || is_at(p, end, S_READING);
    if (most && is_at(p, at, S_RANK) && !has_noun) return 0;
    if (!most || n < 2 || n > MAX_RANK || n != (double)(uint32_t)n) return 0;
    p->f.rank = (uint32_t)n;
    set_most(p, i, (enum super_kind)most->arg);
    tokens_use(p, i, end);
    return end;
}

static size_t take_quantile(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_NUMBER) || !is_at(p, i + 1, S_QUANTILE)) return 0;
    double q = p->t->list[i].number;
    if (q < 0 || q > 100) return 0;
    p->f.has_quantile = true;
    p->f.quantile = q / 100;
    tokens_use(p, i, i + 2);
    return i + 2;
}

/* ---- per, by, each ---- */

static const struct {
    int period;
    enum plan_per per;
    enum plan_group group;
} period_rows[] = {
    {PERIOD_WEEK, PER_WEEK, GROUP_WEEK},
    {PERIOD_MONTH, PER_MONTH, GROUP_MONTH},
    {PERIOD_YEAR, PER_YEAR, GROUP_YEAR},
};

static bool group_of(int period, enum plan_per *per, enum plan_group *group)
{
    for (size_t k = 0; k < 3; k++) {
        if (period_rows[k].period != period) continue;
        *per = period_rows[k].per;
        *group = period_rows[k].group;
        return true;
    }
    return false;
}

static void set_group(struct parse *p, enum plan_group group)
{
    p->f.has_group = true;
    p->f.group = group;
}

/* "per week", "a night", "by month", "for each weekday", "month by month". */
static size_t take_per(struct parse *p, size_t i)
{
    enum plan_per per;
    enum plan_group group;
    bool is_per = is_at(p, i, S_PER), is_each = is_at(p, i, S_EACH);
    if (!is_per && !is_each) return 0;
    size_t at = text_is(p, i + 1, "calendar") || text_is(p, i + 1, "the") || mark_is(p, i + 1, '-')
                    ? i + 2
                    : i + 1;
    bool is_grouping =
        is_each && !text_is(p, i, "per") && !text_is(p, i, "each") && !text_is(p, i, "every");
    if (is_at(p, at, S_DAY_OF_WEEK) && is_each &&
        !(is_at(p, at, S_WEEKDAY) && text_is(p, i, "across"))) {
        set_group(p, GROUP_WEEKDAY);
        tokens_use(p, i, at + 1);
        return at + 1;
    }
    const struct sense *period = sense_at(p, at, S_PERIOD);
    if (!period) return 0;
    if (period->arg <= PERIOD_MORNING) {
        if (is_grouping && !text_is(p, i, "for each") && !text_is(p, i, "for every")) return 0;
        if (!is_at(p, i, S_A) || !is_at(p, at + 1, S_IF)) p->f.has_per_day = true;
        tokens_use(p, i, at + 1);
        return at + 1;
    }
    if (!group_of(period->arg, &per, &group)) return 0;
    if (is_grouping) {
        set_group(p, group);
    } else {
        p->f.has_per = true;
        p->f.per = per;
    }
    tokens_use(p, i, at + 1);
    return at + 1;
}

static size_t take_per_word(struct parse *p, size_t i)
{
    enum plan_per per;
    enum plan_group group;
    const struct sense *s = sense_at(p, i, S_PER_WORD);
    if (!s) return 0;
    if (group_of(s->arg, &per, &group)) {
        p->f.has_per = true;
        p->f.per = per;
    } else {
        p->f.has_per_day = true;
    }
    tokens_use(p, i, i + 1);
    return i + 1;
}

/* "which month", "what week", "best month". */
static size_t take_which_period(struct parse *p, size_t i)
{
    enum plan_per per;
    enum plan_group group;
    bool is_which = is_at(p, i, S_WHICH) || is_at(p, i, S_WHAT) || is_at(p, i, S_MOST);
    if (is_at(p, i, S_DAY_OF_WEEK) &&
        (!is_at(p, i, S_WEEKDAY) ||
         (i > 0 &&
          (is_at(p, i - 1, S_WHICH) || is_at(p, i - 1, S_WHAT) || is_at(p, i - 1, S_MOST))))) {
        set_group(p, GROUP_WEEKDAY);
        if (is_at(p, i, S_WHICH)) p->f.asks_which = true;
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    const struct sense *own = sense_at(p, i, S_PERIOD);
    bool is_with = own && (is_at(p, i + 1, S_WITH) || is_at(p, i + 1, S_IF));
    if (is_with && is_at(p, skip_small(p, i + 2), S_MOST) && group_of(own->arg, &per, &group)) {
        set_group(p, group);
        tokens_use(p, i, i + 2);
        return i + 2;
    }
    const struct sense *period = sense_at(p, i + 1, S_PERIOD);
    if (!is_which || !period || !group_of(period->arg, &per, &group)) return 0;
    set_group(p, group);
    p->f.asks_which = true;
    if (is_at(p, i, S_MOST)) set_most(p, i, (enum super_kind)sense_at(p, i, S_MOST)->arg);
    tokens_use(p, i, i + 2);
    return i + 2;
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

/* What is counted: "how many days", "how many runs", "how many hours". */
static size_t take_counted(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    size_t at = i + 1;
    while (is_at(p, at, S_THE) || text_is(p, at, "of") || text_is(p, at, "different") ||
           text_is(p, at, "calendar") || text_is(p, at, "total") || text_is(p, at, "separate") ||
           text_is(p, at, "individual"))
        at++;
    const struct sense *period = sense_at(p, at, S_PERIOD);
    if (period && period->arg <= PERIOD_MORNING) {
        f->counted = COUNT_DAYS;
        f->counts_nights = period->arg == PERIOD_NIGHT;
        tokens_use(p, i, at + 1);
        return at + 1;
    }
    if (is_at(p, at, S_TIMES)) {
        f->counted = COUNT_TIMES;
        tokens_use(p, i, at + 1);
        return at + 1;
    }
    if (is_at(p, at, S_READING) && !is_at(p, at, S_FILLER)) {
        f->has_reading = true;
        f->counted = COUNT_RESULTS;
        tokens_use(p, i, at + 1);
        return at + 1;
    }
    const struct sense *unit = sense_at(p, at, S_UNIT);
    if (unit) {
        if (is_at(p, at, S_PERCENT)) f->is_percent = true;
        else f->unit = unit->ptr;
        /* The unit may be the thing itself, too: "how many steps", "how many calories". */
        size_t end = is_subject(p, at) ? at : at + 1;
        tokens_use(p, i, end);
        return end;
    }
    tokens_use(p, i, i + 1);
    return i + 1;
}

static size_t take_ask(struct parse *p, size_t i)
{
    static const enum symbol asks[] = {S_HOW_OFTEN, S_HOW_MANY,  S_HOW_LONG, S_HOW_FAR,
                                       S_HOW_MUCH,  S_WHAT_TIME, S_WHICH};
    for (size_t k = 0; k < sizeof asks / sizeof *asks; k++) {
        if (!is_at(p, i, asks[k])) continue;
        set_ask(p, asks[k]);
        close_scope(p);
        if (asks[k] == S_HOW_MUCH && text_is(p, i + 1, "data")) {
            p->f.asks_many = p->f.has_reading = true;
            p->f.counted = COUNT_RESULTS;
        }
        if (asks[k] == S_HOW_MANY) return take_counted(p, i);
        /* "which is the largest" asks for the value. */
        bool is_value = text_is(p, i, "which") &&
                        (is_at(p, i + 1, S_IS) || is_at(p, i + 1, S_THE)) &&
                        !text_is(p, i + 1, "had") && !text_is(p, i + 1, "has");
        if (is_value) {
            p->f.asks_which = false;
            p->f.ask = S_NONE;
        }
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    if (!is_at(p, i, S_WHEN)) return 0;
    set_ask(p, S_WHEN);
    close_scope(p);
    tokens_use(p, i, i + 1);
    return i + 1;
}

/* ---- statistics and flags ---- */

static size_t take_stat(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    const struct sense *s = sense_at(p, i, S_STAT);
    const struct sense *most = sense_at(p, i, S_MOST);
    if (!s && !most && !is_at(p, i, S_WEAK_MEAN) && !is_at(p, i, S_SPREAD)) return 0;
    bool is_how = text_is(p, i, "how high") || text_is(p, i, "how low");
    if (most && is_how) {
        f->most_is_weak = !f->has_most;
        if (!f->has_most) set_most(p, i, (enum super_kind)most->arg);
    } else if (most && !(s && s->arg != STAT_MAX && s->arg != STAT_MIN)) {
        f->most_is_weak = false;
        /* "the latest reading" is the newest one; of bedtimes it is the latest hour. */
        bool is_time_order = most->arg == MOST_LATEST || most->arg == MOST_EARLIEST;
        if (is_time_order) {
            f->has_latest = f->has_latest || most->arg == MOST_LATEST;
            f->has_first = f->has_first || most->arg == MOST_EARLIEST;
        }
        if (!is_time_order || !f->has_most) set_most(p, i, (enum super_kind)most->arg);
    } else if (s) {
        add_stat(p, (enum plan_stat)s->arg);
    } else if (is_at(p, i, S_WEAK_MEAN)) {
        f->has_weak_mean = true;
    } else {
        f->is_spread = true;
    }
    tokens_use(p, i, i + 1);
    if (p->scope > 0) close_scope(p);
    return i + 1;
}

static size_t flag(struct parse *p, size_t i, bool *flag)
{
    *flag = true;
    tokens_use(p, i, i + 1);
    return i + 1;
}

static size_t take_compare(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    if (is_at(p, i, S_COMPARE)) {
        close_scope(p);
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
    if (is_at(p, i, S_PERCENT) && !(i > 0 && is_at(p, i - 1, S_NUMBER)))
        return flag(p, i, &f->is_percent);
    return 0;
}

/* "a Theil-Sen regression" is no ordinary one. */
static void set_method(struct parse *p, enum plan_method method)
{
    bool is_plain = method == METHOD_OLS || method == METHOD_PEARSON;
    if (p->f.method == METHOD_DEFAULT || !is_plain) p->f.method = method;
}

static size_t take_shape(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    const struct sense *s = sense_at(p, i, S_METHOD);
    if (is_at(p, i, S_CORRELATE)) {
        if (is_at(p, i, S_REFUSE) || text_is(p, i, "affect") || text_is(p, i, "affects") ||
            text_is(p, i, "influence") || text_is(p, i, "impact") || text_is(p, i, "effect"))
            ask_note(p, "read as a correlation, which is no cause");
        if (s) set_method(p, (enum plan_method)s->arg);
        return flag(p, i, &f->is_correlation);
    }
    if (s) {
        set_method(p, (enum plan_method)s->arg);
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    if (is_at(p, i, S_STREAK)) return flag(p, i, &f->is_streak);
    if (is_at(p, i, S_TREND) && !is_at(p, i, S_FIELD)) return flag(p, i, &f->is_trend);
    if (is_at(p, i, S_ANOMALY)) return flag(p, i, &f->is_anomaly);
    if (is_at(p, i, S_DISTRIBUTION)) return flag(p, i, &f->is_distribution);
    const struct sense *change = sense_at(p, i, S_CHANGE);
    if (change && !is_at(p, i, S_ACTIVITY)) {
        f->direction = change->arg != 0 ? change->arg : f->direction;
        return flag(p, i, &f->is_change);
    }
    return 0;
}

static size_t take_small_flags(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    if (is_at(p, i, S_LAST) && !is_at(p, i, S_FILLER)) {
        if (is_at(p, i, S_CURRENT)) f->has_current = true;
        return flag(p, i, &f->has_latest);
    }
    if (is_at(p, i, S_FIRST)) return flag(p, i, &f->has_first);
    if (is_at(p, i, S_CURRENT) || is_at(p, i, S_THIS)) {
        bool is_plain_this = text_is(p, i, "this");
        if (!is_plain_this) f->has_current = true;
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    if (is_at(p, i, S_LIST) && !is_at(p, i, S_FILLER)) return flag(p, i, &f->is_list);
    if (is_at(p, i, S_TIMES) && !is_at(p, i, S_FIELD) && !is_at(p, i, S_METRIC)) {
        if (f->counted == COUNT_NOTHING) f->counted = COUNT_TIMES;
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    if (is_at(p, i, S_SESSION) && !is_at(p, i, S_WORKOUT)) {
        if (f->counted == COUNT_NOTHING && f->asks_many) f->counted = COUNT_SESSIONS;
        if (is_at(p, i, S_READING)) f->has_reading = true;
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    if (is_at(p, i, S_READING) || is_at(p, i, S_RESULT)) {
        if (text_is(p, i, "coverage") || text_is(p, i, "data coverage")) {
            f->asks_many = true;
            f->counted = COUNT_RESULTS;
        }
        f->has_reading = f->has_reading || is_at(p, i, S_READING);
        f->has_result = f->has_result || is_at(p, i, S_RESULT);
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    return 0;
}

/* "in hours", "expressed in pounds"; "in units per week" says nothing. */
static size_t take_unit(struct parse *p, size_t i)
{
    size_t at = i;
    if (is_at(p, at, S_IN) || text_is(p, at, "as") || text_is(p, at, "in") ||
        text_is(p, at, "to") || text_is(p, at, "into"))
        at++;
    const struct sense *unit = sense_at(p, at, S_UNIT);
    if (!unit || is_at(p, at, S_NUMBER)) return 0;
    bool is_lead = at > i;
    if (is_lead && is_subject(p, at) && p->f.n_mentions == 0) return 0;
    bool is_thing = is_subject(p, at) && !is_lead;
    if (is_thing || (is_at(p, at, S_STAT) && !is_lead) || (is_at(p, at, S_PERCENT))) return 0;
    if (!is_lead && (is_at(p, at, S_FIELD))) {
        /* "minutes of run": the unit of what is asked for. */
        bool is_of = is_at(p, at + 1, S_OF) || is_at(p, at + 1, S_ACTIVITY) || p->f.asks_many;
        if (!is_of && p->f.unit) return 0;
    }
    if (p->f.unit && !is_lead && strcmp(p->f.unit, unit->ptr) != 0) return 0;
    if (p->t->list[at].text.len == 1) return 0;
    p->f.unit = unit->ptr;
    p->f.unit_is_said = is_lead;
    tokens_use(p, i, at + 1);
    return at + 1;
}

/* ---- things ---- */

static const struct metric *pick_metric(struct parse *p, size_t i)
{
    const struct senses *s = &p->t->list[i].senses;
    const struct metric *first = NULL;
    for (size_t k = 0; k < s->n; k++) {
        if (s->list[k].symbol != S_METRIC) continue;
        const struct metric *m = s->list[k].ptr;
        if (has_metric_data(p->data, m)) return m;
        if (!first) first = m;
    }
    return first;
}

static bool has_lab(const struct ask_data *data, const struct analyte *a)
{
    for (size_t i = 0; i < data->n_labs; i++)
        if (data->labs[i].analyte == a) return true;
    return false;
}

static bool has_activity(const struct ask_data *data, const struct activity *a)
{
    for (size_t i = 0; i < data->n_workouts; i++)
        if (data->workouts[i].activity == a) return true;
    return false;
}

/* Where a word is both a metric and a laboratory test, or a metric and a sport, the data decide. */
static enum mention_kind kind_of(struct parse *p, size_t i, const struct metric *m)
{
    const struct sense *lab = sense_at(p, i, S_ANALYTE);
    const struct sense *activity = sense_at(p, i, S_ACTIVITY);
    bool has_data = m && has_metric_data(p->data, m);
    if (lab && (!m || (!has_data && has_lab(p->data, lab->ptr)))) return M_ANALYTE;
    if (activity && (!m || (!has_data && has_activity(p->data, activity->ptr)))) return M_ACTIVITY;
    if (m) return M_METRIC;
    return is_at(p, i, S_WORKOUT) ? M_WORKOUT : M_FIELD;
}

/* "heart rate" and the like: what it was read as is worth saying. */
static void note_choice(struct parse *p, size_t i, const struct metric *m)
{
    struct weir_slice t = p->t->list[i].text;
    size_t n = 0;
    for (size_t k = 0; k < p->t->list[i].senses.n; k++)
        n += p->t->list[i].senses.list[k].symbol == S_METRIC ? 1 : 0;
    if (n > 1 && t.len > 0) ask_note(p, "\"%.*s\" read as %s", (int)t.len, t.ptr, m->title);
}

/* "hours of sleep": the name says in what it is wanted. */
static const char *unit_in_name(struct weir_slice text)
{
    for (size_t i = 0; i + 4 <= text.len; i++)
        if (memcmp(text.ptr + i, "hour", 4) == 0 && (i == 0 || text.ptr[i - 1] == ' ')) return "h";
    return NULL;
}

static void note_total(struct parse *p, size_t i)
{
    struct weir_slice t = p->t->list[i].text;
    bool begins = t.len > 6 && memcmp(t.ptr, "total ", 6) == 0;
    bool ends = t.len > 6 && memcmp(t.ptr + t.len - 6, " total", 6) == 0;
    bool is_daily = memmem(t.ptr, t.len, "daily", 5) || memmem(t.ptr, t.len, "day", 3);
    if ((begins || ends) && !is_daily) {
        add_stat(p, STAT_SUM);
        p->f.sum_is_name = true;
    }
    /* "my most stressful day": which one. */
    bool is_quality =
        weir_slice_is(t, "stressful") || weir_slice_is(t, "active") || weir_slice_is(t, "stressed");
    if (is_quality && i > 0 && is_at(p, i - 1, S_MOST) && text_is(p, i + 1, "day") &&
        !p->t->list[i + 1].is_owner)
        p->f.asks_which = true;
}

/* Of those who have no such series, the distance of the sessions is meant. */
static void as_sessions(struct parse *p, struct mention *n)
{
    static const struct {
        const char *metric, *begin, *activity;
    } rows[] = {{"swimming_distance", "", "swim"},
                {"cycling_distance", "", "bike"},
                {"distance", "walk", "walk"}};
    if (!n->metric || has_metric_data(p->data, n->metric)) return;
    struct weir_slice t = p->t->list[n->at].text;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        size_t len = strlen(rows[k].begin);
        if (strcmp(n->metric->name, rows[k].metric) != 0 || t.len < len ||
            memcmp(t.ptr, rows[k].begin, len) != 0)
            continue;
        n->kind = M_ACTIVITY;
        n->activity = activity_find(weir_slice_of(rows[k].activity));
        n->has_field = true;
        n->field = FIELD_KM;
        n->metric = NULL;
        return;
    }
}

static size_t take_thing(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    const struct metric *m = pick_metric(p, i);
    const struct sense *field = sense_at(p, i, S_FIELD);
    if (!m && !field && !is_subject(p, i)) return 0;
    if (f->n_mentions == MAX_MENTIONS) {
        ask_refuse(p, "There are more things in this question than can be read at once.");
        return i + 1;
    }
    struct mention *n = &f->mentions[f->n_mentions++];
    *n = (struct mention){.kind = kind_of(p, i, m), .at = i, .scope = p->scope, .metric = m};
    const struct sense *s = sense_at(p, i, S_ACTIVITY);
    if (s) n->activity = s->ptr;
    s = sense_at(p, i, S_ANALYTE);
    if (s) n->analyte = s->ptr;
    if (field) {
        n->has_field = true;
        n->field = (enum plan_field)field->arg;
    }
    n->is_unit = is_at(p, i, S_UNIT);
    /* "heaviest", "lightest": the thing and the most of it in one word. */
    const struct sense *most = sense_at(p, i, S_MOST);
    if (most && m && !f->has_most) set_most(p, i, (enum super_kind)most->arg);
    if (m && !f->unit && p->scope == 0) f->unit = unit_in_name(p->t->list[i].text);
    as_sessions(p, n);
    if (n->kind == M_METRIC && p->scope == 0) note_choice(p, i, m);
    tokens_use(p, i, i + 1);
    size_t end = i + 1;
    bool is_sport = n->kind == M_ACTIVITY || n->kind == M_WORKOUT;
    if (is_sport && is_at(p, end, S_SESSION)) {
        n->is_counted = true;
        tokens_use(p, end, end + 1);
        end++;
    }
    /* "total steps": the name says what is wanted; a "daily total" is the day's value. */
    if (n->kind == M_METRIC && p->scope == 0) note_total(p, i);
    if (f->asks_many && i > 0 && is_sport && f->counted == COUNT_NOTHING && !f->unit &&
        (is_at(p, i - 1, S_HOW_MANY) || n->is_counted)) {
        n->is_counted = true;
        f->counted = COUNT_SESSIONS;
    }
    return end;
}

static size_t take_mark(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_MARK)) return 0;
    tokens_use(p, i, i + 1);
    if (p->scope > 0 && current_scope(p)->at + 1 < i) close_scope(p);
    return i + 1;
}

static size_t take_filler(struct parse *p, size_t i)
{
    static const enum symbol small[] = {
        S_FILLER, S_IN,    S_ON,     S_OF,    S_AND,  S_THE,   S_A,        S_SELF,  S_DO,
        S_TO,     S_WITH,  S_FROM,   S_BY,    S_IF,   S_EVER,  S_WHAT,     S_IS,    S_NORMAL,
        S_ALL,    S_LATER, S_PERIOD, S_OTHER, S_THAN, S_WHICH, S_PREVIOUS, S_START, S_BETWEEN};
    if (text_is(p, i, "at most") && p->f.is_streak) {
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    bool is_either =
        is_at(p, i, S_OR) && i > 0 &&
        ((is_at(p, i - 1, S_CHANGE) && is_at(p, i + 1, S_CHANGE)) ||
         (is_at(p, i - 1, S_TREND) && is_at(p, i + 1, S_TREND)) || is_at(p, i + 1, S_FILLER));
    if (is_either || is_at(p, i, S_GOAL)) {
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    /* "not" and its kin turn a sentence round: nobody may skip them. */
    if (is_at(p, i, S_NOT) || is_at(p, i, S_WITHOUT)) return 0;
    for (size_t k = 0; k < sizeof small / sizeof *small; k++) {
        if (!is_at(p, i, small[k])) continue;
        bool is_days = small[k] == S_PERIOD && is_day_like(p, i);
        if (small[k] == S_PERIOD && !is_days) return 0;
        if (is_days && p->f.counted == COUNT_NOTHING &&
            sense_at(p, i, S_PERIOD)->arg == PERIOD_NIGHT)
            p->f.counts_nights = true;
        tokens_use(p, i, i + 1);
        return i + 1;
    }
    return 0;
}

static const production_fn productions[] = {
    take_tomorrow,
    take_refusal,
    take_on_off,
    take_activity_days,
    take_other_days,
    take_rolling,
    take_newest,
    take_next_day,
    take_weekend,
    take_window,
    take_days_later,
    take_day_before,
    take_implied_previous,
    take_restated,
    take_since_first,
    take_lag_word,
    take_which_period,
    take_days_when,
    take_when,
    take_after_activity,
    take_quantile,
    take_rank,
    take_quantity,
    take_without,
    take_dayname,
    take_per,
    take_per_word,
    take_ask,
    take_compare,
    take_unit,
    take_thing,
    take_stat,
    take_shape,
    take_small_flags,
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
        if (is_at(p, i, S_DAYNAME) || is_at(p, i, S_OR)) tokens_use(p, i, i + 1);
    p->f.has_group = true;
    p->f.group = GROUP_WEEKDAY;
}

static void mark_sentence(struct parse *p)
{
    struct frame *f = &p->f;
    size_t i = 0;
    skip_listed_days(p);
    while (i < p->t->n && is_at(p, i, S_FILLER) && !is_at(p, i, S_IS) && !is_at(p, i, S_WHAT) &&
           !text_is(p, i, "how"))
        i++;
    f->asks_yes_no = is_at(p, i, S_IS) && !text_is(p, i, "can") && !text_is(p, i, "could") &&
                     !text_is(p, i, "would");
    for (size_t k = 0; k + 1 < p->t->n; k++)
        if ((text_is(p, k, "do") || text_is(p, k, "does") || text_is(p, k, "is") ||
             text_is(p, k, "are")))
            f->is_present = true;
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

/* The thing a threshold is about: the one right behind it, or the nearest before, in its scope. */
static struct mention *owner_of(struct parse *p, const struct quantity *q, uint8_t scope)
{
    struct frame *f = &p->f;
    struct mention *before = NULL, *after = NULL;
    for (size_t k = 0; k < f->n_mentions; k++) {
        struct mention *m = &f->mentions[k];
        bool is_thing = m->kind == M_METRIC || m->kind == M_ANALYTE || m->has_field ||
                        m->kind == M_ACTIVITY || m->kind == M_WORKOUT;
        if (m->scope != scope || m->has_quantity || !is_thing) continue;
        if (m->at < q->at) before = m;
        if (m->at >= q->end && !after) after = m;
    }
    bool is_close = after && after->at <= q->end + 2;
    bool is_joined = is_close && (after->at == q->end || is_at(p, q->end, S_OF) || !before);
    if (is_joined) return after;
    if (before) return before;
    return after;
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

/* "on days I run my average HRV": a metric without threshold in a condition is the question's. */
static void release_mentions(struct parse *p)
{
    struct frame *f = &p->f;
    bool has_main = false;
    for (size_t k = 0; k < f->n_mentions; k++) {
        struct mention *m = &f->mentions[k];
        has_main = has_main || (m->scope == 0 && m->kind != M_FIELD);
    }
    if (has_main && !f->is_correlation) return;
    for (size_t k = 0; k < f->n_mentions; k++) {
        struct mention *m = &f->mentions[k];
        bool is_measured = m->kind == M_METRIC || m->kind == M_ANALYTE;
        if (m->scope > 0 && is_measured && !m->has_quantity) m->scope = 0;
    }
    if (f->n_scopes != 2 || f->scopes[1].is_other || f->scopes[1].is_not) return;
    for (size_t k = 0; k < f->n_mentions; k++)
        if (f->mentions[k].scope == 1) return;
    f->n_scopes = 1;
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
