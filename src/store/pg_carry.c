/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a batch whose place is another database than the first.
 *
 * The transaction of the first one has been sent, all but its COMMIT: it has locked the rows of the
 * logs, so nobody else may append to them, and taken a token, which is greater than that of whoever
 * had those locks before. With that token the events are written here, and are durable when the
 * COMMIT is sent. Until then nobody reads them: readers go by the heads that the first one has.
 *
 * If the COMMIT does not happen, the events stay, and nobody knows of them. Whoever appends next
 * finds that ids are taken which the first database has not given, and removes them first. And
 * who was stopped between its locks and its events, and comes when others have gone on, shows a
 * token that is too old. So of two who write the same ids the one that has the locks stays.
 */
#include "base/clock.h"
#include "base/slice.h"
#include "store/pg_impl.h"

enum {
    CONNECT_MS = 1000,
    ANSWER_MS = 2500, /* others may wait for our locks meanwhile */
    PAUSE_MS = 4000,  /* before it is tried again that did not answer; twice as long each time, */
    MAX_PAUSE_MS = 16000,
};

static const char fence_sql[] =
    "WITH done AS (INSERT INTO weir.carried AS l (log, last, token, newest, again_from)"
    " SELECT w.log, w.last, $4::bigint, w.first, w.first"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w(log, first, last)"
    " ON CONFLICT (log) DO UPDATE SET last = excluded.last, token = excluded.token,"
    " newest = excluded.newest,"
    " again_from = CASE WHEN l.last < excluded.newest THEN 0 ELSE excluded.newest END"
    " WHERE l.token < excluded.token RETURNING 1)"
    " SELECT weir.stale() WHERE (SELECT count(*) FROM done) <> $5::bigint";

/* A statement of its own: what came to be while the one before waited is seen, too. */
static const char again_sql[] =
    "DELETE FROM weir.chunks c USING unnest($1::bigint[], $2::bigint[]) AS w(log, first)"
    " JOIN weir.carried l ON l.log = w.log AND l.again_from > 0"
    " WHERE c.log = w.log AND c.first >= w.first";

static const char events_sql[] =
    "INSERT INTO weir.chunks (log, first, last, bytes)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])";

static void lose(struct pg_cluster *c)
{
    pg_close(c->pg);
    c->pg = NULL;
    atomic_store(&c->is_away, true);
}

/*
 * It could be reached and gave no answer. Each try stops all that is written, to the other
 * databases, too: so there are fewer and fewer of them.
 */
static void rest(struct pg_cluster *c)
{
    c->pause_ms = c->pause_ms == 0 ? PAUSE_MS : 2 * c->pause_ms;
    if (c->pause_ms > MAX_PAUSE_MS) c->pause_ms = MAX_PAUSE_MS;
    atomic_store(&c->away_until_ns, clock_mono_ns(&clock_system) + (uint64_t)c->pause_ms * 1000000);
}

static WEIR_MUST_CHECK enum weir_status connect(struct pg_cluster *c)
{
    const struct pg_options options = {
        .url = c->url, .connect_ms = CONNECT_MS, .timeout_ms = ANSWER_MS};
    if (c->pg) {
        /* One that was lost while nothing was under way is found out before it is used. */
        enum weir_status st = pg_hear(c->pg);
        if (st == WEIR_OK) st = pg_hear(c->pg);
        if (st == WEIR_OK && !pg_is_broken(c->pg)) return WEIR_OK;
        pg_close(c->pg);
        c->pg = NULL;
    }
    enum weir_status st = pg_open(&c->pg, &options, NULL);
    if (st != WEIR_OK) return st;
    pg_link_send_settings(c->pg, true);
    pg_sync(c->pg);
    return pg_take_all(c->pg);
}

enum weir_status pg_carry_send(struct pg_cluster *to, const struct pg_carried *e)
{
    if (connect(to) != WEIR_OK) {
        lose(to);
        return WEIR_STORAGE;
    }
    struct pg *pg = to->pg;
    pg_call(pg, fence_sql);
    pg_ints(pg, e->logs, e->n);
    pg_ints(pg, e->first, e->n);
    pg_ints(pg, e->last, e->n);
    pg_int(pg, e->token);
    pg_int(pg, (int64_t)e->n);
    pg_send(pg);
    pg_call(pg, again_sql);
    pg_ints(pg, e->logs, e->n);
    pg_ints(pg, e->first, e->n);
    pg_send(pg);
    pg_call(pg, events_sql);
    pg_ints(pg, e->logs, e->n);
    pg_ints(pg, e->first, e->n);
    pg_ints(pg, e->last, e->n);
    pg_bytes_array(pg, e->bytes, e->n);
    pg_send(pg);
    pg_sync(pg);
    pg_flush(pg);
    return WEIR_OK;
}

/* Whatever else goes wrong there, a full disk too, is that database's: it is left alone. */
enum weir_status pg_carry_wait(struct pg_store *s)
{
    enum weir_status all = WEIR_OK;
    uint64_t began_ns = clock_mono_ns(&clock_system);
    for (size_t i = 1; i < s->clusters.n; i++) {
        struct pg_cluster *c = &s->clusters.all[i];
        if (!c->pg || pg_n_pending(c->pg) == 0) continue;
        enum weir_status st = pg_take_all(c->pg);
        if (st == WEIR_OK) c->pause_ms = 0;
        if (st == WEIR_OK) continue;
        if (st != WEIR_CONFLICT && st != WEIR_NOMEM) {
            if (!pg_is_broken(c->pg)) pg_tell_refusal(s, st, c->pg);
            bool has_stalled =
                clock_mono_ns(&clock_system) - began_ns >= (uint64_t)ANSWER_MS * 1000000;
            if (has_stalled) rest(c);
            lose(c);
            st = WEIR_STORAGE;
        }
        if (all == WEIR_OK || st == WEIR_STORAGE) all = st;
    }
    return all;
}
