/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the resources share: their handlers, and work that may wait.
 *
 * A handler runs on a loop thread and must not wait for anything. What has to (a key that
 * is made durable, a backup) goes through resource_work().
 *
 * Loop thread only, unless a function says otherwise.
 */
#pragma once

#include "serve/exchange.h"
#include "serve/server.h"

/* ---- work that waits ---- */

enum { RESOURCE_MAX_WORK = 16 }; /* threads at a time, of all loops; then WEIR_BUSY */

/*
 * Calls `work` in a thread of its own and then `then` on the exchange's loop, also when the
 * peer has gone; `then` answers. The exchange counts as unanswered until then, so the server
 * does not close the store meanwhile. When there is no thread to be had, it is answered
 * with WEIR_BUSY and neither is called.
 */
void resource_work(struct exchange *ex, void (*work)(void *user),
                   void (*then)(struct exchange *ex, void *user), void *user);

/* How many such threads are at it. Any thread. */
unsigned resource_n_working(void);

/* Answers for a commit or read that failed: what the store says as clients know it. */
void resource_store_error(struct exchange *ex, enum weir_status st);

/* ---- handlers, as routes.c lists them ---- */

void streams_append(struct exchange *ex);
void streams_watch(struct exchange *ex);
void streams_state(struct exchange *ex);
void ds_put(struct exchange *ex);
void ds_post(struct exchange *ex);
void ds_get(struct exchange *ex);
void ds_head(struct exchange *ex);
void ds_delete(struct exchange *ex);
void subscriptions_put(struct exchange *ex);
void subscriptions_get(struct exchange *ex);
void subscriptions_delete(struct exchange *ex);
void subscriptions_add(struct exchange *ex);
void subscriptions_remove(struct exchange *ex);
void subscriptions_callback(struct exchange *ex);
void subscriptions_claim(struct exchange *ex);
void subscriptions_ack(struct exchange *ex);
void subscriptions_release(struct exchange *ex);
void subscriptions_jwks(struct exchange *ex);
void keys_post(struct exchange *ex);
void keys_list(struct exchange *ex);
void keys_delete(struct exchange *ex);
void links_post(struct exchange *ex);
void links_delete(struct exchange *ex);
void store_post_backup(struct exchange *ex);
void store_post_check(struct exchange *ex);
void health_live(struct exchange *ex);
void health_ready(struct exchange *ex);
void metrics_get(struct exchange *ex);
void errors_get(struct exchange *ex);
