/* SPDX-License-Identifier: Apache-2.0 */
/* Keccak-256 as Ethereum has it, which is SHA-3 before its padding was changed. */
#pragma once

#include <weir/types.h>

enum { KECCAK_BYTES = 32 };

void keccak256(struct weir_slice bytes, unsigned char out[KECCAK_BYTES]);
