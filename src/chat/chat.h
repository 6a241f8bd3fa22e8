/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chats: conversations, and replies as durable runs. docs/chat.md has the events and what is kept.
 *
 * 1. chats_new() on an open store; chats_start() goes on with what an earlier process left.
 * 2. chat_draft_init() from a request, chat_draft_decide() inside a commit that is decided when its
 *    turn comes, chats_begin() when that is durable, chat_draft_fini().
 * 3. chats_readers() as readers of a reply come and go: a reply that nobody reads for grace_ms is
 *    aborted. chats_decided() when a decision about private values has been written.
 * 4. chats_stop(), chats_free().
 *
 * What there is in the store (texts have placeholders in place of private values, but for what was
 * allowed; the values are in "shield_map" only, sealed):
 *   document "conversation" CONV        owner, times, agent, newest reply, what is remembered
 *   document "chat_message" CONV/NNNNNN a message; user's and assistant's, with calls of tools
 *   document "reply" MSG                which conversation, state, usage: for ever
 *   document "shield_map" CONV          sealed: guard.h
 *   document "conversation_made" MS/CONV  for lists; "conversation_reply" CONV/MSG: its replies
 *   document "chat_choice" CONV         what the user wants done with what is private
 *   document "chat_deleted" CONV        a deletion that goes on
 *   document "chat_slot" OWNER/N        while a reply is in flight: one of the owner's places
 *   document "chat_reader" MSG          renewed while it is read at another node than it runs at
 *   log "chat/MSG"                      the reply's events, for keep_ms after its end
 *   and the documents of its run, see flow/flow.h; of its calls of models, as turns have them.
 *
 * Events in the log hold placeholders, each whole inside of one event: whoever serves them restores
 * event by event (guard_restore()), always to the same bytes. Each reply ends with exactly one of
 * done, error and dlp_blocked, which is its log's last event.
 *
 * A crash is a pause. Answers of models that were whole are not paid for twice; one that was cut in
 * the middle is gone on with: what was shown is never shown again or taken back.
 *
 * Any thread, but for chats_new() to chats_start() and chats_stop() to chats_free(): one.
 */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>

#include "flow/flow.h"
#include "shield/decision.h"

struct chats;
struct models; /* model/model.h */

enum {
    CHAT_MESSAGE_LEN = 4 + 26,       /* "msg_" and a ULID */
    CHAT_CONVERSATION_BYTES = 72,    /* "conv_" and up to 64 of A-Za-z0-9_-, with a NUL */
    CHAT_OWNER_BYTES = 64,           /* with a NUL */
    CHAT_LOG_BYTES = 48,             /* of a log's name */
    CHAT_KEEP_MS = 24 * 3600 * 1000, /* events last so long after the end */
    CHAT_GRACE_MS = 30 * 1000,
    CHAT_MAX_MESSAGES = 1000,       /* of a conversation */
    CHAT_MESSAGE_BYTES = 512 << 10, /* of one message */
    CHAT_TOOL_ROUNDS = 8,           /* of one reply: then it answers without tools */
};

/* 0 or NULL in any field means its default. */
struct chats_options {
    struct models *models;              /* NULL: the builtin provider. As in turns_options */
    const struct shield_policy *policy; /* never NULL; borrowed */
    const struct vault *vault;          /* never NULL; borrowed */
    unsigned grace_ms, decision_ms;
    int64_t keep_ms;
    unsigned user_replies; /* 3: of one owner in flight; then WEIR_CONCURRENCY */
    double max_reply_usd;  /* 0: no cap */
    bool is_shared;        /* as if the store were one that others have open, too: for tests */
    unsigned n_threads;
    unsigned lease_ms; /* of a node that is silent; 0: flow's own */
    const struct clock *clock;
    const struct trace *trace;
};

WEIR_MUST_CHECK enum weir_status chats_new(struct chats **out, struct store *store,
                                           const struct chats_options *options);
WEIR_MUST_CHECK enum weir_status chats_start(struct chats *c);
void chats_stop(struct chats *c, unsigned grace_ms);
void chats_free(struct chats *c); /* NULL is allowed */

/* ---- making a reply ---- */

/* Borrowed until chat_draft_init() returns; shapes are checked by the caller. */
struct chat_request {
    struct weir_slice owner;
    struct weir_slice agent;          /* "asst_default"; empty: direct, without tools */
    struct weir_slice conversation;   /* empty: a new one. One that is not there is made */
    const struct weir_json *messages; /* new ones, or all from the conversation's first on */
    enum pii_action wish;             /* PII_OFF: the policy's alone */
    bool shows_raw;                   /* privacy_token_map is sent */
    bool has_sources;                 /* citation is sent */
};

struct chat_draft {
    struct chats *chats;
    char id[CHAT_MESSAGE_LEN + 1];
    char conversation[CHAT_CONVERSATION_BYTES];
    void *impl;
};

/*
 * May wait for the disk: a thread of the store's (store_later()). WEIR_NOT_FOUND: the conversation
 * is somebody else's, or there is no such agent; WEIR_BAD_FIELD: the last message is not a new one
 * of the user's; WEIR_GONE: its map was deleted; WEIR_LIMIT; WEIR_NOMEM. chat_draft_fini() always.
 */
WEIR_MUST_CHECK enum weir_status chat_draft_init(struct chat_draft *d, struct chats *c,
                                                 const struct chat_request *request);
/* For a decide. WEIR_CONCURRENCY: no place; WEIR_CONFLICT: the conversation has changed meanwhile,
 * or a reply of it is under way. */
WEIR_MUST_CHECK enum weir_status chat_draft_decide(struct chat_draft *d, struct commit_view *view,
                                                   struct commit *c);
void chat_draft_fini(struct chat_draft *d);
void chats_begin(struct chats *c, struct weir_slice id);

/* ---- replies under way ---- */

struct weir_slice chat_log(char out[CHAT_LOG_BYTES], struct weir_slice message);
bool chat_is_message(struct weir_slice text);
bool chat_is_conversation(struct weir_slice text);

/* A reader came (+1) or went (-1), of any worker. */
void chats_readers(struct chats *c, struct weir_slice message, int change);
/*
 * For a decide: decision_decide() about a reply that is under way. WEIR_NOT_FOUND, too, where that
 * has ended or its conversation is deleted.
 */
WEIR_MUST_CHECK enum weir_status chats_decide(struct decision_answer *a, struct commit_view *view,
                                              struct commit *c);
/* A decision of this message has been written: it goes on. */
void chats_decided(struct chats *c, struct weir_slice message);
/* It ends with `error` code `cancelled`. */
void chats_cancel(struct chats *c, struct weir_slice message, commit_done_fn done, void *user);

/* ---- looking at them; these may wait for the disk ---- */

struct chat_reply {
    char conversation[CHAT_CONVERSATION_BYTES];
    bool has_ended;
    int64_t ended_ms;
};
/* WEIR_NOT_FOUND: unknown, or not this owner's. */
WEIR_MUST_CHECK enum weir_status chats_reply(struct chats *c, struct weir_slice owner,
                                             struct weir_slice message, struct chat_reply *out);
/* The newest reply of a conversation. */
WEIR_MUST_CHECK enum weir_status chats_newest(struct chats *c, struct weir_slice owner,
                                              struct weir_slice conversation,
                                              char message[CHAT_MESSAGE_LEN + 1]);
/* {messageId, conversationId, text, toolCalls, citations, usage, model}, values restored; of one
 * that failed or was blocked the JSON of its last event instead, and *failed is set to its type. */
WEIR_MUST_CHECK enum weir_status chats_result(struct chats *c, struct weir_slice message,
                                              struct weir_buf *out, const char **failed);
/*
 * A guard that restores all events of a reply that are durable now; shared, until
 * chats_guard_release(). NULL: there is nothing to restore, or it cannot be known now. Values that
 * were forgotten before, at whichever node, it does not know. It does not change, but the reply may
 * go on: whoever writes more events of it asks again, which never waits while the reply is running
 * here, or nobody told of another map; a map that was removed counts from when that was told.
 */
const struct guard *chats_guard(struct chats *c, struct weir_slice message);
const struct guard *chats_guard_again(struct chats *c, struct weir_slice message);
void chats_guard_release(struct chats *c, const struct guard *g);
/*
 * An event's data as its readers get them: in some events the placeholders are what is told. NULL:
 * as they are. The data of one event with the same guard, or a newer one, are always the same.
 */
WEIR_MUST_CHECK enum weir_status chat_restore_event(const struct guard *g, struct weir_slice type,
                                                    struct weir_slice json, struct weir_buf *out);

/* {"id","agentId","createdAt","updatedAt","running","closed","title","remembered","messages":[…]},
 * values restored. */
WEIR_MUST_CHECK enum weir_status chats_conversation(struct chats *c, struct weir_slice owner,
                                                    struct weir_slice id, struct weir_buf *out);
/* {"conversations":[…],"next":…}, newest first. */
WEIR_MUST_CHECK enum weir_status chats_list(struct chats *c, struct weir_slice owner,
                                            struct weir_slice after, size_t limit,
                                            struct weir_buf *out);
/*
 * A question about what is private that waits for the owner's answer: {"decisionId",
 * "conversationId","messageId","deadlineAt"}. WEIR_NOT_FOUND whatever else it is.
 */
WEIR_MUST_CHECK enum weir_status chats_question(struct chats *c, struct weir_slice owner,
                                                struct weir_slice id, struct weir_buf *out);
/* Cancels the reply of a conversation that is under way, if there is one. */
WEIR_MUST_CHECK enum weir_status chats_cancel_reply(struct chats *c, struct weir_slice owner,
                                                    struct weir_slice id);
/* With its messages, replies, events and map; a reply under way is cancelled first. */
WEIR_MUST_CHECK enum weir_status chats_delete(struct chats *c, struct weir_slice owner,
                                              struct weir_slice id);
/*
 * The map alone: what was private cannot be restored by anybody any more, and the conversation is
 * only there to be read. WEIR_CONFLICT: a reply of it is under way.
 */
WEIR_MUST_CHECK enum weir_status chats_delete_map(struct chats *c, struct weir_slice owner,
                                                  struct weir_slice id);

struct chats_stats {
    struct flow_stats runs;
    uint64_t n_redacted, n_blocked, n_asked, n_timed_out, n_abandoned;
};
void chats_stats(struct chats *c, struct chats_stats *out);

/* Somebody's data have changed: what is in memory of them is read anew from now on. */
void chats_data_changed(struct chats *c);
/* The clock has jumped: for whoever moves it. */
void chats_wake(struct chats *c);
/*
 * Another node has put or removed a document: whoever waits here for it looks again; kind and id
 * empty: any of them may have changed. Short.
 */
void chats_docs_changed(struct chats *c, struct weir_slice kind, struct weir_slice id);
/* As flow_drain(). */
bool chats_drain(struct chats *c, unsigned grace_ms);
/* As flow_is_giving(). */
bool chats_are_given(struct chats *c);
