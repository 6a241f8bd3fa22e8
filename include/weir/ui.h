/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody who watches a stream is to be shown, as a plain struct that renderers read: who
 * works and thinks what, which tools are called with which arguments, what the gates say, the
 * answer as it grows, what waits for a person, the connection, the cost. No terminal, no clock, no
 * input or output; terminals, windows and pages draw the same state.
 *
 * 1. weir_ui_init().
 * 2. weir_ui_tick() with the time, before each of the following.
 * 3. weir_ui_turn_event() for each event of a turn, weir_ui_session_event() of a session,
 *    weir_ui_chat_event() of a chat's reply; or a model's stream with weir_ui_message_handlers().
 *    weir_ui_next() between one turn and the next; weir_ui_connection() when the connection has
 *    changed; weir_cancel_press() on `cancel` for keys, and weir_cancel_begin() where what has not
 *    begun to come can be cancelled, too.
 * 4. weir_ui_fini().
 *
 * An agent that begins again (after a crash of the server) begins with nothing; so does the
 * answer when its synthesis begins again. Memory has a ceiling whatever comes: texts keep their
 * newest part, lists their newest members, and labels are cut between characters.
 * Text is as it came: control characters in it are for the renderer to make harmless.
 *
 * The struct is the caller's, some hundred kilobytes: not for the stack. One thread at a time.
 */
#pragma once

#include <weir/json.h>
#include <weir/message.h>

WEIR_BEGIN

/* ---- texts ---- */

/*
 * Text that grows at its end while somebody looks at it, with a ceiling: the oldest bytes give
 * way. Places in it are offsets into all the text there ever was, so that a reader who was slow
 * notices what it missed. Each segment is what came at one time, and knows when that was.
 *
 * 1. weir_ui_text_init() with the most bytes to keep.
 * 2. weir_ui_text_add() as text comes; weir_ui_text_clear() when it begins again.
 * 3. weir_ui_text_from() for what a reader has not seen; `round` tells that it began again. A
 *    reader that wants all of it, however much comes at once, sets on_add.
 * 4. weir_ui_text_fini().
 *
 * The struct is the caller's, the bytes are the text's.
 */
enum { WEIR_UI_SEGMENTS = 64 };

struct weir_ui_segment {
    uint64_t born_ns;
    uint64_t begin, end; /* offsets */
};

struct weir_ui_text {
    struct weir_buf bytes; /* what is kept */
    size_t max_bytes;
    uint64_t begin; /* offset of the first byte kept */
    uint64_t end;   /* how much has come in this round */
    uint32_t sum;   /* CRC-32C of all that has come in this round */
    unsigned round; /* how often it was cleared */
    bool is_lossy;  /* bytes could not be kept for lack of memory */
    size_t n_segments;
    struct weir_ui_segment segments[WEIR_UI_SEGMENTS]; /* the newest; older ones are in the first */
    /* Each piece as it comes, whole, also what is too long to be kept; may be NULL. */
    void (*on_add)(void *user, const struct weir_ui_text *t, struct weir_slice more);
    void *add_user;
};

WEIR_API void weir_ui_text_init(struct weir_ui_text *t, size_t max_bytes);
WEIR_API void weir_ui_text_fini(struct weir_ui_text *t);
WEIR_API void weir_ui_text_add(struct weir_ui_text *t, struct weir_slice more, uint64_t now_ns);
WEIR_API void weir_ui_text_clear(struct weir_ui_text *t);

/* What is kept from this offset on; borrowed until the text changes. */
WEIR_API struct weir_slice weir_ui_text_from(const struct weir_ui_text *t, uint64_t offset);

/* Whether all that has come in this round is exactly this. */
WEIR_API bool weir_ui_text_is(const struct weir_ui_text *t, struct weir_slice all);

/* ---- cancelling ---- */

/*
 * The question about cancelling, as a state machine with a given clock:
 *
 *   Escape while something runs asks; a second within a second cancels. Any other key, the end
 *   of what runs, or a second without a key clears the question. Ctrl-C cancels at once, and
 *   again it quits, also where nothing runs.
 *
 * 1. Zero the struct; weir_cancel_begin() when something begins to run.
 * 2. weir_cancel_press() for each key, weir_cancel_tick() as time goes by.
 * 3. weir_cancel_end() when it has ended.
 */
#define WEIR_CANCEL_WITHIN_NS UINT64_C(1000000000)

enum weir_cancel_key { WEIR_CANCEL_KEY_ESCAPE, WEIR_CANCEL_KEY_INTERRUPT, WEIR_CANCEL_KEY_OTHER };

enum weir_cancel_act {
    WEIR_CANCEL_NOTHING,
    WEIR_CANCEL_ASK,  /* the question is to be shown */
    WEIR_CANCEL_NOW,  /* what runs is to be cancelled; once for each run */
    WEIR_CANCEL_QUIT, /* the program is to end */
};

struct weir_cancel {
    bool is_running;
    bool is_asking;    /* "press Esc again to cancel" */
    bool is_cancelled; /* what runs was cancelled and has not ended yet */
    bool is_quitting;  /* one Ctrl-C has come; another quits */
    uint64_t asked_ns;
};

WEIR_API void weir_cancel_begin(struct weir_cancel *c);
WEIR_API void weir_cancel_end(struct weir_cancel *c);

/* What a key means at this moment. */
WEIR_API enum weir_cancel_act weir_cancel_press(struct weir_cancel *c, enum weir_cancel_key key,
                                                uint64_t now_ns);

/* Clears a question that nobody answered. */
WEIR_API void weir_cancel_tick(struct weir_cancel *c, uint64_t now_ns);

/* ---- what is shown ---- */

enum {
    WEIR_UI_AGENTS = 16,
    WEIR_UI_TOOLS = 32,
    WEIR_UI_BLOCKS = 64,
    WEIR_UI_FINDINGS = 32,
    WEIR_UI_GATES = 7,
    WEIR_UI_ASKS = 16,
    WEIR_UI_OPTIONS = 9,
    WEIR_UI_NOTICES = 16,
    WEIR_UI_CITATIONS = 32,
    WEIR_UI_NAME_BYTES = 64,
    WEIR_UI_LABEL_BYTES = 512,
    WEIR_UI_ANSWER_BYTES = 1 << 20,
    WEIR_UI_THOUGHT_BYTES = 8 << 10,
    WEIR_UI_ARGUMENT_BYTES = 4 << 10,
    WEIR_UI_DETAIL_BYTES = 4 << 10,
};

enum weir_ui_connection {
    WEIR_UI_DISCONNECTED,
    WEIR_UI_CONNECTING,
    WEIR_UI_CONNECTED,
    WEIR_UI_RECONNECTING
};

enum weir_ui_phase { WEIR_UI_WAITING, WEIR_UI_RUNNING, WEIR_UI_COMPLETED, WEIR_UI_FAILED };

/* A lane: one agent with its thoughts. */
struct weir_ui_agent {
    char name[WEIR_UI_NAME_BYTES];
    char question[WEIR_UI_LABEL_BYTES];
    char summary[WEIR_UI_LABEL_BYTES]; /* of what it brought; empty while it works */
    bool is_working;
    uint64_t started_ns;
    uint64_t duration_ms;
    double cost_usd;
    unsigned runs; /* how often it has begun */
    struct weir_ui_text thoughts;
};

enum weir_ui_tool_phase {
    WEIR_UI_TOOL_ARRIVING, /* its arguments are */
    WEIR_UI_TOOL_RUNNING,
    WEIR_UI_TOOL_DONE,
    WEIR_UI_TOOL_BROKEN, /* its arguments did not arrive whole */
    WEIR_UI_TOOL_FAILED,
};

struct weir_ui_tool {
    char id[WEIR_UI_NAME_BYTES];
    char name[WEIR_UI_NAME_BYTES];
    struct weir_ui_text arguments; /* JSON, as far as it has arrived */
    enum weir_ui_tool_phase phase;
    char progress[WEIR_UI_LABEL_BYTES];
    char result[WEIR_UI_LABEL_BYTES]; /* or what went wrong; its beginning, JSON unless it is a text
                                       */
    uint64_t started_ns;
    uint64_t duration_ms; /* once it has ended */
};

enum weir_ui_block_kind {
    WEIR_UI_BLOCK_TEXT,
    WEIR_UI_BLOCK_THINKING,
    WEIR_UI_BLOCK_TOOL,
    WEIR_UI_BLOCK_OTHER
};

/* A content block of a model's message that has ended. */
struct weir_ui_block {
    enum weir_ui_block_kind kind;
    char label[WEIR_UI_NAME_BYTES]; /* its type, or the tool's name */
    size_t number;                  /* as the message counts them */
};

enum weir_ui_verdict {
    WEIR_UI_GATE_OPEN,
    WEIR_UI_GATE_PASSED,
    WEIR_UI_GATE_FAILED,
    WEIR_UI_GATE_SKIPPED
};

struct weir_ui_finding {
    char id[WEIR_UI_NAME_BYTES];
    char claim[WEIR_UI_LABEL_BYTES];
    enum weir_ui_verdict gates[WEIR_UI_GATES]; /* in the order of weir_ui_gate_name() */
    char critic[WEIR_UI_NAME_BYTES];           /* accept, downgrade, reject; empty: not yet */
    char reasoning[WEIR_UI_LABEL_BYTES];
};

/* "sample_size" and so on; NULL beyond the last. */
WEIR_API const char *weir_ui_gate_name(size_t gate);

/* Something that waits for a person. */
enum weir_ui_ask_kind { WEIR_UI_ASK_APPROVAL, WEIR_UI_ASK_QUESTION, WEIR_UI_ASK_PRIVACY };

struct weir_ui_ask {
    enum weir_ui_ask_kind kind;
    char id[WEIR_UI_NAME_BYTES];
    char text[WEIR_UI_LABEL_BYTES];   /* the question, or the call with its arguments */
    char answer[WEIR_UI_LABEL_BYTES]; /* how it was settled */
    char by[WEIR_UI_NAME_BYTES];      /* by whom; empty: nobody says */
    bool is_open;
    /* Approvals: which tool, why, and its arguments: a line "name: value" each. */
    char tool[WEIR_UI_NAME_BYTES];
    char reason[WEIR_UI_LABEL_BYTES];
    char detail[WEIR_UI_DETAIL_BYTES];
    bool is_cut; /* not all of them are there */
    /* Questions: what may be answered, and what counts when nobody does, and when. */
    size_t n_options;
    char options[WEIR_UI_OPTIONS][WEIR_UI_LABEL_BYTES];
    bool has_default;
    char default_answer[WEIR_UI_LABEL_BYTES];
    int64_t deadline_ms; /* of the clock on the wall, since 1970; 0: none */
};

/* Something that happened beside the answer: a scheduled prompt ran, placeholders were made. */
struct weir_ui_notice {
    char type[WEIR_UI_NAME_BYTES]; /* of the event */
    char text[WEIR_UI_LABEL_BYTES];
};

struct weir_ui_citation {
    char source_id[WEIR_UI_NAME_BYTES];
    char title[WEIR_UI_LABEL_BYTES];
    char snippet[WEIR_UI_LABEL_BYTES];
};

struct weir_ui_usage {
    uint64_t input_tokens, output_tokens;
    double cost_usd;
    bool has_tokens;
    bool is_over_threshold; /* a cost_warning came */
};

struct weir_ui {
    uint64_t now_ns;
    enum weir_ui_phase phase;
    enum weir_ui_connection connection;
    char connection_why[WEIR_UI_LABEL_BYTES]; /* it was lost, or is not to be had */
    uint64_t again_ns;   /* reconnecting: when it is tried; 0, or past: it is */
    uint64_t started_ns; /* when the turn began here */
    uint64_t ended_ns;
    char turn_id[WEIR_UI_NAME_BYTES];
    char model[WEIR_UI_NAME_BYTES];     /* that answers; empty: nobody said */
    char progress[WEIR_UI_LABEL_BYTES]; /* of what has no lane of its own; empty: none */
    char error_code[WEIR_UI_NAME_BYTES];
    char error_message[WEIR_UI_LABEL_BYTES];

    struct weir_ui_text answer;   /* segments with the time of their birth */
    struct weir_ui_text thinking; /* of a model's message */
    size_t n_agents;
    struct weir_ui_agent agents[WEIR_UI_AGENTS];
    size_t n_tools;
    struct weir_ui_tool tools[WEIR_UI_TOOLS];
    size_t n_blocks;
    struct weir_ui_block blocks[WEIR_UI_BLOCKS];
    size_t n_findings;
    struct weir_ui_finding findings[WEIR_UI_FINDINGS];
    size_t n_asks;
    struct weir_ui_ask asks[WEIR_UI_ASKS];
    size_t n_notices;
    struct weir_ui_notice notices[WEIR_UI_NOTICES];
    size_t n_citations;
    struct weir_ui_citation citations[WEIR_UI_CITATIONS];

    struct weir_ui_usage usage;
    struct weir_cancel cancel;
    uint64_t n_events;
    uint64_t n_unknown;  /* events that no rule knows */
    uint64_t n_left_out; /* things for which there was no room */
};

WEIR_API void weir_ui_init(struct weir_ui *s);
WEIR_API void weir_ui_fini(struct weir_ui *s);

/* The time from now on; clears a question about cancelling that nobody answered. */
WEIR_API void weir_ui_tick(struct weir_ui *s, uint64_t now_ns);

WEIR_API void weir_ui_connection(struct weir_ui *s, enum weir_ui_connection connection);

/* The connection was lost, or not to be had; it is tried again in so many milliseconds. */
WEIR_API void weir_ui_reconnecting(struct weir_ui *s, const char *why, uint64_t in_ms);

/* It is gone for good; what had not ended has failed thereby. */
WEIR_API void weir_ui_disconnected(struct weir_ui *s, const char *code, const char *why);

/* One event of a turn; false when no rule knows its type. data may be NULL. */
WEIR_API bool weir_ui_turn_event(struct weir_ui *s, struct weir_slice type,
                                 const struct weir_json *data);

/* One event of a session: its type is a member of its data. */
WEIR_API bool weir_ui_session_event(struct weir_ui *s, const struct weir_json *data);

/* Whether an event of which nothing else is known may be one of these. */
WEIR_API bool weir_ui_session_knows(const struct weir_json *data);
WEIR_API bool weir_ui_chat_knows(struct weir_slice type, const struct weir_json *data);

/* Whether an event of a session is of another turn than the one that has ended. */
WEIR_API bool weir_ui_session_begins(const struct weir_ui *s, const struct weir_json *data);

/* One event of a chat's reply. */
WEIR_API bool weir_ui_chat_event(struct weir_ui *s, struct weir_slice type,
                                 const struct weir_json *data);

/* Forgets the turn that has ended; connection, what waits for a person, and counts stay. */
WEIR_API void weir_ui_next(struct weir_ui *s);

/* Says what a tool is up to, by the id of its call. */
WEIR_API void weir_ui_tool_progress(struct weir_ui *s, struct weir_slice id,
                                    struct weir_slice text);

/* The agent, tool, finding or ask of this name; NULL when there is none. */
WEIR_API const struct weir_ui_agent *weir_ui_agent(const struct weir_ui *s, const char *name);
WEIR_API const struct weir_ui_tool *weir_ui_tool(const struct weir_ui *s, const char *id);
WEIR_API const struct weir_ui_finding *weir_ui_finding(const struct weir_ui *s, const char *id);
WEIR_API const struct weir_ui_ask *weir_ui_ask(const struct weir_ui *s, const char *id);

/*
 * A model's message drives the state: the `user` of these handlers. The message is set by the
 * caller once it is made, and has to be there before it is fed.
 */
struct weir_ui_message {
    struct weir_ui *state;
    const struct weir_message *message;
    size_t text_block; /* which block the last text came from, counted from 1; begin with 0 */
};

WEIR_API const struct weir_message_handlers *weir_ui_message_handlers(void);

/* Text into a label, cut between characters, without NULs. */
WEIR_API void weir_ui_label_set(char *out, size_t room, struct weir_slice text);

WEIR_END
