/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports over HTTP: files that wait, the threads that read them, and what came of each.
 *
 * 1. imports_new() on an open store; imports_start() goes on with what an earlier process left.
 * 2. imports_spool() for a body; import_put_new() in the commit that makes an import of it;
 *    imports_add() when that is durable.
 * 3. imports_stop(): each import ends at its next piece, to go on after a restart; imports_free().
 *
 * What there is of an import in the store, all of it made by one commit and ended by one commit:
 *   document "upload" ID       the import as clients see it. Owner: whose data
 *   document "import_slot" OWNER   while it is under way: a person has one at a time
 *   log "imports/ID"           its events, see docs/import.md
 * and on the disk, while it is under way: FOLDER/imports/ID/NAME, the file.
 *
 * Of several nodes that share the store one works on an import, and when it dies, another goes on:
 * the file is in the store, too (upload.h), and
 *   document "import-run" ID   the node whose it is; its version is looked at by every commit of
 *                              the import, so that a node which lost it writes nothing any more.
 * imports_look() takes what the dead left, and what others gave away: that is nobody's, an empty
 * body.
 *
 * Any thread, but for imports_new() to imports_start() and imports_stop() to imports_free(): one.
 */
#pragma once

#include <weir/buf.h>

#include "base/trace.h"
#include "serve/spool.h"
#include "store/store.h"
#include "turn/turn.h"

struct imports;

enum {
    IMPORT_ID_LEN = 4 + 26,    /* "imp_" and a ULID */
    IMPORT_NAME_BYTES = 201,   /* of a file, with a NUL */
    IMPORT_WORD_BYTES = 64,    /* of a kind or zone, with a NUL */
    IMPORT_LOG_KEEP_DAYS = 90, /* as import/import_log.c has it */
    IMPORTS_THREADS = 2,       /* that read at a time; others wait */
};

/* Borrowed until imports_free(). */
struct imports_options {
    struct turns *turns;
    const char *folder;
    const struct clock *clock;
    const char *node; /* what this one of several is called; NULL: there is one */
    bool (*is_dead)(void *user, struct weir_slice node);
    void *user;
};
WEIR_MUST_CHECK enum weir_status imports_new(struct imports **out, struct store *store,
                                             const struct imports_options *options);
WEIR_MUST_CHECK enum weir_status imports_start(struct imports *i);
/* Of several nodes, now and then: takes up what dead ones left. May wait. */
WEIR_MUST_CHECK enum weir_status imports_look(struct imports *i);
/*
 * Of several nodes: the others go on with what is under way here, from its next piece on, and begin
 * what is added. Until it is said again that there are none: then nobody else would.
 */
void imports_give(struct imports *i, bool has_others);
/* How many wait or are under way here. */
unsigned imports_count(struct imports *i);
/* Returns when no import is under way, or after `grace_ms`. */
void imports_stop(struct imports *i, unsigned grace_ms);
bool imports_is_busy(struct imports *i);
void imports_free(struct imports *i); /* NULL is allowed */

WEIR_MUST_CHECK enum weir_status imports_spool(struct imports *i, struct spool **out);

bool import_is_id(struct weir_slice text);
struct weir_slice import_log(char out[64], const char *id);

/* How a file is to be read. */
struct import_wish {
    char name[IMPORT_NAME_BYTES];
    char kind[IMPORT_WORD_BYTES];   /* empty: found by looking */
    char zone[IMPORT_WORD_BYTES];   /* empty: the server's */
    char dates[IMPORT_WORD_BYTES];  /* "mdy", "dmy"; empty: as the file shows it */
    char units[IMPORT_WORD_BYTES];  /* "metric", "imperial"; the same */
    char person[IMPORT_WORD_BYTES]; /* of a file with several people, the id of the one */
};

/* The import as clients see it; kept as it is. */
struct import_view {
    const char *id;
    const char *status; /* "running", "completed", "failed" */
    const struct import_wish *wish;
    uint64_t bytes;
    int64_t created_ms, completed_ms; /* 0: not yet */
    struct weir_slice summary;        /* JSON; empty: none */
    enum weir_status error;           /* WEIR_OK: none */
    const char *why;
};
void import_put(struct weir_buf *out, const struct import_view *v);

/* For a decide: a new import, in the words of import_put(). WEIR_CONCURRENCY: there is one. */
struct import_new {
    const char *id;
    const char *owner;
    struct weir_slice body;
};
WEIR_MUST_CHECK enum weir_status imports_put_new(struct imports *i, struct commit_view *view,
                                                 struct commit *c, const struct import_new *import);

/* Its commit is durable, and its file where it belongs. */
void imports_add(struct imports *i, const char *id);

/*
 * Looks at a file, and puts it on the disk under its own name. WEIR_BAD_FILE and the error: nobody
 * knows what it is. May wait.
 */
WEIR_MUST_CHECK enum weir_status imports_take(struct imports *i, struct spool *spool,
                                              const struct import_wish *wish, char *why,
                                              size_t why_size);

/*
 * Of several nodes: puts the file where the others find it, unless the owner has an import under
 * way (WEIR_CONCURRENCY); imports_forget() when it became none. May wait.
 */
WEIR_MUST_CHECK enum weir_status imports_keep(struct imports *i, const struct spool *spool,
                                              const char *owner);
void imports_forget(struct imports *i, const struct spool *spool);
