/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the messages of a stream, in each format: what is written are frames that the
 * store takes, they are told apart again, and give the messages back, whole or in pieces. And any
 * text as events that somebody else appended: reading it stays within its bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "stream/frame.h"

enum { MAX_BYTES = 1 << 22 };

static void check_frame(struct weir_slice f)
{
    fuzz_true("a frame ends", f.len >= 3 && memcmp(f.ptr + f.len - 2, "\n\n", 2) == 0);
    fuzz_true("a frame begins", f.ptr[0] != '\n');
    fuzz_true("and ends once", memmem(f.ptr, f.len, "\n\n", 2) == f.ptr + f.len - 2);
    fuzz_true("no CR, no NUL", !memchr(f.ptr, '\r', f.len) && !memchr(f.ptr, '\0', f.len));
}

/* The next message of the input: up to a byte 1, or to the end. */
static bool next_message(struct weir_slice *input, struct weir_slice *message)
{
    if (!input->ptr) return false;
    const char *end = input->len > 0 ? memchr(input->ptr, 1, input->len) : NULL;
    *message = slice_of(input->ptr, end ? (size_t)(end - input->ptr) : input->len);
    *input = end ? slice_from(*input, message->len + 1) : (struct weir_slice){0};
    return true;
}

static void check_format(enum stream_format format, struct weir_slice input)
{
    struct weir_buf events;
    struct weir_buf whole;
    struct weir_buf pieces;
    struct weir_buf want;
    struct weir_slice message;
    unsigned long long id = 0;
    weir_buf_init(&events, MAX_BYTES);
    weir_buf_init(&whole, MAX_BYTES);
    weir_buf_init(&pieces, MAX_BYTES);
    weir_buf_init(&want, MAX_BYTES);
    while (next_message(&input, &message)) {
        size_t at = events.len;
        weir_buf_printf(&events, "id: %llu\n", ++id);
        size_t frame_at = events.len;
        frame_write(&events, format, message);
        check_frame(slice_of(events.ptr + frame_at, events.len - frame_at));
        body_write(&pieces, format, slice_of(events.ptr + at, events.len - at), id, 0);
        weir_buf_append_slice(&want, message);
    }
    body_write(&whole, format, weir_buf_slice(&events), id, 0);
    fuzz_true("pieces are the whole", slice_eq(weir_buf_slice(&pieces), weir_buf_slice(&whole)));
    fuzz_true("messages come back", slice_eq(weir_buf_slice(&want), weir_buf_slice(&whole)));
    weir_buf_fini(&events);
    weir_buf_fini(&whole);
    weir_buf_fini(&pieces);
    weir_buf_fini(&want);
}

/* The input as the lines of one event, as far as it can be: no CR, no NUL, no empty line. */
static void check_foreign(enum stream_format format, struct weir_slice input)
{
    static const char head[] = "id: 1\n";
    size_t len = sizeof head - 1;
    char *event = malloc(len + input.len + 3);
    struct weir_buf out;
    fuzz_true("memory", event != NULL);
    memcpy(event, head, len);
    for (size_t i = 0; i < input.len; i++) {
        char c = input.ptr[i];
        if (c == '\r' || c == '\0' || (c == '\n' && event[len - 1] == '\n')) c = 'x';
        event[len++] = c;
    }
    if (event[len - 1] == '\n') event[len++] = 'x';
    event[len++] = '\n';
    event[len++] = '\n';
    struct weir_slice events = slice_of(event, len);
    struct frame frame;
    fuzz_true("it is an event", frame_next(&events, &frame) && frame.id == 1 && events.len == 0);
    weir_buf_init(&out, MAX_BYTES);
    frame_read(&out, format, &frame);
    fuzz_true("no more than there was", out.len <= input.len);
    weir_buf_fini(&out);
    free(event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    fuzz_true("memory", copy != NULL);
    if (size > 0) memcpy(copy, data, size);
    struct weir_slice input = slice_of(copy, size);
    check_format(STREAM_BYTES, input);
    check_format(STREAM_TEXT, input);
    check_foreign(STREAM_BYTES, input);
    check_foreign(STREAM_TEXT, input);
    check_foreign(STREAM_JSON, input);
    free(copy);
    return 0;
}
