/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any stream through the gateway: no text is lost or made, whatever the events are, and each event
 * that is stored can be read on its own.
 */
#include <weir/sse.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "gateway/rewrite.h"

enum { BYTES = 1 << 24 };

struct run {
    struct weir_json_doc *doc;
    struct rewriter *rewriter;
    const struct token_map *tokens;
    struct weir_buf shown;
    size_t n_in, n_out; /* bytes of texts */
    enum weir_status status;
};

static size_t length(const struct weir_json *object, const char *key)
{
    const struct weir_json *v = weir_json_get_str(object, key);
    return weir_json_type_of(v) == WEIR_JSON_STRING ? weir_json_text(v).len : 0;
}

static size_t texts_of(const struct weir_json *event)
{
    const struct weir_json *delta = weir_json_get_str(event, "delta");
    const struct weir_json *choice = weir_json_first(weir_json_get_str(event, "choices"));
    size_t n = length(delta, "text") + length(delta, "partial_json") +
               length(weir_json_get_str(event, "content_block"), "text");
    for (; choice; choice = weir_json_next(choice)) {
        delta = weir_json_get_str(choice, "delta");
        n += length(delta, "content") + length(delta, "refusal");
        const struct weir_json *call = weir_json_first(weir_json_get_str(delta, "tool_calls"));
        for (; call; call = weir_json_next(call))
            n += length(weir_json_get_str(call, "function"), "arguments");
    }
    return n;
}

static size_t measure(struct run *r, struct weir_slice data)
{
    const struct weir_json *value;
    weir_json_doc_reset(r->doc);
    if (weir_json_parse(r->doc, data, &value, NULL) != WEIR_OK) return 0;
    return texts_of(value);
}

static void on_stored(void *user, struct weir_slice type, struct weir_slice data)
{
    struct run *r = user;
    (void)type;
    r->n_out += measure(r, data);
    weir_buf_reset(&r->shown);
    fuzz_true("an event can be read", reveal_json(r->tokens, data, &r->shown) == WEIR_OK);
}

static void on_event(void *user, const struct weir_sse_event *event)
{
    struct run *r = user;
    if (r->status != WEIR_OK) return;
    r->n_in += measure(r, event->data);
    r->status = rewriter_event(r->rewriter, event->type, event->data);
}

static struct token_map *some_map(void)
{
    struct token_map *map = token_map_new();
    struct weir_slice token;
    fuzz_true("a token", token_map_give(map, "email", SLICE("a@b.example"), &token) == WEIR_OK);
    fuzz_true("a token", token_map_give(map, "secret", SLICE("\"\n\\"), &token) == WEIR_OK);
    return map;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct weir_sse_handlers handlers = {.on_event = on_event};
    static struct token_map *map;
    struct cut cut;
    struct weir_slice rest, piece;
    if (!map) map = some_map();
    if (!fuzz_input(data, size, &cut, &rest)) return 0;
    struct run r = {.doc = weir_json_doc_new(0), .tokens = map};
    struct weir_sse *sse = weir_sse_new(&handlers, &r, NULL);
    enum wire wire = size % 2 == 0 ? WIRE_ANTHROPIC : WIRE_OPENAI;
    weir_buf_init(&r.shown, BYTES);
    r.rewriter = rewriter_new(wire, map, on_stored, &r);
    fuzz_true("memory", r.doc && sse && r.rewriter);
    while (cut_take(&cut, &rest, &piece))
        fuzz_true("bytes are taken", weir_sse_feed(sse, piece.ptr, piece.len) == WEIR_OK);
    if (r.status == WEIR_OK) r.status = rewriter_end(r.rewriter);
    fuzz_true("only a limit or what is broken ends it",
              r.status == WEIR_OK || r.status == WEIR_LIMIT || r.status == WEIR_UPSTREAM);
    fuzz_true("no text is lost or made", r.status != WEIR_OK || r.n_in == r.n_out);
    rewriter_free(r.rewriter);
    weir_sse_free(sse);
    weir_json_doc_free(r.doc);
    weir_buf_fini(&r.shown);
    cut_fini(&cut);
    return 0;
}
