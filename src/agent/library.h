/* SPDX-License-Identifier: Apache-2.0 */
/*
 * People's own documents: texts and Markdown that they upload, to be searched and cited.
 *
 * What there is in the store. Titles and texts have placeholders in place of private values, unless
 * the policy is off; the values are in the sealed map alone, one for all documents of an owner:
 *   document "document" DOC        owner, title, kind, sizes, times
 *   document "passage" DOC/rNNNNNN a piece of the text (store/passage.h), with the title and the
 *                                  headings above it; all of them make the text. "p": as it was
 *                                  given, without placeholders
 *   document "shield_map" documents/OWNER
 *
 * Queries get the placeholders of the same map, so that a value is found by itself; what comes out
 * is restored for its owner. Each change is one commit.
 *
 * All of these wait for the disk; any thread.
 */
#pragma once

#include <weir/buf.h>

#include "base/clock.h"
#include "shield/policy.h"
#include "shield/vault.h"
#include "store/passage.h"

enum {
    LIBRARY_ID_LEN = 4 + 26,       /* "doc_" and a ULID */
    LIBRARY_TEXT_BYTES = 4 << 20,  /* of one document */
    LIBRARY_TITLE_BYTES = 200,     /* of its title */
    LIBRARY_MAX_DOCUMENTS = 10000, /* of one owner */
    LIBRARY_ANSWER_BYTES = 32 << 20,
    LIBRARY_WHY_BYTES = 192,
    LIBRARY_MAX_HITS = 50,         /* of one search */
    LIBRARY_SNIPPET_POINTS = 4000, /* most code points of a snippet, before it is restored */
};

/* Borrowed. */
struct library {
    struct store *store;
    const struct vault *vault;
    const struct shield_policy *policy;
    const struct clock *clock;
    struct weir_slice owner;
    commit_decide_fn
        decide; /* of the commit that adds a document, which has its id by then; NULL */
    void *decider;
    char why[LIBRARY_WHY_BYTES]; /* of a refusal, for people; set by a failing call */
};

bool library_is_id(struct weir_slice text);

struct library_text {
    struct weir_slice title; /* empty: the first heading or line */
    struct weir_slice text;
    bool is_markdown;
};

/*
 * Adds a document, or puts another text in its place; `id` is set, or says which. `out` gets it as
 * clients see it: {"id","title","mediaType","bytes","passages","redacted","createdAt","updatedAt"}.
 * WEIR_BAD_FIELD with the place in l->why; WEIR_TOO_LARGE; WEIR_LIMIT: there are too many;
 * WEIR_NOT_FOUND: no such document of this owner. What `decide` says, but WEIR_CONFLICT and
 * WEIR_EXISTS more than once.
 */
WEIR_MUST_CHECK enum weir_status library_add(struct library *l, const struct library_text *text,
                                             char id[LIBRARY_ID_LEN + 1], struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status library_replace(struct library *l, struct weir_slice id,
                                                 const struct library_text *text,
                                                 struct weir_buf *out);
/* With the owner's last document its map goes, too. WEIR_NOT_FOUND. */
WEIR_MUST_CHECK enum weir_status library_remove(struct library *l, struct weir_slice id);

/* As above, without the text. WEIR_NOT_FOUND. */
WEIR_MUST_CHECK enum weir_status library_find(struct library *l, struct weir_slice id,
                                              struct weir_buf *out);
/* The same with its "text". WEIR_NOT_FOUND. */
WEIR_MUST_CHECK enum weir_status library_get(struct library *l, struct weir_slice id,
                                             struct weir_buf *out);
/* {"data":[…],"next_cursor":…}, the newest first, behind `after` if that is not empty. */
WEIR_MUST_CHECK enum weir_status library_list(struct library *l, struct weir_slice after,
                                              size_t limit, struct weir_buf *out);

/* ---- search ---- */

struct library_query {
    struct weir_slice words; /* as in store/passage.h */
    size_t limit;            /* LIBRARY_MAX_HITS */
    size_t per_document;     /* passages of one document at most */
    size_t snippet_points;   /* about so long */
};

/* Values are restored. Borrowed while `each` runs. */
struct library_hit {
    struct weir_slice id;               /* of the document */
    struct weir_slice title, heading;   /* the heading may be empty */
    struct weir_slice snippet;          /* one line; "…" where it was cut */
    const struct passage_range *points; /* what was found in it, in code points */
    size_t n_points;
};
typedef enum weir_status (*library_fn)(void *user, const struct library_hit *hit);

/*
 * The best passages that have all words; when there are none, those that have some. WEIR_BAD_FIELD
 * with l->why for a query without words, or too long; what `each` returns.
 */
WEIR_MUST_CHECK enum weir_status library_search(struct library *l, const struct library_query *q,
                                                library_fn each, void *user);
