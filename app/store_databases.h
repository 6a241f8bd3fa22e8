/* SPDX-License-Identifier: Apache-2.0 */
/* `weir store databases`: those of a store that has several, while nodes run. */
#pragma once

#include <stdbool.h>

enum { STORE_DATABASES_NONE = 256 }; /* an option that was not given: no number */

struct store_databases_words {
    char *urls;       /* NULL: the store of the folder. It loses its passwords */
    const char *data; /* --data; NULL: not given */
    unsigned open, close, remove;
    bool is_json;
};

/* Returns the exit status. */
int store_databases(const struct store_databases_words *words);
