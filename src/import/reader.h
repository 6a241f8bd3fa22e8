/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers: one for each kind of file, all with the same face. A reader is fed bytes in pieces of
 * any size and hands facts to a sink; it does no I/O and keeps bounded memory.
 *
 * 1. reader_kind_find() by name, or import_detect() by the head of the file.
 * 2. kind->open(), feed(), …, end(), close().
 *
 * A wrong row is refused through the sink and the reading goes on. A file that cannot be of this
 * kind, or is broken as a whole, ends it: the status, and a text with the place.
 */
#pragma once

#include "data/fact.h"
#include "data/zone.h"

struct reader;

/* What a person may say of files that do not: which of 03/04/2025 is the month; pounds and miles.
 */
enum date_order { DATES_UNKNOWN, DATES_MONTH_FIRST, DATES_DAY_FIRST };
enum unit_system { UNITS_UNKNOWN, UNITS_METRIC, UNITS_IMPERIAL };

/* What a reader needs to know beside the bytes. */
struct reader_context {
    struct fact_sink sink;
    struct weir_slice
        file_name;           /* the last part: "heart_rate-2025-03-01.json"; some kinds need it */
    const struct zone *zone; /* of times that do not say theirs */
    struct weir_slice note;  /* for resume(): what note() said at the mark */
    enum date_order dates;
    enum unit_system units;
    struct weir_slice person; /* of a file with several people: the id of the one; may be empty */
};

enum { READER_ERROR_BYTES = 256, READER_NOTE_BYTES = 96 };

struct reader_kind {
    const char *name;  /* "apple" */
    const char *title; /* "Apple Health export" */
    /* How sure it is from the file's name and first bytes: 0 no … 100 certain. Pure. */
    unsigned (*recognise)(struct weir_slice file_name, struct weir_slice head);
    WEIR_MUST_CHECK enum weir_status (*open)(struct reader **out, const struct reader_context *c);
    WEIR_MUST_CHECK enum weir_status (*feed)(struct reader *r, struct weir_slice bytes);
    WEIR_MUST_CHECK enum weir_status (*end)(struct reader *r);
    void (*close)(struct reader *r); /* NULL is allowed */
    uint64_t (*records)(const struct reader *r);
    /* Why it failed, with the line; never NULL. */
    const char *(*error)(const struct reader *r);
    /*
     * Where a later reading may begin instead of the file's beginning: an offset all facts before
     * which were handed over, 0 when there is none but the beginning. `resume` makes a reader
     * that begins there. Both NULL where files are small.
     */
    uint64_t (*mark)(const struct reader *r);
    WEIR_MUST_CHECK enum weir_status (*resume)(struct reader **out, const struct reader_context *c,
                                               uint64_t mark);
    /* What resume() has to know beside the offset, as text; NULL: nothing. */
    void (*note)(const struct reader *r, char out[READER_NOTE_BYTES]);
    /* Inside of a call of the sink: the line of the row; NULL where nobody knows. */
    uint64_t (*line)(const struct reader *r);
};

enum { READER_HEAD_BYTES = 16 << 10 }; /* what recognise() wants to see, if there is so much */

/* All kinds, most particular first; NULL behind the last. */
extern const struct reader_kind *const reader_kinds[];

const struct reader_kind *reader_kind_find(const char *name); /* NULL */

/* The kind that is surest, or NULL. */
const struct reader_kind *reader_detect(struct weir_slice file_name, struct weir_slice head);
