/* SPDX-License-Identifier: Apache-2.0 */
/* The data of one person, opened for a command that reads them. */
#pragma once

#include "command.h"
#include "data/dataset.h"

struct person_options {
    const char *data; /* --data; NULL: the usual folder */
    const char *user; /* --user */
};

/* What a command does with the data; returns the exit status. */
typedef int (*person_fn)(struct dataset *d, void *user);

/*
 * Opens the store and the person's data, and calls `use`. Says on standard error why it cannot:
 * no folder, a server that has it open, a store that cannot be read.
 */
int person_run(const struct command *command, const struct person_options *o, person_fn use,
               void *user);

/* Says that the data cannot be read, and why; returns EXIT_FAILED. */
int person_failed(enum weir_status st);
