/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of an agent at work. A thought goes out in small deltas that end behind a blank, so
 * that whoever shows them never shows half a word; together they are the text, byte for byte.
 */
#include "agent/agent_impl.h"
#include "base/slice.h"
#include "base/usd.h"
#include "base/utf8.h"
#include "codec/json_member.h"

enum { EVENT_BYTES = 256 << 10 };

static void put_time(struct weir_buf *out, const struct clock *clock)
{
    char text[CLOCK_TEXT_BYTES];
    clock_format(text, clock_wall_ms(clock));
    weir_json_put_key(out, "at");
    weir_json_put_str(out, text);
}

/* An event that there is no memory for is not sent: the step fails soon enough for the same reason.
 */
static void emit(struct agent_case *c, const char *type, struct weir_buf *json)
{
    weir_json_put_end_object(json);
    if (weir_buf_status(json) == WEIR_OK && c->emit) c->emit(c->user, type, weir_buf_slice(json));
    weir_buf_fini(json);
}

static void open_event(struct weir_buf *json, const char *agent)
{
    weir_buf_init(json, EVENT_BYTES);
    weir_json_put_begin_object(json);
    member_string(json, "agent", weir_slice_of(agent));
}

struct agent_span agent_begin(struct agent_case *c, const char *agent, struct weir_slice question)
{
    struct weir_buf json;
    open_event(&json, agent);
    put_time(&json, c->clock);
    member_string(&json, "question", question);
    emit(c, "agent.started", &json);
    return (struct agent_span){agent, clock_mono_ns(c->clock), c->cost_usd, c->waited_ms};
}

void agent_end(struct agent_case *c, struct agent_span span, struct weir_slice summary)
{
    struct weir_buf json;
    open_event(&json, span.agent);
    put_time(&json, c->clock);
    weir_json_put_key(&json, "duration_ms");
    /* This pass has found the answers that earlier ones have waited for. */
    uint64_t worked_ms = (clock_mono_ns(c->clock) - span.began_ns) / 1000000;
    weir_json_put_uint(&json, worked_ms + c->waited_ms - span.waited_ms);
    weir_json_put_key(&json, "cost_usd");
    weir_json_put_double(&json, usd_round(c->cost_usd - span.began_usd));
    member_string(&json, "output_summary", summary);
    emit(c, "agent.completed", &json);
}

static void think(struct agent_case *c, const char *agent, const char *channel,
                  struct weir_slice delta)
{
    struct weir_buf json;
    open_event(&json, agent);
    if (channel) member_string(&json, "channel", weir_slice_of(channel));
    member_string(&json, "delta", delta);
    emit(c, "agent.thought", &json);
}

/* The end of the delta that begins at the text's: behind a blank, or else between characters. */
static size_t delta_length(struct weir_slice text)
{
    if (text.len <= AGENT_DELTA_BYTES) return text.len;
    const char *blank = memchr(text.ptr + AGENT_DELTA_BYTES, ' ', text.len - AGENT_DELTA_BYTES);
    size_t len = blank ? (size_t)(blank - text.ptr) + 1 : text.len;
    if (len <= 2 * AGENT_DELTA_BYTES) return len;
    len = 2 * AGENT_DELTA_BYTES;
    while (len < text.len && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) len++;
    return len;
}

void agent_think(struct agent_case *c, const char *agent, const char *channel,
                 struct weir_slice text)
{
    while (text.len > 0) {
        size_t n = delta_length(text);
        think(c, agent, channel, slice_of(text.ptr, n));
        text = slice_from(text, n);
    }
}
