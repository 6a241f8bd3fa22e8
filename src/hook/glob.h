/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of stream names. Both are taken segment by segment, as "/" cuts them; empty segments do
 * not count. "*" stands for one segment, "**" for any number of them, none included; anything else
 * stands for itself, and "%2A" in it for a star. Pure; any thread.
 */
#pragma once

#include <weir/types.h>

bool glob_match(struct weir_slice pattern, struct weir_slice name);
