/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets: listening, accepting, and non-blocking reads and gathered writes, in the clear
 * or through TLS behind the same functions. Nothing here waits, but sock_connect_local().
 *
 * 1. addr_parse(), sock_probe(), sock_listen() for each loop (SO_REUSEPORT), or a socket
 *    inherited from the service manager (sock_adopt()), or a local one (sock_listen_local()).
 * 2. sock_accept() gives a struct sock.
 * 3. sock_read(), sock_write() until they say SOCK_AGAIN; then watch for what sock_wants()
 *    names, and on an event do what sock_ready() names.
 * 4. watch_close() if it was watched, then sock_close().
 *
 * Writes pass the fault point "send": one that is hit takes about half of what it was given
 * (at least a byte), as a full socket would. One thread at a time.
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

/*
 * "127.0.0.1:8080", "[::1]:0", "localhost:80" (that is 127.0.0.1), another name (asks the
 * resolver, and may wait), "*:80" or ":80" (all, IPv6 too where there is any). WEIR_INVALID.
 */
WEIR_MUST_CHECK enum weir_status addr_parse(struct addr *a, const char *text);
/* As in a URL: "127.0.0.1:8080", "[::1]:80"; "local" for a local socket. */
void addr_format(const struct addr *a, char out[ADDR_TEXT_BYTES]);
/* A local socket is one, too. */
bool addr_is_loopback(const struct addr *a);
/*
 * The address without its port, for counting by peer: an IPv6 one by its /64, an IPv4 one
 * inside IPv6 as IPv4, all local sockets alike. Keyed, so it differs from start to start.
 */
uint64_t addr_hash_host(const struct addr *a);

/* ---- listening ---- */

enum { SOCK_BACKLOG = 4096 }; /* the kernel's somaxconn may make it less */

/*
 * WEIR_OK when nobody listens there. sock_listen() cannot tell: with SO_REUSEPORT a second
 * server of the same user would get in without a word, and half of the connections.
 */
WEIR_MUST_CHECK enum weir_status sock_probe(const struct addr *a);
/* A listening, non-blocking socket; *bound is where it is (port 0 got one). errno tells. */
WEIR_MUST_CHECK enum weir_status sock_listen(int *fd, const struct addr *a, struct addr *bound);
/*
 * A local socket that only this user may connect to; replaces one of the same name on which
 * nobody answers. WEIR_INVALID: the path is too long. WEIR_EXISTS: somebody answers, or it is
 * another kind of file.
 */
WEIR_MUST_CHECK enum weir_status sock_listen_local(int *fd, const char *path);
/* Makes an inherited socket one as of sock_listen(). WEIR_INVALID: it listens for no streams. */
WEIR_MUST_CHECK enum weir_status sock_adopt(int fd, struct addr *bound);

/* For commands: waits, and so do reads and writes on the descriptor. errno tells. */
WEIR_MUST_CHECK enum weir_status sock_connect_local(int *fd, const char *path);

/* ---- connections ---- */

struct sock {
    int fd;
    struct tls *tls;  /* NULL: in the clear */
    bool wants_write; /* TLS: reading needs to write first */
    bool wants_read;  /* TLS: writing needs to read first */
};

enum sock_result {
    SOCK_OK,
    SOCK_AGAIN,  /* nothing now */
    SOCK_EOF,    /* the peer has ended */
    SOCK_ERROR,  /* the connection is broken; errno tells, EPROTO for TLS */
    SOCK_NO_FDS, /* accept: descriptors or memory ran out */
};

/*
 * SOCK_AGAIN, SOCK_NO_FDS, or SOCK_ERROR when it is no listening socket. TCP_NODELAY is set;
 * `context` NULL: no TLS, else the handshake is done by the first reads and writes. `peer` may
 * be NULL.
 */
enum sock_result sock_accept(struct sock *s, int listen_fd, struct tls_context *context,
                             struct addr *peer);
/* len > 0. SOCK_OK: *n_read is not 0. Else it is. */
enum sock_result sock_read(struct sock *s, char *bytes, size_t len, size_t *n_read);

/*
 * Writes as much as goes now, in the clear in one call to the kernel and from up to IOV_MAX
 * parts. SOCK_OK: *n_written may be less than all. SOCK_AGAIN: it is 0. The next write has to
 * begin with the bytes that were not taken, however they are cut then: TLS may have some.
 */
enum sock_result sock_write(struct sock *s, const struct iovec *iov, unsigned n_iov,
                            size_t *n_written);

/* What to watch for (WATCH_READ, WATCH_WRITE) so that a read, a write or both can go on. */
int sock_wants(const struct sock *s, bool read, bool write);
/* What to try after these events: WATCH_READ for sock_read(), WATCH_WRITE for sock_write(). */
int sock_ready(const struct sock *s, int events);
/* TLS has bytes for sock_read() that no event will tell of: read on without waiting. */
bool sock_has_pending(const struct sock *s);

/*
 * Nothing more will be written; the peer sees the end after all that was. Read on until
 * SOCK_EOF and close then: closing with unread bytes would reset the connection, and the peer
 * might lose the last answer.
 */
void sock_end(struct sock *s);
/* Says goodbye (TLS: close_notify, if that goes at once) and closes. */
void sock_close(struct sock *s);
/* Closes so that the peer sees a reset: the answer was cut. */
void sock_reset(struct sock *s);
