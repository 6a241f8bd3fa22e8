/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps from stages, and the values of a night.
 *
 * Stages of a source that follow one another within GAP are one sleep. Where stages of a source
 * overlap, the one that says most counts: deep, REM and light before awake, that before "asleep",
 * that before "in bed". Minutes are those that passed, whatever the clocks did. A sleep begins and
 * ends with its stages that are more than "in bed"; a source that knows no more than that says
 * when somebody was in bed, and nothing of sleep.
 */
#include "data/night.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

enum {
    GAP = 90 * 60,     /* seconds without any stage that still are one sleep */
    NAP_MINUTES = 180, /* a nap has at most so many, */
    NAP_FROM = 9 * 60, /* does not begin before nine in the morning */
    NAP_TO = 21 * 60,  /* and is over by nine in the evening */
    DAY_MINUTES = 1440,
    N_STAGES = STAGE_REM + 1,
};

static const char *const metric_names[NIGHT_N_VALUES] = {
    [NIGHT_ASLEEP] = "sleep_minutes",
    [NIGHT_DEEP] = "deep_sleep_minutes",
    [NIGHT_REM] = "rem_sleep_minutes",
    [NIGHT_LIGHT] = "light_sleep_minutes",
    [NIGHT_AWAKE] = "awake_minutes",
    [NIGHT_IN_BED] = "time_in_bed",
    [NIGHT_BEDTIME] = "bedtime",
    [NIGHT_WAKE] = "wake_time",
    [NIGHT_EFFICIENCY] = "sleep_efficiency",
    [NIGHT_LATENCY] = "sleep_latency",
    [NIGHT_NAP] = "nap_minutes",
};

static uint16_t metric_numbers[NIGHT_N_VALUES];
static pthread_once_t numbers_once = PTHREAD_ONCE_INIT;

static void look_up_metrics(void)
{
    for (size_t i = 0; i < NIGHT_N_VALUES; i++) {
        const struct metric *m = metric_find(weir_slice_of(metric_names[i]));
        CHECK(m);
        metric_numbers[i] = (uint16_t)metric_index(m);
    }
}

const uint16_t *night_metrics(void)
{
    CHECK(pthread_once(&numbers_once, look_up_metrics) == 0);
    return metric_numbers;
}

bool night_is_metric(uint16_t metric)
{
    const uint16_t *all = night_metrics();
    for (size_t i = 0; i < NIGHT_N_VALUES; i++)
        if (all[i] == metric) return true;
    return false;
}

int sleep_compare(const void *pa, const void *pb)
{
    const struct sleep_row *a = pa, *b = pb;
    if (a->sleep.day != b->sleep.day) return a->sleep.day < b->sleep.day ? -1 : 1;
    if (a->sleep.start.at != b->sleep.start.at)
        return a->sleep.start.at < b->sleep.start.at ? -1 : 1;
    if (a->sleep.end.at != b->sleep.end.at) return a->sleep.end.at < b->sleep.end.at ? -1 : 1;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    return (int)a->is_assembled - (int)b->is_assembled;
}

/* ---- from stages ---- */

static int minute_of_day(struct moment m)
{
    int64_t wall = m.at + m.offset;
    int64_t second = wall % DAY_SECONDS;
    return (int)((second < 0 ? second + DAY_SECONDS : second) / 60);
}

/* A time of day with seconds, for values. */
static double clock_minutes(struct moment m)
{
    int64_t second = (m.at + m.offset) % DAY_SECONDS;
    return (double)(second < 0 ? second + DAY_SECONDS : second) / 60;
}

bool night_is_nap(const struct sleep *s)
{
    double minutes = isnan(s->asleep) ? (double)(s->end.at - s->start.at) / 60 : s->asleep;
    int from = minute_of_day(s->start), to = minute_of_day(s->end);
    return minutes <= NAP_MINUTES && from >= NAP_FROM && to <= NAP_TO && from <= to;
}

/* Where a stage begins or ends. */
struct edge {
    int64_t at;
    int8_t stage, change;
};

static int compare_edges(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;
    return (a->at > b->at) - (a->at < b->at);
}

/* The stage that counts while so many of each are on; -1: none. */
static int strongest(const int open[N_STAGES])
{
    static const int8_t order[] = {STAGE_DEEP,  STAGE_REM,    STAGE_LIGHT,
                                   STAGE_AWAKE, STAGE_ASLEEP, STAGE_IN_BED};
    for (size_t i = 0; i < sizeof order; i++)
        if (open[order[i]] > 0) return order[i];
    return -1;
}

/* Seconds of each stage, by a sweep over where they begin and end. */
static enum weir_status measure(const struct fact *stages, const uint32_t *index, size_t n,
                                int64_t seconds[N_STAGES])
{
    struct edge *edges = mem_alloc(2 * n * sizeof *edges + 1);
    if (!edges) return WEIR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct fact *f = &stages[index[i]];
        int8_t stage = (int8_t)f->value;
        edges[2 * i] = (struct edge){f->at, stage, 1};
        edges[2 * i + 1] = (struct edge){f->at + f->seconds, stage, -1};
    }
    qsort(edges, 2 * n, sizeof *edges, compare_edges);
    int open[N_STAGES] = {0};
    for (size_t i = 0; i < 2 * n; i++) {
        int stage = strongest(open);
        if (stage >= 0) seconds[stage] += edges[i].at - edges[i - 1].at;
        open[edges[i].stage] += edges[i].change;
    }
    mem_free(edges);
    return WEIR_OK;
}

static double known_minutes(int64_t seconds, bool is_known)
{
    return is_known ? (double)seconds / 60 : NAN;
}

/* The ends of all stages, or of those alone that are more than "in bed". */
static void find_ends(const struct fact *stages, const uint32_t *index, size_t n, bool with_bed,
                      struct sleep *s)
{
    bool is_first = true;
    for (size_t i = 0; i < n; i++) {
        const struct fact *f = &stages[index[i]];
        if (!with_bed && f->value == STAGE_IN_BED) continue;
        int64_t end = f->at + f->seconds;
        if (is_first) s->start = (struct moment){f->at, f->offset};
        if (is_first || end > s->end.at) s->end = (struct moment){end, f->end_offset};
        is_first = false;
    }
}

/* One sleep of all its stages. */
static enum weir_status make_sleep(const struct fact *stages, const uint32_t *index, size_t n,
                                   struct sleep_row *out)
{
    int64_t seconds[N_STAGES] = {0};
    enum weir_status st = measure(stages, index, n, seconds);
    if (st != WEIR_OK) return st;
    bool has_detail = seconds[STAGE_DEEP] + seconds[STAGE_REM] + seconds[STAGE_LIGHT] > 0;
    bool has_sleep = has_detail || seconds[STAGE_ASLEEP] > 0;
    bool has_more = has_sleep || seconds[STAGE_AWAKE] > 0;
    struct sleep s = {0}, bed = {0};
    find_ends(stages, index, n, !has_more, &s);
    find_ends(stages, index, n, true, &bed);
    s.day = day_of_moment(s.end.at, s.end.offset);
    s.asleep = known_minutes(seconds[STAGE_DEEP] + seconds[STAGE_REM] + seconds[STAGE_LIGHT] +
                                 seconds[STAGE_ASLEEP],
                             has_sleep);
    s.in_bed = (double)(bed.end.at - bed.start.at) / 60;
    s.awake = known_minutes(seconds[STAGE_AWAKE], has_detail || seconds[STAGE_AWAKE] > 0);
    s.deep = known_minutes(seconds[STAGE_DEEP], has_detail);
    s.rem = known_minutes(seconds[STAGE_REM], has_detail);
    s.light = known_minutes(seconds[STAGE_LIGHT], has_detail);
    s.efficiency = has_sleep && s.in_bed > 0 ? s.asleep / s.in_bed * 100 : NAN;
    s.latency = NAN;
    s.is_nap = night_is_nap(&s);
    *out = (struct sleep_row){.sleep = s, .source = stages[index[0]].source, .is_assembled = true};
    return WEIR_OK;
}

/* The stages of one source, in order: cut where nothing is for long. */
static enum weir_status assemble_source(const struct fact *stages, const uint32_t *index, size_t n,
                                        int32_t from, int32_t to, struct rows *out)
{
    for (size_t i = 0, end; i < n; i = end) {
        int64_t until = stages[index[i]].at + stages[index[i]].seconds;
        for (end = i + 1; end < n && stages[index[end]].at <= until + GAP; end++) {
            int64_t stop = stages[index[end]].at + stages[index[end]].seconds;
            if (stop > until) until = stop;
        }
        struct sleep_row row;
        enum weir_status st = make_sleep(stages, index + i, end - i, &row);
        if (st != WEIR_OK) return st;
        if (row.sleep.day < from || row.sleep.day > to) continue;
        struct sleep_row *place = rows_push(out, sizeof *place);
        if (!place) return WEIR_NOMEM;
        *place = row;
    }
    return WEIR_OK;
}

enum weir_status night_assemble(const struct fact *stages, size_t n, int32_t from, int32_t to,
                                struct rows *out)
{
    uint32_t *index = mem_alloc(n * sizeof *index + 1);
    if (!index) return WEIR_NOMEM;
    enum weir_status st = WEIR_OK;
    /* Source by source: there are few. */
    for (size_t left = n, source = 0; left > 0 && st == WEIR_OK; source++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            if (stages[i].source == source) index[count++] = (uint32_t)i;
        left -= count;
        if (count > 0) st = assemble_source(stages, index, count, from, to, out);
    }
    mem_free(index);
    return st;
}

/* ---- which count ---- */

/* What a source knows of a day: a night, then its parts, then sleep at all. */
static unsigned detail_of(const struct sleep_row *rows, size_t n, uint16_t source)
{
    unsigned best = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sleep *s = &rows[i].sleep;
        if (rows[i].source != source) continue;
        unsigned detail = !isnan(s->deep) || !isnan(s->rem) ? 3 : !isnan(s->asleep) ? 2 : 1;
        if (detail > 1 && !s->is_nap) detail += 3;
        if (detail > best) best = detail;
    }
    return best;
}

static unsigned rank_of(enum source_class kind)
{
    static const struct metric sleep = {.group = "sleep"};
    return merge_rank(&sleep, kind);
}

static uint16_t best_source(const struct sleep_row *rows, size_t n, const enum source_class *kinds)
{
    uint16_t best = rows[0].source;
    unsigned best_detail = detail_of(rows, n, best);
    for (size_t i = 1; i < n; i++) {
        uint16_t source = rows[i].source;
        if (source == best) continue;
        unsigned detail = detail_of(rows, n, source);
        unsigned rank = rank_of(kinds[source]), best_rank = rank_of(kinds[best]);
        bool is_better = detail != best_detail ? detail > best_detail
                         : rank != best_rank   ? rank < best_rank
                                               : source < best;
        if (!is_better) continue;
        best = source;
        best_detail = detail;
    }
    return best;
}

static double length_of(const struct sleep_row *row)
{
    return (double)(row->sleep.end.at - row->sleep.start.at);
}

/* The same sleep twice, by its time: more than half of the shorter one lies in the other. */
static bool is_same_sleep(const struct sleep_row *a, const struct sleep_row *b)
{
    int64_t from = a->sleep.start.at > b->sleep.start.at ? a->sleep.start.at : b->sleep.start.at;
    int64_t to = a->sleep.end.at < b->sleep.end.at ? a->sleep.end.at : b->sleep.end.at;
    double shorter = length_of(a) < length_of(b) ? length_of(a) : length_of(b);
    return (double)(to - from) * 2 > shorter;
}

/* What a file gave as a whole before what we put together, then the longer, then the first. */
static bool is_preferred(const struct sleep_row *a, const struct sleep_row *b)
{
    if (a->is_assembled != b->is_assembled) return !a->is_assembled;
    if (length_of(a) != length_of(b)) return length_of(a) > length_of(b);
    return sleep_compare(a, b) < 0;
}

size_t night_choose(struct sleep_row *rows, size_t n, const enum source_class *kinds)
{
    if (n == 0) return 0;
    uint16_t source = best_source(rows, n, kinds);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].source != source) continue;
        struct sleep_row row = rows[i];
        size_t k = 0;
        while (k < kept && !is_same_sleep(&rows[k], &row)) k++;
        if (k == kept) rows[kept++] = row;
        else if (is_preferred(&row, &rows[k])) rows[k] = row;
    }
    qsort(rows, kept, sizeof *rows, sleep_compare);
    return kept;
}

static void add_known(double *sum, double value)
{
    if (!isnan(value)) *sum = isnan(*sum) ? value : *sum + value;
}

void night_values(const struct sleep_row *rows, size_t n, double out[NIGHT_N_VALUES])
{
    const struct sleep *main = NULL;
    for (int i = 0; i < NIGHT_N_VALUES; i++) out[i] = NAN;
    for (size_t i = 0; i < n; i++) {
        const struct sleep *s = &rows[i].sleep;
        if (s->is_nap) {
            add_known(&out[NIGHT_NAP], s->asleep);
            continue;
        }
        add_known(&out[NIGHT_ASLEEP], s->asleep);
        add_known(&out[NIGHT_DEEP], s->deep);
        add_known(&out[NIGHT_REM], s->rem);
        add_known(&out[NIGHT_LIGHT], s->light);
        add_known(&out[NIGHT_AWAKE], s->awake);
        add_known(&out[NIGHT_IN_BED], s->in_bed);
        if (!main || s->end.at - s->start.at > main->end.at - main->start.at) main = s;
    }
    if (!main) return;
    out[NIGHT_LATENCY] = main->latency;
    out[NIGHT_EFFICIENCY] = main->efficiency;
    if (isnan(main->efficiency) && main->in_bed > 0)
        out[NIGHT_EFFICIENCY] = main->asleep / main->in_bed * 100;
    /* When somebody who is known to be in bed fell asleep is not known. */
    if (isnan(main->asleep)) return;
    out[NIGHT_BEDTIME] = clock_minutes(main->start);
    out[NIGHT_WAKE] = clock_minutes(main->end);
}
