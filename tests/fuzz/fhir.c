/* SPDX-License-Identifier: Apache-2.0 */
/* Clinical records: the same facts and verdict in all pieces. */
#include "fuzz/fuzz.h"
#include "import/kinds.h"
#include "oracle/facts.h"

static enum weir_status read_all(struct text *out, struct weir_slice rest, struct cut *cut)
{
    struct reader *r;
    struct weir_slice piece;
    struct reader_context c = {.sink = facts_written(out)};
    enum weir_status st = reader_fhir.open(&r, &c);
    fuzz_true("a reader opens", st == WEIR_OK);
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) st = reader_fhir.feed(r, piece);
    if (st == WEIR_OK) st = reader_fhir.end(r);
    fuzz_true("a failure has its reason", st == WEIR_OK || reader_fhir.error(r)[0] != 0);
    reader_fhir.close(r);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    struct text whole = {0};
    struct text pieces = {0};
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    struct cut uncut = {.first = input.len, .step = input.len};
    enum weir_status want = read_all(&whole, input, &uncut);
    fuzz_true("pieces have the same verdict", read_all(&pieces, input, &cut) == want);
    fuzz_same("facts", &pieces, &whole);
    cut_fini(&cut);
    cut_fini(&uncut);
    text_fini(&whole);
    text_fini(&pieces);
    return 0;
}
