/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON as a question about what is private: what is read is written as what is read again. */
#include "shield/decision.h"

#include "base/slice.h"
#include "fuzz/fuzz.h"

static bool is_same(const struct decision *a, const struct decision *b)
{
    return slice_eq(a->owner, b->owner) && slice_eq(a->conversation, b->conversation) &&
           slice_eq(a->message, b->message) && slice_eq(a->categories, b->categories) &&
           a->deadline_ms == b->deadline_ms && a->choice == b->choice &&
           a->is_remembered == b->is_remembered;
}

static void check(const struct decision *d, struct weir_json_doc *doc)
{
    struct weir_buf out;
    struct decision again;
    const struct weir_json *v;
    weir_buf_init(&out, 1 << 24);
    decision_put(&out, d);
    fuzz_true("JSON", weir_json_parse(doc, weir_buf_slice(&out), &v, NULL) == WEIR_OK);
    fuzz_true("a question", decision_read(v, &again));
    /* One without categories has an empty object of them. */
    fuzz_true("the same", d->categories.len == 0 || is_same(d, &again));
    weir_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct decision d;
    const struct weir_json *v;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (weir_json_parse(doc, slice_of(data, size), &v, NULL) == WEIR_OK && decision_read(v, &d))
        check(&d, doc);
    weir_json_doc_free(doc);
    return 0;
}
