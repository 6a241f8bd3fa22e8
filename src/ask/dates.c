/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of days in words. The rules where English leaves a choice:
 *
 *   "last week", "last month", "last year"   the calendar's; "the last week", "the past month" are
 *                                            the 7 and 30 days up to today
 *   "last 3 months"                          90 days; weeks have 7 days, months 30, years 365
 *   "in March"                               the newest March that has begun by today
 *   "on Monday", "last Monday"               the newest one up to today
 *   "this week"                              from Monday to today
 *   "last night", "this morning"             today: a night belongs to the day of waking
 *   "the week of 12 May"                     the seven days from that day on
 *   "previous 30 days"                       the 30 before the last 30 when they are compared;
 *                                            alone the same as "last 30 days"
 *
 * Today is the newest day with data. A date that could be read in two ways is refused.
 */
#include "ask/ask_impl.h"

enum {
    WEEK_DAYS = 7,
    MONTH_DAYS = 30,
    QUARTER_DAYS = 91,
    YEAR_DAYS = 365,
    YEAR_FROM = 1990,
    YEAR_TO = 2100,
    MAX_LAST = 36500,
    FEW_MONTHS = 12,
};

/* A stretch of days that a date, a month or a year is. */
struct span {
    int32_t from, to;
};

static struct plan_window window_of(struct span s)
{
    return (struct plan_window){.from = s.from, .to = s.to};
}

static struct plan_window window_last(uint32_t last, uint32_t skip)
{
    return (struct plan_window){.from = DAY_NONE, .to = DAY_NONE, .last = last, .skip = skip};
}

static uint32_t period_days(int period)
{
    switch (period) {
    case PERIOD_WEEK: return WEEK_DAYS;
    case PERIOD_FORTNIGHT: return 2 * WEEK_DAYS;
    case PERIOD_MONTH: return MONTH_DAYS;
    case PERIOD_QUARTER: return QUARTER_DAYS;
    case PERIOD_YEAR: return YEAR_DAYS;
    case PERIOD_WEEKEND: return 0;
    default: return 1;
    }
}

static bool number_at(const struct parse *p, size_t i, uint32_t least, uint32_t most, uint32_t *out)
{
    if (!is_at(p, i, S_NUMBER)) return false;
    double v = p->t->list[i].number;
    if (v < least || v > most || v != (double)(uint32_t)v) return false;
    *out = (uint32_t)v;
    return true;
}

static size_t skip_article(const struct parse *p, size_t i)
{
    while (is_at(p, i, S_THE) || text_is(p, i, "in") || text_is(p, i, "of") ||
           text_is(p, i, "on") || text_is(p, i, "of the") || text_is(p, i, "in the") ||
           text_is(p, i, "during") || text_is(p, i, "my") || mark_is(p, i, ','))
        i++;
    return i;
}

static int year_of(int32_t day)
{
    return day_to_civil(day).year;
}

/* The newest such month that has begun by today. */
static struct span newest_month(const struct parse *p, int month)
{
    struct civil now = day_to_civil(p->data->today);
    int year = month <= now.month ? now.year : now.year - 1;
    return (struct span){day_month_first(year, month), day_month_last(year, month)};
}

static struct span year_span(int year)
{
    return (struct span){day_month_first(year, 1), day_month_last(year, FEW_MONTHS)};
}

static bool year_at(const struct parse *p, size_t i, int *year)
{
    uint32_t n;
    bool is_plain = i < p->t->n && p->t->list[i].text.len == 4;
    if (!is_plain || !number_at(p, i, YEAR_FROM, YEAR_TO, &n)) return false;
    if (is_at(p, i + 1, S_UNIT) || (is_at(p, i + 1, S_METRIC) && !is_at(p, i + 1, S_FILLER)))
        return false;
    *year = (int)n;
    return true;
}

/* ---- dates ---- */

/* A year behind a month or a day: "March 2025", "March of 2025", "March, 2025", "this year". */
static size_t year_behind(const struct parse *p, size_t i, int *year)
{
    size_t at = i;
    while (mark_is(p, at, ',') || mark_is(p, at, '.') || text_is(p, at, "of")) at++;
    if (year_at(p, at, year)) return at + 1;
    bool says_year =
        is_at(p, at + 1, S_PERIOD) && sense_at(p, at + 1, S_PERIOD)->arg == PERIOD_YEAR;
    if (says_year && (is_at(p, at, S_THIS) || text_is(p, at, "last"))) {
        *year = year_of(p->data->today) - (is_at(p, at, S_THIS) ? 0 : 1);
        return at + 2;
    }
    *year = 0;
    return i;
}

/* Of a day without a year: the newest that has come. */
static int32_t settle_day(const struct parse *p, int year, int month, int day)
{
    if (year > 0) return day_from_civil(year, month, day);
    year = year_of(p->data->today);
    int32_t found = day_from_civil(year, month, day);
    return found != DAY_NONE && found > p->data->today ? day_from_civil(year - 1, month, day)
                                                       : found;
}

/* "3 May", "3rd of May 2025", "May 3", "May 3rd, 2025", "the 3rd of May". */
static bool civil_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    uint32_t day;
    int year;
    size_t at = i;
    const struct sense *month;
    if (number_at(p, at, 1, 31, &day)) {
        at++;
        if (is_at(p, at, S_OF)) at++;
        month = sense_at(p, at, S_MONTH);
        if (!month) return false;
        at++;
    } else {
        month = sense_at(p, at, S_MONTH);
        if (!month) return false;
        at++;
        if (text_is(p, at, "the")) at++;
        if (!number_at(p, at, 1, 31, &day)) return false;
        bool is_year_like =
            p->t->list[at].text.len > 2 && !p->t->list[at].is_ordinal && !p->t->list[at].is_written;
        if (is_year_like) return false;
        at++;
    }
    *end = year_behind(p, at, &year);
    int32_t d = settle_day(p, year, month->arg, (int)day);
    if (d == DAY_NONE) {
        ask_refuse(p, "There is no %s %u%s.", day_month_name((unsigned)month->arg), (unsigned)day,
                   year > 0 ? " in that year" : "");
        return false;
    }
    *out = (struct span){d, d};
    return true;
}

/* "March", "March 2025", "last March", "March of last year". "may" alone is a verb, too. */
static bool month_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    size_t at = i;
    bool is_last = text_is(p, at, "last") || text_is(p, at, "this past");
    bool is_this = text_is(p, at, "this");
    if ((is_last || is_this) && is_at(p, at + 1, S_MONTH)) at++;
    const struct sense *month = sense_at(p, at, S_MONTH);
    if (!month) return false;
    int year;
    *end = year_behind(p, at + 1, &year);
    bool is_verb = text_is(p, at, "may") && year == 0 && (at == 0 || is_at(p, at + 1, S_SELF));
    if (is_verb) return false;
    *out = newest_month(p, month->arg);
    if (year > 0)
        *out = (struct span){day_month_first(year, month->arg), day_month_last(year, month->arg)};
    return true;
}

static bool dayname_at(const struct parse *p, size_t i, struct span *out, size_t *end)
{
    size_t at = i;
    bool is_last = text_is(p, at, "last");
    if (is_last || text_is(p, at, "this") || text_is(p, at, "this past")) at++;
    const struct sense *s = sense_at(p, at, S_DAYNAME);
    if (!s || s->arg >= DAYNAME_PLURAL) return false;
    int32_t back = ((int32_t)day_weekday(p->data->today) - s->arg + WEEK_DAYS) % WEEK_DAYS;
    if (is_last && back == 0) back = WEEK_DAYS;
    *out = (struct span){p->data->today - back, p->data->today - back};
    *end = at + 1;
    return true;
}

/* "3 days ago", "a week ago". */
static bool ago_at(const struct parse *p, size_t i, struct span *out, size_t *end)
{
    uint32_t n = 1;
    size_t at = i;
    if (number_at(p, at, 1, MAX_LAST, &n) || is_at(p, at, S_A)) at++;
    const struct sense *period = sense_at(p, at, S_PERIOD);
    if (at == i || !period || !text_is(p, at + 1, "ago")) return false;
    int32_t d = p->data->today - (int32_t)(n * period_days(period->arg));
    *out = (struct span){d, d};
    *end = at + 2;
    return true;
}

static struct span half_of(struct span s, bool is_second)
{
    struct civil c = day_to_civil(s.from);
    bool is_year = s.to - s.from > 2 * MONTH_DAYS;
    int32_t middle = is_year ? day_month_first(c.year, 7) : s.from + 15;
    return is_second ? (struct span){middle, s.to} : (struct span){s.from, middle - 1};
}

/* "this year", "last month" and the like as a stretch; calendar ones. */
static struct span calendar_span(int32_t today, int period, int back)
{
    struct civil c = day_to_civil(today);
    int quarter = (c.month - 1) / 3 * 3 + 1;
    int32_t monday = today - (int32_t)day_weekday(today);
    switch (period) {
    case PERIOD_WEEK:
        return (struct span){monday - back * WEEK_DAYS, monday - back * WEEK_DAYS + WEEK_DAYS - 1};
    case PERIOD_MONTH:
        return (struct span){day_month_first(c.year, c.month - back),
                             day_month_last(c.year, c.month - back)};
    case PERIOD_QUARTER:
        return (struct span){day_month_first(c.year, quarter - 3 * back),
                             day_month_last(c.year, quarter - 3 * back + 2)};
    case PERIOD_YEAR: return year_span(c.year - back);
    case PERIOD_WEEKEND: {
        int32_t saturday = monday + 5 - back * WEEK_DAYS;
        return (struct span){saturday, saturday + 1};
    }
    default: return (struct span){today - back, today - back};
    }
}

static bool point_at(struct parse *p, size_t i, struct span *out, size_t *end);

/* "first half of 2025", "second quarter of 2024", "q1 2025", "first week of March". */
static bool part_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    uint32_t n = 1, count = 1;
    size_t at = i;
    bool is_last = text_is(p, at, "last") || text_is(p, at, "final");
    if (is_at(p, at, S_FIRST) || is_last) at++;
    else if (number_at(p, at, 1, 4, &n) && p->t->list[at].is_ordinal) at++;
    else return false;
    if (number_at(p, at, 1, 60, &count)) at++;
    const struct sense *quarter = sense_at(p, at, S_QUARTER);
    const struct sense *period = sense_at(p, at, S_PERIOD);
    bool is_half = is_at(p, at, S_HALF);
    if ((!quarter && !period && !is_half) || !is_at(p, at + 1, S_OF)) return false;
    struct span whole;
    size_t from = skip_article(p, at + 2);
    int year;
    if (year_at(p, from, &year)) {
        whole = year_span(year);
        *end = from + 1;
    } else if (!point_at(p, from, &whole, end)) {
        return false;
    }
    if (is_half) {
        *out = half_of(whole, n == 2 || is_last);
        return true;
    }
    if (quarter) {
        int k = is_last ? 4 : (int)n;
        int y = year_of(whole.from);
        *out = (struct span){day_month_first(y, 3 * k - 2), day_month_last(y, 3 * k)};
        return true;
    }
    int32_t len = (int32_t)(count * period_days(period->arg));
    int32_t from_day = whole.from + (int32_t)(n - 1) * len;
    if (is_last) from_day = whole.to - len + 1;
    *out = (struct span){from_day, from_day + len - 1};
    return len > 0;
}

static bool quarter_at(const struct parse *p, size_t i, struct span *out, size_t *end)
{
    const struct sense *s = sense_at(p, i, S_QUARTER);
    int year = year_of(p->data->today);
    if (!s || s->arg == 0) return false;
    size_t at = is_at(p, i + 1, S_OF) ? i + 2 : i + 1;
    *end = year_at(p, at, &year) ? at + 1 : i + 1;
    *out = (struct span){day_month_first(year, 3 * s->arg - 2), day_month_last(year, 3 * s->arg)};
    return true;
}

/* "this month", "the current week", "last year": calendar stretches that may begin or end another.
 */
static bool this_at(const struct parse *p, size_t i, struct span *out, size_t *end)
{
    const struct sense *period = sense_at(p, i + 1, S_PERIOD);
    if (!period) return false;
    bool is_this = is_at(p, i, S_THIS) || text_is(p, i, "the");
    bool is_last = text_is(p, i, "last") || text_is(p, i, "previous");
    if ((!is_this && !is_last) || period->arg < PERIOD_WEEK) return false;
    *out = calendar_span(p->data->today, period->arg, is_this ? 0 : 1);
    *end = i + 2;
    return true;
}

/* "the first of this month", "the 1st of the month". */
static bool first_of_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    uint32_t n = 1;
    if (!is_at(p, i, S_FIRST) && !(number_at(p, i, 1, 31, &n) && p->t->list[i].is_ordinal))
        return false;
    if (!is_at(p, i + 1, S_OF)) return false;
    size_t at = i + 2;
    bool is_the = text_is(p, i + 1, "of the") || text_is(p, at, "the");
    if (text_is(p, at, "the")) at++;
    const struct sense *month = sense_at(p, at, S_MONTH);
    const struct sense *period = sense_at(p, is_the ? at : at + 1, S_PERIOD);
    if (month) {
        if (!month_at(p, at, out, end)) return false;
    } else if (is_the && period && period->arg >= PERIOD_MONTH) {
        *out = calendar_span(p->data->today, period->arg, 0);
        *end = at + 1;
    } else if (!this_at(p, at, out, end)) {
        return false;
    }
    out->from += (int32_t)n - 1;
    out->to = out->from;
    return true;
}

/* "the month", "the year 2024", "the month of May": what stands before a name adds nothing. */
static bool named_period_at(struct parse *p, size_t i, bool has_article, struct span *out,
                            size_t *end)
{
    const struct sense *period = sense_at(p, i, S_PERIOD);
    int year;
    if (!period || period->arg < PERIOD_WEEK) return false;
    size_t at = is_at(p, i + 1, S_OF) ? i + 2 : i + 1;
    if (period->arg == PERIOD_YEAR && year_at(p, at, &year)) {
        *out = year_span(year);
        *end = at + 1;
        return true;
    }
    if (period->arg == PERIOD_MONTH && is_at(p, at, S_MONTH)) return month_at(p, at, out, end);
    if (!has_article || at != i + 1) return false;
    /* Only as one end: "since the month began". */
    if (!text_is(p, at, "began") && !text_is(p, at, "started") &&
        !(i >= 2 && is_at(p, i - 2, S_START)) && !(i >= 1 && is_at(p, i - 1, S_START)))
        return false;
    *out = calendar_span(p->data->today, period->arg, 0);
    *end = text_is(p, at, "began") || text_is(p, at, "started") ? at + 1 : at;
    return true;
}

/* One end of a stretch: a day, or a month or year of which it has a first and a last. */
static bool point_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    int year;
    size_t at = i;
    while (text_is(p, at, "the") || text_is(p, at, "on") || text_is(p, at, "in") ||
           text_is(p, at, "of") || text_is(p, at, "my"))
        at++;
    if (is_at(p, at, S_DATE)) {
        const struct token *t = &p->t->list[at];
        if (t->day == DAY_NONE || t->is_ambiguous) {
            ask_refuse(p,
                       t->day == DAY_NONE ? "There is no day %.*s."
                                          : "%.*s could be two days: write it as 2025-03-31.",
                       (int)t->text.len, t->text.ptr);
            return false;
        }
        *out = (struct span){p->t->list[at].day, p->t->list[at].day};
        *end = at + 1;
        return true;
    }
    if (is_at(p, at, S_DAYNAME) && is_at(p, at + 1, S_NUMBER)) at++; /* "Monday 12 May" */
    if (is_at(p, at, S_DAYNAME) && mark_is(p, at + 1, ',') && !is_at(p, at + 2, S_DAYNAME)) at += 2;
    if (is_at(p, at, S_START)) {
        bool is_found = point_at(p, at + 1, out, end);
        size_t named = text_is(p, at + 1, "the") ? at + 2 : at + 1;
        if (!is_found) is_found = named_period_at(p, named, true, out, end);
        if (!is_found) return false;
        out->to = out->from;
        return true;
    }
    if (is_at(p, at, S_END) && !is_at(p, at, S_TO)) {
        if (!point_at(p, at + 1, out, end)) return false;
        out->from = out->to;
        return true;
    }
    if (is_at(p, at, S_NEW_YEAR)) {
        int32_t d = day_month_first(year_of(p->data->today), 1);
        *out = (struct span){d, d};
        *end = at + 1;
        return true;
    }
    bool is_day = is_at(p, at, S_YESTERDAY) || is_at(p, at, S_TODAY) || text_is(p, at, "now");
    if (is_day) {
        int32_t d = p->data->today - (is_at(p, at, S_YESTERDAY) ? 1 : 0);
        *out = (struct span){d, d};
        *end = at + 1;
        return true;
    }
    if (first_of_at(p, at, out, end) || civil_at(p, at, out, end) || p->is_failed)
        return !p->is_failed;
    bool has_article = at > i || (i > 0 && text_is(p, i - 1, "the"));
    if (named_period_at(p, at, has_article, out, end)) return true;
    if (part_at(p, at, out, end) || month_at(p, at, out, end) || quarter_at(p, at, out, end) ||
        dayname_at(p, at, out, end) || ago_at(p, at, out, end) || this_at(p, at, out, end))
        return true;
    if (!year_at(p, at, &year)) return false;
    *out = year_span(year);
    *end = at + 1;
    return true;
}

/* ---- windows ---- */

static bool is_period(const struct parse *p, size_t i)
{
    return is_at(p, i, S_PERIOD);
}

/* "last 30 days", "past two weeks", "30 most recent days", "the previous month". */
static bool relative_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    uint32_t n = 1;
    size_t at = i;
    bool has_article =
        i > 0 && (is_at(p, i - 1, S_THE) || text_is(p, i - 1, "over the") ||
                  text_is(p, i - 1, "in the") || text_is(p, i - 1, "during the") ||
                  text_is(p, i - 1, "on the") || text_is(p, i - 1, "to the") ||
                  text_is(p, i - 1, "within the") || text_is(p, i - 1, "across the") ||
                  text_is(p, i - 1, "of the") || text_is(p, i - 1, "for the"));
    while (text_is(p, at, "the") || text_is(p, at, "my")) {
        has_article = true;
        at++;
    }
    bool has_number = number_at(p, at, 1, MAX_LAST, &n);
    if (has_number) at++;
    bool is_last = is_at(p, at, S_LAST) && !is_at(p, at, S_THIS);
    bool is_previous = is_at(p, at, S_PREVIOUS);
    bool is_firm = text_is(p, at, "past") || text_is(p, at, "most recent") ||
                   text_is(p, at, "this past") || text_is(p, at, "trailing") ||
                   text_is(p, at, "these past") || text_is(p, at, "recent");
    if (!is_last && !is_previous) return false;
    at++;
    if (is_at(p, at, S_LAST) && is_period(p, at + 1)) at++; /* "previous or last" */
    if (text_is(p, at, "full") || text_is(p, at, "complete") || text_is(p, at, "whole")) at++;
    if (!has_number) {
        has_number = number_at(p, at, 1, MAX_LAST, &n);
        if (has_number) at++;
    }
    if (mark_is(p, at, '-')) at++;
    const struct sense *period = sense_at(p, at, S_PERIOD);
    static const struct sense day = {S_PERIOD, PERIOD_DAY, NULL};
    bool ends = at >= p->t->n || is_at(p, at, S_MARK) || is_at(p, at, S_TO) ||
                is_at(p, at, S_AND) || is_at(p, at, S_COMPARE) || is_at(p, at, S_THAN);
    if (!period && has_number && ends && n > 1) {
        /* "the last 60 compared with the 60 before": days. */
        out->days = window_last(n, 0);
        out->length = n;
        out->is_previous = is_previous;
        *end = at;
        ask_note(p, "%u read as %u days", (unsigned)n, (unsigned)n);
        return true;
    }
    if (!period || p->t->list[at].is_owner) return false;
    (void)day;
    if (period->arg <= PERIOD_MORNING && !has_number) return false;
    if (is_at(p, at, S_ROLLING)) return false;
    at++;
    uint32_t days = n * period_days(period->arg);
    *end = at;
    if (days == 0 || days > MAX_LAST) {
        if (period->arg != PERIOD_WEEKEND || has_number) return false;
        out->days = window_of(calendar_span(p->data->today, period->arg, 1));
        struct span this = calendar_span(p->data->today, period->arg, 0);
        if (this.to <= p->data->today) out->days = window_of(this);
        return true;
    }
    out->is_previous = is_previous && !text_is(p, i, "last");
    bool is_calendar = !has_number && !has_article && !is_firm && period->arg >= PERIOD_WEEK;
    if (is_calendar) {
        out->days = window_of(calendar_span(p->data->today, period->arg, 1));
        out->is_previous = false;
        return true;
    }
    out->days = window_last(days, 0);
    out->length = days;
    if (period->arg >= PERIOD_MONTH && period->arg <= PERIOD_YEAR)
        ask_note(p, "%u %s read as %u days", (unsigned)n,
                 period->arg == PERIOD_MONTH  ? (n == 1 ? "month" : "months")
                 : period->arg == PERIOD_YEAR ? (n == 1 ? "year" : "years")
                                              : "quarters",
                 (unsigned)days);
    return true;
}

/* "the 14 days before that", "the two weeks prior", "the month before". */
static bool before_that_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    uint32_t n = 1;
    size_t at = i;
    bool has_number = number_at(p, at, 1, MAX_LAST, &n);
    if (has_number) at++;
    if (mark_is(p, at, '-')) at++;
    const struct sense *period = sense_at(p, at, S_PERIOD);
    if (!period || (!has_number && period->arg < PERIOD_WEEK)) return false;
    at++;
    if (text_is(p, at, "just") || text_is(p, at, "immediately") || text_is(p, at, "right")) at++;
    if (!is_at(p, at, S_BEFORE_THAT)) return false;
    struct span ignored;
    size_t after;
    bool says_date = is_at(p, at, S_BEFORE) && point_at(p, at + 1, &ignored, &after);
    if (p->is_failed) return false;
    /* "the 14 days before the last 14": what follows is the other window. */
    uint32_t days = n * period_days(period->arg);
    if (days == 0 || says_date) return false;
    at++;
    if (text_is(p, at, "that") || text_is(p, at, "those") || text_is(p, at, "it")) at++;
    out->days = window_last(days, days);
    out->is_previous = true;
    out->length = days;
    *end = at;
    return true;
}

/* "the 30-day period ending today", "the 14 days up to yesterday". */
static bool ending_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    uint32_t n;
    size_t at = skip_article(p, i);
    if (!number_at(p, at, 2, MAX_LAST, &n)) return false;
    at = mark_is(p, at + 1, '-') ? at + 2 : at + 1;
    const struct sense *period = sense_at(p, at, S_PERIOD);
    if (!period) return false;
    at++;
    if (text_is(p, at, "period") || text_is(p, at, "window") || text_is(p, at, "span") ||
        text_is(p, at, "time period") || text_is(p, at, "stretch"))
        at++;
    if (!is_at(p, at, S_TO) && !text_is(p, at, "leading up to")) return false;
    at++;
    struct span s;
    if (!point_at(p, at, &s, end) || s.from != s.to) return false;
    uint32_t days = n * period_days(period->arg);
    if (days == 0 || days > MAX_LAST) return false;
    out->length = days;
    if (s.to == p->data->today) out->days = window_last(days, 0);
    else out->days = (struct plan_window){.from = s.to - (int32_t)days + 1, .to = s.to};
    return true;
}

/* "so far this month", "this year so far", "month to date", "this week". */
static bool current_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    size_t at = i;
    if (is_at(p, at, S_SO_FAR)) at++;
    while (text_is(p, at, "in") || text_is(p, at, "the") || text_is(p, at, "for") ||
           text_is(p, at, "during") || text_is(p, at, ","))
        at++;
    bool is_this = is_at(p, at, S_THIS);
    if (is_this) at++;
    if (is_this &&
        (text_is(p, at, "calendar") || text_is(p, at, "whole") || text_is(p, at, "past")))
        at++;
    const struct sense *period = sense_at(p, at, S_PERIOD);
    if (!period || (period->arg < PERIOD_WEEK)) return false;
    at++;
    bool is_to_date = is_at(p, at, S_TO_DATE);
    if (!is_this && !is_to_date) return false;
    if (is_to_date || is_at(p, at, S_SO_FAR)) at++;
    struct span s = calendar_span(p->data->today, period->arg, 0);
    if (s.from > p->data->today) s = calendar_span(p->data->today, period->arg, 1);
    if (s.to > p->data->today) s.to = p->data->today;
    out->days = window_of(s);
    *end = at;
    return true;
}

static bool day_window_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    if (text_is(p, i, "day") && text_is(p, i + 1, "before") && is_at(p, i + 2, S_YESTERDAY)) {
        out->days = window_last(1, 2);
        *end = i + 3;
        return true;
    }
    if (is_at(p, i, S_YESTERDAY)) {
        out->days = window_last(1, 1);
        *end = i + 1;
        return true;
    }
    if (is_at(p, i, S_TODAY)) {
        out->days = window_last(1, 0);
        *end = i + 1;
        return true;
    }
    return false;
}

static bool week_of_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    struct span s;
    if (!is_at(p, i, S_WEEK_OF) || !point_at(p, i + 1, &s, end)) return false;
    out->days = (struct plan_window){.from = s.from, .to = s.from + WEEK_DAYS - 1};
    return true;
}

/* A stretch that stands alone; relative ones too: what "between … and …" may join. */
static bool simple_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    struct span s;
    *out = (struct window){.at = i};
    size_t part = skip_article(p, i);
    if (part_at(p, part, &s, end)) {
        out->days = window_of(s);
        return true;
    }
    if (before_that_at(p, i, out, end) || ending_at(p, i, out, end) || relative_at(p, i, out, end))
        return true;
    if (p->is_failed || current_at(p, i, out, end) || week_of_at(p, i, out, end) ||
        day_window_at(p, i, out, end))
        return !p->is_failed;
    if (is_at(p, i, S_CURRENT) || is_at(p, i, S_START) || is_at(p, i, S_END)) return false;
    if (!point_at(p, i, &s, end)) return false;
    int year;
    bool is_bare_year = year_at(p, i, &year) && *end == i + 1;
    bool is_led =
        i > 0 && (is_at(p, i - 1, S_IN) || is_at(p, i - 1, S_OF) || is_at(p, i - 1, S_AND) ||
                  is_at(p, i - 1, S_COMPARE) || is_at(p, i - 1, S_THAN) || is_at(p, i - 1, S_TO) ||
                  is_at(p, i - 1, S_FROM) || is_at(p, i - 1, S_BETWEEN) ||
                  is_at(p, i - 1, S_WITH) || is_at(p, i - 1, S_ALL));
    bool is_end = *end >= p->t->n || is_at(p, *end, S_MARK);
    if (is_bare_year && !is_led && !(is_end && i > 0 && !is_at(p, i - 1, S_CMP))) return false;
    out->days = window_of(s);
    return true;
}

/* Joins two ends. Days make one stretch; longer ones may be one or two: the question tells. */
static bool join_spans(struct parse *p, const struct window *a, const struct window *b,
                       struct window *out)
{
    bool has_relative = a->days.last > 0 || b->days.last > 0;
    *out = *a;
    out->a = a->days;
    out->b = b->days;
    out->is_pair = true;
    if (has_relative) {
        if (a->days.last == 1 || b->days.last == 1) {
            int32_t today = p->data->today;
            int32_t from = a->days.last > 0 ? today - (int32_t)a->days.skip : a->days.from;
            int32_t to = b->days.last > 0 ? today - (int32_t)b->days.skip : b->days.to;
            out->days = (struct plan_window){.from = from, .to = to};
            out->is_pair = false;
        }
        return true;
    }
    bool is_days = a->days.from == a->days.to && b->days.from == b->days.to;
    out->is_pair = !is_days;
    if (a->days.from > b->days.to) {
        /* "from November to February": the second was taken from the wrong year or turned round. */
        if (is_days || a->days.from > b->days.from + 400) {
            ask_refuse(p, "The window ends before it begins.");
            return false;
        }
        struct civil c = day_to_civil(a->days.from), d = day_to_civil(a->days.to);
        out->a = out->days = (struct plan_window){.from = day_month_first(c.year - 1, c.month),
                                                  .to = day_month_last(d.year - 1, d.month)};
    }
    out->days.to = b->days.to;
    return true;
}

/* "between X and Y", "from X to Y", "X to Y". */
static bool range_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    struct window a, b;
    size_t at = i, mid;
    bool is_between = is_at(p, at, S_BETWEEN);
    bool is_from = is_at(p, at, S_FROM) || is_at(p, at, S_SINCE);
    if (is_between || is_from) at++;
    at = skip_article(p, at);
    if (!simple_at(p, at, &a, &mid)) {
        /* "between 3 and 20 May", "from 1 to 10 May 2025": the month is said once. */
        uint32_t day;
        struct span second;
        bool joins = is_at(p, at + 1, S_AND) || is_at(p, at + 1, S_TO) || mark_is(p, at + 1, '-');
        if (!number_at(p, at, 1, 31, &day) || !joins || !civil_at(p, at + 2, &second, end))
            return false;
        struct civil c = day_to_civil(second.from);
        int32_t first = day_from_civil(c.year, c.month, (int)day);
        if (first == DAY_NONE || first > second.from) return false;
        out->days = (struct plan_window){.from = first, .to = second.to};
        return true;
    }
    bool joins = is_between ? is_at(p, mid, S_AND) : is_at(p, mid, S_TO) || mark_is(p, mid, '-');
    if (is_between && is_at(p, mid, S_TO)) joins = true;
    if (mark_is(p, mid, '/')) joins = true;
    if (is_from && is_at(p, mid, S_AND)) joins = true;
    if (!joins) return false;
    mid = skip_article(p, mid + 1);
    if (is_at(p, mid, S_TO) && !is_at(p, mid, S_NUMBER)) mid = skip_article(p, mid + 1);
    uint32_t day;
    if (simple_at(p, mid, &b, end)) {
        /* "from March to May 2025", "3 May to 20 May 2024": the year is said once. */
        bool a_has_year = false;
        for (size_t k = at; k < mid; k++) {
            int y;
            a_has_year = a_has_year || year_at(p, k, &y) || is_at(p, k, S_DATE);
        }
        bool b_is_plain = a.days.last == 0 && b.days.last == 0;
        if (b_is_plain && !a_has_year && a.days.from > b.days.from) {
            struct civil c = day_to_civil(a.days.from), d = day_to_civil(b.days.from);
            int back = c.month <= d.month ? c.year - d.year : c.year - d.year + 1;
            struct civil e = day_to_civil(a.days.to);
            a.days.from = day_from_civil(c.year - back, c.month, c.day);
            a.days.to = e.day > 28 && a.days.from + 27 < a.days.to
                            ? day_month_last(e.year - back, e.month)
                            : day_from_civil(e.year - back, e.month, e.day);
            if (a.days.from == DAY_NONE || a.days.to == DAY_NONE) return false;
        } else if (b_is_plain && !a_has_year && a.days.from <= b.days.from) {
            struct civil c = day_to_civil(a.days.from), d = day_to_civil(b.days.from);
            bool is_year_apart = c.year < d.year && c.month <= d.month;
            if (is_year_apart && a.days.to - a.days.from < 40) {
                a.days.from = day_from_civil(d.year, c.month, c.day);
                struct civil e = day_to_civil(a.days.to);
                a.days.to = e.day == c.day ? a.days.from : day_month_last(d.year, e.month);
            }
        }
        return join_spans(p, &a, &b, out);
    }
    /* "May 3 to 20". */
    if (a.days.from != a.days.to || !number_at(p, mid, 1, 31, &day)) return false;
    struct civil c = day_to_civil(a.days.from);
    int32_t last = day_from_civil(c.year, c.month, (int)day);
    int year;
    *end = year_behind(p, mid + 1, &year);
    if (last == DAY_NONE || last < a.days.from) return false;
    out->days = (struct plan_window){.from = a.days.from, .to = last};
    if (year > 0) {
        out->days.from = day_from_civil(year, c.month, c.day);
        out->days.to = day_from_civil(year, c.month, (int)day);
    }
    return out->days.from != DAY_NONE && out->days.to != DAY_NONE;
}

/* "since March", "after 3 May", "before 2025", "until yesterday". */
static bool open_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    struct span s;
    bool is_since = is_at(p, i, S_SINCE) || text_is(p, i, "from");
    bool is_after = text_is(p, i, "after");
    bool is_before = is_at(p, i, S_BEFORE);
    bool is_until = is_at(p, i, S_TO);
    if (!is_since && !is_after && !is_before && !is_until) return false;
    size_t at = skip_article(p, i + 1);
    if (is_since && is_at(p, at, S_START) && !point_at(p, at, &s, end) && !p->is_failed) {
        /* "since the beginning": of the data. */
        *end = at + 1;
        out->is_all = true;
        out->days = (struct plan_window){.from = DAY_NONE, .to = DAY_NONE};
        if (is_at(p, *end, S_TO) && (is_at(p, *end + 1, S_TODAY) || text_is(p, *end + 1, "now")))
            *end += 2;
        return true;
    }
    if (is_at(p, at, S_CLOCK) || (is_at(p, at, S_NUMBER) && is_at(p, at + 1, S_UNIT))) return false;
    if (!point_at(p, at, &s, end)) return false;
    out->days = (struct plan_window){.from = DAY_NONE, .to = DAY_NONE};
    if (is_since) out->days.from = s.from;
    if (is_after && !is_since) out->days.from = s.to + 1;
    if (is_before && !is_after && !is_since) out->days.to = s.from - 1;
    if (is_until && !is_before && !is_since && !is_after) out->days.to = s.to;
    if (text_is(p, *end, "on") || text_is(p, *end, "onwards") || text_is(p, *end, "onward")) ++*end;
    return true;
}

/* Two months one after the other are one stretch: "in March and April". */
static void extend(struct parse *p, struct window *out, size_t *end)
{
    struct window more;
    size_t after;
    bool is_month = out->days.last == 0 && out->days.from != DAY_NONE &&
                    out->days.to - out->days.from > 26 && out->days.to - out->days.from < 32;
    if (!is_month || !text_is(p, *end, "and")) return;
    if (!simple_at(p, *end + 1, &more, &after)) return;
    if (more.days.last > 0 || more.days.from == more.days.to) return;
    out->is_pair = true;
    out->a = out->days;
    out->b = more.days;
    if (more.days.from == out->days.to + 1) out->days.to = more.days.to;
    *end = after;
}

bool window_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    *out = (struct window){.at = i};
    if (range_at(p, i, out, end)) return true;
    if (p->is_failed) return false;
    *out = (struct window){.at = i};
    if (open_at(p, i, out, end)) return true;
    if (p->is_failed) return false;
    if (is_at(p, i, S_SO_FAR) && current_at(p, i, out, end)) return true;
    if (is_at(p, i, S_ALL)) {
        *out = (struct window){.at = i, .is_all = true, .days = {DAY_NONE, DAY_NONE, 0, 0}};
        *end = i + 1;
        return true;
    }
    if (!simple_at(p, i, out, end)) return false;
    extend(p, out, end);
    return true;
}
