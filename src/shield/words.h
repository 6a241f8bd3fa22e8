/* SPDX-License-Identifier: Apache-2.0 */
/* The table of words (words.def), and the rules that hold it. */
#pragma once

#include "shield/custom.h"
#include "shield/scan_impl.h"
#include "shield/secret.h"

enum { WORDS_PLACES = 2048 }; /* about five times the words there are */

struct word_place {
    const char *word; /* into words.def */
    uint8_t len;      /* 0: free */
    unsigned groups;
};

struct words {
    struct word_place places[WORDS_PLACES];
};

struct shield_rules {
    struct words words;
    uint8_t secret_first[SECRET_FIRSTS];
    struct custom custom;
};

void words_init(struct words *w);
/* The groups of a word, in any case; 0: it is none of them. */
unsigned words_get(const struct words *w, struct weir_slice word);
