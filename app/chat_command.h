/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of a chat: lines that begin with a slash. What is typed is read, and unknown ones
 * are answered with those that are meant perhaps. Pure.
 */
#pragma once

#include <weir/buf.h>

enum chat_act {
    CHAT_QUESTION, /* no command at all */
    CHAT_TRACE,
    CHAT_FACTS,
    CHAT_MEMORY,
    CHAT_FORGET,
    CHAT_TURNS,
    CHAT_SESSION,
    CHAT_NEW,
    CHAT_HELP,
    CHAT_QUIT,
    CHAT_UNKNOWN, /* such a command, or such an argument of it */
};

enum { CHAT_ARGUMENT_BYTES = 128 };

struct chat_command {
    enum chat_act act;
    char argument[CHAT_ARGUMENT_BYTES]; /* a turn, an entry of memory, a session; may be empty */
};

struct chat_command chat_command_read(struct weir_slice text);

/* What there is, as lines; and what to say of one that is unknown, the nearest first. */
void chat_command_help(struct weir_buf *out);
void chat_command_unknown(struct weir_slice text, struct weir_buf *out);

/*
 * What is meant by the beginning of a command: appends to `line` as much of it as is certain, and
 * to `note` those that it may be, if there are several. Nothing for any other text.
 */
void chat_command_complete(struct weir_slice text, struct weir_buf *line, struct weir_buf *note);
