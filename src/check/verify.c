/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Homes for numbers. An entry is turned into the units of the text, and compared there; of all
 * entries that fit the nearest is the home. What has none may be known from elsewhere: the
 * question, the windows of the plan, the window of an entry, and how many days that has.
 */
#include "check/verify.h"

#include <math.h>
#include <string.h>

#include "base/slice.h"
#include "check/numbers_impl.h"
#include "data/catalogue.h"

static const double RELATIVE = 0.02;      /* of the entry */
static const double ABSOLUTE = 0.05;      /* in the units of the text */
static const double CLOCK_HOUR = 30;      /* minutes: "11 pm" is 23:16 */
static const double ROUND_SHARE = 10;     /* "7 in 10", and what has a smaller whole */
static const double COUNTED_SHARE = 0.01; /* of what has a larger one, to the percent */
static const double EPSILON = 1e-9;       /* relative; what adding and dividing may cost */

enum { DAY_MINUTES = 1440, HALF_DAY_MINUTES = 720, MAX_READINGS = 6, MAX_JOINED = 3 };

/* A date that is known; of a window, its days from the first to the last. */
struct span {
    int32_t from, to;
    int year, month, day; /* as written, where it is no whole date */
};

struct work {
    const struct verify_input *input;
    struct arena *arena;
    struct numbers all;
    struct tokens tokens;
    struct numbers *known; /* of each known text, then of each entry's window */
    size_t n_known;
    struct span *spans; /* one for each date that is known, and one for each window */
    size_t n_spans;
    struct verified *out;
};

/* ---- near ---- */

/* Whether `shown` is `entry`, both in the units of the text; `raw` is the entry as it stands. */
static bool is_near(const struct number *n, double shown, double entry, double raw)
{
    double off = fabs(shown - entry);
    double allowed = fmax(RELATIVE * fabs(entry), ABSOLUTE) * (1 + EPSILON);
    if (!(off <= allowed)) return false;
    if (fabs(entry) >= 1 && fabs(raw) >= 1) return true;
    return off <= n->slack * (1 + 1e-6) + EPSILON;
}

/* How far a number is from an entry, relative; INFINITY: it is another one. */
static double distance(const struct number *n, double shown, double entry, double raw)
{
    double best = INFINITY;
    if (is_near(n, shown, entry, raw)) best = fabs(shown - entry);
    bool is_turned = n->sign == SIGN_EITHER || (n->is_carried && entry < 0);
    if (is_turned && is_near(n, shown, -entry, raw)) best = fmin(best, fabs(shown + entry));
    return best / fmax(fabs(entry), ABSOLUTE);
}

/* ---- units ---- */

enum entry_class { ENTRY_PLAIN, ENTRY_COUNT, ENTRY_PERCENT, ENTRY_FRACTION, ENTRY_UNIT };

/* "min/day" and "hours per night" are minutes and hours; *days is what they are for, or 0. */
static struct weir_slice without_rate(struct weir_slice unit, double *days)
{
    static const char *const marks[] = {"/", " per ", " a "};
    *days = 0;
    for (size_t i = unit.len; i-- > 1;) {
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
            size_t len = strlen(marks[k]);
            if (unit.len - i <= len || memcmp(unit.ptr + i, marks[k], len) != 0) continue;
            *days = word_rate(slice_from(unit, i + len));
            if (*days > 0) return (struct weir_slice){unit.ptr, i};
        }
    }
    return unit;
}

static enum entry_class class_of(struct weir_slice unit)
{
    if (unit.len == 0 || word_in(unit, "points|score|index|z|sd")) return ENTRY_PLAIN;
    if (word_in(unit, "count|n|events")) return ENTRY_COUNT;
    if (word_in(unit, "%|percent|pct|percentage|pp|percentage points|percent points"))
        return ENTRY_PERCENT;
    if (word_in(unit, "fraction|ratio|share|proportion|x|times|r|rho|tau|probability|p|auc"))
        return ENTRY_FRACTION;
    double days;
    enum unit_class c = word_unit(unit, &days);
    if (c == UNIT_COUNT) return ENTRY_COUNT;
    if (c == UNIT_LONG) return ENTRY_UNIT;
    return unit_find(unit) ? ENTRY_UNIT : ENTRY_PLAIN;
}

/* Values in the text's units that an entry may be meant by. */
struct readings {
    double value[MAX_READINGS];
    size_t n;
};

static void add(struct readings *r, double value)
{
    if (r->n < MAX_READINGS && isfinite(value)) r->value[r->n++] = value;
}

/* An entry in `from` as `to`: both units and factors, and for changes the factor alone. */
static bool convert(const char *to, const char *from, double value, struct readings *r)
{
    double zero, one;
    if (!unit_convert(to, from, 0, &zero) || !unit_convert(to, from, 1, &one)) return false;
    add(r, (value - zero) / (one - zero));
    if (zero != 0) add(r, value / (one - zero));
    return true;
}

static bool is_day_word(struct weir_slice unit)
{
    return word_in(unit, "d|day|days|night|nights");
}

static bool is_mass_free(const char *unit)
{
    return word_in(weir_slice_of(unit), "step|steps|floor|floors|flight|flights|drink|drinks|d|day|"
                                        "days|cup|cups|beats|breaths");
}

/* mg/dL as mmol/L and back: what that means depends on the substance, which the entry names. */
static void convert_analyte(const struct number *n, const struct ledger_entry *e,
                            struct readings *r)
{
    const struct analyte *a = e->metric.len > 0 ? analyte_find(e->metric) : NULL;
    struct weir_slice to = weir_slice_of(n->unit);
    double base, zero, one;
    if (a && analyte_convert(a, e->unit, e->value, &base) && analyte_convert(a, to, 0, &zero) &&
        analyte_convert(a, to, 1, &one) && one != zero)
        add(r, (base - zero) / (one - zero));
}

static void read_known_unit(const struct number *n, struct weir_slice unit, enum entry_class c,
                            double value, struct readings *r)
{
    char from[LEDGER_NAME_BYTES + 1];
    memcpy(from, unit.ptr, unit.len);
    from[unit.len] = '\0';
    if (word_is(unit, n->unit)) add(r, value);
    else if (c == ENTRY_PLAIN || (c == ENTRY_COUNT && is_mass_free(n->unit))) add(r, value);
    else if (c == ENTRY_UNIT) convert(n->unit, from, value, r);
}

/* "avg" of "ds-001.avg". */
static struct weir_slice claim_end(struct weir_slice claim)
{
    size_t i = claim.len;
    while (i > 0 && claim.ptr[i - 1] != '.') i--;
    return slice_from(claim, i);
}

/* Whether an entry is a change in percent of what was before, so that it has no points. */
static bool is_relative(struct weir_slice claim)
{
    return word_in(claim_end(claim), "percent|pct|percent_change|pct_change|relative");
}

/* Points and percents of a change are not the same; a ratio is also so much more or less. */
static void read_percent(const struct number *n, const struct ledger_entry *e,
                         struct weir_slice unit, enum entry_class c, struct readings *r)
{
    bool is_of_points = word_in(unit, "pp|percentage points|percent points");
    bool is_ratio = word_in(unit, "ratio|x|times");
    if (n->is_points && (is_ratio || is_relative(e->claim))) return;
    if (is_of_points && !n->is_points) return;
    if (c == ENTRY_PERCENT || c == ENTRY_PLAIN) add(r, e->value);
    if (c == ENTRY_FRACTION || c == ENTRY_PLAIN) add(r, e->value * 100);
    if (is_ratio && n->direction != 0) add(r, (e->value - 1) * 100);
}

/* Weeks, months and years are days, or themselves. */
static void read_long(const struct number *n, struct weir_slice unit, enum entry_class c,
                      double value, struct readings *r)
{
    double days = 0;
    if (word_unit(unit, &days) == UNIT_LONG) add(r, value * days / n->long_days);
    else if (is_day_word(unit)) add(r, value / n->long_days);
    else if (c == ENTRY_PLAIN || c == ENTRY_COUNT) add(r, value);
}

static void read_ratio(const struct number *n, enum entry_class c, double value, struct readings *r)
{
    if (c != ENTRY_UNIT && c != ENTRY_PERCENT) add(r, value);
    if (c == ENTRY_PERCENT && !isnan(n->change)) add(r, 1 + value / 100);
}

/* In a table the unit is in the head or at the row's begin: hours and percents are allowed. */
static void read_bare(const struct number *n, struct weir_slice unit, enum entry_class c,
                      double value, struct readings *r)
{
    add(r, value);
    if (n->is_cell && c == ENTRY_FRACTION) add(r, value * 100);
    if (n->is_cell && word_in(unit, "min|minutes")) add(r, value / 60);
    if (c == ENTRY_PERCENT && fabs(n->value) <= 1) add(r, value / 100);
}

static void read_entry(const struct number *n, const struct ledger_entry *given, struct readings *r)
{
    double days;
    struct weir_slice unit = without_rate(given->unit, &days);
    if (unit_find(given->unit)) unit = given->unit;
    enum entry_class c = class_of(unit);
    struct ledger_entry turned = *given;
    const struct ledger_entry *e = &turned;
    /* So much a week is more in a month. */
    if (days > 0 && n->rate_days > 0) turned.value *= n->rate_days / days;
    r->n = 0;
    switch (n->unit_class) {
    case UNIT_NONE: read_bare(n, unit, c, e->value, r); break;
    case UNIT_KNOWN:
        read_known_unit(n, unit, c, e->value, r);
        if (r->n == 0) convert_analyte(n, e, r);
        break;
    case UNIT_PERCENT: read_percent(n, e, unit, c, r); break;
    case UNIT_RATIO: read_ratio(n, c, e->value, r); break;
    case UNIT_COUNT:
        if (c == ENTRY_PLAIN || c == ENTRY_COUNT || is_day_word(unit)) add(r, e->value);
        break;
    case UNIT_LONG: read_long(n, unit, c, e->value, r); break;
    }
}

/* ---- one number, one entry ---- */

static double amount_distance(const struct number *n, double shown, const struct ledger_entry *e)
{
    struct readings r;
    double best = INFINITY;
    read_entry(n, e, &r);
    for (size_t i = 0; i < r.n; i++) {
        double entry = r.value[i], raw = n->unit_class == UNIT_PERCENT ? e->value : entry;
        bool is_in_decade =
            n->is_decade && entry >= shown + n->decade_from && entry < shown + n->decade_to;
        if (is_in_decade) best = RELATIVE;
        if (n->is_decade) continue;
        best = fmin(best, distance(n, shown, entry, raw));
        if (n->scale != 1) best = fmin(best, distance(n, shown * n->scale, entry, raw));
    }
    return best;
}

static bool is_p(struct weir_slice claim)
{
    return word_in(claim_end(claim),
                   "p|p_value|pvalue|p-value|q|q_value|p_adjusted|p_corrected|p_adj");
}

/* Whether an entry is a change in the course of time. */
static bool is_course(struct weir_slice claim)
{
    return word_in(claim_end(claim), "change|per_week|weekly|slope|trend");
}

/* Minutes around the clock between two times. */
static double clock_gap(double a, double b)
{
    double gap = fmod(fabs(a - b), DAY_MINUTES);
    return fmin(gap, DAY_MINUTES - gap);
}

/* "5:31 /km" against an entry that is a pace, in minutes and seconds. */
static double pace_distance(const struct number *n, const struct ledger_entry *e)
{
    struct readings r = {.n = 0};
    char from[LEDGER_NAME_BYTES + 1];
    memcpy(from, e->unit.ptr, e->unit.len);
    from[e->unit.len] = '\0';
    convert(n->unit_class == UNIT_KNOWN ? n->unit : from, from, e->value, &r);
    if (r.n == 0) return INFINITY;
    double off = fabs(n->duration[1] - fabs(r.value[0]));
    return off <= RELATIVE * fabs(r.value[0]) ? off / fabs(r.value[0]) : INFINITY;
}

static bool is_pace(struct weir_slice unit)
{
    const struct unit *u = unit.len > 0 ? unit_find(unit) : NULL;
    return u && strcmp(u->dimension, "pace") == 0;
}

/* Half of what a time is rounded to, in minutes: "23:15" and "23:20" are 23:16, "23:22" is not. */
static double clock_slack(const struct number *n)
{
    static const double steps[] = {15, 10, 5};
    if (!n->has_minutes) return CLOCK_HOUR;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (fmod(n->value, steps[i]) == 0) return steps[i] / 2;
    return 1;
}

/* Whether an entry is a time of day, in whatever unit; 451 minutes of sleep are none. */
static bool is_time_of_day(const struct ledger_entry *e, struct weir_slice unit)
{
    struct weir_slice end = claim_end(e->claim);
    if (word_in(unit, "clock|hh:mm|time|time of day|minutes after midnight|minute of day|"
                      "minutes since midnight"))
        return true;
    const struct metric *m = metric_find(e->metric.len > 0 ? e->metric : end);
    return m && m->daily == DAILY_CIRCULAR &&
           !word_in(end, "sd|se|mad|iqr|diff|difference|change|slope|slope_month|lo|hi|ci_low|"
                         "ci_high|trend|spread|range|cv|pct|ratio|r|count|share|streak");
}

/* An entry as minutes, which it is anyway where nothing else is said; false: it is no time. */
static bool as_minutes(const struct ledger_entry *e, struct weir_slice unit, double *minutes)
{
    char from[LEDGER_NAME_BYTES + 1];
    memcpy(from, unit.ptr, unit.len);
    from[unit.len] = '\0';
    if (unit.len > 0 && unit_convert(from, "min", e->value, minutes)) return true;
    *minutes = e->value;
    return unit.len == 0;
}

/* A time against an entry in minutes after midnight; hh:mm may also be a duration. */
static double clock_distance(const struct number *n, const struct ledger_entry *e)
{
    double days;
    struct weir_slice unit = without_rate(e->unit, &days);
    double minutes, best = INFINITY;
    if (is_pace(e->unit)) return pace_distance(n, e);
    if (is_pace(weir_slice_of(n->unit))) return INFINITY;
    bool is_duration = as_minutes(e, unit, &minutes);
    if (is_time_of_day(e, unit)) {
        double gap = clock_gap(n->value, minutes);
        if (n->is_twelve) gap = fmin(gap, clock_gap(n->value + HALF_DAY_MINUTES, minutes));
        return gap <= clock_slack(n) ? gap / DAY_MINUTES : INFINITY;
    }
    for (size_t i = 0; i < 2 && is_duration; i++) {
        double off = fabs(n->duration[i] - fabs(minutes));
        double allowed = fmax(RELATIVE * fabs(minutes), i == 0 ? 0.5 : 0); /* hh:mm to the minute */
        /* Behind any time of day: 00:01 is nearer to 00:02 than to one of anything else. */
        if (off <= allowed) best = fmin(best, 1 + off / DAY_MINUTES);
    }
    return best;
}

static double entry_distance(const struct number *n, const struct ledger_entry *e)
{
    if (e->is_rejected || isnan(e->value) || n->kind == NUMBER_DATE) return INFINITY;
    if (n->kind == NUMBER_CLOCK) return clock_distance(n, e);
    /* What rose did not fall by that much; a difference, though, may be told from either side. */
    if (n->is_fall && e->value > 0 && is_course(e->claim)) return INFINITY;
    if (n->is_p_bound && is_p(e->claim) && e->value < n->value) return RELATIVE;
    if (n->is_p_floor && is_p(e->claim) && e->value > n->value) return RELATIVE;
    return amount_distance(n, n->value, e);
}

/* A number of days, nights or readings may be an entry's n. */
static bool is_n(const struct number *n, const struct ledger_entry *e)
{
    if (e->is_rejected || isnan(e->n) || n->kind != NUMBER_AMOUNT || n->sign != SIGN_NONE)
        return false;
    double days = n->unit_class == UNIT_LONG ? n->long_days : 1;
    bool counts = n->unit_class == UNIT_NONE || n->unit_class == UNIT_COUNT ||
                  (n->unit_class == UNIT_LONG && days == 7) ||
                  (n->unit_class == UNIT_KNOWN && is_day_word(weir_slice_of(n->unit)));
    /* "8 to 10" is of something else than days. */
    if (n->unit_class == UNIT_NONE && n->is_range) return false;
    return counts && fabs(n->value * days - e->n) <= EPSILON;
}

static const struct ledger_entry *find_home(struct work *w, const struct number *n,
                                            const char **why)
{
    const struct ledger *l = w->input->ledger;
    const struct ledger_entry *home = NULL;
    double best = INFINITY;
    for (size_t i = 0; i < l->n; i++) {
        double d = entry_distance(n, &l->entries[i]);
        if (d < best) best = d, home = &l->entries[i];
    }
    *why = "value";
    for (size_t i = 0; i < l->n && !home; i++)
        if (is_n(n, &l->entries[i])) home = &l->entries[i], *why = "n";
    return home;
}

/* ---- what is known ---- */

static void add_span(struct work *w, const struct number *n)
{
    struct span s = {DAY_NONE, DAY_NONE, n->year, n->month, n->day};
    if (n->year > 0 && n->month > 0 && n->day > 0)
        s.from = s.to = day_from_civil(n->year, n->month, n->day);
    w->spans[w->n_spans++] = s;
}

/* The dates of one text, and the window from the first to the last of them. */
static void add_spans(struct work *w, const struct numbers *known)
{
    int32_t from = DAY_NONE, to = DAY_NONE;
    for (size_t i = 0; i < known->n; i++) {
        if (known->list[i].kind != NUMBER_DATE) continue;
        add_span(w, &known->list[i]);
        int32_t day = w->spans[w->n_spans - 1].from;
        if (day == DAY_NONE) continue;
        if (from == DAY_NONE || day < from) from = day;
        if (to == DAY_NONE || day > to) to = day;
    }
    if (from != to) w->spans[w->n_spans++] = (struct span){.from = from, .to = to};
}

/* The i-th text whose numbers need no home: those given, then windows and dates of the entries. */
static struct weir_slice known_text(const struct verify_input *in, size_t i)
{
    if (i < in->n_known) return in->known[i];
    const struct ledger_entry *e = &in->ledger->entries[(i - in->n_known) / 2];
    if (e->is_rejected) return (struct weir_slice){"", 0};
    return (i - in->n_known) % 2 == 0 ? e->window : e->date;
}

static enum weir_status read_known(struct work *w)
{
    size_t n_texts = w->input->n_known + 2 * w->input->ledger->n, total = 0;
    struct tokens tokens;
    w->known = arena_alloc(w->arena, (n_texts + 1) * sizeof *w->known);
    if (!w->known) return w->arena->status;
    for (size_t i = 0; i < n_texts; i++) {
        struct weir_slice text = known_text(w->input, i);
        if (text.len == 0) continue;
        struct numbers *k = &w->known[w->n_known++];
        enum weir_status st = numbers_find(&tokens, k, text, w->arena);
        if (st != WEIR_OK) return st;
        total += k->n + 1;
    }
    w->spans = arena_alloc(w->arena, (total + 1) * sizeof *w->spans);
    if (!w->spans) return w->arena->status;
    for (size_t i = 0; i < w->n_known; i++) add_spans(w, &w->known[i]);
    return WEIR_OK;
}

/* Whether a month or a year, or a day without a year, is what a date says. */
static bool says(const struct number *n, int year, int month, int day)
{
    return (n->year == 0 || year == 0 || n->year == year) && (n->month == 0 || n->month == month) &&
           (n->day == 0 || n->day == day);
}

static bool is_inside(const struct number *n, const struct span *s)
{
    if (n->day > 0 || s->from == DAY_NONE) return false;
    int32_t first = day_month_first(n->year, n->month > 0 ? n->month : 1);
    int32_t last = day_month_last(n->year, n->month > 0 ? n->month : 12);
    return n->year > 0 && first <= s->to && last >= s->from;
}

/* A day has to be a date or an end of a window; months and years have to touch a window. */
static bool is_known_date(const struct work *w, const struct number *n)
{
    for (size_t i = 0; i < w->n_spans; i++) {
        const struct span *s = &w->spans[i];
        bool is_date = s->year + s->month + s->day > 0;
        if (is_date && says(n, s->year, s->month, s->day)) return true;
        if (is_date && n->is_either_way && says(n, s->year, s->day, s->month)) return true;
        if (is_inside(n, s)) return true;
    }
    return false;
}

static double in_days(const struct number *n)
{
    if (n->unit_class == UNIT_LONG) return n->value * n->long_days;
    if (n->unit_class == UNIT_COUNT) return n->value;
    return n->unit_class == UNIT_KNOWN && is_day_word(weir_slice_of(n->unit)) ? n->value : NAN;
}

/* "31 days", "four weeks", "one month": how long a window is. */
static bool is_window_length(const struct work *w, const struct number *n)
{
    double days = in_days(n);
    double slack = n->unit_class == UNIT_LONG && n->long_days > 14 ? 3 : 0.5;
    if (isnan(days) || n->kind != NUMBER_AMOUNT) return false;
    for (size_t i = 0; i < w->n_spans; i++) {
        const struct span *s = &w->spans[i];
        if (s->from == s->to) continue;
        if (fabs(days - (s->to - s->from + 1)) < slack) return true;
    }
    return false;
}

static bool is_same_unit(const struct number *a, const struct number *b)
{
    if (a->unit_class == UNIT_NONE || b->unit_class == UNIT_NONE) return true;
    if (a->unit_class != b->unit_class) return false;
    double ignored;
    return a->unit_class != UNIT_KNOWN || unit_convert(a->unit, b->unit, 1, &ignored);
}

static bool is_same_number(const struct number *a, const struct number *b)
{
    double days_a = in_days(a), days_b = in_days(b), converted;
    if (a->kind != b->kind) return false;
    if (a->kind == NUMBER_DATE) return false; /* spans have them */
    if (a->kind == NUMBER_CLOCK)
        return clock_gap(a->value, b->value) == 0 ||
               ((a->is_twelve || b->is_twelve) &&
                clock_gap(a->value, b->value) == HALF_DAY_MINUTES);
    if (fabs(days_a - days_b) < EPSILON) return true;
    if (is_same_unit(a, b) && a->unit_class == UNIT_KNOWN && b->unit_class == UNIT_KNOWN)
        return unit_convert(a->unit, b->unit, a->value, &converted) &&
               fabs(converted - b->value) <= EPSILON * fabs(b->value);
    return is_same_unit(a, b) && fabs(a->value) == fabs(b->value);
}

static const char *find_known(const struct work *w, const struct number *n)
{
    if (n->kind == NUMBER_DATE) return is_known_date(w, n) ? "date of the plan" : NULL;
    for (size_t i = 0; i < w->n_known; i++)
        for (size_t k = 0; k < w->known[i].n; k++)
            if (is_same_number(n, &w->known[i].list[k])) return "in the question or the plan";
    return is_window_length(w, n) ? "length of a window" : NULL;
}

/* ---- all of them ---- */

static void settle(struct work *w, size_t i)
{
    const struct number *n = &w->all.list[i];
    struct verified *v = &w->out[i];
    v->home = NULL;
    v->outcome = VERIFY_EXEMPT;
    v->why = n->exempt;
    if (n->exempt) return;
    v->home = find_home(w, n, &v->why);
    v->outcome = VERIFY_HOME;
    if (v->home) return;
    v->why = find_known(w, n);
    v->outcome = v->why ? VERIFY_EXEMPT : VERIFY_LACK;
    if (!v->why) v->why = "no home";
}

/* "3/14" or "14/3", when the plan has that day. */
static bool is_short_date(const struct work *w, const struct number *a, const struct number *b)
{
    struct number date = {.kind = NUMBER_DATE};
    bool is_slash = token_is_sign(&w->tokens, a->last + 1u, '/') && b->first == a->last + 2u;
    if (!is_slash || !(fabs(a->value) <= 31 && fabs(b->value) <= 31)) return false;
    date.month = (int)a->value;
    date.day = (int)b->value;
    if (date.day > 0 && date.month > 0 && is_known_date(w, &date)) return true;
    date.month = (int)b->value;
    date.day = (int)a->value;
    return date.day > 0 && date.month > 0 && is_known_date(w, &date);
}

/* "3 out of 4": both are at home where the share is. */
static void settle_share(struct work *w, size_t i)
{
    const struct number *a = &w->all.list[i], *b = &w->all.list[i + 1];
    struct verified *v = &w->out[i];
    if (!a->is_share || b->value == 0) return;
    if (v[0].outcome != VERIFY_LACK && v[1].outcome != VERIFY_LACK) return;
    if (is_short_date(w, a, b)) {
        v[0] = v[1] = (struct verified){.outcome = VERIFY_EXEMPT, .why = "date of the plan"};
        return;
    }
    struct number share = *a;
    share.value = a->value / b->value;
    /* "2 in 3" is said of much; "6 of 18" was counted. */
    share.slack = b->value <= ROUND_SHARE ? ABSOLUTE : COUNTED_SHARE;
    share.unit_class = UNIT_RATIO;
    const char *why;
    const struct ledger_entry *home = find_home(w, &share, &why);
    if (!home) {
        share.value *= 100;
        share.unit_class = UNIT_PERCENT;
        home = find_home(w, &share, &why);
    }
    for (size_t k = 0; home && k < 2; k++) {
        v[k].home = home;
        v[k].outcome = VERIFY_HOME;
        v[k].why = "value";
    }
}

/* "10 500" or "1 204 300" as one number, when that has a home; how many went into the first. */
static size_t settle_joined(struct work *w, size_t i)
{
    struct number *list = w->all.list;
    size_t n = 0;
    while (n < MAX_JOINED && i + n + 1 < w->all.n && list[i + n].is_joined) n++;
    for (; n > 0; n--) {
        struct number joined = list[i + n];
        joined.value = fabs(list[i].value);
        for (size_t k = 1; k <= n; k++) joined.value = joined.value * 1000 + list[i + k].value;
        joined.sign = list[i].sign;
        if (joined.sign == SIGN_MINUS) joined.value = -joined.value;
        joined.is_carried = list[i].is_carried;
        joined.start = list[i].start;
        joined.slack = 0.5;
        const char *why;
        const struct ledger_entry *home = find_home(w, &joined, &why);
        if (!home) continue;
        list[i] = joined;
        w->out[i] = (struct verified){.home = home, .why = why, .outcome = VERIFY_HOME};
        return n;
    }
    return 0;
}

/* Lines and columns, in one pass over the text. */
static void place(struct work *w, size_t n)
{
    struct weir_slice text = w->input->text;
    size_t at = 0, line = 1, column = 1;
    for (size_t i = 0; i < n; i++) {
        for (; at < w->out[i].offset; at++) {
            if (text.ptr[at] == '\n') line++, column = 1;
            else if (((unsigned char)text.ptr[at] & 0xC0) != 0x80) column++;
        }
        w->out[i].line = line;
        w->out[i].column = column;
    }
}

static size_t settle_all(struct work *w)
{
    size_t n_out = 0;
    for (size_t i = 0; i < w->all.n; i++) settle(w, i);
    for (size_t i = 0; i + 1 < w->all.n; i++) settle_share(w, i);
    for (size_t i = 0; i < w->all.n; i++) {
        size_t n_joined = settle_joined(w, i);
        const struct number *n = &w->all.list[i];
        struct verified v = w->out[i];
        v.offset = n->start;
        v.len = n->end - n->start;
        v.quoted_len = (n->unit_end > n->end ? n->unit_end : n->end) - n->start;
        v.value = n->kind == NUMBER_DATE ? NAN : n->value;
        w->out[n_out++] = v;
        i += n_joined;
    }
    return n_out;
}

enum weir_status verify_text(struct verify_result *out, const struct verify_input *input,
                             struct arena *arena)
{
    struct work w = {.input = input, .arena = arena};
    *out = (struct verify_result){0};
    enum weir_status st = numbers_find(&w.tokens, &w.all, input->text, arena);
    if (st != WEIR_OK) return st;
    st = read_known(&w);
    if (st != WEIR_OK) return st;
    w.out = arena_alloc(arena, (w.all.n + 1) * sizeof *w.out);
    if (!w.out) return arena->status;
    size_t n = settle_all(&w);
    place(&w, n);
    *out = (struct verify_result){.numbers = w.out, .n = n};
    for (size_t i = 0; i < n; i++) out->n_lacking += w.out[i].outcome == VERIFY_LACK;
    return WEIR_OK;
}
