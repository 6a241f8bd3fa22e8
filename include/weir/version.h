/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version: of the headers at compile time, of the library at run time.
 * Within one major version, names keep their meaning and structs only grow at
 * their end, so always initialise them by name or with zeros.
 */
#pragma once

#include <weir/types.h>

WEIR_BEGIN

#define WEIR_VERSION "0.1.0"

/* The library's own, as "0.1.0". */
WEIR_API const char *weir_version(void);

WEIR_END
