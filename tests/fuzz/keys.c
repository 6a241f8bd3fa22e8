/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a terminal: the same in any cutting, and nothing is held for ever. */
#include "term_keys.h"

#include "fuzz/fuzz.h"

static void note(void *user, const struct key *key)
{
    struct text *t = user;
    fuzz_true("a key has a kind", key->kind <= KEY_UNKNOWN);
    fuzz_true("a code is a code point", key->code <= 0x10FFFF);
    text_printf(t, "%d:%x%s ", (int)key->kind, (unsigned)key->code, key->has_alt ? "a" : "");
}

static void read_cut(struct text *out, struct weir_slice input, struct cut *cut)
{
    struct keys k = {.n_held = 0};
    struct weir_slice rest = input;
    struct weir_slice piece;
    while (cut_take(cut, &rest, &piece)) keys_feed(&k, piece, 0, note, out);
    cut_fini(cut);
    fuzz_true("what is held has a limit", k.n_held < KEYS_SEQUENCE_BYTES);
    keys_time(&k, KEYS_WAIT_NS, note, out);
    fuzz_true("time decides", k.n_held == 0 || k.is_pasting);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    struct text pieces = {0};
    struct text whole = {0};
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    read_cut(&pieces, input, &cut);
    cut_from_byte(&cut, 0);
    read_cut(&whole, input, &cut);
    fuzz_same("cutting", &pieces, &whole);
    text_fini(&pieces);
    text_fini(&whole);
    return 0;
}
