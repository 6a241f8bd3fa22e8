/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of the chaos tests; see wire.h. One thread and one epoll. An answer is small enough
 * for the buffers of a socket, so it is written at once, and only requests and the end of those
 * that are let wait are waited for.
 */
#include "chaos/wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    REQUEST_BYTES = 2048,
    ANSWER_BYTES = 1 << 20,
    MAX_FDS = 1 << 14,
    BACKLOG = 4096,
    EVENTS_A_ROUND = 64,
    PATIENCE = 12, /* connections of a run that the dice may spoil */
};

struct wire_shared {
    struct wire_plan plans[WIRE_MAX_RUNS];
    atomic_uint n_asked[WIRE_MAX_RUNS];
};

/* ---- the recorded turn ---- */

static struct weir_slice line_after(struct weir_slice *rest, const char *name)
{
    struct weir_slice none = {NULL, 0};
    size_t n_name = strlen(name);
    const char *end = rest->len > n_name ? memchr(rest->ptr, '\n', rest->len) : NULL;
    if (!end || memcmp(rest->ptr, name, n_name) != 0) return none;
    struct weir_slice value = {rest->ptr + n_name, (size_t)(end - rest->ptr) - n_name};
    rest->len -= (size_t)(end + 1 - rest->ptr);
    rest->ptr = end + 1;
    return value;
}

/* The server sends events as "id:", "event:", "data:" and an empty line, in one chunk. */
static bool read_turn(struct wire *w)
{
    const char *body = memmem(w->recorded.ptr, w->recorded.len, "id: 1\n", 6);
    if (!body) return false;
    struct weir_slice rest = {body, w->recorded.len - (size_t)(body - w->recorded.ptr)};
    while (w->n_events < WIRE_MAX_EVENTS && line_after(&rest, "id: ").ptr) {
        struct wire_event *e = &w->events[w->n_events++];
        e->type = line_after(&rest, "event: ");
        e->data = line_after(&rest, "data: ");
        if (!e->type.ptr || !e->data.ptr || !line_after(&rest, "").ptr) return false;
    }
    return w->n_events > 0;
}

/* ---- dice ---- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static unsigned throw_of(uint64_t *dice, unsigned n)
{
    *dice += UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(mix(*dice) % n);
}

/* ---- answers ---- */

/* How an answer is written, beside what a plan says. */
struct manner {
    unsigned first;       /* event */
    unsigned skipped;     /* event that is left out; 0: none */
    const char *line_end; /* of the events */
    bool has_comments, has_bom, has_interim, stays_open;
    const char *instead; /* of all of it */
};

static void put_event(struct weir_buf *out, const struct manner *m, const char *prefix, unsigned id,
                      const struct wire_event *e)
{
    const char *end = m->line_end;
    if (m->has_comments) weir_buf_printf(out, ": hb%sretry: 1%s%s", end, end, end);
    weir_buf_printf(out, "id: %s%u%sevent: %.*s%sdata: %.*s%s%s", prefix, id, end, (int)e->type.len,
                    e->type.ptr, end, (int)e->data.len, e->data.ptr, end, end);
}

struct wire_event wire_event(const struct wire *w, enum weir_stream_kind kind, unsigned number)
{
    static const struct wire_event stop = {{"message_stop", 12}, {"{}", 2}};
    static const struct wire_event done = {{"done", 4}, {"{}", 2}};
    if (number <= w->n_events) return w->events[number - 1];
    return kind == WEIR_STREAM_MODEL ? stop : done;
}

unsigned wire_count(const struct wire *w, enum weir_stream_kind kind)
{
    return w->n_events + (kind == WEIR_STREAM_MODEL || kind == WEIR_STREAM_CHAT);
}

static void put_chunk(struct weir_buf *out, const struct wire_plan *plan, struct weir_buf *body)
{
    if (plan->framing == WIRE_CHUNKED && body->len > 0)
        weir_buf_printf(out, "%zx;a=b\r\n", body->len);
    weir_buf_append_slice(out, weir_buf_slice(body));
    if (plan->framing == WIRE_CHUNKED && body->len > 0) weir_buf_append_str(out, "\r\n");
    weir_buf_reset(body);
}

static void put_events(const struct wire *w, const struct wire_plan *plan, const struct manner *m,
                       struct weir_buf *out)
{
    const char *prefix = plan->kind == WEIR_STREAM_CHAT ? "msg_1:" : "";
    struct weir_buf piece;
    weir_buf_init(&piece, ANSWER_BYTES);
    if (m->has_bom) weir_buf_append_str(&piece, "\xef\xbb\xbf");
    for (unsigned i = m->first; i <= wire_count(w, plan->kind); i++) {
        const struct wire_event e = wire_event(w, plan->kind, i);
        if (i != m->skipped) put_event(&piece, m, prefix, i, &e);
        put_chunk(out, plan, &piece);
    }
    if (plan->framing == WIRE_CHUNKED) weir_buf_append_str(out, "0\r\nX-Behind: it\r\n\r\n");
    weir_buf_fini(&piece);
}

static void put_head(const struct wire_plan *plan, const struct manner *m, size_t n_body,
                     struct weir_buf *out)
{
    if (m->has_interim) weir_buf_append_str(out, "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n");
    weir_buf_append_str(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n");
    if (plan->framing == WIRE_CHUNKED)
        weir_buf_append_str(out, "Transfer-Encoding: chunked\r\nTrailer: X-Behind\r\n");
    if (plan->framing == WIRE_LENGTH) weir_buf_printf(out, "Content-Length: %zu\r\n", n_body);
    weir_buf_printf(out, "Connection: %s\r\n\r\n", m->stays_open ? "keep-alive" : "close");
}

static void put_answer(const struct wire *w, const struct wire_plan *plan, const struct manner *m,
                       struct weir_buf *out)
{
    struct weir_buf body;
    if (m->instead) {
        weir_buf_append_str(out, m->instead);
        return;
    }
    bool is_as_recorded = wire_count(w, plan->kind) == w->n_events;
    if (plan->framing == WIRE_RECORDED && m->first == 1 && is_as_recorded) {
        weir_buf_append_slice(out, w->recorded);
        return;
    }
    weir_buf_init(&body, ANSWER_BYTES);
    put_events(w, plan, m, &body);
    put_head(plan, m, body.len, out);
    weir_buf_append_slice(out, weir_buf_slice(&body));
    weir_buf_fini(&body);
}

size_t wire_answer_bytes(const struct wire *w, const struct wire_plan *plan, size_t *n_head)
{
    const struct manner whole = {.first = 1, .line_end = "\n"};
    struct weir_buf out;
    weir_buf_init(&out, ANSWER_BYTES);
    put_answer(w, plan, &whole, &out);
    const char *first = memmem(out.ptr, out.len, "id: ", 4);
    size_t len = out.len;
    *n_head = (size_t)(first - out.ptr);
    weir_buf_fini(&out);
    return len;
}

/* ---- what goes wrong ---- */

static const char *const pages[] = {
    "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n<h1>502 Bad Gateway</h1>",
    "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 504 Slow\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<p>no\r\n0\r\n\r\n",
    "HTTP/1.1 429 Too Many\r\nContent-Length: 2\r\n\r\n{}",
    "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n",
    "no such protocol\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
    "",
};

static void improvise(const struct wire *w, struct wire_plan *plan, struct manner *m,
                      uint64_t *dice, size_t *cut)
{
    static const char *const line_ends[] = {"\n", "\r\n", "\r"};
    enum { N_PAGES = sizeof pages / sizeof *pages, MOST_BYTES = 6000, STALL_SHARE = 12 };
    unsigned what = throw_of(dice, 10);
    plan->framing = (enum wire_framing)throw_of(dice, WIRE_FRAMINGS);
    plan->end = (enum wire_end)throw_of(dice, 2);
    m->line_end = line_ends[throw_of(dice, 3)];
    m->has_comments = throw_of(dice, 4) == 0;
    m->has_bom = throw_of(dice, 4) == 0;
    m->has_interim = throw_of(dice, 4) == 0;
    if (what < 6) *cut = throw_of(dice, MOST_BYTES);
    if (what < 5 && throw_of(dice, STALL_SHARE) == 0) plan->end = WIRE_STALL;
    if (what == 6) m->instead = pages[throw_of(dice, N_PAGES)];
    if (what == 7) m->first = 1 + throw_of(dice, m->first); /* what was had, once more */
    bool keeps_all = plan->kind == WEIR_STREAM_TURN || plan->kind == WEIR_STREAM_CHAT;
    if (what == 8 && keeps_all)
        m->skipped = m->first + throw_of(dice, wire_count(w, plan->kind) - m->first + 1);
    /* Those who come back on the same connection are served there. */
    m->stays_open = what == 9 && plan->framing == WIRE_CHUNKED;
    if (m->stays_open) plan->end = WIRE_KEEP;
}

/* ---- connections ---- */

struct conn {
    char request[REQUEST_BYTES];
    size_t len;
};

static bool is_whole(const struct conn *c)
{
    const char *end = strstr(c->request, "\r\n\r\n");
    const char *length = strstr(c->request, "Content-Length: ");
    return end && (!length || strlen(end + 4) >= strtoul(length + 16, NULL, 10));
}

static void put_bytes(int fd, const char *bytes, size_t len, uint64_t *dice)
{
    while (len > 0) {
        size_t piece = dice && throw_of(dice, 8) > 0 ? 1 + throw_of(dice, 400) : len;
        ssize_t n = send(fd, bytes, piece < len ? piece : len, MSG_NOSIGNAL);
        if (n <= 0) return;
        bytes += n;
        len -= (size_t)n;
    }
}

static unsigned place_of(const char *request)
{
    const char *field = strstr(request, "Last-Event-ID: ");
    if (!field) return 0;
    field += strcspn(field, "\r");
    while (field[-1] >= '0' && field[-1] <= '9') field--;
    return (unsigned)strtoul(field, NULL, 10);
}

static enum wire_end answer(const struct wire *w, int fd, const char *request)
{
    const char *slash = strchr(request, '/');
    unsigned run = (unsigned)strtoul(slash ? slash + 1 : "", NULL, 10) % WIRE_MAX_RUNS;
    struct wire_plan plan = w->shared->plans[run];
    unsigned nth = atomic_fetch_add(&w->shared->n_asked[run], 1);
    uint64_t dice = mix(plan.seed ^ mix(((uint64_t)run << 20) + nth));
    struct manner m = {.first = place_of(request) + 1, .line_end = "\n"};
    size_t cut = nth == 0 ? plan.cut : SIZE_MAX;
    struct weir_buf out;
    if (plan.seed == 0 && nth > 0) plan.end = WIRE_FIN;
    if (plan.seed != 0) cut = SIZE_MAX;
    if (m.first > wire_count(w, plan.kind)) m.instead = "HTTP/1.1 204 No Content\r\n\r\n";
    else if (plan.seed != 0 && nth < PATIENCE) improvise(w, &plan, &m, &dice, &cut);
    weir_buf_init(&out, ANSWER_BYTES);
    put_answer(w, &plan, &m, &out);
    put_bytes(fd, out.ptr, out.len < cut ? out.len : cut, plan.seed != 0 ? &dice : NULL);
    weir_buf_fini(&out);
    return plan.end;
}

static void end_conn(struct conn **conns, int fd)
{
    free(conns[fd]);
    conns[fd] = NULL;
    close(fd);
}

static void take_bytes(const struct wire *w, struct conn **conns, int fd)
{
    const struct linger at_once = {.l_onoff = 1};
    struct conn *c = conns[fd];
    ssize_t n = read(fd, c->request + c->len, REQUEST_BYTES - 1 - c->len);
    if (n <= 0) {
        end_conn(conns, fd);
        return;
    }
    c->len += (size_t)n;
    c->request[c->len] = 0;
    if (!is_whole(c)) return;
    enum wire_end end = answer(w, fd, c->request);
    c->len = 0;
    if (end == WIRE_STALL || end == WIRE_KEEP) return;
    if (end == WIRE_RESET) setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    end_conn(conns, fd);
}

static void take_conn(const struct wire *w, struct conn **conns, int epoll_fd)
{
    const int on = 1;
    int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (fd >= MAX_FDS || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) _exit(3);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    conns[fd] = calloc(1, sizeof **conns);
    if (!conns[fd]) _exit(3);
}

static void serve(const struct wire *w)
{
    static struct conn *conns[MAX_FDS];
    struct epoll_event events[EVENTS_A_ROUND], listening = {.events = EPOLLIN, .data.fd = w->fd};
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, w->fd, &listening) != 0) _exit(3);
    for (;;) {
        int n = epoll_wait(epoll_fd, events, EVENTS_A_ROUND, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == w->fd) take_conn(w, conns, epoll_fd);
            else take_bytes(w, conns, events[i].data.fd);
        }
    }
}

/* ---- life ---- */

bool wire_start(struct wire *w, struct weir_slice recorded)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    *w = (struct wire){.recorded = recorded};
    if (!read_turn(w)) return false;
    w->shared =
        mmap(NULL, sizeof *w->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (w->shared == MAP_FAILED || w->fd < 0) return false;
    if (bind(w->fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(w->fd, BACKLOG) != 0 ||
        getsockname(w->fd, (struct sockaddr *)&at, &len) != 0)
        return false;
    w->port = ntohs(at.sin_port);
    w->child = fork();
    if (w->child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(w);
    }
    return w->child > 0;
}

void wire_stop(struct wire *w)
{
    kill(w->child, SIGKILL);
    waitpid(w->child, NULL, 0);
    munmap(w->shared, sizeof *w->shared);
    close(w->fd);
}

void wire_plan(struct wire *w, unsigned run, const struct wire_plan *plan)
{
    w->shared->plans[run] = *plan;
    atomic_store(&w->shared->n_asked[run], 0);
}

unsigned wire_asked(const struct wire *w, unsigned run)
{
    return atomic_load(&w->shared->n_asked[run]);
}
