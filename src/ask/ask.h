/* SPDX-License-Identifier: Apache-2.0 */
/*
 * English questions to plans, without a model: a grammar over words, with a lexicon drawn from
 * the catalogue. It never guesses: what it does not understand it refuses, and says what it did
 * understand.
 *
 *   struct ask_reading reading;
 *   st = ask_read(&reading, question, dataset, &arena);
 *   reading.is_understood ? plan_run(&reading.plan, …) : show reading.refusal
 *
 * Deterministic: the same question on the same data gives the same plan. Any thread; one at a
 * time per dataset.
 */
#pragma once

#include "data/plan.h"

enum {
    ASK_BYTES = 2000, /* longest question */
    ASK_WORDS = 200,
    ASK_NOTES = 8,
};

struct ask_reading {
    bool is_understood;
    bool is_default; /* no operation and no window were named, so the usual one was taken */
    /* Not understood for this alone: days are named ("compare March with May"), and nothing that is
     * measured. The plan has the windows; its operation is to compare two, or to aggregate one. */
    bool lacks_thing;
    struct plan plan;
    const char *refusal;          /* a sentence; when it is not understood */
    const char *understood;       /* "average of deep sleep, last 30 days": what was, in words */
    const char *notes[ASK_NOTES]; /* choices that were made: "heart rate" read as … */
    size_t n_notes;
};

/* WEIR_OK also when the question is refused. Memory of the texts is the arena's. */
WEIR_MUST_CHECK enum weir_status ask_read(struct ask_reading *out, struct weir_slice question,
                                          struct dataset *d, struct arena *arena);

/* {"plan",…,"notes"} of plan_put_answer() with the notes of the reading, or {"unanswerable",…}. */
void ask_put(struct weir_buf *out, const struct ask_reading *reading,
             const struct plan_answer *answer);
