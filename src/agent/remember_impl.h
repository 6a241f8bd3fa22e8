/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a turn leaves in memory.
 *
 *   remember.c         entries, what is there already, findings
 *   remember_words.c   goals and preferences in what the person said
 */
#pragma once

#include <stdio.h>

#include "agent/synthesize_impl.h"

enum { MEMORY_KEYS = 8, MEMORY_KEY_BYTES = 160, MEMORY_TEXT_BYTES = 400 };

/* An entry in the making; empty texts are left out. */
struct entry_of_memory {
    const char *category;
    char key[MEMORY_KEY_BYTES]; /* what it is about: one entry of memory for each */
    char text[MEMORY_TEXT_BYTES];
    char metric[64], finding[16], verdict[16], diet[32];
    const char *dimension, *unit, *style;
    double value; /* NAN: none */
};

struct remembering {
    struct agent_case *c;
    struct weir_buf *out;
    char keys[MEMORY_KEYS][MEMORY_KEY_BYTES], texts[MEMORY_KEYS][MEMORY_TEXT_BYTES];
    size_t n;
};

/* Writes the entry unless memory has it; at most MEMORY_KEYS of a turn. */
void memory_add(struct remembering *r, const struct entry_of_memory *e);

/* Goals and preferences of the question. */
WEIR_MUST_CHECK enum weir_status recall_words(struct remembering *r);

/* Words of the question that somebody picked; nothing when their sentence is not meant so, or when
 * the same was remembered. */
WEIR_MUST_CHECK enum weir_status recall_quote(struct remembering *r, const char *category,
                                              struct weir_slice quote, struct weir_slice sentence);
