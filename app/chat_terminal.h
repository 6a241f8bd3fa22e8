/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation at a terminal: a line to type on at the bottom, which is there while a turn runs,
 * too; what was said scrolls away above. Escape twice cancels what runs, Ctrl-C cancels and twice
 * quits, Ctrl-D on an empty line quits.
 */
#pragma once

#include "chat.h"

/* The exit status. *signal_number: what ended it, for tty_die() once all else is in order. */
int chat_terminal(struct chat *c, int *signal_number);
