/* SPDX-License-Identifier: Apache-2.0 */
/* What turns, sessions, chats and messages share when they change the state of a view. */
#pragma once

#include <weir/ui.h>

/* Something begins to run, unless it does already. */
void ui_state_run(struct weir_ui *s);

/* It has ended: nobody works, and there is nothing to cancel. */
void ui_state_end(struct weir_ui *s, enum weir_ui_phase phase);
void ui_state_fail(struct weir_ui *s, struct weir_slice code, struct weir_slice message);

/* The lane or finding of this name; NULL when there is no room for another lane. */
struct weir_ui_agent *ui_agent_find_or_add(struct weir_ui *s, struct weir_slice name);
struct weir_ui_finding *ui_finding_find_or_add(struct weir_ui *s, struct weir_slice id);

/* The tool call of this id, the oldest one giving way if need be. */
struct weir_ui_tool *ui_tool_find_or_add(struct weir_ui *s, struct weir_slice id);

/* The tool call of this name that runs, the newest first; NULL when none does. */
struct weir_ui_tool *ui_tool_running(struct weir_ui *s, struct weir_slice name);

/* It has ended with such a result, any JSON. */
void ui_tool_end(struct weir_ui_tool *t, enum weir_ui_tool_phase phase,
                 const struct weir_json *result);

/* A call with its arguments, any JSON. */
struct weir_ui_tool *ui_tool_begin(struct weir_ui *s, struct weir_slice id, struct weir_slice name,
                                   const struct weir_json *arguments);

/* How far a tool is, or, without one, the whole; percent may be NULL. */
void ui_progress_set(struct weir_ui *s, struct weir_ui_tool *t, struct weir_slice label,
                     const struct weir_json *percent);

/* The answer is this, whatever was streamed before: usually it is the same. */
void ui_state_answer_is(struct weir_ui *s, struct weir_slice answer);

/* Something to wait for, and its end: by id. */
struct weir_ui_ask *ui_ask_open(struct weir_ui *s, enum weir_ui_ask_kind kind, struct weir_slice id,
                                struct weir_slice text);
void ui_ask_settle(struct weir_ui_ask *ask, struct weir_slice answer);
struct weir_ui_ask *ui_ask_find(struct weir_ui *s, struct weir_slice id);

void ui_notice_add(struct weir_ui *s, struct weir_slice type, struct weir_slice text);

/* The beginning of a value, as a text or as JSON, into a label. */
void ui_label_json(char *out, size_t room, const struct weir_json *v);

/* ---- members of events ---- */

static inline struct weir_slice ui_text_of(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

/* 0: none, or no number. */
double ui_number_of(const struct weir_json *v, const char *key);

/* A count of milliseconds or tokens; 0: none. */
uint64_t ui_count_of(const struct weir_json *v, const char *key);

/* One row of a table of rules: what an event of this type does. */
struct ui_rule {
    const char *type;
    void (*take)(struct weir_ui *s, const struct weir_json *data);
    bool is_aside; /* it says nothing about whether a turn runs */
};

/* The row for this type; NULL: there is none. Tables end with a row without a type. */
const struct ui_rule *ui_rules_find(const struct ui_rule *rules, struct weir_slice type);

/* Does what the table says; false when no row knows the type. */
bool ui_rules_take(struct weir_ui *s, const struct ui_rule *rules, struct weir_slice type,
                   const struct weir_json *data);
