/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS. OpenSSL sees the socket through a BIO of our own: the one it brings would let a write
 * to a closed connection kill the process by SIGPIPE.
 *
 * Writing. OpenSSL takes a record (up to 16 KB), encrypts it once, and when the socket is full
 * wants to be called again with the very same bytes until the record is out. Our callers only
 * promise the same stream of bytes, not the same cut: what they gave from the tail they may
 * give again from the store, in smaller pieces. So a record that got stuck is kept here
 * (`held`) and finished from here. The caller was told that these bytes are not written yet and
 * will give them again; n_ahead counts how many of those are out already and to be skipped.
 *
 * Sessions live in tickets that the client keeps; the server stores none.
 */
#include "io/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/tls_impl.h"

enum {
    CONTEXT_MAGIC = 0x746c7363,
    TLS_MAGIC = 0x746c7373,
    RECORD_BYTES = SSL3_RT_MAX_PLAIN_LENGTH,
    PATH_BYTES = 4096,
};

struct tls_context {
    unsigned magic;
    char cert_file[PATH_BYTES];
    char key_file[PATH_BYTES];
    pthread_mutex_t lock; /* over current */
    SSL_CTX *current;
};

/* A record that OpenSSL has begun to send. */
struct held {
    size_t len;
    char bytes[];
};

struct tls {
    unsigned magic;
    SSL *ssl;
    struct held *held;
    size_t n_ahead;
    int error; /* errno of what broke it; OpenSSL must not be asked for anything more */
    bool is_ended;
};

/* ---- the socket, as OpenSSL sees it ---- */

static BIO_METHOD *socket_method;

static int fd_of(BIO *b)
{
    return (int)(intptr_t)BIO_get_data(b);
}

static int bio_write(BIO *b, const char *bytes, int len)
{
    ssize_t n;
    BIO_clear_retry_flags(b);
    do {
        n = send(fd_of(b), bytes, (size_t)len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_retry_write(b);
    return (int)n;
}

static int bio_read(BIO *b, char *bytes, int len)
{
    ssize_t n;
    BIO_clear_retry_flags(b);
    do {
        n = recv(fd_of(b), bytes, (size_t)len, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_retry_read(b);
    if (n == 0) BIO_set_flags(b, BIO_FLAGS_IN_EOF);
    return (int)n;
}

static long bio_ctrl(BIO *b, int what, long number, void *ptr)
{
    (void)number, (void)ptr;
    if (what == BIO_CTRL_FLUSH) return 1;
    if (what == BIO_CTRL_EOF) return BIO_test_flags(b, BIO_FLAGS_IN_EOF) != 0;
    return 0;
}

static void make_socket_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir socket");
    if (m && BIO_meth_set_write(m, bio_write) && BIO_meth_set_read(m, bio_read) &&
        BIO_meth_set_ctrl(m, bio_ctrl))
        socket_method = m;
}

/* NULL: no memory. */
static BIO *bio_new(int fd)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_socket_method);
    BIO *b = socket_method ? BIO_new(socket_method) : NULL;
    if (!b) return NULL;
    BIO_set_data(b, (void *)(intptr_t)fd);
    BIO_set_init(b, 1);
    return b;
}

/* ---- contexts ---- */

static enum weir_status fail(struct tls_error *error, enum weir_status st, const char *file,
                             const char *what)
{
    /* OpenSSL's own reason helps only where a file has the wrong bytes in it. */
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    snprintf(error->text, sizeof error->text, "%.150s: %s%s%.60s%s", file, what, reason ? " (" : "",
             reason ? reason : "", reason ? ")" : "");
    ERR_clear_error();
    return st;
}

/* A server cannot ask anybody for a password, and OpenSSL would ask at the terminal. */
static int no_password(char *out, int size, int is_writing, void *user)
{
    (void)is_writing, (void)user;
    if (size > 0) out[0] = 0;
    return -1;
}

static enum weir_status read_key(const char *file, EVP_PKEY **key, struct tls_error *error)
{
    struct stat info;
    enum weir_status st = WEIR_OK;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        st = fail(error, WEIR_IO, file, strerror(errno));
    } else if (info.st_mode & S_IROTH) {
        st = fail(error, WEIR_INVALID, file,
                  "everybody on this machine may read the key; chmod o-r it");
    } else {
        BIO *b = BIO_new_fd(fd, BIO_NOCLOSE);
        *key = b ? PEM_read_bio_PrivateKey(b, NULL, no_password, NULL) : NULL;
        BIO_free(b);
        if (!*key) st = fail(error, WEIR_INVALID, file, "no private key in PEM without a password");
    }
    if (fd >= 0) close(fd);
    return st;
}

static enum weir_status use_files(SSL_CTX *ssl, const struct tls_context *c, EVP_PKEY *key,
                                  struct tls_error *error)
{
    if (access(c->cert_file, R_OK) != 0) return fail(error, WEIR_IO, c->cert_file, strerror(errno));
    if (SSL_CTX_use_certificate_chain_file(ssl, c->cert_file) != 1)
        return fail(error, WEIR_INVALID, c->cert_file, "no certificate in PEM that can be used");
    if (SSL_CTX_use_PrivateKey(ssl, key) != 1 || SSL_CTX_check_private_key(ssl) != 1) {
        ERR_clear_error();
        return fail(error, WEIR_INVALID, c->key_file, "the key does not belong to the certificate");
    }
    return WEIR_OK;
}

/* A client that names protocols has to name ours; RFC 7301 section 3.2 asks for the alert. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned n_offered, void *user)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen = NULL;
    (void)ssl, (void)user;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof ours - 1, offered, n_offered) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static void set_options(SSL_CTX *ssl)
{
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    /* HTTP says itself where a message ends, so an end without close_notify is an end. */
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ssl, 1);
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
}

static enum weir_status load(const struct tls_context *c, SSL_CTX **out, struct tls_error *error)
{
    EVP_PKEY *key = NULL;
    ERR_clear_error();
    enum weir_status st = read_key(c->key_file, &key, error);
    if (st != WEIR_OK) return st;
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
    if (ssl) {
        set_options(ssl);
        st = use_files(ssl, c, key, error);
    } else {
        st = fail(error, WEIR_NOMEM, c->cert_file, weir_status_text(WEIR_NOMEM));
    }
    EVP_PKEY_free(key);
    if (st == WEIR_OK) *out = ssl;
    else SSL_CTX_free(ssl);
    return st;
}

static bool copy_path(char out[PATH_BYTES], const char *path)
{
    int len = snprintf(out, PATH_BYTES, "%s", path);
    return len > 0 && len < PATH_BYTES;
}

enum weir_status tls_context_new(struct tls_context **out, const char *cert_file,
                                 const char *key_file, struct tls_error *error)
{
    *out = NULL;
    error->text[0] = 0;
    struct tls_context *c = mem_zalloc(sizeof *c);
    if (!c) return fail(error, WEIR_NOMEM, cert_file, weir_status_text(WEIR_NOMEM));
    enum weir_status st = WEIR_OK;
    if (!copy_path(c->cert_file, cert_file) || !copy_path(c->key_file, key_file))
        st = fail(error, WEIR_INVALID, "TLS", "the name of a file is empty or too long");
    if (st == WEIR_OK) st = load(c, &c->current, error);
    if (st != WEIR_OK) {
        mem_free(c);
        return st;
    }
    c->magic = CONTEXT_MAGIC;
    pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return WEIR_OK;
}

enum weir_status tls_context_reload(struct tls_context *c, struct tls_error *error)
{
    SSL_CTX *fresh = NULL;
    CHECK(c->magic == CONTEXT_MAGIC);
    error->text[0] = 0;
    enum weir_status st = load(c, &fresh, error);
    if (st != WEIR_OK) return st;
    pthread_mutex_lock(&c->lock);
    SSL_CTX *old = c->current;
    c->current = fresh;
    pthread_mutex_unlock(&c->lock);
    SSL_CTX_free(old); /* sessions that began with it have references of their own */
    return WEIR_OK;
}

void tls_context_free(struct tls_context *c)
{
    if (!c) return;
    CHECK(c->magic == CONTEXT_MAGIC);
    SSL_CTX_free(c->current);
    pthread_mutex_destroy(&c->lock);
    c->magic = 0;
    mem_free(c);
}

/* ---- sessions ---- */

struct tls *tls_new(struct tls_context *c, int fd)
{
    CHECK(c->magic == CONTEXT_MAGIC);
    struct tls *t = mem_zalloc(sizeof *t);
    BIO *b = t ? bio_new(fd) : NULL;
    if (b) {
        pthread_mutex_lock(&c->lock);
        t->ssl = SSL_new(c->current);
        pthread_mutex_unlock(&c->lock);
    }
    if (!b || !t->ssl) {
        ERR_clear_error();
        BIO_free(b);
        mem_free(t);
        return NULL;
    }
    SSL_set_bio(t->ssl, b, b); /* takes b */
    SSL_set_accept_state(t->ssl);
    t->magic = TLS_MAGIC;
    return t;
}

void tls_free(struct tls *t)
{
    CHECK(t->magic == TLS_MAGIC);
    SSL_free(t->ssl);
    mem_free(t->held);
    t->magic = 0;
    mem_free(t);
}

static enum sock_result broken(struct tls *t, int error)
{
    if (t->error == 0) t->error = error;
    errno = t->error;
    return SOCK_ERROR;
}

/* What a failed call means; *wants_other: it waits for the other direction, `other`. */
static enum sock_result failed(struct tls *t, int returned, int other, bool *wants_other)
{
    int error = SSL_get_error(t->ssl, returned);
    ERR_clear_error();
    *wants_other = error == other;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return SOCK_AGAIN;
    if (error == SSL_ERROR_ZERO_RETURN) return SOCK_EOF;
    return broken(t, error == SSL_ERROR_SYSCALL && errno != 0 ? errno : EPROTO);
}

enum sock_result tls_read(struct sock *s, char *bytes, size_t len, size_t *n_read)
{
    struct tls *t = s->tls;
    CHECK(t->magic == TLS_MAGIC);
    s->wants_write = false;
    if (t->error != 0) return broken(t, t->error);
    ERR_clear_error();
    errno = 0;
    int returned = SSL_read_ex(t->ssl, bytes, len, n_read);
    return returned == 1 ? SOCK_OK : failed(t, returned, SSL_ERROR_WANT_WRITE, &s->wants_write);
}

bool tls_has_pending(const struct tls *t)
{
    return SSL_pending(t->ssl) > 0;
}

/* Where a gathered write is: `at` bytes into the first part of those left. */
struct parts {
    const struct iovec *iov;
    unsigned n_iov;
    size_t at;
};

static void drop_empty(struct parts *p)
{
    while (p->n_iov > 0 && p->at == p->iov->iov_len) {
        p->iov++;
        p->n_iov--;
        p->at = 0;
    }
}

/* Goes on by up to n bytes; says by how many. */
static size_t skip(struct parts *p, size_t n)
{
    size_t done = 0;
    for (drop_empty(p); p->n_iov > 0 && done < n; drop_empty(p)) {
        size_t left = p->iov->iov_len - p->at;
        size_t step = left < n - done ? left : n - done;
        p->at += step;
        done += step;
    }
    return done;
}

/* The next record's bytes; together they are copied, unless one part alone has them. */
static struct weir_slice next_record(struct parts p)
{
    static _Thread_local char together[RECORD_BYTES];
    size_t len = 0;
    drop_empty(&p);
    const char *first = (const char *)p.iov->iov_base + p.at;
    size_t left = p.iov->iov_len - p.at;
    if (left >= RECORD_BYTES) return slice_of(first, RECORD_BYTES);
    if (p.n_iov == 1) return slice_of(first, left);
    while (p.n_iov > 0 && len < RECORD_BYTES) {
        left = p.iov->iov_len - p.at;
        size_t step = left < RECORD_BYTES - len ? left : RECORD_BYTES - len;
        memcpy(together + len, (const char *)p.iov->iov_base + p.at, step);
        len += step;
        p.at += step;
        drop_empty(&p);
    }
    return slice_of(together, len);
}

static enum sock_result hold(struct tls *t, struct weir_slice record)
{
    if (t->held) return SOCK_AGAIN;
    t->held = mem_alloc(sizeof *t->held + record.len);
    if (!t->held) return broken(t, ENOMEM);
    t->held->len = record.len;
    memcpy(t->held->bytes, record.ptr, record.len);
    return SOCK_AGAIN;
}

/* SOCK_OK: n_ahead is how much went out. */
static enum sock_result write_record(struct sock *s, struct weir_slice record)
{
    struct tls *t = s->tls;
    ERR_clear_error();
    errno = 0;
    int returned = SSL_write_ex(t->ssl, record.ptr, record.len, &t->n_ahead);
    if (returned == 1) {
        mem_free(t->held);
        t->held = NULL;
        return SOCK_OK;
    }
    t->n_ahead = 0;
    enum sock_result result = failed(t, returned, SSL_ERROR_WANT_READ, &s->wants_read);
    if (result == SOCK_AGAIN) return hold(t, record);
    return result == SOCK_EOF ? broken(t, EPIPE) : result;
}

enum sock_result tls_write(struct sock *s, const struct iovec *iov, unsigned n_iov,
                           size_t *n_written)
{
    struct tls *t = s->tls;
    struct parts p = {iov, n_iov, 0};
    enum sock_result result = SOCK_OK;
    CHECK(t->magic == TLS_MAGIC);
    s->wants_read = false;
    if (t->error != 0) return broken(t, t->error);
    if (t->is_ended) {
        errno = EPIPE; /* of this direction only */
        return SOCK_ERROR;
    }
    do {
        size_t skipped = skip(&p, t->n_ahead);
        t->n_ahead -= skipped;
        *n_written += skipped;
        if (p.n_iov == 0) break;
        struct weir_slice record =
            t->held ? slice_of(t->held->bytes, t->held->len) : next_record(p);
        result = write_record(s, record);
    } while (result == SOCK_OK);
    return *n_written > 0 ? SOCK_OK : result;
}

void tls_end(struct tls *t)
{
    CHECK(t->magic == TLS_MAGIC);
    if (t->is_ended || t->error != 0 || t->held || !SSL_is_init_finished(t->ssl)) return;
    t->is_ended = true;
    if (SSL_shutdown(t->ssl) < 0) ERR_clear_error();
}
