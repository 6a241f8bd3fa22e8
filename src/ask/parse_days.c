/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phrases that say which days: conditions ("on days when …", "yoga days", "after a run"), their
 * opposites ("other days", "without"), weekends and days of the week. A condition opens a scope,
 * to which the things and thresholds that follow belong until a phrase of another kind ends it.
 */
#include "ask/parse_impl.h"

/* "on minus off", "(on days minus off days)". */
size_t take_on_off(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_ON_OFF)) return 0;
    p->f.is_on_off = true;
    close_scope(p);
    return took(p, i, i + 1);
}

/* "yoga days", "running days", "non-yoga days". */
size_t take_activity_days(struct parse *p, size_t i)
{
    bool is_not = text_in(p, i, "non|off|no|not");
    size_t at = is_not ? i + 1 : i;
    if (mark_is(p, at, '-')) at++;
    if (!is_sport_at(p, at)) return 0;
    size_t day = mark_is(p, at + 1, '-') ? at + 2 : at + 1;
    if (is_at(p, day, S_SESSION) && !is_at(p, day, S_READING)) day++;
    if (!is_day_like(p, day)) return 0;
    open_scope(p, i, at);
    if (p->is_failed) return at;
    current_scope(p)->is_not = is_not;
    take_thing(p, at);
    close_scope(p);
    return took(p, i, day + 1);
}

/* Whether "on" leads here with nothing but a few words between. */
static bool is_led_by_on(const struct parse *p, size_t i)
{
    for (size_t back = 1; back <= 5 && back <= i; back++)
        if (is_at(p, i - back, S_ON)) return !text_in(p, i - back, "for|during");
    return false;
}

/* "on under-7 hour sleep days", "on short-sleep days (less than 7 hours)". */
size_t take_metric_days(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    bool is_days = is_at(p, i, S_METRIC) && text_in(p, i + 1, "days|nights");
    if (!is_days || f->is_streak || f->has_most || !is_led_by_on(p, i)) return 0;
    bool is_before = f->n_loose > 0 && f->loose[f->n_loose - 1].end == i;
    bool is_behind = mark_is(p, i + 2, '(');
    if (!is_before && !is_behind) return 0;
    open_scope(p, i, i);
    if (p->is_failed) return i + 1;
    if (is_before) f->loose_scope[f->n_loose - 1] = p->scope;
    take_thing(p, i);
    return took(p, i, is_behind ? i + 3 : i + 2);
}

/* "other days", "the rest", "rest days", "all other nights". */
size_t take_other_days(struct parse *p, size_t i)
{
    if (is_at(p, i, S_REST_DAY)) return open_other_scope(p, i, i + 1);
    if (!is_at(p, i, S_OTHER) || is_at(p, i, S_REFUSE)) return 0;
    bool is_rest = text_in(p, i,
                           "the rest|rest|others|the rest of|rest of|everything else|"
                           "all the rest|all others|off days|days off|the other");
    size_t day = skip_small(p, i + 1);
    if (is_rest && text_is(p, day, "week") && p->f.has_weekend) {
        p->f.has_weekday = true; /* "at weekends than the rest of the week" */
        p->f.weekday_at = i;
        return took(p, i, day + 1);
    }
    if (is_day_like(p, day)) return open_other_scope(p, i, day + 1);
    return is_rest ? open_other_scope(p, i, i + 1) : 0;
}

/* The noun of a count, a share, a streak or a ranking is no condition: "how many days did I …". */
static bool is_counted_noun(const struct parse *p, size_t i)
{
    for (size_t back = 1; back <= 4 && back <= i; back++) {
        size_t k = i - back;
        if (IS_ANY(p, k, S_HOW_MANY, S_SHARE, S_STREAK, S_WHICH, S_MOST, S_RANK, S_LIST, S_QUANTILE,
                   S_ANOMALY))
            return true;
        bool is_small = IS_ANY(p, k, S_THE, S_OF, S_A, S_NUMBER, S_SELF, S_FILLER, S_METRIC);
        if (!is_small || is_at(p, k, S_ON)) return false;
    }
    return false;
}

/* Nothing was asked before and no statistic comes after: the days themselves are asked for. */
static bool is_bare_count(const struct parse *p, size_t i)
{
    if (p->f.counted != COUNT_NOTHING) return false;
    for (size_t k = 0; k < i; k++)
        if (!is_at(p, k, S_FILLER) || is_at(p, k, S_ON)) return false;
    for (size_t k = i + 1; k < p->t->n; k++) {
        bool is_stat = is_at(p, k, S_STAT) && !is_at(p, k, S_UNIT);
        if (is_stat || IS_ANY(p, k, S_WHAT, S_HOW_MUCH, S_COMPARE)) return false;
    }
    return true;
}

/* Whether there is a threshold somewhere: "over 8 hours", "before 11pm". */
static bool has_threshold(const struct parse *p)
{
    for (size_t i = 0; i < p->t->n; i++)
        if (IS_ANY(p, i, S_CMP, S_OR_MORE, S_CLOCK)) return true;
    return false;
}

/* "name the night on which I got the least": a date is asked for. */
static bool asks_one_day(const struct parse *p, size_t i)
{
    bool is_one = text_in(p, i, "day|night|date") && i > 0 && text_in(p, i - 1, "the");
    bool is_clause = IS_ANY(p, i + 1, S_WHEN, S_IF, S_SELF) ||
                     (text_in(p, i + 1, "on|in|at") && text_is(p, i + 2, "which"));
    if (!is_one || !is_clause || (i > 1 && is_at(p, i - 2, S_ON))) return false;
    for (size_t k = i + 2; k < p->t->n; k++)
        if (is_at(p, k, S_MOST)) return p->f.ask == S_NONE;
    return false;
}

/*
 * Without a word of asking: "days with over 10k steps" is a count, "day with the most steps" and
 * "last day with over 10k steps" ask for a date.
 */
static size_t take_terse(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    bool is_clause = text_in(p, i, "days|nights") && is_at(p, i + 1, S_SELF) && has_threshold(p);
    if (!IS_ANY(p, i + 1, S_WITH, S_IF, S_CMP) && !text_is(p, i + 1, "at") && !is_clause) return 0;
    size_t end = is_at(p, i + 1, S_CMP) || is_clause ? i + 1 : i + 2;
    if (is_at(p, skip_small(p, i + 2), S_MOST)) {
        f->asks_which = true;
        return took(p, i, i + 2);
    }
    if (i > 0 && IS_ANY(p, i - 1, S_LAST, S_FIRST) && f->ask == S_NONE) {
        f->asks_when = true;
        return took(p, i, end);
    }
    if (!is_bare_count(p, i)) return 0;
    f->counted = COUNT_DAYS;
    f->asks_many = true;
    f->counts_nights = sense_at(p, i, S_PERIOD)->arg == PERIOD_NIGHT;
    return took(p, i, end);
}

static size_t open_taken(struct parse *p, size_t i, size_t end)
{
    open_scope(p, i, end);
    return took(p, i, end);
}

static size_t open_not(struct parse *p, size_t i, size_t end)
{
    open_scope(p, i, end);
    if (!p->is_failed) current_scope(p)->is_not = true;
    return took(p, i, end);
}

/* What may follow "days" in a condition: "when", "with", "on which", "(less than"; 0. */
static size_t opener_at(const struct parse *p, size_t i)
{
    if (text_in(p, i, "on|in|for|at|during") && text_is(p, i + 1, "which")) return i + 2;
    if (IS_ANY(p, i, S_IF, S_WITH)) return i + 1;
    return mark_is(p, i, '(') && is_at(p, i + 1, S_CMP) ? i + 1 : 0;
}

size_t take_one_day(struct parse *p, size_t i)
{
    if (!is_day_like(p, i) || !asks_one_day(p, i)) return 0;
    p->f.asks_which = true;
    return took(p, i, i + 1);
}

/* "on days when", "on nights I", "days with", "days without". */
size_t take_days_when(struct parse *p, size_t i)
{
    if (!is_day_like(p, i) || is_counted_noun(p, i)) return 0;
    size_t end = take_terse(p, i);
    if (end > 0) return end;
    end = i + 1;
    if (is_at(p, end, S_WITHOUT)) return open_not(p, i, end + 1);
    if (is_at(p, end, S_WITH) && text_is(p, end + 1, "no")) return open_not(p, i, end + 2);
    size_t open = opener_at(p, end);
    if (open > 0) return open_taken(p, i, open);
    if (is_at(p, end, S_AFTER) && begins_condition(p, end + 1))
        return open_shifted_scope(p, i, end + 1, -1);
    bool is_led = i == 0 || IS_ANY(p, i - 1, S_ON, S_THE, S_IN, S_COMPARE, S_THAN, S_AND, S_WITH,
                                   S_FILLER, S_MARK, S_BETWEEN, S_ONLY);
    bool is_clause =
        is_at(p, end, S_SELF) || (is_at(p, end, S_CMP) && text_in(p, i, "days|nights"));
    return is_led && is_clause ? open_taken(p, i, end) : 0;
}

/* "when did I …" asks; "when I run", "when a day has a run" and any later clause is a condition. */
static bool is_question_when(const struct parse *p, size_t i)
{
    bool is_first = true;
    for (size_t k = 0; k < i; k++) is_first = is_first && is_at(p, k, S_FILLER);
    if (!is_at(p, i, S_WHEN) || is_at(p, i + 1, S_SELF)) return false;
    if (IS_ANY(p, i + 1, S_A, S_THE) && is_day_like(p, i + 2)) return false;
    bool is_clause = IS_ANY(p, i + 1, S_SELF, S_THE, S_METRIC, S_ACTIVITY, S_WORKOUT, S_CMP);
    return is_first || !is_clause;
}

/* "when I run", "whenever my sleep is under 7 hours". */
size_t take_when(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_IF) || text_in(p, i, "that|where") || is_at(p, i, S_HOW_OFTEN)) return 0;
    if (is_question_when(p, i)) return 0;
    bool is_of_count = p->f.counted == COUNT_DAYS && p->f.ask == S_HOW_MANY;
    if (is_of_count && i > 0 && is_day_like(p, i - 1)) return took(p, i, i + 1);
    return open_taken(p, i, i + 1);
}

/* "after a run": the day after. */
size_t take_after_activity(struct parse *p, size_t i)
{
    /* "after nights of less than 7 hours": a night belongs to the day after it. */
    size_t night = skip_small(p, i + 1);
    bool is_night = text_in(p, night, "night|nights") &&
                    (is_at(p, night + 1, S_OF) || opener_at(p, night + 1) > 0);
    if (text_is(p, i, "after") && is_night) return open_taken(p, i, night + 2);
    bool is_after = text_in(p, i, "after|following");
    if ((!is_after && !text_is(p, i, "before")) || !begins_condition(p, i + 1)) return 0;
    const char *word = is_after ? "after" : "before";
    ask_note(p, "\"%s\" read as the day %s", word, word);
    return open_shifted_scope(p, i, i + 1, is_after ? -1 : 1);
}

/* "without", "not" in an open condition turn it round. */
static size_t take_not_inside(struct parse *p, size_t i, size_t thing)
{
    bool is_bare = thing >= p->t->n || is_at(p, thing, S_MARK) || text_is(p, thing, "it");
    /* "days I swim versus days I don't": what follows is another phrase. */
    bool is_cut = IS_ANY(p, thing, S_DIFFER, S_COMPARE, S_IN, S_STAT);
    if (!is_sport_at(p, thing) && !is_bare && !is_cut && !is_at(p, thing, S_METRIC)) return 0;
    current_scope(p)->is_not = true;
    if (is_cut) close_scope(p);
    return took(p, i, i + 1);
}

/* "the median, not the mean", "in hours, not minutes": what was said already is not turned round.
 */
static size_t take_not_that(struct parse *p, size_t i)
{
    size_t stat = skip_small(p, i + 1);
    bool is_stat = is_at(p, stat, S_STAT) && !is_at(p, stat, S_UNIT);
    bool has_other = p->f.n_stats > 0 || is_at(p, stat + 1, S_STAT) || is_at(p, stat + 2, S_STAT);
    if (is_stat && has_other) return took(p, i, stat + 1);
    bool is_unit = is_at(p, i + 1, S_UNIT) && !is_at(p, i + 1, S_METRIC);
    return is_unit && p->f.unit ? took(p, i, i + 2) : 0;
}

/* "without a run", "no yoga", "did not run". */
size_t take_without(struct parse *p, size_t i)
{
    if (!IS_ANY(p, i, S_WITHOUT, S_NOT) || is_at(p, i, S_CMP)) return 0;
    size_t end = take_not_that(p, i);
    if (end > 0) return end;
    size_t at = i + 1;
    while (IS_ANY(p, at, S_A, S_THE, S_DO, S_EVER) && !is_at(p, at, S_ACTIVITY)) at++;
    if (p->scope > 0 && current_scope(p)->at <= i) return take_not_inside(p, i, at);
    if (is_sport_at(p, at)) return open_not(p, i, i + 1);
    /* "on days with a walk versus without" */
    bool is_bare = at >= p->t->n || is_at(p, at, S_MARK) || text_is(p, at, "it");
    return is_bare && p->f.n_scopes > 1 ? open_other_scope(p, i, i + 1) : 0;
}

/* ---- days of the week ---- */

/* "weekday minus weekend": which is subtracted from which. */
static void look_for_minus(struct parse *p, size_t end, bool is_day)
{
    if (!is_at(p, end, S_MINUS) && !text_is(p, end, "less")) return;
    size_t next = skip_small(p, end + 1);
    if (!IS_ANY(p, next, S_WEEKEND, S_WEEKDAY)) return;
    p->f.weekday_first = is_day;
    p->f.has_minus = true;
    tokens_use(p, end, next);
}

static size_t set_weekend(struct parse *p, size_t i, bool is_day)
{
    struct frame *f = &p->f;
    size_t end = is_day_like(p, i + 1) ? i + 2 : i + 1;
    const struct sense *stat = sense_at(p, end, S_STAT);
    if (stat && stat->arg == STAT_MEAN) {
        add_stat(p, STAT_MEAN);
        end++;
    }
    if (is_day) {
        if (!f->has_weekday) f->weekday_at = i;
        f->has_weekday = true;
    } else {
        if (!f->has_weekend) f->weekend_at = i;
        f->has_weekend = true;
    }
    look_for_minus(p, end, is_day);
    close_scope(p);
    return took(p, i, end);
}

/* "by weekday", "which weekday", "best weekday": a way of grouping. */
static bool is_grouping(const struct parse *p, size_t i)
{
    if (i == 0 || p->f.has_weekend || !is_at(p, i, S_DAY_OF_WEEK) || is_at(p, i - 1, S_ON))
        return false;
    return IS_ANY(p, i - 1, S_EACH, S_WHICH, S_MOST) || text_is(p, i - 1, "what");
}

size_t take_weekend(struct parse *p, size_t i)
{
    bool has_weekend = has_symbol(p, S_WEEKEND);
    if (is_at(p, i, S_WEEKEND)) {
        bool is_window = is_at(p, i, S_PERIOD) && i > 0 && is_at(p, i - 1, S_LAST);
        return is_window && p->f.n_windows == 0 ? 0 : set_weekend(p, i, false);
    }
    /* "during the week" beside "at weekends". */
    bool is_during = i > 0 && text_in(p, i - 1, "during the|in the|through the|on the");
    if (text_is(p, i, "week") && is_during && has_weekend) return set_weekend(p, i, true);
    if (!is_at(p, i, S_WEEKDAY)) return 0;
    /* "weekday with the lowest average": one of seven is asked for. */
    if (text_is(p, i, "weekday") && !has_weekend && has_symbol(p, S_MOST)) {
        set_group(p, GROUP_WEEKDAY);
        return took(p, i, i + 1);
    }
    return is_grouping(p, i) ? 0 : set_weekend(p, i, true);
}

/* "on Mondays", "on Tuesdays and Thursdays"; "on a Monday". */
size_t take_dayname(struct parse *p, size_t i)
{
    const struct sense *s = sense_at(p, i, S_DAYNAME);
    if (!s) return 0;
    bool is_led = i > 0 && IS_ANY(p, i - 1, S_A, S_EACH);
    if (s->arg < DAYNAME_PLURAL && !is_led && !is_day_like(p, i + 1)) return 0;
    uint32_t bit = 1u << (unsigned)(s->arg % DAYNAME_PLURAL);
    if (p->f.weekdays != 0 && p->f.is_compare) p->f.weekdays_b |= bit;
    else p->f.weekdays |= bit;
    return took(p, i, is_day_like(p, i + 1) ? i + 2 : i + 1);
}
