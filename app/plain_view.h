/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn, a chat's reply or a model's message as plain lines, without escape sequences, for pipes,
 * files and terminals that can do no more. Who works, and what the checks say, goes to the notes;
 * the answer to standard output, a turn's when it is complete, others as they come. One thread at a
 * time.
 */
#pragma once

#include <stdio.h>

#include <weir/ui.h>

enum { PLAIN_NAME_BYTES = 32 };

struct plain_view {
    FILE *notes;
    bool is_quiet;                  /* the answer alone */
    char speaker[PLAIN_NAME_BYTES]; /* whose thoughts the line at hand is */
    unsigned answer_round;          /* of a streamed answer: which of them is written, */
    bool is_middle;                 /* and whether its last character was no line end */
    bool has_complained;            /* what has failed was told */
    bool is_ended;                  /* by plain_view_end() */
    struct weir_buf text;
};

void plain_view_init(struct plain_view *v, FILE *notes, bool is_quiet);
void plain_view_fini(struct plain_view *v);

/* One event of a turn. */
void plain_view_event(struct plain_view *v, struct weir_slice type, const struct weir_json *data);

/* One that no rule knows, on a line. */
void plain_view_line(struct plain_view *v, struct weir_slice label, struct weir_slice text);

/* What an event of a session (its type is that in its data) or a chat comes to, if anything. */
void plain_view_aside(struct plain_view *v, const struct weir_ui *state, struct weir_slice type,
                      const struct weir_json *data);

/* A piece of a streamed answer, as weir_ui_text has it on_add. */
void plain_view_answer(struct plain_view *v, const struct weir_ui_text *answer,
                       struct weir_slice more);

/* A streamed answer has ended, or its stream has. */
void plain_view_end(struct plain_view *v, const struct weir_ui *state);

/* After that: the next turn begins. */
void plain_view_restart(struct plain_view *v);
