/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's policy about what is private, and the key of what is sealed.
 *
 * 1. privacy_read() while files outside of the data folder can still be read.
 * 2. privacy_open() when the data folder is there: its own key is made at the first start.
 * 3. privacy_close().
 */
#pragma once

#include "shield/policy.h"
#include "shield/vault.h"

enum { PRIVACY_ERROR_BYTES = 256 };

struct privacy {
    struct shield_policy *policy;
    struct vault *vault;
};

/* Either may be NULL: the default policy, the key in the data folder. */
struct privacy_files {
    const char *policy, *key;
};

WEIR_MUST_CHECK enum weir_status privacy_read(struct privacy *p, const struct privacy_files *files,
                                              char error[PRIVACY_ERROR_BYTES]);
WEIR_MUST_CHECK enum weir_status privacy_open(struct privacy *p, const char *folder,
                                              char error[PRIVACY_ERROR_BYTES]);
void privacy_close(struct privacy *p);
