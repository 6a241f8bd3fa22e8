/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of chats share.
 *
 *   chats.c         the engine's life, its timer, statistics
 *   replies.c       replies in memory: who reads them, what restores them, what they wait for
 *   values.c        private values of a conversation: loading, keeping, handing to readers
 *   conversation.c  conversations and messages as documents
 *   look.c          looking at them
 *   draft.c         making a reply
 *   transcript.c    what a reply has shown so far, from its log
 *   reply.c         the one step of a reply: passes
 *   privacy.c       what is private in a request: finding it, deciding, redacting
 *   tools.c         calls of tools
 *   finish.c        how a reply ends
 *   delete.c        deleting conversations, and their maps
 *   result.c        what a reply said, for those who did not watch
 *   builtin.c       replies without a model
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/ulid.h"
#include "call/ask.h"
#include "chat/chat.h"
#include "data/shelf.h"
#include "shield/restore.h"

enum {
    CHATS_MAGIC = 0x63686174,
    REPLIES_IN_MEMORY = 200000,   /* running, or read by somebody */
    CHAT_JSON_BYTES = 64 << 20,   /* of values that a pass looks at */
    CHAT_BODY_BYTES = 3 << 20,    /* of a document of ours */
    CHAT_EVENT_BYTES = 512 << 10, /* of an event of ours */
};

/* ---- chats.c ---- */

struct chats {
    unsigned magic;
    struct chats_options options;
    struct store *store;
    struct flow *flow;
    struct workflow workflow;
    const struct workflow *workflows[1]; /* the engine looks at it */
    struct call_host host;
    struct shelf shelf;
    bool is_shared; /* other nodes have replies, too */
    bool has_model; /* somebody plays the main role; else the builtin provider */
    pthread_mutex_t id_lock;
    struct ulid_source ids;
    unsigned n_slots; /* places of an owner that may be taken: from other settings, too */

    atomic_uint_fast64_t n_redacted, n_blocked, n_asked, n_timed_out, n_abandoned;

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t due;
    pthread_t timer_thread;
    bool has_timer_thread, is_quitting;
    struct map replies;   /* by message: struct reply */
    struct map snapshots; /* by the address of a guard: struct snapshot */
    struct heap timers;   /* of replies */
    struct list attempts; /* all that there are */
    unsigned n_expiring;  /* commits of deadlines on their way */
    int64_t deletions_at; /* wall time: when those that wait are gone on with; 0: never */
};

/* "msg_", "conv_", "dlp_" and a ULID. WEIR_IO, WEIR_LIMIT. */
WEIR_MUST_CHECK enum weir_status chats_next_id(struct chats *c, const char *prefix, char *out);

/* ---- transcript.c ---- */

/* An event of a reply that is no token. */
struct said {
    struct said *next;
    size_t at; /* bytes of text before it */
    struct weir_slice type, json;
    char bytes[];
};

/* What a reply has shown, in order. One thread at a time. */
struct transcript {
    bool is_loaded;
    struct weir_buf text; /* of all tokens */
    struct said *first, **end;
};

void transcript_init(struct transcript *t);
void transcript_fini(struct transcript *t);
WEIR_MUST_CHECK enum weir_status transcript_add(struct transcript *t, struct weir_slice type,
                                                struct weir_slice json);
/* From the log, once. What the store says. */
WEIR_MUST_CHECK enum weir_status transcript_load(struct transcript *t, struct store *store,
                                                 struct weir_slice message);
/* The nth of its type, from 0; NULL. */
const struct said *transcript_find(const struct transcript *t, const char *type, unsigned n);
unsigned transcript_count(const struct transcript *t, const char *type);
/* The event of a call of a tool: its JSON begins with that id. NULL. */
const struct said *transcript_of_tool(const struct transcript *t, const char *type, const char *id);

/* The question that it asked; false: none. */
bool transcript_decision(const struct transcript *t, char id[DECISION_ID_BYTES]);

/* ---- replies.c ---- */

#define OWN_VALUES (-1)
#define NO_VALUES  INT64_MAX /* the map was removed, for good */

/* A guard that does not change, for any number of readers. */
struct snapshot {
    struct guard *guard;
    struct reply *reply;
    int64_t version; /* of the map it was read from; OWN_VALUES: a run of ours has made it */
    unsigned n_refs; /* under the engine's lock */
};

/* A reply that runs here, or that somebody reads. Under the engine's lock unless told otherwise. */
struct reply {
    struct heap_node timer;
    unsigned n_pins; /* its run, its readers, guards that are out */
    unsigned n_readers;
    bool is_running;  /* a run of this engine is in flight, or ended a moment ago */
    bool has_ended;   /* on_end was called: it is forgotten when that is durable */
    int64_t grace_at; /* wall time, as all three; 0: never */
    int64_t decision_at, forget_at;
    int64_t read_at;      /* when others are told again that it is read here; 0: never */
    int64_t told_version; /* of what they told, when it was last looked at */
    unsigned n_attempts;  /* of its run, here */
    char decision[DECISION_ID_BYTES]; /* that it waits for; empty: none */
    struct flow_step *waiter;         /* whose part 0 is to be resumed; NULL: none */
    struct snapshot *values;          /* the newest; NULL: not known, or nothing is private */
    bool is_stale;                    /* another node has changed the map that they are from */
    char id[CHAT_MESSAGE_LEN + 1];
    char conversation[CHAT_CONVERSATION_BYTES]; /* empty: not known yet */

    pthread_mutex_t lock; /* for the transcript; taken after no other */
    struct transcript transcript;
};

/* With one pin more; NULL: no memory, or too many. */
struct reply *reply_pin(struct chats *c, struct weir_slice message);
void reply_unpin(struct chats *c, struct reply *r);
/* Whose reply it is. */
void reply_belongs(struct chats *c, struct reply *r, struct weir_slice conversation);
/* Whether a node that does not run it has readers of it: see replies.c. */
struct doc_key reader_key(struct weir_slice message);
/* The pin of its run, until it has ended. */
void reply_set_running(struct chats *c, struct weir_slice message);
void reply_ended(struct chats *c, struct weir_slice message);
/* What is in memory of a conversation's values. */
void replies_forget_values(struct chats *c, struct weir_slice conversation);
/* The timer's. */
void replies_fire(struct chats *c, int64_t now_ms);
void replies_forget_all(struct chats *c);

/* It waits for a decision: somebody will resume part 0 of the step, once. */
void reply_wait(struct chats *c, struct reply *r, struct flow_step *s, const char *decision,
                int64_t deadline_ms);
/* Whoever waits goes on. */
void reply_wake(struct chats *c, struct weir_slice message);

/* ---- conversation.c ---- */

enum {
    MESSAGE_ID_BYTES = CHAT_CONVERSATION_BYTES + 8,
    MADE_ID_BYTES = CHAT_CONVERSATION_BYTES + 24,
    BELONGS_ID_BYTES = CHAT_CONVERSATION_BYTES + CHAT_MESSAGE_LEN + 2,
    CHAT_SLOT_BYTES = CHAT_OWNER_BYTES + 8,
    CHAT_SHOWN_BYTES = 64 << 20, /* of a conversation with all its messages */
};

struct conversation {
    struct weir_slice id;
    struct weir_slice agent; /* of the newest reply; empty: direct */
    int64_t created_ms, updated_ms;
    unsigned n_messages;
    struct weir_slice newest;  /* reply; empty: none */
    struct weir_slice running; /* reply; empty: none */
    bool is_deleted;           /* nobody sees it any more; what is left goes soon */
    bool is_closed;            /* its map was deleted: nobody goes on with it */
};
struct doc_key conversation_key(struct weir_slice id);
void conversation_put(struct weir_buf *out, const struct conversation *v);
/* Texts are borrowed from the value. */
bool conversation_read(const struct weir_json *json, struct weir_slice id,
                       struct conversation *out);

/* A document with its JSON. */
struct chat_doc {
    struct doc doc;
    struct weir_json_doc *memory;
    const struct weir_json *json;
};
WEIR_MUST_CHECK enum weir_status chat_doc_get(struct store *store, struct doc_key key,
                                              struct chat_doc *out);
void chat_doc_fini(struct chat_doc *d);

/* One that is there, not deleted, and this owner's: else WEIR_NOT_FOUND. chat_doc_fini() always. */
WEIR_MUST_CHECK enum weir_status conversation_find(struct chats *c, struct weir_slice owner,
                                                   struct weir_slice id, struct chat_doc *doc,
                                                   struct conversation *out);

struct doc_key message_key(char out[MESSAGE_ID_BYTES], struct weir_slice conversation, unsigned n);
struct doc_key made_key(char out[MADE_ID_BYTES], const struct conversation *v);
/* The messages from `from` on, in order; WEIR_OK from `each` to go on. */
typedef enum weir_status (*message_fn)(void *user, unsigned n, const struct weir_json *message);
WEIR_MUST_CHECK enum weir_status messages_each(struct store *store, struct weir_slice conversation,
                                               unsigned from, message_fn each, void *user);

/* A message's text: a string, or the texts of its blocks. */
void message_put_text(struct weir_buf *out, const struct weir_json *content);

/* JSON with the conversation's values in place of placeholders. */
WEIR_MUST_CHECK enum weir_status chats_restored(struct chats *c, struct weir_slice conversation,
                                                struct weir_slice json, struct weir_buf *out);

struct doc_key reply_key(struct weir_slice message);
struct doc_key chat_slot_key(char out[CHAT_SLOT_BYTES], struct weir_slice owner, unsigned slot);
struct doc_key map_key(struct weir_slice conversation);

/* What the user's answer is for the rest of the conversation. */
struct doc_key choice_key(struct weir_slice conversation);
/* A reply belongs to it. */
struct doc_key belongs_key(char out[BELONGS_ID_BYTES], struct weir_slice conversation,
                           struct weir_slice message);

/* ---- delete.c ---- */

/* Goes on with a deletion, unless its reply is under way. */
WEIR_MUST_CHECK enum weir_status chats_finish_deletion(struct chats *c, struct weir_slice id);
WEIR_MUST_CHECK enum weir_status chats_finish_deletions(struct chats *c); /* all there are */
/* They are gone on with by the timer's thread: soon, as when another node has left some; or, for
 * something failed, later. */
void chats_delete_soon(struct chats *c);
void chats_delete_later(struct chats *c, enum weir_status why);

/* ---- values.c: private values ---- */

/* Whether what is private is looked at: the policy's, or stricter as the request wished. */
enum pii_action chats_action(const struct chats *c, enum pii_action wish);

/* The conversation's guard; an empty one when it has none. */
WEIR_MUST_CHECK enum weir_status values_load(struct chats *c, struct weir_slice conversation,
                                             struct guard **out);
/* The same for a reply: what was allowed earlier counts only where the user may be asked. */
WEIR_MUST_CHECK enum weir_status values_load_for(struct chats *c, struct weir_slice conversation,
                                                 enum pii_action wish, struct guard **out);
void values_restore_text(const struct guard *g, enum restore_form form, struct weir_slice text,
                         struct weir_buf *out);
/* Hands a copy of the guard to whoever reads the reply, from now on. */
WEIR_MUST_CHECK enum weir_status values_publish(struct chats *c, struct reply *r,
                                                const struct guard *g);
/* The newest copy, held; NULL: there is none. */
struct snapshot *values_ref(struct chats *c, struct reply *r);
void values_unref(struct chats *c, struct snapshot *s); /* NULL is allowed */
/* The same, with the lock. */
void values_unref_locked(struct chats *c, struct snapshot *s);

/* ---- reply.c ---- */

/* One attempt at a reply, over all its passes. */
struct attempt {
    struct list_node node;
    struct chats *chats;
    struct reply *reply;
    struct asker asker;
    struct guard *guard;      /* NULL: not loaded yet */
    uint64_t guard_version;   /* that was handed out and kept */
    struct snapshot *leaving; /* what looks at a request that is under way; NULL: nobody */
    size_t n_text;            /* bytes of text that recorded answers have shown, in this pass */
    bool is_waiting;          /* for a decision; somebody resumes it */
    enum weir_status status;
    char why[FLOW_MESSAGE_BYTES];
    struct weir_buf out;
};

/* One pass of it. */
struct pass {
    struct chats *chats;
    struct attempt *attempt;
    struct reply *reply;
    struct flow_step *step;
    struct arena *arena;
    struct weir_slice conversation, agent;
    unsigned first, n; /* new messages */
    enum pii_action wish;
    bool shows_raw, has_sources;
    struct weir_buf messages;    /* JSON of the request's, but for the end of the list */
    struct weir_buf preview;     /* what came since the last look, as text */
    size_t fresh_at;             /* where that begins in the messages */
    unsigned round;              /* calls of models that were answered */
    unsigned n_rounds;           /* of these, those that wanted tools */
    unsigned n_tools;            /* calls of tools so far */
    enum decision_choice choice; /* for the rest of the reply; DECISION_OPEN: none yet */
    const char *decider;
    bool has_found, is_blocked;
    uint64_t n_input, n_output;
    char model[MODEL_NAME_BYTES];
};

extern const struct step chat_steps[1];
/* How texts of models become tokens. */
void reply_put_token(struct asker *a, struct weir_buf *json, enum model_delta kind,
                     struct weir_slice text);
size_t reply_ready(struct asker *a, struct weir_slice text, bool is_last);
struct weir_slice reply_shown(struct asker *a);
void replies_forget_attempts(struct chats *c);

/* An event, which the transcript has from now on. */
WEIR_MUST_CHECK enum weir_status reply_emit(struct pass *p, const char *type,
                                            struct weir_buf *json);
/* The same without sending it: somebody else does. */
WEIR_MUST_CHECK enum weir_status pass_note(struct pass *p, const char *type,
                                           struct weir_slice json);
/* Text of weir's own, as tokens; what was shown already is left out. */
WEIR_MUST_CHECK enum weir_status pass_say(struct pass *p, struct weir_slice text);
/* Keeps and hands out what is new in the map, before anything with it in can be durable. */
WEIR_MUST_CHECK enum weir_status pass_keep_values(struct pass *p);

/* ---- privacy.c ---- */

/*
 * Writes the messages as they may leave. p->is_blocked: nothing may, and the output of the step
 * says so. WEIR_PENDING: the user is asked.
 */
WEIR_MUST_CHECK enum weir_status pass_protect(struct pass *p, struct weir_buf *out);
/* Who looks at what leaves for the last time; NULL: nobody. */
const struct guard *pass_egress(const struct pass *p);
/* The reply ends as one that is blocked. */
WEIR_MUST_CHECK enum weir_status pass_block(struct pass *p, const char *reason,
                                            const struct guard_report *report);
WEIR_MUST_CHECK enum weir_status pass_block_residue(struct pass *p);

/* ---- tools.c ---- */

/* Runs what an answer asks for, and adds the results to the messages. */
WEIR_MUST_CHECK enum weir_status tools_answer(struct pass *p, const struct weir_json *content,
                                              bool is_last);
/* Runs one tool for ourselves: `out` has its result with values, or what went wrong, as JSON. */
WEIR_MUST_CHECK enum weir_status tools_use(struct pass *p, const char *name,
                                           const struct weir_json *input, struct weir_buf *out,
                                           bool *is_error);

/* ---- builtin.c ---- */

WEIR_MUST_CHECK enum weir_status builtin_reply(struct pass *p);

/* ---- finish.c ---- */

void reply_on_end(struct flow_step *s, const struct flow_end *end);
