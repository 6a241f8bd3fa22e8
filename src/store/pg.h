/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to PostgreSQL: what lies between libpq and the engine that keeps a store there.
 *
 * 1. pg_open().
 * 2. pg_call() names a statement, pg_int() & co. add its arguments $1, $2… in order, pg_send()
 *    queues it. pg_sync() ends a group and lets it go out. Any number of groups may be under way.
 * 3. pg_take() waits for the answer of the oldest statement that was sent. Once for each of them.
 *    pg_run() does all three for a single one.
 * 4. pg_close().
 *
 * A text is prepared when it is used first and known by its address ever after: it has to be a
 * literal or otherwise last as long as the connection, and always takes arguments of the same
 * types. All arguments and results are binary. Arguments that are slices are borrowed until
 * pg_send().
 *
 * A group is a transaction of its own unless it says BEGIN. When a statement of a group fails, the
 * rest of that group is skipped, and each of them answers with the status of the one that failed.
 * The answer to the last statement of a group is given only when its transaction is over.
 *
 *   WEIR_CONFLICT   somebody else was there: 23505, 40001, 40P01, 55P03, and WR001, which our own
 *                   functions raise
 *   WEIR_NO_SPACE   its disk is full
 *   WEIR_STORAGE    not now: the connection is lost (pg_is_broken), the server is going down, it is
 *                   a standby, it has no room or no time. What was under way may have happened; a
 *                   commit that was told not to wait for its standby counts as a lost connection
 *   WEIR_CORRUPT    its files are damaged
 *   WEIR_INTERNAL   anything else: what we asked for was wrong; pg_message() says what
 *   WEIR_NOMEM, WEIR_LIMIT
 *
 * One thread at a time.
 */
#pragma once

#include <weir/status.h>

#include "store/store.h"

struct pg;
struct pg_rows;

enum { PG_MAX_ARGS = 24, PG_MAX_PENDING = 1024, PG_STATE_BYTES = 6, PG_MESSAGE_BYTES = 256 };

/* Which of the servers that a URL names: the one that writes, any, one that does not write. */
enum pg_role { PG_WRITER, PG_READER, PG_STANDBY };

/* 0 or NULL in any field means its default. */
struct pg_options {
    const char *url;  /* libpq's own syntax; several hosts are allowed */
    const char *name; /* shown by the server's list of connections; "weir" */
    enum pg_role role;
    unsigned connect_ms;   /* 5,000: to connect to one of the hosts */
    unsigned timeout_ms;   /* 30,000: for an answer, then the connection counts as lost */
    unsigned statement_ms; /* as timeout_ms: then the server gives a statement up */
};

/* WEIR_STORAGE when no server answers, WEIR_INVALID when the URL is none. */
WEIR_MUST_CHECK enum weir_status pg_open(struct pg **out, const struct pg_options *options,
                                         struct store_error *error);
void pg_close(struct pg *pg); /* NULL is allowed */

/* Whether a URL names several servers, so that a standby may be among them. */
bool pg_names_several(const char *url);

/* Nothing comes of it any more: close it. */
bool pg_is_broken(const struct pg *pg);
/* It is because no answer came in time. */
bool pg_was_late(const struct pg *pg);

/* How the last statement failed, for people; its SQLSTATE, or "" when there is none. */
const char *pg_message(const struct pg *pg);
const char *pg_state(const struct pg *pg);

int pg_process(const struct pg *pg); /* the server's process that serves it */
int pg_version(const struct pg *pg); /* of the server: 150004 is 15.4 */

/* ---- statements ---- */

void pg_call(struct pg *pg, const char *sql);
void pg_int(struct pg *pg, int64_t value);                                     /* bigint */
void pg_bool(struct pg *pg, bool value);                                       /* boolean */
void pg_bytes(struct pg *pg, struct weir_slice value);                         /* bytea */
void pg_text(struct pg *pg, struct weir_slice value);                          /* text */
void pg_ints(struct pg *pg, const int64_t *values, size_t n);                  /* bigint[] */
void pg_bools(struct pg *pg, const bool *values, size_t n);                    /* boolean[] */
void pg_bytes_array(struct pg *pg, const struct weir_slice *values, size_t n); /* bytea[] */
void pg_text_array(struct pg *pg, const struct weir_slice *values, size_t n);  /* text[] */
void pg_send(struct pg *pg);
void pg_sync(struct pg *pg);

/* What was sent goes out as far as it can without waiting; pg_take() does that, too. */
void pg_flush(struct pg *pg);

/* How many answers are still to be taken. */
size_t pg_n_pending(const struct pg *pg);

/* *rows is to be freed; it is NULL when this fails, and may be not wanted: NULL. */
WEIR_MUST_CHECK enum weir_status pg_take(struct pg *pg, struct pg_rows **rows);

/* Sends the one that was called, and takes its answer. Nothing else may be under way. */
WEIR_MUST_CHECK enum weir_status pg_run(struct pg *pg, struct pg_rows **rows);

/* Takes all that is still under way; the status of the first that failed. */
WEIR_MUST_CHECK enum weir_status pg_take_all(struct pg *pg);

/* Several statements in one text, not prepared, in one transaction unless they say otherwise. */
WEIR_MUST_CHECK enum weir_status pg_script(struct pg *pg, const char *sql);

/* From now on, so long for an answer; returns how long it was until now. */
unsigned pg_set_timeout(struct pg *pg, unsigned timeout_ms);

/* ---- rows ---- */

size_t pg_n_rows(const struct pg_rows *rows);
size_t pg_n_changed(const struct pg_rows *rows); /* by INSERT, UPDATE, DELETE */
bool pg_is_null(const struct pg_rows *rows, size_t row, int column);
int64_t pg_get_int(const struct pg_rows *rows, size_t row, int column); /* bigint or integer */
bool pg_get_bool(const struct pg_rows *rows, size_t row, int column);
/* bytea or text; borrowed from the rows */
struct weir_slice pg_get_bytes(const struct pg_rows *rows, size_t row, int column);
void pg_rows_free(struct pg_rows *rows); /* NULL is allowed */

/* ---- notifications ---- */

/* To wait for with poll(); then pg_hear(). */
int pg_socket(const struct pg *pg);

struct pg_note {
    struct weir_slice channel, payload;
    int process; /* of the connection that sent it */
    void *memory;
};

/* Reads what has come, without waiting. WEIR_STORAGE when the connection is lost. */
WEIR_MUST_CHECK enum weir_status pg_hear(struct pg *pg);

/* The next notification that has come; false when there is none. pg_note_fini() frees it. */
bool pg_next_note(struct pg *pg, struct pg_note *out);
void pg_note_fini(struct pg_note *note);

/* ---- a bounded number of connections ---- */

/* Connections are made when they are wanted. Any thread. */
struct pg_pool;
WEIR_MUST_CHECK enum weir_status pg_pool_new(struct pg_pool **out, const struct pg_options *options,
                                             unsigned n_max);
/* All connections are back by then. NULL is allowed. */
void pg_pool_free(struct pg_pool *pool);

/* WEIR_BUSY when none comes back within wait_ms; WEIR_STORAGE when none can be made. */
WEIR_MUST_CHECK enum weir_status pg_pool_take(struct pg_pool *pool, unsigned wait_ms,
                                              struct pg **out);

/* One that is broken is closed, and so are those that idle: they are likely to be, too. */
void pg_pool_give(struct pg_pool *pool, struct pg *pg);

struct pg_pool_stats {
    unsigned n_out, n_max;    /* given out now; so many may be */
    uint64_t n_waits, n_busy; /* takers that had to wait; that got none in time */
};
void pg_pool_stats(struct pg_pool *pool, struct pg_pool_stats *out);
