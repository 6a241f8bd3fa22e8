/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of passages' words, as it is written: a row for each word of a passage with all places
 * where it stands. A passage that changes loses all its rows and gets new ones.
 */
#include <string.h>

#include <weir/buf.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/db_words.h"
#include "store/pg_tables.h"

enum {
    MAX_BYTES = 256 << 20, /* of all that a batch may bring */
    MAX_WORDS = 4 << 20,
    ROWS = 32 << 10, /* in a statement */
    PLACE_BYTES = 4,
};

/* Growing arrays of the same length each. */
struct rows {
    int64_t *passage; /* number of the passage, from 1 on */
    struct weir_slice *word, *places;
    size_t n, cap;
};

struct ids {
    struct weir_slice *id;
    size_t n, cap;
};

/* One word of one passage at one place. */
struct token {
    uint32_t row; /* in `rows` */
    uint32_t place;
};

struct pg_words {
    struct db_words words;
    struct arena memory;
    struct ids changed, removed, put_ids, put_owners;
    int64_t *put_counts;
    size_t cap_counts;
    struct rows rows;
    /* Of the passage that is being cut. */
    struct map known; /* word -> its row + 1 */
    struct token *tokens;
    size_t n_tokens, cap_tokens;
    uint32_t place;
    enum weir_status status;
};

/* ---- life ---- */

enum weir_status pg_words_new(struct pg_words **out)
{
    struct pg_words *w = mem_zalloc(sizeof *w);
    *out = NULL;
    if (!w) return WEIR_NOMEM;
    arena_init(&w->memory, MAX_BYTES);
    map_init_borrowing(&w->known, MAX_WORDS);
    enum weir_status st = db_words_open_alone(&w->words);
    if (st != WEIR_OK) {
        pg_words_free(w);
        return st;
    }
    *out = w;
    return WEIR_OK;
}

void pg_words_free(struct pg_words *w)
{
    if (!w) return;
    db_words_close(&w->words);
    arena_fini(&w->memory);
    map_fini(&w->known);
    mem_free(w->changed.id);
    mem_free(w->removed.id);
    mem_free(w->put_ids.id);
    mem_free(w->put_owners.id);
    mem_free(w->put_counts);
    mem_free(w->rows.passage);
    mem_free(w->rows.word);
    mem_free(w->rows.places);
    mem_free(w->tokens);
    mem_free(w);
}

void pg_words_reset(struct pg_words *w)
{
    arena_reset(&w->memory);
    w->changed.n = w->removed.n = w->put_ids.n = w->put_owners.n = 0;
    w->rows.n = 0;
}

/* ---- growing ---- */

static bool grow(void **array, size_t *cap, size_t size, size_t n)
{
    if (n < *cap) return true;
    size_t more = *cap > 0 ? *cap * 2 : 64;
    void *larger = mem_realloc(*array, more * size);
    if (!larger) return false;
    *array = larger;
    *cap = more;
    return true;
}

static bool copy(struct pg_words *w, struct weir_slice *s)
{
    char *bytes = arena_alloc(&w->memory, s->len + 1);
    if (!bytes) return false;
    if (s->len > 0) memcpy(bytes, s->ptr, s->len);
    s->ptr = bytes;
    return true;
}

static bool add_id(struct ids *ids, struct weir_slice id)
{
    if (!grow((void **)&ids->id, &ids->cap, sizeof *ids->id, ids->n)) return false;
    ids->id[ids->n++] = id;
    return true;
}

/* The row of a word that the passage has not had yet. */
static bool add_row(struct pg_words *w, struct weir_slice word, size_t *row)
{
    struct rows *r = &w->rows;
    size_t caps[3] = {r->cap, r->cap, r->cap};
    if (!copy(w, &word) || !grow((void **)&r->passage, &caps[0], sizeof *r->passage, r->n) ||
        !grow((void **)&r->word, &caps[1], sizeof *r->word, r->n) ||
        !grow((void **)&r->places, &caps[2], sizeof *r->places, r->n))
        return false;
    r->cap = caps[0];
    *row = r->n++;
    r->passage[*row] = (int64_t)w->put_ids.n;
    r->word[*row] = word;
    r->places[*row] = (struct weir_slice){0}; /* its length is counted first */
    return map_put(&w->known, word, (void *)(uintptr_t)(*row + 1)) == WEIR_OK;
}

/* ---- cutting ---- */

static bool add_token(void *user, struct weir_slice word, size_t start, size_t end)
{
    struct pg_words *w = user;
    (void)start;
    (void)end;
    if (word.len > PG_WORDS_BYTES) word.len = PG_WORDS_BYTES;
    size_t row = (size_t)(uintptr_t)map_get(&w->known, word);
    bool has_row = row > 0 ? (row--, true) : add_row(w, word, &row);
    if (!has_row || !grow((void **)&w->tokens, &w->cap_tokens, sizeof *w->tokens, w->n_tokens)) {
        w->status = WEIR_NOMEM;
        return false;
    }
    w->tokens[w->n_tokens++] = (struct token){(uint32_t)row, w->place++};
    w->rows.places[row].len += PLACE_BYTES;
    return true;
}

/* Places of each word, one behind the other: tokens come in their order. */
static bool lay_out(struct pg_words *w, size_t first_row)
{
    struct rows *r = &w->rows;
    char *at = arena_alloc(&w->memory, w->n_tokens * PLACE_BYTES + 1);
    if (!at) return false;
    for (size_t i = first_row; i < r->n; i++) {
        r->places[i].ptr = at;
        at += r->places[i].len;
        r->places[i].len = 0;
    }
    for (size_t i = 0; i < w->n_tokens; i++) {
        struct weir_slice *places = &r->places[w->tokens[i].row];
        uint32_t place = w->tokens[i].place;
        char bytes[PLACE_BYTES] = {(char)(place >> 24), (char)(place >> 16), (char)(place >> 8),
                                   (char)place};
        memcpy((char *)(uintptr_t)places->ptr + places->len, bytes, PLACE_BYTES);
        places->len += PLACE_BYTES;
    }
    return true;
}

static WEIR_MUST_CHECK enum weir_status cut(struct pg_words *w, struct weir_slice title,
                                            struct weir_slice text)
{
    size_t first_row = w->rows.n;
    w->n_tokens = 0;
    w->place = 0;
    w->status = WEIR_OK;
    enum weir_status st = db_words_each(&w->words, title, add_token, w);
    w->place = PG_WORDS_IN_TEXT;
    if (st == WEIR_OK && w->status == WEIR_OK) st = db_words_each(&w->words, text, add_token, w);
    if (st == WEIR_OK) st = w->status;
    if (st == WEIR_OK && !lay_out(w, first_row)) st = WEIR_NOMEM;
    map_fini(&w->known);
    map_init_borrowing(&w->known, MAX_WORDS);
    return st;
}

enum weir_status pg_words_put(struct pg_words *w, const struct doc *passage)
{
    struct weir_slice id = passage->id;
    struct weir_slice owner = passage->owner;
    struct weir_slice body = passage->body;
    const char *end = body.len > 0 ? memchr(body.ptr, '\n', body.len) : NULL;
    size_t n_title = end ? (size_t)(end - body.ptr) : body.len;
    struct weir_slice text = end ? slice_from(body, n_title + 1) : (struct weir_slice){0};
    if (!copy(w, &id) || !copy(w, &owner) || !add_id(&w->changed, id) || !add_id(&w->put_ids, id) ||
        !add_id(&w->put_owners, owner) ||
        !grow((void **)&w->put_counts, &w->cap_counts, sizeof *w->put_counts, w->put_ids.n))
        return WEIR_NOMEM;
    enum weir_status st = cut(w, slice_of(body.ptr, n_title), text);
    w->put_counts[w->put_ids.n - 1] = (int64_t)w->n_tokens;
    return st;
}

enum weir_status pg_words_remove(struct pg_words *w, struct weir_slice id)
{
    if (!copy(w, &id) || !add_id(&w->changed, id) || !add_id(&w->removed, id)) return WEIR_NOMEM;
    return WEIR_OK;
}

/* ---- sending ---- */

static void send_rows(const struct pg_words *w, struct pg *pg, size_t at, size_t n)
{
    pg_call(pg, "INSERT INTO weir.words (owner, word, passage, places)"
                " SELECT p.owner, w.word, p.id, w.places"
                " FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) w(n, word, places)"
                " JOIN unnest($4::bytea[], $5::bytea[]) WITH ORDINALITY p(id, owner, n)"
                " ON p.n = w.n");
    pg_ints(pg, w->rows.passage + at, n);
    pg_bytes_array(pg, w->rows.word + at, n);
    pg_bytes_array(pg, w->rows.places + at, n);
    pg_bytes_array(pg, w->put_ids.id, w->put_ids.n);
    pg_bytes_array(pg, w->put_owners.id, w->put_owners.n);
    pg_send(pg);
}

void pg_words_send(const struct pg_words *w, struct pg *pg)
{
    if (w->changed.n == 0) return;
    pg_call(pg, "DELETE FROM weir.words WHERE passage = ANY($1)");
    pg_bytes_array(pg, w->changed.id, w->changed.n);
    pg_send(pg);
    if (w->removed.n > 0) {
        pg_call(pg, "DELETE FROM weir.passages WHERE id = ANY($1)");
        pg_bytes_array(pg, w->removed.id, w->removed.n);
        pg_send(pg);
    }
    if (w->put_ids.n == 0) return;
    pg_call(pg, "INSERT INTO weir.passages (id, owner, n_words)"
                " SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[])"
                " ON CONFLICT (id) DO UPDATE"
                " SET owner = excluded.owner, n_words = excluded.n_words");
    pg_bytes_array(pg, w->put_ids.id, w->put_ids.n);
    pg_bytes_array(pg, w->put_owners.id, w->put_owners.n);
    pg_ints(pg, w->put_counts, w->put_ids.n);
    pg_send(pg);
    for (size_t at = 0; at < w->rows.n; at += ROWS)
        send_rows(w, pg, at, w->rows.n - at < ROWS ? w->rows.n - at : ROWS);
}
