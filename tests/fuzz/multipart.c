/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: the same file, name and verdict in any cutting, and no more bytes than were sent. */
#include "codec/multipart.h"

#include "base/slice.h"
#include "form.h"
#include "fuzz/fuzz.h"

static void read_cut(struct text *out, struct weir_slice input, struct cut *cut)
{
    struct multipart m;
    struct text bytes = {0};
    enum weir_status st = form_read(&m, SLICE("b"), &bytes, input, cut);
    fuzz_true("nothing is made up", text_slice(&bytes).len <= input.len);
    text_quote(out, text_slice(&bytes));
    text_printf(out, "%s %s %s", weir_status_name(st), m.error ? m.error : "", m.name);
    text_fini(&bytes);
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
