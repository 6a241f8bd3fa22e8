/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workouts and laboratory results: kinds "workouts" and "labs", a document for each year. After
 * the version, a byte: how many rows, and of each, in order:
 *
 *   workout  day, start and its offset, signed; activity, label; class of the source (a byte) and
 *            its name; minutes, km, kcal, mean and highest heart rate, steps, ascent
 *   lab      day, signed; test, label; value; comparator (a byte); as printed, unit, range, flag;
 *            class of the source (a byte) and its name
 *
 * A workout is the same when it began at the same moment and has the same names; then of each
 * number the known one counts, and of two the larger. A result is the same when all of it is.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "data/facts_flush.h"

enum { N_NUMBERS = 7 };

static int compare_texts(struct weir_slice a, struct weir_slice b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_sources(const struct source *a, const struct source *b)
{
    int order = compare_texts(a->name, b->name);
    return order != 0 ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

static void put_source(struct weir_buf *out, const struct source *s)
{
    weir_buf_append_char(out, (char)s->kind);
    pack_put_text(out, s->name);
}

static int32_t read_day(struct unpack *u)
{
    int64_t day = unpack_i64(u);
    if (day >= DAY_MIN && day <= DAY_MAX) return (int32_t)day;
    u->is_bad = true;
    return 0;
}

/* ---- workouts ---- */

static struct weir_slice activity_name(const struct workout *w)
{
    return w->activity ? weir_slice_of(w->activity->name) : (struct weir_slice){0};
}

static void numbers_of(struct workout *w, double *out[N_NUMBERS])
{
    double *all[N_NUMBERS] = {&w->minutes, &w->km,    &w->kcal,    &w->avg_hr,
                              &w->max_hr,  &w->steps, &w->ascent_m};
    memcpy(out, all, sizeof all);
}

static int compare_workouts(const void *pa, const void *pb)
{
    const struct workout *a = pa, *b = pb;
    if (a->start.at != b->start.at) return a->start.at < b->start.at ? -1 : 1;
    int order = compare_texts(activity_name(a), activity_name(b));
    if (order == 0) order = compare_texts(a->label, b->label);
    return order != 0 ? order : compare_sources(&a->source, &b->source);
}

static void join_workouts(void *pa, const void *pb)
{
    struct workout *a = pa, other = *(const struct workout *)pb;
    double *mine[N_NUMBERS], *theirs[N_NUMBERS];
    numbers_of(a, mine);
    numbers_of(&other, theirs);
    if (other.start.offset > a->start.offset) a->start.offset = other.start.offset;
    if (other.day > a->day) a->day = other.day;
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (isnan(*mine[i]) || *theirs[i] > *mine[i]) *mine[i] = *theirs[i];
}

static void put_workout(struct weir_buf *out, const void *row)
{
    struct workout w = *(const struct workout *)row;
    pack_put_i64(out, w.day);
    pack_put_i64(out, w.start.at);
    pack_put_i64(out, w.start.offset);
    pack_put_text(out, activity_name(&w));
    pack_put_text(out, w.label);
    put_source(out, &w.source);
    double *numbers[N_NUMBERS];
    numbers_of(&w, numbers);
    for (size_t i = 0; i < N_NUMBERS; i++) pack_put_double(out, *numbers[i]);
}

static void read_workout(struct unpack *u, void *row)
{
    struct workout *w = row;
    *w = (struct workout){.day = read_day(u)};
    w->start.at = unpack_i64(u);
    w->start.offset = (int32_t)unpack_i64(u);
    struct weir_slice name = unpack_text(u);
    w->activity = name.len > 0 ? activity_find(name) : NULL;
    w->label = unpack_text(u);
    w->source = doc_read_source(u);
    double *numbers[N_NUMBERS];
    numbers_of(w, numbers);
    for (size_t i = 0; i < N_NUMBERS; i++) *numbers[i] = unpack_scaled(u);
}

static int32_t day_of_workout(const void *row)
{
    return ((const struct workout *)row)->day;
}

/* ---- laboratory results ---- */

static struct weir_slice analyte_name(const struct lab *l)
{
    return l->analyte ? weir_slice_of(l->analyte->name) : (struct weir_slice){0};
}

static int compare_labs(const void *pa, const void *pb)
{
    const struct lab *a = pa, *b = pb;
    if (a->day != b->day) return a->day < b->day ? -1 : 1;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    if (a->comparator != b->comparator) return a->comparator < b->comparator ? -1 : 1;
    struct weir_slice x[] = {analyte_name(a), a->label, a->printed, a->unit, a->range, a->flag};
    struct weir_slice y[] = {analyte_name(b), b->label, b->printed, b->unit, b->range, b->flag};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        int order = compare_texts(x[i], y[i]);
        if (order != 0) return order;
    }
    return compare_sources(&a->source, &b->source);
}

static void put_lab(struct weir_buf *out, const void *row)
{
    const struct lab *l = row;
    pack_put_i64(out, l->day);
    pack_put_text(out, analyte_name(l));
    pack_put_text(out, l->label);
    pack_put_double(out, l->value);
    weir_buf_append_char(out, l->comparator);
    pack_put_text(out, l->printed);
    pack_put_text(out, l->unit);
    pack_put_text(out, l->range);
    pack_put_text(out, l->flag);
    put_source(out, &l->source);
}

static void read_lab(struct unpack *u, void *row)
{
    struct lab *l = row;
    *l = (struct lab){.day = read_day(u)};
    struct weir_slice name = unpack_text(u);
    l->analyte = name.len > 0 ? analyte_find(name) : NULL;
    l->label = unpack_text(u);
    l->value = unpack_scaled(u);
    l->comparator = (char)unpack_byte(u);
    l->printed = unpack_text(u);
    l->unit = unpack_text(u);
    l->range = unpack_text(u);
    l->flag = unpack_text(u);
    l->source = doc_read_source(u);
}

static int32_t day_of_lab(const void *row)
{
    return ((const struct lab *)row)->day;
}

/* ---- both ---- */

struct list_kind {
    const char *name;
    size_t size;
    int32_t (*day)(const void *row);
    int (*compare)(const void *a, const void *b);
    void (*join)(void *a, const void *b); /* of two that are the same; NULL: nothing to do */
    void (*put)(struct weir_buf *out, const void *row);
    void (*take)(struct unpack *u, void *row);
};

static const struct list_kind workout_list = {"workouts",     sizeof(struct workout),
                                              day_of_workout, compare_workouts,
                                              join_workouts,  put_workout,
                                              read_workout};
static const struct list_kind lab_list = {
    "labs", sizeof(struct lab), day_of_lab, compare_labs, NULL, put_lab, read_lab};

static enum weir_status read_list(const struct list_kind *kind, struct weir_slice body,
                                  struct rows *out)
{
    struct unpack u = unpack_begin(body);
    if (unpack_byte(&u) != DOC_VERSION) return WEIR_CORRUPT;
    size_t n = unpack_count(&u);
    for (size_t i = 0; i < n && !u.is_bad; i++) {
        void *row = rows_push(out, kind->size);
        if (!row) return WEIR_NOMEM;
        kind->take(&u, row);
    }
    return u.is_bad || u.at != u.end ? WEIR_CORRUPT : WEIR_OK;
}

enum weir_status workouts_read(struct weir_slice body, struct rows *out)
{
    return read_list(&workout_list, body, out);
}

enum weir_status labs_read(struct weir_slice body, struct rows *out)
{
    return read_list(&lab_list, body, out);
}

/* The union of two lists in order; true when it is more than `old`. */
static enum weir_status unite(struct flush *x, const struct list_kind *kind, const struct rows *old,
                              const struct rows *in, struct rows *out)
{
    size_t o = 0, i = 0;
    while (o < old->n || i < in->n) {
        const char *a = o < old->n ? (const char *)old->ptr + o * kind->size : NULL;
        const char *b = i < in->n ? (const char *)in->ptr + i * kind->size : NULL;
        bool is_old = !b || (a && kind->compare(a, b) <= 0);
        const char *next = is_old ? a : b;
        CHECK(next);
        if (is_old) o++;
        else i++;
        char *last = out->n > 0 ? (char *)out->ptr + (out->n - 1) * kind->size : NULL;
        if (last && kind->compare(last, next) == 0) {
            if (kind->join) kind->join(last, next);
            continue;
        }
        void *place = rows_push(out, kind->size);
        if (!place) return WEIR_NOMEM;
        memcpy(place, next, kind->size);
        if (!is_old) x->n_new++;
    }
    return WEIR_OK;
}

static enum weir_status join_year(struct flush *x, const struct list_kind *kind, int year,
                                  const struct rows *in)
{
    char rest[16];
    snprintf(rest, sizeof rest, "%04d", year);
    struct doc doc;
    struct rows old = {0}, all = {0};
    struct weir_buf body;
    weir_buf_init(&body, STORE_DOC_BYTES);
    enum weir_status st = flush_get(x, kind->name, rest, &doc);
    if (st == WEIR_OK && doc.version > 0) st = read_list(kind, doc.body, &old);
    if (st == WEIR_OK) st = unite(x, kind, &old, in, &all);
    if (st != WEIR_OK) goto out;
    weir_buf_append_char(&body, DOC_VERSION);
    pack_put_u64(&body, all.n);
    for (size_t i = 0; i < all.n; i++) kind->put(&body, (char *)all.ptr + i * kind->size);
    st = flush_put_changed(x, kind->name, rest, &doc, &body);
    if (st == WEIR_OK) st = flush_relieve(x);
out:
    weir_buf_fini(&body);
    mem_free(old.ptr);
    mem_free(all.ptr);
    doc_fini(&doc);
    return st;
}

/* Year by year; the rows are few, and each year takes its own out of all. */
static enum weir_status join_list(struct flush *x, const struct list_kind *kind, struct rows *batch)
{
    if (batch->n > 1) qsort(batch->ptr, batch->n, kind->size, kind->compare);
    int first = 9999, last = 0;
    for (size_t i = 0; i < batch->n; i++) {
        int year = day_to_civil(kind->day((char *)batch->ptr + i * kind->size)).year;
        if (year < first) first = year;
        if (year > last) last = year;
    }
    enum weir_status st = WEIR_OK;
    for (int year = first; year <= last && st == WEIR_OK; year++) {
        struct rows in = {0};
        for (size_t i = 0; i < batch->n && st == WEIR_OK; i++) {
            const char *row = (const char *)batch->ptr + i * kind->size;
            if (day_to_civil(kind->day(row)).year != year) continue;
            void *place = rows_push(&in, kind->size);
            if (place) memcpy(place, row, kind->size);
            else st = WEIR_NOMEM;
        }
        if (st == WEIR_OK && in.n > 0) st = join_year(x, kind, year, &in);
        mem_free(in.ptr);
    }
    return st;
}

enum weir_status list_join_batch(struct flush *x)
{
    enum weir_status st = join_list(x, &workout_list, &x->f->workouts);
    return st == WEIR_OK ? join_list(x, &lab_list, &x->f->labs) : st;
}
