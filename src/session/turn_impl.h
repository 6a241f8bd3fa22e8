/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a turn share: turn.c, round.c, steer.c, context.c, shown.c, finish.c and
 * builtin.c.
 */
#pragma once

#include "session/session_impl.h"

enum {
    TURN_TOOL_ROUNDS = 12,  /* answers that may want tools; then it answers without */
    TURN_LONG_ROUNDS = 8,   /* answers that the model's limit has cut, and that it goes on with */
    TURN_STEER_ROUNDS = 60, /* answers, after which nothing that steers is taken any more */
    TURN_CALLS = 200,       /* of tools */
};

/* ---- shown.c ---- */

/* An event of a turn that is no text. */
struct shown_event {
    struct shown_event *next;
    struct weir_slice type, call_id, message_id, json;
    bool is_old; /* it is from the log: an earlier attempt has shown it */
    char bytes[];
};

/* What a turn has shown, in order. */
struct shown {
    bool is_loaded;
    struct shown_event *first, **end; /* the pass's */
    pthread_mutex_t lock;             /* for the text: models add to it as it is sent */
    struct weir_buf text;             /* of all text_delta */
};
void shown_init(struct shown *s);
void shown_fini(struct shown *s);
/* From the log behind event `from`, once. What the store says. */
WEIR_MUST_CHECK enum weir_status shown_load(struct shown *s, struct store *store,
                                            struct weir_slice session, uint64_t from);
WEIR_MUST_CHECK enum weir_status shown_add(struct shown *s, struct weir_slice json);
void shown_add_text(struct shown *s, struct weir_slice text);
unsigned shown_count(const struct shown *s, const char *type);
/* The first of that type, of the call if its id is not empty; NULL. */
const struct shown_event *shown_find(const struct shown *s, const char *type,
                                     struct weir_slice call_id);
bool shown_has_message(const struct shown *s, const char *message_id);

/* ---- steer.c ---- */

/* What was said meanwhile and was taken, with the round that it was taken in. */
struct steers {
    bool is_loaded;
    unsigned n;
    struct {
        unsigned round;
        struct weir_slice text; /* on the heap */
    } list[SESSION_STEERS];
};
void steers_fini(struct steers *s);
WEIR_MUST_CHECK enum weir_status steers_load(struct turn_pass *p);
/* Takes what is new in this round, if it may still count there, durably. */
WEIR_MUST_CHECK enum weir_status steers_take(struct turn_pass *p);
/* The ith of all, from 0, taken if it is new; WEIR_NOT_FOUND: there are no more. */
WEIR_MUST_CHECK enum weir_status steers_next(struct turn_pass *p, unsigned i,
                                             struct weir_slice *text);
/* Whether something is left for the next round. */
WEIR_MUST_CHECK enum weir_status steers_are_left(struct turn_pass *p, bool *are);

/* ---- context.c ---- */

/* What is put in beside what was said. */
struct turn_context {
    bool is_made;
    unsigned n_memories, n_labs;
    struct weir_buf system;  /* for a model */
    struct weir_buf memory;  /* JSON: [{"id","category","text",…}…] */
    struct weir_buf history; /* JSON of earlier messages, but for the end of the list */
};
void context_init(struct turn_context *c);
void context_fini(struct turn_context *c);
/* Once for an attempt; emits context_meta, once for a turn. */
WEIR_MUST_CHECK enum weir_status context_make(struct turn_pass *p);

/* ---- turn.c ---- */

/* One attempt at a turn, over all its passes. */
struct attempt {
    struct live live; /* in the engine's table */
    struct sessions *sessions;
    char session[SESSION_LEN + 1];
    struct asker asker;
    struct call_values values;
    struct shown shown;
    struct steers steers;
    struct turn_context context;
    unsigned n_asked; /* rounds whose request has left */
    size_t n_text;    /* bytes of text that recorded answers have shown, in this pass */
    uint64_t work_ns; /* since when a tool works; 0: none does */
    bool is_waiting;  /* for people, or for a child; somebody resumes it */
    bool is_resting;  /* for people */
    enum weir_status status;
    char why[FLOW_MESSAGE_BYTES];
    struct weir_buf out;
};

/* How long its tool works by now. */
uint64_t attempt_work_ms(const struct attempt *a);

/* The event that a turn begins with, behind its message. */
void turn_put_start(struct weir_buf *json, const struct sessions *s, struct weir_slice turn);

/* One pass of it. */
struct turn_pass {
    struct sessions *sessions;
    struct attempt *attempt;
    struct flow_step *step;
    struct arena *arena;
    struct weir_slice session;
    struct weir_slice text;   /* what the person said */
    struct weir_buf messages; /* JSON of the request's, but for the end of the list */
    unsigned round;           /* answers so far, of models or of our own */
    bool is_going_on;         /* with an answer that was cut */
    bool has_words;           /* a model has said something that is not blank */
    unsigned n_tool_rounds, n_long_rounds;
    unsigned n_calls; /* of tools so far */
    unsigned n_usage; /* answers that somebody was paid for */
    char provider[MODEL_NAME_BYTES], model[MODEL_NAME_BYTES];
};

/* Text of weir's own, as text_delta; what was shown already is left out. */
WEIR_MUST_CHECK enum weir_status turn_say(struct turn_pass *p, struct weir_slice text);
/* Runs the next tool of the turn. */
WEIR_MUST_CHECK enum weir_status pass_call(struct turn_pass *p, struct weir_slice name,
                                           const struct weir_json *input, struct weir_buf *out,
                                           bool *is_error);

/* ---- round.c, builtin.c ---- */

WEIR_MUST_CHECK enum weir_status model_turn(struct turn_pass *p);
WEIR_MUST_CHECK enum weir_status builtin_turn(struct turn_pass *p);

/* How the text of models becomes events: of struct call_host. */
void turn_put_text(struct asker *a, struct weir_buf *json, enum model_delta kind,
                   struct weir_slice text);
size_t turn_text_ready(struct asker *a, struct weir_slice text, bool is_last);
struct weir_slice turn_text_shown(struct asker *a);

/* ---- finish.c ---- */

/* The message of the person, or what steered: its document and event. */
void finish_put_message(struct weir_buf *out, const char *role, struct weir_slice text,
                        int64_t at_ms);
void finish_put_persisted(struct weir_buf *out, const char *message_id, const char *role);
/* The event of one call of a model. */
void finish_put_usage(struct weir_buf *out, const struct model_answer *answer);
