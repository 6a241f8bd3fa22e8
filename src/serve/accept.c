/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepting: listeners, the ceilings on connections in all and by address, and what happens
 * when descriptors run out: accepting pauses for a moment, everything else goes on.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/slice.h"
#include "serve/worker_impl.h"

enum { FINAL_ACCEPTS = 4096 }; /* taken from a queue when the server goes down */

/* ---- how many there are ---- */

static enum peers_answer enter_host(struct peers *p, uint64_t host)
{
    pthread_mutex_lock(&p->lock);
    uintptr_t n = (uintptr_t)map_get(&p->counts, map_key_of(&host));
    bool has_room =
        n < p->max_each && map_put(&p->counts, map_key_of(&host), (void *)(n + 1)) == WEIR_OK;
    pthread_mutex_unlock(&p->lock);
    return has_room ? PEERS_OK : PEERS_TOO_MANY_EACH;
}

static void leave_host(struct peers *p, uint64_t host)
{
    pthread_mutex_lock(&p->lock);
    uintptr_t n = (uintptr_t)map_get(&p->counts, map_key_of(&host));
    CHECK(n > 0);
    /* A value is never NULL: the last one takes its key away. A value that is set again needs no
     * memory. */
    enum weir_status st = WEIR_OK;
    if (n == 1) (void)map_take(&p->counts, map_key_of(&host));
    else st = map_put(&p->counts, map_key_of(&host), (void *)(n - 1));
    CHECK(st == WEIR_OK);
    pthread_mutex_unlock(&p->lock);
}

enum peers_answer peers_enter(struct peers *p, uint64_t host)
{
    if (atomic_fetch_add(&p->n_all, 1) >= p->max_all) {
        atomic_fetch_sub(&p->n_all, 1);
        return PEERS_TOO_MANY;
    }
    enum peers_answer answer = host ? enter_host(p, host) : PEERS_OK;
    if (answer != PEERS_OK) atomic_fetch_sub(&p->n_all, 1);
    return answer;
}

void peers_leave(struct peers *p, uint64_t host)
{
    atomic_fetch_sub(&p->n_all, 1);
    if (host) leave_host(p, host);
}

/* ---- accepting ---- */

#define REFUSAL                                                                                    \
    "{\"error\":{\"code\":\"too_many_connections\",\"message\":\"there are too many "              \
    "connections\","                                                                               \
    "\"request_id\":\"none\",\"docs_url\":\"/docs/errors#too_many_connections\"}}"

/* Answers once, without a connection of ours, and with no more than this one effort. */
static void write_refusal(struct worker *w, struct sock *sock)
{
    char head[192];
    size_t n;
    int len = snprintf(head, sizeof head,
                       "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\nRetry-After: 1\r\nConnection: close\r\n\r\n",
                       sizeof REFUSAL - 1);
    struct iovec iov[2] = {{head, (size_t)len}, {(void *)(uintptr_t)REFUSAL, sizeof REFUSAL - 1}};
    enum sock_result r = sock_write(sock, iov, 2, &n);
    if (r != SOCK_OK) return;
    sock_end(sock);
    /* Unread bytes would turn the close into a reset, and the answer might be lost. */
    r = sock_read(sock, w->read_buf, READ_BYTES, &n);
    (void)r;
}

static void refuse(struct worker *w, struct sock *sock, enum peers_answer why)
{
    enum close_reason reason = why == PEERS_TOO_MANY ? CLOSE_TOO_MANY : CLOSE_TOO_MANY_PEER;
    count(&w->counters, COUNT_REFUSED, 1);
    counter_add(&w->counters.errors[WEIR_TOO_MANY], 1);
    counter_add(&w->counters.closed[reason], 1);
    if (!sock->tls) write_refusal(w, sock);
    sock_close(sock);
}

/* The hash by which this peer is counted; 0: it is not. */
static uint64_t host_of(const struct worker *w, const struct addr *peer)
{
    bool spares_loopback = w->limits->max_per_address == SERVER_PER_ADDRESS_DEFAULT;
    if (w->server->peers.max_each == 0) return 0;
    if (spares_loopback && addr_is_loopback(peer)) return 0;
    uint64_t host = addr_hash_host(peer);
    return host ? host : 1;
}

static void pause_accepting(struct worker *w)
{
    count(&w->counters, COUNT_NO_FDS, 1);
    for (unsigned i = 0; i < w->n_listeners; i++)
        if (w->listeners[i].is_watched) watch_set(&w->listeners[i].watch, 0);
    timer_set(&w->accept_timer, ACCEPT_PAUSE_MS, 0);
}

void accept_pause_over(struct timer *t)
{
    struct worker *w = CONTAINER_OF(t, struct worker, accept_timer);
    for (unsigned i = 0; i < w->n_listeners; i++)
        if (w->listeners[i].is_watched) watch_set(&w->listeners[i].watch, WATCH_READ);
}

/* False when there is nothing more to accept now. */
static bool accept_one(struct listener *l)
{
    struct worker *w = l->worker;
    struct sock sock;
    struct addr peer;
    struct tls_context *tls = l->is_local ? NULL : w->server->tls;
    enum sock_result r = sock_accept(&sock, l->fd, tls, &peer);
    if (r == SOCK_NO_FDS) pause_accepting(w);
    if (r != SOCK_OK) return false;
    uint64_t host = l->is_local ? 0 : host_of(w, &peer);
    enum peers_answer answer = peers_enter(&w->server->peers, host);
    if (answer != PEERS_OK) {
        refuse(w, &sock, answer);
        return true;
    }
    enum weir_status st = conn_open(w, &sock, l->is_local ? NULL : &peer, host);
    if (st != WEIR_OK) peers_leave(&w->server->peers, host);
    return true;
}

static void on_event(struct watch *watch, int events)
{
    struct listener *l = CONTAINER_OF(watch, struct listener, watch);
    (void)events;
    for (int i = 0; i < ACCEPT_BURST && accept_one(l); i++) {
    }
}

/* ---- listeners ---- */

void worker_listen(struct worker *w, int fd, bool is_local)
{
    CHECK(w->n_listeners < sizeof w->listeners / sizeof *w->listeners);
    w->listeners[w->n_listeners++] = (struct listener){.worker = w, .fd = fd, .is_local = is_local};
}

void listener_start(struct listener *l)
{
    enum weir_status st = watch_start(l->worker->loop, &l->watch, l->fd, WATCH_READ, on_event);
    /* At the start, with descriptors to spare: it is the loop that does not work. */
    CHECK(st == WEIR_OK);
    l->is_watched = true;
}

void listener_stop(struct listener *l)
{
    if (l->fd < 0) return;
    for (int i = 0; l->is_watched && i < FINAL_ACCEPTS && accept_one(l); i++) {
    }
    if (l->is_watched) watch_close(&l->watch, NULL);
    l->is_watched = false;
    close(l->fd);
    l->fd = -1;
}
