/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dialects share: the stream with its message, and a list of blocks.
 *
 * A block is a part of the message that grows by deltas: an Anthropic content
 * block, an OpenAI choice's text or tool call. Deltas may cut a character
 * outside the basic plane in two, for senders that count UTF-16 units; the
 * first half waits in the block until its other half, or its end, comes.
 */
#pragma once

#include <weir/message.h>

enum { HALF_BYTES = 3 };

/* The first half of a character, as a surrogate in three bytes; n is 0 or 3. */
struct half {
    char bytes[HALF_BYTES];
    size_t n;
};

/* A tool's input while it arrives. */
struct tool_input {
    struct weir_json_reader *reader; /* NULL before the first byte */
    const struct weir_json *value;   /* NULL before there is something to show */
    struct half half;
    enum weir_input_state state;
    size_t offset; /* where it broke off */
};

struct weir_message;

struct dialect {
    /* One event. data is NULL when the event's data are not JSON. */
    void (*take_event)(struct weir_message *m, const struct weir_sse_event *event,
                       const struct weir_json *data);
    /* The input ended with the outcome open; decides it. */
    void (*take_end)(struct weir_message *m);
    size_t (*n_inputs)(const struct weir_message *m);
    struct tool_input *(*input_at)(const struct weir_message *m, size_t block);
};

extern const struct dialect anthropic_dialect;
extern const struct dialect openai_dialect;

/* A growing array; its owner knows the type of the items. */
struct items {
    void *ptr;
    size_t n;
    size_t cap;
};

struct weir_message {
    const struct dialect *dialect;
    struct weir_message_handlers on;
    void *user;
    size_t max_blocks;
    unsigned max_depth;
    struct weir_sse *sse;
    struct weir_json_doc *doc;             /* the message */
    struct weir_json_doc *side;            /* notes and the error */
    struct weir_json_doc *scratch;         /* the current event */
    struct weir_json_reader *event_reader; /* reads into scratch */
    struct weir_json *value;
    struct weir_json *usage; /* member of value; NULL until there is one */
    struct weir_json *error;
    struct weir_json *notes;
    enum weir_outcome outcome;
    enum weir_status failure; /* ours, met in the current call */
    size_t n_events;
    bool is_busy;           /* a call is under way; callbacks run inside it */
    bool is_dying;          /* freed from inside a callback */
    struct items parts;     /* Anthropic blocks, or OpenAI choices */
    struct items calls;     /* OpenAI tool calls */
    struct weir_json *list; /* content, or choices */
};

/* ---- the course of a stream (message.c) ---- */

/* A limit or lack of memory ends the stream. WEIR_OK is no failure and does nothing. */
void message_fail(struct weir_message *m, enum weir_status st);

/* The sender ended the stream with an error, or broke its own form (code says which). */
void message_sender_failed(struct weir_message *m, enum weir_status code,
                           const struct weir_json *error, const struct weir_json *raw);

/* Decides the outcome, once, and tells the callbacks. */
void message_finish(struct weir_message *m, enum weir_outcome outcome);

/* Something odd that does no harm. Beyond a ceiling they are dropped. */
void message_note(struct weir_message *m, const char *code, const char *text);

/* The same, about a place: `offset` in the input of tool `block`. */
void message_note_at(struct weir_message *m, const char *code, const char *text, size_t block,
                     size_t offset);

/* Whether callbacks are still welcome: nobody has freed the stream, and it has not ended. */
bool message_is_open(const struct weir_message *m);

/* Room for one more zeroed item; NULL after message_fail(). */
void *message_add_item(struct weir_message *m, struct items *items, size_t item_size);

/* ---- growing values (grow.c) ---- */

/*
 * Appends a delta to a string and returns what that added: the delta, less a
 * half character that now waits, plus one that waited. Empty after a failure.
 */
struct weir_slice grow_text(struct weir_message *m, struct weir_json *string, struct half *half,
                            struct weir_slice delta);

/* Appends the half that still waits: its other half will not come. */
void grow_text_end(struct weir_message *m, struct weir_json *string, struct half *half);

/* Feeds a piece of a tool's input. */
void grow_input(struct weir_message *m, struct tool_input *input, struct weir_slice delta);

/* The input will not grow further: settles its state and notes what is wrong. */
void grow_input_end(struct weir_message *m, struct tool_input *input, size_t block);

/* A member of `object` that is a string which can grow, with the text it had. */
struct weir_json *grow_member(struct weir_message *m, struct weir_json *object, const char *key);

/* Makes a member equal to value. */
void grow_set(struct weir_message *m, struct weir_json *object, struct weir_slice key,
              const struct weir_json *value);

/* Usage is cumulative: each member that is not null replaces what was there. */
void grow_usage(struct weir_message *m, const struct weir_json *usage);
