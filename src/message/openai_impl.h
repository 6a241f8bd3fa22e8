/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the OpenAI dialect share: choices, and their tool calls. */
#pragma once

#include "message/message_impl.h"

/* Members of a delta that are text to be joined. */
enum text_kind { TEXT_CONTENT, TEXT_REFUSAL, TEXT_REASONING, TEXT_REASONING_CONTENT, N_TEXTS };

struct openai_choice {
    struct weir_json *node;
    struct weir_json *message;
    struct text texts[N_TEXTS];
    struct weir_json *tool_calls; /* NULL before the first */
    size_t after_latest_call;     /* number of its latest tool call + 1; 0: none yet */
    bool is_finished;
};

struct openai_call {
    size_t choice; /* number */
    struct weir_json *node;
    struct weir_json *function; /* NULL before the first piece of one */
    struct text name;
    struct text arguments;
    struct tool_input input;
    bool is_closed;
};

static inline struct openai_choice *openai_choices(const struct weir_message *m)
{
    return m->parts.ptr;
}

/* Sets a member; false after a failure. */
bool openai_put(struct weir_message *m, struct weir_json *object, const char *key,
                struct weir_json *value);
bool openai_put_text(struct weir_message *m, struct weir_json *object, const char *key,
                     const char *text);

/* ---- tool calls (openai_call.c) ---- */

void openai_take_calls(struct weir_message *m, struct openai_choice *c,
                       const struct weir_json *list);

/* The one call of the time before there were several. */
void openai_take_function_call(struct weir_message *m, struct openai_choice *c,
                               const struct weir_json *function);

/* The choice's calls will not grow further; is_ended: for the sender said so. */
void openai_close_calls(struct weir_message *m, struct openai_choice *c, bool is_ended);

/* Appends to strings that come in pieces (sound, a custom tool's input), keeps others. */
void openai_join_object(struct weir_message *m, struct weir_json *old,
                        const struct weir_json *more);
