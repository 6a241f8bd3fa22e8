/* SPDX-License-Identifier: Apache-2.0 */
/* Phrases of time: windows, moving averages, days later, "per week", "which month". */
#include "ask/parse_impl.h"

enum { MAX_NEWEST = 1000, MAX_LAG = 60, MAX_ROLLING = 366, MAX_SPAN = 3660 };

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

size_t take_window(struct parse *p, size_t i)
{
    struct window w;
    size_t end;
    if (!window_at(p, i, &w, &end)) return 0;
    add_window(p, &w);
    close_scope(p);
    return took(p, i, end);
}

/* "(7 days)" behind "the most recent week"; "over 7 days" where nothing else says when. */
size_t take_restated(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    const struct sense *period = sense_at(p, i + 1, S_PERIOD);
    if (!is_at(p, i, S_NUMBER) || !period || period->arg != PERIOD_DAY) return 0;
    double n = p->t->list[i].number;
    if (n < 2 || n > MAX_SPAN) return 0;
    uint32_t length = f->n_windows > 0 ? f->windows[f->n_windows - 1].length : 0;
    bool is_said = n == length || n == f->rolling_days || (f->is_rolling && n == 7);
    bool is_span = i > 0 && is_at(p, i - 1, S_IN) && f->n_windows == 0;
    if (is_said) return took(p, i, i + 2);
    if (!is_span) return 0;
    struct window w = {
        .at = i, .length = (uint32_t)n, .days = {DAY_NONE, DAY_NONE, (uint32_t)n, 0}};
    add_window(p, &w);
    ask_note(p, "read as the last %u days", (unsigned)n);
    return took(p, i, i + 2);
}

/* "the previous 10 days including today": they end today. */
size_t take_including_today(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    if (!text_in(p, i, "including|inclusive of|incl|and including|counting") || f->n_windows == 0)
        return 0;
    struct window *w = &f->windows[f->n_windows - 1];
    if (!is_at(p, i + 1, S_TODAY) || w->days.last == 0) return 0;
    w->is_previous = false;
    w->days.skip = 0;
    return took(p, i, i + 2);
}

/* "since my first test": from the first to the latest. */
size_t take_since_first(struct parse *p, size_t i)
{
    if (!IS_ANY(p, i, S_SINCE, S_FROM)) return 0;
    size_t at = skip_small(p, i + 1);
    if (!is_at(p, at, S_FIRST)) return 0;
    size_t end = at + 1;
    while (IS_ANY(p, end, S_RESULT, S_READING, S_ANALYTE)) {
        if (is_at(p, end, S_ANALYTE)) take_thing(p, end);
        end++;
    }
    if (end == at + 1 && !has_symbol(p, S_ANALYTE)) return 0;
    p->f.has_first = true;
    p->f.is_change = true;
    return took(p, i, end);
}

/* "the previous 30", "the 30 before": so many days as the window before has. */
static bool is_same_length(const struct parse *p, size_t i)
{
    const struct frame *f = &p->f;
    double n = 0;
    if (f->n_windows == 0) return false;
    if (is_at(p, i, S_PREVIOUS) && is_at(p, i + 1, S_NUMBER)) n = p->t->list[i + 1].number;
    if (is_at(p, i, S_NUMBER) && is_at(p, i + 1, S_BEFORE_THAT)) n = p->t->list[i].number;
    return n > 0 && n == f->windows[f->n_windows - 1].length;
}

/* "compared with before", "versus the previous period": the same length, just before. */
size_t take_implied_previous(struct parse *p, size_t i)
{
    size_t at = skip_small(p, i);
    bool is_named = text_in(p, at + 1, "period|window|one|stretch|span|ones|time period");
    bool is_period = (is_at(p, at, S_PREVIOUS) && is_named) ||
                     (text_is(p, at, "period") && is_at(p, at + 1, S_BEFORE_THAT));
    bool ends = at + 1 >= p->t->n || IS_ANY(p, at + 1, S_MARK, S_OF);
    bool is_bare = is_at(p, at, S_BEFORE_THAT) && ends && p->f.n_windows > 0;
    bool is_two = is_period || is_same_length(p, at);
    if (!is_two && !is_bare) return 0;
    p->f.implies_previous = true;
    return took(p, i, is_two ? at + 2 : at + 1);
}

/* ---- moving averages ---- */

static size_t set_rolling(struct parse *p, size_t i, size_t end, uint32_t days)
{
    p->f.is_rolling = true;
    if (days > 0) p->f.rolling_days = days;
    return took(p, i, end);
}

/* "rolling", "a moving average", "rolling 7": without a length in days, weeks or months. */
static size_t take_rolling_word(struct parse *p, size_t i)
{
    bool has_number =
        is_at(p, i + 1, S_NUMBER) && !is_at(p, i + 2, S_PERIOD) && !mark_is(p, i + 2, '-');
    double n = has_number ? p->t->list[i + 1].number : 0;
    if (n >= 2 && n <= MAX_ROLLING) return set_rolling(p, i, i + 2, (uint32_t)n);
    if (!text_in(p, i, "rolling|moving")) add_stat(p, STAT_MEAN);
    return set_rolling(p, i, i + 1, 0);
}

static uint32_t days_in(int period)
{
    return period == PERIOD_WEEK ? 7 : period == PERIOD_MONTH ? 30 : 1;
}

/* What stands behind "7-day": "average", "rolling mean"; 0 when it is neither. */
static size_t rolling_stat(struct parse *p, size_t i, bool is_said)
{
    size_t end = mark_is(p, i, '-') ? i + 1 : i;
    bool is_rolling = is_at(p, end, S_ROLLING);
    if (is_rolling) end++;
    /* "7-day step average": the thing may stand between, and is read next. */
    const struct sense *far = is_at(p, end, S_METRIC) ? sense_at(p, end + 1, S_STAT) : NULL;
    if (far && far->arg == STAT_MEAN) return end;
    const struct sense *stat = sense_at(p, end, S_STAT);
    bool is_mean = stat && stat->arg == STAT_MEAN;
    if (!is_rolling && !is_said && !is_mean) return 0;
    add_stat(p, stat ? (enum plan_stat)stat->arg : STAT_MEAN);
    return stat ? end + 1 : end;
}

/* "7-day average", "rolling 7-day mean", "7 day moving average". */
size_t take_rolling(struct parse *p, size_t i)
{
    bool is_running =
        text_is(p, i, "running") && is_at(p, i + 1, S_NUMBER); /* "running 7-day average" */
    bool is_said = is_at(p, i, S_ROLLING) || is_running;
    size_t at = is_said ? i + 1 : i;
    size_t unit = mark_is(p, at + 1, '-') ? at + 2 : at + 1;
    const struct sense *period = sense_at(p, unit, S_PERIOD);
    bool has_length = is_at(p, at, S_NUMBER) && !p->t->list[at].is_ordinal && period;
    if (!has_length) return is_said && !is_running ? take_rolling_word(p, i) : 0;
    double days = p->t->list[at].number * days_in(period->arg);
    if (days < 1 || days > MAX_ROLLING) return 0;
    size_t end = rolling_stat(p, unit + 1, is_said);
    return end > 0 ? set_rolling(p, i, end, (uint32_t)days) : 0;
}

/* ---- sessions ---- */

/* "how long did I run last time" */
static bool is_last_time(const struct parse *p, size_t i)
{
    bool has_sport = has_symbol(p, S_ACTIVITY) || has_symbol(p, S_WORKOUT);
    return is_at(p, i, S_LAST) && text_is(p, i + 1, "time") && has_sport && !has_symbol(p, S_WHEN);
}

static bool is_session_noun(const struct parse *p, size_t i)
{
    size_t at = skip_small(p, i);
    if (text_in(p, at, "logged|recorded")) at++;
    return is_sport_at(p, at) || (is_at(p, at, S_SESSION) && !is_at(p, at, S_READING));
}

/* "last 3 runs", "most recent swim", "latest three sessions". */
size_t take_newest(struct parse *p, size_t i)
{
    double n = 1;
    size_t at = i;
    if (is_last_time(p, i)) {
        p->f.newest = 1;
        return took(p, i, i + 2);
    }
    bool has_number = is_at(p, at, S_NUMBER) && !p->t->list[at].is_ordinal;
    if (has_number) n = p->t->list[at++].number;
    if (!IS_ANY(p, at, S_LAST, S_PREVIOUS) || text_in(p, at, "just|immediate")) return 0;
    at++;
    if (is_at(p, at, S_NUMBER) && !has_number) n = p->t->list[at++].number;
    if (!is_session_noun(p, at) || n < 1 || n > MAX_NEWEST || n != (double)(uint32_t)n) return 0;
    p->f.newest = (uint32_t)n;
    return took(p, i, at);
}

/* ---- days later ---- */

static size_t set_lag(struct parse *p, size_t i, size_t end, int lag)
{
    p->f.has_lag = true;
    p->f.lag = lag;
    p->f.lag_at = i;
    return took(p, i, end);
}

static bool has_text(const struct parse *p, const char *text)
{
    for (size_t i = 0; i < p->t->n; i++)
        if (text_is(p, i, text)) return true;
    return false;
}

/* "steps today, sleep tomorrow", "on day t + 1": of a correlation. */
size_t take_tomorrow(struct parse *p, size_t i)
{
    if (!has_symbol(p, S_CORRELATE) && !has_symbol(p, S_METHOD)) return 0;
    if (text_is(p, i, "tomorrow")) return set_lag(p, i, i + 1, 1);
    if (text_is(p, i, "yesterday") && has_text(p, "today")) return set_lag(p, i, i + 1, -1);
    bool is_t = text_is(p, i, "t") && mark_is(p, i + 1, '+') && is_at(p, i + 2, S_NUMBER);
    if (is_t && p->t->list[i + 2].number <= MAX_LAG)
        return set_lag(p, i, i + 3, (int)p->t->list[i + 2].number);
    bool has_other = has_text(p, "tomorrow") || has_text(p, "yesterday") || has_symbol(p, S_NEXT);
    return text_is(p, i, "today") && has_other ? took(p, i, i + 1) : 0;
}

static bool is_next_day(const struct parse *p, size_t i, size_t *end)
{
    if (!is_at(p, i, S_NEXT)) return false;
    *end = i + 1;
    if (p->t->list[i].n_words > 1 && !text_is(p, i, "very next")) return true;
    size_t at = text_is(p, i + 1, "calendar") || mark_is(p, i + 1, '-') ? i + 2 : i + 1;
    if (!is_day_like(p, at)) return false;
    *end = at + 1;
    return true;
}

static bool says_after(const struct parse *p, size_t i)
{
    struct weir_slice t = p->t->list[i].text;
    return t.len >= 5 && memcmp(t.ptr + t.len - 5, "after", 5) == 0;
}

/* "the next day"; "the day after a run", which is a condition. */
size_t take_next_day(struct parse *p, size_t i)
{
    size_t end;
    bool is_pair = text_is(p, i, "next") && has_text(p, "on one day"); /* "on one day … the next" */
    if (is_pair && !is_at(p, i + 1, S_PERIOD)) return set_lag(p, i, i + 1, 1);
    if (!is_next_day(p, i, &end)) return 0;
    if (says_after(p, i) && begins_condition(p, end)) return open_shifted_scope(p, i, end, -1);
    bool is_head = is_at(p, end, S_CORRELATE) && p->f.n_mentions == 0; /* "next-day correlation" */
    if (is_head) p->f.lag_is_general = true;
    return set_lag(p, i, end, 1);
}

/* "days later", "day after", "day lag" behind a number. */
static size_t later_at(struct parse *p, size_t i, size_t at, int n)
{
    bool is_phrase = is_at(p, at, S_NEXT) && p->t->list[at].n_words == 2; /* "days later" */
    if (is_phrase && !is_at(p, at, S_PERIOD)) return set_lag(p, i, at + 1, n);
    if (!is_day_like(p, at)) return 0;
    const struct sense *later = sense_at(p, at + 1, S_LATER);
    bool is_date = IS_ANY(p, at + 2, S_MONTH, S_DATE, S_NUMBER); /* "a day, before 3 May" */
    if (later && !is_date && !text_in(p, at + 1, "on|prior|out"))
        return set_lag(p, i, at + 2, n * later->arg);
    if (mark_is(p, at + 1, '-')) at++;
    if (!is_at(p, at + 1, S_LAG_WORD)) return 0;
    p->f.lag_is_general = true;
    return set_lag(p, i, at + 2, n);
}

/* "two days later", "one day earlier", "a day after", "a one-day lag". */
size_t take_days_later(struct parse *p, size_t i)
{
    bool has_number = is_at(p, i, S_NUMBER) && !p->t->list[i].is_ordinal;
    double n = has_number ? p->t->list[i].number : 1;
    if (!has_number && !is_at(p, i, S_A)) return 0;
    if (n < 1 || n > MAX_LAG || n != (double)(int)n) return 0;
    return later_at(p, i, mark_is(p, i + 1, '-') ? i + 2 : i + 1, (int)n);
}

/* "lag of 1 day", "lagged by one day", "lag 1". */
size_t take_lag_word(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_LAG_WORD)) return 0;
    size_t at = i + 1;
    int n = 1;
    while (IS_ANY(p, at, S_BY, S_OF, S_A) || mark_is(p, at, '-') || mark_is(p, at, '=')) at++;
    if (is_at(p, at, S_NUMBER)) {
        if (p->t->list[at].number > MAX_LAG) return 0;
        n = (int)p->t->list[at++].number;
    }
    if (mark_is(p, at, '-')) at++;
    if (is_day_like(p, at)) at++;
    p->f.lag_is_general = true;
    return set_lag(p, i, at, n);
}

/* "the previous night's sleep", "the day before". */
size_t take_day_before(struct parse *p, size_t i)
{
    bool is_previous = IS_ANY(p, i, S_PREVIOUS) && is_day_like(p, i + 1);
    if (is_previous && !is_at(p, i + 2, S_NUMBER)) return set_lag(p, i, i + 2, -1);
    bool is_before = text_in(p, i + 1, "before|prior|earlier");
    if (!is_day_like(p, i) || !is_before) return 0;
    if (IS_ANY(p, i + 2, S_YESTERDAY, S_MONTH, S_DATE, S_NUMBER)) return 0; /* before a date */
    if (begins_condition(p, i + 2)) return open_shifted_scope(p, i, i + 2, 1);
    return set_lag(p, i, i + 2, -1);
}

/* ---- per, by, each ---- */

static bool group_of(int period, enum plan_per *per, enum plan_group *group)
{
    static const struct {
        int period;
        enum plan_per per;
        enum plan_group group;
    } rows[] = {
        {PERIOD_WEEK, PER_WEEK, GROUP_WEEK},
        {PERIOD_MONTH, PER_MONTH, GROUP_MONTH},
        {PERIOD_YEAR, PER_YEAR, GROUP_YEAR},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (rows[k].period != period) continue;
        *per = rows[k].per;
        *group = rows[k].group;
        return true;
    }
    return false;
}

/* "per day", "a night", "each day": the days' own values. */
static size_t take_per_day(struct parse *p, size_t i, size_t at, bool is_grouping)
{
    if (is_grouping && !text_in(p, i, "for each|for every")) return 0;
    p->f.has_per_day = true;
    return took(p, i, at + 1);
}

/* "per week", "a night", "by month", "for each weekday". */
size_t take_per(struct parse *p, size_t i)
{
    enum plan_per per;
    enum plan_group group;
    bool is_slash = mark_is(p, i, '/') && is_at(p, i + 1, S_PERIOD); /* "units/week" */
    if (!IS_ANY(p, i, S_PER, S_EACH) && !is_slash) return 0;
    bool is_each = is_at(p, i, S_EACH);
    size_t at = text_in(p, i + 1, "calendar|the") || mark_is(p, i + 1, '-') ? i + 2 : i + 1;
    bool is_grouping = is_each && !text_in(p, i, "per|each|every");
    bool is_weekday = is_at(p, at, S_DAY_OF_WEEK) && is_each && !text_is(p, i, "across");
    if (is_weekday) {
        set_group(p, GROUP_WEEKDAY);
        return took(p, i, at + 1);
    }
    const struct sense *period = sense_at(p, at, S_PERIOD);
    if (!period) return 0;
    if (period->arg <= PERIOD_MORNING) return take_per_day(p, i, at, is_grouping);
    if (!group_of(period->arg, &per, &group)) return 0;
    if (is_grouping) {
        set_group(p, group);
        return took(p, i, at + 1);
    }
    p->f.has_per = true;
    p->f.per = per;
    return took(p, i, at + 1);
}

/* "the slope per week of my weight": no week of a date. */
size_t take_per_week_of(struct parse *p, size_t i)
{
    if (!text_in(p, i, "per|a|each|every") || !text_is(p, i + 1, "week of")) return 0;
    p->f.has_per = true;
    p->f.per = PER_WEEK;
    return took(p, i, i + 2);
}

/* "weekly", "daily". */
size_t take_per_word(struct parse *p, size_t i)
{
    enum plan_per per;
    enum plan_group group;
    const struct sense *s = sense_at(p, i, S_PER_WORD);
    if (!s) return 0;
    if (group_of(s->arg, &per, &group)) {
        p->f.has_per = p->f.per_is_word = true;
        p->f.per = per;
    } else {
        p->f.has_per_day = true;
    }
    return took(p, i, i + 1);
}

/* "day of the week", "which weekday", "best weekday". */
static bool is_weekday_asked(const struct parse *p, size_t i)
{
    if (!is_at(p, i, S_DAY_OF_WEEK)) return false;
    return !is_at(p, i, S_WEEKDAY) || (i > 0 && IS_ANY(p, i - 1, S_WHICH, S_WHAT, S_MOST));
}

/* "which month", "what week", "best month", "month with the highest". */
size_t take_which_period(struct parse *p, size_t i)
{
    enum plan_per per;
    enum plan_group group;
    if (is_weekday_asked(p, i)) {
        set_group(p, GROUP_WEEKDAY);
        if (is_at(p, i, S_WHICH)) p->f.asks_which = true;
        return took(p, i, i + 1);
    }
    const struct sense *own = sense_at(p, i, S_PERIOD);
    bool is_with = own && IS_ANY(p, i + 1, S_WITH, S_IF) && is_at(p, skip_small(p, i + 2), S_MOST);
    if (is_with && group_of(own->arg, &per, &group)) {
        set_group(p, group);
        return took(p, i, i + 2);
    }
    const struct sense *period = sense_at(p, i + 1, S_PERIOD);
    const struct sense *most = sense_at(p, i, S_MOST);
    if (!period || !IS_ANY(p, i, S_WHICH, S_WHAT, S_MOST)) return 0;
    if (!group_of(period->arg, &per, &group)) return 0;
    set_group(p, group);
    p->f.asks_which = true;
    if (most) set_most(p, i, (enum super_kind)most->arg);
    return took(p, i, i + 2);
}
