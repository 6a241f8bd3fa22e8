/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dialects share: the stream with its message, its parts, and text
 * that grows.
 *
 * A part is an Anthropic content block or an OpenAI choice. Parts are numbered
 * in the order in which they begin; that number never changes. The message
 * lists them by the index that the sender gave them.
 *
 * Deltas may cut a character outside the basic plane in two, for senders that
 * count UTF-16 units. The first half waits until its other half, or the end of
 * what it belongs to, comes.
 */
#pragma once

#include <weir/message.h>

#include "base/map.h"

enum { HALF_BYTES = 3, HEAD_BYTES = 512, MAX_NOTES = 64 };

/* The first half of a character, as a surrogate in three bytes; n is 0 or 3. */
struct half {
    char bytes[HALF_BYTES];
    size_t n;
};

/* A string member that deltas are appended to. */
struct text {
    struct weir_json *string; /* NULL before the first delta */
    struct half half;
};

/* A tool's input while it arrives. */
struct tool_input {
    struct weir_json_reader *reader; /* NULL before the first byte */
    const struct weir_json *value;   /* NULL before there is something to show */
    struct half half;
    enum weir_input_state state;
    size_t offset; /* where it broke off */
};

struct dialect {
    /* One event. data is NULL when the event's data are not JSON. */
    void (*take_event)(struct weir_message *m, const struct weir_sse_event *event,
                       const struct weir_json *data);
    /* A field that is not of the standard; may be NULL. */
    void (*take_field)(struct weir_message *m, struct weir_slice name, struct weir_slice value);
    /* The input ended with the outcome open; decides it. */
    void (*take_end)(struct weir_message *m);
    /* Nothing will grow any more: settles what was open. May be called again. */
    void (*close)(struct weir_message *m);
    size_t (*n_inputs)(const struct weir_message *m);
    struct tool_input *(*input_at)(const struct weir_message *m, size_t number);
    const struct weir_json *(*block_at)(const struct weir_message *m, size_t number);
    const struct weir_json *(*choice_at)(const struct weir_message *m, size_t number); /* or NULL */
};

extern const struct dialect anthropic_dialect;
extern const struct dialect openai_dialect;

/* A growing array; its owner knows the type of the items. */
struct items {
    void *ptr;
    size_t n;
    size_t cap;
};

/* A note that was made, so that the like of it is counted and not listed again. */
struct note {
    const char *code;
    struct weir_json *node;
    int64_t count;
};

struct notes {
    struct weir_json *list;
    struct note made[MAX_NOTES];
    size_t n;
    bool has_more; /* the list ends in one that says so */
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
    struct weir_buf joined;                /* a delta with a half joined to it */
    struct weir_json *value;
    struct weir_json *list;  /* member of value: content, or choices */
    struct weir_json *usage; /* member of value; NULL until there is one */
    struct weir_json *error;
    struct weir_json *spare_error; /* for when there is no memory to make one */
    struct notes notes;
    enum weir_outcome outcome;
    enum weir_status failure; /* ours, met in the current call */
    size_t n_events;
    char head[HEAD_BYTES]; /* how the input begins, until the first event */
    size_t head_len;
    bool is_busy;          /* a call is under way; callbacks run inside it */
    bool is_dying;         /* freed from inside a callback */
    struct items parts;    /* Anthropic blocks, or OpenAI choices, by number */
    struct items order;    /* of the parts, by index */
    struct items calls;    /* OpenAI tool calls */
    struct map call_names; /* which call an index or id stands for */
};

/* ---- the course of a stream (message.c) ---- */

/* A limit or lack of memory ends the stream. WEIR_OK is no failure and does nothing. */
void message_fail(struct weir_message *m, enum weir_status st);

/*
 * The sender ended the stream, with an error object or without, or broke its own
 * form (code says which). The text serves where the error has none; raw may be NULL.
 */
void message_sender_failed(struct weir_message *m, enum weir_status code,
                           const struct weir_json *error, struct weir_slice text,
                           const struct weir_json *raw);

/* An event's data are not what they must be. */
void message_bad_event(struct weir_message *m, struct weir_slice data);

/* Decides the outcome, once, and tells the callbacks. */
void message_finish(struct weir_message *m, enum weir_outcome outcome);

/* Sets a member of an error or note. */
WEIR_MUST_CHECK enum weir_status message_set_side(struct weir_message *m, struct weir_json *object,
                                                  const char *key, struct weir_json *value);

/* A beginning of the text, of at most max bytes, that ends between two characters. */
struct weir_slice message_cut(struct weir_slice text, size_t max);

/* Whether callbacks are still welcome: nobody has freed the stream, and it has not ended. */
bool message_is_open(const struct weir_message *m);

/* A text as JSON, in scratch; NULL when it is none, or after message_fail(). */
const struct weir_json *message_read(struct weir_message *m, struct weir_slice text);

/* ---- notes (note.c) ---- */

/* Something odd that does no harm. The like of an earlier one adds to its count. */
void note(struct weir_message *m, const char *code, const char *text);

/* The same, about a thing with a name: an event's type, a member's key. */
void note_name(struct weir_message *m, const char *code, const char *text, struct weir_slice name);

/* The same, about the input of the tool in `block`. */
void note_input(struct weir_message *m, const char *code, const char *text, size_t block,
                size_t offset);

/* ---- parts (part.c) ---- */

/* Room for one more zeroed item; NULL after message_fail(). */
void *part_add_item(struct weir_message *m, struct items *items, size_t item_size);

/* The number of the part with this index; false when there is none. */
bool part_find(const struct weir_message *m, int64_t index, size_t *number);

/*
 * Puts node into the message's list by its index, which must be new, and returns
 * the part's zeroed item, the last of m->parts. NULL after message_fail().
 */
void *part_add(struct weir_message *m, int64_t index, struct weir_json *node, size_t item_size);

/* ---- growing values (grow.c) ---- */

/* Begins to grow a string member, with the text it has. False after a failure. */
bool grow_begin(struct weir_message *m, struct text *t, struct weir_json *object, const char *key);

/*
 * Appends a delta and returns what that added: the delta, less a half character
 * that now waits, plus one that waited. Borrowed until the next call.
 */
struct weir_slice grow_text(struct weir_message *m, struct text *t, struct weir_slice delta);

/* Appends the half that still waits: its other half will not come. Returns what was added. */
struct weir_slice grow_text_end(struct weir_message *m, struct text *t);

/* Feeds a piece of a tool's input and returns what that added, as grow_text(). */
struct weir_slice grow_input(struct weir_message *m, struct tool_input *input,
                             struct weir_slice delta);

/*
 * The input will not grow further: settles its state and notes what is wrong.
 * is_ended: the sender said so, so that no input at all is an empty one.
 */
void grow_input_end(struct weir_message *m, struct tool_input *input, size_t number, bool is_ended);

/* Makes a member equal to value. */
void grow_set(struct weir_message *m, struct weir_json *object, struct weir_slice key,
              const struct weir_json *value);

/* Makes a member equal to value, unless value is null and the member is there. */
void grow_keep(struct weir_message *m, struct weir_json *object, const struct weir_json *value);

/* A member that is an array or object and can grow, made if need be; NULL after a failure. */
struct weir_json *grow_container(struct weir_message *m, struct weir_json *object, const char *key,
                                 enum weir_json_type type);

/* Usage is cumulative: each member that is not null replaces what was there. */
void grow_usage(struct weir_message *m, const struct weir_json *usage);

/* ---- small questions ---- */

/* The members of a list; an object is taken for none. */
static inline const struct weir_json *first_of_list(const struct weir_json *v)
{
    return weir_json_type_of(v) == WEIR_JSON_ARRAY ? weir_json_first(v) : NULL;
}

static inline bool is_text(const struct weir_json *v)
{
    return weir_json_type_of(v) == WEIR_JSON_STRING && weir_json_text(v).len > 0;
}
