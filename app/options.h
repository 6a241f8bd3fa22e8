/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines by table: a row says what an option is called, what it takes and where that
 * goes. What is wrong is said on standard error, with the command's name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "command.h"

enum option_kind {
    OPTION_FLAG,  /* bool *: takes nothing, sets it */
    OPTION_UNSET, /* bool *: takes nothing, clears it */
    OPTION_TEXT,  /* const char ** */
    OPTION_TEXTS, /* struct option_texts *: may be given again and again */
    OPTION_COUNT, /* unsigned *: a whole number */
    OPTION_BYTES, /* size_t *: "512", "64K", "16M", "1G" */
    OPTION_TIME,  /* unsigned *, milliseconds: "10" and "10s" are seconds; also ms, m, h */
    OPTION_LIFE,  /* unsigned *, seconds: "90" and "90s" are seconds; also m, h, d */
    OPTION_RATE,  /* double *: "10/s", "600/m", "5000/h"; a number alone is by the second */
};

struct option_texts {
    const char **texts;
    unsigned *n;
    unsigned max;
};

struct option_row {
    const char *name; /* without the dashes */
    enum option_kind kind;
    void *to;
    unsigned long long min, max; /* for numbers; max 0: no bound but the type's */
};

/*
 * Hands over the rows of a command instead of running it: each command begins with options_parse(),
 * and ends there for this once.
 */
typedef void (*option_fn)(void *user, const struct option_row *row);
void options_each(const struct command *command, option_fn each, void *user);

/* Whether it is followed by a value. */
bool option_takes_value(const struct option_row *row);

/*
 * Sets what the options say and returns EXIT_DONE with *n_words words left at *words, or
 * complains and returns EXIT_USAGE. Rows end with one without a name.
 */
int options_parse(const struct command *command, int argc, char **argv,
                  const struct option_row *rows, char ***words, int *n_words);
