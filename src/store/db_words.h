/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a word is, for the index of passages and for queries alike: SQLite's unicode61 without
 * diacritics, and each character for itself in scripts that put no spaces between words.
 *
 * 1. db_words_register() for each connection, before it uses the index.
 * 2. db_words_open(), db_words_each(), db_words_close() to cut texts as the index does. Whoever has
 *    no database takes db_words_open_alone().
 *
 * Private to src/store. One thread at a time.
 */
#pragma once

#include "store/db_impl.h"

WEIR_MUST_CHECK enum weir_status db_words_register(sqlite3 *sqlite);

struct db_words {
    fts5_tokenizer kind;
    Fts5Tokenizer *cutter;
    sqlite3 *own; /* without a database: where the tokenizer lives */
};

WEIR_MUST_CHECK enum weir_status db_words_open(struct db_words *w, sqlite3 *sqlite);
WEIR_MUST_CHECK enum weir_status db_words_open_alone(struct db_words *w);
void db_words_close(struct db_words *w);

/* A word as the index has it, and where it stands in the text; false ends the walk. */
typedef bool (*db_word_fn)(void *user, struct weir_slice word, size_t start, size_t end);
WEIR_MUST_CHECK enum weir_status db_words_each(const struct db_words *w, struct weir_slice text,
                                               db_word_fn each, void *user);
