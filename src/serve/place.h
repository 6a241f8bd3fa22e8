/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a store is, if not in the data folder: the URL of a database, as libpq reads it, and what
 * must not be shown of it. A password is shown nowhere: not in messages, not in the list of
 * processes. Any thread, but for place_files(), which looks at the environment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    PLACE_BYTES = 8192, /* longest URL, with a NUL */
    PLACE_FILES = 8,    /* most files that place_files() tells of */
    PLACE_PATH_BYTES = 1024,
};

/* "postgres://…", "postgresql://…"; several of them, separated by commas. */
bool place_is_url(const char *place);

/* Whether a password has a character that would have to be escaped there. */
bool place_is_ambiguous(const char *url);

/* Writes over each password in a URL, with "***" as far as there is room, and 'x' behind that. */
void place_wipe(char *url);

/* Does the same to passwords of `url` wherever they stand in `text`. */
void place_hide(char *text, const char *url);

/*
 * Files that connecting to it reads, each time: passwords, certificates and the key, as the URL,
 * the environment and libpq's defaults name them. Only those that are there; how many.
 */
struct place_files {
    char paths[PLACE_FILES][PLACE_PATH_BYTES];
    size_t n;
};
void place_files(struct place_files *out, const char *url);

/*
 * A folder whose node keeps its data elsewhere says so in a file, so that nobody begins another
 * store in it by forgetting to say where. False: it could not be written; there is no such file.
 */
bool place_mark(const char *folder, const char *url);
bool place_marked(const char *folder, char url[PLACE_BYTES]);
