/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody wants of a session, as a call of the server that may be made in another thread
 * (background.h).
 *
 * 1. session_errand_new(), with a line that was read (session_line.h).
 * 2. session_errand_run() waits for the server.
 * 3. What came of it is in the struct; session_errand_free().
 */
#pragma once

#include "chat.h"
#include "session_line.h"

enum { SESSION_CLIENT_BYTES = 32 };

struct session_errand {
    enum session_act act;
    const char *method;
    struct client_config config;
    char user[CHAT_USER_BYTES];
    struct weir_buf input;
    struct weir_buf text; /* of a message: it; else what was typed */
    bool is_shown;        /* the message stands on the screen */

    bool is_good;
    bool is_taken; /* of SESSION_STEER: a turn runs */
    bool is_gone;  /* there was no answer */
    char session[CHAT_ID_BYTES];
    char turn[CHAT_ID_BYTES]; /* of a message */
    char why[REMOTE_WHY_BYTES];
    struct weir_buf messages; /* of SESSION_NOTHING, as JSON */
};

/*
 * `ask` is the id of what is answered; "": nothing is. An act that is no call of the server has no
 * errand: NULL, as when there is no memory.
 */
struct session_errand *session_errand_new(const struct chat *c, const struct session_line *line,
                                          const char *ask);
/* The session is deleted: nobody has said anything in it. */
struct session_errand *session_errand_new_deletion(const struct chat *c);
/* Nothing is wanted but to know what was said. */
struct session_errand *session_errand_new_look(const struct chat *c);
void session_errand_run(void *errand);
void session_errand_free(void *errand);

/* What this program is called by those who look on. */
void session_errand_client(char out[SESSION_CLIENT_BYTES]);
