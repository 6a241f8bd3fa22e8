/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model streams: bytes of an LLM's answer in, a growing message out.
 *
 * Two dialects: Anthropic Messages, and OpenAI Chat Completions as spoken by
 * OpenAI, llama.cpp, vLLM and Ollama. What is not known is kept or ignored,
 * never fatal.
 *
 * 1. weir_message_new() with the dialect and callbacks.
 * 2. weir_message_feed() with bytes, or weir_message_event() with events from
 *    a decoder of your own.
 * 3. weir_message_end() when the input ends.
 * 4. weir_message_outcome() says which of three it was:
 *      WEIR_OUTCOME_MESSAGE     whole; do not wait for the end of input;
 *      WEIR_OUTCOME_ERROR       the sender, or a limit, ended it;
 *      WEIR_OUTCOME_INCOMPLETE  the input ended first.
 *    The message so far is readable in every case, at any time.
 * 5. weir_message_free(), also from inside a callback.
 *
 * Everything handed out belongs to the stream and lives until it is freed,
 * slices given to a callback until it returns. One thread at a time.
 */
#pragma once

#include <weir/json.h>
#include <weir/sse.h>

WEIR_BEGIN

struct weir_message;

enum weir_dialect { WEIR_ANTHROPIC, WEIR_OPENAI };

enum weir_outcome {
    WEIR_OUTCOME_OPEN, /* not decided yet */
    WEIR_OUTCOME_MESSAGE,
    WEIR_OUTCOME_ERROR,
    WEIR_OUTCOME_INCOMPLETE
};

/* A tool's input. Run a tool only when its input is complete. */
enum weir_input_state {
    WEIR_INPUT_NONE,      /* no such block, or it takes no input */
    WEIR_INPUT_OPEN,      /* still arriving */
    WEIR_INPUT_COMPLETE,  /* a whole JSON value */
    WEIR_INPUT_TRUNCATED, /* the block ended first */
    WEIR_INPUT_INVALID    /* not JSON */
};

/*
 * Any callback may be NULL. `block` counts Anthropic content blocks in the order in
 * which they begin; for OpenAI it counts choices for text and thinking, tool calls
 * for the rest. It never changes, and is below max_blocks. Deltas are whole
 * characters, also where the sender cut one in two; they may be empty. The value of
 * an input is NULL while there is nothing to show.
 */
struct weir_message_handlers {
    void (*on_text)(void *user, size_t block, struct weir_slice delta, struct weir_slice all);
    void (*on_thinking)(void *user, size_t block, struct weir_slice delta, struct weir_slice all);
    void (*on_input_json)(void *user, size_t block, struct weir_slice delta,
                          const struct weir_json *value);
    void (*on_signature)(void *user, size_t block, struct weir_slice signature);
    void (*on_citation)(void *user, size_t block, const struct weir_json *citation);
    /* The sender has ended a block: by its stop, its message's, or its choice's finish. */
    void (*on_content_block)(void *user, size_t block, const struct weir_json *content);
    void (*on_message)(void *user, const struct weir_json *message);
    void (*on_error)(void *user, const struct weir_json *error);
    void (*on_end)(void *user); /* last, once, whatever the outcome */
};

/* 0 in a member means the default. */
struct weir_message_limits {
    struct weir_sse_limits sse;
    size_t max_message_bytes; /* 256 MiB: memory of the message, many times its text */
    size_t max_blocks;        /* 4096: content blocks, tool calls, choices */
    unsigned max_depth;       /* 512: nesting of any JSON in the stream */
};

/* handlers and limits may be NULL. NULL when there is no memory, or no such dialect. */
WEIR_API struct weir_message *weir_message_new(enum weir_dialect dialect,
                                               const struct weir_message_handlers *handlers,
                                               void *user,
                                               const struct weir_message_limits *limits);
WEIR_API void weir_message_free(struct weir_message *m);

/*
 * Takes the next bytes or event. WEIR_OK also after the outcome is known: what
 * comes late is ignored. A limit or lack of memory is returned once and becomes
 * the outcome. From inside a callback nothing can be fed: WEIR_INVALID, and the
 * stream is unharmed.
 */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_message_feed(struct weir_message *m,
                                                            const void *bytes, size_t len);
WEIR_API WEIR_MUST_CHECK enum weir_status weir_message_event(struct weir_message *m,
                                                             const struct weir_sse_event *event);

/*
 * The input has ended; decides an outcome that is still open, and returns it. Inside
 * a callback it only returns the outcome.
 */
WEIR_API enum weir_outcome weir_message_end(struct weir_message *m);

WEIR_API enum weir_outcome weir_message_outcome(const struct weir_message *m);

/* The message in the sender's own shape; NULL before its first event. */
WEIR_API const struct weir_json *weir_message_value(const struct weir_message *m);

/*
 * NULL unless the outcome is an error; then {"code": a weir status name, "type":
 * the sender's own error type or null, "message", "request_id"?, "raw"?: what the
 * sender sent}.
 */
WEIR_API const struct weir_json *weir_message_error(const struct weir_message *m);

/*
 * An array, perhaps empty, of oddities met, 64 and one that says there were more:
 * {"code","text","name"?: what it is about,"count"?: how often,"block"?,"id"?: of a tool,"offset"?:
 * in its input}.
 */
WEIR_API const struct weir_json *weir_message_notes(const struct weir_message *m);

/*
 * What the numbers that callbacks and notes give stand for: a content block or an
 * OpenAI tool call; for OpenAI's text and thinking, a choice. NULL beyond the last.
 */
WEIR_API const struct weir_json *weir_message_block(const struct weir_message *m, size_t block);
WEIR_API const struct weir_json *weir_message_choice(const struct weir_message *m, size_t choice);

/* The state of a tool's input; *offset (may be NULL) is where it broke off. */
WEIR_API enum weir_input_state weir_message_input_state(const struct weir_message *m, size_t block,
                                                        size_t *offset);

/* The input as a value, as far as it has arrived; NULL when there is none. */
WEIR_API const struct weir_json *weir_message_input(const struct weir_message *m, size_t block);

WEIR_END
