/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words with blanks between them, which nodes write down for each other. Functions of their
 * arguments; any thread. What they return lies in the list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <weir/types.h>

/* The word at *at, which is behind it afterwards; empty: there is no more. */
struct weir_slice wordlist_next(struct weir_slice list, size_t *at);
struct weir_slice wordlist_first(struct weir_slice list);
struct weir_slice wordlist_last(struct weir_slice list); /* no blank follows it */
bool wordlist_have(struct weir_slice list, struct weir_slice word);
