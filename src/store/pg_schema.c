/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables on PostgreSQL, and how a database gets from one form of them to the next.
 *
 * Step i brings a database from schema version i to i + 1. Steps are never changed once a release
 * had them: a new form is a new step at the end. All steps that are due are one transaction, under
 * an advisory lock.
 *
 * Nodes are upgraded one after the other, so a step has to be one that nodes of the version before
 * can live with: it adds tables, columns with a default, functions under new names. What nobody
 * uses any more goes with the step after that. A node refuses a database only if it is more than
 * one step ahead.
 *
 * - meta: one row. A store of several databases (pg_clusters.h) gives each an identity, and all but
 *   the first know which one that is: `home`. Numbers of clusters below next_cluster are not given
 *   again: nodes may still know what had them.
 *
 * - clusters: those databases, in the first one: 0 is that itself.
 *
 * - writers: one row for each node that ever wrote and was seen lately; the number of its newest
 *   batch, which tells after a lost connection whether that batch happened.
 *
 * - logs: one row for a log; expires_ms is null for those that never do; events before kept_from
 * may be gone. There is room in its pages, so that an append changes a row without touching an
 * index. Which database has its events: `cluster`.
 *
 * - carried: one row for a log of the first database whose events are in this one: the newest id
 *   that was written, by the newest token, and the first one of that: what is before it was
 *   committed. again_from is not 0 when that wrote again what somebody had written who did not come
 *   to its end.
 *
 * - chunks: events first..last of a log as they go on the wire, by the day they were made: a day
 * that is old is dropped as a whole. "chunks_kept" is the partition of no day: what lives longer is
 *   moved there.
 *
 * - docs: documents; the second index has only those with an owner.
 *
 * - garbage: logs that were dropped and may have chunks left.
 *
 * - passages, words: what passages can be found by: a row for each word of each passage, with the
 *   places where it stands: four bytes each, bit 31 tells the text from the title.
 *
 * Names, kinds, ids and words are bytea, so that they are compared byte for byte whatever locale
 * the database has. Days are those of UTC.
 */
#include <stdio.h>

#include "store/pg_tables.h"

enum { DAYS_AHEAD = 7, OLDEST_SERVER = 150000 };

/* Small tables that change all the time are cleaned up after a thousand rows or so. */
#define BUSY_TABLE                                                                                 \
    "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, "                  \
    "autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1"

static const char *const steps[] = {
    /* 0 to 1 */
    "CREATE SCHEMA weir;"
    "CREATE TABLE weir.meta ("
    " one boolean PRIMARY KEY DEFAULT true CHECK (one),"
    " version bigint NOT NULL,"
    " identity text,"
    " home text,"
    " next_cluster bigint NOT NULL DEFAULT 0);"
    "INSERT INTO weir.meta (version) VALUES (0);"
    "CREATE SEQUENCE weir.log_ids;"
    "CREATE SEQUENCE weir.tokens;"

    "CREATE TABLE weir.clusters ("
    " number smallint PRIMARY KEY,"
    " identity text NOT NULL UNIQUE,"
    " is_open boolean NOT NULL);"

    "CREATE TABLE weir.writers ("
    " id text PRIMARY KEY,"
    " batch bigint NOT NULL,"
    " seen timestamptz NOT NULL DEFAULT now()"
    ") WITH (fillfactor = 20, " BUSY_TABLE ");"

    "CREATE TABLE weir.logs ("
    " id bigint PRIMARY KEY CHECK (id > 0),"
    " name bytea NOT NULL UNIQUE,"
    " last bigint NOT NULL CHECK (last >= 0),"
    " kept_from bigint NOT NULL DEFAULT 1,"
    " is_sealed boolean NOT NULL DEFAULT false,"
    " cluster smallint NOT NULL DEFAULT 0,"
    " expires_ms bigint"
    ") WITH (fillfactor = 60, " BUSY_TABLE ");"
    "CREATE INDEX logs_expiring ON weir.logs (expires_ms) WHERE expires_ms IS NOT NULL;"

    "CREATE TABLE weir.carried ("
    " log bigint PRIMARY KEY,"
    " last bigint NOT NULL,"
    " token bigint NOT NULL,"
    " newest bigint NOT NULL,"
    " again_from bigint NOT NULL"
    ") WITH (fillfactor = 60, " BUSY_TABLE ");"

    "CREATE TABLE weir.chunks ("
    " log bigint NOT NULL,"
    " first bigint NOT NULL CHECK (first > 0),"
    " last bigint NOT NULL,"
    " made date NOT NULL DEFAULT timezone('UTC', now())::date,"
    " bytes bytea NOT NULL,"
    " CHECK (last >= first)"
    ") PARTITION BY RANGE (made);"
    "CREATE INDEX chunks_by_log ON weir.chunks (log, first);"
    "CREATE TABLE weir.chunks_kept PARTITION OF weir.chunks"
    " FOR VALUES FROM (MINVALUE) TO ('2000-01-01');"

    "CREATE TABLE weir.docs ("
    " kind bytea NOT NULL,"
    " id bytea NOT NULL,"
    " owner bytea NOT NULL,"
    " version bigint NOT NULL CHECK (version > 0),"
    " body bytea NOT NULL,"
    " PRIMARY KEY (kind, id)"
    ") WITH (fillfactor = 70, " BUSY_TABLE ");"
    "CREATE INDEX docs_by_owner ON weir.docs (owner, kind, id) WHERE owner <> ''::bytea;"

    "CREATE TABLE weir.garbage ("
    " log bigint PRIMARY KEY,"
    " expires_ms bigint,"
    " cluster smallint NOT NULL DEFAULT 0"
    ") WITH (" BUSY_TABLE ");"

    "CREATE TABLE weir.passages ("
    " id bytea PRIMARY KEY,"
    " owner bytea NOT NULL,"
    " n_words bigint NOT NULL"
    ") WITH (" BUSY_TABLE ");"
    "CREATE INDEX passages_by_owner ON weir.passages (owner) INCLUDE (n_words);"
    "CREATE TABLE weir.words ("
    " owner bytea NOT NULL,"
    " word bytea NOT NULL,"
    " passage bytea NOT NULL,"
    " places bytea NOT NULL"
    ") WITH (" BUSY_TABLE ");"
    "CREATE INDEX words_by_word ON weir.words (owner, word);"
    "CREATE INDEX words_by_passage ON weir.words (passage);"

    /* What a batch was decided on has changed. */
    "CREATE FUNCTION weir.stale() RETURNS bigint LANGUAGE plpgsql AS $$"
    "BEGIN"
    " RAISE EXCEPTION USING ERRCODE = 'WR001', MESSAGE = 'it was not as it was seen';"
    "END $$;"

    /* Whoever deletes a log, its chunks are not forgotten. */
    "CREATE FUNCTION weir.note_dropped() RETURNS trigger LANGUAGE plpgsql AS $$"
    "BEGIN"
    " INSERT INTO weir.garbage SELECT id, expires_ms, cluster FROM gone"
    "  ON CONFLICT DO NOTHING;"
    " RETURN NULL;"
    "END $$;"
    "CREATE TRIGGER note_dropped AFTER DELETE ON weir.logs"
    " REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION weir.note_dropped();"

    /* Attached, not made as a part: that would stop everybody who reads or writes chunks. */
    "CREATE FUNCTION weir.make_days(ahead bigint) RETURNS bigint LANGUAGE plpgsql AS $$"
    "DECLARE"
    " day date;"
    " name text;"
    " n bigint := 0;"
    "BEGIN"
    " FOR day IN SELECT timezone('UTC', now())::date + i::int"
    "  FROM generate_series(-1, ahead) i LOOP"
    "  name := 'chunks_' || to_char(day, 'YYYYMMDD');"
    "  CONTINUE WHEN to_regclass('weir.' || name) IS NOT NULL;"
    "  EXECUTE format('CREATE TABLE weir.%I (LIKE weir.chunks INCLUDING ALL)', name);"
    "  EXECUTE format('ALTER TABLE weir.chunks ATTACH PARTITION weir.%I FOR VALUES FROM (%L) TO"
    " (%L)', name, day, day + 1);"
    "  n := n + 1;"
    " END LOOP;"
    " RETURN n;"
    "END $$;"

    /*
     * Moves some rows of a day, those of logs that are still there, to the partition of no day and
     * joins them there. From the logs to their rows, so that it costs what lives, not what was: of
     * the next n_logs behind `after`. How many rows went, and behind which log to go on: the same
     * again while there may be more of them, null when all have been looked at. What is carried is
     * joined as far as it is known to be committed, while nobody appends to it.
     */
    "CREATE FUNCTION weir.keep_some(day text, after bigint, n_logs bigint, n_rows bigint,"
    " n_bytes bigint, row_bytes bigint, OUT n bigint, OUT upto bigint) LANGUAGE plpgsql AS $$"
    "DECLARE"
    " ids bigint[];"
    "BEGIN"
    " SELECT array_agg(id), max(id) INTO ids, upto FROM ("
    "  (SELECT id FROM weir.logs WHERE id > after ORDER BY id LIMIT n_logs) UNION"
    "  (SELECT log FROM weir.carried WHERE log > after ORDER BY log LIMIT n_logs)"
    "  ORDER BY 1 LIMIT n_logs) all_ids;"
    " n := 0;"
    " EXECUTE format($sql$SELECT array_agg(id) FROM (SELECT id FROM unnest($1) AS i(id)"
    "  CROSS JOIN LATERAL (SELECT FROM weir.%1$I c WHERE c.log = i.id LIMIT 1) any_row"
    "  ORDER BY id LIMIT $2) those$sql$, day) INTO ids USING ids, n_rows;"
    " IF ids IS NULL THEN"
    "  RETURN;"
    " END IF;"
    " PERFORM 1 FROM weir.carried WHERE log = ANY(ids) ORDER BY log FOR UPDATE;"
    " EXECUTE format($sql$WITH few AS (SELECT log, first FROM (SELECT log, first,"
    "  sum(size) OVER (ORDER BY log, first ROWS UNBOUNDED PRECEDING) - size AS before"
    "  FROM (SELECT c.log, c.first, octet_length(c.bytes) AS size FROM unnest($4) AS i(id)"
    "  CROSS JOIN LATERAL (SELECT log, first, bytes FROM weir.%1$I WHERE log = i.id"
    "  ORDER BY first LIMIT $1) c ORDER BY c.log, c.first LIMIT $1) rows) sums"
    "  WHERE before < $2),"
    " gone AS (DELETE FROM weir.%1$I c USING few WHERE c.log = few.log AND c.first = few.first"
    "  RETURNING c.log, c.first, c.last, c.bytes),"
    " steps AS (SELECT *, CASE WHEN first = lag(last) OVER (PARTITION BY log ORDER BY first) + 1"
    "  THEN 0 ELSE 1 END AS step FROM gone),"
    " parts AS (SELECT g.*, sum(step) OVER (PARTITION BY g.log ORDER BY first) AS run,"
    "  CASE WHEN g.last >= l.newest THEN -g.first ELSE"
    "  (sum(octet_length(bytes)) OVER (PARTITION BY g.log ORDER BY first"
    "  ROWS UNBOUNDED PRECEDING) - octet_length(bytes)) / $3 END AS part"
    "  FROM steps g LEFT JOIN weir.carried l ON l.log = g.log),"
    " kept AS (INSERT INTO weir.chunks_kept (log, first, last, made, bytes)"
    "  SELECT log, min(first), max(last), '1999-12-31',"
    "  string_agg(bytes, ''::bytea ORDER BY first) FROM parts GROUP BY log, run, part)"
    " SELECT count(*) FROM gone$sql$, day) INTO n USING n_rows, n_bytes, row_bytes, ids;"
    " upto := after;"
    "END $$;"

    /* A faster compression for what is large, where the server has it. */
    "DO $$ BEGIN"
    " ALTER TABLE weir.chunks ALTER COLUMN bytes SET COMPRESSION lz4;"
    " ALTER TABLE weir.chunks_kept ALTER COLUMN bytes SET COMPRESSION lz4;"
    " ALTER TABLE weir.docs ALTER COLUMN body SET COMPRESSION lz4;"
    "EXCEPTION WHEN feature_not_supported THEN NULL;"
    "END $$;",
};

int64_t pg_newest_version(void)
{
    return sizeof steps / sizeof *steps;
}

static void explain(struct store_error *error, const char *what, const char *why)
{
    if (error) snprintf(error->text, sizeof error->text, "%s: %s", what, why);
}

/* 0 when there is none of ours yet. */
static WEIR_MUST_CHECK enum weir_status read_version(struct pg *pg, int64_t *version)
{
    struct pg_rows *rows = NULL;
    *version = 0;
    pg_call(pg, "SELECT to_regclass('weir.meta') IS NOT NULL");
    enum weir_status st = pg_run(pg, &rows);
    bool is_there = st == WEIR_OK && pg_get_bool(rows, 0, 0);
    pg_rows_free(rows);
    if (!is_there) return st;
    pg_call(pg, "SELECT version FROM weir.meta");
    st = pg_run(pg, &rows);
    if (st == WEIR_OK && pg_n_rows(rows) == 1) *version = pg_get_int(rows, 0, 0);
    else if (st == WEIR_OK) st = WEIR_CORRUPT;
    pg_rows_free(rows);
    return st;
}

/* In one transaction, which is rolled back by whoever sees it fail. */
static WEIR_MUST_CHECK enum weir_status run_steps(struct pg *pg, int64_t version)
{
    enum weir_status st = pg_script(pg, "BEGIN");
    for (int64_t i = version; i < pg_newest_version() && st == WEIR_OK; i++)
        st = pg_script(pg, steps[i]);
    if (st != WEIR_OK) return st;
    pg_call(pg, "UPDATE weir.meta SET version = $1");
    pg_int(pg, pg_newest_version());
    st = pg_run(pg, NULL);
    return st == WEIR_OK ? pg_script(pg, "COMMIT") : st;
}

static void hold(struct pg *pg, const char *sql, int64_t which)
{
    pg_call(pg, sql);
    pg_int(pg, PG_LOCKS);
    pg_int(pg, which);
}

/* Another node may be at it, and be done when we have the lock. */
static WEIR_MUST_CHECK enum weir_status migrate_locked(struct pg *pg, struct store_error *error)
{
    int64_t version = 0;
    hold(pg, "SELECT pg_advisory_lock($1::int, $2::int)", PG_LOCK_SCHEMA);
    enum weir_status st = pg_run(pg, NULL);
    if (st == WEIR_OK) st = read_version(pg, &version);
    if (st == WEIR_OK && version < pg_newest_version()) st = run_steps(pg, version);
    if (st != WEIR_OK) {
        explain(error, "the database cannot be brought to this schema", pg_message(pg));
        /* What is said of it does not matter: it was the migration that failed. */
        enum weir_status st_back = pg_script(pg, "ROLLBACK");
        (void)st_back;
    }
    hold(pg, "SELECT pg_advisory_unlock($1::int, $2::int)", PG_LOCK_SCHEMA);
    enum weir_status st_unlock = pg_run(pg, NULL);
    return st == WEIR_OK ? st_unlock : st;
}

/* Who may only write would begin well, and stop in a week: days are made and dropped by owners. */
static WEIR_MUST_CHECK enum weir_status check_owner(struct pg *pg, struct store_error *error)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, "SELECT bool_and(pg_has_role(current_user, c.relowner, 'USAGE')) FROM pg_class c"
                " JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE n.nspname = 'weir' AND c.relkind IN ('r', 'p')");
    enum weir_status st = pg_run(pg, &rows);
    bool is_owner = st == WEIR_OK && pg_get_bool(rows, 0, 0);
    pg_rows_free(rows);
    if (st != WEIR_OK || is_owner) return st;
    explain(error, "the database cannot be used", "the role has to own the tables of schema weir");
    return WEIR_INVALID;
}

enum weir_status pg_migrate(struct pg *pg, struct store_error *error)
{
    int64_t version = 0;
    if (pg_version(pg) < OLDEST_SERVER) {
        explain(error, "the server is too old", "it has to be PostgreSQL 15 or newer");
        return WEIR_INVALID;
    }
    enum weir_status st = read_version(pg, &version);
    if (st == WEIR_OK && version > pg_newest_version() + 1) {
        if (error)
            snprintf(error->text, sizeof error->text,
                     "the database has schema %lld, this weir knows up to %lld and lives with one "
                     "more",
                     (long long)version, (long long)pg_newest_version());
        return WEIR_NEWER;
    }
    if (st == WEIR_OK && version < pg_newest_version()) {
        st = migrate_locked(pg, error);
        if (st != WEIR_OK) return st;
    }
    if (st == WEIR_OK) st = pg_make_days(pg);
    if (st == WEIR_OK) st = check_owner(pg, error);
    const char *why = pg_message(pg);
    if (st != WEIR_OK && (!error || error->text[0] == 0))
        explain(error, "the database cannot be used", why[0] != 0 ? why : weir_status_text(st));
    return st;
}

enum weir_status pg_make_days(struct pg *pg)
{
    /* Each of them: where clocks jump, those in between can be missing. */
    static const char *const there =
        "SELECT bool_and(to_regclass('weir.chunks_' || to_char("
        "timezone('UTC', now())::date + i::int, 'YYYYMMDD')) IS NOT NULL)"
        " FROM generate_series(-1, $1) i";
    struct pg_rows *rows = NULL;
    pg_call(pg, there);
    pg_int(pg, DAYS_AHEAD);
    enum weir_status st = pg_run(pg, &rows);
    bool is_there = st == WEIR_OK && pg_get_bool(rows, 0, 0);
    pg_rows_free(rows);
    if (st != WEIR_OK || is_there) return st;
    hold(pg, "SELECT pg_advisory_xact_lock($1::int, $2::int)", PG_LOCK_DAYS);
    pg_send(pg);
    pg_call(pg, "SELECT weir.make_days($1)");
    pg_int(pg, DAYS_AHEAD);
    pg_send(pg);
    pg_sync(pg);
    return pg_take_all(pg);
}
