/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model's message does to the state of a view, in both dialects. A tool call is known by
 * its id; one that has none is known by its number.
 */
#include <stdio.h>

#include "base/slice.h"
#include "client/ui_state_impl.h"

static void on_text(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    struct weir_ui_message *m = user;
    struct weir_ui *s = m->state;
    (void)all;
    ui_state_run(s);
    /* Blocks of text are paragraphs of one answer. */
    if (m->text_block != block + 1 && s->answer.end > 0)
        weir_ui_text_add(&s->answer, SLICE("\n\n"), s->now_ns);
    m->text_block = block + 1;
    weir_ui_text_add(&s->answer, delta, s->now_ns);
}

static void on_thinking(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    struct weir_ui *s = ((struct weir_ui_message *)user)->state;
    (void)block;
    (void)all;
    ui_state_run(s);
    weir_ui_text_add(&s->thinking, delta, s->now_ns);
}

/* Anthropic: {"type":"tool_use","id","name"}; OpenAI: {"id","function":{"name"}}. */
static struct weir_ui_tool *tool_of(struct weir_ui_message *m, size_t block)
{
    char number[32];
    const struct weir_json *content = weir_message_block(m->message, block);
    struct weir_slice id = weir_json_text(weir_json_get_str(content, "id"));
    const struct weir_json *name = weir_json_get_str(content, "name");
    if (!name) name = weir_json_get_str(weir_json_get_str(content, "function"), "name");
    if (id.len == 0) {
        snprintf(number, sizeof number, "#%zu", block);
        id = weir_slice_of(number);
    }
    struct weir_ui_tool *t = ui_tool_find_or_add(m->state, id);
    weir_ui_label_set(t->name, sizeof t->name, weir_json_text(name));
    return t;
}

static void on_input_json(void *user, size_t block, struct weir_slice delta,
                          const struct weir_json *value)
{
    struct weir_ui_message *m = user;
    (void)value;
    ui_state_run(m->state);
    weir_ui_text_add(&tool_of(m, block)->arguments, delta, m->state->now_ns);
}

static enum weir_ui_block_kind kind_of(struct weir_slice type)
{
    if (weir_slice_is(type, "text")) return WEIR_UI_BLOCK_TEXT;
    if (weir_slice_is(type, "thinking")) return WEIR_UI_BLOCK_THINKING;
    return WEIR_UI_BLOCK_OTHER;
}

static void on_content_block(void *user, size_t block, const struct weir_json *content)
{
    struct weir_ui_message *m = user;
    struct weir_ui *s = m->state;
    struct weir_slice type = weir_json_text(weir_json_get_str(content, "type"));
    enum weir_input_state input = weir_message_input_state(m->message, block, NULL);
    ui_state_run(s);
    if (s->n_blocks == WEIR_UI_BLOCKS) {
        memmove(s->blocks, s->blocks + 1, (WEIR_UI_BLOCKS - 1) * sizeof *s->blocks);
        s->n_blocks--;
    }
    struct weir_ui_block *b = &s->blocks[s->n_blocks++];
    *b = (struct weir_ui_block){.kind = kind_of(type), .number = block};
    weir_ui_label_set(b->label, sizeof b->label, type);
    if (input == WEIR_INPUT_NONE) return;
    struct weir_ui_tool *t = tool_of(m, block);
    t->phase = input == WEIR_INPUT_COMPLETE ? WEIR_UI_TOOL_DONE : WEIR_UI_TOOL_BROKEN;
    b->kind = WEIR_UI_BLOCK_TOOL;
    memcpy(b->label, t->name, sizeof b->label);
}

static void take_count(uint64_t *to, bool *is_there, const struct weir_json *usage,
                       const char *const names[2])
{
    int64_t n;
    for (size_t i = 0; i < 2; i++) {
        if (!weir_json_int64(weir_json_get_str(usage, names[i]), &n) || n < 0) continue;
        *to = (uint64_t)n;
        *is_there = true;
    }
}

static void take_usage(struct weir_ui *s, const struct weir_json *message)
{
    static const char *const in[2] = {"input_tokens", "prompt_tokens"};
    static const char *const out[2] = {"output_tokens", "completion_tokens"};
    const struct weir_json *usage = weir_json_get_str(message, "usage");
    take_count(&s->usage.input_tokens, &s->usage.has_tokens, usage, in);
    take_count(&s->usage.output_tokens, &s->usage.has_tokens, usage, out);
}

static void on_error(void *user, const struct weir_json *error)
{
    struct weir_ui_message *m = user;
    const struct weir_json *code = weir_json_get_str(error, "type");
    if (weir_json_type_of(code) != WEIR_JSON_STRING) code = weir_json_get_str(error, "code");
    ui_state_fail(m->state, weir_json_text(code),
                  weir_json_text(weir_json_get_str(error, "message")));
}

static void on_end(void *user)
{
    struct weir_ui_message *m = user;
    take_usage(m->state, weir_message_value(m->message));
    enum weir_outcome outcome = weir_message_outcome(m->message);
    if (outcome == WEIR_OUTCOME_MESSAGE) ui_state_end(m->state, WEIR_UI_COMPLETED);
    if (outcome == WEIR_OUTCOME_INCOMPLETE)
        ui_state_fail(m->state, weir_slice_of(weir_status_name(WEIR_STREAM_CUT)),
                      weir_slice_of(weir_status_text(WEIR_STREAM_CUT)));
}

static const struct weir_message_handlers handlers = {
    .on_text = on_text,
    .on_thinking = on_thinking,
    .on_input_json = on_input_json,
    .on_content_block = on_content_block,
    .on_error = on_error,
    .on_end = on_end,
};

const struct weir_message_handlers *weir_ui_message_handlers(void)
{
    return &handlers;
}
