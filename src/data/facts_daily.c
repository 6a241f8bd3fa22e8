/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daily values of the metrics that a flush touches: reads "days" (what was merged, what was
 * given), changes it, and writes it together with "series", what counts of it. series_doc.h has
 * the bytes of both.
 *
 * A total that nobody measured follows from its parts, on the days that have them all. Extremes
 * that nobody gave follow from the samples of another metric, day by day; they are kept in "days"
 * under a name of their own ("via:max_heart_rate") and shown in the series of the extreme.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "data/facts_flush.h"

/* ---- reading ---- */

/* Rows with the document's numbers of sources replaced by ours. */
static enum weir_status read_rows(struct unpack *u, const uint16_t *numbers, size_t n_numbers,
                                  struct rows *out)
{
    size_t n = unpack_count(u);
    struct day_row row = {0};
    for (size_t i = 0; i < n && !u->is_bad; i++) {
        doc_read_row(u, &row, i == 0);
        if (u->is_bad || row.source >= n_numbers) return WEIR_CORRUPT;
        struct day_row *place = rows_push(out, sizeof *place);
        if (!place) return WEIR_NOMEM;
        *place = row;
        place->source = numbers[row.source];
    }
    return u->is_bad ? WEIR_CORRUPT : WEIR_OK;
}

static enum weir_status read_days(struct flush *x, struct daily *d)
{
    if (d->days_doc.version == 0) return WEIR_OK;
    uint16_t numbers[DOC_MAX_SOURCES];
    size_t n;
    struct unpack u = unpack_begin(d->days_doc.body);
    enum weir_status st = facts_read_sources(x->f, &u, numbers, &n);
    if (st == WEIR_OK) st = read_rows(&u, numbers, n, &d->merged);
    if (st == WEIR_OK) st = read_rows(&u, numbers, n, &d->given);
    return st == WEIR_OK && u.at != u.end ? WEIR_CORRUPT : st;
}

static void daily_free(struct daily *d)
{
    mem_free(d->merged.ptr);
    mem_free(d->given.ptr);
    doc_fini(&d->days_doc);
    doc_fini(&d->series_doc);
    mem_free(d);
}

enum weir_status daily_get(struct flush *x, uint16_t metric, struct daily **out)
{
    struct daily **all = x->dailies.ptr;
    for (size_t i = x->dailies.n; i-- > 0;) {
        *out = all[i];
        if (all[i]->metric == metric) return WEIR_OK;
    }
    struct daily *d = mem_zalloc(sizeof *d);
    if (!d) return WEIR_NOMEM;
    d->metric = metric;
    facts_metric_name(x->f, metric, d->name);
    struct daily **place = rows_push(&x->dailies, sizeof(struct daily *));
    if (!place) {
        mem_free(d);
        return WEIR_NOMEM;
    }
    *place = *out = d;
    enum weir_status st = flush_get(x, "days", d->name, &d->days_doc);
    if (st == WEIR_OK) st = flush_get(x, "series", d->name, &d->series_doc);
    return st == WEIR_OK ? read_days(x, d) : st;
}

void daily_free_all(struct flush *x)
{
    struct daily **all = x->dailies.ptr;
    for (size_t i = 0; i < x->dailies.n; i++) daily_free(all[i]);
    x->dailies.n = 0;
}

/* ---- changing ---- */

static size_t first_of_day(const struct rows *rows, int32_t day)
{
    const struct day_row *r = rows->ptr;
    size_t low = 0, n = rows->n;
    while (n > 0) {
        size_t half = n / 2;
        if (r[low + half].day < day) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

static bool is_same_row(const struct day_row *a, const struct day_row *b)
{
    return a->day == b->day && a->source == b->source && a->is_partial == b->is_partial &&
           a->value == b->value;
}

static bool is_same_rows(const struct day_row *a, const struct day_row *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_same_row(&a[i], &b[i])) return false;
    return true;
}

enum weir_status daily_replace(struct daily *d, int32_t from, int32_t to,
                               const struct day_row *rows, size_t n)
{
    size_t first = first_of_day(&d->merged, from), end = first_of_day(&d->merged, to + 1);
    struct day_row *old = d->merged.ptr;
    if (end - first == n && (n == 0 || is_same_rows(old + first, rows, n))) return WEIR_OK;
    size_t tail = d->merged.n - end, total = first + n + tail;
    while (d->merged.n < total)
        if (!rows_push(&d->merged, sizeof *rows)) return WEIR_NOMEM;
    old = d->merged.ptr;
    memmove(old + first + n, old + end, tail * sizeof *rows);
    if (n > 0) memcpy(old + first, rows, n * sizeof *rows);
    d->merged.n = total;
    d->is_dirty = true;
    return WEIR_OK;
}

static int compare_given(const void *pa, const void *pb)
{
    const struct given_day *a = pa, *b = pb;
    if (a->metric != b->metric) return a->metric < b->metric ? -1 : 1;
    return day_row_compare(&a->row, &b->row);
}

/* The union of what is stored and what the batch has of one metric, both in order. */
static enum weir_status unite(struct flush *x, struct daily *d, const struct given_day *in,
                              size_t n)
{
    struct rows joined = {0};
    const struct day_row *old = d->given.ptr;
    size_t o = 0, i = 0;
    while (o < d->given.n || i < n) {
        bool is_old = i == n || (o < d->given.n && day_row_compare(&old[o], &in[i].row) <= 0);
        const struct day_row *next = is_old ? &old[o++] : &in[i++].row;
        const struct day_row *last =
            joined.n > 0 ? (const struct day_row *)joined.ptr + joined.n - 1 : NULL;
        if (last && is_same_row(last, next)) continue;
        struct day_row *place = rows_push(&joined, sizeof *place);
        if (!place) {
            mem_free(joined.ptr);
            return WEIR_NOMEM;
        }
        *place = *next;
        if (is_old) continue;
        x->n_new++;
        d->is_dirty = true;
    }
    mem_free(d->given.ptr);
    d->given = joined;
    return WEIR_OK;
}

enum weir_status daily_join_batch(struct flush *x)
{
    struct given_day *days = x->f->days.ptr;
    size_t n = x->f->days.n;
    if (n > 1) qsort(days, n, sizeof *days, compare_given);
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && days[end].metric == days[i].metric) end++;
        struct daily *d;
        enum weir_status st = daily_get(x, days[i].metric, &d);
        if (st == WEIR_OK) st = unite(x, d, days + i, end - i);
        if (st == WEIR_OK) st = flush_relieve(x);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* ---- what counts ---- */

static enum weir_status resolve(struct flush *x, const struct daily *d, struct rows *out)
{
    struct resolve_input in = {.metric = facts_metric(d->metric),
                               .merged = d->merged.ptr,
                               .given = d->given.ptr,
                               .n_merged = d->merged.n,
                               .n_given = d->given.n,
                               .sources = x->f->sources};
    out->cap = d->merged.n + d->given.n;
    out->ptr = mem_alloc(out->cap * sizeof(struct day_row) + 1);
    if (!out->ptr) return WEIR_NOMEM;
    out->n = series_resolve(&in, out->ptr);
    return WEIR_OK;
}

static uint16_t number_of(const char *name)
{
    const struct metric *m = metric_find(weir_slice_of(name));
    CHECK(m);
    return (uint16_t)metric_index(m);
}

/* An extreme, and whose samples have it. */
static const struct {
    const char *extreme, *samples;
} extremes[] = {{"max_heart_rate", "heart_rate"}, {"min_heart_rate", "heart_rate"}};

enum { N_EXTREMES = sizeof extremes / sizeof *extremes };

bool daily_follower(uint16_t metric, size_t n, struct follower *out)
{
    for (size_t i = 0; i < N_EXTREMES; i++) {
        if (number_of(extremes[i].samples) != metric || n-- > 0) continue;
        uint16_t extreme = number_of(extremes[i].extreme);
        *out = (struct follower){(uint16_t)(FACTS_FOLLOWER_FIRST + extreme), metric_at(extreme)};
        return true;
    }
    return false;
}

static bool is_follower(uint16_t metric)
{
    return metric >= FACTS_FOLLOWER_FIRST;
}

/* A total, and what it is made of. */
static const struct {
    const char *total, *parts[2];
} totals[] = {{"total_energy", {"active_energy", "resting_energy"}}};

enum { N_TOTALS = sizeof totals / sizeof *totals };

static bool is_dirty(const struct flush *x, uint16_t metric)
{
    struct daily *const *all = x->dailies.ptr;
    for (size_t i = 0; i < x->dailies.n; i++)
        if (all[i]->metric == metric) return all[i]->is_dirty;
    return false;
}

/* A total whose parts have changed is to be looked at, too. */
static enum weir_status touch_totals(struct flush *x)
{
    for (size_t i = 0; i < N_TOTALS; i++) {
        if (!is_dirty(x, number_of(totals[i].parts[0])) &&
            !is_dirty(x, number_of(totals[i].parts[1])))
            continue;
        struct daily *total;
        enum weir_status st = daily_get(x, number_of(totals[i].total), &total);
        if (st != WEIR_OK) return st;
        total->is_dirty = true;
    }
    return WEIR_OK;
}

/* And so is an extreme when the samples have. */
static enum weir_status touch_extremes(struct flush *x)
{
    for (size_t i = 0; i < N_EXTREMES; i++) {
        uint16_t extreme = number_of(extremes[i].extreme);
        if (!is_dirty(x, (uint16_t)(FACTS_FOLLOWER_FIRST + extreme))) continue;
        struct daily *d;
        enum weir_status st = daily_get(x, extreme, &d);
        if (st != WEIR_OK) return st;
        d->is_dirty = true;
    }
    return WEIR_OK;
}

static enum weir_status add_parts(const struct rows *a, const struct rows *b, struct rows *out)
{
    const struct day_row *p = a->ptr, *q = b->ptr;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (p[i].day != q[k].day) {
            if (p[i].day < q[k].day) i++;
            else k++;
            continue;
        }
        struct day_row *place = rows_push(out, sizeof *place);
        if (!place) return WEIR_NOMEM;
        *place = p[i];
        place->value += q[k].value;
        place->is_partial |= q[k].is_partial;
        i++;
        k++;
    }
    return WEIR_OK;
}

static enum weir_status resolve_total(struct flush *x, size_t t, struct rows *out)
{
    struct rows parts[2] = {{0}, {0}};
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < 2 && st == WEIR_OK; i++) {
        struct daily *part;
        st = daily_get(x, number_of(totals[t].parts[i]), &part);
        if (st == WEIR_OK) st = resolve(x, part, &parts[i]);
    }
    if (st == WEIR_OK) st = add_parts(&parts[0], &parts[1], out);
    mem_free(parts[0].ptr);
    mem_free(parts[1].ptr);
    return st;
}

/* The rows of `out`, and of the days that are not in it those of `more`. */
static enum weir_status fill_in(struct rows *out, const struct rows *more)
{
    const struct day_row *a = out->ptr, *b = more->ptr;
    struct rows all = {0};
    for (size_t i = 0, k = 0; i < out->n || k < more->n;) {
        bool is_own = k == more->n || (i < out->n && a[i].day <= b[k].day);
        struct day_row row = is_own ? a[i++] : b[k++];
        if (is_own && k < more->n && b[k].day == row.day) k++;
        struct day_row *place = rows_push(&all, sizeof *place);
        if (!place) {
            mem_free(all.ptr);
            return WEIR_NOMEM;
        }
        *place = row;
    }
    mem_free(out->ptr);
    *out = all;
    return WEIR_OK;
}

static enum weir_status resolve_extreme(struct flush *x, const struct daily *d, struct rows *out)
{
    struct daily *kept;
    enum weir_status st = resolve(x, d, out);
    if (st == WEIR_OK) st = daily_get(x, (uint16_t)(FACTS_FOLLOWER_FIRST + d->metric), &kept);
    return st == WEIR_OK ? fill_in(out, &kept->merged) : st;
}

static enum weir_status resolve_any(struct flush *x, const struct daily *d, struct rows *out)
{
    for (size_t i = 0; i < N_TOTALS; i++)
        if (d->merged.n + d->given.n == 0 && d->metric == number_of(totals[i].total))
            return resolve_total(x, i, out);
    for (size_t i = 0; i < N_EXTREMES; i++)
        if (d->metric == number_of(extremes[i].extreme)) return resolve_extreme(x, d, out);
    return resolve(x, d, out);
}

/* ---- writing ---- */

size_t daily_bytes(const struct flush *x)
{
    enum { ROW_BYTES = 22 }; /* at most, about, in both documents */
    struct daily *const *all = x->dailies.ptr;
    size_t n = 0;
    for (size_t i = 0; i < x->dailies.n; i++)
        if (all[i]->is_dirty) n += all[i]->merged.n + all[i]->given.n;
    return n * ROW_BYTES;
}

static void name_sources(struct doc_sources *s, const struct rows *rows)
{
    const struct day_row *r = rows->ptr;
    for (size_t i = 0; i < rows->n; i++) doc_sources_add(s, r[i].source);
}

static enum weir_status put_days(struct flush *x, const struct daily *d)
{
    if (d->merged.n + d->given.n == 0) return flush_remove(x, "days", d->name, d->days_doc.version);
    struct weir_buf body;
    weir_buf_init(&body, STORE_DOC_BYTES);
    struct doc_sources s = {0};
    name_sources(&s, &d->merged);
    name_sources(&s, &d->given);
    doc_put_head(&body, &s, x->f->sources, x->f->n_sources);
    doc_put_rows(&body, &s, d->merged.ptr, d->merged.n);
    doc_put_rows(&body, &s, d->given.ptr, d->given.n);
    enum weir_status st = flush_put_changed(x, "days", d->name, &d->days_doc, &body);
    weir_buf_fini(&body);
    return st;
}

static uint64_t count_differences(const struct rows *old, const struct rows *now)
{
    const struct day_row *a = old->ptr, *b = now->ptr;
    uint64_t n = 0;
    for (size_t i = 0, k = 0; i < old->n || k < now->n;) {
        bool is_both = i < old->n && k < now->n && a[i].day == b[k].day;
        if (!is_both || !is_same_row(&a[i], &b[k])) n++;
        bool is_old = k == now->n || (i < old->n && a[i].day < b[k].day);
        if (is_both || is_old) i++;
        if (is_both || !is_old) k++;
    }
    return n;
}

/* How many days have another value than before. */
static enum weir_status count_changes(struct flush *x, const struct daily *d,
                                      const struct rows *now)
{
    struct rows old = {0};
    enum weir_status st = WEIR_OK;
    if (d->series_doc.version > 0) {
        uint16_t numbers[DOC_MAX_SOURCES];
        size_t n;
        struct unpack u = unpack_begin(d->series_doc.body);
        st = facts_read_sources(x->f, &u, numbers, &n);
        if (st == WEIR_OK) st = read_rows(&u, numbers, n, &old);
    }
    if (st == WEIR_OK) x->n_days_changed += count_differences(&old, now);
    mem_free(old.ptr);
    return st;
}

static enum weir_status put_index_row(struct flush *x, const struct daily *d,
                                      const struct rows *rows)
{
    const struct day_row *r = rows->ptr;
    struct index_row row = {.name = weir_slice_of(d->name), .n = (uint32_t)rows->n};
    if (rows->n > 0) {
        row.first = r[0].day;
        row.newest = r[rows->n - 1].day;
    }
    bool is_changed;
    enum weir_status st = facts_index_set(x->f, &row, &is_changed);
    if (is_changed) x->has_index_news = true;
    return st;
}

static enum weir_status put_series(struct flush *x, const struct daily *d)
{
    struct rows rows = {0};
    struct weir_buf body;
    weir_buf_init(&body, STORE_DOC_BYTES);
    enum weir_status st = resolve_any(x, d, &rows);
    if (st != WEIR_OK || (rows.n == 0 && d->series_doc.version == 0)) goto out;
    st = count_changes(x, d, &rows);
    if (st == WEIR_OK) st = put_index_row(x, d, &rows);
    if (st == WEIR_OK && rows.n == 0)
        st = flush_remove(x, "series", d->name, d->series_doc.version);
    if (st != WEIR_OK || rows.n == 0) goto out;
    struct doc_sources s = {0};
    name_sources(&s, &rows);
    doc_put_head(&body, &s, x->f->sources, x->f->n_sources);
    doc_put_rows(&body, &s, rows.ptr, rows.n);
    st = flush_put_changed(x, "series", d->name, &d->series_doc, &body);
out:
    mem_free(rows.ptr);
    weir_buf_fini(&body);
    return st;
}

enum weir_status daily_put_all(struct flush *x)
{
    enum weir_status st = touch_totals(x);
    if (st == WEIR_OK) st = touch_extremes(x);
    if (st != WEIR_OK) return st;
    /* The list may grow while totals look at their parts. */
    for (size_t i = 0; i < x->dailies.n; i++) {
        struct daily *d = ((struct daily **)x->dailies.ptr)[i];
        if (!d->is_dirty) continue;
        st = put_days(x, d);
        if (st == WEIR_OK && !is_follower(d->metric)) st = put_series(x, d);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}
