/* SPDX-License-Identifier: Apache-2.0 */
/* What secrets by prefix and secrets by assignment share: whether a value can be one at all. */
#pragma once

#include "shield/scan_impl.h"

/* Shannon's entropy of the bytes, in bits for one of them. */
double entropy_of(struct weir_slice value);

/* Whether a value is what manuals put in place of one: "xxxx", "your-key", "<token>", "EXAMPLE". */
bool value_is_placeholder(struct weir_slice value);
