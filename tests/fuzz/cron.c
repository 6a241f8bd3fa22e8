/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules from any bytes: what is read has a next moment that is later, at a full minute, and
 * where no clock is changed nearby it is the first minute whose fields are named, as a walk over
 * all minutes finds it.
 */
#include "session/cron.h"
#include "data/day.h"
#include "fuzz/fuzz.h"

enum { MINUTE = 60, WALK_DAYS = 3, FROM = 1767225600 /* 2026-01-01 */, YEARS_S = 4 * 366 * 86400 };

static bool has(uint64_t bits, unsigned i)
{
    return bits >> i & 1;
}

static bool is_named(const struct cron *c, int64_t wall)
{
    int32_t day = day_of_moment(wall, 0);
    struct civil date = day_to_civil(day);
    unsigned minute = (unsigned)((wall - (int64_t)day * DAY_SECONDS) / MINUTE);
    bool is_day = has(c->days, (unsigned)date.day);
    bool is_weekday = has(c->weekdays, (day_weekday(day) + 1) % 7);
    /* A field that begins with a star restricts nothing by itself, as of old. */
    bool is_both = c->has_any_day || c->has_any_weekday;
    is_day = is_both ? is_day && is_weekday : is_day || is_weekday;
    return has(c->minutes, minute % 60) && has(c->hours, minute / 60) && is_day &&
           has(c->months, (unsigned)date.month);
}

static void walk(const struct cron *c, const struct zone *zone, int64_t after, int64_t next)
{
    int32_t offset = zone_offset(zone, after);
    int64_t end = after + (int64_t)WALK_DAYS * DAY_SECONDS;
    if (zone_offset(zone, after - DAY_SECONDS) != offset || zone_offset(zone, end) != offset ||
        zone_offset(zone, end + DAY_SECONDS) != offset)
        return;
    int64_t at = after - (after + offset) % MINUTE + MINUTE;
    while (at <= end && !is_named(c, at + offset)) at += MINUTE;
    fuzz_true("it is the first that is named", at <= end ? next == at : next > end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"UTC", "Europe/Berlin", "America/St_Johns",
                                        "Australia/Lord_Howe", "Asia/Kathmandu"};
    static struct zone *zones[sizeof names / sizeof *names];
    char why[CRON_WHY_BYTES] = "";
    struct cron c;
    struct cut cut;
    struct weir_slice input;
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    size_t which = data[0] % (sizeof names / sizeof *names);
    if (!zones[which] && zone_load(&zones[which], names[which]) != WEIR_OK) return 0;
    bool is_read = cron_parse(input, &c, why);
    fuzz_true("what is refused has a reason", is_read || why[0]);
    int64_t next, after = FROM + (int64_t)data[0] * 7919 * 97 % YEARS_S;
    if (is_read && cron_next(&c, zones[which], after, &next)) {
        fuzz_true("it is later", next > after);
        fuzz_true("at a full minute", (next + zone_offset(zones[which], next)) % MINUTE == 0);
        walk(&c, zones[which], after, next);
    }
    cut_fini(&cut);
    return 0;
}
