/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/fault.h"
#include "data/plan.h"
#include "plan_help.h"

struct row {
    const char *plan;
    double value; /* NAN: no answer, with `text` in the reason */
    const char *unit;
    const char *text; /* a date, a name, or part of the reason */
};

static void check_number(const struct row *row, const struct plan_answer *a)
{
    double room = fmax(1e-9 * fabs(row->value), 1e-9);
    if (a->kind != VALUE_NUMBER || !(fabs(a->number - row->value) <= room))
        t_fail(__FILE__, __LINE__, "%s: kind %d, %.12g, want %.12g (%s)", row->plan, (int)a->kind,
               a->number, row->value, a->reason ? a->reason : "");
    else if (strcmp(a->unit, row->unit) != 0)
        t_fail(__FILE__, __LINE__, "%s: in %s, want %s", row->plan, a->unit, row->unit);
}

static void check_text(const struct row *row, const struct plan_answer *a)
{
    char day[DAY_TEXT_BYTES] = "";
    if (a->kind == VALUE_DATE) day_format(day, a->date);
    const char *got = a->kind == VALUE_DATE   ? day
                      : a->kind == VALUE_TEXT ? a->text
                      : a->kind == VALUE_NONE ? a->reason
                                              : "a number";
    bool is_right = row->unit ? a->kind != VALUE_NONE && strcmp(got, row->text) == 0 &&
                                    strcmp(a->unit, row->unit) == 0
                              : a->kind == VALUE_NONE && strstr(got, row->text);
    if (!is_right) t_fail(__FILE__, __LINE__, "%s: %s, want %s", row->plan, got, row->text);
}

static void check_rows(const struct row *rows, size_t n)
{
    struct person p;
    person_init(&p);
    for (size_t i = 0; i < n; i++) {
        struct plan plan;
        struct plan_answer a = person_ask(&p, rows[i].plan, &plan);
        if (isnan(rows[i].value)) check_text(&rows[i], &a);
        else check_number(&rows[i], &a);
    }
    person_fini(&p);
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof rows / sizeof *rows)

TEST(statistics_of_a_window)
{
    static const struct row rows[] = {
        {"{'op':'aggregate','metric':'steps','window':{'from':'2025-03-01','to':'2025-03-05'}}",
         3000, "steps", NULL},
        /* The 11th was not worn, the 12th is not plausible, the 31st is not over. */
        {"{'op':'aggregate','metric':'steps'}", (31 * 16 - 11 - 12 - 31) * 1000.0 / 28, "steps",
         NULL},
        {"{'op':'aggregate','metric':'steps','stat':'sum'}", (31 * 16 - 11 - 12) * 1000.0, "steps",
         NULL},
        {"{'op':'aggregate','metric':'steps','stat':'max'}", 31000, "steps", NULL},
        {"{'op':'aggregate','metric':'steps','stat':'min','window':{'last_days':2}}", 30000,
         "steps", NULL},
        {"{'op':'aggregate','metric':'step count','stat':'median','window':{'last_days':4}}", 29000,
         "steps", NULL},
        {"{'op':'aggregate','metric':'weight','stat':'first'}", 80, "kg", NULL},
        {"{'op':'aggregate','metric':'weight','stat':'last'}", 77.9, "kg", NULL},
        {"{'op':'aggregate','metric':'weight','stat':'range'}", 2.1, "kg", NULL},
        {"{'op':'aggregate','metric':'weight','stat':'last','unit':'lb'}", 77.9 / 0.45359237, "lb",
         NULL},
        {"{'op':'aggregate','metric':'sleep_minutes','stat':'mean','unit':'hours',"
         "'window':{'from':'2025-03-01','to':'2025-03-02'}}",
         405.0 / 60, "h", NULL},
        {"{'op':'aggregate','metric':'steps','stat':'sd','window':{'from':'2025-03-01','to':"
         "'2025-03-03'}}",
         1000, "steps", NULL},
        {"{'op':'aggregate','metric':'steps','stat':'cv','window':{'from':'2025-03-01','to':"
         "'2025-03-03'}}",
         50, "%", NULL},
        {"{'op':'aggregate','metric':'steps','stat':'quantile','quantile':0.25,"
         "'window':{'from':'2025-03-01','to':'2025-03-05'}}",
         2000, "steps", NULL},
        {"{'op':'aggregate','metric':'steps','stat':'count','window':{'last_days':7}}", 7, "days",
         NULL},
        {"{'op':'aggregate','metric':'weight','newest':2}", 77.95, "kg", NULL},
        {"{'op':'aggregate','metric':'steps','stat':'sum','per':'week','window':{'from':'2025-03-"
         "01',"
         "'to':'2025-03-07'}}",
         28000, "steps/week", NULL},
    };
    CHECK_ROWS(rows);
}

TEST(what_cannot_be_answered_has_a_reason_and_no_number)
{
    static const struct row rows[] = {
        {"{'op':'aggregate','metric':'blood_oxygen'}", NAN, NULL, "no data for blood oxygen"},
        {"{'op':'aggregate','metric':'steps','stat':'sum','window':{'from':'2027-02-01','to':"
         "'2027-02-28'}}",
         NAN, NULL, "they run from 2025-03-01 to 2025-03-31"},
        {"{'op':'count','metric':'steps','window':{'from':'2026-01-01'}}", NAN, NULL, "no data"},
        {"{'op':'aggregate','metric':'sleep_minutes','window':{'from':'2025-03-05','to':"
         "'2025-03-06'}}",
         NAN, NULL, "no data for sleep"},
        {"{'op':'aggregate','metric':'sleep_minutes','stat':'sum','window':{'from':'2025-03-05',"
         "'to':'2025-03-06'}}",
         0, "min", NULL},
        {"{'op':'aggregate','metric':'weight','stat':'sd','newest':1}", NAN, NULL, "two values"},
        {"{'op':'aggregate','workouts':'rowing','stat':'mean'}", NAN, NULL, "no data for minutes"},
        {"{'op':'aggregate','workouts':'rowing','stat':'sum'}", 0, "min", NULL},
        {"{'op':'count','workouts':'rowing'}", 0, "sessions", NULL},
        {"{'op':'group','workouts':'rowing','field':'sessions','stat':'sum','by':'month',"
         "'pick':'max'}",
         NAN, NULL, "no data for rowing sessions"},
        {"{'op':'aggregate','workouts':'walk','field':'km','stat':'sum'}", NAN, NULL,
         "none of the 1 sessions"},
        {"{'op':'aggregate','lab':'hdl'}", NAN, NULL, "no results for HDL"},
        {"{'op':'trend','lab':'ldl'}", NAN, NULL, "needs 3 values"},
        {"{'op':'change','lab':'hs_crp'}", NAN, NULL, "needs two values"},
        {"{'op':'correlate','metric':'weight','with':'steps','window':{'from':'2025-03-10','to':"
         "'2025-03-11'}}",
         NAN, NULL, "needs 3 days"},
        {"{'op':'find','metric':'steps','having':{'cmp':'>','value':99000}}", NAN, NULL,
         "meets the condition"},
        {"{'op':'rolling','metric':'steps','days':60,'pick':'max'}", NAN, NULL, "shorter than 60"},
        {"{'op':'compare','metric':'weight','window':{'last_days':7},'b':{'window':{'from':"
         "'2025-03-01','to':'2025-03-07'}}}",
         NAN, NULL, "second group"},
    };
    CHECK_ROWS(rows);
}

TEST(counts_and_shares)
{
    static const struct row rows[] = {
        {"{'op':'count','metric':'steps'}", 29, "days", NULL},
        {"{'op':'count','metric':'steps','having':{'cmp':'>=','value':20000}}", 12, "days", NULL},
        {"{'op':'count','metric':'steps','having':{'cmp':'>','value':20000}}", 11, "days", NULL},
        {"{'op':'count','metric':'steps','having':{'cmp':'between','value':[2000,4000]}}", 3,
         "days", NULL},
        {"{'op':'count','metric':'steps','having':{'cmp':'<','value':50000}}", 28, "days", NULL},
        {"{'op':'count','metric':'sleep','having':{'cmp':'<','value':7,'unit':'h'}}", 10, "days",
         NULL},
        {"{'op':'count','metric':'sleep','having':{'cmp':'=','value':400},'share':true}",
         500.0 / 29, "%", NULL},
        {"{'op':'count','workouts':'any'}", 6, "sessions", NULL},
        {"{'op':'count','workouts':'run','field':'km','having':{'cmp':'>','value':6}}", 3,
         "sessions", NULL},
        {"{'op':'count','workouts':'run','per':'week','window':{'from':'2025-03-01','to':"
         "'2025-03-28'}}",
         1, "sessions/week", NULL},
        {"{'op':'count','lab':'ldl'}", 2, "results", NULL},
        {"{'op':'count','metric':'bedtime','having':{'cmp':'<','value':'00:00'}}", 15, "days",
         NULL},
        {"{'op':'count','metric':'bedtime','having':{'cmp':'>','value':'23:00'}}", 31, "days",
         NULL},
        {"{'op':'count','metric':'bedtime','having':{'cmp':'between','value':['23:30','00:05']}}",
         15, "days", NULL},
    };
    CHECK_ROWS(rows);
}

TEST(conditions_on_days_sessions_and_the_calendar)
{
    static const struct row rows[] = {
        {"{'op':'count','metric':'steps','where':[{'weekdays':'weekend'}]}", 10, "days", NULL},
        {"{'op':'count','metric':'steps','where':[{'weekdays':['Monday']}]}", 5, "days", NULL},
        {"{'op':'count','metric':'deep sleep','where':[{'weekdays':'weekend','not':true}]}", 21,
         "days", NULL},
        {"{'op':'count','metric':'steps','where':[{'months':['April']}]}", 0, "days", NULL},
        {"{'op':'aggregate','metric':'steps','where':[{'workout':'run'}]}", 16000, "steps", NULL},
        {"{'op':'aggregate','metric':'steps','where':[{'workout':'run','shift_days':-1}]}",
         (3 + 10 + 17 + 24) * 250.0, "steps", NULL},
        {"{'op':'count','metric':'deep sleep','where':[{'workout':'any','not':true}]}", 25, "days",
         NULL},
        {"{'op':'count','metric':'deep sleep','where':[{'workout':'run','field':'km','cmp':'>=',"
         "'value':8}]}",
         2, "days", NULL},
        {"{'op':'aggregate','workouts':'run','stat':'sum','where':[{'metric':'sleep_minutes',"
         "'cmp':'<','value':420}]}",
         30 + 40 + 50 + 60 + 70, "min", NULL},
        {"{'op':'aggregate','workouts':'run','stat':'mean','where':[{'workout':'run','field':'km',"
         "'cmp':'>','value':6}]}",
         60, "min", NULL},
        {"{'op':'aggregate','workouts':'run','stat':'mean','where':[{'workout':'any','field':"
         "'minutes','cmp':'<','value':35}]}",
         30, "min", NULL},
        {"{'op':'aggregate','workouts':'run','stat':'mean','newest':2}", 65, "min", NULL},
        {"{'op':'aggregate','workouts':'run','field':'pace','stat':'last'}", 70.0 / 9, "min/km",
         NULL},
        {"{'op':'aggregate','workouts':'run','field':'km','stat':'sum','unit':'miles'}",
         35 / 1.609344, "mi", NULL},
        /* Days without sleep meet no condition on sleep, not even a negative one. */
        {"{'op':'count','metric':'deep sleep','where':[{'metric':'sleep','cmp':'<','value':1}]}", 0,
         "days", NULL},
        {"{'op':'count','metric':'deep sleep','where':[{'metric':'sleep','cmp':'<','value':1,"
         "'not':true}]}",
         29, "days", NULL},
        {"{'op':'count','metric':'deep "
         "sleep','where':[{'metric':'sleep'},{'weekdays':['Wednesday']}]"
         "}",
         3, "days", NULL},
        {"{'op':'aggregate','metric':'steps','where':[{'metric':'blood_oxygen'}]}", NAN, NULL,
         "no data for blood oxygen"},
    };
    CHECK_ROWS(rows);
}

TEST(extremes_dates_and_changes)
{
    static const struct row rows[] = {
        {"{'op':'extreme','metric':'steps','answer':'date'}", NAN, "date", "2025-03-31"},
        {"{'op':'extreme','metric':'steps','pick':'min','answer':'date'}", NAN, "date",
         "2025-03-01"},
        {"{'op':'extreme','metric':'steps','pick':'min'}", 1000, "steps", NULL},
        {"{'op':'extreme','metric':'steps','rank':2}", 30000, "steps", NULL},
        {"{'op':'extreme','metric':'steps','pick':'min','rank':3,'answer':'date'}", NAN, "date",
         "2025-03-03"},
        {"{'op':'extreme','lab':'ldl','rank':3}", NAN, NULL, "there are only 2"},
        /* The 14th, the 21st and the 28th are the same: the earliest wins. */
        {"{'op':'extreme','metric':'sleep','answer':'date','window':{'from':'2025-03-08'}}", NAN,
         "date", "2025-03-14"},
        {"{'op':'extreme','metric':'bedtime','pick':'max','answer':'date'}", NAN, "date",
         "2025-03-01"},
        {"{'op':'extreme','metric':'bedtime','pick':'min'}", 1430, "minutes after midnight", NULL},
        {"{'op':'find','metric':'steps','having':{'cmp':'>=','value':10000}}", NAN, "date",
         "2025-03-10"},
        {"{'op':'find','metric':'steps','pick':'last','having':{'cmp':'<=','value':10000}}", NAN,
         "date", "2025-03-10"},
        {"{'op':'find','lab':'ldl','pick':'last'}", NAN, "date", "2025-03-25"},
        {"{'op':'find','workouts':'walk'}", NAN, "date", "2025-03-03"},
        {"{'op':'change','lab':'ldl'}", -14, "mg/dL", NULL},
        {"{'op':'change','lab':'ldl','result':'percent'}", -1400.0 / 130, "%", NULL},
        {"{'op':'change','metric':'weight'}", -2.1, "kg", NULL},
        {"{'op':'change','metric':'bedtime','window':{'from':'2025-03-01','to':'2025-03-02'}}", -20,
         "min", NULL},
        {"{'op':'aggregate','lab':'ldl','stat':'last','unit':'mmol/L'}", 116 / 38.67, "mmol/L",
         NULL},
        {"{'op':'aggregate','lab':'zinc','stat':'last'}", 80, "mg/dL", NULL},
    };
    CHECK_ROWS(rows);
}

TEST(comparisons)
{
    static const struct row rows[] = {
        {"{'op':'compare','metric':'steps','window':{'from':'2025-03-08','to':'2025-03-09'},"
         "'b':{'window':{'from':'2025-03-01','to':'2025-03-02'}}}",
         7000, "steps", NULL},
        {"{'op':'compare','metric':'steps','window':{'from':'2025-03-08','to':'2025-03-09'},"
         "'b':{'window':{'from':'2025-03-01','to':'2025-03-02'}},'result':'percent'}",
         100 * 7000.0 / 1500, "%", NULL},
        {"{'op':'compare','metric':'steps','window':{'from':'2025-03-08','to':'2025-03-09'},"
         "'b':{'window':{'from':'2025-03-01','to':'2025-03-02'}},'result':'ratio'}",
         8500.0 / 1500, "ratio", NULL},
        /* 60 to 66 from Saturday to Friday; there are five of Saturday, Sunday and Monday. */
        {"{'op':'compare','metric':'deep sleep','where':[{'weekdays':'weekend'}],"
         "'b':{'where':[{'weekdays':'workweek'}]}}",
         605 / 10.0 - (310 + 252 + 256 + 260 + 264) / 21.0, "min", NULL},
        {"{'op':'compare','workouts':'run','stat':'sum','window':{'last_days':14},"
         "'b':{'window':{'last_days':14,'skip_days':14}}}",
         130 - 90, "min", NULL},
        {"{'op':'compare','metric':'bedtime','window':{'from':'2025-03-01','to':'2025-03-01'},"
         "'b':{'window':{'from':'2025-03-02','to':'2025-03-02'}}}",
         20, "min", NULL},
    };
    CHECK_ROWS(rows);
}

TEST(times_of_day_are_on_a_circle)
{
    struct person p;
    struct plan plan;
    person_init(&p);
    struct plan_answer a = person_ask(
        &p,
        "{'op':'aggregate','metric':'bedtime','window':{'from':'2025-03-01','to':'2025-03-02'}}",
        &plan);
    T_OK(a.kind == VALUE_NUMBER && fmin(a.number, 1440 - a.number) < 1e-6);
    T_EQ_STR(weir_slice_of(a.clock), "00:00");
    a = person_ask(&p, "{'op':'aggregate','metric':'bedtime','stat':'sd'}", &plan);
    T_OK(a.number > 9 && a.number < 12);
    T_EQ_STR(weir_slice_of(a.unit), "min");
    T_OK(!a.clock);
    person_fini(&p);
}

TEST(streaks_are_of_calendar_days)
{
    static const struct row rows[] = {
        /* The 11th and 12th are left out, so the longest is from the 13th. */
        {"{'op':'streak','metric':'steps','having':{'cmp':'>=','value':5000}}", 19, "days", NULL},
        {"{'op':'streak','metric':'steps','having':{'cmp':'<','value':11000}}", 10, "days", NULL},
        {"{'op':'streak','metric':'sleep','pick':'current'}", 25, "days", NULL},
        {"{'op':'streak','metric':'steps','pick':'current','having':{'cmp':'<','value':11000}}", 0,
         "days", NULL},
        /* The 31st is not over and may still fall short or not. */
        {"{'op':'streak','metric':'steps','pick':'current','having':{'cmp':'between','value':"
         "[28000,30000]}}",
         3, "days", NULL},
        {"{'op':'streak','workouts':'any'}", 2, "days", NULL},
        {"{'op':'streak','workouts':'rowing'}", 0, "days", NULL},
    };
    CHECK_ROWS(rows);
}

TEST(moving_windows)
{
    static const struct row rows[] = {
        {"{'op':'rolling','metric':'weight','days':7,'pick':'last'}", 78.2, "kg", NULL},
        {"{'op':'rolling','metric':'weight','days':2,'pick':'max'}", 80, "kg", NULL},
        {"{'op':'rolling','metric':'weight','days':2,'pick':'max','answer':'date'}", NAN, "date",
         "2025-03-10"},
        {"{'op':'rolling','workouts':'run','days':8,'stat':'sum','pick':'max'}", 130, "min", NULL},
        {"{'op':'rolling','metric':'weight','days':3,'stat':'median'}", 78.0, "kg", NULL},
        {"{'op':'rolling','metric':'bedtime','days':4,'pick':'last','stat':'min'}", 1430,
         "minutes after midnight", NULL},
    };
    CHECK_ROWS(rows);
}

/* What a moving window gives is what the window alone gives. */
TEST(every_moving_statistic_is_that_of_its_window)
{
    static const char *const stats[] = {"mean",  "median", "sum",   "min",   "max",  "sd",
                                        "range", "cv",     "count", "first", "last", "quantile"};
    struct person p;
    struct plan plan;
    person_init(&p);
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
        char text[400], share[32] = "";
        if (i == 11) snprintf(share, sizeof share, ",'quantile':0.3");
        snprintf(text, sizeof text,
                 "{'op':'rolling','metric':'sleep','days':5,'stat':'%s'%s,'window':{'from':"
                 "'2025-03-08'}}",
                 stats[i], share);
        struct plan_answer moving = person_ask(&p, text, &plan);
        T_EQ(moving.n_rows, 20);
        for (size_t k = 0; k < moving.n_rows; k++) {
            char from[DAY_TEXT_BYTES], to[DAY_TEXT_BYTES];
            day_format(from, moving.rows[k].day - 4);
            day_format(to, moving.rows[k].day);
            snprintf(text, sizeof text,
                     "{'op':'aggregate','metric':'sleep','stat':'%s'%s,'window':{'from':'%s','to':"
                     "'%s'}}",
                     stats[i], share, from, to);
            struct plan_answer alone = person_ask(&p, text, &plan);
            if (!(fabs(alone.number - moving.rows[k].value) <= 1e-9 * fabs(alone.number)))
                t_fail(__FILE__, __LINE__, "%s: %.17g, moving %.17g", text, alone.number,
                       moving.rows[k].value);
        }
    }
    person_fini(&p);
}

TEST(trends_and_correlations)
{
    static const struct row rows[] = {
        {"{'op':'trend','metric':'weight'}", -0.7, "kg/week", NULL},
        {"{'op':'trend','metric':'weight','per':'day'}", -0.1, "kg/day", NULL},
        {"{'op':'trend','metric':'weight','per':'month','method':'theil_sen'}", -3.0436875,
         "kg/month", NULL},
        {"{'op':'trend','metric':'weight','unit':'lb'}", -0.7 / 0.45359237, "lb/week", NULL},
        {"{'op':'correlate','metric':'steps','with':'weight'}", -1, "r", NULL},
        {"{'op':'correlate','metric':'steps','with':'weight','method':'spearman','lag_days':1}", -1,
         "r", NULL},
        {"{'op':'correlate','metric':'steps','with':'weight','method':'kendall','lag_days':-2}", -1,
         "tau", NULL},
        {"{'op':'correlate','workouts':'run','field':'km','with':'steps'}", 1, "r", NULL},
    };
    CHECK_ROWS(rows);
}

TEST(pairs_are_of_days_that_lie_in_the_window_both)
{
    struct person p;
    struct plan plan;
    person_init(&p);
    struct plan_answer a =
        person_ask(&p,
                   "{'op':'correlate','metric':'deep sleep','with':'steps','lag_days':1,'window':"
                   "{'from':'2025-03-13','to':'2025-03-20'}}",
                   &plan);
    T_EQ(a.n, 7);
    a = person_ask(
        &p, "{'op':'correlate','metric':'deep sleep','with':'sleep','window':{'last_days':9}}",
        &plan);
    T_EQ(a.n, 9);
    T_OK(a.n_notes > 0 && strstr(a.notes[0], "part of"));
    person_fini(&p);
}

TEST(groups_by_the_calendar)
{
    static const struct row rows[] = {
        {"{'op':'group','metric':'deep sleep','by':'weekday','pick':'max'}", NAN, "weekday",
         "Friday"},
        {"{'op':'group','metric':'deep sleep','by':'weekday','pick':'min'}", NAN, "weekday",
         "Saturday"},
        {"{'op':'group','metric':'deep sleep','by':'weekend','pick':'max'}", NAN, "weekend",
         "weekday"},
        {"{'op':'group','workouts':'run','stat':'sum','by':'week','pick':'max'}", NAN, "week",
         "2025-W13"},
        {"{'op':'group','workouts':'run','stat':'sum','by':'week','pick':'min'}", NAN, "week",
         "2025-W14"},
        {"{'op':'group','metric':'weight','by':'month','pick':'max'}", NAN, "month", "2025-03"},
        {"{'op':'group','metric':'weight','by':'year'}", 78.95, "kg", NULL},
    };
    CHECK_ROWS(rows);
    struct person p;
    struct plan plan;
    person_init(&p);
    struct plan_answer a = person_ask(
        &p, "{'op':'group','workouts':'run','field':'sessions','stat':'count','by':'weekday'}",
        &plan);
    T_EQ(a.n_rows, 7);
    T_EQ_STR(weir_slice_of(a.rows[6].key), "Sunday");
    T_OK(a.rows[6].value == 5 && a.rows[0].value == 0);
    person_fini(&p);
}

TEST(what_stands_out_and_how_values_are_spread)
{
    struct person p;
    struct plan plan;
    person_init(&p);
    int32_t days[12];
    double values[12];
    for (int i = 0; i < 12; i++) {
        days[i] = MARCH + i;
        values[i] = i == 7 ? 90 : 55 + i % 3;
    }
    struct series s = {.metric = metric_find(weir_slice_of("resting_heart_rate")),
                       .n = 12,
                       .days = days,
                       .values = values};
    T_EQ(dataset_add_series(p.d, &s), WEIR_OK);
    struct plan_answer a = person_ask(&p, "{'op':'anomaly','metric':'resting heart rate'}", &plan);
    T_OK(a.kind == VALUE_NUMBER && a.number == 1);
    T_EQ(a.n_rows, 1);
    T_EQ(a.rows[0].day, MARCH + 7);
    T_OK(a.rows[0].z > 3.5 && a.rows[0].value == 90);
    a = person_ask(&p, "{'op':'distribution','metric':'steps'}", &plan);
    T_OK(a.kind == VALUE_NUMBER && a.number == 16500);
    T_EQ_STR(weir_slice_of(a.rows[0].key), "min");
    size_t n = 0;
    for (size_t i = 7; i < a.n_rows; i++) n += a.rows[i].n;
    T_EQ(n, a.n);
    person_fini(&p);
}

TEST(lists_are_ordered_and_cut)
{
    struct person p;
    struct plan plan;
    person_init(&p);
    struct plan_answer a = person_ask(
        &p, "{'op':'list','metric':'sleep','sort':'value','descending':true,'limit':3}", &plan);
    T_EQ(a.n_rows, 3);
    T_EQ(a.n, 29);
    T_EQ(a.rows[0].day, MARCH + 6);
    T_OK(a.rows[0].value == 460 && a.rows[2].value == 460);
    T_OK(a.n_notes == 1 && strstr(a.notes[0], "3 of 29"));
    a = person_ask(&p, "{'op':'list','metric':'steps','descending':true,'limit':2}", &plan);
    T_EQ(a.rows[0].day, MARCH + 30);
    a = person_ask(&p, "{'op':'list','workouts':'any','sort':'value','newest':5}", &plan);
    T_EQ(a.n_rows, 5);
    T_EQ_STR(weir_slice_of(a.rows[0].key), "run");
    T_EQ_STR(weir_slice_of(a.rows[2].key), "walk");
    T_OK(a.rows[0].value == 40 && a.rows[3].value == 60);
    a = person_ask(&p, "{'op':'extreme','metric':'steps','limit':5}", &plan);
    T_EQ(a.n_rows, 5);
    T_OK(a.number == 31000 && a.rows[4].value == 27000);
    person_fini(&p);
}

TEST(a_reader_is_told_what_was_left_out)
{
    struct person p;
    struct plan plan;
    person_init(&p);
    struct plan_answer a = person_ask(&p, "{'op':'aggregate','metric':'steps'}", &plan);
    T_EQ(a.n_notes, 3);
    T_OK(strstr(a.notes[0], "unfinished") && strstr(a.notes[1], "not worn") &&
         strstr(a.notes[2], "not plausible"));
    T_EQ(a.n, 28);
    T_EQ(a.from, MARCH);
    T_EQ(a.to, MARCH + 30);
    a = person_ask(&p, "{'op':'aggregate','lab':'crp','stat':'last'}", &plan);
    T_OK(a.n_notes == 1 && strstr(a.notes[0], "<0.3 mg/L"));
    T_EQ(a.date, MARCH + 24);
    a = person_ask(&p, "{'op':'extreme','metric':'sleep'}", &plan);
    T_OK(a.n_notes == 1 && strstr(a.notes[0], "earliest"));
    person_fini(&p);
}

TEST(results_in_different_units_are_not_mixed)
{
    struct person p;
    struct plan plan;
    person_init(&p);
    struct lab l = {.label = weir_slice_of("zinc"),
                    .day = MARCH + 28,
                    .value = 12,
                    .comparator = '>',
                    .unit = weir_slice_of("umol/L")};
    T_EQ(dataset_add_lab(p.d, &l), WEIR_OK);
    l.value = NAN;
    l.day++;
    T_EQ(dataset_add_lab(p.d, &l), WEIR_OK);
    struct plan_answer a = person_ask(&p, "{'op':'aggregate','lab':'zinc'}", &plan);
    T_OK(a.kind == VALUE_NONE && strstr(a.reason, "different units, mg/dL and umol/L"));
    a = person_ask(&p, "{'op':'aggregate','lab':'zinc','stat':'last'}", &plan);
    T_OK(a.number == 12 && strcmp(a.unit, "umol/L") == 0);
    T_OK(a.n_notes == 1 && strstr(a.notes[0], "a bound, >"));
    a = person_ask(&p, "{'op':'aggregate','lab':'zinc','stat':'first'}", &plan);
    T_OK(a.number == 80 && strcmp(a.unit, "mg/dL") == 0 && a.n_notes == 0);
    a = person_ask(&p, "{'op':'count','lab':'zinc'}", &plan);
    T_OK(a.number == 2);
    person_fini(&p);
}

TEST(nobody_without_data_gets_a_number)
{
    struct person p;
    struct plan plan;
    person_init(&p);
    struct plan_error error;
    struct plan_answer a;
    struct dataset *empty = dataset_new();
    T_EQ(plan_parse(&plan, person_json(&p, "{'op':'count','metric':'steps'}"), empty, &error),
         WEIR_OK);
    T_EQ(plan_run(&plan, empty, &p.arena, &a), WEIR_OK);
    T_EQ(a.kind, VALUE_NONE);
    T_EQ_STR(weir_slice_of(a.reason), "there are no data yet");
    plan.metric = NULL;
    T_EQ(plan_run(&plan, empty, &p.arena, &a), WEIR_BAD_FIELD);
    dataset_free(empty);
    person_fini(&p);
}

TEST(memory_that_ends_is_a_status)
{
    struct person p;
    struct plan plan;
    person_init(&p);
    person_ask(&p,
               "{'op':'correlate','metric':'steps','with':'weight','method':'kendall','where':"
               "[{'workout':'any','not':true},{'metric':'sleep','cmp':'>','value':1}]}",
               &plan);
    bool is_done = false;
    for (size_t room = 0; room < 40000 && !is_done; room += 64) {
        struct arena small;
        struct plan_answer a;
        arena_init(&small, room);
        enum weir_status st = plan_run(&plan, p.d, &small, &a);
        T_OK(st == WEIR_OK || st == WEIR_LIMIT);
        is_done = st == WEIR_OK;
        arena_fini(&small);
    }
    T_OK(is_done);
    person_fini(&p);
}
