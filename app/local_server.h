/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server for the time of one command: the one that runs on the folder, or, when there is none,
 * one of this process, which listens for nobody else.
 */
#pragma once

#include <stdbool.h>

#include "command.h"

/* What a command does with a server on the folder's control socket; returns the exit status. */
typedef int (*local_server_fn)(const char *folder, void *user);

int local_server_run(const char *folder, local_server_fn use, void *user);

/*
 * While a command uses a server of another process, and that one has gone: one of this process
 * takes its place. Any thread; waits for it. True: there is a server again, whoever started it.
 */
bool local_server_again(const char *folder);

/* The signal that a server of this process ends by, and with it the program; 0: none. Any thread.
 */
int local_server_ending(void);

/* Whether a user or an id can stand in an address as it is: letters, digits and . _ - @. */
bool local_server_is_name(const char *text);
