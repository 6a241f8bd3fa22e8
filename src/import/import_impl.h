/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the import share: counting, the log, the checkpoint, describing. */
#pragma once

#include <weir/json.h>

#include "data/day.h"
#include "import/import.h"

/* ---- counting: import_tally.c ---- */

enum { TALLY_DAYS = DAY_MAX - DAY_MIN + 1 };

/* Fills a summary; the lists of it are in the order of counts when tally_finish() was called. */
struct tally {
    struct import_summary *summary;
    uint64_t *by_metric; /* as the catalogue counts */
    size_t last_source;  /* most facts in a row are of one, */
    size_t last_ignored; /* and most of what is ignored, too */
    uint8_t days[(TALLY_DAYS + 7) / 8];
};

WEIR_MUST_CHECK enum weir_status tally_init(struct tally *t, struct import_summary *summary);
void tally_fini(struct tally *t);
void tally_metric(struct tally *t, const struct metric *m, struct weir_slice name);
void tally_named(struct tally *t, const char *what);
void tally_source(struct tally *t, const struct source *source);
void tally_day(struct tally *t, int32_t day);
void tally_ignored(struct tally *t, struct weir_slice what);
void tally_refused(struct tally *t, const char *file, uint64_t line, const char *reason);
void tally_finish(struct tally *t);

/* ---- how far it is: import_log.c ---- */

enum { JOB_ID_BYTES = 200, JOB_LOG_BYTES = 48, JOB_MAX_BYTES = 64 << 10 };

/* An import as its document keeps it, and the log it writes. */
struct job {
    struct store *store;
    const struct clock *clock;
    struct weir_slice user;
    char id[JOB_ID_BYTES];        /* of the document: USER/hash of the files */
    char log[JOB_LOG_BYTES];      /* "imports/01J…" */
    const char *wish;             /* what the log is to be called; NULL: anything */
    bool is_resumed;              /* an earlier one was not finished */
    size_t item;                  /* where to go on: the file, */
    uint64_t mark;                /* the byte in it, */
    char note[READER_NOTE_BYTES]; /* and what its reader has to know */
    int64_t started_ms;
    const char *first_file;
};

/* Finds the unfinished import of the same files, or begins one. */
WEIR_MUST_CHECK enum weir_status job_begin(struct job *j, const unsigned char hash[32]);

/* Adds to a commit that the import is so far ("running"), or "done". */
WEIR_MUST_CHECK enum weir_status job_put(const struct job *j, struct commit *c, const char *state);

/* An event of the import's log: `data` is an object. */
WEIR_MUST_CHECK enum weir_status job_event(const struct job *j, struct commit *c, const char *type,
                                           struct weir_slice data);

/* A member of an object with a text that may be anything, as names of files may. */
void job_put_text(struct weir_buf *out, const char *key, const char *text);

/* The last event, and no more after it. */
void job_seal(const struct job *j, struct commit *c);

/* ---- what an unknown file is: import_describe.c ---- */

/* "looks like CSV with columns a, b, c"; of the first bytes of it. */
void describe_head(struct weir_buf *out, struct weir_slice head);

/* "apple (Apple Health export), …" */
void describe_kinds(struct weir_buf *out);
