/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims and numbers for people. Numbers are rounded as one would say them, never so far that they
 * leave their entry; dates are written out, for "last month" is another one tomorrow.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/finding.h"

enum { DAY_MINUTES = 24 * 60, DIGITS = 64 };

/* ---- numbers ---- */

/* A claim keeps a digit more than an answer does, for answers are held against it. */
static int decimals_of(double size)
{
    if (size >= 1000) return 0;
    if (size >= 10) return 1;
    if (size >= 0.1) return 2;
    return size >= 0.01 ? 3 : 5;
}

void digits_put(struct weir_buf *out, double x, int decimals)
{
    char digits[DIGITS];
    double size = fabs(x);
    if (size >= 1e15 || !isfinite(x)) {
        weir_buf_printf(out, "%g", x);
        return;
    }
    int n = snprintf(digits, sizeof digits, "%.*f", decimals, size);
    while (strchr(digits, '.') && digits[n - 1] == '0') digits[--n] = '\0';
    if (digits[n - 1] == '.') digits[--n] = '\0';
    size_t whole = strcspn(digits, ".");
    if (x < 0 && strcmp(digits, "0") != 0) weir_buf_append_char(out, '-');
    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0) weir_buf_append_char(out, ',');
        weir_buf_append_char(out, digits[i]);
    }
    weir_buf_append_str(out, digits + whole);
}

void clock_put(struct weir_buf *out, double minutes)
{
    int all = (int)lround(fmod(minutes, DAY_MINUTES));
    all = (all % DAY_MINUTES + DAY_MINUTES) % DAY_MINUTES;
    weir_buf_printf(out, "%02d:%02d", all / 60, all % 60);
}

void amount_put(struct weir_buf *out, double value, const char *unit)
{
    if (strcmp(unit, "clock") == 0) {
        clock_put(out, value);
        return;
    }
    digits_put(out, value, decimals_of(fabs(value)));
    bool is_bare = unit[0] == '\0' || strcmp(unit, "r") == 0 || strcmp(unit, "tau") == 0 ||
                   strcmp(unit, "ratio") == 0;
    if (is_bare) return;
    bool is_one = value == 1 && (strcmp(unit, "days") == 0 || strcmp(unit, "sessions") == 0 ||
                                 strcmp(unit, "results") == 0);
    const char *spelling = strcmp(unit, "degC") == 0   ? "°C"
                           : strcmp(unit, "degF") == 0 ? "°F"
                                                       : unit;
    weir_buf_printf(out, "%s%.*s", unit[0] == '%' ? "" : " ", (int)(strlen(spelling) - is_one),
                    spelling);
}

void span_put(struct weir_buf *out, int32_t from, int32_t to)
{
    char a[DAY_TEXT_BYTES], b[DAY_TEXT_BYTES];
    day_format(a, from);
    day_format(b, to);
    if (from == to) weir_buf_printf(out, "on %s", a);
    else weir_buf_printf(out, "from %s to %s", a, b);
}

void subject_put(struct weir_buf *out, const struct plan *plan)
{
    char title[PLAN_TITLE_BYTES];
    plan_subject_title(plan, title, sizeof title);
    weir_buf_append_str(out, title);
}

struct weir_slice text_cut(struct weir_slice text, size_t most)
{
    while (text.len > 0 && text.ptr[text.len - 1] == ' ') text.len--;
    if (text.len <= most) return text;
    text.len = most;
    while (text.len > 0 && text.ptr[text.len - 1] != ' ') text.len--;
    while (text.len > 0 && strchr(" ,;:", text.ptr[text.len - 1])) text.len--;
    return text;
}

/* ---- claims ---- */

static double number_of(const struct claim *c, const char *name)
{
    const struct entry *e = entry_find(c, name);
    return e ? e->value : NAN;
}

/* "higher", and of times of day "later". */
static const char *more_word(const struct plan *plan, bool is_higher)
{
    if (plan_is_clock(plan)) return is_higher ? "later " : "earlier ";
    return is_higher ? "higher " : "lower ";
}

/* "weekends", "weekdays", "Saturdays", "other days" */
static void put_weekdays(struct weir_buf *out, const struct plan_where *where)
{
    uint32_t set = where->n == 1 ? where->conditions[0].set : 0;
    unsigned day = 0;
    while (day < 7 && set != 1u << day) day++;
    if (set == 0x60) weir_buf_append_str(out, "weekends");
    else if (set == 0x1F) weir_buf_append_str(out, "weekdays");
    else if (day < 7) weir_buf_printf(out, "%ss", day_weekday_name(day));
    else weir_buf_append_str(out, "other days");
}

static void put_windows(struct weir_buf *out, const struct claim *c)
{
    const struct plan_answer *a = c->answer;
    bool has_groups = a->from == a->from_b && a->to == a->to_b;
    weir_buf_append_str(out, more_word(c->plan, number_of(c, "diff") > 0));
    subject_put(out, c->plan);
    if (c->kind == CLAIM_WEEKDAYS) {
        weir_buf_append_str(out, " on ");
        put_weekdays(out, &c->plan->where);
        weir_buf_append_str(out, " than on ");
        put_weekdays(out, &c->plan->where_b);
        weir_buf_append_str(out, ", ");
    } else {
        weir_buf_append_str(out, has_groups ? " on the one kind of days than on the other, " : " ");
    }
    span_put(out, a->from, a->to);
    if (has_groups) return;
    weir_buf_append_str(out, " than ");
    span_put(out, a->from_b, a->to_b);
}

static void put_pair(struct weir_buf *out, const struct claim *c)
{
    int lag = c->lag < 0 ? -c->lag : c->lag;
    subject_put(out, c->plan);
    weir_buf_printf(out, " and %s%s", c->plan->with->title, lag > 0 ? " " : "");
    if (lag > 0) amount_put(out, lag, "days");
    if (lag > 0) weir_buf_append_str(out, c->lag < 0 ? " earlier" : " later");
    weir_buf_append_str(out, number_of(c, "r") < 0 ? " go opposite ways, " : " go together, ");
    span_put(out, c->from, c->to);
    if (c->n_tests > 0) weir_buf_append_str(out, ", week and drift taken out");
}

static void put_trend(struct weir_buf *out, const struct claim *c)
{
    bool is_falling = number_of(c, "slope") < 0;
    if (plan_is_clock(c->plan)) weir_buf_append_str(out, more_word(c->plan, !is_falling));
    else weir_buf_append_str(out, is_falling ? "a fall in " : "a rise in ");
    subject_put(out, c->plan);
    weir_buf_append_str(out, plan_is_clock(c->plan) ? " with time, " : " ");
    span_put(out, c->from, c->to);
}

static void put_anomaly(struct weir_buf *out, const struct claim *c)
{
    char day[DAY_TEXT_BYTES];
    day_format(day, c->days.from + (int32_t)c->days.index);
    weir_buf_append_str(out, "a day that stands out: ");
    subject_put(out, c->plan);
    weir_buf_printf(out, " on %s", day);
}

static void put_claim(struct weir_buf *out, const struct claim *c)
{
    switch (c->kind) {
    case CLAIM_TREND: put_trend(out, c); return;
    case CLAIM_WINDOWS:
    case CLAIM_WEEKDAYS: put_windows(out, c); return;
    case CLAIM_PAIR: put_pair(out, c); return;
    case CLAIM_ANOMALY: put_anomaly(out, c); return;
    case CLAIM_LEVEL:
        weir_buf_append_str(out, c->plan->stat == STAT_MEDIAN ? "median " : "average ");
        subject_put(out, c->plan);
        break;
    default:
        if (c->plan->op == PLAN_COMPARE) weir_buf_append_str(out, "both sides of a comparison: ");
        subject_put(out, c->plan);
        break;
    }
    if (c->from == DAY_NONE) return;
    weir_buf_append_char(out, ' ');
    span_put(out, c->from, c->to);
}

const char *claim_words(const struct claim *claim, struct arena *arena)
{
    struct weir_buf text;
    weir_buf_init(&text, 1 << 12);
    put_claim(&text, claim);
    weir_buf_append_char(&text, '\0');
    char *kept = weir_buf_status(&text) == WEIR_OK ? arena_alloc(arena, text.len) : NULL;
    if (kept) memcpy(kept, text.ptr, text.len);
    weir_buf_fini(&text);
    return kept;
}
