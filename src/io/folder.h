/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing a folder with all that it holds, also when somebody who is not trusted has filled it: no
 * link is followed, and no depth of folders in folders costs stack or descriptors. Nobody else may
 * change it meanwhile. Any thread.
 */
#pragma once

#include <weir/status.h>

/* `name` in the folder `parent`. Not there: WEIR_OK. WEIR_IO leaves errno. */
WEIR_MUST_CHECK enum weir_status folder_remove(const char *parent, const char *name);
