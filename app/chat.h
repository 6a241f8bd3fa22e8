/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation over turns: what was said goes along with the next question. Here is what does not
 * depend on where it is typed and shown; chat_terminal.h and chat_plain.h do the rest.
 *
 * 1. chat_init().
 * 2. For each line: chat_errand_new() with what chat_command_read() made of it; chat_errand_run(),
 *    which waits for the server, in any thread; then chat_errand_end() in this one says what came
 *    of it, and after a question chat_watch() shows its turn.
 * 3. chat_fini().
 *
 * One thread at a time but for chat_errand_run().
 */
#pragma once

#include <stdatomic.h>

#include "chat_command.h"
#include "client_config.h"
#include "dialogue.h"
#include "remote.h"
#include "watcher.h"

enum { CHAT_ID_BYTES = 64, CHAT_USER_BYTES = 128, CHAT_LATE_POSTS = 8 };

struct chat {
    const struct client_config *config;
    const char *user; /* whose, of a folder of this machine; NULL: me */
    bool is_json, is_quiet;
    bool is_not_kept;            /* neither events nor what is typed */
    bool is_session;             /* lines are messages of a session: see chat_session.h */
    char session[CHAT_ID_BYTES]; /* which; "": one that has not begun */
    uint64_t session_seq;        /* the last event of it that was had, from a pipe */
    struct dialogue dialogue;
    char turn[CHAT_ID_BYTES]; /* that was asked last; "": none */
    struct weir_buf result;   /* of the last answer, as JSON; empty: none */
    struct weir_buf answer;   /* of the turn at hand */
    /* What cancels turns that nobody watches any more. */
    struct remote_post *late[CHAT_LATE_POSTS];
};

void chat_init(struct chat *c, const struct client_config *config, const char *user);
void chat_fini(struct chat *c);

/* Something to be asked of the server, with all that is needed for it. */
struct chat_errand {
    struct chat_command command;
    struct client_config config;
    char user[CHAT_USER_BYTES];
    char turn[CHAT_ID_BYTES];    /* the last one before; of a question, its own afterwards */
    char session[CHAT_ID_BYTES]; /* of CHAT_SESSION, when it worked */
    bool is_new;                 /* it was begun by this */
    unsigned columns;            /* of the screen; 0: no end */
    struct weir_buf question;
    struct weir_buf body;    /* the request, the result whose facts are asked for, or what was said
                                in a session */
    size_t n_left_out;       /* earlier questions that do not go along */
    atomic_bool is_unwanted; /* a turn that comes of it is to be cancelled */

    bool is_good;         /* it worked */
    bool is_gone;         /* there was no answer */
    struct weir_buf text; /* for people; why, when it did not work */
};

/* NULL when there is no memory. */
struct chat_errand *chat_errand_new(const struct chat *c, const struct chat_command *command,
                                    struct weir_slice text, unsigned columns);
void chat_errand_run(void *errand);
void chat_errand_free(void *errand);

/*
 * Shows the turn of a question whose errand was good, and keeps what was said. The exit status, as
 * of stream_watch(). `guest` may be NULL.
 */
int chat_watch(struct chat *c, const struct chat_errand *errand, struct watcher_guest *guest,
               int *signal_number);

/* Cancels the turn of an errand that was run, and that nobody wants to watch. */
void chat_cancel_late(struct chat *c, const struct chat_errand *errand);

/* "2 earlier questions do not go along…"; false when all do. */
bool chat_say_left_out(const struct chat_errand *errand, struct weir_buf *out);
