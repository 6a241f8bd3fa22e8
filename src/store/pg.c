/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little that lies between libpq's interface and ours.
 *
 * The connection is in pipeline mode and does not block: whoever waits does so in wait_for(), with
 * a deadline, and sends meanwhile what has not gone out yet. Otherwise a large group could stop
 * for ever with both sides writing and neither reading, and a server that went away without a word
 * would be waited for as long as TCP likes.
 *
 * What was sent and not answered yet is remembered in order, with the statements that were prepared
 * on the way and the ends of groups: those have answers, too, which no caller wants to see.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/buf.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg.h"

enum {
    MAX_STATEMENTS = 256,
    MAX_ARGS_BYTES = 64 << 20,
    KEPT_ARGS_BYTES = 1 << 20, /* more than that is given back after a call */
    RING = 4 * PG_MAX_PENDING, /* each statement may bring its preparation and a sync */
    PG_MAGIC = 0x70676373,
};

/* Types by the numbers that the server's catalogue has given them for ever. */
enum {
    TYPE_BOOL = 16,
    TYPE_BYTEA = 17,
    TYPE_INT8 = 20,
    TYPE_TEXT = 25,
    TYPE_BOOL_ARRAY = 1000,
    TYPE_BYTEA_ARRAY = 1001,
    TYPE_TEXT_ARRAY = 1009,
    TYPE_INT8_ARRAY = 1016,
};

enum pending_kind { PENDING_PREPARE, PENDING_STATEMENT, PENDING_SYNC };

struct pending {
    enum pending_kind kind;
    struct statement *statement;
};

struct statement {
    unsigned number;
    bool is_prepared;
};

/* An argument: its bytes are the caller's, or were written to `args` at this place. */
struct arg {
    Oid type;
    const char *ptr; /* NULL: in `args` */
    size_t at;
    size_t len;
};

struct pg {
    uint32_t magic;
    PGconn *conn;
    unsigned timeout_ms;
    enum weir_status broken; /* why nothing comes of it any more; WEIR_OK: something may */
    bool was_late;           /* it is that no answer came in time */

    struct map statements; /* by the address of their text */
    unsigned n_statements;

    /* The statement that is being called. */
    const char *sql;
    struct arg called[PG_MAX_ARGS];
    int n_called;
    struct weir_buf args;

    struct pending ring[RING];
    size_t head;
    size_t tail;
    size_t n_pending;              /* statements among them */
    enum weir_status group_status; /* of the group whose answers are being taken */

    char message[PG_MESSAGE_BYTES];
    char state[PG_STATE_BYTES];
};

/* ---- what went wrong ---- */

static void explain(struct pg *pg, const char *text)
{
    size_t len = strcspn(text, "\n");
    snprintf(pg->message, sizeof pg->message, "%.*s", (int)len, text);
}

static enum weir_status lose(struct pg *pg, const char *why)
{
    if (pg->broken != WEIR_OK) return pg->broken;
    explain(pg, why);
    pg->state[0] = '\0';
    pg->broken = WEIR_STORAGE;
    return WEIR_STORAGE;
}

static enum weir_status status_of_state(const char *state)
{
    static const struct {
        const char *prefix;
        enum weir_status status;
    } table[] = {
        {"23505", WEIR_CONFLICT}, /* unique_violation */
        {"40001", WEIR_CONFLICT}, /* serialization_failure */
        {"40P01", WEIR_CONFLICT}, /* deadlock_detected */
        {"55P03", WEIR_CONFLICT}, /* lock_not_available */
        {"WR001", WEIR_CONFLICT}, /* our own */
        {"53100", WEIR_NO_SPACE}, /* disk_full */
        {"53", WEIR_STORAGE},     /* no memory, too many connections */
        {"57", WEIR_STORAGE},     /* going down, starting up, cancelled by a timeout */
        {"58", WEIR_STORAGE},     /* its input and output failed */
        {"08", WEIR_STORAGE},     /* the connection */
        {"25006", WEIR_STORAGE},  /* read only: it is a standby by now */
        {"25P02", WEIR_CONFLICT}, /* in a transaction that has failed before */
        {"XX001", WEIR_CORRUPT},  {"XX002", WEIR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strncmp(state, table[i].prefix, strlen(table[i].prefix)) == 0) return table[i].status;
    }
    return WEIR_INTERNAL;
}

static enum weir_status failure_of(struct pg *pg, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    snprintf(pg->state, sizeof pg->state, "%s", state ? state : "");
    explain(pg, text ? text : PQresultErrorMessage(result));
    if (PQstatus(pg->conn) == CONNECTION_BAD) pg->broken = WEIR_STORAGE;
    if (!state) return pg->broken != WEIR_OK ? pg->broken : WEIR_INTERNAL;
    /* A server that only reads will not change its mind for this connection. */
    if (strcmp(state, "25006") == 0) pg->broken = WEIR_STORAGE;
    return status_of_state(state);
}

/* ---- life ---- */

static const char *const setup =
    "SELECT set_config('statement_timeout', $1::bigint::text, false),"
    " set_config('idle_in_transaction_session_timeout', $2::bigint::text, false),"
    " set_config('client_min_messages', 'warning', false)";

/*
 * Somebody has cancelled a commit that waited for its standby. The server says that it is done,
 * with a warning that it may yet be lost: nobody knows what becomes of it, as when the connection
 * is. It is told by the function that warns, for the text has any language, and others warn under
 * the same SQLSTATE of things that go on for days. Who leaves the function out is believed.
 */
static void on_notice(void *user, const PGresult *result)
{
    struct pg *pg = user;
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
    if (!state || strcmp(state, "01000") != 0) return;
    if (function && strcmp(function, "SyncRepWaitForLSN") != 0) return;
    (void)lose(pg, "the server did not wait for its standby");
}

static WEIR_MUST_CHECK enum weir_status connect_to(struct pg *pg, const struct pg_options *options)
{
    char seconds[16];
    char user_timeout[16];
    unsigned connect_ms = options->connect_ms > 0 ? options->connect_ms : 5000;
    snprintf(seconds, sizeof seconds, "%u", (connect_ms + 999) / 1000);
    snprintf(user_timeout, sizeof user_timeout, "%u", pg->timeout_ms);
    /*
     * What stands before the URL is a default, what stands behind it holds against it: by their
     * names nodes are known to whoever copies a store, or looks for what was left by one.
     */
    const char *keys[] = {"connect_timeout",
                          "keepalives_idle",
                          "keepalives_interval",
                          "keepalives_count",
                          "tcp_user_timeout",
                          "dbname",
                          "application_name",
                          options->role != PG_READER ? "target_session_attrs" : NULL,
                          NULL};
    const char *values[] = {seconds,
                            "10",
                            "5",
                            "3",
                            user_timeout,
                            options->url,
                            options->name ? options->name : "weir",
                            options->role == PG_STANDBY ? "standby" : "read-write",
                            NULL};
    pg->conn = PQconnectdbParams(keys, values, 1);
    if (!pg->conn) return WEIR_NOMEM;
    if (PQstatus(pg->conn) != CONNECTION_OK) return lose(pg, PQerrorMessage(pg->conn));
    PQsetNoticeReceiver(pg->conn, on_notice, pg);
    if (PQsetnonblocking(pg->conn, 1) != 0 || !PQenterPipelineMode(pg->conn))
        return lose(pg, PQerrorMessage(pg->conn));
    unsigned statement_ms = options->statement_ms > 0 ? options->statement_ms : pg->timeout_ms;
    pg_call(pg, setup);
    pg_int(pg, (int64_t)statement_ms);
    pg_int(pg, (int64_t)pg->timeout_ms * 2);
    return pg_run(pg, NULL);
}

enum weir_status pg_open(struct pg **out, const struct pg_options *options,
                         struct store_error *error)
{
    char *wrong = NULL;
    *out = NULL;
    PQconninfoOption *parsed = PQconninfoParse(options->url, &wrong);
    if (!parsed && error) snprintf(error->text, sizeof error->text, "%s", wrong ? wrong : "memory");
    PQfreemem(wrong);
    if (!parsed) return WEIR_INVALID;
    PQconninfoFree(parsed);
    struct pg *pg = mem_zalloc(sizeof *pg);
    if (!pg) return WEIR_NOMEM;
    pg->magic = PG_MAGIC;
    pg->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : 30000;
    map_init(&pg->statements, MAX_STATEMENTS);
    weir_buf_init(&pg->args, MAX_ARGS_BYTES);
    enum weir_status st = connect_to(pg, options);
    if (st != WEIR_OK) {
        if (error) snprintf(error->text, sizeof error->text, "%s", pg->message);
        pg_close(pg);
        return st;
    }
    *out = pg;
    return WEIR_OK;
}

void pg_close(struct pg *pg)
{
    if (!pg) return;
    CHECK(pg->magic == PG_MAGIC);
    PQfinish(pg->conn);
    for (struct map_walk walk = map_walk_begin(&pg->statements);
         map_walk_next(&pg->statements, &walk);)
        mem_free(walk.value);
    map_fini(&pg->statements);
    weir_buf_fini(&pg->args);
    pg->magic = 0;
    mem_free(pg);
}

bool pg_names_several(const char *url)
{
    bool has_several = false;
    PQconninfoOption *parsed = PQconninfoParse(url, NULL);
    for (const PQconninfoOption *o = parsed; o && o->keyword; o++) {
        bool is_host = strcmp(o->keyword, "host") == 0 || strcmp(o->keyword, "hostaddr") == 0;
        has_several |= is_host && o->val && strchr(o->val, ',');
    }
    PQconninfoFree(parsed);
    return has_several;
}

bool pg_is_broken(const struct pg *pg)
{
    return pg->broken != WEIR_OK;
}

const char *pg_message(const struct pg *pg)
{
    return pg->message;
}

const char *pg_state(const struct pg *pg)
{
    return pg->state;
}

int pg_process(const struct pg *pg)
{
    return PQbackendPID(pg->conn);
}

bool pg_was_late(const struct pg *pg)
{
    return pg->was_late;
}

int pg_version(const struct pg *pg)
{
    return PQserverVersion(pg->conn);
}

unsigned pg_set_timeout(struct pg *pg, unsigned timeout_ms)
{
    unsigned old = pg->timeout_ms;
    pg->timeout_ms = timeout_ms;
    return old;
}

/* ---- arguments ---- */

void pg_call(struct pg *pg, const char *sql)
{
    CHECK(pg->magic == PG_MAGIC && !pg->sql);
    pg->sql = sql;
    pg->n_called = 0;
    if (pg->args.cap > KEPT_ARGS_BYTES) {
        weir_buf_fini(&pg->args);
        weir_buf_init(&pg->args, MAX_ARGS_BYTES);
    }
    weir_buf_reset(&pg->args);
}

static struct arg *add_arg(struct pg *pg, Oid type)
{
    CHECK(pg->sql && pg->n_called < PG_MAX_ARGS);
    struct arg *arg = &pg->called[pg->n_called++];
    *arg = (struct arg){.type = type, .at = pg->args.len};
    return arg;
}

static void put_be32(struct weir_buf *b, uint32_t n)
{
    uint8_t bytes[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    weir_buf_append(b, bytes, sizeof bytes);
}

static void put_be64(struct weir_buf *b, uint64_t n)
{
    put_be32(b, (uint32_t)(n >> 32));
    put_be32(b, (uint32_t)n);
}

void pg_int(struct pg *pg, int64_t value)
{
    struct arg *arg = add_arg(pg, TYPE_INT8);
    put_be64(&pg->args, (uint64_t)value);
    arg->len = 8;
}

void pg_bool(struct pg *pg, bool value)
{
    struct arg *arg = add_arg(pg, TYPE_BOOL);
    weir_buf_append_char(&pg->args, value ? 1 : 0);
    arg->len = 1;
}

static void add_slice(struct pg *pg, Oid type, struct weir_slice value)
{
    struct arg *arg = add_arg(pg, type);
    arg->ptr = value.len > 0 ? value.ptr : ""; /* NULL would be SQL's null */
    arg->len = value.len;
}

void pg_bytes(struct pg *pg, struct weir_slice value)
{
    add_slice(pg, TYPE_BYTEA, value);
}

void pg_text(struct pg *pg, struct weir_slice value)
{
    add_slice(pg, TYPE_TEXT, value);
}

/* The head of an array: dimensions, whether there are nulls, type; then its length and base. */
static struct arg *begin_array(struct pg *pg, Oid type, Oid element, size_t n)
{
    struct arg *arg = add_arg(pg, type);
    CHECK(n <= INT32_MAX);
    put_be32(&pg->args, n > 0 ? 1 : 0);
    put_be32(&pg->args, 0);
    put_be32(&pg->args, element);
    if (n > 0) {
        put_be32(&pg->args, (uint32_t)n);
        put_be32(&pg->args, 1);
    }
    return arg;
}

static void end_array(struct pg *pg, struct arg *arg)
{
    arg->len = pg->args.len - arg->at;
}

void pg_ints(struct pg *pg, const int64_t *values, size_t n)
{
    struct arg *arg = begin_array(pg, TYPE_INT8_ARRAY, TYPE_INT8, n);
    for (size_t i = 0; i < n; i++) {
        put_be32(&pg->args, 8);
        put_be64(&pg->args, (uint64_t)values[i]);
    }
    end_array(pg, arg);
}

void pg_bools(struct pg *pg, const bool *values, size_t n)
{
    struct arg *arg = begin_array(pg, TYPE_BOOL_ARRAY, TYPE_BOOL, n);
    for (size_t i = 0; i < n; i++) {
        put_be32(&pg->args, 1);
        weir_buf_append_char(&pg->args, values[i] ? 1 : 0);
    }
    end_array(pg, arg);
}

static void add_slices(struct pg *pg, struct arg *arg, const struct weir_slice *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(values[i].len <= INT32_MAX);
        put_be32(&pg->args, (uint32_t)values[i].len);
        weir_buf_append_slice(&pg->args, values[i]);
    }
    end_array(pg, arg);
}

void pg_bytes_array(struct pg *pg, const struct weir_slice *values, size_t n)
{
    add_slices(pg, begin_array(pg, TYPE_BYTEA_ARRAY, TYPE_BYTEA, n), values, n);
}

void pg_text_array(struct pg *pg, const struct weir_slice *values, size_t n)
{
    add_slices(pg, begin_array(pg, TYPE_TEXT_ARRAY, TYPE_TEXT, n), values, n);
}

/* ---- sending ---- */

static void remember(struct pg *pg, enum pending_kind kind, struct statement *statement)
{
    CHECK(pg->tail - pg->head < RING);
    pg->ring[pg->tail++ % RING] = (struct pending){kind, statement};
    if (kind == PENDING_STATEMENT) pg->n_pending++;
}

static struct statement *statement_of(struct pg *pg, const char *sql)
{
    uint64_t address = (uint64_t)(uintptr_t)sql;
    struct statement *statement = map_get(&pg->statements, map_key_of(&address));
    if (statement) return statement;
    statement = mem_zalloc(sizeof *statement);
    if (!statement) return NULL;
    statement->number = ++pg->n_statements;
    if (map_put(&pg->statements, map_key_of(&address), statement) == WEIR_OK) return statement;
    mem_free(statement);
    return NULL;
}

static WEIR_MUST_CHECK enum weir_status send_call(struct pg *pg)
{
    const char *values[PG_MAX_ARGS];
    int lengths[PG_MAX_ARGS];
    int formats[PG_MAX_ARGS];
    Oid types[PG_MAX_ARGS];
    char name[16];
    enum weir_status st = weir_buf_status(&pg->args);
    if (st != WEIR_OK) return st;
    for (int i = 0; i < pg->n_called; i++) {
        const struct arg *arg = &pg->called[i];
        if (arg->len > INT32_MAX) return WEIR_LIMIT;
        values[i] = arg->ptr ? arg->ptr : pg->args.ptr + arg->at;
        lengths[i] = (int)arg->len;
        types[i] = arg->type;
        formats[i] = 1;
    }
    struct statement *statement = statement_of(pg, pg->sql);
    if (!statement) return WEIR_NOMEM;
    snprintf(name, sizeof name, "w%u", statement->number);
    if (!statement->is_prepared) {
        if (!PQsendPrepare(pg->conn, name, pg->sql, pg->n_called, types))
            return lose(pg, PQerrorMessage(pg->conn));
        remember(pg, PENDING_PREPARE, statement);
        statement->is_prepared = true; /* unless its answer says otherwise */
    }
    if (!PQsendQueryPrepared(pg->conn, name, pg->n_called, values, lengths, formats, 1))
        return lose(pg, PQerrorMessage(pg->conn));
    return WEIR_OK;
}

/*
 * A statement that cannot be sent ends the connection: half of its group may have gone out. The
 * caller hears of it where it looks, when it takes the answer.
 */
void pg_send(struct pg *pg)
{
    CHECK(pg->magic == PG_MAGIC && pg->sql);
    CHECK(pg->n_pending < PG_MAX_PENDING);
    enum weir_status st = pg->broken == WEIR_OK ? send_call(pg) : WEIR_OK;
    if (st != WEIR_OK && pg->broken == WEIR_OK) {
        explain(pg, weir_status_text(st));
        pg->broken = st;
    }
    pg->sql = NULL;
    remember(pg, PENDING_STATEMENT, NULL);
}

void pg_sync(struct pg *pg)
{
    if (pg->broken == WEIR_OK && PQpipelineSync(pg->conn) != 1)
        (void)lose(pg, PQerrorMessage(pg->conn));
    remember(pg, PENDING_SYNC, NULL);
    pg_flush(pg);
}

void pg_flush(struct pg *pg)
{
    if (pg->broken == WEIR_OK && PQflush(pg->conn) < 0) (void)lose(pg, PQerrorMessage(pg->conn));
}

size_t pg_n_pending(const struct pg *pg)
{
    return pg->n_pending;
}

/* ---- receiving ---- */

static uint64_t now_ms(void)
{
    return clock_mono_ns(&clock_system) / 1000000;
}

/* Waits until libpq has the next answer, and sends meanwhile. */
static WEIR_MUST_CHECK enum weir_status wait_for(struct pg *pg)
{
    uint64_t deadline = now_ms() + pg->timeout_ms;
    while (pg->broken == WEIR_OK && PQisBusy(pg->conn)) {
        int left = PQflush(pg->conn);
        if (left < 0) return lose(pg, PQerrorMessage(pg->conn));
        uint64_t now = now_ms();
        if (now >= deadline) {
            pg->was_late = true;
            return lose(pg, "the server did not answer in time");
        }
        struct pollfd poll_fd = {.fd = PQsocket(pg->conn),
                                 .events = (short)(POLLIN | (left > 0 ? POLLOUT : 0))};
        int n = poll(&poll_fd, 1, (int)(deadline - now));
        if (n < 0 && errno != EINTR) return lose(pg, "poll failed");
        if (n > 0 && (poll_fd.revents & ~POLLOUT) && !PQconsumeInput(pg->conn))
            return lose(pg, PQerrorMessage(pg->conn));
    }
    return pg->broken;
}

/* The next result of libpq's; NULL when it says that a statement has no more. */
static WEIR_MUST_CHECK enum weir_status next_result(struct pg *pg, PGresult **out)
{
    *out = NULL;
    enum weir_status st = wait_for(pg);
    if (st == WEIR_OK) *out = PQgetResult(pg->conn);
    return st;
}

/* All of one statement's answer: its rows, or how it failed. */
static WEIR_MUST_CHECK enum weir_status receive(struct pg *pg, PGresult **rows)
{
    PGresult *result;
    enum weir_status found = WEIR_OK;
    *rows = NULL;
    for (;;) {
        enum weir_status st = next_result(pg, &result);
        if (st != WEIR_OK) found = st;
        if (!result) break;
        ExecStatusType type = PQresultStatus(result);
        if (type == PGRES_TUPLES_OK || type == PGRES_COMMAND_OK) {
            PQclear(*rows);
            *rows = result;
            continue;
        }
        if (type == PGRES_PIPELINE_ABORTED) {
            /* Nothing of a group that failed may look as if it had not. */
            found = pg->group_status != WEIR_OK ? pg->group_status : WEIR_INTERNAL;
        } else {
            found = failure_of(pg, result);
        }
        PQclear(result);
        if (pg->broken != WEIR_OK) break;
    }
    if (found == WEIR_OK) found = pg->broken; /* by a warning */
    if (found == WEIR_OK && !*rows) found = lose(pg, "an answer is missing");
    if (found != WEIR_OK) {
        PQclear(*rows);
        *rows = NULL;
    }
    if (pg->group_status == WEIR_OK) pg->group_status = found;
    return found;
}

/* The end of a group. Its transaction may fail only now. */
static WEIR_MUST_CHECK enum weir_status receive_sync(struct pg *pg)
{
    enum weir_status found = WEIR_OK;
    for (;;) {
        PGresult *result;
        enum weir_status st = next_result(pg, &result);
        if (st != WEIR_OK) return st;
        if (!result) continue;
        ExecStatusType type = PQresultStatus(result);
        if (type != PGRES_PIPELINE_SYNC) found = failure_of(pg, result);
        PQclear(result);
        if (pg->broken != WEIR_OK) return pg->broken;
        if (type == PGRES_PIPELINE_SYNC) return found;
    }
}

/* Takes what belongs to no caller's statement; the status of a sync that failed. */
static WEIR_MUST_CHECK enum weir_status skip(struct pg *pg, enum pending_kind kind)
{
    PGresult *rows;
    enum weir_status st = WEIR_OK;
    while (pg->head != pg->tail && pg->ring[pg->head % RING].kind == kind) {
        struct statement *statement = pg->ring[pg->head++ % RING].statement;
        if (kind == PENDING_SYNC) {
            enum weir_status synced = receive_sync(pg);
            if (st == WEIR_OK) st = synced;
            pg->group_status = WEIR_OK;
            continue;
        }
        if (receive(pg, &rows) != WEIR_OK) statement->is_prepared = false;
        PQclear(rows);
    }
    return st;
}

enum weir_status pg_take(struct pg *pg, struct pg_rows **out)
{
    PGresult *rows = NULL;
    CHECK(pg->magic == PG_MAGIC && !pg->sql && pg->n_pending > 0);
    if (out) *out = NULL;
    enum weir_status st = skip(pg, PENDING_SYNC); /* of a group without a statement */
    if (st == WEIR_OK) st = skip(pg, PENDING_PREPARE);
    CHECK(pg->ring[pg->head % RING].kind == PENDING_STATEMENT);
    pg->head++;
    pg->n_pending--;
    if (st == WEIR_OK) st = receive(pg, &rows);
    enum weir_status synced = skip(pg, PENDING_SYNC);
    if (st == WEIR_OK) st = synced;
    if (st != WEIR_OK || !out) PQclear(rows);
    else *out = (struct pg_rows *)rows;
    return st;
}

enum weir_status pg_run(struct pg *pg, struct pg_rows **rows)
{
    CHECK(pg->n_pending == 0);
    pg_send(pg);
    pg_sync(pg);
    return pg_take(pg, rows);
}

enum weir_status pg_take_all(struct pg *pg)
{
    enum weir_status first = WEIR_OK;
    while (pg->n_pending > 0) {
        enum weir_status st = pg_take(pg, NULL);
        if (first == WEIR_OK) first = st;
    }
    return first;
}

enum weir_status pg_script(struct pg *pg, const char *sql)
{
    PGresult *rows = NULL;
    CHECK(pg->magic == PG_MAGIC && !pg->sql && pg->n_pending == 0);
    if (pg->broken != WEIR_OK) return pg->broken;
    if (!PQexitPipelineMode(pg->conn) || !PQsendQuery(pg->conn, sql))
        return lose(pg, PQerrorMessage(pg->conn));
    enum weir_status st = receive(pg, &rows);
    PQclear(rows);
    pg->group_status = WEIR_OK;
    if (pg->broken == WEIR_OK && !PQenterPipelineMode(pg->conn))
        return lose(pg, PQerrorMessage(pg->conn));
    return st;
}

/* ---- rows ---- */

static const PGresult *result_of(const struct pg_rows *rows)
{
    return (const PGresult *)rows;
}

size_t pg_n_rows(const struct pg_rows *rows)
{
    return (size_t)PQntuples(result_of(rows));
}

size_t pg_n_changed(const struct pg_rows *rows)
{
    return (size_t)strtoull(PQcmdTuples((PGresult *)(uintptr_t)rows), NULL, 10);
}

bool pg_is_null(const struct pg_rows *rows, size_t row, int column)
{
    return PQgetisnull(result_of(rows), (int)row, column) != 0;
}

int64_t pg_get_int(const struct pg_rows *rows, size_t row, int column)
{
    struct weir_slice bytes = pg_get_bytes(rows, row, column);
    uint64_t n = 0;
    CHECK(bytes.len == 8 || bytes.len == 4);
    for (size_t i = 0; i < bytes.len; i++) n = n << 8 | (uint8_t)bytes.ptr[i];
    return bytes.len == 4 ? (int64_t)(int32_t)(uint32_t)n : (int64_t)n;
}

bool pg_get_bool(const struct pg_rows *rows, size_t row, int column)
{
    struct weir_slice bytes = pg_get_bytes(rows, row, column);
    CHECK(bytes.len == 1);
    return bytes.ptr[0] != 0;
}

struct weir_slice pg_get_bytes(const struct pg_rows *rows, size_t row, int column)
{
    const PGresult *result = result_of(rows);
    CHECK(row < (size_t)PQntuples(result) && column < PQnfields(result));
    return slice_of(PQgetvalue(result, (int)row, column),
                    (size_t)PQgetlength(result, (int)row, column));
}

void pg_rows_free(struct pg_rows *rows)
{
    PQclear((PGresult *)rows);
}

/* ---- notifications ---- */

int pg_socket(const struct pg *pg)
{
    return PQsocket(pg->conn);
}

enum weir_status pg_hear(struct pg *pg)
{
    if (pg->broken == WEIR_OK && !PQconsumeInput(pg->conn)) lose(pg, PQerrorMessage(pg->conn));
    return pg->broken;
}

bool pg_next_note(struct pg *pg, struct pg_note *out)
{
    PGnotify *note = PQnotifies(pg->conn);
    if (!note) return false;
    *out = (struct pg_note){.channel = weir_slice_of(note->relname),
                            .payload = weir_slice_of(note->extra),
                            .process = note->be_pid,
                            .memory = note};
    return true;
}

void pg_note_fini(struct pg_note *note)
{
    PQfreemem(note->memory);
    *note = (struct pg_note){0};
}
