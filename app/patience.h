/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for work in the background at a terminal: a line says what is waited for when it takes
 * longer than a moment, Escape twice or Ctrl-C ends the waiting, and signals leave a sane terminal.
 * Elsewhere it just waits.
 */
#pragma once

#include "background.h"

enum patience { PATIENCE_DONE, PATIENCE_CANCELLED, PATIENCE_SIGNAL };

/* *signal_number is set with PATIENCE_SIGNAL: for tty_die(). */
enum patience patience_wait(struct background *b, const char *what, int *signal_number);
