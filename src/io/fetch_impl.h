/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the fetcher share. fetch.c has the queue and the thread, fetch_job.c one
 * request: what libcurl is told, what it tells, and when it has taken too long; fetch_origin.c has
 * those that wait for others to connect to the same host; fetch_url.c judges addresses by their
 * text.
 *
 * One thread owns the multi handle and every request that runs; others only put requests into the
 * queue, or on the list of aborted ones, and wake it.
 */
#pragma once

#include <curl/curl.h>
#include <pthread.h>

#include <weir/buf.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "io/fetch.h"

struct fetch_answer {
    CURL *curl;
};

/* One request. */
struct job {
    unsigned magic;
    struct list_node node;         /* in waiting, running or held; in none while it is delayed */
    struct list_node aborted_node; /* in aborted */
    struct heap_node timer;        /* in timers, while it runs or is delayed; may be too early */
    struct fetcher *fetcher;
    uint64_t ticket;

    enum fetch_phase phase;
    enum fetch_end end;    /* FETCH_WHOLE: nothing has ended it but libcurl */
    const char *why;       /* NULL: as the table has it */
    bool is_listed;        /* its host is: any address of it will do */
    bool is_held;          /* until others are connected to its host */
    struct origin *origin; /* of one by TLS, while it connects or is held; or NULL */
    int http_status;       /* once a head has come */
    size_t n_head;         /* bytes of heads */
    uint64_t n_body;
    uint64_t start_ns; /* its time comes, or its turn came */
    uint64_t phase_ns; /* connecting or sending began */
    uint64_t last_ns;  /* something came */

    struct fetch_answer answer; /* its curl is NULL until its turn comes */
    struct curl_slist *fields;
    struct weir_buf gathered;
    struct fetch_request request; /* the slices and texts in it are not kept */
    char *body;                   /* NULL as soon as it is sent and answered */
    size_t n_request;             /* bytes of it */
    const char *ca_file;          /* behind the URL */
    const char *socket;           /* likewise */
    char url[];
};

struct fetcher {
    struct target_rules rules;
    bool has_rules;
    struct fetcher_options options;
    pthread_t thread;

    /* The thread's own. */
    CURLM *multi;
    int epoll_fd;
    uint64_t curl_due_ns; /* when libcurl wants to be called; UINT64_MAX: no need */
    uint64_t seen_ns;     /* all that came before this time has been taken */
    struct heap timers;
    struct list running;
    struct map origins;  /* by name */
    struct list crowded; /* those that hold requests */

    int wake_fd;          /* eventfd */
    pthread_mutex_t lock; /* over all below */
    struct map jobs;      /* by ticket: waiting and running */
    struct list waiting;
    struct list delayed; /* that have no timer yet */
    struct list aborted;
    unsigned n_waiting, n_running;
    uint64_t n_tickets;
    bool is_stopping;
    struct fetcher_stats stats;
};

/* ---- fetch_url.c ---- */

void fetch_need_curl(void);

/* False when it can be no URL: too long, or with blanks or control characters. */
bool fetch_copy_url(struct weir_slice url, char out[FETCH_URL_BYTES]);

/* As fetch_check_url(). *is_listed: its host may be asked whatever its address is. */
WEIR_MUST_CHECK enum weir_status fetch_judge(const struct target_rules *rules, const char *text,
                                             bool *is_listed, const char **why);

/* ---- fetch_job.c ---- */

/* WEIR_INVALID, WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status job_new(struct job **out, struct fetcher *f,
                                         const struct fetch_request *request);
void job_free(struct job *job);
struct job *job_checked(void *user);

/* Its turn has come, and its time begins to run. False: it has ended, as job->end says. */
bool job_take_turn(struct job *job);

/* Makes its handle and hands it to libcurl. False: it has ended, as job->end says. */
bool job_start(struct job *job);

/* When it will have taken too long, as things are; UINT64_MAX: never. */
uint64_t job_due_ns(const struct job *job);

/* What is left of it has to come within this time. */
void job_limit(struct job *job, unsigned ms);

/* It has taken too long. */
void job_expire(struct job *job, uint64_t now_ns);

/* libcurl has ended it. */
void job_judge_code(struct job *job, CURLcode code);

struct fetch_result job_result(const struct job *job);

/* ---- fetch_origin.c ---- */

/* Whether it may connect now. Otherwise it is held. */
bool origin_admit(struct job *job);

/* It is connected, or has ended. */
void origin_leave(struct job *job);

/* One that was held and may connect now; NULL when there is none. */
struct job *origin_release(struct fetcher *f);

/* Any that is held; NULL when there is none. */
struct job *origin_first_held(const struct fetcher *f);
