/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /llms.txt: what this server is and how it is asked, in a form that machines that read take well;
 * the list of requests is the route table's.
 */
#include <string.h>

#include "serve/openapi.h"
#include "serve/resource.h"

enum { TEXT_BYTES = 64 << 10 };

static const char head[] =
    "# weir\n"
    "\n"
    "> A server for questions about somebody's own health data. A question becomes a turn: agents\n"
    "> work, every number in the answer is checked against the data, and each step is streamed as\n"
    "> server-sent events that can be replayed from any id.\n"
    "\n"
    "- Every request but those of Operation that say so has `Authorization: Bearer KEY`.\n"
    "- Ask: `POST /v1/turns` with `{\"messages\":[{\"role\":\"user\",\"content\":\"How did I sleep "
    "in March?\"}],\"stream\":false}` waits and answers with the finished Turn; `result.answer` is "
    "Markdown, and `result.fact_sheet` has every number of it.\n"
    "- Stream: without `\"stream\":false` the answer is the queued Turn; then `GET "
    "/v1/turns/ID/events` with `Accept: text/event-stream`. After a lost connection send "
    "`Last-Event-ID`; 204 means that there is no more.\n"
    "- Errors are `{\"error\":{\"code\",\"message\",\"request_id\",\"docs_url\"}}`; codes are "
    "stable.\n"
    "- `Idempotency-Key` makes any POST or PATCH of turns, memory, documents, data and laboratory "
    "results safe to send again.\n"
    "- Answers are about data, not medical advice.\n"
    "\n"
    "## Documents\n"
    "\n"
    "- [OpenAPI 3.1](/openapi.json): every request, with schemas\n"
    "- [Errors](/docs/errors): every code\n";

static void put_row(struct weir_buf *out, const struct route *r, const struct operation *o)
{
    weir_buf_printf(out, "- `%s ", openapi_method(r->method));
    openapi_put_path(out, r->pattern);
    weir_buf_printf(out, "`: %s\n", o->summary);
}

/* The rows of one tag. */
static void put_tag(struct weir_buf *out, const char *tag)
{
    weir_buf_printf(out, "\n## %s\n\n", tag);
    for (const struct route *r = routes; r->handle; r++) {
        const struct operation *o = operation_find(r->name);
        if (o && strcmp(o->tag, tag) == 0) put_row(out, r, o);
    }
}

void llms_get(struct exchange *ex)
{
    struct weir_buf text;
    const char *tag = "";
    weir_buf_init(&text, TEXT_BYTES);
    weir_buf_append_str(&text, head);
    /* Operations stand together by their tags. */
    for (size_t i = 0; i < operation_count(); i++) {
        if (strcmp(operation_at(i)->tag, tag) == 0) continue;
        tag = operation_at(i)->tag;
        put_tag(&text, tag);
    }
    if (weir_buf_status(&text) == WEIR_OK)
        exchange_text(ex, 200, "text/plain; charset=utf-8", weir_buf_slice(&text));
    else resource_store_error(ex, WEIR_NOMEM);
    weir_buf_fini(&text);
}
