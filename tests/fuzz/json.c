/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict JSON: verdict, offset and value of the whole text and of the text in
 * pieces, against the slow reader and against jansson; the checker's verdict too.
 */
#include <weir/json.h>

#include "codec/json_check.h"
#include "fuzz/fuzz.h"
#include "oracle/json_peer.h"
#include "oracle/json_slow.h"
#include "oracle/transcript.h"

static void check_value(const struct weir_json *v, struct weir_slice input)
{
    struct text raw = {0};
    struct text got = {0};
    struct text want = {0};
    transcript_value(&raw, v);
    fuzz_true("what is written is JSON",
              json_slow_show(&got, text_slice(&raw), 0, JSON_SLOW_WHOLE));
    fuzz_true("there is a value", json_slow_show(&want, input, 0, JSON_SLOW_WHOLE));
    fuzz_same("value", &got, &want);
    text_fini(&raw);
    text_fini(&got);
    text_fini(&want);
}

static void check_pieces(struct weir_slice input, struct cut *cut, enum weir_status want_st,
                         size_t want_offset)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    struct weir_slice rest = input;
    struct weir_slice piece;
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK && cut_take(cut, &rest, &piece))
        st = weir_json_reader_feed(r, piece.ptr, piece.len);
    if (st == WEIR_OK) st = weir_json_reader_end(r);
    fuzz_true("pieces have the same verdict", st == want_st);
    fuzz_true("pieces have the same offset", weir_json_reader_offset(r) == want_offset);
    if (st == WEIR_OK) check_value(weir_json_reader_value(r), input);
    cut_fini(cut);
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

static void check_checker(struct weir_slice input, enum weir_status want_st, size_t want_offset)
{
    struct json_found found;
    fuzz_true("the checker has the same verdict", json_check(input, NULL, NULL, &found) == want_st);
    fuzz_true("the checker has the same offset", found.offset == want_offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    size_t want_offset;
    size_t offset;
    const struct weir_json *v;
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status want_st = json_slow_check(input, 0, &want_offset);
    enum weir_status st = weir_json_parse(doc, input, &v, &offset);
    fuzz_true("the verdict is the slow reader's", st == want_st);
    fuzz_true("the offset is the slow reader's", offset == want_offset);
    fuzz_true("a value exactly when it is JSON", (v != NULL) == (st == WEIR_OK));
    if (v) check_value(v, input);
    check_pieces(input, &cut, want_st, want_offset);
    check_checker(input, want_st, want_offset);
    const char *complaint = json_peer_disagreement(input);
    fuzz_true(complaint ? complaint : "jansson agrees", !complaint);
    weir_json_doc_free(doc);
    return 0;
}
