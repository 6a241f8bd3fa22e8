/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared bytes: made once, never changed, freed with the last reference. Bytes
 * and counter are one allocation.
 *
 * 1. shared_new() or shared_join() makes them, with one reference for the caller.
 * 2. shared_ref() for each further holder.
 * 3. shared_unref() by each holder; the last one frees.
 *
 * Any thread: a holder may read, ref and unref without a lock.
 */
#pragma once

#include <weir/types.h>

struct shared;

/* A copy of s. NULL when there is no memory. */
struct shared *shared_new(struct weir_slice s);

/* A copy of all parts, one behind the other. NULL when there is no memory. */
struct shared *shared_join(const struct weir_slice *parts, size_t n_parts);

/* Returns s, with one more reference. */
struct shared *shared_ref(struct shared *s);

/* Gives one reference back; NULL is allowed. */
void shared_unref(struct shared *s);

/* Borrowed for as long as the caller holds a reference. */
struct weir_slice shared_slice(const struct shared *s);
