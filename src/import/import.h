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

#include "base/clock.h"
#include "import/reader.h"
#include "store/store.h"

struct import_progress {
    const char *file; /* as it was named; inside an archive: "export.zip: export.xml" */
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
    uint64_t bytes, records, n_new, n_duplicates, n_refused, n_ignored;
    struct import_count metrics[IMPORT_COUNTS], sources[IMPORT_COUNTS], ignored[IMPORT_COUNTS];
    size_t n_metrics, n_sources, n_ignored_kinds;
    struct import_refusal refusals[IMPORT_REFUSALS];
    size_t n_refusals;
    int32_t first_day, last_day;
    uint64_t n_days; /* with anything */
    bool was_resumed;
};

struct import_options {
    struct weir_slice user;
    const char *const *paths;
    size_t n_paths;
    const char *kind; /* NULL: found by looking */
    const char
        *zone; /* "America/New_York": for files whose times say nothing; NULL: the machine's */
    const struct clock *clock;
    void (*progress)(void *user, const struct import_progress *p); /* may be NULL */
    void *progress_user;
};

struct import_error {
    char text[512]; /* the file, the place, what is wrong, what would be right */
};

/*
 * WEIR_OK when all files were read. A file that is wrong as a whole (unknown, truncated, a bomb)
 * ends the import with the error and changes nothing of the person's data by that file.
 */
WEIR_MUST_CHECK enum weir_status import_run(struct store *store, const struct import_options *o,
                                            struct import_summary *summary,
                                            struct import_error *error);
