/* SPDX-License-Identifier: Apache-2.0 */
/* Zones of the machine's zone files, and files that are broken. */
#include "data/zone.h"

#include <stdlib.h>

#include "base/slice.h"
#include "data/day.h"
#include "data/zone_rule.h"
#include "t.h"

static int64_t clock_of(const char *text)
{
    int32_t day = day_parse(slice_of(text, 10));
    int64_t minutes = strtol(text + 11, NULL, 10) * 60 + strtol(text + 14, NULL, 10);
    return (int64_t)day * DAY_SECONDS + minutes * 60;
}

static struct zone *load(const char *name)
{
    struct zone *z = NULL;
    if (zone_load(&z, name) != WEIR_OK) t_skip("there are no zone files on this machine");
    return z;
}

struct wall_case {
    const char *wall;
    double hours; /* offset that it has then */
    const char *utc;
};

static void check_walls(const char *name, const struct wall_case *cases, size_t n)
{
    struct zone *z = load(name);
    for (size_t i = 0; z && i < n; i++) {
        struct moment m = zone_moment(z, clock_of(cases[i].wall));
        if (m.at != clock_of(cases[i].utc) || m.offset != (int32_t)(cases[i].hours * 3600))
            t_fail(__FILE__, __LINE__, "%s %s: %lld, offset %d", name, cases[i].wall,
                   (long long)m.at, m.offset);
        T_EQ(zone_offset(z, m.at), m.offset);
    }
    zone_free(z);
}

TEST(clocks_go_forward_in_new_york_on_9_march_2025)
{
    static const struct wall_case cases[] = {
        {"2025-03-09 01:59", -5, "2025-03-09 06:59"},
        {"2025-03-09 02:30", -4, "2025-03-09 07:30"}, /* was skipped: half an hour after the gap */
        {"2025-03-09 03:00", -4, "2025-03-09 07:00"},
        {"2025-03-08 22:49", -5, "2025-03-09 03:49"},
        {"2025-11-02 01:30", -4, "2025-11-02 05:30"}, /* twice: the first */
        {"2025-11-02 02:00", -5, "2025-11-02 07:00"},
    };
    check_walls("America/New_York", cases, sizeof cases / sizeof *cases);
}

TEST(clocks_go_back_in_berlin_on_26_october_2025)
{
    static const struct wall_case cases[] = {
        {"2025-10-26 01:59", 2, "2025-10-25 23:59"},
        {"2025-10-26 02:30", 2, "2025-10-26 00:30"},
        {"2025-10-26 03:00", 1, "2025-10-26 02:00"},
        {"2025-03-30 02:30", 2, "2025-03-30 01:30"},
    };
    check_walls("Europe/Berlin", cases, sizeof cases / sizeof *cases);
}

TEST(times_behind_the_table_follow_the_rule)
{
    static const struct wall_case north[] = {
        {"2099-03-08 01:59", -5, "2099-03-08 06:59"}, {"2099-03-08 03:00", -4, "2099-03-08 07:00"},
        {"2099-07-01 12:00", -4, "2099-07-01 16:00"}, {"2099-11-01 03:00", -5, "2099-11-01 08:00"},
        {"2150-12-31 23:59", -5, "2151-01-01 04:59"},
    };
    static const struct wall_case south[] = {
        {"2099-01-15 12:00", 11, "2099-01-15 01:00"},
        {"2099-07-15 12:00", 10, "2099-07-15 02:00"},
        {"2099-12-31 23:59", 11, "2099-12-31 12:59"},
    };
    static const struct wall_case negative[] = {{"2099-01-15 12:00", 0, "2099-01-15 12:00"},
                                                {"2099-07-15 12:00", 1, "2099-07-15 11:00"}};
    check_walls("America/New_York", north, sizeof north / sizeof *north);
    check_walls("Australia/Sydney", south, sizeof south / sizeof *south);
    check_walls("Europe/Dublin", negative, sizeof negative / sizeof *negative);
}

TEST(a_day_that_samoa_left_out_is_as_long_after_the_gap)
{
    static const struct wall_case cases[] = {{"2011-12-29 12:00", -10, "2011-12-29 22:00"},
                                             {"2011-12-30 12:00", 14, "2011-12-30 22:00"},
                                             {"2011-12-31 12:00", 14, "2011-12-30 22:00"}};
    check_walls("Pacific/Apia", cases, sizeof cases / sizeof *cases);
}

TEST(offsets_are_read_as_people_write_them)
{
    static const struct {
        const char *text;
        int minutes; /* 9999: it is none */
    } cases[] = {
        {"UTC-05:00", -300}, {"-0500", -300},  {"+09", 540},    {"Z", 0},          {"UTC", 0},
        {"GMT+2", 120},      {"+05:30", 330},  {"+1400", 840},  {"UTC+0200", 120}, {"-00:30", -30},
        {"utc-0330", -210},  {"", 9999},       {"05:00", 9999}, {"+", 9999},       {"+5:", 9999},
        {"+25:00", 9999},    {"+05:60", 9999}, {"+05:3", 9999}, {"+053000", 9999}, {"UTCZ", 9999},
        {"America", 9999},   {"+0a", 9999},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t offset = 1;
        bool is_one = zone_parse_offset(weir_slice_of(cases[i].text), &offset);
        bool is_right =
            cases[i].minutes == 9999 ? !is_one : is_one && offset == cases[i].minutes * 60;
        if (!is_right) t_fail(__FILE__, __LINE__, "\"%s\" gives %d", cases[i].text, offset);
    }
    struct zone *z = NULL;
    T_EQ(zone_load(&z, "UTC-05:00"), WEIR_OK);
    T_EQ(zone_offset(z, 0), -18000);
    T_EQ(zone_moment(z, 0).at, 18000);
    zone_free(z);
}

TEST(a_zone_that_is_not_there_is_not_found)
{
    struct zone *z = NULL;
    T_EQ(zone_load(&z, "Mars/Olympus"), WEIR_NOT_FOUND);
    T_EQ(zone_load(&z, "../../etc/passwd"), WEIR_NOT_FOUND);
    T_EQ(zone_load(&z, "/etc/passwd"), WEIR_NOT_FOUND);
    T_EQ(zone_load(&z, "America"), WEIR_NOT_FOUND);
    T_EQ(zone_load(&z, ""), WEIR_NOT_FOUND);
    T_OK(zone_load(&z, "right/Europe/Berlin") != WEIR_OK); /* it counts leap seconds */
    T_OK(!z);
    T_EQ(zone_load(&z, NULL), WEIR_OK);
    T_OK(z);
    zone_free(z);
}

TEST(a_zone_file_cut_anywhere_is_corrupt)
{
    struct weir_slice whole = t_read_file("/usr/share/zoneinfo/America/New_York");
    if (whole.len == 0) {
        t_skip("there are no zone files on this machine");
        return;
    }
    for (size_t n = 0; n < whole.len; n++) {
        char *copy = malloc(n > 0 ? n : 1);
        if (n > 0) memcpy(copy, whole.ptr, n);
        struct zone *z = NULL;
        enum weir_status st = zone_read(&z, "cut", slice_of(copy, n));
        if (st != WEIR_CORRUPT || z) t_fail(__FILE__, __LINE__, "cut at %zu: %d", n, st);
        zone_free(z);
        free(copy);
    }
    struct zone *z = NULL;
    T_EQ(zone_read(&z, "whole", whole), WEIR_OK);
    zone_free(z);
}

/* Whatever a byte is changed to, nothing is read beyond the end and offsets stay possible. */
TEST(a_zone_file_with_any_byte_changed_is_harmless)
{
    struct weir_slice whole = t_read_file("/usr/share/zoneinfo/Europe/Berlin");
    char *copy = malloc(whole.len + 1);
    for (size_t n = 0; n < whole.len; n++) {
        memcpy(copy, whole.ptr, whole.len);
        copy[n] = (char)(copy[n] ^ (1 << (n % 8)));
        struct zone *z = NULL;
        if (zone_read(&z, "changed", slice_of(copy, whole.len)) != WEIR_OK) continue;
        for (int64_t at = -3000000000; at < 6000000000; at += 86400 * 97) {
            int32_t offset = zone_offset(z, at);
            T_OK(offset > -14 * 86400 && offset < 14 * 86400);
            (void)zone_moment(z, at);
        }
        zone_free(z);
    }
    free(copy);
}

TEST(rules_that_are_wrong_are_no_rules)
{
    static const char *const wrong[] = {"",
                                        "E5",
                                        "EST",
                                        "EST5EDT",
                                        "EST5EDT,",
                                        "EST5EDT,M3.2.0",
                                        "EST5EDT,M13.2.0,M11.1.0",
                                        "EST5EDT,M3.6.0,M11.1.0",
                                        "EST5EDT,J0,J365",
                                        "<-03",
                                        "EST999",
                                        "EST5EDT,M3.2.0,M11.1.0x"};
    struct zone_rule r;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        T_OK(!zone_rule_parse(weir_slice_of(wrong[i]), &r));
    T_OK(zone_rule_parse(SLICE("<-03>3"), &r));
    T_EQ(zone_rule_offset(&r, 0), -10800);
    T_OK(zone_rule_parse(SLICE("IST-2IDT,M3.4.4/26,M10.5.0"), &r));
    /* The Friday before the last Sunday of March, at two. */
    T_EQ(zone_rule_offset(&r, clock_of("2030-03-28 23:59")), 7200);
    T_EQ(zone_rule_offset(&r, clock_of("2030-03-29 00:00")), 10800);
    T_OK(zone_rule_parse(SLICE("AAA3BBB,J60/0,300/0"), &r));
    T_EQ(zone_rule_offset(&r, clock_of("2028-03-01 02:59")), -10800);
    T_EQ(zone_rule_offset(&r, clock_of("2028-03-01 03:00")), -7200);
}
