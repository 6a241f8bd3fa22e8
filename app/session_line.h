/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a line that is typed in a session means: a message, a command, or the answer to what waits
 * for a person; and what stands above the line while something does. Pure.
 */
#pragma once

#include <weir/ui.h>

enum session_act {
    SESSION_NOTHING,
    SESSION_SEND, /* a message; it may have to wait for its turn */
    SESSION_STEER,
    SESSION_ABORT,
    SESSION_ALLOW,
    SESSION_DENY,
    SESSION_ANSWER,
    SESSION_CANCEL, /* the question */
    SESSION_NEW,
    SESSION_HELP,
    SESSION_QUIT,
    SESSION_WRONG,
};

struct session_line {
    enum session_act act;
    struct weir_slice text; /* message, reason or answer; of the line or of the ask */
    const char *scope;      /* of SESSION_ALLOW, as tools/approve has them */
    const char *why;        /* of SESSION_WRONG, for people */
};

/* `ask` is what waits for an answer; NULL: nothing does. */
struct session_line session_line_read(struct weir_slice line, const struct weir_ui_ask *ask);

/* What waits longest; NULL: nothing does. */
const struct weir_ui_ask *session_line_ask(const struct weir_ui *s);

/*
 * Appends what waits, as lines, and behind `*n_question` bytes what can be answered, which has to
 * stay in sight. now_ms is the time on the wall.
 */
void session_line_prompt(struct weir_buf *out, const struct weir_ui_ask *ask, int64_t now_ms,
                         size_t *n_question);

/* The commands, as lines. */
void session_line_help(struct weir_buf *out);
