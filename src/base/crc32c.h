/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli): finds torn and damaged records. Not for strangers' data. */
#pragma once

#include <weir/types.h>

/* The checksum of s; `seed` is the checksum of what came before it, 0 at the start. */
uint32_t crc32c(uint32_t seed, struct weir_slice s);
