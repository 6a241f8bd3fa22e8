/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a configuration file: lines of "name = value", comments that begin with #, and
 * sections, "[work]", which are other profiles. What stands before the first section is the
 * profile that nobody has to name; a section inherits nothing from it, so that no key gets to a
 * server that it was not written for.
 *
 * Pure: no file is opened here. Any thread.
 */
#pragma once

#include <weir/types.h>

enum config_name {
    CONFIG_URL,
    CONFIG_KEY,
    CONFIG_KEY_FILE,
    CONFIG_CA_FILE,
    CONFIG_KEEP_EVENTS, /* yes or no; of the profile that nobody has to name (event_keep.h) */
    CONFIG_N_NAMES,
};

enum {
    CONFIG_FILE_BYTES = 64 << 10, /* longest file */
    CONFIG_PROFILE_BYTES = 64,    /* longest name of a profile, with its NUL */
    CONFIG_WHY_BYTES = 512,
};

/* One profile of it. */
struct config_file {
    struct weir_slice values[CONFIG_N_NAMES]; /* borrowed from the text; empty: not there */
    unsigned lines[CONFIG_N_NAMES];           /* where they stand, from 1 on */
    bool has_profile;                         /* the profile that was asked for is there */
    bool has_key;                             /* there is a key in the text, of any profile */
};

struct config_mistake {
    unsigned line; /* from 1 on */
    char why[CONFIG_WHY_BYTES];
};

/*
 * Reads the profile (NULL: what stands before the sections). All of the text is looked at: false
 * and *mistake for the first line that is wrong, whosever profile it is in.
 */
bool config_file_read(struct weir_slice text, const char *profile, struct config_file *out,
                      struct config_mistake *mistake);
