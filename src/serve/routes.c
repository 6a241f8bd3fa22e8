/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server answers: one row for each method of each resource. A path that stands here
 * with other methods only gets 405 with Allow, any other path 404. OPTIONS is the router's.
 */
#include "serve/resource.h"

const struct route routes[] = {
    {HTTP_POST, "/v1/streams/:name", streams_append, SCOPE_WRITE, false, "streams.append"},
    {HTTP_GET, "/v1/streams/:name", streams_watch, SCOPE_READ, true, "streams.watch"},
    {HTTP_HEAD, "/v1/streams/:name", streams_state, SCOPE_READ, false, "streams.state"},
    {HTTP_DELETE, "/v1/streams/:name", streams_drop, SCOPE_WRITE, false, "streams.drop"},

    {HTTP_POST, "/v1/keys", keys_post, SCOPE_ADMIN, false, "keys.create"},
    {HTTP_GET, "/v1/keys", keys_list, SCOPE_ADMIN, false, "keys.list"},
    {HTTP_DELETE, "/v1/keys/:name", keys_delete, SCOPE_ADMIN, false, "keys.revoke"},

    {HTTP_POST, "/v1/store/backup", store_post_backup, SCOPE_ADMIN, false, "store.backup"},
    {HTTP_POST, "/v1/store/check", store_post_check, SCOPE_ADMIN, false, "store.check"},

    {HTTP_GET, "/healthz", health_live, SCOPE_NONE, false, "health.live"},
    {HTTP_GET, "/readyz", health_ready, SCOPE_NONE, false, "health.ready"},
    {HTTP_GET, "/metrics", metrics_get, SCOPE_READ, false, "metrics"},
    {HTTP_GET, "/docs/errors", errors_get, SCOPE_NONE, false, "docs.errors"},
    {.handle = NULL},
};
