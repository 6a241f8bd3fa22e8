/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /sse/sessions/:id: the log of a session as an event stream, as it is kept. It never ends by
 * itself. docs/sessions.md has the events.
 *
 * Where it begins is asked of the session first (by a thread that may wait), for old events are
 * trimmed. What is missing between the last event that a reader has and the first that is kept
 * stands in the head, X-Weir-Gap: FIRST-LAST. A reader that is slower than the trimming is cut,
 * comes again, and is told.
 */
#include <stdio.h>

#include "base/container.h"
#include "base/slice.h"
#include "io/loop.h"
#include "serve/resource.h"
#include "session/session.h"

enum { HEARTBEAT_MS = 15 * 1000, GAP_BYTES = 48, UPGRADE_BYTES = 256 };

/* A reader that comes. In the exchange's memory. */
struct attaching {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    char owner[SESSION_OWNER_BYTES];
    char id[SESSION_LEN + 1];
    uint64_t cursor;   /* the last event that it has; 0: none */
    bool must_upgrade; /* it speaks an older protocol */
    enum weir_status status;
    struct session_view view;
};

static void refuse_unknown(struct exchange *ex)
{
    exchange_error(ex, WEIR_NOT_FOUND, "there is no such session");
}

/* The one event that an older client has to understand. Its position stays where it was. */
static void answer_upgrade(struct exchange *ex, const struct attaching *a)
{
    char text[UPGRADE_BYTES];
    int len = snprintf(text, sizeof text,
                       "id: %llu\ndata: {\"type\":\"protocol.upgrade_required\","
                       "\"serverVersion\":\"%d\",\"clientVersionExpected\":\"%d\"}\n\n",
                       (unsigned long long)a->cursor, SESSION_PROTOCOL, SESSION_PROTOCOL);
    exchange_field(ex, "Cache-Control", SLICE("no-cache"));
    exchange_text(ex, 200, "text/event-stream", slice_of(text, (size_t)len));
}

static void put_gap(struct exchange *ex, const struct attaching *a)
{
    char text[GAP_BYTES];
    if (a->cursor + 1 >= a->view.oldest) return;
    int len = snprintf(text, sizeof text, "%llu-%llu", (unsigned long long)a->cursor + 1,
                       (unsigned long long)a->view.oldest - 1);
    exchange_field(ex, "X-Weir-Gap", slice_of(text, (size_t)len));
}

/* Behind what it has, but neither before what is kept nor beyond what there is. */
static uint64_t first_of(const struct attaching *a)
{
    uint64_t from = a->cursor < a->view.last ? a->cursor + 1 : a->view.last + 1;
    return from > a->view.oldest ? from : a->view.oldest;
}

static void was_attached(struct post *post)
{
    char log[SESSION_LOG_BYTES];
    struct attaching *a = CONTAINER_OF(post, struct attaching, post);
    struct exchange *ex = a->ex;
    unsigned heartbeat_ms = server_options(exchange_server(ex))->session_heartbeat_ms;
    if (a->status == WEIR_NOT_FOUND) refuse_unknown(ex);
    else if (a->status != WEIR_OK) resource_store_error(ex, a->status);
    else if (a->must_upgrade) answer_upgrade(ex, a);
    else {
        const struct watch_options how = {
            .from = first_of(a), .heartbeat_ms = heartbeat_ms > 0 ? heartbeat_ms : HEARTBEAT_MS};
        put_gap(ex, a);
        exchange_watch(ex, session_log(log, weir_slice_of(a->id)), &how);
    }
}

/* By a thread of the store's. */
static void attach(void *user)
{
    struct attaching *a = user;
    a->status = sessions_attach(server_sessions(exchange_server(a->ex)), weir_slice_of(a->owner),
                                weir_slice_of(a->id), &a->view);
    loop_post(a->loop, &a->post);
}

/* ---- the request ---- */

/* A number in a field or, without that, in the address; empty is as good as none. */
struct number {
    const char *field, *parameter;
    bool is_there;
    uint64_t value;
};

/* Beyond all ids that there can be, and so is every number that is larger. */
static const uint64_t BEYOND = INT64_MAX - 1;

static bool read_number(struct weir_slice text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
        uint64_t digit = (uint64_t)(text.ptr[i] - '0');
        *out = *out > (BEYOND - digit) / 10 ? BEYOND : *out * 10 + digit;
    }
    return true;
}

/* False: it is no whole number. */
static bool find_number(struct exchange *ex, struct number *n)
{
    struct weir_slice text;
    n->is_there = http_find(exchange_head(ex), n->field, &text) && text.len > 0;
    if (!n->is_there) n->is_there = exchange_query(ex, n->parameter, &text) && text.len > 0;
    return !n->is_there || read_number(text, &n->value);
}

/* False when it was answered with an error. */
static bool read_request(struct exchange *ex, struct attaching *a)
{
    struct number last = {.field = "last-event-id", .parameter = "lastEventId"};
    struct number protocol = {.field = "x-protocol-version", .parameter = "protocol"};
    struct weir_slice id = exchange_param(ex, 0);
    if (!find_number(ex, &last)) {
        exchange_error(ex, WEIR_BAD_FIELD, "Last-Event-ID (or lastEventId) is a whole number");
        return false;
    }
    if (!find_number(ex, &protocol)) {
        exchange_error(ex, WEIR_BAD_FIELD, "X-Protocol-Version (or protocol) is a whole number");
        return false;
    }
    if (!session_is_id(id)) {
        refuse_unknown(ex);
        return false;
    }
    memcpy(a->id, id.ptr, id.len);
    a->cursor = last.is_there ? last.value : 0;
    a->must_upgrade = protocol.is_there && protocol.value < SESSION_PROTOCOL;
    return true;
}

void session_events(struct exchange *ex)
{
    struct weir_slice owner = resource_owner(ex);
    struct attaching *a = exchange_alloc(ex, sizeof *a);
    if (!a) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *a = (struct attaching){
        .post = {.run = was_attached}, .ex = ex, .loop = worker_loop(exchange_worker(ex))};
    memcpy(a->owner, owner.ptr, owner.len);
    if (!read_request(ex, a)) return;
    if (store_later(server_store(exchange_server(ex)), attach, a) != WEIR_OK)
        resource_store_error(ex, WEIR_NOMEM);
}
