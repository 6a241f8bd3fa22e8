/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server in a thread of the test's own process, on a free port of loopback, and clients that
 * speak to it with plain blocking calls that have deadlines.
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/slice.h"
#include "serve/server.h"
#include "t.h"

enum { WAIT_S = 20, REPLY_BYTES = 4 << 20 };

struct running {
    struct server *server;
    struct server_options options;
    pthread_t thread;
    enum weir_status ended;
    uint16_t port;
    char folder[512];
    bool is_up;
};

static inline void *run(void *user)
{
    struct running *r = user;
    r->ended = server_run(r->server);
    return NULL;
}

static inline void set_up(struct running *r)
{
    memset(r, 0, sizeof *r);
    server_options_init(&r->options);
    snprintf(r->folder, sizeof r->folder, "%s/data", t_temp_dir());
    r->options.folder = r->folder;
    r->options.listen[0] = "127.0.0.1:0";
    r->options.n_listen = 1;
    r->options.is_open = true;
    r->options.is_confined = false;
    r->options.n_loops = 2;
}

static inline void start(struct running *r)
{
    struct server_error error;
    enum weir_status st = server_new(&r->server, &r->options, &error);
    T_EQ(st, WEIR_OK);
    if (st != WEIR_OK) {
        t_fail(__FILE__, __LINE__, "%s", error.text);
        return;
    }
    const char *colon = strrchr(server_address(r->server, 0), ':');
    r->port = (uint16_t)strtoul(colon + 1, NULL, 10);
    T_EQ(pthread_create(&r->thread, NULL, run, r), 0);
    r->is_up = true;
}

/* Asking twice does no harm. */
static inline void stop(struct running *r)
{
    if (!r->is_up) return;
    server_stop(r->server);
    pthread_join(r->thread, NULL);
    server_free(r->server);
    r->is_up = false;
}

/* ---- clients ---- */

static inline int dial(const struct running *r)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(r->port)};
    struct timeval limit = {.tv_sec = WAIT_S};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    T_EQ(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static inline void say(int fd, const char *text)
{
    size_t len = strlen(text);
    T_EQ(send(fd, text, len, MSG_NOSIGNAL), len);
}

/* What a client has read; one at a time. */
static char reply[REPLY_BYTES];
static size_t reply_len;

static inline bool hear_some(int fd)
{
    if (reply_len + 1 >= sizeof reply) return false;
    ssize_t n = recv(fd, reply + reply_len, sizeof reply - 1 - reply_len, 0);
    if (n > 0) reply_len += (size_t)n;
    reply[reply_len] = 0;
    return n > 0;
}

/* Reads until a text has come n times. */
static inline bool hear(int fd, const char *text, int n)
{
    for (;;) {
        const char *at = reply;
        int found = 0;
        while ((at = strstr(at, text)) && ++found < n) at++;
        if (found >= n) return true;
        if (!hear_some(fd)) return false;
    }
}

static inline void hear_end(int fd)
{
    while (hear_some(fd)) {
    }
}

static inline void forget(void)
{
    reply_len = 0;
    reply[0] = 0;
}
