/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports: other people's files into a person's facts.
 *
 * import_run() finds out what each file is, reads it piece by piece in bounded memory, hands its
 * facts to the store in batches, and writes progress to the import's own log. Killed and run
 * again it goes on where the last batch ended.
 *
 * A reader (reader.h) knows one kind of file and nothing of stores or progress.
 */
#pragma once

#include <stdatomic.h>

#include <weir/buf.h>

#include "base/clock.h"
#include "import/reader.h"
#include "store/store.h"

struct import_progress {
    const char *file; /* as it was named; inside an archive: "export.zip: export.xml" */
    bool is_checking; /* all is read once before anything is changed */
    unsigned file_index, n_files;
    const char *kind; /* "apple"; NULL while it is not known */
    uint64_t bytes, total_bytes;
    uint64_t records, refused;
    uint64_t elapsed_ms;
};

enum { IMPORT_REFUSALS = 20, IMPORT_TEXT = 160 };

struct import_refusal {
    char file[IMPORT_TEXT];
    uint64_t line;
    char reason[IMPORT_TEXT];
};

struct import_count {
    char name[64];
    uint64_t n;
};

enum { IMPORT_COUNTS = 128 };

/* What came of it; lists are cut at their ceilings, counters are not. */
struct import_summary {
    uint64_t bytes, records, n_facts, n_new, n_duplicates, n_refused, n_ignored;
    struct import_count metrics[IMPORT_COUNTS], sources[IMPORT_COUNTS], ignored[IMPORT_COUNTS];
    size_t n_metrics, n_sources, n_ignored_kinds;
    struct import_refusal refusals[IMPORT_REFUSALS];
    size_t n_refusals;
    int32_t first_day, last_day;
    uint64_t n_days;  /* with anything */
    bool was_resumed; /* counts are of what was left then */
    char log[48];     /* "imports/01J…"; empty when nothing was begun */
};

struct import_options {
    struct weir_slice user;
    const char *const *paths;
    size_t n_paths;
    const char *kind;      /* NULL: found by looking */
    const char *zone;      /* of times that do not say theirs; NULL: the machine's */
    enum date_order dates; /* as reader.h has these three */
    enum unit_system units;
    struct weir_slice person;
    const struct clock *clock;
    const char *log;               /* "imports/…": its log; NULL: a new one */
    const char *hidden;            /* how paths begin that are not to be shown; NULL: all is */
    const atomic_bool *is_stopped; /* once true, it ends at the next piece; NULL: it does not */
    void (*progress)(void *user, const struct import_progress *p); /* may be NULL */
    void *progress_user;
    /* Adds to the commit with the last event of an import that is done; may be NULL. */
    void (*ending)(void *user, struct commit *c, const struct import_summary *s);
    void *ending_user;
    /* Looks at every commit of it: not WEIR_OK, and it is somebody else's by now. NULL: nobody. */
    commit_decide_fn fence;
    void *fence_user;
};

struct import_error {
    char text[512]; /* the file, the place, what is wrong, what would be right */
};

/*
 * Everything is read twice: once to see whether it is whole and what it says it is, which changes
 * nothing, and once for its facts. So a file that is wrong as a whole (unknown, truncated, a
 * bomb) ends the import with the error and has changed nothing, however large it is. Inside an
 * archive or folder, files of no known kind are counted as ignored, and small ones that are wrong
 * as refused. When the world fails in between (the disk is full, the process dies), what was
 * committed stays and the same call goes on there.
 *
 * WEIR_BUSY: the same person's data are being imported. WEIR_SHUTDOWN: it was stopped, and the same
 * call goes on there, too. The summary is right, if not whole, after
 * an error too.
 */
WEIR_MUST_CHECK enum weir_status import_run(struct store *store, const struct import_options *o,
                                            struct import_summary *summary,
                                            struct import_error *error);

/*
 * Looks whether there is anything in the files that weir can read, by their names and first bytes,
 * which is all that is read of them. WEIR_INVALID: there is not, and the error says what they are.
 */
WEIR_MUST_CHECK enum weir_status import_look(const struct import_options *o,
                                             struct import_error *error);

/* The summary as a JSON object, as in the last event of the import's log. */
void import_write_summary(struct weir_buf *out, const struct import_summary *s);
