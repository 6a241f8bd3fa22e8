/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thresholds: a word of comparing, a number, a unit. "over 8 hours", "10k or more", "between 7 and
 * 8 hours", "7 hours 30 minutes", "after 11pm", "an hour".
 */
#include <math.h>

#include "ask/ask_impl.h"

enum {
    HOURS_AT_MOST = 24, /* "slept more than 8": such a number of sleep is of hours */
};

struct amount {
    double value;
    const char *unit;
    bool is_clock;
};

static size_t skip_words(const struct parse *p, size_t i)
{
    if (mark_is(p, i, '-') && is_at(p, i + 1, S_NUMBER)) i++; /* "under-7" */
    while (text_is(p, i, "about") || text_is(p, i, "roughly") || text_is(p, i, "around") ||
           text_is(p, i, "approximately") || text_is(p, i, "of") || text_is(p, i, "the") ||
           text_is(p, i, "a total of"))
        i++;
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

/* "over", "not more than", "after" (a time of day); CMP_NONE when there is no such word. */
static enum plan_compare word_at(const struct parse *p, size_t i, size_t *end)
{
    enum plan_compare cmp = CMP_NONE;
    bool is_not = is_at(p, i, S_NOT) && !is_at(p, i, S_CMP);
    size_t at = is_not ? i + 1 : i;
    *end = i;
    if (sign_at(p, at, &cmp, end)) return is_not ? invert(cmp) : cmp;
    const struct sense *s = sense_at(p, at, S_CMP);
    if (s) {
        *end = at + 1;
        cmp = (enum plan_compare)s->arg;
        /* "at or above", "over or equal to" are phrases; "more than or exactly" is not English. */
        return is_not ? invert(cmp) : cmp;
    }
    /* "minimum 10k steps" */
    const struct sense *stat = sense_at(p, at, S_STAT);
    bool is_bound =
        stat && (stat->arg == STAT_MIN || stat->arg == STAT_MAX) && is_at(p, at + 1, S_NUMBER);
    if (is_bound) {
        *end = at + 1;
        return stat->arg == STAT_MIN ? CMP_GE : CMP_LE;
    }
    struct amount a;
    size_t behind;
    bool is_before = is_at(p, at, S_BEFORE) || text_is(p, at, "by");
    bool is_after = is_at(p, at, S_AFTER);
    if ((is_before || is_after) && amount_at(p, at + 1, &a, &behind) && a.is_clock) {
        *end = at + 1;
        cmp = is_before ? (text_is(p, at, "by") ? CMP_LE : CMP_LT) : CMP_GT;
        return is_not ? invert(cmp) : cmp;
    }
    return CMP_NONE;
}

static bool between_at(struct parse *p, size_t i, struct quantity *out, size_t *end)
{
    struct amount a, b;
    size_t mid;
    bool is_between = is_at(p, i, S_BETWEEN) || text_is(p, i, "from");
    if (!is_between || !amount_at(p, i + 1, &a, &mid)) return false;
    if (!is_at(p, mid, S_AND) && !is_at(p, mid, S_TO) && !mark_is(p, mid, '-')) return false;
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

bool quantity_at(struct parse *p, size_t i, struct quantity *out, size_t *end)
{
    struct amount a;
    size_t at, behind;
    if (between_at(p, i, out, end)) return true;
    enum plan_compare cmp = word_at(p, i, &at);
    if (!amount_at(p, at, &a, end)) return false;
    /* "over 7 days" is a window, or none of ours. */
    size_t period = mark_is(p, *end, '-') ? *end + 1 : *end;
    if (!a.unit && !a.is_clock && is_at(p, period, S_PERIOD)) return false;
    bool is_plain_article = cmp == CMP_NONE && is_at(p, i, S_A);
    if (is_plain_article) return false;
    enum plan_compare suffix = cmp == CMP_NONE ? suffix_at(p, *end, &behind) : CMP_NONE;
    *out = (struct quantity){.cmp = cmp,
                             .value = a.value,
                             .unit = a.unit,
                             .is_clock = a.is_clock,
                             .is_bare = cmp == CMP_NONE && suffix == CMP_NONE,
                             .at = i,
                             .end = *end};
    if (suffix == CMP_NONE) return true;
    /* The words between number and suffix stay for the grammar to read. */
    out->cmp = suffix;
    tokens_use(p, behind - 1, behind);
    if (mark_is(p, *end, '+')) {
        *end = behind;
        if (!out->unit) out->unit = unit_at(p, *end, end);
    }
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
