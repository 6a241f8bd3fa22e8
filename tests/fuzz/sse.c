/* SPDX-License-Identifier: Apache-2.0 */
/* The SSE decoder against the slow one, limits in any cutting, and the encoder's round trip. */
#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "oracle/sse_slow.h"
#include "oracle/transcript.h"

static void check_limits(struct weir_slice input, uint8_t byte)
{
    struct weir_sse_limits limits = {.max_line_bytes = 1 + byte % 32,
                                     .max_event_bytes = 1 + byte / 8,
                                     .max_id_bytes = 1 + byte % 4};
    struct text whole = {0};
    struct text pieces = {0};
    struct cut cut;
    cut_from_byte(&cut, 0);
    transcript_sse(&whole, input, &cut, &limits);
    cut_from_byte(&cut, byte);
    transcript_sse(&pieces, input, &cut, &limits);
    fuzz_same("with limits", &pieces, &whole);
    text_fini(&whole);
    text_fini(&pieces);
}

/* The three parts of an event are what stands before the first two bytes 0xFF, and the rest. */
static void check_encoder(struct weir_slice input)
{
    struct weir_slice parts[3] = {{input.ptr, 0}, {input.ptr, 0}, {input.ptr, 0}};
    struct weir_buf out;
    size_t part = 0;
    for (size_t i = 0; i < input.len; i++) {
        if ((unsigned char)input.ptr[i] == 0xff && part < 2)
            parts[++part] = (struct weir_slice){input.ptr + i + 1, 0};
        else parts[part].len++;
    }
    struct weir_sse_event event = {parts[1], parts[0], parts[2]};
    weir_buf_init(&out, 1 << 20);
    enum weir_status st = weir_sse_write(&out, &event);
    fuzz_true("only line ends and NUL are refused", st == WEIR_OK || st == WEIR_INVALID);
    if (st == WEIR_INVALID) fuzz_true("nothing is written", out.len == 0);
    if (st == WEIR_OK) {
        struct text got = {0};
        sse_slow(&got, weir_buf_slice(&out));
        size_t n_lines = 0;
        for (size_t i = 0; i < got.len; i++) n_lines += got.ptr[i] == '\n';
        fuzz_true("one event comes out", n_lines == 2 && got.len > 6 && got.ptr[1] == 'v');
        text_fini(&got);
    }
    weir_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    struct text got = {0};
    struct text want = {0};
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    transcript_sse(&got, input, &cut, NULL);
    sse_slow(&want, input);
    fuzz_same("transcript", &got, &want);
    check_limits(input, data[0]);
    check_encoder(input);
    text_fini(&got);
    text_fini(&want);
    return 0;
}
