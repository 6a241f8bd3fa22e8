/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody who watches a stream is to be shown, as a plain struct that renderers read: who
 * works and thinks what, which tools are called with which arguments, what the gates say, the
 * answer as it grows, the connection, the cost. No terminal, no clock, no input or output.
 *
 * 1. ui_state_init().
 * 2. ui_state_tick() with the time, before each of the following.
 * 3. ui_state_event() for each event of a turn, ui_session_event() of a session, ui_chat_event() of
 *    a chat's reply; or a model's stream with ui_message_handlers. ui_state_next() between one turn
 *    and the next. ui_state_connection() when the connection changes, cancel_press() on `cancel`
 *    for keys; cancel_begin() where what has not begun to come can be cancelled, too.
 * 4. ui_state_fini().
 *
 * An agent that begins again (after a crash of the server) begins with nothing; so does the
 * answer when its synthesis begins again. Memory has a ceiling whatever comes: texts keep their
 * newest part, lists their newest members, and labels are cut between characters.
 * Text is as it came: control characters in it are for the renderer to make harmless.
 * One thread at a time.
 */
#pragma once

#include <weir/json.h>
#include <weir/message.h>

#include "client/cancel.h"
#include "client/ui_text.h"

enum {
    UI_AGENTS = 16,
    UI_TOOLS = 32,
    UI_BLOCKS = 64,
    UI_FINDINGS = 32,
    UI_GATES = 7,
    UI_ASKS = 16,
    UI_NOTICES = 16,
    UI_CITATIONS = 32,
    UI_NAME_BYTES = 64,
    UI_LABEL_BYTES = 512,
    UI_ANSWER_BYTES = 1 << 20,
    UI_THOUGHT_BYTES = 8 << 10,
    UI_ARGUMENT_BYTES = 4 << 10,
};

enum ui_connection { UI_DISCONNECTED, UI_CONNECTING, UI_CONNECTED, UI_RECONNECTING };

enum ui_phase { UI_WAITING, UI_RUNNING, UI_COMPLETED, UI_FAILED };

/* A lane: one agent with its thoughts. */
struct ui_agent {
    char name[UI_NAME_BYTES];
    char question[UI_LABEL_BYTES];
    char summary[UI_LABEL_BYTES]; /* of what it brought; empty while it works */
    bool is_working;
    uint64_t started_ns;
    uint64_t duration_ms;
    double cost_usd;
    unsigned runs; /* how often it has begun */
    struct ui_text thoughts;
};

enum ui_tool_phase {
    UI_TOOL_ARRIVING, /* its arguments are */
    UI_TOOL_RUNNING,
    UI_TOOL_DONE,
    UI_TOOL_BROKEN, /* its arguments did not arrive whole */
    UI_TOOL_FAILED,
};

struct ui_tool {
    char id[UI_NAME_BYTES];
    char name[UI_NAME_BYTES];
    struct ui_text arguments; /* JSON, as far as it has arrived */
    enum ui_tool_phase phase;
    char progress[UI_LABEL_BYTES];
    char result[UI_LABEL_BYTES]; /* or what went wrong; its beginning, JSON unless it is a text */
    uint64_t started_ns;
    uint64_t duration_ms; /* once it has ended */
};

enum ui_block_kind { UI_BLOCK_TEXT, UI_BLOCK_THINKING, UI_BLOCK_TOOL, UI_BLOCK_OTHER };

/* A content block of a model's message that has ended. */
struct ui_block {
    enum ui_block_kind kind;
    char label[UI_NAME_BYTES]; /* its type, or the tool's name */
    size_t number;             /* as the message counts them */
};

enum ui_verdict { UI_GATE_OPEN, UI_GATE_PASSED, UI_GATE_FAILED, UI_GATE_SKIPPED };

struct ui_finding {
    char id[UI_NAME_BYTES];
    char claim[UI_LABEL_BYTES];
    enum ui_verdict gates[UI_GATES]; /* in the order of ui_gate_names */
    char critic[UI_NAME_BYTES];      /* accept, downgrade, reject; empty: not yet */
    char reasoning[UI_LABEL_BYTES];
};

extern const char *const ui_gate_names[UI_GATES];

/* Something that waits for a person. */
enum ui_ask_kind { UI_ASK_APPROVAL, UI_ASK_QUESTION, UI_ASK_PRIVACY };

struct ui_ask {
    enum ui_ask_kind kind;
    char id[UI_NAME_BYTES];
    char text[UI_LABEL_BYTES];
    char answer[UI_LABEL_BYTES]; /* how it was settled */
    bool is_open;
};

/* Something that happened beside the answer: a scheduled prompt ran, placeholders were made. */
struct ui_notice {
    char type[UI_NAME_BYTES]; /* of the event */
    char text[UI_LABEL_BYTES];
};

struct ui_citation {
    char source_id[UI_NAME_BYTES];
    char title[UI_LABEL_BYTES];
    char snippet[UI_LABEL_BYTES];
};

struct ui_usage {
    uint64_t input_tokens, output_tokens;
    double cost_usd;
    bool has_tokens;
    bool is_over_threshold; /* a cost_warning came */
};

struct ui_state {
    uint64_t now_ns;
    enum ui_phase phase;
    enum ui_connection connection;
    char connection_why[UI_LABEL_BYTES]; /* it was lost, or is not to be had */
    uint64_t again_ns;                   /* reconnecting: when it is tried; 0, or past: it is */
    uint64_t started_ns;                 /* when the turn began here */
    uint64_t ended_ns;
    char turn_id[UI_NAME_BYTES];
    char model[UI_NAME_BYTES];     /* that answers; empty: nobody said */
    char progress[UI_LABEL_BYTES]; /* of what has no lane of its own; empty: none */
    char error_code[UI_NAME_BYTES];
    char error_message[UI_LABEL_BYTES];

    struct ui_text answer;   /* segments with the time of their birth */
    struct ui_text thinking; /* of a model's message */
    size_t n_agents;
    struct ui_agent agents[UI_AGENTS];
    size_t n_tools;
    struct ui_tool tools[UI_TOOLS];
    size_t n_blocks;
    struct ui_block blocks[UI_BLOCKS];
    size_t n_findings;
    struct ui_finding findings[UI_FINDINGS];
    size_t n_asks;
    struct ui_ask asks[UI_ASKS];
    size_t n_notices;
    struct ui_notice notices[UI_NOTICES];
    size_t n_citations;
    struct ui_citation citations[UI_CITATIONS];

    struct ui_usage usage;
    struct cancel cancel;
    uint64_t n_events;
    uint64_t n_unknown;  /* events that no rule knows */
    uint64_t n_left_out; /* things for which there was no room */
};

void ui_state_init(struct ui_state *s);
void ui_state_fini(struct ui_state *s);

/* The time from now on; clears a question about cancelling that nobody answered. */
void ui_state_tick(struct ui_state *s, uint64_t now_ns);

void ui_state_connection(struct ui_state *s, enum ui_connection connection);

/* The connection was lost, or not to be had; it is tried again in so many milliseconds. */
void ui_state_reconnecting(struct ui_state *s, const char *why, uint64_t in_ms);

/* It is gone for good; what had not ended has failed thereby. */
void ui_state_disconnected(struct ui_state *s, const char *code, const char *why);

/* One event of a turn; false when no rule knows its type. data may be NULL. */
bool ui_state_event(struct ui_state *s, struct weir_slice type, const struct weir_json *data);

/* One event of a session: its type is a member of its data. */
bool ui_session_event(struct ui_state *s, const struct weir_json *data);

/* Whether an event of which nothing else is known may be one of these. */
bool ui_session_knows(const struct weir_json *data);
bool ui_chat_knows(struct weir_slice type, const struct weir_json *data);

/* Whether an event of a session is of another turn than the one that has ended. */
bool ui_session_begins(const struct ui_state *s, const struct weir_json *data);

/* One event of a chat's reply. */
bool ui_chat_event(struct ui_state *s, struct weir_slice type, const struct weir_json *data);

/* Forgets the turn that has ended; connection, what waits for a person, and counts stay. */
void ui_state_next(struct ui_state *s);

/* Says what a tool is up to, by the id of its call. */
void ui_state_tool_progress(struct ui_state *s, struct weir_slice id, struct weir_slice text);

/* The agent, tool, finding or ask of this name; NULL when there is none. */
const struct ui_agent *ui_state_agent(const struct ui_state *s, const char *name);
const struct ui_tool *ui_state_tool(const struct ui_state *s, const char *id);
const struct ui_finding *ui_state_finding(const struct ui_state *s, const char *id);
const struct ui_ask *ui_state_ask(const struct ui_state *s, const char *id);

/*
 * A model's message drives the state: the `user` of these handlers. The message is set by the
 * caller once it is made, and has to be there before it is fed.
 */
struct ui_message {
    struct ui_state *state;
    const struct weir_message *message;
    size_t text_block; /* which block the last text came from, counted from 1; begin with 0 */
};

extern const struct weir_message_handlers ui_message_handlers;

/* Text into a label, cut between characters, without NULs. */
void ui_label_set(char *out, size_t room, struct weir_slice text);
