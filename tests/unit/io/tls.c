/* SPDX-License-Identifier: Apache-2.0 */
#include "io/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "authority.h"
#include "base/fault.h"
#include "base/slice.h"
#include "io/loop.h"
#include "io/sock.h"
#include "t.h"

enum { DEADLINE_MS = 20000, MAX_STEPS = 1000000 };

/* ---- certificates ---- */

static const char *in_temp(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", t_temp_dir(), name);
    return path;
}

static FILE *create(const char *name, mode_t mode)
{
    const char *path = in_temp(name);
    unlink(path);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    T_EQ(fchmod(fd, mode), 0);
    return fdopen(fd, "w");
}

static X509 *make_certificate(EVP_PKEY *key, const char *host)
{
    X509 *x = new_certificate(key, host);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    T_OK(X509_sign(x, key, EVP_sha256()) > 0);
    return x;
}

/* Writes a new pair into cert.pem and key.pem; password NULL: the key in the clear. */
static void make_files(const char *host, mode_t key_mode, const char *password)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = make_certificate(key, host);
    FILE *f = create("cert.pem", 0644);
    T_EQ(PEM_write_X509(f, x), 1);
    fclose(f);
    f = create("key.pem", key_mode);
    T_EQ(PEM_write_PrivateKey(f, key, password ? EVP_aes_128_cbc() : NULL, NULL, 0, NULL,
                              (void *)(uintptr_t)password),
         1);
    fclose(f);
    X509_free(x);
    EVP_PKEY_free(key);
}

static enum weir_status load_files(struct tls_context **c, struct tls_error *error)
{
    return tls_context_new(c, in_temp("cert.pem"), in_temp("key.pem"), error);
}

static struct tls_context *context(const char *host)
{
    struct tls_context *c = NULL;
    struct tls_error error;
    make_files(host, 0600, NULL);
    T_EQ(load_files(&c, &error), WEIR_OK);
    T_EQ_STR(weir_slice_of(error.text), "");
    return c;
}

/* ---- a server's socket and a client ---- */

struct pair {
    int listen_fd;
    struct sock server;
    SSL_CTX *client_context;
    SSL *client;
    int fd;
    bool is_failed; /* a wait was in vain */
};

/* What a client may ask for. */
struct wish {
    int version;      /* the newest; 0: any */
    const char *alpn; /* in wire form */
};

static void wait_for(struct pair *p)
{
    struct pollfd fds[2] = {{.fd = p->fd, .events = POLLIN},
                            {.fd = p->server.fd, .events = POLLIN}};
    if (poll(fds, 2, DEADLINE_MS) > 0) return;
    t_fail(__FILE__, __LINE__, "nothing came within the time limit");
    p->is_failed = true;
}

static void pair_connect(struct pair *p, struct tls_context *c)
{
    struct addr a;
    struct addr bound;
    *p = (struct pair){.fd = -1};
    T_EQ(addr_parse(&a, "127.0.0.1:0"), WEIR_OK);
    T_EQ(sock_listen(&p->listen_fd, &a, &bound), WEIR_OK);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    T_EQ(connect(p->fd, (struct sockaddr *)&bound.sa, bound.len), 0);
    T_EQ(fcntl(p->fd, F_SETFL, O_NONBLOCK), 0);
    struct pollfd listening = {.fd = p->listen_fd, .events = POLLIN};
    T_EQ(poll(&listening, 1, DEADLINE_MS), 1);
    T_EQ(sock_accept(&p->server, p->listen_fd, c, NULL), SOCK_OK);
    T_OK(p->server.tls);
}

static void client_new(struct pair *p, struct wish wish)
{
    p->client_context = SSL_CTX_new(TLS_client_method());
    if (wish.version) SSL_CTX_set_max_proto_version(p->client_context, wish.version);
    if (wish.version && wish.version < TLS1_2_VERSION) {
        SSL_CTX_set_min_proto_version(p->client_context, wish.version);
        SSL_CTX_set_cipher_list(p->client_context, "DEFAULT:@SECLEVEL=0");
    }
    SSL_CTX_set_mode(p->client_context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    p->client = SSL_new(p->client_context);
    if (wish.alpn)
        SSL_set_alpn_protos(p->client, (const unsigned char *)wish.alpn,
                            (unsigned)strlen(wish.alpn));
    SSL_set_fd(p->client, p->fd);
    SSL_set_connect_state(p->client);
}

/* Whether both sides agree; else `result` is what the server's read said. */
static bool shake_hands(struct pair *p, enum sock_result *result)
{
    char byte;
    size_t n;
    *result = SOCK_AGAIN;
    while (!p->is_failed) {
        int done = SSL_do_handshake(p->client);
        *result = sock_read(&p->server, &byte, 1, &n);
        if (*result != SOCK_AGAIN) return false;
        int error = done == 1 ? 0 : SSL_get_error(p->client, done);
        if (done == 1 && !sock_has_pending(&p->server) && p->server.wants_write == false) {
            /* The client is done; the server is when the client's last flight was read. */
            struct iovec none = {NULL, 0};
            T_EQ(sock_write(&p->server, &none, 1, &n), SOCK_OK);
            return true;
        }
        if (error != 0 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
            return false;
        wait_for(p);
    }
    return false;
}

static bool pair_open(struct pair *p, struct tls_context *c, struct wish wish)
{
    enum sock_result result;
    pair_connect(p, c);
    client_new(p, wish);
    return shake_hands(p, &result);
}

static void pair_close(struct pair *p)
{
    sock_close(&p->server);
    SSL_free(p->client);
    SSL_CTX_free(p->client_context);
    if (p->fd >= 0) close(p->fd);
    close(p->listen_fd);
    ERR_clear_error();
}

/* Reads once, waiting for what has to come. */
static enum sock_result server_read(struct pair *p, char *bytes, size_t len, size_t *n)
{
    enum sock_result result;
    while ((result = sock_read(&p->server, bytes, len, n)) == SOCK_AGAIN && !p->is_failed) {
        struct pollfd fd = {.fd = p->server.fd, .events = POLLIN};
        if (poll(&fd, 1, DEADLINE_MS) != 1) p->is_failed = true;
    }
    T_OK(!p->is_failed);
    return result;
}

static int client_read(struct pair *p, char *bytes, int len)
{
    int n;
    while ((n = SSL_read(p->client, bytes, len)) <= 0 &&
           SSL_get_error(p->client, n) == SSL_ERROR_WANT_READ && !p->is_failed) {
        struct pollfd fd = {.fd = p->fd, .events = POLLIN};
        if (poll(&fd, 1, DEADLINE_MS) != 1) p->is_failed = true;
    }
    T_OK(!p->is_failed);
    return n;
}

static struct iovec part(const char *text)
{
    return (struct iovec){(void *)(uintptr_t)text, strlen(text)};
}

static void echo(struct pair *p)
{
    char bytes[64];
    size_t n = 0;
    T_EQ(SSL_write(p->client, "hello", 5), 5);
    T_EQ(server_read(p, bytes, sizeof bytes, &n), SOCK_OK);
    T_EQ_SLICE(slice_of(bytes, n), SLICE("hello"));
    struct iovec parts[3] = {part("one "), part(""), part("two")};
    T_EQ(sock_write(&p->server, parts, 3, &n), SOCK_OK);
    T_EQ(n, 7);
    T_EQ(client_read(p, bytes, sizeof bytes), 7);
    T_EQ_SLICE(slice_of(bytes, 7), SLICE("one two"));
}

/* ---- handshakes ---- */

TEST(bytes_go_both_ways_with_either_version)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct tls_context *c = context("a.test");
    for (size_t i = 0; i < 2; i++) {
        struct pair p;
        T_OK(pair_open(&p, c, (struct wish){.version = versions[i]}));
        T_EQ(SSL_version(p.client), versions[i]);
        echo(&p);
        pair_close(&p);
    }
    tls_context_free(c);
}

TEST(older_version_is_refused)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    enum sock_result result;
    pair_connect(&p, c);
    client_new(&p, (struct wish){.version = TLS1_1_VERSION});
    T_OK(!shake_hands(&p, &result));
    T_EQ(result, SOCK_ERROR);
    pair_close(&p);
    tls_context_free(c);
}

TEST(client_that_offers_http_1_1_among_others_gets_it)
{
    struct tls_context *c = context("a.test");
    const unsigned char *name;
    unsigned len;
    struct pair p;
    T_OK(pair_open(&p, c,
                   (struct wish){.alpn = "\x02h2"
                                         "\x08http/1.1"}));
    SSL_get0_alpn_selected(p.client, &name, &len);
    T_EQ_SLICE(slice_of(name, len), SLICE("http/1.1"));
    pair_close(&p);
    tls_context_free(c);
}

TEST(client_that_offers_only_others_gets_the_alert)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    enum sock_result result;
    pair_connect(&p, c);
    client_new(&p, (struct wish){.alpn = "\x02h2"});
    ERR_clear_error();
    T_OK(!shake_hands(&p, &result));
    T_EQ(result, SOCK_ERROR);
    T_EQ(errno, EPROTO);
    char byte;
    T_OK(client_read(&p, &byte, 1) <= 0);
    T_EQ(ERR_GET_REASON(ERR_peek_last_error()), SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL);
    pair_close(&p);
    tls_context_free(c);
}

TEST(request_in_the_clear_is_an_error)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    char bytes[64];
    size_t n;
    pair_connect(&p, c);
    T_EQ(sock_read(&p.server, bytes, sizeof bytes, &n), SOCK_AGAIN);
    T_EQ(sock_wants(&p.server, true, false), WATCH_READ);
    T_EQ(send(p.fd, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    T_EQ(server_read(&p, bytes, sizeof bytes, &n), SOCK_ERROR);
    T_EQ(errno, EPROTO);
    /* It stays broken, and what it is asked then does no harm. */
    struct iovec x = part("x");
    T_EQ(sock_read(&p.server, bytes, sizeof bytes, &n), SOCK_ERROR);
    T_EQ(sock_write(&p.server, &x, 1, &n), SOCK_ERROR);
    T_EQ(n, 0);
    T_EQ(ERR_peek_error(), 0);
    sock_end(&p.server);
    pair_close(&p);
    tls_context_free(c);
}

TEST(write_before_the_handshake_waits_for_the_client)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    struct iovec early = part("early");
    char bytes[64];
    size_t n = 0;
    pair_connect(&p, c);
    client_new(&p, (struct wish){0});
    T_EQ(sock_write(&p.server, &early, 1, &n), SOCK_AGAIN);
    T_EQ(sock_wants(&p.server, false, true), WATCH_READ);
    T_EQ(sock_ready(&p.server, WATCH_READ), WATCH_READ | WATCH_WRITE);
    for (int i = 0; n == 0 && i < MAX_STEPS && !p.is_failed; i++) {
        SSL_do_handshake(p.client);
        if (sock_write(&p.server, &early, 1, &n) == SOCK_AGAIN) wait_for(&p);
    }
    T_EQ(n, 5);
    T_EQ(client_read(&p, bytes, sizeof bytes), 5);
    T_EQ_SLICE(slice_of(bytes, 5), SLICE("early"));
    echo(&p);
    pair_close(&p);
    tls_context_free(c);
}

TEST(client_may_not_negotiate_again)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    char bytes[16];
    size_t n;
    T_OK(pair_open(&p, c, (struct wish){.version = TLS1_2_VERSION}));
    SSL_renegotiate(p.client);
    SSL_do_handshake(p.client);
    for (int i = 0; i < 100; i++) {
        enum sock_result result = sock_read(&p.server, bytes, sizeof bytes, &n);
        T_OK(result != SOCK_OK);
        if (result != SOCK_AGAIN) break;
    }
    T_OK(!SSL_is_init_finished(p.client));
    pair_close(&p);
    tls_context_free(c);
}

/* ---- reading ---- */

TEST(bytes_inside_a_record_are_told_without_an_event)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    char bytes[4];
    size_t n;
    T_OK(pair_open(&p, c, (struct wish){0}));
    T_OK(!sock_has_pending(&p.server));
    T_EQ(SSL_write(p.client, "123456", 6), 6);
    T_EQ(server_read(&p, bytes, sizeof bytes, &n), SOCK_OK);
    T_EQ(n, 4);
    T_OK(sock_has_pending(&p.server));
    T_EQ(sock_read(&p.server, bytes, sizeof bytes, &n), SOCK_OK);
    T_EQ(n, 2);
    T_OK(!sock_has_pending(&p.server));
    pair_close(&p);
    tls_context_free(c);
}

TEST(end_is_told_with_a_goodbye_and_without)
{
    for (int says_goodbye = 0; says_goodbye < 2; says_goodbye++) {
        struct tls_context *c = context("a.test");
        struct pair p;
        char bytes[16];
        size_t n;
        T_OK(pair_open(&p, c, (struct wish){0}));
        if (says_goodbye) SSL_shutdown(p.client);
        else shutdown(p.fd, SHUT_WR);
        T_EQ(server_read(&p, bytes, sizeof bytes, &n), SOCK_EOF);
        T_EQ(server_read(&p, bytes, sizeof bytes, &n), SOCK_EOF);
        pair_close(&p);
        tls_context_free(c);
    }
}

TEST(our_end_reaches_the_client_who_may_still_send)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    char bytes[16];
    size_t n;
    struct iovec bye = part("bye");
    T_OK(pair_open(&p, c, (struct wish){0}));
    T_EQ(sock_write(&p.server, &bye, 1, &n), SOCK_OK);
    sock_end(&p.server);
    T_EQ(sock_write(&p.server, &bye, 1, &n), SOCK_ERROR);
    T_EQ(client_read(&p, bytes, sizeof bytes), 3);
    T_EQ(client_read(&p, bytes, sizeof bytes), 0);
    T_EQ(SSL_get_error(p.client, 0), SSL_ERROR_ZERO_RETURN);
    T_EQ(SSL_write(p.client, "late", 4), 4);
    T_EQ(server_read(&p, bytes, sizeof bytes, &n), SOCK_OK);
    T_EQ_SLICE(slice_of(bytes, n), SLICE("late"));
    pair_close(&p);
    tls_context_free(c);
}

TEST(reset_by_the_client_is_an_error_and_no_signal)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    struct linger at_once = {1, 0};
    char bytes[16];
    size_t n;
    struct iovec x = part("x");
    T_OK(pair_open(&p, c, (struct wish){0}));
    setsockopt(p.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(p.fd);
    p.fd = -1;
    T_EQ(server_read(&p, bytes, sizeof bytes, &n), SOCK_ERROR);
    T_EQ(errno, ECONNRESET);
    T_EQ(sock_write(&p.server, &x, 1, &n), SOCK_ERROR);
    pair_close(&p);
    T_OK(pair_open(&p, c, (struct wish){0}));
    setsockopt(p.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(p.fd);
    p.fd = -1;
    /* The first write after it finds out, or the next: none may raise SIGPIPE. */
    enum sock_result result = SOCK_OK;
    for (int i = 0; i < 100 && result == SOCK_OK; i++) result = sock_write(&p.server, &x, 1, &n);
    T_EQ(result, SOCK_ERROR);
    pair_close(&p);
    tls_context_free(c);
}

/* ---- writing ---- */

enum { STREAM_BYTES = 1 << 20, N_PARTS = 40 };

static char sent[STREAM_BYTES];
static char got[STREAM_BYTES];

/* Byte i is a function of i, so one that is lost or repeated shows. */
static void make_stream(void)
{
    for (size_t i = 0; i < STREAM_BYTES; i++) sent[i] = (char)((i * 2654435761u) >> 13);
}

/* From `done` on, in parts of random lengths, often fewer bytes than the last time. */
static enum sock_result write_some(struct sock *s, size_t done, size_t *n)
{
    struct iovec parts[N_PARTS];
    unsigned n_parts = 0;
    unsigned wanted = 1 + (unsigned)(t_random() % N_PARTS);
    size_t longest = t_random() % 4 == 0 ? 40000 : 900;
    size_t at = done;
    while (n_parts < wanted && at < STREAM_BYTES) {
        size_t len = (size_t)(t_random() % longest);
        if (len > STREAM_BYTES - at) len = STREAM_BYTES - at;
        parts[n_parts++] = (struct iovec){sent + at, len};
        at += len;
    }
    return sock_write(s, parts, n_parts, n);
}

/* Sends the stream to the client and says how often the socket was full. */
static unsigned pump_stream(struct pair *p)
{
    size_t n_sent = 0;
    size_t n_got = 0;
    unsigned n_full = 0;
    while (n_got < STREAM_BYTES && !p->is_failed) {
        size_t n = 0;
        enum sock_result result = SOCK_OK;
        for (int i = 0; i < 8 && n_sent < STREAM_BYTES && result == SOCK_OK; i++) {
            result = write_some(&p->server, n_sent, &n);
            n_sent += n;
        }
        T_OK(result == SOCK_OK || (result == SOCK_AGAIN && n == 0));
        if (result == SOCK_ERROR) break;
        if (result == SOCK_AGAIN) n_full++;
        int n_read = SSL_read(p->client, got + n_got, (int)(STREAM_BYTES - n_got));
        if (n_read > 0) n_got += (size_t)n_read;
    }
    T_EQ_SLICE(slice_of(got, n_got), slice_of(sent, STREAM_BYTES));
    return n_full;
}

static void shrink_buffers(struct pair *p)
{
    int small = 4096;
    setsockopt(p->server.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
}

TEST(stream_is_the_same_however_it_is_cut_when_the_socket_is_full)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct tls_context *c = context("a.test");
    make_stream();
    for (size_t i = 0; i < 2; i++) {
        struct pair p;
        T_OK(pair_open(&p, c, (struct wish){.version = versions[i]}));
        shrink_buffers(&p);
        T_OK(pump_stream(&p) > 0);
        echo(&p);
        pair_close(&p);
    }
    tls_context_free(c);
}

TEST(stream_is_the_same_with_send_faults)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    make_stream();
    T_OK(pair_open(&p, c, (struct wish){0}));
    fault_arm(FAULT_SEND, 1, FAULT_FROM);
    (void)pump_stream(&p);
    fault_disarm_all();
    pair_close(&p);
    tls_context_free(c);
}

TEST(stream_is_the_same_when_the_client_has_small_records)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    enum sock_result result;
    make_stream();
    pair_connect(&p, c);
    client_new(&p, (struct wish){0});
    SSL_set_tlsext_max_fragment_length(p.client, TLSEXT_max_fragment_length_512);
    T_OK(shake_hands(&p, &result));
    shrink_buffers(&p);
    (void)pump_stream(&p);
    pair_close(&p);
    tls_context_free(c);
}

/* Fills the socket; says how many bytes were taken. */
static size_t fill(struct pair *p)
{
    size_t total = 0;
    size_t n = 0;
    struct iovec all = {sent, STREAM_BYTES};
    while (sock_write(&p->server, &all, 1, &n) == SOCK_OK) {
        total += n;
        all = (struct iovec){sent + total, STREAM_BYTES - total};
    }
    T_EQ(n, 0);
    T_OK(total < STREAM_BYTES);
    return total;
}

TEST(key_change_in_the_middle_of_a_stuck_record_changes_nothing)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    char bytes[16];
    size_t n;
    make_stream();
    T_OK(pair_open(&p, c, (struct wish){.version = TLS1_3_VERSION}));
    shrink_buffers(&p);
    size_t done = fill(&p);
    T_EQ(sock_wants(&p.server, false, true), WATCH_WRITE);
    T_EQ(SSL_key_update(p.client, SSL_KEY_UPDATE_REQUESTED), 1);
    T_EQ(SSL_write(p.client, "x", 1), 1);
    T_EQ(server_read(&p, bytes, sizeof bytes, &n), SOCK_OK);
    size_t n_got = 0;
    while (n_got < STREAM_BYTES) {
        if (done < STREAM_BYTES) {
            T_OK(write_some(&p.server, done, &n) != SOCK_ERROR);
            done += n;
        }
        int n_read = SSL_read(p.client, got + n_got, (int)(STREAM_BYTES - n_got));
        if (n_read > 0) n_got += (size_t)n_read;
        else if (SSL_get_error(p.client, n_read) != SSL_ERROR_WANT_READ) break;
    }
    T_EQ_SLICE(slice_of(got, n_got), slice_of(sent, STREAM_BYTES));
    pair_close(&p);
    tls_context_free(c);
}

TEST(stuck_record_without_memory_breaks_the_connection_only)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    size_t n;
    make_stream();
    T_OK(pair_open(&p, c, (struct wish){0}));
    shrink_buffers(&p);
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    enum sock_result result;
    do {
        result = write_some(&p.server, 0, &n);
    } while (result == SOCK_OK);
    T_EQ(result, SOCK_ERROR);
    T_EQ(errno, ENOMEM);
    fault_disarm_all();
    pair_close(&p);
    tls_context_free(c);
}

TEST(accept_without_memory_says_so)
{
    struct tls_context *c = context("a.test");
    struct pair p;
    struct sock s;
    pair_connect(&p, c);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at;
    socklen_t len = sizeof at;
    T_EQ(getsockname(p.listen_fd, (struct sockaddr *)&at, &len), 0);
    T_EQ(connect(fd, (struct sockaddr *)&at, len), 0);
    struct pollfd listening = {.fd = p.listen_fd, .events = POLLIN};
    T_EQ(poll(&listening, 1, DEADLINE_MS), 1);
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_EQ(sock_accept(&s, p.listen_fd, c, NULL), SOCK_NO_FDS);
    T_EQ(s.fd, -1);
    fault_disarm_all();
    close(fd);
    pair_close(&p);
    tls_context_free(c);
}

/* ---- files ---- */

static void expect_refusal(enum weir_status want, const char *text)
{
    struct tls_context *c = NULL;
    struct tls_error error;
    T_EQ(load_files(&c, &error), want);
    T_OK(!c);
    if (!strstr(error.text, text))
        t_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, text);
    T_EQ(ERR_peek_error(), 0);
}

TEST(bad_files_are_refused_with_a_sentence)
{
    expect_refusal(WEIR_IO, "key.pem: No such file or directory");
    make_files("a.test", 0600, NULL);
    unlink(in_temp("cert.pem"));
    expect_refusal(WEIR_IO, "cert.pem: No such file or directory");
    make_files("a.test", 0644, NULL);
    expect_refusal(WEIR_INVALID, "everybody on this machine may read the key");
    make_files("a.test", 0640, "secret");
    expect_refusal(WEIR_INVALID, "no private key in PEM without a password");
    make_files("a.test", 0600, NULL);
    fclose(create("key.pem", 0600));
    expect_refusal(WEIR_INVALID, "key.pem: no private key");
    make_files("a.test", 0600, NULL);
    fclose(create("cert.pem", 0600));
    expect_refusal(WEIR_INVALID, "cert.pem: no certificate");
}

TEST(key_of_another_certificate_is_refused)
{
    make_files("a.test", 0600, NULL);
    T_EQ(rename(in_temp("key.pem"), in_temp("kept.pem")), 0);
    make_files("b.test", 0600, NULL);
    T_EQ(rename(in_temp("kept.pem"), in_temp("key.pem")), 0);
    expect_refusal(WEIR_INVALID, "the key does not belong to the certificate");
    EVP_PKEY *other = EVP_RSA_gen(2048);
    FILE *f = create("key.pem", 0600);
    T_EQ(PEM_write_PrivateKey(f, other, NULL, NULL, 0, NULL, NULL), 1);
    fclose(f);
    EVP_PKEY_free(other);
    expect_refusal(WEIR_INVALID, "the key does not belong to the certificate");
}

TEST(names_of_files_have_a_ceiling)
{
    static char name[5000];
    struct tls_context *c;
    struct tls_error error;
    memset(name, 'n', sizeof name - 1);
    T_EQ(tls_context_new(&c, name, "key", &error), WEIR_INVALID);
    T_EQ(tls_context_new(&c, "", "key", &error), WEIR_INVALID);
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_EQ(tls_context_new(&c, "cert", "key", &error), WEIR_NOMEM);
    fault_disarm_all();
    tls_context_free(NULL);
}

static void expect_host(struct pair *p, const char *host)
{
    char name[64] = "";
    X509 *x = SSL_get1_peer_certificate(p->client);
    T_OK(x);
    if (!x) return;
    X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, name, sizeof name);
    T_EQ_STR(weir_slice_of(name), host);
    X509_free(x);
}

TEST(reload_is_for_new_sessions_and_bad_files_change_nothing)
{
    struct tls_context *c = context("old.test");
    struct tls_error error;
    struct pair before;
    struct pair after;
    T_OK(pair_open(&before, c, (struct wish){0}));
    make_files("new.test", 0644, NULL);
    T_EQ(tls_context_reload(c, &error), WEIR_INVALID);
    T_OK(strstr(error.text, "key.pem"));
    T_OK(pair_open(&after, c, (struct wish){0}));
    expect_host(&after, "old.test");
    pair_close(&after);
    T_EQ(chmod(in_temp("key.pem"), 0600), 0);
    T_EQ(tls_context_reload(c, &error), WEIR_OK);
    T_OK(pair_open(&after, c, (struct wish){0}));
    expect_host(&after, "new.test");
    expect_host(&before, "old.test");
    echo(&before);
    echo(&after);
    pair_close(&before);
    pair_close(&after);
    tls_context_free(c);
}

static atomic_bool is_over;

static void *reload_on_and_on(void *user)
{
    struct tls_error error;
    while (!atomic_load(&is_over)) T_EQ(tls_context_reload(user, &error), WEIR_OK);
    return NULL;
}

TEST(reload_by_another_thread_disturbs_no_session)
{
    struct tls_context *c = context("a.test");
    pthread_t thread;
    atomic_store(&is_over, false);
    T_EQ(pthread_create(&thread, NULL, reload_on_and_on, c), 0);
    for (int i = 0; i < 10; i++) {
        struct pair p;
        T_OK(pair_open(&p, c, (struct wish){0}));
        echo(&p);
        pair_close(&p);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    tls_context_free(c);
}
