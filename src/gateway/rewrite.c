/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storing. A part is one growing text of the answer: a block's text or arguments (Anthropic), a
 * choice's content, refusal or the arguments of one of its tool calls (OpenAI). Each has its own
 * restorer, that joins what was cut. What a part holds when it ends comes before the event that
 * ends it, or at the end of that event's own piece.
 */
#include "gateway/rewrite.h"

#include <string.h>

#include "base/mem.h"
#include "base/slice.h"

/* What a part is, beside where. */
enum part_kind { PART_TEXT, PART_ARGUMENTS, PART_REFUSAL };

struct part {
    bool is_open;
    enum part_kind kind;
    int64_t choice; /* or block */
    int64_t call;   /* of a choice */
    struct restorer joiner;
};

struct rewriter {
    enum wire wire;
    const struct token_map *tokens;
    rewrite_fn emit;
    void *user;
    bool has_ended;
    struct weir_json_doc *doc; /* of the event at hand */
    struct weir_json *event;
    struct weir_buf text, data;
    struct part parts[REWRITE_PARTS];
};

struct rewriter *rewriter_new(enum wire wire, const struct token_map *tokens, rewrite_fn emit,
                              void *user)
{
    struct rewriter *r = mem_zalloc(sizeof *r);
    if (!r) return NULL;
    *r = (struct rewriter){.wire = wire, .tokens = tokens, .emit = emit, .user = user};
    weir_buf_init(&r->text, REWRITE_EVENT_BYTES);
    weir_buf_init(&r->data, 2 * REWRITE_EVENT_BYTES);
    r->doc = weir_json_doc_new(0);
    if (r->doc) return r;
    rewriter_free(r);
    return NULL;
}

void rewriter_free(struct rewriter *r)
{
    if (!r) return;
    weir_json_doc_free(r->doc);
    weir_buf_fini(&r->text);
    weir_buf_fini(&r->data);
    mem_free(r);
}

bool rewriter_has_ended(const struct rewriter *r)
{
    return r->has_ended;
}

/* All that is looked at belongs to the document of the event, which is ours to change. */
static struct weir_json *changeable(const struct weir_json *value)
{
    return (struct weir_json *)(uintptr_t)value;
}

static struct weir_json *first_of(const struct weir_json *value)
{
    return changeable(weir_json_first(value));
}

static struct weir_json *next_of(const struct weir_json *member)
{
    return changeable(weir_json_next(member));
}

/* ---- parts ---- */

static struct part *find_part(struct rewriter *r, const struct part *like)
{
    struct part *unused = NULL;
    for (size_t i = 0; i < REWRITE_PARTS; i++) {
        struct part *p = &r->parts[i];
        if (!p->is_open) {
            if (!unused) unused = p;
            continue;
        }
        if (p->kind == like->kind && p->choice == like->choice && p->call == like->call) return p;
    }
    if (!unused) return NULL;
    *unused = *like;
    unused->is_open = true;
    restorer_init(&unused->joiner, r->tokens, RESTORE_NOT);
    return unused;
}

static enum weir_status emit_event(struct rewriter *r, struct weir_slice type,
                                   const struct weir_json *event)
{
    weir_buf_reset(&r->data);
    weir_json_put_value(&r->data, event);
    enum weir_status st = weir_buf_status(&r->data);
    if (st == WEIR_OK) r->emit(r->user, type, weir_buf_slice(&r->data));
    return st;
}

/*
 * Passes the piece object[key] through the part; `is_last`: nothing of it will come any more. The
 * piece that is left may be empty.
 */
static enum weir_status pass(struct rewriter *r, const struct part *like, struct weir_json *object,
                             const char *key, bool is_last)
{
    struct weir_slice name = weir_slice_of(key);
    const struct weir_json *piece = weir_json_get(object, name);
    if (weir_json_type_of(piece) != WEIR_JSON_STRING) return WEIR_OK;
    struct part *p = find_part(r, like);
    if (!p) return WEIR_LIMIT;
    weir_buf_reset(&r->text);
    restorer_feed(&p->joiner, weir_json_text(piece), &r->text);
    if (is_last) restorer_end(&p->joiner, &r->text);
    if (is_last) p->is_open = false;
    enum weir_status st = weir_buf_status(&r->text);
    if (st != WEIR_OK) return st;
    return weir_json_set(r->doc, object, name,
                         weir_json_new_string(r->doc, weir_buf_slice(&r->text)));
}

/* ---- Anthropic ---- */

static int64_t index_of(const struct weir_json *value)
{
    int64_t n = 0;
    (void)weir_json_int64(weir_json_get_str(value, "index"), &n);
    return n;
}

static void put_block_delta(struct weir_buf *out, const struct part *p, struct weir_slice text)
{
    bool is_text = p->kind == PART_TEXT;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, "content_block_delta");
    weir_json_put_key(out, "index");
    weir_json_put_int(out, p->choice);
    weir_json_put_key(out, "delta");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, is_text ? "text_delta" : "input_json_delta");
    weir_json_put_key(out, is_text ? "text" : "partial_json");
    weir_json_put_string(out, text);
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

static enum weir_status end_block_part(struct rewriter *r, struct part *p)
{
    p->is_open = false;
    weir_buf_reset(&r->text);
    restorer_end(&p->joiner, &r->text);
    if (r->text.len == 0) return weir_buf_status(&r->text);
    weir_buf_reset(&r->data);
    put_block_delta(&r->data, p, weir_buf_slice(&r->text));
    enum weir_status st = weir_buf_status(&r->data);
    if (st == WEIR_OK) r->emit(r->user, SLICE("content_block_delta"), weir_buf_slice(&r->data));
    return st;
}

/* Of one block, or of all that are left when `index` is negative. */
static enum weir_status end_blocks(struct rewriter *r, int64_t index)
{
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < REWRITE_PARTS && st == WEIR_OK; i++) {
        struct part *p = &r->parts[i];
        if (p->is_open && (index < 0 || p->choice == index)) st = end_block_part(r, p);
    }
    return st;
}

static enum weir_status block_delta(struct rewriter *r, struct weir_slice type)
{
    struct weir_json *delta = weir_json_member(r->event, SLICE("delta"));
    struct weir_slice kind = weir_json_text(weir_json_get_str(delta, "type"));
    bool is_text = weir_slice_is(kind, "text_delta");
    struct part like = {.kind = is_text ? PART_TEXT : PART_ARGUMENTS, .choice = index_of(r->event)};
    if (!is_text && !weir_slice_is(kind, "input_json_delta")) return emit_event(r, type, r->event);
    const char *key = is_text ? "text" : "partial_json";
    bool was_empty = weir_json_text(weir_json_get_str(delta, key)).len == 0;
    enum weir_status st = pass(r, &like, delta, key, false);
    bool is_empty = weir_json_text(weir_json_get_str(delta, key)).len == 0;
    if (st != WEIR_OK || (is_empty && !was_empty)) return st;
    return emit_event(r, type, r->event);
}

static enum weir_status anthropic_event(struct rewriter *r, struct weir_slice type)
{
    enum weir_status st = WEIR_OK;
    struct weir_slice name = weir_json_text(weir_json_get_str(r->event, "type"));
    if (weir_slice_is(name, "content_block_delta")) return block_delta(r, type);
    if (weir_slice_is(name, "content_block_start")) {
        struct part like = {.kind = PART_TEXT, .choice = index_of(r->event)};
        st = end_blocks(r, like.choice);
        struct weir_json *block = weir_json_member(r->event, SLICE("content_block"));
        if (st == WEIR_OK) st = pass(r, &like, block, "text", false);
    }
    if (weir_slice_is(name, "content_block_stop")) st = end_blocks(r, index_of(r->event));
    if (weir_slice_is(name, "message_stop") || weir_slice_is(name, "error")) {
        st = end_blocks(r, -1);
        r->has_ended = true;
    }
    return st == WEIR_OK ? emit_event(r, type, r->event) : st;
}

/* ---- OpenAI ---- */

static void put_held(struct weir_buf *out, const struct part *p, struct weir_slice text)
{
    weir_json_put_begin_object(out);
    if (p->kind != PART_ARGUMENTS) {
        weir_json_put_key(out, p->kind == PART_TEXT ? "content" : "refusal");
        weir_json_put_string(out, text);
        weir_json_put_end_object(out);
        return;
    }
    weir_json_put_key(out, "tool_calls");
    weir_json_put_begin_array(out);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "index");
    weir_json_put_int(out, p->call);
    weir_json_put_key(out, "function");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "arguments");
    weir_json_put_string(out, text);
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

/* A chunk like the one at hand, if there is one, with what the part holds. */
static void put_chunk(struct weir_buf *out, const struct rewriter *r, const struct part *p)
{
    static const char *const same[] = {"id", "created", "model"};
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "object");
    weir_json_put_str(out, "chat.completion.chunk");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const struct weir_json *value = weir_json_get_str(r->event, same[i]);
        if (!value) continue;
        weir_json_put_key(out, same[i]);
        weir_json_put_value(out, value);
    }
    weir_json_put_key(out, "choices");
    weir_json_put_begin_array(out);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "index");
    weir_json_put_int(out, p->choice);
    weir_json_put_key(out, "delta");
    put_held(out, p, weir_buf_slice(&r->text));
    weir_json_put_key(out, "finish_reason");
    weir_json_put_null(out);
    weir_json_put_end_object(out);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

static enum weir_status end_choice_part(struct rewriter *r, struct part *p)
{
    p->is_open = false;
    weir_buf_reset(&r->text);
    restorer_end(&p->joiner, &r->text);
    if (r->text.len == 0) return weir_buf_status(&r->text);
    weir_buf_reset(&r->data);
    put_chunk(&r->data, r, p);
    enum weir_status st = weir_buf_status(&r->data);
    if (st == WEIR_OK) r->emit(r->user, (struct weir_slice){0}, weir_buf_slice(&r->data));
    return st;
}

/* Of one choice, or of all when `index` is negative. */
static enum weir_status end_choices(struct rewriter *r, int64_t index)
{
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < REWRITE_PARTS && st == WEIR_OK; i++) {
        struct part *p = &r->parts[i];
        if (p->is_open && (index < 0 || p->choice == index)) st = end_choice_part(r, p);
    }
    return st;
}

static enum weir_status pass_calls(struct rewriter *r, struct weir_json *delta, int64_t choice,
                                   bool is_last)
{
    enum weir_status st = WEIR_OK;
    const struct weir_json *calls = weir_json_get_str(delta, "tool_calls");
    if (weir_json_type_of(calls) != WEIR_JSON_ARRAY) return WEIR_OK;
    struct weir_json *call = first_of(calls);
    for (; call && st == WEIR_OK; call = next_of(call)) {
        struct part like = {.kind = PART_ARGUMENTS, .choice = choice, .call = index_of(call)};
        st = pass(r, &like, weir_json_member(call, SLICE("function")), "arguments", is_last);
    }
    return st;
}

static enum weir_status pass_choice(struct rewriter *r, struct weir_json *choice)
{
    struct weir_json *delta = weir_json_member(choice, SLICE("delta"));
    int64_t at = index_of(choice);
    bool is_last =
        weir_json_type_of(weir_json_get_str(choice, "finish_reason")) == WEIR_JSON_STRING;
    struct part content = {.kind = PART_TEXT, .choice = at};
    struct part refusal = {.kind = PART_REFUSAL, .choice = at};
    enum weir_status st = pass(r, &content, delta, "content", is_last);
    if (st == WEIR_OK) st = pass(r, &refusal, delta, "refusal", is_last);
    if (st == WEIR_OK) st = pass_calls(r, delta, at, is_last);
    return st == WEIR_OK && is_last ? end_choices(r, at) : st;
}

static enum weir_status openai_event(struct rewriter *r, struct weir_slice type)
{
    enum weir_status st = WEIR_OK;
    const struct weir_json *choices = weir_json_get_str(r->event, "choices");
    const struct weir_json *error = weir_json_get_str(r->event, "error");
    if (weir_json_type_of(choices) == WEIR_JSON_ARRAY) {
        struct weir_json *choice = first_of(choices);
        for (; choice && st == WEIR_OK; choice = next_of(choice)) st = pass_choice(r, choice);
    }
    if (st == WEIR_OK && weir_json_type_of(error) != WEIR_JSON_NULL) {
        st = end_choices(r, -1);
        r->has_ended = true;
    }
    return st == WEIR_OK ? emit_event(r, type, r->event) : st;
}

/* ---- events ---- */

/* What is no object: nothing at all, another value, the mark of the end; or broken. */
static enum weir_status pass_raw(struct rewriter *r, struct weir_slice type, struct weir_slice data,
                                 bool is_broken)
{
    r->event = NULL;
    enum weir_status st = data.len == 0 || !is_broken ? WEIR_OK : WEIR_UPSTREAM;
    if (r->wire == WIRE_OPENAI && weir_slice_is(data, "[DONE]")) {
        st = end_choices(r, -1);
        r->has_ended = true;
    }
    if (st == WEIR_OK) r->emit(r->user, type, data);
    return st;
}

enum weir_status rewriter_event(struct rewriter *r, struct weir_slice type, struct weir_slice data)
{
    const struct weir_json *value;
    if (data.len > REWRITE_EVENT_BYTES) return WEIR_LIMIT;
    weir_json_doc_reset(r->doc);
    enum weir_status st = weir_json_parse(r->doc, data, &value, NULL);
    if (st == WEIR_NOMEM) return st;
    if (st != WEIR_OK || weir_json_type_of(value) != WEIR_JSON_OBJECT)
        return pass_raw(r, type, data, st != WEIR_OK);
    r->event = changeable(value);
    return r->wire == WIRE_ANTHROPIC ? anthropic_event(r, type) : openai_event(r, type);
}

enum weir_status rewriter_end(struct rewriter *r)
{
    r->event = NULL;
    return r->wire == WIRE_ANTHROPIC ? end_blocks(r, -1) : end_choices(r, -1);
}
