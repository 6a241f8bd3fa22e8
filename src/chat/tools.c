/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools of a reply. A call of a model becomes tool_call, what the tool tells on its way becomes
 * progress and citation, and its end tool_result or tool_error. What is in the log of these is not
 * done again, so that each call has one end over crashes, too.
 *
 * Tools get values, the log and the model get placeholders. To the model a result is material: it
 * stands in a block that nothing in it can end (agent/llm_prompt.h).
 */
#include <stdio.h>

#include "agent/llm_prompt.h"
#include "agent/tool.h"
#include "base/slice.h"
#include "chat/chat_impl.h"
#include "codec/json_member.h"

enum { TOOL_ID_BYTES = 16, RESULT_BYTES = 8 * TOOL_RESULT_BYTES };

/* One call. */
struct work {
    struct pass *pass;
    char id[TOOL_ID_BYTES];
    struct weir_slice name;
    const struct weir_json *input; /* with placeholders */
    bool is_again;                 /* an earlier process has told of it */
    enum weir_status status;       /* of telling on the way */
};

/* ---- events ---- */

static void begin_event(struct weir_buf *json, const char *id)
{
    weir_buf_reset(json);
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "id");
    weir_json_put_str(json, id);
}

/*
 * Any JSON as it may be stored; the map has grown, maybe, and is kept first. What a model says has
 * placeholders; what comes from tools has none, whatever it looks like.
 */
static enum weir_status put_redacted(struct pass *p, bool is_models, struct weir_slice json,
                                     struct weir_buf *out)
{
    struct guard *g = p->attempt->guard;
    const struct weir_json *value;
    if (chats_action(p->chats, p->wish) == PII_OFF) {
        weir_buf_append_slice(out, json);
        return weir_buf_status(out);
    }
    struct weir_json_doc *doc = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, json, &value, NULL);
    if (st == WEIR_OK && is_models) st = guard_redact(g, GUARD_VALUE, value, out, NULL);
    else if (st == WEIR_OK) st = guard_redact_fresh(g, GUARD_VALUE, value, out, NULL);
    if (st == WEIR_OK) st = pass_keep_values(p);
    weir_json_doc_free(doc);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

static enum weir_status tell_call(struct work *w)
{
    struct pass *p = w->pass;
    struct weir_buf json, args;
    w->is_again = transcript_of_tool(&p->reply->transcript, "tool_call", w->id) != NULL;
    if (w->is_again) return WEIR_OK;
    weir_buf_init(&json, CHAT_EVENT_BYTES);
    weir_buf_init(&args, CHAT_EVENT_BYTES);
    weir_json_put_value(&args, w->input);
    begin_event(&json, w->id);
    weir_json_put_key(&json, "name");
    weir_json_put_string(&json, w->name);
    weir_json_put_key(&json, "args");
    enum weir_status st = weir_buf_status(&args);
    if (st == WEIR_OK) st = put_redacted(p, true, weir_buf_slice(&args), &json);
    weir_json_put_end_object(&json);
    if (st == WEIR_OK) st = reply_emit(p, "tool_call", &json);
    weir_buf_fini(&json);
    weir_buf_fini(&args);
    return st;
}

static void tell_progress(void *user, struct weir_slice label, unsigned percent)
{
    struct work *w = user;
    struct weir_buf json;
    if (w->is_again || w->status != WEIR_OK) return;
    weir_buf_init(&json, CHAT_EVENT_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "label");
    weir_json_put_string(&json, label);
    weir_json_put_key(&json, "percent");
    weir_json_put_uint(&json, percent);
    weir_json_put_end_object(&json);
    w->status = reply_emit(w->pass, "progress", &json);
    weir_buf_fini(&json);
}

static bool is_cited(const struct transcript *t, struct weir_slice json)
{
    for (const struct said *s = t->first; s; s = s->next)
        if (weir_slice_is(s->type, "citation") && slice_eq(s->json, json)) return true;
    return false;
}

/* Each once in a reply, and only for those who want them. */
static void tell_citation(void *user, struct weir_slice source_id, struct weir_slice title,
                          struct weir_slice snippet)
{
    struct work *w = user;
    struct pass *p = w->pass;
    struct weir_buf plain, json;
    if (!p->has_sources || w->status != WEIR_OK) return;
    weir_buf_init(&plain, CHAT_EVENT_BYTES);
    weir_buf_init(&json, CHAT_EVENT_BYTES);
    weir_json_put_begin_object(&plain);
    member_string(&plain, "sourceId", source_id);
    member_string(&plain, "title", title);
    member_string(&plain, "snippet", snippet);
    weir_json_put_end_object(&plain);
    w->status = put_redacted(p, false, weir_buf_slice(&plain), &json);
    if (w->status == WEIR_OK && !is_cited(&p->reply->transcript, weir_buf_slice(&json)))
        w->status = reply_emit(p, "citation", &json);
    weir_buf_fini(&plain);
    weir_buf_fini(&json);
}

static enum weir_status tell_result(struct work *w, struct weir_slice result)
{
    struct weir_buf json;
    weir_buf_init(&json, CHAT_EVENT_BYTES);
    begin_event(&json, w->id);
    weir_json_put_key(&json, "result");
    enum weir_status st = put_redacted(w->pass, false, result, &json);
    weir_json_put_end_object(&json);
    if (st == WEIR_OK) st = reply_emit(w->pass, "tool_result", &json);
    weir_buf_fini(&json);
    return st;
}

static enum weir_status tell_error(struct work *w, const char *why)
{
    struct weir_buf json, quoted;
    weir_buf_init(&json, CHAT_EVENT_BYTES);
    weir_buf_init(&quoted, CHAT_EVENT_BYTES);
    weir_json_put_str(&quoted, why);
    begin_event(&json, w->id);
    weir_json_put_key(&json, "error");
    enum weir_status st = put_redacted(w->pass, false, weir_buf_slice(&quoted), &json);
    weir_json_put_end_object(&json);
    if (st == WEIR_OK) st = reply_emit(w->pass, "tool_error", &json);
    weir_buf_fini(&json);
    weir_buf_fini(&quoted);
    return st;
}

/* ---- running ---- */

static bool is_aborted(void *user)
{
    const struct work *w = user;
    return flow_is_aborted(w->pass->step);
}

/* The input with the values that the person gave; WEIR_OK. */
static enum weir_status restore_input(struct work *w, struct weir_json_doc *doc,
                                      const struct weir_json **out)
{
    struct weir_buf stored, plain;
    weir_buf_init(&stored, CHAT_EVENT_BYTES);
    weir_buf_init(&plain, CHAT_BODY_BYTES);
    weir_json_put_value(&stored, w->input);
    enum weir_status st = weir_buf_status(&stored);
    if (st == WEIR_OK) st = guard_restore(w->pass->attempt->guard, weir_buf_slice(&stored), &plain);
    if (st == WEIR_OK) st = weir_buf_status(&plain);
    if (st == WEIR_OK) st = weir_json_parse(doc, weir_buf_slice(&plain), out, NULL);
    weir_buf_fini(&stored);
    weir_buf_fini(&plain);
    return st;
}

/* What a tool says of a failure is for the model; what the world does to us is not. */
static bool is_for_model(enum weir_status st)
{
    return st == WEIR_BAD_FIELD || st == WEIR_UNPROCESSABLE || st == WEIR_NOT_FOUND ||
           st == WEIR_LIMIT || st == WEIR_INVALID;
}

static enum weir_status run_tool(struct work *w, const struct tool *t)
{
    struct pass *p = w->pass;
    const struct weir_json *input;
    struct shelved data = {0};
    struct weir_buf result;
    struct tool_case c = {.owner = flow_owner(p->step),
                          .store = p->chats->store,
                          .clock = p->chats->options.clock,
                          .arena = p->arena,
                          .vault = p->chats->options.vault,
                          .policy = p->chats->options.policy,
                          .progress = tell_progress,
                          .cite = tell_citation,
                          .is_aborted = is_aborted,
                          .user = w};
    struct weir_json_doc *doc = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&result, RESULT_BYTES);
    enum weir_status st = restore_input(w, doc, &input);
    if (st == WEIR_OK) st = shelf_take(&p->chats->shelf, c.owner, &data);
    c.data = data.data;
    if (st == WEIR_OK) st = tool_run(t, &c, input, &result);
    shelf_give(&p->chats->shelf, &data);
    if (st == WEIR_OK) st = w->status;
    if (st == WEIR_OK) st = weir_buf_status(&result);
    if (st == WEIR_OK) st = tell_result(w, weir_buf_slice(&result));
    else if (is_for_model(st)) st = tell_error(w, c.why[0] ? c.why : weir_status_text(st));
    weir_buf_fini(&result);
    weir_json_doc_free(doc);
    return st;
}

/* Its end, which is in the transcript then. */
static enum weir_status end_of(struct work *w, const struct said **out, bool *is_error)
{
    const struct transcript *t = &w->pass->reply->transcript;
    const struct tool *tool = tool_find(w->name);
    enum weir_status st = tell_call(w);
    *out = transcript_of_tool(t, "tool_result", w->id);
    if (!*out) *out = transcript_of_tool(t, "tool_error", w->id);
    if (st == WEIR_OK && !*out && flow_is_aborted(w->pass->step)) st = WEIR_CANCELLED;
    if (st == WEIR_OK && !*out)
        st = tool ? run_tool(w, tool) : tell_error(w, "there is no such tool");
    if (st != WEIR_OK) return st;
    *out = transcript_of_tool(t, "tool_result", w->id);
    *is_error = !*out;
    if (!*out) *out = transcript_of_tool(t, "tool_error", w->id);
    return *out ? WEIR_OK : WEIR_INTERNAL;
}

static struct work work_of(struct pass *p, struct weir_slice name, const struct weir_json *input)
{
    struct work w = {.pass = p, .name = name, .input = input};
    snprintf(w.id, sizeof w.id, "tc_%u", ++p->n_tools);
    return w;
}

/* ---- results ---- */

/* The member of its end that counts, with values, as JSON; it will be redacted again. */
static enum weir_status put_plain(struct pass *p, const struct said *end, bool is_error,
                                  struct weir_buf *out)
{
    struct weir_buf plain;
    const struct weir_json *json;
    struct weir_json_doc *doc = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&plain, CHAT_BODY_BYTES);
    enum weir_status st = guard_reveal(p->attempt->guard, end->json, &plain);
    if (st == WEIR_OK) st = weir_buf_status(&plain);
    if (st == WEIR_OK) st = weir_json_parse(doc, weir_buf_slice(&plain), &json, NULL);
    if (st == WEIR_OK)
        weir_json_put_value(out, weir_json_get_str(json, is_error ? "error" : "result"));
    weir_buf_fini(&plain);
    weir_json_doc_free(doc);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

static void put_block(struct pass *p, struct weir_slice use_id, struct weir_slice text,
                      bool is_error)
{
    struct weir_buf *out = &p->messages;
    weir_json_put_begin_object(out);
    member_string(out, "type", SLICE("tool_result"));
    member_string(out, "tool_use_id", use_id);
    member_string(out, "content", text);
    if (is_error) {
        weir_json_put_key(out, "is_error");
        weir_json_put_bool(out, true);
    }
    weir_json_put_end_object(out);
}

static enum weir_status add_result(struct pass *p, const struct weir_json *use)
{
    struct weir_buf plain, text;
    const struct said *end;
    bool is_error = false;
    struct work w =
        work_of(p, weir_json_text(weir_json_get_str(use, "name")), weir_json_get_str(use, "input"));
    enum weir_status st = end_of(&w, &end, &is_error);
    if (st != WEIR_OK) return st;
    weir_buf_init(&plain, CHAT_BODY_BYTES);
    weir_buf_init(&text, CHAT_BODY_BYTES);
    st = put_plain(p, end, is_error, &plain);
    weir_buf_append_str(&text, "<data name=\"result\">\n");
    block_text(&text, weir_buf_slice(&plain), RESULT_BYTES);
    weir_buf_append_str(&text, "\n</data>");
    if (st == WEIR_OK) st = weir_buf_status(&text);
    if (st == WEIR_OK) {
        put_block(p, weir_json_text(weir_json_get_str(use, "id")), weir_buf_slice(&text), is_error);
        if (p->preview.len > 0) weir_buf_append_char(&p->preview, '\n');
        weir_buf_append_slice(&p->preview, weir_buf_slice(&plain));
    }
    weir_buf_fini(&plain);
    weir_buf_fini(&text);
    return st;
}

enum weir_status tools_answer(struct pass *p, const struct weir_json *content, bool is_last)
{
    static const char enough[] = "No tool can be used any more. Answer now from what there is.";
    enum weir_status st = WEIR_OK;
    struct weir_buf *out = &p->messages;
    weir_buf_reset(&p->preview);
    p->fresh_at = out->len;
    weir_json_put_begin_object(out);
    member_string(out, "role", SLICE("user"));
    weir_json_put_key(out, "content");
    weir_json_put_begin_array(out);
    for (const struct weir_json *b = weir_json_first(content); st == WEIR_OK && b;
         b = weir_json_next(b))
        if (weir_slice_is(weir_json_text(weir_json_get_str(b, "type")), "tool_use"))
            st = add_result(p, b);
    if (is_last) {
        weir_json_put_begin_object(out);
        member_string(out, "type", SLICE("text"));
        member_string(out, "text", weir_slice_of(enough));
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

enum weir_status tools_use(struct pass *p, const char *name, const struct weir_json *input,
                           struct weir_buf *out, bool *is_error)
{
    const struct said *end;
    struct work w = work_of(p, weir_slice_of(name), input);
    enum weir_status st = end_of(&w, &end, is_error);
    return st == WEIR_OK ? put_plain(p, end, *is_error, out) : st;
}
