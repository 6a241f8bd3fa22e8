/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict JSON against jansson, in both directions: what one accepts the other
 * must, and with the same value. The differences that are known and meant:
 * jansson refuses lone surrogate escapes, NUL in keys and numbers beyond its
 * types; it allows more depth than our default, and a raw NUL after a number.
 */
#pragma once

#include <weir/types.h>

/* NULL when both agree, otherwise what they disagree about. */
const char *json_peer_disagreement(struct weir_slice text);
