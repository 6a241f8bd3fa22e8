/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server over real sockets: it runs in a thread of this process, on a free port of
 * loopback, and clients speak to it with plain blocking calls that have deadlines.
 */
#include "serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/slice.h"
#include "running.h"
#include "stream/stream.h"
#include "t.h"

#define APPEND(name, body_len, body)                                                               \
    "POST /v1/streams/" name " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " body_len           \
    "\r\n\r\n" body

#define CALL(method, body_len, body)                                                               \
    "POST /rpc/" method " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " body_len "\r\n\r"       \
    "\n" body

/* ---- requests and answers ---- */

TEST(what_is_appended_is_watched)
{
    struct running r;
    set_up(&r);
    start(&r);
    int fd = dial(&r);
    forget();
    say(fd, "GET /v1/streams/a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(fd, "\r\n\r\n", 1));
    T_OK(strstr(reply, "HTTP/1.1 200 OK\r\n"));
    T_OK(strstr(reply, "Content-Type: text/event-stream\r\n"));
    T_OK(strstr(reply, "Cache-Control: no-cache\r\n"));
    T_OK(strstr(reply, "X-Accel-Buffering: no\r\n"));
    T_OK(strstr(reply, "X-Request-Id: req_"));
    T_OK(strstr(reply, "Transfer-Encoding: chunked\r\n"));
    int other = dial(&r);
    say(other, APPEND("a", "7", "{\"x\":1}"));
    T_OK(hear(fd, "id: 1\ndata: {\"x\":1}\n\n\r\n", 1));
    forget();
    T_OK(hear(other, "{\"id\":1}", 1));
    T_OK(strstr(reply, "HTTP/1.1 201 Created\r\n"));
    close(other);
    close(fd);
    stop(&r);
    T_EQ(r.ended, WEIR_OK);
}

TEST(pipelined_answers_come_in_the_order_of_their_requests)
{
    enum { N = 300 };
    struct running r;
    set_up(&r);
    start(&r);
    int fd = dial(&r);
    forget();
    /* More than may be in flight, safe and unsafe ones mixed. */
    for (int i = 0; i < N; i++) {
        say(fd, APPEND("p", "1", "1"));
        if (i % 7 == 0) say(fd, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        if (i % 11 == 0) say(fd, "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    say(fd, "GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    hear_end(fd);
    const char *at = reply;
    for (int i = 0; i < N; i++) {
        char want[32];
        snprintf(want, sizeof want, "\r\n\r\n{\"id\":%d}", i + 1);
        const char *found = strstr(at, want);
        T_OK(found != NULL);
        if (!found) break;
        at = found;
        if (i % 7 == 0) T_OK(strstr(at, "HTTP/1.1 200 OK\r\n") == strstr(at, "HTTP/1.1 "));
    }
    T_OK(strstr(at, "Connection: close\r\n") != NULL);
    close(fd);
    stop(&r);
}

TEST(a_body_may_come_in_pieces)
{
    struct running r;
    set_up(&r);
    start(&r);
    int fd = dial(&r);
    forget();
    static const char *const pieces[] = {"POST /v1/str",
                                         "eams/b HTTP/1.1\r\nHo",
                                         "st: localhost\r\nContent-",
                                         "Length: 8\r\n\r\n{\"",
                                         "x\":",
                                         "12}",
                                         APPEND("b", "1", "2")};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) say(fd, pieces[i]);
    T_OK(hear(fd, "{\"id\":2}", 1));
    forget();
    say(fd, "POST /v1/streams/b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            "3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n");
    T_OK(hear(fd, "{\"id\":3}", 1));
    forget();
    say(fd, "GET /v1/streams/b?live=0 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(fd, "\r\n0\r\n\r\n", 1));
    T_OK(strstr(reply, "id: 1\ndata: {\"x\":12}\n\nid: 2\ndata: 2\n\nid: 3\ndata: [1,2]\n\n"));
    /* The connection goes on after the stream. */
    forget();
    say(fd, APPEND("b", "1", "4"));
    T_OK(hear(fd, "{\"id\":4}", 1));
    close(fd);
    stop(&r);
}

TEST(a_client_that_waits_is_told_to_go_on)
{
    struct running r;
    set_up(&r);
    start(&r);
    int fd = dial(&r);
    forget();
    say(fd, "POST /v1/streams/c HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
            "Expect: 100-continue\r\n\r\n");
    T_OK(hear(fd, "HTTP/1.1 100 Continue\r\n\r\n", 1));
    say(fd, "1");
    T_OK(hear(fd, "{\"id\":1}", 1));
    forget();
    say(fd, "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
            "Expect: 100-continue\r\n\r\n");
    hear_end(fd);
    T_OK(strstr(reply, "HTTP/1.1 404 Not Found\r\n") == reply);
    T_OK(strstr(reply, "Connection: close\r\n"));
    close(fd);
    stop(&r);
}

TEST(what_is_wrong_is_said_in_the_one_shape)
{
    static const struct {
        const char *request;
        const char *status;
        const char *code;
    } cases[] = {
        {"GET /x HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: me-1\r\n\r\n", "404 Not Found",
         "not_found"},
        {"PUT /healthz HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: me-1\r\n\r\n",
         "405 Method Not Allowed", "method_not_allowed"},
        {"GET /v1/streams/%zz HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: me-1\r\n\r\n",
         "400 Bad Request", "invalid_request"},
        {"GET /v1/streams/e HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 5\r\nX-Request-Id: "
         "me-1\r\n\r\n",
         "400 Bad Request", "invalid_field"},
    };
    struct running r;
    set_up(&r);
    start(&r);
    int fd = dial(&r);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[128];
        forget();
        say(fd, cases[i].request);
        T_OK(hear(fd, "}}", 1));
        snprintf(want, sizeof want, "HTTP/1.1 %s\r\n", cases[i].status);
        T_OK(strstr(reply, want) == reply);
        snprintf(want, sizeof want, "{\"error\":{\"code\":\"%s\",\"message\":\"", cases[i].code);
        T_OK(strstr(reply, want) != NULL);
        T_OK(strstr(reply, "X-Request-Id: me-1\r\n") != NULL);
        T_OK(strstr(reply, "\"request_id\":\"me-1\",\"docs_url\":\"/docs/errors#") != NULL);
    }
    close(fd);
    stop(&r);
}

TEST(bytes_that_are_no_request_are_answered_and_end_the_connection)
{
    struct running r;
    set_up(&r);
    start(&r);
    int fd = dial(&r);
    forget();
    say(fd, APPEND("q", "1", "1") "GET /a b HTTP/1.1\r\n\r\n" APPEND("q", "1", "1"));
    hear_end(fd);
    /* What came before is answered, what came after is not taken. */
    T_OK(strstr(reply, "{\"id\":1}") != NULL);
    T_OK(strstr(reply, "HTTP/1.1 400 Bad Request\r\n") != NULL);
    T_OK(strstr(reply, "{\"id\":2}") == NULL);
    close(fd);
    stop(&r);
}

TEST(head_and_options_are_answered)
{
    struct running r;
    set_up(&r);
    r.options.cors_origin = "https://app.example";
    start(&r);
    int fd = dial(&r);
    forget();
    say(fd, "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nOPTIONS /v1/keys HTTP/1.1\r\nHost: "
            "localhost\r\n"
            "Origin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n\r\n"
            "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n");
    T_OK(hear(fd, "\r\n\r\n", 3));
    T_OK(strstr(reply, "HTTP/1.1 200 OK\r\n") == reply);
    const char *options = strstr(reply, "HTTP/1.1 204 No Content\r\n");
    T_OK(options && strstr(options, "Allow: GET, HEAD, POST, OPTIONS\r\n"));
    T_OK(options && strstr(options, "Access-Control-Allow-Origin: https://app.example\r\n"));
    T_OK(options && strstr(options, "Access-Control-Allow-Methods: GET, HEAD, POST, OPTIONS\r\n"));
    T_OK(strstr(reply, "evil") == NULL);
    close(fd);
    stop(&r);
}

/* ---- streams ---- */

/* Appends n events of about `size` bytes by one connection. */
/* So many of a size, the first of which gets this id. */
static void append_some(const struct running *r, int first, int n, size_t size)
{
    char *body = malloc(size + 3);
    char head[256];
    int fd = dial(r);
    memset(body, 'x', size + 2);
    body[0] = body[size + 1] = '"';
    body[size + 2] = 0;
    snprintf(head, sizeof head,
             "POST /v1/streams/big HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
             size + 2);
    for (int i = 0; i < n; i++) {
        char want[32];
        say(fd, head);
        say(fd, body);
        forget();
        snprintf(want, sizeof want, "{\"id\":%d}", first + i);
        T_OK(hear(fd, want, 1));
    }
    free(body);
    close(fd);
}

static void append_many(const struct running *r, int n, size_t size)
{
    append_some(r, 1, n, size);
}

/* Takes the chunks of an answer apart; returns the bytes of the body, in place. */
static size_t unchunk(char *bytes)
{
    char *from = strstr(bytes, "\r\n\r\n");
    char *to = bytes;
    if (!from) return 0;
    from += 4;
    for (;;) {
        size_t len = strtoul(from, &from, 16);
        if (len == 0 || strncmp(from, "\r\n", 2) != 0) break;
        memmove(to, from + 2, len);
        to += len;
        from += 2 + len;
        if (strncmp(from, "\r\n", 2) != 0) break;
        from += 2;
    }
    *to = 0;
    return (size_t)(to - bytes);
}

TEST(a_reader_that_stops_reading_loses_nothing)
{
    enum { N = 40, SIZE = 60000 };
    struct running r;
    set_up(&r);
    start(&r);
    int small = 32768;
    int fd = dial(&r);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    say(fd, "GET /v1/streams/big HTTP/1.1\r\nHost: localhost\r\n\r\n");
    append_many(&r, N, SIZE);
    forget();
    T_OK(hear(fd, "id: 40\n", 1));
    say(fd, "DELETE /v1/streams/none HTTP/1.1\r\nHost: localhost\r\n\r\n"); /* waits behind the
                                                                               stream */
    while (memcmp(reply + reply_len - 4, "\n\n\r\n", 4) != 0 && hear_some(fd)) {
    }
    size_t len = unchunk(reply);
    const char *at = reply;
    for (int i = 1; i <= N; i++) {
        char want[32];
        int want_len = snprintf(want, sizeof want, "id: %d\ndata: \"", i);
        T_OK(strncmp(at, want, (size_t)want_len) == 0);
        at += (size_t)want_len + SIZE + 3;
    }
    T_EQ(len, (size_t)(at - reply));
    close(fd);
    stop(&r);
}

/* Reads to the end, and keeps nothing of it: how much it was. */
static size_t hear_away(int fd)
{
    size_t n = 0;
    forget();
    while (hear_some(fd)) {
        n += reply_len;
        forget();
    }
    return n;
}

TEST(what_is_trimmed_meanwhile_ends_the_stream_and_is_told_next_time)
{
    enum { N = 20, ROUNDS = 10, SIZE = 60000, SMALL = 131072 };
    struct running r;
    set_up(&r);
    start(&r);
    struct store *store = server_store(r.server);
    struct stream_log_text name;
    struct weir_slice log = stream_log_name(&name, SLICE("big"));
    for (int i = 0; i < ROUNDS; i++) {
        append_some(&r, 1 + i * N, N, SIZE);
        T_EQ(store_settle(store), WEIR_OK);
    }
    int size = SMALL;
    int fd = dial(&r);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    forget();
    say(fd, "GET /v1/streams/big HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(fd, "id: 1\n", 1));
    T_EQ(store_trim(store, log, (uint64_t)N * ROUNDS), WEIR_OK);
    T_EQ(store_settle(store), WEIR_OK);
    size = 1 << 20;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    T_OK(hear_away(fd) < (size_t)N * ROUNDS * SIZE);
    close(fd);
    stop(&r);
    start(&r);
    fd = dial(&r);
    forget();
    say(fd, "GET /v1/streams/big HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(fd, "\r\n\r\n", 1));
    /* Not 404: it is there, and who comes again may begin later. */
    T_OK(strncmp(reply, "HTTP/1.1 503", 12) == 0);
    close(fd);
    stop(&r);
}

TEST(a_stream_that_is_dropped_ends)
{
    struct running r;
    set_up(&r);
    start(&r);
    int fd = dial(&r);
    int other = dial(&r);
    forget();
    say(other, APPEND("d", "1", "1"));
    T_OK(hear(other, "{\"id\":1}", 1));
    forget();
    say(fd, "GET /v1/streams/d HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(fd, "data: 1\n\n", 1));
    say(other, "DELETE /v1/streams/d HTTP/1.1\r\nHost: localhost\r\n\r\n");
    hear_end(fd);
    T_OK(reply_len > 7 && memcmp(reply + reply_len - 7, "\r\n0\r\n\r\n", 7) == 0);
    close(fd);
    close(other);
    stop(&r);
}

TEST(an_old_client_gets_a_stream_that_ends_with_its_connection)
{
    struct running r;
    set_up(&r);
    start(&r);
    int fd = dial(&r);
    forget();
    say(fd, APPEND("o", "1", "1"));
    T_OK(hear(fd, "{\"id\":1}", 1));
    forget();
    say(fd, "GET /v1/streams/o?live=0 HTTP/1.0\r\n\r\n");
    hear_end(fd);
    T_OK(strstr(reply, "Transfer-Encoding") == NULL);
    T_OK(reply_len > 20 && strcmp(strstr(reply, "\r\n\r\n"), "\r\n\r\nid: 1\ndata: 1\n\n") == 0);
    close(fd);
    stop(&r);
}

TEST(writes_that_are_cut_short_change_nothing)
{
    struct running r;
    set_up(&r);
    start(&r);
    append_many(&r, 3, 5000);
    fault_arm(FAULT_SEND, 1, FAULT_FROM);
    int fd = dial(&r);
    forget();
    say(fd, "POST /v1/streams/big HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
            "Expect: 100-continue\r\n\r\n");
    T_OK(hear(fd, "HTTP/1.1 100 Continue\r\n\r\n", 1));
    say(fd, "4");
    for (int i = 0; i < 20; i++) say(fd, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    say(fd, "GET /v1/streams/big HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(fd, "data: 4\n\n\r\n", 1));
    T_OK(strncmp(reply, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n", 47) == 0);
    int other = dial(&r);
    say(other, APPEND("big", "1", "5"));
    T_OK(hear(fd, "id: 5\ndata: 5\n\n\r\n", 1));
    server_stop(r.server);
    hear_end(fd);
    fault_disarm_all();
    stop(&r);
    char *stream = strstr(reply, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; stream && i < 20; i++) stream = strstr(stream + 1, "HTTP/1.1 200 OK\r\n");
    T_OK(stream != NULL);
    if (!stream) return;
    T_OK(memcmp(reply + reply_len - 7, "\r\n0\r\n\r\n", 7) == 0);
    size_t len = unchunk(stream);
    T_EQ(len,
         3 * (sizeof "id: 1\ndata: \"\"\n\n" - 1 + 5000) + 2 * (sizeof "id: 4\ndata: 4\n\n" - 1));
    close(other);
    close(fd);
}

/* ---- limits ---- */

TEST(a_head_that_does_not_come_is_timed_out)
{
    struct running r;
    set_up(&r);
    r.options.limits.head_timeout_ms = 1000;
    r.options.limits.idle_timeout_ms = 1000;
    r.options.limits.body_timeout_ms = 1000;
    start(&r);
    int fd = dial(&r);
    forget();
    say(fd, "GET /healthz HT");
    hear_end(fd);
    T_OK(strstr(reply, "HTTP/1.1 408 Request Timeout\r\n") == reply);
    close(fd);
    fd = dial(&r);
    forget();
    say(fd, "POST /v1/streams/t HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n1");
    hear_end(fd);
    T_OK(strstr(reply, "HTTP/1.1 408 Request Timeout\r\n") == reply);
    close(fd);
    fd = dial(&r);
    forget();
    hear_end(fd); /* idle: closed without a word */
    T_EQ(reply_len, 0);
    close(fd);
    struct counters_sum sum;
    server_counters(r.server, &sum);
    T_EQ(sum.closed[CLOSE_HEAD_TIMEOUT], 1);
    T_EQ(sum.closed[CLOSE_BODY_TIMEOUT], 1);
    T_EQ(sum.closed[CLOSE_IDLE], 1);
    stop(&r);
}

TEST(a_reader_that_never_reads_is_cut_in_time)
{
    struct running r;
    set_up(&r);
    r.options.limits.stall_timeout_ms = 300;
    start(&r);
    int small = 4096;
    int fd = dial(&r);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    append_many(&r, 12, 900000);
    say(fd, "GET /v1/streams/big HTTP/1.1\r\nHost: localhost\r\n\r\n");
    struct counters_sum sum;
    int tries = 0;
    do {
        usleep(10000);
        server_counters(r.server, &sum);
    } while (sum.closed[CLOSE_STALL_TIMEOUT] == 0 && ++tries < WAIT_S * 100);
    T_EQ(sum.closed[CLOSE_STALL_TIMEOUT], 1);
    T_EQ(sum.values[COUNT_STALLED], 0);
    close(fd);
    stop(&r);
}

TEST(connections_beyond_the_ceiling_are_refused)
{
    struct running r;
    set_up(&r);
    r.options.limits.max_connections = 2;
    start(&r);
    int a = dial(&r);
    int b = dial(&r);
    forget();
    say(a, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(a, "HTTP/1.1 200 OK\r\n", 1));
    forget();
    say(b, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(b, "HTTP/1.1 200 OK\r\n", 1));
    int c = dial(&r);
    forget();
    hear_end(c);
    T_OK(strstr(reply, "HTTP/1.1 503 ") == reply);
    T_OK(strstr(reply, "too_many_connections") != NULL);
    close(a);
    close(b);
    close(c);
    stop(&r);
}

/* ---- keys and the control socket ---- */

static int dial_control(const struct running *r)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = WAIT_S};
    snprintf(a.sun_path, sizeof a.sun_path, "%.80s/control.sock", r->folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    T_EQ(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

TEST(without_a_key_nothing_is_allowed_but_by_the_control_socket)
{
    struct running r;
    set_up(&r);
    r.options.is_open = false;
    start(&r);
    int fd = dial(&r);
    forget();
    say(fd, APPEND("k", "1", "1"));
    T_OK(hear(fd, "missing_authorization", 2));
    T_OK(strstr(reply, "WWW-Authenticate: Bearer") != NULL);
    forget();
    say(fd, "GET /v1/streams/k HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
            "weir_wrong\r\n\r\n");
    T_OK(hear(fd, "invalid_token", 2));
    forget();
    say(fd, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(fd, "HTTP/1.1 200 OK\r\n", 1));
    int control = dial_control(&r);
    forget();
    say(control, APPEND("k", "1", "1"));
    T_OK(hear(control, "{\"id\":1}", 1));
    close(control);
    close(fd);
    stop(&r);
}

/* ---- going down ---- */

TEST(a_server_that_stops_ends_streams_between_events)
{
    struct running r;
    set_up(&r);
    start(&r);
    int fd = dial(&r);
    int idle = dial(&r);
    forget();
    say(fd, APPEND("s", "1", "1"));
    T_OK(hear(fd, "{\"id\":1}", 1));
    forget();
    say(fd, "GET /v1/streams/s HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(fd, "data: 1\n\n", 1));
    stop(&r);
    T_EQ(r.ended, WEIR_OK);
    hear_end(fd);
    T_OK(reply_len > 7 && memcmp(reply + reply_len - 7, "\r\n0\r\n\r\n", 7) == 0);
    forget();
    hear_end(idle);
    T_EQ(reply_len, 0);
    close(idle);
    close(fd);
}

TEST(a_server_that_may_not_wait_cuts_what_is_left)
{
    struct running r;
    set_up(&r);
    r.options.grace_ms = 100;
    start(&r);
    int fd = dial(&r);
    forget();
    say(fd, "POST /v1/streams/s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1");
    int other = dial(&r);
    say(other, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    T_OK(hear(other, "200 OK", 1));
    struct counters_sum sum;
    do {
        server_counters(r.server, &sum);
    } while (sum.values[COUNT_REQUESTS] < 2);
    stop(&r);
    T_EQ(r.ended, WEIR_SHUTDOWN);
    close(fd);
    close(other);
}

TEST(what_was_acknowledged_is_there_after_a_restart)
{
    struct running r;
    set_up(&r);
    start(&r);
    int fd = dial(&r);
    forget();
    say(fd, APPEND("z", "1", "1") APPEND("z", "1", "2"));
    T_OK(hear(fd, "{\"id\":2}", 1));
    close(fd);
    stop(&r);
    start(&r);
    fd = dial(&r);
    forget();
    say(fd, "GET /v1/streams/z?live=0 HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1\r\n\r\n");
    T_OK(hear(fd, "id: 2\ndata: 2\n\n\r\n0\r\n\r\n", 1));
    close(fd);
    stop(&r);
}

/* A request that is answered, one way or another, or whose connection ends. */
static void ask_in_need(const struct running *r, const char *request, const char *end)
{
    struct timeval limit = {.tv_sec = 0, .tv_usec = 300000};
    int fd = dial(r);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    forget();
    (void)send(fd, request, strlen(request), MSG_NOSIGNAL);
    (void)hear(fd, end, 1);
    close(fd);
}

TEST(memory_that_cannot_be_had_costs_a_request_and_not_the_server)
{
    enum { N = 60 };
    struct running r;
    set_up(&r);
    start(&r);
    /* Nothing that is committed: the store rather ends than go on without memory. */
    for (uint64_t n = 1; n <= N; n++) {
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        ask_in_need(&r, APPEND("m", "1", "?") APPEND("m", "1", "?"), "}}");
        ask_in_need(&r, "GET /v1/streams/m HTTP/1.1\r\nHost: localhost\r\n\r\n", "\r\n\r\n");
        ask_in_need(
            &r,
            "POST /v1/streams/m HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
            "\r\n1\r\n?\r\n0\r\n\r\n",
            "}}");
        ask_in_need(&r, CALL("sessions/list", "2", "{}"), "}");
        ask_in_need(&r, CALL("sessions/get", "19", "{\"json\":{\"id\":\"x\"}}"), "}}");
        ask_in_need(&r, CALL("chat/send", "13", "{\"json\":{\"a\":"), "}}");
        ask_in_need(&r,
                    "GET /sse/sessions/ses_01J00000000000000000000000 HTTP/1.1\r\n"
                    "Host: localhost\r\n\r\n",
                    "}}");
        fault_disarm_all();
    }
    int fd = dial(&r);
    forget();
    say(fd, APPEND("m", "1", "3"));
    T_OK(hear(fd, "\r\n\r\n{\"id\":", 1));
    close(fd);
    stop(&r);
    T_EQ(r.ended, WEIR_OK);
}

/* ---- starting ---- */

TEST(a_server_that_cannot_be_says_why)
{
    struct running r;
    struct server_error error;
    struct server *s;
    set_up(&r);
    r.options.listen[0] = "0.0.0.0:0";
    T_EQ(server_new(&s, &r.options, &error), WEIR_INVALID);
    T_OK(strstr(error.text, "loopback") != NULL);
    r.options.listen[0] = "nonsense";
    T_EQ(server_new(&s, &r.options, &error), WEIR_INVALID);
    r.options.listen[0] = "127.0.0.1:0";
    r.options.tls_cert = "/nowhere";
    T_EQ(server_new(&s, &r.options, &error), WEIR_INVALID);
    r.options.tls_cert = NULL;
    r.options.folder = "/proc/nowhere";
    T_OK(server_new(&s, &r.options, &error) != WEIR_OK);
    T_OK(error.text[0] != 0);
}
