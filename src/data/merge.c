/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Daily values of samples.
 *
 * Sums: a sweep over time, source by source, the most believed first. What time the sources before
 * have covered counts no more; a sample that lies free counts exactly, one that is covered in part
 * counts by its free share, and one over midnight is shared out between the days. Samples
 * of no length count unless their moment is covered, and cover the same moment alone. Somebody who
 * wears two devices of one class all day is not measured by the second in the pauses of the first:
 * for movement, pauses of up to an hour are covered within the class.
 *
 * All others: of each day the samples of one source, that of the most believed class which has
 * plausible ones, and among its class the one with most of them. A mixture of devices would be
 * nobody's measurement.
 *
 * Days are those of the wall clock at the sample's start; what belongs to sleep, at its end.
 */
#include "data/merge.h"

#include <math.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

enum {
    DAY_MINUTES = 1440,
    PAUSE = 3600,    /* seconds in which somebody who wears a device may not have moved */
    CHANGE_HOUR = 3, /* of the wall clock, by which clocks have been changed */
};

/* ---- order ---- */

int fact_compare(const void *pa, const void *pb)
{
    const struct fact *a = pa, *b = pb;
    if (a->metric != b->metric) return a->metric < b->metric ? -1 : 1;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    if (a->offset != b->offset) return a->offset > b->offset ? -1 : 1;
    return (a->end_offset < b->end_offset) - (a->end_offset > b->end_offset);
}

/* Classes from the most to the least believed. */
static const uint8_t worn_first[] = {SOURCE_WATCH, SOURCE_PHONE,   SOURCE_APP,   SOURCE_SCALE,
                                     SOURCE_LAB,   SOURCE_UNKNOWN, SOURCE_MANUAL};
static const uint8_t sleep_first[] = {SOURCE_WATCH, SOURCE_SCALE,   SOURCE_APP,   SOURCE_PHONE,
                                      SOURCE_LAB,   SOURCE_UNKNOWN, SOURCE_MANUAL};
static const uint8_t instrument_first[] = {SOURCE_LAB,   SOURCE_SCALE,   SOURCE_WATCH, SOURCE_APP,
                                           SOURCE_PHONE, SOURCE_UNKNOWN, SOURCE_MANUAL};
static const uint8_t diary_first[] = {SOURCE_APP,   SOURCE_MANUAL, SOURCE_PHONE,  SOURCE_WATCH,
                                      SOURCE_SCALE, SOURCE_LAB,    SOURCE_UNKNOWN};

static const struct {
    const char *group;
    const uint8_t *order;
} orders[] = {
    {"activity", worn_first},     {"sleep", sleep_first},     {"heart", sleep_first},
    {"vitals", instrument_first}, {"body", instrument_first}, {"food", diary_first},
    {"mind", diary_first},
};

unsigned merge_rank(const struct metric *m, enum source_class kind)
{
    const uint8_t *order = worn_first;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcmp(orders[i].group, m->group) == 0) order = orders[i].order;
    unsigned rank = 0;
    while (rank < sizeof worn_first - 1 && order[rank] != kind) rank++;
    return rank;
}

/* ---- samples by source ---- */

/* The samples of each source in order, sources from the most to the least believed. */
struct by_source {
    uint32_t *index;   /* into the facts */
    uint16_t *sources; /* those that have samples, in order of belief */
    size_t *ends;      /* of each one's part of the index */
    size_t n;
};

static void by_source_fini(struct by_source *b)
{
    mem_free(b->index);
    mem_free(b->sources);
    mem_free(b->ends);
}

/* Puts those that have samples in order: by belief, then by number. Few: by insertion. */
static void order_sources(struct by_source *b, const struct merge_input *in, const size_t *counts)
{
    for (size_t s = 0; s < in->n_sources; s++) {
        if (counts[s] == 0) continue;
        unsigned rank = merge_rank(in->metric, in->kinds[s]);
        size_t at = b->n++;
        for (; at > 0 && merge_rank(in->metric, in->kinds[b->sources[at - 1]]) > rank; at--)
            b->sources[at] = b->sources[at - 1];
        b->sources[at] = (uint16_t)s;
    }
}

static enum weir_status by_source_init(struct by_source *b, const struct merge_input *in)
{
    *b = (struct by_source){0};
    enum weir_status st = WEIR_NOMEM;
    size_t *places = mem_zalloc((in->n_sources + 1) * sizeof *places);
    b->index = mem_alloc(in->n * sizeof *b->index + 1);
    b->sources = mem_alloc(in->n_sources * sizeof *b->sources + 1);
    b->ends = mem_alloc(in->n_sources * sizeof *b->ends + 1);
    if (!places || !b->index || !b->sources || !b->ends) goto out;
    for (size_t i = 0; i < in->n; i++) {
        CHECK(in->facts[i].source < in->n_sources);
        places[in->facts[i].source]++;
    }
    order_sources(b, in, places);
    size_t end = 0;
    for (size_t i = 0; i < b->n; i++) {
        size_t count = places[b->sources[i]];
        places[b->sources[i]] = end;
        b->ends[i] = end += count;
    }
    for (size_t i = 0; i < in->n; i++) b->index[places[in->facts[i].source]++] = (uint32_t)i;
    st = WEIR_OK;
out:
    if (st != WEIR_OK) by_source_fini(b);
    mem_free(places);
    return st;
}

static int64_t floor_day(int64_t wall)
{
    return wall / DAY_SECONDS - (wall % DAY_SECONDS < 0 ? 1 : 0);
}

/* ---- sums ---- */

struct span {
    int64_t from, to;
};

struct spans {
    struct span *ptr;
    size_t n;
};

struct day_sum {
    double sum, current, most; /* of all; of the source just added; of the best source so far */
    uint16_t source;
    bool has_value, has_current;
};

struct sweep {
    const struct merge_input *in;
    struct spans covered, next; /* time that is taken, apart and rising; and room for the next */
    struct spans points, next_points;
    struct spans peers, next_peers; /* what sources of the same class have taken */
    struct spans wide;              /* what counts as taken for the next of that class */
    bool has_peers;                 /* there is a class with several sources */
    struct day_sum days[MERGE_DAYS];
};

/* When a day begins for a sample. Where the clocks were changed while it lasted, the midnights of
 * one that begins at night are those of its end: clocks are changed in the early morning. */
static int64_t day_begin(const struct fact *f, int64_t day)
{
    int32_t offset = f->offset;
    if (f->offset != f->end_offset) {
        int64_t wall = f->at + f->offset, first = floor_day(wall);
        bool is_night = wall - first * DAY_SECONDS < CHANGE_HOUR * 3600;
        if (day > first && is_night) offset = f->end_offset;
    }
    return day * DAY_SECONDS - offset;
}

static int64_t day_at(const struct fact *f, int64_t at)
{
    int64_t day = floor_day(at + f->offset);
    if (f->offset == f->end_offset) return day;
    if (at < day_begin(f, day)) return day - 1;
    return at >= day_begin(f, day + 1) ? day + 1 : day;
}

/* A piece of a sample's time counts for the days that it lies in. */
static void count_piece(struct sweep *w, const struct fact *f, int64_t from, int64_t to)
{
    bool is_whole = from == f->at && to == f->at + f->seconds;
    int64_t day = day_at(f, from), last = to > from ? day_at(f, to - 1) : day;
    if (day < w->in->from) day = w->in->from;
    for (; day <= last && day <= w->in->to; day++) {
        int64_t begin = day_begin(f, day), end = day_begin(f, day + 1);
        struct day_sum *d = &w->days[day - w->in->from];
        d->has_current = true;
        if (is_whole && from >= begin && to <= end) {
            d->current += f->value;
            continue;
        }
        int64_t a = from > begin ? from : begin, b = to < end ? to : end;
        d->current += f->value * ((double)(b - a) / (double)f->seconds);
    }
}

/* `c` is the first span taken that may touch the sample, or any behind it. */
static void count_free(struct sweep *w, const struct fact *f, const struct spans *taken, size_t c)
{
    int64_t at = f->at, end = f->at + f->seconds;
    for (; c < taken->n && taken->ptr[c].from < end; c++) {
        if (taken->ptr[c].from > at) count_piece(w, f, at, taken->ptr[c].from);
        at = taken->ptr[c].to;
    }
    if (at < end) count_piece(w, f, at, end);
}

static void count_point(struct sweep *w, const struct fact *f, const struct spans *taken, size_t c,
                        size_t p)
{
    if (c < taken->n && taken->ptr[c].from <= f->at) return;
    if (p < w->points.n && w->points.ptr[p].from == f->at) return;
    count_piece(w, f, f->at, f->at);
}

static void push_span(struct spans *s, int64_t from, int64_t to)
{
    struct span *last = s->n > 0 ? &s->ptr[s->n - 1] : NULL;
    if (last && from <= last->to) {
        if (to > last->to) last->to = to;
        return;
    }
    s->ptr[s->n++] = (struct span){from, to};
}

/* The union of some spans and the source's own samples, both rising by their start. */
static void unite_spans(struct sweep *w, const struct spans *old, struct spans *out,
                        const uint32_t *index, size_t n, bool of_points)
{
    size_t c = 0;
    out->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct fact *f = &w->in->facts[index[i]];
        if ((f->seconds == 0) != of_points) continue;
        for (; c < old->n && old->ptr[c].from <= f->at; c++)
            push_span(out, old->ptr[c].from, old->ptr[c].to);
        push_span(out, f->at, f->at + f->seconds);
    }
    for (; c < old->n; c++) push_span(out, old->ptr[c].from, old->ptr[c].to);
}

static void swap_spans(struct spans *a, struct spans *b)
{
    struct spans old = *a;
    *a = *b;
    *b = old;
}

static void cover(struct sweep *w, const uint32_t *index, size_t n)
{
    unite_spans(w, &w->covered, &w->next, index, n, false);
    swap_spans(&w->covered, &w->next);
    unite_spans(w, &w->points, &w->next_points, index, n, true);
    swap_spans(&w->points, &w->next_points);
    if (!w->has_peers) return;
    unite_spans(w, &w->peers, &w->next_peers, index, n, false);
    swap_spans(&w->peers, &w->next_peers);
}

/* All that is taken, and the pauses of sources of the same class. */
static void widen(struct sweep *w)
{
    size_t p = 0;
    w->wide.n = 0;
    for (size_t c = 0; c < w->covered.n; c++) {
        push_span(&w->wide, w->covered.ptr[c].from, w->covered.ptr[c].to);
        while (p < w->peers.n && w->peers.ptr[p].to <= w->covered.ptr[c].to) p++;
        /* What a class has taken is covered, so each of its spans ends in one of those. */
        bool has_pause = p > 0 && p < w->peers.n && c + 1 < w->covered.n;
        if (!has_pause || w->peers.ptr[p].from - w->peers.ptr[p - 1].to > PAUSE) continue;
        push_span(&w->wide, w->covered.ptr[c].to, w->covered.ptr[c + 1].from);
    }
}

/* The same source and interval with several values: the larger counts, which stands last. */
static bool is_outdone(const struct merge_input *in, const uint32_t *index, size_t i, size_t n)
{
    if (i + 1 == n) return false;
    const struct fact *f = &in->facts[index[i]], *next = &in->facts[index[i + 1]];
    return f->at == next->at && f->seconds == next->seconds;
}

static void add_source(struct sweep *w, uint16_t source, const uint32_t *index, size_t n)
{
    const struct spans *taken = &w->covered;
    if (w->peers.n > 0) {
        widen(w);
        taken = &w->wide;
    }
    size_t c = 0, p = 0;
    for (size_t i = 0; i < n; i++) {
        const struct fact *f = &w->in->facts[index[i]];
        while (c < taken->n && taken->ptr[c].to <= f->at) c++;
        while (p < w->points.n && w->points.ptr[p].from < f->at) p++;
        if (is_outdone(w->in, index, i, n)) continue;
        if (f->seconds > 0) count_free(w, f, taken, c);
        else count_point(w, f, taken, c, p);
    }
    for (size_t i = 0; i < MERGE_DAYS; i++) {
        struct day_sum *d = &w->days[i];
        if (!d->has_current) continue;
        if (!d->has_value || d->current > d->most) {
            d->most = d->current;
            d->source = source;
        }
        d->has_value = true;
        d->sum += d->current;
        d->current = 0;
        d->has_current = false;
    }
    cover(w, index, n);
}

enum { N_SPANS = 7 };

static void spans_of(struct sweep *w, struct spans *out[N_SPANS])
{
    struct spans *all[N_SPANS] = {&w->covered, &w->next,       &w->points, &w->next_points,
                                  &w->peers,   &w->next_peers, &w->wide};
    memcpy(out, all, sizeof all);
}

static unsigned rank_at(const struct merge_input *in, const struct by_source *b, size_t i)
{
    return merge_rank(in->metric, in->kinds[b->sources[i]]);
}

static enum weir_status sweep_init(struct sweep *w, const struct merge_input *in,
                                   const struct by_source *b)
{
    *w = (struct sweep){.in = in};
    for (size_t i = 1; i < b->n; i++)
        if (rank_at(in, b, i) == rank_at(in, b, i - 1)) w->has_peers = true;
    if (strcmp(in->metric->group, "activity") != 0) w->has_peers = false;
    struct spans *all[N_SPANS];
    spans_of(w, all);
    for (size_t i = 0; i < (w->has_peers ? N_SPANS : 4); i++) {
        all[i]->ptr = mem_alloc(in->n * sizeof *all[i]->ptr + 1);
        if (!all[i]->ptr) return WEIR_NOMEM;
    }
    return WEIR_OK;
}

static void sweep_fini(struct sweep *w)
{
    struct spans *all[N_SPANS];
    spans_of(w, all);
    for (size_t i = 0; i < N_SPANS; i++) mem_free(all[i]->ptr);
}

static enum weir_status merge_sums(const struct merge_input *in, const struct by_source *b,
                                   struct merged_day *out, size_t *n)
{
    struct sweep w;
    enum weir_status st = sweep_init(&w, in, b);
    if (st != WEIR_OK) goto out;
    size_t at = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (i > 0 && rank_at(in, b, i) != rank_at(in, b, i - 1)) w.peers.n = 0;
        add_source(&w, b->sources[i], b->index + at, b->ends[i] - at);
        at = b->ends[i];
    }
    for (int32_t day = in->from; day <= in->to; day++) {
        const struct day_sum *d = &w.days[day - in->from];
        if (d->has_value) out[(*n)++] = (struct merged_day){d->sum, day, d->source};
    }
out:
    sweep_fini(&w);
    return st;
}

/* ---- one source's samples ---- */

struct day_pick {
    size_t best, current; /* plausible samples: of the source picked, and of the one looked at */
    unsigned rank;
    uint16_t source;
    bool has_source, has_current;
    size_t n; /* taken */
    double sum, min, max, last, sine, cosine;
};

struct picks {
    const struct merge_input *in;
    bool is_sleep, is_circular;
    struct day_pick days[MERGE_DAYS];
};

/* NULL for a day that was not asked for. */
static struct day_pick *pick_of(struct picks *p, const struct fact *f)
{
    int64_t wall = p->is_sleep ? f->at + f->seconds + f->end_offset : f->at + f->offset;
    int64_t day = floor_day(wall);
    return day < p->in->from || day > p->in->to ? NULL : &p->days[day - p->in->from];
}

/* Sources come in order of belief: a later one wins only by being plausible, or in its class. */
static void pick_source(struct day_pick *d, uint16_t source, unsigned rank)
{
    bool is_better = !d->has_source || (d->best == 0 && d->current > 0) ||
                     (rank == d->rank && d->current > d->best);
    if (is_better) {
        d->source = source;
        d->rank = rank;
        d->best = d->current;
        d->has_source = true;
    }
    d->current = 0;
    d->has_current = false;
}

static void pick_sources(struct picks *p, const struct by_source *b)
{
    const struct merge_input *in = p->in;
    size_t at = 0;
    for (size_t i = 0; i < b->n; i++) {
        for (; at < b->ends[i]; at++) {
            const struct fact *f = &in->facts[b->index[at]];
            struct day_pick *d = pick_of(p, f);
            if (!d) continue;
            d->has_current = true;
            if (merge_is_plausible(in->metric, f->value)) d->current++;
        }
        unsigned rank = merge_rank(in->metric, in->kinds[b->sources[i]]);
        for (size_t k = 0; k < MERGE_DAYS; k++)
            if (p->days[k].has_current) pick_source(&p->days[k], b->sources[i], rank);
    }
}

static void take(struct day_pick *d, double value, bool is_circular)
{
    if (d->n == 0 || value < d->min) d->min = value;
    if (d->n == 0 || value > d->max) d->max = value;
    d->sum += value;
    d->last = value;
    if (is_circular) {
        d->sine += sin(value * (2 * M_PI / DAY_MINUTES));
        d->cosine += cos(value * (2 * M_PI / DAY_MINUTES));
    }
    d->n++;
}

static double picked_value(const struct day_pick *d, enum daily_rule rule)
{
    switch (rule) {
    case DAILY_LAST: return d->last;
    case DAILY_MIN: return d->min;
    case DAILY_MAX: return d->max;
    case DAILY_CIRCULAR: break;
    case DAILY_SUM: return d->sum;
    case DAILY_MEAN: return d->sum / (double)d->n;
    }
    if (d->n == 1) return d->last;
    double minutes = atan2(d->sine, d->cosine) * (DAY_MINUTES / (2 * M_PI));
    return minutes < 0 ? minutes + DAY_MINUTES : minutes;
}

static void merge_picks(const struct merge_input *in, const struct by_source *b,
                        struct merged_day *out, size_t *n)
{
    struct picks p = {.in = in,
                      .is_sleep = strcmp(in->metric->group, "sleep") == 0,
                      .is_circular = in->metric->daily == DAILY_CIRCULAR};
    pick_sources(&p, b);
    for (size_t i = 0; i < in->n; i++) {
        const struct fact *f = &in->facts[i];
        struct day_pick *d = pick_of(&p, f);
        if (!d || f->source != d->source) continue;
        take(d, f->value, p.is_circular);
    }
    for (int32_t day = in->from; day <= in->to; day++) {
        const struct day_pick *d = &p.days[day - in->from];
        if (d->n == 0) continue;
        double value = picked_value(d, in->metric->daily);
        out[(*n)++] = (struct merged_day){value, day, d->source};
    }
}

static enum weir_status merge(const struct merge_input *in, struct merged_day *out, size_t *n)
{
    *n = 0;
    struct by_source b;
    enum weir_status st = by_source_init(&b, in);
    if (st != WEIR_OK) return st;
    bool is_sum = in->metric->daily == DAILY_SUM && strcmp(in->metric->group, "sleep") != 0;
    if (is_sum) st = merge_sums(in, &b, out, n);
    else merge_picks(in, &b, out, n);
    by_source_fini(&b);
    return st;
}

/* The plausible samples, in memory of their own; none when all are. */
static enum weir_status plausible_of(const struct merge_input *in, struct fact **out, size_t *n)
{
    size_t n_wrong = 0;
    *out = NULL;
    *n = 0;
    for (size_t i = 0; i < in->n; i++)
        n_wrong += !merge_is_plausible(in->metric, in->facts[i].value);
    if (n_wrong == 0) return WEIR_OK;
    *out = mem_alloc((in->n - n_wrong) * sizeof **out + 1);
    if (!*out) return WEIR_NOMEM;
    for (size_t i = 0; i < in->n; i++)
        if (merge_is_plausible(in->metric, in->facts[i].value)) (*out)[(*n)++] = in->facts[i];
    return WEIR_OK;
}

/* The days of `more` that are not in `out`, too, in order. */
static void add_days(struct merged_day *out, size_t *n, const struct merged_day *more,
                     size_t n_more)
{
    for (size_t i = 0; i < n_more; i++) {
        size_t at = *n;
        while (at > 0 && out[at - 1].day > more[i].day) at--;
        if (at > 0 && out[at - 1].day == more[i].day) continue;
        memmove(out + at + 1, out + at, (*n - at) * sizeof *out);
        out[at] = more[i];
        (*n)++;
    }
}

enum weir_status merge_days(const struct merge_input *in, struct merged_day *out, size_t *n)
{
    CHECK(in->to - in->from < MERGE_DAYS);
    struct merge_input good = *in;
    struct fact *facts;
    enum weir_status st = plausible_of(in, &facts, &good.n);
    if (st != WEIR_OK) return st;
    if (!facts) return merge(in, out, n);
    /* An error of entry does not count beside what is possible; alone it is shown as one. */
    struct merged_day all[MERGE_DAYS];
    size_t n_all;
    good.facts = facts;
    st = merge(&good, out, n);
    if (st == WEIR_OK) st = merge(in, all, &n_all);
    if (st == WEIR_OK) add_days(out, n, all, n_all);
    mem_free(facts);
    return st;
}
