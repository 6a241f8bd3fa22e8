/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phrases are found in a text by shifting: a bit for each word of the query says that the phrase is
 * there up to it, and each word of the text moves them all one further. FTS5's own highlight() is
 * not used, for it takes a time that grows with the square of what there is to mark.
 */
#include "store/db_query.h"

#include <string.h>

#include "base/slice.h"

static const char blanks[] = {' ', '\t', '\r', '\n'};

static bool is_blank(char c)
{
    return memchr(blanks, c, sizeof blanks) != NULL;
}

/* ---- reading ---- */

struct piece {
    struct db_query *q;
    size_t n_before;
    size_t end; /* of the last word */
};

static bool add_word(void *user, struct weir_slice word, size_t start, size_t end)
{
    struct piece *p = user;
    struct db_query *q = p->q;
    (void)start;
    if (q->n == PASSAGE_MAX_WORDS) {
        q->bytes.status = WEIR_LIMIT;
        return false;
    }
    if (q->n == p->n_before) q->firsts |= UINT32_C(1) << q->n;
    weir_buf_append_slice(&q->bytes, word);
    q->ends[q->n++] = q->bytes.len;
    p->end = end;
    return true;
}

/* A word or phrase as it was written; signs cut it. */
static WEIR_MUST_CHECK enum weir_status add_piece(struct db_query *q, const struct db_words *words,
                                                  struct weir_slice text, bool may_be_prefix)
{
    struct piece p = {q, q->n, 0};
    enum weir_status st = db_words_each(words, text, add_word, &p);
    if (q->n > p.n_before) {
        q->lasts |= UINT32_C(1) << (q->n - 1);
        q->is_prefix = may_be_prefix && p.end == text.len;
    }
    return st == WEIR_OK ? weir_buf_status(&q->bytes) : st;
}

/* The next phrase or word of a query, taken off it; false: there is none. */
static bool next_piece(struct weir_slice *rest, struct weir_slice *piece, bool *is_phrase)
{
    while (rest->len > 0 && is_blank(rest->ptr[0])) *rest = slice_from(*rest, 1);
    if (rest->len == 0) return false;
    *is_phrase = rest->ptr[0] == '"';
    if (*is_phrase) *rest = slice_from(*rest, 1);
    size_t n = 0;
    while (n < rest->len && rest->ptr[n] != '"' && (*is_phrase || !is_blank(rest->ptr[n]))) n++;
    *piece = slice_of(rest->ptr, n);
    *rest = slice_from(*rest, n);
    if (*is_phrase && rest->len > 0) *rest = slice_from(*rest, 1);
    return true;
}

enum weir_status db_query_read(struct db_query *q, const struct db_words *words,
                               struct weir_slice text)
{
    struct weir_slice rest = text;
    struct weir_slice piece;
    bool is_phrase;
    enum weir_status st = WEIR_OK;
    *q = (struct db_query){0};
    /* Folding may make a letter longer. */
    weir_buf_init(&q->bytes, 4UL * PASSAGE_WORDS_BYTES);
    if (text.len > PASSAGE_WORDS_BYTES) return WEIR_LIMIT;
    if (passage_good_prefix(text) < text.len) return WEIR_INVALID;
    while (st == WEIR_OK && next_piece(&rest, &piece, &is_phrase))
        st = add_piece(q, words, piece, !is_phrase && rest.len == 0);
    for (size_t i = 0, at = 0; i < q->n; at = q->ends[i++])
        q->words[i] = slice_of(q->bytes.ptr + at, q->ends[i] - at);
    return st == WEIR_OK && q->n == 0 ? WEIR_INVALID : st;
}

void db_query_fini(struct db_query *q)
{
    weir_buf_fini(&q->bytes);
}

/* ---- the expression ---- */

/* The column has no weight: it is there so that what is somebody else's is never looked at. */
static void put_owner(struct weir_buf *out, struct weir_slice owner)
{
    weir_buf_append_str(out, "owner:\"o");
    for (size_t i = 0; i < owner.len; i++)
        weir_buf_printf(out, "%02x", (unsigned)(unsigned char)owner.ptr[i]);
    weir_buf_append_str(out, "\" AND {title text}:(");
}

void db_query_put(struct weir_buf *out, const struct db_query *q, struct weir_slice owner,
                  bool is_any)
{
    put_owner(out, owner);
    for (size_t i = 0; i < q->n; i++) {
        bool is_first = q->firsts >> i & 1;
        bool is_last = q->lasts >> i & 1;
        if (is_first && i > 0) weir_buf_append_str(out, is_any ? " OR " : " AND ");
        weir_buf_append_char(out, is_first ? '"' : ' ');
        weir_buf_append_slice(out, q->words[i]); /* letters and digits: there is no quote in it */
        if (is_last) weir_buf_append_char(out, '"');
    }
    weir_buf_append_str(out, q->is_prefix ? "*)" : ")");
}

/* ---- finding ---- */

struct shifting {
    const struct db_query *q;
    struct db_ranges *out;
    uint32_t state;
    size_t starts[PASSAGE_MAX_WORDS]; /* of the latest words, by their number */
    size_t n;                         /* words so far */
};

static bool is_word(const struct db_query *q, size_t i, struct weir_slice word)
{
    struct weir_slice wanted = q->words[i];
    if (q->is_prefix && i == q->n - 1 && word.len > wanted.len) word.len = wanted.len;
    return slice_eq(word, wanted);
}

/* False: there is no room for it. */
static bool add_range(struct db_ranges *r, struct passage_range range)
{
    while (r->n > 0 && r->list[r->n - 1].end > range.start) {
        struct passage_range last = r->list[--r->n];
        if (last.start < range.start) range.start = last.start;
    }
    if (r->n == PASSAGE_MAX_RANGES) return false;
    r->list[r->n++] = range;
    return true;
}

/* The longest phrase that ends here, from its first word on. */
static bool end_phrases(struct shifting *s, uint32_t ended, size_t end)
{
    size_t start = end;
    for (size_t i = 0, first = 0; i < s->q->n; i++) {
        if (s->q->firsts >> i & 1) first = i;
        if (!(ended >> i & 1)) continue;
        size_t from = s->starts[(s->n - 1 - (i - first)) % PASSAGE_MAX_WORDS];
        if (from < start) start = from;
    }
    return add_range(s->out, (struct passage_range){start, end});
}

static bool shift(void *user, struct weir_slice word, size_t start, size_t end)
{
    struct shifting *s = user;
    uint32_t here = 0;
    for (size_t i = 0; i < s->q->n; i++) here |= (uint32_t)is_word(s->q, i, word) << i;
    s->state = ((s->state & ~s->q->lasts) << 1 | s->q->firsts) & here;
    s->starts[s->n++ % PASSAGE_MAX_WORDS] = start;
    uint32_t ended = s->state & s->q->lasts;
    return ended == 0 || end_phrases(s, ended, end);
}

enum weir_status db_query_find(const struct db_query *q, const struct db_words *words,
                               struct weir_slice text, struct db_ranges *out)
{
    struct shifting s = {.q = q, .out = out};
    out->n = 0;
    return db_words_each(words, text, shift, &s);
}
