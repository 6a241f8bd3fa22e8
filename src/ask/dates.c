/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dates in words, and stretches that have a name. The rules where English leaves a choice, of
 * windows (windows.c) too:
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
#include "ask/dates_impl.h"

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

uint32_t dates_period_days(int period)
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

bool dates_number(const struct parse *p, size_t i, uint32_t least, uint32_t most, uint32_t *out)
{
    if (!is_at(p, i, S_NUMBER)) return false;
    double v = p->t->list[i].number;
    if (v < least || v > most || v != (double)(uint32_t)v) return false;
    *out = (uint32_t)v;
    return true;
}

size_t dates_skip_article(const struct parse *p, size_t i)
{
    while (is_at(p, i, S_THE) || text_in(p, i, "in|of|on|of the|in the|during|my") ||
           mark_is(p, i, ','))
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

bool dates_year(const struct parse *p, size_t i, int *year)
{
    uint32_t n;
    bool is_plain = i < p->t->n && p->t->list[i].text.len == 4;
    if (!is_plain || !dates_number(p, i, YEAR_FROM, YEAR_TO, &n)) return false;
    if (is_at(p, i + 1, S_UNIT) || (is_at(p, i + 1, S_METRIC) && !is_at(p, i + 1, S_FILLER)))
        return false;
    *year = (int)n;
    return true;
}

/* ---- dates ---- */

static bool mark_in(const struct parse *p, size_t i, const char *marks)
{
    const struct sense *s = sense_at(p, i, S_MARK);
    return s && strchr(marks, s->arg) != NULL;
}

/* A year behind a month or a day: "March 2025", "March of 2025", "March, 2025", "this year". */
size_t dates_year_behind(const struct parse *p, size_t i, int *year)
{
    size_t at = i;
    while (mark_in(p, at, ",./-") || text_is(p, at, "of")) at++;
    if (dates_year(p, at, year)) return at + 1;
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
bool dates_civil(struct parse *p, size_t i, struct span *out, size_t *end)
{
    uint32_t day;
    int year;
    size_t at = i;
    const struct sense *month;
    if (dates_number(p, at, 1, 31, &day)) {
        at++;
        if (is_at(p, at, S_OF) || mark_in(p, at, "/-")) at++;
        month = sense_at(p, at, S_MONTH);
        if (!month) return false;
        at++;
    } else {
        month = sense_at(p, at, S_MONTH);
        if (!month) return false;
        at++;
        if (text_is(p, at, "the")) at++;
        if (!dates_number(p, at, 1, 31, &day)) return false;
        bool is_year_like =
            p->t->list[at].text.len > 2 && !p->t->list[at].is_ordinal && !p->t->list[at].is_written;
        if (is_year_like) return false;
        at++;
    }
    *end = dates_year_behind(p, at, &year);
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
    bool is_last = text_in(p, at, "last|this past");
    bool is_this = text_is(p, at, "this");
    if ((is_last || is_this) && is_at(p, at + 1, S_MONTH)) at++;
    const struct sense *month = sense_at(p, at, S_MONTH);
    if (!month) return false;
    int year;
    *end = dates_year_behind(p, at + 1, &year);
    bool is_verb = text_is(p, at, "may") && year == 0 && (at == 0 || is_at(p, at + 1, S_SELF));
    if (is_verb) return false;
    *out = newest_month(p, month->arg);
    if (year > 0)
        *out = (struct span){day_month_first(year, month->arg), day_month_last(year, month->arg)};
    return true;
}

static bool dayname_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    size_t at = i;
    bool is_last = text_is(p, at, "last");
    if (is_last || text_in(p, at, "this|this past")) at++;
    const struct sense *s = sense_at(p, at, S_DAYNAME);
    if (!s || s->arg >= DAYNAME_PLURAL) return false;
    if (i > 0 && (is_at(p, i - 1, S_A) || text_in(p, i - 1, "each|every|any"))) return false;
    int32_t back = ((int32_t)day_weekday(p->data->today) - s->arg + WEEK_DAYS) % WEEK_DAYS;
    if (is_last && back == 0) back = WEEK_DAYS;
    *out = (struct span){p->data->today - back, p->data->today - back};
    *end = at + 1;
    return true;
}

/* "3 days ago", "a week ago". */
static bool ago_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    uint32_t n = 1;
    size_t at = i;
    if (dates_number(p, at, 1, MAX_LAST, &n) || is_at(p, at, S_A)) at++;
    const struct sense *period = sense_at(p, at, S_PERIOD);
    if (at == i || !period || !text_is(p, at + 1, "ago")) return false;
    int32_t d = p->data->today - (int32_t)(n * dates_period_days(period->arg));
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
struct span dates_calendar(int32_t today, int period, int back)
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

/* The stretch that a part is of: a year, a month, "this year". */
static bool whole_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    int year;
    size_t at = dates_skip_article(p, i);
    if (!dates_year(p, at, &year)) return point_at(p, at, out, end);
    *out = year_span(year);
    *end = at + 1;
    return true;
}

struct part {
    uint32_t n, count; /* the n-th stretch of `count` periods */
    bool is_last;
};

static bool part_head(const struct parse *p, size_t i, struct part *part, size_t *at)
{
    *part = (struct part){.n = 1, .count = 1, .is_last = text_in(p, i, "last|final")};
    bool is_ordinal = dates_number(p, i, 1, 4, &part->n) && p->t->list[i].is_ordinal;
    if (!is_at(p, i, S_FIRST) && !part->is_last && !is_ordinal) return false;
    *at = i + 1;
    if (dates_number(p, *at, 1, 60, &part->count)) ++*at;
    return true;
}

/* "first half of 2025", "second quarter of 2024", "first week of March", "last 3 days of May". */
static bool part_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    struct part part;
    struct span whole;
    size_t at;
    if (!part_head(p, i, &part, &at)) return false;
    const struct sense *period = sense_at(p, at, S_PERIOD);
    bool is_quarter = is_at(p, at, S_QUARTER), is_half = is_at(p, at, S_HALF);
    if ((!is_quarter && !period && !is_half) || !is_at(p, at + 1, S_OF)) return false;
    if (!whole_at(p, at + 2, &whole, end)) return false;
    if (is_half) {
        *out = half_of(whole, part.n == 2 || part.is_last);
        return true;
    }
    if (is_quarter) {
        int k = part.is_last ? 4 : (int)part.n;
        int y = year_of(whole.from);
        *out = (struct span){day_month_first(y, 3 * k - 2), day_month_last(y, 3 * k)};
        return true;
    }
    int32_t len = (int32_t)(part.count * dates_period_days(period->arg));
    int32_t from = part.is_last ? whole.to - len + 1 : whole.from + (int32_t)(part.n - 1) * len;
    *out = (struct span){from, from + len - 1};
    return len > 0;
}

static bool quarter_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    const struct sense *s = sense_at(p, i, S_QUARTER);
    int year = year_of(p->data->today);
    if (!s || s->arg == 0) return false;
    size_t at = is_at(p, i + 1, S_OF) ? i + 2 : i + 1;
    *end = dates_year(p, at, &year) ? at + 1 : i + 1;
    *out = (struct span){day_month_first(year, 3 * s->arg - 2), day_month_last(year, 3 * s->arg)};
    return true;
}

/* "this month", "the current week", "last year": calendar stretches that may begin or end another.
 */
static bool this_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    const struct sense *period = sense_at(p, i + 1, S_PERIOD);
    if (!period) return false;
    bool is_this = is_at(p, i, S_THIS) || text_is(p, i, "the");
    bool is_last = text_in(p, i, "last|previous");
    if ((!is_this && !is_last) || period->arg < PERIOD_WEEK) return false;
    *out = dates_calendar(p->data->today, period->arg, is_this ? 0 : 1);
    *end = i + 2;
    return true;
}

/* "the first of this month", "the 1st of the month". */
static bool first_of_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    uint32_t n = 1;
    if (!is_at(p, i, S_FIRST) && !(dates_number(p, i, 1, 31, &n) && p->t->list[i].is_ordinal))
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
        *out = dates_calendar(p->data->today, period->arg, 0);
        *end = at + 1;
    } else if (!this_at(p, at, out, end)) {
        return false;
    }
    out->from += (int32_t)n - 1;
    out->to = out->from;
    return true;
}

/* "the year 2024", "the month of May": what stands before a name adds nothing. */
static bool named_period_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    const struct sense *period = sense_at(p, i, S_PERIOD);
    int year;
    if (!period) return false;
    size_t at = is_at(p, i + 1, S_OF) ? i + 2 : i + 1;
    if (period->arg == PERIOD_MONTH && is_at(p, at, S_MONTH)) return month_at(p, at, out, end);
    if (period->arg != PERIOD_YEAR || !dates_year(p, at, &year)) return false;
    *out = year_span(year);
    *end = at + 1;
    return true;
}

/* "(since) the month began", "(the start of) the year": the one that runs. */
static bool running_period_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    const struct sense *period = sense_at(p, i, S_PERIOD);
    if (!period || period->arg < PERIOD_WEEK) return false;
    bool has_begun = text_in(p, i + 1, "began|started");
    bool is_start = (i >= 1 && is_at(p, i - 1, S_START)) || (i >= 2 && is_at(p, i - 2, S_START));
    if (!has_begun && !is_start) return false;
    *out = dates_calendar(p->data->today, period->arg, 0);
    *end = has_begun ? i + 2 : i + 1;
    return true;
}

/* "2025-03-09"; one that could be read in two ways is refused. */
static bool iso_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    if (!is_at(p, i, S_DATE)) return false;
    const struct token *t = &p->t->list[i];
    if (t->day == DAY_NONE || t->is_ambiguous) {
        ask_refuse(p,
                   t->day == DAY_NONE ? "There is no day %.*s."
                                      : "%.*s could be two days: write it as 2025-03-31.",
                   (int)t->text.len, t->text.ptr);
        return false;
    }
    *out = (struct span){t->day, t->day};
    *end = i + 1;
    return true;
}

/* "the beginning of March", "the end of the year". */
static bool edge_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    bool is_start = is_at(p, i, S_START);
    if (!is_start && (!is_at(p, i, S_END) || is_at(p, i, S_TO))) return false;
    size_t named = text_is(p, i + 1, "the") ? i + 2 : i + 1;
    if (!running_period_at(p, named, out, end) && !point_at(p, i + 1, out, end)) return false;
    int32_t day = is_start ? out->from : out->to;
    *out = (struct span){day, day};
    return true;
}

/* "New Year", "yesterday", "today", "now". */
static bool known_day_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    int32_t day = p->data->today;
    if (is_at(p, i, S_NEW_YEAR)) day = day_month_first(year_of(day), 1);
    else if (is_at(p, i, S_YESTERDAY)) day = day - 1;
    else if (!is_at(p, i, S_TODAY) && !text_is(p, i, "now")) return false;
    /* "the last night I slept …" is the newest one of a kind. */
    if (text_is(p, i, "last night") && i > 0 && text_is(p, i - 1, "the")) return false;
    *out = (struct span){day, day};
    *end = i + 1;
    return true;
}

/* "11/2024", "2024-11" */
static bool numeric_month_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    uint32_t month;
    int year;
    bool is_iso = dates_year(p, i, &year) && mark_in(p, i + 1, "-") && i + 2 < p->t->n &&
                  p->t->list[i + 2].text.len == 2;
    if (!mark_in(p, i + 1, "/-") || !dates_number(p, is_iso ? i + 2 : i, 1, FEW_MONTHS, &month))
        return false;
    if (!is_iso && (!mark_in(p, i + 1, "/") || !dates_year(p, i + 2, &year))) return false;
    *out = (struct span){day_month_first(year, (int)month), day_month_last(year, (int)month)};
    *end = i + 3;
    return true;
}

static bool bare_year_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    int year;
    if (!dates_year(p, i, &year)) return false;
    *out = year_span(year);
    *end = i + 1;
    return true;
}

/* One end of a stretch: a day, or a month or year of which it has a first and a last. */
static bool point_at(struct parse *p, size_t i, struct span *out, size_t *end)
{
    typedef bool (*point_fn)(struct parse * p, size_t i, struct span * out, size_t * end);
    static const point_fn points[] = {
        iso_at,      edge_at,           known_day_at,    first_of_at, numeric_month_at,
        dates_civil, running_period_at, named_period_at, part_at,     month_at,
        quarter_at,  dayname_at,        ago_at,          this_at,     bare_year_at,
    };
    size_t at = i;
    while (text_in(p, at, "the|on|in|of|my")) at++;
    /* "Monday 12 May", "Monday, May 12" */
    if (is_at(p, at, S_DAYNAME) && is_at(p, at + 1, S_NUMBER)) at++;
    if (is_at(p, at, S_DAYNAME) && mark_is(p, at + 1, ',') && !is_at(p, at + 2, S_DAYNAME)) at += 2;
    for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
        if (points[k](p, at, out, end)) return true;
        if (p->is_failed) return false;
    }
    return false;
}

bool dates_point(struct parse *p, size_t i, struct span *out, size_t *end)
{
    return point_at(p, i, out, end);
}

bool dates_part(struct parse *p, size_t i, struct span *out, size_t *end)
{
    return part_at(p, i, out, end);
}
