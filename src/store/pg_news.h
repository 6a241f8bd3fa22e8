/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one node tells the others after a batch, as the payloads of NOTIFY: which logs went on or
 * changed, and which documents. It says where to look and never what is there, so whoever misses
 * one loses time and nothing else.
 *
 * A payload is text of less than 8,000 bytes; a batch that needs more is told in several parts.
 * Lines end in LF, words are parted by one space:
 *
 *   weir1 WRITER BATCH PART       who tells, which of its batches, which part of that: 1, 2, 3…
 *   l LOG CLUSTER FIRST LAST FLAGS NAME
 *                                 a log by id and name, which database has its events, the new ones
 *                                 (0 0: none), and of "m"ade, "s"ealed and "d"ropped what applies,
 *                                 in that order; or "-"
 *   d KIND ID                     a document that was put or removed
 *   *                             more than can be told: look at everything
 *   . or +                        the end, without LF; "+": another part follows
 *
 * Numbers are decimal without zeros in front, up to 2^63 - 1. In words, all but the signs "!" to
 * "~" are escaped, and so is "%": %XX, in capitals. There is one way to write anything.
 *
 * Writing: pg_news_begin(), pg_news_add_log() & co., pg_news_end(); takes no memory, cannot fail.
 * Reading: pg_news_open(), pg_news_next(). Pure; any thread, one at a time.
 */
#pragma once

#include "store/store.h"

enum {
    PG_NEWS_BYTES = 7999, /* PostgreSQL's ceiling on a payload */
    PG_NEWS_PARTS = 32,   /* of one batch; then it is "*" */
    PG_NEWS_WRITER_BYTES = 64,
};

/* A log that changed. */
struct pg_news_log {
    struct weir_slice name;
    uint64_t log_id;
    uint64_t cluster;     /* up to 255 */
    uint64_t first, last; /* new events; 0: none */
    bool is_made, is_sealed, is_dropped;
};

/* ---- writing ---- */

struct pg_news {
    char writer[3 * PG_NEWS_WRITER_BYTES]; /* escaped */
    size_t n_writer;
    uint64_t batch;
    unsigned n; /* parts begun */
    bool is_too_much;
    size_t lens[PG_NEWS_PARTS];
    char parts[PG_NEWS_PARTS][PG_NEWS_BYTES + 1];
};

/* The writer's name has 1 to PG_NEWS_WRITER_BYTES bytes; batches are numbered from 1 on. */
void pg_news_begin(struct pg_news *n, struct weir_slice writer, uint64_t batch);
void pg_news_add_log(struct pg_news *n, const struct pg_news_log *log);
void pg_news_add_doc(struct pg_news *n, struct doc_key key);
void pg_news_add_all(struct pg_news *n); /* more than can be told */

/* How many payloads there are: one at least. */
unsigned pg_news_end(struct pg_news *n);

/* Borrowed until the next pg_news_begin(); a NUL stands behind it. */
struct weir_slice pg_news_payload(const struct pg_news *n, unsigned i);

/* ---- reading ---- */

enum pg_news_kind {
    PG_NEWS_LOG,
    PG_NEWS_DOC,
    PG_NEWS_ALL, /* anything may have changed */
    PG_NEWS_END,
    PG_NEWS_BAD, /* not what a node writes: news are lost */
};

struct pg_news_reader {
    struct weir_slice writer; /* borrowed from `words` */
    uint64_t batch;
    uint64_t part;
    bool is_last; /* no further part */
    struct weir_slice rest;
    char words[PG_NEWS_WRITER_BYTES + 2 * STORE_NAME_BYTES];
};

struct pg_news_item {
    struct pg_news_log log; /* slices are borrowed until the next call */
    struct doc_key doc;
};

/* False when it is not the beginning and the end of a payload of ours. */
WEIR_MUST_CHECK bool pg_news_open(struct pg_news_reader *r, struct weir_slice payload);
WEIR_MUST_CHECK enum pg_news_kind pg_news_next(struct pg_news_reader *r, struct pg_news_item *out);
