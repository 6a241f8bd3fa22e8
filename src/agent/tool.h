/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools that a model may call: reading the user's data by plans, searching their documents, their
 * memory. A closed list; each has a name, words for the model, a schema of its input and a
 * function.
 *
 * 1. tools_put() writes the list for a request (model.h: `tools`).
 * 2. tool_find(), tool_run() with the input that the model gave, which is checked here.
 *
 * A tool touches the disk and may take a while: it runs in a thread of the caller's. It is
 * deterministic on the same data, and running it again does no harm. What it brings is JSON, small
 * enough for a model; beyond TOOL_RESULT_BYTES it is cut with a word about that.
 */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>

#include "base/arena.h"
#include "base/clock.h"
#include "data/dataset.h"
#include "shield/policy.h"
#include "shield/vault.h"
#include "store/store.h"

enum { TOOL_RESULT_BYTES = 32 << 10, TOOL_WHY_BYTES = 192, TOOL_CITATIONS = 16 };

/* Borrowed. */
struct tool_case {
    struct weir_slice owner;
    struct store *store;
    struct dataset *data; /* never NULL; may be empty */
    const struct clock *clock;
    struct arena *arena;
    const struct vault *vault;          /* documents at rest: library.h */
    const struct shield_policy *policy; /* whose placeholders they have; never NULL */
    /* "Reading 3 of 12", 0 to 100; may be NULL. */
    void (*progress)(void *user, struct weir_slice label, unsigned percent);
    /* What an answer rests on; may be NULL. Snippets are plain text, without marks. */
    void (*cite)(void *user, struct weir_slice source_id, struct weir_slice title,
                 struct weir_slice snippet);
    bool (*is_aborted)(void *user); /* NULL: never */
    void *user;
    char why[TOOL_WHY_BYTES]; /* of a failure, for the model and for people */
};

struct tool;

void tools_put(struct weir_buf *out);
const struct tool *tool_find(struct weir_slice name); /* NULL: there is none */
const char *tool_name(const struct tool *t);
const char *tool_label(const struct tool *t); /* "Searching your documents" */
const char *tool_description(const struct tool *t);
size_t tools_count(void);
const struct tool *tools_at(size_t i);

/*
 * WEIR_OK: `out` has the result. WEIR_BAD_FIELD, WEIR_UNPROCESSABLE, WEIR_NOT_FOUND: c->why says
 * what is wrong with the input, maybe quoting it. WEIR_CANCELLED; what the store says.
 */
WEIR_MUST_CHECK enum weir_status tool_run(const struct tool *t, struct tool_case *c,
                                          const struct weir_json *input, struct weir_buf *out);
