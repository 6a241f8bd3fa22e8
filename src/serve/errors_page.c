/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /docs/errors: where "docs_url" of an error leads, one section for each code of the
 * status table.
 */
#include "base/slice.h"
#include "serve/resource.h"

enum { PAGE_BYTES = 64 << 10 };

static const char head[] =
    "<!doctype html>\n"
    "<html lang=\"en\"><meta charset=\"utf-8\"><title>weir: errors</title>\n"
    "<style>body{font:16px/1.5 sans-serif;max-width:46em;margin:2em auto;padding:0 1em}"
    "dt{font-family:monospace;font-weight:bold;margin-top:1em}"
    "dt:target{background:#fe9}</style>\n"
    "<h1>Errors</h1>\n"
    "<p>An error has the form "
    "<code>{\"error\":{\"code\",\"message\",\"request_id\",\"docs_url\"}}</code>. "
    "Codes are stable; messages are for people and say more about the case at hand. "
    "Where it says so, the same request may succeed later; a <code>Retry-After</code> field "
    "tells when to try.</p>\n<dl>\n";

void errors_get(struct exchange *ex)
{
    struct weir_buf page;
    weir_buf_init(&page, PAGE_BYTES);
    weir_buf_append_str(&page, head);
    for (int i = WEIR_OK + 1; i < WEIR_N_STATUS; i++) {
        enum weir_status st = (enum weir_status)i;
        weir_buf_printf(&page, "<dt id=\"%s\">%s</dt><dd>HTTP %d: %s%s.</dd>\n",
                        weir_status_name(st), weir_status_name(st), weir_status_http(st),
                        weir_status_text(st),
                        weir_status_is_retryable(st) ? ". Trying again may help" : "");
    }
    weir_buf_append_str(&page, "</dl>\n</html>\n");
    if (weir_buf_status(&page) == WEIR_OK)
        exchange_text(ex, 200, "text/html; charset=utf-8", weir_buf_slice(&page));
    else resource_store_error(ex, WEIR_NOMEM);
    weir_buf_fini(&page);
}
