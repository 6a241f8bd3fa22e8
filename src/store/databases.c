/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking after the databases of a store. The table weir.clusters of the first one is what counts;
 * a URL is matched with its row by the identity that the database has. So a URL of one that is away
 * cannot be matched, unless only one of each is left.
 *
 * Taking one away rests on what pg_write.c does: a log is made on another database than the first
 * only while its row says that it is open, whatever the node believes. So when it is closed, and
 * the batches that were under way have come to an end, no log is added to those that are there, and
 * they can be counted while everybody goes on.
 */
#include "store/databases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_impl.h"

enum {
    COUNT_MS = 5 * 60 * 1000, /* there may be many logs */
    CONNECT_MS = 5000,
};

/* The databases of a list as they were found; as long as that takes. */
struct survey {
    struct pg_clusters cs;
    struct pg *others[PG_MAX_CLUSTERS]; /* NULL: it is away; that of the first is `first` */
    struct pg *first;
    char home[PG_IDENTITY_BYTES]; /* the identity of the first one; empty: it never had others */
    struct store_error *error;
};

static void say(struct store_error *error, const char *text)
{
    snprintf(error->text, sizeof error->text, "%s", text);
}

/* With what the server said, if nobody has said anything yet. */
static enum weir_status told(struct survey *v, enum weir_status st)
{
    if (st == WEIR_OK || v->error->text[0] != '\0') return st;
    const char *text = v->first ? pg_message(v->first) : "";
    say(v->error, text[0] != '\0' ? text : weir_status_text(st));
    return st;
}

/* ---- connecting ---- */

static WEIR_MUST_CHECK enum weir_status has_tables(struct pg *pg, bool *has)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, "SELECT to_regclass('weir.clusters') IS NOT NULL");
    enum weir_status st = pg_run(pg, &rows);
    *has = st == WEIR_OK && pg_get_bool(rows, 0, 0);
    pg_rows_free(rows);
    return st;
}

static void copy_text(char out[PG_IDENTITY_BYTES], struct weir_slice text)
{
    size_t len = text.len < PG_IDENTITY_BYTES ? text.len : 0;
    if (len > 0) memcpy(out, text.ptr, len);
    out[len] = '\0';
}

/* Who it is and whose; empty: nobody said so. How many bytes of events it has. */
static WEIR_MUST_CHECK enum weir_status ask_who(struct pg *pg, char identity[PG_IDENTITY_BYTES],
                                                char home[PG_IDENTITY_BYTES], uint64_t *n_bytes)
{
    struct pg_rows *rows = NULL;
    bool has;
    identity[0] = home[0] = '\0';
    *n_bytes = 0;
    enum weir_status st = has_tables(pg, &has);
    if (st != WEIR_OK || !has) return st;
    pg_call(pg, "SELECT coalesce(identity, ''), coalesce(home, ''), (SELECT"
                " coalesce(sum(pg_total_relation_size(inhrelid)), 0)::bigint FROM pg_inherits"
                " WHERE inhparent = 'weir.chunks'::regclass) FROM weir.meta");
    st = pg_run(pg, &rows);
    if (st == WEIR_OK && pg_n_rows(rows) != 1) st = WEIR_CORRUPT;
    if (st == WEIR_OK) {
        copy_text(identity, pg_get_bytes(rows, 0, 0));
        copy_text(home, pg_get_bytes(rows, 0, 1));
        *n_bytes = (uint64_t)pg_get_int(rows, 0, 2);
    }
    pg_rows_free(rows);
    return st;
}

static WEIR_MUST_CHECK enum weir_status open_first(struct survey *v)
{
    const struct pg_options options = {
        .url = v->cs.all[0].url, .connect_ms = CONNECT_MS, .timeout_ms = COUNT_MS};
    char home[PG_IDENTITY_BYTES];
    uint64_t n_bytes;
    bool has = false;
    enum weir_status st = pg_open(&v->first, &options, v->error);
    if (st == WEIR_OK) st = has_tables(v->first, &has);
    if (st == WEIR_OK && !has) {
        say(v->error, "there is no store in the first database");
        return WEIR_NOT_FOUND;
    }
    if (st == WEIR_OK) st = ask_who(v->first, v->home, home, &n_bytes);
    if (st == WEIR_OK && home[0] != '\0') {
        say(v->error, "the database that is named first is not the first of its store");
        return WEIR_INVALID;
    }
    return st;
}

static WEIR_MUST_CHECK enum weir_status begin(struct survey *v, const char *urls,
                                              struct store_error *error)
{
    *v = (struct survey){.error = error};
    error->text[0] = '\0';
    if (!place_is_database(urls)) {
        say(error, "that is no URL of a database");
        return WEIR_INVALID;
    }
    enum weir_status st = pg_clusters_init(&v->cs, urls);
    if (st == WEIR_OK) st = open_first(v);
    return told(v, st);
}

static void end(struct survey *v)
{
    for (size_t i = 0; i < PG_MAX_CLUSTERS; i++) pg_close(v->others[i]);
    pg_close(v->first);
    pg_clusters_fini(&v->cs);
}

/* ---- what there is ---- */

static char *take_url(struct pg_cluster *c)
{
    char *url = c->url;
    c->url = NULL;
    return url;
}

/* One that is away, or is not what it should be, is a row of the list as well. */
static void look_at(struct survey *v, size_t i, struct store_database *d)
{
    struct pg_cluster *c = &v->cs.all[i];
    const struct pg_options options = {.url = c->url, .connect_ms = CONNECT_MS};
    char home[PG_IDENTITY_BYTES] = "";
    enum weir_status st = i > 0 ? pg_open(&v->others[i], &options, &d->trouble) : WEIR_OK;
    struct pg *pg = i > 0 ? v->others[i] : v->first;
    if (st == WEIR_OK) st = ask_who(pg, c->identity, home, &d->n_bytes);
    d->number = STORE_NO_DATABASE;
    d->is_reached = st == WEIR_OK;
    if (st != WEIR_OK && d->trouble.text[0] == '\0')
        say(&d->trouble, pg && pg_message(pg)[0] != '\0' ? pg_message(pg) : weir_status_text(st));
    if (i == 0 || st != WEIR_OK) return;
    bool is_ours = home[0] != '\0' && strcmp(home, v->home) == 0;
    if (!is_ours) c->identity[0] = '\0'; /* whoever it is, none of the store's */
    if (!is_ours)
        say(&d->trouble, home[0] != '\0' ? "it belongs to another store"
                                         : "it is not in the store: start a node with this list");
}

/* Which of those that are named has this identity; out->n: none. */
static size_t find_identity(const struct survey *v, const struct store_databases *out,
                            struct weir_slice identity)
{
    size_t i = 0;
    while (i < v->cs.n &&
           !(out->all[i].is_reached && weir_slice_is(identity, v->cs.all[i].identity)))
        i++;
    return i < v->cs.n ? i : out->n;
}

/* The only one of the named that is away; out->n: there is none, or are several. */
static size_t find_away(const struct survey *v, const struct store_databases *out)
{
    size_t found = out->n;
    unsigned n = 0;
    for (size_t i = 1; i < v->cs.n; i++) {
        if (out->all[i].is_reached) continue;
        found = i;
        n++;
    }
    return n == 1 ? found : out->n;
}

/* Rows that none of the databases has shown. One by itself is that of the only one that is away. */
static WEIR_MUST_CHECK enum weir_status add_rest(const struct survey *v,
                                                 struct store_databases *out,
                                                 const struct store_database *rest, size_t n_rest)
{
    size_t away = n_rest == 1 ? find_away(v, out) : out->n;
    if (away < out->n) {
        out->all[away].number = rest->number;
        out->all[away].is_open = rest->is_open;
        return WEIR_OK;
    }
    for (size_t i = 0; i < n_rest; i++) {
        if (out->n == STORE_MAX_DATABASES) return WEIR_LIMIT;
        out->all[out->n] = rest[i];
        say(&out->all[out->n++].trouble, "the list does not name it");
    }
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status match(const struct survey *v, const struct pg_rows *rows,
                                              struct store_databases *out)
{
    static struct store_database rest[STORE_MAX_DATABASES];
    size_t n_rest = 0;
    for (size_t i = 0; i < pg_n_rows(rows); i++) {
        size_t at = find_identity(v, out, pg_get_bytes(rows, i, 1));
        if (at == out->n && n_rest == STORE_MAX_DATABASES) return WEIR_LIMIT;
        if (at == out->n) rest[n_rest] = (struct store_database){0};
        struct store_database *d = at < out->n ? &out->all[at] : &rest[n_rest++];
        d->number = (int)pg_get_int(rows, i, 0);
        d->is_open = pg_get_bool(rows, i, 2);
    }
    for (size_t i = 1; i < v->cs.n; i++)
        if (out->all[i].number == STORE_NO_DATABASE && out->all[i].trouble.text[0] == '\0')
            say(&out->all[i].trouble, "the list names it twice");
    return add_rest(v, out, rest, n_rest);
}

static WEIR_MUST_CHECK enum weir_status read_table(struct survey *v, struct store_databases *out)
{
    struct pg_rows *rows = NULL;
    pg_call(v->first, "SELECT number::bigint, identity, is_open FROM weir.clusters"
                      " ORDER BY number");
    enum weir_status st = pg_run(v->first, &rows);
    if (st == WEIR_OK && pg_n_rows(rows) == 0) { /* it never had others */
        out->all[0].number = 0;
        out->all[0].is_open = true;
    }
    if (st == WEIR_OK) st = match(v, rows, out);
    pg_rows_free(rows);
    return st;
}

static WEIR_MUST_CHECK enum weir_status count_logs(struct survey *v, struct store_databases *out)
{
    struct pg_rows *rows = NULL;
    pg_call(v->first, "SELECT cluster::bigint, count(*) FROM weir.logs GROUP BY cluster");
    enum weir_status st = pg_run(v->first, &rows);
    for (size_t i = 0; st == WEIR_OK && i < pg_n_rows(rows); i++)
        for (size_t k = 0; k < out->n; k++)
            if (out->all[k].number == pg_get_int(rows, i, 0))
                out->all[k].n_logs = (uint64_t)pg_get_int(rows, i, 1);
    pg_rows_free(rows);
    return st;
}

/* The connections stay open for who wants to do something with one of them. */
static WEIR_MUST_CHECK enum weir_status look_around(struct survey *v, struct store_databases *out)
{
    for (; out->n < v->cs.n; out->n++) look_at(v, out->n, &out->all[out->n]);
    enum weir_status st = read_table(v, out);
    if (st == WEIR_OK) st = count_logs(v, out);
    for (size_t i = 0; i < v->cs.n; i++) out->all[i].url = take_url(&v->cs.all[i]);
    return told(v, st);
}

enum weir_status store_databases_list(const char *urls, struct store_databases *out,
                                      struct store_error *error)
{
    struct survey v;
    *out = (struct store_databases){0};
    enum weir_status st = begin(&v, urls, error);
    if (st == WEIR_OK) st = look_around(&v, out);
    end(&v);
    if (st != WEIR_OK) store_databases_fini(out);
    return st;
}

void store_databases_fini(struct store_databases *d)
{
    for (size_t i = 0; i < d->n; i++) mem_free(d->all[i].url);
    d->n = 0;
}

/* ---- opening and closing ---- */

static enum weir_status unknown(struct store_error *error, unsigned number)
{
    snprintf(error->text, sizeof error->text, "the store has no database %u", number);
    return WEIR_NOT_FOUND;
}

enum weir_status store_databases_open(const char *urls, unsigned number, bool is_open,
                                      struct store_error *error)
{
    struct survey v;
    struct pg_rows *rows = NULL;
    enum weir_status st = begin(&v, urls, error);
    if (st == WEIR_OK) {
        pg_call(v.first, "UPDATE weir.clusters SET is_open = $2 WHERE number = $1");
        pg_int(v.first, number);
        pg_bool(v.first, is_open);
        st = told(&v, pg_run(v.first, &rows));
    }
    if (st == WEIR_OK && pg_n_changed(rows) == 0) st = unknown(error, number);
    pg_rows_free(rows);
    end(&v);
    return st;
}

/* ---- taking one away ---- */

/* The row stays as it is until the end of the transaction. */
static WEIR_MUST_CHECK enum weir_status hold_row(struct survey *v, unsigned number)
{
    struct pg_rows *rows = NULL;
    pg_call(v->first, "SELECT is_open FROM weir.clusters WHERE number = $1 FOR UPDATE");
    pg_int(v->first, number);
    enum weir_status st = pg_run(v->first, &rows);
    if (st == WEIR_OK && pg_n_rows(rows) == 0) st = unknown(v->error, number);
    if (st == WEIR_OK && pg_get_bool(rows, 0, 0)) {
        snprintf(v->error->text, sizeof v->error->text,
                 "database %u is open: close it first (--close %u), and wait until its logs have "
                 "expired or were deleted",
                 number, number);
        st = WEIR_CONFLICT;
    }
    pg_rows_free(rows);
    return st;
}

/*
 * Batches that were decided while it was open have come to an end. In one statement: who is stopped
 * in between would stop everybody.
 */
static WEIR_MUST_CHECK enum weir_status wait_for_batches(struct survey *v)
{
    pg_call(v->first, "SELECT pg_advisory_lock($1::int, $2::int)::text,"
                      " pg_advisory_unlock($1::int, $2::int)");
    pg_int(v->first, PG_LOCKS);
    pg_int(v->first, PG_LOCK_TURN);
    return pg_run(v->first, NULL);
}

static WEIR_MUST_CHECK enum weir_status expect_no_log(struct survey *v, unsigned number)
{
    struct pg_rows *rows = NULL;
    int64_t n = 0;
    pg_call(v->first, "SELECT count(*) FROM weir.logs WHERE cluster = $1");
    pg_int(v->first, number);
    enum weir_status st = pg_run(v->first, &rows);
    if (st == WEIR_OK) n = pg_get_int(rows, 0, 0);
    pg_rows_free(rows);
    if (st != WEIR_OK || n == 0) return st;
    snprintf(v->error->text, sizeof v->error->text,
             "database %u has the events of %" PRId64 " logs: it stays closed, logs go as they "
             "expire, and others have to be deleted; then give this command again",
             number, n);
    return WEIR_CONFLICT;
}

/* What was to be cleaned up there goes with it. */
static WEIR_MUST_CHECK enum weir_status forget_row(struct survey *v, unsigned number)
{
    static const char *const calls[] = {
        "DELETE FROM weir.garbage WHERE cluster = $1",
        "UPDATE weir.meta SET next_cluster = greatest(next_cluster, $1 + 1)",
        "DELETE FROM weir.clusters WHERE number = $1",
    };
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < sizeof calls / sizeof *calls && st == WEIR_OK; i++) {
        pg_call(v->first, calls[i]);
        pg_int(v->first, number);
        st = pg_run(v->first, NULL);
    }
    return st;
}

/* Closing the connection takes back what was begun. */
static WEIR_MUST_CHECK enum weir_status remove_row(struct survey *v, unsigned number)
{
    enum weir_status st = pg_script(v->first, "BEGIN; SET LOCAL lock_timeout = '10s'");
    if (st == WEIR_OK) st = hold_row(v, number);
    if (st == WEIR_OK) st = wait_for_batches(v);
    if (st == WEIR_OK) st = expect_no_log(v, number);
    if (st == WEIR_OK) st = forget_row(v, number);
    if (st == WEIR_OK) st = pg_script(v->first, "COMMIT");
    return told(v, st);
}

/* Nothing in it is needed, and none of it may come up in another store. */
static bool free_database(struct pg *pg)
{
    static const char *const sql = "BEGIN; SET LOCAL lock_timeout = '10s';"
                                   " TRUNCATE weir.carried, weir.chunks, weir.garbage;"
                                   " UPDATE weir.meta SET home = NULL; COMMIT";
    return pg && pg_script(pg, sql) == WEIR_OK;
}

enum weir_status store_databases_remove(const char *urls, unsigned number, bool *is_freed,
                                        struct store_error *error)
{
    struct survey v;
    struct store_databases found = {0};
    *is_freed = false;
    if (number == 0) {
        say(error, "the first database has documents and heads of logs: it cannot be removed");
        return WEIR_CONFLICT;
    }
    enum weir_status st = begin(&v, urls, error);
    if (st == WEIR_OK) st = look_around(&v, &found);
    if (st == WEIR_OK) st = remove_row(&v, number);
    for (size_t i = 1; i < v.cs.n && st == WEIR_OK; i++)
        if (found.all[i].number == (int)number) *is_freed = free_database(v.others[i]);
    end(&v);
    store_databases_fini(&found);
    return st;
}
