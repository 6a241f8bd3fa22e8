/* SPDX-License-Identifier: Apache-2.0 */
/* What classifying, routing, rephrasing and the conversational answer share. */
#pragma once

#include "agent/agent_impl.h"
#include "agent/said.h"

/* "self_harm", "starvation", "emergency", or NULL. */
const char *safety_of(struct said *s);
/* The same of what of the last message is beyond the question, which is cut. */
const char *safety_beyond(const struct agent_case *c);
const char *safety_answer(struct weir_slice kind);

enum vagueness { VAGUE_LOW, VAGUE_MEDIUM, VAGUE_HIGH };

/* Who is to answer. The names are those of the agents; NULL: nobody. */
struct route {
    const char *main;
    const char *supporting[2];
    size_t n_supporting;
    const char *pattern; /* the row that decided */
    const char *safety;
};

/* The question as it stands alone, with what it leaves out taken from those before it. */
WEIR_MUST_CHECK enum weir_status resolve_question(struct agent_case *c, struct weir_slice *out);

/* `c` NULL: the grammar of plans is not asked. */
struct route route_of(const struct said *s, struct agent_case *c, struct weir_slice question);

/* *why is the row of vague.def or a few words. */
enum vagueness vagueness_of(const struct said *s, const char **why);

bool said_has_thing(const struct said *s);
bool said_has_lab(const struct said *s);
bool said_names_medicine(const struct said *s); /* or a supplement */
/* Tells somebody to take, change or stop one, or which illness they have. */
bool said_plays_doctor(const struct said *s);

/* Whether a goal or a preference is told (remember_words.c). */
bool remember_hears(const struct said *s);

/* The conversational answer for a row of the table. */
const char *fallback_answer(struct weir_slice pattern);
