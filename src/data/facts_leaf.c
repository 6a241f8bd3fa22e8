/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as a document: kind "facts". Behind the head of all documents (series_doc.h) a byte,
 * which is 0 here and 1 when the samples are in two other documents; then how many samples there
 * are, and of each, in order:
 *
 *   flags    a byte: scale of the value (bits 0 to 2), 8: length as in the sample before,
 *            16: source as in it, 32: offsets as in it
 *   start    seconds since the start of the one before (of 1970), signed for the first alone
 *   length   seconds; absent with 8
 *   source   its number in the head; absent with 16
 *   offset   of the start, then of the end less that of the start; seconds, signed; absent with 32
 *   value
 */
#include "base/mem.h"
#include "data/facts_impl.h"

enum { LEAF_BYTES = 2 << 20 }; /* of samples: three days of so many fit in one commit */

enum { ROW_SCALE = 7, ROW_SAME_LENGTH = 8, ROW_SAME_SOURCE = 16, ROW_SAME_OFFSET = 32 };

static uint8_t *put_fact(uint8_t *at, const struct fact *f, const struct fact *before,
                         const struct doc_sources *named)
{
    uint8_t *flags_at = at++;
    int64_t scaled;
    unsigned scale = pack_scale(f->value, &scaled), flags = scale;
    at = pack_i64(at, f->at - before->at);
    if (f->seconds == before->seconds) flags |= ROW_SAME_LENGTH;
    else at = pack_u64(at, f->seconds);
    if (f->source == before->source) flags |= ROW_SAME_SOURCE;
    else at = pack_u64(at, named->local[f->source] - 1u);
    if (f->offset == before->offset && f->end_offset == before->end_offset) {
        flags |= ROW_SAME_OFFSET;
    } else {
        at = pack_i64(at, f->offset);
        at = pack_i64(at, f->end_offset - f->offset);
    }
    at = pack_double(at, scale, scaled, f->value);
    *flags_at = (uint8_t)flags;
    return at;
}

/* How many of them fit, the first before the last. */
static size_t count_fitting(const struct fact *facts, size_t n, const struct doc_sources *named)
{
    struct fact before = {.source = UINT16_MAX};
    size_t n_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[7 * PACK_MAX_BYTES];
        n_bytes += (size_t)(put_fact(bytes, &facts[i], &before, named) - bytes);
        if (n_bytes > LEAF_BYTES) return i;
        before = facts[i];
    }
    return n;
}

size_t leaf_put(struct weir_buf *out, const struct facts *f, const struct fact *facts, size_t n)
{
    struct doc_sources named = {0};
    for (size_t i = 0; i < n; i++) named.local[facts[i].source] = 1;
    doc_put_head(out, &named, f->sources, f->n_sources);
    weir_buf_append_char(out, 0);
    if (n > LEAF_FACTS) n = count_fitting(facts, n, &named);
    pack_put_u64(out, n);
    struct fact before = {.source = UINT16_MAX};
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[7 * PACK_MAX_BYTES];
        uint8_t *end = put_fact(bytes, &facts[i], &before, &named);
        weir_buf_append(out, bytes, (size_t)(end - bytes));
        before = facts[i];
    }
    return n;
}

void leaf_put_split(struct weir_buf *out)
{
    struct doc_sources none = {0};
    doc_put_head(out, &none, NULL, 0);
    weir_buf_append_char(out, 1);
}

bool leaf_is_split(struct weir_slice body)
{
    return body.len == 3 && body.ptr[0] == DOC_VERSION && body.ptr[1] == 0 && body.ptr[2] == 1;
}

static int32_t read_offset(struct unpack *u, int32_t before)
{
    int64_t change = unpack_i64(u);
    bool is_possible = change >= -2 * FACTS_MAX_OFFSET && change <= 2 * FACTS_MAX_OFFSET;
    if (!is_possible) u->is_bad = true;
    return is_possible ? before + (int32_t)change : 0;
}

/* `f` is the one before, and becomes the next. */
static void read_fact(struct unpack *u, struct fact *f, const uint16_t *numbers, size_t n_numbers)
{
    unsigned flags = unpack_byte(u);
    f->at = (int64_t)((uint64_t)f->at + (uint64_t)unpack_i64(u));
    if (!(flags & ROW_SAME_LENGTH)) f->seconds = (uint32_t)unpack_u64(u);
    if (!(flags & ROW_SAME_SOURCE)) {
        uint64_t source = unpack_u64(u);
        if (source >= n_numbers) u->is_bad = true;
        else f->source = numbers[source];
    }
    if (!(flags & ROW_SAME_OFFSET)) {
        f->offset = read_offset(u, 0);
        f->end_offset = read_offset(u, f->offset);
    }
    f->value = unpack_double(u, flags & ROW_SCALE);
    if (f->seconds > FACTS_MAX_SECONDS) u->is_bad = true;
}

enum weir_status leaf_read(struct facts *f, struct weir_slice body, uint16_t metric,
                           struct fact **out, size_t *n)
{
    *out = NULL;
    uint16_t numbers[DOC_MAX_SOURCES];
    size_t n_numbers;
    struct unpack u = unpack_begin(body);
    enum weir_status st = facts_read_sources(f, &u, numbers, &n_numbers);
    if (st != WEIR_OK) return st;
    if (unpack_byte(&u) != 0) return WEIR_CORRUPT;
    *n = unpack_count(&u);
    *out = mem_alloc(*n * sizeof **out + 1);
    if (!*out) return WEIR_NOMEM;
    struct fact fact = {.metric = metric};
    for (size_t i = 0; i < *n && !u.is_bad; i++) {
        read_fact(&u, &fact, numbers, n_numbers);
        (*out)[i] = fact;
        if (i > 0 && fact_compare(&(*out)[i - 1], &fact) >= 0) u.is_bad = true;
        /* Nobody measured it: the first names its source. */
        if (fact.source >= f->n_sources) u.is_bad = true;
        if (metric == FACTS_STAGE && !(fact.value >= STAGE_IN_BED && fact.value <= STAGE_REM))
            u.is_bad = true;
    }
    if (!u.is_bad && u.at == u.end) return WEIR_OK;
    mem_free(*out);
    *out = NULL;
    return WEIR_CORRUPT;
}
