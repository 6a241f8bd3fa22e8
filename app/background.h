/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that may wait, in a thread of its own, so that a terminal stays alive meanwhile.
 *
 * 1. background_start(). From then on `user` is the thread's.
 * 2. poll() on background_fd(): it can be read when the work is done; then `user` is the caller's
 * again.
 * 3. background_end() frees it. Of work that is not done, nobody waits for the end: its thread
 * frees it.
 *
 * `drop` is called once, when both are through with it. The thread takes no signals.
 */
#pragma once

#include <stdbool.h>

struct background;

/* NULL when there is no thread or memory; then nothing is called. */
struct background *background_start(void (*work)(void *user), void (*drop)(void *user), void *user);

int background_fd(const struct background *b);
bool background_is_done(const struct background *b);
void background_end(struct background *b); /* NULL is allowed */
