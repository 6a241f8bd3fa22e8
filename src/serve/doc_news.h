/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other nodes have written, told to whoever keeps something of it in memory. Each part only
 * looks again: nothing depends on what is told, or on its being told once.
 *
 * 1. doc_news_init(); doc_news_set() puts the functions into the store's options, if it is one that
 *    others may have open, too.
 * 2. doc_news_begin() when all parts are there: what was told before is made up for.
 * 3. doc_news_end() before any of them goes.
 */
#pragma once

#include <pthread.h>

#include "store/store.h"

struct server;

struct doc_news {
    pthread_mutex_t lock; /* held while parts are told, so that none goes meanwhile */
    bool is_on;
    bool is_shared; /* others write, too; never changes once the store is open */
};

void doc_news_init(struct server *s);
void doc_news_fini(struct server *s);
void doc_news_set(struct server *s, struct store_options *options);
void doc_news_begin(struct server *s);
void doc_news_end(struct server *s);

/* The committer's: logs that changed, for those parts that keep something of them. */
void doc_news_logs(struct server *s, const struct store_news *news, size_t n);
