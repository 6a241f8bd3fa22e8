/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages as events and back. A log keeps events as they go over the wire, so a message of a
 * stream becomes a frame that our own watchers can read, and that gives its bytes back exactly:
 *
 *   JSON    data: {"a":1}               one line; line ends between tokens become spaces
 *   text    data: a line                one for each line of it
 *           data: another
 *   bytes   data: AAEC                  base64
 *
 * Text that lines cannot carry (with CR or NUL in it, no UTF-8, or more lines than `out` has room
 * for) is kept as bytes are, with "event: base64" before it. Pure; any thread.
 */
#pragma once

#include <weir/buf.h>

#include "stream/media.h"

/* The frame of one message, without the id line. A JSON message has been checked. */
void frame_write(struct weir_buf *out, enum stream_format format, struct weir_slice message);

/* Takes the first event (id line and all) off *events. False when there is none. */
struct frame {
    uint64_t id;
    struct weir_slice lines; /* behind the id line, each with its LF */
};
bool frame_next(struct weir_slice *events, struct frame *out);

/* The bytes of its message, added to `out`. */
void frame_read(struct weir_buf *out, enum stream_format format, const struct frame *frame);

/*
 * Its data lines, as a "data" event of the protocol has them: of text that was kept as base64 the
 * lines that it has, whatever ends them; of bytes the base64.
 */
void frame_write_sse(struct weir_buf *out, enum stream_format format, const struct frame *frame);

/*
 * A body of the messages of some events in a row, up to id `last`: a JSON array, or one behind
 * the other. It may be put together of several parts, the first and the last of which are told.
 */
enum body_part { BODY_FIRST = 1, BODY_LAST = 2 };
void body_write(struct weir_buf *out, enum stream_format format, struct weir_slice events,
                uint64_t last, unsigned parts);
