/* SPDX-License-Identifier: Apache-2.0 */
/* An answer as a sentence for people. Programs read plan_put_answer(). */
#include <math.h>
#include <stdio.h>

#include "data/plan_impl.h"

/* "12,345", "7.26", "0.042": as many digits as a reader wants. */
static void put_number(struct weir_buf *out, double x)
{
    char digits[64];
    double size = fabs(x);
    if (size >= 1e15 || !isfinite(x)) {
        weir_buf_printf(out, "%g", x);
        return;
    }
    int decimals = size == floor(size) || size >= 1000 ? 0 : size >= 100 ? 1 : size >= 0.1 ? 2 : 4;
    snprintf(digits, sizeof digits, "%.*f", decimals, size);
    size_t whole = strcspn(digits, ".");
    if (x < 0) weir_buf_append_char(out, '-');
    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0) weir_buf_append_char(out, ',');
        weir_buf_append_char(out, digits[i]);
    }
    weir_buf_append_str(out, digits + whole);
}

static void put_day(struct weir_buf *out, int32_t day)
{
    char text[DAY_TEXT_BYTES];
    day_format(text, day);
    weir_buf_append_str(out, text);
}

static const char *stat_title(const struct plan *p)
{
    static const char *const titles[] = {"Mean",        "Median",       "Total",    "Lowest",
                                         "Highest",     "Deviation of", "Range of", "Variation of",
                                         "Quantile of", "Number of",    "First",    "Latest"};
    return titles[p->stat];
}

static const char *op_title(const struct plan *p)
{
    switch (p->op) {
    case PLAN_AGGREGATE: return stat_title(p);
    case PLAN_COUNT: return p->as_share ? "Share of" : "Number of";
    case PLAN_LIST: return "List of";
    case PLAN_EXTREME: return p->pick == PICK_MIN ? "Lowest" : "Highest";
    case PLAN_COMPARE: return "Difference in";
    case PLAN_CHANGE: return "Change of";
    case PLAN_TREND: return "Trend of";
    case PLAN_CORRELATE: return "Correlation of";
    case PLAN_GROUP: return stat_title(p);
    case PLAN_STREAK: return p->pick == PICK_LAST ? "Current streak of" : "Longest streak of";
    case PLAN_ROLLING: return "Moving value of";
    case PLAN_FIND: return p->pick == PICK_LAST ? "Last day of" : "First day of";
    case PLAN_ANOMALY: return "Unusual days of";
    case PLAN_DISTRIBUTION: return "Spread of";
    }
    return "";
}

static void put_head(struct weir_buf *out, const struct plan *p, const struct plan_answer *a)
{
    char title[96];
    plan_subject_title(p, title, sizeof title);
    bool counts_days = p->op == PLAN_COUNT && p->subject == PLAN_OF_METRIC;
    weir_buf_printf(out, "%s %s%s", op_title(p), counts_days ? "days of " : "", title);
    if (p->op == PLAN_CORRELATE) weir_buf_printf(out, " with %s", p->with->title);
    if (p->op == PLAN_GROUP) weir_buf_printf(out, " by %s", plan_group_words[p->group]);
    if (a->from == DAY_NONE) return;
    weir_buf_append_str(out, ", ");
    put_day(out, a->from);
    if (a->to == a->from) return;
    weir_buf_append_str(out, " to ");
    put_day(out, a->to);
}

static void put_value(struct weir_buf *out, const struct plan_answer *a)
{
    if (a->kind == VALUE_TEXT) {
        weir_buf_append_str(out, a->text);
    } else if (a->kind == VALUE_DATE) {
        put_day(out, a->date);
    } else if (a->clock) {
        weir_buf_append_str(out, a->clock);
    } else {
        put_number(out, a->number);
        if (a->unit[0]) weir_buf_printf(out, "%s%s", a->unit[0] == '%' ? "" : " ", a->unit);
    }
}

void plan_say(struct weir_buf *out, const struct plan *plan, const struct plan_answer *a)
{
    static const char *const counted[] = {"day", "session", "result"};
    if (a->kind == VALUE_NONE) {
        weir_buf_printf(out, "No answer: %s", a->reason);
        return;
    }
    put_head(out, plan, a);
    weir_buf_append_str(out, ": ");
    put_value(out, a);
    if (a->kind == VALUE_NUMBER && a->date != DAY_NONE) {
        weir_buf_append_str(out, plan->op == PLAN_STREAK ? " from " : " on ");
        put_day(out, a->date);
    }
    weir_buf_printf(out, " (%zu %s%s)", a->n, counted[plan->subject], a->n == 1 ? "" : "s");
}
