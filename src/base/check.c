/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void check_failed(const char *file, int line, const char *claim)
{
    fprintf(stderr, "weir: %s:%d: this must hold but does not: %s\n", file, line, claim);
    abort();
}
