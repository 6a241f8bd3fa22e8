/* SPDX-License-Identifier: Apache-2.0 */
/* Requests over TLS: whom to trust. */
#include <openssl/err.h>

#include "authority.h"
#include "peer.h"

static const struct fetcher_options usual;

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
    char path[AUTHORITY_PATH_BYTES];
    struct peer p = {.play = serve_tls, .user = authority_new_server(names)};
    authority_path(path, ca_name);
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
