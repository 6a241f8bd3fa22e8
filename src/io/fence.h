/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's fences, for whoever gives up rights: the server (confine.c) and what it lets run
 * (jail.c). Each holds for the thread that enters it, and for all that it starts; there is no way
 * back. PR_SET_NO_NEW_PRIVS comes first.
 *
 * Files: fence_init(), fence_allow() for each path, fence_enter(). fence_fini() always.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- files, by landlock ---- */

struct fence {
    int version; /* of landlock; 0: the kernel has none, or it is off */
    int rules;
    uint64_t known; /* rights that this version has */
};

/* What may be done beneath a path. */
extern const uint64_t fence_read, fence_run, fence_append, fence_read_and_write;

/* is_alone: neither TCP nor anything outside of the fence can be reached, where it knows these. */
bool fence_init(struct fence *f, bool is_alone); /* false: errno */
bool fence_allow(const struct fence *f, const char *path, uint64_t rights);
bool fence_enter(const struct fence *f);
void fence_fini(struct fence *f);
/* Since version 6: nobody outside can be sent a signal. */
bool fence_holds_signals(const struct fence *f);

/* ---- system calls, by seccomp ---- */

/* Taken together as bits. */
enum fence_kind {
    FENCE_SERVER = 0,
    FENCE_ALONE = 1,     /* also limits of others, sockets that lead out, namespaces */
    FENCE_FILES = 2,     /* also the times of files, but for those that are open */
    FENCE_PROCESSES = 4, /* also when others have the processor, and where their memory is */
    FENCE_SIGNALS = 8,   /* also who is sent a signal by a descriptor */
};

/*
 * Calls that turn a foothold into more fail with EPERM from now on: tracing, mounts, modules, keys
 * and so on; and those of `more`. False: errno.
 */
bool fence_calls(const unsigned *more, size_t n_more, unsigned kinds);
