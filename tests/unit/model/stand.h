/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the engine: a provider inside the test, with a thread for each connection, that
 * does what it is told for the nth request; and somebody who asks and keeps what came of it.
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
#include "model/model.h"
#include "t.h"

enum { STAND_MAX_CONNECTIONS = 2048, STAND_REQUEST_BYTES = 64 << 10, STAND_WAIT_MS = 60 * 1000 };

/* ---- a provider ---- */

struct stand;
/* Answers the nth request, from 1. False: the connection is closed. */
typedef bool (*stand_fn)(struct stand *s, int fd, unsigned n, const char *request);

struct stand {
    stand_fn answer;
    void *user;
    int fd;
    unsigned port;
    pthread_t thread;
    pthread_t threads[STAND_MAX_CONNECTIONS];
    int fds[STAND_MAX_CONNECTIONS];
    atomic_uint n_connections, n_requests;
};

struct stand_connection {
    struct stand *stand;
    int fd;
};

static inline void stand_put(int fd, const char *text)
{
    size_t len = strlen(text);
    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n <= 0) return;
        text += n;
        len -= (size_t)n;
    }
}

/* Until the other side has had enough. */
static inline bool stand_stall(int fd)
{
    char c;
    while (read(fd, &c, 1) > 0) continue;
    return false;
}

static inline bool stand_has_all(const char *bytes)
{
    const char *end = strstr(bytes, "\r\n\r\n");
    const char *length = strcasestr(bytes, "content-length: ");
    return end && length && strlen(end + 4) >= strtoul(length + 16, NULL, 10);
}

static inline bool stand_take(int fd, char *request)
{
    size_t len = 0;
    for (request[0] = 0; !stand_has_all(request); request[len] = 0) {
        ssize_t n = read(fd, request + len, STAND_REQUEST_BYTES - 1 - len);
        if (n <= 0) return false;
        len += (size_t)n;
    }
    return true;
}

static inline void *stand_serve(void *user)
{
    struct stand_connection c = *(struct stand_connection *)user;
    char *request = malloc(STAND_REQUEST_BYTES);
    free(user);
    while (request && stand_take(c.fd, request)) {
        unsigned n = atomic_fetch_add(&c.stand->n_requests, 1) + 1;
        if (!c.stand->answer(c.stand, c.fd, n, request)) break;
    }
    free(request);
    shutdown(c.fd, SHUT_RDWR);
    return NULL;
}

static inline void *stand_run(void *user)
{
    struct stand *s = user;
    const int on = 1;
    int fd;
    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        unsigned n = atomic_load(&s->n_connections);
        struct stand_connection *c = malloc(sizeof *c);
        if (!c || n == STAND_MAX_CONNECTIONS) abort();
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        *c = (struct stand_connection){s, fd};
        s->fds[n] = fd;
        if (pthread_create(&s->threads[n], NULL, stand_serve, c) != 0) abort();
        atomic_store(&s->n_connections, n + 1);
    }
    return NULL;
}

static inline struct stand *stand_start(stand_fn answer, void *user)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    struct stand *s = calloc(1, sizeof *s);
    if (!s) abort();
    s->answer = answer;
    s->user = user;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    T_EQ(bind(s->fd, (struct sockaddr *)&at, sizeof at), 0);
    T_EQ(listen(s->fd, 4096), 0);
    T_EQ(getsockname(s->fd, (struct sockaddr *)&at, &len), 0);
    s->port = ntohs(at.sin_port);
    if (pthread_create(&s->thread, NULL, stand_run, s) != 0) abort();
    return s;
}

static inline void stand_stop(struct stand *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    for (unsigned i = 0; i < atomic_load(&s->n_connections); i++) {
        shutdown(s->fds[i], SHUT_RDWR);
        pthread_join(s->threads[i], NULL);
        close(s->fds[i]);
    }
    free(s);
}

/* ---- answers ---- */

#define STAND_STREAM_HEAD                                                                          \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
#define STAND_START                                                                                \
    "data: "                                                                                       \
    "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"content\":"      \
    "[],\"usage\":{\"input_tokens\":1000,\"output_tokens\":1}}}\n\n"                               \
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","    \
    "\"text\":\"\"}}\n\n"
#define STAND_DELTA(text)                                                                          \
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","      \
    "\"text\":\"" text "\"}}\n\n"
#define STAND_END                                                                                  \
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"                                      \
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"       \
    "\"output_tokens\":200}}\n\ndata: {\"type\":\"message_stop\"}\n\n"

static inline void stand_chunk(int fd, const char *text)
{
    char head[32];
    snprintf(head, sizeof head, "%zx\r\n", strlen(text));
    stand_put(fd, head);
    stand_put(fd, text);
    stand_put(fd, "\r\n");
}

static inline bool stand_hello(int fd)
{
    stand_put(fd, STAND_STREAM_HEAD);
    stand_chunk(fd, STAND_START STAND_DELTA("Hel"));
    stand_chunk(fd, STAND_DELTA("lo") STAND_END);
    stand_put(fd, "0\r\n\r\n");
    return true;
}

static inline bool stand_status(int fd, const char *status, const char *fields, const char *body)
{
    char head[512];
    snprintf(head, sizeof head,
             "HTTP/1.1 %s\r\nContent-Type: application/json\r\n%s"
             "Content-Length: %zu\r\n\r\n",
             status, fields, strlen(body));
    stand_put(fd, head);
    stand_put(fd, body);
    return true;
}

/* ---- somebody who asks ---- */

enum { ASKER_BYTES = 4096 };

struct asker {
    void (*on_first)(struct asker *a); /* in the callback of its first delta */
    struct models *models;
    const struct guard *guard; /* NULL: none */
    uint64_t ticket;

    pthread_mutex_t lock; /* over all below */
    pthread_cond_t changed;
    unsigned n_deltas, n_done, n_good;
    size_t n_text;
    char text[ASKER_BYTES];
    struct model_answer answer; /* the last; its texts are copies */
    char why[MODEL_WHY_BYTES], content[ASKER_BYTES], provider[MODEL_NAME_BYTES];
};

static inline void asker_init(struct asker *a, struct models *models)
{
    pthread_condattr_t attributes;
    memset(a, 0, sizeof *a);
    a->models = models;
    pthread_mutex_init(&a->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&a->changed, &attributes);
}

static inline void asker_on_delta(void *user, enum model_delta kind, struct weir_slice delta)
{
    struct asker *a = user;
    (void)kind;
    pthread_mutex_lock(&a->lock);
    size_t room = ASKER_BYTES - 1 - a->n_text, n = delta.len < room ? delta.len : room;
    memcpy(a->text + a->n_text, delta.ptr, n);
    a->n_text += n;
    bool is_first = a->n_deltas++ == 0;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    if (is_first && a->on_first) a->on_first(a);
}

static inline void asker_on_done(void *user, const struct model_answer *answer)
{
    struct asker *a = user;
    pthread_mutex_lock(&a->lock);
    a->n_done++;
    a->n_good += answer->status == WEIR_OK;
    a->answer = *answer;
    snprintf(a->why, sizeof a->why, "%s", answer->why);
    snprintf(a->provider, sizeof a->provider, "%s", answer->provider);
    snprintf(a->content, sizeof a->content, "%.*s", (int)answer->content.len, answer->content.ptr);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static inline enum weir_status asker_ask_for(struct asker *a, enum model_role role,
                                             const char *question)
{
    char messages[1024];
    snprintf(messages, sizeof messages, "[{\"role\":\"user\",\"content\":\"%s\"}]", question);
    struct model_call call = {
        .request = {.role = role,
                    .purpose = "test",
                    .system = SLICE("Be brief."),
                    .messages = weir_slice_of(messages),
                    .max_tokens = 100,
                    .guard = a->guard},
        .on_delta = asker_on_delta,
        .done = asker_on_done,
        .user = a,
    };
    return model_call(a->models, &call, &a->ticket);
}

static inline void asker_ask(struct asker *a)
{
    T_EQ(asker_ask_for(a, MODEL_MAIN, "Hi"), WEIR_OK);
}

/* Until *count, a member of the asker, is that large. */
static inline void asker_wait(struct asker *a, const unsigned *count, unsigned n)
{
    struct timespec deadline = clock_deadline(STAND_WAIT_MS);
    int error = 0;
    pthread_mutex_lock(&a->lock);
    while (*count < n && error == 0)
        error = pthread_cond_timedwait(&a->changed, &a->lock, &deadline);
    T_OK(*count >= n);
    pthread_mutex_unlock(&a->lock);
}

static inline void asker_wait_done(struct asker *a, unsigned n)
{
    asker_wait(a, &a->n_done, n);
}
