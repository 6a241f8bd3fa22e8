/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of daily values, and which of several values of a day counts. */
#include "data/series_doc.h"

#include "base/check.h"

enum { ROW_SCALE = 7, ROW_SAME_SOURCE = 8, ROW_PARTIAL = 16, ROW_NEXT_DAY = 32 };

void doc_sources_add(struct doc_sources *s, uint16_t source)
{
    CHECK(source < DOC_MAX_SOURCES);
    s->local[source] = 1;
}

void doc_put_head(struct weir_buf *out, struct doc_sources *s, const struct source *all,
                  size_t n_all)
{
    weir_buf_append_char(out, DOC_VERSION);
    s->n = 0;
    for (size_t i = 0; i < n_all; i++)
        if (s->local[i] > 0) s->local[i] = (uint16_t)++s->n;
    pack_put_u64(out, s->n);
    for (size_t i = 0; i < n_all; i++) {
        if (s->local[i] == 0) continue;
        weir_buf_append_char(out, (char)all[i].kind);
        pack_put_text(out, all[i].name);
    }
}

size_t doc_read_head(struct unpack *u)
{
    if (unpack_byte(u) != DOC_VERSION) u->is_bad = true;
    size_t n = unpack_count(u);
    if (n > DOC_MAX_SOURCES) u->is_bad = true;
    return u->is_bad ? 0 : n;
}

struct source doc_read_source(struct unpack *u)
{
    uint8_t kind = unpack_byte(u);
    if (kind > SOURCE_LAB) u->is_bad = true;
    struct source s = {.kind = u->is_bad ? SOURCE_UNKNOWN : (enum source_class)kind};
    s.name = unpack_text(u);
    return s;
}

void doc_put_rows(struct weir_buf *out, const struct doc_sources *s, const struct day_row *rows,
                  size_t n)
{
    pack_put_u64(out, n);
    int32_t day = 0;
    uint16_t source = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[4 * PACK_MAX_BYTES], *at = bytes + 1;
        const struct day_row *r = &rows[i];
        int64_t scaled;
        unsigned scale = pack_scale(r->value, &scaled), flags = scale;
        uint16_t local = (uint16_t)(s->local[r->source] - 1);
        if (r->is_partial) flags |= ROW_PARTIAL;
        if (i > 0 && r->day == day + 1) flags |= ROW_NEXT_DAY;
        else at = pack_i64(at, r->day - day);
        if (i > 0 && local == source) flags |= ROW_SAME_SOURCE;
        else at = pack_u64(at, local);
        at = pack_double(at, scale, scaled, r->value);
        bytes[0] = (uint8_t)flags;
        weir_buf_append(out, bytes, (size_t)(at - bytes));
        day = r->day;
        source = local;
    }
}

void doc_read_row(struct unpack *u, struct day_row *row, bool is_first)
{
    unsigned flags = unpack_byte(u);
    int64_t day = is_first ? 0 : row->day;
    day += flags & ROW_NEXT_DAY ? 1 : unpack_i64(u);
    if (day < DAY_MIN || day > DAY_MAX) u->is_bad = true;
    else row->day = (int32_t)day;
    uint64_t source = flags & ROW_SAME_SOURCE ? row->source : unpack_u64(u);
    if (source >= DOC_MAX_SOURCES) u->is_bad = true;
    else row->source = (uint16_t)source;
    row->is_partial = flags & ROW_PARTIAL;
    row->value = unpack_double(u, flags & ROW_SCALE);
}

int day_row_compare(const void *pa, const void *pb)
{
    const struct day_row *a = pa, *b = pb;
    if (a->day != b->day) return a->day < b->day ? -1 : 1;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    if (a->is_partial != b->is_partial) return a->is_partial ? 1 : -1;
    return (a->value < b->value) - (a->value > b->value);
}

/* ---- which value counts ---- */

struct candidate {
    const struct day_row *row;
    bool is_merged;
};

/*
 * What is possible before what is not; whole days before partial ones; then who is believed more;
 * then what we merged ourselves before what somebody computed; then by name, so that one device
 * is kept from day to day; then the larger value.
 */
static bool is_better(const struct resolve_input *in, struct candidate a, struct candidate b)
{
    bool is_possible = merge_is_plausible(in->metric, a.row->value);
    if (is_possible != merge_is_plausible(in->metric, b.row->value)) return is_possible;
    if (a.row->is_partial != b.row->is_partial) return !a.row->is_partial;
    unsigned ra = merge_rank(in->metric, in->sources[a.row->source].kind);
    unsigned rb = merge_rank(in->metric, in->sources[b.row->source].kind);
    if (ra != rb) return ra < rb;
    if (a.is_merged != b.is_merged) return a.is_merged;
    return day_row_compare(a.row, b.row) < 0;
}

size_t series_resolve(const struct resolve_input *in, struct day_row *out)
{
    size_t n = 0, m = 0, g = 0;
    while (m < in->n_merged || g < in->n_given) {
        bool is_merged =
            g == in->n_given || (m < in->n_merged && in->merged[m].day <= in->given[g].day);
        struct candidate best = {is_merged ? &in->merged[m++] : &in->given[g++], is_merged};
        for (; g < in->n_given && in->given[g].day == best.row->day; g++) {
            struct candidate other = {&in->given[g], false};
            if (is_better(in, other, best)) best = other;
        }
        out[n++] = *best.row;
    }
    return n;
}
