/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of tools share.
 *
 *   tools.c        the table; one call from its start to its end
 *   tool_change.c  those that change what the store has: memory, schedules
 *   tool_work.c    those that run in other processes
 *   notes.c        what is run there for notes
 *   programs.c     somebody's own programs
 */
#pragma once

#include <stdio.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "session/session_impl.h"

enum {
    TOOL_ARGS_BYTES = 128 << 10, /* of an input */
    TOOL_TEXT_BYTES = 64 << 10,  /* of what a model, and the event, is told of a result */
    /* A result before it is cut: of a work each byte may have been replaced by a sign of three. */
    TOOL_RESULT_MOST = 3 * RUNNER_OUTPUT_BYTES + 64,
    PROGRAMS = 64, /* of somebody's own */
    NOTE_NAME_BYTES = 80,
    NOTE_TEXT_BYTES = 64 << 10,
};

/* ---- tools.c ---- */

struct tool_call;

enum tool_kind {
    TOOL_AGENT,    /* agent/tool.h */
    TOOL_ASK,      /* the person is asked */
    TOOL_CHANGE,   /* tool_change.c */
    TOOL_FUNCTION, /* of the runner */
    TOOL_PROGRAM,
};

struct session_tool {
    const char *name, *group, *description;
    const char *schema; /* JSON; NULL: the program's */
    enum tool_kind kind;
    bool needs_approval;
    bool is_repeatable;                             /* doing it twice is the same as once */
    const char *reason;                             /* for the person who approves */
    enum weir_status (*check)(struct tool_call *c); /* of the input; NULL: any object */
    enum weir_status (*can)(struct tool_call *c);   /* see struct approval_wish */
    enum weir_status (*change)(struct tool_call *c);
    const struct program *program;
};

/* One call, in one pass. */
struct tool_call {
    struct turn_pass *pass;
    struct sessions *sessions;
    const struct tool_wish *wish;
    const struct weir_json *input; /* an object */
    struct session_tool tool;
    struct weir_buf args;        /* the input, as JSON */
    struct weir_buf result;      /* for the model */
    char why[SESSION_WHY_BYTES]; /* of a failure, for the model */
    bool is_again;               /* an earlier process has begun it */
    uint64_t told_ns;            /* when progress was told last */
    enum weir_status status;     /* of telling on the way */
};

/* Sets c->why; returns the status, which the model is told if it is one of its own making. */
enum weir_status tool_fail(struct tool_call *c, enum weir_status st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A member that is a text of 1 to `most` bytes, not blank. */
WEIR_MUST_CHECK enum weir_status tool_text(struct tool_call *c, const char *member, bool is_needed,
                                           size_t most, struct weir_slice *out);
/* A few in a second. percent above 100: none. */
void tool_tell_progress(struct tool_call *c, struct weir_slice message, unsigned percent);

/* "trn_…/NNN" */
enum { TOOL_DOC_BYTES = SESSION_TURN_LEN + 8 };
struct doc_key tool_doc_key(char out[TOOL_DOC_BYTES], const struct tool_call *c);
static inline struct doc_key tool_doc_key_of(char out[TOOL_DOC_BYTES], struct weir_slice turn,
                                             unsigned number)
{
    int len = snprintf(out, TOOL_DOC_BYTES, "%.*s/%03u", (int)turn.len, turn.ptr, number);
    return (struct doc_key){SLICE("session_tool"), slice_of(out, (size_t)len)};
}

/* A result of at most TOOL_TEXT_BYTES, for an event and for the model: what is cut, is said. */
static inline void tool_bound(struct weir_buf *text)
{
    size_t all = text->len;
    if (all <= TOOL_TEXT_BYTES) return;
    text->len = utf8_valid_prefix(slice_of(text->ptr, TOOL_TEXT_BYTES));
    weir_buf_printf(text, "\n… (cut; %zu bytes in all)", all);
}

/* Whether a tool that is done again after a crash, for twice is the same as once: it is not marked
 * in the store before it begins. */
bool tool_is_unmarked(struct weir_slice name);

/* ---- tool_change.c ---- */

WEIR_MUST_CHECK enum weir_status tool_check_remember(struct tool_call *c);
WEIR_MUST_CHECK enum weir_status tool_check_forget(struct tool_call *c);
WEIR_MUST_CHECK enum weir_status tool_check_schedule(struct tool_call *c);
WEIR_MUST_CHECK enum weir_status tool_can_remember(struct tool_call *c);
WEIR_MUST_CHECK enum weir_status tool_can_forget(struct tool_call *c);
WEIR_MUST_CHECK enum weir_status tool_remember(struct tool_call *c);
WEIR_MUST_CHECK enum weir_status tool_forget(struct tool_call *c);
WEIR_MUST_CHECK enum weir_status tool_schedule(struct tool_call *c);

/* ---- tool_work.c ---- */

/* WEIR_PENDING: somebody works, or people are asked. */
WEIR_MUST_CHECK enum weir_status tool_work(struct tool_call *c);
/* Whether there is such a note; the one that works looks again. */
WEIR_MUST_CHECK enum weir_status tool_can_delete_note(struct tool_call *c);

/* A call without an end whose turn ends. */
struct tool_open {
    struct weir_slice turn, name;
    unsigned number;
    bool is_old; /* an earlier attempt at the turn has begun it */
};
enum tool_fate {
    TOOL_NOT_DONE, /* it has not happened */
    TOOL_DONE,     /* it has, and this is its result */
    TOOL_FAILED,   /* it came to its end, and this is why it is no good one */
    TOOL_UNKNOWN,  /* it may have happened */
};
/* What is known of it, when no pass comes any more. What the store says. */
WEIR_MUST_CHECK enum weir_status tool_find_fate(struct sessions *s, const struct tool_open *call,
                                                enum tool_fate *fate, struct weir_buf *result);

/* ---- notes.c ---- */

/* Empty: it is a name that a note may have. */
const char *note_name_fault(struct weir_slice name);

/* ---- programs.c ---- */

struct program {
    const char *name, *description;
    const struct weir_json *schema;
    const char *const *argv;
    bool needs_approval;
    unsigned wall_ms;      /* 0: the runner's */
    uint64_t memory_bytes; /* the same */
};
size_t programs_count(const struct session_programs *p); /* NULL: 0 */
const struct program *programs_at(const struct session_programs *p, size_t i);

/* Whether a tool that is no program has the name: tools.c. */
bool session_tool_is_builtin(struct weir_slice name);
