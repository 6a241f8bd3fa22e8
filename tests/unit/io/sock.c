/* SPDX-License-Identifier: Apache-2.0 */
#include "io/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/slice.h"
#include "io/loop.h"
#include "t.h"

enum { DEADLINE_MS = 20000 };

/* A part of a gathered write; struct iovec cannot say that it is only read. */
#define PART(literal)                                                                              \
    {                                                                                              \
        (void *)(uintptr_t)literal, sizeof(literal) - 1                                            \
    }

static const char *path_in_temp(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", t_temp_dir(), name);
    return path;
}

static struct addr address(const char *text)
{
    struct addr a;
    T_EQ(addr_parse(&a, text), WEIR_OK);
    return a;
}

static bool wait_for(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    bool is_ready = poll(&p, 1, DEADLINE_MS) == 1;
    if (!is_ready) t_fail(__FILE__, __LINE__, "nothing came within the time limit");
    return is_ready;
}

/* A listening socket with one connection: the server's side and the client's descriptor. */
struct pair {
    int listen_fd;
    struct addr bound;
    struct addr peer;
    struct sock server;
    int client;
};

static int connect_to(const struct addr *a)
{
    int fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    T_EQ(connect(fd, (const struct sockaddr *)&a->sa, a->len), 0);
    return fd;
}

static void pair_open(struct pair *p, const char *text)
{
    struct addr a = address(text);
    T_EQ(sock_listen(&p->listen_fd, &a, &p->bound), WEIR_OK);
    p->client = connect_to(&p->bound);
    wait_for(p->listen_fd, POLLIN);
    T_EQ(sock_accept(&p->server, p->listen_fd, NULL, &p->peer), SOCK_OK);
}

static void pair_close(struct pair *p)
{
    sock_close(&p->server);
    if (p->client >= 0) close(p->client);
    close(p->listen_fd);
}

/* ---- addresses ---- */

TEST(addresses_are_read_and_written)
{
    static const struct {
        const char *text;
        const char *written; /* NULL: cannot be read */
        bool is_loopback;
    } cases[] = {
        {"127.0.0.1:8080", "127.0.0.1:8080", true},
        {"127.9.9.9:1", "127.9.9.9:1", true},
        {"10.0.0.1:65535", "10.0.0.1:65535", false},
        {"0.0.0.0:80", "0.0.0.0:80", false},
        {"localhost:80", "127.0.0.1:80", true},
        {"[::1]:0", "[::1]:0", true},
        {"[::]:443", "[::]:443", false},
        {"[2001:db8::1]:80", "[2001:db8::1]:80", false},
        {"[::ffff:127.0.0.1]:80", "127.0.0.1:80", true},
        {"[::ffff:192.0.2.1]:80", "192.0.2.1:80", false},
        {"", NULL, false},
        {"127.0.0.1", NULL, false},
        {"127.0.0.1:", NULL, false},
        {"127.0.0.1:65536", NULL, false},
        {"127.0.0.1:99999999999999999999", NULL, false},
        {"127.0.0.1:-1", NULL, false},
        {"127.0.0.1:80x", NULL, false},
        {"::1:80", NULL, false},
        {"[::1:80", NULL, false},
        {"[127.0.0.1]:80", NULL, false},
        {"[]:80", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct addr a;
        char text[ADDR_TEXT_BYTES];
        enum weir_status st = addr_parse(&a, cases[i].text);
        T_EQ(st, cases[i].written ? WEIR_OK : WEIR_INVALID);
        if (st != WEIR_OK || !cases[i].written) continue;
        addr_format(&a, text);
        T_EQ_STR(weir_slice_of(text), cases[i].written);
        T_EQ(addr_is_loopback(&a), cases[i].is_loopback);
    }
}

TEST(host_longer_than_any_is_no_address)
{
    char text[400];
    struct addr a;
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 4, ":80", 4);
    T_EQ(addr_parse(&a, text), WEIR_INVALID);
}

TEST(star_and_nothing_mean_all_addresses)
{
    struct addr star = address("*:80");
    struct addr nothing = address(":80");
    char text[ADDR_TEXT_BYTES];
    addr_format(&star, text);
    T_OK(strcmp(text, "[::]:80") == 0 || strcmp(text, "0.0.0.0:80") == 0);
    T_EQ_SLICE(slice_of(&star, sizeof star), slice_of(&nothing, sizeof nothing));
    T_OK(!addr_is_loopback(&star));
}

TEST(hosts_are_counted_without_port_and_ipv6_by_its_network)
{
    static const struct {
        const char *a, *b;
        bool is_same;
    } cases[] = {
        {"10.0.0.1:1", "10.0.0.1:2", true},
        {"10.0.0.1:1", "10.0.0.2:1", false},
        {"[2001:db8::1]:1", "[2001:db8::2]:2", true},
        {"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
        {"[::ffff:10.0.0.1]:1", "10.0.0.1:2", true},
        {"[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.2]:1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct addr a = address(cases[i].a);
        struct addr b = address(cases[i].b);
        T_EQ(addr_hash_host(&a) == addr_hash_host(&b), cases[i].is_same);
    }
    struct addr local = {.sa = {.ss_family = AF_UNIX}};
    struct addr ip = address("127.0.0.1:1");
    T_EQ(addr_hash_host(&local), addr_hash_host(&local));
    T_OK(addr_hash_host(&local) != addr_hash_host(&ip));
    T_OK(addr_is_loopback(&local));
    char text[ADDR_TEXT_BYTES];
    addr_format(&local, text);
    T_EQ_STR(weir_slice_of(text), "local");
}

/* ---- listening ---- */

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof value;
    T_EQ(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

TEST(accepted_socket_has_no_delay_and_does_not_block)
{
    struct pair p;
    pair_open(&p, "127.0.0.1:0");
    T_OK(option(p.server.fd, IPPROTO_TCP, TCP_NODELAY) != 0);
    T_OK(option(p.server.fd, SOL_SOCKET, SO_KEEPALIVE) != 0);
    T_EQ(option(p.server.fd, IPPROTO_TCP, TCP_KEEPIDLE), 60);
    T_OK(fcntl(p.server.fd, F_GETFL) & O_NONBLOCK);
    T_OK(fcntl(p.server.fd, F_GETFD) & FD_CLOEXEC);
    T_OK(fcntl(p.listen_fd, F_GETFD) & FD_CLOEXEC);
    T_OK(addr_is_loopback(&p.peer));
    struct sock more;
    T_EQ(sock_accept(&more, p.listen_fd, NULL, NULL), SOCK_AGAIN);
    T_EQ(sock_accept(&more, p.client, NULL, NULL), SOCK_ERROR);
    pair_close(&p);
}

TEST(all_addresses_take_ipv4)
{
    struct pair p;
    struct addr a = address("*:0");
    T_EQ(sock_listen(&p.listen_fd, &a, &p.bound), WEIR_OK);
    struct addr v4 = address("127.0.0.1:0");
    memcpy((char *)&v4.sa + 2, (char *)&p.bound.sa + 2, 2); /* the port, of either family */
    p.client = connect_to(&v4);
    wait_for(p.listen_fd, POLLIN);
    T_EQ(sock_accept(&p.server, p.listen_fd, NULL, &p.peer), SOCK_OK);
    T_OK(addr_is_loopback(&p.peer));
    pair_close(&p);
}

TEST(two_listen_at_the_same_port_but_a_probe_tells)
{
    struct addr a = address("127.0.0.1:0");
    struct addr bound;
    struct addr again;
    int first;
    int second;
    T_EQ(sock_probe(&a), WEIR_OK);
    T_EQ(sock_listen(&first, &a, &bound), WEIR_OK);
    T_EQ(sock_probe(&bound), WEIR_EXISTS);
    T_EQ(sock_listen(&second, &bound, &again), WEIR_OK);
    T_EQ_SLICE(slice_of(&bound, sizeof bound), slice_of(&again, sizeof again));
    close(first);
    close(second);
    T_EQ(sock_probe(&bound), WEIR_OK);
}

TEST(address_of_another_machine_is_an_error_with_its_reason)
{
    struct addr a = address("192.0.2.1:0");
    struct addr bound;
    int fd;
    T_EQ(sock_listen(&fd, &a, &bound), WEIR_IO);
    T_EQ(errno, EADDRNOTAVAIL);
    T_EQ(fd, -1);
}

TEST(inherited_socket_is_adopted_if_it_listens)
{
    struct addr a = address("127.0.0.1:0");
    struct addr bound;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    T_EQ(bind(fd, (struct sockaddr *)&a.sa, a.len), 0);
    T_EQ(sock_adopt(fd, &bound), WEIR_INVALID);
    T_EQ(listen(fd, 10), 0);
    T_EQ(sock_adopt(fd, &bound), WEIR_OK);
    T_OK(addr_is_loopback(&bound));
    T_OK(option(fd, IPPROTO_TCP, TCP_NODELAY) != 0);
    T_OK(fcntl(fd, F_GETFL) & O_NONBLOCK);
    T_OK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    T_EQ(sock_adopt(fd, &bound), WEIR_INVALID);
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    T_EQ(sock_adopt(fd, &bound), WEIR_INVALID);
    close(fd);
}

/* ---- local sockets ---- */

TEST(local_socket_is_for_its_owner_alone)
{
    const char *path = path_in_temp("s");
    struct stat info;
    struct sock s;
    struct addr peer;
    int listening;
    int fd;
    char byte;
    size_t n;
    T_EQ(sock_connect_local(&fd, path), WEIR_IO);
    T_EQ(errno, ENOENT);
    mode_t mask = umask(0);
    T_EQ(sock_listen_local(&listening, path), WEIR_OK);
    umask(mask);
    T_EQ(stat(path, &info), 0);
    T_EQ(info.st_mode & 0777, 0600);
    T_EQ(sock_connect_local(&fd, path), WEIR_OK);
    T_EQ(write(fd, "x", 1), 1);
    T_EQ(sock_accept(&s, listening, NULL, &peer), SOCK_OK);
    T_OK(addr_is_loopback(&peer));
    T_EQ(sock_read(&s, &byte, 1, &n), SOCK_OK);
    T_EQ(n, 1);
    sock_close(&s);
    close(fd);
    close(listening);
}

TEST(local_socket_replaces_only_one_that_is_dead)
{
    const char *path = path_in_temp("s");
    int first;
    int second;
    T_EQ(sock_listen_local(&first, path), WEIR_OK);
    T_EQ(sock_listen_local(&second, path), WEIR_EXISTS);
    T_EQ(errno, EADDRINUSE);
    close(first);
    T_EQ(sock_listen_local(&second, path), WEIR_OK);
    close(second);
}

TEST(local_socket_leaves_other_files_alone)
{
    const char *path = path_in_temp("file");
    int listening;
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    T_EQ(sock_listen_local(&listening, path), WEIR_EXISTS);
    T_EQ(access(path, F_OK), 0);
    T_EQ(sock_listen_local(&listening, path_in_temp("none/s")), WEIR_IO);
    char name[200];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    T_EQ(sock_listen_local(&listening, name), WEIR_INVALID);
    T_EQ(sock_connect_local(&fd, name), WEIR_INVALID);
    T_EQ(sock_listen_local(&listening, ""), WEIR_INVALID);
}

/* ---- reading and writing ---- */

TEST(bytes_go_both_ways_and_the_end_is_told)
{
    struct pair p;
    char bytes[64];
    size_t n = 1;
    pair_open(&p, "127.0.0.1:0");
    T_EQ(sock_read(&p.server, bytes, sizeof bytes, &n), SOCK_AGAIN);
    T_EQ(n, 0);
    T_EQ(write(p.client, "hello", 5), 5);
    wait_for(p.server.fd, POLLIN);
    T_EQ(sock_read(&p.server, bytes, sizeof bytes, &n), SOCK_OK);
    T_EQ_SLICE(slice_of(bytes, n), SLICE("hello"));
    struct iovec parts[3] = {PART("one "), PART(""), PART("two")};
    T_EQ(sock_write(&p.server, parts, 3, &n), SOCK_OK);
    T_EQ(n, 7);
    T_EQ(read(p.client, bytes, sizeof bytes), 7);
    T_EQ_SLICE(slice_of(bytes, 7), SLICE("one two"));
    T_EQ(sock_write(&p.server, parts, 0, &n), SOCK_OK);
    T_EQ(n, 0);
    shutdown(p.client, SHUT_WR);
    wait_for(p.server.fd, POLLIN);
    T_EQ(sock_read(&p.server, bytes, sizeof bytes, &n), SOCK_EOF);
    pair_close(&p);
}

TEST(in_the_clear_each_direction_waits_for_itself)
{
    struct sock s = {.fd = -1};
    T_EQ(sock_wants(&s, true, false), WATCH_READ);
    T_EQ(sock_wants(&s, false, true), WATCH_WRITE);
    T_EQ(sock_wants(&s, true, true), WATCH_READ | WATCH_WRITE);
    T_EQ(sock_wants(&s, false, false), 0);
    T_EQ(sock_ready(&s, WATCH_READ), WATCH_READ);
    T_EQ(sock_ready(&s, WATCH_WRITE), WATCH_WRITE);
    T_OK(!sock_has_pending(&s));
    s.wants_write = true;
    T_EQ(sock_wants(&s, true, false), WATCH_WRITE);
    T_EQ(sock_ready(&s, WATCH_WRITE), WATCH_READ | WATCH_WRITE);
    s = (struct sock){.fd = -1, .wants_read = true};
    T_EQ(sock_wants(&s, false, true), WATCH_READ);
    T_EQ(sock_ready(&s, WATCH_READ), WATCH_READ | WATCH_WRITE);
}

/* What the client has to get: byte i is a function of i, so a lost or repeated one shows. */
static char nth_byte(size_t i)
{
    return (char)((i * 2654435761u) >> 13);
}

enum { STREAM_BYTES = 1 << 20, N_PARTS = 40 };

/* Writes from `done` on, in parts of changing lengths. */
static enum sock_result write_some(struct sock *s, const char *bytes, size_t done, size_t *n)
{
    struct iovec parts[N_PARTS];
    unsigned n_parts = 0;
    size_t at = done;
    while (n_parts < N_PARTS && at < STREAM_BYTES) {
        size_t len = (size_t)(t_random() % 9000);
        if (len > STREAM_BYTES - at) len = STREAM_BYTES - at;
        parts[n_parts++] = (struct iovec){(void *)(uintptr_t)(bytes + at), len};
        at += len;
    }
    return sock_write(s, parts, n_parts, n);
}

/* The client may have all that there is while the kernel still waits for its word of that. */
static bool wait_for_either(struct pair *p, bool is_writing)
{
    struct pollfd fds[2] = {{.fd = p->client, .events = POLLIN},
                            {.fd = is_writing ? p->server.fd : -1, .events = POLLOUT}};
    bool is_ready = poll(fds, 2, DEADLINE_MS) > 0;
    if (!is_ready) t_fail(__FILE__, __LINE__, "nothing came within the time limit");
    return is_ready;
}

/* Sends the stream, and says how often the socket was full. */
static unsigned pump_stream(struct pair *p)
{
    static char bytes[STREAM_BYTES];
    static char got[STREAM_BYTES];
    size_t n_sent = 0;
    size_t n_got = 0;
    unsigned n_full = 0;
    for (size_t i = 0; i < STREAM_BYTES; i++) bytes[i] = nth_byte(i);
    while (n_got < STREAM_BYTES) {
        size_t n = 0;
        enum sock_result result = SOCK_OK;
        while (n_sent < STREAM_BYTES && result == SOCK_OK) {
            result = write_some(&p->server, bytes, n_sent, &n);
            n_sent += n;
        }
        T_OK(result == SOCK_OK || result == SOCK_AGAIN);
        if (result == SOCK_AGAIN) n_full++;
        if (!wait_for_either(p, n_sent < STREAM_BYTES)) return n_full;
        ssize_t n_read = recv(p->client, got + n_got, STREAM_BYTES - n_got, MSG_DONTWAIT);
        if (n_read > 0) n_got += (size_t)n_read;
    }
    T_EQ_SLICE(slice_of(got, n_got), slice_of(bytes, STREAM_BYTES));
    return n_full;
}

TEST(writes_to_a_full_socket_go_on_where_they_stopped)
{
    struct pair p;
    pair_open(&p, "127.0.0.1:0");
    int small = 8192;
    setsockopt(p.server.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    T_OK(pump_stream(&p) > 0);
    pair_close(&p);
}

TEST(send_fault_makes_writes_short)
{
    struct pair p;
    size_t n;
    struct iovec parts[4] = {PART("aaaa"), PART("bb"), PART("c"), PART("dddddd")};
    pair_open(&p, "127.0.0.1:0");
    fault_arm(FAULT_SEND, 1, FAULT_FROM);
    T_EQ(sock_write(&p.server, parts, 4, &n), SOCK_OK);
    T_EQ(n, 6);
    T_EQ(sock_write(&p.server, parts, 2, &n), SOCK_OK);
    T_EQ(n, 4);
    T_EQ(sock_write(&p.server, parts + 2, 1, &n), SOCK_OK);
    T_EQ(n, 1);
    T_EQ(sock_write(&p.server, parts + 3, 1, &n), SOCK_OK);
    T_EQ(n, 3);
    char bytes[14];
    T_EQ(recv(p.client, bytes, sizeof bytes, MSG_WAITALL), 14);
    T_EQ_SLICE(slice_of(bytes, 14), SLICE("aaaabbaaaacddd"));
    (void)pump_stream(&p);
    fault_disarm_all();
    pair_close(&p);
}

TEST(more_parts_than_the_kernel_takes_are_a_short_write)
{
    static struct iovec parts[3000];
    struct pair p;
    size_t n;
    pair_open(&p, "127.0.0.1:0");
    for (size_t i = 0; i < 3000; i++) parts[i] = (struct iovec)PART("x");
    T_EQ(sock_write(&p.server, parts, 3000, &n), SOCK_OK);
    T_EQ(n, 1024);
    pair_close(&p);
}

/* ---- ends ---- */

TEST(reset_by_the_peer_is_an_error)
{
    struct pair p;
    struct linger at_once = {1, 0};
    char bytes[16];
    size_t n;
    pair_open(&p, "127.0.0.1:0");
    setsockopt(p.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(p.client);
    p.client = -1;
    wait_for(p.server.fd, POLLIN);
    T_EQ(sock_read(&p.server, bytes, sizeof bytes, &n), SOCK_ERROR);
    T_EQ(errno, ECONNRESET);
    /* And no SIGPIPE, which would end this program. */
    struct iovec part = PART("x");
    T_EQ(sock_write(&p.server, &part, 1, &n), SOCK_ERROR);
    T_EQ(errno, EPIPE);
    pair_close(&p);
}

TEST(reset_of_ours_reaches_the_peer)
{
    struct pair p;
    char bytes[16];
    pair_open(&p, "127.0.0.1:0");
    sock_reset(&p.server);
    T_EQ(p.server.fd, -1);
    T_EQ(recv(p.client, bytes, sizeof bytes, 0), -1);
    T_EQ(errno, ECONNRESET);
    pair_close(&p);
}

TEST(ended_socket_reads_on_until_the_peer_ends)
{
    struct pair p;
    char bytes[16];
    size_t n;
    struct iovec part = PART("bye");
    pair_open(&p, "127.0.0.1:0");
    T_EQ(sock_write(&p.server, &part, 1, &n), SOCK_OK);
    sock_end(&p.server);
    T_EQ(recv(p.client, bytes, sizeof bytes, MSG_WAITALL), 3);
    T_EQ(recv(p.client, bytes, sizeof bytes, 0), 0);
    T_EQ(send(p.client, "late", 4, 0), 4);
    wait_for(p.server.fd, POLLIN);
    T_EQ(sock_read(&p.server, bytes, sizeof bytes, &n), SOCK_OK);
    close(p.client);
    p.client = -1;
    wait_for(p.server.fd, POLLIN);
    T_EQ(sock_read(&p.server, bytes, sizeof bytes, &n), SOCK_EOF);
    pair_close(&p);
}

TEST(accept_without_descriptors_says_so_and_goes_on_later)
{
    struct pair p;
    struct rlimit before;
    struct sock s;
    pair_open(&p, "127.0.0.1:0");
    int more = connect_to(&p.bound);
    wait_for(p.listen_fd, POLLIN);
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    T_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    T_EQ(sock_accept(&s, p.listen_fd, NULL, NULL), SOCK_NO_FDS);
    T_EQ(s.fd, -1);
    T_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    T_EQ(sock_accept(&s, p.listen_fd, NULL, NULL), SOCK_OK);
    sock_close(&s);
    close(more);
    pair_close(&p);
}
