/* SPDX-License-Identifier: Apache-2.0 */
/* Requests over TLS: whom to trust, and many on one connection of HTTP/2. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>

#include "peer.h"

enum {
    H2_HEAD_BYTES = 9,
    H2_FRAME_BYTES = 1 << 14,
    N_STREAMS = 250,
    PATH_BYTES = 512,
    POLL_MS = 5
};

static const struct fetcher_options usual;

/* OpenSSL writes to a peer that has gone, here in the server's threads. */
__attribute__((constructor)) static void ignore_broken_pipes(void)
{
    signal(SIGPIPE, SIG_IGN);
}

/* ---- an authority and a certificate ---- */

static void temp_path(char out[PATH_BYTES], const char *name)
{
    snprintf(out, PATH_BYTES, "%s/%s", t_temp_dir(), name);
}

static X509 *new_certificate(EVP_PKEY *key, const char *name)
{
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    return x;
}

static void add_extension(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    T_EQ(X509_add_ext(x, e, -1), 1);
    X509_EXTENSION_free(e);
}

static void write_certificate(X509 *x, const char *name)
{
    char path[PATH_BYTES];
    temp_path(path, name);
    FILE *f = fopen(path, "w");
    T_EQ(PEM_write_X509(f, x), 1);
    fclose(f);
}

/* A server for these names ("IP:127.0.0.1"), signed by an authority in authority.pem. */
static SSL_CTX *new_server(const char *names)
{
    EVP_PKEY *authority_key = EVP_EC_gen("P-256");
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *authority = new_certificate(authority_key, "An authority");
    X509 *x = new_certificate(key, "A server");
    X509_set_issuer_name(authority, X509_get_subject_name(authority));
    add_extension(authority, NID_basic_constraints, "critical,CA:TRUE");
    T_OK(X509_sign(authority, authority_key, EVP_sha256()) > 0);
    X509_set_issuer_name(x, X509_get_subject_name(authority));
    add_extension(x, NID_subject_alt_name, names);
    T_OK(X509_sign(x, authority_key, EVP_sha256()) > 0);
    write_certificate(authority, "authority.pem");
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    T_EQ(SSL_CTX_use_certificate(c, x), 1);
    T_EQ(SSL_CTX_use_PrivateKey(c, key), 1);
    X509_free(authority);
    X509_free(x);
    EVP_PKEY_free(authority_key);
    EVP_PKEY_free(key);
    return c;
}

/* ---- HTTP/1.1 over it ---- */

static void serve_tls(struct peer *p, int fd)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    SSL *ssl = SSL_new(p->user);
    size_t len = 0;
    SSL_set_fd(ssl, fd);
    p->request[0] = 0;
    bool is_open = SSL_accept(ssl) == 1;
    while (is_open && !peer_has_all(p->request)) {
        int n = SSL_read(ssl, p->request + len, (int)(PEER_REQUEST_BYTES - 1 - len));
        is_open = n > 0;
        len += n > 0 ? (size_t)n : 0;
        p->request[len] = 0;
    }
    if (is_open) {
        atomic_fetch_add(&p->n_requests, 1);
        SSL_write(ssl, answer, (int)strlen(answer));
        SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    ERR_clear_error();
}

static enum fetch_end ask_tls(struct peer *p, struct reader *r, const char *ca_file)
{
    char url[PEER_URL_BYTES];
    struct fetcher *f = NULL;
    reader_init(r);
    T_EQ(fetcher_new(&f, NULL, &usual), WEIR_OK);
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", p->port);
    struct fetch_request request = reader_post(r, url);
    request.ca_file = ca_file;
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    reader_wait_done(r, 1);
    fetcher_free(f);
    return r->result.end;
}

static enum fetch_end ask_server_of(const char *names, bool is_trusted, const char *ca_name,
                                    struct reader *r)
{
    char path[PATH_BYTES];
    struct peer p = {.play = serve_tls, .user = new_server(names)};
    temp_path(path, ca_name);
    peer_start(&p);
    enum fetch_end end = ask_tls(&p, r, is_trusted ? path : NULL);
    peer_stop(&p);
    T_EQ(atomic_load(&p.n_requests), end == FETCH_WHOLE);
    SSL_CTX_free(p.user);
    return end;
}

TEST(an_authority_of_ones_own_can_be_trusted)
{
    struct reader r;
    T_EQ(ask_server_of("IP:127.0.0.1", true, "authority.pem", &r), FETCH_WHOLE);
    T_EQ_STR(weir_slice_of(r.body), "ok");
}

TEST(who_is_not_trusted_gets_no_request)
{
    struct reader r;
    T_EQ(ask_server_of("IP:127.0.0.1", false, "", &r), FETCH_NOT_TRUSTED);
    T_EQ(r.result.status, WEIR_IO);
    T_EQ(r.result.phase, FETCH_CONNECTING);
    T_EQ(ask_server_of("IP:127.0.0.2", true, "authority.pem", &r), FETCH_NOT_TRUSTED);
    T_EQ(ask_server_of("DNS:another.name", true, "authority.pem", &r), FETCH_NOT_TRUSTED);
    T_EQ(ask_server_of("IP:127.0.0.1", true, "no-such-file.pem", &r), FETCH_NOT_TRUSTED);
}

static void speak_first(struct peer *p, int fd)
{
    (void)p;
    peer_put(fd, "220 ready, but not for this\r\n", 29);
    peer_stall(fd);
}

TEST(who_speaks_no_tls_gets_no_request)
{
    struct peer p = {.play = speak_first};
    struct reader r;
    peer_start(&p);
    T_EQ(ask_tls(&p, &r, NULL), FETCH_NO_TLS);
    T_EQ(r.result.phase, FETCH_CONNECTING);
    peer_stop(&p);
}

/* ---- HTTP/2 ---- */

/* Answers no stream before so many are open, on as many connections as were made. */
struct h2 {
    SSL_CTX *context;
    unsigned max_streams; /* that are allowed on a connection */
    atomic_uint n_open;   /* streams, on all connections */
    atomic_uint n_live;   /* connections */
    unsigned n_wanted;    /* before any is answered */
};

struct h2_conn {
    struct h2 *h2;
    SSL *ssl;
    uint32_t streams[N_STREAMS];
    unsigned n_streams;
};

static void put_frame(SSL *ssl, int type, int flags, uint32_t stream, struct weir_slice payload)
{
    unsigned char head[H2_HEAD_BYTES] = {
        (unsigned char)(payload.len >> 16),
        (unsigned char)(payload.len >> 8),
        (unsigned char)payload.len,
        (unsigned char)type,
        (unsigned char)flags,
        (unsigned char)(stream >> 24),
        (unsigned char)(stream >> 16),
        (unsigned char)(stream >> 8),
        (unsigned char)stream,
    };
    SSL_write(ssl, head, sizeof head);
    if (payload.len > 0) SSL_write(ssl, payload.ptr, (int)payload.len);
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

enum { DATA = 0, HEADERS = 1, SETTINGS = 4, PING = 6, ACK = 1, END_STREAM = 1, END_HEADERS = 4 };

static void answer_streams(struct h2_conn *c)
{
    for (unsigned i = 0; i < c->n_streams; i++) {
        /* ":status: 200" is the eighth of the fields that everybody knows. */
        put_frame(c->ssl, HEADERS, END_HEADERS, c->streams[i], SLICE("\x88"));
        put_frame(c->ssl, DATA, 0, c->streams[i], SLICE("o"));
        put_frame(c->ssl, DATA, END_STREAM, c->streams[i], SLICE("k"));
    }
    c->n_streams = 0;
}

/* False at the end of the connection. */
static bool take_frame(struct h2_conn *c)
{
    unsigned char head[H2_HEAD_BYTES];
    static _Thread_local unsigned char payload[H2_FRAME_BYTES];
    if (!take_bytes(c->ssl, head, sizeof head)) return false;
    size_t len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    uint32_t stream =
        (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8];
    if (len > sizeof payload || !take_bytes(c->ssl, payload, len)) return false;
    if (head[3] == SETTINGS && !(head[4] & ACK)) put_frame(c->ssl, SETTINGS, ACK, 0, SLICE(""));
    if (head[3] == PING && !(head[4] & ACK))
        put_frame(c->ssl, PING, ACK, 0, slice_of(payload, len));
    bool is_request = (head[3] == HEADERS || head[3] == DATA) && (head[4] & END_STREAM);
    if (!is_request) return true;
    c->streams[c->n_streams++] = stream;
    atomic_fetch_add(&c->h2->n_open, 1);
    return true;
}

static void *serve_h2(void *user)
{
    struct h2_conn *c = user;
    char preface[24];
    const unsigned char max[] = {0, 3, 0, 0, 0, (unsigned char)c->h2->max_streams};
    bool is_open = SSL_accept(c->ssl) == 1 && take_bytes(c->ssl, (void *)preface, sizeof preface);
    if (is_open) put_frame(c->ssl, SETTINGS, 0, 0, slice_of(max, sizeof max));
    while (is_open) {
        struct pollfd ready = {.fd = SSL_get_fd(c->ssl), .events = POLLIN};
        if (atomic_load(&c->h2->n_open) >= c->h2->n_wanted) answer_streams(c);
        if (SSL_pending(c->ssl) > 0 || poll(&ready, 1, POLL_MS) > 0) is_open = take_frame(c);
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

static void ask_h2(struct h2 *h2, struct peer *p, unsigned n)
{
    const struct fetcher_options options = {.max_running = N_STREAMS};
    char url[PEER_URL_BYTES], path[PATH_BYTES];
    struct reader r;
    struct fetcher *f = NULL;
    reader_init(&r);
    h2->context = new_server("IP:127.0.0.1");
    SSL_CTX_set_alpn_select_cb(h2->context, choose_h2, NULL);
    p->play = begin_h2;
    p->user = h2;
    peer_start(p);
    T_EQ(fetcher_new(&f, NULL, &options), WEIR_OK);
    temp_path(path, "authority.pem");
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", p->port);
    struct fetch_request request = reader_stream(&r, url);
    request.ca_file = path;
    request.limits.connect_ms = WAIT_MS;
    for (unsigned i = 0; i < n; i++) T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    reader_wait_done(&r, n);
    T_EQ(r.n_good, n);
    T_EQ(r.n_text, 2 * n);
    fetcher_free(f);
    peer_stop(p);
    while (atomic_load(&h2->n_live) > 0) usleep(1000);
    SSL_CTX_free(h2->context);
}

TEST(requests_share_a_connection_of_http_2)
{
    struct h2 h2 = {.max_streams = 100, .n_wanted = 50};
    struct peer p = {.fd = -1};
    ask_h2(&h2, &p, 50);
    T_EQ(atomic_load(&p.n_connections), 1);
}

TEST(more_requests_than_a_connection_takes_get_another)
{
    struct h2 h2 = {.max_streams = 50, .n_wanted = N_STREAMS};
    struct peer p = {.fd = -1};
    ask_h2(&h2, &p, N_STREAMS);
    T_EQ(atomic_load(&h2.n_open), N_STREAMS);
}
