/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_kept.h"

#include "base/slice.h"
#include "event_keep.h"

enum { PART_BYTES = EVENT_KEEP_STREAM_BYTES };

/* Members of arrays of the trace, as they are gathered. */
struct gathering {
    struct weir_json_doc *doc;
    struct weir_buf agents, gates, critic, events, end;
    const char *status;
};

static void begin_member(struct weir_buf *out)
{
    weir_buf_append_str(out, out->len > 0 ? ",{" : "{");
}

/* One member of an event, under the same or another name. */
static void put_member(struct weir_buf *out, const struct weir_json *data, const char *from,
                       const char *to, bool is_first)
{
    if (!is_first) weir_buf_append_char(out, ',');
    weir_json_put_str(out, to);
    weir_buf_append_char(out, ':');
    weir_json_put_value(out, weir_json_get_str(data, from));
}

static void put_agent(struct gathering *g, const struct weir_json *data)
{
    begin_member(&g->agents);
    put_member(&g->agents, data, "agent", "agent", true);
    put_member(&g->agents, data, "output_summary", "summary", false);
    put_member(&g->agents, data, "duration_ms", "duration_ms", false);
    put_member(&g->agents, data, "cost_usd", "cost_usd", false);
    weir_buf_append_char(&g->agents, '}');
}

static void put_gate(struct gathering *g, const struct weir_json *data)
{
    begin_member(&g->gates);
    put_member(&g->gates, data, "finding_id", "finding_id", true);
    put_member(&g->gates, data, "claim", "claim", false);
    put_member(&g->gates, data, "gate", "gate", false);
    put_member(&g->gates, data, "verdict", "verdict", false);
    weir_buf_append_char(&g->gates, '}');
}

static void put_critic(struct gathering *g, const struct weir_json *data)
{
    begin_member(&g->critic);
    put_member(&g->critic, data, "finding_id", "finding_id", true);
    put_member(&g->critic, data, "verdict", "verdict", false);
    put_member(&g->critic, data, "reasoning", "reasoning", false);
    weir_buf_append_char(&g->critic, '}');
}

static void put_completed(struct gathering *g, const struct weir_json *data)
{
    g->status = "completed";
    put_member(&g->end, data, "result", "result", false);
}

static void put_failed(struct gathering *g, const struct weir_json *data)
{
    g->status = "failed";
    put_member(&g->end, data, "error", "error", false);
}

static const struct {
    const char *type;
    void (*put)(struct gathering *g, const struct weir_json *data);
} parts[] = {
    {"agent.completed", put_agent},   {"validator.gate", put_gate},
    {"validator.critic", put_critic}, {"turn.completed", put_completed},
    {"turn.failed", put_failed},
};

static void take_event(void *user, const struct weir_sse_event *event)
{
    struct gathering *g = user;
    const struct weir_json *data = NULL;
    weir_json_doc_reset(g->doc);
    if (weir_json_parse(g->doc, event->data, &data, NULL) != WEIR_OK) return;
    begin_member(&g->events);
    weir_buf_append_str(&g->events, "\"id\":");
    weir_buf_append_slice(&g->events, event->id);
    weir_buf_append_str(&g->events, ",\"event\":");
    weir_json_put_string(&g->events, event->type);
    weir_buf_append_str(&g->events, ",\"data\":");
    weir_json_put_value(&g->events, data);
    weir_buf_append_char(&g->events, '}');
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (weir_slice_is(event->type, parts[i].type)) parts[i].put(g, data);
}

static void put_array(struct weir_buf *out, const char *name, const struct weir_buf *members)
{
    weir_buf_printf(out, ",\"%s\":[", name);
    weir_buf_append_slice(out, weir_buf_slice(members));
    weir_buf_append_char(out, ']');
}

static bool put_all(struct weir_buf *out, const char *turn, const struct gathering *g)
{
    weir_buf_append_str(out, "{\"turn_id\":");
    weir_json_put_str(out, turn);
    weir_buf_append_str(out, ",\"status\":");
    weir_json_put_str(out, g->status);
    weir_buf_append_str(out, ",\"source\":\"kept events\",\"steps\":[]");
    put_array(out, "agents", &g->agents);
    put_array(out, "gates", &g->gates);
    put_array(out, "critic", &g->critic);
    weir_buf_append_slice(out, weir_buf_slice(&g->end));
    put_array(out, "events", &g->events);
    weir_buf_append_char(out, '}');
    return weir_buf_status(out) == WEIR_OK;
}

bool trace_kept(struct weir_buf *out, const char *turn)
{
    struct gathering g = {.status = "incomplete"};
    struct weir_buf *bufs[] = {&g.agents, &g.gates, &g.critic, &g.events, &g.end};
    const size_t n_bufs = sizeof bufs / sizeof *bufs;
    for (size_t i = 0; i < n_bufs; i++) weir_buf_init(bufs[i], 2 * PART_BYTES);
    g.doc = weir_json_doc_new(0);
    bool is_good = g.doc && event_keep_read(EVENT_KEEP_TURN, turn, take_event, &g);
    for (size_t i = 0; i < n_bufs; i++) is_good = is_good && weir_buf_status(bufs[i]) == WEIR_OK;
    is_good = is_good && put_all(out, turn, &g);
    for (size_t i = 0; i < n_bufs; i++) weir_buf_fini(bufs[i]);
    weir_json_doc_free(g.doc);
    return is_good;
}
