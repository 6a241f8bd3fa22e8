/* SPDX-License-Identifier: Apache-2.0 */
/* Many requests on one connection of HTTP/2, of which some go wrong. */
#include <openssl/err.h>
#include <poll.h>

#include "authority.h"
#include "peer.h"

enum {
    HEAD_BYTES = 9,
    FRAME_BYTES = 1 << 14,
    N_STREAMS = 250,
    POLL_MS = 5,
    LARGE_BYTES = 1500 << 10,
};

/* ---- a server ---- */

enum frame { DATA = 0, HEADERS = 1, RESET = 3, SETTINGS = 4, PING = 6, GO_AWAY = 7, WINDOW = 8 };
enum flag { ACK = 1, END_STREAM = 1, END_HEADERS = 4 };

/* What becomes of a stream; as text, a character each, in the order in which they are opened. */
enum act {
    ANSWER = 'a',
    LARGE = 'l',  /* LARGE_BYTES of an answer */
    STALL = 's',  /* within the body */
    SILENT = '-', /* nothing comes */
    CUT = 'r',    /* the stream is reset within its body */
    CLOSE = 'c',  /* the connection is closed */
    LEAVE = 'g',  /* it is told that this stream was too late, and the others are answered */
};

struct h2 {
    const char *acts;     /* those behind them are answered */
    unsigned max_streams; /* that are allowed on a connection */
    unsigned n_wanted;    /* streams that have to be open before any is answered */

    SSL_CTX *context;
    atomic_uint n_open;    /* streams, on all connections */
    atomic_uint n_live;    /* connections */
    atomic_size_t n_bytes; /* of requests' bodies */
    struct peer peer;
    struct fetcher *fetcher;
};

struct h2_stream {
    uint32_t id;
    enum act act;
};

struct h2_conn {
    struct h2 *h2;
    SSL *ssl;
    bool is_open;
    struct h2_stream streams[N_STREAMS];
    unsigned n_streams;
};

static void put_u32(unsigned char *out, uint32_t n)
{
    for (int i = 0; i < 4; i++) out[i] = (unsigned char)(n >> (24 - 8 * i));
}

static void put_frame(SSL *ssl, enum frame type, int flags, uint32_t stream,
                      struct weir_slice payload)
{
    unsigned char head[HEAD_BYTES];
    put_u32(head, (uint32_t)payload.len << 8 | (uint32_t)type);
    head[4] = (unsigned char)flags;
    put_u32(head + 5, stream);
    SSL_write(ssl, head, sizeof head);
    if (payload.len > 0) SSL_write(ssl, payload.ptr, (int)payload.len);
}

static void put_number(SSL *ssl, enum frame type, uint32_t stream, uint32_t n)
{
    unsigned char bytes[4];
    put_u32(bytes, n);
    put_frame(ssl, type, 0, stream, slice_of(bytes, sizeof bytes));
}

static bool take_bytes(SSL *ssl, unsigned char *out, size_t len)
{
    for (size_t at = 0; at < len;) {
        int n = SSL_read(ssl, out + at, (int)(len - at));
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

static void put_large(struct h2_conn *c, uint32_t id)
{
    static const char bytes[FRAME_BYTES];
    for (size_t n = 0; n < LARGE_BYTES; n += sizeof bytes)
        put_frame(c->ssl, DATA, 0, id, slice_of(bytes, sizeof bytes));
    put_frame(c->ssl, DATA, END_STREAM, id, SLICE(""));
}

/* Everything behind this stream was too late. */
static void leave(struct h2_conn *c, uint32_t id)
{
    unsigned char bytes[8] = {0};
    put_u32(bytes, id - 2);
    put_frame(c->ssl, GO_AWAY, 0, 0, slice_of(bytes, sizeof bytes));
}

static void act_on(struct h2_conn *c, const struct h2_stream *s)
{
    if (s->act == CLOSE) c->is_open = false;
    if (s->act == LEAVE) leave(c, s->id);
    if (s->act == SILENT || s->act == CLOSE || s->act == LEAVE) return;
    /* ":status: 200" is the eighth of the fields that everybody knows. */
    put_frame(c->ssl, HEADERS, END_HEADERS, s->id, SLICE("\x88"));
    if (s->act == LARGE) {
        put_large(c, s->id);
        return;
    }
    put_frame(c->ssl, DATA, 0, s->id, SLICE("o"));
    if (s->act == ANSWER) put_frame(c->ssl, DATA, END_STREAM, s->id, SLICE("k"));
    if (s->act == CUT) put_number(c->ssl, RESET, s->id, 2);
}

static void open_stream(struct h2_conn *c, uint32_t id)
{
    unsigned n = atomic_load(&c->h2->n_open);
    const char *acts = c->h2->acts ? c->h2->acts : "";
    enum act act = n < strlen(acts) ? (enum act)acts[n] : ANSWER;
    c->streams[c->n_streams++] = (struct h2_stream){id, act};
    atomic_fetch_add(&c->h2->n_open, 1);
}

static void take_data(struct h2_conn *c, uint32_t id, size_t len)
{
    atomic_fetch_add(&c->h2->n_bytes, len);
    if (len == 0) return;
    put_number(c->ssl, WINDOW, id, (uint32_t)len);
    put_number(c->ssl, WINDOW, 0, (uint32_t)len);
}

/* False at the end of the connection. */
static bool take_frame(struct h2_conn *c)
{
    unsigned char head[HEAD_BYTES];
    static _Thread_local unsigned char payload[FRAME_BYTES];
    if (!take_bytes(c->ssl, head, sizeof head)) return false;
    size_t len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    uint32_t id =
        (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8];
    int type = head[3], flags = head[4];
    if (len > sizeof payload || !take_bytes(c->ssl, payload, len)) return false;
    if (type == SETTINGS && !(flags & ACK)) put_frame(c->ssl, SETTINGS, ACK, 0, SLICE(""));
    if (type == PING && !(flags & ACK)) put_frame(c->ssl, PING, ACK, 0, slice_of(payload, len));
    if (type == DATA) take_data(c, id, len);
    if ((type == HEADERS || type == DATA) && (flags & END_STREAM)) open_stream(c, id);
    return true;
}

static void *serve_h2(void *user)
{
    struct h2_conn *c = user;
    unsigned char preface[24];
    const unsigned char max[] = {0, 3, 0, 0, 0, (unsigned char)c->h2->max_streams};
    c->is_open = SSL_accept(c->ssl) == 1 && take_bytes(c->ssl, preface, sizeof preface);
    if (c->is_open) put_frame(c->ssl, SETTINGS, 0, 0, slice_of(max, sizeof max));
    while (c->is_open) {
        struct pollfd ready = {.fd = SSL_get_fd(c->ssl), .events = POLLIN};
        bool is_time = atomic_load(&c->h2->n_open) >= c->h2->n_wanted;
        for (unsigned i = 0; is_time && i < c->n_streams; i++) act_on(c, &c->streams[i]);
        if (is_time) c->n_streams = 0;
        bool is_ready = SSL_pending(c->ssl) > 0 || poll(&ready, 1, POLL_MS) > 0;
        if (c->is_open && is_ready) c->is_open = take_frame(c);
    }
    close(SSL_get_fd(c->ssl));
    SSL_free(c->ssl);
    ERR_clear_error();
    atomic_fetch_sub(&c->h2->n_live, 1);
    free(c);
    return NULL;
}

/* A thread for each connection; they end when the client goes. */
static void begin_h2(struct peer *p, int fd)
{
    struct h2 *h2 = p->user;
    pthread_t thread;
    struct h2_conn *c = calloc(1, sizeof *c);
    if (!c) abort();
    c->h2 = h2;
    atomic_fetch_add(&h2->n_live, 1);
    c->ssl = SSL_new(h2->context);
    SSL_set_fd(c->ssl, dup(fd));
    T_EQ(pthread_create(&thread, NULL, serve_h2, c), 0);
    pthread_detach(thread);
}

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                     const unsigned char *offered, unsigned n_offered, void *user)
{
    (void)ssl;
    (void)user;
    unsigned char *chosen = NULL;
    int found = SSL_select_next_proto(&chosen, out_len, (const unsigned char *)"\x02h2", 3, offered,
                                      n_offered);
    *out = chosen;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void h2_open(struct h2 *h2)
{
    const struct fetcher_options options = {.max_running = N_STREAMS};
    h2->context = authority_new_server("IP:127.0.0.1");
    SSL_CTX_set_alpn_select_cb(h2->context, choose_h2, NULL);
    h2->peer.play = begin_h2;
    h2->peer.user = h2;
    peer_start(&h2->peer);
    T_EQ(fetcher_new(&h2->fetcher, NULL, &options), WEIR_OK);
}

static void h2_close(struct h2 *h2)
{
    fetcher_free(h2->fetcher);
    peer_stop(&h2->peer);
    while (atomic_load(&h2->n_live) > 0) usleep(1000);
    SSL_CTX_free(h2->context);
}

/* ---- requests ---- */

static uint64_t send_one(struct h2 *h2, struct reader *r, size_t n_body, unsigned idle_ms)
{
    char url[PEER_URL_BYTES], path[AUTHORITY_PATH_BYTES];
    uint64_t ticket = 0;
    char *body = calloc(1, n_body + 1);
    authority_path(path, "authority.pem");
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", h2->peer.port);
    struct fetch_request request = reader_stream(r, url);
    request.body = slice_of(body, n_body);
    request.ca_file = path;
    request.limits.connect_ms = WAIT_MS;
    request.limits.idle_ms = idle_ms;
    T_EQ(fetcher_send(h2->fetcher, &request, &ticket), WEIR_OK);
    free(body);
    return ticket;
}

/* The same, and waits until the server has it. */
static uint64_t send_next(struct h2 *h2, struct reader *r, unsigned idle_ms)
{
    unsigned before = atomic_load(&h2->n_open);
    reader_init(r);
    uint64_t ticket = send_one(h2, r, 7, idle_ms);
    while (atomic_load(&h2->n_open) == before) usleep(1000);
    return ticket;
}

static void ask_many(struct h2 *h2, unsigned n)
{
    struct reader r;
    reader_init(&r);
    h2_open(h2);
    for (unsigned i = 0; i < n; i++) send_one(h2, &r, 7, 0);
    reader_wait_done(&r, n);
    T_EQ(r.n_good, n);
    T_EQ(r.n_text, 2 * n);
    h2_close(h2);
}

TEST(requests_share_a_connection)
{
    struct h2 h2 = {.max_streams = 100, .n_wanted = 50};
    ask_many(&h2, 50);
    T_EQ(atomic_load(&h2.peer.n_connections), 1);
}

TEST(more_requests_than_a_connection_takes_get_another)
{
    struct h2 h2 = {.max_streams = 50, .n_wanted = N_STREAMS};
    ask_many(&h2, N_STREAMS);
    T_EQ(atomic_load(&h2.n_open), N_STREAMS);
    /* Not one for each, though all come at once: only so many connect at a time. */
    T_OK(atomic_load(&h2.peer.n_connections) <= N_STREAMS / 4);
}

TEST(a_connection_that_takes_one_at_a_time_serves_all)
{
    struct h2 h2 = {.max_streams = 1};
    ask_many(&h2, N_STREAMS);
}

TEST(what_befalls_one_stream_is_not_for_the_others)
{
    struct h2 h2 = {.acts = "-srsa", .max_streams = 100};
    struct reader silent, stalled, reset, aborted, good;
    h2_open(&h2);
    uint64_t first = send_next(&h2, &silent, 0);
    send_next(&h2, &stalled, 200);
    send_next(&h2, &reset, 0);
    uint64_t fourth = send_next(&h2, &aborted, 0);
    reader_wait(&aborted, &aborted.n_heads, 1);
    fetcher_abort(h2.fetcher, first);
    fetcher_abort(h2.fetcher, fourth);
    reader_wait_done(&silent, 1);
    reader_wait_done(&aborted, 1);
    reader_wait_done(&stalled, 1);
    reader_wait_done(&reset, 1);
    send_next(&h2, &good, 0);
    reader_wait_done(&good, 1);
    T_EQ(silent.result.end, FETCH_ABORTED);
    T_EQ(silent.result.phase, FETCH_SENT);
    T_EQ(aborted.result.end, FETCH_ABORTED);
    T_EQ(aborted.result.http_status, 200);
    T_EQ(stalled.result.end, FETCH_SLOW_BODY);
    T_EQ(reset.result.end, FETCH_CUT); /* its head may have been lost with it */
    T_EQ(good.result.end, FETCH_WHOLE);
    T_EQ(atomic_load(&h2.peer.n_connections), 1);
    h2_close(&h2);
}

TEST(a_connection_that_is_lost_ends_what_had_begun)
{
    struct h2 h2 = {.acts = "ss-c", .max_streams = 100};
    struct reader r[4];
    h2_open(&h2);
    for (int i = 0; i < 2; i++) {
        send_next(&h2, &r[i], 0);
        reader_wait(&r[i], &r[i].n_heads, 1);
    }
    for (int i = 2; i < 4; i++) send_next(&h2, &r[i], 0);
    for (int i = 0; i < 4; i++) reader_wait_done(&r[i], 1);
    T_EQ(r[0].result.end, FETCH_CUT);
    T_EQ(r[1].result.end, FETCH_CUT);
    /* Of those nothing had come: they may have been sent again, on another connection. */
    for (int i = 2; i < 4; i++)
        T_OK(r[i].result.end == FETCH_CUT || r[i].result.end == FETCH_WHOLE);
    h2_close(&h2);
}

TEST(a_server_that_leaves_gets_the_rest_again)
{
    struct h2 h2 = {.acts = "sg", .max_streams = 100};
    struct reader first, late;
    h2_open(&h2);
    send_next(&h2, &first, 300);
    reader_wait(&first, &first.n_heads, 1);
    send_next(&h2, &late, 0);
    reader_wait_done(&late, 1);
    reader_wait_done(&first, 1);
    T_OK(late.result.end == FETCH_WHOLE || late.result.end == FETCH_CUT);
    T_OK(first.result.end == FETCH_SLOW_BODY || first.result.end == FETCH_CUT);
    h2_close(&h2);
}

TEST(large_bodies_flow_in_both_directions)
{
    struct h2 h2 = {.acts = "llll", .max_streams = 100};
    struct reader r;
    reader_init(&r);
    h2_open(&h2);
    for (int i = 0; i < 4; i++) send_one(&h2, &r, LARGE_BYTES, 0);
    reader_wait_done(&r, 4);
    T_EQ(r.n_good, 4);
    T_OK(r.result.n_body >= LARGE_BYTES);
    T_EQ(atomic_load(&h2.n_bytes), 4 * LARGE_BYTES);
    h2_close(&h2);
}

TEST(ending_ends_streams_that_share)
{
    struct h2 h2 = {.acts = "-s-s-s", .max_streams = 100};
    struct reader r[6];
    h2_open(&h2);
    for (int i = 0; i < 6; i++) send_next(&h2, &r[i], 0);
    h2_close(&h2);
    for (int i = 0; i < 6; i++) T_EQ(r[i].result.end, FETCH_ABORTED);
}
