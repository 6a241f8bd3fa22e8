/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation in a session: messages are sent while its one stream is watched, what waits for a
 * person is a prompt, and what is decided elsewhere takes the prompt away.
 *
 * At a terminal, chat_session_terminal() shows the whole session until somebody leaves; the session
 * goes on. From a pipe, chat_session_plain() sends a line and shows its turn; what waits for a
 * person is left open, and it is said how to answer it.
 */
#pragma once

#include "chat.h"
#include "line_editor.h"

/* Somebody's terminal, while nothing else draws on it. */
struct chat_desk {
    struct line_editor *editor;
    struct keys *keys;
    bool wants_new; /* set: another session is to be begun */
    bool is_left;   /* set: somebody has left it; else it could not be shown any more */
};

/* With an errand of CHAT_SESSION that was good. *signal_number as of stream_watch(). */
void chat_session_terminal(struct chat *c, const struct chat_errand *errand, struct chat_desk *desk,
                           int *signal_number);

/* One line; the exit status. *is_over: it asked for the end, or nobody answers any more. */
int chat_session_plain(struct chat *c, struct weir_slice line, bool *is_over, int *signal_number);
