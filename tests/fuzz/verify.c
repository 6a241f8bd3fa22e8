/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numeric verification of any bytes against a ledger that has all kinds of units: no crash, places
 * inside the text and in its order, and a text is never known better than by itself: its own
 * bytes as the question leave no more numbers without a home than before. And what is stripped has
 * no such number left, is not longer, and is what it was where there was none.
 */
#include <weir/json.h>

#include "check/strip.h"
#include "fuzz/fuzz.h"

static const char ledger_text[] =
    "[{\"claim\":\"ds-001.avg\",\"value\":61.8,\"unit\":\"bpm\",\"n\":28,"
    "\"window\":{\"from\":\"2025-03-01\",\"to\":\"2025-03-28\"}},"
    "{\"claim\":\"ds-002.diff\",\"value\":-0.374,\"unit\":\"\"},"
    "{\"claim\":\"ds-003.avg\",\"value\":432,\"unit\":\"min\",\"verdict\":\"conditional\"},"
    "{\"claim\":\"ds-004.share\",\"value\":0.42,\"unit\":\"fraction\"},"
    "{\"claim\":\"ds-005.time\",\"value\":\"23:16\"},"
    "{\"claim\":\"ds-006.avg\",\"value\":72.4,\"unit\":\"kg\"},"
    "{\"claim\":\"ds-007.p\",\"value\":0.003},"
    "{\"claim\":\"ds-008.day\",\"value\":\"2025-03-14\"}]";

static size_t count_lacking(const struct verify_input *input, struct arena *arena)
{
    struct verify_result r;
    size_t end = 0;
    enum weir_status st = verify_text(&r, input, arena);
    fuzz_true("it is verified", st == WEIR_OK || input->text.len > VERIFY_TEXT_BYTES);
    if (st != WEIR_OK) return 0;
    for (size_t i = 0; i < r.n; i++) {
        fuzz_true("numbers are in order", r.numbers[i].offset >= end && r.numbers[i].len > 0);
        end = r.numbers[i].offset + r.numbers[i].len;
        fuzz_true("numbers are in the text", end <= input->text.len);
        fuzz_true("homes are said",
                  (r.numbers[i].outcome == VERIFY_HOME) == (r.numbers[i].home != NULL));
    }
    return r.n_lacking;
}

static void strip(const struct verify_input *input, size_t lacking, struct arena *arena)
{
    struct stripped s;
    struct unhedged u;
    struct verify_result r;
    if (input->text.len > VERIFY_TEXT_BYTES) return;
    fuzz_true("it is stripped", verify_strip(&s, input, arena) == WEIR_OK);
    fuzz_true("it is not longer", s.text.len <= input->text.len);
    fuzz_true("an honest text stays", lacking > 0 || s.text.len == input->text.len);
    struct verify_input rest = *input;
    rest.text = s.text;
    fuzz_true("what is left is clean", count_lacking(&rest, arena) == 0);
    fuzz_true("it is verified", verify_text(&r, input, arena) == WEIR_OK);
    fuzz_true("hedges are found", verify_unhedged(&u, input->text, &r, arena) == WEIR_OK);
    fuzz_true("one sentence for a number at most", u.n <= r.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *json;
    struct arena arena;
    struct ledger ledger;
    char error[LEDGER_ERROR_BYTES];
    struct weir_slice text = {(const char *)bytes, len};
    arena_init(&arena, VERIFY_ARENA_BYTES);
    fuzz_true("the ledger is JSON",
              weir_json_parse(doc, weir_slice_of(ledger_text), &json, NULL) == WEIR_OK);
    fuzz_true("the ledger is one", ledger_read(&ledger, json, &arena, error) == WEIR_OK);
    struct verify_input input = {text, &ledger, NULL, 0};
    size_t lacking = count_lacking(&input, &arena);
    strip(&input, lacking, &arena);
    input.known = &text;
    input.n_known = 1;
    fuzz_true("more that is known, less that lacks", count_lacking(&input, &arena) <= lacking);
    if (weir_json_parse(doc, text, &json, NULL) == WEIR_OK &&
        ledger_read(&ledger, json, &arena, error) != WEIR_OK)
        fuzz_true("it says why", error[0] != '\0' || arena.status != WEIR_OK);
    arena_fini(&arena);
    weir_json_doc_free(doc);
    return 0;
}
