/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that waits, in threads of its own, and the store's failures as clients know them.
 *
 * Such work is rare and may last (a backup of gigabytes beside a key that is wanted now), so
 * each piece gets a thread rather than a place in a queue. Its memory is the exchange's,
 * which stays until it is answered.
 */
#include "serve/resource.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/container.h"
#include "base/slice.h"
#include "io/loop.h"

enum {
    RETRY_SOON_S = 1,     /* a queue that was full */
    RETRY_STORAGE_S = 10, /* somebody has to make room, or to start the server again */
    WORK_STACK_BYTES = 1 << 20,
};

struct job {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    void (*work)(void *user);
    void (*then)(struct exchange *ex, void *user);
    void *user;
};

static atomic_uint n_working;

unsigned resource_n_working(void)
{
    return atomic_load(&n_working);
}

static void finish_job(struct post *post)
{
    struct job *job = CONTAINER_OF(post, struct job, post);
    job->then(job->ex, job->user);
}

static void *run_job(void *user)
{
    struct job *job = user;
    job->work(job->user);
    loop_post(job->loop, &job->post);
    atomic_fetch_sub(&n_working, 1);
    return NULL;
}

/* A thread that nobody waits for; false when there is none to be had. */
static bool start_thread(struct job *job)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    bool is_started = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                      pthread_attr_setstacksize(&attributes, WORK_STACK_BYTES) == 0 &&
                      pthread_create(&thread, &attributes, run_job, job) == 0;
    pthread_attr_destroy(&attributes);
    return is_started;
}

void resource_work(struct exchange *ex, void (*work)(void *user),
                   void (*then)(struct exchange *ex, void *user), void *user)
{
    struct job *job = exchange_alloc(ex, sizeof *job);
    if (!job) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *job = (struct job){
        .post = {.run = finish_job},
        .ex = ex,
        .loop = worker_loop(exchange_worker(ex)),
        .work = work,
        .then = then,
        .user = user,
    };
    if (atomic_fetch_add(&n_working, 1) < RESOURCE_MAX_WORK && start_thread(job)) return;
    atomic_fetch_sub(&n_working, 1);
    resource_store_error(ex, WEIR_BUSY);
}

static void refuse_for_now(struct exchange *ex, enum weir_status code, unsigned retry_s,
                           const char *why)
{
    char digits[12];
    int len = snprintf(digits, sizeof digits, "%u", retry_s);
    exchange_field(ex, "Retry-After", slice_of(digits, (size_t)len));
    exchange_error(ex, code, "%s", why);
}

void resource_store_error(struct exchange *ex, enum weir_status st)
{
    switch (st) {
    case WEIR_NO_SPACE:
        refuse_for_now(ex, WEIR_STORAGE, RETRY_STORAGE_S, "the disk is full; reads go on");
        return;
    case WEIR_IO:
    case WEIR_STORAGE:
        refuse_for_now(ex, WEIR_STORAGE, RETRY_STORAGE_S, weir_status_text(WEIR_STORAGE));
        return;
    case WEIR_BUSY:
    case WEIR_NOMEM: refuse_for_now(ex, st, RETRY_SOON_S, weir_status_text(st)); return;
    case WEIR_LIMIT:
        exchange_error(ex, WEIR_TOO_LARGE, "this is more than the store takes");
        return;
    default: exchange_error(ex, st, "%s", weir_status_text(st)); return;
    }
}
