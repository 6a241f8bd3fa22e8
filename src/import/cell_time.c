/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dates and times as people's tables have them. Year first is always year, month, day; a name of
 * a month settles the rest; with points between, the day is first (nobody writes months so); with
 * slashes or dashes the order is whatever the numbers prove, or the caller's.
 */
#include <math.h>
#include <strings.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/cell.h"

enum { CENTURY = 2000, PIVOT = 70, MAX_TEXT = 64 }; /* 70 is 1970, 69 is 2069 */

/* The text that is left to read. */
struct scan {
    const char *at, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end && *s->at == ' ') s->at++;
}

/* A run of digits; how many there were, 0 for none. */
static unsigned take_digits(struct scan *s, int *out)
{
    unsigned n = 0;
    int value = 0;
    for (; s->at < s->end && is_digit(*s->at) && n < 9; s->at++, n++)
        value = value * 10 + (*s->at - '0');
    *out = value;
    return n;
}

static bool take_char(struct scan *s, char c)
{
    if (s->at == s->end || *s->at != c) return false;
    s->at++;
    return true;
}

/* "Mar", "March", "Mär", "mars", "marzo": what begins as a month of four languages does. */
static int month_of(struct weir_slice word)
{
    static const char *const names[][6] = {
        {"jan", "ene", "gen", "janv", NULL},
        {"feb", "fév", "fev", NULL},
        {"mar", "mär", "mrz", NULL},
        {"apr", "avr", "abr", NULL},
        {"may", "mai", "mag", NULL},
        {"jun", "juin", "giu", NULL},
        {"jul", "juil", "lug", NULL},
        {"aug", "aoû", "ago", NULL},
        {"sep", "set", NULL},
        {"oct", "okt", "ott", NULL},
        {"nov", NULL},
        {"dec", "dez", "déc", "dic", NULL},
    };
    for (int m = 0; m < 12; m++)
        for (size_t i = 0; names[m][i]; i++)
            if (word.len >= strlen(names[m][i]) &&
                strncasecmp(word.ptr, names[m][i], strlen(names[m][i])) == 0)
                return m + 1;
    return 0;
}

static struct weir_slice take_word(struct scan *s)
{
    const char *from = s->at;
    while (s->at < s->end && (is_letter(*s->at) || (unsigned char)*s->at >= 0x80)) s->at++;
    return slice_of(from, (size_t)(s->at - from));
}

static int full_year(int year, unsigned n_digits)
{
    if (n_digits != 2) return year;
    return year < PIVOT ? CENTURY + year : CENTURY - 100 + year;
}

static bool set_day(struct cell_time *t, int year, int month, int day)
{
    int32_t number = day_from_civil(year, month, day);
    if (number < DAY_MIN || number > DAY_MAX) return false;
    t->day = number;
    return true;
}

/* 2025-03-01, 2025/3/1, 2025.03.01; the year is taken. */
static bool date_year_first(struct scan *s, int year, struct cell_time *t)
{
    int month, day;
    char between = s->at < s->end ? *s->at++ : 0;
    if (between != '-' && between != '/' && between != '.') return false;
    if (take_digits(s, &month) == 0 || !take_char(s, between)) return false;
    return take_digits(s, &day) > 0 && set_day(t, year, month, day);
}

/* a/b/year: which is the month is proved by the numbers, or given. */
static bool set_by_order(struct cell_time *t, int year, int a, int b, enum date_order order)
{
    if (a > 12) t->proves = DATES_DAY_FIRST;
    else if (b > 12) t->proves = DATES_MONTH_FIRST;
    if (order == DATES_UNKNOWN) order = a == b ? DATES_DAY_FIRST : t->proves;
    if (order == DATES_MONTH_FIRST) return set_day(t, year, a, b);
    if (order == DATES_DAY_FIRST) return set_day(t, year, b, a);
    t->is_ambiguous = day_from_civil(year, a, b) != DAY_NONE;
    return t->is_ambiguous;
}

static bool date_year_last(struct scan *s, int a, enum date_order order, struct cell_time *t)
{
    int b, year;
    char between = s->at < s->end ? *s->at++ : 0;
    if (between != '-' && between != '/' && between != '.') return false;
    if (take_digits(s, &b) == 0 || !take_char(s, between)) return false;
    skip_blanks(s);
    unsigned n = take_digits(s, &year);
    if (n != 2 && n != 4) return false;
    year = full_year(year, n);
    if (between == '.') return set_day(t, year, b, a);
    return set_by_order(t, year, a, b, order);
}

/* 1 March 2025, 01-Mar-2025, 1. März 2025; the day is taken. */
static bool date_day_month(struct scan *s, int day, struct cell_time *t)
{
    int year;
    take_char(s, '.');
    while (s->at < s->end && (*s->at == ' ' || *s->at == '-')) s->at++;
    int month = month_of(take_word(s));
    if (month == 0) return false;
    while (s->at < s->end && (*s->at == ' ' || *s->at == '-' || *s->at == '.' || *s->at == ','))
        s->at++;
    unsigned n = take_digits(s, &year);
    return (n == 2 || n == 4) && set_day(t, full_year(year, n), month, day);
}

/* March 1, 2025; also with the weekday before it. */
static bool date_month_day(struct scan *s, struct cell_time *t)
{
    int day, year;
    struct weir_slice word = take_word(s);
    int month = month_of(word);
    if (take_char(s, ',') || take_char(s, '.')) skip_blanks(s);
    skip_blanks(s);
    if (s->at < s->end && is_letter(*s->at)) month = month_of(take_word(s));
    take_char(s, '.');
    skip_blanks(s);
    if (take_digits(s, &day) == 0) return false;
    if (month == 0) return date_day_month(s, day, t);
    if (s->at < s->end && is_letter(*s->at)) take_word(s); /* 1st */
    take_char(s, ',');
    skip_blanks(s);
    return take_digits(s, &year) == 4 && set_day(t, year, month, day);
}

static bool take_date(struct scan *s, enum date_order order, struct cell_time *t)
{
    int first;
    if (s->at < s->end && is_letter(*s->at)) return date_month_day(s, t);
    unsigned n = take_digits(s, &first);
    if (n == 8) return set_day(t, first / 10000, first / 100 % 100, first % 100);
    if (n == 4) return date_year_first(s, first, t);
    if (n == 0 || n > 2) return false;
    const char *p = s->at;
    while (p < s->end && (*p == ' ' || *p == '-' || *p == '.')) p++;
    if (p < s->end && (is_letter(*p) || (unsigned char)*p >= 0x80))
        return date_day_month(s, first, t);
    return date_year_last(s, first, order, t);
}

/* ---- times of day ---- */

static bool take_fraction(struct scan *s, double *second)
{
    double unit = 0.1;
    if (!take_char(s, '.') && !take_char(s, ',')) return true;
    if (s->at == s->end || !is_digit(*s->at)) return false;
    while (s->at < s->end && is_digit(*s->at)) {
        *second += (*s->at++ - '0') * unit;
        unit /= 10;
    }
    return true;
}

/* AM and PM, also as "a.m."; false for an hour that has none. */
static bool take_half(struct scan *s, int *hour)
{
    struct scan at = *s;
    skip_blanks(&at);
    if (at.at < at.end && (unsigned char)*at.at == 0xE2 && at.end - at.at >= 3) at.at += 3;
    if (at.at == at.end || ((*at.at | 32) != 'a' && (*at.at | 32) != 'p')) return true;
    bool is_pm = (*at.at++ | 32) == 'p';
    take_char(&at, '.');
    if (at.at == at.end || (*at.at | 32) != 'm') return false;
    at.at++;
    take_char(&at, '.');
    if (*hour < 1 || *hour > 12) return false;
    *hour = *hour % 12 + (is_pm ? 12 : 0);
    *s = at;
    return true;
}

static bool take_time(struct scan *s, double *second)
{
    int hour;
    int minute = 0;
    int whole = 0;
    double fraction = 0;
    unsigned n = take_digits(s, &hour);
    if (n == 0 || n > 2) return false;
    bool has_minutes = take_char(s, ':');
    if (has_minutes && take_digits(s, &minute) != 2) return false;
    if (has_minutes && take_char(s, ':')) {
        if (take_digits(s, &whole) != 2 || !take_fraction(s, &fraction)) return false;
    }
    struct scan before = *s;
    if (!take_half(s, &hour)) return false;
    if (!has_minutes && before.at == s->at) return false;
    if (hour > 23 || minute > 59 || whole > 59) return false;
    *second = hour * 3600 + minute * 60 + whole + fraction;
    return true;
}

bool cell_time(struct weir_slice text, enum date_order order, struct cell_time *out)
{
    struct weir_slice trimmed = cell_trim(text);
    struct scan s = {trimmed.ptr, trimmed.ptr + trimmed.len};
    *out = (struct cell_time){.day = DAY_NONE};
    if (trimmed.len == 0 || trimmed.len > MAX_TEXT || !take_date(&s, order, out)) return false;
    take_char(&s, ',');
    if (s.at == s.end) return true;
    if (*s.at != 'T' && *s.at != 't' && *s.at != ' ') return false;
    s.at++;
    skip_blanks(&s);
    if (!take_time(&s, &out->second)) return false;
    out->has_time = true;
    skip_blanks(&s);
    if (s.at == s.end) return true;
    out->has_offset = zone_parse_offset(slice_of(s.at, (size_t)(s.end - s.at)), &out->offset);
    return out->has_offset;
}

bool cell_clock(struct weir_slice text, double *minutes)
{
    struct weir_slice trimmed = cell_trim(text);
    struct scan s = {trimmed.ptr, trimmed.ptr + trimmed.len};
    struct cell_time t;
    double second;
    if (take_time(&s, &second) && s.at == s.end) {
        *minutes = second / 60;
        return true;
    }
    if (!cell_time(text, DATES_DAY_FIRST, &t) && !cell_time(text, DATES_MONTH_FIRST, &t))
        return false;
    *minutes = t.second / 60;
    return t.has_time;
}

struct moment cell_moment(const struct cell_time *t, const struct zone *zone)
{
    int64_t wall = (int64_t)t->day * DAY_SECONDS + (int64_t)floor(t->second);
    if (t->has_offset) return (struct moment){wall - t->offset, t->offset};
    return zone_moment(zone, wall);
}
