/* SPDX-License-Identifier: Apache-2.0 */
/* Passages on PostgreSQL are found like those of the embedded engine, with the same ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/buf.h>

#include "base/slice.h"
#include "pg_server.h"
#include "store/pg_tables.h"
#include "t.h"

struct both {
    struct store *s;
    struct pg *pg;
    struct pg_pool *pool;
    struct pg_words *words;
};

static bool open_both(struct both *b, const char *name)
{
    struct store_error error = {""};
    const char *url = pg_server_database(name);
    *b = (struct both){0};
    if (!url) return false;
    T_EQ(pg_open(&b->pg, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    T_EQ(pg_migrate(b->pg, NULL), WEIR_OK);
    T_EQ(pg_pool_new(&b->pool, &(struct pg_options){.url = url, .role = PG_READER}, 2), WEIR_OK);
    T_EQ(pg_words_new(&b->words), WEIR_OK);
    T_EQ(store_open(&b->s, t_temp_dir(), NULL, &error), WEIR_OK);
    return true;
}

static void close_both(struct both *b)
{
    store_close(b->s);
    pg_words_free(b->words);
    pg_pool_free(b->pool);
    pg_close(b->pg);
}

static void put(struct both *b, const char *owner, const char *id, const char *title,
                const char *text)
{
    char body[4096];
    struct passage p = {weir_slice_of(id), weir_slice_of(owner), weir_slice_of(title),
                        weir_slice_of(text)};
    struct commit *c = commit_new(0);
    passage_put(c, &p, DOC_ANY_VERSION);
    T_EQ(store_commit_wait(b->s, c).status, WEIR_OK);
    snprintf(body, sizeof body, "%s\n%s", title, text);
    struct doc doc = {passage_key(p.id).kind, p.id, p.owner, weir_slice_of(body), 1, NULL};
    pg_words_reset(b->words);
    T_EQ(pg_words_put(b->words, &doc), WEIR_OK);
    pg_call(b->pg, "INSERT INTO weir.docs (kind, id, owner, version, body)"
                   " VALUES ('passage', $1, $2, 1, $3)"
                   " ON CONFLICT (kind, id) DO UPDATE SET owner = $2, body = $3");
    pg_bytes(b->pg, doc.id);
    pg_bytes(b->pg, doc.owner);
    pg_bytes(b->pg, doc.body);
    pg_send(b->pg);
    pg_words_send(b->words, b->pg);
    pg_sync(b->pg);
    T_EQ(pg_take_all(b->pg), WEIR_OK);
}

static void take_away(struct both *b, const char *id)
{
    struct commit *c = commit_new(0);
    commit_remove(c, passage_key(weir_slice_of(id)), DOC_ANY_VERSION);
    T_EQ(store_commit_wait(b->s, c).status, WEIR_OK);
    pg_words_reset(b->words);
    T_EQ(pg_words_remove(b->words, weir_slice_of(id)), WEIR_OK);
    pg_call(b->pg, "DELETE FROM weir.docs WHERE kind = 'passage' AND id = $1");
    pg_bytes(b->pg, weir_slice_of(id));
    pg_send(b->pg);
    pg_words_send(b->words, b->pg);
    pg_sync(b->pg);
    T_EQ(pg_take_all(b->pg), WEIR_OK);
}

/* ---- comparing ---- */

struct answer {
    struct weir_buf text;
    double ranks[PASSAGE_MAX_HITS];
    size_t n;
};

static void put_ranges(struct weir_buf *out, const struct passage_range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++) weir_buf_printf(out, " %zu-%zu", ranges[i].start, ranges[i].end);
    weir_buf_append_char(out, '|');
}

static enum weir_status note_hit(void *user, const struct passage_hit *hit)
{
    struct answer *a = user;
    weir_buf_append_slice(&a->text, hit->id);
    put_ranges(&a->text, hit->in_title, hit->n_in_title);
    put_ranges(&a->text, hit->in_text, hit->n_in_text);
    a->ranks[a->n++] = hit->rank;
    return WEIR_OK;
}

/* How many were found, by both alike. */
static size_t compare(struct both *b, const struct passage_query *query)
{
    struct answer want = {0};
    struct answer got = {0};
    weir_buf_init(&want.text, 1 << 20);
    weir_buf_init(&got.text, 1 << 20);
    T_EQ(pg_search(b->pool, query, note_hit, &got), store_search(b->s, query, note_hit, &want));
    T_EQ_SLICE(weir_buf_slice(&got.text), weir_buf_slice(&want.text));
    for (size_t i = 0; i < got.n && i < want.n; i++)
        T_OK(fabs(got.ranks[i] - want.ranks[i]) <= 1e-9 * fabs(want.ranks[i]) + 1e-12);
    weir_buf_fini(&want.text);
    weir_buf_fini(&got.text);
    return got.n;
}

static const char *const vocabulary[] = {"one",  "two",   "ones", "twofold", "café",  "cafe",
                                         "糖尿", "病",    "a-b",  "x_1",     "x_12",  "THREE",
                                         "tree", "trees", "e",    "ñandú",   "2024.5"};

static void put_words(char *out, size_t size, size_t n)
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && len + 16 < size; i++) {
        const char *word = vocabulary[t_random() % (sizeof vocabulary / sizeof *vocabulary)];
        len += (size_t)snprintf(out + len, size - len, "%s%s", len > 0 ? " " : "", word);
    }
}

static void put_query(char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t n = 1 + t_random() % 3; n > 0; n--) {
        char words[80];
        bool is_phrase = t_random() % 3 == 0;
        put_words(words, sizeof words, is_phrase ? 1 + t_random() % 3 : 1);
        len += (size_t)snprintf(out + len, size - len, is_phrase ? "\"%s\" " : "%s ", words);
    }
    /* With nothing behind it, the last word is a beginning. */
    if (t_random() % 2 == 0) out[len - 1] = '\0';
}

TEST(random_queries_are_answered_like_the_embedded_engine_does)
{
    struct both b;
    size_t n_found = 0;
    if (!open_both(&b, "search")) return;
    for (unsigned i = 0; i < 60; i++) {
        char id[16], title[64], text[400];
        snprintf(id, sizeof id, "%c/%u", (char)('a' + i % 7), i);
        put_words(title, sizeof title, t_random() % 3);
        put_words(text, sizeof text, t_random() % 25);
        put(&b, "ann", id, title, text);
        if (i % 9 == 5) put(&b, "ann", id, text[0] ? "anew" : "", title);
        if (i % 11 == 7) take_away(&b, id);
    }
    for (size_t i = 0; i < t_rounds(150); i++) {
        char words[300];
        put_query(words, sizeof words);
        struct passage_query q = {.owner = SLICE("ann"),
                                  .words = weir_slice_of(words),
                                  .is_any = t_random() % 2,
                                  .limit = 1 + t_random() % PASSAGE_MAX_HITS,
                                  .per_source = t_random() % 3};
        n_found += compare(&b, &q);
    }
    T_OK(n_found > 0);
    close_both(&b);
}

TEST(words_of_a_passage_go_with_it)
{
    struct both b;
    struct pg_rows *rows = NULL;
    if (!open_both(&b, "gone")) return;
    put(&b, "ann", "a", "one two", "two three");
    put(&b, "bob", "a", "four", "");
    put(&b, "ann", "b", "five", "");
    take_away(&b, "b");
    pg_call(b.pg, "SELECT owner, word, passage FROM weir.words");
    T_EQ(pg_run(b.pg, &rows), WEIR_OK);
    T_EQ(pg_n_rows(rows), 1);
    T_EQ_STR(pg_get_bytes(rows, 0, 0), "bob");
    T_EQ_STR(pg_get_bytes(rows, 0, 1), "four");
    pg_rows_free(rows);
    pg_call(b.pg, "SELECT id FROM weir.passages");
    T_EQ(pg_run(b.pg, &rows), WEIR_OK);
    T_EQ(pg_n_rows(rows), 1);
    pg_rows_free(rows);
    close_both(&b);
}
