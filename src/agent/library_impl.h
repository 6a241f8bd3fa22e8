/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the library share. Private to src/agent/library*.c. */
#pragma once

#include "agent/library.h"
#include "shield/guard.h"

/* ---- library_cut.c: a text in passages ---- */

enum {
    CUT_MOST_BYTES = 1600,  /* of a passage */
    CUT_LEAST_BYTES = 400,  /* a heading or paragraph begins another one only behind so many */
    CUT_HEADING_BYTES = 60, /* of one heading, as it stands above its passages */
    CUT_LEVELS = 3,         /* headings that do */
};

/* Passages one after the other; put together they are the text. */
struct cutter {
    struct weir_slice rest;
    bool is_markdown;
    char fence; /* the sign of an open block of code; 0: none */
    struct weir_slice headings[CUT_LEVELS];
};

void cutter_init(struct cutter *c, struct weir_slice text, bool is_markdown);
/* The next passage, and the headings above it, into `headings`; false: there is none. */
bool cutter_next(struct cutter *c, struct weir_slice *passage, struct weir_buf *headings);

/* The text of a heading line of Markdown and its level, 1 to 6; 0: it is none. */
unsigned cut_heading(struct weir_slice line, struct weir_slice *text);

/* ---- library_snippet.c ---- */

struct snippet {
    struct weir_buf text;
    struct passage_range points[PASSAGE_MAX_RANGES];
    size_t n;
};
void snippet_init(struct snippet *s);
void snippet_fini(struct snippet *s);

/*
 * About `n_points` code points of a text around what was found, on one line. `tokens` restores the
 * placeholders in it; NULL: there are none.
 */
struct snippet_wish {
    struct weir_slice text;
    const struct passage_range *ranges;
    size_t n_ranges;
    size_t n_points;
    const struct token_map *tokens;
};
WEIR_MUST_CHECK enum weir_status snippet_make(struct snippet *s, const struct snippet_wish *wish);

/* ---- library_map.c: placeholders of an owner's documents ---- */

struct library_map {
    struct guard *guard;
    int64_t version; /* of its document; 0: there is none */
    bool is_redacting;
};

WEIR_MUST_CHECK enum weir_status library_map_open(struct library_map *m, struct library *l);
/* Its version alone: what cannot be opened any more can be taken away. */
WEIR_MUST_CHECK enum weir_status library_map_find(struct library_map *m, struct library *l);
void library_map_close(struct library_map *m);
/* The text as it is stored, and what was found in it. */
WEIR_MUST_CHECK enum weir_status library_map_redact(struct library_map *m, struct weir_slice text,
                                                    struct weir_buf *out,
                                                    struct guard_report *report);
/*
 * Adds the map to a commit, if there is anything in it. It is put even when it is as it was: so
 * whoever takes it away with the last document finds out that there is another.
 */
WEIR_MUST_CHECK enum weir_status library_map_put(struct library_map *m, struct library *l,
                                                 struct commit *c);
void library_map_remove(struct library_map *m, struct library *l, struct commit *c);
void library_map_restore(const struct library_map *m, struct weir_slice text, struct weir_buf *out);
/* A title or heading: on one line, even if a value has several. */
void library_map_restore_line(const struct library_map *m, struct weir_slice text,
                              struct weir_buf *out);

/* ---- library.c ---- */

/* Sets l->why; returns the status. */
enum weir_status library_refuse(struct library *l, enum weir_status st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum { LIBRARY_PASSAGE_ID_BYTES = LIBRARY_ID_LEN + 16 };

/* A title line is the document's title, this, and the headings. */
enum { LIBRARY_TITLE_END = 0x1F };
