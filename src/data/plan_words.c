/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the plan language, each list in the order of its enum, and what a plan is about in
 * words and units. docs/plan.schema.json has the same words; a test compares them.
 */
#include <math.h>
#include <stdio.h>

#include "base/slice.h"
#include "data/plan_impl.h"

plan_words plan_op_words = {"aggregate", "count", "list",      "extreme",      "compare",
                            "change",    "trend", "correlate", "group",        "streak",
                            "rolling",   "find",  "anomaly",   "distribution", NULL};
plan_words plan_field_words = {"sessions", "minutes", "km",   "kcal",  "avg_hr", "max_hr",
                               "steps",    "ascent",  "pace", "speed", NULL};
plan_words plan_stat_words = {"mean", "median",   "sum",   "min",   "max",  "sd", "range",
                              "cv",   "quantile", "count", "first", "last", NULL};
plan_words plan_compare_words = {"", "<", "<=", ">", ">=", "=", "!=", "between", NULL};
plan_words plan_pick_words = {"", "max", "min", "first", "last", NULL};
plan_words plan_streak_words = {"", "longest", "", "", "current", NULL};
plan_words plan_result_words = {"difference", "percent", "ratio", NULL};
plan_words plan_group_words = {"weekday", "weekend", "month", "week", "year", NULL};
plan_words plan_method_words = {"", "ols", "theil_sen", "pearson", "spearman", "kendall", NULL};
plan_words plan_per_words = {"", "day", "week", "month", "year", NULL};
plan_words plan_order_words = {"date", "value", NULL};
plan_words plan_answer_words = {"value", "date", NULL};

int plan_word_find(const char *const *words, struct weir_slice word)
{
    for (int i = 0; words[i]; i++)
        if (word.len > 0 && weir_slice_is(word, words[i])) return i;
    return -1;
}

enum {
#define OP(name) OP_##name = 1U << PLAN_##name
    OP(AGGREGATE),
    OP(COUNT),
    OP(LIST),
    OP(EXTREME),
    OP(COMPARE),
    OP(CHANGE),
    OP(TREND),
    OP(CORRELATE),
    OP(GROUP),
    OP(STREAK),
    OP(ROLLING),
    OP(FIND),
    OP(ANOMALY),
    OP(DISTRIBUTION),
#undef OP
    OPS_ALL = (1U << (PLAN_DISTRIBUTION + 1)) - 1,
    OPS_STAT = OP_AGGREGATE | OP_COMPARE | OP_GROUP | OP_ROLLING,
};

const struct plan_member plan_members[] = {
    {"op", OPS_ALL},
    {"metric", OPS_ALL},
    {"workouts", OPS_ALL},
    {"lab", OPS_ALL},
    {"field", OPS_ALL},
    {"stat", OPS_STAT},
    {"quantile", OPS_STAT},
    {"window", OPS_ALL},
    {"where", OPS_ALL},
    {"newest", OPS_ALL},
    {"having", OP_COUNT | OP_STREAK | OP_FIND},
    {"share", OP_COUNT},
    {"by_day", OP_COUNT},
    {"pick", OP_EXTREME | OP_STREAK | OP_GROUP | OP_ROLLING | OP_FIND},
    {"answer", OP_EXTREME | OP_ROLLING},
    {"rank", OP_EXTREME},
    {"limit", OP_LIST | OP_EXTREME | OP_ANOMALY},
    {"sort", OP_LIST},
    {"descending", OP_LIST},
    {"days", OP_ROLLING},
    {"b", OP_COMPARE},
    {"result", OP_COMPARE | OP_CHANGE},
    {"with", OP_CORRELATE},
    {"lag_days", OP_CORRELATE},
    {"method", OP_TREND | OP_CORRELATE},
    {"per", OP_TREND | OP_AGGREGATE | OP_COUNT},
    {"by", OP_GROUP},
    {"threshold", OP_ANOMALY},
    {"unit", OPS_ALL & ~(uint32_t)(OP_COUNT | OP_STREAK | OP_FIND | OP_CORRELATE)},
    {NULL, 0},
};

plan_words plan_window_members = {"from", "to", "last_days", "skip_days", NULL};
plan_words plan_having_members = {"cmp", "value", "unit", NULL};
plan_words plan_condition_members = {"metric", "workout", "weekdays",   "months", "field", "cmp",
                                     "value",  "unit",    "shift_days", "not",    NULL};
plan_words plan_b_members = {"window", "where", NULL};

/* ---- what it is about ---- */

const char *plan_field_unit(enum plan_field field)
{
    static const char *const units[] = {"sessions", "min",   "km",    "kcal",   "bpm",
                                        "bpm",      "steps", "meter", "min/km", "km/h"};
    return units[field];
}

const char *plan_subject_unit(const struct plan *plan)
{
    switch (plan->subject) {
    case PLAN_OF_METRIC: return plan->metric->unit;
    case PLAN_OF_WORKOUTS: return plan_field_unit(plan->field);
    case PLAN_OF_LAB: return plan->analyte ? plan->analyte->unit : "";
    }
    return "";
}

bool plan_is_clock(const struct plan *plan)
{
    return plan->subject == PLAN_OF_METRIC && plan->metric->daily == DAILY_CIRCULAR;
}

void plan_subject_title(const struct plan *plan, char *out, size_t cap)
{
    static const char *const fields[] = {
        "sessions",           "minutes",       "distance", "energy", "average heart rate",
        "maximum heart rate", "workout steps", "ascent",   "pace",   "speed"};
    const char *kind = plan->activity ? plan->activity->title : "workout";
    if (plan->subject == PLAN_OF_METRIC) snprintf(out, cap, "%s", plan->metric->title);
    else if (plan->subject == PLAN_OF_LAB)
        snprintf(out, cap, "%s", plan->analyte ? plan->analyte->title : plan->lab);
    else if (plan->field == FIELD_SESSIONS) snprintf(out, cap, "%s sessions", kind);
    else snprintf(out, cap, "%s of %s sessions", fields[plan->field], kind);
}

/* ---- units ---- */

/* A laboratory's unit is a line of ours, so that two points give the way back. */
static bool lab_from_ours(const struct analyte *a, const char *unit, double value, double *out)
{
    double zero, one;
    struct weir_slice name = weir_slice_of(unit);
    if (!analyte_convert(a, name, 0, &zero) || !analyte_convert(a, name, 1, &one)) return false;
    *out = (value - zero) / (one - zero);
    return true;
}

static bool convert_value(const struct plan *plan, const char *unit, double value, double *out)
{
    if (plan->subject == PLAN_OF_LAB)
        return plan->analyte && lab_from_ours(plan->analyte, unit, value, out);
    return unit_convert(plan_subject_unit(plan), unit, value, out);
}

bool plan_convert(const struct plan *plan, const char *unit, bool is_difference, double value,
                  double *out)
{
    double zero;
    /* Times of day differ by minutes. */
    if (plan_is_clock(plan)) return is_difference && unit_convert("min", unit, value, out);
    if (!convert_value(plan, unit, value, out)) return false;
    if (!is_difference) return true;
    if (!convert_value(plan, unit, 0, &zero)) return false;
    *out -= zero;
    return true;
}

bool plan_convert_in(const struct plan *plan, struct weir_slice unit, double value, double *out)
{
    char name[32];
    if (plan->subject == PLAN_OF_LAB)
        return plan->analyte && analyte_convert(plan->analyte, unit, value, out);
    if (unit.len == 0 || unit.len >= sizeof name || memchr(unit.ptr, '\0', unit.len)) return false;
    memcpy(name, unit.ptr, unit.len);
    name[unit.len] = '\0';
    return unit_convert(name, plan_subject_unit(plan), value, out);
}
