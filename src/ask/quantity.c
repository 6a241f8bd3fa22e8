/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thresholds: a word of comparing, a number, a unit. "over 8 hours", "10k or more", "between 7 and
 * 8 hours", "7 hours 30 minutes", "after 11pm", "an hour".
 */
#include <math.h>

#include "ask/ask_impl.h"

enum {
    HOURS_AT_MOST = 24, /* "slept more than 8": such a number of sleep is of hours */
    YEAR_FROM = 1990,
    YEAR_TO = 2100,
};

struct amount {
    double value;
    const char *unit;
    bool is_clock;
};

static size_t skip_words(const struct parse *p, size_t i)
{
    if (mark_is(p, i, '-') && is_at(p, i + 1, S_NUMBER)) i++; /* "under-7" */
    while (text_in(p, i, "about|roughly|around|approximately|of|the|a total of")) i++;
    return i;
}

static const char *unit_at(const struct parse *p, size_t i, size_t *end)
{
    size_t at = mark_is(p, i, '-') ? i + 1 : i;
    const struct sense *s = sense_at(p, at, S_UNIT);
    if (!s) return NULL;
    /* "10k steps", "500 calories": the unit is the thing itself, which the grammar reads next. */
    bool is_count = strcmp(s->ptr, "floors") == 0 || strcmp(s->ptr, "steps") == 0;
    bool is_thing = is_at(p, at, S_METRIC) && (is_at(p, at, S_FIELD) || is_count);
    *end = is_thing ? i : at + 1;
    return s->ptr;
}

/* "1 hour of deep sleep": the unit is part of a name of the thing. */
static const char *unit_in_name(const struct parse *p, size_t i)
{
    if (!is_at(p, i, S_METRIC)) return NULL;
    struct weir_slice t = p->t->list[i].text;
    if (t.len > 4 && memcmp(t.ptr, "hour", 4) == 0) return "h";
    return t.len > 6 && memcmp(t.ptr, "minute", 6) == 0 ? "min" : NULL;
}

/* "7 hours 30 minutes", "7 h 30", "7:30 hours". */
static void take_minutes(const struct parse *p, struct amount *a, size_t *end)
{
    size_t at = is_at(p, *end, S_AND) ? *end + 1 : *end, behind;
    if (!a->unit || strcmp(a->unit, "h") != 0 || !is_at(p, at, S_NUMBER)) return;
    const char *unit = unit_at(p, at + 1, &behind);
    bool is_minutes = unit && strcmp(unit, "min") == 0;
    if (!is_minutes && at != *end) return;
    if (p->t->list[at].number >= 60) return;
    a->value = a->value * 60 + p->t->list[at].number;
    a->unit = "min";
    *end = is_minutes ? behind : at + 1;
}

static bool amount_at(const struct parse *p, size_t i, struct amount *a, size_t *end)
{
    size_t at = skip_words(p, i);
    *a = (struct amount){0};
    const struct sense *midnight = sense_at(p, at, S_MIDNIGHT);
    if (midnight) {
        *a = (struct amount){midnight->arg, NULL, true};
        *end = at + 1;
        return true;
    }
    if (is_at(p, at, S_CLOCK)) {
        *a = (struct amount){p->t->list[at].number, NULL, true};
        *end = at + 1;
        const char *unit = unit_at(p, at + 1, end);
        if (unit && (strcmp(unit, "h") == 0 || strcmp(unit, "min") == 0)) {
            a->is_clock = false;
            a->unit = "min";
        }
        return true;
    }
    bool is_half = is_at(p, at, S_HALF_AN);
    if (is_half || is_at(p, at, S_A)) {
        a->value = is_half ? 0.5 : 1;
        a->unit = unit_at(p, at + 1, end);
        /* "an hour and a half" is seen rarely enough to be left out. */
        return a->unit != NULL;
    }
    if (!is_at(p, at, S_NUMBER) || p->t->list[at].is_ordinal) return false;
    a->value = p->t->list[at].number;
    *end = at + 1;
    a->unit = unit_at(p, at + 1, end);
    if (!a->unit) a->unit = unit_in_name(p, at + 1);
    take_minutes(p, a, end);
    return true;
}

static enum plan_compare invert(enum plan_compare c)
{
    switch (c) {
    case CMP_GT: return CMP_LE;
    case CMP_GE: return CMP_LT;
    case CMP_LT: return CMP_GE;
    case CMP_LE: return CMP_GT;
    case CMP_EQ: return CMP_NE;
    default: return c;
    }
}

/* The signs < > = and their pairs. */
static bool sign_at(const struct parse *p, size_t i, enum plan_compare *cmp, size_t *end)
{
    static const struct {
        const char *text;
        enum plan_compare cmp;
    } signs[] = {{">=", CMP_GE}, {"<=", CMP_LE}, {">", CMP_GT}, {"<", CMP_LT}, {"=", CMP_EQ}};
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++) {
        if (!text_is(p, i, signs[k].text)) continue;
        *cmp = signs[k].cmp;
        *end = i + 1;
        return true;
    }
    return false;
}

/* "after 11pm", "by midnight": of times of day only. */
static enum plan_compare clock_word_at(const struct parse *p, size_t i, size_t *end)
{
    struct amount a;
    size_t behind;
    bool is_by = text_is(p, i, "by");
    bool is_before = is_at(p, i, S_BEFORE);
    if (!is_by && !is_before && !is_at(p, i, S_AFTER)) return CMP_NONE;
    if (!amount_at(p, i + 1, &a, &behind) || !a.is_clock) return CMP_NONE;
    *end = i + 1;
    return is_by ? CMP_LE : is_before ? CMP_LT : CMP_GT;
}

/* "over", ">=", "minimum 10k", "after 11pm"; CMP_NONE when there is no such word. */
static enum plan_compare plain_word_at(const struct parse *p, size_t i, size_t *end)
{
    enum plan_compare cmp = CMP_NONE;
    const struct sense *s = sense_at(p, i, S_CMP);
    const struct sense *stat = sense_at(p, i, S_STAT);
    if (sign_at(p, i, &cmp, end)) return cmp;
    if (s) {
        *end = i + 1;
        return (enum plan_compare)s->arg;
    }
    bool is_bound =
        stat && (stat->arg == STAT_MIN || stat->arg == STAT_MAX) && is_at(p, i + 1, S_NUMBER);
    if (!is_bound) return clock_word_at(p, i, end);
    *end = i + 1;
    return stat->arg == STAT_MIN ? CMP_GE : CMP_LE;
}

/* The same with a "not" before it. */
static enum plan_compare word_at(const struct parse *p, size_t i, size_t *end)
{
    bool is_not = is_at(p, i, S_NOT) && !is_at(p, i, S_CMP);
    *end = i;
    enum plan_compare cmp = plain_word_at(p, is_not ? i + 1 : i, end);
    return is_not ? invert(cmp) : cmp;
}

static bool between_at(struct parse *p, size_t i, struct quantity *out, size_t *end)
{
    struct amount a, b;
    size_t mid;
    bool is_between = is_at(p, i, S_BETWEEN) || text_is(p, i, "from");
    if (!is_between || !amount_at(p, i + 1, &a, &mid)) return false;
    if (!IS_ANY(p, mid, S_AND, S_TO) && !mark_is(p, mid, '-')) return false;
    if (!amount_at(p, mid + 1, &b, end) || a.is_clock != b.is_clock) return false;
    if (!a.unit) a.unit = b.unit;
    double second = b.value;
    if (a.unit && b.unit && strcmp(a.unit, b.unit) != 0 &&
        !unit_convert(b.unit, a.unit, b.value, &second))
        return false;
    *out = (struct quantity){.cmp = CMP_BETWEEN,
                             .value = a.value,
                             .value2 = second,
                             .unit = a.unit,
                             .is_clock = a.is_clock && b.is_clock,
                             .at = i,
                             .end = *end};
    return true;
}

/* What stands behind: "10k steps or more", "8+ hours". */
static enum plan_compare suffix_at(const struct parse *p, size_t i, size_t *end)
{
    size_t at = i;
    if (mark_is(p, at, '+')) {
        *end = at + 1;
        return CMP_GE;
    }
    /* "10k steps or more", "8 hours of sleep or more": the thing may stand between. */
    if (is_at(p, at, S_OF) || mark_is(p, at, '-')) at++;
    if (is_at(p, at, S_METRIC) && is_at(p, at + 1, S_OR_MORE)) at++;
    const struct sense *s = sense_at(p, at, S_OR_MORE);
    if (!s) return CMP_NONE;
    *end = at + 1;
    return (enum plan_compare)s->arg;
}

/* "over 2025" is a year where nothing is counted; "over 7 days" is a window, or none of ours. */
static bool is_time_span(const struct parse *p, size_t i, const struct amount *a, size_t end)
{
    size_t period = mark_is(p, end, '-') ? end + 1 : end;
    if (a->unit || a->is_clock) return false;
    if (is_at(p, period, S_PERIOD)) return true;
    bool is_year = text_is(p, i, "over") && a->value >= YEAR_FROM && a->value <= YEAR_TO &&
                   p->t->list[end - 1].text.len == 4 && !is_at(p, end, S_METRIC);
    bool counts = has_symbol(p, S_HOW_MANY) || has_symbol(p, S_HOW_OFTEN) ||
                  has_symbol(p, S_SHARE) || has_symbol(p, S_STREAK) ||
                  p->f.counted != COUNT_NOTHING;
    return is_year && !counts;
}

/* What stands behind the number: the words between stay for the grammar to read. */
static void take_suffix(struct parse *p, struct quantity *q, size_t *end)
{
    size_t behind;
    enum plan_compare suffix = suffix_at(p, *end, &behind);
    bool is_same = q->cmp == CMP_NONE || q->cmp == suffix; /* "manage 9k or more" */
    if (suffix == CMP_NONE || !is_same) return;
    q->cmp = suffix;
    q->is_bare = false;
    tokens_use(p, behind - 1, behind);
    if (!mark_is(p, *end, '+')) return;
    *end = behind;
    if (!q->unit) q->unit = unit_at(p, *end, end);
}

bool quantity_at(struct parse *p, size_t i, struct quantity *out, size_t *end)
{
    struct amount a;
    size_t at;
    if (between_at(p, i, out, end)) return true;
    enum plan_compare cmp = word_at(p, i, &at);
    if (!amount_at(p, at, &a, end) || is_time_span(p, i, &a, *end)) return false;
    if (cmp == CMP_NONE && is_at(p, i, S_A)) return false;
    *out = (struct quantity){.cmp = cmp,
                             .value = a.value,
                             .unit = a.unit,
                             .is_clock = a.is_clock,
                             .is_bare = cmp == CMP_NONE,
                             .at = i};
    take_suffix(p, out, end);
    out->end = *end;
    return true;
}

bool quantity_convert(const struct quantity *q, const char *unit, bool is_sleep,
                      struct plan_having *out, bool *took_hours)
{
    *took_hours = false;
    *out = (struct plan_having){.cmp = q->cmp, .value = q->value, .value2 = q->value2};
    if (strcmp(unit, "clock") == 0) {
        /* Times of day go round; whoever runs the plan unrolls them. */
        return q->is_clock;
    }
    if (q->is_clock) return false;
    if (out->cmp == CMP_BETWEEN && out->value > out->value2) {
        double first = out->value2;
        out->value2 = out->value;
        out->value = first;
    }
    const char *from = q->unit;
    if (!from && is_sleep && q->value <= HOURS_AT_MOST) {
        from = "h";
        *took_hours = true;
    }
    if (!from) return true;
    double value2 = 0;
    if (!unit_convert(from, unit, out->value, &out->value)) return false;
    if (out->cmp != CMP_BETWEEN) return true;
    if (!unit_convert(from, unit, out->value2, &value2)) return false;
    out->value2 = value2;
    return true;
}
