/* SPDX-License-Identifier: Apache-2.0 */
/* Dates and windows, as they come out of questions on 2025-06-18, a Wednesday. */
#include "help.h"

struct row {
    const char *words, *window;
};

static void check(const struct row *rows, size_t n)
{
    struct help h;
    help_init(&h);
    for (size_t i = 0; i < n; i++) {
        char question[200], want[300];
        snprintf(question, sizeof question, "What was my average stress %s?", rows[i].words);
        snprintf(want, sizeof want,
                 "{\"op\":\"aggregate\",\"metric\":\"stress_score\",\"stat\":\"mean\"%s%s}",
                 rows[i].window[0] ? ",\"window\":" : "", rows[i].window);
        struct weir_slice got = help_ask(&h, question);
        if (!weir_slice_is(got, want))
            t_fail(__FILE__, __LINE__, "%s\n  got  %.*s\n  want %s", question, (int)got.len,
                   got.ptr, want);
    }
    help_fini(&h);
}

TEST(relative_windows_count_from_the_newest_day)
{
    static const struct row rows[] = {
        {"over the last 30 days", "{\"last_days\":30}"},
        {"in the past two weeks", "{\"last_days\":14}"},
        {"during the most recent 45 days", "{\"last_days\":45}"},
        {"over the 30 most recent days", "{\"last_days\":30}"},
        {"in the last month", "{\"last_days\":30}"},
        {"over the past fortnight", "{\"last_days\":14}"},
        {"in the 30-day period ending today", "{\"last_days\":30}"},
        {"yesterday", "{\"last_days\":1,\"skip_days\":1}"},
        {"today", "{\"last_days\":1}"},
        {"overall", ""},
        {"across all my data", ""},
        {"since the beginning", ""},
    };
    check(rows, sizeof rows / sizeof *rows);
}

TEST(calendar_windows_are_those_of_the_newest_day)
{
    static const struct row rows[] = {
        {"last week", "{\"from\":\"2025-06-09\",\"to\":\"2025-06-15\"}"},
        {"last month", "{\"from\":\"2025-05-01\",\"to\":\"2025-05-31\"}"},
        {"this month", "{\"from\":\"2025-06-01\",\"to\":\"2025-06-18\"}"},
        {"so far this year", "{\"from\":\"2025-01-01\",\"to\":\"2025-06-18\"}"},
        {"this week", "{\"from\":\"2025-06-16\",\"to\":\"2025-06-18\"}"},
        {"last weekend", "{\"from\":\"2025-06-14\",\"to\":\"2025-06-15\"}"},
        {"in March", "{\"from\":\"2025-03-01\",\"to\":\"2025-03-31\"}"},
        {"in December", "{\"from\":\"2024-12-01\",\"to\":\"2024-12-31\"}"},
        {"in Feb 2025", "{\"from\":\"2025-02-01\",\"to\":\"2025-02-28\"}"},
        {"in 2024", "{\"from\":\"2024-01-01\",\"to\":\"2024-12-31\"}"},
        {"in Q1 2025", "{\"from\":\"2025-01-01\",\"to\":\"2025-03-31\"}"},
        {"in the second quarter of 2025", "{\"from\":\"2025-04-01\",\"to\":\"2025-06-30\"}"},
        {"in the first half of 2025", "{\"from\":\"2025-01-01\",\"to\":\"2025-06-30\"}"},
        {"in the last 3 days of May", "{\"from\":\"2025-05-29\",\"to\":\"2025-05-31\"}"},
        {"in the week of 12 May", "{\"from\":\"2025-05-12\",\"to\":\"2025-05-18\"}"},
        {"on Monday", "{\"from\":\"2025-06-16\",\"to\":\"2025-06-16\"}"},
        {"3 days ago", "{\"from\":\"2025-06-15\",\"to\":\"2025-06-15\"}"},
        {"in February 2027", "{\"from\":\"2027-02-01\",\"to\":\"2027-02-28\"}"},
    };
    check(rows, sizeof rows / sizeof *rows);
}

TEST(stretches_from_one_date_to_another)
{
    static const struct row rows[] = {
        {"between 3 May and 20 May", "{\"from\":\"2025-05-03\",\"to\":\"2025-05-20\"}"},
        {"between 2025-01-04 and 2025-01-10", "{\"from\":\"2025-01-04\",\"to\":\"2025-01-10\"}"},
        {"from 3 to 20 May", "{\"from\":\"2025-05-03\",\"to\":\"2025-05-20\"}"},
        {"from May 3 to 20", "{\"from\":\"2025-05-03\",\"to\":\"2025-05-20\"}"},
        {"from March to May 2025", "{\"from\":\"2025-03-01\",\"to\":\"2025-05-31\"}"},
        {"from November to February", "{\"from\":\"2024-11-01\",\"to\":\"2025-02-28\"}"},
        {"from 1 December 2024 until yesterday", "{\"from\":\"2024-12-01\",\"to\":\"2025-06-17\"}"},
        {"between 7/Jan/2025 and 3/Feb/2025", "{\"from\":\"2025-01-07\",\"to\":\"2025-02-03\"}"},
        {"since New Year", "{\"from\":\"2025-01-01\"}"},
        {"since 1 March", "{\"from\":\"2025-03-01\"}"},
        {"since March", "{\"from\":\"2025-03-01\"}"},
        {"since the start of the year", "{\"from\":\"2025-01-01\"}"},
        {"since the month began", "{\"from\":\"2025-06-01\"}"},
        {"before 10 May 2025", "{\"to\":\"2025-05-09\"}"},
        {"after 10 May 2025", "{\"from\":\"2025-05-11\"}"},
        {"until 10 May 2025", "{\"to\":\"2025-05-10\"}"},
        {"on the 3rd of May", "{\"from\":\"2025-05-03\",\"to\":\"2025-05-03\"}"},
    };
    check(rows, sizeof rows / sizeof *rows);
}

TEST(dates_that_are_none_or_two_are_refused)
{
    static const char *const questions[] = {
        "Average stress on 30 February 2025",
        "Average stress on 2025-02-30",
        "Average stress between 03/04/2025 and 05/06/2025",
        "Average stress from 20 May 2025 to 3 May 2025",
        "Average stress in the last 0 days",
        "Average stress between and 2025-01-10",
    };
    struct help h;
    help_init(&h);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        help_ask(&h, questions[i]);
        if (h.reading.is_understood) t_fail(__FILE__, __LINE__, "%s", questions[i]);
    }
    help_fini(&h);
}
