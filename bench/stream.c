/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generator behind every benchmark input. It writes wire text directly,
 * without the library's own encoders, so that it does not share their mistakes.
 * In a tool_use block `input` stands last: the peer moves it there, and the
 * final messages are compared as text.
 */
#include "stream.h"

static const char *const words[] = {
    "the",    "river", "carries", "every",   "measured", "number", "over",  "a",
    "low",    "dam",   "and",     "nothing", "is",       "lost",   "then",  "each",
    "reader", "sees",  "what",    "was",     "written",  "before", "it",    "asked",
    "sleep",  "heart", "rate",    "average", "of",       "seven",  "weeks", "shows",
};
static const char *const wide_words[] = {"für", "naïve", "—", "漢字", "Größe", "😀", "“so”", "пять"};
static const char *const escaped_words[] = {
    "\\n\\n",          "\\\"quoted\\\"", "C:\\\\dir", "\\t",
    "\\u00e9t\\u00e9", "\\ud83d\\ude00", "a\\/b",     "\\n- "};

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))

void stream_init(struct stream *s, uint64_t seed)
{
    s->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    s->n_messages = 0;
}

uint32_t stream_random(struct stream *s, uint32_t limit)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (uint32_t)((s->random >> 32) % limit);
}

void stream_words(struct stream *s, struct weir_buf *out, size_t len, bool plain)
{
    /* 0: only escapes extra, 1: only wide ones extra, others plain. */
    uint32_t kind = plain ? 2 : stream_random(s, 6);
    size_t end = out->len + len;
    while (out->len < end && out->status == WEIR_OK) {
        bool special = kind < 2 && stream_random(s, 6) == 0;
        if (!special) {
            weir_buf_append_str(out, words[stream_random(s, COUNT(words))]);
        } else if (kind == 0) {
            weir_buf_append_str(out, escaped_words[stream_random(s, COUNT(escaped_words))]);
        } else {
            weir_buf_append_str(out, wide_words[stream_random(s, COUNT(wide_words))]);
        }
        weir_buf_append_char(out, ' ');
    }
}

/* Ends a data line and its event: padding, closing brace, blank line. */
static void end_event(struct stream *s, struct weir_buf *out)
{
    static const char spaces[] = "               ";
    weir_buf_append(out, spaces, stream_random(s, 10));
    weir_buf_append_str(out, "}\n\n");
}

static void put_start(struct stream *s, struct weir_buf *out)
{
    weir_buf_append_str(out, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{"
                             "\"model\":\"model-of-the-bench\",\"id\":\"msg_");
    weir_buf_append_u64(out, s->n_messages);
    weir_buf_append_str(out, "\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],"
                             "\"stop_reason\":null,\"stop_sequence\":null,\"stop_details\":null,"
                             "\"usage\":{\"input_tokens\":472,\"cache_creation_input_tokens\":0,"
                             "\"cache_read_input_tokens\":0,\"cache_creation\":{"
                             "\"ephemeral_5m_input_tokens\":0,\"ephemeral_1h_input_tokens\":0},"
                             "\"output_tokens\":2,\"service_tier\":\"standard\"}}");
    end_event(s, out);
}

static void put_text_block(struct stream *s, struct weir_buf *out)
{
    weir_buf_append_str(out, "event: content_block_start\ndata: {\"type\":\"content_block_start\","
                             "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}");
    end_event(s, out);
    uint32_t n_deltas = 100 + stream_random(s, 400);
    for (uint32_t i = 0; i < n_deltas; i++) {
        if (i % 100 == 0) {
            weir_buf_append_str(out, "event: ping\ndata: {\"type\": \"ping\"}\n\n");
        }
        weir_buf_append_str(out,
                            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
                            "\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"");
        stream_words(s, out, 15 + stream_random(s, 100), false);
        weir_buf_append_str(out, "\"}");
        end_event(s, out);
    }
    weir_buf_append_str(out, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\","
                             "\"index\":0");
    end_event(s, out);
}

static void put_input_delta(struct stream *s, struct weir_buf *out, const char *text, bool number)
{
    weir_buf_append_str(out, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
                             "\"index\":1,\"delta\":{\"type\":\"input_json_delta\","
                             "\"partial_json\":\"");
    weir_buf_append_str(out, text);
    if (number) weir_buf_append_u64(out, stream_random(s, 1000000));
    weir_buf_append_str(out, "\"}");
    end_event(s, out);
}

static void put_tool_block(struct stream *s, struct weir_buf *out)
{
    weir_buf_append_str(out, "event: content_block_start\ndata: {\"type\":\"content_block_start\","
                             "\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"tool_");
    weir_buf_append_u64(out, s->n_messages);
    weir_buf_append_str(out, "\",\"name\":\"save_series\",\"input\":{}}");
    end_event(s, out);
    put_input_delta(s, out, "{\\\"name\\\": \\\"rest", false);
    put_input_delta(s, out, "ing\\\", \\\"values\\\": [", false);
    put_input_delta(s, out, "", true);
    for (uint32_t i = stream_random(s, 40); i > 0; i--) put_input_delta(s, out, ", ", true);
    put_input_delta(s, out, "]}", false);
    weir_buf_append_str(out, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\","
                             "\"index\":1");
    end_event(s, out);
}

void stream_message(struct stream *s, struct weir_buf *out)
{
    s->n_messages++;
    bool has_tool = s->n_messages % 4 == 0;
    put_start(s, out);
    put_text_block(s, out);
    if (has_tool) put_tool_block(s, out);
    weir_buf_append_str(out, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"
                             "\"stop_reason\":\"");
    weir_buf_append_str(out, has_tool ? "tool_use" : "end_turn");
    weir_buf_append_str(out, "\",\"stop_sequence\":null,\"stop_details\":null},"
                             "\"usage\":{\"output_tokens\":");
    weir_buf_append_u64(out, 30 + stream_random(s, 4000));
    weir_buf_append_str(out, "}");
    end_event(s, out);
    weir_buf_append_str(out, "event: message_stop\ndata: {\"type\":\"message_stop\"");
    end_event(s, out);
}
