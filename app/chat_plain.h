/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation without a live terminal: a question a line from standard input, answers to
 * standard output, who works on them to standard error; or every event as a line of JSON.
 */
#pragma once

#include "chat.h"

/* The exit status of the last question. *signal_number as of chat_terminal(). */
int chat_plain(struct chat *c, int *signal_number);
