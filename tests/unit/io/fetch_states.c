/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are ended from outside in every state they can be in, and many at once. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "io/process.h"
#include "peer.h"

enum { MANY = 2000, N_STATES = 7, N_FILLERS = 64, N_IN_VAIN = 100, FEW_DESCRIPTORS = 24 };

static const struct fetcher_options usual;

/* ---- a resolver that never answers ---- */

static atomic_bool is_resolver_stuck;
static atomic_uint n_resolving;

/* In place of the C library's own, which libcurl calls in a thread that it makes. */
__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **out)
{
    (void)name;
    (void)service;
    (void)hints;
    *out = NULL;
    atomic_fetch_add(&n_resolving, 1);
    while (atomic_load(&is_resolver_stuck)) usleep(1000);
    atomic_fetch_sub(&n_resolving, 1);
    return EAI_NONAME;
}

static void unstick_resolver(void)
{
    atomic_store(&is_resolver_stuck, false);
    while (atomic_load(&n_resolving) > 0) usleep(1000);
}

/* ---- a kernel that watches no more ---- */

static atomic_bool is_kernel_full;

__attribute__((visibility("default"))) int epoll_ctl(int epoll_fd, int op, int fd,
                                                     struct epoll_event *event)
{
    if (op == EPOLL_CTL_ADD && atomic_load(&is_kernel_full)) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epoll_fd, op, fd, event);
}

/* ---- the states ---- */

/* Where nobody accepts and the queue is full, so that a connection hangs. */
struct blackhole {
    struct peer peer;
    int fillers[N_FILLERS];
};

static void blackhole_open(struct blackhole *b)
{
    *b = (struct blackhole){.peer = {.fd = -1}};
    peer_listen(&b->peer, 0);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)b->peer.port)};
    for (int i = 0; i < N_FILLERS; i++) {
        b->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)!connect(b->fillers[i], (struct sockaddr *)&at, sizeof at);
    }
}

static void blackhole_close(struct blackhole *b)
{
    for (int i = 0; i < N_FILLERS; i++) close(b->fillers[i]);
    close(b->peer.fd);
}

/* One request in each state, at the same time. */
struct states {
    struct blackhole blackhole;
    struct peer tls, head, body;
    struct fetcher *fetcher;
    struct reader readers[N_STATES];
    uint64_t tickets[N_STATES];
    unsigned n;
};

static void stall_at_once(struct peer *p, int fd)
{
    char c;
    if (read(fd, &c, 1) == 1) atomic_fetch_add(&p->n_requests, 1);
    peer_stall(fd);
}

static void ask_state(struct states *s, const char *host, unsigned port, unsigned delay_ms)
{
    char url[PEER_URL_BYTES];
    snprintf(url, sizeof url, "%s:%u/", host, port);
    reader_init(&s->readers[s->n]);
    struct fetch_request request = reader_stream(&s->readers[s->n], url);
    request.limits.connect_ms = WAIT_MS;
    request.delay_ms = delay_ms;
    T_EQ(fetcher_send(s->fetcher, &request, &s->tickets[s->n]), WEIR_OK);
    s->n++;
}

static void wait_for_peer(struct peer *p)
{
    while (atomic_load(&p->n_requests) == 0) usleep(1000);
}

/* All but the last two, which wait for their turn and their time, run when this returns. */
static void states_open(struct states *s)
{
    const struct fetcher_options options = {.max_running = N_STATES - 2};
    memset(s, 0, sizeof *s);
    s->tls.play = stall_at_once;
    s->head.end = s->body.end = PEER_STALLS;
    s->body.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab";
    atomic_store(&is_resolver_stuck, true);
    blackhole_open(&s->blackhole);
    peer_start(&s->tls);
    peer_start(&s->head);
    peer_start(&s->body);
    T_EQ(fetcher_new(&s->fetcher, NULL, &options), WEIR_OK);
    ask_state(s, "http://a.name.of.nobody", 1, 0);
    ask_state(s, "http://127.0.0.1", s->blackhole.peer.port, 0);
    ask_state(s, "https://127.0.0.1", s->tls.port, 0);
    ask_state(s, "http://127.0.0.1", s->head.port, 0);
    ask_state(s, "http://127.0.0.1", s->body.port, 0);
    ask_state(s, "http://127.0.0.1", s->head.port, 0);
    ask_state(s, "http://127.0.0.1", s->head.port, WAIT_MS);
    wait_for_peer(&s->tls);
    wait_for_peer(&s->head);
    wait_for_peer(&s->body);
    while (atomic_load(&n_resolving) == 0) usleep(1000);
    reader_wait(&s->readers[4], &s->readers[4].n_heads, 1);
}

static void states_close(struct states *s)
{
    unstick_resolver();
    peer_stop(&s->tls);
    peer_stop(&s->head);
    peer_stop(&s->body);
    blackhole_close(&s->blackhole);
}

static const enum fetch_phase phases[N_STATES] = {
    FETCH_CONNECTING, FETCH_CONNECTING, FETCH_CONNECTING, FETCH_SENT,
    FETCH_ANSWERED,   FETCH_WAITING,    FETCH_WAITING,
};

static void check_aborted(struct states *s)
{
    for (unsigned i = 0; i < N_STATES; i++) {
        T_EQ(s->readers[i].n_done, 1);
        T_EQ(s->readers[i].result.end, FETCH_ABORTED);
        T_EQ(s->readers[i].result.status, WEIR_SHUTDOWN);
        T_EQ(s->readers[i].result.phase, phases[i]);
        T_EQ(s->readers[i].result.http_status, phases[i] == FETCH_ANSWERED ? 200 : 0);
    }
}

TEST(a_request_can_be_aborted_in_every_state)
{
    struct states s;
    states_open(&s);
    /* The last first: once another ends, its turn comes. */
    for (unsigned i = N_STATES; i-- > 0;) {
        T_EQ(s.readers[i].n_done, 0);
        fetcher_abort(s.fetcher, s.tickets[i]);
        reader_wait_done(&s.readers[i], 1);
        fetcher_abort(s.fetcher, s.tickets[i]); /* it is over: nothing happens */
    }
    check_aborted(&s);
    fetcher_free(s.fetcher);
    states_close(&s);
}

TEST(ending_aborts_requests_in_every_state)
{
    struct states s;
    states_open(&s);
    fetcher_free(s.fetcher);
    check_aborted(&s);
    states_close(&s);
}

TEST(connecting_that_takes_too_long_is_given_up_in_each_of_its_steps)
{
    struct states s;
    states_open(&s);
    fetcher_free(s.fetcher);
    s.fetcher = NULL;
    const char *const hosts[] = {"http://another.name", "http://127.0.0.1", "https://127.0.0.1"};
    const unsigned ports[] = {1, s.blackhole.peer.port, s.tls.port};
    T_EQ(fetcher_new(&s.fetcher, NULL, &usual), WEIR_OK);
    for (size_t i = 0; i < 3; i++) {
        char url[PEER_URL_BYTES];
        struct reader r;
        reader_init(&r);
        snprintf(url, sizeof url, "%s:%u/", hosts[i], ports[i]);
        struct fetch_request request = reader_stream(&r, url);
        request.limits.connect_ms = 100;
        T_EQ(fetcher_send(s.fetcher, &request, NULL), WEIR_OK);
        reader_wait_done(&r, 1);
        T_EQ(r.result.end, FETCH_SLOW_CONNECT);
        T_EQ(r.result.status, WEIR_TIMEOUT);
        T_EQ(r.result.phase, FETCH_CONNECTING);
    }
    fetcher_free(s.fetcher);
    states_close(&s);
}

/* ---- many to one host that is not to be reached ---- */

static void ask_in_vain(struct fetcher *f, struct reader *r, uint64_t tickets[N_IN_VAIN],
                        unsigned port, unsigned connect_ms)
{
    char url[PEER_URL_BYTES];
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", port);
    struct fetch_request request = reader_stream(r, url);
    request.limits.connect_ms = connect_ms;
    reader_init(r);
    for (int i = 0; i < N_IN_VAIN; i++) T_EQ(fetcher_send(f, &request, &tickets[i]), WEIR_OK);
}

TEST(requests_that_wait_for_others_to_connect_end_like_those)
{
    struct blackhole b;
    struct reader r;
    struct fetcher *f = NULL;
    struct fetcher_stats stats = {.n_running = 0};
    uint64_t tickets[N_IN_VAIN];
    blackhole_open(&b);
    T_EQ(fetcher_new(&f, NULL, &usual), WEIR_OK);
    ask_in_vain(f, &r, tickets, b.peer.port, 100);
    reader_wait_done(&r, N_IN_VAIN);
    T_EQ(r.n_good, 0);
    T_EQ(r.result.end, FETCH_SLOW_CONNECT);
    ask_in_vain(f, &r, tickets, b.peer.port, WAIT_MS);
    while (stats.n_running < N_IN_VAIN) fetcher_stats(f, &stats);
    for (int i = 0; i < N_IN_VAIN; i += 2) fetcher_abort(f, tickets[i]);
    reader_wait_done(&r, N_IN_VAIN / 2);
    T_EQ(r.result.end, FETCH_ABORTED);
    T_EQ(r.result.phase, FETCH_CONNECTING);
    fetcher_free(f);
    T_EQ(r.n_done, N_IN_VAIN);
    T_EQ(r.result.end, FETCH_ABORTED);
    blackhole_close(&b);
}

TEST(many_who_wait_for_one_host_are_refused_with_the_first)
{
    struct peer p = {.fd = -1};
    struct reader r;
    struct fetcher *f = NULL;
    uint64_t tickets[N_IN_VAIN];
    peer_listen(&p, 1);
    close(p.fd);
    T_EQ(fetcher_new(&f, NULL, &usual), WEIR_OK);
    ask_in_vain(f, &r, tickets, p.port, WAIT_MS);
    reader_wait_done(&r, N_IN_VAIN);
    T_EQ(r.n_good, 0);
    T_EQ(r.result.end, FETCH_NO_CONNECTION);
    fetcher_free(f);
}

TEST(a_name_that_leads_nowhere_is_said_so)
{
    struct reader r;
    struct fetcher *f = NULL;
    reader_init(&r);
    T_EQ(fetcher_new(&f, NULL, &usual), WEIR_OK);
    struct fetch_request request = reader_stream(&r, "http://no.such.name/");
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    reader_wait_done(&r, 1);
    T_EQ(r.result.end, FETCH_NO_NAME);
    T_EQ(r.result.phase, FETCH_CONNECTING);
    fetcher_free(f);
}

/* ---- many ---- */

/* Answers nobody before all have asked. */
static void *answer_all(void *user)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    struct peer *p = user;
    static int fds[MANY];
    for (int i = 0; i < MANY; i++) fds[i] = accept(p->fd, NULL, NULL);
    for (int i = 0; i < MANY; i++) T_OK(peer_take_request(p, fds[i]));
    for (int i = 0; i < MANY; i++) peer_put(fds[i], answer, strlen(answer));
    for (int i = 0; i < MANY; i++) close(fds[i]);
    return NULL;
}

TEST(thousands_are_under_way_at_once)
{
    const struct fetcher_options options = {.max_running = MANY};
    struct peer p = {.fd = -1};
    struct reader r;
    char url[PEER_URL_BYTES];
    struct fetcher *f = NULL;
    if (process_raise_descriptors() < 2 * MANY + 100) {
        t_skip("this user may not have as many descriptors");
        return;
    }
    reader_init(&r);
    T_EQ(fetcher_new(&f, NULL, &options), WEIR_OK);
    peer_listen(&p, 4096);
    T_EQ(pthread_create(&p.thread, NULL, answer_all, &p), 0);
    peer_url(&p, "127.0.0.1", url);
    struct fetch_request request = reader_post(&r, url);
    request.limits.connect_ms = WAIT_MS;
    for (int i = 0; i < MANY; i++) T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    reader_wait_done(&r, MANY);
    T_EQ(r.n_good, MANY);
    pthread_join(p.thread, NULL);
    close(p.fd);
    fetcher_free(f);
}

TEST(no_more_descriptors_is_said_so)
{
    static int held[FEW_DESCRIPTORS * 4];
    struct rlimit before;
    struct reader r;
    struct fetcher *f = NULL;
    int n = 0;
    reader_init(&r);
    T_EQ(fetcher_new(&f, NULL, &usual), WEIR_OK);
    T_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit low = {.rlim_cur = FEW_DESCRIPTORS, .rlim_max = before.rlim_max};
    T_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (n < FEW_DESCRIPTORS * 4 && (held[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) n++;
    static const char *const urls[] = {"http://127.0.0.1:1/", "https://127.0.0.1:1/",
                                       "http://some.name/"};
    for (unsigned i = 0; i < 3; i++) {
        struct fetch_request request = reader_post(&r, urls[i]);
        T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
        reader_wait_done(&r, i + 1);
        T_EQ(r.result.end, FETCH_NO_DESCRIPTORS);
        T_EQ(r.result.status, WEIR_TOO_MANY);
    }
    while (n > 0) close(held[--n]);
    T_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    fetcher_free(f);
}

/* ---- time ---- */

TEST(a_request_can_be_sent_for_later)
{
    struct peer p = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"};
    struct reader r;
    char url[PEER_URL_BYTES];
    struct fetcher *f = NULL;
    reader_init(&r);
    peer_start(&p);
    T_EQ(fetcher_new(&f, NULL, &usual), WEIR_OK);
    peer_url(&p, "127.0.0.1", url);
    struct fetch_request request = reader_post(&r, url);
    uint64_t start_ns = clock_mono_ns(&clock_system);
    request.delay_ms = 50;
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    reader_wait_done(&r, 1);
    T_EQ(r.result.end, FETCH_WHOLE);
    T_OK(clock_mono_ns(&clock_system) - start_ns >= 50000000);
    fetcher_free(f);
    peer_stop(&p);
}

/* ---- without a thread ---- */

static void rounds_until_done(struct fetcher *f, struct reader *r, unsigned n)
{
    while (r->n_done < n) {
        struct pollfd ready = {.fd = fetcher_fd(f), .events = POLLIN};
        T_OK(poll(&ready, 1, fetcher_wait_ms(f)) >= 0);
        fetcher_round(f);
    }
}

TEST(a_caller_with_a_loop_needs_no_thread)
{
    const struct fetcher_options options = {.has_no_thread = true};
    struct peer p = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"};
    struct peer stalling = {.end = PEER_STALLS};
    struct reader r;
    char url[PEER_URL_BYTES];
    struct fetcher *f = NULL;
    reader_init(&r);
    peer_start(&p);
    peer_start(&stalling);
    T_EQ(fetcher_new(&f, NULL, &options), WEIR_OK);
    T_EQ(fetcher_wait_ms(f), -1);
    peer_url(&p, "127.0.0.1", url);
    struct fetch_request request = reader_post(&r, url);
    for (unsigned i = 0; i < 5; i++) {
        request.delay_ms = 10 * i;
        T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    }
    rounds_until_done(f, &r, 5);
    T_EQ(r.n_good, 5);
    peer_url(&stalling, "127.0.0.1", url);
    request.limits.first_byte_ms = 20;
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    rounds_until_done(f, &r, 6);
    T_EQ(r.result.end, FETCH_SLOW_HEAD);
    request.delay_ms = WAIT_MS;
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    fetcher_round(f);
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    fetcher_free(f);
    T_EQ(r.n_done, 8);
    T_EQ(r.result.end, FETCH_ABORTED);
    peer_stop(&p);
    peer_stop(&stalling);
}

TEST(a_kernel_that_watches_no_more_is_said_so)
{
    struct peer p = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"};
    struct reader r;
    char url[PEER_URL_BYTES];
    struct fetcher *f = NULL;
    reader_init(&r);
    peer_start(&p);
    T_EQ(fetcher_new(&f, NULL, &usual), WEIR_OK);
    peer_url(&p, "127.0.0.1", url);
    struct fetch_request request = reader_post(&r, url);
    atomic_store(&is_kernel_full, true);
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    reader_wait_done(&r, 1);
    T_EQ(r.result.end, FETCH_NO_DESCRIPTORS);
    atomic_store(&is_kernel_full, false);
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    reader_wait_done(&r, 2);
    T_EQ(r.result.end, FETCH_WHOLE);
    fetcher_free(f);
    peer_stop(&p);
}

/* ---- from within ---- */

struct chain {
    struct reader reader; /* first: it is the user of all callbacks */
    struct fetcher *fetcher;
    char url[PEER_URL_BYTES];
    uint64_t ticket;
    unsigned n_left;
};

static void on_link(void *user, const struct fetch_result *result)
{
    struct chain *c = user;
    struct fetch_request request = reader_post(&c->reader, c->url);
    request.done = on_link;
    request.user = c;
    if (c->n_left-- > 0) T_EQ(fetcher_send(c->fetcher, &request, &c->ticket), WEIR_OK);
    else reader_on_done(&c->reader, result);
}

static bool abort_oneself(void *user, struct weir_slice bytes)
{
    struct chain *c = user;
    (void)bytes;
    fetcher_abort(c->fetcher, c->ticket);
    return true;
}

TEST(callbacks_may_send_and_abort)
{
    struct peer p = {.answer = "HTTP/1.1 200 OK\r\n\r\nx", .end = PEER_STALLS};
    struct peer quick = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"};
    struct chain c = {.n_left = 10};
    reader_init(&c.reader);
    peer_start(&p);
    peer_start(&quick);
    T_EQ(fetcher_new(&c.fetcher, NULL, &usual), WEIR_OK);
    peer_url(&p, "127.0.0.1", c.url);
    struct fetch_request request = reader_stream(&c.reader, c.url);
    request.on_body = abort_oneself;
    T_EQ(fetcher_send(c.fetcher, &request, &c.ticket), WEIR_OK);
    reader_wait_done(&c.reader, 1);
    T_EQ(c.reader.result.end, FETCH_ABORTED);
    peer_url(&quick, "127.0.0.1", c.url);
    request = reader_post(&c.reader, c.url);
    request.done = on_link;
    T_EQ(fetcher_send(c.fetcher, &request, &c.ticket), WEIR_OK);
    reader_wait_done(&c.reader, 2);
    T_EQ(c.reader.result.end, FETCH_WHOLE);
    T_EQ(atomic_load(&quick.n_requests), 11);
    fetcher_free(c.fetcher);
    peer_stop(&p);
    peer_stop(&quick);
}
