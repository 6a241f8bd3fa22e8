/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets. What every connection needs (TCP_NODELAY, keep-alive) is set on the listening
 * socket: on Linux the accepted ones inherit it, which saves three calls each. Keep-alive is
 * short, because a reader of a quiet stream that has lost its network shows in no other way.
 */
#include "io/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fault.h"
#include "io/loop.h"
#include "io/tls_impl.h"

enum {
    OWNER_ONLY = 0600,
    KEEPALIVE_IDLE_S = 60, /* of silence before the first probe */
    KEEPALIVE_EVERY_S = 15,
    KEEPALIVE_PROBES = 4, /* unanswered ones end the connection */
    SMALL_WRITE_BYTES = 1024,
};

static const struct sockaddr *sockaddr_of(const struct addr *a)
{
    return (const struct sockaddr *)&a->sa;
}

static enum weir_status fail(int fd, enum weir_status st)
{
    int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    return st;
}

static bool set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/* ---- listening ---- */

static bool set_inherited_options(int fd)
{
    return set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) &&
           set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1) &&
           set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S) &&
           set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S) &&
           set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
}

/* A new socket that is bound to the address; -1 with errno. */
static int bind_to(const struct addr *a, bool is_shared)
{
    int fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
        (!is_shared || set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1)) &&
        (a->sa.ss_family != AF_INET6 || set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0)) &&
        bind(fd, sockaddr_of(a), a->len) == 0)
        return fd;
    (void)fail(fd, WEIR_IO);
    return -1;
}

enum weir_status sock_probe(const struct addr *a)
{
    int fd = bind_to(a, false);
    if (fd < 0) return errno == EADDRINUSE ? WEIR_EXISTS : WEIR_IO;
    /* SO_REUSEADDR lets two bind as long as nobody listens; listening shows it. */
    bool is_free = listen(fd, 1) == 0;
    enum weir_status st = is_free ? WEIR_OK : errno == EADDRINUSE ? WEIR_EXISTS : WEIR_IO;
    return fail(fd, st);
}

static bool get_bound(int fd, struct addr *bound)
{
    memset(bound, 0, sizeof *bound);
    bound->len = sizeof bound->sa;
    return getsockname(fd, (struct sockaddr *)&bound->sa, &bound->len) == 0;
}

enum weir_status sock_listen(int *fd, const struct addr *a, struct addr *bound)
{
    *fd = -1;
    int made = bind_to(a, true);
    if (made < 0) return WEIR_IO;
    if (!set_inherited_options(made) || listen(made, SOCK_BACKLOG) != 0 || !get_bound(made, bound))
        return fail(made, WEIR_IO);
    *fd = made;
    return WEIR_OK;
}

enum weir_status sock_adopt(int fd, struct addr *bound)
{
    int type = 0;
    int listens = 0;
    socklen_t len = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0) return WEIR_INVALID;
    len = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) != 0) return WEIR_INVALID;
    if (type != SOCK_STREAM || !listens) return WEIR_INVALID;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return WEIR_IO;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || !get_bound(fd, bound)) return WEIR_IO;
    if (bound->sa.ss_family != AF_UNIX && !set_inherited_options(fd)) return WEIR_IO;
    return WEIR_OK;
}

/* ---- local sockets ---- */

static bool set_path(struct sockaddr_un *un, const char *path)
{
    size_t len = strlen(path);
    memset(un, 0, sizeof *un);
    un->sun_family = AF_UNIX;
    if (len == 0 || len >= sizeof un->sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(un->sun_path, path, len);
    return true;
}

/* 0, or errno as a negative number. */
static int try_connect(const struct sockaddr_un *un, int *fd)
{
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0) return -errno;
    int done;
    do {
        done = connect(*fd, (const struct sockaddr *)un, sizeof *un);
    } while (done != 0 && errno == EINTR);
    return done == 0 ? 0 : -errno;
}

/* Whether it is a socket whose server has died. Only then may the name be taken away. */
static bool is_dead(const struct sockaddr_un *un)
{
    struct stat info;
    int fd = -1;
    if (lstat(un->sun_path, &info) != 0 || !S_ISSOCK(info.st_mode)) return false;
    int error = try_connect(un, &fd);
    if (fd >= 0) close(fd);
    return error == -ECONNREFUSED;
}

static bool bind_local(int fd, const struct sockaddr_un *un)
{
    if (bind(fd, (const struct sockaddr *)un, sizeof *un) == 0) return true;
    if (errno != EADDRINUSE) return false;
    if (!is_dead(un)) {
        errno = EADDRINUSE;
        return false;
    }
    return unlink(un->sun_path) == 0 && bind(fd, (const struct sockaddr *)un, sizeof *un) == 0;
}

enum weir_status sock_listen_local(int *fd, const char *path)
{
    struct sockaddr_un un;
    *fd = -1;
    if (!set_path(&un, path)) return WEIR_INVALID;
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0) return WEIR_IO;
    /* Linux gives the name the mode that the socket has when it is bound: no moment in between. */
    if (fchmod(made, OWNER_ONLY) != 0) return fail(made, WEIR_IO);
    if (!bind_local(made, &un)) return fail(made, errno == EADDRINUSE ? WEIR_EXISTS : WEIR_IO);
    if (listen(made, SOCK_BACKLOG) != 0) return fail(made, WEIR_IO);
    *fd = made;
    return WEIR_OK;
}

enum weir_status sock_connect_local(int *fd, const char *path)
{
    struct sockaddr_un un;
    int made = -1;
    *fd = -1;
    if (!set_path(&un, path)) return WEIR_INVALID;
    int error = try_connect(&un, &made);
    if (error != 0) {
        errno = -error;
        return fail(made, WEIR_IO);
    }
    *fd = made;
    return WEIR_OK;
}

/* ---- accepting ---- */

static enum sock_result accept_failed(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return SOCK_NO_FDS;
    case EBADF:
    case EFAULT:
    case EINVAL:
    case ENOTSOCK:
    case EOPNOTSUPP: return SOCK_ERROR;
    default: return SOCK_AGAIN; /* trouble of that one connection: accept(2) lists many */
    }
}

enum sock_result sock_accept(struct sock *s, int listen_fd, struct tls_context *context,
                             struct addr *peer)
{
    struct addr from = {.len = sizeof from.sa};
    int fd;
    *s = (struct sock){.fd = -1};
    do {
        fd = accept4(listen_fd, (struct sockaddr *)&from.sa, &from.len,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (fd < 0) return accept_failed(errno);
    s->fd = fd;
    if (context) s->tls = tls_new(context, fd);
    if (context && !s->tls) {
        close(fd);
        s->fd = -1;
        return SOCK_NO_FDS;
    }
    if (peer) *peer = from;
    return SOCK_OK;
}

/* ---- reading and writing ---- */

static enum sock_result failed(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK ? SOCK_AGAIN : SOCK_ERROR;
}

enum sock_result sock_read(struct sock *s, char *bytes, size_t len, size_t *n_read)
{
    *n_read = 0;
    if (s->tls) return tls_read(s, bytes, len, n_read);
    ssize_t n;
    do {
        n = recv(s->fd, bytes, len, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return failed();
    if (n == 0) return SOCK_EOF;
    *n_read = (size_t)n;
    return SOCK_OK;
}

/* The parts one behind the other, if they are few bytes; 0: they are not. */
static size_t join_parts(char bytes[SMALL_WRITE_BYTES], const struct iovec *iov, unsigned n_iov)
{
    size_t len = 0;
    for (unsigned i = 0; i < n_iov; i++) {
        if (iov[i].iov_len > SMALL_WRITE_BYTES - len) return 0;
        len += iov[i].iov_len;
    }
    char *at = bytes;
    for (unsigned i = 0; i < n_iov; at += iov[i++].iov_len)
        memcpy(at, iov[i].iov_base, iov[i].iov_len);
    return len;
}

/* A copy costs less than what the kernel has to do for a list of parts. */
static enum sock_result send_small(struct sock *s, const char *bytes, size_t len, size_t *n_written)
{
    ssize_t n;
    do {
        n = send(s->fd, bytes, len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return failed();
    *n_written = (size_t)n;
    return SOCK_OK;
}

static enum sock_result send_parts(struct sock *s, const struct iovec *iov, unsigned n_iov,
                                   size_t *n_written)
{
    char small[SMALL_WRITE_BYTES];
    size_t len = join_parts(small, iov, n_iov);
    if (len > 0) return send_small(s, small, len, n_written);
    /* sendmsg() does not change the parts; its struct just cannot say so. */
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = n_iov};
    ssize_t n;
    do {
        n = sendmsg(s->fd, &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return failed();
    *n_written = (size_t)n;
    return SOCK_OK;
}

/* The first half of the parts, or of the first one if there is only one. */
static enum sock_result write_half(struct sock *s, const struct iovec *iov, unsigned n_iov,
                                   size_t *n_written)
{
    struct iovec first = iov[0];
    if (n_iov == 1) first.iov_len -= first.iov_len / 2;
    else n_iov -= n_iov / 2;
    if (n_iov == 1) iov = &first;
    return s->tls ? tls_write(s, iov, n_iov, n_written) : send_parts(s, iov, n_iov, n_written);
}

enum sock_result sock_write(struct sock *s, const struct iovec *iov, unsigned n_iov,
                            size_t *n_written)
{
    *n_written = 0;
    if (n_iov == 0) return SOCK_OK;
    if (n_iov > IOV_MAX) n_iov = IOV_MAX;
    if (fault_hit(FAULT_SEND)) return write_half(s, iov, n_iov, n_written);
    return s->tls ? tls_write(s, iov, n_iov, n_written) : send_parts(s, iov, n_iov, n_written);
}

int sock_wants(const struct sock *s, bool read, bool write)
{
    int events = 0;
    if (read) events |= s->wants_write ? WATCH_WRITE : WATCH_READ;
    if (write) events |= s->wants_read ? WATCH_READ : WATCH_WRITE;
    return events;
}

int sock_ready(const struct sock *s, int events)
{
    int calls = 0;
    if (events & (s->wants_write ? WATCH_WRITE : WATCH_READ)) calls |= WATCH_READ;
    if (events & (s->wants_read ? WATCH_READ : WATCH_WRITE)) calls |= WATCH_WRITE;
    return calls;
}

bool sock_has_pending(const struct sock *s)
{
    return s->tls && tls_has_pending(s->tls);
}

/* ---- ending ---- */

void sock_end(struct sock *s)
{
    if (s->tls) tls_end(s->tls);
    shutdown(s->fd, SHUT_WR);
}

static void close_fd(struct sock *s)
{
    if (s->tls) tls_free(s->tls);
    if (s->fd >= 0) close(s->fd);
    *s = (struct sock){.fd = -1};
}

void sock_close(struct sock *s)
{
    if (s->tls) tls_end(s->tls);
    close_fd(s);
}

void sock_reset(struct sock *s)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    if (s->fd >= 0) setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close_fd(s);
}
