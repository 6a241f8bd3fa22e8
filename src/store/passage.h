/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passages: documents of kind "passage" that can be found by their words. They are put and removed
 * in commits like all documents, and listed and read like them; the index of their words changes
 * with them and cannot say anything else than they do, over crashes, backups and migrations too.
 *
 * 1. passage_put() adds a passage to a commit; commit_remove() with passage_key() takes it away.
 * 2. store_search() finds what was committed before it began.
 *
 * A passage's body is its title, a line feed, its text. Both are UTF-8 without NUL. Upper and lower
 * case are one, and so are letters with and without diacritics. Scripts that put no spaces between
 * words are found by any run of their characters.
 *
 * An id may have a source in front of its first '/': passages of one text.
 *
 * Any thread.
 */
#pragma once

#include "store/store.h"

enum {
    PASSAGE_TITLE_BYTES = 1024, /* of a passage */
    PASSAGE_WORDS_BYTES = 1024, /* of a query */
    PASSAGE_MAX_WORDS = 32,     /* of a query, after words were cut at signs */
    PASSAGE_MAX_HITS = 100,     /* of one search */
    PASSAGE_LOOKED_AT = 1000,   /* best passages among which `per_source` chooses */
    PASSAGE_MAX_RANGES = 64,    /* of one passage: the first ones */
};

static inline struct doc_key passage_key(struct weir_slice id)
{
    return (struct doc_key){{"passage", 7}, id};
}

/* How many bytes there are in front of the first that a passage cannot have; text.len: none. */
size_t passage_good_prefix(struct weir_slice text);

struct passage {
    struct weir_slice id, owner; /* the owner is not empty */
    struct weir_slice title;     /* without a line feed */
    struct weir_slice text;
};

/* As commit_put(); WEIR_INVALID and WEIR_LIMIT are remembered by the commit. */
void passage_put(struct commit *c, const struct passage *p, int64_t expected_version);

/* Which passages. */
struct passage_query {
    struct weir_slice owner;
    /*
     * Words and "phrases"; nothing else in them has a meaning. A word that is cut by signs is a
     * phrase. The last word may be a word's beginning, unless a sign follows it.
     */
    struct weir_slice words;
    bool is_any;       /* one of the words is enough; else all have to be there */
    size_t limit;      /* so many at most; PASSAGE_MAX_HITS */
    size_t per_source; /* so many of one source at most; 0: all */
};

/* Bytes, end exclusive. */
struct passage_range {
    size_t start, end;
};

/* Borrowed while `each` runs. */
struct passage_hit {
    struct weir_slice id, title, text;
    double rank; /* BM25, the lower the better; what others have stored counts for it, too */
    const struct passage_range *in_title, *in_text; /* what was found, rising, without overlaps */
    size_t n_in_title, n_in_text;
};
typedef enum weir_status (*passage_fn)(void *user, const struct passage_hit *hit);

/*
 * The best first, ties by id. WEIR_INVALID: the query is not UTF-8 or has no word; WEIR_LIMIT: it
 * is too long; what `each` returns other than WEIR_OK ends the search. Waits for the disk.
 */
WEIR_MUST_CHECK enum weir_status store_search(struct store *s, const struct passage_query *query,
                                              passage_fn each, void *user);
