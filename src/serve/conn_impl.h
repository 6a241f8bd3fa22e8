/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: bytes in become exchanges (intake.c), answers go out in order, and one of them
 * may be an event stream (feed.c). All state changes of the connection itself are in conn.c.
 *
 * What happens in a round only marks a connection as dirty; at the round's end each dirty one
 * is flushed: one gathered write with all that is due, then whatever could not run before.
 *
 *   phase    | ends by
 *   ---------+-----------------------------------------------------------------------------
 *   OPEN     | conn_close(); LINGERING after a last answer that the peer may not have read
 *   LINGERING| our side has ended; what still comes is thrown away, for LINGER_MS at most
 *   CLOSED   | the struct is freed at the end of the round
 *
 * An idle connection and one that streams own no memory but this struct. Loop thread only.
 */
#pragma once

#include <assert.h>
#include <stddef.h>

#include "base/list.h"
#include "base/mem.h"
#include "fan/fan.h"
#include "io/loop.h"
#include "io/sock.h"
#include "serve/counters.h"
#include "serve/exchange_impl.h"

enum {
    CONN_MAGIC = 0x636f6e6e,
    CONN_MAX_IOV = 256,             /* pieces in one write */
    FEED_BLOCK_BYTES = 128 << 10,   /* of events in one write, but one event at least */
    FEED_MAX_BLOCKS = 4,            /* that a reader gets in a round; then it is others' turn */
    STREAM_UNREAD_BYTES = 16 << 10, /* that a client may send while it gets a stream */
    LINGER_MS = 2000,
    LINGER_BYTES = 16 << 20, /* thrown away at most */
    TLS_READS = 8,           /* records read from a connection in a round */
    CONN_HOT_LINES = 4,
};

enum conn_phase { CONN_OPEN, CONN_LINGERING, CONN_CLOSED };

/* What a connection has to do in time; one at a time. */
enum deadline {
    DEADLINE_NONE,
    DEADLINE_HEAD,
    DEADLINE_BODY,
    DEADLINE_IDLE,
    DEADLINE_WRITE,
    DEADLINE_STALL,
    DEADLINE_BEAT, /* not the peer's but ours: a comment line is due */
    DEADLINE_POLL, /* the same: who waits for events is told that there are none */
    DEADLINE_LINGER,
    N_DEADLINES,
};

/* What of a stream is under way, if it could not be written whole. */
enum feed_piece { PIECE_NONE, PIECE_EVENTS, PIECE_HELLO, PIECE_BEAT, PIECE_END };

enum feed_state { FEED_NONE, FEED_OPENING, FEED_WAITING, FEED_STREAMING };

/*
 * An event stream. A piece that was written in part is known by its kind, its last event
 * and the bytes that went; its bytes are asked for again when the reader can take more.
 */
struct feed {
    struct sub sub;
    uint64_t last;    /* PIECE_EVENTS: id of its last event */
    uint64_t until;   /* the stream ends behind this event; 0: with its log */
    uint64_t n_bytes; /* written so far, for the access log */
    uint32_t len;     /* bytes of the piece on the wire */
    uint32_t sent;    /* of them, written */
    uint32_t beat_ms; /* 0: no comment lines */
    unsigned char state;
    unsigned char piece;
    bool is_chunked;
    bool is_last;        /* of the piece: the end of the stream is a part of it */
    bool ends_at_newest; /* of the order */
    bool has_last_id;
    bool wants_beat;
    bool has_spoken; /* since its deadline was last looked at */
    bool is_ending;  /* end after the piece under way */
    bool is_stalled;
    bool has_style; /* see struct feed_form */
    bool has_sent;  /* some event */
};

/* The rest of a feed, of one whose events do not go out as they are kept. */
struct feed_form {
    const struct feed_style *style;
    union {
        uint64_t cursor; /* the style's */
        void *user;      /* of a style with `closed`; NULL: it was told */
    };
    unsigned char format;
    bool is_newest; /* of the piece: nothing was behind it */
    bool is_sealed; /* of the piece: and nothing will be */
    bool waits;
    bool has_timed_out;
    bool wants_hello;
};

/* Where the peer is, in as few bytes as it takes. */
struct peer {
    unsigned char ip[16];
    uint16_t port;
    unsigned char family; /* 0: local */
};

/* What the access log needs when a stream ends; only while there is one. */
struct stream_log {
    struct logged what;
    const struct route *route;
    uint64_t started_ns;
    char key[KEY_NAME_BYTES + 1];
    unsigned char id_len;
    char id[REQUEST_ID_BYTES];
    char path[LOGGED_PATH_BYTES];
};

struct intake;

/*
 * An event for thousands of readers touches all their structs, and no cache holds those. What it
 * touches is in the first CONN_HOT_LINES lines, which are asked for one connection ahead.
 */
struct conn {
    unsigned magic;
    unsigned char phase;    /* enum conn_phase */
    unsigned char deadline; /* enum deadline */
    unsigned char reason;   /* enum close_reason, once it is closing */
    bool is_local;          /* came over the control socket */
    bool is_blocked;        /* the last write did not take all; wait until it can go on */
    bool is_ended;          /* the peer sends no more */
    bool is_last;           /* no request after those there are */
    bool must_linger;       /* the peer may still be sending when the last answer went */
    bool is_flushing;
    bool is_fresh;  /* something happened: its deadline begins anew */
    bool runs_safe; /* the requests that run change nothing */
    uint16_t n_exchanges;
    uint16_t n_running; /* of them, not answered yet */
    struct worker *worker;
    struct list_node dirty; /* of those to flush in this round, or in the next */
    struct exchange *first; /* in the order of requests */
    struct exchange *newest;
    struct feed feed;
    size_t sent; /* bytes of the first one's answer that were written */
    size_t in_flight_bytes;
    struct sock sock;
    struct intake *intake; /* NULL: nothing is half read */
    struct watch watch;
    struct stream_log *stream_log;
    struct list_node node; /* of the worker's connections */
    struct list_node due;  /* of those with the same kind of deadline */
    uint64_t due_ms;
    uint64_t host; /* hash of the peer's address; 0: not counted */
    struct peer peer;
    struct feed_form form;
} __attribute__((aligned(MEM_LINE_BYTES)));

static_assert(sizeof(struct conn) <= 512, "an idle reader costs a struct of this size");
static_assert(offsetof(struct conn, feed) == MEM_LINE_BYTES, "a subscriber has a line of its own");
static_assert(offsetof(struct conn, watch.poll) <= CONN_HOT_LINES * MEM_LINE_BYTES, "see above");

/* ---- conn.c ---- */

/* Takes the socket over. WEIR_NOMEM, WEIR_IO: it is closed. */
WEIR_MUST_CHECK enum weir_status conn_open(struct worker *w, struct sock *sock,
                                           const struct addr *peer, uint64_t host);
void conn_close(struct conn *c, enum close_reason why);
/* Closes so that the peer sees that the answer was cut. */
void conn_cut(struct conn *c, enum close_reason why);
void conn_mark_dirty(struct conn *c);
void conn_flush(struct conn *c);
/* It will be flushed soon. */
void conn_prefetch(const struct conn *c);
/* Its deadline has passed. */
void conn_due(struct conn *c);
/* The server is going down. */
void conn_wind_up(struct conn *c);

/* A new exchange, behind all others. */
void conn_push(struct conn *c, struct exchange *ex);
/* One of them has its answer. */
void conn_answered(struct conn *c, struct exchange *ex);

/* "127.0.0.1:50000", "local". */
void peer_format(const struct peer *p, char out[ADDR_TEXT_BYTES]);

/* ---- exchange.c, for the access log ---- */

void exchange_log_line(struct worker *w, const struct conn *c, const struct stream_log *what,
                       int status, uint64_t n_bytes);
/* What a stream's line needs when the exchange is gone; NULL without a log. Free it. */
struct stream_log *exchange_stream_log(const struct exchange *ex);

/* ---- intake.c: bytes become requests ---- */

/* All bytes that are not yet read as requests; what is left over is kept. */
void intake_take(struct conn *c, struct weir_slice bytes);
/* Goes on with what is kept, when there is room again. */
void intake_resume(struct conn *c);
struct weir_slice intake_kept(const struct conn *c);
/* Whether it could take more bytes. */
bool intake_may_read(const struct conn *c);
/* The peer sends no more: a request under way is refused. */
void intake_end(struct conn *c);
/* Whether some of a request is there, and whether that is its whole head and more. */
bool intake_has_part(const struct conn *c);
bool intake_has_head(const struct conn *c);
/* Whether the body has grown enough since this was asked last. */
bool intake_made_progress(struct conn *c);
/* The request under way did not come in time: answers, and takes no more. */
void intake_time_out(struct conn *c);
void intake_free(struct conn *c);

/* ---- feed.c: a log as an event stream ---- */

/* The pieces of one write. */
struct gather {
    struct iovec iov[CONN_MAX_IOV];
    unsigned n_iov;
    size_t n_bytes;
    char chunk_head[HTTP_CHUNK_HEAD_BYTES];
};

void gather_add(struct gather *g, const void *bytes, size_t len);

/* It is the first exchange's turn, and it wants to watch. */
void feed_open(struct conn *c);
/* The store has told about the log: answers 204 or an error, waits, or begins the stream. */
void feed_begin(struct conn *c);
/* What exchange_stream() was told. */
void feed_set_style(struct conn *c, const struct stream_head *head);
/* It waited for events as long as it may. */
void feed_time_out(struct conn *c);
/* Adds what is to be written next. */
void feed_gather(struct conn *c, struct gather *g);
/* So much of it was written. */
void feed_written(struct conn *c, size_t n_bytes);
/* Whether there is more to write at once. */
bool feed_has_more(struct conn *c);
/* Whether it is an answer that is sent, or about to be, and not a stream that goes on. */
bool feed_is_answer(const struct conn *c);
/* A comment line is due. */
void feed_beat(struct conn *c);
void feed_stall(struct conn *c);
void feed_close(struct conn *c);
