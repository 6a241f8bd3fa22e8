/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of turns share.
 *
 *   turn.c      the Turn as JSON, its ids and log, making one
 *   turns.c     the engine's life; how a turn begins and ends
 *   steps.c     the nine steps, on the agents
 *   case.c      what an agent is given
 *   replay.c    running a turn again, beside what it was
 *   result.c    what a completed turn says
 *   memory.c    an entry of memory
 *   remember.c  memory: what a turn is given, what it leaves
 *   pace.c      waiting before steps
 *   trace.c     how a turn came about
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "agent/path.h"
#include "base/list.h"
#include "base/ulid.h"
#include "call/values.h"
#include "data/shelf.h"
#include "turn/turn.h"

/* ---- turn.c ---- */

/* A Turn in any state; texts are borrowed. */
struct turn_view {
    struct weir_slice id, created_at;
    enum turn_status status;
    int64_t completed_ms;             /* of one that has ended */
    const struct weir_json *messages; /* members but role and content are left out */
    struct weir_slice result;         /* JSON; of a completed one */
    struct weir_slice error;          /* JSON; of a failed one */
};
void turn_put(struct weir_buf *out, const struct turn_view *v);

/* One of the owner's places. */
enum { SLOT_ID_BYTES = TURN_OWNER_BYTES + 8 };
struct doc_key slot_key(char out[SLOT_ID_BYTES], struct weir_slice owner, unsigned slot);

/*
 * What a turn is given beside its messages: {"include_memory":true,"include_biomarkers":true,
 * "memory":[…]}, from its first commit on.
 */
static inline struct doc_key context_key(struct weir_slice id)
{
    return (struct doc_key){{"turn_context", 12}, id};
}

/* ---- result.c ---- */

/* The member "result" of a completed turn. */
void result_put(struct weir_buf *out, const struct outputs *o, double cost_usd,
                int64_t duration_ms);

/* ---- case.c ---- */

struct agent_case;

/* The messages, the question and the seed; all else is zero. */
void case_init(struct agent_case *c, struct weir_slice turn_id, const struct weir_json *messages);
/* What of the person's memory and results the turn may use. */
void case_set_context(struct agent_case *c, const struct weir_json *context);
/* The question for an agent: what step 3 made of it, or the user's own words. */
struct weir_slice case_question(const struct outputs *o, const struct agent_case *c,
                                const char *agent);

/* ---- remember.c: memory ---- */

/*
 * The context of a turn (see context_key()), from its input and the person's newest entries. A turn
 * goes on without memory when that cannot be read. May wait for the disk.
 */
enum { CONTEXT_BYTES = 512 << 10 };
void context_put(struct weir_buf *out, struct store *store, struct weir_slice owner,
                 const struct weir_json *input);

/* What a turn leaves: who it is, when, and what it was given. */
struct memory_origin {
    struct weir_slice turn_id;
    int64_t now_ms;
    const struct weir_json *given; /* NULL: nothing */
};
/*
 * The output of the last step with ids, source and times filled in; `put` is called with each
 * entry's document. The same turn gives the same ids. An entry that has the id of one that the turn
 * was given takes its place.
 */
typedef void (*memory_put_fn)(void *user, struct weir_slice id, bool is_change,
                              struct weir_slice body);
WEIR_MUST_CHECK enum weir_status memory_complete(struct weir_buf *out, struct weir_slice brought,
                                                 const struct memory_origin *origin,
                                                 memory_put_fn put, void *user);

/* ---- pace.c ---- */

struct pacer; /* a thread that wakes steps */

WEIR_MUST_CHECK enum weir_status pacer_new(struct pacer **out, unsigned pace_ms);
/* Nobody is woken any more; then pacer_free(), when nobody waits. NULL is allowed in both. */
void pacer_stop(struct pacer *p);
void pacer_free(struct pacer *p);
/* Goes on with `fn` after the pause. */
void pacer_wait(struct pacer *p, struct flow_step *s, void (*fn)(struct flow_step *s));

/* ---- turns.c ---- */

enum { TURNS_MAGIC = 0x7475726e };

struct turns {
    unsigned magic;
    struct turns_options options;
    struct store *store;
    struct flow *flow;
    struct workflow workflow;
    const struct workflow *workflows[1]; /* the engine looks at it */
    struct shelf shelf;
    struct pacer *pacer; /* NULL: no pause */
    pthread_mutex_t id_lock;
    struct ulid_source ids;
    unsigned n_slots; /* places of an owner that may be taken: from other settings, too */
    struct call_host host;
    struct values_home values;
    pthread_mutex_t attempts_lock;
    struct list attempts; /* at steps, all that there are */
};

/* ---- steps.c ---- */

enum { TURN_STEPS = 9 };
extern const struct step turn_steps[TURN_STEPS];
/* Attempts that nobody goes on with. */
void steps_forget_attempts(struct turns *t);
