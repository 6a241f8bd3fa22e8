/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of days in words: relative ones ("last 30 days"), stretches between two dates, open
 * ones ("since March"). dates.c says which choices are made where English leaves one.
 */
#include "ask/dates_impl.h"

enum { MAX_LAST = 36500, MONTH_MOST = 31, YEAR_AND_MORE = 400 };

static struct plan_window window_of(struct span s)
{
    return (struct plan_window){.from = s.from, .to = s.to};
}

static struct plan_window window_last(uint32_t last, uint32_t skip)
{
    return (struct plan_window){.from = DAY_NONE, .to = DAY_NONE, .last = last, .skip = skip};
}

/* ---- relative windows ---- */

/* "last 30 days" and its kin, taken apart. */
struct relative {
    uint32_t n;
    bool has_number, is_previous, has_article, is_firm;
    const struct sense *period; /* NULL: "the last 60" */
};

static bool relative_head(const struct parse *p, size_t i, struct relative *r, size_t *at)
{
    static const char articles[] = "the|over the|in the|during the|on the|to the|within the|"
                                   "across the|of the|for the|those|these|my|all|that|all the";
    *r = (struct relative){.n = 1, .has_article = i > 0 && text_in(p, i - 1, articles)};
    *at = i;
    while (text_in(p, *at, "the|my")) {
        r->has_article = true;
        ++*at;
    }
    r->has_number = dates_number(p, *at, 1, MAX_LAST, &r->n);
    if (r->has_number) ++*at;
    bool is_last = is_at(p, *at, S_LAST) && !is_at(p, *at, S_THIS);
    r->is_previous = is_at(p, *at, S_PREVIOUS);
    if (!is_last && !r->is_previous) return false;
    r->is_firm = text_in(p, *at, "past|most recent|this past|trailing|these past|recent");
    ++*at;
    return true;
}

static void relative_tail(const struct parse *p, struct relative *r, size_t *at)
{
    if (is_at(p, *at, S_LAST) && is_at(p, *at + 1, S_PERIOD)) ++*at; /* "previous or last" */
    if (text_in(p, *at, "full|complete|whole")) ++*at;
    if (!r->has_number) {
        r->has_number = dates_number(p, *at, 1, MAX_LAST, &r->n);
        if (r->has_number) ++*at;
    }
    if (mark_is(p, *at, '-')) ++*at;
    r->period = sense_at(p, *at, S_PERIOD);
}

/* "the last 60 compared with the 60 before": days. */
static bool number_alone(struct parse *p, const struct relative *r, size_t at, struct window *out)
{
    bool ends = at >= p->t->n || IS_ANY(p, at, S_MARK, S_TO, S_AND, S_COMPARE, S_THAN);
    if (!r->has_number || !ends || r->n < 2) return false;
    out->days = window_last(r->n, 0);
    out->length = r->n;
    out->is_previous = r->is_previous;
    ask_note(p, "%u read as %u days", (unsigned)r->n, (unsigned)r->n);
    return true;
}

/* The newest weekend that is over, or runs out today. */
static void last_weekend(const struct parse *p, struct window *out)
{
    struct span s = dates_calendar(p->data->today, PERIOD_WEEKEND, 0);
    if (s.to > p->data->today) s = dates_calendar(p->data->today, PERIOD_WEEKEND, 1);
    out->days = window_of(s);
}

static void note_days(struct parse *p, const struct relative *r, uint32_t days)
{
    static const char *const names[] = {
        [PERIOD_MONTH] = "month", [PERIOD_QUARTER] = "quarter", [PERIOD_YEAR] = "year"};
    if (r->period->arg < PERIOD_MONTH || r->period->arg > PERIOD_YEAR) return;
    ask_note(p, "%u %s%s read as %u days", (unsigned)r->n, names[r->period->arg],
             r->n == 1 ? "" : "s", (unsigned)days);
}

/* "last 30 days", "past two weeks", "30 most recent days", "the previous month". */
static bool relative_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    struct relative r;
    size_t at;
    if (!relative_head(p, i, &r, &at)) return false;
    relative_tail(p, &r, &at);
    *end = at;
    if (!r.period) return number_alone(p, &r, at, out);
    bool is_day = r.period->arg <= PERIOD_MORNING;
    if (p->t->list[at].is_owner || (is_day && !r.has_number)) return false;
    *end = at + 1;
    uint32_t days = r.n * dates_period_days(r.period->arg);
    if (r.period->arg == PERIOD_WEEKEND && !r.has_number) {
        last_weekend(p, out);
        return true;
    }
    if (days == 0 || days > MAX_LAST) return false;
    bool is_calendar = r.period->arg != PERIOD_FORTNIGHT; /* a fortnight begins on any day */
    if (!r.has_number && !r.has_article && !r.is_firm && is_calendar) {
        out->days = window_of(dates_calendar(p->data->today, r.period->arg, 1));
        return true;
    }
    out->is_previous = r.is_previous;
    out->days = window_last(days, 0);
    out->length = days;
    note_days(p, &r, days);
    return true;
}

/* "14 days", "two weeks", "month": how many days; 0 when there is no such phrase. */
static uint32_t length_at(const struct parse *p, size_t i, size_t *end)
{
    uint32_t n = 1;
    size_t at = i;
    bool has_number = dates_number(p, at, 1, MAX_LAST, &n);
    if (has_number) at++;
    if (mark_is(p, at, '-')) at++;
    const struct sense *period = sense_at(p, at, S_PERIOD);
    if (!period || (!has_number && period->arg < PERIOD_WEEK)) return 0;
    uint32_t days = n * dates_period_days(period->arg);
    *end = at + 1;
    return days <= MAX_LAST ? days : 0;
}

static bool has_article(const struct parse *p, size_t i)
{
    return text_in(p, i, "the") ||
           (i > 0 && text_in(p, i - 1,
                             "the|in the|over the|during the|for the|within the|"
                             "across the|of the|on the|to the"));
}

/* "the two weeks after 1 March". */
static bool after_date_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    size_t at;
    struct span s;
    uint32_t days = length_at(p, i, &at);
    if (days < 2 || !has_article(p, i) || !text_in(p, at, "after|following")) return false;
    if (!dates_point(p, at + 1, &s, end)) return false;
    out->days = (struct plan_window){.from = s.to + 1, .to = s.to + (int32_t)days};
    return true;
}

/* "the 14 days before that", "the two weeks prior", "the 30 days before 1 March". */
static bool before_that_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    size_t at, after;
    struct span s;
    uint32_t days = length_at(p, i, &at);
    if (days == 0) return false;
    if (text_in(p, at, "just|immediately|right")) at++;
    if (!is_at(p, at, S_BEFORE_THAT)) return false;
    bool says_date = is_at(p, at, S_BEFORE) && dates_point(p, at + 1, &s, &after);
    if (p->is_failed) return false;
    /* "30 days before 1 May" without an article is one day. */
    if (says_date && (days < 2 || !has_article(p, i))) return false;
    if (says_date) {
        out->days = (struct plan_window){.from = s.from - (int32_t)days, .to = s.from - 1};
        *end = after;
        return true;
    }
    at++;
    *end = text_in(p, at, "that|those|it") ? at + 1 : at;
    out->days = window_last(days, days);
    out->is_previous = true;
    out->length = days;
    return true;
}

/* "the 30-day period ending today", "the 14 days up to yesterday". */
static bool ending_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    struct span s;
    uint32_t n;
    size_t at = dates_skip_article(p, i);
    if (!dates_number(p, at, 2, MAX_LAST, &n)) return false;
    uint32_t days = length_at(p, at, &at);
    if (days == 0) return false;
    if (text_in(p, at, "period|window|span|time period|stretch")) at++;
    if (!is_at(p, at, S_TO) && !text_is(p, at, "leading up to")) return false;
    if (!dates_point(p, at + 1, &s, end) || s.from != s.to) return false;
    out->length = days;
    out->days = (struct plan_window){.from = s.to - (int32_t)days + 1, .to = s.to};
    if (s.to == p->data->today) out->days = window_last(days, 0);
    return true;
}

/* "so far this month", "this year so far", "month to date", "this week". */
static bool current_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    size_t at = i;
    if (is_at(p, at, S_SO_FAR)) at++;
    while (text_in(p, at, "in|the|for|during|,")) at++;
    bool is_this = is_at(p, at, S_THIS);
    if (is_this) at++;
    if (is_this && (text_in(p, at, "calendar|whole|past"))) at++;
    const struct sense *period = sense_at(p, at, S_PERIOD);
    if (!period || (period->arg < PERIOD_WEEK)) return false;
    at++;
    bool is_to_date = is_at(p, at, S_TO_DATE);
    if (!is_this && !is_to_date) return false;
    if (is_to_date || is_at(p, at, S_SO_FAR)) at++;
    struct span s = dates_calendar(p->data->today, period->arg, 0);
    if (s.from > p->data->today) s = dates_calendar(p->data->today, period->arg, 1);
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
    /* "the last night I slept …" is the newest one of a kind. */
    bool is_newest =
        text_is(p, i, "last night") && i > 0 && text_in(p, i - 1, "the|was the|is the");
    if (is_at(p, i, S_TODAY) && !is_newest) {
        out->days = window_last(1, 0);
        *end = i + 1;
        return true;
    }
    return false;
}

static bool week_of_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    struct span s;
    if (is_at(p, i, S_FIRST) && is_at(p, i + 1, S_WEEK_OF)) i++; /* "the first week of March" */
    if (!is_at(p, i, S_WEEK_OF) || !dates_point(p, i + 1, &s, end)) return false;
    out->days = (struct plan_window){.from = s.from, .to = s.from + 7 - 1};
    return true;
}

/* A year without a word before it may be any number: only at the end of what is said. */
static bool is_year_fit(const struct parse *p, size_t i, size_t end)
{
    int year;
    if (!dates_year(p, i, &year) || end != i + 1) return true;
    if (i == 0) return false;
    bool is_end = end >= p->t->n || is_at(p, end, S_MARK);
    bool is_led = IS_ANY(p, i - 1, S_IN, S_OF, S_AND, S_COMPARE, S_THAN, S_TO, S_FROM, S_BETWEEN,
                         S_WITH, S_ALL);
    return is_led || (is_end && !is_at(p, i - 1, S_CMP));
}

/* A stretch that stands alone; relative ones too: what "between … and …" may join. */
static bool simple_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    typedef bool (*window_fn)(struct parse * p, size_t i, struct window * out, size_t * end);
    static const window_fn windows[] = {before_that_at, after_date_at, ending_at,    relative_at,
                                        current_at,     week_of_at,    day_window_at};
    struct span s;
    *out = (struct window){.at = i};
    bool is_part = dates_part(p, dates_skip_article(p, i), &s, end);
    for (size_t k = 0; !is_part && k < sizeof windows / sizeof *windows; k++) {
        if (windows[k](p, i, out, end)) return true;
        if (p->is_failed) return false;
    }
    if (!is_part) {
        if (IS_ANY(p, i, S_CURRENT, S_START, S_END) || !dates_point(p, i, &s, end)) return false;
        if (!is_year_fit(p, i, *end)) return false;
    }
    out->days = window_of(s);
    return true;
}

/* ---- from one to another ---- */

/* "from 3 May to yesterday": one end is relative, and a day. */
static void join_relative(const struct parse *p, const struct window *a, const struct window *b,
                          struct window *out)
{
    int32_t today = p->data->today;
    if (a->days.last != 1 && b->days.last != 1) return;
    if (a->days.last > 1 && b->days.skip == 0) {
        out->is_pair = out->is_previous = false; /* "the previous 40 days up to today" */
        return;
    }
    int32_t from = a->days.last > 0 ? today - (int32_t)a->days.skip : a->days.from;
    int32_t to = b->days.last > 0 ? today - (int32_t)b->days.skip : b->days.to;
    out->days = (struct plan_window){.from = from, .to = to};
    out->is_pair = false;
}

/* Joins two ends. Days make one stretch; longer ones may be one or two: the question tells. */
static bool join_spans(struct parse *p, const struct window *a, const struct window *b,
                       struct window *out)
{
    *out = *a;
    out->a = a->days;
    out->b = b->days;
    out->is_pair = true;
    if (a->days.last > 0 || b->days.last > 0) {
        join_relative(p, a, b, out);
        return true;
    }
    bool is_days = a->days.from == a->days.to && b->days.from == b->days.to;
    out->is_pair = !is_days;
    if (a->days.from > b->days.to) {
        /* "from November to February": the first is of the year before. */
        if (is_days || a->days.from > b->days.from + YEAR_AND_MORE) {
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

/* "between the start and the end of August": all of it. */
static bool whole_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    struct span s;
    if (!is_at(p, i, S_START) || !is_at(p, i + 1, S_AND)) return false;
    size_t at = text_is(p, i + 2, "the") ? i + 3 : i + 2;
    if (!is_at(p, at, S_END) || !dates_point(p, at + 1, &s, end)) return false;
    out->days = window_of(s);
    return true;
}

/* "from 1 to 10 May 2025": the month is said once, behind. */
static bool days_of_month_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    uint32_t day;
    struct span second;
    bool joins = IS_ANY(p, i + 1, S_AND, S_TO) || mark_is(p, i + 1, '-');
    if (!dates_number(p, i, 1, MONTH_MOST, &day) || !joins) return false;
    size_t at = text_is(p, i + 2, "the") ? i + 3 : i + 2;
    if (!dates_civil(p, at, &second, end)) return false;
    struct civil c = day_to_civil(second.from);
    int32_t first = day_from_civil(c.year, c.month, (int)day);
    if (first == DAY_NONE || first > second.from) return false;
    out->days = (struct plan_window){.from = first, .to = second.to};
    return true;
}

/* "May 3 to 20": the month is said once, before. */
static bool second_day_at(struct parse *p, size_t i, const struct window *a, struct window *out,
                          size_t *end)
{
    uint32_t day;
    int year;
    if (a->days.from != a->days.to || a->days.last > 0) return false;
    if (!dates_number(p, i, 1, MONTH_MOST, &day)) return false;
    struct civil c = day_to_civil(a->days.from);
    *end = dates_year_behind(p, i + 1, &year);
    if (year > 0) c.year = year;
    int32_t first = day_from_civil(c.year, c.month, c.day);
    int32_t last = day_from_civil(c.year, c.month, (int)day);
    if (first == DAY_NONE || last == DAY_NONE || last < first) return false;
    out->days = (struct plan_window){.from = first, .to = last};
    return true;
}

/* A stretch moved by whole years: its ends stay ends of months where they were. */
static struct plan_window move_years(struct plan_window w, int years)
{
    struct civil a = day_to_civil(w.from), b = day_to_civil(w.to);
    bool is_month = w.to - w.from >= 27;
    return (struct plan_window){.from = day_from_civil(a.year + years, a.month, a.day),
                                .to = is_month ? day_month_last(b.year + years, b.month)
                                               : day_from_civil(b.year + years, b.month, b.day)};
}

/* "from March to May 2024", "3 May to 20 May 2024": the year of the second is that of the first. */
static bool share_year(const struct parse *p, size_t from, size_t to, struct window *a,
                       const struct window *b)
{
    int year;
    for (size_t k = from; k < to; k++)
        if (dates_year(p, k, &year) || is_at(p, k, S_DATE)) return true;
    if (a->days.last > 0 || b->days.last > 0) return true;
    if (a->days.from == DAY_NONE || b->days.from == DAY_NONE) return true;
    struct civil c = day_to_civil(a->days.from), d = day_to_civil(b->days.from);
    int wanted = c.month <= d.month ? d.year : d.year - 1;
    bool is_long = a->days.to - a->days.from > MONTH_MOST;
    if (wanted == c.year || is_long) return true;
    a->days = move_years(a->days, wanted - c.year);
    return a->days.from != DAY_NONE && a->days.to != DAY_NONE;
}

static bool is_join(const struct parse *p, size_t i, bool is_between, bool is_from)
{
    if (mark_is(p, i, '/') || is_at(p, i, S_TO)) return true;
    if (is_at(p, i, S_AND)) return is_between || is_from;
    return mark_is(p, i, '-') && !is_between;
}

/* "between X and Y", "from X to Y", "X to Y". */
static bool range_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    struct window a, b;
    size_t mid;
    bool is_between = is_at(p, i, S_BETWEEN) || text_is(p, i, "within");
    bool is_from = IS_ANY(p, i, S_FROM, S_SINCE);
    size_t at = dates_skip_article(p, is_between || is_from ? i + 1 : i);
    if (whole_at(p, at, out, end) || days_of_month_at(p, at, out, end)) return true;
    if (p->is_failed || !simple_at(p, at, &a, &mid)) return false;
    if (!is_join(p, mid, is_between, is_from)) return false;
    mid = dates_skip_article(p, mid + 1);
    if (is_at(p, mid, S_TO)) mid = dates_skip_article(p, mid + 1); /* "and ending" */
    if (simple_at(p, mid, &b, end))
        return share_year(p, at, mid, &a, &b) && join_spans(p, &a, &b, out);
    return !p->is_failed && second_day_at(p, mid, &a, out, end);
}

/* ---- open windows ---- */

/* "since the beginning (to today)": all there is. */
static bool since_start_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    if (!is_at(p, i, S_START)) return false;
    *out = (struct window){.at = i, .is_all = true, .days = {DAY_NONE, DAY_NONE, 0, 0}};
    *end = i + 1;
    bool is_until_now =
        is_at(p, *end, S_TO) && (is_at(p, *end + 1, S_TODAY) || text_is(p, *end + 1, "now"));
    if (is_until_now) *end += 2;
    return true;
}

/* "8 hours", "11pm": what stands behind is a measure and no date. */
static bool is_measure_at(const struct parse *p, size_t i)
{
    return is_at(p, i, S_CLOCK) || (is_at(p, i, S_NUMBER) && is_at(p, i + 1, S_UNIT));
}

/* "since March", "after 3 May", "before 2025", "until yesterday". */
static bool open_at(struct parse *p, size_t i, struct window *out, size_t *end)
{
    struct span s;
    bool is_since = is_at(p, i, S_SINCE) || text_is(p, i, "from");
    bool is_after = text_is(p, i, "after");
    bool is_before = is_at(p, i, S_BEFORE);
    if (!is_since && !is_after && !is_before && !is_at(p, i, S_TO)) return false;
    size_t at = dates_skip_article(p, i + 1);
    if (is_measure_at(p, at)) return false;
    if (!dates_point(p, at, &s, end))
        return is_since && !p->is_failed && since_start_at(p, at, out, end);
    out->days = (struct plan_window){.from = DAY_NONE, .to = DAY_NONE};
    if (is_since) out->days.from = s.from;
    else if (is_after) out->days.from = s.to + 1;
    else if (is_before) out->days.to = s.from - 1;
    else out->days.to = s.to;
    if (text_in(p, *end, "on|onwards|onward")) ++*end;
    return true;
}

/* Two months one after the other are one stretch: "in March and April". */
static void extend(struct parse *p, struct window *out, size_t *end)
{
    struct window more;
    size_t after;
    int32_t length =
        out->days.last == 0 && out->days.from != DAY_NONE ? out->days.to - out->days.from : 0;
    if (length < 27 || length > MONTH_MOST || !text_is(p, *end, "and")) return;
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
