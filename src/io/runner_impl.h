/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a runner share.
 *
 *   runner.c          the server's side: jobs, and the thread that listens to their wardens
 *   runner_guard.c    the guard: starts the runner, and another when that has ended
 *   runner_process.c  the runner: starts wardens, and ends when the server is gone
 *   warden.c          one job's warden: what it says, its time, its end
 *   warden_start.c    how a job begins
 *   warden_room.c     how much there is in its folder
 *   family.c          all processes that descend from one
 *   jail.c            what a job may do
 *
 * All of them are made by _Fork(), which calls no handlers of pthread_atfork(): libuv has one that
 * closes two descriptors of the server's by their numbers, which are somebody else's here.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "io/runner.h"

/* ---- what is said over sockets ---- */

/* The server to a warden, once; the folder, arguments (each with a NUL) and input follow. */
struct job_head {
    uint32_t wall_ms, cpu_s;
    uint64_t memory_bytes, file_bytes;
    int32_t function; /* -1: a program */
    uint32_t n_args, folder_len, args_len, input_len;
};

/* A warden to the server; `len` bytes follow. */
enum say_kind { SAY_PROGRESS = 1, SAY_END };
struct say_head {
    uint32_t kind, status, len;
};

/* What the kernel offers to jobs: the runner to the server, once. */
struct jail_offer {
    int32_t landlock; /* its version; 0: none */
    bool has_seccomp;
    bool has_network;   /* an empty one of its own */
    bool has_processes; /* it sees none but its own, and the kernel ends all at once */
    bool has_mounts;    /* all but its folder is read-only, modes and times, too */
    bool has_signals;   /* it can signal none but its own, by whatever means */
};

/* A runner has ended, and another begins: the guard to the server. */
struct runner_news {
    int32_t status; /* as wait(2) tells it; -1: none could be made */
};

/* ---- runner_guard.c ---- */

/* By the guard; the descriptor is its end of the server's socket. */
_Noreturn void guard_process(int control, const struct runner_options *o);
/*
 * The same with another number, which the server cannot have had; -1. Libraries of the server may
 * remember descriptors of theirs and close these in what is forked here, although all were closed
 * at the start.
 */
int runner_move_high(int fd);

/* ---- runner_process.c ---- */

/* By the runner, of which the guard is the parent. */
_Noreturn void runner_process(int control, const struct runner_options *o,
                              const struct jail_offer *offer);

/* ---- warden.c ---- */

/* The runner to a warden: its job has more processes than it may. */
enum { TOO_MANY_SIGNAL = SIGUSR1 };

struct wish {
    struct job_head head;
    const char *folder;
    char *argv[RUNNER_ARGS + 1];
    struct weir_slice input;
    char *bytes; /* of all */
};

_Noreturn void warden_run(int socket, const struct runner_options *o,
                          const struct jail_offer *offer);

/* ---- warden_start.c ---- */

/* What files and folders take. */
struct room {
    uint64_t n_bytes, n_files;
};

struct started {
    pid_t child; /* the job, or the first process of its world */
    int in, out, err;
    int trouble; /* why it could not begin */
    int outcome; /* of the job, as wait(2) tells it, by the first process of its world */
    int folder;
    struct room before; /* in the folder */
};
/* NULL; else what could not be done, with errno. */
const char *warden_start(struct started *out, const struct wish *w, const struct runner_options *o,
                         const struct jail_offer *offer);

/* ---- warden_room.c ---- */

/* What is in it, when a job begins. False: so much more than may be that nobody counts it. */
bool room_look(int folder, struct room *out);
/* Whether it is not more than RUNNER_FOLDER_…, or at least not more than before the job. */
bool room_is_enough(int folder, const struct room *before);

/* ---- family.c ---- */

/* Kills all that descend from this process, but for `spared` and theirs; how many they were. */
size_t family_kill(const pid_t *spared, size_t n_spared);
/* How many processes and threads descend from each of these. */
void family_count(const pid_t *heads, size_t n_heads, size_t *n_tasks);

/* ---- jail.c ---- */

void jail_probe(struct jail_offer *out, bool is_plain);
/*
 * By the warden: what it forks from now on has a network, processes and mounts of its own. The
 * descriptor of the folder becomes one of its mount. False: errno.
 */
bool jail_unshare(const struct jail_offer *offer, const char *path, int *folder);
/*
 * By the job, in its folder: limits and fences. NULL; else what could not be done, with errno.
 * is_program: it will become another.
 */
const char *jail_enter(const struct jail_offer *offer, const struct wish *w, bool is_program);
/*
 * For a program at last, since this process may have more already: then not even its stack grows.
 * For a function before the fences: it may have so much more; built with sanitizers, any.
 */
bool jail_limit_memory(const struct wish *w, bool is_program);
/* Whether the kernel itself lets a job have RUNNER_PROCESSES and no more. */
bool jail_counts_processes(const struct jail_offer *offer);
void jail_put(const struct jail_offer *offer, char out[RUNNER_REPORT_BYTES]);
