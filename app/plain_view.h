/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn or a model's message as plain lines, without escape sequences, for pipes, files and
 * terminals that can do no more. Who works, and what the checks say, goes to the notes; the answer
 * to standard output, a turn's when it is complete, a model's as it comes. One thread at a time.
 */
#pragma once

#include <stdio.h>

#include "client/ui_state.h"

enum { PLAIN_NAME_BYTES = 32 };

struct plain_view {
    FILE *notes;
    bool is_quiet;                  /* the answer alone */
    char speaker[PLAIN_NAME_BYTES]; /* whose thoughts the line at hand is */
    uint64_t answer_seen;           /* how much of a model's answer was written */
    bool is_middle;                 /* the last character of it was no line end */
    struct weir_buf text;
};

void plain_view_init(struct plain_view *v, FILE *notes, bool is_quiet);
void plain_view_fini(struct plain_view *v);

/* One event of a turn. */
void plain_view_event(struct plain_view *v, struct weir_slice type, const struct weir_json *data);

/* One that no rule knows, on a line. */
void plain_view_line(struct plain_view *v, struct weir_slice label, struct weir_slice text);

/* What a model has written since the last call. */
void plain_view_answer(struct plain_view *v, const struct ui_text *answer);

/* A model's stream has ended. */
void plain_view_end(struct plain_view *v, const struct ui_state *state);
