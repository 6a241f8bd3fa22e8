/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a part of a case in a process of its own, for what cannot be undone. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* In such a part: ends it when the claim is wrong. */
#define NEED(claim)                                                                                \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim);                            \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* Whether all that `part` needed held. */
static inline bool child_passes(void (*part)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        part();
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}
