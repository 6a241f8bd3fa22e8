/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who measured, and which metrics have values: the documents "sources" and "metrics" of a person,
 * which stay in memory while facts are taken.
 *
 * "sources", behind the head of all documents (series_doc.h) with every source of the person, of
 * each: the moment and offset of its newest export, both 0 when not known; how many runs of days
 * on which it was worn, and of each run its distance from the end of the one before, and its
 * length less one.
 *
 * "metrics": the version, how many rows, and of each: name, number of days, first and newest day.
 *
 * Both only ever grow by union and maximum, so they do not depend on the order of imports.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "data/facts_impl.h"

/* ---- names ---- */

/* Bytes of the blank that a text begins with; 0: it begins with something else. */
static size_t blank_length(const char *text, size_t len)
{
    if (len > 1 && text[0] == '\xC2' && text[1] == '\xA0') return 2;
    return (unsigned char)text[0] <= ' ' || text[0] == 0x7F ? 1 : 0;
}

/* Without the half of a character at its end. */
static size_t whole_length(const char *text, size_t len)
{
    struct weir_slice s = {text, len};
    size_t valid = utf8_valid_prefix(s);
    return len - valid < 4 ? valid : len;
}

/*
 * As people would compare it: no blanks at the ends nor twice, and a no-break space, which
 * telephones like to put into their names, is a blank.
 */
static size_t clean_name(struct weir_slice name, char out[DOC_MAX_NAME])
{
    size_t n = 0;
    for (size_t i = 0; i < name.len && n < DOC_MAX_NAME;) {
        size_t blank = blank_length(name.ptr + i, name.len - i);
        if (blank == 0) out[n++] = name.ptr[i];
        else if (n > 0 && out[n - 1] != ' ') out[n++] = ' ';
        i += blank > 0 ? blank : 1;
    }
    if (n == DOC_MAX_NAME) n = whole_length(out, n);
    return n > 0 && out[n - 1] == ' ' ? n - 1 : n;
}

static bool reserve_source(struct facts *f)
{
    if (f->n_sources < f->cap_sources) return true;
    size_t cap = f->cap_sources > 0 ? f->cap_sources * 2 : 16;
    void *known = mem_realloc(f->known, cap * sizeof *f->known);
    if (known) f->known = known;
    void *sources = mem_realloc(f->sources, cap * sizeof *f->sources);
    if (sources) f->sources = sources;
    void *kinds = mem_realloc(f->kinds, cap * sizeof *f->kinds);
    if (kinds) f->kinds = kinds;
    if (!known || !sources || !kinds) return false;
    f->cap_sources = cap;
    return true;
}

/* The key is the class and the name. */
static struct known_source *add_source(struct facts *f, struct weir_slice key, enum weir_status *st)
{
    *st = f->n_sources == DOC_MAX_SOURCES ? WEIR_LIMIT : WEIR_NOMEM;
    if (f->n_sources == DOC_MAX_SOURCES || !reserve_source(f)) return NULL;
    struct known_source *s = arena_alloc(&f->stays, sizeof *s);
    char *copy = s ? arena_alloc(&f->stays, key.len) : NULL;
    if (!copy) return NULL;
    memcpy(copy, key.ptr, key.len);
    *s = (struct known_source){
        .id = (uint16_t)f->n_sources,
        .cutoff = {.at = INT64_MIN},
        .is_new = true,
        .source = {slice_of(copy + 1, key.len - 1), (enum source_class)(unsigned char)copy[0]}};
    *st = map_put(&f->by_name, key, s);
    if (*st != WEIR_OK) return NULL;
    f->known[f->n_sources] = s;
    f->sources[f->n_sources] = s->source;
    f->kinds[f->n_sources] = s->source.kind;
    f->n_sources++;
    f->has_new_sources = true;
    return s;
}

static struct known_source *find_source(struct facts *f, const struct source *source,
                                        enum weir_status *st)
{
    char key[1 + DOC_MAX_NAME] = {(char)source->kind};
    size_t len = 1 + clean_name(source->name, key + 1);
    struct known_source *s = map_get(&f->by_name, slice_of(key, len));
    return s ? s : add_source(f, slice_of(key, len), st);
}

struct known_source *facts_source(struct facts *f, const struct source *source,
                                  enum weir_status *st)
{
    *st = WEIR_OK;
    struct known_source *s = f->last_source;
    if (!s || s->source.kind != source->kind || !slice_eq(s->source.name, source->name))
        s = find_source(f, source, st);
    if (!s) return NULL;
    f->last_source = s;
    if (f->exported.at > s->cutoff.at) {
        s->cutoff = f->exported;
        f->has_source_news = true;
    }
    return s;
}

/* ---- order ---- */

static int compare_sources(const struct source *a, const struct source *b)
{
    size_t len = a->name.len < b->name.len ? a->name.len : b->name.len;
    int order = len > 0 ? memcmp(a->name.ptr, b->name.ptr, len) : 0;
    if (order != 0) return order;
    if (a->name.len != b->name.len) return a->name.len < b->name.len ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static int compare_known(const void *pa, const void *pb)
{
    const struct known_source *const *a = pa, *const *b = pb;
    return compare_sources(&(*a)->source, &(*b)->source);
}

enum weir_status facts_order_sources(struct facts *f)
{
    if (!f->has_new_sources) return WEIR_OK;
    uint16_t *numbers = mem_alloc(f->n_sources * sizeof *numbers);
    if (!numbers) return WEIR_NOMEM;
    qsort(f->known, f->n_sources, sizeof(struct known_source *), compare_known);
    for (size_t i = 0; i < f->n_sources; i++) {
        numbers[f->known[i]->id] = (uint16_t)i;
        f->known[i]->id = (uint16_t)i;
        f->sources[i] = f->known[i]->source;
        f->kinds[i] = f->known[i]->source.kind;
    }
    struct fact *facts = f->facts.ptr;
    for (size_t i = 0; i < f->facts.n; i++) facts[i].source = numbers[facts[i].source];
    struct given_day *days = f->days.ptr;
    for (size_t i = 0; i < f->days.n; i++) days[i].row.source = numbers[days[i].row.source];
    struct sleep_row *sleeps = f->sleeps.ptr;
    for (size_t i = 0; i < f->sleeps.n; i++) sleeps[i].source = numbers[sleeps[i].source];
    mem_free(numbers);
    f->has_new_sources = false;
    return WEIR_OK;
}

enum weir_status facts_read_sources(struct facts *f, struct unpack *u, uint16_t *numbers, size_t *n)
{
    *n = doc_read_head(u);
    for (size_t i = 0; i < *n; i++) {
        struct source s = doc_read_source(u);
        if (u->is_bad || s.name.len > DOC_MAX_NAME) return WEIR_CORRUPT;
        char key[1 + DOC_MAX_NAME] = {(char)s.kind};
        if (s.name.len > 0) memcpy(key + 1, s.name.ptr, s.name.len);
        const struct known_source *known = map_get(&f->by_name, slice_of(key, 1 + s.name.len));
        /* Somebody else has added it since. */
        if (!known) return WEIR_CONFLICT;
        numbers[i] = known->id;
    }
    return u->is_bad ? WEIR_CORRUPT : WEIR_OK;
}

/* ---- days on which something was worn ---- */

/* Whether a value of this metric says that somebody wore the device. NULL: sleep, a workout. */
static bool is_sign_of_life(const struct metric *m, double value)
{
    if (!m) return true;
    if (strcmp(m->group, "activity") == 0)
        return m->daily == DAILY_SUM && m->better == BETTER_MORE && value > 0;
    return strcmp(m->group, "heart") == 0 || strcmp(m->group, "sleep") == 0 ||
           strcmp(m->group, "vitals") == 0;
}

void facts_note_worn(struct facts *f, struct known_source *s, const struct metric *m, int32_t day,
                     double value)
{
    (void)f;
    const int32_t *news = s->news.ptr;
    if (s->news.n > 0 && news[s->news.n - 1] == day) return;
    if (!is_sign_of_life(m, value)) return;
    int32_t *place = rows_push(&s->news, sizeof *place);
    /* Without memory for it the next allocation fails, too, and the batch with it. */
    if (place) *place = day;
}

static int compare_days(const void *pa, const void *pb)
{
    const int32_t *a = pa, *b = pb;
    return (*a > *b) - (*a < *b);
}

static enum weir_status push_run(struct rows *runs, struct day_run run)
{
    struct day_run *last = runs->n > 0 ? (struct day_run *)runs->ptr + runs->n - 1 : NULL;
    if (last && run.from <= last->to + 1) {
        if (run.to > last->to) last->to = run.to;
        return WEIR_OK;
    }
    struct day_run *place = rows_push(runs, sizeof *place);
    if (!place) return WEIR_NOMEM;
    *place = run;
    return WEIR_OK;
}

static bool is_same_runs(const struct rows *a, const struct rows *b)
{
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->ptr, b->ptr, a->n * sizeof(struct day_run)) == 0);
}

static enum weir_status join_runs(struct facts *f, struct known_source *s)
{
    if (s->news.n == 0) return WEIR_OK;
    qsort(s->news.ptr, s->news.n, sizeof(int32_t), compare_days);
    const int32_t *news = s->news.ptr;
    const struct day_run *old = s->worn.ptr;
    struct rows joined = {0};
    size_t o = 0, n = 0;
    while (o < s->worn.n || n < s->news.n) {
        bool is_old = n == s->news.n || (o < s->worn.n && old[o].from <= news[n]);
        struct day_run run = is_old ? old[o++] : (struct day_run){news[n], news[n]};
        if (!is_old) n++;
        enum weir_status st = push_run(&joined, run);
        if (st == WEIR_OK) continue;
        mem_free(joined.ptr);
        return st;
    }
    if (!is_same_runs(&joined, &s->worn)) f->has_source_news = true;
    mem_free(s->worn.ptr);
    s->worn = joined;
    s->news.n = 0;
    return WEIR_OK;
}

enum weir_status facts_join_worn(struct facts *f)
{
    for (size_t i = 0; i < f->n_sources; i++) {
        enum weir_status st = join_runs(f, f->known[i]);
        if (st != WEIR_OK) return st;
        if (f->known[i]->is_new) f->has_source_news = true;
    }
    return WEIR_OK;
}

/* ---- documents ---- */

void facts_put_sources(struct facts *f, struct weir_buf *out)
{
    struct doc_sources named = {0};
    for (size_t i = 0; i < f->n_sources; i++) doc_sources_add(&named, (uint16_t)i);
    doc_put_head(out, &named, f->sources, f->n_sources);
    for (size_t i = 0; i < f->n_sources; i++) {
        const struct known_source *s = f->known[i];
        bool has_cutoff = s->cutoff.at != INT64_MIN;
        pack_put_i64(out, has_cutoff ? s->cutoff.at : 0);
        pack_put_i64(out, has_cutoff ? s->cutoff.offset : 0);
        pack_put_u64(out, s->worn.n);
        int32_t end = 0;
        for (size_t k = 0; k < s->worn.n; k++) {
            struct day_run run = ((const struct day_run *)s->worn.ptr)[k];
            pack_put_i64(out, run.from - end);
            pack_put_u64(out, (uint64_t)(run.to - run.from));
            end = run.to;
        }
    }
}

void facts_put_index(const struct facts *f, struct weir_buf *out)
{
    weir_buf_append_char(out, DOC_VERSION);
    pack_put_u64(out, f->index.n);
    for (size_t i = 0; i < f->index.n; i++) {
        const struct index_row *row = (const struct index_row *)f->index.ptr + i;
        pack_put_text(out, row->name);
        pack_put_u64(out, row->n);
        pack_put_i64(out, row->first);
        pack_put_i64(out, row->newest);
    }
}

/* The days of one source; joined with those in memory that are not stored yet. */
static enum weir_status read_known(struct facts *f, struct unpack *u, struct known_source *s)
{
    struct moment cutoff = {.at = unpack_i64(u), .offset = (int32_t)unpack_i64(u)};
    if (cutoff.at != 0 && cutoff.at > s->cutoff.at) s->cutoff = cutoff;
    size_t n = unpack_count(u);
    struct rows worn = {0};
    int64_t end = 0;
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < n && st == WEIR_OK; i++) {
        int64_t from = end + unpack_i64(u);
        end = from + (int64_t)unpack_u64(u);
        if (u->is_bad || from < DAY_MIN || end < from || end > DAY_MAX) st = WEIR_CORRUPT;
        else st = push_run(&worn, (struct day_run){(int32_t)from, (int32_t)end});
    }
    for (size_t i = 0; i < s->worn.n && st == WEIR_OK; i++) {
        struct day_run run = ((const struct day_run *)s->worn.ptr)[i];
        for (int32_t day = run.from; day <= run.to; day++) facts_note_worn(f, s, NULL, day, 1);
    }
    if (st != WEIR_OK) {
        mem_free(worn.ptr);
        return st;
    }
    mem_free(s->worn.ptr);
    s->worn = worn;
    return WEIR_OK;
}

static enum weir_status read_sources(struct facts *f, struct weir_slice body)
{
    struct unpack u = unpack_begin(body);
    size_t n = doc_read_head(&u);
    struct known_source **read = mem_alloc(n * sizeof *read + 1);
    if (!read) return WEIR_NOMEM;
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < n && st == WEIR_OK; i++) {
        struct source source = doc_read_source(&u);
        if (u.is_bad) st = WEIR_CORRUPT;
        else if (!(read[i] = find_source(f, &source, &st))) continue;
        else read[i]->is_new = false;
    }
    for (size_t i = 0; i < n && st == WEIR_OK; i++) st = read_known(f, &u, read[i]);
    mem_free(read);
    return st == WEIR_OK && u.is_bad ? WEIR_CORRUPT : st;
}

static enum weir_status read_index(struct facts *f, struct weir_slice body)
{
    struct unpack u = unpack_begin(body);
    if (unpack_byte(&u) != DOC_VERSION) return WEIR_CORRUPT;
    size_t n = unpack_count(&u);
    f->index.n = 0;
    for (size_t i = 0; i < n; i++) {
        struct index_row row = {.name = unpack_text(&u),
                                .n = (uint32_t)unpack_u64(&u),
                                .first = (int32_t)unpack_i64(&u),
                                .newest = (int32_t)unpack_i64(&u)};
        bool is_changed;
        if (u.is_bad || row.n == 0) return WEIR_CORRUPT;
        enum weir_status st = facts_index_set(f, &row, &is_changed);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* Reads a document unless it is the one that was read last; version 0: there is none. */
static enum weir_status load_doc(struct facts *f, const char *kind, int64_t *version,
                                 enum weir_status (*take)(struct facts *f, struct weir_slice body))
{
    struct doc doc;
    enum weir_status st =
        store_doc_get(f->store, (struct doc_key){weir_slice_of(kind), f->user}, &doc);
    if (st == WEIR_NOT_FOUND) *version = 0;
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st != WEIR_OK) return st;
    if (!f->is_loaded || doc.version != *version) st = take(f, doc.body);
    *version = doc.version;
    doc_fini(&doc);
    return st;
}

enum weir_status facts_load(struct facts *f)
{
    enum weir_status st = load_doc(f, "sources", &f->sources_version, read_sources);
    if (st == WEIR_OK) st = load_doc(f, "metrics", &f->index_version, read_index);
    f->is_loaded = st == WEIR_OK;
    return st;
}

/* ---- the index ---- */

static int compare_names(struct weir_slice a, struct weir_slice b)
{
    struct source x = {.name = a}, y = {.name = b};
    return compare_sources(&x, &y);
}

static enum weir_status insert_row(struct facts *f, size_t at, const struct index_row *row)
{
    char *name = arena_alloc(&f->stays, row->name.len + 1);
    if (!name || !rows_push(&f->index, sizeof *row)) return WEIR_NOMEM;
    struct index_row *rows = f->index.ptr;
    memmove(rows + at + 1, rows + at, (f->index.n - 1 - at) * sizeof *rows);
    if (row->name.len > 0) memcpy(name, row->name.ptr, row->name.len);
    rows[at] = *row;
    rows[at].name.ptr = name;
    return WEIR_OK;
}

enum weir_status facts_index_set(struct facts *f, const struct index_row *row, bool *is_changed)
{
    struct index_row *rows = f->index.ptr;
    size_t at = 0;
    while (at < f->index.n && compare_names(rows[at].name, row->name) < 0) at++;
    bool is_there = at < f->index.n && slice_eq(rows[at].name, row->name);
    *is_changed = true;
    if (!is_there && row->n > 0) return insert_row(f, at, row);
    *is_changed = is_there && (rows[at].n != row->n || rows[at].first != row->first ||
                               rows[at].newest != row->newest);
    if (!*is_changed) return WEIR_OK;
    struct weir_slice name = rows[at].name;
    rows[at] = *row;
    rows[at].name = name;
    if (row->n > 0) return WEIR_OK;
    memmove(rows + at, rows + at + 1, (f->index.n - 1 - at) * sizeof *rows);
    f->index.n--;
    return WEIR_OK;
}
