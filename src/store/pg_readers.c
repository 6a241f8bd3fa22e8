/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a store on PostgreSQL that read for others. */
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_impl.h"

struct read_job {
    struct pg_job job;
    uint64_t from;
    size_t max_bytes;
    log_read_fn done;
    void *user;
    size_t n_name;
    char name[];
};

struct work_job {
    struct pg_job job;
    void (*work)(void *user);
    void *user;
};

static void add_job(struct pg_store *s, struct pg_job *job)
{
    pthread_mutex_lock(&s->reader_lock);
    *s->jobs_end = job;
    s->jobs_end = &job->next;
    pthread_cond_signal(&s->job_added);
    pthread_mutex_unlock(&s->reader_lock);
}

static void run_read(struct store *s, struct pg_job *job)
{
    struct read_job *r = CONTAINER_OF(job, struct read_job, job);
    struct log_read read = {0};
    store_read(s, slice_of(r->name, r->n_name), r->from, r->max_bytes, &read);
    r->done(r->user, &read);
    mem_free(r);
}

void pg_read_later(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                   log_read_fn done, void *user)
{
    struct read_job *read = mem_zalloc(sizeof *read + log.len);
    if (!read) {
        struct log_read none = {.status = WEIR_NOMEM};
        done(user, &none);
        return;
    }
    *read = (struct read_job){.job = {.run = run_read},
                              .from = from,
                              .max_bytes = max_bytes,
                              .done = done,
                              .user = user,
                              .n_name = log.len};
    memcpy(read->name, log.ptr, log.len);
    add_job(pg_store_of(s), &read->job);
}

static void run_work(struct store *s, struct pg_job *job)
{
    (void)s;
    struct work_job *w = CONTAINER_OF(job, struct work_job, job);
    w->work(w->user);
    mem_free(w);
}

enum weir_status pg_later(struct store *s, void (*work)(void *user), void *user)
{
    struct work_job *w = mem_zalloc(sizeof *w);
    if (!w) return WEIR_NOMEM;
    *w = (struct work_job){.job = {.run = run_work}, .work = work, .user = user};
    add_job(pg_store_of(s), &w->job);
    return WEIR_OK;
}

static struct pg_job *next_job(struct pg_store *s)
{
    pthread_mutex_lock(&s->reader_lock);
    while (!s->jobs && !s->readers_stop) pthread_cond_wait(&s->job_added, &s->reader_lock);
    struct pg_job *job = s->jobs;
    if (job) {
        s->jobs = job->next;
        if (!s->jobs) s->jobs_end = &s->jobs;
    }
    pthread_mutex_unlock(&s->reader_lock);
    return job;
}

void *pg_reader_run(void *store)
{
    struct pg_store *s = store;
    struct pg_job *job;
    while ((job = next_job(s))) job->run(&s->store, job);
    return NULL;
}
