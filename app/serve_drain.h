/* SPDX-License-Identifier: Apache-2.0 */
/* weir serve --drain: the server that runs on a folder is told to move its work away. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#define DRAIN_NO_TIME UINT_MAX /* wait_ms, when there was no --wait */

/* What the options say. */
struct drain_wish {
    bool is_wished, is_json;
    unsigned wait_ms;
};

/* EXIT_DONE when they make sense, and are all there is beside --data. */
int drain_check(const struct drain_wish *wish, int argc, char **argv);

/* Asks again and again until no work is left or the time is over; returns the exit status. */
int drain_run(const struct drain_wish *wish, const char *data);
