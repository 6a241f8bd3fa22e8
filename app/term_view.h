/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn, a chat's reply or a model's message on a terminal: what is done scrolls away above, and
 * below stand the unfinished part of the answer, a lane for each agent that works, the gates of the
 * finding at hand, and one line with a spinner, the time, the cost and how fast text comes.
 *
 * 1. view_new() with the size of the screen.
 * 2. After each change of the state: view_event() with the event's type, if it was one; then
 *    view_frame() for the bytes to write. At least ten times a second while something runs.
 * 3. view_resize(), view_leave() as for a screen.
 * 4. view_end() when the state has ended: all is committed, and the live region is gone until the
 *    next frame. What comes then is shown below; view_restart() when that is a turn again.
 * 5. view_free().
 *
 * Pure: bytes out, nothing is written here. One thread at a time.
 */
#pragma once

#include "term_screen.h"
#include <weir/ui.h>

struct view;

/* Adds rows at the end of the live region, and a cursor. */
typedef void (*view_foot_fn)(void *user, struct screen *screen);

struct view_options {
    bool is_quiet;    /* the answer alone, and the line with the spinner */
    const char *hint; /* said behind a turn's id at the end; may be NULL */
    bool has_prompt;  /* the foot shows what waits for a person, and is all where nothing runs */
    view_foot_fn foot;
    void *foot_user;
};

/* NULL when there is no memory. The state is borrowed until view_free(). */
struct view *view_new(const struct weir_ui *state, struct view_options options, unsigned columns,
                      unsigned rows);
void view_free(struct view *v);
void view_resize(struct view *v, unsigned columns, unsigned rows);

/* Commits what an event has brought to its end: an agent's summary, a finding's gates, a tool. Of a
 * session the type is that in its data. */
void view_event(struct view *v, struct weir_slice type, const struct weir_json *data);

/* What somebody has typed; lines to be known about it. */
void view_said(struct view *v, struct weir_slice text);
void view_note(struct view *v, struct weir_slice text, bool is_bad);

/* A line for an event that no rule knows. */
void view_line(struct view *v, struct weir_slice label, struct weir_slice text);

/* Bytes for the terminal; borrowed until the next call. Empty when nothing has changed. */
struct weir_slice view_frame(struct view *v);
struct weir_slice view_leave(struct view *v);
struct weir_slice view_end(struct view *v);

/* After view_end(): the state was made anew, and its next turn is shown below. */
void view_restart(struct view *v);

/* How many bytes all frames had. */
uint64_t view_bytes(const struct view *v);
