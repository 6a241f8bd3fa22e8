/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that touches files, or runs somebody else's program, in processes of its own: no network,
 * no files but those of one folder (and the system's, to be read), limits of time, memory, output
 * and size, and an end that nothing survives: a process that ignores TERM, forks or hides in
 * another session is killed with all its descendants.
 *
 *   server ──socket──▶ guard (forked before there is any thread)
 *      │                  └──▶ runner ──▶ warden of a job ──▶ the job
 *      └───── a socket of the job's own ──────▲
 *
 * 1. runner_start() before there is any thread and before process_confine().
 * 2. runner_open() when threads may be: it starts the one that listens to the wardens.
 * 3. runner_run(), runner_kill(). Callbacks come by that thread and are short.
 * 4. runner_close() when no job is wanted any more: all that run are killed, each `done` is called.
 *
 * When the server dies, however it does, its sockets close, and the wardens end their jobs. When
 * the runner dies, all jobs that have begun are killed and end with WEIR_IO, and the guard starts
 * another one: at once, or after a pause that grows when runners die young. Without a guard, too,
 * there are no jobs any more. The trace has a line of each.
 *
 * A program reads its input from stdin and says on stdout, by lines: {"progress":"…","percent":40}
 * is progress, all else is its result. With exit status 0 it is good; else stderr's last line says
 * what is wrong.
 */
#pragma once

#include <weir/buf.h>

#include "base/trace.h"

struct runner;

enum {
    RUNNER_INPUT_BYTES = 1 << 20,
    RUNNER_OUTPUT_BYTES = 256 << 10, /* of a result; beyond it the job is killed: WEIR_LIMIT */
    RUNNER_LINES = 1000,             /* of progress; more are dropped */
    RUNNER_LINE_BYTES = 4096,
    RUNNER_WHY_BYTES = 512,
    RUNNER_ARGS = 64,
    RUNNER_ARGS_BYTES = 32 << 10,
    RUNNER_JOBS = 256,      /* at a time; then WEIR_BUSY */
    RUNNER_TERM_MS = 2000,  /* between TERM and KILL */
    RUNNER_WALL_MS = 30000, /* as long as a job lasts that names no time */
    RUNNER_CPU_S = 10,      /* of each of its processes */
    RUNNER_MEMORY_MB = 256, /* the same; what it has reserved counts */
    RUNNER_FILE_MB = 16,    /* of each file that it writes */
    RUNNER_FOLDER_MB = 256, /* of all its files */
    RUNNER_FOLDER_FILES = 4096,
    RUNNER_PROCESSES = 128, /* and threads; by the kernel, or looked at now and then */
    RUNNER_FILES = 256,     /* open ones, of each process */
    RUNNER_REPORT_BYTES = 128,
};

/*
 * Work of our own, by name: runs in the job's process, in its folder. Any other status than WEIR_OK
 * counts as WEIR_UNPROCESSABLE, and `why` says what is wrong, in a sentence.
 */
struct runner_function {
    const char *name;
    enum weir_status (*run)(struct weir_slice input, struct weir_buf *out,
                            char why[RUNNER_WHY_BYTES]);
};

struct runner_options {
    const struct runner_function *functions; /* ended by one without a name; they last; or NULL */
    const struct trace *trace;
    bool is_plain; /* as on a kernel that gives no process a world of its own; for tests */
};

WEIR_MUST_CHECK enum weir_status runner_start(struct runner **out, const struct runner_options *o);
WEIR_MUST_CHECK enum weir_status runner_open(struct runner *r);
void runner_close(struct runner *r); /* NULL is allowed */

/* What the kernel offers, as "landlock 7, seccomp, own network, own processes". */
void runner_report(const struct runner *r, char out[RUNNER_REPORT_BYTES]);
/* How often the runner had to be started anew. Any thread. */
uint64_t runner_restarts(struct runner *r);

/* 0 or NULL in any field means its default. */
struct runner_job {
    const char *folder;      /* absolute; made if it is not there (0700), but not its parents */
    const char *function;    /* of ours; NULL: */
    const char *const *argv; /* a program by its absolute path, ended by NULL; absolute paths in it
                              * may be read */
    struct weir_slice input;
    unsigned wall_ms;
    unsigned cpu_s;
    uint64_t memory_bytes;
    uint64_t file_bytes;
    void (*progress)(void *user, struct weir_slice line); /* JSON, as it was said */
    /*
     * Once. WEIR_OK: `output` is the result, any bytes. Else it says what is wrong, for people.
     * WEIR_UNPROCESSABLE: the job says that it failed; WEIR_TIMEOUT; WEIR_LIMIT: it wanted too
     * much; WEIR_CANCELLED: killed; WEIR_IO: it could not be run, or the runner is gone.
     */
    void (*done)(void *user, enum weir_status st, struct weir_slice output);
    void *user;
};
/*
 * Everything is copied. On another status than WEIR_OK nothing is called: WEIR_BUSY, WEIR_LIMIT,
 * WEIR_INVALID, WEIR_SHUTDOWN, WEIR_NOMEM; WEIR_IO: the runner is gone. Any thread.
 */
WEIR_MUST_CHECK enum weir_status runner_run(struct runner *r, const struct runner_job *job,
                                            uint64_t *ticket);
/* TERM, then KILL. `done` comes all the same. Any thread; one that is over: nothing happens. */
void runner_kill(struct runner *r, uint64_t ticket);
