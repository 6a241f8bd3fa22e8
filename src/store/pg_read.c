/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading logs and documents on PostgreSQL. Each answer is one statement, and so sees one state of
 * the database. How many rows an answer has is bounded by their sizes before their bytes are
 * looked at: the server knows the size of a value without unpacking it.
 */
#include <string.h>

#include <weir/buf.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_clusters.h"

enum {
    READ_ROWS = 1024,
    LIST_ROWS = 4096,
    LIST_BYTES = 16 << 20,
    FAR_EVENTS = 64,      /* so far behind the head, a standby is asked */
    AGAIN_MS = 1000,      /* a connection that was lost within that had been lost before */
    STANDBY_MS = 2000,    /* to reach one, and for its answer */
    NO_STANDBY_MS = 30000 /* none is looked for so long after none was found */
};

enum weir_status pg_with(struct pg_pool *pool, pg_work_fn work, void *user)
{
    enum weir_status st = WEIR_OK;
    bool is_broken = true;
    uint64_t began_ns = clock_mono_ns(&clock_system), spent_ns = 0;
    /* One that idled may have been lost long ago; one that gave no answer is not asked again. */
    for (int i = 0; i < 2 && is_broken && spent_ns < (uint64_t)AGAIN_MS * 1000000; i++) {
        struct pg *pg;
        st = pg_pool_take(pool, PG_READ_WAIT_MS, &pg);
        if (st != WEIR_OK) return st;
        st = work(pg, user);
        is_broken = pg_is_broken(pg);
        pg_pool_give(pool, pg);
        spent_ns = clock_mono_ns(&clock_system) - began_ns;
    }
    return st;
}

/* ---- logs ---- */

struct reading {
    struct weir_slice log;
    uint64_t log_id; /* of one that is carried: it has no name there */
    uint64_t from;
    size_t max_bytes;
    int64_t now_ms;
    uint64_t head;        /* nothing beyond is shown */
    unsigned cluster;     /* who has its events, when that was found */
    pg_work_fn find_late; /* on a standby */
    /* id, last, sealed, expires; first, last, bytes of a chunk; cluster; what may be rewritten */
    struct pg_rows *rows;
};

static enum weir_status find_log(struct pg *pg, void *user)
{
    struct reading *r = user;
    pg_call(pg, "SELECT id, last, is_sealed, coalesce(expires_ms, 9223372036854775807),"
                " 0, 0, 0, cluster::bigint FROM weir.logs WHERE name = $1");
    pg_bytes(pg, r->log);
    return pg_run(pg, &r->rows);
}

static enum weir_status run_find(struct pg *pg, struct reading *r)
{
    pg_int(pg, (int64_t)r->from);
    pg_int(pg, r->max_bytes < INT64_MAX ? (int64_t)r->max_bytes : INT64_MAX);
    pg_int(pg, READ_ROWS);
    return pg_run(pg, &r->rows);
}

/* The row that has event $2, and those behind it; or the log alone, with nulls. */
#define EVENTS_OF(id)                                                                              \
    " LEFT JOIN LATERAL ("                                                                         \
    "  SELECT first, last, bytes FROM ("                                                           \
    "   SELECT first, last, bytes, sum(octet_length(bytes)) OVER"                                  \
    "    (ORDER BY first ROWS UNBOUNDED PRECEDING) - octet_length(bytes) AS before FROM ("         \
    "     SELECT first, last, bytes FROM weir.chunks WHERE log = " id " AND last >= $2 AND"        \
    "      first >= coalesce((SELECT max(first) FROM weir.chunks"                                  \
    "       WHERE log = " id " AND first <= $2), 0)"                                               \
    "     ORDER BY first LIMIT $4) rows) sums"                                                     \
    "  WHERE before < $3) c ON true "

#define LOG_AND_EVENTS(rewritten)                                                                  \
    "SELECT l.id, l.last, l.is_sealed, coalesce(l.expires_ms, 9223372036854775807),"               \
    " c.first, c.last, c.bytes, l.cluster::bigint, " rewritten                                     \
    " FROM weir.logs l" EVENTS_OF("l.id") "WHERE l.name = $1 ORDER BY c.first"

static enum weir_status find_events(struct pg *pg, void *user)
{
    struct reading *r = user;
    pg_call(pg, LOG_AND_EVENTS("9223372036854775807"));
    pg_bytes(pg, r->log);
    return run_find(pg, r);
}

/* The same of a standby: its newest row may be one that never came to be. */
static enum weir_status find_late_events(struct pg *pg, void *user)
{
    struct reading *r = user;
    pg_call(pg, LOG_AND_EVENTS("(SELECT max(first) FROM weir.chunks WHERE log = l.id)"));
    pg_bytes(pg, r->log);
    return run_find(pg, r);
}

/* The same where a log's events are, but not the log. Those before `newest` were committed. */
static enum weir_status find_carried(struct pg *pg, void *user)
{
    struct reading *r = user;
    pg_call(pg,
            "SELECT l.log, l.last, false, 0::bigint, c.first, c.last, c.bytes, 0::bigint,"
            " l.newest FROM weir.carried l" EVENTS_OF("l.log") "WHERE l.log = $1 ORDER BY c.first");
    pg_int(pg, (int64_t)r->log_id);
    return run_find(pg, r);
}

/* What is left of a row's bytes from event `from` on; the row begins with event `first`. */
static struct weir_slice row_from(struct weir_slice bytes, uint64_t first, uint64_t from)
{
    for (; first < from && bytes.len > 0; first++) {
        size_t len = chunk_event_length(bytes);
        if (len == 0) return (struct weir_slice){0};
        bytes = slice_from(bytes, len);
    }
    return bytes;
}

/* The events of the rows from `from` on, without a gap, as far as they are whole below the head. */
static WEIR_MUST_CHECK enum weir_status join_rows(const struct reading *r, struct weir_buf *out,
                                                  uint64_t *last)
{
    uint64_t due = r->from;
    for (size_t i = 0; i < pg_n_rows(r->rows); i++) {
        struct weir_slice bytes = pg_get_bytes(r->rows, i, 6);
        uint64_t row_first = (uint64_t)pg_get_int(r->rows, i, 4);
        uint64_t row_last = (uint64_t)pg_get_int(r->rows, i, 5);
        if (out->len > 0 && out->len + bytes.len > r->max_bytes) break;
        if (row_last > r->head) break;
        if (i == 0 && row_first > due) return WEIR_NOT_FOUND; /* it was trimmed */
        if (row_first > due || row_last < due) return WEIR_CORRUPT;
        struct weir_slice rest = row_from(bytes, row_first, due);
        if (rest.len == 0) return WEIR_CORRUPT;
        weir_buf_append_slice(out, rest);
        *last = row_last;
        due = row_last + 1;
    }
    return weir_buf_status(out);
}

static void give_events(const struct reading *r, struct log_read *out)
{
    struct weir_buf bytes;
    uint64_t last = 0;
    weir_buf_init(&bytes, UINT32_MAX);
    out->status = join_rows(r, &bytes, &last);
    if (out->status == WEIR_OK && bytes.len > 0) {
        struct chunk *chunk = chunk_new(r->from, last, bytes.len);
        if (chunk) {
            memcpy(chunk->bytes, bytes.ptr, bytes.len);
            out->chunks[out->n_chunks++] = chunk;
        } else {
            out->status = WEIR_NOMEM;
        }
    }
    weir_buf_fini(&bytes);
}

static void give_log(struct reading *r, bool is_state_alone, struct log_read *out)
{
    out->state = (struct log_state){.exists = true,
                                    .log_id = (uint64_t)pg_get_int(r->rows, 0, 0),
                                    .last = (uint64_t)pg_get_int(r->rows, 0, 1),
                                    .is_sealed = pg_get_bool(r->rows, 0, 2)};
    r->cluster = (unsigned)pg_get_int(r->rows, 0, 7);
    if (is_state_alone || r->cluster != 0) return;
    if (!pg_is_null(r->rows, 0, 4)) give_events(r, out);
    else if (r->from <= out->state.last) out->status = WEIR_CORRUPT;
}

static void read_log(struct pg_pool *pool, struct reading *r, struct log_read *out)
{
    bool is_state_alone = r->max_bytes == 0 || r->from > INT64_MAX; /* any id may be asked for */
    CHECK(r->from > 0);
    *out = (struct log_read){0};
    r->cluster = 0;
    out->status = pg_with(pool, is_state_alone ? find_log : find_events, r);
    if (out->status != WEIR_OK) return;
    if (pg_n_rows(r->rows) > 0 && pg_get_int(r->rows, 0, 3) > r->now_ms)
        give_log(r, is_state_alone, out);
    pg_rows_free(r->rows);
}

static struct reading reading_of(struct weir_slice log, uint64_t from, size_t max_bytes,
                                 int64_t now_ms)
{
    return (struct reading){.log = log,
                            .from = from,
                            .max_bytes = max_bytes,
                            .now_ms = now_ms,
                            .head = UINT64_MAX,
                            .find_late = find_late_events};
}

void pg_read_log(struct pg_pool *pool, struct weir_slice log, uint64_t from, size_t max_bytes,
                 int64_t now_ms, struct log_read *out)
{
    struct reading r = reading_of(log, from, max_bytes, now_ms);
    read_log(pool, &r, out);
}

/* ---- with standbys ---- */

enum weir_status pg_far_init(struct pg_far *far, struct pg_pool *pool, const char *url,
                             unsigned n_max)
{
    struct pg_options options = {
        .url = url, .role = PG_STANDBY, .connect_ms = STANDBY_MS, .timeout_ms = STANDBY_MS};
    *far = (struct pg_far){.pool = pool};
    return pg_names_several(url) ? pg_pool_new(&far->standbys, &options, n_max) : WEIR_OK;
}

void pg_far_fini(struct pg_far *far)
{
    pg_pool_free(far->standbys);
    far->standbys = NULL;
}

static uint64_t mono_ms(void)
{
    return clock_mono_ns(&clock_system) / 1000000;
}

/*
 * A standby is late, and the row of a log that came last there may be one that nobody was told of
 * and another primary has not: it waited for a standby when its own was lost; or it is carried, and
 * was never committed. The log's head may count what was written over it since. Whoever appends
 * waits for the row before, so there is no more than one such row.
 */
static void give_settled(struct reading *r, struct log_read *out)
{
    uint64_t head = r->head, rewritten = (uint64_t)pg_get_int(r->rows, 0, 8);
    if (r->head >= rewritten) r->head = rewritten - 1;
    give_events(r, out);
    r->head = head;
}

/* True: a standby has given events that the log, as `out` has it, is known to have. */
static bool read_on_standby(struct pg_far *far, struct reading *r, struct log_read *out)
{
    struct pg *pg;
    if (!far->standbys || mono_ms() < atomic_load(&far->not_until)) return false;
    enum weir_status st = pg_pool_take(far->standbys, 0, &pg);
    if (st == WEIR_BUSY) return false;
    bool is_away = st != WEIR_OK;
    if (!is_away) {
        uint64_t began_ms = mono_ms();
        st = r->find_late(pg, r);
        is_away = pg_is_broken(pg) && mono_ms() - began_ms >= AGAIN_MS; /* it gave no answer */
        pg_pool_give(far->standbys, pg);
    }
    if (is_away) atomic_store(&far->not_until, mono_ms() + NO_STANDBY_MS);
    if (st != WEIR_OK) return false;
    bool is_same = pg_n_rows(r->rows) > 0 &&
                   (uint64_t)pg_get_int(r->rows, 0, 0) == out->state.log_id &&
                   !pg_is_null(r->rows, 0, 4);
    if (is_same) give_settled(r, out);
    pg_rows_free(r->rows);
    bool is_given = is_same && out->status == WEIR_OK && out->n_chunks > 0;
    out->status = WEIR_OK; /* what is odd there is asked of the one that writes */
    return is_given;
}

static bool read_if_far(struct pg_far *far, struct reading *r, struct log_read *out)
{
    if (out->state.last - r->from < FAR_EVENTS || !read_on_standby(far, r, out)) return false;
    atomic_fetch_add(&far->n_far, 1);
    return true;
}

static void read_far(struct pg_far *far, struct reading *r, struct log_read *out)
{
    if (far->standbys && r->max_bytes > 0) {
        struct reading state = *r;
        state.max_bytes = 0;
        read_log(far->pool, &state, out);
        r->cluster = state.cluster;
        if (out->status != WEIR_OK || r->from > out->state.last || r->cluster != 0) return;
        r->head = out->state.last;
        if (read_if_far(far, r, out)) return;
        r->head = UINT64_MAX;
    }
    read_log(far->pool, r, out);
}

void pg_read_far(struct pg_far *far, struct weir_slice log, uint64_t from, size_t max_bytes,
                 int64_t now_ms, struct log_read *out)
{
    struct reading r = reading_of(log, from, max_bytes, now_ms);
    read_far(far, &r, out);
}

/* ---- of several databases ---- */

/* Events that the log, as `out` has it, is known to have. WEIR_CORRUPT: they are not there. */
static void read_carried(struct pg_far *far, struct reading *r, struct log_read *out)
{
    if (read_if_far(far, r, out)) return;
    out->status = pg_with(far->pool, find_carried, r);
    if (out->status != WEIR_OK) return;
    bool is_there = pg_n_rows(r->rows) > 0 && !pg_is_null(r->rows, 0, 4);
    if (is_there) give_events(r, out);
    if (out->status == WEIR_OK && out->n_chunks == 0) out->status = WEIR_CORRUPT;
    pg_rows_free(r->rows);
}

/*
 * First what the log is like, then its events up to that. If they are not where they should be, the
 * log may have been dropped meanwhile: then that is the answer.
 */
void pg_clusters_read(struct pg_clusters *cs, struct weir_slice log, uint64_t from,
                      size_t max_bytes, int64_t now_ms, struct log_read *out)
{
    for (int i = 0; i < 2; i++) {
        struct reading r = reading_of(log, from, max_bytes, now_ms);
        uint64_t log_id = i > 0 ? out->state.log_id : 0;
        read_far(&cs->all[0].far, &r, out);
        if (r.cluster == 0 || out->status != WEIR_OK || max_bytes == 0 || from > out->state.last)
            return;
        struct pg_cluster *c = pg_clusters_find(cs, r.cluster);
        r.log_id = out->state.log_id;
        r.head = out->state.last;
        r.find_late = find_carried;
        out->status = WEIR_STORAGE; /* it was added, and nobody told this node */
        if (c) read_carried(&c->far, &r, out);
        if (out->status != WEIR_CORRUPT || log_id == out->state.log_id) return;
    }
}

/* ---- documents ---- */

/* Borrowed from the rows. */
static struct doc doc_of(const struct pg_rows *rows, size_t i)
{
    return (struct doc){.kind = pg_get_bytes(rows, i, 0),
                        .id = pg_get_bytes(rows, i, 1),
                        .owner = pg_get_bytes(rows, i, 2),
                        .version = pg_get_int(rows, i, 3),
                        .body = pg_get_bytes(rows, i, 4)};
}

/* Moves what a slice shows to *at, and *at behind it. */
static void move(struct weir_slice *s, char **at)
{
    memcpy(*at, s->ptr, s->len);
    s->ptr = *at;
    *at += s->len;
}

static WEIR_MUST_CHECK enum weir_status copy_doc(struct doc *doc)
{
    char *at = mem_alloc(doc->kind.len + doc->id.len + doc->owner.len + doc->body.len + 1);
    if (!at) return WEIR_NOMEM;
    doc->memory = at;
    move(&doc->kind, &at);
    move(&doc->id, &at);
    move(&doc->owner, &at);
    move(&doc->body, &at);
    return WEIR_OK;
}

struct getting {
    struct doc_key key;
    struct pg_rows *rows;
};

static enum weir_status find_doc(struct pg *pg, void *user)
{
    struct getting *g = user;
    pg_call(pg, "SELECT kind, id, owner, version, body FROM weir.docs WHERE kind = $1 AND id = $2");
    pg_bytes(pg, g->key.kind);
    pg_bytes(pg, g->key.id);
    return pg_run(pg, &g->rows);
}

enum weir_status pg_get_doc(struct pg_pool *pool, struct doc_key key, struct doc *out)
{
    struct getting g = {.key = key};
    *out = (struct doc){0};
    enum weir_status st = pg_with(pool, find_doc, &g);
    if (st != WEIR_OK) return st;
    if (pg_n_rows(g.rows) == 0) {
        st = WEIR_NOT_FOUND;
    } else {
        *out = doc_of(g.rows, 0);
        st = copy_doc(out);
        if (st != WEIR_OK) *out = (struct doc){0};
    }
    pg_rows_free(g.rows);
    return st;
}

struct listing {
    struct doc_query query; /* what is left of it */
    int64_t limit;
    struct pg_rows *rows;
};

#define LISTED(where, order)                                                                       \
    "SELECT kind, id, owner, version, body FROM ("                                                 \
    " SELECT *, sum(octet_length(body)) OVER (ORDER BY id" order                                   \
    "  ROWS UNBOUNDED PRECEDING) - octet_length(body) AS before FROM ("                            \
    "  SELECT kind, id, owner, version, body FROM weir.docs WHERE " where " ORDER BY id" order     \
    "  LIMIT $3) rows) sums "                                                                      \
    "WHERE before < $4 ORDER BY id" order

/* The comparison with nothing lets the server use the index, which has no others. */
#define OF_OWNER "owner = $5 AND owner <> ''::bytea AND kind = $1 AND "

static enum weir_status find_docs(struct pg *pg, void *user)
{
    static const char *const texts[2][2] = {
        {LISTED("kind = $1 AND id > $2", ""), LISTED("kind = $1 AND id < $2", " DESC")},
        {LISTED(OF_OWNER "id > $2", ""), LISTED(OF_OWNER "id < $2", " DESC")},
    };
    /* Longer than any id can be, so that it stands behind them all. */
    static const char beyond[STORE_NAME_BYTES + 1] = {[0 ... STORE_NAME_BYTES] = '\xff'};
    static const struct weir_slice end = {beyond, sizeof beyond};
    struct listing *l = user;
    const struct doc_query *q = &l->query;
    bool has_owner = q->owner.len > 0;
    pg_call(pg, texts[has_owner][q->is_falling]);
    pg_bytes(pg, q->kind);
    pg_bytes(pg, q->is_falling && q->after.len == 0 ? end : q->after);
    pg_int(pg, l->limit);
    pg_int(pg, LIST_BYTES);
    if (has_owner) pg_bytes(pg, q->owner);
    return pg_run(pg, &l->rows);
}

/* Shows what was found, and says where to go on; *n is 0 when there is no more. */
static WEIR_MUST_CHECK enum weir_status show(struct listing *l, doc_fn each, void *user, size_t *n,
                                             char after[STORE_NAME_BYTES])
{
    enum weir_status st = WEIR_OK;
    *n = pg_n_rows(l->rows);
    for (size_t i = 0; i < *n && st == WEIR_OK; i++) {
        struct doc doc = doc_of(l->rows, i);
        if (i + 1 == *n) {
            if (doc.id.len > STORE_NAME_BYTES) return WEIR_CORRUPT;
            memcpy(after, doc.id.ptr, doc.id.len);
            l->query.after = slice_of(after, doc.id.len);
        }
        st = each(user, &doc);
    }
    return st;
}

enum weir_status pg_list_docs(struct pg_pool *pool, const struct doc_query *query, doc_fn each,
                              void *user)
{
    struct listing l = {.query = *query};
    char after[STORE_NAME_BYTES];
    size_t left = query->limit;
    size_t n = 1;
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK && left > 0 && n > 0) {
        l.limit = left < LIST_ROWS ? (int64_t)left : LIST_ROWS;
        st = pg_with(pool, find_docs, &l);
        if (st != WEIR_OK) break;
        bool is_bounded = pg_n_rows(l.rows) < (size_t)l.limit;
        st = show(&l, each, user, &n, after);
        left -= n;
        /* Fewer than asked for: the end, unless it was their bytes that bounded them. */
        size_t n_bytes = 0;
        for (size_t i = 0; i < n && is_bounded; i++) n_bytes += pg_get_bytes(l.rows, i, 4).len;
        if (is_bounded && n_bytes < LIST_BYTES) left = 0;
        pg_rows_free(l.rows);
    }
    return st;
}
