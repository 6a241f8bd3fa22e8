/* SPDX-License-Identifier: Apache-2.0 */
/* /healthz: the process answers. /readyz: send it requests, the store takes events. */
#include "base/slice.h"
#include "serve/resource.h"

void health_live(struct exchange *ex)
{
    exchange_text(ex, 200, "text/plain; charset=utf-8", SLICE("ok\n"));
}

void health_ready(struct exchange *ex)
{
    struct server *s = exchange_server(ex);
    bool is_ending = server_is_stopping(s) || server_is_draining(s);
    enum weir_status st = is_ending ? WEIR_SHUTDOWN : store_is_writable(server_store(s));
    if (st == WEIR_OK) exchange_text(ex, 200, "text/plain; charset=utf-8", SLICE("ready\n"));
    else resource_store_error(ex, st);
}
