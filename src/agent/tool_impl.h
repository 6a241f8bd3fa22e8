/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tools share: looking at their input, and saying what is wrong with it in words that a
 * model can act on. Private to src/agent/tool*.c.
 */
#pragma once

#include "agent/tool.h"

typedef enum weir_status (*tool_fn)(struct tool_case *c, const struct weir_json *input,
                                    struct weir_buf *out);

struct tool {
    const char *name;
    const char *label;       /* what people see while it runs */
    const char *description; /* for the model */
    const char *schema;      /* of the input, JSON */
    tool_fn run;
};

/* ---- tool.c ---- */

/* Sets c->why; returns the status. */
enum weir_status tool_refuse(struct tool_case *c, enum weir_status st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The input is an object and has no other members than these; the list ends with NULL. */
WEIR_MUST_CHECK enum weir_status tool_take_members(struct tool_case *c,
                                                   const struct weir_json *input,
                                                   const char *const *names);

/* A member that is a string of 1 to `most` bytes, not blank. Without one: an empty slice, or
 * WEIR_BAD_FIELD when it is needed. */
struct tool_text {
    const char *name;
    bool is_needed;
    size_t most;
};
WEIR_MUST_CHECK enum weir_status tool_take_text(struct tool_case *c, const struct weir_json *input,
                                                struct tool_text wanted, struct weir_slice *out);

/* A member that is a whole number from `least` to `most`; without one *out stays. */
struct tool_number {
    const char *name;
    int64_t least, most;
};
WEIR_MUST_CHECK enum weir_status tool_take_number(struct tool_case *c,
                                                  const struct weir_json *input,
                                                  struct tool_number wanted, int64_t *out);

void tool_progress(struct tool_case *c, const char *label, unsigned percent);
bool tool_is_aborted(struct tool_case *c);

/* Adds an element to a list in the making, if the whole stays small enough; false: it does not. */
bool tool_add(struct weir_buf *list, struct weir_slice element);

void tool_put_text(struct weir_buf *out, const char *key, struct weir_slice text);

/* ---- the tools ---- */

WEIR_MUST_CHECK enum weir_status tool_list_data(struct tool_case *c, const struct weir_json *input,
                                                struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status tool_query_data(struct tool_case *c, const struct weir_json *input,
                                                 struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status tool_search_documents(struct tool_case *c,
                                                       const struct weir_json *input,
                                                       struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status tool_read_memory(struct tool_case *c,
                                                  const struct weir_json *input,
                                                  struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status tool_look_up_fact(struct tool_case *c,
                                                   const struct weir_json *input,
                                                   struct weir_buf *out);

/* ---- tool_fact.c ---- */

struct fact_band;
struct fact_source;
/* {"label","from","to","who"?,"source"}, of a subject in its unit of the catalogue. */
void tool_put_band(struct weir_buf *out, const struct fact_band *b);
/* Cites what a band says; `title` and `unit` are the subject's. */
void tool_cite_band(struct tool_case *c, const struct fact_band *b, const char *title,
                    const char *unit);
