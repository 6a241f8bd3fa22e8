/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded engine: the folder is the store. */
#include "conform/engine.h"

#include <stdio.h>

const bool engine_backs_up = true;

enum weir_status engine_open(struct store **out, const char *folder,
                             const struct store_options *options)
{
    struct store_error error;
    enum weir_status st = store_open(out, folder, options, &error);
    if (st != WEIR_OK) printf("store_open: %s\n", error.text);
    return st;
}
