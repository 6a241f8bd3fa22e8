/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a person's facts; series.h is the outside. Private to src/data.
 *
 * facts.c takes facts into the batch, facts_source.c knows who measured, facts_leaf.c writes
 * samples as documents, facts_flush.c joins the batch with what is stored.
 */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "data/series.h"
#include "data/series_doc.h"

enum {
    FACTS_MAX_OFFSET = 18 * 3600,         /* seconds that a wall clock may be off UTC */
    FACTS_MAX_SECONDS = 31 * DAY_SECONDS, /* longest sample */
    FACTS_OWN = 1000,                     /* metrics of a person's own */
    FACTS_STAGE = 0x7000,                 /* number of the metric that sleep stages are */
    FACTS_FOLLOWER_FIRST = 0x6000, /* numbers of what follows from samples of another metric */
    FACTS_OWN_FIRST = 0x4000,      /* numbers of the person's own metrics */
    FACTS_TEXT_BYTES = 8 << 20,    /* texts in the batch */
};

/* A list that grows by doubling. */
struct rows {
    void *ptr;
    size_t n, cap; /* in rows */
};
void *rows_push(struct rows *r, size_t size); /* NULL: no memory */

/* Days in runs, apart and rising. */
struct day_run {
    int32_t from, to;
};

/* What is known of a source beside its name. */
struct known_source {
    uint16_t id;          /* its place among all, by name and class */
    struct moment cutoff; /* when its newest export was made; at INT64_MIN: not known */
    struct rows worn;     /* of struct day_run: days that show that it was worn */
    struct rows news;     /* of int32_t: such days in the batch */
    bool is_new;          /* not in the stored document */
    struct source source; /* name in the arena that stays */
};

/* Where a metric has values. */
struct index_row {
    struct weir_slice name; /* as in document ids; in the arena that stays */
    uint32_t n;
    int32_t first, newest;
};

struct facts {
    struct store *store;
    struct weir_slice user;
    struct arena stays; /* names */
    struct arena texts; /* of the batch */
    struct map by_name; /* class and name → struct known_source */
    struct known_source **known;
    struct source *sources; /* the same, in the form that documents need */
    enum source_class *kinds;
    size_t n_sources, cap_sources;
    struct known_source *last_source; /* most facts in a row are of one source */
    int64_t sources_version, index_version;
    bool is_loaded;       /* sources and index are as stored, but for what the batch adds */
    bool has_new_sources; /* and are not in order */
    bool has_source_news; /* the document of sources has to be written */
    struct moment exported;
    struct rows index;      /* of struct index_row, by name */
    struct rows own;        /* of struct weir_slice: names of the person's own metrics */
    struct map own_by_name; /* → number, and 1 */
    struct rows facts;      /* the batch: struct fact, */
    struct rows days;       /* struct given_day, */
    struct rows sleeps;     /* struct sleep_row, */
    struct rows workouts;   /* struct workout, */
    struct rows labs;       /* struct lab */
    struct facts_summary summary;
    void (*refuse)(void *user, const char *reason);
    void *refuse_user;
};

/* A day's value in the batch. */
struct given_day {
    struct day_row row;
    uint16_t metric;
};

/* A whole sleep with its source as a number; `sleep.source` is not used. */
struct sleep_row {
    struct sleep sleep;
    uint16_t source;
    bool is_assembled; /* from stages */
};

/* ---- facts_source.c ---- */

/* Known or new; NULL: no memory or too many (*st). */
struct known_source *facts_source(struct facts *f, const struct source *source,
                                  enum weir_status *st);

/* A fact of this metric shows that the source was worn that day. */
void facts_note_worn(struct facts *f, struct known_source *s, const struct metric *m, int32_t day,
                     double value);

/* Reads the documents of sources and of the index, if somebody has changed them. */
WEIR_MUST_CHECK enum weir_status facts_load(struct facts *f);

/* Numbers sources by name and class; old_to_new[] for the numbers in the batch. */
WEIR_MUST_CHECK enum weir_status facts_order_sources(struct facts *f);

void facts_put_sources(struct facts *f, struct weir_buf *out);
void facts_put_index(const struct facts *f, struct weir_buf *out);

/* Joins what the batch knows of sources with what is stored; true when that is news. */
WEIR_MUST_CHECK enum weir_status facts_join_worn(struct facts *f);

/* Sets a row of the index, or removes it when n is 0; true when it changed. */
WEIR_MUST_CHECK enum weir_status facts_index_set(struct facts *f, const struct index_row *row,
                                                 bool *is_changed);

/* Counts a fact that is not kept, and tells whoever wants to hear why. */
void facts_refuse(struct facts *f, const char *reason);

/* Which numbers the sources of a document have here. WEIR_CORRUPT; WEIR_CONFLICT: load anew. */
WEIR_MUST_CHECK enum weir_status facts_read_sources(struct facts *f, struct unpack *u,
                                                    uint16_t *numbers, size_t *n);

/* ---- facts_leaf.c ---- */

enum { LEAF_FACTS = 150000 }; /* most samples in a document that has more than a day */

/* Samples that are in order, as a document; returns how many, the first ones, it has room for. */
size_t leaf_put(struct weir_buf *out, const struct facts *f, const struct fact *facts, size_t n);

/* A document that says that its samples are in two others. */
void leaf_put_split(struct weir_buf *out);
bool leaf_is_split(struct weir_slice body);

/* Allocates *out, for mem_free(). WEIR_CORRUPT, WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status leaf_read(struct facts *f, struct weir_slice body, uint16_t metric,
                                           struct fact **out, size_t *n);

/* ---- facts_night.c ---- */

/* Appends the sleeps of a document (of struct sleep_row) to `out`. */
WEIR_MUST_CHECK enum weir_status sleeps_read(struct facts *f, struct weir_slice body,
                                             struct rows *out);

/* ---- facts_list.c ---- */

/* Appends the rows of a document to `out`; their texts are the document's. */
WEIR_MUST_CHECK enum weir_status workouts_read(struct weir_slice body, struct rows *out);
WEIR_MUST_CHECK enum weir_status labs_read(struct weir_slice body, struct rows *out);

/* ---- what a metric's number stands for ---- */

const struct metric *facts_metric(uint16_t metric);
void facts_metric_name(const struct facts *f, uint16_t metric, char out[DOC_MAX_NAME + 8]);
