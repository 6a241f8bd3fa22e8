/* SPDX-License-Identifier: Apache-2.0 */
/* POSIX's rules for summer time; zone_rule.h. */
#include "data/zone_rule.h"

#include "data/day.h"

enum { HOUR = 3600, MINUTE = 60, MAX_HOURS = 167, DEFAULT_CHANGE = 2 * HOUR };

/* ---- reading ---- */

struct cursor {
    const char *at, *end;
    bool is_bad;
};

static bool take(struct cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static void want(struct cursor *c, char wanted)
{
    if (!take(c, wanted)) c->is_bad = true;
}

static int number(struct cursor *c, int max)
{
    int value = 0;
    const char *first = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9' && c->at - first < 4)
        value = value * 10 + (*c->at++ - '0');
    if (c->at == first || value > max) c->is_bad = true;
    return value;
}

/* "EST" or "<-03>": three characters at least. */
static void skip_name(struct cursor *c)
{
    const char *first = c->at;
    if (take(c, '<')) {
        while (c->at < c->end && *c->at != '>') c->at++;
        want(c, '>');
        return;
    }
    while (c->at < c->end && ((*c->at | 32) >= 'a' && (*c->at | 32) <= 'z')) c->at++;
    if (c->at - first < 3) c->is_bad = true;
}

/* [+-]hh[:mm[:ss]] as seconds. */
static int32_t clock_time(struct cursor *c)
{
    bool is_negative = take(c, '-');
    if (!is_negative) take(c, '+');
    int32_t seconds = number(c, MAX_HOURS) * HOUR;
    if (take(c, ':')) seconds += number(c, 59) * MINUTE;
    if (take(c, ':')) seconds += number(c, 59);
    return is_negative ? -seconds : seconds;
}

static struct zone_change change(struct cursor *c)
{
    struct zone_change out = {.seconds = DEFAULT_CHANGE};
    if (take(c, 'M')) {
        out.kind = CHANGE_WEEKDAY;
        out.month = number(c, 12);
        want(c, '.');
        out.week = number(c, 5);
        want(c, '.');
        out.day = number(c, 6);
        if (out.month < 1 || out.week < 1) c->is_bad = true;
    } else {
        out.kind = take(c, 'J') ? CHANGE_JULIAN : CHANGE_DAY;
        out.day = number(c, 365);
        if (out.kind == CHANGE_JULIAN && out.day < 1) c->is_bad = true;
    }
    if (take(c, '/')) out.seconds = clock_time(c);
    return out;
}

bool zone_rule_parse(struct weir_slice text, struct zone_rule *out)
{
    struct cursor c = {text.ptr, text.ptr + text.len, text.len == 0};
    *out = (struct zone_rule){.is_set = true};
    if (c.is_bad) return false;
    skip_name(&c);
    /* POSIX counts to the west. */
    out->standard = -clock_time(&c);
    if (c.at < c.end && !c.is_bad) {
        out->has_summer = true;
        skip_name(&c);
        out->summer = out->standard + HOUR;
        if (c.at < c.end && *c.at != ',') out->summer = -clock_time(&c);
        want(&c, ',');
        out->to_summer = change(&c);
        want(&c, ',');
        out->to_standard = change(&c);
    }
    return !c.is_bad && c.at == c.end;
}

/* ---- using ---- */

/* The day of a change in a year. */
static int32_t day_of_change(const struct zone_change *c, int year)
{
    int32_t first = day_from_civil(year, 1, 1);
    if (c->kind == CHANGE_DAY) return first + c->day;
    if (c->kind == CHANGE_JULIAN) {
        /* 29 February is never counted: 60 is always 1 March. */
        bool is_leap = day_from_civil(year, 2, 29) != DAY_NONE;
        return first + c->day - 1 + (is_leap && c->day >= 60 ? 1 : 0);
    }
    int32_t month = day_month_first(year, c->month);
    int weekday = (int)(day_weekday(month) + 1) % 7; /* 0 is Sunday here */
    int32_t day = month + (c->day - weekday + 7) % 7 + 7 * (c->week - 1);
    return day > day_month_last(year, c->month) ? day - 7 : day;
}

static int64_t moment_of_change(const struct zone_change *c, int year, int32_t offset)
{
    return (int64_t)day_of_change(c, year) * DAY_SECONDS + c->seconds - offset;
}

static int32_t clamp_day(int64_t at)
{
    int64_t day = at / DAY_SECONDS - (at % DAY_SECONDS < 0 ? 1 : 0);
    return (int32_t)(day < DAY_MIN ? DAY_MIN : day > DAY_MAX ? DAY_MAX : day);
}

int32_t zone_rule_offset(const struct zone_rule *rule, int64_t at)
{
    if (!rule->has_summer) return rule->standard;
    int year = day_to_civil(clamp_day(at + rule->standard)).year;
    int64_t summer = moment_of_change(&rule->to_summer, year, rule->standard);
    int64_t standard = moment_of_change(&rule->to_standard, year, rule->summer);
    /* In the south summer goes over New Year. */
    bool is_summer =
        summer < standard ? at >= summer && at < standard : at >= summer || at < standard;
    return is_summer ? rule->summer : rule->standard;
}
