/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that models are asked with. They are files (src/agent/prompts), each with a version,
 * and are part of the program: tools/embed-prompts makes a table of them at build time and refuses
 * files in which a variable stands anywhere but inside of a data block.
 *
 * Data blocks. Text that somebody else wrote (the person, their files, a device, a laboratory, what
 * a tool answered) goes into a request between <data name="…"> and </data>, and nowhere else.
 * Inside, each '<' is written as "&lt;", so no text can end its block or begin another; characters
 * that cannot be seen or turn the direction of writing are left out.
 *
 * Private to src/agent. Any thread.
 */
#pragma once

#include <weir/buf.h>

struct prompt {
    const char *name;   /* of its file: "route" */
    unsigned version;   /* its first line */
    const char *system; /* the same in every call */
    const char *user;   /* with variables: {{question}} */
};

/* Made at build time, ordered by name. */
extern const struct prompt prompts[];
extern const size_t n_prompts;
extern const char plan_tool_schema[]; /* docs/plan.schema.json, as tools have schemas */

enum {
    BLOCK_BYTES = 16 << 10, /* of one value; what is longer is cut, and says so */
};

/* A text as it stands inside of a block: at most `most` bytes of it. */
void block_text(struct weir_buf *out, struct weir_slice text, size_t most);

/* The length of the first character; *is_shown false: it is ill-formed, or nobody would see it. */
size_t block_next(struct weir_slice text, bool *is_shown);

/* A block of its own. `name` is ours. */
void block_put(struct weir_buf *out, const char *name, struct weir_slice text);

struct prompt_value {
    const char *name;
    struct weir_slice text;
};

/* There is one of this name, or weir is wrong. */
const struct prompt *prompt_find(const char *name);

/* What a model is told first: who it is, the rules of all, and the prompt's name and version. */
void prompt_put_system(struct weir_buf *out, const struct prompt *p);

/* What it is asked. The values are exactly those that the prompt names, or weir is wrong. */
void prompt_put_user(struct weir_buf *out, const struct prompt *p,
                     const struct prompt_value *values, size_t n);
