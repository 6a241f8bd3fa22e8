/* SPDX-License-Identifier: Apache-2.0 */
#include "data/day.h"

#include "t.h"

TEST(every_day_has_one_date_and_the_date_that_day)
{
    struct civil before = day_to_civil(DAY_MIN - 1);
    for (int32_t day = DAY_MIN; day <= DAY_MAX; day++) {
        struct civil c = day_to_civil(day);
        T_EQ(day_from_civil(c.year, c.month, c.day), day);
        bool is_next = c.day == before.day + 1 || c.day == 1;
        T_OK(is_next);
        before = c;
    }
}

TEST(known_days_have_their_number_and_weekday)
{
    T_EQ(day_from_civil(1970, 1, 1), 0);
    T_EQ(day_from_civil(2025, 3, 9), 20156);
    T_EQ_STR(weir_slice_of(day_weekday_name(day_weekday(20156))), "Sunday");
    T_OK(day_is_weekend(20156));
    T_EQ_STR(weir_slice_of(day_weekday_name(day_weekday(0))), "Thursday");
    T_EQ_STR(weir_slice_of(day_weekday_name(day_weekday(-4))), "Sunday");
    T_EQ(day_month_last(2024, 2), day_from_civil(2024, 2, 29));
    T_EQ(day_month_first(2024, 13), day_from_civil(2025, 1, 1));
    T_EQ(day_month_first(2024, 0), day_from_civil(2023, 12, 1));
}

TEST(dates_that_do_not_exist_are_none)
{
    T_EQ(day_from_civil(2025, 2, 29), DAY_NONE);
    T_EQ(day_from_civil(2025, 13, 1), DAY_NONE);
    static const char *const wrong[] = {"",           "2025-3-09",  "2025-03-9x",  "2025/03/09",
                                        "2025-00-01", "1899-12-31", "2025-03-09 ", "abcd-ef-gh"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        T_EQ(day_parse(weir_slice_of(wrong[i])), DAY_NONE);
}

TEST(a_moment_falls_on_the_local_day)
{
    T_EQ(day_of_moment(0, -1), -1);
    T_EQ(day_of_moment(86399, 0), 0);
    T_EQ(day_of_moment(86399, 1), 1);
    char text[DAY_TEXT_BYTES];
    day_format(text, day_of_moment(1741503240, -4 * 3600));
    T_EQ_STR(weir_slice_of(text), "2025-03-09");
}
