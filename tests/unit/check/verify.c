/* SPDX-License-Identifier: Apache-2.0 */
/* The answers in tests/data/verify are run by tests/cli/verify.py; here are the rules' edges. */
#include <math.h>
#include <stdlib.h>

#include "desk.h"

/* The homes of a text's numbers as one line: "a" or "a.n", "-" for none, "~" for exempt. */
static void homes_are(const char *ledger, const char *text, const char *known, const char *want)
{
    struct desk d;
    struct weir_buf got;
    weir_buf_init(&got, 10000);
    T_OK(desk_open(&d, ledger) == WEIR_OK);
    desk_verify(&d, weir_slice_of(text), known);
    for (size_t i = 0; i < d.result.n; i++) {
        const struct verified *v = &d.result.numbers[i];
        if (i > 0) weir_buf_append_char(&got, ' ');
        if (v->outcome == VERIFY_EXEMPT) weir_buf_append_char(&got, '~');
        if (v->outcome == VERIFY_LACK) weir_buf_append_char(&got, '-');
        if (v->home) weir_buf_append_slice(&got, v->home->claim);
        if (v->home && strcmp(v->why, "n") == 0) weir_buf_append_str(&got, ".n");
    }
    T_EQ_STR(weir_buf_slice(&got), want);
    weir_buf_fini(&got);
    desk_close(&d);
}

#define SMALL "[{\"claim\":\"r\",\"value\":0.374},{\"claim\":\"p\",\"value\":0.0031}]"
#define PLAIN                                                                                      \
    "[{\"claim\":\"a\",\"value\":60.39},{\"claim\":\"b\",\"value\":160},"                          \
    "{\"claim\":\"c\",\"value\":4.47},{\"claim\":\"d\",\"value\":-3.2,\"n\":28}]"

TEST(two_percent_or_a_twentieth_is_near)
{
    homes_are(PLAIN, "60.4, 60, 61.7, 162, 163.3, 4.5, 4.4, 4.3", NULL, "a a - b - c c -");
}

TEST(below_one_the_decimals_shown_count)
{
    homes_are(SMALL, "0.374, 0.37, 0.4, 0.41, 0.38, 0.35", NULL, "r r r - - -");
    homes_are(SMALL, "37 %, 37.4 %, 38 %, 40 %", NULL, "r r - -");
}

TEST(the_sign_agrees_or_the_words_carry_it)
{
    homes_are(PLAIN, "-3.2. −3.2. –3.2. minus 3.2.", NULL, "d d d d");
    homes_are(PLAIN, "It fell by 3.2. It is 3.2 lower. A loss of 3.2.", NULL, "d d d");
    homes_are(PLAIN, "3.2. It rose by 3.2. +3.2. 3.2 higher.", NULL, "- - - -");
    homes_are(PLAIN, "It dropped 3.2 while the other rose 3.2.", NULL, "d -");
    homes_are(PLAIN, "±3.2, -60.4", NULL, "d -");
}

TEST(a_hyphen_between_numbers_is_no_minus)
{
    homes_are("[{\"claim\":\"a\",\"value\":60},{\"claim\":\"b\",\"value\":65}]",
              "60-65, 60–65, 60 - 65, 60 to 65, between 60 and 65, 60-70", NULL,
              "a b a b a b a b a b a -");
}

TEST(what_was_rejected_is_no_home)
{
    homes_are("[{\"claim\":\"a\",\"value\":60,\"verdict\":\"rejected\",\"n\":30},"
              "{\"claim\":\"b\",\"value\":70,\"verdict\":\"conditional\"}]",
              "60, 70, 30 nights", NULL, "- b -");
}

TEST(units_are_turned_into_each_other_and_never_mixed)
{
    homes_are("[{\"claim\":\"w\",\"value\":72.4,\"unit\":\"kg\"}]",
              "72.4 kg, 159.6 lb, 159.6 kg, 72.4 lb, 72 bpm, 72", NULL, "w w - - - w");
    homes_are("[{\"claim\":\"k\",\"value\":10,\"unit\":\"km\"}]",
              "10 km, 6.2 miles, 10,000 m, 10 mi", NULL, "k k k -");
    homes_are("[{\"claim\":\"t\",\"value\":432,\"unit\":\"min\"}]",
              "7 h 12 min, 7.2 hours, 7:12, 7h12m, 432 minutes, 7.2 minutes, 25,920 s", NULL,
              "t t t t t - t");
    homes_are("[{\"claim\":\"f\",\"value\":36.6,\"unit\":\"degC\"}]", "36.6 °C, 97.9 °F, 36.6 °F",
              NULL, "f f -");
}

TEST(times_of_day_go_around_the_clock)
{
    homes_are("[{\"claim\":\"t\",\"value\":-44,\"unit\":\"clock\"}]",
              "23:16, 11:16 pm, 11:16 p.m., 11:20 pm, 11 pm, 11:16 am, 22:40", NULL,
              "t t t t t - -");
}

TEST(a_time_of_day_is_at_home_in_one_before_anything_else)
{
    homes_are("[{\"claim\":\"n\",\"value\":1},{\"claim\":\"t\",\"value\":1.4,\"unit\":\"clock\"}]",
              "00:01", NULL, "t");
}

TEST(a_metric_of_times_has_numbers_that_are_none)
{
    homes_are(
        "[{\"claim\":\"ds-001.ci_low\",\"value\":23,\"unit\":\"min\",\"metric\":\"bedtime\"}]",
        "23 min, 12:23 am", NULL, "ds-001.ci_low -");
}

TEST(numbers_are_also_words)
{
    homes_are("[{\"claim\":\"two\",\"value\":2,\"unit\":\"ratio\"},"
              "{\"claim\":\"half\",\"value\":0.5},{\"claim\":\"third\",\"value\":0.333},"
              "{\"claim\":\"seven\",\"value\":7},{\"claim\":\"dozen\",\"value\":12},"
              "{\"claim\":\"many\",\"value\":1250},{\"claim\":\"q\",\"value\":0.75},"
              "{\"claim\":\"twohalf\",\"value\":2.5}]",
              "twice, half of it, a third, seven, a dozen, one thousand two hundred and fifty, "
              "three quarters, two and a half, ¾, 2½, half a dozen, twenty-five",
              NULL, "two half third seven dozen many q twohalf q twohalf - -");
}

TEST(numbers_are_written_in_many_ways)
{
    homes_are("[{\"claim\":\"a\",\"value\":10500},{\"claim\":\"m\",\"value\":1200000}]",
              "10,500; 10 500; 10\u2009500; 10\u00a0500; 10'500; 10.5k; 1.05e4; 10.5 thousand; "
              "1.2 million; 1.2M; 1,200,000; 1.200.000; 1 200 000; ten and a half thousand",
              NULL, "a a a a a a a a m m m m m a");
}

TEST(names_and_marks_are_no_numbers)
{
    homes_are("[]", "ds-001, B12, HbA1c, 25-OH, VO2max, Q1, COVID-19, https://a.b/1/2?c=3", NULL,
              "");
    homes_are("[]", "1. One\n2. Two of them\n3) First", NULL, "~ ~ ~ - ~");
    homes_are("[]", "Then it was\n62. Later it was 63.", NULL, "- -");
}

TEST(what_the_question_says_needs_no_home)
{
    homes_are("[]", "In 3 weeks, that is 21 days, 30 days, 3 bpm", "over the last 3 weeks?",
              "~ ~ - -");
}

TEST(dates_are_those_of_the_plan)
{
    const char *march = "2025-03-01..2025-03-31";
    homes_are("[]", "March 1, March 31st, 1 March 2025, 3/1/2025, 31.3.2025, March 2025, in 2025",
              march, "~ ~ ~ ~ ~ ~ ~");
    homes_are("[]", "1/3/2025; 03/01/2025; Q1 2025", march, "~ ~ ~");
    homes_are("[]", "March 14, April 1, 2024-03-01, in 2024, April 2025", march, "- - - - -");
    homes_are("[]", "31 days, 30 days, one month", march, "~ - ~");
}

TEST(a_bound_on_p_is_held_against_p)
{
    homes_are(SMALL, "p < 0.05, p < .01, p < 0.001, p = 0.003", NULL, "p p - p");
    homes_are(SMALL, "p > 0.001, p above 0.002, p > 0.05", NULL, "p p -");
}

TEST(mass_and_moles_are_turned_for_the_substance_that_is_named)
{
    homes_are("[{\"claim\":\"l\",\"value\":131,\"unit\":\"mg/dL\",\"metric\":\"ldl\"}]",
              "131 mg/dL, 3.39 mmol/L, 7.27 mmol/L, 3390 µmol/L", NULL, "l l - l");
    homes_are("[{\"claim\":\"g\",\"value\":5.4,\"unit\":\"mmol/L\",\"analyte\":\"glucose\"}]",
              "97 mg/dL, 5.4 mmol/L, 209 mg/dL", NULL, "g g -");
    homes_are("[{\"claim\":\"l\",\"value\":131,\"unit\":\"mg/dL\"}]", "3.39 mmol/L", NULL, "-");
    homes_are("[{\"claim\":\"a\",\"value\":5.6,\"unit\":\"%\",\"metric\":\"hba1c\"}]",
              "38 mmol/mol, 45 mmol/mol", NULL, "a -");
}

TEST(a_pace_is_minutes_and_seconds_for_a_length)
{
    homes_are("[{\"claim\":\"p\",\"value\":5.52,\"unit\":\"min/km\"},"
              "{\"claim\":\"d\",\"value\":-0.25,\"unit\":\"min/km\"}]",
              "5:31 /km, 5:31 per km, 8:53 a mile, 5 min 31 s per kilometre, 15 s/km faster, "
              "15 seconds per km less, 4:48 per km, 20 s/km faster",
              NULL, "p p p p d d - -");
}

TEST(percents_points_and_ratios_are_told_apart)
{
    homes_are("[{\"claim\":\"x.pp\",\"value\":-4,\"unit\":\"percentage points\"}]",
              "fell 4 percentage points, 4 pp lower, 4 points down, 4 % lower", NULL,
              "x.pp x.pp x.pp -");
    homes_are("[{\"claim\":\"x.percent\",\"value\":18,\"unit\":\"%\"}]",
              "18 % more, 18 percentage points more", NULL, "x.percent -");
    homes_are("[{\"claim\":\"x\",\"value\":0.8,\"unit\":\"ratio\"}]",
              "20 % lower. 20 % higher. 80 % of it. At 20 %.", NULL, "x - x -");
}

TEST(what_is_so_much_a_week_is_more_in_a_month)
{
    homes_are("[{\"claim\":\"w\",\"value\":-0.18,\"unit\":\"kg/week\"}]",
              "Down 0.18 kg a week, 0.18 kg per week, 180 g weekly, 0.78 kg a month, 9.4 kg per "
              "year, 0.18 kg; 0.18 kg a month lower, 0.18 lb a week lower",
              NULL, "w w w w w w - -");
    homes_are("[{\"claim\":\"s\",\"value\":3.2,\"unit\":\"sessions/week\"}]",
              "3.2 times a week, 14 times a month, 3.2 sessions, 3.2 times a day", NULL, "s s s -");
}

TEST(what_rose_did_not_fall_by_as_much)
{
    homes_are("[{\"claim\":\"x.change\",\"value\":3}]",
              "It rose by 3. It fell by 3. A loss of about 3. In March it was 3 lower.", NULL,
              "x.change - - x.change");
}

TEST(times_are_also_told_in_words)
{
    homes_are("[{\"claim\":\"t\",\"value\":\"23:16\"},{\"claim\":\"u\",\"value\":\"06:45\"}]",
              "a quarter past eleven, quarter to 7, half past ten, twenty past six", NULL,
              "t u - -");
}

TEST(a_share_is_one_number_in_two)
{
    homes_are("[{\"claim\":\"s\",\"value\":0.4}]", "2 in 5, two out of five, 3 of 5", NULL,
              "s s s s - -");
}

TEST(places_are_lines_and_characters)
{
    struct desk d;
    T_OK(desk_open(&d, "[]") == WEIR_OK);
    desk_verify(&d, weir_slice_of("é 62\n**−3.5** x"), NULL);
    T_EQ(d.result.n, 2);
    T_EQ(d.result.n_lacking, 2);
    T_EQ(d.result.numbers[0].offset, 3);
    T_EQ(d.result.numbers[0].column, 3);
    T_EQ(d.result.numbers[1].line, 2);
    T_EQ(d.result.numbers[1].column, 3);
    T_EQ(d.result.numbers[1].len, 6);
    T_OK(d.result.numbers[1].value == -3.5);
    desk_close(&d);
}

TEST(a_text_cut_anywhere_is_read_as_far_as_it_goes)
{
    static const char text[] =
        "## 1. Sum\nIt was **7 h 12 min** (95 % CI 60.1–63.4), −0.37 at 11:16 p.m. on March 14th, "
        "2025; &minus;3 [x](http://a.b/1) 4.2 × 10^9/L, 10\u2009500, two and a half, 1e3, ½, "
        "3/14/2025, 5 ft 11 in, mid-60s, <b>7</b> three quarters of an hour";
    struct desk d;
    T_OK(desk_open(&d, PLAIN) == WEIR_OK);
    for (size_t len = 0; len < sizeof text; len++) {
        char *exact = malloc(len + 1); /* so that a sanitizer sees what is read beyond */
        memcpy(exact + 1, text, len);
        desk_verify(&d, (struct weir_slice){exact + 1, len}, text);
        for (size_t i = 0; i < d.result.n; i++)
            T_OK(d.result.numbers[i].offset + d.result.numbers[i].len <= len);
        free(exact);
    }
    desk_close(&d);
}

TEST(ceilings_are_met_with_a_status)
{
    struct desk d;
    T_OK(desk_open(&d, PLAIN) == WEIR_OK);
    char *large = malloc(VERIFY_TEXT_BYTES + 1);
    memset(large, '1', VERIFY_TEXT_BYTES + 1);
    struct verify_input input = {{large, VERIFY_TEXT_BYTES + 1}, &d.ledger, NULL, 0};
    T_OK(verify_text(&d.result, &input, &d.arena) == WEIR_LIMIT);
    input.text.len = VERIFY_TEXT_BYTES;
    T_OK(verify_text(&d.result, &input, &d.arena) == WEIR_OK);
    for (size_t i = 0; i < VERIFY_TEXT_BYTES; i += 2) large[i] = ' ';
    T_OK(verify_text(&d.result, &input, &d.arena) == WEIR_OK);
    T_EQ(d.result.n, VERIFY_TEXT_BYTES / 2);
    struct arena tiny;
    arena_init(&tiny, 4096);
    T_OK(verify_text(&d.result, &input, &tiny) == WEIR_LIMIT);
    arena_fini(&tiny);
    free(large);
    desk_close(&d);
}
