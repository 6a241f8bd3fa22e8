/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of outgoing requests: a server inside the test that does what it is told, and somebody
 * who asks and keeps what came of it.
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/slice.h"
#include "io/fetch.h"
#include "t.h"

enum { WAIT_MS = 60 * 1000, PEER_REQUEST_BYTES = 4096, PEER_URL_BYTES = 128, READER_BYTES = 4096 };

/* ---- a server ---- */

enum peer_end {
    PEER_CLOSES,
    PEER_STALLS, /* until the other side has had enough */
    PEER_RESETS,
    PEER_GOES_ON, /* with the next request */
};

struct peer {
    /* To be told. */
    const char *answer;                   /* NULL: none */
    size_t n_answer;                      /* bytes of it; 0: all */
    size_t n_more;                        /* bytes after it, in vain */
    bool is_trickling;                    /* each byte alone */
    enum peer_end end;                    /* of a connection, behind the answer */
    void (*play)(struct peer *p, int fd); /* all that a connection gets, instead of the above */
    void *user;

    int fd;
    unsigned port;
    pthread_t thread;
    char request[PEER_REQUEST_BYTES]; /* the last one */
    atomic_uint n_requests, n_connections;
};

static inline bool peer_has_all(const char *bytes)
{
    const char *end = strstr(bytes, "\r\n\r\n");
    const char *length = strstr(bytes, "Content-Length: ");
    return end && (!length || strlen(end + 4) >= strtoul(length + 16, NULL, 10));
}

/* False: nothing more will come. */
static inline bool peer_take_request(struct peer *p, int fd)
{
    size_t len = 0;
    p->request[0] = 0;
    while (len < PEER_REQUEST_BYTES - 1 && !peer_has_all(p->request)) {
        ssize_t n = read(fd, p->request + len, PEER_REQUEST_BYTES - 1 - len);
        if (n <= 0) return false;
        len += (size_t)n;
        p->request[len] = 0;
    }
    atomic_fetch_add(&p->n_requests, 1);
    return true;
}

static inline void peer_put(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0) return;
        bytes += n;
        len -= (size_t)n;
    }
}

static inline void peer_stall(int fd)
{
    char c;
    while (read(fd, &c, 1) > 0) continue;
}

static inline void peer_answer(struct peer *p, int fd)
{
    static const char more[1024];
    size_t len = p->n_answer > 0 ? p->n_answer : strlen(p->answer);
    size_t piece = p->is_trickling ? 1 : len;
    for (size_t i = 0; i < len; i += piece) peer_put(fd, p->answer + i, piece);
    for (size_t i = 0; i < p->n_more / sizeof more; i++) peer_put(fd, more, sizeof more);
}

static inline void peer_serve(struct peer *p, int fd)
{
    const struct linger at_once = {.l_onoff = 1};
    while (peer_take_request(p, fd)) {
        if (p->answer) peer_answer(p, fd);
        if (p->end == PEER_GOES_ON) continue;
        if (p->end == PEER_STALLS) peer_stall(fd);
        if (p->end == PEER_RESETS) setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        return;
    }
}

/* One connection after the other. */
static inline void *peer_run(void *user)
{
    struct peer *p = user;
    const int on = 1;
    int fd;
    while ((fd = accept(p->fd, NULL, NULL)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        atomic_fetch_add(&p->n_connections, 1);
        if (p->play) p->play(p, fd);
        else peer_serve(p, fd);
        close(fd);
    }
    return NULL;
}

static inline void peer_listen(struct peer *p, int backlog)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    T_EQ(bind(p->fd, (struct sockaddr *)&at, sizeof at), 0);
    T_EQ(listen(p->fd, backlog), 0);
    T_EQ(getsockname(p->fd, (struct sockaddr *)&at, &len), 0);
    p->port = ntohs(at.sin_port);
}

static inline void peer_start(struct peer *p)
{
    peer_listen(p, 4096);
    if (pthread_create(&p->thread, NULL, peer_run, p) != 0) abort();
}

/* Everybody has gone who had a connection. */
static inline void peer_stop(struct peer *p)
{
    shutdown(p->fd, SHUT_RDWR);
    pthread_join(p->thread, NULL);
    close(p->fd);
}

static inline void peer_url(const struct peer *p, const char *host, char out[PEER_URL_BYTES])
{
    snprintf(out, PEER_URL_BYTES, "http://%s:%u/hook?x=1", host, p->port);
}

/* ---- somebody who asks ---- */

struct reader {
    size_t n_wanted; /* bytes of a body in pieces; 0: all */

    pthread_mutex_t lock; /* over all below */
    pthread_cond_t changed;
    unsigned n_done, n_good, n_heads;
    struct fetch_result result; /* the last, without its slices */
    int head_status;
    char field[100]; /* the content type */
    size_t n_text;
    char text[READER_BYTES]; /* the body in pieces */
    char body[READER_BYTES]; /* the one gathered */
};

static inline void reader_init(struct reader *r)
{
    pthread_condattr_t attributes;
    memset(r, 0, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&r->changed, &attributes);
}

static inline bool reader_on_head(void *user, int http_status, const struct fetch_answer *answer)
{
    struct reader *r = user;
    struct weir_slice type = fetch_field_of(answer, "content-type");
    pthread_mutex_lock(&r->lock);
    r->n_heads++;
    r->head_status = http_status;
    snprintf(r->field, sizeof r->field, "%.*s", (int)type.len, type.ptr);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return true;
}

static inline bool reader_on_body(void *user, struct weir_slice bytes)
{
    struct reader *r = user;
    pthread_mutex_lock(&r->lock);
    size_t room = READER_BYTES - r->n_text;
    size_t n = bytes.len < room ? bytes.len : room;
    memcpy(r->text + r->n_text, bytes.ptr, n);
    r->n_text += n;
    bool goes_on = r->n_wanted == 0 || r->n_text < r->n_wanted;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return goes_on;
}

static inline void reader_on_done(void *user, const struct fetch_result *result)
{
    struct reader *r = user;
    pthread_mutex_lock(&r->lock);
    r->n_done++;
    r->n_good += result->status == WEIR_OK;
    r->result = *result;
    snprintf(r->body, sizeof r->body, "%.*s", (int)result->body.len,
             result->body.len > 0 ? result->body.ptr : "");
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* Until *count, a member of the reader, is that large. */
static inline void reader_wait(struct reader *r, const unsigned *count, unsigned n)
{
    struct timespec deadline = clock_deadline(WAIT_MS);
    int error = 0;
    pthread_mutex_lock(&r->lock);
    while (*count < n && error == 0)
        error = pthread_cond_timedwait(&r->changed, &r->lock, &deadline);
    T_OK(*count >= n);
    pthread_mutex_unlock(&r->lock);
}

static inline void reader_wait_done(struct reader *r, unsigned n)
{
    reader_wait(r, &r->n_done, n);
}

/* A POST whose answer is gathered. */
static inline struct fetch_request reader_post(struct reader *r, const char *url)
{
    return (struct fetch_request){
        .url = weir_slice_of(url),
        .fields = {{"Content-Type", SLICE("application/json")}, {"X-Sign", SLICE("a=b")}},
        .n_fields = 2,
        .body = SLICE("{\"a\":1}"),
        .done = reader_on_done,
        .user = r,
    };
}

/* The same with an answer in pieces. */
static inline struct fetch_request reader_stream(struct reader *r, const char *url)
{
    struct fetch_request request = reader_post(r, url);
    request.on_head = reader_on_head;
    request.on_body = reader_on_body;
    return request;
}
