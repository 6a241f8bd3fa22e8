/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-load PORT append STREAMS CONNECTIONS SECONDS
 * bench-load PORT live READERS PUBLISHERS SECONDS
 * bench-load PORT replay READERS EVENTS SECONDS
 *
 * Load for a server of Durable Streams on loopback, any server: bench/streams runs it against
 * ours and the reference in turn. It makes the streams it needs, then for SECONDS
 *
 *   append   each connection appends one event after the other, to the next of the streams
 *   live     publishers append to one stream that all readers watch as server-sent events
 *   replay   each reader reads a stream of so many events from its beginning, again and again
 *
 * and prints one line of JSON: what was acknowledged, or delivered, in a second. Every event has
 * one '~', which is what is counted of bodies, in whatever form a server sends them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    EVENT_BYTES = 200,
    BATCH_EVENTS = 100, /* in a request that fills a stream */
    REQUEST_BYTES = BATCH_EVENTS * (EVENT_BYTES + 1) + 512,
    ANSWER_BYTES = 8192, /* of an append's answer */
    READ_BYTES = 256 << 10,
    MAX_CONNS = 8192,
    SETUP_S = 120,
};

enum role { APPENDER, WATCHER, REPLAYER };

struct conn {
    int fd;
    enum role role;
    unsigned stream;
    uint64_t n_marks; /* of the answer being read */
    bool has_heard;
    size_t n_out, out_at;
    size_t n_in;
    char out[EVENT_BYTES + 256];
    char in[ANSWER_BYTES];
};

struct load {
    unsigned port;
    unsigned n_streams;
    uint64_t n_events; /* of the stream that is replayed */
    int epoll;
    struct conn *conns;
    unsigned n_conns, n_heard, next_stream;
    uint64_t n_acked, n_marks, n_failed;
    char event[EVENT_BYTES + 1];
};

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("bench-load: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- HTTP, as much as is needed ---- */

static int dial(const struct load *l)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)l->port)};
    struct linger reset = {1, 0}; /* no port waits for its time to be used again */
    int on = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        die("connect: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return fd;
}

/* A field of a head that ends in NUL; NULL when it is not there. */
static const char *field_of(const char *head, const char *name)
{
    const char *at = strcasestr(head, name);
    return at ? at + strlen(name) : NULL;
}

/* How long the answer at the beginning of `in` is; 0 when it is not all there. */
static size_t answer_length(char *in, size_t n_in)
{
    in[n_in] = '\0';
    char *end = strstr(in, "\r\n\r\n");
    if (!end) return 0;
    size_t head = (size_t)(end - in) + 4;
    *end = '\0';
    const char *length = field_of(in, "\r\ncontent-length:");
    const char *coding = field_of(in, "\r\ntransfer-encoding:");
    *end = '\r';
    if (coding) {
        const char *last = strstr(in + head, "0\r\n\r\n");
        return last ? (size_t)(last - in) + 5 : 0;
    }
    size_t body = length ? strtoul(length, NULL, 10) : 0;
    return n_in >= head + body ? head + body : 0;
}

static bool is_fine(const char *answer)
{
    return strncmp(answer, "HTTP/1.1 2", 10) == 0;
}

/* One request and its answer, for what comes before the measurement: whether that was fine. */
static bool is_answered_well(int fd, const char *request, size_t len)
{
    static char in[ANSWER_BYTES];
    size_t n_in = 0;
    for (size_t at = 0; at < len;) {
        ssize_t n = send(fd, request + at, len - at, 0);
        if (n <= 0) die("send: %s", strerror(errno));
        at += (size_t)n;
    }
    while (answer_length(in, n_in) == 0) {
        ssize_t n = recv(fd, in + n_in, sizeof in - 1 - n_in, 0);
        if (n <= 0) die("an answer ended: %.*s", (int)n_in, in);
        n_in += (size_t)n;
    }
    return is_fine(in);
}

static void ask(int fd, const char *request, size_t len)
{
    if (!is_answered_well(fd, request, len)) die("refused: %.80s", request);
}

static size_t put_append(char *out, size_t cap, unsigned stream, const char *body, size_t len)
{
    int n = snprintf(out, cap,
                     "POST /v1/stream/load%u HTTP/1.1\r\nHost: localhost\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                     stream, len);
    if (n < 0 || (size_t)n + len > cap) die("a request is too long");
    memcpy(out + n, body, len);
    return (size_t)n + len;
}

/* ---- before ---- */

static void make_event(struct load *l)
{
    int n = snprintf(l->event, sizeof l->event, "{\"mark\":\"~\",\"fill\":\"");
    memset(l->event + n, 'x', (size_t)(EVENT_BYTES - n));
    memcpy(l->event + EVENT_BYTES - 2, "\"}", 3);
}

/* One that was made may take a while to be there: the reference writes behind its answers. */
static void wait_for_stream(int fd, unsigned stream)
{
    char request[256];
    double deadline = now_s() + SETUP_S;
    int n =
        snprintf(request, sizeof request,
                 "GET /v1/stream/load%u?offset=now HTTP/1.1\r\nHost: localhost\r\n\r\n", stream);
    while (!is_answered_well(fd, request, (size_t)n))
        if (now_s() > deadline) die("a stream that was made is not there");
}

static void make_streams(const struct load *l)
{
    char request[256];
    int fd = dial(l);
    for (unsigned i = 0; i < l->n_streams; i++) {
        int n = snprintf(request, sizeof request,
                         "PUT /v1/stream/load%u HTTP/1.1\r\nHost: localhost\r\n"
                         "Content-Type: application/json\r\nContent-Length: 0\r\n\r\n",
                         i);
        ask(fd, request, (size_t)n);
    }
    for (unsigned i = 0; i < l->n_streams; i++) wait_for_stream(fd, i);
    close(fd);
}

static void fill_stream(const struct load *l)
{
    static char body[REQUEST_BYTES];
    static char request[REQUEST_BYTES];
    int fd = dial(l);
    for (uint64_t done = 0; done < l->n_events;) {
        size_t len = 0;
        for (unsigned i = 0; i < BATCH_EVENTS && done < l->n_events; i++, done++) {
            body[len++] = i == 0 ? '[' : ',';
            memcpy(body + len, l->event, EVENT_BYTES);
            len += EVENT_BYTES;
        }
        body[len++] = ']';
        ask(fd, request, put_append(request, sizeof request, 0, body, len));
    }
    close(fd);
}

/* ---- while it is measured ---- */

static void watch(struct load *l, struct conn *c, bool is_new)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    if (c->out_at < c->n_out) e.events |= EPOLLOUT;
    if (epoll_ctl(l->epoll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->fd, &e) != 0)
        die("epoll_ctl: %s", strerror(errno));
}

static void write_out(struct load *l, struct conn *c)
{
    bool had_rest = c->out_at > 0;
    while (c->out_at < c->n_out) {
        ssize_t n = send(c->fd, c->out + c->out_at, c->n_out - c->out_at, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) die("send: %s", strerror(errno));
        c->out_at += (size_t)n;
    }
    if (had_rest || c->out_at < c->n_out) watch(l, c, false);
}

static void begin_request(struct load *l, struct conn *c)
{
    static const char *const queries[] = {
        [WATCHER] = "?offset=-1&live=sse", [REPLAYER] = "?offset=-1"};
    c->out_at = c->n_in = 0;
    c->n_marks = 0;
    if (c->role == APPENDER) {
        c->stream = l->next_stream++ % l->n_streams;
        c->n_out = put_append(c->out, sizeof c->out, c->stream, l->event, EVENT_BYTES);
    } else {
        c->n_out = (size_t)snprintf(c->out, sizeof c->out,
                                    "GET /v1/stream/load0%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                    queries[c->role]);
    }
    write_out(l, c);
}

static void open_conn(struct load *l, struct conn *c)
{
    c->fd = dial(l);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->out_at = c->n_out = 0;
    watch(l, c, true);
    begin_request(l, c);
}

static void add_conns(struct load *l, enum role role, unsigned n)
{
    if (l->n_conns + n > MAX_CONNS) die("too many connections");
    for (unsigned i = 0; i < n; i++) {
        struct conn *c = &l->conns[l->n_conns++];
        c->role = role;
        open_conn(l, c);
    }
}

static uint64_t count_marks(const char *bytes, size_t len)
{
    uint64_t n = 0;
    const char *end = bytes + len;
    while ((bytes = memchr(bytes, '~', (size_t)(end - bytes)))) {
        n++;
        bytes++;
    }
    return n;
}

static void read_answer(struct load *l, struct conn *c)
{
    ssize_t n = recv(c->fd, c->in + c->n_in, sizeof c->in - 1 - c->n_in, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) die("an append's connection ended");
    c->n_in += (size_t)n;
    size_t len = answer_length(c->in, c->n_in);
    if (len == 0) return;
    if (is_fine(c->in)) l->n_acked++;
    else l->n_failed++;
    begin_request(l, c);
}

static void read_events(struct load *l, struct conn *c)
{
    static char bytes[READ_BYTES];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0)
        die("a reader's connection ended after %llu events", (unsigned long long)c->n_marks);
    if (!c->has_heard) {
        c->has_heard = true;
        l->n_heard++;
        if (n >= 10 && !is_fine(bytes)) die("refused: %.*s", (int)(n < 300 ? n : 300), bytes);
    }
    uint64_t marks = count_marks(bytes, (size_t)n);
    c->n_marks += marks;
    l->n_marks += marks;
    if (c->role != REPLAYER || c->n_marks < l->n_events) return;
    close(c->fd);
    open_conn(l, c);
}

static void run_once(struct load *l)
{
    struct epoll_event events[256];
    int n = epoll_wait(l->epoll, events, 256, 20);
    for (int i = 0; i < n; i++) {
        struct conn *c = events[i].data.ptr;
        if (events[i].events & EPOLLOUT) write_out(l, c);
        if (!(events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) continue;
        if (c->role == APPENDER) read_answer(l, c);
        else read_events(l, c);
    }
}

/* Until all readers have heard of the server. */
static void run_until_heard(struct load *l, unsigned n)
{
    double deadline = now_s() + SETUP_S;
    while (l->n_heard < n) {
        run_once(l);
        if (now_s() > deadline) die("only %u of %u readers were answered", l->n_heard, n);
    }
}

static void measure(struct load *l, const char *mode, double seconds)
{
    l->n_acked = l->n_marks = l->n_failed = 0;
    double begin = now_s();
    double took;
    do run_once(l);
    while ((took = now_s() - begin) < seconds);
    printf("{\"mode\":\"%s\",\"appends_per_s\":%.0f,\"deliveries_per_s\":%.0f,"
           "\"refused_per_s\":%.0f}\n",
           mode, (double)l->n_acked / took, (double)l->n_marks / took, (double)l->n_failed / took);
}

static void run_mode(struct load *l, const char *mode, unsigned a, unsigned b, double seconds)
{
    bool appends = strcmp(mode, "append") == 0;
    bool replays = strcmp(mode, "replay") == 0;
    l->n_streams = appends ? a : 1;
    l->n_events = replays ? b : 0;
    make_streams(l);
    fill_stream(l);
    if (appends) {
        add_conns(l, APPENDER, b);
    } else if (replays) {
        add_conns(l, REPLAYER, a);
        run_until_heard(l, a);
    } else {
        add_conns(l, WATCHER, a);
        run_until_heard(l, a);
        add_conns(l, APPENDER, b);
    }
    measure(l, mode, seconds);
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"append", "live", "replay"};
    struct rlimit files = {MAX_CONNS + 64, MAX_CONNS + 64};
    struct load l = {.epoll = epoll_create1(0)};
    bool is_known = false;
    if (argc != 6) die("usage: bench-load PORT append|live|replay A B SECONDS");
    for (size_t i = 0; i < 3; i++) is_known |= strcmp(argv[2], modes[i]) == 0;
    unsigned a = (unsigned)strtoul(argv[3], NULL, 10);
    unsigned b = (unsigned)strtoul(argv[4], NULL, 10);
    double seconds = strtod(argv[5], NULL);
    if (!is_known || a == 0 || b == 0 || seconds <= 0) die("that makes no sense");
    setrlimit(RLIMIT_NOFILE, &files); /* failing that, connecting says so */
    l.port = (unsigned)strtoul(argv[1], NULL, 10);
    l.conns = calloc(MAX_CONNS, sizeof *l.conns);
    if (!l.conns) die("no memory");
    make_event(&l);
    run_mode(&l, argv[2], a, b, seconds);
    free(l.conns);
    return 0;
}
