/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sleeps that end in a year: kind "sleeps", id USER/2025. Those that files gave are facts;
 * those put together from stages follow from these and are kept beside, so that a night can be
 * judged without reading stages. Behind the head of all documents (series_doc.h): how many, and of
 * each, in order (night.h):
 *
 *   flags    a byte: 1 a nap, 2 put together from stages
 *   source   its number in the head
 *   day      less that of the one before (than 0), signed
 *   start    seconds after 1970, signed; its offset, signed
 *   length   seconds; the end's offset less that of the start, signed
 *   minutes  asleep, in bed, awake, light, deep, REM; then efficiency and latency
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/facts_flush.h"
#include "data/night.h"

enum { FLAG_NAP = 1, FLAG_ASSEMBLED = 2, N_NUMBERS = 8 };

static void numbers_of(struct sleep *s, double *out[N_NUMBERS])
{
    double *all[N_NUMBERS] = {&s->asleep, &s->in_bed, &s->awake,      &s->light,
                              &s->deep,   &s->rem,    &s->efficiency, &s->latency};
    memcpy(out, all, sizeof all);
}

/* ---- bytes ---- */

static void put_sleep(struct weir_buf *out, const struct sleep_row *row, int32_t day_before,
                      const struct doc_sources *named)
{
    struct sleep s = row->sleep;
    int flags = (s.is_nap ? FLAG_NAP : 0) | (row->is_assembled ? FLAG_ASSEMBLED : 0);
    weir_buf_append_char(out, (char)flags);
    pack_put_u64(out, named->local[row->source] - 1u);
    pack_put_i64(out, s.day - day_before);
    pack_put_i64(out, s.start.at);
    pack_put_i64(out, s.start.offset);
    pack_put_u64(out, (uint64_t)(s.end.at - s.start.at));
    pack_put_i64(out, s.end.offset - s.start.offset);
    double *numbers[N_NUMBERS];
    numbers_of(&s, numbers);
    for (size_t i = 0; i < N_NUMBERS; i++) pack_put_double(out, *numbers[i]);
}

static void put_sleeps(struct weir_buf *out, const struct facts *f, const struct rows *rows)
{
    const struct sleep_row *r = rows->ptr;
    struct doc_sources named = {0};
    for (size_t i = 0; i < rows->n; i++) doc_sources_add(&named, r[i].source);
    doc_put_head(out, &named, f->sources, f->n_sources);
    pack_put_u64(out, rows->n);
    for (size_t i = 0; i < rows->n; i++)
        put_sleep(out, &r[i], i > 0 ? r[i - 1].sleep.day : 0, &named);
}

static int64_t read_between(struct unpack *u, int64_t min, int64_t max)
{
    int64_t v = unpack_i64(u);
    if (v >= min && v <= max) return v;
    u->is_bad = true;
    return min;
}

static struct sleep_row read_sleep(struct unpack *u, int32_t day_before)
{
    enum { MAX_OFFSETS = 2 * FACTS_MAX_OFFSET };
    const int64_t latest = (int64_t)(DAY_MAX + 1) * DAY_SECONDS;
    unsigned flags = unpack_byte(u);
    struct sleep_row row = {.is_assembled = flags & FLAG_ASSEMBLED};
    struct sleep *s = &row.sleep;
    s->is_nap = flags & FLAG_NAP;
    uint64_t source = unpack_u64(u);
    row.source = source < DOC_MAX_SOURCES ? (uint16_t)source : DOC_MAX_SOURCES;
    s->day = day_before + (int32_t)read_between(u, 2 * DAY_MIN, 2 * DAY_MAX);
    s->start.at = read_between(u, -latest, latest);
    s->start.offset = (int32_t)read_between(u, -FACTS_MAX_OFFSET, FACTS_MAX_OFFSET);
    uint64_t length = unpack_u64(u);
    if (length > FACTS_MAX_SECONDS) u->is_bad = true;
    else s->end.at = s->start.at + (int64_t)length;
    s->end.offset = s->start.offset + (int32_t)read_between(u, -MAX_OFFSETS, MAX_OFFSETS);
    double *numbers[N_NUMBERS];
    numbers_of(s, numbers);
    for (size_t i = 0; i < N_NUMBERS; i++) *numbers[i] = unpack_scaled(u);
    return row;
}

enum weir_status sleeps_read(struct facts *f, struct weir_slice body, struct rows *out)
{
    uint16_t numbers[DOC_MAX_SOURCES];
    size_t n_numbers;
    struct unpack u = unpack_begin(body);
    enum weir_status st = facts_read_sources(f, &u, numbers, &n_numbers);
    if (st != WEIR_OK) return st;
    size_t n = unpack_count(&u);
    int32_t day = 0;
    for (size_t i = 0; i < n; i++) {
        struct sleep_row row = read_sleep(&u, day);
        if (u.is_bad || row.source >= n_numbers) return WEIR_CORRUPT;
        struct sleep_row *place = rows_push(out, sizeof *place);
        if (!place) return WEIR_NOMEM;
        day = row.sleep.day;
        row.source = numbers[row.source];
        *place = row;
    }
    return u.is_bad || u.at != u.end ? WEIR_CORRUPT : WEIR_OK;
}

/* ---- years ---- */

static enum weir_status get_year(struct flush *x, int32_t day, struct sleep_year **out)
{
    int year = day_to_civil(day).year;
    struct sleep_year **all = x->years.ptr;
    for (size_t i = 0; i < x->years.n; i++) {
        *out = all[i];
        if (all[i]->year == year) return WEIR_OK;
    }
    struct sleep_year *y = mem_zalloc(sizeof *y);
    struct sleep_year **place = y ? rows_push(&x->years, sizeof(struct sleep_year *)) : NULL;
    if (!place) {
        mem_free(y);
        return WEIR_NOMEM;
    }
    *place = *out = y;
    y->year = year;
    char rest[16];
    snprintf(rest, sizeof rest, "%04d", year);
    enum weir_status st = flush_get(x, "sleeps", rest, &y->doc);
    if (st != WEIR_OK || y->doc.version == 0) return st;
    return sleeps_read(x->f, y->doc.body, &y->rows);
}

void night_free_all(struct flush *x)
{
    struct sleep_year **all = x->years.ptr;
    for (size_t i = 0; i < x->years.n; i++) {
        mem_free(all[i]->rows.ptr);
        doc_fini(&all[i]->doc);
        mem_free(all[i]);
    }
    x->years.n = 0;
}

enum weir_status night_replace(struct flush *x, const struct fact *facts, size_t n, int32_t from,
                               int32_t to)
{
    struct sleep_year *y;
    enum weir_status st = get_year(x, from, &y);
    if (st != WEIR_OK) return st;
    struct sleep_row *rows = y->rows.ptr;
    size_t kept = 0;
    for (size_t i = 0; i < y->rows.n; i++) {
        bool is_old = rows[i].is_assembled && rows[i].sleep.day >= from && rows[i].sleep.day <= to;
        if (!is_old) rows[kept++] = rows[i];
    }
    y->rows.n = kept;
    st = night_assemble(facts, n, from, to, &y->rows);
    if (y->rows.n > 1) qsort(y->rows.ptr, y->rows.n, sizeof *rows, sleep_compare);
    y->is_dirty = true;
    return st;
}

/* ---- joining ---- */

static void join_number(double *a, double b)
{
    if (isnan(*a) || b > *a) *a = b;
}

/* The same sleep told twice: of each number the known one, and of two the larger. */
static void join_sleeps(struct sleep *a, const struct sleep *b)
{
    struct sleep other = *b;
    double *mine[N_NUMBERS], *theirs[N_NUMBERS];
    numbers_of(a, mine);
    numbers_of(&other, theirs);
    for (size_t i = 0; i < N_NUMBERS; i++) join_number(mine[i], *theirs[i]);
    a->is_nap |= b->is_nap;
    if (b->start.offset > a->start.offset) a->start.offset = b->start.offset;
    if (b->end.offset > a->end.offset) a->end.offset = b->end.offset;
}

static bool is_changed_by(struct sleep *a, const struct sleep *b)
{
    struct sleep joined = *a;
    join_sleeps(&joined, b);
    double *mine[N_NUMBERS], *theirs[N_NUMBERS];
    numbers_of(a, mine);
    numbers_of(&joined, theirs);
    bool is_changed = joined.is_nap != a->is_nap || joined.start.offset != a->start.offset ||
                      joined.end.offset != a->end.offset;
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (!(*mine[i] == *theirs[i]) && !(isnan(*mine[i]) && isnan(*theirs[i]))) is_changed = true;
    *a = joined;
    return is_changed;
}

static enum weir_status join_sleep(struct flush *x, const struct sleep_row *row)
{
    struct sleep_year *y;
    enum weir_status st = get_year(x, row->sleep.day, &y);
    if (st != WEIR_OK) return st;
    struct sleep_row *found =
        y->rows.n > 0 ? bsearch(row, y->rows.ptr, y->rows.n, sizeof *row, sleep_compare) : NULL;
    if (found) {
        if (is_changed_by(&found->sleep, &row->sleep)) y->is_dirty = true;
        return WEIR_OK;
    }
    if (!rows_push(&y->rows, sizeof *row)) return WEIR_NOMEM;
    struct sleep_row *rows = y->rows.ptr;
    size_t at = y->rows.n - 1;
    for (; at > 0 && sleep_compare(&rows[at - 1], row) > 0; at--) rows[at] = rows[at - 1];
    rows[at] = *row;
    rows[at].sleep.source = (struct source){0};
    y->is_dirty = true;
    x->n_new++;
    return WEIR_OK;
}

enum weir_status night_join_batch(struct flush *x)
{
    struct sleep_row *sleeps = x->f->sleeps.ptr;
    size_t n = x->f->sleeps.n;
    /* In order, so that each is put at the end. */
    if (n > 1) qsort(sleeps, n, sizeof *sleeps, sleep_compare);
    for (size_t i = 0; i < n; i++) {
        enum weir_status st = join_sleep(x, &sleeps[i]);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* ---- daily values ---- */

/* The rows of each metric of sleep in a year. */
struct night_rows {
    struct rows of[NIGHT_N_VALUES];
};

static enum weir_status add_night(struct night_rows *r, const struct sleep_row *rows, size_t n)
{
    double values[NIGHT_N_VALUES];
    night_values(rows, n, values);
    for (size_t i = 0; i < NIGHT_N_VALUES; i++) {
        if (isnan(values[i])) continue;
        struct day_row *place = rows_push(&r->of[i], sizeof *place);
        if (!place) return WEIR_NOMEM;
        *place = (struct day_row){values[i], rows[0].sleep.day, rows[0].source, false};
    }
    return WEIR_OK;
}

/* Night by night: which sleeps count, and what they give. */
static enum weir_status collect(struct flush *x, const struct sleep_year *y, struct night_rows *r)
{
    struct sleep_row *rows = mem_alloc(y->rows.n * sizeof *rows + 1);
    if (!rows) return WEIR_NOMEM;
    if (y->rows.n > 0) memcpy(rows, y->rows.ptr, y->rows.n * sizeof *rows);
    enum weir_status st = WEIR_OK;
    for (size_t i = 0, end; i < y->rows.n && st == WEIR_OK; i = end) {
        end = i + 1;
        while (end < y->rows.n && rows[end].sleep.day == rows[i].sleep.day) end++;
        size_t n = night_choose(rows + i, end - i, x->f->kinds);
        st = add_night(r, rows + i, n);
    }
    mem_free(rows);
    return st;
}

static enum weir_status give_values(struct flush *x, const struct sleep_year *y)
{
    struct night_rows r = {0};
    enum weir_status st = collect(x, y, &r);
    int32_t from = day_month_first(y->year, 1), to = day_month_last(y->year, 12);
    for (size_t i = 0; i < NIGHT_N_VALUES; i++) {
        struct daily *d;
        if (st == WEIR_OK) st = daily_get(x, night_metrics()[i], &d);
        if (st == WEIR_OK) st = daily_replace(d, from, to, r.of[i].ptr, r.of[i].n);
        mem_free(r.of[i].ptr);
    }
    return st;
}

enum weir_status night_put_all(struct flush *x)
{
    for (size_t i = 0; i < x->years.n; i++) {
        struct sleep_year *y = ((struct sleep_year **)x->years.ptr)[i];
        if (!y->is_dirty) continue;
        struct weir_buf body;
        weir_buf_init(&body, STORE_DOC_BYTES);
        char rest[16];
        snprintf(rest, sizeof rest, "%04d", y->year);
        put_sleeps(&body, x->f, &y->rows);
        enum weir_status st = flush_put_changed(x, "sleeps", rest, &y->doc, &body);
        weir_buf_fini(&body);
        if (st == WEIR_OK) st = give_values(x, y);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}
