/* SPDX-License-Identifier: Apache-2.0 */
#include "io/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static double ms_since(uint64_t from_ns)
{
    return (double)(clock_mono_ns(&clock_system) - from_ns) / 1e6;
}

/* ---- names ---- */

static void keep_address(struct probe_host *out, const struct addrinfo *found)
{
    if (out->n == PROBE_MAX_ADDRESSES || found->ai_addrlen > sizeof out->addresses[0].address)
        return;
    struct probe_address *a = &out->addresses[out->n++];
    *a = (struct probe_address){
        .len = found->ai_addrlen, .is_v6 = found->ai_family == AF_INET6, .error = ENOTCONN};
    memcpy(&a->address, found->ai_addr, found->ai_addrlen);
    (void)getnameinfo(found->ai_addr, found->ai_addrlen, a->text, sizeof a->text, NULL, 0,
                      NI_NUMERICHOST);
}

enum weir_status probe_resolve(const char *host, unsigned port, struct probe_host *out,
                               const char **why)
{
    char service[16];
    struct addrinfo *found = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    out->n = 0;
    *why = "";
    snprintf(service, sizeof service, "%u", port);
    int error = getaddrinfo(host, service, &hints, &found);
    if (error != 0) {
        *why = gai_strerror(error);
        return WEIR_NOT_FOUND;
    }
    for (const struct addrinfo *a = found; a; a = a->ai_next) keep_address(out, a);
    freeaddrinfo(found);
    return out->n > 0 ? WEIR_OK : WEIR_NOT_FOUND;
}

/* ---- connections ---- */

/* Not blocking; -1 with errno. */
static int open_to(const struct probe_address *a, unsigned timeout_ms)
{
    int error = 0;
    socklen_t len = sizeof error;
    int fd = socket(a->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (connect(fd, (const struct sockaddr *)&a->address, a->len) == 0) return fd;
    error = errno;
    if (error == EINPROGRESS) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        error = ETIMEDOUT;
        if (poll(&ready, 1, (int)timeout_ms) > 0 &&
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0)
            return fd;
    }
    close(fd);
    errno = error;
    return -1;
}

bool probe_connect(struct probe_host *host, unsigned timeout_ms)
{
    bool has_any = false;
    for (unsigned i = 0; i < host->n; i++) {
        struct probe_address *a = &host->addresses[i];
        uint64_t from_ns = clock_mono_ns(&clock_system);
        int fd = open_to(a, timeout_ms);
        a->error = fd < 0 ? errno : 0;
        a->ms = ms_since(from_ns);
        if (fd >= 0) close(fd);
        has_any |= fd >= 0;
    }
    return has_any;
}

/* ---- certificates ---- */

static int64_t wall_ms_of(const ASN1_TIME *time)
{
    struct tm parts;
    if (!time || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
    return (int64_t)timegm(&parts) * 1000;
}

static bool is_for(X509 *certificate, const char *host)
{
    return X509_check_host(certificate, host, 0, 0, NULL) == 1 ||
           X509_check_ip_asc(certificate, host, 0) == 1;
}

static const char *why_of(const struct probe_certificate *out, long verified)
{
    if (!out->is_for_host) return "the certificate is for another name";
    if (out->is_expired) return "the certificate has expired";
    if (out->is_early) return "the certificate is not valid yet";
    if (verified == X509_V_OK) return "";
    if (out->is_self_signed) return "the certificate is signed by itself alone";
    return X509_verify_cert_error_string(verified);
}

static void read_certificate(SSL *ssl, const char *host, struct probe_certificate *out)
{
    const unsigned char *protocol = NULL;
    unsigned len = 0;
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    long verified = SSL_get_verify_result(ssl);
    out->has_tls = true;
    snprintf(out->version, sizeof out->version, "%s", SSL_get_version(ssl));
    SSL_get0_alpn_selected(ssl, &protocol, &len);
    snprintf(out->protocol, sizeof out->protocol, "%.*s", (int)len,
             protocol ? (const char *)protocol : "");
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    out->n_chain = chain ? (unsigned)sk_X509_num(chain) : 0;
    if (!certificate) return;
    out->expires_ms = wall_ms_of(X509_get0_notAfter(certificate));
    out->is_expired = X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0;
    out->is_early = X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0;
    out->is_for_host = is_for(certificate, host);
    out->is_self_signed = X509_self_signed(certificate, 0) == 1;
    X509_NAME_oneline(X509_get_subject_name(certificate), out->subject, PROBE_TEXT_BYTES);
    X509_NAME_oneline(X509_get_issuer_name(certificate), out->issuer, PROBE_TEXT_BYTES);
    out->is_trusted = verified == X509_V_OK && out->is_for_host;
    out->why = why_of(out, verified);
}

/* True when the handshake is done before the time is over. */
static bool shake_hands(SSL *ssl, int fd, unsigned timeout_ms)
{
    uint64_t from_ns = clock_mono_ns(&clock_system);
    for (;;) {
        int done = SSL_connect(ssl);
        if (done == 1) return true;
        int error = SSL_get_error(ssl, done);
        double left_ms = (double)timeout_ms - ms_since(from_ns);
        if ((error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) || left_ms <= 0)
            return false;
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (error == SSL_ERROR_WANT_WRITE) ready.events = POLLOUT;
        (void)poll(&ready, 1, (int)left_ms);
    }
}

/* A certificate that is not trusted is looked at, too, so the handshake never fails for it. */
static SSL *new_session(SSL_CTX *context, const char *host, const char *ca_file)
{
    static const unsigned char protocols[] = "\x02h2\x08http/1.1";
    bool is_ready = ca_file ? SSL_CTX_load_verify_locations(context, ca_file, NULL) == 1
                            : SSL_CTX_set_default_verify_paths(context) == 1;
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    SSL *ssl = is_ready ? SSL_new(context) : NULL;
    if (!ssl) return NULL;
    char name[PROBE_TEXT_BYTES]; /* the call takes no constant */
    snprintf(name, sizeof name, "%s", host);
    (void)SSL_set_tlsext_host_name(ssl, name);
    (void)SSL_set_alpn_protos(ssl, protocols, sizeof protocols - 1);
    return ssl;
}

enum weir_status probe_tls(const struct probe_address *address, const char *host,
                           const char *ca_file, unsigned timeout_ms, struct probe_certificate *out)
{
    *out = (struct probe_certificate){.why = "no connection can be made"};
    uint64_t from_ns = clock_mono_ns(&clock_system);
    int fd = open_to(address, timeout_ms);
    if (fd < 0) return WEIR_IO;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = context ? new_session(context, host, ca_file) : NULL;
    out->why = ssl ? "there is no TLS handshake to be had" : "the file of whom to trust is not PEM";
    if (ssl && SSL_set_fd(ssl, fd) == 1 && shake_hands(ssl, fd, timeout_ms))
        read_certificate(ssl, host, out);
    out->ms = ms_since(from_ns);
    SSL_free(ssl);
    SSL_CTX_free(context);
    ERR_clear_error();
    close(fd);
    return out->has_tls ? WEIR_OK : WEIR_IO;
}
