/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process and its surroundings: the user it runs as, what the service manager gives and
 * wants to hear, signals, and what the kernel shall no longer allow.
 *
 * A server starts in this order, each step needing more rights than the next:
 *
 * 1. process_watch_signals(), before there is any thread.
 * 2. process_raise_descriptors().
 * 3. Listen, or process_take_listeners(); read certificates.
 * 4. process_become_user().
 * 5. process_confine(), still before there is any thread: Linux confines the thread that calls,
 *    and those that it starts.
 * 6. Open the store, start threads, process_notify(PROCESS_READY).
 *
 * The main thread only, but process_notify() and process_next_signal(): any.
 */
#pragma once

#include <weir/status.h>

#include "base/clock.h"

struct process_error {
    char text[160];
};

/* ---- rights ---- */

/*
 * Becomes another user for good, with that user's groups, and makes sure that there is no way
 * back. Does nothing when it is that user already. WEIR_NOT_FOUND: no such user. WEIR_FORBIDDEN:
 * this process may not.
 */
WEIR_MUST_CHECK enum weir_status process_become_user(const char *name, struct process_error *error);

enum { PROCESS_REPORT_BYTES = 128 };

/*
 * Gives up what a server does not need. No program gains rights by this process. Files: only
 * below the data folder may it write; it may read there, in the folders of the `readable` files
 * (so that a file that is replaced can be read again) and a few of the system's. Calls that only
 * an intruder makes (running programs, tracing, mounting, modules, and so on) fail with EPERM.
 *
 * What the kernel does not offer is left out and not an error; `report` says what holds, as
 * "landlock 4, seccomp". Nothing is done in a build with sanitizers, which need such calls.
 * WEIR_IO: the data folder cannot be opened, or the kernel refused.
 */
WEIR_MUST_CHECK enum weir_status process_confine(const char *data_folder,
                                                 const char *const *readable, size_t n_readable,
                                                 char report[PROCESS_REPORT_BYTES]);

/*
 * Before process_confine(): a log outside of the data folder, which may be made anew after it was
 * moved away. Files of its folder may be made and appended to then, but neither read nor removed.
 * The path is borrowed; NULL: none.
 */
void process_keep_log(const char *path);

/*
 * Before process_confine(): a folder beside the data folder whose files may be read, made and
 * written; two at most. The path is borrowed; NULL: none.
 */
void process_keep_folder(const char *path);

/* As many descriptors as this user may have. Returns how many that is. */
uint64_t process_raise_descriptors(void);

/* ---- signals ---- */

/*
 * From now on SIGTERM, SIGINT, SIGHUP and SIGUSR1 come through a descriptor that can be watched,
 * in all threads, and SIGPIPE is ignored.
 */
WEIR_MUST_CHECK enum weir_status process_watch_signals(int *fd);
/* The next signal that has come; 0: none. Does not wait. */
int process_next_signal(int fd);

/* ---- the service manager ---- */

enum { PROCESS_MAX_LISTENERS = 64 };

/*
 * The sockets that systemd has opened for this process (sd_listen_fds(3)): *n descriptors from
 * *first on, for sock_adopt(). 0: none. Takes the variables out of the environment.
 * WEIR_INVALID: they are for us, but not well-formed.
 */
WEIR_MUST_CHECK enum weir_status process_take_listeners(int *first, unsigned *n);

enum process_state { PROCESS_READY, PROCESS_RELOADING, PROCESS_STOPPING, PROCESS_ALIVE };

/* Tells systemd (sd_notify(3)); does nothing without one. PROCESS_READY also ends a reload. */
void process_notify(enum process_state state, const struct clock *clock);

/* How often systemd wants to hear PROCESS_ALIVE, with half of the time to spare. 0: never. */
uint64_t process_watchdog_ms(void);
