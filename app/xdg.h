/* SPDX-License-Identifier: Apache-2.0 */
/* Where the files of a user belong (the XDG Base Directory standard). */
#pragma once

#include <stdbool.h>

enum { XDG_PATH_BYTES = 4096 };

enum xdg_kind { XDG_CONFIG, XDG_DATA, XDG_STATE };

/*
 * $XDG_CONFIG_HOME/weir or ~/.config/weir, and likewise for the others: ~/.local/share/weir,
 * ~/.local/state/weir. Relative values count for nothing, as the standard has it. False when there
 * is neither, or it is too long.
 */
bool xdg_folder(enum xdg_kind kind, char out[XDG_PATH_BYTES]);

/* The value of a variable; NULL when it is not there or empty. */
const char *xdg_environment(const char *name);
