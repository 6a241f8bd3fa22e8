/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is typed: the text is well-formed and within its bounds, the cursor stands between
 * characters, and the rows of it fit on the screen with the cursor in them.
 */
#include "line_rows.h"

#include "base/slice.h"
#include "base/utf8.h"
#include "fuzz/fuzz.h"

struct typing {
    struct line_editor *e;
    struct weir_buf taken;
};

static void press(void *user, const struct key *key)
{
    struct typing *t = user;
    enum line_act act = line_editor_key(t->e, key);
    struct weir_slice text = line_editor_text(t->e);
    size_t cursor = line_editor_cursor(t->e);
    fuzz_true("the text has a ceiling", text.len <= LINE_TEXT_BYTES);
    fuzz_true("the text is well-formed", utf8_valid_prefix(text) == text.len);
    fuzz_true("the cursor is in it", cursor <= text.len);
    fuzz_true("between characters", utf8_valid_prefix(slice_of(text.ptr, cursor)) == cursor);
    fuzz_true("nothing empty is submitted", act != LINE_SUBMIT || text.len > 0);
    fuzz_true("nothing typed is quit", act != LINE_QUIT || text.len == 0);
    if (act == LINE_SUBMIT) (void)line_editor_take(t->e, &t->taken);
    weir_buf_reset(&t->taken);
}

static void check_rows(const struct line_editor *e, unsigned columns, size_t most)
{
    struct screen s;
    screen_init(&s, columns, 24);
    screen_live_begin(&s);
    line_rows_live(e, &s, most, 0);
    fuzz_true("there are rows", s.next.n > 0 && s.next.n <= (most > 0 ? most : 1));
    fuzz_true("the cursor is in one", s.next.cursor.is_shown && s.next.cursor.up < s.next.n);
    fuzz_true("and on the screen", s.next.cursor.column < columns);
    for (size_t i = 0; i < s.next.n; i++) fuzz_true("rows fit", s.next.rows[i].width <= columns);
    screen_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct keys k = {.n_held = 0};
    struct typing t = {.e = line_editor_new()};
    if (size < 2 || !t.e) {
        line_editor_free(t.e);
        return 0;
    }
    weir_buf_init(&t.taken, LINE_TEXT_BYTES);
    keys_feed(&k, slice_of(data + 2, size - 2), 0, press, &t);
    keys_time(&k, KEYS_WAIT_NS, press, &t);
    check_rows(t.e, 10 + data[0] % 60, data[1] % 8);
    weir_buf_fini(&t.taken);
    line_editor_free(t.e);
    return 0;
}
