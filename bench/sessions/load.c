/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-sessions model PER_SECOND DELTAS
 * bench-sessions turns PORT SESSIONS DELTAS
 * bench-sessions storm PORT SESSIONS
 *
 * Load for sessions; bench/sessions/run runs it.
 *
 *   model   plays a provider on loopback: prints its port, and answers each call with so many
 * deltas of which each says when it was written. Calls are spread evenly over time. turns   begins
 * a turn in each of so many sessions, watches each session over a connection of its own, and prints
 * as one line of JSON how long the deltas took from the provider's write to here. Only those count
 * that were written when all watched and had for a while. storm   makes a scheduled prompt in each
 * of so many sessions, all for one minute, and prints how long after its beginning their cron.fired
 * came, and that none came twice.
 *
 * Of every session the ids must have no gap and each turn one end: else it says so and exits
 * with 1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_CONNS = 8192,
    HEAD_BYTES = 16 << 10,
    LINE_BYTES = 256 << 10, /* of an event: `done` has the whole text */
    FRAME_BYTES = 2048,
    READ_BYTES = 64 << 10,
    STAMP_BYTES = 16, /* 15 digits and a blank */
    MAX_SAMPLES = 1 << 23,
    N_SLOTS = 100, /* of a call's period, in one of which its deltas are written */
    SLOT_CALLS = 4 * MAX_CONNS / N_SLOTS,
    WARM_US = 2000000,
    PATIENCE_US = 300000000,
    AFTER_STORM_US = 5000000,
};

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("bench-sessions: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

static uint64_t now_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void send_all(int fd, const char *bytes, size_t len)
{
    ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
    if (n != (ssize_t)len) die("cannot write: %s", n < 0 ? strerror(errno) : "it is full");
}

static void *zeroed(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory) die("no memory");
    return memory;
}

static void epoll_put(int epoll, int fd, unsigned number)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) die("epoll: %s", strerror(errno));
}

/* ---- the provider ---- */

struct call {
    int fd;             /* 0: nobody */
    size_t n_head;      /* bytes of the head so far */
    uint64_t n_missing; /* of the body; counts when is_in_body */
    unsigned n_left;    /* deltas; 0: nothing streams */
    unsigned slot;      /* when in a period its deltas are written */
    bool is_in_body;
    char head[HEAD_BYTES];
};

/* Descriptors of calls; one that is not there any more is found out when its turn comes. */
struct slot {
    unsigned n;
    int fds[SLOT_CALLS];
};

struct provider {
    int listener, epoll;
    unsigned n_deltas, n_calls;
    uint64_t slot_us;
    struct call *calls; /* by descriptor */
    struct slot slots[N_SLOTS];
};

static void put_chunk(int fd, const char *text)
{
    char chunk[1024];
    int n = snprintf(chunk, sizeof chunk, "%zx\r\n%s\r\n", strlen(text), text);
    send_all(fd, chunk, (size_t)n);
}

static void slot_put(struct slot *s, int fd)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->fds[i] == fd) return;
    if (s->n == SLOT_CALLS) die("too many calls at once");
    s->fds[s->n++] = fd;
}

static void call_answer(struct provider *p, struct call *c)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    send_all(c->fd, head, sizeof head - 1);
    put_chunk(c->fd, "data: {\"type\":\"message_start\",\"message\":{\"type\":\"message\","
                     "\"content\":[],\"usage\":{\"input_tokens\":9}}}\n\n"
                     "data: {\"type\":\"content_block_start\",\"index\":0,"
                     "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
    c->n_head = 0;
    c->is_in_body = false;
    c->n_left = p->n_deltas;
    c->slot = p->n_calls++ % N_SLOTS;
    slot_put(&p->slots[c->slot], c->fd);
}

static void call_end(const struct call *c)
{
    put_chunk(c->fd, "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
                     "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
                     "\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n"
                     "data: {\"type\":\"message_stop\"}\n\n");
    send_all(c->fd, "0\r\n\r\n", 5);
}

static void call_take(struct provider *p, struct call *c, const char *bytes, size_t len)
{
    if (!c->is_in_body) {
        if (c->n_head + len >= sizeof c->head) die("a request's head is too long");
        memcpy(c->head + c->n_head, bytes, len);
        c->n_head += len;
        c->head[c->n_head] = '\0';
        const char *end = strstr(c->head, "\r\n\r\n");
        const char *length = strcasestr(c->head, "\r\ncontent-length:");
        if (!end) return;
        if (!length) die("a request without a length");
        c->is_in_body = true;
        c->n_missing = strtoull(length + 17, NULL, 10);
        len = c->n_head - (size_t)(end + 4 - c->head);
    }
    if (len > c->n_missing) die("more than one request at once");
    c->n_missing -= len;
    if (c->n_missing == 0) call_answer(p, c);
}

static void call_read(struct provider *p, struct call *c)
{
    char bytes[HEAD_BYTES / 2];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n > 0) {
        call_take(p, c, bytes, (size_t)n);
        return;
    }
    close(c->fd);
    memset(c, 0, sizeof *c);
}

static void provider_accept(struct provider *p)
{
    int on = 1, fd = accept(p->listener, NULL, NULL);
    if (fd < 0 || fd >= MAX_CONNS) die("accept: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    p->calls[fd].fd = fd;
    epoll_put(p->epoll, fd, (unsigned)fd);
}

static void call_write(struct call *c)
{
    char delta[256];
    snprintf(delta, sizeof delta,
             "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
             "\"delta\":{\"type\":\"text_delta\",\"text\":\"%015llu \"}}\n\n",
             (unsigned long long)now_us(CLOCK_MONOTONIC));
    put_chunk(c->fd, delta);
    if (--c->n_left == 0) call_end(c);
}

/* One delta of each call whose slot it is. */
static void provider_write(struct provider *p, unsigned slot)
{
    struct slot *s = &p->slots[slot];
    for (unsigned i = 0; i < s->n;) {
        struct call *c = &p->calls[s->fds[i]];
        if (c->n_left > 0 && c->slot == slot) {
            call_write(c);
            i++;
        } else {
            s->fds[i] = s->fds[--s->n];
        }
    }
}

static void provider_run(struct provider *p)
{
    uint64_t due = now_us(CLOCK_MONOTONIC);
    for (unsigned slot = 0;; slot = (slot + 1) % N_SLOTS, due += p->slot_us) {
        for (;;) {
            struct epoll_event events[64];
            uint64_t now = now_us(CLOCK_MONOTONIC);
            if (now >= due) break;
            int n = epoll_wait(p->epoll, events, 64, (int)((due - now + 999) / 1000));
            for (int i = 0; i < n; i++) {
                if (events[i].data.u32 == 0) provider_accept(p);
                else call_read(p, &p->calls[events[i].data.u32]);
            }
        }
        provider_write(p, slot);
    }
}

static void provide(unsigned n_per_s, unsigned n_deltas)
{
    static struct provider p;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    p.n_deltas = n_deltas;
    p.slot_us = 1000000 / n_per_s / N_SLOTS;
    p.calls = zeroed(MAX_CONNS, sizeof *p.calls);
    p.epoll = epoll_create1(EPOLL_CLOEXEC);
    p.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(p.listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(p.listener, MAX_CONNS) != 0 ||
        getsockname(p.listener, (struct sockaddr *)&at, &len) != 0)
        die("listen: %s", strerror(errno));
    epoll_put(p.epoll, p.listener, 0);
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    provider_run(&p);
}

/* ---- calls of the server ---- */

static int dial(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        die("connect: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* One call and its answer, which must be fine; `out` has all of it. */
static void rpc(int fd, const char *method, const char *input, char out[HEAD_BYTES])
{
    char request[HEAD_BYTES];
    size_t n_in = 0;
    int n = snprintf(request, sizeof request,
                     "POST /rpc/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
                     "\r\nContent-Length: %zu\r\n\r\n{\"json\":%s}",
                     method, strlen(input) + 9, input);
    send_all(fd, request, (size_t)n);
    for (;;) {
        ssize_t more = recv(fd, out + n_in, HEAD_BYTES - 1 - n_in, 0);
        if (more <= 0) die("%s: the answer ended", method);
        n_in += (size_t)more;
        out[n_in] = '\0';
        const char *end = strstr(out, "\r\n\r\n");
        const char *length = strcasestr(out, "\r\ncontent-length:");
        if (end && length && strlen(end + 4) >= strtoul(length + 17, NULL, 10)) break;
    }
    if (strncmp(out, "HTTP/1.1 200", 12) != 0) die("%s: %s", method, out);
}

/* The text of a member. */
static void member_of(const char *json, const char *name, char *out, size_t size)
{
    char mark[64];
    snprintf(mark, sizeof mark, "\"%s\":\"", name);
    const char *at = strstr(json, mark);
    size_t len = at ? strcspn(at + strlen(mark), "\"") : size;
    if (len >= size) die("no %s in %s", name, json);
    memcpy(out, at + strlen(mark), len);
    out[len] = '\0';
}

/* ---- readers ---- */

enum { IN_HEAD, IN_SIZE, IN_DATA, IN_DATA_END };

struct reader {
    int fd;
    int at; /* where in the answer: one of the above */
    uint64_t n_chunk;
    uint64_t last_id;
    unsigned n_stamps, n_done, n_fired;
    size_t n_frame, n_line;
    char id[64];
    char frame[FRAME_BYTES];
    char *line;
};

struct load {
    unsigned port, n_readers, n_open;
    int epoll;
    struct reader *readers;
    uint64_t count_from_us; /* deltas that were written since */
    uint64_t minute_us;     /* of the storm, by the wall clock */
    uint64_t n_events, n_counted;
    unsigned n_done, n_fired;
    uint32_t *samples_us;
    size_t n_samples;
};

static void sample(struct load *l, uint64_t from_us, uint64_t until_us)
{
    if (l->n_samples < MAX_SAMPLES)
        l->samples_us[l->n_samples++] = (uint32_t)(until_us > from_us ? until_us - from_us : 0);
}

static void take_delta(struct load *l, struct reader *r, const char *text)
{
    uint64_t now = now_us(CLOCK_MONOTONIC);
    bool counts = false;
    for (; text[0] >= '0' && text[0] <= '9'; text += STAMP_BYTES) {
        uint64_t written = strtoull(text, NULL, 10);
        r->n_stamps++;
        if (l->count_from_us == 0 || written < l->count_from_us) continue;
        sample(l, written, now);
        counts = true;
    }
    l->n_counted += counts;
}

/* An event: its id came before. */
static void take_data(struct load *l, struct reader *r, const char *json)
{
    static const char delta[] = "{\"type\":\"text_delta\",\"text\":\"";
    l->n_events++;
    if (strncmp(json, delta, sizeof delta - 1) == 0) {
        take_delta(l, r, json + sizeof delta - 1);
    } else if (strncmp(json, "{\"type\":\"done\"", 14) == 0) {
        r->n_done++;
        l->n_done++;
    } else if (strncmp(json, "{\"type\":\"error\"", 15) == 0) {
        die("session %s: %s", r->id, json);
    } else if (strncmp(json, "{\"type\":\"cron.fired\"", 20) == 0) {
        r->n_fired++;
        l->n_fired++;
        sample(l, l->minute_us, now_us(CLOCK_REALTIME));
    }
}

static void take_line(struct load *l, struct reader *r)
{
    r->line[r->n_line] = '\0';
    r->n_line = 0;
    if (strncmp(r->line, "id: ", 4) == 0) {
        uint64_t id = strtoull(r->line + 4, NULL, 10);
        if (id != r->last_id + 1)
            die("session %s: id %llu behind %llu", r->id, (unsigned long long)id,
                (unsigned long long)r->last_id);
        r->last_id = id;
    } else if (strncmp(r->line, "data: ", 6) == 0) {
        take_data(l, r, r->line + 6);
    } else if (r->line[0] != '\0' && r->line[0] != ':') {
        die("session %s: %s", r->id, r->line);
    }
}

/* A line of the head, or one with a chunk's size. */
static void take_frame(struct load *l, struct reader *r)
{
    r->frame[r->n_frame] = '\0';
    r->n_frame = 0;
    if (r->at == IN_DATA_END) {
        r->at = IN_SIZE;
    } else if (r->at == IN_SIZE) {
        r->n_chunk = strtoull(r->frame, NULL, 16);
        if (r->n_chunk == 0) die("session %s: the stream ended", r->id);
        r->at = IN_DATA;
    } else if (strncmp(r->frame, "HTTP/1.1 ", 9) == 0) {
        if (strncmp(r->frame + 9, "200", 3) != 0) die("session %s: %s", r->id, r->frame);
    } else if (strcmp(r->frame, "\r") == 0) {
        r->at = IN_SIZE;
        l->n_open++;
    }
}

static void take_data_byte(struct load *l, struct reader *r, char byte)
{
    if (byte == '\n') take_line(l, r);
    else if (r->n_line + 1 < LINE_BYTES) r->line[r->n_line++] = byte;
    else die("session %s: a line is too long", r->id);
    if (--r->n_chunk == 0) r->at = IN_DATA_END;
}

static void take_bytes(struct load *l, struct reader *r, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (r->at == IN_DATA) take_data_byte(l, r, bytes[i]);
        else if (bytes[i] == '\n') take_frame(l, r);
        else if (r->n_frame + 1 < sizeof r->frame) r->frame[r->n_frame++] = bytes[i];
        else die("session %s: a head is too long", r->id);
    }
}

static void reader_read(struct load *l, struct reader *r)
{
    char bytes[READ_BYTES];
    ssize_t n = recv(r->fd, bytes, sizeof bytes, 0);
    if (n <= 0) die("session %s: the connection ended", r->id);
    take_bytes(l, r, bytes, (size_t)n);
}

static void reader_open(struct load *l, unsigned i, uint64_t since)
{
    struct reader *r = &l->readers[i];
    char request[512];
    r->line = zeroed(LINE_BYTES, 1);
    r->last_id = since;
    r->fd = dial(l->port);
    int n = snprintf(request, sizeof request,
                     "GET /sse/sessions/%s?lastEventId=%llu HTTP/1.1\r\nHost: localhost\r\n"
                     "Accept: text/event-stream\r\n\r\n",
                     r->id, (unsigned long long)since);
    send_all(r->fd, request, (size_t)n);
    epoll_put(l->epoll, r->fd, i);
}

/* Reads what comes, for a while. */
static void load_read(struct load *l, int wait_ms)
{
    struct epoll_event events[256];
    int n = epoll_wait(l->epoll, events, 256, wait_ms);
    for (int i = 0; i < n; i++) reader_read(l, &l->readers[events[i].data.u32]);
}

static void load_init(struct load *l, unsigned port, unsigned n_readers)
{
    *l = (struct load){.port = port, .n_readers = n_readers};
    if (n_readers == 0 || n_readers > MAX_CONNS) die("between 1 and %d sessions", MAX_CONNS);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->readers = zeroed(n_readers, sizeof *l->readers);
    l->samples_us = zeroed(MAX_SAMPLES, sizeof *l->samples_us);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double part_ms(const struct load *l, double part)
{
    return (double)l->samples_us[(size_t)((double)(l->n_samples - 1) * part)] / 1000;
}

static void report(struct load *l, const char *name, double seconds)
{
    if (l->n_samples == 0) die("nothing was measured");
    qsort(l->samples_us, l->n_samples, sizeof *l->samples_us, compare);
    printf("{\"name\":\"%s\",\"sessions\":%u,\"samples\":%zu,\"events\":%llu,\"seconds\":%.1f,"
           "\"p50_ms\":%.3f,\"p90_ms\":%.3f,\"p99_ms\":%.3f,\"p999_ms\":%.3f,\"max_ms\":%.3f}\n",
           name, l->n_readers, l->n_samples, (unsigned long long)l->n_counted, seconds,
           part_ms(l, 0.5), part_ms(l, 0.9), part_ms(l, 0.99), part_ms(l, 0.999), part_ms(l, 1));
}

/* A session with a turn that has begun. */
static void session_make(struct load *l, int fd, unsigned i)
{
    char answer[HEAD_BYTES];
    rpc(fd, "chat/send", "{\"clientId\":\"load\",\"text\":\"Say when.\"}", answer);
    member_of(answer, "sessionId", l->readers[i].id, sizeof l->readers[i].id);
}

static void measure_turns(unsigned port, unsigned n_sessions, unsigned n_deltas)
{
    struct load l;
    load_init(&l, port, n_sessions);
    int fd = dial(port);
    for (unsigned i = 0; i < n_sessions; i++) {
        session_make(&l, fd, i);
        reader_open(&l, i, 0);
        load_read(&l, 0);
    }
    uint64_t deadline = now_us(CLOCK_MONOTONIC) + PATIENCE_US;
    while (l.n_open < n_sessions && now_us(CLOCK_MONOTONIC) < deadline) load_read(&l, 10);
    l.count_from_us = now_us(CLOCK_MONOTONIC) + WARM_US;
    /* Those that began first end first: from there on it would be less load. */
    while (l.n_done == 0 && now_us(CLOCK_MONOTONIC) < deadline) load_read(&l, 10);
    double seconds = ((double)now_us(CLOCK_MONOTONIC) - (double)l.count_from_us) / 1e6;
    size_t n_samples = l.n_samples;
    uint64_t n_counted = l.n_counted;
    while (l.n_done < n_sessions && now_us(CLOCK_MONOTONIC) < deadline) load_read(&l, 10);
    for (unsigned i = 0; i < n_sessions; i++)
        if (l.readers[i].n_done != 1 || l.readers[i].n_stamps != n_deltas)
            die("session %s: %u ends, %u of %u deltas", l.readers[i].id, l.readers[i].n_done,
                l.readers[i].n_stamps, n_deltas);
    l.n_samples = n_samples;
    l.n_counted = n_counted;
    report(&l, "turns", seconds);
}

static void make_job(struct load *l, int fd, unsigned i)
{
    char input[512], answer[HEAD_BYTES];
    time_t at = (time_t)(l->minute_us / 1000000);
    struct tm tm;
    gmtime_r(&at, &tm);
    snprintf(input, sizeof input,
             "{\"schedule\":\"%d %d %d %d *\",\"timezone\":\"UTC\",\"text\":\"Say when.\","
             "\"sessionId\":\"%s\"}",
             tm.tm_min, tm.tm_hour, tm.tm_mday, tm.tm_mon + 1, l->readers[i].id);
    rpc(fd, "cron/create", input, answer);
}

static void measure_storm(unsigned port, unsigned n_sessions)
{
    struct load l;
    load_init(&l, port, n_sessions);
    int fd = dial(port);
    for (unsigned i = 0; i < n_sessions; i++) {
        session_make(&l, fd, i);
        reader_open(&l, i, 0);
        load_read(&l, 0);
    }
    uint64_t deadline = now_us(CLOCK_MONOTONIC) + PATIENCE_US;
    while (l.n_done < n_sessions && now_us(CLOCK_MONOTONIC) < deadline) load_read(&l, 10);
    /* The next minute but one leaves time to make all of them. */
    l.minute_us = (now_us(CLOCK_REALTIME) / 60000000 + (n_sessions > 200 ? 2 : 1)) * 60000000;
    for (unsigned i = 0; i < n_sessions; i++) make_job(&l, fd, i);
    if (now_us(CLOCK_REALTIME) > l.minute_us) die("the jobs came too late");
    while (l.n_fired < n_sessions && now_us(CLOCK_MONOTONIC) < deadline) load_read(&l, 10);
    uint64_t until = now_us(CLOCK_MONOTONIC) + AFTER_STORM_US;
    while (now_us(CLOCK_MONOTONIC) < until) load_read(&l, 10);
    for (unsigned i = 0; i < n_sessions; i++)
        if (l.readers[i].n_fired != 1 || l.readers[i].n_done != 2)
            die("session %s: fired %u times, %u turns", l.readers[i].id, l.readers[i].n_fired,
                l.readers[i].n_done);
    report(&l, "storm", part_ms(&l, 1) / 1000);
}

int main(int argc, char **argv)
{
    struct rlimit files;
    unsigned n[3] = {0};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    for (int i = 2; i < argc && i < 5; i++) n[i - 2] = (unsigned)strtoul(argv[i], NULL, 10);
    if (argc == 4 && strcmp(argv[1], "model") == 0 && n[0] > 0 && n[1] > 0) provide(n[0], n[1]);
    else if (argc == 5 && strcmp(argv[1], "turns") == 0) measure_turns(n[0], n[1], n[2]);
    else if (argc == 4 && strcmp(argv[1], "storm") == 0) measure_storm(n[0], n[1]);
    else die("model PER_SECOND DELTAS | turns PORT SESSIONS DELTAS | storm PORT SESSIONS");
    return 0;
}
