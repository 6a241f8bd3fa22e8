/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: conversations with tools that outlive connections, tabs and restarts. One stream for
 * each, which never ends, of all its turns and of whatever else happens. docs/sessions.md has the
 * events and calls.
 *
 * 1. sessions_new() on an open store; sessions_start() goes on with what an earlier process left.
 * 2. Whatever a client wants is a call: session_call_new() to session_call_free(), below.
 * 3. sessions_attach() before a reader gets the log of a session.
 * 4. sessions_stop(), sessions_free().
 *
 * What there is in the store:
 *   document "session" SES            owner, times, title, queue, the turn that runs: state.c
 *   document "session_turn" TRN       a message that waits, runs or has run, and what became of it
 *   document "session_message" SES/TRN/NN   0: the user, 1 to 98: what steered it, 99: the answer
 *   document "session_steer" TRN/N    what was said meanwhile
 *   document "session_tool" TRN/NNN   a tool that changes something: that it began, or its result
 *   document "session_scope" SES/…    what may be done without asking: approval.c
 *   document "approval" AP, "clarify" CLR; "session_pending" of those that nobody has answered
 *   document "session_deleted" SES    a deletion that goes on
 *   document "cron" CRON, "skill" SKL, "skill_shape" OWNER/HASH
 *   log "sessions/SES"                its events, for ever open; what is old is trimmed: retain.c
 *   log "sessions/audit"              every decision about a tool
 *   and the documents of runs, see flow/flow.h; of calls of models, as turns have them.
 *
 * Events have no type of their own: {"type":…} says it. A turn is a run of the workflow
 * "session_turn" with the log of its session.
 *
 * Any thread, but for sessions_new() to sessions_start() and sessions_stop() to sessions_free().
 */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>

#include "flow/flow.h"
#include "io/runner.h"
#include "shield/policy.h"
#include "shield/vault.h"

struct sessions;
struct models; /* model/model.h */

enum {
    SESSION_LEN = 4 + 26,           /* "ses_" and a ULID */
    SESSION_TURN_LEN = 4 + 26,      /* "trn_" and a ULID */
    SESSION_LOG_BYTES = 48,         /* of a log's name */
    SESSION_OWNER_BYTES = 64,       /* with a NUL */
    SESSION_QUEUE = 32,             /* messages that wait, at most */
    SESSION_TEXT_BYTES = 256 << 10, /* of a message */
    SESSION_CLIENT_BYTES = 128,     /* of the name of a tab */
    SESSION_WHY_BYTES = 256,
    SESSION_KEEP_EVENTS = 10000,
    SESSION_PROTOCOL = 1, /* the version that is served */
};
#define SESSION_KEEP_MS (7LL * 24 * 3600 * 1000)

/* 0 or NULL in any field means its default. */
struct sessions_options {
    struct models *models;                   /* NULL: the builtin provider */
    const struct shield_policy *policy;      /* never NULL; borrowed, as all */
    const struct vault *vault;               /* never NULL */
    struct runner *runner;                   /* NULL: there are no tools that touch files */
    const char *folder;                      /* of the sessions' own folders; NULL: the same */
    const struct session_programs *programs; /* of --tools; NULL: none */
    const char *zone;                        /* of schedules that name none; NULL: UTC */
    double max_turn_usd;                     /* 0: no limit */
    uint64_t approval_ms;                    /* 10 min: to answer in, then it is denied */
    uint64_t clarify_ms;                     /* 5 min: to answer in, then the default counts */
    uint64_t keep_events;                    /* SESSION_KEEP_EVENTS: at least these, */
    int64_t keep_ms;                         /* SESSION_KEEP_MS: and those that are younger */
    unsigned n_threads;
    unsigned lease_ms; /* of a node that is silent; 0: flow's own */
    /* At a store that nodes share: as each_log of struct store_options, of logs that are read here;
     * NULL: nobody is told of nodes that come and go before they send or read again. */
    void (*each_log)(void *log_user, unsigned part, store_log_fn each, void *arg);
    void *log_user;
    const struct clock *clock;
    const struct trace *trace;
};

WEIR_MUST_CHECK enum weir_status sessions_new(struct sessions **out, struct store *store,
                                              const struct sessions_options *o);
WEIR_MUST_CHECK enum weir_status sessions_start(struct sessions *s);
/* As flow_stop(). */
void sessions_stop(struct sessions *s, unsigned grace_ms);
void sessions_free(struct sessions *s); /* NULL is allowed */
/* The clock has jumped: for whoever moves it. One on the wall that does is noticed within 10 s. */
void sessions_wake(struct sessions *s);
/* Somebody's data are others than before. */
void sessions_data_changed(struct sessions *s);
/*
 * Another node has put or removed a document: whoever waits here for it looks again; kind empty:
 * any of them may have changed. Short.
 */
void sessions_docs_changed(struct sessions *s, struct weir_slice kind, struct weir_slice id);
/* As flow_drain(). */
bool sessions_drain(struct sessions *s, unsigned grace_ms);
/* As flow_is_giving(). */
bool sessions_are_given(struct sessions *s);

struct sessions_stats {
    struct flow_stats runs;
    uint64_t n_sent, n_queued, n_steered, n_aborted;
    uint64_t n_approvals, n_allowed, n_denied, n_approvals_expired;
    uint64_t n_clarifications, n_answered, n_clarifications_expired;
    uint64_t n_cron_fired, n_skills_proposed, n_tools, n_tools_failed, n_tools_killed, n_trimmed;
    uint64_t n_runner_restarts; /* runner_restarts() */
    uint64_t n_nodes;           /* that live, as far as this one was told, with itself */
};
void sessions_stats(struct sessions *s, struct sessions_stats *out);

bool session_is_id(struct weir_slice text);
struct weir_slice session_log(char out[SESSION_LOG_BYTES], struct weir_slice id);

/* ---- readers ---- */

/*
 * Before a reader gets the log: is it there, and its own; where may it begin? May wait. It also
 * tells the session of nodes that came since it was looked at last. WEIR_NOT_FOUND alike for what
 * is somebody else's, deleted and was never there.
 */
struct session_view {
    uint64_t oldest; /* the first event that is kept; 1: all are */
    uint64_t last;   /* the newest; 0: none */
};
WEIR_MUST_CHECK enum weir_status sessions_attach(struct sessions *s, struct weir_slice owner,
                                                 struct weir_slice id, struct session_view *out);

/* ---- calls ---- */

/*
 * 1. session_method_find(), session_call_new() with the input, which is checked and copied.
 * 2. session_call_prepare(), by a thread that may wait.
 * 3. If session_call_commits(): session_call_decide() inside of a commit, and when that has ended
 *    session_call_committed(), by any thread, short, with what became of it. On WEIR_BUSY and what
 *    the store says of itself nothing has happened. One that session_call_is_settled() changes
 *    nothing, and may be committed all the same, with what the caller adds.
 * 4. On WEIR_OK from all of them session_call_put() writes the output. Else session_call_why() says
 *    what is wrong, for people; empty: the status's own sentence. session_call_free() always.
 * One thread at a time. session_call_run() does 2 to 3 for whoever may wait.
 *
 * WEIR_BAD_FIELD    what is wrong with the input, with the member
 * WEIR_NOT_FOUND    unknown, deleted or somebody else's: no telling which
 * WEIR_CONFLICT     it was answered already, or nothing runs
 * WEIR_CONCURRENCY  the queue, or a list, is full
 * WEIR_TOO_LARGE, WEIR_UNPROCESSABLE; what the store says
 */
struct session_method;
struct session_call;

const struct session_method *session_method_find(struct weir_slice space, struct weir_slice name);
/* The ith of all; NULL: no more. For lists of them. */
const struct session_method *session_method_at(size_t i);
const char *session_method_space(const struct session_method *m);
const char *session_method_name(const struct session_method *m);
bool session_method_writes(const struct session_method *m); /* else reading is enough */
bool session_method_begins(const struct session_method *m); /* a turn comes of it, soon */

/* *out is there also when the input is refused, for its reason; NULL only with WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status session_call_new(struct session_call **out, struct sessions *s,
                                                  const struct session_method *m,
                                                  struct weir_slice owner,
                                                  const struct weir_json *input);
WEIR_MUST_CHECK enum weir_status session_call_prepare(struct session_call *c);
bool session_call_commits(const struct session_call *c);
bool session_call_is_settled(const struct session_call *c);
WEIR_MUST_CHECK enum weir_status session_call_decide(struct session_call *c,
                                                     struct commit_view *view,
                                                     struct commit *commit);
void session_call_committed(struct session_call *c, enum weir_status st);
void session_call_put(struct session_call *c, struct weir_buf *out);
const char *session_call_why(const struct session_call *c);
/* With WEIR_BAD_FIELD, the member of the input that is at fault; empty: all of it. */
struct weir_slice session_call_field(const struct session_call *c);
void session_call_free(struct session_call *c); /* NULL is allowed */
WEIR_MUST_CHECK enum weir_status session_call_run(struct session_call *c);

/* ---- work in other processes ---- */

/* For runner_start(): what sessions let run there. */
extern const struct runner_function session_functions[];

/*
 * Programs of somebody's own that are tools: docs/tools.md. WEIR_BAD_FIELD and others: `why` names
 * the place.
 */
struct session_programs;
WEIR_MUST_CHECK enum weir_status session_programs_read(struct session_programs **out,
                                                       const char *path,
                                                       char why[SESSION_WHY_BYTES]);
void session_programs_free(struct session_programs *p); /* NULL is allowed */

/* ---- audit ---- */

extern const char session_audit_log[]; /* "sessions/audit" */
