/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a batch of the journal: reading its entries must stay inside them, and what
 * was read must come out the same when it is written again.
 */
#include <string.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "store/batch_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice rest = slice_of(data, size);
    struct weir_slice before = rest;
    struct entry e;
    while (entry_read(&rest, &e)) {
        struct weir_buf again;
        size_t n_bytes = before.len - rest.len;
        fuzz_true("an entry lies inside", rest.len < before.len);
        weir_buf_init(&again, n_bytes);
        entry_write(&again, &e);
        fuzz_true("the bytes are kept", weir_buf_status(&again) == WEIR_OK &&
                                            again.len == n_bytes &&
                                            memcmp(again.ptr, before.ptr, n_bytes) == 0);
        weir_buf_fini(&again);
        before = rest;
    }
    fuzz_true("a bad entry takes nothing", rest.len == before.len);
    return 0;
}
