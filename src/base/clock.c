/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks and the civil calendar. The date is worked out here rather than by libc,
 * whose conversions know time zones, locks and years beyond our format.
 */
#include "base/clock.h"

#include <time.h>

#define NS_PER_MS    INT64_C(1000000)
#define NS_PER_S     INT64_C(1000000000)
#define MS_PER_DAY   INT64_C(86400000)
#define YEAR_0_MS    INT64_C(-62167219200000) /* 0000-01-01T00:00:00.000Z */
#define YEAR_9999_MS INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

enum {
    DAYS_BEFORE_1970 = 719468, /* since 0000-03-01 */
    DAYS_PER_400_YEARS = 146097,
    DAYS_PER_100_YEARS = 36524,
    DAYS_PER_4_YEARS = 1461,
};

static uint64_t system_mono_ns(void *user)
{
    struct timespec now;
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int64_t system_wall_ms(void *user)
{
    struct timespec now;
    (void)user;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
}

const struct clock clock_system = {.mono_ns = system_mono_ns, .wall_ms = system_wall_ms};

struct date {
    unsigned year, month, day;
};

/*
 * Counts years from 1 March, so that the leap day is the last of its year and
 * the months before it have lengths that repeat every five (31 30 31 30 31).
 * days_since_0000_03_01 >= 0.
 */
static struct date date_of(uint64_t days_since_0000_03_01)
{
    unsigned era = (unsigned)(days_since_0000_03_01 / DAYS_PER_400_YEARS);
    unsigned day = (unsigned)(days_since_0000_03_01 % DAYS_PER_400_YEARS);
    /* Each subtraction takes out the leap days that the division must not see. */
    unsigned year = (day - day / (DAYS_PER_4_YEARS - 1) + day / DAYS_PER_100_YEARS -
                     day / (DAYS_PER_400_YEARS - 1)) /
                    365;
    unsigned day_of_year = day - (365 * year + year / 4 - year / 100);
    unsigned month = (5 * day_of_year + 2) / 153; /* 0 is March */
    struct date d = {.year = era * 400 + year, .day = day_of_year - (153 * month + 2) / 5 + 1};
    d.month = month < 10 ? month + 3 : month - 9;
    if (d.month <= 2) d.year++;
    return d;
}

static void put_digits(char *out, unsigned n, unsigned value)
{
    while (n > 0) {
        out[--n] = (char)('0' + value % 10);
        value /= 10;
    }
}

struct timespec clock_deadline(uint64_t in_ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t ns = (uint64_t)at.tv_nsec + in_ms % 1000 * (uint64_t)NS_PER_MS;
    at.tv_sec += (time_t)(in_ms / 1000 + ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    return at;
}

void clock_format(char out[CLOCK_TEXT_BYTES], int64_t wall_ms)
{
    static const char form[CLOCK_TEXT_BYTES] = "0000-00-00T00:00:00.000Z";
    if (wall_ms < YEAR_0_MS) wall_ms = YEAR_0_MS;
    if (wall_ms > YEAR_9999_MS) wall_ms = YEAR_9999_MS;
    /* January and February of year 0 lie before the calendar's own zero: go one era up. */
    uint64_t ms = (uint64_t)(wall_ms + (DAYS_BEFORE_1970 + DAYS_PER_400_YEARS) * MS_PER_DAY);
    struct date d = date_of(ms / MS_PER_DAY);
    unsigned ms_of_day = (unsigned)(ms % MS_PER_DAY);
    for (size_t i = 0; i < sizeof form; i++) out[i] = form[i];
    put_digits(out, 4, d.year - 400);
    put_digits(out + 5, 2, d.month);
    put_digits(out + 8, 2, d.day);
    put_digits(out + 11, 2, ms_of_day / 3600000);
    put_digits(out + 14, 2, ms_of_day / 60000 % 60);
    put_digits(out + 17, 2, ms_of_day / 1000 % 60);
    put_digits(out + 20, 3, ms_of_day % 1000);
}

static uint64_t fake_mono_ns(void *user)
{
    struct fake_clock *f = user;
    return atomic_load(&f->mono_ns);
}

static int64_t fake_wall_ms(void *user)
{
    struct fake_clock *f = user;
    int64_t ns = atomic_load(&f->wall_ns);
    return ns / NS_PER_MS - (ns % NS_PER_MS < 0);
}

void fake_clock_init(struct fake_clock *f, int64_t wall_ms)
{
    f->clock = (struct clock){.mono_ns = fake_mono_ns, .wall_ms = fake_wall_ms, .user = f};
    atomic_init(&f->mono_ns, 0);
    atomic_init(&f->wall_ns, wall_ms * NS_PER_MS);
}

void fake_clock_advance(struct fake_clock *f, uint64_t ns)
{
    atomic_fetch_add(&f->mono_ns, ns);
    atomic_fetch_add(&f->wall_ns, (int64_t)ns);
}

void fake_clock_set_wall(struct fake_clock *f, int64_t wall_ms)
{
    atomic_store(&f->wall_ns, wall_ms * NS_PER_MS);
}
