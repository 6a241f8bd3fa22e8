/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain sentences that want something done, without a model: which tool, and its input. A closed
 * list (docs/sessions.md, "Without a model"); whatever is not on it is a question.
 *
 * Pure; any thread.
 */
#pragma once

#include <weir/buf.h>

struct command {
    const char *tool;
    const char *keys[3];         /* members of the input, ended by NULL */
    struct weir_slice values[2]; /* parts of the text, or of `schedule` */
    char schedule[64];
};

/* False: it is none. */
bool command_read(struct weir_slice text, struct command *out);
/* What a sentence ends with is no part of what it names: "Forget that I like tea." */
struct weir_slice command_without_stop(struct weir_slice t);
/* The tool's input, as JSON. */
void command_put_input(struct weir_buf *out, const struct command *c);
