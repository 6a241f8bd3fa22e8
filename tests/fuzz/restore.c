/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes restored: the same in any cutting, nothing but a backslash held without an open
 * bracket, never more
 * held than its ceiling, and with the values of a map that restores nothing the text as it was.
 */
#include "shield/restore.h"

#include <string.h>

#include "fuzz/fuzz.h"

static struct token_map *some_map(void)
{
    static const char *const names[] = {"email", "credit_card", "phone", "text", "id_2", "id"};
    struct token_map *map = token_map_new();
    struct weir_slice token;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (char n = 'a'; n < 'a' + 12; n++) {
            char value[3] = {'"', n, '\n'};
            struct weir_slice v = {value, sizeof value};
            fuzz_true("a token", token_map_give(map, names[i], v, &token) == WEIR_OK);
        }
    }
    return map;
}

static void restore(struct text *out, const struct token_map *map, struct weir_slice input,
                    struct cut *cut, enum restore_form form)
{
    struct restorer r;
    struct weir_buf buf;
    struct weir_slice rest = input, piece;
    weir_buf_init(&buf, 1 << 24);
    restorer_init(&r, map, form);
    while (cut_take(cut, &rest, &piece)) {
        restorer_feed(&r, piece, &buf);
        bool has_slash = r.n_held > 0 && r.held[0] == '\\';
        fuzz_true("held", r.n_held < RESTORE_HELD_BYTES &&
                              (r.n_held <= has_slash || r.held[has_slash] == '['));
    }
    restorer_end(&r, &buf);
    fuzz_true("restored", weir_buf_status(&buf) == WEIR_OK);
    text_add(out, buf.ptr, buf.len);
    text_printf(out, "|%zu", r.n_restored);
    weir_buf_fini(&buf);
    cut_fini(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct token_map *map;
    struct cut cut;
    struct weir_slice input;
    if (!map) map = some_map();
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    for (int form = RESTORE_TEXT; form <= RESTORE_JSON; form++) {
        struct text pieces = {0}, whole = {0};
        cut_from_byte(&cut, data[0]);
        restore(&pieces, map, input, &cut, (enum restore_form)form);
        cut_from_byte(&cut, 0);
        restore(&whole, map, input, &cut, (enum restore_form)form);
        fuzz_same("cutting", &pieces, &whole);
        text_fini(&pieces);
        text_fini(&whole);
    }
    return 0;
}
