/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzers of the two dialects share. */
#pragma once

#include <weir/message.h>

void fuzz_message(enum weir_dialect dialect, const uint8_t *data, size_t size);
