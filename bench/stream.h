/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endless Anthropic-like stream, the same on every machine.
 *
 * Each message has a message_start, one text block (two blocks, the second a
 * tool_use, in every fourth message), pings, a message_delta and a
 * message_stop. Text deltas are 20 to 120 bytes; about one in six carries
 * characters beyond ASCII and one in six carries escapes; lines are padded
 * with spaces inside the JSON as the real service does.
 */
#pragma once

#include <weir/buf.h>

struct stream {
    uint64_t random;
    uint64_t n_messages;
};

void stream_init(struct stream *s, uint64_t seed);

/* The next number of the stream's own generator, below `limit`. */
uint32_t stream_random(struct stream *s, uint32_t limit);

/* Appends the next whole message in wire form. */
void stream_message(struct stream *s, struct weir_buf *out);

/* Appends words, JSON-escaped, until at least `len` bytes were added. */
void stream_words(struct stream *s, struct weir_buf *out, size_t len, bool plain);
