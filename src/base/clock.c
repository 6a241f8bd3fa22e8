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

struct timespec clock_deadline_us(uint64_t in_us)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t ns = (uint64_t)at.tv_nsec + in_us % 1000000 * 1000;
    at.tv_sec += (time_t)(in_us / 1000000 + ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    return at;
}

struct timespec clock_deadline(uint64_t in_ms)
{
    return clock_deadline_us(in_ms * 1000);
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

/* ---- reading ---- */

/* Takes n digits off; false when they are not there, or mean more than `most`. */
static bool take_digits(struct weir_slice *text, unsigned n, unsigned most, unsigned *out)
{
    *out = 0;
    if (text->len < n) return false;
    for (unsigned i = 0; i < n; i++) {
        if (text->ptr[i] < '0' || text->ptr[i] > '9') return false;
        *out = *out * 10 + (unsigned)(text->ptr[i] - '0');
    }
    text->ptr += n;
    text->len -= n;
    return *out <= most;
}

static bool take_char(struct weir_slice *text, const char *one_of)
{
    if (text->len == 0 || !*one_of) return false;
    while (*one_of && *one_of != text->ptr[0]) one_of++;
    if (!*one_of) return false;
    text->ptr++;
    text->len--;
    return true;
}

static int64_t days_of(const struct date *d)
{
    /* From 1 March on, as date_of() counts. */
    int64_t year = (int64_t)d->year - (d->month <= 2);
    unsigned month = d->month > 2 ? d->month - 3 : d->month + 9;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (int64_t)month + 2) / 5 + (int64_t)d->day - 1;
    return era * DAYS_PER_400_YEARS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
           day_of_year - DAYS_BEFORE_1970;
}

static bool is_date(const struct date *d)
{
    static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (d->month < 1 || d->month > 12 || d->day < 1) return false;
    bool is_leap = d->year % 4 == 0 && (d->year % 100 != 0 || d->year % 400 == 0);
    return d->day <= lengths[d->month - 1] + (d->month == 2 && is_leap ? 1u : 0u);
}

static unsigned take_fraction_ms(struct weir_slice *text)
{
    unsigned ms = 0;
    unsigned digit;
    for (unsigned scale = 100; take_digits(text, 1, 9, &digit); scale /= 10) ms += digit * scale;
    return ms;
}

/* Minutes that the local time is ahead of UTC. */
static bool take_zone(struct weir_slice *text, int *minutes)
{
    unsigned hour, minute;
    *minutes = 0;
    if (take_char(text, "Zz")) return true;
    bool is_behind = text->len > 0 && text->ptr[0] == '-';
    if (!take_char(text, "+-") || !take_digits(text, 2, 23, &hour) || !take_char(text, ":") ||
        !take_digits(text, 2, 59, &minute))
        return false;
    *minutes = (int)(hour * 60 + minute) * (is_behind ? -1 : 1);
    return true;
}

static bool take_date(struct weir_slice *text, struct date *d)
{
    return take_digits(text, 4, 9999, &d->year) && take_char(text, "-") &&
           take_digits(text, 2, 12, &d->month) && take_char(text, "-") &&
           take_digits(text, 2, 31, &d->day) && is_date(d);
}

/* Milliseconds since midnight; a leap second is the first of the next minute. */
static bool take_time(struct weir_slice *text, int64_t *ms)
{
    unsigned hour, minute, second;
    if (!take_digits(text, 2, 23, &hour) || !take_char(text, ":") ||
        !take_digits(text, 2, 59, &minute) || !take_char(text, ":") ||
        !take_digits(text, 2, 60, &second))
        return false;
    *ms = ((int64_t)hour * 60 + minute) * 60000 + (int64_t)second * 1000;
    if (!take_char(text, ".")) return true;
    size_t before = text->len;
    *ms += take_fraction_ms(text);
    return text->len < before;
}

bool clock_parse(struct weir_slice text, int64_t *wall_ms)
{
    struct date d;
    int64_t ms;
    int zone;
    if (!take_date(&text, &d) || !take_char(&text, "Tt ") || !take_time(&text, &ms) ||
        !take_zone(&text, &zone) || text.len > 0)
        return false;
    *wall_ms = days_of(&d) * MS_PER_DAY + ms - (int64_t)zone * 60000;
    return true;
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
