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

#include <weir/json.h>

#include "serve/exchange.h"
#include "serve/server.h"

/* ---- work that waits ---- */

enum { RESOURCE_MAX_WORK = 16 }; /* threads at a time, of all loops; then WEIR_BUSY */

/*
 * Calls `work` in a thread of its own and then `then` on the exchange's loop, also when the
 * peer has gone; `then` answers. The exchange counts as unanswered until then, so the server
 * does not close the store meanwhile. When there is no thread to be had, it is answered
 * with WEIR_BUSY, neither is called, and the answer is false.
 */
bool resource_work(struct exchange *ex, void (*work)(void *user),
                   void (*then)(struct exchange *ex, void *user), void *user);

/*
 * False when it was answered with an error: the server drains, and there is no other that would run
 * what is begun here.
 */
bool resource_takes_runs(struct exchange *ex);

/* How many such threads are at it. Any thread. */
unsigned resource_n_working(void);

/* Answers for a commit or read that failed: what the store says as clients know it. */
void resource_store_error(struct exchange *ex, enum weir_status st);

/* ---- requests ---- */

enum { RESOURCE_ID_DIGITS = 19 }; /* so that an id fits 64 bits */

/*
 * Whether the body says it is JSON: application/json or anything+json. No word about it, too, and a
 * form, which is what curl -d says it sends, unless a page sent that: a browser asks no server
 * before it sends such elsewhere.
 */
bool resource_is_json(struct exchange *ex);

/* The body as a JSON object in `doc`; NULL when that was answered with an error. */
const struct weir_json *resource_read_object(struct exchange *ex, struct weir_json_doc *doc);

/*
 * Whose things the request is about: the key's owner, or "me", as commands call it. Over the
 * control socket "?user=NAME" names anybody (admit.c).
 */
struct weir_slice resource_owner(const struct exchange *ex);

/* A whole number that fits an id. */
bool resource_parse_id(struct weir_slice text, uint64_t *id);

/* By name: a browser's and curl's "anything" is no wish for this media type. */
bool resource_wants(const struct exchange *ex, const char *type);
bool resource_wants_stream(const struct exchange *ex);

/* If-None-Match: one of a list of tags is this one, weak or not; or any is. */
bool resource_has_tag(struct weir_slice list, struct weir_slice tag);

/*
 * Where a reader of a log wants to begin: Last-Event-ID, "last_event_id", "from=latest". What it
 * has decides, so that a browser that opened with from=latest goes on without a gap when it comes
 * again; its header is newer than its address. NULL, or what is wrong with that, for people.
 */
const char *resource_watch_from(struct exchange *ex, struct watch_options *how);

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
void whoami_get(struct exchange *ex);
void whoami_visitor_get(struct exchange *ex);
void auth_post(struct exchange *ex);
void auth_get(struct exchange *ex);
void auth_delete(struct exchange *ex);
void login_links_post(struct exchange *ex);
void keys_post(struct exchange *ex);
void keys_list(struct exchange *ex);
void keys_delete(struct exchange *ex);
void links_post(struct exchange *ex);
void links_delete(struct exchange *ex);
void store_post_backup(struct exchange *ex);
void store_post_check(struct exchange *ex);
void drain_post(struct exchange *ex);
void gateway_messages(struct exchange *ex);
void gateway_completions(struct exchange *ex);
void gateway_watch(struct exchange *ex);
void turns_post(struct exchange *ex);
void turns_list(struct exchange *ex);
void turns_get(struct exchange *ex);
void turns_events(struct exchange *ex);
void turns_trace(struct exchange *ex);
void turns_replay(struct exchange *ex);
void turns_cancel_post(struct exchange *ex);
void chat_post(struct exchange *ex);
void chat_direct_post(struct exchange *ex);
void chat_get(struct exchange *ex);
void chat_decision_post(struct exchange *ex);
void chat_decision_get(struct exchange *ex);
void rpc_post(struct exchange *ex);
void session_events(struct exchange *ex);
void conversations_list(struct exchange *ex);
void conversations_get(struct exchange *ex);
void conversations_delete(struct exchange *ex);
void conversations_cancel(struct exchange *ex);
void conversations_delete_map(struct exchange *ex);
void shield_audit_get(struct exchange *ex);
void session_audit_get(struct exchange *ex);
void memory_list(struct exchange *ex);
void memory_post(struct exchange *ex);
void memory_get(struct exchange *ex);
void memory_patch(struct exchange *ex);
void memory_delete(struct exchange *ex);
void data_metrics(struct exchange *ex);
void data_series(struct exchange *ex);
void imports_post(struct exchange *ex);
void imports_list(struct exchange *ex);
void imports_get(struct exchange *ex);
void imports_events(struct exchange *ex);
void library_post(struct exchange *ex);
void library_list_get(struct exchange *ex);
void library_search_get(struct exchange *ex);
void library_one_get(struct exchange *ex);
void library_put(struct exchange *ex);
void library_delete(struct exchange *ex);
void labs_post(struct exchange *ex);
void labs_list(struct exchange *ex);
void labs_get(struct exchange *ex);
void health_live(struct exchange *ex);
void health_ready(struct exchange *ex);
void metrics_get(struct exchange *ex);
void errors_get(struct exchange *ex);
void openapi_get(struct exchange *ex);
void llms_get(struct exchange *ex);
void page_get(struct exchange *ex);
void page_web_get(struct exchange *ex);
void page_sdk_get(struct exchange *ex);
