/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server answers: one row for each method of each resource. A path that stands here
 * with other methods only gets 405 with Allow, any other path 404. OPTIONS is the router's.
 *
 * What a row is for stands in openapi.def, under the row's name.
 *
 * A row whose first parameter names the stream that it is about has ROUTE_STREAM, or keys with a
 * prefix and links are refused there.
 */
#include <assert.h>

#include "serve/resource.h"

#define SUBSCRIPTION "/v1/stream/__ds/subscriptions/:id"

const struct route routes[] = {
    {HTTP_POST, "/v1/streams/:name", streams_append, SCOPE_WRITE, ROUTE_STREAM, "streams.append"},
    {HTTP_GET, "/v1/streams/:name", streams_watch, SCOPE_READ, ROUTE_STREAM | ROUTE_KEY_IN_QUERY,
     "streams.watch"},
    {HTTP_HEAD, "/v1/streams/:name", streams_state, SCOPE_READ, ROUTE_STREAM, "streams.state"},
    {HTTP_DELETE, "/v1/streams/:name", ds_delete, SCOPE_WRITE, ROUTE_STREAM, "streams.drop"},

    /* A wake's token is what opens the last three, and not a key. */
    {HTTP_GET, "/v1/stream/__ds/jwks.json", subscriptions_jwks, SCOPE_NONE, 0, "hooks.jwks"},
    {HTTP_PUT, SUBSCRIPTION, subscriptions_put, SCOPE_WRITE, 0, "hooks.create"},
    {HTTP_GET, SUBSCRIPTION, subscriptions_get, SCOPE_READ, 0, "hooks.get"},
    {HTTP_DELETE, SUBSCRIPTION, subscriptions_delete, SCOPE_WRITE, 0, "hooks.delete"},
    {HTTP_POST, SUBSCRIPTION "/streams", subscriptions_add, SCOPE_WRITE, 0, "hooks.add"},
    {HTTP_DELETE, SUBSCRIPTION "/streams/*path", subscriptions_remove, SCOPE_WRITE, 0,
     "hooks.remove"},
    {HTTP_POST, SUBSCRIPTION "/claim", subscriptions_claim, SCOPE_WRITE, 0, "hooks.claim"},
    {HTTP_POST, SUBSCRIPTION "/callback", subscriptions_callback, SCOPE_NONE, 0, "hooks.callback"},
    {HTTP_POST, SUBSCRIPTION "/ack", subscriptions_ack, SCOPE_NONE, 0, "hooks.ack"},
    {HTTP_POST, SUBSCRIPTION "/release", subscriptions_release, SCOPE_NONE, 0, "hooks.release"},

    {HTTP_PUT, "/v1/stream/*name", ds_put, SCOPE_WRITE, ROUTE_STREAM, "stream.create"},
    {HTTP_POST, "/v1/stream/*name", ds_post, SCOPE_WRITE, ROUTE_STREAM, "stream.append"},
    {HTTP_GET, "/v1/stream/*name", ds_get, SCOPE_READ, ROUTE_STREAM | ROUTE_KEY_IN_QUERY,
     "stream.read"},
    {HTTP_HEAD, "/v1/stream/*name", ds_head, SCOPE_READ, ROUTE_STREAM, "stream.head"},
    {HTTP_DELETE, "/v1/stream/*name", ds_delete, SCOPE_WRITE, ROUTE_STREAM, "stream.delete"},

    {HTTP_POST, "/v1/messages", gateway_messages, SCOPE_WRITE, 0, "gateway.messages"},
    {HTTP_POST, "/v1/chat/completions", gateway_completions, SCOPE_WRITE, 0, "gateway.completions"},

    {HTTP_POST, "/v1/turns", turns_post, SCOPE_WRITE, 0, "turns.create"},
    {HTTP_GET, "/v1/turns", turns_list, SCOPE_READ, 0, "turns.list"},
    {HTTP_GET, "/v1/turns/:id", turns_get, SCOPE_READ, 0, "turns.get"},
    {HTTP_GET, "/v1/turns/:id/events", turns_events, SCOPE_READ, ROUTE_KEY_IN_QUERY,
     "turns.events"},
    {HTTP_GET, "/v1/turns/:id/trace", turns_trace, SCOPE_READ, 0, "turns.trace"},
    {HTTP_GET, "/v1/turns/:id/replay", turns_replay, SCOPE_READ, 0, "turns.replay"},
    {HTTP_POST, "/v1/turns/:id/cancel", turns_cancel_post, SCOPE_WRITE, 0, "turns.cancel"},

    {HTTP_POST, "/ai/chat", chat_post, SCOPE_WRITE, 0, "chat.create"},
    {HTTP_GET, "/ai/chat", chat_get, SCOPE_READ, ROUTE_KEY_IN_QUERY, "chat.attach"},
    {HTTP_POST, "/ai/chat/direct/stream", chat_direct_post, SCOPE_WRITE, 0, "chat.direct"},
    {HTTP_POST, "/api/chat/dlp-decision", chat_decision_post, SCOPE_WRITE, 0, "chat.decide"},
    {HTTP_GET, "/api/chat/dlp-decision/:id", chat_decision_get, SCOPE_READ, 0, "chat.question"},
    {HTTP_GET, "/v1/conversations", conversations_list, SCOPE_READ, 0, "conversations.list"},
    {HTTP_GET, "/v1/conversations/:id", conversations_get, SCOPE_READ, 0, "conversations.get"},
    {HTTP_POST, "/v1/conversations/:id/cancel", conversations_cancel, SCOPE_WRITE, 0,
     "conversations.cancel"},
    {HTTP_DELETE, "/v1/conversations/:id", conversations_delete, SCOPE_WRITE, 0,
     "conversations.delete"},
    {HTTP_DELETE, "/v1/conversations/:id/shield-map", conversations_delete_map, SCOPE_WRITE, 0,
     "conversations.forget"},

    /* Which scope a call needs is known by its method. */
    {HTTP_POST, "/rpc/:space/:method", rpc_post, SCOPE_ANY, 0, "sessions.call"},
    {HTTP_GET, "/sse/sessions/:id", session_events, SCOPE_READ, ROUTE_KEY_IN_QUERY,
     "sessions.events"},

    {HTTP_GET, "/v1/sessions/audit", session_audit_get, SCOPE_READ, 0, "sessions.audit"},
    {HTTP_GET, "/v1/shield/audit", shield_audit_get, SCOPE_READ, 0, "shield.audit"},

    {HTTP_GET, "/v1/memory", memory_list, SCOPE_READ, 0, "memory.list"},
    {HTTP_POST, "/v1/memory", memory_post, SCOPE_WRITE, 0, "memory.create"},
    {HTTP_GET, "/v1/memory/:id", memory_get, SCOPE_READ, 0, "memory.get"},
    {HTTP_PATCH, "/v1/memory/:id", memory_patch, SCOPE_WRITE, 0, "memory.update"},
    {HTTP_DELETE, "/v1/memory/:id", memory_delete, SCOPE_WRITE, 0, "memory.delete"},

    {HTTP_GET, "/v1/data/metrics", data_metrics, SCOPE_READ, 0, "data.metrics"},
    {HTTP_GET, "/v1/data/series", data_series, SCOPE_READ, 0, "data.series"},
    {HTTP_POST, "/v1/data/imports", imports_post, SCOPE_WRITE, ROUTE_FILE, "imports.create"},
    {HTTP_GET, "/v1/data/imports", imports_list, SCOPE_READ, 0, "imports.list"},
    {HTTP_GET, "/v1/data/imports/:id", imports_get, SCOPE_READ, 0, "imports.get"},
    {HTTP_GET, "/v1/data/imports/:id/events", imports_events, SCOPE_READ, ROUTE_KEY_IN_QUERY,
     "imports.events"},
    {HTTP_POST, "/v1/labs", labs_post, SCOPE_WRITE, 0, "labs.create"},
    {HTTP_GET, "/v1/labs", labs_list, SCOPE_READ, 0, "labs.list"},
    {HTTP_GET, "/v1/labs/:id", labs_get, SCOPE_READ, 0, "labs.get"},

    /* The first looks at the key itself: it may be in the body. */
    {HTTP_POST, "/auth/session", auth_post, SCOPE_NONE, 0, "auth.login"},
    {HTTP_GET, "/auth/session", auth_get, SCOPE_ANY, ROUTE_SELF, "auth.get"},
    {HTTP_DELETE, "/auth/session", auth_delete, SCOPE_ANY, ROUTE_SELF, "auth.logout"},
    {HTTP_GET, "/auth/me", whoami_visitor_get, SCOPE_NONE, 0, "auth.me"},
    {HTTP_POST, "/auth/links", login_links_post, SCOPE_ADMIN, 0, "auth.link"},
    {HTTP_GET, "/v1/whoami", whoami_get, SCOPE_ANY, ROUTE_SELF, "whoami"},
    {HTTP_POST, "/v1/documents", library_post, SCOPE_WRITE, 0, "documents.create"},
    {HTTP_GET, "/v1/documents", library_list_get, SCOPE_READ, 0, "documents.list"},
    {HTTP_GET, "/v1/documents/search", library_search_get, SCOPE_READ, 0, "documents.search"},
    {HTTP_GET, "/v1/documents/:id", library_one_get, SCOPE_READ, 0, "documents.get"},
    {HTTP_PUT, "/v1/documents/:id", library_put, SCOPE_WRITE, 0, "documents.replace"},
    {HTTP_DELETE, "/v1/documents/:id", library_delete, SCOPE_WRITE, 0, "documents.delete"},

    {HTTP_POST, "/v1/keys", keys_post, SCOPE_ADMIN, 0, "keys.create"},
    {HTTP_GET, "/v1/keys", keys_list, SCOPE_ADMIN, 0, "keys.list"},
    {HTTP_DELETE, "/v1/keys/:name", keys_delete, SCOPE_ADMIN, 0, "keys.revoke"},

    {HTTP_POST, "/v1/links", links_post, SCOPE_ADMIN, 0, "links.create"},
    {HTTP_DELETE, "/v1/links", links_delete, SCOPE_ADMIN, 0, "links.rotate"},

    {HTTP_POST, "/v1/store/backup", store_post_backup, SCOPE_ADMIN, 0, "store.backup"},
    {HTTP_POST, "/v1/store/check", store_post_check, SCOPE_ADMIN, 0, "store.check"},
    {HTTP_POST, "/v1/drain", drain_post, SCOPE_ADMIN, 0, "drain"},

    {HTTP_GET, "/healthz", health_live, SCOPE_NONE, 0, "health.live"},
    {HTTP_GET, "/readyz", health_ready, SCOPE_NONE, 0, "health.ready"},
    {HTTP_GET, "/metrics", metrics_get, SCOPE_READ, 0, "metrics"},
    {HTTP_GET, "/docs/errors", errors_get, SCOPE_NONE, 0, "docs.errors"},
    {HTTP_GET, "/openapi.json", openapi_get, SCOPE_NONE, 0, "docs.openapi"},
    {HTTP_GET, "/llms.txt", llms_get, SCOPE_NONE, 0, "docs.llms"},

    {HTTP_GET, "/", page_get, SCOPE_NONE, 0, "page"},
    {HTTP_GET, "/web/*path", page_web_get, SCOPE_NONE, 0, "page.web"},
    {HTTP_GET, "/sdk/*path", page_sdk_get, SCOPE_NONE, 0, "page.sdk"},
    {.handle = NULL},
};

static_assert(sizeof routes / sizeof *routes <= COUNTERS_ROUTES, "each row is counted apart");
