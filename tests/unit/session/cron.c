/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules are read strictly, and fire when a clock on the wall says so, also when it is changed.
 */
#include "session/cron.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/slice.h"
#include "data/day.h"
#include "t.h"

enum { MINUTE = 60, HOUR = 3600 };

static int64_t moment(const char *text)
{
    int64_t ms;
    T_OK(clock_parse(weir_slice_of(text), &ms));
    return ms / 1000;
}

static struct cron parsed(const char *text)
{
    struct cron c = {0};
    char why[CRON_WHY_BYTES] = "";
    if (!cron_parse(weir_slice_of(text), &c, why)) t_fail(__FILE__, __LINE__, "%s: %s", text, why);
    return c;
}

static void check_next(const char *text, const char *zone_text, const char *after, const char *want)
{
    struct cron c = parsed(text);
    struct zone *zone;
    int64_t next = 0;
    T_EQ(zone_load(&zone, zone_text), WEIR_OK);
    T_OK(cron_next(&c, zone, moment(after), &next));
    if (next != moment(want)) {
        char got[CLOCK_TEXT_BYTES];
        clock_format(got, next * 1000);
        t_fail(__FILE__, __LINE__, "%s in %s after %s: %s, not %s", text, zone_text, after, got,
               want);
    }
    zone_free(zone);
}

TEST(fields_are_read_as_cron_does)
{
    struct cron c = parsed("*/15 0-6/2,22 1,15 JAN-mar,12 Mon-Fri,7");
    T_EQ(c.minutes, (uint64_t)1 | UINT64_C(1) << 15 | UINT64_C(1) << 30 | UINT64_C(1) << 45);
    T_EQ(c.hours, 1u | 1u << 2 | 1u << 4 | 1u << 6 | 1u << 22);
    T_EQ(c.days, 1u << 1 | 1u << 15);
    T_EQ(c.months, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 12);
    T_EQ(c.weekdays, 0x3Fu);
    T_EQ(parsed("5/20 * * * *").minutes, UINT64_C(1) << 5 | UINT64_C(1) << 25 | UINT64_C(1) << 45);
    T_EQ(parsed(" \t0  0 1\t1 * ").months, 2u);
    T_EQ(parsed("@Daily").hours, 1u);
    T_EQ(parsed("0 0 * * 0").weekdays, parsed("0 0 * * 7").weekdays);
    T_EQ(parsed("0 0 * * SAT-SUN").weekdays, 1u | 1u << 6);
    T_EQ(parsed("0 0 * * fri-sun,3").weekdays, 1u | 1u << 3 | 1u << 5 | 1u << 6);
    T_EQ(parsed("0 0 * * MON-SUN/3").weekdays, 1u | 1u << 1 | 1u << 4);
}

TEST(what_is_no_schedule_is_refused_with_its_place)
{
    static const char *const texts[][2] = {
        {"", "five fields"},
        {"* * * *", "five fields"},
        {"* * * * * *", "more"},
        {"60 * * * *", "minute"},
        {"* 24 * * *", "hour"},
        {"* * 0 * *", "day of the month"},
        {"* * 32 * *", "day of the"},
        {"* * * 13 *", "month"},
        {"* * * foo *", "month"},
        {"* * * * 8", "day of the week"},
        {"5-1 * * * *", "minute"},
        {"*/0 * * * *", "minute"},
        {"1,,2 * * * *", "minute"},
        {"1- * * * *", "minute"},
        {"-1 * * * *", "minute"},
        {"1/ * * * *", "minute"},
        {"99999999999 * * * *", "min"},
        {"@never", "minute"},
        {"* * * * mon-", "week"},
        {"1.5 * * * *", "minute"},
        {"*-5 * * * *", "minute"},
        {"\xFF * * * *", "minute"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cron c;
        char why[CRON_WHY_BYTES] = "";
        T_OK(!cron_parse(weir_slice_of(texts[i][0]), &c, why));
        if (!strstr(why, texts[i][1])) t_fail(__FILE__, __LINE__, "%s: %s", texts[i][0], why);
    }
}

TEST(the_next_time_is_found)
{
    check_next("30 7 * * MON-FRI", "UTC", "2026-11-13T07:30:00Z", "2026-11-16T07:30:00Z");
    check_next("30 7 * * *", "UTC", "2026-11-13T07:29:59Z", "2026-11-13T07:30:00Z");
    check_next("0 0 1 1 *", "Europe/Berlin", "2026-11-16T00:00:00Z", "2026-12-31T23:00:00Z");
    check_next("0 12 29 2 *", "UTC", "2025-01-01T00:00:00Z", "2028-02-29T12:00:00Z");
    check_next("0 0 29 2 */7", "UTC", "2026-01-01T00:00:00Z",
               "2032-02-29T00:00:00Z");                                              /* a Sunday */
    check_next("0 0 13 * 5", "UTC", "2026-11-01T00:00:00Z", "2026-11-06T00:00:00Z"); /* either */
    check_next("* * * * *", "Asia/Kathmandu", "2026-11-16T00:00:30Z", "2026-11-16T00:01:00Z");
    check_next("0 0 * * *", "Asia/Kathmandu", "2026-11-16T00:00:00Z", "2026-11-16T18:15:00Z");
}

TEST(thirty_days_of_february_never_come)
{
    struct cron c = parsed("0 0 30 2 *");
    struct zone *zone;
    int64_t next;
    T_EQ(zone_load(&zone, "UTC"), WEIR_OK);
    T_OK(!cron_next(&c, zone, 0, &next));
    zone_free(zone);
}

TEST(a_skipped_time_is_made_up_for_once)
{
    static const char ny[] = "America/New_York"; /* 2025-03-09 02:00 becomes 03:00 */
    check_next("30 2 * * *", ny, "2025-03-09T05:00:00Z", "2025-03-09T07:00:00Z");
    check_next("30 2 * * *", ny, "2025-03-09T07:00:00Z", "2025-03-10T06:30:00Z");
    check_next("0,30 2 * * *", ny, "2025-03-09T07:00:00Z", "2025-03-10T06:00:00Z");
    check_next("30 * * * *", ny, "2025-03-09T06:30:00Z", "2025-03-09T07:30:00Z");
    check_next("15 2 * * *", "Australia/Lord_Howe", "2025-10-04T12:00:00Z", "2025-10-04T15:30:00Z");
    /* A whole day was skipped. */
    check_next("0 12 30 12 *", "Pacific/Apia", "2011-12-29T20:00:00Z", "2011-12-30T10:00:00Z");
}

TEST(a_time_that_is_shown_twice_counts_once)
{
    static const char ny[] = "America/New_York"; /* 2025-11-02 02:00 becomes 01:00 */
    check_next("30 1 * * *", ny, "2025-11-02T04:00:00Z", "2025-11-02T05:30:00Z");
    check_next("30 1 * * *", ny, "2025-11-02T05:30:00Z", "2025-11-03T06:30:00Z");
    check_next("30 * * * *", ny, "2025-11-02T05:30:00Z", "2025-11-02T06:30:00Z");
    check_next("*/20 * * * *", ny, "2025-11-02T05:40:00Z", "2025-11-02T06:00:00Z");
}

/* ---- against a clock that is watched minute by minute ---- */

static bool names(const struct cron *c, int64_t wall)
{
    int64_t day = wall / (24 * HOUR) - (wall % (24 * HOUR) < 0);
    int64_t second = wall - day * 24 * HOUR;
    struct civil date = day_to_civil((int32_t)day);
    bool is_day = c->days >> date.day & 1;
    bool is_weekday = c->weekdays >> ((day_weekday((int32_t)day) + 1) % 7) & 1;
    bool is_date =
        c->has_any_day || c->has_any_weekday ? is_day && is_weekday : is_day || is_weekday;
    return is_date && (c->months >> date.month & 1) && (c->hours >> (second / HOUR) & 1) &&
           (c->minutes >> (second % HOUR / MINUTE) & 1);
}

struct watcher {
    int64_t newest; /* latest wall time so far */
};

static bool fires(const struct cron *c, const struct zone *zone, struct watcher *w, int64_t at)
{
    int64_t wall = at + zone_offset(zone, at);
    bool is_again = wall <= w->newest, is_made_up = false;
    for (int64_t x = w->newest + MINUTE; !is_again && x < wall; x += MINUTE)
        is_made_up = is_made_up || names(c, x);
    if (!is_again) w->newest = wall;
    if (c->has_any_hour) return names(c, wall);
    return is_made_up || (!is_again && names(c, wall));
}

static void check_by_watching(const struct cron *c, const struct zone *zone, int64_t from,
                              int64_t to)
{
    struct watcher w = {from - MINUTE + zone_offset(zone, from - MINUTE)};
    int64_t next;
    bool is_there = cron_next(c, zone, from - 1, &next);
    for (int64_t at = from; at < to; at += MINUTE) {
        if (!fires(c, zone, &w, at)) continue;
        T_OK(is_there);
        T_EQ(next, at);
        is_there = cron_next(c, zone, at, &next);
    }
    T_OK(!is_there || next >= to);
}

TEST(it_fires_exactly_when_a_watched_clock_says)
{
    static const char *const zones[] = {"America/New_York",    "Europe/Berlin",
                                        "Australia/Lord_Howe", "Africa/Cairo",
                                        "America/Santiago",    "Asia/Kolkata"};
    static const char *const minutes[] = {"0", "30", "*/20", "5,35", "59"};
    static const char *const hours[] = {"*", "2", "1-3", "0", "*/6", "23"};
    static const char *const rest[] = {"* * *", "* * 0", "1-10 * *", "9 * 3", "*/2 * */3"};
    static const char *const starts[] = {"2025-03-07T00:00:00Z", "2025-10-03T00:00:00Z",
                                         "2025-03-28T00:00:00Z", "2025-10-24T00:00:00Z",
                                         "2025-04-23T00:00:00Z"};
    for (size_t z = 0; z < sizeof zones / sizeof *zones; z++) {
        struct zone *zone;
        T_EQ(zone_load(&zone, zones[z]), WEIR_OK);
        for (int i = 0; i < 25; i++) {
            char text[CRON_TEXT_BYTES];
            snprintf(text, sizeof text, "%s %s %s", minutes[t_random() % 5], hours[t_random() % 6],
                     rest[t_random() % 5]);
            struct cron c = parsed(text);
            int64_t from = moment(starts[t_random() % 5]);
            check_by_watching(&c, zone, from, from + (int64_t)4 * 24 * HOUR);
        }
        zone_free(zone);
    }
}
