/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a text tells about limits: which subjects of the facts table it names, which values it gives
 * them ("is an LDL of 124 a concern?", "135/85"), and of whom it speaks ("I am 67").
 *
 * Any thread. Texts that are too long for a question tell nothing.
 */
#pragma once

#include "agent/facts.h"
#include "base/arena.h"
#include "data/catalogue.h"

enum { TOPICS = 8 }; /* most subjects of a question */

struct topic {
    const struct fact_subject *subject;
    const struct metric *metric;   /* one of the two */
    const struct analyte *analyte; /* is not NULL */
    double told;                   /* the value that the text gives it, in `unit`; NAN: none */
    double value;                  /* the same in the unit of the catalogue */
    double refused;                /* what it gives that no body can have; NAN: nothing */
    const char *unit;              /* the one spoken of */
    bool is_assumed;               /* the text did not say the unit: the size of the value did */
};

struct topics {
    size_t n;
    struct topic list[TOPICS];
};

WEIR_MUST_CHECK enum weir_status topics_read(struct topics *out, struct weir_slice text,
                                             struct arena *arena);

/* Age and sex as far as the text tells them of its writer; what it does not tell stays. */
WEIR_MUST_CHECK enum weir_status topics_read_person(struct fact_person *person,
                                                    struct weir_slice text, struct arena *arena);

/* "LDL cholesterol", and the unit of the catalogue. */
const char *topic_title(const struct topic *t);
const char *topic_unit(const struct topic *t);
