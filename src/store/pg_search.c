/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding passages on PostgreSQL. The server gives the rows of the query's words; which passages
 * have its phrases, and how good they are, is found out here: the same BM25, with the same weights,
 * as in the embedded engine, but for how common a word is, which is counted among the owner's own.
 * The texts of those that are shown are read in the same state of the database.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/hit.h"
#include "store/pg_tables.h"

enum { PLACE_BYTES = 4, MAX_BYTES = 256 << 20, N_COLUMNS = 2, SHOWN_AT_ONCE = 10 };

/* A word of the query in a passage; the slices are borrowed from rows. */
struct find {
    struct weir_slice passage, places;
    size_t word;
    double n_words; /* of the passage */
};

struct candidate {
    struct weir_slice id;
    double n_words;
    double rank;
    uint32_t *counts; /* of each phrase, in title and text; from the arena */
};

struct search {
    const struct passage_query *query;
    struct db_words words;
    struct db_query parsed;
    struct hits hits;
    struct arena memory;
    struct pg_rows *stats, *exact, *prefix;
    struct find *finds;
    size_t n_finds;
    struct candidate *candidates;
    size_t n_candidates;
    size_t n_phrases;
    size_t n_having[PASSAGE_MAX_WORDS];  /* passages that have a phrase */
    uint32_t *places[PASSAGE_MAX_WORDS]; /* of the words of a phrase in the passage looked at */
    size_t n_places[PASSAGE_MAX_WORDS];
};

/* ---- asking ---- */

static struct weir_slice cut_word(struct weir_slice word)
{
    return slice_of(word.ptr, word.len < PG_WORDS_BYTES ? word.len : PG_WORDS_BYTES);
}

static void ask_words(struct search *s, struct pg *pg)
{
    struct weir_slice words[PASSAGE_MAX_WORDS];
    int64_t numbers[PASSAGE_MAX_WORDS];
    size_t n = s->parsed.n - (s->parsed.is_prefix ? 1 : 0);
    for (size_t i = 0; i < n; i++) {
        words[i] = cut_word(s->parsed.words[i]);
        numbers[i] = (int64_t)i;
    }
    pg_call(pg, "SELECT w.passage, w.places, q.n, p.n_words"
                " FROM unnest($2::bigint[], $3::bytea[]) q(n, word)"
                " JOIN weir.words w ON w.owner = $1 AND w.word = q.word"
                " JOIN weir.passages p ON p.id = w.passage");
    pg_bytes(pg, s->query->owner);
    pg_ints(pg, numbers, n);
    pg_bytes_array(pg, words, n);
    pg_send(pg);
}

/* The last word is a beginning. No word has the byte 0xff, so that one ends them all. */
static void ask_prefix(struct search *s, struct pg *pg)
{
    char end[PG_WORDS_BYTES + 1];
    struct weir_slice word = cut_word(s->parsed.words[s->parsed.n - 1]);
    memcpy(end, word.ptr, word.len);
    end[word.len] = '\xff';
    pg_call(pg, "SELECT w.passage, w.places, $4, p.n_words FROM weir.words w"
                " JOIN weir.passages p ON p.id = w.passage"
                " WHERE w.owner = $1 AND w.word >= $2 AND w.word < $3");
    pg_bytes(pg, s->query->owner);
    pg_bytes(pg, word);
    pg_bytes(pg, slice_of(end, word.len + 1));
    pg_int(pg, (int64_t)s->parsed.n - 1);
    pg_send(pg);
}

static WEIR_MUST_CHECK enum weir_status ask(struct search *s, struct pg *pg)
{
    pg_call(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    pg_send(pg);
    pg_call(pg, "SELECT count(*), coalesce(sum(n_words), 0)::bigint"
                " FROM weir.passages WHERE owner = $1");
    pg_bytes(pg, s->query->owner);
    pg_send(pg);
    ask_words(s, pg);
    if (s->parsed.is_prefix) ask_prefix(s, pg);
    pg_sync(pg);
    enum weir_status st = pg_take(pg, NULL);
    if (st == WEIR_OK) st = pg_take(pg, &s->stats);
    if (st == WEIR_OK) st = pg_take(pg, &s->exact);
    if (st == WEIR_OK && s->parsed.is_prefix) st = pg_take(pg, &s->prefix);
    return st;
}

/* ---- matching ---- */

static int compare_bytes(struct weir_slice a, struct weir_slice b)
{
    size_t both = a.len < b.len ? a.len : b.len;
    int order = both > 0 ? memcmp(a.ptr, b.ptr, both) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_passage(const void *a, const void *b)
{
    const struct find *x = a;
    const struct find *y = b;
    int order = compare_bytes(x->passage, y->passage);
    return order != 0 ? order : (x->word > y->word) - (x->word < y->word);
}

static int by_rank(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return compare_bytes(x->id, y->id);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;
    return (*x > *y) - (*x < *y);
}

static uint32_t place_at(struct weir_slice places, size_t i)
{
    const unsigned char *p = (const unsigned char *)places.ptr + i * PLACE_BYTES;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static size_t take_rows(struct search *s, const struct pg_rows *rows, size_t at)
{
    size_t n = rows ? pg_n_rows(rows) : 0;
    for (size_t i = 0; i < n; i++)
        s->finds[at++] = (struct find){.passage = pg_get_bytes(rows, i, 0),
                                       .places = pg_get_bytes(rows, i, 1),
                                       .word = (size_t)pg_get_int(rows, i, 2),
                                       .n_words = (double)pg_get_int(rows, i, 3)};
    return at;
}

/* The places of each word in the passage of finds[from..to), sorted. False: no memory. */
static bool take_places(struct search *s, size_t from, size_t to)
{
    memset(s->n_places, 0, sizeof s->n_places);
    for (size_t i = from; i < to;) {
        size_t word = s->finds[i].word;
        size_t end = i;
        size_t n = 0;
        while (end < to && s->finds[end].word == word) n += s->finds[end++].places.len;
        n /= PLACE_BYTES;
        uint32_t *places = arena_alloc(&s->memory, n * sizeof *places + 1);
        if (!places) return false;
        size_t at = 0;
        for (size_t k = i; k < end; k++)
            for (size_t p = 0; p < s->finds[k].places.len / PLACE_BYTES; p++)
                places[at++] = place_at(s->finds[k].places, p);
        /* Of a beginning there may be several words. */
        if (end - i > 1) qsort(places, n, sizeof *places, by_number);
        s->places[word] = places;
        s->n_places[word] = n;
        i = end;
    }
    return true;
}

/* How often words first..last stand in a row, in title and text. */
static void count_phrase(const struct search *s, size_t first, size_t last,
                         uint32_t counts[N_COLUMNS])
{
    size_t at[PASSAGE_MAX_WORDS] = {0};
    counts[0] = counts[1] = 0;
    for (size_t i = 0; i < s->n_places[first]; i++) {
        uint32_t place = s->places[first][i];
        bool is_there = true;
        for (size_t w = first + 1; w <= last && is_there; w++) {
            uint32_t wanted = place + (uint32_t)(w - first);
            while (at[w] < s->n_places[w] && s->places[w][at[w]] < wanted) at[w]++;
            is_there = at[w] < s->n_places[w] && s->places[w][at[w]] == wanted;
        }
        if (is_there) counts[place >= PG_WORDS_IN_TEXT]++;
    }
}

/* Whether the passage of finds[from..to) is one; then it is the next candidate. */
static bool look_at(struct search *s, size_t from, size_t to)
{
    size_t n_there = 0;
    struct candidate *c = &s->candidates[s->n_candidates];
    *c = (struct candidate){.id = s->finds[from].passage, .n_words = s->finds[from].n_words};
    c->counts = arena_alloc(&s->memory, s->n_phrases * N_COLUMNS * sizeof *c->counts + 1);
    if (!c->counts || !take_places(s, from, to)) return false;
    for (size_t w = 0, first = 0, phrase = 0; w < s->parsed.n; w++) {
        if (s->parsed.firsts >> w & 1) first = w;
        if (!(s->parsed.lasts >> w & 1)) continue;
        uint32_t *counts = c->counts + N_COLUMNS * phrase;
        count_phrase(s, first, w, counts);
        bool is_there = counts[0] + counts[1] > 0;
        n_there += is_there;
        s->n_having[phrase++] += is_there;
    }
    if (s->query->is_any ? n_there > 0 : n_there == s->n_phrases) s->n_candidates++;
    return true;
}

/* ---- ranking ---- */

/* As FTS5 does it. The owner is a word of each passage there, and so it is here. */
static void rank_all(struct search *s)
{
    static const double k1 = 1.2;
    static const double b = 0.75;
    static const double weights[N_COLUMNS] = {2.0, 1.0};
    double n_rows = (double)pg_get_int(s->stats, 0, 0);
    double average = n_rows > 0 ? (double)pg_get_int(s->stats, 0, 1) / n_rows + 1 : 1;
    for (size_t p = 0; p < s->n_phrases; p++) {
        double n_having = (double)s->n_having[p];
        double rarity = log((n_rows - n_having + 0.5) / (n_having + 0.5));
        if (!(rarity > 0)) rarity = 1e-6;
        for (size_t i = 0; i < s->n_candidates; i++) {
            struct candidate *c = &s->candidates[i];
            const uint32_t *counts = c->counts + N_COLUMNS * p;
            double often = weights[0] * counts[0] + weights[1] * counts[1];
            double length = (c->n_words + 1) / average;
            c->rank -= rarity * (often * (k1 + 1)) / (often + k1 * (1 - b + b * length));
        }
    }
}

static WEIR_MUST_CHECK enum weir_status match(struct search *s)
{
    size_t n = pg_n_rows(s->exact) + (s->prefix ? pg_n_rows(s->prefix) : 0);
    if (n == 0) return WEIR_OK;
    s->finds = mem_alloc(n * sizeof *s->finds);
    s->candidates = mem_alloc(n * sizeof *s->candidates);
    if (!s->finds || !s->candidates) return WEIR_NOMEM;
    s->n_finds = take_rows(s, s->prefix, take_rows(s, s->exact, 0));
    qsort(s->finds, n, sizeof *s->finds, by_passage);
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && slice_eq(s->finds[end].passage, s->finds[i].passage)) end++;
        if (!look_at(s, i, end)) return s->memory.status;
        i = end;
    }
    rank_all(s);
    if (s->n_candidates > 0) qsort(s->candidates, s->n_candidates, sizeof *s->candidates, by_rank);
    return WEIR_OK;
}

/* ---- showing ---- */

static WEIR_MUST_CHECK enum weir_status show_some(struct search *s, struct pg *pg,
                                                  struct candidate *const *chosen, size_t n)
{
    struct weir_slice ids[SHOWN_AT_ONCE];
    struct pg_rows *rows = NULL;
    for (size_t i = 0; i < n; i++) ids[i] = chosen[i]->id;
    pg_call(pg, "SELECT d.body FROM unnest($1::bytea[]) WITH ORDINALITY q(id, n)"
                " JOIN weir.docs d ON d.kind = $2 AND d.id = q.id ORDER BY q.n");
    pg_bytes_array(pg, ids, n);
    pg_bytes(pg, passage_key((struct weir_slice){0}).kind);
    enum weir_status st = pg_run(pg, &rows);
    if (st != WEIR_OK) return st;
    if (pg_n_rows(rows) != n) st = WEIR_CORRUPT;
    for (size_t i = 0; i < n && st == WEIR_OK; i++) {
        struct weir_slice body = pg_get_bytes(rows, i, 0);
        const char *end = memchr(body.ptr, '\n', body.len);
        struct passage_hit hit = {.id = ids[i], .rank = chosen[i]->rank};
        if (!end) {
            st = WEIR_CORRUPT;
        } else {
            hit.title = slice_of(body.ptr, (size_t)(end - body.ptr));
            hit.text = slice_from(body, hit.title.len + 1);
            st = hits_show(&s->hits, hit);
        }
    }
    pg_rows_free(rows);
    return st;
}

static WEIR_MUST_CHECK enum weir_status show_best(struct search *s, struct pg *pg)
{
    struct candidate *chosen[SHOWN_AT_ONCE];
    size_t n = 0;
    size_t n_chosen = 0;
    enum weir_status st = WEIR_OK;
    size_t n_seen = s->n_candidates < PASSAGE_LOOKED_AT ? s->n_candidates : PASSAGE_LOOKED_AT;
    for (size_t i = 0; i < n_seen && st == WEIR_OK && n_chosen < s->query->limit; i++) {
        if (!hits_want(&s->hits, s->candidates[i].id)) continue;
        chosen[n++] = &s->candidates[i];
        n_chosen++;
        if (n < SHOWN_AT_ONCE) continue;
        st = show_some(s, pg, chosen, n);
        n = 0;
    }
    return st == WEIR_OK && n > 0 ? show_some(s, pg, chosen, n) : st;
}

/* ---- all of it ---- */

static void forget(struct search *s)
{
    pg_rows_free(s->stats);
    pg_rows_free(s->exact);
    pg_rows_free(s->prefix);
    s->stats = s->exact = s->prefix = NULL;
    mem_free(s->finds);
    mem_free(s->candidates);
    s->finds = NULL;
    s->candidates = NULL;
    s->n_candidates = 0;
    memset(s->n_having, 0, sizeof s->n_having);
    weir_buf_reset(&s->hits.sources);
    arena_reset(&s->memory);
}

static enum weir_status run_search(struct pg *pg, void *user)
{
    struct search *s = user;
    /* A second try, when something was shown in the first. */
    if (s->hits.n_shown > 0) return WEIR_STORAGE;
    enum weir_status st = ask(s, pg);
    if (st == WEIR_OK) st = match(s);
    if (st == WEIR_OK) st = show_best(s, pg);
    forget(s);
    /* Nothing was changed: how it ends tells no more than what was read. */
    enum weir_status st_left = pg_take_all(pg);
    enum weir_status st_end = pg_script(pg, "ROLLBACK");
    (void)st_left;
    (void)st_end;
    return st;
}

enum weir_status pg_search(struct pg_pool *pool, const struct passage_query *query, passage_fn each,
                           void *user)
{
    struct search s = {.query = query};
    CHECK(query->limit > 0 && query->limit <= PASSAGE_MAX_HITS && query->owner.len > 0);
    enum weir_status st = db_words_open_alone(&s.words);
    if (st != WEIR_OK) return st;
    arena_init(&s.memory, MAX_BYTES);
    hits_init(&s.hits, query, &s.words, &s.parsed);
    s.hits.each = each;
    s.hits.user = user;
    st = db_query_read(&s.parsed, &s.words, query->words);
    for (size_t i = 0; i < s.parsed.n; i++) s.n_phrases += s.parsed.lasts >> i & 1;
    if (st == WEIR_OK) st = pg_with(pool, run_search, &s);
    arena_fini(&s.memory);
    hits_fini(&s.hits);
    db_query_fini(&s.parsed);
    db_words_close(&s.words);
    return st;
}
