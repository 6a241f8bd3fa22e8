/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/turns/:id/events: the turn's log as an event stream, for an hour after its end. Whoever does
 * not ask for an event stream gets the Turn.
 */
#include "base/slice.h"
#include "serve/turns_impl.h"

struct watching {
    struct turn_asked asked; /* the first member, see turn_asked_new() */
    struct watch_options how;
    bool wants_stream;
    const char *why; /* it cannot begin where it was asked to; NULL: it can */
};

static void begin(struct exchange *ex, struct turn_asked *a)
{
    struct watching *w = CONTAINER_OF(a, struct watching, asked);
    char log[TURN_LOG_BYTES];
    bool has_ended = turn_has_ended(a->state.status);
    if (!turn_is_found(ex, a)) return;
    if (!w->wants_stream) turn_answer(ex, a, 200);
    else if (has_ended && exchange_wall_ms(ex) >= a->state.completed_ms + TURN_KEEP_MS)
        exchange_error(ex, WEIR_EVENTS_EXPIRED, NULL);
    else if (w->why) exchange_error(ex, WEIR_BAD_FIELD, "%s", w->why);
    else if (has_ended && w->how.from == SUB_FROM_LATEST) exchange_empty(ex, 204);
    else {
        w->how.ends_at_newest = has_ended;
        exchange_watch(ex, turn_log(log, weir_slice_of(a->id)), &w->how);
    }
}

void turns_events(struct exchange *ex)
{
    struct watching *w = turn_asked_new(ex, sizeof *w);
    if (!w) return;
    w->wants_stream = resource_wants_stream(ex);
    w->why = resource_watch_from(ex, &w->how);
    w->how.heartbeat_ms = server_options(exchange_server(ex))->turn_heartbeat_ms;
    turn_ask(&w->asked, begin);
}
