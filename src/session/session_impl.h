/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this folder share.
 *
 *   sessions.c   the engine: its life, ids, the thread that looks after deadlines
 *   state.c      the document of a session, its messages, its log
 *   title.c      what a session is called that nobody has named
 *   queue.c      sending, what is next, steering, aborting
 *   call.c       calls: their life, checks of inputs, the table of methods
 *   manage.c     sessions/…: list, update, pin
 *   get.c        sessions/get
 *   fork.c       a session that begins as another one
 *   delete.c     deleting, and going on with that
 *   retain.c     what is kept of a log
 *   mesh.c       nodes that come and go
 *   turn.c       the one step of a turn: passes
 *   context.c    what a model is told: history, memory, labs
 *   shown.c      what a turn has shown so far, from the log
 *   round.c      the rounds of a turn with a model
 *   steer.c      what is said meanwhile
 *   finish.c     how a turn begins and ends
 *   builtin.c    turns without a model
 *   command.c    sentences that want something done, without a model
 *   tools.c      the tools of sessions, and calling them
 *   tool_change.c, tool_work.c   those that change the store; those in other processes
 *   programs.c   those that are somebody's own programs
 *   approval.c   asking whether a tool may
 *   clarify.c    asking the user something
 *   pending.c    what waits for an answer
 *   question.c   what both have in common: being asked, answered, closed
 *   scope.c      what was allowed for longer than once
 *   audit.c      what was decided, written down
 *   jobs.c       scheduled prompts: those there are
 *   job_fire.c   and when they are due
 *   job_calls.c  cron/…: create, list, delete
 *   skills.c     questions that are asked again and again, and their shortcuts
 *   skill_shape.c  which questions are alike
 *   skill_calls.c  skills/…: list, accept, reject
 *   notes.c      files of a session; runs in a process of its own
 *   cron.c       schedules
 *   news.c       what other nodes have written
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/ulid.h"
#include "call/values.h"
#include "data/shelf.h"
#include "session/session.h"

enum {
    SESSIONS_MAGIC = 0x73657373,
    SESSION_DOC_BYTES = 256 << 10,
    SESSION_EVENT_BYTES = 512 << 10,
    SESSION_JSON_BYTES = 64 << 20,
    MESH_ABOUT_BYTES = 256,
    MESH_BYTES = 32,
};

/* ---- sessions.c ---- */

/*
 * Something that is due at a moment: a deadline of a question, a scheduled prompt, another try. In
 * the engine's heap, under its lock; `fire` is called by the engine's timer thread, without the
 * lock, when it is out of the heap. Must be short: what may wait goes by a commit.
 */
struct due {
    struct heap_node node;
    struct list_node spare; /* in the list of those that the heap has no room for */
    bool is_set;
    void (*fire)(struct sessions *s, struct due *d);
};
void due_set(struct sessions *s, struct due *d, int64_t at_ms); /* again: moves it */
/* When it returns, `fire` is not under way, unless it is by this very thread. */
void due_clear(struct sessions *s, struct due *d);
/* The same for whoever has the engine's lock; `fire` may be about to begin. */
void due_set_locked(struct sessions *s, struct due *d, int64_t at_ms);
void due_clear_locked(struct sessions *s, struct due *d);

struct jobs;   /* jobs.c */
struct skills; /* skills.c */

struct sessions {
    unsigned magic;
    struct sessions_options options;
    struct store *store;
    struct flow *flow;
    struct workflow workflow;
    const struct workflow *workflows[1]; /* the engine looks at it */
    struct call_host host;
    struct values_home values;
    struct shelf shelf;
    bool has_model;
    char node[27];                /* of this process: a ULID */
    char about[MESH_ABOUT_BYTES]; /* what it can do, JSON: the same for all who hear of it */
    char mesh[MESH_BYTES];        /* who is there, as it was told last: the committer's */
    struct weir_buf mesh_left;    /* sessions to be told, ids in a row: the timer thread's, */
    unsigned mesh_part;           /* and which part of those that are read comes next */
    struct jobs *jobs;

    atomic_bool has_started; /* runs of an earlier process are taken up */

    pthread_mutex_t id_lock;
    struct ulid_source ids;

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t due;
    pthread_t timer_thread;
    bool has_timer_thread, is_quitting, is_stopping;
    struct heap timers;   /* struct due */
    struct list spare;    /* struct due, those that found no room; tried again */
    struct due catch_up;  /* queue.c: what could not be done at once */
    struct due tell_mesh; /* mesh.c: those who read hear who is there */
    bool is_mesh_new;     /* since the first of them was told */
    struct due deletions; /* delete.c: what could not be removed at once */
    struct list asking;   /* question.c: questions on their way into the store */
    pthread_cond_t asked; /* one of them is there */
    struct list works;    /* tool_work.c: what other processes do for turns */
    struct due *firing;   /* by the timer thread, at the moment */
    pthread_cond_t fired;
    struct map turns;      /* by id: struct live, those that run here */
    unsigned n_commits;    /* of the engine's own, on their way: sessions_free() waits */
    pthread_cond_t landed; /* one of them has */
    struct sessions_stats stats;
};

/* prefix and a ULID. WEIR_IO, WEIR_LIMIT. */
WEIR_MUST_CHECK enum weir_status sessions_next_id(struct sessions *s, const char *prefix,
                                                  char *out);
int64_t sessions_now(const struct sessions *s);
/* Counts under the lock: sessions_count(s, offsetof(struct sessions_stats, n_sent)). */
void sessions_count(struct sessions *s, size_t member);

/*
 * A commit of the engine's own, decided when its turn comes. `then` is called by the committer's
 * thread, short. False: no memory, or it is stopping; nothing is called.
 */
struct own_commit {
    enum weir_status (*decide)(void *user, struct commit_view *view, struct commit *c);
    void (*then)(void *user, enum weir_status st);
    void *user;
};
bool sessions_commit(struct sessions *s, const struct own_commit *o);
/* The same for what waits for the disk: `work` is called by a thread that may. */
bool sessions_later(struct sessions *s, void (*work)(struct sessions *s, struct weir_slice id),
                    struct weir_slice id);

/* ---- state.c ---- */

enum { SESSION_MARKS = 16 };

struct session_usage {
    uint64_t n_input, n_output, n_cache_read, n_cache_write, n_calls;
    double cost_usd;
};

/* The document of a session. Texts are borrowed from its JSON, or from whoever sets them. */
struct session {
    struct weir_slice id;
    struct weir_slice title, parent; /* empty: null */
    struct weir_slice provider, model;
    bool is_pinned, is_deleted;
    bool is_untitled; /* by wish: no message gives it a title */
    int64_t created_ms, updated_ms;
    uint64_t n_turns;          /* that have ended */
    struct weir_slice running; /* turn; empty: none */
    struct weir_slice newest;  /* turn that was sent last: the next is behind it; empty: none */
    struct weir_slice queue[SESSION_QUEUE];
    unsigned n_queue;
    uint64_t oldest; /* event that is kept */
    struct {
        int64_t at_ms;
        uint64_t last; /* the newest event at that moment */
    } marks[SESSION_MARKS];
    unsigned n_marks;
    struct weir_slice node; /* whose coming it was told */
    struct session_usage usage;
};

/* {"input","output","cacheRead","cacheWrite","calls","costUsd"} */
void session_usage_put(struct weir_buf *out, const struct session_usage *u);
bool session_usage_read(const struct weir_json *json, struct session_usage *out);
/* The member "skill" of what is said of a turn: it is there for those that came of one. */
void session_skill_put(struct weir_buf *out, bool is_skill);
bool session_skill_read(const struct weir_json *json);

struct doc_key session_key(struct weir_slice id);
void session_put(struct weir_buf *out, const struct session *v);
bool session_read(const struct weir_json *json, struct weir_slice id, struct session *out);

/* A document with its JSON. */
struct session_doc {
    struct doc doc;
    struct weir_json_doc *memory;
    const struct weir_json *json;
};
/* WEIR_NOT_FOUND, WEIR_CORRUPT; what the store says. session_doc_fini() always. */
WEIR_MUST_CHECK enum weir_status session_doc_get(struct store *store, struct doc_key key,
                                                 struct session_doc *out);
/* The same in a decide: the bytes are the view's, the values ours. */
WEIR_MUST_CHECK enum weir_status session_doc_view(struct commit_view *view, struct doc_key key,
                                                  struct session_doc *out);
void session_doc_fini(struct session_doc *d);

/* The owner's, and not deleted, else WEIR_NOT_FOUND; owner empty: anybody's. */
WEIR_MUST_CHECK enum weir_status session_find(struct store *store, struct weir_slice owner,
                                              struct weir_slice id, struct session_doc *doc,
                                              struct session *out);
WEIR_MUST_CHECK enum weir_status session_find_view(struct commit_view *view,
                                                   struct weir_slice owner, struct weir_slice id,
                                                   struct session_doc *doc, struct session *out);
/* Puts it back with the version that was found. */
WEIR_MUST_CHECK enum weir_status session_keep(struct commit *c, const struct session_doc *doc,
                                              const struct session *v);
/* An event in a commit: one line of JSON with "type". */
WEIR_MUST_CHECK enum weir_status session_append(struct commit *c, struct weir_slice id,
                                                struct weir_slice json);

/* "ses_…/trn_…/NN", of which NN is what 0, the steering ones and 99 are called in session.h. */
enum { SESSION_MESSAGE_BYTES = SESSION_LEN + SESSION_TURN_LEN + 8 };
struct doc_key session_message_key(char out[SESSION_MESSAGE_BYTES], struct weir_slice session,
                                   struct weir_slice turn, unsigned n);
/* "msg_…_N" of a message of a turn. */
enum { SESSION_MESSAGE_ID_BYTES = 4 + 26 + 4 };
void session_message_id(char out[SESSION_MESSAGE_ID_BYTES], struct weir_slice turn, unsigned n);
/* In order; WEIR_OK from `each` to go on. */
typedef enum weir_status (*session_message_fn)(void *user, struct weir_slice turn, unsigned n,
                                               const struct weir_json *message);
WEIR_MUST_CHECK enum weir_status session_messages_each(struct store *store,
                                                       struct weir_slice session,
                                                       session_message_fn each, void *user);

/* ---- title.c ---- */

enum {
    SESSION_TITLE_CHARS = 60,
    SESSION_TITLE_BYTES = SESSION_TITLE_CHARS * 4 + 1,
};
/* The first line that says something, on one line, cut behind a word if it is long. */
struct weir_slice session_title(char out[SESSION_TITLE_BYTES], struct weir_slice text);

/* ---- queue.c ---- */

/* One more message, in a decide: it runs at once or waits. WEIR_CONCURRENCY: the queue is full. */
struct sending {
    struct weir_slice owner;
    struct weir_slice session; /* one that is there, unless */
    bool is_new;               /* it is made now: an id of sessions_next_id(s, "ses_", …) */
    struct weir_slice text;
    struct weir_slice client; /* whose tab; empty: nobody's */
    struct weir_slice job;    /* the scheduled prompt; empty: none */
    bool is_skill;            /* the text came of one */
    /* Its id, from sessions_next_id(s, "trn_", …); the decide may put it behind the newest. */
    char turn[SESSION_TURN_LEN + 1];
    bool begins; /* out: it runs at once: session_begin() when durable */
};
WEIR_MUST_CHECK enum weir_status session_send_decide(struct sessions *s, struct sending *m,
                                                     struct commit_view *view, struct commit *c);
void session_begin(struct sessions *s, struct weir_slice turn);
/* A turn has ended, durably: what is next? The workflow's on_ended. */
void session_turn_ended(void *sessions, struct weir_slice turn);
void session_catch_up(struct sessions *s, struct due *d);
/* At the start, and when something failed: sessions whose turn has ended without that. */
WEIR_MUST_CHECK enum weir_status sessions_go_on(struct sessions *s);

/*
 * A new session, in a decide; `id` from sessions_next_id(s, "ses_", …). It hears of its nodes at
 * once, so its log is there. Without a title the first message gives it one.
 */
WEIR_MUST_CHECK enum weir_status session_make(struct sessions *s, struct weir_slice owner,
                                              struct weir_slice id, struct weir_slice title,
                                              struct commit *c, struct session *out);

/*
 * The input of a run, as JSON: {"session","text","job","client","from","skill"}; from: the log's
 * newest event before the turn; skill: true, or left out.
 */

/*
 * Document "session_turn" TRN: {"session","text","job","client","state","createdMs","endedMs",
 * "provider","model","usage":{…},"skill"}; state queued, running, done, error, aborted; skill: true
 * when the text came of one, else left out. Those of the end are put by on_end. Document
 * "session_has" SES/TRN: whose it is.
 */
struct session_turn {
    struct weir_slice session, text, job, client, state, provider, model;
    int64_t created_ms, ended_ms; /* 0: it has not */
    struct session_usage usage;
    bool is_skill;
};
void session_turn_put(struct weir_buf *out, const struct session_turn *t);
bool session_turn_read(const struct weir_json *json, struct session_turn *out);
struct doc_key session_turn_key(struct weir_slice turn);

/*
 * Document "session_steer" TRN/NN, from 1 without a gap: {"text","at"}; the pass that takes it adds
 * "round". What no pass has taken when the turn is done becomes a message of its own.
 */
enum {
    SESSION_STEERS = 32, /* of a turn, at most; together they are no longer than a message */
    SESSION_STEER_TEXT = SESSION_TEXT_BYTES / SESSION_STEERS,
    SESSION_STEER_BYTES = SESSION_TURN_LEN + 4
};
struct doc_key session_steer_key(char out[SESSION_STEER_BYTES], struct weir_slice turn, unsigned n);

/* ---- manage.c, get.c, fork.c, delete.c ---- */

/* As clients see it. */
void session_show(struct weir_buf *out, const struct session *v);
/* The member "id", or "sessionId", which means the same. */
WEIR_MUST_CHECK enum weir_status call_session_id(struct session_call *c, struct weir_slice *out);

enum weir_status session_get_check(struct session_call *c);
enum weir_status session_get_prepare(struct session_call *c);
void session_get_put(struct session_call *c, struct weir_buf *out);
void session_get_fini(struct session_call *c);

enum weir_status session_fork_check(struct session_call *c);
enum weir_status session_fork_prepare(struct session_call *c);
enum weir_status session_fork_decide(struct session_call *c, struct commit_view *view,
                                     struct commit *commit);
void session_fork_committed(struct session_call *c, enum weir_status st);
void session_fork_put(struct session_call *c, struct weir_buf *out);
void session_fork_fini(struct session_call *c);

enum weir_status session_delete_check(struct session_call *c);
enum weir_status session_delete_prepare(struct session_call *c);
enum weir_status session_delete_decide(struct session_call *c, struct commit_view *view,
                                       struct commit *commit);
void session_delete_committed(struct session_call *c, enum weir_status st);

struct doc_key session_deleted_key(struct weir_slice id);
/* What an earlier process did not come to. */
WEIR_MUST_CHECK enum weir_status sessions_finish_deletions(struct sessions *s);
/* The same while turns run: what could not be removed, or a node that is gone has left. */
void session_delete_again(struct sessions *s, struct due *d);
/* Of one that is marked and has no turn; for sessions_later(). */
void session_finish_deletion(struct sessions *s, struct weir_slice id);

/* ---- retain.c, mesh.c: in a decide that keeps the session anyway; *has_changed if it must ---- */

WEIR_MUST_CHECK enum weir_status retain_look(struct sessions *s, struct commit_view *view,
                                             struct session *v, bool *has_changed);
/* When that is durable. */
void retain_trim(struct sessions *s, struct weir_slice session, uint64_t oldest);
/* The stream brings the news that decide_attach() finds; nobody has to wait for them. */
void retain_look_later(struct sessions *s, struct weir_slice id);
void mesh_init(struct sessions *s); /* before the engine of runs */
void mesh_fini(struct sessions *s);
/* Others are there than before, or those who read may not have heard of it: in so many ms. */
void mesh_changed(struct sessions *s, unsigned in_ms);
/* Whether it has heard of all nodes that are there, and of no other. */
bool mesh_is_told(struct sessions *s, const struct session *v);
size_t mesh_count(struct sessions *s); /* of those that a session would be told of now */
/* Appends mesh.changed if it has not. */
WEIR_MUST_CHECK enum weir_status mesh_look(struct sessions *s, struct session *v, struct commit *c,
                                           bool *has_changed);

/* ---- turn.c ---- */

/* A turn that runs here. Under the engine's lock. */
struct live {
    char id[SESSION_TURN_LEN + 1];
    struct flow_step *waiter; /* whose part 0 is to be resumed; NULL: none */
    bool has_news;            /* turn_wake() came while nobody waited */
    struct due deadline;      /* of the question it waits for */
    char question[64];        /* approval or clarification; empty: none */
    char asked[64];           /* the newest that this attempt asked: it may be on its way */
    int64_t asked_until_ms;
    enum weir_status asked_status; /* why it did not get there */
};
/* Whoever waits goes on, or is not waited for: no harm. Any thread. */
void turn_wake(struct sessions *s, struct weir_slice turn);

struct turn_pass; /* turn_impl.h: one pass through the step */
extern const struct step session_steps[1];
/* The engine's host of calls, before call_host_init(). */
void turn_host_init(struct sessions *s);
/* What the turns that run here had in memory: after flow_free(). */
void turns_forget(struct sessions *s);
void turn_on_begin(struct flow_step *s);
void turn_on_end(struct flow_step *s, const struct flow_end *end);
/* The end is durable: session_turn_ended(), and what was in memory is not any more. */
void turn_on_ended(void *sessions, struct weir_slice turn);
/* It goes on at another node. */
void turn_on_left(void *sessions, struct weir_slice turn);

/* What a pass offers to those who ask people things. */
struct sessions *pass_sessions(const struct turn_pass *p);
struct flow_step *pass_step(const struct turn_pass *p);
struct arena *pass_arena(const struct turn_pass *p);
struct weir_slice pass_session(const struct turn_pass *p);
struct weir_slice pass_turn(const struct turn_pass *p);
struct weir_slice pass_owner(const struct turn_pass *p);
/*
 * An event of the turn, {"type":…}. What a turn has shown is known to all its passes, over crashes,
 * too: before an event of a tool is emitted, pass_shown_call() tells whether an earlier pass did.
 */
WEIR_MUST_CHECK enum weir_status pass_emit(struct turn_pass *p, struct weir_buf *json);
/* The JSON of the first event of that type with that toolCallId; len 0: it was not shown. */
struct weir_slice pass_shown_call(const struct turn_pass *p, const char *type,
                                  struct weir_slice call_id);
/* A tool works from now on, unless it did before; how long it has by now, in ms, if it does. */
void pass_work_begin(struct turn_pass *p);
uint64_t pass_work_end(struct turn_pass *p);
/*
 * The pass ends here, and another begins when turn_wake() is called or, by the engine's timer, when
 * `deadline_ms` (wall time; 0: none) has passed: then `expire` is called first, by the timer, which
 * commits what the deadline means and calls turn_wake() when that has landed. A turn_wake() that
 * comes while the pass still runs, or came before, is not lost: there is another pass at once that
 * finds what there is. So whoever answers commits first, then wakes. Returns WEIR_PENDING.
 */
WEIR_MUST_CHECK enum weir_status pass_wait(struct turn_pass *p, struct weir_slice question,
                                           int64_t deadline_ms,
                                           void (*expire)(struct sessions *s, struct due *d));

/* The same for work that somebody else does: turn_wake() when there is something new. */
WEIR_MUST_CHECK enum weir_status pass_wait_work(struct turn_pass *p);

/* ---- approval.c ---- */

struct approval_wish {
    struct weir_slice call_id; /* toolCallId */
    unsigned number;           /* of the call in its turn, from 1: names the approval */
    const char *tool;
    struct weir_slice args;   /* JSON */
    struct weir_slice reason; /* empty: null */
    /* Whether it can be at all: nobody is asked about what cannot. Not looked at again when it was
     * asked about, for then it may be done already. NULL: it can. */
    enum weir_status (*can)(void *user);
    void *user;
};
enum approval_state { APPROVAL_ALLOWED, APPROVAL_DENIED };
/* WEIR_OK: *state, and `why` for the model if it was denied. WEIR_PENDING: people are asked. */
WEIR_MUST_CHECK enum weir_status approval_ask(struct turn_pass *p, const struct approval_wish *w,
                                              enum approval_state *state,
                                              char why[SESSION_WHY_BYTES]);
/*
 * All that a turn has asked and nobody answered is denied, in a decide (abort) or in the end of its
 * run (on_end); the questions are found by questions_open(), which may wait. What is on its way
 * into the store by then, and takes long, is closed when the end is durable, by
 * questions_close_left().
 */
struct open_questions {
    struct weir_slice ids[64]; /* in the arena */
    unsigned n;
};
WEIR_MUST_CHECK enum weir_status questions_open(struct sessions *s, struct weir_slice owner,
                                                struct weir_slice turn, struct arena *arena,
                                                struct open_questions *out);
WEIR_MUST_CHECK enum weir_status questions_close_decide(struct sessions *s,
                                                        const struct open_questions *q,
                                                        const char *by, struct commit_view *view,
                                                        struct commit *c);
WEIR_MUST_CHECK enum weir_status questions_close_end(struct flow_step *s,
                                                     const struct open_questions *q,
                                                     const char *by);
void questions_close_left(struct sessions *s, struct weir_slice turn); /* may wait */
/* At the start: the same for turns that ended just before the last stop. */
WEIR_MUST_CHECK enum weir_status questions_close_orphans(struct sessions *s);
/* What was on its way, and never got there: after flow_free(). */
void questions_forget(struct sessions *s);

/* ---- clarify.c ---- */

struct clarify_wish {
    unsigned number; /* of the call in its turn, from 1 */
    struct weir_slice question;
    const struct weir_json *options;  /* array of strings; NULL: none */
    struct weir_slice default_answer; /* ptr NULL: none */
};
enum clarify_source { CLARIFY_USER, CLARIFY_DEFAULT, CLARIFY_NO_DEFAULT, CLARIFY_CANCEL };
/*
 * WEIR_OK: the answer is in the pass's arena. WEIR_PENDING. WEIR_BAD_FIELD: it cannot be asked like
 * that (no question, options that are no texts, too much of it): the model is told.
 */
WEIR_MUST_CHECK enum weir_status clarify_ask(struct turn_pass *p, const struct clarify_wish *w,
                                             enum clarify_source *source,
                                             struct weir_slice *answer);

/* ---- tools.c ---- */

/* For the model: tools of agent/tool.h, and those of sessions. */
void session_tools_put(struct sessions *s, struct weir_buf *out);
/* tools/catalog: {"groups":[{"group","tools":[{"name","description"}]}]} */
void session_tools_put_catalog(struct sessions *s, struct weir_buf *out);
/*
 * Runs one call: emits tool_start, progress and tool_end, asks before it changes something. `out`
 * has the result as the model is told, JSON or text. WEIR_PENDING: people are asked, or a child
 * works.
 */
struct tool_wish {
    unsigned number;           /* of the call in its turn, from 1 */
    struct weir_slice call_id; /* "tc_", the ULID of the turn, "_N" */
    struct weir_slice name;
    const struct weir_json *input;
};
WEIR_MUST_CHECK enum weir_status session_tool_call(struct turn_pass *p, const struct tool_wish *w,
                                                   struct weir_buf *out, bool *is_error);
/*
 * The turn is to end soon: what a child does for it is killed, and turn_wake() comes. False: there
 * is none any more. Any thread.
 */
bool tools_abort(struct sessions *s, struct weir_slice turn);
/* Nobody wants to know any more what becomes of its work. */
void tools_turn_ended(struct sessions *s, struct weir_slice turn);
void tools_forget(struct sessions *s); /* of none; when the runner is closed */

/* ---- jobs.c ---- */

WEIR_MUST_CHECK enum weir_status jobs_start(struct sessions *s); /* reads all */
void jobs_go(struct sessions *s);                                /* runs can begin: from now on */
void jobs_free(struct jobs *j);                                  /* NULL is allowed */
/* Another node has made, fired or removed one, or any; for sessions_later(). */
void jobs_look(struct sessions *s, struct weir_slice id);
void jobs_look_all(struct sessions *s, struct weir_slice nobody);
/* In on_end of a turn that a job has sent: cron.fired goes with the end. */
WEIR_MUST_CHECK enum weir_status jobs_turn_ended(struct flow_step *s, struct weir_slice job,
                                                 const struct flow_end *end);
/*
 * For the tool and the call: makes one. jobs_check(), which may wait; on WEIR_OK jobs_put() in a
 * decide, and jobs_made() in any case, when it is known what became of that.
 */
struct job; /* in memory */
struct new_job {
    struct weir_slice owner, session;  /* session empty: one of its own is made with it */
    struct weir_slice schedule, text;  /* borrowed, as all */
    struct weir_slice zone, name;      /* empty: the default; none */
    char id[5 + 26 + 1];               /* "cron_" and a ULID; one that is set counts: when it
                                          is there already, nothing happens */
    char own_session[SESSION_LEN + 1]; /* out, if `session` is empty */
    char zone_name[64];                /* out, as next_ms */
    int64_t next_ms, created_ms;
    struct job *job;
    char why[SESSION_WHY_BYTES];
};
/* Checks schedule, zone and text. WEIR_BAD_FIELD, WEIR_CONCURRENCY: why. */
WEIR_MUST_CHECK enum weir_status jobs_check(struct sessions *s, struct new_job *n);
/* The same without making anything: jobs_made() is not called. WEIR_BAD_FIELD: why. */
WEIR_MUST_CHECK enum weir_status jobs_make_sense(struct sessions *s, struct new_job *n);
/* WEIR_NOT_FOUND: there is no such session of the owner's. */
WEIR_MUST_CHECK enum weir_status jobs_put(struct sessions *s, const struct new_job *n,
                                          struct commit_view *view, struct commit *c);
void jobs_made(struct sessions *s, struct new_job *n, enum weir_status st);
/* With a session that is deleted its jobs go: in prepare of the deletion, may wait. */
WEIR_MUST_CHECK enum weir_status jobs_forget_session(struct sessions *s, struct weir_slice owner,
                                                     struct weir_slice session);

/* ---- skills.c ---- */

/*
 * In on_end of a turn that is done: the third question of a shape proposes a skill. The input is
 * that of its run; what came of a skill itself does not count.
 */
WEIR_MUST_CHECK enum weir_status skills_turn_done(struct flow_step *s,
                                                  const struct weir_json *input);
/* "/name" becomes what the skill says, in `out`; false: it is no skill, the text is as it is. */
WEIR_MUST_CHECK enum weir_status skills_expand(struct sessions *s, struct weir_slice owner,
                                               struct weir_slice text, struct weir_buf *out,
                                               bool *is_skill);
/* The same in a decide. */
WEIR_MUST_CHECK enum weir_status skills_expand_view(struct commit_view *view,
                                                    struct weir_slice owner, struct weir_slice text,
                                                    struct weir_buf *out, bool *is_skill);

/* ---- call.c ---- */

struct session_call {
    struct sessions *sessions;
    const struct session_method *method;
    struct arena arena;
    char owner[SESSION_OWNER_BYTES];
    struct weir_json_doc *memory;
    const struct weir_json *input; /* an object, ours */
    char why[SESSION_WHY_BYTES];
    struct weir_slice field; /* the member of the input that is at fault; empty: none */
    int64_t now_ms;
    bool is_settled; /* set by `prepare`: there is nothing to commit */
    void *data;      /* the method's, in the arena */
};

struct session_method {
    const char *space, *name;
    bool is_write;
    const char *const *members; /* all that an input may have, ended by NULL; NULL: anything */
    /* Looks at the input. All but `put` may be NULL. */
    enum weir_status (*check)(struct session_call *c);
    enum weir_status (*prepare)(struct session_call *c);
    enum weir_status (*decide)(struct session_call *c, struct commit_view *view,
                               struct commit *commit);
    void (*committed)(struct session_call *c, enum weir_status st);
    void (*put)(struct session_call *c, struct weir_buf *out);
    void (*fini)(struct session_call *c);
};
/* Each of these files has a table of its own, ended by a row without a space. */
extern const struct session_method chat_methods[];     /* queue.c: chat/send, abort, steer */
extern const struct session_method manage_methods[];   /* manage.c: sessions/… */
extern const struct session_method approval_methods[]; /* tools/approve, deny, catalog */
extern const struct session_method clarify_methods[];  /* clarify/respond */
extern const struct session_method pending_methods[];  /* tools/listPending, clarify/listPending */
extern const struct session_method job_methods[];      /* cron/… */
extern const struct session_method skill_methods[];    /* skills/… */

/* Says why, and returns the status: return call_refuse(c, WEIR_BAD_FIELD, "…"). */
enum weir_status call_refuse(struct session_call *c, enum weir_status st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A member that is a string of 1 to `max` bytes without NUL; WEIR_BAD_FIELD names it. */
struct call_text {
    const char *member;
    size_t max;
    bool is_optional, may_be_null, may_be_empty;
    bool is_label; /* lists show it: in one line, and as it is */
};
WEIR_MUST_CHECK enum weir_status call_text(struct session_call *c, const struct call_text *t,
                                           struct weir_slice *out);
/* The member "id", or its long name ("jobId"), which means the same; not both. */
WEIR_MUST_CHECK enum weir_status call_id(struct session_call *c, const char *long_name,
                                         struct weir_slice *out);

/*
 * Answers that list all of somebody's documents of a kind: {MEMBER: […], …}. call_list() is for
 * `prepare`, and the other two are `put` and `fini`. Documents that cannot be read are left out.
 */
struct call_list {
    const char *kind, *member;
    size_t limit;
    /* A document as clients see it, or nothing. `n` counts whatever the method wants counted. */
    void (*put_one)(struct weir_buf *out, struct weir_slice id, const struct weir_json *json,
                    size_t *n);
    void (*put_rest)(struct weir_buf *out, size_t n); /* members behind the list; may be NULL */
};
WEIR_MUST_CHECK enum weir_status call_list(struct session_call *c, const struct call_list *list);
void call_list_put(struct session_call *c, struct weir_buf *out);
void call_list_fini(struct session_call *c);

/* {"ok":true} */
void call_put_ok(struct session_call *c, struct weir_buf *out);
