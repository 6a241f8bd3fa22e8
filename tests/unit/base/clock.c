/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdio.h>

#include "t.h"

static void expect(int64_t wall_ms, const char *want)
{
    char text[CLOCK_TEXT_BYTES];
    clock_format(text, wall_ms);
    T_EQ_STR(((struct weir_slice){text, strlen(text)}), want);
}

TEST(known_moments_are_formatted)
{
    expect(0, "1970-01-01T00:00:00.000Z");
    expect(1, "1970-01-01T00:00:00.001Z");
    expect(-1, "1969-12-31T23:59:59.999Z");
    expect(951782399999, "2000-02-28T23:59:59.999Z");
    expect(951782400000, "2000-02-29T00:00:00.000Z");
    expect(951868800000, "2000-03-01T00:00:00.000Z");
    expect(1234567890123, "2009-02-13T23:31:30.123Z");
    expect(4107542400000, "2100-03-01T00:00:00.000Z"); /* 2100 is no leap year */
    expect(4107542399999, "2100-02-28T23:59:59.999Z");
}

TEST(ends_of_the_format_are_held)
{
    expect(-62167219200000, "0000-01-01T00:00:00.000Z");
    expect(-62167219200001, "0000-01-01T00:00:00.000Z");
    expect(INT64_MIN, "0000-01-01T00:00:00.000Z");
    expect(253402300799999, "9999-12-31T23:59:59.999Z");
    expect(253402300800000, "9999-12-31T23:59:59.999Z");
    expect(INT64_MAX, "9999-12-31T23:59:59.999Z");
}

static bool parses(const char *text, int64_t want)
{
    int64_t ms;
    return clock_parse((struct weir_slice){text, strlen(text)}, &ms) && ms == want;
}

TEST(times_are_read_with_zones_and_fractions)
{
    T_OK(parses("1970-01-01T00:00:00Z", 0));
    T_OK(parses("1969-12-31T23:59:59.999Z", -1));
    T_OK(parses("2009-02-13T23:31:30.123456789Z", 1234567890123));
    T_OK(parses("2009-02-14T01:01:30.1+01:30", 1234567890100));
    T_OK(parses("2009-02-13t18:31:30-05:00", 1234567890000));
    T_OK(parses("2000-02-29T00:00:00z", 951782400000));
    T_OK(parses("0000-01-01T00:00:00Z", -62167219200000));
}

TEST(what_is_no_time_is_refused)
{
    static const char *const bad[] = {"",
                                      "now",
                                      "2009-02-13",
                                      "2009-02-13T23:31Z",
                                      "2009-02-13T23:31:30",
                                      "2009-02-13T23:31:30.Z",
                                      "2009-02-29T00:00:00Z",
                                      "2009-13-01T00:00:00Z",
                                      "2009-00-01T00:00:00Z",
                                      "2009-01-00T00:00:00Z",
                                      "2009-01-01T24:00:00Z",
                                      "2009-01-01T00:60:00Z",
                                      "2009-01-01T00:00:61Z",
                                      "2009-01-01T00:00:00+24:00",
                                      "2009-01-01T00:00:00+0100",
                                      "2009-01-01T00:00:00Zx",
                                      "2009-01-01T00:00:00 Z"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t ms;
        T_OK(!clock_parse((struct weir_slice){bad[i], strlen(bad[i])}, &ms));
    }
}

TEST(what_is_written_is_read)
{
    for (int i = 0; i < 100000; i++) {
        char text[CLOCK_TEXT_BYTES];
        int64_t want = (int64_t)(t_random() % 315569519999999) - 62167219200000;
        clock_format(text, want);
        T_OK(parses(text, want));
    }
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && is_leap ? 29 : days[month - 1];
}

TEST(every_day_of_ten_thousand_years_follows_the_calendar)
{
    int64_t ms = -62167219200000;
    for (int year = 0; year < 10000; year++) {
        for (int month = 1; month <= 12; month++) {
            for (int day = 1; day <= days_in(year, month); day++, ms += 86400000) {
                char got[CLOCK_TEXT_BYTES], want[64];
                int64_t in_day = ms & 0x3ffffff;
                clock_format(got, ms + in_day);
                snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", year, month, day,
                         (int)(in_day / 3600000), (int)(in_day / 60000 % 60),
                         (int)(in_day / 1000 % 60), (int)(in_day % 1000));
                if (strcmp(got, want) != 0) t_fail(__FILE__, __LINE__, "%s, not %s", got, want);
            }
        }
    }
    T_EQ(ms, 253402300800000);
}

TEST(system_clock_goes_forward)
{
    uint64_t before_ns = clock_mono_ns(&clock_system);
    T_OK(clock_mono_ns(&clock_system) >= before_ns);
    T_OK(clock_wall_ms(&clock_system) > 1600000000000); /* set to some time after 2020 */
}

TEST(fake_clock_moves_only_when_told)
{
    struct fake_clock f;
    fake_clock_init(&f, 1000);
    T_EQ(clock_mono_ns(&f.clock), 0);
    T_EQ(clock_wall_ms(&f.clock), 1000);
    fake_clock_advance(&f, 1500000);
    T_EQ(clock_mono_ns(&f.clock), 1500000);
    T_EQ(clock_wall_ms(&f.clock), 1001);
    fake_clock_advance(&f, 500000); /* parts of a millisecond add up */
    T_EQ(clock_wall_ms(&f.clock), 1002);
    fake_clock_set_wall(&f, 5);
    T_EQ(clock_wall_ms(&f.clock), 5);
    T_EQ(clock_mono_ns(&f.clock), 2000000);
    fake_clock_set_wall(&f, -7);
    fake_clock_advance(&f, 1);
    T_EQ(clock_wall_ms(&f.clock), -7);
}
