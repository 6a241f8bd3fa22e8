/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a segment of the journal: reading it must stay inside them, and a
 * record that was read must come out the same when it is written again.
 */
#include <string.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "store/journal_format.h"

static void check_record(struct weir_slice rest, uint64_t serial, const struct record *record)
{
    struct weir_buf again;
    struct record second;
    weir_buf_init(&again, record->n_bytes);
    record_write(&again, serial, record);
    fuzz_true("the size is kept",
              weir_buf_status(&again) == WEIR_OK && again.len == record->n_bytes);
    /* Only the padding, which no checksum covers, may differ. */
    size_t n_meant = RECORD_HEAD_BYTES + record->payload.len;
    fuzz_true("the bytes are kept", memcmp(again.ptr, rest.ptr, n_meant) == 0);
    fuzz_true("it is read again", record_read(weir_buf_slice(&again), serial, &second));
    weir_buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segment_head head = {.serial = 1};
    struct record record;
    struct weir_slice rest = slice_of(data, size);
    bool has_head = segment_head_read(rest, &head);
    if (has_head) rest = slice_from(rest, SEGMENT_HEAD_BYTES);
    while (rest.len >= RECORD_ALIGN) {
        (void)record_may_vouch_for(rest, 1, rest.len);
        bool is_record = record_read(rest, head.serial, &record);
        fuzz_true("a record lies inside", !is_record || record.n_bytes <= rest.len);
        if (is_record) check_record(rest, head.serial, &record);
        rest = slice_from(rest, is_record ? record.n_bytes : RECORD_ALIGN);
    }
    return 0;
}
