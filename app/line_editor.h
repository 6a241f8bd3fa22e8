/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line editor as a state machine: keys in, a text and a cursor out. No terminal, no clock, no
 * files.
 *
 * 1. line_editor_new().
 * 2. line_editor_key() for each key; at LINE_SUBMIT the text is whole, and line_editor_take() takes
 *    it.
 * 3. line_editor_free().
 *
 * The text is UTF-8 without control characters but LF and tab. The cursor stands between clusters,
 * as people see them. Enter submits; with Alt, or behind a backslash, it begins a new line. Pasted
 * text is text: line ends in it submit nothing. Up and Down go over the lines, and from the first
 * and last into the history; the draft that was left waits at its newer end.
 *
 * One thread at a time.
 */
#pragma once

#include "line_history.h"
#include "term_keys.h"

enum { LINE_TEXT_BYTES = 64 << 10 };

enum line_act {
    LINE_NOTHING,
    LINE_SUBMIT,   /* Enter, and the text is not empty */
    LINE_QUIT,     /* Ctrl-D, and it is */
    LINE_REDRAW,   /* Ctrl-L */
    LINE_COMPLETE, /* Tab */
};

struct line_editor;

/* NULL when there is no memory. */
struct line_editor *line_editor_new(void);
void line_editor_free(struct line_editor *e);

enum line_act line_editor_key(struct line_editor *e, const struct key *key);

/* Borrowed until the next key. */
struct weir_slice line_editor_text(const struct line_editor *e);
size_t line_editor_cursor(const struct line_editor *e); /* in bytes */

/* Whether the last key, or what was pasted last, brought text for which there was no room. */
bool line_editor_is_full(const struct line_editor *e);

/* Appends the text to out and begins with nothing. Whether the history keeps it. */
bool line_editor_take(struct line_editor *e, struct weir_buf *out);

/* Another text, with the cursor at its end; what does not fit or is no text is left out. */
void line_editor_set(struct line_editor *e, struct weir_slice text);

/* The history, as line_history_write() wrote it. */
void line_editor_remember(struct line_editor *e, struct weir_slice lines);
