/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets: listening, accepting, and non-blocking reads and gathered writes, in the clear
 * or through TLS behind the same functions. Nothing here waits.
 *
 * 1. addr_parse(), sock_listen() for each loop (SO_REUSEPORT), or a socket inherited from
 *    the service manager, or a local one (sock_listen_local()).
 * 2. sock_accept() gives a struct sock.
 * 3. sock_read(), sock_write() until they say SOCK_AGAIN; then wait for what
 *    sock_wants() names.
 * 4. sock_close().
 *
 * Writes pass the fault point "send". One thread at a time.
 */
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <weir/status.h>

#include "io/tls.h"

enum { ADDR_TEXT_BYTES = 80 };

struct addr {
    struct sockaddr_storage sa;
    socklen_t len;
};

/* "127.0.0.1:8080", "[::1]:0", "localhost:80", "*:80" or ":80" (all). WEIR_INVALID. */
WEIR_MUST_CHECK enum weir_status addr_parse(struct addr *a, const char *text);
/* As in a URL: "127.0.0.1:8080", "[::1]:80". */
void addr_format(const struct addr *a, char out[ADDR_TEXT_BYTES]);
bool addr_is_loopback(const struct addr *a);
/* The address without its port, for counting by peer (an IPv6 one by its /64). */
uint64_t addr_hash_host(const struct addr *a);

/* A listening, non-blocking socket; *bound is where it is (port 0 got one). errno tells. */
WEIR_MUST_CHECK enum weir_status sock_listen(int *fd, const struct addr *a, struct addr *bound);
/* A local socket that only this user may connect to; replaces a dead one of the same name. */
WEIR_MUST_CHECK enum weir_status sock_listen_local(int *fd, const char *path);

struct sock {
    int fd;
    struct tls *tls;  /* NULL: in the clear */
    bool wants_write; /* TLS needs the other direction first */
    bool wants_read;
};

enum sock_result {
    SOCK_OK,
    SOCK_AGAIN,  /* nothing now */
    SOCK_EOF,    /* the peer has ended */
    SOCK_ERROR,  /* the connection is broken */
    SOCK_NO_FDS, /* accept: descriptors or memory ran out */
};

/* TCP_NODELAY is set; `context` NULL: no TLS. `peer` may be NULL. */
enum sock_result sock_accept(struct sock *s, int listen_fd, struct tls_context *context,
                             struct addr *peer);
enum sock_result sock_read(struct sock *s, char *bytes, size_t len, size_t *n_read);

/* Writes as much as goes now, in one call to the kernel; *n_written may be less than all. */
enum sock_result sock_write(struct sock *s, const struct iovec *iov, unsigned n_iov,
                            size_t *n_written);

/* What to watch for (WATCH_READ, WATCH_WRITE) so that a read, a write or both can go on. */
int sock_wants(const struct sock *s, bool read, bool write);

/* Says goodbye (TLS: close_notify, if that goes at once) and closes. */
void sock_close(struct sock *s);
/* Closes so that the peer sees a reset: the answer was cut. */
void sock_reset(struct sock *s);
