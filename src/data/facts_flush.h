/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flush under way: what it has read, what it will write. Private to src/data.
 *
 * facts_flush.c joins samples and commits, facts_daily.c has the daily values of the metrics that
 * are touched, facts_night.c the sleeps, facts_list.c workouts and laboratory results.
 *
 * Law: what a commit of a flush writes is consistent in itself. A document of samples never goes
 * without the daily values that follow from it, so a flush that is stopped between two commits
 * leaves the database of a smaller set of facts, not a wrong one.
 */
#pragma once

#include "data/facts_impl.h"

/* A document that will be written. */
struct put {
    const char *kind;
    char *id;
    int64_t version; /* that it has now; 0: it is new */
    struct weir_buf body;
    bool is_removal;
};

/* The daily values of a metric, as they are and as they will be. */
struct daily {
    uint16_t metric;
    char name[DOC_MAX_NAME + 8];
    struct rows merged, given;       /* of struct day_row */
    struct doc days_doc, series_doc; /* as stored; version 0: not there */
    bool is_dirty;
};

/* The sleeps that end in a year. */
struct sleep_year {
    int year;
    struct rows rows; /* of struct sleep_row, in order */
    struct doc doc;
    bool is_dirty;
};

struct flush {
    struct facts *f;
    struct arena ids;
    struct rows puts; /* of struct put */
    size_t put_bytes;
    struct rows dailies; /* of struct daily * */
    struct rows years;   /* of struct sleep_year * */
    struct commit *with;
    uint64_t n_new, n_left_out, n_days_changed;
    bool has_index_news;
};

/* Reads a document of the person; version 0 and an empty body when it is not there. */
WEIR_MUST_CHECK enum weir_status flush_get(struct flush *x, const char *kind, const char *rest,
                                           struct doc *out);

/* Takes over the body (which is empty afterwards), to be written with the next commit. */
WEIR_MUST_CHECK enum weir_status flush_put(struct flush *x, const char *kind, const char *rest,
                                           int64_t version, struct weir_buf *body);

/* Puts it if it is not what is there. */
WEIR_MUST_CHECK enum weir_status flush_put_changed(struct flush *x, const char *kind,
                                                   const char *rest, const struct doc *old,
                                                   struct weir_buf *body);

/* Removes it, if it is there. */
WEIR_MUST_CHECK enum weir_status flush_remove(struct flush *x, const char *kind, const char *rest,
                                              int64_t version);

/* Commits what there is so far, if it is much. */
WEIR_MUST_CHECK enum weir_status flush_relieve(struct flush *x);

/* ---- facts_daily.c ---- */

WEIR_MUST_CHECK enum weir_status daily_get(struct flush *x, uint16_t metric, struct daily **out);

/* The merged values of these days are now these; all others stay. */
WEIR_MUST_CHECK enum weir_status daily_replace(struct daily *d, int32_t from, int32_t to,
                                               const struct day_row *rows, size_t n);

/* Joins the batch's day values. */
WEIR_MUST_CHECK enum weir_status daily_join_batch(struct flush *x);

/* Puts what changed, with all that follows from it. */
WEIR_MUST_CHECK enum weir_status daily_put_all(struct flush *x);
void daily_free_all(struct flush *x);

/* About how many bytes that will be. */
size_t daily_bytes(const struct flush *x);

/*
 * Metrics that follow from the samples of another where nobody measured them: the highest and the
 * lowest heart rate of a day. The nth such metric whose samples these are, as the number under
 * which its daily values are kept, and the rule that makes them; false: there are no more.
 */
struct follower {
    uint16_t kept_as;
    const struct metric *rule;
};
bool daily_follower(uint16_t metric, size_t n, struct follower *out);

/* ---- facts_night.c ---- */

/* The stages of these days: sleeps are put together from them. */
WEIR_MUST_CHECK enum weir_status night_replace(struct flush *x, const struct fact *facts, size_t n,
                                               int32_t from, int32_t to);
WEIR_MUST_CHECK enum weir_status night_join_batch(struct flush *x);

/* Puts the sleeps that changed, and hands their values to the metrics of sleep. */
WEIR_MUST_CHECK enum weir_status night_put_all(struct flush *x);
void night_free_all(struct flush *x);

/* ---- facts_list.c ---- */

WEIR_MUST_CHECK enum weir_status list_join_batch(struct flush *x);
