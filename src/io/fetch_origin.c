/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that many requests want to be connected to at the same time.
 *
 * When a connection of HTTP/2 has as many streams as it may, libcurl makes a new one for each
 * further request, though the next of them could carry a hundred. So of the requests to one host
 * by TLS only a few connect at the same time; the others are held until one is through, and mostly
 * find a connection then. What is held counts as connecting, its limit of time included: to its
 * caller there is no difference.
 *
 * An origin is there as long as a request connects to it or is held for it. The fetcher's thread
 * only.
 */
#include <strings.h>

#include "base/mem.h"
#include "base/slice.h"
#include "io/fetch_impl.h"

enum { MAX_CONNECTING = 16 }; /* requests at a time, to one host */

struct origin {
    struct list_node node; /* in crowded, while it holds any */
    struct list held;
    unsigned n_connecting;
    size_t len;
    char name[]; /* "https://host:port", as the URLs have it */
};

static struct weir_slice name_of(const struct job *job)
{
    size_t n_scheme = strlen("https://");
    return slice_of(job->url, n_scheme + strcspn(job->url + n_scheme, "/?#"));
}

/* NULL: there is no memory, and the request is not held. */
static struct origin *origin_need(struct fetcher *f, const struct job *job)
{
    struct weir_slice name = name_of(job);
    struct origin *o = map_get(&f->origins, name);
    if (o) return o;
    o = mem_zalloc(sizeof *o + name.len);
    if (!o) return NULL;
    list_init(&o->held);
    o->len = name.len;
    memcpy(o->name, name.ptr, name.len);
    if (map_put(&f->origins, slice_of(o->name, o->len), o) == WEIR_OK) return o;
    mem_free(o);
    return NULL;
}

static void origin_drop_unused(struct fetcher *f, struct origin *o)
{
    if (o->n_connecting > 0 || !list_is_empty(&o->held)) return;
    map_take(&f->origins, slice_of(o->name, o->len));
    mem_free(o);
}

static void connects(struct job *job, struct origin *o)
{
    job->origin = o;
    o->n_connecting++;
}

bool origin_admit(struct job *job)
{
    struct fetcher *f = job->fetcher;
    if (strncasecmp(job->url, "https://", strlen("https://")) != 0) return true;
    struct origin *o = origin_need(f, job);
    if (!o) return true;
    if (o->n_connecting < MAX_CONNECTING && list_is_empty(&o->held)) {
        connects(job, o);
        return true;
    }
    if (list_is_empty(&o->held)) list_push_back(&f->crowded, &o->node);
    list_push_back(&o->held, &job->node);
    job->origin = o;
    job->is_held = true;
    return false;
}

void origin_leave(struct job *job)
{
    struct origin *o = job->origin;
    if (!o) return;
    job->origin = NULL;
    if (job->is_held) {
        list_remove(&job->node);
        if (list_is_empty(&o->held)) list_remove(&o->node);
    } else {
        o->n_connecting--;
    }
    job->is_held = false;
    origin_drop_unused(job->fetcher, o);
}

struct job *origin_release(struct fetcher *f)
{
    for (struct list_node *n = list_first(&f->crowded); n; n = list_next(&f->crowded, n)) {
        struct origin *o = CONTAINER_OF(n, struct origin, node);
        if (o->n_connecting >= MAX_CONNECTING) continue;
        struct job *job = CONTAINER_OF(list_pop_front(&o->held), struct job, node);
        if (list_is_empty(&o->held)) list_remove(&o->node);
        job->is_held = false;
        connects(job, o);
        return job;
    }
    return NULL;
}

struct job *origin_first_held(const struct fetcher *f)
{
    struct list_node *n = list_first(&f->crowded);
    struct origin *o = n ? CONTAINER_OF(n, struct origin, node) : NULL;
    return o ? CONTAINER_OF(list_first(&o->held), struct job, node) : NULL;
}
