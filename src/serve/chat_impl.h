/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of chats share. docs/chat.md has the requests and events.
 *
 *   chat_create.c     POST: the body, one commit, then the stream or the wait for its end
 *   chat_body.c       what may stand in such a body
 *   chat_events.c     a reply as an event stream: attaching, resuming, values put back
 *   chat_decision.c   the user's answer to a question about private values
 *   conversations.c   conversations: list, one, deleting
 *
 * Things of somebody else are not there, and the answer is the same as for what never was.
 */
#pragma once

#include "chat/chat.h"
#include "io/loop.h"
#include "serve/body.h"
#include "serve/resource.h"

/* ---- chat_body.c ---- */

/*
 * Fills in the request from a body that is an object, but for the owner; *is_streamed stays as it
 * was when the body does not say. `is_direct`: without an agent. False: see the flaw.
 */
bool chat_body_read(const struct weir_json *body, bool is_direct, struct chat_request *r,
                    bool *is_streamed, struct flaw *flaw);

/* ---- chat_events.c ---- */

/* A reply that somebody wants to read. In the exchange's memory. */
struct chat_attach {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct chats *chats;
    char owner[CHAT_OWNER_BYTES];
    char message[CHAT_MESSAGE_LEN + 1];         /* empty: the newest of the conversation */
    char conversation[CHAT_CONVERSATION_BYTES]; /* empty: the owner's newest */
    struct watch_options how;

    enum weir_status status;
    struct chat_reply reply;
    struct chat_reader *reader;
};

void chat_attach_init(struct chat_attach *a, struct exchange *ex);

/* Looks the reply up, and answers with its events. */
void chat_attach(struct chat_attach *a);

/*
 * Whether the request says which event it has (Last-Event-ID), and so begins nothing: 1, with the
 * order filled in; 0: it does not; -1: that was answered with an error.
 */
int chat_take_last_id(struct exchange *ex, struct chat_attach *a);

/* Weir-Message-Id and Weir-Conversation-Id. */
void chat_put_ids(struct exchange *ex, const char *message, const char *conversation);
