/* SPDX-License-Identifier: Apache-2.0 */
/* What secrets by prefix and secrets by assignment share: whether a value can be one at all. */
#pragma once

#include "shield/scan_impl.h"

enum { SECRET_FIRSTS = 129 };

/* Where the prefixes that begin with each ASCII byte begin in their table; part of the rules. */
void secret_index(uint8_t firsts[SECRET_FIRSTS]);

/* Shannon's entropy of the bytes, in bits for one of them. */
double entropy_of(struct weir_slice value);

/* Whether a value is what manuals put in place of one: "xxxx", "your-key", "<token>", "EXAMPLE". */
bool value_is_placeholder(struct weir_slice value);
