/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody said, as words, and patterns over them. The tables of routing, vagueness, safety
 * and memory are written in these patterns; docs/routing.md explains them to people.
 *
 * A pattern is words that follow one another, separated by blanks:
 *   word        this word           a|b|c       any of these          word*    begins so
 *   x?          may be missing      ..          up to four words      ^  $     ends of a sentence
 *   a_b|c       two words, or one
 *   @thing      a metric, laboratory test or kind of workout, in any of its names
 *   @number     a number            @n<1000  @n>3   a number like that
 * Words are lower case and without contractions ("don't" is "do not"). Words that only colour a
 * sentence (just, really, please …) are not there. Nothing reaches beyond the end of a sentence.
 *
 * Words are the arena's. Any thread.
 */
#pragma once

#include "base/arena.h"
#include "data/dataset.h"

enum {
    SAID_BYTES = 64 << 10, /* of a longer text its beginning and its end are looked at */
    SAID_GAP = 4,          /* most words that ".." stands for */
    SAID_THING_WORDS = 8,
};

struct said_word {
    struct weir_slice text; /* empty: the end of a sentence */
    double number;          /* NAN: none */
    bool is_hidden;         /* said_hide(): no pattern sees it, nor passes it */
    uint8_t thing;          /* a thing begins here: its words, else 0 */
};

struct said {
    struct said_word *words; /* begins and ends with the end of a sentence */
    size_t n;
    struct dataset *data; /* whose own metrics are things, too; NULL: there are none */
};

/* WEIR_NOMEM, WEIR_LIMIT when the arena is too small. */
WEIR_MUST_CHECK enum weir_status said_read(struct said *out, struct weir_slice text,
                                           struct dataset *data, struct arena *arena);

/* The first place where a pattern holds; *end is the word behind it. */
bool said_find(const struct said *s, const char *pattern, size_t *from, size_t *end);

/* The same, from word `at` on. */
bool said_find_from(const struct said *s, const char *pattern, size_t at, size_t *from,
                    size_t *end);

static inline bool said_has(const struct said *s, const char *pattern)
{
    size_t from, end;
    return said_find(s, pattern, &from, &end);
}

/* Hides words from all patterns to come. */
void said_hide(struct said *s, size_t from, size_t end);

/* The names of a thing that begins at a word, joined by blanks, into `out`; its length. */
size_t said_join(const struct said *s, size_t from, size_t end, char *out, size_t cap);

/* Whether the words deny what begins at `at`: "no", "not", "never had any". */
bool said_is_denied(const struct said *s, size_t at);
