/* SPDX-License-Identifier: Apache-2.0 */
/* Clients: a fetcher, and the streams on it. See weir/client.h. */
#include "client/client_impl.h"

#include "base/mem.h"

enum { MAX_STREAMS = 256 };

static WEIR_MUST_CHECK enum weir_status start(struct weir_client *c,
                                              const struct weir_client_options *options)
{
    const struct fetcher_options how = {
        .max_running = options->max_streams > 0 ? options->max_streams : MAX_STREAMS,
        .has_no_thread = options->has_no_thread,
    };
    c->has_no_thread = options->has_no_thread;
    c->max_streams = how.max_running;
    return fetcher_new(&c->fetcher, NULL, &how);
}

enum weir_status weir_client_new(struct weir_client **out,
                                 const struct weir_client_options *options)
{
    static const struct weir_client_options usual;
    struct weir_client *c = mem_zalloc(sizeof *c);
    if (!c) return WEIR_NOMEM;
    list_init(&c->streams);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    enum weir_status st = start(c, options ? options : &usual);
    if (st == WEIR_OK) *out = c;
    else weir_client_free(c);
    return st;
}

void weir_client_free(struct weir_client *c)
{
    struct list_node *n;
    if (!c) return;
    fetcher_free(c->fetcher);
    while ((n = list_first(&c->streams)))
        stream_free(CONTAINER_OF(n, struct weir_event_stream, node));
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

int weir_client_fd(const struct weir_client *c)
{
    return fetcher_fd(c->fetcher);
}

int weir_client_timeout_ms(const struct weir_client *c)
{
    return fetcher_wait_ms(c->fetcher);
}

void weir_client_run(struct weir_client *c)
{
    fetcher_round(c->fetcher);
}
