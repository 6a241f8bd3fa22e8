/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a stream's document, a producer's, a media type, an offset: nothing is read beyond
 * the end, what is found lies inside, and what was read once is written and read the same again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "stream/offset.h"
#include "stream/record.h"

enum { MAX_BYTES = 1 << 20 };

static void check_inside(struct weir_slice input, struct weir_slice part)
{
    fuzz_true("it lies inside", part.len == 0 || (part.ptr >= input.ptr &&
                                                  part.ptr + part.len <= input.ptr + input.len));
}

static void check_record(struct weir_slice input)
{
    struct stream_record r;
    struct stream_record again;
    struct weir_buf first;
    struct weir_buf second;
    if (!stream_record_read(input, &r)) return;
    check_inside(input, r.type);
    check_inside(input, r.expires);
    check_inside(input, r.closer);
    check_inside(input, r.seq);
    check_inside(input, r.source);
    fuzz_true("an end is an end", !record_is_expired(&r, 5) || r.ttl_s >= 0 || r.expires.len > 0);
    weir_buf_init(&first, MAX_BYTES);
    weir_buf_init(&second, MAX_BYTES);
    stream_record_write(&first, &r);
    fuzz_true("it is read again", stream_record_read(weir_buf_slice(&first), &again));
    stream_record_write(&second, &again);
    fuzz_true("and is the same", slice_eq(weir_buf_slice(&first), weir_buf_slice(&second)));
    weir_buf_fini(&first);
    weir_buf_fini(&second);
}

static void check_producer(struct weir_slice input)
{
    struct producer_record p;
    struct producer_record again;
    struct weir_buf body;
    if (!producer_read(input, &p)) return;
    weir_buf_init(&body, MAX_BYTES);
    producer_write(&body, &p);
    fuzz_true("a producer is read again", producer_read(weir_buf_slice(&body), &again));
    fuzz_true("and is the same", p.epoch == again.epoch && p.seq == again.seq);
    weir_buf_fini(&body);
}

static void check_words(struct weir_slice input)
{
    char text[OFFSET_BYTES];
    struct offset o;
    struct weir_slice essence = media_essence(input);
    check_inside(input, essence);
    fuzz_true("a type has a slash", essence.len == 0 || memchr(essence.ptr, '/', essence.len));
    fuzz_true("a cursor is there", cursor_after(input, INT64_C(1800000000000), 7) > 0);
    if (!offset_parse(input, &o) || o.kind != OFFSET_AT) return;
    offset_format(o.id, text);
    fuzz_true("an offset is one text", slice_eq(input, slice_of(text, sizeof text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size);
    struct weir_slice input = {copy, size};
    fuzz_true("memory", copy || size == 0);
    if (size > 0) memcpy(copy, data, size);
    check_record(input);
    check_producer(input);
    check_words(input);
    free(copy);
    return 0;
}
