/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A person's data in memory. What is fixed once it is known (series, texts, metrics of their own)
 * lies in an arena; sessions and results lie in lists that grow, and are put in order when they
 * are asked for first.
 *
 * Invariant: a metric has a slot, by its place in the catalogue or behind those for the person's
 * own; a slot is declared when there are values, and holds them once they were asked for.
 */
#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "data/dataset_impl.h"

enum {
    DATASET_BYTES = 1 << 30,     /* most memory of series and texts */
    DATASET_ROWS = 1 << 20,      /* most workouts, sleeps or results, each */
    DATASET_OWN = 1000,          /* most metrics of the person's own */
    DATASET_SOURCES = UINT16_MAX /* numbers of sources have 16 bits, and 0 is nobody */
};

struct slot {
    const struct metric *metric;
    struct series series;
    int32_t first, newest;
    bool is_declared, is_loaded;
};

/* A list that grows by doubling. */
struct rows {
    void *ptr;
    size_t n, cap;
    bool is_ready; /* loaded and in order */
};

struct dataset {
    const struct dataset_loader *loader; /* NULL: all there is was added by hand */
    void *user;
    struct arena arena;
    struct rows slots, workouts, sleeps, labs, sources;
    struct rows metrics; /* of pointers, for dataset_metrics() */
    bool is_indexed;
};

const char *quality_name(enum quality q)
{
    switch (q) {
    case QUALITY_GOOD: return "good";
    case QUALITY_PARTIAL: return "partial";
    case QUALITY_NOT_WORN: return "not_worn";
    case QUALITY_IMPLAUSIBLE: return "implausible";
    }
    return "unknown";
}

/* ---- memory ---- */

static void *rows_push(struct rows *r, size_t size, size_t max)
{
    if (r->n == max) return NULL;
    if (r->n == r->cap) {
        size_t cap = r->cap > 0 ? r->cap * 2 : 16;
        void *ptr = mem_realloc(r->ptr, cap * size);
        if (!ptr) return NULL;
        r->ptr = ptr;
        r->cap = cap;
    }
    return (char *)r->ptr + size * r->n++;
}

/* Why rows_push() had nothing to give. */
static enum weir_status rows_status(const struct rows *r, size_t max)
{
    return r->n == max ? WEIR_LIMIT : WEIR_NOMEM;
}

static enum weir_status keep_text(struct dataset *d, struct weir_slice *text)
{
    if (text->len == 0) {
        *text = (struct weir_slice){0};
        return WEIR_OK;
    }
    char *copy = arena_alloc(&d->arena, text->len + 1);
    if (!copy) return d->arena.status;
    memcpy(copy, text->ptr, text->len);
    copy[text->len] = '\0';
    text->ptr = copy;
    return WEIR_OK;
}

/* ---- life ---- */

static bool add_slot(struct dataset *d, const struct metric *m)
{
    struct slot *s = rows_push(&d->slots, sizeof *s, metric_count() + DATASET_OWN);
    if (!s) return false;
    *s = (struct slot){.metric = m, .first = DAY_NONE, .newest = DAY_NONE};
    return true;
}

struct dataset *dataset_new_with(const struct dataset_loader *loader, void *user)
{
    struct dataset *d = mem_zalloc(sizeof *d);
    if (!d) return NULL;
    arena_init(&d->arena, DATASET_BYTES);
    for (size_t i = 0; i < metric_count(); i++) {
        if (!add_slot(d, metric_at(i))) {
            dataset_free(d);
            return NULL;
        }
    }
    /* Not before it cannot fail any more: until then `user` is the caller's. */
    d->loader = loader;
    d->user = user;
    return d;
}

struct dataset *dataset_new(void)
{
    return dataset_new_with(NULL, NULL);
}

void dataset_free(struct dataset *d)
{
    if (!d) return;
    if (d->loader && d->loader->close) d->loader->close(d->user);
    struct rows *all[] = {&d->slots, &d->workouts, &d->sleeps, &d->labs, &d->sources, &d->metrics};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_free(all[i]->ptr);
    arena_fini(&d->arena);
    mem_free(d);
}

/* ---- metrics ---- */

/* NULL for one that is neither in the catalogue nor of this dataset. */
static struct slot *slot_of(struct dataset *d, const struct metric *m)
{
    struct slot *slots = d->slots.ptr;
    uintptr_t at = (uintptr_t)m, first = (uintptr_t)metric_at(0);
    if (at >= first && at <= (uintptr_t)metric_at(metric_count() - 1))
        return &slots[metric_index(m)];
    for (size_t i = metric_count(); i < d->slots.n; i++)
        if (slots[i].metric == m) return &slots[i];
    return NULL;
}

static char plain(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c == '_' || c == '-' ? ' ' : c;
}

static bool is_same_name(struct weir_slice a, struct weir_slice b)
{
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++)
        if (plain(a.ptr[i]) != plain(b.ptr[i])) return false;
    return true;
}

static const struct metric *find_own(const struct dataset *d, struct weir_slice name)
{
    const struct slot *slots = d->slots.ptr;
    for (size_t i = metric_count(); i < d->slots.n; i++)
        if (is_same_name(weir_slice_of(slots[i].metric->name), name)) return slots[i].metric;
    return NULL;
}

enum weir_status dataset_add_metric(struct dataset *d, struct weir_slice name,
                                    const struct metric **out)
{
    *out = find_own(d, name);
    if (*out) return WEIR_OK;
    if (name.len == 0 || memchr(name.ptr, '\0', name.len)) return WEIR_INVALID;
    struct metric *m = arena_alloc(&d->arena, sizeof *m);
    if (!m) return d->arena.status;
    enum weir_status st = keep_text(d, &name);
    if (st != WEIR_OK) return st;
    /* Nothing is known of it: a mean of its day, in no unit, and any number is plausible. */
    *m = (struct metric){.name = name.ptr,
                         .title = name.ptr,
                         .unit = "",
                         .aliases = "",
                         .group = "own",
                         .min = -INFINITY,
                         .max = INFINITY,
                         .source = ""};
    if (!add_slot(d, m)) return rows_status(&d->slots, metric_count() + DATASET_OWN);
    *out = m;
    return WEIR_OK;
}

static enum weir_status index_once(struct dataset *d)
{
    if (d->is_indexed) return WEIR_OK;
    if (d->loader) {
        enum weir_status st = d->loader->index(d->user, d);
        if (st != WEIR_OK) return st;
    }
    d->is_indexed = true;
    return WEIR_OK;
}

const struct metric *dataset_find_metric(struct dataset *d, struct weir_slice name)
{
    const struct metric *m = metric_find(name);
    /* A store that cannot be read says so when the series is asked for. */
    if (m || index_once(d) != WEIR_OK) return m;
    return find_own(d, name);
}

enum weir_status dataset_declare(struct dataset *d, const struct metric *m, int32_t first,
                                 int32_t newest)
{
    struct slot *s = slot_of(d, m);
    if (!s || first > newest) return WEIR_INVALID;
    if (!s->is_declared || first < s->first) s->first = first;
    if (!s->is_declared || newest > s->newest) s->newest = newest;
    s->is_declared = true;
    return WEIR_OK;
}

static enum weir_status list_metrics(struct dataset *d)
{
    const struct slot *slots = d->slots.ptr;
    d->metrics.n = 0;
    for (size_t i = 0; i < d->slots.n; i++) {
        if (!slots[i].is_declared) continue;
        const struct metric **m = rows_push(&d->metrics, sizeof *m, d->slots.n);
        if (!m) return WEIR_NOMEM;
        *m = slots[i].metric;
    }
    return WEIR_OK;
}

enum weir_status dataset_metrics(struct dataset *d, const struct metric *const **out, size_t *n)
{
    enum weir_status st = index_once(d);
    if (st != WEIR_OK) return st;
    st = list_metrics(d);
    if (st != WEIR_OK) return st;
    *out = d->metrics.ptr;
    *n = d->metrics.n;
    return WEIR_OK;
}

/* ---- series ---- */

static void *copy_array(struct dataset *d, const void *from, size_t size)
{
    void *to = arena_alloc(&d->arena, size);
    if (to && from) memcpy(to, from, size);
    if (to && !from) memset(to, 0, size);
    return to;
}

static bool is_rising(const struct series *s)
{
    for (size_t i = 1; i < s->n; i++)
        if (s->days[i] <= s->days[i - 1]) return false;
    return true;
}

enum weir_status dataset_add_series(struct dataset *d, const struct series *s)
{
    struct slot *slot = slot_of(d, s->metric);
    if (!slot || !is_rising(s)) return WEIR_INVALID;
    if (slot->is_loaded) return WEIR_EXISTS;
    if (s->n == 0) return WEIR_OK;
    struct series copy = {.metric = s->metric,
                          .n = s->n,
                          .days = copy_array(d, s->days, s->n * sizeof *s->days),
                          .values = copy_array(d, s->values, s->n * sizeof *s->values),
                          .quality = copy_array(d, s->quality, s->n * sizeof *s->quality),
                          .sources = copy_array(d, s->sources, s->n * sizeof *s->sources)};
    if (!copy.days || !copy.values || !copy.quality || !copy.sources) return d->arena.status;
    enum weir_status st = dataset_declare(d, s->metric, s->days[0], s->days[s->n - 1]);
    if (st != WEIR_OK) return st;
    slot->series = copy;
    slot->is_loaded = true;
    return WEIR_OK;
}

enum weir_status dataset_series(struct dataset *d, const struct metric *m,
                                const struct series **out)
{
    enum weir_status st = index_once(d);
    if (st != WEIR_OK) return st;
    struct slot *s = slot_of(d, m);
    if (!s || !s->is_declared) return WEIR_NOT_FOUND;
    if (!s->is_loaded) {
        /* Whoever declares it by hand adds it too. */
        CHECK(d->loader);
        st = d->loader->series(d->user, d, m);
        if (st != WEIR_OK) return st;
        s = slot_of(d, m); /* the slots may have moved */
    }
    if (!s->is_loaded) return WEIR_NOT_FOUND;
    *out = &s->series;
    return WEIR_OK;
}

/* ---- sessions and results ---- */

enum weir_status dataset_add_workout(struct dataset *d, const struct workout *w)
{
    struct workout copy = *w;
    enum weir_status st = keep_text(d, &copy.label);
    if (st == WEIR_OK) st = keep_text(d, &copy.source.name);
    if (st != WEIR_OK) return st;
    struct workout *place = rows_push(&d->workouts, sizeof copy, DATASET_ROWS);
    if (!place) return rows_status(&d->workouts, DATASET_ROWS);
    *place = copy;
    return WEIR_OK;
}

enum weir_status dataset_add_sleep(struct dataset *d, const struct sleep *s)
{
    struct sleep copy = *s;
    enum weir_status st = keep_text(d, &copy.source.name);
    if (st != WEIR_OK) return st;
    struct sleep *place = rows_push(&d->sleeps, sizeof copy, DATASET_ROWS);
    if (!place) return rows_status(&d->sleeps, DATASET_ROWS);
    *place = copy;
    return WEIR_OK;
}

enum weir_status dataset_add_lab(struct dataset *d, const struct lab *l)
{
    struct lab copy = *l;
    struct weir_slice *texts[] = {&copy.label, &copy.printed, &copy.unit,
                                  &copy.range, &copy.flag,    &copy.source.name};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        enum weir_status st = keep_text(d, texts[i]);
        if (st != WEIR_OK) return st;
    }
    struct lab *place = rows_push(&d->labs, sizeof copy, DATASET_ROWS);
    if (!place) return rows_status(&d->labs, DATASET_ROWS);
    *place = copy;
    return WEIR_OK;
}

static int compare_texts(struct weir_slice a, struct weir_slice b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Ties are broken by what else there is, so that the order does not depend on that of adding. */
static int compare_workouts(const void *pa, const void *pb)
{
    const struct workout *a = pa, *b = pb;
    if (a->start.at != b->start.at) return a->start.at < b->start.at ? -1 : 1;
    int order = compare_texts(a->label, b->label);
    if (order != 0) return order;
    /* Minutes that are not known go first: NAN alone would make no order. */
    double x = isnan(a->minutes) ? -1 : a->minutes, y = isnan(b->minutes) ? -1 : b->minutes;
    return (x > y) - (x < y);
}

static int compare_sleeps(const void *pa, const void *pb)
{
    const struct sleep *a = pa, *b = pb;
    if (a->start.at != b->start.at) return a->start.at < b->start.at ? -1 : 1;
    return (a->end.at > b->end.at) - (a->end.at < b->end.at);
}

static int compare_labs(const void *pa, const void *pb)
{
    const struct lab *a = pa, *b = pb;
    if (a->day != b->day) return a->day < b->day ? -1 : 1;
    int order = compare_texts(a->label, b->label);
    return order != 0 ? order : compare_texts(a->printed, b->printed);
}

static enum weir_status make_ready(struct dataset *d, struct rows *r, size_t size,
                                   enum weir_status (*load)(void *user, struct dataset *d),
                                   int (*compare)(const void *a, const void *b))
{
    if (r->is_ready) return WEIR_OK;
    enum weir_status st = index_once(d);
    if (st != WEIR_OK) return st;
    if (load) st = load(d->user, d);
    if (st != WEIR_OK) return st;
    if (r->n > 1) qsort(r->ptr, r->n, size, compare);
    r->is_ready = true;
    return WEIR_OK;
}

enum weir_status dataset_workouts(struct dataset *d, const struct workout **out, size_t *n)
{
    enum weir_status st = make_ready(d, &d->workouts, sizeof **out,
                                     d->loader ? d->loader->workouts : NULL, compare_workouts);
    if (st != WEIR_OK) return st;
    *out = d->workouts.ptr;
    *n = d->workouts.n;
    return WEIR_OK;
}

enum weir_status dataset_sleeps(struct dataset *d, const struct sleep **out, size_t *n)
{
    enum weir_status st = make_ready(d, &d->sleeps, sizeof **out,
                                     d->loader ? d->loader->sleeps : NULL, compare_sleeps);
    if (st != WEIR_OK) return st;
    *out = d->sleeps.ptr;
    *n = d->sleeps.n;
    return WEIR_OK;
}

enum weir_status dataset_labs(struct dataset *d, const struct lab **out, size_t *n)
{
    enum weir_status st =
        make_ready(d, &d->labs, sizeof **out, d->loader ? d->loader->labs : NULL, compare_labs);
    if (st != WEIR_OK) return st;
    *out = d->labs.ptr;
    *n = d->labs.n;
    return WEIR_OK;
}

/* ---- the whole ---- */

static void widen(int32_t *first, int32_t *newest, int32_t a, int32_t b)
{
    if (*first == DAY_NONE || a < *first) *first = a;
    if (*newest == DAY_NONE || b > *newest) *newest = b;
}

static enum weir_status span_of_sessions(struct dataset *d, int32_t *first, int32_t *newest)
{
    const struct workout *w;
    const struct lab *l;
    size_t n;
    enum weir_status st = dataset_workouts(d, &w, &n);
    if (st != WEIR_OK) return st;
    for (size_t i = 0; i < n; i++) widen(first, newest, w[i].day, w[i].day);
    if (n > 0) return WEIR_OK;
    st = dataset_labs(d, &l, &n);
    if (st != WEIR_OK) return st;
    for (size_t i = 0; i < n; i++) widen(first, newest, l[i].day, l[i].day);
    return n > 0 ? WEIR_OK : WEIR_NOT_FOUND;
}

enum weir_status dataset_span(struct dataset *d, int32_t *first, int32_t *newest)
{
    *first = *newest = DAY_NONE;
    enum weir_status st = index_once(d);
    if (st != WEIR_OK) return st;
    const struct slot *slots = d->slots.ptr;
    for (size_t i = 0; i < d->slots.n; i++)
        if (slots[i].is_declared) widen(first, newest, slots[i].first, slots[i].newest);
    return *first != DAY_NONE ? WEIR_OK : span_of_sessions(d, first, newest);
}

enum weir_status dataset_add_source(struct dataset *d, const struct source *source, uint16_t *out)
{
    struct source *known = d->sources.ptr;
    for (size_t i = 0; i < d->sources.n; i++) {
        if (known[i].kind != source->kind || !slice_eq(known[i].name, source->name)) continue;
        *out = (uint16_t)(i + 1);
        return WEIR_OK;
    }
    struct source copy = *source;
    enum weir_status st = keep_text(d, &copy.name);
    if (st != WEIR_OK) return st;
    struct source *place = rows_push(&d->sources, sizeof copy, DATASET_SOURCES);
    if (!place) return rows_status(&d->sources, DATASET_SOURCES);
    *place = copy;
    *out = (uint16_t)d->sources.n;
    return WEIR_OK;
}

struct weir_slice dataset_source(struct dataset *d, uint16_t source)
{
    const struct source *known = d->sources.ptr;
    return source > 0 && source <= d->sources.n ? known[source - 1].name : (struct weir_slice){0};
}
