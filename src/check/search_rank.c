/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which findings of a search are worth a person's time: what they can change that goes before what
 * they care about comes first; what only says that two devices measure the same comes last.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/search_impl.h"

enum { ANOMALY_FOLD_DAYS = 2 };

static bool lists(const char *names, struct weir_slice name)
{
    size_t at = 0;
    if (!names) return false;
    for (struct weir_slice s = alias_next(names, &at); s.len > 0; s = alias_next(names, &at))
        if (s.len == name.len && memcmp(s.ptr, name.ptr, s.len) == 0) return true;
    return false;
}

bool metrics_share(const struct metric *a, const struct metric *b)
{
    size_t at = 0;
    if (a == b || lists(a->of, weir_slice_of(b->name)) || lists(b->of, weir_slice_of(a->name)))
        return true;
    if (!a->of) return false;
    for (struct weir_slice s = alias_next(a->of, &at); s.len > 0; s = alias_next(a->of, &at))
        if (lists(b->of, s)) return true;
    return false;
}

bool search_is_lever(const struct metric *m)
{
    if (m->relation == METRIC_SCORE_OF) return false;
    bool is_deed = strcmp(m->group, "activity") == 0 || strcmp(m->group, "food") == 0 ||
                   strcmp(m->group, "own") == 0;
    bool is_practice = strcmp(m->group, "mind") == 0 && m->daily == DAILY_SUM;
    return is_deed || is_practice || m->daily == DAILY_CIRCULAR;
}

/* Two of one group are often two views of one thing, but for what people do and note down. */
static bool are_two_views(const struct metric *x, const struct metric *y)
{
    return strcmp(x->group, y->group) == 0 && strcmp(x->group, "own") != 0 &&
           strcmp(x->group, "food") != 0 && strcmp(x->group, "mind") != 0;
}

static double usefulness_of_pair(const struct search_work *w, const struct search_test *t)
{
    const struct metric *x = w->input->rows[t->x].metric, *y = w->input->rows[t->y].metric;
    if (t->lag == 0 && are_two_views(x, y)) return 0.3;
    const struct metric *earlier = t->lag >= 0 ? x : y, *later = t->lag >= 0 ? y : x;
    if (t->lag == 0 && search_is_lever(y)) earlier = y, later = x;
    if (!search_is_lever(earlier)) return search_is_lever(later) ? 0.5 : 0.6;
    return search_is_lever(later) ? 0.7 : 1;
}

double search_usefulness(const struct search_work *w, const struct search_test *t)
{
    static const double usual[N_SEARCH_KINDS] = {[SEARCH_TREND] = 0.8,
                                                 [SEARCH_WEEKDAY] = 0.6,
                                                 [SEARCH_CHANGE] = 0.8,
                                                 [SEARCH_ANOMALY] = 0.3};
    if (t->kind == SEARCH_PAIR) return usefulness_of_pair(w, t);
    /* Nobody can do much with what is neither better nor worse, or long ago. */
    bool has_side = w->input->rows[t->x].metric->better != BETTER_UNKNOWN;
    bool is_old = t->kind == SEARCH_ANOMALY && t->day < w->cut;
    return usual[t->kind] * (has_side ? 1 : 0.8) * (is_old ? 0.5 : 1);
}

/* As a correlation: a difference of d standard deviations between halves has d / sqrt(d² + 4). */
double search_strength(enum search_kind kind, double size)
{
    return kind == SEARCH_PAIR ? fabs(size) : fabs(size) / sqrt(size * size + 4);
}

static bool is_about_level(const struct search_test *t)
{
    return t->kind == SEARCH_TREND || t->kind == SEARCH_CHANGE;
}

bool search_says_the_same(const struct search_work *w, const struct search_test *a,
                          const struct search_test *b)
{
    uint8_t ax = w->twin[a->x], bx = w->twin[b->x], ay = w->twin[a->y], by = w->twin[b->y];
    if (a->kind == SEARCH_ANOMALY && b->kind == SEARCH_ANOMALY)
        return abs(a->day - b->day) <= ANOMALY_FOLD_DAYS;
    if (a->kind == SEARCH_PAIR && b->kind == SEARCH_PAIR)
        return (ax == bx && ay == by) || (ax == by && ay == bx);
    return ax == bx && (a->kind == b->kind || (is_about_level(a) && is_about_level(b))) &&
           a->kind != SEARCH_PAIR;
}
