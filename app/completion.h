/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is to complete, read from the commands themselves: their options from the rows that
 * they parse by, the words that may stand first from the usage lines of their help, and what an
 * option is for from its line there. So it cannot drift from them.
 */
#pragma once

#include <weir/buf.h>

#include "options.h"

/*
 * Calls `each` for every word that may follow the command's name ("create", "list"): in lower-case
 * letters, behind "weir NAME" or a "|" of the usage lines.
 */
void completion_words(const struct command *command,
                      void (*each)(void *user, struct weir_slice word), void *user);

/* What help says of an option, on its first line; empty when it says nothing. */
struct weir_slice completion_about(const struct command *command, const char *option);

/* The script of a shell: "bash", "zsh", "fish". False: of no other. */
bool completion_script(struct weir_buf *out, const char *shell);
