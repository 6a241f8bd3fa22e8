/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of models from any bytes, in both dialects: however they are cut they come to the same,
 * the content is a JSON array, a failure has its sentence, and every tool in the content has an
 * object for its input. The second byte says which dialect, as a stream or whole, with or without
 * a schema, and whether the connection was lost.
 */
#include <string.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "model/model_impl.h"

static const struct model_provider providers[] = {{.name = "a", .type = MODEL_ANTHROPIC},
                                                  {.name = "o", .type = MODEL_OPENAI}};

enum { FLAG_OPENAI = 1, FLAG_WHOLE = 2, FLAG_OBJECT = 4, FLAG_LOST = 8 };

static void on_delta(void *user, enum model_delta kind, struct weir_slice delta)
{
    struct text *deltas = user;
    fuzz_true("a delta has something", delta.len > 0);
    text_add(&deltas[kind], delta.ptr, delta.len);
}

static void check_content(struct weir_slice content)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *blocks = NULL;
    fuzz_true("the content is JSON", weir_json_parse(doc, content, &blocks, NULL) == WEIR_OK);
    fuzz_true("and an array", weir_json_type_of(blocks) == WEIR_JSON_ARRAY);
    for (const struct weir_json *x = weir_json_first(blocks); x; x = weir_json_next(x))
        if (weir_slice_is(weir_json_text(weir_json_get_str(x, "type")), "tool_use"))
            fuzz_true("a tool has an object",
                      weir_json_type_of(weir_json_get_str(x, "input")) == WEIR_JSON_OBJECT);
    weir_json_doc_free(doc);
}

static void hear(struct text *out, uint8_t flags, struct weir_slice rest, struct cut *cut)
{
    struct text deltas[2] = {{0}, {0}};
    struct weir_buf content;
    struct model_content c = {.out = &content};
    struct model_failure f;
    struct weir_slice piece;
    struct model_reply_options o = {.provider = &providers[(flags & FLAG_OPENAI) != 0],
                                    .type = providers[(flags & FLAG_OPENAI) != 0].type,
                                    .wants_object = (flags & FLAG_OBJECT) != 0,
                                    .on_delta = on_delta,
                                    .user = deltas};
    struct model_reply *r = model_reply_new(&o, flags & FLAG_WHOLE ? SLICE("application/json")
                                                                   : SLICE("text/event-stream"));
    weir_buf_init(&content, 64 << 20);
    while (cut_take(cut, &rest, &piece))
        if (!model_reply_feed(r, piece)) break;
    cut_fini(cut);
    model_reply_end(r, flags & FLAG_LOST ? "lost" : NULL, &c, &f);
    check_content(weir_buf_slice(&content));
    fuzz_true("a failure has a sentence", (f.status == WEIR_OK) == (f.why[0] == 0));
    fuzz_true("and no end", (f.status != WEIR_OK) == (c.stop == MODEL_STOP_CUT));
    text_printf(out, "%d %d %d %s\n", f.status, f.may_help, c.stop, f.why);
    text_add(out, content.ptr, content.len);
    text_add(out, deltas[0].ptr, deltas[0].len);
    text_add(out, deltas[1].ptr, deltas[1].len);
    text_fini(&deltas[0]);
    text_fini(&deltas[1]);
    weir_buf_fini(&content);
    model_reply_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut, whole;
    struct weir_slice input;
    struct text got = {0}, want = {0};
    if (!fuzz_input(data, size, &cut, &input) || input.len == 0) return 0;
    uint8_t flags = (uint8_t)input.ptr[0];
    input = slice_from(input, 1);
    cut_from_byte(&whole, 0);
    hear(&want, flags, input, &whole);
    hear(&got, flags, input, &cut);
    fuzz_same("the cutting does not matter", &got, &want);
    text_fini(&got);
    text_fini(&want);
    return 0;
}
