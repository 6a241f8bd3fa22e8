/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small model streams told in one string, and what must become of them.
 *
 * Each line of `events` is one event: its name, a space, its data; a line that
 * begins with a bracket or brace has no name, and one with a colon is a comment.
 * Single quotes stand for double ones, in the events and in all that is expected.
 */
#pragma once

#include <weir/message.h>

#include "text.h"

struct story {
    const char *events;
    enum weir_outcome outcome;
    const char *value;  /* NULL: not compared; "-": there must be none */
    const char *error;  /* likewise; members that are not named here are not compared */
    const char *notes;  /* codes in order, each with a space after it; NULL: not compared */
    const char *inputs; /* "block state offset value;" for each; NULL: not compared */
};

/* The stream in wire form. */
void story_stream(struct text *out, const char *events);

/* Runs the story whole and in every cutting; failures go to t_fail(). */
void story_check(enum weir_dialect dialect, const struct story *story);

/* Frees the stream from inside each of its callbacks, in several cuttings. */
void story_free_in_callbacks(enum weir_dialect dialect, const char *events);

/* Fails each allocation in turn; the stream has to end in an error that says so. */
void story_fail_allocations(enum weir_dialect dialect, const char *events);
