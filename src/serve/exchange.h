/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange: one request and its answer. The connection makes it when the whole request is
 * there and frees it when the answer is written; answers leave a connection in the order of
 * their requests, whatever order they are ready in.
 *
 * 1. The route's handler is called with it. It answers at once, or keeps the pointer and
 *    answers later, on the same loop thread.
 * 2. Exactly one of exchange_json(), exchange_text(), exchange_empty(), exchange_error(),
 *    exchange_watch() ends it (and of the latter's styles, one of these or exchange_stream()).
 *
 * A peer that goes away in between does not end the exchange: the answer is dropped then. Its
 * memory lasts until the end of the round in which it is answered.
 * Whatever the request says (head, body, parameters, query values) lies in the loop's one
 * read buffer and is borrowed until the handler returns; what is needed after that is copied
 * into exchange_alloc(). Who asks, and the request's id, stay. Loop thread only.
 */
#pragma once

#include "codec/http.h"
#include "serve/access.h"
#include "store/store.h"

struct server; /* what all loops share: store, keys, configuration, counters */
struct worker; /* one loop: its connections, its fan */
struct exchange;
struct spool; /* spool.h */

enum { ROUTE_MAX_PARAMS = 4 };

typedef void (*handler_fn)(struct exchange *ex);

/* What is special about a row. */
enum {
    ROUTE_KEY_IN_QUERY = 1, /* takes "?api_key=" and "?token=", for EventSource */
    /*
     * The first parameter is the name of a stream, and the only one that the request is about:
     * keys with a prefix are let in when it begins with that, and to GET and HEAD a link to it
     * ("?link=") will do. Rows without it refuse keys with a prefix, and links. The source of a
     * fork is looked at, too; a handler that lets a request touch any other stream asks
     * access_covers() itself.
     */
    ROUTE_STREAM = 2,
    /*
     * The body is a file, of up to limits.import_bytes, and goes to the disk as it comes: see
     * exchange_spool(). exchange_body() is its SHA-256, as 64 digits.
     */
    ROUTE_FILE = 4,
    ROUTE_SELF = 8, /* about whoever asks, and nothing else: keys with a prefix are let in */
};

/* A row of the route table; see routes.c. */
struct route {
    enum http_method method;
    const char *pattern; /* "/v1/streams/:name"; a parameter is one whole decoded segment;
                          * "*name" at the end is all the rest */
    handler_fn handle;
    enum scope scope; /* what the key must allow; SCOPE_NONE: anyone */
    unsigned flags;   /* ROUTE_… */
    const char *name; /* for the access log and metrics: "streams.append" */
};

struct server *exchange_server(struct exchange *ex);
struct worker *exchange_worker(struct exchange *ex);
const struct http_head *exchange_head(const struct exchange *ex);
struct weir_slice exchange_body(const struct exchange *ex);

/* The body of a row with ROUTE_FILE; it goes with the exchange. */
struct spool *exchange_spool(struct exchange *ex);

/* The i-th parameter of the route's pattern, decoded; never empty. */
struct weir_slice exchange_param(const struct exchange *ex, unsigned i);

/*
 * The decoded value of a query parameter, as it was sent when it has a bad escape; false when
 * it is not there.
 */
bool exchange_query(struct exchange *ex, const char *name, struct weir_slice *value);

/* How often it is there. */
unsigned exchange_query_count(struct exchange *ex, const char *name);

/* Who asks; never NULL. Without keys, and over the control socket, it may do everything. */
const struct access *exchange_access(const struct exchange *ex);
bool exchange_is_public(const struct exchange *ex); /* anybody could ask: no key is needed */
bool exchange_is_local(const struct exchange *ex);  /* it came over the control socket */

/* "req_01J…", or what the client called it. */
struct weir_slice exchange_request_id(const struct exchange *ex);

/* Memory that lives as long as the exchange; NULL when its ceiling is reached. */
enum { EXCHANGE_MEMORY_BYTES = 2 << 20 };
void *exchange_alloc(struct exchange *ex, size_t size);

/* Whatever the handler wants to find again when it is called later. */
void exchange_set_data(struct exchange *ex, void *data);
void *exchange_data(const struct exchange *ex);

/* The time of day, of this round. */
int64_t exchange_wall_ms(struct exchange *ex);
const struct clock *exchange_clock(struct exchange *ex); /* for other threads */
bool exchange_is_tls(const struct exchange *ex);         /* false, too, when the peer has gone */

/* A field for the head of the answer, before it is given. The name is not copied. */
void exchange_field(struct exchange *ex, const char *name, struct weir_slice value);

/* The answer; bodies are copied. HEAD gets the same without the body. */
void exchange_json(struct exchange *ex, int status, struct weir_slice json);
void exchange_text(struct exchange *ex, int status, const char *media_type, struct weir_slice text);
void exchange_empty(struct exchange *ex, int status);

/*
 * {"error":{"code","message","request_id","docs_url"}} with the status's HTTP code; the
 * message is the status's sentence, or what `format` says. To calls (/rpc/) it is
 * {"json":{"defined","code","status","message","data"}}, as docs/sessions.md has it.
 */
void exchange_error(struct exchange *ex, enum weir_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* In a call: the member of its input that the error is about, which follows. */
void exchange_blame(struct exchange *ex, struct weir_slice field);

/* How a log is to be watched. */
struct watch_options {
    uint64_t from;         /* the first id to send; SUB_FROM_LATEST */
    bool has_last_id;      /* from is one more than an id the reader says it has */
    bool ends_at_newest;   /* replay, then end the answer */
    uint64_t limit;        /* end it after so many events; 0: no limit */
    unsigned heartbeat_ms; /* 0: none; comment lines in silence */
    bool waits;            /* with nothing to send: not before there is, or for poll_timeout_ms */
    const struct feed_style *style; /* NULL: events as they are kept */
    void *user;                     /* of a style with `closed`; it has no cursor then */
};

/* What a style sees of the log that is to be sent. */
struct feed_start {
    struct log_state log;
    uint64_t from;      /* the id of the first event it would send */
    bool has_timed_out; /* it waited in vain */
};

/*
 * How a log is sent, if not as it is kept. `begin` is called when the log's state is known (and
 * is there): it answers the exchange, or begins the stream by exchange_stream(); exchange_data()
 * is as it was. `write` puts some whole events into the form of the style, always the same bytes
 * for the same events and flags. `end` and `hello`, which may be NULL, write what comes at the
 * end of a log that was sealed, and at the beginning when there are no events yet. `beat`, which
 * may be NULL, is called when a comment line is due: somebody still reads. `closed`, which may be
 * NULL, is called once for each exchange_watch() that gave a user, when nothing of it is needed any
 * more, whatever became of it; `begin` may have been called before or not.
 */
struct feed_piece_info {
    void *user;      /* as given to exchange_watch() */
    uint64_t cursor; /* as given to exchange_stream() */
    uint64_t last;   /* id of the last event up to here */
    unsigned char format;
    bool is_first; /* of the stream */
    bool is_last;
    bool is_newest; /* there was nothing behind it at the time */
    bool is_sealed; /* and there never will be */
};
struct feed_style {
    void (*begin)(struct exchange *ex, const struct feed_start *start);
    void (*write)(struct weir_buf *out, const struct feed_piece_info *piece,
                  struct weir_slice events, unsigned part);
    void (*hello)(struct weir_buf *out, const struct feed_piece_info *piece);
    void (*end)(struct weir_buf *out, const struct feed_piece_info *piece);
    void (*beat)(struct server *s, struct weir_slice log, int64_t now_ms);
    void (*closed)(void *user);
};

/* Parts of a piece, for `write`: it may come in several. */
enum { FEED_PART_FIRST = 1, FEED_PART_LAST = 2 };

/* In `begin` only: the head of an answer whose body is the log, in the style. */
struct stream_head {
    const char *media_type;
    uint64_t cursor;
    unsigned char format;
};
void exchange_stream(struct exchange *ex, const struct stream_head *head);

/*
 * Answers with the log as an event stream, for as long as it lasts: 204 when the reader has
 * all of a sealed log, 400 invalid_field when the reader claims an id that is not there yet.
 */
void exchange_watch(struct exchange *ex, struct weir_slice log, const struct watch_options *how);

/*
 * Gives a commit to the store; `then` is called on this loop's thread with its result, also
 * when the peer has gone (and must answer then, too).
 */
typedef void (*committed_fn)(struct exchange *ex, const struct commit_result *result);
void exchange_commit(struct exchange *ex, struct commit *c, committed_fn then);
/* The same, but the commit stays the caller's. */
void exchange_commit_kept(struct exchange *ex, struct commit *c, committed_fn then);

/* The route table, ended by a row without a handler. */
extern const struct route routes[];
