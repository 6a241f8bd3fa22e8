/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking after the tables, so that none grows for ever.
 *
 * Most logs live for an hour, and their chunks go with the partition of their day, which costs
 * nothing. What lives longer than the days kept is moved to the partition of no day, many chunks
 * to a row. A log that is dropped before its time loses its chunks at once: somebody wanted that.
 *
 * One node at a time does all of it, under a lock that goes with its connection: so a log cannot be
 * moved and removed at the same time.
 */
#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "store/pg_tables.h"

enum {
    EXPIRED = 256, /* logs dropped in a round, by one commit */
    GARBAGE = 256, /* dropped logs looked at in a round */
    REMOVED_ROWS = 2000,
    KEEP_LOGS = 2000, /* looked at by one statement */
    KEEP_CALLS = 8,   /* of such statements in a round */
    MOVED_ROWS = 2000,
    MOVED_BYTES = 16 << 20,
    KEPT_ROW_BYTES = 32 << 10,
    KEEP_DAYS = 7,
    STUCK_MS = 6000,
    DEAF_MS = 30000, /* longer than any of us waits for an answer */
    ALTER_MS = 2000, /* to get hold of a partition */
};

enum weir_status pg_trim(struct pg *pg, struct weir_slice log, uint64_t before,
                         struct pg_trimmed *elsewhere)
{
    struct pg_rows *rows = NULL;
    if (before > INT64_MAX) before = INT64_MAX;
    pg_call(pg, "DELETE FROM weir.chunks c USING weir.logs l"
                " WHERE l.name = $1 AND c.log = l.id AND c.last < least($2, l.last)");
    pg_bytes(pg, log);
    pg_int(pg, (int64_t)before);
    pg_send(pg);
    pg_call(pg, "UPDATE weir.logs SET kept_from = greatest(kept_from, least($2, last))"
                " WHERE name = $1 AND kept_from < least($2, last)");
    pg_bytes(pg, log);
    pg_int(pg, (int64_t)before);
    pg_send(pg);
    pg_call(pg, "SELECT id, cluster::bigint, least($2, last) FROM weir.logs"
                " WHERE name = $1 AND cluster <> 0");
    pg_bytes(pg, log);
    pg_int(pg, (int64_t)before);
    pg_send(pg);
    pg_sync(pg);
    enum weir_status st = pg_take(pg, NULL);
    enum weir_status st_kept = pg_take(pg, NULL);
    enum weir_status st_where = pg_take(pg, &rows);
    *elsewhere = (struct pg_trimmed){0};
    if (st_where == WEIR_OK && pg_n_rows(rows) == 1)
        *elsewhere = (struct pg_trimmed){.log = pg_get_int(rows, 0, 0),
                                         .cluster = (unsigned)pg_get_int(rows, 0, 1),
                                         .before = pg_get_int(rows, 0, 2)};
    pg_rows_free(rows);
    if (st == WEIR_OK) st = st_kept;
    return st == WEIR_OK ? st_where : st;
}

enum weir_status pg_trim_carried(struct pg *pg, const struct pg_trimmed *t)
{
    pg_call(pg, "DELETE FROM weir.chunks WHERE log = $1 AND last < $2");
    pg_int(pg, t->log);
    pg_int(pg, t->before);
    return pg_run(pg, NULL);
}

/* ---- logs ---- */

static WEIR_MUST_CHECK enum weir_status drop_expired(struct pg *pg, struct pg_sweep *sweep,
                                                     bool *has_more)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, "SELECT id, name, expires_ms FROM weir.logs WHERE expires_ms <= $1"
                " AND expires_ms >= $3 AND (expires_ms, id) > ($3, $4)"
                " ORDER BY expires_ms, id LIMIT $2");
    pg_int(pg, sweep->now_ms);
    pg_int(pg, EXPIRED);
    pg_int(pg, sweep->told_ms);
    pg_int(pg, sweep->told_id);
    enum weir_status st = pg_run(pg, &rows);
    if (st != WEIR_OK) return st;
    struct pg_expired logs[EXPIRED];
    size_t n = pg_n_rows(rows);
    for (size_t i = 0; i < n; i++)
        logs[i] = (struct pg_expired){pg_get_bytes(rows, i, 1), (uint64_t)pg_get_int(rows, i, 0)};
    if (n > 0 && sweep->drop(sweep->user, logs, n)) {
        sweep->told_id = pg_get_int(rows, n - 1, 0);
        sweep->told_ms = pg_get_int(rows, n - 1, 2);
        *has_more |= n == EXPIRED;
    }
    pg_rows_free(rows);
    return WEIR_OK;
}

/* Some rows of logs that are no more; *n: how many went. */
static WEIR_MUST_CHECK enum weir_status remove_rows(struct pg *pg, const char *sql,
                                                    const int64_t *logs, size_t n_logs, size_t *n)
{
    struct pg_rows *rows = NULL;
    *n = 0;
    if (n_logs == 0) return WEIR_OK;
    pg_call(pg, sql);
    pg_ints(pg, logs, n_logs);
    pg_int(pg, REMOVED_ROWS);
    enum weir_status st = pg_run(pg, &rows);
    if (st == WEIR_OK) *n = pg_n_changed(rows);
    pg_rows_free(rows);
    return st;
}

#define REMOVE_FROM(table)                                                                         \
    "WITH few AS (SELECT log, first FROM weir." table " WHERE log = ANY($1) LIMIT $2)"             \
    " DELETE FROM weir." table " c USING few WHERE c.log = few.log AND c.first = few.first"

/* One that expired waits for its day's end, unless it was moved. */
static WEIR_MUST_CHECK enum weir_status remove_garbage(struct pg *pg, const struct pg_sweep *sweep,
                                                       bool *has_more)
{
    struct pg_rows *rows = NULL;
    int64_t logs[2][GARBAGE];
    size_t n_logs[2] = {0};
    size_t n_removed[2];
    pg_call(pg, "SELECT log, coalesce(expires_ms <= $1, false) FROM weir.garbage"
                " WHERE cluster = 0 LIMIT $2");
    pg_int(pg, sweep->now_ms);
    pg_int(pg, GARBAGE);
    enum weir_status st = pg_run(pg, &rows);
    if (st != WEIR_OK) return st;
    for (size_t i = 0; i < pg_n_rows(rows); i++) {
        bool is_expired = pg_get_bool(rows, i, 1);
        logs[is_expired][n_logs[is_expired]++] = pg_get_int(rows, i, 0);
    }
    *has_more |= pg_n_rows(rows) == GARBAGE;
    pg_rows_free(rows);
    st = remove_rows(pg, REMOVE_FROM("chunks"), logs[0], n_logs[0], &n_removed[0]);
    if (st == WEIR_OK)
        st = remove_rows(pg, REMOVE_FROM("chunks_kept"), logs[1], n_logs[1], &n_removed[1]);
    for (int i = 0; i < 2 && st == WEIR_OK; i++) {
        *has_more |= n_removed[i] == REMOVED_ROWS;
        if (n_removed[i] == REMOVED_ROWS || n_logs[i] == 0) continue;
        pg_call(pg, "DELETE FROM weir.garbage WHERE log = ANY($1)");
        pg_ints(pg, logs[i], n_logs[i]);
        st = pg_run(pg, NULL);
    }
    return st;
}

/* ---- days ---- */

/* The oldest partition that is old; empty when there is none. One that is half away counts. */
static WEIR_MUST_CHECK enum weir_status find_old_day(struct pg *pg, unsigned keep_days,
                                                     char name[PG_DAY_NAME_BYTES], bool *is_pending)
{
    struct pg_rows *rows = NULL;
    name[0] = '\0';
    pg_call(pg, "SELECT c.relname::text, i.inhdetachpending FROM pg_inherits i"
                " JOIN pg_class c ON c.oid = i.inhrelid"
                " WHERE i.inhparent = 'weir.chunks'::regclass AND c.relname ~ '^chunks_[0-9]{8}$'"
                " AND (i.inhdetachpending OR c.relname < 'chunks_' ||"
                " to_char(timezone('UTC', now())::date - $1::int, 'YYYYMMDD'))"
                " ORDER BY i.inhdetachpending DESC, c.relname LIMIT 1");
    pg_int(pg, keep_days);
    enum weir_status st = pg_run(pg, &rows);
    if (st == WEIR_OK && pg_n_rows(rows) == 1) {
        struct weir_slice found = pg_get_bytes(rows, 0, 0);
        *is_pending = pg_get_bool(rows, 0, 1);
        snprintf(name, PG_DAY_NAME_BYTES, "%.*s", (int)found.len, found.ptr);
    }
    pg_rows_free(rows);
    return st;
}

/* *n: how many rows went. *is_end: there is no log behind those that were looked at. */
static WEIR_MUST_CHECK enum weir_status keep_some(struct pg *pg, struct pg_keeping *k, int64_t *n,
                                                  bool *is_end)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, "SELECT n, upto FROM weir.keep_some($1, $2, $3, $4, $5, $6)");
    pg_text(pg, weir_slice_of(k->day));
    pg_int(pg, k->after);
    pg_int(pg, KEEP_LOGS);
    pg_int(pg, MOVED_ROWS);
    pg_int(pg, MOVED_BYTES);
    pg_int(pg, KEPT_ROW_BYTES);
    enum weir_status st = pg_run(pg, &rows);
    *n = st == WEIR_OK ? pg_get_int(rows, 0, 0) : 0;
    *is_end = st == WEIR_OK && pg_is_null(rows, 0, 1);
    if (st == WEIR_OK && !*is_end) k->after = pg_get_int(rows, 0, 1);
    pg_rows_free(rows);
    return st;
}

/*
 * Moves some, or looks at some more logs. *is_done: all were looked at since something was moved
 * last, so nothing is left in that day that readers should see.
 */
static WEIR_MUST_CHECK enum weir_status empty_day(struct pg *pg, struct pg_keeping *k,
                                                  bool *is_done)
{
    int64_t n_moved = 0;
    enum weir_status st = WEIR_OK;
    *is_done = false;
    for (int i = 0; i < KEEP_CALLS && n_moved == 0 && !*is_done && st == WEIR_OK; i++) {
        bool is_end;
        st = keep_some(pg, k, &n_moved, &is_end);
        k->has_moved |= n_moved > 0;
        if (!is_end) continue;
        *is_done = !k->has_moved;
        k->after = 0;
        k->has_moved = false;
    }
    return st;
}

/* A backup has hold of all tables for hours: then it waits for another round, and nobody for it. */
static WEIR_MUST_CHECK enum weir_status alter(struct pg *pg, const char *sql, bool *is_done)
{
    char limit[64];
    snprintf(limit, sizeof limit, "SET lock_timeout = %d", ALTER_MS);
    enum weir_status st = pg_script(pg, limit);
    if (st != WEIR_OK) return st;
    st = pg_script(pg, sql);
    *is_done = st == WEIR_OK;
    enum weir_status st_reset = pg_is_broken(pg) ? st : pg_script(pg, "RESET lock_timeout");
    return st == WEIR_OK || st == WEIR_CONFLICT ? st_reset : st;
}

static WEIR_MUST_CHECK enum weir_status drop_table(struct pg *pg, const char *day, bool *is_done)
{
    char sql[256];
    snprintf(sql, sizeof sql, "DROP TABLE weir.%s", day);
    return alter(pg, sql, is_done);
}

/* In two steps that stop nobody; the first may be cut short, and is ended in another round. */
static WEIR_MUST_CHECK enum weir_status drop_day(struct pg *pg, const char *day, bool is_pending,
                                                 bool *is_done)
{
    char sql[256];
    snprintf(sql, sizeof sql, "ALTER TABLE weir.chunks DETACH PARTITION weir.%s %s", day,
             is_pending ? "FINALIZE" : "CONCURRENTLY");
    enum weir_status st = alter(pg, sql, is_done);
    return st == WEIR_OK && *is_done ? drop_table(pg, day, is_done) : st;
}

static WEIR_MUST_CHECK enum weir_status sweep_days(struct pg *pg, unsigned keep_days,
                                                   struct pg_keeping *k, bool *has_more)
{
    char day[PG_DAY_NAME_BYTES];
    bool is_pending = false, is_empty = true, is_gone = true;
    enum weir_status st = find_old_day(pg, keep_days > 0 ? keep_days : KEEP_DAYS, day, &is_pending);
    if (st != WEIR_OK || !day[0]) return st;
    if (strcmp(k->day, day) != 0) *k = (struct pg_keeping){.after = 0};
    memcpy(k->day, day, sizeof day);
    /* Of one that is half away readers see nothing: it was found to be empty. */
    if (!is_pending) st = empty_day(pg, k, &is_empty);
    if (st == WEIR_OK && is_empty) st = drop_day(pg, day, is_pending, &is_gone);
    *has_more |= is_gone;
    return st;
}

/* Partitions that were detached and not dropped, because somebody died in between. */
static WEIR_MUST_CHECK enum weir_status drop_loose_days(struct pg *pg)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, "SELECT c.relname::text FROM pg_class c"
                " WHERE c.relnamespace = 'weir'::regnamespace AND c.relkind = 'r'"
                " AND c.relname ~ '^chunks_[0-9]{8}$' AND NOT c.relispartition");
    enum weir_status st = pg_run(pg, &rows);
    for (size_t i = 0; st == WEIR_OK && i < pg_n_rows(rows); i++) {
        char day[PG_DAY_NAME_BYTES];
        bool is_done;
        struct weir_slice name = pg_get_bytes(rows, i, 0);
        snprintf(day, sizeof day, "%.*s", (int)name.len, name.ptr);
        st = drop_table(pg, day, &is_done);
    }
    pg_rows_free(rows);
    return st;
}

/* ---- a round ---- */

static WEIR_MUST_CHECK enum weir_status sweep_locked(struct pg *pg, struct pg_sweep *sweep,
                                                     bool *has_more)
{
    enum weir_status st = drop_loose_days(pg);
    if (st == WEIR_OK) st = pg_make_days(pg);
    if (st == WEIR_OK) st = drop_expired(pg, sweep, has_more);
    if (st == WEIR_OK) st = remove_garbage(pg, sweep, has_more);
    if (st != WEIR_OK) return st;
    pg_call(pg, "DELETE FROM weir.writers WHERE seen < now() - interval '30 days'");
    st = pg_run(pg, NULL);
    return st == WEIR_OK ? sweep_days(pg, sweep->keep_days, &sweep->keeping, has_more) : st;
}

static WEIR_MUST_CHECK enum weir_status be_seen(struct pg *pg, struct weir_slice writer)
{
    pg_call(pg, "UPDATE weir.writers SET seen = now()"
                " WHERE id = $1 AND seen < now() - interval '1 hour'");
    pg_text(pg, writer);
    return pg_run(pg, NULL);
}

/*
 * A node that was stopped, or cut off, in the middle of sending a batch has locks at the server,
 * which waits for the rest without an end of its own: no time-out counts inside of a group of
 * statements. And where one does not take what it is sent, notifications too, the server waits in a
 * transaction, and nothing that is dead by then can be cleaned up. Nobody who is well takes that
 * long.
 */
static WEIR_MUST_CHECK enum weir_status end_stuck(struct pg *pg, unsigned stuck_ms)
{
    pg_call(pg, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND usename = current_user"
                " AND application_name IN (current_setting('application_name'),"
                " current_setting('application_name') || ' listener')"
                " AND pid <> pg_backend_pid() AND (wait_event = 'ClientRead'"
                " AND xact_start IS NOT NULL"
                " AND state_change < clock_timestamp() - $1 * interval '1 ms'"
                " OR wait_event = 'ClientWrite'"
                " AND greatest(xact_start, state_change)"
                " < clock_timestamp() - $2 * interval '1 ms')");
    pg_int(pg, stuck_ms > 0 ? stuck_ms : STUCK_MS);
    pg_int(pg, stuck_ms > 0 ? stuck_ms : DEAF_MS);
    return pg_run(pg, NULL);
}

static WEIR_MUST_CHECK enum weir_status ask_lock(struct pg *pg, const char *sql, bool *is_ours)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, sql);
    pg_int(pg, PG_LOCKS);
    pg_int(pg, PG_LOCK_SWEEP);
    enum weir_status st = pg_run(pg, &rows);
    *is_ours = st == WEIR_OK && pg_get_bool(rows, 0, 0);
    pg_rows_free(rows);
    return st;
}

static WEIR_MUST_CHECK enum weir_status take_lock(struct pg *pg, bool *is_ours)
{
    return ask_lock(pg, "SELECT pg_try_advisory_lock($1::int, $2::int)", is_ours);
}

static WEIR_MUST_CHECK enum weir_status give_lock(struct pg *pg)
{
    bool was_ours;
    return ask_lock(pg, "SELECT pg_advisory_unlock($1::int, $2::int)", &was_ours);
}

enum weir_status pg_sweep(struct pg *pg, struct pg_sweep *sweep, bool *has_more)
{
    bool is_ours = false;
    *has_more = false;
    enum weir_status st = be_seen(pg, sweep->writer);
    if (st == WEIR_OK) st = end_stuck(pg, sweep->stuck_ms);
    if (st == WEIR_OK) st = take_lock(pg, &is_ours);
    if (!is_ours) return st;
    st = sweep_locked(pg, sweep, has_more);
    enum weir_status st_unlock = give_lock(pg);
    return st == WEIR_OK ? st_unlock : st;
}

/* ---- of a database that carries events for another one ---- */

/* Some numbers of a column. */
struct ids {
    size_t n;
    int64_t logs[GARBAGE], expires_ms[GARBAGE];
};

static void take_ids(struct ids *ids, const struct pg_rows *rows)
{
    ids->n = 0;
    for (size_t i = 0; i < pg_n_rows(rows) && i < GARBAGE; i++) {
        ids->logs[ids->n] = pg_get_int(rows, i, 0);
        ids->expires_ms[ids->n++] = pg_get_int(rows, i, 1);
    }
}

/* Their events are garbage of that database from now on. */
static WEIR_MUST_CHECK enum weir_status let_go(struct pg *pg, const struct ids *ids)
{
    pg_call(pg, "WITH gone AS (DELETE FROM weir.carried WHERE log = ANY($1))"
                " INSERT INTO weir.garbage (log, expires_ms)"
                " SELECT w.log, nullif(w.expires_ms, 9223372036854775807)"
                " FROM unnest($1::bigint[], $2::bigint[]) AS w(log, expires_ms)"
                " ON CONFLICT DO NOTHING");
    pg_ints(pg, ids->logs, ids->n);
    pg_ints(pg, ids->expires_ms, ids->n);
    return pg_run(pg, NULL);
}

/* Logs that the first database has dropped. */
static WEIR_MUST_CHECK enum weir_status let_dropped_go(struct pg *first, struct pg *pg,
                                                       unsigned cluster, bool *has_more)
{
    struct pg_rows *rows = NULL;
    struct ids ids;
    pg_call(first, "SELECT log, coalesce(expires_ms, 9223372036854775807) FROM weir.garbage"
                   " WHERE cluster = $1 LIMIT $2");
    pg_int(first, cluster);
    pg_int(first, GARBAGE);
    enum weir_status st = pg_run(first, &rows);
    if (st != WEIR_OK) return st;
    take_ids(&ids, rows);
    pg_rows_free(rows);
    if (ids.n == 0) return WEIR_OK;
    *has_more |= ids.n == GARBAGE;
    st = let_go(pg, &ids);
    if (st != WEIR_OK) return st;
    pg_call(first, "DELETE FROM weir.garbage WHERE log = ANY($1)");
    pg_ints(first, ids.logs, ids.n);
    return pg_run(first, NULL);
}

/*
 * A batch changes the row of its writer before it takes a token, so it has a transaction's number
 * by then; and the number that is taken here, behind the token, is greater.
 */
enum weir_status pg_read_moment(struct pg *first, struct pg_moment *out)
{
    struct pg_rows *rows = NULL;
    int64_t token = 0;
    *out = (struct pg_moment){0};
    pg_call(first, "SELECT last_value FROM weir.tokens");
    enum weir_status st = pg_run(first, &rows);
    if (st == WEIR_OK) token = pg_get_int(rows, 0, 0);
    pg_rows_free(rows);
    if (st != WEIR_OK) return st;
    /* The end of a snapshot would not do: it is behind those that have ended, not all that run. */
    pg_call(first, "SELECT pg_current_xact_id()::text::bigint");
    st = pg_run(first, &rows);
    if (st == WEIR_OK) *out = (struct pg_moment){token, pg_get_int(rows, 0, 0)};
    pg_rows_free(rows);
    return st;
}

/*
 * Of some that are carried, those that the first database does not know. A commit that waits for a
 * standby may do so for hours: it has happened, and no snapshot shows it. But it counts as running,
 * so nothing is a stray while any transaction is that old.
 */
static WEIR_MUST_CHECK enum weir_status find_strays(struct pg *first, unsigned cluster,
                                                    const struct pg_moment *old, struct ids *ids)
{
    struct pg_rows *rows = NULL;
    pg_call(first, "SELECT w.log, 9223372036854775807 FROM unnest($1::bigint[]) AS w(log)"
                   " WHERE pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= $3"
                   " AND NOT EXISTS (SELECT FROM weir.logs l WHERE l.id = w.log"
                   " AND l.cluster = $2)");
    pg_ints(first, ids->logs, ids->n);
    pg_int(first, cluster);
    pg_int(first, old->transaction);
    enum weir_status st = pg_run(first, &rows);
    if (st == WEIR_OK) take_ids(ids, rows);
    pg_rows_free(rows);
    return st;
}

/*
 * Logs that nobody knows: whoever wrote their first events died before it could commit them, or
 * came too late. A round looks at some of them. Those whose token was taken in the last minutes may
 * be about to be written and committed.
 */
static WEIR_MUST_CHECK enum weir_status let_strays_go(struct pg *first, struct pg *pg,
                                                      unsigned cluster, struct pg_strays *strays)
{
    struct pg_rows *rows = NULL;
    struct ids ids;
    if (strays->old.token == 0) return WEIR_OK;
    pg_call(pg, "SELECT log, 0::bigint FROM weir.carried WHERE log > $1 AND token <= $2"
                " ORDER BY log LIMIT $3");
    pg_int(pg, strays->after);
    pg_int(pg, strays->old.token);
    pg_int(pg, GARBAGE);
    enum weir_status st = pg_run(pg, &rows);
    if (st != WEIR_OK) return st;
    take_ids(&ids, rows);
    pg_rows_free(rows);
    strays->after = ids.n == GARBAGE ? ids.logs[ids.n - 1] : 0;
    if (ids.n > 0) st = find_strays(first, cluster, &strays->old, &ids);
    return st == WEIR_OK && ids.n > 0 ? let_go(pg, &ids) : st;
}

enum weir_status pg_sweep_carried(struct pg *first, struct pg *pg, unsigned cluster,
                                  const struct pg_sweep *sweep, struct pg_strays *strays,
                                  bool *has_more)
{
    bool is_ours = false;
    *has_more = false;
    enum weir_status st = take_lock(pg, &is_ours);
    if (!is_ours) return st;
    st = end_stuck(pg, sweep->stuck_ms);
    if (st == WEIR_OK) st = drop_loose_days(pg);
    if (st == WEIR_OK) st = pg_make_days(pg);
    if (st == WEIR_OK) st = let_dropped_go(first, pg, cluster, has_more);
    if (st == WEIR_OK) st = let_strays_go(first, pg, cluster, strays);
    if (st == WEIR_OK) st = remove_garbage(pg, sweep, has_more);
    if (st == WEIR_OK) st = sweep_days(pg, sweep->keep_days, &strays->keeping, has_more);
    enum weir_status st_unlock = give_lock(pg);
    return st == WEIR_OK ? st_unlock : st;
}
