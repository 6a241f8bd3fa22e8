/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the conformance suite asks of an engine. store.c holds the claims of src/store/store.h,
 * and is linked once with each engine's file.
 */
#pragma once

#include "store/store.h"

/* Opens the store that belongs to this folder, making it at first. */
WEIR_MUST_CHECK enum weir_status engine_open(struct store **out, const char *folder,
                                             const struct store_options *options);

/* Whether store_backup() is the engine's business, or that of the database's own programs. */
extern const bool engine_backs_up;
