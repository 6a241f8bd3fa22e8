/* SPDX-License-Identifier: Apache-2.0 */
/* weir shield key: the keys that maps of placeholders are sealed with. */
#pragma once

#include <stdbool.h>

/* What the command line says. */
struct shield_key_options {
    const char *data; /* the data folder; NULL: as everywhere */
    const char *key;  /* the file; NULL: shield.key in it */
    bool is_json;
};

/* "create", "rotate" or "status"; false: none of them. */
bool shield_key_is_action(const char *word);

/* The exit status. */
int shield_key_run(const char *action, const struct shield_key_options *o);
