/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that change what a question means and stand in no phrase of their own: "more", "only",
 * "while", "in the evening", "except", "missing". Each is put into the frame, and the builders
 * refuse a question whose plan would leave it out.
 */
#include "ask/parse_impl.h"

enum {
    ALL_DAYS = 127,
    SATURDAY_AND_SUNDAY = 96,
    LEAST_SINCE = 28, /* days that can be compared with any window, */
    LEAST_PART = 4,   /* or else a fourth of its days */
};

/* Adds the days of the week that stand at *i, with what joins them, to a set; false: none. */
static bool days_at(const struct parse *p, size_t *i, uint32_t *set)
{
    size_t at = *i;
    bool has_day = false;
    for (;;) {
        while (IS_ANY(p, at, S_ON, S_THE, S_IN) || (has_day && IS_ANY(p, at, S_AND, S_OR, S_MARK)))
            at++;
        const struct sense *day = sense_at(p, at, S_DAYNAME);
        uint32_t more = 0;
        if (is_at(p, at, S_WEEKEND)) more = SATURDAY_AND_SUNDAY;
        else if (is_at(p, at, S_WEEKDAY)) more = ALL_DAYS & ~SATURDAY_AND_SUNDAY;
        else if (day) more = 1u << (unsigned)(day->arg % DAYNAME_PLURAL);
        if (more == 0) return has_day;
        *set |= more;
        has_day = true;
        *i = ++at;
    }
}

/* "excluding weekends", "except on Sundays", "not on Mondays": the other days of the week. */
size_t take_except(struct parse *p, size_t i)
{
    uint32_t set = 0;
    size_t end = i + 1;
    bool is_word = text_in(p, i,
                           "except|excluding|apart from|other than|but not|ignoring|"
                           "leaving out|omitting|besides|outside of|not counting|"
                           "aside from|with the exception of|disregarding|outside|but|"
                           "all but|save|save for");
    bool is_not = text_in(p, i, "not|without|no") && p->scope == 0;
    if (!is_word && !is_not) return 0;
    if (text_in(p, end, "for|on")) end++;
    if (!days_at(p, &end, &set) || set == ALL_DAYS) return 0;
    if (p->f.weekdays != 0) {
        ask_refuse(p, "Days of the week are both asked for and left out.");
        return end;
    }
    p->f.weekdays = ALL_DAYS & ~set;
    return took(p, i, end);
}

/* "days with missing data", "days I lack a reading": no plan counts what is not there. */
size_t take_missing(struct parse *p, size_t i)
{
    size_t at = i + 1;
    bool is_word = text_in(p, i,
                           "missing|lack|lacks|lacked|missed|gaps|gap days|unrecorded|"
                           "not recorded|not logged|not measured|not tracked");
    while (IS_ANY(p, at, S_A, S_THE, S_METRIC, S_EVER)) at++;
    bool is_reading = is_at(p, at, S_READING) && !text_in(p, at, "missing|entry|entries");
    bool is_without = IS_ANY(p, i, S_WITHOUT, S_NOT) && is_reading && !is_at(p, i, S_CMP);
    if (!is_word && !is_without) return 0;
    ask_refuse(p, "Days without data cannot be counted: ask on how many days there are data.");
    return i + 1;
}

/* "how much higher": the plan must be one that compares. */
size_t take_comparative(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_COMPARATIVE)) return 0;
    p->f.has_comparative = true;
    return took(p, i, i + 1);
}

/* Whether a threshold or a superlative of this direction is said. */
static bool has_bound(const struct parse *p, int direction)
{
    for (size_t i = 0; i < p->t->n; i++) {
        const struct sense *cmp = sense_at(p, i, S_CMP), *most = sense_at(p, i, S_MOST);
        bool is_low = cmp && (cmp->arg == CMP_LT || cmp->arg == CMP_LE);
        bool is_least = most && (most->arg == MOST_MIN || most->arg == MOST_SHORTEST);
        if (cmp && is_low == (direction < 0)) return true;
        if (most && is_least == (direction < 0)) return true;
    }
    return false;
}

/* "short nights (under 6 hours)": what is short must be said by a threshold, or by "shortest". */
size_t take_adjective(struct parse *p, size_t i)
{
    const struct sense *s = sense_at(p, i, S_ADJECTIVE);
    return s && has_bound(p, s->arg) ? took(p, i, i + 1) : 0;
}

/* "calories per run", "per session" are means over sessions; "per Theil-Sen" names a method. */
size_t take_per_thing(struct parse *p, size_t i)
{
    size_t at = i + 1;
    if (!text_in(p, i, "per|each|every|for each|for every|on a per")) return 0;
    if (is_at(p, at, S_METHOD)) return took(p, i, at);
    bool is_session = is_at(p, at, S_SESSION) && !is_at(p, at, S_WORKOUT);
    if (!is_session && !is_sport_at(p, at)) return 0;
    p->f.has_weak_mean = true;
    return took(p, i, is_session ? at + 1 : at);
}

/* "by how much does my weekend weight exceed my weekday weight". */
size_t take_exceed(struct parse *p, size_t i)
{
    if (!text_in(p, i, "exceed|exceeds|exceeded")) return 0;
    p->f.has_than = true;
    close_scope(p);
    return took(p, i, i + 1);
}

/* Whether two things are set beside each other: "between" them, the one "previous" to the other. */
static bool is_of_two(const struct parse *p)
{
    return has_symbol(p, S_CORRELATE) || has_symbol(p, S_DIFFER) || has_symbol(p, S_METHOD) ||
           has_symbol(p, S_CHANGE) || has_symbol(p, S_COMPARE);
}

/* Small words that mean something in one place only: "back in May", "go up or down". */
size_t take_placed(struct parse *p, size_t i)
{
    if (is_at(p, i, S_BETWEEN) && !is_at(p, i + 1, S_AND) && is_of_two(p)) return took(p, i, i + 1);
    bool is_back = text_is(p, i, "back") &&
                   (is_at(p, i + 1, S_IN) || (i > 0 && text_in(p, i - 1, "come|came|comes")));
    if (is_back) return took(p, i, i + 1);
    if (i == 0) return 0;
    if (text_is(p, i, "or") && text_in(p, i + 1, "down|up") && is_at(p, i - 1, S_CHANGE))
        return took(p, i, i + 2);
    return is_at(p, i, S_PREVIOUS) && is_at(p, i - 1, S_MINUS) ? took(p, i, i + 1) : 0;
}

/* What says again what another word says: "group … by weekday", "not the mean but the median". */
size_t take_small_operator(struct parse *p, size_t i)
{
    bool is_group = text_in(p, i, "group|grouped") && has_symbol(p, S_EACH) &&
                    (has_symbol(p, S_DAY_OF_WEEK) || has_symbol(p, S_PERIOD));
    bool is_but = text_is(p, i, "but") && is_at(p, skip_small(p, i + 1), S_STAT);
    bool is_median = is_at(p, i, S_WHAT_VALUE) && p->f.n_stats > 0;
    return is_group || is_but || is_median ? took(p, i, i + 1) : 0;
}

/* "how heavy was I at most"; "how many days in a row at most" says it of streaks anyway. */
size_t take_at_most(struct parse *p, size_t i)
{
    if (!text_in(p, i, "at most|at the most")) return 0;
    if (!p->f.is_streak && !p->f.has_most) set_most(p, i, MOST_MAX);
    return took(p, i, i + 1);
}

/* "only on Sundays": there must be something that it is restricted to. */
size_t take_only(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_ONLY)) return 0;
    p->f.has_only = true;
    return took(p, i, i + 1);
}

/* "my heart rate while running" is that of the runs. */
size_t take_while(struct parse *p, size_t i)
{
    size_t at = i + 1;
    while (IS_ANY(p, at, S_SELF, S_DO) && !is_sport_at(p, at)) at++;
    return is_at(p, i, S_WHILE) && is_sport_at(p, at) ? took(p, i, at) : 0;
}

size_t take_day_part(struct parse *p, size_t i)
{
    const struct sense *part = sense_at(p, i, S_DAY_PART);
    if (!part) return 0;
    if (part->arg == 1) p->f.has_night_part = true;
    else p->f.has_day_part = true;
    return took(p, i, i + 1);
}

/* "… and what was my weight": one question at a time. */
size_t take_second_question(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_AND) || i == 0 || p->f.n_mentions == 0) return 0;
    bool is_question = IS_ANY(p, i + 1, S_WHAT, S_HOW_MANY, S_HOW_MUCH, S_HOW_LONG, S_HOW_OFTEN,
                              S_HOW_FAR, S_WHAT_TIME) ||
                       text_is(p, i + 1, "how");
    bool has_thing = false;
    for (size_t k = i + 2; k < p->t->n; k++) has_thing = has_thing || is_subject(p, k);
    if (!is_question || !has_thing) return 0; /* "… and what is r" */
    ask_refuse(p, "There are two questions here: ask one at a time.");
    return i + 1;
}

/* "heavier than at the start": the change since then. */
size_t take_than_start(struct parse *p, size_t i)
{
    if (!is_at(p, i, S_THAN) || is_at(p, i, S_CMP)) return 0;
    size_t at = i + 1;
    while (text_in(p, at, "at|in|the|at the|in the|on|on the|when|i|was")) at++;
    bool is_begin = is_at(p, at, S_START) || text_in(p, at, "first|the first|began|started");
    if (!is_begin || (at + 1 < p->t->n && !is_at(p, at + 1, S_MARK))) return 0;
    p->f.is_change = true;
    return took(p, i, at + 1);
}

/* As many days up to today as a window had, or as there are since; 0: there are too few. */
static uint32_t days_since(const struct parse *p, const struct plan_window *w)
{
    int32_t to = w->last > 0 ? p->data->today - (int32_t)w->skip : w->to;
    int32_t from = w->last > 0 ? to - (int32_t)w->last + 1 : w->from;
    if (from == DAY_NONE || to == DAY_NONE) return 0;
    int32_t had = to - from + 1, since = p->data->today - to;
    int32_t n = since < had ? since : had;
    return n >= LEAST_SINCE || (n > 0 && n * LEAST_PART >= had) ? (uint32_t)n : 0;
}

/* "am I sleeping more than last month": these days are meant, at most as many as that had. */
size_t take_than_window(struct parse *p, size_t i)
{
    struct window w;
    size_t end;
    bool is_than = text_in(p, i,
                           "more than|less than|higher than|lower than|better than|worse than|"
                           "longer than|shorter than|fewer than|greater than|than");
    if (!is_than || p->f.n_windows > 0 || p->scope > 0) return 0;
    if (!window_at(p, i + 1, &w, &end) && !(is_at(p, i + 1, S_IN) && window_at(p, i + 2, &w, &end)))
        return 0;
    bool is_last = end >= p->t->n || is_at(p, end, S_MARK);
    p->f.than_days = is_last && !w.is_pair ? days_since(p, &w.days) : 0;
    if (p->f.than_days == 0) return 0;
    p->f.has_than = p->f.has_comparative = true;
    return took(p, i, i + 1);
}
