/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading. Every string gets its values back, by what it is: the arguments of tools are JSON inside
 * of a string, so values are escaped twice; thoughts and what belongs to them stay as they are.
 */
#include "base/mem.h"
#include "base/slice.h"
#include "gateway/rewrite.h"

struct revealing {
    struct restorer restorer;
    const struct token_map *tokens;
    struct weir_buf text;
    struct weir_buf *out;
};

static bool is_arguments(struct weir_slice key)
{
    return weir_slice_is(key, "partial_json") || weir_slice_is(key, "arguments");
}

static bool is_thought(const struct weir_json *object)
{
    struct weir_slice type = weir_json_text(weir_json_get_str(object, "type"));
    return weir_slice_is(type, "thinking") || weir_slice_is(type, "thinking_delta") ||
           weir_slice_is(type, "redacted_thinking") || weir_slice_is(type, "signature_delta");
}

static void put_text(struct revealing *r, struct weir_slice text, enum restore_form form)
{
    weir_buf_reset(&r->text);
    restorer_init(&r->restorer, r->tokens, form);
    restorer_feed(&r->restorer, text, &r->text);
    restorer_end(&r->restorer, &r->text);
    weir_json_put_string(r->out, weir_buf_slice(&r->text));
}

/* Its depth is that of the parser, which has a ceiling. */
static void put_value(struct revealing *r, struct weir_slice key, const struct weir_json *v)
{
    bool is_object = weir_json_type_of(v) == WEIR_JSON_OBJECT;
    if (weir_json_type_of(v) == WEIR_JSON_STRING) {
        put_text(r, weir_json_text(v), is_arguments(key) ? RESTORE_JSON : RESTORE_TEXT);
        return;
    }
    if ((!is_object && weir_json_type_of(v) != WEIR_JSON_ARRAY) || (is_object && is_thought(v))) {
        weir_json_put_value(r->out, v);
        return;
    }
    if (is_object) weir_json_put_begin_object(r->out);
    else weir_json_put_begin_array(r->out);
    for (const struct weir_json *m = weir_json_first(v); m; m = weir_json_next(m)) {
        if (is_object) weir_json_put_key_slice(r->out, weir_json_key(m));
        put_value(r, weir_json_key(m), m);
    }
    if (is_object) weir_json_put_end_object(r->out);
    else weir_json_put_end_array(r->out);
}

enum weir_status reveal_json(const struct token_map *tokens, struct weir_slice json,
                             struct weir_buf *out)
{
    const struct weir_json *value;
    struct revealing r = {.tokens = tokens, .out = out};
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, json, &value, NULL);
    if (st == WEIR_OK) {
        weir_buf_init(&r.text, out->max);
        put_value(&r, (struct weir_slice){0}, value);
        st = weir_buf_status(&r.text);
        weir_buf_fini(&r.text);
    } else if (st != WEIR_NOMEM) {
        weir_buf_append_slice(out, json);
        st = WEIR_OK;
    }
    weir_json_doc_free(doc);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}
