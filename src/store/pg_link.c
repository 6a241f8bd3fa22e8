/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The committer's connection: making it again when it is lost, and finding out what became of the
 * batch that was under way then.
 *
 * The old connection's process on the server may not have noticed, and may have the batch in its
 * socket still. So it is ended if it waits; then the writer's row is locked, which waits for its
 * transaction if it is at it; then the row is moved past the batch's number, so that whoever comes
 * late finds another number than it expects and fails. All of that is durable before anybody is
 * told.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_impl.h"

enum { CONNECT_MS = 2000, LEAST_KEYS = 64, MOST_KEYS = 4096, KEY_SHARE = 8 };

/*
 * Nothing but lookups by key, in the order of the arrays, planned once. A node that is stopped in
 * the middle of a transaction does not keep its locks for ever.
 */
static const char setup_sql[] =
    "SELECT set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', "
    "false), set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false),"
    " set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('idle_in_transaction_session_timeout', '6s', false),"
    " set_config('synchronous_commit', CASE WHEN $1 THEN 'off'"
    " WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'"
    " ELSE current_setting('synchronous_commit') END, false)";

static const char locks_sql[] = "SELECT current_setting('max_locks_per_transaction')::bigint"
                                " * current_setting('max_connections')::bigint";

/*
 * A database that was not told to wait for its disk or a standby may have lost its last commits,
 * and then the row is behind what we know to have happened. The number under way is one further,
 * so whoever resolves it finds the same.
 */
static const char row_sql[] =
    "INSERT INTO weir.writers AS w (id, batch) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE"
    " SET batch = excluded.batch WHERE w.batch < excluded.batch";

/*
 * Only one that waits for us or for a lock, which might be for ever. One that waits for a standby
 * is left alone: ending it would show what may yet be lost. So would ending one that is about to,
 * because it writes its commit down; and it looks like any other that is at work. Those come to an
 * end by themselves, and who locks the row waits for that.
 */
static const char end_sql[] = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                              " WHERE pid = $1::int AND usename = current_user"
                              " AND application_name = current_setting('application_name')"
                              " AND wait_event_type IN ('Client', 'Lock')";

static const char find_sql[] = "SELECT batch FROM weir.writers WHERE id = $1 FOR UPDATE";
static const char pass_sql[] = "UPDATE weir.writers SET seen = now(),"
                               " batch = CASE WHEN batch < $2 THEN $2 + 1 ELSE batch END"
                               " WHERE id = $1";
static const char leave_sql[] = "DELETE FROM weir.writers WHERE id = $1";

void pg_link_send_settings(struct pg *pg, bool is_durable)
{
    pg_call(pg, setup_sql);
    pg_bool(pg, !is_durable);
    pg_send(pg);
}

static WEIR_MUST_CHECK enum weir_status set_up(struct pg_store *s)
{
    struct pg_rows *rows = NULL;
    pg_link_send_settings(s->pg, s->options.durability != STORE_DURABLE_NORMAL);
    pg_call(s->pg, locks_sql);
    pg_send(s->pg);
    pg_sync(s->pg);
    enum weir_status st = pg_take(s->pg, NULL);
    enum weir_status st_locks = pg_take(s->pg, &rows);
    if (st == WEIR_OK) st = st_locks;
    if (st == WEIR_OK) {
        int64_t n = pg_get_int(rows, 0, 0) / KEY_SHARE;
        s->max_keys = (size_t)(n < LEAST_KEYS ? LEAST_KEYS : n > MOST_KEYS ? MOST_KEYS : n);
    }
    pg_rows_free(rows);
    return st;
}

static WEIR_MUST_CHECK enum weir_status make_row(struct pg_store *s)
{
    pg_call(s->pg, row_sql);
    pg_text(s->pg, weir_slice_of(s->writer));
    pg_int(s->pg, (int64_t)s->batch_number);
    return pg_run(s->pg, NULL);
}

enum weir_status pg_link_open(struct pg_store *s, struct store_error *error)
{
    struct pg_options options = {
        .url = s->url, .connect_ms = CONNECT_MS, .timeout_ms = PG_ANSWER_MS};
    enum weir_status st = pg_open(&s->pg, &options, error);
    if (st != WEIR_OK) return st;
    st = set_up(s);
    if (st == WEIR_OK) return WEIR_OK;
    if (error) snprintf(error->text, sizeof error->text, "%s", pg_message(s->pg));
    pg_close(s->pg);
    s->pg = NULL;
    return st;
}

void pg_link_lose(struct pg_store *s)
{
    if (!s->pg) return;
    s->old_process = pg_process(s->pg);
    pg_close(s->pg);
    s->pg = NULL;
    s->connect_at_ns = 0;
    pthread_mutex_lock(&s->stats_lock);
    s->stats.shared.n_lost++;
    pthread_mutex_unlock(&s->stats_lock);
}

static void note(struct pg_store *s, bool is_there)
{
    uint64_t now = clock_mono_ns(&clock_system);
    if (!is_there) s->connect_at_ns = now + (uint64_t)PG_PROBE_MS * 1000000;
    pthread_mutex_lock(&s->queue_lock);
    if (is_there) s->away_since_ns = 0;
    else if (s->away_since_ns == 0) s->away_since_ns = now;
    pthread_mutex_unlock(&s->queue_lock);
    pthread_mutex_lock(&s->stats_lock);
    if (is_there) s->stats.shared.n_connects++;
    pthread_mutex_unlock(&s->stats_lock);
}

/* A process of the old connection's may be there still. What it is told does not matter. */
static WEIR_MUST_CHECK enum weir_status end_old(struct pg_store *s)
{
    if (s->old_process == 0) return WEIR_OK;
    pg_call(s->pg, end_sql);
    pg_int(s->pg, s->old_process);
    enum weir_status st = pg_run(s->pg, NULL);
    if (st == WEIR_OK) s->old_process = 0;
    return pg_is_broken(s->pg) ? st : WEIR_OK;
}

enum weir_status pg_link_up(struct pg_store *s)
{
    if (s->pg) return WEIR_OK;
    if (clock_mono_ns(&clock_system) < s->connect_at_ns) return WEIR_STORAGE;
    struct store_error why = {""};
    enum weir_status st = pg_link_open(s, &why);
    if (st == WEIR_OK) {
        st = end_old(s);
        if (st == WEIR_OK) st = make_row(s);
        if (st == WEIR_OK) st = pg_set_time(s, s->pg);
        if (st != WEIR_OK) {
            snprintf(why.text, sizeof why.text, "%s", pg_message(s->pg));
            pg_close(s->pg);
            s->pg = NULL;
        }
    }
    note(s, st == WEIR_OK);
    s->link_why = why;
    return st == WEIR_OK ? st : WEIR_STORAGE;
}

enum weir_status pg_link_resolve(struct pg_store *s, uint64_t number, bool *has_happened)
{
    struct pg_rows *rows = NULL;
    enum weir_status st = pg_link_up(s);
    if (st != WEIR_OK) return st;
    pg_call(s->pg, find_sql);
    pg_text(s->pg, weir_slice_of(s->writer));
    pg_send(s->pg);
    pg_call(s->pg, pass_sql);
    pg_text(s->pg, weir_slice_of(s->writer));
    pg_int(s->pg, (int64_t)number);
    pg_send(s->pg);
    pg_sync(s->pg);
    st = pg_take(s->pg, &rows);
    enum weir_status st_end = pg_take(s->pg, NULL);
    if (st == WEIR_OK) st = st_end;
    if (st == WEIR_OK && pg_n_rows(rows) == 1) {
        uint64_t batch = (uint64_t)pg_get_int(rows, 0, 0);
        *has_happened = batch == number;
        s->batch_number = *has_happened ? number : number + 1;
    } else if (st == WEIR_OK) {
        st = WEIR_STORAGE; /* pg_link_up() has made it: it is gone again */
    }
    pg_rows_free(rows);
    if (st != WEIR_OK) {
        pg_link_lose(s);
        note(s, false);
        st = WEIR_STORAGE;
    }
    return st;
}

void pg_link_close(struct pg_store *s)
{
    if (s->pg && !pg_is_broken(s->pg) && pg_n_pending(s->pg) == 0) {
        pg_call(s->pg, leave_sql);
        pg_text(s->pg, weir_slice_of(s->writer));
        /* A row that stays is swept some day. */
        enum weir_status st = pg_run(s->pg, NULL);
        (void)st;
    }
    pg_close(s->pg);
    s->pg = NULL;
}
