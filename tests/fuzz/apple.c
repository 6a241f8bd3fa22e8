/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apple's export: whatever the pieces, the same facts, refusals and verdict; and a reader that
 * goes on from a mark hands over exactly what is left.
 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "import/kinds.h"
#include "oracle/facts.h"

static enum weir_status feed_all(struct reader *r, struct weir_slice rest, struct cut *cut)
{
    struct weir_slice piece;
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) st = reader_apple.feed(r, piece);
    return st == WEIR_OK ? reader_apple.end(r) : st;
}

static enum weir_status read_all(struct text *out, struct weir_slice input, struct cut *cut)
{
    struct reader *r;
    struct reader_context c = {.sink = facts_written(out)};
    fuzz_true("a reader opens", reader_apple.open(&r, &c) == WEIR_OK);
    enum weir_status st = feed_all(r, input, cut);
    fuzz_true("a failure has its reason", st == WEIR_OK || reader_apple.error(r)[0] != 0);
    reader_apple.close(r);
    return st;
}

/* What is behind the mark at this place is the end of what there is. */
static void check_resume(struct weir_slice input, size_t at, const struct text *whole)
{
    struct reader *r;
    struct text before = {0};
    struct text rest = {0};
    struct cut cut = {.first = input.len, .step = input.len};
    char note[READER_NOTE_BYTES];
    struct reader_context c = {.sink = facts_written(&before)};
    fuzz_true("a reader opens", reader_apple.open(&r, &c) == WEIR_OK);
    enum weir_status st = reader_apple.feed(r, (struct weir_slice){input.ptr, at});
    uint64_t mark = st == WEIR_OK ? reader_apple.mark(r) : 0;
    fuzz_true("a mark lies in what was read", mark <= at);
    reader_apple.note(r, note);
    reader_apple.close(r);
    text_fini(&before);
    if (mark == 0) return;
    c = (struct reader_context){.sink = facts_written(&rest), .note = weir_slice_of(note)};
    fuzz_true("it goes on", reader_apple.resume(&r, &c, mark) == WEIR_OK);
    st = feed_all(r, (struct weir_slice){input.ptr + mark, input.len - mark}, &cut);
    fuzz_true("it comes to the end", st == WEIR_OK);
    reader_apple.close(r);
    cut_fini(&cut);
    /* The first line says when the export was made, and is said again. */
    const char *line = memchr(rest.ptr, '\n', rest.len);
    size_t first = line ? (size_t)(line + 1 - rest.ptr) : 0;
    size_t len = rest.len - first;
    fuzz_true("the rest is the end of the whole",
              len <= whole->len &&
                  (len == 0 || memcmp(whole->ptr + whole->len - len, rest.ptr + first, len) == 0));
    text_fini(&rest);
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
    enum weir_status got = read_all(&pieces, input, &cut);
    fuzz_true("pieces have the same verdict", (got == WEIR_OK) == (want == WEIR_OK));
    fuzz_same("facts", &pieces, &whole);
    if (want == WEIR_OK && input.len > 0) check_resume(input, input.len / 2, &whole);
    cut_fini(&cut);
    cut_fini(&uncut);
    text_fini(&whole);
    text_fini(&pieces);
    return 0;
}
