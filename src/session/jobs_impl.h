/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduled prompts: what jobs.c (those there are), job_fire.c (when they are due) and job_calls.c
 * (cron/…) share.
 *
 * Document "cron" CRON, the person's: {"session","name","schedule","timezone","text","nextMs",
 * "lastMs","createdMs"}. It is the truth; what is in memory only says when to look at it.
 *
 * Whoever has the lock of the jobs may take the engine's, never the other way round. Nothing of the
 * store is called with either.
 */
#pragma once

#include "session/cron.h"
#include "session/session_impl.h"

enum {
    JOB_ID_LEN = 5 + 26, /* "cron_" and a ULID */
    CRON_JOBS = 10000,   /* of a person */
    CRON_JOBS_IN_ALL = 500000,
    CRON_PROMPT_BYTES = 32 << 10,
    CRON_PROMPTS_BYTES = 4 << 20, /* of all prompts of a person */
    CRON_NAME_BYTES = 200,
    CRON_ZONE_BYTES = 64,
    CRON_FLYING = 64,     /* commits of jobs on their way at once */
    CRON_AGAIN_MS = 1000, /* before a job that could not be sent is tried again, at first */
    CRON_AGAIN_MAX_MS = 60000,
    CRON_FORGET_AT_ONCE = 64, /* removals in a commit */
};
#define CRON_NEVER UINT64_MAX

/* The document. Borrowed from its JSON. */
struct job_record {
    struct weir_slice session, name, schedule, zone, text; /* name empty: null */
    int64_t next_ms, last_ms, created_ms;                  /* 0: none */
};
struct doc_key job_key(struct weir_slice id);
/* That of a new one. */
struct job_record job_of(const struct new_job *n);
bool job_read(const struct weir_json *json, struct job_record *out);
/* As the document has it, and as clients see it. */
void job_write(struct weir_buf *out, const struct job_record *r);
void job_put_public(struct weir_buf *out, struct weir_slice id, const struct job_record *r);

/* Whose they are. */
struct job_owner {
    struct list jobs;
    size_t n_jobs, n_bytes; /* of prompts */
    char name[SESSION_OWNER_BYTES];
};

/* A zone that is in use. */
struct job_zone {
    struct zone *zone;
    size_t n_uses; /* under the lock: jobs, and whoever is about to make one */
};

/* All under the lock, but for what never changes. */
struct job {
    struct heap_node node;  /* always in: due when it is to be looked at, or CRON_NEVER */
    struct list_node line;  /* of those that are to be fired now */
    struct list_node place; /* among its owner's */
    struct job_owner *owner;
    struct job_zone *zone;
    struct cron cron;
    size_t n_bytes;    /* of its prompt */
    int64_t next_ms;   /* as the document says */
    uint64_t again_ms; /* how long it waited for its last try; 0: it went well */
    unsigned seen;     /* by which look at all of them */
    bool is_new;       /* its commit is on its way: jobs_made() comes */
    bool is_flying;    /* it is being fired */
    bool is_gone;      /* it is freed when it is neither */
    char id[JOB_ID_LEN + 1];
    char session[SESSION_LEN + 1];
};

struct jobs {
    struct sessions *sessions;
    struct due due; /* of the earliest of all */
    pthread_mutex_t lock;
    struct map jobs;   /* by id */
    struct map owners; /* by name: struct job_owner */
    struct map zones;  /* by name: struct job_zone */
    struct heap timers;
    struct list ready;
    unsigned n_flying;
    unsigned n_looks; /* at all of them */
    bool is_pumping, is_to_pump;
    bool is_going;
};

/* The first moment behind now; 0: none. */
int64_t job_next_ms(const struct cron *cron, const struct zone *zone, int64_t now_ms);
/* Under the lock: it is looked at then, or never; the timer knows. */
void job_time(struct jobs *j, struct job *job, uint64_t at_ms);
void jobs_arm(struct jobs *j);
/* Under the lock: it is not there any more. */
void job_forget(struct jobs *j, struct job *job);
/* With no lock: what was removed. */
void jobs_removed(struct sessions *s, struct weir_slice id);
/* The timer's. */
void jobs_fire(struct sessions *s, struct due *d);
