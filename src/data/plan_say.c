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

static void put_span(struct weir_buf *out, int32_t from, int32_t to)
{
    put_day(out, from);
    if (to == from) return;
    weir_buf_append_str(out, " to ");
    put_day(out, to);
}

/* Times of day are early and late, all else is low and high. */
static const char *end_title(const struct plan *p, bool is_low)
{
    if (plan_is_clock(p)) return is_low ? "Earliest" : "Latest";
    return is_low ? "Lowest" : "Highest";
}

static void put_stat(struct weir_buf *out, const struct plan *p)
{
    static const char *const titles[] = {
        "Mean",     "Median",       "Total", "",          "",      "Standard deviation of",
        "Range of", "Variation of", "",      "Number of", "First", "Latest"};
    if (p->stat == STAT_MIN || p->stat == STAT_MAX)
        weir_buf_append_str(out, end_title(p, p->stat == STAT_MIN));
    else if (p->stat == STAT_QUANTILE) weir_buf_printf(out, "%g%% quantile of", p->quantile * 100);
    else if (p->stat == STAT_LAST && plan_is_clock(p)) weir_buf_append_str(out, "Newest");
    else weir_buf_append_str(out, titles[p->stat]);
}

static void put_rank(struct weir_buf *out, const struct plan *p)
{
    weir_buf_append_str(out, end_title(p, p->pick == PICK_MIN));
    if (p->rank > 1) weir_buf_printf(out, " but %u", (unsigned)p->rank - 1);
}

static void put_op(struct weir_buf *out, const struct plan *p)
{
    static const char *const titles[] = {
        "", "", "List of", "", "Difference in",   "Change of", "Trend of", "Correlation of",
        "", "", "",        "", "Unusual days of", "Spread of"};
    switch (p->op) {
    case PLAN_AGGREGATE:
    case PLAN_GROUP: put_stat(out, p); return;
    case PLAN_EXTREME: put_rank(out, p); return;
    case PLAN_COUNT: weir_buf_append_str(out, p->as_share ? "Share of" : "Number of"); return;
    case PLAN_STREAK:
        weir_buf_append_str(out, p->pick == PICK_LAST ? "Current streak of" : "Longest streak of");
        return;
    case PLAN_FIND:
        weir_buf_append_str(out, p->pick == PICK_LAST ? "Last day of" : "First day of");
        return;
    case PLAN_ROLLING:
        weir_buf_printf(out, "%u-day moving %s of", (unsigned)p->days, plan_stat_words[p->stat]);
        return;
    default: weir_buf_append_str(out, titles[p->op]); return;
    }
}

static void put_amount(struct weir_buf *out, const struct plan *p, double value)
{
    int minutes = (int)lround(value) % (24 * 60);
    if (plan_is_clock(p)) weir_buf_printf(out, "%02d:%02d", minutes / 60, minutes % 60);
    else put_number(out, value);
}

static void put_having(struct weir_buf *out, const struct plan *p)
{
    bool has_one = p->op == PLAN_COUNT || p->op == PLAN_STREAK || p->op == PLAN_FIND;
    if (!has_one || p->having.cmp == CMP_NONE) return;
    weir_buf_printf(out, " %s ", plan_compare_words[p->having.cmp]);
    put_amount(out, p, p->having.value);
    if (p->having.cmp != CMP_BETWEEN) return;
    weir_buf_append_str(out, " and ");
    put_amount(out, p, p->having.value2);
}

static void put_lag(struct weir_buf *out, int lag)
{
    int days = lag < 0 ? -lag : lag;
    if (days == 0) return;
    weir_buf_printf(out, " %d day%s %s", days, days == 1 ? "" : "s", lag < 0 ? "earlier" : "later");
}

static void put_head(struct weir_buf *out, const struct plan *p, const struct plan_answer *a)
{
    char title[96];
    plan_subject_title(p, title, sizeof title);
    bool is_of_days = p->subject == PLAN_OF_METRIC && (p->op == PLAN_COUNT || p->op == PLAN_STREAK);
    put_op(out, p);
    weir_buf_printf(out, " %s%s", is_of_days ? "days with " : "", title);
    put_having(out, p);
    if (p->op == PLAN_CORRELATE) weir_buf_printf(out, " with %s", p->with->title);
    if (p->op == PLAN_CORRELATE) put_lag(out, p->lag);
    if (p->op == PLAN_GROUP) weir_buf_printf(out, " by %s", plan_group_words[p->group]);
    if (p->where.n > 0)
        weir_buf_printf(out, ", under %zu condition%s", p->where.n, p->where.n == 1 ? "" : "s");
    if (a->from == DAY_NONE) return;
    weir_buf_append_str(out, ", ");
    put_span(out, a->from, a->to);
    bool has_other = a->from_b != DAY_NONE && (a->from_b != a->from || a->to_b != a->to);
    if (!has_other) return;
    weir_buf_append_str(out, " against ");
    put_span(out, a->from_b, a->to_b);
}

static bool is_of_sessions(const struct plan *p)
{
    return p->subject == PLAN_OF_WORKOUTS && p->field == FIELD_SESSIONS;
}

static void put_value(struct weir_buf *out, const struct plan *p, const struct plan_answer *a)
{
    if (a->kind == VALUE_TEXT) {
        weir_buf_append_str(out, a->text);
    } else if (a->kind == VALUE_DATE) {
        put_day(out, a->date);
        if (a->n_rows == 0 || isnan(a->rows[0].value) || is_of_sessions(p)) return;
        weir_buf_append_str(out, " with ");
        put_amount(out, p, a->rows[0].value);
    } else if (a->clock) {
        weir_buf_append_str(out, a->clock);
    } else if (p->op == PLAN_CORRELATE) {
        weir_buf_printf(out, "%s = ", a->unit);
        put_number(out, a->number);
    } else {
        put_number(out, a->number);
        if (a->unit[0]) weir_buf_printf(out, "%s%s", a->unit[0] == '%' ? "" : " ", a->unit);
    }
}

void plan_say(struct weir_buf *out, const struct plan *plan, const struct plan_answer *a)
{
    static const char *const counted[] = {"day", "session", "result"};
    bool is_count = plan->op == PLAN_COUNT || plan->op == PLAN_ANOMALY;
    if (a->kind == VALUE_NONE) {
        weir_buf_printf(out, "No answer: %s", a->reason);
        return;
    }
    put_head(out, plan, a);
    weir_buf_append_str(out, ": ");
    put_value(out, plan, a);
    if (a->kind == VALUE_NUMBER && a->date != DAY_NONE && plan->op != PLAN_CHANGE) {
        weir_buf_append_str(out, plan->op == PLAN_STREAK ? " from " : " on ");
        put_day(out, a->date);
    }
    weir_buf_printf(out, " (%s%zu %s%s)", is_count ? "of " : "", a->n, counted[plan->subject],
                    a->n == 1 ? "" : "s");
}
