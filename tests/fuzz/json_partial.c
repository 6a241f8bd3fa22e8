/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value after every piece: what the slow reader shows for all bytes so far,
 * never less than before, and in the end what the strict reader gives.
 */
#include <string.h>

#include <weir/json.h>

#include "fuzz/fuzz.h"
#include "oracle/json_slow.h"
#include "oracle/transcript.h"

/* The slow reader starts over for each piece, so inputs are kept short. */
enum { MAX_INPUT_BYTES = 300, MAX_DEPTH = 20 };

static void show_ours(struct text *out, const struct weir_json *v)
{
    struct text raw = {0};
    transcript_value(&raw, v);
    if (!v) text_add(out, raw.ptr, raw.len);
    else
        fuzz_true("what is written is JSON",
                  json_slow_show(out, text_slice(&raw), MAX_DEPTH, JSON_SLOW_WHOLE));
    text_fini(&raw);
}

static void check_shown(const struct weir_json *v, struct weir_slice so_far, bool is_error)
{
    struct text got = {0};
    struct text want = {0};
    show_ours(&got, v);
    if (!json_slow_show(&want, so_far, MAX_DEPTH, JSON_SLOW_OPEN)) text_add_char(&want, '-');
    /* After an error nothing more can come, so half a pair may be shown or not. */
    if (is_error && !text_eq(&got, &want)) {
        want.len = 0;
        if (!json_slow_show(&want, so_far, MAX_DEPTH, JSON_SLOW_CUT)) text_add_char(&want, '-');
    }
    fuzz_same("what is shown", &got, &want);
    text_fini(&got);
    text_fini(&want);
}

static bool has_grown(const struct weir_json *old, const struct weir_json *new)
{
    struct weir_slice a = weir_json_text(old);
    struct weir_slice b = weir_json_text(new);
    if (!old) return true;
    if (!new || weir_json_type_of(old) != weir_json_type_of(new)) return false;
    if (a.len > b.len || (a.len > 0 && memcmp(a.ptr, b.ptr, a.len) != 0)) return false;
    if (weir_json_type_of(old) == WEIR_JSON_NUMBER && a.len != b.len) return false;
    const struct weir_json *y = weir_json_first(new);
    for (const struct weir_json *x = weir_json_first(old); x; x = weir_json_next(x)) {
        struct weir_slice p = weir_json_key(x);
        struct weir_slice q = weir_json_key(y);
        if (p.len != q.len || (p.len > 0 && memcmp(p.ptr, q.ptr, p.len) != 0)) return false;
        if (!has_grown(x, y)) return false;
        y = weir_json_next(y);
    }
    return true;
}

static void check_end(struct weir_json_reader *r, struct weir_slice input)
{
    size_t offset;
    enum weir_status want = json_slow_check(input, MAX_DEPTH, &offset);
    fuzz_true("the end has the strict verdict", weir_json_reader_end(r) == want);
    if (want != WEIR_OK) return;
    struct text got = {0};
    struct text whole = {0};
    show_ours(&got, weir_json_reader_value(r));
    (void)json_slow_show(&whole, input, MAX_DEPTH, JSON_SLOW_WHOLE);
    fuzz_same("the last value", &got, &whole);
    fuzz_true("it is whole", weir_json_is_whole(weir_json_reader_value(r)));
    text_fini(&got);
    text_fini(&whole);
}

static void check_cut(struct weir_json_reader *r, struct weir_slice input)
{
    struct text got = {0};
    struct text want = {0};
    weir_json_reader_cut(r);
    show_ours(&got, weir_json_reader_value(r));
    if (!json_slow_show(&want, input, MAX_DEPTH, JSON_SLOW_CUT)) text_add_char(&want, '-');
    fuzz_same("what a cut shows", &got, &want);
    text_fini(&got);
    text_fini(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    struct weir_slice piece;
    if (size > MAX_INPUT_BYTES || !fuzz_input(data, size, &cut, &input)) return 0;
    bool has_repeats = json_slow_has_repeats(input, MAX_DEPTH);
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_doc *before = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, MAX_DEPTH);
    struct weir_slice rest = input;
    const struct weir_json *last = NULL;
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK && cut_take(&cut, &rest, &piece)) {
        struct weir_slice so_far = {input.ptr, input.len - rest.len};
        st = weir_json_reader_feed(r, piece.ptr, piece.len);
        const struct weir_json *v = weir_json_reader_value(r);
        check_shown(v, so_far, st != WEIR_OK);
        fuzz_true("nothing shown is taken back", has_repeats || has_grown(last, v));
        weir_json_doc_reset(before);
        last = v ? weir_json_copy(before, v) : NULL;
    }
    if (st == WEIR_OK && data[0] % 2) check_cut(r, input);
    else if (st == WEIR_OK) check_end(r, input);
    cut_fini(&cut);
    weir_json_reader_free(r);
    weir_json_doc_free(before);
    weir_json_doc_free(doc);
    return 0;
}
