/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: the same file, name and verdict in any cutting, and no more bytes than were sent. */
#include "codec/multipart.h"

#include "base/slice.h"
#include "fuzz/fuzz.h"

static enum weir_status on_bytes(void *user, struct weir_slice bytes)
{
    text_add(user, bytes.ptr, bytes.len);
    return WEIR_OK;
}

static void read_cut(struct text *out, struct weir_slice input, struct cut *cut)
{
    struct multipart m;
    struct text bytes = {0};
    struct weir_slice rest = input;
    struct weir_slice piece;
    enum weir_status st = WEIR_OK;
    multipart_init(&m, SLICE("b"), on_bytes, &bytes);
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) st = multipart_feed(&m, piece);
    if (st == WEIR_OK) st = multipart_end(&m);
    fuzz_true("nothing is made up", text_slice(&bytes).len <= input.len);
    text_quote(out, text_slice(&bytes));
    text_printf(out, "%s %s %s", weir_status_name(st), m.error ? m.error : "", m.name);
    text_fini(&bytes);
    cut_fini(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct cut whole = {0};
    struct weir_slice input;
    struct text got = {0};
    struct text want = {0};
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    cut_from_byte(&whole, 0);
    read_cut(&want, input, &whole);
    read_cut(&got, input, &cut);
    fuzz_same("the form", &got, &want);
    text_fini(&got);
    text_fini(&want);
    return 0;
}
