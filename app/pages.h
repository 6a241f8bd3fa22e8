/* SPDX-License-Identifier: Apache-2.0 */
/* A list of the server's that comes in pages, read up to a number of members. */
#pragma once

#include <weir/json.h>

#include "remote.h"

struct pages {
    const char *path; /* with the query, but for limit and cursor */
    const char *user; /* for remote_path() */
    size_t most;      /* members */
};

/*
 * WEIR_OK with *list, an array of `doc`; else `why` is for people.
 */
WEIR_MUST_CHECK enum weir_status pages_get(const struct client_config *c, const struct pages *p,
                                           struct weir_json_doc *doc, struct weir_json **list,
                                           char why[REMOTE_WHY_BYTES]);
