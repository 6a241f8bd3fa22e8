/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dataset from a person's documents in a store: each is read when it is asked for first.
 *
 * How far a day's value may be trusted is decided here, from what is known of its source by now:
 * so a later export makes whole the day on which an earlier one was cut off, without a word of
 * the series being written anew. docs/data.md has the rules for people.
 */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "data/dataset_impl.h"
#include "data/facts_impl.h"
#include "data/night.h"

struct loader {
    struct store *store;
    struct facts *facts; /* knows the sources and the index; nothing is ever put into it */
};

static void loader_close(void *user)
{
    struct loader *l = user;
    facts_close(l->facts);
    mem_free(l);
}

/* ---- the index ---- */

static const char own_prefix[] = "own:";

static bool is_own(struct weir_slice name)
{
    return name.len > sizeof own_prefix - 1 &&
           memcmp(name.ptr, own_prefix, sizeof own_prefix - 1) == 0;
}

/* NULL: a metric that this weir does not know (*st is WEIR_OK), or no memory. */
static const struct metric *metric_of(struct dataset *d, struct weir_slice name,
                                      enum weir_status *st)
{
    *st = WEIR_OK;
    if (!is_own(name)) return metric_find(name);
    const struct metric *m = NULL;
    *st = dataset_add_metric(d, slice_from(name, sizeof own_prefix - 1), &m);
    return m;
}

static enum weir_status load_index(void *user, struct dataset *d)
{
    const struct loader *l = user;
    const struct index_row *rows = l->facts->index.ptr;
    for (size_t i = 0; i < l->facts->index.n; i++) {
        enum weir_status st;
        const struct metric *m = metric_of(d, rows[i].name, &st);
        if (m) st = dataset_declare(d, m, rows[i].first, rows[i].newest);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* ---- quality ---- */

static bool is_worn(const struct known_source *s, int32_t day)
{
    const struct day_run *runs = s->worn.ptr;
    size_t low = 0, n = s->worn.n;
    while (n > 0) {
        size_t half = n / 2;
        if (runs[low + half].to < day) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low < s->worn.n && runs[low].from <= day;
}

/* Whether a part of a day is less than the day. A night that is over is over. */
static bool grows_with_day(const struct metric *m)
{
    bool is_extreme = m->daily == DAILY_MIN || m->daily == DAILY_MAX;
    return (m->daily == DAILY_SUM || is_extreme) && strcmp(m->group, "sleep") != 0;
}

/*
 * Whether the newest export of a source was made on that day, by the clock of whoever was where.
 * What came later came in another file, which had the whole of that day, too.
 */
static bool is_cut_off(const struct known_source *s, int32_t day)
{
    if (s->cutoff.at == INT64_MIN) return false;
    int32_t cutoff = day_of_moment(s->cutoff.at, s->cutoff.offset);
    if (day < cutoff || day > cutoff + 1) return false;
    const struct day_run *runs = s->worn.ptr;
    return s->worn.n == 0 || runs[s->worn.n - 1].to <= day;
}

/* A device that lies in a drawer counts nothing, and what it computes from nothing goes on. */
static bool is_from_drawer(const struct metric *m, const struct known_source *s,
                           const struct day_row *row)
{
    if (m->daily != DAILY_SUM || strcmp(m->group, "activity") != 0 || is_worn(s, row->day))
        return false;
    return row->value == 0 || (m->better != BETTER_MORE && s->worn.n > 0);
}

static enum quality quality_of(const struct metric *m, const struct known_source *s,
                               const struct day_row *row)
{
    if (!merge_is_plausible(m, row->value)) return QUALITY_IMPLAUSIBLE;
    if (row->is_partial || (grows_with_day(m) && is_cut_off(s, row->day))) return QUALITY_PARTIAL;
    return is_from_drawer(m, s, row) ? QUALITY_NOT_WORN : QUALITY_GOOD;
}

/* ---- series ---- */

/* A series on its way, with the sources of its document as we and the dataset number them. */
struct loading {
    uint16_t numbers[DOC_MAX_SOURCES], shown[DOC_MAX_SOURCES];
    size_t n_sources, n;
    int32_t *days;
    double *values;
    uint16_t *sources;
    uint8_t *quality;
};

static enum weir_status read_series(const struct loader *l, struct dataset *d,
                                    const struct metric *m, struct weir_slice body,
                                    struct loading *g)
{
    struct unpack u = unpack_begin(body);
    enum weir_status st = facts_read_sources(l->facts, &u, g->numbers, &g->n_sources);
    for (size_t i = 0; i < g->n_sources && st == WEIR_OK; i++)
        st = dataset_add_source(d, &l->facts->known[g->numbers[i]]->source, &g->shown[i]);
    if (st != WEIR_OK) return st;
    g->n = unpack_count(&u);
    g->days = mem_alloc(g->n * sizeof *g->days + 1);
    g->values = mem_alloc(g->n * sizeof *g->values + 1);
    g->sources = mem_alloc(g->n * sizeof *g->sources + 1);
    g->quality = mem_alloc(g->n + 1);
    if (!g->days || !g->values || !g->sources || !g->quality) return WEIR_NOMEM;
    struct day_row row = {0};
    for (size_t i = 0; i < g->n; i++) {
        doc_read_row(&u, &row, i == 0);
        if (u.is_bad || row.source >= g->n_sources) return WEIR_CORRUPT;
        g->days[i] = row.day;
        g->values[i] = row.value;
        g->sources[i] = g->shown[row.source];
        g->quality[i] = (uint8_t)quality_of(m, l->facts->known[g->numbers[row.source]], &row);
    }
    return WEIR_OK;
}

static enum weir_status add_series(const struct loader *l, struct dataset *d,
                                   const struct metric *m, struct weir_slice body)
{
    struct loading *g = mem_zalloc(sizeof *g);
    if (!g) return WEIR_NOMEM;
    enum weir_status st = read_series(l, d, m, body, g);
    struct series s = {.metric = m,
                       .n = g->n,
                       .days = g->days,
                       .values = g->values,
                       .quality = g->quality,
                       .sources = g->sources};
    if (st == WEIR_OK) st = dataset_add_series(d, &s);
    mem_free(g->days);
    mem_free(g->values);
    mem_free(g->sources);
    mem_free(g->quality);
    mem_free(g);
    return st == WEIR_INVALID ? WEIR_CORRUPT : st;
}

/*
 * A document names a source that came after the dataset was opened. WEIR_CONFLICT when it is known
 * now and reading may be tried again.
 */
static enum weir_status reload(const struct loader *l)
{
    enum weir_status st = facts_load(l->facts);
    if (st == WEIR_OK) st = facts_order_sources(l->facts);
    return st == WEIR_OK ? WEIR_CONFLICT : st;
}

static enum weir_status load_series(void *user, struct dataset *d, const struct metric *m)
{
    const struct loader *l = user;
    bool is_ours = metric_find(weir_slice_of(m->name)) == m;
    char id[STORE_NAME_BYTES + 1];
    int len = snprintf(id, sizeof id, "%.*s/%s%s", (int)l->facts->user.len, l->facts->user.ptr,
                       is_ours ? "" : own_prefix, m->name);
    if (len < 0 || (size_t)len >= sizeof id) return WEIR_NOT_FOUND;
    struct doc doc;
    struct doc_key key = {SLICE("series"), slice_of(id, (size_t)len)};
    enum weir_status st = store_doc_get(l->store, key, &doc);
    if (st != WEIR_OK) return st;
    st = add_series(l, d, m, doc.body);
    if (st == WEIR_CONFLICT) st = reload(l);
    if (st == WEIR_CONFLICT) st = add_series(l, d, m, doc.body);
    doc_fini(&doc);
    return st;
}

/* ---- sessions and results ---- */

/* All documents of a kind, each read and added while its bytes are there. */
struct listing {
    const struct loader *loader;
    struct dataset *dataset;
    enum weir_status (*add)(const struct loader *l, struct dataset *d, struct weir_slice body);
};

static enum weir_status list_one(void *user, const struct doc *doc)
{
    const struct listing *g = user;
    return g->add(g->loader, g->dataset, doc->body);
}

static enum weir_status list_all(const struct loader *l, struct dataset *d, const char *kind,
                                 enum weir_status (*add)(const struct loader *l, struct dataset *d,
                                                         struct weir_slice body))
{
    enum { MAX_YEARS = 400 };
    struct listing g = {l, d, add};
    struct doc_query query = {
        .kind = weir_slice_of(kind), .owner = l->facts->user, .limit = MAX_YEARS};
    return store_doc_list(l->store, &query, list_one, &g);
}

static double end_of(const struct workout *w)
{
    return (double)w->start.at + (isnan(w->minutes) ? 0 : w->minutes * 60);
}

/* One run that two devices recorded: more than half of the shorter lies in the other. */
static bool is_same_workout(const struct workout *a, const struct workout *b)
{
    if (a->activity != b->activity || slice_eq(a->source.name, b->source.name)) return false;
    double from = (double)(a->start.at > b->start.at ? a->start.at : b->start.at);
    double to = end_of(a) < end_of(b) ? end_of(a) : end_of(b);
    double x = end_of(a) - (double)a->start.at, y = end_of(b) - (double)b->start.at;
    return (to - from) * 2 > (x < y ? x : y);
}

/* Of two that recorded the same, the better class, then the one that stands first. */
static bool is_outdone(const struct workout *all, size_t n, size_t i)
{
    static const struct metric activity = {.group = "activity"};
    enum { LOOK = 32 }; /* rows around it; they are in order of start */
    size_t from = i > LOOK ? i - LOOK : 0, to = n - i > LOOK ? i + LOOK : n;
    unsigned rank = merge_rank(&activity, all[i].source.kind);
    for (size_t k = from; k < to; k++) {
        if (k == i || !is_same_workout(&all[i], &all[k])) continue;
        unsigned other = merge_rank(&activity, all[k].source.kind);
        if (other < rank || (other == rank && k < i)) return true;
    }
    return false;
}

static enum weir_status add_workouts(const struct loader *l, struct dataset *d,
                                     struct weir_slice body)
{
    (void)l;
    struct rows rows = {0};
    enum weir_status st = workouts_read(body, &rows);
    const struct workout *all = rows.ptr;
    for (size_t i = 0; i < rows.n && st == WEIR_OK; i++)
        if (!is_outdone(all, rows.n, i)) st = dataset_add_workout(d, &all[i]);
    mem_free(rows.ptr);
    return st;
}

static enum weir_status load_workouts(void *user, struct dataset *d)
{
    return list_all(user, d, "workouts", add_workouts);
}

/* The same result from two files: the name of the test may be spelt in two ways. */
static bool is_same_lab(const struct lab *a, const struct lab *b)
{
    return a->analyte && a->analyte == b->analyte && a->day == b->day && a->value == b->value &&
           a->comparator == b->comparator;
}

static enum weir_status add_labs(const struct loader *l, struct dataset *d, struct weir_slice body)
{
    (void)l;
    struct rows rows = {0};
    enum weir_status st = labs_read(body, &rows);
    const struct lab *all = rows.ptr;
    for (size_t i = 0; i < rows.n && st == WEIR_OK; i++) {
        /* They are in order of day and value. */
        bool is_there = false;
        for (size_t k = i; k-- > 0 && all[k].day == all[i].day && all[k].value == all[i].value;)
            is_there |= is_same_lab(&all[k], &all[i]);
        if (!is_there) st = dataset_add_lab(d, &all[i]);
    }
    mem_free(rows.ptr);
    return st;
}

static enum weir_status load_labs(void *user, struct dataset *d)
{
    return list_all(user, d, "labs", add_labs);
}

static enum weir_status add_sleeps(const struct loader *l, struct dataset *d,
                                   struct weir_slice body)
{
    struct rows rows = {0};
    enum weir_status st = sleeps_read(l->facts, body, &rows);
    if (st == WEIR_CONFLICT) st = reload(l);
    if (st == WEIR_CONFLICT) {
        rows.n = 0;
        st = sleeps_read(l->facts, body, &rows);
    }
    struct sleep_row *all = rows.ptr;
    for (size_t i = 0, end; i < rows.n && st == WEIR_OK; i = end) {
        end = i + 1;
        while (end < rows.n && all[end].sleep.day == all[i].sleep.day) end++;
        size_t n = night_choose(all + i, end - i, l->facts->kinds);
        for (size_t k = i; k < i + n && st == WEIR_OK; k++) {
            all[k].sleep.source = l->facts->sources[all[k].source];
            st = dataset_add_sleep(d, &all[k].sleep);
        }
    }
    mem_free(rows.ptr);
    return st;
}

static enum weir_status load_sleeps(void *user, struct dataset *d)
{
    return list_all(user, d, "sleeps", add_sleeps);
}

enum weir_status dataset_open(struct dataset **out, struct store *store, struct weir_slice user)
{
    static const struct dataset_loader functions = {.index = load_index,
                                                    .series = load_series,
                                                    .workouts = load_workouts,
                                                    .sleeps = load_sleeps,
                                                    .labs = load_labs,
                                                    .close = loader_close};
    *out = NULL;
    struct loader *l = mem_zalloc(sizeof *l);
    if (!l) return WEIR_NOMEM;
    l->store = store;
    enum weir_status st = facts_open(&l->facts, store, user);
    if (st != WEIR_OK) {
        mem_free(l);
        return st;
    }
    *out = dataset_new_with(&functions, l);
    if (*out) return WEIR_OK;
    loader_close(l);
    return WEIR_NOMEM;
}
