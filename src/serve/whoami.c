/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/whoami: who asks, as the server sees it: the key without its secret, whose data it is about,
 * and what it may do; and which server this is, and what its clock says. /auth/me: the same for a
 * page that does not know yet whether somebody is signed in; nobody is no error there.
 */
#include "base/slice.h"
#include "serve/admit.h"
#include "serve/resource.h"

#include <weir/json.h>
#include <weir/version.h>

enum { ANSWER_BYTES = 4096 };

static const char *way_of(const struct exchange *ex, bool is_key)
{
    if (exchange_is_local(ex)) return "local";
    if (exchange_is_public(ex)) return "open";
    if (exchange_access(ex)->is_cookie) return "cookie";
    return is_key ? "key" : "token";
}

void whoami_get(struct exchange *ex)
{
    char now[CLOCK_TEXT_BYTES];
    struct weir_buf json;
    struct key_info info;
    struct weir_slice name = weir_slice_of(exchange_access(ex)->name);
    bool is_key = name.len > 0 && keys_get(server_keys(exchange_server(ex)), name, &info);
    clock_format(now, exchange_wall_ms(ex));
    weir_buf_init(&json, ANSWER_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "version");
    weir_json_put_str(&json, WEIR_VERSION);
    weir_json_put_key(&json, "now");
    weir_json_put_str(&json, now);
    weir_json_put_key(&json, "access");
    weir_json_put_str(&json, way_of(ex, is_key));
    weir_json_put_key(&json, "owner");
    weir_json_put_string(&json, resource_owner(ex));
    weir_json_put_key(&json, "scopes");
    scopes_put(&json, exchange_access(ex)->scopes);
    weir_json_put_key(&json, "key");
    if (is_key) key_info_put(&json, &info, NULL);
    else weir_json_put_null(&json);
    weir_json_put_end_object(&json);
    exchange_field(ex, "Cache-Control", SLICE("no-store"));
    if (weir_buf_status(&json) == WEIR_OK) exchange_json(ex, 200, weir_buf_slice(&json));
    else resource_store_error(ex, WEIR_NOMEM);
    weir_buf_fini(&json);
}

void whoami_visitor_get(struct exchange *ex)
{
    if (!admit_visitor(ex, exchange_head(ex))) return;
    if (exchange_access(ex)->scopes != SCOPE_NONE) {
        whoami_get(ex);
        return;
    }
    exchange_field(ex, "Cache-Control", SLICE("no-store"));
    exchange_json(ex, 200, SLICE("null"));
}
