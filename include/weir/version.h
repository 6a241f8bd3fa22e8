/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version: of the headers at compile time, of the library at run time.
 * Before 1.0 a new minor version may ask for programs to be compiled again.
 * Structs may get more members: initialise them by name, or with zeros.
 */
#pragma once

#include <weir/types.h>

WEIR_BEGIN

#define WEIR_VERSION "0.1.0"

/* The library's own, as "0.1.0". */
WEIR_API const char *weir_version(void);

WEIR_END
