/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pg_clusters.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/slice.h"

enum { TRIES = 10, STATEMENT_MS = 30000 };

/* ---- life ---- */

/* Where the next URL of a list begins; NULL: this is the last one. */
static const char *next_url(const char *at)
{
    for (at = strchr(at, ','); at; at = strchr(at + 1, ','))
        if (strncmp(at + 1, "postgres://", 11) == 0 || strncmp(at + 1, "postgresql://", 13) == 0)
            return at + 1;
    return NULL;
}

enum weir_status pg_clusters_init(struct pg_clusters *cs, const char *urls)
{
    *cs = (struct pg_clusters){0};
    for (const char *at = urls; at;) {
        const char *next = next_url(at);
        size_t len = next ? (size_t)(next - at - 1) : strlen(at);
        if (cs->n == PG_MAX_CLUSTERS) return WEIR_LIMIT;
        struct pg_cluster *c = &cs->all[cs->n++];
        c->url = mem_zalloc(len + 1);
        if (!c->url) return WEIR_NOMEM;
        memcpy(c->url, at, len);
        atomic_store(&c->is_open, true);
        at = next;
    }
    return WEIR_OK;
}

void pg_clusters_fini(struct pg_clusters *cs)
{
    for (size_t i = 0; i < cs->n; i++) {
        struct pg_cluster *c = &cs->all[i];
        pg_close(c->pg);
        pg_far_fini(&c->far);
        pg_pool_free(c->pool);
        mem_free(c->url);
    }
    cs->n = 0;
}

enum weir_status pg_clusters_pool(struct pg_clusters *cs, unsigned n_max, unsigned n_far)
{
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < cs->n && st == WEIR_OK; i++) {
        struct pg_cluster *c = &cs->all[i];
        /* Who checks the store waits for longer, so the server may. */
        const struct pg_options options = {
            .url = c->url, .timeout_ms = PG_READ_ANSWER_MS, .statement_ms = STATEMENT_MS};
        st = pg_pool_new(&c->pool, &options, n_max);
        if (st == WEIR_OK) st = pg_far_init(&c->far, c->pool, c->url, n_far);
    }
    return st;
}

struct pg_cluster *pg_clusters_find(struct pg_clusters *cs, unsigned number)
{
    for (size_t i = 0; i < cs->n; i++)
        if (cs->all[i].number == number) return &cs->all[i];
    return NULL;
}

/* ---- becoming one store ---- */

static WEIR_MUST_CHECK enum weir_status complain(struct store_error *error, const char *text)
{
    if (error) snprintf(error->text, sizeof error->text, "%s", text);
    return WEIR_INVALID;
}

static WEIR_MUST_CHECK enum weir_status copy_identity(char out[PG_IDENTITY_BYTES],
                                                      struct weir_slice text)
{
    if (text.len == 0 || text.len >= PG_IDENTITY_BYTES) return WEIR_CORRUPT;
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return WEIR_OK;
}

/* Who it is, and whose it is: empty when it is nobody's. */
static WEIR_MUST_CHECK enum weir_status read_identity(struct pg *pg, char out[PG_IDENTITY_BYTES],
                                                      char home[PG_IDENTITY_BYTES])
{
    struct pg_rows *rows = NULL;
    pg_call(pg, "UPDATE weir.meta SET identity = gen_random_uuid()::text WHERE identity IS NULL");
    enum weir_status st = pg_run(pg, NULL);
    if (st != WEIR_OK) return st;
    pg_call(pg, "SELECT identity, home FROM weir.meta");
    st = pg_run(pg, &rows);
    if (st == WEIR_OK && pg_n_rows(rows) != 1) st = WEIR_CORRUPT;
    if (st == WEIR_OK) st = copy_identity(out, pg_get_bytes(rows, 0, 0));
    home[0] = '\0';
    if (st == WEIR_OK && !pg_is_null(rows, 0, 1))
        st = copy_identity(home, pg_get_bytes(rows, 0, 1));
    pg_rows_free(rows);
    return st;
}

/* One that has nothing of its own becomes part of the store of the first one. */
static WEIR_MUST_CHECK enum weir_status win_over(struct pg_cluster *c, struct pg *pg,
                                                 const char *first, struct store_error *error)
{
    char home[PG_IDENTITY_BYTES];
    enum weir_status st = pg_migrate(pg, error);
    if (st != WEIR_OK) return st;
    pg_call(pg, "UPDATE weir.meta SET home = $1 WHERE home IS NULL AND NOT EXISTS (SELECT FROM"
                " weir.logs) AND NOT EXISTS (SELECT FROM weir.docs)"
                " AND identity IS DISTINCT FROM $1");
    pg_text(pg, weir_slice_of(first));
    st = pg_run(pg, NULL);
    if (st == WEIR_OK) st = read_identity(pg, c->identity, home);
    if (st != WEIR_OK) return st;
    if (strcmp(c->identity, first) == 0) return complain(error, "the same database twice");
    if (strcmp(home, first) == 0) return WEIR_OK;
    return complain(error, home[0]
                               ? "one of the databases belongs to another store"
                               : "one of the databases behind the first has a store of its own");
}

/* What is not in the table was taken away, or is not in it yet: nothing new is put there. */
static void note_missing(struct pg_clusters *cs, const bool *is_known)
{
    for (size_t k = 0; k < cs->n; k++) {
        atomic_store(&cs->all[k].is_removed, !is_known[k]);
        if (!is_known[k]) atomic_store(&cs->all[k].is_open, false);
    }
}

/* Each of the databases that is in the table gets its number; *is_all: no other is in it. */
static WEIR_MUST_CHECK enum weir_status read_table(struct pg_clusters *cs, struct pg *first,
                                                   size_t *n_known, bool *is_all)
{
    struct pg_rows *rows = NULL;
    bool is_known[PG_MAX_CLUSTERS] = {false};
    *n_known = 0;
    *is_all = true;
    pg_call(first, "SELECT number::bigint, identity, is_open FROM weir.clusters");
    enum weir_status st = pg_run(first, &rows);
    for (size_t i = 0; st == WEIR_OK && i < pg_n_rows(rows); i++) {
        bool is_there = false;
        for (size_t k = 0; k < cs->n; k++) {
            struct pg_cluster *c = &cs->all[k];
            if (!weir_slice_is(pg_get_bytes(rows, i, 1), c->identity)) continue;
            unsigned number = (unsigned)pg_get_int(rows, i, 0);
            if (c->number != number) c->number = number; /* once, before others look at it */
            atomic_store(&c->is_open, pg_get_bool(rows, i, 2));
            is_there = is_known[k] = true;
            ++*n_known;
        }
        *is_all &= is_there;
    }
    if (st == WEIR_OK) note_missing(cs, is_known);
    pg_rows_free(rows);
    return st;
}

/* While there is no log yet, all of them begin at once. Somebody else may be at it, too. */
static WEIR_MUST_CHECK enum weir_status write_table(struct pg_clusters *cs, struct pg *first)
{
    size_t n_known = 0;
    bool is_all;
    enum weir_status st = WEIR_OK;
    for (int i = 0; i < TRIES && st == WEIR_OK && n_known < cs->n; i++) {
        for (size_t k = 0; k < cs->n && st == WEIR_OK; k++) {
            pg_call(first, "INSERT INTO weir.clusters SELECT (SELECT greatest(max(number) + 1,"
                           " (SELECT next_cluster FROM weir.meta)) FROM weir.clusters), $1, NOT "
                           "EXISTS (SELECT FROM weir.logs)"
                           " OR NOT EXISTS (SELECT FROM weir.clusters) ON CONFLICT DO NOTHING");
            pg_text(first, weir_slice_of(cs->all[k].identity));
            st = pg_run(first, NULL);
        }
        if (st == WEIR_OK) st = read_table(cs, first, &n_known, &is_all);
    }
    return st == WEIR_OK && n_known < cs->n ? WEIR_STORAGE : st;
}

/*
 * Tokens and ids of logs are greater than all that the others have seen. They are anyway, unless
 * somebody has restored an older state of the first one.
 */
static WEIR_MUST_CHECK enum weir_status catch_up(struct pg *first, struct pg *pg)
{
    struct pg_rows *rows = NULL;
    int64_t token = 0, log = 0;
    pg_call(pg, "SELECT coalesce(max(token), 0), coalesce(max(log), 0) FROM weir.carried");
    enum weir_status st = pg_run(pg, &rows);
    if (st == WEIR_OK) {
        token = pg_get_int(rows, 0, 0);
        log = pg_get_int(rows, 0, 1);
    }
    pg_rows_free(rows);
    if (st != WEIR_OK) return st;
    pg_call(first, "SELECT (SELECT setval('weir.tokens', $1) FROM weir.tokens"
                   " WHERE last_value < $1), (SELECT setval('weir.log_ids', $2) FROM weir.log_ids"
                   " WHERE last_value < $2)");
    pg_int(first, token);
    pg_int(first, log);
    return pg_run(first, NULL);
}

static WEIR_MUST_CHECK enum weir_status join_others(struct pg_clusters *cs, struct pg *first,
                                                    struct store_error *error)
{
    char home[PG_IDENTITY_BYTES];
    enum weir_status st = read_identity(first, cs->all[0].identity, home);
    if (st == WEIR_OK && home[0] != '\0')
        st = complain(error, "the database that is named first is not the first of its store");
    for (size_t i = 1; i < cs->n && st == WEIR_OK; i++) {
        struct pg *pg = NULL;
        const struct pg_options options = {.url = cs->all[i].url};
        st = pg_open(&pg, &options, error);
        if (st == WEIR_OK) st = win_over(&cs->all[i], pg, cs->all[0].identity, error);
        if (st == WEIR_OK) st = catch_up(first, pg);
        for (size_t k = 1; k < i && st == WEIR_OK; k++)
            if (strcmp(cs->all[k].identity, cs->all[i].identity) == 0)
                st = complain(error, "the same database twice");
        if (st != WEIR_OK && pg && error && error->text[0] == '\0')
            snprintf(error->text, sizeof error->text, "%s", pg_message(pg));
        pg_close(pg);
    }
    return st == WEIR_OK ? write_table(cs, first) : st;
}

/* The first one by itself: it may be the first of several, or one of those behind it. */
static WEIR_MUST_CHECK enum weir_status join_alone(struct pg *first, struct store_error *error)
{
    struct pg_rows *rows = NULL;
    pg_call(first, "SELECT (SELECT count(*) FROM weir.clusters), home IS NOT NULL FROM weir.meta");
    enum weir_status st = pg_run(first, &rows);
    bool has_others = st == WEIR_OK && pg_n_rows(rows) == 1 && pg_get_int(rows, 0, 0) > 1;
    bool is_other = st == WEIR_OK && pg_n_rows(rows) == 1 && pg_get_bool(rows, 0, 1);
    pg_rows_free(rows);
    if (has_others) return complain(error, "the store has more databases: name all of them");
    if (is_other)
        return complain(error, "the database carries events of another one's store: name "
                               "that first, then this one");
    return st;
}

enum weir_status pg_clusters_join(struct pg_clusters *cs, struct pg *first,
                                  struct store_error *error)
{
    bool is_all;
    size_t n_known;
    if (cs->n == 1) return join_alone(first, error);
    enum weir_status st = join_others(cs, first, error);
    if (st == WEIR_OK) st = read_table(cs, first, &n_known, &is_all);
    if (st == WEIR_OK && !is_all)
        return complain(error, "the store has more databases: name all of them");
    for (size_t i = 0; i < cs->n && st == WEIR_OK; i++)
        if (cs->all[i].number > UINT8_MAX)
            return complain(error, "too many databases came and went");
    if (st == WEIR_OK && cs->all[0].number != 0)
        return complain(error, "the database that is named first is not the first of its store");
    return st;
}

enum weir_status pg_clusters_refresh(struct pg_clusters *cs, struct pg *first)
{
    bool is_all;
    size_t n_known;
    return cs->n > 1 ? read_table(cs, first, &n_known, &is_all) : WEIR_OK;
}

/* ---- places ---- */

/* Of all databases the one that has the highest hash together with the log. */
unsigned pg_clusters_place(const struct pg_clusters *cs, uint64_t log_id)
{
    uint64_t highest = 0;
    unsigned number = 0;
    for (size_t i = 0; i < cs->n && cs->n > 1; i++) {
        const struct pg_cluster *c = &cs->all[i];
        if (!atomic_load(&c->is_open) || atomic_load(&c->is_away)) continue;
        const struct hash_key key = {log_id, 0x7765697220706c63};
        uint64_t hash = hash_bytes(key, weir_slice_of(c->identity)) | 1;
        if (hash <= highest) continue;
        highest = hash;
        number = c->number;
    }
    return number;
}
