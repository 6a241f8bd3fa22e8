/* SPDX-License-Identifier: Apache-2.0 */
/* Reading on PostgreSQL, of rows that were put there by hand. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <weir/buf.h>

#include "base/slice.h"
#include "pg_server.h"
#include "store/pg_tables.h"
#include "t.h"

static const int64_t now_ms = 1000;

struct base {
    const char *url;
    struct pg *pg;
    struct pg_pool *pool;
};

static bool open_base(struct base *b, const char *name)
{
    *b = (struct base){0};
    const char *url = pg_server_database(name);
    if (!url) return false;
    T_EQ(pg_open(&b->pg, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    T_EQ(pg_migrate(b->pg, NULL), WEIR_OK);
    b->url = url;
    T_EQ(pg_pool_new(&b->pool, &(struct pg_options){.url = url, .role = PG_READER}, 2), WEIR_OK);
    return true;
}

static void close_base(struct base *b)
{
    pg_pool_free(b->pool);
    pg_close(b->pg);
}

static void put_log(struct base *b, int64_t id, const char *name, int64_t last, int64_t expires_ms)
{
    pg_call(b->pg, "INSERT INTO weir.logs (id, name, last, expires_ms)"
                   " VALUES ($1, $2, $3, nullif($4, -1))");
    pg_int(b->pg, id);
    pg_bytes(b->pg, weir_slice_of(name));
    pg_int(b->pg, last);
    pg_int(b->pg, expires_ms);
    T_EQ(pg_run(b->pg, NULL), WEIR_OK);
}

static void put_events(struct weir_buf *out, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++)
        weir_buf_printf(out, "id: %" PRIu64 "\ndata: %" PRIu64 "\n\n", i, i);
}

/* Into today's partition, or `days` after it. */
static void put_row(struct base *b, int64_t log, uint64_t first, uint64_t last, int64_t days)
{
    struct weir_buf bytes;
    weir_buf_init(&bytes, 1 << 20);
    put_events(&bytes, first, last);
    pg_call(b->pg, "INSERT INTO weir.chunks VALUES ($1, $2, $3, CASE WHEN $4 < -1 THEN '1999-01-01'"
                   " ELSE timezone('UTC', now())::date + $4::int END, $5)");
    pg_int(b->pg, log);
    pg_int(b->pg, (int64_t)first);
    pg_int(b->pg, (int64_t)last);
    pg_int(b->pg, days);
    pg_bytes(b->pg, weir_buf_slice(&bytes));
    T_EQ(pg_run(b->pg, NULL), WEIR_OK);
    weir_buf_fini(&bytes);
}

/* Reads from an id on to the end, so many bytes at a time; the last id. */
static uint64_t read_all(struct base *b, const char *log, uint64_t from, size_t max_bytes)
{
    struct weir_buf got, want;
    uint64_t next = from;
    weir_buf_init(&got, 1 << 24);
    weir_buf_init(&want, 1 << 24);
    for (;;) {
        struct log_read read;
        pg_read_log(b->pool, weir_slice_of(log), next, max_bytes, now_ms, &read);
        T_EQ(read.status, WEIR_OK);
        if (read.n_chunks == 0) break;
        T_EQ(read.chunks[0]->first, next);
        next = read.chunks[0]->last + 1;
        weir_buf_append(&got, read.chunks[0]->bytes, read.chunks[0]->len);
        chunk_unref(read.chunks[0]);
    }
    put_events(&want, from, next - 1);
    T_EQ_SLICE(weir_buf_slice(&got), weir_buf_slice(&want));
    weir_buf_fini(&got);
    weir_buf_fini(&want);
    return next - 1;
}

static enum weir_status state_of(struct base *b, const char *log, struct log_state *out)
{
    struct log_read read;
    pg_read_log(b->pool, weir_slice_of(log), 1, 0, now_ms, &read);
    *out = read.state;
    return read.status;
}

TEST(log_is_read_over_partitions_and_pieces)
{
    struct base b;
    if (!open_base(&b, "log")) return;
    put_log(&b, 7, "a", 3000, -1);
    put_row(&b, 7, 1, 40, -5);
    put_row(&b, 7, 41, 50, -1);
    put_row(&b, 7, 51, 51, 0);
    T_EQ(pg_script(b.pg, "INSERT INTO weir.chunks (log, first, last, bytes) SELECT 7, i, i,"
                         " convert_to(format(E'id: %s\\ndata: %s\\n\\n', i, i), 'UTF8')"
                         " FROM generate_series(52, 1599) i"),
         WEIR_OK);
    put_row(&b, 7, 1600, 3000, 1);
    put_log(&b, 8, "b", 1, -1);
    put_row(&b, 8, 1, 1, 0);
    for (uint64_t from = 1; from <= 60; from += 5) T_EQ(read_all(&b, "a", from, 1 << 20), 3000);
    for (size_t size = 1000; size < 100000; size = size * 3) T_EQ(read_all(&b, "a", 1, size), 3000);
    T_EQ(read_all(&b, "a", 2950, 1), 3000);
    T_EQ(read_all(&b, "b", 1, 100), 1);
    T_EQ(read_all(&b, "a", UINT64_MAX, 100), UINT64_MAX - 1);
    close_base(&b);
}

TEST(state_tells_sealed_expired_and_absent_logs)
{
    struct base b;
    struct log_state state;
    if (!open_base(&b, "state")) return;
    put_log(&b, 1, "a", 0, -1);
    put_log(&b, 2, "b", 5, now_ms + 1);
    put_log(&b, 3, "c", 5, now_ms);
    T_EQ(pg_script(b.pg, "UPDATE weir.logs SET is_sealed = id > 1"), WEIR_OK);
    T_EQ(state_of(&b, "a", &state), WEIR_OK);
    T_OK(state.exists && !state.is_sealed && state.log_id == 1 && state.last == 0);
    T_EQ(state_of(&b, "b", &state), WEIR_OK);
    T_OK(state.exists && state.is_sealed && state.log_id == 2 && state.last == 5);
    T_EQ(state_of(&b, "c", &state), WEIR_OK);
    T_OK(!state.exists && state.last == 0);
    T_EQ(state_of(&b, "d", &state), WEIR_OK);
    T_OK(!state.exists);
    T_EQ(read_all(&b, "a", 1, 10), 0);
    T_EQ(read_all(&b, "c", 1, 10), 0);
    close_base(&b);
}

static enum weir_status status_from(struct base *b, const char *log, uint64_t from)
{
    struct log_read read;
    pg_read_log(b->pool, weir_slice_of(log), from, 1 << 20, now_ms, &read);
    for (unsigned i = 0; i < read.n_chunks; i++) chunk_unref(read.chunks[i]);
    return read.status;
}

TEST(what_was_trimmed_and_what_is_damaged_are_told_apart)
{
    struct base b;
    if (!open_base(&b, "damage")) return;
    put_log(&b, 1, "trimmed", 9, -1);
    put_row(&b, 1, 5, 7, 0);
    put_row(&b, 1, 8, 9, 0);
    T_EQ(status_from(&b, "trimmed", 4), WEIR_NOT_FOUND);
    T_EQ(status_from(&b, "trimmed", 5), WEIR_OK);
    T_EQ(status_from(&b, "trimmed", 10), WEIR_OK);
    put_log(&b, 2, "hole", 9, -1);
    put_row(&b, 2, 1, 3, 0);
    put_row(&b, 2, 5, 9, 0);
    T_EQ(status_from(&b, "hole", 1), WEIR_CORRUPT);
    put_log(&b, 3, "empty", 9, -1);
    T_EQ(status_from(&b, "empty", 1), WEIR_CORRUPT);
    put_log(&b, 4, "odd", 9, -1);
    T_EQ(pg_script(b.pg, "INSERT INTO weir.chunks (log, first, last, bytes) VALUES (4, 1, 9, 'x')"),
         WEIR_OK);
    T_EQ(status_from(&b, "odd", 2), WEIR_CORRUPT);
    close_base(&b);
}

/* ---- standbys ---- */

/* The last id of what a read gives; 0: nothing. */
static uint64_t read_far(struct pg_far *far, const char *log, uint64_t from)
{
    struct log_read read;
    uint64_t last = 0;
    pg_read_far(far, weir_slice_of(log), from, 1 << 20, now_ms, &read);
    T_EQ(read.status, WEIR_OK);
    for (unsigned i = 0; i < read.n_chunks; i++) {
        T_EQ(read.chunks[i]->first, from);
        last = read.chunks[i]->last;
        chunk_unref(read.chunks[i]);
    }
    return last;
}

/* Another database is the standby here: it may be late, ahead or something else. */
TEST(standby_is_asked_for_what_is_far_behind_and_believed_up_to_its_newest_row)
{
    struct base b, late;
    struct pg_far far = {0};
    if (!open_base(&b, "head") || !open_base(&late, "late")) return;
    far.pool = b.pool;
    far.standbys = late.pool;
    put_log(&b, 1, "a", 300, -1);
    for (uint64_t i = 0; i < 3; i++) put_row(&b, 1, 1 + i * 100, 100 + i * 100, 0);
    T_EQ(read_far(&far, "a", 1), 300); /* does not know it */
    T_EQ(far.n_far, 0);
    put_log(&late, 1, "a", 200, -1);
    put_row(&late, 1, 1, 100, 0);
    put_row(&late, 1, 101, 150, 0);
    put_row(&late, 1, 151, 200, 0); /* by a primary that was lost: the next one has others there */
    T_EQ(read_far(&far, "a", 1), 150);
    T_EQ(read_far(&far, "a", 120), 150);
    T_EQ(far.n_far, 2);
    T_EQ(read_far(&far, "a", 151), 300); /* is not there for certain yet */
    T_EQ(read_far(&far, "a", 201), 300); /* is not there yet */
    T_EQ(read_far(&far, "a", 250), 300); /* near enough */
    T_EQ(read_far(&far, "a", 301), 0);
    T_EQ(read_far(&far, "b", 1), 0);
    T_EQ(far.n_far, 2);
    put_row(&late, 1, 201, 300, 0);
    put_row(&late, 1, 301, 400, 0); /* nobody has acknowledged that */
    T_EQ(read_far(&far, "a", 1), 300);
    T_EQ(far.n_far, 3);
    T_EQ(pg_script(late.pg, "UPDATE weir.logs SET id = 2; UPDATE weir.chunks SET log = 2"),
         WEIR_OK);
    T_EQ(read_far(&far, "a", 1), 300); /* another log of the name */
    T_EQ(far.n_far, 3);
    close_base(&late);
    close_base(&b);
}

TEST(standby_that_is_not_there_is_left_alone)
{
    struct base b;
    struct pg_far far = {0};
    char url[400];
    if (!open_base(&b, "no_standby")) return;
    T_EQ(pg_far_init(&far, b.pool, pg_server_database("no_standby"), 1), WEIR_OK);
    T_OK(!far.standbys);
    /* The same server twice: none of them is a standby. */
    const char *host = strstr(pg_server_url(), "host=") + 5;
    snprintf(url, sizeof url, "postgresql://weir@/no_standby?host=%s,%s", host, host);
    T_OK(pg_names_several(url));
    T_EQ(pg_far_init(&far, b.pool, url, 1), WEIR_OK);
    T_OK(far.standbys);
    put_log(&b, 1, "a", 100, -1);
    put_row(&b, 1, 1, 100, 0);
    T_EQ(read_far(&far, "a", 1), 100);
    T_OK(far.not_until > 0);
    T_EQ(read_far(&far, "a", 1), 100);
    T_EQ(far.n_far, 0);
    pg_far_fini(&far);
    close_base(&b);
}

/* ---- documents ---- */

static void put_doc(struct base *b, const char *kind, const char *id, const char *owner)
{
    pg_call(b->pg, "INSERT INTO weir.docs VALUES ($1, $2, $3, 1, $4)");
    pg_bytes(b->pg, weir_slice_of(kind));
    pg_bytes(b->pg, weir_slice_of(id));
    pg_bytes(b->pg, weir_slice_of(owner));
    pg_bytes(b->pg, weir_slice_of("body"));
    T_EQ(pg_run(b->pg, NULL), WEIR_OK);
}

TEST(document_is_got_whole)
{
    struct base b;
    struct doc doc;
    if (!open_base(&b, "doc")) return;
    put_doc(&b, "k", "\xff\x01 'x", "ann");
    T_EQ(pg_get_doc(b.pool, (struct doc_key){SLICE("k"), SLICE("\xff\x01 'x")}, &doc), WEIR_OK);
    T_EQ_STR(doc.kind, "k");
    T_EQ_STR(doc.id, "\xff\x01 'x");
    T_EQ_STR(doc.owner, "ann");
    T_EQ_STR(doc.body, "body");
    T_EQ(doc.version, 1);
    doc_fini(&doc);
    T_EQ(pg_get_doc(b.pool, (struct doc_key){SLICE("k"), SLICE("y")}, &doc), WEIR_NOT_FOUND);
    T_OK(!doc.memory);
    close_base(&b);
}

struct listed {
    size_t n;
    size_t stop_at;
    int64_t previous;
    int64_t step;
};

/* Ids are numbers of five digits. */
static enum weir_status count_doc(void *user, const struct doc *doc)
{
    struct listed *l = user;
    char id[8] = "";
    memcpy(id, doc->id.ptr, doc->id.len < 7 ? doc->id.len : 7);
    int64_t number = strtoll(id, NULL, 10);
    if (l->n > 0) T_EQ(number, l->previous + l->step);
    l->previous = number;
    return ++l->n == l->stop_at ? WEIR_CANCELLED : WEIR_OK;
}

static size_t count_listed(struct base *b, struct doc_query query, int64_t step)
{
    struct listed l = {.step = query.is_falling ? -step : step};
    T_EQ(pg_list_docs(b->pool, &query, count_doc, &l), WEIR_OK);
    return l.n;
}

TEST(long_listings_come_in_order_whatever_their_size)
{
    struct base b;
    if (!open_base(&b, "list")) return;
    T_EQ(pg_script(b.pg, "INSERT INTO weir.docs SELECT 'k', to_char(i, 'FM00000')::bytea,"
                         " CASE WHEN i % 2 = 0 THEN 'ann'::bytea ELSE '' END, 1, 'x'"
                         " FROM generate_series(1, 9000) i"),
         WEIR_OK);
    struct doc_query q = {.kind = SLICE("k"), .limit = SIZE_MAX};
    for (int falling = 0; falling < 2; falling++) {
        q.is_falling = falling;
        q.limit = SIZE_MAX;
        T_EQ(count_listed(&b, q, 1), 9000);
        q.limit = 4097;
        T_EQ(count_listed(&b, q, 1), 4097);
        q.limit = 0;
        T_EQ(count_listed(&b, q, 1), 0);
        q.limit = 5000;
        q.owner = SLICE("ann");
        T_EQ(count_listed(&b, q, 2), 4500);
        q.after = SLICE("04000");
        T_EQ(count_listed(&b, q, 2), falling ? 1999 : 2500);
        q.after = q.owner = (struct weir_slice){0};
    }
    struct listed l = {.step = 1, .stop_at = 3};
    q.is_falling = false;
    T_EQ(pg_list_docs(b.pool, &q, count_doc, &l), WEIR_CANCELLED);
    T_EQ(l.n, 3);
    close_base(&b);
}

TEST(large_documents_are_listed_in_parts)
{
    struct base b;
    if (!open_base(&b, "large")) return;
    T_EQ(pg_script(b.pg, "INSERT INTO weir.docs SELECT 'k', to_char(i, 'FM00000')::bytea, 'ann', 1,"
                         " convert_to(repeat('x', 4000000), 'UTF8') FROM generate_series(1, 9) i"),
         WEIR_OK);
    struct doc_query q = {.kind = SLICE("k"), .limit = 9};
    T_EQ(count_listed(&b, q, 1), 9);
    q.limit = 8;
    T_EQ(count_listed(&b, q, 1), 8);
    close_base(&b);
}

TEST(server_that_does_not_answer_is_asked_by_one_at_a_time)
{
    struct base b;
    struct pg *probe = NULL, *other = NULL;
    struct log_state state;
    if (!open_base(&b, "slow")) return;
    pg_pool_free(b.pool);
    const struct pg_options impatient = {
        .url = b.url, .role = PG_READER, .timeout_ms = 300, .statement_ms = 60000};
    T_EQ(pg_pool_new(&b.pool, &impatient, 2), WEIR_OK);
    T_EQ(state_of(&b, "a", &state), WEIR_OK);
    T_EQ(pg_script(b.pg, "BEGIN; LOCK TABLE weir.logs"), WEIR_OK);
    T_EQ(state_of(&b, "a", &state), WEIR_STORAGE);
    T_EQ(pg_script(b.pg, "ROLLBACK"), WEIR_OK);
    T_EQ(pg_pool_take(b.pool, 0, &probe), WEIR_OK);
    T_EQ(state_of(&b, "a", &state), WEIR_STORAGE); /* at once, though there is room */
    T_EQ(pg_script(probe, "SELECT 1"), WEIR_OK);
    pg_pool_give(b.pool, probe);
    T_EQ(pg_pool_take(b.pool, 0, &probe), WEIR_OK);
    T_EQ(pg_pool_take(b.pool, 0, &other), WEIR_OK);
    pg_pool_give(b.pool, probe);
    pg_pool_give(b.pool, other);
    close_base(&b);
}

enum { WAIT_MS = 10000 };

TEST(reader_that_idled_over_a_restart_is_replaced)
{
    struct base b;
    struct log_state state;
    if (!open_base(&b, "restart")) return;
    T_EQ(state_of(&b, "a", &state), WEIR_OK);
    pg_server_stop();
    T_EQ(state_of(&b, "a", &state), WEIR_STORAGE);
    T_EQ(state_of(&b, "a", &state), WEIR_STORAGE);
    pg_server_start();
    /* Who was told that it is away is told so again for a moment. */
    for (int i = 0; i < WAIT_MS && state_of(&b, "a", &state) == WEIR_STORAGE; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    T_EQ(state_of(&b, "a", &state), WEIR_OK);
    pg_server_stop();
    pg_server_start();
    T_EQ(state_of(&b, "a", &state), WEIR_OK);
    close_base(&b);
}
